//! Campaigns: campaign.toml, the plan of its runs, expected durations. `docs/campaign.md` documents every key.

#![warn(missing_docs)]

pub mod benchkit;
mod canary;
mod cluster;
mod disturbance;
mod facts;
mod history;
mod instances;
mod jobs;
mod load;
mod models;
mod parse;
mod plan;
mod publication;

pub use canary::{Canaries, RUNS_PER_CANARY};
pub use cluster::{ClusterSettings, LostNode, System};
pub use disturbance::Disturbance;
pub use facts::{EntryFacts, InstanceFacts, Kind};
pub use history::{History, Remaining, duration};
pub use instances::archives_in;
pub use jobs::{CampaignFromJobFile, JobFileOptions, JobsError};
pub use load::{CampaignError, has_key};
pub use models::ModelRow;
pub use plan::{Plan, PlannedRuns, Run, RunFilter};
pub use publication::{EntryPublication, Licence, Publication};

use mcc_base::machine::{Backend, Original};
use mcc_base::names::EntryName;
use mcc_edition::{CpuReading, Edition, Gib, Limits, MAX_BYTES, YEAR_S, between};
use mcc_model::InstanceName;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::time::Duration;

/// A campaign: edition, tools, instances, examinations, hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Campaign {
    /// The file. Its relative paths are relative to the folder of the file.
    pub file: PathBuf,
    /// The text of the file.
    pub text: String,
    /// Name of the edition, or path of an edition file, as argument of `Edition::load`.
    pub edition: String,
    /// Folder of the instance archives, or of an inputs disk that was made of them.
    pub inputs: PathBuf,
    /// Examinations, a subset of those of the edition; None: all.
    pub examinations: Option<Vec<String>>,
    /// Globs on instance names; None: all instances in `inputs`.
    pub instances: Option<Vec<String>>,
    /// The entries, in the order of the file.
    pub tools: Vec<Tool>,
    /// Contest or qualification.
    pub phase: Phase,
    /// How machines start.
    pub start: Start,
    /// Whether tools get `GenericPropertiesVerdict.xml` of an instance.
    pub generic_properties: GenericProperties,
    /// The instances on the inputs disk of a guest.
    pub inputs_visible: InputsVisible,
    /// Whether witnesses and certificates of tools are kept in the record.
    pub tool_evidence: bool,
    /// Whether the instructions of the machines are counted where that is possible.
    pub count_instructions: bool,
    /// How guests differ from those of a contest.
    pub guest: GuestSettings,
    /// Changed limits.
    pub limits: Overrides,
    /// Settings of the hosts.
    pub hosts: Hosts,
    /// Settings of the cluster.
    pub cluster: ClusterSettings,
    /// How the campaign is called and cited; None: nothing is stated.
    pub publication: Option<Publication>,
    /// Families and statuses given by the organizer, by instance.
    pub models: BTreeMap<String, ModelRow>,
    /// Line by key, for errors that are found after loading.
    lines: BTreeMap<String, usize>,
}

/// One entry as submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// Its name.
    pub entry: EntryName,
    /// The tool of which it is a variant; None: as the edition defines it.
    pub tool: Option<String>,
    /// Folder of its image.
    pub image: PathBuf,
    /// Its kind.
    pub kind: Kind,
    /// Connection to its machine.
    pub channel: Channel,
    /// Globs on names of examinations in which it does not compete: no machine is booted, DNC is recorded (T-4).
    pub not_competing: Vec<String>,
}

/// How the controller communicates with the machine of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Channel {
    /// An image made by `image build`, with the agent.
    Agent,
    /// An original disk, over SSH.
    Ssh {
        /// The keys of `[[tool]]` for it.
        original: Original,
        /// An inputs disk for this image; None: that of the campaign.
        inputs_disk: Option<PathBuf>,
    },
}

/// The purpose of a campaign.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The contest.
    #[default]
    Contest,
    /// One minute per run, to test whether a disk works before it is submitted.
    Qualification,
}

/// Whether tools get the file `GenericPropertiesVerdict.xml` of an instance, which has known answers (T-5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GenericProperties {
    /// Yes, as the contest distributes it.
    #[default]
    Keep,
    /// No. Digests in the record are those of the complete archives.
    Remove,
}

