//! Unpacks archives from unknown sources: an entry that is not a file of the layout is refused by its name, before a byte
//! of it is written.

use super::ArchiveError;
use super::layout::{Kind, part};
use super::pack::header;
use super::paths::ArchivePaths;
use mcc_base::OnFile;
use mcc_base::files::{self, is_full};
use mcc_store::{ARCHIVE_FILE, RECORD_FILE};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use tar::EntryType;

/// Limits on the content of an archive.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveLimits {
    /// Largest number of entries.
    pub entries: u64,
    /// Largest length of the tar.
    pub bytes: u64,
    /// Largest length of the tar as a multiple of the length of the archive; smaller archives may have `ALWAYS_ALLOWED_BYTES`.
    pub ratio: u64,
}

impl Default for ArchiveLimits {
    /// More than a contest: with disks it has some 700,000 files, and 500 GB if every output is as long as allowed. Texts
    /// and databases are compressed to a hundredth at most, unless they repeat one line.
    fn default() -> Self {
        Self { entries: 10_000_000, bytes: 1 << 40, ratio: 250 }
    }
}

/// Bytes that an archive of any length may have, unpacked.
const ALWAYS_ALLOWED_BYTES: u64 = 1 << 30;
/// Bytes that a file that is read into memory may have in an archive of any length: there it needs up to ten times its length.
const ALWAYS_ALLOWED_IN_MEMORY: u64 = 64 << 20;
/// These files.
const IN_MEMORY: [&str; 2] = [RECORD_FILE, "judgement.json"];
/// The length of a block of a tar: of the header of an entry, and what contents are rounded up to.
const BLOCK: u64 = 512;

/// Zeros that may follow the end of a tar; GNU tar writes up to 10 KiB.
const MAX_FILLING: u64 = 1 << 20;

/// Unpacks `archive` to the empty folder `to`.
///
/// # Errors
/// The file is not an archive, has an entry that is refused, or exceeds a limit; or a file cannot be written.
pub fn unpack(archive: &Path, to: &Path, bounds: ArchiveLimits) -> Result<(), ArchiveError> {
    unpack_part(archive, to, bounds, &|_| true)
}

