//! Reads files in the root folder of an ext4 file system, without mounting it and without another program. The file system
//! is not trusted: every place and length in it is checked. Source: `Documentation/filesystems/ext4` of Linux.

use super::disk_header::{DiskError, bytes, open, read};
use mcc_base::OnFile;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The files in the root folder of an inputs disk (`image inputs`).
pub struct Ext4Files {
    pub(super) path: PathBuf,
    disk: File,
    disk_bytes: u64,
    block_bytes: u64,
    inode_bytes: u64,
    inodes_per_group: u64,
    /// Blocks with the inodes of each group.
    tables: Vec<u64>,
    /// Number of the inode by name.
    names: BTreeMap<String, u64>,
}

/// Bytes of a file, found by its inode.
struct Content {
    bytes: u64,
    extents: Vec<Extent>,
}

/// A range of blocks of a file, and where they are on the disk.
#[derive(Clone, Copy)]
struct Extent {
    first: u64,
    blocks: u64,
    at: u64,
}

/// Place and length of the superblock.
const SUPERBLOCK: (u64, usize) = (1024, 1024);
/// The inode of the root folder.
const ROOT: u64 = 2;
/// Largest size of the root folder: of a quarter of a million files with the longest names.
const MAX_FOLDER_BYTES: u64 = 64 << 20;
/// Largest length of a tree of extents, in levels.
const MAX_LEVELS: u16 = 5;
/// Bytes of a file that are read at once.
const PART: u64 = 1 << 20;

impl Ext4Files {
    /// Opens a raw disk.
    ///
    /// # Errors
    /// The file cannot be read, or is not an ext4 file system as `image inputs` makes it.
    pub fn open(path: &Path) -> Result<Self, DiskError> {
        Self::read(open(path)?, path)
    }

    /// Reads the names on an open raw disk; `path` is for messages.
    ///
    /// # Errors
    /// As `open`.
    pub fn read(disk: File, path: &Path) -> Result<Self, DiskError> {
        let length = disk.metadata().on("read", path)?.len();
        let superblock = read(&disk, SUPERBLOCK.0, SUPERBLOCK.1, path)?;
        let mut files = Self {
            path: path.to_owned(),
            disk,
            disk_bytes: length,
            block_bytes: 0,
            inode_bytes: 0,
            inodes_per_group: 0,
            tables: vec![],
            names: BTreeMap::new(),
        };
        let descriptors = files.layout(&superblock).ok_or_else(|| files.damaged())?;
        files.tables = files.tables(&descriptors)?;
        files.names = files.root()?;
        Ok(files)
    }

    /// Copies the file `name` to `to`, and returns its length in bytes; None: there is none.
    ///
    /// # Errors
    /// The disk cannot be read or is damaged, or the copy cannot be written.
    pub fn copy(&self, name: &str, to: &mut dyn Write) -> Result<Option<u64>, DiskError> {
        let Some(&inode) = self.names.get(name) else { return Ok(None) };
        let content = self.content(inode, REGULAR)?;
        self.write(&content, to)?;
        Ok(Some(content.bytes))
    }

    /// The length of the file `name` in bytes; None: there is none.
    ///
    /// # Errors
    /// The disk cannot be read or is damaged.
    pub fn bytes_of(&self, name: &str) -> Result<Option<u64>, DiskError> {
        let inode = self.names.get(name);
        inode.map(|inode| Ok(self.content(*inode, REGULAR)?.bytes)).transpose()
    }

    fn damaged(&self) -> DiskError {
        let problem =
            "it is not a complete ext4 file system as `mcc-harness image inputs` makes it".to_owned();
        DiskError::Refused { path: self.path.clone(), problem }
    }

