//! Runs one job: environment, process, output, end.

use crate::boot;
use crate::port::Control;
use anyhow::{Context, Result, anyhow, bail, ensure};
use mcc_base::guest::{Exit, GuestEvent, Job, MAX_LEFTOVER_FILES, Unpack};
use mcc_base::{cgroup_files, evidence, guest_kernel_log};
use nix::fcntl::{AT_FDCWD, FcntlArg, OFlag, OpenHow, ResolveFlag, fcntl, openat2};
use nix::mount::{MsFlags, mount};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_no_new_privs;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Gid, Pid, Uid, chown, fchown, setegid, seteuid, setgid, setgroups, setsid, setuid};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, PipeWriter, Read, Seek, SeekFrom};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The cgroup of the job. Its use is measured, and its processes are killed at the end.
const GROUP: &str = "/sys/fs/cgroup/job";
const GROUP_PROCS: &str = "/sys/fs/cgroup/job/cgroup.procs";

/// A job that is ready to be started.
pub struct Prepared {
    command: Command,
    /// Leftover files are searched here.
    home: String,
    /// Folders of the job itself, which are not searched.
    empty_folders: Vec<String>,
    /// The folder of files of evidence that are sent; None: none are sent.
    evidence_folder: Option<String>,
    /// Files changed from this time on count as leftover, seconds since 1970.
    since: i64,
    /// Memory limit of the job's cgroup, KiB; None: it has none.
    pub memory_limit_kib: Option<u64>,
}

struct User {
    uid: Uid,
    gid: Gid,
}

impl User {
    /// Finds a user in /etc/passwd: a statically linked program has no name service.
    fn named(name: &str) -> Result<Self> {
        let passwd = accounts().context("/etc/passwd")?;
        let fields = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let user = fields.into_iter().find(|f| f.first() == Some(&name) && f.len() > 3);
        let user = user.with_context(|| format!("the disk has no user {name}"))?;
        let uid = Uid::from_raw(user[2].parse()?);
        let gid = Gid::from_raw(user[3].parse()?);
        // Only a job that asks for it. The group of root can remove devices of the machine.
        let is_root = uid.is_root() || gid.as_raw() == 0;
        ensure!(!is_root || name == "root", "the user {name} is root, or is in the group of root");
        Ok(Self { uid, gid })
    }

    /// Runs `work` with the rights of this user. The agent must have one thread only, as it has until its job runs.
    fn as_user<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        setegid(self.gid)?;
        seteuid(self.uid)?;
        let done = work();
        seteuid(Uid::from_raw(0))?;
        setegid(Gid::from_raw(0))?;
        done
    }

    /// Returns a command that will run as this user, in the job's cgroup and in a session of its own. Its output must be
    /// pipes.
    fn command(&self, program: &str) -> Command {
        let (uid, gid) = (self.uid, self.gid);
        let mut command = Command::new(program);
        command.env_clear().stdin(Stdio::null());
        // SAFETY: between fork and exec only system calls are made, on data prepared before.
        unsafe {
            command.pre_exec(move || {
                fs::write(GROUP_PROCS, "0")?;
                // A program that opens /dev/stdout or /dev/stderr opens the pipe again, which only its owner may.
                fchown(BorrowedFd::borrow_raw(1), Some(uid), Some(gid))?;
                fchown(BorrowedFd::borrow_raw(2), Some(uid), Some(gid))?;
                // Segments and queues of System V and POSIX queues end with the last process of the job.
                unshare(CloneFlags::CLONE_NEWIPC)?;
                setsid()?;
                setgroups(&[gid])?;
                setgid(gid)?;
                setuid(uid)?;
                // A set-uid file of the disk, as a container may have, would be root beside this agent.
                set_no_new_privs()?;
                Ok(())
            });
        }
        command
    }
}

/// The largest /etc/passwd that is read, bytes.
const MAX_ACCOUNTS: u64 = 1 << 20;

