//! The static site of a judgement. It is made only from data of `judge` and `store`; points are not computed here.
//!
//! ```text
//! SITE/index.html                              podiums, awards, points, confidence, facts; needs no script
//! SITE/results.html                            podiums, medals and points on one printed sheet; how to cite them
//! SITE/podiums/CATEGORY.html                why the entries of a podium have their places
//! SITE/examinations/EXAMINATION.html .js .csv  tools x instances, and its data
//! SITE/tools/ENTRY.html .js                    examinations x instances of one entry
//! SITE/instances.html .js                      all instances
//! SITE/instance.html                           one instance, examination, run or value, chosen by the URL's fragment
//! SITE/instances/INSTANCE.js                   the data of an instance, for instance.html
//! SITE/instances/INSTANCE.net.svg .csv         the picture of a small net
//! SITE/evidence/INSTANCE/FILE .js              evidence of `certify`; a witness as a readable run
//! SITE/evidence.html .js                       disagreements, weak evidence, sensitivity of podiums
//! SITE/runs.html .js                           marked runs and infrastructure failures
//! SITE/techniques.html                         values by stated technique (E-1.10)
//! SITE/pictures.html pictures/                 pictures, each with its values as CSV
//! SITE/compare.html                            any two entries, run by run
//! SITE/rules.html                              the contests' rules (docs/rules.md); all rule codes link to it
//! SITE/values.js                               values of a rating (`write_rating`)
//! SITE/progress.html                           the progress of an unfinished campaign
//! SITE/runs.js runs/ENTRY.js                   data of compare.html in SV-COMP and CRV: names, runs of one entry
//! SITE/runs/ENTRY/INSTANCE/EXAMINATION.N.stdout.txt   raw outputs of attempt N (with a record)
//! SITE/runs/ENTRY/INSTANCE/EXAMINATION.js             excerpts of these outputs
//! SITE/data/                                   the files of the judgement
//! SITE/contest.js site.css scripts/            names that the data refer to; style; scripts
//! SITE/mcc-harness-site.json                   marks the folder as a site; version of the program
//! ```

#![warn(missing_docs)]

mod certified;
mod compare;
mod contest;
mod evidence;
mod firings;
mod host_state;
mod index;
mod instance;
mod list;
mod matrix;
mod names;
mod other_contests;
mod output;
mod pictures;
pub mod plots;
mod podium;
mod progress;
mod rate;
mod results;
mod rule_links;
mod rule_page;
mod run;
mod script;
mod show;
mod site;
mod table;
pub mod tables;
mod tool;
mod years;
mod years_pages;

pub use contest::{Model, ModelReader, SiteInput};
pub use other_contests::write_other_site;
pub use rate::write_rating;
pub use years::{Year, write_years};

use mcc_base::FileError;
use mcc_base::ordered_map::{Feed, ordered_map};
use mcc_campaign::benchkit::FoundFailure;
use mcc_judge::failures::FailureReader;
use mcc_judge::judgement::{Judgement, JudgementError};
use mcc_judge::record::RecordError;
use mcc_judge::schema;
use mcc_store::{Attempt, MeasuredHost, Record, RecordedOutput, SAMPLES, Sample, StoreError};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Why a site could not be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The judgement cannot be read or contradicts itself.
    #[error(transparent)]
    Judgement(#[from] JudgementError),
    /// The output folder exists and is not a site.
    #[error("{}: not empty, and `{entry}` in it is not part of a site made by mcc-harness; \
             give another --out", path.display())]
    Foreign {
        /// The output folder.
        path: PathBuf,
        /// A file or folder in it that is not part of a site.
        entry: String,
    },
    /// Judgements, a record or a folder that do not fit together: what, where, and a remedy.
    #[error("{0}")]
    Refused(String),
    /// The record cannot be read.
    #[error(transparent)]
    Record(#[from] StoreError),
    /// The recorded campaign declares a failure class that is not valid.
    #[error(transparent)]
    FailureClass(RecordError),
    /// A raw output of the record cannot be read.
    #[error("run {run}: cannot read its output {}: {source}; restore the file, or report without --record",
            path.display())]
    Output {
        /// The run, as `entry/instance/examination`.
        run: String,
        /// The file of the output.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A file of the site cannot be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A page cannot be made from its template.
    #[error("cannot create the page {page}: {source}")]
    Template {
        /// The page's path in the site.
        page: String,
        /// The error of the template.
        source: askama::Error,
    },
}

