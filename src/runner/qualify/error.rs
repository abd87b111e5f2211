use super::OracleError;
use crate::RunnerError;
use mcc_base::FileError;
use mcc_base::names::{BadName, RunId};
use mcc_campaign::CampaignError;
use mcc_model::ArchiveError;
use mcc_store::{Outcome, StoreError};
use std::path::PathBuf;

/// Why a qualification cannot be completed.
#[derive(Debug, thiserror::Error)]
pub enum QualifyError {
    /// The folder of instances cannot be read.
    #[error("{0}; give a folder of instance archives (NAME.tgz)")]
    Instances(FileError),
    /// The folder contains no instance of a known model.
    #[error("{}: contains no instance of a known model; give a folder of archives (NAME.tgz)", .0.display())]
    NoInstance(PathBuf),
    /// The tool's folder has no head script.
    #[error("{}: contains no BenchKit_head.sh; give the tool's folder", .0.display())]
    NoHead(PathBuf),
    /// A native run has no limit of instructions.
    #[error(
        "edition {edition}: `limits.instructions` is {limit}, but a native run has no machine that counts instructions; \
         qualify an image without --native, or give another --edition"
    )]
    NativeInstructionLimit {
        /// The edition.
        edition: String,
        /// The limit.
        limit: u64,
    },
    /// The image is a tool's folder.
    #[error(
        "{path} is a tool's folder, not an image: `qualify --native {path}` runs it on this host, without a machine; \
         `image build --tool {path} --out IMAGE` makes its image",
        path = .0.display()
    )]
    ToolFolder(PathBuf),
    /// The image, the edition or another setting cannot be used.
    #[error("{0}")]
    Setting(String),
    /// A path is not UTF-8, so it cannot be written to the campaign.
    #[error("{}: the path is not UTF-8; use another path", .0.display())]
    Path(PathBuf),
    /// The path of the record has no file name.
    #[error("{}: has no folder name; give a folder name with --out", .0.display())]
    Unnamed(PathBuf),
    /// A file with the name of the campaign exists that the command did not write.
    #[error(
        "{}: `{command}` writes its campaign to this file, but the existing file is not from `{command}`; use another \
         --out", path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The command, such as `qualify`.
        command: &'static str,
    },
    /// A run of a comparison could not be made, so its pair is missing.
    #[error(
        "{side}, run {run}: {outcome}; correct the cause. With --out the same command then repeats this run and \
         continues"
    )]
    NoPair {
        /// `A` or `B`.
        side: &'static str,
        /// The run.
        run: RunId,
        /// The infrastructure failure.
        outcome: Outcome,
    },
    /// The qualification was stopped by a stop request.
    #[error("stopped before all runs were recorded; the same command continues if it was given --out")]
    Stopped,
    /// The name of an examination is not valid.
    #[error(transparent)]
    Name(#[from] BadName),
    /// The archive of an instance cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The oracle cannot be read.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// The campaign cannot be serialized.
    #[error("cannot write the campaign: {0}")]
    Toml(#[from] toml::ser::Error),
    /// The campaign cannot be prepared or run.
    #[error(transparent)]
    Runner(#[from] RunnerError),
    /// The record cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An instance cannot be reduced.
    #[error("{0}")]
    Dispute(String),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl QualifyError {
    /// Converts an error of the campaign that `qualify` wrote. Its file and line say nothing to the caller.
    pub(super) fn of_campaign(error: impl Into<RunnerError>) -> Self {
        match error.into() {
            RunnerError::Campaign(CampaignError::Wrong { message, .. }) => Self::Setting(message),
            error => Self::Runner(error),
        }
    }
}
