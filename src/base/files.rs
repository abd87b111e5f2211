//! Opening of input files, names of files and folders that several modules use, and the causes of errors on files.

use std::fs::{self, File, FileType, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};

/// Name of the folder, in the image of an inputs disk, with the archives that are packed on the disk (E-5.6: they are
/// published with the results).
pub const ARCHIVES: &str = "archives";

/// Name prefix of the temporary folders in which images are built. One that remains is from a build that was killed.
pub const BUILD_PREFIX: &str = ".building-";

/// Device, inode, size, and the times of the last change of content and of the inode. A program can set the first of the
/// times to any value; the second one is then the time of that call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    /// Device and inode.
    pub file: (u64, u64),
    /// Size.
    pub bytes: u64,
    /// The time of the last change of the content, in seconds and nanoseconds.
    pub modified: (i64, i64),
    /// The time of the last change of the inode, in seconds and nanoseconds.
    pub changed: (i64, i64),
}

impl FileStamp {
    /// The stamp of the file at `path`, after links.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn of(path: &Path) -> io::Result<Self> {
        Ok(Self::from_metadata(&path.metadata()?))
    }

    /// Returns an error if the file at `path` is not the one with this stamp any more.
    ///
    /// # Errors
    /// The file changed or cannot be read.
    pub fn check_if_unchanged(&self, path: &Path) -> io::Result<()> {
        if Self::of(path)? == *self {
            Ok(())
        } else {
            Err(io::Error::other(
                "it was changed while it was read; run the command again when nothing changes it",
            ))
        }
    }

    /// The stamp of the file that has these metadata.
    pub fn from_metadata(found: &Metadata) -> Self {
        Self {
            file: (found.dev(), found.ino()),
            bytes: found.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

/// Whether an operation failed because the host has no space left for a file, or a quota or size limit is reached.
pub fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
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

/// Returns how many bytes an archive of `length` bytes may have when it is unpacked: `ratio` times its length, but at least
/// `always`.
pub fn most_unpacked(length: u64, ratio: u64, always: u64) -> u64 {
    length.saturating_mul(ratio).max(always)
}

/// Returns the last `most` bytes of a file.
///
/// # Errors
/// The file cannot be read.
pub fn tail(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let start = file.metadata()?.len().saturating_sub(most);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = vec![];
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens an input for reading. Only a regular file is opened: a pipe or device could block or never end. Symbolic links
/// are followed.
///
/// # Errors
/// The file cannot be opened, or is not regular; the error names its kind, not its path.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, libc::O_NONBLOCK)
}

/// `open` for a file that this program created in a folder that others may have changed since: a symbolic link is
/// refused too, because it may lead out of the folder.
///
/// # Errors
/// As `open`, or the file is a symbolic link.
pub fn open_own(path: &Path) -> io::Result<File> {
    if path.is_symlink() {
        return Err(wrong_kind("a symbolic link"));
    }
    open_with(path, libc::O_NONBLOCK | libc::O_NOFOLLOW)
}

/// Returns whether a relative name does not lead out of its folder.
pub fn is_below(name: &Path) -> bool {
    name.components().all(|part| matches!(part, Component::Normal(_)))
}

/// Opens a file below a folder that others wrote: its name does not lead out of the folder, and none of its parts is a symbolic
/// link.
///
/// # Errors
/// As `open_own`; or the name is not one of a file below the folder; or the file has more than `most` bytes.
pub fn open_below(folder: &Path, name: &Path, most: u64) -> io::Result<File> {
    if !is_below(name) {
        return Err(io::Error::other("its name leads out of the folder"));
    }
    let mut path = folder.to_owned();
    for part in name.components() {
        path.push(part);
        if path.is_symlink() {
            return Err(io::Error::other(format!("{} is a symbolic link", path.display())));
        }
    }
    let file = open_place(folder, name)?;
    if file.metadata()?.len() > most {
        return Err(io::Error::other(format!("it has more than {most} bytes")));
    }
    Ok(file)
}

/// Opens a file below a folder. A part of its name that is a symbolic link, perhaps only since it was checked, is an error.
fn open_place(folder: &Path, name: &Path) -> io::Result<File> {
    let mut opened = open_path(folder, 0)?;
    for part in name.components() {
        // Searched in the folder that is open: its path may lead elsewhere by now.
        opened = open_path(&name_of(&opened).join(part), libc::O_NOFOLLOW)?;
    }
    open_with(&name_of(&opened), libc::O_NONBLOCK)
}

/// Opens a file or folder only to find what is below it (`O_PATH`): its content cannot be read.
fn open_path(path: &Path, flags: i32) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(libc::O_PATH | flags).open(path)
}

/// The kernel's name of an open file of this process.
fn name_of(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

fn open_with(path: &Path, flags: i32) -> io::Result<File> {
    // Without O_NONBLOCK, opening a pipe would wait for a writer.
    match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        // A socket.
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => Err(wrong_kind("a socket or device")),
        Err(error) => Err(error),
        Ok(file) => check_regular(&file.metadata()?).map(|()| file),
    }
}

/// Creates the folders of `path` below `base` that are missing. A link in the place of one would lead out of `base`.
///
/// # Errors
/// A folder cannot be created, or something else is in its place.
pub fn create_own_folders(base: &Path, path: &Path) -> io::Result<()> {
    let below = path.strip_prefix(base).map_err(io::Error::other)?;
    let mut folder = base.to_owned();
    for part in below.components() {
        folder.push(part);
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if !fs::symlink_metadata(&folder)?.is_dir() {
                    let why = format!("{} is not a folder; remove it", folder.display());
                    return Err(io::Error::new(io::ErrorKind::NotADirectory, why));
                }
            }
            created => created?,
        }
    }
    Ok(())
}