impl ReportError {
    /// Whether the input or the arguments caused the error, rather than this program or its host.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::File(error) => mcc_base::files::is_wrong_path(&error.source),
            Self::Template { .. } => false,
            Self::Record(error) => error.is_usage(),
            _ => true,
        }
    }
}

/// An error while failure classes are read.
fn failure_error(error: RecordError) -> ReportError {
    match error {
        RecordError::Output { run, path, source } => ReportError::Output { run, path, source },
        RecordError::Store(error) => error.into(),
        other => ReportError::FailureClass(other),
    }
}

/// An attempt and the paths of its raw outputs.
struct KeptAttempt {
    attempt: Attempt,
    outputs: Vec<RecordedOutput>,
    /// The samples of the judged attempt; empty for the others.
    samples: Vec<Sample>,
    /// The organizers' reason for repeating the run after this attempt.
    rerun: Option<String>,
    /// What the outputs of the judged attempt say about failures.
    failure: FoundFailure,
}

/// Counts of the site that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteSummary {
    /// How many examinations have a page.
    pub examination_pages: usize,
    /// Instances that are shown.
    pub instances: usize,
    /// Runs whose outputs are in the site.
    pub runs: usize,
    /// Instances that the embargo hides (rule M-6).
    pub hidden: usize,
}

/// Writes the site of a judgement to `out`, on `threads` threads.
///
/// The site is written to a new folder next to `out`, which is then renamed: `out` never holds an incomplete site. The
/// same judgement and record give the same bytes, for any number of threads.
///
/// # Errors
/// The judgement contradicts itself, the record cannot be read or is another one, or `out` cannot be written or holds
/// something else than a site.
pub fn write_site(
    judgement: &Judgement,
    material: SiteInput,
    threads: NonZeroUsize,
    out: &Path,
) -> Result<SiteSummary, ReportError> {
    let contest = contest::Contest::new(judgement, material)?;
    let site = site::NewSite::create(out)?;
    let facts = write_in_parallel(&contest, material.record, threads, &site)?;
    podium::write(&contest, &site)?;
    results::write(&contest, &site)?;
    list::write_instances(&contest, &site)?;
    evidence::write(&contest, material.judgement_dir, &site)?;
    evidence::write_runs(&contest, &facts.attempts, &facts.failures, &site)?;
    evidence::write_techniques(&contest, &site)?;
    if let Some(record) = material.record {
        progress::write(&contest, record, &site)?;
    }
    site.page("instance.html", &instance::InstancePage { frame: contest.frame("Instance".into(), "") })?;
    rule_page::write(contest.frame("Rules".into(), ""), &site)?;
    site.file("contest.js", &script::call("mcc_names", &names::names(&contest)))?;
    let data = site.copy_data(material.judgement_dir, &schema::JUDGEMENT, contest.input.embargo)?;
    index::write(&contest, &facts, data, &site)?;
    site.finish(&judgement.version)?;
    Ok(SiteSummary {
        examination_pages: contest.examinations.len(),
        instances: contest.instances.len(),
        runs: facts.runs(),
        hidden: contest.hidden(),
    })
}

/// A part of the site that can be made independently of the others.
enum SitePart {
    Examination(usize),
    Tool(usize),
    Instance(usize, Vec<(contest::RunKey, Vec<KeptAttempt>)>),
    Pictures(Option<plots::Picture>),
}

