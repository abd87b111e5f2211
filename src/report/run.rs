//! The page of a run: what was printed, what it was worth, and on what machine.

use super::contest::{self, Contest, Frame, RunKey, Tally};
use super::output::{self, Excerpt};
use super::show::{self, visible};
use super::site::NewSite;
use super::{KeptAttempt, ReportError};
use crate::edition::CpuReading;
use crate::judge::judgement::{Block, Cell};
use crate::store::{Attempt, MemorySource, Outcome};
use askama::Template;
use std::fs::File;

#[derive(Template)]
#[template(path = "run.html")]
struct Page {
    frame: Frame,
    entry: String,
    instance: String,
    examination: String,
    table: String,
    row: String,
    /// What became of it, in a few words, and its class of colour.
    summary: Option<(String, &'static str)>,
    ending: &'static str,
    points: Option<(String, String)>,
    complete: bool,
    tiles: Vec<(&'static str, String, String)>,
    marks: Vec<String>,
    answers: Vec<Answer>,
    remarks: Vec<String>,
    others: Vec<(String, String, String)>,
    attempts: Vec<AttemptRow>,
    outputs: Vec<Output>,
    facts: Vec<(&'static str, String)>,
    machine: Vec<String>,
    disks: Vec<(String, String, String)>,
}

struct Answer {
    position: String,
    id: String,
    given: Text,
    sign: &'static str,
    verdict: &'static str,
    class: &'static str,
    trusted: Text,
    basis: String,
    techniques: String,
}

/// A text, and its short form where it is too long for a table.
struct Text {
    full: String,
    short: Option<String>,
}

struct AttemptRow {
    number: u32,
    judged: bool,
    outcome: String,
    started: String,
    host: String,
    marks: String,
    /// Empty, or why it is superseded.
    rerun: String,
    outputs: Vec<(String, String)>,
}

struct Output {
    name: String,
    link: String,
    size: String,
    sha256: String,
    excerpt: Excerpt,
    skipped: String,
}

pub fn write(
    contest: &Contest,
    key: RunKey,
    attempts: &[KeptAttempt],
    site: &NewSite,
) -> Result<(), ReportError> {
    let (entry, instance, examination) = key;
    let run = contest.run_name(key);
    let path = contest.run_path(key);
    let Some(judged) = attempts.last() else {
        unreachable!("a recorded run has an attempt");
    };
    let mut rows = Vec::new();
    let mut outputs = Vec::new();
    for kept in attempts {
        let last = std::ptr::eq(kept, judged);
        let mut links = Vec::new();
        for (name, from) in &kept.outputs {
            let failed = |source| ReportError::Output { run: run.clone(), path: from.clone(), source };
            let to = format!("{path}.{}.{}.txt", kept.attempt.number, super::site::segment(name));
            let mut file = File::open(from).map_err(failed)?;
            site.copy(&mut file, &to)?;
            let link = format!("../../../{to}");
            if last {
                let excerpt = output::excerpt(file).map_err(failed)?;
                let digest = kept.attempt.outputs.iter().find(|output| output.role == *name);
                outputs.push(Output {
                    name: visible(name),
                    link: link.clone(),
                    size: show::bytes(excerpt.bytes),
                    sha256: digest.map_or(String::new(), |output| visible(&output.sha256)),
                    skipped: show::bytes(excerpt.skipped),
                    excerpt,
                });
            }
            links.push((visible(name), link));
        }
        rows.push(attempt_row(kept, last, links));
    }
    // What the tool said comes first, whatever the record's order.
    let place =
        |output: &Output| ["stdout", "stderr", "console"].iter().position(|name| *name == output.name);
    outputs.sort_by_key(|output| place(output).unwrap_or(usize::MAX));
    let block = contest.block(examination, instance);
    let cell = block.and_then(|block| block.cells.iter().find(|cell| cell.entry == entry));
    let tally = block.zip(cell).map(|(block, cell)| Tally::of(block, cell));
    let judgement = contest.judgement;
    let names = [&judgement.entries[entry].entry, &judgement.instances[instance].instance];
    let [entry_name, instance_name] = names.map(|name| visible(name));
    let examination_name = visible(&judgement.examinations[examination]);
    let page = Page {
        frame: contest.frame(format!("{entry_name} · {instance_name} · {examination_name}"), "../../../"),
        entry: entry_name,
        instance: instance_name,
        examination: examination_name,
        table: format!("../../../{}", contest.table_path(examination, 0)),
        row: format!("../../../{}", contest.row_path(examination, instance)),
        summary: tally.map(summary),
        ending: cell.map_or("not judged", |cell| contest::words(cell.ending)),
        points: cell.map(|cell| {
            let places = show::places([&cell.points, &num_rational::BigRational::from_integer(0.into())]);
            let places = if cell.points.is_integer() { 0 } else { places.max(2) };
            (show::decimal(&cell.points, places), cell.points.to_string())
        }),
        complete: cell.is_some_and(|cell| cell.complete),
        tiles: tiles(contest, &judged.attempt, cell),
        marks: judged.attempt.marks.iter().map(|mark| visible(mark)).collect(),
        answers: block.map_or(Vec::new(), |block| answers(block, cell)),
        remarks: cell.map_or(Vec::new(), |cell| cell.remarks.iter().map(|remark| visible(remark)).collect()),
        others: block.map_or(Vec::new(), |block| others(contest, key, block)),
        attempts: rows,
        outputs,
        facts: facts(contest, &judged.attempt),
        machine: judged.attempt.machine.iter().map(|argument| visible(argument)).collect(),
        disks: judged.attempt.disks.iter().map(disk).collect(),
    };
    site.page(&format!("{path}.html"), &page)
}

fn summary(tally: Tally) -> (String, &'static str) {
    let Tally { right, wrong, unjudged, all } = tally;
    let of = |count: usize, what: &str| format!("{count} of {all} {what}");
    if wrong > 0 {
        return (format!("✗ {}", of(wrong, "wrong")), "w");
    }
    if right == all && all > 0 {
        return (if all == 1 { "✓ right".into() } else { format!("✓ all {all} right") }, "k");
    }
    if right > 0 {
        return (format!("✓ {}", of(right, "right")), "p");
    }
    if unjudged > 0 {
        return (format!("? {}", of(unjudged, "given, trusted value unknown")), "p");
    }
    ("– not computed".into(), "n")
}

fn source(source: MemorySource) -> &'static str {
    match source {
        MemorySource::GuestCgroup => "peak of the tool's cgroup in the guest",
        MemorySource::GuestCgroupSamples => "largest sample of the tool's cgroup in the guest",
        MemorySource::Balloon => "largest sample of the whole guest, by its balloon",
    }
}

/// The figures of the run: what was used, and of what.
fn tiles(contest: &Contest, attempt: &Attempt, cell: Option<&Cell>) -> Vec<(&'static str, String, String)> {
    let limits = &contest.judgement.edition.limits;
    let facts = attempt.facts.as_ref();
    let cost = cell.and_then(|cell| cell.cost);
    let cpu = facts.map(|facts| facts.cpu_ms).or(cost.map(|cost| cost.cpu_ms));
    let wall = facts.map(|facts| facts.wall_ms).or(cost.map(|cost| cost.wall_ms));
    let memory = match facts {
        Some(facts) => facts
            .memory_kib
            .map(|kib| (kib, facts.memory_source.map_or("peak in the guest", source)))
            .or(facts.host_memory_kib.map(|kib| (kib, "peak of QEMU on the host, an upper bound"))),
        None => cost.and_then(|cost| cost.memory_kib).map(|kib| (kib, "")),
    };
    let cpu_limit = match (limits.cpu_reading, limits.cpu_s) {
        (CpuReading::Benchkit, _) | (_, 0) => "no limit of its own".into(),
        (CpuReading::PerVcpu, s) => format!("limit {} per vCPU", show::duration(s * 1000)),
        (CpuReading::Summed, s) => format!("limit {} over all vCPUs", show::duration(s * 1000)),
    };
    let none = || "not measured".to_owned();
    vec![
        ("CPU time", cpu.map_or_else(none, show::duration), cpu_limit),
        (
            "Wall-clock time",
            wall.map_or_else(none, show::duration),
            format!("limit {}", show::duration(limits.wall_s * 1000)),
        ),
        (
            "Memory",
            memory.map_or_else(none, |(kib, _)| show::kib(kib)),
            memory.map_or("", |(_, source)| source).into(),
        ),
    ]
}

fn answers(block: &Block, cell: Option<&Cell>) -> Vec<Answer> {
    let verdicts = cell.map_or(&[][..], |cell| cell.verdicts.as_bytes());
    let answer = |(position, trusted): (usize, &crate::judge::judgement::Trusted)| {
        let given = cell.and_then(|cell| cell.values.get(position)).and_then(Option::as_ref);
        let (sign, verdict, class) = match verdicts.get(position) {
            Some(b'+') => ("✓", "right", "k"),
            Some(b'-') => ("✗", "wrong", "w"),
            Some(b'?') => ("?", "unjudged", "u"),
            _ => ("–", "not computed", "n"),
        };
        Answer {
            position: format!("{position:02}"),
            id: visible(&trusted.id),
            given: text(given.map_or(String::new(), show::value)),
            sign,
            verdict,
            class,
            trusted: text(trusted.value.as_ref().map_or(String::new(), show::value)),
            basis: visible(&trusted.basis_shown()),
            techniques: techniques(cell, position),
        }
    };
    block.trusted.iter().enumerate().map(answer).collect()
}

/// What the tool says it used for the value (E-1.10).
fn techniques(cell: Option<&Cell>, position: usize) -> String {
    let stated = cell.and_then(|cell| cell.techniques.get(position));
    visible(&stated.map(|words| words.join(" ")).unwrap_or_default())
}

fn text(full: String) -> Text {
    Text { short: show::shortened(&full), full }
}

/// What the other entries did on the same instance in the same examination.
fn others(contest: &Contest, key: RunKey, block: &Block) -> Vec<(String, String, String)> {
    let (entry, instance, examination) = key;
    let others =
        block.cells.iter().filter(|cell| cell.entry != entry && contest.entries.contains(&cell.entry));
    let other = |cell: &Cell| {
        let key = (cell.entry, instance, examination);
        let link = match contest.recorded.contains(&key) {
            true => format!("../../../{}.html", contest.run_path(key)),
            false => String::new(),
        };
        (link, visible(&contest.entry(cell.entry).entry), Tally::of(block, cell).text(cell))
    };
    others.map(other).collect()
}

pub fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Finished { exit_code } => format!("finished, exit code {exit_code}"),
        Outcome::CpuLimit => "cpu-limit: stopped at the CPU-time limit".into(),
        Outcome::WallLimit => "wall-limit: stopped at the wall-clock limit".into(),
        Outcome::MemoryLimit => "memory-limit: killed for memory in the guest".into(),
        Outcome::OutputLimit => "output-limit: stopped at the output limit".into(),
        Outcome::ToolCrash { signal } => format!("tool-crash: signal {signal}"),
        Outcome::NotCompeting => "not competing: no machine was booted".into(),
        Outcome::Infrastructure { state, reason } => {
            format!("infrastructure, while {}: {}", visible(state), visible(reason))
        }
    }
}

