//! Judging the Model Checking Contest (rules E-2 to E-4): ballots in, a judgement out.

mod awards;
mod confidence;
mod podium;
mod points;
mod trusted;
mod weights;

use super::ballots::{BallotError, Ballots, InstanceFacts, NO_FACTS, NONE, Row, RunFacts};
use super::in_order::{Feed, in_order};
use super::judgement::*;
use crate::edition::{Edition, InfrastructureRule};
use awards::CompleteRun;
use num_rational::BigRational;
use num_traits::Zero;
use points::{BlockPoints, Counts, NOT_COMPUTED, RIGHT, Tally, UNJUDGED, WRONG};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::num::NonZeroUsize;
use std::ops::Range;
pub use trusted::Basis;
use trusted::Vote;

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

/// The whole judgement in memory.
pub fn judge(edition: &Edition, ballots: Ballots) -> Result<Judgement, JudgeError> {
    let jury = Jury::new(edition, ballots)?;
    let mut blocks = Vec::new();
    let verdict = jury.judge_blocks(|block| {
        blocks.push(block);
        Ok::<(), std::convert::Infallible>(())
    });
    let Ok(Verdict { scores, podiums, awards }) = verdict;
    let Jury { opening, .. } = jury;
    let Opening {
        version,
        edition,
        inputs,
        notes,
        entries,
        instances,
        examinations,
        unresolved,
        excluded,
        common_values,
        confidence,
    } = opening;
    Ok(Judgement {
        version,
        edition,
        inputs,
        notes,
        entries,
        instances,
        examinations,
        unresolved,
        excluded,
        common_values,
        confidence,
        blocks,
        scores,
        podiums,
        awards,
    })
}

/// Ballots in order, with confidences and weights: ready to judge block by block, so that a judgement can be
/// written while it is made and memory holds the votes only.
pub struct Jury {
    /// Everything of the judgement but blocks and what is summed over them.
    pub opening: Opening,
    ballots: Ballots,
    blocks: Vec<Range<usize>>,
    voters: Vec<bool>,
    weights: Vec<BigRational>,
    /// By instance: its place in `weights`.
    weight_class: Vec<u32>,
    /// Instances whose family ran on several hosts: their costs are not compared (E-5.1).
    mixed_hosts: Vec<bool>,
}

/// What is known before the blocks are judged; fields as in `Judgement`.
#[derive(Debug)]
pub struct Opening {
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
}

/// What is summed over the blocks; fields as in `Judgement`.
#[derive(Debug)]
pub struct Verdict {
    pub scores: Vec<Score>,
    pub podiums: Vec<Podium>,
    pub awards: Vec<Award>,
}

impl Jury {
    pub fn new(edition: &Edition, mut ballots: Ballots) -> Result<Self, JudgeError> {
        let names: Vec<String> = ballots.entry_names().map(str::to_owned).collect();
        let mut entries: Vec<Entry> = names.iter().map(|name| described(edition, &ballots, name)).collect();
        // P-4: a resigned entry leaves no trace; P-3: a withdrawn one is named, its runs are not judged.
        let resigned: Vec<Entry> = entries.extract_if(.., |entry| entry.status == Status::Resigned).collect();
        let judged: BTreeSet<&str> = entries
            .iter()
            .filter(|entry| entry.status != Status::Withdrawn)
            .map(|entry| entry.entry.as_str())
            .collect();
        ballots.settle(|name| judged.contains(name))?;
        let numbers: HashMap<&str, usize> =
            ballots.entries.names.iter().enumerate().map(|(number, name)| (name.as_str(), number)).collect();
        // Entries of the ballots first, by number; those without a ballot left (withdrawn ones) after them.
        entries.sort_by_key(|entry| {
            (numbers.get(entry.entry.as_str()).copied().unwrap_or(usize::MAX), entry.entry.clone())
        });

        let (unresolved, excluded) = infrastructure(edition, &mut ballots);
        let blocks = blocks(&ballots.rows);
        let mut instances = instances(edition, &mut ballots)?;
        let (weights, weight_class) = weigh(edition, &ballots, &mut instances)?;
        let voters: Vec<bool> = entries.iter().map(|entry| entry.status == Status::Competing).collect();
        let mixed_hosts = mixed_hosts(&ballots.rows, &instances);
        let mut jury = Self {
            opening: Opening {
                version: env!("CARGO_PKG_VERSION").to_owned(),
                edition: without_resigned(edition, &resigned),
                inputs: std::mem::take(&mut ballots.inputs),
                notes: std::mem::take(&mut ballots.notes),
                entries,
                instances,
                examinations: ballots.examinations.iter().map(|(name, _)| name.clone()).collect(),
                unresolved,
                excluded,
                common_values: 0,
                confidence: Vec::new(),
            },
            ballots,
            blocks,
            voters,
            weights,
            weight_class,
            mixed_hosts,
        };
        (jury.opening.common_values, jury.opening.confidence) = jury.confidence();
        Ok(jury)
    }

