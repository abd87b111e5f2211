//! What `report --certified` shows and refuses.

use crate::certification::{certify, outvoted};
use crate::support::commands::harness;

use std::fs;

#[test]
fn the_site_shows_contradicted_answers_with_their_evidence() {
    let folder = outvoted();
    let at = |name: &str| folder.path().join(name);
    certify(folder.path(), "--only disputed").assert().success();
    let judge = "judge answers.csv --edition mcc-2018 --out labelled --certified certified";
    harness(folder.path(), judge).assert().success();
    for judgement in ["judged", "labelled"] {
        harness(folder.path(), &format!("report {judgement} --out site-{judgement}")).assert().success();
    }
    let read = |path: &str| fs::read_to_string(at(path)).unwrap();
    let page = read("site-labelled/evidence.html");
    for text in [
        "wrong-1: FALSE, wrong-2: FALSE, wrong-3: FALSE",
        "evidence/DiningTable-PT-03/",
        "<td>0.0 %</td>",
        "Ranks by votes and by evidence",
        "report --certified</code> adds it to the site",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(read("site-labelled/instances/DiningTable-PT-03.js").contains("Refuted: the value is"));
    assert!(page.contains("but did not check these on the nets"));
    // A judgement without certified values has neither.
    for text in ["Certified values", "by evidence"] {
        assert!(!read("site-judged/evidence.html").contains(text), "{text}");
    }
    assert!(!read("site-judged/instances/DiningTable-PT-03.js").contains("certified"));
}

#[test]
fn a_site_refuses_evidence_that_was_not_judged() {
    let folder = outvoted();
    certify(folder.path(), "--only disputed").assert().success();
    let judge = "judge answers.csv --edition mcc-2018 --out labelled --certified certified";
    harness(folder.path(), judge).assert().success();
    let table = folder.path().join("certified/certified.csv");
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("certified.csv"), fs::read_to_string(&table).unwrap() + "\n").unwrap();
    for (given, expected) in [
        (
            "judged --certified certified",
            "judged has no certified values; run `judge` again with --certified certified",
        ),
        ("labelled --certified judged", "cannot read judged/certified.csv"),
        ("labelled --certified other", "other/certified.csv is not the table that was judged"),
    ] {
        let done = harness(folder.path(), &format!("report {given} --out site")).assert().code(2);
        let said = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
        assert!(said.contains(expected) && !folder.path().join("site").exists(), "{said}");
    }
}

#[test]
fn evidence_outside_of_the_folder_of_certify_is_not_judged() {
    let folder = outvoted();
    certify(folder.path(), "--only disputed").assert().success();
    let path = folder.path().join("certified/certified.csv");
    let table = fs::read_to_string(&path).unwrap();
    fs::write(&path, table.replacen("evidence/", "../", 1)).unwrap();
    let judge = "judge answers.csv --edition mcc-2018 --out labelled --certified certified";
    let done = harness(folder.path(), judge).assert().code(2);
    let said = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
    for part in ["certified.csv:2: column evidence: `../", "not a file in the folder of `certify`"] {
        assert!(said.contains(part), "{said}");
    }
    assert!(!folder.path().join("labelled").exists());
}

/// Changes of the table, or of a file of evidence, after which a value is not what its evidence states.
#[test]
fn a_value_that_its_evidence_does_not_state_is_not_judged() {
    let folder = outvoted();
    let at = |name: &str| folder.path().join("certified").join(name);
    certify(folder.path(), "--only disputed").assert().success();
    let table = fs::read_to_string(at("certified.csv")).unwrap();
    let deadlock = "evidence/DiningTable-PT-03/ReachabilityDeadlock-00.witness.json";
    let row = table.lines().find(|row| row.contains(deadlock)).unwrap().to_owned();
    let (witness, other) = (at(deadlock), at("evidence/TokenLoop-PT-03"));
    let evidence = fs::read_to_string(&witness).unwrap();
    let refused = |reason: &str| {
        let judge = "judge answers.csv --edition mcc-2018 --out labelled --certified certified";
        let done = harness(folder.path(), judge).assert().code(2);
        let said = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
        assert!(said.contains("certified.csv:") && said.contains("column "), "{said}");
        assert!(said.contains(reason) && said.contains("; certify again"), "{reason}: {said}");
        assert!(!folder.path().join("labelled").exists());
    };
    let id = row.split(',').nth(3).unwrap();
    for (changed, reason) in [
        (
            row.replacen(&format!(",{id},"), ",,", 1),
            "states the property `DiningTable-PT-03-ReachabilityDeadlock-0`, not ``",
        ),
        (row.replace(",witness,T,", ",witness,F,"), "states the value `TRUE`, not FALSE"),
        (row.replace(",witness,T,", ",witness,7,"), "no witness shows the value 7 of ReachabilityDeadlock"),
        (row.replace(",witness,T,", ",proof,T,"), "the method proof has `evidence/DiningTable-PT-03/"),
        (row.replace(",witness,T,", ",explored,T,"), "the method explored has `evidence/DiningTable-PT-03/"),
        (row.replace("-00.witness", "-01.witness"), "the method witness has `evidence/DiningTable-PT-03/"),
        (row.replace(deadlock, ""), "the evidence is ``"),
    ] {
        assert_ne!(changed, row);
        fs::write(at("certified.csv"), table.replace(&row, &changed)).unwrap();
        refused(reason);
    }
    fs::write(at("certified.csv"), &table).unwrap();
    for (from, to, reason) in [
        ("\"TRUE\"", "\"FALSE\"", "states the value `FALSE`, not TRUE"),
        ("\"DiningTable-PT-03\"", "\"DiningTable-PT-05\"", "states the instance `DiningTable-PT-05`"),
        (
            "\"examination\": \"ReachabilityDeadlock\"",
            "\"examination\": \"OneSafe\"",
            "states the examination",
        ),
        ("\"property\": \"", "\"property\": \"x", "states the property `x"),
        ("{", "", "cannot be read"),
    ] {
        let changed = evidence.replacen(from, to, 1);
        assert_ne!(changed, evidence, "{from}");
        fs::write(&witness, changed).unwrap();
        refused(reason);
    }
    fs::remove_file(&witness).unwrap();
    refused("cannot be read: No such file");
    std::os::unix::fs::symlink(other, &witness).unwrap();
    refused("is a symbolic link");
}
