//! The leases of all controllers of this host: a folder with one file per controller, which the controller keeps
//! locked while it runs. The kernel releases the lock when the controller exits for any reason, so its leases are
//! free at once.

use super::LeaseError;
use nix::fcntl::{FcntlArg, FdFlag, Flock, FlockArg, fcntl};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The environment variable with the folder of the registry. All controllers of a host must use the same folder.
pub const LEASE_FOLDER_VARIABLE: &str = "MCC_HARNESS_LEASES";

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

/// This controller's file in the registry of its host. Dropping it removes the file.
#[derive(Debug)]
pub struct LeaseRegistry {
    folder: PathBuf,
    path: PathBuf,
    file: Flock<File>,
    own: ControllerLeases,
}

/// The exclusive right to read and change the registry; other controllers wait for it.
pub(super) struct RegistryLock {
    file: Flock<File>,
    /// The leases of all other controllers.
    pub other_leases: Vec<MachineLease>,
    /// How often memory was overcommitted on this host.
    pub overcommits: u64,
}

// The name is part of the registry's format: controllers of several versions on one host use the same file.
const LOCK_FILE: &str = "turn";

impl LeaseRegistry {
    /// Opens the registry of this host: in the folder that `LEASE_FOLDER_VARIABLE` names, else in `/run/mcc-harness`,
    /// or in the temporary folder if `/run/mcc-harness` cannot be made.
    ///
    /// # Errors
    /// The folder or this controller's file cannot be made or locked.
    pub fn of_this_host(campaign: &str) -> Result<Self, LeaseError> {
        Self::open(&folder(), campaign)
    }

    /// Opens the registry in `folder`, which is made if it does not exist, and adds a file for this controller.
    ///
    /// # Errors
    /// The folder or this controller's file cannot be made or locked.
    pub fn open(folder: &Path, campaign: &str) -> Result<Self, LeaseError> {
        make_folder(folder).map_err(at(folder))?;
        let own = ControllerLeases {
            pid: std::process::id(),
            since: jiff::Timestamp::now().round(jiff::Unit::Second).unwrap_or_default().to_string(),
            campaign: campaign.to_owned(),
            held: vec![],
        };
        // Under the registry lock: until the new file is locked, another controller would treat it as that of a
        // controller that has exited.
        let _guard = lock(open_lock_file(folder).map_err(at(folder))?).map_err(at(folder))?;
        let prefix = format!("{}-", own.pid);
        let made = tempfile::Builder::new().prefix(&prefix).suffix(".json").tempfile_in(folder);
        let (file, path) = made.and_then(|made| Ok(made.keep()?)).map_err(at(folder))?;
        file.set_permissions(Permissions::from_mode(0o644)).map_err(at(&path))?;
        // Machines inherit the lock: until the last of them has exited, its cores are not free.
        fcntl(&file, FcntlArg::F_SETFD(FdFlag::empty())).map_err(|errno| at(&path)(errno.into()))?;
        let mut registry =
            Self { folder: folder.to_owned(), file: lock(file).map_err(at(&path))?, path, own };
        registry.write_leases()?;
        Ok(registry)
    }

    /// Returns the leases of all running controllers of this host, and removes the files of those that have exited.
    pub fn controllers_of_this_host() -> Vec<ControllerLeases> {
        let folder = folder();
        let locked_file = || lock(open_lock_file(&folder)?);
        match folder.is_dir().then(locked_file) {
            Some(Ok(_guard)) => read_all(&folder, Path::new("")),
            _ => vec![],
        }
    }

    /// Waits for the registry lock, which others hold for a few system calls only, and reads the registry.
    pub(super) fn guard(&self) -> Result<RegistryLock, LeaseError> {
        let read = || {
            let mut file = lock(open_lock_file(&self.folder)?)?;
            let mut text = String::new();
            file.read_to_string(&mut text)?;
            Ok((file, text.trim().parse().unwrap_or(0)))
        };
        let (file, overcommits) = read().map_err(at(&self.folder))?;
        let controllers = read_all(&self.folder, &self.path);
        let other_leases = controllers.into_iter().flat_map(|controller| controller.held).collect();
        Ok(RegistryLock { file, other_leases, overcommits })
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
}

impl Drop for LeaseRegistry {
    fn drop(&mut self) {
        // If this fails, the next controller that reads the registry removes the file.
        let _ = fs::remove_file(&self.path);
    }
}

impl RegistryLock {
    /// Counts an overcommitment of memory. Each controller reads the count, because its machines may lack memory too.
    pub(super) fn overcommit(&mut self) -> Result<(), LeaseError> {
        self.overcommits += 1;
        let text = self.overcommits.to_string();
        let mut write = || {
            self.file.set_len(0)?;
            self.file.rewind()?;
            self.file.write_all(text.as_bytes())
        };
        write().map_err(at(Path::new(LOCK_FILE)))
    }
}

fn folder() -> PathBuf {
    if let Some(folder) = std::env::var_os(LEASE_FOLDER_VARIABLE).filter(|folder| !folder.is_empty()) {
        return folder.into();
    }
    let run = PathBuf::from("/run/mcc-harness");
    match make_folder(&run) {
        Ok(()) => run,
        Err(_) => std::env::temp_dir().join("mcc-harness-leases"),
    }
}

/// Makes the folder with the mode of /tmp: controllers of several users share a host.
fn make_folder(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Ok(()) => fs::set_permissions(folder, Permissions::from_mode(0o1777)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

fn open_lock_file(folder: &Path) -> io::Result<File> {
    let path = folder.join(LOCK_FILE);
    // First without O_CREAT: with it the kernel may refuse, in a sticky folder, to open the file of another user
    // (fs.protected_regular).
    File::options().read(true).write(true).open(&path).or_else(|_| {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(&path)?;
        file.set_permissions(Permissions::from_mode(0o666))?;
        Ok(file)
    })
}

fn lock(file: File) -> io::Result<Flock<File>> {
    Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, errno)| errno.into())
}

/// Reads the files of all controllers except `own_path`, sorted by path, and removes those that are not locked. The
/// caller holds the registry lock.
fn read_all(folder: &Path, own_path: &Path) -> Vec<ControllerLeases> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_lease_file = |path: &PathBuf| path.extension() == Some(OsStr::new("json")) && path != own_path;
    let mut paths: Vec<PathBuf> = entries.filter(is_lease_file).collect();
    paths.sort();
    let running = paths.into_iter().filter_map(|path| {
        match Flock::lock(File::open(&path).ok()?, FlockArg::LockExclusiveNonblock) {
            Ok(_unowned) => {
                // Fails if the file belongs to another user; its leases do not count in either case.
                let _ = fs::remove_file(&path);
                None
            }
            Err((file, _)) => {
                let mut text = String::new();
                file.take(1 << 20).read_to_string(&mut text).ok()?;
                serde_json::from_str(&text).ok()
            }
        }
    });
    running.collect()
}

fn at(path: &Path) -> impl Fn(io::Error) -> LeaseError + use<> {
    let path = path.to_owned();
    move |error| LeaseError::Registry { path: path.clone(), problem: error.to_string() }
}
