//! How the models of a campaign stand: our records and the batch system's view, merged.

use super::{BatchFacts, Cluster, ClusterError, Engine, HostBinding, Need, Task, TaskState};
use mcc_store::{Glance, StoreError};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

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

/// Of every model, by name; `glance` is the cluster's.
pub fn standings(
    cluster: &Cluster,
    engine: &dyn Engine,
    glance: &Glance,
) -> Result<Vec<ModelStanding>, ClusterError> {
    let batches: BTreeMap<String, BatchFacts> = cluster.batches()?.into_iter().collect();
    let names: Vec<&str> = batches.keys().map(String::as_str).collect();
    let mut live: BTreeMap<&String, (Task, TaskState)> = BTreeMap::new();
    for (name, task, state) in engine.tasks(&names)? {
        let models = batches.get(&name).map(|batch| &batch.models);
        let Some(model) = models.and_then(|models| models.get(task.index as usize)) else { continue };
        // A job and the next of its chain may overlap for a moment: running says more.
        if !matches!(live.get(model), Some((_, TaskState::Running { .. }))) {
            live.insert(model, (task, state));
        }
    }
    let needs = &cluster.facts().needs;
    let hosts = at_once(needs, |need| cluster.hosts(&need.model))?;
    let standing = |(need, hosts): (&Need, HostBinding)| {
        let tally = glance.model(&need.model);
        let standing = match live.remove(&need.model) {
            Some((_, TaskState::Running { node })) => Standing::Running { node },
            Some((task, TaskState::Pending { reason })) => Standing::Pending { reason, task },
            None if tally.recorded == need.planned => Standing::Done,
            None => Standing::Open,
        };
        ModelStanding {
            model: need.model.clone(),
            planned: need.planned,
            recorded: tally.recorded,
            outcomes: tally.outcomes,
            nodes: hosts.nodes,
            standing,
        }
    };
    Ok(needs.iter().zip(hosts).map(standing).collect())
}

impl Cluster {
    /// The campaign at a glance: what is collected, and the shards of the models that are not collected whole.
    pub fn glance(&self) -> Result<Glance, ClusterError> {
        let collected = Glance::models_at(self.results())?;
        let open =
            |need: &&Need| collected.get(&need.model).is_none_or(|(planned, recorded)| recorded < planned);
        let open: Vec<&Need> = self.facts().needs.iter().filter(open).collect();
        let shards = at_once(&open, |need| match Glance::at(&self.shard(&need.model)) {
            // Its job has begun the record, but not planned in it yet.
            Ok(glance) if glance.model(&need.model).planned == 0 => Ok(None),
            Ok(glance) => Ok(Some(glance)),
            Err(StoreError::NoRecord { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        })?;
        let begun: BTreeMap<&str, Glance> =
            open.iter().zip(shards).filter_map(|(need, shard)| Some((need.model.as_str(), shard?))).collect();
        let mut glance = Glance::at_models(self.results(), |model| !begun.contains_key(model))?;
        begun.into_values().for_each(|shard| glance.merge(shard));
        Ok(glance)
    }
}

/// A shared file system answers late, and many questions as late as one.
const QUESTIONS_AT_ONCE: usize = 16;

/// What `ask` says of each, in their order; asked at once, the first error ends it.
fn at_once<T: Sync, R: Send>(
    items: &[T],
    ask: impl Fn(&T) -> Result<R, ClusterError> + Sync,
) -> Result<Vec<R>, ClusterError> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut answers = vec![];
        while let Some((number, item)) = {
            let number = next.fetch_add(1, Ordering::Relaxed);
            items.get(number).map(|item| (number, item))
        } {
            answers.push((number, ask(item)?));
        }
        Ok(answers)
    };
    let threads = QUESTIONS_AT_ONCE.min(items.len());
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
