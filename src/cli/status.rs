use super::print::escaped;
use super::terminal::{self, argument, next};
use super::{Exit, Failure, Format, print};
use mcc_base::names::RunId;
use mcc_campaign::{Remaining, duration};
use mcc_judge::show::{columns, wrapped};
use mcc_runner::cluster::{
    Cluster, ClusterError, JobEnd, ModelState, ModelStatus, TaskEnd, batch_system, job_ends, model_statuses,
};
use mcc_runner::history_of;
use mcc_store::{
    Attempt, DisturbedRuns, Hold, RecordSummary, RunCounts, RunningAttempt, Summary, outcome_words,
};
use nix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::IsTerminal;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Show the state of a campaign.
///
/// Shows recorded runs, running attempts, infrastructure failures and the estimated remaining time. The command works
/// from any host that can read RESULTS, and does not affect a running campaign.
#[derive(clap::Args)]
pub struct Args {
    /// The folder given to `run --out` or `submit --out`.
    results: PathBuf,
    /// Records of earlier campaigns. The durations in them are used to estimate the remaining time.
    #[arg(long, value_name = "RESULTS")]
    history: Vec<PathBuf>,
    /// Show the state again and again, until all runs are recorded. SECONDS (2 if not given) is the least time between
    /// two reports; they are less frequent if they would use more than 2 % of a core.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "2")]
    watch: Option<NonZero<u32>>,
    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Serialize)]
struct StatusReport {
    #[serde(flatten)]
    summary: Summary,
    entries: BTreeMap<String, RunCounts>,
    /// What the mark `disturbed` means for the recorded runs.
    disturbed: DisturbedRuns,
    remaining: Remaining,
    /// Milliseconds until all runs are recorded, with as many machines as run now; null: none runs, or no duration is
    /// known yet.
    eta_ms: Option<u64>,
    /// The controllers: process id and host.
    controllers: Vec<String>,
    /// The running attempts.
    running: Vec<RunningAttempt>,
    /// Attempts that were started, but that no known controller or job runs; they are repeated.
    interrupted: Vec<RunningAttempt>,
    /// The last attempts, the newest first.
    last: Vec<AttemptSummary>,
    /// The last attempts that ended in infrastructure, the newest first.
    failures: Vec<AttemptSummary>,
    /// The entries whose open runs wait for a decision.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    held: Vec<Hold>,
    /// On a cluster: the state of each model, from the shards and the batch system.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    models: Vec<ModelStatus>,
    /// On a cluster: the number of recorded runs that `collect` has merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    collected: Option<u64>,
}

#[derive(Serialize)]
struct AttemptSummary {
    run: RunId,
    attempt: u32,
    outcome: &'static str,
    /// The outcome as text, with exit code, signal, or state and reason.
    ending: String,
    /// The same in words for a reader.
    #[serde(skip)]
    words: String,
    host: String,
    /// CPU time of the tool; null: it was not started.
    cpu_ms: Option<u64>,
    wall_ms: Option<u64>,
}

impl From<&Attempt> for AttemptSummary {
    fn from(attempt: &Attempt) -> Self {
        Self {
            run: attempt.run.clone(),
            attempt: attempt.number,
            outcome: attempt.outcome.word(),
            ending: attempt.outcome.to_string(),
            words: attempt.outcome.in_words(),
            host: attempt.host.name.clone(),
            cpu_ms: attempt.facts.as_ref().map(|facts| facts.cpu_ms),
            wall_ms: attempt.facts.as_ref().map(|facts| facts.wall_ms),
        }
    }
}

