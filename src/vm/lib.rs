//! Virtual machines: their specification, QEMU and QMP, the channel to the guest, disk images and how they are built.
//! This crate does not depend on contests.

#![warn(missing_docs)]

pub mod build;
mod build_checks;
mod cgroup;
mod channel;
pub mod container;
mod cpu_time;
mod denied_calls;
mod disk_header;
mod error;
pub mod export;
mod ext4_files;
mod free_space;
mod held_files;
pub mod host;
mod image;
mod instructions;
mod isolation;
pub mod kit;
#[cfg_attr(not(feature = "libvirt"), path = "no_libvirt.rs")]
pub mod libvirt;
mod machine;
mod memory_file;
mod original_disk;
mod overlay;
mod own_id;
mod perf;
mod pidfd;
mod process;
mod qmp;
mod saved_state;
mod sparse_copy;
mod spec;
mod ssh;
mod ssh_evidence;
mod stall;
mod states;
mod stream_file;
mod vcpu_load;
mod view;

pub use channel::{Channel, Received};
pub use cpu_time::probe as probe_cpu_time;
pub use disk_header::{DiskError, DiskFile, check_disk};
pub use error::{GuestEnd, VmError};
pub use ext4_files::Ext4Files;
pub use free_space::{free_bytes, free_bytes_of_folder};
pub use held_files::{HeldFile, HeldFiles};
pub use image::{Boot, ContainerSource, Image, ImageError, ImageFacts, MadeFrom, PackedInstance, Source};
pub use instructions::{InstructionSource, Instructions, check_instruction_limit};
pub use isolation::{Isolation, OVERHEAD_MIB, check_kvm_access};
pub use machine::{Event, Machine, Stream, overlays};
pub use mcc_base::machine::{Backend, DiskBus, NicModel, Original};
pub use original_disk::{OriginalFacts, Partition, inspect};
pub use qmp::{Lines, Qmp};
pub use saved_state::SavedState;
pub use sparse_copy::copy as sparse_copy;
pub use spec::{Guest, MachineSpec, QemuSockets, Start, argv};
pub use ssh_evidence::EvidenceReader;
pub use states::{SavedError, SavedStates};
pub use vcpu_load::VcpuLoad;
