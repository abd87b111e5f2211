//! The command `report`, and the pages of the site that say why entries have their places.

use crate::support::contest;
use crate::support::data;
use crate::support::site_data::{site, text};

use assert_cmd::Command;
use mcc_harness::judge::explain::explain_tool;
use mcc_harness::judge::judgement::{Cell, Judgement, Status, ValueVerdict};
use mcc_harness::judge::places::Places;
use mcc_harness::report::{self, SiteInput};
use num_rational::BigRational;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// The contest of 2018, judged with its sensitivity.
fn judged_2018(dir: &Path) -> PathBuf {
    let out = dir.join("judged");
    let mut command = Command::cargo_bin("mcc-harness").expect("the program");
    command.arg("judge").arg(data::published("mcc/2018/answers.csv.gz"));
    command.arg("--models").arg(data::published("mcc/2018/models.csv"));
    command.args(["--edition", "mcc-2018", "--sensitivity", "--out"]).arg(&out).assert().success();
    out
}

/// The rows of a table of a judgement.
fn rows(path: PathBuf) -> Vec<Vec<String>> {
    let mut table = csv::Reader::from_path(&path).expect("a table");
    let row = |row: csv::StringRecord| row.iter().map(str::to_owned).collect();
    table.records().map(|record| row(record.expect("a row"))).collect()
}

#[test]
fn the_margins_of_2018_are_those_of_the_sensitivity() {
    let dir = tempfile::tempdir().expect("a folder");
    let judged = judged_2018(dir.path());
    let judgement = Judgement::read(&judged).expect("a judgement");
    let places = Places::from_judgement(&judgement);
    let name = |entry: usize| judgement.entries[entry].entry.clone();
    // Margins: those of `judge --sensitivity`.
    let mut margins = Vec::new();
    for (number, podium) in judgement.podiums.iter().enumerate() {
        for margin in places.margins(number) {
            let values = margin.values.map_or(String::new(), |values| values.to_string());
            let rival = margin.values.map_or(String::new(), |_| name(margin.rival));
            margins.push(vec![podium.category.clone(), name(margin.holder), rival, values]);
        }
    }
    let expected = rows(judged.join("margins.csv"));
    let expected: Vec<Vec<String>> =
        expected.iter().map(|row| [&row[0], &row[2], &row[3], &row[5]].map(String::clone).to_vec()).collect();
    assert!(expected.len() > 10);
    assert_eq!(margins, expected);

    // The gold medal in StateSpace depends on one value.
    let gold = places.margins(0).next().expect("a margin");
    assert_eq!((name(gold.holder).as_str(), gold.values), ("GreatSPN", Some(1)));
    assert!(!gold.decisive.is_empty());
}

#[test]
fn the_points_of_2018_add_up_by_status_and_by_neighbour() {
    let dir = tempfile::tempdir().expect("a folder");
    let judged = judged_2018(dir.path());
    let judgement = Judgement::read(&judged).expect("a judgement");
    let places = Places::from_judgement(&judgement);
    let name = |entry: usize| judgement.entries[entry].entry.clone();
    // Points of known and surprise models add up, and are those of the judgement.
    assert_eq!(places.statuses(), ["known", "surprise"]);
    for score in &judgement.scores {
        let points = |status| places.of_status(score.entry, &[score.examination], status).points;
        assert_eq!(points(None), score.normalized, "{}", name(score.entry));
        assert_eq!(points(Some("known")) + points(Some("surprise")), score.normalized);
    }

    // The distance of neighbours is the sum of what one has and the other has not.
    for (number, podium) in judgement.podiums.iter().enumerate() {
        let points =
            |entry: usize| &podium.places.iter().find(|place| place.entry == entry).expect("a place").points;
        for pair in places.neighbours(number) {
            let [first, second] = &pair.only;
            let [lost, lost_by_second] = &pair.wrong;
            let sum = &first.1 - &second.1 - &lost.1 + &lost_by_second.1;
            assert_eq!(sum, points(pair.ahead) - points(pair.behind), "{}", podium.category);
        }
    }
}

