//! The commands `judge` and `explain`.

use crate::support::data;
use crate::support::tables::rows;
mod judge_properties;
mod judge_scenarios;

use assert_cmd::Command;
use mcc_harness::judge::judgement::Judgement;
use num_rational::BigRational;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn harness() -> Command {
    Command::cargo_bin("mcc-harness").unwrap()
}

fn fraction(text: &str) -> BigRational {
    text.parse().unwrap()
}

/// Judges the contest of 2018 under its edition, with one text of the edition replaced if `change` is given.
fn judge_2018(change: Option<(&str, &str)>) -> TempDir {
    judge_2018_in(change, &[])
}

/// Judges the contest of 2018 with more arguments.
fn judge_2018_with(more: &[&str]) -> TempDir {
    judge_2018_in(None, more)
}

fn judge_2018_in(change: Option<(&str, &str)>, more: &[&str]) -> TempDir {
    let answers = data::published("mcc/2018/answers.csv.gz");
    let models = data::published("mcc/2018/models.csv");
    let dir = TempDir::new().unwrap();
    let edition = match change {
        None => PathBuf::from("mcc-2018"),
        Some((from, to)) => edition_file(dir.path(), from, to),
    };
    let judged = harness()
        .args(["judge".as_ref(), answers.as_os_str(), "--edition".as_ref(), edition.as_os_str()])
        .args(["--models".as_ref(), models.as_os_str(), "--out".as_ref(), dir.path().as_os_str()])
        .args(more)
        .assert()
        .success();
    assert_eq!(String::from_utf8_lossy(&judged.get_output().stderr), "");
    dir
}

/// Writes the edition of 2018 with one text replaced.
fn edition_file(dir: &Path, from: &str, to: &str) -> PathBuf {
    let text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/editions/mcc-2018.toml")).unwrap();
    assert!(text.contains(from), "{from}");
    let path = dir.join("edition.toml");
    std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
    path
}

/// The places of a podium: tool, medal, and points rounded to integers.
fn podium(dir: &Path, category: &str) -> Vec<(String, String, String)> {
    let places = rows(&dir.join("podiums.csv")).into_iter().filter(|row| row["category"] == category);
    places
        .map(|row| (row["tool"].clone(), row["medal"].clone(), fraction(&row["points"]).round().to_string()))
        .collect()
}

#[test]
fn the_contest_of_2018_is_reproduced_exactly() {
    let dir = judge_2018(None);
    let dir = dir.path();

    let mut bases: BTreeMap<String, usize> = BTreeMap::new();
    let trusted = rows(&dir.join("trusted.csv"));
    assert_eq!(trusted.len(), 110_799);
    trusted.iter().for_each(|row| *bases.entry(row["basis"].clone()).or_default() += 1);
    let counted: Vec<(&str, usize)> = bases.iter().map(|(basis, count)| (basis.as_str(), *count)).collect();
    let expected = [
        ("confidence", 10),
        ("majority", 49),
        ("single", 8868),
        ("unanimous", 91_799),
        ("unknown:none", 10_073),
    ];
    assert_eq!(counted, expected);
    assert!(trusted.iter().all(|row| row["value"].is_empty() == row["basis"].starts_with("unknown:")));

    let text = std::fs::read_to_string(dir.join("judgement.json")).unwrap();
    let judgement: Judgement = serde_json::from_str(&text).unwrap();
    assert_eq!(judgement.common_values, 75_942);
    let complete = judgement.blocks.iter().filter(|block| block.trusted.iter().all(|t| t.value.is_some()));
    assert_eq!((complete.count(), judgement.blocks.len()), (6404, 8523));
    assert!(judgement.unresolved.is_empty() && judgement.awards.is_empty());

    let confidence = rows(&dir.join("confidence.csv"));
    for (tool, agreed, answered) in [
        ("LoLA", 68_739, 68_745),
        ("TINA.tedd", 2084, 2090),
        ("GreatSPN", 30_717, 30_717),
        ("LTSMin", 47_235, 47_249),
    ] {
        let row = confidence.iter().find(|row| row["tool"] == tool).unwrap();
        assert_eq!(
            (row["agreed"].as_str(), row["answered"].as_str()),
            (&*agreed.to_string(), &*answered.to_string())
        );
        assert_eq!(fraction(&row["confidence"]), BigRational::new(agreed.into(), answered.into()));
    }

    for (category, medallists) in [
        ("StateSpace", [("GreatSPN", "1519"), ("TINA.tedd", "1509"), ("ITS-Tools.L", "1052")]),
        ("UpperBounds", [("LoLA", "2014"), ("Tapaal", "1474"), ("GreatSPN", "1435")]),
        ("Reachability", [("Tapaal", "6594"), ("LoLA", "6156"), ("ITS-Tools.L", "5327")]),
        ("CTL", [("Tapaal", "4320"), ("LoLA", "3653"), ("ITS-Tools", "2041")]),
        ("LTL", [("LoLA", "4649"), ("LTSMin", "4072"), ("ITS-Tools.L", "3561")]),
    ] {
        let first = podium(dir, category).into_iter().take(3);
        let expected = medallists.iter().zip(["gold", "silver", "bronze"]);
        let expected =
            expected.map(|((tool, points), medal)| (tool.to_string(), medal.to_string(), points.to_string()));
        assert!(first.eq(expected), "{category}: {:?}", podium(dir, category));
    }
}

