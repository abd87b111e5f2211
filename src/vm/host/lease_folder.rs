//! The files of the lease folder. Other local users can write to the folder, so no file in it is trusted: files are
//! opened without following links and without blocking, and owner, mode and size are checked before they are read.

use super::lease_registry::{LEASE_FOLDER_VARIABLE, LEASE_USERS_VARIABLE};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg, OFlag};
use nix::unistd::geteuid;
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, Metadata, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The largest size of a file that is read from the folder, bytes.
const MAX_BYTES: u64 = 1 << 20;

const GROUP_OR_OTHERS_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// The users whose files count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TrustedUsers(BTreeSet<u32>);

impl TrustedUsers {
    /// Root, the user of this process, and the users that `LEASE_USERS_VARIABLE` lists.
    ///
    /// # Errors
    /// The variable is not a list of user numbers.
    pub fn of_this_process() -> io::Result<Self> {
        let listed = std::env::var_os(LEASE_USERS_VARIABLE).unwrap_or_default();
        Self::listed(listed.to_str().unwrap_or("?"))
    }

    /// As `of_this_process`, with the text of the variable.
    pub fn listed(list: &str) -> io::Result<Self> {
        let numbers = list.split([',', ' ']).filter(|number| !number.is_empty()).map(str::parse::<u32>);
        let listed: Result<BTreeSet<u32>, _> = numbers.collect();
        let mut users = listed.map_err(|_| {
            io::Error::other(format!(
                "{LEASE_USERS_VARIABLE}={list:?} is not a list of user numbers such as 1000,1001: correct it"
            ))
        })?;
        users.extend([0, geteuid().as_raw()]);
        Ok(Self(users))
    }

    pub fn contains(&self, user: u32) -> bool {
        self.0.contains(&user)
    }

    /// Whether users other than root and the user of this process are trusted.
    pub fn includes_others(&self) -> bool {
        self.0.iter().any(|user| *user != 0 && *user != geteuid().as_raw())
    }

    /// The numbers of the users.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }
}

/// Makes the folder with `mode` if it does not exist, and checks it. Its owner must be root or the user of this
/// process, because the owner can replace every file. If others can write to it, it must be sticky, so that they cannot
/// replace the files of this user.
pub(super) fn make_folder(folder: &Path, mode: u32) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        // The mode is set after the folder is made, because the file mode creation mask restricts that of `mkdir`.
        Ok(()) => open(folder, OFlag::O_DIRECTORY)?.set_permissions(Permissions::from_mode(mode))?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    check_folder(folder)
}

/// See `make_folder`.
pub(super) fn check_folder(folder: &Path) -> io::Result<()> {
    let shown = folder.display();
    let found = fs::symlink_metadata(folder)?;
    if !found.is_dir() {
        return Err(refused(format!(
            "it is not a folder; links are not followed; remove it (rm {shown}), or set {LEASE_FOLDER_VARIABLE} to a folder"
        )));
    }
    if found.uid() != 0 && found.uid() != geteuid().as_raw() {
        return Err(refused(format!(
            "its owner is user {}, who could replace the leases; give it to root (chown root {shown} && chmod 1777 {shown})",
            found.uid()
        )));
    }
    if found.mode() & GROUP_OR_OTHERS_WRITE != 0 && found.mode() & STICKY == 0 {
        return Err(refused(format!(
            "other users can write to it and it is not sticky, so they could replace the leases; make it sticky (chmod \
             +t {shown})"
        )));
    }
    Ok(())
}

/// Opens a file without following a link at its end and without waiting for the other end of a FIFO.
pub(super) fn open(path: &Path, more: OFlag) -> io::Result<File> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC | more;
    File::options().read(true).custom_flags(flags.bits()).open(path).map_err(|error| {
        if error.raw_os_error() == Some(Errno::ELOOP as i32) {
            refused(format!("it is a link, and links are not followed; remove it (rm {})", path.display()))
        } else {
            error
        }
    })
}

