//! The record of a campaign: no run is lost or counted twice if the controller is killed.

use crate::support::recorded_runs;

use mcc_harness::base::names::RunId;
use mcc_harness::base::{HostLoad, HostState};
use mcc_harness::campaign::{History, Run};
use mcc_harness::store::{
    Arrivals, Attempt, CampaignFacts, Disk, Environment, Instructions, Outcome, Record, RecordSummary, Rerun,
    RunFacts, RunState, Sample, StoreError,
};
use proptest::prelude::*;
use recorded_runs::*;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

#[test]
fn a_recorded_run_keeps_its_attempt_and_its_output() {
    let results = tempfile::tempdir().unwrap();
    let run = run("StateSpace");
    {
        let record = open(results.path());
        record.plan_runs(std::slice::from_ref(&run)).unwrap();
        assert_eq!(make(&record, &run.id(), FINISHED, "STATE_SPACE STATES 5\n"), RunState::Recorded);
    }
    let record = Record::open_readonly(results.path()).unwrap();
    let records: Vec<_> = record.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), 1);
    assert_eq!(records[0].run, run);
    let stdout = record.outputs_dir(&run.id(), 1).join("stdout");
    assert_eq!(std::fs::read_to_string(stdout).unwrap(), "STATE_SPACE STATES 5\n");
    assert_eq!(
        records[0].last.outputs,
        [Disk {
            role: "stdout".into(),
            sha256: "eebdd95ab84d55625d17698291f849225465949206566b8ce01ea5d3cee475a7".into(),
            bytes: 21
        }]
    );
    assert_eq!(record.facts(), &campaign(), "the facts needed for judging");
    assert_eq!(std::fs::read_dir(results.path().join("running")).unwrap().count(), 0);
}

#[test]
fn a_record_of_someone_else_leads_to_no_other_folder() {
    let run = run("StateSpace");
    let elsewhere = tempfile::tempdir().unwrap();
    let precious = elsewhere.path().join("precious");
    std::fs::create_dir(&precious).unwrap();
    let record_of = || {
        let results = tempfile::tempdir().unwrap();
        open(results.path()).plan_runs(std::slice::from_ref(&run)).unwrap();
        results
    };
    let link = |place: std::path::PathBuf| std::os::unix::fs::symlink(elsewhere.path(), place).unwrap();

    let results = record_of();
    std::fs::remove_dir(results.path().join("running")).unwrap();
    link(results.path().join("running"));
    let error = Record::create_or_open(results.path(), &campaign()).err().unwrap().to_string();
    assert!(error.contains("running is not a folder"), "{error}");

    let results = record_of();
    link(results.path().join("outputs"));
    let record = open(results.path());
    // What an interrupted attempt left is removed.
    let foreign = record.outputs_dir(&run.id(), 1);
    std::fs::create_dir_all(&foreign).unwrap();
    let dir = record.begin_attempt(&run.id()).unwrap();
    std::fs::write(dir.outputs().join("stdout"), "").unwrap();
    let error = record.commit(attempt(&run.id(), 1, FINISHED), dir).unwrap_err().to_string();
    assert!(error.contains("outputs is not a folder"), "{error}");
    assert!(foreign.exists(), "a folder of another record was removed");

    // A journal that names a journal of several databases, which SQLite removes: https://www.sqlite.org/fileformat.html
    let results = record_of();
    let victim = elsewhere.path().join("victim");
    std::fs::write(&victim, "x").unwrap();
    const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    let name = victim.to_str().unwrap().as_bytes();
    let numbers =
        |numbers: &[u32]| numbers.iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<u8>>();
    let mut journal = [&MAGIC[..], &numbers(&[0, 0, 1, 512, 4096])].concat();
    journal.resize(512, 0);
    journal.extend(numbers(&[0x4000_0000 / 4096 + 1]));
    journal.extend(name);
    journal.extend(numbers(&[name.len() as u32, name.iter().map(|byte| u32::from(*byte)).sum()]));
    journal.extend(MAGIC);
    std::fs::write(results.path().join("record.db-journal"), journal).unwrap();
    let error = Record::create_or_open(results.path(), &campaign()).err().unwrap().to_string();
    assert!(error.contains("names another file"), "{error}");
    assert!(victim.exists() && precious.exists());
}

