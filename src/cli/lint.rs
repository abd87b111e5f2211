use super::{Exit, Failure};

/// Check a tool's output against the answer protocol.
#[derive(clap::Args)]
pub struct Args {}

pub fn run(_args: Args) -> Result<Exit, Failure> {
    todo!()
}
