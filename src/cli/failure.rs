//! Errors with their exit codes. This is the only place that maps errors: the code of an error of the library crates does
//! not depend on the command that met it.

use super::Exit;
use mcc_archive::ArchiveError;
use mcc_base::FileError;
use mcc_base::files::{is_full, is_wrong_path};
use mcc_base::temporary::is_unusable;
use mcc_certify::command::CertificationError;
use mcc_certify::{ConvertError, EngineError};
use mcc_judge::contest_table::ExportError;
use mcc_judge::oracle::OracleError;
use mcc_judge::record::RecordError;
use mcc_report::ReportError;
use mcc_runner::cluster::ClusterError;
use mcc_runner::executor::ExecutorError;
use mcc_runner::qualify::QualifyError;
use mcc_runner::{ImportError, RunnerError};
use mcc_store::StoreError;
use mcc_vm::build::BuildError;
use std::error::Error;
use std::io;
use std::path::PathBuf;

/// An error with its exit code. The operator `?` gives an error that is not of a known type `Exit::Failed`.
pub struct Failure {
    /// The exit code.
    pub exit: Exit,
    /// The error with its causes.
    pub error: anyhow::Error,
}

impl Failure {
    /// An error of usage or input, unless its type or a full disk gives it another exit code.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self::new(error.into(), Exit::Usage)
    }

    /// `usage` with this message if `is_wrong` is true.
    pub fn usage_if(is_wrong: bool, message: &'static str) -> Result<(), Self> {
        if is_wrong { Err(Self::usage(anyhow::anyhow!(message))) } else { Ok(()) }
    }

    /// An error of usage for the first path of options that cannot be read; its message names the option.
    pub fn if_unreadable<'p>(
        given: impl IntoIterator<Item = (&'static str, Option<&'p PathBuf>)>,
    ) -> Result<(), Self> {
        for (option, path) in given {
            if let Some((path, Err(error))) = path.map(|path| (path, path.metadata())) {
                return Err(Self::usage(anyhow::anyhow!(
                    "{option}: cannot read {}: {error}",
                    path.display()
                )));
            }
        }
        Ok(())
    }

    fn new(error: anyhow::Error, otherwise: Exit) -> Self {
        let is_caused_by =
            |is: fn(&io::Error) -> bool| error.chain().any(|cause| cause.downcast_ref().is_some_and(is));
        let exit = if is_caused_by(is_full) {
            Exit::Failed
        } else if is_caused_by(is_unusable) {
            Exit::HostCannot
        } else {
            error.chain().find_map(known).unwrap_or(otherwise)
        };
        Self { exit, error }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(error.into(), Exit::Failed)
    }
}

