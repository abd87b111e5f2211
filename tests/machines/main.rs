//! Machines: how they are built, started, used and measured.

mod changed_disks;
mod container;
mod devices;
mod disk_limit;
mod doctor;
mod evidence_campaigns;
mod image;
mod import;
mod instruction_limit;
mod instructions;
mod machine;
mod progress;
mod restored;
mod run;
mod ssh;
mod submission;
#[path = "../support/mod.rs"]
mod support;

/// The backend of the machines of `machine`, which the program `libvirt` also includes.
pub fn backend() -> mcc_harness::vm::Backend {
    mcc_harness::vm::Backend::Qemu
}
