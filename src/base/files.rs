//! Names of files and folders that several modules use, and the test for a full disk.

/// Name of the folder, in the image of an inputs disk, with the archives that are packed on the disk (E-5.6: they are
/// published with the results).
pub const ARCHIVES: &str = "archives";

/// Name prefix of the temporary folders in which images are built. One that remains is from a build that was killed.
pub const BUILD_PREFIX: &str = ".building-";

/// Whether an operation failed because the host has no space left for a file, or a quota or size limit is reached.
pub fn is_full(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}
