//! Anomalies: lines of output that violate the answer protocol.

use mcc_model::Severity;
use std::fmt;

/// A line of output that violates the answer protocol or contradicts another line. Texts of the tool are truncated for
/// display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// The line, from 1.
    pub line: u64,
    /// Warning: the value counts, or the line has no value. Error: a value is probably lost, the tool contradicts itself,
    /// or the organizers have rejected the form in a qualification.
    pub severity: Severity,
    /// The rule of the contest (MCC 2018) that the line violates.
    pub rule: &'static str,
    /// What is wrong, and how the line counts.
    pub problem: String,
    /// The remedy.
    pub fix: String,
    /// The technique with characters other than A-Z, 0-9 and `_`, if that is the problem.
    pub technique: Option<String>,
    /// The id of a line whose problem is its value, if the examination has no such id. Records state the problem, because
    /// the answers of archives are compared with those of their outputs.
    pub unknown_id: Option<String>,
}

impl Anomaly {
    /// Whether the problem has the id, not only a longer one such as `X-10` for `X-1`.
    pub(super) fn is_about(&self, id: &str) -> bool {
        let is_part = |letter: Option<char>| letter.is_some_and(|c| c.is_alphanumeric() || "-_".contains(c));
        self.problem.match_indices(id).any(|(at, _)| {
            let (before, after) = (&self.problem[..at], &self.problem[at + id.len()..]);
            !is_part(before.chars().next_back()) && !is_part(after.chars().next())
        })
    }
}

impl fmt::Display for Anomaly {
    /// Writes the problem and the remedy.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.problem, self.fix)
    }
}
