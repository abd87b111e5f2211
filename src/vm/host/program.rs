//! External programs. They are found on PATH, where tests put fakes.

use super::HostError;
use mcc_base::child_process::{self, Purpose};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use std::ffi::OsStr;
use std::io::{self, Read, Seek};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Returns the path of an executable on PATH, /usr/sbin or /sbin.
pub fn find_program(name: &str) -> Option<PathBuf> {
    find_on(std::env::var_os("PATH").as_deref()?, name)
}

fn find_on(path: &OsStr, name: &str) -> Option<PathBuf> {
    let executable = |path: &Path| {
        path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    // On Debian PATH has no sbin for users other than root, and mke2fs is there.
    let folders = std::env::split_paths(path).chain(["/usr/sbin".into(), "/sbin".into()]);
    folders.map(|folder| folder.join(name)).find(|path| executable(path))
}

/// The QEMU of this host for x86-64 machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qemu {
    /// Path of the executable.
    pub program: PathBuf,
    /// Version, such as `7.2.22`.
    pub version: String,
}

impl Qemu {
    /// Name of the executable.
    pub const NAME: &str = "qemu-system-x86_64";
    const PACKAGE: &str = "qemu-system-x86";

    /// Finds QEMU on PATH and reads its version.
    ///
    /// # Errors
    /// QEMU is not installed or does not run.
    pub fn find() -> Result<Self, HostError> {
        let missing = HostError::NotInstalled { program: Self::NAME, package: Self::PACKAGE };
        Self::at(find_program(Self::NAME).ok_or(missing)?)
    }

    fn at(program: PathBuf) -> Result<Self, HostError> {
        let broken = |problem: String| {
            let (program, package) = (program.display(), Self::PACKAGE);
            HostError::Unusable(format!(
                "{program} does not run: {problem}; reinstall it: apt-get install --reinstall {package}"
            ))
        };
        let mut command = child_process::command(&program, Purpose::Local);
        let ended = run_with_deadline(command.arg("--version"), Duration::from_secs(10))
            .map_err(|error| broken(error.to_string()))?;
        let version =
            ended.stdout.split_once("version ").and_then(|(_, rest)| rest.split_whitespace().next());
        match (ended.status, version) {
            (Some(status), Some(version)) if status.success() => {
                Ok(Self { version: version.to_owned(), program })
            }
            _ => Err(broken(format!("--version: {}", ended.describe()))),
        }
    }
}

/// The output of a program and how it ended.
pub struct ProgramOutput {
    /// None: the program was still running at its deadline and was killed.
    pub status: Option<ExitStatus>,
    /// Standard output, at most 64 MiB.
    pub stdout: String,
    /// Standard error, at most 64 MiB.
    pub stderr: String,
    /// Wall time from the start to the end.
    pub took: Duration,
}

impl ProgramOutput {
    /// Returns the status and the first line of the standard error that is not a warning, for messages.
    pub fn describe(&self) -> String {
        let status = match self.status {
            Some(status) => status.to_string(),
            None => format!("still running after {:.1} s", self.took.as_secs_f64()),
        };
        match self.stderr.lines().find(|line| !line.trim().is_empty() && !line.contains("warning:")) {
            Some(line) => format!("{status}: {}", line.trim()),
            None => status,
        }
    }
}

/// Limit of the output that is read. The queue of a large cluster is far shorter.
const MAX_OUTPUT_BYTES: u64 = 64 << 20;

