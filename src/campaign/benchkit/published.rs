//! Reads comma-separated tables, plain, gzip or bzip2, and in particular the compact table of the published answers of a
//! contest: `tool,instance,examination,answers,wrong`.
//!
//! `answers` begins with position 00: letters `T`, `F`, `?` without blanks for Boolean examinations, else values separated
//! by spaces. `wrong` lists the positions that the contest judged wrong: judging uses it where no value is trusted and the
//! edition has `not_kept = "wrong"` (E-4.2).

use super::contest_table::known_name;
use bzip2::read::MultiBzDecoder;
use flate2::read::MultiGzDecoder;
use mcc_base::text::{MAX_FILE_BYTES, visible};
use mcc_base::{FileError, OnFile, files};
use mcc_edition::AnswerKind;
use memchr::{memchr, memchr_iter};
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The header of the compact table.
pub const COMPACT_HEADER: [&str; 5] = ["tool", "instance", "examination", "answers", "wrong"];

/// Why a table cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// A file or folder cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is not a comma-separated table.
    #[error("{path}:{line}: {source}; give comma-separated text in UTF-8, plain, gzip or bzip2")]
    Csv {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// The cause.
        source: csv::Error,
    },
    /// The file is not text.
    #[error("{path}:{line}: not text in UTF-8; give comma-separated text in UTF-8, plain, gzip or bzip2")]
    NoText {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
    },
    /// The header is not the expected one.
    #[error("{path}:1: header `{}`: expected {expected}", visible(found))]
    Header {
        /// The file.
        path: PathBuf,
        /// The header.
        found: String,
        /// The expected header.
        expected: String,
    },
    /// A row is wrong.
    #[error("{path}:{line}: {}", visible(message))]
    Row {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        message: String,
    },
}

/// Bytes that a compressed table of any length may have, unpacked; longer ones may have `MOST_RATIO` times their length.
const ALWAYS_ALLOWED_BYTES: u64 = if cfg!(test) { 1 << 20 } else { 1 << 30 };
const MOST_RATIO: u64 = 250;

/// Ends at a length that tables do not have.
struct Unpacked<R> {
    source: R,
    left: u64,
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(into).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                let problem = "the compressed file is incomplete; copy or download it again";
                io::Error::new(io::ErrorKind::UnexpectedEof, problem)
            }
            _ => error,
        })?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            io::Error::other("unpacked, it is far longer than a table can be; unpack it, and give that file")
        })?;
        Ok(read)
    }
}

/// Opens a regular file for reading. Decompresses gzip and bzip2, which are recognized by their first bytes.
///
/// # Errors
/// The file cannot be opened or read. Reading fails where a compressed file is longer than a table can be.
pub fn open(path: &Path) -> Result<Box<dyn Read>, TableError> {
    let mut file = files::open(path).on("read", path)?;
    let mut magic = Vec::new();
    file.by_ref().take(3).read_to_end(&mut magic).on("read", path)?;
    file.rewind().on("read", path)?;
    let left = file.metadata().on("read", path)?.len().saturating_mul(MOST_RATIO).max(ALWAYS_ALLOWED_BYTES);
    let file = BufReader::with_capacity(1 << 16, file);
    Ok(match magic.as_slice() {
        [0x1f, 0x8b, ..] => Box::new(Unpacked { source: MultiGzDecoder::new(file), left }),
        b"BZh" => Box::new(Unpacked { source: MultiBzDecoder::new(file), left }),
        _ => Box::new(file),
    })
}

/// Limit for the size of a row or header in bytes. 16 values of the greatest length fit; compressed input that expands
/// without limit must not fill memory.
const MAX_ROW_BYTES: u64 = 8 << 20;

/// A comma-separated table with a header, read row by row.
pub struct Table {
    path: PathBuf,
    rows: csv::Reader<CheckedSource>,
    /// Bytes read since the last whole row.
    in_row: Rc<Cell<u64>>,
    /// The offset of the first quoted field that is not closed.
    unclosed: Rc<Cell<Option<u64>>>,
    chunk: Rc<RefCell<Chunk>>,
    header: Vec<String>,
    /// The largest length of the unpacked table.
    most_bytes: u64,
}

/// The bytes that the csv reader got last.
#[derive(Default)]
struct Chunk {
    /// The offset of the first byte in the file.
    start: u64,
    bytes: Vec<u8>,
}

impl Chunk {
    /// Whether the byte before this offset ends a line.
    fn ends_line_before(&self, offset: u64) -> bool {
        let at = offset.checked_sub(self.start + 1).and_then(|at| self.bytes.get(at as usize));
        at == Some(&b'\n')
    }
}

