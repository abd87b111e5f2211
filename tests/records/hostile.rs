//! Malicious and invalid input: one error with place and remedy, exit code 2, in bounded time and memory (R7).

use crate::support::recorded_runs::{FINISHED, infrastructure_failure, make, open, run};
use crate::support::{contest, data};

use assert_cmd::Command;
use flate2::Compression;
use flate2::write::GzEncoder;
use mcc_harness::base::names::is_reserved;
use mcc_harness::judge::judgement::{Cost, Status};
use mcc_harness::judge::{RunResult, RunResults};
use mcc_harness::store::{Record, RecordSummary};
use mcc_harness::{edition::Edition, judge};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

const HEADER: &str = "tool,instance,examination,answers,wrong\n";
const NET: &str = "<pnml><net id='N-PT-1' type='ptnet'><page><place id='p'/></page></net></pnml>";

fn harness(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let mut command = Command::cargo_bin("mcc-harness").unwrap();
    // The time limit ends a program that waits for a pipe. It is far longer than any of these commands.
    let limit = Duration::from_secs(600);
    let output = command.current_dir(folder).args(arguments).timeout(limit).output().unwrap();
    let message = String::from_utf8(output.stderr).expect("messages are UTF-8");
    (output.status.code().expect("not killed"), message)
}

/// Asserts exit code 2 and a short message with these parts and without control characters.
fn refused(folder: &Path, arguments: &[&str], parts: &[&str]) {
    let (code, message) = harness(folder, arguments);
    assert_eq!(code, 2, "{arguments:?}: {message}");
    for part in parts {
        assert!(message.contains(part), "{arguments:?}: no {part} in {message}");
    }
    assert!(message.len() < 10_000 && !message.contains(['\x1b', '\0']), "{message:?}");
}

/// Asserts that a table of answers is refused with these parts of a message.
fn judge(folder: &Path, table: impl AsRef<[u8]>, parts: &[&str]) {
    fs::write(folder.join("answers.csv"), table).unwrap();
    refused(folder, &["judge", "answers.csv", "--edition", "mcc-2018", "--out", "judged"], parts);
    assert!(!folder.join("judged").exists(), "nothing is written for refused input");
}

#[test]
fn invalid_answer_tables_are_refused_with_the_line() {
    let folder = TempDir::new().unwrap();
    let row = |answers: &str| format!("{HEADER}a,b,StateSpace,{answers},\n");
    let utf16: Vec<u8> = HEADER.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let cases: [(Vec<u8>, &str); 10] = [
        (Vec::new(), "answers.csv:1: header"),
        (HEADER.into(), "answers.csv:1: no row follows the header"),
        ([b"\x1b[31m\0".as_slice(), HEADER.as_bytes()].concat(), "answers.csv:1: header `⟨ESC⟩[31m⟨NUL⟩"),
        ([HEADER.as_bytes(), b"\xe9,b,StateSpace,1 2 3 4,\n"].concat(), "answers.csv:2: "),
        ([b"\xff\xfe", utf16.as_slice()].concat(), "answers.csv:1: not text in UTF-8; "),
        (row("1 2 3").into(), "answers.csv:2: 3 answers, StateSpace has 4 positions"),
        (row(&format!("{} 2 3 4", "9".repeat(1_000_000))).into(), "answers.csv:2: column answers: `999"),
        (row("1.0000E+9999999999 2 3 4").into(), "is not an answer"),
        ((row("1 2 3 4") + "a,b,StateSpace,1 2 3 4,\n").into(), "answers.csv:3: the same tool"),
        ((HEADER.to_owned() + &many_tools()).into(), "answers.csv:1002: more than 1000 tools"),
    ];
    for (table, part) in cases {
        judge(folder.path(), table, &[part]);
    }
}

fn many_tools() -> String {
    (0..70_000).map(|tool| format!("t{tool},i,StateSpace,{tool} 2 3 4,\n")).collect()
}

#[test]
fn an_endless_row_is_refused_in_bounded_memory() {
    let folder = TempDir::new().unwrap();
    for start in ["", HEADER, &format!("{HEADER}\"")] {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(start.as_bytes()).unwrap();
        io::copy(&mut io::repeat(b'a').take(200 << 20), &mut packed).unwrap();
        judge(folder.path(), packed.finish().unwrap(), &["answers.csv:", "longer than 8388608 bytes"]);
    }
}

