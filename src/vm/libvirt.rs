//! The libvirt backend: the machine is a transient domain.
//!
//! libvirt starts QEMU and pins its threads; after that the machine is used like any other. QEMU connects to sockets of
//! the controller in a private folder. One of them is a QMP socket in addition to libvirt's, so that limits, faults and
//! measurement do not depend on the libvirt daemon. The domain ends with the connection over which it was made
//! (AUTODESTROY), and so with its controller.

use super::cgroup::{is_running, own_prefix, remove_stale};
use super::disk_header::{DiskFile, check_disk};
use super::error::VmError;
use super::isolation::Isolation;
use super::overlay;
use super::pidfd::{kill_process, pidfd, wait_for};
use super::process::{Process, StartedQemu};
use super::qmp::poll_readable;
use super::spec::{Guest, MachineSpec, PANIC_DEVICE, Start, kernel_command_line};
use super::stream_file::TRUNCATED_BEFORE;
use crate::host::{Accelerator, Qemu, find_program};
use mcc_base::OnFile;
use mcc_base::budgets::LOG;
use mcc_base::files::tail;
use mcc_base::guest::{CONTROL, STDERR, STDOUT};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use quick_xml::Writer;
use quick_xml::events::BytesText;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};
use virt::connect::Connect;
use virt::sys::{VIR_DOMAIN_START_AUTODESTROY, VIR_DOMAIN_START_PAUSED};

/// Names of the sockets in the order of `StartedQemu::host_side`; the last three are also names of virtio ports.
const SOCKETS: [&str; 5] = ["qmp", "console", CONTROL, STDOUT, STDERR];

/// The folder in which the system's libvirt writes QEMU's log, one file per domain. libvirt does not remove the files.
const LOGS: &str = "/var/log/libvirt/qemu";

/// Time limit for libvirt to end a domain; longer than libvirt's own limit for a QEMU that does not end.
const RELEASE: Duration = Duration::from_secs(60);

/// A libvirt domain of the controller.
pub(super) struct Domain {
    qemu: u32,
    /// None: QEMU had ended before the descriptor was opened.
    end: Option<OwnedFd>,
    handle: Option<DomainHandle>,
    released: Option<Receiver<()>>,
    name: String,
    log: PathBuf,
}

/// Dropping it destroys the domain, then closes the connection.
struct DomainHandle {
    domain: virt::domain::Domain,
    _connection: Connection,
}

struct Connection(Connect);

impl Drop for DomainHandle {
    fn drop(&mut self) {
        // Fails if the domain has ended because its QEMU was killed.
        let _ = self.domain.destroy();
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let _ = self.0.close();
    }
}

/// Checks that libvirt answers. libvirt probes the host's QEMU at the first call, which takes seconds.
///
/// # Errors
/// libvirt does not answer within `timeout`: the cause and the remedy.
pub fn check(timeout: Duration) -> Result<(), VmError> {
    with_timeout(timeout, || connect()?.0.get_capabilities().map(drop).map_err(message))
}

/// Connects to the libvirt of `LIBVIRT_DEFAULT_URI`. The default is the system's for root, else the user's.
fn connect() -> Result<Connection, String> {
    // The default callback prints the errors that are returned.
    virt::error::clear_error_callback();
    Connect::open(None).map(Connection).map_err(|error| {
        format!(
            "it does not answer ({}); start it (systemctl start libvirtd, or virtlogd and libvirtd by hand), or \
             remove backend = \"libvirt\" from [hosts]",
            error.message()
        )
    })
}

fn message(error: virt::error::Error) -> String {
    error.message().trim().to_owned()
}

/// Runs `work` in a thread and waits at most `timeout` for its result; a later result is dropped.
fn with_timeout<T: Send + 'static>(
    timeout: Duration,
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, VmError> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || drop(send.send(work())));
    match receive.recv_timeout(timeout) {
        Ok(done) => done.map_err(VmError::Libvirt),
        Err(_) => Err(VmError::Libvirt(format!("no answer within {} s", timeout.as_secs()))),
    }
}

