use super::{Exit, Failure, print};
use clap_complete::Shell;

/// Print a shell script that completes commands and options.
#[derive(clap::Args)]
pub struct Args {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::command(), "mcc-harness", &mut script);
    print::raw(&String::from_utf8(script)?)?;
    Ok(Exit::Done)
}
