//! What a run costs beyond its tool, as a ratio in one run of this program:
//! (harness time per run without the tool) / (bare QEMU: boot of the same disk to readiness, and halt).
//!
//! The two take turns, so that whatever else the machine does hits both.

use mcc_harness::campaign::Run;
use mcc_harness::edition::Edition;
use mcc_harness::executor::{EntryDisks, Executor, Watched};
use mcc_harness::host::{Accelerator, Leases, Policy, Qemu, Survey};
use mcc_harness::store::{CampaignFacts, Disk, Record};
use mcc_harness::vm::{Image, MachineSpec, Wiring, argv, build};
use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

const INSTANCE: &str = "DiningTable-PT-03";

fn main() {
    let rounds = std::env::var("ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(7);
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let image = Image::open(&root.join("build/images/reference")).expect("scripts/setup makes it");
    let folder = tempfile::tempdir().unwrap();
    let archive = root.join(format!("pnml-fixtures/{INSTANCE}.tgz"));
    let packed = [(INSTANCE.to_owned(), archive)];
    let inputs = build::inputs(&packed, None, &folder.path().join("inputs"), &|_| {}).unwrap();
    let edition = Edition::load("mcc-2018").unwrap();
    let qemu = Qemu::find().unwrap();
    let accelerator = Accelerator::choose(&qemu, Policy::AllowDegraded).unwrap();
    let survey = Survey::take().unwrap();

    let (kernel, initrd) = image.boot().unwrap();
    let leases = || Leases::new(&survey.cores, &survey.memory);
    let spec = MachineSpec {
        accelerator,
        cpu_model: edition.machine.cpu_model.clone(),
        memory_mib: edition.machine.memory_mib,
        vcpus: 1,
        kernel: kernel.clone(),
        initrd: initrd.clone(),
        disk: image.disk(),
        read_only_disks: vec![inputs.disk()],
        pin_to: vec![],
        rest_on: vec![],
    };
    // The reference disk carries no tool: its BenchKit_head.sh prints one line and ends.
    let runs: Vec<Run> = (0..rounds).map(|n| run(&format!("nothing-{n}"))).collect();
    let facts = CampaignFacts {
        campaign: String::new(),
        settings: Default::default(),
        edition: serde_json::to_string(&edition).unwrap(),
        disks: vec![],
        entries: vec![],
        instances: vec![],
        retries: 0,
    };
    let record = Record::create_or_open(&folder.path().join("results"), &facts, |_| {}).unwrap();
    record.plan_runs(&runs).unwrap();
    let disks = EntryDisks { kernel, initrd, disk: image.disk(), digests: vec![] };
    let executor = Executor {
        record: &record,
        edition: &edition,
        disks: runs.iter().map(|run| (run.entry.clone(), disks.clone())).collect(),
        inputs: inputs.disk(),
        inputs_digest: Disk::of_file("inputs", &inputs.disk()).unwrap(),
        host: survey.facts(accelerator, &qemu),
        accelerator,
        policy: Policy::AllowDegraded,
        boot_deadline: Duration::from_secs(120),
        stall: Duration::from_secs(10),
        watched: Watched::default(),
        jobs: 1,
        drain: &AtomicBool::new(false),
    };
    let (mut bare, mut harness, mut boot) = (vec![], vec![], vec![]);
    for run in &runs {
        bare.push(bare_boot(&spec, folder.path()));
        let begun = Instant::now();
        executor.run(leases(), &|open| open == run, &|_| {}).unwrap();
        let took = begun.elapsed();
        let facts = record.attempts(&run.id()).unwrap().pop().unwrap().facts.expect("the tool ran");
        harness.push(took - Duration::from_millis(facts.wall_ms));
        boot.push(Duration::from_millis(facts.boot_ms));
    }
    let (bare, harness) = (median(bare), median(harness));
    println!("bare QEMU, boot to ready and halt   {:>6} ms", bare.as_millis());
    println!("harness, boot to ready              {:>6} ms", median(boot).as_millis());
    println!("harness, per run without the tool   {:>6} ms", harness.as_millis());
    println!(
        "ratio                               {:>6.2}   ({rounds} rounds, medians, {})",
        harness.as_secs_f64() / bare.as_secs_f64(),
        accelerator.word()
    );
}

fn run(entry: &str) -> Run {
    Run {
        entry: entry.to_owned(),
        instance: INSTANCE.to_owned(),
        examination: "ReachabilityDeadlock".to_owned(),
        model: "DiningTable".to_owned(),
        vcpus: 1,
        competes: true,
    }
}

/// QEMU with the same arguments, started running, by nothing but a process and sockets.
fn bare_boot(spec: &MachineSpec, folder: &Path) -> Duration {
    let pairs: Vec<_> = (0..5).map(|_| UnixStream::pair().unwrap()).collect();
    let fd = |n: usize| pairs[n].1.as_raw_fd().to_string();
    let wiring = Wiring { qmp: fd(0), console: fd(1), control: fd(2), stdout: fd(3), stderr: fd(4) };
    for (_, theirs) in &pairs {
        nix::fcntl::fcntl(theirs, nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty())).unwrap();
    }
    let args = argv(spec, &wiring).into_iter().filter(|arg| arg != "-S");
    let begun = Instant::now();
    let mut command = Command::new(Qemu::NAME);
    command.args(args).env("TMPDIR", folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut qemu = command.spawn().unwrap();
    let mut ready = String::new();
    BufReader::new(&pairs[2].0).read_line(&mut ready).unwrap();
    assert!(ready.contains("ready"), "{ready}");
    qemu.kill().unwrap();
    qemu.wait().unwrap();
    begun.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
