//! `judge`, `report` and `explain` on CRV 2014 through the command line, and properties of its judgements.

use crate::support::data;
use crate::support::tables::rows;

use assert_cmd::Command;
use mcc_harness::edition::crv::CrvEdition;
use mcc_harness::edition::{OtherEdition, Rules};
use mcc_harness::other_contests::crv::{self, Experiment, Outcome, Results};
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn harness() -> Command {
    Command::cargo_bin("mcc-harness").unwrap()
}

fn exact(text: &str) -> BigRational {
    mcc_harness::edition::fraction::parse(text).unwrap()
}

fn judge(input: &Path, out: &Path) -> String {
    judge_by(input, "crv-2014", out)
}

fn judge_by(input: &Path, edition: &str, out: &Path) -> String {
    let judged = harness()
        .args(["judge".as_ref(), input.as_os_str(), "--edition".as_ref(), edition.as_ref()])
        .args(["--out".as_ref(), out.as_os_str()])
        .assert()
        .success();
    String::from_utf8(judged.get_output().stderr.clone()).unwrap()
}

/// `rank tool medal` of a track.
fn podium(out: &Path, track: &str) -> Vec<String> {
    let places = rows(&out.join("podiums.csv")).into_iter().filter(|row| row["category"] == track);
    places.map(|row| format!("{} {} {}", row["rank"], row["tool"], row["medal"])).collect()
}

/// The published tables of 2014, the folder of their judgement, and what judging printed as notes.
fn judged_2014() -> (PathBuf, TempDir, String) {
    let input = data::published("crv/2014");
    let out = TempDir::new().unwrap();
    let notes = judge(&input, out.path());
    (input, out, notes)
}

#[test]
fn every_podium_of_2014_is_reproduced() {
    let (_, out, _) = judged_2014();
    // QEA and JavaMOP share rank 1 (section 5.2); the next rank is 2.
    assert_eq!(
        podium(out.path(), "java"),
        ["1 QEA gold", "1 JavaMOP gold", "2 jUnitRV silver", "3 LARVA bronze"]
    );
    assert_eq!(podium(out.path(), "c"), ["1 RITHM-1 gold", "2 E-ACSL silver", "3 RTC bronze"]);
    let offline = ["1 QEA gold", "2 MonPoly silver", "3 RITHM-2 bronze", "4 STEPR "];
    assert_eq!(podium(out.path(), "offline"), offline);
}

#[test]
fn a_contradiction_in_the_tables_of_2014_is_noted() {
    let (_, out, notes) = judged_2014();
    assert_eq!(
        notes.trim_end(),
        "note: track offline, MonPoly, overhead: the sum of the printed column is 39.721, but the printed total is 39.35; \
         the score of benchmark 18 is printed as 0.375, but its measurements give 0.004; with the computed score in \
         its place the printed column adds up to the printed total"
    );

    let site = out.path().join("site");
    harness()
        .args(["report".as_ref(), out.path().as_os_str(), "--out".as_ref(), site.as_os_str()])
        .assert()
        .success();
    let index = std::fs::read_to_string(site.join("index.html")).unwrap();
    assert!(index.contains("the sum of the printed column is 39.721"));
    // The tables name the track `c`.
    assert!(index.contains("Online monitoring of C programs</a>"), "{index}");
    let track = std::fs::read_to_string(site.join("categories/c.html")).unwrap();
    assert!(track.contains("<h1>Online monitoring of C programs</h1>"), "{track}");
    assert!(index.contains("3 tracks") && index.contains("Points by track"), "{index}");
    assert!(index.contains(" benchmarks</small>") && !index.contains("Points by category"), "{index}");
    // Headings do not name points as if they were amounts, and a sentence explains each of them.
    let java = std::fs::read_to_string(site.join("categories/java.html")).unwrap();
    for part in [
        ">Memory points</th>",
        "No answer: no verdict of the tool: timeout, crash, or a property that it cannot express (inexpressible).",
        "Points: the sum of the points for correctness, overhead, memory (",
        "below the first of a rank share it (",
    ] {
        assert!(java.contains(part), "{part}: {java}");
    }
    // Only the totals of this track are known, and no rank in it is shared.
    assert!(!track.contains("No answer") && !track.contains("share it ("), "{track}");
    let runs = std::fs::read_to_string(site.join("categories/java.js")).unwrap();
    assert!(runs.contains("Benchmark") && !runs.contains("Property"), "{runs}");
}

