//! The devices of machines, as QEMU lists them.

use crate::support::images;
use crate::support::script;
use mcc_harness::vm::{
    DiskBus, DiskFile, Guest, MachineSpec, NicModel, Original, QemuSockets, argv, overlays,
};
use nix::libc;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// The names of the devices of a machine, before its guest runs.
fn devices(spec: &MachineSpec) -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    let overlays = overlays(spec, folder.path()).unwrap();
    let pairs = [(); 5].map(|()| UnixStream::pair().unwrap());
    let [qmp, console, control, stdout, stderr] = &pairs;
    let number = |fd: RawFd| fd.to_string();
    let end = |pair: &(UnixStream, UnixStream)| number(pair.1.as_raw_fd());
    let sockets = QemuSockets {
        qmp: end(qmp),
        console: end(console),
        control: end(control),
        stdout: end(stdout),
        stderr: end(stderr),
        overlays: overlays.iter().map(|file| number(file.as_raw_fd())).collect(),
        ..QemuSockets::placeholder()
    };
    let ends = pairs.iter().map(|pair| pair.1.as_raw_fd());
    let inherited: Vec<RawFd> = ends.chain(overlays.iter().map(AsRawFd::as_raw_fd)).collect();
    let mut command = Command::new("qemu-system-x86_64");
    command.args(argv(spec, &sockets)).stdin(Stdio::null()).stderr(Stdio::null());
    // SAFETY: between fork and exec only system calls are made.
    unsafe {
        command.pre_exec(move || {
            let keep = |fd: &RawFd| nix::errno::Errno::result(libc::fcntl(*fd, libc::F_SETFD, 0)).map(drop);
            inherited.iter().try_for_each(keep).map_err(Into::into)
        });
    }
    let mut qemu = command.spawn().unwrap();
    let monitor = &qmp.0;
    for request in [
        r#"{"execute": "qmp_capabilities"}"#,
        r#"{"execute": "human-monitor-command", "arguments": {"command-line": "info qtree"}}"#,
    ] {
        writeln!(&*monitor, "{request}").unwrap();
    }
    let mut answers =
        BufReader::new(monitor).lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap());
    let tree =
        answers.find_map(|answer: serde_json::Value| Some(answer["return"].as_str()?.to_owned())).unwrap();
    qemu.kill().unwrap();
    qemu.wait().unwrap();
    tree.lines()
        .filter_map(|line| line.trim_start().strip_prefix("dev: "))
        .map(|device| device.split(',').next().unwrap().to_owned())
        .collect()
}

/// The devices in the documented table of the machines whose name begins so.
fn documented(machine: &str) -> BTreeSet<String> {
    let text = include_str!("../../docs/threat-model.md");
    let row = text.split("\n## Devices of a machine\n").nth(1).unwrap();
    let row = row.lines().find_map(|line| line.strip_prefix(&format!("| {machine}"))).unwrap();
    let (_, devices) = row.split_once(" | ").unwrap();
    devices.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn a_machine_has_only_the_documented_devices() {
    let both = documented("both");
    let agent = script::machine(&images::image("images/reference"), 512, 1);
    assert_eq!(devices(&agent), both.union(&documented("by agent")).cloned().collect());
    let kit = images::image("images/kit");
    let with_card = |nic: NicModel| {
        let (user, key) = ("mcc".to_owned(), "key".into());
        let guest = Guest::Ssh(Original { user, key, root_key: None, disk: DiskBus::Ide, nic });
        MachineSpec { guest, disk: DiskFile::new(kit.disk(), "vmdk"), ..agent.clone() }
    };
    let original = documented("original disk");
    let (virtio, others): (BTreeSet<_>, BTreeSet<_>) =
        original.into_iter().partition(|name| name.starts_with("virtio"));
    assert_eq!(devices(&with_card(NicModel::E1000)), both.union(&others).cloned().collect());
    let others: BTreeSet<_> = others.into_iter().filter(|name| name != "e1000").chain(virtio).collect();
    assert_eq!(devices(&with_card(NicModel::Virtio)), both.union(&others).cloned().collect());
}
