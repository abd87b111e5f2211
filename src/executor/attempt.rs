//! One attempt at a run, as a state machine:
//! preparing -> booting -> ready -> examining -> collecting -> halting.

use super::limits::{Budget, LimitCheck};
use super::usage::UsageMeter;
use mcc_base::Mark;
use mcc_base::guest::{Exit, GuestEvent, Job, MAX_LEFTOVER_FILES, Request};
use mcc_base::guest_kernel_log;
use mcc_edition::CpuFlags;
use mcc_host::Policy;
use mcc_store::{Environment, Outcome, RunFacts};
use mcc_vm::{Event, Machine, MachineSpec, Start, VmError};
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Preparing,
    Booting,
    Ready,
    Examining,
    Collecting,
    Halting,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Preparing => "preparing",
            Self::Booting => "booting",
            Self::Ready => "ready",
            Self::Examining => "examining",
            Self::Collecting => "collecting",
            Self::Halting => "halting",
        })
    }
}

/// How long the harness waits for what is no tool's business; passing one is infrastructure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From QEMU's start to the guest's readiness.
    pub boot: Duration,
    /// For unpacking the instance.
    pub prepare: Duration,
    /// For the rest of the output after the tool's end.
    pub collect: Duration,
    /// Between two looks at the machine, beyond what was asked: a controller that was stopped for longer.
    pub stall: Duration,
}

/// What an attempt is made of.
pub struct AttemptSpec<'a> {
    pub machine: &'a MachineSpec,
    /// Those the guest must see (E-5.2), and what is done where it does not.
    pub cpu_flags: &'a CpuFlags,
    pub policy: Policy,
    pub job: Job,
    pub budget: Budget,
    /// Bytes kept of stdout, and as many of stderr.
    pub output_cap: u64,
    pub timeouts: Timeouts,
    /// Gets `stdout`, `stderr`, `console` and QEMU's log.
    pub folder: &'a Path,
}

/// How it ended, and what was measured where the tool was started.
#[derive(Debug)]
pub struct AttemptResult {
    pub outcome: Outcome,
    pub facts: Option<RunFacts>,
    pub environment: Environment,
    /// What was seen of the run itself; the host's marks are not among them.
    pub marks: Vec<Mark>,
    /// The host has no room left for the machine's disks or its output.
    pub full_disk: bool,
}

impl AttemptResult {
    /// Trouble before there was a machine.
    pub fn without_machine(outcome: Outcome) -> Self {
        Self { outcome, facts: None, environment: Environment::default(), marks: vec![], full_disk: false }
    }
}

/// Runs it to its end. Whatever goes wrong with the machine is `Outcome::Infrastructure`, with the state it
/// hit (R2); the machine is gone when this returns.
pub fn attempt(attempt_spec: AttemptSpec, enter: &mut dyn FnMut(State)) -> AttemptResult {
    let mut run = AttemptRunner {
        state: State::Preparing,
        enter,
        facts: None,
        environment: Environment::default(),
        marks: vec![],
        written: vec![],
    };
    (run.enter)(State::Preparing);
    let mut full_disk = false;
    let outcome = run.examine(attempt_spec).unwrap_or_else(|error| {
        full_disk = error.is_full_disk();
        Outcome::Infrastructure { state: run.state.to_string(), reason: error.to_string() }
    });
    AttemptResult { outcome, facts: run.facts, environment: run.environment, marks: run.marks, full_disk }
}

struct AttemptRunner<'a> {
    state: State,
    enter: &'a mut dyn FnMut(State),
    facts: Option<RunFacts>,
    environment: Environment,
    marks: Vec<Mark>,
    written: Vec<String>,
}

