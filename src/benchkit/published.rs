//! The compact table of a contest's published answers: `tool,instance,examination,answers,wrong`, plain or gzip.
//!
//! `answers` holds position 00 first: letters `T`, `F`, `?` without blanks for Boolean examinations, else values
//! separated by single spaces. `wrong` names the positions the contest judged wrong; judging anew doesn't need it.

use crate::edition::AnswerKind;
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};

/// The header by which the table is known.
pub const COMPACT_HEADER: [&str; 5] = ["tool", "instance", "examination", "answers", "wrong"];

#[derive(Debug, thiserror::Error)]
pub enum TableError {
    #[error("cannot read {path}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("cannot read {path} as a table")]
    Csv { path: PathBuf, source: csv::Error },
    #[error("{path}:1: header `{found}`: expected {expected}")]
    Header { path: PathBuf, found: String, expected: String },
    #[error("{path}:{line}: {message}")]
    Row { path: PathBuf, line: u64, message: String },
}

/// Opens a file for reading, unpacking gzip, which is known by its first bytes.
pub fn open(path: &Path) -> Result<Box<dyn Read>, TableError> {
    let read = |source| TableError::Read { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(read)?;
    let mut magic = Vec::new();
    file.by_ref().take(2).read_to_end(&mut magic).map_err(read)?;
    file.rewind().map_err(read)?;
    let file = BufReader::with_capacity(1 << 16, file);
    Ok(if magic == [0x1f, 0x8b] { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) })
}

/// A comma-separated table with a header, read row by row.
pub struct Table {
    path: PathBuf,
    rows: csv::Reader<Box<dyn Read>>,
    header: Vec<String>,
}

impl Table {
    pub fn open(path: &Path) -> Result<Self, TableError> {
        let mut rows = csv::ReaderBuilder::new().has_headers(true).flexible(true).from_reader(open(path)?);
        let csv = |source| TableError::Csv { path: path.to_owned(), source };
        let header = rows.headers().map_err(csv)?;
        let header = header.iter().map(|name| name.trim_start_matches('\u{feff}').to_owned()).collect();
        Ok(Self { path: path.to_owned(), rows, header })
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
            let more = self.rows.read_record(&mut row);
            if !more.map_err(|source| TableError::Csv { path: self.path.clone(), source })? {
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
