//! What keeps a QEMU that its guest has taken over away from its host: an unprivileged user and a cgroup, beside
//! QEMU's own sandbox. What cannot be had is named, and the machine runs without it.

use super::cgroup::Cgroup;
use nix::sys::resource::{Resource, setrlimit};
use nix::unistd::{Gid, Uid, geteuid, setgid, setgroups, setuid};
use std::fs::{self, Metadata};
use std::io;
use std::os::fd::RawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Who QEMU runs as when the controller is root: the first of these that the host has.
const USERS: [&str; 2] = ["mcc-qemu", "nobody"];

/// Guests need QEMU's own memory beside theirs: TCG keeps up to 1 GiB of translated code.
const OVERHEAD_MIB: u64 = 2048;

/// What surrounds one machine. Its cgroup, and whatever is in it, ends with it.
#[derive(Debug)]
pub struct Isolation {
    /// None: the controller's own user, which is not root. Err: why QEMU stays root.
    user: Result<Option<User>, String>,
    /// Err: why there is none.
    group: Result<Cgroup, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct User {
    name: String,
    uid: u32,
    gid: u32,
    /// Of `/dev/kvm`.
    groups: Vec<u32>,
}

impl Isolation {
    /// For a machine of that memory, which reads `files` and works in `folder`.
    pub fn new(memory_mib: u64, files: &[PathBuf], folder: &Path) -> Self {
        Self { user: user(files, folder), group: Cgroup::new(memory_mib + OVERHEAD_MIB) }
    }

    /// For a machine as it would be started with its results in `folder`.
    pub fn of_this_host(memory_mib: u64, folder: &Path) -> Self {
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        Self::new(memory_mib, &[], &folder)
    }

    /// For a machine that libvirt starts, as the user and group it says, where they reach `files` and `folder`.
    #[cfg(feature = "libvirt")]
    pub(super) fn by_libvirt(ids: Option<(u32, u32)>, files: &[PathBuf], folder: &Path) -> Self {
        let user = match ids.filter(|_| geteuid().is_root()) {
            // A libvirt of the controller's own user.
            None => Ok(None),
            Some((0, _)) => Err("libvirt is set up to run QEMU as root".to_owned()),
            Some((uid, gid)) => User { name: format!("{uid} (libvirt's)"), uid, gid, groups: vec![] }
                .check_access(files, folder)
                .map(Some),
        };
        Self { user, group: Err("libvirt keeps it in its own, without a ceiling".to_owned()) }
    }

    /// There was no unprivileged user that reaches its files.
    #[cfg(feature = "libvirt")]
    pub(super) fn runs_as_root(&self) -> bool {
        self.user.is_err()
    }

    /// In words, for record and doctor.
    pub fn active(&self) -> Vec<String> {
        let user = self.user.as_ref().ok().map(|user| match user {
            Some(user) => format!("user {}", user.name),
            None => "the controller's user".to_owned(),
        });
        let group = self.group.as_ref().ok().map(Cgroup::describe);
        ["sandbox on".to_owned()].into_iter().chain(user).chain(group).collect()
    }

    /// What is not, and why.
    pub fn missing(&self) -> Vec<String> {
        let user = self.user.as_ref().err().map(|why| format!("no unprivileged user: {why}"));
        let group = self.group.as_ref().err().map(|why| format!("no cgroup: {why}"));
        user.into_iter().chain(group).collect()
    }

    /// Whoever QEMU runs as must own the folder it writes to.
    pub(super) fn chown_folder(&self, folder: &Path) -> io::Result<()> {
        match &self.user {
            Ok(Some(user)) => std::os::unix::fs::chown(folder, Some(user.uid), Some(user.gid)),
            _ => Ok(()),
        }
    }

    /// For the new process, between fork and exec.
    pub(super) fn pre_exec_setup(&self) -> PreExecSetup {
        let user = self.user.as_ref().ok().and_then(Option::as_ref);
        PreExecSetup {
            group: self.group.as_ref().ok().map(Cgroup::procs_fd),
            user: user.map(Unprivileged::new),
        }
    }

    /// Why the host's kernel would have killed QEMU, if it did so for its memory.
    pub(super) fn memory_limit_reached(&self) -> Option<String> {
        self.group.as_ref().ok()?.memory_limit_reached()
    }
}

/// The way into a confinement.
pub(super) struct PreExecSetup {
    group: Option<RawFd>,
    user: Option<Unprivileged>,
}

/// The user that QEMU runs as, in numbers.
pub(super) struct Unprivileged {
    uid: Uid,
    gid: Gid,
    groups: Vec<Gid>,
}

impl Unprivileged {
    /// None: the controller's own user.
    pub fn of_this_host() -> Option<Self> {
        user(&[], Path::new("/")).ok().flatten().as_ref().map(Self::new)
    }

