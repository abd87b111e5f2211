//! Measures how time and memory of each step grow with the number of runs of a campaign.

use super::campaign::GeneratedCampaign;
use super::measure::{Measurement, line, run};
use super::number;
use super::simulated_machines::{AttemptFn, attempt, executor, host, leases, printed, recorded};
use mcc_harness::campaign::{History, Hosts, Run};
use mcc_harness::store::{Record, RecordSummary, SealKey};
use rusqlite::Connection;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// The number of measured commits.
const COMMITS: usize = 200;

pub fn measured(folder: &tempfile::TempDir) {
    let sizes = std::env::var("SIZES").unwrap_or_else(|_| "1000 10000 100000 1000000".to_owned());
    // A run has three folders and a file of its own: at a million they are half an hour of making and removing.
    let with_outputs = number("OUTPUTS_UP_TO", 100_000);
    for size in sizes.split_whitespace().map(|size| size.parse::<u64>().unwrap()) {
        let place = folder.path().join(size.to_string());
        fs::create_dir(&place).unwrap();
        println!("{size} runs");
        record(&place, size);
        if size <= with_outputs {
            shards(&place, size);
        }
        fs::remove_dir_all(&place).unwrap();
    }
}

fn this(step: &str, place: &Path, runs: u64) -> Measurement {
    run_step(step, place, runs).0
}

fn step_output(step: &str, place: &Path, runs: u64) -> String {
    run_step(step, place, runs).1
}

fn run_step(step: &str, place: &Path, runs: u64) -> (Measurement, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    run(command.arg(step).arg(place).arg(runs.to_string()))
}

fn harness(place: &Path, args: &[&str]) -> (Measurement, String) {
    // This squeue lists no jobs.
    let path = format!("{}:{}", place.display(), std::env::var("PATH").unwrap_or_default());
    let squeue = place.join("squeue");
    fs::write(&squeue, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&squeue, PermissionsExt::from_mode(0o755)).unwrap();
    run(Command::new(env!("CARGO_BIN_EXE_mcc-harness")).args(args).current_dir(place).env("PATH", path))
}

/// Measures plan, resume with a tenth of the runs open, status, and commits.
fn record(place: &Path, size: u64) {
    line("plan, into a new record", this("plan", place, size));
    let bytes = || fs::metadata(place.join("results/record.db")).unwrap().len();
    let planned = bytes();
    this("fill", place, size);
    let filled = bytes();
    line("resume, a tenth open, to the first run", this("resume", place, size));
    let (took, said) = harness(place, &["status", "results"]);
    line("status", took);
    println!("  ({})", said.lines().next().unwrap_or_default());
    let per_run = (filled - planned) / (size * 9 / 10).max(1);
    println!("  record.db: {} bytes per planned run, {per_run} per attempt", planned / size);
    print!("{}", step_output("commits", place, size));
}

/// Prepares data in a separate process. The peak memory of a child includes that of its parent at the start, so the
/// measuring process stays small.
pub fn prepare(step: &str, place: &Path, size: u64) {
    match step {
        "fill" => {
            let made = GeneratedCampaign::new(place, size, None);
            fill(&place.join("results"), made.plan().runs(), None, |number| number % 10 != 0);
        }
        "commits" => commits(place, size),
        "submit" => submit(place, size),
        other => panic!("{other}"),
    }
}

fn commits(place: &Path, size: u64) {
    let made = GeneratedCampaign::new(place, size, None);
    let record = Record::create_or_open(&place.join("results"), &made.facts).unwrap();
    let open: Vec<Run> = record.open_runs().take(COMMITS).map(|open| open.unwrap().run).collect();
    let begun = Instant::now();
    for run in &open {
        let dir = record.begin_attempt(&run.id()).unwrap();
        fs::write(dir.outputs().join("stdout"), printed(&run.entry, &run.instance, &run.examination))
            .unwrap();
        record.commit(recorded(run), dir).unwrap();
    }
    let each = begun.elapsed() / open.len().max(1) as u32;
    println!("  a commit with one output, synced: {:.2} ms", each.as_secs_f64() * 1000.0);
}

