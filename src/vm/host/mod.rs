//! The resources of this host: cores, memory, accelerators, programs, and the leases of cores and memory; its settings, and
//! what uses its cores.

mod accelerator;
mod calibration;
mod cores;
mod cpuid;
#[cfg(test)]
mod lease_attacks;
mod lease_folder;
mod lease_registry;
mod leases;
mod memory;
mod program;
mod state;
mod survey;

pub use accelerator::{Accelerator, Probe};
pub use calibration::{RunningCalibration, calibrate, shortest_calibration};
pub use cores::{Core, Cores, KeptTo, keep_to_cpus, restrict_to_cpus};
pub use lease_registry::{
    ControllerLeases, HostLeases, LEASE_FOLDER_VARIABLE, LEASE_USERS_VARIABLE, LeaseRegistry, MachineLease,
};
pub use leases::{Lease, LeaseError, Leases};
pub use memory::Memory;
pub use program::{ProgramOutput, Qemu, find_program};
pub use program::{close_inherited_in_children, run_with_deadline};
pub use state::{HostCounters, HostSettings, TICK_MS, UnmetSetting, threads_of_cores};
pub use survey::Survey;

use mcc_base::Mark;
use std::path::PathBuf;

/// How a host is treated that does not meet the machine requirements of a contest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The host is refused.
    Contest,
    /// `--allow-degraded`: the host is used, and every run has a mark for each requirement that is not met.
    AllowDegraded,
}

/// An error about this host, with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A file of the system cannot be read.
    #[error(transparent)]
    File(#[from] mcc_base::FileError),
    /// A file of the system has unexpected content.
    #[error("unexpected content of {}: `{text}`", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Its content, or what is missing in it.
        text: String,
    },
    /// A system call failed.
    #[error("cannot {what}: {source}")]
    System {
        /// The purpose of the call.
        what: &'static str,
        /// The cause.
        source: nix::errno::Errno,
    },
    /// A program is missing.
    #[error("{program} is not on PATH; install it: apt-get install {package}")]
    NotInstalled {
        /// Name of the program.
        program: &'static str,
        /// The Debian package that contains it.
        package: &'static str,
    },
    /// This host cannot run machines, or not as required: why, and a remedy.
    #[error("{0}")]
    Unusable(String),
    /// A setting of the host does not meet the requirements of a contest, or is unknown.
    #[error(
        "{} of this host: {}; a contest requires {required}: {}; or use --allow-degraded (every run is marked {})",
        .0.name, .0.found, .0.remedy, .0.mark,
        required = if .0.mark == Mark::SWAP { "no swap space" } else { "the governor performance" }
    )]
    Setting(UnmetSetting),
    /// KVM does not work and TCG is not allowed.
    #[error(
        "KVM is not usable on this host: {evidence}; --allow-degraded runs the machines under TCG instead \
         (slow; every run is marked {})",
        Mark::TCG
    )]
    NoKvm {
        /// What the probe of KVM observed.
        evidence: String,
    },
}
