//! Detects changes of disks during a campaign, because their digests are in the record.

use super::ExecutorError;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Device, inode, size and modification time of files. A check needs one `stat` per file.
#[derive(Clone, Debug, Default)]
pub struct FileStamps(Vec<(PathBuf, FileStamp)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileStamp {
    file: (u64, u64),
    bytes: u64,
    modified: (i64, i64),
}

impl FileStamp {
    fn at(path: &Path) -> io::Result<Self> {
        let found = fs::metadata(path)?;
        Ok(Self {
            file: (found.dev(), found.ino()),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
        })
    }
}

impl FileStamps {
    /// Adds a file. Call this before the file is digested, so that a change during that time is detected.
    ///
    /// # Errors
    /// The metadata of the file cannot be read.
    pub fn add(&mut self, path: &Path) -> io::Result<()> {
        self.0.push((path.to_owned(), FileStamp::at(path)?));
        Ok(())
    }

    /// Compares all files with their stamps.
    ///
    /// # Errors
    /// `ExecutorError::DiskChanged`: a file was replaced, written to or removed.
    pub(super) fn check_unchanged(&self) -> Result<(), ExecutorError> {
        self.0.iter().try_for_each(|(path, seen)| {
            let what = match FileStamp::at(path) {
                Ok(now) if now == *seen => return Ok(()),
                Ok(now) if now.file != seen.file => "it was replaced by another file".to_owned(),
                Ok(now) if now.bytes != seen.bytes => format!("{} bytes, before {}", now.bytes, seen.bytes),
                Ok(_) => "it was written to".to_owned(),
                Err(error) => error.to_string(),
            };
            Err(ExecutorError::DiskChanged { path: path.clone(), what })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_replaced_changed_or_removed_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        let changes: [(&str, &dyn Fn()); 4] = [
            ("replaced by another file", &|| {
                fs::write(folder.path().join("new"), "disk").unwrap();
                fs::rename(folder.path().join("new"), &path).unwrap();
            }),
            ("5 bytes, before 4", &|| {
                fs::File::options().append(true).open(&path).unwrap().write_all(b"!").unwrap();
            }),
            ("it was written to", &|| {
                let disk = fs::File::options().write(true).open(&path).unwrap();
                disk.set_modified(std::time::UNIX_EPOCH).unwrap();
            }),
            ("No such file", &|| fs::remove_file(&path).unwrap()),
        ];
        for (words, change) in changes {
            fs::write(&path, "disk").unwrap();
            let mut file_stamps = FileStamps::default();
            file_stamps.add(&path).unwrap();
            file_stamps.check_unchanged().unwrap();
            change();
            let error = file_stamps.check_unchanged().unwrap_err().to_string();
            assert!(error.contains(words) && error.contains(path.to_str().unwrap()), "{error}");
        }
    }
}
