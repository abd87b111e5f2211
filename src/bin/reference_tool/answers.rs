//! Prints answers, one per line. Each is flushed at once, so that none is lost when the tool reaches a limit.

use mcc_model::position_order;
use std::io::{self, Write};

const TECHNIQUES: &str = "TECHNIQUES EXPLICIT SEQUENTIAL_PROCESSING";

pub const STATE_SPACE: [&str; 4] = ["STATES", "TRANSITIONS", "MAX_TOKEN_IN_PLACE", "MAX_TOKEN_PER_MARKING"];

/// A correct answer.
#[derive(Clone, Copy)]
pub enum Answer {
    Truth(bool),
    Number(u128),
}

pub struct Answers<W> {
    out: W,
    /// `FORMULA <id>` or `STATE_SPACE <metric>`.
    subjects: Vec<String>,
    given: Vec<bool>,
    /// By index of `subjects`: whether a wrong value is printed.
    wrong: Vec<bool>,
}

impl<W: Write> Answers<W> {
    pub fn of_formulas<'a>(out: W, ids: impl IntoIterator<Item = &'a str>, liar: bool) -> Self {
        let ids: Vec<_> = ids.into_iter().collect();
        let mut sorted = ids.clone();
        sorted.sort_unstable_by(|a, b| position_order(a, b));
        let positions =
            ids.iter().map(|id| sorted.partition_point(|other| position_order(other, id).is_lt()));
        let wrong = positions.map(|position| liar && is_wrong_position(position)).collect();
        Self {
            out,
            subjects: ids.iter().map(|id| format!("FORMULA {id}")).collect(),
            given: vec![false; ids.len()],
            wrong,
        }
    }

    pub fn of_state_space(out: W, liar: bool) -> Self {
        Self {
            out,
            subjects: STATE_SPACE.iter().map(|metric| format!("STATE_SPACE {metric}")).collect(),
            given: vec![false; 4],
            wrong: (0..4).map(|position| liar && is_wrong_position(position)).collect(),
        }
    }

    pub fn give(&mut self, number: usize, answer: Answer) -> io::Result<()> {
        self.given[number] = true;
        let subject = &self.subjects[number];
        let value = match answer {
            Answer::Truth(truth) if truth != self.wrong[number] => "TRUE".to_owned(),
            Answer::Truth(_) => "FALSE".to_owned(),
            Answer::Number(number_found) => (number_found + u128::from(self.wrong[number])).to_string(),
        };
        writeln!(self.out, "{subject} {value} {TECHNIQUES}")?;
        self.out.flush()
    }

    pub fn is_given(&self, number: usize) -> bool {
        self.given[number]
    }

    pub fn all_given(&self) -> bool {
        self.given.iter().all(|given| *given)
    }

    /// Prints CANNOT_COMPUTE for every answer that was not given; only once if none was given.
    pub fn give_up(&mut self) -> io::Result<()> {
        if !self.given.contains(&true) {
            writeln!(self.out, "CANNOT_COMPUTE")?;
        } else {
            for (subject, given) in self.subjects.iter().zip(&self.given) {
                if !given {
                    writeln!(self.out, "{subject} CANNOT_COMPUTE")?;
                }
            }
        }
        self.out.flush()
    }
}

/// Whether the liar is wrong at this position: at 01, 05, 09 and 13, so one value in four and never the only one.
fn is_wrong_position(position: usize) -> bool {
    position % 4 == 1
}
