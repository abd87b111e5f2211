//! Executes recorded runs again.

use super::{CampaignDisks, CampaignRunner, EntryDisks, Host, RunSettings, RunnerError};
use mcc_archive::DiskFinder;
use mcc_base::OnFile;
use mcc_base::names::RunId;
use mcc_campaign::benchkit::Answers;
use mcc_campaign::{History, Hosts};
use mcc_edition::Edition;
use mcc_judge::record::{answers_of, edition_of, run_hint_of};
use mcc_store::{Attempt, Disk, Outcome, Record, RunRecord};
use mcc_vm::{DiskFile, Guest, HeldFile, HeldFiles};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use walkdir::WalkDir;

/// A recorded run with the disks of its machine.
pub struct Replay<'a> {
    record: &'a Record,
    edition: Edition,
    original: RunRecord,
    answers: Option<Answers>,
    disks: CampaignDisks,
}

impl<'a> Replay<'a> {
    /// The run `id` of `record`. Its disks are searched in `given` and in the folder of the record. Recorded paths are not
    /// opened: a record may come from others, and name any file of this host.
    ///
    /// # Errors
    /// The run is not recorded, cannot be replayed, or a disk is missing.
    pub fn from_record(record: &'a Record, id: &RunId, given: &[PathBuf]) -> Result<Self, RunnerError> {
        let edition = edition_of(record)?;
        let original = recorded(record, id)?;
        let examination = &original.run.examination;
        if edition.examination(examination).is_none() {
            return Err(RunnerError::Refused(format!(
                "the edition in the record does not have the examination {examination}, so no answers can be compared; \
                 use the original archive"
            )));
        }
        let answers = answers_of(&edition, record, &original)?;
        let disks = find_disks(given, record.dir(), &original)?;
        Ok(Self { record, edition, original, answers, disks })
    }

    /// The recorded attempt and its answers.
    pub fn original(&self) -> (&Attempt, Option<&Answers>) {
        (&self.original.last, self.answers.as_ref())
    }

    /// The files of the machine with their digests: kernel and initrd, which are code of the record's author, then the
    /// disks.
    pub fn files(&self) -> Vec<(PathBuf, Disk)> {
        let of_entry = |entry: &EntryDisks| {
            let Guest::Agent { kernel, initrd } = &entry.guest else { return vec![] };
            let digest = |role: &str| entry.digests.iter().find(|disk| disk.role == role).cloned();
            let files =
                [(kernel, digest("kernel")), (initrd, digest("initrd")), (&entry.disk.path, digest("disk"))];
            files.into_iter().filter_map(|(path, digest)| Some((path.clone(), digest?))).collect()
        };
        let mut files: Vec<_> = self.disks.entries.values().flat_map(of_entry).collect();
        files.push((self.disks.inputs.path.clone(), self.disks.inputs_digest.clone()));
        files
    }

    /// Executes the run once, as a campaign of one run with its record in `folder`.
    ///
    /// # Errors
    /// The run cannot be executed, or ends as an infrastructure failure.
    pub fn run(&self, host: &Host, folder: &Path) -> Result<(Attempt, Option<Answers>), RunnerError> {
        let run = &self.original.run;
        let replayed = Record::create_or_open(folder, self.record.facts())?;
        replayed.plan_runs(std::slice::from_ref(run))?;
        let settings = RunSettings {
            record: &replayed,
            edition: &self.edition,
            hosts: &hosts_of(&self.record.facts().campaign),
            restore: self.original.last.marks.iter().any(|mark| mark == "restored"),
            disks: self.disks.clone(),
            host,
            file: Path::new("replay"),
            jobs: Some(1),
            marks: vec![],
            history: History::default(),
            run_attempt: &crate::executor::attempt,
            free_bytes: &mcc_vm::free_bytes_of_folder,
            stop: &AtomicBool::new(false),
        };
        CampaignRunner::new(settings)?.run(&|_| true, &|_| {})?;
        let Some(replay) = replayed.records().next().transpose()? else {
            let run = run.id();
            return Err(RunnerError::Failed(format!(
                "the replay of {run} has no recorded attempt; try again"
            )));
        };
        if let Outcome::Infrastructure { state, reason } = replay.last.outcome {
            return Err(RunnerError::Failed(format!(
                "the replay of {} ended in an infrastructure failure while {state}: {reason}; try again",
                run.id()
            )));
        }
        let answers = answers_of(&self.edition, &replayed, &replay)?;
        Ok((replay.last, answers))
    }
}

