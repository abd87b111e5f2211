//! A campaign on a cluster: its models become jobs of the site's own batch system, no daemon of ours anywhere.
//!
//! One job per model, so that all tools, examinations and instances of a model run on the one node it lands on
//! (E-5.1). A job is the same executor as locally, on a record of its own:
//!
//! ```text
//! RESULTS/record.db                   the whole plan; `collect` brings the shards' records here
//! RESULTS/shards/MODEL/               the record of a model's runs, and host.json: the nodes it ran on
//! RESULTS/superseded/MODEL.N/         shards of a node that was lost, kept; the model was run anew
//! RESULTS/cluster/cluster.json        what `submit` decided: binary, campaign, needs of each model
//! RESULTS/cluster/batches/N.json      one submission: its job, its models, its node, why
//! RESULTS/cluster/logs/               what the jobs printed
//! ```

mod batch;
mod collect;
mod folder;
mod model_status;
mod slurm;
mod staging;

pub use batch::{Batch, MARGIN_S, ModelDemand, Resources, batches};
pub use collect::{Collected, collect};
pub use folder::{BatchFacts, Cluster, ClusterFacts, FORMAT, ModelHosts, Reason, random_name};
pub use model_status::{ModelState, ModelStatus, model_statuses};
pub use slurm::{Slurm, SlurmTask};
pub use staging::StagingFolder;

use std::io;
use std::path::PathBuf;

/// What goes wrong between us and a batch system, with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    #[error("{program} is not on PATH: run this on a host of the cluster (package slurm-client)")]
    NotInstalled { program: &'static str },
    #[error("{command}: {problem}")]
    Command { command: String, problem: String },
    #[error("{}: {action}: {source}", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("{}: {problem}", path.display())]
    Bad { path: PathBuf, problem: String },
    #[error(
        "no campaign was submitted with --out {path}: `mcc-harness submit CAMPAIGN.toml --out {path}` does",
        path = .0.display()
    )]
    NotSubmitted(PathBuf),
    #[error(
        "the longest run takes {run_s} s, and partition {partition} ends jobs after {limit_s} s: \
         choose another partition in [slurm], or smaller [limits]"
    )]
    TooShort { partition: String, run_s: u64, limit_s: u64 },
    #[error(transparent)]
    Store(#[from] mcc_store::StoreError),
}

impl ClusterError {
    fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}

/// A job of the batch system, or one task of an array of jobs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Task {
    pub job: String,
    /// Its index in the array.
    pub index: u32,
}

/// How a task that has not ended stands. One that has ended is not there any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// Why it waits, in the batch system's words.
    Pending {
        reason: String,
    },
    Running {
        node: String,
    },
}

/// A batch system: what `submit`, `status` and `cancel` ask of one. Slurm's is `Slurm`.
pub trait BatchSystem {
    /// Hands in an array of jobs, each running the cluster's script on one of the batch's models; the job's id.
    fn submit(&self, batch: &Batch, cluster: &Cluster) -> Result<String, ClusterError>;
    /// The tasks of batch submissions by their names, each with the name of its own, waiting or running: also finds one
    /// whose id was lost.
    fn tasks(&self, names: &[&str]) -> Result<Vec<(String, Task, TaskState)>, ClusterError>;
    /// Ends tasks.
    fn cancel(&self, tasks: &[Task]) -> Result<(), ClusterError>;
    /// Seconds after which the partition ends a job; None: never.
    fn time_limit(&self, partition: Option<&str>) -> Result<Option<u64>, ClusterError>;
    /// Most tasks of one array.
    fn max_tasks(&self) -> Result<u32, ClusterError>;
    /// Whether a node can take jobs now or after its present ones.
    fn node_available(&self, node: &str) -> Result<bool, ClusterError>;
}
