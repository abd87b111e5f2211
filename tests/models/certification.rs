//! `certify`: what evidence decides, and which answers it contradicts.

use crate::support::campaign::EXAMINATIONS;
use crate::support::commands::harness;
use crate::support::data;
use crate::support::tables::rows;

use assert_cmd::Command;
use flate2::read::GzDecoder;
use mcc_checker::{Certificate, Instance, Witness};
use mcc_harness::model::Archive;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

pub const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/pnml-fixtures");
/// Instances that are explored within seconds.
pub const SMALL: [&str; 4] =
    ["DiningTable-PT-03", "TokenLoop-PT-03", "GreedyClerks-PT-03", "LibraryRoom-PT-R05W02"];

/// The right values of an instance by examination, in the order of positions.
fn right(instance: &str) -> BTreeMap<String, Vec<String>> {
    let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in rows(&Path::new(FIXTURES).join("expected").join(format!("{instance}.csv"))) {
        values.entry(row["examination"].clone()).or_default().push(row["value"].clone());
    }
    values
}

/// A value that is not this one.
pub fn wrong(value: &str) -> String {
    match value {
        "T" => "F".to_owned(),
        "F" => "T".to_owned(),
        number => (number.parse::<u64>().unwrap() / 2).to_string(),
    }
}

/// A row of the compact table.
pub fn answers(tool: &str, instance: &str, examination: &str, values: &[String]) -> String {
    let all = values.join(if values.iter().all(|value| value == "T" || value == "F") { "" } else { " " });
    format!("{tool},{instance},{examination},{all},\n")
}

/// Returns the answer of a tool from the examination and the right value.
pub type Answer = fn(&str, &str) -> String;

