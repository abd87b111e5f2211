//! Why an entry has its points: what it gave, where it lost most, and what it alone has.

use super::{ExplainError, find};
use crate::judgement::*;
use crate::mcc::ValuePoints;
use crate::show::{approximate, columns, decimals, short, wrapped};
use mcc_edition::fraction;
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

/// An entry's judgement summed up; points with weights.
#[derive(Debug, Serialize)]
pub struct ToolExplanation {
    pub edition: String,
    pub entry: String,
    pub tool: String,
    pub status: Status,
    pub note: String,
    pub agreed: u64,
    pub answered: u64,
    pub confidence: String,
    pub examinations: Vec<ExaminationSummary>,
    pub places: Vec<PodiumResult>,
    /// Its wrong values, those that cost most first.
    pub wrong: Vec<WrongValue>,
    /// Models by what is missing to all that could be had there, the most first.
    pub losses: Vec<FamilyLoss>,
    /// Right values that no other tool gave, in the order of the judgement.
    pub unique: Vec<UniqueValue>,
}

#[derive(Debug, Serialize)]
pub struct ExaminationSummary {
    pub examination: String,
    pub right: u64,
    pub wrong: u64,
    pub unjudged: u64,
    /// Values of the examination it did not give.
    pub not_computed: u64,
    /// Of `right`: those that no other tool gave.
    pub unique: u64,
    #[serde(with = "fraction")]
    pub points: BigRational,
    /// What the best virtual tool gets.
    #[serde(with = "fraction")]
    pub possible: BigRational,
}

#[derive(Debug, Serialize)]
pub struct PodiumResult {
    pub category: String,
    /// None: another variant, or out of competition.
    pub rank: Option<u32>,
    pub medal: Medal,
    #[serde(with = "fraction")]
    pub points: BigRational,
}

#[derive(Debug, Serialize)]
pub struct WrongValue {
    pub instance: String,
    pub examination: String,
    pub position: usize,
    pub answer: String,
    pub trusted: String,
    pub basis: Basis,
    /// What it cost: negative.
    #[serde(with = "fraction")]
    pub points: BigRational,
}

#[derive(Debug, Serialize)]
pub struct FamilyLoss {
    pub family: String,
    /// Values with a trusted value that it did not give, and wrong ones.
    pub not_computed: u64,
    pub wrong: u64,
    #[serde(with = "fraction")]
    pub missing: BigRational,
}

#[derive(Debug, Serialize)]
pub struct UniqueValue {
    pub instance: String,
    pub examination: String,
    pub position: usize,
    pub value: String,
}

/// Sums up why an entry has its points.
pub fn explain_tool(judgement: &Judgement, entry: &str) -> Result<ToolExplanation, ExplainError> {
    let names: Vec<&str> = judgement.entries.iter().map(|known| known.entry.as_str()).collect();
    let number = find("tool", entry, &names)?;
    let Entry { entry, tool, status, note } = &judgement.entries[number];
    let confidence = &judgement.confidence[number];
    let mut explanation = ToolExplanation {
        edition: judgement.edition.name.clone(),
        entry: entry.clone(),
        tool: tool.clone(),
        status: *status,
        note: note.clone(),
        agreed: confidence.agreed,
        answered: confidence.answered,
        confidence: confidence.confidence.to_string(),
        examinations: Vec::new(),
        places: Vec::new(),
        wrong: Vec::new(),
        losses: Vec::new(),
        unique: Vec::new(),
    };
    let scores = judgement.scores.iter().filter(|score| score.entry == number);
    explanation.examinations = scores.map(|score| examination_summary(judgement, score)).collect();
    for podium in &judgement.podiums {
        for place in podium.places.iter().filter(|place| place.entry == number) {
            let PodiumPlace { rank, points, medal, .. } = place;
            let category = podium.category.clone();
            explanation.places.push(PodiumResult {
                category,
                rank: *rank,
                medal: *medal,
                points: points.clone(),
            });
        }
    }
    let mut losses: BTreeMap<&str, FamilyLoss> = BTreeMap::new();
    for block in &judgement.blocks {
        let took_part = |of: &ExaminationSummary| of.examination == judgement.examinations[block.examination];
        if let Some(of) = explanation.examinations.iter().position(took_part) {
            add_block(judgement, number, block, &mut explanation, of, &mut losses);
        }
    }
    explanation.wrong.sort_by(|a, b| a.points.cmp(&b.points));
    explanation.losses = losses.into_values().filter(|loss| loss.missing.is_positive()).collect();
    explanation.losses.sort_by_key(|loss| Reverse(loss.missing.clone()));
    Ok(explanation)
}

