//! An edition of SV-COMP (the rules page of the contest, and its report of 2013).

use super::error::Fault;
use super::{Pattern, Status, StatusRule, YEAR_S, between, fits, fraction, retain_names};
use num_rational::BigRational;
use num_traits::{One, Signed};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Every key is documented in `editions/README.md`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SvcompEdition {
    pub contest: SvcompContest,
    /// `svcomp-2013`
    pub name: String,
    pub title: String,
    pub points: Points,
    pub limits: Limits,
    /// None: an answer needs no confirmed witness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witnesses: Option<Witnesses>,
    pub qualification: Qualification,
    /// What in a result file names the entry.
    pub entry: EntryName,
    /// A categories file goes first.
    #[serde(default, rename = "category")]
    pub categories: Vec<Category>,
    #[serde(default, rename = "opt_out")]
    pub opt_outs: Vec<OptOut>,
    /// A team and its entries; an entry named nowhere is a team of its own.
    #[serde(default)]
    pub teams: BTreeMap<String, Vec<String>>,
    /// In order; the first pattern that fits an entry says its status.
    #[serde(default, rename = "status")]
    pub statuses: Vec<StatusRule>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SvcompContest {
    #[serde(rename = "sv-comp")]
    Svcomp,
}

/// The scoring schema. UNKNOWN, a timeout, a crash: 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Points {
    #[serde(with = "fraction")]
    pub true_right: BigRational,
    #[serde(with = "fraction")]
    pub true_wrong: BigRational,
    #[serde(with = "fraction")]
    pub false_right: BigRational,
    #[serde(with = "fraction")]
    pub false_wrong: BigRational,
    pub true_unconfirmed: Unconfirmed,
    pub false_unconfirmed: Unconfirmed,
}

/// What a right answer is whose witness nobody confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unconfirmed {
    AsRight,
    /// Counts as UNKNOWN.
    Unknown,
    Points(BigRational),
}

impl fmt::Display for Unconfirmed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AsRight => out.write_str("as-right"),
            Self::Unknown => out.write_str("unknown"),
            Self::Points(points) => points.fmt(out),
        }
    }
}

impl Serialize for Unconfirmed {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Unconfirmed {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Ok(match text.as_str() {
            "as-right" => Self::AsRight,
            "unknown" => Self::Unknown,
            number => Self::Points(fraction::parse(number).ok_or_else(|| {
                serde::de::Error::custom("allowed are \"as-right\", \"unknown\", and points in quotes")
            })?),
        })
    }
}

/// A run that reaches one of these is a timeout, whatever it printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Seconds of CPU time.
    #[serde(deserialize_with = "between::<1, YEAR_S, _, _>")]
    pub cpu_s: u64,
    /// Seconds of wall time after which a verifier that hangs is killed; its time is then set to this.
    #[serde(deserialize_with = "between::<1, YEAR_S, _, _>")]
    pub wall_s: u64,
}

/// How witnesses are validated, and where they need not be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Witnesses {
    /// Seconds a validator has for a violation witness.
    #[serde(deserialize_with = "between::<1, YEAR_S, _, _>")]
    pub violation_s: u64,
    #[serde(deserialize_with = "between::<1, YEAR_S, _, _>")]
    pub correctness_s: u64,
    #[serde(deserialize_with = "between::<1, 4096, _, _>")]
    pub processing_units: u32,
    #[serde(deserialize_with = "between::<1, 1048576, _, _>")]
    pub memory_gb: u64,
    /// Patterns of categories whose violation witnesses are not validated: a right FALSE counts as confirmed.
    pub exempt_violation: Vec<Pattern>,
    pub exempt_correctness: Vec<Pattern>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Qualification {
    /// An entry is qualified when it started on more than this share of its tasks.
    #[serde(with = "fraction")]
    pub more_than: BigRational,
    /// Patterns of a run's status that say the verifier never started; no status at all says so too.
    pub not_started: Vec<Pattern>,
    /// Teams a new category needs to be held.
    pub teams_for_a_new_category: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryName {
    /// The name of the benchmark definition: one per entry in the contest's archives.
    Benchmarkname,
    /// The tool's own name.
    Tool,
    /// The name of the run definition, up to its first `.`.
    Name,
}

/// A category, or a meta category where others name it as their parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Category {
    pub name: String,
    /// The meta category it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// How many verification tasks it has; None: as many as the results show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<u64>,
    /// Proposed for this edition: held only with enough teams.
    #[serde(default)]
    pub new: bool,
}

