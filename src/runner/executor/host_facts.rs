//! The facts of a host for the record.

use mcc_store::HostFacts;
use mcc_vm::host::{Accelerator, Qemu, Survey};

/// Returns the facts of the surveyed host, with its accelerator and QEMU.
pub fn host_facts(survey: &Survey, accelerator: Accelerator, qemu: &Qemu) -> HostFacts {
    HostFacts {
        name: survey.name.clone(),
        cpu: survey.cpu.clone(),
        cores: u32::try_from(survey.cores.cores.len()).unwrap_or(u32::MAX),
        usable_cores: u32::try_from(survey.cores.usable_cores().count()).ok(),
        memory_mib: survey.memory.total_mib,
        kernel: survey.kernel.clone(),
        accelerator: accelerator.word().to_owned(),
        qemu: qemu.version.clone(),
    }
}
