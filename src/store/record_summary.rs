//! Summary of a record: counts by model, entry and examination, durations, running and last attempts. It is made in one
//! pass over the runs and one index of the attempts; the facts of a dozen attempts only are read.

use super::list::Summary;
use super::{Attempt, Hold, Record, StoreError, lock};
use mcc_base::figures::check_ms;
use mcc_base::names::RunId;
use mcc_campaign::{History, Remaining, Run};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;
use std::time::SystemTime;

/// Runs of one page: the database is not locked for the whole pass.
const PAGE: i64 = 10_000;

/// Number, outcome and duration of the attempts at some of the runs, without their facts, which have some kilobytes.
const ENDS: &str = "SELECT run, number, outcome, ms FROM attempts INDEXED BY ends
                    WHERE run BETWEEN ?1 AND ?2 ORDER BY run, number";

/// Number of last attempts, and of last infrastructure failures, in a summary.
const LAST: usize = 8;

/// A summary of a record, or of several records of one campaign.
#[derive(Clone, Debug, Default)]
pub struct RecordSummary {
    models: BTreeMap<String, BTreeMap<String, BTreeMap<String, Counts>>>,
    attempts: u64,
    /// Attempts that have a private folder: running, or left by a killed controller.
    pub running_attempts: Vec<RunningAttempt>,
    /// The last attempts, the newest first.
    pub last: Vec<Attempt>,
    /// The last attempts that ended in an infrastructure failure, the newest first.
    pub infrastructure_failures: Vec<Attempt>,
    /// The entries that are held.
    pub holds: Vec<Hold>,
    /// The controllers that write to the records (process id and host), as far as this host can determine.
    pub controllers: Vec<String>,
}

/// Counts of the runs of one entry in one examination on one model.
#[derive(Clone, Debug, Default)]
struct Counts {
    planned: u64,
    recorded: u64,
    /// Planned runs for which a machine is booted.
    machines: u64,
    /// Recorded runs with a duration, and the sum of their durations in milliseconds.
    timed: (u64, u64),
    outcomes: BTreeMap<String, u64>,
}

/// An attempt that has a private folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunningAttempt {
    /// The run that is tried.
    pub run: RunId,
    /// The number of the attempt.
    pub attempt: u32,
    /// Seconds since its start, by the clocks of the file system and of this host; None: not known.
    pub seconds: Option<u64>,
    #[serde(skip)]
    facts: Option<Run>,
}

/// Counts of some of the runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RunCounts {
    /// Planned runs.
    pub planned: u64,
    /// Recorded runs.
    pub recorded: u64,
    /// Recorded runs by the outcome of their last attempt.
    pub outcomes: BTreeMap<String, u64>,
}

/// The fields of a run's facts that a summary needs.
#[derive(Deserialize)]
struct RunColumns<'a> {
    #[serde(borrow)]
    entry: Cow<'a, str>,
    #[serde(borrow)]
    examination: Cow<'a, str>,
    #[serde(borrow)]
    model: Cow<'a, str>,
    competes: bool,
}

/// The end of an attempt, as one index has it.
struct End {
    /// The position of its run.
    run: i64,
    number: i64,
    outcome: String,
    /// Boot time and wall time.
    ms: Option<u64>,
}

/// The attempt, in messages.
impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "attempt {} at run {}", self.number, self.run)
    }
}

impl RunningAttempt {
    /// The model of the run.
    pub fn model(&self) -> Option<&str> {
        self.facts.as_ref().map(|run| run.model.as_str())
    }
}

impl RecordSummary {
    /// Summarizes the record in `dir`. A controller may write to it meanwhile.
    ///
    /// # Errors
    /// There is no record, or it cannot be read.
    pub fn at(dir: &Path) -> Result<Self, StoreError> {
        Self::at_models(dir, |_| true)
    }

    /// Like `at`, but counts only the models for which `wanted` returns true.
    ///
    /// # Errors
    /// There is no record, or it cannot be read.
    pub fn at_models(dir: &Path, wanted: impl Fn(&str) -> bool) -> Result<Self, StoreError> {
        let record = Record::open_without_instances(dir)?;
        let mut record_summary = Self {
            last: record.last_attempts("1", LAST)?,
            infrastructure_failures: record.last_attempts("outcome = 'infrastructure'", LAST)?,
            running_attempts: record.running_attempts()?,
            holds: record.holds()?.into_iter().filter(|hold| !hold.released).collect(),
            controllers: lock::holder(dir).into_iter().collect(),
            ..Self::default()
        };
        record.each_run(true, |facts, attempts, end| {
            let columns: RunColumns = record.parse("a row of runs", facts)?;
            if wanted(&columns.model) {
                record_summary.attempts += attempts;
                record_summary.count(&columns, end);
            }
            Ok(())
        })?;
        Ok(record_summary)
    }

