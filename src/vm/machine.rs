//! A running machine: one QEMU process, used by the thread that started it.

mod end;
mod start;
mod usage;

use super::channel::{Channel, Received};
use super::error::{GuestEnd, VmError};
use super::instructions::{self, Counters, Instructions};
use super::isolation::Isolation;
use super::libvirt;
use super::process::{Process, StartedQemu};
use super::qmp::{Lines, MachineEnd, Qmp, parse, poll_readable, text};
use super::spec::{MachineSpec, QemuSockets, argv};
use super::stall::{StallDetector, since_boot};
use super::stream_file::{Observer, ReadResult, Sink};
use crate::host::Qemu;
use mcc_base::OnFile;
use mcc_base::budgets::{MESSAGES, SLOW_MESSAGES_PER_S};
use mcc_base::guest::{GuestEvent, MAX_LINE, Request};
use mcc_base::machine::Backend;
pub use start::overlays;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use usage::{Balloon, ThreadEnd};

/// Path of the balloon device in QEMU, also used as the id of queries. The balloon takes no memory from the guest.
const BALLOON: &str = "/machine/peripheral/balloon0";

/// An output stream of the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// An event that ends `Machine::wait`.
#[derive(Debug)]
pub enum Event {
    /// An event of the guest.
    Guest(GuestEvent),
    /// The output on this stream exceeds the cap.
    OutputLimit(Stream),
    /// The deadline has passed.
    Deadline,
}

/// A machine that runs until it is halted or dropped. Dropping it kills QEMU and waits for its end.
pub struct Machine {
    qemu: Process,
    pub(super) qmp: Qmp,
    control: Channel,
    console: Sink,
    stdout: Sink,
    stderr: Sink,
    vcpu_threads: Vec<i32>,
    /// The CPU time that was read last.
    cpu_time: Duration,
    thread_end: ThreadEnd,
    memory_kib: u64,
    began: Instant,
    nonce: String,
    has_invalid_messages: bool,
    /// The messages that were read, and when the next one may be read if they are too many.
    messages: u64,
    next_message: Instant,
    /// The end of the machine that QEMU reported first.
    end: Option<MachineEnd>,
    buffer: Vec<u8>,
    folder: PathBuf,
    stall_detector: StallDetector,
    balloon: Balloon,
    isolation: Isolation,
    /// What the guest wrote to its disks, and the limit of it.
    overlays: Vec<File>,
    disk_limit: Option<u64>,
    /// Whether the disk of the overlays was nearly full at a check.
    had_full_disk: bool,
    /// Err: why instructions are not counted.
    counters: Result<Counters, String>,
    /// The count at `restart_instructions`.
    instructions_before: Instructions,
}

/// The longest planned interval between two checks of a machine. A much later check is a stall of the controller.
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(1);

impl MachineSpec {
    /// Returns the arguments of QEMU, or the lines of libvirt's XML, for the record. They are equal for equal machines.
    pub fn description(&self) -> Vec<String> {
        match self.backend {
            Backend::Qemu => argv(self, &QemuSockets::placeholder()),
            Backend::Libvirt => libvirt::description(self),
        }
    }
}

impl Machine {
    /// Starts QEMU, pins its threads and starts the guest. It writes these files to `folder`: `stdout` and `stderr` of
    /// the tool (at most `output_cap` bytes each), `console` and `qemu.log`. QEMU's overlay is a file without a name there.
    ///
    /// The kernel kills the machine when the calling thread ends, so no machine remains after a killed controller.
    ///
    /// If QEMU refuses the plugin that counts instructions, the machine is started without it.
    ///
    /// # Errors
    /// QEMU does not start, or the guest does not run within `timeout`.
    pub fn start(
        spec: &MachineSpec,
        folder: &Path,
        output_cap: u64,
        timeout: Duration,
    ) -> Result<Self, VmError> {
        let deadline = Instant::now() + timeout;
        let started = Self::start_once(spec, folder, output_cap, deadline);
        let Err(VmError::Gone(cause)) = &started else { return started };
        let refusal = if spec.has_plugin() { instructions::refusal(cause) } else { None };
        let Some(refusal) = refusal else { return started };
        let without = MachineSpec { count_instructions: false, ..spec.clone() };
        let mut machine = Self::start_once(&without, folder, output_cap, deadline)?;
        machine.counters = Err(format!("{} refused the plugin: {refusal}", Qemu::NAME));
        Ok(machine)
    }

