//! Original disks over ssh. The disk of the kit, with a tool of the tests, is used as a disk submitted by an author.

mod campaign;
mod images;

use assert_cmd::Command;
use campaign::{Folder, stderr};
use mcc_harness::store::Outcome;
use std::fs;

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
boot_deadline_s = 200
"#;

#[test]
fn an_original_disk_gives_the_answers_of_a_built_image() {
    let examinations = r#""StateSpace", "UpperBounds", "ReachabilityCardinality", "ReachabilityFireability",
                          "CTLFireability""#;
    let limits = "[limits]\ncpu_s = 8\nwall_s = 100\n";
    let others = "not_competing = [\"Upper*\", \"Reach*\", \"CTL*\"]\n[hosts]";
    let campaign = campaign(examinations, "", &format!("{BREADTH_FIRST}{limits}").replace("[hosts]", others));
    let folder = Folder::new(&campaign.replace("\"mcc-2018\"", "\"./small.toml\""));
    let small = "base = 'mcc-2018'\nname = 'small'\n[machine]\nmemory_mib = 512\n";
    fs::write(folder.path().join("small.toml"), small).unwrap();
    folder.run(&[]).success();
    let runs = folder.runs();
    let of = |examination: &str| &runs[&format!("original/DiningTable-PT-03/{examination}")].last;
    let stdout = |entry: &str, examination: &str| {
        folder.output(&format!("{entry}/DiningTable-PT-03/{examination}"), 1, "stdout")
    };

    // The lines with answers are the same, byte for byte.
    let answers = |entry: &str| {
        let lines = stdout(entry, "StateSpace");
        lines.lines().filter(|line| line.starts_with("STATE_SPACE")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(answers("original").len(), 4);
    assert_eq!(answers("original"), answers("breadth-first"));
    let state_space = of("StateSpace");
    assert_eq!(state_space.outcome, Outcome::Finished { exit_code: 0 });
    let digest = mcc_harness::base::digest::file(&images::image("images/kit").disk()).unwrap().0;
    assert!(state_space.disks.iter().any(|disk| disk.role == "disk" && disk.sha256 == digest));
    let machine = state_space.machine.join(" ");
    assert!(machine.contains("restrict=on") && machine.contains(r#""driver":"vmdk""#), "{machine}");

    // The tool killed every session of its user. The guest still works, so this is a crash of the tool; its answer
    // counts.
    let killed = of("UpperBounds");
    assert_eq!(killed.outcome, Outcome::ToolCrash { signal: 9 });
    assert!(killed.marks.contains(&"connection-lost".into()), "{:?}", killed.marks);
    assert!(stdout("original", "UpperBounds").contains("UpperBounds-00 1 TECHNIQUES"));

    // The environment is that of the contest.
    assert_eq!(of("ReachabilityCardinality").outcome, Outcome::Finished { exit_code: 7 });
    let printed = stdout("original", "ReachabilityCardinality");
    let seen = "cwd=/home/mcc/BenchKit/execution user=mcc inputs=DiningTable-PT-03.tgz instance=model.pnml\n";
    assert_eq!(
        printed,
        format!("BK_STOP 1526000000000\n{seen}"),
        "neither network nor a writable inputs disk"
    );

    let left = of("ReachabilityFireability");
    assert_eq!(left.outcome, Outcome::Finished { exit_code: 3 });
    assert_eq!(
        left.marks.iter().filter(|mark| !mark.starts_with("degraded")).collect::<Vec<_>>(),
        ["left-behind"]
    );
    let facts = of("CTLFireability").facts.as_ref().unwrap();
    assert_eq!(of("CTLFireability").outcome, Outcome::CpuLimit);
    let samples = folder.record().samples(of("CTLFireability")).unwrap();
    assert!((8000..20_000).contains(&facts.cpu_ms) && samples.len() > 3, "{facts:?} {samples:?}");
    assert!(stdout("original", "CTLFireability").contains("CTLFireability-00 TRUE"));
    assert!(folder.machines().is_empty() && folder.running_folders().is_empty());
}

#[test]
fn an_original_disk_boots_from_ide_with_its_own_inputs_disk() {
    let ide = "disk = \"ide\"\ninputs_disk = \"{build}/images/kit/inputs.vmdk\"";
    let folder = Folder::new(&campaign(
        r#""ReachabilityDeadlock""#,
        ide,
        "[hosts]\nretries = 0\nboot_deadline_s = 400",
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
    let folder = Folder::new(&campaign(r#""StateSpace""#, "", "[hosts]\nretries = 0\nboot_deadline_s = 3"));
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
        let folder = Folder::new(&campaign.replace("{build}/images/kit/disk.vmdk", disk.to_str().unwrap()));
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

#[test]
fn runs_from_a_saved_state_are_marked_and_give_the_same_answers() {
    let campaign = r#"
edition = "mcc-2018"
inputs = "{fixtures}"
instances = ["DiningTable-PT-03"]
examinations = ["StateSpace", "ReachabilityDeadlock"]
phase = "qualification"
[[tool]]
entry = "breadth-first"
image = "{build}/images/breadth-first"
kind = "sequential"
[hosts]
retries = 0
"#;
    images::image("images/breadth-first");
    let outcome = |campaign: &str, restored: bool| {
        let folder = Folder::new(campaign);
        folder.run(&[]).success();
        let runs = folder.runs();
        for run in runs.values() {
            assert_eq!(run.last.marks.contains(&"restored".into()), restored, "{:?}", run.last.marks);
        }
        let facts = |(id, run): (String, mcc_harness::store::RunRecord)| {
            let stdout =
                run.last.outputs.iter().find(|output| output.role == "stdout").unwrap().sha256.clone();
            (id, run.last.outcome, stdout)
        };
        runs.into_iter().map(facts).collect::<Vec<_>>()
    };
    let restored = outcome(&format!("start = \"restore\"\n{campaign}"), true);
    assert_eq!(restored.len(), 2);
    assert_eq!(restored, outcome(campaign, false));
}
