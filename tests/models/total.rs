//! Total examinations: a question for each transition or place. All outputs and oracles here are synthetic, written from the
//! description of the format and not by a tool of the contest.

use assert_cmd::Command;
use mcc_checker::{Certificate, Instance, Value, Witness};
use mcc_harness::benchkit::{Answers, Questions, Reading};
use mcc_harness::edition::Edition;
use mcc_harness::model::{Archive, Total};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tempfile::TempDir;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/pnml-fixtures");
const INSTANCE: &str = "DiningTable-PT-03";

fn fixture() -> Archive {
    Archive::open(&Path::new(FIXTURES).join("DiningTable-PT-08.tgz")).unwrap()
}

/// An edition with the total examinations, each of which is one entry.
fn edition(folder: &Path) -> PathBuf {
    let path = folder.join("total.toml");
    let entry = |(name, answers)| {
        format!("[[examination]]\nname = \"{name}\"\nanswers = \"{answers}\"\nvalues = 0\n")
    };
    let entries =
        [("QuasiLivenessAll", "boolean"), ("StableMarkingAll", "boolean"), ("UpperBoundsAll", "number")];
    let entries: String = entries.map(entry).concat();
    fs::write(&path, format!("{}\n{entries}", include_str!("../../editions/mcc-2018.toml"))).unwrap();
    path
}

fn questions(folder: &Path, examination: &str) -> Questions {
    let edition = Edition::load(edition(folder).to_str().unwrap()).unwrap();
    Questions::read(&fixture(), edition.examination(examination).unwrap().1).unwrap()
}

fn read(questions: &Questions, output: &str) -> Answers {
    Answers::read(output.as_bytes(), questions, Reading::default()).unwrap()
}

fn problems(answers: &Answers) -> Vec<String> {
    answers.anomalies.iter().map(|anomaly| format!("{}: {}", anomaly.line, anomaly.problem)).collect()
}

fn harness(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("mcc-harness").unwrap();
    command.current_dir(folder).args(arguments);
    command
}

#[test]
fn an_answer_is_a_line_for_each_object_in_the_order_of_definition() {
    let folder = TempDir::new().unwrap();
    let net = fixture().net().unwrap();
    let questions = questions(folder.path(), "QuasiLivenessAll");
    let ids = questions.ids.clone().unwrap();
    assert_eq!((ids.len(), ids[0].as_str(), ids[10].as_str()), (net.transitions.len(), "t0", "t10"));
    let count = ids.len();
    let output = format!(
        "log QLIVE t3 TRUE\nTOTAL QuasiLivenessAll {count}\nQLIVE t10 TRUE TOPOLOGICAL RANDOM_WALK\nQLIVE t2 FALSE SAT_SMT\n\
         STABLE p1 TRUE X\nQLIVE t2 FALSE SAT_SMT\n"
    );
    let answers = read(&questions, &output);
    assert_eq!(problems(&answers), [""; 0]);
    assert_eq!(answers.values.iter().flatten().count(), 2);
    assert_eq!(answers.values[10], Some("T".parse().unwrap()));
    assert_eq!(answers.techniques[10], ["TOPOLOGICAL", "RANDOM_WALK"]);
    assert_eq!((answers.values[2].clone(), answers.lines[2]), (Some("F".parse().unwrap()), Some(4)));
}

#[test]
fn wrong_lines_of_a_total_examination_are_named() {
    let folder = TempDir::new().unwrap();
    let questions = questions(folder.path(), "QuasiLivenessAll");
    let answers = read(
        &questions,
        "TOTAL QuasiLivenessAll 7\nQLIVE t9999 TRUE X\nQLIVE p1 TRUE X\nQLIVE t01 TRUE X\nQLIVE t1 7 X\nQLIVE t1 ?\n\
         QLIVE t2 TRUE X\nQLIVE t2 FALSE X\n",
    );
    assert_eq!(answers.values.iter().flatten().count(), 1);
    let found = problems(&answers);
    let expected = [
        "1: the tool has 7 questions, but the instance has",
        "2: the examination has no id t9999",
        "3: the examination has no id p1",
        "4: the examination has no id t01",
        "5: `7` is not a value for t1",
        "6: `?` of t1 is not an interval: the line is ignored",
        "8: t2 was TRUE in line 7 and is FALSE now",
    ];
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}");
    }
}

