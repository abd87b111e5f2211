//! The judgement of another contest (SV-COMP, CRV), in the words of the MCC's: entries, verdicts on instances, points,
//! podiums. Its `judgement.json` begins with the key `contest`.

mod explain;
mod rank;
mod tool;
mod write;

pub use explain::{Explanation, explain, rounded};
pub use rank::{Contender, Ties, podium};
pub use tool::{ToolExplanation, explain_tool};
pub use write::write;

use super::judgement::{Entry, InputDigest, JudgementError, Medal, Status};
use mcc_edition::{OtherEdition, fraction};
use num_rational::BigRational;
use serde::{Deserialize, Serialize};
use std::io::{BufReader, Read, Seek};
use std::path::Path;

#[derive(Debug, Serialize, Deserialize)]
pub struct Judgement {
    /// `sv-comp` or `crv`; the first key, by which the file is known.
    pub contest: String,
    /// Version of mcc-harness that judged.
    pub version: String,
    /// The edition's settings as used.
    pub edition: OtherEdition,
    /// Digests of what was judged, by file name.
    pub inputs: Vec<InputDigest>,
    /// What people must know, such as printed figures that contradict each other.
    pub notes: Vec<String>,
    /// Sorted by name.
    pub entries: Vec<Entry>,
    pub categories: Vec<Category>,
    /// What points are made of, in order (CRV: correctness, overhead, memory); empty where they have one source.
    pub parts: Vec<String>,
    /// Sorted by category, then instance; empty where only scores were given.
    pub blocks: Vec<Block>,
    /// Sorted by category, then entry.
    pub scores: Vec<Score>,
    pub podiums: Vec<Podium>,
    /// Score-based quantile functions (SV-COMP).
    pub quantiles: Vec<QuantileFunction>,
}

/// A category of SV-COMP, a track of CRV.
#[derive(Debug, Serialize, Deserialize)]
pub struct Category {
    pub category: String,
    /// The meta category it is a part of, by number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<usize>,
    /// Verification tasks, or benchmarks.
    pub tasks: u64,
    /// Whether it has a podium; `note` says why not.
    pub held: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// What everybody answer of one instance: a verification task, a benchmark.
#[derive(Debug, Serialize, Deserialize)]
pub struct Block {
    pub category: usize,
    pub instance: String,
    /// What is to be shown of it, where it could be several things (SV-COMP).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub property: String,
    /// The right answer; empty where is not known it.
    pub expected: String,
    /// By entry number.
    pub cells: Vec<Cell>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Cell {
    pub entry: usize,
    /// The answer as the results state it (`T`, `false(unreach-call)`).
    #[serde(alias = "said")]
    pub answer: String,
    pub verdict: RunVerdict,
    /// Why, where the verdict is more than a comparison.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    #[serde(with = "fraction")]
    pub points: BigRational,
    /// As `Judgement::parts`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Points>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub measured: Vec<Measure>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Points(#[serde(with = "fraction")] pub BigRational);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunVerdict {
    Right,
    /// Right, but no validator confirmed its witness.
    Unconfirmed,
    Wrong,
    /// An answer to an instance whose right answer is not known.
    Unjudged,
    Unknown,
    Timeout,
    Crash,
    NotStarted,
    /// The property cannot be written in the tool's language (CRV).
    Inexpressible,
}

impl RunVerdict {
    /// As files write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Unconfirmed => "unconfirmed",
            Self::Wrong => "wrong",
            Self::Unjudged => "unjudged",
            Self::Unknown => "unknown",
            Self::Timeout => "timeout",
            Self::Crash => "crash",
            Self::NotStarted => "not-started",
            Self::Inexpressible => "inexpressible",
        }
    }
}

/// A figure of a run, or the mean of several experiments' with their spread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measure {
    /// `cpu_s`, `time_s`, `memory_mb`.
    pub what: String,
    #[serde(with = "fraction")]
    pub mean: BigRational,
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub experiments: u64,
    /// Least and most, where there was more than one experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<(Points, Points)>,
}

