//! Merges the records of the shards of a campaign that ran on several hosts.

use super::campaign_facts::InstanceChanges;
use super::format::INSERT_ATTEMPT;
use super::{Attempt, CampaignFacts, Record, Rerun, SealKey, StoreError};
use mcc_base::names::RunId;
use mcc_base::{OnFile, digest, files};
use mcc_campaign::Run;
use nix::unistd::geteuid;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
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
const BATCH: usize = 1000;

/// One run, merged of all parts.
struct MergedRun {
    run: RunId,
    /// Its position in this record.
    position: i64,
    /// Number of attempts that this record has.
    collected: u32,
    /// Numbered 1, 2, ... over all parts, each with the folder of its outputs.
    attempts: Vec<(Attempt, PathBuf)>,
    reruns: Vec<Rerun>,
    recorded: bool,
}

impl Record {
    /// Merges the attempts at the runs of `model` in `parts` into this record; `parts` are the records of its jobs, which
    /// have the key, in the order in which they were made. A second merge, or one with an older copy of a part, changes
    /// nothing. After an interruption it can be repeated.
    ///
    /// # Errors
    /// A part was created with other facts, has a run of another model, an attempt without a seal, an output with another
    /// digest, other attempts at a run than this record, or further ones at a run that is recorded here, unless they follow a
    /// superseded part.
    pub fn merge_parts(
        &self,
        model: &str,
        key: &SealKey,
        parts: &[RecordPart],
    ) -> Result<MergeCounts, StoreError> {
        self.writable()?;
        let Some(last) = parts.last() else { return Ok(MergeCounts::default()) };
        let planned: Vec<RunId> = self.runs_of(model)?.iter().map(Run::id).collect();
        for part in parts {
            part.record.check_integrity()?;
            self.check_part(model, &planned, part.record)?;
        }
        let mut counts = MergeCounts::default();
        let mut batch = vec![];
        for run in planned {
            let (position, collected, recorded) = self.find(&run)?;
            let merged = merged(parts, (run, position, collected), key, self.facts().retries)?;
            let supersedes = parts.len() > 1 || last.superseded.is_some();
            if self.has_news(&merged, last.record, recorded && !supersedes)? {
                batch.push(merged);
            }
            if batch.len() == BATCH {
                counts += self.merge_batch(&std::mem::take(&mut batch))?;
            }
        }
        counts += self.merge_batch(&batch)?;
        Ok(counts)
    }

    /// Checks that a part has the facts of this campaign with the instances of the model, and no run but those `planned`.
    fn check_part(&self, model: &str, planned: &[RunId], part: &Record) -> Result<(), StoreError> {
        let dir = || part.dir().to_owned();
        let expected = self.facts().shard(model);
        let mut changes = part.facts().changes_since(&expected);
        let mut instances = InstanceChanges::now(&part.facts().instances);
        expected.instances.iter().for_each(|instance| instances.stored(instance));
        changes.extend(instances.changes());
        if !changes.is_empty() {
            return Err(StoreError::Changed { dir: dir(), changes });
        }
        let planned: HashSet<&str> = planned.iter().map(RunId::as_str).collect();
        for (id,) in part.rows::<(String,)>("SELECT id FROM runs ORDER BY position", [])? {
            if !planned.contains(id.as_str()) {
                return Err(StoreError::OtherModel {
                    run: part.run_id(id)?,
                    model: model.to_owned(),
                    dir: dir(),
                });
            }
        }
        Ok(())
    }

    /// Whether `merged` has attempts or reruns that this record does not have. `is_final`: the run is recorded here, and the
    /// organizers superseded none of its attempts.
    fn has_news(&self, merged: &MergedRun, from: &Record, is_final: bool) -> Result<bool, StoreError> {
        // A run without attempts has no reruns.
        if merged.collected == 0 && !is_final {
            return Ok(!merged.attempts.is_empty());
        }
        let here = self.attempts(&merged.run)?;
        let reruns = self.reruns(&merged.run)?;
        let (run, dir) = (merged.run.clone(), from.dir().to_owned());
        let same = here.iter().zip(&merged.attempts).all(|(here, (there, _))| here == there)
            // Not by their reasons: another version may word them otherwise.
            && reruns.iter().zip(&merged.reruns).all(|(here, there)| here.after == there.after);
        if !same {
            return Err(StoreError::Conflict { run, dir });
        }
        // An older copy of what was collected.
        if here.len() > merged.attempts.len() || reruns.len() > merged.reruns.len() {
            return Ok(false);
        }
        let has_news = merged.attempts.len() > here.len() || merged.reruns.len() > reruns.len();
        if has_news && is_final { Err(StoreError::Supersedes { run, dir }) } else { Ok(has_news) }
    }

