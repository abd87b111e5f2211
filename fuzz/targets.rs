//! The fuzz targets: readers of untrusted input. Each accepts any bytes, and panics only if a promise is broken.
//! `tests/models/fuzz_corpus.rs` runs the committed corpus through the same functions.

use mcc_harness::archive::{self, ArchiveLimits, ArchivePaths, Description, Tables, machine_files};
use mcc_harness::base::digest;
use mcc_harness::base::guest::{Exit, GuestEvent, MAX_LINE};
use mcc_harness::base::names::RunId;
use mcc_harness::benchkit::contest_table::Form;
use mcc_harness::benchkit::{Answers, JobFile, Questions, Reading, Value};
use mcc_harness::campaign::{Publication, Run};
use mcc_harness::certify::{Budget, Claim, convert_proof};
use mcc_harness::checker::{Certificate, Instance, Value as Claimed, Witness, read_scn, read_trace};
use mcc_harness::container::{Container, Limits};
use mcc_harness::edition::{AnswerKind, Edition, Examination, OtherEdition, Rules};
use mcc_harness::host::{self, Core, LeaseRegistry, Leases, Memory, Policy};
use mcc_harness::judge::contest_table::{Cores, Layout, export};
use mcc_harness::judge::record::{edition_of, read_unfinished};
use mcc_harness::judge::{RunResults, mcc, oracle, source, vector};
use mcc_harness::model::{Archive, Net, NodeNames, Nupn, Property, SymmetricNet, Total};
use mcc_harness::other_contests::{crv, svcomp};
use mcc_harness::report::{SiteInput, write_site};
use mcc_harness::store::{Attempt, CampaignFacts, Record, RecordPart, RecordSummary, SealKey};
use mcc_harness::vm::{Channel, EvidenceReader, Lines, Qmp, Received};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::net::Shutdown;
use std::num::NonZeroUsize;
use std::os::unix::net::UnixStream;
use std::path::{Component, Path};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// The name of a target and of its corpus, and the function that reads the bytes.
type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 24] = [
    ("answers", answers),
    ("table", table),
    ("pnml", pnml),
    ("properties", properties),
    ("edition", edition),
    ("jobs", jobs),
    ("benchexec", benchexec),
    ("scores", scores),
    ("measurements", measurements),
    ("guest", guest),
    ("qmp", qmp),
    ("leases", leases),
    ("record", record),
    ("archive", archive),
    ("container", container),
    ("witness", witness),
    ("certificate", certificate),
    ("scn", scn),
    ("smpt", smpt),
    ("total", total),
    ("database", database),
    ("shard", shard),
    ("publication", publication),
    ("evidence", evidence),
];

/// The output of a tool, read as each kind of examination: every position has an id, and every value can be read back.
pub fn answers(data: &[u8]) {
    for (answers, values) in
        [(AnswerKind::StateSpace, 4), (AnswerKind::Boolean, 16), (AnswerKind::Number, 16)]
    {
        let mut questions =
            Questions::as_printed(&Examination { name: "UpperBounds".to_owned(), answers, values });
        for published in [false, true] {
            let read = Answers::read(data, &questions, Reading { strict: false, published })
                .expect("reading from memory");
            assert_eq!(read.ids.len(), read.values.len());
            for value in read.values.iter().flatten() {
                assert_eq!(value.to_string().parse::<Value>().as_ref(), Ok(value));
            }
            // With the printed ids as questions, the same values are found.
            if answers != AnswerKind::StateSpace && read.ids.len() == values && !published {
                questions.ids = Some(read.ids.clone());
                let again = Answers::read(data, &questions, Reading::default()).expect("reading from memory");
                assert_eq!(again.values, read.values);
                questions.ids = None;
            }
        }
    }
}