#[test]
fn the_sums_of_2014_are_reproduced_as_printed() {
    let (input, out, _) = judged_2014();
    // Correctness is exact; the sums of memory differ by at most 0.05, those of overhead by at most 0.2.
    let scores = rows(&out.path().join("scores.csv"));
    let mut compared = 0;
    for total in rows(&input.join("totals.csv")) {
        let computed =
            scores.iter().find(|row| row["category"] == total["track"] && row["tool"] == total["tool"]);
        for (column, tolerance) in [("correctness", "0"), ("memory", "0.05"), ("overhead", "0.2")] {
            let off = (exact(&computed.unwrap()[column]) - exact(&total[column])).abs();
            assert!(off <= exact(tolerance), "{column}: {total:?}");
            compared += 1;
        }
        let sum = ["correctness", "overhead", "memory"].map(|column| exact(&computed.unwrap()[column]));
        let points = exact(&computed.unwrap()["points"]);
        // The printed total of track C differs from the sum of its printed parts by one in the last digit.
        assert!((sum.iter().sum::<BigRational>() - points).abs() <= exact("0.01"));
    }
    assert_eq!(compared, 33);
}

#[test]
fn all_but_one_printed_score_of_2014_are_reproduced() {
    let (input, out, _) = judged_2014();
    // All but one printed score agree within the tolerances of the edition.
    let verdicts = rows(&out.path().join("verdicts.csv"));
    let mut off = Vec::new();
    for printed in rows(&input.join("benchmarks.csv")) {
        let key = |row: &BTreeMap<String, String>| {
            row["category"] == printed["track"]
                && row["instance"] == printed["benchmark"]
                && row["tool"] == printed["tool"]
        };
        let computed = verdicts.iter().find(|row| key(row)).unwrap();
        for (column, cell, tolerance) in
            [("memory", "memory_score", "0.02"), ("overhead", "overhead_score", "0.3")]
        {
            let printed_score = if printed[cell] == "N/A" { "0" } else { &printed[cell] };
            if (exact(&computed[column]) - exact(printed_score)).abs() > exact(tolerance) {
                off.push(format!(
                    "{} {} {} {column}",
                    printed["track"], printed["benchmark"], printed["tool"]
                ));
            }
        }
        assert_eq!(
            exact(&computed["points"]) < BigRational::zero(),
            printed["correctness_score"].starts_with('-')
        );
    }
    assert_eq!(off, ["offline 18 MonPoly overhead"]);
}

#[test]
fn the_site_of_2014_compares_measured_times() {
    let (_, out, _) = judged_2014();
    let site = out.path().join("site");
    harness()
        .args(["report".as_ref(), out.path().as_os_str(), "--out".as_ref(), site.as_os_str()])
        .assert()
        .success();
    let page = |name: &str| std::fs::read_to_string(site.join(name)).unwrap();
    let compare = page("compare.html");
    let pictures = page("pictures.html");
    assert!(pictures.contains("href=\"compare.html\"") && compare.contains("time_ms"));
    // Pages have the titles of the tracks; CSV files have their names.
    assert!(pictures.contains("Right benchmarks in Offline monitoring by execution time of the run"));
    assert!(!pictures.contains(" in offline"));
    assert!(page("runs.js").contains("\"title\":\"Offline monitoring\""));
    assert!(page("pictures/time.csv").contains("\ncategory,offline,"));
    assert!(!pictures.contains("entries that only vote"));
    assert!(compare.contains("a click keeps its name.") && compare.contains("on the same benchmark, "));
    assert!(page("index.html").contains("<a href=\"rules.html#CRV\">Rules</a>"));
    assert!(page("rules.html").contains("<h2 id=\"CRV\">"));
}

#[test]
fn explain_shows_the_parts_of_the_points_of_2014() {
    let (_, out, _) = judged_2014();
    harness()
        .args(["explain".as_ref(), out.path().as_os_str()])
        .args(["--instance", "18", "--examination", "offline"])
        .assert()
        .success()
        .stdout(
            predicates::str::is_match("(?m)^MonPoly +F +right +10.12 +points: correctness 10, overhead 0\\.003746, memory [0-9.]+; execution time 3405 s; memory 2675 MB$")
                .unwrap(),
        );
}

