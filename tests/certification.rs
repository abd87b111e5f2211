//! `certify`: what evidence decides, which answers it contradicts, and that a killed certification continues.

mod data;

use assert_cmd::Command;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/pnml-fixtures");
/// Instances that are explored within seconds.
const SMALL: [&str; 4] =
    ["DiningTable-PT-03", "TokenLoop-PT-03", "GreedyClerks-PT-03", "LibraryRoom-PT-R05W02"];
const EXAMINATIONS: [&str; 9] = [
    "StateSpace",
    "UpperBounds",
    "ReachabilityDeadlock",
    "ReachabilityCardinality",
    "ReachabilityFireability",
    "CTLCardinality",
    "CTLFireability",
    "LTLCardinality",
    "LTLFireability",
];

/// The right values of an instance by examination, in the order of positions.
fn right(instance: &str) -> BTreeMap<String, Vec<String>> {
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in rows(&Path::new(FIXTURES).join("expected").join(format!("{instance}.csv"))) {
        values.entry(row["examination"].clone()).or_default().push(row["value"].clone());
    }
    values
}

/// A value that is not this one.
fn wrong(value: &str) -> String {
    match value {
        "T" => "F".to_owned(),
        "F" => "T".to_owned(),
        number => (number.parse::<u64>().unwrap() / 2).to_string(),
    }
}

/// A row of the compact table.
fn answers(tool: &str, instance: &str, examination: &str, values: &[String]) -> String {
    let all = values.join(if values.iter().all(|of| of == "T" || of == "F") { "" } else { " " });
    format!("{tool},{instance},{examination},{all},\n")
}

