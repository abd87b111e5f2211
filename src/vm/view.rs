//! The view of QEMU on its host: namespaces in which only programs and libraries exist, read-only. QEMU inherits the files
//! of its machine as descriptors. So a guest that takes QEMU over finds no results of other runs, no secrets and no other
//! process to reach.

use crate::host::{Qemu, find_program};
use mcc_base::child_process::{self, Purpose};
use nix::fcntl::{OFlag, open};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::Mode;
use nix::unistd::{chdir, geteuid, mkdir, pivot_root, symlinkat};
use std::ffi::{CStr, CString, OsStr};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;

/// Folders and files of the host that QEMU and its libraries read, if they exist: programs, the cache of the dynamic
/// linker, the numbers of CPUs, and devices.
const OF_HOST: [&str; 16] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/sys/devices/system",
    "/dev/null",
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
    "/dev/kvm",
];

/// A view that is prepared completely before the fork: entering it makes system calls only.
#[derive(Clone, Debug)]
pub(super) struct View {
    namespaces: CloneFlags,
    steps: Vec<Step>,
    working_folder: CString,
}

/// One step of making the view. Paths of the host begin with `OLD_ROOT`.
#[derive(Clone, Debug)]
enum Step {
    Folder(CString),
    File(CString),
    Link { target: CString, at: CString },
    Bind { from: CString, at: CString },
}

/// An empty file system is mounted here in the new namespace. It becomes the root, which uncovers the host's folder.
const NEW_ROOT: &CStr = c"/tmp";
const OLD_ROOT_IN_NEW: &CStr = c"/tmp/.host";
const OLD_ROOT: &CStr = c"/.host";
const OWN_DESCRIPTORS: &CStr = c"/.host/proc/self/fd";

impl View {
    /// Prepares the view of a machine. `own_network`: the machine needs no network of the host.
    ///
    /// # Errors
    /// The reason why the view is not possible on this host.
    pub fn new(own_network: bool) -> Result<Self, String> {
        if !geteuid().is_root() {
            return Err("the controller is not root".to_owned());
        }
        let qemu = find_program(Qemu::NAME).and_then(|qemu| fs::canonicalize(qemu).ok());
        match qemu {
            None => return Err(format!("{} is not on PATH", Qemu::NAME)),
            Some(qemu) if !qemu.starts_with("/usr") => {
                return Err(format!(
                    "{} is not below /usr, so it is not known what it reads",
                    qemu.display()
                ));
            }
            Some(_) => {}
        }
        let mut namespaces = CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC;
        if own_network {
            namespaces |= CloneFlags::CLONE_NEWNET;
        }
        let prepare = || -> io::Result<Self> {
            let working_folder = std::env::current_dir()?;
            let mut view = Self { namespaces, steps: vec![], working_folder: c_string(&working_folder)? };
            for path in OF_HOST.map(Path::new) {
                if let Ok(target) = fs::read_link(path) {
                    let at = c_string(path)?;
                    view.steps.push(Step::Link { target: c_string(&target)?, at });
                } else if path.exists() {
                    view.bind(path)?;
                }
            }
            view.folder(&working_folder)?;
            // The descriptors of QEMU itself: it opens kernel, initrd and the memory of a saved state by the names of theirs.
            let own = Path::new("/dev/fd");
            view.folder(own)?;
            view.steps.push(Step::Bind { from: OWN_DESCRIPTORS.to_owned(), at: c_string(own)? });
            Ok(view)
        };
        let view = prepare().map_err(|error| error.to_string())?;
        view.probe().map_err(|error| format!("the namespaces cannot be made: {error}"))?;
        Ok(view)
    }

    /// The names of the namespaces, for the record.
    pub fn describe(&self) -> &'static str {
        if self.namespaces.contains(CloneFlags::CLONE_NEWNET) {
            "namespaces mount (no file of the host but programs and libraries), ipc and network"
        } else {
            "namespaces mount (no file of the host but programs and libraries) and ipc; network of the host for ssh"
        }
    }

    fn folder(&mut self, path: &Path) -> io::Result<()> {
        let mut above: Vec<&Path> = path.ancestors().filter(|folder| *folder != Path::new("/")).collect();
        above.reverse();
        for folder in above {
            self.steps.push(Step::Folder(c_string(folder)?));
        }
        Ok(())
    }

    fn bind(&mut self, path: &Path) -> io::Result<()> {
        let real = fs::canonicalize(path)?;
        if real.is_dir() {
            self.folder(path)?;
        } else {
            self.folder(path.parent().unwrap_or(Path::new("/")))?;
            self.steps.push(Step::File(c_string(path)?));
        }
        let from = [OLD_ROOT.to_bytes(), real.as_os_str().as_bytes()].concat();
        self.steps.push(Step::Bind { from: CString::new(from)?, at: c_string(path)? });
        Ok(())
    }

    /// Enters the view. It runs between fork and exec, as root, so it makes system calls only.
    pub fn enter(&self) -> io::Result<()> {
        const NONE: Option<&CStr> = None;
        unshare(self.namespaces)?;
        // Nothing that is mounted here is seen outside.
        mount(NONE, c"/", NONE, MsFlags::MS_REC | MsFlags::MS_PRIVATE, NONE)?;
        let plain = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
        mount(Some(c"none"), NEW_ROOT, Some(c"tmpfs"), plain, Some(c"mode=755,size=1m"))?;
        mkdir(OLD_ROOT_IN_NEW, Mode::S_IRWXU)?;
        pivot_root(NEW_ROOT, OLD_ROOT_IN_NEW)?;
        chdir(c"/")?;
        let readable = Mode::from_bits_truncate(0o755);
        let read_only = MsFlags::MS_BIND | MsFlags::MS_REMOUNT | MsFlags::MS_RDONLY | MsFlags::MS_NOSUID;
        for step in &self.steps {
            match step {
                Step::Folder(path) => match mkdir(path.as_c_str(), readable) {
                    Err(nix::errno::Errno::EEXIST) => {}
                    made => made?,
                },
                Step::File(path) => {
                    drop(open(
                        path.as_c_str(),
                        OFlag::O_CREAT | OFlag::O_RDONLY | OFlag::O_CLOEXEC,
                        readable,
                    )?);
                }
                Step::Link { target, at } => {
                    symlinkat(target.as_c_str(), nix::fcntl::AT_FDCWD, at.as_c_str())?;
                }
                Step::Bind { from, at } => {
                    mount(
                        Some(from.as_c_str()),
                        at.as_c_str(),
                        NONE,
                        MsFlags::MS_BIND | MsFlags::MS_REC,
                        NONE,
                    )?;
                    mount(NONE, at.as_c_str(), NONE, read_only, NONE)?;
                }
            }
        }
        umount2(OLD_ROOT, MntFlags::MNT_DETACH)?;
        mount(NONE, c"/", NONE, read_only | MsFlags::MS_NODEV, NONE)?;
        chdir(self.working_folder.as_c_str())?;
        Ok(())
    }

    /// Enters the view in a process that then ends.
    fn probe(&self) -> io::Result<()> {
        let view = self.clone();
        let mut process = child_process::command("/", Purpose::Local);
        process.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // SAFETY: between fork and exit only system calls are made, on data prepared before.
        unsafe {
            process.pre_exec(move || {
                view.enter()?;
                nix::libc::_exit(0)
            });
        }
        process.status().map(drop)
    }
}

fn c_string(path: &Path) -> io::Result<CString> {
    Ok(CString::new(AsRef::<OsStr>::as_ref(path).as_bytes())?)
}
