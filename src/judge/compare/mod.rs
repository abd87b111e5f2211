//! Compares two judgements of one contest: rules, instances, values, points, ranks and medals, the answers and times of the
//! tools, and what only one judgement has. Entries, instances and examinations are matched by name. In other contests an
//! examination is a category, a trusted value is the expected answer, and an ending is the verdict.

pub(crate) mod sides;
mod text;

use sides::{ComparedAnswer, JudgementSide, KnownValue, Podiums, RunView, Scores};

use super::judgement::{Basis, Ending, Medal, display_as_in_files};
use crate::run_verdict::{Points, RunVerdict};
use num_rational::BigRational;
use num_traits::Zero;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

/// Why two judgements cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// They are judgements of different contests, which are named.
    #[error("one judgement is of {0}, the other of {1}; compare two of the same contest")]
    Contests(String, String),
    /// They have no run in common.
    #[error(
        "no instance and examination is in both judgements: the first has {before}, the second {after}; compare two of the same instances{hint}"
    )]
    NothingInCommon {
        /// The first blocks of the first judgement.
        before: String,
        /// The first blocks of the second judgement.
        after: String,
        /// What the reason may be; may be empty.
        hint: &'static str,
    },
}

/// All differences, in stable order. `before` and `after` are the first and the second judgement; None stands for an item
/// that the judgement does not have.
#[derive(Debug, Default, Serialize)]
pub struct Comparison {
    /// `mcc`, `sv-comp` or `crv`.
    pub contest: String,
    /// Settings by key, such as `judging.votes`; in SV-COMP and CRV also the categories.
    pub settings: Vec<Change<String>>,
    /// Entries whose tool or status differ.
    pub entries: Vec<Change<String>>,
    /// Instances that only one judgement has, or whose family, status or weight differ (other contests: categories).
    pub instances: Vec<Change<String>>,
    /// What only the first judgement has.
    pub only_before: OneSided,
    /// What only the second judgement has.
    pub only_after: OneSided,
    /// Number of values that are in both judgements.
    pub values_compared: u64,
    /// Trusted values that differ.
    pub values: Vec<ValueChange>,
    /// Number of values by change of basis (MCC).
    pub bases: Vec<BasisChange>,
    /// Normalized points by entry and examination; points by entry and category.
    pub points: Vec<PointsChange>,
    /// Parts of points by entry and category that differ (CRV).
    pub parts: Vec<PointsChange>,
    /// Podium places whose rank, points or medal differ.
    pub places: Vec<PlaceChange>,
    /// Number of runs that are in both judgements.
    pub runs_compared: u64,
    /// Runs whose points (with weights) differ.
    pub run_points: Vec<RunChange<Points>>,
    /// Parts of the points of these runs that differ (CRV).
    pub run_parts: Vec<RunChange<Points>>,
    /// Number of answers of these runs that are in at least one of the judgements.
    pub answers_compared: u64,
    /// Answers of these runs that differ.
    pub answers: Vec<RunChange<Option<String>>>,
    /// Runs whose ending or verdict differs.
    pub endings: Vec<RunChange<EndingOrVerdict>>,
    /// Runs whose CPU times (CRV: execution times), in milliseconds, differ by more than the given factor and by a second
    /// or more.
    pub times: Vec<RunChange<u64>>,
    /// Number of runs with a measured time in both judgements.
    pub times_compared: u64,
    /// Runs whose memory, in bytes, differs by more than the given factor and by a megabyte or more.
    pub memory: Vec<RunChange<u64>>,
    /// Number of runs with measured memory in both judgements.
    pub memory_compared: u64,
}

/// A difference of a named item.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Change<T> {
    /// The name or key.
    pub what: String,
    /// In the first judgement.
    pub before: Option<T>,
    /// In the second judgement.
    pub after: Option<T>,
}

/// What only one of the judgements has.
#[derive(Debug, Default, Serialize)]
pub struct OneSided {
    /// Numbers of values by block.
    pub values: Vec<BlockValues>,
    /// Runs whose entry, instance and examination the other judgement does not have together.
    pub runs: Vec<RunName>,
}

/// The number of values of a block that only one judgement has.
#[derive(Debug, Serialize)]
pub struct BlockValues {
    /// Instance and examination.
    #[serde(flatten)]
    pub block: BlockName,
    /// How many positions the block has that the other judgement does not have.
    pub values: usize,
}

/// The names of a run.
#[derive(Debug, Serialize)]
pub struct RunName {
    /// Name of the entry.
    pub entry: String,
    /// Instance and examination of the run.
    #[serde(flatten)]
    pub block: BlockName,
}