#[test]
fn nothing_is_written_to_a_record_whose_lock_or_database_was_replaced() {
    let run = run("StateSpace");
    for file in ["lock", "record.db"] {
        let results = tempfile::tempdir().unwrap();
        let record = open(results.path());
        record.plan_runs(std::slice::from_ref(&run)).unwrap();
        let (place, beside) = (results.path().join(file), results.path().join("beside"));
        std::fs::rename(&place, &beside).unwrap();
        let is_refused = || match record.begin_attempt(&run.id()) {
            Err(StoreError::Replaced { path }) => path == place,
            _ => false,
        };
        assert!(is_refused(), "{file} was removed");
        std::fs::copy(&beside, &place).unwrap();
        assert!(is_refused(), "{file} was replaced by a copy");
        std::fs::rename(&beside, &place).unwrap();
        assert_eq!(make(&record, &run.id(), FINISHED, ""), RunState::Recorded);
    }
}

#[test]
fn infrastructure_is_retried_until_the_budget_is_used_up() {
    let results = tempfile::tempdir().unwrap();
    let record = open(results.path());
    let run = run("StateSpace");
    record.plan_runs(std::slice::from_ref(&run)).unwrap();
    assert_eq!(make(&record, &run.id(), infrastructure_failure(), ""), RunState::Open { attempts_left: 2 });
    assert_eq!(record.open_runs().next().unwrap().unwrap().attempts, 1);
    assert_eq!(make(&record, &run.id(), infrastructure_failure(), ""), RunState::Open { attempts_left: 1 });
    assert_eq!(record.records().count(), 0);
    assert_eq!(make(&record, &run.id(), infrastructure_failure(), ""), RunState::Recorded);
    assert_eq!(record.attempts(&run.id()).unwrap().len(), 3);
    let summary = record.summary().unwrap();
    assert_eq!((summary.planned, summary.recorded, summary.retried), (1, 1, 2));
    assert_eq!(summary.outcomes, BTreeMap::from([("infrastructure".into(), 1)]));
    assert!(matches!(record.begin_attempt(&run.id()), Err(StoreError::AlreadyRecorded { .. })));
}

#[test]
fn outputs_of_a_killed_controller_are_replaced() {
    let results = tempfile::tempdir().unwrap();
    let run = run("StateSpace").id();
    {
        let record = open(results.path());
        record.plan_runs(&[self::run("StateSpace")]).unwrap();
        let dir = record.begin_attempt(&run).unwrap();
        std::fs::write(dir.outputs().join("stdout"), "half").unwrap();
        std::fs::write(dir.outputs().join("stderr"), "half").unwrap();
        std::fs::write(dir.path().join("overlay.qcow2"), "overlay").unwrap();
        kill_before_transaction(&record, dir);
    }
    let leftovers = || std::fs::read_dir(results.path().join("running")).unwrap().count();
    assert_eq!(leftovers(), 1, "the killed controller left the folder of its attempt");
    let record = Record::create_or_open(results.path(), &campaign()).unwrap();
    assert_eq!(leftovers(), 0, "it is removed with its overlay");
    assert_eq!(open_ids(&record), std::slice::from_ref(&run));
    assert_eq!(make(&record, &run, FINISHED, "whole"), RunState::Recorded);
    let kept = record.outputs_dir(&run, 1);
    assert_eq!(std::fs::read_to_string(kept.join("stdout")).unwrap(), "whole");
    assert!(!kept.join("stderr").exists(), "the outputs of the killed attempt are removed");
}

#[test]
fn a_dropped_attempt_leaves_no_files_and_no_number() {
    let results = tempfile::tempdir().unwrap();
    let record = open(results.path());
    record.plan_runs(&[run("StateSpace")]).unwrap();
    let run = run("StateSpace").id();
    let dir = record.begin_attempt(&run).unwrap();
    let path = dir.path().to_owned();
    assert!(matches!(record.begin_attempt(&run), Err(StoreError::RunningAttempt { .. })));
    drop(dir);
    assert!(!path.exists());
    assert_eq!(record.begin_attempt(&run).unwrap().number(), 1);
}

#[test]
fn open_runs_have_the_order_of_the_plan_and_records_are_sorted() {
    let results = tempfile::tempdir().unwrap();
    let record = open(results.path());
    let plan: Vec<_> = (0..1234).rev().map(|n| run(&format!("X{n:04}"))).collect();
    record.plan_runs(&plan).unwrap();
    record.plan_runs(&plan).unwrap();
    let ids: Vec<_> = plan.iter().map(Run::id).collect();
    assert_eq!(open_ids(&record), ids);
    for id in ids.iter().take(3) {
        make(&record, id, FINISHED, "");
    }
    assert_eq!(open_ids(&record), ids[3..]);
    let mut sorted = ids[..3].to_vec();
    sorted.sort();
    assert_eq!(record.records().map(|r| r.unwrap().run.id()).collect::<Vec<_>>(), sorted);
}

