//! Isolation of QEMU from its host, in case a guest takes QEMU over: a user of its own, limits, a cgroup, a view of its own
//! (namespaces) and denied system calls, in addition to QEMU's own sandbox. If a part is not possible on a host, it is
//! reported, and the machine runs without it.

use super::cgroup::{Cgroup, Limits};
use super::denied_calls;
use super::own_id::OwnId;
use super::pidfd::{pidfd, wait_for};
use super::process::cpu_set;
use super::spec::{Guest, MachineSpec};
use super::view::{KVM, Reach, UserNumbers, View};
use crate::host::Accelerator;
use mcc_base::FileError;
use nix::sched::sched_setaffinity;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::unistd::{Gid, Pid, Uid, geteuid};
use seccompiler::BpfProgram;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::fd::RawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::Duration;

/// The users to run QEMU as if the controller is root and has no range of numbers for machines: the first one that the host
/// has.
const USERS: [&str; 2] = ["mcc-qemu", "nobody"];

/// Memory of QEMU in addition to the guest's memory: TCG keeps up to 1 GiB of translated code.
pub const OVERHEAD_MIB: u64 = 2048;

/// The largest number of open files of QEMU: it has about 20.
const MAX_FILES: u64 = 1024;

/// Threads of QEMU in addition to its vCPUs: at most 64 access files.
const MAX_THREADS: u32 = 128;

/// CPUs of QEMU in addition to its vCPUs, for all its other threads.
const MORE_CPUS: u32 = 2;

/// The isolation of one machine. Dropping it kills all processes of its cgroup and removes the cgroup.
#[derive(Debug)]
pub struct Isolation {
    /// None: the controller's own user, which is not root. Err: the reason why QEMU runs as root.
    user: Result<Option<User>, String>,
    /// Err: the reason why there is no cgroup.
    group: Result<Cgroup, String>,
    /// Err: the reason why QEMU sees all files of the host and uses its network.
    view: Result<View, String>,
    /// Err: the reason why only QEMU's own sandbox denies system calls.
    denied: Result<&'static BpfProgram, String>,
    /// The largest size of a file that QEMU writes, bytes: its overlays are the only ones.
    file_limit: Option<u64>,
    threads: u32,
}

#[derive(Clone, Debug)]
struct User {
    name: String,
    numbers: UserNumbers,
    /// Err: the reason why others have the same user.
    own: Result<Arc<OwnId>, String>,
}

impl Isolation {
    /// Makes the isolation of a machine whose results are in `folder`.
    pub fn new(spec: &MachineSpec, folder: &Path) -> Self {
        let reach =
            Reach { kvm: spec.accelerator == Accelerator::Kvm, ssh: matches!(spec.guest, Guest::Ssh(_)) };
        let isolation = Self::build(spec.memory_mib, spec.vcpus, &spec.reopened_files(), folder, reach);
        Self { file_limit: spec.overlay_limit(), ..isolation }
    }

    fn build(memory_mib: u64, vcpus: u32, files: &[PathBuf], folder: &Path, reach: Reach) -> Self {
        let view = View::new(reach);
        let threads = vcpus.saturating_add(MAX_THREADS);
        let group = Cgroup::new(Limits {
            memory_mib: memory_mib.saturating_add(OVERHEAD_MIB),
            processes: threads,
            cpus: vcpus.saturating_add(MORE_CPUS),
        });
        let user = user(files, folder, view.is_ok());
        let denied = denied_calls::filter(view.is_ok());
        Self { user, group, view, denied, file_limit: None, threads }
    }

    /// Makes the isolation of a machine whose results are in `folder`, to check what is possible on this host.
    pub fn of_this_host(memory_mib: u64, folder: &Path) -> Self {
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        Self::build(memory_mib, 1, &[], &folder, Reach { kvm: false, ssh: false })
    }

