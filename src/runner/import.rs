//! Makes a campaign from an archive: campaign file, edition, image folders and inputs, so that its runs can be made again,
//! on any host. The archive is not trusted: only keys of the campaign file that decide what runs are kept, and each file is
//! the one that the record names by its digest, or is listed as missing.

use super::replay::disk_finder;
use mcc_archive::{ArchiveError, ArchiveLimits, ArchivePaths, DiskFinder, own_folder, unpack, verify};
use mcc_base::files::{self, ARCHIVES};
use mcc_base::temporary::folder_beside;
use mcc_base::{FileError, OnFile, digest, text};
use mcc_campaign::{Campaign, CampaignError, InstanceFacts, Publication};
use mcc_edition::Edition;
use mcc_judge::record::{RecordError, edition_of};
use mcc_judge::schema::{ENTRIES, INSTANCES, NAMES, OVERRIDES};
use mcc_store::{CampaignFacts, Disk, Record, StoreError};
use mcc_vm::{Boot, DiskError, Ext4Files, Image, ImageError, ImageFacts, PackedInstance};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// From what a campaign is made.
pub struct ImportSource<'a> {
    /// The archive, or the folder of an unpacked one.
    pub archive: &'a Path,
    /// Files, and folders with files, that may be disks of the campaign.
    pub disks: &'a [PathBuf],
    /// A folder of instance archives, which is read if the inputs disk is not found.
    pub instances: Option<&'a Path>,
    /// Who may have signed the archive, as for `verify`; None: it need not be signed.
    pub allowed_signers: Option<&'a Path>,
    /// Called with each step.
    pub show: &'a dyn Fn(&str),
    /// Called with the temporary folder that the files of a packed archive get, which errors name.
    pub unpacked: &'a dyn Fn(&Path),
}

/// What was written.
pub struct Imported {
    /// Number of entries.
    pub entries: usize,
    /// Number of instances.
    pub instances: usize,
    /// Files that the campaign needs and that were not found.
    pub missing: Vec<MissingFile>,
}

/// A file that someone must provide before the campaign can run.
pub struct MissingFile {
    /// Its path in the folder of the campaign.
    pub path: String,
    /// What it is; with a remark, if a file of its name was found.
    pub what: String,
    /// Its digest; None: a key, which no record has.
    pub sha256: Option<String>,
}

/// Why no campaign is made.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The folder to write is not new, or no campaign can be made from the archive: what, where, and a remedy.
    #[error("{0}")]
    Refused(String),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The archive, or a disk in it, cannot be used.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The record cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The edition of the record cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A disk is refused.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// An image is refused.
    #[error(transparent)]
    Image(#[from] ImageError),
}

/// Keys of the campaign file that decide what runs and how; the others are paths, or describe other hosts.
const KEPT: [&str; 9] = [
    "phase",
    "examinations",
    "start",
    "generic_properties",
    "inputs_visible",
    "tool_evidence",
    "count_instructions",
    "guest",
    "limits",
];
/// Keys of `[hosts]` that are for the hosts of the archive.
const OF_OTHER_HOSTS: [&str; 2] = ["backend", "jobs"];
/// Keys of a `[[tool]]` that decide what runs, how, and which failures it has.
const KEPT_OF_TOOL: [&str; 6] = ["not_competing", "channel", "ssh_user", "disk", "nic", "failure_class"];

/// The digests of missing files, for `sha256sum --check`.
const MISSING: &str = "missing.sha256";

