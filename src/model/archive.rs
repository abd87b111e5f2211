//! An instance as distributed: `<Instance>.tgz` with one folder `<Instance>/`, or that folder unpacked.

use super::verdict::{GenericVerdict, read_verdicts};
use super::{BadInstanceName, InstanceName, ModelError, Net, Nupn, Property};
use flate2::read::MultiGzDecoder;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Take};
use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};
use tar::EntryType;

/// The file in every archive that holds the net.
pub const MODEL: &str = "model.pnml";
const VERDICTS: &str = "GenericPropertiesVerdict.xml";

/// Unpacked bytes of a whole archive. The largest contest models take some hundreds of MB.
const LARGEST_ARCHIVE: u64 = 8 << 30;
/// All files but the model together; these are kept in memory.
const LARGEST_REST: u64 = 1 << 30;
const MOST_ENTRIES: usize = 1000;
/// Bytes of a header that is held in memory: as long as a path can be, and some attributes.
const LONGEST_HEADER: u64 = 64 << 10;

/// Why an archive is not taken, with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("{}: {error}; check that it is a readable instance archive (.tgz) or an unpacked one", path.display())]
    Io { path: PathBuf, error: io::Error },
    #[error("{}: the entry \"{entry}\" {why}; pack the instance again as one folder of plain files", path.display())]
    Entry { path: PathBuf, entry: String, why: String },
    #[error("{}: {error}", path.display())]
    Name { path: PathBuf, error: BadInstanceName },
    #[error("{}: there is no {MODEL}; pack the instance again", path.display())]
    NoModel { path: PathBuf },
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// An opened instance. Its small files are in memory; the model is streamed whenever it is asked for.
#[derive(Clone, Debug)]
pub struct Archive {
    pub instance: InstanceName,
    path: PathBuf,
    packed: bool,
    /// By name inside the instance's folder; without the model.
    files: BTreeMap<String, Vec<u8>>,
}

/// The small marker files; None where the file is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Markers {
    /// `iscolored`: TRUE or FALSE, as text without spaces around it.
    pub coloured: Option<String>,
    /// `instance`: the scale parameter.
    pub scale: Option<String>,
    /// `equiv_col` (in P/T instances): a coloured twin exists.
    pub coloured_twin: Option<String>,
    /// `equiv_pt` (in coloured instances): a P/T twin exists.
    pub pt_twin: Option<String>,
    /// `large_marking`: some marking has more than 2^32 tokens.
    pub large_marking: bool,
    /// `unfinite`: the state space is infinite.
    pub infinite: bool,
    /// `NewModel`: a surprise model of its year.
    pub new_model: bool,
}

impl Archive {
    /// Opens `<Instance>.tgz` or a folder `<Instance>`.
    ///
    /// An archive that could harm whoever unpacks it is refused, with the entry's name: absolute paths, `..`,
    /// links and devices, several top folders, two entries of one name, too many or too large files.
    pub fn open(path: &Path) -> Result<Archive, ArchiveError> {
        let io = |error| ArchiveError::Io { path: path.to_owned(), error };
        match fs::metadata(path).map_err(io)?.is_dir() {
            true => open_folder(path),
            false => open_packed(path),
        }
    }

    /// Where it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file by its name, such as `UpperBounds.xml`; never the model.
    pub fn file(&self, name: &str) -> Option<&[u8]> {
        self.files.get(name).map(Vec::as_slice)
    }

