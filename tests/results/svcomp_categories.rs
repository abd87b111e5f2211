//! `judge` with the category structures of SV-COMP: those of the editions and the contest's own file.

use assert_cmd::Command;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

fn judge(folder: &Path, arguments: &[&str]) -> (String, String) {
    let mut harness = Command::cargo_bin("mcc-harness").unwrap();
    let judged = harness.current_dir(folder).args(["judge", "results", "--out", "out"]).args(arguments);
    let judged = judged.assert().success();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&judged.get_output().stdout), text(&judged.get_output().stderr))
}

/// Writes the result file of an entry in a category: expected answer, given answer, and `category` of each task.
fn result(folder: &Path, entry: &str, name: &str, runs: &[(&str, &str, &str)]) {
    let mut xml = format!("<result benchmarkname=\"{entry}\" name=\"{name}\" tool=\"T\" timelimit=\"900s\">");
    for (task, (expected, status, category)) in runs.iter().enumerate() {
        xml += &format!(
            "<run name=\"t{task}.yml\" properties=\"unreach-call\" expectedVerdict=\"{expected}\"><column \
             title=\"status\" value=\"{status}\"/><column title=\"category\" value=\"{category}\"/><column \
             title=\"cputime\" value=\"2s\"/></run>"
        );
    }
    fs::create_dir_all(folder.join("results")).unwrap();
    fs::write(folder.join("results").join(format!("{entry}.{name}.xml")), xml + "</result>").unwrap();
}

/// `category rank tool points medal` of the ranked places.
fn places(folder: &Path) -> Vec<String> {
    let mut table = csv::Reader::from_path(folder.join("out/podiums.csv")).unwrap();
    let rows = table.deserialize::<std::collections::BTreeMap<String, String>>();
    let line = |row: std::collections::BTreeMap<String, String>| {
        let columns = ["category", "rank", "tool", "points", "medal"].map(|column| row[column].clone());
        columns.join(" ").trim_end().to_owned()
    };
    rows.map(|row| line(row.unwrap())).collect()
}

const RIGHT_TRUE: (&str, &str, &str) = ("true", "true", "correct");
const RIGHT_FALSE: (&str, &str, &str) = ("false", "false", "correct");
const WRONG_TRUE: (&str, &str, &str) = ("false", "true", "wrong");
const UNKNOWN: (&str, &str, &str) = ("false", "unknown", "unknown");

const STRUCTURE: &str = "\
year: 2024
hors_concours: [guest]
demo_categories: [unreach-call.Demo]
opt_out:
  quitter: [FalsificationOverall]
opt_in:
  single: [unreach-call.A]
categories:
  Reach:
    properties: unreach-call
    categories: [unreach-call.A, unreach-call.B, unreach-call.Demo]
    verifiers: [one, two, guest, quitter]
  Term:
    categories: [termination.C]
    verifiers: [one, two, guest, quitter]
  Overall:
    categories: [Reach, Term]
    verifiers: [one, two, guest, quitter]
  FalsificationOverall:
    categories: [Reach]
    verifiers: [one, two, guest, quitter]
";

/// Every entry has results in every base category. `two` has a missed bug, which costs points, but not in falsification.
fn contest(folder: &Path) {
    fs::write(folder.join("categories.yml"), STRUCTURE).unwrap();
    for entry in ["one", "two", "guest", "quitter"] {
        let a = if entry == "two" { [RIGHT_FALSE, WRONG_TRUE] } else { [RIGHT_FALSE, UNKNOWN] };
        result(folder, entry, "SV-COMP24_unreach-call.A", &a);
        let b = if entry == "two" { [RIGHT_FALSE, RIGHT_FALSE] } else { [RIGHT_TRUE, UNKNOWN] };
        result(folder, entry, "SV-COMP24_unreach-call.B", &b);
        result(folder, entry, "SV-COMP24_unreach-call.Demo", &[WRONG_TRUE]);
        result(folder, entry, "SV-COMP24_termination.C", &[RIGHT_TRUE]);
    }
    result(folder, "single", "SV-COMP24_unreach-call.A", &[RIGHT_FALSE, RIGHT_FALSE]);
}

