//! Real machines from the reference disk.

use crate::support::images;
use crate::support::script;

use mcc_harness::base::guest::{Exit, GuestEvent, Job, Request};
use mcc_harness::edition::Edition;
use mcc_harness::vm::{Event, Machine, MachineSpec, Stream};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Far longer than any step of these tests: only a machine that hangs reaches it.
pub const TIMEOUT: Duration = Duration::from_secs(600);

pub fn spec(memory_mib: u64, vcpus: u32) -> MachineSpec {
    let image = images::image("images/reference");
    MachineSpec { backend: crate::backend(), ..script::machine(&image, memory_mib, vcpus) }
}

pub fn job(script: &str) -> Job {
    script::job("mcc", "/home/mcc", script)
}

pub fn next(machine: &mut Machine) -> GuestEvent {
    loop {
        match machine.wait(Instant::now() + TIMEOUT).unwrap() {
            Event::Guest(GuestEvent::Sample { .. }) => {}
            Event::Guest(event) => return event,
            other => panic!("{other:?}"),
        }
    }
}

/// Boots a machine, runs the script, halts the machine. Returns the events of the guest from `Started` on.
pub fn run(script: &str, spec: &MachineSpec, folder: &Path) -> Vec<GuestEvent> {
    let mut machine = start(script, spec, folder, 1 << 20);
    let events = collect(&mut machine);
    assert!(machine.cpu_time().unwrap() > Duration::ZERO);
    machine.halt().unwrap();
    events
}

/// The events until the output is complete. Then waits for the announced bytes, which a busy host receives later.
pub fn collect(machine: &mut Machine) -> Vec<GuestEvent> {
    let mut events = vec![];
    loop {
        events.push(next(machine));
        if let Some(GuestEvent::OutputComplete { stdout_bytes, stderr_bytes, .. }) = events.last() {
            let bytes = (*stdout_bytes, *stderr_bytes);
            assert!(
                machine.wait_for_output(bytes, Instant::now() + TIMEOUT).unwrap(),
                "not all output arrived"
            );
            return events;
        }
    }
}

pub fn start(script: &str, spec: &MachineSpec, folder: &Path, cap: u64) -> Machine {
    let mut machine = Machine::start(spec, folder, cap, TIMEOUT).unwrap();
    let GuestEvent::Ready { cpu_flags, memory_kib, .. } = next(&mut machine) else {
        panic!("not ready first")
    };
    assert!(cpu_flags.iter().any(|flag| flag == "sse4_2"));
    assert!(memory_kib > spec.memory_mib * 1024 * 9 / 10);
    machine.send(&Request::Prepare(Box::new(job(script)))).unwrap();
    assert!(matches!(next(&mut machine), GuestEvent::Prepared { .. }));
    machine.send(&Request::Start).unwrap();
    machine
}

#[test]
fn a_job_runs_as_its_user_and_all_its_output_arrives() {
    let folder = tempfile::tempdir().unwrap();
    let script = "id -un; nproc; date -u +%Y; ip link 2>/dev/null; ls /sys/class/net; seq 100000; echo oops >&2; exit 3";
    let events = run(script, &spec(16384, 4), folder.path());
    assert_eq!(events[0], GuestEvent::Started);
    assert!(
        matches!(events[1], GuestEvent::Ended { exit: Exit::Code(3), oom_kills: 0, left_behind: 0, .. }),
        "{events:?}"
    );
    let stdout = fs::read_to_string(folder.path().join("stdout")).unwrap();
    assert!(stdout.starts_with("mcc\n4\n2018\nlo\n1\n2\n"), "{}", &stdout[..50]);
    assert!(stdout.ends_with("\n100000\n"));
    assert_eq!(fs::read_to_string(folder.path().join("stderr")).unwrap(), "oops\n");
    let complete = GuestEvent::OutputComplete {
        stdout_bytes: stdout.len() as u64,
        stderr_bytes: 5,
        written: vec![],
        search_cut: false,
    };
    assert_eq!(events[2], complete);
}

#[test]
fn answers_arrive_in_order_while_the_tool_still_runs() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Edition::load("mcc-2018").unwrap().limits;
    let machine = &spec(1024, 1);
    let script = "echo log; echo FORMULA a TRUE; sleep 3; printf 'log\\nFORMULA b '; sleep 3; echo TRUE; sleep 3; \
                  printf 'log\\nFORMULA c TRUE'";
    let facts = script::attempt(machine, job(script), &limits, folder.path(), &mut |_| {}).facts.unwrap();
    let arrivals = facts.arrivals.unwrap();
    let [(2, a), (4, b), (6, c)] = arrivals.lines[..] else { panic!("{arrivals:?}") };
    // A busy host notices the start of the tool and a line late, so a time is shorter than that of the guest.
    assert!(a < b && b < c, "{arrivals:?}");
    assert!(c > 1000 && c <= facts.wall_ms, "measured from the start of the tool: {arrivals:?}");
    assert_eq!(arrivals.dropped, 0);
}

