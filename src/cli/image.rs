use super::{Exit, Failure};

/// Build reference, tool and inputs disks.
#[derive(clap::Args)]
pub struct Args {}

pub fn run(_args: Args) -> Result<Exit, Failure> {
    todo!()
}
