//! Instructions that a plugin of QEMU counts.

use crate::machine::{collect, next, spec, start};
use crate::support::{campaign, images, script};

use campaign::Folder;
use mcc_harness::base::Mark;
use mcc_harness::base::guest::{GuestEvent, Request};
use mcc_harness::store::{Instructions, RunFacts, RunRecord};
use mcc_harness::vm::{self, Machine, MachineSpec, SavedStates, Start};
use serde_json::Value as Json;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(600);

/// Runs a bash script in a machine, which boots or is restored. Returns the instructions from its start to its end.
fn count(machine: &MachineSpec, text: &str) -> vm::Instructions {
    let folder = tempfile::tempdir().unwrap();
    let mut machine_of = Machine::start(machine, folder.path(), 1 << 20, TIMEOUT).unwrap();
    if let Start::Restore(_) = machine.start {
        machine_of.send(&Request::Ready).unwrap();
    }
    assert!(matches!(next(&mut machine_of), GuestEvent::Ready { .. }));
    let job = script::job("mcc", "/home/mcc", text);
    machine_of.send(&Request::Prepare(Box::new(job))).unwrap();
    assert!(matches!(next(&mut machine_of), GuestEvent::Prepared { .. }));
    machine_of.restart_instructions();
    machine_of.send(&Request::Start).unwrap();
    collect(&mut machine_of);
    let counted = machine_of.instructions().unwrap();
    machine_of.halt().unwrap();
    counted
}

/// The difference between the largest and the smallest count, millionths.
fn spread(counts: &[u64]) -> u64 {
    let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    (most - least) * 1_000_000 / least
}

#[test]
fn the_instructions_of_two_vcpus_are_added() {
    let counting = |vcpus| MachineSpec { count_instructions: true, ..spec(512, vcpus) };
    let loops = "n() { for ((i = 0; i < 30000; i++)); do :; done; }; n & n & wait";
    let [one, two] = [1, 2].map(|vcpus| count(&counting(vcpus), loops));
    assert!(one.user > 20_000_000 && one.kernel > 0, "{one:?}");
    assert!(spread(&[one.user, two.user]) < 10_000, "lost additions: {one:?}, {two:?}");
}

#[test]
fn a_restored_machine_counts_like_one_that_boots() {
    let counting = MachineSpec { count_instructions: true, ..spec(512, 1) };
    let folder = tempfile::tempdir().unwrap();
    let states = SavedStates::new(folder.path().to_owned());
    let saved = states.get_or_boot(&counting, "", TIMEOUT).unwrap();
    let restored = MachineSpec { start: Start::Restore(saved), ..counting.clone() };
    let work = "head -c 20000000 /dev/zero > zero; sha256sum zero";
    let counts = [&counting, &restored, &restored].map(|machine| count(machine, work).user);
    assert!(spread(&counts) <= 500, "more than 0.05 %: {counts:?}");
}

/// A run of the reference tool, which explores states up to its bound, in a campaign that counts instructions; its figures and
/// marks.
fn run(start: &str, qemu: &str) -> (RunFacts, Vec<Mark>) {
    images::image("images/breadth-first");
    let more = "[hosts]\nretries = 0\n";
    let text = campaign::on_fixtures(&["SwitchBoard-PT-0040"], &["StateSpace"], &["breadth-first"], more);
    let folder = Folder::on_one_core(&format!("count_instructions = true\n{text}")).starting_by(start);
    folder.qemu(qemu);
    folder.run(&[]).success();
    let run: RunRecord = folder.runs().into_values().next().unwrap();
    (run.last.facts.unwrap(), run.last.marks)
}

#[test]
fn the_reference_tool_has_equal_counts_booted_and_restored() {
    let counts = ["boot", "boot", "restore"].map(|start| {
        let (facts, marks) = run(start, "");
        assert!(marks.contains(&Mark::INSTRUCTIONS_COUNTED), "{marks:?}");
        facts.instructions.unwrap().user().unwrap()
    });
    assert!(spread(&counts) <= 500, "more than 0.05 %: {counts:?}");
}

/// The agent samples each second, so a slow host adds instructions to a run.
#[test]
fn the_agent_adds_few_instructions_in_each_second() {
    let counting = MachineSpec { count_instructions: true, ..spec(512, 1) };
    let [short, long] = ["sleep 1", "sleep 11"].map(|work| count(&counting, work).user);
    let each_second = long.abs_diff(short) / 10;
    eprintln!("the agent: {each_second} instructions in each second");
    assert!(each_second < 6_000, "{each_second}");
}

/// The standard deviation of counts over their mean, millionths.
fn deviation(counts: &[u64]) -> f64 {
    let n = counts.len() as f64;
    let mean = counts.iter().sum::<u64>() as f64 / n;
    let variance = counts.iter().map(|count| (*count as f64 - mean).powi(2)).sum::<f64>() / (n - 1.0);
    variance.sqrt() / mean * 1e6
}

