//! CPU time of QEMU's vCPU threads, from the host's kernel: `/proc/PID/task/TID/schedstat`.

use super::error::VmError;
use super::isolation::user_of_this_host;
use mcc_base::child_process::{self, Purpose};
use nix::sys::signal::Signal;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};

/// Returns the CPU time of a thread, user and system, ns. The tick-based times of the kernel are coarser by a factor of
/// 100 000.
///
/// # Errors
/// The file is missing (the thread has ended, the kernel has no CONFIG_SCHED_INFO, `/proc` hides it) or has unexpected
/// content.
pub(super) fn of_thread(proc: &Path, process: u32, thread: i32) -> Result<u64, VmError> {
    let path = proc.join(format!("{process}/task/{thread}/schedstat"));
    let read = || {
        let text = fs::read_to_string(&path)?;
        let first = text.split_whitespace().next().and_then(|number| number.parse().ok());
        first.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("no schedstat: {text:?}")))
    };
    read().map_err(|source| VmError::CpuTime { path: path.clone(), problem: source.to_string() })
}

/// Whether a thread has ended before its process.
pub(super) fn has_ended(proc: &Path, process: u32, thread: i32) -> bool {
    let threads = proc.join(format!("{process}/task"));
    let found = fs::symlink_metadata(threads.join(thread.to_string()));
    threads.is_dir() && found.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Checks that the controller can read the CPU time of QEMU on this host, with a process that runs as QEMU's user.
///
/// # Errors
/// `VmError::CpuTime`: the time cannot be read, so no CPU limit can be enforced.
pub fn probe() -> Result<(), VmError> {
    let mut process = IdleProcess::start().map_err(|source| VmError::CpuTime {
        path: SHELL.into(),
        problem: format!("the process for the check does not start: {source}"),
    })?;
    let result = probe_in(Path::new("/proc"), process.0.id());
    process.end();
    result
}

fn probe_in(proc: &Path, process: u32) -> Result<(), VmError> {
    match of_thread(proc, process, process.cast_signed())? {
        // A kernel with CONFIG_SCHED_INFO, without CONFIG_SCHEDSTATS and with delay accounting off reports 0 for all
        // threads.
        0 => Err(VmError::CpuTime {
            path: proc.join(format!("{process}/task/{process}/schedstat")),
            problem: "0 ns for a process that has run; the kernel does not count".to_owned(),
        }),
        _ => Ok(()),
    }
}

/// A program that every host has.
const SHELL: &str = "/bin/sh";

/// A process that waits for input without end; the kernel kills it when the controller exits.
struct IdleProcess(Child);

impl IdleProcess {
    fn start() -> io::Result<Self> {
        let user = user_of_this_host();
        let mut shell = child_process::command(SHELL, Purpose::Local);
        shell.args(["-c", "read -r line"]);
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // SAFETY: between fork and exec only system calls are made, on data prepared before.
        unsafe {
            shell.pre_exec(move || {
                nix::unistd::setsid()?;
                if let Some(user) = &user {
                    user.switch_to()?;
                }
                nix::sys::prctl::set_pdeathsig(Signal::SIGKILL).map_err(Into::into)
            });
        }
        shell.spawn().map(Self)
    }

    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proc(schedstat: &str) -> tempfile::TempDir {
        let proc = tempfile::tempdir().unwrap();
        let task = proc.path().join("7/task/7");
        fs::create_dir_all(&task).unwrap();
        fs::write(task.join("schedstat"), schedstat).unwrap();
        proc
    }

    #[test]
    fn a_schedstat_is_read_and_anything_else_is_an_error() {
        assert_eq!(of_thread(proc("2776573 1 2\n").path(), 7, 7).unwrap(), 2_776_573);
        for text in ["", "\n", "-1 0 0\n", "x 0 0\n"] {
            let error = of_thread(proc(text).path(), 7, 7).unwrap_err().to_string();
            assert!(error.contains("no schedstat"), "{error}");
        }
        let error = of_thread(proc("1 2 3\n").path(), 7, 8).unwrap_err().to_string();
        assert!(error.contains("7/task/8/schedstat") && error.contains("No such file"), "{error}");
    }

    #[test]
    fn a_thread_has_ended_only_if_the_threads_of_its_process_can_be_seen() {
        let proc = proc("1 2 3\n");
        assert!(!has_ended(proc.path(), 7, 7), "it runs");
        assert!(has_ended(proc.path(), 7, 8));
        assert!(!has_ended(proc.path(), 8, 8), "the process has ended, or is hidden");
    }

    #[test]
    fn a_kernel_that_does_not_count_is_refused() {
        assert!(probe_in(proc("1 0 0\n").path(), 7).is_ok());
        let error = probe_in(proc("0 0 0\n").path(), 7).unwrap_err().to_string();
        assert!(error.contains("the kernel does not count"), "{error}");
    }

    #[test]
    fn this_host_counts() {
        probe().unwrap();
    }
}
