//! Errors of machines.

use crate::host::Qemu;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

const QEMU: &str = Qemu::NAME;

/// An error of a machine. It is not, by itself, a failure of the program that runs in the machine.
#[derive(Debug, thiserror::Error)]
pub enum VmError {
    /// QEMU is not installed.
    #[error("{QEMU} is not on PATH: install the package qemu-system-x86 (scripts/setup does this)")]
    NoQemu,
    /// ssh is not installed.
    #[error("ssh is not on PATH: install the package openssh-client (scripts/setup does this)")]
    NoSsh,
    /// A process of the machine cannot be started.
    #[error("cannot start {QEMU}: {0}")]
    Start(#[source] io::Error),
    /// QEMU's control protocol failed.
    #[error("QMP: {0}")]
    Qmp(String),
    /// QEMU ended unexpectedly: when, how, and the last lines of its log.
    #[error("QEMU ended {0}")]
    Gone(String),
    /// A signal that the controller did not send ended QEMU: when, how, and the last lines of its log.
    #[error("QEMU ended {0}")]
    Killed(String),
    /// QEMU reported that a signal ended it, and exited: when, how, and the last lines of its log. A QEMU that a guest controls
    /// can report this without a signal.
    #[error("QEMU ended {0}")]
    ReportedKill(String),
    /// A signal that QEMU can cause itself, such as that for an invalid access to memory, ended it: when, how, and the last
    /// lines of its log. A guest may be the cause.
    #[error("QEMU crashed {0}")]
    Crashed(String),
    /// The kernel ended QEMU because its memory reached the limit of its cgroup: when, how, and the last lines of its log. Only
    /// what a guest makes it do needs as much.
    #[error("QEMU ended {0}")]
    MemoryLimit(String),
    /// A signal that the controller did not send ended the host's ssh of a machine: its number.
    #[error("ssh was ended by signal {0}")]
    SshKilled(i32),
    /// The guest ended its machine: how, and the last lines of its console.
    #[error("the guest {how} {causes}")]
    GuestEnded {
        /// How it ended.
        how: GuestEnd,
        /// When, and the last lines of the logs.
        causes: String,
    },
    /// The port of the guest agent was closed, and QEMU did not end.
    #[error("the port of the guest agent was closed, and {QEMU} did not end")]
    PortClosed,
    /// The program was built without libvirt.
    #[error(
        "backend = \"libvirt\": this mcc-harness was built without it; remove the key from [hosts], or install the \
         package libvirt-dev and build with it: RUSTFLAGS=\"\" cargo build --release --features libvirt --target-dir \
         target/libvirt"
    )]
    NoLibvirt,
    /// libvirt failed.
    #[cfg(feature = "libvirt")]
    #[error("libvirt: {0}")]
    Libvirt(String),
    /// A vCPU thread cannot be pinned.
    #[error("cannot pin a vCPU thread to CPU {cpu}: {source}")]
    Pin {
        /// The host CPU.
        cpu: u32,
        /// The cause.
        source: nix::Error,
    },
    /// QEMU stopped the machine: its state.
    #[error("QEMU stopped the machine: {0}")]
    Stopped(String),
    /// The accelerator of QEMU failed. Under KVM the kernel of a guest can cause it.
    #[error(
        "QEMU stopped the machine: internal-error (its accelerator failed; `mcc-harness doctor` probes it)"
    )]
    InternalError,
    /// QEMU could not read or write a disk file of the machine.
    #[error("a disk of the machine failed on the host ({operation} of {device}): {reason}")]
    Disk {
        /// QEMU's name of the disk.
        device: String,
        /// `read` or `write`.
        operation: String,
        /// The cause, from QEMU.
        reason: String,
        /// Whether the host had no space left.
        no_space: bool,
        /// Whether it still has none.
        full: bool,
    },
    /// The writes of the machine to its disks reached their limit.
    #[error(
        "the machine wrote more than {} MiB to its disk, its limit: raise `disk_gib` below [limits] of the campaign if \
         its runs need more", bytes >> 20
    )]
    DiskLimit {
        /// The limit.
        bytes: u64,
    },
    /// A disk of the machine is refused before QEMU opens it.
    #[error(transparent)]
    BadDisk(#[from] super::DiskError),
    /// The CPU time of the machine cannot be read.
    #[error(
        "the CPU time of the machine cannot be read ({}: {problem}), so no CPU limit can be enforced; the controller \
         needs a kernel with CONFIG_SCHEDSTATS, and where /proc is mounted with hidepid, CAP_SYS_PTRACE", path.display()
    )]
    CpuTime {
        /// The file with the time.
        path: PathBuf,
        /// The cause.
        problem: String,
    },
    /// The limit of instructions cannot be enforced.
    #[error("no limit of instructions can be enforced: {0}")]
    InstructionLimit(String),
    /// QEMU did not run for this time: a signal or a debugger stopped it.
    #[error("{QEMU} was stopped for {:.1} s by a signal or a debugger on the host", .0.as_secs_f64())]
    Held(Duration),
    /// The controller did not run for this time, so it could not check the machine.
    #[error("suspended host: the controller could not check its machine for {} s", .0.as_secs())]
    Suspended(Duration),
    /// The guest lacks required CPU flags: their names.
    #[error("the guest does not see these required CPU flags: {0}")]
    CpuFlags(String),
    /// The guest agent or the ssh session that replaces it failed.
    #[error("guest agent: {0}")]
    Agent(String),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] mcc_base::FileError),
}

/// How a guest ended its machine. A host that ends a machine is another error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuestEnd {
    /// Its kernel panicked.
    Panic,
    /// It switched the machine off.
    Shutdown,
    /// It reset the machine.
    Reset,
}

impl fmt::Display for GuestEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Panic => "panicked",
            Self::Shutdown => "switched its machine off",
            Self::Reset => "reset its machine",
        })
    }
}

impl VmError {
    /// Whether the guest alone can be the cause. No guest can change such an error into another one.
    pub fn is_by_guest(&self) -> bool {
        matches!(
            self,
            Self::GuestEnded { .. }
                | Self::PortClosed
                | Self::Agent(_)
                | Self::DiskLimit { .. }
                | Self::MemoryLimit(_)
        )
    }

    /// Whether the machine failed by a fault of QEMU or of its accelerator, without a known cause, or for a cause that only
    /// QEMU states: a guest that controls QEMU can make it fail in each of these ways. Under libvirt the cause is never known.
    pub fn is_crash(&self) -> bool {
        matches!(
            self,
            Self::Crashed(_)
                | Self::InternalError
                | Self::Gone(_)
                | Self::Qmp(_)
                | Self::Stopped(_)
                | Self::ReportedKill(_)
                // QEMU shares the file of the counters, so it can keep the controller from writing to it.
                | Self::InstructionLimit(_)
        )
    }

    /// Whether QEMU could not read or write the disk of the tool, and not another one.
    pub fn is_of_tools_disk(&self) -> bool {
        matches!(self, Self::Disk { device, .. } if device == "disk")
    }

    /// Whether a signal from outside the controller ended the machine, or QEMU reported that one did.
    pub fn is_by_signal(&self) -> bool {
        matches!(self, Self::Killed(_) | Self::ReportedKill(_) | Self::SshKilled(_))
    }

    /// Whether the host has no space left, so that another attempt would fail too.
    pub fn is_full_disk(&self) -> bool {
        match self {
            Self::Disk { full, .. } => *full,
            Self::File(error) => mcc_base::files::is_full(&error.source),
            _ => false,
        }
    }
}
