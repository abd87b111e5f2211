//! The record of a campaign on a cluster: the records of its models are merged into it.

use crate::support::recorded_runs;

use mcc_harness::base::names::RunId;
use mcc_harness::campaign::{InstanceFacts, Run};
use mcc_harness::store::{
    Attempt, CampaignFacts, MergeCounts, Outcome, Record, RecordPart, Rerun, SealKey, StoreError,
};
use nix::unistd::geteuid;
use recorded_runs::*;
use std::fs::Permissions;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

const MODEL: &str = "Philosophers";

fn key() -> SealKey {
    SealKey("5a".repeat(32))
}

/// A shard of the model, sealed with its key, with these outcomes of the attempts at its two runs.
fn shard(dir: &Path, deadlock: &[Outcome], bounds: &[Outcome]) -> Record {
    let record = Record::create_or_open_shared(dir, &campaign().shard(MODEL)).unwrap().sealed_with(key());
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
    assert_eq!(
        at_once.merge_parts(MODEL, &key(), &[counting(&grown)]).unwrap(),
        MergeCounts { attempts: 3, runs: 2 }
    );
    assert_eq!(
        at_once.merge_parts(MODEL, &key(), &[counting(&grown)]).unwrap(),
        MergeCounts::default(),
        "nothing is new"
    );

    // An early copy of the shard, collected before and after its last attempt.
    let before = folder.path().join("before");
    let early = shard(&before, &[infrastructure_failure()], &[]);
    let copied = early.attempts(&runs[0]).unwrap();
    let step = whole(&folder.path().join("step"));
    assert_eq!(
        step.merge_parts(MODEL, &key(), &[counting(&early)]).unwrap(),
        MergeCounts { attempts: 1, runs: 0 }
    );
    assert_eq!(step.attempts(&runs[0]).unwrap(), copied);
    let conflict = step.merge_parts(MODEL, &key(), &[counting(&grown)]).unwrap_err();
    assert!(
        matches!(&conflict, StoreError::Conflict { run, .. } if *run == runs[0]),
        "other outputs: {conflict}"
    );

    make(&early, &runs[0], FINISHED, "second");
    assert_eq!(
        step.merge_parts(MODEL, &key(), &[counting(&early)]).unwrap(),
        MergeCounts { attempts: 1, runs: 1 }
    );
    assert_eq!(content(&step).3, [runs[1].clone()], "missing runs stay open");
    make(&early, &runs[1], FINISHED, "third");
    assert_eq!(
        step.merge_parts(MODEL, &key(), &[counting(&early)]).unwrap(),
        MergeCounts { attempts: 1, runs: 1 }
    );
    assert_eq!(content(&step), content(&early));
}

#[test]
fn a_model_repeated_after_a_lost_host_keeps_the_old_runs() {
    let folder = tempfile::tempdir().unwrap();
    let lost = shard(&folder.path().join("lost"), &[infrastructure_failure(), FINISHED], &[]);
    let record = whole(&folder.path().join("whole"));
    record.merge_parts(MODEL, &key(), &[counting(&lost)]).unwrap();
    assert_eq!(record.summary().unwrap().recorded, 1);

    // The node is lost and the shard superseded: its attempts do not count.
    let superseded = RecordPart { record: &lost, superseded: Some("node lost") };
    record.merge_parts(MODEL, &key(), &[superseded]).unwrap();
    assert_eq!(record.summary().unwrap().recorded, 0);

    let repeated = shard(&folder.path().join("repeated"), &[FINISHED], &[Outcome::CpuLimit]);
    let superseded = RecordPart { record: &lost, superseded: Some("node lost") };
    assert_eq!(
        record.merge_parts(MODEL, &key(), &[superseded, counting(&repeated)]).unwrap(),
        MergeCounts { attempts: 2, runs: 2 }
    );
    let (attempts, reruns, _, open) = content(&record);
    let outcomes: Vec<_> = attempts.iter().map(|a| (a.number, a.outcome.word())).collect();
    assert_eq!(outcomes, [(1, "infrastructure"), (2, "finished"), (3, "finished"), (1, "cpu-limit")]);
    assert_eq!(reruns, [Rerun { after: 2, reason: "node lost".into() }]);
    assert_eq!(open, Vec::<RunId>::new());
    // An older copy of the lost shard alone changes nothing.
    assert_eq!(record.merge_parts(MODEL, &key(), &[counting(&lost)]).unwrap(), MergeCounts::default());
    assert_eq!(record.summary().unwrap().recorded, 2);
}