#[test]
fn explain_says_that_a_run_of_2014_is_a_timeout() {
    let (_, out, _) = judged_2014();
    harness()
        .args(["explain".as_ref(), out.path().as_os_str()])
        .args(["--tool", "LARVA"])
        .assert()
        .success()
        .stdout(predicates::str::contains("timeout, right is ").count(3))
        .stdout(predicates::str::starts_with("LARVA (crv-2014)"))
        .stdout(
            predicates::str::is_match(
                "\ntrack +right +wrong +no answer +points +rank +medal\njava +18 +0 +5 +211.26 ",
            )
            .unwrap(),
        );
}

const HEADER: &str = "track,benchmark,tool,verdict,memory_mb,time_s,expected,outcome,base_time_s\n";

fn verdict(out: &Path, tool: &str) -> String {
    let rows = rows(&out.join("verdicts.csv"));
    let row = rows.iter().find(|row| row["tool"] == tool).unwrap();
    let [verdict, correctness, points, measured] =
        ["verdict", "correctness", "points", "measured"].map(|column| row[column].as_str());
    format!("{verdict} {correctness} {points} {measured}")
}

#[test]
fn a_draw_is_printed_with_its_rule() {
    let dir = TempDir::new().unwrap();
    let input = dir.path().join("m.csv");
    std::fs::write(&input, format!("{HEADER}java,1,a,T,10,2,T,ok,1\njava,1,b,T,10,2,T,ok,1\n")).unwrap();
    let mut command = harness();
    command.arg("judge").arg(&input).args(["--edition", "crv-2014", "--out"]).arg(dir.path().join("out"));
    let shown = String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap();
    assert!(shown.contains("   1  b"), "{shown}");
    assert!(shown.contains(" below the first of a rank share it (CRV-10).\n"), "{shown}");
}

#[test]
fn measurements_with_an_expected_verdict_follow_section_4() {
    let dir = TempDir::new().unwrap();
    let input = dir.path().join("m.csv");
    let rows = "java,1,right,T,10,2,T,ok,1\njava,1,late,T,10,10.5,T,ok,1\njava,1,wrong,F,1,1,T,ok,1\n\
                java,1,crash,,1,1,T,crash,1\njava,1,slow,,1,1,T,timeout,1\njava,1,mute,,,,T,inexpressible,1\n\
                java,1,heavy,T,N/A,6,T,ok,1\n";
    std::fs::write(&input, format!("{HEADER}{rows}")).unwrap();
    judge(&input, dir.path());
    // `right` and `heavy` share the overhead points 6 : 2; `right` has all memory points.
    assert_eq!(verdict(dir.path(), "right"), "right 10 55/2 time_s=2 memory_mb=10");
    assert_eq!(verdict(dir.path(), "heavy"), "right 10 25/2 time_s=6");
    assert_eq!(verdict(dir.path(), "late"), "timeout -5 -5 ");
    assert_eq!(verdict(dir.path(), "wrong"), "wrong -5 -5 ");
    assert_eq!(verdict(dir.path(), "crash"), "crash -10 -10 ");
    assert_eq!(verdict(dir.path(), "slow"), "timeout -5 -5 ");
    assert_eq!(verdict(dir.path(), "mute"), "inexpressible 0 0 ");
    std::fs::write(&input, format!("{HEADER}offline,1,crash,,1,1,T,crash,\n")).unwrap();
    judge(&input, dir.path());
    assert_eq!(verdict(dir.path(), "crash"), "crash -5 -5 ");
}

#[test]
fn repeated_experiments_are_averaged_with_count_and_range() {
    let dir = TempDir::new().unwrap();
    let input = dir.path().join("m.csv");
    let rows = "offline,1,a,T,10,1,T,ok,\noffline,1,a,T,N/A,3,T,ok,\noffline,1,b,T,10,2,T,ok,\n";
    std::fs::write(&input, format!("{HEADER}{rows}")).unwrap();
    judge(&input, dir.path());
    assert_eq!(verdict(dir.path(), "a"), "right 10 20 time_s=2 (mean of 2, 1 to 3) memory_mb=10");
    assert_eq!(verdict(dir.path(), "b"), "right 10 20 time_s=2 memory_mb=10");
}

