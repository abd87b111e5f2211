//! Decides values of nets and formulas, with evidence that the checker accepts (docs/certification.md).
//!
//! [`certify`] decides the questions of some examinations of an instance within a [`Budget`] of time and memory, and
//! returns a [`Finding`] for each. Its evidence was accepted by `mcc_checker`, which anyone can ask again. [`decide`] is
//! the part without proofs and checks. [`shrink`] reduces an instance on which two programs disagree. [`command`]
//! certifies the values of a judgement, with files and tables.
//!
//! # Example
//!
//! Reads a net and its formulas, decides them, and checks the evidence:
//!
//! ```
//! use mcc_certify::{Budget, Known, certify};
//! use mcc_checker::Instance;
//! use mcc_model::Archive;
//! use std::path::Path;
//! use std::sync::atomic::AtomicBool;
//! use std::time::Duration;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../pnml-fixtures"));
//! let archive = Archive::open(&folder.join("DiningTable-PT-03.tgz"))?;
//! let cancel = AtomicBool::new(false);
//! let budget = Budget { steps: u64::MAX, time: Duration::from_secs(60), memory_bytes: 1 << 30, cancel: &cancel };
//! let checker = Instance::read(&archive)?;
//! let mut checked = 0;
//! for finding in certify(&archive, &["ReachabilityDeadlock", "UpperBounds"], &budget)? {
//!     match finding.known {
//!         Known::Exactly(value, accepted) => {
//!             println!("{}: {value:?}", finding.id);
//!             if let Some(witness) = accepted.witness {
//!                 checker.check_witness(&witness)?;
//!                 checked += 1;
//!             }
//!             if let Some(certificate) = accepted.certificate {
//!                 checker.check_certificate(&certificate)?;
//!                 checked += 1;
//!             }
//!         }
//!         Known::AtLeast(least, _) => println!("{}: at least {least}", finding.id),
//!         Known::Open(reason) => println!("{}: not decided: {reason}", finding.id),
//!     }
//! }
//! assert!(checked > 0);
//! # Ok(())
//! # }
//! ```

#![warn(missing_docs)]

mod automaton;
mod budget;
mod closed_sets;
pub mod command;
mod composition;
mod constants;
mod convert;
mod ctl;
mod ctl_run;
mod dead_parts;
mod diagram;
mod driver;
mod driver_check;
mod engine;
mod engine_graph;
mod engine_search;
mod exclusion;
mod explore;
mod fair;
mod formula;
mod global;
mod growth;
mod net;
mod next_firing;
mod parts;
mod product;
mod proof;
mod proof_certificate;
mod proof_lp;
mod questions;
#[cfg(test)]
mod random_instances;
#[cfg(test)]
mod random_nets;
mod relaxed_plan;
mod search;
mod shrink;
mod shrink_coloured;
mod siphon_proof;
mod skeleton;
mod smpt;
mod space;
mod store;
mod unfold;
mod walker;
mod words;

pub use budget::{Budget, Stop};
pub use convert::{Claim, ConvertError, convert_proof};
pub use driver::{Accepted, Finding, Known, certify};
pub use engine::{Answer, EngineError, Evidence, Outcome, Statistics, Trace, decide};
pub use mcc_checker::Value;
pub use shrink::{Effort, Reducible, shrink};
pub use shrink_coloured::ColouredDocument;
pub use words::in_words;