#[test]
fn only_the_best_variant_is_ranked_and_no_virtual_tool() {
    let dir = judge_2018(None);
    let places = rows(&dir.path().join("podiums.csv"));
    let place = |category: &str, tool: &str| {
        let row = places.iter().find(|row| row["category"] == category && row["tool"] == tool).unwrap();
        (row["rank"].clone(), row["variant"].clone(), row["medal"].clone())
    };
    let is = |rank: &str, variant: &str, medal: &str| (rank.to_owned(), variant.to_owned(), medal.to_owned());
    assert_eq!(place("Reachability", "ITS-Tools.L"), is("3", "best", "bronze"));
    assert_eq!(place("Reachability", "ITS-Tools"), is("", "other", ""));
    assert_eq!(place("CTL", "ITS-Tools"), is("3", "best", "bronze"));
    assert_eq!(place("CTL", "BVT"), is("", "", ""));
    assert_eq!(place("CTL", "Tapaal"), is("1", "", "gold"));
    let explained = harness().arg("explain").arg(dir.path()).args(["--tool", "ITS-Tools"]).assert().success();
    let explained = String::from_utf8_lossy(&explained.get_output().stdout).into_owned();
    let explained = explained.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(explained.contains("(the best variant, ITS-Tools.L, has rank 3, bronze)"), "{explained}");
    let tools = rows(&dir.path().join("tools.csv"));
    let tool = |entry: &str| tools.iter().find(|row| row["entry"] == entry).unwrap();
    assert_eq!((tool("Irma.full")["tool"].as_str(), tool("Irma.full")["variant"].as_str()), ("Irma", "full"));
    assert_eq!(tool("BVT")["status"], "virtual");
}

#[test]
fn without_normalization_tina_wins_state_space_of_2018() {
    let dir = judge_2018(Some(("\"family-linear\"", "\"none\"")));
    let podium = podium(dir.path(), "StateSpace");
    let first: Vec<(&str, &str)> =
        podium.iter().take(2).map(|(tool, _, points)| (tool.as_str(), points.as_str())).collect();
    assert_eq!(first, [("TINA.tedd", "12064"), ("GreatSPN", "11876")]);
}

#[test]
fn confidence_over_all_values_leaves_single_votes_unknown() {
    let dir = judge_2018(Some(("\"answered\"", "\"all-trusted\"")));
    let trusted = rows(&dir.path().join("trusted.csv"));
    let count = |basis: &str| trusted.iter().filter(|row| row["basis"] == basis).count();
    assert_eq!((count("single"), count("unknown:single")), (0, 8868));
    let lola =
        rows(&dir.path().join("confidence.csv")).into_iter().find(|row| row["tool"] == "LoLA").unwrap();
    assert_eq!(fraction(&lola["confidence"]), BigRational::new(68_739.into(), 75_942.into()));
}

#[test]
fn explain_shows_an_error_of_2018_on_one_screen() {
    let dir = judge_2018(None);
    let mut explain = harness();
    explain.arg("explain").arg(dir.path());
    explain.args(["--instance", "TokenRing-PT-010", "--examination", "CTLCardinality", "--position", "08"]);
    let screen = String::from_utf8(explain.assert().success().get_output().stdout.clone()).unwrap();
    assert!(screen.lines().count() <= 40, "{screen}");
    for part in [
        "trusted value FALSE",
        "How the value was decided: the votes",
        "more than half",
        "68739 of 68745 values",
    ] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    let lola = screen.lines().find(|line| line.starts_with("LoLA")).unwrap();
    assert!(lola.contains(" TRUE ") && lola.contains("wrong") && lola.contains("-110/663"), "{lola}");
    let json = explain.args(["--format", "json"]).assert().success().get_output().stdout.clone();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["positions"][0]["value"], "F");
    assert_eq!(json["positions"][0]["basis"], "majority");

    let mut unknown = harness();
    unknown.arg("explain").arg(dir.path());
    unknown.args(["--instance", "TokenRing-PT-10", "--examination", "CTLCardinality"]);
    let unknown = unknown.assert().code(2);
    let message = String::from_utf8_lossy(&unknown.get_output().stderr).into_owned();
    assert!(message.contains("no instance `TokenRing-PT-10`"), "{message}");
    assert!(message.contains("did you mean `TokenRing-PT-010`?"), "{message}");
}

