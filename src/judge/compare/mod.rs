//! What differs between two judgements of one contest: rules, instances, values, points, ranks and medals, and what the
//! tools answered and needed; and what only one of them has. Entries, instances and examinations are matched by name.
//! In another contest an examination is a category, a trusted value the right answer, an ending the verdict.

mod sides;
mod text;

pub use sides::JudgementSide;

use super::judgement::{Basis, Ending, Medal};
use super::other_contests::{Points, RunVerdict};
use num_rational::BigRational;
use num_traits::Zero;
use serde::Serialize;
use sides::{BlockRef, ComparedAnswer, KnownValue, RunView};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    #[error("one judgement is of {0}, the other of {1}; compare two of the same contest")]
    Contests(String, String),
    #[error(
        "the judgements have no run in common: {before} before, {after} after; compare two of the same instances{hint}"
    )]
    NothingInCommon { before: String, after: String, hint: &'static str },
}

/// Everything that differs, in stable order. `before` and `after` are the first and the second judgement; None is what
/// the judgement does not have.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// `mcc`, `sv-comp` or `crv`.
    pub contest: String,
    /// Settings by key, such as `judging.votes`; of SV-COMP and CRV also the categories.
    pub settings: Vec<Change<String>>,
    /// Entries whose tool or status differ.
    pub entries: Vec<Change<String>>,
    /// Instances that only one judgement has, or whose family, status or weight differ (other contests: categories).
    pub instances: Vec<Change<String>>,
    pub only_before: OneSided,
    pub only_after: OneSided,
    /// How many values are in both judgements.
    pub values_compared: u64,
    pub values: Vec<ValueChange>,
    /// How many values went from one basis to another (MCC).
    pub bases: Vec<BasisChange>,
    /// Normalized points by entry and examination; points by entry and category.
    pub points: Vec<PointsChange>,
    /// Podium places with another rank, other points or another medal.
    pub places: Vec<PlaceChange>,
    /// How many runs are in both judgements.
    pub runs_compared: u64,
    /// Points of runs, as weighted.
    pub run_points: Vec<RunChange<Points>>,
    /// How many answers the runs of both judgements gave on either side.
    pub answers_compared: u64,
    /// What the same entry answered otherwise.
    pub answers: Vec<AnswerChange>,
    /// Runs that ended otherwise, or with another verdict.
    pub endings: Vec<RunChange<EndingOrVerdict>>,
    /// Runs whose CPU times (CRV: execution times; milliseconds) are further apart than the factor asked for, and by a
    /// second or more.
    pub times: Vec<RunChange<u64>>,
    /// How many runs have a measured time in both judgements.
    pub times_compared: u64,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Change<T> {
    pub what: String,
    pub before: Option<T>,
    pub after: Option<T>,
}

/// What only one of the judgements has.
#[derive(Debug, Default, Serialize)]
pub struct OneSided {
    pub values: Vec<BlockValues>,
    pub runs: Vec<RunName>,
}

#[derive(Debug, Serialize)]
pub struct BlockValues {
    #[serde(flatten)]
    pub block: BlockName,
    pub values: usize,
}

#[derive(Debug, Serialize)]
pub struct RunName {
    pub entry: String,
    #[serde(flatten)]
    pub block: BlockName,
}

#[derive(Clone, Debug, Serialize)]
pub struct BlockName {
    pub instance: String,
    pub examination: String,
    /// What is to be shown of the instance (SV-COMP).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub property: String,
}

impl fmt::Display for BlockName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let property = if self.property.is_empty() { "" } else { " " };
        write!(out, "{} {}{property}{}", self.instance, self.examination, self.property)
    }
}

