//! A small disk of the host.

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use std::fs;
use std::path::{Path, PathBuf};

/// A tmpfs of limited size that is unmounted when this is dropped. It needs root, as building images does.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    pub fn at(path: &Path, bytes: u64) -> Self {
        fs::create_dir_all(path).unwrap();
        let size = format!("size={bytes},mode=755");
        mount(Some("none"), path, Some("tmpfs"), MsFlags::empty(), Some(size.as_str())).expect("root mounts");
        Self(path.to_owned())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        umount2(&self.0, MntFlags::MNT_DETACH).unwrap();
    }
}
