//! Editions: the rules of one year as data (`editions/*.toml`).

#![warn(missing_docs)]

mod builtin;
mod check;
pub mod crv;
mod disk_space;
mod error;
mod flags;
pub mod fraction;
mod judging;
mod layers;
mod load;
mod pattern;
mod rule_text;
mod rules;
mod setting_words;
pub mod svcomp;
mod svcomp_structure;

pub use builtin::{contest_and_year, known, other_edition_names};
pub use disk_space::Gib;
pub use error::EditionError;
pub use flags::CpuFlags;
pub use judging::{
    AwardKind, Bonuses, ConfidenceReading, CostComparison, InfrastructureRule, Judging, Normalization,
    NotKept, PodiumRule, Status, StatusRule, Votes,
};
pub use pattern::{Pattern, fits};
pub use rule_text::{
    RuleSection, RuleText, known_rule_codes, nearest_rule, rule_codes, rule_sections, rules_of,
};
pub use rules::{OtherEdition, Rules};
pub use setting_words::{known_words, setting_words, setting_words_and_key, unpublished};
pub use svcomp_structure::{CategoryStructure, StructureError};

use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// An edition of the contest. Every key is documented in `editions/README.md`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edition {
    /// The contest of the edition. A file without this key is an edition of the MCC.
    #[serde(default, skip_serializing)]
    pub contest: MccContest,
    /// Name, such as `mcc-2018`.
    pub name: String,
    /// Title for display.
    pub title: String,
    /// Prefix of the names of stripped models (`S_` in 2017).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stripped_prefix: Option<String>,
    /// Documents that the settings are taken from.
    #[serde(default)]
    pub sources: Vec<String>,
    /// The examinations, in the order of the contest.
    #[serde(rename = "examination")]
    pub examinations: Vec<Examination>,
    /// Limits of a run.
    pub limits: Limits,
    /// The virtual machine of a run.
    pub machine: Machine,
    /// Settings of judging.
    pub judging: Judging,
    /// The podiums: categories with their examinations, in the order of the contest.
    #[serde(rename = "podium")]
    pub podiums: Vec<PodiumRule>,
    /// Rules for the status of entries. The first rule whose pattern fits an entry counts.
    #[serde(default, rename = "status")]
    pub statuses: Vec<StatusRule>,
    /// Tools with their entries (E-4.6). An entry that is not listed is a tool of its own.
    #[serde(default)]
    pub variants: BTreeMap<String, Vec<String>>,
    /// Suffixes of entries that belong to the tool of the rest of their name: with `+red`, `LoLA+red` belongs to the tool of
    /// `LoLA` (E-4.6).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variant_suffixes: Vec<String>,
    /// Suffixes of entries that belong to one tool: with `"+red" = "ITS-Tools"`, `LoLA+red` belongs to ITS-Tools (E-4.6).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub suffix_tools: BTreeMap<String, String>,
    /// Tools with the names that they have in other years. They connect the years of `report --years`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub aliases: BTreeMap<String, Vec<String>>,
    /// Settings that were not published, by key (such as `judging.normalization`), each with a sentence on the value used.
    #[serde(default)]
    pub unknown: BTreeMap<String, String>,
}

/// The contest of an `Edition`. Editions of other contests are read by `Rules`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MccContest {
    /// The Model Checking Contest.
    #[default]
    Mcc,
}

impl Edition {
    /// The examination with this name and its index.
    pub fn examination(&self, name: &str) -> Option<(usize, &Examination)> {
        self.examinations.iter().enumerate().find(|(_, examination)| examination.name == name)
    }

    /// Warnings for readers of results: a sentence for every setting that was not published.
    pub fn warnings(&self) -> impl Iterator<Item = String> {
        setting_words::warnings(&self.name, &self.unknown, Some(self.judging.confidence))
    }

