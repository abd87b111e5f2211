//! The settings of judging (rules E-2 to E-4; RULES names the readings).

use super::{Pattern, fraction};
use num_rational::BigRational;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judging {
    /// Points of one examination on one instance, shared equally by its values (E-4.1).
    #[serde(with = "fraction")]
    pub points_per_examination: BigRational,
    /// A wrong value costs this many times what a right one gives (E-4.1).
    #[serde(with = "fraction")]
    pub penalty: BigRational,
    /// By the status of a model, `known`, `surprise`, ... (E-4.4).
    #[serde(with = "fraction::map")]
    pub multipliers: BTreeMap<String, BigRational>,
    pub normalization: Normalization,
    pub confidence: ConfidenceReading,
    /// How many tools must agree for a value to count towards confidence (E-2.2).
    pub min_agreeing: usize,
    /// The share of all voters' confidence that a value's voters must exceed, where more than two differ (E-3.1).
    #[serde(with = "fraction", default = "half")]
    pub majority: BigRational,
    /// The confidence from which a value that one tool alone gave is trusted (E-3.1).
    #[serde(with = "fraction")]
    pub single_threshold: BigRational,
    pub votes: Votes,
    pub infrastructure: InfrastructureRule,
    /// Why runs may be excluded; asked for with `infrastructure = "exclude"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infrastructure_reason: Option<String>,
    /// Whether an answer without TECHNIQUES counts as none.
    pub strict: bool,
    /// Given on every podium (E-4.5).
    pub awards: Vec<AwardKind>,
    /// Points of the complete runs (E-4.3) that needed least of an (instance, examination), before weights.
    #[serde(default)]
    pub bonuses: Bonuses,
    /// Entries of a podium that are at most this many points behind the first of a rank share it.
    #[serde(with = "fraction", default)]
    pub tie_margin: BigRational,
}

/// Points for being first in one examination on one instance, as 2017 gave them; 0 = none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Bonuses {
    /// For the least CPU time.
    #[serde(with = "fraction")]
    pub time: BigRational,
    /// For the least memory.
    #[serde(with = "fraction")]
    pub memory: BigRational,
}

fn half() -> BigRational {
    BigRational::new(1.into(), 2.into())
}

/// How instances weigh (E-4.4). A third formula is a variant here and its arm in `judge/mcc/weights.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Normalization {
    /// An instance of a family of n weighs (1 + (n-1)/(nmax-1))/n.
    FamilyLinear,
    /// Every instance weighs 1.
    None,
}

/// What an entry's agreeing values are divided by (E-2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConfidenceReading {
    /// The values of V the entry gave.
    Answered,
    /// All values of V.
    AllTrusted,
}

/// Who has a vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Votes {
    /// Every competing entry, each variant included.
    PerVariant,
    /// Every tool once, however many variants of it compete.
    PerTool,
}

/// What becomes of a run whose attempts all ended in infrastructure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InfrastructureRule {
    /// The judgement is provisional: no medal is final.
    Provisional,
    /// That examination on that instance is dropped for all tools, with a written reason.
    Exclude,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AwardKind {
    /// Least CPU time.
    RoadRunner,
    /// Least memory.
    Camel,
    /// Most right values (2026: Blue Whale).
    MostRight,
    /// Most right values that no other tool gave (2026: James Cook).
    MostUnique,
}

impl AwardKind {
    /// As files write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::RoadRunner => "road-runner",
            Self::Camel => "camel",
            Self::MostRight => "most-right",
            Self::MostUnique => "most-unique",
        }
    }
}

/// A category and the examinations whose points it sums (E-4.5, E-4.6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PodiumRule {
    pub category: String,
    pub examinations: Vec<String>,
}

/// What an entry is in the contest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Votes, scores and ranks.
    Competing,
    /// Best virtual tool: judged, never voting, never ranked.
    Virtual,
    /// An earlier gold medallist, a reference tool: judged, never voting, never ranked.
    OutOfCompetition,
    /// By the organizers (P-3): shown with the reason; neither votes, scores nor ranks.
    Withdrawn,
    /// By its authors (P-4): vanishes from everything.
    Resigned,
}

impl Status {
    /// Whether its runs are judged: neither withdrawn nor resigned (P-3, P-4).
    pub fn is_judged(self) -> bool {
        !matches!(self, Self::Withdrawn | Self::Resigned)
    }

    pub const ALL: [Self; 5] =
        [Self::Competing, Self::Virtual, Self::OutOfCompetition, Self::Withdrawn, Self::Resigned];

    /// As files write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Competing => "competing",
            Self::Virtual => "virtual",
            Self::OutOfCompetition => "out-of-competition",
            Self::Withdrawn => "withdrawn",
            Self::Resigned => "resigned",
        }
    }
}

/// The status of the entries whose name fits a pattern (`*`, `?`, `[ab]`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WrittenStatusRule")]
pub struct StatusRule {
    pub pattern: Pattern,
    pub status: Status,
    /// By which rule and why; a withdrawn entry has one (P-3).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenStatusRule {
    pattern: Pattern,
    status: Status,
    #[serde(default)]
    note: String,
}

impl TryFrom<WrittenStatusRule> for StatusRule {
    type Error = &'static str;

    fn try_from(written: WrittenStatusRule) -> Result<Self, Self::Error> {
        let WrittenStatusRule { pattern, status, note } = written;
        if status == Status::Withdrawn && note.trim().is_empty() {
            return Err("a withdrawn entry needs a `note` that says by which rule and why (P-3)");
        }
        Ok(Self { pattern, status, note })
    }
}

impl StatusRule {
    /// The first rule that fits an entry.
    fn of<'a>(rules: &'a [Self], entry: &str) -> Option<&'a Self> {
        rules.iter().find(|rule| rule.pattern.fits(entry))
    }

    /// The status of an entry as the first rule says that fits it, `competing` where none does.
    pub fn status_of(rules: &[Self], entry: &str) -> Status {
        Self::of(rules, entry).map_or(Status::Competing, |rule| rule.status)
    }

    /// Why an entry has its status; empty where nothing is said.
    pub fn note_of<'a>(rules: &'a [Self], entry: &str) -> &'a str {
        Self::of(rules, entry).map_or("", |rule| &rule.note)
    }
}
