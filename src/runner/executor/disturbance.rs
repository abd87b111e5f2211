//! Decides whether a run is marked as disturbed, and whether it may be repeated.

use mcc_base::{HostLoad, Mark, SLOWER_DURING};
use mcc_campaign::Disturbance;

/// Times below this are not compared: `/proc/stat` counts in steps of 10 ms.
const MIN_MS: u64 = 20;

/// Returns why a run with this load is marked: its cores were slower while it ran. Other figures are shown and mark nothing: a
/// measurement before or after a run says little about it, and other programs change its wall time only.
pub fn reasons(load: &HostLoad, thresholds: &Disturbance) -> Vec<String> {
    let during = load.calibration.as_ref().and_then(|calibration| calibration.during);
    slower(SLOWER_DURING, during, thresholds).into_iter().collect()
}

/// Why a run with this load may be repeated: figures above their thresholds that its guest cannot cause. Otherwise a tool
/// could get another attempt on purpose.
///
/// A guest can cause waiting vCPUs and pressure by its I/O, which threads of QEMU and of the kernel execute. It can cause
/// system time of the kernel on its cores, and, with work that is timed to the ticks of the host's clock, user time that
/// `/proc/stat` attributes to others. So user time of others counts only if vCPUs also waited. Where machines share
/// cores, the threads of QEMU are among the others. A guest can heat its cores, so they count as slower after the run only
/// if it is known that they were not throttled, and during the run they do not count.
pub fn repeat_reasons(load: &HostLoad, marks: &[Mark], thresholds: &Disturbance) -> Vec<String> {
    let of_time = |what: &str, ms: Option<u64>, percent: u64| {
        let ms = ms.filter(|ms| exceeds(*ms, percent, load.wall_ms))?;
        Some(format!("{what}: {ms} ms of {} ms (threshold {percent} %)", load.wall_ms))
    };
    let calibration = load.calibration.clone().unwrap_or_default();
    let waited = of_time("vCPUs waited for a CPU", load.starved_ms, thresholds.starved_percent);
    let foreign = of_time("others used the cores", load.foreign_user_ms, thresholds.foreign_percent);
    let foreign = foreign.filter(|_| waited.is_some() && !marks.contains(&Mark::SHARED_CORES));
    let steal = "the hypervisor below the host took time of the cores";
    let after = calibration.after.filter(|_| load.throttled == Some(0));
    [
        of_time(steal, load.steal_ms, thresholds.steal_percent),
        foreign,
        slower("the cores were slower before the run: by ", calibration.before, thresholds),
        slower("the cores were slower after the run: by ", after, thresholds),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The reason of slower cores, if they were slower than the threshold allows.
fn slower(what: &str, per_mille: Option<u64>, thresholds: &Disturbance) -> Option<String> {
    let percent = thresholds.slower_percent;
    let slower = per_mille?.saturating_sub(1000);
    let text = || format!("{what}{}.{} % (threshold {percent} %)", slower / 10, slower % 10);
    (slower > percent * 10).then(text)
}

fn exceeds(ms: u64, percent: u64, wall_ms: u64) -> bool {
    ms >= MIN_MS && u128::from(ms) * 100 > u128::from(wall_ms) * u128::from(percent)
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
        !repeat_reasons(load, &[], &Disturbance::default()).is_empty()
    }

    #[test]
    fn figures_up_to_their_thresholds_disturb_nothing() {
        let unknown = HostLoad { wall_ms: 10_000, ..HostLoad::default() };
        for load in [quiet(), unknown, with_speed(1050, 1050, 1050)] {
            assert_eq!(reasons(&load, &Disturbance::default()), Vec::<String>::new());
            assert!(!repeats(&load));
        }
        let short = HostLoad { wall_ms: 50, steal_ms: Some(19), ..HostLoad::default() };
        assert!(!repeats(&short), "below the clock's steps");
    }

    #[test]
    fn slower_cores_while_the_run_lasted_are_the_only_mark_and_it_has_their_factor() {
        let found = reasons(&with_speed(1000, 1950, 1000), &Disturbance::default());
        assert_eq!(found, ["the cores were slower during the run: by 95.0 % (threshold 5 %)"]);
        let others = HostLoad {
            starved_ms: Some(9000),
            steal_ms: Some(9000),
            foreign_ms: Some(9000),
            memory_pressure_ms: Some(9000),
            io_pressure_ms: Some(9000),
            ..with_speed(1900, 1000, 1900)
        };
        assert_eq!(reasons(&others, &Disturbance::default()), Vec::<String>::new());
        let none = Disturbance { slower_percent: 100, ..Disturbance::default() };
        assert!(reasons(&with_speed(1000, 1950, 1000), &none).is_empty());
    }

    #[test]
    fn each_figure_that_repeats_a_run_is_a_reason_with_its_figures() {
        for (load, reason) in [
            (
                HostLoad { steal_ms: Some(101), ..quiet() },
                "took time of the cores: 101 ms of 10000 ms (threshold 1 %)",
            ),
            (
                HostLoad { starved_ms: Some(201), foreign_user_ms: Some(201), ..quiet() },
                "others used the cores: 201 ms of 10000 ms (threshold 2 %)",
            ),
            (with_speed(1101, 1000, 1000), "slower before the run: by 10.1 % (threshold 5 %)"),
            (with_speed(1000, 1000, 1101), "slower after the run: by 10.1 %"),
        ] {
            let found = repeat_reasons(&load, &[], &Disturbance::default());
            assert!(found.len() == 1 && found[0].contains(reason), "{found:?}: {reason}");
        }
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
        assert!(!repeats(&by_its_io));
        let by_ticks = HostLoad { foreign_ms: Some(9000), foreign_user_ms: Some(9000), ..quiet() };
        assert!(!repeats(&by_ticks), "work timed to the ticks of the host");
        assert!(!repeats(&with_speed(1000, 3000, 1000)), "its own load may slow the core during the run");
        assert!(
            !repeats(&HostLoad { throttled: Some(1), ..with_speed(1000, 1000, 3000) })
                && !repeats(&HostLoad { throttled: None, ..with_speed(1000, 1000, 3000) }),
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
        assert!(repeat_reasons(&foreign, &[Mark::SHARED_CORES], &Disturbance::default()).is_empty());
        assert!(repeats(&HostLoad { steal_ms: Some(101), ..quiet() }));
        assert!(repeats(&with_speed(1101, 1000, 1000)) && repeats(&with_speed(1000, 1000, 1101)));
    }
}
