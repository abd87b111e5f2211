//! Machines that fail: our trouble, kept as evidence, tried again, and never a tool's outcome (P2).

mod campaign;
mod images;

use campaign::{Folder, Judged, stderr, until};
use mcc_harness::judge::judgement::Ending;
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
fn troubles(folder: &Folder, run: &str) -> Vec<(String, String)> {
    let attempts = folder.record().attempts(run).unwrap().into_iter();
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
    for (state, reason) in troubles(&folder, failed) {
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
    assert!(folder.under_way().is_empty());

    let judge = folder.judge().code(1);
    let failed_words = "breadth-first on DiningTable-PT-03 in StateSpace";
    assert!(stderr(&judge).contains("provisional"), "{}", stderr(&judge));
    assert!(stderr(&judge).contains(failed_words), "{}", stderr(&judge));
    let judged = Judged::read(&folder.path().join("judgement"));
    let cell = judged.cell("breadth-first", "DiningTable-PT-03", "StateSpace");
    assert_eq!(cell.ending, Ending::Infrastructure);
    let places = judged.0.podiums.iter().flat_map(|podium| &podium.places);
    assert!(places.clone().count() > 0 && places.clone().all(|place| place.medal.is_empty()));

    // Without being asked to, nothing is tried again.
    folder.qemu("");
    folder.run(&[]).code(1);
    assert_eq!(folder.runs()[failed].attempts, 2);
    folder.run(&["--retry", "infrastructure"]).success();
    let healed = &folder.runs()[failed];
    assert_eq!((healed.attempts, &healed.last.outcome), (3, &Outcome::Finished { exit_code: 0 }));
    assert_eq!(folder.record().attempts(failed).unwrap().len(), 3, "the failed attempts stay");
    folder.judge().success();
    let judged = Judged::read(&folder.path().join("judgement"));
    assert_eq!(judged.cell("breadth-first", "DiningTable-PT-03", "StateSpace").ending, Ending::Answered);
}

#[test]
fn a_qemu_that_says_nothing_is_given_up_at_the_boot_deadline_and_ended() {
    let folder = Folder::new(&campaign(r#""ReachabilityDeadlock""#, "retries = 0\nboot_deadline_s = 2"));
    folder.qemu("exec sleep 100000");
    folder.run(&[]).code(1);
    let troubles = troubles(&folder, DEADLOCK);
    let [(state, reason)] = &troubles[..] else { panic!("{troubles:?}") };
    assert_eq!(state, "booting");
    assert!(reason.contains("in time"), "{reason}");
    assert_eq!(folder.machines(), [0; 0], "it was killed");
    assert!(folder.under_way().is_empty());
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
    let troubles = troubles(&folder, DEADLOCK);
    let [(state, reason)] = &troubles[..] else { panic!("{troubles:?}") };
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
        folder.under_way().iter().any(|attempt| stdout(attempt).is_ok_and(|stdout| stdout.len() > 0))
    });
    let machines = folder.machines();
    assert_eq!(machines.len(), 1);
    kill(Pid::from_raw(machines[0]), Signal::SIGKILL).unwrap();
    assert!(controller.wait().unwrap().success(), "the retry went well");

    let attempts = folder.record().attempts(id).unwrap();
    let Outcome::Infrastructure { state, reason } = &attempts[0].outcome else { panic!("{attempts:?}") };
    assert_eq!(state, "examining");
    assert!(reason.contains("signal: 9"), "{reason}");
    assert!(folder.output(id, 1, "stdout").starts_with("mcc-reference-tool:"), "its evidence is kept");
    assert_eq!((attempts.len(), &attempts[1].outcome), (2, &Outcome::CpuLimit));
    assert!(folder.machines().is_empty() && folder.under_way().is_empty());
    folder.judge().success();
}

#[test]
fn ten_troubles_in_a_row_stop_the_campaign_and_nothing_is_lost() {
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
