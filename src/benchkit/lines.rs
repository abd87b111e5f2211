//! A tool's output line by line, whatever the tool writes: long lines, NULs and broken UTF-8 cost no more
//! memory than a bounded buffer.

use aho_corasick::packed::Searcher;
use aho_corasick::{AhoCorasick, MatchKind};
use memchr::{memchr, memchr_iter, memrchr};
use std::io::{self, BufRead};
use std::sync::LazyLock;

/// A result may not be longer.
pub(super) const LONGEST_RESULT: usize = super::value::MOST_DIGITS;

/// One line, or what is worth reading of it.
pub(super) struct Line<'a> {
    pub number: u64,
    pub text: &'a [u8],
    /// The line had more than `text`.
    pub cut: Cut,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    Nowhere,
    /// Bytes without a keyword are missing before `text`.
    Front,
    /// A keyword is in `text`, but the line goes on for longer than a result may.
    End,
}

/// What could matter in a line: a keyword of the protocol. COMPUTE and COMPETE are in CANNOT_COMPUTE and
/// DO_NOT_COMPETE, however these are spelled; TECHNIQUES is in results whose own keyword is misspelt.
const KEYWORDS: [&str; 5] = ["FORMULA", "STATE_SPACE", "COMPUTE", "COMPETE", "TECHNIQUES"];

/// Where the first keyword begins.
fn keyword(text: &[u8]) -> Option<usize> {
    /// Compares 16 bytes and more at once.
    static QUICK: LazyLock<Option<Searcher>> = LazyLock::new(|| Searcher::new(KEYWORDS));
    /// For processors that can't.
    static ANYWHERE: LazyLock<AhoCorasick> = LazyLock::new(|| {
        let builder = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(KEYWORDS);
        builder.expect("a few short words")
    });
    match &*QUICK {
        Some(quick) => quick.find(text).map(|found| found.start()),
        None => ANYWHERE.find(text).map(|found| found.start()),
    }
}

/// Calls `take` for every line in which a keyword stands.
///
/// Lines without one cost no allocation and are not even told apart: keywords are sought in all that is read at
/// once, and lines before them counted.
pub(super) fn for_each_candidate(mut source: impl BufRead, mut take: impl FnMut(Line<'_>)) -> io::Result<()> {
    let mut number = 1;
    // What is read of a line that goes on in the next chunk.
    let mut kept: Vec<u8> = Vec::new();
    let mut cut = Cut::Nowhere;
    loop {
        let chunk = match source.fill_buf() {
            Ok([]) => break,
            Ok(chunk) => chunk,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        let mut rest = chunk;
        if !kept.is_empty() || cut != Cut::Nowhere {
            let newline = memchr(b'\n', rest);
            keep(&mut kept, &mut cut, &rest[..newline.unwrap_or(rest.len())]);
            rest = newline.map_or(&[], |at| &rest[at + 1..]);
            if newline.is_some() {
                if keyword(&kept).is_some() {
                    take(Line { number, text: &kept, cut });
                }
                kept.clear();
                (number, cut) = (number + 1, Cut::Nowhere);
            }
        }
        let (mut whole, begun) = rest.split_at(memrchr(b'\n', rest).map_or(0, |at| at + 1));
        while let Some(at) = keyword(whole) {
            let (before, line) = whole.split_at(memrchr(b'\n', &whole[..at]).map_or(0, |at| at + 1));
            let (line, after) = line.split_at(memchr(b'\n', line).unwrap_or(line.len()));
            number += newlines(before);
            if line.len() <= LONGEST_RESULT {
                take(Line { number, text: line, cut });
            } else {
                keep(&mut kept, &mut cut, line);
                take(Line { number, text: &kept, cut });
                kept.clear();
                cut = Cut::Nowhere;
            }
            number += 1;
            whole = &after[1..];
        }
        number += newlines(whole);
        keep(&mut kept, &mut cut, begun);
        let used = chunk.len();
        source.consume(used);
    }
    if keyword(&kept).is_some() {
        take(Line { number, text: &kept, cut });
    }
    Ok(())
}

fn newlines(text: &[u8]) -> u64 {
    memchr_iter(b'\n', text).count() as u64
}

/// Adds a part of a line to what is kept of it. Past the bound, bytes before the first keyword are dropped,
/// so that a result after megabytes of progress dots is still found.
fn keep(kept: &mut Vec<u8>, cut: &mut Cut, part: &[u8]) {
    // One byte before a keyword says whether it begins a word; a keyword may be in halves at the end.
    const BEFORE: usize = 1;
    const HALF_KEYWORD: usize = "STATE_SPACE".len();
    if *cut == Cut::End {
        return;
    }
    for piece in part.chunks(LONGEST_RESULT) {
        kept.extend_from_slice(piece);
        if kept.len() <= LONGEST_RESULT {
            continue;
        }
        let from = match keyword(kept) {
            Some(at) => at.saturating_sub(BEFORE),
            None => kept.len() - HALF_KEYWORD - BEFORE,
        };
        if from > 0 {
            kept.drain(..from);
            *cut = Cut::Front;
        }
        if kept.len() > LONGEST_RESULT {
            kept.truncate(LONGEST_RESULT);
            *cut = Cut::End;
            return;
        }
    }
}
