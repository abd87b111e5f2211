//! `qualify` and `lint`: checks of a tool before its submission.

use crate::support::campaign;
use crate::support::data;
use crate::support::images;

use super::run_findings::two_values;
use campaign::Folder;
use serde_json::Value as Json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub const INSTANCE: &str = "DiningTable-PT-03";

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Creates the folder `models` with one instance, and the folder `tool` with this head script and the reference tool.
fn tool(folder: &Path, head: &str) -> (PathBuf, PathBuf) {
    let (models, tool) = (folder.join("models"), folder.join("tool"));
    fs::create_dir_all(tool.join("bin")).unwrap();
    fs::create_dir(&models).unwrap();
    let archive = format!("{INSTANCE}.tgz");
    fs::copy(root().join("pnml-fixtures").join(&archive), models.join(archive)).unwrap();
    fs::write(tool.join("BenchKit_head.sh"), head).unwrap();
    fs::set_permissions(tool.join("BenchKit_head.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_mcc-harness")).with_file_name("mcc-reference-tool");
    fs::copy(program, tool.join("bin/mcc-reference-tool")).unwrap();
    (models, tool)
}

fn report(output: &Output) -> Json {
    let text = String::from_utf8_lossy(&output.stdout);
    let message = || format!("{text}\n{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {}", message()))
}

/// All findings in order, as `examination place: problem`.
fn findings(report: &Json) -> Vec<String> {
    let text = |finding: &Json, key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    let findings = report["findings"].as_array().unwrap();
    let shown = findings.iter().map(|finding| {
        assert!(!text(finding, "fix").is_empty() && text(finding, "rule").starts_with("E-"), "{finding}");
        let run = text(finding, "run");
        let place = [text(finding, "output"), finding["line"].to_string()].join(" ");
        format!("{} {place}: {}", run.rsplit('/').next().unwrap(), text(finding, "problem"))
    });
    shown.collect()
}

/// The findings for the ten mistakes of `tests/tool-with-mistakes`. `home`: the folder of the file of the last one;
/// `attempts`: number of attempts.
fn expected_findings(home: &str, attempts: usize) -> Vec<String> {
    let id = |formula: &str| format!("{INSTANCE}-{formula}");
    vec![
        "StateSpace stdout 4: MAX_TOKEN_IN_PLACE is 7, but the model is known to be safe".to_owned(),
        format!("UpperBounds stdout 2: {} is a negative number", id("UpperBounds-00")),
        format!("UpperBounds stdout 3: {} is 9, but the known value is 2", id("UpperBounds-01")),
        "ReachabilityDeadlock stdout 1: `CANNOT COMPUTE` is not a keyword".to_owned(),
        "ReachabilityDeadlock  null: processes of the tool still run".to_owned(),
        "ReachabilityCardinality stderr 2: 16 values printed on stderr only; the first is ".to_owned(),
        "ReachabilityFireability  null: the tool was terminated at the limit without an answer".to_owned(),
        "CTLCardinality  null: exit code 0 without an answer".to_owned(),
        "CTLFireability stdout 2: CANNOT_COMPUTE inside a result line".to_owned(),
        format!(
            "planted  null: in 1 of {attempts} runs, files were left on the disk; the first is {home}/.planted-cache in planted/"
        ),
    ]
}

const EXAMINATIONS: &str = "StateSpace,UpperBounds,ReachabilityDeadlock,ReachabilityCardinality,\
                       ReachabilityFireability,CTLCardinality,CTLFireability,LTLCardinality";

fn assert_findings(report: &Json, home: &str, attempts: usize) {
    let found = findings(report);
    let expected = expected_findings(home, attempts);
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(&expected) {
        assert!(found.starts_with(expected.as_str()), "{found}\nis not {expected}");
    }
    assert_eq!(report["passes"], false);
}

