//! Reads the output of a tool line by line in bounded memory, also with long lines, NUL bytes and invalid UTF-8.

use super::keywords::CANDIDATE_WORDS;
use aho_corasick::packed::Searcher;
use aho_corasick::{AhoCorasick, MatchKind};
use memchr::{memchr, memchr_iter, memrchr};
use std::io::{self, BufRead};
use std::sync::LazyLock;

/// Limit for the length of a result in bytes.
pub(super) const LONGEST_RESULT: usize = if cfg!(test) { 200 } else { super::value::MOST_DIGITS };

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

/// The offset of the first keyword.
fn first_keyword(text: &[u8]) -> Option<usize> {
    /// Compares 16 or more bytes at once.
    static SIMD_SEARCHER: LazyLock<Option<Searcher>> = LazyLock::new(|| Searcher::new(CANDIDATE_WORDS));
    /// For processors without such instructions.
    static PORTABLE_SEARCHER: LazyLock<AhoCorasick> = LazyLock::new(|| {
        let builder = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(CANDIDATE_WORDS);
        builder.expect("a few short words")
    });
    match &*SIMD_SEARCHER {
        Some(searcher) => searcher.find(text).map(|found| found.start()),
        None => PORTABLE_SEARCHER.find(text).map(|found| found.start()),
    }
}

/// Calls `take` for every line that has a word of the protocol, in order.
///
/// Other lines are counted only: the words are searched in whole blocks.
pub(super) fn for_each_candidate(mut source: impl BufRead, take: impl FnMut(Line<'_>)) -> io::Result<()> {
    let mut lines = Lines { number: 1, kept: Vec::new(), cut: Truncation::Complete, take };
    loop {
        let block = match source.fill_buf() {
            Ok([]) => break,
            Ok(block) => block,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        lines.add(block);
        let used = block.len();
        source.consume(used);
    }
    lines.end_line();
    Ok(())
}

/// Assembles lines from blocks of output.
struct Lines<T> {
    /// Number of the line that continues in the next block.
    number: u64,
    /// The part of that line that is kept.
    kept: Vec<u8>,
    cut: Truncation,
    take: T,
}

impl<T: FnMut(Line<'_>)> Lines<T> {
    fn add(&mut self, block: &[u8]) {
        let (Some(first), Some(last)) = (memchr(b'\n', block), memrchr(b'\n', block)) else {
            return self.keep(block);
        };
        self.keep(&block[..first]);
        self.end_line();
        let (mut from, whole) = (first + 1, &block[..=last]);
        while let Some(at) = first_keyword(&whole[from..]) {
            let at = from + at;
            let begins = memrchr(b'\n', &whole[from..at]).map_or(from, |newline| from + newline + 1);
            let ends = memchr(b'\n', &whole[at..]).map_or(last, |newline| at + newline);
            self.number += newlines(&whole[from..begins]);
            let text = &whole[begins..ends];
            match text.len() {
                ..=LONGEST_RESULT => {
                    (self.take)(Line { number: self.number, text, cut: Truncation::Complete });
                    self.number += 1;
                }
                _ => {
                    self.keep(text);
                    self.end_line();
                }
            }
            from = ends + 1;
        }
        self.number += newlines(&whole[from..]);
        self.keep(&block[last + 1..]);
    }

    fn end_line(&mut self) {
        if first_keyword(&self.kept).is_some() {
            (self.take)(Line { number: self.number, text: &self.kept, cut: self.cut });
        }
        self.kept.clear();
        (self.number, self.cut) = (self.number + 1, Truncation::Complete);
    }

    /// Adds a part of a line. Beyond the limit, bytes before the first keyword are dropped, so that a result after megabytes
    /// of progress dots is found. The kept bytes do not depend on how the line is split into parts.
    fn keep(&mut self, mut part: &[u8]) {
        // The byte before a keyword decides whether it begins a word. The end may have the first half of a keyword.
        const BEFORE: usize = 1;
        const HALF_KEYWORD: usize = "STATE_SPACE".len();
        while self.cut != Truncation::End && !part.is_empty() {
            let space = LONGEST_RESULT + 1 - self.kept.len();
            let (piece, rest) = part.split_at(part.len().min(space));
            self.kept.extend_from_slice(piece);
            part = rest;
            if self.kept.len() <= LONGEST_RESULT {
                continue;
            }
            let from = match first_keyword(&self.kept) {
                Some(at) => at.saturating_sub(BEFORE),
                None => self.kept.len() - HALF_KEYWORD - BEFORE,
            };
            self.cut = if from == 0 { Truncation::End } else { Truncation::Front };
            self.kept.drain(..from);
            self.kept.truncate(LONGEST_RESULT);
        }
    }
}

fn newlines(text: &[u8]) -> u64 {
    memchr_iter(b'\n', text).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::BufReader;

    type Seen = Vec<(u64, Vec<u8>, Truncation)>;

    fn seen(source: impl BufRead) -> Seen {
        let mut seen = Vec::new();
        for_each_candidate(source, |line| seen.push((line.number, line.text.to_owned(), line.cut))).unwrap();
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
            let lines = lines.filter(|(_, line)| first_keyword(line.as_bytes()).is_some());
            prop_assert_eq!(lines.clone().count(), whole.len());
            for ((at, line), (number, text, cut)) in lines.zip(&whole) {
                prop_assert_eq!(at as u64 + 1, *number);
                prop_assert_eq!(line.len() <= LONGEST_RESULT, *cut == Truncation::Complete);
                let shown = if *cut == Truncation::Complete { line } else { &line[line.len() - text.len()..] };
                prop_assert!(*cut == Truncation::End || shown.as_bytes() == text);
            }
            prop_assert_eq!(seen(BufReader::with_capacity(block, output.as_bytes())), whole);
        }
    }
}
