//! Filling ballots from a record: the last attempt of every recorded run, its answers read from the raw output
//! (R5: a score is a pure function of the record).

use super::ballots::{Ballot, BallotError, Ballots, EntryFacts, InstanceFacts};
use crate::judgement::{CAMPAIGN_FILE, Cost, Ending, InputDigest};
use mcc_base::Mark;
use mcc_base::digest;
use mcc_base::ordered_map::{Feed, all_cores, ordered_map};
use mcc_benchkit::{Answers, Declaration, Questions, Reading};
use mcc_edition::{Edition, Examination};
use mcc_store::{Attempt, Outcome, Record, RunRecord, StoreError};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Ballot(#[from] BallotError),
    #[error("the output of {run} cannot be read: {}: {source}", path.display())]
    Output { run: String, path: PathBuf, source: io::Error },
    #[error("the record's edition cannot be read: {0}; name one with --edition")]
    Edition(#[source] serde_json::Error),
    #[error(
        "{recorded} of {planned} runs are recorded; `run` the campaign to its end before it is judged, or judge what there is with --unfinished"
    )]
    Unfinished { recorded: u64, planned: u64 },
}

/// The edition a record was made under, with its campaign's limits.
pub fn edition_of(record: &Record) -> Result<Edition, RecordError> {
    serde_json::from_str(&record.facts().edition).map_err(RecordError::Edition)
}

/// Reads every run of a record whose campaign has ended, outputs on all cores.
pub fn read_record(edition: &Edition, record: &Record) -> Result<Ballots, RecordError> {
    read_record_by(edition, record, all_cores())
}

/// As `read_record`, on so many threads; the ballots are the same.
pub fn read_record_by(
    edition: &Edition,
    record: &Record,
    threads: NonZeroUsize,
) -> Result<Ballots, RecordError> {
    let summary = record.summary()?;
    if summary.recorded < summary.planned {
        return Err(RecordError::Unfinished { recorded: summary.recorded, planned: summary.planned });
    }
    read_recorded(edition, record, threads)
}

/// As `read_record`, of a campaign that may not have ended: a run still to be made counts as infrastructure that is
/// never excluded, so the judgement is provisional and names it.
pub fn read_unfinished(edition: &Edition, record: &Record) -> Result<Ballots, RecordError> {
    let mut ballots = read_recorded(edition, record, all_cores())?;
    for open in record.open_runs() {
        let run = open?.run;
        let instance = record.facts().instances.iter().find(|instance| instance.name == run.instance);
        let asked = instance.and_then(|instance| instance.questions.get(&run.examination));
        // An examination that the edition does not have is refused where the run is added.
        let ids = edition.examination(&run.examination).and_then(|(_, of)| questions(of, asked).ids);
        let ids = ids.unwrap_or_default();
        let ballot = Ballot {
            ending: Ending::Infrastructure,
            marks: vec![Mark::NOT_RUN_YET],
            ..Ballot::published(Vec::new())
        };
        ballots.add(&run.entry, &run.instance, &run.examination, &ids, ballot)?;
    }
    Ok(ballots)
}

fn read_recorded(edition: &Edition, record: &Record, threads: NonZeroUsize) -> Result<Ballots, RecordError> {
    let facts = record.facts();
    let asked: BTreeMap<_, _> = facts.instances.iter().map(|i| (i.name.as_str(), &i.questions)).collect();
    let mut ballots = Ballots::new(edition);
    let mut outputs = String::new();
    let feed = |feed: Feed<'_, RunRecord>| {
        for recorded in record.records() {
            if feed(recorded?).is_err() {
                break;
            }
        }
        Ok(())
    };
    let read = |_: &mut (), recorded: RunRecord| {
        let asked =
            asked.get(recorded.run.instance.as_str()).and_then(|of| of.get(&recorded.run.examination));
        read_run(edition, record, recorded, asked)
    };
    let add = |read: Result<ReadRun, RecordError>| {
        let ReadRun { recorded: RunRecord { run, last, .. }, ids, ballot } = read?;
        for output in last.outputs.iter().filter(|output| output.role == "stdout") {
            outputs += &format!("{} {}\n", last.run, output.sha256);
        }
        ballots.add(&run.entry, &run.instance, &run.examination, &ids, ballot).map_err(RecordError::from)
    };
    let (fed, _): (Result<(), RecordError>, _) = ordered_map(threads, || (), feed, read, add)?;
    fed?;
    for entry in &facts.entries {
        let status = edition.status_of(&entry.entry);
        let note = edition.note_of(&entry.entry).to_owned();
        let facts = EntryFacts { tool: entry.tool.clone(), status, note };
        ballots.describe_entry(&entry.entry, facts);
    }
    for instance in &facts.instances {
        let facts = InstanceFacts { family: instance.family.clone(), status: instance.status.clone() };
        ballots.describe_instance(&instance.name, facts);
    }
    ballots
        .inputs
        .push(InputDigest { file: CAMPAIGN_FILE.to_owned(), sha256: digest::bytes(&facts.campaign) });
    ballots.inputs.push(InputDigest { file: "outputs".to_owned(), sha256: digest::bytes(outputs) });
    Ok(ballots)
}

/// A run with what its output says.
struct ReadRun {
    recorded: RunRecord,
    ids: Vec<String>,
    ballot: Ballot,
}

