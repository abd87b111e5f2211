//! Editions of SV-COMP (the rules of the contest, and its report of 2013).

use super::check::check_unknown;
use super::error::{Fault, ensure};
use super::{Pattern, Status, StatusRule, YEAR_S, between, fits, fraction, retain_names};
use num_rational::BigRational;
use num_traits::{One, Signed};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// An edition of SV-COMP. Every key is documented in `editions/README.md`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SvcompEdition {
    /// Always `sv-comp`.
    pub contest: SvcompContest,
    /// Name, such as `svcomp-2013`.
    pub name: String,
    /// Title for display.
    pub title: String,
    /// Points of runs.
    pub points: ScoringSchema,
    /// Limits of runs.
    pub limits: Limits,
    /// Validation of witnesses. None if an answer needs no confirmed witness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witnesses: Option<Witnesses>,
    /// Which entries and categories qualify.
    pub qualification: Qualification,
    /// The attribute of a result file that names the entry.
    pub entry: EntryName,
    /// Documents that the settings are taken from.
    #[serde(default)]
    pub sources: Vec<String>,
    /// Name of the built-in category structure, such as `svcomp-2024`. It is replaced by its content when the edition is
    /// loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) structure: Option<String>,
    /// Patterns of meta categories in which only answers FALSE count.
    #[serde(default)]
    pub false_only: Vec<Pattern>,
    /// Patterns of meta categories in which only answers TRUE count.
    #[serde(default)]
    pub true_only: Vec<Pattern>,
    /// Patterns of categories in which the contest gave no medals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without_medals: Vec<Pattern>,
    /// The categories. A table of categories in the input replaces them.
    #[serde(default, rename = "category")]
    pub categories: Vec<Category>,
    /// Opt-outs of entries.
    #[serde(default, rename = "opt_out")]
    pub opt_outs: Vec<OptOut>,
    /// Base categories in which an entry takes part although it does not take part in their meta category.
    #[serde(default, rename = "opt_in")]
    pub opt_ins: Vec<OptOut>,
    /// Teams with their entries. An entry that is not listed is a team of its own.
    #[serde(default)]
    pub teams: BTreeMap<String, Vec<String>>,
    /// Rules for the status of entries. The first rule whose pattern fits an entry counts.
    #[serde(default, rename = "status")]
    pub statuses: Vec<StatusRule>,
    /// Settings that were not published, by key (such as `witnesses.exempt_correctness`), each with a sentence on the value
    /// used.
    #[serde(default)]
    pub unknown: BTreeMap<String, String>,
}

/// The contest of an `SvcompEdition`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SvcompContest {
    /// SV-COMP, the competition on software verification.
    #[serde(rename = "sv-comp")]
    Svcomp,
}

/// The scoring schema. UNKNOWN, a timeout and a crash have 0 points.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoringSchema {
    /// Points of a right TRUE.
    #[serde(with = "fraction::setting")]
    pub true_right: BigRational,
    /// Points of a wrong TRUE.
    #[serde(with = "fraction::setting")]
    pub true_wrong: BigRational,
    /// Points of a right FALSE.
    #[serde(with = "fraction::setting")]
    pub false_right: BigRational,
    /// Points of a wrong FALSE.
    #[serde(with = "fraction::setting")]
    pub false_wrong: BigRational,
    /// A right TRUE whose witness is not confirmed.
    pub true_unconfirmed: Unconfirmed,
    /// A right FALSE whose witness is not confirmed.
    pub false_unconfirmed: Unconfirmed,
    /// A FALSE that names another violated property than the expected answer.
    #[serde(default)]
    pub sub_property: SubProperty,
}

/// How a FALSE is compared with the expected FALSE (SV-5). If the task expects a part of memory safety and the answer names
/// none, it is UNKNOWN with both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubProperty {
    /// One that names another property than expected, or one that the task does not have, is a wrong FALSE.
    #[default]
    WrongFalse,
    /// As `get_result_category` of BenchExec 3: if the expected answer names a property, an answer FALSE that is not the same
    /// is UNKNOWN; if it names none, every FALSE is right.
    Benchexec,
}

/// How a right answer counts whose witness is not confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unconfirmed {
    /// As a right answer.
    AsRight,
    /// As UNKNOWN.
    Unknown,
    /// With these points.
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
                serde::de::Error::custom(
                    "allowed are \"as-right\", \"unknown\" and a number of points in quotes",
                )
            })?),
        })
    }
}

