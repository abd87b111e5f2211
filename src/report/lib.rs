//! The static site: reads only what `judge` and `store` hand it, and computes no point of its own.
//!
//! ```text
//! SITE/index.html                              podiums, awards, points, confidence, facts: needs no script
//! SITE/examinations/EXAMINATION.html .js .csv  tools x instances, and its data
//! SITE/tools/ENTRY.html .js                    examinations x instances of one entry
//! SITE/instances.html .js                      all instances
//! SITE/instance.html                           one instance, examination, run or value, by the address's fragment,
//! SITE/instances/INSTANCE.js                     drawn from this one file of data
//! SITE/evidence.html .js                       disagreements, weak evidence, what medals depend on
//! SITE/runs.html .js                           marked runs and trouble of the infrastructure
//! SITE/techniques.html                         what each technique solved (E-1.10)
//! SITE/pictures.html pictures/                 pictures, each with its figures as CSV
//! SITE/compare.html                            any two entries, run by run
//! SITE/rules.html                              the contests' rules (docs/rules.md); codes in all pages lead here
//! SITE/progress.html                           how far a campaign is that has not ended
//! SITE/runs.js runs/ENTRY.js                   what it compares in SV-COMP and CRV: names, runs of one entry
//! SITE/runs/ENTRY/INSTANCE/EXAMINATION.N.stdout.txt   raw outputs of attempt N (with a record)
//! SITE/runs/ENTRY/INSTANCE/EXAMINATION.js             what the page of the run shows of them
//! SITE/data/                                   the judgement's own files
//! SITE/contest.js site.css scripts/            names that data refer to; looks; scripts
//! SITE/mcc-harness-site.json                   what made this folder
//! ```

mod compare;
mod contest;
mod evidence;
mod index;
mod instance;
mod list;
mod matrix;
mod names;
mod other_contests;
mod output;
mod pictures;
pub mod plots;
mod progress;
mod rule_page;
mod run;
mod script;
mod show;
mod site;
mod table;
pub mod tables;
mod tool;

pub use contest::SiteInput;
pub use other_contests::write_other_site;
pub use show::visible;

use mcc_base::names::RunId;
use mcc_base::ordered_map::{Feed, ordered_map};
use mcc_judge::judgement::{Judgement, JudgementError};
use mcc_store::{Attempt, Record, SAMPLES, Sample, StoreError};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// What went wrong while a site was made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error(transparent)]
    Judgement(#[from] JudgementError),
    #[error("{}: not empty, and `{entry}` in it is not part of a site made by mcc-harness; \
             give another --out or empty this one yourself", path.display())]
    Foreign { path: PathBuf, entry: String },
    #[error(
        "run {run} is in the judgement but not in the record {}; give --record the record that was judged",
        record.display()
    )]
    OtherRecord { run: String, record: PathBuf },
    #[error(transparent)]
    Record(#[from] StoreError),
    #[error("run {run}: cannot read its output {}: {source}; restore the file, or report without --record",
            path.display())]
    Output { run: String, path: PathBuf, source: std::io::Error },
    #[error("{}: cannot write it: {source}", path.display())]
    Write { path: PathBuf, source: std::io::Error },
    #[error("page {page}: {source}")]
    Template { page: String, source: askama::Error },
}

impl ReportError {
    /// Whether the input or the arguments are at fault, not this program or its host.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Write { .. } | Self::Template { .. } => false,
            Self::Record(error) => error.is_usage(),
            _ => true,
        }
    }
}

