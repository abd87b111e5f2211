//! Reads the state of the host before and after an attempt, and what used the leased cores while the tool ran.

use mcc_base::{Calibration, HostLoad, HostState};
use mcc_vm::host::{
    HostCounters, HostSettings, RunningCalibration, calibrate, shortest_calibration, threads_of_cores,
};
use mcc_vm::{Machine, VcpuLoad};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// Fewer measurements during a run say nothing about its mean speed.
const MIN_MEASUREMENTS: usize = 5;

/// A measurement during the run counts at most this many times the shortest one: a single interrupt must not mark a run.
const MAX_SLOWDOWN: u32 = 2;

/// The host of one attempt, from before the start of its machine.
pub struct HostWatch {
    /// The leased CPUs.
    cpus: Vec<u32>,
    /// All hardware threads of the leased cores.
    threads: Vec<u32>,
    settings: HostSettings,
    before: BTreeMap<u32, Duration>,
    started: Option<Started>,
    load: Option<HostLoad>,
    during: Vec<(u32, Duration)>,
}

struct Started {
    at: Instant,
    counters: HostCounters,
    vcpus: Option<VcpuLoad>,
    running: RunningCalibration,
}

impl HostWatch {
    /// Reads the settings, and calibrates the leased CPUs.
    pub fn new(cpus: &[u32]) -> Self {
        let root = Path::new("/");
        let threads = threads_of_cores(root, cpus);
        Self {
            settings: HostSettings::read(root, &threads),
            before: calibrate(cpus),
            cpus: cpus.to_vec(),
            threads,
            started: None,
            load: None,
            during: vec![],
        }
    }

    /// Starts the count of what uses the leased cores; a second call starts it again.
    pub fn start(&mut self, machine: &Machine) {
        // Where no calibration was possible before, it is not tried during the run.
        let cpus = self.before.keys().copied().collect();
        self.started = Some(Started {
            at: Instant::now(),
            counters: HostCounters::read(Path::new("/"), &self.threads),
            vcpus: machine.vcpu_load(),
            running: RunningCalibration::start(cpus),
        });
    }

    /// Ends the count, while the machine still exists.
    pub fn end(&mut self, machine: &Machine) {
        let Some(started) = self.started.take() else { return };
        let (during, calibrating) = started.running.measured();
        let counters = HostCounters::read(Path::new("/"), &self.threads);
        let vcpus = started.vcpus.zip(machine.vcpu_load());
        let wall = started.at.elapsed();
        self.load = Some(load(&started.counters, &counters, vcpus, calibrating, wall));
        self.during = during;
    }

    /// Reads the settings again and calibrates the leased CPUs, after the end of the machine.
    pub fn finish(self) -> HostState {
        let later = HostSettings::read(Path::new("/"), &self.threads);
        let after = calibrate(&self.cpus);
        let mut state = state_of(&self.settings);
        state.changed = self.settings.changes(&later);
        state.load = self.load.map(|load| HostLoad {
            calibration: calibration(&self.before, &self.during, &after, shortest_calibration),
            ..load
        });
        if let Some(load) = &state.load {
            let figures = [
                ("time without a CPU", load.starved_ms.is_none()),
                ("steal", load.steal_ms.is_none()),
                ("load of other processes", load.foreign_ms.is_none()),
                ("CPU pressure", load.cpu_pressure_ms.is_none()),
                ("memory pressure", load.memory_pressure_ms.is_none()),
                ("I/O pressure", load.io_pressure_ms.is_none()),
                ("throttling", load.throttled.is_none()),
                ("swap in use", load.swap_used_kib.is_none()),
                ("calibration", load.calibration.is_none()),
            ];
            let unknown = figures.into_iter().filter(|(_, is_unknown)| *is_unknown);
            state.unknown.extend(unknown.map(|(name, _)| name.to_owned()));
        }
        state
    }

    /// The settings alone, for an attempt whose tool was not started.
    pub fn settings(&self) -> HostState {
        state_of(&self.settings)
    }
}

fn state_of(settings: &HostSettings) -> HostState {
    HostState {
        settings: settings.known.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        unknown: settings.unknown.iter().map(|name| (*name).to_owned()).collect(),
        ..HostState::default()
    }
}

