//! Faults of the host: no disk space, memory or file descriptors, a stopped controller, disks that change. Nothing
//! recorded is lost, the message contains a remedy, and the campaign can be resumed (R2, R7).

use crate::support::campaign;
use crate::support::images;

use campaign::small_disk::SmallDisk;
use campaign::{EXAMINATIONS, Folder, stderr, until};
use mcc_harness::store::Outcome;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::{Pid, getsid};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ONE: &str = "tool-0/DiningTable-PT-03/ReachabilityDeadlock";

/// A campaign of one run on the fake QEMU; `hosts` are further lines of `[hosts]`.
/// So that the files of a run fit on a small disk.
const SMALL_OUTPUT: &str = "[limits]\noutput_bytes = 300000\n";

fn one_run(hosts: &str) -> Folder {
    Folder::with_fake_qemu(1, &["ReachabilityDeadlock"], &format!("{SMALL_OUTPUT}[hosts]\n{hosts}\n"))
}

/// State and reason of the attempts of a run that ended as infrastructure failures.
fn infrastructure_failures(folder: &Folder, run: &str) -> Vec<(String, String)> {
    let attempts = folder.record().attempts(&run.parse().unwrap()).unwrap().into_iter();
    let state_and_reason = |attempt: mcc_harness::store::Attempt| match attempt.outcome {
        Outcome::Infrastructure { state, reason } => Some((state, reason)),
        _ => None,
    };
    attempts.filter_map(state_and_reason).collect()
}

/// Fills the disk of the results completely. QEMU's limit for the size of a file is smaller than some of the disks.
const FILL: &str =
    "for n in 1 2 3; do command -p dd if=/dev/zero of=results.disk/ballast-$n bs=4k 2>/dev/null; done";

/// Asserts that the campaign stops with a remedy and without a lost record, and that it can be resumed and finished
/// after `repair` and with free space on the disk.
fn stops_and_resumes(folder: &Folder, words: &[&str], repair: impl Fn()) {
    let stopped = folder.run(&[]).code(1);
    let message = stderr(&stopped);
    for words in words.iter().chain(&["nothing recorded", "free space", "`run` again"]) {
        assert!(message.contains(words), "{words} in {message}");
    }
    assert!(message.contains("run: 0 of 1 runs recorded\n"), "{message}");
    assert_eq!(folder.machines(), [0; 0]);
    let summary = folder.record().summary().unwrap();
    assert_eq!((summary.recorded, summary.retried), (0, 0), "a full disk counts against no run: {message}");
    for n in 1..=3 {
        fs::remove_file(folder.path().join(format!("results.disk/ballast-{n}"))).unwrap();
    }
    repair();
    folder.run(&[]).success();
    assert_eq!(folder.runs().len(), 1);
    assert!(folder.running_folders().is_empty());
}

#[test]
fn a_full_output_disk_stops_the_campaign_until_there_is_space() {
    let folder = one_run("");
    let _disk = SmallDisk::at(&folder.results(), 20 << 20);
    let print = "power_on; ready; prepared; started
                 printf -v line %0999d 0; for n in {1..300}; do echo \"$line\" >&$stdout; done; ended; drained 300000";
    folder.fake_qemu(&format!("{FILL}; {print}; answer_until quit"));
    stops_and_resumes(&folder, &["outputs/stdout", "No space left on device", "free space"], || {
        folder.fake_qemu(&format!("{print}; answer_until quit"));
    });
    assert_eq!(folder.output(ONE, 1, "stdout").len(), 300_000);
}

#[test]
fn a_full_record_disk_stops_the_campaign_until_there_is_space() {
    let folder = one_run("");
    let _disk = SmallDisk::at(&folder.results(), 20 << 20);
    folder
        .fake_qemu(&format!("power_on; ready; prepared; started; {FILL}; ended; drained; answer_until quit"));
    stops_and_resumes(&folder, &["record.db cannot be written", "full", "free space"], || {
        folder.fake_qemu("whole_run x");
    });
}

