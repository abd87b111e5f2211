//! The executor, with functions instead of machines.

use mcc_harness::base::{HostLoad, HostState, Mark};
use mcc_harness::campaign::{Disturbance, EntryFacts, History, Hosts, InstanceFacts, Kind, Run};
use mcc_harness::edition::Edition;
use mcc_harness::executor::disturbance::reasons;
use mcc_harness::executor::{AttemptFn, AttemptResult, AttemptSpec, Executor, State};
use mcc_harness::host::{Accelerator, Core, Cores, Leases, Memory, Policy, Qemu, Survey};
use mcc_harness::runner::release;
use mcc_harness::runner::{CampaignDisks, EntryDisks, Host, RunSettings};
use mcc_harness::store::{Arrivals, CampaignFacts, Disk, Outcome, Record, RunFacts};
use mcc_harness::vm::{Backend, DiskBus, DiskFile, Guest, HeldFiles, NicModel, Original};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};

const CAMPAIGN: &str = r#"edition = "mcc-2018"
[[tool]]
entry = "broken"
[[tool.failure_class]]
class = "too-many-colours"
pattern = "^unfolding: (?P<places>[0-9]+) places"
"#;

fn run(examination: &str) -> Run {
    run_of("tool", "DiningTable-PT-03", examination)
}

fn run_of(entry: &str, instance: &str, examination: &str) -> Run {
    Run {
        entry: entry.parse().unwrap(),
        instance: instance.parse().unwrap(),
        examination: examination.parse().unwrap(),
        model: "DiningTable".into(),
        vcpus: 1,
        competes: true,
    }
}

/// A record with one run of each examination, and one retry.
fn record(folder: &Path, edition: &Edition, examinations: &[&str]) -> Record {
    let record = empty_record(folder, edition, &["tool"]);
    record.plan_runs(examinations.iter().map(|examination| run(examination)).collect::<Vec<_>>()).unwrap();
    record
}

/// A record without runs, with one retry; opens it again if it exists.
fn empty_record(folder: &Path, edition: &Edition, entries: &[&str]) -> Record {
    let entry = |name: &&str| EntryFacts {
        entry: name.parse().unwrap(),
        tool: (*name).into(),
        kind: Kind::Sequential,
    };
    let facts = CampaignFacts {
        campaign: CAMPAIGN.into(),
        settings: BTreeMap::new(),
        edition: serde_json::to_string(edition).unwrap(),
        disks: vec![],
        entries: entries.iter().map(entry).collect(),
        instances: vec![InstanceFacts {
            name: "DiningTable-PT-03".parse().unwrap(),
            family: "DiningTable".into(),
            status: "known".into(),
            sha256: "2".repeat(64),
            questions: BTreeMap::new(),
        }],
        retries: 1,
    };
    Record::create_or_open(folder, &facts).unwrap()
}

/// Executes the open runs of a record on a simulated host.
fn execute(record: &Record, edition: &Edition, run_attempt: &AttemptFn, disturbance: Disturbance) {
    let hosts = Hosts { disturbed: disturbance, ..Hosts::default() };
    execute_until(record, edition, run_attempt, &hosts, &AtomicBool::new(false));
}

fn execute_until(
    record: &Record,
    edition: &Edition,
    run_attempt: &AttemptFn,
    hosts: &Hosts,
    stop: &AtomicBool,
) {
    execute_with_disk(record, edition, run_attempt, hosts, stop, (0, &|| u64::MAX));
}

/// The guest of an entry; `original` has an original disk.
fn guest(entry: &str) -> Guest {
    match entry {
        "original" => Guest::Ssh(Original {
            user: "mcc".to_owned(),
            key: PathBuf::from("key"),
            root_key: None,
            disk: DiskBus::default(),
            nic: NicModel::default(),
        }),
        _ => Guest::Agent { kernel: PathBuf::from("kernel"), initrd: PathBuf::from("initrd") },
    }
}

