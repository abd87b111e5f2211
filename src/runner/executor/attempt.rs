//! One attempt at a run, as a state machine:
//! preparing -> booting -> ready -> examining -> collecting -> halting.

use super::disturbance;
use super::end_of_run::{SIGKILL, mark_of_end, outcome_of};
use super::evidence_files::EvidenceFiles;
use super::host_watch::HostWatch;
use super::limits::{Budget, Enforced};
use super::metered::{Metered, Step};
use super::usage::UsageMeter;
use mcc_base::guest::{GuestEvent, Job, Request, capped};
use mcc_base::guest_kernel_log;
use mcc_base::{HostState, Mark};
use mcc_campaign::benchkit::AnswerLines;
use mcc_campaign::{Disturbance, Hosts};
use mcc_edition::{CpuFlags, Edition};
use mcc_store::{Arrivals, Environment, Instructions, Outcome, RunFacts};
use mcc_vm::host::Policy;
use mcc_vm::{Event, Guest, InstructionSource, Machine, MachineSpec, Start, VmError};
use std::cell::RefCell;
use std::fmt;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The state of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The machine is not started yet.
    Preparing,
    /// The guest boots, or is restored from a saved state.
    Booting,
    /// The guest is ready and prepares the instance.
    Ready,
    /// The tool runs.
    Examining,
    /// The tool has ended; the rest of its output is read.
    Collecting,
    /// The machine is halted.
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

/// What one attempt adds to the settings of its campaign.
pub struct AttemptSpec<'a> {
    /// The machine.
    pub machine: &'a MachineSpec,
    /// The effective edition: limits, and the CPU flags that the guest must have (E-5.2).
    pub edition: &'a Edition,
    /// The timeouts, and when the run counts as disturbed.
    pub hosts: &'a Hosts,
    /// Whether missing CPU flags are an infrastructure failure or a mark.
    pub policy: Policy,
    /// The job of the guest agent.
    pub job: Job,
    /// Whether a failure of QEMU after the tool's start (`VmError::is_crash`) is an outcome of the tool, because all earlier
    /// attempts failed so, or by the tool's disk, too. Otherwise it is an infrastructure failure with the mark `qemu-crash`.
    pub crash_is_by_tool: bool,
    /// The folder for `stdout`, `stderr`, `console` and the log of QEMU.
    pub folder: &'a Path,
}

/// The result of an attempt.
#[derive(Debug)]
pub struct AttemptResult {
    /// How the attempt ended.
    pub outcome: Outcome,
    /// The measurements; None: the attempt failed before its end.
    pub facts: Option<RunFacts>,
    /// CPUs, isolation, guest kernel and CPU flags of the machine.
    pub environment: Environment,
    /// The marks of the attempt itself, without those of the host.
    pub marks: Vec<Mark>,
    /// The host has no free space for the overlay or the outputs.
    pub full_disk: bool,
    /// A signal that this controller did not send ended the machine, or QEMU reported so.
    pub by_signal: bool,
}

