//! Native runs of a tool's folder on this host: without virtual machine, CPU pinning and the contest's libraries. A native
//! run finds errors in the answers within seconds, but a tool that passes may still fail in the contest's machine.

use super::RunLimits;
use super::descendants::Descendants;
use flate2::read::MultiGzDecoder;
use mcc_base::child_process::{self, Purpose};
use mcc_base::{Mark, evidence};
use mcc_campaign::benchkit::{AnswerLines, Invocation};
use mcc_model::Archive;
use mcc_store::{Arrivals, Outcome, RunFacts, Sample};
use nix::libc;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, setsid};
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::os::unix::fs::{MetadataExt, symlink};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The home of a tool in a machine. A temporary folder replaces it in a native run.
pub const HOME: &str = "/home/mcc";

/// Time in which a process that is being ended, such as by `kill`, disappears. A process that is left behind stays.
const ENDING_TIME: Duration = Duration::from_secs(2);

/// The result of a native run. Its outputs are in the folder that was given.
#[derive(Clone, Debug)]
pub struct NativeRun {
    /// How the run ended.
    pub outcome: Outcome,
    /// The marks of the run.
    pub marks: Vec<Mark>,
    /// The measurements.
    pub facts: RunFacts,
}

/// Time between two checks of the growing output of a tool.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// Largest length of stdout, and of stderr: that of the contest. A longer one ends the run, and is truncated.
const MAX_OUTPUT: u64 = 1 << 30;

/// Runs `BenchKit_head.sh` of the folder `tool` on an instance, in the home folder `home`, and kills it `grace` after the
/// wall limit. `home` is made for the run and removed after it. `stdout` and `stderr` are written to the folder `outputs`, and
/// files of evidence, if the invocation keeps them.
///
/// # Errors
/// The home folder cannot be created or removed, or the tool cannot be started.
pub fn run(
    home: &Path,
    tool: &Path,
    archive: &Archive,
    invocation: &Invocation,
    limits: &RunLimits,
    grace: Duration,
    outputs: &Path,
) -> io::Result<NativeRun> {
    fs::create_dir(home)?;
    let ended = run_in(home, tool, archive, invocation, limits, grace, outputs);
    match fs::remove_dir_all(home) {
        // The tool has removed its home itself.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => {
            let problem =
                format!("its home {} cannot be removed: {error}; remove it yourself", home.display());
            return Err(io::Error::new(error.kind(), problem));
        }
        Ok(()) => {}
    }
    ended
}

