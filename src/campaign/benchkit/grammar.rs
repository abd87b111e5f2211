//! The grammar of one line: words, statements, results.

use super::contest_table::spelled;
use super::keywords::bytes::{CANNOT_COMPUTE, DO_NOT_COMPETE, TECHNIQUES};
use super::keywords::{RESULTS, STATE_SPACE};
use super::value::MAX_BOUND_DIGITS;
use mcc_edition::AnswerKind;
use std::borrow::Cow;

/// Splits a line into words at white space, control bytes and terminal escape codes (colours).
pub(super) fn words(line: &[u8]) -> Vec<&[u8]> {
    let mut words = Vec::with_capacity(16);
    let mut left = line;
    while !left.is_empty() {
        let end = left.iter().position(|byte| *byte <= b' ' || *byte == 0x7f).unwrap_or(left.len());
        let (word, rest) = left.split_at(end);
        if !word.is_empty() {
            words.push(word);
        }
        let separator = match rest.first() {
            Some(0x1b) => escape_code(rest),
            Some(_) => 1,
            None => 0,
        };
        left = &rest[separator..];
    }
    words
}

/// The length of the escape code at the start of a text: `ESC [ parameters letter`, or ESC only.
fn escape_code(text: &[u8]) -> usize {
    let Some(b'[') = text.get(1) else { return 1 };
    let parameters = text[2..].iter().take_while(|b| (0x20..0x40).contains(*b)).count();
    text.len().min(2 + parameters + 1)
}

/// `FORMULA id ...` or `STATE_SPACE metric ...`, up to the next such keyword or the end of the line.
#[derive(Debug)]
pub(super) struct Statement<'a> {
    /// `FORMULA` or `STATE_SPACE`
    pub keyword: &'static str,
    /// Whether the keyword is the end of another word, such as `NOT_A_FORMULA`.
    pub in_word: bool,
    /// The id or metric.
    pub subject: Option<&'a [u8]>,
    /// The result.
    pub stated: StatedResult<'a>,
    /// The words after the result.
    tail: &'a [&'a [u8]],
}

/// The result of a statement.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum StatedResult<'a> {
    /// A value in the text form of `Value`, numbers without leading zeros.
    Value(Cow<'a, str>),
    /// A negative number: not given.
    Negative,
    /// `CANNOT_COMPUTE`. `more`: words follow it, or the metric is missing.
    CannotCompute { more: bool },
    /// `DO_NOT_COMPETE`
    DoNotCompete,
    /// `CANNOT COMPUTE`
    KeywordSplit(&'static str),
    /// There is no word after the id.
    Missing,
    /// Any other word.
    Other(&'a [u8]),
}

impl StatedResult<'_> {
    /// Whether the statement has a result, whatever its id is.
    pub fn is_value(&self) -> bool {
        !matches!(self, StatedResult::Missing | StatedResult::Other(_))
    }
}

/// The statements of a line. `published`: numbers of the form `d.ddddE+dddd` are values.
pub(super) fn statements<'a>(
    words: &'a [&'a [u8]],
    answers: AnswerKind,
    published: bool,
) -> Vec<Statement<'a>> {
    let mut starts = words.iter().enumerate().filter_map(|(at, word)| Some((at, keyword(word)?))).peekable();
    let mut found = Vec::with_capacity(1);
    while let Some((at, (keyword, in_word))) = starts.next() {
        let end = starts.peek().map_or(words.len(), |(next, _)| *next);
        let rest = &words[at + 1..end];
        let subject = rest.first().copied();
        let (stated, used) = match rest {
            // `STATE_SPACE CANNOT_COMPUTE ...` has no metric.
            [CANNOT_COMPUTE, ..] => (StatedResult::CannotCompute { more: true }, rest.len()),
            [] | [_] => (StatedResult::Missing, rest.len()),
            [_, CANNOT_COMPUTE, tail @ ..] => (StatedResult::CannotCompute { more: !tail.is_empty() }, 2),
            [_, DO_NOT_COMPETE, ..] => (StatedResult::DoNotCompete, 2),
            [_, b"CANNOT", b"COMPUTE", ..] => (StatedResult::KeywordSplit("CANNOT COMPUTE"), 3),
            [_, word, ..] => match (keyword, answers) {
                (STATE_SPACE, _) => (value(word, AnswerKind::StateSpace, published), 2),
                // A result with the wrong keyword, which is reported as an anomaly.
                (_, AnswerKind::StateSpace) if matches!(*word, b"TRUE" | b"FALSE") => {
                    (value(word, AnswerKind::Boolean, published), 2)
                }
                _ => (value(word, answers, published), 2),
            },
        };
        found.push(Statement { keyword, in_word, subject, stated, tail: &rest[used..] });
    }
    found
}

