//! Decides values of nets and formulas, with evidence that the checker accepts (docs/certification.md).

#![warn(missing_docs)]

mod automaton;
mod budget;
pub mod command;
mod ctl;
mod ctl_run;
mod driver;
mod driver_check;
mod engine;
mod explore;
mod formula;
mod global;
mod net;
mod product;
mod proof;
mod proof_certificate;
mod proof_lp;
mod questions;
#[cfg(test)]
mod random_nets;
mod search;
mod shrink;
mod space;
mod store;
mod unfold;

pub use budget::{Budget, Stop};
pub use driver::{Accepted, Finding, Known, certify};
pub use engine::{Answer, EngineError, Evidence, Outcome, Statistics, Trace, Value, decide};
pub use proof_certificate::prove;
pub use shrink::{Effort, Reducible, shrink};
