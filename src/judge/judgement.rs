//! The judgement: the result of judging, as `judgement.json` stores it and `report` shows it.
//!
//! Entries, instances and examinations are listed once, in sorted order. Elsewhere they are numbers: indices into
//! these lists, from 0.

use crate::certified::Certified;
pub use crate::judgement_check::has_short_denominator;
pub use crate::value_verdict::{ValueVerdict, ValueVerdicts};
use mcc_base::figures::{self, BadFigure};
use mcc_base::names::{PropertyId, text_of};
use mcc_base::{FileError, Mark, OnFile, files};
use mcc_campaign::Publication;
use mcc_campaign::benchkit::Value;
use mcc_campaign::benchkit::published::{self, TableError};
pub use mcc_edition::AwardKind;
pub use mcc_edition::Status;
use mcc_edition::{Edition, fraction};
use mcc_store::InstructionSource;
use num_rational::BigRational;
use serde::{Deserialize, Serialize};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// Implements `Display` for enums whose words in files are those in texts and on pages.
macro_rules! display_as_in_files {
    ($($words:ty),*) => {
        $(impl std::fmt::Display for $words {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                serde::Serialize::serialize(self, out)
            }
        })*
    };
}
pub(crate) use display_as_in_files;

display_as_in_files!(Basis, Weak, Ending, Medal, VariantRank, FlagKind);

/// Name of the input that every judged record has and no judged table has.
pub const CAMPAIGN_FILE: &str = "campaign.toml";

/// Why `judgement.json` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JudgementError {
    /// The file cannot be read.
    #[error("{0}; give the folder that `mcc-harness judge --out` wrote")]
    File(#[from] FileError),
    /// The packed file cannot be read.
    #[error(transparent)]
    Packed(#[from] TableError),
    /// The file is not JSON, or its fields are not those of a judgement.
    #[error("{}:{line}:{column}: not a judgement of this version: {reason}; judge again with this mcc-harness",
        path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line of the error, from 1.
        line: usize,
        /// Column of the error, from 1.
        column: usize,
        /// What the JSON reader expected.
        reason: String,
    },
    /// A number in the judgement refers to nothing, or lists that must have the same length do not.
    #[error("the judgement is inconsistent: {0}; judge again with this mcc-harness")]
    Broken(String),
}

impl JudgementError {
    /// Converts an error of the JSON reader on the file `path`.
    pub fn of_json(error: serde_json::Error, path: &Path) -> Self {
        let path = path.to_owned();
        match error.io_error_kind() {
            Some(_) => Self::File(FileError { action: "read", path, source: error.into() }),
            None => {
                let (line, column) = (error.line(), error.column());
                let reason = if error.is_eof() {
                    "the file ends before its JSON is complete".to_owned()
                } else {
                    let reason = error.to_string();
                    reason.rsplit_once(" at line ").map_or(reason.as_str(), |(start, _)| start).to_owned()
                };
                Self::Syntax { path, line, column, reason }
            }
        }
    }
}

/// The file that has the whole judgement.
pub const JUDGEMENT_FILE: &str = "judgement.json";

/// Opens the file `name` of a judgement in a folder, or else `NAME.gz`, as which a site has a long one. Returns its path too.
///
/// # Errors
/// The file cannot be opened.
pub fn open(dir: &Path, name: &str) -> Result<(PathBuf, Box<dyn Read>), JudgementError> {
    let path = dir.join(name);
    let packed = dir.join(format!("{name}.gz"));
    if !path.exists() && packed.exists() {
        let content = published::open(&packed)?;
        return Ok((packed, content));
    }
    let file = files::open_own(&path).on("read", &path)?;
    Ok((path, Box::new(file)))
}

/// Most entries. More come from a wrong column or a forged record; the cost of judging grows with their square.
pub const MAX_ENTRIES: usize = 1000;

