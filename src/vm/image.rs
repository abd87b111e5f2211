//! Image folders on the host: a disk and its description.

use super::disk_header::DiskFile;
use super::disk_header::{DiskError, check_disk};
use super::original_disk::OriginalFacts;
use mcc_base::{FileError, files};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Component, Path, PathBuf};

/// An image folder: `image.json` and the files that it names. `image build`, `image inputs` and `image import` make it.
#[derive(Clone, Debug)]
pub struct Image {
    /// The folder.
    pub folder: PathBuf,
    /// The content of `image.json`.
    pub facts: ImageFacts,
}

/// The content of `image.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageFacts {
    /// Version of the format of this file: 1.
    pub format: u32,
    /// `reference`, `tool`, `inputs` or `original`.
    pub kind: String,
    /// Version of mcc-harness that built the image.
    pub built_by: String,
    /// File name of the disk within the folder.
    pub disk: String,
    /// Kernel and initrd of a disk that QEMU boots directly.
    pub boot: Option<Boot>,
    /// Properties of a disk with its own bootloader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<OriginalFacts>,
    /// Debian packages on the disk (`name version`), for information.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Digest of the recipe and the package names from which `rootfs.tar` was made.
    #[serde(rename = "rootfs_by", default, skip_serializing_if = "String::is_empty")]
    pub rootfs_recipe: String,
    /// Digest of `rootfs.tar` in the folder of a reference image, so that a changed file is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rootfs_sha256: Option<String>,
    /// From what the disk was made, for information.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_from: Option<MadeFrom>,
    /// Instances on an inputs disk, with the digests of their archives.
    #[serde(default)]
    pub instances: Vec<PackedInstance>,
    /// The edition for which an inputs disk was made, if it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edition: Option<String>,
    /// Name of a file that was left out of the archives on an inputs disk; None: the archives are complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

/// From what a disk was made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MadeFrom {
    /// The reference image of a tool's disk or a kit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Source>,
    /// The names given with `--packages`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packages_asked: Vec<String>,
    /// The folder given with `--tool`; its digest is that of `digest::folder`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Source>,
    /// The container given with `--container`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<ContainerSource>,
}

/// A folder or file from which a disk was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The last part of its path.
    pub name: String,
    /// Digest: of a reference image, that of its disk.
    pub sha256: String,
}

/// A container from which a disk was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContainerSource {
    /// The archive; the digest of a folder is that of `digest::folder`.
    pub archive: Source,
    /// Name and tag in the archive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Digest of the OCI manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest_sha256: Option<String>,
    /// Digest of the configuration: the id of the container in Docker.
    pub config_sha256: String,
    /// Digests of the layers after decompression, as the configuration lists them.
    pub layers: Vec<String>,
}

/// Names of the files that QEMU boots, within the image folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boot {
    /// File name of the kernel.
    pub kernel: String,
    /// File name of the initrd.
    pub initrd: String,
}

/// An instance archive on an inputs disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedInstance {
    /// Name of the instance.
    pub instance: String,
    /// Digest of the archive.
    pub sha256: String,
}

/// The files in the folder of a reference image on which others are built.
pub(super) const REFERENCE_FILES: [&str; 2] = ["rootfs.tar", "kernel.deb"];

/// The version of `image.json` that this program reads and writes.
const FORMAT: u32 = 1;

impl ImageFacts {
    /// The facts of an image that this version builds: `kind` and the file name of the disk, and nothing else.
    pub fn new(kind: &str, disk: &str) -> Self {
        let built_by = env!("CARGO_PKG_VERSION").to_owned();
        Self { format: FORMAT, kind: kind.to_owned(), built_by, disk: disk.to_owned(), ..Self::default() }
    }
}

/// An error of opening an image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] mcc_base::FileError),
    /// The folder has no `image.json`.
    #[error("{} is not an image folder: it has no image.json (make an image with `mcc-harness image build`)", .0.display())]
    NotAnImage(PathBuf),
    /// There is no folder.
    #[error("{} does not exist; give an image folder", .0.display())]
    NoFolder(PathBuf),
    /// qemu-img does not start.
    #[error("qemu-img: {0}; install the package qemu-utils (scripts/setup does this)")]
    NoQemuImg(#[source] std::io::Error),
    /// The disk cannot be used.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The image cannot be used.
    #[error("{}: {reason}", path.display())]
    Bad {
        /// The image or its `image.json`.
        path: PathBuf,
        /// The cause, with the remedy.
        reason: String,
    },
}

