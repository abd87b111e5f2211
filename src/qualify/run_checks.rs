//! What is wrong with how a run went: its end, its limits, and what it left behind.

use super::{AttemptOutputs, Finding, RunLimits, RunQuestions, check_output, counted};
use mcc_base::Mark;
use mcc_benchkit::{Answers, Reading};
use mcc_model::Severity;
use mcc_store::{Outcome, RunFacts};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

/// Every finding of one attempt, without its run's name.
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
        let fix = "if other images run on this host, look at the console beside the outputs: the disk must boot \
                   and start its guest agent (or sshd)";
        return Ok(vec![Finding::new("E-5.1", format!("no run, while {state}: {reason}"), fix)]);
    }
    let read = |name: &str| {
        let file = File::open(attempt.outputs.join(name))?;
        Answers::read_file(&file, &run_questions.questions, Reading::default())
    };
    let (answers, stderr) = (read("stdout")?, read("stderr")?);
    let mut findings = check_output(&answers, run_questions);
    let on_stderr = on_stderr(&answers, &stderr);
    // A line that was meant as an answer is named already.
    let explained = findings.iter().any(|finding| finding.severity == Severity::Error) || on_stderr.is_some();
    findings.extend(on_stderr);
    findings.extend(late(attempt, &answers, limits)?);
    findings.extend(end(attempt, &answers, explained)?);
    findings.extend(attempt.facts.and_then(|facts| memory(attempt, facts, limits)));
    if attempt.marks.contains(&Mark::LEFT_BEHIND) {
        let fix = "wait for every process you start, or end it: it keeps the machine busy and is killed";
        findings.push(Finding::new("E-5.1", "processes are left behind when BenchKit_head.sh ends", fix));
    }
    Ok(findings)
}

/// What was only said on stderr counts for nothing.
fn on_stderr(answers: &Answers, stderr: &Answers) -> Option<Finding> {
    let is_only = |id: &String| {
        let there = answers.ids.iter().position(|known| known == id);
        there.is_none_or(|there| answers.values[there].is_none())
    };
    let only: Vec<_> = (0..stderr.ids.len())
        .filter(|position| stderr.values[*position].is_some() && is_only(&stderr.ids[*position]))
        .map(|position| (&stderr.ids[position], stderr.lines[position]))
        .collect();
    let fix = "print answers to standard output; stderr is not read";
    match (only.iter().min_by_key(|(_, line)| *line), stderr.declared) {
        (Some((id, line)), _) => {
            let problem =
                format!("{} printed on stderr only, the first is {id}", counted(only.len(), "value"));
            Some(Finding::new("E-1.7", problem, fix).at("stderr", *line))
        }
        (None, Some(declared)) if answers.is_empty() => {
            let problem = format!("{} is printed on stderr only", declared.keyword());
            Some(Finding::new("E-1.7", problem, fix).at("stderr", None))
        }
        _ => None,
    }
}

/// Answers that came when the contest would have halted the machine. A qualification goes on for a while to see
/// them; what arrived within the second after the limit gets the benefit of the doubt, as samples are a second apart.
fn late(attempt: &AttemptOutputs, answers: &Answers, limits: &RunLimits) -> io::Result<Option<Finding>> {
    let cpu_ms = limits.cpu_s * 1000 * u64::from(limits.vcpus);
    let is_over = |at_ms: u64, cpu: u64| cpu >= cpu_ms || at_ms >= limits.wall_s * 1000;
    let Some(over) = attempt.samples.iter().find(|sample| is_over(sample.at_ms, sample.cpu_ms)) else {
        return Ok(None);
    };
    let mut in_time = File::open(attempt.outputs.join("stdout"))?.take(over.stdout_bytes);
    let lines = lines_in(&mut in_time)?;
    let late = |(id, line): (&String, &Option<u64>)| {
        line.filter(|line| *line > lines).map(|line| (line, id.clone()))
    };
    let late: Vec<_> = answers.ids.iter().zip(&answers.lines).filter_map(late).collect();
    Ok(late.iter().min().map(|(line, id)| {
        let (values, cpu, wall) = (counted(late.len(), "value"), limits.cpu_s, limits.wall_s);
        let problem = format!(
            "{values} printed after the limit ({cpu} s of CPU time, {wall} s in all), the first is {id}"
        );
        let fix = "stop before BK_TIME_CONFINEMENT is over, and print each value as soon as it is known";
        Finding::new("E-5.1", problem, fix).at("stdout", Some(*line))
    }))
}

