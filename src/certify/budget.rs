//! Limits of time and memory of a computation.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The limits of a computation as its caller gives them.
#[derive(Clone, Copy, Debug)]
pub struct Budget<'a> {
    /// The wall time from the call to the result.
    pub time: Duration,
    /// The memory of its tables in bytes. Small objects are not counted.
    pub memory_bytes: u64,
    /// Set by another thread to end the computation.
    pub cancel: &'a AtomicBool,
}

/// Why a computation ended without a result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The time is used up.
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

/// A running computation: its deadline and the memory that it has taken.
#[derive(Debug)]
pub(crate) struct Limits<'a> {
    deadline: Instant,
    memory_bytes: u64,
    taken: Cell<u64>,
    cancel: &'a AtomicBool,
}

impl<'a> Limits<'a> {
    pub(crate) fn new(budget: &Budget<'a>) -> Self {
        let now = Instant::now();
        // A time that no clock can represent does not limit anything.
        let deadline = now.checked_add(budget.time).unwrap_or(now + Duration::from_secs(1 << 30));
        Self { deadline, memory_bytes: budget.memory_bytes, taken: Cell::new(0), cancel: budget.cancel }
    }

    /// The same memory and cancellation with a share of the time that is left and of the memory that is not taken.
    pub(crate) fn share(&self, time: f64, memory: f64) -> Self {
        let left = self.memory_bytes.saturating_sub(self.taken.get());
        Self {
            deadline: Instant::now() + self.left().mul_f64(time),
            memory_bytes: (left as f64 * memory) as u64,
            taken: Cell::new(0),
            cancel: self.cancel,
        }
    }

    /// The same cancellation with a share of the time that is left and all memory that neither this nor `other` took.
    pub(crate) fn rest(&self, time: f64, other: &Limits<'_>) -> Self {
        let taken = self.taken.get().saturating_add(other.taken.get());
        let share = self.share(time, 1.0);
        Self { memory_bytes: self.memory_bytes.saturating_sub(taken), ..share }
    }

    /// The time that is left.
    pub(crate) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Checks the time and the cancellation. Callers do this every thousand steps or so.
    pub(crate) fn check(&self) -> Result<(), Stop> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(Stop::Cancelled);
        }
        if Instant::now() < self.deadline { Ok(()) } else { Err(Stop::Time) }
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