#[test]
#[cfg_attr(not(feature = "machine-tests"), ignore = "needs real machines: scripts/test")]
fn qualify_finds_all_mistakes_of_a_faulty_tool() {
    let folder = Folder::new("");
    let (_, tool) = tool(folder.path(), include_str!("../tool-with-mistakes/BenchKit_head.sh"));
    images::with_tool(&tool, &folder.path().join("image"));
    let oracle = root().join("pnml-fixtures/expected");
    let arguments =
        ["qualify", "image", "--tool", "planted", "--instances", "models", "--limit", "30", "--oracle"];
    let arguments = [&arguments[..], &[oracle.to_str().unwrap(), "--examinations", EXAMINATIONS]].concat();
    let edition = "base = \"mcc-2018\"\nname = \"small\"\n[machine]\nmemory_mib = 2048\n";
    std::fs::write(folder.path().join("small.toml"), edition).unwrap();
    let more =
        ["--edition", "small.toml", "--out", "kept", "--jobs", "2", "--allow-degraded", "--format", "json"];
    let output = folder.harness(&[&arguments[..], &more].concat()).output().unwrap();
    let report = report(&output);
    assert_eq!(output.status.code(), Some(1), "{report:#}");
    assert_findings(&report, "/home/mcc", 9);
    assert!(report["disks"]["disk planted"].as_str().unwrap().len() == 64, "{report:#}");
    assert_eq!(report["environment"]["BK_TIME_CONFINEMENT"], "30");
    for expected in ["guest kernel ", "CPU flags", "booted 1 time,", "restored 8 times ", "accelerator "] {
        let lines = report["machine"].as_array().unwrap();
        assert!(
            lines.iter().any(|line| line.as_str().unwrap().contains(expected)),
            "{expected} in {lines:?}"
        );
    }
    // The first run that the tool ended itself was repeated in a machine that boots.
    let attempts = report["runs"].as_object().unwrap().values().map(|ends| ends.as_array().unwrap().len());
    assert_eq!(attempts.clone().sum::<usize>(), 9, "{report:#}");
    assert_eq!(attempts.max(), Some(2), "{report:#}");
    assert_eq!((&report["native"], report["runs"].as_object().unwrap().len()), (&Json::Bool(false), 8));
    // The record has the same form as that of `run`.
    assert!(folder.path().join("kept/record.db").is_file());
}

#[test]
fn each_run_is_repeated_in_machines_of_the_same_process() {
    let folder = Folder::with_fake_qemu(1, &["StateSpace"], "");
    tool(folder.path(), "");
    let arguments = ["qualify", "image", "--tool", "t", "--instances", "models", "--examinations"];
    let more =
        ["StateSpace,UpperBounds", "--repeat", "3", "--allow-degraded", "--format", "json", "--out", "kept"];
    // The fake cannot save the state of a machine.
    let output = folder.harness(&[&arguments[..], &more, &["--boot"]].concat()).output().unwrap();
    let report = report(&output);
    assert_eq!(output.status.code(), Some(1), "no answer: {report:#}");
    for examination in ["StateSpace", "UpperBounds"] {
        let ends = &report["runs"][format!("t/{INSTANCE}/{examination}")];
        assert_eq!(*ends, serde_json::json!(["finished", "finished", "finished"]), "{report:#}");
    }
    let found = findings(&report);
    assert_eq!(found.len(), 2, "a finding of every repetition is reported once: {found:#?}");
}

fn qualify_native(folder: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
    command.args(["qualify", "--native", "tool", "--tool", "planted", "--instances", "models"]);
    command.args(["--format", "json"]).args(more).current_dir(folder).output().unwrap()
}