/// Complete lines.
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

/// How the tool ended, and what that did to its answers.
fn end(attempt: &AttemptOutputs, answers: &Answers, explained: bool) -> io::Result<Option<Finding>> {
    let silent = answers.is_empty() && !explained;
    let keyword = "print DO_NOT_COMPETE or CANNOT_COMPUTE alone on a line where there is no answer";
    let flush =
        "flush standard output after every line: a pipe is buffered, and the machine is halted at the limit";
    let lost = attempt.facts.is_some_and(|facts| facts.stdout_bytes > 0) && ends_in_mid_line(attempt)?;
    if let Some(crash) = crash(attempt) {
        let fix =
            "correct the crash: stderr may say more; run the same command on this instance in a debugger";
        let finding = |problem: String| Finding::new("E-1.7", problem, fix);
        return Ok(Some(match (attempt.outcome, silent) {
            (_, true) => finding(format!("no answer: {crash}")),
            (Outcome::ToolCrash { .. }, false) => finding(format!("{crash}; what was printed counts")),
            (_, false) => finding(format!("{crash}; what was printed counts")).warning(),
        }));
    }
    Ok(match attempt.outcome {
        Outcome::Finished { exit_code: 0 } => {
            silent.then(|| Finding::new("E-1.7", "exit code 0 without an answer", keyword))
        }
        Outcome::Finished { exit_code } => {
            let finding = |problem: String| {
                Finding::new("E-1.7", problem, "end with exit code 0, or see stderr for why not")
            };
            match silent {
                true => Some(finding(format!("exit code {exit_code} without an answer"))),
                false => Some(finding(format!("exit code {exit_code}; what was printed counts")).warning()),
            }
        }
        Outcome::CpuLimit | Outcome::WallLimit if lost => {
            let problem = "cut by the limit in the middle of a line: what was not flushed is lost";
            Some(Finding::new("E-5.1", problem, flush).at("stdout", None))
        }
        Outcome::CpuLimit | Outcome::WallLimit => silent.then(|| {
            let problem = "cut by the limit before any answer: what it knew was not flushed, and is lost";
            let fix = format!(
                "{flush}; if it knew nothing, print CANNOT_COMPUTE before BK_TIME_CONFINEMENT is over"
            );
            Finding::new("E-5.1", problem, fix)
        }),
        Outcome::OutputLimit => {
            let fix = "print less: the machine is halted when the output is full";
            Some(Finding::new("E-5.1", "cut because it printed too much", fix))
        }
        // A crash and the memory are findings of their own.
        Outcome::ToolCrash { .. }
        | Outcome::MemoryLimit
        | Outcome::NotCompeting
        | Outcome::Infrastructure { .. } => None,
    })
}

/// The crash of a process of the tool: what the guest's kernel logged, or the signal that ended the run. A kill for
/// want of memory is no crash.
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

fn ends_in_mid_line(attempt: &AttemptOutputs) -> io::Result<bool> {
    use std::io::{Seek, SeekFrom};
    let mut stdout = File::open(attempt.outputs.join("stdout"))?;
    if stdout.metadata()?.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    stdout.seek(SeekFrom::End(-1))?;
    stdout.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// More memory than the machine has.
fn memory(attempt: &AttemptOutputs, facts: &RunFacts, limits: &RunLimits) -> Option<Finding> {
    let RunLimits { vcpus, memory_mib, .. } = *limits;
    let rule = if vcpus == 1 { "E-5.3" } else { "E-5.4" };
    let over = facts.memory_kib.is_some_and(|kib| kib > memory_mib * 1024);
    let killed = attempt.marks.contains(&Mark::OOM_KILLS) || *attempt.outcome == Outcome::MemoryLimit;
    (over || killed).then(|| {
        let problem = format!("it wants more memory than the {memory_mib} MiB it is given");
        Finding::new(rule, problem, "stay below BK_MEMORY_CONFINEMENT, and print what is known before")
    })
}
