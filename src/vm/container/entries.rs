//! The entries of a tar archive.
//!
//! The crate `tar` reads the headers. Their extensions (long names, PAX records) are read here, because they need a size
//! limit, and because a PAX record may contain any bytes.

use crate::container::Limits;
use crate::container::error::Fault;
use std::cell::Cell;
use std::io::{self, Read, Seek};
use tar::EntryType;

/// An entry with its extensions applied.
#[derive(Debug)]
pub(crate) struct Entry {
    pub name: Vec<u8>,
    pub kind: Kind,
    pub meta: Meta,
    /// Bytes of content; 0 for all but files.
    pub size: u64,
    /// Where the content begins in the archive, bytes.
    pub position: u64,
}

/// The kinds of entries that are accepted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    Pipe,
    /// A symbolic link with its target.
    Link(Vec<u8>),
    /// A further name of the file of this name.
    HardLink(Vec<u8>),
}

/// Owner, mode, time and extended attributes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Meta {
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    /// Time of the last change, seconds since 1970.
    pub mtime: u32,
    /// Extended attributes in the order of the archive; those that are not kept have no value.
    pub xattrs: Vec<(Vec<u8>, Vec<u8>)>,
}

/// What is left of the limits while the layers are read.
pub(crate) struct Budget {
    limits: Limits,
    bytes: Cell<u64>,
    entries: Cell<u64>,
    extensions: Cell<u64>,
    steps: Cell<u64>,
    is_exceeded: Cell<bool>,
}

/// The largest extension of one entry (a long name, PAX records), bytes.
const MAX_EXTENSION: u64 = 1 << 20;
/// The largest sum of names, targets and extended attributes of all entries, which are kept in memory, bytes.
const MAX_EXTENSIONS: u64 = 256 << 20;
/// The longest name and the longest target of a link, bytes: that of Linux.
const MAX_PATH: usize = 4095;
/// The largest sum of the parts of all paths and of the links in them: a million paths have 10 to 20 million parts.
const MAX_STEPS: u64 = 32 << 20;
/// The largest number of extended attributes of an entry. Those that are kept end earlier at `MAX_ATTRIBUTES`.
const MAX_ATTRIBUTE_COUNT: usize = 200;
/// The longest name of an extended attribute, bytes: that of Linux.
const MAX_ATTRIBUTE_NAME: usize = 255;
/// Memory of an extended attribute in addition to its name and value, bytes: two vectors and their allocations.
const ATTRIBUTE_MEMORY: usize = 128;
/// Bytes for the extended attributes of a file: they must fit into a block of ext4.
const MAX_ATTRIBUTES: usize = 4000;
/// Bytes of an attribute in addition to its name and value.
const ATTRIBUTE_HEADER: usize = 22;
/// The latest time that an inode of 128 bytes can have.
const MAX_TIME: i64 = i32::MAX as i64;

impl Budget {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            bytes: Cell::new(limits.bytes),
            entries: Cell::new(limits.entries),
            extensions: Cell::new(MAX_EXTENSIONS),
            steps: Cell::new(MAX_STEPS),
            is_exceeded: Cell::new(false),
        }
    }

    /// Subtracts an entry, or a folder that only the path of an entry names.
    pub(crate) fn take_entry(&self) -> Result<(), String> {
        let left = self.entries.get().checked_sub(1);
        self.entries.set(left.ok_or_else(|| {
            format!("there are more than {} entries and folders above them", self.limits.entries)
        })?);
        Ok(())
    }

    fn take_memory(&self, bytes: usize) -> Result<(), String> {
        let left = self.extensions.get().checked_sub(bytes as u64);
        self.extensions.set(left.ok_or("names and attributes need more than 256 MiB")?);
        Ok(())
    }

    /// Subtracts the parts of a path and of the links in it.
    pub(crate) fn take_steps(&self, steps: usize) -> Result<(), String> {
        let left = self.steps.get().checked_sub(steps as u64);
        self.steps.set(left.ok_or(
            "the paths up to here, with the links in them, have too many parts: make paths that go through fewer links",
        )?);
        Ok(())
    }

    /// The steps that are left.
    #[cfg(test)]
    pub(crate) fn steps(&self) -> u64 {
        self.steps.get()
    }

    /// The message for an error of reading.
    pub(crate) fn reason(&self, error: &io::Error) -> String {
        if self.is_exceeded.get() {
            format!(
                "more than {} bytes after decompression: if this is intended, give the disk a larger --size",
                self.limits.bytes
            )
        } else {
            error.to_string()
        }
    }
}

/// A stream whose bytes are subtracted from a budget. Reading beyond it is an error.
pub(crate) struct Metered<'a, R> {
    pub from: R,
    pub budget: &'a Budget,
}