/// The instances on the inputs disk of a guest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputsVisible {
    /// All of the campaign (E-5.6).
    #[default]
    All,
    /// That of the run.
    Instance,
}

/// How the machine of every run starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// It boots.
    #[default]
    Boot,
    /// It is restored from the saved state of a machine after its boot.
    Restore,
}

/// `[guest]`: how guests differ from those of a contest; only in a qualification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GuestSettings {
    /// Whether guests place programs at the same addresses each time, and whether hash seeds of Python and Perl are fixed, so
    /// that equal computations of a tool have equal instructions.
    pub deterministic: bool,
}

/// The variables that fix hash seeds in a deterministic guest.
pub const FIXED_HASH_SEEDS: [(&str, &str); 3] =
    [("PYTHONHASHSEED", "0"), ("PERL_HASH_SEED", "0"), ("PERL_PERTURB_KEYS", "0")];

/// `[limits]`: limits that differ from those of the edition. None: as in the edition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Overrides {
    /// CPU time of a run, seconds; 0: no limit.
    #[serde(deserialize_with = "limit::<0, YEAR_S, _, _>")]
    pub cpu_s: Option<u64>,
    /// How the CPU limit is applied.
    pub cpu_reading: Option<CpuReading>,
    /// Wall time of a run, seconds.
    #[serde(deserialize_with = "limit::<1, YEAR_S, _, _>")]
    pub wall_s: Option<NonZeroU64>,
    /// The confinement that the tool is given in `BK_TIME_CONFINEMENT`, seconds.
    #[serde(deserialize_with = "limit::<1, YEAR_S, _, _>")]
    pub confinement_s: Option<NonZeroU64>,
    /// Output of a run, bytes.
    #[serde(deserialize_with = "limit::<1, MAX_BYTES, _, _>")]
    pub output_bytes: Option<NonZeroU64>,
    /// Memory of the guest that the tool cannot use, MiB.
    #[serde(deserialize_with = "limit::<0, { MAX_BYTES >> 20 }, _, _>")]
    pub memory_reserve_mib: Option<u64>,
    /// Space that the writes of a run to its disks may take on the host, GiB.
    pub disk_gib: Option<Gib>,
    /// Instructions that a run may execute.
    #[serde(deserialize_with = "mcc_edition::instructions")]
    pub instructions: Option<u64>,
}

/// Reads a limit with the bounds that editions have.
fn limit<'de, const MIN: u64, const MAX: u64, T: TryFrom<u64>, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    between::<MIN, MAX, T, D>(from).map(Some)
}

/// `[hosts]`: how runs are executed. No result depends on it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Hosts {
    /// What starts the machines.
    pub backend: Backend,
    /// Most runs in parallel; None: as many as cores and memory allow.
    pub jobs: Option<NonZeroU32>,
    /// Attempts that a run gets after its first one ended in an infrastructure failure.
    #[serde(deserialize_with = "between::<0, 1000, _, _>")]
    pub retries: u32,
    /// Whether the campaign begins with canaries; None: if 2 % of its runs suffice for some.
    pub canary: Option<bool>,
    /// From the start of QEMU until the guest is ready.
    #[serde(rename = "boot_deadline_s", deserialize_with = "seconds")]
    pub boot_deadline: Duration,
    /// For preparing the instance, and again for starting the tool.
    #[serde(rename = "prepare_deadline_s", deserialize_with = "seconds")]
    pub prepare_deadline: Duration,
    /// From the end of the tool to the end of its output. Output that is later is lost, with the mark `output-incomplete`;
    /// the other timeouts are infrastructure failures.
    #[serde(rename = "collect_deadline_s", deserialize_with = "seconds")]
    pub collect_deadline: Duration,
    /// The longest accepted stall: time in which the controller could not check a machine.
    #[serde(rename = "stall_s", deserialize_with = "seconds")]
    pub stall: Duration,
    /// When a run counts as disturbed.
    pub disturbed: Disturbance,
}

