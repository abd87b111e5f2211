//! What an organizer should look at: tools absent where others ran, and tools that gave a value twice.

use crate::input::ballots::{NONE, RunRow};
use crate::judgement::{Ending, Entry, Flag, FlagKind, Instance, Status};
use mcc_benchkit::Repeat;
use std::collections::BTreeMap;

/// Flags of a contest's rows (sorted by examination, instance, entry), in a stable order.
///
/// `given` and `counts`: the value numbers of all rows, and how many values each examination has.
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
    flags.sort_by(|a, b| {
        let key = |f: &Flag| (f.kind, f.entry, f.examination, f.instance, f.position);
        key(a).cmp(&key(b)).then_with(|| a.family.cmp(&b.family))
    });
    flags
}

/// What an entry did in an examination on a model.
#[derive(Clone, Copy, Default)]
struct FamilyRuns {
    /// Instances with a run of its own: not merely "did not compete", nor a fault of the harness.
    ran: u32,
    /// Those that did not compete.
    declined: u32,
    /// Those that ended in infrastructure.
    failed: u32,
    /// Those of `ran` that prove it ran: published tables list tools without a value that never started.
    has_evidence: u32,
}

/// An entry absent from an examination on all instances of a model that others ran, or on all instances there are.
fn absences<'i>(
    entries: &[Entry],
    instances: &'i [Instance],
    rows: &[RunRow],
    given: &[u32],
    counts: &[(String, usize)],
) -> Vec<Flag> {
    let mut models: BTreeMap<&str, usize> = BTreeMap::new();
    let number = |instance: &'i Instance| {
        let next = models.len();
        *models.entry(&instance.family).or_insert(next)
    };
    let model_of: Vec<usize> = instances.iter().map(number).collect();
    let families = models.len();
    let mut presence = vec![FamilyRuns::default(); counts.len() * entries.len() * families];
    // How many instances of each examination and model anybody ran.
    let mut instances_run = vec![0_usize; counts.len() * families];
    let mut last_block = None;
    for row in rows {
        let (examination, entry) = (row.examination as usize, row.entry as usize);
        let family = model_of[row.instance as usize];
        let at = &mut presence[(examination * entries.len() + entry) * families + family];
        match row.ending {
            Ending::DidNotCompete => at.declined += 1,
            ending if !ending.is_scored() => at.failed += 1,
            ending => {
                at.ran += 1;
                let values = &given[row.first..row.first + counts[examination].1];
                at.has_evidence +=
                    u32::from(ending != Ending::NotStated || values.iter().any(|v| *v != NONE));
                // Rows of one instance follow one another.
                let block = (row.examination, row.instance);
                if last_block.replace(block) != Some(block) {
                    instances_run[examination * families + family] += 1;
                }
            }
        }
    }
    let judged = |entry: usize| matches!(entries[entry].status, Status::Competing | Status::OutOfCompetition);
    let mut flags = Vec::new();
    for entry in (0..entries.len()).filter(|entry| judged(*entry)) {
        let of = |examination: usize| {
            let first = (examination * entries.len() + entry) * families;
            &presence[first..first + families]
        };
        let present = |examination: usize| of(examination).iter().any(|at| at.has_evidence > 0);
        let elsewhere = (0..counts.len()).filter(|examination| present(*examination)).count();
        if elsewhere == 0 {
            continue;
        }
        for examination in 0..counts.len() {
            let instances_run = &instances_run[examination * families..(examination + 1) * families];
            let total: usize = instances_run.iter().sum();
            let mut flag = |family: &str, instances: usize, at: FamilyRuns, elsewhere_text: String| {
                // Not of the same instances: it may decline one that no other entry ran.
                let declined = match at.declined {
                    0 => String::new(),
                    declined => format!("; did-not-compete on {declined}"),
                };
                // A table lists runs of which it gives neither a value nor an ending.
                let missing = if at.ran > 0 { "neither value nor ending" } else { "no run" };
                flags.push(Flag {
                    kind: FlagKind::Absent,
                    entry,
                    examination,
                    family: family.to_owned(),
                    instance: None,
                    position: None,
                    detail: format!(
                        "{missing} on {instances} instances that others ran{declined}; {elsewhere_text}"
                    ),
                });
            };
            let at = of(examination);
            let failed = at.iter().any(|at| at.failed > 0);
            if total > 0 && !present(examination) && !failed {
                let sum = |of: fn(&FamilyRuns) -> u32| at.iter().map(of).sum();
                let at = FamilyRuns {
                    declined: sum(|at| at.declined),
                    ran: sum(|at| at.ran),
                    ..FamilyRuns::default()
                };
                flag("", total, at, format!("it ran in {elsewhere} of {} examinations", counts.len()));
                continue;
            }
            for (family, number) in &models {
                let at = at[*number];
                if at.ran + at.failed == 0 && instances_run[*number] > 0 {
                    let elsewhere_text = "it ran on other models".to_owned();
                    flag(family, instances_run[*number], at, elsewhere_text);
                }
            }
        }
    }
    flags
}