/// The examples of commands that need neither a machine nor files of a campaign, as `--help` shows them.
#[test]
fn examples_of_help_are_run_in_a_shell() {
    let dir = judge_2018(None);
    let folder = TempDir::new().unwrap();
    std::os::unix::fs::symlink(dir.path(), folder.path().join("judged")).unwrap();
    for completions in [".local/share/bash-completion/completions", ".zfunc"] {
        std::fs::create_dir_all(folder.path().join(completions)).unwrap();
    }
    let program = Path::new(env!("CARGO_BIN_EXE_mcc-harness")).parent().unwrap();
    let path = format!("{}:/usr/bin:/bin", program.display());
    for command in ["edition", "rule", "explain", "man", "completions"] {
        let help = harness().args([command, "--help"]).assert().success().get_output().stdout.clone();
        let help = String::from_utf8(help).unwrap();
        let examples = help.split("Examples:").nth(1).unwrap_or_else(|| panic!("{help}"));
        for line in examples.lines().filter(|line| line.starts_with("  mcc-harness")) {
            let mut shell = Command::new("bash");
            shell
                .args(["-ec", line])
                .current_dir(folder.path())
                .env("PATH", &path)
                .env("HOME", folder.path());
            shell.assert().success();
        }
    }
    assert!(folder.path().join("man/man1/mcc-harness-run.1").is_file());
    assert!(folder.path().join(".zfunc/_mcc-harness").is_file());
}

/// What is asked about must be named, and a record is judged before it is explained.
#[test]
fn explain_and_report_say_what_to_do_with_other_folders() {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("record.db"), "").unwrap();
    std::fs::write(dir.path().join("file"), "text").unwrap();
    let refused = |args: &[&str]| {
        let assert = harness().args(args).current_dir(dir.path()).assert().code(2);
        String::from_utf8_lossy(&assert.get_output().stderr).into_owned()
    };
    assert!(refused(&["explain", "."]).contains("or --tool NAME for the points of a tool"));
    let judge = "is the record of a campaign; judge it first: mcc-harness judge . --out JUDGED";
    for args in [&["explain", ".", "--tool", "a"][..], &["report", ".", "--out", "site"]] {
        let message = refused(args);
        assert!(message.contains(judge), "{message}");
    }
    let message = refused(&["certify", "file", "--instances", ".", "--out", "certified"]);
    assert!(message.contains("file is a file, and not an archive"), "{message}");
    assert!(refused(&["explain", "none", "--tool", "a"]).contains("none does not exist"));
    let message = refused(&["judge", "file", "--out", "judged", "--time-ratio", "3"]);
    assert!(message.contains("--time-ratio needs --compare"), "{message}");
}

const HEADER: &str = "tool,instance,examination,answers,wrong\n";

/// Returns a folder with the table `answers.csv`.
fn table(content: &str) -> TempDir {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("answers.csv"), content).unwrap();
    dir
}

fn judge(dir: &TempDir, more: &[&str]) -> assert_cmd::assert::Assert {
    let mut judge = harness();
    judge.current_dir(dir.path()).args(["judge", "answers.csv", "--edition", "mcc-2018", "--out", "out"]);
    judge.args(more).assert()
}

fn refused(dir: &TempDir, more: &[&str], parts: &[&str]) {
    let judged = judge(dir, more).code(2);
    let message = String::from_utf8_lossy(&judged.get_output().stderr).into_owned();
    parts.iter().for_each(|part| assert!(message.contains(part), "`{part}` is not in: {message}"));
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(!dir.path().join("out/judgement.json").exists());
}

