//! What this host offers: cores, memory, an accelerator that really boots.

mod accelerator;
mod cores;
mod cpuid;
mod lease_registry;
mod leases;
mod memory;
mod program;
mod survey;

pub use accelerator::{Accelerator, Probe};
pub use cores::{Core, Cores, KeptTo, restrict_to_cpus};
pub use lease_registry::{ControllerLeases, LEASE_FOLDER_VARIABLE, LeaseRegistry, MachineLease};
pub use leases::{Lease, LeaseError, Leases};
pub use memory::Memory;
pub use program::run_with_deadline;
pub use program::{Qemu, find_program};
pub use survey::Survey;

use mcc_base::Mark;
use std::path::PathBuf;

/// The marks of a run whose machine was not what the contest promises (E-5); `AllowDegraded` only.

/// What may be done about a host that can't honour the contest's machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Refuse.
    Contest,
    /// `--allow-degraded`: go on, with marks.
    AllowDegraded,
}

/// Why this host cannot do something, and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error("cannot read {path}: {source}", path = path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("cannot make sense of {path}: `{text}`", path = path.display())]
    Content { path: PathBuf, text: String },
    #[error("cannot ask this system for {what}: {source}")]
    System { what: &'static str, source: nix::errno::Errno },
    #[error("{program} is not on PATH; install it: apt-get install {package}")]
    NotInstalled { program: &'static str, package: &'static str },
    #[error("{program} does not run: {problem}; reinstall it: apt-get install --reinstall {package}")]
    Broken { program: String, problem: String, package: &'static str },
    #[error(
        "KVM is not usable on this host: {evidence}; --allow-degraded runs the machines under TCG instead \
         (slow; every run is marked {})",
        Mark::TCG
    )]
    NoKvm { evidence: String },
    #[error("neither KVM nor TCG boots a machine on this host: KVM: {kvm}; TCG: {tcg}")]
    NoAccelerator { kvm: String, tcg: String },
}
