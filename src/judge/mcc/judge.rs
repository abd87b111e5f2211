//! Ballots in order, with confidences and weights, ready to be judged block by block.

use super::overrides::Overrides;
use super::trusted::Vote;
use super::votes::{self, PositionVotes};
use super::{confidence, flags, weights};
use crate::input::ballots::{
    BallotError, Ballots, EntryFacts, InstanceFacts, NO_FACTS, NONE, RunFacts, RunRow,
};
use crate::judgement::*;
use mcc_base::Mark;
use mcc_edition::{Edition, InfrastructureRule, Votes};
use mcc_model::family_of;
use num_rational::BigRational;
use num_traits::Zero;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    #[error(transparent)]
    Ballot(#[from] BallotError),
    #[error(
        "instance {instance} is `{status}`, for which edition {edition} has no multiplier (judging.multipliers); \
         it has {known}"
    )]
    UnknownStatus { instance: String, status: String, edition: String, known: String },
}

/// Ballots in order, with confidences and weights: ready to judge block by block, so that a judgement can be
/// written while it is made and memory holds the votes only.
pub struct Judge {
    /// Everything of the judgement but blocks and what is summed over them.
    pub header: JudgementHeader,
    pub(super) ballots: Ballots,
    pub(super) blocks: Vec<Range<usize>>,
    pub(super) voters: Vec<bool>,
    /// By entry: its tool, so that variants of one tool have the same.
    pub(super) tools: Vec<usize>,
    pub(super) overrides: Overrides,
    /// Rows of the blocks that were excluded.
    excluded_rows: Vec<RunRow>,
    pub(super) weights: Vec<BigRational>,
    /// By instance: its place in `weights`.
    pub(super) weight_class: Vec<u32>,
    /// Instances whose family ran on several hosts: their costs are not compared (E-5.1).
    mixed_hosts: Vec<bool>,
}

/// What is known before the blocks are judged; fields as in `Judgement`.
#[derive(Debug)]
pub struct JudgementHeader {
    pub version: String,
    pub edition: Edition,
    pub inputs: Vec<InputDigest>,
    pub notes: Vec<String>,
    pub entries: Vec<Entry>,
    pub instances: Vec<Instance>,
    pub examinations: Vec<String>,
    pub unresolved: Vec<RunName>,
    pub excluded: Vec<RunName>,
    pub common_values: u64,
    pub confidence: Vec<Confidence>,
    pub flags: Vec<Flag>,
}

/// What is summed over the blocks; fields as in `Judgement`.
#[derive(Debug)]
pub struct JudgementTotals {
    pub scores: Vec<Score>,
    pub podiums: Vec<Podium>,
    pub awards: Vec<Award>,
    pub best_virtual: Vec<VirtualScore>,
}

impl Judge {
    pub fn new(edition: &Edition, mut ballots: Ballots) -> Result<Self, JudgeError> {
        let names: Vec<String> = ballots.entry_names().map(str::to_owned).collect();
        let mut entries: Vec<Entry> =
            names.iter().map(|name| entry_described(edition, &ballots, name)).collect();
        // P-4: a resigned entry leaves no trace; P-3: a withdrawn one is named, its runs are not judged.
        let resigned: Vec<Entry> = entries.extract_if(.., |entry| entry.status == Status::Resigned).collect();
        let judged: BTreeSet<&str> = entries
            .iter()
            .filter(|entry| entry.status != Status::Withdrawn)
            .map(|entry| entry.entry.as_str())
            .collect();
        ballots.sort_and_filter(|name| judged.contains(name))?;
        let numbers: HashMap<&str, usize> =
            ballots.entries.names.iter().enumerate().map(|(number, name)| (name.as_str(), number)).collect();
        // Entries of the ballots first, by number; those without a ballot left (withdrawn ones) after them.
        entries.sort_by_key(|entry| {
            (numbers.get(entry.entry.as_str()).copied().unwrap_or(usize::MAX), entry.entry.clone())
        });

        let (unresolved, excluded, excluded_rows) = infrastructure(edition, &mut ballots);
        let blocks = blocks(&ballots.rows);
        let mut instances = instances(edition, &mut ballots)?;
        let (weights, weight_class) = set_weights(edition, &ballots, &mut instances)?;
        let voters: Vec<bool> = entries.iter().map(|entry| entry.status == Status::Competing).collect();
        let tools = votes::tools(&entries);
        let overrides = Overrides::new(&ballots.overrides, &ballots.instances.names);
        let mixed_hosts = mixed_hosts(&ballots.rows, &instances);
        let flags = flags::flags(&entries, &instances, &ballots.rows, &ballots.given, &ballots.examinations);
        let mut judge = Self {
            header: JudgementHeader {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                edition: edition.without_resigned(|name| resigned.iter().all(|entry| entry.entry != name)),
                inputs: inputs_without(&resigned, std::mem::take(&mut ballots.inputs)),
                notes: std::mem::take(&mut ballots.notes),
                entries,
                instances,
                examinations: ballots.examinations.iter().map(|(name, _)| name.clone()).collect(),
                unresolved,
                excluded,
                common_values: 0,
                confidence: Vec::new(),
                flags,
            },
            ballots,
            blocks,
            voters,
            tools,
            overrides,
            excluded_rows,
            weights,
            weight_class,
            mixed_hosts,
        };
        (judge.header.common_values, judge.header.confidence) = judge.confidence();
        if judge.header.common_values == 0 && judge.ballots.given.iter().any(|given| *given != NONE) {
            judge.header.notes.push(format!(
                "confidence could not be measured, so it is 0 for every entry: no value was given by {} entries that are \
                 more than half of those that gave one (E-2.2)",
                edition.judging.min_agreeing
            ));
        }
        Ok(judge)
    }

