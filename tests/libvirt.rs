//! Machines and campaigns under a real libvirt (`scripts/test --all` builds and runs this).
//!
//! A host without systemd, such as a container, has no libvirtd running: then one is started here, and ends with
//! this program. It needs root and the packages that `scripts/setup --libvirt` installs.
#![cfg(feature = "libvirt")]

mod campaign;
/// The same tests as for QEMU itself.
#[path = "machine.rs"]
mod machine;

use campaign::{Folder, stderr, until};
use mcc_harness::store::Outcome;
use mcc_harness::vm::{Backend, libvirt};
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Once;
use std::time::Duration;

/// With a libvirtd that answers.
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

/// In a mount namespace, where its settings are ours: QEMU gets no /dev of its own (containers forbid it), and no
/// KVM, so that the machines are the same on every host.
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
    // A process that ends with the thread that started it, so a thread that ends with this program.
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

const CAMPAIGN: &str = r#"
edition = "mcc-2018"
inputs = "{fixtures}"
instances = ["DiningTable-PT-03"]
examinations = ["ReachabilityDeadlock", "CTLFireability"]

[[tool]]
entry = "breadth-first"
image = "{build}/images/breadth-first"
kind = "sequential"

[hosts]
jobs = 1
boot_deadline_s = 120
"#;

/// A campaign under libvirt, on the host's own QEMU: libvirt asks it more than the tests' stand-in answers.
fn under_libvirt() -> Folder {
    backend();
    let folder = Folder::new(&format!("{CAMPAIGN}backend = \"libvirt\"\n"));
    fs::remove_file(folder.path().join("bin/qemu-system-x86_64")).unwrap();
    folder
}

/// QEMUs of domains of ours.
fn domains() -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(|process| {
        let line = fs::read(process.unwrap().path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).replace('\0', " "))
    });
    processes.filter(|line| line.contains("-name guest=mcc-harness-")).collect()
}

#[test]
fn a_campaign_under_libvirt_has_the_same_answers_and_leaves_nothing() {
    let folder = under_libvirt();
    folder.run(&[]).success();
    let plain = {
        let runs = folder.runs();
        let outputs: Vec<String> = runs.keys().map(|run| folder.output(run, 1, "stdout")).collect();
        for run in runs.values() {
            let attempt = &run.last;
            assert_eq!(attempt.outcome, Outcome::Finished { exit_code: 0 }, "{attempt:?}");
            let xml = attempt.machine.join("\n");
            assert!(xml.contains("<model fallback=\"forbid\">SandyBridge</model>"), "{xml}");
            let facts = attempt.facts.as_ref().unwrap();
            assert!(facts.cpu_ms > 0 && facts.host_memory_kib > Some(0), "{facts:?}");
        }
        outputs
    };
    assert_eq!(domains(), Vec::<String>::new());
    drop(folder);
    let folder = Folder::new(CAMPAIGN);
    folder.run(&[]).success();
    let runs: Vec<String> = folder.runs().keys().map(|run| folder.output(run, 1, "stdout")).collect();
    let answers = |outputs: &[String]| -> Vec<String> {
        outputs
            .iter()
            .flat_map(|o| o.lines())
            .filter(|l| l.starts_with("FORMULA"))
            .map(str::to_owned)
            .collect()
    };
    assert!(!answers(&plain).is_empty());
    assert_eq!(answers(&plain), answers(&runs));
}

#[test]
fn a_killed_controller_leaves_no_domain_and_no_overlay() {
    let folder = under_libvirt();
    let mut controller = folder.run_command(&[]).stderr(Stdio::null()).spawn().unwrap();
    until("a domain runs", || !domains().is_empty());
    controller.kill().unwrap();
    controller.wait().unwrap();
    until("libvirt ended it", || domains().is_empty());
    folder.run(&[]).success();
    assert_eq!(folder.runs().len(), 2);
    assert_eq!(folder.under_way(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_libvirt_that_does_not_answer_is_refused_with_the_way_out() {
    let folder = under_libvirt();
    let mut run = folder.run_command(&[]);
    run.env("LIBVIRT_DEFAULT_URI", "qemu:///system?socket=/nonexistent/socket");
    let said = stderr(&assert_cmd::Command::from(run).assert().code(69));
    assert!(said.contains("it does not answer") && said.contains("start it"), "{said}");
}
