//! Makes empty overlays: qcow2 files that receive the writes of a machine. Their header names no backing file; QEMU
//! receives the disk below by its arguments. Source of the format: QEMU's `docs/interop/qcow2.txt`.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Size of a cluster, bytes: QEMU's default.
const CLUSTER: u64 = 1 << CLUSTER_BITS;
const CLUSTER_BITS: u32 = 16;

/// Returns the size that an overlay may have if `bytes` may be written to its disk: with its tables, and with what booting
/// and the tables of the guest's file system write.
pub(super) fn most_bytes(bytes: u64) -> u64 {
    const BOOT: u64 = 16 << 20;
    whole_bytes(bytes).saturating_add(BOOT)
}

/// Returns the size that an overlay can have at most if its disk has `bytes`: with the tables of qcow2, which take about 1/6500
/// of the data and some clusters.
pub(super) fn whole_bytes(bytes: u64) -> u64 {
    bytes.saturating_add(bytes / 1024).saturating_add(8 * CLUSTER)
}

/// Whether an overlay takes more space on the host than writes to a file of at most `most` bytes. XFS reserves up to twice the
/// length of what was written behind the end of a file, and other file systems at most some blocks.
pub(super) fn has_more_space(overlay: &File, most: u64) -> bool {
    overlay.metadata().is_ok_and(|found| found.blocks() * 512 > most.saturating_mul(3))
}

/// Makes an overlay of a disk of `bytes` in a file that has no name in `folder`, so that nothing of it remains after
/// the end of the machine for any reason. `most`: the largest size of the file. A file system that holds no file of this
/// size fails here, so that QEMU's error for a file that is too large has one cause: the limit.
pub(super) fn unnamed(bytes: u64, most: Option<u64>, folder: &Path) -> io::Result<File> {
    let file = tempfile::tempfile_in(folder)?;
    if let Some(most) = most {
        file.set_len(most)?;
        file.set_len(0)?;
    }
    write(&file, bytes)?;
    Ok(file)
}

/// Writes an empty qcow2 disk of `bytes` to an empty file: header, reference counts and an empty first-level table.
pub(super) fn write(file: &File, bytes: u64) -> io::Result<()> {
    let too_large = || io::Error::other("the disk is too large for an overlay");
    let bytes = bytes.checked_next_multiple_of(512).ok_or_else(too_large)?;
    // A second-level table has one cluster with entries of 8 bytes, one for each cluster.
    let first_level_entries = bytes.div_ceil(CLUSTER / 8 * CLUSTER);
    let first_level_clusters = (first_level_entries * 8).div_ceil(CLUSTER);
    let clusters = 3 + first_level_clusters;
    let first_level_entries = u32::try_from(first_level_entries).ok().filter(|_| clusters * 2 <= CLUSTER);
    let entries = first_level_entries.ok_or_else(too_large)?;
    let (counts_table, counts, first_level) = (CLUSTER, 2 * CLUSTER, 3 * CLUSTER);
    let header = [
        &b"QFI\xfb"[..],
        &3_u32.to_be_bytes(),
        // No backing file: offset and length.
        &[0; 12],
        &CLUSTER_BITS.to_be_bytes(),
        &bytes.to_be_bytes(),
        // No encryption.
        &[0; 4],
        &entries.to_be_bytes(),
        &first_level.to_be_bytes(),
        &counts_table.to_be_bytes(),
        &1_u32.to_be_bytes(),
        // No snapshots (number and offset), no features (incompatible, compatible, autoclear).
        &[0; 12 + 24],
        // Reference counts of 16 bits; length of the header; the end of the extensions.
        &4_u32.to_be_bytes(),
        &104_u32.to_be_bytes(),
        &[0; 8],
    ]
    .concat();
    file.set_len(clusters * CLUSTER)?;
    file.write_all_at(&header, 0)?;
    file.write_all_at(&counts.to_be_bytes(), counts_table)?;
    file.write_all_at(&1_u16.to_be_bytes().repeat(clusters as usize), counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DiskFile, check_disk};
    use nix::fcntl::{FallocateFlags, fallocate};
    use nix::sys::memfd::{MFdFlags, memfd_create};
    use std::process::Command;

    #[test]
    fn an_overlay_that_reserves_space_beyond_its_end_has_too_much() {
        // In memory: not every file system of a temporary folder can reserve space.
        let overlay = File::from(memfd_create(c"overlay", MFdFlags::empty()).unwrap());
        overlay.set_len(1 << 30).unwrap();
        overlay.write_all_at(&[1; 1 << 20], 0).unwrap();
        assert!(!has_more_space(&overlay, 1 << 20), "a hole takes no space");
        fallocate(&overlay, FallocateFlags::FALLOC_FL_KEEP_SIZE, 1 << 30, 4 << 20).unwrap();
        assert!(has_more_space(&overlay, 1 << 20));
    }

    #[test]
    fn an_overlay_is_a_valid_empty_disk_without_a_backing_file() {
        let folder = tempfile::tempdir().unwrap();
        for (n, bytes) in [1, 512, 8 << 30, (8 << 30) + 100, 20 << 40].into_iter().enumerate() {
            let path = folder.path().join(n.to_string());
            write(&File::create(&path).unwrap(), bytes).unwrap();
            assert_eq!(
                check_disk(&DiskFile::new(path.clone(), "qcow2")).unwrap(),
                bytes.next_multiple_of(512)
            );
            let mut qemu_img = Command::new("qemu-img");
            let checked = qemu_img.args(["check", "-f", "qcow2"]).arg(&path).output().unwrap();
            let said = String::from_utf8_lossy(&checked.stdout);
            assert!(checked.status.success() && said.contains("No errors were found"), "{bytes}: {said}");
        }
        assert!(write(&tempfile::tempfile().unwrap(), u64::MAX / 2).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 5);
        unnamed(512, Some(1 << 30), folder.path()).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 5, "it has no name");
    }
}
