//! Reads the values that the organizers set, each with its reason (E-3.1).
//!
//! An override decides the trusted value. It changes no vote, and so no confidence.

use super::run_results::{NONE, NOT_KEPT, Override, RunResults};
use super::values::{SourceError, digest, is_padded, position_of, value_number};
use crate::table_words::OVERRIDES_HEADER;
use mcc_base::text::check_lines;
use mcc_campaign::benchkit::published::Table;
use mcc_edition::{AnswerKind, Edition};
use std::collections::BTreeSet;
use std::path::Path;

/// The word in the column `value` that sets a trusted value to unknown, so that no entry gets points.
const UNKNOWN: &str = "unknown";

/// Reads overrides from a table with the columns instance,examination,position,value,reason. The value `unknown` gives
/// 0 points to every entry. `TRUE` and `FALSE` are read as `T` and `F`.
///
/// # Errors
/// The table cannot be read, or a row is wrong; the message has file, line and column.
pub fn read_overrides(edition: &Edition, results: &mut RunResults, path: &Path) -> Result<(), SourceError> {
    let mut table = Table::open(path)?;
    if table.header() != OVERRIDES_HEADER {
        return Err(table.wrong_header(OVERRIDES_HEADER.join(",")).into());
    }
    let judged: BTreeSet<String> = results.instance_names().map(str::to_owned).collect();
    let mut seen = BTreeSet::new();
    let mut overrides = Vec::new();
    table.each_row(|row| {
        let (instance, position, value, reason) = (&row[0], &row[2], &row[3], row[4].trim());
        let examination = results.examination(&row[1]).map_err(|error| error.to_string())?;
        let (name, values) = results.examinations[examination].clone();
        if !judged.contains(instance) {
            return Err(format!("column instance: `{instance}` has no answers; check its name"));
        }
        let position = position_of(position, &name, values)?;
        if reason.is_empty() {
            return Err("column reason is empty; give the reason of the override".to_owned());
        }
        check_lines(reason).map_err(|problem| format!("column reason {problem}"))?;
        // The words of the answer protocol (E-1.7) have the same meaning as those of the tables.
        let value = match (value, edition.examinations[examination].answers) {
            ("TRUE", AnswerKind::Boolean) => "T",
            ("FALSE", AnswerKind::Boolean) => "F",
            (value, _) => value,
        };
        let number = match value {
            UNKNOWN => NONE,
            _ => match value_number(results, value, edition.examinations[examination].answers, "value") {
                Ok(number) if number != NONE && number != NOT_KEPT && !is_padded(value) => number,
                _ => {
                    let shown: String = value.chars().take(60).collect();
                    let allowed = match edition.examinations[examination].answers {
                        AnswerKind::Boolean => "T, F, TRUE, FALSE",
                        AnswerKind::Number => "a number, inf",
                        AnswerKind::StateSpace => "a number",
                    };
                    return Err(format!("column value: `{shown}`; allowed are {allowed} and {UNKNOWN}"));
                }
            },
        };
        if !seen.insert((instance.to_owned(), examination, position)) {
            return Err(format!("{instance} {name} {position:02} is overridden twice; keep one of the rows"));
        }
        overrides.push(Override {
            examination,
            instance: instance.to_owned(),
            position,
            value: number,
            reason: reason.to_owned(),
        });
        Ok::<(), String>(())
    })?;
    results.overrides = overrides;
    results.inputs.push(digest(path)?);
    Ok(())
}
