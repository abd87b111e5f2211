//! Container archives made by hand: layers with any entries, and OCI layouts with the right digests.

use mcc_harness::base::digest;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use tar::{EntryType, Header};

/// A layer.
#[derive(Clone, Default)]
pub struct Layer {
    tar: Vec<u8>,
    /// The bytes of its file, if it is compressed.
    compressed: Option<Vec<u8>>,
}

impl Layer {
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an entry without any check. A long name gets an extension.
    fn entry(mut self, name: &str, kind: EntryType, link: &str, mode: u32, content: &[u8]) -> Self {
        if name.len() > 100 {
            self = self.extension(EntryType::GNULongName, &[name.as_bytes(), b"\0"].concat());
        }
        let mut header = Header::new_gnu();
        let gnu = header.as_gnu_mut().unwrap();
        let cut = &name.as_bytes()[..name.len().min(100)];
        gnu.name[..cut.len()].copy_from_slice(cut);
        gnu.linkname[..link.len()].copy_from_slice(link.as_bytes());
        self.raw(&mut header, kind, mode, content);
        self
    }

    fn extension(mut self, kind: EntryType, content: &[u8]) -> Self {
        let mut header = Header::new_gnu();
        header.as_gnu_mut().unwrap().name[..13].copy_from_slice(b"././@LongLink");
        self.raw(&mut header, kind, 0, content);
        self
    }

    fn raw(&mut self, header: &mut Header, kind: EntryType, mode: u32, content: &[u8]) {
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(7);
        header.set_gid(8);
        header.set_mtime(1_500_000_000);
        header.set_size(content.len() as u64);
        header.set_cksum();
        self.tar.extend_from_slice(header.as_bytes());
        self.tar.extend_from_slice(content);
        self.tar.resize(self.tar.len().next_multiple_of(512), 0);
    }

    pub fn file(self, name: &str, content: &str) -> Self {
        self.entry(name, EntryType::Regular, "", 0o644, content.as_bytes())
    }

    pub fn program(self, name: &str, content: &str) -> Self {
        self.entry(name, EntryType::Regular, "", 0o755, content.as_bytes())
    }

    pub fn folder(self, name: &str) -> Self {
        self.entry(&format!("{name}/"), EntryType::Directory, "", 0o755, b"")
    }

    pub fn link(self, name: &str, target: &str) -> Self {
        self.entry(name, EntryType::Symlink, target, 0o777, b"")
    }

    pub fn hard_link(self, name: &str, target: &str) -> Self {
        self.entry(name, EntryType::Link, target, 0o644, b"")
    }

    pub fn device(self, name: &str) -> Self {
        self.entry(name, EntryType::Block, "", 0o666, b"")
    }

    pub fn sparse(self, name: &str) -> Self {
        self.entry(name, EntryType::GNUSparse, "", 0o644, b"")
    }

    /// A GNU extension with a name, which belongs to no entry.
    pub fn long_name(self, name: &str) -> Self {
        self.extension(EntryType::GNULongName, name.as_bytes())
    }

    /// A file with PAX records.
    pub fn pax(self, name: &str, records: &[(&str, &[u8])], content: &str) -> Self {
        let mut bytes = vec![];
        for (key, value) in records {
            let rest = key.len() + value.len() + 3;
            let length = (rest..).find(|length| length.to_string().len() + rest == *length).unwrap();
            bytes.extend([format!("{length} {key}=").as_bytes(), value, b"\n"].concat());
        }
        self.extension(EntryType::XHeader, &bytes).file(name, content)
    }

    /// The layer with its end.
    pub fn bytes(&self) -> Vec<u8> {
        [&self.tar[..], &[0; 1024]].concat()
    }

    pub fn gzip(mut self) -> Self {
        let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::best());
        encoder.write_all(&self.bytes()).unwrap();
        self.compressed = Some(encoder.finish().unwrap());
        self
    }

    pub fn zstd(mut self) -> Self {
        self.compressed = Some(zstd::encode_all(&self.bytes()[..], 3).unwrap());
        self
    }
}

/// A configuration with these settings, without the layers.
pub fn config(settings: &str) -> String {
    format!(
        r#"{{"architecture": "amd64", "os": "linux", "config": {{{settings}}}, "rootfs": {{"type": "layers", "diff_ids": [DIFF_IDS]}}}}"#
    )
}

/// An OCI layout in a temporary folder.
pub struct Layout {
    folder: tempfile::TempDir,
    layers: Vec<PathBuf>,
}

impl Layout {
    pub fn new(layers: &[Layer], config: &str) -> Self {
        Self::with_diff_ids(layers, config, |_| {})
    }

    /// As `new`, with changed digests of the layers after decompression.
    pub fn with_diff_ids(layers: &[Layer], config: &str, change: impl FnOnce(&mut Vec<String>)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let blobs = folder.path().join("blobs/sha256");
        fs::create_dir_all(&blobs).unwrap();
        let blob = |bytes: &[u8], kind: &str| {
            let digest = digest::bytes(bytes);
            let path = blobs.join(&digest);
            fs::write(&path, bytes).unwrap();
            let length = bytes.len();
            (
                path,
                format!(
                    r#"{{"mediaType": "application/vnd.oci.image.{kind}", "digest": "sha256:{digest}", "size": {length}}}"#
                ),
            )
        };
        let mut diff_ids: Vec<String> =
            layers.iter().map(|layer| format!("\"sha256:{}\"", digest::bytes(layer.bytes()))).collect();
        change(&mut diff_ids);
        let (_, config) = blob(config.replace("DIFF_IDS", &diff_ids.join(", ")).as_bytes(), "config.v1+json");
        let made = layers.iter().map(|layer| {
            let bytes = layer.compressed.clone().unwrap_or_else(|| layer.bytes());
            blob(&bytes, "layer.v1.tar")
        });
        let (paths, described): (Vec<_>, Vec<_>) = made.unzip();
        let manifest =
            format!(r#"{{"schemaVersion": 2, "config": {config}, "layers": [{}]}}"#, described.join(", "));
        let (_, manifest) = blob(manifest.as_bytes(), "manifest.v1+json");
        let index = format!(r#"{{"schemaVersion": 2, "manifests": [{manifest}]}}"#);
        fs::write(folder.path().join("index.json"), index).unwrap();
        fs::write(folder.path().join("oci-layout"), r#"{"imageLayoutVersion": "1.0.0"}"#).unwrap();
        Self { folder, layers: paths }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The file of a layer.
    pub fn layer(&self, number: usize) -> &Path {
        &self.layers[number]
    }

    /// Replaces text in a file of the layout.
    pub fn edit(&self, name: &str, from: &str, to: &str) {
        let path = self.path().join(name);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, text.replace(from, to)).unwrap();
    }
}
