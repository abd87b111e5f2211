use super::submit::cluster_failure;
use super::{Exit, Failure, Format, print};
use crate::cluster::{Cluster, ClusterError, ModelStanding, Slurm, Standing, standings};
use crate::store::{Record, Summary};
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;

/// How a campaign stands, from any terminal or host that sees its folder.
#[derive(clap::Args)]
pub struct Args {
    /// The folder given to `run --out` or `submit --out`.
    results: PathBuf,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    summary: Summary,
    /// On a cluster: by model, from the jobs' own records and the batch system.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    models: Vec<ModelStanding>,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let record = Record::open_readonly(&args.results).map_err(super::conduct::store_failure)?;
    let mut shown = Shown { summary: record.summary()?, models: vec![] };
    match Cluster::open(&args.results) {
        Ok(cluster) => {
            let engine = Slurm { settings: cluster.facts().settings.clone() };
            shown.models = standings(&cluster, &engine).map_err(cluster_failure)?;
        }
        Err(ClusterError::NotSubmitted(_)) => {}
        Err(error) => return Err(cluster_failure(error)),
    }
    match args.format {
        Format::Json => print::raw(&format!("{}\n", serde_json::to_string_pretty(&shown)?))?,
        Format::Text => print::text(&as_text(&shown)?)?,
    }
    Ok(Exit::Done)
}

fn as_text(shown: &Shown) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    let Summary { planned, recorded, outcomes, .. } = &shown.summary;
    if shown.models.is_empty() {
        writeln!(out, "{recorded} of {planned} runs are recorded")?;
        outcomes.iter().try_for_each(|(word, count)| writeln!(out, "  {word:<20} {count}"))?;
        return Ok(out);
    }
    for model in &shown.models {
        let standing = match &model.standing {
            Standing::Done => "done".to_owned(),
            Standing::Running { node } => format!("running on {node}"),
            Standing::Pending { reason, .. } => format!("waits ({reason})"),
            Standing::Open => "open: `submit --resume` hands it in again".to_owned(),
        };
        let mixed = if model.nodes.len() > 1 { " mixed-host" } else { "" };
        let infrastructure = model.outcomes.get("infrastructure").copied().unwrap_or(0);
        let trouble =
            if infrastructure > 0 { format!(", {infrastructure} infrastructure") } else { String::new() };
        let counts = format!("{}/{}", model.recorded, model.planned);
        writeln!(out, "{:<30} {counts:>11}  {standing}{mixed}{trouble}", model.model)?;
    }
    let (done, all): (u64, u64) =
        shown.models.iter().fold((0, 0), |(done, all), model| (done + model.recorded, all + model.planned));
    writeln!(out, "{done} of {all} runs have their record, {recorded} of them are collected")?;
    Ok(out)
}