impl AttemptResult {
    /// The result of an attempt that failed before its machine was started.
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

/// Makes an attempt, and returns when its machine is destroyed. `enter` is called with each state. A failure of the
/// machine is `Outcome::Infrastructure` with the state in which it occurred (R2). What a guest causes after its boot is an
/// outcome of the tool.
pub fn attempt(attempt_spec: AttemptSpec, enter: &mut dyn FnMut(State)) -> AttemptResult {
    let mut run = AttemptRunner {
        state: State::Preparing,
        enter,
        facts: None,
        environment: Environment::default(),
        marks: vec![],
        written: vec![],
        evidence: EvidenceFiles::default(),
        sessions_ended: false,
        by_signal: false,
    };
    (run.enter)(State::Preparing);
    let mut full_disk = false;
    let outcome = run.examine(attempt_spec).unwrap_or_else(|error| {
        full_disk = error.is_full_disk();
        run.by_signal = error.is_by_signal();
        Outcome::Infrastructure {
            state: run.state.to_string(),
            reason: capped(&error.to_string(), MAX_REASON),
        }
    });
    AttemptResult {
        outcome,
        facts: run.facts,
        environment: run.environment,
        marks: run.marks,
        full_disk,
        by_signal: run.by_signal,
    }
}

/// The largest number of characters that are recorded of the reason of a failure.
const MAX_REASON: usize = 4000;

/// Returns the mark of a failure of the machine that the tool may have caused.
fn suspicion(error: &VmError, tool_can_act: bool, spec: &MachineSpec, folder: &Path) -> Option<Mark> {
    match error {
        _ if tool_can_act && error.is_crash() => Some(Mark::QEMU_CRASH),
        // No content of a disk causes a lack of space.
        VmError::Disk { no_space: true, .. } => None,
        // The content of the tool's disk is the cause, or an error of the host that has passed.
        _ if error.is_of_tools_disk() => host_works(spec, folder).then_some(Mark::DISK_ERROR),
        // The other disks are not the tool's, but QEMU may state an error that did not occur.
        VmError::Disk { .. } if tool_can_act => host_works(spec, folder).then_some(Mark::QEMU_CRASH),
        _ => None,
    }
}

/// Whether the host can read the disks of a machine and write to the folder of its overlays.
fn host_works(spec: &MachineSpec, folder: &Path) -> bool {
    let works = || -> io::Result<()> {
        let mut file = tempfile::tempfile_in(folder)?;
        file.write_all(&[0; 1 << 20])?;
        file.sync_all()?;
        // All of them: under libvirt, not every version of QEMU states the name of the disk.
        for disk in spec.disks() {
            io::copy(&mut spec.held_files.open(&disk.path)?, &mut io::sink())?;
        }
        Ok(())
    };
    works().is_ok()
}

struct AttemptRunner<'a> {
    state: State,
    enter: &'a mut dyn FnMut(State),
    facts: Option<RunFacts>,
    environment: Environment,
    marks: Vec<Mark>,
    written: Vec<String>,
    evidence: EvidenceFiles,
    /// Whether the disk disturbed the sessions over ssh, so that they were ended.
    sessions_ended: bool,
    /// See `AttemptResult`.
    by_signal: bool,
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
        let AttemptSpec { machine: spec, edition, hosts, policy, job, crash_is_by_tool, folder } =
            attempt_spec;
        let (output_cap, budget) = (edition.limits.output_bytes, Budget::new(&edition.limits, spec.vcpus));
        self.environment.cpus.clone_from(&spec.vcpu_cpus);
        let host_watch = HostWatch::new(&spec.vcpu_cpus);
        self.environment.host_state = Some(host_watch.settings());
        self.evidence.folder = job.evidence_folder.as_ref().map(|_| folder.to_owned());
        self.enter(State::Booting);
        let booted = Instant::now();
        let mut machine = Machine::start(spec, folder, output_cap, hosts.boot_deadline)?;
        let answer_lines = Rc::new(RefCell::new(AnswerLines::default()));
        let found = Rc::clone(&answer_lines);
        machine.observe_stdout(Box::new(move |part| found.borrow_mut().add(part, Instant::now())));
        self.environment.confined = machine.isolation().active();
        self.environment.unconfined = machine.isolation().missing();
        if matches!(spec.start, Start::Restore(_)) {
            machine.send(&Request::Ready)?;
            self.mark(Mark::RESTORED);
        }
        if spec.fixed_addresses {
            self.mark(Mark::DETERMINISTIC_GUEST);
        }
        let ready = wait_for(&mut machine, booted + hosts.boot_deadline, "ready")?;
        let GuestEvent::Ready { kernel, cpu_flags: seen, .. } = ready else { return Err(unexpected(&ready)) };
        let boot = booted.elapsed();
        self.environment.guest_kernel = kernel;
        self.environment.cpu_flags = seen;
        // An original disk reports its flags itself, and must not end the campaign.
        let policy = if matches!(spec.guest, Guest::Ssh(_)) { Policy::AllowDegraded } else { policy };
        self.check_flags(&edition.machine.cpu_flags, policy)?;

