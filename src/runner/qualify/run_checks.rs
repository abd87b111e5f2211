//! Checks of a run: its end, its limits, and remaining processes.

use super::{AttemptOutputs, Finding, RunLimits, RunQuestions, check_output};
use mcc_base::Mark;
use mcc_base::files::{self, tail};
use mcc_base::text::counted;
use mcc_campaign::benchkit::{Answers, Reading};
use mcc_edition::AnswerKind;
use mcc_model::Severity;
use mcc_store::{Outcome, RunFacts};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Returns the findings of one attempt. `Finding::run` is empty.
///
/// # Errors
/// The outputs cannot be read.
pub fn check_run(
    attempt: &AttemptOutputs,
    run_questions: &RunQuestions,
    limits: &RunLimits,
) -> io::Result<Vec<Finding>> {
    if let Outcome::NotCompeting = attempt.outcome {
        return Ok(vec![]);
    }
    if let Outcome::Infrastructure { state, reason } = attempt.outcome {
        let fix = "if other images run on this host, the image is wrong: the disk must boot and start its guest agent (or \
                   sshd). The file `console` in the folder of the outputs shows the boot";
        return Ok(vec![Finding::new("E-5.1", format!("the run failed while {state}: {reason}"), fix)]);
    }
    let read = |name: &str| {
        let file = files::open_own(&attempt.outputs.join(name))?;
        Answers::read_file(&file, &run_questions.questions, Reading::default())
    };
    let (answers, stderr) = (read("stdout")?, read("stderr")?);
    let mut findings = check_output(&answers, run_questions);
    let on_stderr = on_stderr(&answers, &stderr);
    // An error in a line explains a missing answer.
    let explained = findings.iter().any(|finding| finding.severity == Severity::Error) || on_stderr.is_some();
    findings.extend(on_stderr);
    findings.extend(late(attempt, &answers, limits)?);
    findings.extend(end(attempt, &answers, explained)?);
    findings.extend(at_the_end(attempt, &answers, run_questions));
    findings.extend(attempt.facts.and_then(|facts| memory(attempt, facts, limits)));
    if attempt.marks.contains(&Mark::LEFT_BEHIND) {
        let fix =
            "wait for every process of the tool, or end it: remaining processes use CPU time and are killed";
        findings.push(Finding::new(
            "E-5.1",
            "processes of the tool still run when BenchKit_head.sh ends",
            fix,
        ));
    }
    Ok(findings)
}

/// Answers that were printed only on stderr, which does not count.
fn on_stderr(answers: &Answers, stderr: &Answers) -> Option<Finding> {
    let positions = answers.positions();
    let is_only =
        |id: &String| positions.get(id.as_str()).is_none_or(|there| answers.values[*there].is_none());
    let only: Vec<_> = (0..stderr.ids.len())
        .filter(|position| stderr.values[*position].is_some() && is_only(&stderr.ids[*position]))
        .map(|position| (&stderr.ids[position], stderr.lines[position]))
        .collect();
    let fix = "print answers to standard output; stderr is not read";
    match (only.iter().min_by_key(|(_, line)| *line), stderr.declared) {
        (Some((id, line)), _) => {
            let problem =
                format!("{} printed on stderr only; the first is {id}", counted(only.len(), "value"));
            Some(Finding::new("E-1.7", problem, fix).at("stderr", *line))
        }
        (None, Some(declared)) if answers.is_empty() => {
            let problem = format!("{} is printed on stderr only", declared.keyword());
            Some(Finding::new("E-1.7", problem, fix).at("stderr", None))
        }
        _ => None,
    }
}

/// Answers after the limit of the contest. A qualification continues after the limit to detect them. Answers within one
/// second after the limit count as in time, because samples are one second apart.
fn late(attempt: &AttemptOutputs, answers: &Answers, limits: &RunLimits) -> io::Result<Option<Finding>> {
    let cpu_ms = limits.cpu_s * 1000 * u64::from(limits.vcpus);
    let is_over = |at_ms: u64, cpu: u64| cpu >= cpu_ms || at_ms >= limits.wall_s * 1000;
    let Some(over) = attempt.samples.iter().find(|sample| is_over(sample.at_ms, sample.cpu_ms)) else {
        return Ok(None);
    };
    let mut in_time = files::open_own(&attempt.outputs.join("stdout"))?.take(over.stdout_bytes);
    let lines = lines_in(&mut in_time)?;
    let late = |(id, line): (&String, &Option<u64>)| {
        line.filter(|line| *line > lines).map(|line| (line, id.clone()))
    };
    let late: Vec<_> = answers.ids.iter().zip(&answers.lines).filter_map(late).collect();
    Ok(late.iter().min().map(|(line, id)| {
        let (values, cpu, wall) = (counted(late.len(), "value"), limits.cpu_s, limits.wall_s);
        let problem = format!(
            "{values} printed after the limit ({cpu} s of CPU time, {wall} s of wall time); the first is {id}"
        );
        let fix = "stop before BK_TIME_CONFINEMENT is over, and print each value as soon as it is known";
        Finding::new("E-5.1c", problem, fix).at("stdout", Some(*line))
    }))
}

