//! A machine: its description, QEMU, QMP, the channel to the guest, the disks it boots from. Knows nothing
//! of contests.

pub mod build;
mod channel;
mod confine;
mod group;
mod image;
pub mod kit;
#[cfg(feature = "libvirt")]
pub mod libvirt;
mod machine;
mod original;
mod process;
mod pulse;
mod qmp;
mod saved;
mod sink;
mod spec;
mod ssh;

pub use confine::Confinement;
pub use image::{Boot, Image, ImageError, ImageFacts, PackedInstance};
pub use machine::{Event, Machine, Stream, VmError};
pub use original::{OpenError, OriginalError, OriginalFacts, Partition, inspect};
pub use saved::{Saved, SavedError, States};
pub use spec::{Backend, Bus, DiskFile, Guest, MachineSpec, Nic, Original, Start, Wiring, argv};
pub use ssh::Login;