/// The load between two readings. `vcpus`: the times of the vCPU threads at both; `calibrating`: CPU time that the
/// calibration used in between.
fn load(
    before: &HostCounters,
    after: &HostCounters,
    vcpus: Option<(VcpuLoad, VcpuLoad)>,
    calibrating: Duration,
    wall: Duration,
) -> HostLoad {
    let since =
        |counter: fn(&HostCounters) -> Option<u64>| Some(counter(after)?.saturating_sub(counter(before)?));
    let ms = |time: fn(&VcpuLoad) -> Duration| {
        vcpus.map(|(before, after)| time(&after).saturating_sub(time(&before)).as_millis() as u64)
    };
    let calibrating = calibrating.as_millis() as u64;
    let others =
        |all: Option<u64>, own: Option<u64>| Some(all?.saturating_sub(own?).saturating_sub(calibrating));
    let user = since(|counters| counters.user_ms);
    let all =
        user.zip(since(|counters| counters.system_ms)).map(|(user, system)| user.saturating_add(system));
    HostLoad {
        wall_ms: wall.as_millis() as u64,
        starved_ms: ms(|vcpus| vcpus.waited),
        steal_ms: since(|counters| counters.steal_ms),
        foreign_ms: others(all, ms(|vcpus| vcpus.cpu)),
        foreign_user_ms: others(user, ms(|vcpus| vcpus.user)),
        cpu_pressure_ms: since(|counters| counters.cpu_pressure_us).map(|us| us / 1000),
        memory_pressure_ms: since(|counters| counters.memory_pressure_us).map(|us| us / 1000),
        io_pressure_ms: since(|counters| counters.io_pressure_us).map(|us| us / 1000),
        throttled: since(|counters| counters.throttled),
        swap_used_kib: before.swap_used_kib.zip(after.swap_used_kib).map(|(before, after)| [before, after]),
        calibration: None,
    }
}

/// The speed of the cores, relative to their shortest times.
fn calibration(
    before: &BTreeMap<u32, Duration>,
    during: &[(u32, Duration)],
    after: &BTreeMap<u32, Duration>,
    shortest: impl Fn(u32) -> Option<Duration>,
) -> Option<Calibration> {
    let per_mille = |cpu: u32, time: Duration| {
        let shortest = shortest(cpu)?.as_nanos().max(1);
        u64::try_from(time.as_nanos() * 1000 / shortest).ok()
    };
    let slowest =
        |times: &BTreeMap<u32, Duration>| times.iter().filter_map(|(cpu, time)| per_mille(*cpu, *time)).max();
    let capped = |(cpu, time): &(u32, Duration)| {
        let shortest = shortest(*cpu)?;
        per_mille(*cpu, (*time).clamp(shortest, shortest.saturating_mul(MAX_SLOWDOWN)))
    };
    let during: Vec<u64> = during.iter().filter_map(capped).collect();
    let mean = during.iter().sum::<u64>() / (during.len().max(1) as u64);
    let shortest_ns = before.keys().filter_map(|cpu| shortest(*cpu)).max()?.as_nanos();
    Some(Calibration {
        shortest_ns: u64::try_from(shortest_ns).unwrap_or(u64::MAX),
        before: slowest(before),
        during: (during.len() >= MIN_MEASUREMENTS).then_some(mean),
        after: slowest(after),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    #[test]
    fn the_slowest_core_and_the_mean_of_the_run_count() {
        let shortest = |_| Some(us(500));
        let before = [(1, us(500)), (2, us(600))].into();
        let after = [(1, us(750)), (2, us(500))].into();
        // One long measurement counts twice the shortest.
        let during = [500, 500, 500, 90_000, 500].map(|time| (1, us(time)));
        let found = calibration(&before, &during, &after, shortest).unwrap();
        let (before_run, during_run, after_run) = (Some(1200), Some(1200), Some(1500));
        assert_eq!(
            found,
            Calibration { shortest_ns: 500_000, before: before_run, during: during_run, after: after_run }
        );
        assert_eq!(calibration(&before, &during[..4], &after, shortest).unwrap().during, None);
        assert_eq!(calibration(&BTreeMap::new(), &[], &BTreeMap::new(), shortest), None);
    }

    #[test]
    fn the_load_of_others_is_that_of_the_cores_minus_the_own_time() {
        let counters = |user_ms, system_ms| HostCounters {
            user_ms: Some(user_ms),
            system_ms: Some(system_ms),
            io_pressure_us: Some(user_ms * 1000),
            ..HostCounters::default()
        };
        let vcpus = |cpu, waited, user| VcpuLoad { cpu: us(cpu), waited: us(waited), user: us(user) };
        let own = Some((vcpus(1000, 0, 1000), vcpus(6_001_000, 40_000, 5_001_000)));
        let found = load(&counters(100, 100), &counters(7100, 1200), own, us(100_000), us(9_000_000));
        assert_eq!(found.foreign_ms, Some(7000 + 1100 - 6000 - 100));
        assert_eq!(found.foreign_user_ms, Some(7000 - 5000 - 100));
        assert_eq!((found.starved_ms, found.io_pressure_ms, found.wall_ms), (Some(40), Some(7000), 9000));
        assert_eq!((found.steal_ms, found.throttled), (None, None), "no source");
        let ended = load(&counters(0, 0), &counters(9, 9), None, us(0), us(9));
        assert_eq!((ended.foreign_ms, ended.starved_ms), (None, None));
    }
}
