//! Reads and checks campaign.toml.

use super::models::{self, ModelRow};
use super::{
    Campaign, Channel, ClusterSettings, GenericProperties, GuestSettings, Hosts, InputsVisible, Kind,
    Overrides, Phase, Publication, Start, Tool,
};
use crate::benchkit::published::TableError;
use crate::benchkit::{FailureClass, FailureClasses};
use crate::parse;
use globset::Glob;
use mcc_base::machine::{Backend, DiskBus, NicModel, Original};
use mcc_base::names::{BadName, check_folder, is_reserved};
use mcc_base::text::{line_of_byte, visible};
use mcc_base::{FileError, OnFile};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// An error in a campaign, with its place and the remedy.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// A file or folder cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The content of campaign.toml or models.csv is not valid.
    #[error("{}:{line}: {message} (docs/campaign.md explains every key)", file.display())]
    Wrong {
        /// The file.
        file: PathBuf,
        /// The line in it: 1, 2, ...
        line: usize,
        /// The problem and the remedy.
        message: String,
    },
    /// The archive of an instance is not valid.
    #[error(transparent)]
    Archive(#[from] mcc_model::ArchiveError),
    /// The table of models cannot be read.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The filter `--only` is not valid or matches no run.
    #[error("--only {glob}: {message}")]
    Filter {
        /// The filter.
        glob: String,
        /// The problem.
        message: String,
    },
}

