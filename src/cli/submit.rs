use super::import::refuse_no_campaign;
use super::run::no_entry;
use super::terminal::{argument, next, warning};
use super::{Exit, Failure, print};
use anyhow::anyhow;
use mcc_base::text::counted;
use mcc_campaign::{Campaign, LostNode};
use mcc_edition::Edition;
use mcc_runner::cluster::{
    Batch, BatchSystem, Cluster, ClusterError, ClusterFacts, ModelDemand, ModelState, ModelStatus, Reason,
    Task, batch_system, batches, model_statuses, time_limit,
};
use mcc_runner::{PreparedCampaign, history_of};
use mcc_store::{Record, RecordSummary};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Run a campaign on a cluster (Slurm, OAR), one job per model.
///
/// RESULTS must be on a file system that all nodes share. `submit --resume` submits again the models that have open runs
/// and no job, `status` shows the state of the campaign, and `collect` merges the records of the jobs. The options of the
/// last `submit` apply to all jobs that start after it. docs/cluster.md describes all steps.
#[derive(clap::Args)]
pub struct Args {
    /// The campaign file, campaign.toml; its section [cluster] has the settings for the batch system.
    campaign: PathBuf,
    /// Folder of the record (results and outputs of the runs); created if missing.
    #[arg(long, value_name = "RESULTS")]
    out: PathBuf,
    /// Submit again the models that have open runs and no job.
    #[arg(long)]
    resume: bool,
    /// Print the jobs without submitting or writing anything. Without --resume it needs no batch system.
    #[arg(long)]
    dry_run: bool,
    /// Records of earlier campaigns. The durations in them are used to order the runs.
    #[arg(long, value_name = "RESULTS")]
    history: Vec<PathBuf>,
    /// Run although a node does not meet the contest's machine requirements; every such run is marked.
    #[arg(long)]
    allow_degraded: bool,
    /// Run the open runs of a held entry, or of all entries of a tool. Jobs that start after this `submit` do not hold it.
    #[arg(long, value_name = "ENTRY|TOOL", requires = "resume")]
    release: Vec<String>,
    /// Pack instances even if their archives have errors.
    #[arg(long, alias = "accept")]
    accept_errors: bool,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    refuse_no_campaign(&args.campaign)?;
    let campaign = Campaign::load(&args.campaign).map_err(Failure::usage)?;
    let submitted = Cluster::open_if_submitted(&args.out)?;
    if submitted.is_some() && !args.resume {
        return Err(Failure::usage(anyhow!(
            "{} was already submitted: use --resume to submit its open models, or another --out for a new campaign",
            args.out.display()
        )));
    }
    for tool in &args.release {
        let entries = campaign.entries(&Edition::load(&campaign.edition).map_err(Failure::usage)?);
        if !entries.iter().any(|facts| facts.entry == **tool || facts.tool == *tool) {
            return Err(no_entry(&campaign, tool));
        }
    }
    let mut released = submitted.as_ref().map_or(vec![], |cluster| cluster.facts().released.clone());
    released.extend(args.release.iter().filter(|tool| !released.contains(tool)).cloned().collect::<Vec<_>>());
    let settings = campaign.cluster.clone();
    let batch_system = batch_system(&settings);
    // The dry run of a new campaign needs no batch system.
    let (limit_s, max_tasks) = if args.dry_run && submitted.is_none() {
        (None, u32::MAX)
    } else {
        let limit_s = time_limit(&*batch_system, &settings)?;
        (limit_s, batch_system.max_tasks()?)
    };
    let prepared = PreparedCampaign::new(campaign)?;
    let (run_s, margin_s) = (prepared.plan.longest_run_s, u64::from(settings.margin_s.get()));
    if let Some(limit_s) = limit_s.filter(|limit_s| *limit_s < run_s + margin_s) {
        let partition = settings.partition.clone().unwrap_or_else(|| "(the default)".to_owned());
        return Err(Failure::usage(anyhow!(
            "the longest run takes {run_s} s, a job needs {margin_s} s in addition (margin_s in [cluster]), and partition \
             {partition} ends jobs after {limit_s} s: choose another partition in [cluster], smaller [limits], or smaller deadlines in \
             [hosts]"
        )));
    }
    let needs = demands(&prepared, &args.history)?;
    let wanted = match &submitted {
        Some(cluster) => open_models(cluster, &*batch_system, settings.lost_node)?,
        None => needs.iter().map(|need| (need.model.clone(), Placement::default())).collect(),
    };
    if wanted.is_empty() {
        stderr_line!("submit: nothing to submit: every model is recorded or has a job");
    }
    if submitted.as_ref().is_some_and(|cluster| cluster.facts().allow_degraded) && !args.allow_degraded {
        warning(
            "the last submission had --allow-degraded, this one has not: nodes that do not meet the machine requirements refuse their jobs",
        );
    }
    let limits = Limits { time_s: limit_s, margin_s, max_tasks };
    let results = argument(&args.out);
    if args.dry_run {
        let mut number = 0;
        let name = || {
            number += 1;
            number.to_string()
        };
        for (batch, _) in placed_batches(&needs, &wanted, &limits, name) {
            println!("{}", submission_line(&batch.name, &batch));
        }
        stderr_line!(
            "submit: this was only a list of the jobs; if the partition has a shorter time limit, `submit` divides them into more"
        );
        let (campaign, resume) = (argument(&args.campaign), if args.resume { " --resume" } else { "" });
        next(&format!("`mcc-harness submit {campaign} --out {results}{resume}` on a host of the cluster"));
        return Ok(Exit::Done);
    }

