//! Reading recorded outputs.

use super::{Attempt, Record};
use mcc_base::{digest, files};
use std::io::{self, Read};
use std::path::PathBuf;

/// A raw output of a recorded attempt.
#[derive(Clone, Debug)]
pub struct RecordedOutput {
    /// Its name: `stdout`, `stderr`, ...
    pub role: String,
    /// The file.
    pub path: PathBuf,
    /// The digest in the record.
    pub sha256: String,
    bytes: u64,
}

impl RecordedOutput {
    /// Returns what `read` makes of the content. The rest of the file, which `read` did not read, is compared with the digest
    /// too.
    ///
    /// # Errors
    /// The file cannot be read, is not the recorded one, or is a symbolic link, which could lead to a file of others.
    pub fn read<T>(&self, read: impl FnOnce(&mut dyn Read) -> io::Result<T>) -> io::Result<T> {
        // Of a file that was made longer, only one byte more is read, so that its digest differs.
        let most = self.bytes.saturating_add(1);
        let mut file = files::open_own(&self.path)?.take(most);
        let mut content = digest::Reader::new(&mut file);
        let result = read(&mut content)?;
        io::copy(&mut content, &mut io::sink())?;
        let (found, recorded) = (content.digest(), &self.sha256);
        if found == *recorded {
            return Ok(result);
        }
        // The digest of a part would be that of no file.
        let differs = if file.limit() == 0 {
            format!("is longer than the {} bytes of the record", self.bytes)
        } else {
            format!("has sha256 {found}, but the record has {recorded}")
        };
        Err(io::Error::other(format!("it {differs}: it was changed after it was recorded")))
    }
}

impl Record {
    /// The outputs of an attempt of this record, in its order.
    pub fn outputs<'a>(&self, attempt: &'a Attempt) -> impl Iterator<Item = RecordedOutput> + use<'a> {
        let folder = self.outputs_dir(&attempt.run, attempt.number);
        attempt.outputs.iter().map(move |output| RecordedOutput {
            role: output.role.clone(),
            path: folder.join(&output.role),
            sha256: output.sha256.clone(),
            bytes: output.bytes,
        })
    }

    /// The output of an attempt with this role.
    ///
    /// # Errors
    /// The record has no digest of it.
    pub fn output(&self, attempt: &Attempt, role: &str) -> io::Result<RecordedOutput> {
        let missing =
            || io::Error::new(io::ErrorKind::NotFound, format!("the record has no digest of {role}"));
        self.outputs(attempt).find(|output| output.role == role).ok_or_else(missing)
    }
}
