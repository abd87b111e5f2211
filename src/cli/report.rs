use super::{Exit, Failure};

/// Write the static site of a judgement.
#[derive(clap::Args)]
pub struct Args {}

pub fn run(_args: Args) -> Result<Exit, Failure> {
    todo!()
}
