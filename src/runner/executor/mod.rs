//! Executes runs. `attempt` makes one attempt at a run, as a state machine. `Executor` makes attempts at the open runs of
//! a record, as many at once as cores, memory and `jobs` allow.

mod attempt;
mod canary;
mod counts;
pub mod disturbance;
mod end_of_run;
mod error;
mod evidence_files;
mod free_disk;
mod host_watch;
mod instance_disk;
mod limits;
mod metered;
mod queue;
mod usage;

pub use attempt::{AttemptResult, AttemptSpec, State, attempt};
pub use error::ExecutorError;
pub use free_disk::FreeDisk;
pub use limits::{Budget, LimitCheck};

use super::RunSettings;
use canary::Streaks;
use counts::{GRACE, counts};
use error::MAX_CONSECUTIVE_FAILURES;
use mcc_base::names::EntryName;
use mcc_base::{Mark, clock, random};
use mcc_campaign::benchkit::Invocation;
use mcc_campaign::{
    Canaries, DETERMINISTIC_SETTING, EVIDENCE_SETTING, FIXED_HASH_SEEDS, INSTRUCTIONS_SETTING, Run,
    short_edition,
};
use mcc_edition::Edition;
use mcc_store::{Attempt, AttemptDir, Disk, Environment, Hold, Outcome, RunFacts, RunState};
use mcc_vm::host::{Lease, Leases, Policy};
use mcc_vm::{Guest, MachineSpec, SavedError, SavedStates, Start};
use queue::QueuedRun;
use std::any::Any;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The beginning of the reason of a repetition that no organizer decided.
const REPEATED: &str = "disturbed: ";

/// A function that returns the free bytes of the file system of a folder.
pub type FreeBytesFn<'a> = dyn Fn(&Path) -> io::Result<u64> + Sync + 'a;

/// A function that makes an attempt. It calls its second argument with each state that it enters.
pub type AttemptFn<'a> = dyn Fn(AttemptSpec, &mut dyn FnMut(State)) -> AttemptResult + Sync + 'a;

/// Executes the runs of a campaign on this host.
pub struct Executor<'a> {
    /// What the runs share.
    pub settings: RunSettings<'a>,
    /// The saved states from which machines start; None: machines boot.
    pub states: Option<SavedStates>,
    /// The disk limits, as `Executor::free_disk` reads them; of simulated machines empty.
    pub free_disk: FreeDisk,
    /// The edition with the limits of canaries.
    canary_edition: Edition,
}

/// An event of a running campaign.
#[derive(Clone, Debug)]
pub enum Progress<'a> {
    /// A run is queued. All runs are queued before the first `Entered`.
    Queued {
        /// The run.
        run: &'a Run,
    },
    /// An attempt entered a state.
    Entered {
        /// The run.
        run: &'a Run,
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The new state.
        state: State,
    },
    /// An attempt was committed.
    Committed {
        /// The run.
        run: &'a Run,
        /// The attempt.
        attempt: &'a Attempt,
        /// Whether the run is now recorded or still open.
        run_state: RunState,
    },
    /// The open runs of an entry are not started until an organizer decides.
    Held {
        /// The entry, and why.
        hold: &'a Hold,
    },
}

/// The shared state of the worker threads of one `Executor::run`.
struct Scheduler<'a> {
    executor: &'a Executor<'a>,
    show: &'a (dyn Fn(Progress) + Sync),
    /// CPUs for the threads of QEMU that are not vCPUs.
    housekeeping: Vec<u32>,
    /// Whether the runs are canaries.
    canary: bool,
    shared: Mutex<SchedulerState>,
    /// Notified when a lease is released, and when no run is to be started any more.
    changed: Condvar,
}

struct SchedulerState {
    open: VecDeque<QueuedRun>,
    leases: Leases,
    /// The leases that are held.
    running: usize,
    /// Number of consecutive infrastructure failures.
    consecutive_failures: u32,
    /// The entries whose guests lacked CPU flags.
    without_flags: BTreeSet<EntryName>,
    /// The entries that are held or released.
    holds: Vec<Hold>,
    streaks: Streaks,
    /// Bytes of the files that the attempts of each entry left in the record.
    kept_bytes: BTreeMap<EntryName, u64>,
    error: Option<ExecutorError>,
}

