//! A small campaign and attempts at its runs, for the tests of records.

use mcc_harness::base::names::RunId;
use mcc_harness::campaign::{EntryFacts, InstanceFacts, Kind, Run};
use mcc_harness::store::{
    Attempt, AttemptDir, CampaignFacts, Disk, Environment, HostFacts, Outcome, Record, RunFacts, RunState,
};
use std::collections::BTreeMap;
use std::path::Path;

pub fn campaign() -> CampaignFacts {
    let ids = (0..16).map(|n| format!("Philosophers-PT-000005-UpperBounds-{n:02}")).collect();
    CampaignFacts {
        campaign: "edition = \"mcc-2018\"\n".into(),
        settings: BTreeMap::from([
            ("examinations".into(), "UpperBounds".into()),
            ("tool LoLA".into(), "lola.qcow2 sequential".into()),
        ]),
        edition: "{}".into(),
        disks: vec![Disk { role: "inputs".into(), sha256: "11".repeat(32), bytes: 4096 }],
        entries: vec![EntryFacts {
            entry: "LoLA".parse().unwrap(),
            tool: "LoLA".into(),
            kind: Kind::Sequential,
        }],
        instances: vec![InstanceFacts {
            name: "Philosophers-PT-000005".parse().unwrap(),
            family: "Philosophers".into(),
            status: "known".into(),
            sha256: "22".repeat(32),
            questions: BTreeMap::from([("UpperBounds".parse().unwrap(), ids)]),
        }],
        retries: 2,
    }
}

pub fn run(examination: &str) -> Run {
    Run {
        entry: "LoLA".parse().unwrap(),
        instance: "Philosophers-PT-000005".parse().unwrap(),
        examination: examination.parse().unwrap(),
        model: "Philosophers".into(),
        vcpus: 1,
        competes: true,
    }
}

pub fn attempt(run: &RunId, number: u32, outcome: Outcome) -> Attempt {
    let has_facts = !outcome.is_infrastructure() && outcome != Outcome::NotCompeting;
    Attempt {
        run: run.clone(),
        number,
        outcome,
        marks: vec!["degraded:tcg".into()],
        started_at: "2026-11-21T06:00:00Z".into(),
        host: HostFacts {
            name: "vm".into(),
            cpu: "some cpu".into(),
            cores: 2,
            usable_cores: None,
            memory_mib: 24000,
            kernel: "6.1".into(),
            accelerator: "tcg".into(),
            qemu: "7.2.22".into(),
        },
        disks: vec![],
        machine: vec!["-nodefaults".into()],
        facts: has_facts.then(|| RunFacts { vcpus: 1, ..RunFacts::default() }),
        outputs: vec![],
        environment: Environment::default(),
    }
}

pub const FINISHED: Outcome = Outcome::Finished { exit_code: 0 };

pub fn infrastructure_failure() -> Outcome {
    Outcome::Infrastructure { state: "booting".into(), reason: "boot deadline".into() }
}

pub fn open(dir: &Path) -> Record {
    Record::create_or_open(dir, &campaign()).unwrap()
}

/// Commits an attempt with the output `text`.
pub fn make(record: &Record, run: &RunId, outcome: Outcome, text: &str) -> RunState {
    let dir = record.begin_attempt(run).unwrap();
    std::fs::write(dir.outputs().join("stdout"), text).unwrap();
    record.commit(attempt(run, dir.number(), outcome), dir).unwrap()
}

/// Leaves the files of a controller that is killed after it moved the outputs and before the transaction.
pub fn kill_before_transaction(record: &Record, dir: AttemptDir) {
    let place = record.outputs_dir(dir.run(), dir.number());
    if place.exists() {
        std::fs::remove_dir_all(&place).unwrap();
    }
    std::fs::create_dir_all(place.parent().unwrap()).unwrap();
    std::fs::rename(dir.outputs(), place).unwrap();
    std::mem::forget(dir);
}

pub fn open_ids(record: &Record) -> Vec<RunId> {
    record.open_runs().map(|open| open.unwrap().run.id()).collect()
}
