//! A cgroup per machine: it limits memory, processes and CPUs of the machine, and all processes in it are killed at the end.
//! Version 1 or 2, depending on which one has the host's memory controller.

use super::pidfd::{kill_process, pidfd};
use mcc_base::{FileError, cgroup_files, digest};
use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

/// Prefix of the names of cgroups and of private folders in the temporary folder (`own_prefix`).
const PREFIX: &str = "mcc-harness-";

/// The group of the controller itself: a group of version 2 with controllers for its children may have no processes.
const CONTROLLER: &str = "mcc-harness-controller";

/// The limits of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    /// MiB.
    pub memory_mib: u64,
    /// Processes and threads.
    pub processes: u32,
    /// CPUs that are busy at once, on average over a tenth of a second.
    pub cpus: u32,
}

#[derive(Debug)]
pub(super) struct Cgroup {
    version: Version,
    /// The first has the memory controller. In version 1 each controller has a group of its own.
    groups: Vec<Group>,
    limits: Limits,
    /// The controllers other than that of memory that this host has not, with the reasons.
    missing: Vec<String>,
}

#[derive(Debug)]
struct Group {
    path: PathBuf,
    procs: File,
}

impl Group {
    fn new(path: PathBuf) -> io::Result<Self> {
        fs::create_dir(&path)?;
        let procs = File::options().write(true).open(path.join("cgroup.procs"));
        let procs = procs.inspect_err(|_| drop(fs::remove_dir(&path)))?;
        Ok(Self { path, procs })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // QEMU has ended and its sandbox forbids it to start processes. A fake QEMU in tests may have started some.
        if let Err(error) = kill_and_remove(&self.path) {
            // `remove_stale` removes it after this controller has exited.
            tracing::debug!(path = %self.path.display(), %error, "cgroup not removed");
        }
    }
}

/// How often, and after which time, a group is tried again whose processes were killed: they may give back much memory.
const REMOVALS: u32 = 100;
const REMOVAL_INTERVAL: Duration = Duration::from_millis(20);

/// Kills the processes of a group and removes it.
///
/// # Errors
/// The group has processes that do not end, or it cannot be removed.
fn kill_and_remove(group: &Path) -> io::Result<()> {
    for _ in 1..REMOVALS {
        kill_processes(group);
        match fs::remove_dir(group) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => thread::sleep(REMOVAL_INTERVAL),
            removed => return removed,
        }
    }
    fs::remove_dir(group)
}

fn kill_processes(group: &Path) {
    // Version 1, and kernels before 5.14, do not have this file.
    if let Ok(mut file) = File::options().write(true).open(group.join("cgroup.kill")) {
        let _ = file.write_all(b"1");
    }
    for number in processes(group) {
        // The number may be that of another process by now. If it is still in the group, so is what was opened, or it ended.
        let opened = pidfd(number);
        if let Some(process) = opened.filter(|_| processes(group).contains(&number)) {
            kill_process(&process);
        }
    }
}

