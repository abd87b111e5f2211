//! Opens recorded runs again.

use super::{Record, StoreError};
use mcc_base::names::RunId;
use mcc_campaign::Run;

/// A decision to repeat a run, of an organizer or because it was disturbed. Its attempts so far are superseded: kept and
/// shown, but not judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rerun {
    /// Number of the last superseded attempt.
    pub after: u32,
    /// Why the run is repeated, in words of an organizer or of the harness.
    pub reason: String,
}

impl Record {
    /// Opens the runs again that are recorded as infrastructure failures: each gets one more attempt (R2). Returns their
    /// number.
    ///
    /// # Errors
    /// The record is read-only, or the database cannot be written.
    pub fn reopen_infrastructure(&self) -> Result<usize, StoreError> {
        self.writable()?;
        let mut reopened = 0;
        self.write(|transaction| {
            reopened = transaction.execute(
                "UPDATE runs SET recorded = 0 WHERE recorded = 1 AND 'infrastructure' =
                     (SELECT outcome FROM attempts WHERE run = position ORDER BY number DESC LIMIT 1)",
                [],
            )?;
            Ok(())
        })?;
        Ok(reopened)
    }

    /// Returns whether a run for which `wanted` returns true is open, and is already to be repeated for this reason: the
    /// runs of an interrupted rerun.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn has_open_rerun(&self, wanted: impl Fn(&Run) -> bool, reason: &str) -> Result<bool, StoreError> {
        let query = "SELECT position, id, facts FROM runs
                     WHERE recorded = 0 AND EXISTS (SELECT 1 FROM reruns WHERE run = position AND reason = ?1)";
        let open: Vec<(i64, String, String)> = self.rows(query, [reason])?;
        for (position, id, facts) in open {
            if wanted(&self.run_of_row(position, &id, &facts)?) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Opens the recorded runs again for which `wanted` returns true. Each is repeated with new retries, and its last
    /// attempt is judged. Returns their ids in the order of the plan.
    ///
    /// # Errors
    /// The record is read-only, or the database cannot be written.
    pub fn rerun(&self, wanted: impl Fn(&Run) -> bool, reason: &str) -> Result<Vec<RunId>, StoreError> {
        self.writable()?;
        let query = "SELECT position, id, facts FROM runs WHERE recorded = 1 ORDER BY position";
        let recorded: Vec<(i64, String, String)> = self.rows(query, [])?;
        let mut chosen = vec![];
        for (position, id, facts) in recorded {
            let run = self.run_of_row(position, &id, &facts)?;
            if wanted(&run) {
                chosen.push((position, run.id()));
            }
        }
        self.open_again(chosen.iter().map(|(position, _)| *position), reason)?;
        Ok(chosen.into_iter().map(|(_, id)| id).collect())
    }

    fn open_again(&self, positions: impl IntoIterator<Item = i64>, reason: &str) -> Result<(), StoreError> {
        self.write(|transaction| {
            let mut supersede = transaction.prepare(
                "INSERT INTO reruns (run, after, reason)
                 SELECT ?1, max(number), ?2 FROM attempts WHERE run = ?1",
            )?;
            let mut open = transaction.prepare("UPDATE runs SET recorded = 0 WHERE position = ?1")?;
            for position in positions {
                supersede.execute((position, reason))?;
                open.execute([position])?;
            }
            Ok(())
        })
    }

    /// The decisions to repeat a run, oldest first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn reruns(&self, run: &RunId) -> Result<Vec<Rerun>, StoreError> {
        if self.format() < 2 {
            return Ok(vec![]);
        }
        let query =
            "SELECT after, reason FROM reruns JOIN runs ON run = position WHERE id = ?1 ORDER BY after";
        let rows: Vec<(u32, String)> = self.rows(query, [run.as_str()])?;
        Ok(rows.into_iter().map(|(after, reason)| Rerun { after, reason }).collect())
    }
}
