//! Reads results from a published table of answers, and facts of entries and instances from tools and models files.

use super::contest_table::{self, Columns};
use super::run_results::{FALSE, InstanceFacts, NONE, NOT_KEPT, RunResults, RunRow, TRUE};
pub use super::values::SourceError;
use super::values::{check_entry_count, digest, value_number};
use crate::judgement::{Ending, Entry, InputDigest};
use csv::StringRecord;
use mcc_base::names::check_name;
use mcc_base::text::check_lines;
use mcc_campaign::benchkit::contest_table::{HEADER, column};
use mcc_campaign::benchkit::published::{COMPACT_HEADER, Table, TableError, cells, check_wrong};
use mcc_edition::{AnswerKind, Edition, NotKept, Status};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// Reads a table of answers: the compact one or the contest's, by its header.
///
/// # Errors
/// The table cannot be read, has another header or no row, or a row is wrong; the message has file, line and column.
pub fn read_answers(edition: &Edition, path: &Path) -> Result<RunResults, SourceError> {
    let mut table = Table::open(path)?;
    let mut results = RunResults::new(edition);
    let mut rows = Vec::new();
    if table.header() == COMPACT_HEADER {
        read_compact(edition, &mut table, &mut results, &mut rows)?;
    } else if let Some(columns) = Columns::find(table.header()) {
        contest_table::read(edition, &columns, &mut table, &mut results, &mut rows)?;
    } else {
        return Err(table.wrong_header(expected_header(table.header())).into());
    }
    if rows.is_empty() {
        return Err(SourceError::Empty { path: path.to_owned() });
    }
    check_repeated_rows(&results, path, &rows)?;
    results.inputs.push(digest(path)?);
    Ok(results)
}

/// The expected header, for the error on a table with another one.
fn expected_header(header: &[String]) -> String {
    let summary =
        ["tool", "Input", "Examination", "Status"].iter().all(|name| column(header, name).is_some());
    if summary {
        return "a column results: a summary of BenchKit has no answers; give `judge` the folder that has this file in CSV/ and \
                the outputs in OUTPUTS/"
            .to_owned();
    }
    format!("a table of answers ({}) or the contest's ({})", COMPACT_HEADER.join(","), HEADER.join(","))
}

/// Reads the compact table. `lines` gets the line of every row.
fn read_compact(
    edition: &Edition,
    table: &mut Table,
    results: &mut RunResults,
    lines: &mut Vec<u64>,
) -> Result<(), TableError> {
    let mut values: Vec<u32> = Vec::new();
    table.each_row(|row| {
        let (entry, instance, name) = (row[0].trim_ascii(), row[1].trim_ascii(), &row[2]);
        if entry.is_empty() || instance.is_empty() {
            return Err("tool and instance must not be empty".to_owned());
        }
        check_name("the tool", entry).map_err(|bad| format!("column tool: {bad}"))?;
        check_name("the instance", instance).map_err(|bad| format!("column instance: {bad}"))?;
        let number = results.examination(name).map_err(|error| error.to_string())?;
        let examination = &edition.examinations[number];
        values.clear();
        let kind = examination.answers;
        // Fast path: most rows are letters, each of them a value.
        if kind == AnswerKind::Boolean {
            values.extend(row[3].bytes().map_while(letter));
        }
        if kind != AnswerKind::Boolean || values.len() < row[3].len() {
            values.clear();
            for cell in cells(&row[3], kind) {
                values.push(value_number(results, cell, kind, "answers")?);
            }
        }
        if values.len() != examination.values {
            return Err(format!("{} answers, {name} has {} positions", values.len(), examination.values));
        }
        check_wrong(&row[4], examination.values)?;
        if edition.judging.not_kept == NotKept::Wrong {
            mark_not_kept(&row[4], &mut values);
        }
        results.add_row(entry, instance, number, Ending::NotStated, &values);
        check_entry_count(results)?;
        add_line(results, lines, row)
    })
}

/// An answer that the column `wrong` marks and the column `answers` does not have was not kept.
fn mark_not_kept(wrong: &str, values: &mut [u32]) {
    for position in wrong.split(' ').filter_map(|word| word.parse::<usize>().ok()) {
        if let Some(value) = values.get_mut(position).filter(|value| **value == NONE) {
            *value = NOT_KEPT;
        }
    }
}

