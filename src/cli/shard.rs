use super::conduct::{Conduct, Host, drain_on_ctrl_c, history_of, store_failure};
use super::disks::{Disks, Staged, open_images, packed_inputs};
use super::submit::cluster_failure;
use super::{Exit, Failure};
use crate::cluster::{Batch, Cluster, Here, MARGIN_S, Reason, Slurm, Stage};
use anyhow::{Context, anyhow};
use mcc_campaign::{Campaign, Run};
use mcc_edition::Edition;
use mcc_host::MARK_MIXED_HOST;
use mcc_store::Record;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a job of `submit` runs: one model of the campaign, on the node it landed on.
#[derive(clap::Args)]
pub struct Args {
    results: PathBuf,
    #[arg(long)]
    batch: String,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let cluster = Cluster::open(&args.results).map_err(cluster_failure)?;
    let facts = cluster.batch(&args.batch).map_err(cluster_failure)?;
    let here = Here::find().map_err(Failure::usage)?;
    let none = || Failure::usage(anyhow!("{} has no task {}", args.batch, here.index));
    let model = facts.models.get(here.index as usize).ok_or_else(none)?;
    let engine = Slurm { settings: cluster.facts().settings.clone() };
    let need = cluster.facts().needs.iter().find(|need| need.model == *model).ok_or_else(none)?;
    let rest = |node: &str| Batch {
        name: cluster.new_name(),
        models: vec![model.clone()],
        resources: need.resources,
        time_s: here.limit_s.unwrap_or(need.worst_case_s + MARGIN_S),
        node: Some(node.to_owned()),
    };

    // Signals first: from here on the job ends in order.
    let drain = drain_on_ctrl_c()?;
    let time_is_up = Arc::new(AtomicBool::new(false));
    for flag in [&drain, &time_is_up] {
        signal_hook::flag::register(signal_hook::consts::SIGUSR1, flag.clone())?;
    }

    if let Some(bound) = cluster.hosts(model).map_err(cluster_failure)?.nodes.last()
        && *bound != here.node
        && !facts.mixed_host
    {
        let batch = rest(bound);
        let job = cluster.hand_in(&engine, &batch, Reason::Bound, false).map_err(cluster_failure)?;
        println!("{model} is bound to {bound}, not to {}: job {job} waits for it there (E-5.1)", here.node);
        return Ok(Exit::Done);
    }
    let hosts = cluster.bind(model, &here.node).map_err(cluster_failure)?;

    let whole = Record::open_readonly(cluster.results()).map_err(store_failure)?;
    let campaign = Campaign::load(&cluster.facts().campaign).map_err(Failure::usage)?;
    let edition: Edition = serde_json::from_str(&whole.facts().edition).context("the record's edition")?;
    let images = open_images(&campaign)?;
    let inputs = packed_inputs(&campaign, cluster.results())?;
    let stage = Stage::open(&cluster.facts().settings.stage).map_err(cluster_failure)?;
    let staged = Staged { stage: &stage, submitted: &whole.facts().disks };
    let disks = Disks::of(&campaign, &images, &inputs, Some(&staged))?;
    let record = Record::create_or_open_shared(&cluster.shard(model), &whole.facts().shard(model));
    let record = record.map_err(store_failure)?;
    let runs: Vec<Run> = whole.runs_of(model).map_err(store_failure)?;
    record.plan_runs(&runs).map_err(store_failure)?;

    let host = Host::prepare(campaign.hosts.backend, cluster.facts().allow_degraded)?;
    let conduct = Conduct {
        record: &record,
        campaign: &campaign,
        edition: &edition,
        disks,
        jobs: Some(cluster.facts().settings.runs_at_once.get() as usize),
        leases: host.leases(&cluster.facts().campaign)?,
        widest: runs.iter().map(|run| run.vcpus).max().unwrap_or(1),
        marks: if hosts.nodes.len() > 1 { vec![MARK_MIXED_HOST.to_owned()] } else { vec![] },
        history: history_of(&cluster.facts().history)?,
        drain: &drain,
    };
    let conducted = host.conduct(conduct, &|_| true);
    let summary = record.summary()?;
    println!("{model} on {}: {} of {} runs recorded", here.node, summary.recorded, summary.planned);
    if time_is_up.load(Ordering::Relaxed) && summary.recorded < summary.planned {
        let job =
            cluster.hand_in(&engine, &rest(&here.node), Reason::Chain, false).map_err(cluster_failure)?;
        println!("the job's time is up: job {job} goes on with {model} on {}", here.node);
        return Ok(Exit::Done);
    }
    conducted
}
