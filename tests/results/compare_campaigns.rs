//! `compare-campaigns`: the values of tools in two campaigns.

use crate::support::data;
use crate::support::deadlock_answers::table;

use assert_cmd::Command;
use mcc_harness::judge::campaigns::mcnemar;
use serde_json::Value;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

fn compare(folder: &Path, line: &str, code: i32) -> (String, String) {
    let mut harness = Command::cargo_bin("mcc-harness").unwrap();
    harness.current_dir(folder).arg("compare-campaigns").args(line.split_whitespace());
    let done = harness.args(["--edition", "mcc-2018"]).assert().code(code);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&done.get_output().stdout), text(&done.get_output().stderr))
}

fn compared(folder: &Path, line: &str) -> Value {
    serde_json::from_str(&compare(folder, &format!("{line} --format json"), 0).0).unwrap()
}

/// Two campaigns of three tools that agree, and of `own`.
fn campaigns(folder: &Path, a: &str, b: &str) {
    let others = |own| [("x", "TTTTTTTTTT??"), ("y", "TTTTTTTTTT??"), ("z", "TTTTTTTTTT??"), ("own", own)];
    fs::write(folder.join("a.csv"), table(&others(a))).unwrap();
    fs::write(folder.join("b.csv"), table(&others(b))).unwrap();
}

#[test]
fn each_lost_and_gained_value_is_counted_and_listed_once() {
    let folder = TempDir::new().unwrap();
    // Lost to nothing, lost to a wrong value, gained, corrected, wrong in both, gained alone, changed where nobody decides.
    campaigns(folder.path(), "TTTT?FFTTT?T", "TTT?TTFTTFTF");
    let json = compared(folder.path(), "a.csv b.csv");
    assert_eq!(json["entries"].as_array().unwrap().len(), 4);
    let own = json["entries"].as_array().unwrap().iter().find(|entry| entry["a"] == "own").unwrap();
    for list in ["examinations", "families"] {
        assert_eq!(own[list].as_array().unwrap().len(), 1);
        for name in ["values", "lost", "gained", "runs_lost", "wrong_a", "p"] {
            assert_eq!(own[list][0][name], own["all"][name], "{list} {name}");
        }
    }
    let expected = [
        ("runs", 12),
        ("values", 12),
        ("solved_a", 8),
        ("solved_b", 9),
        ("wrong_a", 2),
        ("wrong_b", 2),
        ("lost", 2),
        ("gained", 3),
        ("changed", 1),
        ("runs_lost", 2),
        ("runs_gained", 3),
        ("needed", 10),
    ];
    for (name, count) in expected {
        assert_eq!(own["all"][name], count, "{name}: {}", own["all"]);
    }
    assert_eq!((&own["all"]["p"], &own["all"]["significant"]), (&1.0.into(), &false.into()));
    let values: Vec<String> = own["values"]
        .as_array()
        .unwrap()
        .iter()
        .map(|value| format!("{} {}", value["kind"].as_str().unwrap(), value["instance"].as_str().unwrap()))
        .collect();
    let listed = [
        "newly-wrong F-PT-10",
        "lost F-PT-10",
        "gained F-PT-11",
        "changed F-PT-12",
        "lost F-PT-4",
        "gained F-PT-5",
        "gained F-PT-6",
    ];
    assert_eq!(values, listed);
    let (text, _) = compare(folder.path(), "a.csv b.csv --rates 0,50", 0);
    assert!(
        text.contains("own (A) and own (B) in mcc-2018")
            && text.contains("no significant difference: 3 of 12 runs gained values, 2 lost"),
        "{text}"
    );
    assert!(
        text.contains("significant if at least 10 runs changed in one direction and 2 in the other; ")
            && text.contains("if 0 % of runs are lost and 50 % gained, it is found in 61.3 % of comparisons"),
        "{text}"
    );
}

