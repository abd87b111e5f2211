//! Import and export of results: the contest's table, BenchKit's files, oracle files.

use crate::support::data;
use crate::support::runs;
mod benchkit_folders;
mod tables_properties;
use crate::support::tables::rows;
use crate::support::tool;

use assert_cmd::Command;
use mcc_harness::benchkit::Value;
use mcc_harness::edition::{AnswerKind, Edition};
use mcc_harness::judge::judgement::{Cost, Ending, Judgement};
use mcc_harness::judge::{RunResult, RunResults, mcc, oracle};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Runs the program and returns exit code, stdout and stderr.
fn harness(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output =
        Command::cargo_bin("mcc-harness").unwrap().current_dir(folder).args(arguments).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

fn done(folder: &Path, arguments: &[&str]) -> (String, String) {
    let (code, out, error) = harness(folder, arguments);
    assert_eq!(code, 0, "{arguments:?}: {error}");
    (out, error)
}

/// Judges `raw.csv` and the tables beside it, which `export` wrote, into `second`.
fn judge_exported(folder: &Path) {
    let judge = "judge raw.csv --edition mcc-2018 --models raw.models.csv --tools raw.tools.csv --out second";
    done(folder, &judge.split(' ').collect::<Vec<_>>());
}

fn refused(folder: &Path, arguments: &[&str], parts: &[&str]) {
    let (code, _, error) = harness(folder, arguments);
    assert_eq!(code, 2, "{arguments:?}: {error}");
    parts.iter().for_each(|part| assert!(error.contains(part), "`{part}` is not in: {error}"));
}

/// The tables of a judgement without property ids and flags of repeated values: the contest's table has neither.
fn judged(folder: &Path) -> BTreeMap<String, String> {
    let mut tables = BTreeMap::new();
    for name in [
        "confidence",
        "trusted",
        "scores",
        "podiums",
        "awards",
        "tools",
        "weak",
        "overrides",
        "virtual",
        "flags",
    ] {
        let mut text = fs::read_to_string(folder.join(format!("{name}.csv"))).unwrap();
        if name == "flags" {
            let repeated = |line: &&str| line.starts_with("repeat,") || line.starts_with("contradiction,");
            text = text.lines().filter(|line| !repeated(line)).collect::<Vec<_>>().join("\n");
        }
        if name == "trusted" {
            let rows = csv::Reader::from_reader(text.as_bytes())
                .into_records()
                .map(Result::unwrap)
                .collect::<Vec<_>>();
            let without_id = |row: &csv::StringRecord| {
                row.iter()
                    .enumerate()
                    .filter(|(at, _)| *at != 3)
                    .map(|(_, field)| field)
                    .collect::<Vec<_>>()
                    .join(",")
            };
            text = rows.iter().map(without_id).collect::<Vec<_>>().join("\n");
        }
        tables.insert(name.to_owned(), text);
    }
    tables
}

const HEADER: &str = "### tool,Input,Examination,nb cores,time flag,memory flag,results,techniques,max memory  (MB),\
                      CPU (ms),Time (ms),i/o wait (ms),Status,run id,flags:bonus:scores:mask,estimated result,\
                      # tools computing estimated results\n";

/// A row as the contest writes it.
fn row(tool: &str, examination: &str, results: &str, status: &str) -> String {
    format!(
        "{tool},F-PT-1,{examination},1,OK,OK,{results},EXPLICIT SAT_SMT,244.14,1200,1300,10,{status},\
         r001-tall-174853726600008,FFFF:--:0:?,?,1.0\n"
    )
}

#[test]
fn every_form_of_the_contests_table_is_read() {
    let folder = TempDir::new().unwrap();
    let bounds = |first: &str| format!("{first}{}", " ?".repeat(15));
    let table = [
        HEADER.to_owned(),
        row("a", "CTLFireability", "(TF) F? FTTF(TTFF)TFT?", "normal"),
        row("b", "CTLFireability", "TFF?FTTFTTFFTFT?", "timeout"),
        row("c", "CTLFireability", " CC ", "normal"),
        row("d", "CTLFireability", "DNC", "normal"),
        row("e", "CTLFireability", "DNF", "timeout"),
        row("f", "CTLFireability", "", "normal"),
        row("a", "StateSpace", "3.2057E+0008  -1 ( 7 ) +Inf********", "normal"),
        row("b", "StateSpace", "320565001 ? 7 +Inf********", "normal"),
        row("a", "UpperBounds", &bounds("+inf"), "normal"),
        row("b", "UpperBounds", &bounds("inf"), "normal"),
    ]
    .concat();
    fs::write(folder.path().join("raw.csv"), &table).unwrap();
    done(folder.path(), &["judge", "raw.csv", "--edition", "mcc-2018", "--out", "out"]);
    let judgement = Judgement::read(&folder.path().join("out")).unwrap();
    let block = |name: &str| {
        let number = judgement.examinations.iter().position(|known| known == name).unwrap();
        judgement.blocks.iter().find(|block| block.examination == number).unwrap()
    };
    let endings: Vec<Ending> = block("CTLFireability").cells.iter().map(|cell| cell.ending).collect();
    let expected = [
        Ending::Answered,
        Ending::WallLimit,
        Ending::CannotCompute,
        Ending::DidNotCompete,
        Ending::WallLimit,
        Ending::NoAnswer,
    ];
    assert_eq!(endings, expected);
    let trusted = |name: &str| -> Vec<String> {
        let shown = |value: &Option<Value>| value.as_ref().map_or("?".to_owned(), Value::to_string);
        block(name).trusted.iter().map(|trusted| shown(&trusted.value)).collect()
    };
    assert_eq!(trusted("CTLFireability").concat(), "TFF?FTTFTTFFTFT?");
    assert_eq!(trusted("StateSpace"), ["3.2057E+0008", "?", "7", "Inf"]);
    assert_eq!(trusted("UpperBounds")[0], "inf");
    let cell = &block("StateSpace").cells[0];
    assert_eq!(
        cell.cost,
        Some(Cost { cpu_ms: 1200, wall_ms: 1300, memory_kib: Some(249_999), ..Cost::default() })
    );
    assert_eq!(cell.techniques[0], ["EXPLICIT", "SAT_SMT"]);
    assert_eq!(cell.techniques[1], [""; 0]);
    assert!(cell.marks.is_empty());
}

#[test]
fn a_bad_row_of_the_contests_table_is_refused_with_its_place() {
    let folder = TempDir::new().unwrap();
    let good = row("a", "ReachabilityDeadlock", "T", "normal");
    let cases = [
        (
            row("b", "ReachabilityDeadlock", "Z", "normal"),
            "raw.csv:3: column results: `Z` is not an answer; expected T, F or ?",
        ),
        (
            row("b", "StateSpace", "1 2 3", "normal"),
            "raw.csv:3: column results: 3 answers, the examination has 4",
        ),
        (row("b", "StateSpace", "1 2 3 4e5", "normal"), "raw.csv:3: column results: `4e5` is not an answer"),
        (row("b", "Deadlock", "T", "normal"), "raw.csv:3: no examination `Deadlock`"),
        (row("", "ReachabilityDeadlock", "T", "normal"), "raw.csv:3: tool and Input must not be empty"),
        (
            row("b", "ReachabilityDeadlock", "T", "gone"),
            "raw.csv:3: column Status: `gone`; allowed are normal, timeout",
        ),
        (
            good.replace("1200", "1.2.3").replacen('a', "b", 1),
            "raw.csv:3: column CPU (ms): `1.2.3` is not a number",
        ),
        (
            good.replace("244.14", "-1").replacen('a', "b", 1),
            "raw.csv:3: column max memory (MB): `-1` is not a number",
        ),
        (good.clone(), "raw.csv:3: the same tool, instance and examination as in line 2"),
        ("b,F-PT-1,ReachabilityDeadlock\n".to_owned(), "raw.csv:3: 3 columns, the header has 17"),
    ];
    for (bad, message) in cases {
        fs::write(folder.path().join("raw.csv"), format!("{HEADER}{good}{bad}")).unwrap();
        refused(folder.path(), &["judge", "raw.csv", "--edition", "mcc-2018", "--out", "out"], &[message]);
        assert!(!folder.path().join("out").exists());
    }
    let summary =
        "### tool,Input,Examination,max memory (MB),CPU (ms),Time (ms),i/o wait (ms),Status,run id\n";
    fs::write(folder.path().join("raw.csv"), summary).unwrap();
    let judge = ["judge", "raw.csv", "--edition", "mcc-2018", "--out", "out"];
    refused(folder.path(), &judge, &["raw.csv:1:", "a summary of BenchKit has no answers"]);
}

#[test]
fn the_contest_of_2018_exported_and_read_again_judges_the_same() {
    let (answers, models) =
        (data::published("mcc/2018/answers.csv.gz"), data::published("mcc/2018/models.csv"));
    let folder = TempDir::new().unwrap();
    let (answers, models) = (answers.to_str().unwrap(), models.to_str().unwrap());
    let rules = ["--edition", "mcc-2018", "--models"];
    let (out, _) =
        done(folder.path(), &[&["export", answers], &rules[..], &[models, "--csv", "raw.csv"]].concat());
    assert!(out.contains("rows: 91859"), "{out}");
    done(folder.path(), &[&["judge", answers], &rules[..], &[models, "--out", "first"]].concat());
    let tools = ["--tools", "raw.tools.csv", "--out", "second"];
    done(folder.path(), &[&["judge", "raw.csv"], &rules[..], &["raw.models.csv"], &tools].concat());
    assert_eq!(judged(&folder.path().join("first")), judged(&folder.path().join("second")));
}

#[test]
fn overrides_and_infrastructure_failures_are_exported() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let deadlock = |tool: &str| row(tool, "ReachabilityDeadlock", "T", "normal");
    file("answers.csv", &[HEADER, &deadlock("a"), &deadlock("b")].concat());
    let set = "instance,examination,position,value,reason\nF-PT-1,ReachabilityDeadlock,00,F,\"seen, \"\"by\"\" hand\"\n";
    file("set.csv", set);
    let edition = ["--edition", "mcc-2018"];
    let given = [&edition[..], &["--overrides", "set.csv"]].concat();
    let (out, _) =
        done(folder.path(), &[&["export", "answers.csv", "--csv", "raw.csv"], &given[..]].concat());
    assert!(out.contains("raw.tools.csv, raw.overrides.csv (rows: 2)"), "{out}");
    done(folder.path(), &[&["judge", "answers.csv", "--out", "first"], &given[..]].concat());
    let again = ["judge", "raw.csv", "--overrides", "raw.overrides.csv", "--out", "second"];
    done(folder.path(), &[&again[..], &edition].concat());
    let first = judged(&folder.path().join("first"));
    assert!(first["trusted"].contains(",F,override,,a b"), "{first:?}");
    assert_eq!(first, judged(&folder.path().join("second")));

    // The values of an earlier table are not left beside another one.
    let export = [&["export", "answers.csv", "--csv", "raw.csv"], &edition[..]].concat();
    let (code, _, error) = harness(folder.path(), &export);
    assert!(code == 2 && error.contains("raw.overrides.csv: belongs to another table"), "{error}");
    fs::remove_file(folder.path().join("raw.overrides.csv")).unwrap();

    // An infrastructure failure is not read as a run without an answer, in either form.
    let failed = row("b", "ReachabilityDeadlock", "", "infrastructure");
    file("answers.csv", &[HEADER, &deadlock("a"), &failed].concat());
    for form in [&["--csv", "raw.csv"][..], &["--csv", "raw.csv", "--contest-rounding"]] {
        done(folder.path(), &[&["export", "answers.csv"], form, &edition].concat());
        let (code, _, error) =
            harness(folder.path(), &["judge", "raw.csv", "--edition", "mcc-2018", "--out", "third"]);
        assert!(
            code == 1
                && error.contains("provisional: no medal is given, because runs have no result (infrastructure failures: 1);"),
            "{form:?}: {error}"
        );
        assert!(rows(&folder.path().join("third/podiums.csv")).iter().all(|row| row["medal"].is_empty()));
    }
    done(folder.path(), &[&["export", "answers.csv", "--summary", "summary.csv"], &edition[..]].concat());
    assert!(fs::read_to_string(folder.path().join("summary.csv")).unwrap().contains(",infrastructure,"));
}