/// The text of /etc/passwd, which must be a regular file of the disk: a link of the disk could lead to a device, or to a
/// file that is another one than when the image was built.
fn accounts() -> Result<String> {
    let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let how = OpenHow::new().flags(flags).resolve(ResolveFlag::RESOLVE_NO_XDEV);
    let file = File::from(openat2(AT_FDCWD, "/etc/passwd", how)?);
    ensure!(file.metadata()?.is_file(), "it is not a regular file");
    let mut text = vec![];
    file.take(MAX_ACCOUNTS + 1).read_to_end(&mut text)?;
    ensure!(text.len() as u64 <= MAX_ACCOUNTS, "it has more than {MAX_ACCOUNTS} bytes");
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The part of the preparation that fails only because of the content of the tool's disk.
#[derive(Debug)]
pub struct ToolsDisk;

impl fmt::Display for ToolsDisk {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the tool's disk")
    }
}

/// Prepares the environment of a job. No program of the tool runs yet.
pub fn prepare(job: &Job) -> Result<Prepared> {
    set_clock(job.clock_ns)?;
    seed_random_pool(&job.seed)?;
    fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+memory +cpu +pids").context("cgroup controllers")?;
    fs::create_dir(GROUP).context(GROUP)?;
    let memory_limit_kib = limit_group(job.memory_reserve_kib)?;
    for disk in &job.mounts {
        // Only the tool's disk can lack the folder, or have a link that leads elsewhere, such as to /proc.
        let at = Path::new(&disk.at);
        if !at.is_dir() || fs::canonicalize(at).ok().as_deref() != Some(at) {
            return Err(
                anyhow!("{} is not a folder, or its path has a symbolic link", disk.at).context(ToolsDisk)
            );
        }
        let flags = MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(Some(&*disk.device), &*disk.at, Some(&*disk.fs), flags, None::<&str>)
            .with_context(|| format!("mounting {} at {}", disk.device, disk.at))?;
    }
    let archive = match &job.unpack {
        Some(unpack) => Some((unpack, File::open(&unpack.archive).with_context(|| unpack.archive.clone())?)),
        None => None,
    };
    let user = prepare_disk(job, archive).context(ToolsDisk)?;
    let (program, arguments) = job.command.split_first().context("an empty command")?;
    let mut command = user.command(program);
    command.args(arguments).envs(&job.env).current_dir(&job.cwd);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let home = job.env.get("HOME").cloned().unwrap_or_default();
    Ok(Prepared {
        command,
        home,
        empty_folders: job.empty_folders.clone(),
        evidence_folder: job.evidence_folder.clone(),
        since: (job.clock_ns / 1_000_000_000) as i64,
        memory_limit_kib,
    })
}

/// Threads that the guest's kernel can always make in addition to those of the job: for the agent and for the kernel itself.
const RESERVED_THREADS: u64 = 128;

/// Limits memory and number of threads of the job's cgroup, so that the job cannot exhaust those of the guest. Returns
/// the memory limit in KiB.
fn limit_group(memory_reserve_kib: u64) -> Result<Option<u64>> {
    let number = |path: &str| -> Result<u64> {
        fs::read_to_string(path)?.trim().parse().with_context(|| path.to_owned())
    };
    let threads = number("/proc/sys/kernel/pid_max")?.min(number("/proc/sys/kernel/threads-max")?);
    fs::write(format!("{GROUP}/pids.max"), threads.saturating_sub(RESERVED_THREADS).to_string())
        .context("limiting the number of processes")?;
    if memory_reserve_kib == 0 {
        return Ok(None);
    }
    let total = boot::total_memory_kib()?;
    ensure!(
        memory_reserve_kib < total,
        "the guest has {total} KiB of memory, less than the reserve of {memory_reserve_kib} KiB"
    );
    let limit = total - memory_reserve_kib;
    fs::write(format!("{GROUP}/memory.max"), (limit * 1024).to_string()).context("limiting the memory")?;
    let swap = format!("{GROUP}/memory.swap.max");
    if Path::new(&swap).exists() {
        fs::write(swap, "0").context("limiting the swap space")?;
    }
    Ok(Some(limit))
}

/// Makes what the job needs on the tool's disk, and returns the job's user.
fn prepare_disk(job: &Job, archive: Option<(&Unpack, File)>) -> Result<User> {
    let user = User::named(&job.user)?;
    for folder in &job.empty_folders {
        match fs::symlink_metadata(folder) {
            Ok(found) if found.is_dir() => remove_folder(Path::new(folder), MAX_REMOVED)?,
            Ok(_) => fs::remove_file(folder).with_context(|| folder.clone())?,
            Err(_) => {}
        }
        fs::create_dir_all(folder).with_context(|| folder.clone())?;
        chown(&**folder, Some(user.uid), Some(user.gid))?;
    }
    if let Some((unpack, archive)) = archive {
        user.as_user(|| untar(archive, &unpack.to))
            .with_context(|| format!("unpacking {}", unpack.archive))?;
    }
    Ok(user)
}

