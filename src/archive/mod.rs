//! A published record: one file that holds all that a judgement and a replay need, and opens without us.
//!
//! A tar compressed by zstd (docs/archive.md). Unpacked it is a record as `run` left it, with the judgement, its rules
//! and the digests beside it; so whatever reads a record reads an unpacked archive.

mod disks;
mod pack;
mod paths;
mod replay;
mod stage;
mod unpack;
mod verify;

pub use disks::{DiskFinder, disks_of, machine_files};
pub use pack::pack;
pub use paths::{ArchiveFacts, ArchivePaths, cores, is_archive};
pub use replay::{Comparison, Measured, Median, compare};
pub use stage::{ArchiveInputs, bundle, judged_entries, stage};
pub use unpack::{ArchiveLimits, unpack};
pub use verify::{Difference, Verified, verify};

use mcc_judge::WriteError;
use mcc_judge::contest_table::ExportError;
use mcc_judge::mcc::JudgeError;
use mcc_judge::record::RecordError;
use mcc_judge::source::SourceError;
use mcc_store::StoreError;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}: entry `{entry}` {reason}; nothing of this archive can be trusted, get it anew", path.display())]
    UnsafeEntry { path: PathBuf, entry: String, reason: String },
    #[error("{}: {reason}", path.display())]
    Bad { path: PathBuf, reason: String },
    #[error(
        "the {role} of {bytes} bytes with sha256 {sha256} is needed and not at hand; give it, or the folder it lies in, \
         with --disk"
    )]
    DiskMissing { role: String, sha256: String, bytes: u64 },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Judge(#[from] JudgeError),
    #[error(transparent)]
    Export(#[from] ExportError),
    #[error(transparent)]
    Write(#[from] WriteError),
}

fn io_at(path: &Path) -> impl FnOnce(io::Error) -> ArchiveError + use<> {
    let path = path.to_owned();
    move |source| ArchiveError::Io { path, source }
}
