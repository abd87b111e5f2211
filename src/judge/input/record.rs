//! Reads results from a record: the last attempt of every recorded run, with the answers in its raw output. A score is
//! a pure function of the record (R5).

use super::run_results::{InstanceFacts, RunResult, RunResultError, RunResults};
use crate::judgement::{CAMPAIGN_FILE, Cost, Ending, Entry, InputDigest};
use mcc_base::Mark;
use mcc_base::digest;
use mcc_base::names::{ExaminationName, RunId};
use mcc_base::ordered_map::{Feed, all_cores, ordered_map};
use mcc_base::suggest::run_hint;
use mcc_campaign::Publication;
use mcc_campaign::benchkit::{Answers, Declaration, Questions, Reading};
use mcc_edition::{Edition, Examination};
use mcc_store::{
    ARCHIVE_FILE, Arrivals, Attempt, Instructions, Outcome, RECORD_FILE, Record, RunRecord, StoreError,
};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Why the results of a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The record cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A run does not fit the edition or the other runs.
    #[error(transparent)]
    RunResult(#[from] RunResultError),
    /// The raw output of a run cannot be read, or is not the recorded one.
    #[error("the output of {run} cannot be read: {}: {source}; restore the file", path.display())]
    Output {
        /// The run: entry, instance and examination.
        run: String,
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The edition in the record is not one of this version.
    #[error("{}: the edition of the record cannot be read: {source}; name one with --edition", path.display())]
    Edition {
        /// The database of the record.
        path: PathBuf,
        /// The error of the JSON parser.
        source: serde_json::Error,
    },
    /// The campaign file in the record states something about its publication that is not valid.
    #[error("the record's campaign.toml line {line}: {problem}")]
    Publication {
        /// The line, from 1.
        line: usize,
        /// What is not valid there, and the remedy.
        problem: String,
    },
    /// The campaign file in the record declares a failure class that is not valid.
    #[error("the record's campaign.toml: {0}")]
    FailureClass(String),
    /// The campaign has open runs.
    #[error(
        "{}: {recorded} of {planned} runs are recorded; `run` the campaign to its end before it is judged, or judge the \
         recorded runs with --unfinished", dir.display()
    )]
    Unfinished {
        /// The folder of the record.
        dir: PathBuf,
        /// Number of recorded runs.
        recorded: u64,
        /// Number of planned runs.
        planned: u64,
    },
}

impl RecordError {
    /// An output of this attempt, in this file, cannot be read.
    pub(crate) fn unread(attempt: &Attempt, path: PathBuf, source: io::Error) -> Self {
        Self::Output { run: attempt.run.to_string(), path, source }
    }
}

/// Returns the edition of a record, with the limits of its campaign.
///
/// # Errors
/// The edition in the record is not one of this version.
pub fn edition_of(record: &Record) -> Result<Edition, RecordError> {
    let edition = serde_json::from_str(&record.facts().edition).and_then(|edition: Edition| {
        edition.check_recorded().map(|()| edition).map_err(serde::de::Error::custom)
    });
    edition.map_err(|source| RecordError::Edition { path: record.dir().join(RECORD_FILE), source })
}

/// Returns `; did you mean ...?` for the id of a run that is not in the record; empty if none is similar.
///
/// # Errors
/// The edition in the record is not one of this version.
pub fn run_hint_of(record: &Record, id: &RunId) -> Result<String, RecordError> {
    let facts = record.facts();
    let entries: Vec<&str> = facts.entries.iter().map(|known| known.entry.as_str()).collect();
    let instances: Vec<&str> = facts.instances.iter().map(|known| known.name.as_str()).collect();
    let edition = edition_of(record)?;
    let examinations: Vec<&str> = edition.examinations.iter().map(|known| known.name.as_str()).collect();
    Ok(run_hint(id, &entries, &instances, &examinations))
}

/// Reads all runs of a record whose campaign is finished. Outputs are read on all cores.
///
/// # Errors
/// The record or an output cannot be read, runs are open, or a run does not fit the edition.
pub fn read_record(edition: &Edition, record: &Record) -> Result<RunResults, RecordError> {
    read_record_by(edition, record, all_cores())
}

