//! The judgement: everything `judge` decided, as `judgement.json` keeps it and `report` shows it.
//!
//! Entries, instances and examinations are named once, in sorted order, and referred to by number.

pub use crate::value_verdict::{ValueVerdict, ValueVerdicts};
use mcc_base::Mark;
use mcc_benchkit::Value;
pub use mcc_edition::AwardKind;
pub use mcc_edition::Status;
use mcc_edition::{Edition, fraction};
use num_rational::BigRational;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// The input of a judgement that is in every record and is no table.
pub(crate) const CAMPAIGN_FILE: &str = "campaign.toml";

#[derive(Debug, thiserror::Error)]
pub enum JudgementError {
    #[error("cannot read {path}: {source}; give the folder that `mcc-harness judge --out` wrote", path = path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error(
        "{path}:{line}:{column}: not a judgement of this version: {reason}; judge again with this mcc-harness",
        path = path.display()
    )]
    Syntax { path: PathBuf, line: usize, column: usize, reason: String },
    #[error("the judgement contradicts itself: {0}; judge again with this mcc-harness")]
    Broken(String),
}

impl JudgementError {
    /// Why `path` is no judgement that can be read.
    pub(super) fn of_json(error: serde_json::Error, path: &Path) -> Self {
        let path = path.to_owned();
        match error.io_error_kind() {
            Some(_) => Self::Read { path, source: error.into() },
            None => {
                let (line, column) = (error.line(), error.column());
                Self::Syntax { path, line, column, reason: error.to_string() }
            }
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Judgement {
    /// Version of mcc-harness that judged.
    pub version: String,
    /// The edition's settings as used, overrides included.
    pub edition: Edition,
    /// Digests of what was judged, by file name (no paths: the same input gives the same bytes).
    pub inputs: Vec<InputDigest>,
    /// What people must know about this judgement, such as families that were guessed.
    #[serde(default)]
    pub notes: Vec<String>,
    pub entries: Vec<Entry>,
    pub instances: Vec<Instance>,
    /// Examination names in the edition's order.
    pub examinations: Vec<String>,
    /// Runs still `infrastructure` after their retries; not empty = provisional, no medal is final.
    pub unresolved: Vec<RunName>,
    /// Runs still `infrastructure` whose blocks were dropped for all tools (`infrastructure = "exclude"`); the
    /// reason is in the edition's settings.
    #[serde(default)]
    pub excluded: Vec<RunName>,
    /// |V|: the values on which enough tools agree to measure confidence by them (E-2.2).
    #[serde(default)]
    pub common_values: u64,
    /// By entry number.
    pub confidence: Vec<Confidence>,
    /// Sorted by examination (edition's order), then instance.
    pub blocks: Vec<Block>,
    pub scores: Vec<Score>,
    pub podiums: Vec<Podium>,
    pub awards: Vec<Award>,
    /// By examination that has a block: what the best virtual tool would get.
    #[serde(default)]
    pub best_virtual: Vec<VirtualScore>,
    /// What an organizer should look at.
    #[serde(default)]
    pub flags: Vec<Flag>,
}

impl Judgement {
    /// Whether a campaign's record was judged. Tables do not say on which machines runs were made, nor what was printed.
    pub fn is_of_record(&self) -> bool {
        self.inputs.iter().any(|input| input.file == CAMPAIGN_FILE)
    }

    /// Reads and checks `judgement.json` of a folder that `judge --out` wrote.
    pub fn read(dir: &Path) -> Result<Self, JudgementError> {
        let path = dir.join("judgement.json");
        let file = File::open(&path).map_err(|source| JudgementError::Read { path: path.clone(), source })?;
        let read = serde_json::from_reader(BufReader::with_capacity(1 << 16, file));
        let judgement: Self = read.map_err(|error| JudgementError::of_json(error, &path))?;
        judgement.check()?;
        Ok(judgement)
    }

    /// A judgement is a file that anyone may have edited: every number in it must name something.
    pub fn check(&self) -> Result<(), JudgementError> {
        let broken = |what: String| Err(JudgementError::Broken(what));
        let (entries, instances) = (self.entries.len(), self.instances.len());
        let examinations = self.examinations.len();
        for block in &self.blocks {
            if block.examination >= examinations || block.instance >= instances {
                return broken(format!("a block is about {} of {instances} instances", block.instance));
            }
            let count = block.trusted.len();
            if count == 0 {
                return broken("a block has no position".to_owned());
            }
            for cell in &block.cells {
                if cell.entry >= entries {
                    return broken(format!("a cell belongs to entry {} of {entries}", cell.entry));
                }
                if cell.values.len() != count || cell.verdicts.len() != count {
                    let entry = &self.entries[cell.entry].entry;
                    return broken(format!("{entry} has the verdicts `{}` on {count} values", cell.verdicts));
                }
            }
        }
        let given = |s: &Score| s.right.checked_add(s.wrong)?.checked_add(s.unjudged);
        let known = |s: &Score| s.entry < entries && s.examination < examinations;
        let scores = self.scores.iter().all(|s| known(s) && given(s).is_some());
        let podiums = self.podiums.iter().flat_map(|p| &p.places).all(|p| p.entry < entries);
        let awards = self.awards.iter().flat_map(|a| &a.places).all(|p| p.entry < entries);
        let virtuals = self.best_virtual.iter().all(|s| s.examination < examinations);
        let flags = self.flags.iter().all(|f| {
            f.entry < entries && f.examination < examinations && f.instance.is_none_or(|i| i < instances)
        });
        if !(scores && podiums && awards && virtuals && flags) {
            return broken("a figure belongs to no entry".to_owned());
        }
        match self.confidence.iter().map(|c| c.entry).eq(0..entries) {
            true => Ok(()),
            false => broken("not every entry has one confidence".to_owned()),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InputDigest {
    pub file: String,
    pub sha256: String,
}

impl InputDigest {
    /// Whether the file's name has the entry's as a word, as in `summary_TOOL.csv` or `TOOL.2026-01-01.results.xml`.
    pub(super) fn is_named_after(&self, entry: &str) -> bool {
        let ends = |text: Option<char>| !text.is_some_and(char::is_alphanumeric);
        self.file.match_indices(entry).any(|(at, _)| {
            ends(self.file[..at].chars().next_back()) && ends(self.file[at + entry.len()..].chars().next())
        })
    }
}

/// A tool or variant as submitted.
#[derive(Debug, Serialize, Deserialize)]
pub struct Entry {
    pub entry: String,
    pub tool: String,
    pub status: Status,
    pub note: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Instance {
    pub instance: String,
    pub family: String,
    /// `known` or `surprise` (2017 also `stripped`).
    pub status: String,
    /// Normalization weight times the multiplier of its status.
    #[serde(with = "fraction")]
    pub weight: BigRational,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct RunName {
    pub entry: String,
    pub instance: String,
    pub examination: String,
}

/// Rule E-2: `agreed` / `answered`.
#[derive(Debug, Serialize, Deserialize)]
pub struct Confidence {
    pub entry: usize,
    pub agreed: u64,
    pub answered: u64,
    #[serde(with = "fraction")]
    pub confidence: BigRational,
}

/// One examination on one instance: what is trusted, and what every entry did.
#[derive(Debug, Serialize, Deserialize)]
pub struct Block {
    pub examination: usize,
    pub instance: usize,
    pub trusted: Vec<Trusted>,
    /// One per entry that has a row for this block, by entry number.
    pub cells: Vec<Cell>,
}

/// The trusted value of one position (rule E-3.1).
#[derive(Debug, Serialize, Deserialize)]
pub struct Trusted {
    pub id: String,
    /// None = unknown.
    pub value: Option<Value>,
    pub basis: Basis,
    /// Why the value deserves doubt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weak: Option<Weak>,
    /// The organizers' reason for an override, else empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

impl Trusted {
    /// The basis with what must be said beside it: that it is weak, or why it was overridden.
    pub fn basis_shown(&self) -> String {
        match (self.weak, self.reason.as_str()) {
            (None, "") => self.basis.to_string(),
            (Some(weak), _) => format!("{} ({})", self.basis, weak.word()),
            (None, reason) => format!("{}: {reason}", self.basis),
        }
    }
}

/// Why a value is trusted, or why none is, in the words of RULES.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    Unanimous,
    Single,
    Majority,
    Confidence,
    #[serde(rename = "unknown:none")]
    UnknownNone,
    #[serde(rename = "unknown:single")]
    UnknownSingle,
    #[serde(rename = "unknown:tie")]
    UnknownTie,
    #[serde(rename = "unknown:split")]
    UnknownSplit,
    /// Set by the organizers, known or not.
    Override,
}

impl Basis {
    pub fn word(self) -> &'static str {
        match self {
            Self::Unanimous => "unanimous",
            Self::Single => "single",
            Self::Majority => "majority",
            Self::Confidence => "confidence",
            Self::UnknownNone => "unknown:none",
            Self::UnknownSingle => "unknown:single",
            Self::UnknownTie => "unknown:tie",
            Self::UnknownSplit => "unknown:split",
            Self::Override => "override",
        }
    }
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A trusted value on weak evidence: the majority opinion of too few.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weak {
    /// One entry alone gave it.
    SingleBacker,
    /// Several entries gave it, all of them variants of one tool.
    SingleFamily,
}

impl Weak {
    pub fn word(self) -> &'static str {
        match self {
            Self::SingleBacker => "single-backer",
            Self::SingleFamily => "single-family",
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Cell {
    pub entry: usize,
    pub ending: Ending,
    /// By position: what the entry gave.
    pub values: Vec<Option<Value>>,
    /// By position.
    pub verdicts: ValueVerdicts,
    /// Points of the block, already weighted.
    #[serde(with = "fraction")]
    pub points: BigRational,
    /// Every position has a trusted value and the entry's equals it (rule E-4.3).
    pub complete: bool,
    pub cost: Option<Cost>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// By position: the techniques stated for the value (E-1.10).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub techniques: Vec<Vec<String>>,
    /// What was odd about the output, by line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

impl Cell {
    /// Whether the run was made; not in a campaign that was judged before its end.
    pub fn was_made(&self) -> bool {
        !self.marks.contains(&Mark::NOT_RUN_YET)
    }
}

/// Why positions without a value have none (rule E-1.7 keeps these apart everywhere).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// Ended by itself with at least one well-formed answer.
    Answered,
    DidNotCompete,
    CannotCompute,
    /// Ended by itself without a well-formed answer.
    NoAnswer,
    CpuLimit,
    WallLimit,
    MemoryLimit,
    OutputLimit,
    ToolCrash,
    /// The harness's own trouble; never the tool's.
    Infrastructure,
    /// Published tables that do not say.
    NotStated,
}

impl Ending {
    /// Whether the run's values and its absence count. Infrastructure is never scored (P2).
    pub fn is_scored(self) -> bool {
        self != Self::Infrastructure
    }
}

/// What a run cost, as measured on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    pub cpu_ms: u64,
    pub wall_ms: u64,
    /// Peak of the tool in the guest; None where it was not measured.
    pub memory_kib: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Score {
    pub entry: usize,
    pub examination: usize,
    /// Values.
    pub right: u64,
    pub wrong: u64,
    pub unjudged: u64,
    /// Before weights.
    #[serde(with = "fraction")]
    pub points: BigRational,
    /// With normalization and multipliers.
    #[serde(with = "fraction")]
    pub normalized: BigRational,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Podium {
    pub category: String,
    /// In order; ties share a rank: 1, 1, 3. Other variants and unranked entries follow with `rank` None.
    pub places: Vec<PodiumPlace>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct PodiumPlace {
    pub rank: Option<u32>,
    pub entry: usize,
    pub variant: VariantRank,
    #[serde(with = "fraction")]
    pub points: BigRational,
    pub medal: Medal,
}

/// What a place is worth; in files a word, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Medal {
    Gold,
    Silver,
    Bronze,
    #[default]
    #[serde(rename = "")]
    None,
}

impl Medal {
    /// Of a rank from 1.
    pub fn of_rank(rank: u32) -> Self {
        match rank {
            1 => Self::Gold,
            2 => Self::Silver,
            3 => Self::Bronze,
            _ => Self::None,
        }
    }

    /// As files write it: empty where there is none.
    pub fn word(self) -> &'static str {
        match self {
            Self::Gold => "gold",
            Self::Silver => "silver",
            Self::Bronze => "bronze",
            Self::None => "",
        }
    }
}

impl fmt::Display for Medal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// Which of its tool's variants an entry of a podium is (E-4.6); in files a word, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VariantRank {
    /// The one that has the tool's rank.
    Best,
    /// Another, without a rank.
    Other,
    /// The only competing one, or not competing.
    #[default]
    #[serde(rename = "")]
    Only,
}

impl VariantRank {
    /// As files write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Best => "best",
            Self::Other => "other",
            Self::Only => "",
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Award {
    pub category: String,
    pub award: AwardKind,
    pub places: Vec<AwardPlace>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct AwardPlace {
    pub rank: u32,
    pub entry: usize,
    pub runs_compared: u64,
    pub value: u64,
    pub unit: String,
}

/// What a tool would get that gives every right value some competing entry gave, and no wrong one.
#[derive(Debug, Serialize, Deserialize)]
pub struct VirtualScore {
    pub examination: usize,
    /// Values it has, of all values of the examination's blocks.
    pub right: u64,
    pub values: u64,
    /// Before weights.
    #[serde(with = "fraction")]
    pub points: BigRational,
    /// With normalization and multipliers.
    #[serde(with = "fraction")]
    pub normalized: BigRational,
}

/// What an organizer should look at before medals are given.
#[derive(Debug, Serialize, Deserialize)]
pub struct Flag {
    pub kind: FlagKind,
    pub entry: usize,
    pub examination: usize,
    /// The model; empty where all of the examination is meant.
    pub family: String,
    /// None where more than one is meant.
    pub instance: Option<usize>,
    pub position: Option<usize>,
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlagKind {
    /// No run in an examination on a whole model, or in all of it: a likely error of the organizers.
    Absent,
    /// A value given twice, differently.
    Contradiction,
    /// A value given twice, alike.
    Repeat,
}

impl FlagKind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Contradiction => "contradiction",
            Self::Repeat => "repeat",
        }
    }
}
