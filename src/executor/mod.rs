//! What runs when and where. `attempt` is one attempt at a run as a state machine; `Executor` gives the open
//! runs of a record to as many of them at once as cores, memory and `jobs` allow.

mod attempt;
mod limits;

pub use attempt::{Attempted, Ended, Patience, State, attempt};
pub use limits::{Budget, Verdict};

use crate::benchkit::Invocation;
use crate::campaign::Run;
use crate::edition::Edition;
use crate::host::{Accelerator, Lease, LeaseError, Leases, Policy};
use crate::store::{Attempt, AttemptDir, Disk, HostFacts, OpenRun, Outcome, Record, Standing, StoreError};
use crate::vm::{MachineSpec, Wiring, argv};
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// So many attempts in a row that ended in infrastructure mean that the host, not a run, is in trouble.
const TROUBLE_IN_A_ROW: u32 = 10;

/// The disks of one entry and their digests.
#[derive(Clone, Debug)]
pub struct EntryDisks {
    pub kernel: PathBuf,
    pub initrd: PathBuf,
    pub disk: PathBuf,
    pub digests: Vec<Disk>,
}

/// What every run of a campaign on this host shares.
pub struct Executor<'a> {
    pub record: &'a Record,
    /// The effective edition: the campaign's limits applied.
    pub edition: &'a Edition,
    /// By entry.
    pub disks: BTreeMap<String, EntryDisks>,
    pub inputs: PathBuf,
    pub inputs_digest: Disk,
    pub host: HostFacts,
    pub accelerator: Accelerator,
    pub policy: Policy,
    pub boot_deadline: Duration,
    /// Runs at once.
    pub jobs: usize,
    /// Set from outside: no new run is begun, running ones end as they would.
    pub drain: &'a AtomicBool,
}