/// As `execute_until`. Each machine may take the first number of bytes; the function returns the bytes that are free.
fn execute_with_disk(
    record: &Record,
    edition: &Edition,
    run_attempt: &AttemptFn,
    hosts: &Hosts,
    stop: &AtomicBool,
    (per_machine, free_bytes): (u64, &(dyn Fn() -> u64 + Sync)),
) {
    let disk = DiskFile::new(PathBuf::from("disk"), "qcow2");
    let entry =
        |name: &str| EntryDisks { guest: guest(name), disk: disk.clone(), inputs: None, digests: vec![] };
    let core = |n| Core { cpus: vec![n], ..Core::default() };
    let host = Host {
        policy: Policy::Contest,
        qemu: Qemu { program: PathBuf::from("qemu"), version: "7.2.22".into() },
        backend: Backend::Qemu,
        accelerator: Accelerator::Kvm,
        marks: vec![],
        survey: Survey {
            name: "node".into(),
            kernel: "6.1".into(),
            cpu: "some cpu".into(),
            cores: Cores { cores: (0..3).map(core).collect(), allowed: (0..3).collect() },
            memory: Memory { total_mib: 1 << 20, available_mib: 1 << 20, limited_by: None },
        },
    };
    let settings = RunSettings {
        record,
        edition,
        hosts,
        host: &host,
        disks: CampaignDisks {
            entries: record
                .facts()
                .entries
                .iter()
                .map(|facts| (facts.entry.clone(), entry(&facts.entry)))
                .collect(),
            inputs: disk.clone(),
            inputs_digest: Disk { role: "inputs".into(), sha256: "1".repeat(64), bytes: 1 },
            held_files: HeldFiles::default(),
        },
        restore: false,
        file: Path::new("campaign.toml"),
        jobs: Some(2),
        marks: vec![],
        history: History::default(),
        run_attempt,
        free_bytes: &|_| Ok(free_bytes()),
        stop,
    };
    let leases = Leases::new(&host.survey.cores, &host.survey.memory);
    let mut executor = Executor::new(settings);
    (executor.free_disk.per_machine, executor.free_disk.free) = (per_machine, free_bytes());
    executor.run(leases, &|_| true, &|_| {}).unwrap();
}

/// Two machines fit at once. The first that ends leaves so much that a third one fits only when the second has ended too.
#[test]
fn a_run_waits_until_the_shares_of_all_machines_are_free() {
    const SHARE: u64 = 100;
    #[derive(Default)]
    struct Disk {
        started: u32,
        running: u64,
        left_behind: u64,
        /// How often the free space was asked for since the first machine ended.
        asked: u32,
    }
    let (disk, changed) = (Mutex::new(Disk::default()), Condvar::new());
    let free = |disk: &Disk| 250 - disk.left_behind;
    let edition = Edition::load("mcc-2018").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let record = record(folder.path(), &edition, &["StateSpace", "UpperBounds", "CTLFireability"]);
    let shortage = AtomicBool::new(false);
    let run_attempt = |_: AttemptSpec, _: &mut dyn FnMut(State)| {
        let mut now = disk.lock().unwrap();
        now.started += 1;
        now.running += 1;
        if now.running * SHARE > free(&now) {
            shortage.store(true, Ordering::Relaxed);
        }
        changed.notify_all();
        let number = now.started;
        // The first machine ends when both run; the second one when the third was started or had to wait.
        let waits = |now: &mut Disk| match number {
            1 => now.started < 2,
            2 => now.started < 3 && now.asked < 2,
            _ => false,
        };
        let mut now = changed.wait_while(now, waits).unwrap();
        now.running -= 1;
        now.left_behind += 60;
        AttemptResult::without_machine(Outcome::Finished { exit_code: 0 })
    };
    let free_bytes = || {
        let mut now = disk.lock().unwrap();
        now.asked += u32::from(now.left_behind > 0);
        changed.notify_all();
        free(&now)
    };
    let (hosts, stop) = (Hosts::default(), AtomicBool::new(false));
    execute_with_disk(&record, &edition, &run_attempt, &hosts, &stop, (SHARE, &free_bytes));
    assert!(!shortage.into_inner(), "a machine started without space for its share and those of the others");
    assert_eq!(record.summary().unwrap().recorded, 3);
}

