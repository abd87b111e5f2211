//! Certified values: values that `certify` decided by evidence that its checkers accepted (docs/certification.md).
//!
//! They label trusted values and show which votes contradict evidence. They change no trusted value and no points.

use crate::judgement::{InputDigest, Judgement, Trusted};
use mcc_base::files::is_below;
use mcc_campaign::benchkit::Value;
use num_bigint::BigUint;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

mcc_base::words! {
    /// How a value is certified.
    #[derive(PartialOrd, Ord)]
    pub enum Method {
        /// A firing sequence that the checker of witnesses replayed.
        Witness = "witness",
        /// A certificate of invariants that the checker of certificates accepted, for bounds together with a witness.
        Proof = "proof",
        /// All reachable markings were explored, and again by the explorer of the checkers with the same value.
        ReExplored = "re-explored",
        /// All reachable markings were explored. There is no evidence that is smaller than the exploration.
        Explored = "explored",
    }
}

impl FromStr for Method {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|method| method.word() == word).ok_or(())
    }
}

/// The label of a trusted value that has no certified value: it rests on votes alone.
pub const VOTES: &str = "votes";

/// The label of a trusted value that a certified value contradicts.
pub const REFUTED: &str = "refuted";

/// What evidence states about the value of one position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertifiedValue {
    /// The value.
    Exactly(Value),
    /// A number that the value is not below.
    AtLeast(BigUint),
}

impl CertifiedValue {
    /// Returns the value, if it is decided.
    pub fn exact(&self) -> Option<&Value> {
        match self {
            Self::Exactly(value) => Some(value),
            Self::AtLeast(_) => None,
        }
    }

    /// Returns whether an answer is the certified value. A rounded answer is compared by its 5 digits.
    pub fn confirms(&self, answer: &Value) -> bool {
        match self {
            Self::Exactly(value) => value.agrees(answer, answer.is_rounded()),
            Self::AtLeast(_) => false,
        }
    }

    /// Returns whether an answer is wrong by the evidence. An answer that was too large for its writer, or was not kept,
    /// is not comparable.
    pub fn contradicts(&self, answer: &Value) -> bool {
        match (self, answer) {
            (_, Value::Overflow | Value::NotKept) => false,
            (Self::Exactly(_), _) => !self.confirms(answer),
            (Self::AtLeast(least), Value::Number(given)) => given < least,
            // Rounding never changes the order of two numbers.
            (Self::AtLeast(least), Value::Rounded { digits, exponent }) => {
                match Value::Number(least.clone()).rounded() {
                    Value::Rounded { digits: d, exponent: e } => (*exponent, *digits) < (e, d),
                    _ => false,
                }
            }
            (Self::AtLeast(_), _) => false,
        }
    }
}

impl fmt::Display for CertifiedValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exactly(value) => value.fmt(out),
            Self::AtLeast(least) => write!(out, ">={least}"),
        }
    }
}

impl FromStr for CertifiedValue {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || {
            let shown: String = text.chars().take(60).collect();
            format!("`{shown}` is not a certified value; expected T, F, a number, inf, or >= and a number")
        };
        let value = |text: &str| text.parse::<Value>().map_err(|_| bad());
        match text.strip_prefix(">=") {
            None => match value(text)? {
                Value::Rounded { .. } | Value::Overflow | Value::NotKept => Err(bad()),
                exact => Ok(Self::Exactly(exact)),
            },
            Some(least) => match value(least)? {
                Value::Number(least) => Ok(Self::AtLeast(least)),
                _ => Err(bad()),
            },
        }
    }
}

/// A certified value of one position, as a judgement has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certified {
    /// How it is certified.
    pub method: Method,
    /// What the evidence states: the value, or a number that it is not below.
    #[serde(with = "value_text")]
    pub value: CertifiedValue,
    /// The files of the evidence, relative to the folder of `certify`, with a blank between them.
    #[serde(deserialize_with = "evidence_files")]
    pub evidence: String,
    /// What the evidence is, in words.
    pub detail: String,
}

/// What `certify` writes in `detail` after the number of conditions that it decided without exploration.
pub const CONDITIONS: &str = " conditions decided without exploration";

/// Checks that all files of evidence are in the folder of `certify`.
///
/// # Errors
/// One is not.
pub(crate) fn check_evidence(evidence: &str) -> Result<(), String> {
    let mut files = evidence.split(' ');
    let Some(file) = files.find(|file| !is_below(Path::new(file))) else { return Ok(()) };
    let shown: String = file.chars().take(60).collect();
    Err(format!("`{shown}` is not a file in the folder of `certify`; certify again"))
}

