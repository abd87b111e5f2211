use super::OracleError;
use crate::RunnerError;
use mcc_base::FileError;
use mcc_base::names::BadName;
use mcc_campaign::CampaignError;
use mcc_model::ArchiveError;
use mcc_store::StoreError;

/// Why a qualification cannot be completed.
#[derive(Debug, thiserror::Error)]
pub enum QualifyError {
    /// Bad input: what, where, and a remedy.
    #[error("{0}")]
    Refused(String),
    /// A run of a comparison could not be made, so its pair is missing: why, and a remedy.
    #[error("{0}")]
    NoPair(String),
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
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl QualifyError {
    /// Converts an error of the campaign that `qualify` wrote. Its file and line say nothing to the caller.
    pub(super) fn of_campaign(error: impl Into<RunnerError>) -> Self {
        match error.into() {
            RunnerError::Campaign(CampaignError::Wrong { message, .. }) => Self::Refused(message),
            error => Self::Runner(error),
        }
    }
}
