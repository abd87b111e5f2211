//! Exact numbers and verdicts on runs, which the judgements of other contests contain and comparisons show.

use crate::judgement::display_as_in_files;
use mcc_edition::fraction;
use num_rational::BigRational;
use serde::{Deserialize, Serialize};

/// An exact number (points, seconds, megabytes) that JSON holds as a string such as `"5/2"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Points(
    /// The number without rounding.
    #[serde(with = "fraction")]
    pub BigRational,
);

/// The verdict on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunVerdict {
    /// The answer is the expected one.
    Right,
    /// Right, but no validator confirmed its witness.
    Unconfirmed,
    /// The answer is not the expected one.
    Wrong,
    /// An answer, but the expected answer is not known.
    Unjudged,
    /// No answer, or an answer that counts as none.
    Unknown,
    /// The run reached a limit of CPU or wall time, or gave no verdict in time (CRV).
    Timeout,
    /// The tool or the monitored program crashed (CRV).
    Crash,
    /// The tool did not start on the task (SV-COMP).
    NotStarted,
    /// The property cannot be written in the tool's language (CRV).
    Inexpressible,
}

display_as_in_files!(RunVerdict);