#[test]
fn an_io_error_of_the_record_disk_stops_the_campaign() {
    let folder = one_run("");
    qemu_stays_root(&folder);
    // A write beyond this limit fails like a write to a broken disk: SQLite reports an I/O error.
    folder.fake_qemu("power_on; command -p prlimit --pid $PPID --fsize=8192; ready; prepared; started; ended; drained; linger");
    let stopped = limited(&folder, "trap '' XFSZ").code(1);
    assert!(stderr(&stopped).contains("record.db cannot be written: disk I/O error"), "{}", stderr(&stopped));
    assert!(stderr(&stopped).contains("nothing recorded is lost"), "{}", stderr(&stopped));
    assert_eq!(folder.record().summary().unwrap().recorded, 0);
    folder.fake_qemu("whole_run x");
    folder.run(&[]).success();
    assert_eq!(folder.runs()[ONE].attempts, 1);
}

/// Makes the fake QEMU run as root: the unprivileged user of QEMU cannot reach a folder that is closed to others.
fn qemu_stays_root(folder: &Folder) {
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o700)).unwrap();
}

/// Runs the campaign in a shell in which these commands were executed.
fn limited(folder: &Folder, limits: &str) -> assert_cmd::assert::Assert {
    let run = folder.run_command(&[]);
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("{limits}; exec \"$@\""), "-"]).arg(run.get_program()).args(run.get_args());
    let path = run.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, path)| path);
    shell.current_dir(folder.path()).env("PATH", path.unwrap());
    assert_cmd::Command::from(shell).assert()
}

/// A campaign of one run in a real machine.
fn real(hosts: &str) -> Folder {
    images::image("images/breadth-first");
    let hosts = format!("[hosts]\n{hosts}\n");
    let campaign =
        campaign::on_fixtures(&["DiningTable-PT-03"], &["ReachabilityDeadlock"], &["breadth-first"], &hosts);
    Folder::new(&campaign.replace("entry = \"breadth-first\"", "entry = \"tool-0\""))
}

#[test]
fn a_full_overlay_disk_stops_the_machine_before_the_guest() {
    let folder = real(&format!("{SMALL_OUTPUT}disk_gib = \"1/64\""));
    let _disk = SmallDisk::at(&folder.results(), 52 << 20);
    // Free space for the output, but not for the writes of the guest to its disk.
    folder.qemu(&format!("{FILL}; truncate -s -{} results.disk/ballast-1", 96 << 10));
    stops_and_resumes(&folder, &["write of disk", "No space left on device"], || folder.qemu(""));
}

/// Shell commands that replace the disk in the arguments of QEMU, and the words of more `cases`.
pub fn with_disk(disk: &Path, cases: &str) -> String {
    format!(
        r#"for word; do
               shift
               case "$word" in
                   *'"node-name":"base-file"'*) word='{{"driver":"file","node-name":"base-file","filename":"{}","read-only":true}}';;
                   {cases}
               esac
               set -- "$@" "$word"
           done"#,
        disk.display()
    )
}

/// Overwrites the second-level tables of a qcow2 disk, so that no cluster can be read. The first-level table is kept,
/// so that QEMU opens the disk.
fn corrupt(disk: &Path) {
    use std::os::unix::fs::FileExt;
    let file = fs::File::options().read(true).write(true).open(disk).unwrap();
    let number = |at: u64| {
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, at).unwrap();
        u64::from_be_bytes(bytes)
    };
    let (entries, first_level) = (number(32) & 0xffff_ffff, number(40));
    for entry in 0..entries {
        let second_level = number(first_level + 8 * entry) & 0x00ff_ffff_ffff_fe00;
        if second_level != 0 {
            // The offset is not the start of a cluster: QEMU reports the image as corrupt.
            let unaligned = 0x8000_0000_0000_0200_u64.to_be_bytes();
            file.write_all_at(&unaligned.repeat(8192), second_level).unwrap();
        }
    }
}

/// A campaign on the fake QEMU with a disk of 64 MiB.
fn with_large_disk(jobs: u32) -> Folder {
    let hosts = format!("[hosts]\njobs = {jobs}\n{SMALL_OUTPUT}");
    let folder = Folder::with_fake_qemu(1, &EXAMINATIONS[..3], &hosts);
    let mut disk = campaign::EMPTY_QCOW2.to_vec();
    disk[24..32].copy_from_slice(&(64_u64 << 20).to_be_bytes());
    fs::write(folder.path().join("image/disk"), disk).unwrap();
    folder
}

