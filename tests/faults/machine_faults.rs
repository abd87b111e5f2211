//! Machines that fail: an infrastructure failure is recorded, retried, and never the outcome of a tool (R2).

use crate::host_faults::with_disk;
use crate::support::campaign;
use crate::support::images;

use campaign::small_disk::SmallDisk;
use campaign::{EXAMINATIONS, Folder, Judged, stderr, until};
use mcc_harness::base::Mark;
use mcc_harness::judge::judgement::{Ending, Medal};
use mcc_harness::store::{Outcome, Record, RunRecord};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fs;
use std::sync::OnceLock;

/// A campaign of breadth-first on a small net, one run at a time; `hosts` are further lines of `[hosts]`.
fn campaign(examinations: &[&str], hosts: &str) -> String {
    images::image("images/breadth-first");
    let hosts = format!("[hosts]\njobs = 1\n{hosts}\n");
    campaign::on_fixtures(&["DiningTable-PT-03"], examinations, &["breadth-first"], &hosts)
}

const DEADLOCK: &str = "breadth-first/DiningTable-PT-03/ReachabilityDeadlock";

/// State and reason of each attempt of a run. Panics if an attempt did not end as an infrastructure failure.
fn infrastructure_failures(folder: &Folder, run: &str) -> Vec<(String, String)> {
    let attempts = folder.record().attempts(&run.parse().unwrap()).unwrap().into_iter();
    let state_and_reason = |attempt: mcc_harness::store::Attempt| match attempt.outcome {
        Outcome::Infrastructure { state, reason } => (state, reason),
        other => panic!("{run}, attempt {}: {other:?}", attempt.number),
    };
    attempts.map(state_and_reason).collect()
}

const STATE_SPACE: &str = "breadth-first/DiningTable-PT-03/StateSpace";

/// What a campaign gave in which QEMU does not start for both attempts of one run, and its judgement; then the same after
/// `run`, and after `run --retry`. The tests share it.
struct NotStarted {
    printed: String,
    failures: Vec<(String, String)>,
    runs: BTreeMap<String, RunRecord>,
    log: String,
    running_folders: usize,
    judge: String,
    judged: Judged,
    attempts_after_run: u32,
    retried: RunRecord,
    attempts_kept: usize,
    judged_after_retry: Judged,
}

impl NotStarted {
    /// The campaign runs once, when the first test needs it.
    fn get() -> &'static Self {
        static CAMPAIGN: OnceLock<NotStarted> = OnceLock::new();
        CAMPAIGN.get_or_init(|| {
            let folder =
                Folder::on_one_core(&campaign(&["StateSpace", "ReachabilityDeadlock"], "retries = 1"));
            // Only the first two machines fail: both attempts of StateSpace. Later machines work.
            let count = folder.path().join("boots");
            folder.qemu(&format!(
                "echo boot >> {0}; [ $(wc -l < {0}) -gt 2 ] || {{ echo no such device >&2; exit 7; }}",
                count.display()
            ));
            let printed = stderr(&folder.run(&[]).code(1));
            let (failures, runs) = (infrastructure_failures(&folder, STATE_SPACE), folder.runs());
            let log = folder.output(STATE_SPACE, 1, "qemu.log");
            let running_folders = folder.running_folders().len();
            let judge = stderr(&folder.judge().code(1));
            let judged = Judged::read(&folder.path().join("judgement"));
            folder.qemu("");
            folder.run(&[]).code(1);
            let attempts_after_run = folder.runs()[STATE_SPACE].attempts;
            folder.run(&["--retry", "infrastructure"]).success();
            let retried = folder.runs().remove(STATE_SPACE).unwrap();
            let attempts_kept = folder.record().attempts(&STATE_SPACE.parse().unwrap()).unwrap().len();
            folder.judge().success();
            let judged_after_retry = Judged::read(&folder.path().join("judgement"));
            Self {
                printed,
                failures,
                runs,
                log,
                running_folders,
                judge,
                judged,
                attempts_after_run,
                retried,
                attempts_kept,
                judged_after_retry,
            }
        })
    }

    fn ending(judged: &Judged) -> Ending {
        judged.cell("breadth-first", "DiningTable-PT-03", "StateSpace").ending
    }
}

