//! Archives that someone changed. `tests/data/archives` has a signed archive that version 0.1.0 wrote of `demo/campaign.toml`,
//! and the public key of its signer. Its private key does not exist any more.

use crate::support::data;

use mcc_harness::archive::{ArchiveLimits, unpack};
use mcc_harness::base::digest;
use proptest::prelude::*;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Output;

const RUN: &str = "breadth-first/DiningTable-PT-05/StateSpace";

pub fn archive() -> PathBuf {
    data::published("archives/demo-0.1.0.tar.zst")
}

pub fn signers() -> String {
    data::published("archives/signers").display().to_string()
}

/// A folder with the unpacked archive.
pub fn unpacked() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    unpack(&archive(), folder.path(), ArchiveLimits::default()).unwrap();
    folder
}

fn harness(args: &[&str]) -> Output {
    let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
    command.args(args).output().unwrap()
}

/// Runs a command that must end with this exit code, and returns what it printed.
pub fn printed(args: &[&str], code: i32) -> String {
    let output = harness(args);
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
    text
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The paths of all files below a folder, `archive.json` first.
fn files(folder: &Path) -> Vec<String> {
    let files = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter().map(Result::unwrap);
    let files = files.filter(|file| !file.file_type().is_dir());
    let mut names: Vec<String> =
        files.map(|file| text(file.path().strip_prefix(folder).unwrap()).to_owned()).collect();
    names.sort_by_key(|name| name != "archive.json");
    names
}

/// Writes SHA256SUMS for the files as they are, without a signature, as an attacker would.
pub fn forge_sums(folder: &Path) {
    let _ = fs::remove_file(folder.join("SHA256SUMS.sig"));
    let _ = fs::remove_file(folder.join("SHA256SUMS"));
    let line = |name: &String| format!("{}  {name}\n", digest::file(&folder.join(name)).unwrap().0);
    let lines: String = files(folder).iter().map(line).collect();
    fs::write(folder.join("SHA256SUMS"), lines).unwrap();
}

/// Packs the files of a folder as an archive.
pub fn packed(folder: &Path) -> tempfile::NamedTempFile {
    let archive = tempfile::NamedTempFile::new().unwrap();
    let mut tar = tar::Builder::new(zstd::Encoder::new(archive.reopen().unwrap(), 1).unwrap());
    for name in files(folder) {
        add(&mut tar, &name, &fs::read(folder.join(&name)).unwrap());
    }
    tar.into_inner().unwrap().finish().unwrap();
    archive
}

fn add<W: std::io::Write>(tar: &mut tar::Builder<W>, name: &str, content: &[u8]) {
    let mut header = tar::Header::new_ustar();
    header.set_path(name).unwrap();
    header.set_size(content.len() as u64);
    header.set_mode(0o644);
    header.set_cksum();
    tar.append(&header, content).unwrap();
}

/// Makes a write-ahead log of SQLite with which `record.db` has another content and the same bytes.
fn log_of(folder: &Path, change: &str) -> Vec<u8> {
    let beside = tempfile::tempdir().unwrap();
    let copy = beside.path().join("record.db");
    fs::copy(folder.join("record.db"), &copy).unwrap();
    let db = rusqlite::Connection::open(&copy).unwrap();
    db.pragma_update(None, "journal_mode", "wal").unwrap();
    db.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    db.execute_batch(change).unwrap();
    fs::read(beside.path().join("record.db-wal")).unwrap()
}

#[test]
fn messages_name_the_archive_and_not_the_folder_of_its_files() {
    let folder = unpacked();
    fs::write(folder.path().join("publication.json"), "{").unwrap();
    let archive = packed(folder.path());
    let said = printed(&["verify", text(archive.path())], 1);
    assert!(said.contains("publication.json") && !said.contains("mcc-archive-"), "{said}");
}

#[test]
fn a_log_beside_the_record_of_a_signed_archive_is_refused() {
    let folder = unpacked();
    let change = "UPDATE attempts SET facts = json_set(facts, '$.host.name', 'forged')";
    let log = log_of(folder.path(), change);
    assert!(log.len() > 4096);
    for (name, content) in [("record.db-wal", &log[..]), ("record.db-shm", b""), ("record.db-journal", b"x")]
    {
        let path = folder.path().join(name);
        fs::write(&path, content).unwrap();
        let said = printed(&["verify", text(folder.path()), "--allowed-signers", &signers()], 1);
        assert!(said.contains(&format!("{name} is not a file that an archive can have")), "{said}");
        assert!(said.contains("INCOMPLETE OR CHANGED"), "{said}");
        let out = tempfile::tempdir().unwrap();
        let [site, judged] = ["site", "judged"].map(|name| text(&out.path().join(name)).to_owned());
        for command in [
            vec!["judge", text(folder.path()), "--out", &judged],
            vec!["report", text(folder.path()), "--out", &site],
            vec!["status", text(folder.path())],
        ] {
            let said = printed(&command, 2);
            assert!(said.contains(name) && said.contains("download it again"), "{command:?}: {said}");
        }
        let archive = packed(folder.path());
        let said = printed(&["verify", text(archive.path()), "--allowed-signers", &signers()], 2);
        assert!(said.contains(&format!("entry `{name}` is not a file that an archive can have")), "{said}");
        fs::remove_file(path).unwrap();
    }
    // The log has an effect on a record of which it is a part.
    fs::write(folder.path().join("record.db-wal"), log).unwrap();
    let db = rusqlite::Connection::open(folder.path().join("record.db")).unwrap();
    let hosts = "SELECT count(*) FROM attempts WHERE json_extract(facts, '$.host.name') = 'forged'";
    assert_eq!(db.query_row(hosts, [], |row| row.get::<_, u32>(0)).unwrap(), 36);
}

#[test]
fn a_record_with_other_tables_or_indices_is_refused() {
    let original = unpacked();
    let endless = "(WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n)";
    let view = |facts: &str| {
        format!(
            "ALTER TABLE attempts RENAME TO kept; CREATE VIEW attempts AS SELECT run, number, outcome, {facts} AS facts, ms \
             FROM kept"
        )
    };
    let exact = "is not as in a record of format 4";
    for (change, part) in [
        (view("replace(facts, 'a', strftime('%s', 'now'))"), exact),
        (view(&format!("facts || {endless}")), exact),
        (view("facts || printf('%.900000000c', ' ')"), exact),
        ("CREATE TABLE more (x)".to_owned(), "more is not as in a record"),
        ("CREATE TRIGGER late AFTER INSERT ON runs BEGIN SELECT 1; END".to_owned(), "late is not as in a record"),
        ("DROP INDEX ends".to_owned(), "ends is not as in a record"),
        ("ALTER TABLE facts ADD COLUMN more TEXT".to_owned(), "facts is not as in a record"),
        ("PRAGMA user_version = 2".to_owned(), "is not as in a record of format 2"),
        ("PRAGMA user_version = 6".to_owned(), "has format 6"),
        ("PRAGMA application_id = 5".to_owned(), "is not a record"),
        ("INSERT INTO attempts SELECT 99, number, outcome, facts, ms FROM attempts WHERE run = 1".to_owned(), "is of no run"),
        ("INSERT INTO reruns VALUES (99, 1, 'overload')".to_owned(), "is of no run"),
        (
            "UPDATE attempts SET run = -1 WHERE run = 1; UPDATE runs SET position = -1 WHERE position = 1".to_owned(),
            "the position of a run is less than 1",
        ),
        ("UPDATE runs SET recorded = 7 WHERE position = 1".to_owned(), "is neither 0 nor 1"),
        ("UPDATE runs SET recorded = -1".to_owned(), "is neither 0 nor 1"),
        ("UPDATE attempts SET number = -1 WHERE run = 1".to_owned(), "the number of an attempt"),
        // Summaries read the columns, and judgements the facts.
        ("UPDATE attempts SET outcome = 'infrastructure' WHERE run = 1".to_owned(), "`outcome` or `ms` of an attempt differs"),
        ("UPDATE runs SET model = 'other' WHERE position = 1".to_owned(), "`model` of a run differs"),
        ("UPDATE runs SET model = NULL WHERE position = 1".to_owned(), "`model` of a run differs"),
        ("UPDATE attempts SET ms = 7 WHERE run = 1".to_owned(), "`outcome` or `ms` of an attempt differs"),
        ("UPDATE attempts SET ms = NULL WHERE run = 1".to_owned(), "`outcome` or `ms` of an attempt differs"),
        ("INSERT INTO reruns VALUES (1, -1, 'again')".to_owned(), "before a rerun"),
        ("INSERT INTO reruns VALUES (1, 1, 'again')".to_owned(), "a recorded run has no attempt after its rerun"),
        ("INSERT INTO facts VALUES ('note', 'forged')".to_owned(), "`facts` has a row that no archive has"),
        ("INSERT INTO instances (facts) SELECT facts FROM instances LIMIT 1".to_owned(), "an instance is listed twice"),
        (
            "UPDATE facts SET value = json_insert(value, '$.entries[#]', json_extract(value, '$.entries[0]')) \
             WHERE key = 'campaign'"
                .to_owned(),
            "an entry is listed twice",
        ),
        // Its own rules, of which the archive has a copy that is shown.
        (
            "UPDATE facts SET value = json_set(value, '$.edition', json_set(json_extract(value, '$.edition'), \
             '$.status[0].note', 'a' || char(27) || '[2Jb') || '') WHERE key = 'campaign'"
                .to_owned(),
            "the `note` contains the control character ⟨ESC⟩; remove it",
        ),
        // Short words need far more memory than their text.
        (
            "INSERT INTO facts SELECT 'old', value FROM facts WHERE key = 'campaign'; \
             UPDATE facts SET value = printf('%.40000000c', ' ') || value WHERE key = 'campaign'"
                .to_owned(),
            "too big",
        ),
        // An index that lists other attempts than its table.
        (
            "DROP INDEX ends; CREATE INDEX ends ON attempts (run, number, outcome, run); PRAGMA writable_schema = ON; \
             UPDATE sqlite_schema SET sql = 'CREATE INDEX ends ON attempts (run, number, outcome, ms)' WHERE name = 'ends'"
                .to_owned(),
            "index ends",
        ),
    ] {
        let (folder, beside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for name in files(original.path()) {
            let to = folder.path().join(&name);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(original.path().join(&name), to).unwrap();
        }
        let db = rusqlite::Connection::open(folder.path().join("record.db")).unwrap();
        db.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
        db.execute_batch(&change).unwrap();
        drop(db);
        forge_sums(folder.path());
        let out = beside.path().join("judged");
        for command in [vec!["verify", text(folder.path())], vec!["judge", text(folder.path()), "--out", text(&out)]] {
            let said = printed(&command, 2);
            assert!(said.contains(part) && said.contains("record.db"), "{change}: {said}");
        }
    }
}

#[test]
fn the_first_line_of_a_judgement_is_compared() {
    let folder = unpacked();
    let path = folder.path().join("judgement/judgement.json");
    let original = fs::read_to_string(&path).unwrap();
    assert!(original.starts_with("{\"version\":\"0.1.0\",\n"), "{}", &original[..100]);
    for (change, code) in [
        ("{\"version\":\"0.1.1\",\n", 0),
        ("{\"version\":\"0.1.0\",\"podiums\":[],\n", 1),
        ("{\"version\":[\"0.1.0\"],\n", 1),
    ] {
        fs::write(&path, original.replacen("{\"version\":\"0.1.0\",\n", change, 1)).unwrap();
        forge_sums(folder.path());
        let said = printed(&["verify", text(folder.path())], code);
        assert_eq!(said.contains("judgement/judgement.json line 1 has `"), code == 1, "{said}");
    }
}

#[test]
fn a_changed_title_of_the_edition_is_found_in_a_long_line() {
    let folder = unpacked();
    let path = folder.path().join("judgement/judgement.json");
    let original = fs::read_to_string(&path).unwrap();
    let line = original.lines().nth(1).unwrap();
    let at = line.rfind("\"unknown\"").unwrap();
    assert!(at > 1000);
    let changed = format!("{}{}", &line[..at], line[at..].replacen(":\"", ":\"Forged ", 1));
    fs::write(&path, original.replacen(line, &changed, 1)).unwrap();
    forge_sums(folder.path());
    let said = printed(&["verify", text(folder.path())], 1);
    let difference = said.lines().find(|line| line.starts_with("judgement/judgement.json line 2")).unwrap();
    let (stored, recomputed) = difference.split_once(", recomputed it is ").unwrap();
    assert!(stored.contains("Forged") && !recomputed.contains("Forged"), "{difference}");
}

#[test]
fn a_table_that_does_not_follow_from_the_record_is_found() {
    for (name, content) in [
        ("judgement/instructions.csv", "entry,instance,examination,number\nforged,A-PT-1,StateSpace,1\n"),
        (
            "answers.overrides.csv",
            "instance,examination,position,value,reason\nA-PT-1,StateSpace,0,999,forged\n",
        ),
    ] {
        let folder = unpacked();
        fs::write(folder.path().join(name), content).unwrap();
        forge_sums(folder.path());
        let said = printed(&["verify", text(folder.path())], 1);
        assert!(said.contains(&format!("{name} does not follow from the record")), "{said}");
    }
}

#[test]
fn the_runs_of_an_archive_with_an_output_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("classes.csv");
    printed(&["export", text(&archive()), "--classes", text(&out)], 0);
    let listed = fs::read_to_string(out).unwrap();
    assert!(listed.contains(&format!("\n{},", RUN.replace('/', ","))), "{listed}");
}

#[test]
fn a_changed_output_is_not_judged() {
    let (folder, beside) = (unpacked(), tempfile::tempdir().unwrap());
    let outputs = folder.path().join("outputs").join(RUN).join("1");
    let original = fs::read_to_string(outputs.join("stdout")).unwrap();
    let out = beside.path().join("judged");
    let samples = outputs.join("samples.csv.gz");
    let kept = fs::read(&samples).unwrap();
    fs::copy(outputs.join("../../CTLCardinality/1/samples.csv.gz"), &samples).unwrap();
    let said = printed(&["report", text(folder.path()), "--out", text(&out)], 2);
    assert!(said.contains("samples.csv.gz: it ") && said.contains("changed after it was recorded"), "{said}");
    fs::write(&samples, kept).unwrap();
    let refused = |command: &[&str], problem: &str| {
        let said = printed(command, 2);
        assert!(said.contains(problem) && said.contains("restore the file"), "{said}");
        assert!(said.contains("it was changed after it was recorded"), "{said}");
        assert!(!out.exists());
    };
    fs::write(outputs.join("stdout"), original.replacen("STATES", "STATEs", 1)).unwrap();
    refused(&["judge", text(folder.path()), "--out", text(&out)], ": it has sha256 ");
    refused(&["lint", text(folder.path()), "--run", RUN], ": it has sha256 ");
    // Failure classes are read from stderr too.
    fs::write(outputs.join("stdout"), original).unwrap();
    fs::write(outputs.join("stderr"), "out of memory\n").unwrap();
    refused(&["export", text(folder.path()), "--classes", text(&out)], ": it is longer than the ");
}

#[test]
fn a_changed_judgement_of_an_archive_is_not_shown() {
    let (folder, beside) = (unpacked(), tempfile::tempdir().unwrap());
    let path = folder.path().join("judgement/judgement.json");
    let original = fs::read_to_string(&path).unwrap();
    fs::write(&path, original.replacen("\"gold\"", "\"none\"", 1)).unwrap();
    let sums = folder.path().join("SHA256SUMS");
    let listed = fs::read_to_string(&sums).unwrap();
    let unlisted: String = listed
        .lines()
        .filter(|line| !line.ends_with("judgement.json"))
        .map(|line| format!("{line}\n"))
        .collect();
    let out = beside.path().join("site");
    for (lines, expected) in [(listed, "has sha256 "), (unlisted, "is not listed in SHA256SUMS")] {
        fs::write(&sums, lines).unwrap();
        let packed = packed(folder.path());
        for input in [text(folder.path()), text(packed.path())] {
            for command in [
                vec!["report", input, "--out", text(&out)],
                vec!["explain", input, "--tool", "breadth-first"],
                vec!["judge", "--compare", input, input],
            ] {
                let said = printed(&command, 2);
                let problem = format!("judgement/judgement.json: it {expected}");
                assert!(
                    said.contains(&problem) && said.contains("`mcc-harness verify` lists"),
                    "{command:?}: {said}"
                );
                assert!(!out.exists() && !said.contains("mcc-archive-"), "{command:?}: {said}");
            }
        }
    }
}

#[test]
fn an_output_that_was_made_longer_is_not_read_to_its_end() {
    // A record as `run` leaves it: the digests of an unpacked archive are of whole files.
    let (archive, folder) = (unpacked(), tempfile::tempdir().unwrap());
    for name in ["record.db", "outputs"] {
        fs::rename(archive.path().join(name), folder.path().join(name)).unwrap();
    }
    let stdout = folder.path().join("outputs").join(RUN).join("1/stdout");
    let original = fs::read(&stdout).unwrap();
    fs::write(&stdout, [&original[..], &[b'x'; 1000]].concat()).unwrap();
    let out = folder.path().join("judged");
    let said = printed(&["judge", text(folder.path()), "--out", text(&out)], 2);
    let length = original.len();
    // The digest of the part that was read would be that of no file.
    let longer =
        format!(": it is longer than the {length} bytes of the record: it was changed after it was recorded");
    assert!(said.contains(&longer) && !said.contains("sha256"), "{said}");
    // Longer than what can be read in a day.
    File::options().write(true).open(&stdout).unwrap().set_len(1 << 43).unwrap();
    printed(&["judge", text(folder.path()), "--out", text(&out)], 2);
    let said = printed(&["verify", text(folder.path())], 1);
    assert!(said.contains(&format!("stdout has 8796093022208 bytes, but {length} in the record")), "{said}");
}

/// A frame that zstd skips.
const SKIPPABLE: &[u8] = b"\x50\x2a\x4d\x18\x04\0\0\0text";

#[test]
fn bytes_after_the_end_of_an_archive_are_refused() {
    let original = fs::read(archive()).unwrap();
    let plain = zstd::decode_all(&original[..]).unwrap();
    let packed = |plain: Vec<u8>| zstd::encode_all(&plain[..], 1).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("changed.tar.zst");
    for changed in [
        [&original[..], b"more"].concat(),
        [&original[..], &original].concat(),
        packed([&plain[..], b"more"].concat()),
        packed([&plain[..], &[0; 10_240], &plain].concat()),
        packed([&plain[..], &[0; 1 << 20], &plain].concat()),
        packed([&plain[..], &[0; (1 << 20) + 1]].concat()),
        // Each frame is read on its own.
        [&original[..], &packed(vec![0]).repeat(2100), &packed(plain.clone())].concat(),
        [&original[..], &packed(vec![])].concat(),
        [&original[..], SKIPPABLE].concat(),
        [&original[..], SKIPPABLE, &packed(vec![])].concat(),
    ] {
        fs::write(&path, changed).unwrap();
        let said = printed(&["verify", text(&path)], 2);
        assert!(said.contains("not a complete archive"), "{said}");
    }
    // As GNU tar fills up the last block.
    fs::write(&path, packed([&plain[..], &[0; 10_240]].concat())).unwrap();
    printed(&["verify", text(&path)], 0);
}

/// Programs read such headers differently: as `../../evil/README.txt`, or with other rights.
#[test]
fn a_header_that_export_does_not_write_is_refused() {
    let plain = zstd::decode_all(File::open(archive()).unwrap()).unwrap();
    let at = plain.windows(11).position(|bytes| bytes == b"README.txt\0").unwrap();
    assert_eq!(at % 512, 0);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("changed.tar.zst");
    let prefix = (345, &b"../../evil"[..]);
    for (changes, is_intact) in [
        // The other notation of a regular file.
        (vec![(156, &b"0"[..])], true),
        (vec![prefix, (263, b"  ")], false),
        (vec![prefix, (263, b"xx")], false),
        (vec![prefix, (263, b"01")], false),
        (vec![(257, b"ustar  \0")], false),
        (vec![(100, b"0006777\0")], false),
        (vec![(108, b"0000000\0")], false),
        (vec![(20, b"more")], false),
        (vec![(157, b"record.db")], false),
    ] {
        let mut tar = plain.clone();
        let header = &mut tar[at..at + 512];
        for (field, bytes) in &changes {
            header[*field..field + bytes.len()].copy_from_slice(bytes);
        }
        header[148..156].copy_from_slice(b"        ");
        let sum: u32 = header.iter().copied().map(u32::from).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        fs::write(&path, zstd::encode_all(&tar[..], 1).unwrap()).unwrap();
        let said = printed(&["verify", text(&path)], if is_intact { 0 } else { 2 });
        let expected =
            "entry `README.txt` has a header that `export` does not write; do not trust this archive";
        assert_eq!(said.contains(expected), !is_intact, "{changes:?}: {said}");
    }
}

#[test]
fn a_folder_for_temporary_files_that_cannot_be_used_is_an_error_of_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let (archive, unpacked, out) = (archive(), unpacked(), folder.path().join("out"));
    let (file, missing) = (folder.path().join("file"), folder.path().join("missing"));
    fs::write(&file, "").unwrap();
    for unusable in [file, missing] {
        for command in [
            vec!["verify", text(&archive)],
            vec!["verify", text(unpacked.path())],
            vec!["judge", text(&archive), "--out", text(&out)],
            vec!["report", text(&archive), "--out", text(&out)],
            vec!["replay", text(&archive), "--run", RUN],
            vec!["export", text(unpacked.path()), "--archive", text(&out)],
        ] {
            let mut harness = assert_cmd::Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
            let ended = harness.args(&command).env("TMPDIR", &unusable).output().unwrap();
            let said = String::from_utf8(ended.stderr).unwrap();
            assert_eq!(ended.status.code(), Some(69), "{command:?}: {said}");
            let place = format!("cannot create a temporary folder in {}: ", unusable.display());
            assert_eq!(said.matches(&place).count(), 1, "{command:?}: {said}");
            assert_eq!(said.matches("; set TMPDIR to a folder").count(), 1, "{command:?}: {said}");
            assert!(!out.exists(), "{command:?}");
        }
    }
}

