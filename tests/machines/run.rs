//! `mcc-harness run`: campaigns in real machines, from the environment of a tool to its record and judgement.

use crate::support::campaign;
use crate::support::data;
use crate::support::images;
use crate::support::tool;

use campaign::{Folder, Judged, stderr, until};
use mcc_harness::base::digest;
use mcc_harness::benchkit::Value;
use mcc_harness::host::{Leases, Survey};
use mcc_harness::judge::judgement::{Cell, Ending};
use mcc_harness::store::{Attempt, Outcome, Record, RunRecord};
use mcc_harness::vm::Ext4Files;
use mcc_harness::vm::build::instance_disk;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::OnceLock;

/// Two entries on two fixtures in two examinations: 8 runs.
fn small() -> String {
    campaign::on_fixtures(
        &["DiningTable-PT-03", "TokenLoop-PT-03"],
        &["ReachabilityCardinality", "CTLFireability"],
        &["breadth-first", "random-walk"],
        "[hosts]\njobs = 2\n",
    )
}

/// A controller whose progress output is read by the test.
struct Controller {
    process: Child,
    progress: BufReader<std::process::ChildStderr>,
}

impl Controller {
    fn start(folder: &Folder) -> Self {
        let mut process = folder.run_command(&[]).stderr(Stdio::piped()).spawn().unwrap();
        let progress = BufReader::new(process.stderr.take().unwrap());
        Self { process, progress }
    }

    /// Reads the progress until at least `runs` of 8 runs are recorded.
    fn until_recorded(&mut self, runs: u32) {
        let mut line = String::new();
        let recorded = |line: &str| line.strip_prefix('[')?.split_once("/8]")?.0.parse::<u32>().ok();
        while recorded(&line).is_none_or(|recorded| recorded < runs) {
            line.clear();
            assert!(
                self.progress.read_line(&mut line).unwrap() > 0,
                "the controller ended before {runs} runs were recorded"
            );
        }
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.process.id() as i32), signal).unwrap();
    }

    /// Waits for the end. Returns the exit code (None if it was killed) and the rest of stderr.
    fn end(mut self) -> (Option<i32>, String) {
        let mut messages = String::new();
        self.progress.read_to_string(&mut messages).unwrap();
        (self.process.wait().unwrap().code(), messages)
    }
}

/// Outcome, number of attempts and digest of stdout of each run. They must not depend on interruptions.
fn facts(folder: &Folder) -> BTreeMap<String, (Outcome, u32, String)> {
    let facts = folder.runs().into_iter().map(|(id, run)| {
        let stdout = run.last.outputs.iter().find(|output| output.role == "stdout").unwrap();
        (id, (run.last.outcome.clone(), run.attempts, stdout.sha256.clone()))
    });
    facts.collect()
}

/// The guest agent makes folders of these names.
#[test]
fn files_of_a_tool_where_the_agent_makes_folders_are_replaced() {
    let campaign = campaign::on_fixtures(&["DiningTable-PT-03"], &["StateSpace"], &["tool"], "");
    let folder = Folder::new(&campaign.replace("{build}/images/tool", "image"));
    let tool = folder.path().join("tool");
    fs::create_dir_all(tool.join("bin")).unwrap();
    fs::write(tool.join("BenchKit_head.sh"), "#!/bin/bash\nls -d model.pnml; echo CANNOT_COMPUTE\n").unwrap();
    fs::write(tool.join("execution"), "notes").unwrap();
    std::os::unix::fs::symlink("nowhere", tool.join("results")).unwrap();
    images::with_tool(&tool, &folder.path().join("image"));
    folder.run(&[]).success();
    let run = "tool/DiningTable-PT-03/StateSpace";
    assert_eq!(folder.runs()[run].last.outcome, Outcome::Finished { exit_code: 0 });
    assert!(folder.output(run, 1, "stdout").starts_with("model.pnml"));
}

#[test]
fn run_writes_nothing_into_a_folder_of_other_files() {
    let folder = Folder::new(&small());
    let results = folder.path().join("results");
    fs::create_dir(&results).unwrap();
    fs::write(results.join("thesis.txt"), "mine").unwrap();
    let refused = folder.run(&[]).code(2);
    assert!(stderr(&refused).contains("is not empty and holds no record"), "{}", stderr(&refused));
    let names: Vec<_> = fs::read_dir(&results).unwrap().map(|item| item.unwrap().file_name()).collect();
    assert_eq!(names, ["thesis.txt"]);
}

