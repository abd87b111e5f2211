use super::{Disk, StoreError};
use mcc_base::names::RunId;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The private directory of one attempt under way: overlay, sockets and whatever else lies in it are removed
/// when the attempt is committed or dropped. Only what lies in `outputs()` is kept.
#[derive(Debug)]
pub struct AttemptDir {
    pub(super) path: PathBuf,
    pub(super) run: RunId,
    pub(super) number: u32,
}

impl AttemptDir {
    pub(super) fn create(path: PathBuf, run: &RunId, number: u32) -> Result<Self, StoreError> {
        // Not `create_dir_all`: that it is already there means the attempt is under way.
        fs::create_dir(&path).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => StoreError::RunningAttempt { run: run.clone(), number },
            _ => StoreError::Io { action: "create", path: path.clone(), source },
        })?;
        let dir = Self { path, run: run.clone(), number };
        let outputs = dir.outputs();
        fs::create_dir(&outputs).map_err(|source| StoreError::Io {
            action: "create",
            path: outputs,
            source,
        })?;
        Ok(dir)
    }

    /// `RESULTS/running/...`, short because unix sockets in it have paths of at most 107 bytes.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where `stdout`, `stderr` and `console` are written; moved as a whole when the attempt is committed.
    pub fn outputs(&self) -> PathBuf {
        self.path.join("outputs")
    }

    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// 1, 2, ...
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Brings every output to the disk and digests it; sorted by name.
    pub(super) fn sync_outputs(&self) -> Result<Vec<Disk>, StoreError> {
        let dir = self.outputs();
        let mut outputs = Vec::new();
        let list = |source| StoreError::Io { action: "list", path: dir.clone(), source };
        for item in fs::read_dir(&dir).map_err(list)? {
            let item = item.map_err(list)?;
            let path = item.path();
            let digest = || {
                File::open(&path)?.sync_all()?;
                Disk::of_file(&item.file_name().to_string_lossy(), &path)
            };
            outputs.push(digest().map_err(|source| StoreError::Io {
                action: "keep the output",
                path: path.clone(),
                source,
            })?);
        }
        outputs.sort_by(|a, b| a.role.cmp(&b.role));
        sync_dir(&dir)?;
        Ok(outputs)
    }
}

impl Drop for AttemptDir {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "private directory of a run not removed");
        }
    }
}

/// Makes the names in a directory durable.
pub(super) fn sync_dir(dir: &Path) -> Result<(), StoreError> {
    File::open(dir).and_then(|file| file.sync_all()).map_err(|source| StoreError::Io {
        action: "sync",
        path: dir.to_owned(),
        source,
    })
}