#[test]
fn an_entry_without_answers_in_a_tools_table_is_refused() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("answers.csv"), format!("{HEADER}a,b,StateSpace,1 2 3 4,\n")).unwrap();
    fs::write(folder.path().join("tools.csv"), "entry,tool,status\na,a,competing\nz,z,competing\n").unwrap();
    let arguments = ["judge", "answers.csv", "--edition", "mcc-2018", "--tools", "tools.csv", "--out", "out"];
    refused(folder.path(), &arguments, &["tools.csv:3: entry z has no answers; entries are a"]);
}

/// An archive that is being written.
struct Packing(tar::Builder<GzEncoder<File>>);

impl Packing {
    fn new(path: &Path) -> Self {
        Self(tar::Builder::new(GzEncoder::new(File::create(path).unwrap(), Compression::fast())))
    }

    fn add(mut self, name: &str, kind: tar::EntryType, size: u64, content: impl Read) -> Self {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o755);
        header.set_path(name).unwrap();
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_cksum();
        self.0.append(&header, content).unwrap();
        self
    }

    fn file(self, name: &str, content: &str) -> Self {
        self.add(name, tar::EntryType::Regular, content.len() as u64, content.as_bytes())
    }

    fn finish(self) {
        self.0.into_inner().unwrap().finish().unwrap();
    }
}

/// Asserts that `lint` refuses the archive `N-PT-1.tgz` with these parts of a message.
fn lint(folder: &Path, parts: &[&str]) {
    fs::write(folder.join("stdout"), "").unwrap();
    let arguments = ["lint", "stdout", "--instance", "N-PT-1.tgz", "--examination", "CTLFireability"];
    refused(folder, &arguments, parts);
}

#[test]
fn large_archive_headers_are_refused_in_bounded_memory() {
    let folder = TempDir::new().unwrap();
    for kind in [tar::EntryType::GNULongName, tar::EntryType::XHeader] {
        let size = 100 << 20;
        Packing::new(&folder.path().join("N-PT-1.tgz"))
            .add("long", kind, size, io::repeat(b'a').take(size))
            .file("N-PT-1/model.pnml", NET)
            .finish();
        lint(folder.path(), &["N-PT-1.tgz: the entry \"long\" is a header longer than 65536 bytes"]);
    }
}

#[test]
fn long_names_and_pax_headers_of_archives_are_read() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("N-PT-1.tgz");
    let pax = "31 path=N-PT-1/UpperBounds.xml\n";
    let packing = Packing::new(&path)
        .add("@LongLink", tar::EntryType::GNULongName, 18, &b"N-PT-1/model.pnml\0"[..])
        .file("cut-off", NET)
        .add("pax", tar::EntryType::XHeader, pax.len() as u64, pax.as_bytes());
    packing.file("cut-off-too", "<property-set/>").finish();
    let archive = mcc_harness::model::Archive::open(&path).unwrap();
    assert_eq!(archive.net().unwrap().places.len(), 1);
    assert!(archive.file("UpperBounds.xml").is_some());
}

#[test]
fn deep_property_files_are_refused_and_long_ones_are_read() {
    let folder = TempDir::new().unwrap();
    let with = |formulas: &str| {
        let set = format!("<property-set>{formulas}</property-set>");
        Packing::new(&folder.path().join("N-PT-1.tgz"))
            .file("N-PT-1/model.pnml", NET)
            .file("N-PT-1/CTLFireability.xml", &set)
            .finish();
    };
    let deep = ["<negation>".repeat(200_000), "</negation>".repeat(200_000)].join("<deadlock/>");
    with(&format!("<property><id>x</id><formula>{deep}</formula></property>"));
    lint(folder.path(), &["N-PT-1/CTLFireability.xml:1: elements are nested deeper than 1000"]);
    with("<!DOCTYPE x>");
    lint(folder.path(), &["N-PT-1/CTLFireability.xml:1: "]);
    let many = |n| format!("<property><id>x{n}</id><formula><deadlock/></formula></property>");
    with(&(0..100_000).map(many).collect::<String>());
    let arguments = ["lint", "stdout", "--instance", "N-PT-1.tgz", "--examination", "CTLFireability"];
    let (code, message) = harness(folder.path(), &arguments);
    assert_eq!((code, message.as_str()), (1, ""), "an output without answers is not an input error");
}