/// The names of a block.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct BlockName {
    /// Name of the instance.
    pub instance: String,
    /// Name of the examination or category.
    pub examination: String,
    /// The property to be verified (SV-COMP); else empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub property: String,
}

impl fmt::Display for BlockName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let property = if self.property.is_empty() { "" } else { " " };
        write!(out, "{} {}{property}{}", self.instance, self.examination, self.property)
    }
}

/// A trusted value that differs.
#[derive(Debug, Serialize)]
pub struct ValueChange {
    /// Instance and examination of the value.
    #[serde(flatten)]
    pub block: BlockName,
    /// The position; None in other contests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    /// The value in the first judgement; None if it is unknown.
    pub before: Option<String>,
    /// The value in the second judgement; None if it is unknown.
    pub after: Option<String>,
    /// The basis in the first judgement (MCC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis_before: Option<Basis>,
    /// The basis in the second judgement (MCC).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis_after: Option<Basis>,
}

/// The number of values whose basis changed in one way.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct BasisChange {
    /// The basis in the first judgement.
    pub before: Basis,
    /// The basis in the second judgement.
    pub after: Basis,
    /// How many values changed in this way.
    pub values: u64,
}

/// The points of an entry in an examination or category that differ, or a part of them.
#[derive(Debug, Serialize)]
pub struct PointsChange {
    /// Name of the entry.
    pub entry: String,
    /// Name of the examination or category.
    pub examination: String,
    /// Name of the part, such as `memory` (CRV); None for all points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Points in the first judgement.
    pub before: Option<Points>,
    /// Points in the second judgement.
    pub after: Option<Points>,
}

impl PointsChange {
    /// The points in the second judgement minus those in the first; a missing score counts as 0.
    pub fn difference(&self) -> BigRational {
        let points =
            |points: &Option<Points>| points.as_ref().map_or(BigRational::zero(), |points| points.0.clone());
        points(&self.after) - points(&self.before)
    }
}

/// A podium place that differs.
#[derive(Debug, Serialize)]
pub struct PlaceChange {
    /// Name of the category.
    pub category: String,
    /// Name of the entry.
    pub entry: String,
    /// The place in the first judgement.
    pub before: Option<ComparedPlace>,
    /// The place in the second judgement.
    pub after: Option<ComparedPlace>,
}

impl PlaceChange {
    /// Whether rank or medal differ, and not the points only.
    pub fn is_of_rank(&self) -> bool {
        let rank = |place: &Option<ComparedPlace>| place.as_ref().map(|place| (place.rank, place.medal));
        rank(&self.before) != rank(&self.after)
    }
}

/// A place on a podium.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComparedPlace {
    /// The rank. None if another variant of the tool has it (E-4.6), or if the entry is not competing.
    pub rank: Option<u32>,
    /// The medal that belongs to the rank; none in a provisional judgement.
    pub medal: Medal,
    /// Points in the category.
    #[serde(with = "mcc_edition::fraction")]
    pub points: BigRational,
}

/// A difference between the two judgements of a run.
#[derive(Debug, Serialize)]
pub struct RunChange<T> {
    /// Name of the part of its points that differs; None for anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// Name of the entry.
    pub entry: String,
    /// Instance and examination of the run.
    #[serde(flatten)]
    pub block: BlockName,
    /// The position of an answer of the MCC; None for anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    /// In the first judgement.
    pub before: T,
    /// In the second judgement.
    pub after: T,
}

/// How a run ended, or the verdict on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum EndingOrVerdict {
    /// How a run of the MCC ended.
    Ending(Ending),
    /// The verdict on a run of SV-COMP or CRV.
    Verdict(RunVerdict),
}

display_as_in_files!(EndingOrVerdict);

/// Smaller differences between amounts of memory, in bytes, are not reported, whatever their ratio.
const NOISE_BYTES: u64 = 1_000_000;

/// Smaller differences between times, in milliseconds, are not reported, whatever the ratio of the times.
const NOISE_MS: u64 = 1000;

