//! The specification of a machine and the QEMU arguments for it.

use super::disk_header::{DiskError, DiskFile, check_disk};
use super::held_files::HeldFiles;
use super::instructions::{self, InstructionSource};
use super::overlay;
use super::saved_state::SavedState;
use crate::host::Accelerator;
use mcc_base::machine::{Backend, DiskBus, NicModel, Original};
use mcc_plugin::{COUNTERS_ARGUMENT, LIMIT_ALL, LIMIT_USER};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The specification of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineSpec {
    /// The program that starts QEMU.
    pub backend: Backend,
    /// How QEMU executes guest code.
    pub accelerator: Accelerator,
    /// QEMU's name of the CPU model.
    pub cpu_model: String,
    /// Memory of the guest, MiB.
    pub memory_mib: u64,
    /// Number of virtual CPUs, all in one socket, one thread per core.
    pub vcpus: u32,
    /// How the machine boots, and the channel to its guest.
    pub guest: Guest,
    /// The disk that the machine boots from. The file is not changed.
    pub disk: DiskFile,
    /// Disks that QEMU opens read-only: `/dev/vdb`, `/dev/vdc`, ...
    pub read_only_disks: Vec<DiskFile>,
    /// Open files: a machine reads these of the files that it names. Others it opens by name when it starts.
    pub held_files: HeldFiles,
    /// Whether the machine boots or starts from a saved state.
    pub start: Start,
    /// Host CPUs for the vCPU threads, one each; empty: not pinned.
    pub vcpu_cpus: Vec<u32>,
    /// Host CPUs for all other threads of QEMU; empty: those of the controller.
    pub housekeeping_cpus: Vec<u32>,
    /// Bytes that the writes to each disk may take on the host; None: no limit but the size of the disk. A machine that
    /// writes more ends with `VmError::DiskLimit`.
    pub disk_limit: Option<u64>,
    /// Whether the instructions of the guest are counted, if that is possible (`Machine::instructions`).
    pub count_instructions: bool,
    /// Whether a limit of instructions can apply (`Machine::apply_instruction_limit`); only with `count_instructions`.
    pub limit_instructions: bool,
    /// Whether the guest's kernel places programs at the same addresses each time; only with `Guest::Agent`.
    pub fixed_addresses: bool,
}

/// How a machine boots, and the channel to its guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guest {
    /// QEMU loads kernel and initrd. The guest agent in the initrd uses virtio ports.
    Agent {
        /// Path of the kernel.
        kernel: PathBuf,
        /// Path of the initrd.
        initrd: PathBuf,
    },
    /// An original disk, with its own bootloader and sshd.
    Ssh(Original),
}

/// How a machine starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// It boots.
    Boot,
    /// It boots, and its memory and its writes to the disk are in the files of this state.
    Save(SavedState),
    /// It continues from the saved state of a machine with the same specification.
    Restore(SavedState),
}

impl MachineSpec {
    /// The bus of the disks.
    fn bus(&self) -> DiskBus {
        match &self.guest {
            Guest::Agent { .. } => DiskBus::Virtio,
            Guest::Ssh(original) => original.disk,
        }
    }

    /// Returns all disks that QEMU opens by name.
    pub fn disks(&self) -> Vec<DiskFile> {
        [&self.disk].into_iter().chain(&self.read_only_disks).cloned().collect()
    }

    /// Returns the disks to which the guest writes: each needs an overlay.
    pub fn overlay_disks(&self) -> Vec<&DiskFile> {
        let read_only = self.read_only_disks.iter().filter(|_| self.bus() == DiskBus::Ide);
        [&self.disk].into_iter().chain(read_only).collect()
    }

    /// Whether QEMU is started with the plugin that counts instructions.
    pub(super) fn has_plugin(&self) -> bool {
        instructions::source(self) == Ok(InstructionSource::Plugin)
    }

    /// The largest size of an overlay, bytes.
    pub(super) fn overlay_limit(&self) -> Option<u64> {
        self.disk_limit.map(overlay::most_bytes)
    }

    /// Returns the free space that the overlays of the machine need on the host at most, bytes.
    ///
    /// # Errors
    /// A disk is refused.
    pub fn overlay_space(&self) -> Result<u64, DiskError> {
        let limit = self.overlay_limit().unwrap_or(u64::MAX);
        let sizes = self.overlay_disks().into_iter().map(check_disk);
        sizes.map(|size| Ok(overlay::whole_bytes(size?).min(limit))).sum()
    }

