//! Finds the disks of runs by their digests.

use super::ArchiveError;
use mcc_base::names::EntryName;
use mcc_base::{OnFile, digest};
use mcc_store::{Attempt, Disk, INSTANCE_DISK, Record};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// Files that may be disks. The digest of a file is computed at most once, and only if its size is that of a disk.
#[derive(Default)]
pub struct DiskFinder {
    files: HashSet<PathBuf>,
    /// The files whose digest is not computed yet, by size.
    unread: HashMap<u64, VecDeque<PathBuf>>,
    /// The first file of each size and digest: an archive can have many disks, and many files of one size.
    read: HashMap<(u64, String), PathBuf>,
}

impl DiskFinder {
    /// Adds a file, or all files of a folder. A missing file is not an error: the disk may be in another folder.
    pub fn add_folder(&mut self, place: &Path) {
        let found = WalkDir::new(place).max_depth(1).sort_by_file_name().into_iter().flatten();
        for file in found.filter(|file| !file.path_is_symlink() || file.path() == place) {
            let facts = file.path().metadata().ok().filter(std::fs::Metadata::is_file);
            // A record of others can name files of /proc, which have no size. To read them can have effects.
            if let Some(bytes) = facts.map(|facts| facts.len()).filter(|bytes| *bytes > 0) {
                let path = file.into_path();
                if self.files.insert(path.clone()) {
                    self.unread.entry(bytes).or_default().push_back(path);
                }
            }
        }
    }

    /// Returns the file with the digest of `disk`, which the runs of `entry` used, if that is known.
    ///
    /// # Errors
    /// There is none, or a file cannot be read.
    pub fn find(&mut self, disk: &Disk, entry: Option<&EntryName>) -> Result<PathBuf, ArchiveError> {
        let Disk { role, sha256, bytes } = disk.clone();
        let wanted = (bytes, sha256.clone());
        loop {
            if let Some(path) = self.read.get(&wanted) {
                return Ok(path.clone());
            }
            let Some(path) = self.unread.get_mut(&bytes).and_then(VecDeque::pop_front) else { break };
            let (found, _) = digest::file(&path).on("read", &path)?;
            self.read.entry((bytes, found)).or_insert(path);
        }
        Err(ArchiveError::DiskMissing { role, sha256, bytes, entry: entry.cloned() })
    }
}

/// Returns every disk of the machines of `entries`, sorted by digest, with its path. Searches `given`, the folder
/// `inputs` of the record, and the paths in the arguments of the machines.
///
/// # Errors
/// A disk is not found, or the record cannot be read.
pub fn disks_of(
    record: &Record,
    entries: &BTreeSet<String>,
    given: &[PathBuf],
) -> Result<Vec<(Disk, PathBuf)>, ArchiveError> {
    let (mut disks, mut machine_paths) = (BTreeMap::new(), BTreeSet::new());
    for run in record.records() {
        let run = run?;
        if entries.contains(run.run.entry.as_str()) {
            machine_paths.extend(machine_files(&run.last));
            let kept = run.last.disks.into_iter().filter(|disk| disk.role != INSTANCE_DISK);
            disks.extend(kept.map(|disk| (disk.sha256.clone(), (disk, run.run.entry.clone()))));
        }
    }
    let mut finder = DiskFinder::default();
    let inputs = record.dir().join("inputs");
    // A folder is no disk, and a record can name one of this host in any number of ways.
    let machine_paths = machine_paths.iter().filter(|path| !path.is_dir());
    given.iter().chain([&inputs]).chain(machine_paths).for_each(|path| finder.add_folder(path));
    let find = |(disk, entry)| {
        let path = finder.find(&disk, Some(&entry))?;
        Ok((disk, path))
    };
    disks.into_values().map(find).collect()
}

/// Largest description of a domain of libvirt that is read; real ones have some 5 KB. Time grows with the square of the number
/// of attributes.
const MAX_DOMAIN_BYTES: usize = 64 << 10;

/// Returns the paths of disks, kernel and initrd in the arguments of the machine of an attempt. Those of a record of others
/// may be any files of this host.
pub fn machine_files(attempt: &Attempt) -> Vec<PathBuf> {
    let machine = attempt.machine.join("\n");
    if machine.len() <= MAX_DOMAIN_BYTES
        && let Ok(domain) = roxmltree::Document::parse(&machine)
    {
        return domain_files(&domain);
    }
    let arguments = attempt.machine.windows(2).filter_map(|pair| match pair[0].as_str() {
        "-kernel" | "-initrd" => Some(pair[1].clone()),
        "-blockdev" => {
            let node: serde_json::Value = serde_json::from_str(&pair[1]).ok()?;
            let file = node["filename"].as_str().filter(|file| !file.starts_with("/dev/fdset/"))?;
            Some(file.to_owned())
        }
        // Records of earlier versions. QEMU escapes a comma in a name by a second one.
        "-drive" => pair[1].split_once("file=").map(|(_, file)| file.replace(",,", ",")),
        _ => None,
    });
    arguments.map(PathBuf::from).collect()
}

/// `machine_files` of a machine that libvirt started.
fn domain_files(domain: &roxmltree::Document) -> Vec<PathBuf> {
    let sources = domain.descendants().filter(|node| node.has_tag_name("source"));
    // The source of the overlay, which has no children, is not a disk of the campaign.
    let disks = sources.filter(roxmltree::Node::has_children).filter_map(|source| source.attribute("file"));
    let name = ("http://libvirt.org/schemas/domain/qemu/1.0", "arg");
    let arguments = domain.descendants().filter(|node| node.has_tag_name(name));
    let arguments: Vec<&str> = arguments.filter_map(|argument| argument.attribute("value")).collect();
    let boots = arguments.windows(2).filter(|pair| ["-kernel", "-initrd"].contains(&pair[0]));
    disks.chain(boots.map(|pair| pair[1])).map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Without an index, the last loop would take ten minutes.
    #[test]
    fn of_equal_files_the_first_is_found_and_none_is_read_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = |number: u32| folder.path().join(number.to_string());
        (0..1000).for_each(|number| fs::write(path(number), format!("{:04}", number / 2)).unwrap());
        let mut finder = DiskFinder::default();
        [path(3), path(2)].iter().for_each(|path| finder.add_folder(path));
        finder.add_folder(folder.path());
        let disk =
            |content: &str, bytes| Disk { role: "disk".to_owned(), sha256: digest::bytes(content), bytes };
        assert_eq!(finder.find(&disk("0001", 4), None).unwrap(), path(3));
        finder.find(&disk("0001", 5), None).unwrap_err();
        let missing = disk("none", 4);
        finder.find(&missing, None).unwrap_err();
        (0..1000).for_each(|number| fs::remove_file(path(number)).unwrap());
        assert_eq!(finder.find(&disk("0002", 4), None).unwrap(), path(4));
        (0..1_000_000).for_each(|_| assert!(finder.find(&missing, None).is_err()));
    }
}