#[test]
fn a_second_controller_is_refused_with_the_holders_name() {
    let results = tempfile::tempdir().unwrap();
    let first = open(results.path());
    let error = Record::create_or_open(results.path(), &campaign()).err().unwrap();
    let message = error.to_string();
    assert!(message.contains(&format!("pid {}", std::process::id())), "{message}");
    assert!(error.is_usage());
    drop(first);
    open(results.path());
}

#[test]
fn a_changed_campaign_is_not_resumed_and_changes_are_listed() {
    let results = tempfile::tempdir().unwrap();
    drop(open(results.path()));
    let mut changed = campaign();
    changed.settings.insert("limits".into(), "cpu_s = 10".into());
    changed.disks[0].sha256 = "33".repeat(32);
    changed.instances[0].sha256 = "44".repeat(32);
    changed.edition = "{\"name\":\"mcc-2019\"}".into();
    let error = Record::create_or_open(results.path(), &changed).err().unwrap();
    let message = error.to_string();
    for what in [
        "limits is new",
        "the rules (edition or [limits]) differ",
        "the inputs disk differs",
        "PT-000005 differs",
    ] {
        assert!(message.contains(what), "{message}");
    }
    assert!(message.contains("a new folder to --out"), "{message}");
}

#[test]
fn more_retries_may_be_given_on_resuming() {
    let results = tempfile::tempdir().unwrap();
    drop(open(results.path()));
    let more = CampaignFacts { retries: 5, ..campaign() };
    let record = Record::create_or_open(results.path(), &more).unwrap();
    record.plan_runs(&[run("StateSpace")]).unwrap();
    let state = make(&record, &run("StateSpace").id(), infrastructure_failure(), "");
    assert_eq!(state, RunState::Open { attempts_left: 5 });
}

#[test]
fn readers_read_while_a_controller_writes_and_write_nothing() {
    let results = tempfile::tempdir().unwrap();
    let writer = open(results.path());
    writer.plan_runs(&[run("StateSpace"), run("UpperBounds")]).unwrap();
    let reader = Record::open_readonly(results.path()).unwrap();
    assert_eq!(reader.summary().unwrap().recorded, 0);
    make(&writer, &run("StateSpace").id(), FINISHED, "");
    assert_eq!(reader.summary().unwrap().recorded, 1);
    let refused = reader.begin_attempt(&run("UpperBounds").id());
    assert!(matches!(refused, Err(StoreError::ReadOnly { .. })));
    assert!(matches!(reader.plan_runs(&[run("StateSpace")]), Err(StoreError::ReadOnly { .. })));
}

#[test]
fn a_folder_that_is_no_record_is_refused_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let message = Record::open_readonly(folder.path()).err().unwrap().to_string();
    assert!(message.contains("holds no record"), "{message}");

    std::fs::write(folder.path().join("thesis.tex"), "x").unwrap();
    let message = Record::create_or_open(folder.path(), &campaign()).err().unwrap().to_string();
    assert!(message.contains("not empty"), "{message}");

    let db = folder.path().join("record.db");
    std::fs::write(&db, "not a database, but long enough to look like a file of something else\n").unwrap();
    let message = Record::open_readonly(folder.path()).err().unwrap().to_string();
    assert!(message.contains("is not a record"), "{message}");

    std::fs::remove_file(&db).unwrap();
    rusqlite::Connection::open(&db).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    let message = Record::open_readonly(folder.path()).err().unwrap().to_string();
    assert!(message.contains("is not a record"), "{message}");
}

#[test]
fn a_folder_that_others_can_write_to_gets_no_record() {
    let scratch = tempfile::tempdir().unwrap();
    let results = scratch.path().join("results");
    std::fs::create_dir(&results).unwrap();
    std::fs::set_permissions(&results, std::fs::Permissions::from_mode(0o777)).unwrap();
    let refused = Record::create_or_open(&results, &campaign()).err().unwrap().to_string();
    assert!(refused.contains("other users can write to it") && refused.contains("chmod go-w"), "{refused}");
    assert_eq!(std::fs::read_dir(&results).unwrap().count(), 0);
}

#[test]
fn a_record_of_a_newer_format_is_refused_by_name() {
    let results = tempfile::tempdir().unwrap();
    drop(open(results.path()));
    let db = rusqlite::Connection::open(results.path().join("record.db")).unwrap();
    db.pragma_update(None, "user_version", 6).unwrap();
    drop(db);
    for error in [
        Record::open_readonly(results.path()).err().unwrap(),
        Record::create_or_open(results.path(), &campaign()).err().unwrap(),
    ] {
        assert!(error.to_string().contains("format 6"), "{error}");
        assert!(error.to_string().contains("newer mcc-harness"), "{error}");
    }
}