    /// The isolation of a machine that libvirt starts. `ids`: the user and group that libvirt reports for QEMU; they
    /// are used if they can access `files` and `folder`.
    #[cfg(feature = "libvirt")]
    pub(super) fn by_libvirt(ids: Option<(u32, u32)>, files: &[PathBuf], folder: &Path) -> Self {
        let user = match ids.filter(|_| geteuid().is_root()) {
            // A libvirt of the controller's own user.
            None => Ok(None),
            Some((0, _)) => Err("libvirt is configured to run QEMU as root".to_owned()),
            Some((uid, gid)) => {
                let own = Err("libvirt starts QEMU".to_owned());
                User::new(format!("{uid} (libvirt's)"), uid, gid, own).check_access(files, folder).map(Some)
            }
        };
        Self {
            user,
            group: Err("libvirt uses a cgroup of its own, without a memory limit".to_owned()),
            view: Err("libvirt starts QEMU".to_owned()),
            denied: Err("libvirt starts QEMU".to_owned()),
            file_limit: None,
            threads: 0,
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
            Some(User { own: Ok(_), name, .. }) => format!("user {name} of its own"),
            Some(user) => format!("user {}", user.name),
            None => "the controller's user".to_owned(),
        });
        let group = self.group.as_ref().ok().map(Cgroup::describe);
        let view = self.view.as_ref().ok().map(View::describe);
        let denied = self
            .denied
            .as_ref()
            .ok()
            .map(|_| "a filter of system calls installed before it starts".to_owned());
        let files = self.file_limit.map(|limit| format!("overlays of at most {} MiB", limit >> 20));
        let first = "sandbox on".to_owned();
        [first].into_iter().chain(user).chain(group).chain(view).chain(denied).chain(files).collect()
    }

    /// Returns the missing parts with the reasons, for the record and `doctor`.
    pub fn missing(&self) -> Vec<String> {
        let mut missing = vec![];
        let mut add = |what: &str, reason: &String| missing.push(format!("{what}: {reason}"));
        match &self.user {
            Err(reason) => add("no unprivileged user", reason),
            Ok(Some(User { own: Err(reason), .. })) => add("no user of its own", reason),
            Ok(None) => add("no user of its own", &"the controller is not root".to_owned()),
            Ok(Some(_)) => {}
        }
        match &self.group {
            Err(reason) => add("no cgroup", reason),
            Ok(group) => group.missing().iter().for_each(|reason| add("no limit of the cgroup", reason)),
        }
        if let Err(reason) = &self.view {
            add("no namespaces", reason);
        }
        if let Err(reason) = &self.denied {
            add("no denied system calls", reason);
        }
        missing.extend(self.view.iter().flat_map(View::missing));
        missing
    }

    /// Starts a program as the machine of this isolation, with these open files and on these CPUs. The kernel kills it when the
    /// calling thread ends.
    ///
    /// # Errors
    /// It does not start.
    pub fn spawn(&self, command: &mut Command, inherited: Vec<RawFd>, cpus: &[u32]) -> io::Result<Child> {
        let setup = PreExecSetup {
            groups: self.group.as_ref().map(Cgroup::procs_fds).unwrap_or_default(),
            view: self.view.as_ref().ok().cloned(),
            user: self.user.as_ref().ok().and_then(Option::as_ref).cloned(),
            denied: self.denied.as_ref().ok().copied(),
            file_limit: self.file_limit,
            threads: self.threads,
        };
        let cpus = cpu_set(cpus);
        let controller = pidfd(std::process::id()).ok_or_else(io::Error::last_os_error)?;
        // SAFETY: between fork and exec only system calls are made, on data prepared before.
        unsafe {
            command.pre_exec(move || {
                // A session of its own: signals of the terminal go to the controller only.
                nix::unistd::setsid()?;
                setup.apply()?;
                // After the change of user, which clears this setting.
                nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
                if wait_for(&controller, Duration::ZERO) {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
                if let Some(cpus) = &cpus {
                    sched_setaffinity(Pid::from_raw(0), cpus)?;
                }
                // Nor files that the controller itself inherited. Kernels before 5.11 do not know the flag.
                nix::libc::syscall(
                    nix::libc::SYS_close_range,
                    3,
                    nix::libc::c_uint::MAX,
                    nix::libc::CLOSE_RANGE_CLOEXEC,
                );
                for fd in &inherited {
                    nix::errno::Errno::result(nix::libc::fcntl(*fd, nix::libc::F_SETFD, 0))?;
                }
                // The last change, after which no other is possible.
                setup.denied.map_or(Ok(()), denied_calls::deny)
            });
        }
        match &self.view {
            Ok(view) => view.spawn(command),
            Err(_) => command.spawn(),
        }
    }

    /// The network of a machine that has the forwarded port in one of its own; None: the port is in that of the controller.
    ///
    /// # Errors
    /// The machine has ended.
    pub(super) fn network_of(&self, qemu: u32) -> io::Result<Option<File>> {
        let is_inside = self.view.as_ref().is_ok_and(View::has_port_inside);
        is_inside.then(|| File::open(format!("/proc/{qemu}/ns/net"))).transpose()
    }

    /// Returns a message if the host's kernel killed QEMU because the memory limit was reached.
    ///
    /// # Errors
    /// A file of its group cannot be read.
    pub(super) fn memory_limit_reached(&self) -> Result<Option<String>, FileError> {
        self.group.as_ref().map_or(Ok(None), Cgroup::memory_limit_reached)
    }
}

