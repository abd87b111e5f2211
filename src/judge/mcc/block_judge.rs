//! Judging block by block: the trusted value of every position, the verdicts on all values, and the sums over blocks.

use super::awards::{self, AwardValues, CompleteRun, Unmeasured};
use super::best_virtual::BestVirtual;
use super::judge::{Judge, JudgementTotals};
use super::podium;
use super::points::{BlockPoints, Counts, ExaminationTally, Weights};
use super::trusted;
use super::votes::{Backing, PositionVotes};
use crate::input::run_results::{NONE, NOT_KEPT, RunResult, RunRow};
use crate::judgement::*;
use mcc_base::Mark;
use mcc_edition::NotKept;
use num_rational::BigRational;
use num_traits::Zero;
use std::collections::BTreeMap;

/// Judges one block after the other and sums points over them.
pub(super) struct BlockJudge<'j> {
    judge: &'j Judge,
    confidence: Vec<BigRational>,
    points: BlockPoints<'j>,
    /// By examination, then entry.
    tallies: Vec<Vec<ExaminationTally>>,
    complete: Vec<CompleteRun>,
    /// By examination: number of blocks whose costs can be compared.
    comparable_blocks: Vec<u64>,
    best_virtual: BestVirtual,
}

impl<'j> BlockJudge<'j> {
    pub fn new(judge: &'j Judge) -> Self {
        let confidence = judge.header.confidence.iter().map(|entry| entry.confidence.clone());
        Self::with_confidence(judge, confidence.collect())
    }

    /// Judges with other confidences than those of the judgement. They are by entry.
    pub fn with_confidence(judge: &'j Judge, confidence: Vec<BigRational>) -> Self {
        let Judgement { edition, entries, .. } = &judge.header;
        Self {
            judge,
            confidence,
            points: BlockPoints::new(edition, &judge.weights),
            tallies: vec![vec![ExaminationTally::default(); entries.len()]; edition.examinations.len()],
            complete: Vec::new(),
            comparable_blocks: vec![0; edition.examinations.len()],
            best_virtual: BestVirtual::new(edition.examinations.len()),
        }
    }

    /// Adds the sums over other blocks.
    pub fn merge(&mut self, other: BlockJudge<'_>) {
        for (tally, other) in self.tallies.iter_mut().flatten().zip(other.tallies.iter().flatten()) {
            tally.merge(other);
        }
        self.complete.extend(other.complete);
        for (blocks, more) in self.comparable_blocks.iter_mut().zip(other.comparable_blocks) {
            *blocks += more;
        }
        self.best_virtual.merge(&other.best_virtual);
    }

