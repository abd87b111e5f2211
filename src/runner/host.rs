//! The host of a campaign.

use super::RunnerError;
use mcc_base::Mark;
use mcc_base::machine::Backend;
use mcc_store::HostFacts;
use mcc_vm::host::{Accelerator, HostError, LeaseRegistry, Leases, Policy, Qemu, Survey};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// This host: its cores and memory, its QEMU, and the accelerator of its machines.
pub struct Host {
    /// Whether unmet machine requirements are an error or a mark.
    pub policy: Policy,
    /// The QEMU program.
    pub qemu: Qemu,
    /// The program that starts QEMU.
    pub backend: Backend,
    /// The accelerator of the machines.
    pub accelerator: Accelerator,
    /// Marks of every run, for each setting of the host that a contest does not accept.
    pub marks: Vec<Mark>,
    /// Cores, memory, processor and kernel of the host.
    pub survey: Survey,
}

impl Host {
    /// Finds QEMU, chooses the accelerator and surveys the host.
    ///
    /// # Errors
    /// The host does not meet the machine requirements; with `allow_degraded`: it cannot run machines.
    pub fn prepare(backend: Backend, allow_degraded: bool) -> Result<Self, RunnerError> {
        let policy = if allow_degraded { Policy::AllowDegraded } else { Policy::Contest };
        let qemu = Qemu::find()?;
        if backend == Backend::Libvirt {
            mcc_vm::libvirt::check(Duration::from_secs(120)).map_err(RunnerError::Machine)?;
        }
        let accelerator = Accelerator::choose(&qemu, policy)?;
        let accelerator = match mcc_vm::check_kvm_access() {
            Err(evidence) if backend == Backend::Qemu && accelerator == Accelerator::Kvm => match policy {
                Policy::Contest => return Err(HostError::NoKvm { evidence }.into()),
                Policy::AllowDegraded => Accelerator::Tcg,
            },
            _ => accelerator,
        };
        mcc_vm::probe_cpu_time().map_err(RunnerError::Machine)?;
        let survey = Survey::take()?;
        let unmet = survey.settings(Path::new("/")).unmet();
        if let (Policy::Contest, Some(unmet)) = (policy, unmet.first()) {
            return Err(HostError::Setting(unmet.clone()).into());
        }
        let marks = unmet.into_iter().map(|unmet| unmet.mark).collect();
        Ok(Self { policy, qemu, backend, accelerator, marks, survey })
    }

    /// The facts of this host for the record.
    pub fn facts(&self) -> HostFacts {
        let Survey { name, kernel, cpu, cores, memory } = &self.survey;
        HostFacts {
            name: name.clone(),
            cpu: cpu.clone(),
            cores: u32::try_from(cores.cores.len()).unwrap_or(u32::MAX),
            usable_cores: u32::try_from(cores.usable_cores().count()).ok(),
            memory_mib: memory.total_mib,
            kernel: kernel.clone(),
            accelerator: self.accelerator.word().to_owned(),
            qemu: self.qemu.version.clone(),
        }
    }

    /// The leases of cores and memory, in the lease registry that all controllers of the host share. The registry shows
    /// the name of the campaign file.
    pub(super) fn leases(&self, campaign: &Path, stop: &AtomicBool) -> Result<Leases, RunnerError> {
        let name = campaign.file_name().unwrap_or_default().to_string_lossy();
        let registry = LeaseRegistry::of_this_host(&name, stop)?;
        Ok(Leases::new(&self.survey.cores, &self.survey.memory).with_registry(registry))
    }
}
