//! Names of files and folders that several modules use, and the test for a full disk.

/// Name of the folder of an inputs disk that holds the archives it was made of (published with the results, E-5.6).
pub const ARCHIVES: &str = "archives";

/// Prefix of the folders in which an image is built. A folder with it that remains was left by a killed build.
pub const BUILD_PREFIX: &str = ".building-";

/// Whether an operation failed because the host has no space left for a file.
pub fn is_full(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}