fn once() -> u64 {
    1
}

fn is_once(experiments: &u64) -> bool {
    *experiments == 1
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Score {
    pub entry: usize,
    pub category: usize,
    pub right: u64,
    pub unconfirmed: u64,
    pub wrong: u64,
    /// Answers to instances whose right answer is not known.
    pub unjudged: u64,
    /// None: a dash (opted out, no result).
    pub points: Option<Points>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Points>,
    /// Points by task, what a meta category sums (SV-COMP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normalized: Option<Points>,
    /// Seconds of CPU time of the right answers (SV-COMP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_cpu_s: Option<Points>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Podium {
    pub category: usize,
    /// In order; entries that are not competing follow with `rank` None.
    pub places: Vec<CategoryPlace>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct CategoryPlace {
    pub rank: Option<u32>,
    pub entry: usize,
    #[serde(with = "fraction")]
    pub points: BigRational,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub success_cpu_s: Option<Points>,
    pub medal: Medal,
    /// Such as `not recomputable: opted-out results unpublished`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// The score-based quantile function of one entry: `start` is the sum of its negative points; each step is a run
/// that got points, by rising CPU time.
#[derive(Debug, Serialize, Deserialize)]
pub struct QuantileFunction {
    pub entry: usize,
    pub category: usize,
    #[serde(with = "fraction")]
    pub start: BigRational,
    pub steps: Vec<Step>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Step {
    /// The score accumulated with this run.
    #[serde(with = "fraction")]
    pub x: BigRational,
    #[serde(with = "fraction")]
    pub cpu_s: BigRational,
}

impl Judgement {
    /// Reads `judgement.json` of a folder that `judge --out` wrote; None where it is one of the MCC.
    pub fn read(dir: &Path) -> Result<Option<Self>, JudgementError> {
        let path = dir.join("judgement.json");
        let failed = |source| JudgementError::Read { path: path.clone(), source };
        let mut file = std::fs::File::open(&path).map_err(failed)?;
        let mut beginning = Vec::new();
        file.by_ref().take(256).read_to_end(&mut beginning).map_err(failed)?;
        beginning.retain(|byte| !byte.is_ascii_whitespace());
        if !beginning.starts_with(b"{\"contest\":") {
            return Ok(None);
        }
        file.rewind().map_err(failed)?;
        let read = serde_json::from_reader(BufReader::with_capacity(1 << 16, file));
        let judgement: Self = read.map_err(|error| JudgementError::of_json(error, &path))?;
        judgement.check()?;
        Ok(Some(judgement))
    }

    /// A judgement is a file that anyone may have edited: every number in it must name something.
    fn check(&self) -> Result<(), JudgementError> {
        let (entries, categories, parts) = (self.entries.len(), self.categories.len(), self.parts.len());
        let known = |entry: usize, category: usize| entry < entries && category < categories;
        let blocks = self.blocks.iter().all(|block| {
            let cells = block.cells.iter();
            block.category < categories
                && cells.clone().all(|cell| cell.entry < entries && cell.parts.len() == parts)
        });
        let nested = self.categories.iter().all(|category| category.parent.is_none_or(|of| of < categories));
        let scores = self.scores.iter().all(|score| known(score.entry, score.category));
        let podiums = self.podiums.iter().all(|podium| {
            podium.category < categories && podium.places.iter().all(|place| place.entry < entries)
        });
        let quantiles = self.quantiles.iter().all(|of| known(of.entry, of.category));
        match blocks && nested && scores && podiums && quantiles {
            true => Ok(()),
            false => Err(JudgementError::Broken("a figure belongs to no entry or category".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_key_said_is_read_as_the_answer() {
        let old = r#"{"entry": 0, "said": "T", "verdict": "right", "points": "1"}"#;
        let cell: Cell = serde_json::from_str(old).unwrap();
        assert_eq!(cell.answer, "T");
        assert!(serde_json::to_string(&cell).unwrap().contains("\"answer\":\"T\""));
    }
}