#[derive(Debug, Serialize)]
pub struct ValueChange {
    #[serde(flatten)]
    pub block: BlockName,
    /// None in the other contests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    /// None = unknown.
    pub before: Option<String>,
    pub after: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis_before: Option<Basis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis_after: Option<Basis>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct BasisChange {
    pub before: Basis,
    pub after: Basis,
    pub values: u64,
}

#[derive(Debug, Serialize)]
pub struct PointsChange {
    pub entry: String,
    pub examination: String,
    pub before: Option<Points>,
    pub after: Option<Points>,
}

impl PointsChange {
    /// How much more the entry has after.
    pub fn difference(&self) -> BigRational {
        let points = |points: &Option<Points>| points.as_ref().map_or(BigRational::zero(), |of| of.0.clone());
        points(&self.after) - points(&self.before)
    }
}

#[derive(Debug, Serialize)]
pub struct PlaceChange {
    pub category: String,
    pub entry: String,
    pub before: Option<ComparedPlace>,
    pub after: Option<ComparedPlace>,
}

impl PlaceChange {
    /// Whether more than points changes.
    pub fn is_of_rank(&self) -> bool {
        let rank = |place: &Option<ComparedPlace>| place.as_ref().map(|place| (place.rank, place.medal));
        rank(&self.before) != rank(&self.after)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComparedPlace {
    /// None: another variant, or out of competition.
    pub rank: Option<u32>,
    pub medal: Medal,
    #[serde(with = "mcc_edition::fraction")]
    pub points: BigRational,
}

#[derive(Debug, Serialize)]
pub struct AnswerChange {
    pub entry: String,
    #[serde(flatten)]
    pub block: BlockName,
    /// None in the other contests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    /// None = not computed.
    pub before: Option<String>,
    pub after: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct RunChange<T> {
    pub entry: String,
    #[serde(flatten)]
    pub block: BlockName,
    pub before: T,
    pub after: T,
}

/// What became of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum EndingOrVerdict {
    Ending(Ending),
    /// Of another contest.
    Verdict(RunVerdict),
}

/// Times less than this apart (milliseconds) are noise, whatever their ratio.
const NOISE_MS: u64 = 1000;

/// Compares two judgements; times differ where one is more than `factor` times the other. Judgements without a run in
/// common are refused: that nothing differs would say nothing.
pub fn compare<J: JudgementSide>(before: &J, after: &J, factor: u64) -> Result<Comparison, CompareError> {
    if before.contest() != after.contest() {
        return Err(CompareError::Contests(before.contest().to_owned(), after.contest().to_owned()));
    }
    let (points_before, points_after) = (before.scores(), after.scores());
    let mut comparison = Comparison {
        contest: before.contest().to_owned(),
        settings: differing(&settings(before), &settings(after)),
        entries: differing(&entries(before), &entries(after)),
        instances: differing(&before.instances(), &after.instances()),
        only_before: OneSided::default(),
        only_after: OneSided::default(),
        values_compared: 0,
        values: Vec::new(),
        bases: Vec::new(),
        points: points(&points_before, &points_after),
        places: places(&before.podiums(), &after.podiums()),
        runs_compared: 0,
        run_points: Vec::new(),
        answers_compared: 0,
        answers: Vec::new(),
        endings: Vec::new(),
        times: Vec::new(),
        times_compared: 0,
    };
    let (names_before, names_after) = (before.blocks(), after.blocks());
    let mut blocks: BTreeMap<BlockRef<'_>, usize> =
        names_after.iter().enumerate().map(|(at, name)| (*name, at)).collect();
    let mut bases: BTreeMap<(Basis, Basis), u64> = BTreeMap::new();
    let mut common = 0usize;
    for (at, name) in names_before.iter().enumerate() {
        let (before_block, block) = (before.block(at), name.owned());
        let Some(at) = blocks.remove(name) else {
            comparison.only_before.add(&block, before_block.values.len(), &before_block.runs);
            continue;
        };
        common += 1;
        let is = after.block(at);
        comparison.values(&block, &before_block.values, &is.values, &mut bases, J::POSITIONS);
        for (runs, others, side) in [
            (&before_block.runs, &is.runs, &mut comparison.only_before),
            (&is.runs, &before_block.runs, &mut comparison.only_after),
        ] {
            let alone = runs.iter().filter(|run| others.iter().all(|other| other.entry != run.entry));
            side.runs.extend(alone.map(|run| run.name(&block)));
        }
        for a in &before_block.runs {
            if let Some(b) = is.runs.iter().find(|b| b.entry == a.entry) {
                comparison.run(&block, a, b, factor, J::POSITIONS);
            }
        }
    }
    let have_runs = !names_before.is_empty() && !names_after.is_empty();
    let no_score = points_before.keys().all(|of| !points_after.contains_key(of));
    if common == 0 && (have_runs || no_score) {
        let (before, after, hint) = (first_few(&names_before), first_few(&names_after), J::HINT);
        return Err(CompareError::NothingInCommon { before, after, hint });
    }
    for (at, name) in names_after.iter().enumerate().filter(|(_, name)| blocks.contains_key(name)) {
        let is = after.block(at);
        comparison.only_after.add(&name.owned(), is.values.len(), &is.runs);
    }
    let basis = |((before, after), values)| BasisChange { before, after, values };
    comparison.bases = bases.into_iter().map(basis).collect();
    Ok(comparison)
}

fn first_few(names: &[BlockRef<'_>]) -> String {
    const FEW: usize = 2;
    let mut shown: Vec<String> = names.iter().take(FEW).map(|name| name.owned().to_string()).collect();
    match names.len() {
        0 => shown.push("none".to_owned()),
        count if count > FEW => shown.push(format!("... ({count})")),
        _ => {}
    }
    shown.join(", ")
}

impl OneSided {
    /// A block that the other judgement does not have.
    fn add(&mut self, block: &BlockName, values: usize, runs: &[RunView<'_>]) {
        self.values.push(BlockValues { block: block.clone(), values });
        self.runs.extend(runs.iter().map(|run| run.name(block)));
    }
}

impl Comparison {
    /// What is trusted in a block of both judgements.
    fn values(
        &mut self,
        block: &BlockName,
        before_block: &[KnownValue<'_>],
        is: &[KnownValue<'_>],
        bases: &mut BTreeMap<(Basis, Basis), u64>,
        positions: bool,
    ) {
        for (position, ((before, basis_before), (after, basis_after))) in
            before_block.iter().zip(is).enumerate()
        {
            self.values_compared += 1;
            if let (Some(before), Some(after)) = (basis_before, basis_after)
                && before != after
            {
                *bases.entry((*before, *after)).or_default() += 1;
            }
            if !ComparedAnswer::same(*before, *after) {
                self.values.push(ValueChange {
                    block: block.clone(),
                    position: positions.then_some(position),
                    before: before.map(|value| value.to_string()),
                    after: after.map(|value| value.to_string()),
                    basis_before: *basis_before,
                    basis_after: *basis_after,
                });
            }
        }
        for (more, less, side) in
            [(before_block, is, &mut self.only_before), (is, before_block, &mut self.only_after)]
        {
            if more.len() > less.len() {
                side.values.push(BlockValues { block: block.clone(), values: more.len() - less.len() });
            }
        }
    }

    /// What an entry of both judgements did in one block.
    fn run(&mut self, block: &BlockName, a: &RunView<'_>, b: &RunView<'_>, factor: u64, positions: bool) {
        self.runs_compared += 1;
        for (position, (before, after)) in a.answers.iter().zip(&b.answers).enumerate() {
            self.answers_compared += u64::from(before.is_some() || after.is_some());
            if !ComparedAnswer::same(*before, *after) {
                self.answers.push(AnswerChange {
                    entry: a.entry.to_owned(),
                    block: block.clone(),
                    position: positions.then_some(position),
                    before: before.map(|answer| answer.to_string()),
                    after: after.map(|answer| answer.to_string()),
                });
            }
        }
        if a.points != b.points {
            let [before, after] = [a, b].map(|run| Points(run.points.clone()));
            self.run_points.push(a.change(block, before, after));
        }
        if let (Some(before), Some(after)) = (a.how_ended, b.how_ended)
            && before != after
        {
            self.endings.push(a.change(block, before, after));
        }
        if let (Some(before), Some(after)) = (a.time_ms, b.time_ms) {
            self.times_compared += 1;
            let (less, more) = (before.min(after), before.max(after));
            if more - less >= NOISE_MS && more > less.saturating_mul(factor) {
                self.times.push(a.change(block, before, after));
            }
        }
    }
}

impl RunView<'_> {
    fn name(&self, block: &BlockName) -> RunName {
        RunName { entry: self.entry.to_owned(), block: block.clone() }
    }

    fn change<T>(&self, block: &BlockName, before: T, after: T) -> RunChange<T> {
        RunChange { entry: self.entry.to_owned(), block: block.clone(), before, after }
    }
}

/// What is not the same on both sides, by key.
fn differing<T: Clone + PartialEq>(
    before: &BTreeMap<String, T>,
    after: &BTreeMap<String, T>,
) -> Vec<Change<T>> {
    let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let change = |key: &String| Change {
        what: key.clone(),
        before: before.get(key).cloned(),
        after: after.get(key).cloned(),
    };
    keys.into_iter().map(change).filter(|change| change.before != change.after).collect()
}

fn entries<J: JudgementSide>(judgement: &J) -> BTreeMap<String, String> {
    let mut entries = BTreeMap::new();
    for entry in judgement.entries() {
        let mut described = entry.status.word().to_owned();
        if entry.tool != entry.entry {
            described += &format!(", {} {}", J::TOOL_OF, entry.tool);
        }
        if !entry.note.is_empty() {
            described += &format!(" ({})", entry.note);
        }
        entries.insert(entry.entry.clone(), described);
    }
    entries
}

/// The settings as keys with dots, but for what they are called and where they come from.
fn settings(judgement: &impl JudgementSide) -> BTreeMap<String, String> {
    let mut keys = BTreeMap::new();
    flatten("", &judgement.settings(), &mut keys);
    keys.retain(|key, _| !["title", "sources", "unknown"].iter().any(|told| key.starts_with(told)));
    keys
}

fn flatten(key: &str, value: &serde_json::Value, into: &mut BTreeMap<String, String>) {
    let inner = |name: &str| if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
    match value {
        serde_json::Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| flatten(&inner(name), value, into));
        }
        serde_json::Value::Array(items) if items.iter().any(serde_json::Value::is_object) => {
            items.iter().enumerate().for_each(|(at, value)| flatten(&inner(&at.to_string()), value, into));
        }
        serde_json::Value::String(text) => drop(into.insert(key.to_owned(), text.clone())),
        other => drop(into.insert(key.to_owned(), other.to_string())),
    }
}

type Scores<'j> = BTreeMap<(&'j str, &'j str), &'j BigRational>;

fn points(before: &Scores<'_>, after: &Scores<'_>) -> Vec<PointsChange> {
    let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let change = |names: &(&str, &str)| {
        let [before, after] =
            [before, after].map(|scores| scores.get(names).map(|points| Points((*points).clone())));
        PointsChange { entry: names.0.to_owned(), examination: names.1.to_owned(), before, after }
    };
    names.into_iter().map(change).filter(|change| change.before != change.after).collect()
}

type Podiums<'j> = Vec<(&'j str, BTreeMap<String, ComparedPlace>)>;

/// In the order of the categories, then of the places after (before, where the entry is gone).
fn places(before: &Podiums<'_>, after: &Podiums<'_>) -> Vec<PlaceChange> {
    let mut categories: Vec<&str> = before.iter().chain(after).map(|(category, _)| *category).collect();
    let mut seen = BTreeSet::new();
    categories.retain(|category| seen.insert(*category));
    let none = BTreeMap::new();
    let mut changes = Vec::new();
    for category in categories {
        let [before, after] = [before, after].map(|podiums| {
            let podium = podiums.iter().find(|(of, _)| *of == category);
            podium.map_or(&none, |(_, places)| places)
        });
        let of_category = |Change { what, before, after }| PlaceChange {
            category: category.to_owned(),
            entry: what,
            before,
            after,
        };
        let mut of: Vec<PlaceChange> = differing(before, after).into_iter().map(of_category).collect();
        let rank = |change: &PlaceChange| {
            let place = change.after.as_ref().or(change.before.as_ref());
            place.and_then(|place| place.rank).unwrap_or(u32::MAX)
        };
        of.sort_by_key(rank);
        changes.extend(of);
    }
    changes
}
