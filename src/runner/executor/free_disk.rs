//! The space on the host's disk that machines may take. A guest can fill its share, so at each start the shares of the new
//! machine and of all that run must be free: no guest can then take the space of another one. How much of its share a
//! running machine has taken is not known, so it counts as nothing.

use super::{Executor, ExecutorError, RunSettings, Scheduler};
use mcc_base::names::EntryName;
use mcc_base::{OnFile, budgets};
use mcc_campaign::{EVIDENCE_SETTING, Run};
use mcc_store::AttemptDir;
use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

/// The disk limits of a campaign and the free space for them in the folder of its record.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FreeDisk {
    /// Bytes that the writes of the machine of each entry to a disk may take.
    pub(super) limits: BTreeMap<EntryName, u64>,
    /// Bytes that one machine takes at most: its overlays, its own inputs disk, the files of `budgets::files`, and what
    /// its attempt adds to the record's database.
    pub per_machine: u64,
    /// Free bytes.
    pub free: u64,
}

impl FreeDisk {
    /// The number of machines that fit at once.
    pub fn machines(&self) -> usize {
        let machines = self.free.checked_div(self.per_machine);
        machines.map_or(usize::MAX, |machines| usize::try_from(machines).unwrap_or(usize::MAX))
    }

    /// Bytes that must be free before a machine starts while `running` others run.
    fn needed(&self, running: usize) -> u64 {
        self.per_machine.saturating_mul((running as u64).saturating_add(1))
    }
}

impl Executor<'_> {
    /// Reads the disks of the entries and the free space of the record's folder.
    ///
    /// # Errors
    /// A disk or the folder cannot be read.
    pub fn free_disk(&self) -> Result<FreeDisk, ExecutorError> {
        let (mut limits, mut per_machine) = (BTreeMap::new(), 0);
        let RunSettings { record, edition, disks, .. } = &self.settings;
        for (entry, disks) in &disks.entries {
            let limit = edition.limits.disk_limit_bytes(mcc_vm::free_bytes(&disks.disk)?);
            per_machine = per_machine.max(self.machine(entry, 1, Some(limit)).overlay_space()?);
            limits.insert(entry.clone(), limit);
        }
        let keeps_evidence = record.facts().settings.contains_key(EVIDENCE_SETTING);
        let files = budgets::files(edition.limits.output_bytes, edition.limits.wall_s, keeps_evidence);
        let others = [files, budgets::RECORD, self.instance_disk_space()?];
        let per_machine = others.into_iter().fold(per_machine, u64::saturating_add);
        Ok(FreeDisk { limits, per_machine, free: self.free_bytes()? })
    }

    /// The free bytes in the folder of the record.
    fn free_bytes(&self) -> Result<u64, ExecutorError> {
        let folder = self.settings.record.dir();
        Ok((self.settings.free_bytes)(folder).on("find the free space of", folder)?)
    }

    /// Whether one more machine may start, while `running` others run.
    ///
    /// # Errors
    /// It may not, and none runs whose end would free some space; or the folder cannot be read.
    pub(super) fn has_space(&self, running: usize) -> Result<bool, ExecutorError> {
        let (free, needed) = (self.free_bytes()?, self.free_disk.needed(running));
        match running {
            _ if free >= needed => Ok(true),
            0 => Err(ExecutorError::NoSpace { path: self.settings.record.dir().to_owned(), free, needed }),
            _ => Ok(false),
        }
    }
}

impl Scheduler<'_> {
    /// Holds the entry of an attempt if the files that its attempts left take more than what is still free: the other entries
    /// need the rest.
    pub(super) fn watch_kept_bytes(&self, run: &Run, dir: &AttemptDir) -> Result<(), ExecutorError> {
        let left = files_bytes(&dir.outputs()).on("read the files in", dir.outputs())?;
        let kept = {
            let mut shared = self.shared();
            let kept = shared.kept_bytes.entry(run.entry.clone()).or_default();
            *kept = kept.saturating_add(left);
            *kept
        };
        let free = self.executor.free_bytes()?;
        let has_others = self.executor.settings.record.facts().entries.len() > 1;
        if !has_others || kept <= free {
            return Ok(());
        }
        let (kept, free) = (kept >> 20, free >> 20);
        self.hold(
            run,
            format!(
                "the outputs of its runs take {kept} MiB, more than the {free} MiB that are still free for all entries; \
                 free some space before you release it"
            ),
        )
    }
}

fn files_bytes(folder: &Path) -> io::Result<u64> {
    fs::read_dir(folder)?.try_fold(0, |sum: u64, file| Ok(sum.saturating_add(file?.metadata()?.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_run_at_once_if_the_shares_of_all_are_free() {
        let machines =
            |free: u64, per_machine: u64| FreeDisk { limits: BTreeMap::new(), per_machine, free }.machines();
        assert_eq!([machines(99, 50), machines(100, 50), machines(49, 50)], [1, 2, 0]);
        assert_eq!(machines(0, 0), usize::MAX, "no entry has a machine");
        let needed = |running| FreeDisk { per_machine: 50, ..FreeDisk::default() }.needed(running);
        assert_eq!([needed(0), needed(1), needed(usize::MAX)], [50, 100, u64::MAX]);
        // Two outputs, three logs and their rounding, an hour of samples; evidence only if it is kept.
        let files = |keeps_evidence| budgets::files(1 << 30, 3600, keeps_evidence);
        assert_eq!(files(false), (2 << 30) + (4 << 20) + 3600 * 128);
        assert_eq!(files(true) - files(false), 32 << 20);
        assert_eq!(budgets::files(u64::MAX, u64::MAX, true), u64::MAX);
    }
}
