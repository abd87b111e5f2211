//! Records, their databases and shards, and archives.

use mcc_harness::archive::{self, ArchiveLimits, ArchivePaths, Description, Tables, machine_files};
use mcc_harness::base::names::RunId;
use mcc_harness::campaign::{Publication, Run};
use mcc_harness::judge::mcc;
use mcc_harness::judge::record::{edition_of, read_unfinished};
use mcc_harness::report::{SiteInput, write_site};
use mcc_harness::store::{Attempt, CampaignFacts, Record, RecordPart, RecordSummary, SealKey};
use rusqlite::Connection;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Component, Path};
use std::sync::OnceLock;

/// The rows of a record, one per line: the table, then its columns; the rest of the line is the last column. `output` is the
/// standard output of an attempt. A record that is opened can be summarized, judged and shown, or is refused.
pub fn record(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("results");
    let Ok(()) = write_record(&String::from_utf8_lossy(data), &results) else { return };
    read_and_judge(&results, folder.path());
}

/// Opens the record in `results`; what is opened is judged and shown in a site in `folder`.
fn read_and_judge(results: &Path, folder: &Path) {
    let _ = RecordSummary::at(results);
    let Ok(record) = Record::open_readonly(results) else { return };
    let _ = record.summary();
    record.open_runs().for_each(drop);
    for run in record.records() {
        let Ok(run) = run else { return };
        let outputs = record.outputs_dir(&run.run.id(), run.attempts);
        let below = outputs.strip_prefix(results).expect("below the results");
        assert!(below.components().all(|part| matches!(part, Component::Normal(_))), "{}", outputs.display());
        machine_files(&run.last);
        let _ = record.samples(&run.last);
        let _ = record.attempts(&run.run.id());
    }
    let Ok(edition) = edition_of(&record) else { return };
    let Ok(results) = read_unfinished(&edition, &record) else { return };
    let Ok(judgement) = mcc::judge(&edition, results) else { return };
    let input = SiteInput { record: Some(&record), ..SiteInput::default() };
    let _ = write_site(&judgement, input, NonZeroUsize::MIN, &folder.join("site"));
}

/// Changed bytes of the database of a record with three runs: four bytes each, the place from the smallest byte on, then the
/// value. A record that is opened is as in `record`.
pub fn database(data: &[u8]) {
    static RECORD: OnceLock<Vec<u8>> = OnceLock::new();
    let database = RECORD.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let results = folder.path().join("results");
        let rows = include_str!("../corpus/record/three-entries");
        write_record(rows, &results).expect("a record");
        fs::read(results.join("record.db")).expect("its database")
    });
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("results");
    fs::create_dir(&results).expect("a folder");
    fs::write(results.join("record.db"), changed(database, data)).expect("a file");
    read_and_judge(&results, folder.path());
}

fn changed(bytes: &[u8], changes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for change in changes.chunks_exact(4) {
        let place = usize::from(change[0]) | usize::from(change[1]) << 8 | usize::from(change[2]) << 16;
        let length = bytes.len();
        bytes[place % length] = change[3];
    }
    bytes
}

/// The attempt that a job sealed.
const SEALED: &str = r#"{"run": "one/Switch-PT-1/StateSpace", "number": 1, "outcome": "finished", "exit_code": 0, "marks": ["degraded:tcg", "degraded:shared-cores", "degraded:cpu-flags"], "started_at": "2026-11-22T15:44:46Z", "host": {"name": "vm", "cpu": "Intel(R) Xeon(R) Processor", "cores": 2, "memory_mib": 24105, "kernel": "6.1", "accelerator": "tcg", "qemu": "7.2.22"}, "disks": [{"role": "disk", "sha256": "87d597696fdb000b1a54567892b8b1a8af0559d6823a6a96a05f16b32bbc54db", "bytes": 145948672}], "machine": ["-m", "512M"], "environment": {"cpus": [0], "confined": ["sandbox on", "user nobody", "cgroup v1 of at most 2560 MiB"], "unconfined": [], "guest_kernel": "6.1.0-56-cloud-amd64", "cpu_flags": ["avx"], "cpu_flags_missing": ["x2apic", "tsc_deadline_timer"]}, "facts": {"boot_ms": 4510, "wall_ms": 1001, "cpu_ms": 343, "prepare_cpu_ms": 128, "collect_cpu_ms": 18, "vcpus": 1, "memory_kib": 6236, "memory_source": "guest-cgroup", "balloon_memory_kib": null, "host_memory_kib": 256924, "io_wait_ms": 20, "kernel_log": [], "stdout_bytes": 338, "stderr_bytes": 0}, "outputs": []}"#;

