//! The results of certified instances, in a folder that a killed `certify` continues.

use super::{CertificationError, Settings};
use mcc_base::files::LockedFile;
use mcc_base::{OnFile, files, text};
use mcc_judge::certified::{CertifiedValue, Method};
use mcc_judge::evidence_statements::Evidenced;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The folder of the results, with one file for each instance.
const RESULTS: &str = "results";
/// The folder of the evidence, with one folder for each instance.
pub const EVIDENCE: &str = "evidence";
const SETTINGS: &str = "settings.json";

/// What is known about one value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueResult {
    /// The position in the examination, counted from 0 in the order of the property ids.
    pub position: usize,
    /// The property id; for StateSpace the name of the number.
    pub id: String,
    /// How it is certified; None if it is open.
    pub method: Option<Method>,
    /// The certified value as text (`CertifiedValue`); empty if it is open.
    pub value: String,
    /// The files of the evidence in the folder of the certification, separated by blanks.
    pub evidence: String,
    /// What the evidence is, or why the value is open.
    pub detail: String,
}

impl ValueResult {
    /// The certified value, if there is one.
    pub fn certified(&self) -> Option<(Method, CertifiedValue)> {
        Some((self.method?, self.value.parse().ok()?))
    }

    /// Compares the value with what the files of its evidence in `folder` state.
    fn compare(&self, instance: &str, examination: &str, folder: &Path) -> Result<(), String> {
        let Self { position, id, method, value, evidence, .. } = self;
        let Some(method) = *method else {
            let is_open = value.is_empty() && evidence.is_empty();
            return if is_open { Ok(()) } else { Err(format!("the value `{value}` has no method")) };
        };
        let value = &value.parse()?;
        Evidenced { instance, examination, position: *position, id, method, value, evidence }.compare(folder)
    }
}

/// The results of an examination on an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExaminationResult {
    /// The name of the examination.
    pub examination: String,
    /// Its values, by position; those that were not wanted are missing.
    pub values: Vec<ValueResult>,
}

/// The results of an instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstanceResult {
    /// The name of the instance.
    pub instance: String,
    /// The digest of its archive.
    pub archive_sha256: String,
    /// Whether the judgement has no property ids, so that positions were matched by the order of the ids in the archive.
    pub by_order: bool,
    /// One result for each judged examination that has a wanted value.
    pub examinations: Vec<ExaminationResult>,
}

impl InstanceResult {
    /// Whether it has one value for each of these questions, in their order.
    fn answers(&self, questions: &[(&str, Vec<(usize, String)>)]) -> bool {
        self.examinations.len() == questions.len()
            && self.examinations.iter().zip(questions).all(|(result, (examination, positions))| {
                result.examination == *examination
                    && result.values.len() == positions.len()
                    && result.values.iter().zip(positions).all(|(value, (position, id))| {
                        value.position == *position && (id.is_empty() || value.id == *id)
                    })
            })
    }
}

/// The folder of a certification, locked by this process.
pub struct ResultsFolder {
    dir: PathBuf,
    _lock: LockedFile,
}

impl ResultsFolder {
    /// Opens or creates the folder. Temporary files of a killed process are removed.
    ///
    /// # Errors
    /// The folder is in use, was begun with other settings, holds other files, or cannot be written.
    pub fn open(dir: &Path, settings: &Settings) -> Result<Self, CertificationError> {
        fs::create_dir_all(dir).on("write", dir)?;
        let known = dir.join(SETTINGS);
        let is_foreign = |name: &str| !name.starts_with(".tmp") && name != "lock";
        if !known.exists() {
            for item in fs::read_dir(dir).on("write", dir)? {
                let name = item.on("write", dir)?.file_name().to_string_lossy().into_owned();
                if is_foreign(&name) {
                    return Err(CertificationError::Refused(format!(
                        "{}: not empty, and `{name}` in it is not part of a certification; give another --out",
                        dir.display()
                    )));
                }
            }
        }
        let path = dir.join("lock");
        let Some(lock) = files::lock(&path).on("lock", &path)? else {
            let dir = dir.display();
            return Err(CertificationError::Refused(format!(
                "{dir}: another `certify` uses this folder; wait for it, or give another --out"
            )));
        };
        let folder = Self { dir: dir.to_owned(), _lock: lock };
        folder.remove_temporary_files(dir, 2)?;
        if known.exists() {
            let text = read(&known)?;
            let begun: Settings = parse(&text, &known)?;
            if text != json(&begun)?.into_bytes() {
                return Err(damaged(&known, 1, "it has other keys or another form than certify writes"));
            }
            if begun != *settings {
                return Err(CertificationError::Refused(format!(
                    "{} was begun with {}; give another --out, or the same judgement and options",
                    dir.display(),
                    begun.difference(settings)
                )));
            }
        } else {
            folder.write(SETTINGS, &json(settings)?)?;
        }
        // After the settings: a folder without them must hold nothing else.
        for name in [RESULTS, EVIDENCE] {
            let path = dir.join(name);
            fs::create_dir_all(&path).on("write", &path)?;
        }
        Ok(folder)
    }

