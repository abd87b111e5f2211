//! Makes saved states.

use super::disk_header::{DiskError, check_disk};
use super::error::VmError;
use super::machine::{Event, Machine};
use super::saved_state::SavedState;
use super::spec::{MachineSpec, QemuSockets, Start, argv};
use mcc_base::OnFile;
use mcc_base::guest::GuestEvent;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// An error of making a saved state.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] mcc_base::FileError),
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

/// The saved states of a controller, one for each specification of a machine. Each takes about 460 MiB of memory.
pub struct SavedStates {
    folder: PathBuf,
    made: Mutex<BTreeMap<String, Place>>,
}

/// The state of one specification; None: it is not made yet.
type Place = Arc<Mutex<Option<SavedState>>>;

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
        // Locked while the state is made, so that two threads do not make the same one. Others can make theirs meanwhile.
        let place = self.place(key);
        let mut made = lock(&place);
        if let Some(saved) = &*made {
            return Ok(saved.clone());
        }
        fs::create_dir_all(&self.folder).on("create", &self.folder)?;
        let logs =
            tempfile::Builder::new().prefix("saving-").tempdir_in(&self.folder).on("create", &self.folder)?;
        let saved = boot_and_save(spec, &fs::canonicalize(logs.path()).on("create", &self.folder)?, timeout)?;
        *made = Some(saved.clone());
        Ok(saved)
    }

    fn place(&self, key: String) -> Place {
        Arc::clone(lock(&self.made).entry(key).or_default())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_is_made_delays_only_those_who_need_it() {
        let states = SavedStates::new(PathBuf::new());
        let first = states.place("first".to_owned());
        let _boots = lock(&first);
        assert!(states.place("second".to_owned()).try_lock().is_ok());
        assert!(states.place("first".to_owned()).try_lock().is_err());
    }
}