fn examination_summary(judgement: &Judgement, score: &Score) -> ExaminationSummary {
    let possible = judgement.best_virtual.iter().find(|of| of.examination == score.examination);
    ExaminationSummary {
        examination: judgement.examinations[score.examination].clone(),
        right: score.right,
        wrong: score.wrong,
        unjudged: score.unjudged,
        not_computed: 0,
        unique: 0,
        points: score.normalized.clone(),
        possible: possible.map_or_else(BigRational::zero, |of| of.normalized.clone()),
    }
}

/// Adds what the entry did, or failed to do, in a block of the examination it took part in as number `of`.
fn add_block<'j>(
    judgement: &'j Judgement,
    entry: usize,
    block: &Block,
    explanation: &mut ToolExplanation,
    of: usize,
    losses: &mut BTreeMap<&'j str, FamilyLoss>,
) {
    let instance = &judgement.instances[block.instance];
    let examination = &judgement.examinations[block.examination];
    let value = ValuePoints::new(&judgement.edition.judging, block.trusted.len());
    let [right_points, wrong_points] = [value.right, value.wrong].map(|points| points * &instance.weight);
    let cell = block.cells.iter().find(|cell| cell.entry == entry);
    let loss = losses.entry(&instance.family).or_insert_with(|| FamilyLoss {
        family: instance.family.clone(),
        not_computed: 0,
        wrong: 0,
        missing: BigRational::zero(),
    });
    let of = &mut explanation.examinations[of];
    let (mut missed, mut wrong) = (0, 0);
    for (position, trusted) in block.trusted.iter().enumerate() {
        let verdict = cell.map_or(ValueVerdict::NotComputed, |cell| cell.verdicts[position]);
        let name = || (instance.instance.clone(), examination.clone());
        match verdict {
            ValueVerdict::Right if is_unique(judgement, entry, block, position) => {
                of.unique += 1;
                let (instance, examination) = name();
                let value = trusted.value.as_ref().map(ToString::to_string).unwrap_or_default();
                explanation.unique.push(UniqueValue { instance, examination, position, value });
            }
            ValueVerdict::Wrong => {
                wrong += 1;
                let answer = cell.and_then(|cell| cell.values[position].as_ref()).map(ToString::to_string);
                let (instance, examination) = name();
                explanation.wrong.push(WrongValue {
                    instance,
                    examination,
                    position,
                    answer: answer.unwrap_or_default(),
                    trusted: trusted.value.as_ref().map(ToString::to_string).unwrap_or_default(),
                    basis: trusted.basis,
                    points: wrong_points.clone(),
                });
            }
            ValueVerdict::NotComputed => {
                of.not_computed += 1;
                missed += u64::from(trusted.value.is_some());
            }
            ValueVerdict::Right | ValueVerdict::Unjudged => {}
        }
    }
    loss.not_computed += missed;
    loss.wrong += wrong;
    if missed + wrong > 0 {
        let whole = |n: u64| BigRational::from_integer(n.into());
        loss.missing += right_points * whole(missed + wrong) - wrong_points * whole(wrong);
    }
}

