//! The lock of a record: one controller writes to it.

use super::StoreError;
use mcc_base::files::LockedFile;
use mcc_base::{OnFile, files};
use std::fs::{self, File, Permissions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

/// The kernel releases it when the process ends, also when it is killed.
pub(super) struct Lock(LockedFile);

/// Returns the holder of the lock of the record in `dir`. Does not take the lock: a controller that starts at the same
/// moment must find it free. For a lock of another host, the content of the file is returned; the file is empty after
/// an orderly release.
pub(super) fn holder(dir: &Path) -> Option<String> {
    let path = dir.join("lock");
    let owner = mcc_base::text::read(&path).ok()?.trim().to_owned();
    let here = nix::unistd::gethostname().ok()?;
    if owner.is_empty() || !owner.ends_with(&format!(" on {}", here.to_string_lossy())) {
        return Some(owner).filter(|owner| !owner.is_empty());
    }
    // By inode only: on file systems with several volumes, `stat` reports another device than /proc/locks.
    let inode = format!(":{}", std::fs::metadata(&path).ok()?.ino());
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let held =
        |line: &str| line.contains(" FLOCK ") && line.split_whitespace().any(|word| word.ends_with(&inode));
    locks.lines().any(held).then_some(owner)
}

/// Makes a file that the owner and the group can access, or removes the access of other users to an existing one: who can
/// read a file can lock it, and so stop the controller. Only the owner can remove it, so an error of that is ignored.
pub(super) fn restrict(path: &Path) -> io::Result<()> {
    match File::options().write(true).create_new(true).mode(0o640).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made.map(drop),
    }
    let facts = fs::symlink_metadata(path)?;
    // Its target would be changed, which may be a file of something else.
    if facts.is_symlink() {
        return Err(io::Error::other("it is a symbolic link; remove it"));
    }
    let mode = facts.mode();
    if mode & 0o007 != 0 {
        let _ = fs::set_permissions(path, Permissions::from_mode(mode & 0o770));
    }
    Ok(())
}

/// As `files::lock`, but tries for a second. A process that a killed controller was just starting has its lock until it
/// runs its program.
fn lock_within_a_second(path: &Path) -> io::Result<Option<LockedFile>> {
    for _ in 0..9 {
        let taken = files::lock(path)?;
        if taken.is_some() {
            return Ok(taken);
        }
        thread::sleep(Duration::from_millis(100));
    }
    files::lock(path)
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Only information for other hosts, so an error has no effect.
        drop(self.0.file.set_len(0));
    }
}

impl Lock {
    pub(super) fn take(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join("lock");
        // Not truncated before the lock is taken: the file has the name of the present holder.
        restrict(&path).on("lock", &path)?;
        let Some(mut lock) = lock_within_a_second(&path).on("lock", &path)? else {
            let owner = mcc_base::text::read(&path).on("lock", &path)?;
            return Err(StoreError::Refused(format!(
                "{} is in use by another controller ({}); wait for it, stop it, or give another folder to --out",
                dir.display(),
                owner.trim()
            )));
        };
        let host = nix::unistd::gethostname().on("lock", &path)?;
        lock.file.set_len(0).on("lock", &path)?;
        lock.file.rewind().on("lock", &path)?;
        writeln!(lock.file, "pid {} on {}", std::process::id(), host.to_string_lossy()).on("lock", &path)?;
        Ok(Self(lock))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_users_cannot_read_or_lock_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let old = folder.path().join("record.db");
        fs::write(&old, "kept").unwrap();
        fs::set_permissions(&old, Permissions::from_mode(0o644)).unwrap();
        let lock = Lock::take(folder.path()).unwrap();
        restrict(&old).unwrap();
        assert_eq!(fs::read_to_string(&old).unwrap(), "kept");
        for path in [&old, &folder.path().join("lock")] {
            assert_eq!(fs::metadata(path).unwrap().mode() & 0o007, 0, "{}", path.display());
        }
        drop(lock);
    }

    #[test]
    fn a_lock_that_is_a_link_changes_no_other_file() {
        let folder = tempfile::tempdir().unwrap();
        let (other, lock) = (folder.path().join("other"), folder.path().join("lock"));
        fs::write(&other, "kept").unwrap();
        fs::set_permissions(&other, Permissions::from_mode(0o644)).unwrap();
        std::os::unix::fs::symlink("other", &lock).unwrap();
        let message = Lock::take(folder.path()).err().unwrap().to_string();
        assert!(message.contains("symbolic link"), "{message}");
        assert_eq!(fs::read_to_string(&other).unwrap(), "kept");
        assert_eq!(fs::metadata(&other).unwrap().mode() & 0o777, 0o644);
    }
}