/// Limits of a run. A run that reaches one of them is a timeout, whatever its answer is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Limit of CPU time in seconds.
    #[serde(deserialize_with = "between::<1, YEAR_S, _, _>")]
    pub cpu_s: u64,
    /// Limit of wall time in seconds. A verifier that reaches it is killed, and its CPU time is set to this value.
    #[serde(deserialize_with = "between::<1, YEAR_S, _, _>")]
    pub wall_s: u64,
}

/// How witnesses are validated, and which categories are exempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Witnesses {
    /// Time limit of a validator for a violation witness, in seconds.
    #[serde(deserialize_with = "between::<1, YEAR_S, _, _>")]
    pub violation_s: u64,
    /// Time limit of a validator for a correctness witness, in seconds.
    #[serde(deserialize_with = "between::<1, YEAR_S, _, _>")]
    pub correctness_s: u64,
    /// Number of processing units of a validator.
    #[serde(deserialize_with = "between::<1, 4096, _, _>")]
    pub processing_units: u32,
    /// Memory of a validator in gigabytes.
    #[serde(deserialize_with = "between::<1, 1048576, _, _>")]
    pub memory_gb: u64,
    /// Patterns of categories whose violation witnesses are not validated; a right FALSE counts as confirmed there.
    pub exempt_violation: Vec<Pattern>,
    /// Patterns of categories whose correctness witnesses are not validated; a right TRUE counts as confirmed there.
    pub exempt_correctness: Vec<Pattern>,
}

/// Which entries and new categories take part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Qualification {
    /// An entry qualifies if it started on more than this share of its tasks.
    #[serde(with = "fraction::setting")]
    pub more_than: BigRational,
    /// Patterns of the status of a run on which the verifier did not start. An empty status means this too.
    pub not_started: Vec<Pattern>,
    /// Number of teams that a new category needs to be held.
    pub teams_for_a_new_category: usize,
}

/// The attribute of a result file that names the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryName {
    /// The name of the benchmark definition; in the archives of the contest there is one for each entry.
    Benchmarkname,
    /// The name of the tool.
    Tool,
    /// The name of the run definition, up to its first `.`.
    Name,
}

/// A category. It is a meta category if others have it as their parent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Category {
    /// Name of the category, such as `ReachSafety`.
    pub name: String,
    /// The meta categories that it is a part of. In a file: a name or a list of names.
    #[serde(rename = "parent", default, skip_serializing_if = "Vec::is_empty", with = "one_or_many")]
    pub parents: Vec<String>,
    /// Number of its verification tasks. None: the number of tasks in the results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<u64>,
    /// Whether it is new in this edition; then it is held only with enough teams.
    #[serde(default)]
    pub new: bool,
    /// Whether verifiers are ranked in it.
    #[serde(default, skip_serializing_if = "CategoryRole::is_ranked")]
    pub role: CategoryRole,
    /// The entries that take part in a meta category. Empty: every entry with results in all parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub participants: Vec<String>,
}

impl Category {
    /// A category that is part of no other, with no known number of tasks.
    pub fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }
}

/// Whether verifiers are ranked in a category.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CategoryRole {
    /// They are ranked.
    #[default]
    Ranked,
    /// A demonstration category: not ranked, and no part of the score of its meta category.
    Demo,
    /// A category for validators of witnesses only.
    ValidationOnly,
}

impl CategoryRole {
    fn is_ranked(&self) -> bool {
        *self == Self::Ranked
    }
}

/// The answers that count in a category.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CountedAnswers {
    /// All answers.
    All,
    /// Answers FALSE, right and wrong.
    FalseOnly,
    /// Answers TRUE, right and wrong.
    TrueOnly,
}

/// A list that a file may hold as one text.
mod one_or_many {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
        Ok(match OneOrMany::deserialize(from)? {
            OneOrMany::One(name) => vec![name],
            OneOrMany::Many(names) => names,
        })
    }

    pub fn serialize<S: Serializer>(names: &[String], to: S) -> Result<S::Ok, S::Error> {
        match names {
            [name] => name.serialize(to),
            names => names.serialize(to),
        }
    }
}

/// An opt-out of an entry: it has a dash in these categories, and its results count in their meta category. Or an opt-in:
/// it takes part in these categories, but not in their meta category.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptOut {
    /// Name of the entry.
    pub entry: String,
    /// Patterns of categories.
    pub categories: Vec<Pattern>,
    /// Whether it is from the category structure of the contest, which lists all entries of a year.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_structure: bool,
}