fn evidence_files<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let evidence = String::deserialize(from)?;
    check_evidence(&evidence).map_err(D::Error::custom)?;
    Ok(evidence)
}

mod value_text {
    use super::CertifiedValue;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(value: &CertifiedValue, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(value)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<CertifiedValue, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// Name of the table of certified values, in the folder of `certify`.
pub const CERTIFIED_FILE: &str = "certified.csv";

/// Returns whether certified values are among the inputs of a judgement.
pub(crate) fn is_among(inputs: &[InputDigest]) -> bool {
    inputs.iter().any(|input| input.file == CERTIFIED_FILE)
}

impl Judgement {
    /// Returns whether the judgement was made with certified values.
    pub fn is_certified(&self) -> bool {
        is_among(&self.inputs)
    }
}

impl Trusted {
    /// Returns the label of the value: the word of the method that certified it, `votes`, or `refuted`. A position whose
    /// trusted value is unknown has the method of its certified value.
    pub fn certified_label(&self) -> &'static str {
        match (&self.certified, &self.value) {
            (None, _) => VOTES,
            (Some(certified), Some(value)) if certified.value.contradicts(value) => REFUTED,
            (Some(certified), Some(value)) if certified.value.confirms(value) => certified.method.word(),
            (Some(certified), None) if certified.value.exact().is_some() => certified.method.word(),
            _ => VOTES,
        }
    }

    /// Returns whether a value is certified that may or may not be the trusted `Inf`.
    pub fn is_incomparable(&self) -> bool {
        let is_exact = |certified: &Certified| certified.value.exact().is_some();
        self.value == Some(Value::Overflow) && self.certified.as_deref().is_some_and(is_exact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certified(text: &str) -> CertifiedValue {
        text.parse().unwrap()
    }

    fn answer(text: &str) -> Value {
        text.parse().unwrap()
    }

    #[test]
    fn an_answer_is_contradicted_only_if_it_must_be_wrong() {
        for (value, given) in [
            ("T", "F"),
            ("7", "8"),
            ("inf", "7"),
            ("320565001", "3.2056E+0008"),
            (">=4000000000", "2000000000"),
            (">=4000000000", "2.0000E+0009"),
            (">=4000000000", "9.9999E+0008"),
        ] {
            assert!(certified(value).contradicts(&answer(given)), "{value} {given}");
            assert!(!certified(value).confirms(&answer(given)), "{value} {given}");
        }
        for (value, given) in [
            ("7", "Inf"),
            ("7", "X"),
            (">=4000000000", "4000000000"),
            (">=4000000001", "4.0000E+0009"),
            (">=4000000000", "1.0000E+0010"),
            (">=4000000000", "inf"),
            (">=4000000000", "Inf"),
            ("320565001", "3.2057E+0008"),
        ] {
            assert!(!certified(value).contradicts(&answer(given)), "{value} {given}");
        }
        assert!(certified("320565001").confirms(&answer("3.2057E+0008")));
        assert!(!certified(">=4").confirms(&answer("4")));
    }

    #[test]
    fn certified_values_read_back_and_other_texts_are_refused() {
        for text in ["T", "F", "0", "inf", "4000000000", ">=4000000000"] {
            assert_eq!(certified(text).to_string(), text);
        }
        for text in ["", "X", "Inf", "3.2057E+0008", ">=inf", ">=", "> 4"] {
            assert!(text.parse::<CertifiedValue>().unwrap_err().contains("expected T, F"), "{text}");
        }
    }

    #[test]
    fn evidence_outside_of_the_folder_is_refused() {
        let read = |evidence: &str| {
            let json = serde_json::json!({
                "method": "proof", "value": "T", "evidence": evidence, "detail": "",
            });
            serde_json::from_value::<Certified>(json).map_err(|error| error.to_string())
        };
        for evidence in ["", "evidence/A-PT-1/x.json evidence/A-PT-1/y..json"] {
            assert_eq!(read(evidence).unwrap().evidence, evidence);
        }
        for evidence in ["../x", "/etc/hostname", "evidence/x.json evidence/../../x", ".."] {
            let message = read(evidence).unwrap_err();
            assert!(message.contains("is not a file in the folder of `certify`"), "{message}");
        }
    }
}
