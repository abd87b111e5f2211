//! Reads the headers of disk files. The content of a disk is not trusted: a header can name other files or servers,
//! which QEMU would open. Such disks are refused before any program opens them. Sources: QEMU's `docs/interop/qcow2.txt`
//! and VMware's "Virtual Disk Format 1.1".

use mcc_base::OnFile;
use nix::fcntl::OFlag;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A disk file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskFile {
    /// Path of the file.
    pub path: PathBuf,
    /// QEMU's name of the format: `qcow2`, `raw`, `vmdk`.
    pub format: String,
}

impl DiskFile {
    /// A disk file with QEMU's name of its format.
    pub fn new(path: PathBuf, format: &str) -> Self {
        Self { path, format: format.to_owned() }
    }
}

/// A disk that cannot be used, with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] mcc_base::FileError),
    /// The disk is refused.
    #[error("{}: {problem}", path.display())]
    Refused {
        /// The disk.
        path: PathBuf,
        /// The cause and the remedy.
        problem: String,
    },
}

/// What is wrong with a header, with the remedy.
type Problem = String;

const SECTOR: u64 = 512;

/// Length limit of the part of a file that is read as a header: a cluster of qcow2 has at most 2 MiB.
const MAX_HEADER: usize = 2 << 20;

/// Length of the part of a VMDK in which QEMU searches the name of a parent.
const VMDK_DESCRIPTOR: u64 = 20 * SECTOR;

/// The first bytes of formats that are not supported, so that such a file is not used as a raw disk.
const OTHER_FORMATS: [(&[u8], &str); 9] = [
    (b"<<< ", "vdi"),
    (b"vhdxfile", "vhdx"),
    (b"conectix", "vpc"),
    (b"QED\0", "qed"),
    (b"LUKS\xba\xbe", "luks"),
    (b"WithoutFreeSpace", "parallels"),
    (b"WithouFreSpacExt", "parallels"),
    (b"COWD", "vmdk 3"),
    (b"QFI\xfb\0\0\0\x01", "qcow"),
];

/// Checks that a disk is complete in one file: it refers to no backing file, data file, extent or parent, and is not
/// encrypted. Returns its size as the guest sees it, bytes.
///
/// # Errors
/// The file cannot be read, is not of its format, or is not complete.
pub fn check_disk(disk: &DiskFile) -> Result<u64, DiskError> {
    check_open_disk(disk, &open(&disk.path)?)
}

/// Checks an open disk as `check_disk`.
///
/// # Errors
/// As of `check_disk`.
pub(super) fn check_open_disk(disk: &DiskFile, file: &File) -> Result<u64, DiskError> {
    let refused = |problem| DiskError::Refused { path: disk.path.clone(), problem };
    match disk.format.as_str() {
        "raw" => Ok(length(file, &disk.path)?),
        "qcow2" => qcow2(&read(file, 0, MAX_HEADER, &disk.path)?).and_then(check_size).map_err(refused),
        "vmdk" => vmdk(file, &disk.path)?.and_then(check_size).map_err(refused),
        other => {
            Err(refused(format!("format {other} is not supported; convert it: qemu-img convert -O qcow2")))
        }
    }
}

/// Returns the virtual size of a disk if QEMU can open an overlay of it: its first-level table has at most 32 MiB.
fn check_size(bytes: u64) -> Result<u64, Problem> {
    const MAX: u64 = 1 << 50;
    if bytes > MAX {
        return Err(format!("its virtual size of {bytes} bytes is above {MAX}; give a smaller disk"));
    }
    Ok(bytes)
}

/// Returns QEMU's name of the format of an open disk: `qcow2`, `vmdk` or `raw`.
///
/// # Errors
/// The file cannot be read, or has a format that is not supported.
pub(super) fn format_of(file: &File, path: &Path) -> Result<&'static str, DiskError> {
    let start = read(file, 0, 32, path)?;
    let refused = |problem| Err(DiskError::Refused { path: path.to_owned(), problem });
    if let Some((_, other)) = OTHER_FORMATS.iter().find(|(magic, _)| start.starts_with(magic)) {
        return refused(format!("format {other} is not supported; convert it: qemu-img convert -O vmdk"));
    }
    if start.starts_with(b"# Disk Desc") {
        return refused(not_alone("the extents of its VMDK descriptor"));
    }
    Ok(match &start {
        start if start.starts_with(b"QFI\xfb") => "qcow2",
        start if start.starts_with(b"KDMV") => "vmdk",
        _ => "raw",
    })
}

