//! The state of a machine just booted, from which others go on instead of booting themselves.
//!
//! A state is used only by a machine of the same description, on the same disks, under the same QEMU: a digest of
//! all of it is its name. Files that are not as they were written are made anew.

use super::machine::{Event, Machine, VmError};
use super::spec::{DiskFile, MachineSpec, QemuSockets, Start, argv};
use mcc_base::digest;
use mcc_base::guest::GuestEvent;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A folder with `overlay.qcow2` (what the machine wrote to its disk until then), `state` and `saved.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedState {
    folder: PathBuf,
}

/// `saved.json`: digests of the two files.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Digests {
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

    fn state(&self) -> PathBuf {
        self.folder.join("state")
    }

    pub(super) fn open(&self) -> Result<File, VmError> {
        File::open(self.state()).map_err(|source| VmError::Io { path: self.state(), source })
    }

    fn digests(&self) -> io::Result<Digests> {
        Ok(Digests { overlay: digest::file(&self.overlay())?.0, state: digest::file(&self.state())?.0 })
    }

    /// As it was written, to the byte.
    fn is_intact(&self) -> bool {
        let written = fs::read(self.folder.join("saved.json")).ok();
        let written = written.and_then(|text| serde_json::from_slice::<Digests>(&text).ok());
        written.is_some_and(|written| self.digests().is_ok_and(|found| found == written))
    }
}

/// The states of one folder.
pub struct SavedStates {
    folder: PathBuf,
    /// Those found whole, or made, by this process.
    known: Mutex<BTreeSet<String>>,
}

impl SavedStates {
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, known: Mutex::default() }
    }

    /// The state of such a machine, which is made where there is none yet: it is booted for that.
    ///
    /// `content_key`: digests of its disks and the version of QEMU, which the description does not tell.
    pub fn of(
        &self,
        spec: &MachineSpec,
        content_key: &str,
        timeout: Duration,
    ) -> Result<SavedState, SavedError> {
        let description = argv(spec, &QemuSockets::placeholder()).join("\n");
        let name = digest::bytes(format!("{}\n{description}\n{content_key}", env!("CARGO_PKG_VERSION")));
        let saved = SavedState { folder: self.folder.join(&name) };
        // Held while one is made: whoever needs the same one waits for it.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains(&name) {
            if !saved.is_intact() {
                self.make(spec, &saved, timeout)?;
            }
            known.insert(name);
        }
        Ok(saved)
    }

    /// Boots and saves beside, then renames.
    fn make(&self, spec: &MachineSpec, saved: &SavedState, timeout: Duration) -> Result<(), SavedError> {
        fs::create_dir_all(&self.folder).map_err(io_at(&self.folder))?;
        let beside = tempfile::Builder::new().prefix(".saving-").tempdir_in(&self.folder);
        let beside = beside.map_err(io_at(&self.folder))?;
        let work = fs::canonicalize(beside.path()).map_err(io_at(beside.path()))?;
        let new = SavedState { folder: work.join("new") };
        fs::create_dir(&new.folder).map_err(io_at(&new.folder))?;
        overlay(&spec.disk, &new.overlay())?;
        boot_and_save(spec, &new, &work, timeout)?;
        let digests = new.digests().map_err(io_at(&new.folder))?;
        let json = new.folder.join("saved.json");
        fs::write(&json, serde_json::to_vec(&digests).expect("plain data")).map_err(io_at(&json))?;
        if saved.folder.exists() {
            fs::remove_dir_all(&saved.folder).map_err(io_at(&saved.folder))?;
        }
        fs::rename(&new.folder, &saved.folder).map_err(io_at(&saved.folder))
    }
}

fn boot_and_save(
    spec: &MachineSpec,
    new: &SavedState,
    log: &Path,
    timeout: Duration,
) -> Result<(), SavedError> {
    let deadline = Instant::now() + timeout;
    let kept = MachineSpec { start: Start::Keep(new.overlay()), ..spec.clone() };
    let mut machine = Machine::start(&kept, log, 0, timeout)?;
    loop {
        match machine.wait(deadline)? {
            Event::Guest(GuestEvent::Ready { .. }) => break,
            Event::Deadline => return Err(machine.timeout_error("ready").into()),
            _ => {}
        }
    }
    let state = File::create(new.state()).map_err(io_at(&new.state()))?;
    machine.qmp.save_state(&state, Instant::now() + timeout)?;
    machine.halt()?;
    state.sync_all().map_err(io_at(&new.state()))
}

/// A new overlay `to` of a disk.
pub(super) fn overlay(disk: &DiskFile, to: &Path) -> Result<(), SavedError> {
    let format = &disk.format;
    let disk = fs::canonicalize(&disk.path).map_err(io_at(&disk.path))?;
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

fn io_at(path: &Path) -> impl FnOnce(io::Error) -> SavedError + use<> {
    let path = path.to_owned();
    move |source| SavedError::Io { path, source }
}