#[test]
fn an_unclosed_quote_is_refused_with_its_row() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let deadlock = |tool: &str| row(tool, "ReachabilityDeadlock", "T", "normal");
    let table = |of_a: &str, of_b: &str| {
        let with = |tool: &str, techniques: &str| deadlock(tool).replace("EXPLICIT SAT_SMT", techniques);
        [HEADER, &with("A", of_a), &with("B", of_b), &deadlock("C")].concat()
    };
    file("good.csv", &table("EXPLICIT", "\"EXPLICIT\""));
    // The row of B would become a part of the techniques of A, and the row of A would have 17 columns.
    file("table.csv", &table("\"EXPLICIT", "EXPLICIT\" SAT_SMT"));
    file("tools.csv", "entry,tool,status,note\nA,A,withdrawn,\"broke rule T-5\nB,B,resigned,\n");
    let overrides = "instance,examination,position,value,reason\nF-PT-1,ReachabilityDeadlock,00,";
    file("overrides.csv", &format!("{overrides}F,\"as \"\"we\"\"\nsaw\" it\n"));
    let judge = |table: &str, more: &[&str], parts: &[&str]| {
        let judge = ["judge", table, "--edition", "mcc-2018", "--out", "out"];
        refused(folder.path(), &[&judge, more].concat(), parts);
        assert!(!folder.path().join("out").exists());
    };
    judge("table.csv", &[], &["table.csv:2: a quote is not closed", "write a quote inside as `\"\"`"]);
    judge("good.csv", &["--tools", "tools.csv"], &["tools.csv:2: a quote is not closed"]);
    judge("good.csv", &["--overrides", "overrides.csv"], &["overrides.csv:2: a quote is not closed"]);
    done(folder.path(), &["judge", "good.csv", "--edition", "mcc-2018", "--out", "out"]);
}

