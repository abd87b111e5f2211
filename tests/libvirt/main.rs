//! Machines and campaigns under a real libvirt (`scripts/test --all` builds and runs this).
//!
//! If no libvirtd runs, as on a host without systemd (a container), the tests start one that ends with them. This needs
//! root and the packages that `scripts/setup --libvirt` installs.
#![cfg(feature = "libvirt")]

#[path = "../support/mod.rs"]
mod support;
use crate::support::campaign;
/// The tests of machines that mcc-harness starts itself, here under libvirt.
#[path = "../machines/machine.rs"]
mod machine;

use campaign::{Folder, stderr, until};
use mcc_harness::archive::machine_files;
use mcc_harness::store::{Outcome, RunRecord};
use mcc_harness::vm::{Backend, DiskFile, GuestEnd, Machine, VmError, libvirt};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

/// Returns the backend libvirt after a libvirtd answers; starts one if necessary.
pub fn backend() -> Backend {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        if libvirt::check(Duration::from_secs(5)).is_err() {
            start_libvirtd();
        }
        libvirt::check(Duration::from_secs(120)).unwrap();
    });
    Backend::Libvirt
}

/// Starts libvirtd in a mount namespace with its own settings: QEMU has no private /dev, because containers forbid it,
/// and no KVM, so that the machines are the same on every host.
fn start_libvirtd() {
    let folder = tempfile::tempdir().unwrap().keep();
    let script = r#"
        cp -r /etc/libvirt "$0/etc" && rm -rf "$0/etc/qemu/networks/autostart"
        printf 'namespaces = []\nstdio_handler = "file"\n' > "$0/etc/qemu.conf"
        mount --bind "$0/etc" /etc/libvirt || exit
        if [ -e /dev/kvm ]; then touch "$0/kvm"; chmod 0 "$0/kvm"; mount --bind "$0/kvm" /dev/kvm || exit; fi
        exec libvirtd -p "$0/pid"
    "#;
    let log = fs::File::create(folder.join("log")).unwrap();
    let mut command = Command::new("unshare");
    command
        .args(["-m", "sh", "-c", script])
        .arg(&folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log);
    // SAFETY: one system call between fork and exec.
    unsafe {
        command.pre_exec(|| Ok(nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGTERM)?));
    }
    // The process ends with the thread that started it, so this thread runs until the end of the program.
    std::thread::spawn(move || command.spawn().expect("unshare is of util-linux").wait());
    let answers = || libvirt::check(Duration::from_secs(60)).is_ok();
    let log = || fs::read_to_string(folder.join("log")).unwrap_or_default();
    assert!(
        (0..600).any(|_| answers() || {
            std::thread::sleep(Duration::from_millis(100));
            false
        }),
        "libvirtd could not be started (scripts/setup --libvirt installs it; it needs root): {}",
        log()
    );
}

/// A campaign of two runs; `hosts` are further lines of `[hosts]`.
fn campaign(hosts: &str) -> String {
    campaign::on_fixtures(
        &["DiningTable-PT-03"],
        &["ReachabilityDeadlock", "CTLFireability"],
        &["breadth-first"],
        &format!("[hosts]\njobs = 1\nboot_deadline_s = 120\n{hosts}"),
    )
}

/// A campaign under libvirt with the QEMU of the host: libvirt needs more of QMP than the fake QEMU implements.
fn under_libvirt() -> Folder {
    backend();
    let folder = Folder::new(&campaign("backend = \"libvirt\"\n"));
    fs::remove_file(folder.path().join("bin/qemu-system-x86_64")).unwrap();
    folder
}

/// Process ids of the QEMUs of all domains of mcc-harness.
fn domains() -> Vec<i32> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(|process| {
        let process = process.unwrap();
        let line = fs::read(process.path().join("cmdline")).ok()?;
        let is_domain = String::from_utf8_lossy(&line).contains("-name\0guest=mcc-harness-");
        is_domain.then(|| process.file_name().to_str()?.parse().ok()).flatten()
    });
    processes.collect()
}

/// One line for each run with the recorded facts that depend on neither time nor load.
fn reproducible_facts(folder: &Folder) -> Vec<String> {
    let described = |run: &RunRecord| {
        let (attempt, environment) = (&run.last, &run.last.environment);
        let facts = attempt.facts.as_ref().unwrap();
        assert!(facts.boot_ms > 0 && facts.cpu_ms > 0, "{facts:?}");
        assert!(facts.host_memory_kib > Some(0) && facts.io_wait_ms.is_some(), "{facts:?}");
        let output = folder.output(&run.run.id(), attempt.number, "stdout");
        let answers: Vec<&str> = output.lines().filter(|line| line.starts_with("FORMULA")).collect();
        assert!(!answers.is_empty(), "{output}");
        // The inputs disk is below the results, whose folder differs in each test.
        let seen = machine_files(attempt).into_iter();
        let seen: BTreeSet<PathBuf> =
            seen.map(|disk| disk.strip_prefix(folder.path()).map(Path::to_owned).unwrap_or(disk)).collect();
        format!(
            "{} {:?} {:?} {:?} {:?} {:?} {} {:?} {:?} {answers:?}",
            run.run.id(),
            attempt.outcome,
            // The host of the tests may be busy.
            attempt.marks.iter().filter(|mark| **mark != "disturbed").collect::<Vec<_>>(),
            attempt.disks,
            environment.cpus,
            environment.cpu_flags,
            environment.guest_kernel,
            facts.memory_source,
            seen,
        )
    };
    folder.runs().values().map(described).collect()
}

