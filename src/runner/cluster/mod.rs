//! Runs a campaign on a cluster: its models become jobs of the cluster's batch system. No daemon is installed.
//!
//! Each model is one job, so that all tools, examinations and instances of a model run on one node (E-5.1). A job uses
//! the same executor as a local run, with a record of its own:
//!
//! ```text
//! RESULTS/record.db                   the whole plan; `collect` merges the records of the shards into it
//! RESULTS/shards/MODEL/               the record of a model's runs, and host.json: the nodes on which it ran
//! RESULTS/superseded/MODEL.N/         kept shards of lost nodes; the runs of the model were repeated
//! RESULTS/cluster/cluster.json        settings of all jobs: campaign, demand of each model
//! RESULTS/cluster/keys/MODEL          the key with which the jobs of a model seal what they record
//! RESULTS/cluster/batches/N.json      one submission: its job, models, node and reason
//! RESULTS/cluster/logs/               output of the jobs
//! ```

mod batch;
mod collect;
mod folder;
mod job;
mod model_status;
mod oar;
mod slurm;
mod staging;

pub use batch::{Batch, ModelDemand, Resources, batches};
pub use collect::{Collected, collect};
pub use folder::{BatchFacts, Cluster, ClusterFacts, FORMAT, ModelHosts, Reason};
pub use job::GivenJob;
pub use model_status::{JobEnd, ModelState, ModelStatus, job_ends, model_statuses, own_tasks};
pub use staging::StagingFolder;

use mcc_campaign::{ClusterSettings, System};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// An error of the batch system or of the files of a campaign on a cluster, with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// A command of the batch system is not installed.
    #[error(
        "{program} is not on PATH: run this command on a host of the cluster, or install the package {package}"
    )]
    NotInstalled {
        /// Name of the command.
        program: &'static str,
        /// Debian's package with the command.
        package: &'static str,
    },
    /// This host cannot reach the controller of the batch system.
    #[error("{command}: {problem}")]
    Unreachable {
        /// The command with its arguments.
        command: String,
        /// The problem, with the remedy.
        problem: String,
    },
    /// A command failed, or its output is not as expected.
    #[error("{command}: {problem}")]
    Command {
        /// The command with its arguments.
        command: String,
        /// The problem.
        problem: String,
    },
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] mcc_base::FileError),
    /// The content of a file is not valid.
    #[error("{}: {problem}", path.display())]
    Bad {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
    /// No campaign was submitted with this folder.
    #[error(
        "{}: no campaign was submitted with this folder; give the folder of `mcc-harness submit CAMPAIGN.toml --out`",
        .0.display()
    )]
    NotSubmitted(PathBuf),
    /// A record cannot be read or written.
    #[error(transparent)]
    Store(#[from] mcc_store::StoreError),
}

/// A job of the batch system, or one task of an array of jobs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Task {
    /// The number of the job.
    pub job: String,
    /// Its index in the array.
    pub index: u32,
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}_{}", self.job, self.index)
    }
}

/// The state of a task that has not ended. A batch system does not list ended tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// It waits.
    Pending {
        /// The reason that the batch system gives.
        reason: String,
    },
    /// It runs.
    Running {
        /// Its node.
        node: String,
    },
}

/// How a task ended, as the batch system states it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct TaskEnd {
    /// Its last state, such as FAILED or TIMEOUT.
    pub state: String,
    /// The exit code of its script; None: the batch system does not state one.
    pub exit_code: Option<u32>,
    /// The signal that ended its script; 0: none.
    pub signal: u32,
}

/// Number of names or jobs of one command.
const MAX_ARGUMENTS: usize = 1000;

/// The batch system that `[cluster]` of a campaign names.
pub fn batch_system(settings: &ClusterSettings) -> Box<dyn BatchSystem> {
    let settings = settings.clone();
    match settings.system {
        System::Slurm => Box::new(slurm::Slurm { settings }),
        System::Oar => Box::new(oar::Oar { settings }),
    }
}

/// The longest time of a job in seconds: that of the batch system, and `time_limit_s`; None: no limit is known.
///
/// # Errors
/// The batch system cannot be queried.
pub fn time_limit(
    batch_system: &dyn BatchSystem,
    settings: &ClusterSettings,
) -> Result<Option<u64>, ClusterError> {
    let own = settings.time_limit_s.map(|limit| limit.get().into());
    Ok(batch_system.time_limit()?.into_iter().chain(own).min())
}

/// All operations of a batch system that this program uses.
pub trait BatchSystem: Sync {
    /// Submits an array of jobs, one per model of the batch, and returns the number of the job.
    ///
    /// # Errors
    /// The batch system refuses the batch.
    fn submit(&self, batch: &Batch, cluster: &Cluster) -> Result<String, ClusterError>;
    /// Returns the waiting and running tasks of the batches with these names, each with the name of its batch.
    ///
    /// # Errors
    /// The batch system cannot be queried.
    fn tasks(&self, names: &[&str]) -> Result<Vec<(String, Task, TaskState)>, ClusterError>;
    /// Returns how tasks ended. It lacks those that the batch system does not know any more, and those that did not end.
    ///
    /// # Errors
    /// The batch system cannot be queried.
    fn ends(&self, tasks: &[Task]) -> Result<BTreeMap<Task, TaskEnd>, ClusterError>;
    /// Ends tasks.
    ///
    /// # Errors
    /// The batch system cannot be called.
    fn cancel(&self, tasks: &[Task]) -> Result<(), ClusterError>;
    /// Returns what the job in which this program runs was given.
    ///
    /// # Errors
    /// This program does not run in a job, or the batch system did not give the job what was requested.
    fn given_job(&self) -> Result<GivenJob, ClusterError>;
    /// The longest time of a job in seconds; None: no limit, or it cannot be known.
    ///
    /// # Errors
    /// There is no such partition, or the batch system cannot be queried.
    fn time_limit(&self) -> Result<Option<u64>, ClusterError>;
    /// The largest number of tasks in one array.
    ///
    /// # Errors
    /// The batch system cannot be queried.
    fn max_tasks(&self) -> Result<u32, ClusterError>;
    /// Whether a node runs jobs, now or after its present ones.
    ///
    /// # Errors
    /// The batch system cannot be queried.
    fn node_available(&self, node: &str) -> Result<bool, ClusterError>;
}
