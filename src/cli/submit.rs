use super::failure::cluster_failure;
use super::terminal::{argument, next, warning};
use super::{Exit, Failure, print};
use crate::cluster::{
    Batch, BatchSystem, Cluster, ClusterError, ClusterFacts, ModelDemand, ModelState, Reason, Slurm, batches,
    model_statuses,
};
use crate::runner::{PreparedCampaign, history_of};
use anyhow::anyhow;
use mcc_campaign::{Campaign, LostNode, Start};
use mcc_executor::leased_memory_mib;
use mcc_store::{Record, RecordSummary};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Run a campaign on a Slurm cluster, one job per model.
///
/// RESULTS must be on a file system that all nodes share. `submit --resume` submits again the models that have open runs
/// and no job, `status` shows the state of the campaign, and `collect` merges the records of the jobs. docs/cluster.md
/// describes all steps.
#[derive(clap::Args)]
pub struct Args {
    /// The campaign file, campaign.toml; its section [slurm] has the settings for Slurm.
    campaign: PathBuf,
    /// Folder of the record (results and outputs of the runs); created if missing.
    #[arg(long, value_name = "RESULTS")]
    out: PathBuf,
    /// Submit again the models that have open runs and no job.
    #[arg(long)]
    resume: bool,
    /// Print the jobs without submitting or writing anything; needs no Slurm.
    #[arg(long, conflicts_with = "resume")]
    dry_run: bool,
    /// Records of earlier campaigns. The durations in them are used to order the runs.
    #[arg(long, value_name = "RESULTS")]
    history: Vec<PathBuf>,
    /// Run although a node does not meet the contest's machine requirements; every such run is marked.
    #[arg(long)]
    allow_degraded: bool,
    /// Pack instances even if their archives have errors.
    #[arg(long, alias = "accept")]
    accept_errors: bool,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let campaign = Campaign::load(&args.campaign).map_err(Failure::usage)?;
    if args.dry_run {
        return dry_run(&args, campaign);
    }
    let batch_system = Slurm { settings: campaign.slurm.clone() };
    let limit_s = batch_system.time_limit(campaign.slurm.partition.as_deref()).map_err(cluster_failure)?;
    let existing = Cluster::open(&args.out);
    let (cluster, wanted, reason) = match (existing, args.resume) {
        (Ok(_), false) => {
            return Err(Failure::usage(anyhow!(
                "{} was already submitted: use --resume to submit its open models, or another --out for a new campaign",
                args.out.display()
            )));
        }
        (Ok(cluster), true) => {
            let facts = ClusterFacts { settings: campaign.slurm.clone(), ..cluster.facts().clone() };
            let cluster = Cluster::create(&args.out, facts).map_err(cluster_failure)?;
            let open = open_models(&cluster, &batch_system).map_err(cluster_failure)?;
            (cluster, open, Reason::Resume)
        }
        (Err(ClusterError::NotSubmitted(_)), _) => {
            let cluster = create_campaign(&args, campaign.clone())?;
            let all =
                cluster.facts().needs.iter().map(|need| (need.model.clone(), NodeConstraint::Any)).collect();
            (cluster, all, Reason::Submit)
        }
        (Err(error), _) => return Err(cluster_failure(error)),
    };
    let (run_s, margin_s) = (cluster.facts().longest_run_s, u64::from(campaign.slurm.margin_s.get()));
    if let Some(limit_s) = limit_s.filter(|limit_s| *limit_s < run_s + margin_s) {
        let partition = campaign.slurm.partition.clone().unwrap_or_else(|| "(the default)".to_owned());
        return Err(cluster_failure(ClusterError::TooShort { partition, run_s, margin_s, limit_s }));
    }
    let max_tasks = batch_system.max_tasks().map_err(cluster_failure)?;
    for mixed_host in [false, true] {
        let chosen = |need: &&ModelDemand| {
            wanted.get(&need.model).is_some_and(|place| (*place == NodeConstraint::Elsewhere) == mixed_host)
        };
        let needs: Vec<ModelDemand> = cluster.facts().needs.iter().filter(chosen).cloned().collect();
        let node = |model: &str| match wanted.get(model) {
            Some(NodeConstraint::Node(node)) => Some(node.clone()),
            _ => None,
        };
        for batch in batches(&needs, node, limit_s, margin_s, max_tasks, || cluster.new_name()) {
            let job =
                cluster.submit_batch(&batch_system, &batch, reason, mixed_host).map_err(cluster_failure)?;
            println!("{}", submission_line(&job, &batch));
        }
    }
    if wanted.is_empty() {
        eprintln!("submit: nothing to submit: every model is recorded or has a job");
    }
    let results = argument(&args.out);
    next(&format!(
        "`mcc-harness status {results}` shows the state; `mcc-harness collect {results}` when jobs have ended"
    ));
    Ok(Exit::Done)
}

/// The nodes on which a model may run.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NodeConstraint {
    Any,
    /// The node of its first run (E-5.1).
    Node(String),
    /// Any other node, because its node is lost; its further runs are marked `mixed-host`.
    Elsewhere,
}