#[test]
fn a_panic_ends_only_its_attempt() {
    let folder = tempfile::tempdir().unwrap();
    let edition = Edition::load("mcc-2018").unwrap();
    let record = record(folder.path(), &edition, &["StateSpace", "UpperBounds", "CTLFireability"]);
    let run_attempt = |spec: AttemptSpec, enter: &mut dyn FnMut(State)| {
        enter(State::Examining);
        assert!(spec.job.env["BK_EXAMINATION"] != "StateSpace", "injected");
        ended(&spec, Outcome::Finished { exit_code: 0 }, 50, "")
    };
    execute(&record, &edition, &run_attempt, Disturbance::default());

    let recorded: BTreeMap<String, _> =
        record.records().map(Result::unwrap).map(|run| (run.run.examination.to_string(), run)).collect();
    let Outcome::Infrastructure { state, reason } = &recorded["StateSpace"].last.outcome else {
        panic!("{recorded:?}")
    };
    assert_eq!((state.as_str(), recorded["StateSpace"].attempts), ("examining", 2), "with its retry");
    assert!(reason.contains("the controller panicked: injected"), "{reason}");
    for examination in ["UpperBounds", "CTLFireability"] {
        assert_eq!(recorded[examination].last.outcome, Outcome::Finished { exit_code: 0 });
    }
}

/// Executes a run whose first attempts have these loads and end with the exit codes 1, 2, ...; returns the number of
/// attempts, the exit code that counts, and the reasons of the repetitions.
fn repeated(loads: &[HostLoad], repeats: u32) -> (u32, i32, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let edition = Edition::load("mcc-2018").unwrap();
    let record = record(folder.path(), &edition, &["StateSpace"]);
    let attempts = AtomicUsize::new(0);
    let disturbance = Disturbance { repeats, ..Disturbance::default() };
    let thresholds = disturbance.clone();
    let run_attempt = |spec: AttemptSpec, _: &mut dyn FnMut(State)| {
        let number = attempts.fetch_add(1, Ordering::Relaxed);
        let exit_code = i32::try_from(number + 1).unwrap();
        let mut ended = ended(&spec, Outcome::Finished { exit_code }, 50, "");
        let load = loads.get(number).cloned().unwrap_or_default();
        let disturbed = reasons(&load, &thresholds);
        ended.environment.host_state =
            Some(HostState { load: Some(load), disturbed, ..HostState::default() });
        ended
    };
    execute(&record, &edition, &run_attempt, disturbance);
    let recorded = record.records().next().unwrap().unwrap();
    let Outcome::Finished { exit_code } = recorded.last.outcome else { panic!("{recorded:?}") };
    let reruns = record.reruns(&run("StateSpace").id()).unwrap();
    (recorded.attempts, exit_code, reruns.into_iter().map(|rerun| rerun.reason).collect())
}

#[test]
fn a_disturbed_run_is_repeated_and_its_last_attempt_counts() {
    let stolen = HostLoad { wall_ms: 1000, steal_ms: Some(500), ..HostLoad::default() };
    let (attempts, exit_code, reasons) = repeated(std::slice::from_ref(&stolen), 2);
    assert_eq!((attempts, exit_code), (2, 2), "the second was not disturbed");
    assert!(
        reasons[0].starts_with("disturbed: the hypervisor") && reasons[0].contains("500 ms"),
        "{reasons:?}"
    );
    let always = [stolen.clone(), stolen.clone(), stolen.clone(), stolen];
    let (attempts, exit_code, reasons) = repeated(&always, 2);
    assert_eq!((attempts, exit_code, reasons.len()), (3, 3, 2), "within its number of repetitions");
    assert_eq!(repeated(&always, 0), (1, 1, vec![]), "off by default");
    assert_eq!(Disturbance::default().repeats, 0);
}

#[test]
fn what_a_guest_can_cause_repeats_no_run() {
    let (starved_ms, io_pressure_ms) = (Some(900), Some(900));
    let by_its_io = HostLoad { wall_ms: 1000, starved_ms, io_pressure_ms, ..HostLoad::default() };
    assert_eq!(repeated(&[by_its_io], 10), (1, 1, vec![]));
}

const ENTRIES: [&str; 4] = ["good", "broken", "slow", "modest"];

/// The runs of four entries on 17 instances in three examinations of two categories.
fn campaign() -> Vec<Run> {
    let instances = (1..=17).map(|number| format!("DiningTable-PT-{number:02}"));
    let rows = instances.flat_map(|instance| {
        ["StateSpace", "CTLCardinality", "CTLFireability"].map(|examination| (instance.clone(), examination))
    });
    rows.flat_map(|(instance, examination)| ENTRIES.map(|entry| run_of(entry, &instance, examination)))
        .collect()
}

