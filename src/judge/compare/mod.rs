//! What differs between two judgements: rules, values, points, ranks and medals, and what the tools answered and
//! needed. Entries, instances and examinations are matched by name.

mod text;

use super::judgement::*;
use crate::benchkit::Value;
use num_rational::BigRational;
use num_traits::Zero;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Everything that differs, in stable order. `before` and `after` are the first and the second judgement; None is what
/// the judgement does not have.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// Settings by key, such as `judging.votes`.
    pub settings: Vec<Change<String>>,
    /// Entries whose tool or status differ.
    pub entries: Vec<Change<String>>,
    /// How many values are in both judgements.
    pub values_compared: u64,
    pub values: Vec<ValueChange>,
    /// How many values went from one basis to another.
    pub bases: Vec<BasisChange>,
    /// Normalized points by entry and examination.
    pub points: Vec<PointsChange>,
    /// Podium places with another rank, other points or another medal.
    pub places: Vec<PlaceChange>,
    /// What the same entry answered otherwise.
    pub answers: Vec<AnswerChange>,
    /// Runs that ended otherwise.
    pub endings: Vec<RunChange<Ending>>,
    /// Runs whose CPU times (milliseconds) are further apart than the factor asked for, and by a second or more.
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

#[derive(Debug, Serialize)]
pub struct ValueChange {
    pub instance: String,
    pub examination: String,
    pub position: usize,
    /// None = unknown.
    pub before: Option<Value>,
    pub after: Option<Value>,
    pub basis_before: Basis,
    pub basis_after: Basis,
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
    #[serde(serialize_with = "exact")]
    pub before: Option<BigRational>,
    #[serde(serialize_with = "exact")]
    pub after: Option<BigRational>,
}

#[derive(Debug, Serialize)]
pub struct PlaceChange {
    pub category: String,
    pub entry: String,
    pub before: Option<Place>,
    pub after: Option<Place>,
}

impl PlaceChange {
    /// Whether more than points changes.
    pub fn is_of_rank(&self) -> bool {
        let rank = |place: &Option<Place>| place.as_ref().map(|place| (place.rank, place.medal.clone()));
        rank(&self.before) != rank(&self.after)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// None: another variant, or out of competition.
    pub rank: Option<u32>,
    pub medal: String,
    #[serde(with = "crate::edition::fraction")]
    pub points: BigRational,
}

#[derive(Debug, Serialize)]
pub struct AnswerChange {
    pub entry: String,
    pub instance: String,
    pub examination: String,
    pub position: usize,
    /// None = not computed.
    pub before: Option<Value>,
    pub after: Option<Value>,
}

#[derive(Debug, Serialize)]
pub struct RunChange<T> {
    pub entry: String,
    pub instance: String,
    pub examination: String,
    pub before: T,
    pub after: T,
}

fn exact<S: serde::Serializer>(points: &Option<BigRational>, out: S) -> Result<S::Ok, S::Error> {
    match points {
        Some(points) => crate::edition::fraction::serialize(points, out),
        None => out.serialize_none(),
    }
}

/// CPU times less than this apart (milliseconds) are noise, whatever their ratio.
const NOISE_MS: u64 = 1000;

/// Compares two judgements; CPU times differ where one is more than `factor` times the other.
pub fn compare(before: &Judgement, after: &Judgement, factor: u64) -> Comparison {
    let mut comparison = Comparison {
        settings: settings(before, after),
        entries: differing(&entries(before), &entries(after)),
        values_compared: 0,
        values: Vec::new(),
        bases: Vec::new(),
        points: points(before, after),
        places: places(before, after),
        answers: Vec::new(),
        endings: Vec::new(),
        times: Vec::new(),
        times_compared: 0,
    };
    let mut bases: BTreeMap<(Basis, Basis), u64> = BTreeMap::new();
    let blocks: BTreeMap<(&str, &str), &Block> =
        after.blocks.iter().map(|b| (block_name(after, b), b)).collect();
    for was in &before.blocks {
        let name = block_name(before, was);
        let Some(is) = blocks.get(&name) else { continue };
        for (position, (a, b)) in was.trusted.iter().zip(&is.trusted).enumerate() {
            comparison.values_compared += 1;
            if a.basis != b.basis {
                *bases.entry((a.basis, b.basis)).or_default() += 1;
            }
            if !same(a.value.as_ref(), b.value.as_ref()) {
                comparison.values.push(ValueChange {
                    instance: name.1.to_owned(),
                    examination: name.0.to_owned(),
                    position,
                    before: a.value.clone(),
                    after: b.value.clone(),
                    basis_before: a.basis,
                    basis_after: b.basis,
                });
            }
        }
        comparison.runs((before, was), (after, is), factor);
    }
    let basis = |((before, after), values)| BasisChange { before, after, values };
    comparison.bases = bases.into_iter().map(basis).collect();
    comparison
}

/// Examination and instance of a block.
fn block_name<'j>(judgement: &'j Judgement, block: &Block) -> (&'j str, &'j str) {
    (&judgement.examinations[block.examination], &judgement.instances[block.instance].instance)
}

/// A value published with 5 digits and the exact one are the same value.
fn same(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a == b || a.agrees(b, a.is_rounded() || b.is_rounded()),
        (a, b) => a.is_none() && b.is_none(),
    }
}