#[test]
fn too_little_space_on_the_host_lowers_the_runs_at_once() {
    let folder = with_large_disk(3);
    let _disk = SmallDisk::at(&folder.results(), 176 << 20);
    let run = folder.run(&[]).success();
    let warning = stderr(&run);
    assert!(
        warning.contains("runs at once: 2 instead of 3") && warning.contains("may take 82 MiB"),
        "{warning}"
    );
    assert_eq!(folder.runs().len(), 3);
    for run in folder.runs().values() {
        assert_eq!(run.last.facts.as_ref().unwrap().disk_limit_kib, Some(64 << 10));
    }
}

#[test]
fn a_host_without_space_for_one_machine_is_refused() {
    let folder = with_large_disk(1);
    {
        let _disk = SmallDisk::at(&folder.results(), 44 << 20);
        let message = stderr(&folder.run(&[]).code(69));
        for words in ["MiB are free", "82 MiB", "--out", "disk_gib", "output_bytes"] {
            assert!(message.contains(words), "{words} in {message}");
        }
        assert_eq!(folder.record().summary().unwrap().recorded, 0);
    }
    let campaign = fs::read_to_string(folder.path().join("campaign.toml")).unwrap();
    let campaign = campaign + "disk_gib = \"1/512\"\n";
    fs::write(folder.path().join("campaign.toml"), campaign).unwrap();
    let _disk = SmallDisk::at(&folder.results(), 44 << 20);
    folder.run(&[]).success();
    assert_eq!(folder.runs().len(), 3);
}

/// What a run leaves in the record stays, so the space is compared again before each start.
#[test]
fn a_run_does_not_start_without_space_for_its_output() {
    let folder = with_large_disk(1);
    let _disk = SmallDisk::at(&folder.results(), 102 << 20);
    let fill = "command -p dd if=/dev/zero of=results.disk/ballast bs=1M count=30 2>/dev/null";
    folder.fake_qemu(&format!("{fill}; whole_run $'hello\\n'"));
    let refused = folder.run(&[]).code(69);
    assert!(stderr(&refused).contains("82 MiB") && stderr(&refused).contains("nothing recorded is lost"));
    assert_eq!(folder.record().summary().unwrap().recorded, 1, "{}", stderr(&refused));
    fs::remove_file(folder.path().join("results.disk/ballast")).unwrap();
    folder.fake_qemu("whole_run $'hello\\n'");
    folder.run(&[]).success();
    assert_eq!(folder.runs().len(), 3);
}

#[test]
fn a_stopped_qemu_is_an_infrastructure_failure() {
    let folder = Folder::with_fake_qemu(1, &["ReachabilityDeadlock"], "[limits]\nwall_s = 20\n");
    folder.fake_qemu(
        "if [[ ! -e stopped ]]; then
             : > stopped; power_on; ready; prepared; started; kill -STOP $$
         fi
         whole_run x",
    );
    folder.run(&[]).success();
    let failures = infrastructure_failures(&folder, ONE);
    let [(state, reason)] = &failures[..] else { panic!("{failures:?}") };
    assert_eq!(state, "examining");
    assert!(reason.contains("was stopped for") && reason.contains("by a signal"), "{reason}");
    let run = &folder.runs()[ONE];
    assert_eq!((run.attempts, &run.last.outcome), (2, &Outcome::Finished { exit_code: 0 }));
}

#[test]
fn qemu_gets_few_variables_and_no_group_of_root() {
    let folder = one_run("");
    folder.fake_qemu("compgen -e > variables; echo $UID ${GROUPS[*]} > ids; whole_run x");
    let mut run = folder.run_command(&[]);
    run.env("SECRET_TOKEN", "secret").env("LANG", "C.UTF-8");
    assert_cmd::Command::from(run).assert().success();
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let variables = read("variables");
    // The shell adds the others itself.
    let known = ["LD_LIBRARY_PATH", "TMPDIR", "PWD", "SHLVL", "_", "OLDPWD"];
    for variable in variables.lines() {
        assert!(known.contains(&variable), "{variable} in {variables}");
    }
    assert!(variables.lines().any(|variable| variable == "TMPDIR"), "{variables}");
    let ids = read("ids");
    assert!(ids.split_whitespace().all(|id| id != "0"), "user and groups of QEMU: {ids}");
}

