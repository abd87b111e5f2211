//! Reads the tables of CRV: measurements by track, benchmark and tool, with an expected verdict or with printed scores; and
//! totals by track and tool.

use super::{Experiment, Outcome, Results, Total};
use mcc_base::names::check_name;
use mcc_base::{FileError, OnFile, figures};
use mcc_campaign::benchkit::published::{Table, TableError};
use mcc_edition::crv::{CrvEdition, Monitoring};
use mcc_judge::judgement::MAX_ENTRIES;
use mcc_judge::shared::{digest, optional_number};
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Why results of CRV cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum CrvError {
    /// A table cannot be read or has a wrong row.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A folder cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A folder has no table of CRV, or a result is of an unknown entry or track: what, where, and a remedy.
    #[error("{0}")]
    Refused(String),
}

const MEASURED: [&str; 6] = ["track", "benchmark", "tool", "verdict", "memory_mb", "time_s"];
const EXPECTED: [&str; 3] = ["expected", "outcome", "base_time_s"];
const PRINTED: [&str; 3] = ["correctness_score", "overhead_score", "memory_score"];
const TOTALS: [&str; 6] = ["track", "tool", "correctness", "overhead", "memory", "total"];

/// Reads a table, or all tables of a folder. The header of a table determines its kind.
///
/// # Errors
/// A file cannot be read or has a wrong row, tables contradict each other, or a folder has no table of CRV.
pub fn read(edition: &CrvEdition, path: &Path) -> Result<Results, CrvError> {
    let (mut results, mut seen) = (Results::default(), SeenRows::default());
    if !path.is_dir() {
        let mut table = Table::open(path)?;
        if !read_table(edition, path, &mut table, &mut results, &mut seen)? {
            let (measured, expected) = (MEASURED.join(","), EXPECTED.join(","));
            let expected = format!("{measured} with {expected}, or with {}", PRINTED.join(","));
            return Err(table.wrong_header(expected).into());
        }
        results.inputs.push(digest(path)?);
        return Ok(results);
    }
    let mut files = Vec::new();
    for file in std::fs::read_dir(path).on("read", path)? {
        let file = file.on("read", path)?.path();
        let name = file.to_string_lossy();
        if name.ends_with(".csv") || name.ends_with(".csv.gz") {
            files.push(file);
        }
    }
    files.sort();
    for file in files {
        // A link may lead to a file of someone else.
        mcc_base::files::open_own(&file).on("read", &file)?;
        if read_table(edition, &file, &mut Table::open(&file)?, &mut results, &mut seen)? {
            results.inputs.push(digest(&file)?);
        } else {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            results.notes.push(format!("{name} is not read: it is no table of measurements or totals"));
        }
    }
    if results.inputs.is_empty() {
        return Err(CrvError::Refused(format!(
            "{}: the folder has no table of measurements or totals (*.csv); give the folder of the results",
            path.display()
        )));
    }
    Ok(results)
}

/// Facts that may be stated once only, by track and name, with the place where they are stated (`FILE:LINE`).
#[derive(Default)]
struct SeenRows {
    /// The expected verdict of each benchmark.
    right: HashMap<(usize, String), (String, String)>,
    /// The place of the total of each tool.
    totals: HashMap<(usize, String), String>,
    /// The place of the printed scores of each tool on each benchmark.
    printed: HashMap<(usize, String, String), String>,
    tools: HashSet<String>,
}