    /// The same contest without a tool and all its variants, as if they had resigned (P-4).
    pub fn without(&self, tool: &str) -> Result<Self, JudgeError> {
        let mut ballots = self.ballots.clone();
        // What was excluded on account of this tool is judged again.
        ballots.rows.extend(self.excluded_rows.iter().cloned());
        for Entry { entry, tool: of, note, .. } in &self.header.entries {
            if of == tool {
                let (tool, note) = (of.clone(), note.clone());
                ballots.describe_entry(entry, EntryFacts { tool, status: Status::Resigned, note });
            }
        }
        Self::new(&self.header.edition, ballots)
    }

    /// The blocks that the edition drops, in order; nothing in them is judged.
    pub fn excluded_blocks(&self) -> impl Iterator<Item = Block> {
        blocks(&self.excluded_rows).into_iter().map(|block| {
            let rows = &self.excluded_rows[block];
            let unknown = || Trusted {
                id: String::new(),
                value: None,
                basis: Basis::UnknownNone,
                weak: None,
                reason: String::new(),
            };
            Block {
                examination: rows[0].examination as usize,
                instance: rows[0].instance as usize,
                trusted: (0..self.value_count(rows)).map(|_| unknown()).collect(),
                cells: rows.iter().map(|row| self.excluded_cell(row)).collect(),
            }
        })
    }

    fn excluded_cell(&self, row: &RunRow) -> Cell {
        let given = &self.ballots.given[row.first..row.first + self.value_count(std::slice::from_ref(row))];
        let RunFacts { cost, marks, techniques, remarks, .. } =
            row.facts.as_deref().unwrap_or(&NO_FACTS).clone();
        let verdict = |number: &u32| match *number {
            NONE => ValueVerdict::NotComputed,
            _ => ValueVerdict::Unjudged,
        };
        Cell {
            entry: row.entry as usize,
            ending: row.ending,
            values: given.iter().map(|number| self.ballots.values.get(*number).cloned()).collect(),
            verdicts: given.iter().map(verdict).collect(),
            points: BigRational::zero(),
            complete: false,
            cost,
            marks,
            techniques,
            remarks,
        }
    }

    /// The votes on one position, ready to be compared by number. `confidence` is by entry, empty where it isn't
    /// known yet.
    pub(super) fn votes(
        &self,
        rows: &[RunRow],
        position: usize,
        confidence: &[BigRational],
        votes: &mut Vec<Vote>,
    ) -> PositionVotes {
        let values = &self.ballots.values;
        let mut any_rounded = false;
        votes.clear();
        for row in rows.iter().filter(|row| self.voters[row.entry as usize]) {
            let value = self.ballots.given[row.first + position];
            if value != NONE {
                any_rounded |= values.is_rounded(value);
                votes.push(Vote { entry: row.entry as usize, value });
            }
        }
        if any_rounded {
            votes.iter_mut().for_each(|vote| vote.value = values.rounded(vote.value));
        }
        let variants_differ = match self.header.edition.judging.votes {
            Votes::PerVariant => false,
            Votes::PerTool => votes::per_tool(votes, &self.tools, confidence),
        };
        PositionVotes { any_rounded, variants_differ }
    }

    /// Whether a given value equals the trusted one; a rounded answer of an entry without a vote is compared as
    /// rounded, but doesn't round the others'.
    pub(super) fn equals(&self, given: u32, trusted: u32, any_rounded: bool) -> bool {
        let values = &self.ballots.values;
        values.agree(given, trusted, any_rounded || values.is_rounded(given))
    }