impl SvcompEdition {
    /// Returns a fault for the first key with invalid content.
    pub(super) fn check(&self) -> Result<(), Fault> {
        self.check_content()?;
        check_unknown(self, &self.unknown)
    }

    /// As `check`, without the keys that `unknown` names: an edition with a structure that was read can lack some of them.
    pub(super) fn check_content(&self) -> Result<(), Fault> {
        let ScoringSchema { true_right, true_wrong, false_right, false_wrong, .. } = &self.points;
        for (key, points) in [("true_right", true_right), ("false_right", false_right)] {
            ensure(points.is_positive(), &["points", key], "must be more than 0")?;
        }
        for (key, points) in [("true_wrong", true_wrong), ("false_wrong", false_wrong)] {
            ensure(!points.is_positive(), &["points", key], "must be 0 or less")?;
        }
        let share = &self.qualification.more_than;
        let valid = !share.is_negative() && *share < BigRational::one();
        ensure(valid, &["qualification", "more_than"], "must be a share from 0 to below 1")?;
        check_categories(&self.categories)
            .or_else(|(number, message)| ensure(false, &["category", &number.to_string(), "name"], message))
    }

    /// The answers that count in a category.
    pub fn counted_answers(&self, category: &str) -> CountedAnswers {
        match () {
            () if fits(&self.false_only, category) => CountedAnswers::FalseOnly,
            () if fits(&self.true_only, category) => CountedAnswers::TrueOnly,
            () => CountedAnswers::All,
        }
    }

    /// The team of an entry; the entry itself if the edition does not list it.
    pub fn team_of<'a>(&'a self, entry: &'a str) -> &'a str {
        let team = self.teams.iter().find(|(_, entries)| entries.iter().any(|known| known == entry));
        team.map_or(entry, |(team, _)| team)
    }

    /// The status of an entry; `competing` if no pattern fits.
    pub fn status_of(&self, entry: &str) -> Status {
        StatusRule::status_of(&self.statuses, entry)
    }

    /// The settings without the names of resigned entries (P-4), for publication.
    pub fn without_resigned(&self) -> Self {
        let stays = |entry: &str| self.status_of(entry) != Status::Resigned;
        let mut edition = self.clone();
        retain_names(&mut edition.teams, stays);
        edition.opt_outs.retain(|opt_out| stays(&opt_out.entry));
        edition.opt_ins.retain(|opt_in| stays(&opt_in.entry));
        edition.categories.iter_mut().for_each(|category| category.participants.retain(|entry| stays(entry)));
        edition.statuses.retain(|rule| rule.status != Status::Resigned);
        edition
    }

    /// Whether an entry opted out of a category.
    pub fn has_opted_out(&self, entry: &str, category: &str) -> bool {
        let mut statements = self.opt_outs.iter().filter(|opt_out| opt_out.entry == entry);
        statements.any(|opt_out| fits(&opt_out.categories, category))
    }
}

/// Limit for the number of tasks of a category. A larger number is a typing error; and sums must not overflow.
pub const MAX_TASKS: u64 = 1_000_000_000;

/// Checks a list of categories.
///
/// # Errors
/// Index and message of a category that has no name, the name of another one, a wrong number of tasks, an unknown parent,
/// or itself as an ancestor.
pub fn check_categories(categories: &[Category]) -> Result<(), (usize, String)> {
    let mut names = BTreeMap::new();
    for (number, category) in categories.iter().enumerate() {
        if category.name.is_empty() {
            return Err((number, "a category needs a name".to_owned()));
        }
        if names.insert(category.name.as_str(), number).is_some() {
            return Err((number, format!("category `{}` is named twice", category.name)));
        }
        if let Some(tasks) = category.tasks.filter(|tasks| !(1..=MAX_TASKS).contains(tasks)) {
            let name = &category.name;
            return Err((
                number,
                format!("category `{name}` has {tasks} tasks; allowed are 1 to {MAX_TASKS}"),
            ));
        }
    }
    for (number, category) in categories.iter().enumerate() {
        let mut seen = BTreeSet::new();
        let mut pending = vec![number];
        while let Some(at) = pending.pop() {
            for parent in &categories[at].parents {
                let Some(parent_number) = names.get(parent.as_str()).copied() else {
                    return Err((
                        number,
                        format!("its parent `{parent}` is not in the list of categories; add it"),
                    ));
                };
                if parent_number == number {
                    return Err((number, format!("category `{}` is a part of itself", category.name)));
                }
                if seen.insert(parent_number) {
                    pending.push(parent_number);
                }
            }
        }
    }
    Ok(())
}