pub fn run(args: Args) -> Result<Exit, Failure> {
    let Some(interval) = args.watch else {
        let report = report(&args)?;
        print::result(args.format, &report, || {
            print::text(&as_text(&report)?)?;
            next_step(&report, &args.results);
            Ok(())
        })?;
        return Ok(Exit::Done);
    };
    // A terminal shows the newest report only; elsewhere each report that differs from the one before is printed.
    let on_terminal = args.format == Format::Text && std::io::stdout().is_terminal();
    let mut before = String::new();
    loop {
        let begun = cpu_time();
        let report = report(&args)?;
        if on_terminal {
            let mut text = String::from(CLEAR);
            text += &cut_to_screen(&escaped(&as_text(&report)?));
            text += &format!("every {interval} s; Ctrl-C ends it\n");
            print::raw(&text)?;
        } else {
            let new = match args.format {
                Format::Json => serde_json::to_string_pretty(&report)?,
                Format::Text => as_text(&report)?,
            };
            if new != before {
                print::text(&format!("{new}\n"))?;
                before = new;
            }
        }
        if report.summary.recorded == report.summary.planned {
            return Ok(Exit::Done);
        }
        let used = cpu_time().saturating_sub(begun);
        std::thread::sleep((used * REPORT_PAUSE).max(Duration::from_secs(interval.get().into())));
    }
}

/// The pause after a report, at least, as a multiple of the CPU time that the report used.
const REPORT_PAUSE: u32 = 49;

/// The CPU time of this process.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// Moves the cursor to the begin of the screen and clears what follows.
const CLEAR: &str = "\x1b[H\x1b[J";

/// The first lines of a text, as many as the terminal has, with the number of the others.
fn cut_to_screen(text: &str) -> String {
    let Some((width, height)) = terminal::size(std::io::stdout()) else { return text.to_owned() };
    // One line for the number of the others, one for the note below, one for the cursor.
    let space = height.saturating_sub(3).max(1);
    let rows = |line: &str| line.chars().count().div_ceil(width).max(1);
    let (mut used, mut shown) = (0, 0);
    for line in text.lines() {
        used += rows(line);
        if used > space {
            break;
        }
        shown += 1;
    }
    let mut cut: String = text.lines().take(shown).map(|line| format!("{line}\n")).collect();
    let more = text.lines().count() - shown;
    if more > 0 {
        cut += &format!("... further lines: {more}\n");
    }
    cut
}

/// Prints the command that usually follows.
fn next_step(report: &StatusReport, results: &Path) {
    let shown = argument(results);
    let Summary { planned, recorded, .. } = report.summary;
    match report.collected {
        Some(collected) if collected < recorded => next(&format!("mcc-harness collect {shown}")),
        _ if recorded == planned => next(&format!("mcc-harness judge {shown} --out judged")),
        None if report.controllers.is_empty() => {
            next(&format!("`mcc-harness run CAMPAIGN.toml --out {shown}` continues the campaign"));
        }
        _ => {}
    }
}

fn report(args: &Args) -> Result<StatusReport, Failure> {
    let mut history = history_of(&args.history)?;
    let cluster = Cluster::open_if_submitted(&args.results)?;
    let (mut record_summary, models, collected) = match &cluster {
        None => (RecordSummary::at(&args.results)?, vec![], None),
        Some(cluster) => {
            let record_summary = cluster.record_summary()?;
            let models = models_of(cluster, &record_summary)?;
            let collected =
                RecordSummary::models_at(&args.results)?.values().map(|(_, recorded)| recorded).sum();
            (record_summary, models, Some(collected))
        }
    };
    // An attempt without a controller does not run: its folder was left by a killed one, and it is repeated.
    let runs = |attempt: &RunningAttempt| match &cluster {
        None => !record_summary.controllers.is_empty(),
        Some(_) => models.iter().any(|model| {
            let has_job = matches!(model.state, ModelState::Running { .. } | ModelState::Unknown);
            has_job && attempt.model() == Some(&model.model)
        }),
    };
    let (running, interrupted) =
        std::mem::take(&mut record_summary.running_attempts).into_iter().partition(runs);
    record_summary.running_attempts = running;
    record_summary.add_run_times_to(&mut history);
    let remaining = record_summary.remaining(&history);
    Ok(StatusReport {
        summary: record_summary.summary(),
        entries: record_summary
            .entries()
            .into_iter()
            .map(|(entry, tally)| (entry.to_owned(), tally))
            .collect(),
        disturbed: DisturbedRuns::at(&args.results)?,
        remaining,
        eta_ms: remaining.eta_ms(record_summary.running_attempts.len() as u64),
        controllers: record_summary.controllers,
        last: record_summary.last.iter().map(AttemptSummary::from).collect(),
        failures: record_summary.infrastructure_failures.iter().map(AttemptSummary::from).collect(),
        held: record_summary.holds,
        running: record_summary.running_attempts,
        interrupted,
        models,
        collected,
    })
}

