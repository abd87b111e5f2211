//! `rate`: an author's runs within a published field.

mod data;
mod deadlock_answers;

use assert_cmd::Command;
use deadlock_answers::table;
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

fn rate(folder: &Path, line: &str, code: i32) -> (String, String) {
    let mut harness = Command::cargo_bin("mcc-harness").unwrap();
    let done = harness.current_dir(folder).arg("rate").args(line.split_whitespace()).assert().code(code);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&done.get_output().stdout), text(&done.get_output().stderr))
}

/// A field of three tools that agree on the first six instances, and `own` in an old and a new state.
fn field(folder: &Path) {
    let published = [("a", "TTTTTT??"), ("b", "TTTTTT??"), ("c", "TTTTTT??"), ("own", "FFFFFF??")];
    fs::write(folder.join("published.csv"), table(&published)).unwrap();
    // right, right, right, wrong, missed, missed, alone; the last instance has no run.
    fs::write(folder.join("new.csv"), table(&[("own", "TTTF??T")])).unwrap();
    fs::write(folder.join("old.csv"), table(&[("own", "TT?TT??"), ("other", "TTTTTTT")])).unwrap();
}

#[test]
fn every_count_of_a_rating_names_its_runs() {
    let folder = TempDir::new().unwrap();
    field(folder.path());
    let line = "new.csv --published published.csv --edition mcc-2018 --baseline old.csv --out site";
    let (text, _) = rate(folder.path(), line, 0);
    let (json, _) = rate(folder.path(), &format!("{line} --format json"), 0);
    let rating: Value = serde_json::from_str(&json).unwrap();
    let own = &rating["entries"][0];
    assert_eq!((rating["entries"].as_array().unwrap().len(), &own["entry"]), (1, &"own".into()));
    let counts = own["examinations"].as_array().unwrap();
    let counts = counts.iter().find(|of| of["examination"] == "ReachabilityDeadlock").unwrap();
    // The confidence of `own` is 3/4, below 0.97, so its value on the seventh instance is not trusted.
    let expected = [
        ("right", 3),
        ("wrong", 1),
        ("missed", 2),
        ("alone", 0),
        ("unjudged", 1),
        ("not_run", 0),
        ("regressions", 2),
        ("gains", 1),
    ];
    for (name, count) in expected {
        assert_eq!(counts[name], count, "{name}: {counts}");
    }
    let values: Vec<String> = own["values"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| format!("{} {}", of["kind"].as_str().unwrap(), of["instance"].as_str().unwrap()))
        .collect();
    assert_eq!(
        values,
        [
            "gain F-PT-3",
            "wrong F-PT-4",
            "regression F-PT-4",
            "missed F-PT-5",
            "regression F-PT-5",
            "missed F-PT-6"
        ]
    );
    let place = own["places"].as_array().unwrap().iter().find(|of| of["category"] == "Reachability").unwrap();
    assert_eq!((&place["rank"], &place["ranked"], &place["medal"]), (&4.into(), &4.into(), &"".into()));
    assert!(
        text.contains("regression: 2\n    own/F-PT-4/ReachabilityDeadlock 00: F, trusted T, baseline T\n"),
        "{text}"
    );
    assert!(text.contains("Reachability"), "{text}");
    let page = fs::read_to_string(folder.path().join("site/index.html")).unwrap();
    assert!(page.contains("Regressions") && page.contains("data/values.csv"), "{page}");
    let csv = fs::read_to_string(folder.path().join("site/data/values.csv")).unwrap();
    assert!(csv.contains("wrong,own,F-PT-4,ReachabilityDeadlock,00,F,,T,3\n"), "{csv}");
    // Without --baseline there is nothing to compare with; the old published runs of `own` do not count.
    let (text, _) = rate(folder.path(), "new.csv --published published.csv --edition mcc-2018", 0);
    assert!(!text.contains("regression") && !text.contains("(baseline)"), "{text}");
}

#[test]
fn a_rating_of_the_published_runs_has_the_published_medals() {
    let folder = TempDir::new().unwrap();
    let models = data::published("mcc/2018/models.csv");
    let published = data::published("mcc/2018/answers.csv.gz");
    // The runs of GreatSPN as a table of their own.
    let mut all = String::new();
    let file = fs::File::open(&published).unwrap();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(file), &mut all).unwrap();
    let own = all.lines().filter(|row| row.starts_with("GreatSPN,") || row.starts_with("tool,"));
    fs::write(folder.path().join("own.csv"), own.collect::<Vec<_>>().join("\n") + "\n").unwrap();
    let line = format!(
        "own.csv --published {} --models {} --edition mcc-2018 --format json",
        published.display(),
        models.display()
    );
    let (json, _) = rate(folder.path(), &line, 0);
    let rating: Value = serde_json::from_str(&json).unwrap();
    let places = rating["entries"][0]["places"].as_array().unwrap();
    let medal = |category: &str| {
        places.iter().find(|of| of["category"] == category).map(|of| of["medal"].as_str().unwrap().to_owned())
    };
    assert_eq!(medal("StateSpace").as_deref(), Some("gold"));
    assert_eq!(medal("UpperBounds").as_deref(), Some("bronze"));
}

#[test]
fn runs_of_another_contest_cannot_be_rated() {
    let folder = TempDir::new().unwrap();
    field(folder.path());
    let other = table(&[("own", "TT")]).replace("F-PT", "G-PT");
    fs::write(folder.path().join("other.csv"), other).unwrap();
    let (_, error) = rate(folder.path(), "other.csv --published published.csv --edition mcc-2018", 2);
    assert!(
        error.contains("other.csv has no instance and examination in common with the other sources"),
        "{error}"
    );
    let (_, error) = rate(folder.path(), "new.csv --published published.csv", 2);
    assert!(error.contains("give --edition"), "{error}");
}