/// Reads a record as `read_record` does, on `threads` threads. The results are the same for any number of them.
///
/// # Errors
/// As `read_record`.
pub fn read_record_by(
    edition: &Edition,
    record: &Record,
    threads: NonZeroUsize,
) -> Result<RunResults, RecordError> {
    let summary = record.summary()?;
    if summary.recorded < summary.planned {
        let (dir, recorded, planned) = (record.dir().to_owned(), summary.recorded, summary.planned);
        return Err(RecordError::Unfinished { dir, recorded, planned });
    }
    read_recorded(edition, record, threads)
}

/// Reads a record as `read_record` does, but of a campaign that may have open runs. An open run counts as an
/// infrastructure failure that excludes no block, so the judgement is provisional and lists the run.
///
/// # Errors
/// The record or an output cannot be read, or a run does not fit the edition.
pub fn read_unfinished(edition: &Edition, record: &Record) -> Result<RunResults, RecordError> {
    let mut results = read_recorded(edition, record, all_cores())?;
    let all_ids = ids_by_instance(record);
    for open in record.open_runs() {
        let run = open?.run;
        if is_total(edition, &run.examination) {
            continue;
        }
        let property_ids = all_ids.get(run.instance.as_str()).and_then(|ids| ids.get(&run.examination));
        // `add` returns the error for an examination that the edition does not have.
        let ids = edition
            .examination(&run.examination)
            .and_then(|(_, examination)| questions(examination, property_ids).ids);
        let ids = ids.unwrap_or_default();
        let result = RunResult {
            ending: Ending::Infrastructure,
            marks: vec![Mark::NOT_RUN_YET],
            ..RunResult::published(Vec::new())
        };
        results.add(&run.entry, &run.instance, &run.examination, &ids, result)?;
    }
    Ok(results)
}

/// Returns the property ids of each instance by examination.
fn ids_by_instance(record: &Record) -> BTreeMap<&str, &BTreeMap<ExaminationName, Vec<String>>> {
    record.facts().instances.iter().map(|instance| (instance.name.as_str(), &instance.questions)).collect()
}

fn read_recorded(
    edition: &Edition,
    record: &Record,
    threads: NonZeroUsize,
) -> Result<RunResults, RecordError> {
    // Opening the record of an archive has checked it.
    if !record.dir().join(ARCHIVE_FILE).exists() {
        record.check_rows()?;
    }
    let facts = record.facts();
    let all_ids = ids_by_instance(record);
    let mut results = RunResults::new(edition);
    let mut outputs = Sha256::new();
    let read = |recorded: RunRecord| {
        let run = &recorded.run;
        let property_ids = all_ids.get(run.instance.as_str()).and_then(|ids| ids.get(&run.examination));
        read_run(edition, record, recorded, property_ids)
    };
    let add = |read: ReadRun| {
        let ReadRun { recorded: RunRecord { run, last, .. }, ids, result } = read;
        for output in last.outputs.iter().filter(|output| output.role == "stdout") {
            outputs.update(format!("{} {}\n", last.run, output.sha256));
        }
        if is_total(edition, &run.examination) {
            return Ok(());
        }
        results.add(&run.entry, &run.instance, &run.examination, &ids, result).map_err(RecordError::from)
    };
    each_recorded(record, threads, read, add)?;
    for entry in &facts.entries {
        let status = edition.status_of(&entry.entry);
        let note = edition.note_of(&entry.entry).to_owned();
        let (entry, tool) = (entry.entry.to_string(), entry.tool.clone());
        results.describe_entry(Entry { entry, tool, status, note });
    }
    for instance in &facts.instances {
        let facts = InstanceFacts { family: instance.family.clone(), status: instance.status.clone() };
        results.describe_instance(&instance.name, facts);
        results.archives.insert(instance.name.to_string(), instance.sha256.clone());
    }
    for examination in edition.examinations.iter().filter(|examination| examination.values == 0) {
        let name = &examination.name;
        results.notes.push(format!(
            "{name} is not judged: the contest has no points for it; `qualify --oracle` compares its values"
        ));
    }
    results.publication = Publication::of_text(&facts.campaign)
        .map_err(|(line, problem)| RecordError::Publication { line, problem })?;
    results
        .inputs
        .push(InputDigest { file: CAMPAIGN_FILE.to_owned(), sha256: digest::bytes(&facts.campaign) });
    results.inputs.push(InputDigest { file: "outputs".to_owned(), sha256: digest::hex(&outputs.finalize()) });
    Ok(results)
}

