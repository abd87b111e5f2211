//! Certifies the values of a judgement: decides them with evidence that independent checkers accept, instance by instance,
//! and writes tables, overrides, alarms and bundles (docs/certification.md).

mod bundles;
mod examine;
mod outputs;
mod results;
mod tasks;
mod tool_evidence;
mod total;

pub use outputs::{Share, Skipped, Summary};
pub use tasks::Only;
pub use tool_evidence::ToolEvidence;
pub use total::{TotalInput, TotalSummary, certify_total};

use crate::Budget;
use mcc_base::names::RunId;
use mcc_base::{FileError, OnFile, digest};
use mcc_judge::judgement::Judgement;
use mcc_model::ArchiveError;
use mcc_store::{Record, RecordedOutput, StoreError};
use results::{InstanceResult, ResultsFolder};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tasks::Task;

/// Why values cannot be certified.
#[derive(Debug, thiserror::Error)]
pub enum CertificationError {
    /// A file or folder cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A folder or a file of it is refused: what, where, and a remedy.
    #[error("{0}")]
    Refused(String),
    /// The archive has another instance, other formulas than were judged, or they seem to be in another order.
    #[error("{0}")]
    WrongArchive(String),
    /// An archive cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The record cannot be read.
    #[error(transparent)]
    Record(#[from] StoreError),
    /// A result cannot be written as JSON.
    #[error("a result cannot be written as JSON: {0}")]
    Json(String),
    /// It was stopped.
    #[error("stopped; the same command continues")]
    Stopped,
    /// The work on an instance panicked.
    #[error(
        "a bug of mcc-harness ended the work on this instance; please report it with the message on standard error"
    )]
    Panic,
}

impl CertificationError {
    fn no_instance(folder: &Path) -> Self {
        Self::Refused(format!(
            "{}: no archive (INSTANCE.tgz) of a judged instance in this folder; give --instances the folder of archives",
            folder.display()
        ))
    }

    /// Whether only the values of one instance cannot be certified.
    fn is_of_instance(&self) -> bool {
        matches!(self, Self::Archive(_) | Self::WrongArchive(_) | Self::Panic)
    }
}

/// The outputs of the judged attempt at a run; none if the record has no such attempt.
fn judged_outputs(
    record: &Record,
    [entry, instance, examination]: [&str; 3],
) -> Result<Vec<RecordedOutput>, StoreError> {
    let Ok(run) = format!("{entry}/{instance}/{examination}").parse::<RunId>() else { return Ok(Vec::new()) };
    let judged = record.attempts_if_planned(&run)?.pop();
    Ok(judged.map_or(Vec::new(), |attempt| record.outputs(&attempt).collect()))
}

/// What is spent on each examination of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExaminationBudget {
    /// Seconds of CPU time for each examination on an instance. The examinations of an instance share their time.
    pub budget_s: u64,
    /// Millions of steps for each examination on an instance. None: time alone limits them.
    pub budget_msteps: Option<u64>,
    /// Memory for each instance, in MiB.
    pub memory_mib: u64,
}

impl ExaminationBudget {
    /// The budget of some examinations on an instance.
    fn for_all(self, examinations: usize, cancel: &AtomicBool) -> Budget<'_> {
        let examinations = examinations as u64;
        let steps = |steps: u64| steps.saturating_mul(1_000_000).saturating_mul(examinations);
        Budget {
            steps: self.budget_msteps.map_or(u64::MAX, steps),
            time: Duration::from_secs(self.budget_s.saturating_mul(examinations)),
            memory_bytes: self.memory_mib.saturating_mul(1 << 20),
            cancel,
        }
    }
}

/// What decides the results of a certification, in addition to the archives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Version of the mcc-harness.
    pub version: String,
    /// Digest of `judgement.json`.
    pub judgement_sha256: String,
    /// Which values are certified.
    pub only: Only,
    /// The budget of each examination.
    #[serde(flatten)]
    pub budget: ExaminationBudget,
}