#[test]
fn a_campaign_killed_twice_ends_with_the_same_records() {
    let uninterrupted = {
        let folder = Folder::new(&small());
        folder.run(&[]).success();
        folder.judge().success();
        (facts(&folder), fs::read(folder.path().join("judgement/trusted.csv")).unwrap())
    };
    assert_eq!(uninterrupted.0.len(), 8);

    let folder = Folder::new(&small());
    for at_least in [2_u32, 4] {
        let mut controller = Controller::start(&folder);
        controller.until_recorded(at_least);
        until("a machine", || !folder.machines().is_empty());
        // The controller is stopped, so that it cannot end while a second one is refused.
        controller.signal(Signal::SIGSTOP);
        let second = folder.run(&[]).code(2);
        assert!(stderr(&second).contains("in use by another controller (pid"), "{}", stderr(&second));
        controller.signal(Signal::SIGKILL);
        assert_eq!(controller.end().0, None);
        until("the machines are gone", || folder.machines().is_empty());
        let summary = folder.record().summary().unwrap();
        assert!(
            (u64::from(at_least)..8).contains(&summary.recorded),
            "the kill was not in the middle: {summary:?}"
        );
    }
    let resumed = folder.run(&[]).success();
    assert!(stderr(&resumed).contains("of 8 runs are already recorded"), "{}", stderr(&resumed));
    folder.judge().success();
    assert_eq!(facts(&folder), uninterrupted.0);
    assert!(
        facts(&folder).values().all(|(_, attempts, _)| *attempts == 1),
        "a killed attempt is not counted"
    );
    assert_eq!(fs::read(folder.path().join("judgement/trusted.csv")).unwrap(), uninterrupted.1);

    assert!(folder.running_folders().is_empty() && folder.machines().is_empty());
    let kept = walkdir::WalkDir::new(folder.results().join("outputs")).min_depth(4).max_depth(4);
    assert_eq!(kept.into_iter().count(), 8, "one attempt of each run");
}

#[test]
fn one_ctrl_c_lets_running_runs_end_and_starts_no_other() {
    let folder = Folder::new(&small().replace("jobs = 2", "jobs = 1"));
    let mut controller = Controller::start(&folder);
    controller.until_recorded(1);
    until("a machine", || !folder.machines().is_empty());
    controller.signal(Signal::SIGINT);
    let (code, messages) = controller.end();
    assert_eq!(code, Some(1), "{messages}");
    assert!(messages.contains("stopped as requested; the same command continues"), "{messages}");
    assert!(messages.contains("SIGINT: `run` stops when the current runs have ended"), "{messages}");
    let summary = folder.record().summary().unwrap();
    assert_eq!(summary.outcomes.keys().collect::<Vec<_>>(), ["finished"], "{summary:?}");
    assert!(summary.recorded < 8 && folder.running_folders().is_empty(), "{summary:?}");
    let judge = folder.judge().code(1);
    assert!(stderr(&judge).contains("`run` the campaign to its end"), "{}", stderr(&judge));
    // With `--only`, only the selected runs are made.
    folder.run(&["--only", "random-walk/TokenLoop-PT-03/CTLFireability"]).success();
    let runs = folder.runs();
    assert!(runs.contains_key("random-walk/TokenLoop-PT-03/CTLFireability") && runs.len() < 8);
}

/// Builds the disk of the tool in `tests/abnormal-tool`.
fn abnormal_tool_image(folder: &Folder) {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/abnormal-tool");
    images::with_tool(&tool, &folder.path().join("abnormal"));
}

const ABNORMAL_TOOL: &str = r#"
edition = "mcc-2018"
inputs = "{fixtures}"
instances = ["DiningTable-PT-03"]
examinations = ["StateSpace", "UpperBounds", "ReachabilityCardinality", "ReachabilityFireability",
                "CTLCardinality", "CTLFireability"]

[[tool]]
entry = "abnormal"
image = "abnormal"
kind = "sequential"

[[tool]]
entry = "abnormal-4"
image = "abnormal"
kind = "concurrent"
not_competing = ["*Bounds", "Reach*", "CTL*"]

[limits]
cpu_s = 6
wall_s = 900
output_bytes = 100000

[hosts]
jobs = 2
"#;