impl<'a> Executor<'a> {
    /// The executor of a record. Without `free_disk`, machines have no disk limit.
    pub fn new(settings: RunSettings<'a>) -> Self {
        let states = settings.restore.then(|| SavedStates::new(settings.record.dir().join("running")));
        let canary_edition = short_edition(settings.edition);
        Self { settings, states, free_disk: FreeDisk::default(), canary_edition }
    }

    /// The largest number of runs at once. Without disk space for one, it is one, and `run` refuses.
    pub fn jobs(&self, leases: &Leases) -> usize {
        let RunSettings { record, edition, jobs, .. } = &self.settings;
        let vcpus = record.facts().entries.iter().map(|entry| entry.kind.cores(&edition.machine));
        let memory_mib = edition.machine.memory_mib;
        let capacity = || leases.capacity(vcpus.max().unwrap_or(1), memory_mib).max(1) as usize;
        jobs.unwrap_or_else(capacity).min(self.free_disk.machines().max(1))
    }

    /// Executes the open runs for which `wanted` is true, longest expected first. Returns when none is open, or after a
    /// stop request or an error when the running attempts have ended. `show` is called with every event, by several threads.
    ///
    /// # Errors
    /// The first error that prevents runs from being recorded.
    pub fn run(
        &self,
        mut leases: Leases,
        wanted: &dyn Fn(&Run) -> bool,
        show: &(dyn Fn(Progress) + Sync),
    ) -> Result<(), ExecutorError> {
        let RunSettings { record, host, .. } = &self.settings;
        let open = record.open_runs();
        let open = open.filter(|open| open.as_ref().map_or(true, |open| wanted(&open.run)));
        let mut canaries = Canaries::new(self.settings.edition, &self.settings.history);
        let open = open.inspect(|open| {
            if let Ok(open) = open {
                show(Progress::Queued { run: &open.run });
                canaries.consider(open.position, &open.run);
            }
        });
        let open = queue::order(open, &self.settings.history)?;
        let canaries = self.canaries(canaries, &open)?;
        // A lease that is not possible is an error before the first run starts.
        let sizes: BTreeSet<u32> = open.iter().filter(|run| run.competes).map(|run| run.vcpus).collect();
        for vcpus in sizes {
            if let Some(lease) = leases.lease(vcpus, self.settings.edition.machine.memory_mib, host.policy)? {
                leases.release(lease);
            }
        }
        let jobs = self.jobs(&leases).min(open.len());
        let shared = SchedulerState {
            open: canaries,
            leases,
            running: 0,
            consecutive_failures: 0,
            without_flags: BTreeSet::new(),
            holds: record.holds()?,
            streaks: Streaks::default(),
            kept_bytes: record.kept_bytes()?,
            error: None,
        };
        let mut scheduler = Scheduler {
            executor: self,
            show,
            housekeeping: shared.leases.housekeeping().to_vec(),
            canary: true,
            shared: Mutex::new(shared),
            changed: Condvar::new(),
        };
        // A run may be its own canary, so all canaries end before the first run begins.
        scheduler.run(jobs);
        scheduler.canary = false;
        scheduler.shared().open = open;
        scheduler.run(jobs);
        let shared = scheduler.shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        shared.error.map_or(Ok(()), Err)
    }
}