    let mut created = submitted.is_none().then(|| Created::below(&args.out)).transpose()?;
    prepared.record(&args.out, args.accept_errors, Record::create_or_open_shared, &print::inputs)?;
    let facts = ClusterFacts {
        format: mcc_runner::cluster::FORMAT,
        id: match &submitted {
            Some(cluster) => cluster.facts().id.clone(),
            None => mcc_base::random::hex_digits(4)?,
        },
        campaign: std::path::absolute(&args.campaign)?,
        allow_degraded: args.allow_degraded,
        longest_run_s: run_s,
        settings,
        history: args.history.iter().map(std::path::absolute).collect::<Result<_, _>>()?,
        released,
        needs,
    };
    let cluster = Cluster::create(&args.out, facts)?;
    let reason = if submitted.is_some() { Reason::Resume } else { Reason::Submit };
    for (model, place) in &wanted {
        place.prepare(&cluster, &*batch_system, model)?;
    }
    let needs = &cluster.facts().needs;
    for (batch, mixed_host) in placed_batches(needs, &wanted, &limits, || cluster.new_name()) {
        let job = cluster.submit_batch(&*batch_system, &batch, reason, mixed_host);
        // A failed command can have submitted the job.
        let is_unknown = || batch_system.tasks(&[batch.name.as_str()]).is_ok_and(|tasks| tasks.is_empty());
        if let Some(created) = &mut created
            && (job.is_ok() || !is_unknown())
        {
            created.kept = true;
        }
        println!("{}", submission_line(&job?, &batch));
    }
    next(&format!(
        "`mcc-harness status {results}` shows the state; `mcc-harness collect {results}` when jobs have ended"
    ));
    Ok(Exit::Done)
}

/// The limits of the cluster.
struct Limits {
    time_s: Option<u64>,
    margin_s: u64,
    max_tasks: u32,
}

/// The batches of the wanted models, each with whether its models continue on another host (`BatchFacts::mixed_host`).
fn placed_batches(
    needs: &[ModelDemand],
    wanted: &BTreeMap<String, Placement>,
    limits: &Limits,
    mut name: impl FnMut() -> String,
) -> Vec<(Batch, bool)> {
    let node = |model: &str| match wanted.get(model).map(|place| &place.node) {
        Some(NodeConstraint::Node(node)) => Some(node.clone()),
        _ => None,
    };
    let mut placed = vec![];
    for mixed_host in [false, true] {
        let is_chosen = |place: &Placement| (place.node == NodeConstraint::Elsewhere) == mixed_host;
        let chosen = |need: &&ModelDemand| wanted.get(&need.model).is_some_and(is_chosen);
        let needs: Vec<ModelDemand> = needs.iter().filter(chosen).cloned().collect();
        let Limits { time_s, margin_s, max_tasks } = *limits;
        let batches = batches(&needs, node, time_s, margin_s, max_tasks, &mut name);
        placed.extend(batches.into_iter().map(|batch| (batch, mixed_host)));
    }
    placed
}

/// What `submit` creates in RESULTS. A refused submission leaves nothing: it is removed when this is dropped, unless it
/// is kept.
struct Created<'a> {
    results: &'a Path,
    /// What was there before; None: RESULTS did not exist.
    before: Option<BTreeSet<OsString>>,
    kept: bool,
}