#[test]
fn a_disk_read_error_stops_the_machine_and_names_the_disk() {
    let folder = real("retries = 0");
    let disk = folder.path().join("corrupt.qcow2");
    fs::copy(images::image("images/breadth-first").disk(), &disk).unwrap();
    corrupt(&disk);
    folder.qemu(&with_disk(&disk, ""));
    folder.run(&[]).code(1);
    let infrastructure_failures = infrastructure_failures(&folder, ONE);
    let [(state, reason)] = &infrastructure_failures[..] else { panic!("{infrastructure_failures:?}") };
    assert_eq!(state, "booting");
    assert!(reason.contains("read of disk") && reason.contains("Input/output error"), "{reason}");
    assert!(folder.output(ONE, 1, "qemu.log").contains("corrupt"));
}

#[test]
fn a_lack_of_host_memory_is_an_infrastructure_failure() {
    let folder = real("retries = 1");
    folder.qemu("ulimit -v 4000000");
    folder.run(&[]).code(1);
    let infrastructure_failures = infrastructure_failures(&folder, ONE);
    assert_eq!(infrastructure_failures.len(), 2);
    for (state, reason) in infrastructure_failures {
        assert_eq!(state, "booting");
        assert!(reason.contains("Cannot allocate memory"), "{reason}");
    }
}

#[test]
fn a_lack_of_file_descriptors_is_an_infrastructure_failure() {
    let folder = one_run("retries = 1");
    // Enough for the files that the controller holds open, and too few for a machine.
    limited(&folder, "ulimit -n 20").code(1);
    let infrastructure_failures = infrastructure_failures(&folder, ONE);
    assert_eq!(infrastructure_failures.len(), 2);
    for (_, reason) in infrastructure_failures {
        assert!(reason.contains("Too many open files"), "{reason}");
    }
    folder.run(&["--retry", "infrastructure"]).success();
}

#[test]
fn a_stopped_controller_repeats_the_running_attempt() {
    let folder = one_run("stall_s = 1\nretries = 5");
    folder.fake_qemu(
        "power_on; ready; prepared; started
         if [[ ! -e held ]]; then : > held; linger; fi
         ended; drained; answer_until quit",
    );
    let mut controller = folder.run_command(&[]).stderr(Stdio::null()).spawn().unwrap();
    until("the tool runs", || folder.path().join("held").exists());
    let signal = |signal| kill(Pid::from_raw(controller.id() as i32), signal).unwrap();
    signal(Signal::SIGSTOP);
    let stopped = Instant::now();
    until("the stop is longer than `stall_s`", || stopped.elapsed() > Duration::from_secs(4));
    signal(Signal::SIGCONT);
    assert!(controller.wait().unwrap().success());
    // On a busy host, another attempt may be repeated for the same reason.
    let failures = infrastructure_failures(&folder, ONE);
    let suspended = "suspended host: the controller could not check";
    let is_expected =
        |(state, reason): &(String, String)| state == "examining" && reason.starts_with(suspended);
    assert!(failures.iter().any(is_expected), "{failures:?}");
    assert_eq!(folder.runs()[ONE].last.outcome, Outcome::Finished { exit_code: 0 });
    assert_eq!(folder.machines(), [0; 0]);
}

#[test]
fn a_second_ctrl_c_stops_at_once_and_discards_the_attempt() {
    let folder = one_run("");
    folder.fake_qemu("power_on; ready; prepared; started; : > held; linger");
    let mut controller = folder.run_command(&[]).stderr(Stdio::null()).spawn().unwrap();
    until("the tool runs", || folder.path().join("held").exists());
    let mut ended = None;
    // Two signals at the same moment would be delivered as one.
    until("the controller stops", || {
        let _ = kill(Pid::from_raw(controller.id() as i32), Signal::SIGINT);
        ended = controller.try_wait().unwrap();
        ended.is_some()
    });
    assert_eq!(ended.unwrap().code(), Some(130));
    until("its machine is gone", || folder.machines().is_empty());
    assert_eq!(folder.record().summary().unwrap().recorded, 0);
    folder.fake_qemu("whole_run x");
    folder.run(&[]).success();
    assert_eq!(folder.runs()[ONE].attempts, 1);
}