#[test]
fn a_record_with_other_tables_is_refused_by_readers_and_writers() {
    for (change, item) in [
        ("ALTER TABLE attempts RENAME TO kept; CREATE VIEW attempts AS SELECT * FROM kept", "attempts"),
        ("CREATE TABLE more (x)", "more"),
        ("DROP INDEX troubles", "troubles"),
        ("CREATE TRIGGER late AFTER INSERT ON runs BEGIN DELETE FROM attempts; END", "late"),
        ("DROP INDEX open_runs; CREATE INDEX open_runs ON runs (position) WHERE recorded = 1", "open_runs"),
    ] {
        let results = tempfile::tempdir().unwrap();
        drop(open(results.path()));
        let db = rusqlite::Connection::open(results.path().join("record.db")).unwrap();
        db.execute_batch(change).unwrap();
        drop(db);
        for error in [
            Record::open_readonly(results.path()).err().unwrap(),
            RecordSummary::at(results.path()).err().unwrap(),
            Record::create_or_open(results.path(), &campaign()).err().unwrap(),
        ] {
            assert!(matches!(&error, StoreError::Schema { item: found, .. } if found == item), "{error}");
            assert!(error.is_usage());
        }
    }
}

#[test]
fn no_record_is_written_into_an_unpacked_archive() {
    let results = tempfile::tempdir().unwrap();
    drop(open(results.path()));
    std::fs::write(results.path().join("archive.json"), "{}").unwrap();
    assert!(Record::open_readonly(results.path()).is_ok());
    let error = Record::create_or_open(results.path(), &campaign()).err().unwrap();
    assert!(error.to_string().contains("is an unpacked archive, which is not changed"), "{error}");
}

/// The facts of an attempt with two samples.
fn measured() -> RunFacts {
    let sample = |at_ms| Sample { at_ms, cpu_ms: at_ms - 3, memory_kib: 7, ..Sample::default() };
    RunFacts {
        boot_ms: 1,
        wall_ms: 2500,
        cpu_ms: 2400,
        vcpus: 1,
        memory_kib: Some(7),
        host_memory_kib: None,
        stdout_bytes: 0,
        stderr_bytes: 0,
        samples: vec![sample(1000), sample(2000)],
        ..RunFacts::default()
    }
}

#[test]
fn samples_are_a_file_beside_the_outputs_with_a_digest() {
    let results = tempfile::tempdir().unwrap();
    let record = open(results.path());
    record.plan_runs(&[run("StateSpace")]).unwrap();
    let id = run("StateSpace").id();
    let dir = record.begin_attempt(&id).unwrap();
    record.commit(Attempt { facts: Some(measured()), ..attempt(&id, 1, FINISHED) }, dir).unwrap();
    let last = record.records().next().unwrap().unwrap().last;
    assert_eq!(last.facts.as_ref().unwrap().samples, []);
    assert_eq!(record.samples(&last).unwrap(), measured().samples);
    let [kept] = &last.outputs[..] else { panic!("{:?}", last.outputs) };
    let path = record.outputs_dir(&id, 1).join("samples.csv.gz");
    assert_eq!(*kept, Disk::of_file("samples.csv.gz", &path).unwrap());
}

#[test]
fn times_of_arrival_are_kept_and_unknown_in_older_records() {
    let results = tempfile::tempdir().unwrap();
    let id = run("StateSpace").id();
    let record = open(results.path());
    record.plan_runs(&[run("StateSpace")]).unwrap();
    let arrivals = Arrivals { lines: vec![(3, 70), (9, 2_000)], dropped: 1 };
    let facts = Some(RunFacts { arrivals: Some(arrivals.clone()), ..measured() });
    let dir = record.begin_attempt(&id).unwrap();
    record.commit(Attempt { facts, ..attempt(&id, 1, FINISHED) }, dir).unwrap();
    let read = || record.attempts(&id).map(|mut attempts| attempts.pop().unwrap().facts.unwrap().arrivals);
    let kept = read().unwrap().unwrap();
    assert_eq!(kept, arrivals);
    assert_eq!([3, 4, 9].map(|line| kept.of_line(line)), [Some(70), None, Some(2_000)]);
    let db = rusqlite::Connection::open(results.path().join("record.db")).unwrap();
    let change = |how: &str| db.execute(&format!("UPDATE attempts SET facts = {how}"), []).unwrap();
    change("json_set(facts, '$.facts.arrivals.lines[1][1]', 31622400001)");
    let error = read().unwrap_err().to_string();
    assert!(error.contains("arrivals: 31622400001 is more than"), "{error}");
    change("json_remove(facts, '$.facts.arrivals')");
    assert_eq!(read().unwrap(), None);
}

