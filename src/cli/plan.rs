use super::{Exit, Failure};

/// The runs of a campaign, their order, worst-case duration.
#[derive(clap::Args)]
pub struct Args {}

pub fn run(_args: Args) -> Result<Exit, Failure> {
    todo!()
}