#[test]
fn a_qemu_that_does_not_start_is_retried_as_often_as_set() {
    let campaign = NotStarted::get();
    let counts = "ended by itself: 1; infrastructure failure: 1";
    assert!(campaign.printed.contains(counts), "{}", campaign.printed);
    for (state, reason) in &campaign.failures {
        assert_eq!(state, "booting");
        assert!(reason.contains("exit status: 7") && reason.contains("no such device"), "{reason}");
    }
    let failed = &campaign.runs[STATE_SPACE];
    assert_eq!(failed.attempts, 2, "one retry, as set in the campaign");
    assert_eq!(failed.last.facts, None, "no tool was started, so nothing was measured");
    assert_eq!(campaign.log, "no such device\n", "the evidence of every attempt is kept");
    assert_eq!(campaign.runs[DEADLOCK].last.outcome, Outcome::Finished { exit_code: 0 });
    assert_eq!(campaign.running_folders, 0);
}

#[test]
fn an_unresolved_run_makes_the_judgement_provisional() {
    let NotStarted { judge, judged, .. } = NotStarted::get();
    for words in ["provisional", "breadth-first on DiningTable-PT-03 in StateSpace"] {
        assert!(judge.contains(words), "{words} in {judge}");
    }
    assert_eq!(NotStarted::ending(judged), Ending::Infrastructure);
    let places = judged.0.podiums.iter().flat_map(|podium| &podium.places);
    assert!(places.clone().count() > 0 && places.clone().all(|place| place.medal == Medal::None));
}

#[test]
fn a_failed_run_is_repeated_only_with_retry() {
    let campaign = NotStarted::get();
    assert_eq!(campaign.attempts_after_run, 2, "`run` alone does not repeat it");
    let retried = &campaign.retried;
    assert_eq!((retried.attempts, &retried.last.outcome), (3, &Outcome::Finished { exit_code: 0 }));
    assert_eq!(campaign.attempts_kept, 3, "the failed attempts are kept");
    assert_eq!(NotStarted::ending(&campaign.judged_after_retry), Ending::Answered);
}

#[test]
fn a_silent_qemu_is_killed_at_the_boot_deadline() {
    let folder =
        Folder::on_one_core(&campaign(&["ReachabilityDeadlock"], "retries = 0\nboot_deadline_s = 2"));
    folder.qemu("exec sleep 100000");
    folder.run(&[]).code(1);
    let infrastructure_failures = infrastructure_failures(&folder, DEADLOCK);
    let [(state, reason)] = &infrastructure_failures[..] else { panic!("{infrastructure_failures:?}") };
    assert_eq!(state, "booting");
    assert!(reason.contains("in time"), "{reason}");
    assert_eq!(folder.machines(), [0; 0], "QEMU was killed");
    assert!(folder.running_folders().is_empty());
}

#[test]
fn a_guest_that_panics_at_boot_is_an_infrastructure_failure() {
    let folder = Folder::on_one_core(&campaign(&["ReachabilityDeadlock"], "retries = 0"));
    // The disk has no file system: the agent cannot mount it, and the kernel panics.
    let empty = folder.path().join("empty");
    fs::File::create(&empty).unwrap().set_len(1 << 20).unwrap();
    let raw = r#"*'"node-name":"base"'*) word='{"driver":"raw","node-name":"base","file":"base-file","read-only":true}';;"#;
    folder.qemu(&with_disk(&empty, raw));
    folder.run(&[]).code(1);
    let infrastructure_failures = infrastructure_failures(&folder, DEADLOCK);
    let [(state, reason)] = &infrastructure_failures[..] else { panic!("{infrastructure_failures:?}") };
    assert_eq!(state, "booting");
    assert!(reason.contains("console: mcc-guest-agent:"), "{reason}");
    assert!(folder.output(DEADLOCK, 1, "console").contains("Kernel panic"));
}

#[test]
fn a_machine_killed_during_a_run_is_an_infrastructure_failure() {
    assert_killed_machine_is_repeated("boot");
}

#[test]
fn a_killed_restored_machine_is_an_infrastructure_failure() {
    assert_killed_machine_is_repeated("restore");
}

