//! campaign.toml, the plan made of it, run ids. `docs/campaign.md` documents every key.

mod facts;
mod history;
mod instances;
mod jobs;
mod load;
mod models;
mod plan;
mod slurm;

pub use facts::{EntryFacts, InstanceFacts, Kind};
pub use history::{History, Remaining, duration};
pub use instances::archives_in;
pub use jobs::{CampaignFromJobFile, JobFileOptions, JobsError};
pub use load::CampaignError;
pub use models::ModelRow;
pub use plan::{Plan, Run, RunFilter};
pub use slurm::{LostNode, SlurmSettings};

use mcc_base::names::EntryName;
use mcc_edition::{CpuReading, Edition, MOST_BYTES, YEAR_S, between};
use mcc_model::InstanceName;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

/// What an organizer runs: an edition, tools, instances, examinations, hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Campaign {
    /// Where it was read from; its relative paths are relative to this file's folder.
    pub file: PathBuf,
    /// As it was written.
    pub text: String,
    /// A name, or the path of an edition file; as `Edition::load` takes it.
    pub edition: String,
    /// Folder of instance archives, or of an inputs disk that was made of them.
    pub inputs: PathBuf,
    /// A subset of the edition's; None: all of them.
    pub examinations: Option<Vec<String>>,
    /// Globs on instance names; None: all that lie in `inputs`.
    pub instances: Option<Vec<String>>,
    /// In the order of the file.
    pub tools: Vec<Tool>,
    pub phase: Phase,
    pub start: Start,
    pub limits: Overrides,
    pub hosts: Hosts,
    pub slurm: SlurmSettings,
    /// Families and statuses as written down by the organizer, by instance.
    pub models: BTreeMap<String, ModelRow>,
    /// Where a key stands, for errors that are found later: (key, line).
    lines: BTreeMap<String, usize>,
}

/// One entry as submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    pub entry: EntryName,
    /// The tool it is a variant of; None: what the edition says.
    pub tool: Option<String>,
    pub image: PathBuf,
    pub kind: Kind,
    pub channel: Channel,
    /// Globs on examination names: no machine is booted, DNC is recorded (T-4).
    pub not_competing: Vec<String>,
}

/// How an entry's machine is talked to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Channel {
    /// An image made by `image build`, with our agent.
    Agent,
    /// An original disk.
    Ssh(Original),
}

/// What an original disk needs; the keys of `[[tool]]` beside `channel = "ssh"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    pub user: String,
    /// The private key that opens it.
    pub key: PathBuf,
    pub disk: DiskBus,
    pub nic: NicModel,
    /// An inputs disk of the image's own edition; None: the campaign's.
    pub inputs_disk: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiskBus {
    #[default]
    Virtio,
    Ide,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NicModel {
    #[default]
    Virtio,
    E1000,
}

/// What a campaign is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    #[default]
    Contest,
    /// A minute per run, to see whether a disk works before it is submitted.
    Qualification,
}

/// What every run's machine begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    #[default]
    Boot,
    /// The state of a machine just booted.
    Restore,
}

/// `[limits]`: what is changed of the edition's limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Overrides {
    /// 0: no CPU limit.
    #[serde(deserialize_with = "limit::<0, YEAR_S, _, _>")]
    pub cpu_s: Option<u64>,
    pub cpu_reading: Option<CpuReading>,
    #[serde(deserialize_with = "limit::<1, YEAR_S, _, _>")]
    pub wall_s: Option<NonZeroU64>,
    #[serde(deserialize_with = "limit::<1, YEAR_S, _, _>")]
    pub confinement_s: Option<NonZeroU64>,
    #[serde(deserialize_with = "limit::<1, MOST_BYTES, _, _>")]
    pub output_bytes: Option<NonZeroU64>,
}

/// A limit within the edition's own bounds.
fn limit<'de, const LEAST: u64, const MOST: u64, T: TryFrom<u64>, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    between::<LEAST, MOST, T, D>(from).map(Some)
}

/// Who starts the machines: QEMU's process is ours, or libvirt's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    #[default]
    Qemu,
    Libvirt,
}

/// `[hosts]`: how it is run; no result depends on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Hosts {
    pub backend: Backend,
    /// Most runs at once; None: as many as cores and memory allow.
    pub jobs: Option<NonZeroU32>,
    /// How many more attempts a run gets after its first ended in infrastructure.
    #[serde(deserialize_with = "between::<0, 1000, _, _>")]
    pub retries: u32,
    /// Seconds from QEMU's start to the guest's readiness.
    #[serde(deserialize_with = "between::<1, 86_400, _, _>")]
    pub boot_deadline_s: NonZeroU64,
    /// Seconds to prepare the instance in the guest.
    #[serde(deserialize_with = "between::<1, 86_400, _, _>")]
    pub prepare_deadline_s: NonZeroU64,
    /// Seconds from the tool's end to the end of its output.
    #[serde(deserialize_with = "between::<1, 86_400, _, _>")]
    pub collect_deadline_s: NonZeroU64,
    /// Seconds the controller may be kept from looking at a machine before that attempt is given up.
    #[serde(deserialize_with = "between::<1, 86_400, _, _>")]
    pub stall_s: NonZeroU64,
}

