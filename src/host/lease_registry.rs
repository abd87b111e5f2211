//! The leases of every controller of this host: a folder with a page per controller, which it holds locked as
//! long as it lives. The kernel lets go of a dead owner's lock, however it died, so its leases are free at once.

use super::LeaseError;
use nix::fcntl::{FcntlArg, FdFlag, Flock, FlockArg, fcntl};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Names the folder of the leases; every controller of a host must use the same.
pub const LEASE_FOLDER_VARIABLE: &str = "MCC_HARNESS_LEASES";

/// What one controller holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControllerLeases {
    pub pid: u32,
    /// RFC 3339; for people.
    pub since: String,
    pub campaign: String,
    pub held: Vec<MachineLease>,
}

/// What one machine holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineLease {
    pub cpus: Vec<u32>,
    pub memory_mib: u64,
    /// On cores that others may be on as well.
    pub shared: bool,
}

/// This controller's page in the book of its host.
#[derive(Debug)]
pub struct LeaseRegistry {
    folder: PathBuf,
    path: PathBuf,
    file: Flock<File>,
    page: ControllerLeases,
}

/// The right to read and write the book; others wait for it.
pub(super) struct RegistryLock {
    file: Flock<File>,
    pub other_leases: Vec<MachineLease>,
    /// How often memory was overcommitted on this host.
    pub overcommits: u64,
}

const LOCK_FILE: &str = "turn";

impl LeaseRegistry {
    /// Of this host: in `/run/mcc-harness`, or where that is not for us in the temporary folder.
    pub fn of_this_host(campaign: &str) -> Result<Self, LeaseError> {
        Self::open(&folder(), campaign)
    }

    /// In that folder, which is made if need be.
    pub fn open(folder: &Path, campaign: &str) -> Result<Self, LeaseError> {
        make_folder(folder).map_err(at(folder))?;
        let page = ControllerLeases {
            pid: std::process::id(),
            since: jiff::Timestamp::now().round(jiff::Unit::Second).unwrap_or_default().to_string(),
            campaign: campaign.to_owned(),
            held: vec![],
        };
        // In turn: nobody must take the page for a dead owner's before it is locked.
        let _guard = lock(open_lock_file(folder).map_err(at(folder))?).map_err(at(folder))?;
        let prefix = format!("{}-", page.pid);
        let made = tempfile::Builder::new().prefix(&prefix).suffix(".json").tempfile_in(folder);
        let (file, path) = made.and_then(|made| Ok(made.keep()?)).map_err(at(folder))?;
        file.set_permissions(Permissions::from_mode(0o644)).map_err(at(&path))?;
        // Machines inherit it: while one of them still dies, its cores are not free.
        fcntl(&file, FcntlArg::F_SETFD(FdFlag::empty())).map_err(|errno| at(&path)(errno.into()))?;
        let mut registry =
            Self { folder: folder.to_owned(), file: lock(file).map_err(at(&path))?, path, page };
        registry.write_leases()?;
        Ok(registry)
    }

    /// The pages of all living controllers in the book of this host; dead ones are torn out.
    pub fn controllers_of_this_host() -> Vec<ControllerLeases> {
        let folder = folder();
        let locked_file = || lock(open_lock_file(&folder)?);
        match folder.is_dir().then(locked_file) {
            Some(Ok(_guard)) => pages(&folder, Path::new("")),
            _ => vec![],
        }
    }

    /// Waits for its turn, which takes others no longer than a few system calls.
    pub(super) fn guard(&self) -> Result<RegistryLock, LeaseError> {
        let read = || {
            let mut file = lock(open_lock_file(&self.folder)?)?;
            let mut text = String::new();
            file.read_to_string(&mut text)?;
            Ok((file, text.trim().parse().unwrap_or(0)))
        };
        let (file, overcommits) = read().map_err(at(&self.folder))?;
        let other_leases = pages(&self.folder, &self.path).into_iter().flat_map(|page| page.held).collect();
        Ok(RegistryLock { file, other_leases, overcommits })
    }

    /// Writes what this controller holds from now on; nobody reads it before the turn is over.
    pub(super) fn write(&mut self, _guard: &RegistryLock, held: Vec<MachineLease>) -> Result<(), LeaseError> {
        self.page.held = held;
        self.write_leases()
    }

    fn write_leases(&mut self) -> Result<(), LeaseError> {
        let text = serde_json::to_string(&self.page).expect("a page is plain data");
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
        // Whoever finds it first takes it away, if this fails.
        let _ = fs::remove_file(&self.path);
    }
}

impl RegistryLock {
    /// Tells every controller that memory was overcommitted: its machines may be short of it as well.
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

/// Everybody's, as /tmp is: controllers of several users share a host.
fn make_folder(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Ok(()) => fs::set_permissions(folder, Permissions::from_mode(0o1777)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

fn open_lock_file(folder: &Path) -> io::Result<File> {
    let path = folder.join(LOCK_FILE);
    // First without making it: in such a folder the kernel may forbid to make a file that another user made.
    File::options().read(true).write(true).open(&path).or_else(|_| {
        let file = File::options().read(true).write(true).create(true).truncate(false).open(&path)?;
        file.set_permissions(Permissions::from_mode(0o666))?;
        Ok(file)
    })
}

fn lock(file: File) -> io::Result<Flock<File>> {
    Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, errno)| errno.into())
}

/// Every page but `own`, sorted; called in turn. A page whose lock nobody holds is removed.
fn pages(folder: &Path, own: &Path) -> Vec<ControllerLeases> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_lease_file = |path: &PathBuf| path.extension() == Some(OsStr::new("json")) && path != own;
    let mut paths: Vec<PathBuf> = entries.filter(is_lease_file).collect();
    paths.sort();
    let living = paths.into_iter().filter_map(|path| {
        match Flock::lock(File::open(&path).ok()?, FlockArg::LockExclusiveNonblock) {
            Ok(_nobodys) => {
                // Not ours to remove where it is another user's; it counts for nothing all the same.
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
    living.collect()
}

fn at(path: &Path) -> impl Fn(io::Error) -> LeaseError + use<> {
    let path = path.to_owned();
    move |error| LeaseError::LeaseRegistry { path: path.clone(), problem: error.to_string() }
}
