//! Flags for the organizers: tools without a run where others have one, and tools that gave a value twice.

use crate::absence::{Absence, Elsewhere};
use crate::input::run_results::{NONE, RunRow};
use crate::judgement::{Ending, Entry, Flag, FlagKind, Instance, Status};
use mcc_campaign::benchkit::Repeat;
use std::collections::BTreeMap;

/// Returns the flags of the rows of a contest, in a fixed order. The rows are sorted by examination, instance and
/// entry. `given` has the value numbers of all rows, `counts` the number of positions of each examination.
pub(super) fn flags(
    entries: &[Entry],
    instances: &[Instance],
    rows: &[RunRow],
    given: &[u32],
    counts: &[(String, usize)],
) -> Vec<Flag> {
    let mut flags = absences(entries, instances, rows, given, counts);
    for row in rows {
        let repeated = row.facts.iter().flat_map(|facts| facts.repeated.iter().enumerate());
        for (position, repeat) in repeated.filter_map(|(position, repeat)| Some((position, (*repeat)?))) {
            let instance = row.instance as usize;
            let (kind, detail) = match repeat {
                Repeat::Same => (FlagKind::Repeat, "the same value more than once"),
                Repeat::Differs => {
                    (FlagKind::Contradiction, "different values for one position; the last counts")
                }
            };
            flags.push(Flag {
                kind,
                entry: row.entry as usize,
                examination: row.examination as usize,
                family: instances[instance].family.clone(),
                instance: Some(instance),
                position: Some(position),
                detail: detail.to_owned(),
            });
        }
    }
    flags.sort_by_cached_key(|f| (f.kind, f.entry, f.examination, f.instance, f.position, f.family.clone()));
    flags
}

/// The runs of an entry in an examination on a family.
#[derive(Clone, Copy, Default)]
struct FamilyRuns {
    /// Number of instances with a run that neither did not compete nor is an infrastructure failure.
    ran: u32,
    /// Number of instances with a run that did not compete.
    declined: u32,
    /// Number of instances with an infrastructure failure.
    failed: u32,
    /// Number of instances in `ran` with a value or an ending. Published tables also list runs that never started,
    /// without either.
    has_evidence: u32,
}

/// Returns a flag for every entry without a run in an examination that others ran, or in an examination on a family
/// that others ran there.
fn absences<'i>(
    entries: &[Entry],
    instances: &'i [Instance],
    rows: &[RunRow],
    given: &[u32],
    counts: &[(String, usize)],
) -> Vec<Flag> {
    let mut family_numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let number = |instance: &'i Instance| {
        let next = family_numbers.len();
        *family_numbers.entry(&instance.family).or_insert(next)
    };
    let family_of: Vec<usize> = instances.iter().map(number).collect();
    let families = family_numbers.len();
    let mut runs = vec![FamilyRuns::default(); counts.len() * entries.len() * families];
    // By examination and family: number of instances that some entry ran.
    let mut instances_run = vec![0_usize; counts.len() * families];
    let mut last_block = None;
    for row in rows {
        let (examination, entry) = (row.examination as usize, row.entry as usize);
        let family = family_of[row.instance as usize];
        let at = &mut runs[(examination * entries.len() + entry) * families + family];
        match row.ending {
            Ending::DidNotCompete => at.declined += 1,
            ending if !ending.is_scored() => at.failed += 1,
            ending => {
                at.ran += 1;
                let values = &given[row.first..row.first + counts[examination].1];
                at.has_evidence +=
                    u32::from(ending != Ending::NotStated || values.iter().any(|v| *v != NONE));
                // The rows of a block follow one another: count the block once.
                let block = (row.examination, row.instance);
                if last_block.replace(block) != Some(block) {
                    instances_run[examination * families + family] += 1;
                }
            }
        }
    }
    let total = |examination: usize| -> usize {
        instances_run[examination * families..(examination + 1) * families].iter().sum()
    };
    let examinations_run = (0..counts.len()).filter(|examination| total(*examination) > 0).count();
    let judged = |entry: usize| {
        let status = entries[entry].status;
        status.votes() || status == Status::OutOfCompetition
    };
    let mut flags = Vec::new();
    for entry in (0..entries.len()).filter(|entry| judged(*entry)) {
        let own_runs = |examination: usize| {
            let first = (examination * entries.len() + entry) * families;
            &runs[first..first + families]
        };
        let present = |examination: usize| own_runs(examination).iter().any(|at| at.has_evidence > 0);
        let elsewhere = (0..counts.len()).filter(|examination| present(*examination)).count();
        if elsewhere == 0 {
            continue;
        }
        for examination in 0..counts.len() {
            let instances_run = &instances_run[examination * families..(examination + 1) * families];
            let mut flag = |family: &str, instances: usize, at: FamilyRuns, elsewhere: Elsewhere| {
                let absence = Absence {
                    // A published table can list runs with neither a value nor an ending.
                    has_empty_runs: at.ran > 0,
                    instances: instances as u64,
                    declined: at.declined.into(),
                    elsewhere,
                };
                flags.push(Flag {
                    kind: FlagKind::Absent,
                    entry,
                    examination,
                    family: family.to_owned(),
                    instance: None,
                    position: None,
                    detail: absence.to_string(),
                });
            };
            let at = own_runs(examination);
            let failed = at.iter().any(|at| at.failed > 0);
            if total(examination) > 0 && !present(examination) && !failed {
                let sum = |count: fn(&FamilyRuns) -> u32| at.iter().map(count).sum();
                let at = FamilyRuns {
                    declined: sum(|at| at.declined),
                    ran: sum(|at| at.ran),
                    ..FamilyRuns::default()
                };
                let (ran, held) = (elsewhere as u64, examinations_run as u64);
                flag("", total(examination), at, Elsewhere::Examinations { ran, held });
                continue;
            }
            for (family, number) in &family_numbers {
                let at = at[*number];
                if at.ran + at.failed == 0 && instances_run[*number] > 0 {
                    flag(family, instances_run[*number], at, Elsewhere::Models);
                }
            }
        }
    }
    flags
}
