//! The state of a machine just booted, from which others go on instead of booting themselves.
//!
//! A state is used only by a machine of the same description, on the same disks, under the same QEMU: a digest of
//! all of it is its name. Files that are not as they were written are made anew.

use super::error::VmError;
use mcc_base::digest;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A folder with `overlay.qcow2` (what the machine wrote to its disk until then), `state` and `saved.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedState {
    pub(super) folder: PathBuf,
}

/// `saved.json`: digests of the two files.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Digests {
    overlay: String,
    state: String,
}

#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("qemu-img cannot make an overlay of {}: {said}", disk.display())]
    Overlay { disk: PathBuf, said: String },
    #[error("the machine to be saved: {0}")]
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

    /// As it was written, to the byte.
    pub(super) fn is_intact(&self) -> bool {
        let written = fs::read(self.folder.join("saved.json")).ok();
        let written = written.and_then(|text| serde_json::from_slice::<Digests>(&text).ok());
        written.is_some_and(|written| self.digests().is_ok_and(|found| found == written))
    }
}

/// A new overlay `to` of a disk.
pub(super) fn overlay(disk: &Path, format: &str, to: &Path) -> Result<(), SavedError> {
    let disk = fs::canonicalize(disk).map_err(io_at(disk))?;
    let mut qemu_img = Command::new("qemu-img");
    qemu_img.args(["create", "-q", "-f", "qcow2", "-F", format, "-b"]).arg(&disk).arg(to);
    // The signals of a terminal are for the controller alone.
    qemu_img.process_group(0);
    let done = qemu_img.stdin(Stdio::null()).output().map_err(io_at(Path::new("qemu-img")))?;
    match done.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
            Err(SavedError::Overlay { disk, said })
        }
    }
}

pub(super) fn io_at(path: &Path) -> impl FnOnce(io::Error) -> SavedError + use<> {
    let path = path.to_owned();
    move |source| SavedError::Io { path, source }
}
