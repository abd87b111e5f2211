//! Campaigns in temporary folders that the real program runs, and their results.
//!
//! A script named like QEMU is first on PATH. It reports that KVM does not work, so that the machines are the same on
//! every host, and a test can make it fail or use a fake QEMU.

mod cores;
pub mod small_disk;

use assert_cmd::assert::Assert;
use cores::HeldCores;
use mcc_harness::host::{Qemu, find_program};
use mcc_harness::judge::judgement::{Cell, Judgement};
use mcc_harness::store::{Outcome, Record, RunRecord};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Much longer than any step of a test takes: only a step that never ends reaches it.
const TIMEOUT: Duration = Duration::from_secs(900);

/// The header of an empty qcow2 disk.
pub const EMPTY_QCOW2: &[u8] = b"QFI\xfb\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\x02\0\
      \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

pub const EXAMINATIONS: [&str; 9] = [
    "StateSpace",
    "UpperBounds",
    "ReachabilityDeadlock",
    "ReachabilityCardinality",
    "ReachabilityFireability",
    "CTLCardinality",
    "CTLFireability",
    "LTLCardinality",
    "LTLFireability",
];

/// The text of a campaign of 2018 on these fixtures in these examinations; an empty list selects all of the edition. Each
/// entry has the image of its name in `build/images`. `more` follows.
pub fn on_fixtures(instances: &[&str], examinations: &[&str], entries: &[&str], more: &str) -> String {
    let mut campaign =
        format!("edition = \"mcc-2018\"\ninputs = \"{{fixtures}}\"\ninstances = {instances:?}\n");
    if !examinations.is_empty() {
        campaign += &format!("examinations = {examinations:?}\n");
    }
    for entry in entries {
        campaign += &format!(
            "[[tool]]\nentry = \"{entry}\"\nimage = \"{{build}}/images/{entry}\"\nkind = \"sequential\"\n"
        );
    }
    campaign + more
}

/// A temporary folder with a campaign, its results and its QEMU. Its programs use only the cores that it holds.
pub struct Folder {
    folder: tempfile::TempDir,
    stage: tempfile::TempDir,
    cores: HeldCores,
}

impl Folder {
    /// Creates a folder with this campaign.toml and the real QEMU. In the campaign `{build}` is the folder of the images,
    /// `{fixtures}` that of the fixtures, and `{stage}` one to which no other user can write. It holds all cores: another
    /// campaign would slow this one down.
    pub fn new(campaign: &str) -> Self {
        Self::with_qemu(campaign, HeldCores::all())
    }

    /// As `new`, for a campaign whose machines run one after another: it holds one core, and another campaign may run.
    pub fn on_one_core(campaign: &str) -> Self {
        Self::with_qemu(campaign, HeldCores::one())
    }

    /// The output of ENTRY/DiningTable-PT-03/StateSpace in a campaign that boots a disk of `image export` over ssh.
    pub fn output_of_exported_disk(entry: &str, disk: &Path) -> String {
        let disk = disk.display();
        let folder = Self::on_one_core(&format!(
            r#"
edition = "mcc-2018"
inputs = "{{fixtures}}"
instances = ["DiningTable-PT-03"]
examinations = ["StateSpace"]
[limits]
cpu_s = 900
wall_s = 3600
[[tool]]
entry = "{entry}"
image = "{disk}"
kind = "sequential"
channel = "ssh"
ssh_key = "{disk}.key"
ssh_root_key = "{disk}.key"
[hosts]
retries = 0
boot_deadline_s = 1800
"#
        ));
        folder.run(&[]).success();
        let run = format!("{entry}/DiningTable-PT-03/StateSpace");
        let attempt = &folder.runs()[run.as_str()].last;
        let times = attempt.facts.as_ref().map(|facts| (facts.cpu_ms, facts.wall_ms));
        assert_eq!(attempt.outcome, Outcome::Finished { exit_code: 0 }, "{times:?} {:?}", attempt.marks);
        folder.output(&run, 1, "stdout")
    }

    fn with_qemu(campaign: &str, cores: HeldCores) -> Self {
        let folder = Self::without_qemu(campaign, cores);
        folder.qemu("");
        folder
    }