/// Whether a word has the form of a result of some examination: TRUE, FALSE or a number.
pub(super) fn is_result(word: &[u8]) -> bool {
    let digits = word.strip_prefix(b"-").unwrap_or(word);
    matches!(word, b"TRUE" | b"FALSE") || (!digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
}

impl<'a> Statement<'a> {
    /// Whether the statement has a result of another kind of examination, or any other word that is followed by TECHNIQUES, but
    /// not the `?` with which oracles state that a value is unknown.
    pub fn is_like_a_result(&self) -> bool {
        let StatedResult::Other(word) = self.stated else { return false };
        (word != b"?" && matches!(self.tail, [TECHNIQUES, ..])) || (self.tail.is_empty() && is_result(word))
    }

    /// Whether CANNOT_COMPUTE follows the value, which contradicts it.
    pub fn has_cannot_compute(&self) -> bool {
        self.tail.contains(&CANNOT_COMPUTE)
    }

    /// The words after TECHNIQUES. None if TECHNIQUES is missing, with or without techniques.
    ///
    /// # Errors
    /// A word that is not expected after the value.
    pub fn techniques(&self) -> Result<Option<&'a [&'a [u8]]>, &'a [u8]> {
        match self.tail {
            [TECHNIQUES, words @ ..] => Ok(Some(words)),
            // Techniques without the keyword.
            words => match words.iter().find(|word| !word[0].is_ascii_uppercase() || !is_technique(word)) {
                None => Ok(None),
                Some(word) => Err(word),
            },
        }
    }
}

/// The keyword at the end of a word, and whether it is part of a longer word (as in `A_FORMULA`, not in `x:FORMULA`).
fn keyword(word: &[u8]) -> Option<(&'static str, bool)> {
    let keyword = RESULTS.into_iter().find(|keyword| word.ends_with(keyword.as_bytes()))?;
    let before = word[..word.len() - keyword.len()].last();
    Some((keyword, before.is_some_and(|b| b.is_ascii_alphanumeric() || b"_-".contains(b))))
}

/// Parses a value by the kind of examination.
///
/// The meaning of `inf` and `+inf` depends on the examination. In UpperBounds they are the bound of an unbounded place,
/// `Value::Infinite`. In StateSpace they stand for a count that overflowed a double, `Value::Overflow`: tools and the oracles
/// of the contest print them, also as `Inf`.
fn value(word: &[u8], answers: AnswerKind, published: bool) -> StatedResult<'_> {
    let digits = |word: &[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_digit);
    match (answers, word) {
        (AnswerKind::Boolean, b"TRUE") => StatedResult::Value("T".into()),
        (AnswerKind::Boolean, b"FALSE") => StatedResult::Value("F".into()),
        (AnswerKind::Boolean, _) => StatedResult::Other(word),
        (AnswerKind::Number, b"inf" | b"+inf") => StatedResult::Value("inf".into()),
        (AnswerKind::StateSpace, _) if is_infinite(word) => StatedResult::Value("Inf".into()),
        (_, [b'-', number @ ..]) if digits(number) => StatedResult::Negative,
        (AnswerKind::Number, _) if word.len() > MAX_BOUND_DIGITS => StatedResult::Other(word),
        _ if digits(word) => {
            let zeros = word.iter().take_while(|b| **b == b'0').count().min(word.len() - 1);
            StatedResult::Value(String::from_utf8_lossy(&word[zeros..]))
        }
        _ if published && is_rounded(word) => StatedResult::Value(String::from_utf8_lossy(word)),
        _ => StatedResult::Other(word),
    }
}

fn is_infinite(word: &[u8]) -> bool {
    str::from_utf8(word).is_ok_and(|word| matches!(spelled(word), "inf" | "Inf"))
}

fn is_rounded(word: &[u8]) -> bool {
    let text = str::from_utf8(word).unwrap_or_default();
    text.parse::<super::Value>().is_ok_and(|value| value.is_rounded())
}

/// Most techniques of a value. Each run of a tool can state other ones, and a judgement keeps those of all runs.
pub const MAX_TECHNIQUES: usize = 64;
/// Most bytes of all techniques of a value.
pub const MAX_TECHNIQUES_BYTES: usize = 2 << 10;

/// The number of words that are kept as the techniques of a value: the first ones, up to the limits.
pub fn kept_techniques<W: AsRef<[u8]>>(words: &[W]) -> usize {
    let mut bytes = 0;
    let fits = |word: &&W| {
        bytes += String::from_utf8_lossy(word.as_ref()).len();
        bytes <= MAX_TECHNIQUES_BYTES
    };
    words.iter().take(MAX_TECHNIQUES).take_while(fits).count()
}

/// Whether a word has the form of a technique: A-Z, 0-9 and `_`. The set of techniques is open.
pub(super) fn is_technique(word: &[u8]) -> bool {
    word.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn techniques_of_a_value_are_bounded_in_number_and_bytes() {
        let words = |length: usize, count: usize| vec!["A".repeat(length); count];
        assert_eq!(kept_techniques(&words(32, 64)), 64);
        assert_eq!(kept_techniques(&words(1, 100_000)), 64);
        assert_eq!(kept_techniques(&words(33, 64)), 62);
        assert_eq!(kept_techniques(&words(256 << 10, 1)), 0);
        // Each of these bytes is replaced by three.
        assert_eq!(kept_techniques(&[[0xff; 40]; 64]), 17);
    }

    #[test]
    fn a_bound_that_no_marking_has_is_not_a_value() {
        let read = |digits: usize, answers| {
            let word = "7".repeat(digits);
            matches!(value(word.as_bytes(), answers, false), StatedResult::Value(_))
        };
        assert!(read(MAX_BOUND_DIGITS, AnswerKind::Number));
        assert!(!read(MAX_BOUND_DIGITS + 1, AnswerKind::Number));
        assert!(read(24_000, AnswerKind::StateSpace), "counts of states are that long");
    }
}
