//! The view of QEMU on its host: namespaces in which only QEMU, its libraries and its firmware exist, read-only. QEMU inherits
//! the files of its machine as descriptors. So a guest that takes QEMU over finds no results of other runs, no secrets and no
//! other process to reach.

use crate::host::{Qemu, find_program};
use mcc_base::child_process::{self, Purpose};
use nix::fcntl::{AT_FDCWD, OFlag, open, openat};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::sys::stat::{Mode, SFlag, mknod};
use nix::sys::statvfs::statvfs;
use nix::unistd::{
    Gid, Uid, chdir, chown, getegid, geteuid, mkdir, pivot_root, setgid, setgroups, sethostname,
};
use nix::unistd::{setuid, symlinkat};
use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, OnceLock};

/// Folders and files of the host that QEMU and its libraries read, if they exist: libraries, firmware, the cache of the dynamic
/// linker, the numbers of CPUs, and devices.
const OF_HOST: [&str; 24] = [
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libx32",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/usr/local/share/qemu",
    "/usr/share/ipxe",
    "/usr/share/qemu",
    "/usr/share/seabios",
    "/usr/share/seavgabios",
    "/usr/share/vgabios",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/sys/devices/system",
    "/dev/null",
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
];

/// The device of KVM.
pub(super) const KVM: &str = "/dev/kvm";

/// What a machine can reach in addition to the files of its view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reach {
    /// Its accelerator is KVM.
    pub kvm: bool,
    /// It forwards a port for ssh.
    pub ssh: bool,
}

/// The numbers of the user that QEMU runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UserNumbers {
    pub uid: Uid,
    pub gid: Gid,
    /// Supplementary groups.
    pub groups: Vec<Gid>,
}

impl UserNumbers {
    /// Changes the user of this process. It runs between fork and exec, so it makes system calls only.
    pub fn switch_to(&self) -> io::Result<()> {
        setgroups(&self.groups)?;
        setgid(self.gid)?;
        setuid(self.uid)?;
        Ok(())
    }
}

/// A view that is prepared completely before the fork: entering it makes system calls only.
#[derive(Clone, Debug)]
pub(super) struct View {
    steps: Arc<Vec<Step>>,
    /// Whether the controller is root, and so may make the namespaces without a user namespace.
    is_root: bool,
    /// Err: why there is no user namespace.
    user_namespace: Result<(), String>,
    reach: Reach,
}

/// One step of making the view. Paths of the host begin with `OLD_ROOT`.
#[derive(Clone, Debug)]
enum Step {
    Folder(CString),
    File(CString),
    Link { target: CString, at: CString },
    Bind { from: CString, at: CString, flags: MsFlags },
}

/// An empty file system is mounted here in the new namespace. It becomes the root, which uncovers the host's folder.
const NEW_ROOT: &CStr = c"/tmp";
const OLD_ROOT_IN_NEW: &CStr = c"/tmp/.host";
const OLD_ROOT: &CStr = c"/.host";
const OWN_DESCRIPTORS: &CStr = c"/.host/proc/self/fd";
const HOST_NAME: &str = "machine";

impl View {
    /// Prepares the view of a machine.
    ///
    /// # Errors
    /// The reason why the view is not possible on this host.
    pub fn new(reach: Reach) -> Result<Self, String> {
        static OF_HOST: OnceLock<Result<View, String>> = OnceLock::new();
        Ok(Self { reach, ..OF_HOST.get_or_init(Self::prepare).clone()? })
    }

    fn prepare() -> Result<Self, String> {
        let qemu = find_program(Qemu::NAME).and_then(|qemu| fs::canonicalize(qemu).ok());
        let qemu = qemu.ok_or_else(|| format!("{} is not on PATH", Qemu::NAME))?;
        let mut start = [0; 2];
        let is_script =
            File::open(&qemu).and_then(|mut file| file.read_exact(&mut start)).is_ok() && &start == b"#!";
        if is_script || !qemu.starts_with("/usr") {
            return Err(format!(
                "{} is a script or not below /usr, so it is not known what it reads",
                qemu.display()
            ));
        }
        let is_root = geteuid().is_root();
        let mut steps = Steps(vec![]);
        let prepared = || -> io::Result<Vec<Step>> {
            for path in OF_HOST.iter().map(Path::new).chain([qemu.as_path()]) {
                if let Ok(target) = fs::read_link(path) {
                    steps.folder(path.parent().unwrap_or(Path::new("/")))?;
                    let at = c_string(path)?;
                    steps.0.push(Step::Link { target: c_string(&target)?, at });
                } else if path.exists() {
                    steps.bind(path)?;
                }
            }
            if !is_root && Path::new(KVM).exists() {
                steps.bind(Path::new(KVM))?;
            }
            // The descriptors of QEMU itself: it opens kernel, initrd and the memory of a saved state by the names of theirs.
            let own = Path::new("/dev/fd");
            steps.folder(own)?;
            let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
            steps.0.push(Step::Bind { from: OWN_DESCRIPTORS.to_owned(), at: c_string(own)?, flags });
            Ok(steps.0)
        };
        let steps = Arc::new(prepared().map_err(|error| error.to_string())?);
        let reach = Reach { kvm: false, ssh: is_root };
        let view = Self { steps, is_root, user_namespace: Ok(()), reach };
        let Err(error) = view.probe() else { return Ok(view) };
        let without = Self { user_namespace: Err(error.to_string()), ..view };
        // Without root the user namespace gives the right to make the others.
        if is_root && without.probe().is_ok() {
            return Ok(without);
        }
        Err(format!("the namespaces cannot be made: {error}"))
    }

