//! What can go wrong with a machine.

use mcc_host::Qemu;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

const QEMU: &str = Qemu::NAME;

/// What went wrong with a machine; never a tool's fault by itself.
#[derive(Debug, thiserror::Error)]
pub enum VmError {
    #[error("{QEMU} is not on PATH: install the package qemu-system-x86 (scripts/setup does)")]
    NoQemu,
    #[error("ssh is not on PATH: install the package openssh-client (scripts/setup does)")]
    NoSsh,
    #[error("cannot start {QEMU}: {0}")]
    Start(#[source] io::Error),
    #[error("QMP: {0}")]
    Qmp(String),
    #[error("QEMU ended {0}")]
    Gone(String),
    /// By a signal that the controller did not send.
    #[error("QEMU ended {0}")]
    Killed(String),
    /// The host's ssh of a machine was ended by a signal that the controller did not send.
    #[error("ssh was ended by signal {0}")]
    SshKilled(i32),
    #[cfg(feature = "libvirt")]
    #[error("libvirt: {0}")]
    Libvirt(String),
    #[error("cannot pin a vCPU thread to CPU {cpu}: {source}")]
    Pin { cpu: u32, source: nix::Error },
    #[error("QEMU stopped the machine: {0}")]
    Stopped(String),
    #[error("a disk of the machine failed on the host ({operation} of {device}): {reason}")]
    Disk { device: String, operation: String, reason: String, full: bool },
    #[error(
        "the CPU time of the machine cannot be read ({}: {problem}), so no CPU limit can be enforced; the controller \
         needs a kernel with CONFIG_SCHEDSTATS, and where /proc is mounted with hidepid, CAP_SYS_PTRACE", path.display()
    )]
    CpuTime { path: PathBuf, problem: String },
    #[error("suspended host: the controller was kept from looking at its machine for {} s", .0.as_secs())]
    Suspended(Duration),
    #[error("the guest does not see these CPU flags, which rule E-5.2 requires: {0}")]
    CpuFlags(String),
    /// Over either channel.
    #[error("guest agent: {0}")]
    Agent(String),
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl VmError {
    /// Whether a signal from outside the controller ended the machine.
    pub fn is_by_signal(&self) -> bool {
        matches!(self, Self::Killed(_) | Self::SshKilled(_))
    }

    /// Whether the host has no room left: no other attempt will do better.
    pub fn is_full_disk(&self) -> bool {
        match self {
            Self::Disk { full, .. } => *full,
            Self::Io { source, .. } => mcc_base::files::is_full(source),
            _ => false,
        }
    }
}
