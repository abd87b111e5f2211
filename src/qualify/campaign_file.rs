//! The campaign file of a qualification, in the folder that contains its record.

use super::QualifyError;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// First line of a campaign file that `qualify` wrote; only such a file is replaced.
const FIRST_LINE: &str = "# Written by `mcc-harness qualify`, which replaces this file.\n";

/// Writes the campaign to `RESULTS.toml` beside `out`, and returns that path.
///
/// # Errors
/// `out` has no file name; a file of that name exists that `qualify` did not write; it cannot be read or written.
pub(super) fn write(out: &Path, campaign: &str) -> Result<PathBuf, QualifyError> {
    let mut name = out.file_name().ok_or_else(|| QualifyError::Unnamed(out.to_owned()))?.to_owned();
    name.push(".toml");
    let file = out.with_file_name(name);
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(QualifyError::io(folder))?;
    }
    let text = format!("{FIRST_LINE}{campaign}");
    match File::create_new(&file) {
        Ok(mut new) => new.write_all(text.as_bytes()).map_err(QualifyError::io(&file))?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let existing = fs::read(&file).map_err(QualifyError::io(&file))?;
            // Version 0.1 wrote no first line.
            if !existing.starts_with(FIRST_LINE.as_bytes()) && existing != campaign.as_bytes() {
                return Err(QualifyError::Foreign(file));
            }
            fs::write(&file, text).map_err(QualifyError::io(&file))?;
        }
        Err(error) => return Err(QualifyError::io(&file)(error)),
    }
    Ok(file)
}
