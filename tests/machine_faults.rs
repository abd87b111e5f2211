//! Machines that fail: our trouble, kept as evidence, tried again, and never a tool's outcome (R2).

mod campaign;
mod images;

use campaign::{EXAMINATIONS, Folder, Judged, stderr, until};
use mcc_harness::judge::judgement::{Ending, Medal};
use mcc_harness::store::Outcome;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;

/// breadth-first on small nets; with `retries` and more lines for `[hosts]`.
fn campaign(examinations: &str, hosts: &str) -> String {
    images::image("images/breadth-first");
    format!(
        r#"
edition = "mcc-2018"
inputs = "{{fixtures}}"
instances = ["DiningTable-PT-03"]
examinations = [{examinations}]

[[tool]]
entry = "breadth-first"
image = "{{build}}/images/breadth-first"
kind = "sequential"

[hosts]
jobs = 1
{hosts}
"#
    )
}

const DEADLOCK: &str = "breadth-first/DiningTable-PT-03/ReachabilityDeadlock";

/// State and reason of a run's attempts, all of which ended in infrastructure.
fn infrastructure_failures(folder: &Folder, run: &str) -> Vec<(String, String)> {
    let attempts = folder.record().attempts(&run.parse().unwrap()).unwrap().into_iter();
    let trouble = |attempt: mcc_harness::store::Attempt| match attempt.outcome {
        Outcome::Infrastructure { state, reason } => (state, reason),
        other => panic!("{run}, attempt {}: {other:?}", attempt.number),
    };
    attempts.map(trouble).collect()
}