/// What one campaign of the abnormal tool gave. All tests of that tool share it.
struct Abnormal {
    runs: BTreeMap<String, RunRecord>,
    judged: Judged,
    /// Standard output of the runs in StateSpace, and standard error of the run in CTLCardinality, by id of the run.
    outputs: BTreeMap<String, String>,
}

impl Abnormal {
    /// The campaign runs once, when the first test needs it.
    fn get() -> &'static Self {
        static CAMPAIGN: OnceLock<Abnormal> = OnceLock::new();
        CAMPAIGN.get_or_init(|| {
            let folder = Folder::new(ABNORMAL_TOOL);
            abnormal_tool_image(&folder);
            folder.run(&[]).success();
            folder.judge().success();
            let outputs = [
                ("abnormal", "StateSpace", "stdout"),
                ("abnormal-4", "StateSpace", "stdout"),
                ("abnormal", "CTLCardinality", "stderr"),
            ]
            .map(|(entry, examination, name)| {
                let id = format!("{entry}/DiningTable-PT-03/{examination}");
                let output = folder.output(&id, 1, name);
                (id, output)
            });
            Self {
                runs: folder.runs(),
                judged: Judged::read(&folder.path().join("judgement")),
                outputs: outputs.into(),
            }
        })
    }

    fn run(&self, entry: &str, examination: &str) -> &RunRecord {
        &self.runs[&format!("{entry}/DiningTable-PT-03/{examination}")]
    }

    fn cell(&self, entry: &str, examination: &str) -> &Cell {
        self.judged.cell(entry, "DiningTable-PT-03", examination)
    }

    /// The last attempt of the sequential entry in an examination, how judging read its end, and its first value.
    fn ended(&self, examination: &str) -> (&Attempt, Ending, Option<Value>) {
        let cell = self.cell("abnormal", examination);
        let value = cell.values.first().cloned().flatten();
        (&self.run("abnormal", examination).last, cell.ending, value)
    }
}

/// E-5.1: a tool is stopped at a limit, and what it printed before counts.
#[test]
fn time_limits_cut_a_tool_and_keep_its_answers() {
    let (attempt, ending, value) = Abnormal::get().ended("UpperBounds");
    assert_eq!((&attempt.outcome, ending), (&Outcome::CpuLimit, Ending::CpuLimit));
    assert_eq!(value, "1".parse().ok());
    let cpu_ms = attempt.facts.as_ref().unwrap().cpu_ms;
    assert!((6000..25_000).contains(&cpu_ms), "{cpu_ms}");

    // In a campaign of its own, because the other runs may take longer than this limit on a busy host.
    let campaign = ABNORMAL_TOOL.split("[[tool]]\nentry = \"abnormal-4\"").next().unwrap();
    let (before, after) = campaign.split_once("examinations = [").unwrap();
    let after = after.split_once(']').unwrap().1;
    let examinations = "examinations = [\"ReachabilityDeadlock\"]";
    let folder = Folder::new(&format!("{before}{examinations}{after}[limits]\ncpu_s = 3000\nwall_s = 20\n"));
    abnormal_tool_image(&folder);
    folder.run(&[]).success();
    folder.judge().success();
    let id = "abnormal/DiningTable-PT-03/ReachabilityDeadlock";
    let attempt = &folder.runs()[id].last;
    let judged = Judged::read(&folder.path().join("judgement"));
    let cell = judged.cell("abnormal", "DiningTable-PT-03", "ReachabilityDeadlock");
    assert_eq!((&attempt.outcome, cell.ending), (&Outcome::WallLimit, Ending::WallLimit));
    assert_eq!(cell.values, [Some(Value::True)]);
    let facts = attempt.facts.as_ref().unwrap();
    assert!(facts.wall_ms >= 20_000 && facts.cpu_ms < 20_000, "{} {}", facts.wall_ms, facts.cpu_ms);
}

#[test]
fn answers_before_a_crash_or_a_failing_exit_code_count() {
    let (attempt, ending, value) = Abnormal::get().ended("ReachabilityCardinality");
    assert_eq!((&attempt.outcome, ending), (&Outcome::ToolCrash { signal: 11 }, Ending::ToolCrash));
    assert_eq!(value, Some(Value::False));
    let (attempt, ending, value) = Abnormal::get().ended("CTLFireability");
    assert_eq!(attempt.outcome, Outcome::Finished { exit_code: 3 });
    assert_eq!((ending, value), (Ending::Answered, Some(Value::True)));
}

