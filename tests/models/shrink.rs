//! `shrink`: an instance on which two tools disagree becomes small, and its report reproduces the disagreement.

use crate::support::commands::harness;
use mcc_harness::model::Archive;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const INSTANCE: &str = "Ring-PT-500";
const EXAMINATION: &str = "ReachabilityCardinality";
const PROPERTY: &str = "Ring-PT-500-ReachabilityCardinality-01";

/// A net with a deadlock, and the property that asks for it.
const DINING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/pnml-fixtures/DiningTable-PT-03.tgz");
const DEADLOCK: &str = "DiningTable-PT-03-ReachabilityDeadlock-0";

/// Writes a ring of 500 places and 500 transitions with one token, in which one transition needs two tokens, and 3 formulas:
/// can the token reach a place behind this transition?
fn instance(folder: &Path) {
    let folder = folder.join(INSTANCE);
    fs::create_dir(&folder).unwrap();
    let mut net = format!(
        "<pnml xmlns=\"http://www.pnml.org/version-2009/grammar/pnml\"><net id=\"{INSTANCE}\" \
         type=\"http://www.pnml.org/version-2009/grammar/ptnet\"><page id=\"page\">\n"
    );
    for n in 0..500 {
        let (tokens, next, weight) = (usize::from(n == 0), (n + 1) % 500, if n == 300 { 2 } else { 1 });
        let _ = writeln!(
            net,
            "<place id=\"p{n}\"><name><text>p{n}</text></name><initialMarking><text>{tokens}</text></initialMarking></place>\
             <transition id=\"t{n}\"><name><text>t{n}</text></name></transition>\
             <arc id=\"in{n}\" source=\"p{n}\" target=\"t{n}\"><inscription><text>{weight}</text></inscription></arc>\
             <arc id=\"out{n}\" source=\"t{n}\" target=\"p{next}\"/>"
        );
    }
    net += "</page></net></pnml>\n";
    fs::write(folder.join("model.pnml"), net).unwrap();
    for (file, text) in [("iscolored", "FALSE\n"), ("instance", "500\n"), ("equiv_col", "FALSE\n")] {
        fs::write(folder.join(file), text).unwrap();
    }
    let mut formulas = "<property-set xmlns=\"http://mcc.lip6.fr/\">\n".to_owned();
    for (number, places) in
        ["<place>p3</place>", "<place>p350</place><place>p320</place>", "<place>p499</place>"]
            .iter()
            .enumerate()
    {
        let _ = writeln!(
            formulas,
            "<property><id>{INSTANCE}-{EXAMINATION}-{number:02}</id><description>d</description><formula><exists-path><finally>\
             <conjunction><negation><integer-le><tokens-count>{places}</tokens-count><integer-constant>0</integer-constant>\
             </integer-le></negation><integer-le><tokens-count><place>p7</place></tokens-count><integer-constant>5\
             </integer-constant></integer-le></conjunction></finally></exists-path></formula></property>"
        );
    }
    fs::write(folder.join(format!("{EXAMINATION}.xml")), formulas + "</property-set>\n").unwrap();
}

/// Creates the folder of a tool that runs these commands.
fn tool_with(folder: &Path, name: &str, commands: &str) {
    let tool = folder.join(name);
    fs::create_dir_all(tool.join("bin")).unwrap();
    let head = tool.join("BenchKit_head.sh");
    fs::write(&head, format!("#!/bin/bash\n{commands}\n")).unwrap();
    fs::set_permissions(&head, PermissionsExt::from_mode(0o755)).unwrap();
}

/// Creates the folder of a tool: the reference tool, after these commands.
fn tool(folder: &Path, name: &str, before: &str) {
    let run = "exec \"$BK_BIN_PATH/mcc-reference-tool\" --strategy bfs";
    tool_with(folder, name, &format!("{before}\n{run}"));
    let tool = folder.join(name);
    let program = Path::new(env!("CARGO_BIN_EXE_mcc-harness")).with_file_name("mcc-reference-tool");
    fs::copy(program, tool.join("bin/mcc-reference-tool")).unwrap();
}

