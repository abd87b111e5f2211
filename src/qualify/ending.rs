//! What is wrong with how a run went: its end, its limits, and what it left behind.

use super::{Asked, Confinement, Finding, Left, of_output};
use mcc_benchkit::{Answers, Reading};
use mcc_model::Severity;
use mcc_store::{Outcome, RunFacts};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};

/// Every finding of one attempt, without its run's name.
///
/// # Errors
/// The outputs cannot be read.
pub fn of_run(left: &Left, asked: &Asked, confinement: &Confinement) -> io::Result<Vec<Finding>> {
    if let Outcome::NotCompeting = left.outcome {
        return Ok(vec![]);
    }
    if let Outcome::Infrastructure { state, reason } = left.outcome {
        let fix = "if other images run on this host, look at the console beside the outputs: the disk must boot \
                   and start its guest agent (or sshd)";
        return Ok(vec![Finding::new("E-5.1", format!("no run, while {state}: {reason}"), fix)]);
    }
    let read = |name: &str| {
        let file = File::open(left.outputs.join(name))?;
        Answers::read_file(&file, &asked.questions, Reading::default())
    };
    let (answers, stderr) = (read("stdout")?, read("stderr")?);
    let mut findings = of_output(&answers, asked);
    let on_stderr = on_stderr(&answers, &stderr);
    // A line that was meant as an answer is named already.
    let explained = findings.iter().any(|finding| finding.severity == Severity::Error) || on_stderr.is_some();
    findings.extend(on_stderr);
    findings.extend(late(left, &answers, confinement)?);
    findings.extend(end(left, &answers, explained)?);
    findings.extend(left.facts.map(|facts| used(left, facts, confinement)).unwrap_or_default());
    if left.marks.iter().any(|mark| mark == "left-behind") {
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
            let problem = format!("{} values are printed on stderr only, the first is {id}", only.len());
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
fn late(left: &Left, answers: &Answers, confinement: &Confinement) -> io::Result<Option<Finding>> {
    let cpu_ms = confinement.cpu_s * 1000 * u64::from(confinement.vcpus);
    let is_over = |at_ms: u64, cpu: u64| cpu >= cpu_ms || at_ms >= confinement.wall_s * 1000;
    let Some(over) = left.samples.iter().find(|sample| is_over(sample.at_ms, sample.cpu_ms)) else {
        return Ok(None);
    };
    let mut in_time = File::open(left.outputs.join("stdout"))?.take(over.stdout_bytes);
    let lines = lines_in(&mut in_time)?;
    let late = |(id, line): (&String, &Option<u64>)| {
        line.filter(|line| *line > lines).map(|line| (line, id.clone()))
    };
    let late: Vec<_> = answers.ids.iter().zip(&answers.lines).filter_map(late).collect();
    Ok(late.iter().min().map(|(line, id)| {
        let (n, cpu, wall) = (late.len(), confinement.cpu_s, confinement.wall_s);
        let problem = format!(
            "{n} values come after the limit ({cpu} s of CPU time, {wall} s in all), the first is {id}"
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
fn end(left: &Left, answers: &Answers, explained: bool) -> io::Result<Option<Finding>> {
    let silent = answers.is_empty() && !explained;
    let keyword = "print DO_NOT_COMPETE or CANNOT_COMPUTE alone on a line where there is no answer";
    let flush =
        "flush standard output after every line: a pipe is buffered, and the machine is halted at the limit";
    let lost = left.facts.is_some_and(|facts| facts.stdout_bytes > 0) && ends_in_mid_line(left)?;
    Ok(match left.outcome {
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
        Outcome::ToolCrash { signal } => {
            let problem = format!("it died of signal {signal}; what it had printed counts");
            Some(Finding::new("E-1.7", problem, "see stderr for why"))
        }
        Outcome::OutputLimit => {
            let fix = "print less: the machine is halted when the output is full";
            Some(Finding::new("E-5.1", "cut because it printed too much", fix))
        }
        // Said with the memory itself.
        Outcome::MemoryLimit | Outcome::NotCompeting | Outcome::Infrastructure { .. } => None,
    })
}

fn ends_in_mid_line(left: &Left) -> io::Result<bool> {
    use std::io::{Seek, SeekFrom};
    let mut stdout = File::open(left.outputs.join("stdout"))?;
    if stdout.metadata()?.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    stdout.seek(SeekFrom::End(-1))?;
    stdout.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// Cores, memory and files.
fn used(left: &Left, facts: &RunFacts, confinement: &Confinement) -> Vec<Finding> {
    let mut findings = vec![];
    let Confinement { vcpus, memory_mib, .. } = *confinement;
    let rule = if vcpus == 1 { "E-5.3" } else { "E-5.4" };
    let fix = format!("start no more threads than `nproc` tells ({vcpus}), or submit it as concurrent");
    // A second in which another thread of the guest happened to run is no sign; most seconds are.
    let crowded = left.samples.iter().filter(|sample| sample.runnable > vcpus).count();
    let most = left.samples.iter().map(|sample| sample.runnable).max().unwrap_or(0);
    let by_time = facts.cpu_ms > facts.wall_ms * u64::from(vcpus) * 11 / 10 + 1000;
    if by_time {
        let (cpu, wall) = (facts.cpu_ms, facts.wall_ms);
        let problem = format!("{cpu} ms of CPU time in {wall} ms: more than the {vcpus} cores it is given");
        findings.push(Finding::new(rule, problem, fix));
    } else if crowded >= 2 && crowded * 2 > left.samples.len() {
        let seconds = left.samples.len();
        let problem = format!(
            "up to {most} threads want to run at once on {vcpus} cores, in {crowded} of {seconds} seconds"
        );
        findings.push(Finding::new(rule, problem, fix));
    }
    let memory = facts.memory_kib.is_some_and(|kib| kib > memory_mib * 1024);
    let killed = left.marks.iter().any(|mark| mark == "oom-kills") || *left.outcome == Outcome::MemoryLimit;
    if memory || killed {
        let problem = format!("it wants more memory than the {memory_mib} MiB it is given");
        let fix = "stay below BK_MEMORY_CONFINEMENT, and print what is known before";
        findings.push(Finding::new(rule, problem, fix));
    }
    if let Some(first) = facts.written.first() {
        let n = facts.written.len();
        let problem = format!(
            "{n} files are left on the disk, which is thrown away after the run; the first is {first}"
        );
        let fix = "nothing passes from one run to the next: write to the current folder or BK_RESULT_DIR";
        findings.push(Finding::new("E-5.1", problem, fix));
    }
    findings
}