    /// Reads sizes from the superblock; returns the place of the group descriptors, their length, and whether they have
    /// 64 bits.
    fn layout(&mut self, superblock: &[u8]) -> Option<Descriptors> {
        const MAGIC: u16 = 0xef53;
        const META_BLOCK_GROUPS: u32 = 0x10;
        const WIDE: u32 = 0x80;
        const INLINE_DATA: u32 = 0x8000;
        const ENCRYPTED: u32 = 0x1_0000;
        let long = |at: usize| bytes(superblock, at).map(u32::from_le_bytes);
        let short = |at: usize| bytes(superblock, at).map(u16::from_le_bytes);
        let features = long(0x60)?;
        let log_size = long(0x18)?;
        if short(0x38)? != MAGIC
            || features & (META_BLOCK_GROUPS | INLINE_DATA | ENCRYPTED) != 0
            || log_size > 6
        {
            return None;
        }
        self.block_bytes = 1024 << log_size;
        self.inode_bytes = short(0x58)?.into();
        self.inodes_per_group = long(0x28)?.into();
        let is_wide = features & WIDE != 0;
        let bytes: u64 = if is_wide { short(0xfe)?.into() } else { 32 };
        let inodes = u64::from(long(0)?);
        let is_possible = (128..=self.block_bytes).contains(&self.inode_bytes)
            && self.inodes_per_group > 0
            && (32..=1024).contains(&bytes)
            && !(is_wide && bytes < 64)
            // Each inode has its place on the disk.
            && inodes.checked_mul(self.inode_bytes)? <= self.disk_bytes;
        let groups = inodes.div_ceil(self.inodes_per_group.max(1));
        let at = (u64::from(long(0x14)?) + 1).checked_mul(self.block_bytes)?;
        is_possible.then_some(Descriptors { at, bytes, groups, is_wide })
    }

    fn tables(&self, descriptors: &Descriptors) -> Result<Vec<u64>, DiskError> {
        let Descriptors { at, bytes: length, groups, is_wide } = *descriptors;
        let whole = groups.checked_mul(length).filter(|whole| *whole <= self.disk_bytes);
        let whole = usize::try_from(whole.ok_or_else(|| self.damaged())?).map_err(|_| self.damaged())?;
        let all = read(&self.disk, at, whole, &self.path)?;
        let table = |descriptor: &[u8]| {
            let low = bytes(descriptor, 0x8).map(u32::from_le_bytes)?;
            let high = if is_wide { bytes(descriptor, 0x28).map(u32::from_le_bytes)? } else { 0 };
            Some(u64::from(high) << 32 | u64::from(low))
        };
        let tables: Option<Vec<u64>> = all.chunks(length as usize).map(table).collect();
        tables.filter(|_| all.len() == whole).ok_or_else(|| self.damaged())
    }

    /// The names in the root folder.
    fn root(&self) -> Result<BTreeMap<String, u64>, DiskError> {
        let content = self.content(ROOT, FOLDER)?;
        if content.bytes > MAX_FOLDER_BYTES {
            return Err(self.damaged());
        }
        let mut entries = Vec::new();
        self.write(&content, &mut entries)?;
        let mut names = BTreeMap::new();
        for block in entries.chunks(self.block_bytes as usize) {
            names_in(block, &mut names).ok_or_else(|| self.damaged())?;
        }
        // `image inputs` makes no hard links. The content of a file with many names would be read for each of them.
        let is_archive = |name: &str| name != "." && name != "..";
        let inodes = names.iter().filter(|(name, _)| is_archive(name)).map(|(_, inode)| *inode);
        let mut inodes: Vec<u64> = inodes.collect();
        inodes.sort_unstable();
        if inodes.is_sorted_by(|one, next| one < next) { Ok(names) } else { Err(self.damaged()) }
    }

    /// Length and extents of the file with an inode, which must be of this kind.
    fn content(&self, inode: u64, kind: u16) -> Result<Content, DiskError> {
        const EXTENTS: u32 = 0x8_0000;
        const KIND: u16 = 0xf000;
        let number = inode.checked_sub(1).ok_or_else(|| self.damaged())?;
        let table =
            usize::try_from(number / self.inodes_per_group).ok().and_then(|group| self.tables.get(group));
        let within = number % self.inodes_per_group * self.inode_bytes;
        let at = table.and_then(|table| table.checked_mul(self.block_bytes)?.checked_add(within));
        let inode =
            read(&self.disk, at.ok_or_else(|| self.damaged())?, self.inode_bytes as usize, &self.path)?;
        let parts = || {
            let mode = bytes(&inode, 0).map(u16::from_le_bytes)?;
            let [low, flags, high] = [0x4, 0x20, 0x6c].map(|at| bytes(&inode, at).map(u32::from_le_bytes));
            let length = u64::from(high?) << 32 | u64::from(low?);
            let is_usable = mode & KIND == kind && flags? & EXTENTS != 0 && length <= self.disk_bytes;
            is_usable.then_some((length, inode.get(0x28..0x64)?))
        };
        let (length, root) = parts().ok_or_else(|| self.damaged())?;
        let mut extents = Vec::new();
        self.extents(root, MAX_LEVELS, length.div_ceil(self.block_bytes), &mut extents)?;
        Ok(Content { bytes: length, extents })
    }

