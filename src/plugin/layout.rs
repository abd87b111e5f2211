//! The file with the counters, which host and plugin map: one slot per vCPU. With one vCPU QEMU's translated code adds to
//! the counters itself.

/// The counters of one vCPU. Each slot has cache lines of its own, so that vCPUs do not slow one another down.
#[repr(C, align(128))]
pub struct Slot {
    /// Instructions executed at user addresses.
    pub user: u64,
    /// Instructions executed at kernel addresses.
    pub kernel: u64,
}

/// The size of a slot, bytes.
pub const SLOT_BYTES: usize = size_of::<Slot>();

/// The name of the plugin's argument with the number of the descriptor of the file.
pub const COUNTERS_ARGUMENT: &str = "counters=";