#[test]
fn native_runs_find_the_same_mistakes() {
    let folder = tempfile::tempdir().unwrap();
    tool(folder.path(), include_str!("../tool-with-mistakes/BenchKit_head.sh"));
    let oracle = root().join("pnml-fixtures/expected");
    let more =
        ["--limit", "10", "--examinations", EXAMINATIONS, "--oracle", oracle.to_str().unwrap(), "--certify"];
    let output = qualify_native(folder.path(), &more);
    let report = report(&output);
    assert_eq!(output.status.code(), Some(1));
    assert_findings(&report, "/home/mcc", 8);
    // A wrong value comes with its evidence in the words of its formula.
    let fix = |problem: &str| {
        let findings = report["findings"].as_array().unwrap().iter();
        let mut found = findings.filter(|finding| finding["problem"].as_str().unwrap().contains(problem));
        found.next().unwrap()["fix"].as_str().unwrap().to_owned()
    };
    let bound = fix("UpperBounds-01 is 9");
    assert!(
        bound.contains("evidence: ") && bound.contains("UpperBounds-01 is 2 (the largest tokens("),
        "{bound}"
    );
    assert!(fix("MAX_TOKEN_IN_PLACE is 7").contains("evidence: MAX_TOKEN_IN_PLACE is 1"), "{report:#}");
    assert_eq!(report["native"], true);
    let of_values = report["findings"].as_array().unwrap().iter().filter_map(|finding| finding.get("value"));
    let oracle = |file: &str| oracle.join(file).display().to_string();
    let value = |position: &str, id: &str, given: &str, known: &str, oracle: &str| serde_json::json!({ "position": position, "id": id, "given": given, "known": known, "oracle": oracle });
    let expected = [
        value("02", "MAX_TOKEN_IN_PLACE", "7", "1", "GenericPropertiesVerdict.xml"),
        value("01", &format!("{INSTANCE}-UpperBounds-01"), "9", "2", &oracle(&format!("{INSTANCE}.csv"))),
    ];
    assert!(of_values.eq(&expected), "{report:#}");
    assert!(report["machine"][0].as_str().unwrap().contains("does not replace"));
}

#[test]
fn repetitions_find_answers_that_differ() {
    let folder = tempfile::tempdir().unwrap();
    let head = "#!/bin/bash\nn=$(cat COUNT 2>/dev/null); n=$((n + 1)); echo $n > COUNT\n\
                if [ $((n % 2)) = 0 ]; then v=TRUE; else v=FALSE; fi\n\
                echo \"FORMULA ReachabilityDeadlock $v TECHNIQUES EXPLICIT\"\n";
    let head = head.replace("COUNT", folder.path().join("count").to_str().unwrap());
    tool(folder.path(), &head);
    let repeated = |repeat: &str| {
        let more = ["--examinations", "ReachabilityDeadlock", "--repeat", repeat];
        findings(&report(&qualify_native(folder.path(), &more)))
    };
    let differing_values = |found: &[String]| {
        found.iter().filter(|found| found.contains(" differs between repetitions: ")).count()
    };
    assert_eq!(differing_values(&repeated("1")), 0);
    let twice = repeated("2");
    assert_eq!(differing_values(&twice), 1, "{twice:?}");
    assert!(
        twice.iter().any(|found| found.contains("repetitions: TRUE in attempt 1, FALSE in attempt 2")),
        "{twice:?}"
    );
}

#[test]
fn a_buffer_until_the_end_is_found_in_a_native_run() {
    let folder = tempfile::tempdir().unwrap();
    // In the second examination the first value is printed at once.
    let head = format!(
        "#!/bin/bash\nanswers='{}'\nanswers=${{answers//ReachabilityCardinality/$BK_EXAMINATION}}\n\
         if [ $BK_EXAMINATION = CTLCardinality ]; then echo \"$answers\" | head -n 1; fi\n\
         sleep 11; echo \"$answers\" | if [ $BK_EXAMINATION = CTLCardinality ]; then tail -n +2; else cat; fi\n",
        two_values().trim_end()
    );
    tool(folder.path(), &head);
    let examinations = ["--examinations", "ReachabilityCardinality,CTLCardinality"];
    let found = findings(&report(&qualify_native(folder.path(), &examinations)));
    let late: Vec<_> =
        found.iter().filter(|finding| finding.contains("arrived in the last second")).collect();
    let [late] = &late[..] else { panic!("{found:?}") };
    assert!(late.starts_with("ReachabilityCardinality stdout 1: all 2 values arrived"), "{late}");
}

/// `truncate` makes a file that could be read for hours, and would have kept the limits from being checked.
#[test]
fn a_native_tool_with_endless_output_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    tool(folder.path(), "#!/bin/bash\ntruncate -s 4T /proc/self/fd/1\nsleep 1000\n");
    let found = findings(&report(&qualify_native(folder.path(), &["--examinations", "StateSpace"])));
    assert!(found.iter().any(|finding| finding.contains("its output exceeded the limit")), "{found:?}");
}

