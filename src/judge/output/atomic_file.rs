//! A file under way: written beside its place, renamed there when it is whole.

use serde::Serialize;
use std::borrow::Cow;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("cannot write {path}")]
    Io { path: PathBuf, source: io::Error },
}

pub(crate) struct AtomicFile {
    path: PathBuf,
    out: BufWriter<NamedTempFile>,
}

impl AtomicFile {
    pub fn new(path: &Path) -> Result<Self, WriteError> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new();
        // As any file a user creates: the umask decides who else may read it.
        file.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        match file.tempfile_in(folder) {
            Ok(file) => Ok(Self { path: path.to_owned(), out: BufWriter::with_capacity(1 << 16, file) }),
            Err(source) => Err(WriteError::Io { path: path.to_owned(), source }),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn failed(&self, source: io::Error) -> WriteError {
        WriteError::Io { path: self.path.clone(), source }
    }

    pub fn text(&mut self, text: &str) -> Result<(), WriteError> {
        self.bytes(text.as_bytes())
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        self.out.write_all(bytes).map_err(|source| self.failed(source))
    }

    pub fn value(&mut self, value: &impl Serialize) -> Result<(), WriteError> {
        serde_json::to_writer(&mut self.out, value).map_err(|error| self.failed(error.into()))
    }

    /// A field of a JSON object.
    pub fn field(&mut self, name: &str, value: &impl Serialize, end: &str) -> Result<(), WriteError> {
        self.text(&format!("\"{name}\":"))?;
        self.value(value)?;
        self.text(end)
    }

    /// A row of a table.
    pub fn row<T: AsRef<str>>(&mut self, fields: impl IntoIterator<Item = T>) -> Result<(), WriteError> {
        let mut between = "";
        for text in fields {
            self.text(std::mem::replace(&mut between, ","))?;
            self.text(&field(text.as_ref()))?;
        }
        self.text("\n")
    }

    pub fn flush(&mut self) -> Result<(), WriteError> {
        self.out.flush().map_err(|source| self.failed(source))
    }

    /// Puts it in its place.
    pub fn rename(self) -> Result<PathBuf, WriteError> {
        let Self { path, out } = self;
        let failed = |source| WriteError::Io { path: path.clone(), source };
        let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        Ok(path)
    }
}

/// Quoted where a name needs it; a name is no formula to us, but commas and quotes must not break a row.
pub(crate) fn field(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text.into()
    }
}