#[test]
fn numbers_of_24000_digits_and_infinite_bounds_are_exact() {
    let long = "7".repeat(24_000);
    let other = format!("{}8", &long[1..]);
    let infinite = |first: &str| format!("{first}{}", " ?".repeat(15));
    let dir = table(&format!(
        "{HEADER}a,F-PT-1,StateSpace,{long} -1 1 2,\nb,F-PT-1,StateSpace,{long} ? 1 2,\n\
         c,F-PT-1,StateSpace,{other} ? 1 2,\nd,F-PT-1,StateSpace,{long} ? 1 2,\n\
         a,F-PT-1,UpperBounds,{inf},\nb,F-PT-1,UpperBounds,{inf},\nc,F-PT-1,UpperBounds,{nine},\n\
         d,F-PT-1,UpperBounds,{inf},\n",
        inf = infinite("inf"),
        nine = infinite("9"),
    ));
    judge(&dir, &[]).success();
    let out = dir.path().join("out");
    let trusted = rows(&out.join("trusted.csv"));
    let at = |examination: &str, position: &str| {
        trusted.iter().find(|row| row["examination"] == examination && row["position"] == position).unwrap()
    };
    let states = at("StateSpace", "00");
    assert_eq!(
        (states["value"].as_str(), states["backers"].as_str(), states["against"].as_str()),
        (&*long, "a b d", "c")
    );
    assert_eq!(at("StateSpace", "01")["basis"], "unknown:none");
    let bound = at("UpperBounds", "00");
    assert_eq!(
        (bound["value"].as_str(), bound["basis"].as_str(), bound["against"].as_str()),
        ("inf", "majority", "c")
    );
    let scores = rows(&out.join("scores.csv"));
    let points = |tool: &str| scores.iter().find(|row| row["tool"] == tool).unwrap()["points"].clone();
    assert_eq!((points("a"), points("c")), ("12".to_owned(), "0".to_owned()));
}

#[test]
fn a_rounded_answer_makes_its_position_compare_by_five_digits() {
    let dir = table(&format!(
        "{HEADER}a,F-PT-1,StateSpace,320565001 123456 7 Inf,\nb,F-PT-1,StateSpace,3.2057E+0008 123457 7.0000E+0000 Inf,\n\
         c,F-PT-1,StateSpace,320565002 ? ? X,\n"
    ));
    judge(&dir, &[]).success();
    let trusted = rows(&dir.path().join("out/trusted.csv"));
    let shown: Vec<(&str, &str)> = trusted.iter().map(|row| (&*row["value"], &*row["basis"])).collect();
    let expected = [
        ("3.2057E+0008", "unanimous"),
        ("", "unknown:tie"),
        ("7.0000E+0000", "unanimous"),
        ("Inf", "majority"),
    ];
    assert_eq!(shown, expected);
}

/// What `explain` says of StateSpace of F-PT-1 when each tool has one vote; p.a and p.b are variants of the tool p.
fn explained_per_tool(dir: &TempDir) -> serde_json::Value {
    let tools = "entry,tool,status\np.a,p,competing\np.b,p,competing\n";
    std::fs::write(dir.path().join("tools.csv"), tools).unwrap();
    judge(dir, &["--tools", "tools.csv", "--votes", "per-tool"]).success();
    let explained = harness()
        .current_dir(dir.path())
        .args(["explain", "out", "--instance", "F-PT-1", "--examination", "StateSpace", "--format", "json"])
        .assert()
        .success();
    serde_json::from_slice(&explained.get_output().stdout).unwrap()
}

#[test]
fn explain_counts_rounded_votes_of_variants_once_per_tool() {
    let dir = table(&format!(
        "{HEADER}p.a,F-PT-1,StateSpace,3.2057E+0008 ? ? ?,\np.b,F-PT-1,StateSpace,320570001 ? ? ?,\n\
         q,F-PT-1,StateSpace,320570002 ? ? ?,\nr,F-PT-1,StateSpace,320570003 ? ? ?,\n"
    ));
    let json = explained_per_tool(&dir);
    let position = &json["positions"][0];
    assert_eq!((&position["backing"], &position["voting"]), (&"3".into(), &"3".into()), "{position}");
}

#[test]
fn explain_names_the_tools_without_a_vote_and_the_cause_of_a_single_vote() {
    let dir = table(&format!(
        "{HEADER}p.a,F-PT-1,StateSpace,5 5 X ?,\np.b,F-PT-1,StateSpace,6 6 ? ?,\n\
         q,F-PT-1,StateSpace,5 ? ? 8,\nr,F-PT-1,StateSpace,5 ? ? ?,\n"
    ));
    let json = explained_per_tool(&dir);
    let shown =
        |position: usize| ["basis", "rule"].map(|key| json["positions"][position][key].as_str().unwrap());
    let without = "; p has no vote, because its variants differ";
    assert_eq!(shown(0), ["unanimous", &format!("all votes agree{without}")]);
    assert_eq!(shown(1), ["unknown:split", &format!("there is no vote{without}")]);
    let not_stated = "there is one vote, and the judged table does not state its value";
    assert_eq!(shown(2), ["unknown:single", not_stated]);
    assert_eq!(shown(3), ["unknown:single", "there is one vote, and its confidence is below 97 %"]);
}

