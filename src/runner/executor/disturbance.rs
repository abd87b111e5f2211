//! Decides whether a run was disturbed, and whether it may be repeated for this.

use mcc_base::{HostLoad, Mark};
use mcc_campaign::Disturbance;

/// Times below this are not compared: `/proc/stat` counts in steps of 10 ms.
const MIN_MS: u64 = 20;

/// Returns why a run with this load was disturbed: each figure above its threshold, as text. Unknown figures disturb
/// nothing.
pub fn reasons(load: &HostLoad, thresholds: &Disturbance) -> Vec<String> {
    let calibration = load.calibration.clone().unwrap_or_default();
    let times = [
        ("vCPUs waited for a CPU", load.starved_ms, thresholds.starved_percent),
        ("the hypervisor below the host took time of the cores", load.steal_ms, thresholds.steal_percent),
        ("others used the cores", load.foreign_ms, thresholds.foreign_percent),
        ("tasks of the host waited for memory", load.memory_pressure_ms, thresholds.pressure_percent),
        ("tasks of the host waited for disks", load.io_pressure_ms, thresholds.pressure_percent),
    ];
    let speeds = [
        ("before the run", calibration.before),
        ("during the run", calibration.during),
        ("after the run", calibration.after),
    ];
    let of_time = |(what, ms, percent): (&str, Option<u64>, u64)| {
        let ms = ms.filter(|ms| exceeds(*ms, percent, load.wall_ms))?;
        Some(format!("{what}: {ms} ms of {} ms (threshold {percent} %)", load.wall_ms))
    };
    let of_speed = |(when, per_mille): (&str, Option<u64>)| {
        let per_mille = per_mille.filter(|per_mille| is_slower(*per_mille, thresholds))?;
        let (slower, percent) = (per_mille - 1000, thresholds.slower_percent);
        Some(format!(
            "the cores were slower {when}: by {}.{} % (threshold {percent} %)",
            slower / 10,
            slower % 10
        ))
    };
    times.into_iter().filter_map(of_time).chain(speeds.into_iter().filter_map(of_speed)).collect()
}

/// Whether a run with this load may be repeated: it was disturbed by something that its guest cannot cause. Otherwise a
/// tool could get another attempt on purpose.
///
/// A guest can cause waiting vCPUs and pressure by its I/O, which threads of QEMU and of the kernel execute. It can cause
/// system time of the kernel on its cores, and, with work that is timed to the ticks of the host's clock, user time that
/// `/proc/stat` attributes to others. So user time of others counts only if vCPUs also waited. Where machines share
/// cores, the threads of QEMU are among the others. A guest can heat its cores, so they count as slower after the run only
/// if they were not throttled, and during the run they do not count.
pub fn may_repeat(load: &HostLoad, marks: &[Mark], thresholds: &Disturbance) -> bool {
    let exceeds = |ms: Option<u64>, percent| ms.is_some_and(|ms| exceeds(ms, percent, load.wall_ms));
    let is_slower = |speed: Option<u64>| speed.is_some_and(|per_mille| is_slower(per_mille, thresholds));
    let calibration = load.calibration.clone().unwrap_or_default();
    let foreign = !marks.contains(&Mark::SHARED_CORES)
        && exceeds(load.foreign_user_ms, thresholds.foreign_percent)
        && exceeds(load.starved_ms, thresholds.starved_percent);
    foreign
        || exceeds(load.steal_ms, thresholds.steal_percent)
        || is_slower(calibration.before)
        || is_slower(calibration.after) && load.throttled.unwrap_or(0) == 0
}

fn exceeds(ms: u64, percent: u64, wall_ms: u64) -> bool {
    ms >= MIN_MS && u128::from(ms) * 100 > u128::from(wall_ms) * u128::from(percent)
}

