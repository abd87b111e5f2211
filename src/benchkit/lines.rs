//! A tool's output line by line, whatever the tool writes: long lines, NULs and broken UTF-8 cost no more
//! memory than a bounded buffer.

use aho_corasick::packed::Searcher;
use aho_corasick::{AhoCorasick, MatchKind};
use mcc_base::in_order::{Feed, all_cores, in_order};
use memchr::{memchr, memchr_iter, memrchr};
use std::fs::File;
use std::io::{self, BufRead};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::LazyLock;

/// A result may not be longer.
pub(super) const LONGEST_RESULT: usize = if cfg!(test) { 200 } else { super::value::MOST_DIGITS };

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

/// Calls `take` for every line in which a keyword stands, in their order.
///
/// Lines without one cost no allocation and are not even told apart: keywords are sought in all that is read at
/// once, and lines before them counted.
pub(super) fn for_each_candidate(mut source: impl BufRead, take: impl FnMut(Line<'_>)) -> io::Result<()> {
    let mut lines = Lines::new(take);
    let mut scan = Scan::default();
    loop {
        let stretch = match source.fill_buf() {
            Ok([]) => break,
            Ok(stretch) => stretch,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        scan.look_at(stretch);
        lines.go_on(stretch, &scan);
        let used = stretch.len();
        source.consume(used);
    }
    lines.end_line();
    Ok(())
}

/// Bytes of a file read at once: few enough to stay in a core's cache.
pub(super) const AT_ONCE: usize = 64 << 10;

/// How a file is shared out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shares {
    pub threads: NonZeroUsize,
    /// Bytes that one thread looks at between two talks to others, for which it may have to wait. A few such pieces
    /// per thread are under way; of what was looked at, only lines with a keyword stay in memory.
    pub piece: usize,
    /// Bytes read at once.
    pub at_once: usize,
}

impl Shares {
    /// None: one core is as fast, or all there is.
    pub fn of(bytes: u64) -> Option<Self> {
        const WORTH_IT: u64 = 32 << 20;
        /// What they find is taken by one thread, which has no time for more of them.
        const MOST_THREADS: NonZeroUsize = NonZeroUsize::new(8).unwrap();
        let threads = all_cores().min(MOST_THREADS);
        let shares = Self { threads, piece: 4 << 20, at_once: AT_ONCE };
        (bytes >= WORTH_IT && threads.get() > 1).then_some(shares)
    }
}

/// As `for_each_candidate`, for a file of so many bytes; `take` is called on one other thread.
pub(super) fn for_each_candidate_by(
    Shares { threads, piece, at_once }: Shares,
    file: &File,
    bytes: u64,
    take: impl FnMut(Line<'_>) + Send,
) -> io::Result<()> {
    let mut lines = Lines::new(take);
    // Fails where reading did.
    let cut = |feed: Feed<'_, u64>| drop((0..bytes).step_by(piece).try_for_each(feed));
    let look = |buffer: &mut Vec<u8>, begins: u64| {
        let ends = bytes.min(begins + piece as u64);
        let stretches = (begins..ends).step_by(at_once).map(|from| {
            let stretch = &mut buffer[..at_once.min((ends - from) as usize)];
            file.read_exact_at(stretch, from)?;
            let mut scan = Scan::default();
            scan.look_at(stretch);
            Ok((scan.excerpt(stretch), scan))
        });
        stretches.collect::<io::Result<Vec<_>>>()
    };
    let take = |seen: io::Result<Vec<(Vec<u8>, Scan)>>| {
        seen?.into_iter().for_each(|(excerpt, scan)| lines.go_on(&excerpt, &scan));
        Ok::<(), io::Error>(())
    };
    in_order(threads, || vec![0; at_once], cut, look, take)?;
    lines.end_line();
    Ok(())
}

/// What a stretch of output holds, whatever stands before and after it.
#[derive(Default)]
struct Scan {
    /// Where the line ends that began before the stretch; None: not in it.
    first_end: Option<usize>,
    /// The lines with a keyword, of those that begin and end after that.
    found: Vec<Found>,
    /// How many lines begin and end there.
    lines: u64,
    /// Where the line begins that does not end.
    begun: usize,
}

/// A line with a keyword.
struct Found {
    /// How many lines of the stretch stand before it.
    before: u64,
    text: Range<usize>,
}

impl Scan {
    fn look_at(&mut self, stretch: &[u8]) {
        self.found.clear();
        (self.first_end, self.lines) = (memchr(b'\n', stretch), 0);
        let (Some(first), Some(last)) = (self.first_end, memrchr(b'\n', stretch)) else { return };
        self.begun = last + 1;
        let whole = &stretch[..self.begun];
        let mut from = first + 1;
        while let Some(at) = keyword(&whole[from..]) {
            let at = from + at;
            let begins = memrchr(b'\n', &whole[from..at]).map_or(from, |newline| from + newline + 1);
            let ends = memchr(b'\n', &whole[at..]).map_or(last, |newline| at + newline);
            let before = self.lines + newlines(&whole[from..begins]);
            self.found.push(Found { before, text: begins..ends });
            self.lines = before + 1;
            from = ends + 1;
        }
        self.lines += newlines(&whole[from..]);
    }

    /// What is of use in the stretch that was looked at; the ranges are now those in it.
    fn excerpt(&mut self, stretch: &[u8]) -> Vec<u8> {
        let Some(first) = self.first_end else { return stretch.to_vec() };
        let begun = &stretch[self.begun..];
        let length = first + self.found.iter().map(|found| found.text.len()).sum::<usize>() + begun.len();
        let mut excerpt = Vec::with_capacity(length);
        excerpt.extend_from_slice(&stretch[..first]);
        for found in &mut self.found {
            let begins = excerpt.len();
            excerpt.extend_from_slice(&stretch[found.text.clone()]);
            found.text = begins..excerpt.len();
        }
        self.begun = excerpt.len();
        excerpt.extend_from_slice(begun);
        excerpt
    }
}

/// Lines put together from one stretch after the other.
struct Lines<T> {
    /// Of the line that goes on in the next stretch.
    number: u64,
    /// What is read of it.
    kept: Vec<u8>,
    cut: Cut,
    take: T,
}

impl<T: FnMut(Line<'_>)> Lines<T> {
    fn new(take: T) -> Self {
        Self { number: 1, kept: Vec::new(), cut: Cut::Nowhere, take }
    }

    fn go_on(&mut self, stretch: &[u8], scan: &Scan) {
        let Some(first) = scan.first_end else { return self.keep(stretch) };
        self.keep(&stretch[..first]);
        self.end_line();
        let begins = self.number;
        for found in &scan.found {
            self.number = begins + found.before;
            let text = &stretch[found.text.clone()];
            match text.len() {
                ..=LONGEST_RESULT => (self.take)(Line { number: self.number, text, cut: Cut::Nowhere }),
                _ => {
                    self.keep(text);
                    self.end_line();
                }
            }
        }
        self.number = begins + scan.lines;
        self.keep(&stretch[scan.begun..]);
    }

    fn end_line(&mut self) {
        if keyword(&self.kept).is_some() {
            (self.take)(Line { number: self.number, text: &self.kept, cut: self.cut });
        }
        self.kept.clear();
        (self.number, self.cut) = (self.number + 1, Cut::Nowhere);
    }

    /// Adds a part of a line to what is kept of it. Past the bound, bytes before the first keyword are dropped,
    /// so that a result after megabytes of progress dots is still found. What is kept does not depend on the parts.
    fn keep(&mut self, mut part: &[u8]) {
        // One byte before a keyword says whether it begins a word; a keyword may be in halves at the end.
        const BEFORE: usize = 1;
        const HALF_KEYWORD: usize = "STATE_SPACE".len();
        while self.cut != Cut::End && !part.is_empty() {
            let room = LONGEST_RESULT + 1 - self.kept.len();
            let (piece, rest) = part.split_at(part.len().min(room));
            self.kept.extend_from_slice(piece);
            part = rest;
            if self.kept.len() <= LONGEST_RESULT {
                continue;
            }
            let from = match keyword(&self.kept) {
                Some(at) => at.saturating_sub(BEFORE),
                None => self.kept.len() - HALF_KEYWORD - BEFORE,
            };
            self.cut = if from == 0 { Cut::End } else { Cut::Front };
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
    use std::io::{BufReader, Write};

    type Seen = Vec<(u64, Vec<u8>, Cut)>;

    fn seen(read: impl FnOnce(&mut (dyn FnMut(Line<'_>) + Send)) -> io::Result<()>) -> Seen {
        let mut seen = Vec::new();
        read(&mut |line| seen.push((line.number, line.text.to_owned(), line.cut))).unwrap();
        seen
    }

    proptest! {
        #[test]
        fn candidates_are_the_same_however_output_is_cut_and_by_however_many_threads(
            // Unit tests take lines of up to 200 bytes whole.
            output in prop::collection::vec(
                "(FORMULA|STATE_SPACE|COMPUTE|FORM|_SPACE| |x|\n{1,3}|\\.{0,150})",
                0..30,
            ),
            threads in 1usize..4,
            piece in 1usize..400,
            at_once in 1usize..100,
        ) {
            let output = output.concat();
            let whole = seen(|take| for_each_candidate(output.as_bytes(), take));
            let lines = output.lines().enumerate().filter(|(_, line)| keyword(line.as_bytes()).is_some());
            prop_assert_eq!(lines.clone().count(), whole.len());
            for ((at, line), (number, text, cut)) in lines.zip(&whole) {
                prop_assert_eq!(at as u64 + 1, *number);
                prop_assert_eq!(line.len() <= LONGEST_RESULT, *cut == Cut::Nowhere);
                let shown = if *cut == Cut::Nowhere { line } else { &line[line.len() - text.len()..] };
                prop_assert!(*cut == Cut::End || shown.as_bytes() == text);
            }

            let bit_by_bit = BufReader::with_capacity(at_once, output.as_bytes());
            prop_assert_eq!(&seen(|take| for_each_candidate(bit_by_bit, take)), &whole);

            let mut file = tempfile::tempfile().unwrap();
            file.write_all(output.as_bytes()).unwrap();
            let shares = Shares { threads: NonZeroUsize::new(threads).unwrap(), piece, at_once };
            let shared = seen(|take| for_each_candidate_by(shares, &file, output.len() as u64, take));
            prop_assert_eq!(&shared, &whole);
        }
    }

    #[test]
    fn a_file_that_shrinks_while_it_is_read_is_an_error() {
        let file = tempfile::tempfile().unwrap();
        let shares = Shares { threads: NonZeroUsize::new(2).unwrap(), piece: 8, at_once: 4 };
        assert!(for_each_candidate_by(shares, &file, 100, |_| {}).is_err());
    }
}
