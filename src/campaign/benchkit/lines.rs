//! Reads the output of a tool line by line in bounded memory, also with long lines, NUL bytes and invalid UTF-8.

use super::keywords::{CANDIDATE_WORDS, TOTAL_WORDS};
use memchr::{memchr, memchr_iter, memrchr};
use regex::bytes::Regex;
use std::io::{self, BufRead};
use std::sync::LazyLock;

/// Limit for the length of a result in bytes.
pub(super) const MAX_RESULT_BYTES: usize = if cfg!(test) { 200 } else { super::value::MAX_DIGITS };

/// A line, or the part of it that may have a result.
pub(super) struct Line<'a> {
    pub number: u64,
    pub text: &'a [u8],
    /// Whether the line is longer than `text`.
    pub cut: Truncation,
}

/// Which part of a line is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Truncation {
    /// The whole line.
    Complete,
    /// Bytes without a keyword are missing before `text`.
    Front,
    /// `text` has a keyword, but the line continues beyond the limit of a result.
    End,
}

fn any_of(words: &[&str]) -> Regex {
    Regex::new(&words.join("|")).expect("a few short words")
}

/// The words of the protocol.
static WORDS: LazyLock<Regex> = LazyLock::new(|| any_of(&CANDIDATE_WORDS));

/// The words of the protocol for total examinations.
static WITH_TOTAL_WORDS: LazyLock<Regex> =
    LazyLock::new(|| any_of(&[&CANDIDATE_WORDS[..], &TOTAL_WORDS].concat()));

/// Calls `take` for every line that has a word of the protocol, in order. `is_total`: of the protocol for total examinations.
pub(super) fn for_each_candidate(
    mut source: impl BufRead,
    is_total: bool,
    mut take: impl FnMut(Line<'_>),
) -> io::Result<()> {
    let mut lines = LineSplitter::new(if is_total { &WITH_TOTAL_WORDS } else { &WORDS });
    loop {
        let block = match source.fill_buf() {
            Ok(block) => block,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        if block.is_empty() {
            lines.end(&mut take);
            return Ok(());
        }
        lines.add(block, &mut take);
        let used = block.len();
        source.consume(used);
    }
}

/// Splits an output that comes in blocks into lines.
pub(super) struct LineSplitter {
    /// The number of the current line, from 1.
    number: u64,
    kept: KeptLine,
}

impl Default for LineSplitter {
    fn default() -> Self {
        Self::new(&WORDS)
    }
}

impl LineSplitter {
    fn new(words: &'static Regex) -> Self {
        Self { number: 1, kept: KeptLine { text: Vec::new(), cut: Truncation::Complete, words } }
    }

    /// Adds a block. Calls `take` for every line that ends in it and has a word of the protocol.
    pub fn add(&mut self, mut block: &[u8], mut take: impl FnMut(Line<'_>)) {
        loop {
            if self.kept.text.is_empty() {
                // Most lines have no keyword: one search passes over many of them.
                let before = &block[..self.kept.first_keyword(block).unwrap_or(block.len())];
                let lines = memrchr(b'\n', before).map_or(0, |end| end + 1);
                self.number += memchr_iter(b'\n', &block[..lines]).count() as u64;
                block = &block[lines..];
            }
            let Some(end) = memchr(b'\n', block) else { break };
            self.kept.add(&block[..end]);
            self.end(&mut take);
            block = &block[end + 1..];
        }
        self.kept.add(block);
    }

    /// Ends the current line, as a line feed and the end of the output do.
    pub fn end(&mut self, mut take: impl FnMut(Line<'_>)) {
        if self.kept.first_keyword(&self.kept.text).is_some() {
            take(Line { number: self.number, text: &self.kept.text, cut: self.kept.cut });
        }
        self.kept.text.clear();
        (self.number, self.kept.cut) = (self.number + 1, Truncation::Complete);
    }
}

/// The part of a line that is kept.
struct KeptLine {
    text: Vec<u8>,
    cut: Truncation,
    /// Matches the words of the protocol.
    words: &'static Regex,
}

impl KeptLine {
    /// The offset of the first keyword.
    fn first_keyword(&self, text: &[u8]) -> Option<usize> {
        self.words.find(text).map(|found| found.start())
    }

    /// Adds a part of a line. Beyond the limit, bytes before the first keyword are dropped, so that a result after megabytes
    /// of progress dots is found. The kept bytes do not depend on how the line is split into parts.
    fn add(&mut self, mut part: &[u8]) {
        // The byte before a keyword decides whether it begins a word. The end may have the first half of a keyword.
        const BEFORE: usize = 1;
        const HALF_KEYWORD: usize = "STATE_SPACE".len();
        while self.cut != Truncation::End && !part.is_empty() {
            let space = MAX_RESULT_BYTES + 1 - self.text.len();
            let (piece, rest) = part.split_at(part.len().min(space));
            self.text.extend_from_slice(piece);
            part = rest;
            if self.text.len() <= MAX_RESULT_BYTES {
                continue;
            }
            let from = match self.first_keyword(&self.text) {
                Some(at) => at.saturating_sub(BEFORE),
                None => self.text.len() - HALF_KEYWORD - BEFORE,
            };
            self.cut = if from == 0 { Truncation::End } else { Truncation::Front };
            self.text.drain(..from);
            self.text.truncate(MAX_RESULT_BYTES);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::BufReader;

    type Seen = Vec<(u64, Vec<u8>, Truncation)>;

    fn seen(source: impl BufRead) -> Seen {
        let mut seen = Vec::new();
        for_each_candidate(source, false, |line| seen.push((line.number, line.text.to_owned(), line.cut)))
            .unwrap();
        seen
    }

    proptest! {
        #[test]
        fn candidates_are_the_same_in_blocks_of_any_size(
            // Unit tests take lines of up to 200 bytes whole.
            output in prop::collection::vec(
                "(FORMULA|STATE_SPACE|COMPUTE|FORM|_SPACE| |x|\n{1,3}|\\.{0,150})",
                0..30,
            ),
            block in 1usize..100,
        ) {
            let output = output.concat();
            let whole = seen(output.as_bytes());
            let lines = output.lines().enumerate();
            let lines = lines.filter(|(_, line)| WORDS.is_match(line.as_bytes()));
            prop_assert_eq!(lines.clone().count(), whole.len());
            for ((at, line), (number, text, cut)) in lines.zip(&whole) {
                prop_assert_eq!(at as u64 + 1, *number);
                prop_assert_eq!(line.len() <= MAX_RESULT_BYTES, *cut == Truncation::Complete);
                let shown = if *cut == Truncation::Complete { line } else { &line[line.len() - text.len()..] };
                prop_assert!(*cut == Truncation::End || shown.as_bytes() == text);
            }
            prop_assert_eq!(seen(BufReader::with_capacity(block, output.as_bytes())), whole);
        }
    }
}
