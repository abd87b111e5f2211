//! Values that the organizers set themselves, each with its reason (RULES, Trusted value).
//!
//! An override decides what is right; it changes no vote, so confidences stay what the tools' agreement makes them.

use super::ballots::{Ballots, NONE, NOT_KEPT, Override};
use super::values::{SourceError, digest, value_number};
use crate::table_words::OVERRIDES_HEADER;
use mcc_benchkit::published::{Table, TableError};
use mcc_edition::{AnswerKind, Edition};
use std::collections::BTreeSet;
use std::path::Path;

/// What `value` says where nobody is to get points.
const UNKNOWN: &str = "unknown";

/// Reads overrides: columns instance,examination,position,value,reason; value `unknown` = 0 points for everybody.
pub fn read_overrides(edition: &Edition, ballots: &mut Ballots, path: &Path) -> Result<(), SourceError> {
    let mut table = Table::open(path)?;
    if table.header() != OVERRIDES_HEADER {
        return Err(table.wrong_header(OVERRIDES_HEADER.join(",")).into());
    }
    let judged: BTreeSet<String> = ballots.instance_names().map(str::to_owned).collect();
    let mut seen = BTreeSet::new();
    let mut overrides = Vec::new();
    table.each_row(|row| {
        let (instance, position, value, reason) = (&row[0], &row[2], &row[3], row[4].trim());
        let examination = ballots.examination(&row[1]).map_err(|error| error.to_string())?;
        let (name, values) = ballots.examinations[examination].clone();
        if !judged.contains(instance) {
            return Err(format!("column instance: `{instance}` has no answers; check its name"));
        }
        let Some(position) = position.parse().ok().filter(|position: &usize| *position < values) else {
            return Err(format!("column position: `{position}`; {name} has 00 to {:02}", values - 1));
        };
        if reason.is_empty() {
            return Err("column reason is empty: an override must say why".to_owned());
        }
        let number = match value {
            UNKNOWN => NONE,
            _ => match value_number(ballots, value, edition.examinations[examination].answers, "value") {
                Ok(number) if number != NONE && number != NOT_KEPT => number,
                _ => {
                    let shown: String = value.chars().take(60).collect();
                    let allowed = match edition.examinations[examination].answers {
                        AnswerKind::Boolean => "T, F",
                        AnswerKind::Number => "a number, inf",
                        AnswerKind::StateSpace => "a number",
                    };
                    return Err(format!("column value: `{shown}`; allowed are {allowed} and {UNKNOWN}"));
                }
            },
        };
        if !seen.insert((instance.to_owned(), examination, position)) {
            return Err(format!("{instance} {name} {position:02} is overridden twice; keep one"));
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
    ballots.overrides = overrides;
    let read: Result<_, TableError> = digest(path);
    ballots.inputs.push(read?);
    Ok(())
}