    /// The name of an instance without the prefix of stripped models, and whether it has that prefix.
    pub fn unstripped<'a>(&self, instance: &'a str) -> (&'a str, bool) {
        let prefix = self.stripped_prefix.as_deref();
        let stripped =
            prefix.and_then(|prefix| instance.strip_prefix(prefix)).filter(|name| !name.is_empty());
        (stripped.unwrap_or(instance), stripped.is_some())
    }

    /// The tool of an entry: the one that lists it, otherwise that of its suffix, otherwise itself. Names and suffixes are
    /// compared without case.
    pub fn tool_of<'a>(&'a self, entry: &'a str) -> &'a str {
        let lists = |entries: &[String]| entries.iter().any(|variant| same_name(variant, entry));
        let listed = self.variants.iter().find(|(_, entries)| lists(entries));
        match (listed, self.suffix_of(entry)) {
            (Some((tool, _)), _) => tool,
            (None, Some((rest, suffix))) => match self.suffix_tools.get(suffix) {
                Some(tool) => tool,
                None => self.tool_of(rest),
            },
            (None, None) => entry,
        }
    }

    /// The name of an entry without its suffix, and the suffix as the edition writes it. None: it has none of the suffixes.
    pub fn suffix_of<'a>(&'a self, entry: &'a str) -> Option<(&'a str, &'a str)> {
        let mut suffixes = self.suffix_tools.keys().chain(&self.variant_suffixes);
        suffixes.find_map(|suffix| {
            let (rest, end) = entry.split_at_checked(entry.len().checked_sub(suffix.len())?)?;
            (!rest.is_empty() && same_name(end, suffix)).then_some((rest, suffix.as_str()))
        })
    }

    /// The status of an entry according to the patterns of the edition; `competing` if none fits.
    pub fn status_of(&self, entry: &str) -> Status {
        StatusRule::status_of(&self.statuses, entry)
    }

    /// The settings without the names of resigned entries (P-4), for publication. `keep` returns true for the other entries.
    pub fn without_resigned(&self, keep: impl Fn(&str) -> bool) -> Self {
        let mut edition = self.clone();
        edition.statuses.retain(|rule| rule.status != Status::Resigned);
        edition.suffix_tools.retain(|_, tool| keep(tool));
        edition.aliases.retain(|tool, others| keep(tool) && others.iter().all(|name| keep(name)));
        retain_names(&mut edition.variants, keep);
        edition
    }

    /// The reason for the status of an entry; empty if none is given.
    pub fn note_of(&self, entry: &str) -> &str {
        StatusRule::note_of(&self.statuses, entry)
    }
}

/// Whether two names of entries or tools are the same, which does not depend on case.
pub fn same_name(a: &str, b: &str) -> bool {
    a.to_lowercase() == b.to_lowercase()
}

/// Removes names from groups, and empty groups. A group that was empty before is removed too, because its name may be that
/// of a resigned tool (P-4).
fn retain_names(groups: &mut BTreeMap<String, Vec<String>>, keep: impl Fn(&str) -> bool) {
    groups.retain(|_, names| {
        names.retain(|name| keep(name));
        !names.is_empty()
    });
}

/// An examination (E-1.2 to E-1.6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Examination {
    /// Name in the contest's tables, such as `CTLCardinality`.
    pub name: String,
    /// The form of its values.
    pub answers: AnswerKind,
    /// Number of its positions: 1, 4 or 16 in the contest. 0: one for each transition or place of the instance (total
    /// examinations).
    pub values: usize,
}

/// The form of the values of an examination.
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

/// Limits of a run (E-5.1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Limit of CPU time in seconds, counted according to `cpu_reading`. 0 stands for no limit.
    #[serde(deserialize_with = "between::<0, YEAR_S, _, _>")]
    pub cpu_s: u64,
    /// How CPU time is counted.
    pub cpu_reading: CpuReading,
    /// Limit of wall time in seconds; ends runs that hang.
    #[serde(deserialize_with = "between::<1, YEAR_S, _, _>")]
    pub wall_s: u64,
    /// Value of BK_TIME_CONFINEMENT for the tool, in seconds.
    #[serde(deserialize_with = "between::<1, YEAR_S, _, _>")]
    pub confinement_s: u64,
    /// Limit for the size of stdout, and the same for stderr, in bytes. A run that exceeds it is ended.
    #[serde(deserialize_with = "between::<1, MAX_BYTES, _, _>")]
    pub output_bytes: u64,
    /// Memory of the guest, in MiB, that the tool cannot use: it is left to the guest's kernel and agent. 0: the tool may use
    /// all memory, and can then end its machine by exhausting it.
    #[serde(
        default = "memory_reserve_mib",
        skip_serializing_if = "is_memory_reserve_default",
        deserialize_with = "between::<0, { MAX_BYTES >> 20 }, _, _>"
    )]
    pub memory_reserve_mib: u64,
    /// Space that the writes of a run to its disks may take on the host. None: the free space of the tool's own disk, at most
    /// `MAX_DISK_BYTES`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_gib: Option<Gib>,
    /// Instructions that a run may execute: of user programs, or with the channel `ssh` all of its machine. None: there is no
    /// limit.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "instructions")]
    pub instructions: Option<u64>,
}

/// Deserializes a limit of instructions. The machine stops at most 30,000 instructions before it with four vCPUs, which is
/// 0.003 % of the smallest limit (docs/measurement.md).
///
/// # Errors
/// The number is not in the range.
pub fn instructions<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    between::<1_000_000_000, MAX_INSTRUCTIONS, _, _>(from).map(Some)
}