#[test]
fn a_native_run_does_not_write_into_a_record() {
    let folder = tempfile::tempdir().unwrap();
    tool(folder.path(), "");
    for file in ["record.db", "archive.json"] {
        let out = folder.path().join(format!("has {file}"));
        fs::create_dir(&out).unwrap();
        fs::write(out.join(file), "").unwrap();
        let output = qualify_native(folder.path(), &["--out", out.to_str().unwrap()]);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("give another folder to --out"), "{message}");
        assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
    }
}

/// A pipe would be read without end.
#[test]
fn a_native_tool_that_replaces_its_output_is_an_error() {
    for output in ["1", "2"] {
        let folder = tempfile::tempdir().unwrap();
        let script = format!(
            "#!/bin/bash\nexec 3>&{output}\nfile=$(readlink /proc/$$/fd/3)\nrm \"$file\"; mkfifo \"$file\"\n"
        );
        tool(folder.path(), &script);
        let output = qualify_native(folder.path(), &["--examinations", "StateSpace"]);
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains("the tool replaced the file of its output"), "{message}");
    }
}

/// In a machine the cgroup of the tool has them all; here a session would not.
#[test]
fn a_process_that_leaves_the_session_of_a_native_run_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let number = folder.path().join("number");
    let file = number.display();
    // A process has no environment for a moment while it executes another program.
    tool(
        folder.path(),
        &format!(
            "#!/bin/bash\nsetsid bash -c 'echo $$ > {file}.new; mv {file}.new {file}; exec sleep 100000' &\n\
             until [ -e {file} ] && grep -qa ^sleep \"/proc/$(cat {file})/cmdline\"; do sleep 0.01; done\n\
             rm -rf \"$HOME\"\n"
        ),
    );
    let found = findings(&report(&qualify_native(folder.path(), &["--examinations", "StateSpace"])));
    assert!(found.iter().any(|finding| finding.contains("processes")), "{found:?}");
    let number: u32 = fs::read_to_string(number).unwrap().trim().parse().unwrap();
    let command = fs::read_to_string(format!("/proc/{number}/cmdline")).unwrap_or_default();
    assert!(!command.contains("sleep"), "{command}");
}

#[test]
fn a_bad_line_of_an_oracle_is_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    tool(folder.path(), "#!/bin/bash\necho STATE_SPACE STATES 15 TECHNIQUES EXPLICIT\n");
    let qualify = |oracle: &str| {
        let output = qualify_native(folder.path(), &["--examinations", "StateSpace", "--oracle", oracle]);
        let report = report(&output);
        let bad = report["findings"].as_array().unwrap().iter();
        let bad: Vec<_> =
            bad.filter(|f| f["problem"].as_str().unwrap().contains("the oracle")).cloned().collect();
        assert_eq!(bad.len(), 1, "{report:#}");
        assert_eq!(bad[0]["severity"], "warning");
        (bad[0]["problem"].as_str().unwrap().to_owned(), findings(&report))
    };
    let wrong = "StateSpace stdout 1: STATES is 15, but the known value is 14";
    // The abbreviated file names of the contest, and those of outputs.
    for name in ["SS", "StateSpace"] {
        let oracle = folder.path().join(name);
        fs::create_dir(&oracle).unwrap();
        let lines = "STATE_SPACE STATES 14 TECHNIQUES ORACLE\nSTATE_SPACE TRANSITIONS many TECHNIQUES ORACLE\n\
                     STATE_SPACE MAX_TOKEN_IN_PLACE few TECHNIQUES ORACLE\n";
        fs::write(oracle.join(format!("{INSTANCE}-{name}.out")), format!("{INSTANCE} StateSpace\n{lines}"))
            .unwrap();
        let (bad, all) = qualify(name);
        assert!(
            bad.contains(&format!("{INSTANCE}-{name}.out:3: ")) && bad.contains("1 more bad line"),
            "{bad}"
        );
        assert!(all.iter().any(|found| found.starts_with(wrong)), "the good line is compared: {all:#?}");
    }
    let table = "examination,position,id,value\nStateSpace,00,STATES,14\nStateSpace,01,TRANSITIONS,many\n";
    fs::create_dir(folder.path().join("table")).unwrap();
    fs::write(folder.path().join(format!("table/{INSTANCE}.csv")), table).unwrap();
    let (bad, all) = qualify("table");
    assert!(bad.contains(&format!("{INSTANCE}.csv:3: TRANSITIONS: `many` is not a value")), "{bad}");
    assert!(all.iter().any(|found| found.starts_with(wrong)), "{all:#?}");
}

