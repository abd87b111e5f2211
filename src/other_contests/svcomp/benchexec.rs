//! Reads the result files of BenchExec (XML) as a stream: a header, then one run after another. Measurements other than CPU
//! time, wall time and memory, and all other content, are ignored.

use mcc_base::figures;
use mcc_base::names::{check_name, check_task};
use mcc_campaign::benchkit::published::{TableError, open};
use mcc_edition::fraction;
use mcc_model::xml::{Item, Xml, attribute};
use mcc_model::{ModelError, Problem};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Signed;
use std::collections::HashMap;
use std::io::BufReader;
use std::path::{Component, Path, PathBuf};

/// Why a result file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ResultError {
    /// The file cannot be opened or read.
    #[error(transparent)]
    Open(#[from] TableError),
    /// The XML is not well-formed.
    #[error(transparent)]
    Xml(#[from] ModelError),
    /// A run has wrong content.
    #[error("{file}:{line}: {message}")]
    Content {
        /// The path of the result file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// What is wrong.
        message: String,
    },
    /// The file is XML of another kind.
    #[error("{file}:{line}: <{root}> where <result> is expected; give result files as BenchExec writes them")]
    OtherXml {
        /// The path of the XML file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// The name of the root element.
        root: String,
    },
}

/// The attributes of `<result>`. A missing attribute is empty.
#[derive(Clone, Debug, Default)]
pub struct ResultHeader {
    /// Name of the benchmark definition.
    pub benchmarkname: String,
    /// Name of the tool.
    pub tool: String,
    /// Name of the run definition; in the file of a block `DEFINITION.BLOCK`.
    pub name: String,
    /// Name of the set of tasks, which is the category in the archives of the contest.
    pub block: String,
    /// Date of the experiment.
    pub date: String,
    /// Limit of CPU time with its unit, such as `900s`.
    pub timelimit: String,
    /// The error that ended the experiment early; else empty.
    pub error: String,
}

/// The content of a `<run>`. A missing text is empty.
#[derive(Clone, Debug, Default)]
pub struct RawRun {
    /// The line in the file, from 1.
    pub line: u64,
    /// Name of the task: a path without `.` and empty parts.
    pub name: String,
    /// Properties to be verified in alphabetic order, separated by spaces.
    pub properties: String,
    /// The expected answer.
    pub expected: String,
    /// The answer, or how the run ended.
    pub status: String,
    /// BenchExec's comparison with the expected answer: `correct`, `correct-unconfirmed`, `wrong`, `unknown`, `error`,
    /// `missing`, or empty.
    pub category: String,
    /// CPU time in seconds.
    pub cputime: Option<BigRational>,
    /// Wall time in seconds.
    pub walltime: Option<BigRational>,
    /// Peak memory in bytes.
    pub memory: Option<BigRational>,
}

impl ResultHeader {
    /// `text`: the value of an attribute of `<result>`.
    fn from_attributes(text: impl Fn(&str) -> String) -> Self {
        Self {
            benchmarkname: text("benchmarkname"),
            tool: text("tool"),
            name: text("name"),
            block: text("block"),
            date: text("date"),
            timelimit: text("timelimit"),
            error: text("error"),
        }
    }

    /// Whether the other file has results of the same tool, run definition and tasks.
    pub fn same_results(&self, other: &Self) -> bool {
        (&self.benchmarkname, &self.name, &self.block) == (&other.benchmarkname, &other.name, &other.block)
    }

    /// Checks the attributes that name entry and category.
    fn check(&self) -> Result<(), String> {
        let names = [
            ("benchmarkname", &self.benchmarkname),
            ("tool", &self.tool),
            ("name", &self.name),
            ("block", &self.block),
        ];
        for (attribute, name) in names.into_iter().filter(|(_, name)| !name.is_empty()) {
            check_name("the name", name).map_err(|bad| format!("attribute {attribute}: {bad}"))?;
        }
        Ok(())
    }
}

impl RawRun {
    /// `text`: the value of an attribute of `<run>`.
    fn from_attributes(line: u64, text: impl Fn(&str) -> String) -> Self {
        let properties = match text("properties") {
            properties if properties.is_empty() => property_of_file(&text("propertyFile")),
            properties => properties,
        };
        let mut properties: Vec<&str> = properties.split_whitespace().collect();
        properties.sort_unstable();
        let properties = properties.join(" ");
        let name = plain_path(&text("name"));
        Self { line, name, properties, expected: text("expectedVerdict"), ..Self::default() }
    }

    /// Adds a `<column>`. If a column is repeated, the first one counts: it is the one of BenchExec.
    fn column(&mut self, title: &str, value: String) -> Result<(), String> {
        match title {
            "status" if self.status.is_empty() => self.status = value,
            "category" if self.category.is_empty() => self.category = value,
            "cputime" if self.cputime.is_none() => self.cputime = number(&value, SECONDS)?,
            "walltime" if self.walltime.is_none() => self.walltime = number(&value, SECONDS)?,
            "memory" | "memUsage" if self.memory.is_none() => self.memory = number(&value, BYTES)?,
            _ => {}
        }
        Ok(())
    }
}

/// Reads the header only.
///
/// # Errors
/// The file cannot be read or is not a result file.
pub fn header(path: &Path) -> Result<ResultHeader, ResultError> {
    let mut header = None;
    read(
        path,
        |_| Ok(()),
        |found| {
            header = Some(found.clone());
            false
        },
    )?;
    Ok(header.unwrap_or_default())
}

/// Calls `wants_runs` with the header and, if it returns true, `each` with every run. An error of `each` is reported with
/// file and line.
///
/// # Errors
/// The file cannot be read, is not a result file, has a run without name or the same task twice, or `each` fails.
pub fn read(
    path: &Path,
    mut each: impl FnMut(RawRun) -> Result<(), String>,
    wants_runs: impl FnOnce(&ResultHeader) -> bool,
) -> Result<(), ResultError> {
    let file = path.display().to_string();
    let mut xml = Xml::new(BufReader::with_capacity(1 << 16, open(path)?), &file).with_document_type();
    let mut wants_runs = Some(wants_runs);
    let mut depth = 0;
    let mut run: Option<RawRun> = None;
    let mut seen = HashMap::new();
    loop {
        let item = xml.next_item()?;
        let (start, line) = match item {
            Item::Start(start) => {
                depth += 1;
                (start.into_owned(), xml.line())
            }
            Item::End => {
                depth -= 1;
                if let Some(run) = (depth == 1).then(|| run.take()).flatten() {
                    let line = run.line;
                    let content = |message| ResultError::Content { file: file.clone(), line, message };
                    let key = (run.name.clone(), run.properties.clone());
                    if let Some(first) = seen.insert(key, line) {
                        let task = &run.name;
                        return Err(content(format!(
                            "the task {task} is repeated, first in line {first}; keep one"
                        )));
                    }
                    each(run).map_err(content)?;
                }
                continue;
            }
            Item::Eof => return Ok(()),
            Item::Text(_) | Item::Nothing => continue,
        };
        let text = |name: &str| attribute(&start, name).unwrap_or_default();
        let content = |message: String| ResultError::Content { file: file.clone(), line, message };
        match (depth, start.local_name().as_ref()) {
            (1, "result") => {
                let header = ResultHeader::from_attributes(text);
                header.check().map_err(content)?;
                let wanted = wants_runs.take().is_none_or(|wants_runs| wants_runs(&header));
                if !wanted {
                    return Ok(());
                }
            }
            (1, other) => return Err(ResultError::OtherXml { file, line, root: other.to_owned() }),
            (2, "run") => {
                let new = RawRun::from_attributes(line, text);
                let checked = check_task("the task", &new.name).map_err(|bad| bad.to_string());
                if !new.name.is_empty() {
                    checked.map_err(content)?;
                }
                if new.name.is_empty() {
                    let missing = "name".to_owned();
                    return Err(xml.error(Problem::Missing { element: "run".to_owned(), missing }).into());
                }
                run = Some(new);
            }
            (3, "column") => {
                let Some(run) = &mut run else { continue };
                run.column(&text("title"), text("value")).map_err(content)?;
            }
            (_, "run") => return Err(content("a <run> belongs directly into <result>".to_owned())),
            (4.., "column") if run.is_some() => {
                return Err(content("a <column> of a run belongs directly into <run>".to_owned()));
            }
            _ => {}
        }
    }
}

/// A path without `.` and empty parts: `./a//b.c` is the task `a/b.c`.
fn plain_path(path: &str) -> String {
    let parts: PathBuf = Path::new(path).components().filter(|part| *part != Component::CurDir).collect();
    parts.display().to_string()
}

/// The property of a property file: `../properties/unreach-call.prp` is `unreach-call`.
fn property_of_file(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.strip_suffix(".prp").unwrap_or(name).to_owned()
}

/// The quantity of a column, its unit in words, the letter of the unit, and an example.
type ColumnUnit = [&'static str; 4];
const SECONDS: ColumnUnit = ["time", "seconds", "s", "2.17s"];
const BYTES: ColumnUnit = ["memory", "bytes", "B", "133574656B"];

/// Parses a measurement such as `2.169189428s`, also without unit or with an exponent. None if there is no measurement.
fn number(text: &str, [what, words, unit, example]: ColumnUnit) -> Result<Option<BigRational>, String> {
    if matches!(text, "" | "None" | "-") {
        return Ok(None);
    }
    let wrong = || {
        let shown: String = text.chars().take(60).collect();
        format!(
            "the {what} `{shown}` is not a number of {words}; write it as BenchExec does, such as {example}"
        )
    };
    let number = text.strip_suffix(unit).unwrap_or(text).trim();
    let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let exponent: i32 = exponent.parse().map_err(|_| wrong())?;
    let plain =
        !digits.is_empty() && digits.len() < 60 && digits.bytes().all(|c| c.is_ascii_digit() || c == b'.');
    let digits =
        fraction::parse(digits).filter(|_| plain && exponent.unsigned_abs() <= 30).ok_or_else(wrong)?;
    let power = BigRational::from_integer(BigInt::from(10).pow(exponent.unsigned_abs()));
    let value = if exponent < 0 { digits / power } else { digits * power };
    let most = if unit == "s" { figures::YEAR_S } else { figures::MAX_BYTES };
    if value > BigRational::from_integer(BigInt::from(most)) {
        let shown: String = text.chars().take(60).collect();
        return Err(format!(
            "the {what} `{shown}` is more than {most} {words}, which is not a measurement; correct it or remove it"
        ));
    }
    Ok(Some(value).filter(|value| !value.is_negative()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(text: &str) -> Result<Vec<RawRun>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let mut runs = vec![];
        let read = read(
            file.path(),
            |run| {
                runs.push(run);
                Ok(())
            },
            |_| true,
        );
        let name = file.path().display().to_string();
        read.map(|()| runs).map_err(|error| error.to_string().replace(&name, "r.xml"))
    }

    #[test]
    fn times_and_memory_in_all_forms_of_benchexec_are_exact() {
        let exact_in = |text: &str, unit| number(text, unit).unwrap().map(|value| value.to_string());
        let exact = |text: &str| exact_in(text, SECONDS);
        assert_eq!(exact("2.5s").as_deref(), Some("5/2"));
        assert_eq!(exact("900").as_deref(), Some("900"));
        assert_eq!(exact("8.5e-05s").as_deref(), Some("17/200000"));
        assert_eq!(exact(""), None);
        assert_eq!(exact_in("133574656", BYTES), exact_in("133574656B", BYTES));
        assert!(number("12MB", BYTES).unwrap_err().contains("the memory `12MB` is not a number of bytes"));
        for wrong in ["fast", "inf", "nans", "1/2", "1e99", "1e-2147483648", "1e", "--1s", "1.s"] {
            assert!(number(wrong, SECONDS).unwrap_err().contains("BenchExec"), "{wrong}");
        }
    }

    #[test]
    fn malformed_result_files_are_rejected_with_line_and_remedy() {
        let document = |inside: &str| format!("<result tool=\"t\">\n{inside}\n</result>");
        let run = |name: &str, column: &str| format!("<run name=\"{name}\">{column}</run>");
        for (text, part) in [
            ("<benchmark/>".to_owned(), "r.xml:1: <benchmark> where <result> is expected"),
            (document("<run/>"), "r.xml:2: <run> without name; add it"),
            (
                document(&format!("<runs>{}</runs>", run("t", ""))),
                "r.xml:2: a <run> belongs directly into <result>",
            ),
            (document(&run("t", &run("u", ""))), "r.xml:2: a <run> belongs directly into <result>"),
            (
                document(&run("t", "<columns><column title=\"status\" value=\"true\"/></columns>")),
                "r.xml:2: a <column> of a run belongs directly into <run>",
            ),
            (
                document(&(run("a", "") + "\n" + &run("a", ""))),
                "r.xml:3: the task a is repeated, first in line 2",
            ),
            (
                document(
                    "<run name=\"a\" properties=\"p q\"></run>\n<run name=\"./a\" properties=\" q p\"></run>",
                ),
                "r.xml:3: the task a is repeated, first in line 2",
            ),
            (document(&run("a", "\n<column title=\"cputime\" value=\"soon\"/>")), "r.xml:3: the time `soon`"),
            (document("<run name=\"&lol;\"/>"), "r.xml:2: not well-formed"),
            ("<result><run name=\"a\">".to_owned(), "the file ends inside an element"),
            (String::new(), "there is no element"),
        ] {
            let error = runs(&text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        let entities = "<!DOCTYPE result [<!ENTITY lol \"lol\"><!ENTITY lol2 \"&lol;&lol;\">]>\n";
        let error = runs(&(entities.to_owned() + &document("<run name=\"x\">&lol2;</run>"))).unwrap_err();
        assert!(
            error.contains("r.xml:1: ") && error.contains("a document type with declarations"),
            "{error}"
        );
    }
}