/// Starts the machine without running its guest. The overlay is unlinked as soon as QEMU has opened it.
pub(super) fn start(spec: &MachineSpec, folder: &Path, deadline: Instant) -> Result<StartedQemu, VmError> {
    let folder = fs::canonicalize(folder).on("find", folder)?;
    let log = folder.join("qemu.log");
    File::create(&log).on("create", &log)?;
    // A folder that other users cannot list, and in it a folder with a random name. Other users may read the name in the
    // description of the domain; see `restrict`.
    let prefix = own_prefix();
    let private = |folder: &Path| {
        let new = tempfile::Builder::new().prefix(&prefix).tempdir_in(folder).on("create", folder)?;
        fs::set_permissions(new.path(), Permissions::from_mode(0o711)).on("change", new.path())?;
        Ok::<_, VmError>(new)
    };
    remove_stale(&std::env::temp_dir(), is_running, |sockets| fs::remove_dir_all(sockets));
    let outer = private(&std::env::temp_dir())?;
    let inner = private(outer.path())?;
    let listeners = SOCKETS.map(|end| {
        let path = inner.path().join(end);
        let listener = UnixListener::bind(&path).on("create", &path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600)).on("change", &path)?;
        Ok::<_, VmError>(listener)
    });
    let name = outer.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let overlay_file = folder.join("overlay.qcow2");
    let bytes = spec.disks().iter().map(check_disk).collect::<Result<Vec<_>, _>>()?[0];
    let overlay = File::create(&overlay_file).on("create", &overlay_file)?;
    overlay::write(&overlay, bytes).on("write", &overlay_file)?;

    let inputs = (spec.clone(), name.clone(), inner.path().to_owned(), overlay_file.clone());
    let left = deadline.saturating_duration_since(Instant::now());
    let created = with_timeout(left, move || create(&inputs.0, &inputs.1, &inputs.2, &inputs.3));
    let unlinked = fs::remove_file(&overlay_file).on("remove", &overlay_file);
    let (handle, isolation) = created?;
    unlinked?;

    let mut peers = vec![];
    let mut host_side = vec![];
    for listener in listeners {
        let (end, peer) = accept(&listener?, deadline)?;
        peers.push(peer);
        host_side.push(end);
    }
    let qemu = peers[0];
    let host_side =
        <[UnixStream; 5]>::try_from(host_side).ok().filter(|_| peers.iter().all(|peer| *peer == qemu));
    let host_side = host_side.ok_or_else(|| {
        VmError::Libvirt(format!("other processes are connected to its sockets: {peers:?}"))
    })?;
    let domain = Domain { qemu, end: pidfd(qemu), handle: Some(handle), released: None, name, log };
    if let Some(limit) = spec.overlay_limit() {
        limit_files(qemu, limit)
            .map_err(|error| VmError::Libvirt(format!("its QEMU has no disk limit: {error}")))?;
    }
    let (qemu, overlays) = (Process::Domain(domain), vec![overlay]);
    let (messages, outputs, counters) = (None, vec![], None);
    Ok(StartedQemu { qemu, host_side, messages, outputs, isolation, overlays, counters })
}

/// Limits the size of the files that a QEMU writes. libvirt starts it, so it does not ignore the signal of the limit, which then
/// ends it.
fn limit_files(qemu: u32, limit: u64) -> io::Result<()> {
    let limit = nix::libc::rlimit { rlim_cur: limit, rlim_max: limit };
    // SAFETY: a system call that reads a limit from this stack frame and writes none.
    let set = unsafe {
        nix::libc::prlimit(
            qemu.cast_signed(),
            nix::libc::RLIMIT_FSIZE,
            &raw const limit,
            std::ptr::null_mut(),
        )
    };
    nix::errno::Errno::result(set).map(drop).map_err(io::Error::from)
}

