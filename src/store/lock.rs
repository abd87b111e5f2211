//! One controller per record.

use super::StoreError;
use nix::fcntl::{Flock, FlockArg};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::Path;

/// Held as long as it lives; the kernel lets go of it when the controller dies, however it dies.
pub(super) struct Lock(#[allow(dead_code, reason = "held, never read")] Flock<File>);

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
