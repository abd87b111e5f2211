//! Files that stay open from before their digest until the end of a campaign, because the record has their digests.
//! Machines read the open files, so that another file with the same name is never read; a change of a file is detected.

use mcc_base::digest;
use mcc_base::files::FileStamp;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An open file with its state at the moment when it was opened.
#[derive(Clone, Debug)]
pub struct HeldFile {
    file: Arc<File>,
    stamp: FileStamp,
}

impl HeldFile {
    /// Opens a regular file.
    ///
    /// # Errors
    /// The file cannot be opened, or is not regular but, for example, a symbolic link.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = mcc_base::files::open_own(path)?;
        let stamp = FileStamp::from_metadata(&file.metadata()?);
        Ok(Self { file: Arc::new(file), stamp })
    }

    /// Opens a regular file, and returns it with the digest and the length of what is in the open file.
    ///
    /// # Errors
    /// The file cannot be opened or read, or is not regular.
    pub fn open_digested(path: &Path) -> io::Result<(Self, String, u64)> {
        let file = Self::open(path)?;
        let (sha256, bytes) = digest::of_open(file.reopen()?)?;
        Ok((file, sha256, bytes))
    }

    /// Opens the same file again, with an offset and locks of its own.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn reopen(&self) -> io::Result<File> {
        reopen(&self.file)
    }
}

/// Opens an open file again, with an offset and locks of its own.
pub(super) fn reopen(file: &File) -> io::Result<File> {
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

impl PartialEq for HeldFile {
    fn eq(&self, other: &Self) -> bool {
        self.stamp == other.stamp
    }
}

impl Eq for HeldFile {}

/// Held files by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldFiles(BTreeMap<PathBuf, HeldFile>);

impl HeldFiles {
    /// Adds a file, whose digest is computed of `HeldFile::reopen` after this.
    pub fn add(&mut self, path: &Path, file: HeldFile) {
        self.0.insert(path.to_owned(), file);
    }

    /// The held file with this path.
    pub fn get(&self, path: &Path) -> Option<&HeldFile> {
        self.0.get(path)
    }

    /// Opens a held file, or else the file with this path.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(&self, path: &Path) -> io::Result<File> {
        self.get(path).map_or_else(|| mcc_base::files::open(path), HeldFile::reopen)
    }

    /// Compares all files with their state when they were opened.
    ///
    /// # Errors
    /// The path of a file that was replaced, changed or removed, and what is different.
    pub fn check_unchanged(&self) -> Result<(), (PathBuf, String)> {
        self.0.iter().try_for_each(|(path, held)| {
            let seen = held.stamp;
            let now = path.metadata().map(|found| FileStamp::from_metadata(&found));
            let what = match now {
                Ok(now) if now == seen => return Ok(()),
                Ok(now) if now.file != seen.file => "it was replaced by another file".to_owned(),
                Ok(now) if now.bytes != seen.bytes => format!("{} bytes, before {}", now.bytes, seen.bytes),
                Ok(now) if now.modified != seen.modified => "it was written to".to_owned(),
                Ok(_) => "it was written to and its time set back, or its name, owner or mode was changed"
                    .to_owned(),
                Err(error) => error.to_string(),
            };
            Err((path.clone(), what))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::{Read, Write};

    fn held(path: &Path) -> HeldFiles {
        let mut files = HeldFiles::default();
        files.add(path, HeldFile::open(path).unwrap());
        files
    }

    #[test]
    fn a_replaced_changed_or_removed_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        let writable = || fs::File::options().write(true).open(&path).unwrap();
        let changes: [(&str, &dyn Fn()); 5] = [
            ("replaced by another file", &|| {
                fs::write(folder.path().join("new"), "disk").unwrap();
                fs::rename(folder.path().join("new"), &path).unwrap();
            }),
            ("5 bytes, before 4", &|| {
                fs::File::options().append(true).open(&path).unwrap().write_all(b"!").unwrap();
            }),
            ("it was written to", &|| writable().set_modified(std::time::UNIX_EPOCH).unwrap()),
            ("its time set back", &|| {
                let before = path.metadata().unwrap().modified().unwrap();
                writable().write_all(b"evil").unwrap();
                writable().set_modified(before).unwrap();
            }),
            ("No such file", &|| fs::remove_file(&path).unwrap()),
        ];
        for (words, change) in changes {
            fs::write(&path, "disk").unwrap();
            let files = held(&path);
            files.check_unchanged().unwrap();
            // The kernel's clock for times of files has steps of some milliseconds.
            let seen = path.metadata().unwrap();
            while FileStamp::from_metadata(&seen).changed >= clock_of(folder.path()) {}
            change();
            let (changed, what) = files.check_unchanged().unwrap_err();
            assert!(what.contains(words) && changed == path, "{what}");
        }
    }

    /// The time that a file gets which is made now.
    fn clock_of(folder: &Path) -> (i64, i64) {
        let made = tempfile::tempfile_in(folder).unwrap().metadata().unwrap();
        FileStamp::from_metadata(&made).changed
    }

    #[test]
    fn a_held_file_is_read_whatever_has_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        fs::write(&path, "disk").unwrap();
        let files = held(&path);
        fs::rename(&path, folder.path().join("away")).unwrap();
        fs::write(&path, "evil").unwrap();
        for _ in 0..2 {
            let mut text = String::new();
            files.open(&path).unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, "disk", "each open file begins at the start");
        }
    }
}