/// An attempt that ended after `wall_ms` with this output.
fn ended(spec: &AttemptSpec, outcome: Outcome, wall_ms: u64, stdout: &str) -> AttemptResult {
    std::fs::write(spec.folder.join("stdout"), stdout).unwrap();
    let answers = ["FORMULA", "CANNOT_COMPUTE"].iter().any(|word| stdout.contains(word));
    let arrivals = Arrivals { lines: if answers { vec![(1, 1)] } else { vec![] }, dropped: 0 };
    let facts = RunFacts { wall_ms, vcpus: 1, arrivals: Some(arrivals), ..RunFacts::default() };
    AttemptResult { facts: Some(facts), ..AttemptResult::without_machine(outcome) }
}

/// The recorded runs, by entry.
fn recorded(record: &Record) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for run in record.records() {
        *counts.entry(run.unwrap().run.entry.to_string()).or_default() += 1;
    }
    counts
}

#[test]
fn a_broken_entry_is_held_by_its_canary_while_the_others_finish() {
    let folder = tempfile::tempdir().unwrap();
    let edition = Edition::load("mcc-2018").unwrap();
    let (confinements, stop) = (Mutex::new(BTreeMap::<String, usize>::new()), AtomicBool::new(false));
    let attempts = AtomicUsize::new(0);
    let run_attempt = |spec: AttemptSpec, _: &mut dyn FnMut(State)| {
        // A controller that is stopped after its first two canaries.
        if attempts.fetch_add(1, Ordering::Relaxed) == 1 {
            stop.store(true, Ordering::Relaxed);
        }
        *confinements.lock().unwrap().entry(spec.job.env["BK_TIME_CONFINEMENT"].clone()).or_default() += 1;
        match spec.job.env["BK_TOOL"].as_str() {
            "broken" => ended(&spec, Outcome::Finished { exit_code: 127 }, 50, "lib.so: not found\n\n"),
            "slow" => ended(&spec, Outcome::WallLimit, 4_500_000, "begins\n"),
            "modest" => ended(&spec, Outcome::Finished { exit_code: 0 }, 50, "CANNOT_COMPUTE\n"),
            _ => ended(&spec, Outcome::Finished { exit_code: 0 }, 50, "FORMULA x TRUE TECHNIQUES A\n"),
        }
    };
    let hosts = Hosts::default();
    for number in 0..2 {
        let record = empty_record(folder.path(), &edition, &ENTRIES);
        record.plan_runs(campaign()).unwrap();
        execute_until(&record, &edition, &run_attempt, &hosts, &stop);
        stop.store(false, Ordering::Relaxed);
        if number == 0 {
            assert_eq!(recorded(&record), BTreeMap::new(), "canaries are not counted");
        }
    }
    let record = empty_record(folder.path(), &edition, &ENTRIES);
    let expected = ["good", "modest", "slow"].map(|entry| (entry.to_owned(), 51));
    assert_eq!(recorded(&record), BTreeMap::from(expected));
    let holds = record.holds().unwrap();
    let [hold] = &holds[..] else { panic!("one entry is held: {holds:?}") };
    assert_eq!((hold.entry.as_str(), hold.host.as_str()), ("broken", "node"));
    assert!(hold.reason.contains("finished with exit code 127 without an answer"), "{}", hold.reason);
    assert!(hold.reason.contains("lib.so: not found"), "{}", hold.reason);
    let canaries = record.superseded_for("canary: ").unwrap();
    assert_eq!(canaries.len(), 4, "2 % of 204 runs, none of them again after the stop: {canaries:?}");
    let confined: Vec<usize> = confinements.into_inner().unwrap().into_values().collect();
    assert_eq!(confined, [3 * 51, 4], "an hour each, and a minute for canaries");
    drop(record);

    // Released, it is not held again, although its runs all end alike.
    let record = empty_record(folder.path(), &edition, &ENTRIES);
    assert_eq!(release(&record, "unknown").unwrap(), 0);
    assert_eq!(release(&record, "broken").unwrap(), 1);
    execute(
        &record,
        &edition,
        &|spec, _| ended(&spec, Outcome::Finished { exit_code: 1 }, 5, "x"),
        Disturbance::default(),
    );
    assert_eq!(recorded(&record)["broken"], 51);
}