impl<R: Read> Read for Metered<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        match self.budget.bytes.get().checked_sub(read as u64) {
            Some(left) => self.budget.bytes.set(left),
            None => {
                self.budget.is_exceeded.set(true);
                return Err(io::Error::other("the limit of bytes is reached"));
            }
        }
        Ok(read)
    }
}

/// Reads all entries of a tar archive, and then the rest of the stream.
pub(crate) fn read(
    stream: &mut dyn Read,
    budget: &Budget,
    each: &mut dyn FnMut(Entry, &mut dyn Read) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let failed = |error: io::Error| Fault::Entry(vec![], budget.reason(&error));
    let mut archive = tar::Archive::new(&mut *stream);
    read_all(archive.entries().map_err(failed)?, budget, each)?;
    // What follows the end mark is part of the digest.
    io::copy(stream, &mut io::sink()).map(drop).map_err(failed)
}

/// Reads all entries of a tar archive without their contents.
pub(crate) fn read_headers(
    stream: impl Read + Seek,
    budget: &Budget,
    each: &mut dyn FnMut(Entry) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut archive = tar::Archive::new(stream);
    let entries = archive.entries_with_seek();
    let entries = entries.map_err(|error| Fault::Entry(vec![], budget.reason(&error)))?;
    read_all(entries, budget, &mut |entry, _| each(entry))
}

fn read_all<R: Read>(
    entries: tar::Entries<'_, R>,
    budget: &Budget,
    each: &mut dyn FnMut(Entry, &mut dyn Read) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let mut last = Vec::new();
    let mut extensions = Extensions::default();
    for raw in entries.raw(true) {
        let mut raw = raw.map_err(|error| {
            let place = if last.is_empty() { "" } else { "after this entry: " };
            Fault::Entry(last.clone(), format!("{place}{}", budget.reason(&error)))
        })?;
        let own_name = raw.path_bytes().into_owned();
        let refused = |reason: String| Fault::Entry(own_name.clone(), reason);
        budget.take_entry().map_err(refused)?;
        if extensions.read(&mut raw, budget).map_err(refused)? {
            continue;
        }
        let extensions = std::mem::take(&mut extensions);
        let name = extensions.name.clone().unwrap_or_else(|| own_name.clone());
        let refused = |reason: String| Fault::Entry(name.clone(), reason);
        let entry = extensions.apply(name.clone(), &raw).map_err(refused)?;
        let attributes =
            entry.meta.xattrs.iter().map(|(key, value)| ATTRIBUTE_MEMORY + key.len() + value.len());
        let target = match &entry.kind {
            Kind::Link(target) | Kind::HardLink(target) => target.len(),
            _ => 0,
        };
        budget.take_memory(name.len() + target + attributes.sum::<usize>()).map_err(refused)?;
        let left = entry.size;
        each(entry, &mut Content { raw: &mut raw, left, budget })?;
        last = name;
    }
    if extensions == Extensions::default() {
        Ok(())
    } else {
        Err(Fault::Entry(last, "after this entry: an extension belongs to no entry".to_owned()))
    }
}

/// The content of an entry. An error has the reason of the budget; a content that is cut is an error.
struct Content<'a, 'b, R: Read> {
    raw: &'a mut tar::Entry<'b, R>,
    left: u64,
    budget: &'a Budget,
}

impl<R: Read> Read for Content<'_, '_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.raw.read(buffer).map_err(|error| io::Error::other(self.budget.reason(&error)))?;
        self.left = self.left.saturating_sub(read as u64);
        if read == 0 && self.left > 0 && !buffer.is_empty() {
            return Err(io::Error::other("the archive ends within it"));
        }
        Ok(read)
    }
}

/// What precedes an entry: a long name, a long target, PAX records.
#[derive(Default, PartialEq, Eq)]
struct Extensions {
    name: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    uid: Option<u64>,
    gid: Option<u64>,
    size: Option<u64>,
    mtime: Option<i64>,
    xattrs: Vec<(Vec<u8>, Vec<u8>)>,
    /// Why an extended attribute is refused. The name of the entry, which the message needs, is read later.
    refused_attribute: Option<String>,
}