/// Unpacks `archive.json`, and the files of `archive` for whose path `wanted` returns true. The other entries are checked
/// too.
///
/// # Errors
/// As `unpack`.
pub fn unpack_part(
    archive: &Path,
    to: &Path,
    bounds: ArchiveLimits,
    wanted: &dyn Fn(&Path) -> bool,
) -> Result<(), ArchiveError> {
    let no_archive = |error: io::Error| ArchiveError::Bad {
        path: archive.to_owned(),
        reason: format!("not a complete archive (a tar compressed by zstd): {error}; download it again"),
    };
    let file = files::open(archive).on("read", archive)?;
    let length = file.metadata().on("read", archive)?.len();
    let most = bounds.bytes.min(files::most_unpacked(length, bounds.ratio, ALWAYS_ALLOWED_BYTES));
    // Of one frame, as `pack` writes it: a decoder leaves out frames that are to be skipped.
    let plain = zstd::Decoder::with_buffer(BufReader::new(file)).map_err(no_archive)?.single_frame();
    let mut tar = tar::Archive::new(plain);
    let (mut entries, mut bytes) = (0_u64, 0_u64);
    let mut kind: Option<Kind> = None;
    // Raw: an extension header can request any amount of memory, so it is refused as an entry.
    for entry in tar.entries().map_err(no_archive)?.raw(true) {
        let mut entry = entry.map_err(no_archive)?;
        let shown = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let unsafe_entry = |reason: String| ArchiveError::UnsafeEntry {
            path: archive.to_owned(),
            entry: shown.clone(),
            reason,
        };
        entries += 1;
        if entries > bounds.entries {
            return Err(unsafe_entry(format!("is one more than the {} allowed", bounds.entries)));
        }
        if entry.header().entry_type() != EntryType::Regular {
            let kind = entry.header().entry_type();
            return Err(unsafe_entry(format!("is not a regular file but {}", kind_name(kind))));
        }
        let Some(part) = part(&shown) else {
            return Err(unsafe_entry("is not a file that an archive can have".to_owned()));
        };
        match kind {
            None if shown != ARCHIVE_FILE => {
                return Err(unsafe_entry(format!("is before {ARCHIVE_FILE}, the first file of an archive")));
            }
            Some(kind) if !part.is_of(kind) => return Err(unsafe_entry(kind.lacks().to_owned())),
            _ => {}
        }
        let size = entry.header().size().map_err(no_archive)?;
        bytes = bytes.saturating_add(BLOCK).saturating_add(size.div_ceil(BLOCK).saturating_mul(BLOCK));
        if bytes > most {
            return Err(unsafe_entry(format!(
                "of {size} bytes makes the archive, which has {length} bytes, larger than {most} bytes; if it is from \
                 someone whom you trust, unpack it with `tar --zstd -xf` and give the folder"
            )));
        }
        let most_in_memory =
            bounds.bytes.min(files::most_unpacked(length, bounds.ratio, ALWAYS_ALLOWED_IN_MEMORY));
        if IN_MEMORY.contains(&part.file) && size > most_in_memory {
            return Err(unsafe_entry(format!(
                "of {size} bytes is larger than {most_in_memory} bytes, and the archive has only {length}"
            )));
        }
        // Programs differ in how they read the other fields of a header: a file could have another path for them.
        if !header(&shown, size).is_ok_and(|header| is_same(&header, entry.header())) {
            return Err(unsafe_entry("has a header that `export` does not write".to_owned()));
        }
        let path = Path::new(&shown);
        if kind.is_some() && !wanted(path) {
            continue;
        }
        let target = to.join(path);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder).on("create", folder)?;
        }
        // Existing files are not written: the second of two entries with one name is refused.
        let mut out = match File::create_new(&target) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(unsafe_entry("occurs twice".to_owned()));
            }
            out => out.on("create", &target)?,
        };
        let written = match io::copy(&mut entry.by_ref().take(size), &mut out) {
            Err(error) if !is_full(&error) => return Err(no_archive(error)),
            written => written.on("write", &target)?,
        };
        if written != size {
            return Err(no_archive(io::ErrorKind::UnexpectedEof.into()));
        }
        if kind.is_none() {
            kind = Some(ArchivePaths(to).facts()?.kind());
        }
    }
    // Programs differ in whether they read what follows the end of a tar: it may only be filled up with zeros.
    let (mut filling, mut plain) = (vec![], tar.into_inner());
    plain.by_ref().take(MAX_FILLING + 1).read_to_end(&mut filling).map_err(no_archive)?;
    let is_long = filling.len() as u64 > MAX_FILLING;
    let has_more = is_long || !plain.finish().fill_buf().map_err(no_archive)?.is_empty();
    if has_more || filling.iter().any(|byte| *byte != 0) {
        return Err(no_archive(io::Error::other("bytes follow its end")));
    }
    match kind {
        Some(_) => Ok(()),
        None => Err(no_archive(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// Whether two headers of regular files are the same; the type of such a file and the checksum have two notations.
fn is_same(one: &tar::Header, other: &tar::Header) -> bool {
    let [one, other] = [one, other].map(|header| {
        let mut header = header.clone();
        header.set_entry_type(EntryType::Regular);
        header.set_cksum();
        header
    });
    one.as_bytes() == other.as_bytes()
}

fn kind_name(kind: EntryType) -> &'static str {
    match kind {
        EntryType::Symlink | EntryType::Link => "a link",
        EntryType::Directory => "a folder (archives have no entries for folders)",
        EntryType::Char | EntryType::Block | EntryType::Fifo => "a device",
        _ => "an extension of the format",
    }
}