    fn merge_batch(&self, batch: &[MergedRun]) -> Result<MergeCounts, StoreError> {
        let mut counts = MergeCounts::default();
        let mut rows = vec![];
        for merged in batch {
            for (attempt, outputs) in merged.attempts.iter().skip(merged.collected as usize) {
                let place = self.outputs_dir(&attempt.run, attempt.number);
                copy_outputs(attempt, outputs, (self.dir(), &place))?;
                rows.push((merged.position, attempt, self.json("an attempt", attempt)?));
            }
        }
        if !rows.is_empty() {
            // The outputs must be on disk before the transaction; one call syncs all of them.
            let sync = || nix::unistd::syncfs(File::open(self.dir())?).map_err(io::Error::from);
            sync().on("sync", self.dir())?;
        }
        self.write(|transaction| {
            for (position, attempt, facts) in &rows {
                transaction.prepare_cached(INSERT_ATTEMPT)?.execute((
                    position,
                    attempt.number,
                    attempt.outcome.word(),
                    facts,
                    attempt.total_ms(),
                ))?;
            }
            for merged in batch {
                for rerun in &merged.reruns {
                    let insert =
                        "INSERT INTO reruns (run, after, reason) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
                    let row = (merged.position, rerun.after, &rerun.reason);
                    transaction.prepare_cached(insert)?.execute(row)?;
                }
                let changed = transaction
                    .prepare_cached("UPDATE runs SET recorded = ?2 WHERE position = ?1 AND recorded <> ?2")?
                    .execute((merged.position, merged.recorded))?;
                counts.runs += (changed * usize::from(merged.recorded)) as u64;
            }
            Ok(())
        })?;
        counts.attempts = rows.len() as u64;
        Ok(counts)
    }
}

/// The attempts at a run, which has a position and collected attempts here, in all parts, numbered 1, 2, ... over all of
/// them. After a superseded part the run has new retries. Whether it is recorded follows from its attempts: a part could
/// state anything.
fn merged(
    parts: &[RecordPart],
    (run, position, collected): (RunId, i64, u32),
    key: &SealKey,
    retries: u32,
) -> Result<MergedRun, StoreError> {
    let (attempts, reruns) = Default::default();
    let mut merged = MergedRun { run, position, collected, attempts, reruns, recorded: false };
    for part in parts {
        let before = merged.attempts.len() as u32;
        // A job that was just started has not planned its runs yet.
        let attempts = part.record.sealed_attempts(&merged.run, key)?;
        let made = attempts.len() as u32;
        for (attempt, superseded) in attempts {
            let outputs = part.record.outputs_dir(&attempt.run, attempt.number);
            let number = attempt.number + before;
            merged.reruns.extend(superseded.map(|reason| Rerun { after: number, reason }));
            merged.attempts.push((Attempt { number, ..attempt }, outputs));
        }
        if let (Some(reason), true) = (part.superseded, made > 0) {
            let after = before + made;
            // Its last attempt may be superseded already.
            merged.reruns.retain(|rerun| rerun.after != after);
            merged.reruns.push(Rerun { after, reason: reason.to_owned() });
        }
    }
    let superseded = merged.reruns.last().map_or(0, |rerun| rerun.after);
    let last = merged.attempts.last().map(|(attempt, _)| attempt);
    merged.recorded = last.is_some_and(|last| last.attempts_left(superseded, retries) == 0);
    Ok(merged)
}

/// Hard-links the outputs of an attempt, or copies them, and compares their digests with the recorded ones. Replaces an
/// incomplete folder of an interrupted merge.
fn copy_outputs(attempt: &Attempt, from: &Path, (record, place): (&Path, &Path)) -> Result<(), StoreError> {
    files::clear_own_place(record, place).on("replace", place)?;
    files::create_own_folders(record, place).on("create", place)?;
    for output in &attempt.outputs {
        let (path, to) = (from.join(&output.role), place.join(&output.role));
        copy_output(&path, &to, output.bytes).on("copy the output", &path)?;
        let (found, _) = digest::own_file(&to).on("read", &to)?;
        if found != output.sha256 {
            return Err(StoreError::ChangedOutput { path, found, recorded: output.sha256.clone() });
        }
    }
    Ok(())
}

/// Hard-links a file of this user that no other can change. A file that others can change, or of another file system, is
/// copied; of a longer one than recorded only one byte more, so that its digest differs.
fn copy_output(path: &Path, to: &Path, bytes: u64) -> io::Result<()> {
    // A pipe or a symbolic link must not become part of the record.
    let source = files::open_own(path)?;
    let facts = source.metadata()?;
    let is_own = facts.uid() == geteuid().as_raw() && facts.mode() & 0o022 == 0;
    if is_own && facts.len() <= bytes && fs::hard_link(path, to).is_ok() {
        let linked = fs::symlink_metadata(to)?;
        if (linked.dev(), linked.ino()) == (facts.dev(), facts.ino()) {
            return Ok(());
        }
        // Another file got the name after it was opened.
        fs::remove_file(to)?;
    }
    io::copy(&mut source.take(bytes.saturating_add(1)), &mut File::create_new(to)?).map(drop)
}

impl CampaignFacts {
    /// The facts for a record with the runs of one model.
    pub fn shard(&self, model: &str) -> Self {
        let Self { campaign, settings, edition, disks, entries, instances, retries } = self;
        let instances = instances.iter().filter(|instance| instance.family == model);
        // Not `..self.clone()`: that would clone all instances, which are by far the largest part.
        Self {
            campaign: campaign.clone(),
            settings: settings.clone(),
            edition: edition.clone(),
            disks: disks.clone(),
            entries: entries.clone(),
            instances: instances.cloned().collect(),
            retries: *retries,
        }
    }
}
