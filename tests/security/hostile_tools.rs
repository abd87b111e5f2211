//! Real runs of hostile tools beside an honest one. The honest tool must have the same answers, outcomes and judgement as
//! alone, every run one record, and no attack may be an infrastructure failure or end the controller.
//!
//! `RUNS`: the least number of hostile runs; `scripts/soak hostile` takes 300. The attacks are in `tests/hostile-tools`.

use crate::support::campaign;
use crate::support::images;

use campaign::{Folder, Judged};
use mcc_harness::store::Outcome;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use tempfile::TempDir;
use walkdir::WalkDir;

const INSTANCES: [&str; 6] = [
    "DiningTable-PT-03",
    "TokenLoop-PT-03",
    "GreedyClerks-PT-03",
    "SwitchBoard-PT-0008",
    "TokenLoop-PT-05",
    "LibraryRoom-PT-R05W02",
];
const MEMORY_MIB: u64 = 512;
/// The largest number of bytes kept of stdout, and of stderr.
const OUTPUT_BYTES: u64 = 1 << 20;
/// Bytes of all other files of an attempt: console, logs and samples.
const OTHER_BYTES: u64 = 4 << 20;

/// A hostile entry: how the harness reaches its guest, and its attacks. The first ones are those of the short form.
struct Hostile {
    channel: Channel,
    attacks: Vec<&'static str>,
    /// Number of entries in the long form.
    entries: usize,
    /// Number of runs in the short form.
    runs: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Channel {
    Agent,
    SshAsUser,
    SshAsRoot,
}

/// Attacks by a tool that is an ordinary user of its guest, by any channel.
const AS_USER: &str = "sysv-memory neighbours flood-errors kill-everything escape-codes forged-lines fork-bomb \
    heap daemons end-guest signal exit-code core-dump stop-itself ignore-signals spin threads descriptors sysv-memory-many-files \
    tmpfs-memory exhaust-with-exit-0 many-files fill-disk priority flood flood-both small-writes close-streams full-pipe \
    long-lines odd-bytes contradictions clock devices sockets random-calls inputs links move-home strange-names namespaces";

/// Attacks on the control session over ssh.
const ON_SSH: &str = "forge-failed forge-code forge-errors forge-ended forge-long forge-memory forge-signal forge-prepared \
    forge-started forge-lost forge-drained forge-ready forge-samples forge-bytes forge-nested forge-input forge-shutdown \
    forge-stop forge-kill pipes-status pipes-odd pipes-removed login-files sshd-stopped sshd-killed";

/// Attacks by a tool that is root of its guest.
const AS_ROOT: &str = "panic power-off forge-failed sshd-killed devices-off network-off restart restart-at-once off-at-once \
    panic-for-memory all-killed file-systems-off disk-overwritten inputs-overwritten starve kernel-log console host-ports \
    packets sshd-stopped clock";

fn hostile_tools() -> [Hostile; 3] {
    let words = |text: &'static str| text.split_whitespace();
    [
        Hostile { channel: Channel::Agent, attacks: words(AS_USER).collect(), entries: 6, runs: 5 },
        Hostile {
            channel: Channel::SshAsUser,
            attacks: words(ON_SSH).chain(words(AS_USER)).collect(),
            entries: 2,
            runs: 3,
        },
        Hostile {
            channel: Channel::SshAsRoot,
            attacks: words(AS_ROOT).chain(words(ON_SSH)).collect(),
            entries: 2,
            runs: 2,
        },
    ]
}

/// The examinations and instances of both campaigns, and the hostile entries with their attacks.
struct Plan {
    examinations: Vec<&'static str>,
    instances: Vec<&'static str>,
    /// The keys of the hostile entries in campaign.toml.
    entries: String,
    /// Lines of `bin/plan`: TOOL INSTANCE EXAMINATION ATTACK VARIANT.
    attacks: Vec<String>,
}

impl Plan {
    fn for_runs(runs: usize, disk: &Path) -> Self {
        let tools = hostile_tools();
        let is_short = runs <= tools.iter().map(|tool| tool.runs).sum();
        let mut plan = Self {
            examinations: if is_short {
                ["StateSpace", "UpperBounds", "ReachabilityDeadlock", "CTLFireability", "LTLCardinality"]
                    .to_vec()
            } else {
                campaign::EXAMINATIONS.to_vec()
            },
            instances: vec![INSTANCES[0]],
            entries: String::new(),
            attacks: vec![],
        };
        if !is_short {
            let runs_of_an_instance = 9 * tools.iter().map(|tool| tool.entries).sum::<usize>();
            let instances = runs.div_ceil(runs_of_an_instance);
            plan.instances = INSTANCES.get(..instances).expect("at most 540 runs").to_vec();
        }
        for tool in tools {
            let mut attacks = tool.attacks.iter().cycle();
            let mut variant = 0;
            for number in 0..if is_short { 1 } else { tool.entries } {
                let (name, competes) = match tool.channel {
                    Channel::Agent => (format!("hostile-agent-{number}"), tool.runs),
                    Channel::SshAsUser => (format!("hostile-ssh-{number}"), tool.runs),
                    Channel::SshAsRoot => (format!("hostile-root-{number}"), tool.runs),
                };
                let competes = if is_short { competes } else { plan.examinations.len() };
                let examinations = plan.examinations.clone();
                let (competes, absent) = examinations.split_at(competes);
                plan.add_entry(&name, tool.channel, absent, disk);
                for instance in &plan.instances {
                    for examination in competes {
                        let attack = attacks.next().expect("endless");
                        plan.attacks.push(format!("{name} {instance} {examination} {attack} {variant}"));
                        variant += 1;
                    }
                }
            }
        }
        plan
    }

