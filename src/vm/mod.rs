//! A machine: its description, QEMU, QMP, the channel to the guest, the disks it boots from. Knows nothing
//! of contests.

pub mod build;
pub mod guest;
mod image;
mod machine;
mod pulse;
mod qmp;
mod sink;
mod spec;

pub use image::{Boot, Image, ImageError, ImageFacts, PackedInstance};
pub use machine::{Event, Machine, Stream, VmError};
pub use spec::{MachineSpec, Wiring, argv};