#[test]
fn a_shard_of_another_campaign_is_not_collected() {
    let folder = tempfile::tempdir().unwrap();
    let other = CampaignFacts { edition: "{\"name\":\"mcc-2019\"}".into(), ..campaign() };
    let strange = Record::create_or_open_shared(&folder.path().join("strange"), &other).unwrap();
    let record = whole(&folder.path().join("whole"));
    let error = record.merge_parts(MODEL, &key(), &[counting(&strange)]).unwrap_err();
    assert!(
        matches!(&error, StoreError::Changed { changes, .. } if changes == &["the rules (edition or [limits]) differ"]),
        "{error}"
    );
}

/// Asserts that a shard is refused with an error, and that nothing of it was merged.
fn assert_refused(record: &Record, shard: &Record, is_expected: impl Fn(&StoreError) -> bool) {
    let before = content(record);
    let error = record.merge_parts(MODEL, &key(), &[counting(shard)]).unwrap_err();
    assert!(is_expected(&error) && error.is_usage(), "{error}");
    assert_eq!(content(record), before);
}

fn change(record: &Record, statements: &str) {
    let db = rusqlite::Connection::open(record.dir().join("record.db")).unwrap();
    db.execute_batch(statements).unwrap();
}

#[test]
fn a_shard_claims_runs_of_its_model_only() {
    let folder = tempfile::tempdir().unwrap();
    let other = Run {
        instance: "SwitchBoard-PT-0040".parse().unwrap(),
        model: "SwitchBoard".into(),
        ..run("UpperBounds")
    };
    let mut facts = campaign();
    let instance = facts.instances[0].clone();
    facts.instances.push(InstanceFacts {
        name: other.instance.clone(),
        family: "SwitchBoard".into(),
        ..instance
    });
    let record = Record::create_or_open_shared(&folder.path().join("whole"), &facts).unwrap();
    record.plan_runs(&[run("ReachabilityDeadlock"), run("UpperBounds"), other.clone()]).unwrap();
    // The job of one model has run the other too, with its own key.
    let forged = Record::create_or_open_shared(&folder.path().join("forged"), &facts.shard(MODEL)).unwrap();
    let forged = forged.sealed_with(key());
    forged.plan_runs(&[run("UpperBounds"), other.clone()]).unwrap();
    make(&forged, &other.id(), FINISHED, "in 1 ms");
    assert_refused(
        &record,
        &forged,
        |error| matches!(error, StoreError::OtherModel { run, model, .. } if *run == other.id() && model == MODEL),
    );
    let both = Record::create_or_open_shared(&folder.path().join("both"), &facts).unwrap().sealed_with(key());
    both.plan_runs(std::slice::from_ref(&other)).unwrap();
    assert_refused(
        &record,
        &both,
        |error| matches!(error, StoreError::Changed { changes, .. } if changes == &["instance SwitchBoard-PT-0040 is new"]),
    );
}

#[test]
fn an_attempt_that_no_job_of_the_model_recorded_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let record = whole(&folder.path().join("whole"));
    let unsealed = |name: &str, statements: &str| {
        let shard = shard(&folder.path().join(name), &[infrastructure_failure(), FINISHED], &[FINISHED]);
        change(&shard, statements);
        assert_refused(&record, &shard, |error| matches!(error, StoreError::NotSealed { .. }));
    };
    unsealed("faster", "UPDATE attempts SET facts = replace(facts, '2026-11-21', '2026-11-22')");
    unsealed("moved", "UPDATE facts SET value = 'x' WHERE key LIKE 'seal %'");
    unsealed("without", "DELETE FROM facts WHERE key LIKE 'seal %'");
    unsealed("superseded", "INSERT INTO reruns SELECT run, 1, 'again' FROM attempts WHERE number = 2");
    let stranger = folder.path().join("stranger");
    let stranger = Record::create_or_open_shared(&stranger, &campaign().shard(MODEL)).unwrap();
    let stranger = stranger.sealed_with(SealKey("b5".repeat(32)));
    stranger.plan_runs(&[run("UpperBounds")]).unwrap();
    make(&stranger, &run("UpperBounds").id(), FINISHED, "");
    assert_refused(
        &record,
        &stranger,
        |error| matches!(error, StoreError::NotSealed { run: id, number: 1, .. } if *id == run("UpperBounds").id()),
    );
}

