//! Verdicts on values, one byte each.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

/// The verdict on one value. Its number is the ASCII letter in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ValueVerdict {
    /// The value equals the trusted value.
    Right = b'+',
    /// The value differs from the trusted value.
    Wrong = b'-',
    /// The entry gave a value, but the trusted value is unknown: every entry gets 0 points.
    Unjudged = b'?',
    /// The entry gave no value.
    NotComputed = b'.',
}

impl ValueVerdict {
    /// All verdicts.
    pub const ALL: [Self; 4] = [Self::Right, Self::Wrong, Self::Unjudged, Self::NotComputed];

    /// Returns the letter in files: `+`, `-`, `?` or `.`.
    pub fn letter(self) -> char {
        char::from(self as u8)
    }

    /// Returns the word on pages and in explanations.
    pub fn word(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong => "wrong",
            Self::Unjudged => "unjudged",
            Self::NotComputed => "not computed",
        }
    }
}

impl Serialize for ValueVerdict {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_str(self.word())
    }
}

/// The verdicts on the values of one run, by position. Files have a text with one letter for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueVerdicts(Vec<ValueVerdict>);

impl ValueVerdicts {
    /// Returns an empty list with space for `count` verdicts.
    pub fn with_capacity(count: usize) -> Self {
        Self(Vec::with_capacity(count))
    }

    /// Appends the verdict on the next position.
    pub fn push(&mut self, verdict: ValueVerdict) {
        self.0.push(verdict);
    }

    /// Returns how many positions have the verdict.
    pub fn count(&self, verdict: ValueVerdict) -> u64 {
        self.iter().filter(|known| **known == verdict).count() as u64
    }
}

impl Deref for ValueVerdicts {
    type Target = [ValueVerdict];

    fn deref(&self) -> &[ValueVerdict] {
        &self.0
    }
}

impl FromIterator<ValueVerdict> for ValueVerdicts {
    fn from_iter<I: IntoIterator<Item = ValueVerdict>>(verdicts: I) -> Self {
        Self(verdicts.into_iter().collect())
    }
}

impl FromStr for ValueVerdicts {
    type Err = String;

    fn from_str(letters: &str) -> Result<Self, String> {
        let verdict = |letter| {
            let known = ValueVerdict::ALL.into_iter().find(|verdict| verdict.letter() == letter);
            known.ok_or_else(|| format!("`{letter}` is not a verdict on a value; allowed are + - ? ."))
        };
        letters.chars().map(verdict).collect()
    }
}

impl fmt::Display for ValueVerdicts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.iter().map(|verdict| verdict.letter()).collect::<String>())
    }
}

impl Serialize for ValueVerdicts {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ValueVerdicts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_letters_in_files_and_others_are_refused() {
        let verdicts: ValueVerdicts = serde_json::from_str("\"+-?.\"").unwrap();
        assert_eq!(*verdicts, ValueVerdict::ALL);
        assert_eq!(serde_json::to_string(&verdicts).unwrap(), "\"+-?.\"");
        assert_eq!(size_of::<ValueVerdict>(), 1);
        for wrong in ["\"+x\"", "\"é\"", "7"] {
            assert!(serde_json::from_str::<ValueVerdicts>(wrong).is_err(), "{wrong}");
        }
    }
}
