//! Time to start a run: booting, restoring, ssh, and a loop like that of BenchKit.

use super::{INSTANCE, MachineSetup, median, run};
use mcc_harness::base::guest::{GuestEvent, Request};
use mcc_harness::campaign::Run;
use mcc_harness::executor::Executor;
use mcc_harness::host::Qemu;
use mcc_harness::vm::{
    DiskFile, Event, Guest, Image, Machine, MachineSpec, Original, QemuSockets, SavedStates, Start, argv,
    overlays,
};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Ratios: time of a run without its tool to a loop like that of BenchKit, on the reference disk made bootable by a
/// kit; the same over ssh on that disk; readiness, and time of a run, of a restored machine to those of a booted one.
pub fn starts(setup: &MachineSetup, rounds: usize) {
    let image = MachineSetup::image("reference");
    let spec = setup.spec(&image);
    let images = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("build/images");
    let kit = Image::open_original(&images.join("kit")).expect("scripts/setup makes it");
    let login = login(kit.folder.join("key"));
    let original =
        MachineSpec { guest: Guest::Ssh(login.clone()), disk: DiskFile::new(kit.disk(), "vmdk"), ..spec };
    // The reference disk has no tool: its BenchKit_head.sh prints one line and ends. That of the kit made for tests
    // executes the reference tool on a small net.
    let ways = ["booted", "restored", "ssh"];
    let runs: Vec<Run> = (0..rounds)
        .flat_map(|n| ways.map(|way| run(&format!("{way}-{n}"), INSTANCE, "ReachabilityDeadlock")))
        .collect();
    let record = setup.record("starts", &runs);
    let stop = AtomicBool::new(false);
    let mut booting = setup.executor(&record, &setup.edition, &image, &runs, &stop);
    for (entry, disks) in &mut booting.settings.disks.entries {
        if entry.starts_with("ssh") {
            disks.guest = original.guest.clone();
            disks.disk = original.disk.clone();
        }
    }
    let mut restoring = setup.executor(&record, &setup.edition, &image, &runs, &stop);
    restoring.states = Some(SavedStates::new(setup.folder.to_owned()));
    let mut benchkit = vec![];
    let mut beyond = [vec![], vec![], vec![]];
    let mut ready = [vec![], vec![], vec![]];
    for round in runs.chunks(ways.len()) {
        benchkit.push(benchkit_loop(&original, &login.key, setup.folder, "true").0);
        for (way, run) in round.iter().enumerate() {
            let executor: &Executor = if ways[way] == "restored" { &restoring } else { &booting };
            let begun = Instant::now();
            executor.run(setup.leases(), &|open| open == run, &|_| {}).unwrap();
            let took = begun.elapsed();
            let facts = record.attempts(&run.id()).unwrap().pop().unwrap().facts.expect("the tool ran");
            beyond[way].push(took - Duration::from_millis(facts.wall_ms));
            ready[way].push(Duration::from_millis(facts.boot_ms));
        }
    }
    let benchkit = median(benchkit);
    let [booted, restored_run, ssh] = beyond.map(median);
    let [ready, restored, ssh_ready] = ready.map(median);
    for (what, time) in [
        ("harness, boot to ready", ready),
        ("harness, restored to ready", restored),
        ("harness, per run without the tool", booted),
        ("harness, per restored run without the tool", restored_run),
        ("harness over ssh, boot to ready", ssh_ready),
        ("harness over ssh, per run without the tool", ssh),
        ("loop like BenchKit, per run with a minimal tool", benchkit),
    ] {
        println!("{what:<50} {:>6} ms", time.as_millis());
    }
    for (what, over, under) in [
        ("harness / loop like BenchKit", booted, benchkit),
        ("harness over ssh / loop like BenchKit", ssh, benchkit),
        ("restored / booted, to ready", restored, ready),
        ("restored / booted, per run without the tool", restored_run, booted),
    ] {
        println!("{what:<50} {:>6.3}  ({rounds} rounds, medians)", over.as_secs_f64() / under.as_secs_f64());
    }
    println!(
        "{:<50} {:>6} MiB",
        "restored machine that waits, resident memory",
        waiting_mib(&setup.spec(&image), setup)
    );
}

