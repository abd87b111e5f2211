//! Leases: which run may use which cores and how much memory. This module does the accounting only; it pins no thread.
//! The leases of other controllers of the host are in the lease registry.

use super::lease_registry::{LeaseRegistry, MachineLease, RegistryLock};
use super::{Core, Cores, Memory, Policy};
use mcc_base::Mark;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The cores and the memory of a host, and the leases on them.
#[derive(Debug)]
pub struct Leases {
    /// Whole cores that a run may use exclusively.
    leasable: Vec<Core>,
    /// CPUs that no run uses exclusively.
    housekeeping: Vec<u32>,
    /// The socket of each online CPU.
    sockets: BTreeMap<u32, u32>,
    memory_mib: u64,
    held: BTreeMap<u64, LeaseState>,
    next: u64,
    /// None: other controllers are ignored.
    registry: Option<LeaseRegistry>,
}

#[derive(Debug)]
struct LeaseState {
    cpus: Vec<u32>,
    memory_mib: u64,
    marks: BTreeSet<Mark>,
    /// How often memory had been overcommitted on this host when it was leased.
    overcommits: u64,
}

impl LeaseState {
    fn machine_lease(&self) -> MachineLease {
        let shared = self.marks.contains(&Mark::SHARED_CORES);
        MachineLease { cpus: self.cpus.clone(), memory_mib: self.memory_mib, shared }
    }
}

/// The cores and memory of one run. `Leases::release` ends it.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a lease that is not released is held until the controller exits"]
pub struct Lease {
    number: u64,
    /// One logical CPU per vCPU, each on another core unless the run shares cores.
    pub cpus: Vec<u32>,
    /// Memory, MiB.
    pub memory_mib: u64,
}

/// The reason why this host cannot give a lease, now or later.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaseError {
    /// No socket has enough whole cores.
    #[error(
        "a machine of {vcpus} vCPUs needs {vcpus} whole cores of one socket and one more core for the controller; this \
         host has {have} available; --allow-degraded shares cores (every such run is marked {})",
        Mark::SHARED_CORES
    )]
    TooFewCores {
        /// The cores that the machine needs.
        vcpus: u32,
        /// The largest number of leasable cores of a socket.
        have: usize,
    },
    /// The host does not have enough memory.
    #[error(
        "a machine needs {needed_mib} MiB of memory, but this host has {have_mib} MiB available; --allow-degraded \
         overcommits memory (every such run is marked {})",
        Mark::OVERCOMMITTED_MEMORY
    )]
    TooLittleMemory {
        /// The memory that the machine needs, MiB.
        needed_mib: u64,
        /// The memory of this host for machines, MiB.
        have_mib: u64,
    },
    /// The lease registry cannot be read or written.
    #[error(
        "cannot keep the leases of this host in {}: {problem}; or set {} to another folder that all controllers of \
         this host use and may write to", path.display(), super::LEASE_FOLDER_VARIABLE
    )]
    Registry {
        /// The file or folder of the registry.
        path: PathBuf,
        /// The cause.
        problem: String,
    },
    /// A stop request while another process had locked the lease registry.
    #[error("{problem}; nothing was run: `run` again to continue")]
    Stopped {
        /// What was waited for.
        problem: String,
    },
}

impl Leases {
    /// Divides the cores into leasable and housekeeping ones. The controller and QEMU's threads other than vCPUs must
    /// not run on leased cores (E-5.5). They run on the CPUs of cores that this process may use only in part; if
    /// there are none, on the first core.
    pub fn new(cores: &Cores, memory: &Memory) -> Self {
        let mut leasable: Vec<Core> = cores.usable_cores().cloned().collect();
        let usable_cores: BTreeSet<u32> =
            leasable.iter().flat_map(|core| core.cpus.iter().copied()).collect();
        let mut housekeeping: Vec<u32> = cores.allowed.difference(&usable_cores).copied().collect();
        if housekeeping.is_empty() && !leasable.is_empty() {
            housekeeping = leasable.remove(0).cpus;
        }
        Self {
            leasable,
            housekeeping,
            sockets: cores
                .cores
                .iter()
                .flat_map(|core| core.cpus.iter().map(|cpu| (*cpu, core.socket)))
                .collect(),
            memory_mib: memory.available_mib,
            held: BTreeMap::new(),
            next: 0,
            registry: None,
        }
    }