    /// |V| and the confidences (E-2): virtual and out-of-competition entries are measured, but do not make V.
    fn confidence(&self) -> (u64, Vec<Confidence>) {
        let judging = &self.header.edition.judging;
        let mut counted = confidence::AgreementCounts::new(self.header.entries.len());
        let mut votes = Vec::new();
        for block in &self.blocks {
            let rows = &self.ballots.rows[block.clone()];
            for position in 0..self.value_count(rows) {
                let PositionVotes { any_rounded, .. } = self.votes(rows, position, &[], &mut votes);
                let Some(common) = confidence::commonly_agreed(&votes, judging.min_agreeing) else {
                    continue;
                };
                counted.common += 1;
                for row in rows {
                    let given = self.ballots.given[row.first + position];
                    if given != NONE {
                        counted.answered[row.entry as usize] += 1;
                        counted.agreed[row.entry as usize] +=
                            u64::from(self.equals(given, common, any_rounded));
                    }
                }
            }
        }
        let confidence = |entry: usize| Confidence {
            entry,
            agreed: counted.agreed[entry],
            answered: counted.answered[entry],
            confidence: counted.confidence(entry, judging.confidence),
        };
        (counted.common, (0..self.header.entries.len()).map(confidence).collect())
    }

    /// How many runs carry each mark, such as `degraded:tcg`, and how many runs were made.
    pub fn marks(&self) -> (BTreeMap<&str, u64>, u64) {
        let (mut marks, mut made) = (BTreeMap::new(), 0);
        for row in &self.ballots.rows {
            let of: &[Mark] = row.facts.as_deref().map_or(&[], |facts| &facts.marks);
            if !of.contains(&Mark::NOT_RUN_YET) {
                made += 1;
                of.iter().for_each(|mark| *marks.entry(&**mark).or_default() += 1);
            }
        }
        (marks, made)
    }

    /// How many of the unresolved runs are not made yet, in a campaign that is judged before its end.
    pub fn not_made_yet(&self) -> usize {
        let failed = self.ballots.rows.iter().filter(|row| row.ending == Ending::Infrastructure);
        let facts = failed.filter_map(|row| row.facts.as_deref());
        facts.filter(|facts| facts.marks.contains(&Mark::NOT_RUN_YET)).count()
    }

    /// How many blocks the examinations that `within` takes have.
    pub(super) fn count_blocks(&self, within: impl Fn(usize) -> bool) -> u64 {
        let first = self.blocks.iter().map(|block| &self.ballots.rows[block.start]);
        first.filter(|row| within(row.examination as usize)).count() as u64
    }

    /// What a competing entry's run cost, where it may be compared (E-5.1).
    pub(super) fn comparable_cost(&self, row: &RunRow) -> Option<Cost> {
        let RunFacts { cost, marks, .. } = row.facts.as_deref().unwrap_or(&NO_FACTS);
        let comparable = self.voters[row.entry as usize]
            && !self.mixed_hosts[row.instance as usize]
            && !marks.iter().any(Mark::excludes_cost);
        cost.filter(|_| comparable)
    }

    pub(super) fn value_count(&self, rows: &[RunRow]) -> usize {
        self.ballots.examinations[rows[0].examination as usize].1
    }
}

fn entry_described(edition: &Edition, ballots: &Ballots, name: &str) -> Entry {
    match ballots.known_entries.get(name) {
        Some(facts) => Entry {
            entry: name.to_owned(),
            tool: facts.tool.clone(),
            status: facts.status,
            note: facts.note.clone(),
        },
        None => Entry {
            entry: name.to_owned(),
            tool: edition.tool_of(name).to_owned(),
            status: edition.status_of(name),
            note: edition.note_of(name).to_owned(),
        },
    }
}

/// Files that are named after a resigned entry (BenchKit's summaries) are not listed (P-4).
fn inputs_without(resigned: &[Entry], mut inputs: Vec<InputDigest>) -> Vec<InputDigest> {
    inputs.retain(|input| !resigned.iter().any(|entry| input.is_named_after(&entry.entry)));
    inputs
}