fn processes(group: &Path) -> Vec<u32> {
    let procs = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    procs.lines().filter_map(|pid| pid.parse().ok()).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

impl Cgroup {
    /// Makes a group below the controller's group, with these limits.
    ///
    /// # Errors
    /// The reason why the memory cannot be limited on this host.
    pub fn new(limits: Limits) -> Result<Self, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mount = Path::new("/sys/fs/cgroup");
        let own = fs::read_to_string("/proc/self/cgroup").map_err(|error| error.to_string())?;
        let (version, parent) = parent(mount, &own)?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}{number}", own_prefix());
        let make = |parent: &Path| {
            remove_stale(parent, is_running, kill_and_remove);
            let path = parent.join(&name);
            Group::new(path.clone()).map_err(|error| format!("{}: {error}", path.display()))
        };
        let set = |group: &Group, files: &[(&str, String)]| {
            files.iter().try_for_each(|(file, value)| {
                let path = group.path.join(file);
                fs::write(&path, value).map_err(|error| format!("{}: {error}", path.display()))
            })
        };
        let first = make(&parent)?;
        let memory = (limits.memory_mib << 20).to_string();
        set(&first, &[(version.file("memory.limit_in_bytes", "memory.max"), memory)])?;
        let mut cgroup = Self { version, groups: vec![first], limits, missing: vec![] };
        let processes = limits.processes.to_string();
        let cpus = u64::from(limits.cpus) * PERIOD_US;
        let quota = match version {
            Version::V1 => cpus.to_string(),
            Version::V2 => format!("{cpus} {PERIOD_US}"),
        };
        // A group is scheduled as one thread, whatever the number of its threads, unless it has more weight.
        let weight = match version {
            Version::V1 => 1024 * u64::from(limits.cpus),
            Version::V2 => 100 * u64::from(limits.cpus.min(100)),
        };
        let of_cpu = vec![
            (version.file("cpu.cfs_quota_us", "cpu.max"), quota),
            (version.file("cpu.shares", "cpu.weight"), weight.to_string()),
        ];
        for (controller, files) in [("pids", vec![("pids.max", processes)]), ("cpu", of_cpu)] {
            let limited = match version {
                Version::V2 => set(&cgroup.groups[0], &files),
                Version::V1 => parent_v1(mount, &own, controller).and_then(|parent| {
                    let group = make(&parent)?;
                    set(&group, &files)?;
                    cgroup.groups.push(group);
                    Ok(())
                }),
            };
            cgroup.missing.extend(limited.err());
        }
        Ok(cgroup)
    }

    pub fn describe(&self) -> String {
        let version = match self.version {
            Version::V1 => "v1",
            Version::V2 => "v2",
        };
        let Limits { memory_mib, processes, cpus } = self.limits;
        let others = if self.missing.is_empty() {
            format!(", {processes} threads and {cpus} CPUs")
        } else {
            String::new()
        };
        format!("cgroup {version} of at most {memory_mib} MiB{others}")
    }

    /// The limits other than that of memory that are not possible on this host, with the reasons.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Returns the descriptors of `cgroup.procs`: a process that writes `0` to them joins the group.
    pub fn procs_fds(&self) -> Vec<RawFd> {
        self.groups.iter().map(|group| group.procs.as_raw_fd()).collect()
    }

    /// Returns a message if the host's kernel killed a process of the group because the limit was reached. The kernel also
    /// kills processes of a group if a group above it, such as a job of a cluster, or the host has no memory left.
    ///
    /// # Errors
    /// A file of the group cannot be read.
    pub fn memory_limit_reached(&self) -> Result<Option<String>, FileError> {
        let limit_mib = self.limits.memory_mib;
        let is_killed = is_killed_at_limit(self.version, &self.groups[0].path, limit_mib)?;
        Ok(is_killed.then(|| format!("the host's kernel killed it: more memory than {limit_mib} MiB")))
    }
}

/// Whether the kernel killed a process of the group because the memory of this group reached its limit.
fn is_killed_at_limit(version: Version, group: &Path, limit_mib: u64) -> Result<bool, FileError> {
    match version {
        // The use at its peak, which the kernel counts in batches.
        Version::V1 => {
            let peak = cgroup_files::number(&group.join("memory.max_usage_in_bytes"))?;
            let kills = cgroup_files::field(&group.join("memory.oom_control"), "oom_kill")?;
            Ok(kills > 0 && peak >> 20 >= limit_mib.saturating_sub(1))
        }
        // `oom`: nothing could be reclaimed below the limit of this group.
        Version::V2 => {
            let events = group.join("memory.events");
            Ok(cgroup_files::field(&events, "oom_kill")? > 0 && cgroup_files::field(&events, "oom")? > 0)
        }
    }
}

/// The period over which CPUs are limited, microseconds: the default of the kernel.
const PERIOD_US: u64 = 100_000;

impl Version {
    fn file(self, v1: &'static str, v2: &'static str) -> &'static str {
        match self {
            Self::V1 => v1,
            Self::V2 => v2,
        }
    }
}

/// Returns the folder to make groups in. `own`: the text of /proc/self/cgroup.
fn parent(mount: &Path, own: &str) -> Result<(Version, PathBuf), String> {
    if lines(own).any(|[_, controllers, _]| has_word(controllers, "memory")) {
        return Ok((Version::V1, parent_v1(mount, own, "memory")?));
    }
    let v2 = lines(own).find(|[number, ..]| *number == "0").ok_or("the kernel has no memory controller")?;
    let path = mount.join(v2[2].trim_start_matches('/'));
    let path = match path.file_name() {
        Some(name) if name == CONTROLLER => path.parent().unwrap_or(&path).to_owned(),
        _ => path,
    };
    delegate(&path)?;
    Ok((Version::V2, path))
}