fn is_slower(per_mille: u64, thresholds: &Disturbance) -> bool {
    per_mille > 1000 + thresholds.slower_percent * 10
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_base::Calibration;

    /// A run of 10 s on a quiet host.
    fn quiet() -> HostLoad {
        let calibration =
            Calibration { shortest_ns: 500_000, before: Some(1010), during: Some(1040), after: Some(1000) };
        HostLoad {
            wall_ms: 10_000,
            starved_ms: Some(150),
            steal_ms: Some(90),
            foreign_ms: Some(200),
            foreign_user_ms: Some(200),
            cpu_pressure_ms: Some(10_000),
            memory_pressure_ms: Some(0),
            io_pressure_ms: Some(1000),
            throttled: Some(0),
            swap_used_kib: Some([0, 0]),
            calibration: Some(calibration),
        }
    }

    fn with_speed(before: u64, during: u64, after: u64) -> HostLoad {
        let (before, during, after) = (Some(before), Some(during), Some(after));
        HostLoad { calibration: Some(Calibration { shortest_ns: 1, before, during, after }), ..quiet() }
    }

    fn repeats(load: &HostLoad) -> bool {
        may_repeat(load, &[], &Disturbance::default())
    }

    #[test]
    fn figures_up_to_their_thresholds_disturb_nothing() {
        assert_eq!(reasons(&quiet(), &Disturbance::default()), Vec::<String>::new());
        assert!(!repeats(&quiet()));
        let unknown = HostLoad { wall_ms: 10_000, ..HostLoad::default() };
        assert_eq!(reasons(&unknown, &Disturbance::default()), Vec::<String>::new());
        let short = HostLoad { wall_ms: 50, starved_ms: Some(19), ..HostLoad::default() };
        assert_eq!(reasons(&short, &Disturbance::default()), Vec::<String>::new(), "below the clock's steps");
    }

    #[test]
    fn each_value_above_its_threshold_is_a_reason_with_its_numbers() {
        for (load, reason) in [
            (
                HostLoad { starved_ms: Some(201), ..quiet() },
                "vCPUs waited for a CPU: 201 ms of 10000 ms (threshold 2 %)",
            ),
            (
                HostLoad { steal_ms: Some(101), ..quiet() },
                "took time of the cores: 101 ms of 10000 ms (threshold 1 %)",
            ),
            (HostLoad { foreign_ms: Some(201), ..quiet() }, "others used the cores: 201 ms"),
            (HostLoad { memory_pressure_ms: Some(1001), ..quiet() }, "waited for memory: 1001 ms"),
            (HostLoad { io_pressure_ms: Some(1001), ..quiet() }, "waited for disks: 1001 ms"),
            (with_speed(1101, 1000, 1000), "slower before the run: by 10.1 % (threshold 5 %)"),
            (with_speed(1000, 1950, 1000), "slower during the run: by 95.0 %"),
            (with_speed(1000, 1000, 1101), "slower after the run: by 10.1 %"),
        ] {
            let found = reasons(&load, &Disturbance::default());
            assert!(found.len() == 1 && found[0].contains(reason), "{found:?}: {reason}");
        }
        let none = Disturbance { starved_percent: 100, ..Disturbance::default() };
        assert!(reasons(&HostLoad { starved_ms: Some(9000), ..quiet() }, &none).is_empty());
    }

    #[test]
    fn an_io_heavy_tool_that_starves_its_own_vcpu_gets_no_repeat() {
        let by_its_io = HostLoad {
            starved_ms: Some(9000),
            foreign_ms: Some(9000),
            foreign_user_ms: Some(0),
            memory_pressure_ms: Some(9000),
            io_pressure_ms: Some(9000),
            ..quiet()
        };
        assert_eq!(reasons(&by_its_io, &Disturbance::default()).len(), 4, "it is marked");
        assert!(!repeats(&by_its_io));
        let by_ticks = HostLoad { foreign_ms: Some(9000), foreign_user_ms: Some(9000), ..quiet() };
        assert!(!repeats(&by_ticks), "work timed to the ticks of the host");
        assert!(!repeats(&with_speed(1000, 3000, 1000)), "its own load may slow the core during the run");
        assert!(
            !repeats(&HostLoad { throttled: Some(1), ..with_speed(1000, 1000, 3000) }),
            "it heated the core"
        );
    }

    #[test]
    fn a_run_disturbed_from_outside_may_be_repeated() {
        let foreign = HostLoad {
            starved_ms: Some(5000),
            foreign_ms: Some(5000),
            foreign_user_ms: Some(5000),
            ..quiet()
        };
        assert!(repeats(&foreign));
        assert!(!may_repeat(&foreign, &[Mark::SHARED_CORES], &Disturbance::default()));
        assert!(repeats(&HostLoad { steal_ms: Some(101), ..quiet() }));
        assert!(repeats(&with_speed(1101, 1000, 1000)) && repeats(&with_speed(1000, 1000, 1101)));
    }
}
