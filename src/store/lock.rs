//! One controller per record.

use super::StoreError;
use nix::fcntl::{Flock, FlockArg};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Held as long as it lives; the kernel lets go of it when the controller dies, however it dies.
pub(super) struct Lock(Flock<File>);

/// Who holds the lock of the record in `dir`, without touching it: a controller that begins at the same moment must not
/// find it taken. Another host's lock is believed as it stands in the file, unless it was given back in order.
pub(super) fn holder(dir: &Path) -> Option<String> {
    let path = dir.join("lock");
    let owner = std::fs::read_to_string(&path).ok()?.trim().to_owned();
    let here = nix::unistd::gethostname().ok()?;
    if owner.is_empty() || !owner.ends_with(&format!(" on {}", here.to_string_lossy())) {
        return Some(owner).filter(|owner| !owner.is_empty());
    }
    // By its inode: file systems of many volumes have another device here than `stat` tells.
    let inode = format!(":{}", std::fs::metadata(&path).ok()?.ino());
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let held =
        |line: &str| line.contains(" FLOCK ") && line.split_whitespace().any(|word| word.ends_with(&inode));
    locks.lines().any(held).then_some(owner)
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Given back in order; whether the name is taken out of the file decides nothing.
        drop(self.0.set_len(0));
    }
}

impl Lock {
    pub(super) fn take(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join("lock");
        let io = |source| StoreError::Io { action: "lock", path: path.clone(), source };
        // Not truncated before the lock is ours: it names the owner to others.
        let file =
            File::options().read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
        let mut file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(file) => file,
            Err((mut file, nix::errno::Errno::EWOULDBLOCK)) => {
                let mut owner = String::new();
                file.read_to_string(&mut owner).map_err(io)?;
                return Err(StoreError::Locked { dir: dir.to_owned(), owner: owner.trim().to_owned() });
            }
            Err((_, errno)) => return Err(io(errno.into())),
        };
        let host = nix::unistd::gethostname().map_err(|errno| io(errno.into()))?;
        file.set_len(0).map_err(io)?;
        file.rewind().map_err(io)?;
        writeln!(file, "pid {} on {}", std::process::id(), host.to_string_lossy()).map_err(io)?;
        Ok(Self(file))
    }
}
