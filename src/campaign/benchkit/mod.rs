//! The interface of BenchKit between the contest and a tool: the invocation of a tool, the answers that it prints, and the
//! published tables of answers.

mod anomaly;
mod answers;
mod arrivals;
pub mod contest_table;
mod failure_class;
mod grammar;
mod interval;
mod invocation;
mod jobs;
mod keywords;
mod lines;
pub mod published;
mod questions;
mod total_answers;
mod value;

pub use anomaly::Anomaly;
pub use answers::{Answers, Declaration, MAX_ANOMALIES, Reading, Repeat, abridged};
pub use arrivals::{AnswerLines, MAX_ANSWER_LINES};
pub use failure_class::{FailureClass, FailureClasses, FoundFailure};
pub use grammar::{MAX_TECHNIQUES, MAX_TECHNIQUES_BYTES, kept_techniques};
pub use interval::Interval;
pub use invocation::Invocation;
pub use jobs::{Job, JobFile, JobFileError};
pub use questions::{Questions, STATE_SPACE};
pub use value::{MAX_BOUND_DIGITS, NotAValue, Value};
