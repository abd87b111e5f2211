//! Disks as tool authors submit them: one file with its own bootloader. Its content is not trusted.

use super::disk_header::{self, DiskFile, check_open_disk, format_of};
use super::image::{Image, ImageError, ImageFacts};
use mcc_base::OnFile;
use mcc_base::child_process::{self, Purpose};
use mcc_base::temporary;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs::File;
use std::path::Path;

/// The properties of an original disk, read from the disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OriginalFacts {
    /// QEMU's name of the format: `vmdk`, `qcow2`, `raw`.
    pub format: String,
    /// Size of the disk as the guest sees it, bytes.
    pub virtual_bytes: u64,
    /// Whether the first sector has code that a BIOS can start.
    pub bootable: bool,
    /// The rows of the partition table.
    pub partitions: Vec<Partition>,
}

/// A row of the partition table in the first sector (master boot record).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// The type, two hexadecimal digits: `83` Linux, `82` swap, `ee` protective entry of a GPT.
    pub kind: String,
    /// Whether the partition is marked as active.
    pub active: bool,
    /// The first sector (512 bytes).
    pub first: u32,
    /// Number of sectors.
    pub sectors: u32,
}

/// The first sector has the boot record.
const SECTOR_BYTES: u64 = 512;

impl Image {
    /// Returns a disk file, or the one to which a link leads, as an image, bootable or not. The properties are read from the
    /// disk.
    ///
    /// # Errors
    /// As `inspect`.
    pub fn of_file(path: &Path) -> Result<Self, ImageError> {
        let original = inspect(path)?;
        let target = path.is_symlink().then(|| std::fs::canonicalize(path)).transpose().on("find", path)?;
        let path = target.as_deref().unwrap_or(path);
        let disk = path.file_name().unwrap_or_default().to_string_lossy();
        let facts = ImageFacts { original: Some(original), ..ImageFacts::new("original", &disk) };
        Ok(Self { folder: path.parent().unwrap_or(Path::new("")).to_owned(), facts })
    }

    /// Opens a disk with its own bootloader: a disk file, or an image folder (`image import`, `image build --kit`).
    ///
    /// # Errors
    /// The image cannot be read, is not an original disk, or is not bootable.
    pub fn open_original(path: &Path) -> Result<Self, ImageError> {
        let image = if path.is_dir() { Self::open(path)? } else { Self::of_file(path)? };
        match &image.facts.original {
            Some(facts) if facts.bootable => Ok(image),
            Some(_) => Err(ImageError::Bad {
                path: image.disk(),
                reason: "its first sector has no bootloader for a BIOS, so no machine can start from it; give a disk that \
                         boots by BIOS"
                    .to_owned(),
            }),
            None => Err(ImageError::Bad {
                path: path.to_owned(),
                reason: format!(
                    "an image of kind {:?} is not an original disk: remove channel = \"ssh\"",
                    image.facts.kind
                ),
            }),
        }
    }
}

/// Reads format, size and partition table of a disk file.
///
/// # Errors
/// The disk cannot be read, has an unsupported format, or refers to other files. The latter is refused because a guest
/// could read files of the host that the disk's author named, and because the digest of one file would not cover them.
pub fn inspect(path: &Path) -> Result<OriginalFacts, ImageError> {
    inspect_open(&disk_header::open(path)?, path)
}

/// Checks and reads one open file: another one may have its path by now.
fn inspect_open(file: &File, path: &Path) -> Result<OriginalFacts, ImageError> {
    let format = format_of(file, path)?.to_owned();
    let virtual_bytes = check_open_disk(&DiskFile::new(path.to_owned(), &format), file)?;
    if virtual_bytes < SECTOR_BYTES {
        let reason =
            format!("not a disk: it has only {virtual_bytes} bytes; give a disk file (raw, qcow2 or vmdk)");
        return Err(ImageError::Bad { path: path.to_owned(), reason });
    }
    let folder = temporary::folder("mcc-disk-")?;
    let first = folder.path().join("first");
    // A user who can read the disk can lock it, and `-U` does not ignore all locks. qemu-img opens its stdin again.
    let mut disk = json!({
        "driver": format,
        "file": { "driver": "file", "filename": "/dev/stdin", "locking": "off" },
    });
    // A raw disk has no header. For all others `null` prevails over the header.
    if format != "raw" {
        disk["backing"] = Value::Null;
    }
    let mut qemu_img = child_process::command("qemu-img", Purpose::Local);
    qemu_img.args(["dd", "-O", "raw", "bs=512", "count=1"]).arg(format!("if=json:{disk}"));
    let mut output = OsString::from("of=");
    output.push(&first);
    qemu_img.arg(output).stdin(file.try_clone().on("read", path)?);
    let done = qemu_img.output().map_err(ImageError::NoQemuImg)?;
    if !done.status.success() {
        let message = String::from_utf8_lossy(&done.stderr);
        let reason = format!("qemu-img cannot read it: {}", message.trim());
        return Err(ImageError::Bad { path: path.to_owned(), reason });
    }
    let (bootable, partitions) = partition_table(&std::fs::read(&first).on("read", &first)?);
    Ok(OriginalFacts { format, virtual_bytes, bootable, partitions })
}

/// Parses a master boot record: whether a BIOS would start it, and its partitions.
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

    #[test]
    fn a_file_without_a_first_sector_is_not_a_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        std::fs::write(&path, "a,b\n").unwrap();
        let error = inspect(&path).unwrap_err().to_string();
        assert!(
            error.ends_with(
                "table.csv: not a disk: it has only 4 bytes; give a disk file (raw, qcow2 or vmdk)"
            ),
            "{error}"
        );
    }

    /// A disk of one sector that a BIOS would start.
    fn bootable_disk(path: &Path) {
        let mut sector = [0; 512];
        (sector[0], sector[510], sector[511]) = (0xfa, 0x55, 0xaa);
        std::fs::write(path, sector).unwrap();
    }

    #[test]
    fn the_disk_that_is_checked_is_the_one_that_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        bootable_disk(&path);
        let file = disk_header::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, [0; 1024]).unwrap();
        let facts = inspect_open(&file, &path).unwrap();
        assert_eq!((facts.virtual_bytes, facts.bootable), (512, true));
    }

    #[test]
    fn a_disk_that_another_process_locks_is_read() {
        use nix::fcntl::{FcntlArg, fcntl};
        use nix::libc::{F_RDLCK, SEEK_SET, flock};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        bootable_disk(&path);
        let file = File::open(&path).unwrap();
        // The bytes with which QEMU states that it shares no access.
        let (l_type, l_whence) = (F_RDLCK as i16, SEEK_SET as i16);
        let lock = flock { l_type, l_whence, l_start: 200, l_len: 8, l_pid: 0 };
        fcntl(&file, FcntlArg::F_OFD_SETLK(&lock)).unwrap();
        assert!(inspect(&path).unwrap().bootable);
    }

    #[test]
    fn partitions_and_bootability_are_read_from_the_boot_record() {
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
}