#[test]
fn unique_and_wrong_values_of_2018_are_those_of_the_verdicts() {
    let dir = tempfile::tempdir().expect("a folder");
    let judged = judged_2018(dir.path());
    let judgement = Judgement::read(&judged).expect("a judgement");
    for (entry, tool) in judgement.entries.iter().enumerate() {
        // Counted from the verdicts, without the sums by class that the explanation uses.
        let (mut unique, mut wrong, mut not_computed) = (0, 0, 0);
        for block in &judgement.blocks {
            let cell = block.cells.iter().find(|cell| cell.entry == entry);
            for position in 0..block.trusted.len() {
                let competing_and_right = |cell: &&Cell| {
                    cell.verdicts[position] == ValueVerdict::Right
                        && judgement.entries[cell.entry].status == Status::Competing
                };
                let mut right = block.cells.iter().filter(competing_and_right);
                match cell.map_or(ValueVerdict::NotComputed, |cell| cell.verdicts[position]) {
                    ValueVerdict::Right => {
                        unique +=
                            usize::from(right.all(|cell| judgement.entries[cell.entry].tool == tool.tool));
                    }
                    ValueVerdict::Wrong => wrong += 1,
                    ValueVerdict::NotComputed => not_computed += 1,
                    ValueVerdict::Unjudged => {}
                }
            }
        }
        let explained = explain_tool(&judgement, &tool.entry).expect("an explanation");
        let sum: u64 = explained.examinations.iter().map(|examination| examination.not_computed).sum();
        assert_eq!((explained.unique.len(), explained.wrong.len()), (unique, wrong), "{}", tool.entry);
        assert!(
            explained.examinations.len() < judgement.examinations.len() || sum == not_computed,
            "{}",
            tool.entry
        );
        let lost: BigRational = explained.wrong.iter().map(|value| -&value.points).sum();
        let missing: BigRational = explained.losses.iter().map(|loss| &loss.missing).sum();
        assert!(missing >= lost, "{}: {missing} points, {lost} of them by wrong values", tool.entry);
    }
}

#[test]
fn the_site_of_2018_has_margins_and_medals() {
    let dir = tempfile::tempdir().expect("a folder");
    let judged = judged_2018(dir.path());
    // The site has the same, in readable form.
    let site = dir.path().join("site");
    let mut command = Command::cargo_bin("mcc-harness").expect("the program");
    command.arg("report").arg(&judged).arg("--out").arg(&site).assert().success();
    // A long judgement is packed; `explain` reads it.
    let data = site.join("data");
    assert!(!data.join("judgement.json").exists() && data.join("judgement.json.gz").exists());
    let mut command = Command::cargo_bin("mcc-harness").expect("the program");
    command.arg("explain").arg(&data).args(["--tool", "GreatSPN"]).assert().success();
    let page = text(site.join("podiums/StateSpace.html"));
    for expected in [
        "GreatSPN is first with",
        "At least 1 trusted value would have to be different for TINA.tedd to overtake it.",
        "<th scope=\"col\" class=\"gap\">Known models</th><th scope=\"col\">Surprise models</th>",
        "Every value right",
        "../instance.html#instance=",
    ] {
        assert!(page.contains(expected), "{expected}");
    }
    // Of nine examinations, each table has four at most.
    assert_eq!(text(site.join("data/points.tex")).matches("\\begin{table}").count(), 3);
    let front = text(site.join("index.html"));
    assert!(
        front.contains("podiums/StateSpace.html#margins\">1 wrong trusted value could cost this rank</a>"),
        "{front}"
    );
    assert!(front.contains("<h2 id=\"medals\">Medals</h2>") && !front.contains(">0 behind"));
    let variant = text(site.join("tools/ITS-Tools.html"));
    assert!(
        variant.contains("<a href=\"ITS-Tools.L.html\">ITS-Tools.L</a> has rank</small> 3 bronze"),
        "{variant}"
    );
    let evidence = text(site.join("evidence.html"));
    let tables = &evidence[evidence.find("id=\"margins\"").expect("margins")..];
    let fraction = |word: &str| {
        word.split_once('/').is_some_and(|(p, q)| [p, q].iter().all(|n| n.parse::<u64>().is_ok()))
    };
    let cells = tables.split(['<', '>']).filter(|text| fraction(text));
    assert_eq!(cells.collect::<Vec<_>>(), Vec::<&str>::new());
    assert!(!tables.contains("points_ahead") && !tables.contains("rank_rejudged"));
    // Tables do not say how machines were, so the page of marks does not say it either.
    let runs = text(site.join("runs.html"));
    assert!(runs.contains("Unknown: the judged tables do not state the machines") && !runs.contains("None:"));
    // No time is known.
    let pictures = text(site.join("pictures.html"));
    assert!(pictures.contains("states no time of a single run"));
}

