//! Hundreds of short runs in real machines, with faults: QEMU processes and controllers are killed. At the end every planned
//! run must be recorded once, and there must be no temporary files.

use super::simulated_machines::drawn;
use super::{completeness, number};
use mcc_harness::store::Record;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const RETRIES: u32 = 3;

/// The number of controllers that are killed.
const KILLS: u64 = 20;

const INSTANCES: &str = "DiningTable-PT-03 DiningTable-PT-05 TokenLoop-PT-03 TokenLoop-PT-05 TokenLoop-PT-08 \
                         GreedyClerks-PT-03 LibraryRoom-PT-R05W02 SwitchBoard-PT-0008 CrateDepot-PT-K3M2B12";

pub fn run_with_faults(folder: &tempfile::TempDir) {
    let (seed, place) = (number("SEED", 2018), folder.path());
    let project = env!("CARGO_MANIFEST_DIR");
    let instances: Vec<&str> = INSTANCES.split_whitespace().collect();
    let mut campaign = format!(
        "edition = \"mcc-2018\"\ninputs = \"{project}/pnml-fixtures\"\ninstances = {instances:?}\nstart = \"restore\"\n"
    );
    for entry in ["breadth-first", "depth-first", "random-walk", "wrong-on-purpose"] {
        let image = format!("{project}/build/images/{entry}");
        campaign += &format!("[[tool]]\nentry = \"{entry}\"\nimage = \"{image}\"\nkind = \"sequential\"\n");
    }
    campaign += &format!(
        "[limits]\ncpu_s = 60\nwall_s = 120\n[hosts]\njobs = 2\nretries = {RETRIES}\nboot_deadline_s = 120\n"
    );
    fs::write(place.join("campaign.toml"), campaign).unwrap();
    let tmp = place.join("tmp");
    fs::create_dir(&tmp).unwrap();

    let results = place.join("results");
    let begun = Instant::now();
    let (mut lives, mut machines_killed) = (0_u64, 0_u64);
    let mut longest = ((0, 0), (0, 0));
    loop {
        let mut controller = start(place);
        // The first controllers are killed after 15 to 45 seconds; meanwhile machines are killed too.
        let draw = drawn(seed, &["life", &lives.to_string()]);
        let after = (lives < KILLS).then(|| Duration::from_secs(15 + draw % 30));
        let (ended, held) = watched(&mut controller, after, seed + lives, &results, &mut machines_killed);
        if held.1.0 >= longest.1.0 {
            longest = held;
        }
        lives += 1;
        if let Some(code) = ended {
            // 1: a run is recorded as infrastructure after all its retries.
            assert!([0, 1].contains(&code), "run ended with {code}");
            if Record::open_readonly(&results).unwrap().open_runs().next().is_none() {
                break;
            }
        }
        // Machines end with their controller.
        let gone = Instant::now() + Duration::from_secs(30);
        while !machines(&results).is_empty() {
            assert!(Instant::now() < gone, "machines outlive their controller");
            thread::sleep(Duration::from_millis(20));
        }
    }
    let record = Record::open_readonly(&results).unwrap();
    let ended = completeness::checked(&record, RETRIES, |_, text| !text.is_empty());
    drop(record);
    completeness::clean(&results, &["inputs", "lock", "outputs", "record.db", "running"]);
    assert_eq!(machines(&results), Vec::<i32>::new());
    assert_eq!(fs::read_dir(&tmp).unwrap().count(), 0, "temporary files");
    let retried = ended.attempts - ended.runs;
    println!("{} runs in real machines in {:.0} s, seed {seed}", ended.runs, begun.elapsed().as_secs_f64());
    println!("  controllers killed             {}", lives - 1);
    println!("  QEMU processes killed          {machines_killed}, {retried} attempts repeated");
    println!("  runs without further retries   {}", ended.infrastructure);
    let ((descriptors, kib), (later, kib_later)) = longest;
    println!("  descriptors of a controller    {descriptors} after its first minute, {later} at its end");
    println!("  memory of a controller         {kib} KiB after its first minute, {kib_later} KiB at its end");
    println!("  machines, sockets, overlays, temporary files left: 0");
    assert!(ended.runs >= 300 && lives > KILLS && machines_killed > 0, "more runs, or another SEED");
}

fn start(place: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
    command.args(["run", "campaign.toml", "--out", "results", "--allow-degraded"]).current_dir(place);
    command.env("TMPDIR", place.join("tmp")).env("MCC_HARNESS_LEASES", place.join("leases"));
    command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

type Held = (usize, u64);

/// Waits until the controller ends, or kills it `after` that time; kills one of its machines at random times. Returns its
/// exit code, and its descriptors and memory after the first minute and at its end.
fn watched(
    controller: &mut Child,
    after: Option<Duration>,
    seed: u64,
    results: &Path,
    killed: &mut u64,
) -> (Option<i32>, (Held, Held)) {
    let begun = Instant::now();
    let process = controller.id().to_string();
    let (mut first, mut last) = (None, (0, 0));
    let mut look = 0_u64;
    loop {
        look += 1;
        if let Some(status) = controller.try_wait().unwrap() {
            return (status.code(), (first.unwrap_or(last), last));
        }
        if after.is_some_and(|after| begun.elapsed() >= after) {
            controller.kill().unwrap();
            controller.wait().unwrap();
            return (None, (first.unwrap_or(last), last));
        }
        last = completeness::held(&process).unwrap_or(last);
        if begun.elapsed() > Duration::from_secs(60) {
            first.get_or_insert(last);
        }
        let draw = drawn(seed, &["machine", &look.to_string()]);
        // One kill in 90 seconds on average.
        if draw.is_multiple_of(450) {
            let machines = machines(results);
            if let Some(&machine) = machines.get((draw / 450) as usize % machines.len().max(1)) {
                *killed += u64::from(kill(Pid::from_raw(machine), Signal::SIGKILL).is_ok());
            }
        }
        thread::sleep(Duration::from_millis(200));
    }
}

/// The QEMU processes of these results: their TMPDIR is the private folder of an attempt.
fn machines(results: &Path) -> Vec<i32> {
    let tmpdir = format!("TMPDIR={}", results.join("running").display());
    let mut numbers: Vec<i32> = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|process| {
            let process = process.ok()?.path();
            let environment = fs::read(process.join("environ")).ok()?;
            let belongs =
                environment.split(|byte| *byte == 0).any(|word| word.starts_with(tmpdir.as_bytes()));
            belongs.then(|| process.file_name()?.to_str()?.parse().ok()).flatten()
        })
        .collect();
    numbers.sort_unstable();
    numbers
}
