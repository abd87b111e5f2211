//! The answers to total examinations, as ITS-Tools prints them:
//!
//! ```text
//! TOTAL UpperBoundsAll 1242            the number of objects
//! QLIVE t17 TRUE <technique>...        the transition with this number in the order of definition, from 0
//! STABLE p3 FALSE <technique>...       a place
//! BOUND p9 12 <technique>...
//! BOUND p11 ? 5 inf                    the number is between these; the last line of an object counts
//! ```
//!
//! The keyword is the first word of its line.

use super::answers::{Reader, cut};
use super::keywords::FORMULA;
use super::keywords::bytes::TECHNIQUES;
use super::value::MAX_BOUND_DIGITS;
use super::{Interval, Value};
use mcc_model::Total;

impl Reader<'_> {
    /// The words of a line in the usual form, in which `QLIVE t17 TRUE X` is `FORMULA t17 TRUE TECHNIQUES X`. A line that says
    /// something else about a total examination is processed here, and has no words.
    pub(super) fn usual_form<'w>(&mut self, words: Vec<&'w [u8]>) -> Vec<&'w [u8]> {
        let Some(total) = self.questions.total else { return words };
        let is_long = |word: &&&[u8]| {
            word.len() > MAX_BOUND_DIGITS && word.iter().all(|byte| b"+0123456789".contains(byte))
        };
        if let Some(number) = words.iter().find(is_long) {
            self.error(
                format!("`{}` has more than {MAX_BOUND_DIGITS} digits: the line is ignored", cut(number)),
                "print the number in plain decimal digits, nothing else",
            );
            return Vec::new();
        }
        match words.as_slice() {
            [b"TOTAL", name, number] if *name == total.examination.as_bytes() => {
                if self.is_other_number(number) {
                    let (stated, known) = (cut(number), self.positions.len());
                    self.error(
                        format!("the tool has {stated} questions, but the instance has {known}"),
                        "number the objects in the order of definition in model.pnml, and answer each",
                    );
                }
                Vec::new()
            }
            [keyword, id, b"?", ends @ ..] if *keyword == total.keyword.as_bytes() => {
                self.interval(id, ends);
                Vec::new()
            }
            [keyword, id, value, rest @ ..] if *keyword == total.keyword.as_bytes() => {
                let interval = self.find(id).and_then(|position| self.positions[position].interval.as_ref());
                let both = interval.and_then(|interval| {
                    let given: Value = str::from_utf8(value).ok()?.trim_start_matches('+').parse().ok()?;
                    (!interval.contains(&given)).then_some((given, interval))
                });
                if let Some((given, interval)) = both {
                    let (id, line) = (cut(id), interval.line);
                    let problem =
                        format!("{id} is {given}, but was {interval} in line {line}: the value counts");
                    self.error(problem, "print an interval only if the value is in it");
                }
                let usual = [FORMULA.as_bytes(), id, value, TECHNIQUES];
                usual.into_iter().chain(rest.iter().copied().filter(|word| *word != TECHNIQUES)).collect()
            }
            _ => words,
        }
    }

    fn is_other_number(&self, number: &[u8]) -> bool {
        str::from_utf8(number).ok().and_then(|number| number.parse().ok()) != Some(self.positions.len())
    }

    /// Sets the interval of an open number.
    fn interval(&mut self, id: &[u8], ends: &[&[u8]]) {
        let Some(position) = self.find(id) else { return self.unknown_id(id) };
        let written = [&[b"?".as_slice()], ends].concat().join(&b' ');
        let text = |word| str::from_utf8(word).ok();
        let interval = match ends {
            [least, most] if self.questions.total.is_some_and(Total::is_number) => {
                text(least).zip(text(most)).and_then(|(least, most)| Interval::parse(least, most, self.line))
            }
            _ => None,
        };
        match interval {
            Some(interval) => self.positions[position].interval = Some(interval),
            None => self.error(
                format!("`{}` of {} is not an interval: the line is ignored", cut(&written), cut(id)),
                "write BOUND, the object, ?, the least and the largest possible number (or inf), or no line",
            ),
        }
    }
}
