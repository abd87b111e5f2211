use super::{Exit, Failure};
use mcc_runner::cluster::{Cluster, Task, batch_system, own_tasks};
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
    let own = own_tasks(&cluster, &*batch_system)?;
    let tasks: Vec<Task> = own.into_iter().map(|(_, task, _)| task).collect();
    batch_system.cancel(&tasks)?;
    println!("cancelled jobs: {}", tasks.len());
    Ok(Exit::Done)
}