/// Runs a program that prints little and kills it at its deadline. The kernel kills it when the calling thread ends.
///
/// # Errors
/// The program does not start, or its output cannot be read.
pub fn run_with_deadline(command: &mut Command, deadline: Duration) -> io::Result<ProgramOutput> {
    // Files, not pipes: a child of a killed program could hold a pipe open without end.
    let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdin(Stdio::null()).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
    let kill_with_parent = || {
        // A session of its own: signals of the terminal go to the controller only.
        nix::unistd::setsid()?;
        nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL).map_err(Into::into)
    };
    // SAFETY: between fork and exec it makes two system calls and allocates nothing.
    unsafe { command.pre_exec(kill_with_parent) };
    let start = Instant::now();
    let mut child = command.spawn()?;
    let pid = Pid::from_raw(child.id().cast_signed());
    let (ended, wait_for_end) = mpsc::channel();
    // WNOWAIT: the process is not reaped, so its number cannot be reused before it is killed.
    std::thread::spawn(move || {
        let end = waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT);
        // Fails if the deadline passed first: the receiver is dropped then.
        let _ = ended.send(end);
    });
    let in_time = wait_for_end.recv_timeout(deadline).is_ok();
    let took = start.elapsed();
    if !in_time {
        child.kill()?;
    }
    let status = child.wait()?;
    let text = |file: &mut std::fs::File| {
        let mut bytes = Vec::new();
        file.rewind()?;
        file.take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes)?;
        io::Result::Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(ProgramOutput {
        status: in_time.then_some(status),
        stdout: text(&mut stdout)?,
        stderr: text(&mut stderr)?,
        took,
    })
}

/// Closes the descriptors that this process has inherited, except standard input, output and error, in each program that
/// it will start. So a machine has no file of the program that started the controller. Descriptors that are opened
/// later are not affected. Kernels before 5.11 ignore it.
pub fn close_inherited_in_children() {
    const CLOSE_RANGE_CLOEXEC: u32 = 1 << 2;
    // SAFETY: a system call on plain numbers; it closes nothing in this process.
    unsafe {
        nix::libc::syscall(nix::libc::SYS_close_range, 3_u32, u32::MAX, CLOSE_RANGE_CLOEXEC);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Makes an executable with this shell script.
    ///
    /// Another process writes the file: a child that a parallel test forks could inherit a file that is open for
    /// writing in this process, and then the file could not be executed ("text file busy").
    pub(crate) fn fake(folder: &Path, name: &str, script: &str) -> PathBuf {
        let path = folder.join(name);
        let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$0" && chmod 755 "$0""#;
        let written = Command::new("sh").arg("-c").arg(write).arg(&path).arg(script).status().unwrap();
        assert!(written.success());
        path
    }

    #[test]
    fn the_first_executable_file_on_path_is_found() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(first.path().join("qemu-of-test"), "not executable").unwrap();
        let there = fake(second.path(), "qemu-of-test", "");
        let path = std::env::join_paths([first.path(), second.path()]).unwrap();
        assert_eq!(find_on(&path, "qemu-of-test"), Some(there));
        assert_eq!(find_on(&path, "no-such-program"), None);
    }

    #[test]
    fn the_version_of_qemu_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let program = fake(
            folder.path(),
            "qemu",
            "echo 'QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)'; echo Copyright",
        );
        assert_eq!(Qemu::at(program).unwrap().version, "7.2.22");
    }

    #[test]
    fn a_qemu_that_does_not_start_is_an_error_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let program = fake(
            folder.path(),
            "qemu",
            "echo 'error while loading shared libraries: libfdt.so.1' >&2; exit 127",
        );
        let error = Qemu::at(program).unwrap_err().to_string();
        assert!(error.contains("exit status: 127: error while loading shared libraries"), "{error}");
        assert!(error.contains("apt-get install --reinstall qemu-system-x86"), "{error}");
    }

    #[test]
    fn a_program_that_hangs_is_killed_at_its_deadline() {
        let folder = tempfile::tempdir().unwrap();
        let program = fake(folder.path(), "hang", "exec sleep 100000");
        let ended = run_with_deadline(&mut Command::new(program), Duration::from_millis(50)).unwrap();
        assert!(ended.status.is_none());
        // No upper bound of the time: it depends on the load of the host.
        assert!(ended.describe().starts_with("still running after "), "{}", ended.describe());
    }
}