/// Writes the pages and data of examinations, entries and instances, and the pictures. The record is read on the
/// caller's thread.
fn write_in_parallel(
    contest: &contest::Contest,
    record: Option<&Record>,
    threads: NonZeroUsize,
    site: &site::NewSite,
) -> Result<index::RecordFacts, ReportError> {
    let measured = record.map(|record| MeasuredHost::read(record.dir())).transpose()?.flatten();
    let mut facts = index::RecordFacts::of_host(measured);
    let mut recorded: BTreeMap<usize, Vec<contest::RunKey>> = BTreeMap::new();
    for &key in &contest.recorded {
        recorded.entry(key.1).or_default().push(key);
    }
    let read = |instance: usize, facts: &mut index::RecordFacts| {
        let Some(record) = record else { return Ok(Vec::new()) };
        let keys = recorded.get(&instance).map_or(&[][..], Vec::as_slice);
        let runs = keys.iter().map(|&key| {
            let attempts = kept_attempts(record, contest, key)?;
            facts.add(contest, key, &attempts);
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
    let reader = record.map(FailureReader::new).transpose().map_err(failure_error)?;
    let work = |_: &mut (), part: SitePart| {
        match part {
            SitePart::Examination(examination) => table::write(contest, examination, site)?,
            SitePart::Pictures(progress) => pictures::write(contest, progress, site)?,
            SitePart::Tool(entry) => tool::write(contest, entry, site)?,
            SitePart::Instance(instance, mut runs) => {
                for ((entry, ..), attempts) in &mut runs {
                    if let (Some(reader), Some(judged)) = (&reader, attempts.last_mut()) {
                        let found = reader.read(&contest.entry(*entry).entry, &judged.attempt);
                        judged.failure = found.map_err(failure_error)?.unwrap_or_default();
                    }
                }
                instance::write(contest, instance, &runs, site)?;
                let failures = runs.into_iter().filter_map(|(key, attempts)| {
                    let failure = attempts.into_iter().next_back()?.failure;
                    (failure != FoundFailure::default()).then_some((key, failure))
                });
                return Ok(failures.collect());
            }
        }
        Ok(vec![])
    };
    let mut failures = Vec::new();
    let done = |done: Result<Vec<_>, ReportError>| done.map(|found| failures.extend(found));
    let (fed, _): (Result<(), ReportError>, _) = ordered_map(threads, || (), feed, work, done)?;
    fed?;
    facts.failures = failures;
    Ok(facts)
}

/// All attempts at a run in order; the last one was judged.
fn kept_attempts(
    record: &Record,
    contest: &contest::Contest,
    key: contest::RunKey,
) -> Result<Vec<KeptAttempt>, ReportError> {
    let other = || {
        ReportError::Refused(format!(
            "run {} is in the judgement but not in the record {}; give --record the record that was judged, and --names if it \
             was judged with a table of names",
            contest.run_name(key),
            record.dir().display()
        ))
    };
    let run = contest.recorded_run(key).ok_or_else(other)?;
    let attempts = record.attempts_if_planned(&run)?;
    if attempts.is_empty() {
        return Err(other());
    }
    let reruns = record.reruns(&run)?;
    let judged = attempts.last().map(|attempt| attempt.number);
    let keep = |attempt: Attempt| {
        let samples = if judged == Some(attempt.number) { record.samples(&attempt)? } else { Vec::new() };
        // Samples are binary (docs/record.md): there is no text to show.
        let outputs = record.outputs(&attempt).filter(|output| output.role != SAMPLES).collect();
        let rerun = reruns.iter().find(|rerun| rerun.after == attempt.number);
        let rerun = rerun.map(|rerun| rerun.reason.clone());
        Ok(KeptAttempt { outputs, samples, rerun, attempt, failure: FoundFailure::default() })
    };
    attempts.into_iter().map(keep).collect()
}
