//! A container that has been read: its layers are merged and its digests are checked.

use crate::container::Limits;
use crate::container::entries::{self, Budget, Metered};
use crate::container::error::{ContainerError, Fault};
use crate::container::manifest::{self, Layer, Manifest, wrong_digest};
use crate::container::store::{BUFFER, Store, decoder};
use crate::container::tree::{Content, Id, LayerEntry, NodeKind, ROOT, Tree};
use crate::container::write;
use mcc_base::digest;
use mcc_base::{FileError, OnFile};
use oci_spec::image::ImageConfiguration;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A container whose layers are merged.
pub struct Container {
    pub(crate) path: PathBuf,
    pub(crate) tree: Tree,
    pub(crate) config: ImageConfiguration,
    pub(crate) spool: Spool,
    pub(crate) notices: Vec<String>,
    facts: Facts,
    /// How many bytes the files of the host that are still to be added may have.
    most_added: u64,
}

/// What identifies a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its name with tag, if the archive has one.
    pub name: Option<String>,
    /// Digest of its OCI manifest; None for a `docker save` archive of an old Docker.
    pub manifest: Option<String>,
    /// Digest of its configuration.
    pub config: String,
    /// Digests of its layers after decompression.
    pub layers: Vec<String>,
}

/// The folder with the contents of files, each under a number.
pub(crate) struct Spool {
    folder: PathBuf,
    next: u64,
}

impl Spool {
    pub(crate) fn path(&self, content: Content) -> PathBuf {
        self.folder.join(content.number.to_string())
    }

    /// Keeps the content of a file.
    pub(crate) fn keep(&mut self, size: u64, content: &mut dyn Read) -> Result<Content, io::Error> {
        let kept = Content { number: self.next, size };
        self.next += 1;
        if size == 0 {
            return Ok(kept);
        }
        let mut file = File::create_new(self.path(kept))?;
        if io::copy(&mut content.take(size), &mut file)? < size {
            Err(io::ErrorKind::UnexpectedEof.into())
        } else {
            Ok(kept)
        }
    }
}

impl Container {
    /// Reads an archive: merges its layers, and keeps the contents of files in the empty folder `spool`.
    ///
    /// # Errors
    /// The archive is damaged, has more than the limits, an unsafe entry, several containers, or one for another
    /// platform.
    pub fn read(
        path: &Path,
        spool: &Path,
        limits: Limits,
        progress: &dyn Fn(&str),
    ) -> Result<Self, ContainerError> {
        let store = Store::open(path, spool, limits)?;
        let Manifest { name, digest, config_digest, config, layers } = manifest::find(&store, path)?;
        let budget = Budget::new(limits);
        let mut spool = Spool { folder: spool.to_owned(), next: 0 };
        let mut tree = Tree::new();
        for (number, layer) in layers.iter().enumerate() {
            progress(&format!("reading layer {} of {}", number + 1, layers.len()));
            let place = format!("layer {} ({})", number + 1, layer.file);
            let entries = read_layer(&store, layer, path, &place, &budget, &mut spool)?;
            let merged = tree.apply(number, entries, &budget);
            merged.map_err(|(name, reason)| Fault::Entry(name, reason).at(path, &place))?;
        }
        let layers = config.rootfs().diff_ids().clone();
        let facts = Facts { name, manifest: digest, config: config_digest, layers };
        Ok(Self {
            path: path.to_owned(),
            tree,
            config,
            spool,
            notices: vec![],
            facts,
            most_added: limits.bytes,
        })
    }

    /// Writes the file system into the new folder `root`, on the file system of the spooled contents. Needs root.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn write(self, root: &Path) -> Result<(), ContainerError> {
        write::write(&self.tree, &self.path, &self.spool.folder, root)
    }

    /// What identifies the container.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// What the contest ignores of this container, one sentence each.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// The paths of the merged file system in order, without the root: folders end with `/`, files have their size, links
    /// their target.
    pub fn paths(&self) -> Vec<String> {
        let mut paths = vec![];
        self.list(ROOT, "", &mut paths);
        paths
    }

    fn list(&self, folder: Id, above: &str, paths: &mut Vec<String>) {
        for (name, slot) in self.tree.folder(folder).into_iter().flat_map(|folder| &folder.slots) {
            let path = format!("{above}{}", String::from_utf8_lossy(name));
            match &self.tree.node(slot.id).kind {
                NodeKind::Folder(_) => {
                    paths.push(format!("{path}/"));
                    self.list(slot.id, &format!("{path}/"), paths);
                }
                NodeKind::File(content) => paths.push(format!("{path} {} bytes", content.size)),
                NodeKind::Link(target) => {
                    paths.push(format!("{path} -> {}", String::from_utf8_lossy(target)));
                }
                NodeKind::Pipe => paths.push(format!("{path} |")),
            }
        }
    }

    pub(crate) fn unsuitable(&self, reason: impl Into<String>) -> ContainerError {
        ContainerError::Unsuitable { path: self.path.clone(), reason: reason.into() }
    }

    /// The beginning of a spooled file.
    pub(crate) fn content(&self, content: Content, limit: u64) -> Result<Vec<u8>, ContainerError> {
        let mut bytes = Vec::new();
        if content.size > 0 {
            let path = self.spool.path(content);
            let file = File::open(&path).on("read", &path)?;
            file.take(limit).read_to_end(&mut bytes).on("read", &path)?;
        }
        Ok(bytes)
    }

    /// Keeps new content.
    pub(crate) fn keep(&mut self, mut bytes: &[u8]) -> Result<Content, ContainerError> {
        let size = bytes.len() as u64;
        Ok(self.spool.keep(size, &mut bytes).on("write", &self.spool.folder)?)
    }

    /// Keeps a copy of the file `name` below the folder `folder` of the host, without following links. Returns it and whether the
    /// file is a program.
    pub(crate) fn keep_file(
        &mut self,
        folder: &Path,
        name: &Path,
    ) -> Result<(Content, bool), ContainerError> {
        let path = folder.join(name);
        let mut file = mcc_base::files::open_below(folder, name, u64::MAX).on("read", &path)?;
        let facts = file.metadata().on("read", &path)?;
        let too_large = || {
            io::Error::other(
                "the files of the tool are together larger than twice the size of the disk: raise --size",
            )
        };
        self.most_added = self.most_added.checked_sub(facts.len()).ok_or_else(too_large).on("read", &path)?;
        let content = self.spool.keep(facts.len(), &mut file).on("read", &path)?;
        Ok((content, facts.permissions().mode() & 0o111 != 0))
    }
}

