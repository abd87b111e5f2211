use super::{Exit, Failure};

/// Why a value is trusted and who got what.
#[derive(clap::Args)]
pub struct Args {}

pub fn run(_args: Args) -> Result<Exit, Failure> {
    todo!()
}
