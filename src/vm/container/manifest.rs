//! Finds the one container of an archive: its configuration and its layers.

use crate::container::error::ContainerError;
use crate::container::store::Store;
use mcc_base::digest;
use oci_spec::image::{Arch, Descriptor, ImageConfiguration, ImageIndex, ImageManifest, Os};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

/// The largest JSON file, bytes.
const MAX_JSON: u64 = 4 << 20;
/// The deepest index within an index.
const MAX_DEPTH: u32 = 3;
/// The largest number of layers. Docker permits 127.
const MAX_LAYERS: usize = 1000;
/// The largest number of entries of all indexes together: each may name a further index.
const MAX_DESCRIPTORS: usize = 1000;

/// The container of an archive.
pub(crate) struct Manifest {
    /// Its name with tag, if the archive has one.
    pub name: Option<String>,
    /// Digest of the OCI manifest; a `docker save` archive of an old Docker has none.
    pub digest: Option<String>,
    /// Digest of the configuration.
    pub config_digest: String,
    pub config: ImageConfiguration,
    /// The layers, the first one at the bottom.
    pub layers: Vec<Layer>,
}

/// A layer, not read yet.
pub(crate) struct Layer {
    /// Its file in the archive.
    pub file: String,
    /// Digest and size in bytes of the file, if the archive states them.
    pub stated: Option<(String, u64)>,
    /// Digest of the layer after decompression.
    pub diff_id: String,
}

/// An entry of the `manifest.json` that `docker save` writes.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DockerManifest {
    config: String,
    repo_tags: Option<Vec<String>>,
    layers: Vec<String>,
}

/// The media types of an image and of an index: those of OCI and the older ones of Docker.
const MANIFESTS: [&str; 2] =
    ["application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json"];
const INDEXES: [&str; 2] =
    ["application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json"];
const CONFIGS: [&str; 2] =
    ["application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json"];

struct Reader<'a> {
    store: &'a Store,
    path: &'a Path,
    /// Descriptors of images for this platform, without repetition.
    found: Vec<Descriptor>,
    /// Platforms of the other images.
    others: Vec<String>,
    /// Digests of the indexes that were read: an index may be named again and again.
    indexes: BTreeSet<String>,
    /// Entries of all indexes that were read.
    descriptors: usize,
}

/// Finds the container. The archive must have exactly one for linux/amd64.
pub(crate) fn find(store: &Store, path: &Path) -> Result<Manifest, ContainerError> {
    let mut reader =
        Reader { store, path, found: vec![], others: vec![], indexes: BTreeSet::new(), descriptors: 0 };
    let manifest = if store.has("index.json") {
        reader.oci()?
    } else if store.has("manifest.json") {
        reader.docker()?
    } else {
        let hint = if ["etc/passwd", "bin", "usr/bin/env"].iter().any(|name| store.has(name)) {
            "it looks like a file system (docker export): use docker save, which keeps ENV and the layers"
        } else {
            "make it with `docker save NAME -o FILE` or `skopeo copy ... oci-archive:FILE`"
        };
        return Err(reader.refused(format!("it has neither index.json nor manifest.json: {hint}")));
    };
    reader.check(&manifest)?;
    Ok(manifest)
}

