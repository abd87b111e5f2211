//! `report --years`: real contests side by side.

use crate::support::data;

use assert_cmd::Command;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const YEARS: [u32; 5] = [2018, 2019, 2020, 2022, 2025];

fn harness(folder: &Path) -> Command {
    let mut harness = Command::cargo_bin("mcc-harness").unwrap();
    harness.current_dir(folder);
    harness
}

fn judge(folder: &Path, year: u32) {
    let mut harness = harness(folder);
    harness.arg("judge").arg(data::published(&format!("mcc/{year}/answers.csv.gz")));
    harness.arg("--models").arg(data::published(&format!("mcc/{year}/models.csv")));
    harness.args(["--edition", &format!("mcc-{year}"), "--out", &format!("judged-{year}")]);
    harness.assert().success();
}

/// The rows of a table of the site, by the first column.
fn table(folder: &Path, name: &str) -> BTreeMap<String, Vec<String>> {
    let mut table = csv::Reader::from_path(folder.join("site/data").join(name)).unwrap();
    let rows = table.records().map(|row| row.unwrap().iter().map(str::to_owned).collect::<Vec<_>>());
    rows.map(|row| (row[0].clone(), row[1..].to_vec())).collect()
}

#[test]
fn five_real_contests_are_shown_side_by_side() {
    let folder = TempDir::new().unwrap();
    let mut report = harness(folder.path());
    report.args(["report", "--out", "site", "--years"]);
    for year in YEARS {
        judge(folder.path(), year);
        report.arg(format!("judged-{year}"));
    }
    report.assert().success();
    let header = fs::read_to_string(folder.path().join("site/data/years-tools.csv")).unwrap();
    assert!(header.starts_with("tool,mcc-2018,mcc-2019,mcc-2020,mcc-2022,mcc-2025\n"), "{header}");
    // A tool has one row although its name changed: enPAC and EnPac, TINA.tedd and tedd.
    let tools = table(folder.path(), "years-tools.csv");
    let in_years = |tool: &str| tools[tool].iter().map(|share| !share.is_empty()).collect::<Vec<_>>();
    assert_eq!(in_years("enPAC"), [false, true, true, true, true]);
    assert_eq!(in_years("TINA.tedd"), [true; 5]);
    assert!(["EnPac", "tedd"].iter().all(|name| !tools.contains_key(*name)), "{tools:?}");
    let medals = table(folder.path(), "years-medals.csv");
    assert!(medals["TINA.tedd"][4].contains("StateSpace gold"), "{medals:?}");
    assert!(medals["GreatSPN"][0].contains("StateSpace gold"), "{medals:?}");
    // The virtual best tool does not compete.
    assert!(!medals.contains_key("BVT") && !medals.contains_key("BVT-2018"), "{medals:?}");
    let disagreements = &table(folder.path(), "years-disagreements.csv")["All"];
    for count in disagreements {
        let count: u64 = count.parse().unwrap();
        assert!((1..20_000).contains(&count), "{disagreements:?}");
    }
    for share in &table(folder.path(), "years-solved.csv")["All"] {
        let share: f64 = share.parse().unwrap();
        assert!(share > 50.0 && share < 100.0, "{share}");
    }
    // 10,073 of 110,799 values of 2018 have no answer.
    let solved = &table(folder.path(), "years-solved.csv")["All"][0];
    assert!(solved.starts_with("90."), "{solved}");
    let models = fs::read_to_string(folder.path().join("site/data/years-models.csv")).unwrap();
    assert!(models.contains("\nPhilosophers,mcc-2018,") && models.contains("\nPhilosophers,mcc-2025,"));
    for file in ["index.html", "pictures/years-tools.svg", "pictures/years-solved.csv", "values.js"] {
        assert!(folder.path().join("site").join(file).is_file(), "{file}");
    }
    // Each model and year has a page; its figures are those of the tables.
    let page = |path: &str| fs::read_to_string(folder.path().join("site").join(path)).unwrap();
    let row = models.lines().find(|line| line.starts_with("Philosophers,mcc-2025,")).unwrap();
    let solved = row.split(',').nth(4).unwrap();
    let philosophers = page("models/Philosophers.html");
    assert!(philosophers.contains(&format!("<td>{solved} %</td>")), "{solved}: {philosophers}");
    assert!(philosophers.contains("href=\"../tools/TINA.tedd.html\">TINA.tedd</a></th><td>2018</td>"));
    let year = page("years/mcc-2018.html");
    assert!(year.contains("947 instances of "), "{year}");
    assert!(year.contains("href=\"../tools/GreatSPN.html\"") && year.contains("href=\"../models/"), "{year}");
    assert!(page("index.html").contains("<a href=\"years/mcc-2018.html\">2018</a>"));
    let twice = harness(folder.path())
        .args(["report", "--out", "twice", "--years", "judged-2018", "judged-2018"])
        .assert()
        .code(2);
    let error = String::from_utf8_lossy(&twice.get_output().stderr).into_owned();
    assert!(error.contains("two judgements are of edition mcc-2018"), "{error}");
}
