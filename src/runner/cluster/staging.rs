//! Copies disks to the local storage of a node: once per node, for all jobs and campaigns.

use super::ClusterError;
use mcc_base::OnFile;
use mcc_base::digest;
use mcc_vm::HeldFile;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A folder of disks by digest: `SHA256`, and beside it the lock file `SHA256.lock`.
pub struct StagingFolder {
    folder: PathBuf,
}

impl StagingFolder {
    /// Opens the folder; creates it if it does not exist.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn open(folder: &Path) -> Result<Self, ClusterError> {
        fs::create_dir_all(folder).on("create", folder)?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// Returns the path of a copy of `source` on this node, and the open file whose digest this call verified. A missing or damaged
    /// copy is made again. Jobs that request the same disk meanwhile wait.
    ///
    /// # Errors
    /// `source` has another digest than `sha256`: it changed since the campaign was submitted. Or a file cannot be read
    /// or written.
    pub fn disk(&self, source: &Path, sha256: &str) -> Result<(PathBuf, HeldFile), ClusterError> {
        let place = self.folder.join(sha256);
        let lock_path = self.folder.join(format!("{sha256}.lock"));
        let lock = File::create(&lock_path).on("create", &lock_path)?;
        lock.lock().on("lock", &lock_path)?;
        if let Ok((file, found, _)) = HeldFile::open_digested(&place)
            && found == sha256
        {
            return Ok((place, file));
        }
        let beside = self.folder.join(format!(".{sha256}"));
        fs::copy(source, &beside).on("copy to this node", source)?;
        let (found, _) = digest::file(&beside).on("read", &beside)?;
        if found != sha256 {
            fs::remove_file(&beside).on("remove", &beside)?;
            let problem = format!(
                "its digest is {found}, but it was {sha256} when the campaign was submitted: put the disk back, or \
                 submit the campaign again with another --out"
            );
            return Err(ClusterError::Bad { path: source.to_owned(), problem });
        }
        fs::rename(&beside, &place).on("rename", &place)?;
        // Renaming changes a time of the file, so it is opened again.
        let (file, found, _) = HeldFile::open_digested(&place).on("read", &place)?;
        let problem = "it changed while it was copied; run the job again".to_owned();
        if found == sha256 { Ok((place, file)) } else { Err(ClusterError::Bad { path: place, problem }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_disk_is_copied_once_and_again_if_the_copy_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let (source, stage) =
            (folder.path().join("disk"), StagingFolder::open(&folder.path().join("node")).unwrap());
        fs::write(&source, "a disk").unwrap();
        let sha256 = digest::bytes("a disk");
        let (place, _) = stage.disk(&source, &sha256).unwrap();
        let copied = fs::metadata(&place).unwrap().ino();
        assert_eq!(stage.disk(&source, &sha256).unwrap().0, place);
        assert_eq!(fs::metadata(&place).unwrap().ino(), copied, "not copied again");
        fs::write(&place, "a d").unwrap();
        assert_eq!(fs::read_to_string(stage.disk(&source, &sha256).unwrap().0).unwrap(), "a disk");
    }

    #[test]
    fn a_disk_that_changed_since_the_submission_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (source, stage) =
            (folder.path().join("disk"), StagingFolder::open(&folder.path().join("node")).unwrap());
        fs::write(&source, "another").unwrap();
        let error = stage.disk(&source, &digest::bytes("a disk")).unwrap_err().to_string();
        assert!(error.contains("put the disk back"), "{error}");
        assert_eq!(fs::read_dir(folder.path().join("node")).unwrap().count(), 1, "only the lock is left");
    }
}