/// A table of answers in either form: a table that is read can be judged, and its export has the same judgement.
pub fn table(data: &[u8]) {
    static RULES: OnceLock<Edition> = OnceLock::new();
    let rules = RULES.get_or_init(|| Edition::load("mcc-2018").expect("the edition of 2018"));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("table.csv");
    std::fs::write(&path, data).expect("a file");
    let read = || source::read_answers(rules, &path);
    let Ok(results) = read() else { return };
    let Some(before) = decided(rules, results) else { return };
    let out = folder.path().join("export.csv");
    let Ok(results) = read() else { panic!("the same table is refused when read again") };
    let written = export(rules, results, &Cores::new(), Layout::Results(Form::Exact), &out);
    let written = written.expect("a judged table can be exported");
    let mut again = match source::read_answers(rules, &written.paths[0]) {
        Ok(results) => results,
        // The export of a table with resigned entries only has no row.
        Err(source::SourceError::Empty { .. }) => return,
        Err(error) => panic!("the export is refused: {error}"),
    };
    let models = source::read_models(rules, &mut again, &written.paths[1]);
    models.expect("the exported models are read");
    source::read_tools(&mut again, &written.paths[2]).expect("the exported tools are read");
    assert_eq!(decided(rules, again).expect("the export can be judged"), before);
}

/// The judgement as JSON without its inputs and notes, or None if it is refused.
fn decided(rules: &Edition, results: RunResults) -> Option<String> {
    let mut judgement = mcc::judge(rules, results).ok()?;
    judgement.inputs.clear();
    judgement.notes.clear();
    Some(serde_json::to_string(&judgement).expect("a judgement is plain data"))
}

/// A PNML model and its NUPN section.
pub fn pnml(data: &[u8]) {
    let net = Net::read(data, "model.pnml");
    let nupn = Nupn::read(data, "model.pnml");
    let coloured = SymmetricNet::read(data, "model.pnml");
    assert!(coloured.is_err() || net.is_ok(), "a coloured net has a graph");
    if let (Ok(net), Ok(Some(nupn))) = (net, nupn) {
        nupn.faults(&net);
    }
}

/// A property file.
pub fn properties(data: &[u8]) {
    let _ = Property::read_set(&String::from_utf8_lossy(data), "UpperBounds.xml");
}

/// An edition file: an edition that is read equals the one read from its JSON.
pub fn edition(data: &[u8]) {
    let Ok(edition) = Edition::parse(&String::from_utf8_lossy(data), "edition.toml") else { return };
    let json = serde_json::to_string(&edition).expect("an edition is plain data");
    assert_eq!(serde_json::from_str::<Edition>(&json).expect("its own JSON"), edition);
}

/// A job file: a file that is read equals the one read from its written form; a campaign is made of it or refused.
pub fn jobs(data: &[u8]) {
    let Ok(file) = JobFile::read(&String::from_utf8_lossy(data)) else { return };
    if let Ok(text) = file.write() {
        assert_eq!(JobFile::read(&text).expect("the written file is read"), file);
    }
    static RULES: OnceLock<Edition> = OnceLock::new();
    let rules = RULES.get_or_init(|| Edition::load("mcc-2018").expect("the edition of 2018"));
    let _ = mcc_harness::campaign::CampaignFromJobFile::new(&file, "mcc-2018", rules, Path::new("models"));
}

/// A result file of BenchExec.
pub fn benchexec(data: &[u8]) {
    static RULES: OnceLock<Rules> = OnceLock::new();
    other_contests(&RULES, "svcomp-2024", "result.xml", data);
}

/// A table of scores of SV-COMP.
pub fn scores(data: &[u8]) {
    static RULES: OnceLock<Rules> = OnceLock::new();
    other_contests(&RULES, "svcomp-2013", "scores.csv", data);
}

/// A table of measurements or totals of CRV.
pub fn measurements(data: &[u8]) {
    static RULES: OnceLock<Rules> = OnceLock::new();
    other_contests(&RULES, "crv-2014", "measurements.csv", data);
}

