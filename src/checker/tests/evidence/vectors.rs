//! The conformance vectors in `tests/data/evidence`: `mcc-check` and `scripts/replayer.py` give the expected verdicts, and the
//! files are those that the script there writes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn folder() -> PathBuf {
    root().join("tests/data/evidence")
}

struct Vector {
    file: PathBuf,
    kind: String,
    instance: PathBuf,
    verdict: String,
}

fn vectors() -> Vec<Vector> {
    let index = fs::read_to_string(folder().join("index.csv")).unwrap();
    let mut lines = index.lines();
    assert_eq!(lines.next(), Some("file,kind,instance,verdict,reason"));
    let read = |line: &str| {
        let [file, kind, instance, verdict, _] = line.splitn(5, ',').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        Vector {
            file: folder().join(file),
            kind: kind.to_owned(),
            instance: folder().join("instances").join(instance),
            verdict: verdict.to_owned(),
        }
    };
    lines.map(read).collect()
}

fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn mcc_check_gives_the_verdict_of_every_vector() {
    let vectors = vectors();
    let mut wrong = Vec::new();
    for Vector { file, kind, instance, verdict } in &vectors {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcc-check"));
        let output = run(command.arg(kind).arg(file).arg("--instances").arg(instance));
        let said = text(&output.stdout) + &text(&output.stderr);
        let as_expected = match (output.status.code(), verdict.as_str()) {
            (Some(0), "accepted") => said.starts_with("accepted: ") || said.starts_with("bound only: "),
            (Some(1), "refused") => said.starts_with("refused: "),
            (Some(2), "unreadable") => said.starts_with("mcc-check: ") && output.stdout.is_empty(),
            _ => false,
        };
        if !as_expected {
            wrong.push(format!("{}: {verdict} expected: {said}", file.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // All kinds of evidence on both kinds of nets, with both verdicts.
    let is_coloured = |vector: &Vector| vector.instance.to_string_lossy().contains("-COL-");
    let kinds: BTreeSet<_> =
        vectors.iter().map(|vector| (&vector.kind, &vector.verdict, is_coloured(vector))).collect();
    assert!(vectors.len() >= 300 && kinds.len() >= 10, "{} vectors, {kinds:?}", vectors.len());
}

#[test]
fn the_replayer_gives_the_verdict_of_every_vector() {
    let mut by_instance: BTreeMap<PathBuf, Vec<Vector>> = BTreeMap::new();
    for vector in vectors() {
        by_instance.entry(vector.instance.clone()).or_default().push(vector);
    }
    let mut wrong = Vec::new();
    for (instance, vectors) in by_instance {
        let mut command = Command::new("python3");
        command.arg(root().join("scripts/replayer.py")).arg(&instance);
        let output = run(command.args(vectors.iter().map(|vector| &vector.file)));
        let said = text(&output.stdout);
        assert_eq!(said.lines().count(), vectors.len(), "{}", text(&output.stderr));
        for (line, Vector { file, verdict, .. }) in said.lines().zip(&vectors) {
            if line.split(':').next() != Some(verdict) {
                wrong.push(format!("{}: {verdict} expected: {line}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_vectors_are_those_that_their_script_writes() {
    let written = TempDir::new().unwrap();
    let made = run(Command::new("python3").arg(folder().join("generate.py")).arg(written.path()));
    assert!(made.status.success(), "{}", text(&made.stderr));
    let given = fs::read_dir(folder().join("files")).unwrap().count();
    let again = fs::read_dir(written.path().join("files")).unwrap().count();
    assert_eq!((given, again), (vectors().len(), vectors().len()));
    let compared = run(Command::new("diff").arg("-r").arg(written.path()).arg(folder()));
    // The script itself and the net that it does not write.
    let only = text(&compared.stdout);
    let others: Vec<&str> = only.lines().filter(|line| !line.starts_with("Only in ")).collect();
    assert!(others.is_empty(), "run tests/data/evidence/generate.py:\n{}", others.join("\n"));
}

#[test]
fn the_schema_accepts_the_files_that_can_be_read() {
    let python = root().join("build/python/bin/python");
    if !python.exists() {
        eprintln!("not checked: scripts/setup --tests installs the library jsonschema");
        return;
    }
    let script = "import json, sys, jsonschema\n\
                  schema = json.load(open(sys.argv[1]))\n\
                  jsonschema.Draft202012Validator.check_schema(schema)\n\
                  validator = jsonschema.Draft202012Validator(schema)\n\
                  for path in sys.argv[2:]: print(validator.is_valid(json.load(open(path))), path)\n";
    // What a schema cannot say: duplicates of fields, depth, lowest terms, numbers such as 1.0, and the limits of nets.
    let not_in_a_schema = ["text-", "weight-terms"];
    let vectors: Vec<_> = vectors()
        .into_iter()
        .filter(|vector| {
            vector.verdict != "unreadable"
                || not_in_a_schema.iter().all(|part| !vector.file.to_string_lossy().contains(part))
        })
        .collect();
    let schema = root().join("docs/evidence/evidence.schema.json");
    let mut command = Command::new(python);
    command.arg("-c").arg(script).arg(schema).args(vectors.iter().map(|vector| &vector.file));
    let output = run(&mut command);
    let said = text(&output.stdout);
    assert_eq!(said.lines().count(), vectors.len(), "{}", text(&output.stderr));
    for (line, vector) in said.lines().zip(&vectors) {
        assert_eq!(line.starts_with("True"), vector.verdict != "unreadable", "{line}");
    }
}
