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
mod shard;

pub use disk_limits::disk_limits;
pub use disks::{CampaignDisks, StagedDisks, open_images};
pub use error::RunnerError;
pub use host::Host;
pub use import::{ImportError, ImportSource, Imported, MissingFile, import};
pub use inputs::{InputsEvent, check_archives, packed_inputs};
pub use prepare::{PreparedCampaign, rerun};
pub use replay::Replay;
pub use shard::{BoundElsewhere, Shard};

use crate::executor::{AttemptFn, Executor, FreeDisk, Progress, leased_memory_mib};
use mcc_campaign::{History, Hosts, Run};
use mcc_edition::Edition;
use mcc_store::{Record, RecordSummary, Summary};
use mcc_vm::SavedStates;
use mcc_vm::host::{Leases, restrict_to_cpus};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The options of a `CampaignRunner`.
pub struct CampaignOptions<'a> {
    /// The record with the runs.
    pub record: &'a Record,
    /// The effective edition (`Campaign::effective`).
    pub edition: &'a Edition,
    /// Timeouts of every run.
    pub hosts: &'a Hosts,
    /// Whether machines start from a saved state instead of booting.
    pub restore: bool,
    /// The disks of the machines.
    pub disks: CampaignDisks,
    /// The campaign file. Its name is written to the lease registry of the host.
    pub file: &'a Path,
    /// Runs at once; None: as many machines with `max_vcpus` as cores and memory allow.
    pub jobs: Option<usize>,
    /// The largest number of vCPUs of a run.
    pub max_vcpus: u32,
    /// Marks of every run, in addition to those of its attempt.
    pub marks: Vec<mcc_base::Mark>,
    /// Durations of runs in earlier campaigns; the runner adds those of `record`.
    pub history: History,
    /// Makes one attempt.
    pub run_attempt: &'a AttemptFn<'a>,
    /// Stop request, set by the caller: no new run is started, running ones end normally.
    pub stop: &'a AtomicBool,
}

/// Runs the open runs of one record on this host.
pub struct CampaignRunner<'a> {
    executor: Executor<'a>,
    leases: Leases,
    before: Summary,
    other_hosts: Vec<String>,
    too_little_space: Option<String>,
}

/// How a campaign ended without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CampaignEnd {
    /// No wanted run is open, and no run of the record ended in infrastructure.
    Complete,
    /// At least one run is recorded as infrastructure.
    Infrastructure,
    /// Stopped by `CampaignOptions::stop` while runs are open.
    Stopped,
}

impl<'a> CampaignRunner<'a> {
    /// Reads the summary of the record. Leases are taken by `run`.
    ///
    /// # Errors
    /// The lease registry or the record cannot be read.
    pub fn new(host: &Host, options: CampaignOptions<'a>) -> Result<Self, RunnerError> {
        let CampaignOptions {
            record,
            edition,
            hosts,
            restore,
            disks,
            mut marks,
            mut history,
            run_attempt,
            stop,
            ..
        } = options;
        marks.extend_from_slice(&host.marks);
        let leases = host.leases(options.file, stop)?;
        let record_summary = RecordSummary::at(record.dir())?;
        record_summary.add_run_times_to(&mut history);
        let memory_mib = leased_memory_mib(edition.machine.memory_mib, restore);
        let capacity = leases.capacity(options.max_vcpus, memory_mib).max(1) as usize;
        let mut executor = Executor {
            record,
            edition,
            disks: disks.entries,
            inputs: disks.inputs,
            inputs_digest: disks.inputs_digest,
            states: restore.then(|| SavedStates::new(record.dir().join("running"))),
            host: crate::executor::host_facts(&host.survey, host.accelerator, &host.qemu),
            backend: host.backend,
            accelerator: host.accelerator,
            policy: host.policy,
            boot_deadline: Duration::from_secs(hosts.boot_deadline_s.get()),
            prepare_deadline: Duration::from_secs(hosts.prepare_deadline_s.get()),
            collect_deadline: Duration::from_secs(hosts.collect_deadline_s.get()),
            stall: Duration::from_secs(hosts.stall_s.get()),
            disturbance: hosts.disturbed.clone(),
            held_files: disks.held_files,
            free_disk: FreeDisk::default(),
            jobs: options.jobs.unwrap_or(capacity),
            marks,
            history,
            run_attempt,
            stop,
        };
        let mut other_hosts: Vec<String> =
            record_summary.last.iter().map(|last| last.host.name.clone()).collect();
        other_hosts.retain(|name| !name.is_empty() && *name != executor.host.name);
        other_hosts.dedup();
        executor.free_disk = executor.free_disk()?;
        let space = &executor.free_disk;
        // Without space for one, `run` refuses.
        let machines = space.machines().max(1);
        let too_little_space = (machines < executor.jobs).then(|| {
            format!(
                "runs at once: {machines} instead of {}, because {} MiB are free in {} and the writes of each machine to \
                 its disk may take {} MiB (`disk_gib` below [limits])",
                executor.jobs,
                space.free >> 20,
                record.dir().display(),
                space.per_machine.div_ceil(1 << 20)
            )
        });
        executor.jobs = executor.jobs.min(machines);
        Ok(Self { executor, leases, before: record_summary.summary(), other_hosts, too_little_space })
    }

    /// The record with the runs.
    pub fn record(&self) -> &'a Record {
        self.executor.record
    }

    /// The summary of the record when this runner was created.
    pub fn before(&self) -> &Summary {
        &self.before
    }

    /// Names of other hosts that made the last attempts of the record.
    pub fn other_hosts(&self) -> &[String] {
        &self.other_hosts
    }

    /// The warning that the host's disk has too little free space for the requested number of runs at once.
    pub fn too_little_space(&self) -> Option<&str> {
        self.too_little_space.as_deref()
    }

    /// Durations of earlier runs, those of the record included.
    pub fn history(&self) -> &History {
        &self.executor.history
    }

    /// The largest number of runs at once.
    pub fn jobs(&self) -> usize {
        self.executor.jobs
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
        let summary = executor.record.summary()?;
        Ok(if executor.stop.load(Ordering::Relaxed) && summary.recorded < summary.planned {
            CampaignEnd::Stopped
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
