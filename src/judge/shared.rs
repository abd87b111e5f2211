//! What the judgements of all contests have in common: exact points, comparison, files, explanations. Only the crate for
//! SV-COMP and CRV (`src/other_contests`) needs it besides this one.

pub use crate::compare::sides::{
    BlockView, ComparedAnswer, JudgementSide, KnownValue, Podiums, RunView, Scores,
};
pub use crate::compare::{BlockName, ComparedPlace, EndingOrVerdict};
pub use crate::input::values::{digest, optional_number};
pub use crate::output::atomic_file::{AtomicFile, field, replace, table_files};
pub use crate::run_verdict::{Points, RunVerdict};

use crate::explain::ExplainError;
use crate::show::first_rows;
use mcc_base::suggest::hint;
use std::fmt;

/// The index of `name` in `known`; the error suggests similar names.
pub fn find<'k>(
    what: &'static str,
    name: &str,
    known: impl ExactSizeIterator<Item = &'k String> + Clone,
) -> Result<usize, ExplainError> {
    known
        .clone()
        .position(|known| known == name)
        .ok_or_else(|| unknown(what, name, &known.map(String::as_str).collect::<Vec<_>>()))
}

/// Number of known names of which an error shows all.
const ALL_SHOWN: usize = 9;

/// The error that `name` is none of `known`. It suggests similar names.
pub(crate) fn unknown(what: &'static str, name: &str, known: &[&str]) -> ExplainError {
    let close = |known: &&str| known.to_lowercase().contains(&name.to_lowercase());
    let mut near: Vec<&str> = known.iter().copied().filter(close).take(5).collect();
    if near.is_empty() || known.len() <= ALL_SHOWN {
        near = known.iter().copied().take(ALL_SHOWN).collect();
    }
    let names = near.join(", ");
    let listed = match known.len() {
        0 => "there is none".to_owned(),
        1 => format!("there is 1: {names}"),
        count if count == near.len() => format!("there are {count}: {names}"),
        count => format!("there are {count}, such as {names}"),
    };
    // The most similar name may be another than those that contain the given one.
    let hint = listed + &hint(name, known.iter().copied());
    ExplainError::Unknown { what, name: name.to_owned(), hint }
}

/// Number of lines shown of each list; `--format json` has all.
const SHOWN: usize = 3;

/// Writes the title and the first items of a list; nothing if the list is empty.
pub fn list<T>(
    out: &mut fmt::Formatter<'_>,
    title: &str,
    items: &[T],
    row: impl Fn(&T) -> Vec<String>,
) -> fmt::Result {
    if items.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title}:")?;
    let rows: Vec<Vec<String>> = items.iter().take(SHOWN).map(row).collect();
    first_rows(out, &rows, &[], items.len())
}

/// Returns the name of a variant: the name of the entry without that of its tool, `L` for `ITS-Tools.L`. Empty for an
/// entry with the name of its tool.
pub fn variant_of<'a>(entry: &'a str, tool: &str) -> &'a str {
    let added = entry.strip_prefix(tool).unwrap_or(entry);
    added.trim_start_matches(['.', '-', '_', '+'])
}