fn assert_killed_machine_is_repeated(start: &str) {
    images::image("images/depth-first");
    // The tool computes until its limit, so it still runs when its first output is seen.
    let campaign = campaign::on_fixtures(
        &["SwitchBoard-PT-0040"],
        &["CTLCardinality"],
        &["depth-first"],
        "[limits]\ncpu_s = 8\n[hosts]\nretries = 1\n",
    );
    let folder = Folder::new(&format!("start = \"{start}\"\n{campaign}"));
    let id = "depth-first/SwitchBoard-PT-0040/CTLCardinality";
    let mut controller = folder.run_command(&[]).spawn().unwrap();
    until("output of the tool", || {
        let stdout = |attempt: &std::path::PathBuf| fs::metadata(attempt.join("outputs/stdout"));
        folder.running_folders().iter().any(|attempt| stdout(attempt).is_ok_and(|stdout| stdout.len() > 0))
    });
    let machines = folder.machines();
    assert_eq!(machines.len(), 1);
    kill(Pid::from_raw(machines[0]), Signal::SIGKILL).unwrap();
    assert!(controller.wait().unwrap().success(), "the retry succeeded");

    let attempts = folder.record().attempts(&id.parse().unwrap()).unwrap();
    let Outcome::Infrastructure { state, reason } = &attempts[0].outcome else { panic!("{attempts:?}") };
    assert_eq!(state, "examining");
    assert!(reason.contains("signal: 9"), "{reason}");
    assert!(
        folder.output(id, 1, "stdout").starts_with("mcc-reference-tool:"),
        "the output of the killed attempt is kept"
    );
    assert_eq!((attempts.len(), &attempts[1].outcome), (2, &Outcome::CpuLimit));
    assert!(
        attempts.iter().all(|attempt| attempt.marks.contains(&Mark::RESTORED) == (start == "restore")),
        "{attempts:?}"
    );
    assert!(folder.machines().is_empty() && folder.running_folders().is_empty());
    folder.judge().success();
}

#[test]
fn ten_failures_in_a_row_stop_the_campaign_and_lose_nothing() {
    let folder = Folder::on_one_core(&campaign(
        &["StateSpace", "UpperBounds", "ReachabilityDeadlock", "CTLCardinality"],
        "retries = 3",
    ));
    folder.qemu("exit 1");
    let run = folder.run(&[]).code(1);
    assert!(stderr(&run).contains("10 attempts in a row ended in infrastructure"), "{}", stderr(&run));
    assert!(stderr(&run).contains("check the host") && stderr(&run).contains("`run` again"));
    let summary = folder.record().summary().unwrap();
    assert_eq!((summary.planned, summary.recorded, summary.retried), (4, 2, 8), "4 + 4 + 2 attempts");
    folder.qemu("");
    folder.run(&["--retry", "infrastructure"]).success();
    assert_eq!(folder.record().summary().unwrap().outcomes, [("finished".to_owned(), 4)].into());
}

#[test]
fn without_qemu_the_package_is_named_and_nothing_is_written() {
    let folder = Folder::on_one_core(&campaign(&["ReachabilityDeadlock"], ""));
    let mut run = folder.run_command(&[]);
    run.env("PATH", folder.path());
    let run = assert_cmd::Command::from(run).assert().code(69);
    assert!(stderr(&run).contains("install it: apt-get install qemu-system-x86"), "{}", stderr(&run));
    assert!(!folder.results().exists());
}

/// The functions of `fake-qemu.bash` that bring a run to the start of its tool.
const RUNNING: &str = "power_on; ready; prepared; started";

/// A script that executes the n-th commands for the n-th planned run. The name of an attempt's folder begins with
/// the position of its run.
fn by_position(commands: &[&str]) -> String {
    let commands = commands.iter().map(|commands| commands.replace("RUNNING", RUNNING)).zip(1..);
    let cases: String = commands.map(|(commands, n)| format!("{n}) {commands} ;;\n")).collect();
    format!("position=${{TMPDIR##*/running/}}\ncase ${{position%%-*}} in\n{cases}\n*) exit 99 ;;\nesac\n")
}

/// What a fake QEMU does in a run, the state of the machine then, and a part of the reason of the failure.
type Fault<'t> = (&'t str, &'t str, &'t str);

/// The faults are the same for machines that boot and for restored ones.
const STARTS: [&str; 2] = ["boot", "restore"];

/// Each fault ends one run as an infrastructure failure, and a retry without faults gives each run its record. Less than
/// ten faults, because ten consecutive failures stop a campaign.
fn assert_infrastructure_failures(faults: &[Fault]) {
    STARTS.into_iter().for_each(|start| assert_failures_of_machines(start, faults));
}

/// Tries a test with longer and longer deadlines: on a busy host, a machine may not get as far as its fault in a short
/// time. `attempt` gets the seconds and returns what is not as expected.
fn with_enough_time<T>(attempt: impl Fn(u64) -> Result<T, String>) -> T {
    attempt(3)
        .or_else(|_| attempt(12))
        .or_else(|_| attempt(48))
        .unwrap_or_else(|different| panic!("{different}"))
}

