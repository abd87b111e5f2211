//! Queries of a record: open runs, recorded runs, attempts, samples, counts.

use super::outcome_check::{check_outcome, limits_of};
use super::record_summary::entry_or_default;
use super::{Attempt, Record, Sample, StoreError, samples};
use mcc_base::OnFile;
use mcc_base::names::RunId;
use mcc_campaign::Run;
use rusqlite::params;
use std::collections::BTreeMap;
use std::fmt;

/// Rows of one query: the database is not locked for a whole listing.
const PAGE: usize = 500;

/// Up to `?2` open runs after position `?1`.
pub(super) const OPEN: &str =
    "SELECT position, id, facts, (SELECT count(*) FROM attempts WHERE run = position)
                               FROM runs WHERE recorded = 0 AND position > ?1 ORDER BY position LIMIT ?2";

/// A planned run that has no record yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRun {
    /// Its position in the plan.
    pub position: i64,
    /// The run with the facts of the plan.
    pub run: Run,
    /// Number of attempts at it so far.
    pub attempts: u32,
}

/// A recorded run. Its last attempt is the one that is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRecord {
    /// The run with the facts of the plan.
    pub run: Run,
    /// Number of attempts at it.
    pub attempts: u32,
    /// The last attempt.
    pub last: Attempt,
}

/// Counts of runs and attempts, for `status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Summary {
    /// Planned runs.
    pub planned: u64,
    /// Recorded runs.
    pub recorded: u64,
    /// Recorded runs by the outcome of their last attempt.
    pub outcomes: BTreeMap<String, u64>,
    /// Attempts that another attempt followed or will follow.
    pub retried: u64,
}

impl Record {
    /// The runs that are not recorded yet, in the order of the plan.
    pub fn open_runs(&self) -> impl Iterator<Item = Result<OpenRun, StoreError>> {
        pages(0_i64, move |after| {
            let rows: Vec<(i64, String, String, u32)> = self.rows(OPEN, params![after, PAGE as i64])?;
            self.check_order(after, rows.iter().map(|(position, ..)| position))?;
            rows.into_iter()
                .map(|(position, id, run, attempts)| {
                    let run = self.run_of_row(position, &id, &run)?;
                    Ok((position, OpenRun { position, run, attempts }))
                })
                .collect()
        })
    }

    /// The run at this position of the plan.
    pub fn run_at(&self, position: i64) -> Result<Run, StoreError> {
        let query = "SELECT id, facts FROM runs WHERE position = ?1";
        let found: Vec<(String, String)> = self.rows(query, [position])?;
        let unknown = || StoreError::UnknownRun { run: format!("number {position}") };
        let (id, facts) = found.first().ok_or_else(unknown)?;
        self.run_of_row(position, id, facts)
    }

    /// The planned runs of a model (family), in the order of the plan.
    pub fn runs_of(&self, model: &str) -> Result<Vec<Run>, StoreError> {
        let column = if self.format() < 3 { "json_extract(facts, '$.model')" } else { "model" };
        let query = format!("SELECT position, id, facts FROM runs WHERE {column} = ?1 ORDER BY position");
        let runs: Vec<(i64, String, String)> = self.rows(&query, [model])?;
        runs.iter().map(|(position, id, facts)| self.run_of_row(*position, id, facts)).collect()
    }

    /// The recorded runs with the attempt that is judged, sorted by run id. Its outcome must agree with its measurements.
    pub fn records(&self) -> impl Iterator<Item = Result<RunRecord, StoreError>> {
        let page = "SELECT position, id, runs.facts, number, attempts.facts FROM runs JOIN attempts
                    ON run = position AND number = (SELECT max(number) FROM attempts WHERE run = position)
                    WHERE recorded = 1 AND id > ?1 ORDER BY id LIMIT ?2";
        let limits = limits_of(&self.facts().edition);
        pages(String::new(), move |after| {
            let rows: Vec<(i64, String, String, u32, String)> =
                self.rows(page, params![after, PAGE as i64])?;
            self.check_order(after, rows.iter().map(|(_, id, ..)| id))?;
            rows.into_iter()
                .map(|(position, id, run, attempts, last)| {
                    let run = self.run_of_row(position, &id, &run)?;
                    let last = self.attempt_of_row(&run.id(), attempts, &last)?;
                    check_outcome(&run, &last, limits.as_ref())
                        .map_err(|problem| self.bad_row(format!("attempt {attempts} at {id}"), problem))?;
                    Ok((id, RunRecord { run, attempts, last }))
                })
                .collect()
        })
    }