/// The shortest run in which `at_the_end` can be found: in a shorter one a tool may have computed all values late.
const LONG_RUN_MS: u64 = 10_000;

/// The last part of a run, in which `at_the_end` finds all values.
const LAST_MS: u64 = 1_000;

/// Values that all arrived in the last second of a long run that the tool ended itself: they may have been in a buffer. A
/// single value and those of StateSpace are known only at the end.
fn at_the_end(attempt: &AttemptOutputs, answers: &Answers, run_questions: &RunQuestions) -> Option<Finding> {
    let facts = attempt.facts.filter(|facts| facts.wall_ms >= LONG_RUN_MS)?;
    let is_finished = matches!(attempt.outcome, Outcome::Finished { .. });
    let lines: Vec<u64> = answers.lines.iter().copied().flatten().collect();
    if !is_finished || lines.len() < 2 || run_questions.questions.answers == AnswerKind::StateSpace {
        return None;
    }
    let first = *lines.iter().min()?;
    let arrived_ms = facts.arrivals.as_ref()?.of_line(first)?;
    (arrived_ms.saturating_add(LAST_MS) >= facts.wall_ms).then(|| {
        let (count, s) = (counted(lines.len(), "value"), facts.wall_ms / 1000);
        let problem = format!("all {count} arrived in the last second of a run of {s} s");
        let fix = "print each value as soon as it is known, and flush standard output after every line: at the limit the \
                   machine is halted, and values in a buffer are lost";
        Finding::new("E-5.1c", problem, fix).at("stdout", Some(first)).warning()
    })
}

/// Counts the complete lines.
fn lines_in(from: &mut impl Read) -> io::Result<u64> {
    let mut reader = BufReader::new(from);
    let mut lines = 0;
    loop {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            return Ok(lines);
        }
        lines += memchr::memchr_iter(b'\n', chunk).count() as u64;
        let used = chunk.len();
        reader.consume(used);
    }
}