#[test]
fn a_small_archive_that_unpacks_to_gigabytes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bomb.tar.zst");
    let mut out = zstd::Encoder::new(File::create(&path).unwrap(), 1).unwrap();
    let facts = fs::read(unpacked().path().join("archive.json")).unwrap();
    let mut tar = tar::Builder::new(&mut out);
    add(&mut tar, "archive.json", &facts);
    let mut header = tar::Header::new_ustar();
    header.set_path(format!("outputs/{RUN}/1/stdout")).unwrap();
    header.set_size(2 << 30);
    header.set_cksum();
    tar.append(&header, std::io::Read::take(std::io::repeat(b'.'), 2 << 30)).unwrap();
    tar.into_inner().unwrap();
    out.finish().unwrap();
    assert!(path.metadata().unwrap().len() < 1 << 20);
    let said = printed(&["verify", text(&path)], 2);
    let expected = format!("entry `outputs/{RUN}/1/stdout` of 2147483648 bytes makes the archive");
    assert!(said.contains(&expected) && said.contains("larger than 1073741824 bytes"), "{said}");
    assert!(said.contains("unpack it with `tar --zstd -xf` and give the folder"), "{said}");
}

#[test]
fn a_record_of_a_small_archive_that_needs_gigabytes_of_memory_is_refused() {
    let (folder, beside) = (unpacked(), tempfile::tempdir().unwrap());
    let db = rusqlite::Connection::open(folder.path().join("record.db")).unwrap();
    // Each text is short enough, and all of them together are not.
    let ids = "json('[\"' || replace(hex(zeroblob(5000000)), '00', '\",\"') || '\"]')";
    let change = format!("UPDATE instances SET facts = json_set(facts, '$.questions.StateSpace', {ids})");
    db.execute_batch(&(change + "; UPDATE attempts SET facts = facts || printf('%.900000c', ' ')")).unwrap();
    drop(db);
    forge_sums(folder.path());
    let archive = packed(folder.path());
    assert!(archive.as_file().metadata().unwrap().len() < 200_000);
    let out = beside.path().join("out");
    for command in ["judge", "import"] {
        let said = printed(&[command, text(archive.path()), "--out", text(&out)], 2);
        assert!(said.contains("`record.db` of ") && said.contains("is larger than 67108864 bytes"), "{said}");
        assert!(!out.exists());
    }
}