/// The tool creates the file `begun` and runs until the file `end` exists.
const UNTIL_END: &str = "power_on; ready; prepared; started; : > begun
     until [[ -e end ]]; do linger 0.05; done; ended; drained; answer_until quit";

#[test]
fn a_ctrl_c_in_the_terminal_lets_the_running_tool_end() {
    let folder = one_run("retries = 0");
    folder.fake_qemu(UNTIL_END);
    let mut controller = folder.run_command(&[]).stderr(Stdio::piped()).process_group(0).spawn().unwrap();
    let mut progress = BufReader::new(controller.stderr.take().unwrap()).lines();
    until("the tool runs", || folder.path().join("begun").exists());
    // A terminal sends its signals to the whole foreground process group.
    killpg(Pid::from_raw(controller.id() as i32), Signal::SIGINT).unwrap();
    let mut says = |words: &str| progress.any(|line| line.unwrap().contains(words));
    assert!(
        says("SIGINT: `run` stops when the current runs have ended"),
        "the controller has got the signal"
    );
    assert_eq!(folder.machines().len(), 1, "the machine still runs");
    fs::write(folder.path().join("end"), "").unwrap();
    assert!(says("1 of 1 runs recorded"));
    assert!(controller.wait().unwrap().success(), "every run is recorded");
    assert_eq!(folder.runs()[ONE].last.outcome, Outcome::Finished { exit_code: 0 });
}

#[test]
fn a_machine_has_a_session_of_its_own() {
    let folder = one_run("retries = 0");
    folder.fake_qemu(UNTIL_END);
    let mut controller = folder.run_command(&[]).stderr(Stdio::null()).process_group(0).spawn().unwrap();
    until("the tool runs", || folder.path().join("begun").exists());
    let machine = Pid::from_raw(folder.machines()[0]);
    let own = Pid::from_raw(controller.id() as i32);
    assert_ne!(
        getsid(Some(machine)),
        getsid(Some(own)),
        "SIGHUP and SIGTSTP of the terminal do not reach it"
    );
    fs::write(folder.path().join("end"), "").unwrap();
    assert!(controller.wait().unwrap().success());
}

#[test]
fn preemption_three_times_uses_up_no_attempt() {
    let folder = one_run("retries = 2");
    folder.fake_qemu("power_on; ready; prepared; started; : > begun; linger");
    for _ in 0..3 {
        let mut controller = folder.run_command(&[]).stderr(Stdio::null()).spawn().unwrap();
        until("the tool runs", || folder.path().join("begun").exists());
        // A batch system signals every process of a job, in any order.
        kill(Pid::from_raw(folder.machines()[0]), Signal::SIGTERM).unwrap();
        until("the machine is gone", || folder.machines().is_empty());
        kill(Pid::from_raw(controller.id() as i32), Signal::SIGTERM).unwrap();
        assert_eq!(controller.wait().unwrap().code(), Some(1));
        fs::remove_file(folder.path().join("begun")).unwrap();
        assert_eq!(
            folder.record().attempts(&ONE.parse().unwrap()).unwrap().len(),
            0,
            "no attempt is counted"
        );
    }
    folder.fake_qemu("whole_run x");
    folder.run(&[]).success();
    assert_eq!(folder.runs()[ONE].attempts, 1);
}

