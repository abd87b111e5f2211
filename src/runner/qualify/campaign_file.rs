//! The campaign file of a qualification or of an image of a comparison, in the folder that contains its record.

use super::QualifyError;
use mcc_base::{OnFile, text};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Writes the campaign of a command to `RESULTS.toml` beside `out`, and returns that path. Only a file that the same command
/// wrote is replaced.
///
/// # Errors
/// `out` has no file name; a file of that name exists that the command did not write; it cannot be read or written.
pub(super) fn write(out: &Path, campaign: &str, command: &'static str) -> Result<PathBuf, QualifyError> {
    let first_line = format!("# Written by `mcc-harness {command}`, which replaces this file.\n");
    let unnamed = || {
        QualifyError::Refused(format!("{}: has no folder name; give a folder name with --out", out.display()))
    };
    let mut name = out.file_name().ok_or_else(unnamed)?.to_owned();
    name.push(".toml");
    let file = out.with_file_name(name);
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).on("create", folder)?;
    }
    let content = format!("{first_line}{campaign}");
    match File::create_new(&file) {
        Ok(mut new) => new.write_all(content.as_bytes()).on("write", &file)?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let existing = text::read(&file).on("read", &file)?;
            // Version 0.1 wrote no first line.
            if !existing.starts_with(&first_line) && existing != campaign {
                return Err(QualifyError::Refused(format!(
                    "{}: `{command}` writes its campaign to this file, but the existing file is not from `{command}`; use \
                     another --out",
                    file.display()
                )));
            }
            fs::write(&file, content).on("write", &file)?;
        }
        Err(error) => Err(error).on("create", &file)?,
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_in_the_place_of_the_campaign_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("A");
        nix::unistd::mkfifo(&folder.path().join("A.toml"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let said = write(&out, "campaign", "compare-runs").unwrap_err().to_string();
        assert!(said.contains("A.toml: it is a pipe"), "{said}");
    }
}