/// The paths of archives of small fixtures.
fn fixtures(names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(|name| tool::fixtures().join(format!("{name}.tgz"))).collect()
}

const EXAMINATIONS: [&str; 4] = ["StateSpace", "UpperBounds", "ReachabilityDeadlock", "CTLFireability"];

#[test]
fn a_record_exported_and_read_again_judges_the_same() {
    let folder = TempDir::new().unwrap();
    let archives =
        fixtures(&["TokenLoop-PT-03", "GreedyClerks-PT-03", "CoinVault-PT-N9U2000000000000000000"]);
    drop(runs::record(&folder.path().join("results"), &archives, &EXAMINATIONS, runs::printed));
    done(folder.path(), &["judge", "results", "--out", "first"]);
    let (out, _) = done(folder.path(), &["export", "results", "--csv", "raw.csv"]);
    assert!(out.contains("raw.csv, raw.models.csv, raw.tools.csv (rows: 60)"), "{out}");
    judge_exported(folder.path());
    let (first, second) = (judged(&folder.path().join("first")), judged(&folder.path().join("second")));
    assert_eq!(first, second);
    assert!(
        first["awards"].lines().count() > 5 && first["trusted"].contains("2000000000000000000"),
        "{first:?}"
    );

    let raw = rows(&folder.path().join("raw.csv"));
    let raw_row = |entry: &str, examination: &str| {
        let is =
            |row: &&BTreeMap<String, String>| row["### tool"] == entry && row["Examination"] == examination;
        raw.iter().find(is).unwrap()
    };
    let row = raw_row("depth", "StateSpace");
    assert_eq!((row["nb cores"].as_str(), row["results"].contains('E')), ("4", false));
    assert!(row["run id"].starts_with("mcc-node-17-"));
    assert_eq!(raw_row("absent", "StateSpace")["results"], "DNC");
    assert!(raw_row("walk", "StateSpace")["flags:bonus:scores:mask"].starts_with("marks/degraded=tcg:"));

    // The contest's form is rounded, so its judgement can differ; it must be readable.
    done(folder.path(), &["export", "results", "--csv", "contest.csv", "--contest-rounding"]);
    let contest = fs::read_to_string(folder.path().join("contest.csv")).unwrap();
    assert!(contest.contains("E+00") && !contest.contains("marks/") && !contest.contains("cpu-limit"));
    done(folder.path(), &["judge", "contest.csv", "--edition", "mcc-2018", "--out", "third"]);
}

