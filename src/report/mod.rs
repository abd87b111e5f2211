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
mod run;
mod show;
mod site;
mod table;

use crate::judge::judgement::Judgement;
use crate::store::Attempt;
use std::path::{Path, PathBuf};

/// What went wrong while a site was made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("{}: cannot read it: {source}; give the folder that `mcc-harness judge --out` wrote", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error(
        "{}:{line}:{column}: not a judgement of this version: {reason}; judge again with this mcc-harness",
        path.display()
    )]
    NotAJudgement { path: PathBuf, line: usize, column: usize, reason: String },
    #[error("the judgement contradicts itself: {0}; judge again with this mcc-harness")]
    Broken(String),
    #[error("{}: not empty, and `{entry}` in it is not part of a site made by mcc-harness; \
             give another --out or empty this one yourself", path.display())]
    Foreign { path: PathBuf, entry: String },
    #[error(
        "none of the {runs} runs of the record is in the judgement (the first is `{first}`); \
             give --record the record that was judged"
    )]
    OtherRecord { runs: usize, first: String },
    #[error("run {run}: {source}")]
    Record { run: String, source: RecordError },
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
        !matches!(self, Self::Write { .. } | Self::Template { .. })
    }
}

/// Whatever the record's keeper says is wrong.
pub type RecordError = Box<dyn std::error::Error + Send + Sync>;

/// The record of a campaign, as far as a site needs it.
pub trait Runs {
    /// All runs, `entry/instance/examination`.
    fn names(&self) -> Result<Vec<String>, RecordError>;
    /// All attempts at a run in order; the last one is the one that was judged.
    fn attempts(&self, run: &str) -> Result<Vec<KeptAttempt>, RecordError>;
}

/// An attempt and where its raw outputs lie.
#[derive(Clone, Debug)]
pub struct KeptAttempt {
    pub attempt: Attempt,
    /// (`stdout`, path), (`stderr`, path), ...
    pub outputs: Vec<(String, PathBuf)>,
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    pub examination_pages: usize,
    pub run_pages: usize,
}

/// Reads `judgement.json` of the folder that `judge --out` wrote.
pub fn read_judgement(dir: &Path) -> Result<Judgement, ReportError> {
    let path = dir.join("judgement.json");
    let text =
        std::fs::read(&path).map_err(|source| ReportError::Unreadable { path: path.clone(), source })?;
    serde_json::from_slice(&text).map_err(|error| ReportError::NotAJudgement {
        line: error.line(),
        column: error.column(),
        reason: error.to_string(),
        path,
    })
}

/// Writes the site of a judgement to `out`: beside it first, then renamed, so `out` is always a whole site.
///
/// `judgement_dir` is the folder of the judgement; its files are copied to `SITE/data/`. Without `runs` the
/// site has no page per run. The same judgement and record give the same bytes.
pub fn write_site(
    judgement: &Judgement,
    judgement_dir: Option<&Path>,
    runs: Option<&dyn Runs>,
    out: &Path,
) -> Result<Written, ReportError> {
    let contest = contest::Contest::new(judgement, runs)?;
    let site = site::NewSite::beside(out)?;
    let mut facts = index::RecordFacts::default();
    for &key in contest.recorded.iter().filter(|_| runs.is_some()) {
        let name = contest.run_name(key);
        let attempts = runs
            .map_or(Ok(Vec::new()), |runs| runs.attempts(&name))
            .map_err(|source| ReportError::Record { run: name.clone(), source })?;
        facts.add(&attempts);
        run::write(&contest, key, &attempts, &site)?;
    }
    let mut examination_pages = 0;
    for examination in 0..judgement.examinations.len() {
        examination_pages += table::write(&contest, examination, &site)?;
    }
    let data = site.copy_data(judgement_dir)?;
    index::write(&contest, &facts, &data, &site)?;
    site.finish(judgement)?;
    Ok(Written { examination_pages, run_pages: contest.recorded.len() })
}
