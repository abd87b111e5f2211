//! Runs one model of a campaign in a job of a batch system.

use super::{
    CampaignDisks, CampaignEnd, CampaignRunner, Host, RunSettings, RunnerError, StagedDisks, history_of,
    open_images, packed_inputs, release,
};
use crate::cluster::{
    Batch, BatchSystem, Cluster, Reason, Resources, StagingFolder, batch_system, time_limit,
};
use crate::executor::{AttemptResult, AttemptSpec, State, attempt};
use mcc_base::Mark;
use mcc_base::machine::Backend;
use mcc_campaign::{Campaign, Run};
use mcc_judge::record::edition_of;
use mcc_store::{Outcome, Record, RecordSummary, StoreError, Summary};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

/// One task of a batch: a model, on the node of this job.
pub struct Shard {
    cluster: Cluster,
    batch_system: Box<dyn BatchSystem>,
    /// The name of the model.
    pub model: String,
    /// The name of this node.
    pub node: String,
    mixed_host: bool,
    resources: Resources,
    time_s: u64,
}

/// The model must run on another node (E-5.1), for which a new job was submitted.
pub struct BoundElsewhere {
    /// The name of that node.
    pub node: String,
    /// The id of the new job.
    pub job: String,
}

impl Shard {
    /// The task of this process in the batch named `batch`.
    ///
    /// # Errors
    /// The cluster's files cannot be read, or this process is not a task of the batch.
    pub fn open(results: &Path, batch: &str) -> Result<Self, RunnerError> {
        let cluster = Cluster::open(results)?;
        let facts = cluster.batch(batch)?;
        let batch_system = batch_system(&cluster.facts().settings);
        let given = batch_system.given_job().map_err(|error| RunnerError::Refused(error.to_string()))?;
        let none = || {
            RunnerError::Refused(format!(
                "batch {batch} has no task {}; run `mcc-harness submit --resume` to submit the open models again",
                given.index
            ))
        };
        let model = facts.models.get(given.index as usize).ok_or_else(none)?.clone();
        let need = cluster.facts().needs.iter().find(|need| need.model == model).ok_or_else(none)?;
        let time_s =
            given.limit_s.unwrap_or(need.worst_case_s + u64::from(cluster.facts().settings.margin_s.get()));
        let (resources, mixed_host, node) = (need.resources, facts.mixed_host, given.node);
        Ok(Self { cluster, batch_system, model, node, mixed_host, resources, time_s })
    }

    /// The number of runs of the model, if all of them are recorded: a batch system can start a job again after its end.
    ///
    /// # Errors
    /// The record of the model cannot be read.
    pub fn complete(&self) -> Result<Option<u64>, RunnerError> {
        match RecordSummary::at(&self.cluster.shard(&self.model)) {
            Ok(record) => {
                let Summary { planned, recorded, .. } = record.summary();
                Ok((planned > 0 && recorded == planned).then_some(planned))
            }
            // No job of the model has started yet.
            Err(StoreError::NoRecord { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// If the model must run on another node, submits it for that node.
    ///
    /// # Errors
    /// The job cannot be submitted.
    pub fn bound_elsewhere(&self) -> Result<Option<BoundElsewhere>, RunnerError> {
        match self.cluster.hosts(&self.model)?.nodes.last() {
            Some(bound) if *bound != self.node && !self.mixed_host => {
                let job = self.submit_batch(bound, Reason::WrongNode)?;
                Ok(Some(BoundElsewhere { node: bound.clone(), job }))
            }
            _ => Ok(None),
        }
    }

    /// Runs the open runs of the model on this node by `run`. Returns how that ended, and the summary of the shard.
    ///
    /// # Errors
    /// The shard cannot be prepared, or its record cannot be written.
    pub fn run(
        &self,
        stop: &AtomicBool,
        run: impl FnOnce(CampaignRunner) -> Result<CampaignEnd, RunnerError>,
    ) -> Result<(Result<CampaignEnd, RunnerError>, Summary), RunnerError> {
        let (cluster, model) = (&self.cluster, self.model.as_str());
        let other_host = cluster.hosts(model)?.nodes.iter().any(|node| *node != self.node);
        let whole = Record::open_readonly(cluster.results())?;
        let campaign = Campaign::load(&cluster.facts().campaign)?;
        let edition = edition_of(&whole)?;
        let images = open_images(&campaign)?;
        let inputs = packed_inputs(&campaign, cluster.results())?;
        // libvirt runs QEMU as another user, which opens disks by their paths.
        let mode = if campaign.hosts.backend == Backend::Libvirt { 0o711 } else { 0o700 };
        let stage = StagingFolder::open(&cluster.facts().settings.stage, mode)?;
        let staged = StagedDisks { stage: &stage, submitted: &whole.facts().disks };
        let disks = CampaignDisks::digest(&campaign, &images, &inputs, Some(&staged))?;
        let record = Record::create_or_open_shared(&cluster.shard(model), &whole.facts().shard(model))?
            .sealed_with(cluster.key(model)?);
        let runs: Vec<Run> = whole.runs_of(model)?;
        record.plan_runs(&runs)?;
        for tool in &cluster.facts().released {
            release(&record, tool)?;
        }

        let host = Host::prepare(campaign.hosts.backend, cluster.facts().allow_degraded)?;
        let bind_lock = Mutex::new(());
        let run_attempt =
            |spec: AttemptSpec, enter: &mut dyn FnMut(State)| self.bind(&bind_lock, attempt(spec, enter));
        let settings = RunSettings {
            jobs: Some(cluster.facts().settings.runs_at_once.get() as usize),
            marks: if other_host { vec![Mark::MIXED_HOST] } else { vec![] },
            history: history_of(&cluster.facts().history)?,
            run_attempt: &run_attempt,
            ..RunSettings::of_campaign(&campaign, &edition, &host, (&record, disks), stop)
        };
        let ended = CampaignRunner::new(settings).and_then(run);
        Ok((ended, record.summary()?))
    }

    /// Binds the model to this node (E-5.1) before its first attempt with an outcome of the tool is recorded. A node that
    /// refuses the job, or on which only host or harness failed, does not keep the model.
    fn bind(&self, lock: &Mutex<()>, ended: AttemptResult) -> AttemptResult {
        if ended.outcome.is_infrastructure() {
            return ended;
        }
        let _held = lock.lock();
        match self.cluster.record_node(&self.model, &self.node) {
            Ok(()) => ended,
            Err(error) => AttemptResult::without_machine(Outcome::Infrastructure {
                state: State::Halting.to_string(),
                reason: format!("the node of the model cannot be recorded: {error}"),
            }),
        }
    }

    /// Submits the open runs of the model for this node, and returns the id of the job.
    ///
    /// # Errors
    /// The job cannot be submitted.
    pub fn submit_rest(&self) -> Result<String, RunnerError> {
        self.submit_batch(&self.node, Reason::Chain)
    }

    fn submit_batch(&self, node: &str, reason: Reason) -> Result<String, RunnerError> {
        // Not every version of Slurm states the limit of the job, and a job that asks for more than its partition allows
        // waits without end.
        let limit_s = time_limit(&*self.batch_system, &self.cluster.facts().settings)?.unwrap_or(u64::MAX);
        let batch = Batch {
            name: self.cluster.new_name(),
            models: vec![self.model.clone()],
            resources: self.resources,
            time_s: self.time_s.min(limit_s),
            node: Some(node.to_owned()),
        };
        Ok(self.cluster.submit_batch(&*self.batch_system, &batch, reason, false)?)
    }
}