#[test]
fn a_summary_has_time_and_memory_as_benchkit_writes_them() {
    let folder = TempDir::new().unwrap();
    drop(runs::record(
        &folder.path().join("results"),
        &fixtures(&["TokenLoop-PT-03"]),
        &EXAMINATIONS[..1],
        runs::printed,
    ));
    done(folder.path(), &["export", "results", "--summary", "summary.csv"]);
    let summary = fs::read_to_string(folder.path().join("summary.csv")).unwrap();
    let header =
        "### tool,Input,Examination,max memory (MB),CPU (ms),Time (ms),i/o wait (ms),Status,run id\n";
    assert!(summary.starts_with(header), "{summary}");
    assert!(
        summary.contains("\nbreadth,TokenLoop-PT-03,StateSpace,97.66,900,1000,,normal,mcc-node-17-"),
        "{summary}"
    );
    assert_eq!(summary.lines().count(), 6);
}

/// Writes a folder of BenchKit's results with the outputs of real tools: header with ids, output, copy of stderr.
/// Returns the number of runs, None where the outputs are not available.
fn benchkit_results(folder: &Path, edition: &Edition) -> Option<usize> {
    let outputs = data::shared("mcc/real-output")?;
    let inputs = data::shared("mcc/inputs")?;
    let mut count = 0;
    fs::create_dir_all(folder.join("CSV")).unwrap();
    fs::create_dir_all(folder.join("OUTPUTS")).unwrap();
    for tool in ["tapaal", "smpt"] {
        let mut summary =
            "### tool,Input,Examination,max memory (MB),CPU (ms),Time (ms),i/o wait (ms),Status,run id\n"
                .to_owned();
        let mut files: Vec<_> =
            fs::read_dir(outputs.join(tool)).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        for path in files {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let (instance, examination) = name.rsplit_once('-').unwrap();
            let archive = inputs.join(format!("{instance}.tgz"));
            let Some((_, known)) = edition.examination(examination) else { continue };
            if !archive.exists() {
                continue;
            }
            let archive = mcc_harness::model::Archive::open(&archive).unwrap();
            let ids = mcc_harness::benchkit::Questions::read(&archive, known).unwrap().ids.unwrap();
            let run_id = format!("r001-tall-1497000000{count:05}");
            let mut text = format!("Executing tool {tool}\n");
            if known.answers != AnswerKind::StateSpace {
                ids.iter().for_each(|id| text += &format!("FORMULA_NAME {id}\n"));
            }
            text += "BK_START 1497000000123\n";
            text += &String::from_utf8_lossy(&fs::read(&path).unwrap());
            text += &format!(
                "\nBK_STOP 1497000001123\n--- content from stderr:\nFORMULA {} FALSE TECHNIQUES A\n",
                ids[0]
            );
            fs::write(
                folder.join(format!("OUTPUTS/{tool}_{instance}_{examination}_{run_id}_tall.stdout")),
                text,
            )
            .unwrap();
            summary += &format!("{tool},{instance},{examination},12.50,1000,1000,0.5,normal,{run_id}\n");
            count += 1;
        }
        fs::write(folder.join(format!("CSV/summary_{tool}.csv")), summary).unwrap();
    }
    Some(count)
}