impl Default for Hosts {
    fn default() -> Self {
        // A boot takes seconds, but minutes on a host whose cores are busy with other work.
        const START: Duration = Duration::from_secs(300);
        Self {
            backend: Backend::default(),
            jobs: None,
            retries: 2,
            canary: None,
            boot_deadline: START,
            prepare_deadline: START,
            collect_deadline: Duration::from_secs(60),
            stall: Duration::from_secs(10),
            disturbed: Disturbance::default(),
        }
    }
}

/// Reads a duration: whole seconds, from 1 to a day.
fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    between::<1, 86_400, u64, D>(from).map(Duration::from_secs)
}

/// One limit that the campaign changes, for display.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Override {
    /// Its key.
    pub limit: &'static str,
    /// The value of the edition.
    pub edition: String,
    /// The value of the campaign.
    pub campaign: String,
}

/// The confinement of a qualification run, seconds.
const QUALIFICATION_S: u64 = 60;

/// The wall limit of a qualification run with this confinement, in seconds: proportional to the edition's wall limit,
/// and at least the confinement.
pub fn qualification_wall_s(edition: &Edition, confinement_s: u64) -> u64 {
    let in_proportion = confinement_s * edition.limits.wall_s / edition.limits.confinement_s.max(1);
    in_proportion.max(confinement_s)
}

/// The edition of a canary and of a qualification: one minute, unless runs of the edition are shorter.
pub fn short_edition(edition: &Edition) -> Edition {
    let confinement_s = edition.limits.confinement_s.min(QUALIFICATION_S);
    let limits = Limits {
        wall_s: qualification_wall_s(edition, confinement_s),
        cpu_s: edition.limits.cpu_s.min(confinement_s),
        confinement_s,
        ..edition.limits.clone()
    };
    Edition { limits, ..edition.clone() }
}

/// The setting of a record whose attempts keep the witnesses and certificates of tools.
pub const EVIDENCE_SETTING: &str = "tool_evidence";

/// The setting of a record whose attempts have counts of instructions.
pub const INSTRUCTIONS_SETTING: &str = "count_instructions";

/// The setting of a record with the examinations of its campaign, separated by blanks, or `ALL`.
const EXAMINATIONS: &str = "examinations";
const ALL: &str = "all";

/// The beginning of the settings of a record with the globs on examinations in which an entry does not compete.
const NOT_COMPETING: &str = "not_competing of ";

/// The setting of a record whose guests see the instance of their run only.
pub const INPUTS_SETTING: &str = "inputs_visible";

/// The setting of a record whose guests were deterministic.
pub const DETERMINISTIC_SETTING: &str = "deterministic guest";

impl Campaign {
    /// The effective edition: with the limits of the campaign. Runs and judging use it.
    pub fn effective(&self, edition: &Edition) -> Edition {
        let mut edition = match self.phase {
            Phase::Contest => edition.clone(),
            Phase::Qualification => short_edition(edition),
        };
        let (limits, changes) = (&mut edition.limits, &self.limits);
        limits.cpu_s = changes.cpu_s.unwrap_or(limits.cpu_s);
        limits.cpu_reading = changes.cpu_reading.unwrap_or(limits.cpu_reading);
        limits.wall_s = changes.wall_s.map_or(limits.wall_s, NonZeroU64::get);
        limits.confinement_s = changes.confinement_s.map_or(limits.confinement_s, NonZeroU64::get);
        limits.output_bytes = changes.output_bytes.map_or(limits.output_bytes, NonZeroU64::get);
        limits.memory_reserve_mib = changes.memory_reserve_mib.unwrap_or(limits.memory_reserve_mib);
        limits.disk_gib = changes.disk_gib.or(limits.disk_gib);
        limits.instructions = changes.instructions.or(limits.instructions);
        edition
    }

    /// The limits in which the campaign differs from the edition.
    pub fn overrides(&self, edition: &Edition) -> Vec<Override> {
        let (before, after) = (&edition.limits, &self.effective(edition).limits);
        [
            ("cpu_s", before.cpu_s.to_string(), after.cpu_s.to_string()),
            ("cpu_reading", reading(before.cpu_reading), reading(after.cpu_reading)),
            ("wall_s", before.wall_s.to_string(), after.wall_s.to_string()),
            ("confinement_s", before.confinement_s.to_string(), after.confinement_s.to_string()),
            ("output_bytes", before.output_bytes.to_string(), after.output_bytes.to_string()),
            (
                "memory_reserve_mib",
                before.memory_reserve_mib.to_string(),
                after.memory_reserve_mib.to_string(),
            ),
            ("disk_gib", disk_space(before.disk_gib), disk_space(after.disk_gib)),
            ("instructions", instructions(before.instructions), instructions(after.instructions)),
        ]
        .into_iter()
        .filter(|(_, before, after)| before != after)
        .map(|(limit, edition, campaign)| Override { limit, edition, campaign })
        .collect()
    }

