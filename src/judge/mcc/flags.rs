//! Flags for the organizers: tools without a run where others have one, and tools that gave a value twice.

use crate::absence::{Absence, Elsewhere};
use crate::input::run_results::{NONE, RunRow};
use crate::judgement::{Ending, Entry, Flag, FlagKind, Instance, Status};
use hashbrown::HashMap;
use mcc_campaign::benchkit::Repeat;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the flags of the rows of a contest, in a fixed order. The rows are sorted by examination, instance and
/// entry. `given` has the value numbers of all rows, `counts` the number of positions of each examination.
///
/// # Errors
/// There are too many flags of absent runs.
pub(super) fn flags(
    entries: &[Entry],
    instances: &[Instance],
    rows: &[RunRow],
    given: &[u32],
    counts: &[(String, usize)],
) -> Result<Vec<Flag>, TooManyAbsences> {
    let mut flags = absences(entries, instances, rows, given, counts, MAX_ABSENCES)?;
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
    Ok(flags)
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

/// Limit for the number of flags of absent runs. All contests have far fewer; a small table with many entries and models
/// can have more than fit into memory.
const MAX_ABSENCES: usize = 1_000_000;

/// There are too many flags of absent runs.
#[derive(Debug, thiserror::Error)]
#[error(
    "more than {most} flags would state that an entry has no run on a model that others ran; judge fewer entries \
     together"
)]
pub struct TooManyAbsences {
    most: usize,
}

/// Returns a flag for every entry without a run in an examination that others ran, or in an examination on a family
/// that others ran there.
///
/// # Errors
/// There are more than `most`.
fn absences(
    entries: &[Entry],
    instances: &[Instance],
    rows: &[RunRow],
    given: &[u32],
    counts: &[(String, usize)],
    most: usize,
) -> Result<Vec<Flag>, TooManyAbsences> {
    let names: BTreeSet<&str> = instances.iter().map(|instance| instance.family.as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let number = |instance: &Instance| names.partition_point(|name| *name < instance.family.as_str());
    let family_of: Vec<usize> = instances.iter().map(number).collect();
    // By entry, examination and family, where there are rows: most other places are empty if there are many models.
    let mut runs: HashMap<(usize, usize, usize), FamilyRuns> = HashMap::new();
    // By examination and family: number of instances that some entry ran.
    let mut instances_run: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    let mut last_block = None;
    for row in rows {
        let (examination, entry) = (row.examination as usize, row.entry as usize);
        let family = family_of[row.instance as usize];
        let at = runs.entry((entry, examination, family)).or_default();
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
                    *instances_run.entry((examination, family)).or_default() += 1;
                }
            }
        }
    }
    let runs: BTreeMap<(usize, usize, usize), FamilyRuns> = runs.into_iter().collect();
    let instances_run = |examination: usize| {
        let range = instances_run.range((examination, 0)..(examination + 1, 0));
        range.map(|((_, family), instances)| (*family, *instances))
    };
    let totals: Vec<usize> = (0..counts.len())
        .map(|examination| instances_run(examination).map(|(_, instances)| instances).sum())
        .collect();
    let examinations_run = totals.iter().filter(|total| **total > 0).count();
    let judged = |entry: usize| {
        let status = entries[entry].status;
        status.votes() || status == Status::OutOfCompetition
    };
    let mut flags = Vec::new();
    for entry in (0..entries.len()).filter(|entry| judged(*entry)) {
        let own_runs = |examination: usize| {
            runs.range((entry, examination, 0)..(entry, examination + 1, 0)).map(|(_, at)| at)
        };
        let present = |examination: usize| own_runs(examination).any(|at| at.has_evidence > 0);
        let elsewhere = (0..counts.len()).filter(|examination| present(*examination)).count();
        if elsewhere == 0 {
            continue;
        }
        for (examination, total) in totals.iter().copied().enumerate() {
            let mut flag = |family: &str, instances: usize, at: FamilyRuns, elsewhere: Elsewhere| {
                if flags.len() == most {
                    return Err(TooManyAbsences { most });
                }
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
                Ok(())
            };
            let failed = own_runs(examination).any(|at| at.failed > 0);
            if total > 0 && !present(examination) && !failed {
                let sum = |count: fn(&FamilyRuns) -> u32| own_runs(examination).map(count).sum();
                let at = FamilyRuns {
                    declined: sum(|at| at.declined),
                    ran: sum(|at| at.ran),
                    ..FamilyRuns::default()
                };
                let (ran, held) = (elsewhere as u64, examinations_run as u64);
                flag("", total, at, Elsewhere::Examinations { ran, held })?;
                continue;
            }
            for (family, instances) in instances_run(examination) {
                let at = runs.get(&(entry, examination, family)).copied().unwrap_or_default();
                if at.ran + at.failed == 0 {
                    flag(names[family], instances, at, Elsewhere::Models)?;
                }
            }
        }
    }
    Ok(flags)
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_rational::BigRational;

    #[test]
    fn more_flags_of_absent_runs_than_the_limit_are_refused() {
        let entry = |name: &str| Entry {
            entry: name.to_owned(),
            tool: name.to_owned(),
            status: Status::Competing,
            note: String::new(),
        };
        let instance = |family: &str| Instance {
            instance: format!("{family}-PT-1"),
            family: family.to_owned(),
            status: "known".to_owned(),
            weight: BigRational::from_integer(1.into()),
        };
        let row = |entry: u32, instance: u32| RunRow {
            examination: 0,
            entry,
            instance,
            ending: Ending::CannotCompute,
            first: 0,
            number: 1,
            facts: None,
        };
        // The second entry has a run on one of three models.
        let rows = [row(0, 0), row(0, 1), row(1, 1), row(0, 2)];
        let instances = ["H", "G", "F"].map(instance);
        let counts = [("StateSpace".to_owned(), 0), ("UpperBounds".to_owned(), 0)];
        let flags = |most: usize| absences(&[entry("a"), entry("b")], &instances, &rows, &[], &counts, most);
        let families: Vec<(usize, String)> =
            flags(2).unwrap().into_iter().map(|flag| (flag.entry, flag.family)).collect();
        assert_eq!(families, [(1, "F".to_owned()), (1, "H".to_owned())]);
        assert_eq!(
            flags(1).unwrap_err().to_string(),
            "more than 1 flags would state that an entry has no run on a model that others ran; judge fewer entries \
             together"
        );
    }
}