fn assert_failures_of_machines(start: &str, faults: &[Fault]) {
    let examination = EXAMINATIONS[0];
    let folder = with_enough_time(|seconds| {
        let hosts = format!(
            "[hosts]\njobs = {}\nretries = 0\nboot_deadline_s = {seconds}\nprepare_deadline_s = {seconds}\n",
            faults.len()
        );
        let folder = Folder::with_fake_qemu(faults.len(), &[examination], &hosts).starting_by(start);
        folder.fake_qemu(&by_position(&faults.iter().map(|(commands, ..)| *commands).collect::<Vec<_>>()));
        folder.run(&[]).code(1);
        for ((commands, state, reason), tool) in faults.iter().zip(0..) {
            let found =
                infrastructure_failures(&folder, &format!("tool-{tool}/DiningTable-PT-03/{examination}"));
            assert_eq!(found.len(), 1);
            if found[0].0 != *state || !found[0].1.contains(reason) {
                return Err(format!("{start}: {commands}: {found:?}"));
            }
        }
        Ok(folder)
    });
    assert_eq!(folder.machines(), [0; 0]);
    folder.judge().code(1);
    let judged = Judged::read(&folder.path().join("judgement"));
    let cells = judged.0.blocks.iter().flat_map(|block| &block.cells);
    assert_eq!(cells.filter(|cell| cell.ending == Ending::Infrastructure).count(), faults.len());
    // The failed attempts are kept.
    folder.fake_qemu("whole_run x");
    folder.run(&["--retry", "infrastructure"]).success();
    assert!(folder.runs().values().all(|run| run.attempts == 2));
}

#[test]
fn faults_while_a_machine_boots_are_infrastructure_failures() {
    assert_infrastructure_failures(&[
        ("linger", "booting", "no answer to \"greeting\" in time"),
        ("while :; do event RTC_CHANGE; done", "booting", "no answer to \"greeting\" in time"),
        ("while :; do printf %065536d 0 >&$qmp; done", "booting", "a line of more than 1048576 bytes"),
        ("echo '<html>' >&$qmp; linger", "booting", "QMP: greeting: expected value"),
        ("kill -9 $$", "booting", "(signal: 9 (SIGKILL))"),
        ("power_on; linger", "booting", "was not ready by its deadline"),
        ("power_on; while :; do agent_event nonsense; done", "booting", "was not ready by its deadline"),
        ("power_on; while :; do printf %065536d 0 >&$control; done", "booting", "a line of more than"),
    ]);
}

#[test]
fn faults_before_a_tool_starts_are_infrastructure_failures() {
    assert_infrastructure_failures(&[
        ("power_on; ready; linger", "ready", "was not prepared by its deadline"),
        (
            "power_on; ready; read_request; agent_event failed '\"reason\":\"no archive\"'; linger",
            "ready",
            "agent: no archive",
        ),
        ("power_on; ready; prepared; linger", "ready", "was not started by its deadline"),
    ]);
}

#[test]
fn a_state_that_cannot_be_saved_or_restored_is_an_infrastructure_failure() {
    let folder =
        Folder::with_fake_qemu(1, &EXAMINATIONS[..1], "[hosts]\nretries = 0\n").starting_by("restore");
    let id = format!("tool-0/DiningTable-PT-03/{}", EXAMINATIONS[0]);
    fs::write(folder.path().join("saving-fails"), "").unwrap();
    folder.run(&[]).code(1);
    fs::remove_file(folder.path().join("saving-fails")).unwrap();
    folder.fake_qemu("migration=failed; power_on");
    folder.run(&["--retry", "infrastructure"]).code(1);
    let failures = infrastructure_failures(&folder, &id);
    assert_eq!(failures.len(), 2);
    let expected = [("preparing", "migrate of the machine"), ("booting", "migrate-incoming of the machine")];
    for ((state, reason), (when, what)) in failures.iter().zip(expected) {
        assert!(
            state == when && reason.contains(what) && reason.contains("state: failed"),
            "{state}: {reason}"
        );
    }
    assert_eq!(folder.machines(), [0; 0]);
    folder.fake_qemu("whole_run x");
    folder.run(&["--retry", "infrastructure"]).success();
    assert_eq!(folder.runs()[&id].last.outcome, Outcome::Finished { exit_code: 0 });
}

#[test]
fn faults_of_qemu_while_a_tool_runs_are_infrastructure_failures() {
    assert_infrastructure_failures(&[
        ("RUNNING; kill -9 $$", "examining", "(signal: 9 (SIGKILL))"),
        ("RUNNING; eval \"exec $qmp>&-\"; linger", "examining", "QEMU ended (signal: 9 (SIGKILL))"),
        (
            "RUNNING; event SHUTDOWN '{\"guest\":false,\"reason\":\"host-signal\"}'; exit 0",
            "examining",
            "QEMU ended (exit status: 0)",
        ),
        (
            "RUNNING; status=internal-error; event STOP; answer_until query-status; linger",
            "examining",
            "QEMU stopped the machine: internal-error (its accelerator failed",
        ),
        (
            "RUNNING; event BLOCK_IO_ERROR '{\"device\":\"\",\"node-name\":\"ro0\",\"operation\":\"read\",\"reason\":\"I/O error\"}'; linger",
            "examining",
            "a disk of the machine failed on the host (read of ro0): I/O error",
        ),
        ("RUNNING; ended; kill -9 $$", "collecting", "(signal: 9 (SIGKILL))"),
    ]);
}