/// Calls `read` with each recorded run, on `threads` threads, and `add` with what it returns, in the order of the record.
///
/// # Errors
/// The record cannot be read, or the first error of `read` or `add`.
pub(crate) fn each_recorded<T: Send>(
    record: &Record,
    threads: NonZeroUsize,
    read: impl Fn(RunRecord) -> Result<T, RecordError> + Sync,
    mut add: impl FnMut(T) -> Result<(), RecordError> + Send,
) -> Result<(), RecordError> {
    let feed = |feed: Feed<'_, RunRecord>| {
        for recorded in record.records() {
            if feed(recorded?).is_err() {
                break;
            }
        }
        Ok(())
    };
    ordered_map(threads, || (), feed, |(), recorded| read(recorded), |read| add(read?))?.0
}

/// Whether an examination has a value for each object of a net. The contest has no points for those, so they are not judged.
fn is_total(edition: &Edition, examination: &str) -> bool {
    edition.examination(examination).is_some_and(|(_, examination)| examination.values == 0)
}

/// A run and its result.
struct ReadRun {
    recorded: RunRecord,
    ids: Vec<String>,
    result: RunResult,
}

/// Reads one run. `property_ids` are the ids in the property file of the instance.
fn read_run(
    edition: &Edition,
    record: &Record,
    recorded: RunRecord,
    property_ids: Option<&Vec<String>>,
) -> Result<ReadRun, RecordError> {
    let attempt = &recorded.last;
    let Some((_, examination)) = edition.examination(&recorded.run.examination) else {
        // `add` returns the error for it, in the order of the record.
        return Ok(ReadRun { recorded, ids: Vec::new(), result: RunResult::published(Vec::new()) });
    };
    let questions = questions(examination, property_ids);
    let mut answers = answers(edition, record, attempt, &questions)?;
    let ids = match &mut answers {
        Some(answers) => std::mem::take(&mut answers.ids),
        None => questions.ids.unwrap_or_default(),
    };
    let result = run_result(edition, attempt, answers);
    Ok(ReadRun { recorded, ids, result })
}

fn questions(examination: &Examination, property_ids: Option<&Vec<String>>) -> Questions {
    let mut questions = Questions::as_printed(examination);
    questions.ids = questions.ids.or_else(|| property_ids.cloned());
    questions
}

fn answers(
    edition: &Edition,
    record: &Record,
    attempt: &Attempt,
    questions: &Questions,
) -> Result<Option<Answers>, RecordError> {
    let strict = edition.judging.strict;
    has_output(&attempt.outcome).then(|| read_answers(record, attempt, questions, strict)).transpose()
}

/// Returns the answers of the last attempt of a run; None where its output is not scored, or the edition does not have
/// the examination.
///
/// # Errors
/// The output cannot be read.
pub fn answers_of(
    edition: &Edition,
    record: &Record,
    recorded: &RunRecord,
) -> Result<Option<Answers>, RecordError> {
    let run = &recorded.run;
    let Some((_, examination)) = edition.examination(&run.examination) else { return Ok(None) };
    let instance = record.facts().instances.iter().find(|instance| instance.name == run.instance);
    let property_ids = instance.and_then(|instance| instance.questions.get(&run.examination));
    answers(edition, record, &recorded.last, &questions(examination, property_ids))
}

/// Returns whether the output of a run is read. The output of a run that is not scored is not, even if it exists.
pub fn has_output(outcome: &Outcome) -> bool {
    *outcome != Outcome::NotCompeting && ending(outcome, None).is_scored()
}

