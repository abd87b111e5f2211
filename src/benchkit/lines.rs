//! A tool's output line by line, whatever the tool writes: long lines, NULs and broken UTF-8 cost no more
//! memory than a bounded buffer.

use memchr::memchr;
use memchr::memmem::Finder;
use std::io::{self, BufRead};

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

/// Finds in every line what could matter: a keyword of the protocol.
struct Keywords([Finder<'static>; 5]);

impl Keywords {
    fn new() -> Self {
        // COMPUTE and COMPETE are in CANNOT_COMPUTE and DO_NOT_COMPETE, however these are spelled; TECHNIQUES is in
        // results whose own keyword is misspelt.
        Self(["FORMULA", "STATE_SPACE", "COMPUTE", "COMPETE", "TECHNIQUES"].map(Finder::new))
    }

    /// Where the first keyword begins.
    fn find(&self, text: &[u8]) -> Option<usize> {
        self.0.iter().filter_map(|finder| finder.find(text)).min()
    }
}

/// Calls `take` for every line in which a keyword stands.
pub(super) fn for_each_candidate(mut source: impl BufRead, mut take: impl FnMut(Line<'_>)) -> io::Result<()> {
    let keywords = Keywords::new();
    let mut number = 1;
    let mut kept: Vec<u8> = Vec::new();
    let mut cut = Cut::Nowhere;
    loop {
        let chunk = match source.fill_buf() {
            Ok([]) => break,
            Ok(chunk) => chunk,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        let newline = memchr(b'\n', chunk);
        let part = &chunk[..newline.unwrap_or(chunk.len())];
        match newline {
            // The usual case: a whole line in the chunk, nothing to copy.
            Some(_) if kept.is_empty() && cut == Cut::Nowhere && part.len() <= LONGEST_RESULT => {
                if keywords.find(part).is_some() {
                    take(Line { number, text: part, cut });
                }
            }
            _ => {
                keep(&mut kept, &mut cut, part, &keywords);
                if newline.is_some() {
                    if keywords.find(&kept).is_some() {
                        take(Line { number, text: &kept, cut });
                    }
                    kept.clear();
                    cut = Cut::Nowhere;
                }
            }
        }
        number += u64::from(newline.is_some());
        let used = part.len() + usize::from(newline.is_some());
        source.consume(used);
    }
    if keywords.find(&kept).is_some() {
        take(Line { number, text: &kept, cut });
    }
    Ok(())
}

/// Adds a part of a line to what is kept of it. Past the bound, bytes before the first keyword are dropped,
/// so that a result after megabytes of progress dots is still found.
fn keep(kept: &mut Vec<u8>, cut: &mut Cut, part: &[u8], keywords: &Keywords) {
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
        let from = match keywords.find(kept) {
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
