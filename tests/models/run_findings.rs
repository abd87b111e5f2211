//! The findings of single runs, from their outputs and measurements.

use super::qualify::{INSTANCE, root};
use mcc_harness::edition::Edition;
use mcc_harness::model::{Archive, Severity};
use mcc_harness::qualify::{AttemptOutputs, Finding, PerTool, RunLimits, RunQuestions, check_run};
use mcc_harness::store::{Arrivals, Outcome, RunFacts, Sample};
use std::fs;

const LIMITS: RunLimits = RunLimits { cpu_s: 60, wall_s: 75, vcpus: 1, memory_mib: 16_384 };

/// The data of a run.
struct Run {
    outcome: Outcome,
    marks: Vec<mcc_harness::base::Mark>,
    facts: RunFacts,
    folder: tempfile::TempDir,
}

impl Run {
    fn with_stdout(stdout: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("stdout"), stdout).unwrap();
        fs::write(folder.path().join("stderr"), "").unwrap();
        let facts =
            RunFacts { wall_ms: 1000, vcpus: 1, stdout_bytes: stdout.len() as u64, ..RunFacts::default() };
        Self { outcome: Outcome::Finished { exit_code: 0 }, marks: vec![], facts, folder }
    }

    fn attempt(&self) -> AttemptOutputs<'_> {
        AttemptOutputs {
            outcome: &self.outcome,
            marks: &self.marks,
            facts: Some(&self.facts),
            samples: &self.facts.samples,
            outputs: self.folder.path(),
        }
    }

    fn findings(&self, examination: &str) -> Vec<Finding> {
        let edition = Edition::load("mcc-2018").unwrap();
        let (_, examination) = edition.examination(examination).unwrap();
        let archive = Archive::open(&root().join(format!("pnml-fixtures/{INSTANCE}.tgz"))).unwrap();
        let run_questions = RunQuestions::read(&archive, examination).unwrap();
        check_run(&self.attempt(), &run_questions, &LIMITS).unwrap()
    }

    /// The only finding.
    fn finding(&self, examination: &str) -> String {
        let found = self.findings(examination);
        assert_eq!(found.len(), 1, "{found:#?}");
        format!("{} {} {}", found[0].place(), found[0].rule, found[0].problem)
    }
}

const DEADLOCK: &str = "FORMULA DiningTable-PT-03-ReachabilityDeadlock-0 TRUE TECHNIQUES EXPLICIT\n";

#[test]
fn a_clean_run_has_no_finding() {
    assert_eq!(Run::with_stdout(DEADLOCK).findings("ReachabilityDeadlock"), []);
    assert_eq!(Run::with_stdout("DO_NOT_COMPETE\n").findings("CTLCardinality"), []);
    assert_eq!(Run::with_stdout("CANNOT_COMPUTE\n").findings("StateSpace"), []);
}

#[test]
fn answers_after_the_limit_are_reported_with_their_line() {
    let mut run = Run::with_stdout(&format!("working\n{DEADLOCK}"));
    let sample = |at_s: u64, cpu_s: u64, stdout_bytes| Sample {
        at_ms: at_s * 1000,
        cpu_ms: cpu_s * 1000,
        stdout_bytes,
        runnable: 1,
        ..Sample::default()
    };
    run.facts.samples = vec![sample(59, 58, 8), sample(61, 60, 8), sample(62, 61, 8 + DEADLOCK.len() as u64)];
    let found = run.finding("ReachabilityDeadlock");
    assert!(found.starts_with("stdout line 2 E-5.1c 1 value printed after the limit"), "{found}");
    // An answer in the first sample after the limit may have been printed before the limit.
    run.facts.samples[1].stdout_bytes = 8 + DEADLOCK.len() as u64;
    assert_eq!(run.findings("ReachabilityDeadlock"), []);
}

/// Two values of ReachabilityCardinality on `INSTANCE`, and declarations for the others.
pub fn two_values() -> String {
    let id = |n: usize| format!("FORMULA {INSTANCE}-ReachabilityCardinality-{n:02}");
    let mut text = format!("{} TRUE TECHNIQUES X\n{} TRUE TECHNIQUES X\n", id(0), id(1));
    (2..16).for_each(|n| text += &format!("{} CANNOT_COMPUTE\n", id(n)));
    text
}

