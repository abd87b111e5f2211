//! Makes and finds saved states.

use super::disk_header::check_disk;
use super::machine::{Event, Machine};
use super::overlay;
use super::saved_state::{SavedError, SavedState, io_at};
use super::spec::{MachineSpec, QemuSockets, Start, argv};
use mcc_base::digest;
use mcc_base::guest::GuestEvent;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The saved states in one folder.
pub struct SavedStates {
    folder: PathBuf,
    /// Names of the states that this process has checked or made.
    known: Mutex<BTreeSet<String>>,
}

impl SavedStates {
    /// `folder` is made when the first state is saved.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, known: Mutex::default() }
    }

    /// Returns the saved state of a machine. If there is none, it boots the machine and saves its state.
    ///
    /// `content_key`: the digests of the disks and the version of QEMU, which the specification does not contain.
    ///
    /// # Errors
    /// The machine does not become ready within `timeout`, or its state cannot be saved.
    pub fn of(
        &self,
        spec: &MachineSpec,
        content_key: &str,
        timeout: Duration,
    ) -> Result<SavedState, SavedError> {
        let description = argv(spec, &QemuSockets::placeholder()).join("\n");
        let name = digest::bytes(format!("{}\n{description}\n{content_key}", env!("CARGO_PKG_VERSION")));
        let saved = SavedState { folder: self.folder.join(&name) };
        // Locked while a state is made, so that two threads do not make the same state.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains(&name) {
            if !saved.is_intact() {
                self.make(spec, &saved, timeout)?;
            }
            known.insert(name);
        }
        Ok(saved)
    }

    /// Saves a state in a temporary folder, then renames it.
    fn make(&self, spec: &MachineSpec, saved: &SavedState, timeout: Duration) -> Result<(), SavedError> {
        fs::create_dir_all(&self.folder).map_err(io_at(&self.folder))?;
        let temp_folder = tempfile::Builder::new().prefix(".saving-").tempdir_in(&self.folder);
        let temp_folder = temp_folder.map_err(io_at(&self.folder))?;
        let work = fs::canonicalize(temp_folder.path()).map_err(io_at(temp_folder.path()))?;
        let new = SavedState { folder: work.join("new") };
        fs::create_dir(&new.folder).map_err(io_at(&new.folder))?;
        let bytes = check_disk(&spec.disk)?;
        let written = File::create(new.overlay()).and_then(|file| overlay::write(&file, bytes));
        written.map_err(io_at(&new.overlay()))?;
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
