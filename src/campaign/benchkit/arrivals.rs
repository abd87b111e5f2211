//! The arrival of answers: finds the lines with answers in an output while it is received.

use super::lines::LineSplitter;
use std::time::Instant;

/// Most lines of an output whose arrival is kept. Further ones are counted only, so that an output of any size needs little
/// memory and little space in the record. An examination has at most 16 values.
pub const MAX_ANSWER_LINES: usize = 1000;

/// When the lines with a word of the answer protocol arrived. Their numbers are those of `Answers::lines`.
#[derive(Default)]
pub struct AnswerLines {
    lines: LineSplitter,
    /// Number of the line, and when its last byte arrived.
    arrived: Vec<(u64, Instant)>,
    dropped: u64,
    /// The arrival of the last block.
    last: Option<Instant>,
}

impl AnswerLines {
    /// Adds a block of the output that arrived at `at`. Blocks may end anywhere in a line.
    pub fn add(&mut self, block: &[u8], at: Instant) {
        let Self { lines, arrived, dropped, last } = self;
        *last = Some(at);
        lines.add(block, |line| keep(arrived, dropped, line.number, at));
    }

    /// Ends the output. Returns the number of each line, from 1, with the milliseconds from `start` until the line was
    /// complete (0 if it arrived before), and how many further lines were not kept.
    pub fn finish(mut self, start: Instant) -> (Vec<(u64, u64)>, u64) {
        if let Some(at) = self.last {
            self.lines.end(|line| keep(&mut self.arrived, &mut self.dropped, line.number, at));
        }
        let ms = |at: Instant| at.saturating_duration_since(start).as_millis() as u64;
        (self.arrived.into_iter().map(|(line, at)| (line, ms(at))).collect(), self.dropped)
    }
}

fn keep(arrived: &mut Vec<(u64, Instant)>, dropped: &mut u64, line: u64, at: Instant) {
    if arrived.len() < MAX_ANSWER_LINES { arrived.push((line, at)) } else { *dropped += 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// The lines that are found in blocks of which each arrives 10 ms after the one before.
    fn lines(blocks: &[&[u8]]) -> (Vec<(u64, u64)>, u64) {
        let start = Instant::now();
        let mut found = AnswerLines::default();
        for (number, block) in (1..).zip(blocks) {
            found.add(block, start + Duration::from_millis(10 * number));
        }
        found.finish(start)
    }

    #[test]
    fn a_line_arrives_with_its_last_byte() {
        let blocks: [&[u8]; 5] = [
            b"log\nFORM",
            b"ULA a TRUE TECH",
            b"NIQUES X\r\nlog\nCANNOT_COMPUTE",
            b"\nDO_NOT_COMPETE\n\nSTATE_SPACE STATES 1",
            b"2",
        ];
        assert_eq!(lines(&blocks).0, [(2, 30), (4, 40), (5, 40), (7, 50)]);
        // One byte in each block.
        let bytes: Vec<&[u8]> = b"x\nFORMULA a TRUE\ny".chunks(1).collect();
        assert_eq!(lines(&bytes).0, [(2, 170)]);
    }

    #[test]
    fn a_huge_line_needs_little_memory_and_keeps_its_number() {
        let dots = [b'.'; 1 << 16];
        let mut blocks: Vec<&[u8]> = vec![&dots; 100];
        blocks.push(b" FORMULA a TRUE\nFORMULA b TRUE\n");
        assert_eq!(lines(&blocks), (vec![(1, 1010), (2, 1010)], 0));
    }

    #[test]
    fn lines_beyond_the_cap_are_counted() {
        let many = b"FORMULA a TRUE\n".repeat(MAX_ANSWER_LINES);
        let (kept, dropped) = lines(&[&many, b"CANNOT_COMPUTE\nx\nFORMULA b", b" TRUE"]);
        assert_eq!((kept.len(), dropped), (MAX_ANSWER_LINES, 2));
        assert_eq!(kept.last(), Some(&(MAX_ANSWER_LINES as u64, 10)));
    }

    #[test]
    fn what_arrives_before_the_start_has_the_time_zero() {
        let at = Instant::now();
        let mut found = AnswerLines::default();
        found.add(b"FORMULA a TRUE\n", at);
        assert_eq!(found.finish(at + Duration::from_secs(1)), (vec![(1, 0)], 0));
    }

    #[test]
    fn an_empty_output_has_no_line() {
        assert_eq!(lines(&[]), (vec![], 0));
        assert_eq!(lines(&[b"nothing\n"]), (vec![], 0));
    }
}
