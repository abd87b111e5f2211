//! The CPU topology of a host: sockets, NUMA nodes, caches, physical cores and logical CPUs, from
//! `/sys/devices/system`.

use super::HostError;
use mcc_base::OnFile;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A physical core.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Core {
    /// Number of the socket; 0 if the host does not report it.
    pub socket: u32,
    /// Number of the NUMA node; 0 if the host does not report it.
    pub node: u32,
    /// The lowest CPU that shares the core's last-level cache; 0 if the host does not report it.
    pub cache: u32,
    /// Whether it is one of the slower cores of a hybrid processor.
    pub efficiency: bool,
    /// The core's online logical CPUs (hardware threads), ascending; never empty.
    pub cpus: Vec<u32>,
}

/// The online cores of a host, and the logical CPUs this process may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cores {
    /// The online cores, sorted by lowest CPU number.
    pub cores: Vec<Core>,
    /// The logical CPUs this process may use.
    pub allowed: BTreeSet<u32>,
}

impl Cores {
    /// Reads the topology below `root` (`/` on a real host).
    ///
    /// # Errors
    /// A file of the topology cannot be read or has unexpected content.
    pub fn read(root: &Path, allowed: BTreeSet<u32>) -> Result<Self, HostError> {
        let folder = root.join("sys/devices/system/cpu");
        let online = list(folder.join("online"))?;
        let nodes = nodes(root)?;
        let efficiency = efficiency(root)?;
        let mut cores: BTreeMap<Vec<u32>, Core> = BTreeMap::new();
        for &cpu in &online {
            let about = folder.join(format!("cpu{cpu}"));
            let mut core = Core {
                node: nodes.get(&cpu).copied().unwrap_or(0),
                cache: last_cache(&about)?,
                efficiency: efficiency.contains(&cpu),
                cpus: vec![cpu],
                ..Core::default()
            };
            // Some virtual hosts report no topology: then each CPU counts as a core.
            let topology = about.join("topology");
            if topology.exists() {
                let (path, text) = read(topology.join("physical_package_id"))?;
                // Unknown packages are numbered -1.
                let socket: i64 = text.parse().map_err(|_| HostError::Content { path, text })?;
                core.socket = u32::try_from(socket).unwrap_or(0);
                let siblings = list(topology.join("thread_siblings_list"))?;
                let cpus = siblings.intersection(&online).copied().chain([cpu]).collect::<BTreeSet<_>>();
                core.cpus = cpus.into_iter().collect();
            }
            cores.entry(core.cpus.clone()).or_insert(core);
        }
        Ok(Self { cores: cores.into_values().collect(), allowed })
    }

    /// Returns the cores whose CPUs this process may all use: on another core a foreign process may run on a sibling
    /// CPU. The slower cores of a hybrid processor are left out, so that all runs have cores of the same speed.
    pub fn usable_cores(&self) -> impl Iterator<Item = &Core> {
        let is_allowed = |core: &&Core| core.cpus.iter().all(|cpu| self.allowed.contains(cpu));
        self.cores.iter().filter(|core| !core.efficiency).filter(is_allowed)
    }

    /// Returns the number of sockets.
    pub fn sockets(&self) -> usize {
        self.cores.iter().map(|core| core.socket).collect::<BTreeSet<_>>().len()
    }
}

/// Returns the NUMA node of each CPU; empty if the kernel reports no nodes.
fn nodes(root: &Path) -> Result<BTreeMap<u32, u32>, HostError> {
    let folder = root.join("sys/devices/system/node");
    let mut nodes = BTreeMap::new();
    for node in numbered(&folder, "node") {
        let path = folder.join(format!("node{node}/cpulist"));
        // A node without CPUs has an empty list.
        if read(path.clone())?.1.is_empty() {
            continue;
        }
        nodes.extend(list(path)?.into_iter().map(|cpu| (cpu, node)));
    }
    Ok(nodes)
}

/// Returns the lowest CPU that shares the last-level cache.
fn last_cache(cpu: &Path) -> Result<u32, HostError> {
    let folder = cpu.join("cache");
    let mut last = (0, 0);
    for index in numbered(&folder, "index") {
        let cache = folder.join(format!("index{index}"));
        let (path, text) = read(cache.join("level"))?;
        let level: u32 = text.parse().map_err(|_| HostError::Content { path, text })?;
        if level > last.0 {
            let sharing = list(cache.join("shared_cpu_list"))?;
            last = (level, sharing.first().copied().unwrap_or(0));
        }
    }
    Ok(last.1)
}