    /// Judges every block in order, handing each out as it is done; an error of `each` ends the judging.
    pub fn judge_blocks<E>(&self, mut each: impl FnMut(Block) -> Result<(), E>) -> Result<Verdict, E> {
        let mut bench = Bench::new(self);
        for block in &self.blocks {
            each(bench.judge(&self.ballots.rows[block.clone()]))?;
        }
        Ok(bench.verdict())
    }

    /// As `judge_blocks`, on so many threads: any of them calls `make` with a stretch of blocks, and `take` gets what
    /// was made of them, in order.
    pub fn judge_on<T: Send, E: Send>(
        &self,
        threads: NonZeroUsize,
        make: impl Fn(Vec<Block>) -> T + Sync,
        take: impl FnMut(T) -> Result<(), E> + Send,
    ) -> Result<Verdict, E> {
        // Long enough to be worth the handing over, short enough for memory to hold several.
        const STRETCH: usize = 32;
        let judge = |bench: &mut Bench<'_>, stretch: &[Range<usize>]| {
            make(stretch.iter().map(|block| bench.judge(&self.ballots.rows[block.clone()])).collect())
        };
        let feed = |feed: Feed<'_, _>| self.blocks.chunks(STRETCH).try_for_each(feed);
        let (_, benches) = in_order(threads, || Bench::new(self), feed, judge, take)?;
        let mut whole = Bench::new(self);
        benches.into_iter().for_each(|bench| whole.absorb(bench));
        Ok(whole.verdict())
    }

    /// The votes on one position, ready to be compared by number, and whether one of them is rounded.
    fn votes(&self, rows: &[Row], position: usize, votes: &mut Vec<Vote>) -> bool {
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
        any_rounded
    }

    /// Whether a given value equals the trusted one; a rounded answer of an entry without a vote is compared as
    /// rounded, but doesn't round the others'.
    fn equals(&self, given: u32, trusted: u32, any_rounded: bool) -> bool {
        let values = &self.ballots.values;
        values.agree(given, trusted, any_rounded || values.is_rounded(given))
    }

    /// |V| and the confidences (E-2): virtual and out-of-competition entries are measured, but do not make V.
    fn confidence(&self) -> (u64, Vec<Confidence>) {
        let judging = &self.opening.edition.judging;
        let mut counted = confidence::Counted::new(self.opening.entries.len());
        let mut votes = Vec::new();
        for block in &self.blocks {
            let rows = &self.ballots.rows[block.clone()];
            for position in 0..self.values_of(rows) {
                let any_rounded = self.votes(rows, position, &mut votes);
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
        (counted.common, (0..self.opening.entries.len()).map(confidence).collect())
    }

    fn values_of(&self, rows: &[Row]) -> usize {
        self.ballots.examinations[rows[0].examination as usize].1
    }
}

/// The judging of blocks under way.
struct Bench<'j> {
    jury: &'j Jury,
    confidence: Vec<BigRational>,
    points: BlockPoints<'j>,
    /// By examination, then entry.
    tallies: Vec<Vec<Tally>>,
    complete: Vec<CompleteRun>,
}

impl<'j> Bench<'j> {
    fn new(jury: &'j Jury) -> Self {
        let Opening { edition, entries, confidence, .. } = &jury.opening;
        Self {
            jury,
            confidence: confidence.iter().map(|entry| entry.confidence.clone()).collect(),
            points: BlockPoints::new(edition, &jury.weights),
            tallies: vec![vec![Tally::default(); entries.len()]; edition.examinations.len()],
            complete: Vec::new(),
        }
    }

