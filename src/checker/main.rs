//! The program `mcc-check`: checks witnesses and certificates without the rest of mcc-harness.

use clap::Parser;
use mcc_base::text::visible;
use mcc_checker::command::Command;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

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
            // `eprintln!` panics where stderr was closed.
            let _ = writeln!(std::io::stderr(), "mcc-check: {}", visible(&error.to_string()));
            return 2;
        }
    };
    let mut out = std::io::stdout().lock();
    match out.write_all(checked.output.as_bytes()).and_then(|()| out.flush()) {
        // The reader of a broken pipe may stop early.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let _ = writeln!(std::io::stderr(), "mcc-check: cannot write to standard output: {error}");
            1
        }
        _ => u8::from(!checked.is_accepted),
    }
}
