//! Isolation of QEMU from its host, in case a guest takes QEMU over: an unprivileged user, a cgroup and a view of its own
//! (namespaces), in addition to QEMU's own sandbox. If a part is not possible on a host, it is reported, and the machine
//! runs without it.

use super::cgroup::Cgroup;
use super::spec::{Guest, MachineSpec};
use super::view::View;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::unistd::{Gid, Uid, geteuid, setgid, setgroups, setuid};
use std::fs::{self, Metadata};
use std::io;
use std::os::fd::RawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The users to run QEMU as if the controller is root: the first one that the host has.
const USERS: [&str; 2] = ["mcc-qemu", "nobody"];

/// Memory of QEMU in addition to the guest's memory: TCG keeps up to 1 GiB of translated code.
const OVERHEAD_MIB: u64 = 2048;

/// The largest number of open files of QEMU: it has about 20.
const MAX_FILES: u64 = 1024;

/// The isolation of one machine. Dropping it kills all processes of its cgroup and removes the cgroup.
#[derive(Debug)]
pub struct Isolation {
    /// None: the controller's own user, which is not root. Err: the reason why QEMU runs as root.
    user: Result<Option<User>, String>,
    /// Err: the reason why there is no cgroup.
    group: Result<Cgroup, String>,
    /// Err: the reason why QEMU sees all files of the host and uses its network.
    view: Result<View, String>,
    /// The largest size of a file that QEMU writes, bytes: its overlays are the only ones.
    file_limit: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct User {
    name: String,
    uid: u32,
    gid: u32,
    /// Supplementary groups: that of `/dev/kvm`.
    groups: Vec<u32>,
}

impl Isolation {
    /// Makes the isolation of a machine whose results are in `folder`.
    pub(super) fn new(spec: &MachineSpec, folder: &Path) -> Self {
        let needs_network = matches!(spec.guest, Guest::Ssh(_));
        let isolation = Self::build(spec.memory_mib, &spec.reopened_files(), folder, !needs_network);
        Self { file_limit: spec.overlay_limit(), ..isolation }
    }

    fn build(memory_mib: u64, files: &[PathBuf], folder: &Path, own_network: bool) -> Self {
        let view = View::new(own_network);
        let group = Cgroup::new(memory_mib.saturating_add(OVERHEAD_MIB));
        Self { user: user(files, folder, view.is_ok()), group, view, file_limit: None }
    }

    /// Makes the isolation of a machine whose results are in `folder`, to check what is possible on this host.
    pub fn of_this_host(memory_mib: u64, folder: &Path) -> Self {
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        Self::build(memory_mib, &[], &folder, true)
    }

    /// The isolation of a machine that libvirt starts. `ids`: the user and group that libvirt reports for QEMU; they
    /// are used if they can access `files` and `folder`.
    #[cfg(feature = "libvirt")]
    pub(super) fn by_libvirt(ids: Option<(u32, u32)>, files: &[PathBuf], folder: &Path) -> Self {
        let user = match ids.filter(|_| geteuid().is_root()) {
            // A libvirt of the controller's own user.
            None => Ok(None),
            Some((0, _)) => Err("libvirt is configured to run QEMU as root".to_owned()),
            Some((uid, gid)) => User { name: format!("{uid} (libvirt's)"), uid, gid, groups: vec![] }
                .check_access(files, folder)
                .map(Some),
        };
        Self {
            user,
            group: Err("libvirt uses a cgroup of its own, without a memory limit".to_owned()),
            view: Err("libvirt starts QEMU".to_owned()),
            file_limit: None,
        }
    }

    /// Whether QEMU runs as root because no unprivileged user can access its files.
    #[cfg(feature = "libvirt")]
    pub(super) fn runs_as_root(&self) -> bool {
        self.user.is_err()
    }

    /// Returns the active parts as text, for the record and `doctor`.
    pub fn active(&self) -> Vec<String> {
        let user = self.user.as_ref().ok().map(|user| match user {
            Some(user) => format!("user {}", user.name),
            None => "the controller's user".to_owned(),
        });
        let group = self.group.as_ref().ok().map(Cgroup::describe);
        let view = self.view.as_ref().ok().map(|view| view.describe().to_owned());
        let files = self.file_limit.map(|limit| format!("overlays of at most {} MiB", limit >> 20));
        ["sandbox on".to_owned()].into_iter().chain(user).chain(group).chain(view).chain(files).collect()
    }