#[test]
fn a_virtual_entry_is_no_tool() {
    let (_dir, site) = site(&contest::small());
    let front = text(site.join("index.html"));
    assert!(front.contains(" behind rank 1"), "{front}");
    assert!(front.contains("<p class=\"lead\">4 competing entries · 1 virtual entry · 3 instances"));
    let section = |id: &str| {
        let rest = front.split_once(&format!("<h2 id=\"{id}\">")).expect("a section").1;
        rest.split_once("</section>").expect("an end").0.to_owned()
    };
    for id in ["medals", "endings", "confidence"] {
        assert!(!section(id).contains("BVT-2018"), "{id}");
    }
    // Its points are apart from those of tools, together with the bounds.
    let points = section("points");
    let (tools, others) = points.split_once("<tbody class=\"bounds\">").expect("two parts");
    assert!(
        !tools.contains("BVT-2018") && others.contains("BVT-2018") && others.contains("Every value right")
    );
    let overlap = text(site.join("pictures/overlap-StateSpace.csv"));
    assert!(overlap.contains("breadth-first") && !overlap.contains("BVT"), "{overlap}");
    assert!(!text(site.join("pictures/confidence.csv")).contains("BVT"));
    // Its page says what such an entry is.
    assert!(
        text(site.join("tools/BVT-2018.html")).contains("Virtual entry of the contest. The contest joined")
    );
}

#[test]
fn a_tool_page_has_ranks_unique_values_and_losses() {
    let (_dir, site) = site(&contest::small());
    let page = text(site.join("tools/wrong-on-purpose.html"));
    for expected in [
        "<dt>Medals</dt><dd>",
        "<dt>Wrong</dt><dd>11 values</dd>",
        "href=\"../podiums/StateSpace.html\">State<wbr>Space</a>",
        "<h3>Wrong values: 11</h3>",
        "../instance.html#instance=TokenRing-PT-005&#38;examination=CTLCardinality&#38;position=00",
        "<a href=\"#filter=Philosophers-\">Philosophers</a>",
    ] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
    let page = text(site.join("tools/breadth-first.html"));
    assert!(page.contains("Values that no other competing tool has right"), "{page}");
}

#[test]
fn the_title_and_people_of_a_campaign_are_shown() {
    let mut judgement = contest::small();
    let publication = serde_json::json!({
        "title": "A demo <of> three nets", "date": "2026-11-23", "organizers": ["Petri, Carl Adam"],
        "licence": "CC-BY-4.0", "doi": "10.5281/zenodo.1234567",
        "entries": { "walk": { "authors": ["Doe, Jane"], "affiliation": "Rostock", "link": "https://example.org/walk" } }
    });
    judgement.publication = serde_json::from_value(publication).expect("a publication");
    let (_dir, site) = site(&judgement);
    for page in ["index.html", "tools/walk.html", "instance.html", "podiums/StateSpace.html"] {
        assert!(text(site.join(page)).contains("A demo &#60;of&#62; three nets</title>"), "{page}");
    }
    let front = text(site.join("index.html"));
    for expected in [
        "2026-11-23",
        "Petri, Carl Adam",
        "CC-BY-4.0",
        "10.5281/zenodo.1234567",
        "Doe, Jane",
        "Rostock",
        "<a href=\"https://example.org/walk\">walk</a>",
    ] {
        assert!(front.contains(expected), "{expected}");
    }
    // The edition is still named.
    assert!(front.contains("Model Checking Contest 2018 (mcc-2018)"));
}