/// The states of the models. On a host without its commands those with open runs are unknown.
fn models_of(cluster: &Cluster, record_summary: &RecordSummary) -> Result<Vec<ModelStatus>, ClusterError> {
    let batch_system = batch_system(&cluster.facts().settings);
    let mut statuses = match model_statuses(cluster, Some(&*batch_system), record_summary) {
        Err(ClusterError::NotInstalled { .. }) => model_statuses(cluster, None, record_summary),
        states => states,
    }?;
    job_ends(cluster, &*batch_system, &mut statuses)?;
    Ok(statuses)
}

fn as_text(report: &StatusReport) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    let Summary { planned, recorded, outcomes, retried } = &report.summary;
    let percent = (recorded * 100).checked_div(*planned).unwrap_or(100);
    writeln!(out, "{recorded} of {planned} runs are recorded ({percent} %)")?;
    let mut rows: Vec<_> = outcomes
        .iter()
        .map(|(word, count)| vec![format!("  {}", outcome_words(word)), count.to_string()])
        .collect();
    if *retried > 0 {
        rows.push(vec!["  repeated attempts".to_owned(), retried.to_string()]);
    }
    out += &columns(&rows, &[1]);
    if report.disturbed.marked > 0 {
        writeln!(out, "{}", wrapped(&report.disturbed.to_string(), 80, 2))?;
    }
    if report.remaining.runs > 0 {
        writeln!(out, "{}", remaining_text(report))?;
    }
    match report.controllers.len() {
        0 if report.remaining.runs > 0 && report.models.is_empty() => {
            writeln!(out, "no controller on this host: no `run` of this campaign is active here")?;
        }
        0 => {}
        1 => writeln!(out, "controller: {}", report.controllers[0])?,
        many => writeln!(out, "controllers: {many}")?,
    }
    for Hold { entry, host, reason, .. } in &report.held {
        let command = if report.models.is_empty() { "run" } else { "submit --resume" };
        writeln!(
            out,
            "held on {host}: {entry}: {reason}; `{command}` with --release {entry} runs its open runs"
        )?;
    }
    models(&mut out, report)?;
    if !report.running.is_empty() {
        writeln!(out, "running ({}):", report.running.len())?;
        for RunningAttempt { run, attempt, seconds, .. } in &report.running {
            let since = seconds.map_or(String::new(), |seconds| format!("  {}", duration(seconds * 1000)));
            let again = if *attempt > 1 { format!("  attempt {attempt}") } else { String::new() };
            writeln!(out, "  {run}{since}{again}")?;
        }
    }
    if !report.interrupted.is_empty() {
        // On a cluster the controllers are on other hosts, and the batch system lists the running jobs.
        let controller = if report.models.is_empty() { "controller on this host" } else { "running job" };
        writeln!(out, "started, without a {controller} ({}):", report.interrupted.len())?;
    }
    for RunningAttempt { run, attempt, .. } in &report.interrupted {
        let again = if *attempt > 1 { format!("  attempt {attempt}") } else { String::new() };
        writeln!(out, "  {run}{again}")?;
    }
    for (title, ended) in
        [("last attempts:", &report.last), ("last infrastructure failures:", &report.failures)]
    {
        if !ended.is_empty() {
            writeln!(out, "{title}")?;
        }
        for AttemptSummary { run, words, wall_ms, .. } in ended {
            // The time belongs to the attempt, not to the reason of its failure.
            let took = wall_ms.map_or(String::new(), |ms| format!(", after {}", duration(ms)));
            writeln!(out, "  {run}  {words}{took}")?;
        }
    }
    if report.entries.len() > 1 {
        writeln!(
            out,
            "{:<24} {:>11} {:>8} {:>7} {:>7} {:>6} {:>11}",
            "entry", "recorded", "finished", "limit", "crash", "infra", "not started"
        )?;
    }
    for (entry, tally) in report.entries.iter().filter(|_| report.entries.len() > 1) {
        let count = |words: &[&str]| words.iter().filter_map(|word| tally.outcomes.get(*word)).sum::<u64>();
        writeln!(
            out,
            "{entry:<24} {:>11} {:>8} {:>7} {:>7} {:>6} {:>11}",
            format!("{}/{}", tally.recorded, tally.planned),
            count(&["finished"]),
            count(&[
                "cpu-limit",
                "wall-limit",
                "memory-limit",
                "output-limit",
                "disk-limit",
                "instruction-limit"
            ]),
            count(&["tool-crash"]),
            count(&["infrastructure"]),
            count(&["not-competing"])
        )?;
    }
    if report.entries.len() > 1 {
        writeln!(out, "infra: infrastructure failures; not started: the entry does not compete there")?;
    }
    Ok(out)
}