    /// Adds the extents below a node of a tree, in the order of the file, which has a length of `all` blocks.
    fn extents(
        &self,
        node: &[u8],
        levels: u16,
        all: u64,
        extents: &mut Vec<Extent>,
    ) -> Result<(), DiskError> {
        const MAGIC: u16 = 0xf30a;
        // The length of an extent without content, which no inputs disk has, is above this number.
        const MAX_EXTENT_BLOCKS: u16 = 0x8000;
        let short = |at: usize| bytes(node, at).map(u16::from_le_bytes).ok_or_else(|| self.damaged());
        let long = |at: usize| bytes(node, at).map(u32::from_le_bytes).ok_or_else(|| self.damaged());
        let (count, depth) = (short(2)?, short(6)?);
        // A node below the first one has an extent, so that there are not more nodes than extents.
        let is_empty = count == 0 && levels < MAX_LEVELS;
        if short(0)? != MAGIC || depth > levels || is_empty {
            return Err(self.damaged());
        }
        for item in 1..=usize::from(count) {
            let at = item * 12;
            if depth > 0 {
                let block = u64::from(short(at + 8)?) << 32 | u64::from(long(at + 4)?);
                let place = block.checked_mul(self.block_bytes).ok_or_else(|| self.damaged())?;
                let child = read(&self.disk, place, self.block_bytes as usize, &self.path)?;
                // The depth of a child is less, so that a forged tree ends.
                self.extents(&child, depth - 1, all, extents)?;
                continue;
            }
            let (first, blocks) = (u64::from(long(at)?), short(at + 4)?);
            let start = u64::from(short(at + 6)?) << 32 | u64::from(long(at + 8)?);
            let after = extents.last().map_or(0, |last| last.first + last.blocks);
            // In order, without overlaps and within the length, so there are no more than the blocks of the file.
            if !(1..=MAX_EXTENT_BLOCKS).contains(&blocks) || first < after || first >= all {
                return Err(self.damaged());
            }
            extents.push(Extent { first, blocks: blocks.into(), at: start });
        }
        Ok(())
    }

    /// Writes the content of a file; blocks without an extent are zeros.
    fn write(&self, content: &Content, to: &mut dyn Write) -> Result<(), DiskError> {
        let mut written = 0;
        for extent in &content.extents {
            let start = extent.first.saturating_mul(self.block_bytes).min(content.bytes);
            let end = (extent.first + extent.blocks).saturating_mul(self.block_bytes).min(content.bytes);
            io::copy(&mut io::Read::take(io::repeat(0), start - written), to)
                .on("write the content of a file of", &self.path)?;
            let mut at = extent.at.checked_mul(self.block_bytes).ok_or_else(|| self.damaged())?;
            let mut left = end - start;
            while left > 0 {
                let part = read(&self.disk, at, left.min(PART) as usize, &self.path)?;
                if part.is_empty() {
                    return Err(self.damaged());
                }
                to.write_all(&part).on("write the content of a file of", &self.path)?;
                at += part.len() as u64;
                left -= part.len() as u64;
            }
            written = end;
        }
        io::copy(&mut io::Read::take(io::repeat(0), content.bytes - written), to)
            .on("write the content of a file of", &self.path)?;
        Ok(())
    }
}

/// Place and form of the group descriptors.
#[derive(Clone, Copy)]
struct Descriptors {
    at: u64,
    bytes: u64,
    groups: u64,
    is_wide: bool,
}

/// Kinds of files in the mode of an inode.
const REGULAR: u16 = 0x8000;
const FOLDER: u16 = 0x4000;

