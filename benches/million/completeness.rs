//! Checks that a campaign is complete and left no temporary files.

use mcc_harness::base::digest;
use mcc_harness::store::{Attempt, Record, RunRecord};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug, Default)]
pub struct CheckedCounts {
    pub runs: u64,
    /// Runs recorded as infrastructure after all their retries.
    pub infrastructure: u64,
    pub attempts: u64,
    /// Attempts on lost nodes, which do not count.
    pub superseded: u64,
}

/// Checks that every planned run has one record, that its outputs have the recorded digests, and that there are no other
/// outputs. `printed` returns whether an output is what the tool printed.
pub fn checked(record: &Record, retries: u32, printed: impl Fn(&RunRecord, &str) -> bool) -> CheckedCounts {
    let summary = record.summary().unwrap();
    assert_eq!(summary.recorded, summary.planned, "every planned run is recorded");
    let mut ended = CheckedCounts::default();
    let (mut ids, mut folders) = (BTreeSet::new(), BTreeSet::new());
    for run in record.records() {
        let run = run.unwrap();
        let id = run.run.id();
        let attempts: Vec<Attempt> = record.attempts(&id).unwrap();
        let superseded = record.reruns(&id).unwrap().iter().map(|rerun| rerun.after).max().unwrap_or(0);
        let (old, counting) = attempts.split_at(superseded as usize);
        assert!((1..=retries as usize + 1).contains(&counting.len()), "{id}: {} attempts", counting.len());
        let (last, before) = counting.split_last().unwrap();
        assert!(before.iter().all(|attempt| attempt.outcome.is_infrastructure()), "{id}: counted twice");
        assert_eq!(*last, run.last);
        for attempt in &attempts {
            let folder = record.outputs_dir(&id, attempt.number);
            for output in &attempt.outputs {
                let found = digest::file(&folder.join(&output.role)).unwrap();
                assert_eq!(found, (output.sha256.clone(), output.bytes), "{id}: {}", output.role);
            }
            folders.insert(folder);
        }
        if run.last.outcome.is_infrastructure() {
            ended.infrastructure += 1;
        } else {
            let text = fs::read(record.outputs_dir(&id, run.last.number).join("stdout")).unwrap();
            assert!(printed(&run, &String::from_utf8_lossy(&text)), "{id}: wrong output");
        }
        ended.attempts += attempts.len() as u64;
        ended.superseded += old.len() as u64;
        assert!(ids.insert(id), "recorded twice");
    }
    ended.runs = ids.len() as u64;
    assert_eq!(ended.runs, summary.planned);
    let outputs = walkdir::WalkDir::new(record.dir().join("outputs")).min_depth(4).max_depth(4);
    let found: BTreeSet<PathBuf> = outputs.into_iter().map(|item| item.unwrap().into_path()).collect();
    assert_eq!(found, folders, "outputs of all attempts and no others");
    ended
}

/// Checks that a folder of results has exactly these files, and no running attempt.
pub fn clean(results: &Path, expected: &[&str]) {
    let mut left: Vec<String> = fs::read_dir(results)
        .unwrap()
        .map(|item| item.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| !["record.db-wal", "record.db-shm"].contains(&name.as_str()))
        .collect();
    left.sort();
    assert_eq!(left, expected, "{}", results.display());
    assert_eq!(fs::read_dir(results.join("running")).unwrap().count(), 0, "running attempts");
}

/// The number of open descriptors of a process and its resident memory in KiB, or None if it has ended.
pub fn held(process: &str) -> Option<(usize, u64)> {
    let folder = Path::new("/proc").join(process);
    let status = fs::read_to_string(folder.join("status")).ok()?;
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib = resident.trim().trim_end_matches(" kB").parse().ok()?;
    Some((fs::read_dir(folder.join("fd")).ok()?.count(), kib))
}
