//! Known answers, with which the answers of a tool are compared.

use mcc_base::text::counted;
use mcc_base::{FileError, OnFile, files};
use mcc_campaign::benchkit::published::{Table, TableError};
use mcc_campaign::benchkit::{Answers, Questions, Reading, Value};
use mcc_edition::{AnswerKind, Examination};
use mcc_judge::oracle;
use mcc_model::Severity;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Known values: `trusted.csv` of a judgement, or a folder with tables `INSTANCE.csv` (the same columns without
/// `instance`) or with outputs that have right answers, `INSTANCE-SHORT.out` or `INSTANCE-EXAMINATION.out`.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    /// By instance and examination, with the table that they are from.
    rows: BTreeMap<(String, String), (PathBuf, Rows)>,
    folder: Option<PathBuf>,
    /// One text for each table with bad rows.
    pub unread: Vec<String>,
}

/// The values of an examination on an instance. None: rows contradict each other.
type Rows = BTreeMap<ValueKey, Option<Value>>;

/// The known values of one examination on an instance.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The values by position.
    pub values: Vec<Option<Value>>,
    /// The file, or the folder, that they are from; None: there is none.
    pub file: Option<PathBuf>,
    /// A text about bad lines of the file.
    pub unread: Option<String>,
}

/// The key of a value. Judgements of published tables have positions, but no ids.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ValueKey {
    Id(String),
    Position(usize),
}

impl fmt::Display for ValueKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => out.write_str(id),
            Self::Position(position) => write!(out, "position {position}"),
        }
    }
}

/// Why an oracle cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OracleError {
    /// An oracle file in the published form cannot be read.
    #[error(transparent)]
    File(#[from] oracle::OracleError),
    /// The folder has no file of an oracle.
    #[error("{} has no file INSTANCE.csv and no oracle file, such as TokenRing-PT-005-CTLC.out; give the folder of an oracle", .0.display())]
    Empty(PathBuf),
    /// A file cannot be read.
    #[error(
        "{0}; give trusted.csv of a judgement, or a folder of INSTANCE.csv or of oracle files, such as TokenRing-PT-005-CTLC.out"
    )]
    Read(#[from] FileError),
    /// A table cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A table has other columns.
    #[error("{}: {message}; the required columns are instance (not in INSTANCE.csv), examination, id (or position), value",
        path.display())]
    Row {
        /// The file or folder.
        path: PathBuf,
        /// The problem.
        message: String,
    },
}

#[derive(Deserialize)]
struct Row {
    instance: Option<String>,
    examination: String,
    id: String,
    position: Option<usize>,
    value: String,
}

impl Oracle {
    /// Opens a table or a folder.
    ///
    /// # Errors
    /// The path cannot be read, or a table has other columns or is not well-formed (a quote is not closed, a row has another
    /// number of columns). Bad rows are not errors, but are described in `unread`.
    pub fn open(path: &Path) -> Result<Self, OracleError> {
        if !path.metadata().on("read", path)?.is_dir() {
            let mut oracle = Self::default();
            oracle.read(path, None)?;
            return Ok(oracle);
        }
        let mut oracle = Self { folder: Some(path.to_owned()), ..Self::default() };
        let mut is_empty = true;
        let files: io::Result<Vec<PathBuf>> =
            path.read_dir().on("read", path)?.map(|item| Ok(item?.path())).collect();
        let mut files = files.on("read", path)?;
        // The texts about bad rows are the same on each host.
        files.sort_unstable();
        for file in files {
            let extension = file.extension().unwrap_or_default();
            is_empty &= extension != "csv" && extension != "out";
            if extension == "csv" {
                let instance = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                oracle.read(&file, Some(&instance))?;
            }
        }
        if is_empty { Err(OracleError::Empty(path.to_owned())) } else { Ok(oracle) }
    }

    fn read(&mut self, path: &Path, file_instance: Option<&str>) -> Result<(), OracleError> {
        let row = |message: String| OracleError::Row { path: path.to_owned(), message };
        let mut table = Table::open_small(path)?;
        let columns = csv::StringRecord::from(table.header());
        let needed =
            ["examination", "id", "value"].into_iter().chain(file_instance.is_none().then_some("instance"));
        for column in needed {
            if !columns.iter().any(|known| known == column) {
                return Err(row(format!("no column {column}")));
            }
        }
        let mut bad = vec![];
        table.each_row(|row| {
            let line = row.position().map_or(0, csv::Position::line);
            let added = row
                .deserialize::<Row>(Some(&columns))
                .map_err(|error| error.to_string())
                .and_then(|row| self.add_row(path, file_instance, row));
            bad.extend(added.err().map(|message| (line, message)));
            Ok(())
        })?;
        if let Some((line, message)) = bad.first() {
            self.unread.push(unread(&format!("{}:{line}: {message}", path.display()), bad.len()));
        }
        Ok(())
    }