fn read_answers(
    record: &Record,
    attempt: &Attempt,
    questions: &Questions,
    strict: bool,
) -> Result<Answers, RecordError> {
    let reading = Reading { strict, ..Reading::default() };
    let stdout = record.output(attempt, "stdout");
    stdout.and_then(|stdout| stdout.read(|content| Answers::read_file(content, questions, reading))).map_err(
        |source| {
            let path = record.outputs_dir(&attempt.run, attempt.number).join("stdout");
            RecordError::unread(attempt, path, source)
        },
    )
}

fn run_result(edition: &Edition, attempt: &Attempt, answers: Option<Answers>) -> RunResult {
    // A host that enforced a limit late (E-5.1) adds nothing to what the run costs.
    let at_most = |ms: u64, limit_s: u64| ms.min(limit_s.saturating_mul(1000));
    let cost = attempt.facts.as_ref().map(|facts| Cost {
        cpu_ms: edition
            .limits
            .cpu_limit_s(facts.vcpus)
            .map_or(facts.cpu_ms, |limit_s| at_most(facts.cpu_ms, limit_s)),
        wall_ms: at_most(facts.wall_ms, edition.limits.wall_limit_s()),
        memory_kib: facts.memory_kib,
        instructions_user: facts.instructions.as_ref().and_then(Instructions::user),
        instructions_kernel: facts.instructions.as_ref().and_then(Instructions::kernel),
        instructions_source: facts.instructions.as_ref().and_then(Instructions::source),
    });
    let ending = ending(&attempt.outcome, answers.as_ref());
    let arrivals = attempt.facts.as_ref().and_then(|facts| facts.arrivals.as_ref());
    let times = |(arrivals, answers): (&Arrivals, &Answers)| {
        answers.lines.iter().map(|line| arrivals.of_line((*line)?)).collect::<Vec<_>>()
    };
    let arrived_ms = arrivals.zip(answers.as_ref()).map(times).unwrap_or_default();
    RunResult {
        ending,
        remarks: answers.as_ref().map(remarks).unwrap_or_default(),
        cost,
        marks: attempt.marks.clone(),
        arrived_ms: if arrived_ms.iter().any(Option::is_some) { arrived_ms } else { vec![] },
        host: attempt.host.name.clone(),
        ..RunResult::of_output(answers.unwrap_or_default())
    }
}

/// Most remarks that are kept of a run; `lint` shows all of them.
const MAX_REMARKS: usize = 20;

/// The first anomalies of an output, with their lines, and the number of the others.
fn remarks(answers: &Answers) -> Vec<String> {
    let shown = answers.anomalies.iter().take(MAX_REMARKS);
    let mut remarks: Vec<_> = shown.map(|anomaly| format!("line {}: {}", anomaly.line, anomaly)).collect();
    let more = (answers.anomalies.len() - remarks.len()) as u64 + answers.anomalies_dropped;
    if more > 0 {
        remarks.push(format!("and {more} more"));
    }
    remarks
}

/// Returns the ending of a run. Did not compete, cannot compute, no well-formed answer and terminated at a limit are distinct
/// (E-1.7, R6).
fn ending(outcome: &Outcome, answers: Option<&Answers>) -> Ending {
    match outcome {
        Outcome::NotCompeting => Ending::DidNotCompete,
        Outcome::Infrastructure { .. } => Ending::Infrastructure,
        Outcome::CpuLimit => Ending::CpuLimit,
        Outcome::WallLimit => Ending::WallLimit,
        Outcome::MemoryLimit => Ending::MemoryLimit,
        Outcome::OutputLimit => Ending::OutputLimit,
        Outcome::DiskLimit => Ending::DiskLimit,
        Outcome::InstructionLimit => Ending::InstructionLimit,
        Outcome::ToolCrash { .. } => Ending::ToolCrash,
        Outcome::Finished { .. } => answers.map_or(Ending::NoAnswer, answered),
    }
}

/// Returns the ending of a run whose tool ended by itself.
pub(crate) fn answered(answers: &Answers) -> Ending {
    match answers.declared {
        _ if answers.values.iter().any(Option::is_some) => Ending::Answered,
        Some(Declaration::DoNotCompete) => Ending::DidNotCompete,
        Some(Declaration::CannotCompute) => Ending::CannotCompute,
        None => Ending::NoAnswer,
    }
}