/// Writes a campaign to the new folder `out`: it is complete, or not there. Files that are not found are listed in the result
/// and in two files of the folder.
///
/// # Errors
/// The archive is not intact, or no campaign can be made from it; or `out` is not empty or cannot be written.
pub fn import(source: &ImportSource, out: &Path) -> Result<Imported, ImportError> {
    let is_new = match fs::read_dir(out) {
        Ok(mut items) => items.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    if !is_new {
        return Err(ImportError::Refused(format!(
            "{}: it exists and is not an empty folder; give a new folder with --out",
            out.display()
        )));
    }
    let scratch = folder_beside(out, ".importing-")?;
    let unpacked = scratch.path().join("archive");
    let is_packed = !source.archive.is_dir();
    let archive = if is_packed { unpacked.as_path() } else { source.archive };
    if is_packed {
        (source.show)("unpacking the archive");
        fs::create_dir(archive).on("create", archive)?;
        (source.unpacked)(archive);
        unpack(source.archive, archive, ArchiveLimits::default())?;
    }
    (source.show)("verifying the archive");
    let is_signed_folder = source.allowed_signers.is_some() && !is_packed;
    let own = is_signed_folder.then(|| own_folder(archive)).transpose()?;
    let archive = own.as_deref().unwrap_or(archive);
    let verified = verify(archive, source.allowed_signers)?;
    let shown = source.archive.display();
    if let Some(first) = verified.differences.first() {
        return Err(ImportError::Refused(format!(
            "{shown}: the archive is not intact: {} {}; `mcc-harness verify` lists all differences, and nothing was written",
            first.place, first.what
        )));
    }
    if ArchivePaths(archive).facts()?.tool.is_some() {
        return Err(ImportError::Refused(format!(
            "{shown}: the archive of one team has neither the judgement nor the disks of a contest; give the archive of the \
             contest"
        )));
    }
    let folder = scratch.path().join("campaign");
    fs::create_dir(&folder).on("create", &folder)?;
    let record = Record::open_readonly(archive)?;
    let new = NewCampaign {
        source,
        archive,
        is_packed,
        facts: record.facts(),
        // The first disk of a role comes last here, so it is kept.
        disks: record.facts().disks.iter().rev().map(|disk| (disk.role.as_str(), disk)).collect(),
        folder: &folder,
        finder: disk_finder(source.disks, &[archive.join("disks")]),
        missing: vec![],
    };
    let imported = new.write(edition_of(&record)?)?;
    fs::rename(&folder, out).on("create", out)?;
    Ok(imported)
}

/// A campaign that is written.
struct NewCampaign<'a> {
    source: &'a ImportSource<'a>,
    /// The unpacked archive.
    archive: &'a Path,
    /// Whether `archive` is temporary, so that its files can be linked.
    is_packed: bool,
    facts: &'a CampaignFacts,
    /// Its disks by role.
    disks: HashMap<&'a str, &'a Disk>,
    /// The folder of the campaign.
    folder: &'a Path,
    finder: DiskFinder,
    missing: Vec<MissingFile>,
}

