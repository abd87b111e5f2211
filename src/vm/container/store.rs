//! The files of an archive by name: a folder, or a tar archive.

use crate::container::entries::{self, Budget, Kind, Metered};
use crate::container::error::{ContainerError, Fault};
use crate::container::{Limits, names};
use flate2::bufread::MultiGzDecoder;
use mcc_base::OnFile;
use mcc_base::files;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The largest number of files of an archive: a container has few layers.
const MAX_FILES: u64 = 10_000;
/// Bytes that are read at once.
pub(crate) const BUFFER: usize = 1 << 18;

/// An archive whose files can be read in any order.
pub(crate) struct Store {
    path: PathBuf,
    content: Content,
}

enum Content {
    Folder(File),
    Tar(File, BTreeMap<String, Place>),
}

enum Place {
    /// Offset and size in the tar archive.
    File(u64, u64),
    /// `docker save` writes a layer that occurs twice as a link to the first one.
    Link(String),
}

impl Store {
    /// Opens a folder or a tar archive; a compressed archive is unpacked to a file in `spool`.
    pub(crate) fn open(path: &Path, spool: &Path, limits: Limits) -> Result<Self, ContainerError> {
        let content = if path.is_dir() {
            Content::Folder(File::open(path).on("read", path)?)
        } else {
            let file = files::open(path).on("read", path)?;
            let budget = Budget::new(Limits { entries: MAX_FILES, ..limits });
            let file = uncompressed(file, path, &spool.join("archive.tar"), &budget)?;
            let listed = list(&file, limits);
            Content::Tar(file, listed.map_err(|fault| fault.at(path, "the archive"))?)
        };
        Ok(Self { path: path.to_owned(), content })
    }

    /// Whether the archive has a file of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.file(name).is_ok_and(|found| found.is_some())
    }

    /// The file of this name, if there is one. It is within the archive.
    pub(crate) fn file(&self, name: &str) -> Result<Option<Blob>, ContainerError> {
        let refused =
            |reason: String| Fault::Entry(name.as_bytes().to_vec(), reason).at(&self.path, "the archive");
        let parts = names::parts(name.as_bytes()).map_err(refused)?;
        match &self.content {
            Content::Folder(folder) => {
                // The kernel refuses every path that leaves the folder, also through a link. O_NONBLOCK: a pipe must
                // not block.
                let how = OpenHow::new()
                    .flags(OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC)
                    .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS);
                let file = match openat2(folder, name, how) {
                    Ok(file) => File::from(file),
                    Err(nix::Error::ENOENT) => return Ok(None),
                    Err(nix::Error::EXDEV) => return Err(refused("it leads out of the folder".to_owned())),
                    Err(error) => Err(error).on("read", self.path.join(name))?,
                };
                let facts = file.metadata().on("read", self.path.join(name))?;
                if !facts.is_file() {
                    return Err(refused("it is not a regular file".to_owned()));
                }
                Ok(Some(Blob { file, offset: 0, size: facts.len(), position: 0 }))
            }
            Content::Tar(file, listed) => {
                let mut key = parts.join(&b'/');
                // The target of a link may be a link: two steps are more than any program writes.
                for _ in 0..3 {
                    match listed.get(&*String::from_utf8_lossy(&key)) {
                        None => return Ok(None),
                        Some(Place::File(offset, size)) => {
                            let file = file.try_clone().on("read", &self.path)?;
                            return Ok(Some(Blob { file, offset: *offset, size: *size, position: 0 }));
                        }
                        Some(Place::Link(target)) => key = target.clone().into_bytes(),
                    }
                }
                Err(refused("it is a link to a link".to_owned()))
            }
        }
    }
}

/// Decompresses a file to `to`, unless it is not compressed.
fn uncompressed(file: File, path: &Path, to: &Path, budget: &Budget) -> Result<File, ContainerError> {
    let size = file.metadata().on("read", path)?.len();
    let blob = Blob { file, offset: 0, size, position: 0 };
    if blob.compression().on("read", path)? == Compression::None {
        return Ok(blob.file);
    }
    let mut out = File::options().read(true).write(true).create_new(true).open(to).on("create", to)?;
    let compression = blob.compression().on("read", path)?;
    let decoder = decoder(blob, compression).on("read", path)?;
    let mut from = Metered { from: decoder, budget };
    let mut buffer = vec![0; BUFFER];
    let mut writer = BufWriter::with_capacity(BUFFER, &mut out);
    loop {
        let read = from.read(&mut buffer);
        let read =
            read.map_err(|error| Fault::Entry(vec![], budget.reason(&error)).at(path, "the archive"))?;
        if read == 0 {
            break;
        }
        writer.write_all(&buffer[..read]).on("write", to)?;
    }
    writer.flush().on("write", to)?;
    drop(writer);
    Ok(out)
}

