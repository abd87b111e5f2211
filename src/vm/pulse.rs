//! Whether the controller kept looking at its machine. While it is stopped (SIGSTOP, a debugger) or its host
//! is suspended, limits are passed unseen: the measurement of such an attempt is worth nothing.

use nix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The longest time between two looks at a machine, beyond what was asked for.
#[derive(Debug)]
pub struct Pulse {
    last: Duration,
    longest: Duration,
}

impl Pulse {
    /// `now` by `since_boot`.
    pub fn new(now: Duration) -> Self {
        Self { last: now, longest: Duration::ZERO }
    }

    /// A look at `now`, which was to come within `asked` of the last one.
    pub fn beat(&mut self, now: Duration, asked: Duration) {
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
        let mut pulse = Pulse::new(100 * S);
        pulse.beat(101 * S, S);
        pulse.beat(101 * S + S / 2, S);
        assert_eq!(pulse.longest(), Duration::ZERO);
        pulse.beat(223 * S, S);
        assert_eq!(pulse.longest(), 120 * S + S / 2);
        pulse.beat(230 * S, S);
        assert_eq!(pulse.longest(), 120 * S + S / 2);
    }
}
