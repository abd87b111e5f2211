//! What judging and reading cost at scale, as ratios measured in one run of this program: ours and what it is compared
//! with take turns, each in a process of its own.
//!
//!     [ROUNDS=n] [PERCENT=n] cargo bench --bench scale -- [judge] [editions] [logs] [nets] [record]
//!
//! PERCENT makes the made inputs smaller. Needs the real data (MCC_HARNESS_DATA, else `../shared`), python3 and grep.

mod generated_record;
mod measure;
mod record;
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

/// Measures in a folder of its own, and prints.
type Section = fn(&Path);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    match &words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        // What a process of its own is measured at.
        ["read-net", path] => return read_net(Path::new(path)),
        ["read-events", path] => return read_events(Path::new(path)),
        ["read-log", path] => return read_log(Path::new(path)),
        ["compare", folder] => {
            return compare(&Path::new(folder).join("ours"), &Path::new(folder).join("python"));
        }
        _ => {}
    }
    let asked = |section: &str| words.is_empty() || words.iter().any(|word| word == section);
    let sections: [(&str, Section); 5] = [
        ("judge", judge),
        ("editions", editions),
        ("logs", logs),
        ("nets", nets),
        ("record", record::judged),
    ];
    for (name, section) in sections.into_iter().filter(|(name, _)| asked(name)) {
        let folder = tempfile::tempdir().unwrap();
        println!("{name}");
        section(folder.path());
    }
}

fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

fn percent(of: u64) -> u64 {
    of * number("PERCENT", 100) as u64 / 100
}

fn project() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
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

fn harness_judge(answers: &Path, models: &Path, out: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
    command.arg("judge").arg(answers).args(["--edition", "mcc-2018", "--models"]).arg(models);
    command.arg("--out").arg(out);
    command
}

/// The answers of 2018, from the published table to all result files.
fn judge(folder: &Path) {
    let (answers, models) =
        (data("mcc/2018-answers/answers-2018.csv.gz"), data("mcc/2018-answers/models-2018.csv"));
    let (ours, theirs) = (folder.join("ours"), folder.join("python"));
    let python = || {
        let mut command = Command::new("python3");
        command.arg(project().join("benches/judge.py")).args([&answers, &models]);
        command.arg(project().join("editions/mcc-2018.toml")).arg(&theirs);
        run(&mut command).0
    };
    let harness = || run(&mut harness_judge(&answers, &models, &ours)).0;
    let [python, harness] = in_turns(number("ROUNDS", 5), [&mut { python }, &mut { harness }]);
    line("python3 benches/judge.py", python);
    line("mcc-harness judge", harness);
    // A child is charged with the memory its parent had: this process stays small.
    run(&mut this(&["compare"], folder));
    println!("  every result is the same");
    ratio("python / mcc-harness", python, harness, "25 or more, below 150 MB");
}

/// Every cell and every key that the Python writes stands in ours too, and nothing else in the same place.
fn compare(ours: &Path, theirs: &Path) {
    for name in ["confidence", "trusted", "scores", "podiums", "awards", "tools"] {
        let read = |dir: &Path| {
            let mut table = csv::Reader::from_path(dir.join(format!("{name}.csv"))).unwrap();
            let header = table.headers().unwrap().clone();
            (header, table.records().collect::<Result<Vec<_>, _>>().unwrap())
        };
        let ((our_header, ours), (header, theirs)) = (read(ours), read(theirs));
        assert_eq!(ours.len(), theirs.len(), "rows of {name}.csv");
        for (number, column) in header.iter().enumerate() {
            let our_number = our_header.iter().position(|known| known == column).expect(column);
            let differs = ours.iter().zip(&theirs).position(|(a, b)| a[our_number] != b[number]);
            assert_eq!(differs, None, "row where column {column} of {name}.csv differs");
        }
    }
    let read = |dir: &Path| -> serde_json::Value {
        serde_json::from_reader(BufReader::new(File::open(dir.join("judgement.json")).unwrap())).unwrap()
    };
    let (ours, mut theirs) = (read(ours), read(theirs));
    // The settings as they are read in the edition file, not as they are kept.
    theirs.as_object_mut().unwrap().remove("edition");
    contains(&ours, &theirs, "judgement.json");
}

fn contains(ours: &serde_json::Value, theirs: &serde_json::Value, place: &str) {
    match (ours, theirs) {
        (serde_json::Value::Object(ours), serde_json::Value::Object(theirs)) => {
            for (key, theirs) in theirs {
                contains(ours.get(key).unwrap_or_else(|| panic!("no {key} in {place}")), theirs, key);
            }
        }
        (serde_json::Value::Array(ours), serde_json::Value::Array(theirs)) => {
            assert_eq!(ours.len(), theirs.len(), "{place}");
            ours.iter().zip(theirs).for_each(|(ours, theirs)| contains(ours, theirs, place));
        }
        _ => assert_eq!(ours, theirs, "{place}"),
    }
}

/// One, ten and a hundred editions in one table: time and memory per row stay.
fn editions(folder: &Path) {
    let (answers, models) =
        (data("mcc/2018-answers/answers-2018.csv.gz"), data("mcc/2018-answers/models-2018.csv"));
    let most = percent(100) as usize;
    let mut first = None;
    for count in [1, most.div_ceil(10), most] {
        let dir = folder.join(count.to_string());
        std::fs::create_dir_all(&dir).unwrap();
        let (answers, models) = synthetic::editions(&answers, &models, count, SEED, &dir).unwrap();
        let took = run(&mut harness_judge(&answers, &models, &dir.join("out"))).0;
        let bytes: u64 = std::fs::read_dir(dir.join("out"))
            .unwrap()
            .map(|file| file.unwrap().metadata().unwrap().len())
            .sum();
        let rows = count * 83_336;
        line(&format!("{count} editions, {rows} rows, {} MB written", bytes >> 20), took);
        let (one, many) = (*first.get_or_insert(took), took);
        ratio(
            &format!("times {count} editions / times one"),
            Measurement { wall: many.wall / count as u32, cpu: many.cpu / count as u32, ..many },
            one,
            "about 1",
        );
        std::fs::remove_dir_all(dir).unwrap();
    }
}

/// Answers found in noisy logs, against `grep -c` that counts the result lines.
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
        let ours = || {
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
        let [grep, ours] = in_turns(number("ROUNDS", 5), [&mut { grep }, &mut { ours }]);
        println!("  {} MB, {what}", std::fs::metadata(&path).unwrap().len() >> 20);
        line("grep -cE (LC_ALL=C)", grep);
        line("answers extracted", ours);
        ratio("answers / grep", ours, grep, "4 or less");
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

/// A large net read, against a loop over the events of the same file that does nothing with them.
fn nets(folder: &Path) {
    let path = folder.join("model.pnml");
    for (what, padding) in [("nearly all of it net", 0), ("nine tenths of it sections of tools", 10_000)] {
        let size = synthetic::net(percent(200 << 20), padding, SEED, &path).unwrap();
        let ours = || {
            let (took, found) = run(&mut this(&["read-net"], &path));
            assert_eq!(found.trim(), format!("{size:?}"));
            took
        };
        let bare = || run(&mut this(&["read-events"], &path)).0;
        let [bare, ours] = in_turns(number("ROUNDS", 5), [&mut { bare }, &mut { ours }]);
        println!("  {} MB, {what}: {size:?}", std::fs::metadata(&path).unwrap().len() >> 20);
        line("bare quick-xml event loop", bare);
        line("net read", ours);
        ratio("net / bare loop", ours, bare, "2 or less");
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
