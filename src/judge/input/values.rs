//! Values of cells, digests of files and errors, shared by the readers of tables.

use super::run_results::{FALSE, NONE, NOT_KEPT, RunResults, TRUE};
use crate::judgement::{Cost, InputDigest, MAX_ENTRIES};
use mcc_base::OnFile;
use mcc_base::figures::{self, MAX_BYTES};
use mcc_campaign::benchkit::published::TableError;
use mcc_campaign::benchkit::{MAX_BOUND_DIGITS, Value};
use mcc_edition::{AnswerKind, fraction};
use num_rational::BigRational;
use num_traits::Signed;
use std::path::Path;

/// Why a table cannot be used for judging.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The table cannot be read, or a row is wrong.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A models file does not list an instance that has answers.
    #[error("{path} has no row for instance {instance}, which has answers; add it (instance,family,status)")]
    InstanceMissing {
        /// The models file.
        path: std::path::PathBuf,
        /// Name of the instance.
        instance: String,
    },
    /// A table of answers has a header only.
    #[error("{path}:1: no row follows the header; a table without answers cannot be judged")]
    Empty {
        /// The table.
        path: std::path::PathBuf,
    },
    /// A table of certified values has no row of an instance that has answers.
    #[error(
        "{path} certifies no instance that has answers here; give the folder that `certify` wrote for this contest"
    )]
    NotCertified {
        /// The table.
        path: std::path::PathBuf,
    },
    /// A table of names does not fit the results.
    #[error("{path}: {message}")]
    NameTable {
        /// The table.
        path: std::path::PathBuf,
        /// What does not fit, and the remedy.
        message: String,
    },
}

/// Returns the name and digest of a judged file. The name has no folder, so that the same input gives the same
/// judgement in any place.
pub fn digest(path: &Path) -> Result<InputDigest, TableError> {
    let (sha256, _) = mcc_base::digest::file(path).on("read", path)?;
    let name = path.file_name().unwrap_or(path.as_os_str());
    Ok(InputDigest { file: name.to_string_lossy().into_owned(), sha256 })
}

/// Reads a number of a column; None for a word of `missing`. `allowed` are examples for the error.
///
/// # Errors The text is not a number, or the number is beyond 2^50: it is neither a score nor a measurement, and pictures
/// could not show it.
pub fn optional_number(
    column: &str,
    text: &str,
    missing: &[&str],
    allowed: &str,
) -> Result<Option<BigRational>, String> {
    let text = text.trim_ascii();
    if missing.contains(&text) {
        return Ok(None);
    }
    match fraction::parse(text) {
        None => {
            let shown: String = text.chars().take(60).collect();
            Err(format!("column {column}: `{shown}` is not a number; write a number such as {allowed}"))
        }
        Some(number) if number.abs() > BigRational::from_integer(MAX_BYTES.into()) => {
            Err(format!("column {column}: the number is larger than {MAX_BYTES}; correct it"))
        }
        number => Ok(number),
    }
}

/// Reads a position of an examination with this number of values: one or two digits.
pub(crate) fn position_of(text: &str, examination: &str, values: usize) -> Result<usize, String> {
    if values == 0 {
        return Err(format!(
            "column position: {examination} has no positions and is not judged; remove the row"
        ));
    }
    let is_number = text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    let position = text.parse().ok().filter(|position| is_number && *position < values);
    position.ok_or_else(|| {
        let text: String = text.chars().take(60).collect();
        format!("column position: `{text}`; {examination} has 00 to {:02}", values - 1)
    })
}

/// Whether a text is a number with zeros before it.
pub(crate) fn is_padded(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the cost of a run in the contest's table; None if one of the times is not given.
///
/// # Errors
/// A value is not a possible measurement.
pub(crate) fn cost(
    cpu_ms: Option<u64>,
    wall_ms: Option<u64>,
    memory_kib: Option<u64>,
) -> Result<Option<Cost>, String> {
    figures::check_ms([("column CPU (ms)", cpu_ms), ("column Time (ms)", wall_ms)])
        .and_then(|()| figures::check_kib([("column max memory (MB), in KiB", memory_kib)]))
        .map_err(|bad| bad.to_string())?;
    Ok(cpu_ms.zip(wall_ms).map(|(cpu_ms, wall_ms)| Cost { cpu_ms, wall_ms, memory_kib, ..Cost::default() }))
}

/// Refuses more than `MAX_ENTRIES` entries.
pub(crate) fn check_entry_count(results: &RunResults) -> Result<(), String> {
    if results.entries.names.len() > MAX_ENTRIES {
        Err(format!("more than {MAX_ENTRIES} tools; check the column tool"))
    } else {
        Ok(())
    }
}

/// Returns the number of the value in a cell. A negative number means "not given", as `?` does. Errors name `column`.
pub(crate) fn value_number(
    results: &mut RunResults,
    cell: &str,
    kind: AnswerKind,
    column: &str,
) -> Result<u32, String> {
    let wrong = |expected: &str| {
        let shown: String = cell.chars().take(60).collect();
        format!("column {column}: `{shown}` is not an answer; expected {expected}")
    };
    let boolean = kind == AnswerKind::Boolean;
    // As in the answer protocol: no bound, and a count that overflowed.
    let cell = match (kind, cell) {
        (AnswerKind::Number, "+inf") => "inf",
        (AnswerKind::StateSpace, "+inf") => "Inf",
        _ => cell,
    };
    match cell {
        "?" => return Ok(NONE),
        "T" if boolean => return Ok(TRUE),
        "F" if boolean => return Ok(FALSE),
        _ => {}
    }
    let expected = if boolean { "T, F or ?" } else { "a number, d.ddddE+dddd, inf, +inf, Inf, X or ?" };
    if !boolean
        && cell
            .strip_prefix('-')
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|c| c.is_ascii_digit()))
    {
        return Ok(NONE);
    }
    if kind == AnswerKind::Number && cell.len() > MAX_BOUND_DIGITS {
        return Err(wrong(&format!("{expected}; a number has at most {MAX_BOUND_DIGITS} digits")));
    }
    let number = results.values.number_of_text(cell).ok_or_else(|| wrong(expected))?;
    let is_boolean = matches!(results.values.get(number), Some(Value::True | Value::False));
    if is_boolean != boolean || (number == NOT_KEPT && boolean) { Err(wrong(expected)) } else { Ok(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_have_at_most_two_digits_and_numbers_no_zeros_before_them() {
        assert_eq!(["07", "7"].map(|text| position_of(text, "StateSpace", 16)), [Ok(7), Ok(7)]);
        for bad in ["+0", "007", " 07", "16", ""] {
            let error = position_of(bad, "StateSpace", 16).unwrap_err();
            assert_eq!(error, format!("column position: `{bad}`; StateSpace has 00 to 15"));
        }
        assert!(position_of("00", "UpperBoundsAll", 0).unwrap_err().contains("has no positions"));
        assert!(["082", "00"].into_iter().all(is_padded));
        assert!(!["82", "0", "inf", "T", ""].into_iter().any(is_padded));
    }

    #[test]
    fn a_bound_of_more_than_1000_digits_is_refused_and_a_count_is_read() {
        let mut results = RunResults::default();
        let mut read = |digits: usize, kind| {
            value_number(&mut results, &"7".repeat(digits), kind, "answers").map(|number| number != NONE)
        };
        assert_eq!(read(1000, AnswerKind::Number), Ok(true));
        assert!(read(1001, AnswerKind::Number).unwrap_err().contains("has at most 1000 digits"));
        assert_eq!(read(1001, AnswerKind::StateSpace), Ok(true));
    }
}
