//! Sorts results and computes confidences, weights and flags, before blocks are judged.

use super::overrides::Overrides;
use super::trusted::Vote;
use super::votes::{self, PositionVotes};
use super::{confidence, flags, no_confidence, teams, weights};
use crate::certified::Certified;
use crate::input::run_results::{
    InstanceFacts, NONE, Override, RunResult, RunResultError, RunResults, RunRow,
};
use crate::judgement::*;
use mcc_base::Mark;
use mcc_edition::{Edition, InfrastructureRule, Judging, Votes};
use mcc_model::family_of;
use num_rational::BigRational;
use num_traits::Zero;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

/// Largest number of pairs of an entry with a rank up to 3 and another entry in `sensitivity`: each has some kilobytes.
pub(super) const MAX_PAIRS: usize = 100_000;

/// Why results cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// A run has two results.
    #[error(transparent)]
    RunResult(#[from] RunResultError),
    /// The edition has no multiplier for the status of an instance.
    #[error(
        "instance {instance} is `{status}`, for which edition {edition} has no multiplier (judging.multipliers); \
         it has {known}; add the multiplier, or correct the status"
    )]
    UnknownStatus {
        /// Name of the instance.
        instance: String,
        /// Its status in the models file or the record, such as `surprise`.
        status: String,
        /// Name of the edition.
        edition: String,
        /// The statuses of the edition, separated by commas.
        known: String,
    },
    /// There are more than `MAX_ENTRIES` entries.
    #[error("there are {count} entries, and at most {MAX_ENTRIES} are judged together; judge fewer of them")]
    TooManyEntries {
        /// Number of entries.
        count: usize,
    },
    /// Too many entries have a rank up to 3 for `sensitivity`.
    #[error(
        "{count} pairs of an entry with a rank up to 3 and another entry, and at most {MAX_PAIRS} are compared; leave \
         out --sensitivity, or judge fewer entries"
    )]
    TooManyPairs {
        /// Number of pairs.
        count: usize,
    },
    /// There are too many flags of absent runs.
    #[error(transparent)]
    TooManyAbsences(#[from] flags::TooManyAbsences),
}

/// Judges results block by block, so that a judgement can be written while it is computed and memory contains only the
/// results.
pub struct Judge {
    /// The judgement without its blocks and the sums over them, which are empty.
    pub header: Judgement,
    pub(super) results: RunResults,
    /// The rows of each block.
    pub(super) blocks: Vec<Range<usize>>,
    /// By entry: whether it has a vote.
    pub(super) voters: Vec<bool>,
    /// By entry: whether it competes. Only competing entries have ranks and determine weights.
    pub(super) competing: Vec<bool>,
    /// By entry: the number of its tool, equal for all variants of a tool.
    pub(super) tools: Vec<usize>,
    pub(super) overrides: Overrides,
    /// Rows of the excluded blocks.
    excluded_rows: Vec<RunRow>,
    /// By weight class.
    pub(super) weights: Vec<BigRational>,
    /// By instance: its weight class.
    pub(super) weight_class: Vec<u32>,
    /// By instance: whether its family ran on several hosts, so that costs are not compared (E-5.1).
    pub(super) mixed_hosts: Vec<bool>,
    /// The numbers of the rows that were marked for it here. Other rows can have the mark from their source.
    marked_rows: HashSet<u32>,
}

/// The sums over all blocks: the last fields of a `Judgement`.
#[derive(Debug)]
pub struct JudgementTotals {
    /// The points of every entry in every examination in which it took part.
    pub scores: Vec<Score>,
    /// One podium per category, in the order of the edition.
    pub podiums: Vec<Podium>,
    /// The awards, by category in the order of the edition.
    pub awards: Vec<Award>,
    /// The score of the best virtual tool in every examination that has a block.
    pub best_virtual: Vec<VirtualScore>,
}

impl Judge {
    /// Prepares the judging of results under the rules of an edition.
    ///
    /// # Errors
    /// A run has two results, or the edition has no multiplier for the status of an instance.
    pub fn new(edition: &Edition, results: RunResults) -> Result<Self, JudgeError> {
        let mut judge = Self::prepare(edition, results)?;
        let mut flags = no_confidence::flags(&judge);
        flags.append(&mut judge.header.flags);
        judge.header.flags = flags;
        if let Some(by_evidence) = judge.by_evidence()? {
            let Ok(totals) = by_evidence.judge_blocks(|_| Ok::<_, std::convert::Infallible>(()));
            judge.header.evidence_podiums = totals.podiums;
        }
        Ok(judge)
    }