#[test]
fn an_open_bound_has_the_last_interval() {
    let folder = TempDir::new().unwrap();
    let questions = questions(folder.path(), "UpperBoundsAll");
    let answers = read(
        &questions,
        "BOUND p0 ? 0 inf\nBOUND p0 ? 1 7\nBOUND p1 ? 1 7\nBOUND p1 1 SAT_SMT\nBOUND p2 inf X\nBOUND p3 ? 2 9\nBOUND p3 1 X\n\
         BOUND p4 ? 9 2\nBOUND p5 ? 1\n",
    );
    let shown = |position: usize| answers.intervals[position].as_ref().map(ToString::to_string);
    assert_eq!(shown(0).as_deref(), Some("1 to 7"));
    assert_eq!((shown(1), shown(4), shown(5)), (None, None, None));
    let values: Vec<_> =
        answers.values[..4].iter().map(|value| value.as_ref().map(ToString::to_string)).collect();
    assert_eq!(values, [None, Some("1".to_owned()), Some("inf".to_owned()), Some("1".to_owned())]);
    let found = problems(&answers);
    assert_eq!(found.len(), 3, "{found:#?}");
    assert!(found[0].starts_with("7: p3 is 1, but was 2 to 9 in line 6"), "{found:#?}");
    assert!(found[1].starts_with("8: `? 9 2` of p4 is not") && found[2].starts_with("9: `? 1` of p5 is not"));
    assert_eq!([0, 1, 4].map(|position| answers.line(position)), [Some(2), Some(4), None]);
}

#[test]
fn a_number_that_takes_long_to_convert_is_refused_in_each_form() {
    let folder = TempDir::new().unwrap();
    let questions = questions(folder.path(), "UpperBoundsAll");
    let (most, long) = ("9".repeat(1000), "9".repeat(1001));
    let answers = read(
        &questions,
        &format!(
            "BOUND p0 {most} X\nBOUND p1 ? 0 {most}\nBOUND p2 {long} X\nFORMULA p3 {long} TECHNIQUES X\nBOUND p4 ? 0 {long}\n\
             BOUND p1 +{long} X\n"
        ),
    );
    assert_eq!(answers.values.iter().flatten().count(), 1);
    assert_eq!(answers.intervals.iter().flatten().count(), 1);
    let found = problems(&answers);
    assert_eq!(found.len(), 4, "{found:#?}");
    assert!(
        found.iter().all(|problem| problem.ends_with("has more than 1000 digits: the line is ignored")),
        "{found:#?}"
    );
}

#[test]
fn only_an_edition_without_points_for_it_has_a_total_examination() {
    let folder = TempDir::new().unwrap();
    let path = edition(folder.path());
    let text = fs::read_to_string(&path).unwrap();
    let podium = "[[podium]]\ncategory = \"All\"\nexaminations = [\"UpperBoundsAll\"]\n";
    fs::write(&path, format!("{text}\n{podium}")).unwrap();
    let error = Edition::load(path.to_str().unwrap()).unwrap_err().to_string();
    assert!(error.contains("no points for `UpperBoundsAll`"), "{error}");
}

