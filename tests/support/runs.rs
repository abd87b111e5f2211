//! Records without machines: outputs of native runs of the reference tool, recorded as the runs of a campaign.

use super::tool;
use mcc_harness::benchkit::Questions;
use mcc_harness::campaign::{EntryFacts, InstanceFacts, Kind, Run};
use mcc_harness::edition::Edition;
use mcc_harness::model::Archive;
use mcc_harness::store::{Attempt, CampaignFacts, Environment, HostFacts, Outcome, Record, RunFacts};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The entries: name, and the arguments of the reference tool, or None if the entry does not compete.
pub const ENTRIES: [(&str, Option<&str>); 5] = [
    ("breadth", Some("--strategy bfs")),
    ("depth", Some("--strategy dfs")),
    ("walk", Some("--strategy walk")),
    ("liar", Some("--strategy liar")),
    ("absent", None),
];

/// The output of the reference tool with these arguments on an unpacked instance.
pub fn printed(folder: &Path, examination: &str, args: &str) -> Vec<u8> {
    let output = tool::command(folder, examination, args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn host() -> HostFacts {
    HostFacts {
        name: "node-17".into(),
        cpu: "some cpu".into(),
        cores: 8,
        usable_cores: None,
        memory_mib: 65_536,
        kernel: "6.1".into(),
        accelerator: "kvm".into(),
        qemu: "7.2.22".into(),
    }
}

/// Creates the record of a finished campaign on these archives in `dir`. `print` returns the output of an entry with
/// these arguments on an instance. Times and memory differ by run; of nine runs one was cut by the CPU limit and one
/// crashed, and their outputs are kept.
pub fn record(
    dir: &Path,
    archives: &[PathBuf],
    examinations: &[&str],
    print: impl Fn(&Path, &str, &str) -> Vec<u8>,
) -> Record {
    let edition = Edition::load("mcc-2018").unwrap();
    let mut instances = Vec::new();
    let mut unpacked = BTreeMap::new();
    for path in archives {
        let archive = Archive::open(path).unwrap();
        let mut questions = BTreeMap::new();
        for name in examinations {
            let ids = Questions::read(&archive, edition.examination(name).unwrap().1).unwrap().ids;
            questions.insert(name.parse().unwrap(), ids.unwrap());
        }
        let name = archive.instance.clone();
        let surprise = archive.markers().new_model;
        instances.push(InstanceFacts {
            name: name.clone(),
            family: archive.instance.family().to_owned(),
            status: if surprise { "surprise" } else { "known" }.to_owned(),
            sha256: "22".repeat(32),
            questions,
        });
        unpacked.insert(name, tool::unpack(path));
    }
    let kind = |entry: &str| if entry == "depth" { Kind::Concurrent } else { Kind::Sequential };
    let not_competing = ENTRIES.iter().filter(|(_, args)| args.is_none());
    let mut settings: BTreeMap<String, String> =
        not_competing.map(|(entry, _)| (format!("not_competing of {entry}"), "*".to_owned())).collect();
    settings.insert("examinations".to_owned(), examinations.join(" "));
    let facts = CampaignFacts {
        campaign: "edition = \"mcc-2018\"\n".into(),
        settings,
        edition: serde_json::to_string(&edition).unwrap(),
        disks: vec![],
        entries: ENTRIES
            .iter()
            .map(|(entry, _)| EntryFacts {
                entry: entry.parse().unwrap(),
                tool: entry.to_string(),
                kind: kind(entry),
            })
            .collect(),
        instances: instances.clone(),
        retries: 0,
    };
    let record = Record::create_or_open(dir, &facts).unwrap();
    let mut runs = Vec::new();
    for instance in &instances {
        for examination in examinations {
            for (entry, args) in ENTRIES {
                runs.push(Run {
                    entry: entry.parse().unwrap(),
                    instance: instance.name.clone(),
                    examination: examination.parse().unwrap(),
                    model: instance.family.clone(),
                    vcpus: 1,
                    competes: args.is_some(),
                });
            }
        }
    }
    record.plan_runs(&runs).unwrap();
    for (number, run) in runs.iter().enumerate() {
        let args = ENTRIES.iter().find(|(entry, _)| run.entry == *entry).unwrap().1;
        let outcome = match number % 9 {
            _ if args.is_none() => Outcome::NotCompeting,
            2 => Outcome::CpuLimit,
            5 => Outcome::ToolCrash { signal: 11 },
            _ => Outcome::Finished { exit_code: 0 },
        };
        let attempt_dir = record.begin_attempt(&run.id()).unwrap();
        if let Some(args) = args {
            let text = print(&unpacked[&run.instance].path, &run.examination, args);
            fs::write(attempt_dir.outputs().join("stdout"), text).unwrap();
        }
        let number = number as u64;
        let is_limited = outcome == Outcome::CpuLimit;
        let attempt = Attempt {
            run: run.id(),
            number: attempt_dir.number(),
            outcome,
            marks: if run.entry == "walk" { vec!["degraded:tcg".into()] } else { vec![] },
            started_at: "2026-11-21T06:00:00Z".into(),
            host: host(),
            environment: Environment::default(),
            disks: vec![],
            machine: vec![],
            facts: args.map(|_| RunFacts {
                boot_ms: 2000,
                wall_ms: 1000 + number * 37 % 1009,
                // The limit is that of mcc-2018.
                cpu_ms: if is_limited { 3_600_000 } else { 900 } + number * 53 % 1013,
                prepare_cpu_ms: 0,
                collect_cpu_ms: 0,
                vcpus: 1,
                memory_kib: (number % 4 != 3).then_some(100_000 + number * 7919 % 99_991),
                memory_source: None,
                balloon_memory_kib: None,
                host_memory_kib: None,
                io_wait_ms: None,
                kernel_log: vec![],
                written: vec![],
                stdout_bytes: 0,
                stderr_bytes: 0,
                samples: vec![],
                ..RunFacts::default()
            }),
            outputs: vec![],
        };
        record.commit(attempt, attempt_dir).unwrap();
    }
    record
}
