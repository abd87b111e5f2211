//! The record of a campaign: one SQLite file, and a folder with the raw outputs.
//!
//! ```text
//! RESULTS/record.db                                   the plan, every attempt, the facts needed for judging
//! RESULTS/outputs/ENTRY/INSTANCE/EXAMINATION/NUMBER/  stdout, stderr, console, samples of a committed attempt
//! RESULTS/running/POSITION-NUMBER/                    private directory of a running attempt
//! RESULTS/measured-host.json                          the measurement of the host, if there is one
//! RESULTS/lock                                        locked (flock) by the controller; has its pid and host
//! ```
//!
//! A run is *recorded* when its last attempt has an outcome of the tool, or when the retries after infrastructure
//! failures are used up. One transaction sets this, the attempt and the place of its outputs, after the outputs are on
//! disk (R1, R3).

#![warn(missing_docs)]

mod attempt;
mod attempt_dir;
mod campaign_facts;
mod copy;
mod disturbed;
mod error;
mod format;
mod hold;
mod list;
mod lock;
pub mod measured_host;
mod merge;
mod outcome_check;
mod record;
mod record_summary;
mod recorded_output;
mod rerun;
mod samples;
mod seal;

pub use attempt::{
    Arrivals, Attempt, Disk, Environment, HostFacts, INSTANCE_DISK, InstructionSource, Instructions,
    MemorySource, Outcome, RunFacts, Sample, outcome_words,
};
pub use attempt_dir::AttemptDir;
pub use campaign_facts::CampaignFacts;
pub use disturbed::DisturbedRuns;
pub use error::StoreError;
pub use hold::Hold;
pub use list::{OpenRun, RunRecord, Summary};
pub use measured_host::MeasuredHost;
pub use merge::{MergeCounts, RecordPart};
pub use record::{ARCHIVE_FILE, RECORD_FILE, Record, RunState};
pub use record_summary::{RecordSummary, RunCounts, RunningAttempt};
pub use recorded_output::RecordedOutput;
pub use rerun::Rerun;
pub use samples::FILE as SAMPLES;
pub use seal::SealKey;