/// Returns the number of a Boolean answer of the compact table; None for any other letter.
fn letter(letter: u8) -> Option<u32> {
    match letter {
        b'T' => Some(TRUE),
        b'F' => Some(FALSE),
        b'?' => Some(NONE),
        _ => None,
    }
}

/// Notes the line of the last row. Refuses two rows of the same run when their number has doubled, because compressed rows that
/// repeat each other would fill the memory.
pub(super) fn add_line(results: &RunResults, lines: &mut Vec<u64>, row: &StringRecord) -> Result<(), String> {
    /// Fewer rows are few in memory.
    const FIRST_CHECK: usize = if cfg!(test) { 4 } else { 1 << 20 };
    lines.push(row.position().map_or(0, csv::Position::line));
    if lines.len() < FIRST_CHECK || !lines.len().is_power_of_two() {
        return Ok(());
    }
    match first_repeated(results, lines) {
        None => Ok(()),
        Some([first, second]) => Err(format!(
            "line {second} has the same tool, instance and examination as line {first}; keep the one that counts"
        )),
    }
}

/// Refuses two rows of the same run. `lines` has the line of every row.
fn check_repeated_rows(results: &RunResults, path: &Path, lines: &[u64]) -> Result<(), TableError> {
    match first_repeated(results, lines) {
        None => Ok(()),
        Some([first, line]) => Err(TableError::Row {
            path: path.to_owned(),
            line,
            message: format!(
                "the same tool, instance and examination as in line {first}; keep the one that counts"
            ),
        }),
    }
}

/// The lines of two rows of the same run.
fn first_repeated(results: &RunResults, lines: &[u64]) -> Option<[u64; 2]> {
    // 16 bits are enough: there are at most `MAX_ENTRIES` entries.
    let key_of = |row: &RunRow| {
        u64::from(row.examination) << 48 | u64::from(row.instance) << 16 | u64::from(row.entry as u16)
    };
    let mut keys: Vec<u64> = results.rows.iter().map(key_of).collect();
    keys.sort_unstable();
    if keys.windows(2).all(|pair| pair[0] != pair[1]) {
        return None;
    }
    // Only the error needs the order of the rows.
    let mut order: Vec<u32> = (0..results.rows.len() as u32).collect();
    let key = |row: &u32| key_of(&results.rows[*row as usize]);
    order.sort_by_key(key);
    let pair = order.windows(2).find(|pair| key(&pair[0]) == key(&pair[1]))?;
    Some([lines[pair[0] as usize], lines[pair[1] as usize]])
}

/// Reads a models file: the columns instance, family and status, in any order and among others.
///
/// Every instance that has results must be in it. Other instances are ignored.
///
/// # Errors
/// The table cannot be read, a row is wrong, or an instance is missing.
pub fn read_models(edition: &Edition, results: &mut RunResults, path: &Path) -> Result<(), SourceError> {
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
        check_name("the instance", instance).map_err(|bad| format!("column instance: {bad}"))?;
        check_name("the family", family).map_err(|bad| format!("column family: {bad}"))?;
        if !edition.judging.multipliers.contains_key(status) {
            let known: Vec<&str> = edition.judging.multipliers.keys().map(String::as_str).collect();
            return Err(format!(
                "column status: `{status}`; edition {} has {}",
                edition.name,
                known.join(", ")
            ));
        }
        if !seen.insert(instance.to_owned()) {
            return Err(format!("instance {instance} is listed twice; keep one of the rows"));
        }
        let facts = InstanceFacts { family: family.to_owned(), status: status.to_owned() };
        results.describe_instance(instance, facts);
        Ok(())
    })?;
    if let Some(missing) = results.instance_names().filter(|name| !seen.contains(*name)).min() {
        return Err(SourceError::InstanceMissing { path: path.to_owned(), instance: missing.to_owned() });
    }
    results.inputs.push(digest(path)?);
    Ok(())
}

