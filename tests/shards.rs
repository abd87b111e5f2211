//! The record of a campaign on a cluster: the records of its models are merged into it.

mod recorded_runs;

use mcc_harness::base::names::RunId;
use mcc_harness::store::{
    Attempt, CampaignFacts, MergeCounts, Outcome, Record, RecordPart, Rerun, StoreError,
};
use recorded_runs::*;
use std::path::Path;

/// A shard of the only model, with these outcomes of the attempts at its two runs.
fn shard(dir: &Path, deadlock: &[Outcome], bounds: &[Outcome]) -> Record {
    let record = Record::create_or_open_shared(dir, &campaign().shard("Philosophers")).unwrap();
    let runs = [run("ReachabilityDeadlock"), run("UpperBounds")];
    record.plan_runs(&runs).unwrap();
    for (run, outcomes) in runs.iter().zip([deadlock, bounds]) {
        for (number, outcome) in outcomes.iter().enumerate() {
            make(&record, &run.id(), outcome.clone(), &format!("{dir:?} {number}"));
        }
    }
    record
}

fn whole(dir: &Path) -> Record {
    let record = Record::create_or_open_shared(dir, &campaign()).unwrap();
    record.plan_runs(&[run("ReachabilityDeadlock"), run("UpperBounds")]).unwrap();
    record
}

/// All data of a record that judging, reports and status use.
fn content(record: &Record) -> (Vec<Attempt>, Vec<Rerun>, Vec<String>, Vec<RunId>) {
    let runs = [run("ReachabilityDeadlock").id(), run("UpperBounds").id()];
    let attempts: Vec<Attempt> = runs.iter().flat_map(|run| record.attempts(run).unwrap()).collect();
    let text = |attempt: &Attempt| {
        std::fs::read_to_string(record.outputs_dir(&attempt.run, attempt.number).join("stdout")).unwrap()
    };
    let texts = attempts.iter().map(text).collect();
    let open = record.open_runs().map(|open| open.unwrap().run.id()).collect();
    (attempts, runs.iter().flat_map(|run| record.reruns(run).unwrap()).collect(), texts, open)
}

fn counting(record: &Record) -> RecordPart<'_> {
    RecordPart { record, superseded: None }
}

#[test]
fn shards_are_collected_repeatedly_while_they_grow() {
    let folder = tempfile::tempdir().unwrap();
    let grown = shard(&folder.path().join("grown"), &[infrastructure_failure(), FINISHED], &[FINISHED]);
    let runs = [run("ReachabilityDeadlock").id(), run("UpperBounds").id()];

    let at_once = whole(&folder.path().join("at-once"));
    assert_eq!(at_once.merge_parts(&[counting(&grown)]).unwrap(), MergeCounts { attempts: 3, runs: 2 });
    assert_eq!(at_once.merge_parts(&[counting(&grown)]).unwrap(), MergeCounts::default(), "nothing is new");

    // An early copy of the shard, collected before and after its last attempt.
    let before = folder.path().join("before");
    let early = shard(&before, &[infrastructure_failure()], &[]);
    let copied = early.attempts(&runs[0]).unwrap();
    let step = whole(&folder.path().join("step"));
    assert_eq!(step.merge_parts(&[counting(&early)]).unwrap(), MergeCounts { attempts: 1, runs: 0 });
    assert_eq!(step.attempts(&runs[0]).unwrap(), copied);
    let conflict = step.merge_parts(&[counting(&grown)]).unwrap_err();
    assert!(
        matches!(&conflict, StoreError::Conflict { run, .. } if *run == runs[0]),
        "other outputs: {conflict}"
    );

    make(&early, &runs[0], FINISHED, "second");
    assert_eq!(step.merge_parts(&[counting(&early)]).unwrap(), MergeCounts { attempts: 1, runs: 1 });
    assert_eq!(content(&step).3, [runs[1].clone()], "missing runs stay open");
    make(&early, &runs[1], FINISHED, "third");
    assert_eq!(step.merge_parts(&[counting(&early)]).unwrap(), MergeCounts { attempts: 1, runs: 1 });
    assert_eq!(content(&step), content(&early));
}

#[test]
fn a_model_repeated_after_a_lost_host_keeps_the_old_runs() {
    let folder = tempfile::tempdir().unwrap();
    let lost = shard(&folder.path().join("lost"), &[infrastructure_failure(), FINISHED], &[]);
    let record = whole(&folder.path().join("whole"));
    record.merge_parts(&[counting(&lost)]).unwrap();
    assert_eq!(record.summary().unwrap().recorded, 1);

    // The node is lost and the shard superseded: its attempts do not count.
    let superseded = RecordPart { record: &lost, superseded: Some("node lost") };
    record.merge_parts(&[superseded]).unwrap();
    assert_eq!(record.summary().unwrap().recorded, 0);

    let repeated = shard(&folder.path().join("repeated"), &[FINISHED], &[Outcome::CpuLimit]);
    let superseded = RecordPart { record: &lost, superseded: Some("node lost") };
    assert_eq!(
        record.merge_parts(&[superseded, counting(&repeated)]).unwrap(),
        MergeCounts { attempts: 2, runs: 2 }
    );
    let (attempts, reruns, _, open) = content(&record);
    let outcomes: Vec<_> = attempts.iter().map(|a| (a.number, a.outcome.word())).collect();
    assert_eq!(outcomes, [(1, "infrastructure"), (2, "finished"), (3, "finished"), (1, "cpu-limit")]);
    assert_eq!(reruns, [Rerun { after: 2, reason: "node lost".into() }]);
    assert_eq!(open, Vec::<RunId>::new());
    // An older copy of the lost shard alone changes nothing.
    assert_eq!(record.merge_parts(&[counting(&lost)]).unwrap(), MergeCounts::default());
    assert_eq!(record.summary().unwrap().recorded, 2);
}

#[test]
fn a_shard_of_another_campaign_is_not_collected() {
    let folder = tempfile::tempdir().unwrap();
    let other = CampaignFacts { edition: "{\"name\":\"mcc-2019\"}".into(), ..campaign() };
    let strange = Record::create_or_open_shared(&folder.path().join("strange"), &other).unwrap();
    let record = whole(&folder.path().join("whole"));
    let error = record.merge_parts(&[counting(&strange)]).unwrap_err();
    assert!(
        matches!(&error, StoreError::Changed { changes, .. } if changes == &["edition differs"]),
        "{error}"
    );
}