    /// Returns the models of the record in `dir` with the numbers of their planned and recorded runs. Reads an index
    /// only.
    ///
    /// # Errors
    /// There is no record, or it cannot be read.
    pub fn models_at(dir: &Path) -> Result<BTreeMap<String, (u64, u64)>, StoreError> {
        Record::open_without_instances(dir)?.models()
    }

    fn count(&mut self, columns: &RunColumns, end: Option<(&str, Option<u64>)>) {
        let model = entry_or_default(&mut self.models, &columns.model);
        let counts = entry_or_default(entry_or_default(model, &columns.entry), &columns.examination);
        counts.planned += 1;
        counts.machines += u64::from(columns.competes);
        let Some((outcome, ms)) = end else { return };
        counts.recorded += 1;
        *entry_or_default(&mut counts.outcomes, outcome) += 1;
        if let Some(ms) = ms {
            counts.timed.0 += 1;
            counts.timed.1 += ms;
        }
    }

    /// Adds the summary of another record of the same campaign, with other models.
    pub fn merge(&mut self, other: Self) {
        self.models.extend(other.models);
        self.attempts += other.attempts;
        self.running_attempts.extend(other.running_attempts);
        self.holds.extend(other.holds);
        self.controllers.extend(other.controllers);
        for (mine, others) in
            [(&mut self.last, other.last), (&mut self.infrastructure_failures, other.infrastructure_failures)]
        {
            mine.extend(others);
            mine.sort_by(|a, b| (&b.started_at, &b.run).cmp(&(&a.started_at, &a.run)));
            mine.truncate(LAST);
        }
    }

    /// The counts of all runs.
    pub fn summary(&self) -> Summary {
        let all = RunCounts::sum(self.models.values());
        let retried = self.attempts.saturating_sub(all.recorded);
        Summary { planned: all.planned, recorded: all.recorded, outcomes: all.outcomes, retried }
    }

    /// The counts of each entry.
    pub fn entries(&self) -> BTreeMap<&str, RunCounts> {
        let mut entries: BTreeMap<&str, RunCounts> = BTreeMap::new();
        for (entry, examinations) in self.models.values().flatten() {
            let sum = entries.entry(entry).or_default();
            examinations.values().for_each(|counts| sum.add(counts));
        }
        entries
    }

    /// The counts of one model.
    pub fn model(&self, model: &str) -> RunCounts {
        RunCounts::sum(self.models.get(model))
    }

    /// Adds the durations of the recorded runs to `history`.
    pub fn add_run_times_to(&self, history: &mut History) {
        self.each(|model, entry, examination, counts| {
            history.add_group(examination, entry, model, counts.timed.0, counts.timed.1);
        });
    }

    /// The expected duration of the runs that are not recorded yet, less the time for which attempts have been running.
    pub fn remaining(&self, history: &History) -> Remaining {
        let mut remaining = Remaining::default();
        self.each(|model, entry, examination, counts| {
            let open = counts.planned - counts.recorded;
            let ms = if counts.machines == 0 {
                Some(0)
            } else {
                history.expected_ms_of_group(examination, entry, model)
            };
            remaining.add_group(open, ms);
        });
        for running_attempts in &self.running_attempts {
            let expected = running_attempts.facts.as_ref().and_then(|run| history.expected_ms(run));
            if let (Some(seconds), Some(ms)) = (running_attempts.seconds, expected) {
                remaining.machine_ms =
                    remaining.machine_ms.saturating_sub(ms.min(seconds.saturating_mul(1000)));
            }
        }
        remaining
    }

    fn each(&self, mut take: impl FnMut(&str, &str, &str, &Counts)) {
        for (model, entries) in &self.models {
            for (entry, examinations) in entries {
                for (examination, counts) in examinations {
                    take(model, entry, examination, counts);
                }
            }
        }
    }
}

impl RunCounts {
    fn sum<'m>(models: impl IntoIterator<Item = &'m BTreeMap<String, BTreeMap<String, Counts>>>) -> Self {
        let mut all = Self::default();
        models.into_iter().flat_map(BTreeMap::values).flat_map(BTreeMap::values).for_each(|c| all.add(c));
        all
    }

    fn add(&mut self, counts: &Counts) {
        self.planned += counts.planned;
        self.recorded += counts.recorded;
        for (outcome, count) in &counts.outcomes {
            *entry_or_default(&mut self.outcomes, outcome) += count;
        }
    }
}