/// Reads a tools file: the columns `entry,tool,status`, and optionally `note`, which a withdrawn entry needs (P-3).
///
/// The facts of an entry that is not in it come from the edition. Returns the withdrawn entries that have no answers.
///
/// # Errors
/// The table cannot be read, a row is wrong, or an entry that is not withdrawn has no answers.
pub fn read_tools(results: &mut RunResults, path: &Path) -> Result<Vec<String>, SourceError> {
    const HEADER: [&str; 4] = ["entry", "tool", "status", "note"];
    let mut table = Table::open(path)?;
    if table.header() != &HEADER[..3] && table.header() != HEADER {
        let expected = "entry,tool,status or entry,tool,status,note; `mcc-harness export RECORD --csv FILE` writes such \
                        a table beside FILE, with the ending .tools.csv";
        return Err(table.wrong_header(expected).into());
    }
    let known: BTreeSet<String> = results.entry_names().map(str::to_owned).collect();
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
        check_name("the entry", entry).map_err(|bad| format!("column entry: {bad}"))?;
        check_name("the tool", tool).map_err(|bad| format!("column tool: {bad}"))?;
        check_lines(note).map_err(|problem| format!("column note {problem}"))?;
        if status == Status::Withdrawn && note.trim().is_empty() {
            return Err(format!(
                "{entry} is withdrawn; give the rule and the reason in the column note (P-3)"
            ));
        }
        if !seen.insert(entry.to_owned()) {
            return Err(format!("entry {entry} is listed twice; keep one of the rows"));
        }
        // A withdrawn entry is named in the judgement even if the table has none of its runs.
        if status == Status::Withdrawn {
            if !known.contains(entry) {
                without_answers.push(entry.to_owned());
            }
            results.entries.number(entry);
        } else if !known.contains(entry) {
            let known = known.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            return Err(format!("entry {entry} has no answers; entries are {known}"));
        }
        let (entry, tool, note) = (entry.to_owned(), tool.to_owned(), note.to_owned());
        results.describe_entry(Entry { entry, tool, status, note });
        Ok(())
    })?;
    results.inputs.push(digest(path)?);
    Ok(without_answers)
}

/// The header of the table of names that `image inputs --obfuscate` writes.
pub const NAMES_HEADER: [&str; 4] = ["instance", "kind", "original", "obfuscated"];

/// The table of names that `image inputs --obfuscate` wrote (T-5).
pub struct OriginalNames {
    /// The original names of instances, by their obfuscated ones.
    pub instances: HashMap<String, String>,
    /// The original property ids, by their obfuscated ones.
    ids: HashMap<String, String>,
    /// Name and digest of the file.
    pub digest: InputDigest,
}

impl OriginalNames {
    /// Reads the table.
    ///
    /// # Errors
    /// The table cannot be read, or one obfuscated name has two originals.
    pub fn read(path: &Path) -> Result<Self, SourceError> {
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
            for (column, name) in [("original", &row[2]), ("obfuscated", &row[3])] {
                check_name("the name", name).map_err(|bad| format!("column {column}: {bad}"))?;
            }
            // A property whose name is that of its examination has the same name in every instance.
            match names.insert(row[3].to_owned(), row[2].to_owned()) {
                Some(other) if other != row[2] => Err(format!(
                    "{} is the obfuscated name of both {other} and {}; give the file as it was written",
                    &row[3], &row[2]
                )),
                _ => Ok(()),
            }
        })?;
        Ok(Self { instances, ids, digest: digest(path)? })
    }
}

/// Replaces the obfuscated names of instances and property ids by the original ones in the table at `path`.
///
/// # Errors
/// The table cannot be read, or none of its instances has answers.
pub fn read_names(results: &mut RunResults, path: &Path) -> Result<(), SourceError> {
    let names = OriginalNames::read(path)?;
    let wrong = |message| SourceError::NameTable { path: path.to_owned(), message };
    results.rename(&names.instances, &names.ids).map_err(wrong)?;
    results.inputs.push(names.digest);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_rows_of_a_long_table_are_refused_before_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("answers.csv");
        let row = |instance: usize| format!("a,X-PT-{instance},StateSpace,1 2 3 4,\n");
        let read = |instances: &[usize], last: &str| {
            let rows: String = instances.iter().map(|instance| row(*instance)).collect();
            std::fs::write(&path, format!("{}\n{rows}{last}", COMPACT_HEADER.join(","))).unwrap();
            read_answers(&Edition::load("mcc-2018").unwrap(), &path)
        };
        assert_eq!(read(&[1, 2, 3, 4, 5], "").unwrap().rows.len(), 5);
        let error = read(&[1, 2, 2, 3], "not a row\n").unwrap_err().to_string();
        assert!(
            error.contains("answers.csv:5: line 4 has the same tool, instance and examination as line 3"),
            "{error}"
        );
    }
}