    /// Prepares the judging without what needs a second judgement: some flags, and the podiums by evidence.
    fn prepare(edition: &Edition, mut results: RunResults) -> Result<Self, JudgeError> {
        let names: Vec<String> = results.entry_names().map(str::to_owned).collect();
        if names.len() > MAX_ENTRIES {
            return Err(JudgeError::TooManyEntries { count: names.len() });
        }
        let mut entries: Vec<Entry> =
            names.iter().map(|name| results.entry_described(edition, name)).collect();
        // A resigned entry is removed everywhere (P-4). A withdrawn entry is named, but its runs are not judged (P-3).
        let resigned: Vec<Entry> = entries.extract_if(.., |entry| entry.status == Status::Resigned).collect();
        teams::unify(&mut entries);
        results.notes.extend(teams::notes(edition, &entries));
        let judged: BTreeSet<&str> = entries
            .iter()
            .filter(|entry| entry.status != Status::Withdrawn)
            .map(|entry| entry.entry.as_str())
            .collect();
        results.sort_and_filter(|name| judged.contains(name))?;
        let numbers: HashMap<&str, usize> =
            results.entries.names.iter().enumerate().map(|(number, name)| (name.as_str(), number)).collect();
        // First the entries that have results, by number; then the withdrawn ones.
        entries.sort_by_key(|entry| {
            (numbers.get(entry.entry.as_str()).copied().unwrap_or(usize::MAX), entry.entry.clone())
        });

        let voters: Vec<bool> = entries.iter().map(|entry| entry.status.votes()).collect();
        let (unresolved, excluded, excluded_rows) = infrastructure(edition, &mut results, &voters);
        let blocks = blocks(&results.rows);
        let mut instances = instances(edition, &mut results)?;
        let competing: Vec<bool> = entries.iter().map(|entry| entry.status == Status::Competing).collect();
        let (weights, weight_class) = set_weights(edition, &results, &competing, &mut instances);
        let tools = votes::tools(&entries);
        let overrides = Overrides::new(&results.overrides, &results.instances.names);
        let (mixed_hosts, marked_rows) = mixed_hosts(&mut results.rows, &instances);
        let flags = flags::flags(&entries, &instances, &results.rows, &results.given, &results.examinations)?;
        let mut judge = Self {
            header: Judgement {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                edition: edition.without_resigned(|name| resigned.iter().all(|entry| entry.entry != name)),
                publication: results.publication.take().and_then(|publication| {
                    publication.with_entries(|name| entries.iter().any(|entry| entry.entry == name))
                }),
                inputs: inputs_without(&resigned, std::mem::take(&mut results.inputs)),
                notes: std::mem::take(&mut results.notes),
                entries,
                instances,
                examinations: results.examinations.iter().map(|(name, _)| name.clone()).collect(),
                unresolved,
                excluded,
                common_values: 0,
                confidence: Vec::new(),
                blocks: Vec::new(),
                scores: Vec::new(),
                podiums: Vec::new(),
                evidence_podiums: Vec::new(),
                awards: Vec::new(),
                best_virtual: Vec::new(),
                flags,
            },
            results,
            blocks,
            voters,
            competing,
            tools,
            overrides,
            excluded_rows,
            weights,
            weight_class,
            mixed_hosts,
            marked_rows,
        };
        (judge.header.common_values, judge.header.confidence) = judge.confidence();
        // Values of withdrawn and resigned entries are not judged, so they do not count here.
        if judge.header.common_values == 0 && judge.has_values() {
            judge.header.notes.push(format!(
                "confidence could not be measured, so it is 0 for every entry: there is no position at which at least {} \
                 entries, and more than half of those that gave a value, gave the same value (E-2.2)",
                edition.judging.min_agreeing
            ));
        }
        Ok(judge)
    }