/// `asked` are the ids of the archive's property file.
fn read_run(
    edition: &Edition,
    record: &Record,
    recorded: RunRecord,
    asked: Option<&Vec<String>>,
) -> Result<ReadRun, RecordError> {
    let attempt = &recorded.last;
    let Some((_, examination)) = edition.examination(&recorded.run.examination) else {
        // Refused where it is added, in the order of the record.
        return Ok(ReadRun { recorded, ids: Vec::new(), ballot: Ballot::published(Vec::new()) });
    };
    let questions = questions(examination, asked);
    let answers = answers(edition, record, attempt, &questions)?;
    let ids =
        answers.as_ref().map_or_else(|| questions.ids.unwrap_or_default(), |answers| answers.ids.clone());
    let ballot = ballot(edition, attempt, answers);
    Ok(ReadRun { recorded, ids, ballot })
}

fn questions(examination: &Examination, asked: Option<&Vec<String>>) -> Questions {
    let mut questions = Questions::as_printed(examination);
    questions.ids = questions.ids.or_else(|| asked.cloned());
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

/// What the attempt that counts answered; None where it has no output, or the edition no such examination.
pub fn answers_of(
    edition: &Edition,
    record: &Record,
    recorded: &RunRecord,
) -> Result<Option<Answers>, RecordError> {
    let run = &recorded.run;
    let Some((_, examination)) = edition.examination(&run.examination) else { return Ok(None) };
    let instance = record.facts().instances.iter().find(|instance| instance.name == run.instance);
    let asked = instance.and_then(|instance| instance.questions.get(&run.examination));
    answers(edition, record, &recorded.last, &questions(examination, asked))
}

/// Whether the output is read. That of a run which is not scored is not, even where something was printed.
fn has_output(outcome: &Outcome) -> bool {
    *outcome != Outcome::NotCompeting && ending(outcome, None).is_scored()
}

fn read_answers(
    record: &Record,
    attempt: &Attempt,
    questions: &Questions,
    strict: bool,
) -> Result<Answers, RecordError> {
    let path = record.outputs_dir(&attempt.run, attempt.number).join("stdout");
    let wrong = |source| RecordError::Output { run: attempt.run.to_string(), path: path.clone(), source };
    let stdout = File::open(&path).map_err(wrong)?;
    Answers::read_file(&stdout, questions, Reading { strict, ..Reading::default() }).map_err(wrong)
}

fn ballot(edition: &Edition, attempt: &Attempt, answers: Option<Answers>) -> Ballot {
    // A host that enforced a limit late (E-5.1) adds nothing to what the run costs.
    let at_most = |ms: u64, limit_s: u64| ms.min(limit_s.saturating_mul(1000));
    let cost = attempt.facts.as_ref().map(|facts| Cost {
        cpu_ms: edition
            .limits
            .cpu_limit_s(facts.vcpus)
            .map_or(facts.cpu_ms, |limit_s| at_most(facts.cpu_ms, limit_s)),
        wall_ms: at_most(facts.wall_ms, edition.limits.wall_limit_s()),
        memory_kib: facts.memory_kib,
    });
    let ending = ending(&attempt.outcome, answers.as_ref());
    let remarks = answers.as_ref().map(remarks).unwrap_or_default();
    let (values, techniques, repeated) =
        answers.map(|a| (a.values, a.techniques, a.repeated)).unwrap_or_default();
    let stated = techniques.iter().any(|techniques| !techniques.is_empty());
    Ballot {
        ending,
        values,
        techniques: if stated { techniques } else { vec![] },
        remarks,
        repeated: if repeated.iter().any(Option::is_some) { repeated } else { vec![] },
        cost,
        marks: attempt.marks.clone(),
        host: attempt.host.name.clone(),
    }
}

/// The first few; `lint` tells them all.
const MOST_REMARKS: usize = 20;

fn remarks(answers: &Answers) -> Vec<String> {
    let shown = answers.anomalies.iter().take(MOST_REMARKS);
    let mut remarks: Vec<_> = shown.map(|odd| format!("line {}: {}", odd.line, odd.kind)).collect();
    let more = (answers.anomalies.len() - remarks.len()) as u64 + answers.anomalies_dropped;
    if more > 0 {
        remarks.push(format!("and {more} more"));
    }
    remarks
}

/// Rule E-1.7: did not compete, cannot compute, no well-formed answer and cut by a limit stay apart (R6).
fn ending(outcome: &Outcome, answers: Option<&Answers>) -> Ending {
    match outcome {
        Outcome::NotCompeting => Ending::DidNotCompete,
        Outcome::Infrastructure { .. } => Ending::Infrastructure,
        Outcome::CpuLimit => Ending::CpuLimit,
        Outcome::WallLimit => Ending::WallLimit,
        Outcome::MemoryLimit => Ending::MemoryLimit,
        Outcome::OutputLimit => Ending::OutputLimit,
        Outcome::ToolCrash { .. } => Ending::ToolCrash,
        Outcome::Finished { .. } => answers.map_or(Ending::NoAnswer, answered),
    }
}

/// What the output of a tool that ended by itself comes to.
pub(crate) fn answered(answers: &Answers) -> Ending {
    match answers.declared {
        _ if answers.values.iter().any(Option::is_some) => Ending::Answered,
        Some(Declaration::DoNotCompete) => Ending::DidNotCompete,
        Some(Declaration::CannotCompute) => Ending::CannotCompute,
        None => Ending::NoAnswer,
    }
}