#[test]
fn runs_that_end_alike_hold_their_entry_and_cannot_compute_does_not() {
    let edition = Edition::load("mcc-2018").unwrap();
    let held = |stdout: fn(&str, &str) -> String, canary: Option<bool>| {
        let folder = tempfile::tempdir().unwrap();
        let record = empty_record(folder.path(), &edition, &ENTRIES);
        record.plan_runs(campaign()).unwrap();
        let run_attempt = |spec: AttemptSpec, _: &mut dyn FnMut(State)| {
            // The canaries and the first runs answer; then something on the host breaks.
            let (tool, input) = (&spec.job.env["BK_TOOL"], &spec.job.env["BK_INPUT"]);
            let text = match (tool.as_str(), input.as_str()) {
                ("broken", input) if input > "DiningTable-PT-03" => {
                    stdout(input, &spec.job.env["BK_EXAMINATION"])
                }
                _ => "FORMULA x TRUE TECHNIQUES A\n".to_owned(),
            };
            ended(&spec, Outcome::Finished { exit_code: 0 }, 50, &text)
        };
        let hosts = Hosts { canary, ..Hosts::default() };
        execute_until(&record, &edition, &run_attempt, &hosts, &AtomicBool::new(false));
        let holds = record.holds().unwrap();
        assert_eq!(recorded(&record)["good"], 51);
        (recorded(&record)["broken"], holds.first().map(|hold| hold.reason.clone()))
    };
    let alike = |input: &str, examination: &str| {
        format!("start\npid {}: {input} {examination}: no licence\n", input.len())
    };
    let (made, reason) = held(alike, None);
    assert!((29..=30).contains(&made), "nine good runs, twenty alike, at most one that had begun: {made}");
    assert!(reason.unwrap().contains("no licence"));
    assert_eq!(held(alike, Some(false)), (51, None));
    assert_eq!(held(|_, _| "CANNOT_COMPUTE\n".into(), None), (51, None));
    assert_eq!(
        held(|input, _| format!("{}\n", "x".repeat(input[15..].parse().unwrap())), None),
        (51, None),
        "different lines"
    );
}

#[test]
fn an_entry_whose_outputs_take_more_than_is_left_is_held() {
    const FREE: u64 = 20_000;
    let edition = Edition::load("mcc-2018").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let record = empty_record(folder.path(), &edition, &ENTRIES);
    record.plan_runs(campaign()).unwrap();
    let run_attempt = |spec: AttemptSpec, _: &mut dyn FnMut(State)| {
        let bytes = if spec.job.env["BK_TOOL"] == "broken" { 1000 } else { 0 };
        let text = format!("FORMULA x TRUE TECHNIQUES A\n{}", "x".repeat(bytes));
        ended(&spec, Outcome::Finished { exit_code: 0 }, 50, &text)
    };
    let stop = AtomicBool::new(false);
    let execute = |record: &Record, free: &(dyn Fn() -> u64 + Sync)| {
        execute_with_disk(record, &edition, &run_attempt, &Hosts::default(), &stop, (0, free));
    };
    execute(&record, &|| FREE);
    let kept = record.kept_bytes().unwrap();
    let [broken, good] = ["broken", "good"].map(|entry| kept[entry]);
    assert!((FREE..FREE + 3000).contains(&broken) && good < FREE / 5, "{kept:?}");
    assert_eq!(recorded(&record)["good"], 51);
    let holds = record.holds().unwrap();
    let [hold] = &holds[..] else { panic!("one entry is held: {holds:?}") };
    assert!(hold.entry.as_str() == "broken" && hold.reason.contains("outputs"), "{hold:?}");

    // Without the hold, what the record keeps counts again.
    record.remove_holds(|_| true).unwrap();
    let before = recorded(&record)["broken"];
    execute(&record, &|| FREE);
    assert!(recorded(&record)["broken"] - before <= 2, "at most two runs at once");
    assert_eq!(release(&record, "broken").unwrap(), 1);
    execute(&record, &|| FREE);
    assert_eq!(recorded(&record)["broken"], 51);
}

