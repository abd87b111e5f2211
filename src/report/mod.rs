//! The static site: reads only what `judge` and `store` hand it, and computes no point of its own.
//!
//! ```text
//! SITE/index.html                                      podiums, facts, scores, confidence
//! SITE/examinations/EXAMINATION[-2, -3 ...].html       tools x instances
//! SITE/runs/ENTRY/INSTANCE/EXAMINATION.html            one run (with a record)
//! SITE/runs/ENTRY/INSTANCE/EXAMINATION.N.stdout.txt    raw outputs of attempt N
//! SITE/data/                                           the judgement's own files
//! SITE/site.css  SITE/mcc-harness-site.json            looks; what made this folder
//! ```

mod contest;
mod index;
mod output;
pub mod plots;
mod run;
mod show;
mod sister;
mod site;
mod table;
pub mod tables;

pub use show::visible;
pub use sister::write_sister_site;

use crate::judge::judgement::{Judgement, JudgementError};
use crate::store::{Attempt, Record, SAMPLES, StoreError};
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
    /// Why an organizer had the run made anew after this attempt.
    rerun: Option<String>,
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    pub examination_pages: usize,
    pub run_pages: usize,
}

/// Writes the site of a judgement to `out`: beside it first, then renamed, so `out` is always a whole site.
///
/// `judgement_dir` is the folder of the judgement; its files are copied to `SITE/data/`. Without a record the
/// site has no page per run. The same judgement and record give the same bytes.
pub fn write_site(
    judgement: &Judgement,
    judgement_dir: Option<&Path>,
    record: Option<&Record>,
    out: &Path,
) -> Result<Written, ReportError> {
    let contest = contest::Contest::new(judgement, record)?;
    let site = site::NewSite::beside(out)?;
    let mut facts = index::RecordFacts::default();
    if let Some(record) = record {
        for &key in &contest.recorded {
            let attempts = kept_attempts(record, &contest.run_name(key))?;
            facts.add(&attempts);
            run::write(&contest, key, &attempts, &site)?;
        }
        facts.finish(record);
    }
    let mut examination_pages = 0;
    for &examination in &contest.examinations {
        examination_pages += table::write(&contest, examination, &site)?;
    }
    let data = site.copy_data(judgement_dir)?;
    index::write(&contest, &facts, &data, &site)?;
    site.finish(&judgement.version)?;
    Ok(Written { examination_pages, run_pages: contest.recorded.len() })
}

/// All attempts at a run in order; the last one is the one that was judged.
fn kept_attempts(record: &Record, run: &str) -> Result<Vec<KeptAttempt>, ReportError> {
    let attempts = match record.attempts(run) {
        Err(StoreError::UnknownRun { .. }) => Vec::new(),
        attempts => attempts?,
    };
    if attempts.is_empty() {
        return Err(ReportError::OtherRecord { run: run.into(), record: record.dir().into() });
    }
    let reruns = record.reruns(run)?;
    let keep = |attempt: Attempt| {
        let dir = record.outputs_dir(run, attempt.number);
        // The samples are no text; `docs/record.md` says how they are read.
        let shown = attempt.outputs.iter().filter(|output| output.role != SAMPLES);
        let outputs = shown.map(|output| (output.role.clone(), dir.join(&output.role))).collect();
        let rerun = reruns.iter().find(|rerun| rerun.after == attempt.number);
        KeptAttempt { outputs, rerun: rerun.map(|rerun| rerun.reason.clone()), attempt }
    };
    Ok(attempts.into_iter().map(keep).collect())
}
