//! Compares two campaigns by the values that an entry solved in both: lost and gained values, by examination and by family,
//! with an exact test ([`mcnemar`]) and its power.
//!
//! Both campaigns are judged together. The two versions of an entry are variants of one tool, which has one vote (none where they
//! differ), so that neither decides what is right about the other. A value is *solved* if it was given and is not wrong: a value
//! that nothing decides counts too, else the campaign of a single tool would have none.
//!
//! The values of a run are not independent: a run that ends early loses all of them. So the test counts each run once, as lost
//! or gained by the number of its solved values; the probability by values is given beside it. Runs of one family can still
//! depend on each other.

pub mod mcnemar;
mod text;

use crate::input::sources::{CombineError, Source, combine};
use crate::judgement::{Block, Cell, Entry, Judgement, ValueVerdict, display_as_in_files};
use crate::mcc::{Judge, JudgeError, SECOND};
use crate::rate::{Agreement, check_year_of_ids};
use mcc_campaign::benchkit::Value;
use mcc_edition::Edition;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Why two campaigns cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum CampaignsError {
    /// They cannot be judged together.
    #[error(transparent)]
    Combine(#[from] CombineError),
    /// No entry is in both, and none was named.
    #[error("no entry is in both campaigns; name the pairs with --tool A=B. A has {a}; B has {b}")]
    NoPair {
        /// The entries of A.
        a: String,
        /// The entries of B.
        b: String,
    },
    /// A named entry is not in its campaign.
    #[error("--tool names the entry {entry}, which {side} does not have; it has {known}")]
    UnknownEntry {
        /// The name that was given.
        entry: String,
        /// `A` or `B`.
        side: &'static str,
        /// The entries of this side.
        known: String,
    },
}

/// The comparison of all pairs of entries.
#[derive(Debug, Serialize)]
pub struct CampaignComparison {
    /// Name of the edition.
    pub edition: String,
    /// Notes of the judgement.
    pub notes: Vec<String>,
    /// One comparison for each pair of entries, by the name in A.
    pub entries: Vec<EntryComparison>,
}

/// The comparison of an entry of A with one of B.
#[derive(Debug, Serialize)]
pub struct EntryComparison {
    /// Name of the entry in A.
    pub a: String,
    /// Name of the entry in B.
    pub b: String,
    /// Number of runs that only A has, or that have no result in B.
    pub only_a: u64,
    /// Number of runs that only B has, or that have no result in A.
    pub only_b: u64,
    /// All compared runs.
    pub all: PairedCounts,
    /// By examination.
    pub examinations: Vec<PairedCounts>,
    /// By family of the instance, sorted by name.
    pub families: Vec<PairedCounts>,
    /// The failure classes of the compared runs, sorted by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failure_classes: Vec<FailureClassCounts>,
    /// The probability to find the rates that were asked for; None: none were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked: Option<AskedPower>,
    /// The values behind the counts, in the order of examination, instance and position.
    pub values: Vec<ComparedValue>,
    /// How many of the values that both gave are equal.
    #[serde(skip)]
    pub agreement: Agreement,
}

/// The compared runs of a failure class.
#[derive(Debug, Default, Serialize)]
pub struct FailureClassCounts {
    /// Name of the class.
    pub name: String,
    /// Runs of the class in A.
    pub runs_a: u64,
    /// Runs of the class in B.
    pub runs_b: u64,
    /// Values solved in A only, whose run in B has the class.
    pub lost: u64,
    /// Values solved in B only, whose run in A has the class.
    pub gained: u64,
}

/// The probability that a change of given rates is found.
#[derive(Debug, Serialize)]
pub struct AskedPower {
    /// The share of runs that are lost.
    pub lost: f64,
    /// The share of runs that are gained.
    pub gained: f64,
    /// The probability to find it with these runs.
    pub power: f64,
}

/// Counts over some runs that both campaigns have.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PairedCounts {
    /// Name of the examination or family; `all` for all runs.
    pub name: String,
    /// Number of runs in both campaigns.
    pub runs: u64,
    /// Number of values of these runs.
    pub values: u64,
    /// Values solved in A.
    pub solved_a: u64,
    /// Values solved in B.
    pub solved_b: u64,
    /// Of those solved in A: values that no trusted value confirms.
    pub unjudged_a: u64,
    /// Of those solved in B: values that no trusted value confirms.
    pub unjudged_b: u64,
    /// Wrong values in A.
    pub wrong_a: u64,
    /// Wrong values in B.
    pub wrong_b: u64,
    /// Values solved in A only.
    pub lost: u64,
    /// Values solved in B only.
    pub gained: u64,
    /// Values solved in both that differ: nothing decides which is right.
    pub changed: u64,
    /// The probability of such numbers of lost and gained values without a difference, if values were independent.
    pub p_values: f64,
    /// Runs with fewer solved values in B.
    pub runs_lost: u64,
    /// Runs with more solved values in B.
    pub runs_gained: u64,
    /// The probability of such numbers of lost and gained runs without a difference.
    pub p: f64,
    /// Whether this is significant at 5 %; in a list by examination or family as one of all its tests.
    pub significant: bool,
    /// The smallest number of runs, lost or gained, that would have been significant beside the smaller of `runs_lost` and
    /// `runs_gained` in the other direction. None: there are too few runs.
    pub needed: Option<u64>,
    /// The smallest number of runs, lost or gained, that is found in 90 % of such comparisons, beside that number in the other
    /// direction. None: there are too few runs.
    pub detectable: Option<u64>,
}

