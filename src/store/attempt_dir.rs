use super::{Disk, StoreError};
use mcc_base::OnFile;
use mcc_base::names::RunId;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The private directory of a running attempt. It is removed with all its files (overlay, sockets) when the attempt
/// is committed or dropped; only the files in `outputs()` are kept.
#[derive(Debug)]
pub struct AttemptDir {
    pub(super) path: PathBuf,
    pub(super) run: RunId,
    pub(super) number: u32,
}

impl AttemptDir {
    pub(super) fn create(path: PathBuf, run: &RunId, number: u32) -> Result<Self, StoreError> {
        // Not `create_dir_all`: a directory that exists belongs to a running attempt.
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(StoreError::RunningAttempt { run: run.clone(), number });
            }
            created => created.on("create", &path)?,
        }
        let dir = Self { path, run: run.clone(), number };
        let outputs = dir.outputs();
        fs::create_dir(&outputs).on("create", outputs)?;
        Ok(dir)
    }

    /// `RESULTS/running/POSITION-NUMBER`. Short, because the path of a unix socket has at most 107 bytes.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of `stdout`, `stderr` and `console`; moved as a whole when the attempt is committed.
    pub fn outputs(&self) -> PathBuf {
        self.path.join("outputs")
    }

    /// The run that is attempted.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// The number of the attempt: 1, 2, ...
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Syncs every output to the disk and returns their digests, sorted by name.
    pub(super) fn sync_outputs(&self) -> Result<Vec<Disk>, StoreError> {
        let dir = self.outputs();
        let mut outputs = Vec::new();
        for item in fs::read_dir(&dir).on("list", &dir)? {
            let item = item.on("list", &dir)?;
            let path = item.path();
            // Not an output: a socket that an ended ssh left behind, for example. Readers of the record would refuse it.
            if !item.file_type().on("read", &path)?.is_file() {
                fs::remove_file(&path).on("remove", &path)?;
                continue;
            }
            let digest = || {
                File::open(&path)?.sync_all()?;
                Disk::of_file(&item.file_name().to_string_lossy(), &path)
            };
            outputs.push(digest().on("keep the output", &path)?);
        }
        outputs.sort_by(|a, b| a.role.cmp(&b.role));
        sync_dir(&dir)?;
        Ok(outputs)
    }
}

impl Drop for AttemptDir {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "cannot remove the private directory of an attempt");
        }
    }
}

/// Syncs a directory to the disk: the names in it.
pub(super) fn sync_dir(dir: &Path) -> Result<(), StoreError> {
    Ok(File::open(dir).and_then(|file| file.sync_all()).on("sync", dir)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_among_the_outputs_is_removed_and_ends_no_campaign() {
        let folder = tempfile::tempdir().unwrap();
        let run = "tool/DiningTable-PT-03/StateSpace".parse().unwrap();
        let dir = AttemptDir::create(folder.path().join("1-1"), &run, 1).unwrap();
        let socket = dir.outputs().join("ssh.4Kxq");
        std::os::unix::net::UnixListener::bind(&socket).unwrap();
        fs::write(dir.outputs().join("stdout"), "x").unwrap();
        let roles: Vec<String> = dir.sync_outputs().unwrap().into_iter().map(|disk| disk.role).collect();
        assert_eq!(roles, ["stdout"]);
        assert!(socket.symlink_metadata().is_err());
    }
}
