//! Who holds QEMU: we ourselves, or libvirt.

use super::isolation::Isolation;
#[cfg(feature = "libvirt")]
use super::libvirt::Domain;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::Child;
use std::time::Duration;

/// The QEMU of one machine.
pub(super) enum Process {
    Child(Child),
    #[cfg(feature = "libvirt")]
    Domain(Domain),
}

/// A QEMU that was started stopped (`-S`).
pub(super) struct StartedQemu {
    pub qemu: Process,
    /// QMP, console, control, stdout, stderr: non-blocking.
    pub host_side: [UnixStream; 5],
    /// QEMU's ends of stdout and stderr, which over ssh are the tool's session's.
    pub outputs: Vec<OwnedFd>,
    pub isolation: Isolation,
    /// Where QEMU makes its overlay; not libvirt's, which is given one.
    pub own: Option<tempfile::TempDir>,
}

impl Process {
    pub fn id(&self) -> u32 {
        match self {
            Self::Child(child) => child.id(),
            #[cfg(feature = "libvirt")]
            Self::Domain(domain) => domain.id(),
        }
    }

    /// A vCPU thread to one CPU (E-5.5). libvirt has done so itself: that is checked.
    pub fn pin(&self, thread: i32, cpu: u32) -> Result<(), Errno> {
        let alone = cpu_set(&[cpu]).unwrap_or_default();
        let thread = Pid::from_raw(thread);
        match self {
            Self::Child(_) => sched_setaffinity(thread, &alone),
            #[cfg(feature = "libvirt")]
            Self::Domain(_) => match nix::sched::sched_getaffinity(thread)? == alone {
                true => Ok(()),
                false => Err(Errno::EXDEV),
            },
        }
    }

    /// Whether it ends within `timeout`.
    pub fn ends_within(&self, timeout: Duration) -> bool {
        match self {
            Self::Child(child) => pidfd(child.id()).is_none_or(|end| wait_for(&end, timeout)),
            #[cfg(feature = "libvirt")]
            Self::Domain(domain) => domain.ends_within(timeout),
        }
    }

    /// Whether a signal ended it. To be asked after `wait`.
    pub fn was_signalled(&mut self) -> bool {
        match self {
            Self::Child(child) => matches!(child.try_wait(), Ok(Some(status)) if status.signal().is_some()),
            #[cfg(feature = "libvirt")]
            Self::Domain(_) => false,
        }
    }

    /// At once; `wait` follows.
    pub fn kill(&mut self) {
        match self {
            Self::Child(child) => drop(child.kill()),
            #[cfg(feature = "libvirt")]
            Self::Domain(domain) => domain.kill(),
        }
    }

    /// Until it has ended after `kill`; how it did.
    pub fn wait(&mut self) -> String {
        match self {
            Self::Child(child) => child.wait().map_or_else(|e| e.to_string(), |status| status.to_string()),
            #[cfg(feature = "libvirt")]
            Self::Domain(domain) => domain.wait(),
        }
    }

    /// Its streams ended, so QEMU is ending; a QEMU that only closed them is killed.
    pub fn wait_or_kill(&mut self, timeout: Duration) {
        if let Some(end) = pidfd(self.id()) {
            wait_for(&end, timeout);
        }
        self.kill();
    }
}

/// None where there is no such process any more.
pub(super) fn pidfd(process: u32) -> Option<OwnedFd> {
    // SAFETY: a system call on plain numbers; the descriptor it returns is owned right away.
    unsafe {
        match nix::libc::syscall(nix::libc::SYS_pidfd_open, process, 0) {
            fd if fd >= 0 => Some(OwnedFd::from_raw_fd(fd as i32)),
            _ => None,
        }
    }
}

/// Until the process has ended, at most `timeout`; whether it has.
pub(super) fn wait_for(process: &OwnedFd, timeout: Duration) -> bool {
    let mut fds = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
    poll(&mut fds, PollTimeout::from(timeout.as_millis().min(60_000) as u16)).is_ok_and(|ended| ended > 0)
}

pub(super) fn cpu_set(cpus: &[u32]) -> Option<CpuSet> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        set.set(*cpu as usize).ok()?;
    }
    (!cpus.is_empty()).then_some(set)
}
