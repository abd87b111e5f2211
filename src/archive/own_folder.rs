//! Folders that other users of the host can change while they are read: what is read is then not what was verified.

use super::ArchiveError;
use mcc_base::{OnFile, files};
use std::fs;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// Checks that only this user and root can change an unpacked archive, and returns its path without links. A signature
/// says nothing about content that another user can change after its digest was compared.
///
/// # Errors
/// Another user can change a file of it, or put another folder in its place. Or a file cannot be read.
pub fn own_folder(folder: &Path) -> Result<PathBuf, ArchiveError> {
    let folder = fs::canonicalize(folder).on("read", folder)?;
    let others = |path: &Path| {
        let reason = "another user can change it while it is read, so the signature proves nothing: give the packed \
                      archive, or a copy in a folder that only you can write to";
        ArchiveError::Bad { path: path.to_owned(), reason: reason.to_owned() }
    };
    if let Some(above) = files::first_shared_above(&folder).on("read", &folder)? {
        return Err(others(&above));
    }
    for file in WalkDir::new(&folder) {
        let file = file.on("read", &folder)?;
        if !files::is_own(&file.metadata().on("read", file.path())?) {
            return Err(others(file.path()));
        }
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_folder_that_others_can_change_is_refused() {
        let above = tempfile::tempdir().unwrap();
        let (folder, file) = (above.path().join("archive"), above.path().join("archive/SHA256SUMS"));
        fs::create_dir(&folder).unwrap();
        fs::write(&file, "").unwrap();
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        own_folder(&folder).unwrap();
        for (path, open, private) in
            [(above.path(), 0o777, 0o1777), (&*folder, 0o1777, 0o755), (&*file, 0o646, 0o644)]
        {
            mode(path, open);
            let error = own_folder(&folder).unwrap_err().to_string();
            assert!(error.contains("another user can change it"), "{error}");
            mode(path, private);
            own_folder(&folder).unwrap();
        }
    }
}
