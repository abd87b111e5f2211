//! CPU time of a start with the jail of a machine and without.

use super::{MachineSetup, median};
use mcc_harness::base::child_process::{self, Purpose};
use mcc_harness::host::{Qemu, find_program};
use mcc_harness::vm::{Isolation, MachineSpec, QemuSockets, argv, overlays};
use nix::sys::resource::{UsageWho, getrusage};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

/// CPU time of this process and QEMU, from before the isolation is made until QEMU is ready with its vCPUs stopped, has ended
/// and the isolation is removed. The same arguments and files start alternately with the jail and without.
pub fn cost(setup: &MachineSetup, rounds: usize) {
    let spec = setup.spec(&MachineSetup::image("reference"));
    let (mut with, mut without, mut more) = (vec![], vec![], vec![]);
    // The first start also reads QEMU and its libraries, and translates the list of denied calls.
    start(&spec, setup.folder, true);
    for round in 0..rounds {
        // Each comes first in every second round.
        let first = start(&spec, setup.folder, round % 2 == 0);
        let second = start(&spec, setup.folder, round % 2 != 0);
        let (jailed, plain) = if round % 2 == 0 { (first, second) } else { (second, first) };
        with.push(jailed);
        without.push(plain);
        more.push(jailed.as_secs_f64() - plain.as_secs_f64());
    }
    more.sort_by(f64::total_cmp);
    println!("-- CPU time of a start, of the controller and QEMU ({rounds} alternating starts, medians)");
    println!("with the jail                {:>7.1} ms", median(with).as_secs_f64() * 1000.0);
    println!("without it                   {:>7.1} ms", median(without).as_secs_f64() * 1000.0);
    println!("difference of a pair         {:>7.1} ms", more[rounds / 2] * 1000.0);
}

fn start(spec: &MachineSpec, folder: &Path, with_jail: bool) -> Duration {
    let pairs: Vec<_> = (0..5).map(|_| UnixStream::pair().unwrap()).collect();
    let overlays = overlays(spec, folder).unwrap();
    let files: Vec<_> = spec.files().into_iter().map(|path| spec.held_files.open(&path).unwrap()).collect();
    let fd = |n: usize| pairs[n].1.as_raw_fd().to_string();
    let number = |file: &std::fs::File| file.as_raw_fd().to_string();
    let sockets = QemuSockets {
        qmp: fd(0),
        console: fd(1),
        control: fd(2),
        stdout: fd(3),
        stderr: fd(4),
        overlays: overlays.iter().map(number).collect(),
        files: files.iter().map(number).collect(),
        saved: <[String; 2]>::default(),
        plugin: <[String; 2]>::default(),
    };
    let theirs = pairs.iter().map(|(_, theirs)| theirs.as_fd());
    let inherited: Vec<_> =
        theirs.chain(overlays.iter().map(AsFd::as_fd)).chain(files.iter().map(AsFd::as_fd)).collect();
    let numbers: Vec<RawFd> = inherited.iter().map(AsRawFd::as_raw_fd).collect();
    for file in inherited {
        nix::fcntl::fcntl(file, nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty())).unwrap();
    }
    let program = std::fs::canonicalize(find_program(Qemu::NAME).unwrap()).unwrap();
    let mut command = child_process::command(program, Purpose::Machine);
    command.args(argv(spec, &sockets)).env("TMPDIR", folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let before = cpu_time();
    if with_jail {
        let isolation = Isolation::new(spec, folder);
        let missing = isolation.missing();
        assert!(!missing.iter().any(|text| text.starts_with("no namespaces")), "{missing:?}");
        end(isolation.spawn(&mut command, numbers, &[]).unwrap(), &pairs[0].0);
    } else {
        end(command.spawn().unwrap(), &pairs[0].0);
    }
    cpu_time() - before
}

/// Waits for the answer of QEMU to its first command, and ends it.
fn end(mut qemu: Child, qmp: &UnixStream) {
    let mut answers = BufReader::new(qmp);
    let mut line = String::new();
    answers.read_line(&mut line).unwrap();
    assert!(line.contains("QMP"), "{line}");
    let mut commands = qmp;
    commands.write_all(b"{\"execute\": \"qmp_capabilities\"}\n").unwrap();
    answers.read_line(&mut line).unwrap();
    qemu.kill().unwrap();
    qemu.wait().unwrap();
}

/// User and system time of this process and of the children that it has waited for.
fn cpu_time() -> Duration {
    [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN]
        .into_iter()
        .flat_map(|who| {
            let usage = getrusage(who).unwrap();
            [usage.user_time(), usage.system_time()]
        })
        .map(|time| Duration::from_micros((time.tv_sec() * 1_000_000 + time.tv_usec()) as u64))
        .sum()
}
