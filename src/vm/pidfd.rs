//! Descriptors of processes, which never stand for another process with the same number.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// Opens a descriptor of a process; None if the process does not exist any more.
pub(super) fn pidfd(process: u32) -> Option<OwnedFd> {
    // SAFETY: a system call on plain numbers; the descriptor it returns is owned right away.
    unsafe {
        match nix::libc::syscall(nix::libc::SYS_pidfd_open, process, 0) {
            fd if fd >= 0 => Some(OwnedFd::from_raw_fd(fd as i32)),
            _ => None,
        }
    }
}

/// Kills a process, unless it has ended.
pub(super) fn kill_process(process: &OwnedFd) {
    let no_info = std::ptr::null::<nix::libc::siginfo_t>();
    let process = process.as_raw_fd();
    // SAFETY: a system call on an open descriptor; a null siginfo is allowed.
    unsafe {
        nix::libc::syscall(nix::libc::SYS_pidfd_send_signal, process, nix::libc::SIGKILL, no_info, 0);
    }
}

/// Waits at most `timeout` for the end of a process; whether it has ended.
pub(super) fn wait_for(process: &OwnedFd, timeout: Duration) -> bool {
    let mut fds = [PollFd::new(process.as_fd(), PollFlags::POLLIN)];
    poll(&mut fds, PollTimeout::from(timeout.as_millis().min(60_000) as u16)).is_ok_and(|ended| ended > 0)
}
