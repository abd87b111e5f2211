//! A running machine: one QEMU process, used by the thread that started it.

use super::channel::{Channel, Received};
use super::cpu_time;
use super::disk_header::{DiskError, DiskFile, check_disk, check_open_disk};
use super::error::{GuestEnd, VmError};
use super::instructions::{self, Counters, Instructions};
use super::isolation::Isolation;
#[cfg(feature = "libvirt")]
use super::libvirt;
use super::overlay;
use super::process::{Process, StartedQemu, cpu_set};
use super::qmp::{Lines, MachineEnd, Qmp, parse, poll_readable, text};
use super::spec::{Backend, Guest, MachineSpec, QemuSockets, Start, argv};
use super::ssh::Ssh;
use super::stall::{StallDetector, since_boot};
use super::stream_file::{Observer, ReadResult, Sink};
use super::vcpu_load;
use crate::host::Qemu;
use mcc_base::child_process::{self, Purpose};
use mcc_base::files::tail;
use mcc_base::guest::{GuestEvent, MAX_LINE, Request};
use mcc_base::guest_kernel_log;
use nix::errno::Errno;
use nix::sched::sched_setaffinity;
use nix::unistd::Pid;
use serde_json::json;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

const QEMU: &str = Qemu::NAME;

/// The end of a log in which the cause of an error is searched, in bytes.
const LOG_END: u64 = 1 << 16;

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
    memory_kib: u64,
    began: Instant,
    nonce: String,
    has_invalid_messages: bool,
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
    /// Err: why instructions are not counted.
    counters: Result<Counters, String>,
    /// The count at `restart_instructions`.
    instructions_before: Instructions,
}

/// Memory statistics of the guest's kernel, queried over QMP.
#[derive(Debug, Default)]
struct Balloon {
    query_pending: bool,
    used_kib: Option<u64>,
}

impl Balloon {
    /// Takes a value from an answer in bytes. Missing values are -1; values above the machine's memory are impossible.
    /// Both are ignored. A guest without the driver reports nothing.
    fn update(&mut self, answer: &serde_json::Value, most_kib: u64) {
        self.query_pending = false;
        let stat = |name: &str| answer["return"]["stats"][name].as_u64().filter(|bytes| *bytes < u64::MAX);
        if let (Some(total), Some(available)) = (stat("stat-total-memory"), stat("stat-available-memory")) {
            let used = total.saturating_sub(available) / 1024;
            self.used_kib = (used <= most_kib).then_some(used).or(self.used_kib);
        }
    }
}

/// The longest planned interval between two checks of a machine. A much later check is a stall of the controller.
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(1);

impl MachineSpec {
    /// Returns the arguments of QEMU, or the lines of libvirt's XML, for the record. They are equal for equal machines.
    pub fn description(&self) -> Vec<String> {
        match self.backend {
            Backend::Qemu => argv(self, &QemuSockets::placeholder()),
            #[cfg(feature = "libvirt")]
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
        let refusal = match Self::start_once(spec, folder, output_cap, deadline) {
            Err(VmError::Gone(log)) if spec.has_plugin() && instructions::is_refusal(&log) => log,
            started => return started,
        };
        let without = MachineSpec { count_instructions: false, ..spec.clone() };
        let mut machine = Self::start_once(&without, folder, output_cap, deadline)?;
        machine.counters = Err(format!("{QEMU} refused the plugin: it ended {refusal}"));
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
            File::create(&path).map_err(|source| VmError::Io { path, source })
        };
        let StartedQemu { qemu, host_side, messages, outputs, isolation, overlays, counters } =
            match spec.backend {
                Backend::Qemu => Self::spawn(spec, folder)?,
                #[cfg(feature = "libvirt")]
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
            memory_kib: spec.memory_mib * 1024,
            began: Instant::now(),
            nonce: String::new(),
            has_invalid_messages: false,
            end: None,
            buffer: vec![0; 1 << 18],
            folder: folder.to_owned(),
            stall_detector: StallDetector::new(Duration::ZERO),
            balloon: Balloon::default(),
            isolation,
            overlays,
            disk_limit: spec.disk_limit,
            counters,
            instructions_before: Instructions::default(),
        };
        machine.start_guest(spec, outputs, deadline).map_err(|error| machine.with_cause(error))?;
        machine.stall_detector = StallDetector::new(since_boot());
        Ok(machine)
    }

