//! Archives that are generated from a grammar of hostile parts. Whatever an archive has, each command that reads it ends
//! with a documented exit code, gives one error that names the archive, and writes to its output folder only: complete or
//! not at all.

use crate::archives::unpacked;

use mcc_harness::base::digest;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Generated archives. Each is read by four commands.
const CASES: u32 = 64;

/// The file that absolute and relative names of entries lead to.
const VICTIM: &str = "victim";

/// An entry of a tar.
#[derive(Clone)]
struct Entry {
    name: Vec<u8>,
    kind: u8,
    link: Vec<u8>,
    /// The field `size`, if it is not the length of the content.
    size: Option<[u8; 12]>,
    content: Vec<u8>,
}

impl Entry {
    fn file(name: &[u8], content: &[u8]) -> Self {
        Self { name: name.to_owned(), kind: b'0', link: vec![], size: None, content: content.to_owned() }
    }

    /// The header, content and padding. A name that does not fit is cut.
    fn write(&self, tar: &mut Vec<u8>) {
        let mut header = [0; 512];
        let mut put = |at: usize, most: usize, bytes: &[u8]| {
            let length = bytes.len().min(most);
            header[at..at + length].copy_from_slice(&bytes[..length]);
        };
        match self.name.iter().rposition(|&byte| byte == b'/') {
            Some(slash) if self.name.len() > 100 => {
                put(345, 155, &self.name[..slash]);
                put(0, 100, &self.name[slash + 1..]);
            }
            _ => put(0, 100, &self.name),
        }
        put(100, 8, b"0000644\0");
        let size = self.size.unwrap_or_else(|| octal(self.content.len() as u64));
        put(124, 12, &size);
        put(136, 12, &octal(0));
        put(148, 8, b"        ");
        put(156, 1, &[self.kind]);
        put(157, 100, &self.link);
        put(257, 8, b"ustar\x0000");
        let sum: u32 = header.iter().copied().map(u32::from).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        tar.extend(header);
        tar.extend(&self.content);
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
}

fn octal(number: u64) -> [u8; 12] {
    let text = format!("{number:011o}\0");
    text.as_bytes().try_into().unwrap_or(*b"77777777777\0")
}

/// A number in the form for numbers that are too large for octal digits.
fn binary(number: u64) -> [u8; 12] {
    let mut field = [0; 12];
    field[0] = 0x80;
    field[4..].copy_from_slice(&number.to_be_bytes());
    field
}

/// One change of a valid archive.
#[derive(Clone, Debug)]
enum Part {
    /// An entry more, at a place.
    Added { name: Vec<u8>, kind: u8, link: &'static str, at: Index },
    /// The entry of an existing file gets another kind: a link, a device, a sparse file, an extension.
    Kind { kind: u8, link: &'static str, at: Index },
    /// The size of an entry is not that of its content.
    Size { field: [u8; 12], at: Index },
    /// An entry occurs twice.
    Twice { of: Index, at: Index },
    /// An entry is missing.
    Removed { at: Index },
    /// A file has other content; `sums`: with the right digest.
    Content { name: &'static str, content: Vec<u8>, sums: bool },
    /// A byte of a file is another one; `sums`: with the right digest.
    Byte { file: Index, at: Index, flip: u8, sums: bool },
    /// Statements change the record; the digests are right.
    Record { sql: String },
    /// A file of the layout is large and compressed to almost nothing.
    Zeros { name: &'static str, mib: usize },
    /// The compressed stream ends early.
    Truncated { at: Index },
    /// A byte of the compressed stream is another one.
    Stream { at: Index, flip: u8 },
    /// Bytes follow the end of the stream.
    Trailing { bytes: Vec<u8> },
}

/// Names of entries. `{outside}` stands for the folder that must not change.
fn name() -> impl Strategy<Value = Vec<u8>> {
    let fixed: Vec<Vec<u8>> = [
        "../victim".as_bytes(),
        b"../../../../../../../../../../tmp/mcc-victim",
        b"{outside}/victim",
        b"{outside}/new",
        b"outputs/../../victim",
        b"./archive.json",
        b"judgement//trusted.csv",
        b"judgement/",
        b"archive.json\0.txt",
        b"record.db-wal",
        b"record.db-journal",
        b"RECORD.DB",
        b"judgement/judgement.json/x",
        b"outputs/a/b-PT-1/StateSpace/1/stdout",
        b"outputs/\xff\xfe/b-PT-1/StateSpace/1/stdout",
        b"outputs/con/..-PT-1/StateSpace/1/stdout",
        "outputs/\u{202e}/b-PT-1/StateSpace/1/stdout".as_bytes(),
        b"outputs/\x1b[31m/b-PT-1/StateSpace/1/stdout",
        b"outputs/<script>/b-PT-1/StateSpace/1/stdout",
        b"outputs/a/b-PT-1/StateSpace/4294967296/stdout",
        b"disks/0000000000000000000000000000000000000000000000000000000000000000",
        b"LICENSES/../archive.json",
        b"values.csv",
        b"",
        b"/",
        b"\\..\\victim",
    ]
    .map(<[u8]>::to_owned)
    .to_vec();
    prop_oneof![
        select(fixed),
        (1_usize..250).prop_map(|length| b"outputs/".iter().copied().chain(vec![b'x'; length]).collect()),
        proptest::collection::vec(any::<u8>(), 1..40),
    ]
}

/// The letters of the kinds of entries, some of which no program knows.
fn kind() -> impl Strategy<Value = u8> {
    select(b"0\x00123456789SLKxgDMNVXZ\xff".to_vec())
}

fn link() -> impl Strategy<Value = &'static str> {
    select(vec!["", "/etc/passwd", "../../victim", "record.db", "{outside}/victim", "."])
}

fn size() -> impl Strategy<Value = [u8; 12]> {
    let numbers = select(vec![0, 1, 511, 512, 513, 1 << 20, 1 << 33]).prop_map(octal);
    let large = select(vec![1 << 40, 1 << 50, u64::MAX, u64::MAX - 511, i64::MAX as u64]).prop_map(binary);
    prop_oneof![numbers, large, any::<[u8; 12]>(), Just(*b"-0000000001\0"), Just([0xff; 12])]
}

/// Statements that change the schema or values of a record.
fn sql() -> impl Strategy<Value = String> {
    let schema = [
        "CREATE TABLE more (x)",
        "CREATE TRIGGER late AFTER INSERT ON runs BEGIN SELECT 1; END",
        "CREATE VIEW seen AS SELECT * FROM runs",
        "CREATE VIRTUAL TABLE found USING fts5(x)",
        "ALTER TABLE runs ADD COLUMN more TEXT DEFAULT (randomblob(9))",
        "ALTER TABLE runs RENAME TO walks",
        "PRAGMA user_version = -1",
        "PRAGMA user_version = 2147483647",
        "PRAGMA application_id = 0",
        "PRAGMA journal_mode = wal",
        "PRAGMA encoding = 'UTF-16'; VACUUM",
        "PRAGMA page_size = 512; VACUUM",
        "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema",
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 1",
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 2147483647",
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, 'TEXT', 'TEXT DEFAULT (1/0)')",
        "DELETE FROM runs",
        "DELETE FROM attempts",
        "DELETE FROM facts",
        "INSERT INTO attempts SELECT run, number + 1, outcome, facts, ms FROM attempts",
        "UPDATE attempts SET number = number + 4294967296",
        "UPDATE attempts SET number = -1",
        "UPDATE attempts SET ms = 1e300",
        "UPDATE attempts SET facts = x'ff00fe'",
        "UPDATE attempts SET facts = 'null'",
        "UPDATE runs SET position = position * 1000000000",
        "UPDATE runs SET id = '../../' || id",
        "UPDATE runs SET id = id || char(0) || 'x'",
        "UPDATE runs SET id = replace(id, '/', '//')",
    ];
    let place = select(vec!["attempts", "runs", "facts"]);
    let key = select(vec![
        "$.host.name",
        "$.outputs[0].role",
        "$.outputs[0].sha256",
        "$.facts.cpu_ms",
        "$.facts.wall_ms",
        "$.outcome",
        "$.run",
        "$.number",
        "$.marks",
        "$.disks[0].sha256",
        "$.disks[0].role",
        "$.machine",
        "$.entry",
        "$.instance",
        "$.model",
        "$.examination",
        "$.edition",
        "$.campaign",
        "$.retries",
        "$.entries[0].entry",
        "$.instances[0].family",
        "$.instances[0].name",
        "$.settings",
        "$.started_at",
        "$.environment",
    ]);
    let value = select(vec![
        "'../../victim'",
        "'/etc/passwd'",
        "'<script>alert(1)</script>'",
        "'=cmd|x'",
        "''",
        "-1",
        "1e300",
        "9223372036854775807",
        "json('[]')",
        "json('{}')",
        "NULL",
        "char(0)",
        "char(8238)",
        "printf('%.1000000c', 'x')",
        "json(printf('%.900c', '[') || printf('%.900c', ']'))",
    ]);
    prop_oneof![
        select(schema.map(str::to_owned).to_vec()),
        (place, key, value).prop_map(|(table, key, value)| format!(
            "UPDATE {table} SET facts = json_set(facts, '{key}', {value})"
        )),
    ]
}

/// The texts of an archive, and hostile ones in their place.
fn content() -> impl Strategy<Value = Part> {
    let file = select(vec![
        "archive.json",
        "edition.json",
        "publication.json",
        "SHA256SUMS",
        "answers.csv",
        "answers.models.csv",
        "answers.tools.csv",
        "names.csv",
        "answers.overrides.csv",
        "datapackage.json",
        "judgement/judgement.json",
        "judgement/trusted.csv",
        "judgement/podiums.csv",
        "README.txt",
        "SHA256SUMS.sig",
        "record.db",
    ]);
    let text = select(vec![
        String::new(),
        "\0".to_owned(),
        "{".to_owned(),
        "null".to_owned(),
        "[".repeat(200_000),
        "{\"a\":".repeat(200_000),
        format!("{{\"format\":1,\"made_by\":\"{}\"}}", "x".repeat(1000)),
        "{\"format\":4294967297}".to_owned(),
        "{\"format\":1,\"made_by\":\"x\",\"edition\":\"../../victim\",\"tool\":\"a/../b\",\"disks\":[]}".to_owned(),
        "{\"format\":1,\"made_by\":\"x\",\"edition\":\"mcc-2018\",\"tool\":null,\"disks\":[{\"role\":\"disk\",\"sha256\":\"\
         ../../victim\",\"bytes\":18446744073709551615}]}"
            .to_owned(),
        "tool,instance,examination,answers,wrong\n\"".to_owned(),
        "instance,family,status\n../victim,a,known\n".to_owned(),
        format!("{}  ../victim\n", "0".repeat(64)),
        format!("{}  {}\n", "0".repeat(64), "x".repeat(100_000)),
        "\u{feff}\u{202e}<script>\n".to_owned(),
        "a,".repeat(500_000),
    ]);
    (file, text, any::<bool>()).prop_map(|(name, text, sums)| Part::Content {
        name,
        content: text.into_bytes(),
        sums,
    })
}

fn part() -> impl Strategy<Value = Part> {
    let index = any::<Index>;
    prop_oneof![
        3 => (name(), kind(), link(), index()).prop_map(|(name, kind, link, at)| Part::Added { name, kind, link, at }),
        2 => (kind(), link(), index()).prop_map(|(kind, link, at)| Part::Kind { kind, link, at }),
        2 => (size(), index()).prop_map(|(field, at)| Part::Size { field, at }),
        1 => (index(), index()).prop_map(|(of, at)| Part::Twice { of, at }),
        1 => index().prop_map(|at| Part::Removed { at }),
        4 => content(),
        2 => (index(), index(), 1_u8.., any::<bool>())
            .prop_map(|(file, at, flip, sums)| Part::Byte { file, at, flip, sums }),
        6 => sql().prop_map(|sql| Part::Record { sql }),
        1 => (select(vec!["SHA256SUMS", "answers.csv", "judgement/judgement.json", "publication.json"]), 1_usize..200)
            .prop_map(|(name, mib)| Part::Zeros { name, mib }),
        1 => index().prop_map(|at| Part::Truncated { at }),
        1 => (index(), 1_u8..).prop_map(|(at, flip)| Part::Stream { at, flip }),
        1 => proptest::collection::vec(any::<u8>(), 1..600).prop_map(|bytes| Part::Trailing { bytes }),
    ]
}

/// The files of a valid archive, `archive.json` first.
static VALID: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    let folder = unpacked();
    let files = walkdir::WalkDir::new(folder.path()).sort_by_file_name().into_iter().map(Result::unwrap);
    let files = files.filter(|file| !file.file_type().is_dir());
    let mut entries: Vec<Entry> = files
        .map(|file| {
            let name = file.path().strip_prefix(folder.path()).unwrap();
            Entry::file(name.as_os_str().as_encoded_bytes(), &fs::read(file.path()).unwrap())
        })
        .collect();
    entries.sort_by_key(|entry| entry.name != b"archive.json");
    entries
});

/// Gives SHA256SUMS the digests of the files as they are, without a signature.
fn forge_sums(entries: &mut Vec<Entry>) {
    entries.retain(|entry| !entry.name.starts_with(b"SHA256SUMS"));
    let lines = entries.iter().map(|entry| {
        format!("{}  {}\n", digest::bytes(&entry.content), String::from_utf8_lossy(&entry.name))
    });
    let lines: String = lines.collect();
    entries.push(Entry::file(b"SHA256SUMS", lines.as_bytes()));
}

/// Sets the content of a file, which is added if it does not exist.
fn set(entries: &mut Vec<Entry>, name: &str, content: Vec<u8>) {
    match entries.iter_mut().find(|entry| entry.name == name.as_bytes()) {
        Some(entry) => entry.content = content,
        None => entries.push(Entry::file(name.as_bytes(), &content)),
    }
}

fn changed_record(record: &[u8], sql: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record.db");
    fs::write(&path, record).unwrap();
    let db = rusqlite::Connection::open(&path).unwrap();
    // Statements that this record refuses leave it as it is.
    let _ = db.execute_batch(sql);
    drop(db);
    fs::read(path).unwrap()
}

/// The bytes of an archive with these parts.
fn archive(parts: &[Part], outside: &str) -> Vec<u8> {
    let mut entries = VALID.clone();
    let real = |bytes: &[u8]| -> Vec<u8> {
        match bytes.strip_prefix(b"{outside}") {
            Some(rest) => [outside.as_bytes(), rest].concat(),
            None => bytes.to_owned(),
        }
    };
    for part in parts {
        match part {
            Part::Content { name, content, sums } => {
                set(&mut entries, name, content.clone());
                if *sums && !name.starts_with("SHA256SUMS") {
                    forge_sums(&mut entries);
                }
            }
            Part::Byte { file, at, flip, sums } => {
                let count = entries.len();
                let content = &mut entries[file.index(count)].content;
                if !content.is_empty() {
                    let at = at.index(content.len());
                    content[at] ^= flip;
                }
                if *sums {
                    forge_sums(&mut entries);
                }
            }
            Part::Record { sql } => {
                let record = entries.iter_mut().find(|entry| entry.name == b"record.db");
                if let Some(record) = record {
                    record.content = changed_record(&record.content, sql);
                }
                forge_sums(&mut entries);
            }
            Part::Zeros { name, mib } => set(&mut entries, name, vec![b'0'; mib << 20]),
            Part::Removed { at } => {
                let count = entries.len();
                entries.remove(at.index(count));
            }
            _ => {}
        }
    }
    // Entries that are no files come after the digests of files.
    for part in parts {
        let count = entries.len();
        match part {
            Part::Added { name, kind, link, at } => {
                let (name, link) = (real(name), real(link.as_bytes()));
                let entry = Entry { kind: *kind, link, ..Entry::file(&name, b"content") };
                entries.insert(at.index(count + 1), entry);
            }
            Part::Kind { kind, link, at } => {
                let entry = &mut entries[at.index(count)];
                (entry.kind, entry.link) = (*kind, real(link.as_bytes()));
            }
            Part::Size { field, at } => entries[at.index(count)].size = Some(*field),
            Part::Twice { of, at } => {
                let entry = entries[of.index(count)].clone();
                entries.insert(at.index(count + 1), entry);
            }
            _ => {}
        }
    }
    let mut tar = vec![];
    entries.iter().for_each(|entry| entry.write(&mut tar));
    tar.extend([0; 1024]);
    let mut bytes = zstd::encode_all(&tar[..], 1).unwrap();
    for part in parts {
        match part {
            Part::Truncated { at } => bytes.truncate(at.index(bytes.len())),
            Part::Stream { at, flip } if !bytes.is_empty() => {
                let at = at.index(bytes.len());
                bytes[at] ^= flip;
            }
            Part::Trailing { bytes: more } => bytes.extend(more),
            _ => {}
        }
    }
    bytes
}

/// All paths below a folder with the lengths of files.
fn listed(folder: &Path) -> Vec<(PathBuf, u64)> {
    let files =
        walkdir::WalkDir::new(folder).min_depth(1).sort_by_file_name().into_iter().map(Result::unwrap);
    files.map(|file| (file.path().to_owned(), file.metadata().unwrap().len())).collect()
}

/// A file that a complete output of a command has.
fn last_file(command: &str, out: &Path) -> PathBuf {
    out.join(match command {
        "import" => "campaign.toml",
        "judge" => "judgement.json",
        _ => "index.html",
    })
}

fn check(parts: &[Part]) -> Result<(), TestCaseError> {
    let world = tempfile::tempdir().unwrap();
    let at = |name: &str| world.path().join(name);
    for folder in ["in", "out", "tmp", "work", "outside"] {
        fs::create_dir(at(folder)).unwrap();
    }
    fs::write(at("outside").join(VICTIM), "untouched").unwrap();
    fs::write(at(VICTIM), "untouched").unwrap();
    let input = at("in").join("hostile.tar.zst");
    fs::write(&input, archive(parts, at("outside").to_str().unwrap())).unwrap();
    let shown = input.to_str().unwrap();
    let before = listed(world.path());
    for command in ["verify", "import", "judge", "report"] {
        let out = at("out").join(command);
        let mut program = assert_cmd::Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
        program.current_dir(at("work")).env("TMPDIR", at("tmp")).env("HOME", at("outside"));
        program.args([command, shown]);
        if command != "verify" {
            program.arg("--out").arg(&out);
        }
        let output = program.output().unwrap();
        let said = String::from_utf8([output.stderr, output.stdout].concat());
        prop_assert!(said.is_ok(), "{command}: messages are UTF-8");
        let said = said.unwrap();
        let code = output.status.code();
        prop_assert!(matches!(code, Some(0..=2)), "{command} ends with {:?}: {said}", output.status);
        let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("mcc-harness: ")).collect();
        prop_assert!(errors.len() <= 1, "{command}: {said}");
        prop_assert!(code != Some(2) || errors.len() == 1, "{command}: {said}");
        prop_assert!(code != Some(0) || errors.is_empty(), "{command}: {said}");
        if let [error] = errors[..] {
            prop_assert!(error.contains(shown), "{command}: no name of the archive in {said}");
            prop_assert!(error.len() < 5000, "{command}: {said}");
        }
        for word in ["panicked", "mcc-archive-", ".importing-", "\x1b", "\u{202e}"] {
            prop_assert!(!said.contains(word), "{command}: {word:?} in {said}");
        }
        if command != "verify" {
            let is_complete = last_file(command, &out).exists();
            prop_assert!(is_complete == errors.is_empty(), "{command}: {said}");
            prop_assert!(is_complete || !out.exists(), "{command} leaves {:?}: {said}", listed(&out));
            let _ = fs::remove_dir_all(&out);
        }
        prop_assert_eq!(&before, &listed(world.path()), "{} has changed other files: {}", command, said);
    }
    for victim in [at("outside").join(VICTIM), at(VICTIM)] {
        prop_assert_eq!(fs::read_to_string(victim).unwrap(), "untouched");
    }
    Ok(())
}

/// `GRAMMAR_CASES=n GRAMMAR_SEED=n` for others.
#[test]
fn hostile_archives_give_one_error_and_no_partial_output() {
    let config = ProptestConfig {
        cases: std::env::var("GRAMMAR_CASES").map_or(CASES, |cases| cases.parse().unwrap()),
        failure_persistence: None,
        max_shrink_iters: 100,
        ..ProptestConfig::default()
    };
    let rng = match std::env::var("GRAMMAR_SEED") {
        Ok(seed) => TestRng::from_seed(RngAlgorithm::ChaCha, &digest::bytes(&seed).as_bytes()[..32]),
        Err(_) => TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    };
    let mut runner = TestRunner::new_with_rng(config, rng);
    runner.run(&proptest::collection::vec(part(), 1..4), |parts| check(&parts)).unwrap();
}

#[test]
fn an_archive_of_the_grammar_without_hostile_parts_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("valid.tar.zst");
    fs::write(&path, archive(&[], "")).unwrap();
    crate::archives::printed(&["verify", path.to_str().unwrap()], 0);
    check(&[]).unwrap();
}
