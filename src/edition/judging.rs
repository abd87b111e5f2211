//! Settings of judging (E-2 to E-4).

use super::{Pattern, fraction};
use mcc_base::text::check_lines;
use num_rational::BigRational;
use num_traits::One;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Settings of judging. `docs/rules.md` explains the readings of the rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Judging {
    /// Points of an examination on an instance; each position has an equal share (E-4.1).
    #[serde(with = "fraction::setting")]
    pub points_per_examination: BigRational,
    /// Points that a wrong value costs, as a multiple of the points of a right value (E-4.1).
    #[serde(with = "fraction::setting")]
    pub penalty: BigRational,
    /// Multiplier of points by the status of a model, such as `known` or `surprise` (E-4.4).
    #[serde(with = "fraction::map")]
    pub multipliers: BTreeMap<String, BigRational>,
    /// Weight of instances by the size of their family (E-4.4).
    pub normalization: Normalization,
    /// Factors of the weights of single families, by family (E-4.4).
    #[serde(with = "fraction::map", default, skip_serializing_if = "BTreeMap::is_empty")]
    pub family_factors: BTreeMap<String, BigRational>,
    /// A factor of all weights, so that points have the size of those that the contest published (E-4.4). It changes no rank.
    #[serde(with = "fraction::setting", default = "BigRational::one", skip_serializing_if = "One::is_one")]
    pub scale: BigRational,
    /// What an answer that was not kept (`X`) costs where no value is trusted (E-4.2).
    #[serde(default, skip_serializing_if = "NotKept::is_default")]
    pub not_kept: NotKept,
    /// How confidence is computed (E-2.2).
    pub confidence: ConfidenceReading,
    /// Number of tools that must agree on a value for the position to be a common value (E-2.2).
    pub min_agreeing: usize,
    /// Share of the confidence of all voters that the voters of a value must exceed, if more than two values differ (E-3.1).
    #[serde(with = "fraction::setting", default = "half")]
    pub majority: BigRational,
    /// Least confidence of a tool for its value to be trusted if no other tool gave a value (E-3.1).
    #[serde(with = "fraction::setting")]
    pub single_threshold: BigRational,
    /// Which entries have a vote.
    pub votes: Votes,
    /// How unresolved runs are treated.
    pub infrastructure: InfrastructureRule,
    /// Why blocks may be excluded; required with `infrastructure = "exclude"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub infrastructure_reason: Option<String>,
    /// Whether a value without TECHNIQUES is ignored.
    pub strict: bool,
    /// Awards that are given on every podium (E-4.5).
    pub awards: Vec<AwardKind>,
    /// Over which runs the awards for time and memory compare entries (E-4.5b).
    #[serde(default)]
    pub cost_comparison: CostComparison,
    /// Bonus points, before weights, for the complete runs (E-4.3) of a block that needed least time or memory.
    #[serde(default)]
    pub bonuses: Bonuses,
    /// Entries of a podium that have at most this many points less than the first of a rank share the rank.
    #[serde(with = "fraction::setting", default)]
    pub tie_margin: BigRational,
}

/// Bonus points for the best run of an examination on an instance, as in 2017. 0 stands for no bonus.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Bonuses {
    /// For the least CPU time.
    #[serde(with = "fraction::setting")]
    pub time: BigRational,
    /// For the least memory.
    #[serde(with = "fraction::setting")]
    pub memory: BigRational,
}

fn half() -> BigRational {
    BigRational::new(1.into(), 2.into())
}

/// Weight of an instance by the size of its family (E-4.4). The formulas are in `judge/mcc/weights.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Normalization {
    /// The weight of an instance of a family with n instances is (1 + (n-1)/(nmax-1))/n.
    FamilyLinear,
    /// The weight of every instance is 1.
    None,
}

/// What an answer costs that a table marks as wrong without its value (`X`), at a position without a trusted value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotKept {
    /// Nothing: without a trusted value no answer is judged.
    #[default]
    Unjudged,
    /// The penalty of a wrong value.
    Wrong,
}