/// The number, controllers and path of each hierarchy in the text of /proc/self/cgroup.
fn lines(own: &str) -> impl Iterator<Item = [&str; 3]> {
    own.lines().filter_map(|line| line.splitn(3, ':').collect::<Vec<_>>().try_into().ok())
}

fn has_word(controllers: &str, name: &str) -> bool {
    controllers.split(',').any(|controller| controller == name)
}

/// Returns the folder to make groups of version 1 with this controller in.
fn parent_v1(mount: &Path, own: &str, controller: &str) -> Result<PathBuf, String> {
    let line = lines(own).find(|[_, controllers, _]| has_word(controllers, controller));
    let [.., path] = line.ok_or_else(|| format!("the kernel has no controller {controller} of version 1"))?;
    let path = mount.join(controller).join(path.trim_start_matches('/'));
    if path.is_dir() { Ok(path) } else { Err(format!("{} does not exist", path.display())) }
}

/// Enables the controllers for the children of this group of version 2, of which only that of memory is necessary.
fn delegate(group: &Path) -> Result<(), String> {
    let words = |file: &str| -> Result<Vec<String>, String> {
        let path = group.join(file);
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(text.split_whitespace().map(str::to_owned).collect())
    };
    let is_memory = |controller: &String| controller == "memory";
    let enabled = words("cgroup.subtree_control")?;
    let available = words("cgroup.controllers")?;
    let to_enable = ["memory", "pids", "cpu"].map(str::to_owned).into_iter();
    let to_enable = to_enable.filter(|name| available.contains(name) && !enabled.contains(name));
    let to_enable: Vec<String> = to_enable.map(|name| format!("+{name}")).collect();
    let to_enable = to_enable.join(" ");
    if enabled.iter().any(is_memory) {
        // What cannot be enabled is found missing when its limit is set.
        let _ = to_enable.is_empty() || fs::write(group.join("cgroup.subtree_control"), to_enable).is_ok();
        return Ok(());
    }
    if !available.iter().any(is_memory) {
        return Err(format!("{} has no memory controller", group.display()));
    }
    let write = || -> io::Result<()> {
        // The root group has no type and may have processes and children.
        if group.join("cgroup.type").exists() {
            let controller = group.join(CONTROLLER);
            fs::create_dir_all(&controller)?;
            fs::write(controller.join("cgroup.procs"), process::id().to_string())?;
        }
        fs::write(group.join("cgroup.subtree_control"), to_enable)
    };
    let not_delegated = |error| {
        format!(
            "the memory controller cannot be enabled below {} ({error}): start the controller alone in a group of its \
             own (systemd-run --scope -p Delegate=yes)",
            group.display()
        )
    };
    write().map_err(not_delegated)
}

/// The start of names for what this controller makes: its process number, and where this number is that of a process.
pub(super) fn own_prefix() -> String {
    format!("{PREFIX}{}-{}-", process::id(), numbered_by())
}

/// Where a process number of this controller is that of a process: on this host since its boot, and in this PID namespace.
/// Controllers elsewhere can use the same folders: nodes with a shared TMPDIR, and containers.
fn numbered_by() -> String {
    let boot = fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino());
    let digest = digest::bytes([boot, namespace.to_string().into_bytes()].concat());
    digest.chars().take(8).collect()
}

/// Whether a process with this number is running, in the PID namespace of this process whatever is mounted on /proc.
pub(super) fn is_running(process: i32) -> bool {
    kill(Pid::from_raw(process), None) != Err(Errno::ESRCH)
}

