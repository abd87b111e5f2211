//! Seals of attempts. A job of a cluster seals each attempt that it records with the key of its model. So a process that
//! merges its record sees that nobody without the key wrote or changed the attempt.

use super::{Record, StoreError};
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
    /// Checks the seals of all attempts at a run.
    ///
    /// # Errors
    /// An attempt has no seal, or not that of the key.
    pub(super) fn check_seals(&self, run: &RunId, key: &SealKey) -> Result<(), StoreError> {
        let query = "SELECT number, attempts.facts, reason FROM runs JOIN attempts ON attempts.run = position
                     LEFT JOIN reruns ON reruns.run = position AND after = number WHERE id = ?1";
        let attempts: Vec<(u32, String, Option<String>)> = self.rows(query, [run.as_str()])?;
        for (number, facts, superseded) in attempts {
            let seal = self
                .connection()
                .query_row("SELECT value FROM facts WHERE key = ?1", [row(run, number)], |row| row.get(0))
                .optional()
                .map_err(|source| self.database(source))?;
            if !seal.is_some_and(|seal: String| key.fits(&seal, &facts, superseded.as_deref())) {
                let dir = self.dir().to_owned();
                return Err(StoreError::NotSealed { run: run.clone(), number, dir });
            }
        }
        Ok(())
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