fn not_alone(other: &str) -> Problem {
    format!("it refers to another file, {other}; make one file of it: qemu-img convert -O qcow2 (or vmdk)")
}

pub(super) fn open(path: &Path) -> Result<File, DiskError> {
    // Without blocking, if it is a FIFO.
    let flags = OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let file = File::options().read(true).custom_flags(flags.bits()).open(path).on("read", path)?;
    if file.metadata().on("read", path)?.is_file() {
        Ok(file)
    } else {
        Err(DiskError::Refused {
            path: path.to_owned(),
            problem: "it is not a regular file; give a disk file".into(),
        })
    }
}

fn length(file: &File, path: &Path) -> Result<u64, DiskError> {
    Ok(file.metadata().on("read", path)?.len())
}

/// Reads at most `limit` bytes at `offset`; fewer at the end of the file.
pub(super) fn read(file: &File, offset: u64, limit: usize, path: &Path) -> Result<Vec<u8>, DiskError> {
    let mut bytes = vec![0; limit];
    let mut have = 0;
    while have < limit {
        match file.read_at(&mut bytes[have..], offset.saturating_add(have as u64)) {
            Ok(0) => break,
            Ok(n) => have += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => Err(error).on("read", path)?,
        }
    }
    bytes.truncate(have);
    Ok(bytes)
}