    /// As `attempts`; without an attempt where the run is not planned.
    ///
    /// # Errors
    /// The database cannot be read, or a row is wrong.
    pub fn attempts_if_planned(&self, run: &RunId) -> Result<Vec<Attempt>, StoreError> {
        match self.attempts(run) {
            Err(StoreError::UnknownRun { .. }) => Ok(Vec::new()),
            attempts => attempts,
        }
    }

    /// Every committed attempt at a run, oldest first.
    ///
    /// # Errors
    /// The run is not planned, the database cannot be read, or a row is wrong.
    pub fn attempts(&self, run: &RunId) -> Result<Vec<Attempt>, StoreError> {
        let (position, ..) = self.find(run)?;
        let query = "SELECT number, facts FROM attempts WHERE run = ?1 ORDER BY number";
        let attempts: Vec<(u32, String)> = self.rows(query, [position])?;
        (1..)
            .zip(&attempts)
            .map(|(expected, (number, text))| self.attempt_in_order(run, expected, *number, text))
            .collect()
    }

    /// An attempt from its row, whose number must be `expected`.
    pub(super) fn attempt_in_order(
        &self,
        run: &RunId,
        expected: u32,
        number: u32,
        facts: &str,
    ) -> Result<Attempt, StoreError> {
        self.check_number(format_args!("attempt {number} at {run}"), expected, number.into())?;
        self.attempt_of_row(run, number, facts)
    }

    /// Checks that the number of an attempt is the one after that of the attempt before it. `row` is the attempt in messages.
    pub(super) fn check_number(
        &self,
        row: impl fmt::Display,
        expected: u32,
        number: i64,
    ) -> Result<(), StoreError> {
        if number == i64::from(expected) {
            return Ok(());
        }
        Err(self.bad_row(row, format!("attempts are numbered 1, 2, ..., and {expected} is missing")))
    }

    /// Checks that the keys of a page ascend from `after`: a damaged table can give the same rows again without end.
    pub(super) fn check_order<'k, K: Ord + 'k>(
        &self,
        after: &'k K,
        keys: impl Iterator<Item = &'k K>,
    ) -> Result<(), StoreError> {
        if std::iter::once(after).chain(keys).is_sorted_by(|key, next| key < next) {
            return Ok(());
        }
        Err(self.bad_row("the table `runs`", "its rows are not in the order of their keys"))
    }

    /// Counts the runs by outcome.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn summary(&self) -> Result<Summary, StoreError> {
        let mut summary = Summary::default();
        let mut attempts = 0;
        self.each_run(false, |_, made, end| {
            summary.planned += 1;
            attempts += made;
            let Some((outcome, _)) = end else { return Ok(()) };
            summary.recorded += 1;
            *entry_or_default(&mut summary.outcomes, outcome) += 1;
            Ok(())
        })?;
        summary.retried = attempts - summary.recorded;
        Ok(summary)
    }

    /// The samples of an attempt, one per second; none if the tool was not started.
    ///
    /// # Errors
    /// The file of the samples cannot be read, or is not the recorded one.
    pub fn samples(&self, attempt: &Attempt) -> Result<Vec<Sample>, StoreError> {
        match &attempt.facts {
            // Format 1 kept them in the facts.
            Some(facts) if !facts.samples.is_empty() => Ok(facts.samples.clone()),
            _ => match self.outputs(attempt).find(|output| output.role == samples::FILE) {
                Some(output) => Ok(output.read(|content| samples::read(content)).on("read", &output.path)?),
                None => Ok(vec![]),
            },
        }
    }
}

/// Lists page by page: `fetch` returns the items that follow a key. Ends at the first error.
pub(super) fn pages<K: Clone, T>(
    start: K,
    mut fetch: impl FnMut(&K) -> Result<Vec<(K, T)>, StoreError>,
) -> impl Iterator<Item = Result<T, StoreError>> {
    let mut after = Some(start);
    let mut page = Vec::new().into_iter();
    std::iter::from_fn(move || {
        if page.len() == 0 {
            match fetch(after.as_ref()?) {
                Ok(rows) => {
                    after = rows.last().map(|(key, _)| key.clone());
                    page = rows.into_iter();
                }
                Err(error) => {
                    after = None;
                    return Some(Err(error));
                }
            }
        }
        page.next().map(|(_, item)| Ok(item))
    })
}