impl Image {
    /// Opens an image folder and checks that its files exist and are no links.
    ///
    /// # Errors
    /// `image.json` is missing, cannot be read or has another format, a file that it names is missing or not regular, or
    /// the disk is refused (`check_disk`).
    pub fn open(folder: &Path) -> Result<Self, ImageError> {
        let path = folder.join("image.json");
        let read = files::open_own(&path).and_then(|_| mcc_base::text::read(&path));
        let text = read.map_err(|source| match source.kind() {
            io::ErrorKind::NotFound if !folder.exists() => ImageError::NoFolder(folder.to_owned()),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                ImageError::NotAnImage(folder.to_owned())
            }
            _ => FileError { action: "read", path: path.clone(), source }.into(),
        })?;
        let bad = |reason: String| ImageError::Bad { path: path.clone(), reason };
        let facts: ImageFacts = serde_json::from_str(&text).map_err(|e| bad(e.to_string()))?;
        if facts.format != FORMAT {
            return Err(bad(format!(
                "the image has format {}, but this version reads format {FORMAT}: build the image again",
                facts.format
            )));
        }
        let boot = facts.boot.iter().flat_map(|boot| [&boot.kernel, &boot.initrd]);
        for name in [&facts.disk].into_iter().chain(boot) {
            let mut parts = Path::new(name).components();
            if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
                return Err(bad(format!(
                    "{name:?} is not the name of a file in the image folder: correct it"
                )));
            }
        }
        let image = Self { folder: folder.to_owned(), facts };
        let needed = image.files().into_iter().map(|(_, file)| (file, true));
        let of_reference = REFERENCE_FILES.map(|name| (folder.join(name), false));
        for (file, is_needed) in needed.chain(of_reference) {
            // A link could lead to a file of the host that its author may not read.
            match files::open_own(&file) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound && !is_needed => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(bad(format!(
                        "{} is missing: build the image again, or, if its campaign was made by `import`, see README.txt \
                         beside its campaign.toml",
                        file.display()
                    )));
                }
                Err(source) => return Err(FileError { action: "read", path: file, source }.into()),
            }
        }
        check_disk(&image.disk_file())?;
        Ok(image)
    }

    /// Returns the disk with the format that its kind of image has.
    pub fn disk_file(&self) -> DiskFile {
        let format = match (&self.facts.original, self.facts.kind.as_str()) {
            (Some(original), _) => original.format.as_str(),
            (None, "inputs") => "raw",
            (None, _) => "qcow2",
        };
        DiskFile::new(self.disk(), format)
    }

    /// Returns the path of the disk.
    pub fn disk(&self) -> PathBuf {
        self.folder.join(&self.facts.disk)
    }

    /// Returns the paths of kernel and initrd.
    ///
    /// # Errors
    /// The image has none, such as an inputs disk.
    pub fn boot(&self) -> Result<(PathBuf, PathBuf), ImageError> {
        let boot = self.facts.boot.as_ref().ok_or_else(|| ImageError::Bad {
            path: self.folder.clone(),
            reason: format!("a disk of kind {:?} has no kernel to boot: use a tool's image", self.facts.kind),
        })?;
        Ok((self.folder.join(&boot.kernel), self.folder.join(&boot.initrd)))
    }

    /// Returns role and path of every file that a machine uses.
    pub fn files(&self) -> Vec<(&'static str, PathBuf)> {
        let role = if self.facts.kind == "inputs" { "inputs" } else { "disk" };
        let mut files = vec![(role, self.disk())];
        if let Some(boot) = &self.facts.boot {
            files.push(("kernel", self.folder.join(&boot.kernel)));
            files.push(("initrd", self.folder.join(&boot.initrd)));
        }
        files
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_in_an_image_folder_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (image, secret) = (folder.path().join("image"), folder.path().join("secret"));
        fs::create_dir(&image).unwrap();
        let boot = Boot { kernel: "vmlinux".to_owned(), initrd: "initrd".to_owned() };
        let facts = ImageFacts { boot: Some(boot), ..ImageFacts::new("inputs", "disk") };
        fs::write(&secret, serde_json::to_string(&facts).unwrap()).unwrap();
        let files = ["image.json", "disk", "vmlinux", "initrd", "rootfs.tar", "kernel.deb"];
        for name in files {
            fs::copy(&secret, image.join(name)).unwrap();
        }
        Image::open(&image).unwrap();
        for name in files {
            let (file, aside) = (image.join(name), folder.path().join("aside"));
            fs::rename(&file, &aside).unwrap();
            symlink("../secret", &file).unwrap();
            let error = Image::open(&image).unwrap_err().to_string();
            let words = "it is a symbolic link; give a regular file";
            assert!(error.contains(name) && error.ends_with(words), "{error}");
            fs::rename(&aside, &file).unwrap();
        }
        // A link of the user to the folder or to a disk.
        let [link, disk] = ["link", "disk-link"].map(|name| folder.path().join(name));
        symlink(&image, &link).unwrap();
        Image::open(&link).unwrap();
        fs::File::options().write(true).open(image.join("disk")).unwrap().set_len(4096).unwrap();
        symlink(image.join("disk"), &disk).unwrap();
        let opened = Image::of_file(&disk).unwrap();
        crate::HeldFile::open(&opened.disk()).unwrap();
        assert!(crate::HeldFile::open(&disk).is_err());
    }
}