#[test]
fn values_that_all_arrive_at_the_end_are_a_warning() {
    let found = |wall_ms: u64, first: u64, outcome: Outcome| {
        let mut run = Run::with_stdout(&two_values());
        run.facts.wall_ms = wall_ms;
        run.facts.arrivals = Some(Arrivals { lines: vec![(1, first), (2, wall_ms + 5)], dropped: 0 });
        run.outcome = outcome;
        run.findings("ReachabilityCardinality")
    };
    let finished = || Outcome::Finished { exit_code: 0 };
    let [warning] = &found(10_000, 9_000, finished())[..] else { panic!("one finding") };
    assert_eq!((warning.severity, warning.rule, warning.line), (Severity::Warning, "E-5.1c", Some(1)));
    assert_eq!(warning.problem, "all 2 values arrived in the last second of a run of 10 s");
    assert!(warning.fix.contains("flush standard output"), "{}", warning.fix);
    assert_eq!(found(10_000, 8_999, finished()), [], "the first value arrived before");
    assert_eq!(found(9_999, 9_999, finished()), [], "a short run");
    assert_eq!(found(10_000, 10_000, Outcome::CpuLimit), [], "the limit ended the run");
    // A single value and the values of StateSpace are not reported.
    let metrics = "STATE_SPACE STATES 14 TECHNIQUES A\nSTATE_SPACE TRANSITIONS 30 TECHNIQUES A\n";
    for (stdout, examination) in [(DEADLOCK, "ReachabilityDeadlock"), (metrics, "StateSpace")] {
        let mut run = Run::with_stdout(stdout);
        run.facts.wall_ms = 10_000;
        run.facts.arrivals = Some(Arrivals { lines: vec![(1, 10_000), (2, 10_000)], dropped: 0 });
        let found = run.findings(examination);
        assert!(found.iter().all(|finding| !finding.problem.contains("arrived")), "{found:?}");
    }
}

#[test]
fn exceeded_memory_is_reported_with_its_rule() {
    let mut run = Run::with_stdout("");
    run.outcome = Outcome::MemoryLimit;
    assert!(
        run.finding("ReachabilityDeadlock").contains("E-5.3 the tool needs more memory than the 16384 MiB")
    );
}

#[test]
fn exit_code_0_without_an_answer_quotes_stderr() {
    let mut run = Run::with_stdout("");
    assert_eq!(run.finding("StateSpace"), " E-1.7 exit code 0 without an answer");
    let error = "verifypn: Unrecognized option \"-z\"";
    fs::write(run.folder.path().join("stderr"), format!("starting\n{error}\n")).unwrap();
    let expected =
        format!("stderr E-1.7 exit code 0 without an answer; stderr ends with `starting / {error}`");
    assert_eq!(run.finding("StateSpace"), expected);
    run.outcome = Outcome::Finished { exit_code: 3 };
    fs::write(run.folder.path().join("stderr"), "").unwrap();
    let [finding] = &run.findings("StateSpace")[..] else { panic!("one finding") };
    assert_eq!(finding.problem, "exit code 3 without an answer; stderr is empty");
    assert!(!finding.fix.contains("that stderr shows"), "{}", finding.fix);
}

/// The warnings that are reported once for these runs.
fn per_tool(runs: &[Run]) -> Vec<String> {
    let mut per_tool = PerTool::default();
    for (n, run) in runs.iter().enumerate() {
        // The run has no findings of its own.
        assert_eq!(run.findings("ReachabilityDeadlock"), []);
        per_tool.add(&format!("t/run-{n}"), &run.attempt(), &LIMITS);
    }
    let findings = per_tool.findings("t", &LIMITS).into_iter().map(|finding| {
        assert_eq!((finding.run.as_str(), finding.severity), ("t", Severity::Warning), "{finding:?}");
        assert!(finding.fix.contains("none required"), "{finding:?}");
        format!("{} {}", finding.rule, finding.problem)
    });
    findings.collect()
}

#[test]
fn threads_and_files_are_one_warning_for_all_runs() {
    let clean = || Run::with_stdout(DEADLOCK);
    let with_threads = |runnable: &[u32]| {
        let mut run = clean();
        run.facts.samples =
            runnable.iter().map(|runnable| Sample { runnable: *runnable, ..Sample::default() }).collect();
        run
    };
    assert_eq!(
        per_tool(&[clean(), with_threads(&[4, 4, 1, 4, 4, 4, 1, 1]), with_threads(&[7; 5])]),
        ["E-5.3 in 2 of 3 runs, up to 7 threads were runnable on 1 core; the first such run is t/run-1"]
    );
    assert_eq!(
        per_tool(&[with_threads(&[2; 4])]),
        [""; 0],
        "four seconds may be those of a shell on a busy host"
    );
    assert_eq!(per_tool(&[with_threads(&[2, 2, 2, 2, 2, 1, 1, 1, 1, 1])]), [""; 0], "half of the seconds");
    let mut run = clean();
    (run.facts.cpu_ms, run.facts.wall_ms) = (4000, 1000);
    assert_eq!(
        per_tool(&[run]),
        [
            "E-5.3 in 1 of 1 run, the tool used more CPU time than 1 core can give; the first such run is t/run-0: 4000 ms in 1000 ms"
        ]
    );
    let with_files = || {
        let mut run = clean();
        run.facts.written = vec!["/home/mcc/smart/log".to_owned(), "/home/mcc/b".to_owned()];
        run
    };
    assert_eq!(
        per_tool(&[clean(), with_files(), with_files()]),
        ["E-5.1 in 2 of 3 runs, files were left on the disk; the first is /home/mcc/smart/log in t/run-1"]
    );
}

