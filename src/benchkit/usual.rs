//! Result lines of the usual form: `FORMULA <id> <value> TECHNIQUES <word>...` with single blanks, from the line's start
//! to its end. Tools repeat themselves, some of them a million times; such lines are taken without an allocation, and
//! each list of techniques is taken apart once. Whatever differs in anything goes the general way (`words`).

use super::words::{is_technique, keyword};
use hashbrown::HashMap;
use mcc_edition::AnswerKind;
use memchr::memchr;

/// A result of the usual form.
pub(super) struct Usual<'a> {
    pub subject: &'a [u8],
    /// In its text form, without leading zeros.
    pub value: &'a str,
    /// The list after TECHNIQUES, not looked at yet.
    pub techniques: &'a [u8],
}

impl<'a> Usual<'a> {
    pub fn of(line: &'a [u8], answers: AnswerKind) -> Option<Self> {
        let rest = line.strip_prefix(b"FORMULA ")?;
        let (subject, rest) = rest.split_at(memchr(b' ', rest)?);
        let (word, rest) = rest[1..].split_at(memchr(b' ', &rest[1..])?);
        let techniques = rest.strip_prefix(b" TECHNIQUES ")?;
        let number = || {
            let plain = !word.is_empty() && (word[0] != b'0' || word.len() == 1);
            (plain && word.iter().all(u8::is_ascii_digit)).then(|| str::from_utf8(word).ok()).flatten()
        };
        let value = match (answers, word) {
            (AnswerKind::Boolean, b"TRUE") => "T",
            (AnswerKind::Boolean, b"FALSE") => "F",
            (AnswerKind::Number, _) => number()?,
            _ => return None,
        };
        Some(Self { subject, value, techniques })
    }
}

/// Whether a text is one word that is no keyword, so that it stands in a line as it is.
pub(super) fn is_word(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|b| *b > b' ' && *b != 0x7f) && keyword(text).is_none()
}

/// A list of techniques taken apart.
pub(super) struct List {
    pub words: Vec<String>,
    /// The first word that is not spelled like the contest's.
    pub odd: Option<Vec<u8>>,
}

/// Lists of techniques, by how they are written.
#[derive(Default)]
pub(super) struct Lists {
    numbers: HashMap<Vec<u8>, usize>,
    lists: Vec<List>,
}

impl Lists {
    /// Tools have dozens; an output of 10 GB must not fill memory.
    const MOST: usize = 1000;
    const LONGEST: usize = 1000;

    /// The number of a list; None where the general way must look at it.
    pub fn number(&mut self, written: &[u8]) -> Option<usize> {
        if let Some(number) = self.numbers.get(written) {
            return Some(*number);
        }
        let words = written.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
        let room = self.lists.len() < Self::MOST && written.len() <= Self::LONGEST;
        if !room || words.clone().count() == 0 || !words.clone().all(is_word) {
            return None;
        }
        let odd = words.clone().find(|word| !is_technique(word)).map(<[u8]>::to_owned);
        let words = words.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        self.lists.push(List { words, odd });
        self.numbers.insert(written.to_owned(), self.lists.len() - 1);
        Some(self.lists.len() - 1)
    }

    pub fn get(&self, number: usize) -> &List {
        &self.lists[number]
    }
}
