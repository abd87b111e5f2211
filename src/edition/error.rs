//! Errors of edition files.

use mcc_base::FileError;

/// A key with invalid content, and the reason.
pub(super) type Fault = (Vec<String>, String);

/// Returns a fault of a key unless its content is valid.
pub(super) fn ensure(valid: bool, key: &[&str], message: impl Into<String>) -> Result<(), Fault> {
    if valid { Ok(()) } else { Err((key.iter().map(ToString::to_string).collect(), message.into())) }
}

/// Why an edition cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum EditionError {
    /// There is no built-in edition with this name.
    #[error(
        "no edition `{name}`{meant}: the editions are {known}; for a custom edition give the path of its file (.toml)"
    )]
    Unknown {
        /// The given name.
        name: String,
        /// A similar name as text; may be empty.
        meant: String,
        /// The names of the built-in editions.
        known: String,
    },
    /// The edition is one of another contest.
    #[error(
        "{name} is an edition of {contest}; this command needs an edition of the MCC (`mcc-harness edition list`)"
    )]
    OtherContest {
        /// The given name.
        name: String,
        /// The name of the contest.
        contest: &'static str,
    },
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is not TOML, or has an unknown key, a wrong type or a word that is not allowed.
    #[error("{file}:{line}: {message}; editions/README.md explains every key")]
    Syntax {
        /// The path or the name of the edition file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what is allowed.
        message: String,
    },
    /// A key has invalid content.
    #[error("{file}:{line}: key `{key}`: {message}; editions/README.md explains every key")]
    Content {
        /// The path or the name of the edition file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The key with dots.
        key: String,
        /// What is wrong.
        message: String,
    },
}
