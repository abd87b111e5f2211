use crate::cluster::ClusterError;
use crate::executor::ExecutorError;
use mcc_archive::ArchiveError;
use mcc_base::files::ARCHIVES;
use mcc_base::names::RunId;
use mcc_campaign::CampaignError;
use mcc_edition::EditionError;
use mcc_judge::record::RecordError;
use mcc_model::InstanceName;
use mcc_store::StoreError;
use mcc_vm::build::BuildError;
use mcc_vm::host::{HostError, LeaseError};
use mcc_vm::{ImageError, OriginalError};
use std::path::PathBuf;

/// Why a campaign cannot be prepared or run to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// The campaign file, or a file that it names, cannot be used.
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    /// The edition cannot be read.
    #[error(transparent)]
    Edition(#[from] EditionError),
    /// The edition cannot be serialized for the record.
    #[error("cannot write the edition to the record")]
    WrittenEdition(#[source] serde_json::Error),
    /// The host cannot run machines as required.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The CPU time of machines cannot be read on this host.
    #[error(transparent)]
    CpuTime(mcc_vm::VmError),
    /// The lease registry cannot be used, or a lease is not possible.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// The backend of the campaign cannot be used.
    #[error(transparent)]
    Backend(mcc_vm::VmError),
    /// An image cannot be used.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A disk cannot be used.
    #[error(transparent)]
    Disk(#[from] mcc_vm::DiskError),
    /// An original disk cannot be used.
    #[error(transparent)]
    Original(#[from] OriginalError),
    /// The archive of an instance cannot be read.
    #[error(transparent)]
    Instance(#[from] mcc_model::ArchiveError),
    /// Instances have errors (rule M-4); their number.
    #[error(
        "errors in the instances (rule M-4): {0}; correct them, or pack them unchanged with --accept-errors"
    )]
    InstanceErrors(u32),
    /// The inputs disk belongs to another edition.
    #[error(
        "the inputs disk {} is of edition {found}, but the campaign is of {wanted}; give inputs of that edition",
        folder.display()
    )]
    OtherEdition {
        /// The folder of the image.
        folder: PathBuf,
        /// The edition of the disk.
        found: String,
        /// The edition of the campaign.
        wanted: String,
    },
    /// The inputs disk does not contain an instance of the campaign, or contains another version of it.
    #[error(
        "the inputs disk {} does not contain {instance} as in its folder {ARCHIVES}; build the disk again \
         (`mcc-harness image inputs`)",
        folder.display()
    )]
    StaleInputs {
        /// The folder of the image.
        folder: PathBuf,
        /// The instance.
        instance: InstanceName,
    },
    /// Archives changed after the inputs disk in the folder of the record was built.
    #[error(
        "the archives in {} changed after {} was built from them; use another --out",
        archives.display(),
        disk.display()
    )]
    ChangedArchives {
        /// The folder of the archives.
        archives: PathBuf,
        /// The folder of the inputs disk.
        disk: PathBuf,
    },
    /// An inputs disk was packed with another `generic_properties` than that of the campaign.
    #[error(
        "the inputs disk {} does not fit generic_properties of the campaign: its archives were packed with \
         GenericPropertiesVerdict.xml for \"keep\", without it for \"remove\"; give the folder of the archives as \
         inputs, and a new --out",
        .0.display()
    )]
    OtherGenericProperties(PathBuf),
    /// The inputs disk cannot be built.
    #[error("cannot build the inputs disk")]
    Inputs(#[source] BuildError),
    /// The submitted campaign has no digest of this disk.
    #[error("{}: this disk was not part of the submitted campaign; submit the changed campaign with another --out", .0.display())]
    NotSubmitted(PathBuf),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] mcc_base::FileError),
    /// The record cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A measurement of the host was stopped or failed.
    #[error("the measurement failed: {0}")]
    Measured(String),
    /// Runs cannot be executed.
    #[error(transparent)]
    Executor(#[from] ExecutorError),
    /// A rerun needs a reason.
    #[error("--reason is empty; give the reason that is shown with the superseded attempts")]
    NoReason,
    /// There is no recorded run to repeat.
    #[error(
        "no run of {tool} in {examination} is recorded, so none can be repeated; `mcc-harness plan` lists the runs of \
         a campaign{hint}"
    )]
    NothingToRerun {
        /// The entry or tool.
        tool: String,
        /// The examination.
        examination: String,
        /// Similar names, as `; did you mean ...?`; empty if there are none.
        hint: String,
    },
    /// The cluster's files or its batch system cannot be used.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// This process is not a job of the batch system.
    #[error(transparent)]
    NotAJob(ClusterError),
    /// The batch has no task with this index.
    #[error(
        "batch {batch} has no task {index}; run `mcc-harness submit --resume` to submit the open models again"
    )]
    NoTask {
        /// The name of the batch.
        batch: String,
        /// The index of the task.
        index: u32,
    },
    /// The archive or a disk for a replay cannot be used.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The record cannot be judged.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The run is not recorded.
    #[error(
        "no run {run} is recorded; give ENTRY/INSTANCE/EXAMINATION; `mcc-harness export RECORD --classes FILE` lists the runs{hint}"
    )]
    NoSuchRun {
        /// The given id.
        run: RunId,
        /// A similar id, as `; did you mean ...?`; empty if there is none.
        hint: String,
    },
    /// The run cannot be replayed.
    #[error("{run} cannot be replayed: {reason}")]
    NotReplayable {
        /// The run.
        run: RunId,
        /// The reason.
        reason: &'static str,
    },
    /// The record has no disk with this role for the run.
    #[error("the record has no {0} of this run")]
    NoDisk(String),
    /// The replay has no recorded attempt.
    #[error("the replay of {0} has no recorded attempt; try again")]
    NotRecorded(RunId),
    /// The replay ended as an infrastructure failure.
    #[error("the replay of {run} ended in an infrastructure failure while {state}: {reason}; try again")]
    ReplayFailed {
        /// The run.
        run: RunId,
        /// The state in which it failed.
        state: String,
        /// The reason.
        reason: String,
    },
}