    /// The files by name, without the model.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
    }

    /// Reads the net, streaming.
    pub fn net(&self) -> Result<Net, ArchiveError> {
        Ok(self.with_model(|model, file| Net::read(model, file))??)
    }

    /// Reads the NUPN section of the model; None where it has none.
    pub fn nupn(&self) -> Result<Option<Nupn>, ArchiveError> {
        Ok(self.with_model(|model, file| Nupn::read(model, file))??)
    }

    /// The properties of an examination; None where the archive has no file for it (StateSpace, and the
    /// global properties of later editions).
    pub fn properties(&self, examination: &str) -> Result<Option<Vec<Property>>, ArchiveError> {
        let name = format!("{examination}.xml");
        let Some(text) = self.text(&name) else { return Ok(None) };
        Ok(Some(Property::read_set(&text, &self.shown(&name))?))
    }

    pub fn markers(&self) -> Markers {
        let text = |name| self.text(name).map(|text| text.trim().to_owned());
        let present = |name| self.files.contains_key(name);
        Markers {
            coloured: text("iscolored"),
            scale: text("instance"),
            coloured_twin: text("equiv_col"),
            pt_twin: text("equiv_pt"),
            large_marking: present("large_marking"),
            infinite: present("unfinite"),
            new_model: present("NewModel"),
        }
    }

    /// What `GenericPropertiesVerdict.xml` says; empty where there is no such file.
    pub fn verdicts(&self) -> Result<Vec<GenericVerdict>, ArchiveError> {
        let Some(text) = self.text(VERDICTS) else { return Ok(Vec::new()) };
        Ok(read_verdicts(&text, &self.shown(VERDICTS))?)
    }

    /// A file as text; bytes that are no UTF-8 become U+FFFD (contest files are ASCII but for names).
    pub(super) fn text(&self, name: &str) -> Option<std::borrow::Cow<'_, str>> {
        self.file(name).map(String::from_utf8_lossy)
    }

    /// How a file is named in errors: `<Instance>/<name>`.
    pub(super) fn shown(&self, name: &str) -> String {
        format!("{}/{name}", self.instance)
    }

    pub(super) fn with_model<T>(
        &self,
        read: impl FnOnce(&mut dyn BufRead, &str) -> T,
    ) -> Result<T, ArchiveError> {
        let io = |error| ArchiveError::Io { path: self.path.clone(), error };
        let file = self.shown(MODEL);
        if !self.packed {
            let model = File::open(self.path.join(MODEL)).map_err(io)?;
            return Ok(read(&mut BufReader::new(model), &file));
        }
        let mut read = Some(read);
        let found = each_entry(&self.path, |name, entry| {
            let is_model = name.file_name().is_some_and(|name| name == MODEL)
                && entry.header().entry_type() == EntryType::Regular;
            Ok(match read.take_if(|_| is_model) {
                Some(read) => ControlFlow::Break(read(&mut BufReader::new(entry), &file)),
                None => ControlFlow::Continue(()),
            })
        })?;
        found.ok_or_else(|| ArchiveError::NoModel { path: self.path.clone() })
    }
}

type Packed = Take<MultiGzDecoder<BufReader<File>>>;