#[test]
fn benchkit_results_are_judged_and_exported_exactly() {
    let edition = Edition::load("mcc-2018").unwrap();
    let folder = TempDir::new().unwrap();
    let Some(count) = benchkit_results(&folder.path().join("BK_RESULTS"), &edition) else { return };
    assert!(count > 20, "{count}");
    done(folder.path(), &["judge", "BK_RESULTS", "--edition", "mcc-2018", "--out", "first"]);
    let judgement = Judgement::read(&folder.path().join("first")).unwrap();
    let oracles = data::shared("mcc/oracle").unwrap();
    let mut compared = 0;
    for block in &judgement.blocks {
        let instance = &judgement.instances[block.instance].instance;
        let examination = &edition.examinations[block.examination];
        let ids: Vec<&str> = block.trusted.iter().map(|trusted| trusted.id.as_str()).collect();
        let Some((right, _)) = oracle::read(&oracles, instance, examination, &ids).unwrap() else { continue };
        for cell in &block.cells {
            for (given, right) in
                cell.values.iter().zip(&right).filter(|(given, right)| given.is_some() && right.is_some())
            {
                let any_rounded = right.as_ref().unwrap().is_rounded();
                assert!(
                    given.as_ref().unwrap().agrees(right.as_ref().unwrap(), any_rounded),
                    "{instance} {}",
                    examination.name
                );
                compared += 1;
            }
        }
    }
    assert!(compared > 100, "{compared}");
    done(folder.path(), &["export", "BK_RESULTS", "--edition", "mcc-2018", "--csv", "raw.csv"]);
    judge_exported(folder.path());
    assert_eq!(judged(&folder.path().join("first")), judged(&folder.path().join("second")));
    assert!(fs::read_to_string(folder.path().join("raw.csv")).unwrap().contains(",mcc-tall-"));

    // The error names a missing output.
    let outputs = folder.path().join("BK_RESULTS/OUTPUTS");
    let one = fs::read_dir(&outputs).unwrap().next().unwrap().unwrap().path();
    fs::remove_file(one).unwrap();
    let judge = ["judge", "BK_RESULTS", "--edition", "mcc-2018", "--out", "third"];
    refused(folder.path(), &judge, &["CSV/summary_", ".csv:", "OUTPUTS has no ", "HOST.stdout"]);
}

