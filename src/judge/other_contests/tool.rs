//! Why an entry has its points: what it scored in which category, and which answers cost it points.

use super::explain::rounded;
use super::*;
use crate::explain::{ExplainError, find, list};
use crate::show::{columns, wrapped};
use num_traits::{Signed, Zero};
use std::fmt;

#[derive(Debug, Serialize)]
pub struct ToolExplanation {
    pub edition: String,
    pub entry: String,
    pub status: Status,
    pub note: String,
    /// Those it has a score or a dash in, in their order.
    pub categories: Vec<CategorySummary>,
    /// The costliest first.
    pub losses: Vec<CostlyAnswer>,
}

#[derive(Debug, Serialize)]
pub struct CategorySummary {
    pub category: String,
    pub right: u64,
    pub unconfirmed: u64,
    pub wrong: u64,
    pub unjudged: u64,
    /// None: a dash.
    pub points: Option<Points>,
    pub rank: Option<u32>,
    pub medal: Medal,
    pub note: String,
}

/// An answer that cost points.
#[derive(Debug, Serialize)]
pub struct CostlyAnswer {
    pub category: String,
    pub instance: String,
    pub property: String,
    pub answer: String,
    pub expected: String,
    pub why: String,
    /// Negative.
    pub points: Points,
}

/// Sums up why an entry has its points.
pub fn explain_tool(judgement: &Judgement, entry: &str) -> Result<ToolExplanation, ExplainError> {
    let names: Vec<&str> = judgement.entries.iter().map(|known| known.entry.as_str()).collect();
    let number = find("tool", entry, &names)?;
    let category = |number: usize| judgement.categories[number].category.clone();
    let mut explanation = ToolExplanation {
        edition: judgement.edition.name().to_owned(),
        entry: entry.to_owned(),
        status: judgement.entries[number].status,
        note: judgement.entries[number].note.clone(),
        categories: Vec::new(),
        losses: Vec::new(),
    };
    for score in judgement.scores.iter().filter(|score| score.entry == number) {
        let podiums = judgement.podiums.iter().filter(|podium| podium.category == score.category);
        let place = podiums.flat_map(|podium| &podium.places).find(|place| place.entry == number);
        let note = place.map(|place| &place.note).filter(|note| !note.is_empty()).unwrap_or(&score.note);
        explanation.categories.push(CategorySummary {
            category: category(score.category),
            right: score.right,
            unconfirmed: score.unconfirmed,
            wrong: score.wrong,
            unjudged: score.unjudged,
            points: score.points.clone(),
            rank: place.and_then(|place| place.rank),
            medal: place.map(|place| place.medal).unwrap_or_default(),
            note: note.clone(),
        });
    }
    for block in &judgement.blocks {
        for cell in block.cells.iter().filter(|cell| cell.entry == number) {
            let points = cost(cell);
            if points.is_negative() {
                explanation.losses.push(CostlyAnswer {
                    category: category(block.category),
                    instance: block.instance.clone(),
                    property: block.property.clone(),
                    answer: cell.answer.clone(),
                    expected: block.expected.clone(),
                    why: cell.why.clone(),
                    points: Points(points),
                });
            }
        }
    }
    explanation.losses.sort_by(|a, b| a.points.0.cmp(&b.points.0));
    Ok(explanation)
}

/// What a run lost: its points where they are negative, or the parts of them that are (CRV).
fn cost(cell: &Cell) -> BigRational {
    let parts = cell.parts.iter().map(|Points(part)| part);
    let whole = std::iter::once(&cell.points).filter(|_| cell.parts.is_empty());
    parts.chain(whole).filter(|points| points.is_negative()).fold(BigRational::zero(), |sum, of| sum + of)
}

impl fmt::Display for ToolExplanation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { edition, entry, status, note, categories, losses } = self;
        let note = if note.is_empty() { String::new() } else { format!(": {note}") };
        writeln!(out, "{}\n", wrapped(&format!("{entry} ({edition}): {}{note}", status.word()), 80, 2))?;
        // Of results that were given as scores nothing was counted.
        let counts = |of: &CategorySummary| [of.right, of.unconfirmed, of.wrong, of.unjudged];
        let counted = categories.iter().any(|of| counts(of) != [0; 4]);
        let row = |category: &str, counts: [String; 4], rest: [String; 3]| {
            let counts = counts.into_iter().filter(|_| counted);
            [category.to_owned()].into_iter().chain(counts).chain(rest).collect::<Vec<_>>()
        };
        let words = ["right", "unconfirmed", "wrong", "unjudged"].map(str::to_owned);
        let mut rows = vec![row("category", words, ["points", "rank", "medal"].map(str::to_owned))];
        rows.extend(categories.iter().map(|of| {
            let points = of.points.as_ref().map_or("-".to_owned(), |points| rounded(&points.0, 2));
            let rank = of.rank.map_or("-".to_owned(), |rank| rank.to_string());
            row(&of.category, counts(of).map(|count| count.to_string()), [points, rank, of.medal.to_string()])
        }));
        let numbers: &[usize] = if counted { &[1, 2, 3, 4, 5, 6] } else { &[1, 2] };
        write!(out, "{}", columns(&rows, numbers))?;
        for of in categories.iter().filter(|of| !of.note.is_empty()) {
            writeln!(out, "{}", wrapped(&format!("{}: {}", of.category, of.note), 80, 2))?;
        }
        let lost = losses.iter().fold(BigRational::zero(), |sum, loss| sum - &loss.points.0);
        let title = format!("{} answers cost {} points", losses.len(), rounded(&lost, 2));
        list(out, &title, losses, |loss| {
            let answer = format!("answered {}, right is {}", loss.answer, loss.expected);
            vec![format!("{} {}", loss.category, loss.instance), answer, rounded(&loss.points.0, 2)]
        })
    }
}