    fn start_once(
        spec: &MachineSpec,
        folder: &Path,
        output_cap: u64,
        deadline: Instant,
    ) -> Result<Self, VmError> {
        let create = |name: &str| {
            let path = folder.join(name);
            File::create(&path).on("create", path)
        };
        let StartedQemu { qemu, host_side, messages, outputs, isolation, overlays, counters } =
            match spec.backend {
                Backend::Qemu => Self::spawn(spec, folder)?,
                Backend::Libvirt => libvirt::start(spec, folder, deadline)?,
            };
        let [qmp, console, control, stdout, stderr] = host_side;
        let log = messages.map(|log| create("qemu.log").map(|file| Sink::log(log, file))).transpose()?;
        let mut machine = Self {
            qemu,
            qmp: Qmp::new(qmp, log),
            control: Channel::Agent(Lines::new(control, MAX_LINE)),
            console: Sink::log(console, create("console")?),
            stdout: Sink::new(stdout, create("stdout")?, output_cap),
            stderr: Sink::new(stderr, create("stderr")?, output_cap),
            vcpu_threads: vec![],
            cpu_time: Duration::ZERO,
            thread_end: ThreadEnd::default(),
            memory_kib: spec.memory_mib * 1024,
            began: Instant::now(),
            nonce: String::new(),
            has_invalid_messages: false,
            messages: 0,
            next_message: Instant::now(),
            end: None,
            buffer: vec![0; 1 << 18],
            folder: folder.to_owned(),
            stall_detector: StallDetector::new(Duration::ZERO),
            balloon: Balloon::default(),
            isolation,
            overlays,
            disk_limit: spec.disk_limit,
            had_full_disk: false,
            counters: counters.map(Counters::Plugin).ok_or_else(|| "no vCPU runs yet".to_owned()),
            instructions_before: Instructions::default(),
        };
        machine.start_guest(spec, outputs, deadline).map_err(|error| machine.with_cause(error))?;
        machine.stall_detector = StallDetector::new(since_boot());
        Ok(machine)
    }

    /// Sends a request to the guest agent. After `Request::Prepare` events must have the job's nonce.
    ///
    /// # Errors
    /// QEMU or the channel has ended.
    pub fn send(&mut self, request: &Request) -> Result<(), VmError> {
        if let Request::Prepare(job) = request {
            self.nonce.clone_from(&job.nonce);
        }
        self.control.send(request).map_err(|error| self.with_cause(error))
    }

    /// Requests the files of evidence of a job over ssh, whose output is complete; their end is `GuestEvent::EvidenceSent`.
    ///
    /// # Errors
    /// The job keeps none, or it has not ended.
    pub fn request_evidence(&mut self) -> Result<(), VmError> {
        self.control.request_evidence()
    }

    /// Copies output until an event occurs or `deadline` passes. Invalid messages, and those with a wrong nonce or
    /// impossible values, are dropped (`has_invalid_messages`).
    ///
    /// # Errors
    /// QEMU ended, a channel broke, or the output cannot be kept.
    pub fn wait(&mut self, deadline: Instant) -> Result<Event, VmError> {
        self.wait_inner(deadline).map_err(|error| self.with_cause(error))
    }

    fn wait_inner(&mut self, deadline: Instant) -> Result<Event, VmError> {
        loop {
            if self.may_read_message()
                && let Some(received) = self.control.next()?
            {
                self.messages += 1;
                self.next_message = Instant::now() + Duration::from_secs(1) / SLOW_MESSAGES_PER_S;
                match received {
                    Received::Message(message)
                        if message.nonce == self.nonce
                            && message.event.is_possible(self.memory_kib, self.max_cpu_ms()) =>
                    {
                        return Ok(Event::Guest(message.event));
                    }
                    invalid => {
                        self.has_invalid_messages = true;
                        if let Some(event) = self.control.refuse(&format!("{invalid:?}")) {
                            return Ok(Event::Guest(event));
                        }
                    }
                }
            } else if let Some(line) = self.qmp.lines.next().map_err(VmError::Qmp)? {
                let message = parse(&line).map_err(VmError::Qmp)?;
                if message["id"] == BALLOON {
                    self.balloon.update(&message, self.memory_kib);
                }
                self.handle_qemu_event(&message)?;
            } else if let Some(event) = self.read_available()? {
                return Ok(event);
            } else {
                self.poll(deadline)?;
            }
            if !self.stdout.is_open() && !self.stderr.is_open() {
                let bytes = self.received();
                if let Some(event) = self.control.output_closed(bytes) {
                    return Ok(Event::Guest(event));
                }
            }
            // `poll` does not run while a guest floods a channel, so this check is recorded here.
            self.stall_detector.observe(since_boot(), Duration::ZERO);
            // The deadline is checked in each iteration, so that a flooded channel cannot delay it.
            if Instant::now() >= deadline {
                return Ok(Event::Deadline);
            }
        }
    }

