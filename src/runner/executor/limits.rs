//! The limits of a run (rule E-5.1), as a function of measured times.

use mcc_edition::Limits;
use mcc_store::Outcome;
use std::time::Duration;

/// What a run may use, from the start of the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// CPU time, summed over the vCPU threads; None: no limit.
    pub cpu: Option<Duration>,
    /// Wall time.
    pub wall: Duration,
    /// Instructions, which the machine itself limits; None: no limit.
    pub instructions: Option<u64>,
    vcpus: u32,
}

/// The result of a check of the limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitCheck {
    /// The run is within its limits, and cannot exceed them before this duration has passed.
    Within(Duration),
    /// The run exceeded a limit.
    Over(Outcome),
}

/// A run whose limit is enforced later than this after it was reached is marked `late-limit`.
pub const LATEST: Duration = Duration::from_secs(1);

/// How a limit was enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enforced {
    InTime,
    /// Possibly more than `LATEST` after it was reached.
    Late,
    /// Possibly later than the accepted stall: an infrastructure failure.
    Unwatched,
}

impl Enforced {
    /// `late`: the time from the last moment at which the machine was certainly within its limits until its end; `stall`:
    /// see `Hosts`.
    pub fn new(late: Duration, stall: Duration) -> Self {
        match late {
            late if late > stall => Self::Unwatched,
            late if late > LATEST => Self::Late,
            _ => Self::InTime,
        }
    }
}

/// Longest time between checks: the threads of a machine may use slightly more CPU time than the wall time of its vCPUs.
const MAX_CHECK_INTERVAL: Duration = Duration::from_secs(10);
const MIN_CHECK_INTERVAL: Duration = Duration::from_millis(1);

impl Budget {
    /// The budget of a run with `vcpus` vCPUs.
    pub fn new(limits: &Limits, vcpus: u32) -> Self {
        Self {
            cpu: limits.cpu_limit_s(vcpus).map(Duration::from_secs),
            wall: Duration::from_secs(limits.wall_limit_s()),
            instructions: limits.instructions,
            vcpus,
        }
    }

    /// Checks wall time and CPU time (summed over the vCPUs) since the start of the tool.
    pub fn check(&self, wall: Duration, cpu: Duration) -> LimitCheck {
        if self.cpu.is_some_and(|limit| cpu >= limit) {
            return LimitCheck::Over(Outcome::CpuLimit);
        }
        if wall >= self.wall {
            return LimitCheck::Over(Outcome::WallLimit);
        }
        // All vCPUs together use at most `vcpus` seconds of CPU time per second.
        let cpu_left = self.cpu.map_or(MAX_CHECK_INTERVAL, |limit| (limit - cpu) / self.vcpus);
        LimitCheck::Within(cpu_left.min(self.wall - wall).clamp(MIN_CHECK_INTERVAL, MAX_CHECK_INTERVAL))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_edition::CpuReading;

    fn limits(cpu_reading: CpuReading) -> Limits {
        Limits {
            cpu_s: 3600,
            cpu_reading,
            wall_s: 4500,
            confinement_s: 3600,
            output_bytes: 1,
            memory_reserve_mib: 128,
            disk_gib: None,
            instructions: None,
        }
    }

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_per_vcpu_reading_gives_the_limit_for_each_core() {
        let budget = Budget::new(&limits(CpuReading::PerVcpu), 4);
        assert_eq!(budget.check(s(3600), s(4 * 3600 - 1)), LimitCheck::Within(Duration::from_millis(250)));
        assert_eq!(budget.check(s(3600), s(4 * 3600)), LimitCheck::Over(Outcome::CpuLimit));
    }

    #[test]
    fn the_summed_reading_counts_all_cores_together() {
        let budget = Budget::new(&limits(CpuReading::Summed), 4);
        assert_eq!(budget.check(s(900), s(3600)), LimitCheck::Over(Outcome::CpuLimit));
    }

    #[test]
    fn the_wall_limit_ends_a_tool_that_uses_no_cpu_time() {
        let budget = Budget::new(&limits(CpuReading::PerVcpu), 1);
        assert_eq!(budget.check(s(4499), s(0)), LimitCheck::Within(s(1)));
        assert_eq!(budget.check(s(4500), s(0)), LimitCheck::Over(Outcome::WallLimit));
    }

    #[test]
    fn limits_enforced_over_a_second_late_are_marked() {
        let stall = s(10);
        let ms = Duration::from_millis;
        assert_eq!(Enforced::new(ms(1000), stall), Enforced::InTime);
        assert_eq!(Enforced::new(ms(1001), stall), Enforced::Late);
        assert_eq!(Enforced::new(ms(10_001), stall), Enforced::Unwatched);
        assert_eq!(
            Enforced::new(ms(700), ms(500)),
            Enforced::Unwatched,
            "a campaign may set a shorter stall"
        );
    }

    #[test]
    fn the_benchkit_reading_limits_only_wall_time() {
        let budget = Budget::new(&limits(CpuReading::Benchkit), 1);
        assert_eq!(budget.check(s(3599), s(9999)), LimitCheck::Within(s(1)));
        assert_eq!(budget.check(s(3600), s(0)), LimitCheck::Over(Outcome::WallLimit));
    }
}