/// Compares two judgements. Two times, or two amounts of memory, differ if one is more than `factor` times the other.
///
/// # Errors
/// The judgements are of different contests or have no run in common; then no difference would be found, which would be
/// misleading.
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
        points: points(&points_before, &points_after),
        parts: points(&before.parts(), &after.parts()),
        places: places(&before.podiums(), &after.podiums()),
        ..Comparison::default()
    };
    let (names_before, names_after) = (before.blocks(), after.blocks());
    let mut blocks: BTreeMap<&BlockName, usize> =
        names_after.iter().enumerate().map(|(at, name)| (name, at)).collect();
    let mut bases: BTreeMap<(Basis, Basis), u64> = BTreeMap::new();
    let mut common = 0usize;
    for (at, block) in names_before.iter().enumerate() {
        let before_block = before.block(at);
        let Some(at) = blocks.remove(block) else {
            comparison.only_before.add(block, before_block.values.len(), &before_block.runs);
            continue;
        };
        common += 1;
        let after_block = after.block(at);
        comparison.values(block, &before_block.values, &after_block.values, &mut bases, J::POSITIONS);
        for (runs, others, side) in [
            (&before_block.runs, &after_block.runs, &mut comparison.only_before),
            (&after_block.runs, &before_block.runs, &mut comparison.only_after),
        ] {
            let one_sided = runs.iter().filter(|run| others.iter().all(|other| other.entry != run.entry));
            side.runs.extend(one_sided.map(|run| run.name(block)));
        }
        for a in &before_block.runs {
            if let Some(b) = after_block.runs.iter().find(|b| b.entry == a.entry) {
                comparison.run(block, a, b, factor, J::POSITIONS);
            }
        }
    }
    let have_runs = !names_before.is_empty() && !names_after.is_empty();
    let no_score = points_before.keys().all(|key| !points_after.contains_key(key));
    if common == 0 && (have_runs || no_score) {
        let (before, after, hint) = (first_few(&names_before), first_few(&names_after), J::HINT);
        return Err(CompareError::NothingInCommon { before, after, hint });
    }
    for (at, name) in names_after.iter().enumerate().filter(|(_, name)| blocks.contains_key(name)) {
        let after_block = after.block(at);
        comparison.only_after.add(name, after_block.values.len(), &after_block.runs);
    }
    let basis = |((before, after), values)| BasisChange { before, after, values };
    comparison.bases = bases.into_iter().map(basis).collect();
    Ok(comparison)
}

/// The first names of blocks as text, with the number of blocks if there are more.
fn first_few(names: &[BlockName]) -> String {
    const FEW: usize = 2;
    let mut shown: Vec<String> = names.iter().take(FEW).map(ToString::to_string).collect();
    match names.len() {
        0 => shown.push("none".to_owned()),
        count if count > FEW => shown.push(format!("... ({count})")),
        _ => {}
    }
    shown.join(", ")
}