/// Limits the size of a row, and finds quotes that are not closed. The csv reader does not report them: it reads the
/// following rows as part of the field.
struct CheckedSource {
    source: Box<dyn Read>,
    in_row: Rc<Cell<u64>>,
    quotes: Quotes,
    unclosed: Rc<Cell<Option<u64>>>,
    chunk: Rc<RefCell<Chunk>>,
}

impl Read for CheckedSource {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.in_row.get() > MAX_ROW_BYTES {
            let longest =
                format!("a row is longer than {MAX_ROW_BYTES} bytes; check that its quotes are closed");
            return Err(io::Error::other(longest));
        }
        let read = self.source.read(into)?;
        self.in_row.set(self.in_row.get() + read as u64);
        // At the end of the file the last chunk stays: the position of the last row is in it.
        if read > 0 {
            let mut chunk = self.chunk.borrow_mut();
            chunk.start += chunk.bytes.len() as u64;
            chunk.bytes.clear();
            chunk.bytes.extend_from_slice(&into[..read]);
        }
        if self.unclosed.get().is_none() {
            self.unclosed.set(self.quotes.unclosed_in(&into[..read]));
        }
        Ok(read)
    }
}

/// Finds quoted fields in the chunks of a file.
#[derive(Default)]
struct Quotes {
    /// Number of bytes of the earlier chunks, and the last byte.
    before: u64,
    last: Option<u8>,
    /// The offset of the quoted field that has not ended.
    open: Option<u64>,
    /// Whether the last byte of the field was a quote; the next byte decides whether it ends the field.
    ending: bool,
}

impl Quotes {
    /// The offset of a quoted field whose closing quote is missing or not followed by a comma or line break. An empty chunk
    /// stands for the end of the file.
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
                // A quote within an unquoted field has no special meaning.
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
    /// Opens a table and reads its header.
    ///
    /// # Errors
    /// The file cannot be read, or its first line is not a header.
    pub fn open(path: &Path) -> Result<Self, TableError> {
        let (in_row, unclosed) = <(Rc<Cell<u64>>, Rc<Cell<Option<u64>>>)>::default();
        let chunk = Rc::<RefCell<Chunk>>::default();
        let source = CheckedSource {
            source: open(path)?,
            in_row: in_row.clone(),
            quotes: Quotes::default(),
            unclosed: unclosed.clone(),
            chunk: chunk.clone(),
        };
        let mut rows = csv::ReaderBuilder::new().flexible(true).buffer_capacity(1 << 16).from_reader(source);
        let header = rows.headers().map_err(|source| unreadable(path, 1, source))?;
        let header: Vec<_> =
            header.iter().map(|name| name.trim_start_matches('\u{feff}').to_owned()).collect();
        let mut seen = HashSet::new();
        // Spreadsheets write columns without a name.
        let mut named = header.iter().filter(|name| !name.trim().is_empty());
        if let Some(name) = named.find(|name| !seen.insert(known_name(name).unwrap_or(name.trim()))) {
            let name: String = name.chars().take(60).collect();
            let message =
                format!("the header has the column `{name}` twice; remove or rename one of the two");
            return Err(TableError::Row { path: path.to_owned(), line: 1, message });
        }
        let table =
            Self { path: path.to_owned(), rows, in_row, unclosed, chunk, header, most_bytes: u64::MAX };
        table.closed().map_err(|message| TableError::Row { path: path.to_owned(), line: 1, message })?;
        Ok(table)
    }

    /// Opens a table whose rows are all kept, and which therefore has at most 64 MiB.
    ///
    /// # Errors
    /// As of `open`.
    pub fn open_small(path: &Path) -> Result<Self, TableError> {
        Ok(Self { most_bytes: MAX_FILE_BYTES, ..Self::open(path)? })
    }

    /// Checks that every quote in the rows read so far is closed.
    fn closed(&self) -> Result<(), String> {
        if self.unclosed.get().is_some_and(|at| at < self.rows.position().byte()) {
            Err("a quote is not closed, or text follows the closing one, so the rows after it would be lost; \
                 close it before the comma or the line break, and write a quote inside as `\"\"`"
                .to_owned())
        } else {
            Ok(())
        }
    }

    /// The names of the columns.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// The error for a wrong header.
    pub fn wrong_header(&self, expected: impl Into<String>) -> TableError {
        let found = self.header.join(",").chars().take(200).collect();
        TableError::Header { path: self.path.clone(), found, expected: expected.into() }
    }

