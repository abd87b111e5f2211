//! `rate`: an author's runs within a published field.

use crate::support::data;
use crate::support::deadlock_answers;

use assert_cmd::Command;
use deadlock_answers::table;
use mcc_harness::edition::Edition;
use mcc_harness::judge::rate::combine_field;
use mcc_harness::judge::sources::Source;
use mcc_harness::judge::{RunResult, RunResults};
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
fn a_table_of_names_that_would_be_ignored_is_refused() {
    let folder = TempDir::new().unwrap();
    field(folder.path());
    fs::write(folder.path().join("names.csv"), "").unwrap();
    let line = "new.csv --published published.csv --edition mcc-2018 --names names.csv";
    let (_, error) = rate(folder.path(), line, 2);
    assert!(error.contains("--names is for runs on obfuscated instances"), "{error}");
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
    let counts = counts.iter().find(|row| row["examination"] == "ReachabilityDeadlock").unwrap();
    // The confidence of `own` is 3/4, below 0.97, so its value on the seventh instance is not trusted.
    let expected = [
        ("right", 3),
        ("wrong", 1),
        ("missed", 2),
        ("nobody", 0),
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
        .map(|value| format!("{} {}", value["kind"].as_str().unwrap(), value["instance"].as_str().unwrap()))
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
    let place =
        own["places"].as_array().unwrap().iter().find(|place| place["category"] == "Reachability").unwrap();
    assert_eq!((&place["rank"], &place["ranked"], &place["medal"]), (&4.into(), &4.into(), &"".into()));
    assert!(
        text.contains(
            "regression: 2\n    own/F-PT-4/ReachabilityDeadlock 00: FALSE, trusted TRUE, baseline TRUE\n"
        ),
        "{text}"
    );
    assert!(text.contains("Reachability"), "{text}");
    let page = fs::read_to_string(folder.path().join("site/index.html")).unwrap();
    let shown = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("unique: no other competing tool has it right (`alone` in files);"), "{text}");
    assert!(page.contains(">Unique</th>"), "{page}");
    assert!(page.contains("Regressions") && page.contains("data/values.csv"), "{page}");
    let csv = fs::read_to_string(folder.path().join("site/data/values.csv")).unwrap();
    assert!(csv.contains("wrong,own,F-PT-4,ReachabilityDeadlock,00,F,,T,3,a b c,\n"), "{csv}");
    // Without --baseline there is nothing to compare with; the old published runs of `own` do not count.
    let (text, _) = rate(folder.path(), "new.csv --published published.csv --edition mcc-2018", 0);
    assert!(!text.contains("regression") && !text.contains("(baseline)"), "{text}");
    // The published runs of the entry can be the earlier ones.
    let same = "new.csv --published published.csv --edition mcc-2018 --baseline published.csv";
    rate(folder.path(), same, 0);
}

#[test]
fn a_rating_of_the_published_runs_has_the_published_medals() {
    let folder = TempDir::new().unwrap();
    let models = data::published("mcc/2018/models.csv");
    let published = data::published("mcc/2018/answers.csv.gz");
    published_runs(folder.path(), 2018, "GreatSPN");
    let line = format!(
        "own.csv --published {} --models {} --edition mcc-2018 --format json",
        published.display(),
        models.display()
    );
    let (json, _) = rate(folder.path(), &line, 0);
    let rating: Value = serde_json::from_str(&json).unwrap();
    let places = rating["entries"][0]["places"].as_array().unwrap();
    let medal = |category: &str| {
        places
            .iter()
            .find(|place| place["category"] == category)
            .map(|place| place["medal"].as_str().unwrap().to_owned())
    };
    assert_eq!(medal("StateSpace").as_deref(), Some("gold"));
    assert_eq!(medal("UpperBounds").as_deref(), Some("bronze"));
}

/// The counts of `own` in ReachabilityDeadlock, and its listed values as `kind instance`.
fn rated(folder: &Path, line: &str) -> (Value, Vec<String>) {
    let (json, _) = rate(folder, &format!("{line} --format json"), 0);
    let rating: Value = serde_json::from_str(&json).unwrap();
    let own = &rating["entries"][0];
    let counts = own["examinations"].as_array().unwrap();
    let counts = counts.iter().find(|row| row["examination"] == "ReachabilityDeadlock").unwrap();
    let kind = |value: &Value| {
        format!("{} {}", value["kind"].as_str().unwrap(), value["instance"].as_str().unwrap())
    };
    (counts.clone(), own["values"].as_array().unwrap().iter().map(kind).collect())
}

