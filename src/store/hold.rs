//! Entries whose runs wait for a decision of an organizer.

use super::{Record, StoreError};
use mcc_base::names::{EntryName, RunId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An entry whose open runs are not started, because its runs seem to fail for one reason on this host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// The entry.
    pub entry: EntryName,
    /// The name of the host.
    pub host: String,
    /// What was observed.
    pub reason: String,
    /// Whether an organizer decided that the entry runs nevertheless: it is not held again.
    #[serde(default)]
    pub released: bool,
}

impl Record {
    /// The entries that are held or were released, sorted by name.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn holds(&self) -> Result<Vec<Hold>, StoreError> {
        let rows: Vec<(String,)> =
            self.rows("SELECT value FROM facts WHERE key GLOB 'held *' ORDER BY key", [])?;
        rows.iter().map(|(text,)| self.parse("a held entry", text)).collect()
    }

    /// Writes a hold in place of an earlier one of the entry.
    ///
    /// # Errors
    /// The record is read-only, or the database cannot be written.
    pub fn hold(&self, hold: &Hold) -> Result<(), StoreError> {
        self.writable()?;
        let (key, value) = (format!("held {}", hold.entry), self.json("a held entry", hold)?);
        let insert = "INSERT INTO facts (key, value) VALUES (?1, ?2)
                      ON CONFLICT DO UPDATE SET value = excluded.value";
        self.write(|transaction| transaction.execute(insert, (key, value)).map(drop))
    }

    /// Removes the holds of the entries for which `wanted` is true, also released ones.
    ///
    /// # Errors
    /// The record is read-only, or the database cannot be written.
    pub fn remove_holds(&self, wanted: impl Fn(&EntryName) -> bool) -> Result<(), StoreError> {
        self.writable()?;
        for hold in self.holds()?.into_iter().filter(|hold| wanted(&hold.entry)) {
            let key = format!("held {}", hold.entry);
            self.write(|transaction| {
                transaction.execute("DELETE FROM facts WHERE key = ?1", [key]).map(drop)
            })?;
        }
        Ok(())
    }

    /// The bytes of the files that the attempts of each entry left in this record.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn kept_bytes(&self) -> Result<BTreeMap<EntryName, u64>, StoreError> {
        let query =
            "SELECT substr(runs.id, 1, instr(runs.id, '/') - 1), json_extract(output.value, '$.bytes')
                     FROM attempts JOIN runs ON run = position,
                          json_each(attempts.facts, '$.outputs') AS output";
        let mut kept = BTreeMap::new();
        for (entry, bytes) in self.rows::<(String, i64)>(query, [])? {
            let bad = |bad| StoreError::content(&self.path, "an entry", serde::de::Error::custom(bad));
            let sum: &mut u64 = kept.entry(entry.parse().map_err(bad)?).or_default();
            *sum = sum.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        }
        Ok(kept)
    }

    /// The attempts that were superseded for a reason with this prefix: run, the reason, and the CPU of the host.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn superseded_for(&self, prefix: &str) -> Result<Vec<(RunId, String, String)>, StoreError> {
        let query = "SELECT id, reason, coalesce(json_extract(attempts.facts, '$.host.cpu'), '')
                     FROM reruns JOIN runs ON reruns.run = position
                     JOIN attempts ON attempts.run = position AND number = after
                     WHERE substr(reason, 1, length(?1)) = ?1 ORDER BY position, after";
        let rows: Vec<(String, String, String)> = self.rows(query, [prefix])?;
        rows.into_iter().map(|(id, reason, cpu)| Ok((self.run_id(id)?, reason, cpu))).collect()
    }
}
