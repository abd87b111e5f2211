//! The compact table of a contest's published answers: `tool,instance,examination,answers,wrong`, plain or gzip.
//!
//! `answers` holds position 00 first: letters `T`, `F`, `?` without blanks for Boolean examinations, else values
//! separated by single spaces. `wrong` names the positions the contest judged wrong; judging anew doesn't need it.

use crate::edition::AnswerKind;
use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, sync_channel};

/// The header by which the table is known.
pub const COMPACT_HEADER: [&str; 5] = ["tool", "instance", "examination", "answers", "wrong"];

#[derive(Debug, thiserror::Error)]
pub enum TableError {
    #[error("cannot read {path}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{path}:{line}: {source}; give comma-separated text in UTF-8, plain, gzip or bzip2")]
    Csv { path: PathBuf, line: u64, source: csv::Error },
    #[error("{path}:1: header `{found}`: expected {expected}")]
    Header { path: PathBuf, found: String, expected: String },
    #[error("{path}:{line}: {message}")]
    Row { path: PathBuf, line: u64, message: String },
}

/// Opens a file for reading, unpacking gzip and bzip2, which are known by their first bytes.
pub fn open(path: &Path) -> Result<Box<dyn Read>, TableError> {
    let read = |source| TableError::Read { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(read)?;
    let mut magic = Vec::new();
    file.by_ref().take(3).read_to_end(&mut magic).map_err(read)?;
    file.rewind().map_err(read)?;
    let file = BufReader::with_capacity(1 << 16, file);
    Ok(match magic.as_slice() {
        [0x1f, 0x8b, ..] => Box::new(Unpacked::by(MultiGzDecoder::new(file))),
        b"BZh" => Box::new(Unpacked::by(MultiBzDecoder::new(file))),
        _ => Box::new(file),
    })
}

/// What a thread of its own unpacks, a few chunks ahead.
struct Unpacked {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: io::Cursor<Vec<u8>>,
}

impl Unpacked {
    const CHUNK: u64 = 256 << 10;

    fn by(mut packed: impl Read + Send + 'static) -> Self {
        let (full, chunks) = sync_channel(4);
        std::thread::spawn(move || {
            loop {
                let mut chunk = Vec::with_capacity(Self::CHUNK as usize);
                let read = packed.by_ref().take(Self::CHUNK).read_to_end(&mut chunk);
                let last = read.as_ref().map_or(true, |bytes| *bytes == 0);
                // What was unpacked before an error is part of the file; nobody may want more of it.
                let sent = (chunk.is_empty() || full.send(Ok(chunk)).is_ok())
                    && read.err().is_none_or(|error| full.send(Err(error)).is_ok());
                if last || !sent {
                    return;
                }
            }
        });
        Self { chunks, chunk: io::Cursor::default() }
    }
}

impl Read for Unpacked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.chunk.read(into)?;
        if read > 0 || into.is_empty() {
            return Ok(read);
        }
        match self.chunks.recv() {
            Ok(chunk) => {
                self.chunk = io::Cursor::new(chunk?);
                self.chunk.read(into)
            }
            // The thread has ended, and with it the file.
            Err(_) => Ok(0),
        }
    }
}

/// Bytes of one row, header included. Sixteen values of the longest sort fit in; a bomb must not fill memory.
const LONGEST_ROW: u64 = 8 << 20;

/// A comma-separated table with a header, read row by row.
pub struct Table {
    path: PathBuf,
    rows: csv::Reader<RowBound>,
    /// Bytes read since the last whole row.
    in_row: Rc<Cell<u64>>,
    header: Vec<String>,
}

/// Ends the reading of a row that never ends.
struct RowBound {
    source: Box<dyn Read>,
    in_row: Rc<Cell<u64>>,
}

impl Read for RowBound {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.in_row.get() > LONGEST_ROW {
            return Err(io::Error::other(format!("a row is longer than {LONGEST_ROW} bytes")));
        }
        let read = self.source.read(into)?;
        self.in_row.set(self.in_row.get() + read as u64);
        Ok(read)
    }
}