#[test]
fn swapped_campaigns_swap_losses_and_gains() {
    let folder = TempDir::new().unwrap();
    campaigns(folder.path(), "TTTT?FFTTT?T", "TTT?TTFTTFTF");
    let [forth, back] =
        ["a.csv b.csv", "b.csv a.csv"].map(|line| compared(folder.path(), line)["entries"].clone());
    for (forth, back) in forth.as_array().unwrap().iter().zip(back.as_array().unwrap()) {
        let (forth, back) = (&forth["all"], &back["all"]);
        for (one, other) in [
            ("lost", "gained"),
            ("solved_a", "solved_b"),
            ("wrong_a", "wrong_b"),
            ("runs_lost", "runs_gained"),
        ] {
            assert_eq!((&forth[one], &forth[other]), (&back[other], &back[one]), "{one}");
        }
        assert_eq!(
            (&forth["p"], &forth["changed"], &forth["needed"]),
            (&back["p"], &back["changed"], &back["needed"])
        );
    }
}

#[test]
fn campaigns_of_one_tool_have_solved_values_and_a_version_with_another_name_is_paired() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("a.csv"), table(&[("own", "TTTTTTTT??")])).unwrap();
    fs::write(
        folder.path().join("b.csv"),
        table(&[("own-new", "TTTTTTTT??TTTTTT")]).replace("own-new,F-PT-16", "own-new,F-PT-17"),
    )
    .unwrap();
    let (_, error) = compare(folder.path(), "a.csv b.csv", 2);
    assert!(
        error.contains(
            "no entry is in both campaigns; name the pairs with --tool A=B. A has own; B has own-new"
        ),
        "{error}"
    );
    let (_, error) = compare(folder.path(), "a.csv b.csv --tool own=old", 2);
    assert!(error.contains("--tool names the entry old, which B does not have; it has own-new"), "{error}");
    let own = &compared(folder.path(), "a.csv b.csv --tool own=own-new")["entries"][0];
    assert_eq!(
        (&own["all"]["solved_a"], &own["all"]["solved_b"], &own["only_b"]),
        (&8.into(), &8.into(), &6.into())
    );
    // Six runs that are gained and none lost are the fewest that are significant.
    fs::write(folder.path().join("c.csv"), table(&[("own", "TT????????")])).unwrap();
    let own = &compared(folder.path(), "c.csv a.csv")["entries"][0];
    assert_eq!(
        (&own["all"]["runs_gained"], &own["all"]["significant"], &own["all"]["p"]),
        (&6.into(), &true.into(), &0.03125.into())
    );
}

/// The values of all tools of a published year, and those of a second campaign in which each run is lost with a small
/// probability: a run that ends early loses all its values. Both campaigns lose runs alike, so each significant difference is
/// a false alarm.
#[test]
fn runs_that_are_lost_by_chance_give_at_most_5_percent_false_alarms() {
    let mut all = String::new();
    let file = fs::File::open(data::published("mcc/2018/answers.csv.gz")).unwrap();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(file), &mut all).unwrap();
    // Number of values in each run of LoLA that has some.
    let given = |row: &str| {
        row.split(',').nth(3).map_or(0, |answers| {
            answers
                .split_whitespace()
                .filter(|value| *value != "?")
                .count()
                .max(answers.chars().filter(|c| "TF".contains(*c)).count())
        })
    };
    let runs: Vec<u64> = all
        .lines()
        .filter(|row| row.starts_with("LoLA,"))
        .map(|row| given(row) as u64)
        .filter(|count| *count > 0)
        .collect();
    assert!(runs.len() > 1000, "{}", runs.len());
    let mut seed = 1_u64;
    let mut chance = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % 1000 < below
    };
    let trials = 4000;
    let (mut by_runs, mut by_values) = (0, 0);
    for _ in 0..trials {
        let (mut lost, mut gained) = ([0; 2], [0; 2]);
        for values in &runs {
            match (chance(10), chance(10)) {
                (true, false) => gained = [gained[0] + 1, gained[1] + values],
                (false, true) => lost = [lost[0] + 1, lost[1] + values],
                _ => {}
            }
        }
        let is_alarm = |at: usize| mcnemar::is_significant(&mcnemar::probability(lost[at], gained[at]), 1);
        by_runs += u64::from(is_alarm(0));
        by_values += u64::from(is_alarm(1));
    }
    assert!(by_runs * 20 <= trials, "{by_runs} of {trials}");
    assert!(
        by_values * 3 > trials,
        "the test by values has many: {by_values} of {trials}, so it decides nothing"
    );
}