/// The changes that a new process makes to itself to be isolated.
struct PreExecSetup {
    groups: Vec<RawFd>,
    view: Option<View>,
    user: Option<User>,
    denied: Option<&'static BpfProgram>,
    file_limit: Option<u64>,
    threads: u32,
}

/// Returns the user that QEMU runs as on this host; None: the controller's own user.
pub(super) fn user_of_this_host() -> Option<UserNumbers> {
    Some(user(&[], Path::new("/"), false).ok()??.numbers)
}

impl PreExecSetup {
    /// Applies the setup to this process. It runs between fork and exec, so it makes system calls only.
    fn apply(&self) -> io::Result<()> {
        for group in &self.groups {
            // SAFETY: writes one byte of a constant to a descriptor that its owner keeps open.
            let written = unsafe { nix::libc::write(*group, c"0".as_ptr().cast(), 1) };
            nix::errno::Errno::result(written)?;
        }
        // No core dumps: a dump would contain the whole memory of the guest.
        setrlimit(Resource::RLIMIT_CORE, 0, 0)?;
        let lower = |resource: Resource, limit: u64| {
            let (_, most) = getrlimit(resource)?;
            setrlimit(resource, most.min(limit), most.min(limit))
        };
        lower(Resource::RLIMIT_NOFILE, MAX_FILES)?;
        if self.user.as_ref().is_some_and(|user| user.own.is_ok()) {
            // It counts all processes of a user.
            lower(Resource::RLIMIT_NPROC, self.threads.into())?;
        }
        if let Some(limit) = self.file_limit {
            // Without the signal, QEMU gets an error for a write beyond the limit and stops its machine.
            // SAFETY: the signal is ignored, so no function of this process is called.
            unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }?;
            setrlimit(Resource::RLIMIT_FSIZE, limit, limit)?;
        }
        let user = self.user.as_ref().map(|user| &user.numbers);
        match (&self.view, user) {
            (Some(view), user) => view.enter(user)?,
            (None, Some(user)) => user.switch_to()?,
            (None, None) => {}
        }
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
    let mut user = match OwnId::take() {
        Ok(own) => User::new(own.number.to_string(), own.number, own.number, Ok(Arc::new(own))),
        Err(reason) => {
            let user =
                find_user(&passwd).ok_or_else(|| format!("the host has no user {}", USERS.join(" or ")))?;
            User { own: Err(reason), ..user }
        }
    };
    if !has_view {
        user.numbers.groups = fs::metadata(KVM).map_or(vec![], |kvm| groups_for(kvm.gid()));
    }
    files.iter().try_for_each(|file| user.check_permission(file, READ))?;
    if has_view { Ok(Some(user)) } else { user.check_access(&[], folder).map(Some) }
}