/// How a stream is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

/// Decompresses a stream.
pub(crate) fn decoder<'a>(
    stream: impl Read + 'a,
    compression: Compression,
) -> io::Result<Box<dyn Read + 'a>> {
    Ok(match compression {
        Compression::None => Box::new(stream),
        Compression::Gzip => Box::new(MultiGzDecoder::new(BufReader::with_capacity(BUFFER, stream))),
        Compression::Zstd => {
            let stream = BufReader::with_capacity(BUFFER, stream);
            let mut decoder = zstd::stream::read::Decoder::with_buffer(stream)?;
            // A window of 128 MiB, the largest that the program zstd decompresses without an option.
            decoder.window_log_max(27)?;
            Box::new(decoder)
        }
    })
}

/// Lists the files of a tar archive.
fn list(file: &File, limits: Limits) -> Result<BTreeMap<String, Place>, Fault> {
    let size = file.metadata().map_err(|error| Fault::Entry(vec![], error.to_string()))?.len();
    let budget = Budget::new(Limits { bytes: limits.bytes.max(size), entries: MAX_FILES });
    let mut listed = BTreeMap::new();
    let whole = Blob { file: clone(file)?, offset: 0, size, position: 0 };
    entries::read_headers(whole, &budget, &mut |entry| {
        let refused = |reason: &str| Fault::Entry(entry.name.clone(), reason.to_owned());
        let parts = names::parts(&entry.name).map_err(|reason| refused(&reason))?;
        if entry.position.saturating_add(entry.size) > size {
            return Err(refused("the archive ends within it"));
        }
        let place = match &entry.kind {
            Kind::Folder => return Ok(()),
            Kind::File => Place::File(entry.position, entry.size),
            Kind::Link(target) => {
                let mut full = parts[..parts.len().saturating_sub(1)].to_vec();
                if target.starts_with(b"/") {
                    return Err(refused("it is a link to an absolute path"));
                }
                for part in
                    target.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".")
                {
                    if part != b".." {
                        full.push(part);
                    } else if full.pop().is_none() {
                        return Err(refused("it is a link that leads out of the archive"));
                    }
                }
                Place::Link(text(&full.join(&b'/')).map_err(|reason| refused(&reason))?)
            }
            Kind::HardLink(_) | Kind::Pipe => {
                return Err(refused("neither an OCI layout nor a docker save archive has such an entry"));
            }
        };
        let name = text(&parts.join(&b'/')).map_err(|reason| refused(&reason))?;
        match listed.insert(name, place) {
            None => Ok(()),
            Some(_) => Err(refused("the archive has two entries of this name")),
        }
    })?;
    Ok(listed)
}

fn text(bytes: &[u8]) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| "its name is not a text".to_owned())
}

fn clone(file: &File) -> Result<File, Fault> {
    file.try_clone().map_err(|error| Fault::Entry(vec![], error.to_string()))
}

/// A file of the archive.
pub(crate) struct Blob {
    file: File,
    offset: u64,
    /// Bytes.
    pub size: u64,
    position: u64,
}

impl Blob {
    /// How the file is compressed, by its first bytes.
    pub(crate) fn compression(&self) -> io::Result<Compression> {
        let mut first = [0; 4];
        if self.size >= 4 {
            self.file.read_exact_at(&mut first, self.offset)?;
        }
        Ok(match first {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            // The second is a frame that decoders skip, with which some programs begin.
            [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Compression::Zstd,
            _ => Compression::None,
        })
    }
}

impl Read for Blob {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.size.saturating_sub(self.position)).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        let read = self.file.read_at(&mut buffer[..wanted], self.offset.saturating_add(self.position))?;
        self.position += read as u64;
        Ok(read)
    }
}

impl Seek for Blob {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.size.checked_add_signed(by),
        };
        self.position = target.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}
