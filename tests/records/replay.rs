//! `export`, `verify` and `replay`: archives of records, as reviewers use them.

use crate::support::campaign;
use crate::support::images;

use assert_cmd::assert::Assert;
use campaign::{Folder, stderr};
use mcc_harness::archive::{ArchiveLimits, unpack};
use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

const RUN: &str = "tool-0/DiningTable-PT-03/StateSpace";

/// A recorded campaign without machines, three entries in two examinations, and its archive.
struct Campaign {
    folder: Folder,
}

impl Campaign {
    fn new() -> Self {
        let folder = Folder::with_fake_qemu(3, &["StateSpace", "ReachabilityDeadlock"], "");
        folder.fake_qemu(
            "whole_run $'STATE_SPACE STATES 18 TECHNIQUES EXPLICIT\\nFORMULA ReachabilityDeadlock TRUE TECHNIQUES EXPLICIT\\n'",
        );
        folder.run(&[]).success();
        Self { folder }
    }

    fn export(&self, args: &[&str]) -> Assert {
        harness(self.folder.path(), &[&["export", "results", "--archive"], args].concat())
    }
}

fn harness(folder: &Path, args: &[&str]) -> Assert {
    let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
    command.args(args).current_dir(folder).assert()
}

fn stdout(assert: &Assert) -> String {
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

/// One archive for the tests that only read it.
static PUBLISHED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let campaign = Campaign::new();
    campaign.export(&["published.tar.zst"]).success();
    fs::read(campaign.folder.path().join("published.tar.zst")).unwrap()
});

/// A folder with the archive, and with its files in `unpacked`, unpacked by `tar`.
fn published() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("published.tar.zst"), &*PUBLISHED).unwrap();
    let plain = zstd::decode_all(&PUBLISHED[..]).unwrap();
    fs::write(folder.path().join("plain.tar"), plain).unwrap();
    fs::create_dir(folder.path().join("unpacked")).unwrap();
    let mut tar = Command::new("tar");
    tar.args(["-xf", "plain.tar", "-C", "unpacked"]).current_dir(folder.path());
    assert!(tar.status().unwrap().success());
    folder
}

fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = walkdir::WalkDir::new(folder).into_iter().map(|file| file.unwrap().into_path());
    files.filter(|path| path.is_file()).map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

#[test]
fn the_same_record_gives_an_archive_with_the_same_bytes() {
    let campaign = Campaign::new();
    campaign.export(&["one.tar.zst"]).success();
    campaign.export(&["two.tar.zst"]).success();
    let [one, two] =
        ["one", "two"].map(|name| fs::read(campaign.folder.path().join(format!("{name}.tar.zst"))).unwrap());
    assert!(one == two, "{} and {} bytes", one.len(), two.len());
}

#[test]
fn an_archive_is_readable_by_tar_and_sha256sum() {
    let folder = published();
    let unpacked = folder.path().join("unpacked");
    let mut sums = Command::new("sha256sum");
    sums.args(["--check", "--quiet", "SHA256SUMS"]).current_dir(&unpacked);
    assert!(sums.status().unwrap().success());
    let answers = fs::read_to_string(unpacked.join("answers.csv")).unwrap();
    assert_eq!(answers.lines().next().unwrap().split(',').count(), 17, "{answers}");
    assert_eq!(answers.lines().count(), 7, "{answers}");
    for file in ["README.txt", "edition.json", "judgement/scores.csv", "record.db"] {
        assert!(unpacked.join(file).is_file(), "{file}");
    }
    assert!(unpacked.join("outputs").join(RUN).join("1/stdout").is_file());
}

/// An unpacked archive is a record.
#[test]
fn an_archive_is_judged_and_verified_packed_or_unpacked() {
    let folder = published();
    harness(folder.path(), &["judge", "unpacked", "--out", "judged"]).success();
    let scores = |folder: &Path| fs::read(folder.join("scores.csv")).unwrap();
    assert_eq!(scores(&folder.path().join("judged")), scores(&folder.path().join("unpacked/judgement")));
    for input in ["published.tar.zst", "unpacked"] {
        let verified = harness(folder.path(), &["verify", input]).success();
        assert!(stdout(&verified).contains("complete; runs: 6"), "{}", stdout(&verified));
        assert!(stdout(&verified).contains("all points computed again"), "{}", stdout(&verified));
    }
}