    /// Refuses links: files would be written outside of the folder.
    fn remove_temporary_files(&self, folder: &Path, depth: usize) -> Result<(), CertificationError> {
        for item in fs::read_dir(folder).on("read", folder)? {
            let item = item.on("read", folder)?;
            let (path, kind) = (item.path(), item.file_type().on("read", folder)?);
            if kind.is_symlink() {
                let linked = io::Error::other("it is a symbolic link; remove it");
                return Err(linked).on("write", path).map_err(Into::into);
            }
            if kind.is_dir() && depth > 0 {
                self.remove_temporary_files(&path, depth - 1)?;
            } else if item.file_name().to_string_lossy().starts_with(".tmp") {
                fs::remove_file(&path).on("remove", path)?;
            }
        }
        Ok(())
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.dir
    }

    /// Writes a file of the folder under a temporary name and renames it; folders on the way are created.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, name: &str, content: &str) -> Result<(), CertificationError> {
        let path = self.dir.join(name);
        let folder = path.parent().unwrap_or(&self.dir);
        Ok(fs::create_dir_all(folder).and_then(|()| text::write(&path, content)).on("write", path)?)
    }

    /// As `write`, for evidence, of which an instance can have a file for each of its places: `keep` syncs all of it.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write_evidence(&self, name: &str, content: &str) -> Result<(), CertificationError> {
        let path = self.dir.join(name);
        let folder = path.parent().unwrap_or(&self.dir);
        let written = fs::create_dir_all(folder).and_then(|()| text::write_unsynced(&path, content));
        Ok(written.on("write", path)?)
    }

    /// The result of an instance; None if it has none yet. `questions`: its examinations with positions and ids (empty: not
    /// known).
    ///
    /// # Errors
    /// The file cannot be read, is of another archive, has other questions, or a value of it is not what the files of its
    /// evidence state.
    pub fn of_instance(
        &self,
        instance: &str,
        archive_sha256: &str,
        questions: &[(&str, Vec<(usize, String)>)],
    ) -> Result<Option<InstanceResult>, CertificationError> {
        let path = self.result_path(instance);
        if !path.exists() {
            return Ok(None);
        }
        let result: InstanceResult = read_json(&path)?;
        if result.archive_sha256 != archive_sha256 {
            return Err(CertificationError::Refused(format!(
                "{}: was made from another archive of {instance}; give another --out, or restore the archive",
                path.display()
            )));
        }
        let changed = |problem: String| {
            CertificationError::Refused(format!(
                "{}: {problem}; this file or the evidence was changed: remove this file, and its values are certified again",
                path.display()
            ))
        };
        if result.instance != instance || !result.answers(questions) {
            return Err(changed(format!("it does not have the values of {instance} that are certified")));
        }
        for ExaminationResult { examination, values } in &result.examinations {
            for value in values {
                value
                    .compare(instance, examination, &self.dir)
                    .map_err(|problem| changed(format!("{examination} {:02}: {problem}", value.position)))?;
            }
        }
        Ok(Some(result))
    }

    /// Keeps the result of an instance, after its evidence.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&self, result: &InstanceResult) -> Result<(), CertificationError> {
        // One call for all evidence: a sync of each file would take minutes.
        let sync = || nix::unistd::syncfs(File::open(&self.dir)?).map_err(io::Error::from);
        sync().on("sync", &self.dir)?;
        self.write(&format!("{RESULTS}/{}.json", result.instance), &json(result)?)
    }

    fn result_path(&self, instance: &str) -> PathBuf {
        self.dir.join(RESULTS).join(format!("{instance}.json"))
    }
}

/// A value as JSON that ends with a line end.
pub fn json<T: Serialize>(value: &T) -> Result<String, CertificationError> {
    Ok(serde_json::to_string_pretty(value).map_err(|error| CertificationError::Json(error.to_string()))?
        + "\n")
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, CertificationError> {
    parse(&read(path)?, path)
}

fn read(path: &Path) -> Result<Vec<u8>, CertificationError> {
    let mut bytes = Vec::new();
    files::open_own(path).and_then(|mut file| file.read_to_end(&mut bytes)).on("read", path)?;
    Ok(bytes)
}

fn parse<T: DeserializeOwned>(text: &[u8], path: &Path) -> Result<T, CertificationError> {
    serde_json::from_slice(text).map_err(|error| damaged(path, error.line(), error))
}

/// The error of a file that is not as it was written.
fn damaged(path: &Path, line: usize, reason: impl std::fmt::Display) -> CertificationError {
    let path = path.display();
    CertificationError::Refused(format!(
        "{path}:{line}: {reason}; remove the file: its values are then certified again"
    ))
}

#[cfg(test)]
mod tests {
    use super::super::{ExaminationBudget, Only};
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn no_file_outside_of_the_folder_is_written_through_a_link() {
        let budget = ExaminationBudget { budget_msteps: None, budget_s: 1, memory_mib: 1 };
        let (version, judgement_sha256) = ("0".to_owned(), String::new());
        let settings = Settings { version, judgement_sha256, only: Only::All, budget };
        for name in ["lock", EVIDENCE, RESULTS, "evidence/A-PT-1"] {
            let folder = tempfile::tempdir().unwrap();
            let (outside, dir) = (folder.path().join("outside"), folder.path().join("certified"));
            drop(ResultsFolder::open(&dir, &settings).unwrap());
            fs::write(&outside, "kept").unwrap();
            let path = dir.join(name);
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
            symlink(&outside, &path).unwrap();
            let message = ResultsFolder::open(&dir, &settings).err().unwrap().to_string();
            assert!(message.contains(name) && message.contains("symbolic link"), "{message}");
            assert_eq!(fs::read_to_string(&outside).unwrap(), "kept");
        }
    }
}
