//! Runs the reference tool as BenchKit does, but on this host, and parses its output.
#![allow(dead_code, reason = "each program uses a part")]

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::read::GzDecoder;

pub const EXAMINATIONS: [(&str, &str); 7] = [
    ("StateSpace", "SS"),
    ("UpperBounds", "UB"),
    ("ReachabilityDeadlock", "RD"),
    ("ReachabilityCardinality", "RC"),
    ("ReachabilityFireability", "RF"),
    ("CTLCardinality", "CTLC"),
    ("CTLFireability", "CTLF"),
];

/// Global properties of the editions from 2020 on.
pub const GLOBAL_PROPERTIES: [(&str, &str); 4] =
    [("OneSafe", "OS"), ("StableMarking", "SM"), ("QuasiLiveness", "QL"), ("Liveness", "L")];

/// The unpacked folder of an instance.
pub struct Unpacked {
    _folder: tempfile::TempDir,
    pub path: PathBuf,
}

pub fn unpack(archive: &Path) -> Unpacked {
    let folder = tempfile::tempdir().unwrap();
    tar::Archive::new(GzDecoder::new(File::open(archive).unwrap())).unpack(folder.path()).unwrap();
    let path = folder.path().join(archive.file_stem().unwrap());
    Unpacked { _folder: folder, path }
}

/// The root of the repository. Two packages use this module.
pub fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().find(|folder| folder.join("pnml-fixtures").is_dir()).unwrap()
}

/// The reference tool of this build. It is another package, so cargo does not give its path to the tests.
pub fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join("mcc-reference-tool");
    assert!(program.exists(), "{} is missing; run `cargo build` with the same profile", program.display());
    program
}

pub fn fixtures() -> PathBuf {
    root().join("pnml-fixtures")
}

pub fn command(folder: &Path, examination: &str, args: &str) -> Command {
    let mut command = Command::new(program());
    command.current_dir(folder).args(args.split_whitespace());
    command.env("BK_EXAMINATION", examination).env("BK_INPUT", folder.file_name().unwrap());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// By id or StateSpace metric: `T`, `F` or a number.
    pub answers: BTreeMap<String, String>,
    /// Ids with CANNOT_COMPUTE.
    pub given_up: Vec<String>,
    /// Lines that are one keyword.
    pub keywords: Vec<String>,
}

/// Runs the tool, which must succeed; `args` are separated by spaces.
pub fn run(folder: &Path, examination: &str, args: &str) -> Printed {
    let output = command(folder, examination, args).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{}, {examination}, {args}: {stderr}", folder.display());
    read(&String::from_utf8(output.stdout).unwrap())
}

/// Parses the output. A line that looks like an answer and is none fails the test.
pub fn read(stdout: &str) -> Printed {
    let mut printed = Printed::default();
    for line in stdout.lines() {
        match *line.split(' ').collect::<Vec<_>>().as_slice() {
            ["FORMULA", id, "CANNOT_COMPUTE"] => printed.given_up.push(id.to_owned()),
            ["FORMULA" | "STATE_SPACE", id, value, "TECHNIQUES", "EXPLICIT", "SEQUENTIAL_PROCESSING"] => {
                let value = match value {
                    "TRUE" => "T",
                    "FALSE" => "F",
                    number => number,
                };
                let before = printed.answers.insert(id.to_owned(), value.to_owned());
                assert_eq!(before, None, "answered twice: {line}");
            }
            ["FORMULA" | "STATE_SPACE", ..] => panic!("not an answer: {line}"),
            [keyword @ ("CANNOT_COMPUTE" | "DO_NOT_COMPETE")] => printed.keywords.push(keyword.to_owned()),
            _ => {}
        }
    }
    printed
}

/// The rows of `expected/<instance>.csv` for an examination: (id, value) by position.
pub fn expected(instance: &str, examination: &str) -> Vec<(String, String)> {
    let path = fixtures().join(format!("expected/{instance}.csv"));
    let rows: Vec<(String, usize, String, String)> =
        csv::Reader::from_path(path).unwrap().deserialize().map(Result::unwrap).collect();
    let of_examination = rows.into_iter().filter(|row| row.0 == examination);
    of_examination
        .enumerate()
        .map(|(position, row)| {
            assert_eq!(row.1, position, "{instance} {examination}: positions count from 0");
            (row.2, row.3)
        })
        .collect()
}

/// Names in the column `instance` of `models.csv`.
pub fn fixture_instances() -> Vec<String> {
    let rows = csv::Reader::from_path(fixtures().join("models.csv")).unwrap().into_records();
    rows.map(|row| row.unwrap()[0].to_owned()).collect()
}

/// The values in the file of an oracle, by id or StateSpace metric; none if there is no file.
pub fn oracle(path: &Path) -> BTreeMap<String, String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let results = words.filter(|words| words.len() > 2 && ["FORMULA", "STATE_SPACE"].contains(&words[0]));
    let values =
        results.map(|words| (words[1].to_owned(), words[2].replace("TRUE", "T").replace("FALSE", "F")));
    values.collect()
}
