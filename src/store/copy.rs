//! Copies of a record for publication: the same content gives the same bytes.

use super::format::{INSERT_ATTEMPT, begin, connect};
use super::{CampaignFacts, Record, StoreError};
use rusqlite::{OpenFlags, params};
use std::path::Path;

impl Record {
    /// Writes `dir/record.db` with `facts` instead of the record's own facts, and with the runs for whose id `keep`
    /// returns true, their attempts and their reruns.
    ///
    /// # Errors
    /// `dir` does not exist or has a record already, or a database cannot be read or written.
    pub fn copy(
        &self,
        dir: &Path,
        facts: &CampaignFacts,
        keep: &dyn Fn(&str) -> bool,
    ) -> Result<(), StoreError> {
        let path = dir.join("record.db");
        let failed = |source| StoreError::database(&path, source);
        let mut copy = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
        begin(&mut copy, facts).map_err(failed)?;
        let db = self.connection();
        let mut rows = || -> rusqlite::Result<()> {
            let version: String =
                db.query_row("SELECT value FROM facts WHERE key = 'mcc-harness'", [], |row| row.get(0))?;
            let into = copy.transaction()?;
            into.execute("UPDATE facts SET value = ?1 WHERE key = 'mcc-harness'", [version])?;
            let mut runs = db.prepare("SELECT position, id, facts, recorded FROM runs ORDER BY position")?;
            // Not the column ms, which formats 1 and 2 do not have.
            let mut attempts = db.prepare(
                "SELECT number, outcome, facts,
                        json_extract(facts, '$.facts.boot_ms') + json_extract(facts, '$.facts.wall_ms')
                 FROM attempts WHERE run = ?1 ORDER BY number",
            )?;
            // Format 1 has no such table.
            let mut reruns = match self.format() {
                1 => None,
                _ => Some(db.prepare("SELECT after, reason FROM reruns WHERE run = ?1 ORDER BY after")?),
            };
            let mut rows = runs.query([])?;
            while let Some(row) = rows.next()? {
                let (position, id): (i64, String) = row.try_into()?;
                if !keep(&id) {
                    continue;
                }
                let (run, recorded): (String, i64) = (row.get(2)?, row.get(3)?);
                into.prepare_cached(
                    "INSERT INTO runs (position, id, facts, recorded, model)
                     VALUES (?1, ?2, ?3, ?4, json_extract(?3, '$.model'))",
                )?
                .execute(params![position, id, run, recorded])?;
                let mut made = attempts.query([position])?;
                while let Some(row) = made.next()? {
                    let (number, outcome, text, ms): (i64, String, String, Option<i64>) = row.try_into()?;
                    into.prepare_cached(INSERT_ATTEMPT)?
                        .execute(params![position, number, outcome, text, ms])?;
                }
                let Some(reruns) = &mut reruns else { continue };
                let mut superseded = reruns.query([position])?;
                while let Some(row) = superseded.next()? {
                    let (after, reason): (i64, String) = row.try_into()?;
                    into.execute(
                        "INSERT INTO reruns (run, after, reason) VALUES (?1, ?2, ?3)",
                        params![position, after, reason],
                    )?;
                }
            }
            into.commit()
        };
        rows().map_err(failed)
    }
}
