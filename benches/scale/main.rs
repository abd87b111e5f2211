//! Cost of judging and reading large inputs, as ratios that one run of this program measures. mcc-harness and the program
//! that it is compared with run alternately, each in a process of its own.
//!
//!     [ROUNDS=n] [PERCENT=n] cargo bench --bench scale -- [judge] [years] [logs] [nets]
//!
//! PERCENT makes the generated inputs smaller. Needs the real data (MCC_HARNESS_DATA, else `../shared`), python3 and grep.

mod measure;
mod synthetic;

use mcc_harness::benchkit::{Answers, Questions, Reading, Value};
use mcc_harness::edition::Edition;
use mcc_harness::model::Net;
use measure::{Measurement, in_turns, line, ratio, run};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;

const SEED: u64 = 2018;

/// Measures one section in its own folder and prints the figures.
type Section = fn(&Path);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    match &words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        // Started by this program, to be measured as a separate process.
        ["read-net", path] => return read_net(Path::new(path)),
        ["read-events", path] => return read_events(Path::new(path)),
        ["read-log", path] => return read_log(Path::new(path)),
        ["compare", folder] => {
            return compare(&Path::new(folder).join("harness"), &Path::new(folder).join("python"));
        }
        _ => {}
    }
    let asked = |section: &str| words.is_empty() || words.iter().any(|word| word == section);
    let sections: [(&str, Section); 4] = [("judge", judge), ("years", years), ("logs", logs), ("nets", nets)];
    for (name, section) in sections.into_iter().filter(|(name, _)| asked(name)) {
        let folder = tempfile::tempdir().unwrap();
        println!("{name}");
        section(folder.path());
    }
}

fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

fn percent(whole: u64) -> u64 {
    whole * number("PERCENT", 100) as u64 / 100
}

fn project() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn published(path: &str) -> PathBuf {
    project().join("tests/data").join(path)
}

fn data(path: &str) -> PathBuf {
    let root =
        std::env::var_os("MCC_HARNESS_DATA").map_or_else(|| project().join("../shared"), PathBuf::from);
    root.join(path)
}

fn this(words: &[&str], path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(words).arg(path);
    command
}

fn harness_judge(edition: &str, answers: &Path, models: &Path, out: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
    command.arg("judge").arg(answers).args(["--edition", edition, "--models"]).arg(models);
    command.arg("--out").arg(out);
    command
}

/// Judges the published answers of 2018 and 2025, and 2025 with its sensitivity. The ratio is for equal numbers of
/// positions: the years have 110,799 and 224,455.
fn years(folder: &Path) {
    let judge = |year: u32, more: &[&str]| {
        let edition = format!("mcc-{year}");
        let [answers, models] =
            ["answers.csv.gz", "models.csv"].map(|name| published(&format!("mcc/{year}/{name}")));
        let mut command = harness_judge(&edition, &answers, &models, &folder.join(&edition));
        run(command.args(more)).0
    };
    let [first, last, sensitivity] = in_turns(
        number("ROUNDS", 5),
        [&mut || judge(2018, &[]), &mut || judge(2025, &[]), &mut || judge(2025, &["--sensitivity"])],
    );
    line("judge 2018", first);
    line("judge 2025", last);
    line("judge 2025 --sensitivity (aim: below 5 s)", sensitivity);
    let scaled = |time: std::time::Duration| time.mul_f64(224_455.0 / 110_799.0);
    let first = Measurement { wall: scaled(first.wall), cpu: scaled(first.cpu), ..first };
    ratio("2025 / 2018, for each position", last, first, "about 1 or less");
}

/// Judges the answers of 2018: from the published table to all result files.
fn judge(folder: &Path) {
    let (answers, models) = (published("mcc/2018/answers.csv.gz"), published("mcc/2018/models.csv"));
    let (own, theirs) = (folder.join("harness"), folder.join("python"));
    let python = || {
        let mut command = Command::new("python3");
        command.arg(project().join("benches/judge.py")).args([&answers, &models]);
        command.arg(project().join("editions/mcc-2018.toml")).arg(&theirs);
        run(&mut command).0
    };
    let harness = || run(&mut harness_judge("mcc-2018", &answers, &models, &own)).0;
    let [python, harness] = in_turns(number("ROUNDS", 5), [&mut { python }, &mut { harness }]);
    line("python3 benches/judge.py", python);
    line("mcc-harness judge", harness);
    // The peak memory of a child includes that of its parent at the start, so this process stays small.
    run(&mut this(&["compare"], folder));
    println!("  every result is the same");
    ratio("python / mcc-harness", python, harness, "25 or more, below 150 MB");
}