/// The instance, the right tool, and a tool that takes every weight of an arc for 1.
fn disputed() -> TempDir {
    let folder = TempDir::new().unwrap();
    instance(folder.path());
    tool(folder.path(), "right", "");
    let ignore_weights = "sed -i -E 's|<inscription><text>[0-9]+<|<inscription><text>1<|' model.pnml";
    tool(folder.path(), "wrong", ignore_weights);
    folder
}

fn json(file: &Path) -> serde_json::Value {
    serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

#[test]
fn a_bug_in_a_thousand_nodes_is_reduced_to_ten() {
    let folder = disputed();
    let folder = folder.path();
    let shrink = format!("shrink {INSTANCE} --examination {EXAMINATION} --property {PROPERTY} --limit 60");
    harness(folder, &format!("{shrink} --tool wrong --against right --out report")).assert().success();
    let report = json(&folder.join("report/report.json"));
    assert_eq!(
        (&report["nodes_before"], &report["values"]),
        (&1000.into(), &serde_json::json!(["TRUE", "FALSE"]))
    );
    assert!(report["nodes_after"].as_u64().unwrap() <= 10, "{report}");
    let values = ["program-1", "program-2"].map(|program| {
        let output = fs::read_to_string(folder.join("report").join(program).join("stdout")).unwrap();
        let line = output.lines().find(|line| line.starts_with(&format!("FORMULA {PROPERTY} "))).unwrap();
        line.split_whitespace().nth(2).unwrap().to_owned()
    });
    assert_eq!(values, ["TRUE", "FALSE"]);
    // The command of the report gives the same values on the reduced instance, of which nothing more can be removed.
    let text = fs::read_to_string(folder.join("report/README.md")).unwrap();
    let command = text.lines().find_map(|line| line.strip_prefix("    mcc-harness ")).unwrap();
    harness(folder, command).assert().success();
    let again = json(&folder.join("again/report.json"));
    assert_eq!(
        (&again["nodes_before"], &again["nodes_after"]),
        (&report["nodes_after"], &report["nodes_after"])
    );
    assert_eq!(again["values"], report["values"]);
    // `certify` in place of the right tool.
    let command = command.replace(" --against right", "").replace("--out again", "--out certified");
    harness(folder, &command).assert().success();
    assert_eq!(json(&folder.join("certified/report.json"))["values"], report["values"]);
}

/// The tool runs with the rights of the user, and changes what it finds above its folder.
#[test]
fn a_tool_changes_neither_the_net_of_the_other_tool_nor_the_report() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    tool(folder, "right", "");
    fs::write(folder.join("victim"), "unchanged").unwrap();
    let victim = folder.join("victim");
    let changes = format!(
        "echo FORMULA {DEADLOCK} FALSE TECHNIQUES EXPLICIT\n\
         for net in ../../../model.pnml ../../../*/model.pnml ../../../../model.pnml; do echo '<pnml/>' > $net; done\n\
         for up in ../../.. ../../../..; do ln -s {} $up/README.md; ln -s {} $up/report.json; done\n",
        victim.display(),
        victim.display()
    );
    tool_with(folder, "wrong", &format!("{changes}exit 0"));
    let shrink =
        format!("shrink {DINING} --examination ReachabilityDeadlock --property {DEADLOCK} --limit 60");
    harness(folder, &format!("{shrink} --tool wrong --against right --out report")).assert().success();
    assert_eq!(json(&folder.join("report/report.json"))["values"], serde_json::json!(["FALSE", "TRUE"]));
    Archive::open(&folder.join("report/DiningTable-PT-03")).unwrap().net().unwrap();
    assert!(!folder.join("report/README.md").is_symlink());
    assert_eq!(fs::read_to_string(victim).unwrap(), "unchanged");
}

