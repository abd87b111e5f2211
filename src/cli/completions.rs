use super::{Exit, Failure, print};
use clap_complete::Shell;

/// Print the completions of commands and options for a shell.
#[derive(clap::Args)]
pub struct Args {
    /// The shell they are for.
    #[arg(value_enum)]
    shell: Shell,
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::command(), "mcc-harness", &mut script);
    print::raw(&String::from_utf8(script)?)?;
    Ok(Exit::Done)
}
