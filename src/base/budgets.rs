//! What one attempt may use of its host in addition to the limits of its edition (times, memory, output, disk). The table of
//! all limits is in docs/threat-model.md.

/// Bytes that are kept of a log: enough for the messages of a kernel panic.
pub const LOG: u64 = 1 << 20;

/// The logs of an attempt: `console`, `qemu.log` and `ssh.log`.
pub const LOGS: u64 = 3;

/// Bytes that are kept of all files of evidence. The files are in the order of their names; what exceeds this sum is truncated.
pub const EVIDENCE: u64 = 32 << 20;

/// Messages that are read as soon as they arrive: one a second, and the evidence in parts, are far fewer.
pub const MESSAGES: u64 = 100_000;

/// Messages beyond `MESSAGES` that are read in a second, so that a flood takes no CPU time of other controllers.
pub const SLOW_MESSAGES_PER_S: u32 = 100;

/// Bytes that the files of an attempt may take on the host besides its overlays, with this limit of each output.
pub fn files(output_bytes: u64) -> u64 {
    output_bytes.saturating_mul(2).saturating_add(LOG * LOGS + EVIDENCE)
}
