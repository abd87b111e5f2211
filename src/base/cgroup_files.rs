//! Numbers in the files of a cgroup.

use crate::{FileError, OnFile};
use std::fs;
use std::io;
use std::path::Path;

/// Returns the number that is the content of a file such as `memory.peak`.
///
/// # Errors
/// The file cannot be read, or is not a number.
pub fn number(file: &Path) -> Result<u64, FileError> {
    let text = fs::read_to_string(file).on("read", file)?;
    parsed(Some(&text)).on("find a number in", file)
}

/// Returns the number after `name` in a file of lines `NAME NUMBER` such as `memory.events`.
///
/// # Errors
/// The file cannot be read, or has no such line.
pub fn field(file: &Path, name: &str) -> Result<u64, FileError> {
    let text = fs::read_to_string(file).on("read", file)?;
    let field = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    parsed(field).on("find a number in", file)
}

fn parsed(text: Option<&str>) -> io::Result<u64> {
    let number = text.and_then(|text| text.trim().parse().ok());
    number.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_field_or_number_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("memory.events");
        let message = |result: Result<u64, FileError>| result.unwrap_err().to_string();
        assert!(message(field(&file, "oom")).starts_with("cannot read "));
        fs::write(&file, "oom 3\noom_kill 7\nmax unlimited\n").unwrap();
        assert_eq!([field(&file, "oom").unwrap(), field(&file, "oom_kill").unwrap()], [3, 7]);
        for name in ["kill", "oom_", "max", "low"] {
            assert!(message(field(&file, name)).starts_with("cannot find a number in "), "{name}");
        }
        assert!(message(number(&file)).starts_with("cannot find a number in "));
        fs::write(&file, "4096\n").unwrap();
        assert_eq!(number(&file).unwrap(), 4096);
    }
}
