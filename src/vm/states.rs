//! Makes saved states.

use super::disk_header::{DiskError, check_disk};
use super::error::VmError;
use super::machine::{Event, Machine};
use super::saved_state::SavedState;
use super::spec::{MachineSpec, QemuSockets, Start, argv};
use mcc_base::guest::GuestEvent;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// An error of making a saved state.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// A folder cannot be made.
    #[error("cannot write below {}: {source}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The kernel refuses a file in memory, or its seal.
    #[error("cannot keep the state of a machine in memory: {0}")]
    Memory(#[source] io::Error),
    /// The disk cannot be used.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The machine failed before its state was saved.
    #[error("the machine whose state is to be saved failed: {0}")]
    Machine(#[from] VmError),
}

/// Bytes of memory that machines may add to a saved state; then it is copied without them, in some tenths of a second.
const MOST_GROWTH: u64 = 1 << 30;

/// The saved states of a controller, one for each specification of a machine. Each takes about 460 MiB of memory, and what
/// restored machines add to it: each page that one of them is the first to touch.
pub struct SavedStates {
    folder: PathBuf,
    made: Mutex<BTreeMap<String, SavedState>>,
}

impl SavedStates {
    /// `folder`: the logs of a machine that is saved are in a temporary folder there.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, made: Mutex::default() }
    }

    /// Returns the saved state of a machine. If there is none, it boots the machine and saves its state.
    ///
    /// `content_key`: the digests of the disks, which the specification does not contain.
    ///
    /// # Errors
    /// The machine does not become ready within `timeout`, or its state cannot be saved.
    pub fn get_or_boot(
        &self,
        spec: &MachineSpec,
        content_key: &str,
        timeout: Duration,
    ) -> Result<SavedState, SavedError> {
        let key = format!("{}\n{content_key}", argv(spec, &QemuSockets::placeholder()).join("\n"));
        // Locked while a state is made, so that two threads do not make the same state.
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(saved) = made.get_mut(&key) {
            if saved.growth().map_err(SavedError::Memory)? > MOST_GROWTH {
                *saved = saved.without_growth().map_err(SavedError::Memory)?;
            }
            return Ok(saved.clone());
        }
        let io_at = |source| SavedError::Io { path: self.folder.clone(), source };
        fs::create_dir_all(&self.folder).map_err(io_at)?;
        let logs = tempfile::Builder::new().prefix("saving-").tempdir_in(&self.folder).map_err(io_at)?;
        let saved = boot_and_save(spec, &fs::canonicalize(logs.path()).map_err(io_at)?, timeout)?;
        made.insert(key, saved.clone());
        Ok(saved)
    }
}

fn boot_and_save(spec: &MachineSpec, logs: &Path, timeout: Duration) -> Result<SavedState, SavedError> {
    let deadline = Instant::now() + timeout;
    let saved = SavedState::new(spec.memory_mib, check_disk(&spec.disk)?).map_err(SavedError::Memory)?;
    let to_save =
        MachineSpec { start: Start::Save(saved.clone()), count_instructions: false, ..spec.clone() };
    let mut machine = Machine::start(&to_save, logs, 0, timeout)?;
    loop {
        match machine.wait(deadline)? {
            Event::Guest(GuestEvent::Ready { .. }) => break,
            Event::Deadline => return Err(machine.timeout_error("ready").into()),
            _ => {}
        }
    }
    machine.qmp.save_state(saved.devices(), Instant::now() + timeout)?;
    machine.halt()?;
    saved.seal().map_err(SavedError::Memory)?;
    Ok(saved)
}