    /// Returns the paths of the files that QEMU opens by the names of descriptors, so that its user must have permission.
    pub(super) fn reopened_files(&self) -> Vec<PathBuf> {
        match &self.guest {
            Guest::Agent { kernel, initrd } => vec![kernel.clone(), initrd.clone()],
            Guest::Ssh(_) => vec![],
        }
    }

    /// Returns the paths of all files that QEMU reads.
    pub fn files(&self) -> Vec<PathBuf> {
        let disks = self.disks().into_iter().map(|disk| disk.path);
        disks.chain(self.reopened_files()).collect()
    }
}

/// The descriptor numbers of the sockets that QEMU inherits, as text.
#[derive(Clone, Debug)]
pub struct QemuSockets {
    /// QEMU's control protocol.
    pub qmp: String,
    /// The guest's serial console.
    pub console: String,
    /// The virtio port for requests and events.
    pub control: String,
    /// The virtio port for the tool's standard output.
    pub stdout: String,
    /// The virtio port for the tool's standard error.
    pub stderr: String,
    /// The overlays, in the order of `MachineSpec::overlay_disks`: not sockets but files.
    pub overlays: Vec<String>,
    /// The files of `MachineSpec::files`, in this order; empty: QEMU opens them by name.
    pub files: Vec<String>,
    /// The files of a saved state: the memory, and what the saved machine wrote to its disk.
    pub saved: [String; 2],
    /// The plugin of QEMU that counts instructions, and the file of its counters.
    pub plugin: [String; 2],
}

impl QemuSockets {
    /// Returns names in place of the numbers, so that recorded arguments do not depend on the numbers.
    pub fn placeholder() -> Self {
        let name = |name: &str| format!("<{name}>");
        Self {
            qmp: name("qmp"),
            console: name("console"),
            control: name("control"),
            stdout: name("stdout"),
            stderr: name("stderr"),
            overlays: vec![],
            files: vec![],
            saved: ["memory", "saved"].map(name),
            plugin: ["plugin", "counters"].map(name),
        }
    }
}

/// The kernel's options: they omit self-tests and probes for absent hardware, which saves time under any accelerator.
/// Mitigations of CPU vulnerabilities stay as in Debian, because they affect the measured time of a program.
const KERNEL_COMMAND_LINE: &str = "console=ttyS0 loglevel=4 panic=-1 oops=panic tsc=reliable no_timer_check \
                                   cryptomgr.notests audit=0 i8042.noaux i8042.nokbd";

/// Returns the options of the guest's kernel.
pub(super) fn kernel_command_line(spec: &MachineSpec) -> String {
    format!("{KERNEL_COMMAND_LINE}{}", if spec.fixed_addresses { " norandmaps" } else { "" })
}

/// The device with which QEMU recognizes a panic of the guest's kernel; the initrd has its driver.
pub(super) const PANIC_DEVICE: &str = "pvpanic-pci";

/// If a disk of the host is full or fails, QEMU stops the machine, so that the guest does not see an I/O error.
const STOP_ON_ERROR: &str = "werror=stop,rerror=stop";

/// As `STOP_ON_ERROR` for a read-only disk: only the guest can cause a failed write, so it gets the error.
const REPORT_WRITES: &str = "werror=report,rerror=stop";