/// The resident memory of a restored machine whose guest is ready and has no job, in MiB.
fn waiting_mib(spec: &MachineSpec, setup: &MachineSetup) -> u64 {
    let timeout = Duration::from_secs(60);
    let states = SavedStates::new(setup.folder.to_owned());
    let saved = states.get_or_boot(spec, "", timeout).expect("the machine boots");
    let restored = MachineSpec { start: Start::Restore(saved), ..spec.clone() };
    let logs = tempfile::tempdir_in(setup.folder).unwrap();
    let mut machine = Machine::start(&restored, logs.path(), 0, timeout).expect("the state is restored");
    machine.send(&Request::Ready).unwrap();
    let deadline = Instant::now() + timeout;
    while !matches!(machine.wait(deadline).unwrap(), Event::Guest(GuestEvent::Ready { .. })) {}
    let (now, _) = machine.rss_kib().expect("QEMU runs");
    machine.halt().unwrap();
    now / 1024
}

/// The login of the tool on an original disk.
fn login(key: PathBuf) -> Original {
    Original { user: "mcc".into(), key, root_key: None, disk: Default::default(), nic: Default::default() }
}

/// Runs the tool of the packet whose disk is `PACKET` (a `.vmdk` with its key beside it) by the loop of BenchKit, and prints
/// its answers.
pub fn packet(setup: &MachineSetup) {
    let Some(disk) = std::env::var_os("PACKET").map(PathBuf::from) else { return println!("-- no PACKET") };
    let key = disk.with_extension("vmdk.key");
    let spec = MachineSpec {
        guest: Guest::Ssh(login(key.clone())),
        disk: DiskFile::new(disk, "vmdk"),
        ..setup.spec(&MachineSetup::image("reference"))
    };
    let tool = format!(
        "cd execution && BK_TOOL=packet BK_EXAMINATION=StateSpace BK_INPUT={INSTANCE} BK_TIME_CONFINEMENT=60 \
         BIN_DIR=$HOME/BenchKit/bin/ BK_BIN_PATH=$HOME/BenchKit/bin/ bash ../BenchKit/BenchKit_head.sh"
    );
    let (took, answers) = benchkit_loop(&spec, &key, setup.folder, &tool);
    println!("-- packet in the loop of BenchKit: {} ms\n{answers}", took.as_millis());
}

/// One run with the loop of BenchKit (2017): `ssh` as root with a timeout of one second until it succeeds, a monitor and a
/// sleep of one second, the command, the figures of the monitor, the kill and a sleep of one second. Returns its time and
/// what the command printed.
fn benchkit_loop(spec: &MachineSpec, key: &Path, folder: &Path, command: &str) -> (Duration, String) {
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
    let overlays = overlays(spec, folder).unwrap();
    let qemu_sockets = QemuSockets {
        qmp: fd(0),
        console: fd(1),
        overlays: overlays.iter().map(|overlay| overlay.as_raw_fd().to_string()).collect(),
        ..QemuSockets::placeholder()
    };
    for theirs in pairs.iter().map(|(_, theirs)| theirs.as_fd()).chain(overlays.iter().map(AsFd::as_fd)) {
        nix::fcntl::fcntl(theirs, nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty())).unwrap();
    }
    let args = argv(spec, &qemu_sockets).into_iter().filter(|arg| arg != "-S");
    let args = args.map(|arg| arg.replace("127.0.0.1:0-", &format!("127.0.0.1:{port}-")));
    let mut qemu = Command::new(Qemu::NAME);
    qemu.args(args).env("TMPDIR", folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut qemu = qemu.spawn().unwrap();
    while !ssh("root", "ConnectTimeout=1", "exit").status().unwrap().success() {
        assert_eq!(qemu.try_wait().unwrap(), None, "QEMU runs");
    }
    let mut monitor = ssh("mcc", "ConnectTimeout=60", "sleep 1").spawn().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let unpack =
        format!("tar xzf BenchKit/INPUTS/{INSTANCE}.tgz && mv {INSTANCE} execution && cd execution && true");
    assert!(ssh("mcc", "ConnectTimeout=60", &unpack).status().unwrap().success());
    let done = ssh("mcc", "ConnectTimeout=60", command).stdout(Stdio::piped()).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    qemu.kill().unwrap();
    qemu.wait().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let took = begun.elapsed();
    let _ = monitor.kill();
    monitor.wait().unwrap();
    (took, String::from_utf8(done.stdout).unwrap())
}
