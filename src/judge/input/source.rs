//! Filling ballots from files: a published table of answers, a models file, a tools file.

use super::ballots::{Ballots, EntryFacts, FALSE, InstanceFacts, NONE, RunRow, TRUE};
use super::contest_table::{self, Columns};
pub use super::values::SourceError;
use super::values::{check_entry_count, digest, value_number};
use crate::judgement::Ending;
use mcc_benchkit::contest_table::{HEADER, column};
use mcc_benchkit::published::{COMPACT_HEADER, Table, TableError, cells, check_wrong};
use mcc_edition::{AnswerKind, Edition, Status};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// Reads a table of answers; which one it is, its header says.
pub fn read_answers(edition: &Edition, path: &Path) -> Result<Ballots, SourceError> {
    let mut table = Table::open(path)?;
    let mut ballots = Ballots::new(edition);
    let mut rows = Vec::new();
    if table.header() == COMPACT_HEADER {
        read_compact(edition, &mut table, &mut ballots, &mut rows)?;
    } else if let Some(columns) = Columns::find(table.header()) {
        contest_table::read(edition, &columns, &mut table, &mut ballots, &mut rows)?;
    } else {
        return Err(table.wrong_header(expected_header(table.header())).into());
    }
    if rows.is_empty() {
        return Err(SourceError::Empty { path: path.to_owned() });
    }
    check_repeated_rows(&ballots, path, &rows)?;
    ballots.inputs.push(digest(path)?);
    Ok(ballots)
}

/// What a table without answers should have been.
fn expected_header(header: &[String]) -> String {
    let summary =
        ["tool", "Input", "Examination", "Status"].iter().all(|name| column(header, name).is_some());
    if summary {
        return "a column results: a summary of BenchKit has no answers; `import` reads it with the outputs beside it"
            .to_owned();
    }
    format!("a table of answers ({}) or the contest's ({})", COMPACT_HEADER.join(","), HEADER.join(","))
}

/// `lines` gets the line of every row.
fn read_compact(
    edition: &Edition,
    table: &mut Table,
    ballots: &mut Ballots,
    lines: &mut Vec<u64>,
) -> Result<(), TableError> {
    let mut values: Vec<u32> = Vec::new();
    table.each_row(|row| {
        let (entry, instance, name) = (row[0].trim(), row[1].trim(), &row[2]);
        if entry.is_empty() || instance.is_empty() {
            return Err("tool and instance must not be empty".to_owned());
        }
        let number = ballots.examination(name).map_err(|error| error.to_string())?;
        let examination = &edition.examinations[number];
        values.clear();
        let kind = examination.answers;
        // Nearly all of a table: letters, each a value.
        if kind == AnswerKind::Boolean {
            values.extend(row[3].bytes().map_while(letter));
        }
        if kind != AnswerKind::Boolean || values.len() < row[3].len() {
            values.clear();
            for cell in cells(&row[3], kind) {
                values.push(value_number(ballots, cell, kind, "answers")?);
            }
        }
        if values.len() != examination.values {
            return Err(format!("{} answers, {name} has {} positions", values.len(), examination.values));
        }
        check_wrong(&row[4], examination.values)?;
        ballots.add_row(entry, instance, number, Ending::NotStated, &values);
        check_entry_count(ballots)?;
        lines.push(row.position().map_or(0, csv::Position::line));
        Ok(())
    })
}

/// The number of a Boolean answer of the compact table; None for what is no such letter.
fn letter(letter: u8) -> Option<u32> {
    match letter {
        b'T' => Some(TRUE),
        b'F' => Some(FALSE),
        b'?' => Some(NONE),
        _ => None,
    }
}

/// `lines` by row: where it stands.
fn check_repeated_rows(ballots: &Ballots, path: &Path, lines: &[u64]) -> Result<(), TableError> {
    // There are no more entries than `MOST_ENTRIES`.
    let key_of = |row: &RunRow| {
        u64::from(row.examination) << 48 | u64::from(row.instance) << 16 | u64::from(row.entry as u16)
    };
    let mut keys: Vec<u64> = ballots.rows.iter().map(key_of).collect();
    keys.sort_unstable();
    if keys.windows(2).all(|pair| pair[0] != pair[1]) {
        return Ok(());
    }
    // Rare: only now it matters where they stand.
    let mut order: Vec<u32> = (0..ballots.rows.len() as u32).collect();
    let key = |row: &u32| key_of(&ballots.rows[*row as usize]);
    order.sort_by_key(key);
    match order.windows(2).find(|pair| key(&pair[0]) == key(&pair[1])) {
        None => Ok(()),
        Some(pair) => Err(TableError::Row {
            path: path.to_owned(),
            line: lines[pair[1] as usize],
            message: format!(
                "the same tool, instance and examination as in line {}; keep the one that counts",
                lines[pair[0] as usize]
            ),
        }),
    }
}