    fn new(user: &User) -> Self {
        Self {
            uid: Uid::from_raw(user.uid),
            gid: Gid::from_raw(user.gid),
            groups: user.groups.iter().map(|gid| Gid::from_raw(*gid)).collect(),
        }
    }

    /// System calls only, on data made before: it runs between fork and exec.
    pub fn become_it(&self) -> io::Result<()> {
        setgroups(&self.groups)?;
        setgid(self.gid)?;
        setuid(self.uid)?;
        Ok(())
    }
}

impl PreExecSetup {
    /// System calls only, on data made before: it runs between fork and exec.
    pub fn apply(&self) -> io::Result<()> {
        if let Some(group) = self.group {
            // SAFETY: writes one byte of a constant to a descriptor that its owner keeps open.
            let written = unsafe { nix::libc::write(group, c"0".as_ptr().cast(), 1) };
            nix::errno::Errno::result(written)?;
        }
        // The memory of a guest on the host's disk helps nobody.
        setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
        self.user.as_ref().map_or(Ok(()), Unprivileged::become_it)
    }
}

fn user(files: &[PathBuf], folder: &Path) -> Result<Option<User>, String> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let passwd = fs::read_to_string("/etc/passwd").map_err(|error| format!("/etc/passwd: {error}"))?;
    let named = USERS.iter().find_map(|name| find_user(&passwd, name));
    let mut user = named.ok_or_else(|| format!("the host has no user {}", USERS.join(" or ")))?;
    if let Ok(kvm) = fs::metadata("/dev/kvm") {
        user.groups = vec![kvm.gid()];
    }
    user.check_access(files, folder).map(Some)
}

/// By hand: a static program has no name service to ask.
fn find_user(passwd: &str, name: &str) -> Option<User> {
    let fields: Vec<&str> =
        passwd.lines().map(|line| line.split(':').collect()).find(|fields: &Vec<_>| fields[0] == name)?;
    let number = |field: usize| fields.get(field)?.parse().ok();
    Some(User { name: name.to_owned(), uid: number(2)?, gid: number(3)?, groups: vec![] })
}

const READ: u32 = 4;
const SEARCH: u32 = 1;

impl User {
    /// It reads `files`, and a folder of its own in `folder` is within its reach.
    fn check_access(self, files: &[PathBuf], folder: &Path) -> Result<Self, String> {
        for file in files {
            let whole = fs::canonicalize(file).map_err(|error| format!("{}: {error}", file.display()))?;
            self.check_path(&whole)?;
            self.check_permission(&whole, READ)?;
        }
        self.check_path(folder)?;
        self.check_permission(folder, SEARCH)?;
        Ok(self)
    }

    /// Every folder above is open to it.
    fn check_path(&self, path: &Path) -> Result<(), String> {
        path.ancestors()
            .skip(1)
            .filter(|folder| !folder.as_os_str().is_empty())
            .try_for_each(|folder| self.check_permission(folder, SEARCH))
    }

    fn check_permission(&self, path: &Path, what: u32) -> Result<(), String> {
        let found = fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
        match self.permission_bits(&found) & what == what {
            true => Ok(()),
            false => Err(format!("{} is not open to {}", path.display(), self.name)),
        }
    }

    /// The three permission bits that hold for it.
    fn permission_bits(&self, found: &Metadata) -> u32 {
        let shift = match () {
            () if found.uid() == self.uid => 6,
            () if found.gid() == self.gid || self.groups.contains(&found.gid()) => 3,
            () => 0,
        };
        found.mode() >> shift & 7
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_user_reads_what_its_bits_allow_below_folders_it_may_search() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("disk");
        fs::write(&file, "").unwrap();
        let own = fs::metadata(&file).unwrap();
        let other = User { name: "other".into(), uid: own.uid() + 1, gid: own.gid() + 1, groups: vec![] };
        let owner = User { uid: own.uid(), ..other.clone() };
        let member = User { groups: vec![own.gid()], ..other.clone() };
        let allowed = |mode: u32| {
            fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
            [&owner, &member, &other].map(|user| user.check_permission(&file, READ).is_ok())
        };
        assert_eq!(allowed(0o644), [true; 3]);
        assert_eq!(allowed(0o640), [true, true, false]);
        assert_eq!(allowed(0o600), [true, false, false]);
        assert_eq!(allowed(0o004), [false, false, true], "the owner's bits hold for the owner alone");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
        let error = other.check_path(&file).unwrap_err();
        assert_eq!(error, format!("{} is not open to other", folder.path().display()));
        fs::set_permissions(folder.path(), Permissions::from_mode(0o711)).unwrap();
        assert_eq!(other.check_path(&file), Ok(()));
    }

    #[test]
    fn users_are_found_by_name_in_the_hosts_list() {
        let passwd = "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65533::/nonexistent:/bin/false\n";
        let nobody = find_user(passwd, "nobody").unwrap();
        assert_eq!((nobody.uid, nobody.gid), (65534, 65533));
        assert_eq!(find_user(passwd, "mcc-qemu"), None);
    }
}
