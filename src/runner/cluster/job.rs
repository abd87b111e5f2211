//! What the implementations of the batch systems share: commands, and the environment of a job.

use super::ClusterError;
use mcc_base::child_process::{self, Purpose};
use mcc_vm::host::{ProgramOutput, find_program, run_with_deadline};
use std::str::FromStr;
use std::time::Duration;

/// What the batch system gave the job in which this program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenJob {
    /// Index of the task in its array.
    pub index: u32,
    /// The batch system's name of the node; several nodes may be one host.
    pub node: String,
    /// Time limit of the job, seconds; None: no limit.
    pub limit_s: Option<u64>,
}

/// Time for a command; a busy controller of a batch system may need a minute.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(120);

/// Runs a command of a batch system and returns its output.
pub(super) fn run_command(program: &'static str, args: &[String]) -> Result<String, ClusterError> {
    let ended = ended_command(program, args)?;
    match ended.status {
        Some(status) if status.success() => Ok(ended.stdout),
        _ => Err(failed(program, args, ended.describe())),
    }
}

/// Runs a command of a batch system, whatever its exit code is.
pub(super) fn ended_command(program: &'static str, args: &[String]) -> Result<ProgramOutput, ClusterError> {
    let package = if program.starts_with("oar") { "oar-user" } else { "slurm-client" };
    let found = find_program(program).ok_or(ClusterError::NotInstalled { program, package })?;
    let mut command = child_process::command(found, Purpose::Batch);
    run_with_deadline(command.args(args), COMMAND_TIMEOUT)
        .map_err(|error| failed(program, args, error.to_string()))
}

pub(super) fn failed(program: &str, args: &[String], problem: String) -> ClusterError {
    ClusterError::Command { command: format!("{program} {}", args.join(" ")), problem }
}

/// A variable of the environment of a job.
pub(super) fn variable(name: &str) -> Result<String, ClusterError> {
    std::env::var(name).map_err(|_| {
        not_given(format!("{name} is not set: this command is for jobs of `mcc-harness submit` only"))
    })
}

/// A variable of the environment of a job that is a number.
pub(super) fn number<T: FromStr>(name: &str) -> Result<T, ClusterError> {
    let text = variable(name)?;
    text.parse().map_err(|_| not_given(format!("{name} is {text:?}, not a number")))
}

/// The environment of this process is not that of a job as it was requested.
pub(super) fn not_given(problem: String) -> ClusterError {
    ClusterError::Command { command: "mcc-harness shard".to_owned(), problem }
}