    /// Starts QEMU as a child of the controller.
    fn spawn(spec: &MachineSpec, folder: &Path) -> Result<StartedQemu, VmError> {
        let mut ends = vec![];
        let mut pair = || -> Result<(UnixStream, String), VmError> {
            let (host_side, peer_side) = UnixStream::pair().map_err(VmError::Start)?;
            host_side.set_nonblocking(true).map_err(VmError::Start)?;
            let number = peer_side.as_raw_fd().to_string();
            ends.push(peer_side);
            Ok((host_side, number))
        };
        let (qmp, qmp_fd) = pair()?;
        let (console, console_fd) = pair()?;
        let (control, control_fd) = pair()?;
        let (stdout, stdout_fd) = pair()?;
        let (stderr, stderr_fd) = pair()?;
        let overlays = overlays(spec, folder)?;
        let open = |path: PathBuf| spec.held_files.open(&path).map_err(|source| VmError::Io { path, source });
        let files = spec.files().into_iter().map(open).collect::<Result<Vec<File>, VmError>>()?;
        let saved = match &spec.start {
            Start::Boot => vec![],
            Start::Save(saved) => vec![saved.memory().map_err(VmError::Start)?],
            Start::Restore(saved) => {
                vec![
                    saved.memory().map_err(VmError::Start)?,
                    saved.overlay_to_read().map_err(VmError::Start)?,
                ]
            }
        };
        let counters = match instructions::obstacle(spec) {
            Some(obstacle) => Err(obstacle.to_owned()),
            None => Ok(Counters::new(spec.vcpus).map_err(VmError::Start)?),
        };
        let plugin = counters.as_ref().ok().map(|counters| [&counters.plugin, &counters.slots]);
        let number = |file: Option<&File>| file.map(|file| file.as_raw_fd().to_string()).unwrap_or_default();
        let qemu_sockets = QemuSockets {
            qmp: qmp_fd,
            console: console_fd,
            control: control_fd,
            stdout: stdout_fd,
            stderr: stderr_fd,
            overlays: overlays.iter().map(|overlay| number(Some(overlay))).collect(),
            files: files.iter().map(|file| number(Some(file))).collect(),
            saved: [number(saved.first()), number(saved.get(1))],
            plugin: [0, 1].map(|file| number(plugin.map(|files| files[file]))),
        };
        let isolation = Isolation::new(spec, folder);
        let pre_exec_setup = isolation.pre_exec_setup();
        let mut command = child_process::command(QEMU, Purpose::Local);
        command.args(argv(spec, &qemu_sockets)).env("TMPDIR", folder);
        let (messages, qemu_stderr) = UnixStream::pair().map_err(VmError::Start)?;
        messages.set_nonblocking(true).map_err(VmError::Start)?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(OwnedFd::from(qemu_stderr));
        // With the ssh channel only QMP and the console are sockets of QEMU.
        let sockets = if matches!(spec.guest, Guest::Ssh(_)) { 2 } else { ends.len() };
        let sockets = ends[..sockets].iter().map(AsRawFd::as_raw_fd);
        let files = overlays.iter().chain(&saved).chain(&files).chain(plugin.into_iter().flatten());
        let inherited: Vec<i32> = sockets.chain(files.map(AsRawFd::as_raw_fd)).collect();
        let rest = cpu_set(&spec.housekeeping_cpus);
        let controller = std::process::id();
        // SAFETY: between fork and exec only system calls are made, on data prepared before.
        unsafe {
            command.pre_exec(move || {
                // A session of its own: signals of the terminal go to the controller only.
                nix::unistd::setsid()?;
                pre_exec_setup.apply()?;
                // After the change of user, which clears this setting.
                nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
                if nix::unistd::getppid().as_raw() as u32 != controller {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
                if let Some(rest) = &rest {
                    sched_setaffinity(Pid::from_raw(0), rest)?;
                }
                for fd in &inherited {
                    nix::errno::Errno::result(nix::libc::fcntl(*fd, nix::libc::F_SETFD, 0))?;
                }
                Ok(())
            });
        }
        let qemu = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => VmError::NoQemu,
            _ => VmError::Start(error),
        })?;
        // The controller closes its copies of QEMU's ends, so that every stream ends when QEMU ends.
        let outputs = ends.split_off(3).into_iter().map(OwnedFd::from).collect();
        let host_side = [qmp, console, control, stdout, stderr];
        let (qemu, messages) = (Process::Child(qemu), Some(messages));
        Ok(StartedQemu { qemu, host_side, messages, outputs, isolation, overlays, counters })
    }

    /// Starts the guest of a machine that QEMU started stopped (`-S`), after its vCPU threads are pinned.
    ///
    /// `outputs`: QEMU's ends of stdout and stderr. With the ssh channel the tool's session writes to them.
    fn start_guest(
        &mut self,
        spec: &MachineSpec,
        outputs: Vec<OwnedFd>,
        deadline: Instant,
    ) -> Result<(), VmError> {
        self.qmp.negotiate(deadline)?;
        if let (Guest::Ssh(original), Ok([stdout, stderr])) = (&spec.guest, <[_; 2]>::try_from(outputs)) {
            let port = self.qmp.forwarded_port(deadline)?;
            let ssh = Ssh::new(&original.login, port, &self.folder, (stdout, stderr))?;
            self.control = Channel::Ssh(Box::new(ssh));
        }
        let cpus = self.qmp.execute("query-cpus-fast", deadline)?;
        let threads = cpus.as_array().into_iter().flatten().filter_map(|cpu| cpu["thread-id"].as_i64());
        self.vcpu_threads =
            threads.filter_map(|id| i32::try_from(id).ok()).take(spec.vcpus as usize + 1).collect();
        if self.vcpu_threads.len() != spec.vcpus as usize {
            return Err(VmError::Qmp(format!(
                "{} vCPU threads instead of {}: {}",
                self.vcpu_threads.len(),
                spec.vcpus,
                text(Some(&cpus.to_string()))
            )));
        }
        // Refused before the guest runs.
        self.cpu_time()?;
        for (thread, cpu) in self.vcpu_threads.iter().zip(&spec.vcpu_cpus) {
            self.qemu.pin(*thread, *cpu).map_err(|source| VmError::Pin { cpu: *cpu, source })?;
        }
        if let Start::Restore(saved) = &spec.start {
            self.qmp.restore_state(&saved.devices_to_read().map_err(VmError::Start)?, deadline)?;
        }
        self.qmp.execute("cont", deadline)?;
        let polling = json!({
            "execute": "qom-set",
            "arguments": {"path": BALLOON, "property": "guest-stats-polling-interval", "value": 1},
            "id": "polling"
        });
        match self.qmp.send(&polling) {
            // `wait` reports the end of QEMU, after the events that the guest sent before it.
            Err(VmError::Gone(_)) => Ok(()),
            sent => sent,
        }
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
            if let Some(received) = self.control.next()? {
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
                Err(VmError::Stopped(match state.as_deref() {
                    Ok("guest-panicked") => {
                        self.end = Some(MachineEnd::Guest(GuestEnd::Panic));
                        return Err(VmError::Gone(String::new()));
                    }
                    Ok("internal-error") => {
                        "internal-error (its accelerator failed; `mcc-harness doctor` probes it)".to_owned()
                    }
                    Ok(state) => state.to_owned(),
                    Err(error) => format!("for an unknown reason ({error})"),
                }))
            }
            _ => Ok(()),
        }
    }

    /// Reads an event of QEMU about a read or write that failed.
    fn disk_error(&self, event: &serde_json::Value) -> VmError {
        let reason = text(event["reason"].as_str());
        match self.disk_limit {
            Some(bytes) if reason == Errno::EFBIG.desc() => VmError::DiskLimit { bytes },
            _ => VmError::Disk {
                // The field `device` is empty. libvirt gives the nodes names of its own.
                device: match event["node-name"].as_str() {
                    Some(node) if !node.is_empty() && !node.starts_with("libvirt-") => text(Some(node)),
                    _ => text(event["qom-path"].as_str()),
                },
                operation: text(event["operation"].as_str()),
                reason,
                full: event["nospace"] == true,
            },
        }
    }

    /// Whether the guest sent messages that were dropped.
    pub fn has_invalid_messages(&self) -> bool {
        self.has_invalid_messages
    }

    /// Whether the guest's console states that its memory was exhausted.
    pub fn names_exhausted_memory(&self) -> bool {
        let console = fs::read(self.folder.join("console")).unwrap_or_default();
        guest_kernel_log::names_exhausted_memory(&String::from_utf8_lossy(&console))
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

    /// Waits until a descriptor is readable; false if `deadline` has passed.
    fn poll(&mut self, deadline: Instant) -> Result<bool, VmError> {
        if !self.qmp.lines.open || !self.control.is_open() {
            return Err(VmError::Gone(String::new()));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(false);
        }
        let (mut fds, check) = self.control.poll_targets();
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
            let read = sink.read_available(&mut self.buffer);
            let read = read.map_err(|source| VmError::Io { path: self.folder.join(name), source })?;
            if let (ReadResult::Full, Some(stream)) = (read, stream) {
                return Ok(Some(Event::OutputLimit(stream)));
            }
        }
        Ok(None)
    }

    /// Returns the user and system time of the vCPU threads since their start. The guest cannot forge it. After the
    /// end of QEMU it is the value that was read last.
    ///
    /// # Errors
    /// `VmError::CpuTime`: QEMU runs and the time cannot be read.
    pub fn cpu_time(&mut self) -> Result<Duration, VmError> {
        let process = self.qemu.id();
        let threads = self.vcpu_threads.iter();
        let read = threads.map(|thread| cpu_time::of_thread(Path::new("/proc"), process, *thread)).sum();
        match read {
            Ok(ns) => self.cpu_time = Duration::from_nanos(ns),
            // The threads of a process end before the process.
            Err(_) if self.qemu.ends_within(Duration::from_secs(1)) => {}
            Err(error) => return Err(error),
        }
        Ok(self.cpu_time)
    }

    /// Counts instructions from now on. The guest should wait, so that the moment does not depend on the host.
    pub fn restart_instructions(&mut self) {
        self.instructions_before = self.all_instructions().unwrap_or_default();
    }

    /// Returns the instructions that the guest executed since `restart_instructions`, else since the start of QEMU; also
    /// after the end of QEMU. The guest cannot change their sum; one with a kernel of its own can execute code at addresses
    /// of the other kind.
    ///
    /// # Errors
    /// Why they are not counted.
    pub fn instructions(&self) -> Result<Instructions, String> {
        Ok(self.all_instructions()?.since(self.instructions_before))
    }

    fn all_instructions(&self) -> Result<Instructions, String> {
        self.counters.as_ref().map_err(String::clone)?.read().map_err(|error| error.to_string())
    }

    /// Returns the last reported memory in use by the whole guest, KiB; None if the guest reports nothing. Sends the
    /// next query, whose answer is read in `wait`.
    ///
    /// # Errors
    /// QEMU has ended.
    pub fn balloon_kib(&mut self) -> Result<Option<u64>, VmError> {
        // One query at a time: a QEMU that hangs does not read them.
        if !self.balloon.query_pending {
            self.balloon.query_pending = true;
            let sent = self.qmp.send(&json!({
                "execute": "qom-get",
                "arguments": {"path": BALLOON, "property": "guest-stats"},
                "id": BALLOON
            }));
            sent.map_err(|error| self.with_cause(error))?;
        }
        Ok(self.balloon.used_kib)
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

    /// Returns QEMU's resident memory in KiB, now and at its peak. The peak is at least the memory that the guest used.
    pub fn rss_kib(&self) -> Option<(u64, u64)> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.qemu.id())).ok()?;
        let kib = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        Some((kib("VmRSS:")?, kib("VmHWM:")?))
    }

    /// Returns the space that the writes of the guest to its disks take on the host, KiB.
    pub fn disk_kib(&self) -> u64 {
        let blocks = self.overlays.iter().filter_map(|overlay| overlay.metadata().ok());
        blocks.map(|overlay| overlay.blocks() / 2).sum()
    }

    /// Whether QEMU is stopped by a signal or a debugger of the host. No guest can cause it.
    pub fn is_held(&self) -> bool {
        vcpu_load::any_is_held(Path::new("/proc"), self.pid(), &self.vcpu_threads)
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

    /// Copies the output that is left in the sockets after the end of QEMU. Nothing follows it, even if another process
    /// has the sockets open. ssh is a separate process and is ended first.
    fn drain(&mut self) -> Result<(), VmError> {
        self.control.close();
        loop {
            let logs =
                |machine: &Self| (machine.console.received(), machine.qmp.log.as_ref().map(Sink::received));
            let before = (self.received(), logs(self));
            self.read_available()?;
            if (self.received(), logs(self)) == before {
                return Ok(());
            }
        }
    }

    fn kill(&mut self) {
        self.qemu.kill();
        self.qemu.wait();
    }

    /// Returns the error for a guest that did not reach a state in time, with the last log lines of the channel.
    pub fn timeout_error(&self, state: &str) -> VmError {
        let lines = self.last_lines(self.control.log(), "warning:");
        let lines = lines.map(|lines| format!(" ({lines})")).unwrap_or_default();
        VmError::Agent(format!("the guest was not {state} by its deadline{lines}"))
    }

    /// Adds to `VmError::Gone` how QEMU ended and the last log lines of QEMU and the guest, and distinguishes a guest that
    /// ended its machine from a QEMU that was ended by the host.
    ///
    /// A guest must not be able to pass its end off as a failure of the host. It writes the text of the console, so only
    /// QEMU's own events, log and exit status decide.
    fn with_cause(&mut self, error: VmError) -> VmError {
        let VmError::Gone(when) = error else { return error };
        let has_ended = self.qemu.ends_within(Duration::from_secs(5));
        let port_closed = !has_ended && self.qmp.lines.open && !self.control.is_open();
        self.qemu.kill();
        let how = self.qemu.wait();
        self.read_end();
        let _ = self.drain();
        let log = self.last_lines("qemu.log", "warning:");
        // QEMU handles SIGTERM, SIGINT and SIGHUP: it writes a message to its log and exits.
        let by_signal = self.qemu.was_signalled()
            || self.end == Some(MachineEnd::Host("host-signal".to_owned()))
            || log.as_ref().is_some_and(|log| log.contains(": terminating on signal "));
        let guest_end = match &self.end {
            Some(MachineEnd::Guest(end)) => Some(*end),
            Some(MachineEnd::Host(_)) => None,
            // Without a signal QEMU exits with this status only when the guest switched the machine off. The event is lost
            // if the guest causes many other events before.
            None => (self.qemu.exit_status() == Some(0) && !by_signal).then_some(GuestEnd::Shutdown),
        };
        if guest_end.is_none() && port_closed {
            return VmError::PortClosed;
        }
        let memory_limit = self.isolation.memory_limit_reached();
        let crashed = memory_limit.is_none() && self.qemu.has_crashed();
        let causes = [memory_limit, log, self.last_lines("console", "  ")];
        let causes: Vec<&str> = causes.iter().flatten().map(String::as_str).collect();
        let parts = [when.as_str(), &format!("({how})"), &causes.join("; ")];
        let text = parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(" ");
        match guest_end {
            Some(how) => VmError::GuestEnded { how, causes: text },
            None if self.qemu.ended_unseen() && self.wrote_its_share() => {
                VmError::DiskLimit { bytes: self.disk_limit.unwrap_or_default() }
            }
            None if crashed => VmError::Crashed(text),
            None if by_signal => VmError::Killed(text),
            None => VmError::Gone(text),
        }
    }

    /// Whether an overlay is as large as the disk limit.
    fn wrote_its_share(&self) -> bool {
        let mut overlays = self.overlays.iter().filter_map(|overlay| overlay.metadata().ok());
        self.disk_limit.is_some_and(|limit| overlays.any(|overlay| overlay.len() >= limit))
    }

    /// Reads the events that QEMU sent before its end.
    fn read_end(&mut self) {
        while self.end.is_none()
            && let Ok(Some(line)) = self.qmp.lines.next()
        {
            self.end = parse(&line).ok().as_ref().and_then(MachineEnd::from_event);
        }
    }

    /// Returns the last lines of a log, without empty ones and those that contain `noise`.
    fn last_lines(&self, log: &str, noise: &str) -> Option<String> {
        let text = tail(&self.folder.join(log), LOG_END).ok()?;
        let text = String::from_utf8_lossy(&text);
        let lines = text.lines().map(strip_timestamp);
        let lines = lines.filter(|line| !line.contains(noise) && !line.trim().is_empty());
        let lines: Vec<String> = lines.map(|line| line.trim().chars().take(300).collect()).collect();
        // A kernel that panics prints the cause first and its registers last.
        let cause =
            lines.iter().position(|line| line.starts_with("mcc-guest-agent:") || line.contains("panic"));
        let first = cause.unwrap_or(lines.len().saturating_sub(3));
        let shown = lines[first..].iter().take(3).cloned().collect::<Vec<_>>().join("; ");
        (!shown.is_empty()).then(|| format!("{log}: {shown}"))
    }
}

