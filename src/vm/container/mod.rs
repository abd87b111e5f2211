//! Reads container images as root file systems: OCI layouts and `docker save` archives, as a folder or as a tar archive
//! (plain, gzip or zstd). No daemon and no registry is asked.
//!
//! The content is not trusted. Layers are merged in memory (`Tree`); the contents of their files go to numbered files in a
//! private folder. Names and links of the container are never opened on the host: `Container::write` makes every folder
//! itself, so no path that it uses goes through a link.

mod account;
mod adapt;
mod entries;
mod error;
mod manifest;
mod merged;
mod names;
mod store;
mod tree;
mod write;

pub use error::ContainerError;
pub use merged::{Container, Facts};

/// Bounds of what is read, so that a small archive cannot fill the disk or the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest sum of all layers and, for a compressed archive, of the archive, in bytes after decompression.
    pub bytes: u64,
    /// The largest number of entries of all layers together.
    pub entries: u64,
}

impl Limits {
    /// The limits for a disk of this size, bytes. A layer may have files that later layers replace, so the layers
    /// together may have twice the size of the disk.
    pub fn for_disk(bytes: u64) -> Self {
        Self { bytes: bytes.saturating_mul(2), entries: 1_000_000 }
    }
}
