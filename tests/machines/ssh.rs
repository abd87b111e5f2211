//! Original disks over ssh. The disk of the kit, with a tool of the tests, is used as a disk submitted by an author.

use crate::support::campaign;
use crate::support::images;

use assert_cmd::Command;
use campaign::{Folder, Judged, stderr};
use mcc_harness::benchkit::Value;
use mcc_harness::judge::judgement::Ending;
use mcc_harness::store::{Attempt, Instructions, Outcome, RunRecord, Sample};
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

/// A campaign with the entry `original` on the disk of the kit; `entry` are its further keys, `more` follows it.
fn campaign(examinations: &str, entry: &str, more: &str) -> String {
    images::image("images/kit");
    format!(
        r#"
edition = "mcc-2018"
inputs = "{{fixtures}}"
instances = ["DiningTable-PT-03"]
examinations = [{examinations}]

[[tool]]
entry = "original"
image = "{{build}}/images/kit/disk.vmdk"
kind = "sequential"
channel = "ssh"
ssh_key = "{{build}}/images/kit/key"
{entry}

{more}
"#
    )
}

const BREADTH_FIRST: &str = r#"
[[tool]]
entry = "breadth-first"
image = "{build}/images/breadth-first"
kind = "sequential"

[hosts]
retries = 0
boot_deadline_s = 1800
"#;

/// What one campaign on an original disk gave, beside the same tool on a built image. The tests share it.
struct Original {
    runs: BTreeMap<String, RunRecord>,
    /// Standard output of the runs that have one, by id of the run.
    stdouts: BTreeMap<String, String>,
    samples: Vec<Sample>,
    /// Machines and folders of attempts that remained at the end.
    remaining: (Vec<i32>, Vec<PathBuf>),
}

impl Original {
    /// The campaign runs once, when the first test needs it.
    fn get() -> &'static Self {
        static CAMPAIGN: OnceLock<Original> = OnceLock::new();
        CAMPAIGN.get_or_init(|| {
            let examinations = r#""StateSpace", "UpperBounds", "ReachabilityCardinality", "ReachabilityFireability",
                              "CTLFireability""#;
        let limits = "[limits]\ncpu_s = 8\nwall_s = 900\n";
        let others = "not_competing = [\"Upper*\", \"Reach*\", \"CTL*\"]\n[hosts]";
        let campaign = campaign(examinations, "", &format!("{BREADTH_FIRST}{limits}").replace("[hosts]", others));
        let folder = Folder::new(&campaign.replace("\"mcc-2018\"", "\"./small.toml\""));
        let small = "base = 'mcc-2018'\nname = 'small'\n[machine]\nmemory_mib = 512\n";
        fs::write(folder.path().join("small.toml"), small).unwrap();
        folder.run(&[]).success();
            let runs = folder.runs();
            let made = runs.iter().filter(|(_, run)| run.run.competes);
            let stdouts = made.map(|(id, _)| (id.clone(), folder.output(id, 1, "stdout"))).collect();
            let limited = &runs["original/DiningTable-PT-03/CTLFireability"].last;
            let samples = folder.record().samples(limited).unwrap();
            Self { stdouts, samples, remaining: (folder.machines(), folder.running_folders()), runs }
        })
    }

    /// The attempt on the original disk in an examination.
    fn attempt(&self, examination: &str) -> &Attempt {
        &self.runs[&format!("original/DiningTable-PT-03/{examination}")].last
    }

    fn stdout(&self, entry: &str, examination: &str) -> &str {
        &self.stdouts[&format!("{entry}/DiningTable-PT-03/{examination}")]
    }
}