    fn add_entry(&mut self, name: &str, channel: Channel, absent: &[&str], disk: &Path) {
        let image = match channel {
            Channel::Agent => "image = \"hostile\"\n".to_owned(),
            Channel::SshAsUser | Channel::SshAsRoot => {
                let user = if channel == Channel::SshAsRoot { "root" } else { "mcc" };
                let disk = disk.display();
                format!(
                    "image = \"{disk}\"\nchannel = \"ssh\"\nssh_user = \"{user}\"\n\
                     ssh_key = \"{{build}}/images/kit/key\"\n"
                )
            }
        };
        self.entries += &format!(
            "[[tool]]\nentry = \"{name}\"\nkind = \"sequential\"\nnot_competing = {absent:?}\n{image}"
        );
    }

    /// The attack of a run, by the id of the run.
    fn attack(&self, id: &str) -> &str {
        let run = id.replace('/', " ") + " ";
        let line = self.attacks.iter().find_map(|line| line.strip_prefix(&run));
        line.expect("a planned attack")
    }

    fn campaign(&self, hostile_entries: &str) -> String {
        // Original disks cannot be restored; alone, the start has no effect on answers and saves time.
        let start = if hostile_entries.is_empty() { "restore" } else { "boot" };
        // Three entries, because fewer votes give no trusted value that other entries could change.
        let honest: String = ["honest", "honest-2", "honest-3"]
            .map(|name| {
                format!(
                    "[[tool]]\nentry = \"{name}\"\nkind = \"sequential\"\nimage = \"{{build}}/images/breadth-first\"\n"
                )
            })
            .concat();
        format!(
            "edition = \"./small.toml\"\ninputs = \"{{fixtures}}\"\ninstances = {:?}\nexaminations = {:?}\n\
             start = \"{start}\"\n{honest}{hostile_entries}\
             [limits]\ncpu_s = 20\nwall_s = 60\noutput_bytes = {OUTPUT_BYTES}\n\
             [hosts]\njobs = 2\nretries = 0\nboot_deadline_s = 1800\n",
            self.instances, self.examinations
        )
    }