/// Returns the CPUs of slower cores: Intel's hybrid processors have a performance counter unit for each kind of core.
fn efficiency(root: &Path) -> Result<BTreeSet<u32>, HostError> {
    let cpus = |kind: &str| root.join("sys/devices").join(kind).join("cpus");
    if cpus("cpu_core").exists() && cpus("cpu_atom").exists() {
        list(cpus("cpu_atom"))
    } else {
        Ok(BTreeSet::new())
    }
}

/// Returns the numbers N for which `folder` has an entry `<prefix>N`, ascending; none if the folder does not exist.
fn numbered(folder: &Path, prefix: &str) -> BTreeSet<u32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.strip_prefix(prefix)?.parse().ok()).collect()
}

/// The logical CPUs this process may run on.
pub(super) fn allowed_cpus() -> Result<BTreeSet<u32>, HostError> {
    let system = |source| HostError::System { what: "read the CPUs that this process may use", source };
    let set = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)).map_err(system)?;
    let is_set = |cpu: &usize| set.is_set(*cpu).unwrap_or(false);
    Ok((0..nix::sched::CpuSet::count()).filter(is_set).map(|cpu| cpu as u32).collect())
}

fn read(path: PathBuf) -> Result<(PathBuf, String), HostError> {
    let text = std::fs::read_to_string(&path).on("read", &path)?;
    Ok((path, text.trim().to_owned()))
}

/// Restricts this thread, and the threads and processes that it starts from now on, to these CPUs until the returned
/// guard is dropped (E-5.5: the controller does not run on leased cores).
///
/// # Errors
/// The kernel rejects the CPUs.
pub fn restrict_to_cpus(cpus: &[u32]) -> Result<KeptTo, HostError> {
    let system = |source| HostError::System { what: "change the CPUs of this thread", source };
    let this_thread = nix::unistd::Pid::from_raw(0);
    let before = nix::sched::sched_getaffinity(this_thread).map_err(system)?;
    set_cpus(cpus).map_err(system)?;
    Ok(KeptTo { before })
}

/// Restricts this thread, and the threads and processes that it starts from now on, to these CPUs if it may use more.
/// No CPUs: no restriction.
///
/// # Errors
/// This thread may use none of these CPUs.
pub fn keep_to_cpus(cpus: &BTreeSet<u32>) -> Result<(), HostError> {
    let allowed = allowed_cpus()?;
    if cpus.is_empty() || allowed.is_subset(cpus) {
        return Ok(());
    }
    let both: Vec<u32> = allowed.intersection(cpus).copied().collect();
    set_cpus(&both).map_err(|source| HostError::System { what: "keep to the CPUs of the job", source })
}

/// Changes the CPUs of this thread.
pub(super) fn set_cpus(cpus: &[u32]) -> nix::Result<()> {
    let mut set = nix::sched::CpuSet::new();
    cpus.iter().try_for_each(|cpu| set.set(*cpu as usize))?;
    nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &set)
}

/// A guard that restores the thread's former CPUs when it is dropped.
#[must_use]
pub struct KeptTo {
    before: nix::sched::CpuSet,
}

impl Drop for KeptTo {
    fn drop(&mut self) {
        // The CPUs may be offline by now; then the restriction remains.
        let _ = nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &self.before);
    }
}

fn list(path: PathBuf) -> Result<BTreeSet<u32>, HostError> {
    let (path, text) = read(path)?;
    parse_list(&text).ok_or(HostError::Content { path, text })
}

