//! Guests that end themselves, or exhaust themselves, after the tool's start: only the outcome of their own run is affected.

use crate::support::images;
use crate::support::script;

use mcc_harness::edition::{CpuReading, Edition, Limits};
use mcc_harness::executor::AttemptResult;
use mcc_harness::store::Outcome;
use mcc_harness::vm::{MachineSpec, SavedStates, Start};
use std::time::Duration;

/// Far longer than any step of these tests: only a machine that hangs reaches it.
const TIMEOUT: Duration = Duration::from_secs(300);

/// A machine of 256 MiB.
fn machine() -> MachineSpec {
    script::machine(&images::image("images/reference"), 256, 1)
}

/// Makes an attempt in a machine that boots, in which `user` runs a bash script with this limit of CPU time. Returns it with
/// its standard output.
fn run(user: &str, script: &str, cpu_s: u64) -> (AttemptResult, String) {
    run_in(&machine(), user, script, cpu_s)
}

fn run_in(machine: &MachineSpec, user: &str, script: &str, cpu_s: u64) -> (AttemptResult, String) {
    let limits = Limits { cpu_s, cpu_reading: CpuReading::PerVcpu, wall_s: 900, ..limits() };
    let folder = tempfile::tempdir().unwrap();
    let mut job = script::job(user, "/", script);
    job.env.insert("HOME".to_owned(), "/home/mcc".to_owned());
    job.memory_reserve_kib = 96 << 10;
    let ended = script::attempt(machine, job, &limits, folder.path(), &mut |_| {});
    let stdout = std::fs::read_to_string(folder.path().join("stdout")).unwrap();
    (ended, stdout)
}

fn limits() -> Limits {
    Edition::load("mcc-2018").unwrap().limits
}

fn has(ended: &AttemptResult, mark: &str) -> bool {
    ended.marks.iter().any(|known| known == mark)
}

#[test]
fn a_root_tool_that_ends_its_guest_changes_its_own_outcome() {
    assert_ends_are_of_the_tool(&machine());
}

#[test]
fn a_tool_that_ends_a_restored_guest_changes_its_own_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let saved = SavedStates::new(folder.path().to_owned()).get_or_boot(&machine(), "", TIMEOUT).unwrap();
    assert_ends_are_of_the_tool(&MachineSpec { start: Start::Restore(saved), ..machine() });
}

fn assert_ends_are_of_the_tool(machine: &MachineSpec) {
    for (key, mark, words) in [
        ("c", "guest-panic", "the guest panicked"),
        ("o", "guest-shutdown", "the guest switched its machine off"),
        ("b", "guest-reset", "the guest reset its machine"),
    ] {
        // The guest has no event that says that the line has left it.
        let script = format!("echo 1; sleep 3; echo {key} > /proc/sysrq-trigger; sleep 1000");
        let (ended, stdout) = run_in(machine, "root", &script, 60);
        assert_eq!(ended.outcome, Outcome::ToolCrash { signal: 9 }, "{key}");
        assert!(has(&ended, mark) && has(&ended, "output-incomplete"), "{:?}", ended.marks);
        assert_eq!(stdout, "1\n", "what it printed before counts");
        let facts = ended.facts.as_ref().unwrap();
        assert!(facts.guest_end.as_ref().is_some_and(|end| end.contains(words)), "{:?}", facts.guest_end);
        assert!(facts.wall_ms > 0 && facts.memory_limit_kib.is_some());
    }
}

#[test]
fn a_root_tool_cannot_pass_its_end_off_as_the_hosts() {
    // The words that QEMU writes to its log when a signal of the host ends it.
    let script = "echo 'qemu-system-x86_64: terminating on signal 15 from pid 1 (init)' > /dev/ttyS0
        echo o > /proc/sysrq-trigger; sleep 1000";
    let (ended, _) = run("root", script, 60);
    assert_eq!(ended.outcome, Outcome::ToolCrash { signal: 9 });
    assert!(has(&ended, "guest-shutdown") && !ended.by_signal, "{:?}", ended.marks);
}

/// Makes files with long names, then fills the memory with detached segments of System V, which outlive their process.
const FILL: &str = r#"cd ~; exec perl -e '
    for my $n (1 .. 20000) { open my $file, ">", ("n" x 240) . sprintf("%08d", $n) or last; }
    sub available { open my $m, "<", "/proc/meminfo"; /^MemAvailable: +(\d+)/ and return $1 while <$m>; }
    my $page = "x" x (1 << 20);
    while (available() > 3000) { my $id = shmget(0, 1 << 20, 01600) // last; shmwrite($id, $page, 0, 1 << 20); }'"#;

#[test]
fn memory_that_outlives_a_tool_cannot_panic_its_guest() {
    let (ended, _) = run("mcc", FILL, 240);
    assert_eq!(ended.outcome, Outcome::MemoryLimit, "{:?}", ended.marks);
    assert!(has(&ended, "oom-kills") && !has(&ended, "guest-panic"), "{:?}", ended.marks);
    let facts = ended.facts.as_ref().unwrap();
    let limit = facts.memory_limit_kib.unwrap();
    assert!((100 << 10..160 << 10).contains(&limit), "{limit} KiB of 256 MiB");
    assert!(facts.memory_kib.unwrap() <= limit, "{:?}", facts.memory_kib);
    // The search for the files has a bound, and the record states that it was reached.
    assert_eq!(facts.written.len(), 20);
    assert!(has(&ended, "file-search-cut"), "{:?}", ended.marks);
}

#[test]
fn a_filled_tmpfs_is_the_memory_limit_of_its_tool() {
    let (ended, _) = run("mcc", "cat /dev/zero > /dev/shm/all 2> /dev/null; exec tail /dev/zero", 60);
    assert_eq!(ended.outcome, Outcome::MemoryLimit, "{:?}", ended.marks);
    assert!(!has(&ended, "guest-panic") && !has(&ended, "output-incomplete"), "{:?}", ended.marks);
}

#[test]
fn a_fork_bomb_does_not_stop_the_agent() {
    let script = "bomb() { bomb | bomb & }; bomb 2> /dev/null
        perl -e 'for (1 .. 20000) { my $child = fork; defined $child or last; $child or sleep 1000 } print 1'; exit 0";
    let (ended, _) = run("mcc", script, 10);
    assert!(!ended.outcome.is_infrastructure(), "{:?}", ended.outcome);
    for mark in ["guest-panic", "guest-reset", "guest-messages"] {
        assert!(!has(&ended, mark), "{:?}", ended.marks);
    }
}