#[test]
fn times_of_arrival_are_judged_from_record_and_archive() {
    let folder = Folder::with_fake_qemu(1, &["ReachabilityCardinality"], "");
    // Four values, of which two share a line and one is repeated. The last two arrive three seconds later.
    folder.fake_qemu(
        r#"id() { echo "FORMULA DiningTable-PT-03-ReachabilityCardinality-$1 TRUE TECHNIQUES X"; }
        first="$(id 00) $(id 01)"$'\n'; second="$(id 00)"$'\n'"$(id 03)"$'\n'"$(id 02)"$'\n'
        power_on; ready; prepared; started
        printf %s "$first" >&"$stdout"; linger 3; printf %s "$second" >&"$stdout"
        ended; drained $((${#first} + ${#second})); answer_until quit"#,
    );
    folder.run(&[]).success();
    harness(folder.path(), &["export", "results", "--archive", "a.tar.zst"]).success();
    harness(folder.path(), &["verify", "a.tar.zst"]).success();
    let judged = |input: &str, out: &str| {
        harness(folder.path(), &["judge", input, "--out", out]).success();
        fs::read_to_string(folder.path().join(out).join("arrivals.csv")).unwrap()
    };
    let table = judged("results", "judged");
    assert_eq!(judged("a.tar.zst", "again"), table);
    let (header, row) = table.trim_end().split_once('\n').expect("one row");
    assert_eq!(header, "tool,instance,examination,half_ms,all_ms,arrived_ms");
    let [run, half, all, times] = {
        let fields: Vec<&str> = row.rsplitn(4, ',').collect();
        [fields[3], fields[2], fields[1], fields[0]]
    };
    assert_eq!(run, "tool-0,DiningTable-PT-03,ReachabilityCardinality");
    let times: Vec<Option<u64>> = times.split(' ').map(|ms| ms.parse().ok()).collect();
    assert_eq!(times.len(), 16);
    assert!(times[0] == times[1] && times[2] >= times[3] && times[3].unwrap() >= 1000, "{times:?}");
    assert!(times[4..].iter().all(Option::is_none), "{times:?}");
    assert_eq!([half.parse().ok(), all.parse().ok()], [times[0], times[2]]);
    // A record of an earlier version has no times.
    let db = rusqlite::Connection::open(folder.results().join("record.db")).unwrap();
    db.execute("UPDATE attempts SET facts = json_remove(facts, '$.facts.arrivals')", []).unwrap();
    drop(db);
    assert_eq!(judged("results", "older").trim_end(), header);
}

#[test]
fn counted_instructions_are_a_table_of_judgement_archive_and_site() {
    let campaign = Campaign::new();
    let folder = campaign.folder.path();
    let publish = |name: &str| {
        let [archive, out, site] =
            [".tar.zst", "", "-site"].map(|kind| folder.join(format!("{name}{kind}")).display().to_string());
        campaign.export(&[&archive]).success();
        assert!(stdout(&harness(folder, &["verify", &archive]).success()).contains("complete; runs: 6"));
        harness(folder, &["judge", &archive, "--out", &out]).success();
        harness(folder, &["report", &archive, "--out", &site]).success();
        let read = |path: String| fs::read_to_string(path).ok();
        let runs = read(format!("{site}/examinations/StateSpace.csv")).unwrap();
        let tables = [&out, &format!("{site}/data")].map(|place| read(format!("{place}/instructions.csv")));
        (tables, runs.lines().next().unwrap().to_owned(), archive)
    };
    let (tables, columns, _) = publish("without");
    assert_eq!(tables, [None, None]);
    assert!(!columns.contains("instructions"), "{columns}");

    let db = rusqlite::Connection::open(folder.join("results/record.db")).unwrap();
    for (tool, counted) in [
        ("tool-0", r#"{"source":"tcg-plugin","user":2720486993,"kernel":31}"#),
        ("tool-1", r#"{"source":"absent","reason":"refused"}"#),
    ] {
        let change =
            "UPDATE attempts SET facts = json_set(facts, '$.facts.instructions', json(?1)) WHERE run IN
                      (SELECT position FROM runs WHERE id = ?2)";
        let run = format!("{tool}/DiningTable-PT-03/StateSpace");
        assert_eq!(db.execute(change, [counted, &run]).unwrap(), 1);
    }
    drop(db);
    let ([judged, published], columns, archive) = publish("counted");
    let table = "tool,instance,examination,instructions_user,instructions_kernel,instructions_source\n\
                 tool-0,DiningTable-PT-03,StateSpace,2720486993,31,tcg-plugin\n";
    assert_eq!([judged.as_deref(), published.as_deref()], [Some(table); 2]);
    assert!(columns.ends_with(",instructions_user,instructions_kernel,instructions_source"), "{columns}");
    let plain = zstd::decode_all(&fs::read(archive).unwrap()[..]).unwrap();
    let mut tar = tar::Archive::new(&plain[..]);
    let mut files = tar.entries().unwrap().map(Result::unwrap);
    let package = files.find(|file| file.path().unwrap() == Path::new("datapackage.json")).unwrap();
    let package: serde_json::Value = serde_json::from_reader(package).unwrap();
    let resources = package["resources"].as_array().unwrap();
    let described = resources.iter().find(|table| table["path"] == "judgement/instructions.csv").unwrap();
    let types: Vec<_> =
        described["schema"]["fields"].as_array().unwrap().iter().map(|field| &field["type"]).collect();
    assert_eq!(types, ["string", "string", "string", "integer", "integer", "string"]);
}

/// The output of `verify` for a damaged archive.
fn found(folder: &Path, input: &str) -> String {
    let verified = harness(folder, &["verify", input]).code(1);
    assert!(stdout(&verified).contains("INCOMPLETE OR CHANGED"), "{}", stdout(&verified));
    stdout(&verified)
}

/// Updates SHA256SUMS after a file was changed, as an attacker would.
fn forge_sums(unpacked: &Path) {
    let text = fs::read_to_string(unpacked.join("SHA256SUMS")).unwrap();
    let lines = text.lines().filter_map(|line| {
        let (_, name) = line.split_once("  ").unwrap();
        let (sha256, _) = mcc_harness::base::digest::file(&unpacked.join(name)).ok()?;
        Some(format!("{sha256}  {name}\n"))
    });
    fs::write(unpacked.join("SHA256SUMS"), lines.collect::<String>()).unwrap();
}

#[test]
fn a_changed_byte_is_reported_with_its_file() {
    let folder = published();
    let unpacked = folder.path().join("unpacked");
    let path = unpacked.join("outputs").join(RUN).join("1/stdout");
    let mut bytes = fs::read(&path).unwrap();
    let last = bytes.len() - 10;
    bytes[last] ^= 1;
    fs::write(&path, bytes).unwrap();
    let said = found(folder.path(), "unpacked");
    assert!(said.contains(&format!("outputs/{RUN}/1/stdout has sha256")), "{said}");
    // With a forged list, the record still has the digest.
    forge_sums(&unpacked);
    let said = found(folder.path(), "unpacked");
    assert!(said.contains(&format!("{RUN} attempt 1 stdout has sha256")), "{said}");
}

#[test]
fn a_removed_run_is_reported() {
    let folder = published();
    let unpacked = folder.path().join("unpacked");
    fs::remove_dir_all(unpacked.join("outputs").join(RUN)).unwrap();
    let said = found(folder.path(), "unpacked");
    assert!(said.contains(&format!("outputs/{RUN}/1/stdout cannot be read")), "{said}");
    let db = rusqlite::Connection::open(unpacked.join("record.db")).unwrap();
    let run = "(SELECT position FROM runs WHERE id = ?1)";
    db.execute(&format!("DELETE FROM attempts WHERE run = {run}"), [RUN]).unwrap();
    db.execute("DELETE FROM runs WHERE id = ?1", [RUN]).unwrap();
    drop(db);
    forge_sums(&unpacked);
    let said = found(folder.path(), "unpacked");
    assert!(said.contains(&format!("{RUN} is missing: the campaign has it")), "{said}");
    // A whole examination is missing too.
    let examination = RUN.rsplit('/').next().unwrap();
    let db = rusqlite::Connection::open(unpacked.join("record.db")).unwrap();
    let runs = format!("SELECT position FROM runs WHERE id GLOB '*/{examination}'");
    db.execute(&format!("DELETE FROM attempts WHERE run IN ({runs})"), []).unwrap();
    db.execute(&format!("DELETE FROM runs WHERE position IN ({runs})"), []).unwrap();
    drop(db);
    forge_sums(&unpacked);
    let said = found(folder.path(), "unpacked");
    assert!(said.contains(&format!("{RUN} is missing: the campaign has it")), "{said}");
}

#[test]
fn a_run_that_is_said_not_to_compete_is_reported() {
    let folder = published();
    let unpacked = folder.path().join("unpacked");
    let db = rusqlite::Connection::open(unpacked.join("record.db")).unwrap();
    let changed = "UPDATE runs SET facts = json_set(facts, '$.competes', json('false')) WHERE id = ?1";
    assert_eq!(db.execute(changed, [RUN]).unwrap(), 1);
    let facts =
        "'$.outcome', 'not-competing', '$.facts', null, '$.outputs', json('[]'), '$.marks', json('[]')";
    let changed = format!(
        "UPDATE attempts SET outcome = 'not-competing', ms = NULL,
            facts = json_remove(json_set(facts, {facts}), '$.exit_code', '$.arrivals')
         WHERE run = (SELECT position FROM runs WHERE id = ?1)"
    );
    assert_eq!(db.execute(&changed, [RUN]).unwrap(), 1);
    drop(db);
    fs::remove_dir_all(unpacked.join("outputs").join(RUN)).unwrap();
    forge_sums(&unpacked);
    let said = found(folder.path(), "unpacked");
    assert!(said.contains("in whether its entry competes"), "{said}");
}

#[test]
fn a_changed_score_with_matching_digests_is_reported() {
    let folder = published();
    let unpacked = folder.path().join("unpacked");
    let path = unpacked.join("judgement/scores.csv");
    let scores = fs::read_to_string(&path).unwrap();
    let line = scores.lines().nth(1).unwrap();
    let better = format!("{line}0");
    fs::write(&path, scores.replacen(line, &better, 1)).unwrap();
    assert!(found(folder.path(), "unpacked").contains("judgement/scores.csv has sha256"));
    forge_sums(&unpacked);
    let said = found(folder.path(), "unpacked");
    assert!(said.contains("scores.csv line 2 has"), "{said}");
    assert!(said.contains(&better) && said.contains(&format!("recomputed it is `{line}`")), "{said}");
    // A changed answer in the table is reported too.
    let path = unpacked.join("answers.csv");
    let answers = fs::read_to_string(&path).unwrap();
    assert!(answers.contains("18"), "{answers}");
    fs::write(&path, answers.replacen("18", "19", 1)).unwrap();
    forge_sums(&unpacked);
    assert!(found(folder.path(), "unpacked").contains("answers.csv line"), "{answers}");
}

#[test]
fn a_record_is_verified_with_the_judgement_made_of_it() {
    let campaign = Campaign::new();
    campaign.folder.judge().success();
    let folder = campaign.folder.path();
    let verify = ["verify", "results", "--judgement", "judgement"];
    harness(folder, &verify).success();
    let path = folder.join("judgement/confidence.csv");
    let confidence = fs::read_to_string(&path).unwrap();
    fs::write(&path, confidence.replacen("tool-0,", "tool-0,1", 1)).unwrap();
    let said = stdout(&harness(folder, &verify).code(1));
    assert!(said.contains("confidence.csv line 2"), "{said}");
    let judgement = fs::read_to_string(folder.join("judgement/judgement.json")).unwrap();
    let campaign_sha256 = judgement.split_once("\"campaign.toml\",\"sha256\":\"").unwrap().1[..64].to_owned();
    let other = judgement.replacen(&campaign_sha256, &"0".repeat(64), 1);
    fs::write(folder.join("judgement/judgement.json"), other).unwrap();
    let said = stderr(&harness(folder, &verify).code(2));
    assert!(said.contains("judgement/judgement.json: it is not a judgement of this record;"), "{said}");
    let alone = harness(folder, &["verify", "judgement"]).code(2);
    assert!(stderr(&alone).contains("--judgement"), "{}", stderr(&alone));
}

/// Evidence that contradicts a trusted value changes the podiums by evidence.
#[test]
fn a_certified_judgement_is_verified_with_its_certified_values() {
    let campaign = Campaign::new();
    let folder = campaign.folder.path();
    let of_instance = "evidence/DiningTable-PT-03";
    let file = format!("{of_instance}/StateSpace-00.explored.json");
    fs::create_dir_all(folder.join("certified").join(of_instance)).unwrap();
    let table = format!(
        "instance,examination,position,id,trusted,basis,method,value,evidence,detail\n\
         DiningTable-PT-03,StateSpace,00,STATES,18,unanimous,explored,17,{file},by hand\n"
    );
    fs::write(folder.join("certified/certified.csv"), table).unwrap();
    let evidence =
        r#"{"instance":"DiningTable-PT-03","examination":"StateSpace","property":"STATES","value":"17"}"#;
    fs::write(folder.join("certified").join(file), evidence).unwrap();
    harness(folder, &["judge", "results", "--certified", "certified", "--out", "judged"]).success();
    assert!(fs::read_to_string(folder.join("judged/judgement.json")).unwrap().contains("evidence_podiums"));
    let verify = ["verify", "results", "--judgement", "judged"];
    let said = stdout(&harness(folder, &[&verify[..], &["--certified", "certified"]].concat()).success());
    let expected = "not proved: that the evidence shows the certified values: it was compared with them, not checked against the nets";
    assert!(said.contains(expected), "{said}");
    let said = stderr(&harness(folder, &verify).code(2));
    let expected =
        "judged/judgement.json: it was made with certified.csv, which is not given; give --certified FOLDER";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn the_database_of_a_record_is_not_taken_for_a_table_or_an_archive() {
    let campaign = Campaign::new();
    for command in [
        vec!["judge", "results/record.db", "--out", "judged"],
        vec!["judge", "results/record.db", "--edition", "mcc-2018", "--out", "judged"],
        vec!["replay", "results/record.db", "--run", RUN],
    ] {
        let refused = stderr(&harness(campaign.folder.path(), &command).code(2));
        assert!(refused.contains("record.db is a file, and not the folder of a record"), "{refused}");
    }
}

#[test]
fn a_run_without_output_is_refused_with_the_reason() {
    let archive = crate::archives::archive();
    let lint = |run: &str| {
        let folder = tempfile::tempdir().unwrap();
        stderr(&harness(folder.path(), &["lint", archive.to_str().unwrap(), "--run", run]).code(2))
    };
    let refused = lint("random-walk/DiningTable-PT-05/CTLCardinality");
    assert!(refused.contains("has no output: the entry did not compete in it"), "{refused}");
    let refused = lint("random-walk/DiningTable-PT-05/StateSpac");
    assert!(refused.contains("did you mean `random-walk/DiningTable-PT-05/StateSpace`"), "{refused}");
}

#[test]
fn a_resigned_tool_leaves_no_trace_in_an_archive() {
    let campaign = Campaign::new();
    let folder = campaign.folder.path();
    fs::write(folder.join("tools.csv"), "entry,tool,status\ntool-1,tool-1,resigned\n").unwrap();
    let authors = "[[tool]]\nentry = \"tool-1\"\nauthors = [\"Nobody\"]\n[[tool]]\nentry = \"tool-2\"\nauthors = [\"Somebody\"]\n";
    fs::write(folder.join("publication.toml"), authors).unwrap();
    campaign
        .export(&["without.tar.zst", "--tools", "tools.csv", "--publication", "publication.toml"])
        .success();
    let unpacked = tempfile::tempdir().unwrap();
    unpack(&folder.join("without.tar.zst"), unpacked.path(), ArchiveLimits::default()).unwrap();
    let name = "tool-1".as_bytes();
    let mut others = 0;
    for (path, bytes) in files(unpacked.path()) {
        let trace = bytes.windows(name.len()).any(|window| window == name);
        let trace = trace || bytes.windows(6).any(|window| window == b"Nobody");
        assert!(!trace && !path.to_string_lossy().contains("tool-1"), "{}", path.display());
        others += usize::from(bytes.windows(6).any(|window| window == b"tool-2"));
    }
    assert!(others > 3, "the other entries are named");
    let publication = fs::read_to_string(unpacked.path().join("publication.json")).unwrap();
    assert!(publication.contains("Somebody"), "{publication}");
    let verified = harness(folder, &["verify", "without.tar.zst"]).success();
    assert!(stdout(&verified).contains("complete; runs: 4"), "{}", stdout(&verified));
}

#[test]
fn a_teams_bundle_has_its_own_runs_and_says_why_values_are_lost() {
    let campaign = Campaign::new();
    let folder = campaign.folder.path();
    campaign.export(&["own.tar.zst", "--tool", "tool-2"]).success();
    let unpacked = tempfile::tempdir().unwrap();
    unpack(&folder.join("own.tar.zst"), unpacked.path(), ArchiveLimits::default()).unwrap();
    for (path, bytes) in files(unpacked.path()) {
        for name in ["tool-0", "tool-1"] {
            let trace = bytes.windows(name.len()).any(|window| window == name.as_bytes());
            assert!(!trace, "{name} in {}", path.display());
        }
    }
    assert!(unpacked.path().join("outputs/tool-2/DiningTable-PT-03/StateSpace/1/stdout").is_file());
    let values = fs::read_to_string(unpacked.path().join("values.csv")).unwrap();
    assert!(
        values.starts_with("entry,instance,examination,position,id,value,verdict,trusted,basis,reason\n")
    );
    assert!(values.contains("00,STATES,18,right,18,unanimous,\n"), "{values}");
    assert!(values.contains(",lost,,unknown:none,\"answered"), "{values}");
    let verified = stdout(&harness(folder, &["verify", "own.tar.zst"]).success());
    assert!(verified.contains("values.csv in it has the verdicts\n"), "{verified}");
    let statement = "proved: every entry of the record is one of the tool tool-2\n";
    assert!(verified.contains(statement), "{verified}");
    let facts = unpacked.path().join("archive.json");
    let original = fs::read_to_string(&facts).unwrap();
    let shown = unpacked.path().to_str().unwrap();
    for (from, to, code, expected) in [
        (
            "\"tool-2\"",
            "\"Winner of 2026\"",
            0,
            "not proved: that the runs are of Winner of 2026, which archive.json names",
        ),
        ("mcc-2018", "mcc-2099", 1, "archive.json names another edition than edition.json"),
    ] {
        assert!(original.contains(from), "{original}");
        fs::write(&facts, original.replacen(from, to, 1)).unwrap();
        forge_sums(unpacked.path());
        let said = stdout(&harness(folder, &["verify", shown]).code(code));
        let values =
            "not proved: what datapackage.json and edition.json state, and the verdicts in values.csv";
        assert!(said.contains(expected) && said.contains(values), "{said}");
        let readme = "\nproved: README.txt is that of this version\n";
        let values =
            "\nproved: every row of values.csv of an instance of the record follows from the outputs";
        assert!(said.contains(readme) && (code == 1 || said.contains(values)), "{said}");
    }
    fs::write(&facts, &original).unwrap();
    let row = values.lines().position(|line| line.contains("00,STATES,18,right,18,unanimous,")).unwrap() + 1;
    let changes = [
        (
            "values.csv",
            "STATES,18,right",
            "STATES,19,right",
            format!("values.csv line {row} does not follow"),
        ),
        ("values.csv", "STATES,18,right", "STATES,18,wrong", "verdicts in values.csv".to_owned()),
        ("values.csv", ",value,verdict", ",values,verdict", "values.csv line 1 has other columns".to_owned()),
        ("values.csv", "DiningTable-PT-03", "DiningTable-PT-04", "not proved: rows of values.csv".to_owned()),
        ("README.txt", "record.db", "other.db", "README.txt is not what this version writes".to_owned()),
    ];
    for (name, from, to, expected) in changes {
        let path = unpacked.path().join(name);
        let before = fs::read_to_string(&path).unwrap();
        assert!(before.contains(from), "{from} in {before}");
        fs::write(&path, before.replace(from, to)).unwrap();
        forge_sums(unpacked.path());
        let code = i32::from(expected.starts_with(name));
        let said = stdout(&harness(folder, &["verify", shown]).code(code));
        assert!(said.contains(&expected), "{expected} in {said}");
        fs::write(&path, before).unwrap();
    }
    let judged = stderr(&harness(folder, &["judge", "own.tar.zst", "--out", "own"]).success());
    assert!(judged.contains("`mcc-harness rate own.tar.zst --published ANSWERS`"), "{judged}");
    let explained = stderr(&harness(folder, &["explain", "own.tar.zst", "--tool", "tool-2"]).code(2));
    assert!(explained.contains("values.csv in it has the verdict on each value"), "{explained}");
    let unknown = campaign.export(&["x.tar.zst", "--tool", "nobody"]).code(2);
    assert!(stderr(&unknown).contains("entries are tool-0, tool-1, tool-2"), "{}", stderr(&unknown));
    assert!(!folder.join("x.tar.zst").exists());
}

/// An archive of entries made by hand: type, path, declared size, content.
fn crafted(folder: &Path, entries: &[(tar::EntryType, &[u8], u64, &[u8])]) -> PathBuf {
    let path = folder.join("crafted.tar.zst");
    let mut out = zstd::Encoder::new(File::create(&path).unwrap(), 1).unwrap();
    for (kind, name, size, content) in entries {
        let mut header = tar::Header::new_ustar();
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        header.set_entry_type(*kind);
        header.set_size(*size);
        header.set_mode(0o644);
        if kind.is_symlink() {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        std::io::Write::write_all(&mut out, header.as_bytes()).unwrap();
        std::io::Write::write_all(&mut out, content).unwrap();
        let padding = vec![0; content.len().next_multiple_of(512) - content.len()];
        std::io::Write::write_all(&mut out, &padding).unwrap();
    }
    std::io::Write::write_all(&mut out, &[0; 1024]).unwrap();
    out.finish().unwrap();
    path
}

#[test]
fn an_unsafe_entry_of_an_archive_is_refused_by_name() {
    use tar::EntryType as Type;
    let file = |name: &'static [u8]| (Type::Regular, name, 1_u64, b"x".as_slice());
    let empty = |kind: Type, name: &'static [u8], size: u64| (kind, name, size, b"".as_slice());
    let facts: &[u8] = br#"{"format":1,"made_by":"0.1.0","edition":"mcc-2018","tool":null,"disks":[]}"#;
    let first = (Type::Regular, b"archive.json".as_slice(), facts.len() as u64, facts);
    let unknown = "is not a file that an archive can have";
    let cases: [(String, Vec<_>); 15] = [
        (format!("`/tmp/mcc-evil` {unknown}"), vec![file(b"/tmp/mcc-evil")]),
        (format!("`../evil` {unknown}"), vec![file(b"../evil")]),
        (format!("`outputs/../../evil` {unknown}"), vec![file(b"outputs/../../evil")]),
        (format!("`judgement//trusted.csv` {unknown}"), vec![file(b"judgement//trusted.csv")]),
        (format!("`record.db/` {unknown}"), vec![file(b"record.db/")]),
        (format!("`record.db-wal` {unknown}"), vec![first, file(b"record.db-wal")]),
        (format!("`record.db\u{fffd}` {unknown}"), vec![first, file(b"record.db\xff")]),
        (format!("`a/b/c/d/e/f/g` {unknown}"), vec![file(b"a/b/c/d/e/f/g")]),
        ("`record.db` is before archive.json".to_owned(), vec![file(b"record.db")]),
        ("`link` is not a regular file but a link".to_owned(), vec![empty(Type::Symlink, b"link", 0)]),
        ("`hard` is not a regular file but a link".to_owned(), vec![empty(Type::Link, b"hard", 0)]),
        ("`fifo` is not a regular file but a device".to_owned(), vec![empty(Type::Fifo, b"fifo", 0)]),
        (
            "`long` is not a regular file but an extension".to_owned(),
            vec![empty(Type::GNULongName, b"long", 1 << 40)],
        ),
        ("`record.db` occurs twice".to_owned(), vec![first, file(b"record.db"), file(b"record.db")]),
        (
            "`record.db` of 1152921504606846976 bytes makes the archive".to_owned(),
            vec![first, empty(Type::Regular, b"record.db", 1 << 60)],
        ),
    ];
    for (expected, entries) in cases {
        let folder = tempfile::tempdir().unwrap();
        let path = crafted(folder.path(), &entries);
        for command in [vec!["verify"], vec!["replay", "--run", RUN]] {
            let refused = harness(folder.path(), &[&command[..], &[path.to_str().unwrap()]].concat()).code(2);
            assert!(stderr(&refused).contains(&expected), "{expected}: {}", stderr(&refused));
        }
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 1, "{expected}: only the archive is there");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = crafted(folder.path(), &[first, file(b"record.db"), file(b"edition.json")]);
    let to = tempfile::tempdir().unwrap();
    let bounds = ArchiveLimits { entries: 2, ..ArchiveLimits::default() };
    let error = unpack(&path, to.path(), bounds).unwrap_err().to_string();
    assert!(error.contains("`edition.json` is one more than the 2 allowed"), "{error}");
    let to = tempfile::tempdir().unwrap();
    // Each entry has a header of 512 bytes and a content that is rounded up to such blocks.
    let bounds = ArchiveLimits { bytes: 6 * 512 - 1, ..ArchiveLimits::default() };
    let error = unpack(&path, to.path(), bounds).unwrap_err().to_string();
    assert!(error.contains("`edition.json` of 1 bytes makes the archive"), "{error}");
    let to = tempfile::tempdir().unwrap();
    unpack(&path, to.path(), ArchiveLimits { bytes: 6 * 512, ..ArchiveLimits::default() }).unwrap();
}

#[test]
fn a_cut_or_foreign_archive_is_refused_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.tar.zst");
    for bytes in [&PUBLISHED[..PUBLISHED.len() / 2], b"PK\x03\x04 a zip", b""] {
        fs::write(&path, bytes).unwrap();
        let refused = harness(folder.path(), &["verify", "cut.tar.zst"]).code(2);
        assert!(
            stderr(&refused).contains("download it again")
                || stderr(&refused).contains("cut.tar.zst is not an archive"),
            "{}",
            stderr(&refused)
        );
    }
}

#[test]
fn a_replay_names_the_disk_it_needs_by_its_digest() {
    let folder = published();
    // The disks of that campaign were removed with its folder.
    let asked = harness(folder.path(), &["replay", "published.tar.zst", "--run", RUN]).code(2);
    let kernel = mcc_harness::base::digest::bytes("kernel");
    assert!(stderr(&asked).contains(&kernel) && stderr(&asked).contains("--disk"), "{}", stderr(&asked));
    fs::write(folder.path().join("any-name"), "kernel").unwrap();
    let replay = ["replay", "published.tar.zst", "--run", RUN, "--disk", "any-name"];
    let asked = harness(folder.path(), &replay).code(2);
    let initrd = mcc_harness::base::digest::bytes("initrd");
    assert!(stderr(&asked).contains(&initrd), "{}", stderr(&asked));
    let unknown = harness(folder.path(), &["replay", "published.tar.zst", "--run", "a/b/c"]).code(2);
    assert!(stderr(&unknown).contains("no run a/b/c is recorded"), "{}", stderr(&unknown));
    let wrong = RUN.to_lowercase().replace("03", "3");
    let unknown = harness(folder.path(), &["replay", "published.tar.zst", "--run", &wrong]).code(2);
    assert!(stderr(&unknown).contains(&format!("did you mean `{RUN}`?")), "{}", stderr(&unknown));
    let missing = harness(folder.path(), &[&replay[..4], &["--disk", "nowhere"]].concat()).code(2);
    assert!(stderr(&missing).contains("--disk nowhere: No such file"), "{}", stderr(&missing));
    // The initrd in a subfolder of the second place, the kernel in the first.
    fs::create_dir_all(folder.path().join("images/tool")).unwrap();
    fs::write(folder.path().join("images/tool/x"), "initrd").unwrap();
    let asked = harness(folder.path(), &[&replay[..], &["--disk", "images"]].concat()).code(2);
    let printed = stderr(&asked);
    assert!(!printed.contains(&initrd) && printed.contains("--disk"), "the disk is missing now: {printed}");
}

#[test]
#[cfg_attr(not(feature = "machine-tests"), ignore = "needs real machines: scripts/test")]
fn a_run_is_replayed_from_an_archive_with_its_disks() {
    images::image("images/breadth-first");
    let elsewhere = tempfile::tempdir().unwrap();
    let archive = elsewhere.path().join("published.tar.zst");
    let folder =
        Folder::new(&campaign::on_fixtures(&["DiningTable-PT-03"], &["StateSpace"], &["breadth-first"], ""));
    folder.run(&[]).success();
    let export = ["export", "results", "--archive", archive.to_str().unwrap(), "--with-disks"];
    assert_cmd::Command::from(folder.harness(&export)).assert().success();
    fs::remove_dir_all(folder.results()).unwrap();

    let run = "breadth-first/DiningTable-PT-03/StateSpace";
    let replay = |more: &[&str]| {
        let replay = ["replay", archive.to_str().unwrap(), "--run", run, "--allow-degraded"];
        let replay = folder.harness(&[&replay, more].concat());
        stdout(&assert_cmd::Command::from(replay).assert().success())
    };
    let twice = replay(&["--repeat", "2"]);
    for expected in [
        "breadth-first/DiningTable-PT-03/StateSpace: answers equal",
        "host         the same",
        "the median of 2",
    ] {
        assert!(twice.contains(expected), "{expected}: {twice}");
    }
    let kept = elsewhere.path().join("replays");
    let json = replay(&["--out", kept.to_str().unwrap(), "--format", "json"]);
    assert!(json.contains("\"answers_equal\": true"), "{json}");
    assert!(kept.join(format!("1/outputs/{run}/1/stdout")).is_file());

    // The replay reports another answer in the record.
    let unpacked = elsewhere.path().join("changed");
    fs::create_dir(&unpacked).unwrap();
    unpack(&archive, &unpacked, ArchiveLimits::default()).unwrap();
    let stdout_file = unpacked.join("outputs/breadth-first/DiningTable-PT-03/StateSpace/1/stdout");
    let text = fs::read_to_string(&stdout_file).unwrap();
    let changed = text.replacen("STATES ", "STATES 9", 1);
    assert_ne!(changed, text);
    fs::write(&stdout_file, &changed).unwrap();
    let refused = folder.harness(&["replay", unpacked.to_str().unwrap(), "--run", run, "--allow-degraded"]);
    let refused = assert_cmd::Command::from(refused).assert().code(2);
    assert!(stderr(&refused).contains("it was changed after it was recorded"), "{}", stderr(&refused));
    let digest = mcc_harness::base::digest::bytes;
    let db = rusqlite::Connection::open(unpacked.join("record.db")).unwrap();
    db.execute("UPDATE attempts SET facts = replace(facts, ?1, ?2)", [digest(&text), digest(&changed)])
        .unwrap();
    drop(db);
    let replay = folder.harness(&["replay", unpacked.to_str().unwrap(), "--run", run, "--allow-degraded"]);
    let differ = assert_cmd::Command::from(replay).assert().code(1);
    assert!(stdout(&differ).contains("ANSWERS DIFFER"), "{}", stdout(&differ));
    assert!(stdout(&differ).contains("00 STATES: recorded 9"), "{}", stdout(&differ));
}

/// Changes an answer and the sums, as a forger would.
fn forge(unpacked: &Path) {
    let answers = unpacked.join("answers.csv");
    let text = fs::read_to_string(&answers).unwrap();
    fs::write(&answers, text.replacen("18", "19", 1)).unwrap();
    forge_sums(unpacked);
}

#[test]
fn signed_changed_foreign_and_unsigned_archives_differ() {
    let campaign = Campaign::new();
    let folder = campaign.folder.path();
    let keygen = |name: &str| {
        let mut keygen = Command::new("ssh-keygen");
        let made = keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", "x", "-f", name]).current_dir(folder);
        assert!(made.status().unwrap().success());
        fs::read_to_string(folder.join(format!("{name}.pub"))).unwrap()
    };
    let (organizer, _) = (keygen("organizer"), keygen("stranger"));
    fs::write(folder.join("allowed"), format!("organizers@example.org {organizer}")).unwrap();
    campaign.export(&["signed.tar.zst", "--sign", "organizer"]).success();
    campaign.export(&["again.tar.zst", "--sign", "organizer"]).success();
    campaign.export(&["foreign.tar.zst", "--sign", "stranger"]).success();
    campaign.export(&["unsigned.tar.zst"]).success();
    let bytes = |name: &str| fs::read(folder.join(name)).unwrap();
    assert!(bytes("signed.tar.zst") == bytes("again.tar.zst"), "the signature is the same");
    let verify = |input: &str| harness(folder, &["verify", input, "--allowed-signers", "allowed"]);
    let signed = verify("signed.tar.zst").success();
    let signer = "signed by organizers@example.org, ED25519 key SHA256:";
    assert!(stdout(&signed).contains(signer), "{}", stdout(&signed));
    for (input, message) in [
        ("foreign.tar.zst", "which is the key of no signer in allowed"),
        ("unsigned.tar.zst", "SHA256SUMS.sig is missing: the archive is not signed"),
    ] {
        let refused = verify(input).code(1);
        assert!(stdout(&refused).contains(message), "{input}: {}", stdout(&refused));
        // Complete in all other respects.
        harness(folder, &["verify", input]).success();
    }
    // Machines of other users could enter and change it.
    fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    let unpacked = folder.join("forged");
    fs::create_dir(&unpacked).unwrap();
    unpack(&folder.join("signed.tar.zst"), &unpacked, ArchiveLimits::default()).unwrap();
    verify("forged").success();
    fs::set_permissions(&unpacked, Permissions::from_mode(0o777)).unwrap();
    let open = verify("forged").code(2);
    assert!(stderr(&open).contains("another user can change it while it is read"), "{}", stderr(&open));
    fs::set_permissions(&unpacked, Permissions::from_mode(0o755)).unwrap();
    forge(&unpacked);
    let forged = stdout(&verify("forged").code(1));
    assert!(forged.contains("SHA256SUMS.sig does not fit SHA256SUMS: the archive was changed"), "{forged}");
    let mut plain = Command::new("ssh-keygen");
    plain.args(["-Y", "sign", "-q", "-f", "../stranger", "-n", "mcc-harness-archive", "SHA256SUMS"]);
    fs::remove_file(unpacked.join("SHA256SUMS.sig")).unwrap();
    assert!(plain.current_dir(&unpacked).status().unwrap().success());
    let foreign = stdout(&verify("forged").code(1));
    assert!(foreign.contains("\nINCOMPLETE OR CHANGED; "), "{foreign}");
    assert!(foreign.contains("which is the key of no signer in allowed"), "{foreign}");
    assert!(foreign.starts_with("SHA256SUMS.sig was made by "), "before the other differences: {foreign}");
    let record = harness(folder, &["verify", "results", "--allowed-signers", "allowed"]).code(2);
    assert!(stderr(&record).contains("is a record, which has no signature"), "{}", stderr(&record));
    let bad = campaign.export(&["x.tar.zst", "--sign", "allowed"]).code(2);
    assert!(stderr(&bad).contains("cannot sign with this key"), "{}", stderr(&bad));
    assert!(!folder.join("x.tar.zst").exists());
}

#[test]
fn report_explain_and_lint_read_an_archive() {
    let folder = published();
    for input in ["published.tar.zst", "unpacked"] {
        harness(folder.path(), &["report", input, "--out", &format!("site-of-{input}")]).success();
        let page = format!("site-of-{input}/index.html");
        assert!(folder.path().join(page).is_file());
        let explain = ["explain", input, "--instance", "DiningTable-PT-03", "--examination", "StateSpace"];
        let explained = harness(folder.path(), &explain).success();
        assert!(stdout(&explained).contains("tool-0"), "{}", stdout(&explained));
        // The run gives one of four values, which is an error of its output.
        let lint = harness(folder.path(), &["lint", input, "--run", RUN]).code(1);
        assert!(stdout(&lint).contains("STATES") && stdout(&lint).contains("18"), "{}", stdout(&lint));
    }
    let again = ["report", "published.tar.zst", "--record", "unpacked", "--out", "site"];
    let twice = harness(folder.path(), &again).code(2);
    assert!(stderr(&twice).contains("omit --record"), "{}", stderr(&twice));
    let nothing =
        harness(folder.path(), &["lint", "published.tar.zst", "--run", "x/A-PT-1/StateSpace"]).code(2);
    assert!(
        stderr(&nothing).contains("run x/A-PT-1/StateSpace is not planned in this record"),
        "{}",
        stderr(&nothing)
    );
}
