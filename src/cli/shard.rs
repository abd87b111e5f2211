use super::run::{say_on_signal, stop_on_signal};
use super::{Exit, Failure, progress};
use mcc_runner::{BoundElsewhere, Shard};
use signal_hook::consts::SIGUSR1;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Run one model of a campaign in a job of `submit`.
#[derive(clap::Args)]
pub struct Args {
    results: PathBuf,
    #[arg(long)]
    batch: String,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    // Signal handlers are installed first, so that the job always ends normally.
    let stop = stop_on_signal()?;
    let time_is_up = Arc::new(AtomicBool::new(false));
    for flag in [&stop, &time_is_up] {
        signal_hook::flag::register(SIGUSR1, flag.clone())?;
    }
    say_on_signal(&[SIGUSR1], "the job must end soon: it stops when the current runs have ended")?;
    let shard = Shard::open(&args.results, &args.batch)?;
    let (model, this_node) = (&shard.model, &shard.node);
    if let Some(planned) = shard.complete()? {
        println!("{model}: all {planned} runs are recorded already");
        return Ok(Exit::Done);
    }
    if let Some(BoundElsewhere { node, job }) = shard.bound_elsewhere()? {
        println!(
            "{model} must run on {node}, not on {this_node} (E-5.1): job {job} was submitted for that node"
        );
        return Ok(Exit::Done);
    }
    let (end, summary) = shard.run(&stop, |runner| progress::watch(runner, &|_| true))?;
    println!("{model} on {this_node}: {} of {} runs recorded", summary.recorded, summary.planned);
    if time_is_up.load(Ordering::Relaxed) && summary.recorded < summary.planned {
        let job = shard.submit_rest()?;
        println!("the time limit of the job is reached: job {job} continues {model} on {this_node}");
        return Ok(Exit::Done);
    }
    Ok(end?.into())
}