#[test]
fn a_qemu_that_does_not_start_is_retried_judged_provisional_and_healed_on_request() {
    let folder = Folder::new(&campaign(r#""StateSpace", "ReachabilityDeadlock""#, "retries = 1"));
    // Only what runs first: the machines of StateSpace fail twice, those after them are sound.
    let count = folder.path().join("boots");
    folder.qemu(&format!(
        "echo boot >> {0}; [ $(wc -l < {0}) -gt 2 ] || {{ echo out of luck >&2; exit 7; }}",
        count.display()
    ));
    let run = folder.run(&[]).code(1);
    assert!(stderr(&run).contains("1 finished, 1 infrastructure"), "{}", stderr(&run));
    let failed = "breadth-first/DiningTable-PT-03/StateSpace";
    for (state, reason) in infrastructure_failures(&folder, failed) {
        assert_eq!(state, "booting");
        assert!(reason.contains("exit status: 7") && reason.contains("out of luck"), "{reason}");
    }
    let runs = folder.runs();
    assert_eq!(runs[failed].attempts, 2, "one retry, as the campaign says");
    assert_eq!(runs[failed].last.facts, None, "no tool was started, so nothing of it was measured");
    assert_eq!(
        folder.output(failed, 1, "qemu.log"),
        "out of luck\n",
        "the evidence of every attempt is kept"
    );
    assert_eq!(runs[DEADLOCK].last.outcome, Outcome::Finished { exit_code: 0 });
    assert!(folder.running_folders().is_empty());

    let judge = folder.judge().code(1);
    let failed_words = "breadth-first on DiningTable-PT-03 in StateSpace";
    assert!(stderr(&judge).contains("provisional"), "{}", stderr(&judge));
    assert!(stderr(&judge).contains(failed_words), "{}", stderr(&judge));
    let judged = Judged::read(&folder.path().join("judgement"));
    let cell = judged.cell("breadth-first", "DiningTable-PT-03", "StateSpace");
    assert_eq!(cell.ending, Ending::Infrastructure);
    let places = judged.0.podiums.iter().flat_map(|podium| &podium.places);
    assert!(places.clone().count() > 0 && places.clone().all(|place| place.medal == Medal::None));

    // Without being asked to, nothing is tried again.
    folder.qemu("");
    folder.run(&[]).code(1);
    assert_eq!(folder.runs()[failed].attempts, 2);
    folder.run(&["--retry", "infrastructure"]).success();
    let healed = &folder.runs()[failed];
    assert_eq!((healed.attempts, &healed.last.outcome), (3, &Outcome::Finished { exit_code: 0 }));
    assert_eq!(
        folder.record().attempts(&failed.parse().unwrap()).unwrap().len(),
        3,
        "the failed attempts stay"
    );
    folder.judge().success();
    let judged = Judged::read(&folder.path().join("judgement"));
    assert_eq!(judged.cell("breadth-first", "DiningTable-PT-03", "StateSpace").ending, Ending::Answered);
}

#[test]
fn a_qemu_that_says_nothing_is_given_up_at_the_boot_deadline_and_ended() {
    let folder = Folder::new(&campaign(r#""ReachabilityDeadlock""#, "retries = 0\nboot_deadline_s = 2"));
    folder.qemu("exec sleep 100000");
    folder.run(&[]).code(1);
    let infrastructure_failures = infrastructure_failures(&folder, DEADLOCK);
    let [(state, reason)] = &infrastructure_failures[..] else { panic!("{infrastructure_failures:?}") };
    assert_eq!(state, "booting");
    assert!(reason.contains("in time"), "{reason}");
    assert_eq!(folder.machines(), [0; 0], "it was killed");
    assert!(folder.running_folders().is_empty());
}

#[test]
fn a_guest_that_never_gets_ready_is_given_up_with_its_last_words_kept() {
    let folder = Folder::new(&campaign(r#""ReachabilityDeadlock""#, "retries = 0"));
    // A disk that is none: the agent cannot mount it, and the kernel panics.
    let empty = folder.path().join("empty");
    fs::File::create(&empty).unwrap().set_len(1 << 20).unwrap();
    folder.qemu(&format!(
        r#"for word; do
               shift
               case "$word" in if=none,id=disk,*) word="if=none,id=disk,format=raw,snapshot=on,file={}";; esac
               set -- "$@" "$word"
           done"#,
        empty.display()
    ));
    folder.run(&[]).code(1);
    let infrastructure_failures = infrastructure_failures(&folder, DEADLOCK);
    let [(state, reason)] = &infrastructure_failures[..] else { panic!("{infrastructure_failures:?}") };
    assert_eq!(state, "booting");
    assert!(reason.contains("console: mcc-guest-agent:"), "{reason}");
    assert!(folder.output(DEADLOCK, 1, "console").contains("Kernel panic"));
}

#[test]
fn a_machine_that_dies_under_its_tool_is_tried_again_and_only_the_whole_run_counts() {
    images::image("images/depth-first");
    // Runs into its limit, so it is certainly alive when its first output is seen.
    let folder = Folder::new(
        r#"
edition = "mcc-2018"
inputs = "{fixtures}"
instances = ["SwitchBoard-PT-0040"]
examinations = ["CTLCardinality"]
[[tool]]
entry = "depth-first"
image = "{build}/images/depth-first"
kind = "sequential"
[limits]
cpu_s = 8
[hosts]
retries = 1
"#,
    );
    let id = "depth-first/SwitchBoard-PT-0040/CTLCardinality";
    let mut controller = folder.run_command(&[]).spawn().unwrap();
    until("output of the tool", || {
        let stdout = |attempt: &std::path::PathBuf| fs::metadata(attempt.join("outputs/stdout"));
        folder.running_folders().iter().any(|attempt| stdout(attempt).is_ok_and(|stdout| stdout.len() > 0))
    });
    let machines = folder.machines();
    assert_eq!(machines.len(), 1);
    kill(Pid::from_raw(machines[0]), Signal::SIGKILL).unwrap();
    assert!(controller.wait().unwrap().success(), "the retry went well");

    let attempts = folder.record().attempts(&id.parse().unwrap()).unwrap();
    let Outcome::Infrastructure { state, reason } = &attempts[0].outcome else { panic!("{attempts:?}") };
    assert_eq!(state, "examining");
    assert!(reason.contains("signal: 9"), "{reason}");
    assert!(folder.output(id, 1, "stdout").starts_with("mcc-reference-tool:"), "its evidence is kept");
    assert_eq!((attempts.len(), &attempts[1].outcome), (2, &Outcome::CpuLimit));
    assert!(folder.machines().is_empty() && folder.running_folders().is_empty());
    folder.judge().success();
}

#[test]
fn ten_failures_in_a_row_stop_the_campaign_and_lose_nothing() {
    let folder = Folder::new(&campaign(
        r#""StateSpace", "UpperBounds", "ReachabilityDeadlock", "CTLCardinality""#,
        "retries = 3",
    ));
    folder.qemu("exit 1");
    let run = folder.run(&[]).code(1);
    assert!(stderr(&run).contains("10 attempts in a row ended in infrastructure"), "{}", stderr(&run));
    assert!(stderr(&run).contains("the host needs help") && stderr(&run).contains("`run` again"));
    let summary = folder.record().summary().unwrap();
    assert_eq!((summary.planned, summary.recorded, summary.retried), (4, 2, 8), "4 + 4 + 2 attempts");
    folder.qemu("");
    folder.run(&["--retry", "infrastructure"]).success();
    assert_eq!(folder.record().summary().unwrap().outcomes, [("finished".to_owned(), 4)].into());
}

#[test]
fn without_qemu_the_package_is_named_and_nothing_is_written() {
    let folder = Folder::new(&campaign(r#""ReachabilityDeadlock""#, ""));
    let mut run = folder.run_command(&[]);
    run.env("PATH", folder.path());
    let run = assert_cmd::Command::from(run).assert().code(69);
    assert!(stderr(&run).contains("install it: apt-get install qemu-system-x86"), "{}", stderr(&run));
    assert!(!folder.results().exists());
}

/// Every word of `fake-qemu.bash` that a run takes until its tool runs.
const RUNNING: &str = "power_on; ready; prepared; started";

/// The n-th planned run gets the n-th words: the folder of an attempt is named by its run's position.
fn by_position(words: &[&str]) -> String {
    let words = words.iter().map(|words| words.replace("RUNNING", RUNNING)).zip(1..);
    let cases: String = words.map(|(words, position)| format!("{position}) {words} ;;\n")).collect();
    format!("position=${{TMPDIR##*/running/}}\ncase ${{position%%-*}} in\n{cases}\n*) exit 99 ;;\nesac\n")
}

#[test]
fn whatever_qemu_and_the_agent_do_is_over_in_time_named_by_state_and_never_the_tools() {
    let cases = [
        ("linger", "booting", "no answer to \"greeting\" in time"),
        ("while :; do event RTC_CHANGE; done", "booting", "no answer to \"greeting\" in time"),
        ("while :; do printf %065536d 0 >&$qmp; done", "booting", "a line of more than 1048576 bytes"),
        ("echo '<html>' >&$qmp; linger", "booting", "QMP: greeting: expected value"),
        ("kill -9 $$", "booting", "(signal: 9 (SIGKILL))"),
        ("power_on; linger", "booting", "was not ready by its deadline"),
        ("power_on; while :; do say nonsense; done", "booting", "was not ready by its deadline"),
        ("power_on; while :; do printf %065536d 0 >&$control; done", "booting", "a line of more than"),
        // A guest that reboots or panics: QEMU ends (-no-reboot), so there is no loop.
        ("power_on; ready; exit 0", "ready", "(exit status: 0)"),
        ("power_on; ready; linger", "ready", "was not prepared by its deadline"),
        (
            "power_on; ready; hear; say failed '\"reason\":\"no archive\"'; linger",
            "ready",
            "agent: no archive",
        ),
        ("power_on; ready; prepared; linger", "ready", "was not started by its deadline"),
        ("RUNNING; kill -9 $$", "examining", "(signal: 9 (SIGKILL))"),
        ("RUNNING; eval \"exec $qmp>&-\"; linger", "examining", "QEMU ended (signal: 9 (SIGKILL))"),
        ("RUNNING; eval \"exec $control>&-\"; linger", "examining", "QEMU ended (signal: 9 (SIGKILL))"),
        (
            "RUNNING; status=internal-error; event STOP; answer_until query-status; linger",
            "examining",
            "QEMU stopped the machine: internal-error (its accelerator failed",
        ),
        (
            "RUNNING; event BLOCK_IO_ERROR '{\"device\":\"ro0\",\"operation\":\"read\",\"reason\":\"I/O error\"}'; linger",
            "examining",
            "a disk of the machine failed on the host (read of ro0): I/O error",
        ),
        ("RUNNING; ended; kill -9 $$", "collecting", "(signal: 9 (SIGKILL))"),
    ];
    let folder = Folder::with_fake_qemu(
        6,
        &EXAMINATIONS[..3],
        "[hosts]\njobs = 6\nretries = 0\nboot_deadline_s = 3\nprepare_deadline_s = 3\n",
    );
    folder.fake_qemu(&by_position(&cases.map(|(words, ..)| words)));
    // One examination of all tools at a time: ten troubles in a row would stop the campaign.
    let mut cases = cases.iter();
    for examination in &EXAMINATIONS[..3] {
        folder.run(&["--only", &format!("*/{examination}")]).code(1);
        for ((words, state, reason), tool) in cases.by_ref().take(6).zip(0..) {
            let found =
                infrastructure_failures(&folder, &format!("tool-{tool}/DiningTable-PT-03/{examination}"));
            assert_eq!(found.len(), 1);
            assert!(found[0].0 == *state && found[0].1.contains(reason), "{words}: {found:?}");
        }
        assert_eq!(folder.machines(), [0; 0]);
    }
    // A year's judgement knows them all as ours.
    folder.judge().code(1);
    let judged = Judged::read(&folder.path().join("judgement"));
    let cells = judged.0.blocks.iter().flat_map(|block| &block.cells);
    assert_eq!(cells.filter(|cell| cell.ending == Ending::Infrastructure).count(), 18);
    // And healed, each has its one record, the evidence beside it.
    folder.fake_qemu("whole_run x");
    folder.run(&["--retry", "infrastructure"]).success();
    assert!(folder.runs().values().all(|run| run.attempts == 2));
}

#[test]
fn no_flood_and_no_silence_keeps_a_run_from_its_limits() {
    let cases = [
        ("RUNNING; while :; do event RTC_CHANGE; done", Outcome::WallLimit),
        ("RUNNING; while :; do say nonsense; done", Outcome::WallLimit),
        ("RUNNING; while :; do printf %065536d 0 >&$console; done", Outcome::WallLimit),
        // An agent that a tool starved: the tool's limit all the same.
        ("RUNNING; linger", Outcome::WallLimit),
        ("RUNNING; while :; do printf %065536d 0 >&$stdout; done", Outcome::OutputLimit),
        // Slow, but there.
        (
            "linger 0.3; power_on; linger 0.3; ready; linger 0.3; prepared; started; ended; drained; linger",
            Outcome::Finished { exit_code: 0 },
        ),
        // The tool ended, what it wrote never comes: that is marked, and what came counts.
        ("RUNNING; echo half >&$stdout; ended; drained 99; linger", Outcome::Finished { exit_code: 0 }),
    ];
    let settings = "[limits]\nwall_s = 2\noutput_bytes = 1000000\n[hosts]\njobs = 7\nretries = 0\nboot_deadline_s = 10\ncollect_deadline_s = 10\n";
    let folder = Folder::with_fake_qemu(7, &EXAMINATIONS[..1], settings);
    folder.fake_qemu(&by_position(&cases.clone().map(|(words, _)| words)));
    folder.run(&[]).success();
    let runs = folder.runs();
    for ((words, outcome), run) in cases.iter().zip(runs.values()) {
        assert_eq!(run.last.outcome, *outcome, "{words}");
    }
    let marks = |tool: usize| &runs[&format!("tool-{tool}/DiningTable-PT-03/StateSpace")].last.marks;
    assert!(marks(4).contains(&"output-truncated".into()) && marks(6).contains(&"output-incomplete".into()));
}

#[test]
fn a_guest_that_reports_impossible_figures_harms_nobody() {
    let ended = |figures: &str| format!("say ended '{figures},\"oom_kills\":0,\"left_behind\":0'");
    let forged = [
        r#""exit":{"code":-2147483648},"memory_kib":1"#,
        r#""exit":{"code":256},"memory_kib":1"#,
        r#""exit":{"signal":0},"memory_kib":1"#,
        r#""exit":{"signal":65},"memory_kib":1"#,
        r#""exit":{"code":1},"memory_kib":18446744073709551615"#,
        r#""exit":{"code":1},"memory_kib":1,"io_wait_ms":18446744073709551615"#,
    ];
    let folder = Folder::with_fake_qemu(forged.len(), &EXAMINATIONS[..1], "[hosts]\nretries = 0\n");
    let words: Vec<String> = forged
        .iter()
        .map(|figures| format!("RUNNING; {}; ended; drained; answer_until quit", ended(figures)))
        .collect();
    folder.fake_qemu(&by_position(&words.iter().map(String::as_str).collect::<Vec<_>>()));
    folder.run(&[]).success();
    for run in folder.runs().values() {
        assert_eq!(run.last.outcome, Outcome::Finished { exit_code: 0 }, "{}", run.run.id());
        assert_eq!(run.last.facts.as_ref().unwrap().memory_kib, Some(1000), "{}", run.run.id());
    }
}
