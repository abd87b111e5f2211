//! The states of the models of a campaign, from its records and the tasks of the batch system.

use super::{BatchFacts, BatchSystem, Cluster, ClusterError, ModelDemand, ModelHosts, Task, TaskState};
use mcc_base::ordered_map::ordered_map;
use mcc_store::{RecordSummary, StoreError};
use serde::Serialize;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

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
    let batches: BTreeMap<String, BatchFacts> = cluster.batches()?.into_iter().collect();
    let names: Vec<&str> = batches.keys().map(String::as_str).collect();
    let mut live: BTreeMap<&String, (Task, TaskState)> = BTreeMap::new();
    let tasks = batch_system.map_or(Ok(vec![]), |batch_system| batch_system.tasks(&names))?;
    for (name, task, state) in tasks {
        let models = batches.get(&name).map(|batch| &batch.models);
        let Some(model) = models.and_then(|models| models.get(task.index as usize)) else { continue };
        // A job and the next one of its chain may overlap: the running one is shown.
        if !matches!(live.get(model), Some((_, TaskState::Running { .. }))) {
            live.insert(model, (task, state));
        }
    }
    let needs = &cluster.facts().needs;
    let hosts = parallel_map(needs, |need| cluster.hosts(&need.model))?;
    let state = |(need, hosts): (&ModelDemand, ModelHosts)| {
        let counts = record_summary.model(&need.model);
        let state = match live.remove(&need.model) {
            Some((_, TaskState::Running { node })) => ModelState::Running { node },
            Some((task, TaskState::Pending { reason })) => ModelState::Pending { reason, task },
            None if counts.recorded == need.planned => ModelState::Done,
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
        }
    };
    Ok(needs.iter().zip(hosts).map(state).collect())
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
