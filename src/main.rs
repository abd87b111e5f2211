//! The program `mcc-harness`: see the module `cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    // A panic is a bug of the program and has an exit code of its own.
    let exit = std::panic::catch_unwind(mcc_harness::cli::main).unwrap_or(mcc_harness::cli::Exit::Bug);
    ExitCode::from(exit as u8)
}
