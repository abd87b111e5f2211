//! The saved state of a booted machine. Other machines start from it instead of booting (QEMU calls this VM templating).
//!
//! Memory, device state and what the guest wrote to its disk are in files without a name (memfd), sealed by the kernel:
//! no machine can change what another one starts from, no other user can open them, and nothing remains of them after
//! the controller. A restored machine maps the memory privately and shares with the others what it only reads.

use super::overlay;
use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
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
        let seals =
            SealFlag::F_SEAL_WRITE | SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
        for file in [&self.0.memory, &self.0.devices, &self.0.overlay] {
            fcntl(file.as_fd(), FcntlArg::F_ADD_SEALS(seals))?;
        }
        Ok(())
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

fn in_memory(name: &CStr) -> io::Result<File> {
    Ok(memfd_create(name, MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)?.into())
}

fn reopen(file: &File) -> io::Result<File> {
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use super::*;
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
}
