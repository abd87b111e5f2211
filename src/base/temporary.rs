//! Temporary files and folders beside those that they become, in the same file system, so that they can be renamed.

use super::{FileError, OnFile};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::{Builder, NamedTempFile, TempDir};

/// The folder of a path: `.` for a name alone.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Creates a temporary file in the folder of `path`. It has the permissions of the umask; by default it would be private.
///
/// # Errors
/// The folder does not exist or cannot be written.
pub fn file_beside(path: &Path) -> io::Result<NamedTempFile> {
    let file = Builder::new().permissions(Permissions::from_mode(0o666)).tempfile_in(folder_of(path));
    file.map_err(without_temporary_path)
}

/// Creates a temporary folder beside `path`, and the folder of `path` if it does not exist. It has the permissions of the
/// umask.
///
/// # Errors
/// A folder cannot be created.
pub fn folder_beside(path: &Path, prefix: &str) -> Result<TempDir, FileError> {
    let parent = folder_of(path);
    fs::create_dir_all(parent).on("create", parent)?;
    let folder = Builder::new().prefix(prefix).permissions(Permissions::from_mode(0o777)).tempdir_in(parent);
    folder.map_err(without_temporary_path).on("create a folder in", parent)
}

/// Removes the path of the temporary file from an error of `tempfile`: it says nothing to a user, whose file has another
/// name.
fn without_temporary_path(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((cause, _)) => io::Error::new(error.kind(), cause.to_owned()),
        None => error,
    }
}
