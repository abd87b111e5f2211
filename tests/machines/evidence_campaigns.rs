//! `certify` after campaigns: wrong variants of a tool that outvote others in real machines, and evidence that tools wrote,
//! which a fake machine sends, or the same tool on a built image and on an original disk.

use crate::support::tables::rows;
use crate::support::{campaign, images};

use assert_cmd::Command;
use campaign::{Folder, on_fixtures};
use mcc_harness::base::Mark;
use mcc_harness::base::evidence::{MAX_FILE, MAX_PART};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/pnml-fixtures");

/// Judges the results and certifies the values; returns the folder of the certification.
fn certify(folder: &Folder, options: &[&str]) -> std::path::PathBuf {
    let run = |args: &[&str]| Command::from(folder.harness(args)).assert().success();
    run(&["judge", "results", "--out", "judged"]);
    let command = ["certify", "judged", "--instances", FIXTURES, "--out", "certified"];
    run(&[&command, options].concat());
    folder.path().join("certified")
}

#[test]
fn wrong_variants_that_outvote_right_tools_raise_alarms() {
    const WRONG: [&str; 3] = ["wrong-1", "wrong-2", "wrong-3"];
    let variants = WRONG.map(|entry| {
        format!(
            "[[tool]]\nentry = \"{entry}\"\ntool = \"wrong\"\nimage = \"{{build}}/images/wrong-on-purpose\"\nkind = \"sequential\"\n"
        )
    });
    let folder = Folder::new(&on_fixtures(
        &["DiningTable-PT-03"],
        &["ReachabilityCardinality"],
        &["breadth-first", "depth-first"],
        &(variants.concat() + "[hosts]\njobs = 2\n"),
    ));
    folder.run(&[]).success();
    let certified = certify(&folder, &[]);
    let expected = rows(&Path::new(FIXTURES).join("expected/DiningTable-PT-03.csv"));
    let alarms = rows(&certified.join("alarms.csv"));
    let mut witnessed = 0;
    for row in rows(&certified.join("certified.csv")) {
        let position = row["position"].as_str();
        let is_here = |listed: &&BTreeMap<String, String>| listed["position"] == position;
        let right =
            expected.iter().filter(|value| value["examination"] == "ReachabilityCardinality").find(is_here);
        assert_eq!(row["value"], right.unwrap()["value"], "{row:?}");
        let tools: Vec<&str> = alarms.iter().filter(is_here).map(|alarm| alarm["tool"].as_str()).collect();
        // At these positions the variants are wrong, and three votes outnumber two.
        if ["01", "05", "09", "13"].contains(&position) {
            assert_ne!(row["trusted"], row["value"], "{row:?}");
            assert_eq!(tools, WRONG, "{row:?}");
            witnessed += u32::from(row["method"] == "witness");
        } else {
            assert_eq!((&row["trusted"], tools), (&row["value"], vec![]), "{row:?}");
        }
    }
    assert!(witnessed > 0);
    let overrides = rows(&certified.join("overrides.csv"));
    assert_eq!(overrides.len(), 4, "{overrides:?}");
}

/// The commands of a fake machine whose tool answers UpperBounds and leaves these files of evidence.
fn machine_with(files: &[(&str, &str)]) -> String {
    let answers: String = (0..16)
        .map(|n| format!("FORMULA DiningTable-PT-03-UpperBounds-{n:02} 1 TECHNIQUES EXPLICIT\n"))
        .collect();
    let mut commands = format!("answers=$'{}'\n", answers.replace('\n', "\\n"));
    commands += "power_on; ready; prepared; started; printf %s \"$answers\" >&\"$stdout\"; ended\n";
    for (file, text) in files {
        let text = text.replace('"', "\\\"");
        commands += &format!("agent_event evidence '\"file\":\"{file}\",\"part\":\"{text}\"'\n");
    }
    commands + "drained \"${#answers}\"; answer_until quit\n"
}