impl NewCampaign<'_> {
    /// `recorded` is the edition of the record.
    fn write(mut self, recorded: Edition) -> Result<Imported, ImportError> {
        (self.source.show)("writing the campaign");
        let edition = self.edition(recorded)?;
        let publication = mcc_archive::publication(self.archive)?;
        let table = self.campaign(publication)?;
        self.models()?;
        self.images()?;
        self.inputs(&edition)?;
        let header = "# Made by `mcc-harness import` from the campaign file of an archive. README.txt has all steps.\n\n";
        let written = toml::to_string_pretty(&table).map_err(|error| self.content("record.db", error))?;
        self.text("campaign.toml", &format!("{header}{written}"))?;
        self.check(&edition)?;
        let judge = self.judge_command()?;
        self.text("README.txt", &self.readme(&judge))?;
        let digests = self
            .missing
            .iter()
            .filter_map(|missing| Some(format!("{}  {}\n", missing.sha256.as_ref()?, missing.path)));
        let digests: String = digests.collect();
        if !digests.is_empty() {
            self.text(MISSING, &digests)?;
        }
        let Self { facts, missing, .. } = self;
        Ok(Imported { entries: facts.entries.len(), instances: facts.instances.len(), missing })
    }

    fn content(&self, file: &str, reason: impl std::fmt::Display) -> ImportError {
        let archive = self.source.archive.display();
        ImportError::Refused(format!("{archive}: {file}: {reason}"))
    }

    fn text(&self, name: &str, text: &str) -> Result<(), ImportError> {
        let path = self.folder.join(name);
        Ok(fs::write(&path, text).on("write", path)?)
    }

    /// Writes `edition.toml`: limits, machine and examinations of the runs, and all other rules as the archive was judged.
    fn edition(&self, recorded: Edition) -> Result<Edition, ImportError> {
        let path = ArchivePaths(self.archive).edition_file();
        let judged = text::read(&path).on("read", path)?;
        let judged: Edition =
            serde_json::from_str(&judged).map_err(|error| self.content("edition.json", error))?;
        let Edition { limits, machine, examinations, .. } = recorded;
        let edition = Edition { limits, machine, examinations, ..judged };
        let written =
            toml::to_string_pretty(&edition).map_err(|error| self.content("edition.json", error))?;
        self.text("edition.toml", &written)?;
        match Edition::parse(&written, "edition.toml") {
            Ok(read) if read == edition => Ok(edition),
            Ok(_) => Err(self.content("edition.json", "its rules cannot be written as an edition file")),
            Err(error) => Err(self.content("edition.json", error)),
        }
    }

    /// The content of `campaign.toml`.
    fn campaign(&mut self, publication: Option<Publication>) -> Result<Table, ImportError> {
        let original = self.facts.campaign.parse::<Table>();
        let original =
            original.map_err(|error| self.content("record.db", format!("its campaign.toml: {error}")))?;
        let mut table = taken(&original, &KEPT);
        if let Some(hosts) = original.get("hosts").and_then(Value::as_table) {
            let mut hosts = hosts.clone();
            hosts.retain(|key, _| !OF_OTHER_HOSTS.contains(&key));
            table.insert("hosts".to_owned(), Value::Table(hosts));
        }
        for (key, value) in [("edition", "./edition.toml"), ("inputs", "inputs"), ("models", "models.csv")] {
            table.insert(key.to_owned(), value.into());
        }
        let own_tables =
            original.get("tool").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        // The first table of an entry comes last here, so it is kept.
        let own_tables: HashMap<&str, &Table> = own_tables
            .iter()
            .rev()
            .filter_map(Value::as_table)
            .filter_map(|own| Some((own.get("entry")?.as_str()?, own)))
            .collect();
        let publication = publication.unwrap_or_default();
        let mut tools = Vec::new();
        for facts in &self.facts.entries {
            let entry = facts.entry.as_str();
            let Some(own) = own_tables.get(entry) else {
                let reason = format!("its campaign.toml has no [[tool]] of the entry {entry}");
                return Err(self.content("record.db", reason));
            };
            let mut tool = taken(own, &KEPT_OF_TOOL);
            let image = format!("images/{entry}");
            if own.get("channel").and_then(Value::as_str) == Some("ssh") {
                tool.insert("image".to_owned(), format!("{image}/disk").into());
                for key in ["ssh_key", "ssh_root_key"].into_iter().filter(|key| own.contains_key(*key)) {
                    let path = format!("{image}/{key}");
                    tool.insert(key.to_owned(), path.clone().into());
                    let what = format!("{key} of {entry}: a private key, which no archive has");
                    self.missing.push(MissingFile { path, what, sha256: None });
                }
                if self.disk("inputs", entry).is_some() {
                    tool.insert("inputs_disk".to_owned(), format!("{image}/inputs").into());
                }
            } else {
                tool.insert("image".to_owned(), image.into());
            }
            for (key, value) in [("entry", entry), ("tool", facts.tool.as_str()), ("kind", facts.kind.word())]
            {
                tool.insert(key.to_owned(), value.into());
            }
            if let Some(stated) = publication.entries.get(entry) {
                let stated =
                    Table::try_from(stated).map_err(|error| self.content("publication.json", error))?;
                tool.extend(stated);
            }
            tools.push(Value::Table(tool));
        }
        table.insert("tool".to_owned(), Value::Array(tools));
        // Date, DOI and address are those of the archive, not of other runs.
        let publication =
            Publication { date: None, doi: None, archive: None, entries: BTreeMap::new(), ..publication };
        if publication != Publication::default() {
            let stated =
                Value::try_from(publication).map_err(|error| self.content("publication.json", error))?;
            table.insert("publication".to_owned(), stated);
        }
        Ok(table)
    }

    /// Writes `models.csv`, with family and status of each instance.
    fn models(&self) -> Result<(), ImportError> {
        let path = self.folder.join("models.csv");
        let file = File::create_new(&path).on("create", &path)?;
        Ok(models_table(&self.facts.instances, file).on("write", path)?)
    }

    /// The disk of a role, such as `kernel`, of an entry.
    fn disk(&self, role: &str, entry: &str) -> Option<&Disk> {
        self.disks.get(format!("{role} {entry}").as_str()).copied()
    }

    /// Writes the image folder of each entry.
    fn images(&mut self) -> Result<(), ImportError> {
        for facts in &self.facts.entries {
            let entry = facts.entry.as_str();
            let folder = format!("images/{entry}");
            let path = self.folder.join(&folder);
            fs::create_dir_all(&path).on("create", &path)?;
            let disk = |role: &str| self.disk(role, entry).cloned();
            let no_disk = || self.content("record.db", format!("it has no disk of the entry {entry}"));
            let system = disk("disk").ok_or_else(no_disk)?;
            let (Some(kernel), Some(initrd)) = (disk("kernel"), disk("initrd")) else {
                // An original disk, which has no image folder.
                let inputs = disk("inputs").map(|disk| (disk, "inputs"));
                for (disk, name) in [(system, "disk")].into_iter().chain(inputs) {
                    self.place(&disk, &format!("{folder}/{name}"))?;
                }
                continue;
            };
            let boot = Boot { kernel: "vmlinux".to_owned(), initrd: "initrd".to_owned() };
            let image = ImageFacts { boot: Some(boot.clone()), ..ImageFacts::new("tool", "disk.qcow2") };
            let mut is_complete = true;
            for (disk, name) in [(system, &image.disk), (kernel, &boot.kernel), (initrd, &boot.initrd)] {
                is_complete &= self.place(&disk, &format!("{folder}/{name}"))?.is_some();
            }
            self.image(&folder, &image, is_complete)?;
        }
        Ok(())
    }

    /// Writes `image.json`, and checks a complete image.
    fn image(&self, folder: &str, facts: &ImageFacts, is_complete: bool) -> Result<(), ImportError> {
        let json = serde_json::to_string_pretty(facts).expect("facts are plain data");
        self.text(&format!("{folder}/image.json"), &format!("{json}\n"))?;
        if is_complete {
            Image::open(&self.folder.join(folder))?;
        }
        Ok(())
    }

    /// Puts the file with the digest of a disk at `path` in the folder, and returns where it is now. None: it is not found,
    /// and listed as missing.
    fn place(&mut self, disk: &Disk, path: &str) -> Result<Option<PathBuf>, ImportError> {
        let from = match self.finder.find(disk, None) {
            Ok(from) => from,
            Err(ArchiveError::DiskMissing { role, sha256, bytes, .. }) => {
                let what = format!("{role}, {bytes} bytes");
                self.misses(path.to_owned(), what, &sha256)?;
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let to = self.folder.join(path);
        // Not the files of others, which could change theirs.
        if self.is_packed && from.starts_with(self.archive) {
            fs::hard_link(&from, &to).on("create", &to)?;
            return Ok(Some(to));
        }
        let found = copy(&from, &to)?;
        if found != disk.sha256 {
            let source = io::Error::other("it was changed meanwhile");
            return Err(FileError { action: "copy", path: from, source }.into());
        }
        Ok(Some(to))
    }

    /// Writes `inputs`: the inputs disk with its archives, or the archives only, of which `run` makes a disk.
    fn inputs(&mut self, edition: &Edition) -> Result<(), ImportError> {
        let folder = self.folder.join("inputs");
        fs::create_dir(&folder).on("create", &folder)?;
        // The archives on the disk lack a file then, and the record has the digests of the complete ones.
        let is_reduced = self.facts.settings.contains_key("generic_properties");
        let disk = self.facts.disks.iter().find(|disk| disk.role == "inputs").filter(|_| !is_reduced);
        let missing = self.missing.len();
        let disk = disk.cloned().map(|disk| self.place(&disk, "inputs/inputs.ext4")).transpose()?.flatten();
        // The archives are listed instead.
        self.missing.truncate(missing);
        let Some(disk) = disk else {
            return self.archives();
        };
        let archives = folder.join(ARCHIVES);
        fs::create_dir(&archives).on("create", &archives)?;
        let files = Ext4Files::open(&disk)?;
        // The names of a forged disk can share one file, which has no place on it.
        let mut left = disk.metadata().on("read", &disk)?.len();
        for facts in &self.facts.instances {
            let bytes = files.bytes_of(&format!("{}.tgz", facts.name))?.unwrap_or_default();
            left = left.checked_sub(bytes).ok_or_else(|| {
                self.content("disks", format!("the archives on {} are larger than it", disk_name(&disk)))
            })?;
        }
        let mut instances = Vec::new();
        for facts in &self.facts.instances {
            let name = format!("{}.tgz", facts.name);
            let path = archives.join(&name);
            let mut file = File::create_new(&path).on("create", &path)?;
            let is_there = files.copy(&name, &mut file)?.is_some();
            file.flush().on("write", &path)?;
            let (sha256, _) = digest::file(&path).on("read", &path)?;
            if !is_there || sha256 != facts.sha256 {
                let reason = format!("the inputs disk {} does not have {name} as recorded", disk_name(&disk));
                return Err(self.content("disks", reason));
            }
            instances.push(PackedInstance { instance: facts.name.to_string(), sha256 });
        }
        instances.sort_by(|a, b| a.instance.cmp(&b.instance));
        let facts = ImageFacts {
            instances,
            edition: Some(edition.name.clone()),
            ..ImageFacts::new("inputs", "inputs.ext4")
        };
        self.image("inputs", &facts, true)
    }

    /// Copies the archives of the instances from the given folder.
    fn archives(&mut self) -> Result<(), ImportError> {
        for facts in &self.facts.instances {
            let path = format!("inputs/{}.tgz", facts.name);
            let mut what = format!("archive of the instance {}", facts.name);
            if let Some(folder) = self.source.instances {
                let (from, to) = (folder.join(format!("{}.tgz", facts.name)), self.folder.join(&path));
                if from.is_file() {
                    let found = copy(&from, &to)?;
                    if found == facts.sha256 {
                        continue;
                    }
                    fs::remove_file(&to).on("remove", &to)?;
                    let _ = write!(what, "; {} has another content, sha256 {found}", from.display());
                }
            }
            self.misses(path, what, &facts.sha256)?;
        }
        Ok(())
    }

    /// Lists a missing file.
    fn misses(&mut self, path: String, what: String, sha256: &str) -> Result<(), ImportError> {
        if !digest::is_digest(sha256) {
            return Err(self.content("record.db", format!("it has no digest of {path}")));
        }
        self.missing.push(MissingFile { path, what, sha256: Some(sha256.to_owned()) });
        Ok(())
    }

    /// Checks that the campaign file is valid, and that its campaign is that of the record.
    fn check(&self, edition: &Edition) -> Result<(), ImportError> {
        let wrong = |reason: String| self.content("record.db", format!("its campaign.toml: {reason}"));
        let campaign =
            Campaign::load_without_keys(&self.folder.join("campaign.toml")).map_err(|error| match error {
                CampaignError::Wrong { message, .. } => wrong(message),
                error => wrong(error.to_string()),
            })?;
        if campaign.effective(edition) != *edition {
            return Err(wrong("its limits are not those of its runs".to_owned()));
        }
        let (settings, recorded) = (campaign.settings(), &self.facts.settings);
        let mut keys = settings.keys().chain(recorded.keys());
        match keys.find(|key| settings.get(*key) != recorded.get(*key)) {
            Some(key) => Err(wrong(format!("its setting `{key}` is not that of its runs"))),
            None => Ok(()),
        }
    }

    /// Copies the tables with which the archive was judged, and returns the command that judges with them.
    fn judge_command(&self) -> Result<String, ImportError> {
        let mut command = "mcc-harness judge results".to_owned();
        for (option, name) in [
            ("--names", NAMES.file),
            ("--models", INSTANCES.file),
            ("--tools", ENTRIES.file),
            ("--overrides", OVERRIDES.file),
        ] {
            let from = self.archive.join(name);
            if from.is_file() {
                copy(&from, &self.folder.join(name))?;
                let _ = write!(command, " {option} {name}");
            }
        }
        Ok(command + " --out judged")
    }

    fn readme(&self, judge: &str) -> String {
        let archive = std::path::absolute(self.source.archive).unwrap_or(self.source.archive.to_owned());
        let archive = text::shell_word(&archive.to_string_lossy());
        let mut text = format!(
            "A campaign that `mcc-harness import` made from the archive\n    {archive}\n\n\
             In this folder, these commands show its runs, make them, judge them, and compare the judgement with the published \
             one:\n\n    \
             mcc-harness plan campaign.toml\n    \
             mcc-harness run campaign.toml --out results\n    \
             {judge}\n    \
             mcc-harness judge --compare {archive} judged\n\n\
             On a cluster, `submit` and `collect` take the place of `run`; write [cluster] into campaign.toml first. To run a part, use \
             `run --only 'ENTRY/INSTANCE/EXAMINATION'` with globs, and then `judge --unfinished`.\n\
             Images, kernels and initrds are programs of other people; they run in machines without network.\n\n\
             Not as in the campaign of the archive, because the archive does not have it or it is of other hosts: comments of \
             campaign.toml; [cluster], and backend and jobs of [hosts]; date, DOI and address (`archive`) of the publication; packages \
             and sources of the images.\n",
        );
        if !self.missing.is_empty() {
            text += "\nMissing: someone, such as the authors of the tools, must provide these files";
            let _ = writeln!(text, " (check them: sha256sum --check {MISSING}):\n");
            for MissingFile { path, what, sha256 } in &self.missing {
                let sha256 = sha256.as_ref().map_or(String::new(), |sha256| format!(", sha256 {sha256}"));
                let _ = writeln!(text, "    {path}: {what}{sha256}");
            }
        }
        text
    }
}

/// Writes the table with family and status of each instance.
fn models_table(instances: &[InstanceFacts], to: impl io::Write) -> csv::Result<()> {
    // A status can have commas and quotes.
    let mut table = csv::Writer::from_writer(to);
    table.write_record(["instance", "family", "status"])?;
    for InstanceFacts { name, family, status, .. } in instances {
        table.write_record([name.as_str(), family, status])?;
    }
    Ok(table.flush()?)
}

/// The entries of a table with these keys.
fn taken(table: &Table, keys: &[&str]) -> Table {
    table
        .iter()
        .filter(|(key, _)| keys.contains(&key.as_str()))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect()
}

fn disk_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Copies a regular file to a new one, and returns its digest.
fn copy(from: &Path, to: &Path) -> Result<String, ImportError> {
    let mut reader = digest::Reader::new(files::open(from).on("read", from)?);
    let mut file = File::create_new(to).on("create", to)?;
    io::copy(&mut reader, &mut file).on("write", to)?;
    Ok(reader.digest())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_with_a_comma_and_quotes_is_read_from_the_table_of_models_as_it_was() {
        let status = r#"known, "old""#;
        let instance = serde_json::json!({
            "name": "A-PT-1", "family": "A", "status": status, "sha256": "0".repeat(64), "questions": {},
        });
        let instances = [serde_json::from_value(instance).unwrap()];
        let mut written = Vec::new();
        models_table(&instances, &mut written).unwrap();
        let mut table = csv::Reader::from_reader(written.as_slice());
        assert_eq!(table.headers().unwrap(), vec!["instance", "family", "status"]);
        let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
        assert_eq!(rows, [vec!["A-PT-1", "A", status]]);
    }
}