pub(super) fn bytes<const N: usize>(header: &[u8], at: usize) -> Option<[u8; N]> {
    header.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// Checks the start of a qcow2 file; returns the size of the disk.
fn qcow2(header: &[u8]) -> Result<u64, Problem> {
    const DAMAGED: &str = "the qcow2 header is damaged; make the disk again";
    const EXTERNAL_DATA: u64 = 1 << 2;
    const COMPRESSION_TYPE: u64 = 1 << 3;
    const EXTENDED_L2: u64 = 1 << 4;
    const EXTENSION_END: u32 = 0;
    const EXTENSION_BACKING_FORMAT: u32 = 0xe279_2aca;
    const EXTENSION_ENCRYPTION: u32 = 0x0537_be77;
    const EXTENSION_DATA_FILE: u32 = 0x4441_5441;
    let u32_at = |at| bytes(header, at).map(u32::from_be_bytes).ok_or(DAMAGED.to_owned());
    let u64_at = |at| bytes(header, at).map(u64::from_be_bytes).ok_or(DAMAGED.to_owned());
    if !header.starts_with(b"QFI\xfb") {
        return Err("it is not in qcow2 format; make the disk again".to_owned());
    }
    let version = u32_at(4)?;
    let name_at = |at: u64, length: u32| {
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        let name =
            at.checked_add(length as usize).and_then(|end| header.get(at..end.min(at.saturating_add(1023))));
        name.map_or("?".into(), String::from_utf8_lossy).into_owned()
    };
    let (backing, backing_length) = (u64_at(8)?, u32_at(16)?);
    if backing != 0 || backing_length != 0 {
        return Err(not_alone(&format!("the backing file {:?}", name_at(backing, backing_length))));
    }
    let encrypted = "it is encrypted; make a disk without encryption: qemu-img convert -O qcow2";
    if u32_at(32)? != 0 {
        return Err(encrypted.to_owned());
    }
    let cluster_bits = u32_at(20)?;
    if !(9..=21).contains(&cluster_bits) {
        return Err(DAMAGED.to_owned());
    }
    let header_length = match version {
        2 => 72,
        3 => {
            let incompatible = u64_at(72)?;
            if incompatible & EXTERNAL_DATA != 0 {
                return Err(not_alone("an external data file"));
            }
            let other = incompatible & !(COMPRESSION_TYPE | EXTENDED_L2);
            if other != 0 {
                return Err(format!(
                    "its header has incompatible features {other:#x} (1: not closed properly, 2: corrupt); repair it: \
                     qemu-img check -r all"
                ));
            }
            u32_at(100)?
        }
        other => {
            return Err(format!(
                "qcow2 version {other} is not supported; convert it: qemu-img convert -O qcow2"
            ));
        }
    };
    // The extensions of the header end with an empty one, or with the first cluster.
    let first_cluster = header.len().min(1 << cluster_bits);
    let mut at = header_length as usize;
    while at.checked_add(8).ok_or(DAMAGED)? <= first_cluster {
        let (kind, length) = (u32_at(at)?, u32_at(at + 4)?);
        match kind {
            EXTENSION_END => break,
            EXTENSION_BACKING_FORMAT => return Err(not_alone("a backing file")),
            EXTENSION_DATA_FILE => {
                return Err(not_alone(&format!("the data file {:?}", name_at(at as u64 + 8, length))));
            }
            EXTENSION_ENCRYPTION => return Err(encrypted.to_owned()),
            _ => {}
        }
        let padded = (length as usize).checked_next_multiple_of(8).and_then(|padded| padded.checked_add(8));
        at = padded.and_then(|padded| at.checked_add(padded)).ok_or(DAMAGED)?;
    }
    u64_at(24)
}

/// Checks the start of a VMDK file; returns the size of the disk.
fn vmdk(file: &File, path: &Path) -> Result<Result<u64, Problem>, DiskError> {
    const DAMAGED: &str = "the VMDK header is damaged; make the disk again";
    let header = read(file, 0, SECTOR as usize, path)?;
    let number = |at| bytes(&header, at).map(u64::from_le_bytes);
    let (Some(capacity), Some(descriptor)) = (number(12), number(28)) else {
        return Ok(Err(DAMAGED.to_owned()));
    };
    if !header.starts_with(b"KDMV") {
        return Ok(Err("it is not in VMDK format with one file; make the disk again".to_owned()));
    }
    let Some(size) = capacity.checked_mul(SECTOR) else { return Ok(Err(DAMAGED.to_owned())) };
    if capacity == 0 {
        return Ok(Err(not_alone("the extents of its VMDK descriptor")));
    }
    // QEMU searches the descriptor where the header places it, or in the second sector.
    for place in [descriptor.saturating_mul(SECTOR), SECTOR] {
        let text = read(file, place, VMDK_DESCRIPTOR as usize, path)?;
        let hint = b"parentFileNameHint";
        if text.windows(hint.len()).any(|part| part == hint) {
            return Ok(Err(not_alone("the parent of its VMDK descriptor")));
        }
    }
    Ok(Ok(size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Makes a disk with qemu-img and returns its path.
    fn made(folder: &Path, name: &str, arguments: &[&str]) -> PathBuf {
        let path = folder.join(name);
        let mut qemu_img = Command::new("qemu-img");
        let done =
            qemu_img.args(["create", "-q"]).args(arguments).arg(&path).arg("3M").current_dir(folder).output();
        let done = done.expect("scripts/setup installs qemu-utils");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        path
    }

    fn format_of(path: &Path) -> Result<&'static str, DiskError> {
        super::format_of(&open(path)?, path)
    }

    fn checked(path: &Path, format: &str) -> Result<u64, String> {
        check_disk(&DiskFile::new(path.to_owned(), format)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_disk_of_one_file_is_accepted_with_its_size() {
        let folder = tempfile::tempdir().unwrap();
        for (n, (format, arguments)) in [
            ("qcow2", &["-f", "qcow2"][..]),
            ("qcow2", &["-f", "qcow2", "-o", "compat=0.10"]),
            ("qcow2", &["-f", "qcow2", "-o", "compression_type=zstd,extended_l2=on,lazy_refcounts=on"]),
            ("vmdk", &["-f", "vmdk"]),
            ("vmdk", &["-f", "vmdk", "-o", "subformat=streamOptimized"]),
            ("raw", &["-f", "raw"]),
        ]
        .into_iter()
        .enumerate()
        {
            let path = made(folder.path(), &n.to_string(), arguments);
            assert_eq!(
                (format_of(&path).unwrap(), checked(&path, format)),
                (format, Ok(3 << 20)),
                "{arguments:?}"
            );
        }
    }

    #[test]
    fn a_disk_that_reaches_other_files_or_hosts_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("secret"), [7; 4096]).unwrap();
        made(folder.path(), "base.vmdk", &["-f", "vmdk"]);
        let refused = |format: &str, arguments: &[&str], words: &str| {
            let path = made(folder.path(), "disk", arguments);
            let error = checked(&path, format).unwrap_err();
            assert!(error.contains("disk: ") && error.contains(words), "{words} in {error}");
            assert!(error.contains("qemu-img convert"), "a remedy: {error}");
        };
        let base = |name: &'static str| ["-f", "qcow2", "-u", "-F", "raw", "-b", name];
        for name in
            ["secret", "nbd://127.0.0.1:10809/x", "json:{\"driver\":\"nbd\",\"host\":\"h\"}", "ssh://h/f"]
        {
            let shown = format!("it refers to another file, the backing file {name:?}");
            refused("qcow2", &base(name), &shown);
        }
        refused("qcow2", &["-f", "qcow2", "-o", "data_file=data"], "an external data file");
        refused(
            "vmdk",
            &["-f", "vmdk", "-b", "base.vmdk", "-F", "vmdk"],
            "the parent of its VMDK descriptor",
        );
        let flat = made(folder.path(), "flat.vmdk", &["-f", "vmdk", "-o", "subformat=monolithicFlat"]);
        assert!(format_of(&flat).unwrap_err().to_string().contains("the extents"));
        assert!(checked(&flat, "vmdk").unwrap_err().contains("not in VMDK format"));
        let vdi = made(folder.path(), "vdi", &["-f", "vdi"]);
        assert!(format_of(&vdi).unwrap_err().to_string().contains("format vdi is not supported"));
    }

    #[test]
    fn a_forged_or_cut_header_is_refused_without_a_panic() {
        let folder = tempfile::tempdir().unwrap();
        let whole = std::fs::read(made(folder.path(), "disk", &["-f", "qcow2"])).unwrap();
        for cut in 0..104 {
            assert!(qcow2(&whole[..cut]).is_err(), "{cut}");
        }
        let with = |at: usize, value: &[u8]| {
            let mut forged = whole.clone();
            forged[at..at + value.len()].copy_from_slice(value);
            qcow2(&forged).unwrap_err()
        };
        assert!(with(8, &[0xff; 12]).contains("backing file \"?\""));
        assert!(with(16, &[0, 0, 0, 9]).contains("backing file"), "a name at offset 0");
        assert!(with(79, &[1]).contains("not closed properly"));
        assert!(with(79, &[0x80]).contains("0x80"));
        assert!(with(4, &[0, 0, 0, 9]).contains("version 9"));
        // qemu-img measures the speed of the host before it encrypts, and fails on some hosts.
        assert!(with(32, &[0, 0, 0, 2]).contains("encrypted"));
        assert!(with(20, &[0, 0, 0, 40]).contains("damaged"));
        assert!(with(112, &[0x44, 0x41, 0x54, 0x41, 0, 0, 0, 1, b'x']).contains("the data file \"x\""));
        let mut large = whole.clone();
        large[24..32].copy_from_slice(&((1_u64 << 50) + 512).to_be_bytes());
        std::fs::write(folder.path().join("large"), large).unwrap();
        assert!(checked(&folder.path().join("large"), "qcow2").unwrap_err().contains("virtual size"));
        for at in 0..whole.len().min(600) {
            let mut forged = whole.clone();
            forged[at] ^= 0xff;
            let _ = qcow2(&forged);
        }
        let empty = folder.path().join("empty");
        std::fs::write(&empty, "KDMV").unwrap();
        assert!(checked(&empty, "vmdk").unwrap_err().contains("damaged"));
        assert!(checked(folder.path(), "raw").unwrap_err().contains("not a regular file"));
        let fifo = folder.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(checked(&fifo, "qcow2").unwrap_err().contains("not a regular file"));
    }
}
