use super::{Exit, Failure};

/// Judge a record or a table of answers.
#[derive(clap::Args)]
pub struct Args {}

pub fn run(_args: Args) -> Result<Exit, Failure> {
    todo!()
}
