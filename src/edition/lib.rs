//! A year's rules as data: `editions/*.toml`.

mod builtin;
mod check;
pub mod crv;
mod error;
mod flags;
pub mod fraction;
mod judging;
mod layers;
mod load;
mod pattern;
mod rule_text;
mod rules;
mod suggest;
pub mod svcomp;

pub use builtin::{known, other_edition_names};
pub use error::EditionError;
pub use flags::CpuFlags;
pub use judging::{
    AwardKind, Bonuses, ConfidenceReading, InfrastructureRule, Judging, Normalization, PodiumRule, Status,
    StatusRule, Votes,
};
pub use pattern::{Pattern, fits};
pub use rule_text::{
    RuleSection, RuleText, known_rule_codes, nearest_rule, rule_codes, rule_sections, rules_of,
};
pub use rules::{OtherEdition, Rules};

use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// An edition of the contest. Every key is documented in `editions/README.md`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edition {
    /// Which contest's rules these are; a file that does not say is one of the MCC.
    #[serde(default, skip_serializing)]
    pub contest: MccContest,
    /// `mcc-2018`
    pub name: String,
    pub title: String,
    /// Begins the names of stripped models, `S_` in 2017.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stripped_prefix: Option<String>,
    /// What the settings were taken from.
    #[serde(default)]
    pub sources: Vec<String>,
    #[serde(rename = "examination")]
    pub examinations: Vec<Examination>,
    pub limits: Limits,
    pub machine: Machine,
    pub judging: Judging,
    #[serde(rename = "podium")]
    pub podiums: Vec<PodiumRule>,
    /// In order; the first pattern that fits an entry says its status.
    #[serde(default, rename = "status")]
    pub statuses: Vec<StatusRule>,
    /// A tool and its entries (rule E-4.6); an entry named nowhere is a tool of its own.
    #[serde(default)]
    pub variants: BTreeMap<String, Vec<String>>,
    /// By key (`judging.normalization`): what was not published, and what stands there instead.
    #[serde(default)]
    pub unknown: BTreeMap<String, String>,
}

/// The only contest an `Edition` can be of; `Rules` reads those of the other contests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MccContest {
    #[default]
    Mcc,
}

impl Edition {
    /// The examination of that name and its number in the edition's order.
    pub fn examination(&self, name: &str) -> Option<(usize, &Examination)> {
        self.examinations.iter().enumerate().find(|(_, examination)| examination.name == name)
    }

    /// What people must know who read results by these rules, a sentence for every unknown setting.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        self.unknown
            .iter()
            .map(|(key, why)| format!("edition {}: the contest's own `{key}` is unknown: {why}", self.name))
    }

    /// The name of an instance as it was before it was stripped, and whether it was.
    pub fn unstripped<'a>(&self, instance: &'a str) -> (&'a str, bool) {
        let prefix = self.stripped_prefix.as_deref();
        let stripped =
            prefix.and_then(|prefix| instance.strip_prefix(prefix)).filter(|name| !name.is_empty());
        (stripped.unwrap_or(instance), stripped.is_some())
    }

    /// The tool this entry is (a variant of); the entry itself where the edition names no other.
    pub fn tool_of<'a>(&'a self, entry: &'a str) -> &'a str {
        let tool = self.variants.iter().find(|(_, entries)| entries.iter().any(|variant| variant == entry));
        tool.map_or(entry, |(tool, _)| tool)
    }

    /// The entry's status as the edition's patterns say, `competing` where none fits.
    pub fn status_of(&self, entry: &str) -> Status {
        StatusRule::status_of(&self.statuses, entry)
    }

    /// The settings as they are published: they don't name who resigned either (P-4). `keep` takes the other entries.
    pub fn without_resigned(&self, keep: impl Fn(&str) -> bool) -> Self {
        let mut edition = self.clone();
        edition.statuses.retain(|rule| rule.status != Status::Resigned);
        retain_names(&mut edition.variants, keep);
        edition
    }

    /// Why the entry has its status; empty where nothing is said.
    pub fn note_of(&self, entry: &str) -> &str {
        StatusRule::note_of(&self.statuses, entry)
    }
}

/// Removes names from groups, and groups that are then empty. A group that was empty before is removed too: its own
/// name can be that of a resigned tool (P-4).
fn retain_names(groups: &mut BTreeMap<String, Vec<String>>, keep: impl Fn(&str) -> bool) {
    groups.retain(|_, names| {
        names.retain(|name| keep(name));
        !names.is_empty()
    });
}

