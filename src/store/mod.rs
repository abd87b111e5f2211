//! The record of a campaign: one SQLite file and the raw outputs beside it.

mod record;

pub use record::{Attempt, Disk, HostFacts, Outcome, RunFacts, Sample};