    /// Adds the lease registry: from now on the leases of other controllers are respected.
    #[must_use]
    pub fn with_registry(mut self, registry: LeaseRegistry) -> Self {
        self.registry = Some(registry);
        self
    }

    /// Returns the CPUs for the controller and for QEMU's threads other than vCPUs.
    pub fn housekeeping(&self) -> &[u32] {
        &self.housekeeping
    }

    /// Returns how many machines of this size can run at the same time without shared cores or overcommitted memory.
    pub fn capacity(&self, vcpus: u32, memory_mib: u64) -> u64 {
        let by_cores: u64 = grouped(self.leasable.iter(), by_socket)
            .values()
            .map(|cores| (cores.len() as u64) / u64::from(vcpus.max(1)))
            .sum();
        self.memory_mib.checked_div(memory_mib).map_or(by_cores, |by_memory| by_cores.min(by_memory))
    }

    /// Leases cores and memory for a machine. `Ok(None)`: they are not free now but can become free; try again after a
    /// release. Releases of other controllers are not reported, so try again from time to time.
    ///
    /// With `AllowDegraded` cores that are not free are shared, and memory is overcommitted, so the result is `Ok(None)`
    /// only while another process has locked the registry. The caller then has to limit the number of runs. Cores that
    /// a run uses exclusively are not shared.
    ///
    /// # Errors
    /// This host can never give such a lease, or the registry cannot be read or written.
    pub fn lease(
        &mut self,
        vcpus: u32,
        memory_mib: u64,
        policy: Policy,
    ) -> Result<Option<Lease>, LeaseError> {
        let mut guard = match self.registry.as_mut().map(LeaseRegistry::guard).transpose()? {
            Some(None) => return Ok(None),
            locked => locked.flatten(),
        };
        let mut taken: Vec<MachineLease> = guard.as_ref().map_or(vec![], |guard| guard.other_leases.clone());
        taken.extend(self.held.values().map(LeaseState::machine_lease));
        // Saturating: the files of other controllers are not trusted to have possible values.
        let used_mib = taken.iter().map(|held| held.memory_mib).fold(0, u64::saturating_add);
        let memory_fits = used_mib.saturating_add(memory_mib) <= self.memory_mib;
        let mut marks = BTreeSet::new();
        let cpus = match (self.exclusive_cores(vcpus, &taken), policy) {
            (Some(cpus), _) => cpus,
            (None, Policy::AllowDegraded) => {
                marks.insert(Mark::SHARED_CORES);
                self.shared_cpus(vcpus, &taken)
            }
            (None, Policy::Contest) => {
                let most = grouped(self.leasable.iter(), by_socket).values().map(Vec::len).max().unwrap_or(0);
                return if most < vcpus as usize {
                    Err(LeaseError::TooFewCores { vcpus, have: most })
                } else {
                    Ok(None)
                };
            }
        };
        if !memory_fits && policy == Policy::Contest {
            return if memory_mib > self.memory_mib {
                Err(LeaseError::TooLittleMemory { needed_mib: memory_mib, have_mib: self.memory_mib })
            } else {
                Ok(None)
            };
        }
        if !memory_fits {
            marks.insert(Mark::OVERCOMMITTED_MEMORY);
            // The other machines may lack memory too.
            for held in self.held.values_mut() {
                held.marks.insert(Mark::OVERCOMMITTED_MEMORY);
            }
            if let (Some(registry), Some(guard)) = (&self.registry, &mut guard) {
                registry.overcommit(guard)?;
            }
        }
        let overcommits = guard.as_ref().map_or(0, |guard| guard.overcommits);
        let number = self.next;
        self.next += 1;
        self.held.insert(number, LeaseState { cpus: cpus.clone(), memory_mib, marks, overcommits });
        if let Some(guard) = guard {
            self.write(&guard)?;
        }
        Ok(Some(Lease { number, cpus, memory_mib }))
    }

