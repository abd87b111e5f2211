//! A campaign in a temporary folder, run by the real program on the real QEMU, and what came of it.
//!
//! QEMU is reached through a script first on PATH that denies KVM, so that these tests see the same machines on
//! every host (and no probe of a KVM that hangs), and that a test can let misbehave.
#![allow(dead_code, reason = "not every test uses everything")]

use assert_cmd::assert::Assert;
use mcc_harness::host::{Qemu, find_program};
use mcc_harness::judge::judgement::{Cell, Judgement};
use mcc_harness::store::{Record, RunRecord};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Far beyond what anything here takes: only a hang reaches it.
const TIMEOUT: Duration = Duration::from_secs(300);

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

/// One campaign at a time: two of them would only slow each other down, and see each other's load.
static ALONE: Mutex<()> = Mutex::new(());

pub struct Folder {
    folder: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Folder {
    /// With this campaign.toml; `{build}` in it is the folder of the images, `{fixtures}` that of the fixtures.
    pub fn new(campaign: &str) -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = Self { folder: tempfile::tempdir().unwrap(), _alone: alone };
        // A stand-in for QEMU runs as the user that QEMU runs as, and leaves its traces here.
        fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).unwrap();
        let root = env!("CARGO_MANIFEST_DIR");
        let campaign = campaign.replace("{build}", &format!("{root}/build"));
        let campaign = campaign.replace("{fixtures}", &format!("{root}/pnml-fixtures"));
        fs::write(folder.path().join("campaign.toml"), campaign).unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        folder.qemu("");
        folder
    }

    /// With a campaign of so many entries, each on one fixture in these examinations, whose QEMU is a stand-in: it boots nothing and does what `fake_qemu` says, at first a whole run that prints one line.
    pub fn with_fake_qemu(entries: usize, examinations: &[&str], more: &str) -> Self {
        let mut campaign = format!(
            "edition = \"mcc-2018\"\ninputs = \"{{fixtures}}\"\ninstances = [\"DiningTable-PT-03\"]\n\
             examinations = {examinations:?}\n"
        );
        for n in 0..entries {
            campaign +=
                &format!("[[tool]]\nentry = \"tool-{n}\"\nimage = \"image\"\nkind = \"sequential\"\n");
        }
        let folder = Self::new(&(campaign + more));
        let image = folder.path().join("image");
        fs::create_dir(&image).unwrap();
        for file in ["disk", "kernel", "initrd"] {
            fs::write(image.join(file), file).unwrap();
        }
        let boot = r#"{"kernel": "kernel", "initrd": "initrd"}"#;
        let facts =
            format!(r#"{{"format": 1, "kind": "tool", "built_by": "test", "disk": "disk", "boot": {boot}}}"#);
        fs::write(image.join("image.json"), facts).unwrap();
        folder.fake_qemu("whole_run $'hello\\n'");
        folder
    }

    /// What the stand-in does from now on, in the words of `fake-qemu.bash`.
    pub fn fake_qemu(&self, words: &str) {
        // A copy, which the user that QEMU runs as can reach.
        let fake_qemu = self.path().join("fake-qemu.bash");
        if !fake_qemu.exists() {
            fs::write(&fake_qemu, include_str!("fake-qemu.bash")).unwrap();
        }
        self.put_qemu(&format!(
            "#!/bin/bash\ncase \" $* \" in\n*' --version '*) echo 'QEMU emulator version 7.2.22'; exit;;\n\
             *accel=kvm*) echo 'no KVM here' >&2; exit 1;;\n*accel=tcg*) exit 33;;\nesac\n\
             . '{}'\n{words}\n",
            fake_qemu.display()
        ));
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn results(&self) -> PathBuf {
        self.path().join("results")
    }

    /// What QEMU does from now on where it is to run a machine: shell commands before (or instead of) the real
    /// one, which is `$real`. It still tells its version and runs the probe of TCG as it always does.
    pub fn qemu(&self, commands: &str) {
        let real = find_program(Qemu::NAME).expect("scripts/setup installs QEMU");
        let script = format!(
            "#!/bin/sh\nreal={}\ncase \" $* \" in\n*accel=kvm*) echo 'no KVM here' >&2; exit 1;;\n\
             *' --version '*|*accel=tcg*) exec $real \"$@\";;\nesac\n{commands}\nexec $real \"$@\"\n",
            real.display()
        );
        self.put_qemu(&script);
    }

    fn put_qemu(&self, script: &str) {
        // Renamed into place: a controller may be executing the old one.
        let beside = self.path().join("bin/new");
        fs::write(&beside, script).unwrap();
        fs::set_permissions(&beside, PermissionsExt::from_mode(0o755)).unwrap();
        fs::rename(beside, self.path().join("bin").join(Qemu::NAME)).unwrap();
    }

    /// The program with these arguments, QEMU's stand-in first on its PATH.
    pub fn harness(&self, args: &[&str]) -> Command {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.path().join("bin")).chain(std::env::split_paths(&path));
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
        command.args(args).current_dir(self.path()).env("PATH", std::env::join_paths(folders).unwrap());
        // Campaigns of other tests on this host are none of this one's business.
        command.env("MCC_HARNESS_LEASES", self.path().join("leases"));
        command
    }

    pub fn run_command(&self, args: &[&str]) -> Command {
        let results = self.results();
        let run = ["run", "campaign.toml", "--out", results.to_str().unwrap(), "--allow-degraded"];
        self.harness(&[&run, args].concat())
    }

    /// Runs or resumes the campaign to its end.
    pub fn run(&self, args: &[&str]) -> Assert {
        assert_cmd::Command::from(self.run_command(args)).assert()
    }

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

    /// `stdout`, `stderr`, ... of an attempt.
    pub fn output(&self, run: &str, attempt: u32, name: &str) -> String {
        let path = self.record().outputs_dir(&run.parse().unwrap(), attempt).join(name);
        String::from_utf8_lossy(&fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
            .into_owned()
    }

    /// What lies in `running/`: something only while a run is under way.
    pub fn running_folders(&self) -> Vec<PathBuf> {
        let Ok(running) = fs::read_dir(self.results().join("running")) else { return vec![] };
        running.map(|attempt| attempt.unwrap().path()).collect()
    }

    /// Processes that belong to this folder's machines: QEMU is told its private folder in TMPDIR.
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

/// Looks until it is so.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !is_so() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A judgement as `judge` wrote it.
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
