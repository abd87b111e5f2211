use super::Failure;
use crate::archive::{ArchiveError, ArchiveLimits, unpack};
use anyhow::Context;
use std::path::{Path, PathBuf};

/// A record to read: a folder as it is, an archive unpacked to a folder that goes with this.
pub struct RecordSource {
    pub folder: PathBuf,
    _unpacked: Option<tempfile::TempDir>,
}

/// Opens RESULTS, the folder of an unpacked archive, or an archive.
pub fn open(path: &Path) -> Result<RecordSource, Failure> {
    if path.is_dir() {
        return Ok(RecordSource { folder: path.to_owned(), _unpacked: None });
    }
    let unpacked = tempfile::Builder::new()
        .prefix("mcc-archive-")
        .tempdir()
        .context("cannot make a folder for the archive's files; TMPDIR says where they go")?;
    unpack(path, unpacked.path(), ArchiveLimits::default()).map_err(failure)?;
    Ok(RecordSource { folder: unpacked.path().to_owned(), _unpacked: Some(unpacked) })
}

/// An archive or a record that cannot be used is bad input; trouble with files of ours is not.
pub fn failure(error: ArchiveError) -> Failure {
    match error {
        ArchiveError::Store(error) if !error.is_usage() => error.into(),
        ArchiveError::Write(error) => error.into(),
        error => Failure::usage(error),
    }
}