#[test]
fn fewer_attempts_and_more_reruns_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let record = whole(&folder.path().join("whole"));
    let shard = shard(&folder.path().join("shard"), &[infrastructure_failure(), FINISHED], &[FINISHED]);
    record.merge_parts(MODEL, &key(), &[counting(&shard)]).unwrap();
    let before = content(&record);
    for statements in [
        "DELETE FROM attempts WHERE number = 2; UPDATE runs SET recorded = 0;
         INSERT INTO reruns SELECT run, 7, 'again' FROM attempts",
        "DELETE FROM attempts; UPDATE runs SET recorded = 0",
    ] {
        change(&shard, statements);
        assert_eq!(record.merge_parts(MODEL, &key(), &[counting(&shard)]).unwrap(), MergeCounts::default());
        assert_eq!(content(&record), before);
    }
}

#[test]
fn a_shard_does_not_supersede_a_recorded_run() {
    let folder = tempfile::tempdir().unwrap();
    let record = whole(&folder.path().join("whole"));
    let shard = shard(&folder.path().join("shard"), &[FINISHED], &[FINISHED]);
    record.merge_parts(MODEL, &key(), &[counting(&shard)]).unwrap();
    // With the key, as a job that was taken over.
    change(&shard, "UPDATE runs SET recorded = 0");
    make(&shard, &run("UpperBounds").id(), FINISHED, "a better answer");
    assert_refused(
        &record,
        &shard,
        |error| matches!(error, StoreError::Supersedes { run: id, .. } if *id == run("UpperBounds").id()),
    );
}

#[test]
fn a_shard_does_not_decide_whether_its_runs_are_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let record = whole(&folder.path().join("whole"));
    let shard = shard(&folder.path().join("shard"), &[infrastructure_failure()], &[FINISHED]);
    change(&shard, "UPDATE runs SET recorded = 1 - recorded");
    let merged = record.merge_parts(MODEL, &key(), &[counting(&shard)]).unwrap();
    assert_eq!(merged, MergeCounts { attempts: 2, runs: 1 });
    assert_eq!(content(&record).3, [run("ReachabilityDeadlock").id()], "it has retries left");
}

#[test]
fn a_run_that_a_job_repeats_is_collected_once() {
    let folder = tempfile::tempdir().unwrap();
    let record = whole(&folder.path().join("whole"));
    let shard = shard(&folder.path().join("shard"), &[], &[FINISHED]);
    let id = run("ReachabilityDeadlock").id();
    let dir = shard.begin_attempt(&id).unwrap();
    std::fs::write(dir.outputs().join("stdout"), "disturbed").unwrap();
    shard.commit_superseded(attempt(&id, 1, FINISHED), dir, "disturbed: by others").unwrap();
    // Collected before and after the repetition.
    let merged = record.merge_parts(MODEL, &key(), &[counting(&shard)]).unwrap();
    assert_eq!(merged, MergeCounts { attempts: 2, runs: 1 });
    make(&shard, &id, FINISHED, "quiet");
    let merged = record.merge_parts(MODEL, &key(), &[counting(&shard)]).unwrap();
    assert_eq!(merged, MergeCounts { attempts: 1, runs: 1 });
    assert_eq!(content(&record), content(&shard));
}

