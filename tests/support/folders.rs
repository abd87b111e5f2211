//! The content of folders.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The content of each file in a folder, by its path in it.
pub fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = walkdir::WalkDir::new(folder).into_iter().map(|file| file.unwrap().into_path());
    let name = |path: &Path| path.strip_prefix(folder).unwrap().to_owned();
    files.filter(|path| path.is_file()).map(|path| (name(&path), fs::read(path).unwrap())).collect()
}