#[test]
fn every_real_oracle_file_is_read_and_written_again_the_same() {
    for (place, short) in [("mcc", "mcc-2018"), ("mcc/2023", "later"), ("mcc/2025", "later")] {
        let Some(oracles) = data::shared(&format!("{place}/oracle")) else { return };
        let mut edition = Edition::load("mcc-2018").unwrap();
        for name in ["GlobalProperties", "QuasiLiveness", "StableMarking", "Liveness", "OneSafe"] {
            edition.examinations.push(mcc_harness::edition::Examination {
                name: name.to_owned(),
                answers: AnswerKind::Boolean,
                values: 1,
            });
        }
        let (mut files, mut values) = (0, 0);
        let mut results = RunResults::new(&edition);
        let mut read = BTreeMap::new();
        for path in fs::read_dir(&oracles).unwrap().map(|file| file.unwrap().path()) {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let is = |e: &&mcc_harness::edition::Examination| {
                let instance = name.rsplit_once('-').unwrap().0;
                oracle::file(Path::new(""), instance, &e.name).unwrap().to_str().unwrap() == name
            };
            let examination = edition.examinations.iter().find(is).unwrap_or_else(|| panic!("{name}"));
            let instance = name.rsplit_once('-').unwrap().0.to_owned();
            let (expected, bad) = oracle::read(&oracles, &instance, examination, &[]).unwrap().unwrap();
            assert!(bad.is_empty(), "{name}: {bad:?}");
            // In some files no value is known; such a file is not written.
            if expected.iter().all(Option::is_none) {
                continue;
            }
            values += expected.iter().flatten().count();
            files += 1;
            for entry in ["a", "b"] {
                let result = RunResult::published(expected.clone());
                results.add(entry, &instance, &examination.name, &[], result).unwrap();
            }
            read.insert(name, (instance, examination.clone(), expected));
        }
        assert!(files > 60 && values > files * 8, "{place} {short}: {files} files, {values} values");
        let judge = mcc::Judge::new(&edition, results).unwrap();
        let folder = TempDir::new().unwrap();
        assert_eq!(oracle::write(&judge, folder.path()).unwrap(), files as u64);
        for (name, (instance, examination, expected)) in read {
            let (again, _) = oracle::read(folder.path(), &instance, &examination, &[]).unwrap().unwrap();
            assert_eq!(again, expected, "{name}");
        }
    }
}

#[test]
fn an_oracle_with_a_name_that_is_too_long_for_a_file_is_not_begun() {
    let folder = TempDir::new().unwrap();
    let long = "F".repeat(250);
    let rows = ["F-PT-1".to_owned(), long.clone()]
        .map(|instance| row("a", "OneSafe", "T", "normal").replace("F-PT-1", &instance));
    fs::write(folder.path().join("in.csv"), [HEADER, &rows.concat()].concat()).unwrap();
    let export = ["export", "in.csv", "--edition", "mcc-2025", "--oracle", "oracle"];
    refused(folder.path(), &export, &[&long, "rename it before its oracle is written"]);
    assert!(!folder.path().join("oracle").exists());
}

#[test]
fn a_written_oracle_agrees_for_every_numbering_of_ids() {
    let edition = Edition::load("mcc-2018").unwrap();
    let of_2017: Vec<String> = (0..16).map(|number| format!("F-PT-1-CTLFireability-{number}")).collect();
    let years = (12..16).map(|number| (2023, number)).chain((0..12).map(|number| (2025, number)));
    let of_2025 = years.map(|(year, number)| format!("F-PT-1-CTLFireability-{year}-{number:02}")).collect();
    for mut ids in [of_2017, of_2025] {
        ids.sort();
        // With all values known, and with some unknown, where only the ids give the positions.
        for unknown in [None, Some(5)] {
            let letter = |at: usize| Some(if at.is_multiple_of(3) { Value::True } else { Value::False });
            let values: Vec<_> = (0..16).map(|at| letter(at).filter(|_| Some(at) != unknown)).collect();
            let mut results = RunResults::new(&edition);
            for entry in ["a", "b"] {
                let result = RunResult::published(values.clone());
                results.add(entry, "F-PT-1", "CTLFireability", &ids, result).unwrap();
                let states = ["7", "inf", "3.2057E+0008", "2"].map(|text| text.parse().ok()).to_vec();
                results.add(entry, "F-PT-1", "StateSpace", &[], RunResult::published(states)).unwrap();
            }
            let judge = mcc::Judge::new(&edition, results).unwrap();
            let folder = TempDir::new().unwrap();
            assert_eq!(oracle::write(&judge, folder.path()).unwrap(), 2);
            let read = || oracle::Oracle::read(&judge, folder.path()).unwrap();
            let compared = oracle::compare(&judge, &read(), &folder.path().join("oracle.csv")).unwrap();
            for file in ["F-PT-1-CTLF.out", "F-PT-1-SS.out", "oracle.csv"] {
                let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
                fs::write(folder.path().join("usual"), "").unwrap();
                assert_eq!(mode(&folder.path().join(file)), mode(&folder.path().join("usual")), "{file}");
            }
            // An oracle does not contain `inf` for a state space: it would be read as `Inf`.
            let same = values.iter().flatten().count() as u64 + 3;
            let expected = oracle::OracleComparison { same, ..Default::default() };
            assert_eq!(compared, expected, "{ids:?}");
            if unknown.is_none() {
                let (_, examination) = edition.examination("CTLFireability").unwrap();
                let (by_order, _) = oracle::read(folder.path(), "F-PT-1", examination, &[]).unwrap().unwrap();
                assert_eq!(by_order, values);
            }
            let path = folder.path().join("F-PT-1-CTLF.out");
            let text = fs::read_to_string(&path).unwrap().replace("-11 ", "-17 ");
            fs::write(&path, text).unwrap();
            let [bad] = &read().bad_lines[..] else { panic!("{ids:?}") };
            let bad = bad.to_string();
            assert!(bad.contains("-17 is none of the ids of CTLFireability, such as F-PT-1-"), "{bad}");
        }
    }
}