fn rows(path: &Path) -> Vec<BTreeMap<String, String>> {
    let mut table =
        csv::Reader::from_path(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    table.deserialize().map(Result::unwrap).collect()
}

fn harness(folder: &Path, line: &str) -> Command {
    let mut command = Command::cargo_bin("mcc-harness").unwrap();
    command.current_dir(folder).args(line.split_whitespace());
    command
}

/// Returns the answer of a tool from the examination and the right value.
type Answer = fn(&str, &str) -> String;

/// Judges the answers of some tools on some instances; each tool gets the right values and returns its own.
fn judged(tools: &[(&str, Answer)], instances: &[&str], examinations: &[&str]) -> TempDir {
    let folder = TempDir::new().unwrap();
    let mut table = "tool,instance,examination,answers,wrong\n".to_owned();
    for instance in instances {
        let right = right(instance);
        for examination in examinations {
            let Some(right) = right.get(*examination) else { continue };
            for (tool, give) in tools {
                let given: Vec<String> = right.iter().map(|value| give(examination, value)).collect();
                table += &answers(tool, instance, examination, &given);
            }
        }
    }
    fs::write(folder.path().join("answers.csv"), table).unwrap();
    harness(
        folder.path(),
        &format!("judge answers.csv --edition mcc-2018 --models {FIXTURES}/models.csv --out judged"),
    )
    .assert()
    .success();
    folder
}

fn certify(folder: &Path, options: &str) -> Command {
    harness(folder, &format!("certify judged --instances {FIXTURES} --out certified {options}"))
}

/// Three variants of a tool give a wrong value for deadlocks and reachability, and outvote two right tools.
fn outvoted() -> TempDir {
    let honest = |_: &str, value: &str| value.to_owned();
    let faulty = |examination: &str, value: &str| match examination.starts_with("Reachability") {
        true => wrong(value),
        false => value.to_owned(),
    };
    let tools: [(&str, Answer); 5] = [
        ("breadth-first", honest),
        ("depth-first", honest),
        ("wrong-1", faulty),
        ("wrong-2", faulty),
        ("wrong-3", faulty),
    ];
    judged(&tools, &SMALL, &EXAMINATIONS)
}

#[test]
fn evidence_contradicts_three_wrong_tools_that_outvote_two() {
    let folder = outvoted();
    let at = |name: &str| folder.path().join(name);
    certify(folder.path(), "").assert().success();
    let (mut witnessed, mut values) = (0, 0);
    let alarms = rows(&at("certified/alarms.csv"));
    for row in rows(&at("certified/certified.csv")) {
        values += 1;
        let place = |of: &BTreeMap<String, String>| {
            (of["instance"].clone(), of["examination"].clone(), of["position"].clone())
        };
        let here: Vec<&str> = alarms
            .iter()
            .filter(|alarm| place(alarm) == place(&row))
            .map(|alarm| alarm["tool"].as_str())
            .collect();
        // Every value is decided, because all are explored, and equals the known one.
        let position: usize = row["position"].parse().unwrap();
        assert_eq!(row["value"], right(&row["instance"])[&row["examination"]][position], "{row:?}");
        match row["examination"].starts_with("Reachability") {
            true => assert_eq!(here, ["wrong-1", "wrong-2", "wrong-3"], "{row:?}"),
            false => assert_eq!(here, [""; 0], "{row:?}"),
        }
        assert!(row["evidence"].split(' ').all(|file| at("certified").join(file).is_file()), "{row:?}");
        if row["method"] == "witness" {
            witnessed += 1;
            for file in row["evidence"].split(' ') {
                let witness = fs::read_to_string(at("certified").join(file)).unwrap();
                mcc_checker::Witness::read(&witness).unwrap();
            }
        }
    }
    assert_eq!(values, rows(&at("judged/trusted.csv")).len());
    assert!(witnessed > 50, "{witnessed}");
    // With the overrides the wrong tools lose, and the two right tools are right everywhere.
    let judge = "judge answers.csv --edition mcc-2018 --out again --overrides certified/overrides.csv";
    harness(folder.path(), judge).assert().success();
    for score in rows(&at("again/scores.csv")) {
        let faulty = score["tool"].starts_with("wrong") && score["examination"].starts_with("Reachability");
        assert_eq!(score["wrong"] == "0", !faulty, "{score:?}");
    }
    let bundle = at("certified/bundles/wrong-1");
    assert!(bundle.join("DiningTable-PT-03/DiningTable-PT-03.tgz").is_file());
    assert!(rows(&bundle.join("answers.csv")).iter().all(|row| row["given"] != row["certified"]));
    assert!(!at("certified/bundles/depth-first").exists());
}

#[test]
fn certified_values_change_labels_and_no_points() {
    let folder = outvoted();
    let at = |name: &str| folder.path().join(name);
    certify(folder.path(), "--only weak").assert().success();
    let judge = "judge answers.csv --edition mcc-2018 --out labelled --certified certified";
    harness(folder.path(), &format!("{judge} --models {FIXTURES}/models.csv")).assert().success();
    for file in ["confidence.csv", "scores.csv", "podiums.csv", "awards.csv", "weak.csv", "overrides.csv"] {
        let read = |of: &str| fs::read_to_string(at(of).join(file)).unwrap();
        assert_eq!(read("judged"), read("labelled"), "{file}");
    }
    let mut labels = BTreeMap::<String, u64>::new();
    for (mut row, before) in
        rows(&at("labelled/trusted.csv")).into_iter().zip(rows(&at("judged/trusted.csv")))
    {
        *labels.entry(row.remove("certified").unwrap()).or_default() += 1;
        assert_eq!(row, before);
    }
    // All wrong values are refuted; the others are not disputed, so they were not certified and rest on votes.
    let reachability = SMALL.len() as u64 * 33;
    assert_eq!(labels["refuted"], reachability, "{labels:?}");
    assert_eq!(labels.keys().map(String::as_str).collect::<Vec<_>>(), ["refuted", "votes"]);
    let explain =
        "explain labelled --instance DiningTable-PT-03 --examination ReachabilityDeadlock --position 00";
    let shown = harness(folder.path(), explain).assert().success();
    let shown = String::from_utf8_lossy(&shown.get_output().stdout).into_owned();
    assert!(
        shown.contains("Refuted: the value is") && shown.contains("evidence/DiningTable-PT-03/"),
        "{shown}"
    );
}

#[test]
fn the_site_shows_contradicted_answers_with_their_evidence() {
    let folder = outvoted();
    let at = |name: &str| folder.path().join(name);
    certify(folder.path(), "--only disputed").assert().success();
    let judge = "judge answers.csv --edition mcc-2018 --out labelled --certified certified";
    harness(folder.path(), judge).assert().success();
    for judgement in ["judged", "labelled"] {
        harness(folder.path(), &format!("report {judgement} --out site-{judgement}")).assert().success();
    }
    let read = |path: &str| fs::read_to_string(at(path)).unwrap();
    let page = read("site-labelled/evidence.html");
    for text in
        ["wrong-1: FALSE, wrong-2: FALSE, wrong-3: FALSE", "evidence/DiningTable-PT-03/", "<td>0.0 %</td>"]
    {
        assert!(page.contains(text), "{text}");
    }
    assert!(read("site-labelled/instances/DiningTable-PT-03.js").contains("Refuted: the value is"));
    // A judgement without certified values has neither.
    assert!(!read("site-judged/evidence.html").contains("Certified values"));
    assert!(!read("site-judged/instances/DiningTable-PT-03.js").contains("certified"));
}

/// In 2018 the consensus was two markings and at most 2 * 10^9 tokens in a place; the initial marking has 4 * 10^9.
#[test]
fn the_wrong_consensus_of_2018_is_refuted_by_a_witness() {
    const GPPP: &str = "GPPP-PT-C0010N1000000000";
    let Some(archive) = data::shared(&format!("mcc/inputs/{GPPP}.tgz")) else { return };
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("models")).unwrap();
    fs::copy(archive, at("models").join(format!("{GPPP}.tgz"))).unwrap();
    let published = data::published("mcc/2018/answers.csv.gz");
    let judge = format!("judge {} --edition mcc-2018 --out judged", published.display());
    harness(folder.path(), &judge).assert().success();
    let certify = "certify judged --instances models --out certified --budget-s 2 --memory-mib 512";
    harness(folder.path(), certify).assert().success();
    let alarms = rows(&at("certified/alarms.csv"));
    let of = |position: &str| {
        let here = |alarm: &&BTreeMap<String, String>| {
            alarm["examination"] == "StateSpace" && alarm["position"] == position
        };
        alarms.iter().filter(here).collect::<Vec<_>>()
    };
    let in_place = of("02");
    assert_eq!(in_place.iter().map(|alarm| alarm["tool"].as_str()).collect::<Vec<_>>(), ["BVT", "smart"]);
    for alarm in in_place {
        assert_eq!((alarm["given"].as_str(), alarm["trusted"].as_str()), ("2.0000E+0009", "2.0000E+0009"));
        let number: u64 = alarm["certified"].trim_start_matches(">=").parse().unwrap();
        assert!(number >= 4_000_000_000, "{alarm:?}");
        // The initial marking alone refutes it.
        let detail = "the initial marking, with 4000000000";
        assert!(alarm["detail"].starts_with(detail), "{alarm:?}");
        let evidence = alarm["evidence"].split(' ').next().unwrap();
        assert!(evidence.ends_with("StateSpace-02.initial.witness.json"), "{alarm:?}");
        let file = at("certified").join(evidence);
        let witness = mcc_checker::Witness::read(&fs::read_to_string(&file).unwrap()).unwrap();
        assert_eq!((witness.value.to_string().as_str(), witness.runs[0].steps.len()), ("4000000000", 0));
        let check = format!("check-witness {} --instances models", file.display());
        harness(folder.path(), &check).assert().success();
    }
    // An organizer can take the points away from the wrong values.
    let overrides = rows(&at("certified/overrides.csv"));
    assert!(overrides.iter().any(|row| row["examination"] == "StateSpace" && row["position"] == "02"));
}