/// Parses the kernel's list format: `0-3,8,10-11`.
pub(super) fn parse_list(text: &str) -> Option<BTreeSet<u32>> {
    let mut cpus = BTreeSet::new();
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        cpus.extend(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?);
    }
    Some(cpus)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::fs;

    /// Writes the files of a host's topology. `cores` has a line `SOCKET NODE CACHE CPUS [e]` per core: CACHE is the
    /// list of CPUs that share its last-level cache, CPUS its hardware threads, `e` marks a slower core.
    pub(crate) fn host(cores: &str, online: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let write = |path: String, text: &str| {
            let path = root.path().join("sys/devices").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        };
        write("system/cpu/online".into(), online);
        let mut nodes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut kinds: BTreeMap<bool, Vec<&str>> = BTreeMap::new();
        for line in cores.lines().filter(|line| !line.trim().is_empty()) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (socket, node, cache, cpus) = (fields[0], fields[1], fields[2], fields[3]);
            nodes.entry(node).or_default().push(cpus);
            kinds.entry(fields.get(4) == Some(&"e")).or_default().push(cpus);
            for cpu in parse_list(cpus).unwrap() {
                let about = format!("system/cpu/cpu{cpu}");
                write(format!("{about}/topology/physical_package_id"), socket);
                write(format!("{about}/topology/thread_siblings_list"), cpus);
                for (index, level, sharing) in [(0, "1", cpus), (1, "3", cache)] {
                    write(format!("{about}/cache/index{index}/level"), level);
                    write(format!("{about}/cache/index{index}/shared_cpu_list"), sharing);
                }
            }
        }
        for (node, cpus) in nodes {
            write(format!("system/node/node{node}/cpulist"), &cpus.join(","));
        }
        if kinds.len() == 2 {
            write("cpu_core/cpus".into(), &kinds[&false].join(","));
            write("cpu_atom/cpus".into(), &kinds[&true].join(","));
        }
        root
    }

    pub(crate) fn read(root: &tempfile::TempDir, allowed: impl IntoIterator<Item = u32>) -> Cores {
        Cores::read(root.path(), allowed.into_iter().collect()).unwrap()
    }

    const TWO_SOCKETS: &str = "0 0 0-1,4-5 0,4\n0 0 0-1,4-5 1,5\n1 1 2-3,6-7 2,6\n1 1 2-3,6-7 3,7";

    fn usable_cores(cores: &Cores) -> Vec<Vec<u32>> {
        cores.usable_cores().map(|core| core.cpus.clone()).collect()
    }

    #[test]
    fn two_sockets_with_hardware_threads_are_distinguished() {
        let cores = read(&host(TWO_SOCKETS, "0-7"), 0..8);
        assert_eq!(cores.sockets(), 2);
        let third = Core { socket: 1, node: 1, cache: 2, efficiency: false, cpus: vec![2, 6] };
        assert_eq!(cores.cores[2], third);
        assert_eq!(cores.usable_cores().count(), 4);
    }

    #[test]
    fn sockets_without_hardware_threads_have_a_core_per_cpu() {
        let line = |cpu: u32| format!("{} {} {}-{} {cpu}\n", cpu / 4, cpu / 2, cpu / 2 * 2, cpu / 2 * 2 + 1);
        let cores = read(&host(&(0..16).map(line).collect::<String>(), "0-15"), 0..16);
        assert_eq!((cores.sockets(), cores.usable_cores().count()), (4, 16));
        assert_eq!((cores.cores[7].socket, cores.cores[7].node, cores.cores[7].cache), (1, 3, 6));
    }

    #[test]
    fn the_slow_cores_of_a_hybrid_processor_are_not_usable() {
        let hybrid = "0 0 0-7 0-1\n0 0 0-7 2-3\n0 0 0-7 4 e\n0 0 0-7 5 e\n0 0 0-7 6 e\n0 0 0-7 7 e";
        let cores = read(&host(hybrid, "0-7"), 0..8);
        assert_eq!(cores.cores.len(), 6);
        assert_eq!(usable_cores(&cores), [[0, 1], [2, 3]]);
    }

    #[test]
    fn a_core_with_a_sibling_that_is_not_allowed_is_not_usable() {
        // As in a cluster job that may use only some CPUs.
        assert_eq!(usable_cores(&read(&host(TWO_SOCKETS, "0-7"), [0, 4, 1, 2, 6])), [[0, 4], [2, 6]]);
    }

    #[test]
    fn offline_cores_and_siblings_are_left_out() {
        let root = host("0 0 0-3 0-1\n0 0 0-3 2-3\n0 0 0-3 4-5", "0-2");
        assert_eq!(usable_cores(&read(&root, 0..3)), [vec![0, 1], vec![2]]);
    }

    #[test]
    fn a_host_without_topology_has_one_core_per_cpu() {
        assert_eq!(read(&host("", "0-1"), 0..2).cores.len(), 2);
    }

    #[test]
    fn an_invalid_list_is_an_error_with_its_path() {
        let error = Cores::read(host("", "0-x").path(), BTreeSet::new()).unwrap_err().to_string();
        assert!(error.contains("sys/devices/system/cpu/online: `0-x`"), "{error}");
    }

    #[test]
    fn this_host_has_a_core() {
        let cores = Cores::read(Path::new("/"), allowed_cpus().unwrap()).unwrap();
        assert!(!cores.cores.is_empty() && !cores.allowed.is_empty());
    }
}