#[test]
fn a_limit_enforced_late_is_marked_and_bounds_the_cost() {
    let folder = Folder::with_fake_qemu(
        1,
        &["ReachabilityDeadlock"],
        "[limits]\nwall_s = 5\n[hosts]\nretries = 0\nstall_s = 3600\n",
    );
    folder.fake_qemu("power_on; ready; prepared; started; : > begun; linger");
    let mut controller = folder.run_command(&[]).stderr(Stdio::null()).spawn().unwrap();
    until("the tool runs", || folder.path().join("begun").exists());
    // The controller is stopped, as on a host without free memory.
    let signal = |signal| kill(Pid::from_raw(controller.id() as i32), signal).unwrap();
    signal(Signal::SIGSTOP);
    let stopped = Instant::now();
    until("the limit is exceeded by 3 s", || stopped.elapsed() > Duration::from_secs(8));
    signal(Signal::SIGCONT);
    assert!(controller.wait().unwrap().success());
    let run = &folder.runs()[ONE].last;
    assert_eq!(run.outcome, Outcome::WallLimit);
    assert!(run.marks.contains(&"late-limit".into()), "{:?}", run.marks);
    assert!(run.facts.as_ref().unwrap().wall_ms > 7000, "the record has the measured time");
    folder.judge().success();
    let judged = campaign::Judged::read(&folder.path().join("judgement"));
    let cost = judged.cell("tool-0", "DiningTable-PT-03", "ReachabilityDeadlock").cost.unwrap();
    assert_eq!(cost.wall_ms, 5000);
}

#[test]
fn a_controller_that_waits_for_a_lock_ends_with_one_sigterm() {
    let folder = one_run("");
    let leases = folder.path().join("leases");
    fs::create_dir(&leases).unwrap();
    let turn = fs::File::create(leases.join("turn")).unwrap();
    let _held = nix::fcntl::Flock::lock(turn, nix::fcntl::FlockArg::LockExclusive).unwrap();
    let controller = folder.run_command(&[]).stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", controller.id());
    until("the controller handles SIGTERM", || {
        let status = fs::read_to_string(&status).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim().to_owned();
        u64::from_str_radix(&caught, 16).unwrap() & 1 << (Signal::SIGTERM as u32 - 1) != 0
    });
    kill(Pid::from_raw(controller.id() as i32), Signal::SIGTERM).unwrap();
    let ended = controller.wait_with_output().unwrap();
    let message = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{message}");
    assert!(message.contains("turn: stopped while another process had locked it: "), "{message}");
    assert!(
        message.contains(&format!("process {} (", std::process::id())) || message.contains("unknown"),
        "{message}"
    );
}

#[test]
fn a_machine_inherits_no_file_of_the_caller() {
    let folder = one_run("");
    folder.fake_qemu("[[ ! -e /proc/$$/fd/9 ]] || exit 9; whole_run x");
    limited(&folder, "exec 9</etc/passwd").success();
}