    fn without_qemu(campaign: &str, cores: HeldCores) -> Self {
        let temporary = || tempfile::tempdir().unwrap();
        let folder = Self { folder: temporary(), stage: temporary(), cores };
        // A fake QEMU runs as the unprivileged user of a machine and writes files here, which others continue (umask).
        fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
        let root = env!("CARGO_MANIFEST_DIR");
        let campaign = campaign.replace("{build}", &format!("{root}/build"));
        let campaign = campaign.replace("{fixtures}", &format!("{root}/pnml-fixtures"));
        let campaign = campaign.replace("{stage}", &folder.stage.path().display().to_string());
        fs::write(folder.path().join("campaign.toml"), campaign).unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        folder
    }

    /// Creates a folder with a campaign on the fake QEMU: `entries` entries on one fixture in these examinations;
    /// `more` is appended to campaign.toml. Until `fake_qemu` is called, each run is complete and prints one line.
    pub fn with_fake_qemu(entries: usize, examinations: &[&str], more: &str) -> Self {
        let mut campaign = on_fixtures(&["DiningTable-PT-03"], examinations, &[], "");
        for n in 0..entries {
            campaign +=
                &format!("[[tool]]\nentry = \"tool-{n}\"\nimage = \"image\"\nkind = \"sequential\"\n");
        }
        let folder = Self::without_qemu(&(campaign + more), HeldCores::all());
        let image = folder.path().join("image");
        fs::create_dir(&image).unwrap();
        for file in ["disk", "kernel", "initrd"] {
            fs::write(image.join(file), file).unwrap();
        }
        fs::write(image.join("disk"), EMPTY_QCOW2).unwrap();
        let boot = r#"{"kernel": "kernel", "initrd": "initrd"}"#;
        let facts =
            format!(r#"{{"format": 1, "kind": "tool", "built_by": "test", "disk": "disk", "boot": {boot}}}"#);
        fs::write(image.join("image.json"), facts).unwrap();
        folder.fake_qemu("whole_run $'hello\\n'");
        folder
    }

    /// Sets the start of the machines in campaign.toml: `boot` or `restore`.
    pub fn starting_by(self, start: &str) -> Self {
        let path = self.path().join("campaign.toml");
        let campaign = fs::read_to_string(&path).unwrap();
        fs::write(path, format!("start = {start:?}\n{campaign}")).unwrap();
        self
    }

    /// Makes QEMU a fake from now on that executes these commands, with the functions of `fake-qemu.bash`.
    pub fn fake_qemu(&self, commands: &str) {
        // A copy that the unprivileged user of QEMU can read.
        let fake_qemu = self.path().join("fake-qemu.bash");
        if !fake_qemu.exists() {
            fs::write(&fake_qemu, include_str!("fake-qemu.bash")).unwrap();
        }
        self.put_qemu(&format!(
            "#!/bin/bash\numask 0\ncase \" $* \" in\n*' --version '*) echo 'QEMU emulator version 7.2.22'; exit;;\n\
             *accel=kvm*) echo 'no KVM here' >&2; exit 1;;\n*accel=tcg*) exit 33;;\nesac\n\
             . '{}'\n{commands}\n",
            fake_qemu.display()
        ));
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn results(&self) -> PathBuf {
        self.path().join("results")
    }

    /// Makes QEMU execute these shell commands before (or instead of) each machine from now on. The real QEMU is
    /// `$real`; it still answers `--version` and runs the probe of TCG without the plugin.
    pub fn qemu(&self, commands: &str) {
        let real = find_program(Qemu::NAME).expect("scripts/setup installs QEMU");
        let script = format!(
            "#!/bin/sh\numask 0\nreal={}\ncase \" $* \" in\n*accel=kvm*) echo 'no KVM here' >&2; exit 1;;\n\
             *' -plugin '*) ;;\n*' --version '*|*accel=tcg*) exec $real \"$@\";;\nesac\n{commands}\nexec $real \"$@\"\n",
            real.display()
        );
        self.put_qemu(&script);
    }

    fn put_qemu(&self, script: &str) {
        // Renamed when complete, because a controller may be executing the old script.
        let new = self.path().join("bin/new");
        fs::write(&new, script).unwrap();
        fs::set_permissions(&new, PermissionsExt::from_mode(0o755)).unwrap();
        fs::rename(new, self.path().join("bin").join(Qemu::NAME)).unwrap();
    }

    /// The program with these arguments.
    pub fn harness(&self, args: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_mcc-harness"));
        command.args(args);
        command
    }

    /// A program in this folder. The script named like QEMU is first on its PATH, then the folder of mcc-harness.
    pub fn command(&self, program: &str) -> Command {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let harness = Path::new(env!("CARGO_BIN_EXE_mcc-harness")).parent().unwrap();
        let folders =
            [self.path().join("bin"), harness.to_owned()].into_iter().chain(std::env::split_paths(&path));
        let mut command = self.cores.command(program);
        command.current_dir(self.path()).env("PATH", std::env::join_paths(folders).unwrap());
        // A private lease registry, so that campaigns of other tests have no effect.
        command.env("MCC_HARNESS_LEASES", self.path().join("leases"));
        command
    }

    /// The command `run` for this campaign, with further arguments.
    pub fn run_command(&self, args: &[&str]) -> Command {
        let results = self.results();
        let run = ["run", "campaign.toml", "--out", results.to_str().unwrap(), "--allow-degraded"];
        self.harness(&[&run, args].concat())
    }

    /// Runs or resumes the campaign to its end.
    pub fn run(&self, args: &[&str]) -> Assert {
        assert_cmd::Command::from(self.run_command(args)).assert()
    }

    /// Judges the record into the folder `judgement`.
    pub fn judge(&self) -> Assert {
        assert_cmd::Command::from(self.harness(&["judge", "results", "--out", "judgement"])).assert()
    }

    pub fn record(&self) -> Record {
        Record::open_readonly(&self.results()).unwrap()
    }

    /// The recorded runs by id.
    pub fn runs(&self) -> BTreeMap<String, RunRecord> {
        self.record().records().map(|run| run.map(|run| (run.run.id().to_string(), run)).unwrap()).collect()
    }

    /// The text of an output of an attempt, such as `stdout`.
    pub fn output(&self, run: &str, attempt: u32, name: &str) -> String {
        let path = self.record().outputs_dir(&run.parse().unwrap(), attempt).join(name);
        String::from_utf8_lossy(&fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
            .into_owned()
    }

    /// The folders in `running/`, one for each running attempt.
    pub fn running_folders(&self) -> Vec<PathBuf> {
        let Ok(running) = fs::read_dir(self.results().join("running")) else { return vec![] };
        running.map(|attempt| attempt.unwrap().path()).collect()
    }

    /// Process ids of the machines of this campaign. They have their private folder in TMPDIR.
    pub fn machines(&self) -> Vec<i32> {
        let tmpdir = format!("TMPDIR={}", self.results().join("running").display());
        let processes = fs::read_dir("/proc").unwrap().filter_map(|process| process.unwrap().path().into());
        let numbers = processes.filter_map(|process: PathBuf| {
            let environment = fs::read(process.join("environ")).ok()?;
            let mut variables = environment.split(|byte| *byte == 0);
            let belongs = variables.any(|variable| variable.starts_with(tmpdir.as_bytes()));
            belongs.then(|| process.file_name()?.to_str()?.parse().ok()).flatten()
        });
        numbers.collect()
    }
}

pub fn stderr(assert: &Assert) -> String {
    String::from_utf8(assert.get_output().stderr.clone()).unwrap()
}

/// Waits until `is_so` returns true. Panics with `what` after `TIMEOUT`.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !is_so() {
        assert!(Instant::now() < deadline, "timeout while waiting until: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A judgement that `judge` wrote.
pub struct Judged(pub Judgement);

impl Judged {
    pub fn read(folder: &Path) -> Self {
        Self(Judgement::read(folder).unwrap())
    }

    pub fn cell(&self, entry: &str, instance: &str, examination: &str) -> &Cell {
        let Judgement { entries, instances, examinations, blocks, .. } = &self.0;
        let block = blocks.iter().find(|block| {
            instances[block.instance].instance == instance && examinations[block.examination] == examination
        });
        let cells = &block.unwrap_or_else(|| panic!("{instance} {examination} is not judged")).cells;
        let cell = cells.iter().find(|cell| entries[cell.entry].entry == entry);
        cell.unwrap_or_else(|| panic!("{entry} on {instance} in {examination} is not judged"))
    }

    /// (right, wrong, unjudged) of an entry over all examinations.
    pub fn counts(&self, entry: &str) -> (u64, u64, u64) {
        let scores = self.0.scores.iter().filter(|score| self.0.entries[score.entry].entry == entry);
        scores
            .fold((0, 0, 0), |sum, score| (sum.0 + score.right, sum.1 + score.wrong, sum.2 + score.unjudged))
    }
}
