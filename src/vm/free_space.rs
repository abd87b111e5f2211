//! The free space on a disk, and of a file system of the host.

use super::disk_header::{DiskError, DiskFile, bytes, check_disk, open, read};
use nix::sys::statvfs::statvfs;
use std::fs::File;
use std::io;
use std::path::Path;

/// Returns the free space of the ext4 file system that fills a disk, as `image build` makes it, in bytes. Of a disk with
/// partitions or another format it is the size of the disk, because the guest cannot write more.
///
/// # Errors
/// As `check_disk`.
pub fn free_bytes(disk: &DiskFile) -> Result<u64, DiskError> {
    let size = check_disk(disk)?;
    let file = open(&disk.path)?;
    let first = match disk.format.as_str() {
        "raw" => Some(0),
        "qcow2" => first_cluster(&file, &disk.path)?,
        _ => None,
    };
    let Some(superblock) = first.and_then(|at| at.checked_add(SUPERBLOCK)) else { return Ok(size) };
    let superblock = read(&file, superblock, SUPERBLOCK_BYTES, &disk.path)?;
    // The author of the disk writes it.
    Ok(free_of_ext4(&superblock).map_or(size, |free| free.min(size)))
}

/// Returns the free bytes of the file system of a folder of the host.
///
/// # Errors
/// The folder cannot be read.
pub fn free_bytes_of_folder(folder: &Path) -> io::Result<u64> {
    let space = statvfs(folder)?;
    Ok(space.blocks_available().saturating_mul(space.fragment_size()))
}

/// Place and length of the superblock of ext2, ext3 and ext4 (`Documentation/filesystems/ext4/super.rst` of Linux).
const SUPERBLOCK: u64 = 1024;
const SUPERBLOCK_BYTES: usize = 1024;

/// Free bytes by a superblock; None: it is none.
fn free_of_ext4(superblock: &[u8]) -> Option<u64> {
    const MAGIC: u16 = 0xef53;
    const INCOMPATIBLE_64BIT: u32 = 0x80;
    let number = |at: usize| bytes(superblock, at).map(u32::from_le_bytes);
    if bytes(superblock, 0x38).map(u16::from_le_bytes)? != MAGIC {
        return None;
    }
    let high = if number(0x60)? & INCOMPATIBLE_64BIT == 0 { 0 } else { number(0x158)? };
    let blocks = u64::from(high) << 32 | u64::from(number(0xc)?);
    // The size of a block is 1024 bytes, shifted by this number.
    blocks.checked_mul(1_u64.checked_shl(number(0x18)?.checked_add(10)?)?)
}

/// The place of the first cluster in a qcow2 file; None: the disk has none, or it is compressed. Source: QEMU's
/// `docs/interop/qcow2.txt`.
fn first_cluster(file: &File, path: &Path) -> Result<Option<u64>, DiskError> {
    const OFFSET: u64 = 0x00ff_ffff_ffff_fe00;
    const COMPRESSED: u64 = 1 << 62;
    let entry = |at: u64| Ok::<_, DiskError>(bytes(&read(file, at, 8, path)?, 0).map(u64::from_be_bytes));
    let Some(first_level) = entry(40)? else { return Ok(None) };
    let Some(second_level) = entry(first_level)?.map(|entry| entry & OFFSET).filter(|at| *at > 0) else {
        return Ok(None);
    };
    let cluster = entry(second_level)?.filter(|entry| entry & COMPRESSED == 0);
    Ok(cluster.map(|entry| entry & OFFSET).filter(|at| *at > 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn run(program: &str, args: &[&str], path: &Path) -> String {
        let done = Command::new(program).args(args).arg(path).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    /// The free space as `dumpe2fs` reads it.
    fn by_dumpe2fs(raw: &Path) -> u64 {
        let shown = run("dumpe2fs", &["-h"], raw);
        let number = |name: &str| {
            let line = shown.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().parse::<u64>().unwrap()
        };
        number("Free blocks:") * number("Block size:")
    }

    #[test]
    fn free_space_of_ext4_is_read_and_other_disks_count_whole() {
        let folder = tempfile::tempdir().unwrap();
        let raw = folder.path().join("raw");
        for options in [&["-O", "^64bit"][..], &["-b", "1024"], &[]] {
            File::create(&raw).unwrap().set_len(64 << 20).unwrap();
            run("mke2fs", &[&["-q", "-F", "-t", "ext4"][..], options].concat(), &raw);
            let free = by_dumpe2fs(&raw);
            assert!((1 << 20..64 << 20).contains(&free), "{free}");
            assert_eq!(free_bytes(&DiskFile::new(raw.clone(), "raw")).unwrap(), free);
            for (format, options, expected) in
                [("qcow2", &[][..], free), ("qcow2", &["-c"][..], 64 << 20), ("vmdk", &[], 64 << 20)]
            {
                let disk = folder.path().join("disk");
                let source = raw.to_str().unwrap();
                let convert = [&["convert", "-f", "raw", "-O", format][..], options, &[source]].concat();
                run("qemu-img", &convert, &disk);
                assert_eq!(
                    free_bytes(&DiskFile::new(disk, format)).unwrap(),
                    expected,
                    "{format} {options:?}"
                );
            }
        }
        std::fs::write(&raw, [0xff; 4096]).unwrap();
        assert_eq!(free_bytes(&DiskFile::new(raw.clone(), "raw")).unwrap(), 4096);
        let empty = folder.path().join("empty");
        run("qemu-img", &["create", "-q", "-f", "qcow2", "-o", "size=3M"], &empty);
        assert_eq!(free_bytes(&DiskFile::new(empty, "qcow2")).unwrap(), 3 << 20);
    }

    #[test]
    fn a_superblock_cannot_state_more_than_the_disk_has() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut disk = vec![0; 1 << 20];
        disk[1024 + 0x38..][..2].copy_from_slice(&0xef53_u16.to_le_bytes());
        for (free, log_size) in [(u32::MAX, 2_u32), (u32::MAX, 60), (1, 4_000_000_000)] {
            disk[1024 + 0xc..][..4].copy_from_slice(&free.to_le_bytes());
            disk[1024 + 0x18..][..4].copy_from_slice(&log_size.to_le_bytes());
            std::fs::write(file.path(), &disk).unwrap();
            assert_eq!(free_bytes(&DiskFile::new(file.path().to_owned(), "raw")).unwrap(), 1 << 20);
        }
    }
}
