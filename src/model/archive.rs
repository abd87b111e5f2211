//! Instances as distributed: `<Instance>.tgz` with one folder `<Instance>/`, or that folder unpacked.

use super::tar_entries::each_entry;
use super::verdict::{GenericVerdict, read_verdicts};
use super::{
    BadInstanceName, InstanceName, ModelError, Net, NetKind, Nupn, Property, SymmetricNet, Total,
    position_order,
};
use mcc_base::{FileError, OnFile, files};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};
use tar::EntryType;

/// The file of the net in every archive.
pub const MODEL: &str = "model.pnml";
/// The file of verdicts that the contest distributes with an instance.
pub const VERDICTS: &str = "GenericPropertiesVerdict.xml";

/// Largest sum of the unpacked bytes of an archive. The largest contest models take some hundreds of MB.
pub(super) const MAX_ARCHIVE_BYTES: u64 = 8 << 30;
/// Largest length of an unpacked archive as a multiple of its length, with at least `ALWAYS_ALLOWED_BYTES`. Instances of the
/// contest have some 30, and the most repetitive of their files 70.
pub(super) const MAX_RATIO: u64 = 250;
/// Bytes that an archive of any length may have, unpacked.
pub(super) const ALWAYS_ALLOWED_BYTES: u64 = 64 << 20;
/// Largest sum of the bytes of all files except the model; these are kept in memory.
const MAX_REST_BYTES: u64 = 1 << 30;
/// Largest number of entries.
const MAX_ENTRIES: usize = 1000;

/// An error of an archive, with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The archive or folder cannot be read.
    #[error("{0}; check that it is a readable instance archive (.tgz) or an unpacked one")]
    File(#[from] FileError),
    /// An entry is refused.
    #[error("{}: the entry \"{entry}\" {why}; pack the instance again as one folder of plain files (tar --format=ustar --owner=0 --group=0 --numeric-owner -czf NAME.tgz NAME)", path.display())]
    Entry {
        /// The archive or folder.
        path: PathBuf,
        /// The name of the entry.
        entry: String,
        /// The problem, as predicate of the entry.
        why: String,
    },
    /// The folder in the archive is not named as an instance.
    #[error("{}: {error}", path.display())]
    Name {
        /// The archive or folder.
        path: PathBuf,
        /// The error of the name.
        error: BadInstanceName,
    },
    /// The archive has no model.
    #[error("{}: there is no {MODEL}; give the archive of an instance (NAME.tgz) or its unpacked folder", path.display())]
    NoModel {
        /// The archive or folder.
        path: PathBuf,
    },
    /// The net is of another kind than the name of the instance says, by which editions and tools choose the questions.
    #[error("{}: its net is not of the kind that the name {instance} says; correct the type of the net or the name", path.display())]
    Kind {
        /// The archive or folder.
        path: PathBuf,
        /// The name.
        instance: InstanceName,
    },
    /// The model or another XML file is not valid.
    #[error(transparent)]
    Model(#[from] ModelError),
}

impl ArchiveError {
    /// The error of an entry with this name.
    pub(super) fn entry(path: &Path, name: &str, why: &str) -> Self {
        Self::Entry { path: path.to_owned(), entry: name.chars().take(200).collect(), why: why.to_owned() }
    }
}

/// An opened instance. Its small files are in memory; the model is streamed for each use.
#[derive(Clone, Debug)]
pub struct Archive {
    /// The name of the instance.
    pub instance: InstanceName,
    path: PathBuf,
    packed: bool,
    /// By name inside the instance's folder; without the model.
    files: BTreeMap<String, Vec<u8>>,
}

/// The marker files of an instance. None: the file is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Markers {
    /// `iscolored`: TRUE or FALSE; text without surrounding white space.
    pub coloured: Option<String>,
    /// `instance`: the scale parameter.
    pub scale: Option<String>,
    /// `equiv_col` (in P/T instances): whether an equivalent coloured instance exists.
    pub coloured_twin: Option<String>,
    /// `equiv_pt` (in coloured instances): whether an equivalent P/T instance exists.
    pub pt_twin: Option<String>,
    /// `large_marking`: a marking has more than 2^32 tokens.
    pub large_marking: bool,
    /// `unfinite`: the state space is infinite.
    pub infinite: bool,
    /// `NewModel`: a surprise model of its year.
    pub new_model: bool,
}

