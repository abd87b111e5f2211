//! The disks of a campaign's machines, with their digests.

use super::RunnerError;
use crate::cluster::StagingFolder;
use mcc_base::names::EntryName;
use mcc_base::{OnFile, digest};
use mcc_campaign::{Campaign, Channel, Tool};
use mcc_store::Disk;
use mcc_vm::{DiskFile, Guest, HeldFile, HeldFiles, Image};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Opens the image of each entry.
///
/// # Errors
/// An image cannot be opened, or does not fit its channel.
pub fn open_images(campaign: &Campaign) -> Result<BTreeMap<EntryName, Image>, RunnerError> {
    let open = |tool: &Tool| {
        let image = open_image(tool).map_err(|message| campaign.wrong_image(&tool.entry, message))?;
        Ok((tool.entry.clone(), image))
    };
    campaign.tools.iter().map(open).collect()
}

/// Opens the image of a tool.
///
/// # Errors
/// The reason why `run` refuses the image.
pub(super) fn open_image(tool: &Tool) -> Result<Image, String> {
    match tool.channel {
        Channel::Agent => {
            let image = Image::open(&tool.image).and_then(|image| image.boot().map(|_| image));
            image.map_err(|error| error.to_string())
        }
        Channel::Ssh { .. } => Image::open_original(&tool.image).map_err(|error| error.to_string()),
    }
}

/// The disks of one entry and their digests.
#[derive(Clone, Debug)]
pub struct EntryDisks {
    /// The channel to the guest, with kernel and initrd for the agent.
    pub guest: Guest,
    /// The disk of the tool.
    pub disk: DiskFile,
    /// The inputs disk of the entry with its digest; None: the inputs disk of the campaign.
    pub inputs: Option<(DiskFile, Disk)>,
    /// The digests of disk, kernel and initrd.
    pub digests: Vec<Disk>,
}

/// All disks of the machines of a campaign, with their digests.
#[derive(Clone, Debug)]
pub struct CampaignDisks {
    /// By entry.
    pub entries: BTreeMap<EntryName, EntryDisks>,
    /// The inputs disk.
    pub inputs: DiskFile,
    /// Its digest.
    pub inputs_digest: Disk,
    /// All files, held open since before their digests were computed.
    pub held_files: HeldFiles,
}

/// Copies of the disks in the storage of this node, by the digests of the submitted campaign.
pub struct StagedDisks<'a> {
    /// The folder of the copies.
    pub stage: &'a StagingFolder,
    /// The digests by role, as returned by `CampaignDisks::all`.
    pub submitted: &'a [Disk],
}

impl CampaignDisks {
    /// Digests the files of the campaign's images, each file once. With `staged`, the files are first copied to this
    /// node.
    ///
    /// # Errors
    /// A file cannot be read or copied, or differs from the submitted one. Or two entries have different guest agents.
    pub fn digest(
        campaign: &Campaign,
        images: &BTreeMap<EntryName, Image>,
        inputs: &Image,
        staged: Option<&StagedDisks>,
    ) -> Result<Self, RunnerError> {
        let mut digested = DigestedFiles { staged, known: BTreeMap::new(), held_files: HeldFiles::default() };
        let mut entries = BTreeMap::new();
        for tool in &campaign.tools {
            let (entry, image) = (&tool.entry, &images[&tool.entry]);
            let mut files = BTreeMap::new();
            for (role, path) in image.files() {
                files.insert(role, digested.file(role, entry, &path)?);
            }
            let file = |role: &str| files[role].0.clone();
            let (guest, format, own) = match &tool.channel {
                Channel::Agent => {
                    image.boot()?;
                    (Guest::Agent { kernel: file("kernel"), initrd: file("initrd") }, "qcow2", None)
                }
                Channel::Ssh { original, inputs_disk } => {
                    let format = image.facts.original.as_ref().map_or("raw", |facts| &facts.format);
                    (Guest::Ssh(original.clone()), format, inputs_disk.as_deref())
                }
            };
            let inputs = match own {
                None => None,
                Some(path) => {
                    let facts = mcc_vm::inspect(path)?;
                    let path = fs::canonicalize(path).on("find", path)?;
                    let (path, digest) = digested.file("inputs", entry, &path)?;
                    Some((DiskFile::new(path, &facts.format), digest))
                }
            };
            let disk = DiskFile::new(file("disk"), format);
            // The order of the files is the order in the record.
            let digests = image.files().iter().map(|(role, _)| files[role].1.clone()).collect();
            entries.insert(entry.clone(), EntryDisks { guest, disk, inputs, digests });
        }
        let agents = entries.iter().filter_map(|(entry, disks)| match &disks.digests[..] {
            [_, kernel, initrd] => Some((entry, [kernel.sha256.clone(), initrd.sha256.clone()])),
            _ => None,
        });
        if let Some((entry, reason)) = other_agent(agents) {
            return Err(campaign.wrong_image(&entry, reason).into());
        }
        let (path, inputs_digest) = digested.file("inputs", "", &inputs.disk())?;
        Ok(Self {
            entries,
            inputs: DiskFile::new(path, "raw"),
            inputs_digest,
            held_files: digested.held_files,
        })
    }

