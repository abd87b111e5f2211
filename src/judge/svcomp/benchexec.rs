//! BenchExec's result XML as a stream: a header, then one run after another. What is measured besides CPU and wall time,
//! custom scores and anything else in it are passed over.

use mcc_benchkit::published::{TableError, open};
use mcc_edition::fraction;
use mcc_model::xml::{Item, Xml, attribute};
use mcc_model::{ModelError, Problem};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Signed;
use std::collections::HashMap;
use std::io::BufReader;
use std::path::Path;

#[derive(Debug, thiserror::Error)]
pub enum ResultError {
    #[error(transparent)]
    Open(#[from] TableError),
    #[error(transparent)]
    Xml(#[from] ModelError),
    #[error("{file}:{line}: {message}")]
    Content { file: String, line: u64, message: String },
    /// Well-formed XML of another kind.
    #[error("{file}:{line}: <{root}> where <result> is expected; give result files as BenchExec writes them")]
    OtherXml { file: String, line: u64, root: String },
}

/// The attributes of `<result>`; empty where missing.
#[derive(Clone, Debug, Default)]
pub struct ResultHeader {
    pub benchmarkname: String,
    pub tool: String,
    /// The run definition; in a block's file `DEFINITION.BLOCK`.
    pub name: String,
    /// The set of tasks, which is the category in the contest's archives.
    pub block: String,
    pub date: String,
    pub timelimit: String,
    /// What broke off the experiment.
    pub error: String,
}

/// A `<run>` as it stands.
#[derive(Clone, Debug, Default)]
pub struct RawRun {
    pub line: u64,
    pub name: String,
    pub properties: String,
    pub expected: String,
    pub status: String,
    /// `correct`, `correct-unconfirmed`, `wrong`, `unknown`, `error`, `missing`, or empty.
    pub category: String,
    /// Seconds.
    pub cputime: Option<BigRational>,
    pub walltime: Option<BigRational>,
    /// Bytes.
    pub memory: Option<BigRational>,
}

impl ResultHeader {
    /// `text`: the value of an attribute of `<result>`.
    fn of(text: impl Fn(&str) -> String) -> Self {
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
}

impl RawRun {
    /// `text`: the value of an attribute of `<run>`.
    fn of(line: u64, text: impl Fn(&str) -> String) -> Self {
        let properties = match text("properties") {
            properties if properties.is_empty() => property_of_file(&text("propertyFile")),
            properties => properties,
        };
        let (name, expected) = (text("name"), text("expectedVerdict"));
        Self { line, name, properties, expected, ..Self::default() }
    }

    /// Takes a `<column>`. One may stand there twice; the first is BenchExec's own.
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

/// Reads the header alone.
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

/// Hands every run to `each`, whose error becomes one with file and line; `wants_runs` sees the header first.
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
    let mut seen: HashMap<(String, String), u64> = HashMap::new();
    loop {
        let item = xml.next()?;
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
                        let of = &run.name;
                        return Err(content(format!("the task {of} again, as in line {first}; keep one")));
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
                let wanted = wants_runs.take().is_none_or(|wants_runs| wants_runs(&ResultHeader::of(text)));
                if !wanted {
                    return Ok(());
                }
            }
            (1, other) => return Err(ResultError::OtherXml { file, line, root: other.to_owned() }),
            (2, "run") => {
                let new = RawRun::of(line, text);
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
            _ => {}
        }
    }
}

/// `../properties/unreach-call.prp` is `unreach-call`.
fn property_of_file(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.strip_suffix(".prp").unwrap_or(name).to_owned()
}

/// What a column holds, in what, the unit's letter, and an example.
type ColumnUnit = [&'static str; 4];
const SECONDS: ColumnUnit = ["time", "seconds", "s", "2.17s"];
const BYTES: ColumnUnit = ["memory", "bytes", "B", "133574656B"];

/// `2.169189428s`, also without the unit and with an exponent; nothing where nothing was measured.
fn number(text: &str, [what, words, unit, example]: ColumnUnit) -> Result<Option<BigRational>, String> {
    if matches!(text, "" | "None" | "-") {
        return Ok(None);
    }
    let wrong = || {
        let shown: String = text.chars().take(60).collect();
        format!("the {what} `{shown}` is no number of {words}; write it as BenchExec does, such as {example}")
    };
    let number = text.strip_suffix(unit).unwrap_or(text).trim();
    let (digits, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let exponent: i32 = exponent.parse().map_err(|_| wrong())?;
    let plain =
        !digits.is_empty() && digits.len() < 60 && digits.bytes().all(|c| c.is_ascii_digit() || c == b'.');
    let digits = fraction::parse(digits).filter(|_| plain && exponent.abs() <= 30).ok_or_else(wrong)?;
    let power = BigRational::from_integer(BigInt::from(10).pow(exponent.unsigned_abs()));
    let value = if exponent < 0 { digits / power } else { digits * power };
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
    fn times_and_memory_are_read_exactly_in_every_form_benchexec_writes() {
        let of = |text: &str, unit| number(text, unit).unwrap().map(|value| value.to_string());
        let exact = |text: &str| of(text, SECONDS);
        assert_eq!(exact("2.5s").as_deref(), Some("5/2"));
        assert_eq!(exact("900").as_deref(), Some("900"));
        assert_eq!(exact("8.5e-05s").as_deref(), Some("17/200000"));
        assert_eq!(exact(""), None);
        assert_eq!(of("133574656", BYTES), of("133574656B", BYTES));
        assert!(number("12MB", BYTES).unwrap_err().contains("the memory `12MB` is no number of bytes"));
        for wrong in ["fast", "inf", "nans", "1/2", "1e99", "1e", "--1s", "1.s"] {
            assert!(number(wrong, SECONDS).unwrap_err().contains("BenchExec"), "{wrong}");
        }
    }

    #[test]
    fn hostile_result_files_are_refused_with_line_and_remedy() {
        let document = |inside: &str| format!("<result tool=\"t\">\n{inside}\n</result>");
        let run = |name: &str, column: &str| format!("<run name=\"{name}\">{column}</run>");
        for (text, part) in [
            ("<benchmark/>".to_owned(), "r.xml:1: <benchmark> where <result> is expected"),
            (document("<run/>"), "r.xml:2: <run> without name; add it"),
            (document(&(run("a", "") + "\n" + &run("a", ""))), "r.xml:3: the task a again, as in line 2"),
            (document(&run("a", "\n<column title=\"cputime\" value=\"soon\"/>")), "r.xml:3: the time `soon`"),
            (document("<run name=\"&lol;\"/>"), "r.xml:2: not well-formed"),
            ("<result><run name=\"a\">".to_owned(), "the file ends inside an element"),
            (String::new(), "there is no element"),
        ] {
            let error = runs(&text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        let bomb = "<!DOCTYPE result [<!ENTITY lol \"lol\"><!ENTITY lol2 \"&lol;&lol;\">]>\n";
        let error = runs(&(bomb.to_owned() + &document("<run name=\"x\">&lol2;</run>"))).unwrap_err();
        assert!(error.contains("r.xml:3") && error.contains("lol2"), "{error}");
    }
}