    /// The names of the namespaces, for the record.
    pub fn describe(&self) -> String {
        let mut names = vec!["mount (no file of the host but QEMU, libraries and firmware)", "ipc", "uts"];
        names.extend(self.has_network().then_some("network"));
        names.extend(self.is_root.then_some("pid"));
        names.extend(self.user_namespace.is_ok().then_some("user"));
        format!("namespaces {}", names.join(", "))
    }

    /// The namespaces that are not possible on this host, with the reasons.
    pub fn missing(&self) -> Vec<String> {
        let user = self.user_namespace.as_ref().err().map(|reason| format!("no user namespace: {reason}"));
        let pid = (!self.is_root).then(|| "no PID namespace: the controller is not root".to_owned());
        let network =
            "no network namespace: the controller is not root, so its ssh could not enter it".to_owned();
        let network = (!self.has_network()).then_some(network);
        user.into_iter().chain(pid).chain(network).collect()
    }

    fn has_network(&self) -> bool {
        self.is_root || !self.reach.ssh
    }

    /// Whether the machine has a network of its own that the controller must enter to reach its ssh port.
    pub fn has_port_inside(&self) -> bool {
        self.reach.ssh && self.is_root
    }

    /// Starts a process that will call `enter`: as the first one of a PID namespace if the controller may make one.
    pub fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        if !self.is_root {
            return command.spawn();
        }
        let own = File::open("/proc/self/ns/pid")?;
        // It applies to the children that this thread starts, not to the thread itself.
        unshare(CloneFlags::CLONE_NEWPID)?;
        let child = command.spawn();
        match (child, setns(&own, CloneFlags::CLONE_NEWPID)) {
            (Ok(mut child), Err(error)) => {
                child.kill()?;
                Err(error.into())
            }
            (child, _) => child,
        }
    }

    /// Enters the view and becomes the user. It runs between fork and exec, so it makes system calls only.
    pub fn enter(&self, user: Option<&UserNumbers>) -> io::Result<()> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let own = open(c"/proc/self", flags, Mode::empty())?;
        let namespaces = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC | CloneFlags::CLONE_NEWUTS;
        let network = if self.has_network() { CloneFlags::CLONE_NEWNET } else { CloneFlags::empty() };
        if !self.is_root {
            user_namespace(&own, geteuid().as_raw(), getegid().as_raw())?;
        }
        unshare(namespaces | network)?;
        sethostname(HOST_NAME)?;
        if self.has_port_inside() {
            enable_loopback()?;
        }
        self.make_root(user)?;
        if let Some(user) = user {
            user.switch_to()?;
        }
        if self.is_root && self.user_namespace.is_ok() {
            // The files of a process that has changed its user belong to root, so it could not write the numbers.
            nix::sys::prctl::set_dumpable(true)?;
            let (uid, gid) = user.map_or((0, 0), |user| (user.uid.as_raw(), user.gid.as_raw()));
            user_namespace(&own, uid, gid)?;
        }
        Ok(())
    }

    fn make_root(&self, user: Option<&UserNumbers>) -> io::Result<()> {
        const NONE: Option<&CStr> = None;
        // Nothing that is mounted here is seen outside.
        mount(NONE, c"/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE)?;
        mount(Some(c"none"), NEW_ROOT, Some(c"tmpfs"), MsFlags::MS_NOSUID, Some(c"mode=755,size=1m"))?;
        mkdir(OLD_ROOT_IN_NEW, Mode::S_IRWXU)?;
        pivot_root(NEW_ROOT, OLD_ROOT_IN_NEW)?;
        chdir(c"/")?;
        let readable = Mode::from_bits_truncate(0o755);
        let read_only = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY | MsFlags::MS_NOSUID;
        for step in self.steps.iter() {
            match step {
                Step::Folder(path) => match mkdir(path.as_c_str(), readable) {
                    Err(nix::errno::Errno::EEXIST) => {}
                    made => made?,
                },
                Step::File(path) => {
                    let flags = OFlag::O_CREAT | OFlag::O_RDONLY | OFlag::O_CLOEXEC;
                    drop(open(path.as_c_str(), flags, readable)?);
                }
                Step::Link { target, at } => symlinkat(target.as_c_str(), AT_FDCWD, at.as_c_str())?,
                Step::Bind { from, at, flags } => {
                    let recursive = MsFlags::MS_BIND | MsFlags::MS_REC;
                    mount(Some(from.as_c_str()), at.as_c_str(), NONE, recursive, NONE)?;
                    mount(NONE, at.as_c_str(), NONE, read_only | *flags, NONE)?;
                }
            }
        }
        if let (true, Some(user)) = (self.reach.kvm && self.is_root, user) {
            // A device of its own, so that its user needs no group of the host.
            let device = c"/.host/dev/kvm";
            let number = nix::sys::stat::stat(device)?.st_rdev;
            mknod(c"/dev/kvm", SFlag::S_IFCHR, Mode::S_IRUSR | Mode::S_IWUSR, number)?;
            chown(c"/dev/kvm", Some(user.uid), Some(user.gid))?;
        }
        umount2(OLD_ROOT, MntFlags::MNT_DETACH)?;
        nix::unistd::unlinkat(AT_FDCWD, OLD_ROOT, nix::unistd::UnlinkatFlags::RemoveDir)?;
        mount(NONE, c"/", NONE, read_only, NONE)?;
        Ok(())
    }

    /// Whether a machine can have the device of KVM.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn probe_kvm(&self) -> io::Result<()> {
        Self { reach: Reach { kvm: true, ssh: false }, ..self.clone() }.probe()
    }

    /// Enters the view in a process that then ends.
    fn probe(&self) -> io::Result<()> {
        let view = self.clone();
        // Any user but root.
        let other = UserNumbers { uid: Uid::from_raw(65_534), gid: Gid::from_raw(65_534), groups: vec![] };
        let user = self.is_root.then_some(other);
        let mut process = child_process::command("/", Purpose::Local);
        process.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // SAFETY: between fork and exit only system calls are made, on data prepared before.
        unsafe {
            std::os::unix::process::CommandExt::pre_exec(&mut process, move || {
                view.enter(user.as_ref())?;
                nix::libc::_exit(0)
            });
        }
        self.spawn(&mut process)?.wait().map(drop)
    }
}

