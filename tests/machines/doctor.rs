//! `doctor`: the checks of a host, with evidence and remedy.

use assert_cmd::Command;
use mcc_harness::host::{Accelerator, Qemu};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Output;

/// Runs `doctor` with only fakes on PATH. Programs in /usr/sbin are still found.
fn doctor(fakes: &[(&str, &str)], args: &[&str]) -> assert_cmd::assert::Assert {
    let folder = tempfile::tempdir().unwrap();
    for (name, script) in fakes {
        fake(folder.path(), name, script);
    }
    let mut command = Command::cargo_bin("mcc-harness").unwrap();
    command.arg("doctor").args(args).env("PATH", folder.path()).assert()
}

/// Makes an executable. Another process writes the file: see `fake` in the tests of `src/vm/host/program.rs`.
fn fake(folder: &Path, name: &str, script: &str) {
    let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$0" && chmod 755 "$0""#;
    let written = Command::new("sh").arg("-c").arg(write).arg(folder.join(name)).arg(script).ok();
    written.unwrap();
}

const VERSION: &str =
    "case \"$*\" in --version) echo 'QEMU emulator version 9.9.1 (Debian)'; exit 0;; esac\n";

fn checks(assert: assert_cmd::assert::Assert) -> serde_json::Value {
    serde_json::from_slice(&assert.get_output().stdout).unwrap()
}

fn state(report: &serde_json::Value, name: &str) -> (String, String, String) {
    let check = report["checks"].as_array().unwrap().iter().find(|check| check["name"] == name).unwrap();
    let text = |key: &str| check[key].as_str().unwrap().to_owned();
    (text("state"), text("found"), text("remedy"))
}

#[test]
fn a_missing_qemu_is_reported_with_its_package() {
    let report = checks(doctor(&[], &["--format", "json", "--allow-degraded"]).code(69));
    assert_eq!(report["verdict"], "cannot");
    let (state, found, remedy) = state(&report, "qemu");
    assert_eq!(state, "missing");
    assert!(found.contains("qemu-system-x86_64 is not on PATH"), "{found}");
    assert!(remedy.contains("apt-get install"), "{remedy}");
}

#[test]
fn unusable_kvm_is_reported_with_evidence_and_remedy() {
    let qemu =
        format!("{VERSION}case \"$*\" in *accel=kvm*) echo 'KVM: no such thing' >&2; exit 1;; esac; exit 33");
    let fakes = [("qemu-system-x86_64", qemu.as_str()), ("qemu-img", "")];
    let report = checks(doctor(&fakes, &["--format", "json"]).code(69));
    assert_eq!(report["verdict"], "degraded-only");
    let (kvm, found, remedy) = state(&report, "kvm");
    assert_eq!(kvm, "degraded");
    assert!(found.contains("KVM: no such thing"), "{found}");
    assert!(remedy.contains("--allow-degraded"), "{remedy}");
    assert_eq!(state(&report, "tcg").0, "ok");
    doctor(&fakes, &["--allow-degraded"])
        .code(0)
        .stdout(predicates::str::contains("only with --allow-degraded"));
}

#[test]
fn usable_kvm_is_reported_as_ok() {
    let qemu = format!("{VERSION}exit 33");
    let report = checks(doctor(&[("qemu-system-x86_64", &qemu), ("qemu-img", "")], &["--format", "json"]));
    let (kvm, found, remedy) = state(&report, "kvm");
    // QEMU is never in the group of root, so it cannot open a device that only root and its group can.
    let is_open =
        fs::metadata("/dev/kvm").is_ok_and(|device| device.gid() != 0 || device.mode() & 0o6 == 0o6);
    if is_open {
        assert_eq!(kvm, "ok");
    } else {
        assert!(kvm == "degraded" && [&*found, &*remedy].concat().contains("chgrp kvm"), "{report}");
    }
    assert!(state(&report, "qemu").1.contains("9.9.1"));
    assert_ne!(report["verdict"], "cannot");
}

#[test]
fn a_qemu_that_hangs_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let qemu = format!("{VERSION}echo $$ >> {}; exec /bin/sleep 1000", pids.display());
    let report = checks(doctor(&[("qemu-system-x86_64", &qemu)], &["--format", "json"]).code(69));
    assert!(state(&report, "kvm").1.contains("still running"));
    let pids = std::fs::read_to_string(pids).unwrap();
    assert_eq!(pids.lines().count(), 2);
    for pid in pids.lines() {
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        assert!(!command.starts_with(b"/bin/sleep"), "process {pid} is left behind");
    }
}

#[test]
fn a_folder_that_does_not_exist_is_bad_input() {
    doctor(&[], &["--dir", "/no/such/folder"]).code(2).stderr(predicates::str::contains("/no/such/folder"));
}