#[test]
fn output_is_cut_at_the_cap_and_its_answers_count() {
    let (attempt, ending, value) = Abnormal::get().ended("ReachabilityFireability");
    assert_eq!((&attempt.outcome, ending), (&Outcome::OutputLimit, Ending::OutputLimit));
    assert_eq!(value, Some(Value::True));
    assert!(attempt.marks.iter().any(|mark| mark == "output-truncated"));
    let stdout = attempt.outputs.iter().find(|output| output.role == "stdout").unwrap();
    assert_eq!(stdout.bytes, 100_000, "exactly the output cap");
    assert!(attempt.facts.as_ref().unwrap().stdout_bytes > 100_000);
}

/// The guest is not trusted: forged messages and answers to another examination have no effect.
#[test]
fn a_tool_cannot_forge_messages_or_other_answers() {
    let campaign = Abnormal::get();
    let (attempt, ending, _) = campaign.ended("CTLCardinality");
    assert_eq!(attempt.outcome, Outcome::Finished { exit_code: 0 });
    assert_eq!(ending, Ending::NoAnswer);
    let values = &campaign.cell("abnormal", "CTLCardinality").values;
    assert!(values.iter().all(Option::is_none), "{values:?}");
    let stderr = &campaign.outputs["abnormal/DiningTable-PT-03/CTLCardinality"];
    assert!(stderr.starts_with("FORMULA DiningTable-PT-03-CTLCardinality-00"));
}

/// The environment of a tool (contest notes 1.6), on one core and on four.
#[test]
fn a_tool_has_the_environment_of_the_contest() {
    for (entry, nproc) in [("abnormal", "1"), ("abnormal-4", "4")] {
        let run = Abnormal::get().run(entry, "StateSpace");
        assert_eq!(run.last.outcome, Outcome::Finished { exit_code: 0 });
        assert_eq!(run.last.facts.as_ref().unwrap().vcpus.to_string(), nproc);
        assert!(run.last.marks.iter().any(|mark| mark == "left-behind"), "{:?}", run.last.marks);
        let stdout = &Abnormal::get().outputs[&run.run.id().to_string()];
        let found: BTreeMap<&str, &str> = stdout.lines().filter_map(|line| line.split_once('=')).collect();
        for (name, expected) in [
            ("BK_TOOL", entry),
            ("BK_INPUT", "DiningTable-PT-03"),
            ("BK_EXAMINATION", "StateSpace"),
            ("BK_TIME_CONFINEMENT", "3600"),
            ("BK_MEMORY_CONFINEMENT", "16384"),
            ("BIN_DIR", "/home/mcc/BenchKit/bin/"),
            ("BK_BIN_PATH", "/home/mcc/BenchKit/bin/"),
            ("cwd", "/home/mcc/BenchKit/execution"),
            ("user", "mcc 1000 1000"),
            ("nproc", nproc),
            ("interfaces", "lo"),
            ("instance", "readable"),
            ("verdicts", "present"),
            ("results", "writable"),
            ("execution", "writable"),
            ("output", "opened by name"),
            ("inputs", "DiningTable-PT-03.tgz"),
        ] {
            assert_eq!(found.get(name), Some(&expected), "{name} in {stdout}");
        }
        let memory: u64 = found["memory_mib"].parse().unwrap();
        assert!((15_000..=16_384).contains(&memory), "{memory}");
        assert!(stdout.contains("seen=/dev/vport") && stdout.contains("seen=/dev/vda"), "{stdout}");
        for forbidden in ["forged", "read", "INPUTS", "archive"] {
            assert_eq!(found.get(forbidden), None, "{forbidden} in {stdout}");
        }
    }
}

#[test]
fn a_run_on_shared_cores_or_without_kvm_is_marked() {
    let survey = Survey::take().unwrap();
    let is_short = Leases::new(&survey.cores, &survey.memory).capacity(4, 16_384) == 0;
    let marks = |entry: &str| &Abnormal::get().run(entry, "StateSpace").last.marks;
    if survey.cores.usable_cores().count() < 5 {
        assert!(is_short && marks("abnormal-4").contains(&"degraded:shared-cores".into()));
    }
    assert!(marks("abnormal").contains(&"degraded:tcg".into()));
}