    /// Whether a message may be read now. A guest that floods its channel waits: its messages stay in the buffers.
    fn may_read_message(&mut self) -> bool {
        let is_flooded = self.messages >= MESSAGES;
        self.has_invalid_messages |= is_flooded;
        !is_flooded || Instant::now() >= self.next_message
    }

    /// Returns an upper bound of the CPU time that the guest can have used, ms: twice the wall time of all vCPUs, to
    /// allow for errors of the guest's clock.
    fn max_cpu_ms(&self) -> u64 {
        let since_start = self.began.elapsed().as_millis() as u64 + 60_000;
        since_start.saturating_mul(2 * u64::from(self.vcpus().max(1)))
    }

    /// Handles a message of QEMU if it is an event. If QEMU stopped the machine (a disk error on the host, a failure of the
    /// accelerator), or the machine ended, the result is an error.
    fn handle_qemu_event(&mut self, message: &serde_json::Value) -> Result<(), VmError> {
        if let Some(end) = MachineEnd::from_event(message) {
            // Under libvirt QEMU remains stopped until libvirt ends it.
            self.end = Some(end);
            return Err(VmError::Gone(String::new()));
        }
        let data = &message["data"];
        match message["event"].as_str() {
            // The error of a write to a read-only disk is only reported to the guest, which caused it.
            Some("BLOCK_IO_ERROR") if data["action"] != "report" => Err(self.disk_error(data)),
            Some("STOP") => {
                let state = self.qmp.execute("query-status", Instant::now() + Duration::from_secs(5));
                let state = state.map(|state| text(state["status"].as_str()));
                Err(match state.as_deref() {
                    Ok("guest-panicked") => {
                        self.end = Some(MachineEnd::Guest(GuestEnd::Panic));
                        VmError::Gone(String::new())
                    }
                    Ok("internal-error") => VmError::InternalError,
                    Ok(state) => VmError::Stopped(state.to_owned()),
                    Err(error) => VmError::Stopped(format!("for an unknown reason ({error})")),
                })
            }
            _ => Ok(()),
        }
    }

    /// Whether the guest sent messages that were dropped, or too many.
    pub fn has_invalid_messages(&self) -> bool {
        self.has_invalid_messages
    }

    /// Returns the longest stall until now: the controller was stopped, or its host was suspended or out of memory.
    pub fn stalled(&mut self) -> Duration {
        self.stall_detector.observe(since_boot(), Duration::ZERO);
        self.stall_detector.longest()
    }

    /// Waits until `bytes` of stdout and stderr were received; false if `deadline` passed first.
    ///
    /// # Errors
    /// QEMU ended, or the output cannot be kept.
    pub fn wait_for_output(&mut self, bytes: (u64, u64), deadline: Instant) -> Result<bool, VmError> {
        while self.received() != bytes {
            self.read_available()?;
            if !self.poll(deadline).map_err(|error| self.with_cause(error))? {
                return Ok(self.received() == bytes);
            }
        }
        Ok(true)
    }

    /// Reads the output that the guest handed to QEMU before its vCPUs stopped.
    ///
    /// # Errors
    /// QEMU ended or does not answer within ten seconds, or the output cannot be kept.
    pub fn read_handed_over(&mut self) -> Result<(), VmError> {
        // QEMU's loop can answer before it passes output on that was ready at the same time, so one answer is not enough.
        // Another process could write without end in the place of QEMU.
        let deadline = Instant::now() + Duration::from_secs(10);
        let mut answers_without_output = 0;
        while answers_without_output < 2 {
            let before = self.received();
            self.qmp.execute("query-status", deadline).map_err(|error| self.with_cause(error))?;
            let mut read = before;
            loop {
                self.read_available()?;
                if self.received() == read || Instant::now() >= deadline {
                    break;
                }
                read = self.received();
            }
            answers_without_output = if read == before { answers_without_output + 1 } else { 0 };
        }
        Ok(())
    }