impl Reader<'_> {
    fn refused(&self, reason: String) -> ContainerError {
        ContainerError::Archive { path: self.path.to_owned(), reason }
    }

    /// Reads a JSON file and returns its digest and its size in bytes.
    fn json<T: DeserializeOwned>(&self, name: &str) -> Result<(T, String, u64), ContainerError> {
        let blob = self.store.file(name)?.ok_or_else(|| self.refused(format!("{name} is missing")))?;
        if blob.size > MAX_JSON {
            return Err(self.refused(format!("{name} has {} bytes, more than {MAX_JSON}", blob.size)));
        }
        let mut bytes = Vec::new();
        let size = blob.size;
        blob.take(MAX_JSON)
            .read_to_end(&mut bytes)
            .map_err(|error| self.refused(format!("{name}: {error}")))?;
        if bytes.len() as u64 != size {
            return Err(self.refused(format!("{name}: the archive ends within it")));
        }
        let refused = |error: serde_json::Error| self.refused(format!("{name}: {error}"));
        let mut json: serde_json::Value = serde_json::from_slice(&bytes).map_err(refused)?;
        remove_nulls(&mut json);
        let value = serde_json::from_value(json).map_err(refused)?;
        Ok((value, digest::bytes(&bytes), size))
    }

    /// Reads a JSON file with this descriptor.
    fn described<T: DeserializeOwned>(&self, descriptor: &Descriptor) -> Result<T, ContainerError> {
        let (file, stated) = self.blob_file(descriptor)?;
        let (value, found, size) = self.json(&file)?;
        if found != stated {
            return Err(self.refused(wrong_digest(&file, &found, &stated)));
        }
        if size != descriptor.size() {
            return Err(self.refused(wrong_size(&file, size, descriptor.size())));
        }
        Ok(value)
    }

    /// The file of a descriptor, and its digest.
    fn blob_file(&self, descriptor: &Descriptor) -> Result<(String, String), ContainerError> {
        let digest = descriptor.digest().to_string();
        match digest.strip_prefix("sha256:").filter(|digits| is_sha256(digits)) {
            Some(digits) => Ok((format!("blobs/sha256/{digits}"), digits.to_owned())),
            None => Err(self.refused(format!("the digest {digest:?} is not a sha256 digest"))),
        }
    }

    fn oci(&mut self) -> Result<Manifest, ContainerError> {
        let (index, ..): (ImageIndex, _, _) = self.json("index.json")?;
        self.search(&index, 0)?;
        let name_of = |descriptor: &Descriptor| {
            let annotations = descriptor.annotations().as_ref()?;
            // Docker writes the full name here, and only the tag into the name of OCI.
            let names = ["io.containerd.image.name", "org.opencontainers.image.ref.name"];
            names.iter().find_map(|key| annotations.get(*key).cloned())
        };
        let descriptor = match &self.found[..] {
            [descriptor] => descriptor,
            [] if self.others.is_empty() => {
                return Err(self.refused("its index.json names no container".to_owned()));
            }
            [] => {
                let platforms = self.others.join(", ");
                return Err(self.refused(format!(
                    "it has no container for linux/amd64, only for {platforms}: build it with --platform linux/amd64"
                )));
            }
            several => {
                let names = several
                    .iter()
                    .map(|descriptor| name_of(descriptor).unwrap_or_else(|| descriptor.digest().to_string()));
                let names = names.collect::<Vec<_>>().join(", ");
                return Err(self.refused(format!("it has several containers ({names}): save one of them")));
            }
        };
        let manifest: ImageManifest = self.described(descriptor)?;
        let config_type = manifest.config().media_type().to_string();
        if !CONFIGS.contains(&config_type.as_str()) {
            return Err(self
                .refused(format!("it is not a container: its configuration has the type {config_type:?}")));
        }
        let config: ImageConfiguration = self.described(manifest.config())?;
        self.check_layers(manifest.layers().len(), &config)?;
        let mut layers = vec![];
        for (layer, diff_id) in manifest.layers().iter().zip(config.rootfs().diff_ids()) {
            let media_type = layer.media_type().to_string();
            if ![".tar", "+gzip", "+zstd", ".gzip", ".zstd"].iter().any(|end| media_type.ends_with(end)) {
                return Err(
                    self.refused(format!("a layer has the type {media_type:?}, which is not supported"))
                );
            }
            let (file, digest) = self.blob_file(layer)?;
            layers.push(Layer { file, stated: Some((digest, layer.size())), diff_id: diff_id.clone() });
        }
        let name = name_of(descriptor);
        let (_, digest) = self.blob_file(descriptor)?;
        let (_, config_digest) = self.blob_file(manifest.config())?;
        Ok(Manifest { name, digest: Some(digest), config_digest, config, layers })
    }

    /// Collects the images of an index.
    fn search(&mut self, index: &ImageIndex, depth: u32) -> Result<(), ContainerError> {
        self.descriptors += index.manifests().len();
        if depth > MAX_DEPTH || self.descriptors > MAX_DESCRIPTORS {
            return Err(self.refused(format!(
                "its index with those in it has more than {MAX_DEPTH} levels or {MAX_DESCRIPTORS} entries: save one \
                 container"
            )));
        }
        for descriptor in index.manifests() {
            // Notes about another image, such as how it was built.
            let annotations = descriptor.annotations().iter().flatten();
            if annotations.into_iter().any(|(key, _)| key == "vnd.docker.reference.type") {
                continue;
            }
            let media_type = descriptor.media_type().to_string();
            if INDEXES.contains(&media_type.as_str()) {
                if self.indexes.insert(descriptor.digest().to_string()) {
                    let inner: ImageIndex = self.described(descriptor)?;
                    self.search(&inner, depth + 1)?;
                }
            } else if MANIFESTS.contains(&media_type.as_str()) {
                let platform = descriptor.platform().as_ref();
                match platform.filter(|platform| !is_amd64(platform.os(), platform.architecture())) {
                    Some(other) => self.others.push(format!("{}/{}", other.os(), other.architecture())),
                    None if self.found.iter().any(|known| known.digest() == descriptor.digest()) => {}
                    None => self.found.push(descriptor.clone()),
                }
            } else {
                return Err(self.refused(format!(
                    "its index has an entry of the type {media_type:?}, which is not a container"
                )));
            }
        }
        Ok(())
    }

    fn docker(&self) -> Result<Manifest, ContainerError> {
        let (mut manifests, ..): (Vec<DockerManifest>, _, _) = self.json("manifest.json")?;
        let (Some(manifest), true) = (manifests.pop(), manifests.is_empty()) else {
            let several =
                format!("its manifest.json names {} containers: save one container", manifests.len() + 1);
            let none = "its manifest.json names no container".to_owned();
            return Err(self.refused(if manifests.is_empty() { none } else { several }));
        };
        let (config, config_digest, _): (ImageConfiguration, _, _) = self.json(&manifest.config)?;
        // The file is named by its digest.
        let stem = manifest.config.rsplit('/').next().unwrap_or_default();
        let stem = stem.strip_suffix(".json").unwrap_or(stem);
        if is_sha256(stem) && stem != config_digest {
            return Err(self.refused(wrong_digest(&manifest.config, &config_digest, stem)));
        }
        self.check_layers(manifest.layers.len(), &config)?;
        let layers = manifest.layers.into_iter().zip(config.rootfs().diff_ids());
        let layers =
            layers.map(|(file, diff_id)| Layer { file, stated: None, diff_id: diff_id.clone() }).collect();
        let name = manifest.repo_tags.unwrap_or_default().into_iter().next();
        Ok(Manifest { name, digest: None, config_digest, config, layers })
    }

    fn check_layers(&self, layers: usize, config: &ImageConfiguration) -> Result<(), ContainerError> {
        let ids = config.rootfs().diff_ids().len();
        if layers != ids {
            return Err(self.refused(format!("its manifest has {layers} layers and its configuration {ids}")));
        }
        if layers > MAX_LAYERS {
            return Err(self.refused(format!("it has {layers} layers, more than {MAX_LAYERS}")));
        }
        match config.rootfs().diff_ids().iter().find(|id| !id.strip_prefix("sha256:").is_some_and(is_sha256))
        {
            None => Ok(()),
            Some(id) => Err(self.refused(format!("the digest {id:?} of a layer is not a sha256 digest"))),
        }
    }

    /// Checks the platform of the configuration, which no one may have stated in the index.
    fn check(&self, manifest: &Manifest) -> Result<(), ContainerError> {
        let config = &manifest.config;
        let unsuitable = |reason: String| ContainerError::Unsuitable { path: self.path.to_owned(), reason };
        if !is_amd64(config.os(), config.architecture()) {
            let platform = format!("{}/{}", config.os(), config.architecture());
            return Err(unsuitable(format!(
                "it is for {platform}, and the machine is linux/amd64: build it with --platform linux/amd64"
            )));
        }
        match config.variant().as_deref().unwrap_or_default() {
            "" | "v1" | "v2" => Ok(()),
            other => Err(unsuitable(format!(
                "it is for amd64/{other}, and the processor of the machine (Sandy Bridge) has the level v2: build it \
                 with --platform linux/amd64"
            ))),
        }
    }
}

/// Removes keys without a value: Docker writes `null` where OCI omits the key.
fn remove_nulls(json: &mut serde_json::Value) {
    if let Some(object) = json.as_object_mut() {
        object.retain(|_, value| !value.is_null());
        object.values_mut().for_each(remove_nulls);
    } else if let Some(list) = json.as_array_mut() {
        list.iter_mut().for_each(remove_nulls);
    }
}

fn is_amd64(os: &Os, architecture: &Arch) -> bool {
    (os, architecture) == (&Os::Linux, &Arch::Amd64)
}

fn is_sha256(digits: &str) -> bool {
    digits.len() == 64 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The message for a file with another size than its descriptor states.
fn wrong_size(file: &str, found: u64, stated: u64) -> String {
    format!(
        "{file} has {found} bytes instead of {stated}: the archive is damaged or was changed, so save it again"
    )
}

/// The message for a file that is not what was saved.
pub(crate) fn wrong_digest(file: &str, found: &str, stated: &str) -> String {
    format!(
        "{file} has the digest {found} instead of {stated}: the archive is damaged or was changed, so save it again"
    )
}
