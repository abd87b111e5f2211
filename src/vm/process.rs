//! The QEMU process of a machine: a child of the controller, or started by libvirt.

use super::instructions::PluginCounters;
use super::isolation::Isolation;
#[cfg(feature = "libvirt")]
use super::libvirt::Domain;
use super::pidfd::{pidfd, wait_for};
use nix::errno::Errno;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::time::Duration;

/// The QEMU process of one machine.
pub(super) enum Process {
    /// A child of the controller.
    Child(Child),
    /// A process that libvirt started.
    #[cfg(feature = "libvirt")]
    Domain(Domain),
}

/// A QEMU process whose guest does not run yet (`-S`).
pub(super) struct StartedQemu {
    pub qemu: Process,
    /// The host's ends of QMP, console, control, stdout, stderr: non-blocking.
    pub host_side: [UnixStream; 5],
    /// The host's end of QEMU's stderr, non-blocking; None under libvirt.
    pub messages: Option<UnixStream>,
    /// QEMU's ends of stdout and stderr. With the ssh channel, the tool's session writes to them.
    pub outputs: Vec<OwnedFd>,
    pub isolation: Isolation,
    /// What the guest writes to its disks.
    pub overlays: Vec<File>,
    /// The files of the plugin that counts instructions, if QEMU has it.
    pub counters: Option<PluginCounters>,
}

impl Process {
    pub fn id(&self) -> u32 {
        match self {
            Self::Child(child) => child.id(),
            #[cfg(feature = "libvirt")]
            Self::Domain(domain) => domain.id(),
        }
    }

    /// Pins a vCPU thread to one CPU. libvirt has pinned its threads itself; there it is only checked.
    pub fn pin(&self, thread: i32, cpu: u32) -> Result<(), Errno> {
        let alone = cpu_set(&[cpu]).unwrap_or_default();
        let thread = Pid::from_raw(thread);
        match self {
            Self::Child(_) => sched_setaffinity(thread, &alone),
            #[cfg(feature = "libvirt")]
            Self::Domain(_) => {
                let is_alone = nix::sched::sched_getaffinity(thread)? == alone;
                if is_alone { Ok(()) } else { Err(Errno::EXDEV) }
            }
        }
    }

    /// Waits at most `timeout` for the end of QEMU; whether it has ended.
    pub fn ends_within(&self, timeout: Duration) -> bool {
        match self {
            Self::Child(child) => pidfd(child.id()).is_none_or(|end| wait_for(&end, timeout)),
            #[cfg(feature = "libvirt")]
            Self::Domain(domain) => domain.ends_within(timeout),
        }
    }

    /// Whether a signal ended QEMU; to be called after `wait`.
    pub fn was_signalled(&mut self) -> bool {
        match self {
            Self::Child(child) => matches!(child.try_wait(), Ok(Some(status)) if status.signal().is_some()),
            #[cfg(feature = "libvirt")]
            Self::Domain(_) => false,
        }
    }

    /// Whether a signal ended QEMU that it can cause itself: a fault such as an invalid access to memory, a failed assertion, or
    /// a timer; to be called after `wait`. SIGBUS is one, although a failing disk below QEMU's program or libraries causes it
    /// too: all other files that QEMU maps are in memory. Those that operators and batch systems send are not counted.
    pub fn has_crashed(&mut self) -> bool {
        use nix::libc::{SIGHUP, SIGINT, SIGKILL, SIGTERM, SIGXCPU};
        // QEMU inherits the limit of CPU time of the controller.
        let has_time_limit = || getrlimit(Resource::RLIMIT_CPU).is_ok_and(|(soft, _)| soft != RLIM_INFINITY);
        let is_of_host = |signal| match signal {
            SIGHUP | SIGINT | SIGKILL | SIGTERM => true,
            SIGXCPU => has_time_limit(),
            _ => false,
        };
        match self {
            Self::Child(child) => child.try_wait().is_ok_and(|status| {
                status.and_then(|status| status.signal()).is_some_and(|signal| !is_of_host(signal))
            }),
            #[cfg(feature = "libvirt")]
            Self::Domain(_) => false,
        }
    }

    /// Whether QEMU ended in an unknown way; to be called after `wait`.
    pub fn ended_unseen(&self) -> bool {
        match self {
            Self::Child(_) => false,
            #[cfg(feature = "libvirt")]
            Self::Domain(_) => true,
        }
    }

    /// The exit status of QEMU, to be called after `wait`; None: a signal ended it, or libvirt started it.
    pub fn exit_status(&mut self) -> Option<i32> {
        match self {
            Self::Child(child) => child.try_wait().ok().flatten()?.code(),
            #[cfg(feature = "libvirt")]
            Self::Domain(_) => None,
        }
    }

    /// Kills QEMU without waiting for its end; `wait` must follow.
    pub fn kill(&mut self) {
        match self {
            Self::Child(child) => drop(child.kill()),
            #[cfg(feature = "libvirt")]
            Self::Domain(domain) => domain.kill(),
        }
    }

    /// Waits for the end of QEMU after `kill` and returns how it ended, as text.
    pub fn wait(&mut self) -> String {
        match self {
            Self::Child(child) => child.wait().map_or_else(|e| e.to_string(), |status| status.to_string()),
            #[cfg(feature = "libvirt")]
            Self::Domain(domain) => domain.wait(),
        }
    }
}

/// Returns the threads of a process: their numbers on this host by those in the process's own PID namespace, which QEMU reports.
pub(super) fn threads(process: u32) -> BTreeMap<i64, i32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let numbers = tasks.filter_map(|task| {
        let status = fs::read_to_string(task.path().join("status")).ok()?;
        let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
        Some((
            numbers.split_whitespace().next_back()?.parse().ok()?,
            task.file_name().to_str()?.parse().ok()?,
        ))
    });
    numbers.collect()
}

/// Returns the CPUs as a set of the kernel; None for no CPUs or an invalid number.
pub(super) fn cpu_set(cpus: &[u32]) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(*cpu as usize).ok()?;
    }
    (!cpus.is_empty()).then_some(set)
}