impl Extensions {
    /// Reads an extension. Returns false for any other entry.
    fn read<R: Read>(&mut self, raw: &mut tar::Entry<R>, budget: &Budget) -> Result<bool, String> {
        let kind = raw.header().entry_type();
        if !matches!(
            kind,
            EntryType::GNULongName | EntryType::GNULongLink | EntryType::XHeader | EntryType::XGlobalHeader
        ) {
            return Ok(false);
        }
        let size = raw.size();
        if size > MAX_EXTENSION {
            return Err(format!("its extension has {size} bytes, more than {MAX_EXTENSION}"));
        }
        let mut bytes = Vec::new();
        raw.read_to_end(&mut bytes).map_err(|error| budget.reason(&error))?;
        if (bytes.len() as u64) < size {
            return Err("the archive ends within its extension".to_owned());
        }
        match kind {
            EntryType::GNULongName => set(&mut self.name, without_end(bytes), "long name")?,
            EntryType::GNULongLink => set(&mut self.link, without_end(bytes), "long target")?,
            EntryType::XHeader => self.read_pax(&bytes)?,
            _ => {
                // A comment, as `git archive` writes it, changes nothing.
                if let Some((key, _)) = pax(&bytes)?.iter().find(|(key, _)| *key != b"comment") {
                    let key = String::from_utf8_lossy(key);
                    return Err(format!(
                        "the global PAX record {key:?} is not supported: make the layer without it"
                    ));
                }
            }
        }
        Ok(true)
    }

