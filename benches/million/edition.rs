//! A simulated edition on a cluster of four nodes, with faults: QEMU processes end, disks fill, controllers are killed,
//! nodes are lost. At its end every planned run must be recorded once, and there must be no temporary files.

use super::campaign::GeneratedCampaign;
use super::simulated_machines::{Fault, attempt, drawn, executor, happens, host, leases, printed, took_ms};
use super::{completeness, number};
use mcc_harness::campaign::{History, Hosts};
use mcc_harness::cluster::{Cluster, collect};
use mcc_harness::executor::{AttemptSpec, ExecutorError, Progress, State};
use mcc_harness::store::{CampaignFacts, Record};
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

const NODES: usize = 4;
const MODELS: u64 = 20;

/// Mean machine hours between two faults of a kind. Real clusters have fewer faults.
const QEMU_DIES: u64 = 200;
const DISK_FULL: u64 = 2000;
const CONTROLLER_KILLED: u64 = 500;
/// One in so many killed controllers loses its node too.
const NODE_LOST: u64 = 8;

/// The exit code of a controller that stopped because of a full disk.
const STOPPED: i32 = 3;

pub fn run_with_faults(folder: &tempfile::TempDir) {
    let (runs, seed) = (number("RUNS", 100_000), number("SEED", 2018));
    let place = folder.path();
    let made = GeneratedCampaign::new(place, runs, Some(MODELS));
    let (record, cluster) = made.submit(place, "soak");
    fs::create_dir(place.join("tmp")).unwrap();
    let waiting = cluster.facts().needs.iter().map(|need| need.model.clone()).collect();
    let site = Site { place, cluster: &cluster, seed, waiting: Mutex::new(waiting), seen: Mutex::default() };
    let begun = Instant::now();
    thread::scope(|scope| {
        for node in 0..NODES {
            let site = &site;
            scope.spawn(move || site.node(node));
        }
    });
    let worked = begun.elapsed();
    let descriptors = || completeness::held("self").unwrap().0;
    let before = descriptors();
    // A second collect must add nothing.
    collect(&record, &cluster, &[]).unwrap();
    let again = collect(&record, &cluster, &[]).unwrap();
    assert_eq!((again.merged.attempts, again.merged.runs), (0, 0), "collected twice");
    assert!(descriptors() <= before, "collect keeps descriptors");

    let ended = completeness::checked(&record, made.facts.retries, |run, text| {
        text == printed(&run.run.entry, &run.run.instance, &run.run.examination)
    });
    for need in &cluster.facts().needs {
        let shard = cluster.shard(&need.model);
        completeness::clean(&shard, &["host.json", "lock", "outputs", "record.db", "running"]);
    }
    assert_eq!(fs::read_dir(place.join("tmp")).unwrap().count(), 0, "temporary files");
    let hours: u64 =
        made.plan().runs().map(|run| took_ms(&run.entry, &run.instance, &run.examination)).sum::<u64>()
            / 3_600_000;
    let seen = site.seen.into_inner().unwrap();
    println!("{} runs of {hours} machine hours in {:.0} s, seed {seed}", ended.runs, worked.as_secs_f64());
    println!("  attempts                       {}", ended.attempts);
    println!(
        "  QEMU processes killed          {}",
        ended.attempts - ended.runs - ended.superseded + ended.infrastructure
    );
    println!("  controllers killed             {}", seen.killed);
    println!("  disks full                     {}", seen.full);
    println!("  nodes lost                     {}, with {} attempts superseded", seen.lost, ended.superseded);
    println!("  runs without further retries   {}", ended.infrastructure);
    println!("  longest controller process     {} commits", seen.longest);
    println!(
        "  descriptors in it              {} in its first half, {} in its second",
        seen.descriptors.0, seen.descriptors.1
    );
    println!(
        "  memory in it                   {} KiB after 100 commits, {} KiB at its end",
        seen.kib.0, seen.kib.1
    );
    println!("  temporary files left           0");
    assert!(
        seen.killed > 0 && seen.full > 0 && seen.lost > 0,
        "faults of every kind: more RUNS, or another SEED"
    );
}

/// The state that the nodes share.
struct Site<'a> {
    place: &'a Path,
    cluster: &'a Cluster,
    seed: u64,
    /// Models that have no job.
    waiting: Mutex<VecDeque<String>>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    killed: u64,
    full: u64,
    lost: u64,
    /// Of the controller process with the most commits: commits, least open descriptors in each half, and memory in KiB
    /// after the first commits and at its end.
    longest: u64,
    descriptors: (u64, u64),
    kib: (u64, u64),
}

