//! Judging: computes a judgement from results. This crate does not depend on machines.

#![warn(missing_docs)]

mod arrivals;
pub mod certified;
pub mod compare;
pub mod explain;
mod input;
pub mod judgement;
pub mod mcc;
mod output;
pub mod places;
pub mod rate;
mod run_verdict;
pub mod show;
mod table_words;
mod value_verdict;

pub use input::certified::read_certified;
pub use input::run_results::{EntryFacts, InstanceFacts, RunResult, RunResultError, RunResults};
pub use input::{benchkit_results, overrides, record, source, sources, values};
pub use output::atomic_file::{AtomicFile, WriteError, field};
pub use output::{contest_table, oracle, schema, write};
pub use run_verdict::{Points, RunVerdict};
pub use table_words::{CERTIFIED_HEADER, OVERRIDES_HEADER};