#[test]
fn an_archive_named_after_another_instance_is_refused() {
    let folder = TempDir::new().unwrap();
    let models = folder.path().join("models");
    fs::create_dir(&models).unwrap();
    Packing::new(&models.join("A-PT-1.tgz")).file("Other-PT-1/model.pnml", NET).finish();
    let campaign = "edition = \"mcc-2018\"\ninputs = \"models\"\n\
                    [[tool]]\nentry = \"a\"\nimage = \"x\"\nkind = \"sequential\"\n";
    fs::write(folder.path().join("campaign.toml"), campaign).unwrap();
    let parts = ["campaign.toml:2: inputs: A-PT-1.tgz holds the folder Other-PT-1; name it Other-PT-1.tgz"];
    refused(folder.path(), &["plan", "campaign.toml"], &parts);
}

#[test]
fn campaigns_with_extreme_values_are_refused_with_the_line() {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("models")).unwrap();
    let good = "edition = \"mcc-2018\"\ninputs = \"models\"\n\
                [[tool]]\nentry = \"a\"\nimage = \"x\"\nkind = \"sequential\"\n";
    for (campaign, part) in [
        ("a = ".to_owned() + &"[".repeat(100_000), "campaign.toml:1: "),
        (good.to_owned() + "[limits]\nwall_s = 9223372036854775807\n", "campaign.toml:8: `wall_s = 92"),
        (good.to_owned() + "[hosts]\nretries = 4294967295\n", "campaign.toml:8: `retries = 42"),
        (good.to_owned() + "[hosts]\nboot_deadline_s = 0\n", "0 is not from 1 to 86400"),
        (good.replace("\"a\"", "\"aux.x\""), "campaign.toml:4: entry = \"aux.x\" is a reserved name"),
        (good.replace("\"a\"", "\"a.\""), "campaign.toml:4: entry = \"a.\" is a reserved name"),
        (
            good.to_owned() + "[[tool]]\nentry = \"A\"\nimage = \"x\"\nkind = \"sequential\"\n",
            "campaign.toml:8: entries \"a\" and \"A\" differ only in upper and lower case",
        ),
        (good.replace("inputs", "generic_properties = \"drop\"\ninputs"), "campaign.toml:2: "),
        (good.replace("\"a\"", "\"../x\""), "campaign.toml:4: entry = \"../x\""),
        (good.replace("\"a\"", "\"a\\u001b[31m\""), "campaign.toml:4: entry = \"a⟨ESC⟩[31m\""),
        (
            "models = \"/dev/zero\"\n".to_owned() + good,
            "/dev/zero: it is a character device; give a regular file",
        ),
    ] {
        fs::write(folder.path().join("campaign.toml"), campaign).unwrap();
        refused(folder.path(), &["plan", "campaign.toml"], &[part]);
    }
}

#[test]
fn a_judgement_changed_by_hand_is_refused() {
    let edition = Edition::load("mcc-2018").unwrap();
    let mut results = RunResults::new(&edition);
    for entry in ["a", "b", "c"] {
        let values = ["7", "8", "1", "2"].map(|text| Some(text.parse().unwrap())).to_vec();
        let cost = Some(Cost { cpu_ms: 1, wall_ms: 2, memory_kib: Some(3), ..Cost::default() });
        let result = RunResult { cost, ..RunResult::published(values) };
        results.add(entry, "F-PT-1", "StateSpace", &[], result).unwrap();
    }
    let judgement = judge::mcc::judge(&edition, results).unwrap();
    let good = serde_json::to_value(&judgement).unwrap();
    let folder = TempDir::new().unwrap();
    for (place, value) in [
        ("/blocks/0/cells/1/entry", serde_json::json!(u64::MAX)),
        ("/blocks/0/cells/1/verdicts", "é".into()),
        ("/blocks/0/cells/1/values", serde_json::json!([])),
        ("/blocks/0/trusted", serde_json::json!([])),
        ("/blocks/0/instance", 5.into()),
        ("/confidence", serde_json::json!([])),
        ("/scores/0/unjudged", serde_json::json!(u64::MAX)),
        ("/podiums/0/places/0/entry", 9.into()),
        ("/edition/limits/wall_s", serde_json::json!(u64::MAX)),
        ("/blocks/0/cells/0/cost/cpu_ms", serde_json::json!(u64::MAX)),
        ("/blocks/0/cells/0/cost/memory_kib", serde_json::json!(u64::MAX)),
        ("/entries/1/entry", "a".into()),
        ("/edition/examination", serde_json::json!([])),
        ("/instances/0/weight", "1/0".into()),
        ("/blocks/0/trusted/0/id", "a\nb".into()),
    ] {
        let mut changed = good.clone();
        *changed.pointer_mut(place).expect(place) = value;
        fs::write(folder.path().join("judgement.json"), changed.to_string()).unwrap();
        refused(
            folder.path(),
            &["explain", ".", "--instance", "F-PT-1", "--examination", "StateSpace"],
            &["judge again"],
        );
        refused(folder.path(), &["report", ".", "--out", "site"], &["judge again"]);
    }
}

