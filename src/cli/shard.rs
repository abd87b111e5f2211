use super::run::stop_on_signal;
use super::{Exit, Failure, progress};
use crate::runner::{BoundElsewhere, Shard};
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
    // Signals first: from here on the job ends in order.
    let stop = stop_on_signal()?;
    let time_is_up = Arc::new(AtomicBool::new(false));
    for flag in [&stop, &time_is_up] {
        signal_hook::flag::register(signal_hook::consts::SIGUSR1, flag.clone())?;
    }
    let shard = Shard::open(&args.results, &args.batch)?;
    let (model, slurm_task) = (shard.model(), shard.node());
    if let Some(BoundElsewhere { node, job }) = shard.bound_elsewhere()? {
        println!("{model} is bound to {node}, not to {slurm_task}: job {job} waits for it there (E-5.1)");
        return Ok(Exit::Done);
    }
    let (ended, summary) = shard.run(&stop, |runner| progress::watch(runner, &|_| true))?;
    println!("{model} on {slurm_task}: {} of {} runs recorded", summary.recorded, summary.planned);
    if time_is_up.load(Ordering::Relaxed) && summary.recorded < summary.planned {
        let job = shard.hand_in_rest()?;
        println!("the job's time is up: job {job} goes on with {model} on {slurm_task}");
        return Ok(Exit::Done);
    }
    Ok(ended?.into())
}