#[test]
fn a_tool_killed_for_memory_is_reported_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let events = run("tail /dev/zero", &spec(512, 1), folder.path());
    let GuestEvent::Ended { exit, oom_kills, memory_kib, .. } = events[1] else { panic!("{events:?}") };
    assert_eq!((exit, oom_kills), (Exit::Signal(9), 1));
    assert!(memory_kib > 300 * 1024, "{memory_kib}");
}

#[test]
fn processes_that_a_tool_leaves_behind_are_killed() {
    let folder = tempfile::tempdir().unwrap();
    let events = run("(while :; do echo spam; sleep 1; done) & echo done", &spec(1024, 1), folder.path());
    assert!(
        matches!(events[1], GuestEvent::Ended { exit: Exit::Code(0), left_behind: 1.., .. }),
        "{events:?}"
    );
}

#[test]
fn endless_output_is_cut_at_the_cap() {
    let folder = tempfile::tempdir().unwrap();
    let mut machine = start("exec yes", &spec(1024, 1), folder.path(), 100_000);
    loop {
        match machine.wait(Instant::now() + TIMEOUT).unwrap() {
            Event::OutputLimit(stream) => break assert_eq!(stream, Stream::Stdout),
            Event::Deadline => panic!("the output was not cut"),
            _ => {}
        }
    }
    machine.halt().unwrap();
    assert_eq!(fs::metadata(folder.path().join("stdout")).unwrap().len(), 100_000);
}

#[test]
fn no_byte_passes_from_one_machine_to_the_next() {
    let spec = spec(1024, 1);
    let before = mcc_harness::base::digest::file(&spec.disk.path).unwrap();
    for _ in 0..2 {
        let folder = tempfile::tempdir().unwrap();
        let script = "cat /home/mcc/secret 2>&1; echo secret > /home/mcc/secret; sync; cat /home/mcc/secret";
        run(script, &spec, folder.path());
        let stdout = fs::read_to_string(folder.path().join("stdout")).unwrap();
        assert_eq!(stdout, "cat: /home/mcc/secret: No such file or directory\nsecret\n");
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left.len(), 4, "only stdout, stderr, console and qemu.log: {left:?}");
    }
    assert_eq!(mcc_harness::base::digest::file(&spec.disk.path).unwrap(), before);
}

#[test]
fn a_broken_disk_is_refused_before_qemu_opens_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut broken = spec(1024, 1);
    let empty = folder.path().join("empty.qcow2");
    fs::copy(images::image("images/reference").folder.join("initrd"), &empty).unwrap();
    broken.disk.path = empty;
    let error =
        Machine::start(&broken, folder.path(), 1, TIMEOUT).err().expect("the disk is broken").to_string();
    assert!(error.contains("empty.qcow2: it is not in qcow2 format; make the disk again"), "{error}");
}

#[test]
fn each_part_of_the_isolation_is_active_or_reported() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let machine = Machine::start(&spec(1024, 1), folder.path(), 1 << 20, TIMEOUT).unwrap();
    let of_qemu = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", machine.pid())).unwrap();
    let status = of_qemu("status");
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim();
    assert_eq!(field("Seccomp:"), "2", "filtered");
    let (active, missing) = (machine.isolation().active(), machine.isolation().missing());
    let is_missing = |what: &str| missing.iter().any(|text| text.starts_with(what));
    assert_eq!(active[0], "sandbox on");
    let user = field("Uid:").split_whitespace().next().unwrap();
    assert_eq!(user == "0", is_missing("no unprivileged user"), "{user} {missing:?}");
    let own = format!("mcc-harness-{}-", std::process::id());
    let groups = of_qemu("cgroup");
    let group = groups.lines().filter_map(|line| line.rsplit('/').next()).find(|name| name.starts_with(&own));
    assert_eq!(group.is_none(), is_missing("no cgroup"), "{groups} {missing:?}");
    let exists = |name: &str| {
        let mut folders = walkdir::WalkDir::new("/sys/fs/cgroup").into_iter().flatten();
        folders.any(|folder| folder.file_name() == name)
    };
    assert!(group.is_none_or(exists));
    machine.halt().unwrap();
    assert!(!group.is_some_and(exists), "{group:?} is left behind");
}