    /// Adds what was summed over other blocks.
    fn absorb(&mut self, other: Bench<'_>) {
        for (tally, other) in self.tallies.iter_mut().flatten().zip(other.tallies.iter().flatten()) {
            tally.absorb(other);
        }
        self.complete.extend(other.complete);
    }

    fn judge(&mut self, rows: &[Row]) -> Block {
        let jury = self.jury;
        let ballots = &jury.ballots;
        let values = &ballots.values;
        let (examination, instance) = (rows[0].examination as usize, rows[0].instance as usize);
        let count = jury.values_of(rows);
        let threshold = &jury.opening.edition.judging.single_threshold;
        let ids = ballots.ids.get(&(rows[0].examination, rows[0].instance));
        let mut trusted = Vec::with_capacity(count);
        let mut verdicts: Vec<String> = rows.iter().map(|_| String::with_capacity(count)).collect();
        let mut votes = Vec::new();
        for position in 0..count {
            let any_rounded = jury.votes(rows, position, &mut votes);
            let (value, basis) = trusted::trusted(&votes, &self.confidence, threshold);
            for (row, verdicts) in rows.iter().zip(&mut verdicts) {
                let given = ballots.given[row.first + position];
                verdicts.push(match value {
                    _ if given == NONE => NOT_COMPUTED,
                    None => UNJUDGED,
                    Some(value) if jury.equals(given, value, any_rounded) => RIGHT,
                    Some(_) => WRONG,
                });
            }
            trusted.push(Trusted {
                id: ids.and_then(|ids| ids.get(position)).cloned().unwrap_or_default(),
                value: value.and_then(|value| values.get(self.as_read(rows, position, value)).cloned()),
                basis: basis.word().to_owned(),
            });
        }
        let known = trusted.iter().all(|trusted| trusted.value.is_some());
        let cells =
            rows.iter().zip(verdicts).map(|(row, verdicts)| self.cell(row, verdicts, known, count)).collect();
        Block { examination, instance, trusted, cells }
    }

    /// A trusted value as its backers gave it: the exact number where all gave the same, else the rounded one.
    fn as_read(&self, rows: &[Row], position: usize, trusted: u32) -> u32 {
        let Jury { ballots, voters, .. } = self.jury;
        let mut backers = rows
            .iter()
            .filter(|row| voters[row.entry as usize])
            .map(|row| ballots.given[row.first + position])
            .filter(|given| {
                *given != NONE && ballots.values.rounded(*given) == ballots.values.rounded(trusted)
            });
        let first = backers.next().unwrap_or(trusted);
        if backers.all(|given| given == first) { first } else { trusted }
    }

    fn cell(&mut self, row: &Row, verdicts: String, known: bool, count: usize) -> Cell {
        let jury = self.jury;
        let (examination, instance, entry) =
            (row.examination as usize, row.instance as usize, row.entry as usize);
        let letters = |letter: char| verdicts.bytes().filter(|byte| *byte == letter as u8).count() as u64;
        let counts = Counts { right: letters(RIGHT), wrong: letters(WRONG) };
        let class = jury.weight_class[instance];
        let tally = &mut self.tallies[examination][entry];
        tally.took_part |= row.ending != Ending::DidNotCompete;
        tally.add(class, counts, letters(UNJUDGED));
        let complete = known && counts.right == count as u64;
        let RunFacts { cost, marks, techniques, remarks, .. } = row.facts.as_deref().unwrap_or(&NO_FACTS);
        let comparable =
            jury.voters[entry] && !jury.mixed_hosts[instance] && !marks.iter().any(|mark| unfair(mark));
        if let (true, true, Some(cost)) = (complete, comparable, cost) {
            self.complete.push(CompleteRun { examination, instance, entry, cost: *cost });
        }
        let given = &jury.ballots.given[row.first..row.first + count];
        Cell {
            entry,
            ending: row.ending,
            values: given.iter().map(|number| jury.ballots.values.get(*number).cloned()).collect(),
            points: self.points.of(examination, class, counts),
            verdicts,
            complete,
            cost: *cost,
            marks: marks.clone(),
            techniques: techniques.clone(),
            remarks: remarks.clone(),
        }
    }

