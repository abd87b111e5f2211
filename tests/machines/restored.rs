//! Runs in restored machines have the answers and outcomes of runs in machines that boot.

use crate::support::campaign;
use crate::support::data;
use crate::support::images;

use campaign::Folder;
use mcc_harness::base::Mark;
use mcc_harness::store::{Outcome, RunRecord};

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
