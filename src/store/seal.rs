//! Seals of attempts. A job of a cluster seals each attempt that it records with the key of its model. So a process that
//! merges its record sees that nobody without the key wrote or changed the attempt.

use super::{Attempt, Record, StoreError};
use hmac::{Hmac, KeyInit, Mac};
use mcc_base::digest::hex;
use mcc_base::names::RunId;
use sha2::Sha256;

/// The secret key of the jobs of a model: any text that nobody can guess.
#[derive(Clone)]
pub struct SealKey(pub String);

impl SealKey {
    /// Returns key and value of the row of the table `facts` that seals an attempt.
    pub fn row(&self, run: &RunId, number: u32, facts: &str, superseded: Option<&str>) -> (String, String) {
        (format!("{}{number}", row_of_number(run)), self.seal(facts, superseded))
    }

    /// Returns the seal of an attempt: of its facts, as the record has them, and of the reason if it is superseded. The facts
    /// name the run and the number of the attempt, and the digests of its outputs.
    fn seal(&self, facts: &str, superseded: Option<&str>) -> String {
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

/// The key of the table `facts` under which the seal of an attempt is, without the number of the attempt.
fn row_of_number(run: &RunId) -> String {
    format!("seal {run} ")
}

impl Record {
    /// Reads the attempts at a run, oldest first, each with the reason if it is superseded. A run that is not planned has none.
    /// One query reads attempts and seals, because others may be able to change the file between two queries.
    ///
    /// # Errors
    /// An attempt has no seal, or not that of the key, or a row is wrong.
    pub(super) fn sealed_attempts(
        &self,
        run: &RunId,
        key: &SealKey,
    ) -> Result<Vec<(Attempt, Option<String>)>, StoreError> {
        let query = "SELECT number, attempts.facts, reason, value
                     FROM runs JOIN attempts ON attempts.run = position
                     LEFT JOIN reruns ON reruns.run = position AND after = number
                     LEFT JOIN facts ON key = ?2 || number WHERE id = ?1 ORDER BY number";
        let rows: Vec<(u32, String, Option<String>, Option<String>)> =
            self.rows(query, [run.as_str(), row_of_number(run).as_str()])?;
        let attempt = |(expected, row): (u32, (u32, String, Option<String>, Option<String>))| {
            let (number, facts, superseded, seal) = row;
            if !seal.is_some_and(|seal| key.fits(&seal, &facts, superseded.as_deref())) {
                let dir = self.dir().to_owned();
                return Err(StoreError::NotSealed { run: run.clone(), number, dir });
            }
            Ok((self.attempt_in_order(run, expected, number, &facts)?, superseded))
        };
        (1..).zip(rows).map(attempt).collect()
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
