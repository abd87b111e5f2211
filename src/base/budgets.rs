//! What one attempt may use of its host in addition to the limits of its edition (times, memory, output, disk). The table of
//! all limits is in docs/threat-model.md.

use crate::guest::MAX_LINE;

/// Bytes that are kept of a log (`console`, `qemu.log`, `ssh.log`): enough for the messages of a kernel panic.
pub const LOG: u64 = 1 << 20;

/// Bytes that are kept of all files of evidence. The files are in the order of their names; what exceeds this sum is truncated.
pub const EVIDENCE: u64 = 32 << 20;

/// Bytes of memory of an ssh process. During a key exchange ssh keeps each reply that the server requests.
pub const SSH_MEMORY: u64 = 64 << 20;

/// Bytes of a row of samples, compressed: at most ten numbers of 11 to 20 digits.
const SAMPLE: u64 = 128;

/// Returns the bytes that the files of one attempt take at most on the host, in addition to its overlays: stdout and stderr
/// of `output_bytes` each, three logs (a fourth `LOG` is for their marks and the rounding of sizes), a sample for each second
/// of `wall_s`, and evidence, if it is kept.
pub fn files(output_bytes: u64, wall_s: u64, keeps_evidence: bool) -> u64 {
    let evidence = if keeps_evidence { EVIDENCE } else { 0 };
    let samples = wall_s.saturating_mul(SAMPLE);
    output_bytes.saturating_mul(2).saturating_add(4 * LOG).saturating_add(samples).saturating_add(evidence)
}

/// Bytes by which `record.db` and its write-ahead log grow at most in one attempt: the texts of four messages of a guest in
/// both files, and the pages that SQLite collects in the log before it copies them (1000 of 4 KiB).
pub const RECORD: u64 = 2 * 4 * MAX_LINE as u64 + (4 << 20);

/// Messages that are read as soon as they arrive: one a second, and the evidence in parts, are far fewer.
pub const MESSAGES: u64 = 100_000;

/// Messages beyond `MESSAGES` that are read in a second, so that a flood takes no CPU time of other controllers.
pub const SLOW_MESSAGES_PER_S: u32 = 100;