#[test]
fn an_attempt_with_an_invalid_run_id_is_refused() {
    let results = tempfile::tempdir().unwrap();
    let id = run("StateSpace").id();
    let record = open(results.path());
    record.plan_runs(&[run("StateSpace")]).unwrap();
    make(&record, &id, FINISHED, "");
    let db = rusqlite::Connection::open(results.path().join("record.db")).unwrap();
    db.execute("UPDATE attempts SET facts = json_set(facts, '$.run', 'LoLA/../..')", []).unwrap();
    let error = record.attempts(&id).unwrap_err().to_string();
    assert!(error.contains("LoLA/../..") && error.contains("must begin with a letter"), "{error}");
}

/// Writes the attempts as programs of formats 1 to 3 did: the key of the environment was `room`.
fn write_old_key(db: &rusqlite::Connection) {
    let changed = db.execute(
        "UPDATE attempts SET facts =
             json_set(json_remove(facts, '$.environment'), '$.room', json_extract(facts, '$.environment'))",
        [],
    );
    assert_ne!(changed.unwrap(), 0);
}

#[test]
fn a_record_of_format_3_is_read_and_resumed() {
    let results = tempfile::tempdir().unwrap();
    let ids = [run("StateSpace").id(), run("UpperBounds").id()];
    let environment = Environment { cpus: vec![1], guest_kernel: "6.1".into(), ..Environment::default() };
    {
        let record = open(results.path());
        record.plan_runs(&[run("StateSpace"), run("UpperBounds")]).unwrap();
        let dir = record.begin_attempt(&ids[0]).unwrap();
        let attempt = Attempt { environment: environment.clone(), ..attempt(&ids[0], 1, FINISHED) };
        record.commit(attempt, dir).unwrap();
    }
    let db = rusqlite::Connection::open(results.path().join("record.db")).unwrap();
    write_old_key(&db);
    db.pragma_update(None, "user_version", 3).unwrap();
    let format = || db.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0)).unwrap();
    let read = Record::open_readonly(results.path()).unwrap();
    assert_eq!(read.attempts(&ids[0]).unwrap()[0].environment, environment);
    assert_eq!(read.summary().unwrap().recorded, 1);
    assert_eq!(format(), 3, "a reader changes nothing");
    drop(read);
    let record = open(results.path());
    assert_eq!(format(), 5, "an older program refuses it from now on");
    assert_eq!(record.attempts(&ids[0]).unwrap()[0].environment, environment);
    assert_eq!(make(&record, &ids[1], FINISHED, ""), RunState::Recorded);
}

#[test]
fn a_record_of_format_4_is_read_and_takes_a_disk_limit() {
    let results = tempfile::tempdir().unwrap();
    let ids = [run("StateSpace").id(), run("UpperBounds").id()];
    {
        let record = open(results.path());
        record.plan_runs(&[run("StateSpace"), run("UpperBounds")]).unwrap();
        make(&record, &ids[0], FINISHED, "");
    }
    let db = rusqlite::Connection::open(results.path().join("record.db")).unwrap();
    db.pragma_update(None, "user_version", 4).unwrap();
    assert_eq!(Record::open_readonly(results.path()).unwrap().summary().unwrap().recorded, 1);
    let record = open(results.path());
    assert_eq!(make(&record, &ids[1], Outcome::DiskLimit, "answer"), RunState::Recorded);
    let read = Record::open_readonly(results.path()).unwrap();
    assert_eq!(read.attempts(&ids[1]).unwrap()[0].outcome, Outcome::DiskLimit);
    assert_eq!(read.summary().unwrap().outcomes["disk-limit"], 1);
    let format: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(format, 5, "an older program does not know the outcome and refuses the record");
}

#[test]
fn the_state_of_a_host_is_kept_and_its_figures_checked() {
    let results = tempfile::tempdir().unwrap();
    let id = run("StateSpace").id();
    let load = HostLoad { wall_ms: 9000, starved_ms: Some(10), ..HostLoad::default() };
    let settings = [("governor".to_owned(), "performance".to_owned())].into();
    let host_state = Some(HostState { settings, load: Some(load), ..HostState::default() });
    let environment = Environment { host_state, ..Environment::default() };
    {
        let record = open(results.path());
        record.plan_runs(&[run("StateSpace")]).unwrap();
        let dir = record.begin_attempt(&id).unwrap();
        record
            .commit(Attempt { environment: environment.clone(), ..attempt(&id, 1, FINISHED) }, dir)
            .unwrap();
        assert_eq!(record.attempts(&id).unwrap()[0].environment, environment);
    }
    let db = rusqlite::Connection::open(results.path().join("record.db")).unwrap();
    let figure = "json_set(facts, '$.environment.host_state.load.wall_ms', 9000000000000)";
    db.execute(&format!("UPDATE attempts SET facts = {figure}"), []).unwrap();
    let record = Record::open_readonly(results.path()).unwrap();
    let error = record.attempts(&id).unwrap_err().to_string();
    assert!(error.contains("host_state: wall_ms: 9000000000000 is more than"), "{error}");
}