#[test]
fn limits_apply_to_machines_that_flood_or_are_silent() {
    let sample = "agent_event sample '\"memory_kib\":1,\"cpu_ms\":1,\"io_wait_ms\":1'";
    let samples = format!("RUNNING; while :; do {sample}; done");
    let cases = [
        ("RUNNING; while :; do event RTC_CHANGE; done", Outcome::WallLimit),
        ("RUNNING; while :; do agent_event nonsense; done", Outcome::WallLimit),
        ("RUNNING; while :; do printf %065536d 0 >&$console; done", Outcome::WallLimit),
        // The agent is silent, as if the tool left it no CPU time: the limit of the tool applies.
        ("RUNNING; linger", Outcome::WallLimit),
        ("RUNNING; while :; do printf %065536d 0 >&$stdout; done", Outcome::OutputLimit),
        // Each step is slow, but within its deadline.
        (
            "linger 0.3; power_on; linger 0.3; ready; linger 0.3; prepared; started; ended; drained; linger",
            Outcome::Finished { exit_code: 0 },
        ),
        // The tool ended, but not all of its output arrives: the run is marked, and what arrived counts.
        ("RUNNING; echo half >&$stdout; ended; drained 99; linger", Outcome::Finished { exit_code: 0 }),
        // More messages than are read at once.
        (&*samples, Outcome::WallLimit),
    ];
    for start in STARTS {
        let runs = with_enough_time(|seconds| {
            let settings = format!(
                "[limits]\nwall_s = {seconds}\noutput_bytes = 1000000\n[hosts]\njobs = 8\nretries = 0\n\
                 boot_deadline_s = {}\ncollect_deadline_s = {seconds}\n",
                5 * seconds
            );
            let folder = Folder::with_fake_qemu(8, &EXAMINATIONS[..1], &settings).starting_by(start);
            folder.fake_qemu(&by_position(&cases.clone().map(|(commands, _)| commands)));
            folder.run(&[]);
            let runs = folder.runs();
            for ((commands, outcome), run) in cases.iter().zip(runs.values()) {
                if run.last.outcome != *outcome {
                    return Err(format!("{start}: {commands}: {:?}", run.last.outcome));
                }
            }
            let flooded = &runs["tool-7/DiningTable-PT-03/StateSpace"].last;
            if !flooded.marks.contains(&Mark::GUEST_MESSAGES) {
                return Err("too few messages in this time".to_owned());
            }
            Ok(runs)
        });
        for run in runs.values() {
            assert_eq!(run.last.marks.contains(&Mark::RESTORED), start == "restore", "{}", run.run.id());
        }
        let marks = |tool: usize| &runs[&format!("tool-{tool}/DiningTable-PT-03/StateSpace")].last.marks;
        assert!(marks(4).contains(&"output-truncated".into()));
        assert!(marks(6).contains(&"output-incomplete".into()));
    }
}

#[test]
fn impossible_figures_of_a_guest_are_dropped() {
    let ended = |figures: &str| format!("agent_event ended '{figures},\"oom_kills\":0,\"left_behind\":0'");
    let forged = [
        r#""exit":{"code":-2147483648},"memory_kib":1"#,
        r#""exit":{"code":256},"memory_kib":1"#,
        r#""exit":{"signal":0},"memory_kib":1"#,
        r#""exit":{"signal":65},"memory_kib":1"#,
        r#""exit":{"code":1},"memory_kib":18446744073709551615"#,
        r#""exit":{"code":1},"memory_kib":1,"io_wait_ms":18446744073709551615"#,
    ];
    let folder = Folder::with_fake_qemu(forged.len(), &EXAMINATIONS[..1], "[hosts]\nretries = 0\n");
    let commands: Vec<String> = forged
        .iter()
        .map(|figures| format!("RUNNING; {}; ended; drained; answer_until quit", ended(figures)))
        .collect();
    folder.fake_qemu(&by_position(&commands.iter().map(String::as_str).collect::<Vec<_>>()));
    folder.run(&[]).success();
    for run in folder.runs().values() {
        assert_eq!(run.last.outcome, Outcome::Finished { exit_code: 0 }, "{}", run.run.id());
        assert_eq!(run.last.facts.as_ref().unwrap().memory_kib, Some(1000), "{}", run.run.id());
    }
}