    fn read_pax(&mut self, bytes: &[u8]) -> Result<(), String> {
        for (key, value) in pax(bytes)? {
            let number = || {
                let text = std::str::from_utf8(value).ok();
                let number = text.and_then(|text| text.parse::<u64>().ok());
                number.ok_or_else(|| {
                    format!("the PAX record {:?} is not a number", String::from_utf8_lossy(key))
                })
            };
            match key {
                b"path" => set(&mut self.name, value.to_vec(), "path")?,
                b"linkpath" => set(&mut self.link, value.to_vec(), "linkpath")?,
                b"uid" => set(&mut self.uid, number()?, "uid")?,
                b"gid" => set(&mut self.gid, number()?, "gid")?,
                b"size" => set(&mut self.size, number()?, "size")?,
                b"mtime" => {
                    // Fractions of a second are not kept.
                    let text = String::from_utf8_lossy(value);
                    let seconds = text.split('.').next().unwrap_or_default().parse();
                    set(
                        &mut self.mtime,
                        seconds.map_err(|_| format!("mtime {text:?} is not a time"))?,
                        "mtime",
                    )?;
                }
                key if key.starts_with(b"GNU.sparse.") => {
                    return Err("it is a sparse file, which no layer may have".to_owned());
                }
                key => {
                    let name = key.strip_prefix(b"SCHILY.xattr.");
                    if let Some(name) = name.filter(|_| self.refused_attribute.is_none()) {
                        self.refused_attribute = self.add_attribute(name, value).err();
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds an extended attribute, without its value if it is not kept.
    fn add_attribute(&mut self, name: &[u8], value: &[u8]) -> Result<(), String> {
        if self.xattrs.len() == MAX_ATTRIBUTE_COUNT {
            return Err(format!(
                "it has more than {MAX_ATTRIBUTE_COUNT} extended attributes: remove some (setfattr --remove)"
            ));
        }
        if name.is_empty() || name == b"user." || name.len() > MAX_ATTRIBUTE_NAME || name.contains(&0) {
            let shown = String::from_utf8_lossy(&name[..name.len().min(MAX_ATTRIBUTE_NAME)]);
            return Err(format!(
                "its extended attribute {shown:?} has no name that Linux permits: make the layer without it"
            ));
        }
        let value = if is_kept(name) { value } else { &[] };
        self.xattrs.push((name.to_vec(), value.to_vec()));
        let kept = self.xattrs.iter().filter(|(name, _)| is_kept(name));
        let bytes: usize = kept.map(|(name, value)| ATTRIBUTE_HEADER + name.len() + value.len()).sum();
        if bytes > MAX_ATTRIBUTES {
            return Err(format!(
                "its extended attributes need {bytes} bytes, but a disk has {MAX_ATTRIBUTES} for those of a file: remove \
                 them (setfattr --remove)"
            ));
        }
        Ok(())
    }

    /// The entry with this name whose header is that of `raw`.
    fn apply<R: Read>(self, name: Vec<u8>, raw: &tar::Entry<R>) -> Result<Entry, String> {
        let header = raw.header();
        let field = |value: io::Result<u64>, what| value.map_err(|_| format!("its {what} is not a number"));
        let size = raw.size();
        if self.size.is_some_and(|pax| pax != size) {
            return Err("its header and its PAX record state different sizes".to_owned());
        }
        let id = |value: u64, what| {
            // chown takes the largest value as no change.
            u32::try_from(value)
                .ok()
                .filter(|id| *id != u32::MAX)
                .ok_or_else(|| format!("its {what} {value} is too large"))
        };
        let uid = id(self.uid.map_or_else(|| field(header.uid(), "uid"), Ok)?, "uid")?;
        let gid = id(self.gid.map_or_else(|| field(header.gid(), "gid"), Ok)?, "gid")?;
        let mode = header.mode().map_err(|_| "its mode is not a number")? & 0o7777;
        let mtime = match self.mtime {
            Some(seconds) => seconds,
            None => i64::try_from(field(header.mtime(), "time")?).unwrap_or(0),
        };
        let link =
            self.link.or_else(|| raw.link_name_bytes().map(std::borrow::Cow::into_owned)).unwrap_or_default();
        if name.len() > MAX_PATH || link.len() > MAX_PATH {
            return Err(format!("its name or its target is longer than {MAX_PATH} bytes"));
        }
        let kind = match header.entry_type() {
            // Before POSIX, a folder was a file whose name ends with a slash.
            EntryType::Regular if name.ends_with(b"/") => Kind::Folder,
            EntryType::Regular | EntryType::Continuous => Kind::File,
            EntryType::Directory => Kind::Folder,
            EntryType::Fifo => Kind::Pipe,
            EntryType::Symlink => Kind::Link(link),
            EntryType::Link => Kind::HardLink(link),
            EntryType::Char | EntryType::Block => {
                return Err("it is a device: remove it, because the machine makes its own /dev".to_owned());
            }
            EntryType::GNUSparse => return Err("it is a sparse file, which no layer may have".to_owned()),
            other => return Err(format!("its type {:?} is not supported", char::from(other.as_byte()))),
        };
        match &kind {
            Kind::File => {}
            _ if size > 0 => return Err("it has a content, but is not a file".to_owned()),
            Kind::Link(target) | Kind::HardLink(target) if target.is_empty() || target.contains(&0) => {
                return Err("it is a link without a usable target".to_owned());
            }
            _ => {}
        }
        if let Some(reason) = self.refused_attribute {
            return Err(reason);
        }
        let mtime = u32::try_from(mtime.clamp(0, MAX_TIME)).unwrap_or(0);
        let meta = Meta { mode, uid, gid, mtime, xattrs: self.xattrs };
        Ok(Entry { name, kind, meta, size, position: raw.raw_file_position() })
    }
}

/// Whether an extended attribute is kept: capabilities, and those without a meaning for the system.
pub(crate) fn is_kept(attribute: &[u8]) -> bool {
    attribute == b"security.capability" || attribute.starts_with(b"user.")
}

/// Sets a value that may be given once: two values could be read differently by two programs.
fn set<T>(place: &mut Option<T>, value: T, what: &str) -> Result<(), String> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("its {what} is given twice")),
    }
}

/// A long name ends with a zero byte.
fn without_end(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.last() == Some(&0) {
        bytes.pop();
    }
    bytes
}

/// A PAX record: key and value.
type Record<'a> = (&'a [u8], &'a [u8]);

/// The records of a PAX extension, each `LENGTH KEY=VALUE\n`. Values may contain any bytes.
fn pax(mut bytes: &[u8]) -> Result<Vec<Record<'_>>, String> {
    let mut records = Vec::new();
    while !bytes.is_empty() {
        let record = pax_record(bytes).ok_or("its PAX records are damaged")?;
        records.push(record.0);
        bytes = record.1;
    }
    Ok(records)
}

/// The first record and what follows it.
fn pax_record(bytes: &[u8]) -> Option<(Record<'_>, &[u8])> {
    let digits = bytes.iter().position(|byte| *byte == b' ')?;
    let length: usize = std::str::from_utf8(&bytes[..digits]).ok()?.parse().ok()?;
    let record = bytes.get(digits + 1..length)?.strip_suffix(b"\n")?;
    let equals = record.iter().position(|byte| *byte == b'=')?;
    Some(((&record[..equals], &record[equals + 1..]), &bytes[length..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attribute_takes_memory_and_only_kept_ones_their_value() {
        let mut archive = tar::Builder::new(vec![]);
        let kept = ("SCHILY.xattr.user.k", &b"1234"[..]);
        let dropped = ("SCHILY.xattr.trusted.d", &b"1234"[..]);
        archive.append_pax_extensions([kept, dropped]).unwrap();
        let mut header = tar::Header::new_gnu();
        header.set_size(0);
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mode(0o644);
        archive.append_data(&mut header, "name", io::empty()).unwrap();
        let bytes = archive.into_inner().unwrap();
        let budget = Budget::new(Limits { bytes: 1 << 20, entries: 10 });
        let mut attributes = vec![];
        let read = read(&mut &bytes[..], &budget, &mut |entry, _| {
            attributes = entry.meta.xattrs;
            Ok(())
        });
        assert!(read.is_ok());
        assert_eq!(attributes, [(b"user.k".to_vec(), b"1234".to_vec()), (b"trusted.d".to_vec(), vec![])]);
        let taken = "name".len() + 2 * ATTRIBUTE_MEMORY + "user.k".len() + "1234".len() + "trusted.d".len();
        assert_eq!(MAX_EXTENSIONS - budget.extensions.get(), taken as u64);
    }
}
