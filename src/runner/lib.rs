//! Runs campaigns: prepares the record and the disks, and runs the open runs on this host, one model of a cluster
//! campaign, or a recorded run again. It prints nothing, but returns events and errors.

pub mod cluster;
mod disk_limits;
mod disks;
pub mod doctor;
mod error;
pub mod executor;
mod host;
mod import;
mod inputs;
pub mod measure;
mod prepare;
pub mod qualify;
mod replay;
mod settings;
mod shard;

pub use disk_limits::disk_limits;
pub use disks::{CampaignDisks, EntryDisks, StagedDisks, open_images, refused_images};
pub use error::RunnerError;
pub use host::Host;
pub use import::{ImportError, ImportSource, Imported, MissingFile, import};
pub use inputs::{InputsEvent, check_archives, packed_inputs};
pub use prepare::{PreparedCampaign, release, rerun};
pub use replay::Replay;
pub use settings::RunSettings;
pub use shard::{BoundElsewhere, Shard};

use crate::executor::{Executor, Progress};
use mcc_base::files::tail;
use mcc_campaign::{History, Run};
use mcc_store::{Record, RecordSummary, Summary};
use mcc_vm::host::{Leases, restrict_to_cpus};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// Runs the open runs of one record on this host.
pub struct CampaignRunner<'a> {
    executor: Executor<'a>,
    leases: Leases,
    /// The summary of the record when this runner was created.
    pub before: Summary,
    /// Names of other hosts that made the last attempts of the record.
    pub other_hosts: Vec<String>,
    /// The warning that the host's disk has too little free space for the requested number of runs at once.
    pub too_little_space: Option<String>,
}

/// How a campaign ended without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CampaignEnd {
    /// No wanted run is open, and no run of the record ended in infrastructure.
    Complete,
    /// At least one run is recorded as infrastructure.
    Infrastructure,
    /// Stopped by `RunSettings::stop` while runs are open.
    Stopped,
    /// Runs are open whose entries are held.
    Held,
}

impl<'a> CampaignRunner<'a> {
    /// Reads the summary of the record. Leases are taken by `run`.
    ///
    /// # Errors
    /// The lease registry or the record cannot be read.
    pub fn new(mut settings: RunSettings<'a>) -> Result<Self, RunnerError> {
        let record = settings.record;
        let Host { backend, accelerator, ref qemu, .. } = *settings.host;
        if settings.edition.limits.instructions.is_some() {
            mcc_vm::check_instruction_limit(backend, accelerator, qemu)?;
        }
        let leases = settings.host.leases(settings.file, settings.stop)?;
        let record_summary = RecordSummary::at(record.dir())?;
        record_summary.add_run_times_to(&mut settings.history);
        let mut executor = Executor::new(settings);
        let mut other_hosts: Vec<String> =
            record_summary.last.iter().map(|last| last.host.name.clone()).collect();
        other_hosts.retain(|name| !name.is_empty() && *name != executor.settings.host.survey.name);
        other_hosts.dedup();
        let wanted = executor.jobs(&leases);
        executor.free_disk = executor.free_disk()?;
        let (jobs, space) = (executor.jobs(&leases), &executor.free_disk);
        let too_little_space = (jobs < wanted).then(|| {
            format!(
                "runs at once: {jobs} instead of {wanted}, because {} MiB are free in {} and disk, output and logs of each \
                 machine may take {} MiB (`disk_gib` and `output_bytes` below [limits])",
                space.free >> 20,
                record.dir().display(),
                space.per_machine.div_ceil(1 << 20)
            )
        });
        Ok(Self { executor, leases, before: record_summary.summary(), other_hosts, too_little_space })
    }

    /// The record with the runs.
    pub fn record(&self) -> &'a Record {
        self.executor.settings.record
    }

    /// Durations of earlier runs, those of the record included.
    pub fn history(&self) -> &History {
        &self.executor.settings.history
    }

    /// The largest number of runs at once.
    pub fn jobs(&self) -> usize {
        self.executor.jobs(&self.leases)
    }

    /// Runs the open runs for which `wanted` is true. `show` is called with every event, by several threads.
    ///
    /// # Errors
    /// The first error that prevents runs from being recorded. Running runs end normally before it is returned.
    pub fn run(
        self,
        wanted: &(dyn Fn(&Run) -> bool + Sync),
        show: &(dyn Fn(Progress) + Sync),
    ) -> Result<CampaignEnd, RunnerError> {
        let Self { executor, leases, .. } = self;
        // E-5.5: this thread, its threads and its processes must not use the cores that runs lease.
        let _kept = restrict_to_cpus(leases.housekeeping())?;
        executor.run(leases, wanted, show)?;
        let RunSettings { record, stop, .. } = executor.settings;
        let summary = record.summary()?;
        Ok(if stop.load(Ordering::Relaxed) && summary.recorded < summary.planned {
            CampaignEnd::Stopped
        } else if record.holds()?.iter().any(|hold| !hold.released) {
            CampaignEnd::Held
        } else if summary.outcomes.contains_key("infrastructure") {
            CampaignEnd::Infrastructure
        } else {
            CampaignEnd::Complete
        })
    }
}

/// Durations of the runs in these records.
///
/// # Errors
/// A record cannot be read.
pub fn history_of(records: &[PathBuf]) -> Result<History, RunnerError> {
    let mut history = History::with_instances();
    for results in records {
        Record::open_readonly(results).and_then(|record| record.add_run_times_to(&mut history))?;
    }
    Ok(history)
}

/// Returns the last line of a file that is not blank, without blanks around it; it is searched in the last 4096 bytes.
fn last_line(path: &Path) -> io::Result<Option<String>> {
    let end = tail(path, 4096)?;
    let text = String::from_utf8_lossy(&end);
    Ok(text.lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned))
}