/// The largest number of names below a folder that is emptied. Removing far more could use up most of the time for the
/// preparation: it would fail only for large instances, as an infrastructure failure.
const MAX_REMOVED: usize = 100_000;

/// Removes a folder with at most `most` names.
fn remove_folder(folder: &Path, most: usize) -> Result<()> {
    // Keeps each folder on the way open. With a limit, walkdir would read the rest of a folder, perhaps millions of names,
    // into memory.
    let names = walkdir::WalkDir::new(folder).min_depth(1).max_open(usize::MAX).into_iter();
    ensure!(
        names.take(most + 1).count() <= most,
        "{} has more than {most} names on the disk; empty it before the disk is submitted",
        folder.display()
    );
    fs::remove_dir_all(folder).with_context(|| folder.display().to_string())
}

/// Unpacks an archive with one folder of plain files. It does not start tar and gzip, because that takes half a second
/// in a guest without hardware virtualization.
fn untar(archive: File, folder: &str) -> Result<()> {
    for entry in tar::Archive::new(flate2::read::GzDecoder::new(archive)).entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let within = path.components().skip_while(|part| *part == Component::CurDir).skip(1);
        let plain = within.clone().all(|part| matches!(part, Component::Normal(_)));
        let kind = entry.header().entry_type();
        ensure!(
            plain && (kind.is_file() || kind.is_dir()),
            "{} is not a plain file or folder",
            path.display()
        );
        let to = Path::new(folder).join(within.collect::<PathBuf>());
        if kind.is_dir() {
            fs::create_dir_all(&to)?;
        } else {
            to.parent().map_or(Ok(()), fs::create_dir_all)?;
            // Without the mode of the entry: the tool must be able to read it.
            let mut file = File::create(&to).with_context(|| to.display().to_string())?;
            io::copy(&mut entry, &mut file).with_context(|| path.display().to_string())?;
        }
    }
    Ok(())
}

fn set_clock(ns: u64) -> Result<()> {
    let now = nix::sys::time::TimeSpec::from_duration(Duration::from_nanos(ns));
    nix::time::clock_settime(nix::time::ClockId::CLOCK_REALTIME, now).context("setting the clock")
}

/// Credits the host's random bytes, so that no program waits for entropy after the boot, and reseeds the generator at
/// once: all machines restored from one state have the same generator state before it.
fn seed_random_pool(hex: &str) -> Result<()> {
    #[repr(C)]
    struct Pool {
        bits: i32,
        bytes: i32,
        seed: [u8; 32],
    }
    nix::ioctl_write_ptr_bad!(add_entropy, 0x4008_5203, Pool);
    nix::ioctl_none_bad!(reseed, 0x5207);
    let mut pool = Pool { bits: 256, bytes: 32, seed: [0; 32] };
    ensure!(hex.len() == 64 && hex.is_ascii(), "the seed is not 32 bytes in hex");
    for (byte, digits) in pool.seed.iter_mut().zip(hex.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits)?, 16)?;
    }
    let urandom = File::open("/dev/urandom")?;
    // SAFETY: `pool` is laid out as the kernel's rand_pool_info and outlives the call.
    unsafe { add_entropy(urandom.as_raw_fd(), &pool) }.context("crediting the random pool")?;
    // SAFETY: it takes no argument.
    unsafe { reseed(urandom.as_raw_fd()) }.context("reseeding the random generator")?;
    Ok(())
}

