use mcc_base::FileError;
use mcc_base::files::is_full;
use mcc_base::names::RunId;
use std::fmt;
use std::path::{Path, PathBuf};

/// An error of a record. Every message has the place and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file or folder cannot be read or written.
    #[error("{file}{}", disk_full_hint(is_full(&.0.source)), file = .0)]
    File(#[from] FileError),
    /// SQLite cannot read or write the database.
    #[error("the record {} cannot be used: {source}; if it is damaged, restore it from a copy", path.display())]
    Database {
        /// The database.
        path: PathBuf,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
    /// SQLite cannot write the database because the disk is full or fails.
    #[error("the record {} cannot be written: {source}{remedy}", path.display(), remedy = disk_full_hint(true))]
    WriteFailed {
        /// The database.
        path: PathBuf,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
    /// The record, its folder or a file in it is refused: what, where, and a remedy.
    #[error("{0}")]
    Refused(String),
    /// A row of the database is not valid JSON, or not what it should be.
    #[error("the record {} has unreadable content in {what}: {source}; restore it from a copy", path.display())]
    Content {
        /// The database.
        path: PathBuf,
        /// The kind of the row.
        what: String,
        /// The error of the JSON parser.
        source: serde_json::Error,
    },
    /// The measurement of the host is not readable.
    #[error("{}: {source}; `doctor --measure` writes this file: write it again, or remove it", path.display())]
    Measurement {
        /// The file.
        path: PathBuf,
        /// The error of the JSON parser.
        source: serde_json::Error,
    },
    /// The folder has no `record.db`.
    #[error("{} {problem}; give the folder that `mcc-harness run --out` or `submit --out` wrote", dir.display())]
    NoRecord {
        /// The folder.
        dir: PathBuf,
        /// What the folder is or lacks, as a predicate of it.
        problem: &'static str,
    },
    /// The database has other tables than a record of its format.
    #[error("{}: {item} is not as in a record of format {format}; the record was changed: do not trust it, get an \
         unchanged copy",
        path.display())]
    Schema {
        /// The database.
        path: PathBuf,
        /// The format that it claims.
        format: i64,
        /// The first table, index or other item that differs.
        item: String,
    },
    /// The database contradicts itself.
    #[error("{}: {problem}; the record is damaged or was changed: do not trust it, get an unchanged copy",
        path.display())]
    Integrity {
        /// The database.
        path: PathBuf,
        /// What SQLite found.
        problem: String,
    },
    /// Reading the record takes more work than a record of its size.
    #[error("{}: reading it takes more steps than an intact record of this size needs; it is damaged, or was made to \
         keep its readers busy: do not trust it, get an unchanged copy",
        path.display())]
    Endless {
        /// The database.
        path: PathBuf,
    },
    /// The record was created with other facts than those of the campaign.
    #[error("{} has the record of another campaign, or the campaign was changed, so it is not resumed; differences: {}; \
         restore what changed, or give a new folder to --out",
        dir.display(), changes.join(", "))]
    Changed {
        /// The folder of the record.
        dir: PathBuf,
        /// What differs.
        changes: Vec<String>,
    },
    /// Two shards have different attempts at the same run.
    #[error("the record in {} has other attempts at {run} than those collected before: it is not a copy of the same \
         shard; collect only one of the two, into a new folder",
        dir.display())]
    Conflict {
        /// The run.
        run: RunId,
        /// The folder of the shard that was to be merged.
        dir: PathBuf,
    },
    /// A shard has further attempts at a run that was collected as recorded.
    #[error("the record in {} has further attempts at {run}, which is recorded already; only the organizers repeat such a run \
         (`run --rerun`): do not collect this record, or collect it into a new folder",
        dir.display())]
    Supersedes {
        /// The run.
        run: RunId,
        /// The folder of the shard that was to be merged.
        dir: PathBuf,
    },
    /// A shard has a run of another model.
    #[error("the record in {} has the run {run}, which is not planned for the model {model} of its job; it was changed: do not \
         collect it",
        dir.display())]
    OtherModel {
        /// The run.
        run: RunId,
        /// The model.
        model: String,
        /// The folder of the shard that was to be merged.
        dir: PathBuf,
    },
    /// An attempt in a shard was not recorded by a job with the key of its model.
    #[error("attempt {number} at {run} in the record {} has no seal of the key of its model: no job of this campaign recorded \
         it, or it was changed; do not collect it, get an unchanged copy of the record",
        dir.display())]
    NotSealed {
        /// The run.
        run: RunId,
        /// The number of the attempt.
        number: u32,
        /// The folder of the shard that was to be merged.
        dir: PathBuf,
    },
    /// An output in a shard is not the recorded one.
    #[error("{} has sha256 {found}, but its record has {recorded}; it was changed after it was recorded: restore the file",
        path.display())]
    ChangedOutput {
        /// The file.
        path: PathBuf,
        /// Its digest.
        found: String,
        /// The digest in the record.
        recorded: String,
    },
    /// The record was opened for reading only.
    #[error("the record in {} was opened for reading only", dir.display())]
    ReadOnly {
        /// The folder of the record.
        dir: PathBuf,
    },
    /// The lock or the database is not the file that this controller opened.
    #[error(
        "{} was removed, moved or replaced while this controller wrote to the record, so the running attempts are not \
         recorded; put the record back and `run` again, with one controller at a time",
        path.display()
    )]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// The record has no such run.
    #[error(
        "run {run} is not planned in this record; `mcc-harness export RECORD --classes FILE` lists its runs \
         with an output"
    )]
    UnknownRun {
        /// The id of the run, or its position.
        run: String,
    },
    /// The run is recorded already.
    #[error("run {run} is recorded already; a run is recorded once")]
    AlreadyRecorded {
        /// The run.
        run: RunId,
    },
    /// The attempt has a private directory already.
    #[error("attempt {number} at run {run} is running already")]
    RunningAttempt {
        /// The run.
        run: RunId,
        /// The number of the attempt.
        number: u32,
    },
    /// An attempt was committed with the private directory of another attempt.
    #[error("attempt {attempt} was committed with the directory of attempt {dir}")]
    WrongAttempt {
        /// Number and run of the attempt.
        attempt: String,
        /// Number and run of the directory.
        dir: String,
    },
}

