//! What is known of answers, to hold a tool's claims against.

use crate::benchkit::{Answers, Questions, Reading, Value};
use crate::edition::Examination;
use crate::judge::oracle;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Known values: `trusted.csv` of a judgement, or a folder with `<Instance>.csv` (its columns but the first), or with
/// outputs to believe in, `<Instance>-<Examination>.out`.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    /// By instance and examination.
    rows: BTreeMap<(String, String), BTreeMap<Place, Value>>,
    folder: Option<PathBuf>,
}

/// Which value: a judgement of a published table knows no ids.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Id(String),
    Position(usize),
}

#[derive(Debug, thiserror::Error)]
pub enum OracleError {
    #[error(transparent)]
    File(#[from] oracle::OracleError),
    #[error("{} has no file <Instance>.csv or <Instance>-<Examination>.out; is it the folder of an oracle?", .0.display())]
    Empty(PathBuf),
    #[error("{}: {source}; give trusted.csv of a judgement, or a folder of <Instance>.csv or <Instance>-<Examination>.out",
        path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}: {message}; the columns needed are instance (in a file of its own: none), examination, id (or position), value",
        path.display())]
    Row { path: PathBuf, message: String },
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
    /// # Errors
    /// The path cannot be read, or a row is not one of such a table.
    pub fn open(path: &Path) -> Result<Self, OracleError> {
        let io = |source| OracleError::Io { path: path.to_owned(), source };
        if !path.metadata().map_err(io)?.is_dir() {
            let mut oracle = Self::default();
            oracle.read(path, None)?;
            return Ok(oracle);
        }
        let mut oracle = Self { folder: Some(path.to_owned()), ..Self::default() };
        let mut is_empty = true;
        for item in path.read_dir().map_err(io)? {
            let file = item.map_err(io)?.path();
            let extension = file.extension().unwrap_or_default();
            is_empty &= extension != "csv" && extension != "out";
            if extension == "csv" {
                let instance = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                oracle.read(&file, Some(&instance))?;
            }
        }
        match is_empty {
            true => Err(OracleError::Empty(path.to_owned())),
            false => Ok(oracle),
        }
    }

    fn read(&mut self, path: &Path, of: Option<&str>) -> Result<(), OracleError> {
        let row = |message: String| OracleError::Row { path: path.to_owned(), message };
        let mut rows = csv::Reader::from_path(path).map_err(|error| row(error.to_string()))?;
        for read in rows.deserialize() {
            let Row { instance, examination, id, position, value } =
                read.map_err(|error| row(error.to_string()))?;
            let instance = instance.or_else(|| of.map(str::to_owned));
            let instance = instance.ok_or_else(|| row("no column instance".to_owned()))?;
            // Empty: unknown.
            if !value.is_empty() {
                let value = value.parse().map_err(|error| row(format!("{id}: {error}")))?;
                let place = match position {
                    Some(position) if id.is_empty() => Place::Position(position),
                    _ => Place::Id(id),
                };
                self.rows.entry((instance, examination)).or_default().insert(place, value);
            }
        }
        Ok(())
    }

    /// What is known, by position. `Inf` in StateSpace is not known: the number was too large for the oracle's writer.
    ///
    /// # Errors
    /// An output to believe in cannot be read.
    pub fn of(&self, instance: &str, questions: &Questions) -> Result<Vec<Option<Value>>, OracleError> {
        let mut known = self.stated(instance, questions)?;
        known.iter_mut().for_each(|value| *value = value.take().filter(|value| *value != Value::Overflow));
        Ok(known)
    }

    fn stated(&self, instance: &str, questions: &Questions) -> Result<Vec<Option<Value>>, OracleError> {
        let ids = questions.ids.as_deref().unwrap_or_default();
        let key = (instance.to_owned(), questions.examination.clone());
        if let Some(known) = self.rows.get(&key) {
            let of = |(position, id): (usize, &String)| {
                known.get(&Place::Id(id.clone())).or_else(|| known.get(&Place::Position(position))).cloned()
            };
            return Ok(ids.iter().enumerate().map(of).collect());
        }
        let Some(folder) = &self.folder else { return Ok(vec![None; ids.len()]) };
        let path = folder.join(format!("{instance}-{}.out", questions.examination));
        if path.is_file() {
            let reading = Reading { strict: false, published: true };
            let read = File::open(&path).and_then(|file| Answers::read_file(&file, questions, reading));
            return match read {
                Ok(answers) => Ok(answers.values),
                Err(source) => Err(OracleError::Io { path, source }),
            };
        }
        // As the published oracles abbreviate; their ids need not be those of the instance.
        let Questions { examination, answers, values, .. } = questions;
        let examination = Examination { name: examination.clone(), answers: *answers, values: *values };
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let known = oracle::read(folder, instance, &examination, &ids)?;
        Ok(known.unwrap_or_else(|| vec![None; ids.len()]))
    }
}