    /// Judges one block.
    pub fn judge(&mut self, rows: &[RunRow]) -> Block {
        let judge = self.judge;
        let results = &judge.results;
        let values = &results.values;
        let (examination, instance) = (rows[0].examination as usize, rows[0].instance as usize);
        let count = judge.value_count(rows);
        let judging = &judge.header.edition.judging;
        let ids = results.ids.get(&(rows[0].examination, rows[0].instance));
        let mut trusted = Vec::with_capacity(count);
        let mut verdicts: Vec<ValueVerdicts> =
            rows.iter().map(|_| ValueVerdicts::with_capacity(count)).collect();
        let mut votes = Vec::new();
        let overrides = judge.overrides.for_block(examination, instance);
        let certified = judge.certified(examination, instance);
        let mut unique = vec![0; rows.len()];
        let mut backed = 0;
        let marked_wrong = judging.not_kept == NotKept::Wrong;
        for position in 0..count {
            let PositionVotes { mut any_rounded, variants_differ } =
                judge.votes(rows, position, &self.confidence, &mut votes);
            let (mut value, mut basis) = trusted::trusted(&votes, &self.confidence, judging);
            if variants_differ && basis == Basis::UnknownNone {
                basis = Basis::UnknownSplit;
            }
            let set = overrides.iter().find(|change| change.position == position);
            if let Some(set) = set {
                value = Some(set.value).filter(|value| *value != NONE);
                basis = Basis::Override;
                any_rounded |= values.is_rounded(set.value);
            }
            let (mut backing, mut competing_backing) = (Backing::None, Backing::None);
            for (row, verdicts) in rows.iter().zip(&mut verdicts) {
                let given = results.given[row.first + position];
                let entry = row.entry as usize;
                verdicts.push(match value {
                    _ if given == NONE => ValueVerdict::NotComputed,
                    None if given == NOT_KEPT && marked_wrong && basis != Basis::Override => {
                        ValueVerdict::Wrong
                    }
                    None => ValueVerdict::Unjudged,
                    Some(value) if judge.equals(given, value, any_rounded) => {
                        if judge.voters[entry] {
                            backing.add(judge.tools[entry]);
                        }
                        if judge.competing[entry] {
                            competing_backing.add(judge.tools[entry]);
                        }
                        ValueVerdict::Right
                    }
                    Some(_) => ValueVerdict::Wrong,
                });
            }
            backed += u64::from(competing_backing != Backing::None);
            if let Some(tool) = competing_backing.sole_tool() {
                let of_tool = |row: &RunRow| judge.tools[row.entry as usize] == tool;
                for ((row, verdicts), unique) in rows.iter().zip(&verdicts).zip(&mut unique) {
                    *unique += u64::from(of_tool(row) && verdicts.last() == Some(&ValueVerdict::Right));
                }
            }
            let shown =
                value.map(|value| set.map_or_else(|| self.unrounded(rows, position, value), |_| value));
            trusted.push(Trusted {
                id: ids.and_then(|ids| ids.get(position)).cloned().unwrap_or_default(),
                value: shown.and_then(|value| values.get(value).cloned()),
                basis,
                weak: if set.is_none() { backing.weak() } else { None },
                reason: set.map(|change| change.reason.clone()).unwrap_or_default(),
                certified: certified.and_then(|values| values.get(&position)).cloned().map(Box::new),
            });
        }
        self.best_virtual.add(examination, judge.weight_class[instance], backed, count as u64);
        let comparable =
            !judge.mixed_hosts[instance] && rows.iter().any(|row| judge.competing[row.entry as usize]);
        self.comparable_blocks[examination] += u64::from(comparable);
        let known = trusted.iter().all(|trusted| trusted.value.is_some());
        let counts = self.counts(rows, &verdicts, known);
        let cells = rows.iter().zip(verdicts).zip(counts).zip(unique);
        let cells =
            cells.map(|(((row, verdicts), counts), unique)| self.cell(row, verdicts, counts, unique, known));
        let cells = cells.collect();
        Block { examination, instance, trusted, cells }
    }

    /// Returns the counts of right and wrong values of every run of a block, and of bonuses of complete runs (E-4.3).
    fn counts(&self, rows: &[RunRow], verdicts: &[ValueVerdicts], known: bool) -> Vec<Counts> {
        let counts = verdicts.iter().map(|verdicts| Counts {
            right: verdicts.count(ValueVerdict::Right),
            wrong: verdicts.count(ValueVerdict::Wrong),
            ..Counts::default()
        });
        let mut counts: Vec<Counts> = counts.collect();
        let bonuses = &self.judge.header.edition.judging.bonuses;
        if !known || (bonuses.time.is_zero() && bonuses.memory.is_zero()) {
            return counts;
        }
        let cost = |(row, verdicts): (&RunRow, &ValueVerdicts)| {
            let complete = verdicts.count(ValueVerdict::Right) == verdicts.len() as u64;
            self.judge.comparable_cost(row).filter(|_| complete)
        };
        let costs: Vec<Option<Cost>> = rows.iter().zip(verdicts).map(cost).collect();
        let least_cpu = costs.iter().flatten().map(|cost| cost.cpu_ms).min();
        let least_memory = costs.iter().flatten().filter_map(|cost| cost.memory_kib).min();
        for (counts, cost) in counts.iter_mut().zip(&costs) {
            let Some(cost) = cost else { continue };
            counts.least_cpu_count = u64::from(Some(cost.cpu_ms) == least_cpu);
            counts.least_memory_count =
                u64::from(cost.memory_kib.is_some() && cost.memory_kib == least_memory);
        }
        counts
    }

