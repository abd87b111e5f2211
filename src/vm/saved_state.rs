//! The saved state of a booted machine. Other machines start from it instead of booting (QEMU calls this VM templating).
//!
//! Memory, device state and what the guest wrote to its disk are in files without a name (memfd), sealed by the kernel:
//! no machine can change what another one starts from, no other user can open them, and nothing remains of them after
//! the controller. Each restored machine gets a copy of the memory. If machines mapped the same file, the kernel would add
//! each empty page that one of them reads, and others could measure that it is there.

use super::held_files::reopen;
use super::memory_file::{self, in_memory};
use super::overlay;
use nix::errno::Errno;
use nix::fcntl::SealFlag;
use nix::unistd::{Whence, lseek};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;

/// A saved state. It lasts as long as a copy of this value.
#[derive(Clone, Debug)]
pub struct SavedState(Arc<StateFiles>);

#[derive(Debug)]
struct StateFiles {
    memory: File,
    devices: File,
    overlay: File,
}

impl PartialEq for SavedState {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for SavedState {}

impl SavedState {
    /// Makes the empty files of a machine with this memory and a disk of `disk_bytes`.
    pub(super) fn new(memory_mib: u64, disk_bytes: u64) -> io::Result<Self> {
        let [memory, devices, overlay] =
            [in_memory(c"mcc-memory")?, in_memory(c"mcc-devices")?, in_memory(c"mcc-overlay")?];
        let bytes = memory_mib.checked_mul(1 << 20).ok_or(io::ErrorKind::FileTooLarge)?;
        memory.set_len(bytes)?;
        overlay::write(&overlay, disk_bytes)?;
        Ok(Self(Arc::new(StateFiles { memory, devices, overlay })))
    }

    /// Makes every later change of the files impossible, also for this process. QEMU must have ended.
    pub(super) fn seal(&self) -> io::Result<()> {
        [&self.0.memory, &self.0.devices, &self.0.overlay].into_iter().try_for_each(seal)
    }

    /// The memory, to be mapped by the machine that is saved.
    pub(super) fn memory(&self) -> io::Result<File> {
        self.0.memory.try_clone()
    }

    /// A copy of the memory, to be mapped by one restored machine. It takes the space of what is not empty.
    pub(super) fn copy_memory(&self) -> io::Result<File> {
        let (mut from, mut to) = (reopen(&self.0.memory)?, in_memory(c"mcc-memory")?);
        to.set_len(from.metadata()?.len())?;
        for part in parts(&from)? {
            from.seek(SeekFrom::Start(part.start))?;
            to.seek(SeekFrom::Start(part.start))?;
            io::copy(&mut Read::by_ref(&mut from).take(part.end - part.start), &mut to)?;
        }
        memory_file::seal(&to, SealFlag::empty())?;
        Ok(to)
    }

    /// The overlay, to be written by the machine that is saved.
    pub(super) fn overlay(&self) -> io::Result<File> {
        self.0.overlay.try_clone()
    }

    /// The overlay, with a position and locks of its own.
    pub(super) fn overlay_to_read(&self) -> io::Result<File> {
        reopen(&self.0.overlay)
    }

    /// The state of the devices, to be written by the machine that is saved.
    pub(super) fn devices(&self) -> &File {
        &self.0.devices
    }

    /// The state of the devices, with a position of its own.
    pub(super) fn devices_to_read(&self) -> io::Result<File> {
        reopen(&self.0.devices)
    }
}

fn seal(file: &File) -> io::Result<()> {
    memory_file::seal(file, SealFlag::F_SEAL_WRITE)
}

/// The parts of a file that are not empty.
fn parts(file: &File) -> io::Result<Vec<Range<u64>>> {
    let mut parts = vec![];
    let mut end = 0;
    loop {
        let start = match lseek(file, end, Whence::SeekData) {
            Ok(start) => start,
            Err(Errno::ENXIO) => return Ok(parts),
            Err(error) => return Err(error.into()),
        };
        end = lseek(file, start, Whence::SeekHole)?;
        parts.push(start as u64..end as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{FileExt, MetadataExt};

    #[test]
    fn a_sealed_state_cannot_be_changed_and_is_read() {
        let saved = SavedState::new(1, 1 << 20).unwrap();
        saved.memory().unwrap().write_all_at(b"booted", 4096).unwrap();
        saved.seal().unwrap();
        let header = &mut [0; 4];
        saved.overlay_to_read().unwrap().read_exact_at(header, 0).unwrap();
        assert_eq!(header, b"QFI\xfb");
        for file in [saved.memory().unwrap(), saved.overlay().unwrap()] {
            assert_eq!(file.write_at(b"x", 0).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
            assert_eq!(file.set_len(0).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        }
        assert!(saved.overlay_to_read().unwrap().write_at(b"x", 0).is_err());
        assert_eq!(saved.memory().unwrap().metadata().unwrap().len(), 1 << 20);
    }

    #[test]
    fn a_copy_of_the_memory_is_independent_of_it_and_of_other_copies() {
        let saved = SavedState::new(1, 1 << 20).unwrap();
        saved.memory().unwrap().write_all_at(b"booted", 8192).unwrap();
        saved.seal().unwrap();
        let [copy, other] = [saved.copy_memory().unwrap(), saved.copy_memory().unwrap()];
        copy.write_all_at(b"change", 8192).unwrap();
        copy.write_all_at(b"more", 65536).unwrap();
        assert!(copy.set_len(1 << 21).is_err(), "its length is fixed");
        for unchanged in [saved.memory().unwrap(), other, saved.copy_memory().unwrap()] {
            let content = &mut [0; 6];
            unchanged.read_exact_at(content, 8192).unwrap();
            let found = unchanged.metadata().unwrap();
            assert_eq!((&*content, found.len(), found.blocks() * 512), (b"booted", 1 << 20, 4096));
        }
    }
}