#[test]
fn an_unreadable_oracle_is_an_error_before_the_first_run() {
    let folder = tempfile::tempdir().unwrap();
    let ran = folder.path().join("ran");
    tool(folder.path(), &format!("#!/bin/bash\ntouch {}\n", ran.display()));
    let oracle = folder.path().join("oracle");
    fs::create_dir_all(&oracle).unwrap();
    // The file for the last examination is a folder.
    fs::write(oracle.join("any.out"), "").unwrap();
    fs::create_dir(oracle.join(format!("{INSTANCE}-UB.out"))).unwrap();
    let output =
        qualify_native(folder.path(), &["--examinations", "StateSpace,UpperBounds", "--oracle", "oracle"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(&format!("{INSTANCE}-UB.out")) && !ran.exists(), "{said}");
}

#[test]
fn wrong_arguments_of_qualify_are_errors_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    tool(folder.path(), "");
    let limited = "base = 'mcc-2018'\nname = 'limited'\n[limits]\ninstructions = 1000000000\n";
    fs::write(folder.path().join("limited"), limited).unwrap();
    for (arguments, message) in [
        (
            vec!["--native", "tool", "--edition", "./limited"],
            "edition limited: `limits.instructions` is 1000000000, but a native run has no machine that counts \
             instructions; qualify an image without --native",
        ),
        (vec!["--native", "models"], "models contains no BenchKit_head.sh; give the tool's folder"),
        (vec!["--native", "tool", "--examinations", "Deadlock"], "mcc-2018 has no examination Deadlock"),
        (vec!["--native", "tool", "--oracle", "absent"], "absent: "),
        (vec!["absent"], "absent does not exist; give an image folder"),
        (vec!["tool"], "`qualify --native tool` runs it on this host"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
        command.args(["qualify", "--tool", "t", "--instances", "models"]).args(&arguments);
        let output = command.current_dir(folder.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(message) && !said.contains(".toml:"), "{said}");
    }
}

#[test]
fn a_native_run_leaves_the_authors_folder_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let head = "#!/bin/bash\necho x >> \"$BK_BIN_PATH/../log\"\necho x >> \"$BK_BIN_PATH/state\"\n\
                rm \"$HOME/BenchKit/data\"\ncat \"$BK_BIN_PATH/state\" \"$HOME/BenchKit/link\" >&2\n\
                echo {} > \"$BK_RESULT_DIR/00.witness.json\"\nln -s /etc/passwd \"$BK_RESULT_DIR/01.witness.json\"\n\
                echo DO_NOT_COMPETE\n";
    let (_, tool) = tool(folder.path(), head);
    fs::write(tool.join("data"), "kept").unwrap();
    fs::write(tool.join("linked"), "linked").unwrap();
    std::os::unix::fs::symlink(tool.join("linked"), tool.join("link")).unwrap();
    let more = ["--examinations", "StateSpace,UpperBounds", "--out", "kept"];
    let report = report(&qualify_native(folder.path(), &more));
    assert_eq!(report["passes"], true, "{report:#}");
    assert_eq!(report["environment"]["BK_BIN_PATH"], "$HOME/BenchKit/bin/", "{report:#}");
    let found = findings(&report);
    let left = "the first is /home/mcc/BenchKit/bin/state in planted/";
    assert!(found.len() == 1 && found[0].contains("in 2 of 2 runs") && found[0].contains(left), "{found:?}");
    let names = fs::read_dir(&tool).unwrap().map(|item| item.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert_eq!(names, ["BenchKit_head.sh", "bin", "data", "link", "linked"]);
    assert!(!tool.join("bin/state").exists());
    assert!(report["machine"][1].as_str().unwrap().contains("$HOME"), "{report:#}");
    // Each run has a new copy, as it has a new disk in a machine.
    for examination in ["StateSpace", "UpperBounds"] {
        let stderr = folder.path().join(format!("kept/planted/{INSTANCE}/{examination}/1/stderr"));
        assert_eq!(fs::read_to_string(&stderr).unwrap(), "x\nlinked");
        // Evidence is kept, and links are not followed.
        assert_eq!(fs::read_to_string(stderr.with_file_name("00.witness.json")).unwrap(), "{}\n");
        assert!(!stderr.with_file_name("01.witness.json").exists());
    }
}

#[test]
fn a_home_that_cannot_be_removed_is_named_and_not_the_tool() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let chattr = |flag: &str, path: &Path| {
        Command::new("chattr").arg(flag).arg(path).output().is_ok_and(|done| done.status.success())
    };
    fs::write(at("try"), "").unwrap();
    // Only root can, and not on each file system.
    if !chattr("+i", &at("try")) {
        return;
    }
    assert!(chattr("-i", &at("try")));
    tool(
        folder.path(),
        "#!/bin/bash\necho > \"$HOME/kept\"; chattr +i \"$HOME/kept\"\necho DO_NOT_COMPETE\n",
    );
    fs::create_dir(at("tmp")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
    command.args(["qualify", "--native", "tool", "--tool", "t", "--instances", "models", "--out", "kept"]);
    let output = command.current_dir(folder.path()).env("TMPDIR", at("tmp")).output().unwrap();
    for file in
        walkdir::WalkDir::new(at("tmp")).into_iter().flatten().filter(|file| file.file_type().is_file())
    {
        chattr("-i", file.path());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("cannot be removed: Operation not permitted") && said.contains("; remove it"),
        "{said}"
    );
    assert!(said.contains("cannot run tool: its home /"), "{said}");
}

#[test]
fn stderr_of_a_failed_program_is_quoted_once_for_all_runs() {
    let folder = tempfile::tempdir().unwrap();
    tool(folder.path(), "#!/bin/bash\nno-such-program\n");
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
    command.args(["qualify", "--native", "tool", "--tool", "t", "--instances", "models", "--out", "kept"]);
    let output = command.current_dir(folder.path()).output().unwrap();
    let (report, messages) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(1), "{report}");
    let in_one_line = report.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "error E-1.7: exit code 127 without an answer; stderr ends with `$HOME/BenchKit/BenchKit_head.sh: line 2: \
         no-such-program: command not found`",
        "`image build --packages NAME`",
        "in: DiningTable-PT-03/StateSpace stderr; ",
        "and 4 more",
        "(mcc-harness rule E-1.7)",
        "native run: a native run does not replace the qualification of the image",
        "would NOT pass: 9 errors, 0 warnings",
    ] {
        assert!(in_one_line.contains(part), "{part} in\n{report}");
    }
    assert_eq!(report.matches("error E-1.7").count(), 1, "{report}");
    let (error, verdict) = (report.find("error E-1.7"), report.find("would NOT pass"));
    assert!(error < report.find("native run:") && report.find("native run:") < verdict, "{report}");
    assert!(
        messages.contains("note: the outputs are in kept/ENTRY/INSTANCE/EXAMINATION/ATTEMPT\n"),
        "{messages}"
    );
    assert!(folder.path().join(format!("kept/t/{INSTANCE}/StateSpace/1/stderr")).is_file());
}