/// Reads a table into `results`. Returns false for another kind of table.
fn read_table(
    edition: &CrvEdition,
    path: &Path,
    table: &mut Table,
    results: &mut Results,
    seen: &mut SeenRows,
) -> Result<bool, TableError> {
    let place = |row: &csv::StringRecord| {
        format!("{}:{}", path.display(), row.position().map_or(0, csv::Position::line))
    };
    let header = table.header().to_vec();
    let column = |name: &str| header.iter().position(|known| known == name);
    let columns = |names: &[&str]| names.iter().map(|name| column(name)).collect::<Option<Vec<_>>>();
    if let Some(measured) = columns(&MEASURED) {
        let (expected, printed) = (columns(&EXPECTED), columns(&PRINTED));
        if expected.is_none() && printed.is_none() {
            return Ok(false);
        }
        table.each_row(|row| {
            let row = Row { row, edition };
            let experiment = row.experiment(&measured, expected.as_deref(), printed.as_deref())?;
            if let Some(right) = experiment.expected_verdict() {
                let (track, benchmark) = (experiment.track, &experiment.benchmark);
                let first = seen.right.entry((track, benchmark.clone()));
                let (known, at) = first.or_insert_with(|| (right.to_owned(), place(row.row)));
                if known != right {
                    let track = &edition.tracks[track].name;
                    return Err(format!(
                        "{track} {benchmark} has the right verdict {right} here and {known} in {at}; keep one"
                    ));
                }
            }
            // Rows with an expected verdict are repeated experiments (CRV-3); a second row of scores would count twice.
            if experiment.expected.is_none() {
                let (tool, benchmark) = (experiment.tool.clone(), experiment.benchmark.clone());
                let key = (experiment.track, tool, benchmark);
                if let Some(first) = seen.printed.insert(key, place(row.row)) {
                    let (tool, benchmark) = (&experiment.tool, &experiment.benchmark);
                    let track = &edition.tracks[experiment.track].name;
                    return Err(format!(
                        "{tool} has scores on {track} {benchmark} already, in {first}; keep one"
                    ));
                }
            }
            if seen.tools.insert(experiment.tool.clone()) && seen.tools.len() > MAX_ENTRIES {
                return Err(format!("more than {MAX_ENTRIES} tools; check which column names them"));
            }
            results.experiments.push(experiment);
            Ok(())
        })?;
        return Ok(true);
    }
    let Some(totals) = columns(&TOTALS) else { return Ok(false) };
    table.each_row(|row| {
        let row = Row { row, edition };
        let number = |at: usize| {
            row.number(totals[at], TOTALS[at])?
                .ok_or_else(|| format!("column {}: the total is missing; write a number", TOTALS[at]))
        };
        let (track, tool) = (row.track(totals[0])?, row.name(totals[1], "tool")?);
        if let Some(first) = seen.totals.insert((track, tool.clone()), place(row.row)) {
            let track = &edition.tracks[track].name;
            return Err(format!("{tool} has a total of {track} already, in {first}; keep one"));
        }
        let parts = [number(2)?, number(3)?, number(4)?];
        results.totals.push(Total { track, tool, parts, total: number(5)? });
        Ok(())
    })?;
    Ok(true)
}

/// The longest number in a table of runs.
const MAX_MEASUREMENT_BYTES: usize = 20;

struct Row<'a> {
    row: &'a csv::StringRecord,
    edition: &'a CrvEdition,
}