/// Prints the jobs that `submit` would request from a cluster without limits.
fn dry_run(args: &Args, campaign: Campaign) -> Result<Exit, Failure> {
    let margin_s = u64::from(campaign.slurm.margin_s.get());
    let prepared = PreparedCampaign::new(campaign)?;
    let mut number = 0;
    let name = || {
        number += 1;
        number.to_string()
    };
    for batch in batches(&demands(&prepared, &args.history)?, |_| None, None, margin_s, u32::MAX, name) {
        println!("{}", submission_line(&batch.name, &batch));
    }
    eprintln!("submit: nothing was submitted; the time limit of the partition can divide jobs");
    let (campaign, results) = (argument(&args.campaign), argument(&args.out));
    next(&format!("`mcc-harness submit {campaign} --out {results}` on a host of the cluster"));
    Ok(Exit::Done)
}

fn demands(prepared: &PreparedCampaign, history: &[PathBuf]) -> Result<Vec<ModelDemand>, Failure> {
    let PreparedCampaign { campaign, edition, plan, .. } = prepared;
    let memory_mib = leased_memory_mib(edition.machine.memory_mib, campaign.start == Start::Restore);
    Ok(ModelDemand::of(plan, memory_mib, &campaign.slurm, &history_of(history)?))
}

fn submission_line(job: &str, batch: &Batch) -> String {
    let place = batch.node.as_ref().map_or(String::new(), |node| format!(" on {node}"));
    let (first, models) = (&batch.models[0], batch.models.len());
    let which = if models == 1 { first.clone() } else { format!("{models} models ({first}, ...)") };
    let (cores, time) = (batch.resources.cores, batch.time_s.div_ceil(60));
    format!(
        "job {job}: {which}{place}, per model {cores} cores, {} MB, time limit {time} min",
        batch.resources.memory_mib
    )
}

/// Creates RESULTS: the inputs disk, the record with all runs, and the files of the cluster.
fn create_campaign(args: &Args, campaign: Campaign) -> Result<Cluster, Failure> {
    let prepared = PreparedCampaign::new(campaign)?;
    prepared.record(&args.out, args.accept_errors, Record::create_or_open_shared, &print::inputs)?;
    let PreparedCampaign { campaign, plan, .. } = &prepared;
    let facts = ClusterFacts {
        format: crate::cluster::FORMAT,
        id: crate::cluster::random_name()?,
        campaign: std::path::absolute(&args.campaign)?,
        allow_degraded: args.allow_degraded,
        longest_run_s: plan.longest_run_s,
        settings: campaign.slurm.clone(),
        history: args.history.iter().map(std::path::absolute).collect::<Result<_, _>>()?,
        needs: demands(&prepared, &args.history)?,
    };
    Cluster::create(&args.out, facts).map_err(cluster_failure)
}

/// The models to submit again, with the nodes on which they may run.
fn open_models(
    cluster: &Cluster,
    batch_system: &dyn BatchSystem,
) -> Result<BTreeMap<String, NodeConstraint>, ClusterError> {
    let mut open = BTreeMap::new();
    let model_statuses = model_statuses(cluster, Some(batch_system), &cluster.record_summary()?)?;
    // Cached, because a node has many models.
    let mut available = BTreeMap::new();
    for node in model_statuses.iter().filter_map(|model| model.nodes.last()) {
        if !available.contains_key(node) {
            available.insert(node.clone(), batch_system.node_available(node)?);
        }
    }
    for model in model_statuses {
        let lost = model.nodes.last().is_some_and(|node| !available[node]);
        let policy = cluster.facts().settings.lost_node;
        let place = match (&model.state, model.nodes.last()) {
            // Its job waits for a lost node.
            (ModelState::Pending { task, .. }, Some(_)) if lost && policy != LostNode::Wait => {
                batch_system.cancel(std::slice::from_ref(task))?;
                elsewhere(cluster, &model.model, policy)?
            }
            (ModelState::Open, Some(_)) if lost && policy != LostNode::Wait => {
                elsewhere(cluster, &model.model, policy)?
            }
            (ModelState::Open, Some(node)) => NodeConstraint::Node(node.clone()),
            (ModelState::Open, None) => NodeConstraint::Any,
            _ => continue,
        };
        open.insert(model.model, place);
    }
    Ok(open)
}

fn elsewhere(cluster: &Cluster, model: &str, policy: LostNode) -> Result<NodeConstraint, ClusterError> {
    match policy {
        LostNode::MixedHost => Ok(NodeConstraint::Elsewhere),
        _ => {
            let recorded = RecordSummary::at(&cluster.shard(model))?.summary().recorded;
            warning(&format!(
                "the node of {model} is lost, and lost_node is \"restart\": its recorded runs are superseded and \
                 repeated on another node: {recorded}"
            ));
            cluster.supersede(model).map(|()| NodeConstraint::Any)
        }
    }
}