impl CampaignError {
    /// An error of a line. A line feed in a text of others does not begin a line of the message.
    pub(super) fn wrong(file: &Path, line: usize, message: &str) -> Self {
        Self::Wrong { file: file.to_owned(), line, message: visible(message) }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawCampaign {
    edition: Spanned<String>,
    #[serde(default)]
    phase: Phase,
    inputs: Spanned<PathBuf>,
    examinations: Option<Spanned<Vec<String>>>,
    instances: Option<Spanned<Vec<String>>>,
    start: Option<Spanned<Start>>,
    #[serde(default)]
    generic_properties: GenericProperties,
    inputs_visible: Option<Spanned<InputsVisible>>,
    #[serde(default)]
    tool_evidence: bool,
    #[serde(default)]
    count_instructions: bool,
    guest: Option<Spanned<GuestSettings>>,
    #[serde(default)]
    tool: Vec<RawTool>,
    #[serde(default)]
    limits: Overrides,
    #[serde(default)]
    hosts: Hosts,
    /// The name of this table was `slurm`.
    #[serde(alias = "slurm")]
    cluster: Option<Spanned<ClusterSettings>>,
    /// `Publication::of_text` reads it.
    #[serde(rename = "publication")]
    _publication: Option<IgnoredAny>,
    #[serde(default)]
    model: Vec<Spanned<ModelRow>>,
    models: Option<Spanned<PathBuf>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTool {
    entry: Spanned<String>,
    tool: Option<Spanned<String>>,
    image: Spanned<PathBuf>,
    kind: Kind,
    channel: Option<Spanned<ChannelKind>>,
    ssh_user: Option<Spanned<String>>,
    ssh_key: Option<Spanned<PathBuf>>,
    ssh_root_key: Option<Spanned<PathBuf>>,
    disk: Option<Spanned<DiskBus>>,
    nic: Option<Spanned<NicModel>>,
    inputs_disk: Option<Spanned<PathBuf>>,
    not_competing: Option<Spanned<Vec<String>>>,
    failure_class: Option<Spanned<Vec<FailureClass>>>,
    #[serde(rename = "authors")]
    _authors: Option<IgnoredAny>,
    #[serde(rename = "affiliation")]
    _affiliation: Option<IgnoredAny>,
    #[serde(rename = "link")]
    _link: Option<IgnoredAny>,
    #[serde(rename = "licence")]
    _licence: Option<IgnoredAny>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ChannelKind {
    Agent,
    Ssh,
}

/// The form of a glob, for errors.
const GLOB_FORM: &str = "a glob has names with *, ?, [abc] and {a,b}";

/// A file and its text, for errors with a line.
struct Source<'a> {
    file: &'a Path,
    text: &'a str,
    /// Whether the files of private keys must exist.
    needs_keys: bool,
}

impl Source<'_> {
    fn line(&self, at: usize) -> usize {
        line_of_byte(self.text.as_bytes(), at)
    }

    fn wrong<T>(&self, at: &Spanned<T>, message: String) -> CampaignError {
        CampaignError::wrong(self.file, self.line(at.span().start), &message)
    }

    /// Checks a name that is used as the name of a folder of the record.
    fn name(&self, key: &str, value: &Spanned<String>) -> Result<(), CampaignError> {
        match check_name(value.get_ref()) {
            Ok(()) => Ok(()),
            Err(problem) => {
                Err(self.wrong(value, format!("{key} = \"{}\" {problem}", visible(value.get_ref()))))
            }
        }
    }

    fn globs(&self, key: &str, globs: &Spanned<Vec<String>>) -> Result<(), CampaignError> {
        let wrong = globs.get_ref().iter().find_map(|glob| Glob::new(glob).err());
        match wrong {
            None => Ok(()),
            Some(error) => Err(self.wrong(globs, format!("{key}: {error}; {GLOB_FORM}"))),
        }
    }
}

/// Whether a line of a file in TOML sets a key, or begins a table of this name.
pub fn has_key(text: &str, key: &str) -> bool {
    let is_key = |line: &str| {
        let rest = line.trim_start_matches('[').strip_prefix(key);
        rest.is_some_and(|rest| rest.trim_start().starts_with(['=', ']', '.']))
    };
    text.lines().any(is_key)
}

/// The keys of `RawCampaign` that are not tables.
const CAMPAIGN_KEYS: [&str; 11] = [
    "edition",
    "phase",
    "inputs",
    "examinations",
    "instances",
    "start",
    "generic_properties",
    "inputs_visible",
    "tool_evidence",
    "count_instructions",
    "models",
];

/// Adds to a problem of the text where an unknown key belongs.
fn with_place_of_key(text: &str, problem: String) -> String {
    let Some((before, rest)) = problem.split_once("unknown field `") else { return problem };
    // Keys that only an edition has.
    if let Some(key) = ["base", "judging", "podium"].iter().find(|key| has_key(text, key)) {
        return format!("{before}this looks like an edition (key `{key}`); give a campaign file");
    }
    let key = rest.split('`').next().unwrap_or_default();
    if CAMPAIGN_KEYS.contains(&key) {
        return format!("{problem}; `{key}` is a key of the campaign: write it before the first table");
    }
    problem
}

/// Checks a name that is used as the name of a folder; the error is a part of a message. The folders are published, so
/// names that other systems reserve are refused too.
pub(super) fn check_name(name: &str) -> Result<(), &'static str> {
    if name.len() > 120 {
        return Err("is longer than 120 characters");
    }
    check_folder(name)?;
    if is_reserved(name) {
        return Err("is a reserved name on some systems, where the results could not be unpacked; rename it");
    }
    Ok(())
}

impl Campaign {
    /// Reads campaign.toml and its table of models. Disks and archives are not opened.
    ///
    /// # Errors
    /// A file cannot be read, or a key or value is not valid.
    pub fn load(path: &Path) -> Result<Self, CampaignError> {
        Self::load_with(path, true)
    }

    /// Reads them as `load` does, but the files of private keys need not exist: a campaign that was made from an archive has
    /// none.
    ///
    /// # Errors
    /// As `load`.
    pub fn load_without_keys(path: &Path) -> Result<Self, CampaignError> {
        Self::load_with(path, false)
    }