fn witness(position: usize, steps: &str) -> String {
    format!(
        r#"{{"version":1,"instance":"DiningTable-PT-03","examination":"UpperBounds","property":"DiningTable-PT-03-UpperBounds-{position:02}","value":"1","runs":[{{"steps":[{steps}]}}]}}"#
    )
}

/// Tool, position, kind, shown value, verdict and reason of each file of evidence that was checked.
fn checked_evidence(certified: &Path) -> Vec<(String, String, String, String, String, String)> {
    let row = |row: BTreeMap<String, String>| {
        let short = |key: &str| row[key].clone();
        (short("tool"), short("position"), short("kind"), short("shown"), short("verdict"), short("reason"))
    };
    rows(&certified.join("tool-evidence.csv")).into_iter().map(row).collect()
}

/// A certificate that the bound of position 00 is at most 1.
fn certificate() -> String {
    // Each fork is free, or one of its two neighbours holds it.
    let weights = ["Fork_3", "Waiting_3", "Eating_3", "Eating_2"];
    let weights = weights.map(|place| format!(r#"{{"place":"{place}","weight":"1"}}"#)).join(",");
    format!(
        r#"{{"version":1,"instance":"DiningTable-PT-03","examination":"UpperBounds","property":"DiningTable-PT-03-UpperBounds-00","value":"1","lemmas":[{{"inequality":{{"weights":[{weights}],"bound":"1"}}}}],"proof":[{{"contradiction":{{"lemmas":[[0,"1"]],"assumptions":[[0,"1"]]}}}}]}}"#
    )
}

const ONE: &str = "tool-0/DiningTable-PT-03/UpperBounds";

#[test]
fn evidence_of_tools_is_accepted_or_refused_with_a_reason() {
    let folder = Folder::with_fake_qemu(2, &["UpperBounds"], "");
    let campaign = folder.path().join("campaign.toml");
    let text = fs::read_to_string(&campaign).unwrap();
    fs::write(&campaign, format!("tool_evidence = true\n{text}")).unwrap();
    let certificate = certificate();
    let (right, disabled, other) = (witness(0, ""), witness(1, "\"TakeRight_1\""), witness(4, ""));
    let trivial = witness(6, "").replace("\"value\":\"1\"", "\"value\":\"0\"");
    // Fractions with almost the same denominators of 4093 digits: their sum has a denominator of all digits together.
    let bound = |n: usize| format!("1{:04092}", 2 * n + 1);
    let lemma = |n: usize| format!(r#"{{"inequality":{{"weights":[],"bound":"1/{}"}}}}"#, bound(n));
    let factor = |n: usize| format!(r#"[{n},"1"]"#);
    let (lemmas, factors): (Vec<_>, Vec<_>) = (0..8).map(|n| (lemma(n), factor(n))).unzip();
    let slow = format!(
        r#"{{"version":1,"instance":"DiningTable-PT-03","examination":"UpperBounds","property":"DiningTable-PT-03-UpperBounds-07","value":"1","lemmas":[{}],"proof":[{{"contradiction":{{"lemmas":[{}],"assumptions":[]}}}}]}}"#,
        lemmas.join(","),
        factors.join(",")
    );
    let (start, end) = right.split_at(70);
    let blanks = " ".repeat(MAX_PART);
    let mut files = vec![
        ("00.certificate.json", certificate.as_str()),
        ("00.witness.json", start),
        ("00.witness.json", end),
        ("01.witness.json", &disabled),
        ("02.witness.json", "no JSON"),
    ];
    files.extend((0..MAX_FILE as usize / MAX_PART).map(|_| ("03.witness.json", blanks.as_str())));
    files.push(("03.witness.json", " "));
    files.push(("05.witness.json", &other));
    files.push(("06.witness.json", &trivial));
    files.push(("07.certificate.json", &slow));
    files.push(("40.witness.json", &other));
    folder.fake_qemu(&machine_with(&files));
    folder.run(&["--only", "tool-0/*"]).success();
    let attempt = folder.record().attempts(&ONE.parse().unwrap()).unwrap().remove(0);
    assert!(!attempt.marks.contains(&Mark::GUEST_MESSAGES), "{:?}", attempt.marks);
    let kept: Vec<&str> = attempt.outputs.iter().map(|output| output.role.as_str()).collect();
    assert!(kept.contains(&"00.certificate.json") && kept.contains(&"05.witness.json"), "{kept:?}");
    assert_eq!(folder.output(ONE, 1, "00.witness.json"), right);
    // A guest that sends more than the limit, or another name, is marked.
    let unwanted = [("03.witness.json", blanks.as_str()); 33];
    folder.fake_qemu(&machine_with(&[&unwanted[..], &[("../stolen", "x"), ("stdout", "x")]].concat()));
    folder.run(&[]).success();
    let attempt =
        folder.record().attempts(&ONE.replace("tool-0", "tool-1").parse().unwrap()).unwrap().remove(0);
    assert!(attempt.marks.contains(&Mark::GUEST_MESSAGES), "{:?}", attempt.marks);
    let of_evidence: Vec<_> =
        attempt.outputs.iter().filter(|output| output.role.ends_with(".json")).collect();
    assert_eq!((of_evidence.len(), of_evidence[0].bytes), (1, MAX_FILE));

    let certified = certify(&folder, &["--record", "results", "--tool-evidence"]);
    let checked = checked_evidence(&certified);
    let expected = [
        ("tool-0", "00", "certificate", "1", "accepted", ""),
        ("tool-0", "00", "witness", "1", "accepted", ""),
        ("tool-0", "01", "witness", "1", "refused", "TakeRight_1 is not enabled"),
        ("tool-0", "02", "witness", "", "refused", "line 1"),
        ("tool-0", "03", "witness", "", "refused", "longer than 4194304 bytes"),
        (
            "tool-0",
            "05",
            "witness",
            "1",
            "refused",
            "it is of the property \"DiningTable-PT-03-UpperBounds-04\"",
        ),
        ("tool-0", "06", "witness", "0", "bound only", ""),
        ("tool-0", "07", "certificate", "1", "not checked", "a number has more than 65536 bits"),
        ("tool-0", "40", "witness", "1", "refused", "UpperBounds has no position 40"),
        ("tool-1", "03", "witness", "", "refused", "line 1"),
    ];
    assert_eq!(checked.len(), expected.len(), "{checked:?}");
    for (row, (tool, position, kind, shown, verdict, reason)) in checked.iter().zip(expected) {
        let (found, why) = ((&*row.0, &*row.1, &*row.2, &*row.3, &*row.4), &row.5);
        assert_eq!(found, (tool, position, kind, shown, verdict), "{row:?}");
        assert!(why.contains(reason) && why.is_empty() == reason.is_empty(), "{row:?}");
    }
}

#[test]
fn evidence_of_tools_is_not_kept_by_default() {
    let folder = Folder::with_fake_qemu(1, &["UpperBounds"], "");
    folder.fake_qemu(&machine_with(&[("00.witness.json", "{}")]));
    folder.run(&[]).success();
    let attempt = folder.record().attempts(&ONE.parse().unwrap()).unwrap().remove(0);
    assert!(!attempt.outputs.iter().any(|output| output.role.ends_with(".json")), "{:?}", attempt.outputs);
    let certified = certify(&folder, &["--record", "results", "--tool-evidence"]);
    assert_eq!(rows(&certified.join("tool-evidence.csv")), []);
}

#[test]
fn evidence_over_ssh_is_accepted_and_refused_as_that_of_a_built_image() {
    let folder = Folder::on_one_core(
        r#"tool_evidence = true
edition = "mcc-2018"
inputs = "{fixtures}"
instances = ["DiningTable-PT-03"]
examinations = ["UpperBounds"]
[[tool]]
entry = "original"
image = "original.raw"
kind = "sequential"
channel = "ssh"
ssh_key = "{build}/images/kit/key"
[[tool]]
entry = "built"
image = "built"
kind = "sequential"
[hosts]
retries = 0
boot_deadline_s = 1800
prepare_deadline_s = 1800
collect_deadline_s = 1800
"#,
    );
    let tool = folder.path().join("tool");
    fs::create_dir(&tool).unwrap();
    let head = tool.join("BenchKit_head.sh");
    let (right, wrong, certificate) = (witness(0, ""), witness(1, "\"TakeRight_1\""), certificate());
    let script = format!(
        r#"#!/bin/bash
for n in {{00..15}}; do echo "FORMULA $BK_INPUT-UpperBounds-$n 1 TECHNIQUES EXPLICIT"; done
cd "$BK_RESULT_DIR"
printf %s '{certificate}' > 00.certificate.json
printf %s '{right}' > 00.witness.json
printf %s '{wrong}' > 01.witness.json
echo 'no JSON' > 02.witness.json
ln -s 00.witness.json 03.witness.json
ln -s /etc/passwd 04.witness.json
truncate -s 100G 05.witness.json
mkfifo 06.witness.json
mkdir 07.witness.json
mkdir 08.witness.json
echo 'not seen' > 08.witness.json/08.witness.json
head -c 3000000 /dev/zero | tr '\0' ' ' > 09.certificate.json
printf '\377\0\n' > 10.witness.json
name=$(printf %0250d 0)
for n in {{1..2000}}; do : > "$name$n"; : > $'$(touch stolen)\n'"$n.witness.json"; done
exit 0
"#
    );
    fs::write(&head, script).unwrap();
    images::with_tool(&tool, &folder.path().join("built"));
    let at = PathBuf::from("/home/mcc/BenchKit/BenchKit_head.sh");
    images::original_disk(&folder.path().join("original.raw"), &[(at, head)]);
    folder.run(&[]).success();

    let [original, built] = ["original", "built"].map(|entry| {
        let id = format!("{entry}/DiningTable-PT-03/UpperBounds");
        let attempt = folder.record().attempts(&id.parse().unwrap()).unwrap().remove(0);
        assert!(!attempt.marks.contains(&Mark::GUEST_MESSAGES), "{:?}", attempt.marks);
        assert!(!attempt.marks.contains(&Mark::OUTPUT_INCOMPLETE), "{:?}", attempt.marks);
        let kept = attempt.outputs.into_iter().filter(|output| output.role.ends_with(".json"));
        kept.map(|output| (output.role, output.bytes, output.sha256)).collect::<Vec<_>>()
    });
    assert_eq!(original, built);
    let names: Vec<&str> = original.iter().map(|(name, ..)| &**name).collect();
    let expected = [
        "00.certificate.json",
        "00.witness.json",
        "01.witness.json",
        "02.witness.json",
        "05.witness.json",
        "09.certificate.json",
        "10.witness.json",
    ];
    assert_eq!(names, expected);
    assert_eq!(original[4].1, MAX_FILE + 1);

    let certified = certify(&folder, &["--record", "results", "--tool-evidence"]);
    let checked = checked_evidence(&certified);
    let expected = [
        ("00", "1", "accepted", ""),
        ("00", "1", "accepted", ""),
        ("01", "1", "refused", "TakeRight_1 is not enabled"),
        ("02", "", "refused", "line 1"),
        ("05", "", "refused", "longer than 4194304 bytes"),
        ("09", "", "refused", ""),
        ("10", "", "refused", "line 1"),
    ];
    for tool in ["original", "built"] {
        let of_tool: Vec<_> = checked.iter().filter(|row| row.0 == tool).collect();
        assert_eq!(of_tool.len(), expected.len(), "{of_tool:?}");
        for (row, (position, shown, verdict, reason)) in of_tool.into_iter().zip(expected) {
            assert_eq!((&*row.1, &*row.3, &*row.4), (position, shown, verdict), "{row:?}");
            assert!(row.5.contains(reason), "{row:?}");
        }
    }
}
