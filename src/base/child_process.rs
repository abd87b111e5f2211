//! Child processes. They get few of the variables that the program itself has, because others may contain secrets, such as
//! tokens of a session, and change what programs do. This module has the list of the variables.

use std::ffi::OsStr;
use std::process::Command;

/// The variables that each child process but a machine gets, if they are set: where programs, libraries and temporary files
/// are, and the user.
const ALL: [&str; 6] = ["PATH", LIBRARIES, "TMPDIR", "HOME", "USER", "LOGNAME"];
const LIBRARIES: &str = "LD_LIBRARY_PATH";

/// The kinds of child processes. Each gets variables of its own, if they are set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// QEMU as a machine: only the folders of its libraries.
    Machine,
    /// Disks, probes, and all others.
    Local,
    /// Programs that download: their proxies.
    Download,
    /// Programs that sign: the agent that has the user's keys.
    Sign,
    /// Commands of a batch system: its configuration, and where controllers find leases and numbers of users, because its jobs get the variables of
    /// the command that submits them.
    Batch,
}

impl Purpose {
    fn variables(self) -> &'static [&'static str] {
        match self {
            Self::Machine => &[LIBRARIES],
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
            Self::Batch => {
                &["SLURM_CONF", "MCC_HARNESS_LEASES", "MCC_HARNESS_LEASE_USERS", "MCC_HARNESS_QEMU_IDS"]
            }
        }
    }
}

/// A command that starts `program` with the variables of its purpose. Callers may add others.
pub fn command(program: impl AsRef<OsStr>, purpose: Purpose) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    let general: &[&str] = if purpose == Purpose::Machine { &[] } else { &ALL };
    for name in general.iter().chain(purpose.variables()) {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
}