/// The result of judging a contest of the MCC: the content of `judgement.json`.
#[derive(Debug, Serialize, Deserialize)]
pub struct Judgement {
    /// Version of the mcc-harness that judged.
    pub version: String,
    /// The settings of the edition as used, including those changed by options or by the campaign.
    pub edition: Edition,
    /// Title, date, people, licence and DOI, as far as the campaign states them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publication: Option<Publication>,
    /// Digests of the judged files, by file name. Paths are left out, so that the same input gives the same bytes.
    pub inputs: Vec<InputDigest>,
    /// Restrictions that apply to this judgement, such as families that were derived from instance names.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The entries, by number.
    pub entries: Vec<Entry>,
    /// The instances, by number.
    pub instances: Vec<Instance>,
    /// Names of the examinations in the order of the edition.
    pub examinations: Vec<String>,
    /// Runs of entries that vote or compete whose last attempt is an infrastructure failure. While there is one the
    /// judgement is provisional and no medal is final.
    pub unresolved: Vec<RunName>,
    /// Unresolved runs whose blocks were excluded for all tools (`infrastructure = "exclude"`). The reason is in the
    /// settings of the edition.
    #[serde(default)]
    pub excluded: Vec<RunName>,
    /// |V|: number of the common values, on which enough votes agree to measure confidence (E-2.2).
    #[serde(default)]
    pub common_values: u64,
    /// The confidence of every entry, by entry number.
    pub confidence: Vec<Confidence>,
    /// The blocks, sorted by examination (order of the edition), then instance.
    pub blocks: Vec<Block>,
    /// The points of every entry in every examination in which it took part.
    pub scores: Vec<Score>,
    /// One podium per category, in the order of the edition.
    pub podiums: Vec<Podium>,
    /// The podiums as they would be if evidence replaced votes (docs/certification.md); empty without certified values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence_podiums: Vec<Podium>,
    /// The awards, by category in the order of the edition.
    pub awards: Vec<Award>,
    /// The score of the best virtual tool in every examination that has a block.
    #[serde(default)]
    pub best_virtual: Vec<VirtualScore>,
    /// Cases that the organizers must check before medals are given.
    #[serde(default)]
    pub flags: Vec<Flag>,
}

impl Judgement {
    /// Returns whether a campaign's record was judged. A table contains neither the machines nor the outputs of runs.
    pub fn is_of_record(&self) -> bool {
        self.inputs.iter().any(|input| input.file == CAMPAIGN_FILE)
    }

    /// Reads and checks the judgement of a folder that `judge --out` wrote, or of the folder `data` of a site.
    ///
    /// # Errors
    /// The file cannot be read, is not a judgement of this version, or is inconsistent.
    pub fn read(dir: &Path) -> Result<Self, JudgementError> {
        let (path, file) = open(dir, JUDGEMENT_FILE)?;
        let read = serde_json::from_reader(BufReader::with_capacity(1 << 16, file));
        let judgement: Self = read.map_err(|error| JudgementError::of_json(error, &path))?;
        judgement.check()?;
        Ok(judgement)
    }
}

/// A judged file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputDigest {
    /// Name of the file without its folder.
    pub file: String,
    /// SHA-256 of its content in lower-case hex.
    pub sha256: String,
}

/// The part of a judgement that states what was judged.
#[derive(Debug, Deserialize)]
pub struct JudgedInputs {
    /// The judged files.
    pub inputs: Vec<InputDigest>,
}

impl InputDigest {
    /// Returns whether the file name contains the name of the entry as a word, as `summary_TOOL.csv` and
    /// `TOOL.2026-01-01.results.xml` do.
    pub(super) fn is_named_after(&self, entry: &str) -> bool {
        let ends = |text: Option<char>| !text.is_some_and(char::is_alphanumeric);
        self.file.match_indices(entry).any(|(at, _)| {
            ends(self.file[..at].chars().next_back()) && ends(self.file[at + entry.len()..].chars().next())
        })
    }
}

/// A tool or variant as submitted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// The name under which it was submitted.
    pub entry: String,
    /// The tool of which it is a variant; without variants the name of the entry.
    pub tool: String,
    /// Whether it competes.
    pub status: Status,
    /// The reason for its status, such as a withdrawal (P-3); may be empty.
    pub note: String,
}

/// An instance of a model.
#[derive(Debug, Serialize, Deserialize)]
pub struct Instance {
    /// Name of the instance.
    pub instance: String,
    /// Name of its family (model).
    pub family: String,
    /// `known` or `surprise`, in 2017 also `stripped`.
    pub status: String,
    /// Normalization weight (E-4.4) times the multiplier of its status, the scale of the edition and the factor of its
    /// family.
    #[serde(with = "fraction")]
    pub weight: BigRational,
}