/// An opt-out statement: a dash in these categories; the real results count in their meta category.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptOut {
    pub entry: String,
    /// Patterns.
    pub categories: Vec<Pattern>,
}

impl SvcompEdition {
    pub(super) fn check(&self) -> Option<Fault> {
        let at = |parts: &[&str]| parts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let points = &self.points;
        for (key, value, positive) in [
            ("true_right", &points.true_right, true),
            ("false_right", &points.false_right, true),
            ("true_wrong", &points.true_wrong, false),
            ("false_wrong", &points.false_wrong, false),
        ] {
            if positive && !value.is_positive() || !positive && value.is_positive() {
                let word = if positive { "more than 0" } else { "0 or less" };
                return Some((at(&["points", key]), format!("must be {word}")));
            }
        }
        let share = &self.qualification.more_than;
        if share.is_negative() || *share >= BigRational::one() {
            return Some((at(&["qualification", "more_than"]), "a share from 0 to below 1".to_owned()));
        }
        if let Err((number, message)) = check_categories(&self.categories) {
            return Some((at(&["category", &number.to_string(), "name"]), message));
        }
        None
    }

    /// The team of an entry; the entry itself where the edition names no other.
    pub fn team_of<'a>(&'a self, entry: &'a str) -> &'a str {
        let team = self.teams.iter().find(|(_, entries)| entries.iter().any(|known| known == entry));
        team.map_or(entry, |(team, _)| team)
    }

    pub fn status_of(&self, entry: &str) -> Status {
        StatusRule::status_of(&self.statuses, entry)
    }

    /// The settings as they are published: they don't name who resigned either (P-4).
    pub fn without_resigned(&self) -> Self {
        let stays = |entry: &str| self.status_of(entry) != Status::Resigned;
        let mut edition = self.clone();
        retain_names(&mut edition.teams, stays);
        edition.opt_outs.retain(|opt_out| stays(&opt_out.entry));
        edition.statuses.retain(|rule| rule.status != Status::Resigned);
        edition
    }

    pub fn has_opted_out(&self, entry: &str, category: &str) -> bool {
        let mut statements = self.opt_outs.iter().filter(|opt_out| opt_out.entry == entry);
        statements.any(|opt_out| fits(&opt_out.categories, category))
    }
}

/// Of one category: more are a slip of the pen, and their sum must be countable.
const MOST_TASKS: u64 = 1_000_000_000;

/// The number of the category that cannot be, and why: named twice, with a wrong number of tasks, without its parent, or its own ancestor.
pub fn check_categories(categories: &[Category]) -> Result<(), (usize, String)> {
    let mut names = BTreeMap::new();
    for (number, category) in categories.iter().enumerate() {
        if category.name.is_empty() {
            return Err((number, "a category needs a name".to_owned()));
        }
        if names.insert(category.name.as_str(), category.parent.as_deref()).is_some() {
            return Err((number, format!("category `{}` is named twice", category.name)));
        }
        if let Some(tasks) = category.tasks.filter(|tasks| !(1..=MOST_TASKS).contains(tasks)) {
            let name = &category.name;
            return Err((
                number,
                format!("category `{name}` has {tasks} tasks; allowed are 1 to {MOST_TASKS}"),
            ));
        }
    }
    for (number, category) in categories.iter().enumerate() {
        let mut seen = BTreeSet::new();
        let mut at = category.name.as_str();
        while let Some(parent) = names[at] {
            if !names.contains_key(parent) {
                return Err((number, format!("its parent `{parent}` is no category here; add it")));
            }
            if !seen.insert(parent) {
                return Err((number, format!("category `{}` is a part of itself", category.name)));
            }
            at = parent;
        }
    }
    Ok(())
}