/// Removes folders in `parent` whose name has the number of a controller that has exited: groups, whose machines the kernel
/// killed with their controller, unless QEMU was taken over and prevented that; or private folders with sockets. Those of
/// controllers elsewhere stay: whether they have exited is not known here.
pub(super) fn remove_stale(
    parent: &Path,
    is_running: impl Fn(i32) -> bool,
    remove: impl Fn(&Path) -> io::Result<()>,
) {
    let numbered_by = numbered_by();
    for folder in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = folder.file_name();
        let parts = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_once('-'));
        let Some((pid, rest)) = parts else { continue };
        let Some(pid) = pid.parse::<i32>().ok().filter(|pid| *pid > 0) else { continue };
        let is_of_here = rest.split_once('-').is_some_and(|(place, _)| place == numbered_by);
        if is_of_here && !is_running(pid) {
            let _ = remove(&folder.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn the_memory_controller_of_version_1_is_used_if_present() {
        let root = tree(&[("memory/slurm/job/tasks", "")]);
        let own = "9:name=systemd:/\n4:memory:/slurm/job\n0::/\n";
        assert_eq!(parent(root.path(), own), Ok((Version::V1, root.path().join("memory/slurm/job"))));
        assert!(
            parent(root.path(), "4:memory:/elsewhere\n").unwrap_err().contains("elsewhere does not exist")
        );
    }

    #[test]
    fn the_controller_moves_before_memory_is_delegated() {
        let root = tree(&[
            ("service/cgroup.controllers", "cpu memory\n"),
            ("service/cgroup.subtree_control", ""),
            ("service/cgroup.type", "domain\n"),
        ]);
        let service = root.path().join("service");
        assert_eq!(parent(root.path(), "0::/service\n"), Ok((Version::V2, service.clone())));
        let moved = fs::read_to_string(service.join(CONTROLLER).join("cgroup.procs")).unwrap();
        assert_eq!(moved, process::id().to_string());
        assert_eq!(fs::read_to_string(service.join("cgroup.subtree_control")).unwrap(), "+memory +cpu");
        // From then on the controller is in its own group.
        fs::write(service.join("cgroup.subtree_control"), "memory cpu\n").unwrap();
        let own = format!("0::/service/{CONTROLLER}\n");
        assert_eq!(parent(root.path(), &own), Ok((Version::V2, service)));
    }

    #[test]
    fn a_version_2_without_memory_controller_is_an_error() {
        let root = tree(&[("cgroup.controllers", "hugetlb\n"), ("cgroup.subtree_control", "")]);
        assert!(parent(root.path(), "0::/\n").unwrap_err().contains("has no memory controller"));
        assert_eq!(parent(root.path(), ""), Err("the kernel has no memory controller".into()));
    }

    #[test]
    fn a_kill_counts_only_if_the_limit_of_the_group_itself_was_reached() {
        let killed = "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n";
        let v1 = |control: &str, peak: u64| {
            let peak = peak.to_string();
            let root = tree(&[("memory.oom_control", control), ("memory.max_usage_in_bytes", &peak)]);
            is_killed_at_limit(Version::V1, root.path(), 4096).unwrap()
        };
        assert!(v1(killed, 4096 << 20) && v1(killed, (4096 << 20) - 4096));
        assert!(!v1(killed, 750 << 20), "a group above it, or the host, had no memory left");
        assert!(!v1(&killed.replace("kill 1", "kill 0"), 4096 << 20), "its cache was reclaimed");
        let v2 = |events: &str| {
            let root = tree(&[("memory.events", events)]);
            is_killed_at_limit(Version::V2, root.path(), 4096).unwrap()
        };
        assert!(v2("max 7\noom 1\noom_kill 1\n"));
        assert!(!v2("max 0\noom 0\noom_kill 1\n") && !v2("max 7\noom 0\noom_kill 0\n"));
        let empty = tree(&[]);
        assert!(is_killed_at_limit(Version::V1, empty.path(), 4096).is_err());
    }

    #[test]
    fn only_groups_of_controllers_that_have_exited_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let groups = root.path();
        let here = numbered_by();
        let [running, exited] = [5, 6].map(|pid| format!("mcc-harness-{pid}-{here}-0"));
        // 6 can be a process in another container or on another host.
        let names = [&running, &exited, "mcc-harness-6-elsewhere-0", "mcc-harness-controller", "other"];
        names.iter().for_each(|name| fs::create_dir(groups.join(name)).unwrap());
        remove_stale(groups, |pid| pid == 5, kill_and_remove);
        let left = names.map(|name| groups.join(name).exists());
        assert_eq!(left, [true, false, true, true, true]);
        let mut ended = Command::new("true").spawn().unwrap();
        let number = ended.id().cast_signed();
        assert!(is_running(number), "nobody has waited for it");
        ended.wait().unwrap();
        assert!(!is_running(number));
    }

    #[test]
    fn a_machine_that_outlives_its_controller_is_killed_with_its_group() {
        let mut machine = Command::new("sleep").arg("60").spawn().unwrap();
        let procs = format!("mcc-harness-6-{}-0/cgroup.procs", numbered_by());
        let numbers = format!("0\n{}\n", machine.id());
        let root = tree(&[(procs.as_str(), numbers.as_str())]);
        remove_stale(root.path(), |_| false, kill_and_remove);
        assert_eq!(machine.wait().unwrap().signal(), Some(nix::libc::SIGKILL));
    }
}