#[test]
fn bad_input_is_rejected_with_file_line_and_remedy() {
    let dir = TempDir::new().unwrap();
    let input = dir.path().join("m.csv");
    for (rows, part) in [
        ("ada,1,a,T,10,1,T,ok,1", "m.csv:2: no track `ada`; the edition has c, java, offline"),
        ("java,1,a,T,10,1,T,fine,1", "allowed are ok, crash, timeout, inexpressible"),
        ("java,1,a,T,much,1,T,ok,1", "`much` is not a number"),
        (
            "java,1,a,T,10,0.00,T,ok,1",
            "a measurement must be more than 0; write it with more decimals, or N/A",
        ),
        ("java,1,,T,10,1,T,ok,1", "column tool must not be empty"),
        ("offline,1,a,,10,1,T,timeout,1", "names no timeout of offline monitoring"),
        ("java,1,a,,10,1,T,ok,1", "outcome ok, but column verdict is empty"),
        ("java,01,a,T,10,1,T,ok,1", "column benchmark: write 01 without the leading 0"),
    ] {
        std::fs::write(&input, format!("{HEADER}{rows}\n")).unwrap();
        harness()
            .args(["judge".as_ref(), input.as_os_str(), "--edition".as_ref(), "crv-2014".as_ref()])
            .args(["--out".as_ref(), dir.path().join("out").as_os_str()])
            .assert()
            .code(2)
            .stderr(predicates::str::contains(part));
    }
    std::fs::write(&input, "a,b\n1,2\n").unwrap();
    harness()
        .args(["judge".as_ref(), input.as_os_str(), "--edition".as_ref(), "crv-2014".as_ref()])
        .args(["--out".as_ref(), dir.path().join("out").as_os_str()])
        .assert()
        .code(2)
        .stderr(predicates::str::contains("m.csv:1: header `a,b`: expected track,benchmark,tool,verdict"));
}

#[test]
fn a_track_whose_exact_points_would_be_too_long_is_refused() {
    let dir = TempDir::new().unwrap();
    for (tools, benchmarks) in [(61, 1), (26, 20)] {
        let row = |number: usize| {
            let (tool, benchmark) = (number % tools, number / tools);
            format!("java,{benchmark},t{tool},T,{}.1234567,{}.7654321,T,ok,1\n", 100 + number, 100 + number)
        };
        let table: String = (0..tools * benchmarks).map(row).collect();
        let input = dir.path().join("m.csv");
        std::fs::write(&input, format!("{HEADER}{table}")).unwrap();
        harness()
            .args(["judge".as_ref(), input.as_os_str(), "--edition".as_ref(), "crv-2014".as_ref()])
            .args(["--out".as_ref(), dir.path().join("out").as_os_str()])
            .assert()
            .code(2)
            .stderr(predicates::str::contains(format!(
                "track java has {tools} tools with {} results",
                tools * benchmarks
            )));
    }
}

#[test]
fn a_printed_total_beside_measurements_of_others_is_noted() {
    let dir = TempDir::new().unwrap();
    let input = dir.path().join("in");
    std::fs::create_dir(&input).unwrap();
    std::fs::write(input.join("m.csv"), format!("{HEADER}java,1,a,T,10,1,T,ok,1\n")).unwrap();
    let total = "track,rank,tool,correctness,overhead,memory,total\njava,1,c,100,100,100,300\n";
    std::fs::write(input.join("t.csv"), total).unwrap();
    let notes = judge(&input, &dir.path().join("out"));
    assert!(notes.contains("c has a printed total in track java and no measurements"), "{notes}");
}

#[test]
fn a_resigned_tool_is_not_named_in_the_judgement() {
    let dir = TempDir::new().unwrap();
    let (input, rules, out) =
        (dir.path().join("m.csv"), dir.path().join("mine.toml"), dir.path().join("out"));
    std::fs::write(&input, format!("{HEADER}java,1,goner,T,10,1,T,ok,1\njava,1,b,T,10,1,T,ok,1\n")).unwrap();
    let text =
        "base = \"crv-2014\"\nname = \"mine\"\n[[status]]\npattern = \"goner\"\nstatus = \"resigned\"\n";
    std::fs::write(&rules, text).unwrap();
    judge_by(&input, rules.to_str().unwrap(), &out);
    for file in std::fs::read_dir(&out).unwrap() {
        let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
        assert!(!text.contains("goner"), "{text}");
    }
}

