//! Reads results from a folder of BenchKit's results: `CSV/summary_TOOL.csv` with one row per run, and the output of
//! each run in `OUTPUTS/TOOL_INPUT_EXAMINATION_RUNID_HOST.stdout`. Values are read from the outputs, so that numbers
//! are exact.

use super::record::answered;
use super::run_results::{RunResult, RunResultError, RunResults};
use super::values::{cost, digest};
use crate::judgement::Ending;
use mcc_base::names::check_name;
use mcc_base::text::{counted, visible};
use mcc_base::{FileError, OnFile, files};
use mcc_campaign::benchkit::contest_table::{column, decimal};
use mcc_campaign::benchkit::published::{Table, TableError};
use mcc_campaign::benchkit::{Answers, Questions, Reading};
use mcc_edition::{Edition, Examination};
use mcc_model::position_order;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Why a folder of BenchKit's results cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// A summary is wrong, or an output of its runs.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A folder cannot be listed.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is no summary in the folder.
    #[error("{} has no CSV/summary_TOOL.csv; give the folder of results that BenchKit packed", .0.display())]
    NoSummary(PathBuf),
    /// All summaries in the folder are empty.
    #[error("{}: no summary has a row; a folder without runs cannot be judged", .0.display())]
    Empty(PathBuf),
}

/// Most bytes of an output before `BK_START`, where the ids of the formulas are.
const MAX_PREAMBLE_BYTES: u64 = 1 << 20;

/// Returns whether a folder has the folders `CSV` and `OUTPUTS`, as BenchKit's results do.
pub fn is_results(folder: &Path) -> bool {
    folder.join("CSV").is_dir() && folder.join("OUTPUTS").is_dir()
}

/// Reads every summary of the folder and the outputs of its runs.
///
/// # Errors
/// A folder, summary or output cannot be read or is wrong, or there is no run.
pub fn read_results(edition: &Edition, folder: &Path) -> Result<RunResults, ResultsError> {
    let listed = |folder: PathBuf| -> Result<Vec<PathBuf>, ResultsError> {
        let mut paths = Vec::new();
        for item in fs::read_dir(&folder).on("read", &folder)? {
            paths.push(item.on("read", &folder)?.path());
        }
        paths.sort();
        Ok(paths)
    };
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut summaries = listed(folder.join("CSV"))?;
    summaries.retain(|path| name(path).starts_with("summary_") && name(path).ends_with(".csv"));
    if summaries.is_empty() {
        return Err(ResultsError::NoSummary(folder.to_owned()));
    }
    let mut results = RunResults::new(edition);
    let mut outputs = Outputs::default();
    for path in &summaries {
        let mut table = Table::open(path)?;
        let columns = Columns::find(&table)?;
        table.each_row(|row| {
            outputs.of_rows.insert(columns.start_of_output(row), vec![]);
            Ok(())
        })?;
    }
    for path in listed(folder.join("OUTPUTS"))? {
        outputs.add(name(&path), path);
    }
    results.notes.extend(outputs.note_of_others());
    for path in summaries {
        read_summary(edition, &path, &outputs, &mut results)?;
        results.inputs.push(digest(&path)?);
    }
    if results.entry_names().next().is_none() {
        return Err(ResultsError::Empty(folder.to_owned()));
    }
    Ok(results)
}

/// The files in `OUTPUTS`. Their names start with `TOOL_INPUT_EXAMINATION_RUNID_`, and each of these parts can contain `_`
/// itself. So a file belongs to the row with the longest start that its name has: the name of one tool, which its author
/// chooses, must not give it the outputs of another one.
#[derive(Default)]
struct Outputs {
    /// The start of the names for each row, and the files that belong to it: name and path.
    of_rows: BTreeMap<String, Vec<(String, PathBuf)>>,
    /// The names of files that belong to no row.
    of_no_row: Vec<String>,
}

impl Outputs {
    fn add(&mut self, name: String, path: PathBuf) {
        if !name.ends_with(".stdout") {
            return;
        }
        let mut longest_first = name.rmatch_indices('_').map(|(at, _)| name[..=at].to_owned());
        match longest_first.find(|start| self.of_rows.contains_key(start)) {
            Some(start) => self.of_rows.entry(start).or_default().push((name, path)),
            None => self.of_no_row.push(name),
        }
    }

    fn note_of_others(&self) -> Option<String> {
        let first = self.of_no_row.first()?;
        Some(format!(
            "{} in OUTPUTS without a row in a summary, such as {}; they are not judged",
            counted(self.of_no_row.len(), "output"),
            visible(first)
        ))
    }