#[test]
fn processes_that_a_tool_ended_are_not_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let head =
        "#!/bin/bash\nfor n in 1 2 3 4 5 6 7 8; do sleep 1000 & done\necho DO_NOT_COMPETE\nkill $(jobs -p)\n";
    tool(folder.path(), head);
    let more = ["--examinations", "StateSpace", "--repeat", "5"];
    let report = report(&qualify_native(folder.path(), &more));
    assert_eq!((&report["passes"], findings(&report)), (&Json::Bool(true), vec![]), "{report:#}");
}

#[test]
fn processes_that_hide_from_their_session_and_environment_are_ended() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    // A daemon without variables, in a session of its own, whose parent has ended; and one that executes programs all the
    // time, which have other numbers.
    let head = format!(
        "#!/bin/bash\nexec 3>&- </dev/null\necho DO_NOT_COMPETE\n\
         (env -i setsid bash -c 'echo $$ >>{pids}; while :; do exec sleep 1000; done' >/dev/null 2>&1 &)\n\
         (env -i setsid setsid bash -c 'echo $$ >>{pids}; while :; do /bin/true; done' >/dev/null 2>&1 &)\n\
         while [ \"$(wc -l <{pids})\" != 2 ]; do sleep 0.01; done\n",
        pids = pids.display()
    );
    fs::write(&pids, "").unwrap();
    tool(folder.path(), &head);
    let more = ["--examinations", "StateSpace", "--repeat", "1"];
    let report = report(&qualify_native(folder.path(), &more));
    assert!(
        findings(&report).iter().any(|finding| format!("{finding:?}").contains("still run")),
        "{report:#}"
    );
    let pids = fs::read_to_string(pids).unwrap();
    assert_eq!(pids.lines().count(), 2, "{pids}");
    for pid in pids.lines() {
        assert!(!Path::new("/proc").join(pid).exists(), "{pid} survived");
    }
}