/// Checks the disks of a machine and makes its overlays, which are files without a name on the file system of `folder`. A
/// kept overlay exists already. QEMU inherits them in this order (`QemuSockets::overlays`).
///
/// # Errors
/// A disk is refused, or an overlay cannot be made or opened.
pub fn overlays(spec: &MachineSpec, folder: &Path) -> Result<Vec<File>, VmError> {
    let check = |disk: &DiskFile| match spec.held_files.get(&disk.path) {
        None => check_disk(disk),
        Some(held) => {
            let file = held.reopen().map_err(|source| DiskError::Io { path: disk.path.clone(), source })?;
            check_open_disk(disk, &file)
        }
    };
    spec.disks().iter().try_for_each(|disk| check(disk).map(drop))?;
    let make = |(number, disk): (usize, &DiskFile)| match &spec.start {
        Start::Save(saved) if number == 0 => saved.overlay().map_err(VmError::Start),
        _ => overlay::unnamed(check(disk)?, spec.overlay_limit(), folder)
            .map_err(|source| VmError::Io { path: folder.join("(overlay)"), source }),
    };
    spec.overlay_disks().into_iter().enumerate().map(make).collect()
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.kill();
        // The last messages of QEMU. An error of the machine has already been returned.
        let _ = self.drain();
    }
}

/// Removes the kernel's time from a line of its log: `[    3.451559] Kernel panic - not syncing`.
fn strip_timestamp(line: &str) -> &str {
    let parts = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    parts.filter(|(time, _)| time.trim().parse::<f64>().is_ok()).map_or(line, |(_, message)| message)
}