#[test]
fn a_run_that_does_not_compete_has_no_machine() {
    let idle = &Abnormal::get().run("abnormal-4", "UpperBounds").last;
    assert_eq!((&idle.outcome, idle.machine.len()), (&Outcome::NotCompeting, 0));
    assert_eq!(Abnormal::get().cell("abnormal-4", "UpperBounds").ending, Ending::DidNotCompete);
}

/// T-5: a campaign can withhold the known answers that the contest distributes with an instance.
#[test]
fn a_tool_gets_no_known_answers_if_the_campaign_removes_them() {
    let campaign = ABNORMAL_TOOL.split("[[tool]]\nentry = \"abnormal-4\"").next().unwrap();
    let folder = Folder::new(&format!("generic_properties = \"remove\"{campaign}"));
    abnormal_tool_image(&folder);
    folder.run(&["--only", "*/StateSpace"]).success();
    let stdout = folder.output(&folder.runs()["abnormal/DiningTable-PT-03/StateSpace"].run.id(), 1, "stdout");
    assert!(stdout.contains("instance=readable") && !stdout.contains("verdicts="), "{stdout}");
    let facts = folder.record().facts().clone();
    assert_eq!(facts.settings["generic_properties"], "remove");
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("pnml-fixtures/DiningTable-PT-03.tgz");
    assert_eq!(facts.instances[0].sha256, mcc_harness::base::digest::file(&archive).unwrap().0);
    // Another setting is another campaign.
    fs::write(
        folder.path().join("campaign.toml"),
        fs::read_to_string(folder.path().join("campaign.toml")).unwrap().replace("\"remove\"", "\"keep\""),
    )
    .unwrap();
    let changed = folder.run(&[]).code(2);
    assert!(stderr(&changed).contains("generic_properties"), "{}", stderr(&changed));
}

/// `inputs_visible`: with "instance" neither a file nor a byte of the inputs disk names another instance.
#[test]
fn a_guest_sees_other_instances_only_if_the_campaign_shows_them() {
    let instances = ["DiningTable-PT-03", "TokenLoop-PT-03"];
    let campaign = |visible: &str| {
        let campaign = campaign::on_fixtures(&instances, &["StateSpace"], &[], "");
        format!(
            "inputs_visible = \"{visible}\"\n{campaign}[[tool]]\nentry = \"reader\"\nimage = \"reader\"\n\
             kind = \"sequential\"\n[hosts]\njobs = 2\n"
        )
    };
    let folder = Folder::new(&campaign("instance"));
    let tool = folder.path().join("tool");
    fs::create_dir_all(tool.join("bin")).unwrap();
    let script = "#!/bin/bash\nls \"$(dirname \"$BIN_DIR\")/INPUTS\" | grep -v lost+found\n";
    fs::write(tool.join("BenchKit_head.sh"), script).unwrap();
    images::with_tool(&tool, &folder.path().join("reader"));
    let printed = |instance: &str| folder.output(&format!("reader/{instance}/StateSpace"), 1, "stdout");
    folder.run(&[]).success();
    let runs = folder.runs();
    for instance in instances {
        let run = &runs[&format!("reader/{instance}/StateSpace")];
        let roles: Vec<&str> = run.last.disks.iter().map(|disk| disk.role.as_str()).collect();
        assert_eq!(roles, ["disk", "kernel", "initrd", "inputs", "instance"]);
        assert_eq!(printed(instance), format!("{instance}.tgz\n"), "{:?}", run.last);
    }
    let disk = |instance: &str| {
        runs[&format!("reader/{instance}/StateSpace")].last.disks.last().unwrap().sha256.clone()
    };
    assert_ne!(disk(instances[0]), disk(instances[1]));
    assert!(folder.running_folders().is_empty());
    // The disk of a run, made again: no byte of it names the other instance.
    let whole = Ext4Files::open(&folder.results().join("inputs/inputs.ext4")).unwrap();
    let made = folder.path().join("made.img");
    instance_disk(&whole, instances[0], &made).unwrap();
    assert_eq!(digest::file(&made).unwrap().0, disk(instances[0]));
    let made = fs::read(made).unwrap();
    let has = |name: &str| made.windows(name.len()).any(|bytes| bytes == name.as_bytes());
    assert!(has(instances[0]) && !has(instances[1]));

    // The archive has the disk of all instances; a replay makes that of the run again, with the same digest.
    let harness = |args: &[&str]| assert_cmd::Command::from(folder.harness(args)).assert().success();
    harness(&["export", "results", "--archive", "a.tar.zst", "--with-disks"]);
    let run = format!("reader/{}/StateSpace", instances[1]);
    harness(&["replay", "a.tar.zst", "--run", &run, "--allow-degraded", "--out", "again"]);
    let again = Record::open_readonly(&folder.path().join("again/1")).unwrap();
    let again = again.records().next().unwrap().unwrap();
    assert_eq!(again.last.disks.last().unwrap().sha256, disk(instances[1]));
    harness(&["verify", "a.tar.zst"]);
    harness(&["import", "a.tar.zst", "--out", "imported"]);
    let imported =
        ["run", "imported/campaign.toml", "--out", "imported-results", "--allow-degraded", "--only", &run];
    harness(&imported);
    let imported = Record::open_readonly(&folder.path().join("imported-results")).unwrap();
    let imported = imported.records().next().unwrap().unwrap();
    assert_eq!(imported.last.disks.last().unwrap().sha256, disk(instances[1]));

    // Another setting is another campaign, and shows all instances.
    fs::write(
        folder.path().join("campaign.toml"),
        fs::read_to_string(folder.path().join("campaign.toml")).unwrap().replace("\"instance\"", "\"all\""),
    )
    .unwrap();
    let changed = folder.run(&[]).code(2);
    assert!(stderr(&changed).contains("inputs_visible"), "{}", stderr(&changed));
    fs::remove_dir_all(folder.results()).unwrap();
    folder.run(&["--only", &run]).success();
    assert_eq!(printed(instances[1]), instances.map(|instance| format!("{instance}.tgz\n")).concat());
}

