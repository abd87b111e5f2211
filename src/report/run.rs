//! The data of recorded runs: attempts, measurements, machine and raw outputs.

use super::contest::{Contest, RunKey};
use super::firings::Firings;
use super::host_state;
use super::output::{self, Excerpt};
use super::show::{self, visible};
use super::site::NewSite;
use super::{KeptAttempt, ReportError, pictures, plots, script};
use mcc_base::evidence::{Kind, MAX_FILE, parse_name};
use mcc_base::names::file_name;
use mcc_edition::{CpuReading, Limits};
use mcc_model::Net;
use mcc_store::{Attempt, Instructions, MemorySource, Outcome};
use serde::Serialize;
use std::io::{Read as _, Seek as _};

/// The recorded runs on an instance. Lists that several runs have in common are kept once.
#[derive(Default, Serialize)]
pub struct Recorded {
    /// Arguments of QEMU.
    machines: Vec<Vec<String>>,
    /// Role, digest and size of each disk.
    disks: Vec<Vec<(String, String, String)>>,
    /// By `ENTRY/EXAMINATION`, as numbers.
    runs: std::collections::BTreeMap<String, RunData>,
}

#[derive(Serialize)]
struct RunData {
    /// The run as the record names it; None: as the judgement does.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Name, value and note of each measurement.
    tiles: Vec<(&'static str, String, String)>,
    facts: Vec<(&'static str, String)>,
    marks: Vec<String>,
    /// Index in `Recorded::machines`.
    machine: usize,
    /// Index in `Recorded::disks`.
    disks: usize,
    attempts: Vec<AttemptData>,
    /// Path and description of the picture of CPU and memory over time; None if too few samples were taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<(String, String)>,
    /// The path of the file of excerpts; empty if no output was kept.
    outputs: String,
}

#[derive(Serialize)]
struct AttemptData {
    number: u32,
    /// `judged`, or `superseded` with the reason.
    state: String,
    outcome: String,
    started: String,
    host: String,
    marks: String,
    /// Name of each output and path of its raw file.
    outputs: Vec<(String, String)>,
}

/// One output of the judged attempt.
#[derive(Serialize)]
struct Output {
    name: String,
    link: String,
    size: String,
    skipped: String,
    sha256: String,
    /// The run of a witness.
    #[serde(skip_serializing_if = "Option::is_none")]
    firings: Option<Firings>,
    #[serde(flatten)]
    excerpt: Excerpt,
}

impl Recorded {
    /// Adds a run, and writes its raw outputs and their excerpts to the site.
    pub fn add(
        &mut self,
        contest: &Contest,
        key: RunKey,
        attempts: &[KeptAttempt],
        net: Option<&Net>,
        site: &NewSite,
    ) -> Result<(), ReportError> {
        let path = contest.run_path(key);
        let Some(judged) = attempts.last() else { return Ok(()) };
        let mut rows = Vec::new();
        let mut outputs = Vec::new();
        for kept in attempts {
            let last = std::ptr::eq(kept, judged);
            let mut links = Vec::new();
            for recorded in &kept.outputs {
                let (name, from) = (&recorded.role, &recorded.path);
                let run = || contest.run_name(key);
                let failed = |source| ReportError::Output { run: run(), path: from.clone(), source };
                let link = format!("{path}.{}.{}.txt", kept.attempt.number, file_name(name));
                let mut copy = recorded.read(|content| Ok(site.copy(content, &link))).map_err(failed)??;
                if last {
                    let firings = parse_name(name).filter(|(_, kind)| *kind == Kind::Witness).map(|_| {
                        let mut content = Vec::new();
                        copy.rewind()?;
                        copy.by_ref().take(MAX_FILE).read_to_end(&mut content)?;
                        Ok(Firings::read(&String::from_utf8_lossy(&content), net))
                    });
                    let firings = firings.transpose().map_err(failed)?;
                    let excerpt = output::excerpt(copy).map_err(failed)?;
                    outputs.push(Output {
                        name: visible(name),
                        link: link.clone(),
                        size: show::bytes(excerpt.bytes),
                        skipped: show::bytes(excerpt.skipped),
                        sha256: visible(&recorded.sha256),
                        firings,
                        excerpt,
                    });
                }
                links.push((visible(name), link));
            }
            rows.push(attempt_row(kept, last, links));
        }
        // The output of the tool comes first, in any order of the record.
        let place =
            |output: &Output| ["stdout", "stderr", "console"].iter().position(|name| *name == output.name);
        outputs.sort_by_key(|output| place(output).unwrap_or(usize::MAX));
        let shown = if outputs.is_empty() { String::new() } else { format!("{path}.js") };
        if !outputs.is_empty() {
            site.file(&shown, &script::call("mcc_outputs", &outputs))?;
        }
        let (entry, _, examination) = key;
        let Some(number) = contest.entry_number(entry) else { return Ok(()) };
        let attempt = &judged.attempt;
        let machine = attempt.machine.iter().map(|argument| visible(argument)).collect();
        let run = RunData {
            name: (attempt.run != contest.run_name(key)).then(|| visible(&attempt.run)),
            tiles: tiles(contest, attempt),
            facts: facts(contest, judged),
            marks: attempt.marks.iter().map(|mark| visible(mark)).collect(),
            machine: index_of(&mut self.machines, machine),
            disks: index_of(&mut self.disks, attempt.disks.iter().map(disk).collect()),
            attempts: rows,
            picture: picture(contest, key, judged, site)?,
            outputs: shown,
        };
        self.runs.insert(format!("{number}/{examination}"), run);
        Ok(())
    }
}

/// Writes the picture of CPU and memory over time; returns its path and description.
fn picture(
    contest: &Contest,
    key: RunKey,
    judged: &KeptAttempt,
    site: &NewSite,
) -> Result<Option<(String, String)>, ReportError> {
    let path = contest.run_path(key);
    let (folder, name) = path.rsplit_once('/').unwrap_or_default();
    let vcpus = judged.attempt.facts.as_ref().map_or(1, |facts| facts.vcpus);
    let name = format!("{name}.{}.time", judged.attempt.number);
    let picture = plots::samples(&name, &visible(&contest.run_name(key)), vcpus, &judged.samples);
    let Some(picture) = picture else { return Ok(None) };
    pictures::write_one(folder, &picture, site)?;
    Ok(Some((format!("{folder}/{name}"), picture.description)))
}

/// The index of `item` in the list; adds it at the end if it is new.
fn index_of<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|known| *known == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

/// How the memory value was measured.
fn source(source: MemorySource) -> &'static str {
    match source {
        MemorySource::GuestCgroup => "peak memory of the tool's cgroup in the guest",
        MemorySource::GuestCgroupSamples => "largest sample of the memory of the tool's cgroup in the guest",
        MemorySource::Balloon => {
            "largest sample of the memory of the whole guest, measured by its balloon device"
        }
    }
}

/// The measurements of a run, with their limits or sources.
fn tiles(contest: &Contest, attempt: &Attempt) -> Vec<(&'static str, String, String)> {
    let limits = &contest.judgement.edition.limits;
    let facts = attempt.facts.as_ref();
    let cpu = facts.map(|facts| facts.cpu_ms);
    let wall = facts.map(|facts| facts.wall_ms);
    let memory = facts.and_then(|facts| {
        let guest = facts.memory_source.map_or("peak memory in the guest", source);
        let host = facts.host_memory_kib.map(|kib| (kib, "peak memory of QEMU on the host: an upper bound"));
        facts.memory_kib.map(|kib| (kib, guest)).or(host)
    });
    let cpu_limit = show::cpu_limit(limits)
        .map_or("no CPU-time limit".into(), |(limit, cores)| format!("limit {limit} {cores}"));
    let none = || "not measured".to_owned();
    vec![
        ("CPU time", cpu.map_or_else(none, show::duration), cpu_limit),
        (
            "Wall-clock time",
            wall.map_or_else(none, show::duration),
            format!("limit {}", show::duration(limits.wall_limit_s() * 1000)),
        ),
        (
            "Memory",
            memory.map_or_else(none, |(kib, _)| show::kib(kib)),
            memory.map_or("", |(_, source)| source).into(),
        ),
    ]
}

fn attempt_row(kept: &KeptAttempt, judged: bool, outputs: Vec<(String, String)>) -> AttemptData {
    let KeptAttempt { attempt, rerun, .. } = kept;
    let state = match (judged, rerun) {
        (true, _) => "judged".to_owned(),
        (false, None) => "superseded".to_owned(),
        (false, Some(reason)) => format!("superseded: {}", visible(reason)),
    };
    AttemptData {
        number: attempt.number,
        state,
        outcome: visible(&attempt.outcome.in_words()),
        started: visible(&attempt.started_at),
        host: visible(&attempt.host.name),
        marks: show::marks(&attempt.marks),
        outputs,
    }
}

fn facts(
    contest: &Contest,
    KeptAttempt { attempt, failure, .. }: &KeptAttempt,
) -> Vec<(&'static str, String)> {
    let machine = &contest.judgement.edition.machine;
    let host = &attempt.host;
    let was_started = attempt.outcome != Outcome::NotCompeting;
    let mut facts = vec![
        ("Outcome", visible(&attempt.outcome.in_words())),
        (if was_started { "Started" } else { "Recorded" }, visible(&attempt.started_at)),
        (
            "Required by the rules",
            format!("{} CPU, {} of memory", visible(&machine.cpu_model), show::kib(machine.memory_mib << 10)),
        ),
    ];
    if let Some((class, line)) = failure.class.as_ref().zip(failure.line.as_ref()) {
        facts.push(("Failure class", visible(&format!("{class} ({line})"))));
    }
    if !failure.values.is_empty() {
        let values = failure.values.iter().map(|(name, value)| format!("{name}={value}"));
        facts.push(("Values in its output", visible(&values.collect::<Vec<_>>().join("; "))));
    }
    if let Some(measured) = &attempt.facts {
        facts.push(("vCPUs", measured.vcpus.to_string()));
        facts.push(("Boot time", show::duration(measured.boot_ms)));
        facts.extend(measured.instructions.as_ref().map(|counted| ("Instructions", instructions(counted))));
        let balloon = "Memory of the whole guest, measured by its balloon device";
        facts.extend(measured.balloon_memory_kib.map(|kib| (balloon, show::kib(kib))));
        facts.extend(measured.host_memory_kib.map(|kib| ("Memory of QEMU on the host", show::kib(kib))));
        facts.extend(measured.io_wait_ms.map(|ms| ("Waiting for disks", show::duration(ms))));
        facts.extend(measured.kernel_log.iter().map(|line| ("Kernel log of the guest", visible(line))));
        let (out, err) = (show::bytes(measured.stdout_bytes), show::bytes(measured.stderr_bytes));
        facts.push(("Output", format!("{out} on stdout, {err} on stderr")));
    }
    let environment = &attempt.environment;
    if !environment.cpus.is_empty() {
        let cpus =
            environment.cpus.iter().map(|number| format!("no. {number}")).collect::<Vec<_>>().join(", ");
        facts.push(("CPUs of the host that ran the vCPUs", cpus));
    }
    if !environment.confined.is_empty() {
        facts.push(("Isolated by", visible(&environment.confined.join("; "))));
    }
    if !environment.unconfined.is_empty() {
        let missing: Vec<String> = environment.unconfined.iter().map(|text| not_isolated(text)).collect();
        facts.push(("Missing isolation", missing.join("; ")));
    }
    if attempt.facts.is_some() && environment.cpu_flags.is_empty() {
        facts.push(("CPU flags", "unknown: the guest did not report them".to_owned()));
    }
    if !environment.cpu_flags_missing.is_empty() {
        facts.push(("CPU flags missing in the guest", visible(&environment.cpu_flags_missing.join(" "))));
    }
    let limits = &contest.judgement.edition.limits;
    facts
        .push(("Output limit", format!("{} on each of stdout and stderr", show::bytes(limits.output_bytes))));
    let disk = attempt.facts.as_ref().and_then(|facts| facts.disk_kib.zip(facts.disk_limit_kib));
    if let Some((used, limit)) = disk {
        let (used, limit) = (show::kib(used), show::kib(limit));
        facts.push(("Disk limit", format!("{limit}; writes took {used} of the host's disk")));
    }
    facts.push(("Time limit stated to the tool", stated_limit(limits)));
    facts.push(("Host", host_text(host)));
    if was_started {
        facts.push(("Accelerator of QEMU", visible(&host.accelerator)));
        facts.push(("QEMU", visible(&host.qemu)));
    }
    if attempt.facts.is_some() {
        facts.extend(host_state::rows(environment.host_state.as_ref()));
    }
    facts
}

/// The time limit that is stated to the tool, and whether it or another limit ends the run.
fn stated_limit(limits: &Limits) -> String {
    let stated = format!("{} (BK_TIME_CONFINEMENT)", show::duration(limits.confinement_s * 1000));
    let wall = format!("{} of wall-clock time", show::duration(limits.wall_limit_s() * 1000));
    if limits.cpu_reading == CpuReading::Benchkit {
        return format!("{stated}; the run is stopped after this wall-clock time");
    }
    let cpu = show::cpu_limit(limits)
        .map_or(String::new(), |(limit, cores)| format!("{limit} of CPU time {cores} or "));
    format!("{stated}; it does not end the run, which is stopped after {cpu}{wall}")
}

/// Why QEMU lacks a part of its isolation. The record names the part and the reason.
fn not_isolated(text: &str) -> String {
    let Some((part, reason)) = text.split_once(": ") else { return visible(text) };
    let words = match part {
        "no unprivileged user" => "QEMU had the rights of the controller",
        "no user of its own" => "all machines share one user of the host",
        "no cgroup" => "QEMU had no limits of memory, threads and CPUs",
        "no limit of the cgroup" => "QEMU lacked a limit",
        "no namespaces" => "QEMU saw files, processes and network of the host",
        "no denied system calls" => "no system call was denied to QEMU",
        _ => return visible(text),
    };
    let reason = match reason.strip_suffix(" is not set") {
        Some(variable) => format!("the environment variable {variable} of the host was not set"),
        None => reason.to_owned(),
    };
    visible(&format!("{words}, because {reason}"))
}

/// A count of instructions as text.
fn instructions(counted: &Instructions) -> String {
    match counted {
        Instructions::TcgPlugin { user, kernel } => format!(
            "{} at user addresses, {} at addresses of the guest's kernel, counted by a plugin of QEMU",
            show::thousands(*user),
            show::thousands(*kernel)
        ),
        Instructions::Perf { user, kernel, untested } => format!(
            "{} in user mode, {} in kernel mode, counted by the processor{}",
            show::thousands(*user),
            show::thousands(*kernel),
            if *untested { " (untested)" } else { "" }
        ),
        Instructions::Absent { reason } => format!("not counted: {}", visible(reason)),
    }
}

/// The host as text.
pub fn host_text(host: &mcc_store::HostFacts) -> String {
    let memory = show::kib(host.memory_mib.saturating_mul(1024));
    visible(&format!("{}: {}, {} cores, {memory}, Linux {}", host.name, host.cpu, host.cores, host.kernel))
}

fn disk(disk: &mcc_store::Disk) -> (String, String, String) {
    (visible(&disk.role), visible(&disk.sha256), show::bytes(disk.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_part_of_the_isolation_is_in_words() {
        assert_eq!(
            not_isolated("no user of its own: MCC_HARNESS_QEMU_IDS is not set"),
            "all machines share one user of the host, because the environment variable MCC_HARNESS_QEMU_IDS of the host was \
             not set"
        );
        assert_eq!(not_isolated("another part"), "another part");
    }

    #[test]
    fn the_stated_time_limit_says_which_limit_ends_a_run() {
        let mut limits = mcc_edition::Edition::load("mcc-2018").unwrap().limits;
        limits.cpu_s = 12;
        assert_eq!(
            stated_limit(&limits),
            "1 h (BK_TIME_CONFINEMENT); it does not end the run, which is stopped after 12 s of CPU time per vCPU or \
             1 h 15 min of wall-clock time"
        );
        limits.cpu_reading = CpuReading::Benchkit;
        assert_eq!(
            stated_limit(&limits),
            "1 h (BK_TIME_CONFINEMENT); the run is stopped after this wall-clock time"
        );
    }
}