    /// The certified values of one block, by position.
    pub(super) fn certified(
        &self,
        examination: usize,
        instance: usize,
    ) -> Option<&HashMap<usize, Certified>> {
        let certified = self.results.certified.as_ref()?;
        certified.get(&(examination, self.header.instances[instance].instance.clone()))
    }

    /// Whether a judged run has a value.
    fn has_values(&self) -> bool {
        self.results.rows.iter().any(|row| self.results.has_value(row))
    }

    /// The number of trusted values that the organizers set.
    pub fn set_by_organizers(&self) -> usize {
        self.results.overrides.len()
    }

    /// Prepares the same contest without a tool and all its variants, as if they had resigned (P-4).
    ///
    /// # Errors
    /// As `new`.
    pub fn without(&self, tool: &str) -> Result<Self, JudgeError> {
        let mut results = self.results.clone();
        // A family can have several hosts only because of this tool.
        for row in results.rows.iter_mut().filter(|row| self.marked_rows.contains(&row.number)) {
            row.facts.as_mut().expect("it has a mark").marks.retain(|mark| *mark != Mark::MIXED_HOST);
        }
        // A block that was excluded because of a run of this tool is judged.
        results.rows.extend(self.excluded_rows.iter().cloned());
        for entry in self.header.entries.iter().filter(|entry| entry.tool == tool) {
            results.describe_entry(Entry { status: Status::Resigned, ..entry.clone() });
        }
        Self::prepare(&self.header.edition, results)
    }

    /// Prepares the same contest as it would be if evidence replaced votes: each trusted value that evidence refutes, or that
    /// is unknown, is the certified value, or unknown where evidence has only a lower bound. None: no value is certified.
    ///
    /// # Errors
    /// As `new`.
    fn by_evidence(&self) -> Result<Option<Self>, JudgeError> {
        if self.results.certified.is_none() {
            return Ok(None);
        }
        let mut results = self.results.clone();
        results.rows.extend(self.excluded_rows.iter().cloned());
        // The first override of a position counts.
        let mut overrides = Vec::new();
        let Ok(_) = self.judge_blocks(|block| {
            for (position, trusted) in block.trusted.iter().enumerate() {
                let Some(value) = trusted.certified.as_deref().map(|certified| &certified.value) else {
                    continue;
                };
                let replaced = match &trusted.value {
                    None if value.exact().is_none() => continue,
                    None => value.exact(),
                    Some(trusted) if value.contradicts(trusted) => value.exact(),
                    Some(_) => continue,
                };
                let value = replaced.map_or(NONE, |exact| results.values.number(exact.clone()));
                let instance = self.header.instances[block.instance].instance.clone();
                let (examination, reason) = (block.examination, String::new());
                overrides.push(Override { examination, instance, position, value, reason });
            }
            Ok::<_, std::convert::Infallible>(())
        });
        overrides.append(&mut results.overrides);
        results.overrides = overrides;
        Self::prepare(&self.header.edition, results).map(Some)
    }

    /// Returns the numbers of examination and instance of every block that is judged, and its property ids as far as they
    /// are known.
    pub(crate) fn block_ids(&self) -> impl Iterator<Item = (usize, usize, &[String])> {
        self.blocks.iter().map(|block| {
            let RunRow { examination, instance, .. } = self.results.rows[block.start];
            let ids = self.results.ids.get(&(examination, instance)).map_or(&[][..], Vec::as_slice);
            (examination as usize, instance as usize, ids)
        })
    }

    /// Returns the excluded blocks in order. Their trusted values are unknown and their values unjudged.
    pub fn excluded_blocks(&self) -> impl Iterator<Item = Block> {
        blocks(&self.excluded_rows).into_iter().map(|block| {
            let rows = &self.excluded_rows[block];
            Block {
                examination: rows[0].examination as usize,
                instance: rows[0].instance as usize,
                trusted: (0..self.value_count(rows)).map(|_| Trusted::unknown()).collect(),
                cells: rows.iter().map(|row| self.excluded_cell(row)).collect(),
            }
        })
    }

    fn excluded_cell(&self, row: &RunRow) -> Cell {
        let verdict = |number: &u32| match *number {
            NONE => ValueVerdict::NotComputed,
            _ => ValueVerdict::Unjudged,
        };
        let verdicts = self.results.values_of(row).iter().map(verdict).collect();
        self.results.cell(row, verdicts, BigRational::zero(), false)
    }