/// Examinations and their abbreviations in the names of oracle files.
const REAL: [(&str, &str); 5] = [
    ("StateSpace", "SS"),
    ("UpperBounds", "UB"),
    ("ReachabilityDeadlock", "RD"),
    ("ReachabilityCardinality", "RC"),
    ("CTLFireability", "CTLF"),
];

#[test]
fn answers_to_real_models_in_machines_equal_the_oracle() {
    let Some(mcc) = data::shared("mcc") else { return };
    let instances =
        ["TokenRing-PT-005", "Philosophers-PT-000005", "ResAllocation-PT-R002C002", "Eratosthenes-PT-010"];
    let mut campaign = format!(
        "edition = \"mcc-2018\"\ninputs = {:?}\ninstances = {instances:?}\nexaminations = {:?}\n[hosts]\njobs = 2\n",
        mcc.join("inputs"),
        REAL.iter().map(|(examination, _)| *examination).chain(["LTLCardinality"]).collect::<Vec<_>>()
    );
    // breadth-first prints DO_NOT_COMPETE for LTL. For the other entries it is declared in the campaign (T-4),
    // together with examinations that would only make the test longer.
    for (entry, not_competing) in [
        ("breadth-first", "[]"),
        ("depth-first", "['LTL*', 'CTL*', '*Bounds', '*Cardinality']"),
        ("random-walk", "['LTL*', 'CTL*', 'StateSpace', '*Bounds']"),
    ] {
        images::image(&format!("images/{entry}"));
        campaign += &format!(
            "[[tool]]\nentry = '{entry}'\nimage = '{{build}}/images/{entry}'\nkind = 'sequential'\n\
             not_competing = {not_competing}\n"
        );
    }
    let folder = Folder::new(&campaign);
    folder.run(&[]).success();
    folder.judge().success();
    let (runs, judged) = (folder.runs(), Judged::read(&folder.path().join("judgement")));
    assert_eq!(runs.len(), 3 * 4 * 6);
    let mut compared = BTreeMap::from([("breadth-first", 0), ("depth-first", 0), ("random-walk", 0)]);
    for instance in instances {
        for (examination, short) in REAL {
            let oracle = tool::oracle(&mcc.join(format!("oracle/{instance}-{short}.out")));
            for (entry, compared) in &mut compared {
                let run = &runs[&format!("{entry}/{instance}/{examination}")];
                if !run.run.competes {
                    continue;
                }
                assert_eq!(run.last.outcome, Outcome::Finished { exit_code: 0 }, "{}", run.run.id());
                let printed = tool::read(&folder.output(&run.run.id(), run.last.number, "stdout"));
                for (id, value) in &printed.answers {
                    if let Some(right) = oracle.get(id) {
                        assert_eq!(value, right, "{id} of {instance} by {entry}");
                        *compared += 1;
                    }
                }
            }
        }
        for entry in ["breadth-first", "depth-first", "random-walk"] {
            let cell = judged.cell(entry, instance, "LTLCardinality");
            assert_eq!(cell.ending, Ending::DidNotCompete, "{entry} on {instance}");
        }
    }
    // 49 values for each instance; for StateSpace, 4 + 3 + 0 + 4 values have an oracle.
    assert_eq!((compared["breadth-first"], compared["depth-first"]), (4 * 49 + 11, 4 + 11));
    assert!(compared["random-walk"] > 20, "{compared:?}");
    for entry in ["breadth-first", "depth-first", "random-walk"] {
        assert_eq!(judged.counts(entry).1, 0, "{entry} has wrong values");
    }
    let bases: BTreeSet<_> =
        judged.0.blocks.iter().flat_map(|block| &block.trusted).map(|t| t.basis.word()).collect();
    assert_eq!(bases.into_iter().collect::<Vec<_>>(), ["single", "unanimous", "unknown:none"]);
}