/// Whether all competing entries that are right are of one tool.
fn is_unique(judgement: &Judgement, entry: usize, block: &Block, position: usize) -> bool {
    let right = block.cells.iter().filter(|cell| cell.verdicts[position] == ValueVerdict::Right);
    let entries = right.map(|cell| &judgement.entries[cell.entry]);
    let mut tools = entries.filter(|entry| entry.status == Status::Competing).map(|entry| &entry.tool);
    tools.all(|tool| *tool == judgement.entries[entry].tool)
}

/// Lines shown of each list; `--format json` has all.
const SHOWN: usize = 3;

impl fmt::Display for ToolExplanation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { edition, entry, tool, status, note, agreed, answered, confidence, .. } = self;
        let variant = if entry == tool { String::new() } else { format!(", variant of {tool}") };
        let note = if note.is_empty() { String::new() } else { format!(": {note}") };
        writeln!(
            out,
            "{}",
            wrapped(&format!("{entry} ({edition}): {}{variant}{note}", status.word()), 80, 2)
        )?;
        writeln!(out, "Confidence {}: {agreed} of {answered} agree (E-2.2)\n", approximate(confidence))?;
        self.table(out)?;
        let place = |PodiumResult { category, rank, medal, points }: &PodiumResult| {
            let rank = rank.map_or("unranked".to_owned(), |rank| format!("rank {rank}"));
            let medal = if *medal == Medal::None { String::new() } else { format!(", {medal}") };
            format!("{category}: {rank}{medal}, {} points", decimals(points))
        };
        let places: Vec<String> = self.places.iter().map(place).collect();
        writeln!(out, "{}", wrapped(&places.join("; "), 80, 2))?;
        let wrong: BigRational = self.wrong.iter().map(|wrong| &wrong.points).sum();
        let wrong = format!("{} wrong values cost {} points", self.wrong.len(), decimals(&-wrong));
        list(out, &wrong, &self.wrong, |wrong| {
            let WrongValue { instance, examination, position, answer, trusted, basis, points } = wrong;
            let answer = format!("answered {}, trusted {} ({basis})", short(answer), short(trusted));
            vec![format!("{instance} {examination} {position:02}"), answer, decimals(points)]
        })?;
        let missing: BigRational = self.losses.iter().map(|loss| &loss.missing).sum();
        let missing = format!("{} points are missing to all there are; most of them on", decimals(&missing));
        list(out, &missing, &self.losses, |loss| {
            let what = format!("{} not computed, {} wrong", loss.not_computed, loss.wrong);
            vec![loss.family.clone(), decimals(&loss.missing), what]
        })?;
        let unique = format!("{} right values no other tool has", self.unique.len());
        list(out, &unique, &self.unique, |unique| {
            let UniqueValue { instance, examination, position, value } = unique;
            vec![format!("{instance} {examination} {position:02}"), short(value)]
        })
    }
}

impl ToolExplanation {
    fn table(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["examination", "right", "wrong", "unjudged", "none", "unique", "points", "possible"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        rows.extend(self.examinations.iter().map(|of| {
            let mut row = vec![of.examination.clone()];
            let counts = [of.right, of.wrong, of.unjudged, of.not_computed, of.unique];
            row.extend(counts.iter().map(ToString::to_string));
            row.extend([decimals(&of.points), decimals(&of.possible)]);
            row
        }));
        writeln!(out, "{}", columns(&rows, &[1, 2, 3, 4, 5, 6, 7]))
    }
}

/// The first of a list below its title; nothing where it is empty.
pub(crate) fn list<T>(
    out: &mut fmt::Formatter<'_>,
    title: &str,
    items: &[T],
    row: impl Fn(&T) -> Vec<String>,
) -> fmt::Result {
    if items.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title}:")?;
    let rows: Vec<Vec<String>> = items.iter().take(SHOWN).map(row).collect();
    columns(&rows, &[]).lines().try_for_each(|line| writeln!(out, "  {line}"))?;
    match items.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => writeln!(out, "  and {more} more (--format json)"),
    }
}