#[test]
fn failure_classes_of_runs_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let edition = Edition::load("mcc-2018").unwrap();
    let results = folder.path().join("results");
    let record = empty_record(&results, &edition, &ENTRIES);
    record.plan_runs(campaign()).unwrap();
    let run_attempt = |spec: AttemptSpec, _: &mut dyn FnMut(State)| {
        let stderr = match (&spec.job.env["BK_TOOL"][..], &spec.job.env["BK_INPUT"][..]) {
            // A class that is declared for this entry only; it is before one that is built in.
            ("broken" | "good", "DiningTable-PT-02") => "Segmentation fault\nunfolding: 12 places\n",
            (_, "DiningTable-PT-03") => "java.lang.OutOfMemoryError: Java heap space\n",
            _ => "",
        };
        std::fs::write(spec.folder.join("stderr"), stderr).unwrap();
        ended(&spec, Outcome::Finished { exit_code: 0 }, 50, "FORMULA x TRUE TECHNIQUES A\n")
    };
    execute(&record, &edition, &run_attempt, Disturbance::default());
    drop(record);
    let table = folder.path().join("classes.csv");
    let printed = assert_cmd::Command::new(env!("CARGO_BIN_EXE_mcc-harness"))
        .args(["export".as_ref(), results.as_os_str(), "--classes".as_ref(), table.as_os_str()])
        .assert()
        .success();
    let printed = String::from_utf8(printed.get_output().stdout.clone()).unwrap();
    let sums: Vec<Vec<&str>> =
        printed.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    let expected = [
        ["broken", "out-of-memory", "3"],
        ["broken", "too-many-colours", "3"],
        ["good", "out-of-memory", "3"],
        ["good", "segmentation-fault", "3"],
        ["modest", "out-of-memory", "3"],
        ["slow", "out-of-memory", "3"],
    ];
    assert_eq!(sums, expected, "{printed}");
    let table = std::fs::read_to_string(table).unwrap();
    assert_eq!(table.lines().count(), 1 + 204);
    let row = "broken,DiningTable-PT-02,StateSpace,finished,too-many-colours,stderr:2,places=12";
    assert!(table.lines().any(|line| line == row), "{table}");
}

#[test]
fn failure_classes_are_counted_by_rate_comparison_and_site() {
    let folder = tempfile::tempdir().unwrap();
    let edition = Edition::load("mcc-2018").unwrap();
    // All entries count the markings. In B, `broken` does not on two instances, of which only one says why.
    let make = |name: &str, fails: bool| {
        let results = folder.path().join(name);
        let record = empty_record(&results, &edition, &ENTRIES);
        record.plan_runs(campaign()).unwrap();
        let run_attempt = |spec: AttemptSpec, _: &mut dyn FnMut(State)| {
            let env = &spec.job.env;
            let (stdout, stderr) = match (&env["BK_TOOL"][..], &env["BK_INPUT"][..]) {
                ("broken", "DiningTable-PT-02") if fails => ("begins\n", "unfolding: 12 places\n"),
                ("broken", "DiningTable-PT-03") if fails => ("begins\n", "\n"),
                _ if env["BK_EXAMINATION"] != "StateSpace" => ("CANNOT_COMPUTE\n", "Segmentation fault\n"),
                _ => ("STATE_SPACE STATES 5 TECHNIQUES EXPLICIT\n", ""),
            };
            std::fs::write(spec.folder.join("stderr"), stderr).unwrap();
            ended(&spec, Outcome::Finished { exit_code: 0 }, 50, stdout)
        };
        let hosts = Hosts { canary: Some(false), ..Hosts::default() };
        execute_until(&record, &edition, &run_attempt, &hosts, &AtomicBool::new(false));
        results
    };
    let (a, b) = (make("a", false), make("b", true));
    let run = |args: &[&std::ffi::OsStr]| {
        let done = assert_cmd::Command::new(env!("CARGO_BIN_EXE_mcc-harness")).args(args).assert().success();
        String::from_utf8(done.get_output().stdout.clone()).unwrap()
    };
    let json = |args: &[&std::ffi::OsStr]| -> serde_json::Value { serde_json::from_str(&run(args)).unwrap() };

    let compared = json(&["compare-campaigns".as_ref(), a.as_ref(), b.as_ref(), "--format=json".as_ref()]);
    let broken = &compared["entries"][0];
    assert_eq!(broken["a"], "broken");
    // 17 instances in two examinations; in B without those two of them.
    assert_eq!(
        broken["failure_classes"],
        serde_json::json!([
            { "name": "segmentation-fault", "runs_a": 34, "runs_b": 30, "lost": 0, "gained": 0 },
            { "name": "too-many-colours", "runs_a": 0, "runs_b": 3, "lost": 1, "gained": 0 },
        ])
    );
    let text = run(&["compare-campaigns".as_ref(), a.as_ref(), b.as_ref()]);
    let row: Vec<&str> =
        text.lines().find(|line| line.contains("too-many")).unwrap().split_whitespace().collect();
    assert_eq!(row, ["too-many-colours", "0", "3", "1", "0"]);

    let rating = folder.path().join("rating");
    let out: [&std::ffi::OsStr; 2] = ["--out".as_ref(), rating.as_ref()];
    let rated = json(
        &[
            &["rate".as_ref(), b.as_ref(), "--published".as_ref(), a.as_ref(), "--format=json".as_ref()],
            &out[..],
        ]
        .concat(),
    );
    let broken = &rated["entries"][0];
    assert_eq!(
        broken["failure_classes"],
        serde_json::json!({ "segmentation-fault": 30, "too-many-colours": 3 })
    );
    assert_eq!(broken["misses"]["by_failure_class"], serde_json::json!({ "too-many-colours": 1 }));
    let values = std::fs::read_to_string(rating.join("data/values.csv")).unwrap();
    let missed: Vec<&str> = values.lines().filter(|line| line.starts_with("missed,")).collect();
    assert_eq!(missed.len(), 2, "{values}");
    assert!(missed[0].ends_with(",too-many-colours") && missed[1].ends_with(','), "{missed:?}");

    let (judged, site) = (folder.path().join("judged"), folder.path().join("site"));
    run(&["judge".as_ref(), b.as_ref(), "--out".as_ref(), judged.as_ref()]);
    let of_judge = std::fs::read_to_string(judged.join("judgement.json")).unwrap();
    assert!(!of_judge.contains("too-many-colours"), "a judgement has no classes");
    run(&[
        "report".as_ref(),
        judged.as_ref(),
        "--record".as_ref(),
        b.as_ref(),
        "--out".as_ref(),
        site.as_ref(),
    ]);
    let page = std::fs::read_to_string(site.join("runs.html")).unwrap();
    let sum = "<a href=\"#filter2=broken%20too-many-colours\">too-many-colours</a></td><td>3</td>";
    assert!(page.contains(sum), "{page}");
    let data = std::fs::read_to_string(site.join("runs.js")).unwrap();
    assert_eq!(data.matches("\"too-many-colours\",\"stderr:1\",\"places=12\"").count(), 3, "{data}");
    assert_eq!(data.matches("\"segmentation-fault\"").count(), 30 + 3 * 34);
}

