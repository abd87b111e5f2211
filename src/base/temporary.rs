//! Temporary folders, and temporary files and folders beside those that they become, in the same file system, so that they can
//! be renamed.

use super::{FileError, OnFile, files};
use std::env;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tempfile::{Builder, NamedTempFile, TempDir};

/// The folder of a path: `.` for a name alone.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Creates a temporary file in the folder of `path`, to be renamed to it. It has the permissions of the umask; by default
/// it would be private.
///
/// # Errors
/// The folder does not exist or cannot be written, or what is at `path` must not be replaced (`files::check_replaceable`).
pub fn file_beside(path: &Path) -> io::Result<NamedTempFile> {
    files::check_replaceable(path)?;
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

/// Renames the folder `new` to `place`. A folder that is there is removed when `new` has its place.
///
/// # Errors
/// A folder cannot be renamed; the earlier one is then in its place. Or the earlier one cannot be removed.
pub fn replace_folder(new: &Path, place: &Path) -> Result<(), FileError> {
    if place.symlink_metadata().is_err() {
        return fs::rename(new, place).on("rename", place);
    }
    let old = folder_beside(place, ".replaced-")?;
    let aside = old.path().join("old");
    fs::rename(place, &aside).on("replace", place)?;
    let renamed = fs::rename(new, place);
    if renamed.is_err() && fs::rename(&aside, place).is_err() {
        let _ = old.keep();
        return renamed.on("replace it; the earlier folder is in", aside);
    }
    renamed.on("replace", place)?;
    old.close().on("remove", aside)
}

/// Why there is no folder for temporary files: the cause of an `io::Error`, so that `is_unusable` finds it.
#[derive(Debug, thiserror::Error)]
#[error("{0}; set TMPDIR to a folder in which you can create files")]
struct Unusable(io::Error);

/// Creates a private temporary folder in `TMPDIR`, or in `/tmp` if it is not set. It is removed with the value.
///
/// # Errors
/// The folder cannot be created there; the error has the remedy.
pub fn folder(prefix: &str) -> Result<TempDir, FileError> {
    folder_in(&env::temp_dir(), prefix)
}

/// `folder` with this folder in the place of `TMPDIR`.
///
/// # Errors
/// As `folder`.
pub fn folder_in(parent: &Path, prefix: &str) -> Result<TempDir, FileError> {
    let folder = Builder::new().prefix(prefix).tempdir_in(parent).map_err(without_temporary_path);
    let unusable = |cause: io::Error| io::Error::new(cause.kind(), Unusable(cause));
    folder.map_err(unusable).on("create a temporary folder in", parent)
}

/// Whether an error is one of `folder`: this host has no usable folder for temporary files.
pub fn is_unusable(error: &io::Error) -> bool {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<Unusable>());
    cause.is_some()
}

/// Removes the path of the temporary file from an error of `tempfile`: it says nothing to a user, whose file has another
/// name.
pub fn without_temporary_path(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((cause, _)) => io::Error::new(error.kind(), cause.to_owned()),
        None => error,
    }
}