impl Row<'_> {
    fn name(&self, at: usize, column: &str) -> Result<String, String> {
        match self.row[at].trim_ascii() {
            "" => Err(format!("column {column} must not be empty")),
            name => {
                check_name("the name", name).map_err(|bad| format!("column {column}: {bad}"))?;
                Ok(name.to_owned())
            }
        }
    }

    fn track(&self, at: usize) -> Result<usize, String> {
        let name = self.row[at].trim_ascii();
        self.edition.track(name).map(|(number, _)| number).ok_or_else(|| {
            let known: Vec<&str> = self.edition.tracks.iter().map(|track| track.name.as_str()).collect();
            format!("no track `{name}`; the edition has {}", known.join(", "))
        })
    }

    /// The number of a column; None for `N/A` and for an empty field.
    fn number(&self, at: usize, column: &str) -> Result<Option<BigRational>, String> {
        let text = self.row[at].trim_ascii();
        // Points are sums of fractions of all measurements.
        if text.len() > MAX_MEASUREMENT_BYTES || text != "N/A" && text.contains('/') {
            return Err(format!(
                "column {column}: write a decimal number of at most {MAX_MEASUREMENT_BYTES} characters, such as 1.95, or N/A"
            ));
        }
        optional_number(column, text, &["", "N/A"], "1.95, or N/A")
    }

    fn experiment(
        &self,
        measured: &[usize],
        expected: Option<&[usize]>,
        printed: Option<&[usize]>,
    ) -> Result<Experiment, String> {
        let track = self.track(measured[0])?;
        let answer = self.row[measured[3]].trim_ascii().to_owned();
        let printed = printed.map(|columns| {
            let number = |at: usize| self.number(columns[at], PRINTED[at]);
            let zero = |number: Option<BigRational>| number.unwrap_or_else(BigRational::zero);
            Ok::<_, String>([zero(number(0)?), zero(number(1)?), zero(number(2)?)])
        });
        let printed = printed.transpose()?;
        let (outcome, wanted, base_time_s) = match (expected, &printed) {
            (Some(columns), _) => {
                let outcome = self.outcome(columns[1])?;
                let wanted = self.name(columns[0], "expected")?;
                (outcome, Some(wanted), self.number(columns[2], "base_time_s")?)
            }
            (None, Some([correctness, ..])) => (self.printed_outcome(&answer, correctness)?, None, None),
            (None, None) => return Err("neither an expected verdict nor printed scores".to_owned()),
        };
        if outcome == Outcome::Timeout && self.edition.tracks[track].monitoring == Monitoring::Offline {
            return Err(
                "section 4.1 names no timeout of offline monitoring; write crash, or the verdict".to_owned()
            );
        }
        let (memory_mb, time_s) =
            (self.number(measured[4], "memory_mb")?, self.number(measured[5], "time_s")?);
        let judged = matches!(outcome, Outcome::Ok | Outcome::PrintedRight | Outcome::PrintedWrong);
        for (column, value, most) in [
            ("memory_mb", &memory_mb, figures::MAX_BYTES >> 20),
            ("time_s", &time_s, figures::YEAR_S),
            ("base_time_s", &base_time_s, figures::YEAR_S),
        ] {
            let most = BigRational::from_integer(most.into());
            if value.as_ref().is_some_and(|value| *value > most) {
                return Err(format!(
                    "column {column}: a value above {most} is not a measurement; correct it, or write N/A"
                ));
            }
        }
        for (column, value) in [("memory_mb", &memory_mb), ("time_s", &time_s), ("base_time_s", &base_time_s)]
        {
            if judged && value.as_ref().is_some_and(|value| !value.is_positive()) {
                return Err(format!(
                    "column {column}: a measurement must be more than 0; write it with more decimals, or N/A"
                ));
            }
        }
        if outcome == Outcome::Ok && answer.is_empty() {
            return Err("outcome ok, but column verdict is empty".to_owned());
        }
        let benchmark = self.name(measured[1], "benchmark")?;
        if benchmark.len() > 1
            && benchmark.starts_with('0')
            && benchmark.bytes().all(|byte| byte.is_ascii_digit())
        {
            return Err(format!(
                "column benchmark: write {benchmark} without the leading 0, so that it has one name"
            ));
        }
        Ok(Experiment {
            track,
            benchmark,
            tool: self.name(measured[2], "tool")?,
            answer,
            expected: wanted,
            outcome,
            memory_mb,
            time_s,
            base_time_s,
            printed,
        })
    }

    fn outcome(&self, at: usize) -> Result<Outcome, String> {
        match self.row[at].trim_ascii() {
            "ok" => Ok(Outcome::Ok),
            "crash" => Ok(Outcome::Crash),
            "timeout" => Ok(Outcome::Timeout),
            "inexpressible" => Ok(Outcome::Inexpressible),
            other => Err(format!("column outcome: `{other}`; allowed are ok, crash, timeout, inexpressible")),
        }
    }

    /// How a run of a published table ended: follows from its verdict and its correctness score.
    fn printed_outcome(&self, answer: &str, correctness: &BigRational) -> Result<Outcome, String> {
        let points = &self.edition.correctness;
        match answer {
            "T/O" => Ok(Outcome::Timeout),
            "N/A" if *correctness == points.inexpressible => Ok(Outcome::Inexpressible),
            "N/A" => Ok(Outcome::Crash),
            _ if *correctness == points.right => Ok(Outcome::PrintedRight),
            _ if *correctness == points.wrong => Ok(Outcome::PrintedWrong),
            _ => Err(format!(
                "verdict {answer} with a correctness score of {correctness}; the edition gives {} or {}",
                points.right, points.wrong
            )),
        }
    }
}