impl Settings {
    fn difference(&self, now: &Self) -> String {
        let shown =
            |steps: Option<u64>| steps.map_or_else(|| "not given".to_owned(), |steps| steps.to_string());
        let (begun, new) = (self.budget, now.budget);
        let fields = [
            ("mcc-harness", &self.version, &now.version),
            ("the judgement", &self.judgement_sha256, &now.judgement_sha256),
            ("--only", &format!("{:?}", self.only).to_lowercase(), &format!("{:?}", now.only).to_lowercase()),
            ("--budget-msteps", &shown(begun.budget_msteps), &shown(new.budget_msteps)),
            ("--budget-s", &begun.budget_s.to_string(), &new.budget_s.to_string()),
            ("--memory-mib", &begun.memory_mib.to_string(), &new.memory_mib.to_string()),
        ];
        let differ = fields.iter().filter(|(_, begun, now)| begun != now);
        differ.map(|(name, begun, now)| format!("{name} {begun}, not {now}")).collect::<Vec<_>>().join("; ")
    }
}

/// What a certification is made of.
pub struct Input<'a> {
    /// The judgement whose values are certified.
    pub judgement: &'a Judgement,
    /// The folder with `judgement.json`, whose digest the results keep.
    pub judgement_dir: &'a Path,
    /// The folder of the archives (`INSTANCE.tgz`).
    pub instances: &'a Path,
    /// The record that was judged, for the outputs of tools.
    pub record: Option<&'a Record>,
    /// Whether the evidence of tools in the record is checked.
    pub tool_evidence: bool,
    /// Which values are certified.
    pub only: Only,
    /// The budget of each examination.
    pub budget: ExaminationBudget,
    /// Number of instances at once, at least 1.
    pub jobs: usize,
}

/// An instance is done.
#[derive(Clone, Debug)]
pub struct Progress {
    /// Name of the instance.
    pub instance: String,
    /// Number of instances that are done, with this one.
    pub done: usize,
    /// Number of all instances.
    pub all: usize,
    /// Number of its values that are decided.
    pub decided: usize,
    /// Number of its values.
    pub values: usize,
    /// Whether an earlier process had certified it.
    pub kept: bool,
    /// Why it was skipped, if it was.
    pub skipped: Option<String>,
}

/// Formulas are processed recursively.
const STACK: usize = 64 << 20;