impl AttemptRunner<'_> {
    fn enter(&mut self, state: State) {
        self.state = state;
        (self.enter)(state);
    }

    fn mark(&mut self, mark: Mark) {
        if !self.marks.contains(&mark) {
            self.marks.push(mark);
        }
    }

    fn examine(&mut self, attempt_spec: AttemptSpec) -> Result<Outcome, VmError> {
        let AttemptSpec { machine: spec, cpu_flags, policy, job, budget, output_cap, timeouts, folder } =
            attempt_spec;
        self.environment.cpus.clone_from(&spec.vcpu_cpus);
        self.enter(State::Booting);
        let booted = Instant::now();
        let mut machine = Machine::start(spec, folder, output_cap, timeouts.boot)?;
        self.environment.confined = machine.isolation().active();
        self.environment.unconfined = machine.isolation().missing();
        if matches!(spec.start, Start::Restore(_)) {
            machine.send(&Request::Ready)?;
            self.mark(Mark::RESTORED);
        }
        let ready = wait_for(&mut machine, booted + timeouts.boot, "ready")?;
        let GuestEvent::Ready { kernel, cpu_flags: seen, .. } = ready else { return Err(unexpected(&ready)) };
        let boot = booted.elapsed();
        self.environment.guest_kernel = kernel;
        self.environment.cpu_flags = seen;
        self.check_flags(cpu_flags, policy)?;

        self.enter(State::Ready);
        machine.send(&Request::Prepare(Box::new(job)))?;
        let prepared = wait_for(&mut machine, Instant::now() + timeouts.prepare, "prepared")?;
        let GuestEvent::Prepared = prepared else { return Err(unexpected(&prepared)) };
        machine.send(&Request::Start)?;
        let started = wait_for(&mut machine, Instant::now() + timeouts.prepare, "started")?;
        let GuestEvent::Started = started else { return Err(unexpected(&started)) };

        self.enter(State::Examining);
        let mut meter = UsageMeter::start(&machine);
        let outcome = self.watch(&mut machine, &mut meter, budget, timeouts.stall)?;
        let (wall, cpu) = meter.read(&machine);
        let host_memory_kib = machine.rss_kib().map(|(_, peak)| peak);

        self.enter(State::Collecting);
        if matches!(outcome, Outcome::Finished { .. } | Outcome::MemoryLimit | Outcome::ToolCrash { .. }) {
            self.collect(&mut machine, Instant::now() + timeouts.collect)?;
        }

        self.enter(State::Halting);
        let vcpus = machine.vcpus();
        let (stdout_bytes, stderr_bytes) = machine.halt()?;
        if stdout_bytes > output_cap || stderr_bytes > output_cap {
            self.mark(Mark::OUTPUT_TRUNCATED);
        }
        let (memory_kib, memory_source) = meter.memory();
        self.facts = Some(RunFacts {
            boot_ms: boot.as_millis() as u64,
            wall_ms: wall.as_millis() as u64,
            cpu_ms: cpu.as_millis() as u64,
            vcpus,
            memory_kib,
            memory_source,
            balloon_memory_kib: meter.balloon(),
            host_memory_kib,
            io_wait_ms: meter.io_wait_ms,
            kernel_log: meter.kernel_log,
            written: std::mem::take(&mut self.written),
            stdout_bytes,
            stderr_bytes,
            samples: meter.samples,
        });
        Ok(outcome)
    }

    /// A tool compiled for the contest's processor may crash on another (E-5.2): not its fault. A guest that does
    /// not say what it sees is not checked.
    fn check_flags(&mut self, required: &CpuFlags, policy: Policy) -> Result<(), VmError> {
        if !self.environment.cpu_flags.is_empty() {
            self.environment.cpu_flags_missing = required.missing(&self.environment.cpu_flags);
        }
        match (self.environment.cpu_flags_missing.is_empty(), policy) {
            (true, _) => Ok(()),
            (false, Policy::Contest) => Err(VmError::CpuFlags(self.environment.cpu_flags_missing.join(" "))),
            (false, Policy::AllowDegraded) => {
                self.mark(Mark::CPU_FLAGS);
                Ok(())
            }
        }
    }

    /// From the tool's start to its end or its limit.
    fn watch(
        &mut self,
        machine: &mut Machine,
        meter: &mut UsageMeter,
        budget: Budget,
        stall: Duration,
    ) -> Result<Outcome, VmError> {
        loop {
            let (wall, cpu) = meter.read(machine);
            let next_check = match budget.check(wall, cpu) {
                LimitCheck::Over(outcome) => return Ok(outcome),
                LimitCheck::Within(time) => Instant::now() + time,
            };
            let next_sample = meter.sample(machine)?;
            let event = machine.wait(next_check.min(next_sample))?;
            // What it did meanwhile, nobody saw: not within its limits, nor over them.
            if machine.stalled() > stall {
                return Err(VmError::Suspended(machine.stalled()));
            }
            match event {
                Event::Deadline | Event::Qemu(_) => {}
                Event::OutputLimit(_) => return Ok(Outcome::OutputLimit),
                Event::Guest(GuestEvent::Sample { memory_kib, io_wait_ms, runnable, .. }) => {
                    meter.record_guest_sample(memory_kib, io_wait_ms, runnable);
                }
                Event::Guest(GuestEvent::Ended {
                    exit,
                    memory_kib,
                    oom_kills,
                    left_behind,
                    io_wait_ms,
                    mut kernel_log,
                }) => {
                    kernel_log.truncate(guest_kernel_log::MAX_LINES);
                    // A guest may have no cgroups, or its log may have lost what its cgroups know.
                    let oom_kills = oom_kills.max(guest_kernel_log::memory_kills(&kernel_log));
                    meter.record_guest_end(memory_kib, io_wait_ms, kernel_log);
                    if oom_kills > 0 {
                        self.mark(Mark::OOM_KILLS);
                    }
                    if left_behind > 0 {
                        self.mark(Mark::LEFT_BEHIND);
                    }
                    return Ok(outcome_of(exit, oom_kills));
                }
                Event::Guest(GuestEvent::SessionLost) => {
                    self.mark(Mark::CONNECTION_LOST);
                    return Ok(Outcome::ToolCrash { signal: SIGKILL });
                }
                Event::Guest(other) => return Err(unexpected(&other)),
            }
        }
    }

    /// The tool is over: takes what is still under way of its output. A guest that does not deliver it
    /// only harms its own tool.
    fn collect(&mut self, machine: &mut Machine, deadline: Instant) -> Result<(), VmError> {
        let drained = loop {
            match machine.wait(deadline)? {
                Event::Guest(GuestEvent::OutputComplete { stdout_bytes, stderr_bytes, mut written }) => {
                    written.truncate(MAX_LEFTOVER_FILES);
                    self.written = written;
                    break machine.wait_for_output((stdout_bytes, stderr_bytes), deadline)?;
                }
                Event::Deadline => break false,
                Event::Guest(_) | Event::OutputLimit(_) | Event::Qemu(_) => {}
            }
        };
        if !drained {
            self.mark(Mark::OUTPUT_INCOMPLETE);
        }
        Ok(())
    }
}