/// Copies a regular file with its permissions to `to`, where nothing is yet.
///
/// # Errors
/// A file cannot be read or written, or something is at `to`.
pub fn copy_to_new(from: &Path, to: &Path) -> io::Result<()> {
    let (mut from, mut copy) = (open(from)?, File::create_new(to)?);
    io::copy(&mut from, &mut copy)?;
    copy.set_permissions(from.metadata()?.permissions())
}

/// Removes what is at `path` below `base`, and creates the folders above it as `create_own_folders` does: nothing is removed
/// through a link.
///
/// # Errors
/// It cannot be removed, a folder cannot be created, or something else is in its place.
pub fn clear_own_place(base: &Path, path: &Path) -> io::Result<()> {
    create_own_folders(base, path.parent().unwrap_or(base))?;
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
    }
}

const OTHERS_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// Whether no user but this one and root can change what has these metadata. A link cannot be changed.
pub fn is_own(found: &Metadata) -> bool {
    has_own_user(found) && (found.mode() & OTHERS_WRITE == 0 || found.is_symlink())
}

fn has_own_user(found: &Metadata) -> bool {
    // SAFETY: it has no arguments, and cannot fail.
    [0, unsafe { libc::geteuid() }].contains(&found.uid())
}

/// Whether another user can change what is in a folder. A folder that is missing cannot be changed. Folders above it, in
/// which it could be renamed, are not checked: projects share such folders.
///
/// # Errors
/// It cannot be read.
pub fn is_shared(folder: &Path) -> io::Result<bool> {
    match fs::metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        found => Ok(!is_own(&found?)),
    }
}

/// Returns the first folder above `path` in which another user can put something else in the place of a name. `path` has no
/// symbolic links.
///
/// # Errors
/// A folder cannot be read.
pub fn first_shared_above(path: &Path) -> io::Result<Option<PathBuf>> {
    for above in path.ancestors().skip(1) {
        let found = fs::symlink_metadata(above)?;
        // In a folder with the sticky bit only the owner of a file can rename it.
        let keeps_names = is_own(&found) || found.mode() & STICKY != 0 && has_own_user(&found);
        if !keeps_names {
            return Ok(Some(above.to_owned()));
        }
    }
    Ok(None)
}

/// A file with a lock of the kernel (flock), which ends when this is dropped, or with the process.
#[derive(Debug)]
pub struct LockedFile {
    /// The open file.
    pub file: File,
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // Closing is not enough: a process that is just being started also has the file, until it runs its program.
        drop(self.file.unlock());
    }
}

/// Opens or creates a lock file, which must not be a symbolic link, and locks it. None: another process has the lock.
///
/// # Errors
/// The file cannot be opened or locked.
pub fn lock(path: &Path) -> io::Result<Option<LockedFile>> {
    let file = open_lock(path, 0o666)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(LockedFile { file })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// As `lock`, but waits for the lock. Only this user may open a lock file that is created: another could hold it.
///
/// # Errors
/// As `lock`.
pub fn wait_for_lock(path: &Path) -> io::Result<LockedFile> {
    let file = open_lock(path, 0o600)?;
    file.lock()?;
    Ok(LockedFile { file })
}

fn open_lock(path: &Path, mode: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(mode).custom_flags(libc::O_NOFOLLOW);
    options.open(path)
}

/// Checks that a path is a regular file, if it exists, for programs that open it themselves.
///
/// # Errors
/// It is of another kind, or its kind cannot be determined.
pub fn check_if_regular(path: &Path) -> io::Result<()> {
    match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        facts => check_regular(&facts?),
    }
}

/// Checks that an output may take the place of what is at `path`: nothing, or a regular file, perhaps through a symbolic
/// link. To replace a device, a pipe or a link such as `/dev/stdout` would break it for all programs.
///
/// # Errors
/// Another kind of file is there, or its kind cannot be determined.
pub fn check_replaceable(path: &Path) -> io::Result<()> {
    if path.read_link().is_ok_and(|target| target.starts_with("/proc")) {
        return Err(wrong_kind("a link to an open file of a process"));
    }
    check_if_regular(path)
}