    /// Waits until a descriptor is readable; false if `deadline` has passed.
    fn poll(&mut self, deadline: Instant) -> Result<bool, VmError> {
        if !self.qmp.lines.open || !self.control.is_open() {
            return Err(VmError::Gone(String::new()));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        let (mut fds, mut check) = self.control.poll_targets();
        if self.messages >= MESSAGES {
            fds.clear();
            check = Some(self.next_message);
        }
        fds.push(self.qmp.lines.stream.as_fd());
        fds.extend(self.open_sinks());
        let check = check.map(|at| at.saturating_duration_since(Instant::now()));
        let planned = left.min(MAX_POLL_INTERVAL).min(check.unwrap_or(MAX_POLL_INTERVAL));
        poll_readable(&fds, planned);
        self.stall_detector.observe(since_boot(), planned);
        Ok(true)
    }

    fn open_sinks(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let sinks = [&self.console, &self.stdout, &self.stderr].into_iter().filter(|sink| sink.is_open());
        sinks.map(|sink| sink.stream().as_fd()).chain(self.qmp.log_stream())
    }

    /// Copies available output to the files, at most one buffer per stream.
    fn read_available(&mut self) -> Result<Option<Event>, VmError> {
        let sinks = [
            (&mut self.console, "console", None),
            (&mut self.stdout, "stdout", Some(Stream::Stdout)),
            (&mut self.stderr, "stderr", Some(Stream::Stderr)),
        ];
        let log = self.qmp.log.as_mut().map(|log| (log, "qemu.log", None));
        for (sink, name, stream) in sinks.into_iter().chain(log) {
            let read = sink.read_available(&mut self.buffer).on("write", self.folder.join(name))?;
            if let (ReadResult::Full, Some(stream)) = (read, stream) {
                return Ok(Some(Event::OutputLimit(stream)));
            }
        }
        Ok(None)
    }

    /// Returns the isolation of QEMU from the host.
    pub fn isolation(&self) -> &Isolation {
        &self.isolation
    }

    /// Returns the process number of QEMU.
    pub fn pid(&self) -> u32 {
        self.qemu.id()
    }

    pub(super) fn vcpu_threads(&self) -> &[i32] {
        &self.vcpu_threads
    }

    /// Returns the number of vCPUs.
    pub fn vcpus(&self) -> u32 {
        self.vcpu_threads.len() as u32
    }

    /// Returns the bytes received so far on stdout and stderr.
    pub fn received(&self) -> (u64, u64) {
        (self.stdout.received(), self.stderr.received())
    }

    /// Sets the function that is called with each part of stdout as it is received, up to the output cap.
    pub fn observe_stdout(&mut self, observer: Observer) {
        self.stdout.observer = Some(observer);
    }

    /// Kills QEMU without waiting for its end; `halt` must follow and keeps the output that QEMU has sent.
    pub fn stop(&mut self) {
        self.qemu.kill();
    }

    /// Kills the machine and keeps the output that it has sent. Returns the total bytes of stdout and stderr.
    ///
    /// # Errors
    /// The output cannot be kept.
    pub fn halt(mut self) -> Result<(u64, u64), VmError> {
        self.kill();
        self.drain()?;
        Ok(self.received())
    }

    /// Copies the output that is left in the sockets after the end of QEMU. ssh is a separate process and is ended first.
    fn drain(&mut self) -> Result<(), VmError> {
        self.control.close();
        let received = |machine: &Self| {
            let log = machine.qmp.log.as_ref().map(Sink::received);
            (machine.received(), machine.console.received(), log)
        };
        read_rest(Instant::now() + READ_REST, || {
            let before = received(self);
            self.read_available()?;
            Ok(received(self) != before)
        })
    }

    fn kill(&mut self) {
        self.qemu.kill();
        self.qemu.wait();
    }
}

/// The longest time in which the rest in the sockets of an ended QEMU is read.
const READ_REST: Duration = Duration::from_secs(10);

/// Calls `read` until it finds nothing more, or until the deadline: QEMU can have passed a socket to another process, which
/// writes without end.
fn read_rest(deadline: Instant, mut read: impl FnMut() -> Result<bool, VmError>) -> Result<(), VmError> {
    while read()? && Instant::now() < deadline {}
    Ok(())
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.kill();
        // The last messages of QEMU. An error of the machine has already been returned.
        let _ = self.drain();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_rest_ends_at_its_deadline() {
        let steps = |until: Instant, finds: &[bool]| {
            let mut finds = finds.iter();
            let mut steps = 0;
            read_rest(until, || {
                steps += 1;
                Ok(finds.next().copied().unwrap_or(true))
            })
            .unwrap();
            steps
        };
        let now = Instant::now();
        assert_eq!(steps(now, &[]), 1);
        assert_eq!(steps(now + READ_REST, &[true, true, false]), 3);
    }
}