/// Measures status with uncollected shards, collect, a second collect, and judge.
fn shards(place: &Path, size: u64) {
    let place = &place.join("cluster");
    fs::create_dir(place).unwrap();
    this("submit", place, size);
    let shards = fs::read_dir(place.join("results/shards")).unwrap().count();
    line(&format!("status over {shards} shards"), harness(place, &["status", "results"]).0);
    let (took, said) = harness(place, &["collect", "results"]);
    line(&format!("collect of {shards} shards"), took);
    println!("  ({})", said.lines().nth(1).unwrap_or_default());
    line("collect again", harness(place, &["collect", "results"]).0);
    line("judge", harness(place, &["judge", "results", "--out", "judged"]).0);
}

/// Creates a campaign on a cluster whose jobs have all ended.
fn submit(place: &Path, size: u64) {
    // At most as many models as an edition has.
    let made = GeneratedCampaign::new(place, size, Some(number("SHARDS", 1000)));
    let (whole, cluster) = made.submit(place, "million");
    for need in &cluster.facts().needs {
        let shard = cluster.shard(&need.model);
        let runs = whole.runs_of(&need.model).unwrap();
        let record = Record::create_or_open_shared(&shard, &made.facts.shard(&need.model)).unwrap();
        record.plan_runs(&runs).unwrap();
        drop(record);
        for run in &runs {
            let place = shard.join("outputs").join(run.id().as_str()).join("1");
            fs::create_dir_all(&place).unwrap();
            let text = printed(&run.entry, &run.instance, &run.examination);
            fs::write(place.join("stdout"), text).unwrap();
        }
        fill(&shard, runs.into_iter(), Some(&cluster.key(&need.model).unwrap()), |_| true);
    }
}

/// Records an attempt for each run whose number `wanted` accepts, as if it had been committed to a record with this key.
fn fill(
    results: &Path,
    runs: impl Iterator<Item = Run>,
    key: Option<&SealKey>,
    wanted: impl Fn(usize) -> bool,
) {
    let mut db = Connection::open(results.join("record.db")).unwrap();
    db.pragma_update(None, "synchronous", "OFF").unwrap();
    let transaction = db.transaction().unwrap();
    {
        let attempt = "INSERT INTO attempts (run, number, outcome, facts, ms)
                       VALUES ((SELECT position FROM runs WHERE id = ?1), 1, 'finished', ?2,
                               json_extract(?2, '$.facts.boot_ms') + json_extract(?2, '$.facts.wall_ms'))";
        let mut attempt = transaction.prepare(attempt).unwrap();
        let mut run_of = transaction.prepare("UPDATE runs SET recorded = 1 WHERE id = ?1").unwrap();
        let mut seal = transaction.prepare("INSERT INTO facts (key, value) VALUES (?1, ?2)").unwrap();
        for (_, run) in runs.enumerate().filter(|(number, _)| wanted(*number)) {
            let facts = serde_json::to_string(&recorded(&run)).unwrap();
            attempt.execute((run.id().as_str(), &facts)).unwrap();
            if let Some(key) = key {
                seal.execute(key.row(&run.id(), 1, &facts, None)).unwrap();
            }
            run_of.execute([run.id().as_str()]).unwrap();
        }
    }
    transaction.commit().unwrap();
}

/// Plans the campaign and writes the runs to a new record.
pub fn plan(place: &Path, runs: u64) {
    let made = GeneratedCampaign::new(place, runs, None);
    let plan = made.plan();
    assert!(plan.runs().filter(|run| run.competes).count() as u64 >= runs);
    let record = Record::create_or_open(&place.join("results"), &made.facts).unwrap();
    record.plan_runs(plan.runs()).unwrap();
}

/// The steps of `run` for an interrupted campaign, up to the first machine.
pub fn resume(place: &Path, runs: u64) {
    let made = GeneratedCampaign::new(place, runs, None);
    let record = Record::create_or_open(&place.join("results"), &made.facts).unwrap();
    record.plan_runs(made.plan().runs()).unwrap();
    let mut history = History::with_instances();
    RecordSummary::at(record.dir()).unwrap().add_run_times_to(&mut history);
    let stop = AtomicBool::new(true);
    let machines: AttemptFn = &|attempt_spec, enter| attempt(attempt_spec, enter, &|_, _| None);
    let (host, hosts) = (host("node"), Hosts::default());
    let executor = executor(&record, (&made.edition, &hosts), &host, history, machines, &stop);
    executor.run(leases(&host), &|_| true, &|_| {}).unwrap();
}
