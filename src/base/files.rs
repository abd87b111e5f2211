//! Names of files and folders that several modules use, and the causes of errors on files.

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

/// Whether an output could not be written because of its path: a folder of it does not exist or is a file, the path is a
/// folder, or permission is missing. Another path is the remedy, so this is bad input.
pub fn is_wrong_path(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{
        AlreadyExists, InvalidFilename, InvalidInput, IsADirectory, NotADirectory, NotFound,
        PermissionDenied, ReadOnlyFilesystem,
    };
    matches!(
        error.kind(),
        AlreadyExists
            | InvalidFilename
            | InvalidInput
            | IsADirectory
            | NotADirectory
            | NotFound
            | PermissionDenied
            | ReadOnlyFilesystem
    )
}