#[test]
fn infinite_counts_in_oracles_are_unknown() {
    let folder = tempfile::tempdir().unwrap();
    tool(folder.path(), "");
    let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let line = |value: &str| format!("STATE_SPACE STATES {value} TECHNIQUES EXPLICIT\n");
    file(&format!("{INSTANCE}-SS.out"), &format!("{INSTANCE} StateSpace\n{}", line("+inf")));
    let lint = |value: &str| {
        file("stdout", &line(value));
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
        let archive = format!("models/{INSTANCE}.tgz");
        command.args([
            "lint",
            "stdout",
            "--instance",
            &archive,
            "--examination",
            "StateSpace",
            "--oracle",
            ".",
        ]);
        let output = command.current_dir(folder.path()).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    };
    let (code, said) = lint("18");
    assert!(code == Some(0) && said.contains("0 of 4 values are known") && !said.contains("error"), "{said}");
    let (code, said) = lint("+inf");
    assert!(
        code == Some(0)
            && said.contains("line 1: warning: STATES is infinite, which is right only if a place is"),
        "{said}"
    );
}

#[test]
fn qualify_never_overwrites_campaign_files_of_others() {
    let folder = tempfile::tempdir().unwrap();
    tool(folder.path(), "");
    fs::create_dir(folder.path().join("demo")).unwrap();
    let campaign = folder.path().join("demo/campaign.toml");
    fs::write(&campaign, "edition = \"mcc-2018\"\n").unwrap();
    let qualify = |out: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
        command.args(["qualify", "absent", "--tool", "t", "--instances", "models", "--out", out]);
        let output = command.current_dir(folder.path()).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for out in ["demo/campaign", "demo/campaign/"] {
        let (code, said) = qualify(out);
        assert_eq!(fs::read_to_string(&campaign).unwrap(), "edition = \"mcc-2018\"\n");
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("demo/campaign.toml") && said.contains("use another --out"), "{said}");
    }
    // A file that `qualify` wrote is replaced. A name with a dot keeps all its parts.
    fs::write(folder.path().join("demo/v2.toml"), "other = 1\n").unwrap();
    for _ in 0..2 {
        let (_, said) = qualify("demo/v2.results");
        assert!(said.contains("absent does not exist; give an image folder"), "{said}");
    }
    assert_eq!(fs::read_to_string(folder.path().join("demo/v2.toml")).unwrap(), "other = 1\n");
    assert!(folder.path().join("demo/v2.results.toml").is_file());
}

/// Outputs of real tools that were ended by their time limit, with the findings of `lint`.
const CUT: [(&str, &str); 3] = [
    ("smpt/Referendum-COL-0010-ReachabilityCardinality", "no answer for 5 of 16 values"),
    ("smpt/Referendum-COL-0010-ReachabilityFireability", "no answer for 7 of 16 values"),
    ("smpt/TokenRing-COL-005-ReachabilityFireability", "no answer for 1 of 16 values"),
];
/// Words that are not in the form of techniques. They are warnings.
const UNUSUAL: [&str; 2] = ["the technique `OPTIM-1`", "the technique `LOGFIRECOUNT_HEUR(5000)`"];

