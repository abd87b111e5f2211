//! Disk images on the host, by digest.

use super::original_disk::OriginalFacts;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// A folder made by `image build` or `image inputs`: `image.json` and the files it names.
#[derive(Clone, Debug)]
pub struct Image {
    pub folder: PathBuf,
    pub facts: ImageFacts,
}

/// `image.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageFacts {
    /// Format of this file: 1.
    pub format: u32,
    /// `reference`, `tool`, `inputs` or `original`.
    pub kind: String,
    /// Version of mcc-harness that built it.
    pub built_by: String,
    /// File names within the folder: the disk, and for a bootable one its kernel and initrd.
    pub disk: String,
    pub boot: Option<Boot>,
    /// Of a disk that boots by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<OriginalFacts>,
    /// Debian packages (`name version`), for the people who read it later.
    #[serde(default)]
    pub packages: Vec<String>,
    /// Digest of the recipe and the package names `rootfs.tar` was made by.
    #[serde(rename = "rootfs_by", default, skip_serializing_if = "String::is_empty")]
    pub rootfs_recipe: String,
    /// Instances on an inputs disk, with the digests of their archives.
    #[serde(default)]
    pub instances: Vec<PackedInstance>,
    /// The edition an inputs disk was made for, where that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edition: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boot {
    pub kernel: String,
    pub initrd: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedInstance {
    pub instance: String,
    pub sha256: String,
}

pub const FORMAT: u32 = 1;

#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{} is no disk image of ours: no image.json in it (make one with `mcc-harness image build`)", .0.display())]
    NotAnImage(PathBuf),
    #[error("{}: {reason}", path.display())]
    Bad { path: PathBuf, reason: String },
}

impl Image {
    pub fn open(folder: &Path) -> Result<Self, ImageError> {
        let path = folder.join("image.json");
        let text = mcc_base::text::read(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                ImageError::NotAnImage(folder.to_owned())
            }
            _ => ImageError::Io { path: path.clone(), source },
        })?;
        let bad = |reason: String| ImageError::Bad { path: path.clone(), reason };
        let facts: ImageFacts = serde_json::from_str(&text).map_err(|e| bad(e.to_string()))?;
        if facts.format != FORMAT {
            return Err(bad(format!(
                "format {} (this version reads {FORMAT}): build the image again",
                facts.format
            )));
        }
        let image = Self { folder: folder.to_owned(), facts };
        for (_, file) in image.files() {
            if !file.is_file() {
                return Err(bad(format!("{} is missing: build the image again", file.display())));
            }
        }
        Ok(image)
    }

    pub fn disk(&self) -> PathBuf {
        self.folder.join(&self.facts.disk)
    }

    /// Kernel and initrd.
    ///
    /// # Errors
    /// The image is not bootable (an inputs disk).
    pub fn boot(&self) -> Result<(PathBuf, PathBuf), ImageError> {
        let boot = self.facts.boot.as_ref().ok_or_else(|| ImageError::Bad {
            path: self.folder.clone(),
            reason: format!(
                "a disk of kind {:?} cannot be booted: a tool's image is needed",
                self.facts.kind
            ),
        })?;
        Ok((self.folder.join(&boot.kernel), self.folder.join(&boot.initrd)))
    }

    /// Role and path of every file the machine sees.
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