/// Runs that ended in infrastructure or are not made yet: listed as unresolved, or as excluded and their blocks' rows taken out (returned
/// last), as the edition says. A non-voting entry's run harms nobody's points, but is named all the same.
fn infrastructure(edition: &Edition, ballots: &mut Ballots) -> (Vec<RunName>, Vec<RunName>, Vec<RunRow>) {
    let name = |row: &RunRow| RunName {
        entry: ballots.entries.names[row.entry as usize].clone(),
        instance: ballots.instances.names[row.instance as usize].clone(),
        examination: ballots.examinations[row.examination as usize].0.clone(),
    };
    let is_excluded = |row: &RunRow| {
        let facts = row.facts.as_deref().unwrap_or(&NO_FACTS);
        edition.judging.infrastructure == InfrastructureRule::Exclude
            && !facts.marks.contains(&Mark::NOT_RUN_YET)
    };
    let failed = ballots.rows.iter().filter(|row| !row.ending.is_scored());
    let (excluded, unresolved): (Vec<&RunRow>, Vec<&RunRow>) = failed.partition(|row| is_excluded(row));
    let blocks: BTreeSet<(u16, u32)> = excluded.iter().map(|row| (row.examination, row.instance)).collect();
    let [unresolved, excluded] = [unresolved, excluded].map(|rows| rows.into_iter().map(name).collect());
    let excluded_rows = |row: &mut RunRow| blocks.contains(&(row.examination, row.instance));
    let excluded_rows =
        if blocks.is_empty() { vec![] } else { ballots.rows.extract_if(.., excluded_rows).collect() };
    (unresolved, excluded, excluded_rows)
}

/// Where each block of the sorted rows begins and ends.
fn blocks(rows: &[RunRow]) -> Vec<Range<usize>> {
    let mut first = 0;
    rows.chunk_by(|a, b| (a.examination, a.instance) == (b.examination, b.instance))
        .map(|block| {
            first += block.len();
            first - block.len()..first
        })
        .collect()
}

/// Family and status of every instance; the weight is set later.
fn instances(edition: &Edition, ballots: &mut Ballots) -> Result<Vec<Instance>, JudgeError> {
    let mut guessed = 0;
    let mut instances = Vec::with_capacity(ballots.instances.names.len());
    for name in &ballots.instances.names {
        let facts = ballots.known_instances.get(name).cloned().unwrap_or_else(|| {
            guessed += 1;
            let (name, stripped) = edition.unstripped(name);
            let status = if stripped { "stripped" } else { "known" };
            InstanceFacts { family: family_of(name).to_owned(), status: status.to_owned() }
        });
        if !edition.judging.multipliers.contains_key(&facts.status) {
            return Err(JudgeError::UnknownStatus {
                instance: name.clone(),
                status: facts.status,
                edition: edition.name.clone(),
                known: edition.judging.multipliers.keys().cloned().collect::<Vec<_>>().join(", "),
            });
        }
        let InstanceFacts { family, status } = facts;
        instances.push(Instance { instance: name.clone(), family, status, weight: BigRational::zero() });
    }
    if guessed > 0 {
        ballots.notes.push(format!(
            "family and status of {guessed} of {} instances are not given (--models): the family is the text \
             before -PT- or -COL-, the status known",
            instances.len()
        ));
    }
    Ok(instances)
}

/// Sets the weight of every instance (normalization times multiplier, E-4.4) and numbers the distinct weights.
fn set_weights(
    edition: &Edition,
    ballots: &Ballots,
    instances: &mut [Instance],
) -> Result<(Vec<BigRational>, Vec<u32>), JudgeError> {
    let mut has_result = vec![false; instances.len()];
    for row in &ballots.rows {
        let count = ballots.examinations[row.examination as usize].1;
        has_result[row.instance as usize] |=
            ballots.given[row.first..row.first + count].iter().any(|v| *v != NONE);
    }
    let families: Vec<Option<&str>> = instances
        .iter()
        .zip(&has_result)
        .map(|(instance, has)| has.then_some(instance.family.as_str()))
        .collect();
    let normalized = weights::weights(edition.judging.normalization, &families);
    let mut classes: Vec<BigRational> = Vec::new();
    let mut numbers: HashMap<BigRational, u32> = HashMap::new();
    let mut of = Vec::with_capacity(instances.len());
    for (instance, weight) in instances.iter_mut().zip(normalized) {
        instance.weight = weight * &edition.judging.multipliers[&instance.status];
        of.push(*numbers.entry(instance.weight.clone()).or_insert_with(|| {
            classes.push(instance.weight.clone());
            classes.len() as u32 - 1
        }));
    }
    Ok((classes, of))
}

/// By instance: whether its family has runs on more than one host.
fn mixed_hosts(rows: &[RunRow], instances: &[Instance]) -> Vec<bool> {
    let mut hosts: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    for row in rows {
        if let Some(facts) = row.facts.as_deref().filter(|facts| !facts.host.is_empty()) {
            hosts.entry(&instances[row.instance as usize].family).or_default().insert(&facts.host);
        }
    }
    let mixed =
        |instance: &Instance| hosts.get(instance.family.as_str()).is_some_and(|hosts| hosts.len() > 1);
    instances.iter().map(mixed).collect()
}