/// Enters a user namespace that has no user but this one. `own`: the folder of this process in /proc.
fn user_namespace(own: &OwnedFd, uid: u32, gid: u32) -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWUSER)?;
    write_number_map(own, c"uid_map", uid)?;
    write_file(own, c"setgroups", b"deny")?;
    write_number_map(own, c"gid_map", gid)
}

/// Maps a number to itself. It runs between fork and exec, so it makes system calls only.
fn write_number_map(own: &OwnedFd, name: &CStr, number: u32) -> io::Result<()> {
    let mut text = [0; 40];
    let mut rest = &mut text[..];
    io::Write::write_fmt(&mut rest, format_args!("{number} {number} 1"))?;
    let unused = rest.len();
    write_file(own, name, &text[..text.len() - unused])
}

fn write_file(folder: &OwnedFd, name: &CStr, text: &[u8]) -> io::Result<()> {
    let file = openat(folder, name, OFlag::O_WRONLY | OFlag::O_CLOEXEC, Mode::empty())?;
    nix::unistd::write(file, text)?;
    Ok(())
}

/// Gives the network of this process the address 127.0.0.1.
fn enable_loopback() -> io::Result<()> {
    let any = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    // SAFETY: all bytes 0 are a value of this plain structure, and the call only reads it.
    unsafe {
        let mut request: nix::libc::ifreq = std::mem::zeroed();
        request.ifr_name[..2].copy_from_slice(&[b'l'.cast_signed(), b'o'.cast_signed()]);
        request.ifr_ifru.ifru_flags = nix::libc::IFF_UP as i16;
        let enabled = nix::libc::ioctl(any.as_fd().as_raw_fd(), nix::libc::SIOCSIFFLAGS, &raw const request);
        nix::errno::Errno::result(enabled)?;
    }
    Ok(())
}

struct Steps(Vec<Step>);

impl Steps {
    fn folder(&mut self, path: &Path) -> io::Result<()> {
        let mut above: Vec<&Path> = path.ancestors().filter(|folder| *folder != Path::new("/")).collect();
        above.reverse();
        for folder in above {
            self.0.push(Step::Folder(c_string(folder)?));
        }
        Ok(())
    }

    fn bind(&mut self, path: &Path) -> io::Result<()> {
        let real = fs::canonicalize(path)?;
        if real.is_dir() {
            self.folder(path)?;
        } else {
            self.folder(path.parent().unwrap_or(Path::new("/")))?;
            self.0.push(Step::File(c_string(path)?));
        }
        let from = [OLD_ROOT.to_bytes(), real.as_os_str().as_bytes()].concat();
        // In a user namespace, the flags that the mount has on the host cannot be taken away.
        let kept = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        let flags = MsFlags::from_bits_truncate(statvfs(&real)?.flags().bits()) & kept;
        let no_device = fs::metadata(&real)?.rdev() == 0;
        let flags = if no_device { flags | MsFlags::MS_NODEV } else { flags };
        self.0.push(Step::Bind { from: CString::new(from)?, at: c_string(path)?, flags });
        Ok(())
    }
}

fn c_string(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}