/// A line of zeros is compressed to almost nothing.
#[test]
fn an_endless_line_in_a_small_archive_is_refused_in_bounded_memory() {
    let program = env!("CARGO_BIN_EXE_mcc-harness");
    for name in ["SHA256SUMS", "answers.csv", "judgement/judgement.json"] {
        let folder = unpacked();
        fs::write(folder.path().join(name), vec![b'0'; 600 << 20]).unwrap();
        if name != "SHA256SUMS" {
            forge_sums(folder.path());
        }
        let archive = packed(folder.path());
        assert!(archive.path().metadata().unwrap().len() < 10 << 20);
        let mut command = assert_cmd::Command::new("bash");
        command.args([
            "-c",
            "ulimit -v 2000000; exec \"$@\"",
            "bash",
            program,
            "verify",
            text(archive.path()),
        ]);
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}: {said}");
        let reason = if name == "judgement/judgement.json" {
            format!("`{name}` of 629145600 bytes is larger than 67108864 bytes")
        } else {
            format!("{name}: line 1 has more than 67108864 bytes")
        };
        assert!(said.contains(&reason), "{said}");
        assert!(said.contains(text(archive.path())), "{said}");
    }
}

#[test]
fn a_replay_opens_no_file_that_a_record_names() {
    let folder = unpacked();
    let kernel = folder.path().join("kernel-of-this-host");
    fs::write(&kernel, "code").unwrap();
    let db = rusqlite::Connection::open(folder.path().join("record.db")).unwrap();
    let sha256 = digest::bytes("code");
    let disks = format!(r#"[{{"role":"kernel","sha256":"{sha256}","bytes":4}}]"#);
    let machine = format!(r#"["-kernel",{:?}]"#, text(&kernel));
    let changed = db.execute(
        "UPDATE attempts SET facts = json_set(facts, '$.disks', json(?1), '$.machine', json(?2))",
        [&disks, &machine],
    );
    assert_eq!(changed.unwrap(), 36);
    drop(db);
    let replay = ["replay", text(folder.path()), "--run", RUN];
    let said = printed(&replay, 2);
    assert!(said.contains(&format!("the kernel of 4 bytes with sha256 {sha256} is needed")), "{said}");
    // The user may give the file.
    let said = printed(&[&replay[..], &["--disk", text(&kernel)]].concat(), 2);
    assert!(said.contains("no initrd"), "{said}");
}

#[test]
fn a_bundle_of_one_team_has_no_files_of_a_contest() {
    let folder = unpacked();
    let path = folder.path().join("archive.json");
    let facts = fs::read_to_string(&path).unwrap();
    // Of a bundle no points are computed, so a forged judgement in one would not be found.
    fs::write(&path, facts.replacen("\"tool\": null", "\"tool\": \"breadth-first\"", 1)).unwrap();
    forge_sums(folder.path());
    let said = printed(&["verify", text(folder.path())], 1);
    assert!(said.contains("answers.csv is not a file that the archive of one team can have"), "{said}");
    assert!(said.contains("values.csv is missing"), "{said}");
    let archive = packed(folder.path());
    let said = printed(&["verify", text(archive.path())], 2);
    assert!(said.contains("is not a file that the archive of one team can have"), "{said}");
}

#[test]
fn rows_that_are_repeated_or_removed_in_the_archive_of_a_team_are_found() {
    let (folder, original) = (tempfile::tempdir().unwrap(), unpacked());
    let (archive, team) = (folder.path().join("own.tar.zst"), folder.path().join("team"));
    printed(&["export", text(original.path()), "--tool", "breadth-first", "--archive", text(&archive)], 0);
    fs::create_dir(&team).unwrap();
    unpack(&archive, &team, ArchiveLimits::default()).unwrap();
    let path = team.join("values.csv");
    let values = fs::read_to_string(&path).unwrap();
    let (header, rows) = values.split_once('\n').unwrap();
    let lacks = "not proved: that values.csv is complete: ";
    assert!(!printed(&["verify", text(&team)], 0).contains(lacks));
    for (rows, code, part) in [(rows.repeat(2), 1, "is there twice"), (String::new(), 0, lacks)] {
        fs::write(&path, format!("{header}\n{rows}")).unwrap();
        forge_sums(&team);
        let said = printed(&["verify", text(&team)], code);
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn what_archive_json_names_is_a_version_and_a_tool() {
    for (from, to, expected) in [
        ("\"made_by\": \"0.1.0", "\"made_by\": \"0.1.0 \\u001b[31m", "`made_by` is not a version"),
        ("\"tool\": null", "\"tool\": \"Winner\\u001b[31m\"", "the tool"),
    ] {
        let folder = unpacked();
        let path = folder.path().join("archive.json");
        let facts = fs::read_to_string(&path).unwrap();
        assert!(facts.contains(from), "{facts}");
        fs::write(&path, facts.replacen(from, to, 1)).unwrap();
        forge_sums(folder.path());
        let said = printed(&["verify", text(folder.path())], 2);
        assert!(said.contains("archive.json: ") && said.contains(expected), "{said}");
        assert!(said.contains("download it again"), "{said}");
    }
}

#[test]
fn every_file_that_an_archive_needs_is_missed() {
    let original = unpacked();
    for name in files(original.path()) {
        let needed = !["SHA256SUMS.sig", "CITATION.cff", "REUSE.toml", "publication.json"].contains(&&*name)
            && !name.starts_with("LICENSES/");
        let is_one_of_many = name.starts_with("outputs/") && !name.contains(RUN);
        if !needed || is_one_of_many || name == "archive.json" {
            continue;
        }
        let path = original.path().join(&name);
        let content = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let sums = fs::read(original.path().join("SHA256SUMS")).unwrap_or_default();
        if name != "SHA256SUMS" {
            forge_sums(original.path());
        }
        let output = harness(&["verify", text(original.path())]);
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        assert!([Some(1), Some(2)].contains(&output.status.code()), "{name}: {said}");
        let file = name.rsplit('/').next().unwrap();
        assert!(said.contains(file) && !said.contains("complete; runs"), "{name}: {said}");
        fs::write(&path, content).unwrap();
        if name != "SHA256SUMS" {
            fs::write(original.path().join("SHA256SUMS"), sums).unwrap();
        }
    }
}

/// Names like those of an archive, and others.
fn name() -> impl Strategy<Value = String> {
    let known = files(unpacked().path());
    let beside = "(-wal|-shm|-journal|~|\\.sig|\\.bak|[ -.0-~]{1,2})";
    let other = "[a-zA-Z0-9._+-]{1,12}(/[a-zA-Z0-9._+-]{1,12}){0,6}";
    let output =
        format!("outputs/{RUN}/[1-9]/(stdin|stdout|stderr|qemu\\.log|ssh\\.log|0[1-3]\\.witness\\.json)");
    prop_oneof![
        (prop::sample::select(known.clone()), beside).prop_map(|(name, beside)| name + &beside),
        (prop::sample::select(known.clone()), other).prop_map(|(name, file)| match name.rsplit_once('/') {
            Some((folder, _)) => format!("{folder}/{file}"),
            None => file,
        }),
        prop::sample::select(known).prop_map(|name| name.to_uppercase()),
        prop::string::string_regex(&output).unwrap(),
        "disks/[0-9a-f]{64}",
        other,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// With right digests for all files, also for the one that was added.
    #[test]
    fn an_archive_with_any_extra_file_is_refused(name in name(), content in "[ -~]{0,20}") {
        // Those are tested with archives made by hand: here they would write outside of the folder.
        prop_assume!(!name.split('/').any(|part| matches!(part, "." | "..")));
        let folder = unpacked();
        let path = folder.path().join(&name);
        let is_new = !path.exists() && fs::create_dir_all(path.parent().unwrap()).is_ok();
        prop_assume!(is_new && fs::write(&path, content).is_ok());
        forge_sums(folder.path());
        let output = harness(&["verify", text(folder.path())]);
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        prop_assert!(matches!(output.status.code(), Some(1 | 2)), "{name}: {said}");
        prop_assert!(said.contains(&name), "{name}: {said}");
        let archive = packed(folder.path());
        let output = harness(&["verify", text(archive.path())]);
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        prop_assert!(matches!(output.status.code(), Some(1 | 2)), "{name}: {said}");
        prop_assert!(said.contains(&name), "{name}: {said}");
    }
}
