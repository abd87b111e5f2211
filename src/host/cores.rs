//! Sockets, physical cores and the logical CPUs of them, from `/sys/devices/system/cpu`.

use super::HostError;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A physical core.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Core {
    pub socket: u32,
    /// Its online logical CPUs (hardware threads), ascending; never empty.
    pub cpus: Vec<u32>,
}

/// The online cores of a host, and the logical CPUs this process may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cores {
    /// By lowest CPU number.
    pub cores: Vec<Core>,
    pub allowed: BTreeSet<u32>,
}

impl Cores {
    /// Reads the topology below `root` (`/` on a real host).
    pub fn read(root: &Path, allowed: BTreeSet<u32>) -> Result<Self, HostError> {
        let folder = root.join("sys/devices/system/cpu");
        let (path, text) = read(folder.join("online"))?;
        let online = parse_list(&text).ok_or(HostError::Content { path, text })?;
        let mut cores: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        for &cpu in &online {
            let topology = folder.join(format!("cpu{cpu}/topology"));
            // Some virtual hosts tell nothing of their topology: then each CPU is taken as a core of its own.
            if !topology.exists() {
                cores.insert(vec![cpu], 0);
                continue;
            }
            let (path, text) = read(topology.join("physical_package_id"))?;
            // Unknown packages are numbered -1.
            let socket: i64 = text.parse().map_err(|_| HostError::Content { path, text })?;
            let (path, text) = read(topology.join("thread_siblings_list"))?;
            let siblings = parse_list(&text).ok_or(HostError::Content { path, text })?;
            let cpus = siblings.intersection(&online).copied().chain([cpu]).collect::<BTreeSet<_>>();
            cores.insert(cpus.into_iter().collect(), u32::try_from(socket).unwrap_or(0));
        }
        let cores = cores.into_iter().map(|(cpus, socket)| Core { socket, cpus }).collect();
        Ok(Self { cores, allowed })
    }

    /// The cores all of whose CPUs this process may use: only of these is nobody else on a sibling.
    pub fn whole(&self) -> impl Iterator<Item = &Core> {
        self.cores.iter().filter(|core| core.cpus.iter().all(|cpu| self.allowed.contains(cpu)))
    }

    pub fn sockets(&self) -> usize {
        self.cores.iter().map(|core| core.socket).collect::<BTreeSet<_>>().len()
    }
}

/// The logical CPUs this process may run on.
pub(super) fn allowed_cpus() -> Result<BTreeSet<u32>, HostError> {
    let system = |source| HostError::System { what: "the CPUs it may use", source };
    let set = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)).map_err(system)?;
    let is_set = |cpu: &usize| set.is_set(*cpu).unwrap_or(false);
    Ok((0..nix::sched::CpuSet::count()).filter(is_set).map(|cpu| cpu as u32).collect())
}

fn read(path: PathBuf) -> Result<(PathBuf, String), HostError> {
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok((path, text.trim().to_owned())),
        Err(source) => Err(HostError::Read { path, source }),
    }
}

/// The kernel's list format: `0-3,8,10-11`.
fn parse_list(text: &str) -> Option<BTreeSet<u32>> {
    let mut cpus = BTreeSet::new();
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        cpus.extend(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Writes a host of `sockets` with the given siblings per core, as the kernel shows it.
    fn host(sockets: &[&[&str]], online: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("sys/devices/system/cpu");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("online"), format!("{online}\n")).unwrap();
        for (socket, cores) in sockets.iter().enumerate() {
            for siblings in *cores {
                for cpu in parse_list(siblings).unwrap() {
                    let topology = folder.join(format!("cpu{cpu}/topology"));
                    fs::create_dir_all(&topology).unwrap();
                    fs::write(topology.join("physical_package_id"), format!("{socket}\n")).unwrap();
                    fs::write(topology.join("thread_siblings_list"), format!("{siblings}\n")).unwrap();
                }
            }
        }
        root
    }

    fn read(root: &tempfile::TempDir, allowed: impl IntoIterator<Item = u32>) -> Cores {
        Cores::read(root.path(), allowed.into_iter().collect()).unwrap()
    }

    #[test]
    fn two_sockets_with_hardware_threads_are_told_apart() {
        let root = host(&[&["0,4", "1,5"], &["2,6", "3,7"]], "0-7");
        let cores = read(&root, 0..8);
        assert_eq!(cores.sockets(), 2);
        assert_eq!(cores.cores[2], Core { socket: 1, cpus: vec![2, 6] });
        assert_eq!(cores.whole().count(), 4);
    }

    #[test]
    fn a_core_with_a_sibling_of_somebody_else_is_not_whole() {
        let root = host(&[&["0,4", "1,5"], &["2,6", "3,7"]], "0-7");
        let cores = read(&root, [0, 4, 1, 2, 6]);
        let whole: Vec<_> = cores.whole().map(|core| core.cpus.clone()).collect();
        assert_eq!(whole, [[0, 4], [2, 6]]);
    }

    #[test]
    fn an_offline_sibling_is_no_cpu_of_its_core() {
        let root = host(&[&["0-1", "2-3"]], "0-2");
        assert_eq!(
            read(&root, 0..3).cores,
            [Core { socket: 0, cpus: vec![0, 1] }, Core { socket: 0, cpus: vec![2] }]
        );
    }

    #[test]
    fn a_host_that_tells_no_topology_has_one_core_per_cpu() {
        let root = host(&[], "0-1");
        assert_eq!(read(&root, 0..2).cores.len(), 2);
    }

    #[test]
    fn an_unreadable_list_is_an_error_with_its_place() {
        let root = host(&[], "0-x");
        let error = Cores::read(root.path(), BTreeSet::new()).unwrap_err().to_string();
        assert!(error.contains("sys/devices/system/cpu/online: `0-x`"), "{error}");
    }

    #[test]
    fn this_host_has_a_core() {
        let cores = Cores::read(Path::new("/"), allowed_cpus().unwrap()).unwrap();
        assert!(!cores.cores.is_empty() && !cores.allowed.is_empty());
    }
}
