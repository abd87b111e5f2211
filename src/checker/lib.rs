//! Checks witnesses and certificates of values against nets and formulas.
//!
//! A *witness* is a firing sequence. It shows values that one run decides: a reachability formula that a reachable marking
//! satisfies, a lower bound, a transition that can fire, a counterexample of a path formula. A *certificate* is a list of
//! linear inequalities with a case distinction. It shows that no reachable marking satisfies a condition: an invariant, an
//! upper bound, the absence of deadlocks.
//!
//! The checkers share nothing with the programs that search for evidence except the readers of nets and formulas.
//! `docs/evidence/README.md` describes both formats and what exactly is checked.

#![warn(missing_docs)]

mod binding;
mod certificate;
mod closed;
pub mod command;
mod composition;
mod explore;
mod explore_diagram;
mod explore_ltl;
mod instance;
mod invariant;
mod meter;
mod model;
mod number;
mod path;
mod prove;
mod replay;
mod scn;
mod siphons;
mod trace;
mod unfolded;
mod witness;

pub use certificate::{AtMost, Certificate, Lemma, Method, Part, PlaceName, ProofStep, Weight};
pub use explore::Exploration;
pub use explore_diagram::Diagram;
pub use instance::Instance;
pub use meter::Limits;
pub use number::{Rational, Value};
pub use scn::read_scn;
pub use trace::read_trace;
pub use witness::{Run, Step, Witness};

use serde::de::{MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer};
use serde_json::error::Category;
use std::fmt;
use std::marker::PhantomData;

/// The version of both formats.
pub const VERSION: u32 = 1;
/// Largest number of bytes of a file with a witness or certificate.
pub const MAX_FILE_BYTES: u64 = 4 << 30;

/// An error of a file with a witness or certificate: it cannot be checked. A file that can be checked but does not
/// show its value is a [`Refusal`].
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The text is not JSON of the format, or not of the format of another tool.
    #[error("line {line}: {problem}; see docs/evidence/README.md for the format")]
    Syntax {
        /// The line: 1, 2, ...
        line: usize,
        /// The problem.
        problem: String,
    },
    /// The file is of another version.
    #[error(
        "the version {0} of the format; this program reads version {VERSION}: use the program that wrote the file"
    )]
    Version(u32),
    /// The file is too long.
    #[error("the file is longer than {MAX_FILE_BYTES} bytes; it is not read")]
    TooLong,
}

/// Why a witness or certificate does not show its value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refusal(pub String);

/// The end of a check without acceptance.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The witness or certificate does not show its value.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// It is not known whether the witness or certificate shows its value: the check would exceed a limit.
    #[error("not checked: {0}")]
    NotChecked(String),
    /// The instance cannot be read, or its net is not valid.
    #[error(transparent)]
    Instance(#[from] mcc_model::ArchiveError),
    /// The file of the properties is not valid.
    #[error("{0}")]
    Properties(String),
}

impl CheckError {
    /// A refusal with this reason.
    fn refused(reason: impl Into<String>) -> Self {
        Self::Refused(Refusal(reason.into()))
    }

    /// The reason alone.
    fn reason(self) -> String {
        match self {
            Self::Refused(Refusal(why)) | Self::NotChecked(why) => why,
            other => other.to_string(),
        }
    }

    /// Adds the place to the reason.
    fn at(self, place: &str) -> Self {
        match self {
            Self::Refused(Refusal(why)) => Self::refused(format!("{place}: {why}")),
            Self::NotChecked(why) => Self::NotChecked(format!("{place}: {why}")),
            other => other,
        }
    }
}

/// A structure that is an object in JSON. Serde alone also reads a list of its fields, which the format does not allow.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Form<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Form<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }
        deserializer.deserialize_map(Form(PhantomData))
    }
}

/// Reads a list of objects.
fn objects<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let objects = Vec::<Object<T>>::deserialize(deserializer)?;
    Ok(objects.into_iter().map(|Object(value)| value).collect())
}

/// Parses JSON of a format with a version.
fn from_json<T: serde::de::DeserializeOwned>(
    text: &str,
    version: impl Fn(&T) -> u32,
) -> Result<T, FileError> {
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(FileError::TooLong);
    }
    let Object(parsed) = serde_json::from_str(text).map_err(|error| {
        let problem = error.to_string();
        let problem =
            problem.rsplit_once(" at line ").map_or(problem.as_str(), |(start, _)| start).to_owned();
        let problem = match error.classify() {
            Category::Eof => "the file ends before its JSON is complete".to_owned(),
            Category::Syntax if problem.starts_with("recursion limit") => {
                "lists and objects are nested more than 127 deep".to_owned()
            }
            Category::Syntax => format!("not JSON: {problem}"),
            Category::Data | Category::Io => problem,
        };
        FileError::Syntax { line: error.line(), problem }
    })?;
    match version(&parsed) {
        VERSION => Ok(parsed),
        other => Err(FileError::Version(other)),
    }
}