#[test]
fn the_contests_own_category_structure_is_read() {
    let folder = TempDir::new().unwrap();
    contest(folder.path());
    let (_, notes) = judge(folder.path(), &["--edition", "svcomp-2024", "--categories", "categories.yml"]);
    assert!(!notes.contains("participant"), "{notes}");
    let places = places(folder.path());
    let ranked = |category: &str| -> Vec<String> {
        let in_category = places.iter().filter(|place| place.starts_with(&format!("{category} ")));
        in_category.map(|place| place[category.len() + 1..].to_owned()).collect()
    };
    // Reach: one (1/2 + 2/2) x 4 / 2 = 3; two (-31/2 + 2/2) x 4 / 2 = -29. The demonstration category does not count.
    // The entry hors concours has no rank; an entry with negative points gets no medal.
    assert_eq!(ranked("Reach"), ["1 one 3 gold", "1 quitter 3 gold", "3 two -29", " guest 3"]);
    // Only answers FALSE: one (1/2 + 0) x 4 / 2 = 1; two (1/2 + 2/2) x 4 / 2 = 3. Who opted out has no place.
    assert_eq!(ranked("FalsificationOverall"), ["1 two 3 gold", "2 one 1 silver", " guest 1"]);
    assert_eq!(ranked("unreach-call.Demo"), [""; 0]);
    // An opt-in counts in its base category only.
    assert_eq!(ranked("unreach-call.A")[0], "1 single 2 gold");
    assert!(!places.iter().any(|place| place.contains("Reach") && place.contains("single")));
    // Overall contains Reach and Term with their normalized scores.
    // (3/4 + 2/1) x 5 / 2
    assert_eq!(ranked("Overall")[0], "1 one 55/8 gold");
    let scores = fs::read_to_string(folder.path().join("out/scores.csv")).unwrap();
    assert!(scores.contains("one,FalsificationOverall,1,0,0,1,1/4,0,2,"), "{scores}");
}

/// As mopsa in 2024: it is listed in Overall, opted out of Term, and is not listed in Term.
#[test]
fn participation_that_an_opt_out_makes_useless_is_noted() {
    let folder = TempDir::new().unwrap();
    contest(folder.path());
    let useless = "\
year: 2024
opt_out:
  one: [Term]
  quitter: [Term]
categories:
  Reach:
    categories: [unreach-call.A, unreach-call.B]
    verifiers: [one, two, quitter]
  Term:
    categories: [termination.C]
    verifiers: [one, two]
  Overall:
    categories: [Reach, Term]
    verifiers: [one, two, quitter]
";
    fs::write(folder.path().join("categories.yml"), useless).unwrap();
    let (_, notes) = judge(folder.path(), &["--edition", "svcomp-2024", "--categories", "categories.yml"]);
    let note = "quitter takes part in Overall and has no score there, because it opted out of Term";
    assert!(notes.contains(note), "{notes}");
    // The results of `one` in Term count in Overall.
    assert!(!notes.contains("one takes part in Overall"), "{notes}");
    let overall: Vec<String> =
        places(folder.path()).into_iter().filter(|place| place.starts_with("Overall")).collect();
    assert_eq!(overall.len(), 2, "{overall:?}");
}

#[test]
fn a_built_in_edition_has_the_categories_of_its_year() {
    let folder = TempDir::new().unwrap();
    for (entry, runs) in [("cpachecker", [RIGHT_TRUE, RIGHT_FALSE]), ("cbmc", [RIGHT_TRUE, RIGHT_TRUE])] {
        result(folder.path(), entry, "SV-COMP25_no-overflow.NoOverflows-Main", &runs);
        result(folder.path(), entry, "SV-COMP25_no-overflow.NoOverflows-Juliet", &runs);
    }
    result(folder.path(), "stranger", "SV-COMP25_no-overflow.NoOverflows-Main", &[RIGHT_TRUE]);
    let (out, notes) = judge(folder.path(), &["--edition", "svcomp-2025"]);
    assert!(out.contains("NoOverflows\n   1  cpachecker"), "{out}");
    // cbmc took part hors concours in 2025. Overall has parts without results, so it has no podium.
    assert!(!out.contains("  cbmc") && !out.contains("\nOverall\n"), "{out}");
    assert!(out.contains("the contest did not publish the categories that need no correctness"), "{out}");
    assert!(
        notes.contains("stranger has results in no-overflow.NoOverflows-Main and does not take part"),
        "{notes}"
    );
    assert!(!notes.contains("is not in the table of categories"), "{notes}");
    let judgement = fs::read_to_string(folder.path().join("out/judgement.json")).unwrap();
    assert!(judgement.contains("there are no results of its part ReachSafety"), "{judgement}");
    let mut report = Command::cargo_bin("mcc-harness").unwrap();
    report.current_dir(folder.path()).args(["report", "out", "--out", "site"]).assert().success();
    assert!(folder.path().join("site/categories/NoOverflows.html").exists());
    assert!(!folder.path().join("site/categories/Termination.html").exists());
}

