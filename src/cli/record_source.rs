use super::Failure;
use super::failure::{export_failure, write_failure};
use crate::archive::{ArchiveError, ArchiveLimits, unpack};
use anyhow::Context;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A record to read. An archive is unpacked into a temporary folder that is removed with this value.
pub struct RecordSource {
    /// The folder of the record.
    pub folder: PathBuf,
    _unpacked: Option<tempfile::TempDir>,
}

/// Whether a file is an archive: it begins as zstd does.
pub fn is_archive(path: &Path) -> bool {
    let mut magic = [0; 4];
    let read = mcc_base::files::open(path).and_then(|mut file| file.read_exact(&mut magic));
    read.is_ok() && magic == [0x28, 0xb5, 0x2f, 0xfd]
}

/// Opens RESULTS, the folder of an unpacked archive, or an archive.
pub fn open(path: &Path) -> Result<RecordSource, Failure> {
    if path.is_dir() {
        return Ok(RecordSource { folder: path.to_owned(), _unpacked: None });
    }
    let unpacked = tempfile::Builder::new().prefix("mcc-archive-").tempdir().context(
        "cannot create a temporary folder for the archive's files; set TMPDIR to a folder with enough space",
    )?;
    unpack(path, unpacked.path(), ArchiveLimits::default()).map_err(failure)?;
    Ok(RecordSource { folder: unpacked.path().to_owned(), _unpacked: Some(unpacked) })
}

/// Maps an error of the archive module: an unusable archive or record is bad input, a file that cannot be written is
/// not.
pub fn failure(error: ArchiveError) -> Failure {
    match error {
        ArchiveError::Store(error) if !error.is_usage() => error.into(),
        ArchiveError::Write(error) => write_failure(error),
        ArchiveError::Export(error) => export_failure(error),
        error => Failure::usage(error),
    }
}
