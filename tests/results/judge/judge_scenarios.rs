//! Judging with votes per tool, with a tool left out, and with overrides; comparisons and explanations.

use super::{HEADER, edition_file, fraction, harness, judge, judge_2018_with, refused, rows, table};
use num_rational::BigRational;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::Path;
use tempfile::TempDir;

fn json(arguments: &[&str], dirs: &[&Path]) -> Json {
    let mut command = harness();
    command.args(&arguments[..1]).args(dirs).args(&arguments[1..]).args(["--format", "json"]);
    serde_json::from_slice(&command.assert().success().get_output().stdout).unwrap()
}

fn compared(before: &Path, after: &Path) -> Json {
    let mut command = harness();
    command.args(["judge", "--format", "json", "--compare"]).args([before, after]);
    serde_json::from_slice(&command.assert().success().get_output().stdout).unwrap()
}

fn fits_a_screen(text: &str) {
    assert!(text.lines().count() <= 40, "{} lines: {text}", text.lines().count());
    text.lines().for_each(|line| assert!(line.chars().count() <= 80, "{line}"));
}

fn screen(arguments: &[&str], dir: &Path) -> String {
    let mut command = harness();
    command.arg("explain").arg(dir).args(arguments);
    let text = String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap();
    fits_a_screen(&text);
    text
}

#[test]
fn in_2018_481_unanimous_values_rest_on_one_tool() {
    let per_variant = judge_2018_with(&[]);
    let per_tool = judge_2018_with(&["--votes", "per-tool"]);
    let key = |row: &BTreeMap<String, String>| {
        ["instance", "examination", "position"].map(|column| row[column].clone())
    };
    let trusted = rows(&per_variant.path().join("trusted.csv"));
    let basis: BTreeMap<_, _> = trusted.iter().map(|row| (key(row), row["basis"].clone())).collect();
    let weak = rows(&per_variant.path().join("weak.csv"));
    let count = |kind: &str, wanted: &str| {
        weak.iter().filter(|row| row["kind"] == kind && basis[&key(row)] == wanted).count()
    };
    assert_eq!((count("single-family", "unanimous"), count("single-backer", "single")), (481, 8868));
    assert_eq!(count("single-backer", "unanimous"), 0);

    let comparison = compared(per_variant.path(), per_tool.path());
    assert_eq!(comparison["settings"][0]["what"], "judging.votes");
    assert_eq!(comparison["settings"].as_array().unwrap().len(), 1);
    let bases = comparison["bases"].as_array().unwrap();
    let single = bases.iter().find(|change| change["before"] == "unanimous").unwrap();
    assert_eq!((&single["after"], &single["values"]), (&"single".into(), &481.into()));
    assert_eq!(comparison["values_compared"], 110_799);
    let ranks = comparison["places"].as_array().unwrap().iter();
    let changed = ranks.filter(|place| {
        (&place["before"]["rank"], &place["before"]["medal"])
            != (&place["after"]["rank"], &place["after"]["medal"])
    });
    assert_eq!(changed.count(), 0, "no medal of 2018 depends on votes per variant");
}

#[test]
fn the_best_virtual_tool_of_2018_is_computed_from_the_answers() {
    let dir = judge_2018_with(&[]);
    let scores = rows(&dir.path().join("scores.csv"));
    let published: Vec<_> = scores.iter().filter(|row| row["tool"] == "BVT").collect();
    let computed = rows(&dir.path().join("virtual.csv"));
    assert_eq!((published.len(), computed.len()), (9, 9));
    for best in computed {
        let row = published.iter().find(|row| row["examination"] == best["examination"]).unwrap();
        for column in ["right", "points", "normalized"] {
            assert_eq!(row[column], best[column], "{} {column}", best["examination"]);
        }
    }
}

