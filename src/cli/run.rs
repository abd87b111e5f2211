use super::{Exit, Failure};

/// Run or resume a campaign.
#[derive(clap::Args)]
pub struct Args {}

pub fn run(_args: Args) -> Result<Exit, Failure> {
    todo!()
}