/// Accepts the connection of QEMU; returns the stream and the process number of its peer.
fn accept(listener: &UnixListener, deadline: Instant) -> Result<(UnixStream, u32), VmError> {
    poll_readable(&[listener.as_fd()], deadline.saturating_duration_since(Instant::now()));
    let taken = || {
        listener.set_nonblocking(true)?;
        let (end, _) = listener.accept()?;
        end.set_nonblocking(true)?;
        let peer = getsockopt(&end, PeerCredentials)?.pid() as u32;
        Ok::<_, io::Error>((end, peer))
    };
    taken().map_err(|error| VmError::Libvirt(format!("QEMU did not connect to its sockets: {error}")))
}

fn create(
    spec: &MachineSpec,
    name: &str,
    sockets: &Path,
    overlay: &Path,
) -> Result<(DomainHandle, Isolation), String> {
    if !matches!((&spec.guest, &spec.start), (Guest::Agent { .. }, Start::Boot)) {
        return Err("it supports neither original disks nor saved states".to_owned());
    }
    let connection = connect()?;
    let capabilities = connection.0.get_capabilities().map_err(message)?;
    let folder = overlay.parent().unwrap_or(Path::new("/"));
    let user = qemu_user(&capabilities);
    let isolation = Isolation::by_libvirt(user, &spec.files(), folder);
    restrict(sockets, user.filter(|_| !isolation.runs_as_root()).map(|(uid, _)| uid))?;
    let xml =
        xml(spec, name, sockets, overlay, isolation.runs_as_root()).map_err(|error| error.to_string())?;
    let flags = VIR_DOMAIN_START_PAUSED | VIR_DOMAIN_START_AUTODESTROY;
    let domain = virt::domain::Domain::create_xml(&connection.0, &xml, flags).map_err(message)?;
    Ok((DomainHandle { domain, _connection: connection }, isolation))
}

/// Gives the sockets to the user of QEMU, so that no other user takes its place. None: QEMU has the controller's user.
fn restrict(sockets: &Path, user: Option<u32>) -> Result<(), String> {
    let own = nix::unistd::geteuid();
    let Some(user) = user.filter(|user| *user != own.as_raw()) else { return Ok(()) };
    if !own.is_root() {
        return Err(format!(
            "it runs QEMU as the user {user}, so other users could take its place; run mcc-harness as root, or use your own \
             libvirt (LIBVIRT_DEFAULT_URI=qemu:///session)"
        ));
    }
    SOCKETS.iter().try_for_each(|end| {
        let path = sockets.join(end);
        std::os::unix::fs::chown(&path, Some(user), None)
            .map_err(|error| format!("{}: {error}", path.display()))
    })
}

/// Returns the user and group that libvirt runs QEMU as, from its capabilities:
/// `<baselabel type='qemu'>+64055:+64055</baselabel>`.
fn qemu_user(capabilities: &str) -> Option<(u32, u32)> {
    let document = roxmltree::Document::parse(capabilities).ok()?;
    let named = |name: &'static str| move |node: &roxmltree::Node| node.has_tag_name(name);
    let is_dac = |model: &roxmltree::Node| {
        model.children().find(named("model")).and_then(|name| name.text()) == Some("dac")
    };
    let dac = document.descendants().filter(named("secmodel")).find(is_dac)?;
    let label = dac.children().find(|child| child.attribute("type") == Some("qemu"))?;
    let (uid, gid) = label.text()?.split_once(':')?;
    let number = |id: &str| id.trim_start_matches('+').parse().ok();
    Some((number(uid)?, number(gid)?))
}

impl Domain {
    pub fn id(&self) -> u32 {
        self.qemu
    }

    /// Waits at most `timeout` for the end of QEMU; whether it has ended.
    pub fn ends_within(&self, timeout: Duration) -> bool {
        self.end.as_ref().is_none_or(|end| wait_for(end, timeout))
    }

