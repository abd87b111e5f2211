//! Child processes. They get few of the variables that the program itself has, because others may contain secrets, such as
//! tokens of a session, and change what programs do. This module has the list of the variables.

use std::ffi::OsStr;
use std::process::Command;

/// The variables that each child process gets, if they are set: where programs, libraries and temporary files are, and the
/// user.
const ALL: [&str; 6] = ["PATH", "LD_LIBRARY_PATH", "TMPDIR", "HOME", "USER", "LOGNAME"];

/// The further variables that a kind of child process gets, if they are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Machines, disks, and all others.
    Local,
    /// Programs that download: their proxies.
    Download,
    /// Programs that sign: the agent that has the user's keys.
    Sign,
    /// Commands of a batch system: its configuration, and where controllers find leases, because its jobs get the variables of
    /// the command that submits them.
    Batch,
}

impl Purpose {
    fn variables(self) -> &'static [&'static str] {
        match self {
            Self::Local => &[],
            Self::Download => &[
                "http_proxy",
                "https_proxy",
                "ftp_proxy",
                "no_proxy",
                "HTTP_PROXY",
                "HTTPS_PROXY",
                "NO_PROXY",
            ],
            Self::Sign => &["SSH_AUTH_SOCK", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "DISPLAY"],
            Self::Batch => &["SLURM_CONF", "MCC_HARNESS_LEASES", "MCC_HARNESS_LEASE_USERS"],
        }
    }
}

/// A command that starts `program` with the variables of its purpose. Callers may add others.
pub fn command(program: impl AsRef<OsStr>, purpose: Purpose) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    for name in ALL.iter().chain(purpose.variables()) {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
}
