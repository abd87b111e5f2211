//! The points of one entry: its scores by category, and its answers with negative points.

use super::explain::rounded;
use super::*;
use mcc_judge::explain::ExplainError;
use mcc_judge::shared::{find, list};
use mcc_judge::show::{columns, status_words, wrapped};
use num_traits::{Signed, Zero};
use std::fmt;

/// The explanation of the points of one entry.
#[derive(Debug, Serialize)]
pub struct ToolExplanation {
    /// Name of the edition.
    pub edition: String,
    /// The word of the contest for a category.
    #[serde(skip)]
    pub category_word: &'static str,
    /// Name of the entry.
    pub entry: String,
    /// Status of the entry.
    pub status: Status,
    /// The note on its status; may be empty.
    pub note: String,
    /// The categories in which it has a score or a dash, in the order of the judgement.
    pub categories: Vec<CategorySummary>,
    /// Answers with negative points, those that cost most first.
    pub losses: Vec<CostlyAnswer>,
}

/// The result of the entry in one category.
#[derive(Debug, Serialize)]
pub struct CategorySummary {
    /// Name of the category.
    pub category: String,
    /// Number of runs with the verdict `right`.
    pub right: u64,
    /// Number of runs with the verdict `unconfirmed`.
    pub unconfirmed: u64,
    /// Number of runs with the verdict `wrong`.
    pub wrong: u64,
    /// Number of runs with the verdict `unjudged`.
    pub unjudged: u64,
    /// Number of runs with another verdict; None without runs, such as of a meta category.
    #[serde(skip)]
    pub no_answer: Option<u64>,
    /// Its points; None if a dash is shown.
    pub points: Option<Points>,
    /// Its rank on the podium; None if it has none.
    pub rank: Option<u32>,
    /// The medal of its place; none without a rank or without positive points.
    pub medal: Medal,
    /// The note on its place or score; may be empty.
    pub note: String,
}

/// An answer with negative points.
#[derive(Debug, Serialize)]
pub struct CostlyAnswer {
    /// Name of the category.
    pub category: String,
    /// Name of the instance.
    pub instance: String,
    /// The property to be verified (SV-COMP); empty for CRV.
    pub property: String,
    /// The answer as the results state it.
    pub answer: String,
    /// The expected answer; empty if it is not known.
    pub expected: String,
    /// The reason for the verdict; may be empty.
    pub why: String,
    /// The points: negative.
    pub points: Points,
    /// Whether the verdict is `timeout`.
    #[serde(skip)]
    pub is_timeout: bool,
}

/// Explains the points of an entry.
///
/// # Errors
/// The judgement does not have the entry.
pub fn explain_tool(judgement: &Judgement, entry: &str) -> Result<ToolExplanation, ExplainError> {
    let number = find("tool", entry, judgement.entries.iter().map(|known| &known.entry))?;
    let category = |number: usize| judgement.categories[number].category.clone();
    let mut explanation = ToolExplanation {
        edition: judgement.edition.name().to_owned(),
        category_word: judgement.category_word(),
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
        let here = judgement.blocks.iter().filter(|block| block.category == score.category);
        let cells = here.flat_map(|block| &block.cells);
        let runs = cells.filter(|cell| cell.entry == number).count() as u64;
        let answers = score.right + score.unconfirmed + score.wrong + score.unjudged;
        explanation.categories.push(CategorySummary {
            category: category(score.category),
            right: score.right,
            unconfirmed: score.unconfirmed,
            wrong: score.wrong,
            unjudged: score.unjudged,
            no_answer: (runs > 0).then(|| runs.saturating_sub(answers)),
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
                    is_timeout: cell.verdict == RunVerdict::Timeout,
                });
            }
        }
    }
    explanation.losses.sort_by(|a, b| a.points.0.cmp(&b.points.0));
    Ok(explanation)
}

/// The negative points of a run: the sum of its negative parts (CRV), or its points if they are negative.
fn cost(cell: &Cell) -> BigRational {
    let parts = cell.parts.iter().map(|Points(part)| part);
    let whole = std::iter::once(&cell.points).filter(|_| cell.parts.is_empty());
    parts
        .chain(whole)
        .filter(|points| points.is_negative())
        .fold(BigRational::zero(), |sum, points| sum + points)
}

impl fmt::Display for ToolExplanation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { edition, category_word, entry, status, note, categories, losses } = self;
        let note = if note.is_empty() { String::new() } else { format!(": {note}") };
        writeln!(
            out,
            "{}\n",
            wrapped(&format!("{entry} ({edition}): {}{note}", status_words(*status)), 80, 2)
        )?;
        let words = ["right", "unconfirmed", "wrong", "unjudged", "no answer"];
        let counts = |summary: &CategorySummary| {
            let CategorySummary { right, unconfirmed, wrong, unjudged, .. } = *summary;
            [Some(right), Some(unconfirmed), Some(wrong), Some(unjudged), summary.no_answer]
        };
        let used: [bool; 5] =
            std::array::from_fn(|number| categories.iter().any(|summary| counts(summary)[number] > Some(0)));
        // Input that consists of scores has no counts of runs. Otherwise right and wrong runs are always shown.
        let counted = used.contains(&true);
        let is_shown = |number: usize| used[number] || counted && matches!(words[number], "right" | "wrong");
        let row = |category: &str, counts: [String; 5], rest: [String; 3]| {
            let counts = counts.into_iter().enumerate().filter(|(number, _)| is_shown(*number));
            let counts = counts.map(|(_, count)| count);
            [category.to_owned()].into_iter().chain(counts).chain(rest).collect::<Vec<_>>()
        };
        let header = (words.map(str::to_owned), ["points", "rank", "medal"].map(str::to_owned));
        let mut rows = vec![row(category_word, header.0, header.1)];
        rows.extend(categories.iter().map(|summary| {
            let points = summary.points.as_ref().map_or("-".to_owned(), |points| rounded(&points.0, 2));
            let rank = summary.rank.map_or("-".to_owned(), |rank| rank.to_string());
            row(
                &summary.category,
                counts(summary).map(|count| count.map_or("-".to_owned(), |count| count.to_string())),
                [points, rank, summary.medal.to_string()],
            )
        }));
        // The counts, the points and the rank.
        let numbers: Vec<usize> = (1..rows[0].len() - 1).collect();
        write!(out, "{}", columns(&rows, &numbers))?;
        for summary in categories.iter().filter(|summary| !summary.note.is_empty()) {
            writeln!(out, "{}", wrapped(&format!("{}: {}", summary.category, summary.note), 80, 2))?;
        }
        let lost = losses.iter().fold(BigRational::zero(), |sum, loss| sum - &loss.points.0);
        let title =
            format!("Runs that lost points: {}; points lost by them: {}", losses.len(), rounded(&lost, 2));
        list(out, &title, losses, |loss| {
            let given =
                if loss.is_timeout { "timeout".to_owned() } else { format!("answered {}", loss.answer) };
            let answer = format!("{given}, right is {}", loss.expected);
            vec![format!("{} {}", loss.category, loss.instance), answer, rounded(&loss.points.0, 2)]
        })
    }
}
