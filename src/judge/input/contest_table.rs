//! Reads results from the contest's table of results (`raw-result-analysis.csv`).

use super::run_results::{NONE, RunResult, RunResults};
use super::source::add_line;
use super::values::{SourceError, check_entry_count, cost, value_number};
use crate::judgement::Ending;
use crate::table_words::{MARKS, NO_TECHNIQUE, SPLIT, ending, is_separator_word};
use mcc_base::Mark;
use mcc_base::names::check_name;
use mcc_campaign::benchkit::contest_table::{Results, column, decimal, spelled};
use mcc_campaign::benchkit::published::Table;
use mcc_edition::{AnswerKind, Edition};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The columns that are read. The optional ones may be absent.
pub(crate) struct Columns {
    tool: usize,
    input: usize,
    examination: usize,
    results: usize,
    time_flag: Option<usize>,
    memory_flag: Option<usize>,
    techniques: Option<usize>,
    memory: Option<usize>,
    cpu: Option<usize>,
    time: Option<usize>,
    status: Option<usize>,
    run_id: Option<usize>,
    flags: Option<usize>,
}

impl Columns {
    /// Finds the columns in a header; None where one that is needed is absent.
    pub fn find(header: &[String]) -> Option<Self> {
        let at = |name| column(header, name);
        Some(Self {
            tool: at("tool")?,
            input: at("Input")?,
            examination: at("Examination")?,
            results: at("results")?,
            time_flag: at("time flag"),
            memory_flag: at("memory flag"),
            techniques: at("techniques"),
            memory: at("max memory (MB)"),
            cpu: at("CPU (ms)"),
            time: at("Time (ms)"),
            status: at("Status"),
            run_id: at("run id"),
            flags: at("flags:bonus:scores:mask"),
        })
    }

    /// Adds one row of the table.
    ///
    /// # Errors
    /// A field is wrong; the message names its column.
    pub fn add_row(
        &self,
        edition: &Edition,
        row: &csv::StringRecord,
        results: &mut RunResults,
    ) -> Result<(), String> {
        let (entry, instance, name) =
            (row[self.tool].trim_ascii(), row[self.input].trim_ascii(), row[self.examination].trim_ascii());
        if entry.is_empty() || instance.is_empty() {
            return Err("tool and Input must not be empty".to_owned());
        }
        check_name("the tool", entry).map_err(|bad| format!("column tool: {bad}"))?;
        check_name("the instance", instance).map_err(|bad| format!("column Input: {bad}"))?;
        let number = results.examination(name).map_err(|error| error.to_string())?;
        let examination = &edition.examinations[number];
        let (kind, count) = (examination.answers, examination.values);
        let mut cells = Vec::with_capacity(count);
        let content = Results::read(&row[self.results], kind, count, &mut cells)
            .map_err(|error| format!("column results: {error}"))?;
        let mut values = Vec::with_capacity(count);
        for cell in cells {
            let cell = if kind == AnswerKind::Boolean { cell } else { spelled(cell) };
            values.push(value_number(results, cell, kind, "results")?);
        }
        let optional = |column: Option<usize>| column.map_or("", |column| row[column].trim_ascii());
        let answered = values.iter().any(|value| *value != NONE);
        let flags = [self.time_flag, self.memory_flag].map(|flag| matches!(optional(flag), "" | "OK"));
        let ending = ending(optional(self.status), content, answered, flags)?;
        results.add_row(entry, instance, number, ending, &values);
        let number_in = |column: Option<usize>, name: &str, factor| {
            decimal(optional(column), factor).map_err(|error| format!("column {name}: {error}"))
        };
        let cpu_ms = number_in(self.cpu, "CPU (ms)", 1)?;
        let wall_ms = number_in(self.time, "Time (ms)", 1)?;
        // BenchKit writes 0 where its monitor measured nothing.
        let memory_kib = number_in(self.memory, "max memory (MB)", 1024)?.filter(|kib| *kib > 0);
        let cost = cost(cpu_ms, wall_ms, memory_kib)?.filter(|_| ending != Ending::DidNotCompete);
        let host = host(optional(self.run_id));
        if !host.is_empty() {
            check_name("the host", host).map_err(|bad| format!("column run id: {bad}"))?;
        }
        let given: Vec<bool> = values.iter().map(|value| *value != NONE).collect();
        let techniques = techniques(self.techniques.map_or("", |column| &row[column]), &given);
        results.set_run_facts(RunResult {
            cost,
            marks: marks(optional(self.flags)),
            techniques: techniques.into_iter().map(Arc::new).collect(),
            host: host.to_owned(),
            // The table has one value per position, also where the tool printed several.
            ..RunResult::default()
        });
        Ok(())
    }
}