/// Checks that each cell and key that the Python program writes has the same value in the files of mcc-harness.
fn compare(own: &Path, python: &Path) {
    for name in ["confidence", "trusted", "scores", "podiums", "awards", "tools"] {
        let read = |dir: &Path| {
            let mut table = csv::Reader::from_path(dir.join(format!("{name}.csv"))).unwrap();
            let header = table.headers().unwrap().clone();
            (header, table.records().collect::<Result<Vec<_>, _>>().unwrap())
        };
        let ((harness_header, own), (header, python)) = (read(own), read(python));
        assert_eq!(own.len(), python.len(), "rows of {name}.csv");
        for (number, column) in header.iter().enumerate() {
            let harness_number = harness_header.iter().position(|known| known == column).expect(column);
            let differs = own.iter().zip(&python).position(|(a, b)| a[harness_number] != b[number]);
            assert_eq!(differs, None, "row where column {column} of {name}.csv differs");
        }
    }
    let read = |dir: &Path| -> serde_json::Value {
        serde_json::from_reader(BufReader::new(File::open(dir.join("judgement.json")).unwrap())).unwrap()
    };
    let (own, mut python) = (read(own), read(python));
    // The Python program writes the edition file, mcc-harness the complete settings.
    python.as_object_mut().unwrap().remove("edition");
    contains(&own, &python, "judgement.json");
}

fn contains(own: &serde_json::Value, python: &serde_json::Value, place: &str) {
    match (own, python) {
        (serde_json::Value::Object(own), serde_json::Value::Object(python)) => {
            for (key, python) in python {
                contains(own.get(key).unwrap_or_else(|| panic!("no {key} in {place}")), python, key);
            }
        }
        (serde_json::Value::Array(own), serde_json::Value::Array(python)) => {
            assert_eq!(own.len(), python.len(), "{place}");
            own.iter().zip(python).for_each(|(own, python)| contains(own, python, place));
        }
        _ => assert_eq!(own, python, "{place}"),
    }
}

/// Reading the answers in noisy logs, compared with `grep -c` that counts the result lines.
fn logs(folder: &Path) {
    let path = folder.join("log");
    for (what, every) in [("one result in 300 lines", 300), ("one in 12, as in the real outputs", 12)] {
        let made = synthetic::log(&data("mcc/real-output"), percent(1 << 30), every, SEED, &path).unwrap();
        let expected: String = synthetic::ids()
            .iter()
            .zip(&made.last)
            .filter_map(|(id, last)| {
                last.map(|(value, line)| format!("{id} {} {line}\n", if value { "T" } else { "F" }))
            })
            .collect();
        let own = || {
            let (took, found) = run(&mut this(&["read-log"], &path));
            assert_eq!(found, expected);
            took
        };
        let grep = || {
            let mut command = Command::new("grep");
            command.env("LC_ALL", "C").args(["-cE", "^(FORMULA|STATE_SPACE) "]).arg(&path);
            let (took, count) = run(&mut command);
            assert_eq!(count.trim(), made.results.to_string());
            took
        };
        let [grep, own] = in_turns(number("ROUNDS", 5), [&mut { grep }, &mut { own }]);
        println!("  {} MB, {what}", std::fs::metadata(&path).unwrap().len() >> 20);
        line("grep -cE (LC_ALL=C)", grep);
        line("answers extracted", own);
        ratio("answers / grep", own, grep, "4 or less");
    }
}

fn read_log(path: &Path) {
    let edition = Edition::load("mcc-2018").unwrap();
    let (_, examination) = edition.examination("CTLCardinality").unwrap();
    let mut questions = Questions::as_printed(examination);
    questions.ids = Some(synthetic::ids());
    let answers = Answers::read_file(&File::open(path).unwrap(), &questions, Reading::default()).unwrap();
    for ((id, value), line) in answers.ids.iter().zip(&answers.values).zip(&answers.lines) {
        if let (Some(value), Some(line)) = (value, line) {
            println!("{id} {} {line}", if *value == Value::True { "T" } else { "F" });
        }
    }
}

/// Reading a large net, compared with a loop over the XML events of the same file.
fn nets(folder: &Path) {
    let path = folder.join("model.pnml");
    for (what, padding) in [("nearly all of it net", 0), ("nine tenths of it sections of tools", 10_000)] {
        let size = synthetic::net(percent(200 << 20), padding, SEED, &path).unwrap();
        let own = || {
            let (took, found) = run(&mut this(&["read-net"], &path));
            assert_eq!(found.trim(), format!("{size:?}"));
            took
        };
        let bare = || run(&mut this(&["read-events"], &path)).0;
        let [bare, own] = in_turns(number("ROUNDS", 5), [&mut { bare }, &mut { own }]);
        println!("  {} MB, {what}: {size:?}", std::fs::metadata(&path).unwrap().len() >> 20);
        line("bare quick-xml event loop", bare);
        line("net read", own);
        ratio("net / bare loop", own, bare, "5 or less");
    }
}

fn read_net(path: &Path) {
    let net = Net::read(BufReader::with_capacity(1 << 18, File::open(path).unwrap()), "model.pnml").unwrap();
    let arcs = net.transitions.iter().map(|t| t.inputs.len() + t.outputs.len()).sum();
    let size = synthetic::Size { places: net.places.len(), transitions: net.transitions.len(), arcs };
    println!("{size:?}");
}

fn read_events(path: &Path) {
    let mut reader =
        quick_xml::Reader::from_reader(BufReader::with_capacity(1 << 18, File::open(path).unwrap()));
    let (mut buffer, mut events) = (Vec::new(), 0_u64);
    loop {
        buffer.clear();
        match reader.read_event_into(&mut buffer).unwrap() {
            quick_xml::events::Event::Eof => break,
            _ => events += 1,
        }
    }
    println!("{events}");
}
