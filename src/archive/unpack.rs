//! Unpacks archives from unknown sources: an entry that is not a file of the layout is refused by its name, before a byte
//! of it is written.

use super::{ArchiveError, io_at};
use mcc_base::files::{self, is_full};
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::{Component, Path, PathBuf};
use tar::EntryType;

/// Limits on the content of an archive.
#[derive(Clone, Copy, Debug)]
pub struct ArchiveLimits {
    /// Largest number of entries.
    pub entries: u64,
    /// Largest sum of the lengths of all files, unpacked.
    pub bytes: u64,
}

impl Default for ArchiveLimits {
    /// More than a contest: with disks it has some 700,000 files, and 500 GB if every output is as long as allowed.
    fn default() -> Self {
        Self { entries: 10_000_000, bytes: 1 << 40 }
    }
}

/// The deepest file: `outputs/ENTRY/INSTANCE/EXAMINATION/NUMBER/FILE`.
const MAX_DEPTH: usize = 6;
/// The longest path of a tar header without an extension.
const MAX_PATH_BYTES: usize = 255;

/// Unpacks `archive` to the empty folder `to`.
///
/// # Errors
/// The file is not an archive, has an entry that is refused, or exceeds a limit; or a file cannot be written.
pub fn unpack(archive: &Path, to: &Path, bounds: ArchiveLimits) -> Result<(), ArchiveError> {
    unpack_part(archive, to, bounds, &|_| true)
}

/// Unpacks the files of `archive` for whose path `wanted` returns true. The other entries are checked too.
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
    let file = files::open(archive).map_err(io_at(archive))?;
    let plain = zstd::Decoder::new(BufReader::new(file)).map_err(no_archive)?;
    let mut tar = tar::Archive::new(plain);
    let (mut entries, mut bytes) = (0_u64, 0_u64);
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
        let path = checked_path(&entry.path_bytes()).map_err(|reason| unsafe_entry(reason.to_owned()))?;
        let size = entry.header().size().map_err(no_archive)?;
        bytes = bytes.saturating_add(size);
        if bytes > bounds.bytes {
            let most = bounds.bytes;
            return Err(unsafe_entry(format!(
                "of {size} bytes makes the archive larger than the {most} bytes allowed"
            )));
        }
        if !wanted(&path) {
            continue;
        }
        let target = to.join(&path);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder)
                .map_err(|_| unsafe_entry("is below another entry that is a file".to_owned()))?;
        }
        // Existing files are not written: the second of two entries with one name is refused.
        let mut out = match File::create_new(&target) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(unsafe_entry("occurs twice".to_owned()));
            }
            out => out.map_err(io_at(&target))?,
        };
        let written = io::copy(&mut entry.by_ref().take(size), &mut out)
            .map_err(|error| if is_full(&error) { io_at(&target)(error) } else { no_archive(error) })?;
        if written != size {
            return Err(no_archive(io::ErrorKind::UnexpectedEof.into()));
        }
    }
    Ok(())
}

/// Returns the path of an entry if it is below the folder; the error is the predicate of a message.
fn checked_path(bytes: &[u8]) -> Result<PathBuf, &'static str> {
    let text = std::str::from_utf8(bytes).map_err(|_| "has a name that is not UTF-8")?;
    if text.is_empty() || text.len() > MAX_PATH_BYTES {
        return Err("has an empty or too long name");
    }
    if text.chars().any(char::is_control) {
        return Err("has control characters in its name");
    }
    if text.starts_with('/') {
        return Err("has an absolute path");
    }
    let path = Path::new(text);
    if path.components().any(|part| part == Component::ParentDir) {
        return Err("leads out of the archive (`..`)");
    }
    // Each path has one notation: no `.`, no `//`, no `/` at the end.
    let plain = path.components().collect::<PathBuf>();
    if plain.as_os_str() != text || path.components().any(|part| !matches!(part, Component::Normal(_))) {
        return Err("has a path with `.`, `//` or a `/` at its end");
    }
    if path.components().count() > MAX_DEPTH {
        return Err("is deeper than any file of an archive");
    }
    Ok(plain)
}

fn kind_name(kind: EntryType) -> &'static str {
    match kind {
        EntryType::Symlink | EntryType::Link => "a link",
        EntryType::Directory => "a folder (archives have no entries for folders)",
        EntryType::Char | EntryType::Block | EntryType::Fifo => "a device",
        _ => "an extension of the format",
    }
}
