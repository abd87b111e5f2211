//! Awards (E-4.3, E-4.5): road-runner for the least CPU time and camel for the least memory. Later editions also have
//! awards for the most right values, and for the most right values that no other tool gave.
//!
//! The rules leave open over which runs costs are compared; the edition sets it (`cost_comparison`).
//!
//! `penalized`: the mean over all blocks of the category. A run that is not complete has a fixed charge, twice the limit of
//! the contest (as PAR-2 of solver competitions), and so has a block without a run of the entry. The mean of an entry is over
//! its own runs: a further entry changes the order of two others only by its votes, which decide whether their runs are
//! complete. A run without a value that can be compared (a `degraded:` or `mixed-host` mark, an infrastructure failure, or a
//! complete run that was not measured) is left out of the mean of its entry.
//!
//! `common-runs`: the sum over the blocks that all compared entries completed. If there is no such block, the entry with
//! the fewest complete runs is left out (of equal ones the last by name), until there is one.
//!
//! `runs_compared` is the number of these blocks. Families that ran on several hosts are left out.

use crate::judgement::{Award, AwardPlace, Cost, Entry};
use mcc_edition::{AwardKind, CostComparison, Edition};
use std::collections::{BTreeMap, BTreeSet};

/// A complete run (E-4.3) whose cost can be compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompleteRun {
    pub examination: usize,
    pub instance: usize,
    pub entry: usize,
    pub cost: Cost,
}

/// What the awards of one category compare.
pub(super) struct AwardValues {
    /// Number of blocks of its examinations, over which values are counted.
    pub blocks: u64,
    /// Number of blocks of its examinations on instances whose costs can be compared.
    pub comparable_blocks: u64,
    /// Entries with a rank, which are compared by cost, with the number of their runs without a comparable value.
    pub ranked: BTreeMap<usize, Unmeasured>,
    /// Number of right values of every competing entry.
    pub right: BTreeMap<usize, u64>,
    /// Number of right values of every competing entry that no other tool gave.
    pub unique: BTreeMap<usize, u64>,
    /// Complete runs of the category, including those of entries without a rank.
    pub runs: Vec<CompleteRun>,
}

/// Numbers of runs without a value that can be compared.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unmeasured {
    /// Without a CPU time.
    pub cpu: u64,
    /// Without a peak of memory.
    pub memory: u64,
}

/// The measured costs of complete runs: by entry, then by examination and instance.
type Measured = BTreeMap<usize, BTreeMap<(usize, usize), u64>>;

/// Returns the awards of one category. An award of cost needs two entries to compare, one of values an entry with a
/// value.
pub(super) fn awards(
    category: &str,
    edition: &Edition,
    entries: &[Entry],
    compared: &AwardValues,
) -> Vec<Award> {
    let kinds = edition.judging.awards.iter();
    kinds.filter_map(|kind| award(category, *kind, edition, entries, compared)).collect()
}

fn award(
    category: &str,
    kind: AwardKind,
    edition: &Edition,
    entries: &[Entry],
    compared: &AwardValues,
) -> Option<Award> {
    let (unit, measure): (_, fn(&Cost) -> Option<u64>) = match kind {
        AwardKind::RoadRunner => ("ms", |cost| Some(cost.cpu_ms)),
        AwardKind::Camel => ("KiB", |cost| cost.memory_kib),
        AwardKind::MostRight => return most(category, kind, entries, &compared.right, compared.blocks),
        AwardKind::MostUnique => return most(category, kind, entries, &compared.unique, compared.blocks),
    };
    let mut by_entry = Measured::new();
    for run in compared.runs.iter().filter(|run| compared.ranked.contains_key(&run.entry)) {
        if let Some(measured) = measure(&run.cost) {
            by_entry.entry(run.entry).or_default().insert((run.examination, run.instance), measured);
        }
    }
    let places = match edition.judging.cost_comparison {
        CostComparison::Penalized => penalized(kind, edition, entries, compared, &by_entry),
        CostComparison::CommonRuns => over_common_runs(entries, &by_entry),
    };
    let place = |(rank, entry, runs_compared, value)| AwardPlace {
        rank,
        entry,
        runs_compared,
        value,
        unit: unit.to_owned(),
    };
    let places: Vec<AwardPlace> = places?.into_iter().map(place).collect();
    Some(Award { category: category.to_owned(), award: kind, places })
}

