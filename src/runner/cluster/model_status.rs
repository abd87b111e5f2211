//! The states of the models of a campaign, from its records and the tasks of the batch system.

use super::{
    BatchFacts, BatchSystem, Cluster, ClusterError, ModelDemand, ModelHosts, Task, TaskEnd, TaskState,
};
use mcc_base::OnFile;
use mcc_base::ordered_map::ordered_map;
use mcc_store::{RecordSummary, StoreError};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::num::NonZeroUsize;
use std::path::Path;
use std::rc::Rc;

/// The state of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum ModelState {
    /// Every run is recorded.
    Done,
    /// Its job runs.
    Running {
        /// The node of the job.
        node: String,
    },
    /// Its job waits.
    Pending {
        /// The reason that the batch system gives.
        reason: String,
        /// The task of the job.
        task: Task,
    },
    /// It has open runs and no job: `submit --resume` submits it again.
    Open,
    /// It has open runs, and the batch system cannot be queried on this host.
    Unknown,
}

/// The status of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModelStatus {
    /// The model.
    pub model: String,
    /// Number of planned runs.
    pub planned: u64,
    /// Number of recorded runs.
    pub recorded: u64,
    /// Recorded runs by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// The nodes on which it ran. It is bound to the last one; if there are several, runs are marked `mixed-host`.
    pub nodes: Vec<String>,
    /// Its state.
    #[serde(flatten)]
    pub state: ModelState,
    /// How its last job ended, if it has open runs and no job (`job_ends`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<JobEnd>,
}

/// How a job of a model ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct JobEnd {
    /// The task of the job.
    pub task: Task,
    /// What the batch system states; None: it cannot be queried, or does not know the job any more.
    #[serde(flatten)]
    pub end: Option<TaskEnd>,
    /// The last line of the log of the job with a word in it.
    pub last_line: Option<String>,
}

/// Returns the waiting and running tasks of the campaign, each with its batch.
///
/// # Errors
/// A file of the campaign is not valid, or the batch system cannot be queried.
pub fn own_tasks(
    cluster: &Cluster,
    batch_system: &dyn BatchSystem,
) -> Result<Vec<(Rc<BatchFacts>, Task, TaskState)>, ClusterError> {
    let batches = cluster.batches()?.into_iter().map(|(name, batch)| (name, Rc::new(batch)));
    let batches: BTreeMap<String, Rc<BatchFacts>> = batches.collect();
    let names: Vec<&str> = batches.keys().map(String::as_str).collect();
    let mut own = vec![];
    for (name, task, state) in batch_system.tasks(&names)? {
        if let Some(batch) = batches.get(&name).filter(|batch| batch.has(&task)) {
            own.push((Rc::clone(batch), task, state));
        }
    }
    Ok(own)
}

/// Returns the status of every model, sorted by name; `record_summary` is that of the campaign
/// (`Cluster::record_summary`). Without a batch system the state of models with open runs is `Unknown`.
///
/// # Errors
/// A file of the campaign is not valid, or the batch system cannot be queried.
pub fn model_statuses(
    cluster: &Cluster,
    batch_system: Option<&dyn BatchSystem>,
    record_summary: &RecordSummary,
) -> Result<Vec<ModelStatus>, ClusterError> {
    let tasks = batch_system.map_or(Ok(vec![]), |batch_system| own_tasks(cluster, batch_system))?;
    let mut live: BTreeMap<String, (Task, TaskState)> = BTreeMap::new();
    for (batch, task, state) in tasks {
        let Some(model) = batch.models.get(task.index as usize) else { continue };
        // A job and the next one of its chain may overlap: the running one is shown.
        if !matches!(live.get(model), Some((_, TaskState::Running { .. }))) {
            live.insert(model.clone(), (task, state));
        }
    }
    let needs = &cluster.facts().needs;
    let hosts = parallel_map(needs, |need| cluster.hosts(&need.model))?;
    let state = |(need, hosts): (&ModelDemand, ModelHosts)| {
        let counts = record_summary.model(&need.model);
        let state = match live.remove(&need.model) {
            Some((_, TaskState::Running { node })) => ModelState::Running { node },
            // A job that was started again after the end of its model ends at once.
            _ if counts.recorded == need.planned => ModelState::Done,
            Some((task, TaskState::Pending { reason })) => ModelState::Pending { reason, task },
            None if batch_system.is_none() => ModelState::Unknown,
            None => ModelState::Open,
        };
        ModelStatus {
            model: need.model.clone(),
            planned: need.planned,
            recorded: counts.recorded,
            outcomes: counts.outcomes,
            nodes: hosts.nodes,
            state,
            ended: None,
        }
    };
    Ok(needs.iter().zip(hosts).map(state).collect())
}