#[test]
fn an_answer_marked_wrong_costs_points_in_2024_only() {
    let unknown = " ?".repeat(15);
    let dir = table(&format!(
        "{HEADER}a,F-PT-1,UpperBounds,X{unknown},\nb,F-PT-1,UpperBounds,?{unknown},\n\
         a,F-PT-1,CTLCardinality,T???????????????,01\nb,F-PT-1,CTLCardinality,T???????????????,\n"
    ));
    let score = |edition: &str, examination: &str| {
        harness()
            .current_dir(dir.path())
            .args(["judge", "answers.csv", "--edition", edition, "--out", "out"])
            .assert()
            .success();
        let scores = rows(&dir.path().join("out/scores.csv"));
        let row =
            scores.into_iter().find(|row| row["tool"] == "a" && row["examination"] == examination).unwrap();
        ["right", "wrong", "unjudged", "points"].map(|column| row[column].clone())
    };
    for edition in ["mcc-2018", "mcc-2023", "mcc-2025"] {
        assert_eq!(score(edition, "UpperBounds"), ["0", "0", "1", "0"], "{edition}");
        assert_eq!(score(edition, "CTLCardinality"), ["1", "0", "0", "1"], "{edition}");
    }
    assert_eq!(score("mcc-2024", "UpperBounds"), ["0", "1", "0", "-2"]);
    assert_eq!(score("mcc-2024", "CTLCardinality"), ["1", "1", "0", "-1"]);

    // The trusted values of its wrong answers are unknown, so it lost their penalties there and no points to gain.
    let explain = ["explain", "out", "--tool", "a", "--format", "json"];
    let explained = harness().current_dir(dir.path()).args(explain).assert().success();
    let json: serde_json::Value = serde_json::from_slice(&explained.get_output().stdout).unwrap();
    let sum = |list: &str, column: &str| -> BigRational {
        let items = json[list].as_array().unwrap().iter();
        items.map(|item| fraction(item[column].as_str().unwrap())).sum()
    };
    let points = sum("examinations", "points");
    assert_eq!(points + sum("losses", "missing"), sum("examinations", "possible"), "{json}");
}

#[test]
fn oracles_are_read_before_anything_is_judged() {
    let row = |tool: &str| format!("{tool},F-PT-1,StateSpace,7 8 1 1,\n");
    let dir = table(&format!("{HEADER}{}{}", row("a"), row("b")));
    refused(&dir, &["--oracle", "absent"], &["cannot read absent"]);
    assert!(!dir.path().join("out").exists());
    // A bad line is a warning; the other lines are compared.
    std::fs::create_dir(dir.path().join("oracle")).unwrap();
    let text =
        "F-PT-1 StateSpace\nSTATE_SPACE STATES 7 TECHNIQUES X\nSTATE_SPACE TRANSITIONS many TECHNIQUES X\n";
    std::fs::write(dir.path().join("oracle/F-PT-1-SS.out"), text).unwrap();
    let judged = judge(&dir, &["--oracle", "oracle"]).success();
    let note = String::from_utf8_lossy(&judged.get_output().stderr).into_owned();
    assert!(note.contains("warning: oracle: oracle/F-PT-1-SS.out:3: "), "{note}");
    assert!(note.contains("oracle: equal values: 1; different values: 0;"), "{note}");
}

#[test]
fn times_up_to_a_year_are_accepted_and_summed() {
    let header = mcc_harness::benchkit::contest_table::HEADER.join(",");
    let row = |tool, instance| {
        let measured = "12.5,31622400000,1000,0.5";
        format!("{tool},{instance},ReachabilityDeadlock,4,,,T,A,{measured},normal,r1,,,\n")
    };
    let given = ["a", "b"].map(|tool| ["F-PT-1", "G-PT-1"].map(|instance| row(tool, instance)).concat());
    let dir = table(&format!("{header}\n{}", given.concat()));
    judge(&dir, &[]).success();
    let runner = rows(&dir.path().join("out/awards.csv")).remove(0);
    // A complete run costs at most the charge of a run that is not complete.
    assert_eq!((&*runner["award"], &*runner["value"]), ("road-runner", "28800000"));
}