    /// Kills QEMU directly if the controller has the right to do so, and lets libvirt end the domain.
    pub fn kill(&mut self) {
        let Some(handle) = self.handle.take() else { return };
        if let Some(end) = &self.end {
            kill_process(end);
        }
        let (send, receive) = mpsc::channel();
        thread::spawn(move || {
            drop(handle);
            let _ = send.send(());
        });
        self.released = Some(receive);
    }

    /// Waits until QEMU has ended and libvirt has removed the domain; copies QEMU's messages to the attempt's log.
    pub fn wait(&mut self) -> String {
        if let Some(released) = self.released.take() {
            let is_removed = released.recv_timeout(RELEASE).is_ok();
            if let Some(end) = &self.end {
                wait_for(end, Duration::from_secs(5));
            }
            let log = Path::new(LOGS).join(format!("{}.log", self.name));
            // Only root can read it, and only the system's libvirt writes it.
            let size = fs::metadata(&log).map_or(0, |log| log.len());
            if let Ok(text) = tail(&log, LOG)
                && let text = String::from_utf8_lossy(&text)
                && let truncated = if size > LOG { TRUNCATED_BEFORE } else { "" }
                && fs::write(&self.log, format!("{truncated}{}", qemu_messages(&text))).is_ok()
            {
                let _ = fs::remove_file(log);
            }
            if !is_removed {
                tracing::warn!(domain = self.name, "libvirt did not end it within {} s", RELEASE.as_secs());
            }
        }
        "under libvirt".to_owned()
    }
}

/// Returns the part of libvirt's log after QEMU's command line, which is in the record.
fn qemu_messages(log: &str) -> &str {
    match log.rsplit_once(" \\\n") {
        Some((_, end_of_command)) => end_of_command.split_once('\n').map_or("", |(_, messages)| messages),
        None => log,
    }
}

/// Returns the lines of the domain's XML for the record, with placeholders for name and paths.
pub(super) fn description(spec: &MachineSpec) -> Vec<String> {
    let xml = xml(spec, "<name>", Path::new("/<sockets>"), Path::new("/<overlay>"), false);
    xml.unwrap_or_else(|error| error.to_string()).lines().map(str::to_owned).collect()
}

type Xml = Writer<Vec<u8>>;

