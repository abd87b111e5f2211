use crate::archive::ArchiveError;
use crate::cluster::ClusterError;
use mcc_base::files::ARCHIVES;
use mcc_base::names::RunId;
use mcc_campaign::CampaignError;
use mcc_edition::EditionError;
use mcc_executor::ExecutorError;
use mcc_host::{HostError, LeaseError};
use mcc_judge::record::RecordError;
use mcc_model::InstanceName;
use mcc_store::StoreError;
use mcc_vm::build::BuildError;
use mcc_vm::{ImageError, OriginalError};
use std::io;
use std::path::PathBuf;

/// Why a campaign cannot be prepared or run to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    #[error(transparent)]
    Campaign(#[from] CampaignError),
    #[error(transparent)]
    Edition(#[from] EditionError),
    #[error("the record's edition")]
    RecordedEdition(#[source] serde_json::Error),
    #[error("the edition cannot be written into the record")]
    WrittenEdition(#[source] serde_json::Error),
    #[error(transparent)]
    Host(#[from] HostError),
    /// The CPU time of machines cannot be read on this host.
    #[error(transparent)]
    CpuTime(mcc_vm::VmError),
    #[error(transparent)]
    Lease(#[from] LeaseError),
    #[error(
        "backend = \"libvirt\": this mcc-harness was built without it; leave it out of [hosts], or, with the package \
         libvirt-dev, build one that has it: RUSTFLAGS=\"\" cargo build --release --features libvirt --target-dir \
         target/libvirt"
    )]
    NoLibvirt,
    #[cfg(feature = "libvirt")]
    #[error(transparent)]
    Libvirt(mcc_vm::VmError),
    #[error(transparent)]
    Image(#[from] ImageError),
    #[error(transparent)]
    Original(#[from] OriginalError),
    #[error(transparent)]
    Instance(#[from] mcc_model::ArchiveError),
    #[error("{0} errors in the instances (rule M-4); correct them, or pack them as they are with --accept")]
    InstanceErrors(u32),
    #[error(
        "the inputs disk {} is of edition {found}, the campaign of {wanted}; give the inputs of that edition",
        folder.display()
    )]
    OtherEdition { folder: PathBuf, found: String, wanted: String },
    #[error(
        "the inputs disk {} does not hold {instance} as it lies in its {ARCHIVES} folder; make the disk anew \
         (`mcc-harness image inputs`)",
        folder.display()
    )]
    StaleInputs { folder: PathBuf, instance: InstanceName },
    #[error(
        "the archives in {} changed since {} was made of them; use another --out",
        archives.display(),
        disk.display()
    )]
    ChangedArchives { archives: PathBuf, disk: PathBuf },
    #[error("making the inputs disk")]
    Inputs(#[source] BuildError),
    #[error("{}: the campaign was submitted without this disk", .0.display())]
    NotSubmitted(PathBuf),
    #[error("{}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Executor(#[from] ExecutorError),
    #[error("--reason is empty; it is shown beside what it supersedes")]
    NoReason,
    #[error(
        "no run of {tool} in {examination} is recorded, so there is none to make anew; `mcc-harness plan` lists the \
         runs of a campaign"
    )]
    NothingToRerun { tool: String, examination: String },
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error(transparent)]
    NotAJob(ClusterError),
    #[error("{batch} has no task {index}")]
    NoTask { batch: String, index: u32 },
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("no run {0} is recorded; write ENTRY/INSTANCE/EXAMINATION as in answers.csv")]
    NoSuchRun(RunId),
    #[error("{run} cannot be replayed: {reason}")]
    NotReplayable { run: RunId, reason: &'static str },
    #[error("the record names no {0} of this run")]
    NoDisk(String),
    #[error("the replay of {0} left no record")]
    NotRecorded(RunId),
    #[error("the replay of {run} ended in infrastructure while {state}: {reason}; try again")]
    ReplayFailed { run: RunId, state: String, reason: String },
}

impl RunnerError {
    /// For `map_err`: the error of the file at `path`.
    pub(super) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }
}