/// Only `own` has the last values: one that it reversed, one that it lost, one that it has in both states, and one that it
/// gained. Nobody has the value on the eleventh instance.
#[test]
fn reversed_and_lost_values_of_ones_own_are_regressions() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, rows: &[(&str, &str)]| fs::write(folder.path().join(name), table(rows)).unwrap();
    write("published.csv", &[("a", "TTTTTT?????"), ("b", "TTTTTT?????"), ("c", "TTTTTT?????")]);
    write("old.csv", &[("own", "TTTTTFTTT??")]);
    write("new.csv", &[("own", "TTTTTTF?TT?")]);
    let line = "new.csv --published published.csv --edition mcc-2018 --baseline old.csv";
    let (counts, values) = rated(folder.path(), line);
    for (name, count) in [("regressions", 2), ("gains", 2), ("nobody", 2), ("missed", 0), ("alone", 3)] {
        assert_eq!(counts[name], count, "{name}: {counts}");
    }
    let changes: Vec<&str> =
        values.iter().map(String::as_str).filter(|value| !value.starts_with("alone")).collect();
    assert_eq!(changes, ["gain F-PT-10", "gain F-PT-6", "regression F-PT-7", "regression F-PT-8"]);
}

#[test]
fn values_that_only_the_gold_tool_gives_count_as_missed() {
    let folder = TempDir::new().unwrap();
    let published = [("a", "TTTTTT??"), ("b", "TTTTTTT?"), ("2019-gold", "TTTTTT?T")];
    fs::write(folder.path().join("published.csv"), table(&published)).unwrap();
    fs::write(folder.path().join("new.csv"), table(&[("own", "TTTTTT??")])).unwrap();
    let line = "new.csv --published published.csv --edition mcc-2020";
    let (counts, values) = rated(folder.path(), line);
    assert_eq!((&counts["missed"], &counts["nobody"]), (&2.into(), &0.into()), "{counts}");
    assert_eq!(values, ["missed F-PT-7", "missed F-PT-8"]);
    let (text, _) = rate(folder.path(), line, 0);
    for part in [
        "missed by family: F (2)\n",
        "missed by entry that has it right: 2019-gold (1), b (1)\n",
        "own/F-PT-8/ReachabilityDeadlock 00: none, trusted TRUE, right in 2019-gold\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The table states no ending.
    assert!(!text.contains("missed by ending"), "{text}");
}

/// The runs of one entry of a year as a table of their own.
fn published_runs(folder: &Path, year: u32, entry: &str) {
    let mut all = String::new();
    let file = fs::File::open(data::published(&format!("mcc/{year}/answers.csv.gz"))).unwrap();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(file), &mut all).unwrap();
    let own = all.lines().filter(|row| row.starts_with(&format!("{entry},")) || row.starts_with("tool,"));
    fs::write(folder.join("own.csv"), own.collect::<Vec<_>>().join("\n") + "\n").unwrap();
}

#[test]
fn runs_on_formulas_of_another_year_are_refused_if_those_are_at_hand() {
    let folder = TempDir::new().unwrap();
    published_runs(folder.path(), 2022, "smpt");
    let published = data::published("mcc/2025/answers.csv.gz");
    let line = |published: &Path| format!("own.csv --published {} --edition mcc-2025", published.display());
    let (_, error) = rate(folder.path(), &line(&published), 2);
    assert!(error.contains("formulas of another year") && error.contains("/2022/answers.csv.gz"), "{error}");
    // Without the other year the wrong values are a warning.
    let alone = folder.path().join("field.csv.gz");
    fs::copy(&published, &alone).unwrap();
    let (text, notes) = rate(folder.path(), &line(&alone), 0);
    assert!(notes.contains("agree with the trusted ones; check that RUNS are on the formulas"), "{notes}");
    assert!(text.contains("smpt in mcc-2025"), "{text}");
    // Its runs of 2025 are rated beside the other years.
    published_runs(folder.path(), 2025, "smpt");
    let (_, notes) = rate(folder.path(), &line(&published), 0);
    assert!(!notes.contains("formulas of the year"), "{notes}");
}

