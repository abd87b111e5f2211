//! This host as a campaign uses it.

use super::RunnerError;
use mcc_host::{Accelerator, LeaseRegistry, Leases, Policy, Qemu, Survey};
use mcc_vm::Backend;
use std::path::Path;

/// This host: its cores and memory, its QEMU, and the accelerator that its machines use.
pub struct Host {
    pub policy: Policy,
    pub qemu: Qemu,
    pub backend: Backend,
    pub accelerator: Accelerator,
    pub survey: Survey,
}

impl Host {
    /// # Errors
    /// The host cannot run machines as the contest asks; with `allow_degraded`, it cannot run machines at all.
    pub fn prepare(backend: mcc_campaign::Backend, allow_degraded: bool) -> Result<Self, RunnerError> {
        let policy = if allow_degraded { Policy::AllowDegraded } else { Policy::Contest };
        let qemu = Qemu::find()?;
        let backend = self::backend(backend)?;
        let accelerator = Accelerator::choose(&qemu, policy)?;
        mcc_vm::probe_cpu_time().map_err(RunnerError::CpuTime)?;
        let survey = Survey::take()?;
        Ok(Self { policy, qemu, backend, accelerator, survey })
    }

    /// Leases of this host's cores and memory, shared with other controllers. They are shown the name of the
    /// campaign's file.
    pub(super) fn leases(&self, campaign: &Path) -> Result<Leases, RunnerError> {
        let name = campaign.file_name().unwrap_or_default().to_string_lossy();
        let registry = LeaseRegistry::of_this_host(&name)?;
        Ok(Leases::new(&self.survey.cores, &self.survey.memory).with_registry(registry))
    }
}

/// The backend that the campaign asks for, if this program and this host have it.
fn backend(requested: mcc_campaign::Backend) -> Result<Backend, RunnerError> {
    match requested {
        mcc_campaign::Backend::Qemu => Ok(Backend::Qemu),
        #[cfg(feature = "libvirt")]
        mcc_campaign::Backend::Libvirt => {
            mcc_vm::libvirt::check(std::time::Duration::from_secs(120)).map_err(RunnerError::Libvirt)?;
            Ok(Backend::Libvirt)
        }
        #[cfg(not(feature = "libvirt"))]
        mcc_campaign::Backend::Libvirt => Err(RunnerError::NoLibvirt),
    }
}