/// Opens a regular file that has one name. A second name (hard link) could be that of another file of its owner.
///
/// # Errors
/// The file cannot be opened, or it is of another kind.
pub(super) fn open_regular(path: &Path) -> io::Result<(File, Metadata)> {
    let file = open(path, OFlag::empty())?;
    let found = file.metadata()?;
    match (found.is_file(), found.nlink()) {
        (true, 0 | 1) => Ok((file, found)),
        (true, _) => Err(refused("it has several names (hard links)".to_owned())),
        (false, _) => Err(refused("it is not a regular file".to_owned())),
    }
}

/// The reason why a file of this user is ignored.
pub(super) fn not_listed(user: u32) -> String {
    format!("its owner, user {user}, is not listed in {LEASE_USERS_VARIABLE}")
}

/// Checks that only trusted users can have written a file.
///
/// # Errors
/// The reason why others can have.
pub(super) fn check_writers(found: &Metadata, trusted: &TrustedUsers) -> io::Result<()> {
    if !trusted.contains(found.uid()) {
        return Err(refused(not_listed(found.uid())));
    }
    if found.mode() & GROUP_OR_OTHERS_WRITE != 0 {
        return Err(refused("users other than its owner can write to it".to_owned()));
    }
    Ok(())
}

/// Reads a file of at most `MAX_BYTES`.
pub(super) fn read_text(file: &File) -> io::Result<String> {
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        Err(refused(format!("it has more than {MAX_BYTES} bytes")))
    } else {
        Ok(text)
    }
}

/// Waits for the exclusive lock of `file`, at most `timeout`, or until `stop` is set.
///
/// # Errors
/// `WouldBlock` after the timeout, `Interrupted` after the stop request; both name the holder of the lock.
pub(super) fn lock(
    mut file: File,
    path: &Path,
    timeout: Duration,
    stop: &AtomicBool,
) -> io::Result<Flock<File>> {
    let deadline = Instant::now() + timeout;
    loop {
        let errno = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(locked) => return Ok(locked),
            Err((unlocked, errno)) => {
                file = unlocked;
                errno
            }
        };
        if !matches!(errno, Errno::EWOULDBLOCK | Errno::EINTR) {
            return Err(errno.into());
        }
        let (kind, when) = match (stop.load(Ordering::Relaxed), Instant::now() >= deadline) {
            (true, _) => {
                (io::ErrorKind::Interrupted, "stopped while another process had locked it".to_owned())
            }
            (_, true) => {
                (io::ErrorKind::WouldBlock, format!("another process had it locked for {timeout:?}"))
            }
            _ => {
                std::thread::sleep(Duration::from_millis(10));
                continue;
            }
        };
        let holder = holder(&file).map_or("unknown".to_owned(), |holder| holder.to_string());
        return Err(io::Error::new(kind, format!("{}: {when}: {holder}; end that process", path.display())));
    }
}

/// The process that has locked a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    pub pid: u32,
    /// Owner of the process; None: it has exited, and a process that it started has the lock.
    pub user: Option<u32>,
    command: String,
}

impl std::fmt::Display for Holder {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Self { pid, user, command } = self;
        match user {
            Some(user) => write!(f, "process {pid} ({command:?}) of user {user}"),
            None => write!(f, "a process that process {pid} has started"),
        }
    }
}

/// Returns the process that has locked a file, from `/proc/locks`; None: it is not visible here.
pub(super) fn holder(file: &File) -> Option<Holder> {
    let found = file.metadata().ok()?;
    let (major, minor) = (nix::sys::stat::major(found.dev()), nix::sys::stat::minor(found.dev()));
    let wanted = format!("{major:02x}:{minor:02x}:{}", found.ino());
    let locks = fs::read_to_string("/proc/locks").ok()?;
    // `1: FLOCK  ADVISORY  WRITE 4711 fe:01:123 0 EOF`; the lines of waiting processes have an arrow.
    let fields = locks.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let line = fields.into_iter().find(|line| line.len() >= 6 && line[1] == "FLOCK" && line[5] == wanted)?;
    let pid = line[4].parse().ok()?;
    let process = PathBuf::from(format!("/proc/{pid}"));
    let command = fs::read_to_string(process.join("comm")).unwrap_or_default().trim_end().to_owned();
    Some(Holder { pid, user: fs::metadata(process).ok().map(|process| process.uid()), command })
}

fn refused(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, problem)
}