#[test]
fn lint_prints_no_control_characters_of_an_output() {
    let folder = TempDir::new().unwrap();
    let archive = concat!(env!("CARGO_MANIFEST_DIR"), "/pnml-fixtures/DiningTable-PT-03.tgz");
    let answer = b"\nFORMULA DiningTable-PT-03-ReachabilityDeadlock-0 TRUE TECHNIQUES A\x1b[31m\0\xff\n";
    let control = b"FORMULA \x1b]0;mine\x07\x1b[2J\0\xff\xfe\xc3( \r\x08 FALSE TECHNIQUES \x9b31m\n";
    let long = vec![b'A'; 100_000_000];
    let stdout = [control.as_slice(), &long, answer, b"FORMULA ", &long, b"\n"].concat();
    fs::write(folder.path().join("stdout"), stdout).unwrap();
    let lint = ["lint", "stdout", "--instance", archive, "--examination", "ReachabilityDeadlock"];
    let mut command = Command::cargo_bin("mcc-harness").unwrap();
    let output = command.current_dir(folder.path()).args(lint).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
    for printed in [output.stdout, output.stderr] {
        let printed = String::from_utf8(printed).expect("the output is UTF-8");
        let plain = |c: char| !c.is_control() || c == '\n' || c == '\t';
        assert!(printed.chars().all(plain) && printed.len() < 100_000, "{} bytes", printed.len());
    }
}

#[test]
fn lint_reads_regular_files_and_no_more_than_a_contest_allows() {
    let folder = TempDir::new().unwrap();
    let examination = ["--examination", "ReachabilityDeadlock"];
    for (path, kind) in [("/dev/null", "it is a character device"), (".", "is not the output of a tool")] {
        refused(folder.path(), &[&["lint", path][..], &examination].concat(), &[kind]);
    }
    let edition = "name = \"short\"\nbase = \"mcc-2018\"\n[limits]\noutput_bytes = 100\n";
    fs::write(folder.path().join("short.toml"), edition).unwrap();
    let lint = |input: String| {
        let mut command = Command::cargo_bin("mcc-harness").unwrap();
        let arguments = [&["lint", "-", "--edition", "short.toml"][..], &examination].concat();
        let output = command.current_dir(folder.path()).args(arguments).write_stdin(input).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(lint("x".repeat(100)).0, Some(1));
    let (code, said) = lint("x".repeat(101));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("it is longer than 100 bytes, the limit of short"), "{said}");
}

#[test]
fn a_second_row_of_printed_scores_is_refused_with_its_line() {
    let folder = TempDir::new().unwrap();
    let table = fs::read_to_string(data::published("crv/2014/benchmarks.csv")).unwrap();
    let first = table.lines().nth(1).unwrap();
    fs::write(folder.path().join("benchmarks.csv"), format!("{table}{first}\n")).unwrap();
    let arguments = ["judge", "benchmarks.csv", "--edition", "crv-2014", "--out", "judged"];
    let place = format!("benchmarks.csv:{}", table.lines().count() + 1);
    refused(folder.path(), &arguments, &[&place, "has scores on", "already, in benchmarks.csv:2; keep one"]);
    assert!(!folder.path().join("judged").exists());
}

#[test]
fn names_that_are_no_plain_text_are_refused_in_tables() {
    let folder = TempDir::new().unwrap();
    for (name, problem) in [
        ("a\0b", "contains a control character"),
        ("\"a\nb\"", "contains a control character"),
        ("a\u{202e}b", "not in ASCII"),
        ("caf\u{e9}", "not in ASCII"),
        // White space that other programs do not take for a blank.
        ("F-PT-1\u{a0}", "not in ASCII"),
        ("cafe\u{301}", "not in ASCII"),
        ("../../../outside", "contains a slash"),
        ("/etc/passwd", "contains a slash"),
        ("..", "special meaning"),
        (&"x".repeat(256), "longer than 255 bytes"),
    ] {
        let place = "answers.csv:2: column ";
        judge(
            folder.path(),
            format!("{HEADER}{name},F-PT-1,StateSpace,1 2 3 4,\n"),
            &[place, "tool", problem],
        );
        let table = format!("{HEADER}a,{name},StateSpace,1 2 3 4,\n");
        judge(folder.path(), table, &[place, "instance", problem]);
        let header = "### tool,Input,Examination,results\n";
        let table = format!("{header}{name},F-PT-1,StateSpace,1 2 3 4\n");
        judge(folder.path(), table, &["answers.csv:2: column tool", problem]);
    }
}