    /// Returns the missing parts with the reasons, for the record and `doctor`.
    pub fn missing(&self) -> Vec<String> {
        let user = self.user.as_ref().err().map(|reason| format!("no unprivileged user: {reason}"));
        let group = self.group.as_ref().err().map(|reason| format!("no cgroup: {reason}"));
        let view = self.view.as_ref().err().map(|reason| format!("no namespaces: {reason}"));
        user.into_iter().chain(group).chain(view).collect()
    }

    /// Returns the setup of the new process, to be applied between fork and exec.
    pub(super) fn pre_exec_setup(&self) -> PreExecSetup {
        let user = self.user.as_ref().ok().and_then(Option::as_ref);
        PreExecSetup {
            group: self.group.as_ref().ok().map(Cgroup::procs_fd),
            view: self.view.as_ref().ok().cloned(),
            user: user.map(UnprivilegedUser::new),
            file_limit: self.file_limit,
        }
    }

    /// Returns a message if the host's kernel killed QEMU because the memory limit was reached.
    pub(super) fn memory_limit_reached(&self) -> Option<String> {
        self.group.as_ref().ok()?.memory_limit_reached()
    }
}

/// The changes that a new process makes to itself to be isolated.
pub(super) struct PreExecSetup {
    group: Option<RawFd>,
    view: Option<View>,
    user: Option<UnprivilegedUser>,
    file_limit: Option<u64>,
}

/// The numbers of the user that QEMU runs as.
pub(super) struct UnprivilegedUser {
    uid: Uid,
    gid: Gid,
    groups: Vec<Gid>,
}

impl UnprivilegedUser {
    /// Returns the user that QEMU runs as on this host; None: the controller's own user.
    pub fn of_this_host() -> Option<Self> {
        user(&[], Path::new("/"), false).ok().flatten().as_ref().map(Self::new)
    }

    fn new(user: &User) -> Self {
        Self {
            uid: Uid::from_raw(user.uid),
            gid: Gid::from_raw(user.gid),
            groups: user.groups.iter().map(|gid| Gid::from_raw(*gid)).collect(),
        }
    }

    /// Changes the user of this process. It runs between fork and exec, so it makes system calls only.
    pub fn switch_to(&self) -> io::Result<()> {
        setgroups(&self.groups)?;
        setgid(self.gid)?;
        setuid(self.uid)?;
        Ok(())
    }
}

impl PreExecSetup {
    /// Applies the setup to this process. It runs between fork and exec, so it makes system calls only.
    pub fn apply(&self) -> io::Result<()> {
        if let Some(group) = self.group {
            // SAFETY: writes one byte of a constant to a descriptor that its owner keeps open.
            let written = unsafe { nix::libc::write(group, c"0".as_ptr().cast(), 1) };
            nix::errno::Errno::result(written)?;
        }
        // No core dumps: a dump would contain the whole memory of the guest.
        setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
        let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
        setrlimit(Resource::RLIMIT_NOFILE, most.min(MAX_FILES), most.min(MAX_FILES))?;
        if let Some(limit) = self.file_limit {
            // Without the signal, QEMU gets an error for a write beyond the limit and stops its machine.
            // SAFETY: the signal is ignored, so no function of this process is called.
            unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }?;
            setrlimit(Resource::RLIMIT_FSIZE, limit, limit)?;
        }
        self.view.as_ref().map_or(Ok(()), View::enter)?;
        self.user.as_ref().map_or(Ok(()), UnprivilegedUser::switch_to)?;
        // QEMU's sandbox does the same, but later.
        nix::sys::prctl::set_no_new_privs()?;
        Ok(())
    }
}

/// Returns the user to run QEMU as. It opens `files` by the names of descriptors, so it need not reach their folders.
/// `has_view`: it does not see `folder`.
fn user(files: &[PathBuf], folder: &Path, has_view: bool) -> Result<Option<User>, String> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let passwd = fs::read_to_string("/etc/passwd").map_err(|error| format!("/etc/passwd: {error}"))?;
    let mut user =
        find_user(&passwd).ok_or_else(|| format!("the host has no user {}", USERS.join(" or ")))?;
    user.groups = fs::metadata(KVM).map_or(vec![], |kvm| groups_for(kvm.gid()));
    files.iter().try_for_each(|file| user.check_permission(file, READ))?;
    if has_view { Ok(Some(user)) } else { user.check_access(&[], folder).map(Some) }
}