/// Sets how the last job ended of each model that has open runs and no job.
///
/// # Errors
/// A file of the campaign is not valid.
pub fn job_ends(
    cluster: &Cluster,
    batch_system: &dyn BatchSystem,
    statuses: &mut [ModelStatus],
) -> Result<(), ClusterError> {
    let mut last: BTreeMap<String, (Task, String)> = BTreeMap::new();
    let mut batches = cluster.batches()?;
    // The number of a job is larger than those of the jobs before it.
    batches.sort_by_key(|(_, facts)| facts.job.as_ref().and_then(|job| job.parse::<u64>().ok()));
    for (name, BatchFacts { job, models, .. }) in batches {
        let Some(job) = job else { continue };
        for (model, index) in models.into_iter().zip(0..) {
            last.insert(model, (Task { job: job.clone(), index }, name.clone()));
        }
    }
    let without_job =
        |status: &&mut ModelStatus| matches!(status.state, ModelState::Open | ModelState::Unknown);
    let open = statuses.iter_mut().filter(without_job);
    let ended: Vec<(&mut ModelStatus, (Task, String))> =
        open.filter_map(|status| last.remove(&status.model).map(|job| (status, job))).collect();
    let tasks: Vec<Task> = ended.iter().map(|(_, (task, _))| task.clone()).collect();
    // The logs alone also show causes.
    let mut ends =
        if tasks.is_empty() { BTreeMap::new() } else { batch_system.ends(&tasks).unwrap_or_default() };
    for (status, (task, name)) in ended {
        let last_line = last_line(&cluster.log(&name, task.index))?;
        status.ended = Some(JobEnd { end: ends.remove(&task), task, last_line });
    }
    Ok(())
}

/// The last line of a file with a word in it. None: there is none, or no such file.
fn last_line(path: &Path) -> Result<Option<String>, ClusterError> {
    match crate::last_line(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        read => Ok(read.on("read", path)?),
    }
}

impl Cluster {
    /// Summarizes the campaign: the collected runs, and the shards of the models that are not collected completely.
    ///
    /// # Errors
    /// A record cannot be read.
    pub fn record_summary(&self) -> Result<RecordSummary, ClusterError> {
        let collected = RecordSummary::models_at(self.results())?;
        let open = |need: &&ModelDemand| {
            collected.get(&need.model).is_none_or(|(planned, recorded)| recorded < planned)
        };
        let open: Vec<&ModelDemand> = self.facts().needs.iter().filter(open).collect();
        let shards = parallel_map(&open, |need| match RecordSummary::at(&self.shard(&need.model)) {
            // Its job has created the record, but not planned its runs yet.
            Ok(record_summary) if record_summary.model(&need.model).planned == 0 => Ok(None),
            Ok(record_summary) => Ok(Some(record_summary)),
            Err(StoreError::NoRecord { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        })?;
        let begun: BTreeMap<&str, RecordSummary> =
            open.iter().zip(shards).filter_map(|(need, shard)| Some((need.model.as_str(), shard?))).collect();
        let mut record_summary =
            RecordSummary::at_models(self.results(), |model| !begun.contains_key(model))?;
        begun.into_values().for_each(|shard| record_summary.merge(shard));
        Ok(record_summary)
    }
}

/// Queries of a shared file system have a high latency, but many run in parallel.
const MAX_PARALLEL_QUERIES: usize = 16;

/// Calls `query` for each item in parallel; returns the results in the order of the items, or an error.
fn parallel_map<T: Sync, R: Send>(
    items: &[T],
    query: impl Fn(&T) -> Result<R, ClusterError> + Sync,
) -> Result<Vec<R>, ClusterError> {
    let Some(threads) = NonZeroUsize::new(MAX_PARALLEL_QUERIES.min(items.len())) else { return Ok(vec![]) };
    let mut answers = vec![];
    let take = |answer: Result<R, ClusterError>| answer.map(|answer| answers.push(answer));
    ordered_map(
        threads,
        || (),
        |feed| items.iter().try_for_each(feed).is_ok(),
        |(), item| query(item),
        take,
    )?;
    Ok(answers)
}
