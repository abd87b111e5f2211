//! The leases of all controllers of this host: a folder with one file per controller, which the controller keeps
//! locked while it runs. The kernel releases the lock when the controller exits for any reason, so its leases are
//! free at once. Files of users that are not trusted (`LEASE_USERS_VARIABLE`) are ignored and named.

use super::LeaseError;
use super::lease_folder::{
    TrustedUsers, check_folder, check_writers, holder, lock, make_folder, not_listed, open_regular, read_text,
};
use mcc_base::clock;
use nix::fcntl::{Flock, FlockArg};
use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// The environment variable with the folder of the registry. All controllers of a host must use the same folder.
pub const LEASE_FOLDER_VARIABLE: &str = "MCC_HARNESS_LEASES";

/// The environment variable with the numbers of the users whose leases count, separated by commas, in addition to root
/// and the user of the controller.
pub const LEASE_USERS_VARIABLE: &str = "MCC_HARNESS_LEASE_USERS";

/// The leases of one controller: the content of its file in the registry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControllerLeases {
    /// Process number of the controller.
    pub pid: u32,
    /// Start time, RFC 3339; for display.
    pub since: String,
    /// Name of the campaign's file; for display.
    pub campaign: String,
    /// The leases of its machines.
    pub held: Vec<MachineLease>,
}

/// The cores and memory of one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineLease {
    /// Logical CPUs of the host.
    pub cpus: Vec<u32>,
    /// Memory, MiB.
    pub memory_mib: u64,
    /// Whether other machines may use the same cores.
    pub shared: bool,
}

/// The files of the registry of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostLeases {
    /// The leases of running controllers of trusted users.
    pub controllers: Vec<ControllerLeases>,
    /// The ignored files, each with the reason.
    pub ignored: Vec<String>,
}

/// This controller's file in the registry of its host. Dropping it removes the file.
#[derive(Debug)]
pub struct LeaseRegistry {
    folder: PathBuf,
    path: PathBuf,
    file: Flock<File>,
    own: ControllerLeases,
    trusted: TrustedUsers,
    /// Since when each attempt to get the registry lock has failed.
    busy_since: Option<Instant>,
    /// The ignored files that were named in a warning.
    warned: Vec<String>,
}

/// The exclusive right to read and change the registry; other controllers wait for it.
pub(super) struct RegistryLock {
    _file: Flock<File>,
    /// The leases of all other controllers.
    pub other_leases: Vec<MachineLease>,
    /// How often memory was overcommitted on this host.
    pub overcommits: u64,
}

// The name is part of the registry's format: controllers of several versions on one host use the same file.
const LOCK_FILE: &str = "turn";

/// Prefix of the files that count overcommitments of memory; the number of the user follows.
const OVERCOMMITS: &str = "overcommits-";

/// How long the registry lock may be held by others, who need it for a few system calls only.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// How long one attempt waits for the registry lock, so that a stop request is observed in between.
const LOCK_ATTEMPT: Duration = Duration::from_millis(200);

static NO_STOP: AtomicBool = AtomicBool::new(false);

impl LeaseRegistry {
    /// Opens the registry of this host: in the folder that `LEASE_FOLDER_VARIABLE` names, else in `/run/mcc-harness`,
    /// or, if `/run/mcc-harness` cannot be made, in a folder of this user in the temporary folder. Waits for the
    /// registry lock at most 10 s, or until `stop` is set.
    ///
    /// # Errors
    /// The folder or this controller's file cannot be made or locked, or other users could change its files.
    pub fn of_this_host(campaign: &str, stop: &AtomicBool) -> Result<Self, LeaseError> {
        let folder = folder();
        let trusted = TrustedUsers::of_this_process().map_err(at(&folder))?;
        Self::open_trusting(&folder, campaign, trusted, stop)
    }

    /// Opens the registry in `folder`, which is made if it does not exist, and adds a file for this controller. Trusts
    /// root and the user of this process.
    ///
    /// # Errors
    /// As `of_this_host`.
    pub fn open(folder: &Path, campaign: &str) -> Result<Self, LeaseError> {
        let trusted = TrustedUsers::listed("").map_err(at(folder))?;
        Self::open_trusting(folder, campaign, trusted, &NO_STOP)
    }