/// Turns a record into one of format 1.
fn make_format_1(results: &Path) {
    let db = rusqlite::Connection::open(results.join("record.db")).unwrap();
    let samples =
        r#"json_set(facts, '$.facts.samples', json('[{"at_ms":1000,"cpu_ms":997,"memory_kib":7}]'))"#;
    db.execute(&format!("UPDATE attempts SET facts = {samples}"), []).unwrap();
    write_old_key(&db);
    db.execute_batch(
        "DROP TABLE reruns; DROP INDEX ends; DROP INDEX troubles; DROP INDEX runs_of_model;
         ALTER TABLE attempts DROP COLUMN ms; ALTER TABLE runs DROP COLUMN model; PRAGMA user_version = 1",
    )
    .unwrap();
}

#[test]
fn a_record_of_format_1_is_read_and_resumed() {
    let results = tempfile::tempdir().unwrap();
    let id = run("StateSpace").id();
    {
        let record = open(results.path());
        record.plan_runs(&[run("StateSpace"), run("UpperBounds")]).unwrap();
        let dir = record.begin_attempt(&id).unwrap();
        let facts = RunFacts { samples: vec![], ..measured() };
        record.commit(Attempt { facts: Some(facts), ..attempt(&id, 1, FINISHED) }, dir).unwrap();
    }
    make_format_1(results.path());
    let read = Record::open_readonly(results.path()).unwrap();
    let last = read.records().next().unwrap().unwrap().last;
    assert_eq!(read.samples(&last).unwrap(), measured().samples[..1]);
    assert_eq!(read.reruns(&id).unwrap(), []);
    let record_summary = || {
        let (record_summary, mut history) = (RecordSummary::at(results.path()).unwrap(), History::default());
        record_summary.add_run_times_to(&mut history);
        (record_summary.summary(), record_summary.model("Philosophers"), record_summary.remaining(&history))
    };
    let before = record_summary();
    assert_eq!((before.0.recorded, before.2.runs, before.2.machine_ms), (1, 1, 1 + 2500));
    let record = open(results.path());
    assert_eq!(record_summary(), before, "the summary of the upgraded record");
    assert_eq!(make(&record, &run("UpperBounds").id(), FINISHED, ""), RunState::Recorded);
    assert_eq!(record.rerun(|run| run.id() == id, "the wrong disk").unwrap(), std::slice::from_ref(&id));
    let last = record.attempts(&id).unwrap().pop().unwrap();
    assert_eq!(record.samples(&last).unwrap(), measured().samples[..1]);
}

#[test]
fn status_lists_open_running_recorded_and_failed_runs() {
    let results = tempfile::tempdir().unwrap();
    let record = open(results.path());
    let runs = ["StateSpace", "UpperBounds", "ReachabilityDeadlock", "LTLCardinality"].map(run);
    record.plan_runs(&runs).unwrap();
    make(&record, &runs[0].id(), infrastructure_failure(), "");
    let dir = record.begin_attempt(&runs[0].id()).unwrap();
    let facts = Some(RunFacts { samples: vec![], ..measured() });
    record.commit(Attempt { facts, ..attempt(&runs[0].id(), 2, Outcome::CpuLimit) }, dir).unwrap();
    for _ in 0..3 {
        make(&record, &runs[1].id(), infrastructure_failure(), "");
    }
    let running_folders = record.begin_attempt(&runs[2].id()).unwrap();
    let status = |args: &[&str]| {
        let mut command = assert_cmd::Command::cargo_bin("mcc-harness").unwrap();
        let done = command.arg("status").arg(results.path()).args(args).assert().success();
        String::from_utf8(done.get_output().stdout.clone()).unwrap()
    };
    let said = status(&[]);
    for line in [
        "2 of 4 runs are recorded (50 %)",
        "stopped at the CPU-time limit  1",
        "infrastructure failure         1",
        "repeated attempts              3",
        "2 runs left, about ",
        &format!("controller: pid {} on ", std::process::id()),
        "running (1):\n  LoLA/Philosophers-PT-000005/ReachabilityDeadlock  ",
        "last attempts:\n  LoLA/Philosophers-PT-000005/UpperBounds  infrastructure failure while booting: boot deadline\n",
        "last infrastructure failures:\n  LoLA/Philosophers-PT-000005/UpperBounds",
    ] {
        assert!(said.contains(line), "{line} in\n{said}");
    }
    let json: serde_json::Value = serde_json::from_str(&status(&["--format", "json"])).unwrap();
    assert_eq!((&json["planned"], &json["recorded"], &json["retried"]), (&4.into(), &2.into(), &3.into()));
    assert_eq!(json["entries"]["LoLA"]["outcomes"]["cpu-limit"], 1);
    assert_eq!(json["running"][0]["run"], runs[2].id().as_str());
    let failed = json["failures"].as_array().unwrap();
    assert_eq!((failed.len(), &failed[3]["run"]), (4, &runs[0].id().as_str().into()));
    // A killed controller: its attempt is left and does not run.
    std::mem::forget(running_folders);
    drop(record);
    let said = status(&["--history", results.path().to_str().unwrap()]);
    assert!(said.contains("no controller on this host"), "{said}");
    assert!(said.contains("2 runs left, about 6 s on one machine\n"), "{said}");
    assert!(said.contains("started, without a controller on this host (1):\n"), "{said}");
    assert!(!said.contains("running ("), "{said}");
}