#[test]
fn contradicting_tables_are_rejected_with_both_places() {
    let dir = TempDir::new().unwrap();
    let printed =
        "track,benchmark,tool,verdict,memory_mb,time_s,correctness_score,overhead_score,memory_score\n";
    let totals = "track,tool,correctness,overhead,memory,total\n";
    for (one, two, parts) in [
        (
            format!("{HEADER}java,1,a,T,10,1,T,ok,1\njava,2,a,T,10,1,F,ok,1\n"),
            format!("{HEADER}java,1,b,F,10,1,F,ok,1\n"),
            ["two.csv:2: ", "java 1 has the right verdict F here and T in ", "one.csv:2"],
        ),
        (
            format!("{HEADER}java,1,a,,N/A,N/A,T,crash,1\n"),
            format!("{printed}java,1,b,F,10,1,10,10,10\n"),
            ["two.csv:2: ", "java 1 has the right verdict F here and T in ", "one.csv:2"],
        ),
        (
            format!("{totals}c,a,10,10,7,27\n"),
            format!("{totals}c,b,1,1,1,3\nc,a,1,1,1,3\n"),
            ["two.csv:3: ", "a has a total of c already, in ", "one.csv:2; keep one"],
        ),
    ] {
        std::fs::write(dir.path().join("one.csv"), one).unwrap();
        std::fs::write(dir.path().join("two.csv"), two).unwrap();
        let failed = harness()
            .args(["judge".as_ref(), dir.path().as_os_str(), "--edition".as_ref(), "crv-2014".as_ref()])
            .args(["--out".as_ref(), dir.path().join("out").as_os_str()])
            .assert()
            .code(2);
        let message = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    }
}

#[test]
fn the_mean_time_decides_whether_an_online_verdict_is_late() {
    let dir = TempDir::new().unwrap();
    let input = dir.path().join("m.csv");
    let rows = "java,1,near,T,10,9,T,ok,1\njava,1,near,T,10,10.5,T,ok,1\n\
                java,1,far,T,10,9,T,ok,1\njava,1,far,T,10,11.5,T,ok,1\n";
    std::fs::write(&input, format!("{HEADER}{rows}")).unwrap();
    judge(&input, dir.path());
    assert_eq!(
        verdict(dir.path(), "near"),
        "right 10 30 time_s=9.75 (mean of 2, 9 to 10.5) memory_mb=10 (mean of 2, 10 to 10)"
    );
    assert_eq!(verdict(dir.path(), "far"), "timeout -5 -5 ");
}

#[test]
fn a_verdict_that_is_late_by_the_rows_of_another_tool_is_noted() {
    let dir = TempDir::new().unwrap();
    let input = dir.path().join("m.csv");
    let notes = |rows: &str| {
        std::fs::write(&input, format!("{HEADER}java,1,honest,T,10,2,T,ok,1\n{rows}")).unwrap();
        judge(&input, &dir.path().join("out"))
    };
    for (base, part) in [
        (
            "31536000",
            "is in time by its own base_time_s, but late by the shorter one of another tool; a program",
        ),
        ("N/A", "has no base_time_s, so it is not late, but it is late by that of another tool; a program"),
    ] {
        let notes = notes(&format!("java,1,slow,T,10,100,T,ok,{base}\n"));
        let expected = format!("track java, slow: its verdict on benchmark 1 {part}");
        assert!(notes.contains(&expected) && !notes.contains("honest"), "{notes}");
    }
    // Times differ from one experiment to the next. They matter for verdicts of online monitoring only.
    for rows in [
        "java,1,slow,T,10,9,T,ok,1.3\n",
        "java,1,slow,T,10,100,T,ok,1.3\n",
        "offline,1,a,T,10,100,T,ok,31536000\noffline,1,b,T,10,2,T,ok,1\n",
    ] {
        assert_eq!(notes(rows), "");
    }
}

fn edition() -> CrvEdition {
    let Ok(Rules::Other(edition)) = Rules::load("crv-2014") else { panic!("crv-2014") };
    let OtherEdition::Crv(edition) = *edition else { panic!("crv-2014") };
    edition
}

/// Track, benchmark, tool, right, memory, time.
type Row = (usize, usize, usize, bool, Option<u64>, Option<u64>);

fn results(rows: &[Row]) -> Results {
    let number = |value: &Option<u64>| value.map(|value| BigRational::from_integer(value.into()));
    let experiment = |(track, benchmark, tool, right, memory, time): &Row| Experiment {
        track: *track,
        benchmark: benchmark.to_string(),
        tool: ["a", "b", "c"][*tool].to_owned(),
        answer: if *right { "T" } else { "F" }.to_owned(),
        expected: Some("T".to_owned()),
        outcome: Outcome::Ok,
        memory_mb: number(memory),
        time_s: number(time),
        base_time_s: None,
        printed: None,
    };
    Results { experiments: rows.iter().map(experiment).collect(), ..Results::default() }
}

