//! A machine as asked for, and the QEMU arguments that make it.

use super::saved_state::SavedState;
use super::ssh::Login;
use mcc_host::Accelerator;
use std::path::{Path, PathBuf};

/// Who starts QEMU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    #[default]
    Qemu,
    /// The libvirt of this host.
    #[cfg(feature = "libvirt")]
    Libvirt,
}

/// One machine: what it has and what it boots from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineSpec {
    pub backend: Backend,
    pub accelerator: Accelerator,
    pub cpu_model: String,
    pub memory_mib: u64,
    pub vcpus: u32,
    pub guest: Guest,
    /// Never written to.
    pub disk: DiskFile,
    /// Read-only at the level of QEMU; `/dev/vdb`, `/dev/vdc`, ...
    pub read_only_disks: Vec<DiskFile>,
    pub start: Start,
    /// Host CPUs for the vCPU threads, one each; empty = not pinned.
    pub vcpu_cpus: Vec<u32>,
    /// Host CPUs for everything else of QEMU; empty = as inherited.
    pub housekeeping_cpus: Vec<u32>,
}

/// How a machine boots and is talked to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guest {
    /// Ours: QEMU loads kernel and initrd, whose agent answers on virtio ports.
    Agent { kernel: PathBuf, initrd: PathBuf },
    /// An original contest disk: its own bootloader, its own sshd.
    Ssh(Original),
}

/// What an original disk needs to find itself at home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    pub login: Login,
    pub bus: Bus,
    pub nic: Nic,
}

/// How an original disk sees its disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bus {
    /// `/dev/vda`
    Virtio,
    /// `/dev/sda`, as BenchKit's QEMU of 2017 had it.
    Ide,
}

/// How an original disk sees its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nic {
    Virtio,
    E1000,
}

/// A disk image and its format as QEMU names it: `qcow2`, `raw`, `vmdk`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskFile {
    pub path: PathBuf,
    pub format: String,
}

impl DiskFile {
    pub fn new(path: PathBuf, format: &str) -> Self {
        Self { path, format: format.to_owned() }
    }
}

/// What a machine begins from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    Boot,
    /// Boots; what it writes goes to this overlay of the disk, which stays.
    Keep(PathBuf),
    /// Goes on where a machine of the same description was saved.
    Restore(SavedState),
}

impl MachineSpec {
    /// Every file that QEMU opens by its name to read it.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut files = vec![self.disk.path.clone()];
        if let Guest::Agent { kernel, initrd } = &self.guest {
            files.extend([kernel.clone(), initrd.clone()]);
        }
        match &self.start {
            Start::Boot => {}
            Start::Keep(overlay) => files.push(overlay.clone()),
            Start::Restore(saved) => files.push(saved.overlay()),
        }
        files.extend(self.read_only_disks.iter().map(|disk| disk.path.clone()));
        files
    }

    /// For the record: what its backend is told, the same for the same machine.
    pub fn description(&self) -> Vec<String> {
        match self.backend {
            Backend::Qemu => argv(self, &QemuSockets::placeholder()),
            #[cfg(feature = "libvirt")]
            Backend::Libvirt => super::libvirt::description(self),
        }
    }
}

/// Where the machine's ends are in this process; numbers of inherited sockets.
#[derive(Clone, Debug)]
pub struct QemuSockets {
    pub qmp: String,
    pub console: String,
    pub control: String,
    pub stdout: String,
    pub stderr: String,
}

impl QemuSockets {
    /// For the record: the same arguments whichever numbers the sockets had.
    pub fn placeholder() -> Self {
        let name = |name: &str| format!("<{name}>");
        Self {
            qmp: name("qmp"),
            console: name("console"),
            control: name("control"),
            stdout: name("stdout"),
            stderr: name("stderr"),
        }
    }
}