/// The groups with which QEMU can open KVM: that of the device, but never that of root, to which other files of the host
/// belong.
fn groups_for(kvm: u32) -> Vec<Gid> {
    Some(kvm).filter(|gid| *gid != 0).into_iter().map(Gid::from_raw).collect()
}

/// Checks that the user of QEMU can open KVM on this host.
///
/// # Errors
/// It cannot: the cause and the remedy.
pub fn check_kvm_access() -> Result<(), String> {
    let kvm = Path::new(KVM);
    if !kvm.exists() || !geteuid().is_root() {
        return Ok(());
    }
    if let Ok(view) = View::new(Reach { kvm: true, ssh: false }) {
        return view
            .probe_kvm()
            .map_err(|error| format!("the device {KVM} of a machine cannot be made: {error}"));
    }
    match user(&[], Path::new("/"), false) {
        Ok(Some(user)) => user.check_permission(kvm, READ | WRITE).map_err(|problem| {
            format!("{problem}, the user of QEMU; give it to a group of its own: chgrp kvm {KVM} && chmod 660 {KVM}")
        }),
        _ => Ok(()),
    }
}

/// Finds the user of QEMU in the text of /etc/passwd: a statically linked program has no name service. A user with the number
/// or the group of root is none.
fn find_user(passwd: &str) -> Option<User> {
    let rows: Vec<Vec<&str>> = passwd.lines().map(|line| line.split(':').collect()).collect();
    let find = |name: &str| {
        let fields = rows.iter().find(|fields| fields[0] == name)?;
        let number = |field: usize| fields.get(field)?.parse().ok().filter(|id| *id != 0);
        Some(User::new(name.to_owned(), number(2)?, number(3)?, Err(String::new())))
    };
    USERS.into_iter().find_map(find)
}

const READ: u32 = 4;
const WRITE: u32 = 2;
const SEARCH: u32 = 1;

impl User {
    fn new(name: String, uid: u32, gid: u32, own: Result<Arc<OwnId>, String>) -> Self {
        let numbers = UserNumbers { uid: Uid::from_raw(uid), gid: Gid::from_raw(gid), groups: vec![] };
        Self { name, numbers, own }
    }

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

    fn is_in(&self, group: Gid) -> bool {
        self.numbers.gid == group || self.numbers.groups.contains(&group)
    }

    /// Returns the three permission bits that apply to the user.
    fn permission_bits(&self, found: &Metadata) -> u32 {
        let shift = match () {
            () if found.uid() == self.numbers.uid.as_raw() => 6,
            () if self.is_in(Gid::from_raw(found.gid())) => 3,
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
        let user = |uid: u32| User::new("other".into(), uid, own.gid() + 1, Err(String::new()));
        let (owner, other, mut member) = (user(own.uid()), user(own.uid() + 1), user(own.uid() + 1));
        member.numbers.groups = vec![Gid::from_raw(own.gid())];
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

    fn ids(user: &User) -> (u32, u32) {
        (user.numbers.uid.as_raw(), user.numbers.gid.as_raw())
    }

    #[test]
    fn users_are_found_by_name_in_passwd() {
        let passwd = "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65533::/nonexistent:/bin/false\n";
        let nobody = find_user(passwd).unwrap();
        assert_eq!(ids(&nobody), (65534, 65533));
        let own = find_user(&format!("{passwd}mcc-qemu:x:990:991::/:/bin/false")).unwrap();
        assert_eq!((own.name.as_str(), ids(&own)), ("mcc-qemu", (990, 991)));
        assert!(find_user("root:x:0:0::/root:/bin/sh").is_none());
    }

    #[test]
    fn the_user_of_qemu_is_never_in_the_group_of_root() {
        let passwd = "mcc-qemu:x:990:0::/:/bin/false\nnobody:x:65534:65534::/:/bin/false";
        assert_eq!(find_user(passwd).unwrap().name, "nobody", "the group of mcc-qemu is that of root");
        assert!(find_user("mcc-qemu:x:0:990::/:/bin/false").is_none(), "it is root");
        assert_eq!((groups_for(0), groups_for(108)), (vec![], vec![Gid::from_raw(108)]));
    }
}
