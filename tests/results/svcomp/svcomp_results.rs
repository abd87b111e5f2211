//! Result files as BenchExec writes them: validation of witnesses, blocks, measurements, and files that are refused.

use super::{harness, judge, podium, result, rows, score, write};
use crate::support::data;
use crate::support::site_data::data_of;
use std::collections::BTreeMap;
use tempfile::TempDir;

#[test]
fn validators_confirm_in_time_and_merged_files_replace_raw_ones() {
    let (input, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let tasks = ["a.yml", "b.yml", "c.yml"];
    let runs = tasks.map(|task| (task, "true", "true", "correct", "10", "10"));
    let text = |name| result(name, "SV-COMP.ReachSafety-Loops", "ReachSafety-Loops", &runs);
    write(input.path(), "one.xml.bz2", &text("one"));
    write(input.path(), "two.xml.bz2", &text("two"));
    let merged = text("two").replacen("value=\"correct\"", "value=\"correct-unconfirmed\"", 1);
    write(input.path(), "two.xml.bz2.merged.xml.bz2", &merged);
    // The confirmation of b comes too late; c is not confirmed.
    let checked = [
        ("a.yml", "true", "true", "correct", "899", "899"),
        ("b.yml", "true", "true", "correct", "900", "900"),
        ("c.yml", "true", "false(unreach-call)", "wrong", "5", "5"),
    ];
    let validator =
        result("val-validate-correctness-witnesses-one", "SV-COMP", "ReachSafety-Loops", &checked);
    write(input.path(), "validation/val.xml", &validator);
    write(input.path(), "table.xml", "<table/>");
    let (_, notes) = judge(input.path(), "svcomp-2024", out.path(), &[]);
    let value = |tool, column| score(out.path(), tool, "unreach-call.ReachSafety-Loops", column);
    assert_eq!(
        (value("one", "points"), value("one", "right"), value("one", "unconfirmed")),
        ("2".into(), "1".into(), "2".into())
    );
    assert_eq!((value("two", "points"), value("two", "unconfirmed")), ("4".into(), "1".into()));
    assert!(notes.contains("two.xml.bz2 is not read: the folder has a later state of this file"), "{notes}");
    assert!(
        notes.contains("table.xml is not read: it is no result file, its root element is <table>"),
        "{notes}"
    );
    judge(input.path(), "svcomp-2018", out.path(), &[]);
    assert_eq!(score(out.path(), "one", "ReachSafety-Loops", "points"), "4");
    judge(input.path(), "svcomp-2014", out.path(), &[]);
    assert_eq!(score(out.path(), "one", "ReachSafety-Loops", "points"), "6");
}

#[test]
fn validation_of_one_kind_of_witness_has_no_effect_on_the_other() {
    let (input, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let runs = [
        ("a.yml", "true", "true", "correct", "1", "1"),
        ("b.yml", "false", "false", "correct", "1", "1"),
        ("c.yml", "false", "false", "correct", "1", "1"),
    ];
    write(input.path(), "one.xml", &result("one", "SV.ReachSafety-Loops", "ReachSafety-Loops", &runs));
    // A violation validator confirms b. Its answer TRUE for a confirms nothing.
    let checked = [runs[0], runs[1]];
    let name = "val-validate-violation-witnesses-one";
    write(input.path(), "val.xml", &result(name, "SV", "ReachSafety-Loops", &checked));
    let (_, notes) = judge(input.path(), "svcomp-2024", out.path(), &[]);
    let value = |column| score(out.path(), "one", "unreach-call.ReachSafety-Loops", column);
    assert_eq!([value("points"), value("right"), value("unconfirmed")], ["3", "2", "1"]);
    let note = "no validation results of correctness witnesses for the tasks of one, and no run of theirs with the \
                category correct-unconfirmed: each of their right answers true counts as confirmed";
    assert!(notes.contains(note) && !notes.contains("of violation witnesses"), "{notes}");
    write(
        input.path(),
        "val.xml",
        &result(&name.replace("violation", "correctness"), "SV", "ReachSafety-Loops", &checked),
    );
    let (_, notes) = judge(input.path(), "svcomp-2024", out.path(), &[]);
    let value = |column| score(out.path(), "one", "unreach-call.ReachSafety-Loops", column);
    assert_eq!([value("points"), value("right"), value("unconfirmed")], ["4", "3", "0"]);
    assert!(
        notes.contains("of violation witnesses for the tasks of one,")
            && notes.contains("right answers false"),
        "{notes}"
    );
    // Without a note if an unconfirmed TRUE counts as much as a confirmed one.
    let (_, notes) = judge(input.path(), "svcomp-2016", out.path(), &[]);
    assert!(!notes.contains("correctness witnesses"), "{notes}");
}

#[test]
fn validation_of_one_category_has_no_effect_on_other_categories() {
    let (input, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let right = [("a.yml", "true", "true", "correct", "1", "1")];
    let none = [("a.yml", "true", "unknown", "unknown", "1", "1")];
    let validated = "val-validate-correctness-witnesses";
    for (category, task) in [("ReachSafety-Loops", "a.yml"), ("ReachSafety-ControlFlow", "b.yml")] {
        for entry in ["one", "two"] {
            let text = result(entry, &format!("SV.{category}"), category, &right);
            write(input.path(), &format!("{entry}.{category}.xml"), &text.replace("a.yml", task));
        }
    }
    for entry in ["one", "two"] {
        let text = result(&format!("{validated}-{entry}"), "SV", "ReachSafety-Loops", &none);
        write(input.path(), &format!("val-{entry}.xml"), &text.replace("a.yml", "other.yml"));
    }
    let points = |entry: &str, notes: &mut String| {
        (_, *notes) = judge(input.path(), "svcomp-2024", out.path(), &[]);
        ["Loops", "ControlFlow"]
            .map(|name| score(out.path(), entry, &format!("unreach-call.ReachSafety-{name}"), "points"))
    };
    let mut notes = String::new();
    // No task of these results was validated.
    assert_eq!(points("one", &mut notes), ["2", "2"]);
    let note = "no validation results of correctness witnesses for the tasks of one, two, and no run";
    assert!(notes.contains(note), "{notes}");
    let text = result(&format!("{validated}-one"), "SV", "ReachSafety-Loops", &none);
    write(input.path(), "val-one.xml", &text);
    assert_eq!(points("one", &mut notes), ["0", "2"]);
    let note = "one has validation results of correctness witnesses, but none in unreach-call.ReachSafety-ControlFlow: each of its \
                right answers true there counts as confirmed";
    assert!(notes.contains(note), "{notes}");
    // Validators ran on the category, and `two` has no witness there.
    assert_eq!(points("two", &mut notes), ["0", "2"]);
}

#[test]
fn a_whole_run_definition_is_judged_by_its_blocks() {
    let (input, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let run = |task| (task, "true", "true", "correct", "1", "1");
    write(input.path(), "t.xml", &result("t", "SV", "", &[run("a.yml"), run("b.yml"), run("c.yml")]));
    write(input.path(), "t.Loops.xml", &result("t", "SV.Loops", "Loops", &[run("a.yml")]));
    write(input.path(), "t.Arrays.xml", &result("t", "SV.Arrays", "Arrays", &[run("b.yml")]));
    let (_, notes) = judge(input.path(), "svcomp-2013", out.path(), &[]);
    assert!(notes.contains("t.xml: 1 of its runs are in no file of a block and are not judged"), "{notes}");
    assert_eq!(rows(&out.path().join("verdicts.csv")).len(), 2);
}

#[test]
fn verdicts_on_real_result_files_agree_with_benchexec() {
    let Some(input) = data::shared("benchexec") else { return };
    let out = TempDir::new().unwrap();
    let file = input.join("integration-predicateAnalysis.2015-10-20_1355.results.xml.bz2");
    judge(&file, "svcomp-2013", out.path(), &[]);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows(&out.path().join("verdicts.csv")) {
        *counts.entry(row["verdict"].clone()).or_default() += 1;
    }
    // The categories of BenchExec in this file: 338 correct, 8 wrong, 119 error, 17 unknown, 2 runs without result.
    let counted: Vec<(&str, usize)> = counts.iter().map(|(word, count)| (word.as_str(), *count)).collect();
    assert_eq!(
        counted,
        [("not-started", 2), ("right", 338), ("timeout", 112), ("unknown", 24), ("wrong", 8)]
    );
    for name in ["nan_and_inf.xml", "test.2015-03-03_1613.results.predicateAnalysis.xml.gz"] {
        judge(&input.join(name), "svcomp-2013", out.path(), &[]);
    }
    let (_, notes) = judge(&input, "svcomp-2013", out.path(), &[]);
    assert!(notes.contains("has a time limit of 60 s, the edition has 900 s"), "{notes}");
}

#[test]
fn the_site_compares_measurements_of_two_tools_by_task() {
    let Some(results) = data::shared("benchexec") else { return };
    let (input, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    for tool in ["predicate", "value"] {
        let name = format!("test.2015-03-03_1613.results.{tool}Analysis.xml");
        let text = std::fs::read_to_string(results.join(&name)).unwrap();
        let text = text.replacen("benchmarkname=\"test\"", &format!("benchmarkname=\"{tool}\""), 1);
        write(
            input.path(),
            &name,
            &text.replacen(&format!(" name=\"{tool}Analysis\""), " name=\"SV.Loops\"", 1),
        );
    }
    judge(input.path(), "svcomp-2013", out.path(), &[]);
    let site = out.path().join("site");
    harness()
        .args(["report".as_ref(), out.path().as_os_str(), "--out".as_ref(), site.as_os_str()])
        .assert()
        .success();
    let names = data_of(site.join("runs.js"));
    assert_eq!(names["time_limits"], serde_json::json!([900_000]));
    assert_eq!(
        names["entries"][1],
        serde_json::json!({ "name": "value", "data": "runs/value.js", "votes": true })
    );
    let instances = names["instances"].as_array().unwrap();
    let task = "test/programs/simple/switch_test_default_fallthrough_false-unreach-label.c";
    let number = instances
        .iter()
        .position(|instance| *instance == serde_json::json!([task, "unreach-label"]))
        .unwrap();
    // 2.189887353 s and 129118208 bytes; 2.159436775 s and 131117056 bytes. Both found it false.
    for (tool, cpu_ms, memory_kib) in [("predicate", 2190, 126_092), ("value", 2159, 128_044)] {
        let tables = data_of(site.join(format!("runs/{tool}.js")));
        let category = tables[0]["columns"][0].as_u64().unwrap() as usize;
        assert_eq!(names["examinations"][category]["name"], "Loops");
        let rows = tables[0]["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row[0] == number).unwrap();
        assert_eq!(row[1], serde_json::json!([[1, 0, 0, 0, null, null, cpu_ms, null, memory_kib]]), "{tool}");
    }
    assert!(std::fs::read_to_string(site.join("pictures.html")).unwrap().contains("href=\"compare.html\""));
}

#[test]
fn an_unknown_time_ranks_after_known_times() {
    let (input, out) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let runs = [("a.c", "true", "true", "correct", "5", "5"), ("b.c", "true", "unknown", "unknown", "", "5")];
    let text = |entry: &str, runs: &[_]| {
        let text = result(entry, "SV.Loops", "Loops", runs);
        text.replace("    <column title=\"cputime\" value=\"s\"/>\n", "")
    };
    // A missing time of a run without points has no effect.
    write(input.path(), "timed.xml", &text("timed", &runs));
    write(input.path(), "other.xml", &text("other", &[("a.c", "true", "true", "correct", "", "5")]));
    judge(input.path(), "svcomp-2013", out.path(), &[]);
    let place = |rank: &str, tool: &str| (rank.to_owned(), tool.to_owned(), "2".to_owned());
    assert_eq!(podium(out.path(), "Loops"), [place("1", "timed"), place("2", "other")]);
    let times = ["timed", "other"].map(|tool| score(out.path(), tool, "Loops", "success_cpu_s"));
    assert_eq!(times, ["5", ""]);
    // It has no quantile function.
    assert!(rows(&out.path().join("quantiles.csv")).iter().all(|row| row["tool"] == "timed"));
}

#[test]
fn bad_input_is_rejected_with_file_line_and_remedy() {
    let dir = TempDir::new().unwrap();
    let refused = |name: &str, content: &str, parts: &[&str]| {
        let input = if content.is_empty() { dir.path().join(name) } else { write(dir.path(), name, content) };
        let failed = harness()
            .args(["judge".as_ref(), input.as_os_str(), "--edition".as_ref(), "svcomp-2013".as_ref()])
            .args(["--out".as_ref(), dir.path().join("out").as_os_str()])
            .assert()
            .code(2);
        let message = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
        assert!(!dir.path().join("out").exists());
    };
    let header = "tool,category,opted_out,score,success_cpu_s\n";
    refused("a.csv", &format!("{header}T,Loops,no,many,1\n"), &["a.csv:2", "`many` is not a number"]);
    refused("a.csv", &format!("{header}T,Loops,no,,1\n"), &["a.csv:2", "or yes in column opted_out"]);
    refused("a.csv", &format!("{header}T,Loops,maybe,1,1\n"), &["a.csv:2", "allowed are yes, no"]);
    refused("a.csv", &format!("{header}T,Lops,no,1,1\n"), &["a.csv:2", "no category `Lops`", "Loops"]);
    refused(
        "a.csv",
        &format!("{header}T,Loops,no,1,1\nT,Loops,no,2,1\n"),
        &["a.csv:3", "already", "keep one"],
    );
    refused("a.csv", "tool,MemSimple,MemPrecise\nT,5,6\n,5,6\n", &["a.csv:3", "tool must not be empty"]);
    refused("a.csv", &format!("{header}T,Loops,no,1_95,1\n"), &["a.csv:2", "`1_95` is not a number"]);
    refused("a.csv", "what,ever\n1,2\n", &["a.csv:1", "expected tool,category,opted_out"]);
    let named = "<result benchmarkname=\"T\" name=\"SV.Loops\"";
    refused("a.xml", &format!("{named}><run name=\"x\">"), &["a.xml:1", "ends inside an element"]);
    refused("a.xml.bz2", &format!("{named}/>x"), &["a.xml.bz2:1", "not well-formed"]);
    std::fs::create_dir_all(dir.path().join("empty")).unwrap();
    refused("empty", "", &["no result file"]);
    write(dir.path(), "other/table.xml", "<table/>");
    let unread = "is in it; table.xml is not read: it is no result file, its root element is <table>";
    refused("other", "", &[unread]);
    let run = [("a.c", "true", "true", "correct", "1", "1")];
    write(dir.path(), "twice/1.xml", &result("t", "SV.Loops", "Loops", &run));
    write(dir.path(), "twice/2.xml", &result("t", "SV.Loops", "Loops", &run));
    refused("twice", "", &["2.xml:", "a.c", "keep one of the files"]);
    let cycle = "category,tasks,parent\nA,1,B\nB,1,A\n";
    write(dir.path(), "cycle/categories.csv", cycle);
    write(dir.path(), "cycle/1.xml", &result("t", "SV.Loops", "Loops", &run));
    refused("cycle", "", &["categories.csv:2", "a part of itself"]);
    let endless = "category,tasks,parent\nOverall,,\nA,1,Overall\nB,18446744073709551615,Overall\n";
    write(dir.path(), "cycle/categories.csv", endless);
    refused(
        "cycle",
        "",
        &["categories.csv:4", "category `B` has 18446744073709551615 tasks", "1 to 1000000000"],
    );
}

#[test]
fn a_result_file_without_a_name_is_an_error() {
    let dir = TempDir::new().unwrap();
    let run = [("t1_false.c", "false", "false", "correct", "1", "1")];
    let named = result("tool", "tool.Loops", "Loops", &run);
    let cases = [
        (named.replace("tool=\"Tool\"", "tool=\"\"").replace("\"tool.Loops\"", "\".Loops\""), "entry"),
        (named.replace("tool.Loops", "").replace("block=\"Loops\"", ""), "category"),
    ];
    for (text, missing) in cases {
        let text = text.replace("benchmarkname=\"tool\"", "benchmarkname=\"\"");
        std::fs::write(dir.path().join("a.xml"), text).unwrap();
        let mut command = harness();
        command.args(["judge", "a.xml", "--edition", "svcomp-2013", "--out", "judged"]);
        let done = command.current_dir(dir.path()).assert().code(2);
        let error = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
        assert!(error.contains(&format!("a.xml: the result file names no {missing}")), "{error}");
    }
}
