//! Reads the entries of a packed instance, and refuses what other programs may unpack to other files.

use super::archive::{ALWAYS_ALLOWED_BYTES, ArchiveError, MAX_ARCHIVE_BYTES, MAX_RATIO};
use flate2::bufread::GzDecoder;
use mcc_base::{OnFile, files};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Take};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use tar::EntryType;

/// Largest header in bytes, as headers are kept in memory: a long path and some attributes.
const MAX_HEADER_BYTES: u64 = 64 << 10;

type Packed = Take<GzDecoder<BufReader<File>>>;

/// Calls `each` with the name of every entry and the entry, until it breaks; returns the value of the break.
///
/// Reads headers with long names itself, with a limit: the library would keep headers of gigabytes in memory. An archive that
/// other programs unpack to other files, as the guest agent or GNU tar, is refused.
pub(super) fn each_entry<T>(
    path: &Path,
    mut each: impl FnMut(PathBuf, tar::Entry<'_, Packed>) -> Result<ControlFlow<T>, ArchiveError>,
) -> Result<Option<T>, ArchiveError> {
    let file = files::open(path).on("read", path)?;
    let length = file.metadata().on("read", path)?.len();
    let most = MAX_ARCHIVE_BYTES.min(files::most_unpacked(length, MAX_RATIO, ALWAYS_ALLOWED_BYTES));
    let bytes = GzDecoder::new(BufReader::new(file));
    let mut tar = tar::Archive::new(bytes.take(MAX_ARCHIVE_BYTES));
    let mut long_name: Option<PathBuf> = None;
    // Programs do not agree whether a second header of a file replaces the first one.
    let mut has_header = false;
    for entry in tar.entries().on("read", path)?.raw(true) {
        let mut entry = entry.on("read", path)?;
        let name = entry.path().on("read", path)?.into_owned();
        let entry_type = entry.header().entry_type();
        let refuse = |why: &str| Err(ArchiveError::entry(path, &name.to_string_lossy(), why));
        let fields = entry.header().as_old();
        let is_absent = |field: &[u8]| field.iter().all(|byte| *byte == 0);
        let is_optional_number = |field: &[u8]| is_absent(field) || is_plain_number(field);
        if ![&fields.size[..], &fields.cksum].into_iter().all(is_plain_number)
            || !is_optional_number(&fields.mode)
            || ![&fields.uid[..], &fields.gid, &fields.mtime]
                .into_iter()
                .all(|field| is_optional_number(field) || is_binary_number(field))
            || fields.uid[0] == 0xff
            || fields.gid[0] == 0xff
        {
            return refuse("has a number that programs read differently");
        }
        if !has_known_format(entry.header()) {
            return refuse("has a header of an unknown format");
        }
        if entry_type == EntryType::Directory && entry.size() > 0 {
            return refuse("is a folder with content");
        }
        let needed = match entry_type {
            EntryType::Directory => 0o700,
            EntryType::Regular => 0o400,
            _ => 0,
        };
        if needed != 0 && entry.header().mode().unwrap_or(0) & needed != needed {
            return refuse("is not readable for its owner (chmod u+rwX)");
        }
        match entry_type {
            // Programs do not agree whether a header before it still holds for the next file.
            EntryType::XGlobalHeader => {
                return refuse("is a header for all files; pack the files without it");
            }
            EntryType::GNULongName | EntryType::XHeader => {
                if is_old(entry.header()) {
                    return refuse("is a header that programs read differently");
                }
                if entry.size() > MAX_HEADER_BYTES {
                    return refuse(&format!("is a header longer than {MAX_HEADER_BYTES} bytes"));
                }
                let mut header = Vec::new();
                entry.read_to_end(&mut header).on("read", path)?;
                if entry_type == EntryType::XHeader && !has_plain_lengths(&header) {
                    return refuse("is a header that programs read differently");
                }
                long_name = match entry_type {
                    EntryType::GNULongName => Some(path_of(header.strip_suffix(b"\0").unwrap_or(&header))),
                    _ => match pax_path(&header).on("read", path)? {
                        Ok(new_name) => new_name,
                        Err(key) => {
                            return refuse(&format!("is a header with the key \"{key}\" or its value"));
                        }
                    },
                };
                if std::mem::replace(&mut has_header, true) {
                    return refuse("is a second header of a file");
                }
            }
            _ => {
                let size = entry.size();
                if entry.raw_file_position().saturating_add(size) > most {
                    return refuse(&format!(
                        "of {size} bytes makes the archive, which has {length} bytes, larger than {most} bytes"
                    ));
                }
                let name = long_name.take().unwrap_or(name);
                has_header = false;
                if let ControlFlow::Break(found) = each(name, entry)? {
                    return Ok(Some(found));
                }
            }
        }
    }
    if has_header {
        Err(io::Error::other("its last header has no file")).on("read", path)?;
    }
    // What follows the end of the archive is read by some programs only.
    let mut rest = tar.into_inner();
    let mut buffer = [0; 8192];
    loop {
        match rest.read(&mut buffer).on("read", path)? {
            0 => break,
            read if buffer[..read].iter().all(|byte| *byte == 0) => {}
            _ => Err(io::Error::other("there are data after the end of the archive")).on("read", path)?,
        }
    }
    if !rest.into_inner().into_inner().fill_buf().on("read", path)?.is_empty() {
        Err(io::Error::other("there are data after the end of the first compressed part"))
            .on("read", path)?;
    }
    Ok(None)
}

/// Prefixes of keys of PAX headers that change neither the content nor the kind of a file.
const PAX_PREFIXES: [&str; 4] = ["LIBARCHIVE.xattr.", "RHT.security.", "SCHILY.acl.", "SCHILY.xattr."];

/// Returns the path in a PAX header, or a key that is refused for itself or its value. Programs treat the others differently: `size` and
/// `GNU.sparse.*` give a file another content.
fn pax_path(header: &[u8]) -> io::Result<Result<Option<PathBuf>, String>> {
    let mut path = None;
    for extension in tar::PaxExtensions::new(header) {
        let extension = extension?;
        let key = String::from_utf8_lossy(extension.key_bytes()).into_owned();
        let value = extension.value_bytes();
        let is_known = match &*key {
            "path" if path.is_none() => {
                path = Some(path_of(value));
                true
            }
            "gid" | "uid" => is_digits(value),
            "atime" | "ctime" | "mtime" | "LIBARCHIVE.creationtime" => is_time(value),
            "comment" | "gname" | "uname" | "SCHILY.dev" | "SCHILY.fflags" | "SCHILY.ino"
            | "SCHILY.nlink" => true,
            _ => PAX_PREFIXES.iter().any(|prefix| key.starts_with(prefix)),
        };
        if !is_known {
            return Ok(Err(key));
        }
    }
    Ok(Ok(path))
}

/// Whether a value is a number of a user or group that programs can represent.
fn is_digits(value: &[u8]) -> bool {
    let text = std::str::from_utf8(value).unwrap_or_default();
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u32>().is_ok()
}

/// Whether a field is a number of 32 bits in the binary form in which GNU tar writes large and negative ones.
fn is_binary_number(field: &[u8]) -> bool {
    let [sign, high @ .., _, _, _, _] = field else { return false };
    match sign {
        0x80 => high.iter().all(|byte| *byte == 0),
        0xff => high.iter().all(|byte| *byte == 0xff),
        _ => false,
    }
}

/// Whether a value is a number of seconds, with decimals or without: `-1.5`.
fn is_time(value: &[u8]) -> bool {
    let value = value.strip_prefix(b"-").unwrap_or(value);
    let (seconds, decimals) = match value.iter().position(|byte| *byte == b'.') {
        Some(point) => (&value[..point], &value[point + 1..]),
        None => (value, &b"0"[..]),
    };
    let is_number = |digits: &[u8]| !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    seconds.len() < 12 && is_number(seconds) && is_number(decimals)
}

fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

/// Whether a field is octal digits, possibly between blanks.
fn is_plain_number(field: &[u8]) -> bool {
    let field = field.trim_ascii_start();
    let digits = field.iter().take_while(|byte| (b'0'..=b'7').contains(byte)).count();
    digits > 0 && field[digits..].iter().all(|byte| matches!(byte, b' ' | b'\0'))
}

/// Whether a PAX header consists of records `LENGTH KEY=VALUE\n` with a length of decimal digits.
fn has_plain_lengths(mut header: &[u8]) -> bool {
    while !header.is_empty() {
        let digits = header.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let length = std::str::from_utf8(&header[..digits]).ok().and_then(|text| text.parse::<usize>().ok());
        let record = length.and_then(|length| header.split_at_checked(length));
        match record {
            Some((record, rest)) if record.ends_with(b"\n") && record.get(digits) == Some(&b' ') => {
                header = rest;
            }
            _ => return false,
        }
    }
    true
}

/// Whether the header is of Unix V7, which has no headers before a file.
fn is_old(header: &tar::Header) -> bool {
    header.as_bytes()[257..265].iter().all(|byte| *byte == 0)
}

/// Whether the header is of POSIX, or of GNU or Unix V7 without a prefix of the name, which some programs read there.
fn has_known_format(header: &tar::Header) -> bool {
    let bytes = header.as_bytes();
    match &bytes[257..265] {
        b"ustar\x0000" => true,
        b"ustar  \0" | [0, 0, 0, 0, 0, 0, 0, 0] => bytes[345..500].iter().all(|byte| *byte == 0),
        _ => false,
    }
}
