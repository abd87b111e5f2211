//! Instructions that a plugin of QEMU counts.

use crate::machine::{collect, next, spec};
use crate::support::{campaign, images, script};

use campaign::Folder;
use mcc_harness::base::Mark;
use mcc_harness::base::guest::{GuestEvent, Request};
use mcc_harness::store::{Instructions, RunFacts, RunRecord};
use mcc_harness::vm::{self, Machine, MachineSpec, SavedStates, Start};
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
    // The agent executes some thousand instructions in each second, so a busy host adds some.
    assert!(spread(&counts) <= 1000, "more than 0.1 %: {counts:?}");
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
    // The agent executes some thousand instructions in each second, so a busy host adds some.
    assert!(spread(&counts) <= 1000, "more than 0.1 %: {counts:?}");
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
