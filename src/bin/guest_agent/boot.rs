//! The start of the guest: drivers, the disk as root file system, the first event.

use anyhow::{Context, Result, bail};
use mcc_base::guest::GuestEvent;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, socket,
};
use std::fs::{self, File};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

/// A socket with the kernel's announcements of devices. It must be opened before the first driver is loaded.
pub struct Hotplug(OwnedFd);

impl Hotplug {
    /// Opens the socket.
    pub fn listen() -> Result<Self> {
        let announcements = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkKObjectUEvent,
        )?;
        bind(announcements.as_raw_fd(), &NetlinkAddr::new(0, 1))?;
        Ok(Self(announcements))
    }

    /// Calls `look` now and after every announcement until it returns a value.
    pub fn wait_for<T>(&self, mut look: impl FnMut() -> Option<T>) -> Result<T> {
        let mut announcement = [0; 8192];
        loop {
            if let Some(found) = look() {
                return Ok(found);
            }
            match recv(self.0.as_raw_fd(), &mut announcement, MsgFlags::empty()) {
                // ENOBUFS: announcements were dropped; `look` is called again in any case.
                Ok(_) | Err(nix::Error::ENOBUFS | nix::Error::EINTR) => {}
                Err(error) => bail!("listening for devices: {error}"),
            }
        }
    }
}

/// Loads the drivers of the initrd in the order of `/modules/order`.
pub fn load_modules() -> Result<()> {
    let order = fs::read_to_string("/modules/order").context("/modules/order")?;
    for module in order.lines() {
        let file = File::open(Path::new("/modules").join(module)).with_context(|| module.to_owned())?;
        nix::kmod::finit_module(&file, c"", nix::kmod::ModuleInitFlags::empty())
            .with_context(|| format!("loading {module}"))?;
    }
    Ok(())
}

/// Mounts the disk as root file system, with the other file systems that Linux programs expect.
pub fn switch_to_disk(hotplug: &Hotplug) -> Result<()> {
    special("devtmpfs", "/dev", MsFlags::empty(), "")?;
    special("sysfs", "/sys", MsFlags::empty(), "")?;
    hotplug.wait_for(|| Path::new("/dev/vda").exists().then_some(()))?;
    fs::create_dir_all("/disk")?;
    // Devices are those of devtmpfs only.
    let flags = MsFlags::MS_NOATIME | MsFlags::MS_NODEV;
    mount(Some("/dev/vda"), "/disk", Some("ext4"), flags, None::<&str>)
        .context("mounting the disk /dev/vda (an ext4 file system is expected)")?;
    // A link of the disk could lead to a folder of the tool, or of the inputs.
    for folder in ["/disk/dev", "/disk/sys", "/disk/proc", "/disk/run"] {
        if fs::symlink_metadata(folder).is_ok_and(|found| !found.is_dir()) {
            fs::remove_file(folder).with_context(|| format!("replacing {folder}"))?;
        }
        fs::create_dir_all(folder).with_context(|| folder.to_owned())?;
    }
    for folder in ["/dev", "/sys"] {
        mount(Some(folder), &*format!("/disk{folder}"), None::<&str>, MsFlags::MS_MOVE, None::<&str>)
            .with_context(|| format!("moving {folder} to the disk"))?;
    }
    // The kernel's threads keep the initrd as their root. With the disk, the kernel would start programs of it as root, such as
    // /sbin/modprobe, and a tool can cause that.
    unshare(CloneFlags::CLONE_FS)?;
    std::env::set_current_dir("/disk")?;
    mount(Some("."), "/", None::<&str>, MsFlags::MS_MOVE, None::<&str>)
        .context("making the disk the root")?;
    nix::unistd::chroot(".")?;
    std::env::set_current_dir("/")?;

    special("proc", "/proc", MsFlags::empty(), "")?;
    special("tmpfs", "/run", MsFlags::MS_NOSUID | MsFlags::MS_NODEV, "mode=755")?;
    special("tmpfs", "/dev/shm", MsFlags::MS_NOSUID | MsFlags::MS_NODEV, "mode=1777")?;
    special("devpts", "/dev/pts", MsFlags::empty(), "mode=620,ptmxmode=666")?;
    special("cgroup2", "/sys/fs/cgroup", MsFlags::empty(), "")?;
    for (link, target) in [("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")]
    {
        std::os::unix::fs::symlink(target, format!("/dev/{link}"))?;
    }
    // In a user namespace a tool could use network memory that its cgroup does not count.
    fs::write("/proc/sys/user/max_user_namespaces", "0").context("forbidding user namespaces")?;
    nix::unistd::sethostname("mcc")?;
    loopback_up().context("loopback interface")
}

fn special(fs: &str, at: &str, flags: MsFlags, options: &str) -> Result<()> {
    fs::create_dir_all(at)?;
    mount(Some(fs), at, Some(fs), flags, Some(options)).with_context(|| format!("mounting {fs} at {at}"))
}

/// Activates `lo` for programs that use 127.0.0.1. The machine has no other network interface.
fn loopback_up() -> Result<()> {
    let any = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    // SAFETY: an ifreq is plain data, zero is a valid value of each of its fields, and it outlives the call.
    let done = unsafe {
        let mut lo: nix::libc::ifreq = std::mem::zeroed();
        lo.ifr_name[0] = b'l' as _;
        lo.ifr_name[1] = b'o' as _;
        lo.ifr_ifru.ifru_flags = (nix::libc::IFF_UP | nix::libc::IFF_RUNNING) as _;
        nix::libc::ioctl(any.as_raw_fd(), nix::libc::SIOCSIFFLAGS as _, &lo)
    };
    nix::errno::Errno::result(done)?;
    Ok(())
}

/// Returns the `Ready` event with the kernel, CPU flags and memory of the guest.
pub fn ready() -> Result<GuestEvent> {
    let cpu = fs::read_to_string("/proc/cpuinfo")?;
    let flags = cpu.lines().find_map(|line| line.strip_prefix("flags")?.split_once(':'));
    Ok(GuestEvent::Ready {
        kernel: fs::read_to_string("/proc/sys/kernel/osrelease")?.trim().to_owned(),
        cpu_flags: flags.map(|(_, f)| f.split_whitespace().map(str::to_owned).collect()).unwrap_or_default(),
        memory_kib: total_memory_kib()?,
    })
}

/// Returns the memory that the guest's kernel manages, KiB.
pub fn total_memory_kib() -> Result<u64> {
    let memory = fs::read_to_string("/proc/meminfo")?;
    let total = memory.lines().find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next());
    total.and_then(|kib| kib.parse().ok()).context("MemTotal in /proc/meminfo")
}