fn run_in(
    folder: &Path,
    tool: &Path,
    archive: &Archive,
    invocation: &Invocation,
    limits: &RunLimits,
    grace: Duration,
    outputs: &Path,
) -> io::Result<NativeRun> {
    let benchkit = make_home(folder, tool, archive)?;
    let execution = benchkit.join("execution");
    let began = execution.metadata()?;
    let home = folder.to_string_lossy().into_owned();
    let job = invocation.job(String::new(), 0, String::new());
    let mut command = child_process::command("/bin/bash", Purpose::Local);
    command.arg("-c").arg(benchkit.join("BenchKit_head.sh")).current_dir(&execution);
    for (name, value) in job.env.iter().filter(|(name, _)| *name != "PATH") {
        command.env(name, value.replace(HOME, &home));
    }
    let (stdout, stderr) = (outputs.join("stdout"), outputs.join("stderr"));
    let (out, err) = (File::create(&stdout)?, File::create(&stderr)?);
    // Before the tool can put a pipe in its place: opening that would wait without end.
    let mut growing = File::open(&stdout)?;
    let created = [(&stdout, out.metadata()?.ino()), (&stderr, err.metadata()?.ino())];
    command.stdin(Stdio::null()).stdout(out).stderr(err);
    // SAFETY: between fork and exec only one system call is made.
    unsafe { command.pre_exec(|| setsid().map(drop).map_err(io::Error::from)) };
    let descendants = Descendants::adopt()?;
    let started = Instant::now();
    let child = command.spawn()?;
    let pid = Pid::from_raw(child.id() as i32);

    let (ended, until_ended) = channel::<()>();
    let limit = Duration::from_secs(limits.wall_s) + grace;
    let mut lines = AnswerLines::default();
    let mut look = || -> io::Result<()> {
        // Not what is printed meanwhile: a tool can print without end.
        let new = growing.metadata()?.len().saturating_sub(growing.stream_position()?);
        let mut new = (&mut growing).take(new);
        let mut part = [0; 1 << 16];
        loop {
            match new.read(&mut part)? {
                0 => return Ok(()),
                n => lines.add(&part[..n], Instant::now()),
            }
        }
    };
    let printed = &stdout;
    // A tool can also set the length of its output, to more than could ever be read.
    let is_too_long =
        || [&stdout, &stderr].iter().any(|path| path.metadata().is_ok_and(|found| found.len() > MAX_OUTPUT));
    let watch = move || -> io::Result<(Vec<Sample>, Option<Outcome>)> {
        let mut samples = vec![];
        loop {
            let next = Duration::from_secs(1 + samples.len() as u64).min(limit);
            let wait = next.saturating_sub(started.elapsed()).min(LOOK_INTERVAL);
            let has_ended = until_ended.recv_timeout(wait) != Err(RecvTimeoutError::Timeout);
            if is_too_long() {
                let _ = killpg(pid, Signal::SIGKILL);
                return Ok((samples, Some(Outcome::OutputLimit)));
            }
            if let Err(error) = look() {
                let _ = killpg(pid, Signal::SIGKILL);
                return Err(error);
            }
            if has_ended {
                return Ok((samples, None));
            }
            if started.elapsed() < next {
                continue;
            }
            let at_ms = started.elapsed().as_millis() as u64;
            let stdout_bytes = printed.metadata().map_or(0, |found| found.len());
            samples.push(Sample { at_ms, stdout_bytes, ..Sample::default() });
            if started.elapsed() >= limit {
                // Kills the process group of the tool. `wait` is called below.
                let _ = killpg(pid, Signal::SIGKILL);
                return Ok((samples, Some(Outcome::WallLimit)));
            }
        }
    };
    let (waited, watched) = thread::scope(|scope| {
        let watcher = scope.spawn(watch);
        let waited = wait(pid);
        drop(ended);
        (waited, watcher.join())
    });
    let (samples, cut) =
        watched.unwrap_or_else(|_| Err(io::Error::other("the thread that watches the output panicked")))?;
    let (lines, dropped) = lines.finish(started);
    let (status, usage) = waited?;
    let wall = started.elapsed();
    let left_behind = descendants.running_after(ENDING_TIME)?;
    descendants.kill()?;
    for (path, inode) in created {
        // A tool can put a pipe, a device or a link in its place, which would be read without end.
        let found = path.symlink_metadata();
        if !found.is_ok_and(|found| found.is_file() && found.ino() == inode) {
            let problem = format!("{}: the tool replaced the file of its output", path.display());
            return Err(io::Error::other(problem));
        }
    }
    if job.evidence_folder.is_some() {
        let keep = |name: &str, text: &str| fs::write(outputs.join(name), text);
        evidence::read_all(&benchkit.join("results"), keep)?;
    }
    let is_cut = cut.is_some();
    let outcome = match (cut, status.code(), status.signal()) {
        (Some(cut), ..) => cut,
        (None, Some(exit_code), _) => Outcome::Finished { exit_code },
        (None, None, signal) => Outcome::ToolCrash { signal: signal.unwrap_or(libc::SIGKILL) },
    };
    let ms = |time: libc::timeval| time.tv_sec as u64 * 1000 + time.tv_usec as u64 / 1000;
    let facts = RunFacts {
        wall_ms: wall.as_millis() as u64,
        cpu_ms: ms(usage.ru_utime) + ms(usage.ru_stime),
        vcpus: limits.vcpus,
        memory_kib: Some(usage.ru_maxrss as u64),
        written: written(folder, &benchkit, &began),
        arrivals: Some(Arrivals { lines, dropped }),
        stdout_bytes: stdout.metadata()?.len(),
        stderr_bytes: stderr.metadata()?.len(),
        samples,
        ..RunFacts::default()
    };
    for path in [&stdout, &stderr].into_iter().filter(|_| outcome == Outcome::OutputLimit) {
        let file = File::options().write(true).open(path)?;
        file.set_len(file.metadata()?.len().min(MAX_OUTPUT))?;
    }
    let left_behind = !is_cut && !left_behind.is_empty();
    Ok(NativeRun { outcome, marks: left_behind.then_some(Mark::LEFT_BEHIND).into_iter().collect(), facts })
}