    /// Returns the number of other machines with leased CPUs of a socket of this lease; None if the lease registry cannot be
    /// read now.
    pub fn machines_on_socket(&mut self, lease: &Lease) -> Option<u32> {
        let others = match self.registry.as_mut().map(LeaseRegistry::guard) {
            None => vec![],
            Some(Ok(Some(guard))) => guard.other_leases.clone(),
            Some(_) => return None,
        };
        let sockets = |cpus: &[u32]| -> BTreeSet<u32> {
            cpus.iter().filter_map(|cpu| self.sockets.get(cpu).copied()).collect()
        };
        let own = sockets(&lease.cpus);
        let held =
            self.held.iter().filter(|(number, _)| **number != lease.number).map(|(_, held)| &held.cpus);
        let cpus = held.chain(others.iter().map(|other| &other.cpus));
        let beside = cpus.filter(|cpus| !sockets(cpus).is_disjoint(&own)).count();
        Some(u32::try_from(beside).unwrap_or(u32::MAX))
    }

    /// Releases a lease and returns the marks of its run for the whole time of the lease.
    pub fn release(&mut self, lease: Lease) -> Vec<Mark> {
        let Some(mut held) = self.held.remove(&lease.number) else { return vec![] };
        match self.registry.as_mut().map(LeaseRegistry::guard) {
            Some(Ok(Some(guard))) => {
                if guard.overcommits > held.overcommits {
                    held.marks.insert(Mark::OVERCOMMITTED_MEMORY);
                }
                // If the file cannot be written, the lease stays until the next write or the end of the controller.
                if let Err(error) = self.write(&guard) {
                    tracing::warn!(%error, "a lease is not released");
                }
            }
            Some(Ok(None)) => {
                tracing::warn!("a lease is not released: another process has locked the lease registry");
            }
            Some(Err(error)) => tracing::warn!(%error, "a lease is not released"),
            None => {}
        }
        held.marks.into_iter().collect()
    }

    fn write(&mut self, guard: &RegistryLock) -> Result<(), LeaseError> {
        let held = self.held.values().map(LeaseState::machine_lease).collect();
        self.registry.as_mut().map_or(Ok(()), |registry| registry.write(guard, held))
    }

    /// Returns CPUs of free cores that share a cache, else a NUMA node, else a socket. Among several possible groups
    /// it takes the one with the fewest free cores, so that large groups stay free for large machines.
    fn exclusive_cores(&self, vcpus: u32, taken: &[MachineLease]) -> Option<Vec<u32>> {
        let used: BTreeSet<u32> = taken.iter().flat_map(|held| held.cpus.iter().copied()).collect();
        let is_free = |core: &&Core| core.cpus.iter().all(|cpu| !used.contains(cpu));
        let free = || self.leasable.iter().filter(is_free);
        let left_in_socket = |core: &Core| free().filter(|other| other.socket == core.socket).count();
        let levels = [by_cache, by_node, by_socket];
        levels.into_iter().find_map(|level| {
            let groups = grouped(free(), level).into_values();
            let cores = groups
                .filter(|cores| cores.len() >= vcpus as usize)
                .min_by_key(|cores| (cores.len(), left_in_socket(cores[0])))?;
            // The first CPU of each core; its siblings stay idle.
            Some(cores.iter().take(vcpus as usize).map(|core| core.cpus[0]).collect())
        })
    }