/// The exit code of an error of a known type.
fn known(error: &(dyn Error + 'static)) -> Option<Exit> {
    let run = error.downcast_ref().map(runner).or_else(|| error.downcast_ref().map(executor));
    run.or_else(|| error.downcast_ref().map(cluster))
        .or_else(|| error.downcast_ref().map(qualify))
        .or_else(|| error.downcast_ref().map(certification))
        .or_else(|| error.downcast_ref().map(convert))
        .or_else(|| error.downcast_ref().map(store))
        .or_else(|| error.downcast_ref().map(archive))
        .or_else(|| error.downcast_ref().map(record))
        .or_else(|| error.downcast_ref().map(export))
        .or_else(|| error.downcast_ref().map(oracle))
        .or_else(|| error.downcast_ref().map(report))
        .or_else(|| error.downcast_ref().map(import))
        .or_else(|| error.downcast_ref().map(file))
        .or_else(|| error.downcast_ref().map(build))
}

fn usage_or_failed(is_usage: bool) -> Exit {
    if is_usage { Exit::Usage } else { Exit::Failed }
}

/// A file that cannot be read is bad input; one that cannot be written is so if its path is wrong.
fn file(error: &FileError) -> Exit {
    usage_or_failed(error.action == "read" || is_wrong_path(&error.source))
}

fn runner(error: &RunnerError) -> Exit {
    match error {
        RunnerError::Store(error) => store(error),
        RunnerError::Cluster(error) => cluster(error),
        RunnerError::Archive(error) => archive(error),
        RunnerError::Executor(error) => executor(error),
        RunnerError::Record(error) => record(error),
        RunnerError::Lease(mcc_vm::host::LeaseError::Stopped { .. }) => Exit::Failed,
        RunnerError::Host(_) | RunnerError::Machine(_) | RunnerError::Lease(_) => Exit::HostCannot,
        RunnerError::Inputs(_) | RunnerError::File(_) | RunnerError::Measured(_) | RunnerError::Failed(_) => {
            Exit::Failed
        }
        RunnerError::Campaign(_)
        | RunnerError::Edition(_)
        | RunnerError::Image(_)
        | RunnerError::Instance(_)
        | RunnerError::Refused(_)
        | RunnerError::Disk(_) => Exit::Usage,
    }
}

fn executor(error: &ExecutorError) -> Exit {
    match error {
        ExecutorError::Lease(_) | ExecutorError::CpuFlags { .. } | ExecutorError::NoSpace { .. } => {
            Exit::HostCannot
        }
        ExecutorError::DiskChanged { .. } => Exit::Usage,
        // Runs were executed, so whatever it is, it is not bad input.
        ExecutorError::Store(_)
        | ExecutorError::ConsecutiveFailures { .. }
        | ExecutorError::DiskFull { .. }
        | ExecutorError::Disk(_)
        | ExecutorError::File(_) => Exit::Failed,
    }
}

fn store(error: &StoreError) -> Exit {
    match error {
        StoreError::File(error) => file(error),
        // A damaged record. A full disk is `WriteFailed`.
        StoreError::Database { .. } => Exit::Usage,
        error => usage_or_failed(error.is_usage()),
    }
}

fn cluster(error: &ClusterError) -> Exit {
    match error {
        ClusterError::NotInstalled { .. } | ClusterError::Unreachable { .. } => Exit::HostCannot,
        ClusterError::NotSubmitted(_) | ClusterError::Bad { .. } => Exit::Usage,
        ClusterError::Store(error) => store(error),
        ClusterError::File(error) => file(error),
        ClusterError::Command { .. } => Exit::Failed,
    }
}

fn qualify(error: &QualifyError) -> Exit {
    match error {
        QualifyError::Runner(error) => runner(error),
        QualifyError::Store(error) => store(error),
        QualifyError::Stopped | QualifyError::NoPair(_) | QualifyError::Toml(_) | QualifyError::File(_) => {
            Exit::Failed
        }
        QualifyError::Refused(_)
        | QualifyError::Name(_)
        | QualifyError::Archive(_)
        | QualifyError::Oracle(_) => Exit::Usage,
    }
}

/// A proof that is not found, or that the checker refuses, is a failed check of good input.
fn convert(error: &ConvertError) -> Exit {
    let is_unproved = matches!(
        error,
        ConvertError::Unproved(_) | ConvertError::Check(_) | ConvertError::Engine(EngineError::Stop(_))
    );
    usage_or_failed(!is_unproved)
}

fn certification(error: &CertificationError) -> Exit {
    match error {
        CertificationError::Stopped | CertificationError::Json(_) => Exit::Failed,
        CertificationError::File(error) => file(error),
        CertificationError::Record(error) => store(error),
        _ => Exit::Usage,
    }
}

/// An unusable archive or record is bad input.
fn archive(error: &ArchiveError) -> Exit {
    match error {
        ArchiveError::Store(error) => store(error),
        ArchiveError::Record(error) => record(error),
        ArchiveError::File(error) => file(error),
        ArchiveError::Export(error) => export(error),
        _ => Exit::Usage,
    }
}

/// A record that is damaged or was changed is bad input; open runs are not.
fn record(error: &RecordError) -> Exit {
    match error {
        RecordError::Store(error) => store(error),
        RecordError::Unfinished { .. } => Exit::Failed,
        _ => Exit::Usage,
    }
}

fn export(error: &ExportError) -> Exit {
    match error {
        ExportError::Write(error) => file(error),
        ExportError::Judge(_) | ExportError::OtherOverrides(_) => Exit::Usage,
    }
}

fn oracle(error: &OracleError) -> Exit {
    match error {
        OracleError::File(error) => file(error),
        _ => Exit::Usage,
    }
}

fn report(error: &ReportError) -> Exit {
    match error {
        ReportError::Record(error) => store(error),
        error => usage_or_failed(error.is_bad_input()),
    }
}

fn import(error: &ImportError) -> Exit {
    match error {
        ImportError::Archive(error) => archive(error),
        ImportError::File(error) => file(error),
        _ => Exit::Usage,
    }
}

/// A container, tool or disk that is refused, or a path that is taken, is bad input.
fn build(error: &BuildError) -> Exit {
    match error {
        BuildError::Missing { .. } | BuildError::NotRoot => Exit::HostCannot,
        BuildError::File(error) => file(error),
        BuildError::Recipe { .. } | BuildError::Packages { .. } => Exit::Failed,
        BuildError::Container(_) | BuildError::Refused(_) | BuildError::Image(_) | BuildError::Disk(_) => {
            Exit::Usage
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_base::temporary::folder_in;
    use mcc_vm::container::ContainerError;
    use std::path::Path;

    fn path() -> PathBuf {
        PathBuf::from("results")
    }

    #[test]
    fn a_full_disk_has_the_same_exit_code_on_every_route() {
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let file = || FileError { action: "write", path: path(), source: full() };
        let store = || StoreError::from(file());
        let archive = || ArchiveError::from(file());
        for failure in [
            Failure::from(full()),
            Failure::usage(full()),
            Failure::usage(file()),
            Failure::usage(store()),
            Failure::usage(archive()),
            Failure::from(RunnerError::from(file())),
            Failure::from(RunnerError::Archive(archive())),
            Failure::from(QualifyError::Runner(RunnerError::Store(store()))),
            Failure::from(ExportError::Write(file())),
            Failure::from(ReportError::from(file())),
            Failure::from(anyhow::Error::new(archive()).context("cannot read the archive")),
        ] {
            assert_eq!(failure.exit, Exit::Failed, "{}", failure.error);
        }
    }

    #[test]
    fn an_error_has_the_same_exit_code_on_every_route() {
        let missing = || StoreError::no_record(&path());
        for failure in [
            Failure::from(missing()),
            Failure::usage(missing()),
            Failure::from(RunnerError::Store(missing())),
            Failure::from(QualifyError::Store(missing())),
            Failure::from(ClusterError::Store(missing())),
            Failure::from(ArchiveError::Store(missing())),
            Failure::from(anyhow::Error::new(missing()).context("cannot read the record")),
        ] {
            assert_eq!(failure.exit, Exit::Usage, "{}", failure.error);
        }
        let no_space = || ExecutorError::NoSpace { path: path(), free: 1, needed: 2 };
        for failure in [Failure::usage(no_space()), Failure::from(RunnerError::Executor(no_space()))] {
            assert_eq!(failure.exit, Exit::HostCannot, "{}", failure.error);
        }
        let no_temporary = || folder_in(Path::new("/dev/null"), "").unwrap_err();
        for failure in [
            Failure::usage(no_temporary()),
            Failure::from(ArchiveError::from(no_temporary())),
            Failure::from(RunnerError::from(no_temporary())),
            Failure::from(QualifyError::Runner(RunnerError::Archive(no_temporary().into()))),
        ] {
            assert_eq!(failure.exit, Exit::HostCannot, "{}", failure.error);
        }
        let refused = || {
            BuildError::Container(ContainerError::Unsuitable { path: path(), reason: "a device".to_owned() })
        };
        for failure in
            [Failure::from(refused()), Failure::from(anyhow::Error::new(refused()).context("building out"))]
        {
            assert_eq!(failure.exit, Exit::Usage, "{}", failure.error);
        }
        assert_eq!(Failure::from(anyhow::anyhow!("unknown")).exit, Exit::Failed);
    }
}