impl Default for Hosts {
    fn default() -> Self {
        const MINUTE_S: NonZeroU64 = NonZeroU64::new(60).unwrap();
        const STALL_S: NonZeroU64 = NonZeroU64::new(10).unwrap();
        Self {
            backend: Backend::default(),
            jobs: None,
            retries: 2,
            boot_deadline_s: MINUTE_S,
            prepare_deadline_s: MINUTE_S,
            collect_deadline_s: MINUTE_S,
            stall_s: STALL_S,
        }
    }
}

/// One limit that the campaign changes; shown as such.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Override {
    pub limit: &'static str,
    pub edition: String,
    pub campaign: String,
}

/// The confinement of a qualification run, seconds.
const QUALIFICATION_S: u64 = 60;

/// The wall limit of a qualification run with this confinement, seconds: in the edition's proportion of wall limit to
/// confinement, and no less than the confinement.
pub fn qualification_wall_s(edition: &Edition, confinement_s: u64) -> u64 {
    let in_proportion = confinement_s * edition.limits.wall_s / edition.limits.confinement_s.max(1);
    in_proportion.max(confinement_s)
}

impl Campaign {
    /// The edition with the campaign's limits; what runs and what is judged.
    pub fn effective(&self, edition: &Edition) -> Edition {
        let mut edition = edition.clone();
        if self.phase == Phase::Qualification {
            edition.limits.wall_s = qualification_wall_s(&edition, QUALIFICATION_S);
            edition.limits.cpu_s = edition.limits.cpu_s.min(QUALIFICATION_S);
            edition.limits.confinement_s = QUALIFICATION_S;
        }
        let (limits, changes) = (&mut edition.limits, &self.limits);
        limits.cpu_s = changes.cpu_s.unwrap_or(limits.cpu_s);
        limits.cpu_reading = changes.cpu_reading.unwrap_or(limits.cpu_reading);
        limits.wall_s = changes.wall_s.map_or(limits.wall_s, NonZeroU64::get);
        limits.confinement_s = changes.confinement_s.map_or(limits.confinement_s, NonZeroU64::get);
        limits.output_bytes = changes.output_bytes.map_or(limits.output_bytes, NonZeroU64::get);
        edition
    }

    /// The limits in which the campaign differs from the edition.
    pub fn overrides(&self, edition: &Edition) -> Vec<Override> {
        let (then, now) = (&edition.limits, &self.effective(edition).limits);
        [
            ("cpu_s", then.cpu_s.to_string(), now.cpu_s.to_string()),
            ("cpu_reading", reading(then.cpu_reading), reading(now.cpu_reading)),
            ("wall_s", then.wall_s.to_string(), now.wall_s.to_string()),
            ("confinement_s", then.confinement_s.to_string(), now.confinement_s.to_string()),
            ("output_bytes", then.output_bytes.to_string(), now.output_bytes.to_string()),
        ]
        .into_iter()
        .filter(|(_, then, now)| then != now)
        .map(|(limit, edition, campaign)| Override { limit, edition, campaign })
        .collect()
    }

    /// The entries with the tools they are variants of: the campaign's word, else the edition's.
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

    /// Whatever here decides results and is in neither edition, disks, entries nor instances: for the record to
    /// notice that it changed.
    pub fn settings(&self) -> BTreeMap<String, String> {
        let examinations = self.examinations.as_ref().map_or("all".to_owned(), |names| names.join(" "));
        let not_competing = self
            .tools
            .iter()
            .map(|tool| (format!("not_competing of {}", tool.entry), tool.not_competing.join(" ")));
        let mut settings: BTreeMap<String, String> =
            not_competing.chain([("examinations".to_owned(), examinations)]).collect();
        // Only what differs from the default: records begun before these keys existed stay resumable.
        if self.phase != Phase::default() {
            settings.insert("phase".to_owned(), "qualification".to_owned());
        }
        if self.start != Start::default() {
            settings.insert("start".to_owned(), "restore".to_owned());
        }
        for tool in &self.tools {
            if let Channel::Ssh(Original { user, disk, nic, .. }) = &tool.channel {
                let channel = format!("ssh as {user}, disk {disk:?}, nic {nic:?}").to_lowercase();
                settings.insert(format!("channel of {}", tool.entry), channel);
            }
        }
        settings
    }

    /// Family and status of an instance: as the organizer wrote them down, else the family from its name, stripped
    /// where the name says so, and surprise where the archive carries the marker `NewModel`.
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

/// The word of the edition file.
fn reading(reading: CpuReading) -> String {
    match reading {
        CpuReading::PerVcpu => "per-vcpu",
        CpuReading::Summed => "summed",
        CpuReading::Benchkit => "benchkit",
    }
    .to_owned()
}
