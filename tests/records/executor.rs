//! The executor, with functions instead of machines.

use mcc_harness::base::{HostLoad, HostState};
use mcc_harness::campaign::{Disturbance, EntryFacts, History, Hosts, InstanceFacts, Kind, Run};
use mcc_harness::edition::Edition;
use mcc_harness::executor::disturbance::reasons;
use mcc_harness::executor::{AttemptFn, AttemptResult, AttemptSpec, Executor, State};
use mcc_harness::host::{Accelerator, Core, Cores, Leases, Memory, Policy, Qemu, Survey};
use mcc_harness::runner::{CampaignDisks, EntryDisks, Host, RunSettings};
use mcc_harness::store::{CampaignFacts, Disk, Outcome, Record};
use mcc_harness::vm::{Backend, DiskFile, Guest, HeldFiles};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn run(examination: &str) -> Run {
    Run {
        entry: "tool".parse().unwrap(),
        instance: "DiningTable-PT-03".parse().unwrap(),
        examination: examination.parse().unwrap(),
        model: "DiningTable".into(),
        vcpus: 1,
        competes: true,
    }
}

/// A record with one run of each examination, and one retry.
fn record(folder: &Path, edition: &Edition, examinations: &[&str]) -> Record {
    let facts = CampaignFacts {
        campaign: "edition = \"mcc-2018\"\n".into(),
        settings: BTreeMap::new(),
        edition: serde_json::to_string(edition).unwrap(),
        disks: vec![],
        entries: vec![EntryFacts {
            entry: "tool".parse().unwrap(),
            tool: "tool".into(),
            kind: Kind::Sequential,
        }],
        instances: vec![InstanceFacts {
            name: "DiningTable-PT-03".parse().unwrap(),
            family: "DiningTable".into(),
            status: "known".into(),
            sha256: "2".repeat(64),
            questions: BTreeMap::new(),
        }],
        retries: 1,
    };
    let record = Record::create_or_open(folder, &facts, |_| {}).unwrap();
    record.plan_runs(examinations.iter().map(|examination| run(examination)).collect::<Vec<_>>()).unwrap();
    record
}

/// Executes the open runs of a record on a simulated host.
fn execute(record: &Record, edition: &Edition, run_attempt: &AttemptFn, disturbance: Disturbance) {
    let disk = DiskFile::new(PathBuf::from("disk"), "qcow2");
    let guest = Guest::Agent { kernel: PathBuf::from("kernel"), initrd: PathBuf::from("initrd") };
    let entry = EntryDisks { guest, disk: disk.clone(), inputs: None, digests: vec![] };
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
        hosts: &Hosts { disturbed: disturbance, ..Hosts::default() },
        host: &host,
        disks: CampaignDisks {
            entries: [("tool".parse().unwrap(), entry)].into(),
            inputs: disk,
            inputs_digest: Disk { role: "inputs".into(), sha256: "1".repeat(64), bytes: 1 },
            held_files: HeldFiles::default(),
        },
        restore: false,
        file: Path::new("campaign.toml"),
        jobs: Some(2),
        marks: vec![],
        history: History::default(),
        run_attempt,
        stop: &AtomicBool::new(false),
    };
    let leases = Leases::new(&host.survey.cores, &host.survey.memory);
    Executor::new(settings).run(leases, &|_| true, &|_| {}).unwrap();
}

#[test]
fn a_panic_ends_only_its_attempt() {
    let folder = tempfile::tempdir().unwrap();
    let edition = Edition::load("mcc-2018").unwrap();
    let record = record(folder.path(), &edition, &["StateSpace", "UpperBounds", "CTLFireability"]);
    let run_attempt = |spec: AttemptSpec, enter: &mut dyn FnMut(State)| {
        enter(State::Examining);
        assert!(spec.job.env["BK_EXAMINATION"] != "StateSpace", "injected");
        AttemptResult::without_machine(Outcome::Finished { exit_code: 0 })
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
    let run_attempt = |_: AttemptSpec, _: &mut dyn FnMut(State)| {
        let number = attempts.fetch_add(1, Ordering::Relaxed);
        let exit_code = i32::try_from(number + 1).unwrap();
        let mut ended = AttemptResult::without_machine(Outcome::Finished { exit_code });
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
