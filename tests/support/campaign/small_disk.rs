//! A small disk of the host.

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use std::fs;
use std::path::{Path, PathBuf};

/// A folder on a tmpfs of limited size, which is unmounted when this is dropped. It needs root, as building images does.
/// Every user can write to the tmpfs itself, which has the name of the folder with the ending `disk`.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    pub fn at(path: &Path, bytes: u64) -> Self {
        let (disk, size) = (path.with_extension("disk"), format!("size={bytes}"));
        fs::create_dir_all(path).unwrap();
        fs::create_dir_all(&disk).unwrap();
        mount(Some("none"), &disk, Some("tmpfs"), MsFlags::empty(), Some(size.as_str()))
            .expect("root mounts");
        let content = disk.join("content");
        fs::create_dir(&content).unwrap();
        mount(Some(&content), path, None::<&str>, MsFlags::MS_BIND, None::<&str>).expect("root mounts");
        Self(path.to_owned())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        for path in [&self.0, &self.0.with_extension("disk")] {
            umount2(path, MntFlags::MNT_DETACH).unwrap();
        }
    }
}
