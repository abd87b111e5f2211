//! Reports on a terminal and in a pipe: width, colours, and the next command.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_mcc-harness");

/// An output with a mistake whose message is longer than a line.
fn mistake(folder: &Path) {
    fs::write(
        folder.join("stdout"),
        "STATESPACE STATES 14\nSTATE_SPACE STATES fourteen TECHNIQUES EXPLICIT\n",
    )
    .unwrap();
}

/// Runs `lint` in a terminal of 60 columns, with these variables. Returns what it printed.
fn on_terminal(folder: &Path, variables: &[(&str, &str)]) -> String {
    let command = format!("stty cols 60 rows 30; '{PROGRAM}' lint stdout --examination StateSpace");
    let mut script = Command::new("script");
    script.args(["-qefc", &command, "/dev/null"]).current_dir(folder).stdin(Stdio::null());
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
        script.env_remove(name);
    }
    let output =
        script.env("TERM", "xterm").envs(variables.iter().copied()).output().expect("script, of util-linux");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n")
}

#[test]
fn a_report_is_wrapped_and_coloured_as_the_terminal_allows() {
    let folder = tempfile::tempdir().unwrap();
    mistake(folder.path());
    let coloured = on_terminal(folder.path(), &[]);
    assert!(coloured.contains("\x1b["), "{coloured:?}");
    assert!(coloured.contains("`mcc-harness rule E-1.7` prints a rule"), "the next command: {coloured}");
    for without in [[("NO_COLOR", "1")], [("CLICOLOR", "0")], [("TERM", "dumb")]] {
        let plain = on_terminal(folder.path(), &without);
        assert!(!plain.contains('\x1b'), "{without:?}: {plain:?}");
        assert!(plain.contains("`STATESPACE` is not a keyword"), "{plain}");
        assert!(plain.lines().all(|line| line.chars().count() <= 60), "{plain}");
        assert!(plain.lines().count() > 8, "long messages are wrapped: {plain}");
    }
}

#[test]
fn a_report_in_a_pipe_has_80_columns_and_no_codes() {
    let folder = tempfile::tempdir().unwrap();
    mistake(folder.path());
    let run = |args: &[&str]| -> Output {
        Command::new(PROGRAM).args(args).current_dir(folder.path()).output().unwrap()
    };
    let output = run(&["lint", "stdout", "--examination", "StateSpace"]);
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.stderr.is_empty(), "hints are for people at a terminal: {:?}", output.stderr);
    assert!(printed.contains("line 1: error: `STATESPACE` is not a keyword"), "{printed}");
    assert!(!printed.contains('\x1b') && printed.lines().all(|line| line.chars().count() <= 80), "{printed}");
    // A message on stderr is one line, for logs.
    let output = run(&["lint", "stdout", "--examination", "Statespace"]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.ends_with("; did you mean `StateSpace`?\n") && message.lines().count() == 1, "{message}");
}

#[test]
fn lint_abridges_a_long_value() {
    let folder = tempfile::tempdir().unwrap();
    let value = format!("1{}", "0".repeat(99_999));
    let line = format!("STATE_SPACE STATES {value} TECHNIQUES EXPLICIT\n");
    std::fs::write(folder.path().join("stdout"), line).unwrap();
    let run = |format: &str| {
        let lint = ["lint", "stdout", "--examination", "StateSpace", "--format", format];
        let output = Command::new(PROGRAM).args(lint).current_dir(folder.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let printed = run("text");
    assert!(printed.contains("10000000000000000000... (100000 digits)") && printed.len() < 2000, "{printed}");
    assert!(run("json").contains(&value));
}
