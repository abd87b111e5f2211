//! QEMU controlled through a process and sockets only: the reference for the harness.

use mcc_harness::base::guest::Request;
use mcc_harness::host::Qemu;
use mcc_harness::vm::{MachineSpec, QemuSockets, argv, overlays};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The name of the additional port of the bare machine.
pub const PORT: &str = "bare";

pub struct BareQemu {
    qemu: Child,
    control: BufReader<UnixStream>,
    port: UnixStream,
    /// Kept open; never read.
    _others: Vec<UnixStream>,
}

impl BareQemu {
    /// Starts QEMU with the harness's arguments, but running and with an additional port. Returns when the agent is ready.
    pub fn boot(spec: &MachineSpec, folder: &Path) -> Self {
        let pairs: Vec<_> = (0..6).map(|_| UnixStream::pair().unwrap()).collect();
        let fd = |n: usize| pairs[n].1.as_raw_fd().to_string();
        let overlays = overlays(spec, folder).unwrap();
        let qemu_sockets = QemuSockets {
            qmp: fd(0),
            console: fd(1),
            control: fd(2),
            stdout: fd(3),
            stderr: fd(4),
            overlays: overlays.iter().map(|overlay| overlay.as_raw_fd().to_string()).collect(),
            files: vec![],
            saved: <[String; 2]>::default(),
            plugin: <[String; 2]>::default(),
        };
        let inherited =
            pairs.iter().map(|(_, theirs)| theirs.as_fd()).chain(overlays.iter().map(AsFd::as_fd));
        for theirs in inherited {
            nix::fcntl::fcntl(theirs, nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty())).unwrap();
        }
        let args = argv(spec, &qemu_sockets).into_iter().filter(|arg| arg != "-S");
        let mut command = Command::new(Qemu::NAME);
        command
            .args(args)
            .env("TMPDIR", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.args(["-chardev", &format!("socket,id={PORT},fd={}", fd(5))]);
        command.args(["-device", &format!("virtserialport,chardev={PORT},name={PORT}")]);
        let qemu = command.spawn().unwrap();
        let mut host_ends: Vec<UnixStream> = pairs.into_iter().map(|(host_end, _)| host_end).collect();
        let port = host_ends.remove(5);
        let control = BufReader::new(host_ends.remove(2));
        let mut bare = Self { qemu, control, port, _others: host_ends };
        bare.expect_event("ready");
        bare
    }

    pub fn send(&mut self, request: &Request) {
        let line = serde_json::to_string(request).unwrap() + "\n";
        self.control.get_mut().write_all(line.as_bytes()).unwrap();
    }

    /// Reads the next event of the agent; panics if it is another one.
    pub fn expect_event(&mut self, event: &str) {
        let mut line = String::new();
        self.control.read_line(&mut line).unwrap();
        assert!(line.contains(event), "{event}: {line}");
    }

    /// Reads that many bytes from its port and drops them.
    pub fn take(&mut self, mut bytes: u64) {
        let mut buffer = vec![0; 1 << 18];
        while bytes > 0 {
            let read = self.port.read(&mut buffer).unwrap();
            assert!(read > 0, "the port was closed with {bytes} bytes missing");
            bytes -= read as u64;
        }
    }

    pub fn halt(mut self) {
        self.qemu.kill().unwrap();
        self.qemu.wait().unwrap();
    }
}
