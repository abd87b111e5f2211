//! How the models of a campaign stand: our records and the batch system's view, merged.

use super::{BatchFacts, BatchSystem, Cluster, ClusterError, ModelDemand, ModelHosts, Task, TaskState};
use mcc_store::{RecordSummary, StoreError};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum ModelState {
    /// Every run has its record.
    Done,
    Running {
        node: String,
    },
    Pending {
        reason: String,
        task: Task,
    },
    /// Not done, and no job has it: `submit --resume` hands it in again.
    Open,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModelStatus {
    pub model: String,
    pub planned: u64,
    pub recorded: u64,
    /// Recorded runs by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// Nodes it ran on, the last one binding; more than one: `mixed-host`.
    pub nodes: Vec<String>,
    #[serde(flatten)]
    pub state: ModelState,
}

/// Of every model, by name; `record_summary` is the cluster's.
pub fn model_statuses(
    cluster: &Cluster,
    batch_system: &dyn BatchSystem,
    record_summary: &RecordSummary,
) -> Result<Vec<ModelStatus>, ClusterError> {
    let batches: BTreeMap<String, BatchFacts> = cluster.batches()?.into_iter().collect();
    let names: Vec<&str> = batches.keys().map(String::as_str).collect();
    let mut live: BTreeMap<&String, (Task, TaskState)> = BTreeMap::new();
    for (name, task, state) in batch_system.tasks(&names)? {
        let models = batches.get(&name).map(|batch| &batch.models);
        let Some(model) = models.and_then(|models| models.get(task.index as usize)) else { continue };
        // A job and the next of its chain may overlap for a moment: running says more.
        if !matches!(live.get(model), Some((_, TaskState::Running { .. }))) {
            live.insert(model, (task, state));
        }
    }
    let needs = &cluster.facts().needs;
    let hosts = parallel_map(needs, |need| cluster.hosts(&need.model))?;
    let state = |(need, hosts): (&ModelDemand, ModelHosts)| {
        let tally = record_summary.model(&need.model);
        let state = match live.remove(&need.model) {
            Some((_, TaskState::Running { node })) => ModelState::Running { node },
            Some((task, TaskState::Pending { reason })) => ModelState::Pending { reason, task },
            None if tally.recorded == need.planned => ModelState::Done,
            None => ModelState::Open,
        };
        ModelStatus {
            model: need.model.clone(),
            planned: need.planned,
            recorded: tally.recorded,
            outcomes: tally.outcomes,
            nodes: hosts.nodes,
            state,
        }
    };
    Ok(needs.iter().zip(hosts).map(state).collect())
}

impl Cluster {
    /// The campaign at a glance: what is collected, and the shards of the models that are not collected whole.
    pub fn record_summary(&self) -> Result<RecordSummary, ClusterError> {
        let collected = RecordSummary::models_at(self.results())?;
        let open = |need: &&ModelDemand| {
            collected.get(&need.model).is_none_or(|(planned, recorded)| recorded < planned)
        };
        let open: Vec<&ModelDemand> = self.facts().needs.iter().filter(open).collect();
        let shards = parallel_map(&open, |need| match RecordSummary::at(&self.shard(&need.model)) {
            // Its job has begun the record, but not planned in it yet.
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

/// A shared file system answers late, and many questions as late as one.
const MAX_PARALLEL_QUERIES: usize = 16;

/// What `query` says of each, in their order; asked at once, the first error ends it.
fn parallel_map<T: Sync, R: Send>(
    items: &[T],
    query: impl Fn(&T) -> Result<R, ClusterError> + Sync,
) -> Result<Vec<R>, ClusterError> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut answers = vec![];
        while let Some((number, item)) = {
            let number = next.fetch_add(1, Ordering::Relaxed);
            items.get(number).map(|item| (number, item))
        } {
            answers.push((number, query(item)?));
        }
        Ok(answers)
    };
    let threads = MAX_PARALLEL_QUERIES.min(items.len());
    let mut answers = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let joined = threads.into_iter().map(|thread| thread.join().expect("a question does not panic"));
        joined.collect::<Result<Vec<Vec<(usize, R)>>, ClusterError>>()
    })?
    .into_iter()
    .flatten()
    .collect::<Vec<_>>();
    answers.sort_by_key(|(number, _)| *number);
    Ok(answers.into_iter().map(|(_, answer)| answer).collect())
}
