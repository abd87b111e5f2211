use super::{Exit, Failure};

/// Can this machine run a campaign, and what would be degraded.
#[derive(clap::Args)]
pub struct Args {}

pub fn run(_args: Args) -> Result<Exit, Failure> {
    todo!()
}