/// Only what helps a guest under any accelerator: no probing of hardware that is not there, no self-tests.
/// CPU vulnerability mitigations stay as a stock Debian has them: they change what a tool's time means.
pub(super) const KERNEL_COMMAND_LINE: &str = "console=ttyS0 loglevel=4 panic=-1 oops=panic tsc=reliable no_timer_check \
                                   cryptomgr.notests audit=0 i8042.noaux i8042.nokbd";

/// A disk of the host that is full or broken stops the machine: its guest, and so the tool, never sees it (R2).
const STOP_ON_ERROR: &str = "werror=stop,rerror=stop";

/// QEMU's arguments. The disk is opened with a throw-away overlay (`snapshot=on`): QEMU unlinks it the
/// moment it is made, so nothing of it can outlive the machine, whatever ends it.
pub fn argv(spec: &MachineSpec, qemu_sockets: &QemuSockets) -> Vec<String> {
    let mut args: Vec<String> = vec![];
    let mut arg = |option: &str, value: &str| {
        args.push(option.to_owned());
        if !value.is_empty() {
            args.push(value.to_owned());
        }
    };
    arg("-nodefaults", "");
    arg("-no-user-config", "");
    arg("-no-reboot", "");
    arg("-S", "");
    arg("-display", "none");
    arg("-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny");
    let machine = match &spec.guest {
        Guest::Agent { .. } => "q35",
        // What original disks were made for.
        Guest::Ssh(_) => "pc",
    };
    arg("-machine", &format!("{machine},usb=off,vmport=off"));
    arg("-accel", spec.accelerator.word());
    arg("-cpu", &spec.cpu_model);
    arg("-m", &format!("{}M", spec.memory_mib));
    arg("-smp", &format!("{0},sockets=1,cores={0},threads=1", spec.vcpus));
    arg("-rtc", "base=utc,clock=host");
    if let Guest::Agent { kernel, initrd } = &spec.guest {
        arg("-kernel", &kernel.display().to_string());
        arg("-initrd", &initrd.display().to_string());
        arg("-append", KERNEL_COMMAND_LINE);
    }
    if let Guest::Ssh(original) = &spec.guest {
        // Closed but for this port, which the kernel chooses: no two machines meet on one.
        arg("-netdev", "user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:0-:22");
        // Bootloaders write to it. Its slot and the network's are those that QEMU gave them under BenchKit,
        // because a Linux may name its network after the slot.
        arg("-device", "VGA,addr=2");
        let nic = match original.nic {
            Nic::Virtio => "virtio-net-pci",
            Nic::E1000 => "e1000",
        };
        arg("-device", &format!("{nic},netdev=net,addr=3"));
    }
    for (option, value) in disks(spec) {
        arg(option, &value);
    }
    // Only to be asked for what the guest's kernel says of its memory.
    arg("-device", "virtio-balloon-pci,id=balloon0");
    arg("-chardev", &format!("socket,id=qmp,fd={}", qemu_sockets.qmp));
    arg("-mon", "chardev=qmp,mode=control");
    arg("-chardev", &format!("socket,id=console,fd={}", qemu_sockets.console));
    arg("-serial", "chardev:console");
    if let Guest::Agent { .. } = &spec.guest {
        arg("-device", "virtio-serial-pci");
        for (port, fd) in [
            (mcc_base::guest::CONTROL, &qemu_sockets.control),
            (mcc_base::guest::STDOUT, &qemu_sockets.stdout),
            (mcc_base::guest::STDERR, &qemu_sockets.stderr),
        ] {
            arg("-chardev", &format!("socket,id={port},fd={fd}"));
            arg("-device", &format!("virtserialport,chardev={port},name={port}"));
        }
    }
    if let Start::Restore(_) = spec.start {
        arg("-incoming", "defer");
    }
    args
}