/// Rank, entry, number of compared runs, value.
type Place = (u32, usize, u64, u64);

/// The charge of a run that is not complete: twice what a run may use, with the cores of a concurrent tool.
fn charge(kind: AwardKind, edition: &Edition) -> u128 {
    let cores = edition.machine.concurrent_cores;
    let limit = match kind {
        AwardKind::Camel => u128::from(edition.machine.memory_mib) << 10,
        _ => match edition.limits.cpu_limit_s(cores) {
            Some(seconds) => u128::from(seconds) * 1000,
            None => u128::from(edition.limits.wall_limit_s()) * 1000 * u128::from(cores),
        },
    };
    2 * limit
}

/// Ranks the entries with a measured complete run by their mean over all blocks. A complete run costs at most the charge.
fn penalized(
    kind: AwardKind,
    edition: &Edition,
    entries: &[Entry],
    compared: &AwardValues,
    by_entry: &Measured,
) -> Option<Vec<Place>> {
    let charge = charge(kind, edition);
    let mean = |(entry, measured): (&usize, &BTreeMap<_, u64>)| {
        let Unmeasured { cpu, memory } = compared.ranked[entry];
        let without = if kind == AwardKind::Camel { memory } else { cpu };
        let runs = u128::from(compared.comparable_blocks.saturating_sub(without)).max(measured.len() as u128);
        let complete: u128 = measured.values().map(|cost| u128::from(*cost).min(charge)).sum();
        (complete + (runs - measured.len() as u128) * charge, runs, *entry)
    };
    let mut means: Vec<(u128, u128, usize)> = by_entry.iter().map(mean).collect();
    // Exact: a/b < c/d where a*d < c*b.
    let order = |a: &(u128, u128, usize), b: &(u128, u128, usize)| (a.0 * b.1).cmp(&(b.0 * a.1));
    means.sort_by(|a, b| order(a, b).then(entries[a.2].entry.cmp(&entries[b.2].entry)));
    let place = |mean: &(u128, u128, usize)| {
        let (sum, runs, entry) = *mean;
        let rank = means.iter().filter(|other| order(other, mean).is_lt()).count() as u32 + 1;
        let rounded = u64::try_from((sum + runs / 2) / runs).unwrap_or(u64::MAX);
        (rank, entry, runs as u64, rounded)
    };
    (means.len() >= 2).then(|| means.iter().map(place).collect())
}

/// Ranks the entries by their sum over the blocks that all of them completed.
fn over_common_runs(entries: &[Entry], by_entry: &Measured) -> Option<Vec<Place>> {
    let mut compared: Vec<usize> = by_entry.keys().copied().collect();
    compared.sort_by(|a, b| {
        by_entry[b].len().cmp(&by_entry[a].len()).then(entries[*a].entry.cmp(&entries[*b].entry))
    });
    let common = loop {
        if compared.len() < 2 {
            return None;
        }
        let first = by_entry[&compared[0]].keys().copied();
        let common: BTreeSet<_> =
            first.filter(|block| compared.iter().all(|entry| by_entry[entry].contains_key(block))).collect();
        if !common.is_empty() {
            break common;
        }
        compared.pop();
    };
    // A published table can have any value: the sum must not overflow.
    let sum = |entry: usize| common.iter().map(|block| by_entry[&entry][block]).fold(0, u64::saturating_add);
    let mut sums: Vec<(u64, usize)> = compared.iter().map(|entry| (sum(*entry), *entry)).collect();
    sums.sort_by(|a, b| a.0.cmp(&b.0).then(entries[a.1].entry.cmp(&entries[b.1].entry)));
    let place = |(value, entry): &(u64, usize)| {
        let rank = sums.iter().filter(|(other, _)| other < value).count() as u32 + 1;
        (rank, *entry, common.len() as u64, *value)
    };
    Some(sums.iter().map(place).collect())
}

