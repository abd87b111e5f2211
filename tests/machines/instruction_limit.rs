//! The limit of instructions, in real machines under TCG.

use crate::machine::{next, spec};
use crate::support::{campaign, images, script};

use campaign::{Folder, Judged, stderr};
use mcc_harness::benchkit::Value;
use mcc_harness::judge::judgement::Ending;
use mcc_harness::store::Outcome;
use mcc_harness::vm::{self, Machine, MachineSpec};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use mcc_harness::base::guest::{GuestEvent, Request};

const TIMEOUT: Duration = Duration::from_secs(600);

/// A limited machine after its stop: the lines that it had handed over, its instructions, and the wall time.
struct Stopped {
    lines: usize,
    counted: vm::Instructions,
    wall: Duration,
}

fn limited(vcpus: u32) -> MachineSpec {
    MachineSpec { count_instructions: true, limit_instructions: true, ..spec(512, vcpus) }
}

/// Runs a bash script that never ends, until the limit is reached.
fn run_until_limit(machine: &MachineSpec, text: &str, limit: u64) -> Stopped {
    let folder = tempfile::tempdir().unwrap();
    let mut started = Machine::start(machine, folder.path(), 1 << 20, TIMEOUT).unwrap();
    assert!(matches!(next(&mut started), GuestEvent::Ready { .. }));
    started.send(&Request::Prepare(Box::new(script::job("mcc", "/home/mcc", text)))).unwrap();
    assert!(matches!(next(&mut started), GuestEvent::Prepared { .. }));
    started.restart_instructions();
    started.apply_instruction_limit(limit).unwrap();
    let began = Instant::now();
    started.send(&Request::Start).unwrap();
    while !started.has_reached_instruction_limit().unwrap() {
        assert!(began.elapsed() < TIMEOUT, "{:?}", started.instructions());
        started.wait(Instant::now() + Duration::from_millis(50)).unwrap();
    }
    let wall = began.elapsed();
    started.read_handed_over().unwrap();
    let counted = started.instructions().unwrap();
    started.halt().unwrap();
    let lines = fs::read_to_string(folder.path().join("stdout")).unwrap().lines().count();
    Stopped { lines, counted, wall }
}

/// A script that prints a line for each `steps` steps of a loop.
fn printing(steps: u64) -> String {
    format!("while :; do for ((i = 0; i < {steps}; i++)); do :; done; echo \"$((++n))\"; done")
}

/// The steps that take 10^7 instructions.
fn steps_of_ten_million() -> u64 {
    let stopped = run_until_limit(&limited(1), &printing(1000), 1_000_000_000);
    1000 * stopped.lines as u64 / 100
}

#[test]
fn several_vcpus_stop_together_at_the_limit() {
    let loops = "n() { while :; do :; done; }; n & n";
    for vcpus in [1, 2] {
        let stopped = run_until_limit(&limited(vcpus), loops, 1_000_000_000);
        let user = stopped.counted.user;
        // Shares that the others still have, and the block that was not executed.
        assert!((999_980_000..1_000_020_000).contains(&user), "{vcpus} vCPUs: {user}");
    }
}

/// As `equal_tools_stop_at_the_same_answer_beside_load`, short.
#[test]
fn a_tool_stops_at_the_same_answer_each_time() {
    let (script, limit) = (printing(steps_of_ten_million()), 1_005_000_000);
    let [one, other] = [0, 1].map(|_| run_until_limit(&limited(1), &script, limit));
    assert!((95..=105).contains(&one.lines), "{}", one.lines);
    assert_eq!(one.lines, other.lines);
    for stopped in [one, other] {
        assert!(stopped.counted.user.abs_diff(limit) < 20_000, "{:?}", stopped.counted);
    }
}

#[test]
#[ignore = "long: scripts/test --all"]
fn equal_tools_stop_at_the_same_answer_beside_load() {
    let (script, limit) = (printing(steps_of_ten_million()), 1_005_000_000);
    let quiet = run_until_limit(&limited(1), &script, limit);
    let load = script::Load::start(4);
    let all: Vec<Stopped> = (0..20).map(|_| run_until_limit(&limited(1), &script, limit)).collect();
    drop(load);
    eprintln!("before the load: {:?}, {} lines", quiet.wall, quiet.lines);
    for stopped in &all {
        let over = stopped.counted.user.cast_signed() - limit.cast_signed();
        eprintln!("{} lines, {over:+} instructions, {:?}", stopped.lines, stopped.wall);
    }
    assert!(all.iter().all(|stopped| stopped.lines == quiet.lines));
    assert!(all.iter().all(|stopped| stopped.counted.user.abs_diff(limit) < 20_000));
}

/// A tool that answers and never ends, in a campaign with a limit.
fn folder() -> Folder {
    let more = "[limits]\ninstructions = 1000000000\n[hosts]\nretries = 0\n";
    let text = campaign::on_fixtures(&["DiningTable-PT-03"], &["ReachabilityDeadlock"], &["endless"], more);
    Folder::on_one_core(&text.replace("{build}/images/endless", "endless-image"))
}

#[test]
fn a_run_ends_at_its_limit_and_answers_before_it_count() {
    let folder = folder();
    let tool = folder.path().join("tool");
    fs::create_dir(&tool).unwrap();
    let head = tool.join("BenchKit_head.sh");
    let text = "#!/bin/bash\necho \"FORMULA $BK_INPUT-$BK_EXAMINATION-0 TRUE TECHNIQUES EXPLICIT\"\n\
                while :; do :; done\n";
    fs::write(&head, text).unwrap();
    fs::set_permissions(&head, fs::Permissions::from_mode(0o755)).unwrap();
    images::with_tool(&tool, &folder.path().join("endless-image"));
    folder.run(&[]).success();
    let attempt = folder.runs().into_values().next().unwrap().last;
    assert_eq!(attempt.outcome, Outcome::InstructionLimit);
    let user = attempt.facts.unwrap().instructions.unwrap().user().unwrap();
    assert!(user.abs_diff(1_000_000_000) < 20_000, "{user}");
    folder.judge().success();
    let judged = Judged::read(&folder.path().join("judgement"));
    let cell = judged.cell("endless", "DiningTable-PT-03", "ReachabilityDeadlock");
    assert_eq!((cell.ending, cell.values[0].clone()), (Ending::InstructionLimit, Some(Value::True)));

    // A host whose QEMU refuses the plugin.
    folder.qemu("case \" $* \" in *' -plugin '*) echo \"$0: Could not load plugin\" >&2; exit 1;; esac");
    fs::remove_dir_all(folder.results()).unwrap();
    let refused = stderr(&folder.run(&[]).code(69));
    assert!(refused.contains("cannot enforce the limit of instructions"), "{refused}");
    assert!(refused.contains("Could not load plugin"), "{refused}");
}
