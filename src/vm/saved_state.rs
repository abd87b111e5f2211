//! The saved state of a booted machine. Other machines start from it instead of booting.
//!
//! Only a machine with the same specification, the same disks and the same QEMU uses a state: the name of the state is
//! a digest of all of these. A state whose files were changed is made again.

use super::disk_header::DiskError;
use super::error::VmError;
use mcc_base::digest;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A saved state: a folder with `overlay.qcow2` (what the machine wrote to its disk until it was saved), `state` and
/// `saved.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedState {
    pub(super) folder: PathBuf,
}

/// `saved.json`: the digests of the two files.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Digests {
    overlay: String,
    state: String,
}

/// An error of making a saved state.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// A file cannot be read or written.
    #[error("cannot read or write {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The disk cannot be used.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The machine failed before its state was saved.
    #[error("the machine whose state is to be saved failed: {0}")]
    Machine(#[from] VmError),
}

impl SavedState {
    pub(super) fn overlay(&self) -> PathBuf {
        self.folder.join("overlay.qcow2")
    }

    pub(super) fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    pub(super) fn open(&self) -> Result<File, VmError> {
        File::open(self.state()).map_err(|source| VmError::Io { path: self.state(), source })
    }

    pub(super) fn digests(&self) -> io::Result<Digests> {
        Ok(Digests { overlay: digest::file(&self.overlay())?.0, state: digest::file(&self.state())?.0 })
    }

    /// Whether the files have the digests of `saved.json`.
    pub(super) fn is_intact(&self) -> bool {
        let written = fs::read(self.folder.join("saved.json")).ok();
        let written = written.and_then(|text| serde_json::from_slice::<Digests>(&text).ok());
        written.is_some_and(|written| self.digests().is_ok_and(|found| found == written))
    }
}

pub(super) fn io_at(path: &Path) -> impl FnOnce(io::Error) -> SavedError + use<> {
    let path = path.to_owned();
    move |source| SavedError::Io { path, source }
}