/// All files of a folder with their content.
fn content(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = walkdir::WalkDir::new(folder).into_iter().map(Result::unwrap);
    let files = files.filter(|item| item.file_type().is_file());
    files
        .map(|item| {
            let name = item.path().strip_prefix(folder).unwrap().to_owned();
            (name, fs::read(item.path()).unwrap())
        })
        .collect()
}

/// `KILLS`: the number of kills; `scripts/soak certify` sets it.
#[test]
fn a_killed_certification_ends_with_the_same_results() {
    let kills: u32 = std::env::var("KILLS").map_or(4, |kills| kills.parse().unwrap());
    let folder = outvoted();
    let at = |name: &str| folder.path().join(name);
    let start = std::time::Instant::now();
    certify(folder.path(), "--jobs 2").assert().success();
    let whole = start.elapsed();
    fs::rename(at("certified"), at("undisturbed")).unwrap();
    let binary = assert_cmd::cargo::cargo_bin("mcc-harness");
    for kill in 0..kills {
        // The kills are spread over the whole run; each process continues the one before it.
        let mut process = std::process::Command::new(&binary)
            .current_dir(folder.path())
            .args(["certify", "judged", "--instances", FIXTURES, "--out", "certified", "--jobs", "2"])
            .stderr(std::process::Stdio::null())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(whole.mul_f64(f64::from(kill * 7 % kills + 1) / f64::from(kills + 1)));
        process.kill().unwrap();
        process.wait().unwrap();
        if kill % 5 == 4 {
            // Later kills need work to interrupt.
            for instance in SMALL {
                let _ = fs::remove_file(at("certified/results").join(format!("{instance}.json")));
            }
        }
    }
    certify(folder.path(), "--jobs 2").assert().success();
    let (undisturbed, killed) = (content(&at("undisturbed")), content(&at("certified")));
    assert_eq!(undisturbed.keys().collect::<Vec<_>>(), killed.keys().collect::<Vec<_>>());
    for (name, bytes) in undisturbed {
        assert!(killed[&name] == bytes, "{} differs", name.display());
    }
}

#[test]
fn a_wrong_folder_or_other_settings_are_refused() {
    let honest = |_: &str, value: &str| value.to_owned();
    let folder = judged(&[("a", honest), ("b", honest)], &["TokenLoop-PT-03"], &["ReachabilityDeadlock"]);
    let refused = |line: &str, message: &str| {
        let output = harness(folder.path(), line).timeout(Duration::from_secs(600)).assert().code(2);
        let stderr = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
        assert!(stderr.contains(message), "{line}: {stderr}");
    };
    certify(folder.path(), "--budget-s 30").assert().success();
    let again = format!("certify judged --instances {FIXTURES} --out");
    refused(&format!("{again} certified --budget-s 40"), "was begun with --budget-s 30, not 40");
    refused(&format!("{again} judged"), "is not part of a certification");
    fs::create_dir(folder.path().join("empty")).unwrap();
    refused("certify judged --instances empty --out new", "no archive (INSTANCE.tgz) of a judged instance");
    let judge = "judge answers.csv --edition mcc-2018 --out again --certified";
    refused(&format!("{judge} empty"), "cannot read");
    let table = folder.path().join("certified/certified.csv");
    let text = fs::read_to_string(&table).unwrap();
    fs::write(&table, text.replace(",T,", ",maybe,").replace(",F,", ",maybe,")).unwrap();
    refused(&format!("{judge} certified"), "certified.csv:2: column value: `maybe` is no certified value");
}
