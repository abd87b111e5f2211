//! The libvirt backend of a program that was built without the feature `libvirt`: every use of it is an error.

use super::error::VmError;
use super::process::StartedQemu;
use super::spec::MachineSpec;
use std::path::Path;
use std::time::{Duration, Instant};

/// As with the feature `libvirt`.
///
/// # Errors
/// Always.
pub fn check(_: Duration) -> Result<(), VmError> {
    Err(VmError::NoLibvirt)
}

pub(super) fn start(_: &MachineSpec, _: &Path, _: Instant) -> Result<StartedQemu, VmError> {
    Err(VmError::NoLibvirt)
}

pub(super) fn description(_: &MachineSpec) -> Vec<String> {
    vec![]
}