#[test]
fn families_from_names_are_noted_unless_a_models_file_is_given() {
    let dir = table(&format!(
        "{HEADER}a,F-COL-1,ReachabilityDeadlock,T,\na,F-PT-1,ReachabilityDeadlock,T,\na,G-PT-1,ReachabilityDeadlock,T,\n\
         b,F-COL-1,ReachabilityDeadlock,T,\nb,F-PT-1,ReachabilityDeadlock,T,\nb,G-PT-1,ReachabilityDeadlock,?,\n"
    ));
    let normalized = || -> Vec<String> {
        rows(&dir.path().join("out/scores.csv")).into_iter().map(|row| row["normalized"].clone()).collect()
    };
    let judged = judge(&dir, &[]).success();
    let note = String::from_utf8_lossy(&judged.get_output().stderr).into_owned();
    assert!(note.contains("--models") && note.contains("3 of 3 instances"), "{note}");
    // The weight of F is 2, half of it for each instance. The answer of a on G is a single vote without confidence.
    assert_eq!(normalized(), ["32", "32"]);
    let models =
        "instance,scale,family,status\nF-COL-1,1,F,surprise\nF-PT-1,1,F,surprise\nG-PT-1,1,G,known\n";
    std::fs::write(dir.path().join("models.csv"), models).unwrap();
    let judged = judge(&dir, &["--models", "models.csv"]).success();
    let notes = String::from_utf8_lossy(&judged.get_output().stderr).into_owned();
    assert!(
        notes.starts_with("note: confidence could not be measured") && notes.lines().count() == 2,
        "{notes}"
    );
    let lost = "warning: a in ReachabilityDeadlock: its confidence could not be measured";
    assert!(notes.contains(lost) && notes.contains("not trusted for this reason: 1; its rank"), "{notes}");
    let flags = rows(&dir.path().join("out/flags.csv"));
    let flagged: Vec<_> =
        flags.iter().map(|row| (&*row["kind"], &*row["tool"], &*row["examination"])).collect();
    assert_eq!(flagged[0], ("no-confidence", "a", "ReachabilityDeadlock"), "{flags:?}");
    assert_eq!(normalized(), ["128", "128"]);
}

#[test]
fn entries_that_do_not_compete_neither_vote_nor_rank() {
    let mut content = HEADER.to_owned();
    for (tool, answer) in [("a", "T"), ("b", "T"), ("c", "T"), ("x", "F"), ("y", "F"), ("z", "F"), ("w", "F")]
    {
        content += &format!("{tool},F-PT-1,ReachabilityDeadlock,{answer},\n");
    }
    let dir = table(&content);
    let tools = "entry,tool,status,note\nx,x,withdrawn,T-5: precomputed results\ny,y,resigned,\nz,z,out-of-competition,\nw,w,virtual,\n";
    std::fs::write(dir.path().join("tools.csv"), tools).unwrap();
    judge(&dir, &["--tools", "tools.csv"]).success();
    let out = dir.path().join("out");
    let trusted = &rows(&out.join("trusted.csv"))[0];
    assert_eq!((&*trusted["basis"], &*trusted["backers"], &*trusted["against"]), ("unanimous", "a b c", ""));
    let ranked: Vec<(String, String)> = rows(&out.join("podiums.csv"))
        .into_iter()
        .map(|row| (row["rank"].clone(), row["tool"].clone()))
        .collect();
    let pair = |rank: &str, tool: &str| (rank.to_owned(), tool.to_owned());
    assert_eq!(ranked, [pair("1", "a"), pair("1", "b"), pair("1", "c"), pair("", "w"), pair("", "z")]);
    let tools = std::fs::read_to_string(out.join("tools.csv")).unwrap();
    assert!(
        tools.contains("x,x,,withdrawn,,T-5: precomputed results\n") && !tools.contains("\ny,"),
        "{tools}"
    );
    for file in std::fs::read_dir(&out).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            !text.contains("\"y\"") && !text.contains(",y,"),
            "{} names a resigned entry",
            path.display()
        );
    }
    let scores = std::fs::read_to_string(out.join("scores.csv")).unwrap();
    assert!(
        !scores.contains("\nx,") && scores.contains("z,ReachabilityDeadlock,0,1,0,-32,-32\n"),
        "{scores}"
    );
}