    /// The output of a row.
    fn of_row(&self, start: &str) -> Result<&(String, PathBuf), String> {
        match self.of_rows.get(start).map(Vec::as_slice) {
            Some([only]) => Ok(only),
            Some([first, second, ..]) => {
                Err(format!("OUTPUTS has {} and {} for this row; keep the one of the run", first.0, second.0))
            }
            _ => Err(format!(
                "OUTPUTS has no {start}HOST.stdout; unpack it next to the folder CSV, or remove the row"
            )),
        }
    }
}

/// The columns of a summary that are read.
struct Columns {
    tool: usize,
    input: usize,
    examination: usize,
    memory: usize,
    cpu: usize,
    time: usize,
    status: usize,
    run_id: usize,
}

impl Columns {
    fn find(table: &Table) -> Result<Self, ResultsError> {
        let names =
            ["tool", "Input", "Examination", "max memory (MB)", "CPU (ms)", "Time (ms)", "Status", "run id"];
        let columns = names.map(|name| column(table.header(), name));
        let [
            Some(tool),
            Some(input),
            Some(examination),
            Some(memory),
            Some(cpu),
            Some(time),
            Some(status),
            Some(run_id),
        ] = columns
        else {
            return Err(table.wrong_header(format!("BenchKit's summary, with {}", names.join(", "))).into());
        };
        Ok(Self { tool, input, examination, memory, cpu, time, status, run_id })
    }

    /// `TOOL_INPUT_EXAMINATION_RUNID_`
    fn start_of_output(&self, row: &csv::StringRecord) -> String {
        let parts = [self.tool, self.input, self.examination, self.run_id];
        parts.map(|column| row[column].trim_ascii().to_owned() + "_").concat()
    }
}

fn read_summary(
    edition: &Edition,
    path: &Path,
    outputs: &Outputs,
    results: &mut RunResults,
) -> Result<(), ResultsError> {
    let mut table = Table::open(path)?;
    let columns = Columns::find(&table)?;
    table.each_row(|row| {
        let field = |column: usize| row[column].trim_ascii();
        let [tool, input, name] = [columns.tool, columns.input, columns.examination].map(field);
        check_name("the tool", tool).map_err(|bad| format!("column tool: {bad}"))?;
        check_name("the instance", input).map_err(|bad| format!("column Input: {bad}"))?;
        let Some((_, examination)) = edition.examination(name) else {
            return results.examination(name).map(drop).map_err(|error| error.to_string());
        };
        let start = columns.start_of_output(row);
        let (output, path) = outputs.of_row(&start)?;
        let host = output[start.len()..].trim_end_matches(".stdout").to_owned();
        if !host.is_empty() {
            check_name("the host", &host).map_err(|bad| format!("OUTPUTS/{output}: {bad}"))?;
        }
        let answers = read_output(examination, edition.judging.strict, path)?;
        let number = |column: usize, name: &str, factor| {
            decimal(field(column), factor).map_err(|error| format!("column {name}: {error}"))
        };
        let cpu_ms = number(columns.cpu, "CPU (ms)", 1)?;
        let wall_ms = number(columns.time, "Time (ms)", 1)?;
        let memory_kib = number(columns.memory, "max memory (MB)", 1024)?.filter(|kib| *kib > 0);
        let cost = cost(cpu_ms, wall_ms, memory_kib)?;
        let ending = match field(columns.status) {
            "timeout" => Ending::WallLimit,
            "normal" => answered(&answers),
            // Written by `export --summary`.
            "infrastructure" => Ending::Infrastructure,
            other => {
                let shown: String = other.chars().take(40).collect();
                return Err(format!(
                    "column Status: `{shown}`; allowed are normal, timeout and infrastructure"
                ));
            }
        };
        let ids = answers.ids.clone();
        let result = RunResult { ending, cost, host, ..RunResult::of_output(answers) };
        let added = results.add(tool, input, name, &ids, result);
        added.map_err(|error: RunResultError| error.to_string())
    })?;
    Ok(())
}