/// A disk of an author can let its boots fail before or after its tool crashes QEMU in the examination of its choice.
#[test]
fn a_failed_boot_before_or_after_a_crash_is_the_tools_on_an_original_disk() {
    let edition = Edition::load("mcc-2018").unwrap();
    let infrastructure = |state: &str| Outcome::Infrastructure { state: state.into(), reason: "gone".into() };
    for (entry, marks, expected) in [
        ("original", [vec![Mark::QEMU_CRASH], vec![]], "tool-crash"),
        ("original", [vec![Mark::DISK_ERROR], vec![]], "tool-crash"),
        ("original", [vec![], vec![Mark::QEMU_CRASH]], "tool-crash"),
        ("original", [vec![], vec![Mark::DISK_ERROR]], "tool-crash"),
        ("original", [vec![], vec![]], "infrastructure"),
        ("tool", [vec![Mark::QEMU_CRASH], vec![]], "infrastructure"),
        ("tool", [vec![], vec![Mark::DISK_ERROR]], "infrastructure"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let record = empty_record(folder.path(), &edition, &[entry]);
        record.plan_runs([run_of(entry, "DiningTable-PT-03", "StateSpace")]).unwrap();
        let attempts = AtomicUsize::new(0);
        let run_attempt = |_: AttemptSpec, _: &mut dyn FnMut(State)| {
            let marks = marks[attempts.fetch_add(1, Ordering::Relaxed)].clone();
            let state = if marks.is_empty() { "booting" } else { "examining" };
            AttemptResult { marks, ..AttemptResult::without_machine(infrastructure(state)) }
        };
        execute(&record, &edition, &run_attempt, Disturbance::default());
        let last =
            record.attempts(&format!("{entry}/DiningTable-PT-03/StateSpace").parse().unwrap()).unwrap();
        assert_eq!((last.len(), last[1].outcome.word()), (2, expected), "{entry} {marks:?}");
    }
}
