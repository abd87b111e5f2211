//! `report --years`: real contests side by side.

use crate::support::data;

use assert_cmd::Command;
use num_rational::BigRational;
use std::collections::{BTreeMap, BTreeSet};
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
    assert_eq!(in_years("EnPac"), [false, true, true, true, true]);
    assert_eq!(in_years("tedd"), [true; 5]);
    assert!(["enPAC", "TINA.tedd"].iter().all(|name| !tools.contains_key(*name)), "{tools:?}");
    let medals = table(folder.path(), "years-medals.csv");
    assert!(medals["tedd"][4].contains("StateSpace gold"), "{medals:?}");
    assert!(medals["GreatSPN"][0].contains("StateSpace gold"), "{medals:?}");
    // Points are the sums of the podiums' ranked places; the published answers have no times.
    let points = table(folder.path(), "years-points.csv");
    let cpu = table(folder.path(), "years-cpu.csv");
    for (at, year) in YEARS.iter().enumerate() {
        let podiums = folder.path().join(format!("judged-{year}/podiums.csv"));
        let places: Vec<BTreeMap<String, String>> =
            csv::Reader::from_path(podiums).unwrap().deserialize().map(Result::unwrap).collect();
        let own = places.iter().filter(|row| row["tool"] == "Tapaal" && !row["rank"].is_empty());
        let sum: BigRational = own.map(|row| row["points"].parse::<BigRational>().unwrap()).sum();
        assert!(sum > BigRational::from_integer(1000.into()), "{year}: {sum}");
        assert_eq!(points["Tapaal"][at], sum.to_string(), "{year}");
        let times: BTreeSet<&str> = cpu.values().map(|times| times[at].as_str()).collect();
        assert!(times.contains("unknown"), "{year}: {times:?}");
        assert!(
            times.iter().all(|time| ["", "unknown", "no complete run"].contains(time)),
            "{year}: {times:?}"
        );
    }
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
    assert!(philosophers.contains(&format!("<td>{solved}\u{a0}%</td>")), "{solved}: {philosophers}");
    assert!(philosophers.contains("href=\"../tools/tedd.html\">tedd</a></th><td>2018</td>"));
    let tedd = page("tools/tedd.html");
    let names = "Submitted as TINA.tedd in 2018, 2019, 2020; as tedd in 2022, 2025.";
    assert!(tedd.contains(names) && !tedd.contains("Other names"), "{tedd}");
    let greatspn = page("tools/GreatSPN.html");
    assert!(greatspn.contains("the contests published only a few totals"), "{greatspn}");
    assert!(greatspn.contains("<td>1,518.61</td>") && greatspn.contains("<td>7,806</td>"), "{greatspn}");
    assert!(
        greatspn.contains("<td class=\"note\">how confidence is computed, the factor of all points</td>"),
        "{greatspn}"
    );
    assert!(greatspn.contains("<td class=\"note\">unknown; "), "{greatspn}");
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

#[test]
fn the_cpu_time_of_a_year_is_the_median_of_complete_runs_with_a_known_time() {
    let folder = TempDir::new().unwrap();
    let header = "### tool,Input,Examination,results,CPU (ms),Time (ms)\n";
    let row = |tool: &str, instance: u32, answer: &str, cpu: &str| {
        format!("{tool},F-PT-{instance},ReachabilityDeadlock,{answer},{cpu},{cpu}\n")
    };
    // Two variants of a: on instance 1 the second is faster. The wrong run of c and the run of b without an answer do not
    // count; the run of c without a time does not either, but is mentioned.
    let runs = [
        row("a", 1, "T", "9000"),
        row("a2", 1, "T", "1500"),
        row("b", 1, "T", "400"),
        row("c", 1, "F", "1"),
        row("a", 2, "T", "2500"),
        row("b", 2, "T", "600"),
        row("c", 2, "T", ""),
        row("a", 3, "T", "7000"),
        row("b", 3, "?", "5"),
        row("c", 3, "T", "3000"),
        row("d", 3, "?", "5"),
    ];
    fs::write(folder.path().join("answers.csv"), header.to_owned() + &runs.concat()).unwrap();
    let tools = "entry,tool,status\na,a,competing\na2,a,competing\n";
    fs::write(folder.path().join("tools.csv"), tools).unwrap();
    let mut report = harness(folder.path());
    report.args(["report", "--out", "site", "--years"]);
    for year in ["mcc-2018", "mcc-2020"] {
        let mut judge = harness(folder.path());
        judge.args(["judge", "answers.csv", "--edition", year, "--tools", "tools.csv", "--out", year]);
        judge.assert().success();
        report.arg(year);
    }
    report.assert().success();
    let cpu = table(folder.path(), "years-cpu.csv");
    let expected = [("a", "2500"), ("b", "400"), ("c", "3000"), ("d", "no complete run")];
    for (tool, time) in expected {
        assert_eq!(cpu[tool][0], time, "{tool}");
    }
    let page =
        |tool: &str| fs::read_to_string(folder.path().join(format!("site/tools/{tool}.html"))).unwrap();
    assert!(page("a").contains("<td class=\"note\">2.50 s; median of 3 complete runs</td>"), "{}", page("a"));
    let some = "<td class=\"note\">3 s; median of 1 of 2 complete runs; the other times are unknown</td>";
    assert!(page("c").contains(some), "{}", page("c"));
    assert!(page("d").contains("<td class=\"note\">no complete run</td>"), "{}", page("d"));
}
