//! The file with the counters, which host and plugin map: one slot per vCPU, then the limit. With one vCPU QEMU's translated
//! code adds to the counters itself.

use core::sync::atomic::AtomicU64;

/// The counters of one vCPU. Each slot has cache lines of its own, so that vCPUs do not slow one another down.
#[repr(C, align(128))]
pub struct Slot {
    /// Instructions executed at user addresses.
    pub user: u64,
    /// Instructions executed at kernel addresses.
    pub kernel: u64,
    /// The count up to which this vCPU has a share of the limit; only the plugin uses it.
    pub until: u64,
}

/// The limit of instructions. Each word is 8 bytes; a flag is 0 or 1, so that it is read whole while it is written.
#[repr(C, align(128))]
pub struct Limit {
    /// The instructions that no vCPU has as its share yet. The host writes it before `applies`, then only the plugin.
    pub left: AtomicU64,
    /// The host: whether the limit applies.
    pub applies: AtomicU64,
    /// The plugin: whether a vCPU has reached the limit and waits.
    pub reached: AtomicU64,
}

/// The share that a vCPU takes of the limit at once. If one finds no share left, each of the others may still have one.
pub const SHARE: u64 = 10_000;

/// The size of a slot, bytes.
pub const SLOT_BYTES: usize = size_of::<Slot>();

/// The place of the limit in the file of a machine with this number of vCPUs; it is the last.
pub const fn limit_at(vcpus: usize) -> usize {
    vcpus * SLOT_BYTES
}

/// The size of the file of a machine with this number of vCPUs.
pub const fn file_bytes(vcpus: usize) -> usize {
    limit_at(vcpus) + size_of::<Limit>()
}

/// What of the guest a limit counts, as the plugin's second argument; without it there is no limit.
pub const LIMIT_USER: &str = "limit=user";
/// See `LIMIT_USER`.
pub const LIMIT_ALL: &str = "limit=all";

/// The name of the plugin's argument with the number of the descriptor of the file.
pub const COUNTERS_ARGUMENT: &str = "counters=";
