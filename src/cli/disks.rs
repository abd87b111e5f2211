//! The disks that a campaign's machines see: images opened, inputs disk made, every file digested.

use super::Failure;
use crate::cluster::Stage;
use anyhow::{Context, anyhow};
use mcc_base::files::ARCHIVES;
use mcc_campaign::{Campaign, InstanceFacts};
use mcc_edition::Edition;
use mcc_executor::{EntryDisks, Watched};
use mcc_store::Disk;
use mcc_vm::build;
use mcc_vm::{Bus, DiskFile, Guest, Image, Login, Nic, Original};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(super) fn open_images(campaign: &Campaign) -> Result<BTreeMap<String, Image>, Failure> {
    let open = |tool: &mcc_campaign::Tool| {
        let image = match tool.channel {
            mcc_campaign::Channel::Agent => {
                Image::open(&tool.image).and_then(|image| image.boot().map(|_| image))
            }
            mcc_campaign::Channel::Ssh(_) => {
                let image = Image::open_original(&tool.image).map_err(|error| error.to_string());
                return named(campaign, tool, image);
            }
        };
        named(campaign, tool, image.map_err(|error| error.to_string()))
    };
    campaign.tools.iter().map(open).collect()
}

fn named(
    campaign: &Campaign,
    tool: &mcc_campaign::Tool,
    image: Result<Image, String>,
) -> Result<(String, Image), Failure> {
    let image = image.map_err(|message| Failure::usage(campaign.wrong_image(&tool.entry, message)))?;
    Ok((tool.entry.clone(), image))
}

/// The campaign's own inputs disk, or one made of its archives beside the record.
pub(super) fn inputs_disk(
    campaign: &Campaign,
    edition: &Edition,
    facts: &[InstanceFacts],
    results: &Path,
    accept: bool,
) -> Result<Image, Failure> {
    let asked: Vec<_> = facts.iter().map(|facts| (&facts.name, &facts.sha256)).collect();
    let packed = |image: &Image| -> Vec<(String, String)> {
        image.facts.instances.iter().map(|p| (p.instance.clone(), p.sha256.clone())).collect()
    };
    if campaign.inputs.join(ARCHIVES).is_dir() {
        let image = Image::open(&campaign.inputs).map_err(Failure::usage)?;
        let on_disk: BTreeMap<_, _> = packed(&image).into_iter().collect();
        let strange = asked.iter().find(|(name, sha256)| on_disk.get(*name) != Some(sha256));
        return match (&image.facts.edition, strange) {
            (Some(other), _) if *other != edition.name => Err(Failure::usage(anyhow!(
                "the inputs disk {} is of edition {other}, the campaign of {}; give the inputs of that edition",
                image.folder.display(),
                edition.name
            ))),
            (_, Some((name, _))) => Err(Failure::usage(anyhow!(
                "the inputs disk {} does not hold {name} as it lies in its {ARCHIVES} folder; make the disk anew \
                 (`mcc-harness image inputs`)",
                image.folder.display()
            ))),
            _ => Ok(image),
        };
    }
    let beside = results.join("inputs");
    if let Ok(image) = Image::open(&beside) {
        if packed(&image).iter().map(|(name, sha256)| (name, sha256)).eq(asked.iter().copied()) {
            return Ok(image);
        }
        let changed = anyhow!(
            "the archives in {} changed since {} was made of them; use another --out",
            campaign.inputs.display(),
            beside.display()
        );
        return Err(Failure::usage(changed));
    }
    let archives: Vec<_> = campaign.archives().map_err(Failure::usage)?.into_iter().collect();
    super::image::check_inputs(&archives, accept)?;
    Ok(build::inputs(&archives, Some(&edition.name), &beside, &|step| eprintln!("run: {step}"))
        .context("making the inputs disk")?)
}

/// The inputs disk that was made for a campaign before.
pub(super) fn packed_inputs(campaign: &Campaign, results: &Path) -> Result<Image, Failure> {
    let folder =
        if campaign.inputs.join(ARCHIVES).is_dir() { &campaign.inputs } else { &results.join("inputs") };
    Image::open(folder).map_err(Failure::usage)
}

/// Every disk a machine will see, digested.
pub(super) struct Disks {
    pub entries: BTreeMap<String, EntryDisks>,
    pub inputs: DiskFile,
    pub inputs_digest: Disk,
    pub watched: Watched,
}

/// Copies on this node's own storage, by the digests the campaign was submitted with.
pub(super) struct Staged<'a> {
    pub stage: &'a Stage,
    /// By role, as `Disks::all` names them.
    pub submitted: &'a [Disk],
}

