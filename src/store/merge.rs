//! Records brought together: of the shards of a campaign that ran on several hosts.

use super::format::INSERT_ATTEMPT;
use super::list::pages;
use super::{Attempt, CampaignFacts, Record, Rerun, StoreError};
use mcc_base::names::RunId;
use mcc_campaign::InstanceFacts;
use rusqlite::params;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// One record to bring into another, with those it replaces.
pub struct RecordPart<'a> {
    pub record: &'a Record,
    /// Why its attempts do not count any more; they are kept and shown. None: they count.
    pub superseded: Option<&'a str>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct MergeCounts {
    /// Attempts that were not here before.
    pub attempts: u64,
    /// Runs that are recorded here only now.
    pub runs: u64,
}

impl std::ops::AddAssign for MergeCounts {
    fn add_assign(&mut self, other: Self) {
        self.attempts += other.attempts;
        self.runs += other.runs;
    }
}

/// Runs in one transaction.
const BATCH: usize = 500;

/// What the parts say of one run.
struct MergedRun {
    run: RunId,
    /// Numbered through, each with the folder its outputs lie in.
    attempts: Vec<(Attempt, PathBuf)>,
    reruns: Vec<Rerun>,
    recorded: bool,
}

impl Record {
    /// Brings every attempt of `parts` here, the parts of one model in the order they were made. Doing it again,
    /// or with an older copy of a part, changes nothing. Killed in between, it is done again.
    ///
    /// # Errors
    /// A part was begun with something else, or has other attempts at a run than the ones that are here.
    pub fn merge_parts(&self, parts: &[RecordPart]) -> Result<MergeCounts, StoreError> {
        self.writable()?;
        for part in parts {
            let changes = part.record.facts().part_of(self.facts(), self.instances_by_name());
            if !changes.is_empty() {
                return Err(StoreError::Changed { dir: part.record.dir().to_owned(), changes });
            }
        }
        let Some(last) = parts.last() else { return Ok(MergeCounts::default()) };
        let mut counts = MergeCounts::default();
        let mut batch = vec![];
        for run in last.record.recorded_flags() {
            let (run, recorded) = run?;
            // A superseded part that nothing follows yet leaves its runs open.
            let merged = merged(parts, run, recorded && last.superseded.is_none())?;
            if self.has_new_attempts(&merged, last.record)? {
                batch.push(merged);
            }
            if batch.len() == BATCH {
                counts += self.merge_batch(&std::mem::take(&mut batch))?;
            }
        }
        counts += self.merge_batch(&batch)?;
        Ok(counts)
    }

    /// The numbers of the instances of the facts.
    fn instances_by_name(&self) -> &HashMap<String, usize> {
        let number = |(number, instance): (usize, &InstanceFacts)| (instance.name.to_string(), number);
        self.by_name.get_or_init(|| self.facts().instances.iter().enumerate().map(number).collect())
    }

