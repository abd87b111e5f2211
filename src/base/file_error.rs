//! The error of an operation on a file or folder.

use std::io;
use std::path::PathBuf;

/// An operation on a file or folder that failed.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct FileError {
    /// What was tried, as a verb: `read`.
    pub action: &'static str,
    /// The file or folder.
    pub path: PathBuf,
    /// The error of the system.
    pub source: io::Error,
}

/// Adds action and path to the error of an operation on a file or folder.
pub trait OnFile<T> {
    /// `fs::create_dir(path).on("create", path)?`
    ///
    /// # Errors
    /// The operation failed.
    fn on(self, action: &'static str, path: impl Into<PathBuf>) -> Result<T, FileError>;
}

impl<T, E: Into<io::Error>> OnFile<T> for Result<T, E> {
    fn on(self, action: &'static str, path: impl Into<PathBuf>) -> Result<T, FileError> {
        self.map_err(|error| FileError { action, path: path.into(), source: error.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_has_action_path_and_cause() {
        let missing = std::fs::read("/none").on("read", "/none").unwrap_err();
        assert_eq!(missing.to_string(), "cannot read /none: No such file or directory (os error 2)");
    }
}
