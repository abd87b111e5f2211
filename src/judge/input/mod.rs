//! Results of runs and their readers: for published tables, records, and BenchKit's results.

pub mod benchkit_results;
pub mod certified;
mod contest_table;
pub mod overrides;
pub mod record;
pub mod run_results;
pub mod source;
pub mod sources;
pub mod values;