/// Hands every entry to `each` under its name until that breaks off; what it breaks off with.
///
/// Reads the headers that carry long names itself: the library would hold them in memory whole, gigabytes if an
/// archive says so.
fn each_entry<T>(
    path: &Path,
    mut each: impl FnMut(PathBuf, tar::Entry<'_, Packed>) -> Result<ControlFlow<T>, ArchiveError>,
) -> Result<Option<T>, ArchiveError> {
    let io = |error| ArchiveError::Io { path: path.to_owned(), error };
    let bytes = MultiGzDecoder::new(BufReader::new(File::open(path).map_err(io)?));
    let mut tar = tar::Archive::new(bytes.take(LARGEST_ARCHIVE));
    let mut long_name = None;
    for entry in tar.entries().map_err(io)?.raw(true) {
        let mut entry = entry.map_err(io)?;
        let name = entry.path().map_err(io)?.into_owned();
        let entry_type = entry.header().entry_type();
        match entry_type {
            EntryType::XGlobalHeader => {}
            EntryType::GNULongName | EntryType::XHeader => {
                if entry.size() > LONGEST_HEADER {
                    let why = format!("is a header longer than {LONGEST_HEADER} bytes");
                    return Err(Contents::new(path).refuse(&name.to_string_lossy(), &why));
                }
                let mut header = Vec::new();
                entry.read_to_end(&mut header).map_err(io)?;
                long_name = match entry_type {
                    EntryType::XHeader => pax_path(&header).map_err(io)?.or(long_name),
                    _ => Some(path_of(header.strip_suffix(b"\0").unwrap_or(&header))),
                };
            }
            _ => {
                let name = long_name.take().unwrap_or(name);
                if let ControlFlow::Break(found) = each(name, entry)? {
                    return Ok(Some(found));
                }
            }
        }
    }
    Ok(None)
}

/// The path in a PAX header. A size there is one past 8 GB, more than is taken: the header's own counts.
fn pax_path(header: &[u8]) -> io::Result<Option<PathBuf>> {
    let mut path = None;
    for extension in tar::PaxExtensions::new(header) {
        let extension = extension?;
        if extension.key_bytes() == b"path" {
            path = Some(path_of(extension.value_bytes()));
        }
    }
    Ok(path)
}

fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

fn open_packed(path: &Path) -> Result<Archive, ArchiveError> {
    let mut folder: Option<String> = None;
    let mut contents = Contents::new(path);
    let all = each_entry(path, |raw, mut entry| {
        let entry_type = entry.header().entry_type();
        let refuse = |why: &str| contents.refuse(&raw.to_string_lossy(), why);
        let mut parts = Vec::new();
        for part in raw.components() {
            match part {
                Component::Normal(part) => {
                    parts.push(part.to_str().ok_or_else(|| refuse("has a name that is no UTF-8"))?);
                }
                Component::CurDir => {}
                _ => return Err(refuse("leads out of its folder")),
            }
        }
        let Some((top, inside)) = parts.split_first() else { return Ok(ControlFlow::Continue(())) };
        match &folder {
            None => folder = Some((*top).to_owned()),
            Some(folder) if folder == top => {}
            Some(folder) => {
                return Err(refuse(&format!("is not in the folder \"{folder}\" like the ones before")));
            }
        }
        match (entry_type, inside) {
            (EntryType::Directory, []) => {}
            (EntryType::Regular, [name]) => contents.add(name, entry.size(), &mut entry)?,
            (EntryType::Regular, []) => return Err(refuse("is in no folder")),
            (EntryType::Regular | EntryType::Directory, _) => {
                return Err(refuse("is in a folder of the folder"));
            }
            _ => return Err(refuse("is neither a plain file nor a folder")),
        }
        Ok(ControlFlow::<std::convert::Infallible>::Continue(()))
    });
    all?;
    contents.finish(folder.as_deref().unwrap_or(""), true)
}

fn open_folder(path: &Path) -> Result<Archive, ArchiveError> {
    let io = |error| ArchiveError::Io { path: path.to_owned(), error };
    let mut contents = Contents::new(path);
    for entry in fs::read_dir(path).map_err(io)? {
        let entry = entry.map_err(io)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !entry.file_type().map_err(io)?.is_file() {
            return Err(contents.refuse(&name, "is not a plain file"));
        }
        let size = entry.metadata().map_err(io)?.len();
        contents.add(&name, size, &mut File::open(entry.path()).map_err(io)?)?;
    }
    let folder = path.canonicalize().map_err(io)?;
    contents.finish(&folder.file_name().unwrap_or_default().to_string_lossy(), false)
}

struct Contents<'a> {
    path: &'a Path,
    files: BTreeMap<String, Vec<u8>>,
    has_model: bool,
    entries: usize,
    /// Bytes of all files but the model.
    rest: u64,
}

impl<'a> Contents<'a> {
    fn new(path: &'a Path) -> Self {
        Self { path, files: BTreeMap::new(), has_model: false, entries: 0, rest: 0 }
    }

    fn refuse(&self, entry: &str, why: &str) -> ArchiveError {
        let entry = entry.chars().take(200).collect();
        ArchiveError::Entry { path: self.path.to_owned(), entry, why: why.to_owned() }
    }