/// Returns the recorded run.
///
/// # Errors
/// It is not recorded, or had no machine that can be started again.
fn recorded(record: &Record, id: &RunId) -> Result<RunRecord, RunnerError> {
    let wanted = |run: &RunRecord| run.run.id() == *id;
    let Some(run) = record.records().find(|run| run.as_ref().map_or(true, wanted)).transpose()? else {
        let hint = run_hint_of(record, id)?;
        return Err(RunnerError::Refused(format!(
            "no run {id} is recorded; give ENTRY/INSTANCE/EXAMINATION; `mcc-harness export RECORD --classes FILE` lists the \
             runs with an output{hint}"
        )));
    };
    let reason = if !run.run.competes {
        "the entry did not compete in it, so it had no machine"
    } else if run.last.outcome.is_infrastructure() {
        "all its attempts ended in infrastructure failures, so it has no result to compare with"
    } else if !run.last.disks.iter().any(|disk| disk.role == "kernel") {
        "it used an original disk over ssh, and its private key is not in the record"
    } else {
        return Ok(run);
    };
    Err(RunnerError::Refused(format!("{id} cannot be replayed: {reason}")))
}

/// Levels of folders below a given one in which disks are searched, such as `images/lola`.
const SEARCH_DEPTH: usize = 3;

/// Searches disks in `given` and in folders of a record.
pub(super) fn disk_finder(given: &[PathBuf], own: &[PathBuf]) -> DiskFinder {
    let mut places = DiskFinder::default();
    for place in given {
        let folders = WalkDir::new(place).max_depth(SEARCH_DEPTH).sort_by_file_name().into_iter().flatten();
        for folder in folders.filter(|item| item.depth() == 0 || item.file_type().is_dir()) {
            places.add_folder(folder.path());
        }
    }
    // A link in an unpacked archive leads to a place that its author chose.
    own.iter().filter(|place| !place.is_symlink()).for_each(|place| places.add_folder(place));
    places
}

fn find_disks(given: &[PathBuf], folder: &Path, original: &RunRecord) -> Result<CampaignDisks, RunnerError> {
    let attempt = &original.last;
    let mut places = disk_finder(given, &[folder.join("disks"), folder.join("inputs")]);
    let mut held_files = HeldFiles::default();
    let mut find = |role: &str| -> Result<(PathBuf, Disk), RunnerError> {
        let disk = attempt.disks.iter().find(|disk| disk.role == role);
        let missing = || RunnerError::Refused(format!("the record has no {role} of this run"));
        let disk = disk.ok_or_else(missing)?;
        let found = places.find(disk, None)?;
        let path = fs::canonicalize(&found).on("find", found)?;
        // It is digested again when it is open, because it was found by its name.
        let (file, found, _) = HeldFile::open_digested(&path).on("read", &path)?;
        if found != disk.sha256 {
            Err(io::Error::other("it was changed meanwhile")).on("use", &path)?;
        }
        held_files.add(&path, file);
        Ok((path, disk.clone()))
    };
    let (kernel, kernel_digest) = find("kernel")?;
    let (initrd, initrd_digest) = find("initrd")?;
    let (disk, disk_digest) = find("disk")?;
    let (inputs, inputs_digest) = find("inputs")?;
    // They are those of the record's author: a header could name other files of this host.
    let (disk, inputs) = (DiskFile::new(disk, "qcow2"), DiskFile::new(inputs, "raw"));
    mcc_vm::check_disk(&disk)?;
    mcc_vm::check_disk(&inputs)?;
    let entry = EntryDisks {
        guest: Guest::Agent { kernel, initrd },
        disk,
        inputs: None,
        digests: vec![disk_digest, kernel_digest, initrd_digest],
    };
    let entries = BTreeMap::from([(original.run.entry.clone(), entry)]);
    Ok(CampaignDisks { entries, inputs, inputs_digest, held_files })
}

/// The section `[hosts]` of the recorded campaign, so that the replay has the same timeouts.
fn hosts_of(campaign: &str) -> Hosts {
    let table: Option<toml::Table> = campaign.parse().ok();
    table.and_then(|table| table.get("hosts")?.clone().try_into().ok()).unwrap_or_default()
}
