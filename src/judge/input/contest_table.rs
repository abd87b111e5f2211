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
use mcc_campaign::benchkit::{MAX_TECHNIQUES, MAX_TECHNIQUES_BYTES, kept_techniques};
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

    /// Adds one row of the table. Returns whether techniques are left out because they are too many.
    ///
    /// # Errors
    /// A field is wrong; the message names its column.
    pub fn add_row(
        &self,
        edition: &Edition,
        row: &csv::StringRecord,
        results: &mut RunResults,
    ) -> Result<bool, String> {
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
            // What `+inf` means depends on the examination.
            let cell = if kind == AnswerKind::Boolean || cell == "+inf" { cell } else { spelled(cell) };
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
        let (techniques, left_out) =
            techniques(self.techniques.map_or("", |column| &row[column]), &given, count);
        results.set_run_facts(RunResult {
            cost,
            marks: marks(optional(self.flags))
                .map_err(|error| format!("column flags:bonus:scores:mask: {error}"))?,
            techniques,
            host: host.to_owned(),
            // The table has one value per position, also where the tool printed several.
            ..RunResult::default()
        });
        Ok(left_out)
    }
}

/// Most marks of a run, and bytes of them: a judgement keeps those of all runs.
const MAX_MARKS: usize = 100;
const MAX_MARKS_BYTES: usize = 2 << 10;

/// The marks in the sub-field `flags`.
fn marks(field: &str) -> Result<Vec<Mark>, String> {
    let flags = field.split(':').next().and_then(|flags| flags.strip_prefix(MARKS));
    let Some(marks) = flags else { return Ok(vec![]) };
    if marks.len() > MAX_MARKS_BYTES || marks.split('/').count() > MAX_MARKS {
        return Err(format!("more than {MAX_MARKS} marks or {MAX_MARKS_BYTES} bytes of them; remove some"));
    }
    Ok(marks.split('/').map(|mark| mark.replace('=', ":").into()).collect())
}

/// The techniques, by position, and whether some are left out. A list without `SPLIT` was stated for the run, so it applies
/// to each value given. `count` is the number of positions.
fn techniques(field: &str, given: &[bool], count: usize) -> (Vec<Arc<Vec<String>>>, bool) {
    fn technique<'w>(word: &&'w str) -> &'w str {
        word.strip_prefix('\\').filter(|rest| is_separator_word(rest)).unwrap_or(word)
    }
    // Split as the output of tools is: blanks that are not ASCII are part of a word.
    let words: Vec<&str> = field.split_ascii_whitespace().collect();
    let mut left_out = false;
    let mut list = |words: &[&str]| {
        let words: Vec<&str> = words.iter().map(technique).collect();
        let kept = kept_techniques(&words);
        left_out |= kept < words.len();
        Arc::new(words[..kept].iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    };
    if words.contains(&SPLIT) {
        let mut lists = words.split(|word| *word == SPLIT);
        let kept = lists.by_ref().take(count).map(list).collect();
        return (kept, left_out || lists.next().is_some());
    }
    if words.is_empty() || words == [NO_TECHNIQUE] || !given.contains(&true) {
        return (vec![], false);
    }
    let (all, none) = (list(&words), Arc::default());
    let by_position = given.iter().map(|given| Arc::clone(if *given { &all } else { &none }));
    (by_position.collect(), left_out)
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
    let mut left_out = 0_u64;
    table.each_row(|row| {
        for (name, column) in [("time flag", columns.time_flag), ("memory flag", columns.memory_flag)] {
            let word = column.map_or("", |column| row[column].trim_ascii());
            if !matches!(word, "" | "OK" | "KO") {
                let word: String = word.chars().take(40).collect();
                *unknown_flags.entry((name, word)).or_default() += 1;
            }
        }
        left_out += u64::from(columns.add_row(edition, row, results)?);
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
    if left_out > 0 {
        results.notes.push(format!(
            "column techniques: {left_out} rows have more than {MAX_TECHNIQUES} techniques or {MAX_TECHNIQUES_BYTES} bytes of \
             them for a value, or a list for a position that does not exist; what is beyond is left out"
        ));
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
    use mcc_campaign::benchkit::Value;

    #[test]
    fn hosts_and_marks_are_read_from_run_id_and_flags() {
        assert_eq!(host("r001-tall-174853726600008"), "tall");
        assert_eq!(host("mcc-node-17.lab-000000000000001"), "node-17.lab");
        assert_eq!(host("drid"), "");
        assert_eq!(marks("marks/degraded=tcg/mixed-host::0:T").unwrap(), ["degraded:tcg", "mixed-host"]);
        assert!(marks("FFFF:--:0:?").unwrap().is_empty());
    }

    #[test]
    fn too_many_marks_of_a_row_are_refused() {
        assert_eq!(marks(&format!("marks{}", "/a".repeat(100))).unwrap().len(), 100);
        for long in [format!("marks{}", "/a".repeat(101)), format!("marks/{}", "a".repeat(2049))] {
            assert!(marks(&long).unwrap_err().contains("more than 100 marks"));
        }
    }

    #[test]
    fn techniques_of_a_row_are_bounded_and_shared_by_its_values() {
        let (all, left_out) = techniques(&"A ".repeat(100_000), &[true, false, true], 3);
        assert!(left_out && Arc::ptr_eq(&all[0], &all[2]));
        assert_eq!(all.iter().map(|list| list.len()).collect::<Vec<_>>(), [64, 0, 64]);
        let (lists, left_out) = techniques("A ; \\; B ; C", &[], 2);
        assert!(left_out, "the table has two positions");
        assert_eq!(lists.iter().map(|list| list.join(" ")).collect::<Vec<_>>(), ["A", "; B"]);
        assert!(!techniques(&"A ".repeat(64), &[true], 1).1 && !techniques("A ; B", &[true, true], 2).1);
    }

    #[test]
    fn an_infinite_count_is_an_overflow_and_an_infinite_bound_is_a_bound() {
        let edition = Edition::load("mcc-2018").unwrap();
        let header = ["tool", "Input", "Examination", "results"].map(str::to_owned);
        let columns = Columns::find(&header).unwrap();
        let read = |examination: &str, vector: &str| {
            let mut results = RunResults::new(&edition);
            let row = csv::StringRecord::from(vec!["a", "X-PT-1", examination, vector]);
            columns.add_row(&edition, &row, &mut results).unwrap();
            results.values.get(results.given[0]).cloned()
        };
        for word in ["+inf", "+Inf********", "Inf"] {
            assert_eq!(read("StateSpace", &format!("{word} ? ? ?")), Some(Value::Overflow), "{word}");
        }
        assert_eq!(read("UpperBounds", &format!("+inf{}", " ?".repeat(15))), Some(Value::Infinite));
    }
}