#[test]
fn a_host_without_kvm_is_refused_and_the_flag_is_named() {
    let folder = Folder::new(&small());
    let run = folder.harness(&["run", "campaign.toml", "--out", "results"]);
    let run = assert_cmd::Command::from(run).assert().code(69).stdout("");
    assert!(stderr(&run).contains("KVM is not usable on this host"), "{}", stderr(&run));
    assert!(stderr(&run).contains("--allow-degraded"), "{}", stderr(&run));
    assert!(!folder.results().exists());
}

#[test]
fn a_wrong_campaign_is_refused_with_file_and_line() {
    for (right, wrong, line, words) in [
        ("jobs = 2", "jops = 2", 14, "jops"),
        ("jobs = 2", "jobs = 0", 14, "jobs"),
        ("\"CTLFireability\"", "\"CTLDeadlock\"", 4, "CTLDeadlock"),
        ("{build}/images/random-walk", "{build}/images/no-such", 11, "no-such"),
        ("\"TokenLoop-PT-03\"", "\"TokenLoop-PT-99\"", 3, "TokenLoop-PT-99"),
    ] {
        assert!(small().contains(right));
        let folder = Folder::new(&small().replace(right, wrong));
        let run = folder.run(&[]).code(2);
        let message = stderr(&run);
        let place = format!("campaign.toml:{line}");
        assert!(message.contains(&place) && message.contains(words), "{wrong}: {message}");
        assert!(!folder.results().exists());
    }
}

#[test]
fn a_record_of_a_different_campaign_is_not_resumed() {
    let folder = Folder::new(&small());
    folder.run(&["--only", "breadth-first/DiningTable-PT-03/CTLFireability"]).success();
    let before = facts(&folder);
    let changed = small().replace("\"CTLFireability\"", "\"CTLCardinality\"");
    let other = changed
        .replace("{build}", &format!("{}/build", env!("CARGO_MANIFEST_DIR")))
        .replace("{fixtures}", &format!("{}/pnml-fixtures", env!("CARGO_MANIFEST_DIR")));
    fs::write(folder.path().join("campaign.toml"), other).unwrap();
    let run = folder.run(&[]).code(2);
    assert!(stderr(&run).contains("examinations"), "{}", stderr(&run));
    assert_eq!(facts(&folder), before);
}

/// The options that repeat the run of tool-0 in ReachabilityDeadlock; the reason follows.
const RERUN: [&str; 6] = ["--rerun", "--tool", "tool-0", "--examination", "ReachabilityDeadlock", "--reason"];
const REPEATED: &str = "tool-0/DiningTable-PT-03/ReachabilityDeadlock";

/// A campaign of four runs, all with the answer TRUE. Later runs have the answer FALSE.
fn recorded_with_true() -> Folder {
    let folder = Folder::with_fake_qemu(2, &["StateSpace", "ReachabilityDeadlock"], "");
    let answer = |value: &str| {
        folder.fake_qemu(&format!(
            "whole_run $'FORMULA DiningTable-PT-03-ReachabilityDeadlock-0 {value} TECHNIQUES EXPLICIT\\n'"
        ));
    };
    answer("TRUE");
    folder.run(&[]).success();
    answer("FALSE");
    folder
}