impl NotKept {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Over which runs the awards for time and memory compare the ranked entries of a podium (E-4.5b).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CostComparison {
    /// Over all runs, by the mean; a run that is not complete has a fixed charge of twice the limit.
    Penalized,
    /// Over the runs that all of them completed. Files without the key have this rule, which was the only one.
    #[default]
    CommonRuns,
}

/// The number that the agreeing values of an entry are divided by (E-2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConfidenceReading {
    /// The common values that the entry answered.
    Answered,
    /// All common values.
    AllTrusted,
}

/// Which entries have a vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Votes {
    /// Every competing entry, each variant included.
    PerVariant,
    /// Every tool has one vote, whatever the number of its competing variants.
    PerTool,
}

/// How a run is treated whose attempts all ended in an infrastructure failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InfrastructureRule {
    /// The judgement is provisional; no medal is final.
    Provisional,
    /// The block is excluded for all tools, with a written reason.
    Exclude,
}

mcc_base::words! {
    /// An award of a podium (E-4.5).
    pub enum AwardKind {
        /// Least CPU time.
        RoadRunner = "road-runner",
        /// Least memory.
        Camel = "camel",
        /// Most right values (2026: Blue Whale).
        MostRight = "most-right",
        /// Most right values that no other tool gave (2026: James Cook).
        MostUnique = "most-unique",
    }
}

/// A category and the examinations whose points it sums (E-4.5, E-4.6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PodiumRule {
    /// Name of the category, which is also the title of its podium.
    pub category: String,
    /// Names of its examinations.
    pub examinations: Vec<String>,
}

mcc_base::words! {
    /// The status of an entry in the contest.
    #[derive(PartialOrd, Ord, Hash)]
    pub enum Status {
        /// It votes, scores and is ranked.
        Competing = "competing",
        /// A gold tool of the year before, from 2019 on: it votes and is judged, but it is not ranked.
        VotingOnly = "voting-only",
        /// A best virtual tool: it is judged, but does not vote and is not ranked.
        Virtual = "virtual",
        /// A reference tool, or a gold tool of the year before in 2018: it is judged, but does not vote and is not ranked.
        OutOfCompetition = "out-of-competition",
        /// Excluded by the organizers (P-3): it is shown with the reason, but does not vote or score and is not ranked.
        Withdrawn = "withdrawn",
        /// Removed at the wish of its authors (P-4): it and its runs appear nowhere.
        Resigned = "resigned",
    }
}

impl Status {
    /// Whether its runs are judged: neither withdrawn nor resigned (P-3, P-4).
    pub fn is_judged(self) -> bool {
        !matches!(self, Self::Withdrawn | Self::Resigned)
    }

    /// Whether its answers are votes (E-2.2, E-3.1).
    pub fn votes(self) -> bool {
        matches!(self, Self::Competing | Self::VotingOnly)
    }
}

/// A rule for the status of all entries whose name fits a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WrittenStatusRule")]
pub struct StatusRule {
    /// The pattern (`*`, `?`, `[ab]`).
    pub pattern: Pattern,
    /// The status of the entries that fit the pattern.
    pub status: Status,
    /// The reason and the rule for it; required for a withdrawn entry (P-3).
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
    type Error = String;

    fn try_from(written: WrittenStatusRule) -> Result<Self, Self::Error> {
        let WrittenStatusRule { pattern, status, note } = written;
        if status == Status::Withdrawn && note.trim().is_empty() {
            return Err("a withdrawn entry needs a `note` with the reason and the rule (P-3)".to_owned());
        }
        check_lines(&note).map_err(|problem| format!("the `note` {problem}"))?;
        Ok(Self { pattern, status, note })
    }
}

impl StatusRule {
    /// The first rule that fits an entry.
    fn for_entry<'a>(rules: &'a [Self], entry: &str) -> Option<&'a Self> {
        rules.iter().find(|rule| rule.pattern.fits(entry))
    }

    /// The status of an entry by the first rule that fits it; `competing` if none fits.
    pub fn status_of(rules: &[Self], entry: &str) -> Status {
        Self::for_entry(rules, entry).map_or(Status::Competing, |rule| rule.status)
    }

    /// The reason for the status of an entry; empty if none is given.
    pub fn note_of<'a>(rules: &'a [Self], entry: &str) -> &'a str {
        Self::for_entry(rules, entry).map_or("", |rule| &rule.note)
    }
}