/// One examination (rules E-1.2 to E-1.6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Examination {
    pub name: String,
    pub answers: AnswerKind,
    /// How many values it has: 4, 1 or 16.
    pub values: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerKind {
    /// `FORMULA id TRUE|FALSE`
    Boolean,
    /// `FORMULA id n`
    Number,
    /// `STATE_SPACE metric n`; positions STATES, TRANSITIONS, MAX_TOKEN_IN_PLACE, MAX_TOKEN_PER_MARKING.
    StateSpace,
}

/// Rule E-5.1 and RULES "Limits".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Seconds of CPU time, counted as `cpu_reading` says; 0 = no CPU limit.
    #[serde(deserialize_with = "between::<0, YEAR_S, _, _>")]
    pub cpu_s: u64,
    pub cpu_reading: CpuReading,
    /// Seconds of wall time against hangs.
    #[serde(deserialize_with = "between::<1, YEAR_S, _, _>")]
    pub wall_s: u64,
    /// What the tool is told as BK_TIME_CONFINEMENT, seconds.
    #[serde(deserialize_with = "between::<1, YEAR_S, _, _>")]
    pub confinement_s: u64,
    /// Bytes of stdout, and as many of stderr, that are kept before the run is cut.
    #[serde(deserialize_with = "between::<1, MOST_BYTES, _, _>")]
    pub output_bytes: u64,
}

impl Limits {
    /// Seconds of CPU time that a machine of so many vCPUs may use, summed over them; None: there is no CPU limit.
    pub fn cpu_limit_s(&self, vcpus: u32) -> Option<u64> {
        match self.cpu_reading {
            _ if self.cpu_s == 0 => None,
            CpuReading::PerVcpu => Some(self.cpu_s * u64::from(vcpus)),
            CpuReading::Summed => Some(self.cpu_s),
            // BenchKit's `timeout`: wall time, and the confinement the tool is told is the limit.
            CpuReading::Benchkit => None,
        }
    }

    /// Seconds of wall time that a run may take.
    pub fn wall_limit_s(&self) -> u64 {
        match self.cpu_reading {
            CpuReading::PerVcpu | CpuReading::Summed => self.wall_s,
            CpuReading::Benchkit => self.confinement_s,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CpuReading {
    /// The machine's CPU time divided by its vCPUs reaches `cpu_s`.
    PerVcpu,
    /// The sum over vCPUs reaches `cpu_s`.
    Summed,
    /// No CPU limit, wall only (BenchKit's own reading).
    Benchkit,
}

/// Rules E-5.2 to E-5.4.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    pub cpu_model: String,
    #[serde(default)]
    pub cpu_flags: CpuFlags,
    #[serde(deserialize_with = "between::<1, { MOST_BYTES >> 20 }, _, _>")]
    pub memory_mib: u64,
    #[serde(deserialize_with = "between::<1, 4096, _, _>")]
    pub sequential_cores: u32,
    #[serde(deserialize_with = "between::<1, 4096, _, _>")]
    pub concurrent_cores: u32,
}

/// No limit is longer: a slip of the pen, and more could not be counted in milliseconds everywhere.
pub const YEAR_S: u64 = 366 * 86_400;
pub const MOST_BYTES: u64 = 1 << 50;

/// Reads a number from LEAST to MOST; the error says which are allowed.
pub fn between<'de, const LEAST: u64, const MOST: u64, T: TryFrom<u64>, D: Deserializer<'de>>(
    from: D,
) -> Result<T, D::Error> {
    let number = u64::deserialize(from)?;
    let fits = (LEAST..=MOST).contains(&number).then(|| T::try_from(number).ok()).flatten();
    fits.ok_or_else(|| serde::de::Error::custom(format!("{number} is not from {LEAST} to {MOST}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_settings_have_no_group_without_members() {
        let mut edition = Edition::load("mcc-2018").unwrap();
        let group = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        edition.variants = [("Empty", &[][..]), ("Gone", &["Gone.a"]), ("Both", &["Gone.b", "Both.a"])]
            .map(|(tool, names)| (tool.to_owned(), group(names)))
            .into();
        let published = edition.without_resigned(|name| !name.starts_with("Gone"));
        assert_eq!(published.variants, [("Both".to_owned(), group(&["Both.a"]))].into());
    }
}