    /// Returns CPUs to share, the least used first, without the cores that another run uses exclusively.
    fn shared_cpus(&self, vcpus: u32, taken: &[MachineLease]) -> Vec<u32> {
        let exclusive: BTreeSet<u32> =
            taken.iter().filter(|held| !held.shared).flat_map(|held| held.cpus.iter().copied()).collect();
        let open = self.leasable.iter().filter(|core| !core.cpus.iter().any(|cpu| exclusive.contains(cpu)));
        let open = open.flat_map(|core| core.cpus.iter().copied());
        // (Is a housekeeping CPU, CPU) -> number of users. Housekeeping CPUs are last among CPUs with equal use.
        let mut load: BTreeMap<(bool, u32), usize> = open.map(|cpu| ((false, cpu), 0)).collect();
        load.extend(self.housekeeping.iter().map(|&cpu| ((true, cpu), 0)));
        let used: Vec<u32> = taken.iter().flat_map(|held| held.cpus.iter().copied()).collect();
        for ((_, cpu), users) in &mut load {
            *users = used.iter().filter(|used| *used == cpu).count();
        }
        let mut cpus = Vec::new();
        for _ in 0..vcpus {
            let least = load.iter_mut().min_by_key(|(place, users)| (**users, **place));
            if let Some(((_, cpu), users)) = least {
                *users += 1;
                cpus.push(*cpu);
            }
        }
        cpus
    }
}

/// Socket, NUMA node and cache of a core.
type CoreLocation = (u32, u32, u32);

fn by_cache(core: &Core) -> CoreLocation {
    (core.socket, core.node, core.cache)
}

fn by_node(core: &Core) -> CoreLocation {
    (core.socket, core.node, 0)
}

fn by_socket(core: &Core) -> CoreLocation {
    (core.socket, 0, 0)
}