    /// Calls `each` with every row. Every row has as many columns as the header; its position has its first line.
    ///
    /// # Errors
    /// The file cannot be read, a row has another number of columns, or `each` fails; then its message is reported with file
    /// and line.
    pub fn each_row(
        &mut self,
        mut each: impl FnMut(&csv::StringRecord) -> Result<(), String>,
    ) -> Result<(), TableError> {
        let mut bytes = csv::ByteRecord::new();
        loop {
            self.in_row.set(0);
            let line = self.rows.position().line();
            let more = self.rows.read_byte_record(&mut bytes);
            if !more.map_err(|source| unreadable(&self.path, line, source))? {
                return Ok(());
            }
            let line = self.first_line_of(&bytes);
            let mut position = self.rows.position().clone();
            bytes.set_position(Some(position.set_line(line).clone()));
            let row = csv::StringRecord::from_byte_record(bytes)
                .map_err(|_| TableError::NoText { path: self.path.clone(), line })?;
            if self.rows.position().byte() > self.most_bytes {
                let message = format!(
                    "the table is larger than {} bytes; check that it is the right file",
                    self.most_bytes
                );
                return Err(TableError::Row { path: self.path.clone(), line, message });
            }
            let checked = self.closed().and_then(|()| match (row.len(), self.header.len()) {
                (found, expected) if found == expected => each(&row),
                (found, expected) => {
                    Err(format!("{found} columns, the header has {expected}: {}", self.header.join(",")))
                }
            });
            checked.map_err(|message| TableError::Row { path: self.path.clone(), line, message })?;
            bytes = row.into_byte_record();
        }
    }

    /// The first line of the row that was read last. The position of the csv reader before a row is that of the line
    /// before it if that line ends with CR LF or lines between are empty.
    fn first_line_of(&self, row: &csv::ByteRecord) -> u64 {
        let end = self.rows.position();
        // A field that is never closed contains the last line end.
        let unclosed = self.closed().is_err() && row.as_slice().ends_with(b"\n");
        let ended = u64::from(!unclosed && self.chunk.borrow().ends_line_before(end.byte()));
        let inside = memchr_iter(b'\n', row.as_slice()).count() as u64;
        end.line() - ended - inside
    }
}

/// The error for a table that is not well-formed. `line` is the first line of the row, for causes without a line.
fn unreadable(path: &Path, line: u64, source: csv::Error) -> TableError {
    let line = source.position().map_or(line, csv::Position::line);
    let path = path.to_owned();
    match source.kind() {
        csv::ErrorKind::Utf8 { .. } => TableError::NoText { path, line },
        csv::ErrorKind::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            TableError::Row { path, line, message: error.to_string() }
        }
        _ => TableError::Csv { path, line, source },
    }
}

/// The words of the column `answers`, position 00 first.
pub fn cells(answers: &str, kind: AnswerKind) -> impl Iterator<Item = &str> {
    // One of the two parts is empty, so that both kinds are one type.
    let (letters, words) = match kind {
        AnswerKind::Boolean => (answers, ""),
        AnswerKind::Number | AnswerKind::StateSpace => ("", answers),
    };
    let letters = letters.char_indices().map(|(at, letter)| &answers[at..at + letter.len_utf8()]);
    letters.chain(words.split(' ').filter(|word| !word.is_empty()))
}

