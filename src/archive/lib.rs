//! Archives: published records. An archive is one file with all that judging and replaying need; `tar` opens it.
//!
//! It is a tar compressed by zstd (docs/archive.md). An unpacked archive is a record as `run` writes it, with judgement,
//! rules and digests; all commands that read a record read an unpacked archive.

mod disks;
mod layout;
mod metadata;
mod own_folder;
mod pack;
mod paths;
mod recompute;
mod replay;
mod signature;
mod stage;
mod unpack;
mod verify;

pub use disks::{DiskFinder, disks_of, machine_files};
pub use metadata::{ArchiveParts, Description, Tables, write as write_metadata};
pub use own_folder::own_folder;
pub use pack::pack;
pub use paths::{ArchiveFacts, ArchivePaths, cores, is_archive, publication};
pub use replay::{Comparison, Measured, Median, compare};
pub use stage::{ArchiveInputs, bundle, judged_entries, stage};
pub use unpack::{ArchiveLimits, unpack, unpack_part};
pub use verify::{Difference, Verified, check_digests, verify};

use mcc_base::FileError;
use mcc_base::names::EntryName;
use mcc_judge::contest_table::ExportError;
use mcc_judge::mcc::JudgeError;
use mcc_judge::record::RecordError;
use mcc_judge::source::SourceError;
use mcc_store::StoreError;
use std::path::PathBuf;

/// The end of a message about a missing disk.
fn used_by(entry: Option<&EntryName>) -> String {
    entry.map_or(" (paths in a record are not opened)".to_owned(), |entry| {
        format!(" (the runs of {entry} used it; it has changed or is missing since)")
    })
}

/// An error of writing, reading or verifying an archive.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// A file or folder cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// An archive has an entry that is not a file of its layout.
    #[error("{}: entry `{entry}` {reason}; do not trust this archive, download it again", path.display())]
    UnsafeEntry {
        /// The archive.
        path: PathBuf,
        /// The name of the entry.
        entry: String,
        /// The problem, as predicate of the entry.
        reason: String,
    },
    /// A file is not valid.
    #[error("{}: {reason}", path.display())]
    Bad {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// A disk of a run is not found.
    #[error(
        "the {role} of {bytes} bytes with sha256 {sha256} is needed and was not found; give the file or its folder \
         with --disk{}",
        used_by(entry.as_ref())
    )]
    DiskMissing {
        /// The role of the disk.
        role: String,
        /// Its digest.
        sha256: String,
        /// Its length in bytes.
        bytes: u64,
        /// An entry whose runs used it; None: not known.
        entry: Option<EntryName>,
    },
    /// The record cannot be read or copied.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The record cannot be read as input of judging.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A table of the archive is not valid.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The record cannot be judged.
    #[error(transparent)]
    Judge(#[from] JudgeError),
    /// The table of answers cannot be written.
    #[error(transparent)]
    Export(#[from] ExportError),
}