/// The marks in the sub-field `flags`.
fn marks(field: &str) -> Vec<Mark> {
    let flags = field.split(':').next().and_then(|flags| flags.strip_prefix(MARKS));
    flags.map_or(vec![], |marks| marks.split('/').map(|mark| mark.replace('=', ":").into()).collect())
}

/// The techniques, by position. A list without `SPLIT` was stated for the run, so it applies to each value given.
fn techniques(field: &str, given: &[bool]) -> Vec<Vec<String>> {
    // Split as the output of tools is: blanks that are not ASCII are part of a word.
    let words: Vec<&str> = field.split_ascii_whitespace().collect();
    let technique = |word: &&str| {
        word.strip_prefix('\\').filter(|rest| is_separator_word(rest)).unwrap_or(word).to_owned()
    };
    let list = |words: &[&str]| words.iter().map(technique).collect::<Vec<_>>();
    if words.contains(&SPLIT) {
        return words.split(|word| *word == SPLIT).map(list).collect();
    }
    match list(&words) {
        _ if words.is_empty() || words == [NO_TECHNIQUE] || !given.contains(&true) => vec![],
        all => given.iter().map(|given| if *given { all.clone() } else { vec![] }).collect(),
    }
}

/// The host in a run id such as `r001-tall-174853726600008`: benchmark, host, time and counter.
fn host(run_id: &str) -> &str {
    let inner = run_id.split_once('-').map_or("", |(_, rest)| rest);
    inner.rsplit_once('-').map_or("", |(host, _)| host)
}

/// Reads all rows of the table. `lines` gets the line of every row.
pub(crate) fn read(
    edition: &Edition,
    columns: &Columns,
    table: &mut Table,
    results: &mut RunResults,
    lines: &mut Vec<u64>,
) -> Result<(), SourceError> {
    // Rows with a word of a flag that is not documented, by column and word.
    let mut unknown_flags: BTreeMap<(&str, String), u64> = BTreeMap::new();
    table.each_row(|row| {
        for (name, column) in [("time flag", columns.time_flag), ("memory flag", columns.memory_flag)] {
            let word = column.map_or("", |column| row[column].trim_ascii());
            if !matches!(word, "" | "OK" | "KO") {
                let word: String = word.chars().take(40).collect();
                *unknown_flags.entry((name, word)).or_default() += 1;
            }
        }
        columns.add_row(edition, row, results)?;
        check_entry_count(results)?;
        add_line(results, lines, row)
    })?;
    if columns.status.is_none() {
        results.notes.push(
            "the table has no column Status: only answers and flags tell how a run ended, and a run without an answer counts as \
             one of its tool, also if the infrastructure failed"
                .to_owned(),
        );
    }
    for ((name, word), rows) in unknown_flags {
        results.notes.push(format!(
            "column {name} has the unknown word `{word}` in {rows} rows; known are OK and KO; each of these runs counts as \
             KO (ended by that limit) unless its Status has another ending"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_marks_are_read_from_run_id_and_flags() {
        assert_eq!(host("r001-tall-174853726600008"), "tall");
        assert_eq!(host("mcc-node-17.lab-000000000000001"), "node-17.lab");
        assert_eq!(host("drid"), "");
        assert_eq!(marks("marks/degraded=tcg/mixed-host::0:T"), ["degraded:tcg", "mixed-host"]);
        assert!(marks("FFFF:--:0:?").is_empty());
    }
}