fn row() -> impl Strategy<Value = Vec<Row>> {
    let figure = || prop::option::of(1..50u64);
    prop::collection::vec((0..3usize, 0..12usize, 0..3usize, any::<bool>(), figure(), figure()), 1..60)
}

proptest! {
    #[test]
    fn the_order_of_rows_has_no_effect(rows in row(), turn in 0..60usize) {
        let mut other = rows.clone();
        other.rotate_left(turn % rows.len());
        let judged = |rows: &[Row]| serde_json::to_value(crv::judge(&edition(), results(rows)).unwrap()).unwrap();
        prop_assert_eq!(judged(&rows), judged(&other));
    }

    #[test]
    fn a_tool_that_expresses_nothing_has_no_effect_on_others(rows in row()) {
        let mut with = results(&rows);
        for benchmark in 0..12 {
            let mut silent = results(&[(1, benchmark, 2, false, Some(1), Some(1))]).experiments.remove(0);
            (silent.tool, silent.outcome) = ("silent".to_owned(), Outcome::Inexpressible);
            with.experiments.push(silent);
        }
        let points = |results: Results| {
            let judgement = crv::judge(&edition(), results).unwrap();
            let scores = judgement.scores.iter().map(|score| {
                let name = judgement.entries[score.entry].entry.clone();
                (score.category, name, score.points.as_ref().map(|points| points.0.clone()))
            });
            scores.filter(|(_, name, _)| name != "silent").collect::<Vec<_>>()
        };
        prop_assert_eq!(points(results(&rows)), points(with));
    }

    #[test]
    fn points_are_the_sum_of_parts_and_at_most_the_shared_points(rows in row()) {
        let edition = edition();
        let judgement = crv::judge(&edition, results(&rows)).unwrap();
        for block in &judgement.blocks {
            for part in [1, 2] {
                let shared: BigRational = block.cells.iter().map(|cell| &cell.parts[part].0).sum();
                prop_assert!(shared.is_zero() || shared == edition.shared_points);
            }
        }
        for score in &judgement.scores {
            let cells = judgement.blocks.iter().filter(|block| block.category == score.category);
            let cells = cells.flat_map(|block| &block.cells).filter(|cell| cell.entry == score.entry);
            let points = score.points.as_ref().unwrap().0.clone();
            prop_assert_eq!(cells.map(|cell| &cell.points).sum::<BigRational>(), points.clone());
            prop_assert_eq!(score.parts.iter().map(|part| &part.0).sum::<BigRational>(), points);
        }
    }
}

#[test]
fn a_result_of_an_unknown_track_is_an_error() {
    let mut results = results(&[(0, 1, 0, true, None, None)]);
    results.experiments[0].track = 99;
    let error = crv::judge(&edition(), results).unwrap_err().to_string();
    assert!(error.contains("a is in track 99"), "{error}");
}

#[test]
fn a_comparison_has_memory_and_every_part_of_the_points() {
    let header = "track,benchmark,tool,verdict,memory_mb,time_s,expected,outcome,base_time_s\n";
    let judged = |memory: &str| {
        let out = TempDir::new().unwrap();
        let input = out.path().join("m.csv");
        let rows = format!("java,1,a,T,{memory},2,T,ok,1\njava,1,b,T,10,2,T,ok,1\n");
        std::fs::write(&input, header.to_owned() + &rows).unwrap();
        judge(&input, out.path());
        out
    };
    let (before, after) = (judged("10"), judged("40"));
    let mut command = harness();
    command.args(["judge", "--compare"]).args([before.path(), after.path()]);
    let text = String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap();
    // The 10 points for memory are shared in proportion to 1/40 and 1/10.
    for part in [
        "parts of scores that differ: 2\n  a  java  memory  5.00  ->  2.00\n  b  java  memory  5.00  ->  8.00\n",
        "parts of the points of runs that differ: 2\n  a  1 java  memory  5.00  ->  2.00\n",
        "execution times that differ: 0 of 2\n",
        "memory peaks that differ: 1 of 2\n  a  1 java  10.000 MB  ->  40.000 MB\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
