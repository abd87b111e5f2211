//! Copies disks to the local storage of a node: once per node, for all jobs and campaigns.

use super::ClusterError;
use mcc_base::{OnFile, digest, files};
use mcc_vm::HeldFile;
use nix::unistd::geteuid;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A folder of disks by digest: `SHA256`, and beside it the lock file `SHA256.lock`.
pub struct StagingFolder {
    folder: PathBuf,
}

impl StagingFolder {
    /// Opens the folder; creates it with this mode if it does not exist. Other users of the node must not be able to write to
    /// it, or to rename a folder above it: they could replace the disks, and lead what is written here to other files of this user.
    ///
    /// # Errors
    /// The folder cannot be created, or others can write to it.
    pub fn open(folder: &Path, mode: u32) -> Result<Self, ClusterError> {
        folder.parent().map_or(Ok(()), fs::create_dir_all).on("create", folder)?;
        match DirBuilder::new().mode(mode).create(folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            created => created.on("create", folder)?,
        }
        let is_link = folder.is_symlink();
        let folder = fs::canonicalize(folder).on("read", folder)?;
        let found = fs::symlink_metadata(&folder).on("read", &folder)?;
        let is_own = found.is_dir() && found.uid() == geteuid().as_raw() && files::is_own(&found);
        let shared = files::first_shared_above(&folder).on("read", &folder)?;
        if is_own && !is_link && shared.is_none() {
            return Ok(Self { folder });
        }
        let problem = "the key `stage` of [cluster] must name a folder, not a link, that belongs to the user of the jobs. \
                       Other users must not be able to write to it, or to rename it or a folder above it: change owner \
                       or mode, or give another folder and `mcc-harness submit --resume`";
        Err(ClusterError::Bad { path: shared.unwrap_or(folder), problem: problem.to_owned() })
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
        let _lock = files::wait_for_lock(&lock_path).on("lock", &lock_path)?;
        // The owner of a file can change it later.
        let is_own = fs::symlink_metadata(&place).is_ok_and(|found| found.uid() == geteuid().as_raw());
        if is_own
            && let Ok((file, found, _)) = HeldFile::open_digested(&place)
            && found == sha256
        {
            return Ok((place, file));
        }
        let beside = self.folder.join(format!(".{sha256}"));
        // Of a job that was killed.
        files::clear_own_place(&self.folder, &beside).on("remove", &beside)?;
        files::copy_to_new(source, &beside).on("copy to this node", source)?;
        let (found, _) = digest::own_file(&beside).on("read", &beside)?;
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
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_disk_is_copied_once_and_again_if_the_copy_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let (source, stage) =
            (folder.path().join("disk"), StagingFolder::open(&folder.path().join("node"), 0o700).unwrap());
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
    fn a_folder_or_file_that_others_prepared_leads_to_no_other_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        StagingFolder::open(&at("new/node"), 0o700).unwrap();
        assert_eq!(fs::metadata(at("new/node")).unwrap().mode() & 0o777, 0o700);
        symlink(at("new/node"), at("link")).unwrap();
        mode(&at("new"), 0o777);
        // In `new`, others can put another folder in the place of `node`.
        for refused in ["link", "new", "new/node"] {
            let error = StagingFolder::open(&at(refused), 0o700).err().unwrap().to_string();
            assert!(error.contains("Other users must not be able to write to it"), "{error}");
        }
        mode(&at("new"), 0o1777);
        // Links that were made before the folder was private.
        let (stage, sha256) = (StagingFolder::open(&at("new/node"), 0o700).unwrap(), digest::bytes("a disk"));
        fs::write(at("disk"), "a disk").unwrap();
        fs::write(at("victim"), "kept").unwrap();
        mode(&at("victim"), 0o600);
        symlink(at("victim"), at(&format!("new/node/.{sha256}"))).unwrap();
        let (place, _) = stage.disk(&at("disk"), &sha256).unwrap();
        assert_eq!(fs::read_to_string(place).unwrap(), "a disk");
        let lock = at(&format!("new/node/{sha256}.lock"));
        fs::remove_file(&lock).unwrap();
        symlink(at("victim"), &lock).unwrap();
        assert!(stage.disk(&at("disk"), &sha256).is_err());
        assert_eq!(fs::read_to_string(at("victim")).unwrap(), "kept");
        assert_eq!(fs::metadata(at("victim")).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_disk_that_changed_since_the_submission_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (source, stage) =
            (folder.path().join("disk"), StagingFolder::open(&folder.path().join("node"), 0o700).unwrap());
        fs::write(&source, "another").unwrap();
        let error = stage.disk(&source, &digest::bytes("a disk")).unwrap_err().to_string();
        assert!(error.contains("put the disk back"), "{error}");
        assert_eq!(fs::read_dir(folder.path().join("node")).unwrap().count(), 1, "only the lock is left");
    }
}
