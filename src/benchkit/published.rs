//! The compact table of a contest's published answers: `tool,instance,examination,answers,wrong`, plain or gzip.
//!
//! `answers` holds position 00 first: letters `T`, `F`, `?` without blanks for Boolean examinations, else values
//! separated by single spaces. `wrong` names the positions the contest judged wrong; judging anew doesn't need it.

use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use mcc_edition::AnswerKind;
use memchr::memchr;
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
        [0x1f, 0x8b, ..] => Box::new(Decompressor::by(MultiGzDecoder::new(file))),
        b"BZh" => Box::new(Decompressor::by(MultiBzDecoder::new(file))),
        _ => Box::new(file),
    })
}

/// What a thread of its own unpacks, a few chunks ahead.
struct Decompressor {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: io::Cursor<Vec<u8>>,
}

impl Decompressor {
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

impl Read for Decompressor {
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
    rows: csv::Reader<CheckedSource>,
    /// Bytes read since the last whole row.
    in_row: Rc<Cell<u64>>,
    /// Where the first quoted field begins that has no proper end.
    unclosed: Rc<Cell<Option<u64>>>,
    header: Vec<String>,
}

/// Ends the reading of a row that never ends, and sees quotes that are not closed, of which the csv reader says
/// nothing: to it the rows that follow belong to the field.
struct CheckedSource {
    source: Box<dyn Read>,
    in_row: Rc<Cell<u64>>,
    quotes: Quotes,
    unclosed: Rc<Cell<Option<u64>>>,
}

impl Read for CheckedSource {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.in_row.get() > LONGEST_ROW {
            let longest = format!("a row is longer than {LONGEST_ROW} bytes; is a quote in it never closed?");
            return Err(io::Error::other(longest));
        }
        let read = self.source.read(into)?;
        self.in_row.set(self.in_row.get() + read as u64);
        if self.unclosed.get().is_none() {
            self.unclosed.set(self.quotes.unclosed_in(&into[..read]));
        }
        Ok(read)
    }
}

/// Quoted fields, chunk by chunk of a file.
#[derive(Default)]
struct Quotes {
    /// Bytes of the chunks before this one, and the last of them.
    before: u64,
    last: Option<u8>,
    /// Where the quoted field begins that has not ended.
    open: Option<u64>,
    /// Its last byte was a quote: the next one says whether it ends the field.
    ending: bool,
}

impl Quotes {
    /// Where a quoted field begins after whose quote neither a comma nor a line's end comes; a chunk without bytes
    /// is the file's end.
    fn unclosed_in(&mut self, chunk: &[u8]) -> Option<u64> {
        if chunk.is_empty() && !self.ending {
            return self.open;
        }
        let mut at = 0;
        loop {
            if self.ending {
                match chunk.get(at) {
                    None => break,
                    Some(b'"') => at += 1,
                    Some(b',' | b'\r' | b'\n') => self.open = None,
                    Some(_) => return self.open,
                }
                self.ending = false;
            }
            let Some(found) = memchr(b'"', &chunk[at..]) else { break };
            let quote = at + found;
            let before = quote.checked_sub(1).map_or(self.last, |before| Some(chunk[before]));
            match before {
                _ if self.open.is_some() => self.ending = true,
                None | Some(b',' | b'\r' | b'\n') => self.open = Some(self.before + quote as u64),
                // Within a field it is a letter like others.
                Some(_) => {}
            }
            at = quote + 1;
        }
        self.before += chunk.len() as u64;
        self.last = chunk.last().copied().or(self.last);
        None
    }
}

impl Table {
    pub fn open(path: &Path) -> Result<Self, TableError> {
        let (in_row, unclosed) = <(Rc<Cell<u64>>, Rc<Cell<Option<u64>>>)>::default();
        let source = CheckedSource {
            source: open(path)?,
            in_row: in_row.clone(),
            quotes: Quotes::default(),
            unclosed: unclosed.clone(),
        };
        let mut rows = csv::ReaderBuilder::new().flexible(true).buffer_capacity(1 << 16).from_reader(source);
        let header = rows.headers().map_err(|source| unreadable(path, 1, source))?;
        let header = header.iter().map(|name| name.trim_start_matches('\u{feff}').to_owned()).collect();
        let table = Self { path: path.to_owned(), rows, in_row, unclosed, header };
        table.closed().map_err(|message| TableError::Row { path: path.to_owned(), line: 1, message })?;
        Ok(table)
    }

    /// Whether every quote was closed in what was read as rows.
    fn closed(&self) -> Result<(), String> {
        match self.unclosed.get().is_some_and(|at| at < self.rows.position().byte()) {
            true => Err("a quote is not closed, or text follows the closing one, so the rows after it would be lost; \
                         close it before the comma or the line's end, and write a quote inside as `\"\"`"
                .to_owned()),
            false => Ok(()),
        }
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
            let checked = self.closed().and_then(|()| match (row.len(), self.header.len()) {
                (found, expected) if found == expected => each(&row),
                (found, expected) => {
                    Err(format!("{found} columns, the header has {expected}: {}", self.header.join(",")))
                }
            });
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
    use proptest::prelude::*;

    #[test]
    fn answers_are_split_by_their_kind() {
        let split = |answers, kind| cells(answers, kind).collect::<Vec<_>>();
        assert_eq!(split("TF?", AnswerKind::Boolean), ["T", "F", "?"]);
        assert_eq!(split("3.2057E+0008 ? X", AnswerKind::StateSpace), ["3.2057E+0008", "?", "X"]);
        assert_eq!(split("", AnswerKind::Number), Vec::<&str>::new());
        assert_eq!(split("Té", AnswerKind::Boolean), ["T", "é"]);
    }

    /// Where the first quote stands that is not closed, however the file is cut into chunks.
    fn unclosed(text: &str) -> Option<u64> {
        let by = |size: usize| {
            let mut quotes = Quotes::default();
            let found = text.as_bytes().chunks(size).find_map(|chunk| quotes.unclosed_in(chunk));
            found.or_else(|| quotes.unclosed_in(b""))
        };
        let found = by(text.len().max(1));
        assert!((1..5).all(|size| by(size) == found), "{text:?}");
        found
    }

    #[test]
    fn quotes_that_are_not_closed_are_found() {
        for good in ["", "a,b\n", "\"a,b\"\n", "\"\",\"\"\r\n\"a\"", "\"a \"\"b\"\"\nc\",5\" disk\n", "a\"\n"]
        {
            assert_eq!(unclosed(good), None, "{good:?}");
        }
        for (bad, at) in
            [("a,\"b\nc,d\n", 2), ("\"", 0), ("a\n\"b\"\"\n", 2), ("a,\"b\nc,\"d\"\n", 2), ("\"a\" ,b\n", 0)]
        {
            assert_eq!(unclosed(bad), Some(at), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn a_table_written_by_a_csv_writer_has_every_quote_closed(
            rows in prop::collection::vec(prop::collection::vec("[a\",\r\n]{0,6}", 3), 1..5)
        ) {
            let mut written = csv::Writer::from_writer(Vec::new());
            rows.iter().for_each(|row| written.write_record(row).unwrap());
            prop_assert_eq!(unclosed(&String::from_utf8(written.into_inner().unwrap()).unwrap()), None);
        }
    }

    #[test]
    fn wrong_positions_are_checked() {
        assert_eq!(check_wrong("", 16), Ok(()));
        assert_eq!(check_wrong("00 15", 16), Ok(()));
        assert!(check_wrong("16", 16).unwrap_err().contains("00 to 15"));
        assert!(check_wrong("0", 1).unwrap_err().contains("`0`"));
    }
}