fn attempt_row(kept: &KeptAttempt, judged: bool, outputs: Vec<(String, String)>) -> AttemptRow {
    let KeptAttempt { attempt, rerun, .. } = kept;
    AttemptRow {
        rerun: rerun.as_ref().map_or(String::new(), |reason| visible(reason)),
        number: attempt.number,
        judged,
        outcome: outcome(&attempt.outcome),
        started: visible(&attempt.started_at),
        host: visible(&attempt.host.name),
        marks: visible(&attempt.marks.join(", ")),
        outputs,
    }
}

fn facts(contest: &Contest, attempt: &Attempt) -> Vec<(&'static str, String)> {
    let machine = &contest.judgement.edition.machine;
    let host = &attempt.host;
    let mut facts = vec![
        ("Outcome", outcome(&attempt.outcome)),
        ("Started", visible(&attempt.started_at)),
        (
            "Asked for",
            format!("{} CPU, {} of memory", visible(&machine.cpu_model), show::kib(machine.memory_mib << 10)),
        ),
    ];
    if let Some(measured) = &attempt.facts {
        facts.push(("vCPUs", measured.vcpus.to_string()));
        facts.push(("Boot to readiness", show::duration(measured.boot_ms)));
        if let Some(kib) = measured.balloon_memory_kib {
            facts.push(("Memory of the whole guest, by its balloon", show::kib(kib)));
        }
        if let Some(kib) = measured.host_memory_kib {
            facts.push(("Memory of QEMU on the host", show::kib(kib)));
        }
        if let Some(ms) = measured.io_wait_ms {
            facts.push(("Waited for its disks", show::duration(ms)));
        }
        facts.extend(measured.kernel_log.iter().map(|line| ("Its kernel said", visible(line))));
        let (out, err) = (show::bytes(measured.stdout_bytes), show::bytes(measured.stderr_bytes));
        facts.push(("Printed", format!("{out} on stdout, {err} on stderr")));
    }
    let room = &attempt.room;
    if !room.cpus.is_empty() {
        let cpus = room.cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        facts.push(("Pinned to the host's CPUs", cpus));
    }
    if !room.confined.is_empty() {
        let words = room.confined.iter().chain(&room.unconfined).cloned().collect::<Vec<_>>();
        facts.push(("Confined by", visible(&words.join("; "))));
    }
    if !room.cpu_flags_missing.is_empty() {
        facts.push(("CPU flags it did not see", visible(&room.cpu_flags_missing.join(" "))));
    }
    let limits = &contest.judgement.edition.limits;
    facts
        .push(("Output limit", format!("{} on each of stdout and stderr", show::bytes(limits.output_bytes))));
    facts.push(("Time the tool is told", show::duration(limits.confinement_s * 1000)));
    facts.push(("Accelerator", visible(&host.accelerator)));
    facts.push(("Host", host_words(host)));
    facts.push(("QEMU", visible(&host.qemu)));
    facts
}

pub fn host_words(host: &crate::store::HostFacts) -> String {
    let memory = show::kib(host.memory_mib.saturating_mul(1024));
    visible(&format!("{}: {}, {} cores, {memory}, Linux {}", host.name, host.cpu, host.cores, host.kernel))
}

fn disk(disk: &crate::store::Disk) -> (String, String, String) {
    (visible(&disk.role), visible(&disk.sha256), show::bytes(disk.bytes))
}