/// Creates the folders of a contest disk in `home`: a copy of the tool's folder, which the tool may change, with the
/// unpacked instance as `execution`. Returns the BenchKit folder.
fn make_home(home: &Path, tool: &Path, archive: &Archive) -> io::Result<PathBuf> {
    let benchkit = home.join("BenchKit");
    fs::create_dir(&benchkit)?;
    let unpacked = home.join("unpacked");
    unpack(archive, &unpacked)?;
    copy(&tool.canonicalize()?, &benchkit)?;
    fs::create_dir(benchkit.join("results"))?;
    fs::rename(unpacked.join(archive.instance.as_str()), benchkit.join("execution"))?;
    fs::remove_dir(&unpacked)?;
    Ok(benchkit)
}

/// Unpacks an instance into the new folder `unpacked`.
pub(super) fn unpack(archive: &Archive, unpacked: &Path) -> io::Result<()> {
    // `Archive::open` rejects unsafe entries.
    if !archive.path().is_dir() {
        return tar::Archive::new(MultiGzDecoder::new(File::open(archive.path())?)).unpack(unpacked);
    }
    let folder = unpacked.join(archive.instance.as_str());
    fs::create_dir_all(&folder)?;
    for file in fs::read_dir(archive.path())? {
        let file = file?;
        fs::copy(file.path(), folder.join(file.file_name()))?;
    }
    Ok(())
}

/// Copies files, folders and symbolic links, except the folders of BenchKit at the top. A link into `from` leads into `to`
/// afterwards.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let own = ["execution", "results"].map(|name| from.join(name));
    let items = walkdir::WalkDir::new(from).min_depth(1).into_iter();
    for item in items.filter_entry(|item| own.iter().all(|own| own != item.path())) {
        let item = item?;
        let place = to.join(item.path().strip_prefix(from).expect("the item is in the folder"));
        let kind = item.file_type();
        if kind.is_dir() {
            fs::create_dir(&place)?;
        } else if kind.is_symlink() {
            let target = fs::read_link(item.path())?;
            symlink(target.strip_prefix(from).map_or(target.clone(), |inside| to.join(inside)), place)?;
        } else if kind.is_file() {
            mcc_vm::sparse_copy(item.path(), &place)?;
        }
    }
    Ok(())
}

/// Waits for a process. Returns its status and the resource usage of it and its children.
fn wait(pid: Pid) -> io::Result<(ExitStatus, libc::rusage)> {
    let mut status = 0;
    // SAFETY: an rusage is plain data; both pointers are valid during the call.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        loop {
            if libc::wait4(pid.as_raw(), &mut status, 0, &mut usage) >= 0 {
                return Ok((ExitStatus::from_raw(status), usage));
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}

/// Files in the home folder that changed after the start of the run, except in its own folders; with the path that they
/// would have in a machine.
fn written(home: &Path, benchkit: &Path, began: &fs::Metadata) -> Vec<String> {
    let own = [benchkit.join("execution"), benchkit.join("results")];
    let began = (began.ctime(), began.ctime_nsec());
    let files = walkdir::WalkDir::new(home).sort_by_file_name().into_iter();
    let files = files.filter_entry(|entry| own.iter().all(|own| own != entry.path()));
    files
        .flatten()
        .filter(|entry| entry.file_type().is_file())
        .filter(|entry| {
            entry.path().metadata().is_ok_and(|found| (found.ctime(), found.ctime_nsec()) > began)
        })
        .map(|entry| {
            let inside = entry.path().strip_prefix(home).expect("the file is in the home folder");
            Path::new(HOME).join(inside).display().to_string()
        })
        .take(mcc_base::guest::MAX_LEFTOVER_FILES)
        .collect()
}