/// `entry(..).or_default()` that copies the key only if it is new.
pub(super) fn entry_or_default<'m, T: Default>(map: &'m mut BTreeMap<String, T>, key: &str) -> &'m mut T {
    if !map.contains_key(key) {
        map.insert(key.to_owned(), T::default());
    }
    map.get_mut(key).expect("the key was inserted")
}

impl Record {
    /// Calls `take` for every run in the order of the plan: with its facts (empty without `facts`), the number of
    /// attempts at it, and, if it is recorded, the word of its outcome and its duration in milliseconds.
    pub(super) fn each_run(
        &self,
        facts: bool,
        mut take: impl FnMut(&str, u64, Option<(&str, Option<u64>)>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let facts = if facts { "facts" } else { "''" };
        let runs = format!(
            "SELECT position, recorded, {facts} FROM runs WHERE position > ?1 ORDER BY position LIMIT {PAGE}"
        );
        let ends = match self.format() {
            1 | 2 => {
                "SELECT run, number, outcome,
                        json_extract(facts, '$.facts.boot_ms') + json_extract(facts, '$.facts.wall_ms')
                 FROM attempts WHERE run BETWEEN ?1 AND ?2 ORDER BY run, number"
            }
            _ => ENDS,
        };
        let mut after = 0_i64;
        loop {
            let page: Vec<(i64, bool, String)> = self.rows(&runs, [after])?;
            let (Some(first), Some(last)) = (page.first(), page.last()) else { return Ok(()) };
            self.check_order(&after, page.iter().map(|(position, ..)| position))?;
            let db = self.connection();
            let mut statement = db.prepare_cached(ends).map_err(|source| self.database(source))?;
            let mut rows = statement.query([first.0, last.0]).map_err(|source| self.database(source))?;
            let mut next = || -> rusqlite::Result<Option<End>> {
                let Some(row) = rows.next()? else { return Ok(None) };
                let ms: Option<i64> = row.get(3)?;
                let ms = ms.map(i64::unsigned_abs);
                Ok(Some(End { run: row.get(0)?, number: row.get(1)?, outcome: row.get(2)?, ms }))
            };
            let mut end = next().map_err(|source| self.database(source))?;
            for (position, recorded, facts) in &page {
                let (mut attempts, mut last) = (0_u32, None);
                while let Some(found) = end.take_if(|end| end.run == *position) {
                    attempts += 1;
                    self.check_number(&found, attempts, found.number)?;
                    check_ms([("boot_ms + wall_ms", found.ms.map(|ms| ms / 2))])
                        .map_err(|bad| self.bad_row(&found, bad))?;
                    last = Some(found);
                    end = next().map_err(|source| self.database(source))?;
                }
                let last = last.as_ref().filter(|_| *recorded);
                take(facts, attempts.into(), last.map(|end| (end.outcome.as_str(), end.ms)))?;
            }
            after = last.0;
        }
    }

    /// Adds the durations of the recorded runs to `history`, instance by instance.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn add_run_times_to(&self, history: &mut History) -> Result<(), StoreError> {
        self.each_run(true, |facts, _, end| {
            if let Some((_, Some(ms))) = end {
                history.add(&self.parse("a row of runs", facts)?, ms);
            }
            Ok(())
        })
    }

    /// The last `most` committed attempts that meet an SQL condition, the newest first.
    fn last_attempts(&self, condition: &str, most: usize) -> Result<Vec<Attempt>, StoreError> {
        let query =
            format!("SELECT run, number, facts FROM attempts WHERE {condition} ORDER BY rowid DESC LIMIT ?1");
        let found: Vec<(i64, u32, String)> = self.rows(&query, [most as i64])?;
        let attempt = |(position, number, facts): &(i64, u32, String)| {
            self.attempt_of_row(&self.run_at(*position)?.id(), *number, facts)
        };
        found.iter().map(attempt).collect()
    }

    fn models(&self) -> Result<BTreeMap<String, (u64, u64)>, StoreError> {
        let model = if self.format() < 3 { "json_extract(facts, '$.model')" } else { "model" };
        // Not sum(recorded): a record of others can have any number there.
        let query =
            format!("SELECT {model}, count(*), count(*) FILTER (WHERE recorded) FROM runs GROUP BY 1");
        let rows: Vec<(String, i64, i64)> = self.rows(&query, [])?;
        let counted = |(model, planned, recorded): (String, i64, i64)| {
            (model, (planned.unsigned_abs(), recorded.unsigned_abs()))
        };
        Ok(rows.into_iter().map(counted).collect())
    }