#[test]
fn an_entry_resigned_by_the_edition_is_named_nowhere() {
    let dir = table(&format!(
        "{HEADER}LoLA,F-PT-1,ReachabilityDeadlock,T,\nM4M.full,F-PT-1,ReachabilityDeadlock,F,\n"
    ));
    let from = "pattern = \"BVT*\"\nstatus = \"virtual\"";
    let edition = edition_file(dir.path(), from, "pattern = \"M4M.f*\"\nstatus = \"resigned\"");
    let out = dir.path().join("out");
    let arguments = ["judge", "answers.csv", "--edition", edition.to_str().unwrap(), "--out", "out"];
    harness().current_dir(dir.path()).args(arguments).assert().success();
    for file in std::fs::read_dir(&out).unwrap() {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("M4M.f"), "{} names a resigned entry", path.display());
    }
    assert_eq!(rows(&out.join("scores.csv"))[0]["tool"], "LoLA");
}

#[test]
fn an_edition_that_withdraws_an_entry_needs_a_reason() {
    let dir =
        table(&format!("{HEADER}LoLA,F-PT-1,ReachabilityDeadlock,T,\nM4M,F-PT-1,ReachabilityDeadlock,F,\n"));
    let from = "pattern = \"BVT*\"\nstatus = \"virtual\"";
    let arguments = |edition: &Path| {
        ["judge", "answers.csv", "--edition", edition.to_str().unwrap(), "--out", "out"].map(str::to_owned)
    };
    let without_reason = edition_file(dir.path(), from, "pattern = \"M4M\"\nstatus = \"withdrawn\"");
    let refused = harness().current_dir(dir.path()).args(arguments(&without_reason)).assert().code(2);
    let message = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(message.contains("needs a `note`"), "{message}");
    let with_reason =
        edition_file(dir.path(), from, "pattern = \"M4M\"\nstatus = \"withdrawn\"\nnote = \"T-5\"");
    harness().current_dir(dir.path()).args(arguments(&with_reason)).assert().success();
    let tools = rows(&dir.path().join("out/tools.csv"));
    let shown: Vec<[&str; 3]> =
        tools.iter().map(|row| ["entry", "status", "note"].map(|column| &*row[column])).collect();
    assert_eq!(shown, [["LoLA", "competing", ""], ["M4M", "withdrawn", "T-5"]]);
}

#[test]
fn bad_input_gets_one_line_with_file_line_and_remedy() {
    let good = "a,F-PT-1,ReachabilityDeadlock,T,\n";
    for (content, parts) in [
        (
            "tool,input\n".to_owned(),
            &["answers.csv:1:", "`tool,input`", "tool,instance,examination,answers,wrong"][..],
        ),
        (format!("{HEADER}{good}a,F-PT-2,ReachabilityDeadlock,T\n"), &["answers.csv:3:", "4 columns", "5"]),
        (
            format!("{HEADER}{good}a,F-PT-2,Deadlock,T,\n"),
            &["answers.csv:3:", "`Deadlock`", "ReachabilityDeadlock"],
        ),
        (
            format!("{HEADER}{good}a,F-PT-2,ReachabilityDeadlock,TF,\n"),
            &["answers.csv:3:", "2 answers", "1 positions"],
        ),
        (
            format!("{HEADER}{good}a,F-PT-2,ReachabilityDeadlock,X,\n"),
            &["answers.csv:3:", "`X`", "T, F or ?"],
        ),
        (format!("{HEADER}a,F-PT-2,StateSpace,1 2 T 4,\n"), &["answers.csv:2:", "`T`", "d.ddddE+dddd"]),
        (format!("{HEADER}a,F-PT-2,StateSpace,1 2 3 4,04\n"), &["answers.csv:2:", "`04`", "00 to 03"]),
        (format!("{HEADER}{good}b{}{good}", &good[1..]), &["answers.csv:4:", "line 2"]),
    ] {
        refused(&table(&content), &[], parts);
    }
    let dir = table(&format!("{HEADER}{good}"));
    refused(&dir, &["--models", "none.csv"], &["none.csv", "No such file"]);
    for (name, content, parts) in [
        ("--models", "instance,family\n", &["t.csv:1:", "instance, family and status"][..]),
        (
            "--models",
            "instance,family,status\nF-PT-1,F,secret\n",
            &["t.csv:2:", "`secret`", "known, surprise"],
        ),
        ("--models", "instance,family,status\nG-PT-1,G,known\n", &["t.csv", "F-PT-1"]),
        ("--tools", "entry,status\n", &["t.csv:1:", "entry,tool,status"]),
        ("--tools", "entry,tool,status\na,a,retired\n", &["t.csv:2:", "`retired`", "out-of-competition"]),
        ("--tools", "entry,tool,status\na,a,withdrawn\n", &["t.csv:2:", "note"]),
        ("--tools", "entry,tool,status\nb,b,resigned\n", &["t.csv", "entry b", "entries are a"]),
    ] {
        std::fs::write(dir.path().join("t.csv"), content).unwrap();
        refused(&dir, &[name, "t.csv"], parts);
    }
    let mut unknown = harness();
    unknown.current_dir(dir.path()).args(["judge", "answers.csv", "--edition", "mcc-1999", "--out", "out"]);
    let unknown = unknown.assert().code(2);
    assert!(String::from_utf8_lossy(&unknown.get_output().stderr).contains("mcc-2018"));
}