impl<'a> Created<'a> {
    fn below(results: &'a Path) -> io::Result<Self> {
        let before = if results.exists() { Some(names_in(results)?) } else { None };
        Ok(Self { results, before, kept: false })
    }

    fn remove(&self) -> io::Result<()> {
        let Some(before) = &self.before else { return fs::remove_dir_all(self.results) };
        for new in names_in(self.results)?.difference(before) {
            let path = self.results.join(new);
            if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }?;
        }
        Ok(())
    }
}

impl Drop for Created<'_> {
    fn drop(&mut self) {
        if !self.kept
            && self.results.exists()
            && let Err(error) = self.remove()
        {
            warning(&format!("{}: cannot remove it: {error}; remove it by hand", self.results.display()));
        }
    }
}

fn names_in(folder: &Path) -> io::Result<BTreeSet<OsString>> {
    fs::read_dir(folder)?.map(|item| item.map(|item| item.file_name())).collect()
}

fn demands(prepared: &PreparedCampaign, history: &[PathBuf]) -> Result<Vec<ModelDemand>, Failure> {
    let PreparedCampaign { campaign, edition, plan, .. } = prepared;
    let (history, memory_mib) = (history_of(history)?, edition.machine.memory_mib);
    Ok(ModelDemand::of_runs(plan.runs(), plan.longest_run_s, memory_mib, &campaign.cluster, &history))
}

fn submission_line(job: &str, batch: &Batch) -> String {
    let place = batch.node.as_ref().map_or(String::new(), |node| format!(" on {node}"));
    let (first, models) = (&batch.models[0], batch.models.len());
    let (cores, time) = (batch.resources.cores, batch.time_s.div_ceil(60));
    let jobs = if models == 1 {
        format!("job {job}: {first}{place}, with")
    } else {
        format!("job array {job}: {models} jobs, one for each model ({first}, ...){place}, each with")
    };
    let (cores, memory) = (counted(cores, "core"), batch.resources.memory_mib);
    format!("{jobs} {cores}, {memory} MiB, time limit {time} min")
}

/// Where a model is submitted, and what must be done before.
#[derive(Default)]
struct Placement {
    node: NodeConstraint,
    /// Its waiting job, which is cancelled.
    waiting: Option<Task>,
    /// Whether its shard is superseded.
    restart: bool,
}

/// The nodes on which a model may run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum NodeConstraint {
    #[default]
    Any,
    /// The node of its first run (E-5.1).
    Node(String),
    /// Any other node, because its node is lost; its further runs are marked `mixed-host`.
    Elsewhere,
}

impl Placement {
    fn prepare(
        &self,
        cluster: &Cluster,
        batch_system: &dyn BatchSystem,
        model: &str,
    ) -> Result<(), ClusterError> {
        if let Some(task) = &self.waiting {
            batch_system.cancel(std::slice::from_ref(task))?;
        }
        if self.restart { cluster.supersede(model) } else { Ok(()) }
    }
}

/// The models to submit again, and where.
fn open_models(
    cluster: &Cluster,
    batch_system: &dyn BatchSystem,
    policy: LostNode,
) -> Result<BTreeMap<String, Placement>, ClusterError> {
    let mut open = BTreeMap::new();
    let model_statuses = model_statuses(cluster, Some(batch_system), &cluster.record_summary()?)?;
    // Cached, because a node has many models.
    let mut available = BTreeMap::new();
    for node in model_statuses.iter().filter_map(|model| model.nodes.last()) {
        if !available.contains_key(node) {
            available.insert(node.clone(), batch_system.node_available(node)?);
        }
    }
    for ModelStatus { model, nodes, state, .. } in model_statuses {
        let lost = nodes.last().is_some_and(|node| !available[node]) && policy != LostNode::Wait;
        let waiting = match state {
            ModelState::Open => None,
            // Its job waits for a lost node.
            ModelState::Pending { task, .. } if lost => Some(task),
            _ => continue,
        };
        let node = match nodes.last() {
            Some(_) if lost && policy == LostNode::MixedHost => NodeConstraint::Elsewhere,
            Some(node) if !lost => NodeConstraint::Node(node.clone()),
            _ => NodeConstraint::Any,
        };
        let restart = lost && policy == LostNode::Restart;
        if restart {
            let recorded = RecordSummary::at(&cluster.shard(&model))?.summary().recorded;
            warning(&format!(
                "the node of {model} is lost, and lost_node is \"restart\": its recorded runs are superseded and \
                 repeated on another node: {recorded}"
            ));
        }
        open.insert(model, Placement { node, waiting, restart });
    }
    Ok(open)
}