/// The lines with answers are the same, byte for byte.
#[test]
fn an_original_disk_gives_the_answers_of_a_built_image() {
    let answers = |entry: &str| {
        let lines = Original::get().stdout(entry, "StateSpace");
        lines.lines().filter(|line| line.starts_with("STATE_SPACE")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(answers("original").len(), 4);
    assert_eq!(answers("original"), answers("breadth-first"));
    assert_eq!(Original::get().attempt("StateSpace").outcome, Outcome::Finished { exit_code: 0 });
    assert_eq!(Original::get().remaining, (vec![], vec![]), "nothing is left behind");
}

#[test]
fn the_record_has_the_digest_of_the_submitted_disk() {
    let state_space = Original::get().attempt("StateSpace");
    let digest = mcc_harness::base::digest::file(&images::image("images/kit").disk()).unwrap().0;
    assert!(state_space.disks.iter().any(|disk| disk.role == "disk" && disk.sha256 == digest));
    let machine = state_space.machine.join(" ");
    assert!(machine.contains("restrict=on") && machine.contains(r#""driver":"vmdk""#), "{machine}");
}

/// The tool killed every session of its user. The guest still works, so this is a crash of the tool; its answer counts.
#[test]
fn a_tool_that_kills_its_sessions_over_ssh_crashed() {
    let killed = Original::get().attempt("UpperBounds");
    assert_eq!(killed.outcome, Outcome::ToolCrash { signal: 9 });
    assert!(killed.marks.contains(&"connection-lost".into()), "{:?}", killed.marks);
    assert!(Original::get().stdout("original", "UpperBounds").contains("UpperBounds-00 1 TECHNIQUES"));
}

#[test]
fn a_tool_over_ssh_has_the_environment_of_the_contest() {
    assert_eq!(
        Original::get().attempt("ReachabilityCardinality").outcome,
        Outcome::Finished { exit_code: 7 }
    );
    let printed = Original::get().stdout("original", "ReachabilityCardinality");
    let seen = "cwd=/home/mcc/BenchKit/execution user=mcc inputs=DiningTable-PT-03.tgz instance=model.pnml\n";
    assert_eq!(
        printed,
        format!("BK_STOP 1526000000000\n{seen}"),
        "neither network nor a writable inputs disk"
    );
}

#[test]
fn processes_left_behind_over_ssh_are_marked() {
    let left = Original::get().attempt("ReachabilityFireability");
    assert_eq!(left.outcome, Outcome::Finished { exit_code: 3 });
    assert_eq!(
        left.marks
            .iter()
            .filter(|mark| !mark.starts_with("degraded") && **mark != "disturbed")
            .collect::<Vec<_>>(),
        ["left-behind"]
    );
}

#[test]
fn a_cpu_limit_over_ssh_keeps_answers_and_samples() {
    let attempt = Original::get().attempt("CTLFireability");
    assert_eq!(attempt.outcome, Outcome::CpuLimit);
    let (facts, samples) = (attempt.facts.as_ref().unwrap(), &Original::get().samples);
    assert!((8000..20_000).contains(&facts.cpu_ms) && samples.len() > 3, "{facts:?} {samples:?}");
    assert!(Original::get().stdout("original", "CTLFireability").contains("CTLFireability-00 TRUE"));
}

/// The author of the disk decides at which addresses code runs, so the limit counts all instructions of the machine.
#[test]
fn the_limit_of_instructions_over_ssh_counts_those_of_the_kernel_too_and_keeps_answers() {
    const LIMIT: u64 = 10_000_000_000;
    let more = format!("[limits]\ninstructions = {LIMIT}\n[hosts]\nretries = 0\nboot_deadline_s = 1800\n");
    let folder = Folder::on_one_core(&campaign(r#""CTLFireability""#, "", &more));
    folder.run(&[]).success();
    let attempt = &folder.runs()["original/DiningTable-PT-03/CTLFireability"].last;
    assert_eq!(attempt.outcome, Outcome::InstructionLimit, "{attempt:?}");
    let counted = attempt.facts.as_ref().unwrap().instructions.clone();
    let Some(Instructions::TcgPlugin { user, kernel }) = counted else { panic!("{counted:?}") };
    eprintln!("{user} user and {kernel} kernel instructions");
    assert!(kernel > 1_000_000 && (user + kernel).abs_diff(LIMIT) < 20_000, "{user} + {kernel}");
    assert!(folder.output(attempt.run.as_ref(), 1, "stdout").contains("CTLFireability-00 TRUE"));
    folder.judge().success();
    let judged = Judged::read(&folder.path().join("judgement"));
    let cell = judged.cell("original", "DiningTable-PT-03", "CTLFireability");
    assert_eq!((cell.ending, cell.values[0].clone()), (Ending::InstructionLimit, Some(Value::True)));
}

#[test]
fn an_original_disk_boots_from_ide_with_its_own_inputs_disk() {
    let ide = "disk = \"ide\"\ninputs_disk = \"{build}/images/kit/inputs.vmdk\"";
    let folder = Folder::on_one_core(&campaign(
        r#""ReachabilityDeadlock""#,
        ide,
        "[hosts]\nretries = 0\nboot_deadline_s = 1800",
    ));
    folder.run(&[]).success();
    let run = &folder.runs()["original/DiningTable-PT-03/ReachabilityDeadlock"].last;
    assert_eq!(run.outcome, Outcome::Finished { exit_code: 0 });
    let inputs = images::image("images/kit").folder.join("inputs.vmdk");
    let digest = mcc_harness::base::digest::file(&inputs).unwrap().0;
    let seen: Vec<_> = run.disks.iter().filter(|disk| disk.role == "inputs").collect();
    assert!(seen.len() == 1 && seen[0].sha256 == digest, "{seen:?}");
}

#[test]
fn a_silent_sshd_is_a_failure_at_the_boot_deadline() {
    let folder =
        Folder::on_one_core(&campaign(r#""StateSpace""#, "", "[hosts]\nretries = 0\nboot_deadline_s = 3"));
    // The forwarded port has no server in the guest.
    folder.qemu(
        r#"for word; do
               shift
               case "$word" in *hostfwd=*) word=${word%22}23;; esac
               set -- "$@" "$word"
           done"#,
    );
    folder.run(&[]).code(1);
    let run = &folder.runs()["original/DiningTable-PT-03/StateSpace"].last;
    let Outcome::Infrastructure { state, reason } = &run.outcome else { panic!("{run:?}") };
    assert!(state == "booting" && reason.contains("was not ready by its deadline"), "{state}: {reason}");
    assert!(folder.machines().is_empty() && folder.running_folders().is_empty());
}

#[test]
fn an_invalid_original_disk_is_refused_a_good_one_imported() {
    let harness = || Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
    let work = tempfile::tempdir().unwrap();
    let empty = work.path().join("empty.vmdk");
    let make = |args: &[&str], disk: &std::path::Path| {
        let mut qemu_img = std::process::Command::new("qemu-img");
        assert!(qemu_img.args(["create", "-q"]).args(args).arg(disk).arg("1M").status().unwrap().success());
    };
    make(&["-f", "vmdk"], &empty);
    let secret = work.path().join("secret");
    fs::write(&secret, [7; 4096]).unwrap();
    let reaching = work.path().join("reaching.qcow2");
    make(&["-f", "qcow2", "-F", "raw", "-b", secret.to_str().unwrap()], &reaching);
    for (disk, error) in [(&empty, "no bootloader for a BIOS"), (&reaching, "refers to another file")] {
        let mut import = harness();
        import.args(["image", "import"]).arg(disk).arg("--out").arg(work.path().join("out"));
        let refused = String::from_utf8(import.assert().code(2).get_output().stderr.clone()).unwrap();
        assert!(refused.contains(error), "{refused}");
        assert!(!work.path().join("out").exists());
        let campaign = campaign(r#""StateSpace""#, "", "");
        let folder =
            Folder::on_one_core(&campaign.replace("{build}/images/kit/disk.vmdk", disk.to_str().unwrap()));
        let run = folder.run(&[]).code(2);
        assert!(
            stderr(&run).contains("campaign.toml:9:") && stderr(&run).contains(error),
            "{}",
            stderr(&run)
        );
    }
    let kit = images::image("images/kit");
    for file in ["disk.vmdk", "inputs.vmdk", "key", "key.pub", "BenchKitStart.sh", "README.md"] {
        assert!(kit.folder.join(file).is_file(), "{file} is part of the kit");
    }
    let out = work.path().join("imported");
    harness().args(["image", "import"]).arg(kit.disk()).arg("--out").arg(&out).assert().success();
    let inspect = harness().args(["image", "inspect"]).arg(&out).assert().success();
    let printed = String::from_utf8(inspect.get_output().stdout.clone()).unwrap();
    let digest = mcc_harness::base::digest::file(&kit.disk()).unwrap().0;
    for part in [&*digest, "vmdk", "boots by BIOS", "partition of type 83 from sector 2048"] {
        assert!(printed.contains(part), "{part} in {printed}");
    }
}