impl Scheduler<'_> {
    fn shared(&self) -> MutexGuard<'_, SchedulerState> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Executes the open runs, `jobs` at once.
    fn run(&self, jobs: usize) {
        let jobs = jobs.min(self.shared().open.len());
        thread::scope(|scope| {
            for _ in 0..jobs {
                scope.spawn(|| self.worker());
            }
        });
    }

    /// Executes open runs until there is none.
    fn worker(&self) {
        while let Some((open, lease)) = self.next() {
            let run = self.executor.settings.record.run_at(open.position).map_err(ExecutorError::from);
            let ended = run.and_then(|run| {
                if self.is_held(&run.entry) {
                    lease.into_iter().for_each(|lease| drop(self.release(lease)));
                    Ok(())
                } else {
                    self.run_until_recorded(&run, lease)
                }
            });
            if let Err(error) = ended {
                self.shared().error.get_or_insert(error);
                self.changed.notify_all();
            }
        }
    }

    /// Waits until a lease is released here, at most one second, to check the leases of other controllers again.
    fn wait<'f>(&self, shared: MutexGuard<'f, SchedulerState>) -> MutexGuard<'f, SchedulerState> {
        let waited = self.changed.wait_timeout(shared, Duration::from_secs(1));
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Returns the next open run with its lease, for which it waits. None: no run is to be started any more.
    fn next(&self) -> Option<(QueuedRun, Option<Lease>)> {
        let mut shared = self.shared();
        loop {
            if shared.error.is_some() || self.executor.settings.stop.load(Ordering::Relaxed) {
                return None;
            }
            let (competes, vcpus) = shared.open.front().map(|open| (open.competes, open.vcpus))?;
            let lease = if competes {
                match self.lease(&mut shared, vcpus) {
                    Ok(lease) => lease.map(Some),
                    Err(error) => {
                        shared.error = Some(error);
                        continue;
                    }
                }
            } else {
                Some(None)
            };
            match lease {
                Some(lease) => return shared.open.pop_front().map(|open| (open, lease)),
                None => shared = self.wait(shared),
            }
        }
    }

    fn lease(&self, shared: &mut SchedulerState, vcpus: u32) -> Result<Option<Lease>, ExecutorError> {
        if !self.executor.has_space(shared.running)? {
            return Ok(None);
        }
        let (memory_mib, policy) =
            (self.executor.settings.edition.machine.memory_mib, self.executor.settings.host.policy);
        let lease = shared.leases.lease(vcpus, memory_mib, policy)?;
        shared.running += usize::from(lease.is_some());
        Ok(lease)
    }

    /// Returns the number of machines on the socket, and marks.
    fn release(&self, lease: Lease) -> (Option<u32>, Vec<Mark>) {
        let mut shared = self.shared();
        let machines = shared.leases.machines_on_socket(&lease);
        let marks = shared.leases.release(lease);
        shared.running -= 1;
        drop(shared);
        self.changed.notify_all();
        (machines, marks)
    }

    /// Makes attempts at a run until it is recorded.
    fn run_until_recorded(&self, run: &Run, mut lease: Option<Lease>) -> Result<(), ExecutorError> {
        for made in 1.. {
            let is_last = made > self.executor.settings.record.facts().retries;
            let Some((attempt, run_state)) = self.attempt(run, lease.take(), is_last)? else {
                return Ok(());
            };
            (self.show)(Progress::Committed { run, attempt: &attempt, run_state });
            let mut shared = self.shared();
            match &attempt.outcome {
                Outcome::Infrastructure { .. }
                    if self.executor.settings.host.policy == Policy::Contest
                        && !self.executor.is_original(&run.entry)
                        && !attempt.environment.cpu_flags_missing.is_empty() =>
                {
                    // All guests of this host have the same flags. One alone may be a guest of an author that states others.
                    shared.without_flags.insert(run.entry.clone());
                    if shared.without_flags.len() > 1
                        || self.executor.settings.record.facts().entries.len() == 1
                    {
                        return Err(ExecutorError::CpuFlags {
                            missing: attempt.environment.cpu_flags_missing.join(" "),
                        });
                    }
                }
                // The tool may have caused it, and must not end the campaign.
                Outcome::Infrastructure { .. } if may_be_by_tool(&attempt) => {}
                Outcome::Infrastructure { state, reason } => {
                    shared.consecutive_failures += 1;
                    if shared.consecutive_failures >= MAX_CONSECUTIVE_FAILURES {
                        let reason = format!("{state}: {reason}");
                        return Err(ExecutorError::ConsecutiveFailures { run: run.id(), reason });
                    }
                }
                _ => shared.consecutive_failures = 0,
            }
            let is_done = if self.canary {
                is_last || !attempt.outcome.is_infrastructure()
            } else {
                run_state == RunState::Recorded
            };
            if is_done || self.executor.settings.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            lease = loop {
                match self.lease(&mut shared, run.vcpus)? {
                    Some(lease) => break Some(lease),
                    None if self.executor.settings.stop.load(Ordering::Relaxed) => return Ok(()),
                    None => shared = self.wait(shared),
                }
            };
        }
        Ok(())
    }

    /// Whether there is a stop request, now or within `grace`.
    fn stops_within(&self, grace: Duration) -> bool {
        let deadline = Instant::now() + grace;
        loop {
            if self.executor.settings.stop.load(Ordering::Relaxed) {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Makes and commits one attempt. None: it does not count. Without a lease there is no machine, because the entry
    /// does not compete. `is_last`: no other attempt follows if this canary fails.
    fn attempt(
        &self,
        run: &Run,
        lease: Option<Lease>,
        is_last: bool,
    ) -> Result<Option<(Attempt, RunState)>, ExecutorError> {
        let executor = self.executor;
        let RunSettings { record, host, disks, marks, .. } = &executor.settings;
        let dir = record.begin_attempt(&run.id())?;
        let mut attempt = Attempt {
            run: run.id(),
            number: dir.number(),
            outcome: Outcome::NotCompeting,
            marks: vec![],
            started_at: clock::now_text(),
            host: host.facts(),
            disks: vec![],
            machine: vec![],
            environment: Environment::default(),
            facts: None,
            outputs: vec![],
        };
        if let Some(lease) = lease {
            let mut spec = MachineSpec {
                vcpu_cpus: lease.cpus.clone(),
                housekeeping_cpus: self.housekeeping.clone(),
                ..executor.machine(&run.entry, run.vcpus, executor.free_disk.limits.get(&run.entry).copied())
            };
            let mut entered = State::Preparing;
            let enter = &mut |state| {
                entered = state;
                (self.show)(Progress::Entered { run, attempt: dir.number(), state });
            };
            let machines_before = self.shared().leases.machines_on_socket(&lease);
            attempt.disks = disks.digests_of(&run.entry);
            let make = || {
                executor.check_disks()?;
                let prepared =
                    executor.use_instance_disk(&mut spec, (run.instance.as_str(), &dir), &mut attempt.disks);
                match prepared.and_then(|()| executor.use_saved_state(&mut spec, &attempt.disks)) {
                    Ok(()) => executor.examine(run, &spec, &dir, self.canary, enter),
                    Err(ended) => Ok(*ended),
                }
            };
            // A panic ends this attempt as an infrastructure failure, not the campaign.
            let ended = catch_unwind(AssertUnwindSafe(make)).unwrap_or_else(|panic| {
                let reason = format!("the controller panicked: {}", message_of(&*panic));
                let state = entered.to_string();
                Ok(AttemptResult::without_machine(Outcome::Infrastructure { state, reason }))
            });
            let (machines_after, leased) = self.release(lease);
            let ended = ended?;
            // If a disk changed during the attempt, it is unknown what the tool read.
            executor.check_disks()?;
            let full = ended.full_disk || !has_free_space(dir.path());
            if let (true, Outcome::Infrastructure { reason, .. }) = (full, &ended.outcome) {
                return Err(ExecutorError::DiskFull { run: run.id(), reason: reason.clone() });
            }
            let stopping = ended.by_signal && self.stops_within(GRACE);
            if !counts(&ended.outcome, ended.by_signal, stopping) {
                return Ok(None);
            }
            attempt.outcome = ended.outcome;
            attempt.facts = ended.facts;
            attempt.environment = ended.environment;
            if let Some(state) = &mut attempt.environment.host_state {
                state.machines_on_socket =
                    machines_before.zip(machines_after).map(|(before, after)| [before, after]);
            }
            attempt.marks =
                [marks.clone(), host.marks.clone(), host.accelerator.marks(), leased, ended.marks].concat();
            attempt.machine = spec.description();
        }
        self.watch_kept_bytes(run, &dir)?;
        let superseded_for = if self.canary {
            Some(self.canary_result(run, &attempt, &dir, is_last)?)
        } else {
            self.watch_block(run, &attempt, &dir)?;
            executor.repeat_reason(&attempt)?
        };
        let run_state = match superseded_for {
            Some(reason) => record.commit_superseded(attempt.clone(), dir, &reason)?,
            None => record.commit(attempt.clone(), dir)?,
        };
        Ok(Some((attempt, run_state)))
    }
}

impl Executor<'_> {
    /// The machine of a run of `entry`, without cores.
    fn machine(&self, entry: &EntryName, vcpus: u32, disk_limit: Option<u64>) -> MachineSpec {
        let RunSettings { record, edition, host, disks, .. } = &self.settings;
        let own = &disks.entries[entry];
        MachineSpec {
            backend: host.backend,
            accelerator: host.accelerator,
            cpu_model: edition.machine.cpu_model.clone(),
            memory_mib: edition.machine.memory_mib,
            vcpus,
            guest: own.guest.clone(),
            disk: own.disk.clone(),
            held_files: disks.held_files.clone(),
            read_only_disks: vec![own.inputs.as_ref().map_or(&disks.inputs, |(disk, _)| disk).clone()],
            start: Start::Boot,
            vcpu_cpus: vec![],
            housekeeping_cpus: vec![],
            disk_limit,
            count_instructions: edition.limits.instructions.is_some()
                || record.facts().settings.contains_key(INSTRUCTIONS_SETTING),
            limit_instructions: edition.limits.instructions.is_some(),
            fixed_addresses: record.facts().settings.contains_key(DETERMINISTIC_SETTING),
        }
    }

    /// Whether an entry has an original disk, which reports its CPU flags itself.
    fn is_original(&self, entry: &EntryName) -> bool {
        matches!(self.settings.disks.entries[entry].guest, Guest::Ssh(_))
    }

    fn check_disks(&self) -> Result<(), ExecutorError> {
        let changed = |(path, what)| ExecutorError::DiskChanged { path, what };
        self.settings.disks.held_files.check_unchanged().map_err(changed)
    }

    /// Sets the machine to start from a saved state, if the campaign restores states.
    fn use_saved_state(&self, machine: &mut MachineSpec, disks: &[Disk]) -> Result<(), Box<AttemptResult>> {
        let Some(states) = &self.states else { return Ok(()) };
        let digests = disks.iter().map(|disk| format!("{} {}\n", disk.role, disk.sha256)).collect::<String>();
        let content_key = format!("{digests}{}", self.settings.host.qemu.version);
        let saved = states.get_or_boot(machine, &content_key, self.settings.hosts.boot_deadline).map_err(
            |error| {
                let by_signal = matches!(&error, SavedError::Machine(error) if error.is_by_signal());
                Box::new(AttemptResult { by_signal, ..not_prepared(&error) })
            },
        )?;
        machine.start = Start::Restore(saved);
        Ok(())
    }

    fn examine(
        &self,
        run: &Run,
        machine: &MachineSpec,
        dir: &AttemptDir,
        canary: bool,
        enter: &mut dyn FnMut(State),
    ) -> Result<AttemptResult, ExecutorError> {
        let RunSettings { record, hosts, host, run_attempt, .. } = &self.settings;
        let edition = if canary { &self.canary_edition } else { self.settings.edition };
        let limits = &edition.limits;
        let is_original = self.is_original(&run.entry);
        let earlier = self.attempts_before_last(run, dir.number())?;
        let invocation = Invocation {
            tool: &run.entry,
            instance: &run.instance,
            examination: &run.examination,
            confinement_s: limits.confinement_s,
            memory_mib: edition.machine.memory_mib,
            memory_reserve_mib: limits.memory_reserve_mib,
            original: is_original,
            keeps_evidence: record.facts().settings.contains_key(EVIDENCE_SETTING),
        };
        let mut job = invocation.job(random::hex_digits(16)?, clock::now_ns(), random::hex_digits(32)?);
        if machine.fixed_addresses {
            job.env.extend(FIXED_HASH_SEEDS.map(|(name, value)| (name.to_owned(), value.to_owned())));
        }
        let attempt_spec = AttemptSpec {
            machine,
            edition,
            hosts,
            policy: host.policy,
            job,
            crash_is_by_tool: !earlier.is_empty() && earlier.iter().all(may_be_by_tool),
            folder: &dir.outputs(),
        };
        let mut ended = run_attempt(attempt_spec, enter);
        // An original disk can let its boots fail before or after such an attempt, in which the tool had the name of the
        // instance.
        if is_original
            && !earlier.is_empty()
            && (is_suspicious(&ended.marks) || earlier.iter().any(may_be_by_tool))
            && (!ended.by_signal || is_suspicious(&ended.marks))
            && !ended.full_disk
            && let Outcome::Infrastructure { reason, .. } = &ended.outcome
        {
            let guest_end = Some(reason.clone());
            ended.facts = Some(RunFacts { vcpus: run.vcpus, guest_end, ..RunFacts::default() });
            ended.outcome = Outcome::ToolCrash { signal: 9 };
        }
        Ok(ended)
    }

    /// Why a run is repeated after this attempt: it was disturbed by something that its guest cannot cause, and the
    /// repetitions of the campaign are not used up. None: whatever the attempt gives is judged.
    fn repeat_reason(&self, attempt: &Attempt) -> Result<Option<String>, ExecutorError> {
        let thresholds = &self.settings.hosts.disturbed;
        let repeats = thresholds.repeats;
        let state = attempt.environment.host_state.as_ref();
        let load = state.and_then(|state| state.load.as_ref()).filter(|_| repeats > 0);
        let reasons =
            load.map_or(vec![], |load| disturbance::repeat_reasons(load, &attempt.marks, thresholds));
        if attempt.outcome.is_infrastructure() || reasons.is_empty() {
            return Ok(None);
        }
        let reruns = self.settings.record.reruns(&attempt.run)?;
        let repeated = reruns.iter().filter(|rerun| rerun.reason.starts_with(REPEATED)).count();
        Ok((repeated < repeats as usize).then(|| format!("{REPEATED}{}", reasons.join("; "))))
    }

    /// Returns the last attempts before attempt `number`, as many as there are retries, if that one is the last; none without
    /// retries: one crash can have another cause, so it is not the tool's.
    fn attempts_before_last(&self, run: &Run, number: u32) -> Result<Vec<Attempt>, ExecutorError> {
        let retries = self.settings.record.facts().retries;
        if retries == 0 || number <= retries {
            return Ok(vec![]);
        }
        let mut attempts = self.settings.record.attempts(&run.id())?;
        Ok(attempts.split_off(attempts.len().saturating_sub(retries as usize)))
    }
}

/// Whether an infrastructure failure may have been caused by the tool.
fn may_be_by_tool(attempt: &Attempt) -> bool {
    is_suspicious(&attempt.marks)
}

/// Whether an attempt with these marks may have failed by its tool: QEMU failed after the tool's start, or could not use the
/// tool's disk.
fn is_suspicious(marks: &[Mark]) -> bool {
    marks.iter().any(|mark| [Mark::QEMU_CRASH, Mark::DISK_ERROR].contains(mark))
}

/// The result of an attempt whose machine could not be prepared.
fn not_prepared(error: &dyn std::error::Error) -> AttemptResult {
    let (state, reason) = (State::Preparing.to_string(), error.to_string());
    AttemptResult::without_machine(Outcome::Infrastructure { state, reason })
}

/// The message of a panic.
fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

/// Least free space for an attempt: booting writes 400 KB to QEMU's overlay.
const MIN_FREE_BYTES: u64 = 1 << 20;

fn has_free_space(folder: &Path) -> bool {
    mcc_vm::free_bytes_of_folder(folder).is_ok_and(|bytes| bytes >= MIN_FREE_BYTES)
}