#[test]
fn a_rerun_without_reason_or_of_an_unknown_tool_is_refused() {
    let folder = recorded_with_true();
    for (tool, reason, words) in
        [("tool-0", " ", "--reason is empty"), ("tool-9", "why", "no run of tool-9 in")]
    {
        let refused =
            folder.run(&["--rerun", "--tool", tool, "--examination", "StateSpace", "--reason", reason]);
        let message = stderr(&refused.code(2));
        assert!(message.contains(words), "{message}");
    }
    assert_eq!(folder.record().summary().unwrap().recorded, 4);
    assert!(folder.runs().values().all(|run| run.attempts == 1));
}

#[test]
fn a_rerun_repeats_only_its_run_and_its_result_counts() {
    let folder = recorded_with_true();
    let run = folder.run(&[&RERUN[..], &["its disk was wrong"]].concat()).success();
    assert!(
        stderr(&run).contains("recorded runs of tool-0 in ReachabilityDeadlock that are repeated now: 1")
    );
    let runs = folder.runs();
    assert_eq!(runs.values().map(|run| run.attempts).sum::<u32>(), 5, "the other runs are not repeated");
    assert_eq!((runs[REPEATED].attempts, runs[REPEATED].last.number), (2, 2));
    assert!(folder.output(REPEATED, 1, "stdout").contains("TRUE"));
    assert!(folder.output(REPEATED, 2, "stdout").contains("FALSE"));
    folder.judge().success();
    let judged = Judged::read(&folder.path().join("judgement"));
    let values = |entry| judged.cell(entry, "DiningTable-PT-03", "ReachabilityDeadlock").values.clone();
    assert_eq!((values("tool-0"), values("tool-1")), (vec![Some(Value::False)], vec![Some(Value::True)]));
}

#[test]
fn a_rerun_that_was_not_finished_is_continued_and_not_begun_again() {
    let folder = recorded_with_true();
    let rerun = [&RERUN[..], &["its disk was wrong"]].concat();
    // No run of tool-1 is open, so this ends before the repeated run of tool-0.
    folder.run(&[&rerun[..], &["--only", "tool-1/*"]].concat());
    let again = folder.run(&rerun).code(2);
    assert!(stderr(&again).contains("continue with the same command without --rerun"), "{}", stderr(&again));
    folder.run(&[]).success();
    assert_eq!(folder.runs()[REPEATED].attempts, 2);
    folder.run(&rerun).success();
    assert_eq!(folder.runs()[REPEATED].attempts, 3, "a finished rerun can be repeated");
}

#[test]
fn a_superseded_attempt_is_shown_with_its_reason() {
    let folder = recorded_with_true();
    folder.run(&[&RERUN[..], &["its disk was of <2017>"]].concat()).success();
    folder.judge().success();
    let report = folder.harness(&["report", "judgement", "--record", "results", "--out", "site"]);
    assert_cmd::Command::from(report).assert().success();
    let pages =
        walkdir::WalkDir::new(folder.path().join("site")).into_iter().map(|page| page.unwrap().into_path());
    let shown =
        pages.filter_map(|page| fs::read_to_string(page).ok()).filter(|page| page.contains("superseded"));
    let shown: Vec<String> = shown.collect();
    assert_eq!(shown.len(), 1);
    assert!(shown[0].contains("superseded: its disk was of \\u003c2017\\u003e"), "{}", shown[0]);
}

#[test]
fn missing_cpu_flags_and_the_isolation_are_recorded() {
    // The guest of the fake QEMU reports the flags sse4_2 and avx.
    let folder = Folder::with_fake_qemu(1, &["StateSpace"], "[hosts]\nretries = 0\n");
    folder.run(&[]).success();
    let run = &folder.runs()["tool-0/DiningTable-PT-03/StateSpace"].last;
    assert!(run.marks.contains(&"degraded:cpu-flags".into()), "{:?}", run.marks);
    let missing = &run.environment.cpu_flags_missing;
    assert!(missing.contains(&"sse2".to_owned()) && !missing.contains(&"avx".to_owned()), "{missing:?}");
    assert_eq!((run.environment.cpu_flags.len(), run.environment.guest_kernel.as_str()), (2, "6.1"));
    assert!(run.environment.confined.contains(&"sandbox on".to_owned()), "{:?}", run.environment.confined);
}
