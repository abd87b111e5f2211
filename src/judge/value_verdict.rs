//! How values were judged, one byte each.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

/// How one value was judged. Its number is the letter that files have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ValueVerdict {
    /// Equals the trusted value.
    Right = b'+',
    Wrong = b'-',
    /// Given, but the trusted value is unknown: 0 points for everybody.
    Unjudged = b'?',
    NotComputed = b'.',
}

impl ValueVerdict {
    pub const ALL: [Self; 4] = [Self::Right, Self::Wrong, Self::Unjudged, Self::NotComputed];

    pub fn letter(self) -> char {
        char::from(self as u8)
    }

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

/// The verdicts on the values of one run, by position; in files one letter each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueVerdicts(Vec<ValueVerdict>);

impl ValueVerdicts {
    pub fn with_capacity(count: usize) -> Self {
        Self(Vec::with_capacity(count))
    }

    pub fn push(&mut self, verdict: ValueVerdict) {
        self.0.push(verdict);
    }

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
            known.ok_or_else(|| format!("`{letter}` is no verdict on a value; allowed are + - ? ."))
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