    fn open_trusting(
        folder: &Path,
        campaign: &str,
        trusted: TrustedUsers,
        stop: &AtomicBool,
    ) -> Result<Self, LeaseError> {
        // The mode of /tmp: controllers of several users share a host.
        make_folder(folder, 0o1777).map_err(at(folder))?;
        let own = ControllerLeases {
            pid: std::process::id(),
            since: clock::now_text(),
            campaign: campaign.to_owned(),
            held: vec![],
        };
        // Under the registry lock: until the new file is locked, another controller would treat it as that of a
        // controller that has exited.
        let _guard = registry_lock(folder, LOCK_TIMEOUT, stop).map_err(at(folder))?;
        let prefix = format!("{}-", own.pid);
        let made = tempfile::Builder::new().prefix(&prefix).suffix(".json").tempfile_in(folder);
        let (file, path) = made.and_then(|made| Ok(made.keep()?)).map_err(at(folder))?;
        // Who can open a file can lock it, and so keep the leases of a controller that has exited.
        let is_shared = geteuid().is_root() || trusted.includes_others();
        let mode = Permissions::from_mode(if is_shared { 0o644 } else { 0o600 });
        file.set_permissions(mode).map_err(at(&path))?;
        // No other process inherits the lock: a QEMU that was taken over could release it (flock(2)).
        let file = lock(file, &path, LOCK_TIMEOUT, stop).map_err(at(&path))?;
        let folder = folder.to_owned();
        let mut registry = Self { folder, file, path, own, trusted, busy_since: None, warned: vec![] };
        registry.write_leases()?;
        Ok(registry)
    }

    /// Returns the leases of all running controllers of this host, and removes the files of those that have exited.
    ///
    /// # Errors
    /// The registry cannot be read, or its lock is held for too long.
    pub fn controllers_of_this_host() -> Result<HostLeases, LeaseError> {
        let folder = folder();
        if let Err(error) = fs::symlink_metadata(&folder)
            && error.kind() == io::ErrorKind::NotFound
        {
            return Ok(HostLeases::default());
        }
        let read = || {
            check_folder(&folder)?;
            let trusted = TrustedUsers::of_this_process()?;
            let _guard = registry_lock(&folder, LOCK_TIMEOUT, &NO_STOP)?;
            read_all(&folder, Path::new(""), &trusted)
        };
        read().map_err(at(&folder))
    }

    /// Locks and reads the registry. None: another process has the lock now.
    ///
    /// # Errors
    /// The registry cannot be read, or another process has had its lock for too long.
    pub(super) fn guard(&mut self) -> Result<Option<RegistryLock>, LeaseError> {
        let locked = registry_lock(&self.folder, LOCK_ATTEMPT, &NO_STOP);
        let file = match locked {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let since = *self.busy_since.get_or_insert_with(Instant::now);
                return if since.elapsed() < LOCK_TIMEOUT { Ok(None) } else { Err(at(&self.folder)(error)) };
            }
            Err(error) => return Err(at(&self.folder)(error)),
        };
        self.busy_since = None;
        let HostLeases { controllers, ignored } =
            read_all(&self.folder, &self.path, &self.trusted).map_err(at(&self.folder))?;
        for file in ignored.iter().filter(|file| !self.warned.contains(file)) {
            tracing::warn!("lease file ignored: {file}");
        }
        self.warned = ignored;
        let other_leases = controllers.into_iter().flat_map(|controller| controller.held).collect();
        let counts = self.trusted.iter().map(|user| self.overcommits_of(user));
        let overcommits = counts.fold(0, u64::saturating_add);
        Ok(Some(RegistryLock { _file: file, other_leases, overcommits }))
    }

    /// Writes the leases that this controller holds from now on.
    pub(super) fn write(&mut self, _guard: &RegistryLock, held: Vec<MachineLease>) -> Result<(), LeaseError> {
        self.own.held = held;
        self.write_leases()
    }

    fn write_leases(&mut self) -> Result<(), LeaseError> {
        let text = serde_json::to_string(&self.own).expect("leases are plain data");
        let mut write = || {
            self.file.set_len(0)?;
            self.file.rewind()?;
            self.file.write_all(text.as_bytes())
        };
        write().map_err(at(&self.path))
    }

    /// Counts an overcommitment of memory. Each controller reads the count, because its machines may lack memory too.
    pub(super) fn overcommit(&self, guard: &mut RegistryLock) -> Result<(), LeaseError> {
        let user = geteuid().as_raw();
        let path = self.overcommits_path(user);
        let count = self.overcommits_of(user).saturating_add(1);
        guard.overcommits = guard.overcommits.saturating_add(1);
        let write = || {
            let new = tempfile::Builder::new().prefix(".overcommits-").tempfile_in(&self.folder)?;
            fs::write(new.path(), count.to_string())?;
            new.as_file().set_permissions(Permissions::from_mode(0o644))?;
            new.persist(&path)?;
            Ok(())
        };
        write().map_err(at(&path))
    }

    /// Returns how often a user has overcommitted memory. A file that another user wrote does not count.
    fn overcommits_of(&self, user: u32) -> u64 {
        let read = || {
            let (file, found) = open_regular(&self.overcommits_path(user)).ok()?;
            check_writers(&found, &self.trusted).ok()?;
            (found.uid() == user).then_some(())?;
            read_text(&file).ok()?.trim().parse().ok()
        };
        read().unwrap_or(0)
    }

    fn overcommits_path(&self, user: u32) -> PathBuf {
        self.folder.join(format!("{OVERCOMMITS}{user}"))
    }
}