/// Reads the entries of a layer, spools their contents and checks the digests.
fn read_layer(
    store: &Store,
    layer: &Layer,
    path: &Path,
    place: &str,
    budget: &Budget,
    spool: &mut Spool,
) -> Result<Vec<LayerEntry>, ContainerError> {
    let refused = |reason: String| Fault::Entry(vec![], reason).at(path, place);
    let blob = store.file(&layer.file)?.ok_or_else(|| {
        refused("the archive does not have it: save the container with all of its layers".to_owned())
    })?;
    if let Some((_, size)) = layer.stated.as_ref().filter(|(_, size)| *size != blob.size) {
        return Err(refused(format!("it has {} bytes, but the manifest states {size}", blob.size)));
    }
    let compression = blob.compression().on("read", path)?;
    let mut compressed = digest::Reader::new(blob);
    let decoder = decoder(&mut compressed, compression).map_err(|error| refused(error.to_string()))?;
    let mut plain = digest::Reader::new(Metered { from: decoder, budget });
    let mut entries = vec![];
    let mut stream = BufReader::with_capacity(BUFFER, &mut plain);
    let read = entries::read(&mut stream, budget, &mut |entry, content| {
        let number = spool.next;
        let kept = spool.keep(entry.size, content).map_err(|error| {
            // The error of the archive or of the folder: a full disk has a number.
            match error.raw_os_error() {
                Some(_) => {
                    let path = spool.folder.join(number.to_string());
                    Fault::File(FileError { action: "write", path, source: error })
                }
                None => Fault::Entry(entry.name.clone(), error.to_string()),
            }
        })?;
        entries.push(LayerEntry { name: entry.name, kind: entry.kind, meta: entry.meta, content: kept });
        Ok(())
    });
    drop(stream);
    read.map_err(|fault| fault.at(path, place))?;
    let found = format!("sha256:{}", plain.digest());
    if found != layer.diff_id {
        return Err(refused(wrong_digest("after decompression it", &found, &layer.diff_id)));
    }
    if let Some((stated, _)) = &layer.stated {
        io::copy(&mut compressed, &mut io::sink()).on("read", path)?;
        let found = compressed.digest();
        if found != *stated {
            return Err(refused(wrong_digest("its file", &found, stated)));
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_or_a_huge_file_that_takes_the_place_of_a_tools_file_is_not_copied() {
        let folder = tempfile::tempdir().unwrap();
        let [spool, tool, secret] = ["spool", "tool", "secret"].map(|name| folder.path().join(name));
        fs::create_dir(&spool).unwrap();
        fs::create_dir(&tool).unwrap();
        fs::write(&secret, "secret").unwrap();
        symlink(&secret, tool.join("link")).unwrap();
        symlink(folder.path(), tool.join("bin")).unwrap();
        File::create(tool.join("hole")).unwrap().set_len(1 << 40).unwrap();
        fs::write(tool.join("file"), "x").unwrap();
        let facts = Facts { name: None, manifest: None, config: String::new(), layers: vec![] };
        let mut container = Container {
            path: "container".into(),
            tree: Tree::new(),
            config: ImageConfiguration::default(),
            spool: Spool { folder: spool.clone(), next: 0 },
            notices: vec![],
            facts,
            most_added: 100,
        };
        for (name, reason) in
            [("link", "is a symbolic link"), ("bin/secret", "is a symbolic link"), ("hole", "raise --size")]
        {
            let error = container.keep_file(&tool, Path::new(name)).unwrap_err().to_string();
            assert!(error.contains(reason), "{name}: {error}");
        }
        let (content, is_program) = container.keep_file(&tool, Path::new("file")).unwrap();
        assert_eq!((content.size, is_program, container.most_added), (1, false, 99));
        assert_eq!(fs::read_dir(&spool).unwrap().count(), 1);
    }
}