/// A run, by names.
#[derive(Debug, Serialize, Deserialize)]
pub struct RunName {
    /// Name of the entry.
    pub entry: String,
    /// Name of the instance.
    pub instance: String,
    /// Name of the examination.
    pub examination: String,
}

/// The confidence of an entry (E-2).
#[derive(Debug, Serialize, Deserialize)]
pub struct Confidence {
    /// Number of the entry.
    pub entry: usize,
    /// Common values that the entry gave and on which it agrees.
    pub agreed: u64,
    /// Common values that the entry gave.
    pub answered: u64,
    /// `agreed` / `answered`, or `agreed` / |V|, as the edition sets it; 0 where the divisor is 0.
    #[serde(with = "fraction")]
    pub confidence: BigRational,
}

/// One examination on one instance: its trusted values and the runs of all entries.
#[derive(Debug, Serialize, Deserialize)]
pub struct Block {
    /// Number of the examination.
    pub examination: usize,
    /// Number of the instance.
    pub instance: usize,
    /// The trusted values, by position.
    pub trusted: Vec<Trusted>,
    /// One cell per entry that has a run in this block, by entry number.
    pub cells: Vec<Cell>,
}

impl Block {
    /// Returns the run of an entry; None if it has none in this block.
    pub fn cell(&self, entry: usize) -> Option<&Cell> {
        let at = self.cells.binary_search_by_key(&entry, |cell| cell.entry).ok()?;
        self.cells.get(at)
    }
}

/// The trusted value of one position (E-3.1).
#[derive(Debug, Serialize, Deserialize)]
pub struct Trusted {
    /// The property id; empty where none is known.
    #[serde(deserialize_with = "text_of::<PropertyId, _>")]
    pub id: String,
    /// The value; None where it is unknown.
    pub value: Option<Value>,
    /// The case of E-3.1 that decided.
    pub basis: Basis,
    /// Why the evidence for the value is weak; None where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weak: Option<Weak>,
    /// The organizers' reason for an override; otherwise empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The certified value, if the judgement was made with certified values and there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certified: Option<Box<Certified>>,
}

impl Trusted {
    /// A position without an id and a value.
    pub fn unknown() -> Self {
        Self {
            id: String::new(),
            value: None,
            basis: Basis::UnknownNone,
            weak: None,
            reason: String::new(),
            certified: None,
        }
    }
}

mcc_base::words! {
    /// The case of E-3.1 that decided a trusted value, or why the value is unknown.
    #[derive(PartialOrd, Ord)]
    pub enum Basis {
        /// All votes, at least two, agree.
        Unanimous = "unanimous",
        /// There is one vote, with enough confidence.
        Single = "single",
        /// The confidences of the voters for the value sum to more than the needed share of all voters' confidences.
        Majority = "majority",
        /// Two votes differ; the one with more confidence decides.
        Confidence = "confidence",
        /// Unknown: there is no vote.
        UnknownNone = "unknown:none",
        /// Unknown: there is one vote, with too little confidence.
        UnknownSingle = "unknown:single",
        /// Unknown: two votes with equal confidence differ.
        UnknownTie = "unknown:tie",
        /// Unknown: the votes differ and none of their values has a majority.
        UnknownSplit = "unknown:split",
        /// Set by the organizers, to a value or to unknown.
        Override = "override",
    }
}

impl Basis {
    /// Returns whether the votes differed.
    pub fn is_of_differing_votes(self) -> bool {
        matches!(self, Self::Majority | Self::Confidence | Self::UnknownTie | Self::UnknownSplit)
    }
}

/// Why the evidence for a trusted value is weak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weak {
    /// Only one voter gave it.
    SingleBacker,
    /// Several voters gave it, and all of them are variants of one tool.
    SingleFamily,
}

/// The run of one entry in one block, judged.
#[derive(Debug, Serialize, Deserialize)]
pub struct Cell {
    /// Number of the entry.
    pub entry: usize,
    /// How the run ended.
    pub ending: Ending,
    /// The values that the entry gave, by position; None where it gave none.
    pub values: Vec<Option<Value>>,
    /// The verdicts on the values, by position.
    pub verdicts: ValueVerdicts,
    /// Points of the run, weighted.
    #[serde(with = "fraction")]
    pub points: BigRational,
    /// Whether every position has a trusted value and the entry gave it (E-4.3).
    pub complete: bool,
    /// Measured time and memory; None where they are not known.
    pub cost: Option<Cost>,
    /// Deviations from contest conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Mark>,
    /// The techniques stated for the value (E-1.10), by position.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub techniques: Vec<Vec<String>>,
    /// When the values arrived on the host, ms since the tool's start, by position; empty if no time is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrived_ms: Vec<Option<u64>>,
    /// Anomalies of the output, each with its line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// The failure class of the run, where it was read (`RunResults::add_failure_classes`); not part of a judgement.
    #[serde(skip)]
    pub failure_class: Option<String>,
}