/// Reads and judges the data twice; both judgements must be equal.
fn other_contests(rules: &OnceLock<Rules>, edition: &str, name: &str, data: &[u8]) {
    let Rules::Other(rules) = rules.get_or_init(|| Rules::load(edition).expect("an edition of this build"))
    else {
        panic!("{edition} is no edition of SV-COMP or CRV")
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, data).expect("a file");
    let judged = || match &**rules {
        OtherEdition::Svcomp(rules) => svcomp::judge(rules, svcomp::read(rules, &path, None).ok()?).ok(),
        OtherEdition::Crv(rules) => crv::judge(rules, crv::read(rules, &path).ok()?).ok(),
    };
    let written = || judged().map(|judgement| serde_json::to_string(&judgement).expect("plain data"));
    assert_eq!(written(), written());
}

/// Memory and CPU time of the machine of the target `guest`.
const MEMORY_KIB: u64 = 16 << 20;
const MAX_MS: u64 = 2 * 3_600_000;

/// The lines of a guest on its channel: every message that is accepted is within its bounds and is the same after it is
/// written and read again.
pub fn guest(data: &[u8]) {
    let (stream, _guest) = sent(data);
    let mut channel = Channel::Agent(Lines::new(stream, MAX_LINE));
    while let Ok(Some(received)) = channel.next() {
        let Received::Message(message) = received else { continue };
        let written = serde_json::to_string(&message).expect("a message is plain data");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&written).expect("its own JSON")["nonce"],
            *message.nonce
        );
        if !message.event.is_possible(MEMORY_KIB, MAX_MS) {
            continue;
        }
        match message.event {
            GuestEvent::Ready { memory_kib, .. } => assert!(memory_kib <= MEMORY_KIB),
            GuestEvent::Sample { memory_kib, cpu_ms, io_wait_ms, .. } => {
                assert!(memory_kib <= MEMORY_KIB && cpu_ms <= MAX_MS && io_wait_ms <= MAX_MS);
            }
            GuestEvent::Ended { exit, memory_kib, io_wait_ms, .. } => {
                assert!(memory_kib <= MEMORY_KIB && io_wait_ms <= MAX_MS);
                assert!(matches!(exit, Exit::Code(_) | Exit::Signal(1..=64)));
            }
            _ => {}
        }
    }
}

/// A stream with this data that ends, and its other end, which receives what is sent.
fn sent(data: &[u8]) -> (UnixStream, UnixStream) {
    let (here, mut there) = UnixStream::pair().expect("a pair of sockets");
    here.set_nonblocking(true).expect("a socket");
    there.set_nonblocking(true).expect("a socket");
    // What exceeds the buffer of a socket is cut.
    let _ = there.write(data);
    there.shutdown(Shutdown::Write).expect("a socket");
    (here, there)
}

/// The answers and events of QEMU to each command that is sent.
pub fn qmp(data: &[u8]) {
    let deadline = Instant::now() + Duration::from_secs(10);
    let (stream, _qemu) = sent(data);
    let mut qmp = Qmp::new(stream, None);
    let _ = qmp.negotiate(deadline);
    let _ = qmp.forwarded_port(deadline);
    let _ = qmp.execute("query-cpus-fast", deadline);
    if let Ok(state) = File::open("/dev/null") {
        let _ = qmp.save_state(&state, deadline);
        let _ = qmp.restore_state(&state, deadline);
    }
    while let Ok(Some(_)) = qmp.lines.next() {}
    assert!(Instant::now() < deadline, "it waited for a stream that has ended");
}

/// The lease file of another controller and the lock file of the registry, separated by a NUL: a lease is given or refused.
pub fn leases(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let page = folder.path().join("9-other.json");
    fs::write(&page, parts.next().unwrap_or_default()).expect("a file");
    if let Some(count) = parts.next() {
        fs::write(folder.path().join("turn"), count).expect("a file");
    }
    // Locked, as by a running controller.
    let other = File::open(&page).expect("the file");
    other.lock().expect("a lock");
    let Ok(registry) = LeaseRegistry::open(folder.path(), "campaign.toml") else { return };
    let cores = host::Cores {
        cores: (0..4).map(|cpu| Core { cpus: vec![cpu], ..Core::default() }).collect(),
        allowed: (0..4).collect(),
    };
    let memory = Memory { total_mib: 65_536, available_mib: 60_000, limited_by: None };
    let mut leases = Leases::new(&cores, &memory).with_registry(registry);
    for (vcpus, policy) in [(1, Policy::Contest), (2, Policy::AllowDegraded), (4, Policy::Contest)] {
        if let Ok(Some(lease)) = leases.lease(vcpus, 16_384, policy) {
            assert_eq!(lease.cpus.len(), vcpus as usize);
            leases.release(lease);
        }
    }
}

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
        let rows = include_str!("corpus/record/three-entries");
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
        let record =
            Record::create_or_open_shared(&results, &empty_facts()).expect("a record").sealed_with(key());
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
    let whole =
        Record::create_or_open_shared(&folder.path().join("whole"), &empty_facts()).expect("a record");
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