/// Starts the command, forwards its output and sends its events.
pub fn run(mut prepared: Prepared, control: &Control, stdout: File, stderr: File) -> Result<()> {
    let mut kernel_log = KernelLog::from_now();
    let mut sampler = Sampler::new()?;
    let (stat, io_wait_before) = (sampler.stat.try_clone()?, sampler.io_wait_before);
    // Before the command runs: no event that it causes can be older than this one.
    control.send(GuestEvent::Started)?;
    let mut tool = prepared.command.spawn().context("starting the command")?;
    let pid = Pid::from_raw(tool.id() as i32);
    let (tool_stdout, tool_stderr) = (tool.stdout.take().unwrap(), tool.stderr.take().unwrap());
    thread::scope(|scope| {
        let stdout = scope.spawn(|| forward_output(tool_stdout, stdout));
        let stderr = scope.spawn(|| forward_output(tool_stderr, stderr));
        let (until_ended, ended) = io::pipe()?;
        scope.spawn(move || {
            // The pipe is readable when its other end is closed.
            let mut end = [PollFd::new(until_ended.as_fd(), PollFlags::POLLIN)];
            while let Ok(0) | Err(nix::Error::EINTR) = poll(&mut end, SAMPLE_INTERVAL_MS) {
                // What cannot be read is not reported: zeros would look like measurements.
                if sampler.sample().is_some_and(|sample| control.send(sample).is_err()) {
                    break;
                }
            }
        });
        let exit = wait_and_reap(pid, ended)?;
        let left_behind =
            fs::read_to_string(group_file("cgroup.procs")).context("counting the tool's processes")?;
        control.send(GuestEvent::Ended {
            exit,
            memory_kib: cgroup_files::number(&group_file("memory.peak"))? / 1024,
            oom_kills: cgroup_files::field(&group_file("memory.events"), "oom_kill")?,
            left_behind: left_behind.lines().count() as u64,
            io_wait_ms: io_wait_ms(&stat).context("/proc/stat")?.saturating_sub(io_wait_before),
            kernel_log: kernel_log.as_mut().map(KernelLog::relevant_lines).unwrap_or_default(),
        })?;
        // Processes that are left keep the pipes open, so they are killed.
        fs::write(format!("{GROUP}/cgroup.kill"), "1")
            .context("killing the processes that the tool left behind")?;
        let stdout_bytes = stdout.join().unwrap()?;
        let stderr_bytes = stderr.join().unwrap()?;
        // No process of the tool is left that could change the files.
        if let Some(folder) = &prepared.evidence_folder {
            evidence::read_all(Path::new(folder), |file, text| {
                evidence::parts(text).try_for_each(|part| {
                    let (file, part) = (file.to_owned(), part.to_owned());
                    control.send(GuestEvent::Evidence { file, part })
                })
            })?;
        }
        let (written, search_cut) = written(&prepared, Instant::now() + SEARCH_TIME);
        control.send(GuestEvent::OutputComplete { stdout_bytes, stderr_bytes, written, search_cut })
    })
}

/// The largest number of entries that the search for leftover files visits.
const SEARCH_ENTRIES: usize = 20_000;
/// The largest depth of folders in which it searches.
const SEARCH_DEPTH: usize = 24;
/// The longest time that it takes.
const SEARCH_TIME: Duration = Duration::from_secs(10);

/// Returns the first files by name in the home folder that were made or changed since the job was prepared, outside its
/// own folders, and whether the search ended at a bound.
///
/// Folders are read entry by entry, so its memory does not depend on their sizes.
fn written(job: &Prepared, deadline: Instant) -> (Vec<String>, bool) {
    let mut found = BTreeSet::new();
    if job.home.is_empty() {
        return (vec![], false);
    }
    let own = |path: &Path| job.empty_folders.iter().any(|folder| path == Path::new(folder));
    let files = walkdir::WalkDir::new(&job.home).same_file_system(true);
    // Keeps each folder on the way open. With a lower limit, walkdir would read the rest of a folder, perhaps millions of
    // names, into memory.
    let files = files.max_depth(SEARCH_DEPTH).max_open(SEARCH_DEPTH + 1).into_iter();
    for (entry, visited) in files.filter_entry(|entry| !own(entry.path())).zip(0..) {
        // An error: a path is too long, for example.
        let Ok(entry) = entry else { return (found.into_iter().collect(), true) };
        let too_deep = entry.depth() == SEARCH_DEPTH && entry.file_type().is_dir();
        if visited >= SEARCH_ENTRIES || too_deep || Instant::now() >= deadline {
            return (found.into_iter().collect(), true);
        }
        let is_new = || entry.path().symlink_metadata().is_ok_and(|file| file.ctime() >= job.since);
        if entry.file_type().is_file() && is_new() {
            found.insert(entry.path().display().to_string());
            if found.len() > MAX_LEFTOVER_FILES {
                found.pop_last();
            }
        }
    }
    (found.into_iter().collect(), false)
}