/// The next event of the guest that is no sample.
fn wait_for(machine: &mut Machine, deadline: Instant, what: &str) -> Result<GuestEvent, VmError> {
    loop {
        match machine.wait(deadline)? {
            Event::Guest(GuestEvent::Sample { .. }) | Event::OutputLimit(_) | Event::Qemu(_) => {}
            Event::Guest(event) => return Ok(event),
            Event::Deadline => return Err(machine.timeout_error(what)),
        }
    }
}

fn unexpected(event: &GuestEvent) -> VmError {
    match event {
        GuestEvent::Failed { reason } => VmError::Agent(reason.clone()),
        other => VmError::Agent(format!("said {other:?} out of turn")),
    }
}

/// Bash reports a program that died of a signal as 128 + its number; head scripts pass that on.
const BASH_SIGNAL: i32 = 128;

const SIGKILL: i32 = 9;

fn outcome_of(exit: Exit, oom_kills: u64) -> Outcome {
    let signal = match exit {
        Exit::Signal(signal) => Some(signal),
        // Only what a program cannot well mean by itself: SIGILL, TRAP, ABRT, BUS, FPE, KILL, SEGV, SYS.
        Exit::Code(code) if [4, 5, 6, 7, 8, 9, 11, 31].contains(&(code - BASH_SIGNAL)) => {
            Some(code - BASH_SIGNAL)
        }
        Exit::Code(_) => None,
    };
    match (signal, exit) {
        (Some(SIGKILL), _) if oom_kills > 0 => Outcome::MemoryLimit,
        (Some(signal), _) | (None, Exit::Signal(signal)) => Outcome::ToolCrash { signal },
        (None, Exit::Code(code)) if code != 0 && oom_kills > 0 => Outcome::MemoryLimit,
        (None, Exit::Code(exit_code)) => Outcome::Finished { exit_code },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_tool_is_told_apart() {
        for (exit, oom_kills, outcome) in [
            (Exit::Code(0), 0, Outcome::Finished { exit_code: 0 }),
            (Exit::Code(1), 0, Outcome::Finished { exit_code: 1 }),
            (Exit::Code(139), 0, Outcome::ToolCrash { signal: 11 }),
            (Exit::Signal(6), 0, Outcome::ToolCrash { signal: 6 }),
            (Exit::Code(137), 1, Outcome::MemoryLimit),
            (Exit::Signal(9), 1, Outcome::MemoryLimit),
            (Exit::Code(1), 1, Outcome::MemoryLimit),
            // A portfolio that lost a child to the memory and went on.
            (Exit::Code(0), 1, Outcome::Finished { exit_code: 0 }),
            (Exit::Code(200), 0, Outcome::Finished { exit_code: 200 }),
        ] {
            assert_eq!(outcome_of(exit, oom_kills), outcome, "{exit:?} {oom_kills}");
        }
    }
}