#[test]
fn status_watches_a_campaign_until_all_runs_are_recorded() {
    use std::io::{BufRead, BufReader, Read};
    let results = tempfile::tempdir().unwrap();
    let record = open(results.path());
    record.plan_runs(std::slice::from_ref(&run("StateSpace"))).unwrap();
    let mut status = std::process::Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
    status.arg("status").arg(results.path()).arg("--watch=1").stdout(std::process::Stdio::piped());
    let mut status = status.spawn().unwrap();
    let mut shown = BufReader::new(status.stdout.take().unwrap());
    let mut first = String::new();
    shown.read_line(&mut first).unwrap();
    assert_eq!(first, "0 of 1 runs are recorded (0 %)\n");
    make(&record, &run("StateSpace").id(), FINISHED, "");
    let mut rest = String::new();
    shown.read_to_string(&mut rest).unwrap();
    assert!(status.wait().unwrap().success());
    assert!(rest.contains("\n1 of 1 runs are recorded (100 %)\n"), "{rest}");
    assert_eq!(rest.matches("runs are recorded").count(), 1, "a report is printed once: {rest}");
    assert!(!rest.contains('\x1b'), "no codes of a terminal in a pipe: {rest:?}");
}

#[test]
fn a_repeated_run_keeps_the_old_attempts_and_has_a_new_budget() {
    let results = tempfile::tempdir().unwrap();
    let record = open(results.path());
    record.plan_runs(&[run("StateSpace"), run("UpperBounds")]).unwrap();
    let ids = [run("StateSpace").id(), run("UpperBounds").id()];
    make(&record, &ids[0], infrastructure_failure(), "");
    make(&record, &ids[0], FINISHED, "old");
    make(&record, &ids[1], FINISHED, "other");
    let reopened = record.rerun(|run| run.examination == "StateSpace", "swapped disks").unwrap();
    assert_eq!(reopened, ids[..1]);
    assert_eq!(open_ids(&record), ids[..1], "the run is open until it is repeated");
    assert_eq!(record.rerun(|_| true, "again").unwrap(), ids[1..], "open runs do not change");
    for attempts_left in [2, 1] {
        assert_eq!(make(&record, &ids[0], infrastructure_failure(), ""), RunState::Open { attempts_left });
    }
    assert_eq!(make(&record, &ids[0], FINISHED, "new"), RunState::Recorded);
    let attempts = record.attempts(&ids[0]).unwrap();
    assert_eq!(attempts.len(), 5);
    let stdout =
        |number| std::fs::read_to_string(record.outputs_dir(&ids[0], number).join("stdout")).unwrap();
    assert_eq!((stdout(2), stdout(5)), ("old".into(), "new".into()));
    let judged = record.records().next().unwrap().unwrap();
    assert_eq!((judged.run.id(), judged.last.number), (ids[0].clone(), 5));
    assert_eq!(record.reruns(&ids[0]).unwrap(), [Rerun { after: 2, reason: "swapped disks".into() }]);
}

#[test]
fn workers_commit_in_parallel_and_every_run_is_recorded_once() {
    let results = tempfile::tempdir().unwrap();
    let record = open(results.path());
    let plan: Vec<_> = (0..40).map(|n| run(&format!("X{n}"))).collect();
    record.plan_runs(&plan).unwrap();
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let (record, plan) = (&record, &plan);
            scope.spawn(move || {
                for run in plan.iter().skip(worker).step_by(4) {
                    make(record, &run.id(), FINISHED, &run.id());
                }
            });
        }
    });
    assert_eq!(record.records().count(), 40);
    assert_eq!(record.open_runs().count(), 0);
}