    /// Every run with its id and whether it is recorded, by id.
    fn recorded_flags(&self) -> impl Iterator<Item = Result<(RunId, bool), StoreError>> {
        let page = "SELECT id, recorded FROM runs WHERE id > ?1 ORDER BY id LIMIT ?2";
        pages(String::new(), move |after| {
            let rows: Vec<(String, bool)> =
                self.rows(page, params![after, BATCH as i64], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.into_iter().map(|(id, recorded)| Ok((id.clone(), (self.run_id(id)?, recorded)))).collect()
        })
    }

    /// Whether there is anything of a run that is not here yet.
    fn has_new_attempts(&self, merged: &MergedRun, from: &Record) -> Result<bool, StoreError> {
        let here = self.attempts(&merged.run)?;
        let reruns = self.reruns(&merged.run)?;
        let common = here.len().min(merged.attempts.len());
        let same = here.iter().zip(&merged.attempts).all(|(here, (there, _))| here == there)
            && reruns.iter().zip(&merged.reruns).all(|(here, there)| here == there);
        match same {
            true => Ok(merged.attempts.len() > common || merged.reruns.len() > reruns.len()),
            false => Err(StoreError::Conflict { run: merged.run.clone(), dir: from.dir().to_owned() }),
        }
    }

    fn merge_batch(&self, batch: &[MergedRun]) -> Result<MergeCounts, StoreError> {
        let mut counts = MergeCounts::default();
        let mut rows = vec![];
        for merged in batch {
            let (position, here) = self.find(&merged.run)?;
            for (attempt, outputs) in &merged.attempts[here as usize..] {
                let place = self.outputs_dir(&attempt.run, attempt.number);
                copy_outputs(outputs, &place).map_err(|source| StoreError::Io {
                    action: "bring the outputs to",
                    path: place,
                    source,
                })?;
                rows.push((position, attempt, self.json("an attempt", attempt)?));
            }
        }
        if !rows.is_empty() {
            // On the disk before they are true, all at once.
            let root = File::open(self.dir()).map_err(|source| self.unsynced(source))?;
            nix::unistd::syncfs(&root).map_err(|errno| self.unsynced(errno.into()))?;
        }
        self.write(|transaction| {
            for (position, attempt, facts) in &rows {
                transaction.prepare_cached(INSERT_ATTEMPT)?.execute((
                    position,
                    attempt.number,
                    attempt.outcome.word(),
                    facts,
                ))?;
            }
            for merged in batch {
                for rerun in &merged.reruns {
                    transaction.execute(
                        "INSERT INTO reruns (run, after, reason)
                         SELECT position, ?2, ?3 FROM runs WHERE id = ?1 ON CONFLICT DO NOTHING",
                        (merged.run.as_str(), rerun.after, &rerun.reason),
                    )?;
                }
                let changed = transaction
                    .prepare_cached("UPDATE runs SET recorded = ?2 WHERE id = ?1 AND recorded <> ?2")?
                    .execute((merged.run.as_str(), merged.recorded))?;
                counts.runs += (changed * usize::from(merged.recorded)) as u64;
            }
            Ok(())
        })?;
        counts.attempts = rows.len() as u64;
        Ok(counts)
    }

    fn unsynced(&self, source: io::Error) -> StoreError {
        StoreError::Io { action: "sync", path: self.dir().to_owned(), source }
    }
}

/// The attempts at a run in all parts, numbered through; where a part is superseded, a new count of retries
/// begins after it.
fn merged(parts: &[RecordPart], run: RunId, recorded: bool) -> Result<MergedRun, StoreError> {
    let mut merged = MergedRun { run, attempts: vec![], reruns: vec![], recorded };
    for part in parts {
        let before = merged.attempts.len() as u32;
        let reruns = part.record.reruns(&merged.run)?;
        merged.reruns.extend(reruns.into_iter().map(|rerun| Rerun { after: rerun.after + before, ..rerun }));
        for attempt in part.record.attempts(&merged.run)? {
            let outputs = part.record.outputs_dir(&attempt.run, attempt.number);
            let number = attempt.number + before;
            merged.attempts.push((Attempt { number, ..attempt }, outputs));
        }
        let after = merged.attempts.len() as u32;
        if let (Some(reason), true) = (part.superseded, after > before) {
            merged.reruns.push(Rerun { after, reason: reason.to_owned() });
        }
    }
    Ok(merged)
}

/// Links the files of an attempt where both lie on one file system, else copies them; a folder that a killed
/// one left half is replaced.
fn copy_outputs(from: &Path, place: &Path) -> io::Result<()> {
    if place.exists() {
        fs::remove_dir_all(place)?;
    }
    fs::create_dir_all(place)?;
    for item in fs::read_dir(from)? {
        let item = item?;
        let to = place.join(item.file_name());
        if fs::hard_link(item.path(), &to).is_err() {
            fs::copy(item.path(), &to)?;
        }
    }
    Ok(())
}

impl CampaignFacts {
    /// The facts of the record of one model's runs.
    pub fn shard(&self, model: &str) -> Self {
        let instances = self.instances.iter().filter(|instance| instance.family == model).cloned().collect();
        Self { instances, ..self.clone() }
    }

    /// How these differ from a part of `whole`, in words; `instances` are those of the whole, by name.
    fn part_of(&self, whole: &Self, instances: &HashMap<String, usize>) -> Vec<String> {
        let mut changes = self.changes_since(whole);
        let differs = |mine: &&InstanceFacts| {
            instances.get(mine.name.as_str()).is_none_or(|&number| whole.instances[number] != **mine)
        };
        let differing = self.instances.iter().filter(differs);
        changes.extend(differing.map(|instance| format!("instance {} differs", instance.name)));
        changes
    }
}