#[test]
fn a_campaign_under_libvirt_has_the_same_record() {
    let folder = under_libvirt();
    folder.run(&[]).success();
    let under = reproducible_facts(&folder);
    for run in folder.runs().values() {
        let xml = run.last.machine.join("\n");
        assert!(xml.contains("<model fallback=\"forbid\">SandyBridge</model>"), "{xml}");
        assert!(xml.contains("<memory unit=\"MiB\">16384</memory>"), "{xml}");
    }
    assert_eq!(domains(), Vec::<i32>::new());
    drop(folder);
    let folder = Folder::new(&campaign(""));
    folder.run(&[]).success();
    assert_eq!((under.len(), under), (2, reproducible_facts(&folder)));
}

#[test]
fn a_qemu_killed_under_libvirt_is_an_infrastructure_failure() {
    let folder = under_libvirt();
    let only = ["--only", "*/CTLFireability"];
    let mut controller = folder.run_command(&only).spawn().unwrap();
    until("a domain runs", || !domains().is_empty());
    let [qemu] = domains()[..] else { panic!("{:?}", domains()) };
    until("its guest runs", || {
        folder
            .running_folders()
            .iter()
            .any(|attempt| fs::metadata(attempt.join("outputs/stdout")).is_ok_and(|stdout| stdout.len() > 0))
    });
    kill(Pid::from_raw(qemu), Signal::SIGKILL).unwrap();
    assert!(controller.wait().unwrap().success(), "the retry succeeded");
    let attempts =
        folder.record().attempts(&"breadth-first/DiningTable-PT-03/CTLFireability".parse().unwrap()).unwrap();
    let Outcome::Infrastructure { reason, .. } = &attempts[0].outcome else { panic!("{attempts:?}") };
    assert!(reason.contains("QEMU ended (under libvirt)"), "{reason}");
    assert_eq!((attempts.len(), &attempts[1].outcome), (2, &Outcome::Finished { exit_code: 0 }));
    assert!(domains().is_empty() && folder.running_folders().is_empty());
}

#[test]
fn a_guest_panic_under_libvirt_ends_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = machine::spec(512, 1);
    // The disk has no file system: the agent cannot mount it, and the kernel panics.
    let empty = folder.path().join("empty");
    fs::File::create(&empty).unwrap().set_len(1 << 20).unwrap();
    spec.disk = DiskFile::new(empty, "raw");
    let timeout = Duration::from_secs(120);
    let mut machine = Machine::start(&spec, folder.path(), 1, timeout).unwrap();
    let error = machine.wait(Instant::now() + timeout).unwrap_err();
    assert!(matches!(error, VmError::GuestEnded { how: GuestEnd::Panic, .. }), "{error}");
    assert!(error.to_string().contains("Kernel panic"), "{error}");
}

#[test]
fn a_damaged_disk_under_libvirt_is_an_error_of_a_disk() {
    let folder = tempfile::tempdir().unwrap();
    let [raw, damaged] = ["raw", "damaged.qcow2"].map(|name| folder.path().join(name));
    fs::write(&raw, [1; 1 << 20]).unwrap();
    let mut convert = Command::new("qemu-img");
    convert.args(["convert", "-f", "raw", "-O", "qcow2"]).args([&raw, &damaged]);
    assert!(convert.status().unwrap().success());
    let mut bytes = fs::read(&damaged).unwrap();
    let offset = |bytes: &[u8], at: usize| {
        let field: [u8; 8] = bytes[at..at + 8].try_into().unwrap();
        (u64::from_be_bytes(field) & 0x00ff_ffff_ffff_fe00) as usize
    };
    // From the header to the first table, from that to the second one, whose first entry is the offset of a cluster.
    let entry = offset(&bytes, offset(&bytes, 40));
    bytes[entry + 6] |= 2;
    fs::write(&damaged, bytes).unwrap();
    let mut spec = machine::spec(512, 1);
    spec.disk = DiskFile::new(damaged, "qcow2");
    let timeout = Duration::from_secs(120);
    let mut machine = Machine::start(&spec, folder.path(), 1, timeout).unwrap();
    let error = machine.wait(Instant::now() + timeout).unwrap_err();
    // QEMU states since version 9.2 which device it is.
    assert!(matches!(&error, VmError::Disk { device, .. } if device == "disk" || device == "?"), "{error}");
}

#[test]
fn a_killed_controller_leaves_no_domain_and_no_overlay() {
    let folder = under_libvirt();
    let mut controller = folder.run_command(&[]).stderr(Stdio::null()).spawn().unwrap();
    until("a domain runs", || !domains().is_empty());
    controller.kill().unwrap();
    controller.wait().unwrap();
    until("libvirt ended the domain", || domains().is_empty());
    folder.run(&[]).success();
    assert_eq!(folder.runs().len(), 2);
    assert_eq!(folder.running_folders(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_libvirt_that_does_not_answer_is_refused_with_a_remedy() {
    let folder = under_libvirt();
    let mut run = folder.run_command(&[]);
    run.env("LIBVIRT_DEFAULT_URI", "qemu:///system?socket=/nonexistent/socket");
    let message = stderr(&assert_cmd::Command::from(run).assert().code(69));
    assert!(message.contains("it does not answer") && message.contains("start it"), "{message}");
}
