//! A record's open runs, run on this host.

use super::disks::Disks;
use super::{Exit, Failure, progress};
use mcc_campaign::{Campaign, History, Run, Start};
use mcc_edition::Edition;
use mcc_executor::{Executor, ExecutorError};
use mcc_host::{Accelerator, Book, Leases, Policy, Qemu, Survey, keep_to};
use mcc_store::{Glance, Record, StoreError};
use mcc_vm::{Backend, States};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// This host, surveyed.
pub(super) struct Host {
    pub policy: Policy,
    pub qemu: Qemu,
    pub backend: Backend,
    pub accelerator: Accelerator,
    pub survey: Survey,
}

/// What is to be run, and how.
pub(super) struct Conduct<'a> {
    pub record: &'a Record,
    pub campaign: &'a Campaign,
    /// The effective one (`Campaign::effective`).
    pub edition: &'a Edition,
    pub disks: Disks,
    pub leases: Leases,
    /// Runs at once; None: as many of `widest` vCPUs as there are cores and memory for.
    pub jobs: Option<usize>,
    pub widest: u32,
    /// Of every run.
    pub marks: Vec<String>,
    /// What runs took in earlier campaigns; what they took in this one is added.
    pub history: History,
    /// Set from outside: no new run is begun.
    pub drain: &'a AtomicBool,
}

impl Host {
    pub fn prepare(backend: mcc_campaign::Backend, allow_degraded: bool) -> Result<Self, Failure> {
        let policy = if allow_degraded { Policy::AllowDegraded } else { Policy::Contest };
        let qemu = Qemu::find().map_err(Failure::host)?;
        let backend = self::backend(backend)?;
        let accelerator = Accelerator::choose(&qemu, policy).map_err(Failure::host)?;
        let survey = Survey::take().map_err(Failure::host)?;
        Ok(Self { policy, qemu, backend, accelerator, survey })
    }

    /// Its cores and memory, beside what other controllers have; they are told the name of the campaign's file.
    pub fn leases(&self, campaign: &Path) -> Result<Leases, Failure> {
        let name = campaign.file_name().unwrap_or_default().to_string_lossy();
        let book = Book::of_this_host(&name).map_err(Failure::host)?;
        Ok(Leases::new(&self.survey.cores, &self.survey.memory).beside_others(book))
    }

    /// Runs what `wanted` takes of the record's open runs, with progress on stderr.
    pub fn conduct(self, what: Conduct, wanted: &(dyn Fn(&Run) -> bool + Sync)) -> Result<Exit, Failure> {
        let Conduct { record, campaign, edition, disks, leases, jobs, widest, marks, mut history, drain } =
            what;
        let before = Glance::at(record.dir())?;
        before.teach(&mut history);
        let capacity = leases.capacity(widest, edition.machine.memory_mib).max(1) as usize;
        let jobs = jobs.unwrap_or(capacity);
        let mut left = progress::Left::default();
        for open in record.open_runs() {
            let run = open?.run;
            if wanted(&run) {
                left.add(&run);
            }
        }
        let bar = progress::Campaign::new(&before.summary(), left, history.clone(), jobs);
        let executor = Executor {
            record,
            edition,
            disks: disks.entries,
            inputs: disks.inputs,
            inputs_digest: disks.inputs_digest,
            states: (campaign.start == Start::Restore).then(|| States::new(record.dir().join("states"))),
            host: mcc_executor::host_facts(&self.survey, self.accelerator, &self.qemu),
            backend: self.backend,
            accelerator: self.accelerator,
            policy: self.policy,
            boot_deadline: Duration::from_secs(campaign.hosts.boot_deadline_s.get()),
            stall: Duration::from_secs(campaign.hosts.stall_s.get()),
            watched: disks.watched,
            jobs,
            marks,
            history,
            machines: &mcc_executor::attempt,
            drain,
        };
        // Off the cores that runs lease, with every thread and process begun from here on (E-5.5).
        keep_to(leases.housekeeping()).map_err(Failure::host)?;
        let done = executor.run(leases, wanted, &|event| bar.show(event));
        let summary = record.summary()?;
        bar.finish(&summary);
        match done {
            // What was asked for is not done: whoever goes on to judge must not be told that it is.
            Ok(()) if drain.load(Ordering::Relaxed) && summary.recorded < summary.planned => {
                eprintln!("run: stopped as asked; the same command goes on");
                Ok(Exit::Failed)
            }
            Ok(()) if summary.outcomes.contains_key("infrastructure") => Ok(Exit::Failed),
            Ok(()) => Ok(Exit::Done),
            Err(error @ (ExecutorError::Lease(_) | ExecutorError::CpuFlags { .. })) => {
                Err(Failure::host(error))
            }
            Err(error @ ExecutorError::DiskChanged { .. }) => Err(Failure::usage(error)),
            Err(error) => Err(error.into()),
        }
    }
}

/// The backend that is asked for, if this program and this host have it.
fn backend(asked: mcc_campaign::Backend) -> Result<Backend, Failure> {
    match asked {
        mcc_campaign::Backend::Qemu => Ok(Backend::Qemu),
        #[cfg(feature = "libvirt")]
        campaign::Backend::Libvirt => {
            mcc_vm::libvirt::check(Duration::from_secs(120)).map_err(Failure::host)?;
            Ok(Backend::Libvirt)
        }
        #[cfg(not(feature = "libvirt"))]
        mcc_campaign::Backend::Libvirt => Err(Failure::host(anyhow::anyhow!(
            "backend = \"libvirt\": this mcc-harness was built without it; leave it out of [hosts], or, with the \
             package libvirt-dev, build one that has it: RUSTFLAGS=\"\" cargo build --release --features libvirt \
             --target-dir target/libvirt"
        ))),
    }
}

pub(super) fn executor_failure(error: ExecutorError) -> Failure {
    match error {
        ExecutorError::Lease(_) | ExecutorError::CpuFlags { .. } => Failure::host(error),
        ExecutorError::DiskChanged { .. } => Failure::usage(error),
        error => error.into(),
    }
}

pub(super) fn store_failure(error: StoreError) -> Failure {
    if error.is_usage() { Failure::usage(error) } else { error.into() }
}

/// What the runs of these records took.
pub(super) fn history_of(records: &[PathBuf]) -> Result<History, Failure> {
    let mut history = History::of_instances();
    for results in records {
        Record::open_readonly(results)
            .and_then(|record| record.teach(&mut history))
            .map_err(store_failure)?;
    }
    Ok(history)
}

/// Set by the first Ctrl-C (or SIGTERM); the second one ends the controller, and its machines with it.
pub(super) fn drain_on_ctrl_c() -> Result<Arc<AtomicBool>, Failure> {
    let drain = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // In this order: a signal first looks whether one came before, then leaves its own mark.
        signal_hook::flag::register_conditional_shutdown(signal, 130, drain.clone())?;
        signal_hook::flag::register(signal, drain.clone())?;
    }
    Ok(drain)
}
