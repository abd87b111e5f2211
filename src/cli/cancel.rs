use super::{Exit, Failure};
use mcc_runner::cluster::{Cluster, Task, batch_system};
use std::path::PathBuf;

/// Cancel the jobs of a campaign on a cluster.
///
/// Running runs are stopped. Recorded runs are kept. `submit --resume` continues the campaign.
#[derive(clap::Args)]
pub struct Args {
    /// The folder given to `submit --out`.
    results: PathBuf,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let cluster = Cluster::open(&args.results)?;
    let batch_system = batch_system(&cluster.facts().settings);
    let batches = cluster.batches()?;
    let names: Vec<&str> = batches.iter().map(|(name, _)| name.as_str()).collect();
    let tasks = batch_system.tasks(&names)?;
    let is_own = |name: &str, task: &Task| batches.iter().any(|(own, batch)| own == name && batch.has(task));
    let tasks: Vec<Task> =
        tasks.into_iter().filter(|(name, task, _)| is_own(name, task)).map(|(_, task, _)| task).collect();
    batch_system.cancel(&tasks)?;
    println!("cancelled jobs: {}", tasks.len());
    Ok(Exit::Done)
}