fn check_regular(facts: &Metadata) -> io::Result<()> {
    match kind(facts.file_type()) {
        None => Ok(()),
        Some(kind) => Err(wrong_kind(kind)),
    }
}

/// The kind of a file; None for a regular one.
fn kind(file_type: FileType) -> Option<&'static str> {
    match file_type {
        _ if file_type.is_file() => None,
        _ if file_type.is_dir() => Some("a folder"),
        _ if file_type.is_fifo() => Some("a pipe"),
        _ if file_type.is_socket() => Some("a socket"),
        _ if file_type.is_char_device() => Some("a character device"),
        _ if file_type.is_block_device() => Some("a block device"),
        _ => Some("not a regular file"),
    }
}

fn wrong_kind(kind: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("it is {kind}; give a regular file"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;

    #[test]
    fn a_lock_ends_although_a_process_that_is_being_started_has_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let first = lock(&path).unwrap().unwrap();
        // As a new process has it before it runs its program.
        let inherited = first.file.try_clone().unwrap();
        assert!(lock(&path).unwrap().is_none());
        drop(first);
        assert!(lock(&path).unwrap().is_some());
        drop(inherited);
    }

    #[test]
    fn only_regular_files_are_opened_as_inputs() {
        let folder = tempfile::tempdir().unwrap();
        let [pipe, socket, file, link] =
            ["pipe", "socket", "file", "link"].map(|name| folder.path().join(name));
        nix::unistd::mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        std::fs::write(&file, "x").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for (path, kind) in [
            (pipe.as_path(), "it is a pipe"),
            (&socket, "it is a socket"),
            (folder.path(), "it is a folder"),
            (Path::new("/dev/zero"), "it is a character device"),
        ] {
            for error in [open(path).unwrap_err(), open_own(path).unwrap_err()] {
                assert!(error.to_string().starts_with(kind), "{error}");
            }
        }
        assert!(open(&file).is_ok() && open(&link).is_ok() && open_own(&file).is_ok());
        assert!(open_own(&link).unwrap_err().to_string().starts_with("it is a symbolic link"));
        assert!(check_if_regular(&folder.path().join("none")).is_ok() && check_if_regular(&pipe).is_err());
    }

    #[test]
    fn files_below_a_folder_are_opened_without_links_and_up_to_a_size() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("base/inner")).unwrap();
        fs::write(at("base/inner/file"), "1234").unwrap();
        fs::write(at("outside"), "secret").unwrap();
        std::os::unix::fs::symlink(folder.path(), at("base/link")).unwrap();
        std::os::unix::fs::symlink(at("outside"), at("base/inner/last")).unwrap();
        let open = |name: &str, most: u64| open_below(&at("base"), Path::new(name), most);
        assert_eq!(open("inner/file", 4).unwrap().metadata().unwrap().len(), 4);
        let absolute = at("outside").display().to_string();
        for (name, reason) in [
            ("link/outside", "base/link is a symbolic link"),
            ("inner/last", "base/inner/last is a symbolic link"),
            ("inner/../../outside", "its name leads out of the folder"),
            (&absolute, "its name leads out of the folder"),
            ("inner", "it is a folder"),
        ] {
            let error = open(name, 100).unwrap_err().to_string();
            assert!(error.contains(reason), "{name}: {error}");
        }
        assert!(open("inner/file", 3).unwrap_err().to_string().contains("more than 3 bytes"));
    }

    #[test]
    fn a_link_that_takes_the_place_of_a_part_of_a_name_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("secret"), "secret").unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("link")).unwrap();
        std::os::unix::fs::symlink("secret", folder.path().join("last")).unwrap();
        // As after the check of each part.
        let open = |name: &str| open_place(folder.path(), Path::new(name));
        assert!(open("link/secret").is_err() && open("last").is_err());
        assert!(open("secret").is_ok());
    }

    #[test]
    fn an_output_takes_the_place_of_regular_files_only() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        nix::unistd::mkfifo(&at("pipe"), Mode::S_IRWXU).unwrap();
        std::fs::write(at("file"), "x").unwrap();
        for (link, target) in
            [("null", "/dev/null"), ("open", "/proc/self/fd/1"), ("link", "file"), ("none", "new")]
        {
            std::os::unix::fs::symlink(target, at(link)).unwrap();
        }
        for name in ["pipe", "null", "open"] {
            let error = super::super::text::write(&at(name), "").unwrap_err().to_string();
            assert!(error.ends_with("; give a regular file"), "{name}: {error}");
        }
        for name in ["file", "link", "none", "new"] {
            super::super::text::write(&at(name), name).unwrap();
        }
    }
}
