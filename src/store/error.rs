use mcc_base::files::is_full;
use mcc_base::names::RunId;
use std::path::{Path, PathBuf};

/// What can go wrong with a record; every message names the place and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot {action} {path}: {source}{remedy}", path = path.display(), remedy = disk_full_hint(is_full(source)))]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
    #[error("the record {path} cannot be used: {source}; if it is damaged, restore it from a copy", path = path.display())]
    Database { path: PathBuf, source: rusqlite::Error },
    #[error("the record {path} cannot be written: {source}{remedy}", path = path.display(), remedy = disk_full_hint(true))]
    WriteFailed { path: PathBuf, source: rusqlite::Error },
    #[error(
        "the record in {dir} was left by a controller that did not end in order, and this folder is read-only; \
         copy it to a writable place and read it there",
        dir = dir.display()
    )]
    NeedsWriting { dir: PathBuf },
    #[error("the record {path} holds something unreadable in {what}: {source}; restore it from a copy", path = path.display())]
    Content { path: PathBuf, what: String, source: serde_json::Error },
    #[error("{path} holds no record (no record.db); give the folder that `mcc-harness run --out` wrote", path = dir.display())]
    NoRecord { dir: PathBuf },
    #[error("{path} is not a record of mcc-harness; give another folder, or move that file away", path = path.display())]
    NotARecord { path: PathBuf },
    #[error("{path} is not empty and holds no record; give a new or an empty folder to --out", path = dir.display())]
    NotEmpty { dir: PathBuf },
    #[error(
        "the record {path} has format {found}, this mcc-harness knows formats up to {known}; use a newer mcc-harness",
        path = path.display()
    )]
    Newer { path: PathBuf, found: i64, known: i64 },
    #[error(
        "{dir} is in use by another controller ({owner}); wait for it, stop it, or give another folder to --out",
        dir = dir.display()
    )]
    Locked { dir: PathBuf, owner: String },
    #[error(
        "{dir} was begun with something else, so it is not resumed; changed since: {}; \
         restore what changed, or give a new folder to --out",
        changes.join(", "), dir = dir.display()
    )]
    Changed { dir: PathBuf, changes: Vec<String> },
    #[error(
        "the record in {dir} has other attempts at {run} than those collected before: it is no copy of the same \
         shard; collect into a new folder, without one of the two",
        dir = dir.display()
    )]
    Conflict { run: RunId, dir: PathBuf },
    #[error("the record {path} was opened for reading only", path = dir.display())]
    ReadOnly { dir: PathBuf },
    #[error("run {run} is not planned in this record; `mcc-harness plan` lists the runs of a campaign")]
    UnknownRun { run: String },
    #[error("run {run} already has its record; a run is recorded once")]
    AlreadyRecorded { run: RunId },
    #[error("attempt {number} at run {run} is under way already")]
    RunningAttempt { run: RunId, number: u32 },
    #[error("attempt {attempt} was handed in with the directory of attempt {dir}")]
    WrongAttempt { attempt: String, dir: String },
}

/// The remedy of a full or failing disk.
fn disk_full_hint(needed: bool) -> &'static str {
    match needed {
        true => {
            "; nothing recorded is lost: make room there (or repair that disk), then `run` again to go on"
        }
        false => "",
    }
}

impl StoreError {
    /// Of SQLite: a disk that is full or fails is no damage to the record.
    pub(super) fn of(path: &Path, source: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DiskFull, SystemIoFailure};
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(DiskFull | SystemIoFailure) => Self::WriteFailed { path, source },
            _ => Self::Database { path, source },
        }
    }

    /// Whether the user gave a wrong or unusable folder, as opposed to a fault met on the way.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::NoRecord { .. }
                | Self::NotARecord { .. }
                | Self::NotEmpty { .. }
                | Self::NeedsWriting { .. }
                | Self::Newer { .. }
                | Self::Locked { .. }
                | Self::Changed { .. }
                | Self::Conflict { .. }
                | Self::UnknownRun { .. }
        )
    }
}