#[test]
fn numbers_that_are_not_measurements_are_refused_in_tables() {
    let folder = TempDir::new().unwrap();
    let header = "### tool,Input,Examination,results,max memory  (MB),CPU (ms),Time (ms)\n";
    for (figures, problem) in [
        (
            "1,18446744073709551615,1",
            "column CPU (ms): 18446744073709551615 is more than 31622400000 (a year)",
        ),
        ("1,1,31622400001", "column Time (ms): 31622400001 is more than"),
        ("18014398509481983,1,1", "column max memory (MB)"),
    ] {
        let table = format!("{header}a,F-PT-1,StateSpace,1 2 3 4,{figures}\n");
        judge(folder.path(), table, &["answers.csv:2: ", problem]);
    }
}

/// Makes a pipe without a writer, in place of a file if there is one.
fn pipe(path: &Path) {
    let _ = fs::remove_file(path);
    nix::unistd::mkfifo(path, nix::sys::stat::Mode::S_IRWXU).unwrap();
}

#[test]
fn a_pipe_is_refused_as_input_and_never_waited_for() {
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    fs::write(path.join("good.csv"), format!("{HEADER}a,F-PT-1,StateSpace,1 2 3 4,\n")).unwrap();
    for name in ["pipe", "pipe.csv", "pipe.toml", "pipe.tgz", "judgement.json"] {
        pipe(&path.join(name));
    }
    let edition = ["--edition", "mcc-2018"];
    for arguments in [
        [&["judge", "pipe.csv", "--out", "out"][..], &edition].concat(),
        [&["judge", "good.csv", "--tools", "pipe", "--out", "out"][..], &edition].concat(),
        [&["judge", "good.csv", "--models", "pipe", "--out", "out"][..], &edition].concat(),
        [&["judge", "good.csv", "--overrides", "pipe", "--out", "out"][..], &edition].concat(),
        vec!["judge", "good.csv", "--edition", "./pipe.toml", "--out", "out"],
        vec!["judge", "pipe", "--edition", "svcomp-2013", "--out", "out"],
        vec!["judge", "pipe.csv", "--edition", "crv-2014", "--out", "out"],
        [&["judge", "good.csv", "--out", "."][..], &edition].concat(),
        vec!["plan", "pipe.toml"],
        vec!["verify", "pipe"],
        vec!["report", ".", "--out", "site"],
        vec!["lint", "good.csv", "--instance", "pipe.tgz", "--examination", "CTLFireability"],
        vec!["check-witness", "pipe", "--instances", "."],
        vec!["check-certificate", "pipe", "--instances", "."],
        vec!["convert-proof", "pipe", "--instance", ".", "--claim", "E", "x", "TRUE", "--out", "out"],
    ] {
        refused(path, &arguments, &["pipe; give a regular file"]);
    }
}

#[test]
fn a_pipe_among_the_outputs_of_benchkit_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    for name in ["CSV", "OUTPUTS"] {
        fs::create_dir_all(path.join("results").join(name)).unwrap();
    }
    let summary = "### tool,Input,Examination,max memory (MB),CPU (ms),Time (ms),Status,run id\n\
                   a,F-PT-1,StateSpace,1,1,1,normal,r1\n";
    fs::write(path.join("results/CSV/summary_a.csv"), summary).unwrap();
    pipe(&path.join("results/OUTPUTS/a_F-PT-1_StateSpace_r1_host.stdout"));
    let arguments = ["judge", "results", "--edition", "mcc-2018", "--out", "out"];
    refused(path, &arguments, &["summary_a.csv:2: ", "it is a pipe; give a regular file"]);
}

/// Copies a folder with its files.
fn copy(from: &Path, to: &Path) {
    for item in walkdir::WalkDir::new(from) {
        let item = item.unwrap();
        let place = to.join(item.path().strip_prefix(from).unwrap());
        if item.file_type().is_dir() {
            fs::create_dir_all(place).unwrap();
        } else {
            fs::copy(item.path(), place).unwrap();
        }
    }
}

const RUN: &str = "breadth-first/Philosophers-PT-000005/StateSpace";