#[test]
fn crashes_are_reported_with_the_kernel_log() {
    let segfault = "smart[61]: segfault at 0 ip 000055d0 sp 00007ffc error 4 in smart[55d0+1000]";
    let mut run = Run::with_stdout("");
    run.facts.kernel_log = vec!["EXT4-fs error (device vda)".to_owned(), segfault.to_owned()];
    for outcome in [Outcome::Finished { exit_code: 0 }, Outcome::ToolCrash { signal: 11 }, Outcome::WallLimit]
    {
        run.outcome = outcome;
        let found = run.findings("StateSpace");
        assert_eq!((found.len(), found[0].severity), (1, Severity::Error), "{found:#?}");
        let logged = format!("no answer: a process crashed; the guest's kernel logged `{segfault}`");
        assert_eq!(found[0].problem, logged);
        assert!(!found[0].fix.contains("CANNOT_COMPUTE") && found[0].fix.contains("debugger"), "{found:#?}");
    }
    // One process crashed, another one answered.
    let mut run = Run::with_stdout(DEADLOCK);
    run.facts.kernel_log = vec![segfault.to_owned()];
    let found = run.findings("ReachabilityDeadlock");
    assert_eq!((found.len(), found[0].severity), (1, Severity::Warning), "{found:#?}");
}

#[test]
fn the_end_of_a_run_is_reported() {
    let mut run = Run::with_stdout("");
    run.outcome = Outcome::Finished { exit_code: 3 };
    assert_eq!(run.finding("StateSpace"), " E-1.7 exit code 3 without an answer; stderr is empty");
    fs::write(
        run.folder.path().join("stderr"),
        "loading\n./head.sh: line 3: python3: command not found\n\x1b[0m\n",
    )
    .unwrap();
    run.outcome = Outcome::Finished { exit_code: 127 };
    let found = &run.findings("StateSpace")[0];
    assert_eq!(found.place(), "stderr");
    assert!(
        found.problem.contains("; stderr ends with `loading / ./head.sh: line 3: python3: command not found"),
        "{found:?}"
    );
    assert!(found.fix.contains("image build --packages"), "{found:?}");
    let mut run = Run::with_stdout("FORMULA DiningTable-PT-03-Reach");
    run.outcome = Outcome::CpuLimit;
    assert!(run.finding("ReachabilityDeadlock").contains("in the middle of a line"));
    let mut run = Run::with_stdout(DEADLOCK);
    run.outcome = Outcome::ToolCrash { signal: 11 };
    assert!(run.finding("ReachabilityDeadlock").contains("ended by signal 11; what was printed counts"));
    run.outcome = Outcome::CpuLimit;
    assert_eq!(run.findings("ReachabilityDeadlock"), [], "what it printed was flushed");
    run.outcome = Outcome::OutputLimit;
    assert!(run.finding("ReachabilityDeadlock").contains("output exceeded the limit"));
    run.outcome = Outcome::Infrastructure { state: "booting".into(), reason: "no guest".into() };
    assert!(run.finding("ReachabilityDeadlock").contains("the run failed while booting: no guest"));
}

#[test]
fn impossible_numbers_and_missing_values_are_reported() {
    let state_space = |states: &str, place: &str, marking: &str| {
        Run::with_stdout(&format!(
            "STATE_SPACE STATES {states} TECHNIQUES A\nSTATE_SPACE TRANSITIONS -1 TECHNIQUES A\n\
             STATE_SPACE MAX_TOKEN_IN_PLACE {place} TECHNIQUES A\nSTATE_SPACE MAX_TOKEN_PER_MARKING {marking} TECHNIQUES A\n"
        ))
    };
    assert_eq!(state_space("14", "1", "6").findings("StateSpace"), []);
    assert!(state_space("0", "1", "6").finding("StateSpace").starts_with("stdout line 1 E-1.2 STATES is 0"));
    assert!(
        state_space("14", "1", "2")
            .finding("StateSpace")
            .contains("MAX_TOKEN_PER_MARKING is 2, but the initial")
    );
    let missing = Run::with_stdout("STATE_SPACE STATES 14 TECHNIQUES A\n").findings("StateSpace");
    assert_eq!((missing.len(), missing[0].severity), (1, Severity::Warning));
    assert!(missing[0].problem.starts_with("no answer for 3 of 4 values; the first is TRANSITIONS"));
    let contradiction = DEADLOCK.replace("TRUE", "FALSE") + DEADLOCK;
    assert!(
        Run::with_stdout(&contradiction)
            .finding("ReachabilityDeadlock")
            .contains("was FALSE in line 1 and is TRUE now")
    );
    let in_part = DEADLOCK.replace("TRUE TECHNIQUES EXPLICIT", "DO_NOT_COMPETE");
    assert!(
        Run::with_stdout(&in_part).finding("ReachabilityDeadlock").contains("DO_NOT_COMPETE for one value")
    );
}