    /// Collects the votes on one position into `votes`, with values that are compared by number. `confidence` is by
    /// entry; it is empty while confidences are computed.
    pub(super) fn votes(
        &self,
        rows: &[RunRow],
        position: usize,
        confidence: &[BigRational],
        votes: &mut Vec<Vote>,
    ) -> PositionVotes {
        let values = &self.results.values;
        let mut any_rounded = false;
        votes.clear();
        for row in rows.iter().filter(|row| self.voters[row.entry as usize]) {
            let value = self.results.given[row.first + position];
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

    /// Returns whether a given value equals the trusted one. A rounded answer of an entry without a vote is compared by
    /// 5 digits, but has no effect on the comparison of other answers.
    pub(super) fn equals(&self, given: u32, trusted: u32, any_rounded: bool) -> bool {
        let values = &self.results.values;
        values.agree(given, trusted, any_rounded || values.is_rounded(given))
    }

    /// Returns |V| and the confidences (E-2). Entries without a vote have a confidence, but their values do not
    /// determine V.
    fn confidence(&self) -> (u64, Vec<Confidence>) {
        let judging = &self.header.edition.judging;
        let mut counts = confidence::AgreementCounts::new(self.header.entries.len());
        let mut votes = Vec::new();
        for block in &self.blocks {
            let rows = &self.results.rows[block.clone()];
            for position in 0..self.value_count(rows) {
                let PositionVotes { any_rounded, .. } = self.votes(rows, position, &[], &mut votes);
                let Some(common) = confidence::commonly_agreed(&votes, judging.min_agreeing) else {
                    continue;
                };
                counts.common += 1;
                for row in rows {
                    let given = self.results.given[row.first + position];
                    if given != NONE {
                        counts.answered[row.entry as usize] += 1;
                        counts.agreed[row.entry as usize] +=
                            u64::from(self.equals(given, common, any_rounded));
                    }
                }
            }
        }
        let confidence = |entry: usize| Confidence {
            entry,
            agreed: counts.agreed[entry],
            answered: counts.answered[entry],
            confidence: counts.confidence(entry, judging.confidence),
        };
        (counts.common, (0..self.header.entries.len()).map(confidence).collect())
    }

    /// Returns the number of runs with each mark, such as `degraded:tcg`, and the number of runs that have an attempt.
    pub fn marks(&self) -> (BTreeMap<&str, u64>, u64) {
        let (mut marks, mut made) = (BTreeMap::new(), 0);
        for row in &self.results.rows {
            let run_marks = &row.facts().marks;
            if Mark::was_made(run_marks) {
                made += 1;
                run_marks.iter().for_each(|mark| *marks.entry(&**mark).or_default() += 1);
            }
        }
        (marks, made)
    }

    /// Returns the number of unresolved runs without an attempt, in a campaign that is judged before its end.
    pub fn not_made_yet(&self) -> usize {
        let failed = self.results.rows.iter().filter(|row| row.ending == Ending::Infrastructure);
        let failed = failed.filter(|row| self.voters[row.entry as usize]);
        let facts = failed.filter_map(|row| row.facts.as_deref());
        facts.filter(|facts| !Mark::was_made(&facts.marks)).count()
    }

    /// Returns the number of blocks of the examinations for which `within` is true.
    pub(super) fn count_blocks(&self, within: impl Fn(usize) -> bool) -> u64 {
        let first = self.blocks.iter().map(|block| &self.results.rows[block.start]);
        first.filter(|row| within(row.examination as usize)).count() as u64
    }

    /// Returns the cost of a run of a competing entry; None where it must not be compared (E-5.1).
    pub(super) fn comparable_cost(&self, row: &RunRow) -> Option<Cost> {
        let RunResult { cost, marks, .. } = row.facts();
        let comparable = self.competing[row.entry as usize]
            && !self.mixed_hosts[row.instance as usize]
            && !marks.iter().any(Mark::excludes_cost);
        cost.filter(|_| comparable)
    }

    /// Returns the number of positions of a block.
    pub(super) fn value_count(&self, rows: &[RunRow]) -> usize {
        self.results.examinations[rows[0].examination as usize].1
    }
}

/// Removes the files that are named after a resigned entry, such as summaries of BenchKit (P-4).
fn inputs_without(resigned: &[Entry], mut inputs: Vec<InputDigest>) -> Vec<InputDigest> {
    inputs.retain(|input| !resigned.iter().any(|entry| input.is_named_after(&entry.entry)));
    inputs
}

/// Returns the unresolved runs, the runs for which blocks are excluded, and the rows of the excluded blocks, which are
/// removed from the results. The edition decides which of the two a run with an infrastructure failure is; a run
/// without an attempt is always unresolved. The runs of entries that neither vote nor compete change nothing for others:
/// they are neither, and a note has their number. `voters` is by entry; every competing entry votes.
fn infrastructure(
    edition: &Edition,
    results: &mut RunResults,
    voters: &[bool],
) -> (Vec<RunName>, Vec<RunName>, Vec<RunRow>) {
    let name = |row: &RunRow| RunName {
        entry: results.entries.names[row.entry as usize].clone(),
        instance: results.instances.names[row.instance as usize].clone(),
        examination: results.examinations[row.examination as usize].0.clone(),
    };
    let is_excluded = |row: &RunRow| {
        edition.judging.infrastructure == InfrastructureRule::Exclude && Mark::was_made(&row.facts().marks)
    };
    let failed = results.rows.iter().filter(|row| !row.ending.is_scored());
    let (failed, without_effect): (Vec<&RunRow>, Vec<&RunRow>) =
        failed.partition(|row| voters[row.entry as usize]);
    let without_effect: Vec<RunName> = without_effect.into_iter().map(name).collect();
    let (excluded, unresolved): (Vec<&RunRow>, Vec<&RunRow>) =
        failed.into_iter().partition(|row| is_excluded(row));
    let blocks: BTreeSet<(u16, u32)> = excluded.iter().map(|row| (row.examination, row.instance)).collect();
    let [unresolved, excluded] = [unresolved, excluded].map(|rows| rows.into_iter().map(name).collect());
    let excluded_rows = |row: &mut RunRow| blocks.contains(&(row.examination, row.instance));
    let excluded_rows =
        if blocks.is_empty() { vec![] } else { results.rows.extract_if(.., excluded_rows).collect() };
    if !without_effect.is_empty() {
        let entries: BTreeSet<&str> = without_effect.iter().map(|run| run.entry.as_str()).collect();
        results.notes.push(format!(
            "runs without a result of entries that neither vote nor compete ({}): {}; they change nothing for other entries \
             (E-4.2)",
            Vec::from_iter(entries).join(", "),
            without_effect.len()
        ));
    }
    (unresolved, excluded, excluded_rows)
}

/// Returns the range of each block in the sorted rows.
fn blocks(rows: &[RunRow]) -> Vec<Range<usize>> {
    let mut first = 0;
    rows.chunk_by(|a, b| (a.examination, a.instance) == (b.examination, b.instance))
        .map(|block| {
            first += block.len();
            first - block.len()..first
        })
        .collect()
}

/// Returns every instance with its family and status, and the weight 0, which `set_weights` replaces.
fn instances(edition: &Edition, results: &mut RunResults) -> Result<Vec<Instance>, JudgeError> {
    let mut from_names = 0;
    let mut instances = Vec::with_capacity(results.instances.names.len());
    for name in &results.instances.names {
        let facts = results.known_instances.get(name).cloned().unwrap_or_else(|| {
            from_names += 1;
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
    let with_status = |status: &'static str| {
        let instances_of_status =
            instances.iter().filter(move |instance: &&Instance| instance.status == status);
        instances_of_status.map(|instance| instance.family.as_str()).collect::<BTreeSet<_>>()
    };
    for family in with_status("known").intersection(&with_status("surprise")) {
        results.notes.push(format!(
            "family {family} has instances with the status `known` and others with `surprise`, but a surprise model is new \
             with all its instances (M-7); check the models file"
        ));
    }
    if from_names > 0 {
        results.notes.push(format!(
            "family and status of {from_names} of {} instances are not given, so the family is the text before -PT- or \
             -COL- in the name, and the status is `known`; if this is wrong, give a table with --models",
            instances.len()
        ));
    }
    Ok(instances)
}

/// Sets the weight of every instance: normalization times multiplier, scale and factor of the family (E-4.4). Returns the
/// weights by weight class, and the weight class of every instance. Only a value of a competing entry makes an instance count
/// in its family: an entry without a rank has no effect on the weights. `competing` is by entry.
fn set_weights(
    edition: &Edition,
    results: &RunResults,
    competing: &[bool],
    instances: &mut [Instance],
) -> (Vec<BigRational>, Vec<u32>) {
    let mut has_result = vec![false; instances.len()];
    for row in results.rows.iter().filter(|row| competing[row.entry as usize]) {
        has_result[row.instance as usize] |= results.has_value(row);
    }
    let families: Vec<Option<&str>> = instances
        .iter()
        .zip(&has_result)
        .map(|(instance, has)| has.then_some(instance.family.as_str()))
        .collect();
    let normalized = weights::weights(edition.judging.normalization, &families);
    let mut classes: Vec<BigRational> = Vec::new();
    let mut numbers: HashMap<BigRational, u32> = HashMap::new();
    let mut class_of_instance = Vec::with_capacity(instances.len());
    for (instance, weight) in instances.iter_mut().zip(normalized) {
        let Judging { multipliers, scale, family_factors, .. } = &edition.judging;
        instance.weight = weight * &multipliers[&instance.status] * scale;
        if let Some(factor) = family_factors.get(&instance.family) {
            instance.weight *= factor;
        }
        class_of_instance.push(*numbers.entry(instance.weight.clone()).or_insert_with(|| {
            classes.push(instance.weight.clone());
            classes.len() as u32 - 1
        }));
    }
    (classes, class_of_instance)
}

/// Returns for every instance whether its family has runs on more than one host, and marks these runs. The second value has
/// the numbers of the rows that it marked.
fn mixed_hosts(rows: &mut [RunRow], instances: &[Instance]) -> (Vec<bool>, HashSet<u32>) {
    let mut hosts: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    for row in &*rows {
        if let Some(facts) = row.facts.as_deref().filter(|facts| !facts.host.is_empty()) {
            hosts.entry(&instances[row.instance as usize].family).or_default().insert(&facts.host);
        }
    }
    let mixed =
        |instance: &Instance| hosts.get(instance.family.as_str()).is_some_and(|hosts| hosts.len() > 1);
    let mixed: Vec<bool> = instances.iter().map(mixed).collect();
    let mut marked = HashSet::new();
    for row in rows.iter_mut().filter(|row| mixed[row.instance as usize]) {
        let Some(facts) = row.facts.as_deref_mut() else { continue };
        if !facts.host.is_empty() && !facts.marks.contains(&Mark::MIXED_HOST) {
            facts.marks.push(Mark::MIXED_HOST);
            marked.insert(row.number);
        }
    }
    (mixed, marked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_campaign::benchkit::Value;

    #[test]
    fn costs_are_compared_again_without_the_tool_on_another_host() {
        let edition = Edition::load("mcc-2017").unwrap();
        let mut results = RunResults::new(&edition);
        for (entry, host, marks) in [
            ("a", "tall", vec![]),
            ("b", "tall", vec![]),
            ("c", "small", vec![]),
            ("d", "tall", vec![Mark::MIXED_HOST]),
        ] {
            let result = RunResult {
                ending: Ending::Answered,
                cost: Some(Cost { cpu_ms: 1, wall_ms: 1, ..Cost::default() }),
                host: host.to_owned(),
                marks,
                ..RunResult::published(vec![Some(Value::True)])
            };
            results.add(entry, "X-PT-1", "ReachabilityDeadlock", &[], result).unwrap();
        }
        let judge = Judge::new(&edition, results).unwrap();
        let comparable = |judge: &Judge| {
            let rows = judge.results.rows.iter();
            rows.map(|row| judge.comparable_cost(row).is_some()).collect::<Vec<_>>()
        };
        assert_eq!(comparable(&judge), [false; 4]);
        let without = judge.without("c").unwrap();
        assert_eq!(comparable(&without), [true, true, false], "the source of d states the mark");
        assert_eq!(comparable(&judge.without("a").unwrap()), [false; 3]);
    }
}