/// Waits for `pid`; as the first process this one also inherits and reaps every orphan.
fn wait_and_reap(pid: Pid, ended: PipeWriter) -> Result<Exit> {
    let _ended = ended;
    loop {
        match waitpid(None, None) {
            // The kernel has eight bits of an exit status.
            Ok(WaitStatus::Exited(who, code)) if who == pid => return Ok(Exit::Code(code as u8)),
            Ok(WaitStatus::Signaled(who, signal, _)) if who == pid => return Ok(Exit::Signal(signal as u8)),
            Ok(_) | Err(nix::Error::EINTR) => {}
            Err(error) => bail!("waiting for the tool: {error}"),
        }
    }
}

/// Capacity of the tool's pipes in bytes: the default maximum of the kernel.
const PIPE: i32 = 1 << 20;

/// Forwards the tool's output to a port and counts the bytes. The kernel moves pages (splice) without a copy, and a
/// full pipe is one request to the host.
fn forward_output(from: impl AsFd, to: File) -> Result<u64> {
    fcntl(&from, FcntlArg::F_SETPIPE_SZ(PIPE)).context("the tool's pipe")?;
    let (pipe, port) = (from.as_fd().as_raw_fd(), to.as_raw_fd());
    let mut bytes = 0;
    loop {
        // splice to a port does not wait for data: it treats an empty pipe as an ended one. So poll waits.
        let mut fds = [PollFd::new(from.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, PollTimeout::NONE) {
            Err(nix::Error::EINTR) => continue,
            looked => looked?,
        };
        if !fds[0].revents().is_some_and(|seen| seen.contains(PollFlags::POLLIN)) {
            return Ok(bytes);
        }
        // SAFETY: a system call on two descriptors that are held open, without pointers.
        let moved = unsafe {
            nix::libc::splice(pipe, std::ptr::null_mut(), port, std::ptr::null_mut(), PIPE as usize, 0)
        };
        match nix::errno::Errno::result(moved) {
            Err(nix::Error::EINTR) => {}
            moved => bytes += moved.context("the tool's output")? as u64,
        }
    }
}

/// Time between two samples.
const SAMPLE_INTERVAL_MS: u16 = 1000;

/// The files that are read for each sample. They are opened once and parsed as bytes: user instructions of the agent count
/// with those of the tool, and the number of samples depends on the wall time.
struct Sampler {
    memory: File,
    cpu: File,
    threads: File,
    stat: File,
    io_wait_before: u64,
    buffer: Vec<u8>,
}

impl Sampler {
    fn new() -> Result<Self> {
        let open = |path: &str| File::open(path).with_context(|| path.to_owned());
        let stat = open("/proc/stat")?;
        let io_wait_before = io_wait_ms(&stat).context("/proc/stat")?;
        let [memory, cpu, threads] =
            ["memory.current", "cpu.stat", "cgroup.threads"].map(|name| open(&format!("{GROUP}/{name}")));
        Ok(Self {
            memory: memory?,
            cpu: cpu?,
            threads: threads?,
            stat,
            io_wait_before,
            buffer: vec![0; SAMPLED_THREADS_BYTES],
        })
    }

    /// Returns None if a file cannot be read.
    fn sample(&mut self) -> Option<GuestEvent> {
        let mut text = [0; 64];
        let memory = number(start_of(&self.memory, &mut text)?)?;
        // The first line: usage_usec and a number.
        let cpu_us = number(start_of(&self.cpu, &mut text)?.strip_prefix(b"usage_usec ")?)?;
        Some(GuestEvent::Sample {
            memory_kib: memory / 1024,
            cpu_ms: cpu_us / 1000,
            io_wait_ms: io_wait_ms(&self.stat)?.saturating_sub(self.io_wait_before),
            runnable: runnable(start_of(&self.threads, &mut self.buffer)?),
        })
    }
}

/// Reads the start of a file into the buffer; None if it cannot be read.
fn start_of<'b>(file: &File, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let read = file.read_at(buffer, 0).ok()?;
    Some(&buffer[..read])
}

/// The number with which a text starts; None if there is none, or it does not fit.
fn number(text: &[u8]) -> Option<u64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    str::from_utf8(&text[..digits]).ok()?.parse().ok()
}

/// The size of the part of the list of threads that is read for a sample: 700 threads or more. The kernel returns no more of
/// such a file at once.
const SAMPLED_THREADS_BYTES: usize = 4096;