#[test]
fn gold_of_state_space_2018_depends_on_one_value() {
    let dir = judge_2018_with(&["--sensitivity"]);
    let margins = rows(&dir.path().join("margins.csv"));
    assert_eq!(margins.len(), 15);
    let margin = |category: &str, rank: &str| {
        margins.iter().find(|row| row["category"] == category && row["rank"] == rank).unwrap()
    };
    let gold = margin("StateSpace", "1");
    assert_eq!(
        (&*gold["tool"], &*gold["rival"], &*gold["values"], &*gold["few_values"]),
        ("GreatSPN", "TINA.tedd", "1", "yes")
    );
    assert_eq!(margin("LTL", "1")["few_values"], "no");

    let left_out = rows(&dir.path().join("sensitivity.csv"));
    let changes: Vec<(&str, &str, &str, &str)> = left_out
        .iter()
        .filter(|row| row["changes"] == "yes")
        .map(|row| (&*row["category"], &*row["left_out"], &*row["tool"], &*row["rank_rejudged"]))
        .collect();
    let expected = [
        ("StateSpace", "ITS-Tools", "TINA.tedd", "1"),
        ("StateSpace", "ITS-Tools", "GreatSPN", "2"),
        ("StateSpace", "smart", "TINA.tedd", "1"),
        ("StateSpace", "smart", "GreatSPN", "2"),
    ];
    assert_eq!(changes, expected);

    // The result equals that of a contest from which the tool resigned (P-4). The comparison shows the differences.
    let tools = dir.path().join("tools-resigned.csv");
    std::fs::write(&tools, "entry,tool,status\nsmart,smart,resigned\n").unwrap();
    let without = judge_2018_with(&["--tools", tools.to_str().unwrap()]);
    for row in left_out.iter().filter(|row| row["left_out"] == "smart") {
        let podiums = rows(&without.path().join("podiums.csv"));
        let tool_of = |entry: &str| entry.split('.').next().unwrap_or_default().to_owned();
        let place = podiums.iter().find(|place| {
            place["category"] == row["category"]
                && !place["rank"].is_empty()
                && (place["tool"] == row["tool"] || tool_of(&place["tool"]) == row["tool"])
        });
        let place = place.unwrap();
        assert_eq!(
            (&place["rank"], &place["points"]),
            (&row["rank_rejudged"], &row["points_rejudged"]),
            "{row:?}"
        );
    }
    let comparison = compared(dir.path(), without.path());
    let removed = &comparison["entries"][0];
    assert_eq!((&removed["what"], &removed["after"]), (&"smart".into(), &Json::Null));
    let places = comparison["places"].as_array().unwrap();
    let tina = places.iter().find(|place| place["entry"] == "TINA.tedd").unwrap();
    assert_eq!((&tina["before"]["medal"], &tina["after"]["medal"]), (&"silver".into(), &"gold".into()));
    let mut command = harness();
    command.args(["judge", "--compare"]).args([dir.path(), without.path()]);
    let text = String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap();
    assert!(text.contains("rank 2 silver") && text.contains("entries that differ: 1"), "{text}");
}