impl OneSided {
    /// Adds a block that the other judgement does not have.
    fn add(&mut self, block: &BlockName, values: usize, runs: &[RunView<'_>]) {
        self.values.push(BlockValues { block: block.clone(), values });
        self.runs.extend(runs.iter().map(|run| run.name(block)));
    }
}

impl Comparison {
    /// Compares the trusted values of a block of both judgements.
    fn values(
        &mut self,
        block: &BlockName,
        before_block: &[KnownValue<'_>],
        after_block: &[KnownValue<'_>],
        bases: &mut BTreeMap<(Basis, Basis), u64>,
        positions: bool,
    ) {
        for (position, ((before, basis_before), (after, basis_after))) in
            before_block.iter().zip(after_block).enumerate()
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
        for (more, less, side) in [
            (before_block, after_block, &mut self.only_before),
            (after_block, before_block, &mut self.only_after),
        ] {
            if more.len() > less.len() {
                side.values.push(BlockValues { block: block.clone(), values: more.len() - less.len() });
            }
        }
    }

    /// Compares a run that is in both judgements.
    fn run(&mut self, block: &BlockName, a: &RunView<'_>, b: &RunView<'_>, factor: u64, positions: bool) {
        self.runs_compared += 1;
        for (position, (before, after)) in a.answers.iter().zip(&b.answers).enumerate() {
            self.answers_compared += u64::from(before.is_some() || after.is_some());
            if !ComparedAnswer::same(*before, *after) {
                let [before, after] = [before, after].map(|answer| answer.map(|answer| answer.to_string()));
                let position = positions.then_some(position);
                self.answers.push(RunChange { position, ..a.change(block, before, after) });
            }
        }
        if a.points != b.points {
            let [before, after] = [a, b].map(|run| Points(run.points.clone()));
            self.run_points.push(a.change(block, before, after));
        }
        for ((part, before), (_, after)) in a.parts.iter().zip(&b.parts).filter(|((_, a), (_, b))| a != b) {
            let [before, after] = [before, after].map(|points| Points((*points).clone()));
            let part = Some((*part).to_owned());
            self.run_parts.push(RunChange { part, ..a.change(block, before, after) });
        }
        if let (Some(before), Some(after)) = (a.how_ended, b.how_ended)
            && before != after
        {
            self.endings.push(a.change(block, before, after));
        }
        if let (Some(before), Some(after)) = (a.time_ms, b.time_ms) {
            self.times_compared += 1;
            if is_far(before, after, factor, NOISE_MS) {
                self.times.push(a.change(block, before, after));
            }
        }
        if let (Some(before), Some(after)) = (a.memory_bytes, b.memory_bytes) {
            self.memory_compared += 1;
            if is_far(before, after, factor, NOISE_BYTES) {
                self.memory.push(a.change(block, before, after));
            }
        }
    }
}

/// Whether two values differ by more than a factor, and by `noise` or more.
fn is_far(before: u64, after: u64, factor: u64, noise: u64) -> bool {
    let (less, more) = (before.min(after), before.max(after));
    more - less >= noise && more > less.saturating_mul(factor)
}

impl RunView<'_> {
    fn name(&self, block: &BlockName) -> RunName {
        RunName { entry: self.entry.to_owned(), block: block.clone() }
    }

    fn change<T>(&self, block: &BlockName, before: T, after: T) -> RunChange<T> {
        let (entry, block) = (self.entry.to_owned(), block.clone());
        RunChange { part: None, entry, block, position: None, before, after }
    }
}

/// The items that differ or are in one map only, by key.
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

/// Status, tool and note of each entry as text, by name.
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

/// The settings by dotted key, without title, sources and unknown settings.
fn settings(judgement: &impl JudgementSide) -> BTreeMap<String, String> {
    let mut keys = BTreeMap::new();
    flatten("", &judgement.settings(), &mut keys);
    keys.retain(|key, _| !["title", "sources", "unknown"].iter().any(|prefix| key.starts_with(prefix)));
    keys
}

/// Adds the leaves of a JSON value by dotted key.
fn flatten(key: &str, value: &serde_json::Value, into: &mut BTreeMap<String, String>) {
    let inner = |name: &str| if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") };
    match value {
        serde_json::Value::Object(fields) => {
            fields.iter().for_each(|(name, value)| flatten(&inner(name), value, into));
        }
        serde_json::Value::Array(items) if items.iter().any(serde_json::Value::is_object) => {
            for (at, value) in items.iter().enumerate() {
                // By name: an item before it, which only one side has, makes no difference.
                let name = value["name"].as_str().map_or_else(|| at.to_string(), str::to_owned);
                flatten(&inner(&name), value, into);
            }
        }
        serde_json::Value::String(text) => drop(into.insert(key.to_owned(), text.clone())),
        other => drop(into.insert(key.to_owned(), other.to_string())),
    }
}

/// Scores that differ.
fn points(before: &Scores<'_>, after: &Scores<'_>) -> Vec<PointsChange> {
    let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let change = |names: &(&str, &str, Option<&str>)| {
        let [before, after] =
            [before, after].map(|scores| scores.get(names).map(|points| Points((*points).clone())));
        let (entry, examination, part) = *names;
        let (entry, examination) = (entry.to_owned(), examination.to_owned());
        PointsChange { entry, examination, part: part.map(str::to_owned), before, after }
    };
    names.into_iter().map(change).filter(|change| change.before != change.after).collect()
}

/// Places that differ, by category, then by rank in the second judgement (in the first, if the entry is not in the second).
fn places(before: &Podiums<'_>, after: &Podiums<'_>) -> Vec<PlaceChange> {
    let mut categories: Vec<&str> = before.iter().chain(after).map(|(category, _)| *category).collect();
    let mut seen = BTreeSet::new();
    categories.retain(|category| seen.insert(*category));
    // Of several podiums of one name the first.
    let [before, after] = [before, after].map(|podiums| {
        let named = podiums.iter().rev().map(|(category, places)| (*category, places));
        named.collect::<HashMap<&str, _>>()
    });
    let none = BTreeMap::new();
    let mut changes = Vec::new();
    for category in categories {
        let [before, after] = [&before, &after].map(|named| named.get(category).copied().unwrap_or(&none));
        let of_category = |Change { what, before, after }| PlaceChange {
            category: category.to_owned(),
            entry: what,
            before,
            after,
        };
        let mut of_podium: Vec<PlaceChange> = differing(before, after).into_iter().map(of_category).collect();
        let rank = |change: &PlaceChange| {
            let place = change.after.as_ref().or(change.before.as_ref());
            place.and_then(|place| place.rank).unwrap_or(u32::MAX)
        };
        of_podium.sort_by_key(rank);
        changes.extend(of_podium);
    }
    changes
}
