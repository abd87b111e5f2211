//! Road-runner and camel (E-4.3, E-4.5): who needed least CPU time and least memory.
//!
//! The choice RULES leaves open: the ranked entries of a podium are compared over the runs that every one of them
//! completed, so all sums are over the same (instance, examination) blocks. Where no block was completed by all,
//! the entry with the fewest complete runs is left out (of equal ones the last by name) and the rest compared,
//! until a common block is found; `runs_compared` says over how many. A run whose memory was not measured has no
//! part in the camel. Runs with a `degraded:` or `mixed-host` mark
//! and families that ran on several hosts are left out.

use crate::edition::AwardKind;
use crate::judge::judgement::{Award, AwardPlace, Cost, Entry};
use std::collections::{BTreeMap, BTreeSet};

/// A complete run (E-4.3) whose cost may be compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompleteRun {
    pub examination: usize,
    pub instance: usize,
    pub entry: usize,
    pub cost: Cost,
}

/// The awards of one category. `ranked` are the entries of its podium that have a rank; `runs` those of its
/// examinations. Empty where fewer than two entries can be compared.
pub(super) fn awards(
    category: &str,
    kinds: &[AwardKind],
    entries: &[Entry],
    ranked: &[usize],
    runs: &[CompleteRun],
) -> Vec<Award> {
    kinds.iter().filter_map(|kind| award(category, *kind, entries, ranked, runs)).collect()
}

fn award(
    category: &str,
    kind: AwardKind,
    entries: &[Entry],
    ranked: &[usize],
    runs: &[CompleteRun],
) -> Option<Award> {
    let (name, unit, measure): (_, _, fn(&Cost) -> Option<u64>) = match kind {
        AwardKind::RoadRunner => ("road-runner", "ms", |cost| Some(cost.cpu_ms)),
        AwardKind::Camel => ("camel", "KiB", |cost| cost.memory_kib),
        AwardKind::MostRight | AwardKind::MostUnique => return None,
    };
    let mut of: BTreeMap<usize, BTreeMap<(usize, usize), u64>> = BTreeMap::new();
    for run in runs.iter().filter(|run| ranked.contains(&run.entry)) {
        if let Some(measured) = measure(&run.cost) {
            of.entry(run.entry).or_default().insert((run.examination, run.instance), measured);
        }
    }
    let mut compared: Vec<usize> = of.keys().copied().collect();
    compared.sort_by(|a, b| of[b].len().cmp(&of[a].len()).then(entries[*a].entry.cmp(&entries[*b].entry)));
    let common = loop {
        if compared.len() < 2 {
            return None;
        }
        let first = of[&compared[0]].keys().copied();
        let common: BTreeSet<_> =
            first.filter(|block| compared.iter().all(|entry| of[entry].contains_key(block))).collect();
        if !common.is_empty() {
            break common;
        }
        compared.pop();
    };
    let sum = |entry: usize| common.iter().map(|block| of[&entry][block]).sum::<u64>();
    let mut sums: Vec<(u64, usize)> = compared.iter().map(|entry| (sum(*entry), *entry)).collect();
    sums.sort_by(|a, b| a.0.cmp(&b.0).then(entries[a.1].entry.cmp(&entries[b.1].entry)));
    let place = |(value, entry): &(u64, usize)| AwardPlace {
        rank: sums.iter().filter(|(other, _)| other < value).count() as u32 + 1,
        entry: *entry,
        runs_compared: common.len() as u64,
        value: *value,
        unit: unit.to_owned(),
    };
    Some(Award {
        category: category.to_owned(),
        award: name.to_owned(),
        places: sums.iter().map(place).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edition::Status;

    const BOTH: &[AwardKind] = &[AwardKind::RoadRunner, AwardKind::Camel];

    fn entries() -> Vec<Entry> {
        let entry = |name: &str| Entry {
            entry: name.to_owned(),
            tool: name.to_owned(),
            status: Status::Competing,
            note: String::new(),
        };
        ["a", "b", "c"].map(entry).into()
    }

    fn run(entry: usize, instance: usize, cpu_ms: u64, memory_kib: u64) -> CompleteRun {
        CompleteRun {
            examination: 0,
            instance,
            entry,
            cost: Cost { cpu_ms, wall_ms: 0, memory_kib: Some(memory_kib) },
        }
    }

    fn shown(awards: &[Award]) -> Vec<String> {
        let line = |award: &Award, place: &AwardPlace| {
            let AwardPlace { rank, entry, runs_compared, value, unit } = place;
            format!("{} {rank} {entry} over {runs_compared}: {value} {unit}", award.award)
        };
        awards.iter().flat_map(|award| award.places.iter().map(move |place| line(award, place))).collect()
    }

    #[test]
    fn tools_are_compared_only_over_runs_all_of_them_completed() {
        // a is fast where b did not finish; only instance 1 is common.
        let runs = [run(0, 1, 30, 5), run(0, 2, 900, 900), run(1, 1, 20, 5), run(1, 3, 1, 1)];
        let shown = shown(&awards("CTL", BOTH, &entries(), &[0, 1], &runs));
        let expected = [
            "road-runner 1 1 over 1: 20 ms",
            "road-runner 2 0 over 1: 30 ms",
            "camel 1 0 over 1: 5 KiB",
            "camel 1 1 over 1: 5 KiB",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_run_whose_memory_was_not_measured_wins_no_camel() {
        let mut runs = [run(0, 1, 30, 5), run(1, 1, 20, 9), run(0, 2, 1, 5), run(1, 2, 1, 9)];
        runs[1].cost.memory_kib = None;
        let expected = [
            "road-runner 1 1 over 2: 21 ms",
            "road-runner 2 0 over 2: 31 ms",
            "camel 1 0 over 1: 5 KiB",
            "camel 2 1 over 1: 9 KiB",
        ];
        assert_eq!(shown(&awards("CTL", BOTH, &entries(), &[0, 1], &runs)), expected);
    }

    #[test]
    fn an_entry_that_shares_no_run_is_left_out_and_one_alone_wins_nothing() {
        let runs = [run(0, 1, 30, 5), run(0, 2, 10, 5), run(1, 1, 20, 5), run(1, 2, 20, 5), run(2, 9, 1, 1)];
        let found = awards("CTL", &BOTH[..1], &entries(), &[0, 1, 2], &runs);
        assert_eq!(shown(&found), ["road-runner 1 0 over 2: 40 ms", "road-runner 1 1 over 2: 40 ms"]);
        assert!(awards("CTL", BOTH, &entries(), &[0, 2], &runs).is_empty());
        assert!(awards("CTL", BOTH, &entries(), &[2], &runs).is_empty());
    }
}