    /// Adds a row of a table. The error says why it is a bad row.
    fn add_row(&mut self, path: &Path, file_instance: Option<&str>, row: Row) -> Result<(), String> {
        let Row { instance, examination, id, position, value } = row;
        let instance = instance.or_else(|| file_instance.map(str::to_owned));
        let instance = instance.ok_or_else(|| "the instance is missing".to_owned())?;
        // An empty value is unknown.
        if value.is_empty() {
            return Ok(());
        }
        let value: Value = value.parse().map_err(|error| format!("{id}: {error}"))?;
        let place = match position {
            Some(position) if id.is_empty() => ValueKey::Position(position),
            _ => ValueKey::Id(id),
        };
        let known = self.rows.entry((instance, examination));
        let known = &mut known.or_insert_with(|| (path.to_owned(), BTreeMap::new())).1;
        match known.get_mut(&place) {
            Some(earlier) if earlier.as_ref() != Some(&value) => {
                *earlier = None;
                return Err(format!("{place}: {value} contradicts an earlier row; it is unknown"));
            }
            Some(_) => {}
            None => {
                known.insert(place, Some(value));
            }
        }
        Ok(())
    }

    /// The known values of an examination. An infinite count in StateSpace is unknown: the number was too large for the
    /// program that wrote the oracle. A value that the examination cannot have is a bad line.
    ///
    /// # Errors
    /// A file of the oracle cannot be read.
    pub fn known(&self, instance: &str, questions: &Questions) -> Result<Known, OracleError> {
        let mut known = self.stated(instance, questions)?;
        let mut bad = vec![];
        for (position, place) in known.values.iter_mut().enumerate() {
            let Some(value) = place else { continue };
            match (questions.answers, &*value) {
                (AnswerKind::Boolean, Value::True | Value::False)
                | (AnswerKind::Number | AnswerKind::StateSpace, Value::Number(_) | Value::Rounded { .. })
                | (AnswerKind::Number, Value::Infinite) => continue,
                (_, Value::Overflow) | (AnswerKind::StateSpace, Value::Infinite) => {}
                _ => {
                    let id = questions.ids.as_deref().and_then(|ids| ids.get(position));
                    let id = id.filter(|id| !id.is_empty());
                    let shown = id.map_or_else(|| format!("position {position}"), Clone::clone);
                    bad.push(format!("{shown}: {value} is not a value of {}", questions.examination));
                }
            }
            *place = None;
        }
        if let Some(first) = bad.first() {
            let file = known.file.as_deref().unwrap_or(Path::new(""));
            let wrong = unread(&format!("{}: {first}", file.display()), bad.len());
            known.unread = Some(known.unread.map_or(wrong.clone(), |before| format!("{before}; {wrong}")));
        }
        Ok(known)
    }

    fn stated(&self, instance: &str, questions: &Questions) -> Result<Known, OracleError> {
        let ids = questions.ids.as_deref().unwrap_or_default();
        let key = (instance.to_owned(), questions.examination.clone());
        if let Some((file, known)) = self.rows.get(&key) {
            let mut bad = vec![];
            let value = |(position, id): (usize, &String)| {
                let keys = [ValueKey::Id(id.clone()), ValueKey::Position(position)];
                match keys.each_ref().map(|key| known.get(key)) {
                    [Some(one), Some(other)] if one != other => {
                        bad.push(keys);
                        None
                    }
                    [one, other] => one.or(other).cloned().flatten(),
                }
            };
            let values = ids.iter().enumerate().map(value).collect();
            let unread = bad.first().map(|[id, position]| {
                let first = format!("{}: {id}: its value contradicts that of {position}", file.display());
                unread(&first, bad.len())
            });
            return Ok(Known { values, file: Some(file.clone()), unread });
        }
        let nothing = || Known { values: vec![None; ids.len()], ..Known::default() };
        let Some(folder) = &self.folder else { return Ok(nothing()) };
        let path = folder.join(format!("{instance}-{}.out", questions.examination));
        if path.is_file() {
            let reading = Reading { strict: false, published: true };
            let read = files::open(&path).and_then(|file| Answers::read_file(&file, questions, reading));
            let answers = read.on("read", &path)?;
            let bad = || answers.anomalies.iter().filter(|anomaly| anomaly.severity == Severity::Error);
            let unread = bad()
                .next()
                .map(|first| unread(&format!("{}:{}: {}", path.display(), first.line, first), bad().count()));
            return Ok(Known { values: answers.values, file: Some(path), unread });
        }
        // The abbreviated form of the published oracles; their ids may differ from those of the instance.
        let Questions { examination, answers, values, .. } = questions;
        let examination = Examination { name: examination.clone(), answers: *answers, values: *values };
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let known = oracle::read(folder, instance, &examination, &ids)?;
        Ok(known.map_or_else(nothing, |(values, bad)| Known {
            values,
            file: Some(folder.clone()),
            unread: bad.first().map(|first| unread(&first.to_string(), bad.len())),
        }))
    }
}