    fn load_with(path: &Path, needs_keys: bool) -> Result<Self, CampaignError> {
        let text = read(path)?;
        let source = Source { file: path, text: &text, needs_keys };
        let raw: RawCampaign = parse::campaign(&text).map_err(|(line, problem)| {
            CampaignError::wrong(path, line, &with_place_of_key(&text, problem))
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));

        if let Some(globs) = &raw.instances {
            source.globs("instances", globs)?;
        }
        let inputs = folder.join(raw.inputs.get_ref());
        if !inputs.is_dir() {
            let message = format!(
                "inputs: no folder {}; give the folder of the instance archives (NAME.tgz), or the one that `image inputs` made",
                inputs.display()
            );
            return Err(source.wrong(&raw.inputs, message));
        }
        let lines = lines(&source, &raw);
        let tools = tools(&source, &raw.tool, folder)?;
        let publication = Publication::of_text(&text)
            .map_err(|(line, message)| CampaignError::wrong(path, line, &message))?;
        let original = tools.iter().find(|tool| tool.channel != Channel::Agent);
        let restore = raw.start.as_ref().filter(|start| *start.get_ref() == Start::Restore);
        if let (Some(start), Some(original)) = (restore, original) {
            let message = format!(
                "start = \"restore\": clock and random pool of the original disk of {} cannot be refreshed; put \
                 such tools into another campaign with start = \"boot\"",
                original.entry
            );
            return Err(source.wrong(start, message));
        }
        if let Some(visible) = raw.inputs_visible.as_ref().filter(|set| *set.get_ref() != InputsVisible::All)
        {
            let problem = match (restore, original) {
                (Some(_), _) => {
                    "a restored machine has the inputs disk of the machine that was saved; remove start = \"restore\""
                        .to_owned()
                }
                (None, Some(Tool { entry, .. })) => format!(
                    "programs on the original disk of {entry} could compute on the instance while it boots, before its \
                     limits apply; put such tools into another campaign"
                ),
                (None, None) => String::new(),
            };
            if !problem.is_empty() {
                return Err(source.wrong(visible, format!("inputs_visible = \"instance\": {problem}")));
            }
        }
        only_agents_under_libvirt(&source, &raw)?;
        if let Some(cluster) = &raw.cluster
            && let Some(problem) = cluster.get_ref().key_of_other_system()
        {
            return Err(source.wrong(cluster, problem.to_owned()));
        }
        if let Some(guest) = raw.guest.as_ref().filter(|guest| guest.get_ref().deterministic) {
            let problem = match original {
                _ if raw.phase != Phase::Qualification => {
                    "tools of a contest run in guests with random addresses; remove it, or set phase = \"qualification\""
                        .to_owned()
                }
                Some(tool) => format!("the kernel of the original disk of {} cannot be set; remove it", tool.entry),
                None => String::new(),
            };
            if !problem.is_empty() {
                return Err(source.wrong(guest, format!("[guest] deterministic = true: {problem}")));
            }
        }
        if raw.generic_properties == GenericProperties::Remove
            && let Some(disk) = raw.tool.iter().find_map(|tool| tool.inputs_disk.as_ref())
        {
            let message = "generic_properties = \"remove\" does not change the contest's own inputs disk: remove \
                           inputs_disk, or generic_properties";
            return Err(source.wrong(disk, message.to_owned()));
        }
        Ok(Self {
            edition: edition(folder, raw.edition.get_ref()),
            inputs,
            examinations: raw.examinations.as_ref().map(|names| names.get_ref().clone()),
            instances: raw.instances.as_ref().map(|globs| globs.get_ref().clone()),
            tools,
            models: models_of(&source, &raw, folder)?,
            publication,
            phase: raw.phase,
            start: raw.start.map(Spanned::into_inner).unwrap_or_default(),
            generic_properties: raw.generic_properties,
            inputs_visible: raw.inputs_visible.map(Spanned::into_inner).unwrap_or_default(),
            tool_evidence: raw.tool_evidence,
            count_instructions: raw.count_instructions,
            guest: raw.guest.map(Spanned::into_inner).unwrap_or_default(),
            limits: raw.limits,
            hosts: raw.hosts,
            cluster: raw.cluster.map(Spanned::into_inner).unwrap_or_default(),
            lines,
            file: path.to_owned(),
            text,
        })
    }

    /// An error that is found after loading, at the line of a key.
    pub(super) fn wrong(&self, key: &str, message: String) -> CampaignError {
        let line = self.lines.get(key).copied().unwrap_or(1);
        CampaignError::wrong(&self.file, line, &message)
    }

    /// An error of the image of an entry, at the line of its key.
    pub fn wrong_image(&self, entry: &str, message: String) -> CampaignError {
        self.wrong(&format!("image of {entry}"), format!("image of {entry}: {message}"))
    }

