//! `judge`, `report` and `explain` on SV-COMP through the command line.

use crate::support::tables::rows;
mod svcomp_properties;
mod svcomp_results;

use assert_cmd::Command;
use mcc_harness::other_contests::Judgement;
use num_rational::BigRational;
use predicates::prelude::PredicateBooleanExt;
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub fn harness() -> Command {
    Command::cargo_bin("mcc-harness").unwrap()
}

/// Judges `input` and returns stdout and stderr.
pub fn judge(input: &Path, edition: &str, out: &Path, more: &[&str]) -> (String, String) {
    let judged = harness()
        .args(["judge".as_ref(), input.as_os_str(), "--edition".as_ref(), edition.as_ref()])
        .args(["--out".as_ref(), out.as_os_str()])
        .args(more)
        .assert()
        .success();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&judged.get_output().stdout), text(&judged.get_output().stderr))
}

/// Rank, tool and points of a category; points are truncated as in the report of 2013.
pub fn podium(out: &Path, category: &str) -> Vec<(String, String, String)> {
    let places = rows(&out.join("podiums.csv")).into_iter().filter(|row| row["category"] == category);
    let cut = |points: &str| points.parse::<BigRational>().unwrap().trunc().to_string();
    places.map(|row| (row["rank"].clone(), row["tool"].clone(), cut(&row["points"]))).collect()
}

/// A result file as BenchExec writes it. `runs`: task, expected verdict, status, category, CPU and wall seconds.
fn result(benchmark: &str, name: &str, block: &str, runs: &[(&str, &str, &str, &str, &str, &str)]) -> String {
    let block = if block.is_empty() { String::new() } else { format!(" block=\"{block}\"") };
    let mut xml = format!(
        "<?xml version='1.0' encoding='utf-8'?>\n<!DOCTYPE result\n  PUBLIC '+//IDN sosy-lab.org//DTD BenchExec \
         result 3.0//EN'\n  'https://www.sosy-lab.org/benchexec/result-3.0.dtd'>\n<result \
         benchmarkname=\"{benchmark}\"{block} date=\"2023-11-29 10:00:00 CET\" name=\"{name}\" tool=\"Tool\" \
         timelimit=\"900s\">\n  <columns><column title=\"status\"/></columns>\n"
    );
    for (task, expected, status, category, cpu, wall) in runs {
        xml += &format!(
            "  <run name=\"{task}\" files=\"[{task}]\" properties=\"unreach-call\" expectedVerdict=\"{expected}\">\n    \
             <column title=\"status\" value=\"{status}\"/>\n    <column title=\"cputime\" value=\"{cpu}s\"/>\n    \
             <column title=\"walltime\" value=\"{wall}s\"/>\n    <column hidden=\"true\" title=\"category\" \
             value=\"{category}\"/>\n  </run>\n"
        );
    }
    xml + "</result>\n"
}

fn write(dir: &Path, name: &str, content: &str) -> PathBuf {
    let path = dir.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    if name.ends_with(".bz2") {
        let mut packed = bzip2::write::BzEncoder::new(vec![], bzip2::Compression::fast());
        packed.write_all(content.as_bytes()).unwrap();
        std::fs::write(&path, packed.finish().unwrap()).unwrap();
    } else {
        std::fs::write(&path, content).unwrap();
    }
    path
}

/// The example of the rules: category 1 has 10 tasks with result TRUE, category 2 has 10 with result FALSE.
fn example(dir: &Path) {
    for (tool, right) in [("A", [5, 5]), ("B", [10, 0]), ("C", [0, 10]), ("D", [8, 8])] {
        for (number, verdict) in ["true", "false"].into_iter().enumerate() {
            let tasks: Vec<String> = (0..10).map(|task| format!("c{number}/t{task}.yml")).collect();
            let runs: Vec<_> = tasks
                .iter()
                .enumerate()
                .map(|(at, task)| {
                    let solved = at < right[number];
                    let (status, category) =
                        if solved { (verdict, "correct") } else { ("unknown", "unknown") };
                    (task.as_str(), verdict, status, category, "1.5", "2")
                })
                .collect();
            let category = ["Category1", "Category2"][number];
            let text = result(tool, &format!("SV-COMP.{category}"), category, &runs);
            write(dir, &format!("{tool}.results.SV-COMP.{category}.xml.bz2"), &text);
        }
    }
    let categories = "category,tasks,parent\nCategory1,10,Overall\nCategory2,10,Overall\nOverall,20,\n";
    write(dir, "categories.csv", categories);
}