/// Adds the names in a block of a folder. None: it is damaged.
fn names_in(block: &[u8], names: &mut BTreeMap<String, u64>) -> Option<()> {
    let mut at = 0;
    while at < block.len() {
        let inode = bytes(block, at).map(u32::from_le_bytes)?;
        let length = usize::from(bytes(block, at + 4).map(u16::from_le_bytes)?);
        let [name_bytes] = bytes(block, at + 6)?;
        // Names that overlap would need more memory than the folder has bytes.
        let end = at + 8 + usize::from(name_bytes);
        if end > at + length {
            return None;
        }
        // An entry without an inode is free, or a part of the index.
        if inode != 0 {
            let name = str::from_utf8(block.get(at + 8..end)?).ok()?;
            names.insert(name.to_owned(), inode.into());
        }
        at += length;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build;
    use std::os::unix::fs::FileExt;

    /// An inputs disk with archives of these names and contents, as `image inputs` makes it.
    fn disk(folder: &Path, archives: &[(String, Vec<u8>)]) -> PathBuf {
        let source = folder.join("source");
        std::fs::create_dir(&source).unwrap();
        let paths: Vec<(String, PathBuf)> = archives
            .iter()
            .map(|(name, content)| {
                let path = source.join(name);
                std::fs::write(&path, content).unwrap();
                (name.clone(), path)
            })
            .collect();
        let copy = (None, &build::copy_archive as _);
        let image = build::inputs(&paths, None, copy, &folder.join("inputs"), &|_| {}).unwrap();
        image.disk()
    }

    #[test]
    fn an_archive_that_changes_while_it_is_packed_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.tgz");
        std::fs::write(&path, "one").unwrap();
        let copy = |from: &Path, to: &Path| {
            let sha256 = build::copy_archive(from, to)?;
            std::fs::write(from, "another").map(|()| sha256)
        };
        let archives = [("a".to_owned(), path)];
        let out = folder.path().join("inputs");
        let error = build::inputs(&archives, None, (None, &copy), &out, &|_| {}).unwrap_err().to_string();
        assert!(error.contains("a.tgz: it was changed while it was read"), "{error}");
        assert!(!out.exists());
    }

    fn copied(files: &Ext4Files, name: &str) -> Option<Vec<u8>> {
        let mut content = Vec::new();
        let length = files.copy(name, &mut content).unwrap()?;
        assert_eq!(length, content.len() as u64);
        Some(content)
    }

    /// Bytes that have no two equal blocks.
    fn noise(length: usize, seed: u64) -> Vec<u8> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        (0..length).map(|_| next()).collect()
    }

    #[test]
    fn files_of_an_inputs_disk_are_read_as_they_were_packed() {
        let folder = tempfile::tempdir().unwrap();
        let mut archives: Vec<(String, Vec<u8>)> =
            (0..400).map(|n| (format!("Model-with-a-long-name-PT-{n:06}"), noise(n, n as u64))).collect();
        archives.push(("Large-PT-1".into(), noise(9 << 20, 1)));
        // Blocks of zeros have no place on the disk.
        archives.push(("Holes-PT-1".into(), [noise(5000, 2), vec![0; 300_000], noise(5, 3)].concat()));
        archives.push(("Zeros-PT-1".into(), vec![0; 100_001]));
        archives.push(("Empty-PT-1".into(), vec![]));
        let files = Ext4Files::open(&disk(folder.path(), &archives)).unwrap();
        for (name, content) in &archives {
            assert!(copied(&files, &format!("{name}.tgz")).as_ref() == Some(content), "{name}");
        }
        assert_eq!(copied(&files, "Other-PT-1.tgz"), None);
        // A folder is not a file.
        assert!(
            files.copy("lost+found", &mut Vec::new()).is_err() || !files.names.contains_key("lost+found")
        );
        assert!(files.copy("..", &mut Vec::new()).is_err());
    }

    /// Opens a disk with blocks of 1 KiB. Its root folder has these entries: inode, length, bytes of the name, start of the
    /// name. The inodes 3 and 4 have this length, and an extent: its first block and number of blocks.
    fn forged(
        entries: &[(u32, u16, u8, &[u8])],
        length: u32,
        (first, blocks): (u32, u16),
    ) -> Result<Ext4Files, DiskError> {
        let mut disk = vec![0; 16 << 10];
        let mut put = |at: usize, value: &[u8]| disk[at..at + value.len()].copy_from_slice(value);
        for (at, value) in [(0x0, 16), (0x14, 1), (0x28, 16), (0x38, 0xef53), (0x58, 128)] {
            put(1024 + at, &u32::to_le_bytes(value));
        }
        let table = 4 << 10;
        put((2 << 10) + 8, &4_u32.to_le_bytes());
        let file = (REGULAR, length, first, blocks);
        for (inode, (mode, length, first, blocks)) in [(2, (FOLDER, 1024, 0, 1)), (3, file), (4, file)] {
            let at = table + (inode - 1) * 128;
            put(at, &mode.to_le_bytes());
            put(at + 0x4, &length.to_le_bytes());
            put(at + 0x20, &0x8_0000_u32.to_le_bytes());
            put(at + 0x28, &[0x0a, 0xf3, 1, 0, 4, 0, 0, 0]);
            put(at + 0x34, &first.to_le_bytes());
            put(at + 0x38, &blocks.to_le_bytes());
            put(at + 0x3c, &8_u32.to_le_bytes());
        }
        let (mut at, end) = (8 << 10, 9 << 10);
        for (inode, length, name_bytes, name) in entries {
            put(at, &inode.to_le_bytes());
            put(at + 4, &length.to_le_bytes());
            put(at + 6, &[*name_bytes, 1]);
            put(at + 8, name);
            at += usize::from(*length);
        }
        // The rest is a free entry.
        put(at + 4, &((end - at) as u16).to_le_bytes());
        let path = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&path, disk).unwrap();
        Ext4Files::open(path.path())
    }

    #[test]
    fn names_that_overlap_or_are_not_text_are_refused() {
        let names = |length, bytes, name: &[u8]| forged(&[(3, length, bytes, name)], 0, (0, 1)).is_ok();
        assert!(names(16, 5, b"A.tgz") && names(13, 5, b"A.tgz"));
        for (length, bytes) in [(12, 5), (8, 255), (8, 1), (4, 0)] {
            assert!(!names(length, bytes, b"A.tgz"), "{length} {bytes}");
        }
        assert!(!names(16, 5, b"A\xff.tg"));
    }

    #[test]
    fn files_that_share_an_inode_or_have_useless_extents_are_refused() {
        let names = |[a, b]: [u32; 2]| {
            let folders: [(_, _, _, &[u8]); 2] = [(2, 12, 1, b"."), (2, 12, 2, b"..")];
            let files: [(_, _, _, &[u8]); 2] = [(a, 16, 5, b"A.tgz"), (b, 16, 5, b"B.tgz")];
            forged(&[folders, files].concat(), 1025, (1, 1))
        };
        assert_eq!(copied(&names([3, 4]).unwrap(), "A.tgz").unwrap().len(), 1025);
        assert!(names([3, 3]).is_err());
        // Many inodes could share a tree of such extents.
        for (length, first, blocks) in [(1025, 0, 0), (1025, 2, 1), (0, 0, 1)] {
            let files = forged(&[(3, 16, 5, b"A.tgz")], length, (first, blocks)).unwrap();
            assert!(files.bytes_of("A.tgz").is_err(), "{length} {first} {blocks}");
        }
    }

    #[test]
    fn a_forged_file_system_is_refused_and_never_gives_more_than_its_size() {
        let folder = tempfile::tempdir().unwrap();
        let archives = [("A-PT-1".to_owned(), noise(20_000, 1)), ("B-PT-1".to_owned(), noise(100, 2))];
        let path = disk(folder.path(), &archives);
        let good = std::fs::read(&path).unwrap();
        let tables = Ext4Files::open(&path).unwrap().tables;
        let block = Ext4Files::open(&path).unwrap().block_bytes as usize;
        // The superblock, the descriptors, the first inodes, and the first block of the root folder.
        let root = {
            let files = Ext4Files::open(&path).unwrap();
            files.content(ROOT, FOLDER).unwrap().extents[0].at as usize * block
        };
        let inodes = tables[0] as usize * block;
        let regions = [1024..1024 + 264, block..block + 64, inodes..inodes + 4096, root..root + 64];
        let changed = File::options().write(true).open(&path).unwrap();
        for at in regions.into_iter().flatten() {
            for value in [0, 0x7f, 0xff] {
                changed.write_all_at(&[value], at as u64).unwrap();
                let Ok(files) = Ext4Files::open(&path) else { continue };
                for name in files.names.keys().take(20) {
                    let mut content = Vec::new();
                    let _ = files.copy(name, &mut content);
                    assert!(content.len() <= good.len(), "{at} {value} {name}");
                }
            }
            changed.write_all_at(&good[at..=at], at as u64).unwrap();
        }
        for length in [good.len() / 2, 8192, 1500, 1024, 0] {
            changed.set_len(length as u64).unwrap();
            if let Ok(files) = Ext4Files::open(&path) {
                files.names.keys().for_each(|name| drop(files.copy(name, &mut Vec::new())));
            }
        }
    }
}