/// Certifies three fixtures, and compares each value with the explorer of the checkers and each file of evidence with its
/// checker. Then `lint` compares an output with the oracle files.
#[test]
fn certified_vectors_are_those_of_the_explorer_and_find_wrong_answers() {
    let folder = TempDir::new().unwrap();
    let models = folder.path().join("models");
    fs::create_dir(&models).unwrap();
    let names = [INSTANCE, "TokenLoop-PT-03", "GreedyClerks-PT-03"];
    for name in names {
        fs::copy(Path::new(FIXTURES).join(format!("{name}.tgz")), models.join(format!("{name}.tgz")))
            .unwrap();
    }
    let all = Total::ALL.map(|total| total.examination).join(",");
    let certify = ["certify", "--total", &all, "--instances", "models", "--out", "certified"];
    let steps = ["--budget-s", "60", "--budget-msteps", "20"];
    for _ in 0..2 {
        // The second time it continues, and writes the same.
        harness(folder.path(), &[&certify[..], &steps[..]].concat()).assert().success();
    }
    let mut table = csv::Reader::from_path(folder.path().join("certified/total.csv")).unwrap();
    let rows: Vec<csv::StringRecord> = table.records().map(Result::unwrap).collect();
    let (mut witnesses, cancel) = (0, AtomicBool::new(false));
    for name in names {
        let archive = Archive::open(&models.join(format!("{name}.tgz"))).unwrap();
        let checker = Instance::read(&archive).unwrap();
        let explored = checker.explore(Duration::from_secs(60), 1 << 30, &cancel).unwrap();
        for total in Total::ALL {
            let file = folder.path().join(format!("certified/{name}-{}.out", total.short));
            let text = fs::read_to_string(file).unwrap();
            let words: Vec<String> = if total.is_number() {
                text.lines().skip(2).flat_map(str::split_whitespace).map(str::to_owned).collect()
            } else {
                text.lines().skip(2).flat_map(str::chars).map(String::from).collect()
            };
            let properties = archive.properties(total.examination).unwrap().unwrap();
            assert_eq!(words.len(), properties.len());
            for (word, property) in words.iter().zip(properties) {
                let value = explored.value(total.examination, &property.id).unwrap().unwrap();
                let expected = match value {
                    Value::Truth(truth) => if truth { "T" } else { "F" }.to_owned(),
                    number => number.to_string(),
                };
                assert_eq!(*word, expected, "{name} {} {}", total.examination, property.id);
            }
        }
        for row in rows.iter().filter(|row| row[0] == *name) {
            for file in row[5].split_whitespace() {
                let text = fs::read_to_string(folder.path().join("certified").join(file)).unwrap();
                if file.ends_with(".witness.json") {
                    checker.check_witness(&Witness::read(&text).unwrap()).unwrap();
                    witnesses += 1;
                } else if file.ends_with(".certificate.json") {
                    checker.check_certificate(&Certificate::read(&text).unwrap()).unwrap();
                }
            }
        }
    }
    assert!(witnesses > 20, "{witnesses} witnesses");

    edition(folder.path());
    let archive = format!("models/{INSTANCE}.tgz");
    let lint =
        ["lint", "output", "--instance", &archive, "--edition", "./total.toml", "--oracle", "certified"];
    fs::write(
        folder.path().join("output"),
        "BOUND p0 1 X\nBOUND p1 ? 0 5\nBOUND p2 999 X\nBOUND p3 ? 500 600\n",
    )
    .unwrap();
    let wrong =
        harness(folder.path(), &[&lint[..], &["--examination", "UpperBoundsAll"]].concat()).assert().code(1);
    let shown = String::from_utf8_lossy(&wrong.get_output().stdout).into_owned();
    assert!(shown.contains("p2 is 999, but the known value is"), "{shown}");
    assert!(shown.contains("p3 is 500 to 600, but certified/total.csv has 1"), "{shown}");
    assert!(!shown.contains("p0 is") && !shown.contains("p1 is"), "{shown}");
    let without = ["lint", "output", "--edition", "./total.toml", "--examination", "UpperBoundsAll"];
    let refused = harness(folder.path(), &without).assert().code(2);
    let message = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(
        message.contains("give the archive of the instance (.tgz), or its unpacked folder, with --instance"),
        "{message}"
    );
    // Intervals alone are an answer too.
    fs::write(folder.path().join("output"), "BOUND p1 ? 0 5\n").unwrap();
    harness(folder.path(), &[&lint[..], &["--examination", "UpperBoundsAll"]].concat()).assert().success();
    fs::write(folder.path().join("output"), "BOUND p1 ? 0 5\nBOUND p2 1 X\n").unwrap();
    harness(folder.path(), &[&lint[..], &["--examination", "UpperBoundsAll"]].concat()).assert().success();
}

#[test]
fn a_coloured_net_has_no_total_examination() {
    let folder = TempDir::new().unwrap();
    let coloured = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/evidence/instances/Ring-COL-1");
    let archive = Archive::open(Path::new(coloured)).unwrap();
    assert!(archive.properties("UpperBoundsAll").unwrap().is_none());
    let edition = Edition::load(edition(folder.path()).to_str().unwrap()).unwrap();
    assert_eq!(
        Questions::read(&archive, edition.examination("UpperBoundsAll").unwrap().1).unwrap().ids,
        None
    );
}
