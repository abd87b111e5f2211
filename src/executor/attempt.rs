//! One attempt at a run, as a state machine:
//! preparing -> booting -> ready -> examining -> collecting -> halting.

use super::limits::{Budget, Enforced, LimitCheck};
use super::usage::UsageMeter;
use mcc_base::Mark;
use mcc_base::guest::{Exit, GuestEvent, Job, MAX_LEFTOVER_FILES, Request};
use mcc_base::guest_kernel_log;
use mcc_edition::CpuFlags;
use mcc_host::Policy;
use mcc_store::{Environment, Outcome, RunFacts};
use mcc_vm::{Event, Guest, Machine, MachineSpec, Start, VmError};
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
    /// For unpacking the instance, and for starting the tool.
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
    /// A signal that the controller did not send ended the machine.
    pub by_signal: bool,
}

impl AttemptResult {
    /// Trouble before there was a machine.
    pub fn without_machine(outcome: Outcome) -> Self {
        Self {
            outcome,
            facts: None,
            environment: Environment::default(),
            marks: vec![],
            full_disk: false,
            by_signal: false,
        }
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
    let (mut full_disk, mut by_signal) = (false, false);
    let outcome = run.examine(attempt_spec).unwrap_or_else(|error| {
        (full_disk, by_signal) = (error.is_full_disk(), error.is_by_signal());
        Outcome::Infrastructure { state: run.state.to_string(), reason: error.to_string() }
    });
    AttemptResult {
        outcome,
        facts: run.facts,
        environment: run.environment,
        marks: run.marks,
        full_disk,
        by_signal,
    }
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
        let mut tool = Metered {
            // Before the disk gets the name of the instance.
            meter: UsageMeter::start(&mut machine)?,
            machine,
            stall: timeouts.stall,
            // What prepares and collects over ssh are programs of the tool's own disk: the limits hold for them too.
            limits: matches!(spec.guest, Guest::Ssh(_)).then_some(budget),
        };
        let mut phases = Phases::default();
        let outcome = self.phases(&mut tool, &mut phases, job, budget, timeouts)?;
        let (wall, cpu) = phases.figures;
        let (prepare_cpu, collect_cpu) = (phases.prepare_cpu, phases.collect_cpu);
        for (used, mark) in
            [(prepare_cpu, Mark::CPU_WHILE_PREPARING), (collect_cpu, Mark::CPU_WHILE_COLLECTING)]
        {
            if used > UNMARKED_CPU {
                self.mark(mark);
            }
        }
        let Metered { mut machine, meter, .. } = tool;
        let host_memory_kib = machine.rss_kib().map(|(_, peak)| peak);
        if matches!(outcome, Outcome::CpuLimit | Outcome::WallLimit) {
            machine.stop();
            let delay = meter.within_until.elapsed();
            match Enforced::new(delay, timeouts.stall) {
                Enforced::InTime => {}
                Enforced::Late => self.mark(Mark::LATE_LIMIT),
                Enforced::Unwatched => return Err(VmError::Suspended(delay)),
            }
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
            prepare_cpu_ms: prepare_cpu.as_millis() as u64,
            collect_cpu_ms: collect_cpu.as_millis() as u64,
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

    /// From the name of the instance to the end of the tool's output.
    fn phases(
        &mut self,
        tool: &mut Metered,
        phases: &mut Phases,
        job: Job,
        budget: Budget,
        timeouts: Timeouts,
    ) -> Result<Outcome, VmError> {
        let over_ssh = tool.limits.is_some();
        for (request, what) in [(Request::Prepare(Box::new(job)), "prepared"), (Request::Start, "started")] {
            tool.machine.send(&request)?;
            let deadline = Instant::now() + timeouts.prepare;
            let event = loop {
                match tool.next(deadline)? {
                    Step::Over(outcome) => {
                        phases.figures = tool.read()?;
                        phases.prepare_cpu = phases.figures.1;
                        return Ok(outcome);
                    }
                    Step::Deadline => return Err(tool.machine.timeout_error(what)),
                    Step::OutputLimit => {}
                    Step::Guest(event) => break event,
                }
            };
            match (&request, &event) {
                (Request::Prepare(_), GuestEvent::Prepared) | (Request::Start, GuestEvent::Started) => {}
                _ => return Err(unexpected(&event)),
            }
        }
        phases.prepare_cpu = tool.read()?.1;

        self.enter(State::Examining);
        if !over_ssh {
            tool.meter = UsageMeter::start(&mut tool.machine)?;
            tool.limits = Some(budget);
        }
        let outcome = self.watch(tool)?;
        phases.figures = tool.read()?;
        if !matches!(outcome, Outcome::Finished { .. } | Outcome::MemoryLimit | Outcome::ToolCrash { .. }) {
            return Ok(outcome);
        }

        self.enter(State::Collecting);
        if !over_ssh {
            tool.limits = None;
        }
        let over = self.collect(tool, Instant::now() + timeouts.collect)?;
        let collected = tool.read()?;
        phases.collect_cpu = collected.1.saturating_sub(phases.figures.1);
        if over_ssh {
            phases.figures = collected;
        }
        Ok(over.unwrap_or(outcome))
    }

    /// From the tool's start to its end or its limit.
    fn watch(&mut self, tool: &mut Metered) -> Result<Outcome, VmError> {
        loop {
            match tool.next(Instant::now() + LONG)? {
                Step::Deadline => {}
                Step::Over(outcome) => return Ok(outcome),
                Step::OutputLimit => return Ok(Outcome::OutputLimit),
                Step::Guest(GuestEvent::Ended {
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
                    tool.meter.record_guest_end(memory_kib, io_wait_ms, kernel_log);
                    if oom_kills > 0 {
                        self.mark(Mark::OOM_KILLS);
                    }
                    if left_behind > 0 {
                        self.mark(Mark::LEFT_BEHIND);
                    }
                    return Ok(outcome_of(exit, oom_kills));
                }
                Step::Guest(GuestEvent::SessionLost) => {
                    self.mark(Mark::CONNECTION_LOST);
                    return Ok(Outcome::ToolCrash { signal: i32::from(SIGKILL) });
                }
                Step::Guest(other) => return Err(unexpected(&other)),
            }
        }
    }

    /// The tool is over: takes what is still under way of its output. A guest that does not deliver it
    /// only harms its own tool. Over ssh, the limit that the tool passed meanwhile: what it says of its end may be
    /// forged, and as long as its streams are open it can go on.
    fn collect(&mut self, tool: &mut Metered, deadline: Instant) -> Result<Option<Outcome>, VmError> {
        let drained = loop {
            match tool.next(deadline)? {
                Step::Guest(GuestEvent::OutputComplete { stdout_bytes, stderr_bytes, mut written }) => {
                    written.truncate(MAX_LEFTOVER_FILES);
                    self.written = written;
                    break tool.machine.wait_for_output((stdout_bytes, stderr_bytes), deadline)?;
                }
                Step::Over(outcome) => return Ok(Some(outcome)),
                Step::Deadline => break false,
                Step::Guest(_) | Step::OutputLimit => {}
            }
        };
        if !drained {
            self.mark(Mark::OUTPUT_INCOMPLETE);
        }
        Ok(None)
    }
}

/// No event is waited for longer at once.
const LONG: Duration = Duration::from_secs(3600);

/// CPU time beside the tool's that is worth no mark, while the instance is prepared and while output is collected.
const UNMARKED_CPU: Duration = Duration::from_secs(5);

/// A machine, and what it used since a moment.
struct Metered {
    machine: Machine,
    meter: UsageMeter,
    stall: Duration,
    /// In force now; None: the guest does nothing of the tool's.
    limits: Option<Budget>,
}

/// What the phases of a run used.
#[derive(Default)]
struct Phases {
    /// Wall time and CPU time of the run.
    figures: (Duration, Duration),
    prepare_cpu: Duration,
    collect_cpu: Duration,
}

/// What `Metered::next` saw first.
enum Step {
    Guest(GuestEvent),
    OutputLimit,
    /// The limits in force are passed.
    Over(Outcome),
    Deadline,
}

impl Metered {
    fn read(&mut self) -> Result<(Duration, Duration), VmError> {
        self.meter.read(&mut self.machine)
    }

    /// The next event of the guest that is no sample; samples are taken where limits are in force.
    fn next(&mut self, deadline: Instant) -> Result<Step, VmError> {
        loop {
            let (wall, cpu) = self.read()?;
            // First: what the machine did while nobody looked was neither within its limits nor over them.
            let stalled = self.machine.stalled();
            if stalled > self.stall {
                return Err(VmError::Suspended(stalled));
            }
            let mut next_check = deadline;
            if let Some(limits) = &self.limits {
                match limits.check(wall, cpu) {
                    LimitCheck::Over(outcome) => return Ok(Step::Over(outcome)),
                    LimitCheck::Within(time) => self.meter.within_until = Instant::now() + time,
                }
                let next_sample = self.meter.sample(&mut self.machine)?;
                next_check = deadline.min(self.meter.within_until).min(next_sample);
            }
            match self.machine.wait(next_check)? {
                Event::Deadline if Instant::now() >= deadline => return Ok(Step::Deadline),
                Event::Deadline | Event::Qemu(_) => {}
                Event::OutputLimit(_) => return Ok(Step::OutputLimit),
                Event::Guest(GuestEvent::Sample { memory_kib, io_wait_ms, runnable, .. }) => {
                    self.meter.record_guest_sample(memory_kib, io_wait_ms, runnable);
                }
                Event::Guest(event) => return Ok(Step::Guest(event)),
            }
        }
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
const BASH_SIGNAL: u8 = 128;

const SIGKILL: u8 = 9;

fn outcome_of(exit: Exit, oom_kills: u64) -> Outcome {
    let signal = match exit {
        Exit::Signal(signal) => Some(signal),
        // Only what a program cannot well mean by itself: SIGILL, TRAP, ABRT, BUS, FPE, KILL, SEGV, SYS.
        Exit::Code(code) => {
            code.checked_sub(BASH_SIGNAL).filter(|signal| [4, 5, 6, 7, 8, 9, 11, 31].contains(signal))
        }
    };
    match (signal, exit) {
        (Some(SIGKILL), _) if oom_kills > 0 => Outcome::MemoryLimit,
        (Some(signal), _) | (None, Exit::Signal(signal)) => Outcome::ToolCrash { signal: i32::from(signal) },
        (None, Exit::Code(code)) if code != 0 && oom_kills > 0 => Outcome::MemoryLimit,
        (None, Exit::Code(code)) => Outcome::Finished { exit_code: i32::from(code) },
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