impl Cell {
    /// Returns false for a planned run without an attempt, in a campaign that was judged before its end.
    pub fn was_made(&self) -> bool {
        Mark::was_made(&self.marks)
    }
}

/// How a run ended, as scored. E-1.7 requires that these cases stay distinct.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// The tool ended by itself and gave at least one well-formed answer.
    Answered,
    /// The tool declared `DO_NOT_COMPETE`, or the entry does not take part in the examination.
    DidNotCompete,
    /// The tool declared `CANNOT_COMPUTE` and gave no value.
    CannotCompute,
    /// The tool ended by itself without a well-formed answer.
    NoAnswer,
    /// Terminated at the limit on CPU time.
    CpuLimit,
    /// Terminated at the limit on wall time.
    WallLimit,
    /// Terminated at the limit on memory.
    MemoryLimit,
    /// Terminated at the limit on output.
    OutputLimit,
    /// Terminated at the limit on writes to the disk.
    DiskLimit,
    /// Terminated at the limit on instructions.
    InstructionLimit,
    /// The tool ended abnormally.
    ToolCrash,
    /// A failure of host or harness; it is never attributed to the tool.
    Infrastructure,
    /// The published table does not state how the run ended.
    // Judgements of earlier versions have the word `unsaid`.
    #[serde(alias = "unsaid")]
    #[default]
    NotStated,
}

impl Ending {
    /// Returns whether the run is scored: its values, or that it gave none. An infrastructure failure is not (R2).
    pub fn is_scored(self) -> bool {
        self != Self::Infrastructure
    }
}

/// Time, memory and instructions of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    /// CPU time in milliseconds, measured on the host.
    pub cpu_ms: u64,
    /// Wall time in milliseconds, measured on the host.
    pub wall_ms: u64,
    /// Peak memory of the tool in the guest, in KiB; None where it was not measured.
    pub memory_kib: Option<u64>,
    /// Instructions at user addresses; None where they were not counted. No point and no award depends on instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions_user: Option<u64>,
    /// Instructions at addresses of the guest's kernel; None where they were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions_kernel: Option<u64>,
    /// What counted the instructions; None where they were not counted, and in judgements of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions_source: Option<InstructionSource>,
}

impl Cost {
    /// Checks that the values are possible measurements (`mcc_base::figures`).
    ///
    /// # Errors
    /// The first value that is not, with its key.
    pub fn check(&self) -> Result<(), BadFigure> {
        figures::check_ms([("cpu_ms", Some(self.cpu_ms)), ("wall_ms", Some(self.wall_ms))])?;
        figures::check_kib([("memory_kib", self.memory_kib)])?;
        figures::check_instructions([
            ("instructions_user", self.instructions_user),
            ("instructions_kernel", self.instructions_kernel),
        ])
    }
}

/// The points of an entry in an examination, over all instances.
#[derive(Debug, Serialize, Deserialize)]
pub struct Score {
    /// Number of the entry.
    pub entry: usize,
    /// Number of the examination.
    pub examination: usize,
    /// Number of right values.
    pub right: u64,
    /// Number of wrong values.
    pub wrong: u64,
    /// Number of values at positions whose trusted value is unknown.
    pub unjudged: u64,
    /// Points before weights (E-4.1).
    #[serde(with = "fraction")]
    pub points: BigRational,
    /// Points with normalization and multipliers (E-4.4).
    #[serde(with = "fraction")]
    pub normalized: BigRational,
}

/// The ranking of a category (E-4.5, E-4.6).
#[derive(Debug, Serialize, Deserialize)]
pub struct Podium {
    /// Name of the category.
    pub category: String,
    /// The places in order. Ties share a rank: 1, 1, 3. Other variants and unranked entries follow with `rank` None.
    pub places: Vec<PodiumPlace>,
}

