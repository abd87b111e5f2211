//! Canaries: short runs with which a campaign begins, so that an entry that cannot run at all is found in a minute.

use super::{History, Run};
use mcc_base::names::EntryName;
use mcc_edition::Edition;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Canaries are at most one of this many runs: 2 %. Each has a small instance and shorter limits than a run, so they cost at
/// most that part of a campaign whose runs last equally long.
pub const RUNS_PER_CANARY: u64 = 50;

/// Chooses the canaries among the runs of a campaign: one for each entry and group of examinations. A group is the
/// examinations of a category of the edition.
#[derive(Debug)]
pub struct Canaries<'a> {
    edition: &'a Edition,
    history: &'a History,
    /// The best run seen so far of each entry and group: that which is expected to end first, a place/transition net before
    /// others, in the order of the plan.
    best: BTreeMap<(EntryName, String), (Choice, i64)>,
    /// Groups that need none.
    done: BTreeSet<(EntryName, String)>,
    /// Runs in a machine that were seen.
    machines: u64,
}

/// What decides between two runs; the smaller one is chosen.
type Choice = (u64, Reverse<bool>, i64);

impl<'a> Canaries<'a> {
    /// Chooses by the durations in `history`.
    pub fn new(edition: &'a Edition, history: &'a History) -> Self {
        Self { edition, history, best: BTreeMap::new(), done: BTreeSet::new(), machines: 0 }
    }

    /// The category of an examination; an examination without one is a group of its own.
    fn group(&self, examination: &str) -> String {
        let has = |names: &[String]| names.iter().any(|name| name == examination);
        let podium = self.edition.podiums.iter().find(|podium| has(&podium.examinations));
        podium.map_or(examination, |podium| &podium.category).to_owned()
    }

    /// States that the entry needs no canary in the group of this examination.
    pub fn is_done(&mut self, entry: &EntryName, examination: &str) {
        self.done.insert((entry.clone(), self.group(examination)));
    }

    /// Considers a run at this position of the plan.
    pub fn consider(&mut self, position: i64, run: &Run) {
        if !run.competes {
            return;
        }
        self.machines += 1;
        let expected = self.history.expected_ms(run).unwrap_or(u64::MAX);
        let choice = (expected, Reverse(run.instance.as_str().contains("-PT-")), position);
        let best = self.best.entry((run.entry.clone(), self.group(&run.examination)));
        let best = best.or_insert((choice, position));
        if choice < best.0 {
            *best = (choice, position);
        }
    }

    /// The number of canaries that are wanted, and that at most 2 % of the runs allow after `made` ones.
    pub fn wanted(&self, made: u64) -> (usize, usize) {
        let wanted = self.best.keys().filter(|group| !self.done.contains(group)).count();
        (wanted, (self.machines / RUNS_PER_CANARY).saturating_sub(made) as usize)
    }

    /// The positions of the canaries, `most` at most: the first group of each entry, then the second of each.
    pub fn chosen(self, most: usize) -> Vec<i64> {
        let Self { best, done, .. } = self;
        let mut groups: BTreeMap<EntryName, Vec<i64>> = BTreeMap::new();
        for (group, (_, position)) in best.into_iter().filter(|(group, _)| !done.contains(group)) {
            groups.entry(group.0).or_default().push(position);
        }
        groups.values_mut().for_each(|positions| positions.sort_unstable());
        let numbered = groups.values().flat_map(|positions| positions.iter().enumerate());
        let mut order: Vec<(usize, i64)> = numbered.map(|(number, position)| (number, *position)).collect();
        order.sort_unstable();
        order.into_iter().take(most).map(|(_, position)| position).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_gets_a_canary_in_each_category_within_two_percent() {
        let edition = Edition::load("mcc-2018").unwrap();
        let history = History::default();
        let runs = |instances: usize| {
            let mut runs = vec![];
            for number in 0..instances {
                for examination in ["StateSpace", "CTLCardinality", "CTLFireability"] {
                    for (entry, competes) in [("a", true), ("b", true), ("c", false)] {
                        runs.push(Run {
                            entry: entry.parse().unwrap(),
                            instance: format!("M-{}-{number}", if number == 0 { "COL" } else { "PT" })
                                .parse()
                                .unwrap(),
                            examination: examination.parse().unwrap(),
                            model: "M".into(),
                            vcpus: 1,
                            competes,
                        });
                    }
                }
            }
            runs
        };
        let canaries = |instances, made, done: &[(&str, &str)]| {
            let mut canaries = Canaries::new(&edition, &history);
            let runs = runs(instances);
            runs.iter().zip(0..).for_each(|(run, position)| canaries.consider(position, run));
            done.iter().for_each(|(entry, examination)| {
                canaries.is_done(&entry.parse().unwrap(), examination);
            });
            let (wanted, most) = canaries.wanted(made);
            let chosen = canaries.chosen(most).into_iter();
            (wanted, chosen.map(|position| runs[position as usize].id().to_string()).collect::<Vec<_>>())
        };
        // 6 runs in a machine per instance; CTLCardinality and CTLFireability are one category.
        let all = [
            "a/M-PT-1/StateSpace",
            "b/M-PT-1/StateSpace",
            "a/M-PT-1/CTLCardinality",
            "b/M-PT-1/CTLCardinality",
        ];
        assert_eq!(canaries(34, 0, &[]), (4, all.map(String::from).to_vec()));
        assert_eq!(canaries(33, 0, &[]).1, all[..3], "198 runs allow three");
        assert_eq!(canaries(34, 3, &[]).1, all[..1], "three were made");
        assert_eq!(canaries(8, 0, &[]), (4, vec![]), "48 runs allow none");
        assert_eq!(
            canaries(34, 0, &[("a", "CTLFireability")]),
            (3, vec![all[0].into(), all[1].into(), all[3].into()])
        );
    }
}