    fn verdict(self) -> Verdict {
        let Opening { edition, entries, unresolved, .. } = &self.jury.opening;
        let mut scores = Vec::new();
        for (examination, tallies) in self.tallies.iter().enumerate() {
            for (entry, tally) in tallies.iter().enumerate().filter(|(_, tally)| tally.took_part) {
                let (points, normalized) = tally.points(edition, examination, &self.jury.weights);
                let Counts { right, wrong } = tally.counts();
                scores.push(Score {
                    entry,
                    examination,
                    right,
                    wrong,
                    unjudged: tally.unjudged,
                    points,
                    normalized,
                });
            }
        }
        let mut podiums = Vec::new();
        let mut awards = Vec::new();
        for rule in &edition.podiums {
            let within =
                |examination: usize| rule.examinations.contains(&edition.examinations[examination].name);
            let mut points: BTreeMap<usize, BigRational> = BTreeMap::new();
            for score in scores.iter().filter(|score| within(score.examination)) {
                *points.entry(score.entry).or_insert_with(BigRational::zero) += &score.normalized;
            }
            let podium = podium::podium(rule, entries, points.into_iter().collect(), !unresolved.is_empty());
            let ranked: Vec<usize> =
                podium.places.iter().filter(|place| place.rank.is_some()).map(|place| place.entry).collect();
            let runs: Vec<CompleteRun> =
                self.complete.iter().filter(|run| within(run.examination)).copied().collect();
            awards.extend(awards::awards(&rule.category, &edition.judging.awards, entries, &ranked, &runs));
            podiums.push(podium);
        }
        Verdict { scores, podiums, awards }
    }
}

/// Marks of runs whose time and memory say nothing about the tool (E-5.1).
fn unfair(mark: &str) -> bool {
    mark.starts_with("degraded:") || mark == "mixed-host"
}

fn described(edition: &Edition, ballots: &Ballots, name: &str) -> Entry {
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
            note: String::new(),
        },
    }
}

/// The settings as they are published: they don't name who resigned either (P-4).
fn without_resigned(edition: &Edition, resigned: &[Entry]) -> Edition {
    let mut edition = edition.clone();
    edition.statuses.retain(|rule| rule.status != Status::Resigned);
    edition.variants.retain(|_, entries| {
        let named = entries.len();
        entries.retain(|name| resigned.iter().all(|entry| entry.entry != *name));
        !entries.is_empty() || named == 0
    });
    edition
}

/// Runs that never got a fair machine: listed, or their blocks dropped, as the edition says. A non-voting
/// entry's run harms nobody's points, but is named all the same.
fn infrastructure(edition: &Edition, ballots: &mut Ballots) -> (Vec<RunName>, Vec<RunName>) {
    let failed = ballots.rows.iter().filter(|row| row.ending == Ending::Infrastructure);
    let name = |row: &Row| RunName {
        entry: ballots.entries.names[row.entry as usize].clone(),
        instance: ballots.instances.names[row.instance as usize].clone(),
        examination: ballots.examinations[row.examination as usize].0.clone(),
    };
    let names: Vec<RunName> = failed.clone().map(name).collect();
    match edition.judging.infrastructure {
        InfrastructureRule::Provisional => (names, Vec::new()),
        InfrastructureRule::Exclude => {
            let dropped: BTreeSet<(u16, u32)> = failed.map(|row| (row.examination, row.instance)).collect();
            ballots.rows.retain(|row| !dropped.contains(&(row.examination, row.instance)));
            (Vec::new(), names)
        }
    }
}

/// Where each block of the sorted rows begins and ends.
fn blocks(rows: &[Row]) -> Vec<Range<usize>> {
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
            InstanceFacts { family: family_of(name).to_owned(), status: "known".to_owned() }
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

/// The name of an instance before `-PT-` or `-COL-`; all of it where neither is in it.
pub fn family_of(instance: &str) -> &str {
    let at = instance.rfind("-PT-").or_else(|| instance.rfind("-COL-"));
    at.map_or(instance, |at| &instance[..at])
}

/// Sets the weight of every instance (normalization times multiplier, E-4.4) and numbers the distinct weights.
fn weigh(
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
fn mixed_hosts(rows: &[Row], instances: &[Instance]) -> Vec<bool> {
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
