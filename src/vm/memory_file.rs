//! Files in memory, without a name, which can be sealed.

use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::ffi::CStr;
use std::fs::File;
use std::io;

/// A new file that no other process can open by a name.
pub(super) fn in_memory(name: &CStr) -> io::Result<File> {
    Ok(memfd_create(name, MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)?.into())
}

/// Fixes the length of a file, and what else `more` says.
pub(super) fn seal(file: &File, more: SealFlag) -> io::Result<()> {
    let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL | more;
    fcntl(file, FcntlArg::F_ADD_SEALS(seals))?;
    Ok(())
}
