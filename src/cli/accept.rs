//! `doctor --accept`: what an organizer's host does with machines, in one file that can be sent to others.

use super::run::stop_on_signal;
use super::terminal::{self, Page};
use super::{Exit, Failure, print, progress};
use mcc_campaign::Campaign;
use mcc_runner::doctor::{CheckState, HostReport};
use mcc_runner::measure::Measurement;
use mcc_runner::{CampaignRunner, Host, PreparedCampaign, RunSettings};
use mcc_store::measured_host::MeasuredHost;
use mcc_store::{Attempt, HostFacts, Record};
use mcc_vm::Image;
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// Format of the file.
const FORMAT: u32 = 1;

/// Repetitions of each workload: the fewest from which a spread can be computed.
const REPETITIONS: u32 = 2;

/// What some steps need and a host may lack: name, and a path that exists on a host that has it.
const PARTS: [(&str, &str); 3] = [
    ("PMU (counters of the processor)", "/sys/bus/event_source/devices/cpu"),
    ("cgroup 2", "/sys/fs/cgroup/cgroup.controllers"),
    ("systemd", "/run/systemd/system"),
];

/// The file of an acceptance.
#[derive(Serialize)]
struct Acceptance {
    format: u32,
    version: &'static str,
    host: HostFacts,
    /// What the host lacks, so nothing here was tried with it.
    lacks: Vec<&'static str>,
    checks: HostReport,
    measured: MeasuredHost,
    /// Each attempt at a run of the campaign.
    attempts: Vec<Attempt>,
    /// What is not as it should be; empty: accepted.
    problems: Vec<String>,
    /// Wall time of all steps, seconds.
    seconds: u64,
}

/// Checks and measures this host, runs the campaign, and writes the results to `out`. The exit code is `Failed` if a run ended in
/// an infrastructure failure or is missing, or if QEMU was not confined.
pub fn run(
    out: &Path,
    file: &Path,
    dir: &Path,
    checks: HostReport,
    allow_degraded: bool,
) -> Result<Exit, Failure> {
    let begin = Instant::now();
    print::file(out, "")?;
    let prepared = PreparedCampaign::new(Campaign::load(file).map_err(Failure::usage)?)?;
    let PreparedCampaign { campaign, edition, .. } = &prepared;
    let host = Host::prepare(campaign.hosts.backend, allow_degraded)?;
    let stop = stop_on_signal()?;
    let image = Image::open(&campaign.tools[0].image).map_err(Failure::usage)?;
    let measurement = Measurement {
        image: &image,
        machine: edition.machine.clone(),
        vcpus: edition.machine.sequential_cores,
        machines: None,
        repetitions: REPETITIONS,
        stop: &stop,
        show: &|what| stderr_line!("doctor: {what}"),
    };
    let measured = measurement.run(&host)?;

    // Its path is short, because a unix socket in it has at most 107 bytes.
    let folder = tempfile::Builder::new().prefix("accept-").tempdir_in(dir)?;
    let (record, disks) =
        prepared.record(&folder.path().join("results"), false, Record::create_or_open, &print::inputs)?;
    let jobs = campaign.hosts.jobs.map(|jobs| jobs.get() as usize);
    let settings = RunSettings { jobs, ..prepared.settings(&host, (&record, disks), &stop) };
    progress::watch(CampaignRunner::new(settings)?, &|_| true)?;

    let mut problems = vec![];
    let mut attempts = vec![];
    for run in prepared.plan.runs() {
        let made = record.attempts(&run.id())?;
        if made.is_empty() {
            problems.push(format!("{}: no attempt was made", run.id()));
        }
        for attempt in made {
            if attempt.outcome.is_infrastructure() {
                problems.push(format!("{}: {}", run.id(), attempt.outcome));
            }
            attempts.push(attempt);
        }
    }
    let unconfined = attempts.iter().flat_map(|attempt| &attempt.environment.unconfined);
    let mut unconfined: Vec<&String> = unconfined.collect();
    unconfined.sort();
    unconfined.dedup();
    problems.extend(unconfined.into_iter().map(|missing| format!("QEMU was not confined: {missing}")));
    let has_kvm = checks.checks.iter().any(|check| check.name == "kvm" && check.state == CheckState::Ok);
    let absent = PARTS.iter().filter(|(_, path)| !Path::new(path).exists()).map(|(name, _)| *name);
    let lacks = (!has_kvm).then_some("KVM").into_iter().chain(absent).collect();
    let acceptance = Acceptance {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION"),
        host: host.facts(),
        lacks,
        checks,
        measured,
        attempts,
        problems,
        seconds: begin.elapsed().as_secs(),
    };
    print::file(out, &format!("{}\n", serde_json::to_string_pretty(&acceptance)?))?;
    let Acceptance { lacks, problems, attempts, seconds, checks, measured, .. } = &acceptance;
    let mut page = Page::new();
    page.line(&checks.sentence());
    if !lacks.is_empty() {
        page.line(&format!(
            "this host has none of these, so nothing was tried with them: {}",
            lacks.join(", ")
        ));
    }
    let beyond = measured.figures.iter().filter(|metric| !metric.fit).count();
    page.line(&format!(
        "measurements beyond their goal: {beyond} of {} (`measured` in the file)",
        measured.figures.len()
    ));
    problems.iter().for_each(|problem| page.line(&format!("problem: {problem}")));
    page.line(&format!("attempts: {}; problems: {}; seconds: {seconds}", attempts.len(), problems.len()));
    page.print()?;
    terminal::note(&format!("{} has all results; send it to the maintainers", out.display()));
    Ok(if problems.is_empty() { Exit::Done } else { Exit::Failed })
}
