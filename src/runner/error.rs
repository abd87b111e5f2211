use crate::cluster::ClusterError;
use crate::executor::ExecutorError;
use mcc_archive::ArchiveError;
use mcc_campaign::CampaignError;
use mcc_edition::EditionError;
use mcc_judge::record::RecordError;
use mcc_store::StoreError;
use mcc_vm::ImageError;
use mcc_vm::build::BuildError;
use mcc_vm::host::{HostError, LeaseError};

/// Why a campaign cannot be prepared or run to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// The campaign file, or a file that it names, cannot be used.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    /// The edition cannot be read.
    #[error(transparent)]
    Edition(#[from] EditionError),
    /// The host cannot run machines as required.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The backend of the campaign cannot be used, or the CPU time of machines cannot be read on this host.
    #[error(transparent)]
    Machine(mcc_vm::VmError),
    /// The lease registry cannot be used, or a lease is not possible.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// An image cannot be used.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A disk cannot be used.
    #[error(transparent)]
    Disk(#[from] mcc_vm::DiskError),
    /// The archive of an instance cannot be read.
    #[error(transparent)]
    Instance(#[from] mcc_model::ArchiveError),
    /// The inputs disk cannot be built.
    #[error("cannot build the inputs disk")]
    Inputs(#[source] BuildError),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] mcc_base::FileError),
    /// The record cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A measurement of the host failed.
    #[error("the measurement failed: {0}")]
    Measured(String),
    /// Runs cannot be executed.
    #[error(transparent)]
    Executor(#[from] ExecutorError),
    /// The cluster's files or its batch system cannot be used.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The archive or a disk for a replay cannot be used.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The record cannot be judged.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// Bad input, or a request that does not fit the record: what, where, and a remedy.
    #[error("{0}")]
    Refused(String),
    /// Runs, a replay or a measurement cannot be completed: why, and a remedy.
    #[error("{0}")]
    Failed(String),
}