/// Returns the arguments of QEMU. Each disk is an explicit chain of block nodes with a fixed format: QEMU never probes a
/// format, follows no reference in a header, and takes no file name for the address of a server. Writes go to overlays
/// without a name, which QEMU inherits as descriptors. QEMU locks no file: a user who can read a disk can lock it, and a locked
/// disk would stop all machines.
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
        // Without the controllers that it does not use.
        Guest::Agent { .. } => "q35,sata=off,smbus=off",
        // The machine type for which original disks were made.
        Guest::Ssh(_) => "pc",
    };
    let has_memory_file = !matches!(spec.start, Start::Boot);
    let backend = if has_memory_file { ",memory-backend=memory" } else { "" };
    // Pages of two machines are never merged: the time of a write would tell what another machine has in memory.
    arg("-machine", &format!("{machine},usb=off,vmport=off,mem-merge=off{backend}"));
    if has_memory_file {
        let (size, fd) = (spec.memory_mib, &qemu_sockets.saved[0]);
        let file = format!("size={size}M,mem-path=/dev/fd/{fd},share=on");
        arg("-object", &format!("memory-backend-file,id=memory,{file}"));
    }
    arg("-accel", spec.accelerator.word());
    if spec.has_plugin() {
        let [plugin, counters] = &qemu_sockets.plugin;
        let limit = match &spec.guest {
            _ if !spec.limit_instructions => String::new(),
            Guest::Agent { .. } => format!(",{LIMIT_USER}"),
            // The author of the disk decides at which addresses code runs, but not how much.
            Guest::Ssh(_) => format!(",{LIMIT_ALL}"),
        };
        arg("-plugin", &format!("/dev/fd/{plugin},{COUNTERS_ARGUMENT}{counters}{limit}"));
    }
    arg("-cpu", &spec.cpu_model);
    arg("-m", &format!("{}M", spec.memory_mib));
    arg("-smp", &format!("{0},sockets=1,cores={0},threads=1", spec.vcpus));
    arg("-rtc", "base=utc,clock=host");
    if let Guest::Agent { kernel, initrd } = &spec.guest {
        let opened = |number: usize, path: &Path| match qemu_sockets.files.get(spec.disks().len() + number) {
            Some(fd) => format!("/dev/fd/{fd}"),
            None => path.display().to_string(),
        };
        arg("-kernel", &opened(0, kernel));
        arg("-initrd", &opened(1, initrd));
        arg("-append", &kernel_command_line(spec));
    }
    if let Guest::Ssh(original) = &spec.guest {
        // No network except this forwarded port. The kernel chooses its number, so two machines cannot have the same.
        arg("-netdev", "user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:0-:22");
        // Bootloaders write to the screen. Screen and network card have the slots of BenchKit's QEMU, because Linux may
        // name the network interface after its slot.
        arg("-device", "VGA,addr=2");
        let nic = match original.nic {
            NicModel::Virtio => "virtio-net-pci",
            NicModel::E1000 => "e1000",
        };
        arg("-device", &format!("{nic},netdev=net,addr=3"));
    }
    for (option, value) in disks(spec, qemu_sockets) {
        arg(option, &value);
    }
    // Used only to query the memory statistics of the guest's kernel.
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
    if let Guest::Agent { .. } = &spec.guest {
        // The guest's kernel reports a panic to it. It is the last device, so that the others keep their slots.
        arg("-device", PANIC_DEVICE);
    }
    if let Start::Restore(_) = spec.start {
        arg("-incoming", "defer");
    }
    args
}

/// The block nodes of a machine as arguments of QEMU.
struct BlockNodes<'a> {
    args: Vec<(&'static str, String)>,
    sockets: &'a QemuSockets,
    overlays: usize,
    /// The number of the first set of descriptors that is neither an overlay's nor that of a saved state.
    first_set: usize,
}

impl BlockNodes<'_> {
    fn node(&mut self, node: &Value) {
        self.args.push(("-blockdev", node.to_string()));
    }

    /// Adds the node `name` of the disk with this number in `MachineSpec::disks`.
    fn disk(&mut self, name: &str, number: usize, disk: &DiskFile) {
        match self.sockets.files.get(number) {
            None => self.read_only(name, &disk.path.display().to_string(), &disk.format, None),
            Some(fd) => {
                let set = self.first_set + number;
                self.args.push(("-add-fd", format!("fd={fd},set={set}")));
                self.read_only(name, &format!("/dev/fdset/{set}"), &disk.format, None);
            }
        }
    }

    /// Adds the node `name` of a read-only disk file on the node `backing`.
    fn read_only(&mut self, name: &str, filename: &str, format: &str, backing: Option<&str>) {
        let file = format!("{name}-file");
        self.node(&json!({
            "driver": "file", "node-name": file, "filename": filename, "read-only": true, "auto-read-only": false,
            "locking": "off",
        }));
        let mut node = json!({
            "driver": format, "node-name": name, "file": file, "read-only": true, "auto-read-only": false,
        });
        // A raw disk has no header. For all others `null` prevails over the header.
        if format != "raw" {
            node["backing"] = json!(backing);
        }
        self.node(&node);
    }

    /// Adds the node `name` of the next overlay, on the node `backing`. It does not outlive the machine, or is in memory,
    /// so nothing is flushed to storage.
    fn overlay(&mut self, name: &str, backing: &str) {
        let number = self.overlays;
        self.overlays += 1;
        let fd = self.sockets.overlays.get(number).map_or("<overlay>", String::as_str);
        self.args.push(("-add-fd", format!("fd={fd},set={number}")));
        let cache = json!({ "no-flush": true });
        let file = format!("{name}-file");
        self.node(&json!({
            "driver": "file", "node-name": file, "filename": format!("/dev/fdset/{number}"), "cache": cache,
            "locking": "off",
        }));
        self.node(&json!({
            "driver": "qcow2", "node-name": name, "file": file, "backing": backing, "cache": cache,
        }));
    }
}