/// An attempt and where its raw outputs lie.
struct KeptAttempt {
    attempt: Attempt,
    /// (`stdout`, path), (`stderr`, path), ...
    outputs: Vec<(String, PathBuf)>,
    /// Of the attempt that was judged.
    samples: Vec<Sample>,
    /// Why an organizer had the run made anew after this attempt.
    rerun: Option<String>,
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteSummary {
    pub examination_pages: usize,
    pub instances: usize,
    /// Runs whose outputs are in the site.
    pub runs: usize,
    /// Instances that the embargo hides.
    pub hidden: usize,
}

/// Writes the site of a judgement to `out`, on so many threads: beside it first, then renamed, so `out` is always a
/// whole site. The same judgement and record give the same bytes, for any number of threads.
pub fn write_site(
    judgement: &Judgement,
    material: SiteInput,
    threads: NonZeroUsize,
    out: &Path,
) -> Result<SiteSummary, ReportError> {
    let contest = contest::Contest::new(judgement, material)?;
    let site = site::NewSite::create(out)?;
    let facts = write_in_parallel(&contest, material.record, threads, &site)?;
    list::write_instances(&contest, &site)?;
    evidence::write(&contest, material.judgement_dir, &site)?;
    evidence::write_runs(&contest, facts.attempts(), &site)?;
    evidence::write_techniques(&contest, &site)?;
    if let Some(record) = material.record {
        progress::write(&contest, record, &site)?;
    }
    site.page("instance.html", &instance::InstancePage { frame: contest.frame("Instance".into(), "") })?;
    rule_page::write(contest.frame("Rules".into(), ""), &site)?;
    site.file("contest.js", &script::call("mcc_names", &names::names(&contest)))?;
    let data = site.copy_data(material.judgement_dir, contest.embargo)?;
    index::write(&contest, &facts, &data, &site)?;
    site.finish(&judgement.version)?;
    Ok(SiteSummary {
        examination_pages: contest.examinations.len(),
        instances: contest.instances.len(),
        runs: facts.runs(),
        hidden: contest.hidden(),
    })
}

/// A page or file of data that can be made by itself.
enum SitePart {
    Examination(usize),
    Tool(usize),
    Instance(usize, Vec<(contest::RunKey, Vec<KeptAttempt>)>),
    Pictures(Option<plots::Picture>),
}

/// Writes what there is much of; the record is read on the caller's thread.
fn write_in_parallel(
    contest: &contest::Contest,
    record: Option<&Record>,
    threads: NonZeroUsize,
    site: &site::NewSite,
) -> Result<index::RecordFacts, ReportError> {
    let mut facts = index::RecordFacts::default();
    let mut recorded: BTreeMap<usize, Vec<contest::RunKey>> = BTreeMap::new();
    for &key in &contest.recorded {
        recorded.entry(key.1).or_default().push(key);
    }
    let read = |instance: usize, facts: &mut index::RecordFacts| {
        let Some(record) = record else { return Ok(Vec::new()) };
        let keys = recorded.get(&instance).map_or(&[][..], Vec::as_slice);
        let runs = keys.iter().map(|&key| {
            let attempts = kept_attempts(record, &contest.run_name(key))?;
            facts.add(key, &contest.entry(key.0).entry, &attempts);
            Ok((key, attempts))
        });
        runs.collect::<Result<Vec<_>, ReportError>>()
    };
    let feed = |feed: Feed<'_, SitePart>| {
        let progress = record.map(plots::progress_of).transpose()?.flatten();
        let _ = feed(SitePart::Pictures(progress));
        let big = contest.examinations.iter().map(|&examination| SitePart::Examination(examination));
        for part in big.chain(contest.entries.iter().map(|&entry| SitePart::Tool(entry))) {
            if feed(part).is_err() {
                return Ok(());
            }
        }
        for &instance in &contest.instances {
            if feed(SitePart::Instance(instance, read(instance, &mut facts)?)).is_err() {
                return Ok(());
            }
        }
        Ok(())
    };
    let work = |_: &mut (), part: SitePart| match part {
        SitePart::Examination(examination) => table::write(contest, examination, site),
        SitePart::Pictures(progress) => pictures::write(contest, progress, site),
        SitePart::Tool(entry) => tool::write(contest, entry, site),
        SitePart::Instance(instance, runs) => instance::write(contest, instance, &runs, site),
    };
    let (fed, _): (Result<(), ReportError>, _) = ordered_map(threads, || (), feed, work, |done| done)?;
    fed?;
    if let Some(record) = record {
        facts.finish(record);
    }
    Ok(facts)
}

/// All attempts at a run in order; the last one is the one that was judged.
fn kept_attempts(record: &Record, run: &str) -> Result<Vec<KeptAttempt>, ReportError> {
    let other = || ReportError::OtherRecord { run: run.into(), record: record.dir().into() };
    let run: RunId = run.parse().map_err(|_| other())?;
    let attempts = match record.attempts(&run) {
        Err(StoreError::UnknownRun { .. }) => Vec::new(),
        attempts => attempts?,
    };
    if attempts.is_empty() {
        return Err(other());
    }
    let reruns = record.reruns(&run)?;
    let judged = attempts.last().map(|attempt| attempt.number);
    let keep = |attempt: Attempt| {
        let samples = if judged == Some(attempt.number) { record.samples(&attempt)? } else { Vec::new() };
        let dir = record.outputs_dir(&run, attempt.number);
        // The samples are no text; `docs/record.md` says how they are read.
        let shown = attempt.outputs.iter().filter(|output| output.role != SAMPLES);
        let outputs = shown.map(|output| (output.role.clone(), dir.join(&output.role))).collect();
        let rerun = reruns.iter().find(|rerun| rerun.after == attempt.number);
        Ok(KeptAttempt { outputs, samples, rerun: rerun.map(|rerun| rerun.reason.clone()), attempt })
    };
    attempts.into_iter().map(keep).collect()
}