/// Returns how many of these threads run or can run. Threads of the kernel are not counted: on a busy host, where the guest
/// runs at intervals, several of them are runnable at once.
fn runnable(threads: &[u8]) -> u32 {
    let is_runnable = |thread: &&[u8]| {
        let path = [b"/proc/", *thread, b"/stat"].concat();
        let Ok(stat) = File::open(OsStr::from_bytes(&path)) else { return false };
        // Form: number (name) state ...; the number has at most 7 digits, the name at most 15 bytes, which may be any.
        let mut text = [0; 32];
        let Some(text) = start_of(&stat, &mut text) else { return false };
        let end = text.iter().rposition(|byte| *byte == b')');
        end.is_some_and(|end| text[end..].starts_with(b") R"))
    };
    threads.split(|byte| *byte == b'\n').filter(|thread| !thread.is_empty()).filter(is_runnable).count()
        as u32
}

/// Returns the time in which CPUs waited for I/O since the boot, ms, summed over all CPUs; None if it cannot be read.
/// `stat`: /proc/stat.
fn io_wait_ms(stat: &File) -> Option<u64> {
    let mut text = [0; 128];
    // cpu user nice system idle iowait ..., in ticks of 10 ms; two spaces follow the first word.
    let mut words = start_of(stat, &mut text)?.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    Some(number(words.nth(5)?)? * 10)
}

/// The largest number of records of the kernel's log that are read.
const KERNEL_LOG_RECORDS: usize = 20_000;

/// The kernel's log from the time it was opened.
struct KernelLog(File);

impl KernelLog {
    /// Returns None if the guest has no kernel log.
    fn from_now() -> Option<Self> {
        let mut log =
            File::options().read(true).custom_flags(nix::libc::O_NONBLOCK).open("/dev/kmsg").ok()?;
        log.seek(SeekFrom::End(0)).ok()?;
        Some(Self(log))
    }

    /// Reads the new lines and returns the first relevant ones.
    fn relevant_lines(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut record = [0; 8192];
        // A bound, because processes that are left can make the kernel write new lines without end.
        for _ in 0..KERNEL_LOG_RECORDS {
            if lines.len() >= guest_kernel_log::MAX_LINES {
                break;
            }
            match self.0.read(&mut record) {
                Ok(0) => break,
                // Each read returns one record.
                Ok(n) => {
                    lines.extend(guest_kernel_log::relevant_line(&String::from_utf8_lossy(&record[..n])));
                }
                // EPIPE: records were overwritten; what follows is read.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                Err(_) => break,
            }
        }
        lines
    }
}

fn group_file(name: &str) -> PathBuf {
    Path::new(GROUP).join(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_folder_of_the_tools_disk_with_too_many_names_is_not_emptied() {
        let home = tempfile::tempdir().unwrap();
        let (folder, other) = (home.path().join("execution"), home.path().join("other"));
        fs::create_dir_all(folder.join("inner")).unwrap();
        for file in [folder.join("inner/a"), folder.join("b"), other.clone()] {
            fs::write(file, "").unwrap();
        }
        std::os::unix::fs::symlink(home.path(), folder.join("link")).unwrap();
        let error = remove_folder(&folder, 3).unwrap_err().to_string();
        assert!(error.contains("execution has more than 3 names"), "{error}");
        assert!(folder.join("inner/a").exists());
        remove_folder(&folder, 4).unwrap();
        assert!(!folder.exists() && other.exists());
    }

    #[test]
    fn only_threads_of_the_job_that_can_run_are_counted() {
        let stop = AtomicBool::new(false);
        let (send, threads) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                let (stop, send) = (&stop, send.clone());
                scope.spawn(move || {
                    send.send(nix::unistd::gettid()).unwrap();
                    while !stop.load(Ordering::Relaxed) {}
                });
            }
            let busy: Vec<String> = threads.iter().take(3).map(|thread| thread.to_string()).collect();
            let counts = || {
                [busy.join("\n"), busy[1..].join("\n"), "0\nno thread\n".to_owned()]
                    .map(|threads| runnable(threads.as_bytes()))
            };
            // On a busy host, a thread may still wait for the channel's lock.
            let seen = (0..100_000).find(|_| {
                std::thread::yield_now();
                counts() == [3, 2, 0]
            });
            let last = counts();
            stop.store(true, Ordering::Relaxed);
            assert!(seen.is_some(), "{last:?}");
        });
    }
}