/// Judges the answers of some tools on some instances; each tool gets the right values and returns its own.
pub fn judged(tools: &[(&str, Answer)], instances: &[&str], examinations: &[&str]) -> TempDir {
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

pub fn certify(folder: &Path, options: &str) -> Command {
    harness(folder, &format!("certify judged --instances {FIXTURES} --out certified {options}"))
}

/// Three variants of a tool give a wrong value for deadlocks and reachability, and outvote two right tools.
pub fn outvoted() -> TempDir {
    let honest = |_: &str, value: &str| value.to_owned();
    let faulty = |examination: &str, value: &str| {
        if examination.starts_with("Reachability") { wrong(value) } else { value.to_owned() }
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
        let place = |row: &BTreeMap<String, String>| {
            (row["instance"].clone(), row["examination"].clone(), row["position"].clone())
        };
        let here: Vec<&str> = alarms
            .iter()
            .filter(|alarm| place(alarm) == place(&row))
            .map(|alarm| alarm["tool"].as_str())
            .collect();
        // Every value is decided, because all are explored, and equals the known one.
        let position: usize = row["position"].parse().unwrap();
        assert_eq!(row["value"], right(&row["instance"])[&row["examination"]][position], "{row:?}");
        if row["examination"].starts_with("Reachability") {
            assert_eq!(here, ["wrong-1", "wrong-2", "wrong-3"], "{row:?}");
        } else {
            assert_eq!(here, [""; 0], "{row:?}");
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
fn an_instance_without_values_to_decide_does_not_lack_an_archive() {
    let honest: Answer = |_, value| value.to_owned();
    let folder = judged(&[("breadth-first", honest), ("depth-first", honest)], &SMALL, &["StateSpace"]);
    let done = certify(folder.path(), "--only disputed").assert().success();
    let said = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
    assert!(!said.contains("without an archive"), "{said}");
}

#[test]
fn certified_values_change_labels_and_no_points() {
    let folder = outvoted();
    let at = |name: &str| folder.path().join(name);
    certify(folder.path(), "--only weak").assert().success();
    let judge = "judge answers.csv --edition mcc-2018 --out labelled --certified certified";
    harness(folder.path(), &format!("{judge} --models {FIXTURES}/models.csv")).assert().success();
    for file in ["confidence.csv", "scores.csv", "podiums.csv", "awards.csv", "weak.csv", "overrides.csv"] {
        let read = |out: &str| fs::read_to_string(at(out).join(file)).unwrap();
        assert_eq!(read("judged"), read("labelled"), "{file}");
    }
    // The second podiums are those of a judgement whose values evidence replaced.
    let judge = "judge answers.csv --edition mcc-2018 --out replaced --overrides certified/overrides.csv";
    harness(folder.path(), &format!("{judge} --models {FIXTURES}/models.csv")).assert().success();
    let podiums = |out: &str, field: &str| -> serde_json::Value {
        let text = fs::read_to_string(at(out).join("judgement.json")).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()[field].clone()
    };
    assert_eq!(podiums("labelled", "evidence_podiums"), podiums("replaced", "podiums"));
    assert_ne!(podiums("labelled", "evidence_podiums"), podiums("labelled", "podiums"));
    assert!(podiums("judged", "evidence_podiums").is_null());
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
        shown.contains("Refuted: the value is")
            && shown.contains("evidence/DiningTable-PT-03/")
            && shown
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .contains("which judge did not check on the net"),
        "{shown}"
    );
}

const GPPP: &str = "GPPP-PT-C0010N1000000000";

/// The places where evidence refutes the published value of 2025: constants of 2^31 and more were read as signed numbers of
/// 32 bits. The first ones have ids of earlier years.
const REFUTED_IN_2025: [&str; 10] = [
    "CTLCardinality-01",
    "CTLCardinality-11",
    "LTLFireability-03",
    "LTLFireability-10",
    "ReachabilityCardinality-01",
    "ReachabilityCardinality-02",
    "ReachabilityCardinality-03",
    "ReachabilityCardinality-07",
    "ReachabilityCardinality-08",
    "ReachabilityCardinality-15",
];

/// More such places, where the formula is constant without the comparisons that are. They were decided again with a linear
/// program of another library. No file shows these values.
const EXPLORED_IN_2025: [&str; 7] = [
    "CTLCardinality-06",
    "CTLCardinality-07",
    "CTLCardinality-08",
    "CTLCardinality-09",
    "CTLCardinality-10",
    "CTLCardinality-13",
    "CTLCardinality-14",
];

/// The ids of these instances are of one year or of several.
#[test]
fn the_alarms_of_2025_are_on_one_instance() {
    let folder = TempDir::new().unwrap();
    let published = data::published("mcc/2025");
    let judge = format!("judge {}/answers.csv.gz --edition mcc-2025 --out judged", published.display());
    harness(folder.path(), &judge).assert().success();
    let models = published.join("models");
    let certify = "certify judged --out certified --budget-s 1 --memory-mib 1024 --jobs 2 --instances";
    harness(folder.path(), &format!("{certify} {}", models.display())).assert().success();
    let certified = rows(&folder.path().join("certified/certified.csv"));
    let instances: BTreeSet<&str> = certified.iter().map(|row| row["instance"].as_str()).collect();
    assert_eq!(instances.len(), 5);
    let alarms = rows(&folder.path().join("certified/alarms.csv"));
    assert!(alarms.iter().all(|alarm| alarm["instance"] == GPPP), "{alarms:?}");
    // Evidence contradicts the trusted value there, or an answer that the contest judged wrong too.
    let refuted: BTreeSet<String> = alarms
        .iter()
        .filter(|alarm| alarm["given"] == alarm["trusted"])
        .map(|alarm| format!("{}-{}", alarm["examination"], alarm["position"]))
        .collect();
    let known: BTreeSet<&str> = REFUTED_IN_2025.into_iter().chain(EXPLORED_IN_2025).collect();
    assert!(refuted.iter().all(|place| known.contains(place.as_str())), "{refuted:?}");
    assert!(refuted.contains("ReachabilityCardinality-02"), "{refuted:?}");
}

/// Checks the evidence that was found in a minute for each examination.
#[test]
fn the_refuted_values_of_2018_and_2025_stay_refuted() {
    for (year, expected) in [(2018, 16), (2025, REFUTED_IN_2025.len())] {
        let archive = data::published(&format!("mcc/{year}/models/{GPPP}.tgz"));
        let checker = Instance::read(&Archive::open(&archive).unwrap()).unwrap();
        let table = fs::File::open(data::published(&format!("mcc/{year}/answers.csv.gz"))).unwrap();
        let consensus: BTreeMap<String, String> = csv::Reader::from_reader(GzDecoder::new(table))
            .into_records()
            .map(Result::unwrap)
            .filter(|row| &row[0] == "BVT" && &row[1] == GPPP)
            .map(|row| (row[2].to_owned(), row[3].to_owned()))
            .collect();
        let mut places = Vec::new();
        for file in fs::read_dir(data::published(&format!("mcc/{year}/evidence"))).unwrap() {
            let path = file.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            let name = path.file_name().unwrap().to_str().unwrap();
            let (place, kind) = name.split_once('.').unwrap();
            let (examination, position) = place.rsplit_once('-').unwrap();
            let (shown, property) = if kind == "witness.json" {
                let witness = Witness::read(&text).unwrap();
                checker.check_witness(&witness).unwrap();
                (witness.value.to_string(), witness.property)
            } else {
                let certificate = Certificate::read(&text).unwrap();
                checker.check_certificate(&certificate).unwrap();
                (certificate.value.to_string(), certificate.property)
            };
            let (position, values) = (position.parse::<usize>().unwrap(), &consensus[examination]);
            match shown.as_str() {
                "TRUE" => assert_eq!(&values[position..=position], "F", "{year} {property}"),
                "FALSE" => assert_eq!(&values[position..=position], "T", "{year} {property}"),
                // A witness of a bound shows that it is at least this number.
                number => {
                    let published: f64 = values.split(' ').nth(position).unwrap().parse().unwrap();
                    assert!(number.parse::<f64>().unwrap() > published, "{year} {property}");
                }
            }
            places.push(place.to_owned());
        }
        assert_eq!(places.len(), expected, "{year}");
        places.sort();
        assert!(year != 2025 || places == REFUTED_IN_2025, "{places:?}");
    }
}

/// In 2018 the consensus was two markings and at most 2 * 10^9 tokens in a place; the initial marking has 4 * 10^9.
#[test]
fn the_wrong_consensus_of_2018_is_refuted_by_a_witness() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("models")).unwrap();
    let archive = data::published(&format!("mcc/2018/models/{GPPP}.tgz"));
    fs::copy(archive, at("models").join(format!("{GPPP}.tgz"))).unwrap();
    let published = data::published("mcc/2018/answers.csv.gz");
    let judge = format!("judge {} --edition mcc-2018 --out judged", published.display());
    harness(folder.path(), &judge).assert().success();
    let certify = "certify judged --instances models --out certified --budget-s 2 --memory-mib 512";
    harness(folder.path(), certify).assert().success();
    let alarms = rows(&at("certified/alarms.csv"));
    let alarms_at = |position: &str| {
        let here = |alarm: &&BTreeMap<String, String>| {
            alarm["examination"] == "StateSpace" && alarm["position"] == position
        };
        alarms.iter().filter(here).collect::<Vec<_>>()
    };
    let in_place = alarms_at("02");
    assert_eq!(in_place.iter().map(|alarm| alarm["tool"].as_str()).collect::<Vec<_>>(), ["BVT", "smart"]);
    for alarm in in_place {
        assert_eq!((alarm["given"].as_str(), alarm["trusted"].as_str()), ("2.0000E+0009", "2.0000E+0009"));
        let number: u64 = alarm["certified"].trim_start_matches(">=").parse().unwrap();
        assert!(number >= 4_000_000_000, "{alarm:?}");
        // The initial marking alone refutes it, whether or not the search found a larger number.
        assert!(alarm["detail"].starts_with("the initial marking"), "{alarm:?}");
        let evidence = alarm["evidence"].split(' ').next().unwrap();
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