#[test]
fn the_order_of_rows_does_not_change_the_tables() {
    let mut lines = vec![
        "a,F-PT-1,ReachabilityDeadlock,T,",
        "b,F-PT-1,ReachabilityDeadlock,F,",
        "a,F-PT-1,StateSpace,1 2 3 4,",
        "b,A-PT-1,StateSpace,1 2 3 ?,",
    ];
    let tables = |lines: &[&str]| {
        let dir = table(&format!("{HEADER}{}\n", lines.join("\n")));
        judge(&dir, &[]).success();
        let names = ["confidence", "trusted", "scores", "podiums", "awards", "tools"];
        names.map(|name| std::fs::read(dir.path().join(format!("out/{name}.csv"))).unwrap())
    };
    let first = tables(&lines);
    assert_eq!(tables(&lines), first);
    lines.reverse();
    assert_eq!(tables(&lines), first);
}

#[test]
fn judging_again_leaves_no_file_of_another_judgement() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let run = |arguments: &[&str]| harness().current_dir(folder.path()).args(arguments).assert().success();
    let files = || {
        let names = std::fs::read_dir(folder.path().join("out")).unwrap();
        names.map(|file| file.unwrap().file_name().into_string().unwrap()).collect::<BTreeSet<_>>()
    };
    let answers = "tool,instance,examination,answers,wrong\na,F-PT-1,ReachabilityDeadlock,T,\n";
    file("answers.csv", &format!("{answers}b,F-PT-1,ReachabilityDeadlock,T,\n"));
    let track = "track,benchmark,tool,verdict,memory_mb,time_s,expected,outcome,base_time_s\n";
    file("crv.csv", &format!("{track}java,1,a,T,10,2,T,ok,1\n"));
    let judge = ["judge", "answers.csv", "--edition", "mcc-2018", "--out", "out"];
    let crv = ["judge", "crv.csv", "--edition", "crv-2014", "--out", "out"];
    // A folder without a judgement that has a file with a name of one is refused; other files stay.
    std::fs::create_dir(folder.path().join("out")).unwrap();
    file("out/verdicts.csv", "mine\n");
    file("out/notes.csv", "mine\n");
    let refused = harness().current_dir(folder.path()).args(judge).assert().code(2);
    let message = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(message.contains("out/verdicts.csv has the name of a file of a judgement"), "{message}");
    assert_eq!(std::fs::read_to_string(folder.path().join("out/verdicts.csv")).unwrap(), "mine\n");
    std::fs::remove_file(folder.path().join("out/verdicts.csv")).unwrap();
    run(&judge);
    let plain = files();

    let with_oracle = [&judge[..], &["--sensitivity", "--oracle", "."]].concat();
    let refused = harness().current_dir(folder.path()).args(&with_oracle).assert().code(2);
    let message = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(message.contains("has no oracle file for a judged instance and examination"), "{message}");
    assert_eq!(files(), plain);
    file(
        "F-PT-1-RD.out",
        "F-PT-1 ReachabilityDeadlock\nFORMULA F-PT-1-ReachabilityDeadlock-0 TRUE TECHNIQUES ORACLE\n",
    );
    run(&with_oracle);
    let all = files();
    let more: Vec<&str> = all.difference(&plain).map(String::as_str).collect();
    assert_eq!(more, ["margins.csv", "oracle.csv", "sensitivity.csv"]);
    run(&crv);
    let of_crv = [
        "datapackage.json",
        "judgement.json",
        "notes.csv",
        "podiums.csv",
        "quantiles.csv",
        "ro-crate-metadata.json",
        "scores.csv",
        "tools.csv",
        "verdicts.csv",
    ];
    assert_eq!(files(), of_crv.map(str::to_owned).into());
    run(&judge);
    assert_eq!(files(), plain);
}
