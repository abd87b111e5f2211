//! Whether the controller kept looking at its machine. While it is stopped (SIGSTOP, a debugger) or its host
//! is suspended, limits are passed unseen: the measurement of such an attempt is worth nothing.

use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The longest time between two looks at a machine, beyond what was asked for.
#[derive(Debug)]
pub struct StallDetector {
    last: Duration,
    longest: Duration,
}

impl StallDetector {
    /// `now` by `since_boot`.
    pub fn new(now: Duration) -> Self {
        Self { last: now, longest: Duration::ZERO }
    }

    /// A look at `now`, which was to come within `asked` of the last one.
    pub fn observe(&mut self, now: Duration, asked: Duration) {
        let late = now.saturating_sub(self.last).saturating_sub(asked);
        self.longest = self.longest.max(late);
        self.last = now;
    }

    pub fn longest(&self) -> Duration {
        self.longest
    }
}

/// Monotonic, and unlike `Instant` it goes on while the host is suspended.
pub fn since_boot() -> Duration {
    clock_gettime(ClockId::CLOCK_BOOTTIME).map(Duration::from).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_comes_later_than_asked_is_a_stall_and_the_longest_one_counts() {
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
    fn a_stall_between_two_looks_that_did_not_wait_counts() {
        const S: Duration = Duration::from_secs(1);
        let mut stall_detector = StallDetector::new(100 * S);
        stall_detector.observe(101 * S, S);
        stall_detector.observe(457 * S, Duration::ZERO);
        assert_eq!(stall_detector.longest(), 356 * S);
    }
}
