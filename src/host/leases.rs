//! Who may use which cores and how much memory: it counts, it pins nothing. What other controllers of the host
//! hold stands in the book.

use super::lease_registry::{LeaseRegistry, MachineLease, RegistryLock};
use super::{Core, Cores, Memory, Policy};
use mcc_base::Mark;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The cores and the memory of a host, and the runs that hold them.
#[derive(Debug)]
pub struct Leases {
    /// Whole cores that runs may have for themselves.
    leasable: Vec<Core>,
    /// CPUs no run ever has for itself.
    housekeeping: Vec<u32>,
    memory_mib: u64,
    held: BTreeMap<u64, LeaseState>,
    next: u64,
    /// None: no other controller is reckoned with.
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

/// The cores and memory of one run. Given back with `Leases::release`.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a lease that is not released is held for ever"]
pub struct Lease {
    number: u64,
    /// One per vCPU. On a core of its own each, unless the run is marked as sharing.
    pub cpus: Vec<u32>,
    pub memory_mib: u64,
}

/// Why this host can never give such a lease.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaseError {
    #[error(
        "a machine of {vcpus} vCPUs needs {vcpus} whole cores of one socket beside one for the controller; this \
         host has {have} to give; --allow-degraded shares cores (every such run is marked {})",
        Mark::SHARED_CORES
    )]
    TooFewCores { vcpus: u32, have: usize },
    #[error(
        "a machine needs {needed_mib} MiB of memory, this host has {have_mib} MiB to give; --allow-degraded \
         overcommits memory (every such run is marked {})",
        Mark::OVERCOMMITTED_MEMORY
    )]
    TooLittleMemory { needed_mib: u64, have_mib: u64 },
    #[error(
        "cannot keep the leases of this host in {}: {problem}; give every controller of this host the same folder \
         that all may write to, in {}", path.display(), super::LEASE_FOLDER_VARIABLE
    )]
    LeaseRegistry { path: PathBuf, problem: String },
}

