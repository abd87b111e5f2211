//! Detects stalls: times in which the controller did not check its machine, because it was stopped (SIGSTOP, a
//! debugger) or its host was suspended. During a stall limits are not enforced, so the measurement is invalid.

use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Measures the longest delay between two checks of a machine, beyond the interval that was planned.
#[derive(Debug)]
pub struct StallDetector {
    last: Duration,
    longest: Duration,
}

impl StallDetector {
    /// `now`: a time of `since_boot`.
    pub fn new(now: Duration) -> Self {
        Self { last: now, longest: Duration::ZERO }
    }

    /// Records a check at `now` that was planned within `planned` after the last one.
    pub fn observe(&mut self, now: Duration, planned: Duration) {
        let late = now.saturating_sub(self.last).saturating_sub(planned);
        self.longest = self.longest.max(late);
        self.last = now;
    }

    /// Returns the longest delay so far.
    pub fn longest(&self) -> Duration {
        self.longest
    }
}

/// Returns the time since the host's boot. It is monotonic and, unlike `Instant`, includes the time of suspension.
pub fn since_boot() -> Duration {
    clock_gettime(ClockId::CLOCK_BOOTTIME).map(Duration::from).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_delay_beyond_the_plan_is_the_stall() {
        const S: Duration = Duration::from_secs(1);
        let mut stall_detector = StallDetector::new(100 * S);
        stall_detector.observe(101 * S, S);
        stall_detector.observe(101 * S + S / 2, S);
        assert_eq!(stall_detector.longest(), Duration::ZERO);
        stall_detector.observe(223 * S, S);
        assert_eq!(stall_detector.longest(), 120 * S + S / 2);
        stall_detector.observe(230 * S, S);
        assert_eq!(stall_detector.longest(), 120 * S + S / 2);
    }

    #[test]
    fn a_delay_between_checks_without_a_wait_is_a_stall() {
        const S: Duration = Duration::from_secs(1);
        let mut stall_detector = StallDetector::new(100 * S);
        stall_detector.observe(101 * S, S);
        stall_detector.observe(457 * S, Duration::ZERO);
        assert_eq!(stall_detector.longest(), 356 * S);
    }
}
