//! A file that is written under a temporary name and renamed when it is complete.

use super::write::files;
use mcc_base::temporary::{self, without_temporary_path};
use mcc_base::{FileError, OnFile};
use serde::Serialize;
use std::borrow::Cow;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file that is written under a temporary name and renamed when it is complete.
pub struct AtomicFile {
    path: PathBuf,
    out: BufWriter<NamedTempFile>,
}

impl AtomicFile {
    /// Creates the temporary file in the folder of `path`.
    pub fn new(path: &Path) -> Result<Self, FileError> {
        let file = temporary::file_beside(path).on("write", path)?;
        Ok(Self { path: path.to_owned(), out: BufWriter::with_capacity(1 << 16, file) })
    }

    /// Returns the final path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a text.
    pub fn text(&mut self, text: &str) -> Result<(), FileError> {
        self.bytes(text.as_bytes())
    }

    /// Writes bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        self.out.write_all(bytes).map_err(without_temporary_path).on("write", &self.path)
    }

    /// Writes a value as JSON.
    pub fn value(&mut self, value: &impl Serialize) -> Result<(), FileError> {
        let written = serde_json::to_writer(&mut self.out, value).map_err(std::io::Error::from);
        written.map_err(without_temporary_path).on("write", &self.path)
    }

    /// Writes a field of a JSON object, followed by `end`.
    pub fn field(&mut self, name: &str, value: &impl Serialize, end: &str) -> Result<(), FileError> {
        self.text(&format!("\"{name}\":"))?;
        self.value(value)?;
        self.text(end)
    }

    /// Writes a row of a CSV table.
    pub fn row<T: AsRef<str>>(&mut self, fields: impl IntoIterator<Item = T>) -> Result<(), FileError> {
        let mut between = "";
        for text in fields {
            self.text(std::mem::replace(&mut between, ","))?;
            self.text(&field(text.as_ref()))?;
        }
        self.text("\n")
    }

    /// Writes buffered bytes to the temporary file.
    pub fn flush(&mut self) -> Result<(), FileError> {
        self.out.flush().map_err(without_temporary_path).on("write", &self.path)
    }

    /// Renames the complete file to its path and returns the path.
    pub fn rename(self) -> Result<PathBuf, FileError> {
        let Self { path, out } = self;
        let file = out.into_inner().map_err(std::io::IntoInnerError::into_error);
        let file = file.map_err(without_temporary_path).on("write", &path)?;
        let persisted = file.persist(&path).map_err(|error| without_temporary_path(error.error));
        persisted.on("write", &path)?;
        Ok(path)
    }
}

/// Returns a field of a CSV table, quoted where it contains a comma, a quote or the end of a line.
pub fn field(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text.into()
    }
}

/// Writes tables under temporary names and returns them, to be renamed.
pub fn table_files(tables: &[(&str, String)], dir: &Path) -> Result<Vec<AtomicFile>, FileError> {
    let file = |(name, content): &(&str, String)| {
        let mut file = AtomicFile::new(&dir.join(name))?;
        file.text(content)?;
        file.flush()?;
        Ok(file)
    };
    tables.iter().map(file).collect()
}

/// An empty file that is in a folder while its judgement is replaced.
pub const INCOMPLETE: &str = "judgement.incomplete";

/// Replaces the files of an earlier judgement in the folder. `judgement.json` is removed before the tables are replaced
/// and written after them, so that it is never in a folder with tables of another judgement. Other files of the earlier
/// judgement are removed.
pub fn replace(mut json: AtomicFile, mut tables: Vec<AtomicFile>, dir: &Path) -> Result<(), FileError> {
    tables.iter_mut().chain([&mut json]).try_for_each(AtomicFile::flush)?;
    let incomplete = dir.join(INCOMPLETE);
    // Without `judgement.json` a file with such a name does not belong to a judgement: it stays.
    let has_earlier = json.path().exists() || incomplete.exists();
    // Made like the other files, so that a link of this name is replaced and its target stays as it is.
    AtomicFile::new(&incomplete)?.rename()?;
    if has_earlier {
        let stays = |name: &&str| tables.iter().any(|table| table.path() == dir.join(name));
        files().filter(|name| !stays(name)).try_for_each(|name| remove(&dir.join(name)))?;
    }
    tables.into_iter().chain([json]).try_for_each(|file| file.rename().map(drop))?;
    // Another process that wrote the same judgement may have removed it.
    remove(&incomplete)
}

/// Removes a file, if there is one.
pub fn remove(path: &Path) -> Result<(), FileError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed.on("remove", path),
    }
}