/// A tool that answers FALSE in ReachabilityDeadlock, whatever the net; the net has a deadlock.
#[test]
fn the_question_of_an_examination_with_one_value_stays() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    tool_with(folder, "wrong", &format!("echo FORMULA {DEADLOCK} FALSE TECHNIQUES EXPLICIT"));
    let shrink = format!("shrink {DINING} --examination ReachabilityDeadlock --property {DEADLOCK}");
    harness(folder, &format!("{shrink} --tool wrong --out report")).assert().success();
    let report = json(&folder.join("report/report.json"));
    assert_eq!(report["values"], serde_json::json!(["FALSE", "TRUE"]));
    // Four billion runs end with --time, and it is said that nothing was reduced.
    let runs = format!("{shrink} --tool wrong --runs 4294967295 --agreeing 4294967295 --time 2 --out none");
    let begun = Instant::now();
    let ended = harness(folder, &runs).assert().code(2);
    let said = String::from_utf8_lossy(&ended.get_output().stderr).into_owned();
    assert!(said.contains("within --time (2 s); give a higher --time, or fewer --runs"), "{said}");
    assert!(
        begun.elapsed() < Duration::from_secs(60) && !folder.join("none").exists(),
        "{:?}",
        begun.elapsed()
    );
    let reduced = Archive::open(&folder.join("report/DiningTable-PT-03")).unwrap();
    let original = Archive::open(Path::new(DINING)).unwrap();
    let properties = |archive: &Archive| archive.properties("ReachabilityDeadlock").unwrap();
    assert_eq!(properties(&reduced), properties(&original));
    assert!(reduced.net().unwrap().transitions.is_empty(), "the smallest net with a deadlock");
}

/// A tool that answers FALSE if the net has a `<subtract>`: can the place `others` get two tokens?
#[test]
fn a_coloured_net_is_reduced_with_its_colours() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let (instance, property) = ("Colours-COL-1", format!("Colours-COL-1-{EXAMINATION}-00"));
    fs::create_dir(folder.join(instance)).unwrap();
    let vector =
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/evidence/instances/Colours-COL-1/model.pnml");
    // Ten colours of which the first three are in the classes of the partition that the vector has.
    let net = fs::read_to_string(vector).unwrap();
    let more = |form: fn(usize) -> String| (3..10).map(form).collect::<String>();
    let net = net.replace(
        "</cyclicenumeration>",
        &(more(|n| format!("<feconstant id=\"c{n}\" name=\"{n}\"/>")) + "</cyclicenumeration>"),
    );
    let high = "<useroperator declaration=\"c2\"/></partitionelement>";
    let net = net.replace(high, &(more(|n| format!("<useroperator declaration=\"c{n}\"/>")) + high));
    fs::write(folder.join(instance).join("model.pnml"), net).unwrap();
    for (file, text) in [("iscolored", "TRUE\n"), ("instance", "1\n"), ("equiv_pt", "FALSE\n")] {
        fs::write(folder.join(instance).join(file), text).unwrap();
    }
    let formula = "<exists-path><finally><integer-le><integer-constant>2</integer-constant><tokens-count>\
                   <place>others</place></tokens-count></integer-le></finally></exists-path>";
    let properties = format!(
        "<property-set xmlns=\"http://mcc.lip6.fr/\"><property><id>{property}</id><description>d</description>\
         <formula>{formula}</formula></property></property-set>\n"
    );
    fs::write(folder.join(instance).join(format!("{EXAMINATION}.xml")), properties).unwrap();
    fs::create_dir_all(folder.join("wrong/bin")).unwrap();
    let head = folder.join("wrong/BenchKit_head.sh");
    let is_wrong = format!(
        "grep -q '<subtract>' model.pnml && grep -q others {EXAMINATION}.xml && grep -q '>2<' {EXAMINATION}.xml"
    );
    let answer = |value: &str| format!("echo FORMULA {property} {value} TECHNIQUES EXPLICIT");
    let script =
        format!("#!/bin/bash\nif {is_wrong}; then {}; else {}; fi\n", answer("FALSE"), answer("TRUE"));
    fs::write(&head, script).unwrap();
    fs::set_permissions(&head, PermissionsExt::from_mode(0o755)).unwrap();
    let shrink = format!("shrink {instance} --examination {EXAMINATION} --property {property} --tool wrong");
    harness(folder, &format!("{shrink} --out report")).assert().success();
    let report = json(&folder.join("report/report.json"));
    assert_eq!(report["values"], serde_json::json!(["FALSE", "TRUE"]));
    assert_eq!((&report["nodes_before"], &report["nodes_after"]), (&6.into(), &2.into()), "{report}");
    // One transition that puts all colours but one on the place.
    let reduced = Archive::open(&folder.join("report").join(instance)).unwrap();
    let net = reduced.symmetric_net().unwrap();
    let colours = |id: &str| net.sorts.iter().find(|sort| sort.id == id).unwrap().colours;
    // Its guard mentions the second integer of the range.
    assert_eq!(["C", "R"].map(colours), [2, 2]);
    assert_eq!((net.places[0].id.as_str(), net.transitions[0].inputs.len()), ("others", 0));
}