/// The lines of evidence of an original disk: what is passed on has a name of evidence and is within the limits of a job.
pub fn evidence(data: &[u8]) {
    let mut reader = EvidenceReader::new("n");
    let mut kept = 0;
    for line in data.split(|byte| *byte == b'\n') {
        let read = reader.read(line);
        while let Some(event) = reader.next_event() {
            assert!(event.is_possible(0, 0), "{event:?}");
            if let GuestEvent::Evidence { file, part } = event {
                assert!(mcc_harness::base::evidence::parse_name(&file).is_some());
                kept += part.len();
            }
        }
        if read.is_err() {
            break;
        }
    }
    // A replaced byte has three bytes.
    assert!(kept as u64 <= 3 * mcc_harness::base::budgets::EVIDENCE);
}

/// The facts of a campaign without entries and instances.
fn empty_facts() -> CampaignFacts {
    CampaignFacts {
        campaign: String::new(),
        settings: BTreeMap::new(),
        edition: "{}".into(),
        disks: vec![],
        entries: vec![],
        instances: vec![],
        retries: 0,
    }
}

fn write_record(text: &str, results: &Path) -> Result<(), Box<dyn std::error::Error>> {
    static EMPTY: OnceLock<Vec<u8>> = OnceLock::new();
    let empty = EMPTY.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let results = folder.path().join("results");
        drop(Record::create_or_open_shared(&results, &empty_facts()).expect("a record"));
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

/// The archive of a container, and a layer of one whose digests are right: a container that is read has bounded paths, and
/// nothing is written outside of the folder of contents.
pub fn container(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let layer = with_checksums(data);
    let id = digest::bytes(&layer);
    let config = format!(
        r#"{{"architecture": "amd64", "os": "linux", "config": {{"Env": ["A=b"]}},
            "rootfs": {{"type": "layers", "diff_ids": ["sha256:{id}"]}}}}"#
    );
    let around = folder.path().join("around");
    fs::create_dir(&around).expect("a folder");
    let manifest = r#"[{"Config": "config.json", "Layers": ["layer.tar"]}]"#;
    for (name, bytes) in [
        ("layer.tar", &layer[..]),
        ("config.json", config.as_bytes()),
        ("manifest.json", manifest.as_bytes()),
    ] {
        fs::write(around.join(name), bytes).expect("a file");
    }
    let archive = folder.path().join("archive");
    fs::write(&archive, &layer).expect("a file");
    for (path, name) in [(&around, "first"), (&archive, "second")] {
        let spool = folder.path().join(name);
        fs::create_dir(&spool).expect("a folder");
        let limits = Limits { bytes: 1 << 20, entries: 1000 };
        let Ok(mut container) = Container::read(path, &spool, limits, &|_| {}) else { continue };
        let paths = container.paths();
        assert!(paths.len() <= 600_000 && paths.iter().all(|path| path.len() < 8192));
        let _ = container.adapt(None);
        let numbered = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().parse::<u64>().is_ok();
        let mut spooled = fs::read_dir(&spool).expect("the folder").map(|entry| entry.expect("an entry"));
        assert!(spooled.all(|entry| numbered(&entry) || entry.file_name() == "archive.tar"));
    }
    let entries = fs::read_dir(folder.path()).expect("the folder").count();
    assert!(entries <= 4, "a file outside of the folders");
}

