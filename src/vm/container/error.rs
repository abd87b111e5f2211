//! Why a container is refused.

use mcc_base::FileError;
use std::path::{Path, PathBuf};

/// An error of reading a container.
#[derive(Debug, thiserror::Error)]
pub enum ContainerError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] mcc_base::FileError),
    /// The archive is refused.
    #[error("{}: {reason}", path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// The cause, with the remedy.
        reason: String,
    },
    /// An entry of the archive or of a layer is refused.
    #[error("{}: {place}, entry {entry:?}: {reason}", path.display())]
    Entry {
        /// The archive.
        path: PathBuf,
        /// `the archive` or the number and the digest of the layer.
        place: String,
        /// Name of the entry.
        entry: String,
        /// The cause.
        reason: String,
    },
    /// The container can be read, but no tool can be started in it.
    #[error("{}: the contest cannot use this container: {reason}", path.display())]
    Unsuitable {
        /// The archive.
        path: PathBuf,
        /// The cause, with the remedy.
        reason: String,
    },
}

/// An error within an archive whose path the caller adds.
pub(crate) enum Fault {
    /// An entry is refused. Without a name: the archive as a whole.
    Entry(Vec<u8>, String),
    /// A file of the host cannot be read or written.
    File(FileError),
}

impl Fault {
    /// The error of `place` in the archive at `path`.
    pub(crate) fn at(self, path: &Path, place: &str) -> ContainerError {
        let path = path.to_owned();
        match self {
            Self::File(error) => error.into(),
            Self::Entry(entry, reason) if entry.is_empty() => {
                ContainerError::Archive { path, reason: format!("{place}: {reason}") }
            }
            Self::Entry(entry, reason) => ContainerError::Entry {
                path,
                place: place.to_owned(),
                entry: String::from_utf8_lossy(&entry).into_owned(),
                reason,
            },
        }
    }
}