impl Table {
    pub fn open(path: &Path) -> Result<Self, TableError> {
        let in_row = Rc::new(Cell::new(0));
        let source = RowBound { source: open(path)?, in_row: in_row.clone() };
        let mut rows = csv::ReaderBuilder::new().flexible(true).buffer_capacity(1 << 16).from_reader(source);
        let header = rows.headers().map_err(|source| unreadable(path, 1, source))?;
        let header = header.iter().map(|name| name.trim_start_matches('\u{feff}').to_owned()).collect();
        Ok(Self { path: path.to_owned(), rows, in_row, header })
    }

    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// An error about the header, with what was expected instead.
    pub fn wrong_header(&self, expected: impl Into<String>) -> TableError {
        let found = self.header.join(",").chars().take(200).collect();
        TableError::Header { path: self.path.clone(), found, expected: expected.into() }
    }

    /// Hands every row to `each`, whose error becomes one with file and line. Every row has the header's columns.
    pub fn each_row(
        &mut self,
        mut each: impl FnMut(&csv::StringRecord) -> Result<(), String>,
    ) -> Result<(), TableError> {
        let mut row = csv::StringRecord::new();
        loop {
            self.in_row.set(0);
            let line = self.rows.position().line();
            let more = self.rows.read_record(&mut row);
            if !more.map_err(|source| unreadable(&self.path, line, source))? {
                return Ok(());
            }
            let checked = if row.len() == self.header.len() {
                each(&row)
            } else {
                let (found, expected) = (row.len(), self.header.len());
                Err(format!("{found} columns, the header has {expected}: {}", self.header.join(",")))
            };
            checked.map_err(|message| TableError::Row {
                path: self.path.clone(),
                line: row.position().map_or(0, csv::Position::line),
                message,
            })?;
        }
    }
}

/// `line` is where the row begins, for errors that don't say.
fn unreadable(path: &Path, line: u64, source: csv::Error) -> TableError {
    let line = source.position().map_or(line, csv::Position::line);
    TableError::Csv { path: path.to_owned(), line, source }
}

/// The cells of an `answers` column as written, position 00 first.
pub fn cells(answers: &str, kind: AnswerKind) -> impl Iterator<Item = &str> {
    // One of the two parts is empty, so that both kinds are one type.
    let (letters, words) = match kind {
        AnswerKind::Boolean => (answers, ""),
        AnswerKind::Number | AnswerKind::StateSpace => ("", answers),
    };
    let letters = letters.char_indices().map(|(at, letter)| &answers[at..at + letter.len_utf8()]);
    letters.chain(words.split(' ').filter(|word| !word.is_empty()))
}

/// Checks a `wrong` column: two-digit positions of the examination, separated by spaces.
pub fn check_wrong(wrong: &str, values: usize) -> Result<(), String> {
    let fits = |word: &str| word.len() == 2 && word.parse::<usize>().is_ok_and(|position| position < values);
    match wrong.split(' ').find(|word| !word.is_empty() && !fits(word)) {
        None => Ok(()),
        Some(word) => Err(format!("column wrong: `{word}` is no position; expected 00 to {:02}", values - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_split_by_their_kind() {
        let split = |answers, kind| cells(answers, kind).collect::<Vec<_>>();
        assert_eq!(split("TF?", AnswerKind::Boolean), ["T", "F", "?"]);
        assert_eq!(split("3.2057E+0008 ? X", AnswerKind::StateSpace), ["3.2057E+0008", "?", "X"]);
        assert_eq!(split("", AnswerKind::Number), Vec::<&str>::new());
        assert_eq!(split("Té", AnswerKind::Boolean), ["T", "é"]);
    }

    #[test]
    fn wrong_positions_are_checked() {
        assert_eq!(check_wrong("", 16), Ok(()));
        assert_eq!(check_wrong("00 15", 16), Ok(()));
        assert!(check_wrong("16", 16).unwrap_err().contains("00 to 15"));
        assert!(check_wrong("0", 1).unwrap_err().contains("`0`"));
    }
}
