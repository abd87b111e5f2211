//! `judge` and `report` on the published tables of SV-COMP 2013.

use super::svcomp::{harness, judge, podium};
use crate::support::data;
use crate::support::tables::rows;

use num_rational::BigRational;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tempfile::TempDir;

/// The published tables of 2013, and the folder of their judgement.
fn judged_2013() -> (PathBuf, TempDir) {
    let input = data::published("svcomp/2013");
    let out = TempDir::new().unwrap();
    judge(&input, "svcomp-2013", out.path(), &[]);
    (input, out)
}

#[test]
fn every_podium_of_the_report_of_2013_is_reproduced() {
    let (input, out) = judged_2013();
    let mut compared = 0;
    for printed in rows(&input.join("podiums.csv")) {
        let place: usize = printed["rank"].parse().unwrap();
        let place = &podium(out.path(), &printed["category"])[place - 1];
        let expected = (printed["rank"].clone(), printed["tool"].clone());
        assert_eq!((place.0.clone(), place.1.clone()), expected, "{}", printed["category"]);
        // The report rounds ControlFlowInteger (145.85 is printed as 146) and truncates Overall.
        let exact = rows(&out.path().join("podiums.csv"))
            .into_iter()
            .find(|row| row["category"] == printed["category"] && row["tool"] == printed["tool"])
            .unwrap()["points"]
            .parse::<BigRational>()
            .unwrap();
        let prints = [exact.trunc().to_string(), exact.round().to_string()];
        assert!(prints.contains(&printed["score"]), "{printed:?}: {exact}");
        compared += 1;
    }
    assert_eq!(compared, 33);
    let features: Vec<_> = podium(out.path(), "FeatureChecks").into_iter().take(2).collect();
    let tied = |rank: &str, tool: &str| (rank.to_owned(), tool.to_owned(), "166".to_owned());
    assert_eq!(features, [tied("1", "Predator"), tied("2", "LLBMC")]);
}

#[test]
fn scores_of_2013_with_unpublished_results_are_marked() {
    let (_, out) = judged_2013();
    let overall = podium(out.path(), "Overall");
    let points: Vec<(&str, &str)> =
        overall.iter().map(|(_, tool, cut)| (tool.as_str(), cut.as_str())).collect();
    let expected = [
        ("CPAchecker-SeqCom", "2090"),
        ("CPAchecker-Explicit", "2030"),
        ("ESBMC", "1919"),
        ("Predator", "799"),
        ("BLAST", "80"),
        ("UFO", "-208"),
    ];
    assert_eq!(points, expected);
    for row in rows(&out.path().join("podiums.csv")).iter().filter(|row| row["category"] == "Overall") {
        let marked = row["note"]
            == "as printed, not recomputable: its results in categories that it opted out of are not published";
        assert_eq!(marked, ["ESBMC", "BLAST", "UFO"].contains(&row["tool"].as_str()), "{row:?}");
    }
}

#[test]
fn an_entry_that_opted_out_in_2013_has_no_place() {
    let (_, out) = judged_2013();
    // UFO opted out of BitVectors: it has a dash and no place there.
    assert!(podium(out.path(), "BitVectors").iter().all(|(_, tool, _)| tool != "UFO"));
    let scores = rows(&out.path().join("scores.csv"));
    let dash = scores.iter().find(|row| row["tool"] == "UFO" && row["category"] == "BitVectors").unwrap();
    assert_eq!((dash["points"].as_str(), dash["note"].as_str()), ("", "opted out"));
}

#[test]
fn the_site_of_2013_shows_podiums_and_no_unpublished_times() {
    let (_, out) = judged_2013();
    let site = out.path().join("site");
    harness()
        .args(["report".as_ref(), out.path().as_os_str(), "--out".as_ref(), site.as_os_str()])
        .assert()
        .success();
    let front = std::fs::read_to_string(site.join("index.html")).unwrap();
    // A note that several entries have is shown once in each table.
    let overall = std::fs::read_to_string(site.join("categories/Overall.html")).unwrap();
    for page in [&front, &overall] {
        assert!(page.contains("CPAchecker-SeqCom") && page.contains("rules.html#SV\">Rules</a>"));
        assert_eq!(page.matches(">ESBMC, BLAST, UFO: points as printed, not recomputable: ").count(), 1);
    }
    assert_eq!(overall.matches("not recomputable").count(), 1);
    // It is about several entries here.
    assert!(overall.contains("the results of an entry in categories that it opted out of are not published"));
    // The rule of ties is where a tie is.
    let page = |name: &str| std::fs::read_to_string(site.join(format!("categories/{name}.html"))).unwrap();
    let rule =
        "Equal points: ranked by CPU time, entries without a time last; equal times, or none, share a rank (";
    assert!(page("FeatureChecks").contains(rule) && !page("Overall").contains(rule));
    // Table 6 of the report has no sub-categories.
    let part = page("ControlFlowInteger-MemSimple");
    assert!(part.contains("no medals: the contest gave none in this category"), "{part}");
    assert!(!part.contains("class=\"medalist\""), "{part}");
    assert!(page("ControlFlowInteger").contains("class=\"medalist\""));
    let without = |row: &&BTreeMap<String, String>| row["category"].starts_with("ControlFlowInteger-");
    let places = rows(&out.path().join("podiums.csv"));
    assert!(places.iter().filter(without).count() > 0);
    assert!(places.iter().filter(without).all(|row| row["medal"].is_empty() && !row["rank"].is_empty()));
    assert!(site.join("categories/FeatureChecks.html").is_file() && site.join("data/podiums.csv").is_file());
    // The report has no times of runs.
    let pictures = std::fs::read_to_string(site.join("pictures.html")).unwrap();
    assert!(!site.join("compare.html").exists() && !pictures.contains("compare.html"));
}