/// The bytes with a right checksum in each block that looks like the header of a tar archive, so that mutations are read.
fn with_checksums(data: &[u8]) -> Vec<u8> {
    let mut data = data.to_vec();
    for block in data.chunks_exact_mut(512).filter(|block| block[257..262] == *b"ustar") {
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    data
}

/// The text of a file of an instance of the conformance vectors, after its name.
macro_rules! vector {
    ($instance:literal, $file:literal) => {
        ($file, include_str!(concat!("../tests/data/evidence/instances/", $instance, "/", $file)))
    };
}

/// P/T and coloured instances for the checkers.
fn checked_instances() -> &'static [(String, Instance)] {
    static INSTANCES: OnceLock<Vec<(String, Instance)>> = OnceLock::new();
    INSTANCES.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let plain = folder.path().join("LibraryRoom-PT-R05W02.tgz");
        fs::write(&plain, include_bytes!("../pnml-fixtures/LibraryRoom-PT-R05W02.tgz")).expect("an archive");
        let write = |name: &str, files: &[(&str, &str)]| {
            let path = folder.path().join(name);
            fs::create_dir(&path).expect("a folder");
            for (file, content) in files {
                fs::write(path.join(file), content).expect("a file");
            }
            path
        };
        let coloured = write("Colours-COL-1", &[vector!("Colours-COL-1", "model.pnml")]);
        let choice = write("Choice-PT-1", &[vector!("Choice-PT-1", "model.pnml")]);
        let switch = [
            vector!("Switch-PT-1", "model.pnml"),
            vector!("Switch-PT-1", "ReachabilityCardinality.xml"),
            vector!("Switch-PT-1", "CTLCardinality.xml"),
        ];
        let switch = write("Switch-PT-1", &switch);
        let read = |path| {
            let archive = Archive::open(path).expect("an instance");
            (archive.instance.to_string(), Instance::read(&archive).expect("a net"))
        };
        [plain, coloured, choice, switch].iter().map(|path| read(path)).collect()
    })
}

/// The other truth; None for other values.
fn opposite(value: &Claimed) -> Option<Claimed> {
    match value {
        Claimed::Truth(truth) => Some(Claimed::Truth(!truth)),
        Claimed::Number(_) | Claimed::Infinite => None,
    }
}

/// A witness, or a trace of verifypn: what is accepted is accepted again from its text, and shows no value and its opposite.
pub fn witness(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let _ = read_trace(&text);
    let Ok(witness) = Witness::read(&text) else { return };
    let again = Witness::read(&serde_json::to_string(&witness).expect("plain data")).expect("its own text");
    assert_eq!(again, witness);
    for (_, instance) in checked_instances().iter().filter(|(name, _)| *name == witness.instance) {
        if instance.check_witness(&witness).is_ok()
            && let Some(value) = opposite(&witness.value)
        {
            assert!(instance.check_witness(&Witness { value, ..witness.clone() }).is_err());
        }
    }
}

/// A certificate: as a witness.
pub fn certificate(data: &[u8]) {
    let Ok(certificate) = Certificate::read(&String::from_utf8_lossy(data)) else { return };
    let text = serde_json::to_string(&certificate).expect("plain data");
    assert_eq!(Certificate::read(&text).expect("its own text"), certificate);
    for (_, instance) in checked_instances().iter().filter(|(name, _)| *name == certificate.instance) {
        if instance.check_certificate(&certificate).is_ok()
            && let Some(value) = opposite(&certificate.value)
        {
            assert!(instance.check_certificate(&Certificate { value, ..certificate.clone() }).is_err());
        }
    }
}

/// The instance Switch-PT-1 of the conformance vectors, which is unpacked once.
fn switch() -> &'static Archive {
    static SWITCH: OnceLock<(tempfile::TempDir, Archive)> = OnceLock::new();
    let (_, archive) = SWITCH.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("Switch-PT-1");
        fs::create_dir(&path).expect("a folder");
        for (file, content) in
            [vector!("Switch-PT-1", "model.pnml"), vector!("Switch-PT-1", "ReachabilityCardinality.xml")]
        {
            fs::write(path.join(file), content).expect("a file");
        }
        let archive = Archive::open(&path).expect("an instance");
        (folder, archive)
    });
    archive
}