/// Returns the XML of a domain with the same devices, PCI slots and processor as the arguments of `spec::argv`.
fn xml(spec: &MachineSpec, name: &str, sockets: &Path, overlay: &Path, as_root: bool) -> io::Result<String> {
    let mut writer = Writer::new_with_indent(vec![], b' ', 1);
    let kind = match spec.accelerator {
        Accelerator::Kvm => "kvm",
        Accelerator::Tcg => "qemu",
    };
    let vcpus = spec.vcpus.to_string();
    let domain = writer.create_element("domain");
    let domain = domain
        .with_attributes([("type", kind), ("xmlns:qemu", "http://libvirt.org/schemas/domain/qemu/1.0")]);
    domain.write_inner_content(|w| {
        text(w, "name", &[], name)?;
        text(w, "memory", &[("unit", "MiB")], &spec.memory_mib.to_string())?;
        w.create_element("memoryBacking").write_inner_content(|w| empty(w, "nosharepages", &[]))?;
        text(w, "vcpu", &[("placement", "static")], &vcpus)?;
        w.create_element("cputune").write_inner_content(|w| {
            for (vcpu, cpu) in spec.vcpu_cpus.iter().enumerate() {
                empty(w, "vcpupin", &[("vcpu", &vcpu.to_string()), ("cpuset", &cpu.to_string())])?;
            }
            if !spec.housekeeping_cpus.is_empty() {
                let rest: Vec<String> = spec.housekeeping_cpus.iter().map(u32::to_string).collect();
                empty(w, "emulatorpin", &[("cpuset", &rest.join(","))])?;
            }
            Ok(())
        })?;
        w.create_element("os")
            .write_inner_content(|w| text(w, "type", &[("arch", "x86_64"), ("machine", "q35")], "hvm"))?;
        w.create_element("features").write_inner_content(|w| {
            empty(w, "acpi", &[])?;
            empty(w, "vmport", &[("state", "off")])
        })?;
        // libvirt would refuse SandyBridge under TCG, because QEMU leaves out some of its flags. The check is disabled
        // here: the guest reports its flags, and the caller checks them.
        let cpu = [("mode", "custom"), ("match", "exact"), ("check", "none")];
        w.create_element("cpu").with_attributes(cpu).write_inner_content(|w| {
            text(w, "model", &[("fallback", "forbid")], &spec.cpu_model)?;
            empty(w, "topology", &[("sockets", "1"), ("cores", &vcpus), ("threads", "1")])
        })?;
        empty(w, "clock", &[("offset", "utc")])?;
        for event in ["on_poweroff", "on_reboot", "on_crash"] {
            text(w, event, &[], "destroy")?;
        }
        w.create_element("devices").write_inner_content(|w| devices(w, spec, sockets, overlay))?;
        if as_root {
            let label = [("type", "static"), ("model", "dac"), ("relabel", "yes")];
            w.create_element("seclabel")
                .with_attributes(label)
                .write_inner_content(|w| text(w, "label", &[], "+0:+0"))?;
        }
        w.create_element("qemu:commandline").write_inner_content(|w| {
            arguments(spec, sockets).iter().try_for_each(|value| empty(w, "qemu:arg", &[("value", value)]))
        })?;
        Ok(())
    })?;
    Ok(String::from_utf8_lossy(&writer.into_inner()).into_owned())
}

/// Returns QEMU arguments that libvirt's XML cannot express. Kernel and initrd are among them, because libvirt would
/// make QEMU's user the owner of the files, and that user must not be able to write to them.
fn arguments(spec: &MachineSpec, sockets: &Path) -> Vec<String> {
    let mut args = vec![
        "-chardev".to_owned(),
        format!("socket,id=qmp,path={}", sockets.join(SOCKETS[0]).display()),
        "-mon".to_owned(),
        "chardev=qmp,mode=control".to_owned(),
    ];
    if let Guest::Agent { kernel, initrd } = &spec.guest {
        let kernel = ["-kernel".to_owned(), absolute(kernel), "-initrd".to_owned(), absolute(initrd)];
        args.extend(kernel);
        // The last slot, as without libvirt. QEMU gives devices of such arguments the first free slot before it reads those
        // that libvirt writes.
        let devices_before = 1 + spec.read_only_disks.len() + ["memory balloon", "serial ports"].len();
        let panic_device = format!("{PANIC_DEVICE},addr={:#x}", devices_before + 1);
        args.extend(["-append", &kernel_command_line(spec), "-device", &panic_device].map(str::to_owned));
    }
    args
}

fn devices(w: &mut Xml, spec: &MachineSpec, sockets: &Path, overlay: &Path) -> io::Result<()> {
    // The QEMU on PATH, which `doctor` probes and the record names.
    if let Some(qemu) = find_program(Qemu::NAME) {
        text(w, "emulator", &[], &absolute(&qemu))?;
    }
    let mut slot = 0;
    let mut place = |w: &mut Xml| {
        slot += 1;
        let address =
            [("type", "pci"), ("domain", "0"), ("bus", "0"), ("slot", &slot.to_string()), ("function", "0")];
        empty(w, "address", &address)
    };
    disk(w, 0, &DiskFile::new(overlay.to_owned(), "qcow2"), Some(&spec.disk), &mut place)?;
    for (i, file) in spec.read_only_disks.iter().enumerate() {
        disk(w, i + 1, file, None, &mut place)?;
    }
    empty(w, "controller", &[("type", "usb"), ("model", "none")])?;
    w.create_element("memballoon").with_attribute(("model", "virtio")).write_inner_content(&mut place)?;
    w.create_element("controller")
        .with_attributes([("type", "virtio-serial"), ("index", "0")])
        .write_inner_content(&mut place)?;
    let mut stream = |element: &str, end: &str, target: [(&str, &str); 2]| {
        w.create_element(element).with_attribute(("type", "unix")).write_inner_content(|w| {
            let path = sockets.join(end).display().to_string();
            empty(w, "source", &[("mode", "connect"), ("path", &path)])?;
            empty(w, "target", &target)
        })?;
        Ok::<_, io::Error>(())
    };
    stream("serial", SOCKETS[1], [("type", "isa-serial"), ("port", "0")])?;
    SOCKETS[2..].iter().try_for_each(|port| stream("channel", port, [("type", "virtio"), ("name", port)]))
}

