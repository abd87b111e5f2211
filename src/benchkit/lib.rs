//! What BenchKit fixes between the contest and a tool: how it is invoked, what it may print, and the
//! published tables of answers.

mod anomaly;
mod answers;
pub mod contest_table;
mod grammar;
mod invocation;
mod jobs;
mod keywords;
mod lines;
pub mod published;
mod questions;
mod value;

pub use anomaly::{Anomaly, AnomalyKind};
pub use answers::{Answers, Declaration, MOST_ANOMALIES, Reading, Repeat};
pub use invocation::Invocation;
pub use jobs::{Job, JobFile, JobFileError};
pub use questions::{Questions, STATE_SPACE};
pub use value::{NotAValue, Value};
