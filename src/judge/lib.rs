//! Judges the Model Checking Contest: computes confidence, trusted values, points, podiums and awards from the results of
//! runs. It knows no machines; it reads results from records and from tables that other programs wrote.
//!
//! 1. Collect results: [`RunResults`] by hand, or by a reader ([`record`], [`source`], [`benchkit_results`]); add what the
//!    organizers state ([`overrides`], [`source::read_models`], [`source::read_tools`]), and combine several sources
//!    ([`sources`]).
//! 2. Judge them: [`mcc::judge`] returns a [`judgement::Judgement`] in memory; [`mcc::Judge`] judges block by block, and
//!    [`mod@write`] writes the files of a judgement meanwhile.
//! 3. Use the judgement: [`explain`], [`places`], [`compare`], [`rate`], [`campaigns`], [`mcc::sensitivity`], and the tables of
//!    [`contest_table`], [`oracle`] and [`schema`].
//!
//! ```
//! use mcc_campaign::benchkit::Value;
//! use mcc_edition::Edition;
//! use mcc_judge::judgement::Basis;
//! use mcc_judge::{RunResult, RunResults, mcc};
//!
//! let edition = Edition::load("mcc-2018")?;
//! let mut results = RunResults::new(&edition);
//! for (tool, value) in [("LoLA", Some(Value::True)), ("TAPAAL", Some(Value::True)), ("PNMC", None)] {
//!     let result = RunResult::published(vec![value]);
//!     results.add(tool, "Philosophers-PT-000005", "ReachabilityDeadlock", &[], result)?;
//! }
//! let judgement = mcc::judge(&edition, results)?;
//!
//! let trusted = &judgement.blocks[0].trusted[0];
//! assert_eq!((trusted.value.clone(), trusted.basis), (Some(Value::True), Basis::Unanimous));
//! let right: Vec<u64> = judgement.scores.iter().map(|score| score.right).collect();
//! assert_eq!(right, [1, 0, 1], "LoLA, PNMC, TAPAAL");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

pub mod absence;
mod arrivals;
pub mod campaigns;
pub mod certified;
pub mod compare;
pub mod evidence_statements;
pub mod explain;
pub mod failures;
mod input;
pub mod judgement;
mod judgement_check;
pub mod mcc;
mod output;
pub mod places;
pub mod rate;
mod run_verdict;
pub mod shared;
pub mod show;
mod table_words;
mod value_verdict;

pub use input::certified::read_certified;
pub use input::run_results::{InstanceFacts, RunResult, RunResultError, RunResults};
pub use input::{benchkit_results, overrides, record, source, sources};
pub use output::{contest_table, oracle, schema, vector, write};
pub use table_words::{CERTIFIED_HEADER, OVERRIDES_HEADER};