#[test]
#[ignore = "long: scripts/test --all"]
fn equal_runs_beside_load_hardly_deviate() {
    let load = script::Load::start(4);
    let counting = MachineSpec { count_instructions: true, ..spec(512, 1) };
    let fixed: Vec<u64> =
        (0..20).map(|_| count(&counting, "head -c 100000000 /dev/zero | sha256sum").user).collect();
    let tool: Vec<(u64, u64)> = (0..20)
        .map(|_| {
            let facts = run("boot", "").0;
            (facts.instructions.unwrap().user().unwrap(), facts.wall_ms)
        })
        .collect();
    drop(load);
    let counts: Vec<u64> = tool.iter().map(|(count, _)| *count).collect();
    eprintln!("fixed computation: {:.2} millionths, {fixed:?}", deviation(&fixed));
    eprintln!(
        "reference tool: {:.2} millionths, instructions and ms of wall time {tool:?}",
        deviation(&counts)
    );
    // On a host with more load than this test makes, 13 were measured.
    assert!(deviation(&fixed) <= 50.0 && deviation(&counts) <= 50.0);
}

#[test]
fn a_deterministic_guest_places_programs_at_the_same_addresses_and_is_marked() {
    let addresses = |fixed_addresses| {
        let machine = MachineSpec { fixed_addresses, ..spec(512, 1) };
        let folder = tempfile::tempdir().unwrap();
        let mut started = start("cat /proc/self/maps; cat /proc/self/maps", &machine, folder.path(), 1 << 20);
        collect(&mut started);
        started.halt().unwrap();
        let maps = fs::read_to_string(folder.path().join("stdout")).unwrap();
        let stacks: Vec<String> =
            maps.lines().filter(|line| line.ends_with("[stack]")).map(str::to_owned).collect();
        assert_eq!(stacks.len(), 2, "{maps}");
        stacks
    };
    let [fixed, random] = [true, false].map(addresses);
    assert_eq!(fixed[0], fixed[1]);
    assert_ne!(random[0], random[1]);
}

/// Compares an image with itself, or with `b`, by three pairs; the report.
fn compare(b: &str, more: &[&str]) -> Json {
    images::image("images/breadth-first");
    let folder = Folder::new(&campaign::on_fixtures(
        &["SwitchBoard-PT-0040"],
        &["StateSpace"],
        &["breadth-first"],
        "",
    ));
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (a, models) = (root.join("build/images/breadth-first"), folder.path().join("one-model"));
    fs::create_dir(&models).unwrap();
    let archive = "SwitchBoard-PT-0040.tgz";
    fs::copy(root.join("pnml-fixtures").join(archive), models.join(archive)).unwrap();
    let b = if b.is_empty() { a.as_path() } else { Path::new(b) };
    let images = [&*a, b].map(|path| path.to_str().unwrap());
    let command = ["--tool", "breadth-first", "--instances", "one-model", "--examinations", "StateSpace"];
    let command =
        [&["compare-runs"][..], &images[..], &command, &["--allow-degraded", "--format", "json"], more]
            .concat();
    let output = folder.harness(&command).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

/// The counts of A and B.
fn counts(report: &Json) -> Vec<u64> {
    let sides = ["a", "b"].map(|side| report["runs"][0][side]["instructions"].as_array().unwrap());
    sides.into_iter().flatten().map(|count| count.as_u64().unwrap()).collect()
}

#[test]
fn restored_machines_are_compared_and_deterministic_ones() {
    let report = compare("", &["--repeat", "2", "--start", "restore", "--deterministic", "--out", "kept"]);
    assert!(spread(&counts(&report)) <= 500, "{report:#}");
    for mark in ["deterministic-guest", "restored"] {
        assert_eq!(report["conditions"][mark], 4, "{report:#}");
    }
}

#[test]
#[ignore = "long: scripts/test --all"]
fn three_pairs_find_one_percent_more_work_beside_a_busy_neighbour() {
    // One percent of the instructions of a run, in the tool's start script.
    let equal = compare("", &["--repeat", "3"]);
    let all = counts(&equal)[0];
    assert!(equal["tests"]["instructions"]["change"].as_f64().unwrap().abs() < 0.001, "{equal:#}");
    let folder = tempfile::tempdir().unwrap();
    let tool = folder.path().join("tool");
    let status =
        Command::new("/bin/cp").args(["-r", "build/tools/breadth-first"]).arg(&tool).status().unwrap();
    assert!(status.success());
    let head = tool.join("BenchKit_head.sh");
    let text = fs::read_to_string(&head).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    // About 15,500 instructions for each step of the loop.
    let more = format!("{first}\nfor ((i = 0; i < {}; i++)); do :; done\n{rest}", all / 100 / 15_500);
    fs::write(&head, more).unwrap();
    let image = folder.path().join("image");
    images::with_tool(&tool, &image);
    let load = script::Load::start(2);
    let report = compare(image.to_str().unwrap(), &["--repeat", "3"]);
    drop(load);
    let test = &report["tests"]["instructions"];
    eprintln!("{test}");
    let change = test["change"].as_f64().unwrap();
    assert!((0.005..0.02).contains(&change), "{test}");
    assert!(test["p"].as_f64().unwrap() < 0.0001, "{test}");
}

#[test]
fn a_qemu_that_refuses_the_plugin_runs_without_it() {
    let refusal = "case \" $* \" in *' -plugin '*) echo \"$0: Could not load plugin: TCG plugin requires API version 1, \
                   but this QEMU supports only a minimum version of 2\" >&2; exit 1;; esac";
    let (facts, marks) = run("boot", refusal);
    let Some(Instructions::Absent { reason }) = facts.instructions else { panic!("{facts:?}") };
    assert!(reason.contains("supports only a minimum version of 2"), "{reason}");
    assert!(!marks.contains(&Mark::INSTRUCTIONS_COUNTED), "{marks:?}");
}