/// Writes the disk with this number: an overlay if `base` is given, else a read-only disk.
fn disk(
    w: &mut Xml,
    number: usize,
    file: &DiskFile,
    base: Option<&DiskFile>,
    place: &mut dyn FnMut(&mut Xml) -> io::Result<()>,
) -> io::Result<()> {
    let kind = [("type", "file"), ("device", "disk")];
    w.create_element("disk").with_attributes(kind).write_inner_content(|w| {
        // As in `spec::disks`.
        let driver = [
            ("name", "qemu"),
            ("type", file.format.as_str()),
            ("error_policy", if base.is_some() { "stop" } else { "report" }),
            ("rerror_policy", "stop"),
        ];
        empty(w, "driver", &driver)?;
        match base {
            None => {
                source(w, file)?;
                // Without this, libvirt searches the header for a backing file.
                empty(w, "backingStore", &[])?;
            }
            Some(base) => {
                empty(w, "source", &[("file", &absolute(&file.path))])?;
                let backing = w.create_element("backingStore").with_attribute(("type", "file"));
                backing.write_inner_content(|w| {
                    empty(w, "format", &[("type", &base.format)])?;
                    source(w, base)?;
                    empty(w, "backingStore", &[])
                })?;
            }
        }
        let letter = char::from(b'a' + number as u8);
        empty(w, "target", &[("dev", &format!("vd{letter}")), ("bus", "virtio")])?;
        if base.is_none() {
            empty(w, "readonly", &[])?;
        }
        place(w)
    })?;
    Ok(())
}

/// Writes the source of a disk without a change of its owner, so that QEMU's user can only read the file.
fn source(w: &mut Xml, file: &DiskFile) -> io::Result<()> {
    let path = absolute(&file.path);
    let source = w.create_element("source").with_attribute(("file", path.as_str()));
    source.write_inner_content(|w| empty(w, "seclabel", &[("model", "dac"), ("relabel", "no")]))?;
    Ok(())
}

/// Returns an absolute path, because libvirtd has another working folder.
fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

fn text(w: &mut Xml, name: &str, attributes: &[(&str, &str)], text: &str) -> io::Result<()> {
    let element = w.create_element(name).with_attributes(attributes.iter().copied());
    element.write_text_content(BytesText::new(text)).map(drop)
}