/// The remedy of a full or failing disk.
fn disk_full_hint(needed: bool) -> &'static str {
    if needed {
        "; nothing recorded is lost: free space on that disk (or repair it), then `run` again to resume"
    } else {
        ""
    }
}

impl StoreError {
    /// There is no record in this folder, or the folder does not exist.
    pub fn no_record(dir: &Path) -> Self {
        let problem = if dir.join("judgement.json").exists() {
            "is a judgement and not a record: the record or table that was judged is elsewhere"
        } else if dir.is_file() {
            "is a file, and not the folder of a record"
        } else if dir.exists() {
            "holds no record (no record.db)"
        } else {
            "does not exist"
        };
        Self::NoRecord { dir: dir.to_owned(), problem }
    }

    pub(super) fn not_a_record(path: &Path) -> Self {
        let path = path.display();
        Self::Refused(format!(
            "{path} is not a record of mcc-harness; give another folder, or move that file away"
        ))
    }

    /// An error of SQLite. A full or failing disk does not damage the record.
    pub(super) fn database(path: &Path, source: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DiskFull, NotADatabase, OperationInterrupted, SystemIoFailure};
        let path = path.to_owned();
        match source.sqlite_error_code() {
            // The program interrupts no query but by `limit_work`.
            Some(OperationInterrupted) => Self::Endless { path },
            Some(NotADatabase) => Self::not_a_record(&path),
            Some(DiskFull | SystemIoFailure) => Self::WriteFailed { path, source },
            _ => Self::Database { path, source },
        }
    }

    /// Content that is not the JSON of `what`.
    pub(super) fn content(path: &Path, what: impl fmt::Display, source: serde_json::Error) -> Self {
        Self::Content { path: path.to_owned(), what: what.to_string(), source }
    }

    /// Whether the cause is a wrong or unusable folder that the user gave.
    pub fn is_usage(&self) -> bool {
        !matches!(
            self,
            Self::File(_)
                | Self::Database { .. }
                | Self::WriteFailed { .. }
                | Self::Measurement { .. }
                | Self::ReadOnly { .. }
                | Self::Replaced { .. }
                | Self::AlreadyRecorded { .. }
                | Self::RunningAttempt { .. }
                | Self::WrongAttempt { .. }
        )
    }
}