#[test]
fn the_published_answers_can_be_rated_within_themselves() {
    let folder = TempDir::new().unwrap();
    field(folder.path());
    let (text, _) = rate(folder.path(), "published.csv --published published.csv --edition mcc-2018", 0);
    assert!(
        ["a", "b", "c", "own"].iter().all(|entry| text.contains(&format!("{entry} in mcc-2018"))),
        "{text}"
    );
}

/// With enough entries of one's own, no value would be wrong.
#[test]
fn own_entries_that_the_published_answers_lack_are_noted() {
    let folder = TempDir::new().unwrap();
    field(folder.path());
    fs::write(folder.path().join("more.csv"), table(&[("own", "FFFFFF??"), ("new", "FFFFFF??")])).unwrap();
    let (_, notes) = rate(folder.path(), "more.csv --published published.csv --edition mcc-2018", 0);
    assert!(notes.contains("the published answers have no entry named new; it votes too"), "{notes}");
    let (_, notes) = rate(folder.path(), "new.csv --published published.csv --edition mcc-2018", 0);
    assert!(!notes.contains("votes too"), "{notes}");
}

/// All values are wrong, and no other year is at hand.
#[test]
fn many_wrong_values_alone_give_a_warning_and_the_rating() {
    let folder = TempDir::new().unwrap();
    field(folder.path());
    fs::write(folder.path().join("wrong.csv"), table(&[("own", "FFFFFF??")])).unwrap();
    let (text, notes) = rate(folder.path(), "wrong.csv --published published.csv --edition mcc-2018", 0);
    assert!(notes.contains("only 0 of 6 values (0 %) agree with the trusted ones"), "{notes}");
    assert!(text.contains("wrong: 6\n"), "{text}");
}

#[test]
fn ids_of_another_year_than_the_edition_are_refused() {
    let source = |edition: &Edition, name: &str, entry: &str, ids: &[String]| {
        let mut results = RunResults::new(edition);
        results.add(entry, "F-PT-1", "CTLCardinality", ids, RunResult::published(vec![])).unwrap();
        Source { name: name.to_owned(), results }
    };
    let id = |year: &str| format!("F-PT-1-CTLCardinality-{year}");
    let combined = |edition: &str, ids: &[String]| {
        let edition = Edition::load(edition).unwrap();
        let (own, field) = (source(&edition, "mine", "own", ids), source(&edition, "theirs", "a", &[]));
        combine_field(&edition, own, field, None, false).map_err(|error| error.to_string())
    };
    // A contest has formulas of earlier years, or ids without a year.
    let mixed = [id("2023-12"), id("2025-00")];
    assert!(combined("mcc-2025", &mixed).is_ok() && combined("mcc-2025", &[id("00")]).is_ok());
    for (edition, ids, year) in [("mcc-2025", &mixed[..1], 2023), ("mcc-2023", &mixed, 2025)] {
        let error = combined(edition, ids).unwrap_err();
        assert!(error.contains(&format!("mine has property ids of {year}")), "{error}");
    }
}

/// The other entry is ahead because of instances on which `own` has no run.
#[test]
fn a_rating_on_ones_own_runs_compares_these_only() {
    let folder = TempDir::new().unwrap();
    let published = [("a", "TTT?TTTT"), ("b", "TTTTTTTT"), ("c", "TTTTTTTT")];
    fs::write(folder.path().join("published.csv"), table(&published)).unwrap();
    fs::write(folder.path().join("own.csv"), table(&[("own", "TTTT")])).unwrap();
    let line = "own.csv --published published.csv --edition mcc-2018 --format json";
    let standing = |line: &str| {
        let (json, _) = rate(folder.path(), line, 0);
        let rating: Value = serde_json::from_str(&json).unwrap();
        let own = &rating["entries"][0];
        let listed = |list: &str, name: &str, key: &str| {
            own[list].as_array().unwrap().iter().find(|row| row[name] == key).unwrap().clone()
        };
        let not_run = listed("examinations", "examination", "ReachabilityDeadlock")["not_run"].clone();
        (listed("places", "category", "Reachability")["rank"].clone(), not_run)
    };
    assert_eq!(standing(line), (4.into(), 4.into()));
    assert_eq!(standing(&format!("{line} --own-runs")), (1.into(), 0.into()));
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
