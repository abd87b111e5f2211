//! Tools that fill their disks, in real machines. The host's disk for the results has space for the shares of two machines and
//! little more: without limits the first such tool fills it, and the campaign stops for all.

use crate::support::campaign;
use crate::support::images;

use campaign::small_disk::SmallDisk;
use campaign::{Folder, Judged};
use mcc_harness::benchkit::Value;
use mcc_harness::judge::judgement::{Cell, Ending};
use mcc_harness::store::{Attempt, Outcome};
use std::path::Path;

/// The disk limit of these campaigns, in GiB and in KiB.
const DISK_GIB: &str = "1/16";
const DISK_KIB: u64 = 64 << 10;

/// Two shares with the tables of their overlays, and the outputs and evidence.
const HOST_BYTES: u64 = 320 << 20;

/// A campaign of these entries, two runs at once. Entries named `greedy` have the greedy tool.
fn folder(examinations: &[&str], entries: &[&str], head: &str) -> Folder {
    let more = format!(
        "[limits]\noutput_bytes = 1048576\ndisk_gib = \"{DISK_GIB}\"\n[hosts]\njobs = 2\nretries = 0\n"
    );
    let campaign = campaign::on_fixtures(&["DiningTable-PT-03"], examinations, entries, &more);
    let folder = Folder::new(&format!("{head}{}", campaign.replace("{build}/images/greedy", "greedy-image")));
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/greedy-tool");
    images::with_tool(&tool, &folder.path().join("greedy-image"));
    for entry in entries.iter().filter(|entry| entry.starts_with("greedy-")) {
        std::os::unix::fs::symlink(
            "greedy-image",
            folder.path().join(format!("greedy-image{}", &entry[6..])),
        )
        .unwrap();
    }
    folder
}

/// Runs and judges the campaign; every run is recorded in its first attempt.
fn run(folder: &Folder) -> Judged {
    folder.run(&[]).success();
    for (id, run) in folder.runs() {
        assert_eq!(run.attempts, 1, "{id}: {:?}", run.last.outcome);
    }
    folder.judge().success();
    Judged::read(&folder.path().join("judgement"))
}

fn attempt(folder: &Folder, entry: &str, examination: &str) -> Attempt {
    folder.runs().remove(&format!("{entry}/DiningTable-PT-03/{examination}")).unwrap().last
}

fn value(cell: &Cell) -> Option<Value> {
    cell.values.first().cloned().flatten()
}

/// The attempt was ended at its disk limit, after its answer, and took no more of the host's disk than its share.
fn assert_is_limited(attempt: &Attempt, cell: &Cell) {
    assert_eq!((&attempt.outcome, cell.ending), (&Outcome::DiskLimit, Ending::DiskLimit));
    assert_eq!(value(cell), Some(Value::True), "the answer before the limit counts");
    let facts = attempt.facts.as_ref().unwrap();
    assert_eq!(facts.disk_limit_kib, Some(DISK_KIB));
    let used = facts.disk_kib.unwrap();
    assert!((DISK_KIB..DISK_KIB + (17 << 10)).contains(&used), "{used} KiB");
}

#[test]
fn a_tool_that_fills_its_disk_harms_no_other() {
    let examinations = ["ReachabilityDeadlock", "UpperBounds", "CTLFireability"];
    let folder = folder(&examinations, &["greedy", "breadth-first"], "");
    let _disk = SmallDisk::at(&folder.results(), HOST_BYTES);
    let judged = run(&folder);
    assert_eq!(folder.runs().len(), 6);
    for examination in examinations {
        let honest = attempt(&folder, "breadth-first", examination);
        assert_eq!(honest.outcome, Outcome::Finished { exit_code: 0 }, "{examination}");
        let cell = judged.cell("breadth-first", "DiningTable-PT-03", examination);
        assert_eq!(cell.ending, Ending::Answered, "{examination}");
    }
    let greedy = |examination| {
        let cell = judged.cell("greedy", "DiningTable-PT-03", examination);
        (attempt(&folder, "greedy", examination), cell)
    };
    let (full, cell) = greedy("ReachabilityDeadlock");
    assert_is_limited(&full, cell);
    assert!(full.marks.iter().all(|mark| mark != "output-incomplete"), "{:?}", full.marks);

    let (most, cell) = greedy("UpperBounds");
    assert_eq!(most.outcome, Outcome::Finished { exit_code: 0 }, "90 % of the limit are within it");
    assert_eq!((cell.ending, value(cell)), (Ending::Answered, "1".parse().ok()));
    let used = most.facts.unwrap().disk_kib.unwrap();
    assert!((57 << 10..DISK_KIB).contains(&used), "{used} KiB");

    // Whether the guest writes all of it before its machine is halted depends on its kernel.
    let (later, cell) = greedy("CTLFireability");
    assert!(
        [Outcome::DiskLimit, Outcome::Finished { exit_code: 0 }].contains(&later.outcome),
        "{:?}",
        later.outcome
    );
    assert_eq!(value(cell), Some(Value::True));
}

#[test]
fn two_restored_tools_fill_their_disks_at_the_same_moment() {
    let folder = folder(&["ReachabilityDeadlock"], &["greedy-1", "greedy-2"], "start = \"restore\"\n");
    let _disk = SmallDisk::at(&folder.results(), HOST_BYTES);
    let judged = run(&folder);
    for entry in ["greedy-1", "greedy-2"] {
        let attempt = attempt(&folder, entry, "ReachabilityDeadlock");
        assert!(attempt.marks.iter().any(|mark| mark == "restored"), "{:?}", attempt.marks);
        assert_is_limited(&attempt, judged.cell(entry, "DiningTable-PT-03", "ReachabilityDeadlock"));
    }
}

#[test]
fn an_original_disk_has_the_same_limit_over_ssh() {
    images::image("images/kit");
    let campaign = campaign::on_fixtures(&["DiningTable-PT-03"], &["LTLCardinality"], &["original"], "");
    let keys = "{build}/images/kit/disk.vmdk\"\nchannel = \"ssh\"\nssh_key = \"{build}/images/kit/key\"";
    let campaign = campaign.replace("{build}/images/original\"", keys);
    let limits = format!(
        "[limits]\noutput_bytes = 1048576\ndisk_gib = \"{DISK_GIB}\"\n[hosts]\nretries = 0\nboot_deadline_s = 200\n"
    );
    let folder = Folder::on_one_core(&(campaign + &limits));
    let judged = run(&folder);
    let attempt = attempt(&folder, "original", "LTLCardinality");
    assert_is_limited(&attempt, judged.cell("original", "DiningTable-PT-03", "LTLCardinality"));
}