    /// An error of the content of the folder `inputs`, at the line of this key.
    pub fn wrong_inputs(&self, message: String) -> CampaignError {
        self.wrong("inputs", format!("inputs: {message}"))
    }
}

/// Checks that machines of libvirt boot images with the agent and are not restored: libvirt supports nothing else here.
fn only_agents_under_libvirt(source: &Source, raw: &RawCampaign) -> Result<(), CampaignError> {
    if raw.hosts.backend != Backend::Libvirt {
        return Ok(());
    }
    if let Some(start) = raw.start.as_ref().filter(|start| *start.get_ref() != Start::Boot) {
        let message =
            "start = \"restore\" needs the default backend: remove backend = \"libvirt\" from [hosts]";
        return Err(source.wrong(start, message.to_owned()));
    }
    let channels = raw.tool.iter().filter_map(|tool| tool.channel.as_ref());
    match channels.into_iter().find(|channel| *channel.get_ref() == ChannelKind::Ssh) {
        None => Ok(()),
        Some(ssh) => {
            let message =
                "channel = \"ssh\" needs the default backend: remove backend = \"libvirt\" from [hosts]";
            Err(source.wrong(ssh, message.to_owned()))
        }
    }
}

pub(super) fn read(path: &Path) -> Result<String, CampaignError> {
    Ok(mcc_base::text::read(path).on("read", path)?)
}

/// The value of the key `edition`: a path relative to the folder of the campaign file, or a name. `Edition::load`
/// distinguishes them in the same way.
fn edition(folder: &Path, written: &str) -> String {
    if !written.contains('/') && !written.ends_with(".toml") {
        return written.to_owned();
    }
    let path = folder.join(written).to_string_lossy().into_owned();
    if path.contains('/') { path } else { format!("./{path}") }
}

fn lines(source: &Source, raw: &RawCampaign) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::from([
        ("edition".to_owned(), source.line(raw.edition.span().start)),
        ("inputs".to_owned(), source.line(raw.inputs.span().start)),
    ]);
    let lists = [("examinations", &raw.examinations), ("instances", &raw.instances)];
    for (key, list) in lists {
        lines.extend(list.as_ref().map(|list| (key.to_owned(), source.line(list.span().start))));
    }
    for tool in &raw.tool {
        let entry = tool.entry.get_ref();
        lines.insert(format!("image of {entry}"), source.line(tool.image.span().start));
        if let Some(globs) = &tool.not_competing {
            lines.insert(format!("not_competing of {entry}"), source.line(globs.span().start));
        }
    }
    lines
}

fn tools(source: &Source, raw: &[RawTool], folder: &Path) -> Result<Vec<Tool>, CampaignError> {
    let mut tools: Vec<Tool> = Vec::new();
    let mut patterns = 0;
    for tool in raw {
        source.name("entry", &tool.entry)?;
        if let Some(name) = &tool.tool {
            source.name("tool", name)?;
        }
        let channel = channel(source, tool, folder)?;
        if let Some(globs) = &tool.not_competing {
            source.globs("not_competing", globs)?;
        }
        if let Some(classes) = &tool.failure_class {
            patterns += classes.get_ref().len();
            FailureClasses::check_number(patterns)
                .and_then(|()| FailureClasses::new(classes.get_ref()))
                .map_err(|problem| source.wrong(classes, format!("failure_class: {problem}")))?;
        }
        let entry = tool.entry.get_ref();
        if let Some(other) = tools.iter().find(|other| other.entry.eq_ignore_ascii_case(entry)) {
            let message = if other.entry == *entry {
                format!("entry \"{entry}\" is listed twice; rename one")
            } else {
                format!(
                    "entries \"{}\" and \"{entry}\" differ only in upper and lower case, and some systems do not \
                     distinguish their folders; rename one",
                    other.entry
                )
            };
            return Err(source.wrong(&tool.entry, message));
        }
        tools.push(Tool {
            entry: entry.parse().map_err(|bad: BadName| source.wrong(&tool.entry, bad.to_string()))?,
            tool: tool.tool.as_ref().map(|name| name.get_ref().clone()),
            image: folder.join(tool.image.get_ref()),
            kind: tool.kind,
            channel,
            not_competing: tool
                .not_competing
                .as_ref()
                .map(|globs| globs.get_ref().clone())
                .unwrap_or_default(),
        });
    }
    if tools.is_empty() {
        return Err(CampaignError::wrong(source.file, 1, "no [[tool]]; add at least one"));
    }
    Ok(tools)
}

