//! Generates the record of a finished campaign with any number of runs.

use super::synthetic::Rng;
use mcc_harness::base::names::RunId;
use mcc_harness::campaign::{EntryFacts, InstanceFacts, Kind, Run};
use mcc_harness::edition::Edition;
use mcc_harness::store::{Attempt, CampaignFacts, Environment, HostFacts, Outcome, Record, RunFacts, Sample};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const ENTRIES: usize = 10;

/// Makes a record with at least that many runs; most answers of the entries agree.
pub fn make(results: &Path, count: usize, seed: u64) {
    let edition = Edition::load("mcc-2018").unwrap();
    let examinations = ["ReachabilityCardinality", "CTLFireability", "LTLCardinality", "UpperBounds"];
    let instances = count.div_ceil(ENTRIES * examinations.len()).max(1);
    let instance = |n: usize| format!("Synthetic{}-PT-{n:04}", n / 8);
    let ids = |n: usize, examination: &str| -> Vec<String> {
        (0..16).map(|at| format!("{}-{examination}-{at:02}", instance(n))).collect()
    };
    let facts = CampaignFacts {
        campaign: String::new(),
        settings: BTreeMap::new(),
        edition: serde_json::to_string(&edition).unwrap(),
        disks: vec![],
        entries: (0..ENTRIES)
            .map(|n| EntryFacts {
                entry: format!("tool{n}").parse().unwrap(),
                tool: format!("tool{n}"),
                kind: Kind::Sequential,
            })
            .collect(),
        instances: (0..instances)
            .map(|n| InstanceFacts {
                name: instance(n).parse().unwrap(),
                family: format!("Synthetic{}", n / 8),
                status: "known".to_owned(),
                questions: examinations.iter().map(|x| (x.parse().unwrap(), ids(n, x))).collect(),
                sha256: "33".repeat(32),
            })
            .collect(),
        retries: 0,
    };
    let record = Record::create_or_open(results, &facts).unwrap();
    let mut runs = Vec::new();
    for n in 0..instances {
        for entry in 0..ENTRIES {
            for examination in examinations {
                runs.push(Run {
                    entry: format!("tool{entry}").parse().unwrap(),
                    instance: instance(n).parse().unwrap(),
                    examination: examination.parse().unwrap(),
                    model: format!("Synthetic{}", n / 8),
                    vcpus: 1,
                    competes: true,
                });
            }
        }
    }
    record.plan_runs(&runs).unwrap();
    let mut rng = Rng(seed);
    for run in &runs {
        let dir = record.begin_attempt(&run.id()).unwrap();
        let mut stdout = "a line of talk that says nothing of what was found\n".repeat(50 + rng.below(200));
        for at in 0..16 {
            let value = match (run.examination.as_str(), rng.below(40)) {
                ("UpperBounds", _) => "7",
                (_, 0) => "FALSE",
                _ => "TRUE",
            };
            stdout += &format!(
                "FORMULA {}-{}-{at:02} {value} TECHNIQUES EXPLICIT STATE_COMPRESSION\n",
                run.instance, run.examination
            );
        }
        fs::write(dir.outputs().join("stdout"), stdout).unwrap();
        record.commit(attempt(&run.id()), dir).unwrap();
    }
}

fn attempt(run: &RunId) -> Attempt {
    Attempt {
        run: run.clone(),
        number: 1,
        outcome: Outcome::Finished { exit_code: 0 },
        marks: vec![],
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        host: HostFacts {
            name: "host".to_owned(),
            cpu: String::new(),
            cores: 1,
            usable_cores: None,
            memory_mib: 16384,
            kernel: String::new(),
            accelerator: "kvm".to_owned(),
            qemu: String::new(),
        },
        disks: vec![],
        machine: vec![],
        environment: Environment::default(),
        facts: Some(RunFacts {
            boot_ms: 3000,
            wall_ms: 1000,
            cpu_ms: 1000,
            vcpus: 1,
            memory_kib: Some(1000),
            // The samples of ten minutes.
            samples: (0..600).map(sample).collect(),
            ..RunFacts::default()
        }),
        outputs: vec![],
    }
}

fn sample(second: u64) -> Sample {
    Sample {
        at_ms: second * 1000,
        cpu_ms: second * 1000,
        memory_kib: second,
        balloon_memory_kib: None,
        host_memory_kib: second,
        io_wait_ms: 0,
        ..Sample::default()
    }
}