#[test]
fn compare_lists_one_sided_runs_and_refuses_unrelated_contests() {
    let judged = |rows: &[(&str, &str)]| {
        let row = |(tool, instance): &(&str, &str)| format!("{tool},{instance},ReachabilityDeadlock,T,\n");
        let dir = table(&(HEADER.to_owned() + &rows.iter().map(row).collect::<String>()));
        judge(&dir, &[]).success();
        dir
    };
    let before =
        judged(&[("a", "F-PT-1"), ("b", "F-PT-1"), ("a", "F-PT-2"), ("b", "F-PT-2"), ("a", "F-PT-3")]);
    let after =
        judged(&[("a", "F-PT-1"), ("b", "F-PT-1"), ("c", "F-PT-1"), ("a", "G-PT-1"), ("c", "H-PT-1")]);
    let out = |dir: &TempDir| dir.path().join("out");
    let mut command = harness();
    command.args(["judge", "--compare"]).args([out(&before), out(&after)]);
    let text = String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap();
    for part in [
        // Without the other instances of its family it has more weight.
        "instances that differ: 1\n  F-PT-1  F, known, weight 2/3  ->  F, known, weight 1\n",
        "instances only before: 2\n  F-PT-2\n  F-PT-3\n",
        "values only before: 2\n  F-PT-2 ReachabilityDeadlock  1\n",
        "runs only before: 3\n  a  F-PT-2 ReachabilityDeadlock\n  b  F-PT-2 ReachabilityDeadlock\n",
        "instances only after: 2\n  G-PT-1\n  H-PT-1\n",
        "values only after: 2\n",
        "runs only after: 3\n  c  F-PT-1 ReachabilityDeadlock\n  a  G-PT-1 ReachabilityDeadlock\n",
        "trusted values that differ: 0 of 1\n",
        "runs with different points: 2 of 2\n",
        "answers that differ: 0 of 2\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let all = compared(&out(&before), &out(&after));
    assert_eq!(all["only_before"]["values"][0]["instance"], "F-PT-2");
    assert_eq!(all["only_after"]["runs"].as_array().unwrap().len(), 3);
    let same = compared(&out(&before), &out(&before));
    let nothing = serde_json::json!({ "values": [], "runs": [] });
    assert_eq!(
        (&same["only_before"], &same["only_after"], &same["instances"]),
        (&nothing, &nothing, &Json::Array(vec![]))
    );

    // Obfuscated instances, judged without their original names.
    let other = judged(&[("a", "M1-PT-1"), ("b", "M1-PT-1")]);
    let mut command = harness();
    let refused = command.args(["judge", "--compare"]).args([out(&before), out(&other)]).assert().code(2);
    let message = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    for part in [
        "no instance and examination is in both",
        "F-PT-1 ReachabilityDeadlock",
        "M1-PT-1 ReachabilityDeadlock",
        "--names",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert!(refused.get_output().stdout.is_empty());
}

#[test]
fn compare_notes_that_years_have_different_formulas() {
    let dir = table(&format!("{HEADER}a,F-PT-1,StateSpace,3 ? 1 2,\n"));
    for edition in ["mcc-2018", "mcc-2019"] {
        let mut command = harness();
        command.current_dir(dir.path()).args(["judge", "answers.csv", "--edition", edition, "--out"]);
        command.arg(edition).assert().success();
    }
    let note = |after: &str| {
        let mut command = harness();
        command.current_dir(dir.path()).args(["judge", "--compare", "mcc-2018", after]);
        String::from_utf8_lossy(&command.assert().success().get_output().stderr).into_owned()
    };
    assert!(note("mcc-2019").contains("note: the formulas of 2018 and 2019 differ"));
    assert!(!note("mcc-2018").contains("note"));
}

#[test]
fn a_margin_is_the_least_number_of_changed_values() {
    // A deadlock value has 16 points. a has 5 values, b 3 of them and c 1.
    let mut content = HEADER.to_owned();
    for (tool, answers) in [("a", "TTTTT"), ("b", "TTT??"), ("c", "T????")] {
        for (number, answer) in answers.chars().enumerate() {
            content += &format!("{tool},F{number}-PT-1,ReachabilityDeadlock,{answer},\n");
        }
    }
    let dir = table(&content);
    let judged = judge(&dir, &["--sensitivity=3"]).success();
    let printed = String::from_utf8_lossy(&judged.get_output().stdout).into_owned();
    for part in [
        "for a rival to take it.",
        "the competing entry, of another tool that is not ranked before, for which",
        "Numbers below 3 are marked",
        "32.00 points ahead of b",
        "Ranks that differ if a tool is left out and everything is judged again, instead of only taking it off the podium: Reachability without a: c has rank 1",
    ] {
        assert!(printed.split_whitespace().collect::<Vec<_>>().join(" ").contains(part), "{part}: {printed}");
    }
    let margins = rows(&dir.path().join("out/margins.csv"));
    let shown: Vec<[&str; 5]> = margins
        .iter()
        .map(|row| ["tool", "rival", "points_ahead", "values", "few_values"].map(|c| &*row[c]))
        .collect();
    // b is 32 points behind a and gains 48 by a value that only a has; c is 32 behind b and gains 48 in the same way.
    assert_eq!(shown, [["a", "b", "32", "1", "yes"], ["b", "c", "32", "1", "yes"]]);
    // Without the option the file is removed.
    judge(&dir, &[]).success();
    assert!(!dir.path().join("out/margins.csv").exists());
}

#[test]
fn explain_shows_errors_and_points_on_one_screen_each() {
    let dir = judge_2018_with(&[]);
    let position = ["--instance", "TokenRing-PT-010", "--examination", "CTLCardinality", "--position", "08"];
    let error = screen(&position, dir.path());
    for part in [
        "trusted value F",
        "How the value was decided: the votes for this value have more than half",
        ": 3.999574 of 4.999487 (E-3.1)",
        "For the trusted value: ITS-Tools ITS-Tools.L LTSMin Tapaal\nFor other values: LoLA\n",
        "weight 0.082956 (55/663)",
        "14 right, 2 wrong, 0.829563 (550/663) points",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let lola = screen(&["--tool", "LoLA"], dir.path());
    for part in [
        "Confidence 0.999913: agreed on 68739 of the 68745",
        "UpperBounds: rank 1, gold",
        "Wrong values: 15; points lost by them: ",
    ] {
        assert!(lola.contains(part), "{part}: {lola}");
    }
    let explanation = json(&["explain", "--tool", "LoLA"], &[dir.path()]);
    let sum = |list: &str, column: &str| -> BigRational {
        explanation[list]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| fraction(item[column].as_str().unwrap()))
            .sum()
    };
    // The difference to the best virtual tool is the sum over the models.
    assert_eq!(sum("examinations", "points") + sum("losses", "missing"), sum("examinations", "possible"));
    assert_eq!(explanation["wrong"].as_array().unwrap().len(), 15);
    let examinations = explanation["examinations"].as_array().unwrap();
    let unique: u64 = examinations.iter().map(|examination| examination["unique"].as_u64().unwrap()).sum();
    let weak = rows(&dir.path().join("weak.csv"));
    assert_eq!(unique as usize, weak.iter().filter(|row| row["backers"] == "LoLA").count());
    assert_eq!(unique as usize, explanation["unique"].as_array().unwrap().len());

    let mut unknown = harness();
    let unknown = unknown.arg("explain").arg(dir.path()).args(["--tool", "LoLa"]).assert().code(2);
    let message = String::from_utf8_lossy(&unknown.get_output().stderr).into_owned();
    assert!(message.contains("no tool `LoLa`") && message.contains("LoLA"), "{message}");
}

#[test]
fn explain_names_the_examinations_of_the_judgement() {
    let dir = table(&format!("{HEADER}a,F-PT-1,ReachabilityDeadlock,?,\nb,F-PT-1,ReachabilityDeadlock,?,\n"));
    judge(&dir, &[]).success();
    let judged = dir.path().join("out");
    for (examination, position, message) in [
        ("Reachabilitydeadlock", "0", "there is 1: ReachabilityDeadlock; did you mean"),
        ("ReachabilityDeadlock", "x", "--position <N>': it is neither a whole number nor one of STATES"),
    ] {
        let mut refused = harness();
        refused.arg("explain").arg(&judged).args(["--instance", "F-PT-1"]);
        refused.args(["--examination", examination, "--position", position]);
        let stderr = refused.assert().code(2).get_output().stderr.clone();
        assert!(String::from_utf8_lossy(&stderr).contains(message), "{message}");
    }
}

/// A contest of three tools: they answer T, T and F on one instance, and all T on another.
fn three_tools() -> TempDir {
    table(&format!(
        "{HEADER}a,F-PT-1,ReachabilityDeadlock,T,\nb,F-PT-1,ReachabilityDeadlock,T,\nc,F-PT-1,ReachabilityDeadlock,F,\n\
         a,G-PT-1,ReachabilityDeadlock,T,\nb,G-PT-1,ReachabilityDeadlock,T,\nc,G-PT-1,ReachabilityDeadlock,T,\n"
    ))
}

#[test]
fn an_override_decides_and_is_shown_with_its_reason() {
    let dir = three_tools();
    let header = "instance,examination,position,value,reason\n";
    let write =
        |rows: &str| std::fs::write(dir.path().join("overrides.csv"), format!("{header}{rows}")).unwrap();
    write(
        "F-PT-1,ReachabilityDeadlock,00,F,\"checked by hand, see minutes\"\nG-PT-1,ReachabilityDeadlock,0,unknown,the model is broken\n",
    );
    let judged = judge(&dir, &["--overrides", "overrides.csv"]).success();
    let said = String::from_utf8_lossy(&judged.get_output().stdout).into_owned();
    assert!(said.contains("trusted values set by the organizers (overrides.csv): 2\n"), "{said}");
    let out = dir.path().join("out");
    let trusted = rows(&out.join("trusted.csv"));
    let shown: Vec<[&str; 4]> = trusted
        .iter()
        .map(|row| ["value", "basis", "backers", "against"].map(|column| &*row[column]))
        .collect();
    assert_eq!(shown, [["F", "override", "c", "a b"], ["", "override", "", ""]]);
    let reasons = rows(&out.join("overrides.csv"));
    assert_eq!((&*reasons[0]["reason"], &*reasons[1]["value"]), ("checked by hand, see minutes", "unknown"));
    assert_eq!(rows(&out.join("weak.csv")).len(), 0, "an overridden value is not weak");
    let points: Vec<String> = rows(&out.join("scores.csv")).iter().map(|row| row["points"].clone()).collect();
    assert_eq!(points, ["-32", "-32", "16"]);
    // Overrides do not change confidences.
    let confidence = rows(&out.join("confidence.csv"));
    assert_eq!((&*confidence[2]["agreed"], &*confidence[2]["answered"]), ("1", "1"));
    for position in [&["--position", "0"][..], &[]] {
        let block = [&["--instance", "F-PT-1", "--examination", "ReachabilityDeadlock"], position].concat();
        let text = screen(&block, &out);
        assert!(text.contains("set by the organizers: checked by hand, see minutes"), "{text}");
    }
    let text = std::fs::read_to_string(out.join("judgement.json")).unwrap();
    assert!(text.contains("checked by hand, see minutes") && text.contains("overrides.csv"), "{text}");

    std::fs::remove_dir_all(&out).unwrap();
    for (row, parts) in [
        ("F-PT-2,ReachabilityDeadlock,0,F,x\n", &["overrides.csv:2:", "`F-PT-2`"][..]),
        ("F-PT-1,Deadlock,0,F,x\n", &["overrides.csv:2:", "`Deadlock`"]),
        ("F-PT-1,ReachabilityDeadlock,1,F,x\n", &["overrides.csv:2:", "`1`", "00 to 00"]),
        ("F-PT-1,ReachabilityDeadlock,0,7,x\n", &["overrides.csv:2:", "`7`", "T, F"]),
        ("F-PT-1,ReachabilityDeadlock,0,?,x\n", &["overrides.csv:2:", "`?`", "unknown"]),
        ("F-PT-1,ReachabilityDeadlock,0,F, \n", &["overrides.csv:2:", "reason"]),
        (
            "F-PT-1,ReachabilityDeadlock,0,F,x\nF-PT-1,ReachabilityDeadlock,00,T,y\n",
            &["overrides.csv:3:", "twice"],
        ),
    ] {
        write(row);
        refused(&dir, &["--overrides", "overrides.csv"], parts);
    }
}

#[test]
fn a_tool_without_runs_where_others_ran_is_flagged() {
    let mut content = HEADER.to_owned();
    for (tool, instances) in [
        ("a", &["F-PT-1", "F-PT-2", "G-PT-1"][..]),
        ("b", &["F-PT-1", "F-PT-2"]),
        ("c", &["F-PT-1", "G-PT-1"]),
    ] {
        for instance in instances {
            content += &format!("{tool},{instance},ReachabilityDeadlock,T,\n");
        }
    }
    // b is listed without a value: published tables list tools that never started in this way.
    content += "a,F-PT-1,UpperBounds,1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1,\nb,F-PT-1,UpperBounds,? ? ? ? ? ? ? ? ? ? ? ? ? ? ? ?,\n";
    let dir = table(&content);
    judge(&dir, &[]).success();
    let flags = std::fs::read_to_string(dir.path().join("out/flags.csv")).unwrap();
    let expected = "kind,tool,examination,family,instance,position,detail\n\
        absent,b,UpperBounds,,,,neither value nor ending on instances that other tools ran: 1; the entry ran in 1 of 2 examinations\n\
        absent,b,ReachabilityDeadlock,G,,,no run on instances that other tools ran: 1; the entry ran on other models\n\
        absent,c,UpperBounds,,,,no run on instances that other tools ran: 1; the entry ran in 1 of 2 examinations\n";
    assert_eq!(flags, expected);
}

#[test]
fn the_edition_sets_the_awards_and_the_tie_margin() {
    let dir = three_tools();
    let awards = ("awards = [\"road-runner\", \"camel\"]", "awards = [\"most-right\", \"most-unique\"]");
    let edition = edition_file(dir.path(), awards.0, awards.1);
    let text = std::fs::read_to_string(&edition).unwrap().replace("tie_margin = 0", "tie_margin = 100");
    std::fs::write(&edition, text).unwrap();
    std::fs::write(
        dir.path().join("o.csv"),
        "instance,examination,position,value,reason\nF-PT-1,ReachabilityDeadlock,0,F,x\n",
    )
    .unwrap();
    let mut command = harness();
    command.current_dir(dir.path()).args([
        "judge",
        "answers.csv",
        "--edition",
        "edition.toml",
        "--out",
        "out",
    ]);
    command.args(["--overrides", "o.csv"]).assert().success();
    let awards = std::fs::read_to_string(dir.path().join("out/awards.csv")).unwrap();
    let expected = "category,award,rank,tool,runs_compared,value,unit\n\
        Reachability,most-right,1,c,2,2,values\nReachability,most-right,2,a,2,1,values\nReachability,most-right,2,b,2,1,values\n\
        Reachability,most-unique,1,c,2,1,values\n";
    assert_eq!(awards, expected);
    let ranks: Vec<String> =
        rows(&dir.path().join("out/podiums.csv")).iter().map(|row| row["rank"].clone()).collect();
    assert_eq!(ranks, ["1", "1", "1"]);
}