    /// The attempts that have a private folder, in the order of the plan.
    fn running_attempts(&self) -> Result<Vec<RunningAttempt>, StoreError> {
        let folder = self.dir().join("running");
        // Without the folder no run was made. Its content may change while it is listed.
        let Ok(items) = fs::read_dir(&folder) else { return Ok(vec![]) };
        let mut found = vec![];
        for item in items.filter_map(Result::ok) {
            let name = item.file_name();
            let numbers = name.to_str().and_then(|name| name.split_once('-'));
            let Some((Ok(position), Ok(attempt))) =
                numbers.map(|(position, number)| (position.parse::<i64>(), number.parse::<u32>()))
            else {
                continue;
            };
            let begun = item.metadata().and_then(|facts| facts.created().or_else(|_| facts.modified()));
            let seconds = begun.ok().and_then(|begun| SystemTime::now().duration_since(begun).ok());
            let run = match self.run_at(position) {
                Err(StoreError::UnknownRun { .. }) => continue,
                run => run?,
            };
            let seconds = seconds.map(|elapsed| elapsed.as_secs());
            found.push((position, RunningAttempt { run: run.id(), attempt, seconds, facts: Some(run) }));
        }
        found.sort_by_key(|(position, _)| *position);
        Ok(found.into_iter().map(|(_, running_attempts)| running_attempts).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::list::OPEN;
    use super::*;
    use crate::CampaignFacts;

    fn columns<'a>(entry: &'a str, examination: &'a str, model: &'a str) -> RunColumns<'a> {
        RunColumns {
            entry: entry.into(),
            examination: examination.into(),
            model: model.into(),
            competes: true,
        }
    }

    #[test]
    fn recorded_runs_are_counted_whatever_number_marks_them() {
        let folder = tempfile::tempdir().unwrap();
        let record = Record::create_or_open(folder.path(), &CampaignFacts::default()).unwrap();
        let insert = "INSERT INTO runs (position, id, facts, model, recorded)
                      VALUES (1, 'a', '{}', 'm', 9223372036854775807), (2, 'b', '{}', 'm', 1), (3, 'c', '{}', 'm', 0)";
        record.connection().execute(insert, []).unwrap();
        assert_eq!(record.models().unwrap(), BTreeMap::from([("m".to_owned(), (3, 2))]));
    }

    /// These queries must not read the facts of all attempts, nor look up runs one by one.
    #[test]
    fn summaries_of_a_million_runs_use_indices() {
        let folder = tempfile::tempdir().unwrap();
        let record = Record::create_or_open(folder.path(), &CampaignFacts::default()).unwrap();
        for (query, how) in [
            (ENDS, "SEARCH attempts USING COVERING INDEX ends"),
            (OPEN, "SEARCH runs USING INDEX open_runs"),
            (
                "SELECT model, count(*), count(*) FILTER (WHERE recorded) FROM runs GROUP BY 1",
                "SCAN runs USING COVERING INDEX runs_of_model",
            ),
            (
                "SELECT facts FROM runs WHERE model = ?1 ORDER BY position",
                "SEARCH runs USING INDEX runs_of_model",
            ),
            (
                "SELECT run, number, facts FROM attempts WHERE outcome = 'infrastructure' ORDER BY rowid DESC LIMIT 8",
                "SEARCH attempts USING INDEX troubles",
            ),
        ] {
            let query = query.replace("?1", "1").replace("?2", "2");
            let steps: Vec<(i64, i64, i64, String)> =
                record.rows(&format!("EXPLAIN QUERY PLAN {query}"), []).unwrap();
            let plan: Vec<String> = steps.into_iter().map(|(_, _, _, detail)| detail).collect();
            assert!(plan[0].starts_with(how), "{query}: {plan:?}");
            assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE FOR GROUP BY")), "{plan:?}");
        }
    }

    #[test]
    fn summaries_of_shards_add_up() {
        let (mut one, mut other) = (RecordSummary::default(), RecordSummary::default());
        one.count(&columns("a", "X", "M"), Some(("finished", Some(100))));
        one.count(&columns("a", "X", "M"), Some(("cpu-limit", Some(300))));
        one.count(&columns("a", "X", "M"), None);
        one.attempts = 5;
        other.count(&columns("a", "X", "N"), Some(("infrastructure", None)));
        other.count(&columns("b", "X", "N"), None);
        other.attempts = 3;
        one.merge(other);
        let summary = one.summary();
        assert_eq!((summary.planned, summary.recorded, summary.retried), (5, 3, 5));
        assert_eq!(summary.outcomes.len(), 3);
        assert_eq!((one.model("M").recorded, one.model("N").planned), (2, 2));
        assert_eq!(one.entries()["a"].planned, 4);
        let mut history = History::default();
        one.add_run_times_to(&mut history);
        let remaining = one.remaining(&history);
        assert_eq!((remaining.runs, remaining.unknown, remaining.machine_ms), (2, 0, 400));
    }
}