    /// The digests of all disks of a machine of `entry`.
    pub(super) fn digests_of(&self, entry: &EntryName) -> Vec<Disk> {
        let entry = &self.entries[entry];
        let inputs = entry.inputs.as_ref().map_or(&self.inputs_digest, |(_, digest)| digest);
        entry.digests.iter().chain([inputs]).cloned().collect()
    }

    /// The disks for the facts of a record: the inputs disk, and those of each entry by role and entry (`disk LoLA`).
    pub fn all(&self) -> Vec<Disk> {
        let mut all = vec![self.inputs_digest.clone()];
        for (entry, disks) in &self.entries {
            let own = disks.digests.iter().chain(disks.inputs.iter().map(|(_, digest)| digest));
            all.extend(own.map(|disk| Disk { role: role_of(&disk.role, entry), ..disk.clone() }));
        }
        all
    }
}

/// Finds an entry whose kernel or guest agent differs from that of the first one, with the reason why it is refused. Both are
/// trusted: an author who changed them would have all rights in the guest before the run begins, without the limits of an
/// original disk. `agents` has the digests of kernel and initrd.
fn other_agent<'a>(
    agents: impl IntoIterator<Item = (&'a EntryName, [String; 2])>,
) -> Option<(EntryName, String)> {
    let mut agents = agents.into_iter();
    let (first, known) = agents.next()?;
    let (other, _) = agents.find(|(_, agent)| *agent != known)?;
    let reason = format!(
        "its kernel or guest agent (initrd) is not that of {first}. Both must be yours, not an author's: copy vmlinux and initrd \
         of your reference image into the image folder of each entry"
    );
    Some((other.clone(), reason))
}

/// The entries whose images `run` would refuse, with the reasons.
pub fn refused_images(campaign: &Campaign) -> Vec<(EntryName, String)> {
    let mut refused = vec![];
    let mut agents = vec![];
    for tool in &campaign.tools {
        let sha256 = |path: &Path| match digest::file(path).on("read", path) {
            Ok((sha256, _)) => Ok(sha256),
            Err(error) => Err(error.to_string()),
        };
        let agent = open_image(tool).and_then(|image| match image.boot() {
            Ok((kernel, initrd)) if tool.channel == Channel::Agent => {
                Ok(Some([sha256(&kernel)?, sha256(&initrd)?]))
            }
            _ => Ok(None),
        });
        match agent {
            Ok(agent) => agents.extend(agent.map(|agent| (&tool.entry, agent))),
            Err(reason) => refused.push((tool.entry.clone(), reason)),
        }
    }
    refused.extend(other_agent(agents));
    refused
}

fn role_of(role: &str, entry: &str) -> String {
    format!("{role} {entry}").trim_end().to_owned()
}

/// Digests of files, each computed once.
struct DigestedFiles<'a> {
    staged: Option<&'a StagedDisks<'a>>,
    known: BTreeMap<PathBuf, (PathBuf, Disk)>,
    held_files: HeldFiles,
}

impl DigestedFiles<'_> {
    fn file(&mut self, role: &str, entry: &str, path: &Path) -> Result<(PathBuf, Disk), RunnerError> {
        if !self.known.contains_key(path) {
            let (place, file, disk) = match self.staged {
                None => {
                    let (file, sha256, bytes) = HeldFile::open_digested(path).on("read", path)?;
                    (path.to_owned(), file, Disk { role: role.to_owned(), sha256, bytes })
                }
                Some(staged) => {
                    let named = role_of(role, entry);
                    let submitted = staged.submitted.iter().find(|disk| disk.role == named);
                    let unknown = || {
                        RunnerError::Failed(format!(
                            "{}: this disk was not part of the submitted campaign; submit the changed campaign with \
                             another --out",
                            path.display()
                        ))
                    };
                    let submitted = submitted.ok_or_else(unknown)?;
                    let (place, file) = staged.stage.disk(path, &submitted.sha256)?;
                    (place, file, Disk { role: role.to_owned(), ..submitted.clone() })
                }
            };
            self.held_files.add(&place, file);
            self.known.insert(path.to_owned(), (place, disk));
        }
        let (place, disk) = &self.known[path];
        Ok((place.clone(), disk.clone()))
    }
}