    fn add(&mut self, name: &str, size: u64, content: &mut impl Read) -> Result<(), ArchiveError> {
        self.entries += 1;
        if self.entries > MOST_ENTRIES {
            return Err(self.refuse(name, &format!("is one too many (at most {MOST_ENTRIES})")));
        }
        if self.files.contains_key(name) || (name == MODEL && self.has_model) {
            return Err(self.refuse(name, "is there twice"));
        }
        if name == MODEL {
            self.has_model = true;
            return match size > LARGEST_ARCHIVE {
                true => Err(self.refuse(name, &format!("is larger than {LARGEST_ARCHIVE} bytes"))),
                false => Ok(()),
            };
        }
        self.rest = self.rest.saturating_add(size);
        if self.rest > LARGEST_REST {
            let why = format!("makes the files beside the model larger than {LARGEST_REST} bytes");
            return Err(self.refuse(name, &why));
        }
        let mut bytes = Vec::new();
        content
            .take(size)
            .read_to_end(&mut bytes)
            .map_err(|error| ArchiveError::Io { path: self.path.to_owned(), error })?;
        self.files.insert(name.to_owned(), bytes);
        Ok(())
    }

    fn finish(self, folder: &str, packed: bool) -> Result<Archive, ArchiveError> {
        let path = self.path.to_owned();
        if !self.has_model {
            return Err(ArchiveError::NoModel { path });
        }
        match folder.parse() {
            Ok(instance) => Ok(Archive { instance, path, packed, files: self.files }),
            Err(error) => Err(ArchiveError::Name { path, error }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tempfile::TempDir;

    const NET: &str = "<pnml><net id='N-PT-1' type='ptnet'><page><place id='p'/></page></net></pnml>";

    /// Path, type, content (of links: their target).
    type RawEntry<'a> = (&'a str, EntryType, &'a str);

    /// Writes `N-PT-1.tgz` of raw entries.
    fn pack(folder: &TempDir, entries: &[RawEntry]) -> PathBuf {
        let path = folder.path().join("N-PT-1.tgz");
        let mut tar = tar::Builder::new(GzEncoder::new(File::create(&path).unwrap(), Compression::fast()));
        for (name, kind, content) in entries {
            let mut header = tar::Header::new_gnu();
            // Past the builder's own checks: hostile archives are not made with it.
            header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_entry_type(*kind);
            header.set_mode(0o644);
            let data = if kind.is_file() { content.as_bytes() } else { b"" };
            if !kind.is_file() {
                header.set_link_name(content).unwrap();
            }
            header.set_size(data.len() as u64);
            header.set_cksum();
            tar.append(&header, data).unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap();
        path
    }

    const FILE: EntryType = EntryType::Regular;
    const MODEL_ENTRY: RawEntry<'static> = ("N-PT-1/model.pnml", FILE, NET);

    #[test]
    fn an_archive_and_the_folder_unpacked_from_it_read_alike() {
        let folder = TempDir::new().unwrap();
        let entries = [
            ("./N-PT-1/", EntryType::Directory, "."),
            ("./N-PT-1/iscolored", FILE, "FALSE\n"),
            ("./N-PT-1/model.pnml", FILE, NET),
            ("./N-PT-1/NewModel", FILE, ""),
            ("./N-PT-1/UpperBounds.xml", FILE, "<property-set/>"),
        ];
        let packed = Archive::open(&pack(&folder, &entries)).unwrap();
        let unpacked = folder.path().join("N-PT-1");
        fs::create_dir(&unpacked).unwrap();
        for (name, kind, content) in &entries[1..] {
            assert!(kind.is_file());
            fs::write(folder.path().join(name), content).unwrap();
        }
        let unpacked = Archive::open(&unpacked).unwrap();
        for archive in [packed, unpacked] {
            assert_eq!(archive.instance.as_str(), "N-PT-1");
            assert_eq!(archive.net().unwrap().places[0].id, "p");
            assert_eq!(archive.nupn().unwrap(), None);
            let markers = archive.markers();
            assert_eq!(markers.coloured.as_deref(), Some("FALSE"));
            assert!(markers.new_model && !markers.large_marking && !markers.infinite);
            assert_eq!(archive.properties("StateSpace").unwrap(), None);
            let error = archive.properties("UpperBounds").unwrap_err().to_string();
            assert!(
                error.starts_with("N-PT-1/UpperBounds.xml:1: <property-set> without <property>"),
                "{error}"
            );
        }
    }

    #[test]
    fn hostile_archives_are_refused_by_entry() {
        let cases: [(&[RawEntry], &str); 10] = [
            (&[("/etc/passwd", FILE, "")], "\"/etc/passwd\" leads out of its folder"),
            (&[("N-PT-1/../../x", FILE, "")], "\"N-PT-1/../../x\" leads out of its folder"),
            (
                &[("N-PT-1/model.pnml", EntryType::Symlink, "/etc/passwd")],
                "is neither a plain file nor a folder",
            ),
            (
                &[MODEL_ENTRY, ("N-PT-1/x", EntryType::Link, "/etc/passwd")],
                "is neither a plain file nor a folder",
            ),
            (&[MODEL_ENTRY, ("N-PT-1/x", EntryType::Fifo, "-")], "is neither a plain file nor a folder"),
            (&[MODEL_ENTRY, ("Other/x", FILE, "")], "\"Other/x\" is not in the folder \"N-PT-1\""),
            (&[MODEL_ENTRY, MODEL_ENTRY], "\"model.pnml\" is there twice"),
            (&[("model.pnml", FILE, NET)], "\"model.pnml\" is in no folder"),
            (&[("N-PT-1/a/b", FILE, "")], "\"N-PT-1/a/b\" is in a folder of the folder"),
            (&[("N-PT-1/iscolored", FILE, "TRUE")], "there is no model.pnml"),
        ];
        for (entries, message) in cases {
            let folder = TempDir::new().unwrap();
            let error = Archive::open(&pack(&folder, entries)).unwrap_err().to_string();
            assert!(error.contains(message), "{error}\nshould say: {message}");
            assert!(error.contains("N-PT-1.tgz: "), "{error}");
        }
        let folder = TempDir::new().unwrap();
        let error = Archive::open(&pack(&folder, &[("Nets/model.pnml", FILE, NET)])).unwrap_err().to_string();
        assert!(error.contains("\"Nets\" is not an instance name"), "{error}");
    }

    #[test]
    fn too_many_entries_and_files_too_large_are_refused() {
        let folder = TempDir::new().unwrap();
        let names: Vec<_> = (0..=MOST_ENTRIES).map(|i| format!("N-PT-1/f{i}")).collect();
        let entries: Vec<_> = names.iter().map(|name| (name.as_str(), FILE, "")).collect();
        let error = Archive::open(&pack(&folder, &entries)).unwrap_err().to_string();
        assert!(error.contains("is one too many (at most 1000)"), "{error}");

        let path = folder.path().join("N-PT-1.tgz");
        let mut tar = tar::Builder::new(GzEncoder::new(File::create(&path).unwrap(), Compression::fast()));
        let mut header = tar::Header::new_gnu();
        header.set_path("N-PT-1/UpperBounds.xml").unwrap();
        header.set_size(LARGEST_REST + 1);
        header.set_cksum();
        tar.append(&header, io::empty()).unwrap();
        tar.into_inner().unwrap().finish().unwrap();
        let error = Archive::open(&path).unwrap_err().to_string();
        assert!(
            error.contains("\"UpperBounds.xml\" makes the files beside the model larger than"),
            "{error}"
        );
    }

    #[test]
    fn what_is_no_archive_gets_an_error_with_its_path() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("N-PT-1.tgz");
        for bytes in [&b""[..], b"not gzip", &pack_bytes(&folder)[..60]] {
            fs::write(&path, bytes).unwrap();
            let error = Archive::open(&path).unwrap_err().to_string();
            assert!(error.contains("N-PT-1.tgz: "), "{error}");
        }
        let error = Archive::open(&folder.path().join("absent.tgz")).unwrap_err().to_string();
        assert!(error.contains("absent.tgz: ") && error.contains("readable instance archive"), "{error}");
    }

    fn pack_bytes(folder: &TempDir) -> Vec<u8> {
        fs::read(pack(folder, &[MODEL_ENTRY])).unwrap()
    }
}