fn disks(spec: &MachineSpec, sockets: &QemuSockets) -> Vec<(&'static str, String)> {
    let bus = spec.bus();
    let device = |node: &str, unit: usize, errors: &str| match bus {
        DiskBus::Virtio => ("-device", format!("virtio-blk-pci,drive={node},{errors}")),
        DiskBus::Ide => {
            ("-device", format!("ide-hd,drive={node},bus=ide.{},unit={},{errors}", unit / 2, unit % 2))
        }
    };
    let saved_set = spec.overlay_disks().len();
    let mut nodes = BlockNodes { args: vec![], sockets, overlays: 0, first_set: saved_set + 1 };
    nodes.disk("base", 0, &spec.disk);
    match &spec.start {
        Start::Boot | Start::Save(_) => nodes.overlay("disk", "base"),
        Start::Restore(_) => {
            nodes.args.push(("-add-fd", format!("fd={},set={saved_set}", sockets.saved[1])));
            nodes.read_only("saved", &format!("/dev/fdset/{saved_set}"), "qcow2", Some("base"));
            nodes.overlay("disk", "saved");
        }
    }
    nodes.args.push(device("disk", 0, STOP_ON_ERROR));
    for (i, disk) in spec.read_only_disks.iter().enumerate() {
        let name = format!("ro{i}");
        let errors = match bus {
            DiskBus::Virtio => {
                nodes.disk(&name, i + 1, disk);
                REPORT_WRITES
            }
            // IDE has no read-only disks: QEMU opens the file read-only and discards writes.
            DiskBus::Ide => {
                let base = format!("{name}-base");
                nodes.disk(&base, i + 1, disk);
                nodes.overlay(&name, &base);
                STOP_ON_ERROR
            }
        };
        nodes.args.push(device(&name, i + 1, errors));
    }
    nodes.args
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
            held_files: HeldFiles::default(),
            start: Start::Boot,
            vcpu_cpus: vec![],
            housekeeping_cpus: vec![],
            disk_limit: None,
            count_instructions: false,
            limit_instructions: false,
            fixed_addresses: false,
        }
    }

    /// The block nodes of a machine by name.
    fn nodes(spec: &MachineSpec) -> std::collections::BTreeMap<String, Value> {
        let args = argv(spec, &QemuSockets::placeholder());
        let nodes = args.windows(2).filter(|pair| pair[0] == "-blockdev");
        let node = |node: Value| (node["node-name"].as_str().unwrap().to_owned(), node);
        nodes.map(|pair| node(serde_json::from_str(&pair[1]).unwrap())).collect()
    }

    #[test]
    fn a_disk_is_a_chain_of_nodes_that_follows_no_header() {
        let found = nodes(&spec());
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        assert_eq!(names, ["base", "base-file", "disk", "disk-file", "ro0", "ro0-file"]);
        assert_eq!(found["base-file"]["filename"], "/i/a,b.qcow2");
        assert_eq!((&found["base"]["driver"], &found["base"]["backing"]), (&json!("qcow2"), &Value::Null));
        assert!(found["base"].as_object().unwrap().contains_key("backing"), "null prevails over the header");
        assert_eq!(
            (&found["disk"]["backing"], &found["disk"]["cache"]["no-flush"]),
            (&json!("base"), &json!(true))
        );
        assert_eq!(found["disk-file"]["filename"], "/dev/fdset/0");
        for name in ["base", "base-file", "ro0", "ro0-file"] {
            assert_eq!(
                (&found[name]["read-only"], &found[name]["auto-read-only"]),
                (&json!(true), &json!(false))
            );
        }
    }

    #[test]
    fn no_lock_on_a_file_of_a_machine_stops_it() {
        let restored = MachineSpec { start: Start::Restore(SavedState::new(1, 512).unwrap()), ..spec() };
        for spec in [spec(), restored] {
            for (name, node) in nodes(&spec).iter().filter(|(_, node)| node["driver"] == "file") {
                assert_eq!(node["locking"], "off", "{name}");
            }
        }
    }

    #[test]
    fn saved_and_restored_machines_keep_their_memory_in_a_file() {
        let saved = SavedState::new(1, 512).unwrap();
        let restored = MachineSpec { start: Start::Restore(saved.clone()), ..spec() };
        let found = nodes(&restored);
        assert_eq!(
            (&found["disk"]["backing"], &found["saved"]["backing"]),
            (&json!("saved"), &json!("base"))
        );
        assert_eq!(
            (&found["saved-file"]["filename"], &found["saved-file"]["read-only"]),
            (&json!("/dev/fdset/1"), &json!(true))
        );
        let to_save = MachineSpec { start: Start::Save(saved), ..spec() };
        for spec in [restored, to_save] {
            let args = argv(&spec, &QemuSockets::placeholder()).join(" ");
            let memory = "size=16384M,mem-path=/dev/fd/<memory>,share=on ";
            assert!(args.contains(memory) && args.contains(",memory-backend=memory "), "{args}");
        }
        assert!(!argv(&spec(), &QemuSockets::placeholder()).join(" ").contains("memory-backend"));
    }

    #[test]
    fn a_machine_has_the_specified_hardware_and_no_network() {
        let args = argv(&spec(), &QemuSockets::placeholder()).join(" ");
        for part in [
            "-cpu SandyBridge ",
            "-m 16384M ",
            "-smp 4,sockets=1,cores=4,threads=1 ",
            "-nodefaults ",
            ",mem-merge=off ",
            "-add-fd fd=<overlay>,set=0 ",
            "virtio-blk-pci,drive=disk,werror=stop,rerror=stop ",
        ] {
            assert!(args.contains(part), "{part} in {args}");
        }
        assert!(!args.contains("-netdev") && !args.contains("-nic"), "no network: {args}");
        assert!(!args.contains("-drive"), "QEMU would probe formats and addresses: {args}");
    }

    #[test]
    fn qemu_gets_every_file_as_a_descriptor_and_no_path() {
        let files = ["41", "42", "43", "44"].map(str::to_owned).to_vec();
        let sockets = QemuSockets { files, ..QemuSockets::placeholder() };
        let args = argv(&spec(), &sockets).join(" ");
        // Set 0 is the overlay, set 1 that of a saved state.
        for part in
            ["-add-fd fd=41,set=2 ", "-add-fd fd=42,set=3 ", "-kernel /dev/fd/43 ", "-initrd /dev/fd/44 "]
        {
            assert!(args.contains(part), "{part} in {args}");
        }
        assert!(
            args.contains(r#""filename":"/dev/fdset/2""#) && args.contains(r#""filename":"/dev/fdset/3""#)
        );
        assert!(!args.contains("/i/"), "{args}");
        assert!(
            argv(&spec(), &QemuSockets::placeholder()).join(" ").contains("/i/vmlinux"),
            "the record has the paths"
        );
    }

    #[test]
    fn a_file_name_is_never_an_address() {
        let disk = DiskFile::new("nbd:127.0.0.1:10809".into(), "qcow2");
        let found = nodes(&MachineSpec { disk, ..spec() });
        let file = &found["base-file"];
        assert_eq!((&file["driver"], &file["filename"]), (&json!("file"), &json!("nbd:127.0.0.1:10809")));
    }

    #[test]
    fn an_original_disk_boots_itself_and_has_only_the_ssh_port() {
        let original = Original {
            user: "mcc".into(),
            key: "/i/key".into(),
            root_key: None,
            disk: DiskBus::Ide,
            nic: NicModel::E1000,
        };
        let disk = DiskFile::new("/i/lola.vmdk".into(), "vmdk");
        let spec = MachineSpec { guest: Guest::Ssh(original), disk, ..spec() };
        let found = nodes(&spec);
        assert_eq!(
            (&found["base"]["driver"], &found["ro0"]["backing"]),
            (&json!("vmdk"), &json!("ro0-base"))
        );
        let args = argv(&spec, &QemuSockets::placeholder()).join(" ");
        for part in [
            "ide-hd,drive=disk,bus=ide.0,unit=0,werror=stop,rerror=stop ",
            "ide-hd,drive=ro0,bus=ide.0,unit=1,werror=stop,rerror=stop ",
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