/// Why a value is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComparedKind {
    /// Wrong in B and not in A.
    NewlyWrong,
    /// Solved in A only.
    Lost,
    /// Solved in B only.
    Gained,
    /// Solved in both, and different.
    Changed,
}

display_as_in_files!(ComparedKind);

/// A listed value.
#[derive(Debug, Serialize)]
pub struct ComparedValue {
    /// Why it is listed.
    pub kind: ComparedKind,
    /// Name of the examination.
    pub examination: String,
    /// Name of the instance.
    pub instance: String,
    /// The position, from 0.
    pub position: usize,
    /// The value in A; None if none was given.
    pub a: Option<Value>,
    /// The value in B; None if none was given.
    pub b: Option<Value>,
    /// The trusted value; None if it is unknown.
    pub trusted: Option<Value>,
}

/// Two campaigns that are judged together, and the pairs of entries that are compared.
pub struct PairedCampaigns {
    /// The results of both.
    pub results: crate::RunResults,
    /// Names of the pairs.
    pairs: Vec<(String, String)>,
    /// The entries of B under their new names.
    second: Vec<Entry>,
}

impl PairedCampaigns {
    /// Combines two campaigns. `pairs`: names of entries in A and in B; without them all entries with the same name in both.
    ///
    /// # Errors
    /// No entry is in both, a named entry is missing, or the campaigns cannot be judged together.
    pub fn combine(
        edition: &Edition,
        a: Source,
        mut b: Source,
        pairs: &[(String, String)],
    ) -> Result<Self, CampaignsError> {
        check_year_of_ids(edition, &a)?;
        check_year_of_ids(edition, &b)?;
        let names =
            |source: &Source| source.results.entry_names().map(str::to_owned).collect::<BTreeSet<_>>();
        let (names_a, names_b) = (names(&a), names(&b));
        let words = |names: &BTreeSet<String>| names.iter().cloned().collect::<Vec<_>>().join(", ");
        for (side, names, entry) in pairs.iter().flat_map(|(a, b)| [("A", &names_a, a), ("B", &names_b, b)]) {
            if !names.contains(entry) {
                let (entry, known) = (entry.clone(), words(names));
                return Err(CampaignsError::UnknownEntry { entry, side, known });
            }
        }
        let pairs = match pairs {
            [] => names_a.intersection(&names_b).map(|name| (name.clone(), name.clone())).collect(),
            named => named.to_vec(),
        };
        if pairs.is_empty() {
            return Err(CampaignsError::NoPair { a: words(&names_a), b: words(&names_b) });
        }
        let described = |name: &String| {
            let entry = b.results.entry_described(edition, name);
            // A version under another name has the vote of its tool. An entry that A has too is another tool.
            let partner =
                pairs.iter().find(|(_, b)| b == name).map(|(a, _)| a).filter(|_| !names_a.contains(name));
            let tool = partner.map_or(entry.tool, |a_name| a.results.entry_described(edition, a_name).tool);
            Entry { entry: format!("{name}{SECOND}"), tool, ..entry }
        };
        let second = names_b.iter().map(described).collect();
        b.results.rename_entries(|name| Some(format!("{name}{SECOND}")));
        let results = combine(edition, vec![a, b], &BTreeMap::new())?;
        Ok(Self { results, pairs, second })
    }