#[test]
fn a_number_of_a_year_is_no_position_of_a_partial_oracle() {
    let edition = Edition::load("mcc-2018").unwrap();
    let (_, examination) = edition.examination("CTLFireability").unwrap();
    let folder = TempDir::new().unwrap();
    let line = |id: &str| format!("FORMULA F-PT-1-CTLFireability-{id} TRUE TECHNIQUES ORACLE\n");
    let file = folder.path().join("F-PT-1-CTLF.out");
    let read = || oracle::read(folder.path(), "F-PT-1", examination, &[]).unwrap().unwrap();
    let names = "./runatest.sh oracle/F-PT-1 CTLFireability\n";
    let write = |lines: String| fs::write(&file, names.to_owned() + &lines).unwrap();
    write(line("12") + &line("03"));
    let (values, bad) = read();
    assert!(bad.is_empty(), "{bad:?}");
    let known: Vec<usize> = (0..16).filter(|at| values[*at].is_some()).collect();
    assert_eq!(known, [3, 12]);
    write(line("2023-12") + &line("2025-03"));
    let (values, bad) = read();
    assert!(values.iter().all(Option::is_none) && bad.len() == 2, "{values:?} {bad:?}");
    assert!(bad[0].to_string().contains("2023-12 does not state its position"), "{bad:?}");
    // The names are those of another instance, of another examination, or not there.
    for names in ["F-PT-10 CTLFireability\n", "F-PT-1 CTLCardinality\n", ""] {
        fs::write(&file, names.to_owned() + &line("03")).unwrap();
        let (values, bad) = read();
        assert!(values.iter().all(Option::is_none) && bad.len() == 1, "{values:?} {bad:?}");
        assert!(bad[0].to_string().contains("F-PT-1-CTLF.out:1: the names F-PT-1 and CTLF"), "{bad:?}");
    }
}

#[test]
fn an_infinite_count_of_an_oracle_is_not_comparable() {
    let edition = Edition::load("mcc-2018").unwrap();
    let mut results = RunResults::new(&edition);
    for entry in ["a", "b"] {
        let states = ["Inf", "Inf", "1", "2"].map(|text| text.parse().ok()).to_vec();
        results.add(entry, "F-PT-1", "StateSpace", &[], RunResult::published(states)).unwrap();
    }
    let judge = mcc::Judge::new(&edition, results).unwrap();
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("oracle.csv");
    let compare =
        || oracle::compare(&judge, &oracle::Oracle::read(&judge, folder.path()).unwrap(), &out).unwrap();
    // `Inf` equals `Inf`. It stands for a number that was too large for its writer, so it differs from no number.
    let text = "F-PT-1 StateSpace\nSTATE_SPACE STATES +inf TECHNIQUES TEDD2020\n\
                STATE_SPACE TRANSITIONS 7 TECHNIQUES TEDD2020\nSTATE_SPACE MAX_TOKEN_IN_PLACE +inf TECHNIQUES TEDD2020\n";
    fs::write(folder.path().join("F-PT-1-SS.out"), text).unwrap();
    assert_eq!(compare(), oracle::OracleComparison { same: 1, not_comparable: 2, ..Default::default() });
    let listed = rows(&out);
    assert!(listed.len() == 2 && listed.iter().all(|row| row["result"] == "not-comparable"), "{listed:?}");
    // The written oracle agrees in every value.
    assert_eq!(oracle::write(&judge, folder.path()).unwrap(), 1);
    assert_eq!(compare(), oracle::OracleComparison { same: 4, ..Default::default() });
}