    /// The entries with the tools of which they are variants: as the campaign defines it, else the edition.
    pub fn entries(&self, edition: &Edition) -> Vec<EntryFacts> {
        let tool = |tool: &Tool| match &tool.tool {
            Some(name) => name.clone(),
            None => edition.tool_of(&tool.entry).to_owned(),
        };
        self.tools
            .iter()
            .map(|entry| EntryFacts { entry: entry.entry.clone(), tool: tool(entry), kind: entry.kind })
            .collect()
    }

    /// All settings on which results depend and that are not in edition, disks, entries or instances. The record
    /// compares them when a campaign is resumed.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let examinations = self.examinations.as_ref().map_or(ALL.to_owned(), |names| names.join(" "));
        let not_competing = self
            .tools
            .iter()
            .map(|tool| (format!("{NOT_COMPETING}{}", tool.entry), tool.not_competing.join(" ")));
        let mut settings: BTreeMap<String, String> =
            not_competing.chain([(EXAMINATIONS.to_owned(), examinations)]).collect();
        // Only values that differ from the default: records without these keys stay resumable.
        if self.phase != Phase::default() {
            settings.insert("phase".to_owned(), "qualification".to_owned());
        }
        if self.start != Start::default() {
            settings.insert("start".to_owned(), "restore".to_owned());
        }
        if self.generic_properties != GenericProperties::default() {
            settings.insert("generic_properties".to_owned(), "remove".to_owned());
        }
        if self.inputs_visible != InputsVisible::default() {
            settings.insert(INPUTS_SETTING.to_owned(), "instance".to_owned());
        }
        if self.tool_evidence {
            settings.insert(EVIDENCE_SETTING.to_owned(), "keep".to_owned());
        }
        if self.count_instructions {
            settings.insert(INSTRUCTIONS_SETTING.to_owned(), "yes".to_owned());
        }
        if self.guest.deterministic {
            settings.insert(DETERMINISTIC_SETTING.to_owned(), "yes".to_owned());
        }
        for tool in &self.tools {
            if let Channel::Ssh { original: Original { user, disk, nic, .. }, .. } = &tool.channel {
                let channel = format!("ssh as {user}, disk {disk:?}, nic {nic:?}").to_lowercase();
                settings.insert(format!("channel of {}", tool.entry), channel);
            }
        }
        settings
    }

    /// Returns family and status of an instance: those given by the organizer, else the family in its name, `stripped`
    /// if its name has that prefix, and `surprise` if its archive has the marker `NewModel`.
    pub fn classify(&self, edition: &Edition, instance: &InstanceName, new_model: bool) -> (String, String) {
        match self.models.get(instance.as_str()) {
            Some(row) => (row.family.clone(), row.status.clone()),
            None => {
                let (family, stripped) = edition.unstripped(instance.family());
                let status = match (stripped, new_model) {
                    (true, _) => "stripped",
                    (false, true) => "surprise",
                    (false, false) => "known",
                };
                (family.to_owned(), status.to_owned())
            }
        }
    }
}

/// A limit of instructions for display.
fn instructions(limit: Option<u64>) -> String {
    limit.map_or_else(|| "no limit".to_owned(), |limit| limit.to_string())
}

/// A disk limit for display.
fn disk_space(limit: Option<Gib>) -> String {
    limit.map_or("free space of the tool's disk, at most 16".to_owned(), |limit| limit.to_string())
}

/// The word for a reading in edition files.
fn reading(reading: CpuReading) -> String {
    match reading {
        CpuReading::PerVcpu => "per-vcpu",
        CpuReading::Summed => "summed",
        CpuReading::Benchkit => "benchkit",
    }
    .to_owned()
}
