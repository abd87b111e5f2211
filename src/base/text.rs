//! Text files: read with a size limit, written atomically.

use super::files;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Size limit of a file. The file of a campaign with thousands of models has a hundredth of it.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// Reads a UTF-8 file.
///
/// # Errors
/// The file cannot be read, is not regular, is larger than 64 MiB, or is not UTF-8. The error does not contain the path.
pub fn read(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    files::open(path)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::other(format!(
            "it is larger than {MAX_FILE_BYTES} bytes; check that it is the right file"
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        io::Error::other(format!("line {line} is not UTF-8; save it as UTF-8 text"))
    })
}

/// Writes a temporary file in the same folder, syncs it to the disk and renames it to `path`: no process sees an
/// incomplete file.
///
/// # Errors
/// The temporary file cannot be written, synced or renamed.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let temp_file =
        tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o644)).tempfile_in(folder);
    let mut temp_file = temp_file.map_err(without_temporary_path)?;
    temp_file.write_all(text.as_bytes())?;
    temp_file.as_file().sync_all()?;
    temp_file.persist(path)?;
    Ok(())
}

/// Removes the path of the temporary file from an error of `tempfile`: it says nothing to a user, whose file has another
/// name.
pub fn without_temporary_path(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((cause, _)) => io::Error::new(error.kind(), cause.to_owned()),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_writing_has_no_temporary_name() {
        let error = write(Path::new("/proc/self/nowhere.csv"), "x").unwrap_err();
        assert!(!error.to_string().contains('/'), "{error}");
        assert!(files::is_wrong_path(&error), "{error}");
    }

    #[test]
    fn an_endless_or_wrongly_encoded_text_is_refused() {
        let endless = read(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(endless.contains("a character device"), "{endless}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("campaign.toml");
        fs::File::create(&path).unwrap().set_len(MAX_FILE_BYTES + 1).unwrap();
        let long = read(&path).unwrap_err().to_string();
        assert!(long.contains("larger than 67108864 bytes"), "{long}");
        std::fs::write(&path, b"edition = 1\n# \xe9t\xe9\n").unwrap();
        assert_eq!(read(&path).unwrap_err().to_string(), "line 2 is not UTF-8; save it as UTF-8 text");
    }
}
