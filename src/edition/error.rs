//! What can be wrong with an edition file.

use std::path::PathBuf;

/// What an edition refuses: the key whose content cannot be, and why.
pub(super) type Fault = (Vec<String>, String);

#[derive(Debug, thiserror::Error)]
pub enum EditionError {
    #[error(
        "no edition `{name}`{meant}: known are {known}; for an edition of your own give the path of its file (.toml)"
    )]
    Unknown { name: String, meant: String, known: String },
    #[error("cannot read edition file {path}")]
    Read { path: PathBuf, source: std::io::Error },
    /// Not TOML, an unknown key, a wrong type, a word that is not allowed: says what is.
    #[error("{file}:{line}: {message}; editions/README.md explains every key")]
    Syntax { file: String, line: usize, message: String },
    /// Well-formed, but against the rules of its own content.
    #[error("{file}:{line}: key `{key}`: {message}; editions/README.md explains every key")]
    Content { file: String, line: usize, key: String, message: String },
}
