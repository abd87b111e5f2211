//! What is known of answers, to hold a tool's claims against.

use crate::benchkit::{Answers, Questions, Reading, Value};
use crate::judge::oracle::file_name;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Known values: `trusted.csv` of a judgement, or a folder with `<Instance>.csv` (its columns but the first), or with
/// outputs to believe in, `<Instance>-<Examination>.out`.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    /// By instance and examination, then id.
    rows: BTreeMap<(String, String), BTreeMap<String, Value>>,
    folder: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum OracleError {
    #[error("{}: {source}; give trusted.csv of a judgement, or a folder of <Instance>.csv or <Instance>-<Examination>.out",
        path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}: {message}; the columns needed are instance (in a file of its own: none), examination, id, value",
        path.display())]
    Row { path: PathBuf, message: String },
}

#[derive(Deserialize)]
struct Row {
    instance: Option<String>,
    examination: String,
    id: String,
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
        for item in path.read_dir().map_err(io)? {
            let file = item.map_err(io)?.path();
            if file.extension().is_some_and(|extension| extension == "csv") {
                let instance = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                oracle.read(&file, Some(&instance))?;
            }
        }
        Ok(oracle)
    }

    fn read(&mut self, path: &Path, of: Option<&str>) -> Result<(), OracleError> {
        let row = |message: String| OracleError::Row { path: path.to_owned(), message };
        let mut rows = csv::Reader::from_path(path).map_err(|error| row(error.to_string()))?;
        for read in rows.deserialize() {
            let Row { instance, examination, id, value } = read.map_err(|error| row(error.to_string()))?;
            let instance = instance.or_else(|| of.map(str::to_owned));
            let instance = instance.ok_or_else(|| row("no column instance".to_owned()))?;
            // Empty: unknown.
            if !value.is_empty() {
                let value = value.parse().map_err(|error| row(format!("{id}: {error}")))?;
                self.rows.entry((instance, examination)).or_default().insert(id, value);
            }
        }
        Ok(())
    }

    /// What is known, by position.
    ///
    /// # Errors
    /// An output to believe in cannot be read.
    pub fn of(&self, instance: &str, questions: &Questions) -> Result<Vec<Option<Value>>, OracleError> {
        let ids = questions.ids.as_deref().unwrap_or_default();
        let key = (instance.to_owned(), questions.examination.clone());
        if let Some(known) = self.rows.get(&key) {
            return Ok(ids.iter().map(|id| known.get(id).cloned()).collect());
        }
        let names = [
            format!("{instance}-{}.out", questions.examination),
            // As the published oracles abbreviate.
            file_name(instance, &questions.examination),
        ];
        for name in names {
            let Some(folder) = &self.folder else { break };
            let path = folder.join(name);
            if path.is_file() {
                let reading = Reading { strict: false, published: true };
                let read = File::open(&path).and_then(|file| Answers::read_file(&file, questions, reading));
                return match read {
                    Ok(answers) => Ok(answers.values),
                    Err(source) => Err(OracleError::Io { path, source }),
                };
            }
        }
        Ok(vec![None; ids.len()])
    }
}
