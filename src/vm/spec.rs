//! A machine as asked for, and the QEMU arguments that make it.

use crate::host::Accelerator;
use std::path::PathBuf;

/// One machine: what it has and what it boots from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineSpec {
    pub accelerator: Accelerator,
    pub cpu_model: String,
    pub memory_mib: u64,
    pub vcpus: u32,
    pub kernel: PathBuf,
    pub initrd: PathBuf,
    /// qcow2; never written to.
    pub disk: PathBuf,
    /// Raw file systems, read-only at the level of QEMU; `/dev/vdb`, `/dev/vdc`, ...
    pub read_only_disks: Vec<PathBuf>,
    /// Host CPUs for the vCPU threads, one each; empty = not pinned.
    pub pin_to: Vec<u32>,
    /// Host CPUs for everything else of QEMU; empty = as inherited.
    pub rest_on: Vec<u32>,
}

/// Where the machine's ends are in this process; numbers of inherited sockets.
#[derive(Clone, Debug)]
pub struct Wiring {
    pub qmp: String,
    pub console: String,
    pub control: String,
    pub stdout: String,
    pub stderr: String,
}

impl Wiring {
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
const KERNEL_COMMAND_LINE: &str = "console=ttyS0 loglevel=4 panic=-1 oops=panic tsc=reliable no_timer_check \
                                   cryptomgr.notests audit=0 i8042.noaux i8042.nokbd";

/// A disk of the host that is full or broken stops the machine: its guest, and so the tool, never sees it (P2).
const STOP_ON_ERROR: &str = "werror=stop,rerror=stop";

/// QEMU's arguments. The disk is opened with a throw-away overlay (`snapshot=on`): QEMU unlinks it the
/// moment it is made, so nothing of it can outlive the machine, whatever ends it.
pub fn argv(spec: &MachineSpec, wiring: &Wiring) -> Vec<String> {
    let file = |path: &PathBuf| path.display().to_string().replace(',', ",,");
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
    arg("-machine", "q35,usb=off,vmport=off");
    arg("-accel", spec.accelerator.word());
    arg("-cpu", &spec.cpu_model);
    arg("-m", &format!("{}M", spec.memory_mib));
    arg("-smp", &format!("{0},sockets=1,cores={0},threads=1", spec.vcpus));
    arg("-rtc", "base=utc,clock=host");
    arg("-kernel", &spec.kernel.display().to_string());
    arg("-initrd", &spec.initrd.display().to_string());
    arg("-append", KERNEL_COMMAND_LINE);
    arg(
        "-drive",
        &format!("if=none,id=disk,format=qcow2,snapshot=on,{STOP_ON_ERROR},file={}", file(&spec.disk)),
    );
    arg("-device", "virtio-blk-pci,drive=disk");
    for (i, disk) in spec.read_only_disks.iter().enumerate() {
        arg(
            "-drive",
            &format!("if=none,id=ro{i},format=raw,readonly=on,{STOP_ON_ERROR},file={}", file(disk)),
        );
        arg("-device", &format!("virtio-blk-pci,drive=ro{i}"));
    }
    arg("-chardev", &format!("socket,id=qmp,fd={}", wiring.qmp));
    arg("-mon", "chardev=qmp,mode=control");
    arg("-chardev", &format!("socket,id=console,fd={}", wiring.console));
    arg("-serial", "chardev:console");
    arg("-device", "virtio-serial-pci");
    for (port, fd) in [
        (super::guest::CONTROL, &wiring.control),
        (super::guest::STDOUT, &wiring.stdout),
        (super::guest::STDERR, &wiring.stderr),
    ] {
        arg("-chardev", &format!("socket,id={port},fd={fd}"));
        arg("-device", &format!("virtserialport,chardev={port},name={port}"));
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> MachineSpec {
        MachineSpec {
            accelerator: Accelerator::Tcg,
            cpu_model: "SandyBridge".into(),
            memory_mib: 16384,
            vcpus: 4,
            kernel: "/i/vmlinux".into(),
            initrd: "/i/initrd".into(),
            disk: "/i/a,b.qcow2".into(),
            read_only_disks: vec!["/i/inputs.ext4".into()],
            pin_to: vec![],
            rest_on: vec![],
        }
    }

    #[test]
    fn a_machine_has_what_the_rules_say_and_nothing_else() {
        let args = argv(&spec(), &Wiring::placeholder()).join(" ");
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
}