impl Drop for LeaseRegistry {
    fn drop(&mut self) {
        // If this fails, the next controller that reads the registry removes the file.
        let _ = fs::remove_file(&self.path);
    }
}

fn folder() -> PathBuf {
    if let Some(folder) = std::env::var_os(LEASE_FOLDER_VARIABLE).filter(|folder| !folder.is_empty()) {
        return folder.into();
    }
    let run = PathBuf::from("/run/mcc-harness");
    match make_folder(&run, 0o1777) {
        // A folder that exists is used or refused: it may have the leases of others.
        Err(_) if !run.exists() => std::env::temp_dir().join(format!("mcc-harness-leases-{}", geteuid())),
        _ => run,
    }
}

/// Opens the lock file and waits for its lock. The content of the file has no meaning.
fn registry_lock(folder: &Path, timeout: Duration, stop: &AtomicBool) -> io::Result<Flock<File>> {
    let path = folder.join(LOCK_FILE);
    let about = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let make = || {
        let made = File::options().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        made.set_permissions(Permissions::from_mode(0o644))
    };
    match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match make() {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(about(error)),
            _ => {}
        },
        _ => {}
    }
    let (file, _) = open_regular(&path).map_err(about)?;
    lock(file, &path, timeout, stop)
}

/// Reads the files of all controllers except `own_path`, sorted by path, and removes those that are not locked. The
/// caller holds the registry lock.
pub(super) fn read_all(folder: &Path, own_path: &Path, trusted: &TrustedUsers) -> io::Result<HostLeases> {
    let mut paths = vec![];
    // By user: the first of the files. One message for each user, because a user can make any number of files.
    let mut of_others: BTreeMap<u32, PathBuf> = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension() != Some(OsStr::new("json")) || path == own_path {
            continue;
        }
        match fs::symlink_metadata(&path).map(|found| found.uid()) {
            Ok(user) if !trusted.contains(user) => {
                let first = of_others.entry(user).or_insert_with(|| path.clone());
                if path < *first {
                    *first = path;
                }
            }
            _ => paths.push(path),
        }
    }
    paths.sort();
    let mut leases = HostLeases::default();
    for (user, first) in of_others {
        let (first, reason) = (first.display(), not_listed(user));
        leases.ignored.push(format!("{first}: {reason} (its other files there are not named)"));
    }
    for path in paths {
        match read_one(&path, trusted) {
            Ok(controller) => leases.controllers.extend(controller),
            // Removed by its controller.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => leases.ignored.push(format!("{}: {error}", path.display())),
        }
    }
    Ok(leases)
}

/// Reads the file of a controller; None: the controller has exited. The file is removed then.
///
/// # Errors
/// The reason why the file is ignored.
fn read_one(path: &Path, trusted: &TrustedUsers) -> io::Result<Option<ControllerLeases>> {
    let (file, found) = open_regular(path)?;
    check_writers(&found, trusted)?;
    let file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
        Ok(_unowned) => {
            // Fails if the file belongs to another user; its leases do not count in either case.
            let _ = fs::remove_file(path);
            return Ok(None);
        }
        Err((file, _)) => file,
    };
    if let Some(holder) =
        holder(&file).filter(|holder| holder.user.is_some_and(|user| !trusted.contains(user)))
    {
        return Err(io::Error::other(format!("it is locked by {holder}, not by its controller")));
    }
    Ok(Some(serde_json::from_str(&read_text(&file)?)?))
}

fn at(path: &Path) -> impl Fn(io::Error) -> LeaseError + use<> {
    let path = path.to_owned();
    move |error| match error.kind() {
        io::ErrorKind::Interrupted => LeaseError::Stopped { problem: error.to_string() },
        _ => LeaseError::Registry { path: path.clone(), problem: error.to_string() },
    }
}