#[test]
fn a_changed_output_of_a_shard_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let record = whole(&folder.path().join("whole"));
    let shard = shard(&folder.path().join("shard"), &[FINISHED], &[]);
    let stdout = shard.outputs_dir(&run("ReachabilityDeadlock").id(), 1).join("stdout");
    let original = std::fs::read(&stdout).unwrap();
    std::fs::write(&stdout, "FORMULA X TRUE").unwrap();
    assert_refused(
        &record,
        &shard,
        |error| matches!(error, StoreError::ChangedOutput { path, .. } if *path == stdout),
    );
    std::fs::write(&stdout, original).unwrap();
    // A file that the record does not list is not collected.
    std::fs::write(stdout.with_file_name("more"), "x").unwrap();
    record.merge_parts(MODEL, &key(), &[counting(&shard)]).unwrap();
    let collected = record.outputs_dir(&run("ReachabilityDeadlock").id(), 1);
    assert_eq!(std::fs::read_dir(collected).unwrap().count(), 1);
}

/// Another user owns the file of an output, or can write to it.
#[test]
fn a_collected_output_does_not_change_with_the_file_of_another_user() {
    let can_chown = geteuid().is_root();
    for by_owner in [false, true] {
        if by_owner && !can_chown {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let record = whole(&folder.path().join("whole"));
        let shard = shard(&folder.path().join("shard"), &[FINISHED], &[]);
        let id = run("ReachabilityDeadlock").id();
        let theirs = shard.outputs_dir(&id, 1).join("stdout");
        if by_owner {
            std::os::unix::fs::chown(&theirs, Some(65534), Some(65534)).unwrap();
        } else {
            std::fs::set_permissions(&theirs, Permissions::from_mode(0o666)).unwrap();
        }
        let recorded = std::fs::read(&theirs).unwrap();
        record.merge_parts(MODEL, &key(), &[counting(&shard)]).unwrap();
        let copied = record.outputs_dir(&id, 1).join("stdout");
        std::fs::write(&theirs, "FORMULA X TRUE").unwrap();
        assert_eq!(std::fs::read(&copied).unwrap(), recorded, "by owner: {by_owner}");
        let facts = std::fs::metadata(copied).unwrap();
        assert_eq!((facts.uid(), facts.mode() & 0o022, facts.nlink()), (geteuid().as_raw(), 0, 1));
    }
}

#[test]
fn an_output_that_grew_without_end_is_refused_and_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let record = whole(&folder.path().join("whole"));
    let shard = shard(&folder.path().join("shard"), &[FINISHED], &[]);
    let stdout = shard.outputs_dir(&run("ReachabilityDeadlock").id(), 1).join("stdout");
    // It could not be read in years.
    std::fs::File::options().write(true).open(&stdout).unwrap().set_len(1 << 42).unwrap();
    assert_refused(
        &record,
        &shard,
        |error| matches!(error, StoreError::ChangedOutput { path, .. } if *path == stdout),
    );
}

/// Another process writes to the record of the job all the time: the genuine bytes, and those of a forged attempt.
#[test]
fn a_record_that_changes_while_it_is_merged_gives_only_what_was_sealed() {
    let folder = tempfile::tempdir().unwrap();
    let genuine = shard(&folder.path().join("shard"), &[FINISHED], &[]);
    let id = run("ReachabilityDeadlock").id();
    let sealed = genuine.attempts(&id).unwrap();
    let path = genuine.dir().join("record.db");
    drop(genuine);
    let good = std::fs::read(&path).unwrap();
    let db = rusqlite::Connection::open(&path).unwrap();
    let forged = "UPDATE attempts SET facts = replace(facts, 'some cpu', 'none cpu')";
    assert_eq!(db.execute(forged, []).unwrap(), 1);
    drop(db);
    let bad = std::fs::read(&path).unwrap();
    assert_eq!(good.len(), bad.len());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            while !stop.load(Ordering::Relaxed) {
                for bytes in [&bad, &good] {
                    file.write_all_at(bytes, 0).unwrap();
                }
            }
        });
        let wrong = (0..50).filter(|number| {
            let record = whole(&folder.path().join(format!("whole-{number}")));
            let merged = Record::open_readonly(&folder.path().join("shard"))
                .and_then(|part| record.merge_parts(MODEL, &key(), &[counting(&part)]));
            let attempts = record.attempts(&id).unwrap();
            attempts != sealed && !(attempts.is_empty() && merged.is_err())
        });
        let wrong = wrong.count();
        stop.store(true, Ordering::Relaxed);
        assert_eq!(wrong, 0);
    });
}
