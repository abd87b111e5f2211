//! The machine of a run with a meter of its resource usage: waits for the next event of the guest, and checks the limits.

use super::host_watch::HostWatch;
use super::limits::{Budget, LimitCheck};
use super::usage::{SAMPLE_INTERVAL, UsageMeter};
use mcc_base::guest::GuestEvent;
use mcc_store::Outcome;
use mcc_vm::{Event, Machine, VmError};
use std::time::{Duration, Instant};

/// The longest time for which QEMU may be stopped during a run: an attempt that lost more is repeated. A stop that is
/// shorter than the time between two checks may be missed, so a smaller value would promise more than is observed.
const MAX_HELD: Duration = SAMPLE_INTERVAL;

/// A machine with a meter of its resource usage.
pub(super) struct Metered {
    pub host_watch: HostWatch,
    pub machine: Machine,
    pub meter: UsageMeter,
    pub stall: Duration,
    /// The limits that apply now; None: nothing of the tool runs in the guest.
    pub limits: Option<Budget>,
    /// Whether the output before the limit of instructions was read.
    pub is_drained: bool,
}

/// The result of `Metered::next`.
pub(super) enum Step {
    Guest(GuestEvent),
    OutputLimit,
    /// A limit is exceeded.
    Over(Outcome),
    Deadline,
}

impl Metered {
    pub fn read(&mut self) -> Result<(Duration, Duration), VmError> {
        self.meter.read(&mut self.machine)
    }

    /// Returns the next event of the guest that is not a sample. Takes samples while limits apply.
    pub fn next(&mut self, deadline: Instant) -> Result<Step, VmError> {
        loop {
            let (wall, cpu) = self.read()?;
            // Before the limits: during a stall they could not be enforced.
            let stalled = self.machine.stalled();
            if stalled > self.stall {
                return Err(VmError::Suspended(stalled));
            }
            self.machine.check_space()?;
            let held = self.meter.held(&self.machine, wall, cpu);
            if held > MAX_HELD {
                return Err(VmError::Held(held));
            }
            let mut next_check = deadline.min(Instant::now() + SAMPLE_INTERVAL);
            if let Some(limits) = &self.limits {
                match limits.check(wall, cpu) {
                    LimitCheck::Over(Outcome::WallLimit) if !held.is_zero() => {
                        return Err(VmError::Held(held));
                    }
                    LimitCheck::Over(outcome) => return Ok(Step::Over(outcome)),
                    LimitCheck::Within(time) => self.meter.within_until = Instant::now() + time,
                }
                let next_sample = self.meter.sample(&mut self.machine)?;
                next_check = next_check.min(self.meter.within_until).min(next_sample);
            }
            if self.is_drained {
                next_check = Instant::now();
            }
            match self.machine.wait(next_check)? {
                Event::Deadline if Instant::now() >= deadline => return Ok(Step::Deadline),
                Event::Deadline
                    if self.limits.is_some() && self.machine.has_reached_instruction_limit()? =>
                {
                    // What the guest handed over before, also its message that the tool has ended, comes first.
                    if self.is_drained {
                        return Ok(Step::Over(Outcome::InstructionLimit));
                    }
                    self.machine.read_handed_over()?;
                    self.is_drained = true;
                }
                Event::Deadline => {}
                Event::OutputLimit(_) => return Ok(Step::OutputLimit),
                Event::Guest(GuestEvent::Sample { memory_kib, io_wait_ms, runnable, .. }) => {
                    self.meter.record_guest_sample(memory_kib, io_wait_ms, runnable);
                }
                Event::Guest(event) => return Ok(Step::Guest(event)),
            }
        }
    }
}
