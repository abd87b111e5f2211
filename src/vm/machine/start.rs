//! Starts QEMU as a child of the controller, and its guest.

use super::{BALLOON, Machine};
use crate::channel::Channel;
use crate::disk_header::{DiskFile, check_disk, check_open_disk};
use crate::error::VmError;
use crate::host::{Qemu, find_program};
use crate::instructions::{self, Counters, InstructionSource, PluginCounters};
use crate::isolation::Isolation;
use crate::overlay;
use crate::perf::{HostKernel, PerfCounters};
use crate::process::{Process, StartedQemu, threads};
use crate::qmp::text;
use crate::spec::{Guest, MachineSpec, QemuSockets, Start, argv};
use crate::ssh::Ssh;
use mcc_base::child_process::{self, Purpose};
use mcc_base::{FileError, OnFile};
use serde_json::json;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

impl Machine {
    /// Starts QEMU as a child of the controller.
    pub(super) fn spawn(spec: &MachineSpec, folder: &Path) -> Result<StartedQemu, VmError> {
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
        let open = |path: PathBuf| spec.held_files.open(&path).on("open", path);
        let files = spec.files().into_iter().map(open).collect::<Result<Vec<File>, FileError>>()?;
        let saved = match &spec.start {
            Start::Boot => vec![],
            Start::Save(saved) => vec![saved.memory().map_err(VmError::Start)?],
            Start::Restore(saved) => {
                vec![
                    saved.copy_memory().map_err(VmError::Start)?,
                    saved.overlay_to_read().map_err(VmError::Start)?,
                ]
            }
        };
        let counters = spec.has_plugin().then(|| PluginCounters::new(spec.vcpus));
        let counters = counters.transpose().map_err(VmError::Start)?;
        let plugin = counters.as_ref().map(|counters| [&counters.plugin, &counters.slots]);
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
        let program = find_program(Qemu::NAME).ok_or(VmError::NoQemu)?;
        let program = fs::canonicalize(&program).on("find", program)?;
        let mut command = child_process::command(program, Purpose::Machine);
        command.args(argv(spec, &qemu_sockets)).env("TMPDIR", folder);
        let (messages, qemu_stderr) = UnixStream::pair().map_err(VmError::Start)?;
        messages.set_nonblocking(true).map_err(VmError::Start)?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(OwnedFd::from(qemu_stderr));
        // With the ssh channel only QMP and the console are sockets of QEMU.
        let sockets = if matches!(spec.guest, Guest::Ssh(_)) { 2 } else { ends.len() };
        let sockets = ends[..sockets].iter().map(AsRawFd::as_raw_fd);
        let files = overlays.iter().chain(&saved).chain(&files).chain(plugin.into_iter().flatten());
        let inherited: Vec<i32> = sockets.chain(files.map(AsRawFd::as_raw_fd)).collect();
        let qemu = isolation.spawn(&mut command, inherited, &spec.housekeeping_cpus);
        let qemu = qemu.map_err(|error| match error.kind() {
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
    pub(super) fn start_guest(
        &mut self,
        spec: &MachineSpec,
        outputs: Vec<OwnedFd>,
        deadline: Instant,
    ) -> Result<(), VmError> {
        self.qmp.negotiate(deadline)?;
        if let (Guest::Ssh(original), Ok([stdout, stderr])) = (&spec.guest, <[_; 2]>::try_from(outputs)) {
            let port = self.qmp.forwarded_port(deadline)?;
            let network = self.isolation.network_of(self.pid()).map_err(VmError::Start)?;
            let ssh = Ssh::new(original, (port, network), &self.folder, (stdout, stderr))?;
            self.control = Channel::Ssh(Box::new(ssh));
        }
        let cpus = self.qmp.execute("query-cpus-fast", deadline)?;
        let known = threads(self.pid());
        let named = cpus.as_array().into_iter().flatten().filter_map(|cpu| cpu["thread-id"].as_i64());
        self.vcpu_threads =
            named.filter_map(|id| known.get(&id).copied()).take(spec.vcpus as usize + 1).collect();
        if self.vcpu_threads.len() != spec.vcpus as usize {
            return Err(VmError::Qmp(format!(
                "{} vCPU threads instead of {}: {}",
                self.vcpu_threads.len(),
                spec.vcpus,
                text(Some(&cpus.to_string()))
            )));
        }
        match instructions::source(spec) {
            Err(obstacle) => self.counters = Err(obstacle.to_owned()),
            Ok(InstructionSource::Perf) => {
                self.counters = PerfCounters::new(&HostKernel, &self.vcpu_threads).map(Counters::Perf);
            }
            Ok(InstructionSource::Plugin) => {}
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
}

/// Checks the disks of a machine and makes its overlays, which are files without a name on the file system of `folder`. A
/// kept overlay exists already. QEMU inherits them in this order (`QemuSockets::overlays`).
///
/// # Errors
/// A disk is refused, or an overlay cannot be made or opened.
pub fn overlays(spec: &MachineSpec, folder: &Path) -> Result<Vec<File>, VmError> {
    let check = |disk: &DiskFile| match spec.held_files.get(&disk.path) {
        None => check_disk(disk),
        Some(held) => check_open_disk(disk, &held.reopen().on("open", &disk.path)?),
    };
    spec.disks().iter().try_for_each(|disk| check(disk).map(drop))?;
    let make = |(number, disk): (usize, &DiskFile)| match &spec.start {
        Start::Save(saved) if number == 0 => saved.overlay().map_err(VmError::Start),
        _ => {
            let overlay = overlay::unnamed(check(disk)?, spec.overlay_limit(), folder);
            Ok(overlay.on("create", folder.join("(overlay)"))?)
        }
    };
    spec.overlay_disks().into_iter().enumerate().map(make).collect()
}
