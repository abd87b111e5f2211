//! How the models of a campaign stand: our records and the batch system's view, merged.

use super::{Cluster, ClusterError, Engine, Task, TaskState};
use crate::store::{Record, StoreError, Summary};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "standing", rename_all = "kebab-case")]
pub enum Standing {
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
pub struct ModelStanding {
    pub model: String,
    pub planned: u64,
    pub recorded: u64,
    /// Recorded runs by outcome.
    pub outcomes: BTreeMap<String, u64>,
    /// Nodes it ran on, the last one binding; more than one: `mixed-host`.
    pub nodes: Vec<String>,
    #[serde(flatten)]
    pub standing: Standing,
}

/// Of every model, by name.
pub fn standings(cluster: &Cluster, engine: &dyn Engine) -> Result<Vec<ModelStanding>, ClusterError> {
    let mut live: BTreeMap<String, (Task, TaskState)> = BTreeMap::new();
    for (name, batch) in cluster.batches()? {
        for (task, state) in engine.tasks(&name)? {
            let Some(model) = batch.models.get(task.index as usize) else { continue };
            // A job and the next of its chain may overlap for a moment: running says more.
            if !matches!(live.get(model), Some((_, TaskState::Running { .. }))) {
                live.insert(model.clone(), (task, state));
            }
        }
    }
    let standing = |need: &super::Need| {
        let summary = summary(cluster, &need.model)?;
        let standing = match live.remove(&need.model) {
            Some((_, TaskState::Running { node })) => Standing::Running { node },
            Some((task, TaskState::Pending { reason })) => Standing::Pending { reason, task },
            None if summary.recorded == need.planned => Standing::Done,
            None => Standing::Open,
        };
        Ok(ModelStanding {
            model: need.model.clone(),
            planned: need.planned,
            recorded: summary.recorded,
            outcomes: summary.outcomes,
            nodes: cluster.hosts(&need.model)?.nodes,
            standing,
        })
    };
    cluster.facts().needs.iter().map(standing).collect()
}

/// Of a model's shard; zeros where it has not begun.
fn summary(cluster: &Cluster, model: &str) -> Result<Summary, ClusterError> {
    match Record::open_readonly(&cluster.shard(model)) {
        Ok(record) => Ok(record.summary()?),
        Err(StoreError::NoRecord { .. }) => Ok(Summary::default()),
        Err(error) => Err(error.into()),
    }
}