/// The groups with which QEMU can open KVM: that of the device, but never that of root, to which other files of the host
/// belong.
fn groups_for(kvm: u32) -> Vec<u32> {
    Some(kvm).filter(|gid| *gid != 0).into_iter().collect()
}

/// Checks that the user of QEMU can open KVM on this host.
///
/// # Errors
/// It cannot: the cause and the remedy.
pub fn check_kvm_access() -> Result<(), String> {
    match user(&[], Path::new("/"), true) {
        Ok(Some(user)) if Path::new(KVM).exists() => user.check_permission(Path::new(KVM), READ | WRITE).map_err(|problem| {
            format!("{problem}, the user of QEMU; give it to a group of its own: chgrp kvm {KVM} && chmod 660 {KVM}")
        }),
        _ => Ok(()),
    }
}

const KVM: &str = "/dev/kvm";

/// Finds the user of QEMU in the text of /etc/passwd: a statically linked program has no name service. A user with the number
/// or the group of root is none.
fn find_user(passwd: &str) -> Option<User> {
    let rows: Vec<Vec<&str>> = passwd.lines().map(|line| line.split(':').collect()).collect();
    let find = |name: &str| {
        let fields = rows.iter().find(|fields| fields[0] == name)?;
        let number = |field: usize| fields.get(field)?.parse().ok().filter(|id| *id != 0);
        Some(User { name: name.to_owned(), uid: number(2)?, gid: number(3)?, groups: vec![] })
    };
    USERS.into_iter().find_map(find)
}

const READ: u32 = 4;
const WRITE: u32 = 2;
const SEARCH: u32 = 1;

impl User {
    /// Checks that the user can read `files` and enter `folder`.
    fn check_access(self, files: &[PathBuf], folder: &Path) -> Result<Self, String> {
        for file in files {
            let path = fs::canonicalize(file).map_err(|error| format!("{}: {error}", file.display()))?;
            self.check_path(&path)?;
            self.check_permission(&path, READ)?;
        }
        self.check_path(folder)?;
        self.check_permission(folder, SEARCH)?;
        Ok(self)
    }

    /// Checks that the user can enter every folder above `path`.
    fn check_path(&self, path: &Path) -> Result<(), String> {
        path.ancestors()
            .skip(1)
            .filter(|folder| !folder.as_os_str().is_empty())
            .try_for_each(|folder| self.check_permission(folder, SEARCH))
    }

    fn check_permission(&self, path: &Path, what: u32) -> Result<(), String> {
        let found = fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?;
        if self.permission_bits(&found) & what == what {
            Ok(())
        } else {
            Err(format!("{} is not open to {}", path.display(), self.name))
        }
    }

    /// Returns the three permission bits that apply to the user.
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
    fn access_of_a_user_depends_on_file_and_folder_permissions() {
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
        assert_eq!(allowed(0o004), [false, false, true], "the owner's bits apply to the owner only");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
        let error = other.check_path(&file).unwrap_err();
        assert_eq!(error, format!("{} is not open to other", folder.path().display()));
        fs::set_permissions(folder.path(), Permissions::from_mode(0o711)).unwrap();
        assert_eq!(other.check_path(&file), Ok(()));
    }

    #[test]
    fn users_are_found_by_name_in_passwd() {
        let passwd = "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65533::/nonexistent:/bin/false\n";
        let nobody = find_user(passwd).unwrap();
        assert_eq!((nobody.uid, nobody.gid), (65534, 65533));
        let own = find_user(&format!("{passwd}mcc-qemu:x:990:991::/:/bin/false")).unwrap();
        assert_eq!((own.name.as_str(), own.uid, own.gid), ("mcc-qemu", 990, 991));
        assert_eq!(find_user("root:x:0:0::/root:/bin/sh"), None);
    }

    #[test]
    fn the_user_of_qemu_is_never_in_the_group_of_root() {
        let passwd = "mcc-qemu:x:990:0::/:/bin/false\nnobody:x:65534:65534::/:/bin/false";
        assert_eq!(find_user(passwd).unwrap().name, "nobody", "the group of mcc-qemu is that of root");
        assert_eq!(find_user("mcc-qemu:x:0:990::/:/bin/false"), None, "it is root");
        assert_eq!((groups_for(0), groups_for(108)), (vec![], vec![108]));
    }
}
