use mcc_base::Mark;
use mcc_base::names::RunId;
use mcc_store::StoreError;
use mcc_vm::DiskError;
use mcc_vm::host::LeaseError;
use std::path::PathBuf;

/// Number of consecutive infrastructure failures that stops a campaign: their cause is the host, not a run.
pub(super) const MAX_CONSECUTIVE_FAILURES: u32 = 10;

/// Why the open runs of a record cannot all be executed.
#[derive(Debug, thiserror::Error)]
pub enum ExecutorError {
    /// The cores and memory of a run cannot be leased on this host.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// The record cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Too many consecutive attempts ended as infrastructure failures.
    #[error(
        "{MAX_CONSECUTIVE_FAILURES} attempts in a row ended in infrastructure failures, the last one at {run}: {reason}; check \
         the host, then `run` again to resume; nothing recorded is lost"
    )]
    ConsecutiveFailures {
        /// The last of these runs.
        run: RunId,
        /// State and reason of its failure.
        reason: String,
    },
    /// A file that machines read has changed since its digest was computed.
    #[error(
        "{}, which the machines read, has changed since its digest was computed: {what}; restore it and `run` again, \
         or begin a new record (another --out); the running attempt is not recorded",
        path.display()
    )]
    DiskChanged {
        /// The file.
        path: PathBuf,
        /// The change.
        what: String,
    },
    /// The host has no free space for an attempt.
    #[error(
        "the host has no space left, detected at {run}: {reason}; nothing recorded is lost, and this attempt \
         is not counted: free space on that disk, then `run` again to resume"
    )]
    DiskFull {
        /// The run.
        run: RunId,
        /// The failure of its attempt.
        reason: String,
    },
    /// The host has no free space for one machine.
    #[error(
        "{}: {} MiB are free, but disk, output and logs of one machine may take {} MiB: free space, write the record to \
         another disk (--out), or set a smaller `disk_gib` or `output_bytes` below [limits] of the campaign; nothing recorded \
         is lost",
        path.display(), free >> 20, needed.div_ceil(1 << 20)
    )]
    NoSpace {
        /// The folder of the record.
        path: PathBuf,
        /// Free bytes.
        free: u64,
        /// Bytes for one machine.
        needed: u64,
    },
    /// A disk of a machine cannot be read.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// CPU flags that rule E-5.2 requires are missing in the guest.
    #[error(
        "the guests of this host do not see these CPU flags, which rule E-5.2 requires: {missing}; use a host and an \
         accelerator that offer them (`mcc-harness doctor` shows which), or --allow-degraded (every run is marked \
         {mark})", mark = Mark::CPU_FLAGS
    )]
    CpuFlags {
        /// The missing flags, separated by spaces.
        missing: String,
    },
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] mcc_base::FileError),
}