#[test]
fn the_example_of_the_rules_is_reproduced_from_result_files() {
    let (input, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    example(input.path());
    let (output, notes) = judge(input.path(), "svcomp-2024", out.path(), &[]);
    let overall = podium(out.path(), "Overall");
    let shown: Vec<String> =
        overall.iter().map(|(rank, tool, points)| format!("{rank} {tool} {points}")).collect();
    assert_eq!(shown, ["1 D 24", "2 B 20", "3 A 15", "4 C 10"]);
    assert!(output.contains("Overall\n   1  D"), "{output}");
    for part in
        ["correctness witnesses for the tasks of A, B, D", "violation witnesses for the tasks of A, C, D"]
    {
        assert!(notes.contains(&format!("no validation results of {part}, and")), "{notes}");
    }
    let site = out.path().join("site");
    harness().arg("report").arg(out.path()).arg("--out").arg(&site).assert().success();
    let page = std::fs::read_to_string(site.join("categories/Overall.html")).unwrap();
    let sum = "of score / number of tasks, times the average number of tasks of a part (";
    assert!(page.contains(sum), "{page}");
    // The last x of the quantile function is the score of the meta category.
    let quantiles = rows(&out.path().join("quantiles.csv"));
    for (_, tool, points) in overall {
        let mut steps = quantiles.iter().filter(|row| row["category"] == "Overall" && row["tool"] == tool);
        assert_eq!(steps.next_back().unwrap()["x"], points);
    }
    harness()
        .args(["explain".as_ref(), out.path().as_os_str()])
        .args(["--instance", "c0/t9.yml", "--examination", "Category1"])
        .assert()
        .success()
        .stdout(predicates::str::contains("the right answer is true"))
        .stdout(predicates::str::is_match("(?m)^B +true +right +2 +CPU time 1.5 s$").unwrap())
        .stdout(predicates::str::is_match("(?m)^A +unknown +unknown +0 ").unwrap());
    harness()
        .args(["explain".as_ref(), out.path().as_os_str()])
        .args(["--instance", "c0/t9.yml", "--examination", "Overall"])
        .assert()
        .code(2)
        .stderr(predicates::str::contains(": Overall is a meta category, which has no runs; "));
    harness()
        .args(["explain".as_ref(), out.path().as_os_str()])
        .args(["--tool", "C"])
        .assert()
        .success()
        .stdout(predicates::str::starts_with("C (svcomp-2024): competing\n"));
}

#[test]
fn a_pipe_or_link_among_result_files_is_refused_by_name() {
    let dir = TempDir::new().unwrap();
    let input = dir.path().join("in");
    example(&input);
    let refused = |name: &str, kind: &str| {
        let path = input.join(name);
        let said = harness()
            .args(["judge".as_ref(), input.as_os_str(), "--edition".as_ref(), "svcomp-2013".as_ref()])
            .args(["--out".as_ref(), dir.path().join("out").as_os_str()])
            .assert()
            .code(2);
        let said = String::from_utf8_lossy(&said.get_output().stderr).into_owned();
        assert!(said.contains(name) && said.contains(kind) && said.contains("or remove it"), "{said}");
        assert!(!dir.path().join("out").exists());
        std::fs::remove_file(path).unwrap();
    };
    nix::unistd::mkfifo(&input.join("E.results.xml"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    refused("E.results.xml", "a pipe");
    let first = walkdir::WalkDir::new(&input).into_iter().flatten().find(|file| file.file_type().is_file());
    for target in [first.unwrap().path(), "/nowhere".as_ref(), "/dev/zero".as_ref()] {
        std::os::unix::fs::symlink(target, input.join("F.xml.bz2")).unwrap();
        refused("F.xml.bz2", "a symbolic link");
    }
}

/// Judges and returns the message of an error of usage.
fn refused(input: &Path, edition: &str) -> String {
    let out = TempDir::new().unwrap();
    let judged = harness()
        .args(["judge".as_ref(), input.as_os_str(), "--edition".as_ref(), edition.as_ref()])
        .args(["--out".as_ref(), out.path().as_os_str()])
        .assert()
        .code(2);
    String::from_utf8_lossy(&judged.get_output().stderr).into_owned()
}

#[test]
fn a_task_that_is_written_in_two_ways_counts_once() {
    let (input, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let one =
        |task: &str| result("A", "SV-COMP.Loops", "Loops", &[(task, "true", "true", "correct", "5", "6")]);
    write(input.path(), "A1.xml", &one("l/1.yml").replace("unreach-call", "a b"));
    write(input.path(), "B.xml", &one("./l//1.yml").replace("unreach-call", "b a").replace("\"A\"", "\"B\""));
    judge(input.path(), "svcomp-2024", out.path(), &[]);
    let verdicts = rows(&out.path().join("verdicts.csv"));
    let tasks = verdicts.iter().map(|row| [&*row["instance"], &*row["property"]]);
    assert_eq!(tasks.collect::<Vec<_>>(), [["l/1.yml", "a b"]; 2]);
    write(input.path(), "A2.xml", &one("./l/1.yml").replace("unreach-call", "b  a"));
    let error = refused(input.path(), "svcomp-2024");
    assert!(error.contains("A on l/1.yml in Loops has a result in"), "{error}");
}

#[test]
fn a_validation_of_a_task_that_is_written_in_another_way_counts() {
    let (input, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let run = [("l/1.yml", "true", "true", "correct", "5", "6")];
    let text = result("A", "SV-COMP.Loops", "Loops", &run);
    write(input.path(), "A.xml", &text.replace("unreach-call", "a b"));
    let run = [("./l/1.yml", "true", "true", "correct", "5", "6")];
    let text = result("val-validate-correctness-witnesses-A", "SV-COMP.Loops", "Loops", &run);
    write(input.path(), "val.xml", &text.replace("unreach-call", "b a"));
    judge(input.path(), "svcomp-2022", out.path(), &[]);
    assert_eq!(score(out.path(), "A", "Loops", "points"), "2");
}

#[test]
fn the_validation_of_an_entry_counts_for_no_other_whose_name_it_ends_with() {
    let (input, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let run = [("l/1.yml", "true", "true", "correct", "5", "6")];
    let none = [("l/1.yml", "true", "unknown", "unknown", "5", "6")];
    write(input.path(), "cseq.xml", &result("cseq", "SV-COMP.Loops", "Loops", &run));
    for (entry, runs) in [("1.0-cseq", none), ("lazy-cseq", run)] {
        let validator = format!("val-validate-correctness-witnesses-{entry}");
        write(input.path(), &format!("{entry}.xml"), &result(&validator, "SV-COMP.Loops", "Loops", &runs));
    }
    let (_, notes) = judge(input.path(), "svcomp-2022", out.path(), &[]);
    assert_eq!(score(out.path(), "cseq", "Loops", "points"), "0");
    assert!(notes.contains("validation of lazy-cseq: no entry has this name"), "{notes}");
}

#[test]
fn a_file_supersedes_no_results_of_another_entry() {
    let (input, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let run = [("l/1.yml", "true", "true", "correct", "5", "6")];
    let wrong = [("l/1.yml", "true", "unknown", "unknown", "5", "6")];
    let text = |entry: &str| result(entry, "SV-COMP.Loops", "Loops", &run);
    write(input.path(), "A.xml", &result("A", "SV-COMP.Loops", "Loops", &wrong));
    write(input.path(), "A.xml.B.xml", &text("B"));
    write(input.path(), "A.xml.fixed.xml", &text("A"));
    judge(input.path(), "svcomp-2024", out.path(), &[]);
    for entry in ["A", "B"] {
        assert_eq!(score(out.path(), entry, "Loops", "points"), "2", "{entry}");
    }
}

#[test]
fn a_result_file_changes_the_category_of_no_other() {
    let categories_of_b = |with_other: bool| {
        let (input, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let run = [("l/1.yml", "true", "true", "correct", "5", "6")];
        write(input.path(), "categories.csv", "category,tasks,parent\nunreach-call.Loops,1,\n");
        write(input.path(), "B.xml", &result("B", "SV-COMP", "Loops", &run));
        if with_other {
            write(input.path(), "A.xml", &result("A", "SV-COMP", "x.Loops", &run));
        }
        judge(input.path(), "svcomp-2024", out.path(), &[]);
        let scores = rows(&out.path().join("scores.csv")).into_iter().filter(|row| row["tool"] == "B");
        scores.map(|row| row["category"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(categories_of_b(false), ["unreach-call.Loops"]);
    assert_eq!(categories_of_b(true), ["unreach-call.Loops"]);
}

#[test]
fn a_printed_score_that_differs_from_the_runs_is_noted() {
    let (input, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let run = [("l/1.yml", "true", "true", "correct", "5", "6")];
    write(input.path(), "A.xml", &result("A", "SV-COMP.Loops", "Loops", &run));
    let scores = "tool,category,opted_out,score,success_cpu_s\nA,Loops,no,60,\nB,Loops,no,50,\n";
    write(input.path(), "s.csv", scores);
    let (_, notes) = judge(input.path(), "svcomp-2013", out.path(), &[]);
    assert!(
        notes.contains("Loops, A: the report prints the score 60, but the computed score is 2"),
        "{notes}"
    );
    // Sums of fractions with many denominators take hours.
    for wrong in ["1/7", &format!("0.{}", "7".repeat(19))] {
        write(input.path(), "s.csv", &scores.replace("60", wrong));
        let error = refused(input.path(), "svcomp-2013");
        assert!(
            error
                .contains(&format!("s.csv:2: column score: `{wrong}` is not a decimal number of at most 20")),
            "{error}"
        );
    }
}

#[test]
fn explain_shows_points_by_category_and_costly_answers() {
    let (input, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let runs = [
        ("a.yml", "true", "true", "correct", "1", "1"),
        ("b.yml", "false", "true", "wrong", "1", "1"),
        ("c.yml", "true", "false", "wrong", "1", "1"),
    ];
    write(input.path(), "toolA.xml", &result("toolA", "SV.Loops", "Loops", &runs));
    judge(input.path(), "svcomp-2014", out.path(), &[]);
    let explained =
        harness().args(["explain".as_ref(), out.path().as_os_str()]).args(["--tool", "toolA"]).assert();
    let explained = String::from_utf8_lossy(&explained.success().get_output().stdout).into_owned();
    let expected = "toolA (svcomp-2014): competing\n\n\
                    category  right  wrong  points  rank  medal\n\
                    Loops         1      2     -10     1\nLoops: no medal: its points are not more than 0\n\n\
                    Runs that lost points: 2; points lost by them: 12:\n\x20 Loops b.yml  answered true, right is false  -8\n\x20 \
                    Loops c.yml  answered false, right is true  -4\n";
    assert_eq!(explained, expected);
}

#[test]
fn runs_with_another_category_than_the_verdict_are_listed() {
    let (input, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let runs = [
        ("a.yml", "true", "true", "correct", "1", "1"),
        ("b.yml", "false(valid-memtrack)", "false(valid-deref)", "wrong", "1", "1"),
        ("c.yml", "true", "true", "wrong", "1", "1"),
    ];
    write(input.path(), "toolA.xml", &result("toolA", "SV.Loops", "Loops", &runs));
    let (_, notes) = judge(input.path(), "svcomp-2024", out.path(), &[]);
    assert!(notes.contains("contradicts the verdict here: 2; recorded.csv lists them"), "{notes}");
    let recorded = rows(&out.path().join("recorded.csv"));
    let shown: Vec<_> = recorded
        .iter()
        .map(|row| ["instance", "answer", "recorded", "verdict", "points"].map(|column| row[column].as_str()))
        .collect();
    let expected =
        [["b.yml", "false(valid-deref)", "wrong", "unknown", "0"], ["c.yml", "true", "wrong", "right", "2"]];
    assert_eq!(shown, expected);
    // A later judgement without such runs removes the file.
    write(input.path(), "toolA.xml", &result("toolA", "SV.Loops", "Loops", &runs[..1]));
    let (_, notes) = judge(input.path(), "svcomp-2024", out.path(), &[]);
    assert!(!out.path().join("recorded.csv").exists() && !notes.contains("contradicts"), "{notes}");
}

/// The edition of a year with something added or replaced.
fn edition(dir: &Path, year: u32, change: (&str, &str), more: &str) -> String {
    let path = format!("{}/editions/svcomp-{year}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(change.0), "{}", change.0);
    let path = dir.join("edition.toml");
    std::fs::write(&path, text.replacen(change.0, change.1, 1) + more).unwrap();
    path.display().to_string()
}

fn score(out: &Path, tool: &str, category: &str, column: &str) -> String {
    let rows = rows(&out.join("scores.csv"));
    let found = rows.into_iter().find(|row| row["tool"] == tool && row["category"] == category);
    found.unwrap_or_else(|| panic!("{tool} {category}"))[column].clone()
}

#[test]
fn an_opt_out_has_a_dash_and_counts_in_the_meta_category() {
    let (input, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    example(input.path());
    let opt_out = "\n[[opt_out]]\nentry = \"A\"\ncategories = [\"Category2\"]\n";
    let edition = edition(out.path(), 2024, ("", ""), opt_out);
    judge(input.path(), &edition, out.path(), &[]);
    assert_eq!(score(out.path(), "A", "Category2", "points"), "");
    assert_eq!(score(out.path(), "A", "Category2", "right"), "0");
    assert_eq!(score(out.path(), "A", "Overall", "points"), "15");
    assert!(podium(out.path(), "Category2").iter().all(|(_, tool, _)| tool != "A"));
}

#[test]
fn a_new_category_with_fewer_than_three_teams_is_not_held() {
    let (input, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    example(input.path());
    let new = "category,tasks,parent,new\nCategory1,10,Overall,no\nCategory2,10,Overall,yes\nOverall,,,no\n";
    write(input.path(), "categories.csv", new);
    judge(input.path(), "svcomp-2024", out.path(), &[]);
    assert_eq!(score(out.path(), "D", "Overall", "points"), "24");
    let teams =
        edition(out.path(), 2024, ("", ""), "\n[teams]\none = [\"A\", \"B\"]\ntwo = [\"C\", \"D\"]\n");
    judge(input.path(), &teams, out.path(), &[]);
    assert_eq!(podium(out.path(), "Category2"), []);
    assert_eq!(score(out.path(), "D", "Overall", "points"), "16");
}

#[test]
fn ranks_of_equal_points_are_printed_with_their_rule() {
    let rule = "Equal points: ranked by CPU time, entries without a time last; equal times, or none, share a rank (SV-16).\n";
    for (answer, category, is_equal) in [("true", "correct", true), ("unknown", "unknown", false)] {
        let (input, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let runs = [("a.c", "true", "true", "correct", "1", "1")];
        write(input.path(), "fast.xml", &result("fast", "SV.Loops", "Loops", &runs));
        let runs = [("a.c", "true", answer, category, "2", "2")];
        write(input.path(), "slow.xml", &result("slow", "SV.Loops", "Loops", &runs));
        if is_equal {
            write(input.path(), "slow2.xml", &result("slow2", "SV.Loops", "Loops", &runs));
        }
        let (shown, _) = judge(input.path(), "svcomp-2013", out.path(), &[]);
        assert!(shown.contains("   1  fast") && shown.contains("   2  slow"), "{shown}");
        // Equal times share a rank, as the rule states.
        assert_eq!(shown.contains("   2  slow2"), is_equal, "{shown}");
        assert_eq!(shown.contains(rule), is_equal, "{shown}");
    }
}

#[test]
fn an_entry_that_ran_on_half_of_its_tasks_is_not_ranked() {
    let (input, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let runs = [
        ("a.c", "true", "true", "correct", "1", "1"),
        ("b.c", "true", "ERROR (parsing failed)", "error", "1", "1"),
    ];
    write(input.path(), "half.xml", &result("half", "SV.Loops", "Loops", &runs));
    write(input.path(), "all.xml", &result("all", "SV.Loops", "Loops", &runs[..1]));
    judge(input.path(), "svcomp-2013", out.path(), &[]);
    let shown = podium(out.path(), "Loops");
    let line = |rank: &str, tool: &str| (rank.to_owned(), tool.to_owned(), "2".to_owned());
    assert_eq!(shown, [line("1", "all"), line("", "half")]);
    let tools = rows(&out.path().join("tools.csv"));
    assert_eq!(tools[1]["status"], "out-of-competition");
    assert_eq!(tools[1]["note"], "not qualified: started on 1 of 2 tasks");
}

/// The output of `judge --compare`.
fn compared(before: &Path, after: &Path, more: &[&str]) -> String {
    let mut command = harness();
    command.args(["judge", "--compare"]).args([before, after]).args(more);
    String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
}

/// Two judgements of SV-COMP: in the second one tool A has other runs, and there is one task more.
fn two_of_svcomp() -> [TempDir; 2] {
    type Runs<'r> = &'r [(&'r str, &'r str, &'r str, &'r str, &'r str, &'r str)];
    let judged = |runs: Runs<'_>, tasks: u32| {
        let (input, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let steady = [("l/1.yml", "true", "unknown", "unknown", "5", "6")];
        write(input.path(), "A.results.xml", &result("A", "SV-COMP.Loops", "Loops", runs));
        write(input.path(), "B.results.xml", &result("B", "SV-COMP.Loops", "Loops", &steady));
        let categories = format!("category,tasks,parent\nLoops,{tasks},\n");
        write(input.path(), "categories.csv", &categories);
        judge(input.path(), "svcomp-2024", out.path(), &[]);
        out
    };
    let before = judged(
        &[
            ("l/1.yml", "true", "true", "correct", "5", "6"),
            ("l/2.yml", "false", "false(unreach-call)", "correct", "10", "11"),
            ("l/3.yml", "true", "true", "correct", "5", "6"),
        ],
        3,
    );
    let after = judged(
        &[
            ("l/1.yml", "true", "false(unreach-call)", "wrong", "5", "6"),
            ("l/2.yml", "false", "false(unreach-call)", "correct", "90", "91"),
            ("l/4.yml", "true", "true", "correct", "5", "6"),
        ],
        4,
    );
    [before, after]
}

/// Two judgements of CRV with one run, whose right answer and time differ.
fn two_of_crv() -> [TempDir; 2] {
    let measured = "track,benchmark,tool,verdict,memory_mb,time_s,expected,outcome,base_time_s\n";
    ["java,1,a,T,10,2,T,ok,1\n", "java,1,a,T,10,7,F,ok,1\n"].map(|row| {
        let out = TempDir::new().unwrap();
        judge(&write(out.path(), "m.csv", &(measured.to_owned() + row)), "crv-2014", out.path(), &[]);
        out
    })
}

#[test]
fn a_comparison_of_svcomp_lists_what_differs() {
    let [before, after] = two_of_svcomp();
    let text = compared(before.path(), after.path(), &[]);
    for part in [
        "settings that differ: 1\n  categories.Loops  3 tasks  ->  4 tasks\nentries that differ: 0\ninstances that differ: 0\n",
        "instances only before: 1\n  l/3.yml\nvalues only before: 1\n  l/3.yml Loops unreach-call  1\n",
        "runs only before: 1\n  A  l/3.yml Loops unreach-call\n",
        "runs only after: 1\n  A  l/4.yml Loops unreach-call\n",
        "right answers that differ: 0 of 2\n",
        "ranks or medals that change: 2\n  Loops  B  rank 2 0.00       ->  rank 1 0.00\n  Loops  A  rank 1 gold 5.00  ->  rank 2 -13.00\n",
        "scores that differ (the greatest differences first): 1\n  A  Loops  5.00  ->  -13.00  -18.00\n",
        "runs with different points: 1 of 3\n  A  l/1.yml Loops unreach-call  2.00  ->  -16.00\n",
        "answers that differ: 1 of 3\n  A  l/1.yml Loops unreach-call  true  ->  false(unreach-call)\n",
        "verdicts that differ: 1 of 3\n  A  l/1.yml Loops unreach-call  right  ->  wrong\n",
        "CPU times that differ: 1 of 3\n  A  l/2.yml Loops unreach-call  10.000 s  ->  90.000 s\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let all = compared(before.path(), after.path(), &["--format", "json"]);
    let all: serde_json::Value = serde_json::from_str(&all).unwrap();
    assert_eq!((&all["contest"], &all["endings"][0]["after"]), (&"sv-comp".into(), &"wrong".into()));
    assert_eq!(
        (&all["run_points"][0]["before"], &all["places"][0]["after"]["rank"]),
        (&"2".into(), &1.into())
    );
    let same = compared(before.path(), before.path(), &[]);
    assert!(same.lines().all(|line| line.contains(": 0")), "{same}");
}

#[test]
fn a_comparison_of_crv_lists_answers_and_times() {
    let [before, after] = two_of_crv();
    let text = compared(before.path(), after.path(), &[]);
    for part in [
        "right answers that differ: 1 of 1\n  1 java  TRUE  ->  FALSE\n",
        "  a  1 java  right  ->  wrong\n",
        "execution times that differ: 0 of 0\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn judgements_of_different_contests_are_not_compared() {
    let ([svcomp, _], [crv, _]) = (two_of_svcomp(), two_of_crv());
    for (one, other) in [(&svcomp, &crv), (&crv, &svcomp)] {
        let mut command = harness();
        command.args(["judge", "--compare"]).args([one.path(), other.path()]);
        command.assert().code(2).stderr(predicates::str::contains("compare two of the same contest"));
    }
}

#[test]
fn results_of_an_opted_out_category_are_not_shown() {
    let (input, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    example(input.path());
    let opt_out = "\n[[opt_out]]\nentry = \"A\"\ncategories = [\"*2\"]\n";
    let rules = edition(out.path(), 2024, ("", ""), opt_out);
    judge(input.path(), &rules, out.path(), &[]);
    let verdicts = rows(&out.path().join("verdicts.csv"));
    let count = |category: &str| {
        verdicts.iter().filter(|row| row["tool"] == "A" && row["category"] == category).count()
    };
    assert_eq!((count("Category1"), count("Category2"), verdicts.len()), (10, 0, 70));
    harness()
        .args(["explain".as_ref(), out.path().as_os_str()])
        .args(["--instance", "c1/t0.yml", "--examination", "Category2"])
        .assert()
        .success()
        .stdout(predicates::str::is_match("(?m)^A ").unwrap().not())
        .stdout(predicates::str::is_match("(?m)^D ").unwrap());
    // A misspelt name or pattern would leave the entry ranked although it opted out.
    for (wrong, note) in [
        (opt_out.replace("*2", "Kategory2"), "A opted out of categories that do not exist"),
        (opt_out.replace("\"A\"", "\"Aa\""), "Aa opted out and has no results"),
    ] {
        let rules = edition(out.path(), 2024, ("", ""), &wrong);
        let (_, notes) = judge(input.path(), &rules, out.path(), &[]);
        assert!(notes.contains(note), "{notes}");
    }
    let rules = edition(out.path(), 2024, ("", ""), &opt_out.replace("*2", "Category2["));
    let line = std::fs::read_to_string(&rules).unwrap().lines().count();
    harness()
        .args(["judge".as_ref(), input.path().as_os_str(), "--edition".as_ref(), rules.as_ref()])
        .args(["--out".as_ref(), out.path().as_os_str()])
        .assert()
        .code(2)
        .stderr(predicates::str::contains(format!("edition.toml:{line}: `categories = [\"Category2[\"]`")));
}

#[test]
fn a_meta_category_without_held_parts_is_not_held() {
    let (input, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let categories = "category,tasks,parent,new\nOverall,,,\nSub,,Overall,\nNew,5,Sub,yes\n";
    write(input.path(), "categories.csv", categories);
    for printed in ["A,New,no,3,1\nA,Overall,no,7,2\n", "A,New,no,3,1\nA,Sub,no,2,2\n"] {
        let header = "tool,category,opted_out,score,success_cpu_s\n";
        write(input.path(), "scores.csv", &format!("{header}{printed}"));
        judge(input.path(), "svcomp-2024", out.path(), &[]);
        assert_eq!(rows(&out.path().join("podiums.csv")), []);
        let judgement = std::fs::read_to_string(out.path().join("judgement.json")).unwrap();
        let judgement: serde_json::Value = serde_json::from_str(&judgement).unwrap();
        let held = |number: usize| {
            (&judgement["categories"][number]["held"], &judgement["categories"][number]["note"])
        };
        assert_eq!(held(0), (&false.into(), &"not held: none of its parts is held".into()));
        assert_eq!(held(1), held(0));
        assert_eq!(held(2), (&false.into(), &"new and not held: fewer than 3 teams took part".into()));
    }
}

#[test]
fn a_resigned_tool_is_not_named_in_the_judgement() {
    let (input, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let run = [("a.yml", "true", "true", "correct", "1", "1")];
    for entry in ["goner", "goner-next", "stays", "val-validate-correctness-witnesses-1.0-goner"] {
        let text = result(entry, "SV.Loops", "Loops", &run).replace("\"900s\"", "\"60s\"");
        write(input.path(), &format!("{entry}.xml"), &text);
    }
    let more = "\n[teams]\nalone = [\"goner\"]\nboth = [\"goner-next\", \"stays\"]\n\n[[status]]\npattern = \
                \"goner*\"\nstatus = \"resigned\"\n\n[[opt_out]]\nentry = \"goner\"\ncategories = [\"Loops\"]\n";
    let rules = edition(input.path(), 2024, ("", ""), more);
    for is_deleted in [false, true] {
        if is_deleted {
            // Without its results, validators and definitions still have its name.
            write(input.path(), "goner.xml", "<benchmark/>");
        }
        let (output, notes) = judge(input.path(), &rules, out.path(), &[]);
        assert!(notes.contains("stays.xml has a time limit of 60s"), "{notes}");
        let mut texts = vec![output, notes];
        for file in std::fs::read_dir(out.path()).unwrap() {
            texts.push(std::fs::read_to_string(file.unwrap().path()).unwrap());
        }
        assert!(texts.iter().any(|text| text.contains("\"both\":[\"stays\"]")));
        for text in texts {
            assert!(!text.contains("goner") && !text.contains("alone"), "{text}");
        }
    }
}

#[test]
fn a_withdrawn_entry_is_named_with_reason_and_not_judged() {
    let (input, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let run = [("a.yml", "true", "true", "correct", "1", "1")];
    for entry in ["gone", "stays"] {
        write(input.path(), &format!("{entry}.xml"), &result(entry, "SV.Loops", "Loops", &run));
    }
    let more = "\n[[status]]\npattern = \"gone\"\nstatus = \"withdrawn\"\nnote = \"broke rule 7\"\n";
    let rules = edition(input.path(), 2024, ("", ""), more);
    judge(input.path(), &rules, out.path(), &[]);
    let judged = Judgement::read(out.path()).unwrap().unwrap();
    let entries: Vec<(&str, &str)> =
        judged.entries.iter().map(|entry| (entry.status.word(), entry.note.as_str())).collect();
    assert_eq!(entries, [("withdrawn", "broke rule 7"), ("competing", "")]);
    assert!(judged.scores.iter().all(|score| score.entry == 1), "{:?}", judged.scores);
    assert!(judged.blocks.iter().flat_map(|block| &block.cells).all(|cell| cell.entry == 1));
    assert!(judged.podiums.iter().flat_map(|podium| &podium.places).all(|place| place.entry == 1));
}