    /// Judges the results and compares each pair. `asked`: shares of lost and gained runs whose power is wanted.
    ///
    /// # Errors
    /// The results cannot be judged.
    pub fn compare(
        mut self,
        edition: &Edition,
        asked: Option<(f64, f64)>,
    ) -> Result<CampaignComparison, JudgeError> {
        self.second.into_iter().for_each(|entry| self.results.describe_entry(entry));
        let judge = Judge::new(edition, self.results)?;
        let header = &judge.header;
        let number = |name: &str| header.entries.iter().position(|entry| entry.entry == name);
        let paired = self.pairs.into_iter();
        // A resigned entry is in no judgement.
        let numbered =
            paired.filter_map(|(a, b)| Some((number(&a)?, number(&format!("{b}{SECOND}"))?, a, b)));
        let mut compared: Vec<(usize, usize, EntryComparison)> = numbered
            .map(|(at_a, at_b, a, b)| {
                let named = |name: &String| PairedCounts { name: name.clone(), ..PairedCounts::default() };
                let comparison = EntryComparison {
                    a,
                    b,
                    only_a: 0,
                    only_b: 0,
                    all: named(&"all".to_owned()),
                    examinations: header.examinations.iter().map(named).collect(),
                    families: vec![],
                    failure_classes: vec![],
                    asked: None,
                    values: vec![],
                    agreement: Agreement::default(),
                };
                (at_a, at_b, comparison)
            })
            .collect();
        let mut families: Vec<BTreeMap<String, PairedCounts>> = vec![BTreeMap::new(); compared.len()];
        judge.judge_blocks(|block| {
            let family = &header.instances[block.instance].family;
            for ((a, b, comparison), families) in compared.iter_mut().zip(&mut families) {
                let result = |entry: &usize| block.cell(*entry).filter(|cell| cell.ending.is_scored());
                match (result(a), result(b)) {
                    (Some(a), Some(b)) => {
                        let run =
                            comparison.run(&header.instances[block.instance].instance, &block, a, b, header);
                        comparison.add_failure_classes([a, b], &run);
                        let family = families.entry(family.clone()).or_default();
                        for counts in
                            [&mut comparison.all, &mut comparison.examinations[block.examination], family]
                        {
                            counts.add(&run);
                        }
                    }
                    (a, b) => {
                        comparison.only_a += u64::from(a.is_some());
                        comparison.only_b += u64::from(b.is_some());
                    }
                }
            }
            Ok::<(), JudgeError>(())
        })?;
        let entries = compared.into_iter().zip(families).map(|((_, _, mut comparison), families)| {
            let named = |(name, counts)| PairedCounts { name, ..counts };
            comparison.families = families.into_iter().map(named).collect();
            comparison.failure_classes.sort_by(|a, b| a.name.cmp(&b.name));
            comparison.examinations.retain(|counts| counts.runs > 0);
            comparison.all.test(1);
            for list in [&mut comparison.examinations, &mut comparison.families] {
                let tests = list.len() as u64;
                list.iter_mut().for_each(|counts| counts.test(tests));
            }
            comparison.asked = asked.map(|(lost, gained)| {
                let power = mcnemar::power(comparison.all.runs, lost, gained);
                AskedPower { lost, gained, power }
            });
            comparison
        });
        let entries = entries.collect();
        let notes = header.notes.iter().cloned().chain(edition.warnings()).collect();
        Ok(CampaignComparison { edition: edition.name.clone(), notes, entries })
    }
}