/// The event with which QEMU reports that the guest ended the machine.
fn shutdown(reason: &str) -> String {
    format!("event SHUTDOWN '{{\"guest\":true,\"reason\":\"{reason}\"}}'; exit 0")
}

#[test]
fn ends_that_a_guest_causes_are_outcomes_of_its_tool() {
    let (panic, off, reset) = (shutdown("guest-panic"), shutdown("guest-shutdown"), shutdown("guest-reset"));
    let crash = Outcome::ToolCrash { signal: 9 };
    let oom = "echo '[ 3.4] Kernel panic - not syncing: System is deadlocked on memory' >&$console";
    let cases = [
        (
            format!("RUNNING; event GUEST_PANICKED '{{\"action\":\"poweroff\"}}'; {panic}"),
            &crash,
            "guest-panic",
        ),
        (format!("RUNNING; {oom}; {reset}"), &Outcome::MemoryLimit, "guest-reset"),
        (format!("RUNNING; {off}"), &crash, "guest-shutdown"),
        // The guest causes so many events that this one is lost.
        ("RUNNING; exit 0".to_owned(), &crash, "guest-shutdown"),
        (format!("RUNNING; ended; {reset}"), &crash, "guest-reset"),
        ("RUNNING; eval \"exec $control>&-\"; linger".to_owned(), &crash, "connection-lost"),
        ("RUNNING; printf %01100000d 0 >&$control; linger".to_owned(), &crash, "guest-messages"),
        ("RUNNING; agent_event prepared; linger".to_owned(), &crash, "guest-messages"),
        ("RUNNING; agent_event failed '\"reason\":\"x\"'; linger".to_owned(), &crash, "guest-messages"),
        (
            "RUNNING; ended; agent_event failed '\"reason\":\"x\"'; linger".to_owned(),
            &Outcome::Finished { exit_code: 0 },
            "guest-messages",
        ),
    ];
    let hosts = "[hosts]\njobs = 10\nretries = 0\n";
    for start in STARTS {
        let folder = Folder::with_fake_qemu(cases.len(), &EXAMINATIONS[..1], hosts).starting_by(start);
        folder.fake_qemu(&by_position(&cases.each_ref().map(|(commands, ..)| commands.as_str())));
        folder.run(&[]).success();
        let runs = folder.runs();
        for ((commands, outcome, mark), tool) in cases.iter().zip(0..) {
            let last = &runs[&format!("tool-{tool}/DiningTable-PT-03/StateSpace")].last;
            assert_eq!(&last.outcome, *outcome, "{start}: {commands}");
            for mark in [*mark, "output-incomplete"] {
                assert!(last.marks.contains(&mark.into()), "{start}: {commands}: {mark} in {:?}", last.marks);
            }
            assert!(last.facts.as_ref().unwrap().guest_end.is_some(), "{start}: {commands}");
        }
    }
}

#[test]
fn a_disk_that_keeps_the_guest_from_preparing_is_an_outcome_of_its_tool() {
    for (commands, mark, guest_end) in [
        (
            "power_on; ready; read_request; agent_event failed '\"reason\":\"no folder\",\"by_disk\":true'; linger",
            "not-prepared",
            "no folder",
        ),
        // A damaged file system panics or resets the guest that reads it. QEMU ends (-no-reboot), so it does not boot again and
        // again.
        (
            "power_on; ready; event SHUTDOWN '{\"guest\":true,\"reason\":\"guest-reset\"}'; exit 0",
            "guest-reset",
            "the guest reset its machine (exit status: 0)",
        ),
    ] {
        let folder = Folder::with_fake_qemu(1, &EXAMINATIONS[..1], "[hosts]\nretries = 0\n");
        folder.fake_qemu(commands);
        folder.run(&[]).success();
        let runs = folder.runs();
        let last = &runs.values().next().unwrap().last;
        assert_eq!(last.outcome, Outcome::ToolCrash { signal: 9 });
        assert!(last.marks.contains(&mark.into()), "{:?}", last.marks);
        let found = last.facts.as_ref().unwrap().guest_end.as_deref().unwrap();
        assert!(found.contains(guest_end), "{found}");
    }
}

