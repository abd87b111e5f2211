//! Disks by digest: where the one that a run saw lies now.

use super::{ArchiveError, io_at};
use mcc_base::digest;
use mcc_store::{Attempt, Disk, Record};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// Files that may be disks; each is digested at most once, and only where its size fits one that is sought.
#[derive(Default)]
pub struct DiskFinder {
    files: Vec<(PathBuf, u64)>,
    digests: BTreeMap<PathBuf, String>,
}

impl DiskFinder {
    /// A file, or all files of a folder; what is not there is no error, the disk sought may lie elsewhere.
    pub fn add_folder(&mut self, place: &Path) {
        let found = WalkDir::new(place).max_depth(1).sort_by_file_name().into_iter().flatten();
        for file in found.filter(|file| !file.path_is_symlink() || file.path() == place) {
            if let Some(facts) = file.path().metadata().ok().filter(std::fs::Metadata::is_file) {
                self.files.push((file.into_path(), facts.len()));
            }
        }
    }

    /// The file with the digest of `disk`.
    pub fn find(&mut self, disk: &Disk) -> Result<PathBuf, ArchiveError> {
        for (path, _) in self.files.iter().filter(|(_, bytes)| *bytes == disk.bytes) {
            if !self.digests.contains_key(path) {
                let (sha256, _) = digest::file(path).map_err(io_at(path))?;
                self.digests.insert(path.clone(), sha256);
            }
            if self.digests[path] == disk.sha256 {
                return Ok(path.clone());
            }
        }
        let Disk { role, sha256, bytes } = disk.clone();
        Err(ArchiveError::DiskMissing { role, sha256, bytes })
    }
}

/// Every disk that a run of the entries in `stays` saw, once, sorted by digest, and where it lies: in `given`, beside the
/// record, or where the machines had it.
pub fn disks_of(
    record: &Record,
    stays: &BTreeSet<String>,
    given: &[PathBuf],
) -> Result<Vec<(Disk, PathBuf)>, ArchiveError> {
    let (mut wanted, mut seen) = (BTreeMap::new(), BTreeSet::new());
    for run in record.records() {
        let run = run?;
        if stays.contains(run.run.entry.as_str()) {
            seen.extend(machine_files(&run.last));
            wanted.extend(run.last.disks.into_iter().map(|disk| (disk.sha256.clone(), disk)));
        }
    }
    let mut places = DiskFinder::default();
    let beside = record.dir().join("inputs");
    given.iter().chain([&beside]).chain(&seen).for_each(|place| places.add_folder(place));
    wanted.into_values().map(|disk| Ok((disk.clone(), places.find(&disk)?))).collect()
}

/// Where the machine of an attempt had its files, as its arguments say.
pub fn machine_files(attempt: &Attempt) -> Vec<PathBuf> {
    if let Ok(domain) = roxmltree::Document::parse(&attempt.machine.join("\n")) {
        return domain_files(&domain);
    }
    let arguments = attempt.machine.windows(2).filter_map(|pair| match pair[0].as_str() {
        "-kernel" | "-initrd" => Some(pair[1].as_str()),
        "-drive" => pair[1].split_once("file=").map(|(_, file)| file),
        _ => None,
    });
    // QEMU's own escape: a comma in a name is written twice.
    arguments.map(|file| PathBuf::from(file.replace(",,", ","))).collect()
}

/// The same of a machine that libvirt started.
fn domain_files(domain: &roxmltree::Document) -> Vec<PathBuf> {
    let sources = domain.descendants().filter(|node| node.has_tag_name("source"));
    // The overlay's says nothing but its file.
    let disks = sources.filter(roxmltree::Node::has_children).filter_map(|source| source.attribute("file"));
    let name = ("http://libvirt.org/schemas/domain/qemu/1.0", "arg");
    let arguments = domain.descendants().filter(|node| node.has_tag_name(name));
    let arguments: Vec<&str> = arguments.filter_map(|argument| argument.attribute("value")).collect();
    let boots = arguments.windows(2).filter(|pair| ["-kernel", "-initrd"].contains(&pair[0]));
    disks.chain(boots.map(|pair| pair[1])).map(PathBuf::from).collect()
}