/// A text with the first bad line of a file and the number of bad lines.
fn unread(first: &str, lines: usize) -> String {
    match lines {
        1 => first.to_owned(),
        lines => format!("{first}; and {}", counted(lines - 1, "more bad line")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_edition::Edition;

    #[test]
    fn values_that_contradict_each_other_are_unknown_in_each_order() {
        let edition = Edition::load("mcc-2018").unwrap();
        let examination = edition.examinations.iter().find(|e| e.name == "CTLCardinality").unwrap();
        let ids = Some(vec!["A".to_owned(), "B".to_owned()]);
        let questions = Questions { ids, ..Questions::as_printed(examination) };
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().display();
        let read = |rows: &str| {
            let header = "instance,examination,position,id,value";
            let rows = rows.split(' ').map(|row| format!("I,CTLCardinality,{row}"));
            let text: Vec<String> = std::iter::once(header.to_owned()).chain(rows).collect();
            std::fs::write(&file, text.join("\n")).unwrap();
            let oracle = Oracle::open(file.path()).unwrap();
            let known = oracle.known("I", &questions).unwrap();
            (known.values, oracle.unread.into_iter().chain(known.unread).collect::<Vec<String>>())
        };
        let certain = (vec![Some(Value::True), Some(Value::False)], vec![]);
        assert_eq!(read("0,A,T 1,B,F 0,A,T 0,,T"), certain);
        let unknown = |text: &str| (vec![None, Some(Value::False)], vec![format!("{path}:{text}")]);
        assert_eq!(read("0,A,T 1,B,F 0,A,F"), unknown("4: A: F contradicts an earlier row; it is unknown"));
        assert_eq!(read("0,A,F 1,B,F 0,A,T"), unknown("4: A: T contradicts an earlier row; it is unknown"));
        let more = "3: position 0: F contradicts an earlier row; it is unknown; and 1 more bad line";
        assert_eq!(read("0,,T 0,,F 0,,T 1,B,F"), unknown(more));
        assert_eq!(read("0,A,T 1,B,F 0,,F"), unknown(" A: its value contradicts that of position 0"));
    }

    #[test]
    fn a_value_of_another_kind_is_a_bad_line_and_an_infinite_count_is_unknown() {
        let edition = Edition::load("mcc-2018").unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let read = |name: &str, value: &str| {
            std::fs::write(&file, format!("instance,examination,id,value\nI,{name},A,{value}\n")).unwrap();
            let (_, examination) = edition.examination(name).unwrap();
            let questions =
                Questions { ids: Some(vec!["A".to_owned()]), ..Questions::as_printed(examination) };
            let known = Oracle::open(file.path()).unwrap().known("I", &questions).unwrap();
            (known.values[0].is_some(), known.unread)
        };
        let good = [("StateSpace", "7"), ("UpperBounds", "inf"), ("CTLCardinality", "F")];
        for (name, value) in good.into_iter().chain([("UpperBounds", "1.0000E+0006")]) {
            assert_eq!(read(name, value), (true, None), "{name} {value}");
        }
        for (name, value) in [("StateSpace", "inf"), ("StateSpace", "Inf"), ("CTLCardinality", "Inf")] {
            assert_eq!(read(name, value), (false, None), "{name} {value}");
        }
        for (name, value) in [("StateSpace", "T"), ("CTLCardinality", "5"), ("CTLCardinality", "X")] {
            let (known, bad) = read(name, value);
            let bad = bad.unwrap_or_default();
            assert!(!known && bad.ends_with(&format!(": A: {value} is not a value of {name}")), "{bad}");
        }
    }

    #[test]
    fn an_unclosed_quote_in_an_oracle_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&file, "instance,examination,id,value\nI,StateSpace,A,\"7\nI,StateSpace,B,8\n")
            .unwrap();
        let error = Oracle::open(file.path()).unwrap_err().to_string();
        assert!(error.contains(":2: a quote is not closed"), "{error}");
    }

    #[test]
    fn tables_of_a_folder_are_read_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..30 {
            let path = folder.path().join(format!("A-{:02}.csv", number * 7 % 30));
            std::fs::write(path, "examination,id,value\nStateSpace,STATES,many\n").unwrap();
        }
        let unread = Oracle::open(folder.path()).unwrap().unread;
        assert!(unread.len() == 30 && unread.is_sorted(), "{unread:#?}");
    }
}