#[test]
fn without_a_disagreement_nothing_is_written() {
    let folder = disputed();
    let folder = folder.path();
    let refused = |arguments: &str, expected: &str| {
        let command = format!("shrink {INSTANCE} --examination {EXAMINATION} {arguments} --out report");
        let output = harness(folder, &command).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(expected), "{message}");
        assert!(!folder.join("report").exists());
    };
    refused(&format!("--property {PROPERTY} --tool right"), "both give FALSE");
    refused("--property unknown --tool wrong --against right", "has no unknown; it has ");
    tool(folder, "silent", "exit 0");
    let without = format!("silent ended without a value of {PROPERTY} after ");
    refused(&format!("--property {PROPERTY} --tool wrong --against silent"), &without);
    tool(folder, "broken", "exit 3");
    refused(&format!("--property {PROPERTY} --tool broken"), "s (finished with exit code 3); correct it");
    tool(folder, "slow", "sleep 60");
    refused(&format!("--property {PROPERTY} --tool slow --limit 1"), "within 1 s; give a higher --limit");
    refused(&format!("--property {PROPERTY} --tool {INSTANCE}"), "contains no BenchKit_head.sh");
}

#[test]
fn a_tool_that_answers_in_two_of_three_runs_is_reduced_by_their_majority() {
    let folder = disputed();
    let folder = folder.path();
    let count = folder.join("count");
    fs::write(&count, "0").unwrap();
    fs::set_permissions(&count, PermissionsExt::from_mode(0o666)).unwrap();
    let count = count.display();
    let unsteady = format!("n=$(cat {count}); echo $((n + 1)) > {count}; [ $((n % 3)) != 0 ] || exit 0");
    let ignore_weights = "sed -i -E 's|<inscription><text>[0-9]+<|<inscription><text>1<|' model.pnml";
    tool(folder, "unsteady", &format!("{unsteady}\n{ignore_weights}"));
    let shrink = format!(
        "shrink {INSTANCE} --examination {EXAMINATION} --property {PROPERTY} --limit 300 --tool unsteady --against right"
    );
    harness(folder, &format!("{shrink} --out once")).assert().code(2);
    harness(folder, &format!("{shrink} --runs 3 --agreeing 4 --out never")).assert().code(2);
    // A busy host needs more time to remove the first nodes.
    let is_reduced = [30, 120, 480].into_iter().any(|time| {
        harness(folder, &format!("{shrink} --runs 3 --time {time} --out voted-{time}")).assert().success();
        let report = json(&folder.join(format!("voted-{time}/report.json")));
        assert_eq!(report["values"], serde_json::json!(["TRUE", "FALSE"]));
        report["nodes_after"].as_u64().unwrap() < 1000
    });
    assert!(is_reduced);
}