#[test]
fn a_tool_that_panics_its_guest_excludes_no_block() {
    let folder = Folder::with_fake_qemu(2, &EXAMINATIONS[..2], "[hosts]\nretries = 0\n");
    let edition = "base = \"mcc-2018\"\nname = \"mcc-x\"\ntitle = \"X\"\n[judging]\ninfrastructure = \"exclude\"\n\
                   infrastructure_reason = \"the cluster failed\"\n";
    fs::write(folder.path().join("exclude.toml"), edition).unwrap();
    let path = folder.path().join("campaign.toml");
    let campaign = fs::read_to_string(&path).unwrap().replace("\"mcc-2018\"", "\"./exclude.toml\"");
    fs::write(path, campaign).unwrap();
    let panic = format!("RUNNING; {}", shutdown("guest-panic"));
    // The first tool ends its guest in the first examination, and QEMU is killed in the second one.
    folder.fake_qemu(&by_position(&[&panic, "whole_run x", "RUNNING; kill -9 $$", "whole_run x"]));
    folder.run(&[]).code(1);
    folder.judge();
    let judged = Judged::read(&folder.path().join("judgement"));
    let excluded: Vec<&str> = judged.0.excluded.iter().map(|run| run.examination.as_str()).collect();
    assert_eq!(excluded, ["UpperBounds"], "only the failure of the host excludes its block");
    assert_eq!(judged.cell("tool-0", "DiningTable-PT-03", "StateSpace").ending, Ending::ToolCrash);
}

#[test]
fn a_tool_that_always_crashes_qemu_has_its_own_outcome() {
    STARTS.into_iter().for_each(assert_crashes_of_qemu);
}

#[test]
fn crashes_of_qemu_do_not_count_as_failures_in_a_row() {
    const RUNS: usize = 11;
    let folder = Folder::with_fake_qemu(RUNS, &EXAMINATIONS[..1], "[hosts]\nretries = 0\n");
    folder.fake_qemu(&by_position(&["RUNNING; kill -SEGV $$"; RUNS]));
    folder.run(&[]).code(1);
    let runs = folder.runs();
    assert!(runs.len() == RUNS && runs.values().all(|run| run.last.marks.contains(&Mark::QEMU_CRASH)));
}

#[test]
fn a_disk_that_fails_although_the_host_can_read_it_is_the_tools() {
    let folder = Folder::with_fake_qemu(3, &EXAMINATIONS[..1], "[hosts]\nretries = 1\n");
    let [tools, inputs] = ["disk", "ro0"].map(|node| {
        format!(
            "RUNNING; event BLOCK_IO_ERROR '{{\"device\":\"\",\"node-name\":\"{node}\",\"operation\":\"read\",\"reason\":\"I/O error\"}}'; linger"
        )
    });
    let once = format!("if [[ ${{position#*-}} == 2* ]]; then whole_run x; else {tools}; fi");
    folder.fake_qemu(&by_position(&[&tools, &inputs, &once]));
    folder.run(&[]).success();
    let runs = folder.runs();
    let run = |tool| &runs[&format!("tool-{tool}/DiningTable-PT-03/StateSpace")];
    assert_eq!((run(0).attempts, &run(0).last.outcome), (2, &Outcome::ToolCrash { signal: 9 }));
    // An error of the host that has passed.
    assert_eq!((run(2).attempts, &run(2).last.outcome), (2, &Outcome::Finished { exit_code: 0 }));
    assert!(run(0).last.marks.contains(&Mark::DISK_ERROR), "{:?}", run(0).last.marks);
    // The inputs are not the tool's, but a guest that has taken QEMU over can let it state the error.
    assert_eq!((run(1).attempts, &run(1).last.outcome), (2, &Outcome::ToolCrash { signal: 9 }));
    let marks = &run(1).last.marks;
    assert!(marks.contains(&Mark::QEMU_CRASH) && !marks.contains(&Mark::DISK_ERROR), "{marks:?}");
}

/// The event of a QEMU that could not write to the tool's disk for lack of space.
const NO_SPACE: &str = "event BLOCK_IO_ERROR '{\"node-name\":\"disk\",\"operation\":\"write\",\"nospace\":true,\"reason\":\"No space left on device\"}'; linger";

#[test]
fn a_lack_of_space_that_has_passed_is_not_held_against_a_tool() {
    let settings = "[limits]\noutput_bytes = 300000\n[hosts]\nretries = 1\n";
    let folder = Folder::with_fake_qemu(1, &EXAMINATIONS[..1], settings);
    let _disk = SmallDisk::at(&folder.results(), (1 << 30) + (128 << 20));
    let file = "results.disk/ballast-$n bs=1M count=16";
    let fill = format!("for n in {{1..10}}; do command -p dd if=/dev/zero of={file} 2>/dev/null; done");
    // The second of two samples follows a check of the filled disk.
    let sampled = "answer_until qom-get; answer_until qom-get";
    let free = "command -p rm results.disk/ballast-*";
    folder.fake_qemu(&format!("{RUNNING}; {fill}; {sampled}; {free}; {NO_SPACE}"));
    folder.run(&[]).code(1);
    assert_eq!(
        infrastructure_failures(&folder, &format!("tool-0/DiningTable-PT-03/{}", EXAMINATIONS[0])).len(),
        2
    );
    let runs = folder.runs();
    let marks = &runs.values().next().unwrap().last.marks;
    assert!(!marks.contains(&Mark::DISK_ERROR) && !marks.contains(&Mark::QEMU_CRASH), "{marks:?}");
}

