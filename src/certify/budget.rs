//! Limits of work, time and memory of a computation.
//!
//! Work is counted in steps: about one firing with its marking, or an evaluation of similar cost. Methods share steps, never
//! time, so that what they do depends on the input alone; time only ends all of them at once.

use nix::time::{ClockId, clock_gettime};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The limits of a computation as its caller gives them.
#[derive(Clone, Copy, Debug)]
pub struct Budget<'a> {
    /// Most steps. With `u64::MAX` time alone limits the computation.
    pub steps: u64,
    /// The CPU time of the calling thread from the call to the result.
    pub time: Duration,
    /// The memory of its tables in bytes. Small objects are not counted.
    pub memory_bytes: u64,
    /// Set by another thread to end the computation.
    pub cancel: &'a AtomicBool,
}

#[cfg(test)]
impl Budget<'static> {
    /// A budget that time alone limits.
    pub(crate) fn of_time(time: Duration) -> Self {
        static CANCEL: AtomicBool = AtomicBool::new(false);
        Self { steps: u64::MAX, time, memory_bytes: 64 << 20, cancel: &CANCEL }
    }
}

/// Why a computation ended without a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The steps or the time are used up.
    #[error("the time of the budget is used up")]
    Time,
    /// The memory is used up.
    #[error("the memory of the budget is used up")]
    Memory,
    /// The caller cancelled it.
    #[error("it was cancelled")]
    Cancelled,
    /// A marking has more than 2^64-1 tokens in a place.
    #[error("a place has more than 18446744073709551615 tokens (2^64-1)")]
    TooManyTokens,
    /// The computation has a part that is larger than its tables allow.
    #[error("{0}")]
    TooLarge(&'static str),
}

/// The steps of a computation and the end of its time; all its parts count on the same.
#[derive(Debug)]
struct Clock<'a> {
    steps: Cell<u64>,
    /// The steps at which time and cancellation are read next.
    next_read: Cell<u64>,
    /// The number of steps at which the whole computation ends.
    end: u64,
    /// In CPU time of the thread.
    deadline: Duration,
    cancel: &'a AtomicBool,
}

/// Steps between two readings of the time.
const STEPS_UNREAD: u64 = 1000;

/// A running computation or a part of it: where its steps end, and the memory that it has taken.
#[derive(Debug)]
pub(crate) struct Limits<'a> {
    clock: Rc<Clock<'a>>,
    /// The number of steps of all parts at which this one ends.
    until: u64,
    memory_bytes: u64,
    taken: Cell<u64>,
}

/// The CPU time of this thread. Every Linux has this clock.
pub(crate) fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

impl<'a> Limits<'a> {
    pub(crate) fn new(budget: &Budget<'a>) -> Self {
        let clock = Clock {
            steps: Cell::new(0),
            next_read: Cell::new(0),
            end: budget.steps,
            deadline: cpu_time().saturating_add(budget.time),
            cancel: budget.cancel,
        };
        // Parts have shares of a number of steps that does not depend on the budget: so a larger budget continues the work of a
        // smaller one.
        Self {
            clock: Rc::new(clock),
            until: u64::MAX,
            memory_bytes: budget.memory_bytes,
            taken: Cell::new(0),
        }
    }

    /// At most `steps` of the steps that are left, and a share of the memory that is not taken.
    pub(crate) fn part(&self, steps: u64, memory: f64) -> Self {
        let left = self.memory_bytes.saturating_sub(self.taken.get());
        Self {
            clock: Rc::clone(&self.clock),
            until: self.clock.steps.get().saturating_add(steps).min(self.until),
            memory_bytes: (left as f64 * memory) as u64,
            taken: Cell::new(0),
        }
    }

    /// The same with a share of the steps that are left.
    pub(crate) fn share(&self, steps: f64, memory: f64) -> Self {
        self.part((self.left() as f64 * steps) as u64, memory)
    }

    /// A share of the steps that are left and all memory that neither this nor `other` took.
    pub(crate) fn rest(&self, steps: f64, other: &Limits<'_>) -> Self {
        let taken = self.taken.get().saturating_add(other.taken.get());
        Self { memory_bytes: self.memory_bytes.saturating_sub(taken), ..self.share(steps, 1.0) }
    }

    /// The number of steps that are left.
    pub(crate) fn left(&self) -> u64 {
        self.until.saturating_sub(self.clock.steps.get())
    }

    /// When the time of the whole computation ends, if the thread runs until then.
    pub(crate) fn end(&self) -> Instant {
        let (now, left) = (Instant::now(), self.clock.deadline.saturating_sub(cpu_time()));
        now.checked_add(left).unwrap_or(now + Duration::from_secs(1 << 30))
    }

    /// The time that is left.
    pub(crate) fn time_left(&self) -> Duration {
        self.clock.deadline.saturating_sub(cpu_time())
    }

    /// Counts steps, and checks them, the time and the cancellation. Callers do this for a thousand steps at once or less.
    pub(crate) fn spend(&self, steps: u64) -> Result<(), Stop> {
        let clock = &*self.clock;
        let now = clock.steps.get().saturating_add(steps);
        clock.steps.set(now);
        if now >= clock.next_read.get() {
            if clock.cancel.load(Ordering::Relaxed) {
                return Err(Stop::Cancelled);
            }
            if cpu_time() >= clock.deadline {
                return Err(Stop::Time);
            }
            clock.next_read.set(now.saturating_add(STEPS_UNREAD));
        }
        if now < self.until.min(clock.end) { Ok(()) } else { Err(Stop::Time) }
    }

    /// Checks the limits without a step.
    pub(crate) fn check(&self) -> Result<(), Stop> {
        self.spend(0)
    }

    /// Whether the whole computation is at its end, not only this part.
    pub(crate) fn is_over(&self) -> bool {
        self.clock.next_read.set(0);
        self.check().is_err()
    }

    /// Takes memory from the budget.
    pub(crate) fn take(&self, bytes: u64) -> Result<(), Stop> {
        let taken = self.taken.get().saturating_add(bytes);
        if taken > self.memory_bytes {
            return Err(Stop::Memory);
        }
        self.taken.set(taken);
        Ok(())
    }

    /// Returns memory to the budget.
    pub(crate) fn give_back(&self, bytes: u64) {
        self.taken.set(self.taken.get().saturating_sub(bytes));
    }

    /// Reserves memory for more elements, and takes the memory of the larger vector. While it is copied, the old one
    /// exists too; it is counted until then.
    pub(crate) fn reserve<T>(&self, vector: &mut Vec<T>, more: usize) -> Result<(), Stop> {
        if vector.capacity() - vector.len() >= more {
            return Ok(());
        }
        let size = size_of::<T>();
        let old = vector.capacity() * size;
        let capacity = (vector.len() + more).max(vector.capacity() + vector.capacity() / 2).max(1024);
        self.take((capacity * size) as u64)?;
        vector.reserve_exact(capacity - vector.len());
        self.give_back(old as u64);
        Ok(())
    }
}
