//! Merges the records of the shards of a campaign that ran on several hosts.

use super::format::INSERT_ATTEMPT;
use super::list::pages;
use super::{Attempt, CampaignFacts, Record, Rerun, StoreError};
use mcc_base::files;
use mcc_base::names::RunId;
use mcc_campaign::InstanceFacts;
use rusqlite::params;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// One record to merge into another.
pub struct RecordPart<'a> {
    /// The record of a shard.
    pub record: &'a Record,
    /// The reason why its attempts are superseded: they are kept and shown, but not judged. None: they are judged.
    pub superseded: Option<&'a str>,
}

/// The changes that a merge made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct MergeCounts {
    /// New attempts.
    pub attempts: u64,
    /// Runs that became recorded.
    pub runs: u64,
}

impl std::ops::AddAssign for MergeCounts {
    fn add_assign(&mut self, other: Self) {
        self.attempts += other.attempts;
        self.runs += other.runs;
    }
}

/// Runs of one transaction.
const BATCH: usize = 500;

/// One run, merged of all parts.
struct MergedRun {
    run: RunId,
    /// Numbered 1, 2, ... over all parts, each with the folder of its outputs.
    attempts: Vec<(Attempt, PathBuf)>,
    reruns: Vec<Rerun>,
    recorded: bool,
}

impl Record {
    /// Merges every attempt of `parts` into this record; `parts` are the records of one model in the order in which they
    /// were made. A second merge, or one with an older copy of a part, changes nothing. After an interruption it can be
    /// repeated.
    ///
    /// # Errors
    /// A part was created with other facts, or has other attempts at a run than this record.
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
            // If no part follows a superseded one, its runs are open.
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

    /// Index in `facts().instances` by name of the instance.
    fn instances_by_name(&self) -> &HashMap<String, usize> {
        let number = |(number, instance): (usize, &InstanceFacts)| (instance.name.to_string(), number);
        self.by_name.get_or_init(|| self.facts().instances.iter().enumerate().map(number).collect())
    }

    /// The id of every run and whether it is recorded, sorted by id.
    fn recorded_flags(&self) -> impl Iterator<Item = Result<(RunId, bool), StoreError>> {
        let page = "SELECT id, recorded FROM runs WHERE id > ?1 ORDER BY id LIMIT ?2";
        pages(String::new(), move |after| {
            let rows: Vec<(String, bool)> = self.rows(page, params![after, BATCH as i64])?;
            rows.into_iter().map(|(id, recorded)| Ok((id.clone(), (self.run_id(id)?, recorded)))).collect()
        })
    }

    /// Whether `merged` has attempts or reruns that this record does not have.
    fn has_new_attempts(&self, merged: &MergedRun, from: &Record) -> Result<bool, StoreError> {
        let here = self.attempts(&merged.run)?;
        let reruns = self.reruns(&merged.run)?;
        let common = here.len().min(merged.attempts.len());
        let same = here.iter().zip(&merged.attempts).all(|(here, (there, _))| here == there)
            // Not by their reasons: another version may word them otherwise.
            && reruns.iter().zip(&merged.reruns).all(|(here, there)| here.after == there.after);
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
                copy_outputs(outputs, &place).map_err(StoreError::io("copy the outputs to", place))?;
                rows.push((position, attempt, self.json("an attempt", attempt)?));
            }
        }
        if !rows.is_empty() {
            // The outputs must be on disk before the transaction; one call syncs all of them.
            let sync = || nix::unistd::syncfs(File::open(self.dir())?).map_err(io::Error::from);
            sync().map_err(StoreError::io("sync", self.dir()))?;
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
}

/// The attempts at a run in all parts, numbered 1, 2, ... over all of them. After a superseded part the run has new
/// retries.
fn merged(parts: &[RecordPart], run: RunId, recorded: bool) -> Result<MergedRun, StoreError> {
    let mut merged = MergedRun { run, attempts: vec![], reruns: vec![], recorded };
    for part in parts {
        let before = merged.attempts.len() as u32;
        let reruns = part.record.reruns(&merged.run)?;
        merged.reruns.extend(
            reruns.into_iter().map(|rerun| Rerun { after: rerun.after.saturating_add(before), ..rerun }),
        );
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

/// Hard-links the files of an attempt, or copies them if both folders are on different file systems. Replaces an
/// incomplete folder of an interrupted merge.
fn copy_outputs(from: &Path, place: &Path) -> io::Result<()> {
    if place.exists() {
        fs::remove_dir_all(place)?;
    }
    fs::create_dir_all(place)?;
    for item in fs::read_dir(from)? {
        let item = item?;
        // Also before a link is made: a pipe or a symbolic link must not become part of the record.
        let mut source = files::open_own(&item.path())?;
        let to = place.join(item.file_name());
        if fs::hard_link(item.path(), &to).is_err() {
            io::copy(&mut source, &mut File::create(&to)?)?;
        }
    }
    Ok(())
}

impl CampaignFacts {
    /// The facts for a record with the runs of one model.
    pub fn shard(&self, model: &str) -> Self {
        let instances = self.instances.iter().filter(|instance| instance.family == model).cloned().collect();
        Self { instances, ..self.clone() }
    }

    /// Returns the differences from the same part of `whole`, as parts of a message; `instances` has the index of each
    /// instance in `whole`, by name.
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
