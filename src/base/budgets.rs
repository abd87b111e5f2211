//! What one attempt may use of its host in addition to the limits of its edition (times, memory, output, disk). The table of
//! all limits is in docs/threat-model.md.

/// Bytes that are kept of a log (`console`, `qemu.log`, `ssh.log`): enough for the messages of a kernel panic.
pub const LOG: u64 = 1 << 20;

/// Bytes that are kept of all files of evidence. The files are in the order of their names; what exceeds this sum is truncated.
pub const EVIDENCE: u64 = 32 << 20;

/// Messages that are read as soon as they arrive: one a second, and the evidence in parts, are far fewer.
pub const MESSAGES: u64 = 100_000;

/// Messages beyond `MESSAGES` that are read in a second, so that a flood takes no CPU time of other controllers.
pub const SLOW_MESSAGES_PER_S: u32 = 100;