#[test]
fn equal_points_are_tied_and_embargoed_models_unnamed() {
    let mut judgement = contest::small();
    let first = judgement.podiums[0].places[0].points.clone();
    judgement.podiums[0].places[1].points = first;
    judgement.podiums[0].places[1].rank = Some(1);
    let (_dir, site) = site(&judgement);
    let front = text(site.join("index.html"));
    assert!(front.contains("<small>tied</small>") && !front.contains(">0 behind<"));
    let dir = tempfile::tempdir().expect("a folder");
    let hidden = dir.path().join("site");
    let input = SiteInput { embargo: true, ..SiteInput::default() };
    report::write_site(&judgement, input, NonZeroUsize::MIN, &hidden).expect("a site");
    for file in walkdir::WalkDir::new(&hidden).into_iter().map(|file| file.expect("a file").into_path()) {
        if file.is_file() {
            let content = fs::read(&file).expect("a file");
            assert!(!String::from_utf8_lossy(&content).contains("TokenRing"), "{}", file.display());
        }
    }
}

#[test]
fn the_report_command_publishes_the_files_of_the_judgement() {
    let dir = tempfile::tempdir().expect("a folder");
    let judgement = contest::small();
    drop(contest::record(&judgement, &dir.path().join("results"), |_| None));
    let judged = dir.path().join("judged");
    fs::create_dir(&judged).expect("a folder");
    fs::write(judged.join("judgement.json"), serde_json::to_vec(&judgement).expect("JSON")).expect("a file");
    let header = "category,rank,tool,variant,points,medal\n";
    fs::write(judged.join("podiums.csv"), header).expect("a file");
    let report = |arguments: &[&str]| {
        let mut command = Command::cargo_bin("mcc-harness").expect("the program");
        command.current_dir(dir.path()).arg("report").args(arguments);
        command.assert()
    };
    report(&["judged", "--out", "site", "--record", "results"]).success();
    let page = text(dir.path().join("site/index.html"));
    let podiums = "<a href=\"data/podiums.csv\">podiums.csv</a>, <a href=\"data/podiums.json\">podiums.json</a>: the places";
    assert!(page.contains(podiums) && dir.path().join("site/data/judgement.json").exists());
    assert!(dir.path().join("site/runs/walk/TokenRing-PT-005/StateSpace.js").exists());
    assert!(page.contains("<strong>Provisional.</strong>") && !page.contains("The campaign has not ended"));
    // Bad input: exit code 2, with place and remedy.
    fs::write(judged.join("podiums.csv"), "a private file\n").expect("a file");
    let refused = report(&["judged", "--out", "site2"]).code(2);
    let message = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(message.contains("podiums.csv:1: its columns are not those of this table"), "{message}");
    let refused = report(&["nowhere", "--out", "site2"]).code(2);
    let message = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(
        message.contains("nowhere does not exist") && message.contains("mcc-harness judge --out"),
        "{message}"
    );
    fs::write(judged.join("judgement.json"), "{\n\"version\": 3}").expect("a file");
    let refused = report(&["judged", "--out", "site2"]).code(2);
    let message = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(message.contains("judgement.json:2:"), "{message}");
    report(&["judged", "--out", "results"]).code(2);
    report(&["results", "--out", "site2", "--record", "judged"]).code(2);
}