/// Certifies the values of a judgement and writes all files to `out`. A killed certification is continued: instances that
/// have a result in `out` are not certified again.
///
/// An instance whose archive cannot be read, or is not the judged one, or that finds a bug of this program, is skipped; the
/// summary names it.
///
/// # Errors
/// The record cannot be read, `out` cannot be written or was begun with other settings, or `stop` was set.
pub fn certify(
    input: &Input<'_>,
    out: &Path,
    stop: &AtomicBool,
    progress: impl Fn(Progress) + Sync,
) -> Result<Summary, CertificationError> {
    let path = input.judgement_dir.join("judgement.json");
    let (judgement_sha256, _) = digest::file(&path).on("read", &path)?;
    let archives = archives(input.instances)?;
    let judgement = input.judgement;
    let archive_of = |instance: usize| archives.get(&judgement.instances[instance].instance);
    let tasks = tasks::tasks(judgement, input.only, |instance| archive_of(instance).is_some());
    if !judgement.instances.iter().any(|known| archives.contains_key(&known.instance)) {
        return Err(CertificationError::no_instance(input.instances));
    }
    let settings = Settings {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        judgement_sha256,
        only: input.only,
        budget: input.budget,
    };
    let folder = ResultsFolder::open(out, &settings)?;
    let all = tasks.len();
    let queue: Mutex<VecDeque<Task>> = Mutex::new(tasks.into());
    let results: Mutex<BTreeMap<usize, Result<InstanceResult, String>>> = Mutex::new(BTreeMap::new());
    let failed: Mutex<Option<CertificationError>> = Mutex::new(None);
    let work = || {
        while !stop.load(Ordering::Relaxed) {
            let Some(task) = lock(&queue).pop_front() else { return };
            let Some(path) = archive_of(task.instance) else { continue };
            let (result, kept) = match unless_panic(|| instance(input, &folder, &task, path, stop)) {
                Ok((result, kept)) => (Ok(result), kept),
                Err(error) if error.is_of_instance() => (Err(error.to_string()), false),
                Err(error) => {
                    lock(&failed).get_or_insert(error);
                    stop.store(true, Ordering::Relaxed);
                    return;
                }
            };
            let values = result.iter().flat_map(|result| &result.examinations).flat_map(|one| &one.values);
            let (decided, values) =
                values.fold((0, 0), |(d, v), value| (d + usize::from(value.method.is_some()), v + 1));
            let instance = judgement.instances[task.instance].instance.clone();
            let skipped = result.as_ref().err().cloned();
            let done = {
                let mut results = lock(&results);
                results.insert(task.instance, result);
                results.len()
            };
            progress(Progress { instance, done, all, decided, values, kept, skipped });
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..input.jobs.max(1) {
            let thread = std::thread::Builder::new().stack_size(STACK);
            if let Err(source) = thread.spawn_scoped(scope, work) {
                lock(&failed)
                    .get_or_insert(FileError { action: "write", path: out.to_owned(), source }.into());
            }
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    match failed {
        Some(error) => return Err(error),
        None if results.len() < all => return Err(CertificationError::Stopped),
        None => {}
    }
    let mut outputs = outputs::write(judgement, &results, &folder)?;
    outputs.summary.instances_without_archive =
        tasks::tasks(judgement, input.only, |instance| archive_of(instance).is_none()).len();
    bundles::write(input, &outputs.alarms, &archives, &folder)?;
    if let (true, Some(record)) = (input.tool_evidence, input.record) {
        let checked =
            with_large_stack(|| tool_evidence::check(input, record, &archives, &results, &folder, stop));
        outputs.summary.tool_evidence = Some(checked.on("write", out)??);
    }
    Ok(outputs.summary)
}

/// Runs `work` in a thread with a stack for deep formulas.
fn with_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work)?;
        thread.join().map_err(|_| io::Error::other("a check ended with a panic"))
    })
}

/// The result of the work on an instance. A panic in it is an error of this instance, so that the others are certified.
fn unless_panic<T>(work: impl FnOnce() -> Result<T, CertificationError>) -> Result<T, CertificationError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(CertificationError::Panic))
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The archives of a folder, or of an inputs disk, by name of the instance.
fn archives(folder: &Path) -> Result<BTreeMap<String, PathBuf>, CertificationError> {
    let packed = folder.join(mcc_base::files::ARCHIVES);
    let folder = if packed.is_dir() { &packed } else { folder };
    Ok(mcc_campaign::archives_in(folder).on("read", folder)?)
}

/// The result of an instance, and whether it was already in the folder.
fn instance(
    input: &Input<'_>,
    folder: &ResultsFolder,
    task: &Task,
    path: &Path,
    stop: &AtomicBool,
) -> Result<(InstanceResult, bool), CertificationError> {
    let (sha256, _) = digest::file(path).on("read", path).map_err(ArchiveError::from)?;
    let name = &input.judgement.instances[task.instance].instance;
    let questions = task.questions(input.judgement, input.only);
    if let Some(result) = folder.of_instance(name, &sha256, &questions)? {
        return Ok((result, true));
    }
    let result = examine::examine(input, folder, task, path, &sha256, stop)?;
    folder.keep(&result)?;
    Ok((result, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_of_its_instance_only() {
        let error = unless_panic::<()>(|| panic!("expected by this test")).unwrap_err();
        assert!(error.is_of_instance(), "{error}");
        let error = unless_panic::<()>(|| Err(CertificationError::Stopped)).unwrap_err();
        assert!(!error.is_of_instance(), "{error}");
        assert_eq!(unless_panic(|| Ok(1)).unwrap(), 1);
    }
}