/// Changes a record by each statement of SQL, and expects that every command refuses it with this text and writes nothing.
fn assert_record_refused(changes: &[(String, &str)]) {
    let folder = TempDir::new().unwrap();
    let judgement = contest::small();
    drop(contest::record(&judgement, &folder.path().join("good"), |_| None));
    fs::create_dir(folder.path().join("outside")).unwrap();
    fs::write(folder.path().join("outside/secret"), "secret").unwrap();
    for (number, (change, part)) in changes.iter().enumerate() {
        let name = format!("record-{number}");
        let dir = folder.path().join(&name);
        copy(&folder.path().join("good"), &dir);
        let db = rusqlite::Connection::open(dir.join("record.db")).unwrap();
        db.execute(change, []).unwrap();
        // Rows of an older format too.
        if number % 2 == 1 {
            db.pragma_update(None, "user_version", [3, 4][number / 2 % 2]).unwrap();
        }
        drop(db);
        let replay = ["replay", &name, "--run", RUN];
        let commands: [&[&str]; 3] = [
            &["verify", &name],
            &["judge", &name, "--out", "judged"],
            &["export", &name, "--archive", "archive"],
        ];
        for arguments in commands {
            refused(folder.path(), arguments, &["record.db", part]);
        }
        let (code, message) = harness(folder.path(), &replay);
        assert!(code == 2 && message.contains("record.db"), "{message}");
        assert!(!folder.path().join("judged").exists() && !folder.path().join("archive").exists());
    }
    assert_eq!(fs::read_dir(folder.path().join("outside")).unwrap().count(), 1, "nothing is written outside");
}

#[test]
fn runs_of_a_record_changed_by_hand_are_refused() {
    let first = format!("WHERE id = '{RUN}'");
    let set = |key: &str, value: &str| {
        format!("UPDATE runs SET facts = json_set(facts, '$.{key}', '{value}') {first}")
    };
    assert_record_refused(&[
        (set("entry", "../../../outside"), "row 1 of runs"),
        (set("entry", "/etc"), "row 1 of runs"),
        (set("entry", ""), "row 1 of runs"),
        (set("entry", "a\u{202e}"), "row 1 of runs"),
        (set("entry", "depth-first"), "row 1 of runs: its id is"),
        (set("examination", ".."), "row 1 of runs"),
        (set("instance", "../x-PT-1"), "row 1 of runs"),
        (
            format!(
                "UPDATE runs SET facts = json_set(facts, '$.model', '../../outside'), model = '../../outside' {first}"
            ),
            "row 1 of runs",
        ),
        (format!("UPDATE runs SET id = '../../../outside/A-PT-1/X' {first}"), "row 1 of runs: its id is"),
        (format!("UPDATE runs SET id = id || char(10) {first}"), "row 1 of runs: its id is"),
    ]);
}

#[test]
fn attempts_of_a_record_changed_by_hand_are_refused() {
    let of_first = format!("WHERE run = (SELECT position FROM runs WHERE id = '{RUN}')");
    let attempts = |expression: &str| format!("UPDATE attempts SET facts = {expression} {of_first}");
    assert_record_refused(&[
        (attempts("json_set(facts, '$.run', '../../outside/x/y')"), "has unreadable content in attempt 1 at"),
        (
            attempts("json_set(facts, '$.run', 'walk/A-PT-1/X')"),
            "its facts are of attempt 1 at walk/A-PT-1/X",
        ),
        (attempts("json_set(facts, '$.number', 4294967295)"), "its facts are of attempt 4294967295"),
        (
            attempts("json_set(facts, '$.outputs[0].role', '../../../../../outside/secret')"),
            "contains a slash",
        ),
        (attempts("json_set(facts, '$.outputs[0].role', 'STDOUT')"), "two outputs have the same name"),
        (
            attempts("replace(facts, '\"cpu_ms\":12340', '\"cpu_ms\":18446744073709551615')"),
            "cpu_ms: 18446744073709551615 is more than",
        ),
        (
            attempts("replace(facts, '\"memory_kib\":251392', '\"memory_kib\":18446744073709551615')"),
            "memory_kib: 18446744073709551615 is more than",
        ),
    ]);
}