/// A firing sequence of TINA: one that is read has transitions of the net, and is read again from its names in braces.
pub fn scn(data: &[u8]) {
    static NAMES: OnceLock<NodeNames> = OnceLock::new();
    let names = NAMES.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("Named-PT-1");
        fs::create_dir(&path).expect("a folder");
        let nodes = [("t0", "one"), ("t-1", "t2"), ("t.3", "{a}\\b"), ("t4", "same"), ("t5", "same")];
        let nodes = nodes
            .map(|(id, name)| format!("<transition id='{id}'><name><text>{name}</text></name></transition>"));
        let net = "<pnml><net id='Named-PT-1' type='ptnet'><page id='g'>NODES</page></net></pnml>";
        fs::write(path.join("model.pnml"), net.replace("NODES", &nodes.concat())).expect("a file");
        let archive = Archive::open(&path).expect("an instance");
        NodeNames::read(&archive, "transition", str::to_owned).expect("its transitions")
    });
    let Ok(run) = read_scn(&String::from_utf8_lossy(data), names) else { return };
    let written: Vec<String> = run.steps.iter().map(|step| format!("{{{}}}", step.transition)).collect();
    assert_eq!(read_scn(&written.join("\n"), names).expect("its own names").steps, run.steps);
}

/// A proof of SMPT: one that is converted gives a certificate that is accepted from its text.
pub fn smpt(data: &[u8]) {
    static INSTANCE: OnceLock<Instance> = OnceLock::new();
    let instance = INSTANCE.get_or_init(|| Instance::read(switch()).expect("a net"));
    let text = String::from_utf8_lossy(data);
    let cancel = AtomicBool::new(false);
    let budget =
        Budget { steps: u64::MAX, time: Duration::from_secs(2), memory_bytes: 1 << 28, cancel: &cancel };
    let claim = Claim { examination: "ReachabilityCardinality", property: "f3", value: true };
    let Ok(certificate) = convert_proof(switch(), &text, claim, &budget) else { return };
    let written = serde_json::to_string(&certificate).expect("plain data");
    let again = Certificate::read(&written).expect("its own text");
    instance.check_certificate(&again).expect("an accepted certificate");
}

/// The output of a tool in each total examination, and the same bytes as its oracle file: values are read again from their text.
pub fn total(data: &[u8]) {
    static QUESTIONS: OnceLock<Vec<(&Total, Examination, Questions)>> = OnceLock::new();
    let known = QUESTIONS.get_or_init(|| {
        let questions = |total: &'static Total| {
            let answers = if total.is_number() { AnswerKind::Number } else { AnswerKind::Boolean };
            let examination = Examination { name: total.examination.to_owned(), answers, values: 0 };
            let questions = Questions::read(switch(), &examination).expect("its questions");
            (total, examination, questions)
        };
        Total::ALL.into_iter().map(questions).collect()
    });
    let folder = tempfile::tempdir().expect("a folder");
    for (total, examination, questions) in known {
        let ids = questions.ids.as_deref().expect("ids of a net");
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let read = Answers::read(data, questions, Reading::default()).expect("reading from memory");
        assert_eq!((read.ids.len(), read.values.len()), (ids.len(), ids.len()));
        for value in read.values.iter().flatten() {
            assert_eq!(value.to_string().parse::<Value>().as_ref(), Ok(value));
        }
        let oracle = |bytes: &[u8]| {
            let file = folder.path().join(format!("Switch-PT-1-{}.out", total.short));
            fs::write(file, bytes).expect("a file");
            oracle::read(folder.path(), "Switch-PT-1", examination, &ids)
        };
        let Ok(Some((values, _))) = oracle(data) else { continue };
        assert_eq!(values.len(), ids.len());
        let text = vector::text("Switch-PT-1", total, &values);
        let (again, bad) = oracle(text.as_bytes()).expect("its own text").expect("a file");
        assert!(bad.is_empty() && again == values, "{text}");
    }
}
