//! What readers of tables share: the values of cells, digests of files, errors.

use super::ballots::{Ballots, FALSE, NONE, NOT_KEPT, TRUE};
use crate::judgement::InputDigest;
use mcc_benchkit::Value;
use mcc_benchkit::published::TableError;
use mcc_edition::AnswerKind;
use std::path::Path;

#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    #[error(transparent)]
    Table(#[from] TableError),
    #[error("{path} has no row for instance {instance}, which has answers; add it (instance,family,status)")]
    InstanceMissing { path: std::path::PathBuf, instance: String },
    #[error("{path}:1: no row follows the header; a table without answers cannot be judged")]
    Empty { path: std::path::PathBuf },
    #[error("{path}: {message}")]
    NameTable { path: std::path::PathBuf, message: String },
}

/// Name and digest of a file that was judged; the name without its folder, so that the same input gives the same
/// judgement anywhere.
pub fn digest(path: &Path) -> Result<InputDigest, TableError> {
    let digest = mcc_base::digest::file(path);
    let (sha256, _) = digest.map_err(|source| TableError::Read { path: path.to_owned(), source })?;
    let name = path.file_name().unwrap_or(path.as_os_str());
    Ok(InputDigest { file: name.to_string_lossy().into_owned(), sha256 })
}

/// A contest has dozens; more are a wrong column, and comparing everybody with everybody would never end.
const MOST_ENTRIES: usize = 1000;

pub(crate) fn check_entry_count(ballots: &Ballots) -> Result<(), String> {
    match ballots.entries.names.len() > MOST_ENTRIES {
        true => Err(format!("more than {MOST_ENTRIES} tools; check the column tool")),
        false => Ok(()),
    }
}

/// The number of a cell's value; a negative number is "not given" like `?`. `column` is named in errors.
pub(crate) fn value_number(
    ballots: &mut Ballots,
    cell: &str,
    kind: AnswerKind,
    column: &str,
) -> Result<u32, String> {
    let wrong = |expected: &str| {
        let shown: String = cell.chars().take(60).collect();
        format!("column {column}: `{shown}` is no answer; expected {expected}")
    };
    if cell == "?" {
        return Ok(NONE);
    }
    let boolean = kind == AnswerKind::Boolean;
    match cell {
        "T" if boolean => return Ok(TRUE),
        "F" if boolean => return Ok(FALSE),
        _ => {}
    }
    let expected = if boolean { "T, F or ?" } else { "a number, d.ddddE+dddd, inf, Inf, X or ?" };
    if !boolean
        && cell
            .strip_prefix('-')
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|c| c.is_ascii_digit()))
    {
        return Ok(NONE);
    }
    let number = ballots.values.number_of_text(cell).ok_or_else(|| wrong(expected))?;
    let is_boolean = matches!(ballots.values.get(number), Some(Value::True | Value::False));
    if is_boolean != boolean || (number == NOT_KEPT && boolean) { Err(wrong(expected)) } else { Ok(number) }
}