fn channel(source: &Source, tool: &RawTool, folder: &Path) -> Result<Channel, CampaignError> {
    let RawTool { ssh_user, ssh_key, ssh_root_key, disk, nic, inputs_disk, .. } = tool;
    let Some(ssh) = tool.channel.as_ref().filter(|word| *word.get_ref() == ChannelKind::Ssh) else {
        let at = [
            ssh_user.as_ref().map(|key| ("ssh_user", key.span())),
            ssh_key.as_ref().map(|key| ("ssh_key", key.span())),
            ssh_root_key.as_ref().map(|key| ("ssh_root_key", key.span())),
            disk.as_ref().map(|key| ("disk", key.span())),
            nic.as_ref().map(|key| ("nic", key.span())),
            inputs_disk.as_ref().map(|key| ("inputs_disk", key.span())),
        ];
        return match at.into_iter().flatten().next() {
            None => Ok(Channel::Agent),
            Some((key, span)) => {
                let message =
                    format!("{key} is valid for original disks only: add channel = \"ssh\", or remove {key}");
                Err(source.wrong(&Spanned::new(span, ()), message))
            }
        };
    };
    let Some(key) = ssh_key else {
        let message = "channel = \"ssh\" needs ssh_key = \"...\", the private key for the login on the disk";
        return Err(source.wrong(ssh, message.to_owned()));
    };
    // Absolute, because ssh is started in the folder of the attempt.
    let key_file = |name: &str, key: &Spanned<PathBuf>| {
        let path = folder.join(key.get_ref());
        let path = std::path::absolute(&path).unwrap_or(path);
        if path.is_file() || !source.needs_keys {
            Ok(path)
        } else {
            Err(source.wrong(key, format!("{name}: there is no file {}", path.display())))
        }
    };
    let path = key_file("ssh_key", key)?;
    let root_key = ssh_root_key.as_ref().map(|key| key_file("ssh_root_key", key)).transpose()?;
    let user = ssh_user.as_ref().map_or("mcc", |user| user.get_ref().as_str());
    if let Some(user) = ssh_user
        && !user.get_ref().starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
    {
        return Err(source.wrong(user, format!("ssh_user = \"{}\" is not a user name", user.get_ref())));
    }
    let original = Original {
        user: user.to_owned(),
        key: path,
        root_key,
        disk: disk.as_ref().map(|disk| *disk.get_ref()).unwrap_or_default(),
        nic: nic.as_ref().map(|nic| *nic.get_ref()).unwrap_or_default(),
    };
    Ok(Channel::Ssh { original, inputs_disk: inputs_disk.as_ref().map(|disk| folder.join(disk.get_ref())) })
}

fn models_of(
    source: &Source,
    raw: &RawCampaign,
    folder: &Path,
) -> Result<BTreeMap<String, ModelRow>, CampaignError> {
    let mut models = BTreeMap::new();
    if let Some(table) = &raw.models {
        if let Some(model) = raw.model.first() {
            let message = "both [[model]] and models = \"...\" are given; remove one of them";
            return Err(source.wrong(model, message.to_owned()));
        }
        return models::read_table(&folder.join(table.get_ref()));
    }
    for row in &raw.model {
        row.get_ref().check().map_err(|message| source.wrong(row, format!("model: {message}")))?;
        let instance = row.get_ref().instance.clone();
        let place = (source.file.to_owned(), source.line(row.span().start));
        if models.insert(instance.clone(), ModelRow { place, ..row.get_ref().clone() }).is_some() {
            return Err(
                source.wrong(row, format!("model: instance \"{instance}\" is listed twice; remove one"))
            );
        }
    }
    Ok(models)
}