impl Disks {
    /// Those of the campaign's images, each file read once however many images share it by name; copied to this
    /// node first where they are to be staged.
    pub fn of(
        campaign: &Campaign,
        images: &BTreeMap<String, Image>,
        inputs: &Image,
        staged: Option<&Staged>,
    ) -> Result<Self, Failure> {
        let mut place = Place { staged, known: BTreeMap::new(), watched: Watched::default() };
        let mut entries = BTreeMap::new();
        for tool in &campaign.tools {
            let (entry, image) = (&tool.entry, &images[&tool.entry]);
            let mut files = BTreeMap::new();
            for (role, path) in image.files() {
                files.insert(role, place.of(role, entry, &path)?);
            }
            let file = |role: &str| files[role].0.clone();
            let (guest, format, own) = match &tool.channel {
                mcc_campaign::Channel::Agent => {
                    image.boot()?;
                    (Guest::Agent { kernel: file("kernel"), initrd: file("initrd") }, "qcow2", None)
                }
                mcc_campaign::Channel::Ssh(original) => {
                    let format = image.facts.original.as_ref().map_or("raw", |facts| &facts.format);
                    (Guest::Ssh(of_original(original)), format, original.inputs_disk.as_deref())
                }
            };
            let inputs = match own {
                None => None,
                Some(path) => {
                    let facts = mcc_vm::inspect(path).map_err(Failure::usage)?;
                    let (path, digest) = place.of("inputs", entry, path)?;
                    Some((DiskFile::new(path, &facts.format), digest))
                }
            };
            let disk = DiskFile::new(file("disk"), format);
            // In the order of the image's files, as they are recorded.
            let digests = image.files().iter().map(|(role, _)| files[role].1.clone()).collect();
            entries.insert(entry.clone(), EntryDisks { guest, disk, inputs, digests });
        }
        let (path, inputs_digest) = place.of("inputs", "", &inputs.disk())?;
        Ok(Self { entries, inputs: DiskFile::new(path, "raw"), inputs_digest, watched: place.watched })
    }

    /// For the facts of a record: the inputs disk, and each entry's own by role and entry (`disk LoLA`).
    pub fn all(&self) -> Vec<Disk> {
        let mut all = vec![self.inputs_digest.clone()];
        for (entry, disks) in &self.entries {
            let own = disks.digests.iter().chain(disks.inputs.iter().map(|(_, digest)| digest));
            all.extend(own.map(|disk| Disk { role: role_of(&disk.role, entry), ..disk.clone() }));
        }
        all
    }
}

fn role_of(role: &str, entry: &str) -> String {
    format!("{role} {entry}").trim_end().to_owned()
}

/// Where files are that machines see.
struct Place<'a> {
    staged: Option<&'a Staged<'a>>,
    known: BTreeMap<PathBuf, (PathBuf, Disk)>,
    watched: Watched,
}

impl Place<'_> {
    fn of(&mut self, role: &str, entry: &str, path: &Path) -> Result<(PathBuf, Disk), Failure> {
        if !self.known.contains_key(path) {
            let (place, disk) = match self.staged {
                None => {
                    (path.to_owned(), Disk::of_file(role, path).with_context(|| path.display().to_string())?)
                }
                Some(staged) => {
                    let named = role_of(role, entry);
                    let submitted = staged.submitted.iter().find(|disk| disk.role == named);
                    let submitted = submitted.with_context(|| {
                        format!("{}: the campaign was submitted without this disk", path.display())
                    })?;
                    let place = staged.stage.disk(path, &submitted.sha256).map_err(Failure::usage)?;
                    (place, Disk { role: role.to_owned(), ..submitted.clone() })
                }
            };
            self.watched.add(&place).with_context(|| place.display().to_string())?;
            self.known.insert(path.to_owned(), (place, disk));
        }
        let (place, disk) = &self.known[path];
        Ok((place.clone(), disk.clone()))
    }
}

/// The campaign's words for an original disk as those of the machine.
fn of_original(original: &mcc_campaign::Original) -> Original {
    Original {
        login: Login { user: original.user.clone(), key: original.key.clone() },
        bus: match original.disk {
            mcc_campaign::DiskBus::Virtio => Bus::Virtio,
            mcc_campaign::DiskBus::Ide => Bus::Ide,
        },
        nic: match original.nic {
            mcc_campaign::NicModel::Virtio => Nic::Virtio,
            mcc_campaign::NicModel::E1000 => Nic::E1000,
        },
    }
}
