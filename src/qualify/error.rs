use super::OracleError;
use crate::runner::RunnerError;
use mcc_base::names::BadName;
use mcc_model::ArchiveError;
use mcc_store::StoreError;
use std::io;
use std::path::PathBuf;

/// Why a qualification has no report.
#[derive(Debug, thiserror::Error)]
pub enum QualifyError {
    #[error("{}: {source}", path.display())]
    Instances { path: PathBuf, source: io::Error },
    #[error("{}: no instance of a known model in it; give a folder of archives (NAME.tgz)", .0.display())]
    NoInstance(PathBuf),
    #[error("{}: no BenchKit_head.sh in it; give the tool's folder", .0.display())]
    NoHead(PathBuf),
    #[error("{}: the path is not UTF-8; give another one", .0.display())]
    Path(PathBuf),
    #[error("{}: not a folder name; give --out a name", .0.display())]
    Unnamed(PathBuf),
    #[error(
        "{}: `qualify` would write its campaign here, but did not write this file; give another --out",
        .0.display()
    )]
    Foreign(PathBuf),
    #[error("stopped before all runs were made; with --out the same command continues")]
    Stopped,
    #[error(transparent)]
    Name(#[from] BadName),
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error(transparent)]
    Oracle(#[from] OracleError),
    #[error("writing the campaign: {0}")]
    Toml(#[from] toml::ser::Error),
    #[error(transparent)]
    Runner(#[from] RunnerError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl QualifyError {
    /// For `map_err`: the error at `path`.
    pub(super) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
