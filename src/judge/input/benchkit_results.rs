//! Reads results from a folder of BenchKit's results: `CSV/summary_TOOL.csv` with one row per run, and the output of
//! each run in `OUTPUTS/TOOL_INPUT_EXAMINATION_RUNID_HOST.stdout`. Values are read from the outputs, so that numbers
//! are exact.

use super::record::answered;
use super::run_results::{RunResult, RunResultError, RunResults};
use super::values::{cost, digest};
use crate::judgement::Ending;
use mcc_base::names::check_name;
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
    let outputs: BTreeMap<String, PathBuf> =
        listed(folder.join("OUTPUTS"))?.into_iter().map(|path| (name(&path), path)).collect();
    let mut summaries = listed(folder.join("CSV"))?;
    summaries.retain(|path| name(path).starts_with("summary_") && name(path).ends_with(".csv"));
    if summaries.is_empty() {
        return Err(ResultsError::NoSummary(folder.to_owned()));
    }
    let mut results = RunResults::new(edition);
    for path in summaries {
        read_summary(edition, &path, &outputs, &mut results)?;
        results.inputs.push(digest(&path)?);
    }
    if results.entry_names().next().is_none() {
        return Err(ResultsError::Empty(folder.to_owned()));
    }
    Ok(results)
}

fn read_summary(
    edition: &Edition,
    path: &Path,
    outputs: &BTreeMap<String, PathBuf>,
    results: &mut RunResults,
) -> Result<(), ResultsError> {
    let mut table = Table::open(path)?;
    let names =
        ["tool", "Input", "Examination", "max memory (MB)", "CPU (ms)", "Time (ms)", "Status", "run id"];
    let columns = names.map(|name| column(table.header(), name));
    let [
        Some(tool),
        Some(input),
        Some(name),
        Some(memory),
        Some(cpu),
        Some(time),
        Some(status),
        Some(run_id),
    ] = columns
    else {
        return Err(table.wrong_header(format!("BenchKit's summary, with {}", names.join(", "))).into());
    };
    table.each_row(|row| {
        let field = |column: usize| row[column].trim_ascii();
        check_name("the tool", field(tool)).map_err(|bad| format!("column tool: {bad}"))?;
        check_name("the instance", field(input)).map_err(|bad| format!("column Input: {bad}"))?;
        let Some((_, examination)) = edition.examination(field(name)) else {
            return results.examination(field(name)).map(drop).map_err(|error| error.to_string());
        };
        let prefix = [tool, input, name, run_id].map(|column| field(column).to_owned() + "_").concat();
        let mut found = outputs.range(prefix.clone()..).take_while(|(name, _)| name.starts_with(&prefix));
        let Some((output, path)) = found.find(|(name, _)| name.ends_with(".stdout")) else {
            return Err(format!(
                "OUTPUTS has no {prefix}HOST.stdout; unpack it next to the folder CSV, or remove the row"
            ));
        };
        let host = output[prefix.len()..].trim_end_matches(".stdout").to_owned();
        if !host.is_empty() {
            check_name("the host", &host).map_err(|bad| format!("OUTPUTS/{output}: {bad}"))?;
        }
        let answers = read_output(examination, edition.judging.strict, path)?;
        let number = |column: usize, name: &str, factor| {
            decimal(field(column), factor).map_err(|error| format!("column {name}: {error}"))
        };
        let (cpu_ms, wall_ms) = (number(cpu, "CPU (ms)", 1)?, number(time, "Time (ms)", 1)?);
        let memory_kib = number(memory, "max memory (MB)", 1024)?.filter(|kib| *kib > 0);
        let cost = cost(cpu_ms, wall_ms, memory_kib)?;
        let ending = match field(status) {
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
        let added = results.add(field(tool), field(input), field(name), &ids, result);
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