impl Archive {
    /// Opens `<Instance>.tgz` or a folder `<Instance>`.
    ///
    /// # Errors
    /// The archive cannot be read, has no model, or has an entry that is unsafe to unpack: an absolute path, `..`, a
    /// link or device, a second top folder, a second entry of one name, too many or too large files.
    pub fn open(path: &Path) -> Result<Archive, ArchiveError> {
        if fs::metadata(path).on("read", path)?.is_dir() { open_folder(path) } else { open_packed(path) }
    }

    /// The path of the archive or folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The content of a file by its name, such as `UpperBounds.xml`; None for the model.
    pub fn file(&self, name: &str) -> Option<&[u8]> {
        self.files.get(name).map(Vec::as_slice)
    }

    /// The files except the model, by name.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
    }

    /// The examinations with a property file (`NAME.xml`), by name.
    pub fn examinations(&self) -> impl Iterator<Item = &str> {
        let names = self.files().filter_map(|(name, _)| name.strip_suffix(".xml"));
        // Files of MCC archives that are about the net, not about an examination.
        names.filter(|name| !name.starts_with("GenericProperties"))
    }

    /// Reads the net as a stream.
    ///
    /// # Errors
    /// The archive cannot be read, or the net is not valid, or of another kind than the instance.
    pub fn net(&self) -> Result<Net, ArchiveError> {
        let net = self.net_of_any_kind()?;
        self.check_kind(net.kind).map(|()| net)
    }

    /// `net`, also if its kind is wrong.
    pub(super) fn net_of_any_kind(&self) -> Result<Net, ArchiveError> {
        Ok(self.with_model(|model, file| Net::read(model, file))??)
    }

    fn check_kind(&self, kind: NetKind) -> Result<(), ArchiveError> {
        if kind == self.instance.kind() {
            return Ok(());
        }
        Err(ArchiveError::Kind { path: self.path.clone(), instance: self.instance.clone() })
    }

    /// Reads the coloured net with its sorts, markings, arc expressions and guards.
    ///
    /// # Errors
    /// The archive cannot be read, or the model is not a valid symmetric net, or the instance is not coloured.
    pub fn symmetric_net(&self) -> Result<SymmetricNet, ArchiveError> {
        self.check_kind(NetKind::Coloured)?;
        Ok(self.with_model(|model, file| SymmetricNet::read(model, file))??)
    }

    /// Reads the NUPN section of the model, whose net is `net`; None if it has none.
    ///
    /// # Errors
    /// The archive cannot be read, or the section is not valid, or much too large for the net.
    pub fn nupn(&self, net: &Net) -> Result<Option<Nupn>, ArchiveError> {
        // A tree of units has each place once, and each unit twice. More units than places are rare, but permitted.
        let most_ids = 10 * net.places.len() + 1000;
        Ok(self.with_model(|model, file| Nupn::read(model, file, most_ids))??)
    }

    /// Reads the properties of an examination by position (`position_order`); None if the archive has no file for it
    /// (StateSpace, and the global properties of later editions). The questions of a total examination follow from the net,
    /// and have the order of definition there; a coloured net has none.
    ///
    /// # Errors
    /// The file is not valid, or, for a total examination, the net.
    pub fn properties(&self, examination: &str) -> Result<Option<Vec<Property>>, ArchiveError> {
        if let Some(total) = Total::named(examination) {
            let is_asked = self.instance.kind() == NetKind::PlaceTransition;
            return is_asked.then(|| Ok(total.properties(&self.net()?))).transpose();
        }
        let mut properties = self.property_file(examination)?;
        properties.iter_mut().for_each(|all| all.sort_by(|a, b| position_order(&a.id, &b.id)));
        Ok(properties)
    }

    /// Reads the properties of an examination in the order of its file.
    ///
    /// # Errors
    /// The file is not valid.
    pub fn property_file(&self, examination: &str) -> Result<Option<Vec<Property>>, ArchiveError> {
        let name = format!("{examination}.xml");
        let Some(text) = self.text(&name) else { return Ok(None) };
        Ok(Some(Property::read_set(&text, &self.shown(&name))?))
    }

    /// The marker files.
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

    /// Reads the verdicts of `GenericPropertiesVerdict.xml`; empty if there is no such file.
    ///
    /// # Errors
    /// The file is not valid.
    pub fn verdicts(&self) -> Result<Vec<GenericVerdict>, ArchiveError> {
        let Some(text) = self.text(VERDICTS) else { return Ok(Vec::new()) };
        Ok(read_verdicts(&text, &self.shown(VERDICTS))?)
    }

    /// A file as text. Bytes that are not UTF-8 become U+FFFD (contest files are ASCII except for names).
    pub(super) fn text(&self, name: &str) -> Option<std::borrow::Cow<'_, str>> {
        self.file(name).map(String::from_utf8_lossy)
    }

    /// The name of a file in errors: `<Instance>/<name>`.
    pub(super) fn shown(&self, name: &str) -> String {
        format!("{}/{name}", self.instance)
    }

    pub(super) fn with_model<T>(
        &self,
        read: impl FnOnce(&mut dyn BufRead, &str) -> T,
    ) -> Result<T, ArchiveError> {
        let file = self.shown(MODEL);
        if !self.packed {
            let model = files::open(&self.path.join(MODEL)).on("read", &self.path)?;
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

fn open_packed(path: &Path) -> Result<Archive, ArchiveError> {
    let mut folder: Option<String> = None;
    let mut contents = Contents::new(path);
    let all = each_entry(path, |raw, mut entry| {
        let entry_type = entry.header().entry_type();
        let refuse = |why: &str| contents.refuse(&raw.to_string_lossy(), why);
        // Programs that leave out the first folder of a name leave out this part instead.
        if raw.as_os_str().as_encoded_bytes().split(|byte| *byte == b'/').any(|part| part == b".") {
            return Err(refuse("has the part `.` in its name"));
        }
        let mut parts = Vec::new();
        for part in raw.components() {
            match part {
                Component::Normal(part) => {
                    let part = part.to_str().filter(|part| !part.contains('\0'));
                    parts.push(part.ok_or_else(|| refuse("has a name that is not UTF-8"))?);
                }
                _ => return Err(refuse("leads out of its folder")),
            }
        }
        let Some((top, inside)) = parts.split_first() else { return Err(refuse("has no name")) };
        match &folder {
            None => folder = Some((*top).to_owned()),
            Some(folder) if folder == top => {}
            Some(folder) => {
                return Err(refuse(&format!("is not in the folder \"{folder}\" of the previous entries")));
            }
        }
        // Some programs unpack it as a folder.
        let is_folder_name = raw.as_os_str().as_encoded_bytes().ends_with(b"/");
        match (entry_type, inside) {
            (EntryType::Directory, []) => {}
            (EntryType::Regular, _) if is_folder_name => {
                return Err(refuse("is a plain file with the name of a folder"));
            }
            (EntryType::Regular, _) if entry.header().as_old().linkname[0] != 0 => {
                return Err(refuse("is a plain file with the name of a link"));
            }
            (EntryType::Regular, [name]) => contents.add(name, entry.size(), &mut entry)?,
            (EntryType::Regular, []) => return Err(refuse("is in no folder")),
            (EntryType::Regular | EntryType::Directory, _) => {
                return Err(refuse("is in a subfolder"));
            }
            _ => return Err(refuse("is neither a plain file nor a folder")),
        }
        Ok(ControlFlow::<std::convert::Infallible>::Continue(()))
    });
    all?;
    contents.finish(folder.as_deref().unwrap_or(""), true)
}

fn open_folder(path: &Path) -> Result<Archive, ArchiveError> {
    if matches!(path.join(MODEL).symlink_metadata(), Err(error) if error.kind() == std::io::ErrorKind::NotFound)
    {
        return Err(ArchiveError::NoModel { path: path.to_owned() });
    }
    let mut contents = Contents::new(path);
    for entry in fs::read_dir(path).on("read", path)? {
        let entry = entry.on("read", path)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !entry.file_type().on("read", path)?.is_file() {
            return Err(contents.refuse(&name, "is not a plain file"));
        }
        let size = entry.metadata().on("read", path)?.len();
        contents.add(&name, size, &mut files::open(&entry.path()).on("read", path)?)?;
    }
    let folder = path.canonicalize().on("read", path)?;
    contents.finish(&folder.file_name().unwrap_or_default().to_string_lossy(), false)
}

/// The longest name of a file, bytes. File systems have 255, and longer paths need a header that old programs do not read.
const MAX_NAME_BYTES: usize = 100;

struct Contents<'a> {
    path: &'a Path,
    files: BTreeMap<String, Vec<u8>>,
    has_model: bool,
    entries: usize,
    /// Sum of the bytes of all files except the model.
    rest: u64,
}

impl<'a> Contents<'a> {
    fn new(path: &'a Path) -> Self {
        Self { path, files: BTreeMap::new(), has_model: false, entries: 0, rest: 0 }
    }

    fn refuse(&self, entry: &str, why: &str) -> ArchiveError {
        ArchiveError::entry(self.path, entry, why)
    }

    fn add(&mut self, name: &str, size: u64, content: &mut impl Read) -> Result<(), ArchiveError> {
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            return Err(self.refuse(name, &format!("is one too many (at most {MAX_ENTRIES})")));
        }
        // Tools start in the folder of these files, so shells and interpreters would obey names such as `-rf` or `.bashrc`.
        let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        if !is_plain
            || name.len() > MAX_NAME_BYTES
            || !name.starts_with(|first: char| first.is_ascii_alphanumeric())
        {
            return Err(self.refuse(
                name,
                "has a name that is not made of at most 100 letters, digits, `.`, `_` and `-`",
            ));
        }
        if self.files.contains_key(name) || (name == MODEL && self.has_model) {
            return Err(self.refuse(name, "occurs twice"));
        }
        if name == MODEL {
            self.has_model = true;
            return if size > MAX_ARCHIVE_BYTES {
                Err(self.refuse(name, &format!("is larger than {MAX_ARCHIVE_BYTES} bytes")))
            } else {
                Ok(())
            };
        }
        self.rest = self.rest.saturating_add(size);
        if self.rest > MAX_REST_BYTES {
            let why = format!("makes the files other than the model larger than {MAX_REST_BYTES} bytes");
            return Err(self.refuse(name, &why));
        }
        let mut bytes = Vec::new();
        content.take(size).read_to_end(&mut bytes).on("read", self.path)?;
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
    use flate2::bufread::GzDecoder;
    use flate2::write::GzEncoder;
    use std::fs::File;
    use std::io;
    use tempfile::TempDir;

    const NET: &str = "<pnml><net id='N-PT-1' type='ptnet'><page><place id='p'/></page></net></pnml>";

    /// Path, type, content (target of a link).
    type RawEntry<'a> = (&'a str, EntryType, &'a str);

    /// Writes `N-PT-1.tgz` of raw entries.
    fn pack(folder: &TempDir, entries: &[RawEntry]) -> PathBuf {
        let path = folder.path().join("N-PT-1.tgz");
        let mut tar = tar::Builder::new(GzEncoder::new(File::create(&path).unwrap(), Compression::fast()));
        for (name, kind, content) in entries {
            let mut header = tar::Header::new_gnu();
            // Bypasses the checks of the builder, which refuses such names.
            header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_entry_type(*kind);
            header.set_mode(0o755);
            let has_data = kind.is_file() || HEADERS.contains(kind);
            let data = if has_data { content.as_bytes() } else { b"" };
            if !has_data {
                header.set_link_name(content).unwrap();
            }
            header.set_size(data.len() as u64);
            header.set_cksum();
            tar.append(&header, data).unwrap();
        }
        tar.into_inner().unwrap().finish().unwrap();
        path
    }

    /// A change of a header.
    type Change = fn(&mut [u8; 512]);

    const FILE: EntryType = EntryType::Regular;
    const PAX: EntryType = EntryType::XHeader;
    const LONG_NAME: EntryType = EntryType::GNULongName;
    const HEADERS: [EntryType; 2] = [PAX, LONG_NAME];
    const MODEL_ENTRY: RawEntry<'static> = ("N-PT-1/model.pnml", FILE, NET);

    #[test]
    fn an_archive_and_the_folder_unpacked_from_it_read_alike() {
        let folder = TempDir::new().unwrap();
        let entries = [
            ("N-PT-1/", EntryType::Directory, "."),
            ("N-PT-1/iscolored", FILE, "FALSE\n"),
            ("N-PT-1/model.pnml", FILE, NET),
            ("N-PT-1/NewModel", FILE, ""),
            ("N-PT-1/UpperBounds.xml", FILE, "<property-set/>"),
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
            assert_eq!(archive.nupn(&archive.net().unwrap()).unwrap(), None);
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
        let cases: [(&[RawEntry], &str); 13] = [
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
            (&[MODEL_ENTRY, MODEL_ENTRY], "\"model.pnml\" occurs twice"),
            (&[("model.pnml", FILE, NET)], "\"model.pnml\" is in no folder"),
            (&[("N-PT-1/a/b", FILE, "")], "\"N-PT-1/a/b\" is in a subfolder"),
            (&[("N-PT-1/iscolored", FILE, "TRUE")], "there is no model.pnml"),
            (
                &[MODEL_ENTRY, ("N-PT-1/-rf", FILE, "")],
                "\"-rf\" has a name that is not made of at most 100 letters",
            ),
            (&[MODEL_ENTRY, ("N-PT-1/.bashrc", FILE, "")], "\".bashrc\" has a name that"),
            (&[MODEL_ENTRY, ("N-PT-1/a b", FILE, "")], "\"a b\" has a name that"),
        ];
        for (entries, message) in cases {
            let folder = TempDir::new().unwrap();
            let error = Archive::open(&pack(&folder, entries)).unwrap_err().to_string();
            assert!(error.contains(message), "{error}\nexpected: {message}");
            assert!(error.contains("N-PT-1.tgz: "), "{error}");
        }
        let folder = TempDir::new().unwrap();
        let error = Archive::open(&pack(&folder, &[("Nets/model.pnml", FILE, NET)])).unwrap_err().to_string();
        assert!(error.contains("\"Nets\" is not an instance name"), "{error}");
    }

    #[test]
    fn an_archive_that_others_unpack_to_other_files_is_refused() {
        const SIZE: RawEntry<'static> = ("x", PAX, "10 size=9\n");
        const NAME: RawEntry<'static> = ("x", PAX, "19 path=N-PT-1/net\n");
        const LONG: RawEntry<'static> = ("l", LONG_NAME, "N-PT-1/model.pnml\0");
        let other = ("N-PT-1/other", FILE, NET);
        let second_name = "\"l\" is a second header of a file";
        let cases: [(&[RawEntry], &str); 10] = [
            (&[SIZE, MODEL_ENTRY], "\"x\" is a header with the key \"size\""),
            (
                &[("g", EntryType::XGlobalHeader, "16 comment=0123\n"), MODEL_ENTRY],
                "\"g\" is a header for all files",
            ),
            (&[("x", PAX, "11 mtime=a\n"), MODEL_ENTRY], "with the key \"mtime\" or its value"),
            (&[MODEL_ENTRY, NAME], "its last header has no file"),
            (&[("x", PAX, "14 linkpath=a\n"), MODEL_ENTRY], "with the key \"linkpath\""),
            (&[("x", PAX, "22 GNU.sparse.size=10\n"), MODEL_ENTRY], "with the key \"GNU.sparse.size\""),
            (&[("x", PAX, "9 path=a\n9 path=b\n"), MODEL_ENTRY], "with the key \"path\""),
            (&[NAME, LONG, other], second_name),
            (&[LONG, LONG, other], second_name),
            (&[MODEL_ENTRY, ("N-PT-1/iscolored/", FILE, "")], "is a plain file with the name of a folder"),
        ];
        for (entries, message) in cases {
            let folder = TempDir::new().unwrap();
            let error = Archive::open(&pack(&folder, entries)).unwrap_err().to_string();
            assert!(error.contains(message), "{error}\nexpected: {message}");
        }
        let changes: [(&str, EntryType, Change, &str); 9] = [
            (
                "N-PT-1/x",
                FILE,
                |header| header[100..108].fill(b'0'),
                "\"N-PT-1/x\" is not readable for its owner",
            ),
            ("N-PT-1/", EntryType::Directory, |_| {}, "\"N-PT-1/\" is a folder with content"),
            ("N-PT-1", EntryType::Directory, |_| {}, "is a folder with content"),
            ("./", FILE, |_| {}, "\"./\" has the part `.` in its name"),
            ("", FILE, |_| {}, "\"\" has no name"),
            (
                "N-PT-1/x",
                FILE,
                |header| header[124..136].copy_from_slice(b"\x80\0\x01\0\0\0\0\0\0\0\x04\0"),
                "\"N-PT-1/x\" has a number that programs",
            ),
            ("N-PT-1/x", FILE, |header| header[136] = b'8', "\"N-PT-1/x\" has a number that programs"),
            ("N-PT-1/x", FILE, |header| header[345] = b'p', "has a header of an unknown format"),
            ("N-PT-1/x", FILE, |header| header[257..265].copy_from_slice(b"ustar\x0001"), "unknown format"),
        ];
        for (name, kind, change, message) in changes {
            let folder = TempDir::new().unwrap();
            let path = folder.path().join("N-PT-1.tgz");
            let mut tar =
                tar::Builder::new(GzEncoder::new(File::create(&path).unwrap(), Compression::fast()));
            // A second net where some programs look for the next entry.
            for (name, kind, change) in [(MODEL_ENTRY.0, FILE, (|_| {}) as Change), (name, kind, change)] {
                let mut header = tar::Header::new_gnu();
                header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
                header.set_entry_type(kind);
                header.set_mode(0o644);
                header.set_size(NET.len() as u64);
                change(header.as_mut_bytes());
                header.set_cksum();
                tar.append(&header, NET.as_bytes()).unwrap();
            }
            tar.into_inner().unwrap().finish().unwrap();
            let error = Archive::open(&path).unwrap_err().to_string();
            assert!(error.contains(message), "{error}\nexpected: {message}");
        }
        let folder = TempDir::new().unwrap();
        let plain = [("x", PAX, "13 mtime=1.5\n"), MODEL_ENTRY, NAME, other];
        let path = pack(&folder, &plain);
        assert!(Archive::open(&path).unwrap().file("net").is_some());
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, [bytes.as_slice(), &bytes].concat()).unwrap();
        let error = Archive::open(&path).unwrap_err().to_string();
        assert!(error.contains("data after the end of the first compressed part"), "{error}");
        let mut archive = Vec::new();
        GzDecoder::new(bytes.as_slice()).read_to_end(&mut archive).unwrap();
        archive.extend_from_slice(b"more");
        let mut packed = GzEncoder::new(File::create(&path).unwrap(), Compression::fast());
        io::Write::write_all(&mut packed, &archive).unwrap();
        packed.finish().unwrap();
        let error = Archive::open(&path).unwrap_err().to_string();
        assert!(error.contains("data after the end of the archive"), "{error}");
    }

    #[test]
    fn archives_of_users_with_large_numbers_and_of_other_programs_are_read() {
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("N-PT-1")).unwrap();
        fs::write(folder.path().join(MODEL_ENTRY.0), NET).unwrap();
        for format in ["--format=gnu", "--format=posix"] {
            let mut tar = std::process::Command::new("tar");
            tar.current_dir(folder.path()).args([format, "--owner=u:4000000000", "--group=g:4000000000"]);
            tar.args(["--mtime=@-5", "-czf", "N-PT-1.tgz", "N-PT-1"]);
            assert!(tar.status().unwrap().success());
            Archive::open(&folder.path().join("N-PT-1.tgz")).unwrap();
        }
        let keys = "18 SCHILY.dev=123\n33 LIBARCHIVE.creationtime=17.25\n";
        Archive::open(&pack(&folder, &[("x", PAX, keys), MODEL_ENTRY])).unwrap();
        let error = Archive::open(&pack(&folder, &[("x", PAX, "18 uid=4294967296\n"), MODEL_ENTRY]));
        assert!(error.unwrap_err().to_string().contains("with the key \"uid\" or its value"));
    }

    #[test]
    fn a_net_of_another_kind_than_its_name_says_is_refused() {
        let folder = TempDir::new().unwrap();
        let coloured = NET.replace("ptnet", "symmetricnet");
        for (name, net) in [("N-COL-1/model.pnml", NET), ("N-PT-1/model.pnml", coloured.as_str())] {
            let archive = Archive::open(&pack(&folder, &[(name, FILE, net)])).unwrap();
            let error = archive.net().unwrap_err().to_string();
            assert!(error.contains("not of the kind that the name N-"), "{error}");
        }
    }

    #[test]
    fn too_many_entries_and_files_too_large_are_refused() {
        let folder = TempDir::new().unwrap();
        let names: Vec<_> = (0..=MAX_ENTRIES).map(|i| format!("N-PT-1/f{i}")).collect();
        let entries: Vec<_> = names.iter().map(|name| (name.as_str(), FILE, "")).collect();
        let error = Archive::open(&pack(&folder, &entries)).unwrap_err().to_string();
        assert!(error.contains("is one too many (at most 1000)"), "{error}");

        let path = folder.path().join("N-PT-1.tgz");
        let mut tar = tar::Builder::new(GzEncoder::new(File::create(&path).unwrap(), Compression::fast()));
        let mut header = tar::Header::new_gnu();
        header.set_path("N-PT-1/UpperBounds.xml").unwrap();
        header.set_mode(0o644);
        header.set_size(MAX_REST_BYTES + 1);
        header.set_cksum();
        tar.append(&header, io::empty()).unwrap();
        tar.into_inner().unwrap().finish().unwrap();
        let error = Archive::open(&path).unwrap_err().to_string();
        let start = "\"N-PT-1/UpperBounds.xml\" of 1073741825 bytes makes the archive, which has ";
        assert!(error.contains(start) && error.contains(" bytes, larger than 67108864 bytes"), "{error}");

        File::options().append(true).open(&path).unwrap().set_len(5 << 20).unwrap();
        let error = Archive::open(&path).unwrap_err().to_string();
        assert!(
            error.contains("\"UpperBounds.xml\" makes the files other than the model larger than"),
            "{error}"
        );
    }

    #[test]
    fn a_file_that_is_not_an_archive_is_an_error_with_its_path() {
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
