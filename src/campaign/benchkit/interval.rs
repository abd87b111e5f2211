//! What a tool knows about a number whose value it did not find.

use super::Value;
use num_bigint::BigUint;
use serde::{Serialize, Serializer};
use std::fmt;

/// The number is between these, or infinite if it has no largest value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The number is not less.
    pub least: BigUint,
    /// The number is not more; None: it has no known limit.
    pub most: Option<BigUint>,
    /// The line of the output, from 1.
    pub line: u64,
}

impl Interval {
    /// Parses the two ends, of which the second may be `inf`. None: they are not such numbers, or the first is larger.
    pub(super) fn parse(least: &str, most: &str, line: u64) -> Option<Self> {
        let Ok(Value::Number(least)) = least.parse() else { return None };
        match most.parse() {
            Ok(Value::Infinite) => Some(Self { least, most: None, line }),
            Ok(Value::Number(most)) if least <= most => Some(Self { least, most: Some(most), line }),
            _ => None,
        }
    }

    /// Whether the value may be this one.
    pub fn contains(&self, value: &Value) -> bool {
        match value {
            Value::Number(number) => {
                self.least <= *number && self.most.as_ref().is_none_or(|most| number <= most)
            }
            Value::Infinite => self.most.is_none(),
            _ => true,
        }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.most {
            Some(most) => write!(out, "{} to {most}", self.least),
            None => write!(out, "at least {}", self.least),
        }
    }
}

impl Serialize for Interval {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}
