//! The saved state of a booted machine. Other machines start from it instead of booting (QEMU calls this VM templating).
//!
//! Memory, device state and what the guest wrote to its disk are in files without a name (memfd), sealed by the kernel:
//! no machine can change what another one starts from, no other user can open them, and nothing remains of them after
//! the controller. A restored machine maps the memory privately and shares with the others what it only reads.

use super::held_files::reopen;
use super::memory_file::{self, in_memory};
use super::overlay;
use nix::errno::Errno;
use nix::fcntl::SealFlag;
use nix::unistd::{Whence, lseek};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, OnceLock};

/// A saved state. It lasts as long as a copy of this value.
#[derive(Clone, Debug)]
pub struct SavedState(Arc<StateFiles>);

#[derive(Debug)]
struct StateFiles {
    memory: File,
    devices: File,
    overlay: File,
    /// The parts of the memory that were not empty when it was sealed.
    saved: OnceLock<Vec<Range<u64>>>,
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
        Ok(Self(Arc::new(StateFiles { memory, devices, overlay, saved: OnceLock::new() })))
    }

    /// The memory that machines added since the state was sealed, in bytes. The kernel adds an empty page when a machine that
    /// maps the file touches it, and keeps it as long as the file.
    pub(super) fn growth(&self) -> io::Result<u64> {
        let saved = self.0.saved.get().into_iter().flatten().map(|part| part.end - part.start).sum();
        Ok((self.0.memory.metadata()?.blocks() * 512).saturating_sub(saved))
    }

    /// The same state without the pages that were added. The memory of this one is free when its last machine has ended.
    pub(super) fn without_growth(&self) -> io::Result<Self> {
        let StateFiles { memory, devices, overlay, saved } = &*self.0;
        let copy = in_memory(c"mcc-memory")?;
        copy.set_len(memory.metadata()?.len())?;
        let (mut from, mut to) = (reopen(memory)?, &copy);
        for part in saved.get().into_iter().flatten() {
            from.seek(SeekFrom::Start(part.start))?;
            to.seek(SeekFrom::Start(part.start))?;
            io::copy(&mut Read::by_ref(&mut from).take(part.end - part.start), &mut to)?;
        }
        seal(&copy)?;
        let (devices, overlay, saved) = (devices.try_clone()?, overlay.try_clone()?, saved.clone());
        Ok(Self(Arc::new(StateFiles { memory: copy, devices, overlay, saved })))
    }

    /// Makes every later change of the files impossible, also for this process. QEMU must have ended.
    pub(super) fn seal(&self) -> io::Result<()> {
        self.0.saved.set(parts(&self.0.memory)?).map_err(|_| io::ErrorKind::AlreadyExists)?;
        [&self.0.memory, &self.0.devices, &self.0.overlay].into_iter().try_for_each(seal)
    }

    /// The file for QEMU to map: shared by the machine that is saved, private by a restored one.
    pub(super) fn memory(&self) -> io::Result<File> {
        self.0.memory.try_clone()
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
    use nix::libc;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileExt;

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
    fn memory_that_a_machine_adds_is_not_in_a_copy() {
        let saved = SavedState::new(1, 1 << 20).unwrap();
        saved.memory().unwrap().write_all_at(b"booted", 8192).unwrap();
        saved.seal().unwrap();
        assert_eq!(saved.growth().unwrap(), 0);
        let (memory, protection) = (saved.memory().unwrap(), libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: a private mapping of a file of this length, which nothing else uses.
        unsafe {
            let fd = memory.as_raw_fd();
            let mapped = libc::mmap(std::ptr::null_mut(), 1 << 20, protection, libc::MAP_PRIVATE, fd, 0);
            assert_ne!(mapped, libc::MAP_FAILED);
            mapped.cast::<u8>().add(1 << 19).write(1);
        }
        assert!(saved.growth().unwrap() >= 4096, "the kernel adds the page");
        let copy = saved.without_growth().unwrap();
        assert_eq!(copy.growth().unwrap(), 0);
        let content = &mut [0; 6];
        copy.memory().unwrap().read_exact_at(content, 8192).unwrap();
        assert_eq!((&*content, copy.memory().unwrap().metadata().unwrap().len()), (b"booted", 1 << 20));
        assert!(copy.memory().unwrap().write_at(b"x", 0).is_err(), "sealed");
    }
}