impl Site<'_> {
    /// Runs one model after the other, as Slurm assigns jobs to a node.
    fn node(&self, node: usize) {
        loop {
            let next = self.waiting.lock().unwrap().pop_front();
            let Some(model) = next else { return };
            self.model(&model, node);
        }
    }

    fn model(&self, model: &str, node: usize) {
        let mut lost = 0;
        for life in 0_u64.. {
            self.cluster.record_node(model, &format!("node-{}", node + NODES * lost)).unwrap();
            let ended = self.live(model, life);
            match ended.code() {
                Some(0) => return,
                // Space was freed; the same command continues.
                Some(STOPPED) => self.seen.lock().unwrap().full += 1,
                Some(other) => panic!("a controller of {model} ended with {other}"),
                None => {
                    self.seen.lock().unwrap().killed += 1;
                    if drawn(self.seed, &[model, "node", &life.to_string()]).is_multiple_of(NODE_LOST) {
                        // The effect of `submit --resume` with `lost_node = "restart"`.
                        self.cluster.supersede(model).unwrap();
                        lost += 1;
                        self.seen.lock().unwrap().lost += 1;
                    }
                }
            }
        }
    }

    /// Runs one controller process until it ends or is killed.
    fn live(&self, model: &str, life: u64) -> ExitStatus {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg("controller").arg(self.cluster.results()).arg(model);
        command.args([life.to_string(), self.seed.to_string()]).env("TMPDIR", self.place.join("tmp"));
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        // One process in three is killed at a random time, possibly during a commit.
        let draw = drawn(self.seed, &[model, "moment", &life.to_string()]);
        let killed_after = draw.is_multiple_of(3).then(|| Duration::from_millis(draw / 3 % 4000));
        if let Some(after) = killed_after {
            end_after(&mut child, after);
        }
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        let rows: Vec<Vec<u64>> =
            said.lines().map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect()).collect();
        if rows.len() >= 10 {
            // The least of each half, because up to three other runs have open files.
            let (early, late) = rows.split_at(rows.len() / 2);
            let least = |rows: &[Vec<u64>]| rows.iter().map(|row| row[1]).min().unwrap();
            let (descriptors, kib) = ((least(early), least(late)), (rows[0][2], rows[rows.len() - 1][2]));
            assert!(descriptors.1 <= descriptors.0 + 1, "descriptors grow in {model}: {said}");
            assert!(kib.1 <= kib.0 + 16_384, "memory grows in {model}: {said}");
            let mut seen = self.seen.lock().unwrap();
            let commits = rows[rows.len() - 1][0];
            if commits > seen.longest {
                (seen.longest, seen.descriptors, seen.kib) = (commits, descriptors, kib);
            }
        }
        output.status
    }
}

/// Kills the child after that time, unless it has ended.
fn end_after(child: &mut Child, after: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < after {
        if child.try_wait().unwrap().is_some() {
            return;
        }
        thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
}

/// A controller process that runs the open runs of a shard, with faults. Every 100 commits it prints the number of commits,
/// its open descriptors and its memory.
pub fn controller(results: &Path, model: &str, life: u64, seed: u64) {
    let cluster = Cluster::open(results).unwrap();
    let whole = Record::open_readonly(results).unwrap();
    let edition = serde_json::from_str(&whole.facts().edition).unwrap();
    let facts: CampaignFacts = whole.facts().shard(model);
    let record = Record::create_or_open_shared(&cluster.shard(model), &facts).unwrap();
    let record = record.sealed_with(cluster.key(model).unwrap());
    record.plan_runs(&whole.runs_of(model).unwrap()).unwrap();
    drop(whole);
    let mut history = History::default();
    record.add_run_times_to(&mut history).unwrap();

    // The number of the attempt is part of the draw, so each attempt has its own faults.
    let attempts: Mutex<BTreeMap<String, u64>> = Mutex::default();
    let fault = |words: &[&str; 3], ms: u64| {
        let again = {
            let mut attempts = attempts.lock().unwrap();
            let count = attempts.entry(words.concat()).or_default();
            *count += 1;
            *count
        };
        let lives = format!("{life} {again}");
        let draw = |kind: &str| drawn(seed, &[kind, words[0], words[1], words[2], &lives]);
        let states = [State::Booting, State::Ready, State::Examining];
        if happens(draw("qemu"), QEMU_DIES, ms) {
            let state = states[(draw("state") % states.len() as u64) as usize];
            return Some(Fault::Qemu(state));
        }
        if happens(draw("full"), DISK_FULL, ms) {
            return Some(Fault::DiskFull);
        }
        happens(draw("kill"), CONTROLLER_KILLED, ms).then_some(Fault::Kill)
    };
    let machines =
        |attempt_spec: AttemptSpec<'_>, enter: &mut dyn FnMut(State)| attempt(attempt_spec, enter, &fault);
    let stop = AtomicBool::new(false);
    let node = cluster.hosts(model).unwrap().nodes.pop().unwrap();
    let commits = Mutex::new(0_u64);
    let show = |progress: Progress| {
        if let Progress::Committed { .. } = progress {
            let mut commits = commits.lock().unwrap();
            *commits += 1;
            if (*commits).is_multiple_of(100) {
                let (descriptors, kib) = completeness::held("self").unwrap();
                println!("{commits} {descriptors} {kib}");
            }
        }
    };
    let (host, hosts) = (host(&node), Hosts::default());
    let executor = executor(&record, (&edition, &hosts), &host, history, &machines, &stop);
    match executor.run(leases(&host), &|_| true, &show) {
        Ok(()) => {}
        Err(ExecutorError::DiskFull { .. }) => std::process::exit(STOPPED),
        Err(error) => panic!("{error}"),
    }
}