/// Reads the answers between `BK_START` and the next line that BenchKit writes. BenchKit copies the tool's stderr
/// after that line; answers in it do not count. The lines `FORMULA_NAME id` before `BK_START` list the ids of the
/// formulas.
fn read_output(examination: &Examination, strict: bool, path: &Path) -> Result<Answers, String> {
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    let mut source = BufReader::new(files::open(path).map_err(failed)?);
    let mut questions = Questions::as_printed(examination);
    let mut ids = Vec::new();
    let mut preamble = source.by_ref().take(MAX_PREAMBLE_BYTES);
    let mut line = Vec::new();
    loop {
        line.clear();
        if preamble.read_until(b'\n', &mut line).map_err(failed)? == 0 {
            return Err(format!(
                "{} has no line BK_START in its first MiB; unpack it again or remove the row",
                path.display()
            ));
        }
        let text = String::from_utf8_lossy(&line);
        match text.split_whitespace().collect::<Vec<_>>()[..] {
            ["FORMULA_NAME", id] => ids.push(id.to_owned()),
            ["BK_START", ..] => break,
            _ => {}
        }
    }
    match (questions.ids.is_some(), ids.len() == questions.values) {
        (true, _) => {}
        (false, true) => {
            ids.sort_by(|a, b| position_order(a, b));
            questions.ids = Some(ids);
        }
        // A single position needs no id.
        (false, false) if questions.values == 1 && ids.is_empty() => {}
        (false, false) => {
            return Err(format!(
                "{} has {} lines FORMULA_NAME, examination {} has {} positions; give the edition of the runs",
                path.display(),
                ids.len(),
                examination.name,
                questions.values
            ));
        }
    }
    let between = BufReader::new(ToolOutput { source, line: Vec::new(), at: 0, ended: false });
    let mut answers =
        Answers::read(between, &questions, Reading { strict, ..Reading::default() }).map_err(failed)?;
    if questions.ids.is_none() {
        // Tools write the only id differently (`OneSafe`, `INSTANCE-OneSafe-00`).
        answers.ids = vec![examination.name.clone()];
    }
    Ok(answers)
}

/// Reads the output of the tool and ends at the next line that BenchKit writes. Long lines are read in pieces, so
/// that memory does not grow with their length.
struct ToolOutput<R> {
    source: R,
    /// A piece of a line, truncated where BenchKit's text begins in it.
    line: Vec<u8>,
    at: usize,
    ended: bool,
}

/// Returns where BenchKit's own text begins in a piece of a line, if it does. `line_start`: the piece is the first of
/// its line.
///
/// The output of a killed tool has no `BK_STOP`, and its last line may have no end. So `BK_TIME_CONFINEMENT_REACHED`
/// may be anywhere in a line.
fn benchkit_line_start(piece: &[u8], line_start: bool) -> Option<usize> {
    let stderr = || {
        let dashes = piece.iter().take_while(|byte| matches!(byte, b'-' | b' ')).count();
        piece[dashes..].starts_with(b"content from stderr:")
    };
    if line_start && (piece.starts_with(b"BK_STOP ") || stderr()) {
        return Some(0);
    }
    memchr::memmem::find(piece, b"BK_TIME_CONFINEMENT_REACHED")
}

impl<R: BufRead> Read for ToolOutput<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.at == self.line.len() {
            if self.ended || into.is_empty() {
                return Ok(0);
            }
            let line_start = self.line.last().is_none_or(|byte| *byte == b'\n');
            self.line.clear();
            self.at = 0;
            self.source.by_ref().take(1 << 16).read_until(b'\n', &mut self.line)?;
            if let Some(at) = benchkit_line_start(&self.line, line_start) {
                self.line.truncate(at);
                self.ended = true;
            }
            if self.line.is_empty() {
                self.ended = true;
                return Ok(0);
            }
        }
        let count = into.len().min(self.line.len() - self.at);
        into[..count].copy_from_slice(&self.line[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_ends_where_benchkits_own_text_begins() {
        let until = |text: &str| {
            let mut read = String::new();
            let source = ToolOutput { source: text.as_bytes(), line: Vec::new(), at: 0, ended: false };
            BufReader::with_capacity(7, source).read_to_string(&mut read).unwrap();
            read
        };
        assert_eq!(until("a\n no BK_STOP 1\nb\nBK_STOP 12\nFORMULA x TRUE\n"), "a\n no BK_STOP 1\nb\n");
        let long = "x".repeat(200_000) + "BK_STOP 1\ny";
        assert_eq!(until(&long), long);
        assert_eq!(until(""), "");
        // The output of a killed tool has no BK_STOP, and perhaps no end of its last line.
        for words in ["BK_TIME_CONFINEMENT_REACHED", "--- content from stderr:", "content from stderr: x"] {
            assert_eq!(until(&format!("a\n{words}\nFORMULA x TRUE\n")), "a\n", "{words}");
        }
        assert_eq!(
            until("FORMULA x TRUE TECHNIQUES ABK_TIME_CONFINEMENT_REACHED\ny\n"),
            "FORMULA x TRUE TECHNIQUES A"
        );
        assert_eq!(until("see the content from stderr: b\n"), "see the content from stderr: b\n");
    }
}