/// The number of open runs and the estimated remaining time.
fn remaining_text(report: &StatusReport) -> String {
    let Remaining { runs, unknown, machine_ms, .. } = report.remaining;
    let left = format!("{runs} {} left", if runs == 1 { "run" } else { "runs" });
    if unknown > 0 {
        return format!("{left}; their duration is not known until the first run is recorded");
    }
    match report.eta_ms {
        Some(ms) => format!("{left}, about {}", duration(ms)),
        None => format!("{left}, about {} on one machine", duration(machine_ms)),
    }
}

/// On a cluster: the state of each model.
fn models(out: &mut String, report: &StatusReport) -> std::fmt::Result {
    for model in &report.models {
        let state = match &model.state {
            ModelState::Done => "done".to_owned(),
            ModelState::Running { node } => format!("running on {node}"),
            ModelState::Pending { reason, .. } => format!("pending ({reason})"),
            ModelState::Open => "open: use `submit --resume`".to_owned(),
            ModelState::Unknown => "open; its job is unknown: no batch system here".to_owned(),
        };
        let mixed = if model.nodes.len() > 1 { " mixed-host" } else { "" };
        let infrastructure = model.outcomes.get("infrastructure").copied().unwrap_or(0);
        let failure_note = if infrastructure > 0 {
            format!(", infrastructure failures: {infrastructure}")
        } else {
            String::new()
        };
        let counts = format!("{}/{}", model.recorded, model.planned);
        writeln!(out, "{:<30} {counts:>11}  {state}{mixed}{failure_note}", model.model)?;
        if let Some(JobEnd { task, end, last_line }) = &model.ended {
            let end = end.as_ref().map_or(String::new(), |TaskEnd { state, exit_code, signal }| {
                match (signal, exit_code) {
                    (0, None) => format!(": {state}"),
                    (0, Some(exit_code)) => format!(": {state}, exit code {exit_code}"),
                    (signal, _) => format!(": {state}, signal {signal}"),
                }
            });
            let line = last_line
                .as_ref()
                .map_or("its log is empty".to_owned(), |line| format!("the last line of its log: {line}"));
            writeln!(out, "  job {task} ended{end}; {line}")?;
        }
    }
    match report.collected {
        Some(collected) => writeln!(out, "recorded runs that `collect` has merged: {collected}"),
        None => Ok(()),
    }
}