    fn folder(&self, hostile_entries: &str) -> Folder {
        let folder = Folder::new(&self.campaign(hostile_entries));
        let small = format!("base = 'mcc-2018'\nname = 'small'\n[machine]\nmemory_mib = {MEMORY_MIB}\n");
        fs::write(folder.path().join("small.toml"), small).unwrap();
        folder
    }
}

/// Builds the hostile tool: the folder for an image, and the disk of the kit with the same tool.
struct Tool {
    folder: TempDir,
}

impl Tool {
    fn build() -> Self {
        let tool = Self { folder: tempfile::tempdir().unwrap() };
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile-tools");
        fs::create_dir_all(tool.path("tool/bin")).unwrap();
        let head = tool.path("tool/BenchKit_head.sh");
        fs::copy(source.join("BenchKit_head.sh"), &head).unwrap();
        fs::set_permissions(head, PermissionsExt::from_mode(0o755)).unwrap();
        let mut compiler = Command::new("gcc");
        compiler
            .args(["-O1", "-static", "-o"])
            .arg(tool.path("tool/bin/attack"))
            .arg(source.join("attack.c"));
        assert!(compiler.status().expect("scripts/setup installs gcc").success());
        tool
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the plan of the attacks, and builds the image `hostile` in `folder` and the disk over ssh.
    fn install(&self, plan: &Plan, folder: &Path) {
        fs::write(self.path("tool/bin/plan"), plan.attacks.join("\n") + "\n").unwrap();
        images::with_tool(&self.path("tool"), &folder.join("hostile"));
        let kit = images::image("images/kit").disk();
        let mut convert = Command::new("qemu-img");
        convert.args(["convert", "-O", "raw"]).arg(kit).arg(self.path("disk.raw"));
        assert!(convert.status().unwrap().success());
        let home = "/home/mcc/BenchKit";
        let mut commands = format!("rm {home}/BenchKit_head.sh\n");
        for file in ["BenchKit_head.sh", "bin/attack", "bin/plan"] {
            let from = self.path("tool").join(file);
            writeln!(commands, "write {} {home}/{file}", from.display()).unwrap();
        }
        fs::write(self.path("commands"), commands).unwrap();
        let mut write = Command::new("debugfs");
        write.arg("-w").arg("-f").arg(self.path("commands"));
        // The first partition.
        write.arg(format!("{}?offset=1048576", self.path("disk.raw").display()));
        let written = write.output().unwrap();
        let messages = String::from_utf8_lossy(&written.stderr).into_owned();
        assert!(written.status.success() && messages.lines().count() == 1, "{messages}");
    }
}

/// Everything that a campaign recorded and judged of the honest entries, except times and memory.
#[derive(Debug, PartialEq)]
struct Honest {
    /// By the id of the run: outcome and answers.
    runs: BTreeMap<String, (Outcome, Vec<String>)>,
    /// By entry, instance and examination: values and verdicts.
    cells: BTreeMap<String, String>,
    scores: Vec<String>,
    /// Category, entry, rank and points.
    ranks: Vec<String>,
}

impl Honest {
    fn read(folder: &Folder) -> Self {
        let runs = folder.runs().into_iter().filter(|(id, _)| id.starts_with("honest"));
        let runs = runs
            .map(|(id, run)| {
                let stdout = folder.output(&id, 1, "stdout");
                let answers = stdout.lines().filter(|line| line.contains("TECHNIQUES")).map(str::to_owned);
                (id, (run.last.outcome, answers.collect()))
            })
            .collect();
        let Judged(judgement) = Judged::read(&folder.path().join("judgement"));
        let name = |entry: usize| judgement.entries[entry].entry.as_str();
        let is_honest = |entry: usize| name(entry).starts_with("honest");
        let mut cells = BTreeMap::new();
        for block in &judgement.blocks {
            for cell in block.cells.iter().filter(|cell| is_honest(cell.entry)) {
                let instance = &judgement.instances[block.instance].instance;
                let place =
                    format!("{}/{instance}/{}", name(cell.entry), judgement.examinations[block.examination]);
                cells.insert(place, format!("{:?} {:?} {}", cell.values, cell.verdicts, cell.points));
            }
        }
        let scores = judgement.scores.iter().filter(|score| is_honest(score.entry));
        let scores = scores.map(|score| {
            let examination = &judgement.examinations[score.examination];
            let (right, wrong, unjudged) = (score.right, score.wrong, score.unjudged);
            format!(
                "{} {examination} {right} {wrong} {unjudged} {} {}",
                name(score.entry),
                score.points,
                score.normalized
            )
        });
        let places = judgement
            .podiums
            .iter()
            .flat_map(|podium| podium.places.iter().map(move |place| (podium, place)));
        let places = places.filter(|(_, place)| is_honest(place.entry));
        let ranks = places.map(|(podium, place)| {
            format!(
                "{} {} {:?} {} {:?}",
                podium.category,
                name(place.entry),
                place.rank,
                place.points,
                place.medal
            )
        });
        Self { runs, cells, scores: scores.collect(), ranks: ranks.collect() }
    }
}

/// Runs, judges and reports a campaign, and adds to `problems` what failed and what was left behind.
fn run(folder: &Folder, problems: &mut Vec<String>) {
    let tmp = folder.path().join("tmp");
    fs::create_dir(&tmp).unwrap();
    let ended = folder.run_command(&[]).env("TMPDIR", &tmp).output().unwrap();
    let messages = String::from_utf8_lossy(&ended.stderr);
    if ended.status.code() != Some(0) || messages.contains("panicked") {
        let last: Vec<&str> = messages.lines().filter(|line| !line.ends_with("begins")).collect();
        problems.push(format!("run: {}: {}", ended.status, last[last.len().saturating_sub(20)..].join("\n")));
    }
    for (command, args) in
        [("judge", ["judge", "results", "--out"]), ("report", ["report", "judgement", "--out"])]
    {
        let out = if command == "judge" { "judgement" } else { "site" };
        let ended = folder.harness(&[&args[..], &[out]].concat()).output().unwrap();
        if ended.status.code() != Some(0) {
            let messages = String::from_utf8_lossy(&ended.stderr);
            problems.push(format!("{command}: {}: {messages}", ended.status));
        }
    }
    let files = |place: PathBuf| fs::read_dir(place).map_or(0, Iterator::count);
    for (what, left) in [
        ("machines", folder.machines().len()),
        ("folders of attempts", folder.running_folders().len()),
        ("temporary files", files(tmp)),
        ("overlays", files(folder.results().join("overlays"))),
    ] {
        if left > 0 {
            problems.push(format!("{left} {what} are left"));
        }
    }
    let leases = fs::read_dir(folder.path().join("leases")).into_iter().flatten().flatten();
    let leases = leases.filter(|file| file.path().extension().is_some_and(|ending| ending == "json"));
    problems.extend(leases.map(|lease| format!("the leases {} are left", lease.path().display())));
}

/// Checks the record of a hostile run and the size of its files.
fn check_run(
    folder: &Folder,
    plan: &Plan,
    id: &str,
    run: &mcc_harness::store::RunRecord,
    problems: &mut Vec<String>,
) {
    let attack = plan.attack(id);
    let mut problem = |text: String| problems.push(format!("{id}, {attack}: {text}"));
    let stdout = folder.output(id, run.attempts, "stdout");
    // Otherwise the attack was not made.
    if !stdout.contains(&format!("attack={}", attack.split(' ').next().unwrap())) {
        problem(format!("the tool was not started: {stdout:.200}"));
    }
    // A campaign of this size begins with a canary of some entries, which is an attempt of its run.
    let canaries = folder.record().superseded_for("canary: passed").unwrap();
    let canaries = canaries.iter().filter(|(run, ..)| *run == *id).count();
    if run.attempts as usize != 1 + canaries {
        problem(format!("{} attempts, {canaries} of them canaries", run.attempts));
    }
    if let Outcome::Infrastructure { state, reason } = &run.last.outcome {
        problem(format!("infrastructure failure while {state}: {reason:.300}"));
    }
    if stdout.contains("network=open") {
        problem("it reached the host's network".to_owned());
    }
    let place = folder.record().outputs_dir(&id.parse().unwrap(), run.attempts);
    for file in WalkDir::new(place).into_iter().flatten().filter(|file| file.file_type().is_file()) {
        let most = if ["stdout", "stderr"].iter().any(|name| file.file_name() == *name) {
            OUTPUT_BYTES
        } else {
            OTHER_BYTES
        };
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        if length > most {
            problem(format!("{} has {length} bytes", file.path().display()));
        }
    }
    if let Some(facts) = &run.last.facts
        && facts.memory_kib > Some(MEMORY_MIB * 1024)
    {
        problem(format!("memory of {:?} KiB", facts.memory_kib));
    }
}

#[test]
fn hostile_tools_do_not_affect_an_honest_one() {
    let runs = std::env::var("RUNS").map_or(10, |text| text.parse().expect("RUNS is a number"));
    let begun = Instant::now();
    let tool = Tool::build();
    let plan = Plan::for_runs(runs, &tool.path("disk.raw"));
    let mut problems = vec![];
    let alone = {
        let folder = plan.folder("");
        run(&folder, &mut problems);
        Honest::read(&folder)
    };
    assert_eq!(problems, [""; 0], "the honest tool alone");
    assert!(
        alone.runs.values().all(|(outcome, _)| *outcome == Outcome::Finished { exit_code: 0 }),
        "{alone:?}"
    );
    assert!(alone.ranks.iter().any(|rank| rank.contains("Some(1)")), "{:?}", alone.ranks);

    let folder = plan.folder(&plan.entries);
    tool.install(&plan, folder.path());
    run(&folder, &mut problems);
    assert!(folder.path().join("judgement").exists(), "{problems:?}");
    let beside = Honest::read(&folder);
    for (what, same) in [
        ("runs", alone.runs == beside.runs),
        ("answers", alone.cells == beside.cells),
        ("scores", alone.scores == beside.scores),
        ("ranks", alone.ranks == beside.ranks),
    ] {
        if !same {
            problems.push(format!("the {what} of the honest tool differ: {alone:#?}\n{beside:#?}"));
        }
    }
    let (mut hostile, mut outcomes) = (0, BTreeMap::<&str, usize>::new());
    let recorded = folder.runs();
    for (id, run) in recorded.iter().filter(|(id, run)| id.starts_with("hostile") && run.run.competes) {
        hostile += 1;
        *outcomes.entry(run.last.outcome.word()).or_default() += 1;
        let printed = ["stdout", "stderr"].map(|name| folder.output(id, run.attempts, name));
        let shown = printed.map(|text| text.chars().take(400).collect::<String>());
        println!("{id} {}: {:?} {shown:?}", plan.attack(id), run.last.outcome);
        check_run(&folder, &plan, id, run, &mut problems);
    }
    if hostile != plan.attacks.len() {
        problems.push(format!("{hostile} records of {} hostile runs", plan.attacks.len()));
    }
    println!(
        "{hostile} hostile and {} honest runs in {} s: {outcomes:?}",
        beside.runs.len(),
        begun.elapsed().as_secs()
    );
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}
