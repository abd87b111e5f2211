use super::submit::cluster_failure;
use super::{Exit, Failure};
use crate::cluster::{Cluster, Engine, Slurm, Task};
use std::path::PathBuf;

/// End the jobs of a campaign on a cluster.
///
/// Running runs are stopped, what is recorded stays; `submit --resume` goes on.
#[derive(clap::Args)]
pub struct Args {
    /// The folder given to `submit --out`.
    results: PathBuf,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let cluster = Cluster::open(&args.results).map_err(cluster_failure)?;
    let engine = Slurm { settings: cluster.facts().settings.clone() };
    let mut tasks: Vec<Task> = vec![];
    for (name, _) in cluster.batches().map_err(cluster_failure)? {
        tasks.extend(engine.tasks(&name).map_err(cluster_failure)?.into_iter().map(|(task, _)| task));
    }
    engine.cancel(&tasks).map_err(cluster_failure)?;
    println!("{} jobs cancelled", tasks.len());
    Ok(Exit::Done)
}