impl Podium {
    /// The places with a rank up to 3.
    pub fn holders(&self) -> impl Iterator<Item = &PodiumPlace> {
        self.places.iter().filter(|place| place.rank.is_some_and(|rank| rank <= 3))
    }
}

/// An entry on a podium.
#[derive(Debug, Serialize, Deserialize)]
pub struct PodiumPlace {
    /// The rank, from 1; None for another variant and for an entry that does not compete.
    pub rank: Option<u32>,
    /// Number of the entry.
    pub entry: usize,
    /// Whether it is the best variant of its tool.
    pub variant: VariantRank,
    /// Normalized points, summed over the examinations of the category.
    #[serde(with = "fraction")]
    pub points: BigRational,
    /// The medal that belongs to the rank; none in a provisional judgement.
    pub medal: Medal,
}

mcc_base::words! {
    /// The medal of a place. Files have a word, or an empty text for none.
    #[derive(Default)]
    pub enum Medal {
        /// Rank 1.
        Gold = "gold",
        /// Rank 2.
        Silver = "silver",
        /// Rank 3.
        Bronze = "bronze",
        /// No medal.
        #[default]
        None = "",
    }
}

impl Medal {
    /// Returns the medal of a rank; ranks start at 1.
    pub fn of_rank(rank: u32) -> Self {
        match rank {
            1 => Self::Gold,
            2 => Self::Silver,
            3 => Self::Bronze,
            _ => Self::None,
        }
    }
}

/// How an entry on a podium compares with the other variants of its tool (E-4.6). Files have a word, or an empty text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VariantRank {
    /// The best of several variants: it has the rank of the tool.
    Best,
    /// Another variant, without a rank.
    Other,
    /// The only competing entry of its tool, or an entry that does not compete.
    #[default]
    #[serde(rename = "")]
    Only,
}

/// An award of a category: a prize in addition to the podium (E-4.5).
#[derive(Debug, Serialize, Deserialize)]
pub struct Award {
    /// Name of the category.
    pub category: String,
    /// What the award is given for.
    pub award: AwardKind,
    /// The compared entries, by rank.
    pub places: Vec<AwardPlace>,
}

/// The place of an entry in the ranking of an award.
#[derive(Debug, Serialize, Deserialize)]
pub struct AwardPlace {
    /// The rank, from 1; ties share a rank.
    pub rank: u32,
    /// Number of the entry.
    pub entry: usize,
    /// Number of blocks over which the entries are compared.
    pub runs_compared: u64,
    /// The sum over these blocks, in `unit`.
    pub value: u64,
    /// `ms` (CPU time), `KiB` (memory) or `values`.
    pub unit: String,
}

/// The score of the best virtual tool in an examination: a tool that has every right value of a competing entry and
/// no wrong one.
#[derive(Debug, Serialize, Deserialize)]
pub struct VirtualScore {
    /// Number of the examination.
    pub examination: usize,
    /// Number of its values, all of which are right.
    pub right: u64,
    /// Number of positions in all blocks of the examination.
    pub values: u64,
    /// Points before weights (E-4.1).
    #[serde(with = "fraction")]
    pub points: BigRational,
    /// Points with normalization and multipliers (E-4.4).
    #[serde(with = "fraction")]
    pub normalized: BigRational,
}

/// A case that the organizers must check before medals are given.
#[derive(Debug, Serialize, Deserialize)]
pub struct Flag {
    /// What kind of case it is.
    pub kind: FlagKind,
    /// Number of the entry.
    pub entry: usize,
    /// Number of the examination.
    pub examination: usize,
    /// The family; empty where the flag refers to all families of the examination.
    pub family: String,
    /// Number of the instance; None where the flag refers to several.
    pub instance: Option<usize>,
    /// The position; None where the flag refers to runs.
    pub position: Option<usize>,
    /// A sentence for the organizers.
    pub detail: String,
}

/// The kinds of flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlagKind {
    /// The entry gave values, but its confidence could not be measured, so that values that only it gave are not trusted.
    NoConfidence,
    /// The entry has no run in an examination, or none there on a family, although others have: probably an error of
    /// the organizers.
    Absent,
    /// The run gave different values for one position.
    Contradiction,
    /// The run gave the same value for one position more than once.
    Repeat,
}
