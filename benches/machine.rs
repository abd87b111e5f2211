//! What a run costs beyond its tool, as ratios in one run of this program:
//! (a) harness time per run without the tool / bare QEMU: boot of the same disk to readiness, and halt;
//! (b) the same / a loop written as BenchKit does it, on the reference disk as a kit makes it bootable; and the
//!     harness over ssh on that very disk / the loop;
//! (e) readiness of a restored machine / of a booted one.
//!
//! They take turns, so that whatever else the machine does hits all.

use mcc_harness::campaign::Run;
use mcc_harness::edition::Edition;
use mcc_harness::executor::{EntryDisks, Executor};
use mcc_harness::host::{Accelerator, Leases, Policy, Qemu, Survey};
use mcc_harness::store::{CampaignFacts, Disk, Record};
use mcc_harness::vm::{
    Bus, DiskFile, Guest, Image, Login, MachineSpec, Nic, Original, Start, States, Wiring, argv, build,
};
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
    let inputs = build::inputs(&packed, &folder.path().join("inputs"), &|_| {}).unwrap();
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
        guest: Guest::Agent { kernel, initrd },
        disk: DiskFile::new(image.disk(), "qcow2"),
        read_only_disks: vec![DiskFile::new(inputs.disk(), "raw")],
        start: Start::Boot,
        pin_to: vec![],
        rest_on: vec![],
    };
    let kit = Image::open_original(&root.join("build/images/kit")).expect("scripts/setup makes it");
    let login = Login { user: "mcc".into(), key: kit.folder.join("key") };
    let original = MachineSpec {
        guest: Guest::Ssh(Original { login: login.clone(), bus: Bus::Virtio, nic: Nic::Virtio }),
        disk: DiskFile::new(kit.disk(), "vmdk"),
        ..spec.clone()
    };
    // The reference disk carries no tool: its BenchKit_head.sh prints one line and ends; that of the kit made for
    // tests is one `exec` away from the reference tool on a small net.
    let ways = ["booted", "restored", "ssh"];
    let runs: Vec<Run> = (0..rounds).flat_map(|n| ways.map(|way| run(&format!("{way}-{n}")))).collect();
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
    let disks = |run: &Run| {
        let spec = if run.entry.starts_with("ssh") { &original } else { &spec };
        EntryDisks { guest: spec.guest.clone(), disk: spec.disk.clone(), inputs: None, digests: vec![] }
    };
    let executor = |states: Option<States>| Executor {
        record: &record,
        edition: &edition,
        disks: runs.iter().map(|run| (run.entry.clone(), disks(run))).collect(),
        inputs: DiskFile::new(inputs.disk(), "raw"),
        inputs_digest: Disk::of_file("inputs", &inputs.disk()).unwrap(),
        states,
        host: survey.facts(accelerator, &qemu),
        accelerator,
        policy: Policy::AllowDegraded,
        boot_deadline: Duration::from_secs(120),
        jobs: 1,
        drain: &NO_DRAIN,
    };
    let (booting, restoring) = (executor(None), executor(Some(States::new(folder.path().join("states")))));
    let (mut bare, mut benchkit) = (vec![], vec![]);
    let mut beyond = [vec![], vec![], vec![]];
    let mut ready = [vec![], vec![], vec![]];
    for round in runs.chunks(ways.len()) {
        bare.push(bare_boot(&spec, folder.path()));
        benchkit.push(benchkit_loop(&original, &login.key, folder.path()));
        for (way, run) in round.iter().enumerate() {
            let executor = if ways[way] == "restored" { &restoring } else { &booting };
            let begun = Instant::now();
            executor.run(leases(), &|open| open == run, &|_| {}).unwrap();
            let took = begun.elapsed();
            let facts = record.attempts(&run.id()).unwrap().pop().unwrap().facts.expect("the tool ran");
            beyond[way].push(took - Duration::from_millis(facts.wall_ms));
            ready[way].push(Duration::from_millis(facts.boot_ms));
        }
    }
    let (bare, benchkit) = (median(bare), median(benchkit));
    let [booted, _, ssh] = beyond.map(median);
    let [ready, restored, ssh_ready] = ready.map(median);
    println!("medians of {rounds} rounds, {}", accelerator.word());
    for (what, time) in [
        ("bare QEMU, boot to ready and halt", bare),
        ("harness, boot to ready", ready),
        ("harness, restored to ready", restored),
        ("harness, per run without the tool", booted),
        ("harness over ssh, boot to ready", ssh_ready),
        ("harness over ssh, per run without the tool", ssh),
        ("as BenchKit does it, per run with next to no tool", benchkit),
    ] {
        println!("{what:<50} {:>6} ms", time.as_millis());
    }
    for (what, over, under) in [
        ("(a) harness / bare QEMU", booted, bare),
        ("(b) harness / as BenchKit does it", booted, benchkit),
        ("    harness over ssh / as BenchKit does it", ssh, benchkit),
        ("(e) restored / booted, to ready", restored, ready),
    ] {
        println!("{what:<50} {:>6.2}", over.as_secs_f64() / under.as_secs_f64());
    }
}

static NO_DRAIN: AtomicBool = AtomicBool::new(false);

/// One run by the loop of BenchKit (2017): `ssh` as root with a timeout of one second until it succeeds, a monitor
/// and a second's sleep, the command, the monitor's figures, the kill and a second's sleep.
fn benchkit_loop(spec: &MachineSpec, key: &Path, folder: &Path) -> Duration {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let ssh = |user: &str, timeout: &str, command: &str| {
        let mut ssh = Command::new("ssh");
        ssh.args(["-F", "none", "-o", "UserKnownHostsFile=/dev/null", "-o", "StrictHostKeyChecking=no"]);
        ssh.args(["-o", "BatchMode=yes", "-o", timeout, "-p", &port, "-i"]).arg(key);
        ssh.arg(format!("{user}@localhost")).arg(command);
        ssh.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        ssh
    };
    let begun = Instant::now();
    let pairs: Vec<_> = (0..2).map(|_| UnixStream::pair().unwrap()).collect();
    let fd = |n: usize| pairs[n].1.as_raw_fd().to_string();
    let wiring = Wiring { qmp: fd(0), console: fd(1), ..Wiring::placeholder() };
    for (_, theirs) in &pairs {
        nix::fcntl::fcntl(theirs, nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty())).unwrap();
    }
    let args = argv(spec, &wiring).into_iter().filter(|arg| arg != "-S");
    let args = args.map(|arg| arg.replace("127.0.0.1:0-", &format!("127.0.0.1:{port}-")));
    let mut command = Command::new(Qemu::NAME);
    command.args(args).env("TMPDIR", folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut qemu = command.spawn().unwrap();
    while !ssh("root", "ConnectTimeout=1", "exit").status().unwrap().success() {}
    let mut monitor = ssh("mcc", "ConnectTimeout=60", "sleep 1").spawn().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let unpack =
        format!("tar xzf BenchKit/INPUTS/{INSTANCE}.tgz && mv {INSTANCE} execution && cd execution && true");
    assert!(ssh("mcc", "ConnectTimeout=60", &unpack).status().unwrap().success());
    assert!(ssh("mcc", "ConnectTimeout=60", "true").status().unwrap().success());
    qemu.kill().unwrap();
    qemu.wait().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let took = begun.elapsed();
    let _ = monitor.kill();
    monitor.wait().unwrap();
    took
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
