//! One attempt at a run, as a state machine:
//! preparing -> booting -> ready -> examining -> collecting -> halting.

use super::limits::{Budget, Verdict};
use crate::store::{Outcome, RunFacts, Sample};
use crate::vm::guest::{Exit, GuestEvent, Job, Request};
use crate::vm::{Event, Machine, MachineSpec, VmError};
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
pub struct Patience {
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
pub struct Attempted<'a> {
    pub machine: &'a MachineSpec,
    pub job: Job,
    pub budget: Budget,
    /// Bytes kept of stdout, and as many of stderr.
    pub output_cap: u64,
    pub patience: Patience,
    /// Gets `stdout`, `stderr`, `console` and QEMU's log.
    pub folder: &'a Path,
}

/// How it ended, and what was measured where the tool was started.
#[derive(Debug)]
pub struct Ended {
    pub outcome: Outcome,
    pub facts: Option<RunFacts>,
    /// `output-truncated`, `output-incomplete`, `oom-kills`, `left-behind`.
    pub marks: Vec<String>,
    /// The host has no room left for the machine's disks or its output.
    pub full_disk: bool,
}

/// Runs it to its end. Whatever goes wrong with the machine is `Outcome::Infrastructure`, with the state it
/// hit (P2); the machine is gone when this returns.
pub fn attempt(attempted: Attempted, enter: &mut dyn FnMut(State)) -> Ended {
    let mut run = Running { state: State::Preparing, enter, facts: None, marks: vec![] };
    (run.enter)(State::Preparing);
    let mut full_disk = false;
    let outcome = run.examine(attempted).unwrap_or_else(|error| {
        full_disk = error.is_full_disk();
        Outcome::Infrastructure { state: run.state.to_string(), reason: error.to_string() }
    });
    Ended { outcome, facts: run.facts, marks: run.marks, full_disk }
}

struct Running<'a> {
    state: State,
    enter: &'a mut dyn FnMut(State),
    facts: Option<RunFacts>,
    marks: Vec<String>,
}