impl EntryComparison {
    /// Counts the values of a run that both have, and lists those that differ.
    fn run(&mut self, instance: &str, block: &Block, a: &Cell, b: &Cell, header: &Judgement) -> PairedCounts {
        let mut run = PairedCounts { runs: 1, values: block.trusted.len() as u64, ..PairedCounts::default() };
        for (position, trusted) in block.trusted.iter().enumerate() {
            let verdicts = [a, b].map(|cell| cell.verdicts[position]);
            let is = |verdict: ValueVerdict| verdicts.map(|given| given == verdict);
            let ([wrong_a, wrong_b], [unjudged_a, unjudged_b]) =
                (is(ValueVerdict::Wrong), is(ValueVerdict::Unjudged));
            let [right_a, right_b] = is(ValueVerdict::Right);
            let [solved_a, solved_b] = [right_a || unjudged_a, right_b || unjudged_b];
            let [given_a, given_b] = [a, b].map(|cell| cell.values[position].as_ref());
            let agree = given_a.zip(given_b).map(|(a, b)| a.is_same(b));
            if let Some(agree) = agree {
                self.agreement.add(agree);
            }
            for (count, holds) in [
                (&mut run.solved_a, solved_a),
                (&mut run.solved_b, solved_b),
                (&mut run.unjudged_a, unjudged_a),
                (&mut run.unjudged_b, unjudged_b),
                (&mut run.wrong_a, wrong_a),
                (&mut run.wrong_b, wrong_b),
            ] {
                *count += u64::from(holds);
            }
            let kinds = [
                (ComparedKind::NewlyWrong, wrong_b && !wrong_a),
                (ComparedKind::Lost, solved_a && !solved_b),
                (ComparedKind::Gained, solved_b && !solved_a),
                (ComparedKind::Changed, solved_a && solved_b && agree == Some(false)),
            ];
            for (kind, _) in kinds.into_iter().filter(|(_, holds)| *holds) {
                match kind {
                    ComparedKind::NewlyWrong => {}
                    ComparedKind::Lost => run.lost += 1,
                    ComparedKind::Gained => run.gained += 1,
                    ComparedKind::Changed => run.changed += 1,
                }
                self.values.push(ComparedValue {
                    kind,
                    examination: header.examinations[block.examination].clone(),
                    instance: instance.to_owned(),
                    position,
                    a: given_a.cloned(),
                    b: given_b.cloned(),
                    trusted: trusted.value.clone(),
                });
            }
        }
        run.runs_lost = u64::from(run.lost > run.gained);
        run.runs_gained = u64::from(run.gained > run.lost);
        run
    }

    /// Counts the failure classes of a run in A and in B.
    fn add_failure_classes(&mut self, [a, b]: [&Cell; 2], run: &PairedCounts) {
        for (cell, [runs_a, runs_b, lost, gained]) in [(a, [1, 0, 0, run.gained]), (b, [0, 1, run.lost, 0])] {
            let Some(class) = &cell.failure_class else { continue };
            let known = self.failure_classes.iter().position(|counts| counts.name == *class);
            let at = known.unwrap_or_else(|| {
                let new = FailureClassCounts { name: class.clone(), ..FailureClassCounts::default() };
                self.failure_classes.push(new);
                self.failure_classes.len() - 1
            });
            let counts = &mut self.failure_classes[at];
            counts.runs_a += runs_a;
            counts.runs_b += runs_b;
            counts.lost += lost;
            counts.gained += gained;
        }
    }
}

impl PairedCounts {
    fn add(&mut self, run: &Self) {
        for (sum, count) in [
            (&mut self.runs, run.runs),
            (&mut self.values, run.values),
            (&mut self.solved_a, run.solved_a),
            (&mut self.solved_b, run.solved_b),
            (&mut self.unjudged_a, run.unjudged_a),
            (&mut self.unjudged_b, run.unjudged_b),
            (&mut self.wrong_a, run.wrong_a),
            (&mut self.wrong_b, run.wrong_b),
            (&mut self.lost, run.lost),
            (&mut self.gained, run.gained),
            (&mut self.changed, run.changed),
            (&mut self.runs_lost, run.runs_lost),
            (&mut self.runs_gained, run.runs_gained),
        ] {
            *sum += count;
        }
    }

    /// Tests the counts as one of `tests`.
    fn test(&mut self, tests: u64) {
        let p = mcnemar::probability(self.runs_lost, self.runs_gained);
        let other = self.runs_lost.min(self.runs_gained);
        self.p = mcnemar::decimal(&p);
        self.p_values = mcnemar::decimal(&mcnemar::probability(self.lost, self.gained));
        self.significant = mcnemar::is_significant(&p, tests);
        self.needed = mcnemar::needed(self.runs, other);
        self.detectable = mcnemar::detectable(self.runs, other);
    }

    /// Whether a value was lost, gained or changed, or is wrong.
    fn has_differences(&self) -> bool {
        self.lost + self.gained + self.changed > 0 || self.wrong_a != self.wrong_b
    }
}