fn grouped<'c>(
    cores: impl Iterator<Item = &'c Core>,
    level: fn(&Core) -> CoreLocation,
) -> BTreeMap<CoreLocation, Vec<&'c Core>> {
    let mut groups: BTreeMap<CoreLocation, Vec<&Core>> = BTreeMap::new();
    for core in cores {
        groups.entry(level(core)).or_default().push(core);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::super::cores::tests as cores;
    use super::*;
    use proptest::prelude::*;

    /// A host whose sockets have these numbers of cores. Core c has the CPUs c and c + 100.
    fn host(sockets: &[u32], memory_mib: u64) -> Leases {
        let mut cores = Vec::new();
        for (socket, count) in sockets.iter().enumerate() {
            for _ in 0..*count {
                let cpu = cores.len() as u32;
                cores.push(Core { socket: socket as u32, cpus: vec![cpu, cpu + 100], ..Core::default() });
            }
        }
        let allowed = cores.iter().flat_map(|core| core.cpus.clone()).collect();
        let memory = Memory { total_mib: memory_mib, available_mib: memory_mib, limited_by: None };
        Leases::new(&Cores { cores, allowed }, &memory)
    }

    const GIB: u64 = 1024;

    #[test]
    fn a_machine_gets_whole_cores_of_one_socket() {
        let mut leases = host(&[4, 4], 256 * GIB);
        assert_eq!(leases.housekeeping(), [0, 100]);
        assert_eq!(leases.capacity(4, 16 * GIB), 1);
        let big = leases.lease(4, 16 * GIB, Policy::Contest).unwrap().unwrap();
        assert_eq!(big.cpus, [4, 5, 6, 7]);
        assert_eq!(leases.lease(4, 16 * GIB, Policy::Contest), Ok(None), "3 are left: wait");
        let small = leases.lease(1, 16 * GIB, Policy::Contest).unwrap().unwrap();
        assert_eq!(small.cpus, [1]);
        assert_eq!(leases.release(big), [""; 0]);
        assert!(leases.lease(4, 16 * GIB, Policy::Contest).unwrap().is_some());
    }

    #[test]
    fn small_machines_leave_large_groups_of_cores_free() {
        let mut leases = host(&[3, 4], 256 * GIB);
        let cpus = |lease: Result<Option<Lease>, _>| lease.unwrap().unwrap().cpus;
        assert_eq!(cpus(leases.lease(1, GIB, Policy::Contest)), [1]);
        assert_eq!(cpus(leases.lease(1, GIB, Policy::Contest)), [2]);
        assert_eq!(cpus(leases.lease(4, GIB, Policy::Contest)), [3, 4, 5, 6]);
    }

    #[test]
    fn too_few_cores_or_too_little_memory_is_refused() {
        let mut leases = host(&[2], 8 * GIB);
        let error = leases.lease(4, GIB, Policy::Contest).unwrap_err();
        assert_eq!(error, LeaseError::TooFewCores { vcpus: 4, have: 1 });
        assert!(error.to_string().contains("--allow-degraded"), "{error}");
        let error = leases.lease(1, 16 * GIB, Policy::Contest).unwrap_err();
        assert_eq!(error, LeaseError::TooLittleMemory { needed_mib: 16 * GIB, have_mib: 8 * GIB });
        assert!(error.to_string().contains("--allow-degraded"), "{error}");
    }

    #[test]
    fn degraded_machines_share_non_exclusive_cores_and_are_marked() {
        let mut leases = host(&[2], 64 * GIB);
        let own = leases.lease(1, 16 * GIB, Policy::AllowDegraded).unwrap().unwrap();
        assert_eq!(own.cpus, [1]);
        let shared = leases.lease(4, 16 * GIB, Policy::AllowDegraded).unwrap().unwrap();
        assert_eq!(shared.cpus, [0, 100, 0, 100], "the first machine keeps its core exclusively");
        assert_eq!(leases.release(shared), ["degraded:shared-cores"]);
        assert_eq!(leases.release(own), [""; 0]);
        let all = leases.lease(4, 16 * GIB, Policy::AllowDegraded).unwrap().unwrap();
        assert_eq!(all.cpus, [1, 101, 0, 100]);
        assert_eq!(leases.lease(1, 16 * GIB, Policy::Contest), Ok(None), "no core is free for exclusive use");
        assert_eq!(leases.release(all), ["degraded:shared-cores"]);
    }

    #[test]
    fn overcommitted_memory_marks_all_machines_of_the_host() {
        let mut leases = host(&[4], 24 * GIB);
        let first = leases.lease(1, 16 * GIB, Policy::AllowDegraded).unwrap().unwrap();
        assert_eq!(leases.lease(1, 16 * GIB, Policy::Contest), Ok(None));
        let second = leases.lease(1, 16 * GIB, Policy::AllowDegraded).unwrap().unwrap();
        assert_eq!(leases.release(second), ["degraded:overcommitted-memory"]);
        assert_eq!(leases.release(first), ["degraded:overcommitted-memory"]);
        let alone = leases.lease(1, 16 * GIB, Policy::AllowDegraded).unwrap().unwrap();
        assert_eq!(leases.release(alone), [""; 0]);
    }

    #[test]
    fn a_core_that_is_allowed_in_part_is_for_housekeeping() {
        let cores = (0..3).map(|cpu| Core { cpus: vec![cpu, cpu + 3], ..Core::default() }).collect();
        let memory = Memory { total_mib: GIB, available_mib: GIB, limited_by: None };
        let leases = Leases::new(&Cores { cores, allowed: [0, 3, 1, 4, 2].into() }, &memory);
        assert_eq!(leases.housekeeping(), [2]);
        assert_eq!(leases.capacity(2, GIB), 1);
    }

    #[test]
    fn a_machine_stays_within_a_cache_or_node_if_possible() {
        // One socket, two nodes of two caches of two cores; the first core is for housekeeping.
        let line = |cpu: u32| format!("0 {} {1}-{2} {cpu}\n", cpu / 4, cpu / 2 * 2, cpu / 2 * 2 + 1);
        let root = cores::host(&(0..8).map(line).collect::<String>(), "0-7");
        let memory = Memory { total_mib: 256 * GIB, available_mib: 256 * GIB, limited_by: None };
        let mut leases = Leases::new(&cores::read(&root, 0..8), &memory);
        let mut lease = |vcpus| leases.lease(vcpus, GIB, Policy::Contest).unwrap().map(|lease| lease.cpus);
        assert_eq!(lease(2), Some(vec![2, 3]), "a whole cache, not one core of each");
        assert_eq!(lease(3), Some(vec![4, 5, 6]), "no cache has three free cores, a node has");
        assert_eq!(lease(2), Some(vec![1, 7]), "the remaining cores of the socket");
        assert_eq!(lease(1), None);
    }

    #[test]
    fn two_controllers_do_not_lease_the_same_cores_or_memory() {
        let folder = tempfile::tempdir().unwrap();
        let controller = |name: &str| {
            host(&[3], 40 * GIB).with_registry(LeaseRegistry::open(folder.path(), name).unwrap())
        };
        let (mut first, mut second) = (controller("first"), controller("second"));
        let contest = Policy::Contest;
        let of_first = first.lease(1, 16 * GIB, contest).unwrap().unwrap();
        let of_second = second.lease(1, 16 * GIB, contest).unwrap().unwrap();
        assert_eq!((&of_first.cpus[..], &of_second.cpus[..]), (&[1][..], &[2][..]));
        assert_eq!(second.lease(1, GIB, contest), Ok(None), "no core is left: wait");
        let shared = second.lease(1, GIB, Policy::AllowDegraded).unwrap().unwrap();
        assert_eq!(shared.cpus, [0], "a housekeeping CPU, not a core of the other controller's run");
        assert_eq!(second.release(shared), ["degraded:shared-cores"]);
        assert_eq!(first.release(of_first), [""; 0]);
        assert_eq!(second.lease(1, 32 * GIB, contest), Ok(None), "no memory is left: wait");
        // A controller that has exited holds no lease.
        drop(second);
        assert_eq!(first.lease(2, 32 * GIB, contest).unwrap().unwrap().cpus, [1, 2]);
    }

    #[test]
    fn overcommitted_memory_marks_machines_of_other_controllers() {
        let folder = tempfile::tempdir().unwrap();
        let controller =
            || host(&[4], 24 * GIB).with_registry(LeaseRegistry::open(folder.path(), "c").unwrap());
        let (mut first, mut second) = (controller(), controller());
        let before = first.lease(1, 16 * GIB, Policy::Contest).unwrap().unwrap();
        let greedy = second.lease(1, 16 * GIB, Policy::AllowDegraded).unwrap().unwrap();
        assert_eq!(second.release(greedy), ["degraded:overcommitted-memory"]);
        assert_eq!(
            first.release(before),
            ["degraded:overcommitted-memory"],
            "although the other lease has ended"
        );
        let after = first.lease(1, 16 * GIB, Policy::Contest).unwrap().unwrap();
        assert_eq!(first.release(after), [""; 0]);
    }

    proptest! {
        /// E-5.5: leases do not overlap for any order of leases and releases.
        #[test]
        fn no_two_machines_share_a_core_unmarked(
            sockets in prop::collection::vec(1..6_u32, 1..3),
            steps in prop::collection::vec((1..5_u32, any::<bool>(), any::<prop::sample::Index>()), 1..40),
        ) {
            let mut leases = host(&sockets, 64 * GIB);
            let mut running: Vec<Lease> = Vec::new();
            for (vcpus, degraded, ends) in steps {
                let policy = if degraded { Policy::AllowDegraded } else { Policy::Contest };
                if let Ok(Some(lease)) = leases.lease(vcpus, 16 * GIB, policy) {
                    prop_assert_eq!(lease.cpus.len(), vcpus as usize);
                    running.push(lease);
                }
                let mut owner = BTreeMap::new();
                let mut unmarked_mib = 0;
                for lease in &running {
                    let held = &leases.held[&lease.number];
                    if !held.marks.contains(&Mark::OVERCOMMITTED_MEMORY) {
                        unmarked_mib += lease.memory_mib;
                    }
                    for cpu in &lease.cpus {
                        let sharing = held.marks.contains(&Mark::SHARED_CORES);
                        let (first, first_sharing) = *owner.entry(cpu % 100).or_insert((lease.number, sharing));
                        prop_assert!(first == lease.number || (first_sharing && sharing));
                        prop_assert!(sharing || !leases.housekeeping().contains(cpu));
                    }
                    let own = lease.cpus.iter().map(|cpu| cpu % 100).collect::<BTreeSet<_>>();
                    prop_assert!(held.marks.contains(&Mark::SHARED_CORES) || own.len() == lease.cpus.len());
                }
                prop_assert!(unmarked_mib <= 64 * GIB);
                if running.len() > 3 {
                    let ended = running.swap_remove(ends.index(running.len()));
                    leases.release(ended);
                }
            }
        }
    }
}
