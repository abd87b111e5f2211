//! Disks on a node's own storage: copied there once per node, whatever number of jobs and campaigns use them.

use super::ClusterError;
use mcc_base::digest;
use nix::fcntl::{Flock, FlockArg};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A folder of disks by digest: `SHA256`, and `SHA256.lock` while and since it was copied.
pub struct StagingFolder {
    folder: PathBuf,
}

impl StagingFolder {
    pub fn open(folder: &Path) -> Result<Self, ClusterError> {
        fs::create_dir_all(folder).map_err(ClusterError::io("create", folder))?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// A copy of `source` on this node, of which the digest was checked just now. A copy that is not what it
    /// should be is made anew; jobs that want the same disk at once wait for the one that copies.
    ///
    /// # Errors
    /// `source` itself has another digest: it changed since the campaign was submitted.
    pub fn disk(&self, source: &Path, sha256: &str) -> Result<PathBuf, ClusterError> {
        let place = self.folder.join(sha256);
        let lock_path = self.folder.join(format!("{sha256}.lock"));
        let lock = File::create(&lock_path).map_err(ClusterError::io("create", &lock_path))?;
        let _lock = Flock::lock(lock, FlockArg::LockExclusive)
            .map_err(|(_, errno)| ClusterError::io("lock", &lock_path)(errno.into()))?;
        if digest::file(&place).is_ok_and(|(found, _)| found == sha256) {
            return Ok(place);
        }
        let beside = self.folder.join(format!(".{sha256}"));
        fs::copy(source, &beside).map_err(ClusterError::io("copy to this node", source))?;
        let (found, _) = digest::file(&beside).map_err(ClusterError::io("read", &beside))?;
        if found != sha256 {
            fs::remove_file(&beside).map_err(ClusterError::io("remove", &beside))?;
            let problem = format!(
                "its digest is {found}, at the submission it was {sha256}: put the disk back, or submit the \
                 campaign anew with another --out"
            );
            return Err(ClusterError::Bad { path: source.to_owned(), problem });
        }
        fs::rename(&beside, &place).map_err(ClusterError::io("rename", &place))?;
        Ok(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_disk_is_copied_once_per_node_and_anew_where_the_copy_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let (source, stage) =
            (folder.path().join("disk"), StagingFolder::open(&folder.path().join("node")).unwrap());
        fs::write(&source, "a disk").unwrap();
        let sha256 = digest::bytes("a disk");
        let place = stage.disk(&source, &sha256).unwrap();
        let copied = fs::metadata(&place).unwrap().ino();
        assert_eq!(stage.disk(&source, &sha256).unwrap(), place);
        assert_eq!(fs::metadata(&place).unwrap().ino(), copied, "not copied again");
        fs::write(&place, "a d").unwrap();
        assert_eq!(fs::read_to_string(stage.disk(&source, &sha256).unwrap()).unwrap(), "a disk");
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
