//! Restored machines, and that runs in them have the answers and outcomes of runs in machines that boot.

use crate::machine::{TIMEOUT, collect, job, next, spec};
use crate::support::campaign;
use crate::support::data;
use crate::support::images;

use campaign::Folder;
use mcc_harness::base::Mark;
use mcc_harness::base::guest::{GuestEvent, Job, Request};
use mcc_harness::store::{Outcome, RunRecord};
use mcc_harness::vm::{Machine, MachineSpec, SavedStates, Start};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Runs a campaign. Returns the id, the outcome and the digest of the standard output of each run.
fn runs(campaign: &str, start: &str) -> Vec<(String, Outcome, String)> {
    let folder = Folder::on_one_core(campaign).starting_by(start);
    folder.run(&[]).success();
    let facts = |(id, run): (String, RunRecord)| {
        assert_eq!(run.last.marks.contains(&Mark::RESTORED), start == "restore", "{:?}", run.last.marks);
        let stdout = run.last.outputs.iter().find(|output| output.role == "stdout").unwrap();
        (id, run.last.outcome, stdout.sha256.clone())
    };
    folder.runs().into_iter().map(facts).collect()
}

fn assert_same_both_ways(campaign: &str, count: usize) {
    let restored = runs(campaign, "restore");
    assert_eq!(restored.len(), count);
    assert_eq!(restored, runs(campaign, "boot"));
}

#[test]
fn restored_runs_are_marked_and_give_the_same_answers() {
    images::image("images/breadth-first");
    let examinations = ["StateSpace", "ReachabilityDeadlock"];
    let more = "[hosts]\nretries = 0\n";
    let campaign = campaign::on_fixtures(&["DiningTable-PT-03"], &examinations, &["breadth-first"], more);
    assert_same_both_ways(&campaign, 2);
}

#[test]
#[ignore = "long: scripts/test --all"]
fn restored_runs_on_four_real_models_give_the_same_answers() {
    let Some(inputs) = data::shared("mcc/inputs") else { return };
    images::image("images/breadth-first");
    let models = [
        "NQueens-PT-05",
        "Philosophers-PT-000005",
        "ResAllocation-PT-R002C002",
        "RobotManipulation-PT-00005",
    ];
    let examinations = ["StateSpace", "UpperBounds", "ReachabilityDeadlock"];
    let more = "[hosts]\nretries = 0\n";
    let campaign = campaign::on_fixtures(&models, &examinations, &["breadth-first"], more);
    assert_same_both_ways(&campaign.replace("{fixtures}", &inputs.to_string_lossy()), 12);
}

#[test]
fn a_restored_machine_has_its_own_clock_and_random_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let states = SavedStates::new(folder.path().to_owned());
    let booted = spec(2048, 1);
    let script = "date -u +%Y; head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n'; cat /home/mcc/secret; echo x > /home/mcc/secret";
    // Two jobs on one state.
    let (mut drawn, mut copies) = (vec![], vec![]);
    let mut restored = booted.clone();
    for seed in ["5a", "a5"] {
        restored.start = Start::Restore(states.get_or_boot(&booted, "as it was", TIMEOUT).unwrap());
        let outputs = tempfile::tempdir().unwrap();
        let mut machine = Machine::start(&restored, outputs.path(), 1 << 20, TIMEOUT).unwrap();
        let descriptors =
            fs::read_dir(format!("/proc/{}/fd", machine.pid())).unwrap().map(|fd| fd.unwrap().path());
        let is_memory = |fd: &PathBuf| {
            fs::read_link(fd).is_ok_and(|to| to.to_string_lossy().starts_with("/memfd:mcc-memory"))
        };
        let mut numbers = BTreeSet::new();
        for descriptor in descriptors.filter(is_memory) {
            let memory = fs::File::options().write(true).open(&descriptor).unwrap();
            assert!(memory.set_len(1 << 30).is_err(), "its length is fixed");
            numbers.insert(memory.metadata().unwrap().ino());
        }
        assert_eq!(numbers.len(), 1, "QEMU has its own memory, and not the saved one");
        copies.extend(numbers);
        machine.send(&Request::Ready).unwrap();
        assert!(matches!(next(&mut machine), GuestEvent::Ready { .. }));
        machine.send(&Request::Prepare(Box::new(Job { seed: seed.repeat(32), ..job(script) }))).unwrap();
        assert!(matches!(next(&mut machine), GuestEvent::Prepared { .. }));
        machine.send(&Request::Start).unwrap();
        collect(&mut machine);
        machine.halt().unwrap();
        let stdout = fs::read_to_string(outputs.path().join("stdout")).unwrap();
        let stderr = fs::read_to_string(outputs.path().join("stderr")).unwrap();
        let (year, random) = stdout.split_once('\n').unwrap();
        assert_eq!(year, "2018", "the clock is the job's");
        assert!(random.len() == 64 && stderr.contains("No such file"), "{stdout} {stderr}");
        drawn.push(random.to_owned());
    }
    assert_ne!(copies[0], copies[1], "each has a copy of its own");
    assert_ne!(drawn[0], drawn[1], "every restored machine has the same random pool until it is reseeded");
    // Machines with another specification or other disks have another state.
    let smaller = MachineSpec { memory_mib: 1024, ..booted.clone() };
    let other = states.get_or_boot(&smaller, "as it was", TIMEOUT).unwrap();
    let changed = states.get_or_boot(&booted, "changed", TIMEOUT).unwrap();
    assert!(Start::Restore(other) != restored.start && Start::Restore(changed) != restored.start);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left on the disk");
}
