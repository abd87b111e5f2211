//! When a run is over its limits (rule E-5.1, RULES "Limits"): a function of measured times.

use mcc_edition::Limits;
use mcc_store::Outcome;
use std::time::Duration;

/// What a run may use, counted from the tool's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Sum over the vCPU threads; None = no CPU limit.
    pub cpu: Option<Duration>,
    pub wall: Duration,
    vcpus: u32,
}

/// What the times so far say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitCheck {
    /// Within the limits, and certainly so for this long.
    Within(Duration),
    Over(Outcome),
}

/// A limit may be enforced so long after it was reached; later, the run is marked `late-limit`.
pub const LATEST: Duration = Duration::from_secs(1);

/// How a limit was enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Enforced {
    InTime,
    /// More than `LATEST` after it was reached, perhaps.
    Late,
    /// So late that nobody watched the machine: an infrastructure failure.
    Unwatched,
}

impl Enforced {
    /// `late`: time from the moment until which the machine was certainly within its limits to its end; `stall` as of
    /// `Timeouts`.
    pub fn new(late: Duration, stall: Duration) -> Self {
        match late {
            late if late > stall => Self::Unwatched,
            late if late > LATEST => Self::Late,
            _ => Self::InTime,
        }
    }
}

/// Threads of a machine may burn a little more than their vCPUs' wall time; so no look is further away.
const MAX_CHECK_INTERVAL: Duration = Duration::from_secs(10);
const MIN_CHECK_INTERVAL: Duration = Duration::from_millis(1);

impl Budget {
    pub fn new(limits: &Limits, vcpus: u32) -> Self {
        Self {
            cpu: limits.cpu_limit_s(vcpus).map(Duration::from_secs),
            wall: Duration::from_secs(limits.wall_limit_s()),
            vcpus,
        }
    }

    /// `wall` and `cpu` (sum over vCPUs) since the tool's start.
    pub fn check(&self, wall: Duration, cpu: Duration) -> LimitCheck {
        if self.cpu.is_some_and(|limit| cpu >= limit) {
            return LimitCheck::Over(Outcome::CpuLimit);
        }
        if wall >= self.wall {
            return LimitCheck::Over(Outcome::WallLimit);
        }
        // All vCPUs together burn at most `vcpus` seconds a second.
        let cpu_left = self.cpu.map_or(MAX_CHECK_INTERVAL, |limit| (limit - cpu) / self.vcpus);
        LimitCheck::Within(cpu_left.min(self.wall - wall).clamp(MIN_CHECK_INTERVAL, MAX_CHECK_INTERVAL))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_edition::CpuReading;

    fn limits(cpu_reading: CpuReading) -> Limits {
        Limits { cpu_s: 3600, cpu_reading, wall_s: 4500, confinement_s: 3600, output_bytes: 1 }
    }

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_concurrent_tool_has_its_hour_on_each_of_four_cores() {
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
    fn the_wall_limit_catches_a_tool_that_hangs_without_working() {
        let budget = Budget::new(&limits(CpuReading::PerVcpu), 1);
        assert_eq!(budget.check(s(4499), s(0)), LimitCheck::Within(s(1)));
        assert_eq!(budget.check(s(4500), s(0)), LimitCheck::Over(Outcome::WallLimit));
    }

    #[test]
    fn a_limit_enforced_a_second_late_is_told_from_one_in_time() {
        let stall = s(10);
        let ms = Duration::from_millis;
        assert_eq!(Enforced::new(ms(1000), stall), Enforced::InTime);
        assert_eq!(Enforced::new(ms(1001), stall), Enforced::Late);
        assert_eq!(Enforced::new(ms(10_001), stall), Enforced::Unwatched);
        assert_eq!(Enforced::new(ms(700), ms(500)), Enforced::Unwatched, "a campaign may be stricter");
    }

    #[test]
    fn benchkits_own_reading_knows_only_the_wall() {
        let budget = Budget::new(&limits(CpuReading::Benchkit), 1);
        assert_eq!(budget.check(s(3599), s(9999)), LimitCheck::Within(s(1)));
        assert_eq!(budget.check(s(3600), s(0)), LimitCheck::Over(Outcome::WallLimit));
    }
}