/// An event of a run.
#[derive(Clone, Copy, Debug)]
enum Step {
    Finish,
    /// An infrastructure failure.
    Fail,
    /// Killed while the tool runs.
    KilledRunning,
    /// Killed after the outputs were moved, before the transaction.
    KilledCommitting,
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let step = prop_oneof![
        Just(Step::Finish),
        Just(Step::Fail),
        Just(Step::KilledRunning),
        Just(Step::KilledCommitting),
        Just(Step::Reopen),
    ];
    prop::collection::vec((0..3_usize, step), 0..25)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    /// R1 and R3: after any events, a run is recorded once or open, and open runs can be recorded.
    #[test]
    fn any_history_ends_with_exactly_one_record_per_run(steps in steps()) {
        let results = tempfile::tempdir().unwrap();
        let plan = [run("A"), run("B"), run("C")];
        let mut record = Some(open(results.path()));
        record.as_ref().unwrap().plan_runs(&plan).unwrap();
        let mut committed: BTreeMap<RunId, Vec<&str>> = BTreeMap::new();
        let reopen = |record: &mut Option<Record>| {
            drop(record.take());
            *record = Some(open(results.path()));
        };
        for (number, (at, step)) in steps.iter().enumerate() {
            let id = plan[*at].id();
            let store = record.as_ref().unwrap();
            if matches!(step, Step::Reopen) {
                reopen(&mut record);
                continue;
            }
            let dir = match store.begin_attempt(&id) {
                Ok(dir) => dir,
                Err(StoreError::AlreadyRecorded { .. }) => {
                    let history = &committed[&id];
                    prop_assert!(history.len() == 3 || history.last() == Some(&"finished"));
                    continue;
                }
                Err(error) => panic!("{error}"),
            };
            std::fs::write(dir.outputs().join("stdout"), number.to_string()).unwrap();
            match step {
                Step::Finish | Step::Fail => {
                    let outcome = if matches!(step, Step::Finish) { FINISHED } else { infrastructure_failure() };
                    committed.entry(id.clone()).or_default().push(outcome.word());
                    store.commit(attempt(&id, dir.number(), outcome), dir).unwrap();
                }
                Step::KilledRunning | Step::KilledCommitting => {
                    match step {
                        Step::KilledCommitting => kill_before_transaction(store, dir),
                        _ => std::mem::forget(dir),
                    }
                    reopen(&mut record);
                }
                Step::Reopen => unreachable!(),
            }
        }
        let record = record.unwrap();
        for open in open_ids(&record) {
            make(&record, &open, FINISHED, "last");
            committed.entry(open).or_default().push("finished");
        }
        let mut finals = BTreeMap::new();
        for record in record.records() {
            let record = record.unwrap();
            prop_assert!(finals.insert(record.run.id(), record).is_none(), "recorded twice");
        }
        prop_assert_eq!(finals.len(), 3);
        for (id, found) in finals {
            let history: Vec<_> =
                record.attempts(&id).unwrap().iter().map(|attempt| attempt.outcome.word()).collect();
            prop_assert_eq!(&history, &committed[&id]);
            prop_assert_eq!(found.last.outcome.word(), *history.last().unwrap());
            prop_assert_eq!(found.last.number as usize, history.len());
        }
    }
}

#[test]
fn instructions_are_recorded_with_their_source() {
    let counted = |user| Instructions::TcgPlugin { user, kernel: 3 };
    let text = r#"{"source":"tcg-plugin","user":7,"kernel":3}"#;
    assert_eq!(serde_json::to_string(&counted(7)).unwrap(), text);
    let perf = Instructions::Perf { user: 7, kernel: 3, untested: true };
    let text = r#"{"source":"perf","user":7,"kernel":3,"untested":true}"#;
    assert_eq!(serde_json::to_string(&perf).unwrap(), text);
    let absent: Instructions = serde_json::from_str(r#"{"source":"absent","reason":"under KVM"}"#).unwrap();
    assert_eq!((absent.user(), absent.kernel()), (None, None));
    let facts = |user| RunFacts { instructions: Some(counted(user)), ..RunFacts::default() };
    assert_eq!(facts(7).check(), Ok(()));
    let error = facts(u64::MAX).check().unwrap_err().to_string();
    assert!(error.starts_with("instructions.user: "), "{error}");
    let old: RunFacts = serde_json::from_value(serde_json::json!({
        "boot_ms": 1, "wall_ms": 2, "cpu_ms": 3, "vcpus": 1, "memory_kib": null, "host_memory_kib": null,
        "stdout_bytes": 0, "stderr_bytes": 0,
    }))
    .unwrap();
    assert_eq!(old.instructions, None, "a record of an earlier version");
}