impl Running<'_> {
    fn enter(&mut self, state: State) {
        self.state = state;
        (self.enter)(state);
    }

    fn mark(&mut self, mark: &str) {
        if !self.marks.iter().any(|known| known == mark) {
            self.marks.push(mark.to_owned());
        }
    }

    fn examine(&mut self, attempted: Attempted) -> Result<Outcome, VmError> {
        let Attempted { machine: spec, job, budget, output_cap, patience, folder } = attempted;
        self.enter(State::Booting);
        let booted = Instant::now();
        let mut machine = Machine::start(spec, folder, output_cap, patience.boot)?;
        let ready = wait_for(&mut machine, booted + patience.boot, "ready")?;
        let GuestEvent::Ready { .. } = ready else { return Err(unexpected(&ready)) };
        let boot = booted.elapsed();

        self.enter(State::Ready);
        machine.send(&Request::Prepare(Box::new(job)))?;
        let prepared = wait_for(&mut machine, Instant::now() + patience.prepare, "prepared")?;
        let GuestEvent::Prepared = prepared else { return Err(unexpected(&prepared)) };
        machine.send(&Request::Start)?;
        let started = wait_for(&mut machine, Instant::now() + patience.prepare, "started")?;
        let GuestEvent::Started = started else { return Err(unexpected(&started)) };

        self.enter(State::Examining);
        let mut meter = Meter::start(&machine);
        let (outcome, memory_kib) = self.watch(&mut machine, &mut meter, budget, patience.stall)?;
        let (wall, cpu) = meter.read(&machine);
        let host_memory_kib = machine.peak_rss_kib();

        self.enter(State::Collecting);
        if matches!(outcome, Outcome::Finished { .. } | Outcome::MemoryLimit | Outcome::ToolCrash { .. }) {
            self.collect(&mut machine, Instant::now() + patience.collect)?;
        }

        self.enter(State::Halting);
        let vcpus = machine.vcpus();
        let (stdout_bytes, stderr_bytes) = machine.halt()?;
        if stdout_bytes > output_cap || stderr_bytes > output_cap {
            self.mark("output-truncated");
        }
        self.facts = Some(RunFacts {
            boot_ms: boot.as_millis() as u64,
            wall_ms: wall.as_millis() as u64,
            cpu_ms: cpu.as_millis() as u64,
            vcpus,
            memory_kib: memory_kib.or_else(|| meter.samples.iter().map(|s| s.memory_kib).max()),
            host_memory_kib,
            stdout_bytes,
            stderr_bytes,
            samples: meter.samples,
        });
        Ok(outcome)
    }

    /// From the tool's start to its end or its limit; with the guest's figure of its peak memory, if it ended.
    fn watch(
        &mut self,
        machine: &mut Machine,
        meter: &mut Meter,
        budget: Budget,
        stall: Duration,
    ) -> Result<(Outcome, Option<u64>), VmError> {
        loop {
            let (wall, cpu) = meter.read(machine);
            let look_again = match budget.look(wall, cpu) {
                Verdict::Over(outcome) => return Ok((outcome, None)),
                Verdict::Within(time) => Instant::now() + time,
            };
            let event = machine.wait(look_again)?;
            // What it did meanwhile, nobody saw: not within its limits, nor over them.
            if machine.stalled() > stall {
                return Err(VmError::Suspended(machine.stalled()));
            }
            match event {
                Event::Deadline | Event::Qemu(_) => {}
                Event::OutputLimit(_) => return Ok((Outcome::OutputLimit, None)),
                Event::Guest(GuestEvent::Sample { memory_kib, .. }) => meter.sample(machine, memory_kib),
                Event::Guest(GuestEvent::Ended { exit, memory_kib, oom_kills, left_behind }) => {
                    if oom_kills > 0 {
                        self.mark("oom-kills");
                    }
                    if left_behind > 0 {
                        self.mark("left-behind");
                    }
                    return Ok((outcome_of(exit, oom_kills), Some(memory_kib)));
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
                Event::Guest(GuestEvent::Drained { stdout_bytes, stderr_bytes }) => {
                    break machine.wait_for_output((stdout_bytes, stderr_bytes), deadline)?;
                }
                Event::Deadline => break false,
                Event::Guest(_) | Event::OutputLimit(_) | Event::Qemu(_) => {}
            }
        };
        if !drained {
            self.mark("output-incomplete");
        }
        Ok(())
    }
}

/// Times since the tool's start, by the host's monotonic clock and the kernel's account of the vCPU threads.
struct Meter {
    started: Instant,
    cpu_before: Duration,
    samples: Vec<Sample>,
}

impl Meter {
    fn start(machine: &Machine) -> Self {
        Self { started: Instant::now(), cpu_before: machine.cpu_time(), samples: vec![] }
    }

    fn read(&self, machine: &Machine) -> (Duration, Duration) {
        (self.started.elapsed(), machine.cpu_time().saturating_sub(self.cpu_before))
    }

    fn sample(&mut self, machine: &Machine, memory_kib: u64) {
        let (wall, cpu) = self.read(machine);
        let (at_ms, cpu_ms) = (wall.as_millis() as u64, cpu.as_millis() as u64);
        self.samples.push(Sample { at_ms, cpu_ms, memory_kib });
    }
}

/// The next event of the guest that is no sample.
fn wait_for(machine: &mut Machine, deadline: Instant, what: &str) -> Result<GuestEvent, VmError> {
    loop {
        match machine.wait(deadline)? {
            Event::Guest(GuestEvent::Sample { .. }) | Event::OutputLimit(_) | Event::Qemu(_) => {}
            Event::Guest(event) => return Ok(event),
            Event::Deadline => return Err(VmError::Agent(format!("was not {what} by its deadline"))),
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

fn outcome_of(exit: Exit, oom_kills: u64) -> Outcome {
    const SIGKILL: i32 = 9;
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
