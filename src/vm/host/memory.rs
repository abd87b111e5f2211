//! Memory that machines may use: what the kernel reports as available, within the limits of the controller's cgroups.

use super::HostError;
use mcc_base::OnFile;
use std::fs;
use std::path::{Path, PathBuf};

/// The memory of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Total memory, MiB.
    pub total_mib: u64,
    /// Memory that this process can use now, MiB: free or reclaimable, within the limits of cgroups.
    pub available_mib: u64,
    /// The cgroup whose limit leaves less memory than the host has available, if there is one.
    pub limited_by: Option<PathBuf>,
}

impl Memory {
    /// Reads `/proc` and `/sys/fs/cgroup` below `root` (`/` on a real host).
    ///
    /// # Errors
    /// `/proc/meminfo` cannot be read or lacks a number.
    pub fn read(root: &Path) -> Result<Self, HostError> {
        let path = root.join("proc/meminfo");
        let text = fs::read_to_string(&path).on("read", &path)?;
        let kib = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
            let number = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
            number.ok_or_else(|| HostError::Content { path: path.clone(), text: format!("no {key}") })
        };
        let mut memory = Self {
            total_mib: kib("MemTotal")? / 1024,
            available_mib: kib("MemAvailable")? / 1024,
            limited_by: None,
        };
        // A process without /proc/self/cgroup (no cgroups in the kernel) has no limits.
        let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
        for group in groups.lines().filter_map(|line| Cgroup::of_line(root, line)) {
            for level in group.levels() {
                if let Some(left_mib) = group.left_mib(&level).filter(|left| *left < memory.available_mib) {
                    memory.available_mib = left_mib;
                    memory.limited_by = Some(level);
                }
            }
        }
        Ok(memory)
    }
}

/// The controller's group in a cgroup hierarchy that may limit memory.
struct Cgroup {
    mount: PathBuf,
    path: PathBuf,
    limit: &'static str,
    usage: &'static str,
    /// Key in `memory.stat`: file cache that counts as used but can be reclaimed.
    reclaimable: &'static str,
}

impl Cgroup {
    /// Parses a line of /proc/self/cgroup, `hierarchy:controllers:path`; version 2 has hierarchy 0 and an empty list
    /// of controllers.
    fn of_line(root: &Path, line: &str) -> Option<Self> {
        let mut fields = line.splitn(3, ':');
        let (hierarchy, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let cgroup = root.join("sys/fs/cgroup");
        let group = if controllers.split(',').any(|controller| controller == "memory") {
            Self {
                mount: cgroup.join("memory"),
                path: path.into(),
                limit: "memory.limit_in_bytes",
                usage: "memory.usage_in_bytes",
                reclaimable: "total_inactive_file",
            }
        } else if hierarchy == "0" {
            Self {
                mount: cgroup,
                path: path.into(),
                limit: "memory.max",
                usage: "memory.current",
                reclaimable: "inactive_file",
            }
        } else {
            return None;
        };
        Some(group)
    }

    /// Returns the controller's group and all groups above it that are mounted here; each of them may have a limit.
    fn levels(&self) -> Vec<PathBuf> {
        let ancestors = self.path.ancestors();
        ancestors.map(|path| self.mount.join(path.strip_prefix("/").unwrap_or(path))).collect()
    }

    /// Returns the memory that the limit of this group leaves, MiB; None without a limit.
    fn left_mib(&self, level: &Path) -> Option<u64> {
        let number = |name| fs::read_to_string(level.join(name)).ok()?.trim().parse::<u64>().ok();
        let (limit, usage) = (number(self.limit)?, number(self.usage)?);
        let stat = fs::read_to_string(level.join("memory.stat")).unwrap_or_default();
        let reclaimable =
            stat.lines().find_map(|line| line.strip_prefix(self.reclaimable)?.trim().parse().ok());
        Some(limit.saturating_sub(usage.saturating_sub(reclaimable.unwrap_or(0))) >> 20)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn host(files: &[(&str, String)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let meminfo = "MemTotal:       25165824 kB\nMemFree:  1 kB\nMemAvailable:   20971520 kB\n".to_owned();
        for (path, text) in files.iter().cloned().chain([("proc/meminfo", meminfo)]) {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    #[test]
    fn without_a_limit_the_available_memory_counts() {
        let root = host(&[]);
        let memory = Memory::read(root.path()).unwrap();
        assert_eq!(memory, Memory { total_mib: 24576, available_mib: 20480, limited_by: None });
    }

    #[test]
    fn the_limit_of_a_parent_group_counts_minus_its_use() {
        let root = host(&[
            ("proc/self/cgroup", "0::/batch/job\n".into()),
            ("sys/fs/cgroup/batch/job/memory.max", "max\n".into()),
            ("sys/fs/cgroup/batch/job/memory.current", "0\n".into()),
            ("sys/fs/cgroup/batch/memory.max", format!("{}\n", 8192 * MIB)),
            ("sys/fs/cgroup/batch/memory.current", format!("{}\n", 3000 * MIB)),
            ("sys/fs/cgroup/batch/memory.stat", format!("anon 1\ninactive_file {}\n", 1000 * MIB)),
        ]);
        let memory = Memory::read(root.path()).unwrap();
        assert_eq!(memory.available_mib, 6192);
        assert!(memory.limited_by.unwrap().ends_with("sys/fs/cgroup/batch"));
    }

    #[test]
    fn a_limit_of_cgroups_version_1_counts() {
        let root = host(&[
            ("proc/self/cgroup", "4:memory:/slurm\n3:cpuset:/\n0::/\n".into()),
            ("sys/fs/cgroup/memory/slurm/memory.limit_in_bytes", format!("{}\n", 4096 * MIB)),
            ("sys/fs/cgroup/memory/slurm/memory.usage_in_bytes", format!("{}\n", 96 * MIB)),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n".into()),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "0\n".into()),
        ]);
        assert_eq!(Memory::read(root.path()).unwrap().available_mib, 4000);
    }

    #[test]
    fn a_meminfo_without_available_memory_is_an_error() {
        let root = host(&[]);
        fs::write(root.path().join("proc/meminfo"), "MemTotal: 5 kB\n").unwrap();
        let error = Memory::read(root.path()).unwrap_err().to_string();
        assert!(error.contains("no MemAvailable"), "{error}");
    }
}