/// Reads a models file: columns instance, family, status in any order among others.
///
/// Every instance that has ballots must be in it; others are ignored.
pub fn read_models(edition: &Edition, ballots: &mut Ballots, path: &Path) -> Result<(), SourceError> {
    let mut table = Table::open(path)?;
    let column = |name: &str| table.header().iter().position(|known| known == name);
    let (Some(instance), Some(family), Some(status)) =
        (column("instance"), column("family"), column("status"))
    else {
        return Err(table.wrong_header("the columns instance, family and status among others").into());
    };
    let mut seen = BTreeSet::new();
    table.each_row(|row| {
        let (instance, family, status) = (&row[instance], &row[family], &row[status]);
        if instance.is_empty() || family.is_empty() {
            return Err("instance and family must not be empty".to_owned());
        }
        if !edition.judging.multipliers.contains_key(status) {
            let known: Vec<&str> = edition.judging.multipliers.keys().map(String::as_str).collect();
            return Err(format!(
                "column status: `{status}`; edition {} knows {}",
                edition.name,
                known.join(", ")
            ));
        }
        if !seen.insert(instance.to_owned()) {
            return Err(format!("instance {instance} is there twice"));
        }
        let facts = InstanceFacts { family: family.to_owned(), status: status.to_owned() };
        ballots.describe_instance(instance, facts);
        Ok(())
    })?;
    if let Some(missing) = ballots.instance_names().filter(|name| !seen.contains(*name)).min() {
        return Err(SourceError::InstanceMissing { path: path.to_owned(), instance: missing.to_owned() });
    }
    ballots.inputs.push(digest(path)?);
    Ok(())
}

/// Reads a tools file: `entry,tool,status`, or with a fourth column `note`, which a withdrawal needs (P-3).
///
/// An entry that is not in it is described by the edition. Returns the withdrawn ones that have no answers.
pub fn read_tools(ballots: &mut Ballots, path: &Path) -> Result<Vec<String>, SourceError> {
    const HEADER: [&str; 4] = ["entry", "tool", "status", "note"];
    let mut table = Table::open(path)?;
    if table.header() != &HEADER[..3] && table.header() != HEADER {
        return Err(table.wrong_header("entry,tool,status or entry,tool,status,note").into());
    }
    let known: BTreeSet<String> = ballots.entry_names().map(str::to_owned).collect();
    let (mut seen, mut without_answers) = (BTreeSet::new(), Vec::new());
    table.each_row(|row| {
        let (entry, tool, note) = (&row[0], &row[1], row.get(3).unwrap_or_default());
        let Some(status) = Status::ALL.into_iter().find(|status| status.word() == &row[2]) else {
            let words: Vec<&str> = Status::ALL.iter().map(|status| status.word()).collect();
            return Err(format!("column status: `{}`; allowed are {}", &row[2], words.join(", ")));
        };
        if entry.is_empty() || tool.is_empty() {
            return Err("entry and tool must not be empty".to_owned());
        }
        if status == Status::Withdrawn && note.trim().is_empty() {
            return Err(format!("{entry} is withdrawn: column note must say by which rule and why (P-3)"));
        }
        if !seen.insert(entry.to_owned()) {
            return Err(format!("entry {entry} is there twice"));
        }
        // The table need not have the runs of a withdrawn entry; it is named all the same.
        if status == Status::Withdrawn {
            if !known.contains(entry) {
                without_answers.push(entry.to_owned());
            }
            ballots.entries.number(entry);
        } else if !known.contains(entry) {
            let known = known.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            return Err(format!("entry {entry} has no answers; entries are {known}"));
        }
        ballots.describe_entry(entry, EntryFacts { tool: tool.to_owned(), status, note: note.to_owned() });
        Ok(())
    })?;
    ballots.inputs.push(digest(path)?);
    Ok(without_answers)
}

/// The header of a file of names.
pub const NAMES_HEADER: [&str; 4] = ["instance", "kind", "original", "obfuscated"];

/// Reads what `image inputs --obfuscate` wrote, and gives instances and property ids their own names back.
pub fn read_names(ballots: &mut Ballots, path: &Path) -> Result<(), SourceError> {
    let mut table = Table::open(path)?;
    if table.header() != NAMES_HEADER {
        return Err(table.wrong_header(NAMES_HEADER.join(",")).into());
    }
    let (mut instances, mut ids) = (HashMap::new(), HashMap::new());
    table.each_row(|row| {
        let names = match &row[1] {
            "instance" => &mut instances,
            "property" => &mut ids,
            _ => return Ok(()),
        };
        // A property called by its examination's name keeps it, in every instance.
        match names.insert(row[3].to_owned(), row[2].to_owned()) {
            Some(other) if other != row[2] => {
                Err(format!("{} is the name of two, {other} and {}", &row[3], &row[2]))
            }
            _ => Ok(()),
        }
    })?;
    let wrong = |message| SourceError::NameTable { path: path.to_owned(), message };
    ballots.rename(&instances, &ids).map_err(wrong)?;
    ballots.inputs.push(digest(path)?);
    Ok(())
}
