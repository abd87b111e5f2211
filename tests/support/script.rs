//! Machines and jobs for tests and measurements.

use mcc_harness::base::guest::Job;
use mcc_harness::campaign::Hosts;
use mcc_harness::edition::{Edition, Limits};
use mcc_harness::executor::{self, AttemptResult, AttemptSpec, State};
use mcc_harness::host::{Accelerator, Policy};
use mcc_harness::vm::{Backend, DiskFile, Guest, HeldFiles, Image, MachineSpec, Start};
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

/// A machine that boots from an image of mcc-harness, under TCG, so that it is the same on every host, and unpinned.
pub fn machine(image: &Image, memory_mib: u64, vcpus: u32) -> MachineSpec {
    let (kernel, initrd) = image.boot().unwrap();
    MachineSpec {
        backend: Backend::Qemu,
        accelerator: Accelerator::Tcg,
        cpu_model: "SandyBridge".into(),
        memory_mib,
        vcpus,
        guest: Guest::Agent { kernel, initrd },
        disk: DiskFile::new(image.disk(), "qcow2"),
        read_only_disks: vec![],
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

/// Busy programs, which end when this is dropped.
pub struct Load(Vec<Child>);

impl Load {
    /// Starts them, each in a session of its own: a kernel may divide CPU time among sessions first.
    pub fn start(programs: usize) -> Self {
        let busy =
            || Command::new("setsid").args(["/bin/bash", "-c", "while :; do :; done"]).spawn().unwrap();
        Self((0..programs).map(|_| busy()).collect())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for busy in &mut self.0 {
            busy.kill().unwrap();
            busy.wait().unwrap();
        }
    }
}

/// A job that runs a bash script as `user` in the folder `cwd`.
pub fn job(user: &str, cwd: &str, script: &str) -> Job {
    Job {
        nonce: "nonce".into(),
        clock_ns: 1_526_000_000_000_000_000,
        seed: "5a".repeat(32),
        user: user.into(),
        cwd: cwd.into(),
        command: ["/bin/bash", "-c", script].map(str::to_owned).to_vec(),
        memory_reserve_kib: 128 << 10,
        env: [("PATH".to_owned(), "/usr/bin:/bin".to_owned())].into(),
        ..Job::default()
    }
}

/// Makes an attempt with these limits, at most 1 MiB of output and long timeouts. Missing CPU flags are a mark.
pub fn attempt(
    machine: &MachineSpec,
    job: Job,
    limits: &Limits,
    folder: &Path,
    enter: &mut dyn FnMut(State),
) -> AttemptResult {
    const TIMEOUT: Duration = Duration::from_secs(300);
    let mut edition = Edition::load("mcc-2018").unwrap();
    edition.limits = Limits { output_bytes: 1 << 20, ..limits.clone() };
    let hosts = Hosts { collect_deadline: TIMEOUT, stall: TIMEOUT, ..Hosts::default() };
    let attempt_spec = AttemptSpec {
        machine,
        edition: &edition,
        hosts: &hosts,
        policy: Policy::AllowDegraded,
        job,
        crash_is_by_tool: false,
        folder,
    };
    executor::attempt(attempt_spec, enter)
}