fn assert_crashes_of_qemu(start: &str) {
    let folder = Folder::with_fake_qemu(5, &EXAMINATIONS[..1], "[hosts]\nretries = 1\n").starting_by(start);
    let [fault, bus, timer] = ["SEGV", "BUS", "ALRM"].map(|signal| format!("RUNNING; kill -{signal} $$"));
    let once = "if [[ ${position#*-} == 2* ]]; then whole_run x; else RUNNING; kill -ABRT $$; fi";
    folder.fake_qemu(&by_position(&[&fault, once, "kill -SEGV $$", &bus, &timer]));
    folder.run(&[]).code(1);
    let runs = folder.runs();
    let run = |tool| &runs[&format!("tool-{tool}/DiningTable-PT-03/StateSpace")];
    let record = Record::open_readonly(&folder.path().join("results")).unwrap();
    for always in [0, 3, 4].map(run) {
        assert_eq!((always.attempts, &always.last.outcome), (2, &Outcome::ToolCrash { signal: 9 }));
        assert!(always.last.marks.contains(&Mark::QEMU_CRASH), "{:?}", always.last.marks);
        let first = &record.attempts(&always.run.id()).unwrap()[0];
        assert!(first.outcome.is_infrastructure() && first.marks.contains(&Mark::QEMU_CRASH), "{first:?}");
    }
    // A crash that does not occur again, or before the tool's start, is never the tool's.
    assert_eq!((run(1).attempts, &run(1).last.outcome), (2, &Outcome::Finished { exit_code: 0 }));
    assert!(run(2).last.outcome.is_infrastructure() && run(2).attempts == 2);
}

#[test]
fn a_failure_that_only_qemu_reports_is_the_tools_if_it_occurs_in_each_attempt() {
    let folder = Folder::with_fake_qemu(4, &EXAMINATIONS[..1], "[hosts]\nretries = 1\n");
    folder.fake_qemu(&by_position(&[
        // The host has space: at least 1 GiB in the temporary folder.
        &format!("RUNNING; {NO_SPACE}"),
        "RUNNING; status=paused; event STOP; answer_until query-status; linger",
        "RUNNING; echo x >&$qmp; linger",
        "RUNNING; event SHUTDOWN '{\"guest\":false,\"reason\":\"host-signal\"}'; exit 0",
    ]));
    folder.run(&[]).success();
    for run in folder.runs().values() {
        assert_eq!(
            (run.attempts, &run.last.outcome),
            (2, &Outcome::ToolCrash { signal: 9 }),
            "{}",
            run.run.id()
        );
        assert!(run.last.marks.contains(&Mark::QEMU_CRASH), "{:?}", run.last.marks);
    }
}

#[test]
fn impossible_figures_of_a_guest_are_marked() {
    let folder = Folder::with_fake_qemu(3, &EXAMINATIONS[..1], "[hosts]\nretries = 0\n");
    let rest = "ended; drained; answer_until quit";
    folder.fake_qemu(&by_position(&[
        &format!("RUNNING; agent_event sample '\"memory_kib\":18446744073709551615,\"cpu_ms\":0,\"io_wait_ms\":0'; {rest}"),
        &format!("RUNNING; echo nonsense >&$control; {rest}"),
        &format!("RUNNING; {rest}"),
    ]));
    folder.run(&[]).success();
    for (run, marked) in folder.runs().values().zip([true, true, false]) {
        assert_eq!(run.last.outcome, Outcome::Finished { exit_code: 0 });
        assert_eq!(run.last.marks.contains(&"guest-messages".into()), marked, "{}", run.run.id());
    }
}

#[test]
fn a_qemu_that_floods_its_log_is_not_disturbed() {
    let folder = Folder::with_fake_qemu(1, &["StateSpace"], "");
    let flood = "for ((n = 0; n < 100; n++)); do printf '%1000000s\\n' >&2; done";
    folder.fake_qemu(&format!("{flood}; whole_run $'hello\\n'"));
    folder.run(&[]).success();
    let log = folder.output("tool-0/DiningTable-PT-03/StateSpace", 1, "qemu.log");
    assert!(log.len() < 2 << 20, "{}", log.len());
    assert!(log.ends_with("mcc-harness: the log is truncated here, at 1 MiB\n"));
}