#[test]
fn lint_reports_only_missing_values_in_outputs_of_real_tools() {
    let Some(folder) = data::shared("mcc/real-output") else { return };
    let Some(inputs) = data::shared("mcc/inputs") else { return };
    let Some(oracle) = data::shared("mcc/oracle") else { return };
    let (mut files, mut found) = (0, vec![]);
    for file in walkdir::WalkDir::new(&folder).sort_by_file_name() {
        let path = file.unwrap().into_path();
        let Some(name) = path.file_name().unwrap().to_str().unwrap().strip_suffix(".stdout") else {
            continue;
        };
        let (instance, examination) = name.rsplit_once('-').unwrap();
        let mut lint = Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
        lint.arg("lint").arg(&path).args(["--examination", examination, "--format", "json"]);
        let archive = inputs.join(format!("{instance}.tgz"));
        if archive.is_file() {
            lint.arg("--instance").arg(archive).arg("--oracle").arg(&oracle);
        }
        let tool = path.parent().unwrap().file_name().unwrap().to_str().unwrap();
        let output = lint.output().unwrap();
        let of_file = findings(&report(&output));
        assert_eq!(output.status.code(), Some(0), "{name}: {of_file:#?}");
        let (unusual, others): (Vec<_>, Vec<_>) =
            of_file.into_iter().partition(|finding| UNUSUAL.iter().any(|unusual| finding.contains(unusual)));
        let may_be_unusual = tool == "tapaal" && examination.starts_with("LTL");
        assert!(unusual.is_empty() || may_be_unusual, "{name}: {unusual:#?}");
        assert!(unusual.len() <= UNUSUAL.len(), "each is reported once: {name}: {unusual:#?}");
        found.extend(others.into_iter().map(|finding| (format!("{tool}/{name}"), finding)));
        files += 1;
    }
    assert!(files >= 44, "{files}");
    assert_eq!(found.len(), CUT.len(), "{found:#?}");
    for ((file, finding), (known, words)) in found.iter().zip(CUT) {
        assert!(file == known && finding.contains(words), "{file}: {finding}");
    }
}

#[test]
fn no_report_replaces_an_input_a_device_or_another_report() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (models, tool) = tool(folder.path(), "#!/bin/bash\necho CANNOT_COMPUTE\n");
    fs::write(at("out.txt"), "CANNOT_COMPUTE\n").unwrap();
    fs::write(at("x.bkjobs"), "").unwrap();
    std::os::unix::fs::symlink("/dev/null", at("null")).unwrap();
    std::os::unix::fs::symlink("nowhere", at("dangling")).unwrap();
    let [archive, head] = [models.join(format!("{INSTANCE}.tgz")), tool.join("BenchKit_head.sh")];
    let (archive, head) = (archive.to_str().unwrap(), head.to_str().unwrap());
    let lint = ["lint", "out.txt", "--examination", "UpperBounds", "--instance", archive];
    let qualify = [
        "qualify",
        "--native",
        "tool",
        "--instances",
        "models",
        "--tool",
        "t",
        "--examinations",
        "StateSpace",
    ];
    let import = ["import", "x.bkjobs", "--edition", "mcc-2018", "--inputs", "models", "--out", archive];
    let shrink = ["shrink", archive, "--examination", "StateSpace", "--property", "STATES", "--tool", "tool"];
    for (command, more, problem) in [
        (&lint[..], &["--junit", "out.txt"][..], "would replace the input out.txt"),
        (&lint, &["--sarif", archive], "would replace the input"),
        (&lint, &["--junit", "null"], "it is a character device"),
        (&lint, &["--junit", "j", "--sarif", "./j"], "have the same file"),
        (&qualify, &["--junit", archive], "would replace the input"),
        (&qualify, &["--sarif", head], "would replace the input"),
        (&qualify, &["--sarif", "tool/bin/mcc-reference-tool"], "would replace the input"),
        (&import, &[], "would replace the input"),
        (&shrink, &["--out", "dangling"], "exists already"),
    ] {
        let read = || [archive, head].map(|path| fs::read(path).unwrap());
        let before = read();
        let mut harness = Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
        let output = harness.args(command).args(more).current_dir(folder.path()).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && error.contains(problem), "{command:?} {more:?}: {error}");
        assert!(read() == before && at("null").is_symlink() && !at("j").exists());
    }
}