        self.enter(State::Ready);
        let mut tool = Metered {
            host_watch,
            // Started before the guest receives the name of the instance.
            meter: UsageMeter::start(&mut machine)?,
            machine,
            stall: hosts.stall,
            // Over ssh, preparation and collection use programs of the tool's disk, so the limits apply to them too.
            limits: matches!(spec.guest, Guest::Ssh(_)).then_some(budget),
            is_drained: false,
        };
        if tool.limits.is_some() {
            tool.host_watch.start(&tool.machine);
        }
        let mut phases = Phases::default();
        let outcome = match self.phases(&mut tool, &mut phases, job, budget, hosts) {
            Ok(outcome) => outcome,
            Err(error) => {
                let suspicion = suspicion(&error, phases.tool_can_act, spec, folder);
                let is_by_tool = phases.tool_can_act && error.is_by_guest()
                    || suspicion.is_some() && crash_is_by_tool
                    // What is prepared is read from the tool's disk, so its content can end the guest before the tool starts.
                    || matches!(error, VmError::GuestEnded { .. });
                if !is_by_tool {
                    suspicion.into_iter().for_each(|mark| self.mark(mark));
                    return Err(error);
                }
                self.by_signal = error.is_by_signal();
                self.ended_by_guest(&mut tool, &mut phases, &error)?
            }
        };
        let counted = phases.instructions.take().unwrap_or_else(|| tool.machine.instructions());
        let instructions = spec.count_instructions.then(|| self.instructions(&tool.machine, counted));
        let (wall, cpu) = phases.figures;
        let (prepare_cpu, collect_cpu) = (phases.prepare_cpu, phases.collect_cpu);
        for (used, mark) in
            [(prepare_cpu, Mark::CPU_WHILE_PREPARING), (collect_cpu, Mark::CPU_WHILE_COLLECTING)]
        {
            if used > UNMARKED_CPU {
                self.mark(mark);
            }
        }
        let Metered { mut machine, meter, mut host_watch, .. } = tool;
        host_watch.end(&machine);
        if machine.has_invalid_messages() {
            self.mark(Mark::GUEST_MESSAGES);
        }
        let host_memory_kib = machine.rss_kib().map(|(_, peak)| peak);
        let disk_kib = machine.disk_kib();
        if matches!(outcome, Outcome::CpuLimit | Outcome::WallLimit) {
            machine.stop();
            let delay = meter.within_until.elapsed();
            match Enforced::new(delay, hosts.stall) {
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
        self.record_host(host_watch.finish(), &hosts.disturbed);
        let (lines, dropped) = answer_lines.take().finish(meter.started);
        let (memory_kib, memory_source) = meter.memory();
        self.facts = Some(RunFacts {
            boot_ms: boot.as_millis() as u64,
            wall_ms: wall.as_millis() as u64,
            cpu_ms: cpu.as_millis() as u64,
            prepare_cpu_ms: prepare_cpu.as_millis() as u64,
            collect_cpu_ms: collect_cpu.as_millis() as u64,
            instructions,
            vcpus,
            memory_kib,
            memory_source,
            memory_limit_kib: phases.memory_limit_kib,
            balloon_memory_kib: meter.balloon(),
            host_memory_kib,
            disk_limit_kib: spec.disk_limit.map(|bytes| bytes / 1024),
            disk_kib: Some(disk_kib),
            io_wait_ms: meter.io_wait_ms,
            guest_end: phases.guest_end,
            kernel_log: meter.kernel_log,
            written: std::mem::take(&mut self.written),
            arrivals: Some(Arrivals { lines, dropped }),
            stdout_bytes,
            stderr_bytes,
            samples: meter.samples,
        });
        Ok(outcome)
    }

    /// The count of instructions for the record; marks the run if the plugin counted them, because that takes CPU time.
    fn instructions(
        &mut self,
        machine: &Machine,
        counted: Result<mcc_vm::Instructions, String>,
    ) -> Instructions {
        match counted {
            Ok(counted) if machine.instructions_source() == Some(InstructionSource::Perf) => {
                Instructions::Perf { user: counted.user, kernel: counted.kernel, untested: true }
            }
            Ok(counted) => {
                self.mark(Mark::INSTRUCTIONS_COUNTED);
                Instructions::TcgPlugin { user: counted.user, kernel: counted.kernel }
            }
            Err(reason) => Instructions::Absent { reason: capped(&reason, MAX_REASON) },
        }
    }

    /// Records the state of the host, and marks the run if the host changed or the run was disturbed.
    fn record_host(&mut self, mut state: HostState, thresholds: &Disturbance) {
        if let Some(load) = &state.load {
            state.disturbed = disturbance::reasons(load, thresholds);
        }
        for (is_marked, mark) in
            [(!state.changed.is_empty(), Mark::HOST_CHANGED), (!state.disturbed.is_empty(), Mark::DISTURBED)]
        {
            if is_marked {
                self.mark(mark);
            }
        }
        self.environment.host_state = Some(state);
    }

    /// Checks the CPU flags of the guest (E-5.2): a tool compiled for the contest's processor may crash without them. A
    /// guest that does not report its flags is not checked.
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

    /// Prepares the instance, runs the tool and collects its output.
    fn phases(
        &mut self,
        tool: &mut Metered,
        phases: &mut Phases,
        job: Job,
        budget: Budget,
        hosts: &Hosts,
    ) -> Result<Outcome, VmError> {
        let over_ssh = tool.limits.is_some();
        for (request, what) in [(Request::Prepare(Box::new(job)), "prepared"), (Request::Start, "started")] {
            // With the other times; the agent waits, so each run is counted from the same instruction on.
            let is_first = if over_ssh {
                matches!(request, Request::Prepare(_))
            } else {
                matches!(request, Request::Start)
            };
            if is_first {
                tool.machine.restart_instructions();
                if let Some(limit) = budget.instructions {
                    tool.machine.apply_instruction_limit(limit)?;
                }
            }
            // The programs of an original disk prepare the instance, so they may be the cause of what follows.
            phases.tool_can_act = over_ssh;
            tool.machine.send(&request)?;
            let deadline = Instant::now() + hosts.prepare_deadline;
            let event = loop {
                match tool.next(deadline)? {
                    Step::Over(outcome) => {
                        phases.figures = tool.read()?;
                        phases.prepare_cpu = phases.figures.1;
                        return Ok(outcome);
                    }
                    Step::Deadline if over_ssh => break None,
                    Step::Deadline => return Err(tool.machine.timeout_error(what)),
                    Step::OutputLimit => {}
                    Step::Guest(event) => break Some(event),
                }
            };
            match (&request, event) {
                (Request::Prepare(_), Some(GuestEvent::Prepared { memory_limit_kib })) => {
                    phases.memory_limit_kib = memory_limit_kib;
                }
                (Request::Start, Some(GuestEvent::Started)) => {}
                // The disk has the name of the instance, so its programs may cause a failure on purpose. With the guest agent
                // its content can.
                (_, event) if over_ssh || matches!(event, Some(GuestEvent::Failed { by_disk: true, .. })) => {
                    phases.figures = tool.read()?;
                    phases.prepare_cpu = phases.figures.1;
                    if let Some(GuestEvent::Failed { reason, .. }) = &event {
                        phases.guest_end = Some(reason.clone());
                    }
                    return Ok(self.ended_by_disk(event.as_ref()));
                }
                (_, Some(event)) => return Err(unexpected(&event)),
                (_, None) => return Err(tool.machine.timeout_error(what)),
            }
        }
        phases.prepare_cpu = tool.read()?.1;

        phases.tool_can_act = true;
        self.enter(State::Examining);
        if !over_ssh {
            tool.meter = UsageMeter::start(&mut tool.machine)?;
            tool.host_watch.start(&tool.machine);
            tool.limits = Some(budget);
        }
        let outcome = self.watch(tool)?;
        phases.figures = tool.read()?;
        phases.has_ended = true;
        if !matches!(outcome, Outcome::Finished { .. } | Outcome::MemoryLimit | Outcome::ToolCrash { .. }) {
            return Ok(outcome);
        }

        self.enter(State::Collecting);
        if !over_ssh {
            tool.limits = None;
            tool.machine.lift_instruction_limit()?;
        }
        let over = self.collect(tool, phases, Instant::now() + hosts.collect_deadline)?;
        let collected = tool.read()?;
        phases.collect_cpu = collected.1.saturating_sub(phases.figures.1);
        if over_ssh {
            phases.figures = collected;
        }
        let is_complete = !self.sessions_ended && !self.marks.contains(&Mark::OUTPUT_INCOMPLETE);
        if over_ssh && is_complete && over.is_none() && self.evidence.folder.is_some() {
            // Its costs end here, and evidence changes no outcome.
            phases.instructions = Some(tool.machine.instructions());
            tool.limits = None;
            tool.machine.lift_instruction_limit()?;
            self.collect_evidence(tool, Instant::now() + hosts.collect_deadline)?;
            phases.collect_cpu += tool.read()?.1.saturating_sub(collected.1);
        }
        Ok(over.unwrap_or(outcome))
    }

    /// Returns the outcome of a run that the guest ended with this error.
    fn ended_by_guest(
        &mut self,
        tool: &mut Metered,
        phases: &mut Phases,
        error: &VmError,
    ) -> Result<Outcome, VmError> {
        let figures = tool.read()?;
        if phases.has_ended {
            phases.collect_cpu = figures.1.saturating_sub(phases.figures.1);
        }
        // Over ssh the figures include the collection.
        if !phases.has_ended || tool.limits.is_some() {
            phases.figures = figures;
        }
        if let VmError::DiskLimit { .. } = error {
            if phases.has_ended {
                self.mark(Mark::OUTPUT_INCOMPLETE);
            }
            return Ok(Outcome::DiskLimit);
        }
        self.mark(mark_of_end(error));
        // What the tool wrote last may not have reached the host.
        self.mark(Mark::OUTPUT_INCOMPLETE);
        phases.guest_end = Some(capped(&error.to_string(), MAX_REASON));
        let out_of_memory = tool.machine.names_exhausted_memory()
            || tool.meter.kernel_log.iter().any(|line| guest_kernel_log::names_exhausted_memory(line));
        Ok(if out_of_memory && matches!(error, VmError::GuestEnded { .. }) {
            Outcome::MemoryLimit
        } else {
            Outcome::ToolCrash { signal: i32::from(SIGKILL) }
        })
    }

    /// Waits for the end of the tool or for a limit.
    fn watch(&mut self, tool: &mut Metered) -> Result<Outcome, VmError> {
        loop {
            match tool.next(Instant::now() + MAX_WAIT)? {
                Step::Deadline => {}
                Step::Over(outcome) => return Ok(outcome),
                Step::OutputLimit => return Ok(Outcome::OutputLimit),
                Step::Guest(GuestEvent::Ended {
                    exit,
                    memory_kib,
                    oom_kills,
                    left_behind,
                    io_wait_ms,
                    kernel_log,
                }) => {
                    // Either source may be missing: a guest without cgroups, or a log that was overwritten.
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
                Step::Guest(event @ (GuestEvent::SessionLost | GuestEvent::UnexpectedMessage)) => {
                    return Ok(self.ended_by_disk(Some(&event)));
                }
                Step::Guest(other) => return Err(unexpected(&other)),
            }
        }
    }

    /// The outcome of a run whose disk disturbed the sessions over ssh after it had the name of the instance, or kept the guest
    /// agent from preparing it. It is the tool's, because no tool may gain from it. `event`: None if the guest did not answer
    /// by a deadline.
    fn ended_by_disk(&mut self, event: Option<&GuestEvent>) -> Outcome {
        self.sessions_ended = true;
        self.mark(match event {
            Some(GuestEvent::SessionLost) => Mark::CONNECTION_LOST,
            Some(GuestEvent::Failed { .. }) | None => Mark::NOT_PREPARED,
            Some(_) => Mark::GUEST_MESSAGES,
        });
        Outcome::ToolCrash { signal: i32::from(SIGKILL) }
    }

    /// Reads the rest of the output after the end of the tool. If the guest does not deliver it, the run is marked. Over
    /// ssh, the limits still apply, because the tool may have forged its end and still run; the outcome that replaces its
    /// end is returned.
    fn collect(
        &mut self,
        tool: &mut Metered,
        phases: &mut Phases,
        deadline: Instant,
    ) -> Result<Option<Outcome>, VmError> {
        let mut over = None;
        let complete = loop {
            match tool.next(deadline)? {
                Step::Guest(event @ GuestEvent::UnexpectedMessage) => {
                    over = Some(self.ended_by_disk(Some(&event)));
                }
                Step::Guest(GuestEvent::OutputComplete {
                    stdout_bytes,
                    stderr_bytes,
                    written,
                    search_cut,
                }) => {
                    self.written = written;
                    if search_cut {
                        self.mark(Mark::FILE_SEARCH_CUT);
                    }
                    break tool.machine.wait_for_output((stdout_bytes, stderr_bytes), deadline)?;
                }
                Step::Guest(GuestEvent::Evidence { file, part }) => self.keep_evidence(&file, &part)?,
                Step::Over(outcome) => return Ok(Some(outcome)),
                Step::Deadline => break false,
                Step::Guest(other) => {
                    self.mark(Mark::GUEST_MESSAGES);
                    phases.guest_end = Some(unexpected(&other).to_string());
                    if matches!(other, GuestEvent::Failed { .. }) {
                        break false;
                    }
                }
                Step::OutputLimit => {}
            }
        };
        if !complete {
            self.mark(Mark::OUTPUT_INCOMPLETE);
        }
        Ok(over)
    }

    /// Receives the files of evidence over ssh. What the disk does instead of sending them is marked and changes no outcome.
    fn collect_evidence(&mut self, tool: &mut Metered, deadline: Instant) -> Result<(), VmError> {
        tool.machine.request_evidence()?;
        loop {
            let step = match tool.next(deadline) {
                Err(error) if error.is_by_guest() => break self.mark(Mark::CONNECTION_LOST),
                step => step?,
            };
            match step {
                Step::Guest(GuestEvent::Evidence { file, part }) => self.keep_evidence(&file, &part)?,
                Step::Guest(GuestEvent::EvidenceSent) => return Ok(()),
                Step::Guest(GuestEvent::SessionLost) => break self.mark(Mark::CONNECTION_LOST),
                Step::Guest(_) => break self.mark(Mark::GUEST_MESSAGES),
                Step::Deadline => break self.mark(Mark::OUTPUT_INCOMPLETE),
                Step::OutputLimit | Step::Over(_) => {}
            }
        }
        Ok(())
    }

    fn keep_evidence(&mut self, file: &str, part: &str) -> Result<(), VmError> {
        if !self.evidence.keep(file, part)? {
            self.mark(Mark::GUEST_MESSAGES);
        }
        Ok(())
    }
}

/// Longest single wait for an event.
const MAX_WAIT: Duration = Duration::from_secs(3600);

/// CPU time during preparation, or during collection, up to which the run is not marked.
const UNMARKED_CPU: Duration = Duration::from_secs(5);

/// The resource usage of the phases of a run.
#[derive(Default)]
struct Phases {
    /// Whether programs of the tool may run in the guest, or have run.
    tool_can_act: bool,
    /// Whether the tool has ended.
    has_ended: bool,
    memory_limit_kib: Option<u64>,
    /// See `RunFacts`.
    guest_end: Option<String>,
    /// Wall time and CPU time of the run.
    figures: (Duration, Duration),
    prepare_cpu: Duration,
    collect_cpu: Duration,
    /// The count at the end of the output, if the machine executes more; see `Machine::instructions`.
    instructions: Option<Result<mcc_vm::Instructions, String>>,
}

/// Returns the next event of the guest that is not a sample. `what`: the expected event, for the error.
fn wait_for(machine: &mut Machine, deadline: Instant, what: &str) -> Result<GuestEvent, VmError> {
    loop {
        match machine.wait(deadline)? {
            Event::Guest(GuestEvent::Sample { .. }) | Event::OutputLimit(_) => {}
            Event::Guest(event) => return Ok(event),
            Event::Deadline => return Err(machine.timeout_error(what)),
        }
    }
}

fn unexpected(event: &GuestEvent) -> VmError {
    match event {
        GuestEvent::Failed { reason, .. } => VmError::Agent(reason.clone()),
        other => VmError::Agent(format!("unexpected message {}", capped(&format!("{other:?}"), 300))),
    }
}