#[test]
fn a_fifo_among_the_leases_is_ignored_and_named() {
    let folder = one_run("");
    let leases = folder.path().join("leases");
    fs::create_dir(&leases).unwrap();
    nix::unistd::mkfifo(&leases.join("9-x.json"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let run = folder.run(&[]).success();
    assert!(stderr(&run).contains("lease file ignored: "), "{}", stderr(&run));
    assert!(stderr(&run).contains("9-x.json: it is not a regular file"), "{}", stderr(&run));
    let doctor = folder.harness(&["doctor", "--allow-degraded"]).output().unwrap();
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    assert!(doctor.contains("9-x.json: it is not a regular file"), "{doctor}");
}

#[test]
fn a_disk_that_refers_to_a_file_of_the_host_is_refused() {
    let folder = one_run("");
    let disk = folder.path().join("image/disk");
    let secret = folder.path().join("secret");
    fs::write(&secret, [7; 4096]).unwrap();
    for name in [secret.to_str().unwrap(), "nbd://127.0.0.1:10809/x"] {
        let made = Command::new("qemu-img")
            .args(["create", "-q", "-u", "-f", "qcow2", "-F", "raw", "-b", name])
            .arg(&disk)
            .arg("1M")
            .status();
        assert!(made.unwrap().success());
        let refused = folder.run(&[]).code(2);
        let words =
            format!("image/disk: it refers to another file, the backing file {name:?}; make one file of it");
        assert!(stderr(&refused).contains(&words), "{words} in {}", stderr(&refused));
        let inspected = folder.harness(&["image", "inspect", "image"]).output().unwrap();
        assert_eq!(inspected.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&inspected.stderr).contains(&words));
    }
    fs::write(&disk, campaign::EMPTY_QCOW2).unwrap();
    let json = folder.path().join("image/image.json");
    let facts = fs::read_to_string(&json).unwrap();
    for name in ["nbd:127.0.0.1:10809", "json:{}", "../secret", "/etc/passwd", "a/b", ""] {
        fs::write(&json, facts.replace("\"disk\": \"disk\"", &format!("\"disk\": {name:?}"))).unwrap();
        let refused = folder.run(&[]).code(2);
        let words = [": correct it", "is missing: build the image again"];
        assert!(words.iter().any(|words| stderr(&refused).contains(words)), "{name}: {}", stderr(&refused));
    }
    fs::write(&json, facts).unwrap();
    for name in ["disk", "kernel", "initrd"] {
        let file = folder.path().join("image").join(name);
        let content = fs::read(&file).unwrap();
        fs::remove_file(&file).unwrap();
        symlink(&secret, &file).unwrap();
        for said in [
            &["run", "campaign.toml", "--out", "results", "--allow-degraded"][..],
            &["image", "inspect", "image"],
        ] {
            let refused = folder.harness(said).output().unwrap();
            let said = String::from_utf8_lossy(&refused.stderr);
            let words = format!("image/{name}: it is a symbolic link; give a regular file");
            assert!(refused.status.code() == Some(2) && said.contains(&words), "{said}");
        }
        fs::remove_file(&file).unwrap();
        fs::write(&file, content).unwrap();
    }
}

#[test]
fn a_disk_that_changes_during_a_campaign_stops_it() {
    let folder = Folder::with_fake_qemu(1, &EXAMINATIONS, "[hosts]\njobs = 1\n");
    qemu_stays_root(&folder);
    let disk = folder.path().join("image/disk");
    // The disk changes while the tool of the second run runs, so its input is unknown.
    folder.fake_qemu(
        "echo >> count; mapfile -t begun < count
         if (( ${#begun[@]} == 2 )); then echo more >> image/disk; fi; whole_run x",
    );
    let stopped = folder.run(&[]).code(2);
    let message = stderr(&stopped);
    assert!(message.contains("image/disk") && message.contains("77 bytes, before 72"), "{message}");
    assert!(message.contains("restore it and `run` again"), "{message}");
    assert_eq!(folder.record().summary().unwrap().recorded, 1);
    assert_eq!(
        fs::read_to_string(folder.path().join("count")).unwrap().lines().count(),
        2,
        "no run starts after it"
    );
    // With a changed disk the campaign is a different one.
    let refused = folder.run(&[]).code(2);
    assert!(stderr(&refused).contains("the disk of tool-0 differs"), "{}", stderr(&refused));
    fs::write(&disk, campaign::EMPTY_QCOW2).unwrap();
    // A change of the content whose time is set back.
    let swap = "if [[ ! -e swapped ]]; then touch -r image/disk swapped; printf Q | dd of=image/disk conv=notrunc status=none; \
                touch -r swapped image/disk; fi; whole_run x";
    folder.fake_qemu(swap);
    let message = stderr(&folder.run(&[]).code(2));
    assert!(message.contains("image/disk") && message.contains("its time set back"), "{message}");
    folder.fake_qemu("whole_run x");
    folder.run(&[]).success();
    assert!(folder.runs().values().all(|run| run.attempts == 1));
}

/// They can enter folders, because QEMU may run as one of them.
#[test]
fn other_users_can_read_no_file_of_a_record() {
    let folder = Folder::with_fake_qemu(1, &EXAMINATIONS, "");
    folder.run(&[]).success();
    let (mut files, mut folders) = (vec![], 0);
    for item in walkdir::WalkDir::new(folder.path().join("results")) {
        let item = item.unwrap();
        let open_to_others = if item.file_type().is_dir() { 0o066 } else { 0o077 };
        let mode = item.metadata().unwrap().permissions().mode();
        assert_eq!(mode & open_to_others, 0, "{}: {mode:o}", item.path().display());
        if item.file_type().is_dir() {
            folders += 1;
        } else {
            files.push(item.file_name().to_string_lossy().into_owned());
        }
    }
    assert!(folders > 5, "{folders}");
    for name in ["inputs.ext4", "DiningTable-PT-03.tgz", "stdout", "record.db"] {
        assert!(files.iter().any(|file| file == name), "{name} of {files:?}");
    }
}

#[test]
fn an_inputs_disk_of_other_edition_or_archives_is_refused() {
    let folder = one_run("");
    let edition = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/editions/mcc-2018.toml")).unwrap();
    assert!(edition.contains("name = \"mcc-2018\""));
    let other = folder.path().join("other.toml");
    fs::write(&other, edition.replace("name = \"mcc-2018\"", "name = \"mcc-2016\"")).unwrap();
    fs::create_dir(folder.path().join("models")).unwrap();
    let fixture = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("pnml-fixtures").join(name);
    fs::copy(fixture("DiningTable-PT-03.tgz"), folder.path().join("models/DiningTable-PT-03.tgz")).unwrap();
    let make = |edition: &str| {
        let make =
            folder.harness(&["image", "inputs", "models", "--out", "inputs-disk", "--edition", edition]);
        assert_cmd::Command::from(make).assert().success();
    };
    make("./other.toml");
    let file = folder.path().join("campaign.toml");
    let campaign = fs::read_to_string(&file).unwrap();
    let (before, after) = campaign.split_once("inputs = ").unwrap();
    let after = after.split_once('\n').unwrap().1;
    fs::write(&file, format!("{before}inputs = \"inputs-disk\"\n{after}")).unwrap();
    let refused = folder.run(&[]).code(2);
    assert!(
        stderr(&refused).contains("is of edition mcc-2016, but the campaign is of mcc-2018"),
        "{}",
        stderr(&refused)
    );

    make("mcc-2018");
    let packed = folder.path().join("inputs-disk/archives/DiningTable-PT-03.tgz");
    let original = fs::read(&packed).unwrap();
    // The same instance, compressed differently.
    fs::write(&packed, recompressed(&original)).unwrap();
    let refused = folder.run(&[]).code(2);
    assert!(stderr(&refused).contains("does not contain DiningTable-PT-03"), "{}", stderr(&refused));
    fs::write(&packed, original).unwrap();
    assert!(!folder.results().exists());
    folder.run(&[]).success();
}

fn recompressed(archive: &[u8]) -> Vec<u8> {
    use std::io::Read;
    let mut tar = vec![];
    flate2::read::GzDecoder::new(archive).read_to_end(&mut tar).unwrap();
    let mut encoder = flate2::read::GzEncoder::new(&tar[..], flate2::Compression::fast());
    let mut archive = vec![];
    encoder.read_to_end(&mut archive).unwrap();
    archive
}

/// The wall clock of the host can be set at any moment, so code that measures or limits a run must not read it. These
/// crates read it in four places only: for the clock of the guest, and for the times shown to users of a record, of
/// `status` and of the lease registry.
#[test]
fn no_measurement_reads_the_wall_clock() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut readings = vec![];
    for folder in ["runner/executor", "vm", "store"] {
        for file in walkdir::WalkDir::new(src.join(folder)).sort_by_file_name() {
            let file = file.unwrap().into_path();
            let Ok(text) = fs::read_to_string(&file) else { continue };
            let reads = |line: &&str| {
                ["SystemTime::now", "Timestamp::now", "CLOCK_REALTIME", "clock::now"]
                    .iter()
                    .any(|c| line.contains(c))
            };
            readings.extend(text.lines().filter(reads).map(|line| line.trim().to_owned()));
        }
    }
    readings.sort();
    assert_eq!(
        readings,
        [
            "let mut job = invocation.job(random::hex_digits(16)?, clock::now_ns(), random::hex_digits(32)?);",
            "let seconds = begun.ok().and_then(|begun| SystemTime::now().duration_since(begun).ok());",
            "since: clock::now_text(),",
            "started_at: clock::now_text(),",
        ]
    );
}

#[cfg(not(feature = "libvirt"))]
#[test]
fn libvirt_is_refused_by_a_program_built_without_it() {
    let folder = Folder::with_fake_qemu(1, &["StateSpace"], "[hosts]\nbackend = \"libvirt\"\n");
    let message = stderr(&folder.run(&[]).code(69));
    assert!(message.contains("was built without it"), "{message}");
    assert!(message.contains("--features libvirt"), "{message}");
    assert!(!folder.results().exists());
}