fn empty(w: &mut Xml, name: &str, attributes: &[(&str, &str)]) -> io::Result<()> {
    w.create_element(name).with_attributes(attributes.iter().copied()).write_empty().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Backend;
    use std::os::unix::fs::MetadataExt;

    fn spec() -> MachineSpec {
        MachineSpec {
            backend: Backend::Libvirt,
            accelerator: Accelerator::Tcg,
            cpu_model: "SandyBridge".into(),
            memory_mib: 16384,
            vcpus: 2,
            guest: Guest::Agent { kernel: "/i/a&b/vmlinux".into(), initrd: "/i/initrd".into() },
            disk: DiskFile::new("/i/tool.qcow2".into(), "qcow2"),
            read_only_disks: vec![DiskFile::new("/i/inputs.ext4".into(), "raw")],
            held_files: Default::default(),
            start: Start::Boot,
            vcpu_cpus: vec![2, 3],
            housekeeping_cpus: vec![0, 1],
            disk_limit: None,
            count_instructions: false,
            limit_instructions: false,
            fixed_addresses: false,
        }
    }

    #[test]
    fn only_the_user_of_qemu_and_root_can_connect_to_the_sockets() {
        let folder = tempfile::tempdir().unwrap();
        SOCKETS.iter().for_each(|end| drop(File::create(folder.path().join(end)).unwrap()));
        restrict(folder.path(), None).unwrap();
        let restricted = restrict(folder.path(), Some(64055));
        if nix::unistd::geteuid().is_root() {
            restricted.unwrap();
            for end in SOCKETS {
                let owner = fs::metadata(folder.path().join(end)).unwrap().uid();
                assert_eq!(owner, 64055, "{end}");
            }
        } else {
            assert!(restricted.unwrap_err().contains("LIBVIRT_DEFAULT_URI"));
        }
    }

    #[test]
    fn a_domain_has_the_specified_hardware_and_no_network() {
        let xml = xml(&spec(), "one", Path::new("/s"), Path::new("/r/overlay"), false).unwrap();
        let document = roxmltree::Document::parse(&xml).unwrap();
        let all =
            |name: &str| -> Vec<_> { document.descendants().filter(|n| n.has_tag_name(name)).collect() };
        let attribute = |name: &str, key: &str| -> Vec<_> {
            all(name).iter().filter_map(|node| node.attribute(key).map(str::to_owned)).collect()
        };
        assert_eq!(all("model")[0].text(), Some("SandyBridge"));
        assert_eq!((all("memory")[0].text(), all("vcpu")[0].text()), (Some("16384"), Some("2")));
        assert_eq!(attribute("vcpupin", "cpuset"), ["2", "3"]);
        assert_eq!(attribute("emulatorpin", "cpuset"), ["0,1"]);
        assert_eq!(attribute("source", "file"), ["/r/overlay", "/i/tool.qcow2", "/i/inputs.ext4"]);
        assert_eq!(all("readonly")[0].parent().unwrap(), all("disk")[1], "the inputs disk");
        assert_eq!(attribute("address", "slot"), ["1", "2", "3", "4"], "as QEMU assigns them by default");
        assert!(attribute("arg", "value").contains(&"pvpanic-pci,addr=0x5".to_owned()), "{xml}");
        assert!(all("interface").is_empty() && all("graphics").is_empty(), "{xml}");
        assert!(attribute("arg", "value").contains(&"/i/a&b/vmlinux".to_owned()), "{xml}");
    }

    #[test]
    fn the_log_of_a_machine_has_only_the_messages_of_qemu() {
        let command =
            "2026: starting up\nLC_ALL=C \\\n/usr/bin/qemu \\\n-append 'panic=-1' \\\n-msg timestamp=on\n";
        assert_eq!(
            qemu_messages(&format!("{command}qemu: oh\nshutting down\n")),
            "qemu: oh\nshutting down\n"
        );
        assert_eq!((qemu_messages(command), qemu_messages("qemu: oh\n")), ("", "qemu: oh\n"));
    }

    #[test]
    fn the_user_of_qemu_is_read_from_the_capabilities() {
        let user = |model: &str| {
            qemu_user(&format!(
                "<capabilities><host><secmodel><model>none</model></secmodel><secmodel><model>{model}</model>\
                 <baselabel type='kvm'>+1:+2</baselabel><baselabel type='qemu'>+64055:+108</baselabel></secmodel>\
                 </host></capabilities>"
            ))
        };
        assert_eq!(user("dac"), Some((64055, 108)));
        assert_eq!(user("selinux"), None);
    }
}
