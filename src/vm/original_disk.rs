//! Disks as tool authors submit them: one file with its own bootloader. Nothing in it is trusted.

use super::image::{FORMAT, Image, ImageError, ImageFacts};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What is read from an original disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OriginalFacts {
    /// As QEMU names it: `vmdk`, `qcow2`, `raw`.
    pub format: String,
    /// Size of the disk as the guest sees it.
    pub virtual_bytes: u64,
    /// The first sector holds code that a BIOS can start.
    pub bootable: bool,
    pub partitions: Vec<Partition>,
}

/// A row of the partition table in the first sector; `ee` is the one that stands before a GPT.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// Its type, two hex digits: `83` Linux, `82` swap.
    pub kind: String,
    pub active: bool,
    /// In sectors of 512 bytes.
    pub first: u32,
    pub sectors: u32,
}

#[derive(Debug, thiserror::Error)]
pub enum OriginalError {
    #[error("qemu-img: {0}; install the package qemu-utils (scripts/setup does)")]
    NoQemuImg(#[source] io::Error),
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}: qemu-img cannot read it: {said}", path.display())]
    Unreadable { path: PathBuf, said: String },
    #[error("{}: it refers to another file, {other}; make one file of it: qemu-img convert -O vmdk", path.display())]
    NotAlone { path: PathBuf, other: String },
    #[error("{}: format {format} is not taken; convert it: qemu-img convert -O vmdk", path.display())]
    Format { path: PathBuf, format: String },
    #[error("{}: its first sector holds no bootloader for a BIOS", .0.display())]
    NotBootable(PathBuf),
}

impl Image {
    /// A disk file as an image, bootable or not: its facts are read from the disk itself.
    pub fn of_file(path: &Path) -> Result<Self, OriginalError> {
        let original = inspect(path)?;
        let facts = ImageFacts {
            format: FORMAT,
            kind: "original".to_owned(),
            built_by: env!("CARGO_PKG_VERSION").to_owned(),
            disk: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            boot: None,
            original: Some(original),
            packages: vec![],
            rootfs_recipe: String::new(),
            instances: vec![],
            edition: None,
        };
        Ok(Self { folder: path.parent().unwrap_or(Path::new("")).to_owned(), facts })
    }

