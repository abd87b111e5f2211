//! A controller killed at any moment: every planned run ends in exactly one record, and nothing is left behind
//! (R1, R3).

mod campaign;
mod images;

use campaign::{EXAMINATIONS, Folder, until};
use mcc_harness::store::Outcome;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// `KILLS=n` for a shorter look at the long test.
fn planned_kills() -> u32 {
    std::env::var("KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(200)
}

/// Xorshift, seeded: the same delays in every run of the test.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: Duration) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Duration::from_micros(self.0 % limit.as_micros() as u64)
    }
}

fn start(folder: &Folder) -> Child {
    folder.run_command(&[]).stderr(Stdio::null()).spawn().unwrap()
}

/// Kills it after `delay`; false where it ended before.
fn killed(mut controller: Child, delay: Duration) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < delay {
        if controller.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    kill(Pid::from_raw(controller.id() as i32), Signal::SIGKILL).unwrap();
    controller.wait().unwrap().code().is_none()
}

/// Every planned run has one record, made in its first attempt; of the others nothing is left.
fn assert_complete(folder: &Folder, planned: u64) {
    // Before it is read: SQLite makes an index of its own for readers.
    let mut left: Vec<_> =
        fs::read_dir(folder.results()).unwrap().map(|item| item.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["inputs", "lock", "outputs", "record.db", "running"], "no socket, overlay or log");
    let summary = folder.record().summary().unwrap();
    assert_eq!((summary.planned, summary.recorded, summary.retried), (planned, planned, 0));
    let runs = folder.runs();
    assert_eq!(runs.len() as u64, planned);
    assert!(runs.values().all(|run| run.last.outcome == Outcome::Finished { exit_code: 0 }));
    let outputs = folder.results().join("outputs");
    let attempts = walkdir::WalkDir::new(&outputs).min_depth(4).max_depth(4).into_iter();
    let found: BTreeSet<PathBuf> = attempts.map(|attempt| attempt.unwrap().into_path()).collect();
    let recorded: BTreeSet<PathBuf> = runs.keys().map(|id| outputs.join(id).join("1")).collect();
    assert_eq!(found, recorded);
    for (id, run) in &runs {
        for output in &run.last.outputs {
            let kept = outputs.join(id).join("1").join(&output.role);
            let found = mcc_harness::base::digest::file(&kept).unwrap();
            assert_eq!(found, (output.sha256.clone(), output.bytes), "{}", kept.display());
        }
    }
    assert!(folder.running_folders().is_empty(), "{:?}", folder.running_folders());
    assert_eq!(folder.machines(), [0; 0]);
}

/// Kills controllers of campaigns made by `begin` until there were 200; each campaign is run to its end.
fn kill_at_random(begin: impl Fn() -> (Folder, u64), longest: Duration, kills_per_campaign: u32) {
    let mut random = Random(0x2018_0624_5eed_0001);
    let (mut kills, all) = (0, planned_kills());
    while kills < all {
        let (folder, planned) = begin();
        let most = kills + kills_per_campaign.min(all - kills);
        while kills < most && killed(start(&folder), random.below(longest)) {
            kills += 1;
            until("the machines are gone with their controller", || folder.machines().is_empty());
        }
        folder.run(&[]).success();
        assert_complete(&folder, planned);
    }
}

#[test]
fn after_200_random_kills_every_run_has_one_record_and_nothing_is_left() {
    let begin = || {
        let folder = Folder::with_fake_qemu(4, &EXAMINATIONS, "[hosts]\njobs = 3\nretries = 0\n");
        // Long enough in every state to be hit there, in about a hundredth of a machine's time.
        folder.fake_qemu(
            "linger 0.01; power_on; linger 0.01; ready; linger 0.005; prepared; started; echo begun >&$stdout
             linger 0.02; ended; linger 0.01; drained 6; answer_until quit",
        );
        (folder, 4 * 9)
    };
    kill_at_random(begin, Duration::from_millis(250), 40);
}

#[test]
#[ignore = "long: scripts/test --all"]
fn after_200_random_kills_of_real_machines_every_run_has_one_record_and_nothing_is_left() {
    images::image("images/breadth-first");
    let begin = || {
        let campaign = r#"
edition = "mcc-2018"
inputs = "{fixtures}"
instances = ["DiningTable-PT-03", "TokenLoop-PT-03"]
[[tool]]
entry = "breadth-first"
image = "{build}/images/breadth-first"
kind = "sequential"
[hosts]
jobs = 2
retries = 0
boot_deadline_s = 600
"#;
        (Folder::new(campaign), 2 * 9)
    };
    kill_at_random(begin, Duration::from_secs(9), 20);
}

#[test]
fn killed_in_any_state_a_run_is_made_once_and_whole() {
    let id = "tool-0/DiningTable-PT-03/ReachabilityDeadlock";
    for (state, words) in [
        ("booting, QEMU silent", "touch held; linger"),
        ("booting, guest silent", "power_on; touch held; linger"),
        ("ready", "power_on; ready; touch held; linger"),
        ("examining", "power_on; ready; prepared; started; echo half >&$stdout; touch held; linger"),
        ("collecting", "power_on; ready; prepared; started; echo half >&$stdout; ended; touch held; linger"),
        ("recording", "touch held; until [[ -e go ]]; do linger 0.01; done; whole_run $'half\\n'"),
    ] {
        let folder = Folder::with_fake_qemu(1, &EXAMINATIONS, "[hosts]\nretries = 0\n");
        folder.run(&["--only", "*/StateSpace"]).success();
        folder.fake_qemu(&words.replace("touch held", ": > held"));
        let mut controller = folder.run_command(&["--only", id]).stderr(Stdio::null()).spawn().unwrap();
        until("it is held in that state", || folder.path().join("held").exists());
        assert_eq!(folder.machines().len(), 1, "{state}");
        // Whoever writes to the database keeps the controller from its last transaction.
        let held = (state == "recording").then(|| {
            let db = rusqlite::Connection::open(folder.results().join("record.db")).unwrap();
            db.execute_batch("BEGIN IMMEDIATE").unwrap();
            fs::write(folder.path().join("go"), "").unwrap();
            let moved = folder.results().join("outputs").join(id).join("1/stdout");
            until("the outputs are in their place", || moved.exists());
            db
        });
        controller.kill().unwrap();
        controller.wait().unwrap();
        drop(held);
        until("the machine is gone", || folder.machines().is_empty());
        assert_eq!(folder.record().summary().unwrap().recorded, 1, "{state}: it was not made");
        folder.fake_qemu("whole_run $'whole\\n'");
        folder.run(&[]).success();
        assert_complete(&folder, 9);
        assert_eq!(folder.output(id, 1, "stdout"), "whole\n", "{state}");
    }
}
