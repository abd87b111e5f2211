//! The program `mcc-check`: checks witnesses and certificates without the rest of mcc-harness.

use clap::Parser;
use mcc_base::text::visible;
use mcc_checker::command::{CertificateArgs, ExploreArgs, WitnessArgs};
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

/// Checks evidence for values of the Model Checking Contest.
#[derive(Parser)]
#[command(name = "mcc-check", version, about, after_help = EXIT_CODES)]
enum Command {
    Witness(WitnessArgs),
    Certificate(CertificateArgs),
    Explore(ExploreArgs),
}

const EXIT_CODES: &str = "Exit codes: 0 accepted, a bound is shown, or all is explored; 1 refused, not checked or not explored; 2 wrong usage or bad input; \
                          70 a bug of the program.";

fn main() -> ExitCode {
    // A panic is a bug of the program and has an exit code of its own.
    ExitCode::from(std::panic::catch_unwind(run).unwrap_or(70))
}

fn run() -> u8 {
    let checked = match Command::parse() {
        Command::Witness(args) => args.check(),
        Command::Certificate(args) => args.check(),
        Command::Explore(args) => args.check(),
    };
    let checked = match checked {
        Ok(checked) => checked,
        Err(error) => {
            eprintln!("mcc-check: {}", visible(&error.to_string()));
            return 2;
        }
    };
    let mut out = std::io::stdout().lock();
    match out.write_all(checked.output.as_bytes()).and_then(|()| out.flush()) {
        // The reader of a broken pipe may stop early.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("mcc-check: cannot write to standard output: {error}");
            1
        }
        _ => u8::from(!checked.is_accepted),
    }
}