    /// Returns the exact trusted number where all its backers gave the same number, otherwise the rounded one.
    fn unrounded(&self, rows: &[RunRow], position: usize, trusted: u32) -> u32 {
        let Judge { results, voters, .. } = self.judge;
        let mut backers = rows
            .iter()
            .filter(|row| voters[row.entry as usize])
            .map(|row| results.given[row.first + position])
            .filter(|given| {
                *given != NONE && results.values.rounded(*given) == results.values.rounded(trusted)
            });
        let first = backers.next().unwrap_or(trusted);
        if backers.all(|given| given == first) { first } else { trusted }
    }

    /// Returns the cell of a run and adds its counts. `unique`: number of its right values that no other tool gave;
    /// `known`: every position has a trusted value.
    fn cell(
        &mut self,
        row: &RunRow,
        verdicts: ValueVerdicts,
        counts: Counts,
        unique: u64,
        known: bool,
    ) -> Cell {
        let judge = self.judge;
        let (examination, instance, entry) =
            (row.examination as usize, row.instance as usize, row.entry as usize);
        let unjudged = verdicts.count(ValueVerdict::Unjudged);
        let class = judge.weight_class[instance];
        let tally = &mut self.tallies[examination][entry];
        tally.took_part |= row.ending != Ending::DidNotCompete;
        tally.add(class, counts, unjudged);
        tally.unique += unique;
        let complete = known && counts.right == verdicts.len() as u64;
        let RunResult { cost, marks, .. } = row.facts();
        if !judge.mixed_hosts[instance] {
            let not_comparable = marks.iter().any(Mark::excludes_cost) || !row.ending.is_scored();
            let unmeasured = |measured: bool| u64::from(not_comparable || (complete && !measured));
            tally.unmeasured.cpu += unmeasured(cost.is_some());
            tally.unmeasured.memory += unmeasured(cost.is_some_and(|cost| cost.memory_kib.is_some()));
        }
        if let (true, Some(cost)) = (complete, judge.comparable_cost(row)) {
            self.complete.push(CompleteRun { examination, instance, entry, cost });
        }
        judge.results.cell(row, verdicts, self.points.weighted(examination, class, counts), complete)
    }

    /// Returns the scores, podiums, awards and best virtual scores over all blocks judged.
    pub fn totals(self) -> JudgementTotals {
        let Judgement { edition, entries, unresolved, .. } = &self.judge.header;
        let weights = Weights::new(&self.judge.weights);
        let mut scores = Vec::new();
        for (examination, tallies) in self.tallies.iter().enumerate() {
            for (entry, tally) in tallies.iter().enumerate().filter(|(_, tally)| tally.took_part) {
                let (points, normalized) = tally.points(edition, examination, &weights);
                let Counts { right, wrong, .. } = tally.counts();
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
            let points = points.into_iter().collect();
            let margin = &edition.judging.tie_margin;
            let podium = podium::podium(rule, entries, points, margin, !unresolved.is_empty());
            let ranked = podium.places.iter().filter(|place| place.rank.is_some()).map(|place| place.entry);
            let competing =
                || podium.places.iter().map(|place| place.entry).filter(|entry| self.judge.competing[*entry]);
            let runs: Vec<CompleteRun> =
                self.complete.iter().filter(|run| within(run.examination)).copied().collect();
            let examinations = (0..edition.examinations.len()).filter(|examination| within(*examination));
            let sum = |entry: usize, count: fn(&ExaminationTally) -> u64| -> u64 {
                examinations.clone().map(|examination| count(&self.tallies[examination][entry])).sum()
            };
            let unmeasured = |entry: usize| Unmeasured {
                cpu: sum(entry, |tally| tally.unmeasured.cpu),
                memory: sum(entry, |tally| tally.unmeasured.memory),
            };
            let compared = AwardValues {
                blocks: self.judge.count_blocks(within),
                comparable_blocks: examinations
                    .clone()
                    .map(|examination| self.comparable_blocks[examination])
                    .sum(),
                ranked: ranked.map(|entry| (entry, unmeasured(entry))).collect(),
                right: competing().map(|entry| (entry, sum(entry, |tally| tally.counts().right))).collect(),
                unique: competing().map(|entry| (entry, sum(entry, |tally| tally.unique))).collect(),
                runs,
            };
            awards.extend(awards::awards(&rule.category, edition, entries, &compared));
            podiums.push(podium);
        }
        let best_virtual = self.best_virtual.scores(edition, &weights);
        JudgementTotals { scores, podiums, awards, best_virtual }
    }
}
