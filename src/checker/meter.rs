//! Limits of a check. The files of tools are untrusted: a small one can demand days of arithmetic, or all memory.

use crate::CheckError;
use num_bigint::BigInt;
use num_rational::BigRational;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// The limits of one check. What a check needs of bits and steps is the same on every host; the time is not, so it is an
/// outer limit. A check that would exceed one ends with [`CheckError::NotChecked`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Largest number of bits of a numerator or denominator in a calculation.
    pub bits: u64,
    /// Largest number of steps. A step is a comparison or change of a number of tokens, or 16 products of 64 bits: some ten
    /// nanoseconds. What is kept in memory counts more.
    pub steps: u64,
    /// Longest time.
    pub time: Duration,
}

impl Limits {
    /// For evidence whose origin is trusted: only numbers that no memory holds are limited.
    pub const NONE: Self = Self { bits: u64::MAX, steps: u64::MAX, time: Duration::MAX };

    /// For evidence of tools, with files of some megabytes.
    pub const OF_TOOLS: Self = Self { bits: 1 << 16, steps: 2_000_000_000, time: Duration::from_secs(300) };
}

/// Steps for an inequality that is kept in memory, in addition to those for its weights.
pub(crate) const KEPT_INEQUALITY: u64 = 1024;
/// Steps for a weight that is kept in memory: an entry of a map with two large integers, measured at 127 bytes.
pub(crate) const KEPT_WEIGHT: u64 = 256;
/// Steps for a number, a truth table's entry or an open case that is kept in memory.
pub(crate) const KEPT: u64 = 64;

/// Steps between two looks at the clock: about a tenth of a second.
const STEPS_PER_LOOK: u64 = 10_000_000;

/// Counts the steps of one check.
pub(crate) struct Meter {
    limits: Limits,
    began: Instant,
    steps: Cell<u64>,
    next_look: Cell<u64>,
}

impl Meter {
    pub fn new(limits: Limits) -> Self {
        let (began, steps, next_look) = (Instant::now(), Cell::new(0), Cell::new(STEPS_PER_LOOK));
        Self { limits, began, steps, next_look }
    }

    /// Adds steps before they are made.
    pub fn steps(&self, more: u64) -> Result<(), CheckError> {
        let steps = self.steps.get().saturating_add(more);
        self.steps.set(steps);
        let Limits { steps: most, time, .. } = self.limits;
        if steps > most {
            return Err(CheckError::NotChecked(format!("the check needs more than {most} steps")));
        }
        if steps >= self.next_look.get() {
            self.next_look.set(steps.saturating_add(STEPS_PER_LOOK));
            if self.began.elapsed() > time {
                return Err(CheckError::NotChecked(format!(
                    "the check takes more than {} s",
                    time.as_secs()
                )));
            }
        }
        Ok(())
    }

    /// Adds the steps of a calculation with these integers. The slowest is that of a greatest common divisor: quadratic in
    /// the number of bits.
    pub fn integers<'n>(&self, numbers: impl IntoIterator<Item = &'n BigInt>) -> Result<(), CheckError> {
        let mut sum: u64 = 0;
        for bits in numbers.into_iter().map(BigInt::bits) {
            let most = self.limits.bits;
            if bits > most {
                return Err(CheckError::NotChecked(format!("a number has more than {most} bits")));
            }
            sum = sum.saturating_add(bits);
        }
        self.steps((sum.saturating_mul(sum / 64 + 1) / 16).saturating_add(4))
    }

    /// Adds the steps of a calculation with these fractions.
    pub fn fractions(&self, numbers: &[&BigRational]) -> Result<(), CheckError> {
        self.integers(numbers.iter().flat_map(|number| [number.numer(), number.denom()]))
    }
}