/// The largest disk limit that no edition or campaign sets: 16 GiB.
pub const MAX_DISK_BYTES: u64 = 16 << 30;

/// The default of `Limits::memory_reserve_mib` (docs/measurement.md).
const fn memory_reserve_mib() -> u64 {
    256
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_memory_reserve_default(mib: &u64) -> bool {
    *mib == memory_reserve_mib()
}

impl Limits {
    /// Seconds of CPU time that a machine with `vcpus` vCPUs may use, summed over them; None: there is no CPU limit.
    pub fn cpu_limit_s(&self, vcpus: u32) -> Option<u64> {
        match self.cpu_reading {
            _ if self.cpu_s == 0 => None,
            CpuReading::PerVcpu => Some(self.cpu_s * u64::from(vcpus)),
            CpuReading::Summed => Some(self.cpu_s),
            // As BenchKit's `timeout`: only wall time is limited, by the confinement that the tool is given.
            CpuReading::Benchkit => None,
        }
    }

    /// Bytes that the writes of a run to its disks may take on the host. `free`: the free space of the tool's own disk.
    pub fn disk_limit_bytes(&self, free: u64) -> u64 {
        self.disk_gib.map_or(free.min(MAX_DISK_BYTES), Gib::bytes)
    }

    /// Seconds of wall time that a run may take.
    pub fn wall_limit_s(&self) -> u64 {
        match self.cpu_reading {
            CpuReading::PerVcpu | CpuReading::Summed => self.wall_s,
            CpuReading::Benchkit => self.confinement_s,
        }
    }
}

/// How the CPU time of a run is counted (E-5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CpuReading {
    /// The limit is reached when the CPU time divided by the number of vCPUs is `cpu_s`.
    PerVcpu,
    /// The limit is reached when the sum over all vCPUs is `cpu_s`.
    Summed,
    /// There is no limit of CPU time, only of wall time (the reading of BenchKit).
    Benchkit,
}

/// The virtual machine of a run (E-5.2 to E-5.4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Name of a CPU model of QEMU, such as `SandyBridge`.
    #[serde(deserialize_with = "cpu_model")]
    pub cpu_model: String,
    /// CPU flags of the guest.
    #[serde(default)]
    pub cpu_flags: CpuFlags,
    /// Memory of the guest in MiB.
    #[serde(deserialize_with = "between::<1, { MAX_BYTES >> 20 }, _, _>")]
    pub memory_mib: u64,
    /// Number of vCPUs for sequential tools.
    #[serde(deserialize_with = "between::<1, 4096, _, _>")]
    pub sequential_cores: u32,
    /// Number of vCPUs for concurrent tools.
    #[serde(deserialize_with = "between::<1, 4096, _, _>")]
    pub concurrent_cores: u32,
}

/// Deserializes the name of a CPU model. It becomes an argument of QEMU, where `,` begins an option.
fn cpu_model<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let model = String::deserialize(from)?;
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if model.starts_with(|first: char| first.is_ascii_alphanumeric()) && model.bytes().all(allowed) {
        return Ok(model);
    }
    let allowed = "letters, digits, `-`, `_` and `.`, beginning with a letter or digit";
    Err(serde::de::Error::custom(format!("{model:?} is not the name of a CPU model: {allowed}")))
}

// The bounds of limits are those of measurements.
pub use mcc_base::figures::{MAX_BYTES, MAX_INSTRUCTIONS, YEAR_S};

/// Deserializes a number from MIN to MAX.
///
/// # Errors
/// The number is not in the range; the message names the range.
pub fn between<'de, const MIN: u64, const MAX: u64, T: TryFrom<u64>, D: Deserializer<'de>>(
    from: D,
) -> Result<T, D::Error> {
    let number = u64::deserialize(from)?;
    let fits = (MIN..=MAX).contains(&number).then(|| T::try_from(number).ok()).flatten();
    fits.ok_or_else(|| serde::de::Error::custom(format!("{number} is not from {MIN} to {MAX}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_in_the_cpu_model_of_a_recorded_edition_are_refused() {
        let mut recorded = serde_json::to_value(Edition::load("mcc-2018").unwrap()).unwrap();
        assert!(serde_json::from_value::<Edition>(recorded.clone()).is_ok());
        for model in ["SandyBridge,+evil -drive ..", "-drive", "", "Sandy Bridge", "Sandy\nBridge"] {
            recorded["machine"]["cpu_model"] = model.into();
            let error = serde_json::from_value::<Edition>(recorded.clone()).unwrap_err().to_string();
            assert!(error.contains("is not the name of a CPU model"), "{model}: {error}");
        }
    }

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