/// Layers of two meta categories, each of which has both of the layer below.
fn layers(number: usize) -> String {
    let mut text = String::from("categories:\n");
    let mut parts = "unreach-call.A, unreach-call.B".to_owned();
    for layer in 0..number {
        for side in ["L", "R"] {
            text += &format!("  {side}{layer}:\n    categories: [{parts}]\n    verifiers: [one, two]\n");
        }
        parts = format!("L{layer}, R{layer}");
    }
    text
}

/// There are 2^26 paths from the last category to the first ones.
#[test]
fn nested_meta_categories_are_judged_without_a_look_at_every_path() {
    let folder = TempDir::new().unwrap();
    for part in ["A", "B"] {
        result(folder.path(), "one", &format!("SV-COMP24_unreach-call.{part}"), &[RIGHT_FALSE, UNKNOWN]);
    }
    fs::write(folder.path().join("categories.yml"), layers(26)).unwrap();
    judge(folder.path(), &["--edition", "svcomp-2024", "--categories", "categories.yml"]);
    // One of two tasks in each part; 2^25 times the two parts.
    assert!(places(folder.path()).contains(&format!("L25 1 one {} gold", 2 << 25)));
    let scores = fs::read_to_string(folder.path().join("out/scores.csv")).unwrap();
    assert!(scores.contains(&format!("one,L25,{0},0,0,{0},1/2,", 2 << 25)), "{scores}");
    let quantiles = fs::read_to_string(folder.path().join("out/quantiles.csv")).unwrap();
    // One step for each run: the beginning and two runs.
    let of_last = quantiles.lines().filter(|line| line.contains("L25"));
    assert_eq!(of_last.count(), 3, "{quantiles}");
}

#[test]
fn results_of_a_meta_category_itself_are_noted() {
    let folder = TempDir::new().unwrap();
    contest(folder.path());
    let judged = || judge(folder.path(), &["--edition", "svcomp-2024", "--categories", "categories.yml"]).1;
    let note =
        "results of 1 task name the meta category Reach itself and give no points; name one of its parts";
    assert!(!judged().contains("give no points"));
    result(folder.path(), "one", "SV-COMP24_Reach", &[RIGHT_FALSE]);
    let notes = judged();
    assert!(notes.contains(note), "{notes}");
}

#[test]
fn a_wrong_category_structure_is_an_error_with_its_line() {
    let folder = TempDir::new().unwrap();
    contest(folder.path());
    for (text, part) in [
        ("categories:\n  A:\n    categories: x\n", "categories.yml:3: "),
        ("categories:\n  A: {categories: [A]}\n", "category `A` is a part of itself"),
        // The number of tasks doubles with each layer, to 2^77.
        (&layers(75), "its parts have more than 1000000000 tasks together; correct"),
    ] {
        fs::write(folder.path().join("categories.yml"), text).unwrap();
        let mut harness = Command::cargo_bin("mcc-harness").unwrap();
        harness.current_dir(folder.path());
        harness.args("judge results --out out --edition svcomp-2024 --categories categories.yml".split(' '));
        let refused = harness.assert().code(2);
        let error = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
        assert!(error.contains(part), "{error}");
    }
    // Another year than that of the edition is noted.
    fs::write(folder.path().join("categories.yml"), STRUCTURE).unwrap();
    let (_, notes) = judge(folder.path(), &["--edition", "svcomp-2023", "--categories", "categories.yml"]);
    assert!(
        notes.contains("categories.yml is the category structure of 2024; the edition is svcomp-2023"),
        "{notes}"
    );
}