/// Findings about the end of the tool and its effect on the answers.
fn end(attempt: &AttemptOutputs, answers: &Answers, explained: bool) -> io::Result<Option<Finding>> {
    let without_answer = answers.is_empty() && !explained;
    let flush =
        "flush standard output after every line: a pipe is buffered, and the machine is halted at the limit";
    let stderr_end = end_of(&attempt.outputs.join("stderr"))?;
    let lost = attempt.facts.is_some_and(|facts| facts.stdout_bytes > 0) && ends_in_mid_line(attempt)?;
    let with_end = |problem: String, without: &str| match &stderr_end {
        Some(end) => format!("{problem}; stderr ends with `{end}`"),
        None => problem + without,
    };
    let in_stderr =
        |finding: Finding| if stderr_end.is_some() { finding.at("stderr", None) } else { finding };
    if let Some(crash) = crash(attempt) {
        let fix = "correct the crash: see stderr, or run the same command on this instance in a debugger";
        let crash = with_end(crash, "");
        if without_answer {
            return Ok(Some(Finding::new("E-1.7", format!("no answer: {crash}"), fix)));
        }
        let finding = Finding::new("E-1.7", format!("{crash}; what was printed counts"), fix);
        let is_error = matches!(attempt.outcome, Outcome::ToolCrash { .. });
        return Ok(Some(if is_error { finding } else { finding.warning() }));
    }
    Ok(match attempt.outcome {
        Outcome::Finished { exit_code: 0 } => without_answer.then(|| {
            let keyword = "if there is no answer, print DO_NOT_COMPETE or CANNOT_COMPUTE alone on a line";
            let problem = with_end("exit code 0 without an answer".to_owned(), "");
            let error = if stderr_end.is_some() { "correct the error if stderr shows one; " } else { "" };
            in_stderr(Finding::new("E-1.7", problem, format!("{error}{keyword}")))
        }),
        Outcome::Finished { exit_code } => {
            let fix = match exit_code {
                127 => {
                    "a program was not found (exit code 127): add its Debian package with `image build --packages \
                        NAME`, of a container in its Dockerfile, or put it into bin/ and call it by $BK_BIN_PATH. A native run has the programs of this \
                        host, and no /home/mcc"
                }
                126 => {
                    "a file could not be executed (exit code 126): set its permission (chmod +x), and check that it \
                        is for this processor"
                }
                _ if stderr_end.is_some() => "correct the error that stderr shows, and end with exit code 0",
                _ => "print errors of the tool to stderr, correct them, and end with exit code 0",
            };
            let what = if without_answer { " without an answer" } else { "; what was printed counts" };
            let problem = with_end(format!("exit code {exit_code}{what}"), "; stderr is empty");
            let finding = in_stderr(Finding::new("E-1.7", problem, fix));
            Some(if without_answer { finding } else { finding.warning() })
        }
        Outcome::CpuLimit | Outcome::WallLimit | Outcome::InstructionLimit if lost => {
            let problem = "the tool was terminated at the limit in the middle of a line: output that was not flushed is lost";
            Some(Finding::new("E-5.1c", problem, flush).at("stdout", None))
        }
        Outcome::CpuLimit | Outcome::WallLimit | Outcome::InstructionLimit => without_answer.then(|| {
            let problem =
                "the tool was terminated at the limit without an answer: output that was not flushed is lost";
            let fix = format!(
                "{flush}; if there is no result, print CANNOT_COMPUTE before BK_TIME_CONFINEMENT is over"
            );
            Finding::new("E-5.1c", problem, fix)
        }),
        Outcome::OutputLimit => {
            let fix = "print less: the machine is halted when the output exceeds its limit";
            Some(Finding::new("E-5.1", "the tool was terminated because its output exceeded the limit", fix))
        }
        Outcome::DiskLimit => {
            let fix = "write less to the disk: the machine is halted when its writes exceed `disk_gib` of the limits";
            Some(Finding::new(
                "E-5.1",
                "the tool was terminated because its writes to the disk reached the limit",
                fix,
            ))
        }
        // Crashes and the memory limit have findings of their own.
        Outcome::ToolCrash { .. }
        | Outcome::MemoryLimit
        | Outcome::NotCompeting
        | Outcome::Infrastructure { .. } => None,
    })
}

/// The crash of a process of the tool: the line of the guest's kernel log, or the signal that ended the run. A kill for
/// lack of memory is not a crash.
fn crash(attempt: &AttemptOutputs) -> Option<String> {
    let logged = [" segfault at ", "traps: ", "general protection"];
    let mut log = attempt.facts.into_iter().flat_map(|facts| &facts.kernel_log);
    let logged = log.find(|line| logged.iter().any(|part| line.contains(part)));
    match (attempt.outcome, logged) {
        (_, Some(line)) => Some(format!("a process crashed; the guest's kernel logged `{line}`")),
        (Outcome::ToolCrash { signal }, None) => Some(format!("a process was ended by signal {signal}")),
        _ => None,
    }
}

/// The last lines of an output that are not empty, in one line without control characters; None: there are none.
fn end_of(path: &Path) -> io::Result<Option<String>> {
    const BYTES: u64 = 4096;
    const LINES: usize = 3;
    const CHARACTERS: usize = 300;
    let bytes = tail(path, BYTES)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(LINES)..].join(" / ");
    let shown: Vec<char> = last.chars().filter(|c| !c.is_control()).collect();
    let cut = &shown[shown.len().saturating_sub(CHARACTERS)..];
    Ok((!cut.is_empty()).then(|| cut.iter().collect()))
}

/// Whether stdout ends with an incomplete line.
fn ends_in_mid_line(attempt: &AttemptOutputs) -> io::Result<bool> {
    let last = tail(&attempt.outputs.join("stdout"), 1)?;
    Ok(!last.is_empty() && last != b"\n")
}

/// A finding if the tool needed more memory than the machine has.
fn memory(attempt: &AttemptOutputs, facts: &RunFacts, limits: &RunLimits) -> Option<Finding> {
    let RunLimits { vcpus, memory_mib, .. } = *limits;
    let rule = if vcpus == 1 { "E-5.3" } else { "E-5.4" };
    let over = facts.memory_kib.is_some_and(|kib| kib > memory_mib * 1024);
    let killed = attempt.marks.contains(&Mark::OOM_KILLS) || *attempt.outcome == Outcome::MemoryLimit;
    (over || killed).then(|| {
        let problem = format!("the tool needs more memory than the {memory_mib} MiB of the machine");
        Finding::new(
            rule,
            problem,
            "use less than BK_MEMORY_CONFINEMENT, and print each value as soon as it is known",
        )
    })
}