/// Ranks the tools by number of values over all blocks of the category, each tool with its variant that has most.
fn most(
    category: &str,
    award: AwardKind,
    entries: &[Entry],
    values: &BTreeMap<usize, u64>,
    blocks: u64,
) -> Option<Award> {
    let mut sums: Vec<(u64, usize)> = values.iter().map(|(entry, values)| (*values, *entry)).collect();
    sums.retain(|(values, _)| *values > 0);
    sums.sort_by(|a, b| b.0.cmp(&a.0).then(entries[a.1].entry.cmp(&entries[b.1].entry)));
    let mut placed = BTreeSet::new();
    sums.retain(|(_, entry)| placed.insert(&entries[*entry].tool));
    let place = |(value, entry): &(u64, usize)| AwardPlace {
        rank: sums.iter().filter(|(other, _)| other > value).count() as u32 + 1,
        entry: *entry,
        runs_compared: blocks,
        value: *value,
        unit: "values".to_owned(),
    };
    let places: Vec<AwardPlace> = sums.iter().map(place).collect();
    let category = category.to_owned();
    (!places.is_empty()).then_some(Award { category, award, places })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_edition::Status;

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
            cost: Cost { cpu_ms, memory_kib: Some(memory_kib), ..Cost::default() },
        }
    }

    fn compared(ranked: &[usize], runs: &[CompleteRun]) -> AwardValues {
        let none = || ranked.iter().map(|entry| (*entry, 0)).collect();
        let ranked = ranked.iter().map(|entry| (*entry, Unmeasured::default())).collect();
        let runs = runs.to_vec();
        AwardValues { blocks: 9, comparable_blocks: 9, ranked, right: none(), unique: none(), runs }
    }

    /// The edition of 2018 with these awards; costs are compared over common runs.
    fn edition(awards: &[AwardKind]) -> Edition {
        let mut edition = Edition::load("mcc-2018").unwrap();
        edition.judging.awards = awards.to_vec();
        edition.judging.cost_comparison = CostComparison::CommonRuns;
        edition
    }

    #[test]
    fn a_penalized_mean_depends_only_on_the_runs_of_its_entry() {
        let mut edition = edition(BOTH);
        edition.judging.cost_comparison = CostComparison::Penalized;
        // Entry 0 is ahead of entry 1 over instances 1 to 3; it is slower on instance 4, the only one of entry 2.
        let mut runs: Vec<CompleteRun> =
            (1..4).flat_map(|instance| [run(0, instance, 10, 5), run(1, instance, 30, 9)]).collect();
        runs.extend([run(0, 4, 25, 5), run(1, 4, 20, 9)]);
        let order = |runs: &[CompleteRun], ranked: &[usize]| -> Vec<(usize, u64)> {
            let found = awards("CTL", &edition, &entries(), &compared(ranked, runs));
            found[0].places.iter().map(|place| (place.entry, place.value)).collect()
        };
        let charge = 2 * 4 * 3_600_000;
        let mean = |own: u64, complete: u64| (own + (9 - complete) * charge + 4) / 9;
        assert_eq!(order(&runs, &[0, 1]), [(0, mean(55, 4)), (1, mean(110, 4))]);
        runs.push(run(2, 4, 1, 1));
        assert_eq!(order(&runs, &[0, 1, 2]), [(0, mean(55, 4)), (1, mean(110, 4)), (2, mean(1, 1))]);
        // A run without a value is left out of the mean of its entry, and one above the charge costs the charge.
        let mut without = compared(&[0, 1, 2], &runs);
        without.ranked.insert(2, Unmeasured { cpu: 8, memory: 0 });
        without.runs.last_mut().unwrap().cost.cpu_ms = u64::MAX;
        let found = awards("CTL", &edition, &entries(), &without);
        let last = found[0].places.last().unwrap();
        assert_eq!((last.entry, last.runs_compared, last.value), (2, 1, charge));
    }

    fn shown(awards: &[Award]) -> Vec<String> {
        let line = |award: &Award, place: &AwardPlace| {
            let AwardPlace { rank, entry, runs_compared, value, unit } = place;
            format!("{} {rank} {entry} over {runs_compared}: {value} {unit}", award.award.word())
        };
        awards.iter().flat_map(|award| award.places.iter().map(move |place| line(award, place))).collect()
    }

    #[test]
    fn an_award_for_values_counts_the_variant_with_most_of_them() {
        let mut entries = entries();
        entries[2].tool = "a".to_owned();
        let right = BTreeMap::from([(0, 26), (1, 66), (2, 80)]);
        let compared = AwardValues { right, ..compared(&[0, 1], &[]) };
        let given = awards("CTL", &edition(&[AwardKind::MostRight]), &entries, &compared);
        assert_eq!(shown(&given), ["most-right 1 2 over 9: 80 values", "most-right 2 1 over 9: 66 values"]);
    }

    #[test]
    fn costs_are_compared_over_runs_that_all_completed() {
        // Entry 0 is slow on instance 2, which entry 1 did not complete; only instance 1 is common.
        let runs = [run(0, 1, 30, 5), run(0, 2, 900, 900), run(1, 1, 20, 5), run(1, 3, 1, 1)];
        let shown = shown(&awards("CTL", &edition(BOTH), &entries(), &compared(&[0, 1], &runs)));
        let expected = [
            "road-runner 1 1 over 1: 20 ms",
            "road-runner 2 0 over 1: 30 ms",
            "camel 1 0 over 1: 5 KiB",
            "camel 1 1 over 1: 5 KiB",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_run_without_measured_memory_does_not_count_for_the_camel() {
        let mut runs = [run(0, 1, 30, 5), run(1, 1, 20, 9), run(0, 2, 1, 5), run(1, 2, 1, 9)];
        runs[1].cost.memory_kib = None;
        let expected = [
            "road-runner 1 1 over 2: 21 ms",
            "road-runner 2 0 over 2: 31 ms",
            "camel 1 0 over 1: 5 KiB",
            "camel 2 1 over 1: 9 KiB",
        ];
        assert_eq!(shown(&awards("CTL", &edition(BOTH), &entries(), &compared(&[0, 1], &runs))), expected);
    }

    #[test]
    fn an_entry_without_a_common_run_is_left_out() {
        let runs = [run(0, 1, 30, 5), run(0, 2, 10, 5), run(1, 1, 20, 5), run(1, 2, 20, 5), run(2, 9, 1, 1)];
        let found = awards("CTL", &edition(&BOTH[..1]), &entries(), &compared(&[0, 1, 2], &runs));
        assert_eq!(shown(&found), ["road-runner 1 0 over 2: 40 ms", "road-runner 1 1 over 2: 40 ms"]);
        assert!(awards("CTL", &edition(BOTH), &entries(), &compared(&[0, 2], &runs)).is_empty());
        assert!(awards("CTL", &edition(BOTH), &entries(), &compared(&[2], &runs)).is_empty());
    }

    #[test]
    fn later_editions_have_awards_for_right_and_unique_values() {
        let mut compared = compared(&[0, 1, 2], &[]);
        compared.right = [(0, 5), (1, 7), (2, 7)].into();
        compared.unique.insert(2, 3);
        let found =
            awards("CTL", &edition(&[AwardKind::MostRight, AwardKind::MostUnique]), &entries(), &compared);
        let expected = [
            "most-right 1 1 over 9: 7 values",
            "most-right 1 2 over 9: 7 values",
            "most-right 3 0 over 9: 5 values",
            "most-unique 1 2 over 9: 3 values",
        ];
        assert_eq!(shown(&found), expected);
    }
}
