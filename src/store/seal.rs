//! Seals of attempts. A job of a cluster seals each attempt that it records with the key of its model. So a process that
//! merges its record sees that nobody without the key wrote or changed the attempt.

use super::{Attempt, Record, StoreError};
use hmac::{Hmac, KeyInit, Mac};
use mcc_base::digest::hex;
use mcc_base::names::RunId;
use rusqlite::OptionalExtension;
use sha2::Sha256;

/// The secret key of the jobs of a model: any text that nobody can guess.
#[derive(Clone)]
pub struct SealKey(pub String);

impl SealKey {
    /// Returns the seal of an attempt: of its facts, as the record has them, and of the reason if it is superseded. The facts
    /// name the run and the number of the attempt, and the digests of its outputs.
    pub(super) fn seal(&self, facts: &str, superseded: Option<&str>) -> String {
        hex(&self.mac(facts, superseded).finalize().into_bytes())
    }

    /// Whether `seal` is that of the attempt; the time to find out does not depend on the place of a difference.
    fn fits(&self, seal: &str, facts: &str, superseded: Option<&str>) -> bool {
        let pairs = seal.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
        let bytes = pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect::<Option<Vec<u8>>>();
        bytes.is_some_and(|bytes| self.mac(facts, superseded).verify_slice(&bytes).is_ok())
    }

    fn mac(&self, facts: &str, superseded: Option<&str>) -> Hmac<Sha256> {
        let mut mac = Hmac::new_from_slice(self.0.as_bytes()).expect("a key can have any length");
        // With its length, so that each text has one meaning.
        mac.update(&(facts.len() as u64).to_le_bytes());
        mac.update(facts.as_bytes());
        mac.update(&[u8::from(superseded.is_some())]);
        mac.update(superseded.unwrap_or_default().as_bytes());
        mac
    }
}

/// The key of the table `facts` under which the seal of an attempt is.
pub(super) fn row(run: &RunId, number: u32) -> String {
    format!("seal {run} {number}")
}

impl Record {
    /// The attempts at a run, oldest first, with the reason if they are superseded. What the seals are compared with is what is
    /// returned: the file may change between two queries, because others may be able to write to it.
    ///
    /// # Errors
    /// The run is not planned, an attempt has no seal, or not that of the key, or a row is wrong.
    pub(super) fn sealed_attempts(
        &self,
        run: &RunId,
        key: &SealKey,
    ) -> Result<Vec<(Attempt, Option<String>)>, StoreError> {
        let (position, ..) = self.find(run)?;
        let query = "SELECT number, facts, reason FROM attempts
                     LEFT JOIN reruns ON reruns.run = attempts.run AND after = number
                     WHERE attempts.run = ?1 ORDER BY number";
        let rows: Vec<(u32, String, Option<String>)> = self.rows(query, [position])?;
        for (number, facts, superseded) in &rows {
            let seal = self
                .connection()
                .query_row("SELECT value FROM facts WHERE key = ?1", [row(run, *number)], |row| row.get(0))
                .optional()
                .map_err(|source| self.database(source))?;
            if !seal.is_some_and(|seal: String| key.fits(&seal, facts, superseded.as_deref())) {
                let dir = self.dir().to_owned();
                return Err(StoreError::NotSealed { run: run.clone(), number: *number, dir });
            }
        }
        let attempts =
            self.attempts_of_rows(run, rows.iter().map(|(number, facts, _)| (*number, &**facts)))?;
        Ok(attempts.into_iter().zip(rows.into_iter().map(|(.., superseded)| superseded)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_fits_one_attempt_and_one_key() {
        let key = SealKey("0123456789abcdef".into());
        let seal = key.seal("facts", None);
        assert!(key.fits(&seal, "facts", None));
        assert!(!SealKey("0123456789abcdee".into()).fits(&seal, "facts", None));
        for (facts, superseded) in
            [("fact", None), ("facts", Some("")), ("facts", Some("s")), ("fact", Some("s"))]
        {
            assert!(!key.fits(&seal, facts, superseded), "{facts} {superseded:?}");
        }
        for seal in ["", "0", "é", &seal[..62], &seal[1..], &format!("{seal}00")] {
            assert!(!key.fits(seal, "facts", None), "{seal}");
        }
    }
}