#[test]
fn the_judgement_of_2018_agrees_with_the_oracle() {
    let Some(oracle) = data::shared("mcc/oracle") else { return };
    let answers = data::published("mcc/2018/answers.csv.gz");
    let folder = TempDir::new().unwrap();
    let judge = ["judge", answers.to_str().unwrap(), "--edition", "mcc-2018", "--out", "out", "--oracle"];
    let (_, note) = done(folder.path(), &[&judge[..], &[oracle.to_str().unwrap()]].concat());
    let listed = rows(&folder.path().join("out/oracle.csv"));
    // The values of BART are in the oracle only (377 in the whole archive); the state spaces come from other years.
    let different: Vec<_> = listed
        .iter()
        .filter(|row| row["result"] == "different" && row["examination"] != "StateSpace")
        .collect();
    assert!(different.is_empty(), "{note}{different:?}");
    let unknown = listed.iter().filter(|row| row["result"] == "only-oracle");
    assert!(unknown.clone().all(|row| row["instance"].starts_with("BART-PT-")), "{note}");
    assert!(note.contains("oracle: 5"), "{note}");
}

#[test]
fn job_files_and_campaigns_are_converted_both_ways() {
    let folder = TempDir::new().unwrap();
    let jobs = "#BK_CONFIGURATION:r001-tall:fko:tall:31:mcc:60:16384:4:images\n\
                r001-tall-149700000000001,lola,lola.qcow2,TokenLoop-PT-03,StateSpace\n\
                r001-tall-149700000000002,lola,lola.qcow2,TokenLoop-PT-03,CTLFireability\n\
                r001-tall-149700000000003,tedd,tina.qcow2,TokenLoop-PT-03,StateSpace\n";
    fs::write(folder.path().join("r001-tall.bkjobs"), jobs).unwrap();
    let inputs = tool::fixtures();
    let import =
        ["import", "r001-tall.bkjobs", "--edition", "mcc-2018", "--out", "campaign.toml", "--inputs"];
    let (out, note) = done(folder.path(), &[&import[..], &[inputs.to_str().unwrap()]].concat());
    assert!(
        out.contains("campaign.toml (runs: 4)") && note.contains("  tedd/TokenLoop-PT-03/CTLFireability"),
        "{note}"
    );
    let (plan, _) = done(folder.path(), &["plan", "campaign.toml"]);
    assert!(plan.contains("runs: 4; runs in a machine: 4") && plan.contains("wall_s: 60"), "{plan}");

    let back = ["export", "campaign.toml", "--bkjobs", "r002.bkjobs", "--login", "fko@tall"];
    done(folder.path(), &back);
    let text = fs::read_to_string(folder.path().join("r002.bkjobs")).unwrap();
    let expected = ["#BK_CONFIGURATION:r002:fko:tall:31:mcc:60:16384:4:", "# tool lola (lola.qcow2)\n"];
    expected.iter().for_each(|part| assert!(text.contains(part), "{text}"));
    assert!(
        text.ends_with("r002-000000000000004,tedd,tina.qcow2,TokenLoop-PT-03,CTLFireability\n"),
        "{text}"
    );
    // A job file has one limit.
    let campaign = fs::read_to_string(folder.path().join("campaign.toml")).unwrap();
    let limited = campaign.replacen("[limits]\n", "[limits]\ncpu_s = 12\n", 1);
    fs::write(folder.path().join("limited.toml"), limited).unwrap();
    let (_, note) = done(folder.path(), &["export", "limited.toml", "--bkjobs", "r003.bkjobs"]);
    assert!(note.contains("confinement_s (60 s): BenchKit has no place for cpu_s (12 s)\n"), "{note}");
    let again = ["import", "r002.bkjobs", "--edition", "mcc-2018", "--out", "again.toml", "--inputs"];
    let (_, note) = done(folder.path(), &[&again[..], &[inputs.to_str().unwrap()]].concat());
    assert_eq!(note, "");

    for (old, new, part) in [
        ("StateSpace", "Deadlock", "r001-tall-149700000000001: no examination Deadlock"),
        (":4:images", ":2:images", "machines of 2 cores, but mcc-2018 has 1 and 4"),
        (":16384:", ":1024:", "machines of 1024 MB, but mcc-2018 has 16384"),
        (
            "lola.qcow2,TokenLoop-PT-03,CTL",
            "x.qcow2,TokenLoop-PT-03,CTL",
            "tool lola has the images lola.qcow2 and x",
        ),
        (
            ",CTLFireability",
            ",StateSpace",
            "r001-tall-149700000000002: lola/TokenLoop-PT-03/StateSpace is listed twice",
        ),
        (",tedd,", ",", "line 4: 4 fields"),
    ] {
        fs::write(folder.path().join("bad.bkjobs"), jobs.replacen(old, new, 1)).unwrap();
        let import =
            ["import", "bad.bkjobs", "--edition", "mcc-2018", "--out", "bad.toml", "--inputs", "models"];
        refused(folder.path(), &import, &["bad.bkjobs", part]);
        assert!(!folder.path().join("bad.toml").exists());
    }
}
