//! The summary of `scripts/test`.

use crate::support::data;

use std::fs;
use std::path::Path;
use std::process::Command;

fn summary(log: &str, not_run: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/test-summary");
    let output = Command::new(script).args([file("log", log), file("not-run", not_run)]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The output of two test programs. The lines of tests that run at the same time, and of their child processes, are mixed,
/// as in an observed output of `scripts/test`.
const MIXED: &str = "     Running unittests src/lib.rs (target/quick/deps/mcc_base-0123)

running 5 tests
test digest::tests::a_digest_is_hex ... ok
test a_campaign_of_NOT RUN: a::reads_real_data: mcc is missing; scripts/data fetches it
_2018 ... test text::tests::a ... FAILED
oktest b::c ... ignored, long
1: command not found
NOT RUN: test text::tests::b ... a::reads_more_data: ok
mcc is missing; scripts/data fetches it

failures:

---- text::tests::a stdout ----
failures:
    not::a::test
test not::a::test ... FAILED
thread 'text::tests::a' panicked at src/text.rs:7:9

failures:
    text::tests::a
    text::tests::d

RESULT
   Doc-tests mcc_base

running 1 test
test src/lib.rs - base (line 3) ... ok

RESULT_OF_DOC
";

fn mixed() -> String {
    let result =
        |counts: &str| format!("test result: {counts}; 0 measured; 0 filtered out; finished in 0.25s");
    MIXED
        .replace("RESULT_OF_DOC", &result("ok. 1 passed; 0 failed; 0 ignored"))
        .replace("RESULT", &result("FAILED. 4 passed; 2 failed; 1 ignored"))
}

#[test]
fn a_summary_is_right_if_lines_of_tests_mix() {
    let not_run = data::not_run_line("mcc is missing; scripts/data fetches it")
        + "a::reads_more_data: mcc is missing; scripts/data fetches it\n\
           a::reads_more_data: 2018 is missing: all of it\n";
    let expected = "passed:  3\nfailed:  2\n  text::tests::a\n  text::tests::d\nnot run: 3\n  \
                    2: mcc is missing; scripts/data fetches it\n  \
                    1: long tests; scripts/test --all runs them\n  \
                    the tests under libvirt; scripts/test --all runs them\n";
    assert_eq!(summary(&mixed(), &not_run), expected);
}

#[test]
fn a_test_program_that_was_killed_is_counted() {
    let log = mixed()
        + "     Running tests/machines/run.rs (target/quick/deps/run-0123)\n\nrunning 7 tests\ntest a ... ok\n\
                         error: test failed, to rerun pass `--test run`\n";
    let printed = summary(&log, "");
    assert!(printed.contains("passed:  5\n"), "{printed}");
    assert!(printed.contains("test programs that ended without a result: 1\n"), "{printed}");
}