impl Leases {
    /// One core, the first, is kept for the controller and QEMU's other threads (E-5.5: they stay off leased
    /// cores), unless there are CPUs no run can have anyway: those of a core that is not wholly ours.
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
            memory_mib: memory.available_mib,
            held: BTreeMap::new(),
            next: 0,
            registry: None,
        }
    }

    /// From now on nothing is leased that another controller holds by its page in the book.
    #[must_use]
    pub fn with_registry(mut self, registry: LeaseRegistry) -> Self {
        self.registry = Some(registry);
        self
    }

    /// CPUs for the controller and for QEMU's threads that are no vCPUs.
    pub fn housekeeping(&self) -> &[u32] {
        &self.housekeeping
    }

    /// How many such machines run at once without degrading.
    pub fn capacity(&self, vcpus: u32, memory_mib: u64) -> u64 {
        let by_cores: u64 = grouped(self.leasable.iter(), by_socket)
            .values()
            .map(|cores| (cores.len() as u64) / u64::from(vcpus.max(1)))
            .sum();
        self.memory_mib.checked_div(memory_mib).map_or(by_cores, |by_memory| by_cores.min(by_memory))
    }

    /// Cores and memory for a machine. `Ok(None)`: not now, but when others are released (those of other
    /// controllers are not heard of: ask again).
    ///
    /// With `AllowDegraded` it never waits: what is not free now is shared or overcommitted (the number of
    /// runs at once is then the caller's to limit), but a run that has cores for itself keeps them.
    pub fn lease(
        &mut self,
        vcpus: u32,
        memory_mib: u64,
        policy: Policy,
    ) -> Result<Option<Lease>, LeaseError> {
        let mut guard = self.registry.as_ref().map(LeaseRegistry::guard).transpose()?;
        let mut taken: Vec<MachineLease> = guard.as_ref().map_or(vec![], |guard| guard.other_leases.clone());
        taken.extend(self.held.values().map(LeaseState::machine_lease));
        let used_mib: u64 = taken.iter().map(|held| held.memory_mib).sum();
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
                return match most < vcpus as usize {
                    true => Err(LeaseError::TooFewCores { vcpus, have: most }),
                    false => Ok(None),
                };
            }
        };
        if !memory_fits && policy == Policy::Contest {
            return match memory_mib > self.memory_mib {
                true => {
                    Err(LeaseError::TooLittleMemory { needed_mib: memory_mib, have_mib: self.memory_mib })
                }
                false => Ok(None),
            };
        }
        if !memory_fits {
            marks.insert(Mark::OVERCOMMITTED_MEMORY);
            // Whoever runs beside it may be short of memory as well.
            for held in self.held.values_mut() {
                held.marks.insert(Mark::OVERCOMMITTED_MEMORY);
            }
            guard.as_mut().map_or(Ok(()), RegistryLock::overcommit)?;
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

    /// Gives a lease back; returns the marks the run has earned in all the time it held it.
    pub fn release(&mut self, lease: Lease) -> Vec<Mark> {
        let Some(mut held) = self.held.remove(&lease.number) else { return vec![] };
        match self.registry.as_ref().map(LeaseRegistry::guard) {
            Some(Ok(guard)) => {
                if guard.overcommits > held.overcommits {
                    held.marks.insert(Mark::OVERCOMMITTED_MEMORY);
                }
                // A page that cannot be written holds too much, until the next one can or we end.
                if let Err(error) = self.write(&guard) {
                    tracing::warn!(%error, "a lease is not given back");
                }
            }
            Some(Err(error)) => tracing::warn!(%error, "a lease is not given back"),
            None => {}
        }
        held.marks.into_iter().collect()
    }

    fn write(&mut self, guard: &RegistryLock) -> Result<(), LeaseError> {
        let held = self.held.values().map(LeaseState::machine_lease).collect();
        self.registry.as_mut().map_or(Ok(()), |registry| registry.write(guard, held))
    }

    /// Free cores of one socket: of one cache where it has enough of them, else of one NUMA node, else of any.
    /// Among several such groups the one with the fewest: big machines find room longer.
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
            // The first CPU of each core; its siblings stay empty.
            Some(cores.iter().take(vcpus as usize).map(|core| core.cpus[0]).collect())
        })
    }

    /// CPUs to share: the least used first, never of a core that another run has for itself.
    fn shared_cpus(&self, vcpus: u32, taken: &[MachineLease]) -> Vec<u32> {
        let exclusive: BTreeSet<u32> =
            taken.iter().filter(|held| !held.shared).flat_map(|held| held.cpus.iter().copied()).collect();
        let open = self.leasable.iter().filter(|core| !core.cpus.iter().any(|cpu| exclusive.contains(cpu)));
        let open = open.flat_map(|core| core.cpus.iter().copied());
        // CPU -> users; the controller's own come last among equals.
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

/// Where a core lies: socket, NUMA node, cache.
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

    /// Sockets of so many cores, each core with CPUs c and c + 100.
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
    fn a_machine_gets_whole_cores_of_one_socket_and_never_the_controllers() {
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
    fn small_machines_leave_the_room_of_a_big_one() {
        let mut leases = host(&[3, 4], 256 * GIB);
        let cpus = |lease: Result<Option<Lease>, _>| lease.unwrap().unwrap().cpus;
        assert_eq!(cpus(leases.lease(1, GIB, Policy::Contest)), [1]);
        assert_eq!(cpus(leases.lease(1, GIB, Policy::Contest)), [2]);
        assert_eq!(cpus(leases.lease(4, GIB, Policy::Contest)), [3, 4, 5, 6]);
    }

    #[test]
    fn too_few_cores_or_too_little_memory_is_refused_and_the_flag_named() {
        let mut leases = host(&[2], 8 * GIB);
        let error = leases.lease(4, GIB, Policy::Contest).unwrap_err();
        assert_eq!(error, LeaseError::TooFewCores { vcpus: 4, have: 1 });
        assert!(error.to_string().contains("--allow-degraded"), "{error}");
        let error = leases.lease(1, 16 * GIB, Policy::Contest).unwrap_err();
        assert_eq!(error, LeaseError::TooLittleMemory { needed_mib: 16 * GIB, have_mib: 8 * GIB });
        assert!(error.to_string().contains("--allow-degraded"), "{error}");
    }

    #[test]
    fn degraded_machines_share_what_no_other_has_for_itself_and_are_marked() {
        let mut leases = host(&[2], 64 * GIB);
        let own = leases.lease(1, 16 * GIB, Policy::AllowDegraded).unwrap().unwrap();
        assert_eq!(own.cpus, [1]);
        let shared = leases.lease(4, 16 * GIB, Policy::AllowDegraded).unwrap().unwrap();
        assert_eq!(shared.cpus, [0, 100, 0, 100], "the core of the first stays its own");
        assert_eq!(leases.release(shared), ["degraded:shared-cores"]);
        assert_eq!(leases.release(own), [""; 0]);
        let all = leases.lease(4, 16 * GIB, Policy::AllowDegraded).unwrap().unwrap();
        assert_eq!(all.cpus, [1, 101, 0, 100]);
        assert_eq!(leases.lease(1, 16 * GIB, Policy::Contest), Ok(None), "no core is free for one alone");
        assert_eq!(leases.release(all), ["degraded:shared-cores"]);
    }

    #[test]
    fn overcommitted_memory_marks_everybody_it_may_hurt() {
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
    fn a_core_that_is_not_wholly_ours_serves_the_controller() {
        let cores = (0..3).map(|cpu| Core { cpus: vec![cpu, cpu + 3], ..Core::default() }).collect();
        let memory = Memory { total_mib: GIB, available_mib: GIB, limited_by: None };
        let leases = Leases::new(&Cores { cores, allowed: [0, 3, 1, 4, 2].into() }, &memory);
        assert_eq!(leases.housekeeping(), [2]);
        assert_eq!(leases.capacity(2, GIB), 1);
    }

    #[test]
    fn a_machine_stays_within_a_cache_or_a_node_where_one_has_room() {
        // One socket, two nodes of two caches of two cores; the first core is the controller's.
        let line = |cpu: u32| format!("0 {} {1}-{2} {cpu}\n", cpu / 4, cpu / 2 * 2, cpu / 2 * 2 + 1);
        let root = cores::host(&(0..8).map(line).collect::<String>(), "0-7");
        let memory = Memory { total_mib: 256 * GIB, available_mib: 256 * GIB, limited_by: None };
        let mut leases = Leases::new(&cores::read(&root, 0..8), &memory);
        let mut lease = |vcpus| leases.lease(vcpus, GIB, Policy::Contest).unwrap().map(|lease| lease.cpus);
        assert_eq!(lease(2), Some(vec![2, 3]), "a whole cache, not one core of each");
        assert_eq!(lease(3), Some(vec![4, 5, 6]), "no cache has three, a node has");
        assert_eq!(lease(2), Some(vec![1, 7]), "what is left of the socket");
        assert_eq!(lease(1), None);
    }

    #[test]
    fn controllers_of_one_host_hold_no_core_and_no_memory_twice() {
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
        assert_eq!(shared.cpus, [0], "beside the controllers, not on a core of the other's run");
        assert_eq!(second.release(shared), ["degraded:shared-cores"]);
        assert_eq!(first.release(of_first), [""; 0]);
        assert_eq!(second.lease(1, 32 * GIB, contest), Ok(None), "no memory is left: wait");
        // An owner that is gone holds nothing.
        drop(second);
        assert_eq!(first.lease(2, 32 * GIB, contest).unwrap().unwrap().cpus, [1, 2]);
    }

    #[test]
    fn memory_overcommitted_by_one_controller_marks_the_machines_of_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let controller =
            || host(&[4], 24 * GIB).with_registry(LeaseRegistry::open(folder.path(), "c").unwrap());
        let (mut first, mut second) = (controller(), controller());
        let before = first.lease(1, 16 * GIB, Policy::Contest).unwrap().unwrap();
        let greedy = second.lease(1, 16 * GIB, Policy::AllowDegraded).unwrap().unwrap();
        assert_eq!(second.release(greedy), ["degraded:overcommitted-memory"]);
        assert_eq!(first.release(before), ["degraded:overcommitted-memory"], "though the other one is over");
        let after = first.lease(1, 16 * GIB, Policy::Contest).unwrap().unwrap();
        assert_eq!(first.release(after), [""; 0]);
    }

    proptest! {
        /// E-5: leases never overlap, whatever comes and goes.
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