#[test]
fn a_proc_that_hides_cpu_times_is_refused_with_69() {
    // As root, but without the right to look into processes of others.
    let hidden = "mount -t proc -o hidepid=ptraceable proc /proc &&
        exec setpriv --bounding-set=-sys_ptrace --inh-caps=-sys_ptrace \"$0\" doctor --format json --allow-degraded";
    let mut command = Command::new("unshare");
    let program = assert_cmd::cargo::cargo_bin("mcc-harness");
    let report = checks(command.args(["--mount", "sh", "-c", hidden]).arg(program).assert().code(69));
    let (state, found, remedy) = state(&report, "cpu-time");
    assert_eq!(state, "missing");
    assert!(found.contains("schedstat") && remedy.contains("CAP_SYS_PTRACE"), "{found}: {remedy}");
}

#[test]
fn the_boot_sector_reports_the_flags_of_the_processor() {
    // TCG emulates `-cpu SandyBridge` with the same flags on every host.
    let Ok(qemu) = Qemu::find() else { panic!("scripts/setup installs QEMU") };
    let probe = Accelerator::Tcg.probe(&qemu);
    let flags = probe.cpu_flags.unwrap_or_else(|| panic!("{}", probe.evidence));
    for flag in ["lm", "sse4_2", "cx16", "popcnt", "aes", "nx", "hypervisor", "nopl"] {
        assert!(flags.contains(flag), "{flag} in {flags:?}");
    }
    assert!(!flags.contains("tsc_deadline_timer"), "TCG has none: {flags:?}");
}

/// It takes three minutes, because each of six computations runs alone, beside another and restored.
#[test]
#[ignore = "long: scripts/test --all"]
fn every_measured_figure_of_a_host_has_a_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("host.json");
    let image = concat!(env!("CARGO_MANIFEST_DIR"), "/build/images/reference");
    let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
    command.args(["doctor", "--measure", image, "--repeat", "2", "--machines", "2", "--allow-degraded"]);
    command.env("MCC_HARNESS_LEASES", folder.path().join("leases"));
    command.args(["--format", "json", "--out"]).arg(&out);
    let mut output = command.output().unwrap();
    let message = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    for _ in 0..10 {
        if !message(&output).contains("the host is too busy to measure") {
            break;
        }
        // The message advises to repeat it.
        output = command.output().unwrap();
    }
    let message = message(&output);
    let measured: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {message}"));
    assert_eq!(std::fs::read(&out).unwrap(), output.stdout, "the file is what is printed");
    // Whether this host is fit is not tested.
    let fit = measured["figures"].as_array().unwrap().iter().all(|figure| figure["fit"].as_bool().unwrap());
    assert_eq!((measured["fit"].as_bool(), output.status.code()), (Some(fit), Some(i32::from(!fit))));
    let workloads = ["compute", "memory", "syscalls", "disk", "processes", "threads"];
    let kinds = ["spread", "neighbour-shift", "restored-shift", "guest-account"];
    let found: Vec<_> = measured["figures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|figure| {
            let (value, goal) = (figure["value"].as_f64().unwrap(), figure["goal"].as_f64().unwrap());
            assert_eq!(figure["fit"], value.abs() <= goal, "{figure}");
            (figure["workload"].as_str().unwrap(), figure["figure"].as_str().unwrap())
        })
        .collect();
    let expected: Vec<_> =
        workloads.iter().flat_map(|workload| kinds.map(|kind| (*workload, kind))).collect();
    assert_eq!(found, expected);
    assert_eq!(measured["series"].as_array().unwrap().len(), 3 * workloads.len());
    for series in measured["series"].as_array().unwrap() {
        for times in ["cpu_ms", "guest_cpu_ms", "wall_ms"] {
            let times = series[times].as_array().unwrap();
            assert!(times.len() == 2 && times.iter().all(|ms| ms.as_u64() > Some(0)), "{series}");
        }
    }
    let [machines, repetitions] = ["machines", "repetitions"].map(|key| measured[key].as_u64());
    assert_eq!((machines, repetitions), (Some(2), Some(2)));
    assert!(measured["host"]["cpu"].is_string() && measured["measured_at"].is_string());
}

#[test]
fn bad_measurements_are_refused_before_the_first_machine() {
    let folder = tempfile::tempdir().unwrap();
    let qemu = "case \" $* \" in *--version*) echo 'QEMU emulator version 7.2.22';; *) exit 33;; esac";
    let missing = folder.path().join("missing");
    let missing = missing.to_str().unwrap();
    let unwritable = folder.path().join("no/such/folder/f.json");
    let cases: [(&[&str], i32, &str); 5] = [
        (&["--measure", missing], 2, "missing"),
        (&["--measure", missing, "--repeat", "1"], 2, "1 is not in 2..=1000"),
        (&["--measure", missing, "--machines", "0"], 2, "0 is not in 1..=1024"),
        (&["--measure", missing, "--out", unwritable.to_str().unwrap()], 2, "cannot write"),
        (&["--machines", "2"], 2, "--measure <IMAGE>"),
    ];
    for (arguments, code, expected) in cases {
        let arguments = [arguments, &["--allow-degraded"]].concat();
        doctor(&[("qemu-system-x86_64", qemu)], &arguments)
            .code(code)
            .stderr(predicates::str::contains(expected));
    }
}
