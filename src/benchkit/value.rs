//! One piece of result.

use num_bigint::BigUint;
use serde::{Deserialize, Serialize};

/// A value as a tool gave it for one position. Never a float, never a fixed-width integer: a state count
/// can have 24,000 decimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Value {
    False,
    True,
    Number(BigUint),
    /// `inf`, the bound of an unbounded place.
    Infinite,
    /// A published number rounded to 5 significant digits, `d.ddddE+dddd`: digits 10000..=99999 and the
    /// power of ten of the first digit.
    Rounded {
        digits: u32,
        exponent: u32,
    },
    /// `Inf` in a published StateSpace position: too large for its writer.
    Overflow,
    /// `X` in a published table: a wrong answer whose value was not kept; equals nothing, not even itself
    /// when votes are compared (the derived equality is for storage only).
    Lost,
}

impl From<Value> for String {
    fn from(_: Value) -> Self {
        todo!()
    }
}

impl TryFrom<String> for Value {
    type Error = String;

    fn try_from(_: String) -> Result<Self, String> {
        todo!()
    }
}