fn disks(spec: &MachineSpec) -> Vec<(&'static str, String)> {
    let file = |path: &Path| path.display().to_string().replace(',', ",,");
    let snapshot_drive = |disk: &DiskFile| {
        format!("format={},snapshot=on,{STOP_ON_ERROR},file={}", disk.format, file(&disk.path))
    };
    let bus = match &spec.guest {
        Guest::Agent { .. } => Bus::Virtio,
        Guest::Ssh(original) => original.bus,
    };
    let device = |drive: &str, unit: usize| match bus {
        Bus::Virtio => ("-device", format!("virtio-blk-pci,drive={drive}")),
        Bus::Ide => ("-device", format!("ide-hd,drive={drive},bus=ide.{},unit={}", unit / 2, unit % 2)),
    };
    let disk = match &spec.start {
        Start::Boot => snapshot_drive(&spec.disk),
        Start::Keep(overlay) => format!("format=qcow2,{STOP_ON_ERROR},file={}", file(overlay)),
        Start::Restore(saved) => {
            format!("format=qcow2,snapshot=on,{STOP_ON_ERROR},file={}", file(&saved.overlay()))
        }
    };
    let mut args = vec![("-drive", format!("if=none,id=disk,{disk}")), device("disk", 0)];
    for (i, disk) in spec.read_only_disks.iter().enumerate() {
        let options = match bus {
            Bus::Virtio => {
                format!("format={},readonly=on,{STOP_ON_ERROR},file={}", disk.format, file(&disk.path))
            }
            // IDE knows no read-only disks: QEMU opens the file read-only, and throws away what is written.
            Bus::Ide => snapshot_drive(disk),
        };
        args.push(("-drive", format!("if=none,id=ro{i},{options}")));
        args.push(device(&format!("ro{i}"), i + 1));
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> MachineSpec {
        MachineSpec {
            backend: Backend::Qemu,
            accelerator: Accelerator::Tcg,
            cpu_model: "SandyBridge".into(),
            memory_mib: 16384,
            vcpus: 4,
            guest: Guest::Agent { kernel: "/i/vmlinux".into(), initrd: "/i/initrd".into() },
            disk: DiskFile::new("/i/a,b.qcow2".into(), "qcow2"),
            read_only_disks: vec![DiskFile::new("/i/inputs.ext4".into(), "raw")],
            start: Start::Boot,
            vcpu_cpus: vec![],
            housekeeping_cpus: vec![],
        }
    }

    #[test]
    fn a_machine_has_what_the_rules_say_and_nothing_else() {
        let args = argv(&spec(), &QemuSockets::placeholder()).join(" ");
        for part in [
            "-cpu SandyBridge ",
            "-m 16384M ",
            "-smp 4,sockets=1,cores=4,threads=1 ",
            "-nodefaults ",
            "snapshot=on,werror=stop,rerror=stop,file=/i/a,,b.qcow2 ",
            "format=raw,readonly=on,werror=stop,rerror=stop,file=/i/inputs.ext4 ",
        ] {
            assert!(args.contains(part), "{part} in {args}");
        }
        assert!(!args.contains("-netdev") && !args.contains("-nic"), "no network: {args}");
    }

    #[test]
    fn an_original_disk_boots_by_itself_and_reaches_nothing_but_its_own_port() {
        let login = Login { user: "mcc".into(), key: "/i/key".into() };
        let original = Original { login, bus: Bus::Ide, nic: Nic::E1000 };
        let disk = DiskFile::new("/i/lola.vmdk".into(), "vmdk");
        let args =
            argv(&MachineSpec { guest: Guest::Ssh(original), disk, ..spec() }, &QemuSockets::placeholder());
        let args = args.join(" ");
        for part in [
            "format=vmdk,snapshot=on,werror=stop,rerror=stop,file=/i/lola.vmdk ",
            "ide-hd,drive=disk,bus=ide.0,unit=0 ",
            "format=raw,snapshot=on,werror=stop,rerror=stop,file=/i/inputs.ext4 ",
            "-device e1000,netdev=net,addr=3 ",
            "-netdev user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:0-:22",
        ] {
            assert!(args.contains(part), "{part} in {args}");
        }
        for absent in ["-kernel", "virtio-blk", "virtio-serial", "virtserialport", "-incoming"] {
            assert!(!args.contains(absent), "{absent} in {args}");
        }
    }
}