/// Checks the column `wrong`: two-digit positions of the examination, separated by spaces.
///
/// # Errors
/// A word is no such position.
pub fn check_wrong(wrong: &str, values: usize) -> Result<(), String> {
    if values == 0 && !wrong.trim_matches(' ').is_empty() {
        return Err("column wrong: the examination has no positions; leave it empty".to_owned());
    }
    let is_number = |word: &str| word.len() == 2 && word.bytes().all(|byte| byte.is_ascii_digit());
    let fits = |word: &str| is_number(word) && word.parse::<usize>().is_ok_and(|position| position < values);
    match wrong.split(' ').find(|word| !word.is_empty() && !fits(word)) {
        None => Ok(()),
        Some(word) => Err(format!(
            "column wrong: `{word}` is not a position; list the positions of wrong answers, from 00 to {:02}, such as `00 03`, or leave \
                 it empty if there is none",
            values - 1
        )),
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

    #[test]
    fn a_compressed_table_that_is_far_longer_unpacked_is_not_read_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answers.csv.gz");
        let read = |packed: &[u8]| {
            std::fs::write(&path, packed).unwrap();
            io::copy(&mut open(&path).unwrap(), &mut io::sink())
        };
        let gzip = |text: &[u8]| {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            io::Write::write_all(&mut packer, text).unwrap();
            packer.finish().unwrap()
        };
        let bzip2 = |text: &[u8]| {
            let mut packer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
            io::Write::write_all(&mut packer, text).unwrap();
            packer.finish().unwrap()
        };
        let most = ALWAYS_ALLOWED_BYTES as usize;
        let (allowed, long) = (vec![b'a'; most], vec![b'a'; 3 * most]);
        // Packed to some hundredths, as tables are, a longer text is read too.
        let numbers: String = (0..most).map(|number| format!("{number}\n")).collect();
        for pack in [&gzip as &dyn Fn(&[u8]) -> Vec<u8>, &bzip2] {
            assert_eq!(read(&pack(&allowed)).unwrap(), ALWAYS_ALLOWED_BYTES);
            assert_eq!(read(&pack(numbers.as_bytes())).unwrap(), numbers.len() as u64);
            let error = read(&pack(&long)).unwrap_err().to_string();
            assert!(error.contains("far longer than a table can be"), "{error}");
            let packed = pack(numbers.as_bytes());
            std::fs::write(&path, &packed[..packed.len() / 2]).unwrap();
            let error = Table::open(&path).and_then(|mut table| table.each_row(|_| Ok(()))).unwrap_err();
            let expected = ": the compressed file is incomplete; copy or download it again";
            assert!(error.to_string().ends_with(expected), "{error}");
        }
    }

    /// The offset of the first quote that is not closed; checks that it does not depend on the size of the chunks.
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

    #[test]
    fn a_repeated_column_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        for (header, column) in
            [("tool,answers,\u{feff}tool", "tool"), ("tool,results,# Results", "# Results")]
        {
            std::fs::write(file.path(), format!("{header}\na,T,b\n")).unwrap();
            let error = Table::open(file.path()).map(drop).unwrap_err().to_string();
            let expected =
                format!(":1: the header has the column `{column}` twice; remove or rename one of the two");
            assert!(error.ends_with(&expected), "{error}");
        }
    }

    #[test]
    fn a_line_feed_in_a_field_does_not_begin_a_line_of_the_message() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "tool,\"a\nverify: all is right\"\n\"x\ny\",z\n").unwrap();
        let mut table = Table::open(file.path()).unwrap();
        let header = table.wrong_header("other columns").to_string();
        assert!(header.contains("`tool,a⟨LF⟩verify: all is right`"), "{header}");
        let row = table.each_row(|row| Err(format!("column tool: `{}`", &row[0]))).unwrap_err().to_string();
        assert!(row.ends_with(":3: column tool: `x⟨LF⟩y`"), "{row}");
    }

    #[test]
    fn a_row_has_its_first_line_for_every_kind_of_line_end() {
        let rows = ["a,b", "c,d", "", "\"e\n2\",f", "g,h", "i,j"];
        for end in ["\n", "\r\n"] {
            for last in ["", end] {
                let file = tempfile::NamedTempFile::new().unwrap();
                std::fs::write(file.path(), rows.join(end) + last).unwrap();
                let mut lines = vec![];
                let read = Table::open(file.path()).unwrap().each_row(|row| {
                    lines.push((row[0].to_owned(), row.position().unwrap().line()));
                    if &row[0] == "i" { Err("bad".to_owned()) } else { Ok(()) }
                });
                let lines: Vec<_> = lines.iter().map(|(name, line)| (name.as_str(), *line)).collect();
                assert_eq!(lines, [("c", 2), ("e\n2", 4), ("g", 6), ("i", 7)], "{end:?}");
                assert!(read.unwrap_err().to_string().ends_with(":7: bad"));
                std::fs::write(file.path(), [b"a,b".as_slice(), b"c,d", b"\xff,x"].join(end.as_bytes()))
                    .unwrap();
                let read = Table::open(file.path()).unwrap().each_row(|_| Ok(()));
                let error = read.unwrap_err().to_string();
                assert!(error.contains(":3: not text in UTF-8; "), "{error}");
            }
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
        assert_eq!(check_wrong(" ", 0), Ok(()));
        assert!(check_wrong("00", 0).unwrap_err().contains("no positions"));
        assert!(check_wrong("16", 16).unwrap_err().contains("00 to 15"));
        assert!(check_wrong("0", 1).unwrap_err().contains("`0`"));
        assert!(check_wrong("+1", 16).unwrap_err().contains("`+1`"));
    }
}