impl Comparison {
    /// What the entries of both judgements did in one block.
    fn runs(&mut self, (before, was): (&Judgement, &Block), (after, is): (&Judgement, &Block), factor: u64) {
        let (examination, instance) = block_name(before, was);
        for a in &was.cells {
            let entry = &before.entries[a.entry].entry;
            let Some(b) = is.cells.iter().find(|b| after.entries[b.entry].entry == *entry) else { continue };
            let run = || (entry.clone(), instance.to_owned(), examination.to_owned());
            for (position, (x, y)) in a.values.iter().zip(&b.values).enumerate() {
                if !same(x.as_ref(), y.as_ref()) {
                    let (entry, instance, examination) = run();
                    let (before, after) = (x.clone(), y.clone());
                    self.answers.push(AnswerChange { entry, instance, examination, position, before, after });
                }
            }
            if a.ending != b.ending && a.ending != Ending::Unsaid && b.ending != Ending::Unsaid {
                let (entry, instance, examination) = run();
                let (before, after) = (a.ending, b.ending);
                self.endings.push(RunChange { entry, instance, examination, before, after });
            }
            if let (Some(x), Some(y)) = (a.cost, b.cost) {
                self.times_compared += 1;
                let (less, more) = (x.cpu_ms.min(y.cpu_ms), x.cpu_ms.max(y.cpu_ms));
                if more - less >= NOISE_MS && more > less.saturating_mul(factor) {
                    let (entry, instance, examination) = run();
                    let (before, after) = (x.cpu_ms, y.cpu_ms);
                    self.times.push(RunChange { entry, instance, examination, before, after });
                }
            }
        }
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

fn entries(judgement: &Judgement) -> BTreeMap<String, String> {
    let said = |entry: &Entry| {
        let mut said = entry.status.word().to_owned();
        if entry.tool != entry.entry {
            said += &format!(", variant of {}", entry.tool);
        }
        if !entry.note.is_empty() {
            said += &format!(" ({})", entry.note);
        }
        (entry.entry.clone(), said)
    };
    judgement.entries.iter().map(said).collect()
}

/// The settings of both editions as keys with dots, but for what they are called and where they come from.
fn settings(before: &Judgement, after: &Judgement) -> Vec<Change<String>> {
    let keys = |judgement: &Judgement| {
        let mut keys = BTreeMap::new();
        flatten("", &serde_json::to_value(&judgement.edition).unwrap_or_default(), &mut keys);
        keys.retain(|key, _| !["title", "sources", "unknown"].iter().any(|told| key.starts_with(told)));
        keys
    };
    differing(&keys(before), &keys(after))
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

fn points(before: &Judgement, after: &Judgement) -> Vec<PointsChange> {
    let by_name = |judgement: &Judgement| -> BTreeMap<(String, String), BigRational> {
        let named = |score: &Score| {
            let names = (
                judgement.entries[score.entry].entry.clone(),
                judgement.examinations[score.examination].clone(),
            );
            (names, score.normalized.clone())
        };
        judgement.scores.iter().map(named).collect()
    };
    let (before, after) = (by_name(before), by_name(after));
    let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let change = |names: &(String, String)| PointsChange {
        entry: names.0.clone(),
        examination: names.1.clone(),
        before: before.get(names).cloned(),
        after: after.get(names).cloned(),
    };
    names.into_iter().map(change).filter(|change| change.before != change.after).collect()
}

/// In the order of the categories, then of the places after (before, where the entry is gone).
fn places(before: &Judgement, after: &Judgement) -> Vec<PlaceChange> {
    let by_entry = |judgement: &Judgement, category: &str| -> BTreeMap<String, Place> {
        let podium = judgement.podiums.iter().find(|podium| podium.category == category);
        let place = |place: &PodiumPlace| {
            let PodiumPlace { rank, entry, points, medal, .. } = place;
            let place = Place { rank: *rank, medal: medal.clone(), points: points.clone() };
            (judgement.entries[*entry].entry.clone(), place)
        };
        podium.iter().flat_map(|podium| &podium.places).map(place).collect()
    };
    let mut categories: Vec<&str> = before.podiums.iter().map(|podium| podium.category.as_str()).collect();
    categories.extend(after.podiums.iter().map(|podium| podium.category.as_str()));
    let mut seen = BTreeSet::new();
    categories.retain(|category| seen.insert(*category));
    let mut changes = Vec::new();
    for category in categories {
        let mut of: Vec<PlaceChange> = differing(&by_entry(before, category), &by_entry(after, category))
            .into_iter()
            .map(|Change { what, before, after }| PlaceChange {
                category: category.to_owned(),
                entry: what,
                before,
                after,
            })
            .collect();
        let rank = |change: &PlaceChange| {
            let place = change.after.as_ref().or(change.before.as_ref());
            place.and_then(|place| place.rank).unwrap_or(u32::MAX)
        };
        of.sort_by_key(rank);
        changes.extend(of);
    }
    changes
}

impl PointsChange {
    /// How much more the entry has after.
    pub fn difference(&self) -> BigRational {
        let points = |points: &Option<BigRational>| points.clone().unwrap_or_else(BigRational::zero);
        points(&self.after) - points(&self.before)
    }
}
