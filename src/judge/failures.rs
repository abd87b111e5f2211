//! The failure classes of recorded runs (docs/campaign.md). They change no points, so files of a judgement do not have them.

use crate::input::record::{RecordError, each_recorded, has_output};
use crate::input::run_results::{RunResults, RunRow};
use mcc_base::names::EntryName;
use mcc_base::ordered_map::all_cores;
use mcc_campaign::benchkit::{FailureClasses, FoundFailure};
use mcc_store::{Attempt, Record, RunRecord};
use std::collections::{BTreeMap, HashMap};
use std::io::BufReader;

/// Reads the failure classes of the runs of a record, by the patterns of its campaign.
pub struct FailureReader<'r> {
    record: &'r Record,
    declared: BTreeMap<EntryName, FailureClasses>,
    built_in: FailureClasses,
}

impl<'r> FailureReader<'r> {
    /// Compiles the patterns of the recorded campaign.
    ///
    /// # Errors
    /// A pattern is not valid.
    pub fn new(record: &'r Record) -> Result<Self, RecordError> {
        let declared =
            FailureClasses::of_campaign(&record.facts().campaign).map_err(RecordError::FailureClass)?;
        let built_in = FailureClasses::new(&[]).map_err(RecordError::FailureClass)?;
        Ok(Self { record, declared, built_in })
    }

    /// Returns what the outputs of an attempt at a run of `entry` say; None where they do not count.
    ///
    /// # Errors
    /// An output cannot be read.
    pub fn read(&self, entry: &str, attempt: &Attempt) -> Result<Option<FoundFailure>, RecordError> {
        if !has_output(&attempt.outcome) {
            return Ok(None);
        }
        let classes = self.declared.get(entry).unwrap_or(&self.built_in);
        let mut found = FoundFailure::default();
        for stream in ["stdout", "stderr"] {
            if let Ok(output) = self.record.output(attempt, stream) {
                output
                    .read(|content| classes.read(stream, BufReader::new(content), &mut found))
                    .map_err(|source| RecordError::unread(attempt, output.path, source))?;
            }
        }
        Ok(Some(found))
    }

    /// Calls `add` for each recorded run whose output counts, in the order of the record. Outputs are read on all cores.
    ///
    /// # Errors
    /// The record or an output cannot be read.
    pub fn each(&self, mut add: impl FnMut(RunRecord, FoundFailure) + Send) -> Result<(), RecordError> {
        let read = |recorded: RunRecord| {
            self.read(&recorded.run.entry, &recorded.last).map(|found| (recorded, found))
        };
        each_recorded(self.record, all_cores(), read, |(recorded, found)| {
            if let Some(found) = found {
                add(recorded, found);
            }
            Ok(())
        })
    }
}

impl RunResults {
    /// Adds the failure classes of the runs of the record that was read.
    ///
    /// # Errors
    /// An output cannot be read, or a pattern of the campaign is not valid.
    pub fn add_failure_classes(&mut self, record: &Record) -> Result<(), RecordError> {
        let Self { entries, instances, examinations, rows, .. } = self;
        let name = |row: &RunRow| {
            let (entry, instance) =
                (&entries.names[row.entry as usize], &instances.names[row.instance as usize]);
            format!("{entry}/{instance}/{}", examinations[row.examination as usize].0)
        };
        let numbers: HashMap<String, usize> = rows.iter().map(name).zip(0..).collect();
        FailureReader::new(record)?.each(|recorded, found| {
            if let (Some(row), Some(_)) = (numbers.get(recorded.last.run.as_str()), &found.class) {
                rows[*row].facts.get_or_insert_default().failure_class = found.class;
            }
        })
    }
}