/// Changed bytes of the record of a job, as in `database`: its merge takes the attempt that the job sealed, or nothing.
pub fn shard(data: &[u8]) {
    const MODEL: &str = "Switch";
    let run: Run = serde_json::from_str(
        r#"{"entry":"one","instance":"Switch-PT-1","examination":"StateSpace","model":"Switch","vcpus":1,"competes":true}"#,
    )
    .expect("a run");
    let key = || SealKey("5a".repeat(32));
    static SHARD: OnceLock<(Vec<u8>, Attempt)> = OnceLock::new();
    let (database, sealed) = SHARD.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let results = folder.path().join("shard");
        let record = Record::create_or_open_shared(&results, &CampaignFacts::default())
            .expect("a record")
            .sealed_with(key());
        record.plan_runs(std::slice::from_ref(&run)).expect("a plan");
        let attempt = record.begin_attempt(&run.id()).expect("an attempt");
        let committed: Attempt = serde_json::from_str(SEALED).expect("an attempt");
        record.commit(committed, attempt).expect("an attempt");
        let sealed = record.attempts(&run.id()).expect("the attempts").remove(0);
        drop(record);
        (fs::read(results.join("record.db")).expect("its database"), sealed)
    });
    let folder = tempfile::tempdir().expect("a folder");
    let results = folder.path().join("shard");
    fs::create_dir_all(results.join("outputs").join(run.id().as_str()).join("1")).expect("a folder");
    fs::write(results.join("record.db"), changed(database, data)).expect("a file");
    let Ok(part) = Record::open_readonly(&results) else { return };
    let whole = Record::create_or_open_shared(&folder.path().join("whole"), &CampaignFacts::default())
        .expect("a record");
    whole.plan_runs(std::slice::from_ref(&run)).expect("a plan");
    let merged = whole.merge_parts(MODEL, &key(), &[RecordPart { record: &part, superseded: None }]);
    let attempts = whole.attempts(&run.id()).expect("a record without changes");
    match merged {
        Ok(_) => assert!(attempts.is_empty() || attempts == [sealed.clone()]),
        Err(_) => assert_eq!(attempts, []),
    }
}

/// A campaign file with `[publication]`: what is read is read again from its JSON, and the files of metadata are valid and one
/// file each.
pub fn publication(data: &[u8]) {
    let Ok(Some(publication)) = Publication::of_text(&String::from_utf8_lossy(data)) else { return };
    let json = serde_json::to_string(&publication).expect("plain data");
    assert_eq!(serde_json::from_str::<Publication>(&json).expect("its own JSON"), publication);
    let folder = tempfile::tempdir().expect("a folder");
    let description = Description {
        edition_title: "Model Checking Contest",
        content: "Answers",
        publication: Some(&publication),
        day_or_year: None,
        entries: &[],
        tables: Tables { files: vec![], entries: None, instances: None },
        files: vec![],
        archive: None,
    };
    archive::write_metadata(folder.path(), &description).expect("its files");
    let citation = fs::read_to_string(folder.path().join("CITATION.cff")).unwrap_or_default();
    for line in citation.lines() {
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
}

fn write_record(text: &str, results: &Path) -> Result<(), Box<dyn std::error::Error>> {
    static EMPTY: OnceLock<Vec<u8>> = OnceLock::new();
    let empty = EMPTY.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let results = folder.path().join("results");
        drop(Record::create_or_open_shared(&results, &CampaignFacts::default()).expect("a record"));
        fs::read(results.join("record.db")).expect("its database")
    });
    fs::create_dir(results)?;
    fs::write(results.join("record.db"), empty)?;
    let db = Connection::open(results.join("record.db"))?;
    db.execute_batch("PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; BEGIN")?;
    for line in text.lines() {
        let (table, columns) = line.split_once(' ').unwrap_or((line, ""));
        let count = match table {
            "attempt" => 5,
            "output" | "rerun" => 3,
            "run" | "open" => 2,
            _ => 1,
        };
        let columns: Vec<&str> = columns.splitn(count, ' ').collect();
        // A row that SQLite refuses cannot be in a record.
        let _ = match (table, &columns[..]) {
            ("campaign", [facts]) => {
                db.execute("UPDATE facts SET value = ?1 WHERE key = 'campaign'", [facts])
            }
            ("instance", [facts]) => db.execute("INSERT INTO instances (facts) VALUES (?1)", [facts]),
            ("run" | "open", [id, facts]) => db.execute(
                "INSERT INTO runs (id, facts, recorded, model)
                 VALUES (?1, ?2, ?3, CASE json_valid(?2) WHEN 1 THEN json_extract(?2, '$.model') END)",
                (id, facts, table == "run"),
            ),
            ("attempt", [run, number, ms, outcome, facts]) => db.execute(
                "INSERT INTO attempts (run, number, ms, outcome, facts) VALUES (?1, ?2, ?3, ?4, ?5)",
                (run, number, ms, outcome, facts),
            ),
            ("rerun", [run, after, reason]) => db
                .execute("INSERT INTO reruns (run, after, reason) VALUES (?1, ?2, ?3)", (run, after, reason)),
            ("output", [id, number, output]) => {
                if let (Ok(id), Ok(number)) = (id.parse::<RunId>(), number.parse::<u32>()) {
                    let folder = results.join("outputs").join(id.as_str()).join(number.to_string());
                    fs::create_dir_all(&folder)?;
                    fs::write(folder.join("stdout"), output.replace('\t', "\n"))?;
                }
                Ok(0)
            }
            _ => Ok(0),
        };
    }
    Ok(db.execute_batch("COMMIT")?)
}

/// The tar of an archive, and the same bytes as its `archive.json`: nothing is written outside of the folder.
pub fn archive(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("archive.tar.zst");
    fs::write(&path, zstd::encode_all(data, 1).expect("compression in memory")).expect("a file");
    let inner = folder.path().join("below");
    let to = inner.join("unpacked");
    fs::create_dir_all(&to).expect("a folder");
    let _ = archive::unpack(&path, &to, ArchiveLimits { entries: 1000, bytes: 1 << 20, ratio: 250 });
    let names = |place: &Path| fs::read_dir(place).expect("the folder").count();
    assert_eq!((names(folder.path()), names(&inner)), (2, 1), "a file outside of the folder");
    let _ = ArchivePaths(&to).facts();
    fs::write(inner.join("archive.json"), data).expect("a file");
    let _ = ArchivePaths(&inner).facts();
}