    /// An image to boot by itself: a disk file, or a folder with one (`image import`, `image build --kit`).
    pub fn open_original(path: &Path) -> Result<Self, OpenError> {
        let image = if path.is_dir() { Self::open(path)? } else { Self::of_file(path)? };
        match &image.facts.original {
            Some(facts) if facts.bootable => Ok(image),
            Some(_) => Err(OriginalError::NotBootable(image.disk()).into()),
            None => Err(ImageError::Bad {
                path: path.to_owned(),
                reason: format!(
                    "an image of kind {:?} is no original disk: leave out channel = \"ssh\"",
                    image.facts.kind
                ),
            }
            .into()),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Original(#[from] OriginalError),
}

/// Reads format, size and partition table.
///
/// # Errors
/// Besides what cannot be read: a disk that refers to other files. A guest must not get at files of the host that
/// its author named, and a digest of one file would not cover them.
pub fn inspect(path: &Path) -> Result<OriginalFacts, OriginalError> {
    let io_at = |path: &Path| {
        let path = path.to_owned();
        move |source| OriginalError::Io { path, source }
    };
    // Absolute: `nbd:...` must be a file's name, never an address.
    let disk = std::fs::canonicalize(path).map_err(io_at(path))?;
    let told = qemu_img(&["info".into(), "--output=json".into(), disk.clone().into()], path)?;
    let info: Value = serde_json::from_slice(&told)
        .map_err(|e| OriginalError::Unreadable { path: path.to_owned(), said: e.to_string() })?;
    let format = info["format"].as_str().unwrap_or_default().to_owned();
    if let Some(other) = other_file(&info, &disk) {
        return Err(OriginalError::NotAlone { path: path.to_owned(), other });
    }
    if !["vmdk", "qcow2", "raw"].contains(&&*format) {
        return Err(OriginalError::Format { path: path.to_owned(), format });
    }
    let folder = tempfile::tempdir().map_err(io_at(&std::env::temp_dir()))?;
    let first = folder.path().join("first");
    let named = |option: &str, path: &Path| {
        let mut named = OsString::from(option);
        named.push(path);
        named
    };
    let read = ["dd", "-f", &format, "-O", "raw", "bs=512", "count=1"].map(OsString::from);
    qemu_img(&[&read[..], &[named("if=", &disk), named("of=", &first)]].concat(), path)?;
    let (bootable, partitions) = partition_table(&std::fs::read(&first).map_err(io_at(&first))?);
    Ok(OriginalFacts {
        format,
        virtual_bytes: info["virtual-size"].as_u64().unwrap_or(0),
        bootable,
        partitions,
    })
}

fn qemu_img(args: &[OsString], disk: &Path) -> Result<Vec<u8>, OriginalError> {
    let done = Command::new("qemu-img").args(args).stdin(Stdio::null()).output();
    let done = done.map_err(OriginalError::NoQemuImg)?;
    match done.status.success() {
        true => Ok(done.stdout),
        false => {
            let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
            Err(OriginalError::Unreadable { path: disk.to_owned(), said })
        }
    }
}

/// The file besides `disk` that a disk's header names: a backing file, a data file, an extent of a VMDK.
fn other_file(info: &Value, disk: &Path) -> Option<String> {
    let specific = &info["format-specific"]["data"];
    let extents = specific["extents"].as_array().into_iter().flatten().map(|extent| &extent["filename"]);
    let named = extents.chain([&info["backing-filename"], &specific["data-file"]]).filter_map(Value::as_str);
    named.map(str::to_owned).find(|named| Path::new(named) != disk)
}

/// Whether a BIOS would start it, and the partitions: of a master boot record.
fn partition_table(sector: &[u8]) -> (bool, Vec<Partition>) {
    const CODE: usize = 440;
    const TABLE: usize = 446;
    if sector.len() < 512 || sector[510..512] != [0x55, 0xaa] {
        return (false, vec![]);
    }
    let number = |at: &[u8]| u32::from_le_bytes([at[0], at[1], at[2], at[3]]);
    let rows = sector[TABLE..510].chunks_exact(16).filter(|row| row[4] != 0);
    let partitions = rows.map(|row| Partition {
        kind: format!("{:02x}", row[4]),
        active: row[0] & 0x80 != 0,
        first: number(&row[8..12]),
        sectors: number(&row[12..16]),
    });
    (sector[..CODE].iter().any(|byte| *byte != 0), partitions.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_boot_record_tells_its_partitions_and_whether_a_bios_would_start_it() {
        let mut sector = [0; 512];
        assert_eq!(partition_table(&sector), (false, vec![]));
        sector[510..].copy_from_slice(&[0x55, 0xaa]);
        sector[446..462].copy_from_slice(&[0x80, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0, 1, 0]);
        let linux = Partition { kind: "83".into(), active: true, first: 2048, sectors: 65536 };
        assert_eq!(partition_table(&sector), (false, vec![linux.clone()]));
        sector[0] = 0xfa;
        assert_eq!(partition_table(&sector), (true, vec![linux]));
        assert_eq!(partition_table(&sector[..100]), (false, vec![]));
    }

    #[test]
    fn a_disk_that_names_another_file_of_the_host_is_noticed() {
        let disk = Path::new("/d/tool.vmdk");
        let extents =
            |file: &str| json!({ "format-specific": { "data": { "extents": [{ "filename": file }] } } });
        assert_eq!(other_file(&extents("/d/tool.vmdk"), disk), None);
        for info in [
            extents("/d/tool-flat.vmdk"),
            json!({ "backing-filename": "/d/tool-flat.vmdk" }),
            json!({ "format-specific": { "data": { "data-file": "/d/tool-flat.vmdk" } } }),
        ] {
            assert_eq!(other_file(&info, disk).as_deref(), Some("/d/tool-flat.vmdk"));
        }
    }
}
