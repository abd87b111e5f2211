//! A controller is killed at any moment: each planned run has exactly one record, and no process, socket or temporary
//! file remains (R1, R3).

use crate::support::campaign;
use crate::support::images;

use campaign::{EXAMINATIONS, Folder, until};
use mcc_harness::store::Outcome;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// The number of kills: 200, or the value of the environment variable `KILLS` for a shorter test.
fn planned_kills() -> u32 {
    std::env::var("KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(200)
}

/// A xorshift generator with a fixed seed, so that each run of the test has the same delays.
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

/// Kills the controller after `delay`. Returns false if it ended before.
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

/// Asserts that each planned run has one record of its first attempt, and that nothing remains of killed attempts.
fn assert_complete(folder: &Folder, planned: u64) {
    // The folder is listed before the record is read, because SQLite creates files for readers.
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

/// Kills controllers of campaigns that `begin` creates, until the planned number of kills is reached. Each campaign
/// is then run to its end and checked.
fn kill_at_random(
    begin: impl Fn() -> (Folder, u64),
    longest: Duration,
    planned_kills: u32,
    kills_per_campaign: u32,
) {
    let mut random = Random(0x2018_0624_5eed_0001);
    let mut kills = 0;
    while kills < planned_kills {
        let (folder, planned) = begin();
        let most = kills + kills_per_campaign.min(planned_kills - kills);
        while kills < most && killed(start(&folder), random.below(longest)) {
            kills += 1;
            until("the machines are gone with their controller", || folder.machines().is_empty());
        }
        let ended = folder.run(&[]);
        if !ended.get_output().status.success() {
            let outcomes = folder.runs().into_iter().map(|(id, run)| (id, run.last.outcome));
            let failed: Vec<_> = outcomes.filter(|(_, outcome)| outcome.is_infrastructure()).collect();
            panic!("{ended}\n{failed:?}");
        }
        assert_complete(&folder, planned);
    }
}

#[test]
fn after_200_random_kills_each_run_has_one_record() {
    let begin = || {
        let folder = Folder::with_fake_qemu(4, &EXAMINATIONS, "[hosts]\njobs = 3\nretries = 0\n");
        // Each state lasts long enough to be hit by a kill. A run takes about a hundredth of the time of a real one.
        folder.fake_qemu(
            "linger 0.01; power_on; linger 0.01; ready; linger 0.005; prepared; started; echo begun >&$stdout
             linger 0.02; ended; linger 0.01; drained 6; answer_until quit",
        );
        (folder, 4 * 9)
    };
    kill_at_random(begin, Duration::from_millis(250), planned_kills(), 40);
}

#[test]
#[ignore = "long: scripts/test --all"]
fn after_200_kills_of_real_machines_each_run_has_one_record() {
    images::image("images/breadth-first");
    let begin = || {
        let campaign = campaign::on_fixtures(
            &["DiningTable-PT-03", "TokenLoop-PT-03"],
            &[],
            &["breadth-first"],
            "[hosts]\njobs = 2\nretries = 0\nboot_deadline_s = 600\n",
        );
        (Folder::new(&campaign), 2 * 9)
    };
    kill_at_random(begin, Duration::from_secs(9), planned_kills(), 20);
}

/// The short form of `scripts/soak real`.
#[test]
#[cfg_attr(not(feature = "machine-tests"), ignore = "needs real machines: scripts/test")]
fn killed_controllers_of_restored_machines_leave_nothing() {
    images::image("images/breadth-first");
    let begin = || {
        let campaign = campaign::on_fixtures(
            &["DiningTable-PT-03"],
            &["ReachabilityDeadlock", "CTLCardinality", "UpperBounds", "StateSpace"],
            &["breadth-first"],
            "[hosts]\njobs = 2\nretries = 0\nboot_deadline_s = 600\n",
        );
        (Folder::new(&format!("start = \"restore\"\n{campaign}")), 4)
    };
    kill_at_random(begin, Duration::from_secs(9), 2, 2);
}

#[test]
fn a_run_killed_in_any_state_is_recorded_once() {
    let id = "tool-0/DiningTable-PT-03/ReachabilityDeadlock";
    for (state, commands) in [
        ("booting, QEMU silent", "touch held; linger"),
        ("booting, guest silent", "power_on; touch held; linger"),
        ("ready", "power_on; ready; touch held; linger"),
        ("examining", "power_on; ready; prepared; started; echo half >&$stdout; touch held; linger"),
        ("collecting", "power_on; ready; prepared; started; echo half >&$stdout; ended; touch held; linger"),
        ("recording", "touch held; until [[ -e go ]]; do linger 0.01; done; whole_run $'half\\n'"),
    ] {
        let folder = Folder::with_fake_qemu(1, &EXAMINATIONS, "[hosts]\nretries = 0\n");
        folder.run(&["--only", "*/StateSpace"]).success();
        folder.fake_qemu(&commands.replace("touch held", ": > held"));
        let mut controller = folder.run_command(&["--only", id]).stderr(Stdio::null()).spawn().unwrap();
        until("the run waits in that state", || folder.path().join("held").exists());
        assert_eq!(folder.machines().len(), 1, "{state}");
        // A lock on the database keeps the controller from its last transaction.
        let held = (state == "recording").then(|| {
            let db = rusqlite::Connection::open(folder.results().join("record.db")).unwrap();
            db.execute_batch("BEGIN IMMEDIATE").unwrap();
            fs::write(folder.path().join("go"), "").unwrap();
            let moved = folder.results().join("outputs").join(id).join("1/stdout");
            until("the outputs are moved", || moved.exists());
            db
        });
        controller.kill().unwrap();
        controller.wait().unwrap();
        drop(held);
        until("the machine is gone", || folder.machines().is_empty());
        assert_eq!(folder.record().summary().unwrap().recorded, 1, "{state}: the attempt is not counted");
        folder.fake_qemu("whole_run $'whole\\n'");
        folder.run(&[]).success();
        assert_complete(&folder, 9);
        assert_eq!(folder.output(id, 1, "stdout"), "whole\n", "{state}");
    }
}
