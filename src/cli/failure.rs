//! Errors with their exit codes.

use super::Exit;
use super::record_source::failure as archive_failure;
use mcc_base::files::is_wrong_path;
use mcc_judge::WriteError;
use mcc_judge::contest_table::ExportError;
use mcc_judge::oracle::OracleError;
use mcc_runner::RunnerError;
use mcc_runner::cluster::ClusterError;
use mcc_runner::executor::ExecutorError;
use mcc_runner::qualify::QualifyError;
use mcc_store::StoreError;

/// An error with its exit code. The operator `?` uses the exit code of a `RunnerError`, and `Exit::Failed` for other
/// errors.
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// The error with its causes.
    pub error: anyhow::Error,
}

impl Failure {
    /// An error of usage or input: `Exit::Usage`.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Usage, error: error.into() }
    }

    /// An error of the host: `Exit::HostCannot`.
    pub fn host(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::HostCannot, error: error.into() }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        match error.into().downcast::<RunnerError>() {
            Ok(error) => runner_failure(error),
            Err(error) => Self { exit: Exit::Failed, error },
        }
    }
}

fn runner_failure(error: RunnerError) -> Failure {
    let exit = match error {
        RunnerError::Store(error) => return store_failure(error),
        RunnerError::Cluster(error) => return cluster_failure(error),
        RunnerError::Archive(error) => return archive_failure(error),
        RunnerError::Executor(error) => return executor_failure(error),
        RunnerError::Lease(mcc_vm::host::LeaseError::Stopped { .. }) => Exit::Failed,
        RunnerError::Host(_) | RunnerError::CpuTime(_) | RunnerError::Lease(_) | RunnerError::NoLibvirt => {
            Exit::HostCannot
        }
        #[cfg(feature = "libvirt")]
        RunnerError::Libvirt(_) => Exit::HostCannot,
        RunnerError::RecordedEdition(_)
        | RunnerError::WrittenEdition(_)
        | RunnerError::Inputs(_)
        | RunnerError::NotSubmitted(_)
        | RunnerError::Io { .. }
        | RunnerError::Measured(_)
        | RunnerError::NotRecorded(_)
        | RunnerError::ReplayFailed { .. } => Exit::Failed,
        RunnerError::Campaign(_)
        | RunnerError::Edition(_)
        | RunnerError::Image(_)
        | RunnerError::Original(_)
        | RunnerError::Instance(_)
        | RunnerError::InstanceErrors(_)
        | RunnerError::OtherEdition { .. }
        | RunnerError::StaleInputs { .. }
        | RunnerError::OtherGenericProperties(_)
        | RunnerError::ChangedArchives { .. }
        | RunnerError::NoReason
        | RunnerError::NothingToRerun { .. }
        | RunnerError::NotAJob(_)
        | RunnerError::NoTask { .. }
        | RunnerError::Record(_)
        | RunnerError::NoSuchRun { .. }
        | RunnerError::NotReplayable { .. }
        | RunnerError::NoDisk(_)
        | RunnerError::Disk(_) => Exit::Usage,
    };
    Failure { exit, error: error.into() }
}

fn executor_failure(error: ExecutorError) -> Failure {
    match error {
        ExecutorError::Lease(_) | ExecutorError::CpuFlags { .. } | ExecutorError::NoSpace { .. } => {
            Failure::host(error)
        }
        ExecutorError::DiskChanged { .. } => Failure::usage(error),
        error => error.into(),
    }
}

/// A file that cannot be written: bad input if its path is wrong, else a failure of the host, such as a full disk.
pub(super) fn write_failure(error: WriteError) -> Failure {
    let WriteError::Io { source, .. } = &error;
    if is_wrong_path(source) { Failure::usage(error) } else { error.into() }
}

pub(super) fn export_failure(error: ExportError) -> Failure {
    match error {
        ExportError::Write(error) => write_failure(error),
        error => Failure::usage(error),
    }
}

/// An oracle that cannot be read or has bad lines is bad input.
pub(super) fn oracle_failure(error: OracleError) -> Failure {
    match error {
        OracleError::Write(error) => write_failure(error),
        error => Failure::usage(error),
    }
}

pub(super) fn store_failure(error: StoreError) -> Failure {
    if error.is_usage() { Failure::usage(error) } else { error.into() }
}

pub(super) fn cluster_failure(error: ClusterError) -> Failure {
    match error {
        ClusterError::NotInstalled { .. } => Failure::host(error),
        ClusterError::NotSubmitted(_)
        | ClusterError::NotAShard(_)
        | ClusterError::TooShort { .. }
        | ClusterError::Bad { .. } => Failure::usage(error),
        ClusterError::Store(error) => store_failure(error),
        other => other.into(),
    }
}

pub(super) fn qualify_failure(error: QualifyError) -> Failure {
    match error {
        QualifyError::Runner(error) => error.into(),
        QualifyError::Store(error) => store_failure(error),
        QualifyError::Stopped
        | QualifyError::NoPair { .. }
        | QualifyError::Toml(_)
        | QualifyError::Io { .. } => error.into(),
        QualifyError::Instances { .. }
        | QualifyError::NoInstance(_)
        | QualifyError::NoHead(_)
        | QualifyError::ToolFolder(_)
        | QualifyError::Setting(_)
        | QualifyError::Path(_)
        | QualifyError::Unnamed(_)
        | QualifyError::Foreign { .. }
        | QualifyError::Name(_)
        | QualifyError::Archive(_)
        | QualifyError::Dispute(_)
        | QualifyError::Oracle(_) => Failure::usage(error),
    }
}