#[test]
fn an_outcome_that_contradicts_its_run_is_refused() {
    let of_first = format!("WHERE run = (SELECT position FROM runs WHERE id = '{RUN}')");
    // With the column, which would differ otherwise.
    let outcome = |word: &str| {
        format!(
            "UPDATE attempts SET outcome = '{word}', facts = json_set(facts, '$.outcome', '{word}') {of_first}"
        )
    };
    assert_record_refused(&[
        (outcome("cpu-limit"), "its outcome is cpu-limit, but its CPU time is 12340 ms and the limit 3600 s"),
        (outcome("wall-limit"), "its outcome is wall-limit, but its wall time is"),
        (outcome("output-limit"), "its outcome is output-limit, but it wrote"),
        (outcome("instruction-limit"), "the edition has no limit of instructions"),
        (outcome("not-competing"), "its outcome is not-competing, but the run competes by the plan"),
        (
            format!(
                "UPDATE runs SET facts = json_set(facts, '$.competes', json('false')) WHERE id = '{RUN}'"
            ),
            "but the run does not compete by the plan",
        ),
        (
            format!("UPDATE attempts SET facts = json_set(facts, '$.facts.vcpus', 4) {of_first}"),
            "it has 4 vCPUs, but 1 by the plan",
        ),
    ]);
}

#[test]
fn columns_of_a_record_that_differ_from_its_facts_are_refused() {
    let folder = TempDir::new().unwrap();
    for column in ["outcome = 'cpu-limit'", "ms = 1"] {
        let dir = TempDir::new_in(folder.path()).unwrap();
        let record = dir.path().join("record");
        drop(contest::record(&contest::small(), &record, |_| None));
        let db = rusqlite::Connection::open(record.join("record.db")).unwrap();
        db.execute(&format!("UPDATE attempts SET {column} WHERE run = 1"), []).unwrap();
        drop(db);
        let part = "the column `outcome` or `ms` of an attempt differs from its facts";
        refused(dir.path(), &["judge", "record", "--out", "judged"], &[part]);
    }
}

#[test]
fn a_recorded_length_that_is_not_that_of_the_output_is_found() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("record");
    drop(contest::record(&contest::small(), &dir, |_| None));
    let db = rusqlite::Connection::open(dir.join("record.db")).unwrap();
    let change = "UPDATE attempts SET facts = json_set(facts, '$.outputs[0].bytes', 7) WHERE run = 1";
    db.execute(change, []).unwrap();
    drop(db);
    let done = Command::cargo_bin("mcc-harness").unwrap().arg("verify").arg(&dir).assert().code(1);
    let shown = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
    assert!(shown.contains("bytes, but 7 in the record"), "{shown}");
}

#[test]
fn an_output_without_digest_in_a_record_is_found() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().join("record");
    drop(contest::record(&contest::small(), &dir, |_| None));
    let db = rusqlite::Connection::open(dir.join("record.db")).unwrap();
    db.execute("UPDATE attempts SET facts = json_remove(facts, '$.outputs[#-1]') WHERE run = 1", []).unwrap();
    drop(db);
    let verify = || {
        let done = Command::cargo_bin("mcc-harness").unwrap().arg("verify").arg(&dir).assert().code(1);
        String::from_utf8_lossy(&done.get_output().stdout).into_owned()
    };
    // A controller that was killed may leave outputs of an attempt that is not recorded.
    fs::create_dir(dir.join(format!("outputs/{RUN}/2"))).unwrap();
    fs::write(dir.join(format!("outputs/{RUN}/2/stdout")), "").unwrap();
    let (missing, file) = ("attempt 1 stdout has no digest in the record", format!("outputs/{RUN}/1/stdout"));
    let shown = verify();
    assert!(shown.contains(missing) && !shown.contains("/2/stdout"), "{shown}");
    assert!(shown.contains(&format!("{file} is not an output of a recorded attempt")), "{shown}");
    fs::remove_file(dir.join(&file)).unwrap();
    let shown = verify();
    assert!(shown.contains(missing) && !shown.contains("is not an output"), "{shown}");
}

#[test]
fn more_than_1000_entries_of_several_sources_are_refused() {
    let folder = TempDir::new().unwrap();
    for source in ["a", "b"] {
        let rows: String =
            (0..501).map(|n| format!("{source}{n},A-PT-1,ReachabilityDeadlock,T,\n")).collect();
        fs::write(folder.path().join(source), HEADER.to_owned() + &rows).unwrap();
    }
    let both = ["judge", "a", "b", "--edition", "mcc-2018", "--out", "judged"];
    refused(folder.path(), &both, &["there are 1002 entries, and at most 1000 are judged together"]);
}

#[test]
fn a_campaign_in_a_record_changed_by_hand_is_refused() {
    assert_record_refused(&[
        (
            "UPDATE facts SET value = json_set(value, '$.entries[0].entry', '../outside') WHERE key = 'campaign'"
                .to_owned(),
            "unreadable content in the campaign",
        ),
        (
            "UPDATE instances SET facts = json_set(facts, '$.family', '../outside')".to_owned(),
            "unreadable content in an instance",
        ),
        (
            "UPDATE instances SET facts = json_set(facts, '$.questions.UpperBounds[0]', 'a' || char(10) || 'b')".to_owned(),
            "unreadable content in an instance",
        ),
    ]);
}

