//! How many objects of a total examination a run answered, and when.

use super::{AttemptOutputs, RunQuestions};
use mcc_base::files;
use mcc_campaign::benchkit::Answers;
use serde::Serialize;
use std::fmt;
use std::io::{self, BufRead, BufReader};

/// The completion of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Completion {
    /// Number of transitions or places.
    pub objects: usize,
    /// Number of them with a value.
    pub answered: usize,
    /// Number of those without a value that have an interval.
    pub intervals: usize,
    /// Number of objects whose value is known from the oracle.
    pub known: usize,
    /// When a quarter, half, three quarters and all of the objects had a value, in milliseconds of wall time, to the second
    /// in which the output was measured; None: never, or unknown.
    pub reached_ms: [Option<u64>; 4],
}

impl fmt::Display for Completion {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let Self { objects, answered, intervals, known, reached_ms } = self;
        let tenths = (answered * 1000).checked_div(*objects).unwrap_or(1000);
        write!(out, "{answered} of {objects} values ({}.{} %)", tenths / 10, tenths % 10)?;
        if *intervals > 0 {
            write!(out, ", {intervals} with an interval")?;
        }
        for (share, reached) in ["a quarter", "half", "three quarters", "all"].iter().zip(reached_ms) {
            if let Some(ms) = reached {
                write!(out, ", {share} after {} s", ms.div_ceil(1000))?;
            }
        }
        write!(out, "; the oracle has {known}")
    }
}

impl Completion {
    /// The completion of an attempt at a total examination. None: it is not one.
    ///
    /// # Errors
    /// The output cannot be read.
    pub(super) fn new(
        attempt: &AttemptOutputs,
        answers: &Answers,
        run_questions: &RunQuestions,
    ) -> io::Result<Option<Self>> {
        if run_questions.questions.total.is_none() {
            return Ok(None);
        }
        let objects = answers.ids.len();
        let mut lines: Vec<u64> = answers.lines.iter().copied().flatten().collect();
        lines.sort_unstable();
        // The number of the answer that completes each share.
        let last = [1, 2, 3, 4].map(|quarters| (objects * quarters).div_ceil(4).checked_sub(1));
        let wanted = last.map(|last| last.and_then(|last| lines.get(last).copied()));
        let ends = ends_of(BufReader::new(files::open_own(&attempt.outputs.join("stdout"))?), wanted)?;
        let reached = |end: u64| attempt.samples.iter().find(|sample| sample.stdout_bytes >= end);
        let wall_ms = || attempt.facts.map(|facts| facts.wall_ms);
        Ok(Some(Self {
            objects,
            answered: lines.len(),
            intervals: answers.intervals.iter().flatten().count(),
            known: run_questions.expected.iter().flatten().count(),
            reached_ms: ends.map(|end| reached(end?).map(|sample| sample.at_ms).or_else(wall_ms)),
        }))
    }
}

/// The number of bytes up to the end of each of these lines, whose numbers do not decrease.
fn ends_of(mut source: impl BufRead, lines: [Option<u64>; 4]) -> io::Result<[Option<u64>; 4]> {
    let (mut line, mut bytes) = (0, 0);
    let mut ends = [None; 4];
    for (end, wanted) in ends.iter_mut().zip(lines) {
        let Some(wanted) = wanted else { break };
        while line < wanted {
            let read = source.skip_until(b'\n')?;
            if read == 0 {
                break;
            }
            (line, bytes) = (line + 1, bytes + read as u64);
        }
        *end = Some(bytes);
    }
    Ok(ends)
}