/// What happens while a campaign runs, for whoever shows it.
#[derive(Clone, Debug)]
pub enum Progress<'a> {
    Entered {
        run: &'a Run,
        attempt: u32,
        state: State,
    },
    /// An attempt was committed.
    Committed {
        run: &'a Run,
        attempt: &'a Attempt,
        standing: Standing,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum ExecutorError {
    #[error(transparent)]
    Lease(#[from] LeaseError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "{TROUBLE_IN_A_ROW} attempts in a row ended in infrastructure, the last one at {run}: {reason}; the \
         host needs help; nothing is lost, `run` again to go on"
    )]
    Trouble { run: String, reason: String },
    #[error("cannot read random bytes from /dev/urandom: {0}")]
    Random(#[source] io::Error),
}

/// What the workers share.
struct Floor {
    open: VecDeque<OpenRun>,
    leases: Leases,
    trouble: u32,
    error: Option<ExecutorError>,
}

impl Executor<'_> {
    /// Works off the open runs that `wanted` takes; returns when none is left, when told to drain, or on the
    /// first error (what is running then is ended as it would).
    pub fn run(
        &self,
        mut leases: Leases,
        wanted: &dyn Fn(&Run) -> bool,
        show: &(dyn Fn(Progress) + Sync),
    ) -> Result<(), ExecutorError> {
        let open = self.record.open_runs();
        let open = open.filter(|open| open.as_ref().map_or(true, |open| wanted(&open.run)));
        let open = open.collect::<Result<VecDeque<_>, _>>()?;
        for vcpus in open
            .iter()
            .filter(|o| o.run.competes)
            .map(|o| o.run.vcpus)
            .collect::<std::collections::BTreeSet<_>>()
        {
            // Refused before the first run, not in the middle of the night.
            if let Some(lease) = leases.lease(vcpus, self.edition.machine.memory_mib, self.policy)? {
                leases.release(lease);
            }
        }
        let housekeeping: Vec<u32> = leases.housekeeping().to_vec();
        let jobs = self.jobs.min(open.len());
        let floor = Mutex::new(Floor { open, leases, trouble: 0, error: None });
        let released = Condvar::new();
        thread::scope(|scope| {
            for _ in 0..jobs {
                scope.spawn(|| {
                    while let Some((open, lease)) = self.next(&floor, &released) {
                        let done = self.record_run(open, lease, &housekeeping, &floor, &released, show);
                        if let Err(error) = done {
                            hold(&floor).error.get_or_insert(error);
                            released.notify_all();
                        }
                    }
                });
            }
        });
        floor.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).error.map_or(Ok(()), Err)
    }

    /// The next open run with its cores and memory; waits for them. None: the work is over.
    fn next(&self, floor: &Mutex<Floor>, released: &Condvar) -> Option<(OpenRun, Option<Lease>)> {
        let mut held = hold(floor);
        loop {
            if held.error.is_some() || self.drain.load(Ordering::Relaxed) {
                return None;
            }
            let run = &held.open.front()?.run;
            if !run.competes {
                return held.open.pop_front().map(|open| (open, None));
            }
            let vcpus = run.vcpus;
            match held.leases.lease(vcpus, self.edition.machine.memory_mib, self.policy) {
                Ok(Some(lease)) => return held.open.pop_front().map(|open| (open, Some(lease))),
                Ok(None) => held = released.wait(held).unwrap_or_else(|poisoned| poisoned.into_inner()),
                Err(error) => held.error = Some(error.into()),
            }
        }
    }

    /// Attempts a run until it is recorded, within its budget of retries.
    fn record_run(
        &self,
        open: OpenRun,
        mut lease: Option<Lease>,
        housekeeping: &[u32],
        floor: &Mutex<Floor>,
        released: &Condvar,
        show: &(dyn Fn(Progress) + Sync),
    ) -> Result<(), ExecutorError> {
        let run = &open.run;
        let result = loop {
            let done = self.attempt(run, lease.take(), housekeeping, floor, released, show);
            let (attempt, standing) = match done {
                Ok(done) => done,
                Err(error) => break Err(error),
            };
            show(Progress::Committed { run, attempt: &attempt, standing });
            let mut held = hold(floor);
            match &attempt.outcome {
                Outcome::Infrastructure { state, reason } => {
                    held.trouble += 1;
                    if held.trouble >= TROUBLE_IN_A_ROW {
                        let reason = format!("{state}: {reason}");
                        break Err(ExecutorError::Trouble { run: run.id(), reason });
                    }
                }
                _ => held.trouble = 0,
            }
            if standing == Standing::Recorded || self.drain.load(Ordering::Relaxed) {
                break Ok(());
            }
            // The next attempt leases anew: whoever waited longer goes first.
            lease = loop {
                match held.leases.lease(run.vcpus, self.edition.machine.memory_mib, self.policy)? {
                    Some(lease) => break Some(lease),
                    None => held = released.wait(held).unwrap_or_else(|poisoned| poisoned.into_inner()),
                }
            };
        };
        result
    }

    fn attempt(
        &self,
        run: &Run,
        lease: Option<Lease>,
        housekeeping: &[u32],
        floor: &Mutex<Floor>,
        released: &Condvar,
        show: &(dyn Fn(Progress) + Sync),
    ) -> Result<(Attempt, Standing), ExecutorError> {
        let dir = self.record.begin_attempt(&run.id())?;
        let started_at = jiff::Timestamp::now().to_string();
        let (ended, machine, marks) = match lease {
            None => {
                let ended = Ended { outcome: Outcome::NotCompeting, facts: None, marks: vec![] };
                (ended, vec![], vec![])
            }
            Some(lease) => {
                let spec = self.machine(run, &lease, housekeeping);
                let number = dir.number();
                let ended = self.examine(run, &spec, &dir, &mut |state| {
                    show(Progress::Entered { run, attempt: number, state });
                });
                let marks = hold(floor).leases.release(lease);
                released.notify_all();
                (ended?, argv(&spec, &Wiring::placeholder()), marks)
            }
        };
        let degraded = if machine.is_empty() { vec![] } else { self.accelerator.marks() };
        let attempt = Attempt {
            run: run.id(),
            number: dir.number(),
            outcome: ended.outcome,
            marks: [degraded, marks, ended.marks].concat(),
            started_at,
            host: self.host.clone(),
            disks: self.digests(run, machine.is_empty()),
            machine,
            facts: ended.facts,
            outputs: vec![],
        };
        let standing = self.record.commit(attempt.clone(), dir)?;
        Ok((attempt, standing))
    }

    fn machine(&self, run: &Run, lease: &Lease, housekeeping: &[u32]) -> MachineSpec {
        let disks = &self.disks[&run.entry];
        MachineSpec {
            accelerator: self.accelerator,
            cpu_model: self.edition.machine.cpu_model.clone(),
            memory_mib: self.edition.machine.memory_mib,
            vcpus: run.vcpus,
            kernel: disks.kernel.clone(),
            initrd: disks.initrd.clone(),
            disk: disks.disk.clone(),
            read_only_disks: vec![self.inputs.clone()],
            pin_to: lease.cpus.clone(),
            rest_on: housekeeping.to_vec(),
        }
    }

    fn examine(
        &self,
        run: &Run,
        machine: &MachineSpec,
        dir: &AttemptDir,
        enter: &mut dyn FnMut(State),
    ) -> Result<Ended, ExecutorError> {
        let limits = &self.edition.limits;
        let invocation = Invocation {
            tool: &run.entry,
            instance: &run.instance,
            examination: &run.examination,
            confinement_s: limits.confinement_s,
            memory_mib: self.edition.machine.memory_mib,
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let job = invocation.job(random_hex(16)?, now.as_nanos() as u64, random_hex(32)?);
        Ok(attempt(
            Attempted {
                machine,
                job,
                budget: Budget::new(limits, run.vcpus),
                output_cap: limits.output_bytes,
                patience: Patience {
                    boot: self.boot_deadline,
                    prepare: self.boot_deadline,
                    collect: self.boot_deadline,
                },
                folder: &dir.outputs(),
            },
            enter,
        ))
    }

    fn digests(&self, run: &Run, no_machine: bool) -> Vec<Disk> {
        match self.disks.get(&run.entry) {
            Some(disks) if !no_machine => {
                disks.digests.iter().chain([&self.inputs_digest]).cloned().collect()
            }
            _ => vec![],
        }
    }
}

fn hold(floor: &Mutex<Floor>) -> MutexGuard<'_, Floor> {
    floor.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn random_hex(bytes: usize) -> Result<String, ExecutorError> {
    let mut buffer = vec![0; bytes];
    let mut urandom = fs::File::open("/dev/urandom").map_err(ExecutorError::Random)?;
    io::Read::read_exact(&mut urandom, &mut buffer).map_err(ExecutorError::Random)?;
    Ok(buffer.iter().map(|byte| format!("{byte:02x}")).collect())
}