#[test]
fn special_files_in_a_record_are_refused() {
    let folder = TempDir::new().unwrap();
    let judgement = contest::small();
    drop(contest::record(&judgement, &folder.path().join("good"), |_| None));
    let stdout = "outputs/breadth-first/Philosophers-PT-000005/StateSpace/1/stdout";
    type Change<'a> = (&'a str, &'a dyn Fn(&Path), &'a str);
    let changes: [Change; 4] = [
        ("database", &|dir| pipe(&dir.join("record.db")), "it is a pipe"),
        ("log", &|dir| pipe(&dir.join("record.db-wal")), "it is a pipe"),
        ("output", &|dir| pipe(&dir.join(stdout)), "it is a pipe"),
        (
            "link",
            &|dir| {
                fs::remove_file(dir.join(stdout)).unwrap();
                std::os::unix::fs::symlink("/etc/hostname", dir.join(stdout)).unwrap();
            },
            "it is a symbolic link",
        ),
    ];
    for (name, change, part) in changes {
        let dir = folder.path().join(name);
        copy(&folder.path().join("good"), &dir);
        change(&dir);
        refused(folder.path(), &["judge", name, "--unfinished", "--out", "judged"], &[part]);
    }
}

#[test]
fn pages_of_a_site_exist_on_systems_that_ignore_case() {
    let folder = TempDir::new().unwrap();
    let mut judgement = contest::small();
    for (entry, name) in judgement.entries.iter_mut().zip(["A", "a", "CON", "aux.x", "nul."]) {
        (entry.entry, entry.tool, entry.status) = (name.to_owned(), name.to_owned(), Status::Competing);
    }
    judgement.instances[0].instance = "Ring-PT-1".to_owned();
    judgement.instances[1].instance = "ring-PT-1".to_owned();
    let text = serde_json::to_string(&judgement).unwrap();
    fs::write(folder.path().join("judgement.json"), text).unwrap();
    let (code, message) = harness(folder.path(), &["report", ".", "--out", "site"]);
    assert_eq!(code, 0, "{message}");
    let site = folder.path().join("site");
    let mut seen = BTreeSet::new();
    for item in walkdir::WalkDir::new(&site).min_depth(1) {
        let item = item.unwrap();
        let name = item.file_name().to_str().unwrap();
        assert!(!is_reserved(name) && !name.contains([':', '\\', '*', '?', '<', '>', '|', '"']), "{name}");
        let lower = item.path().to_str().unwrap().to_lowercase();
        assert!(seen.insert(lower), "{} differs from another file only in case", item.path().display());
        if name.ends_with(".html") {
            let page = fs::read_to_string(item.path()).unwrap();
            for link in page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
                let target = link.split('#').next().unwrap_or_default();
                let place = item.path().parent().unwrap().join(target);
                assert!(target.is_empty() || target.contains("://") || place.exists(), "{name}: {link}");
            }
        }
    }
    assert_eq!(fs::read_dir(site.join("tools")).unwrap().count(), 10, "a page and data of each entry");
}

#[test]
fn attempts_that_no_controller_numbers_so_are_not_counted() {
    for (change, part) in [
        (
            "SET number = 7 WHERE number = 2",
            "attempt 7 at run 1: attempts are numbered 1, 2, ..., and 2 is missing",
        ),
        (
            "SET number = -1 WHERE number = 1",
            "attempt -1 at run 1: attempts are numbered 1, 2, ..., and 1 is missing",
        ),
    ] {
        let results = tempfile::tempdir().unwrap();
        let record = open(results.path());
        let runs = ["StateSpace", "UpperBounds"].map(run);
        record.plan_runs(&runs).unwrap();
        make(&record, &runs[0].id(), infrastructure_failure(), "");
        for run in &runs {
            make(&record, &run.id(), FINISHED, "");
        }
        assert_eq!(record.summary().unwrap().retried, 1);
        let db = rusqlite::Connection::open(results.path().join("record.db")).unwrap();
        db.execute(&format!("UPDATE attempts {change}"), []).unwrap();
        let read = Record::open_readonly(results.path()).unwrap();
        let error = read.summary().unwrap_err();
        assert!(error.to_string().contains(part) && error.is_usage(), "{error}");
        assert!(RecordSummary::at(results.path()).is_err());
    }
}
