//! A cgroup per machine: it limits the memory of the machine, and all processes in it are killed at the end. Version 1
//! or 2, depending on which one has the host's memory controller.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

/// Prefix of the names of cgroups and of private folders in the temporary folder; `<pid>-` of the controller follows.
pub(super) const PREFIX: &str = "mcc-harness-";

/// The group of the controller itself: a group of version 2 with controllers for its children may have no processes.
const CONTROLLER: &str = "mcc-harness-controller";

#[derive(Debug)]
pub(super) struct Cgroup {
    version: Version,
    path: PathBuf,
    procs: File,
    limit_mib: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

impl Cgroup {
    /// Makes a group below the controller's group, with this memory limit.
    ///
    /// # Errors
    /// The reason why no group can be made on this host.
    pub fn new(limit_mib: u64) -> Result<Self, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let own = fs::read_to_string("/proc/self/cgroup").map_err(|error| error.to_string())?;
        let (version, parent) = parent(Path::new("/sys/fs/cgroup"), &own)?;
        remove_stale(&parent, Path::new("/proc"), |group| fs::remove_dir(group));
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("{PREFIX}{}-{number}", process::id()));
        fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let set_up = || {
            let limit = match version {
                Version::V1 => "memory.limit_in_bytes",
                Version::V2 => "memory.max",
            };
            fs::write(path.join(limit), (limit_mib << 20).to_string())?;
            File::options().write(true).open(path.join("cgroup.procs"))
        };
        match set_up() {
            Ok(procs) => Ok(Self { version, path, procs, limit_mib }),
            Err(error) => {
                let _ = fs::remove_dir(&path);
                Err(format!("{}: {error}", path.display()))
            }
        }
    }

    pub fn describe(&self) -> String {
        let version = match self.version {
            Version::V1 => "v1",
            Version::V2 => "v2",
        };
        format!("cgroup {version} of at most {} MiB", self.limit_mib)
    }

    /// Returns the descriptor of `cgroup.procs`: a process that writes `0` to it joins the group.
    pub fn procs_fd(&self) -> RawFd {
        self.procs.as_raw_fd()
    }

    /// Returns a message if the host's kernel killed a process of the group because the limit was reached.
    pub fn memory_limit_reached(&self) -> Option<String> {
        let events = match self.version {
            Version::V1 => "memory.oom_control",
            Version::V2 => "memory.events",
        };
        let events = fs::read_to_string(self.path.join(events)).ok()?;
        let kills =
            events.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse::<u64>().ok())?;
        (kills > 0).then(|| format!("the host's kernel killed it: more memory than {} MiB", self.limit_mib))
    }

    fn processes(&self) -> Vec<i32> {
        let procs = fs::read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
        procs.lines().filter_map(|pid| pid.parse().ok()).collect()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        if self.version == Version::V2 {
            // Kernels before 5.14 do not have this file; the loop below kills the processes too.
            let _ = fs::write(self.path.join("cgroup.kill"), "1");
        }
        // QEMU has ended and its sandbox forbids it to start processes. A fake QEMU in tests may have started some.
        for pid in self.processes() {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        if let Err(error) = fs::remove_dir(&self.path) {
            // `remove_stale` removes it after this controller has exited.
            tracing::debug!(path = %self.path.display(), %error, "cgroup not removed");
        }
    }
}

/// Returns the folder to make groups in. `own`: the text of /proc/self/cgroup.
fn parent(mount: &Path, own: &str) -> Result<(Version, PathBuf), String> {
    let lines: Vec<Vec<&str>> = own.lines().map(|line| line.splitn(3, ':').collect()).collect();
    let below = |mount: PathBuf, path: &str| mount.join(path.trim_start_matches('/'));
    let v1 = lines.iter().find(|line| line.len() == 3 && line[1].split(',').any(|name| name == "memory"));
    if let Some(line) = v1 {
        let path = below(mount.join("memory"), line[2]);
        return if path.is_dir() {
            Ok((Version::V1, path))
        } else {
            Err(format!("{} does not exist", path.display()))
        };
    }
    let v2 = lines.iter().find(|line| line.len() == 3 && line[0] == "0");
    let path = below(mount.to_owned(), v2.ok_or("the kernel has no memory controller")?[2]);
    let path = match path.file_name() {
        Some(name) if name == CONTROLLER => path.parent().unwrap_or(&path).to_owned(),
        _ => path,
    };
    delegate_memory(&path)?;
    Ok((Version::V2, path))
}

/// Enables the memory controller for the children of this group of version 2.
fn delegate_memory(group: &Path) -> Result<(), String> {
    let has = |file: &str| -> Result<bool, String> {
        let path = group.join(file);
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(text.split_whitespace().any(|controller| controller == "memory"))
    };
    if has("cgroup.subtree_control")? {
        return Ok(());
    }
    if !has("cgroup.controllers")? {
        return Err(format!("{} has no memory controller", group.display()));
    }
    let write = || -> io::Result<()> {
        // The root group has no type and may have processes and children.
        if group.join("cgroup.type").exists() {
            let controller = group.join(CONTROLLER);
            fs::create_dir_all(&controller)?;
            fs::write(controller.join("cgroup.procs"), process::id().to_string())?;
        }
        fs::write(group.join("cgroup.subtree_control"), "+memory")
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

/// Removes folders in `parent` whose name has the number of a controller that has exited: empty groups (the machines
/// ended with their controller), or private folders with sockets.
pub(super) fn remove_stale(parent: &Path, proc: &Path, remove: impl Fn(&Path) -> io::Result<()>) {
    for folder in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = folder.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_once('-'));
        if owner.is_some_and(|(pid, _)| pid.parse::<u32>().is_ok() && !proc.join(pid).exists()) {
            let _ = remove(&folder.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(fs::read_to_string(service.join("cgroup.subtree_control")).unwrap(), "+memory");
        // From then on the controller is in its own group.
        fs::write(service.join("cgroup.subtree_control"), "memory\n").unwrap();
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
    fn only_groups_of_controllers_that_have_exited_are_removed() {
        let root = tree(&[("proc/5/stat", ""), ("groups/x", "")]);
        let groups = root.path().join("groups");
        let names = ["mcc-harness-5-0", "mcc-harness-6-0", "mcc-harness-controller", "other"];
        names.iter().for_each(|name| fs::create_dir(groups.join(name)).unwrap());
        remove_stale(&groups, &root.path().join("proc"), |group| fs::remove_dir(group));
        let left = names.map(|name| groups.join(name).exists());
        assert_eq!(left, [true, false, true, true]);
    }
}
