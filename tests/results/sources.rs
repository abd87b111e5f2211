//! `judge` with several sources: records, archives and tables of answers.

use crate::support::deadlock_answers;
use crate::support::runs;
use crate::support::tool;

use assert_cmd::Command;
use deadlock_answers::table;
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// Runs a command line in a folder and returns its stderr.
fn run(folder: &Path, line: &str, code: i32) -> String {
    let mut harness = Command::cargo_bin("mcc-harness").unwrap();
    let done = harness.current_dir(folder).args(line.split_whitespace()).assert().code(code);
    String::from_utf8(done.get_output().stderr.clone()).unwrap()
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn several_sources_are_judged_as_one_table() {
    let folder = TempDir::new().unwrap();
    let field = [("a", "TTF"), ("b", "TTF"), ("c", "TF?")];
    fs::write(folder.path().join("field.csv"), table(&field)).unwrap();
    fs::write(folder.path().join("own.csv"), table(&[("own", "TTT")])).unwrap();
    fs::write(folder.path().join("all.csv"), table(&[&field[..], &[("own", "TTT")]].concat())).unwrap();
    run(folder.path(), "judge field.csv own.csv --edition mcc-2018 --out together", 0);
    run(folder.path(), "judge own.csv field.csv --edition mcc-2018 --out reversed", 0);
    run(folder.path(), "judge all.csv --edition mcc-2018 --out one", 0);
    for file in ["trusted.csv", "scores.csv", "podiums.csv", "confidence.csv", "tools.csv"] {
        let text = |dir: &str| read(folder.path(), &format!("{dir}/{file}"));
        assert_eq!(text("together"), text("one"), "{file}");
        assert_eq!(text("together"), text("reversed"), "{file}");
    }
    let judgement = read(folder.path(), "together/judgement.json");
    assert!(judgement.contains("\"field.csv\"") && judgement.contains("\"own.csv\""));
}

#[test]
fn an_entry_in_two_sources_needs_a_decision() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("field.csv"), table(&[("a", "TT"), ("b", "TT"), ("own", "FF")])).unwrap();
    fs::write(folder.path().join("new.csv"), table(&[("own", "TT")])).unwrap();
    let judge = "judge field.csv new.csv --edition mcc-2018 --out out";
    let error = run(folder.path(), judge, 2);
    assert!(error.contains("entry own is in field.csv and in new.csv"), "{error}");
    assert!(error.contains("--replace 'own=field.csv' or --replace 'own=new.csv'"), "{error}");
    let error = run(folder.path(), "judge new.csv new.csv --edition mcc-2018 --out out", 2);
    assert!(error.contains("new.csv is given twice; give each source once"), "{error}");
    for (source, right) in [("new.csv", 2), ("field.csv", 0)] {
        run(folder.path(), &format!("{judge} --replace own={source}"), 0);
        let scores = read(folder.path(), "out/scores.csv");
        assert!(scores.contains(&format!("own,ReachabilityDeadlock,{right},")), "{source}: {scores}");
    }
    for (replace, part) in [
        ("own=old.csv", "give one of these"),
        ("a=field.csv", "only field.csv"),
        ("x=new.csv", "no source has"),
        ("own", "expected ENTRY=SOURCE"),
        ("own=new.csv --replace own=field.csv", "names an entry twice"),
    ] {
        let error = run(folder.path(), &format!("{judge} --replace {replace}"), 2);
        assert!(error.contains(part), "{replace}: {error}");
    }
}

#[test]
fn sources_that_do_not_fit_together_are_refused() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("field.csv"), table(&[("a", "TT"), ("b", "TT")])).unwrap();
    let other = table(&[("own", "TT")]).replace("F-PT", "G-PT");
    fs::write(folder.path().join("other.csv"), other).unwrap();
    let error = run(folder.path(), "judge field.csv other.csv --edition mcc-2018 --out out", 2);
    assert!(
        error.contains("field.csv has no instance and examination in common with the other sources"),
        "{error}"
    );
    let error = run(folder.path(), "judge field.csv other.csv --edition svcomp-2013 --out out", 2);
    assert!(error.contains("several sources are for editions of the MCC"), "{error}");
    assert!(!folder.path().join("out").exists());
}

#[test]
fn an_archive_is_a_source_with_its_record_s_judgement() {
    let folder = TempDir::new().unwrap();
    let archives = [tool::fixtures().join("TokenLoop-PT-03.tgz")];
    let examinations = ["StateSpace", "ReachabilityDeadlock"];
    drop(runs::record(&folder.path().join("results"), &archives, &examinations, runs::printed));
    run(folder.path(), "export results --archive campaign.tar.zst", 0);
    run(folder.path(), "judge results --out first", 0);
    run(folder.path(), "judge campaign.tar.zst --out second", 0);
    for file in ["judgement.json", "trusted.csv", "podiums.csv"] {
        let text = |dir: &str| read(folder.path(), &format!("{dir}/{file}"));
        assert_eq!(text("first"), text("second"), "{file}");
    }
    // An author's record within a published field.
    let field = "tool,instance,examination,answers,wrong\nx,TokenLoop-PT-03,ReachabilityDeadlock,F,\n";
    fs::write(folder.path().join("field.csv"), field).unwrap();
    run(folder.path(), "judge campaign.tar.zst field.csv --edition mcc-2018 --out both", 0);
    let tools = read(folder.path(), "both/tools.csv");
    assert!(tools.contains("\nbreadth,") && tools.contains("\nx,"), "{tools}");
    run(folder.path(), "judge results field.csv --out both", 0);
    let error = run(folder.path(), "judge results campaign.tar.zst --out both", 2);
    assert!(error.contains("entry absent is in results and in campaign.tar.zst"), "{error}");
    // Of another model with the name of the instance.
    let together = "judge results campaign.tar.zst --out together";
    let replace = runs::ENTRIES.map(|(entry, _)| format!(" --replace {entry}=results")).concat();
    let all = |code| run(folder.path(), &format!("{together}{replace}"), code);
    all(0);
    let db = rusqlite::Connection::open(folder.path().join("results/record.db")).unwrap();
    let state = |sha256: &str| {
        db.execute("UPDATE instances SET facts = json_set(facts, '$.sha256', ?1)", [sha256]).unwrap();
    };
    state(&"33".repeat(32));
    fs::remove_dir_all(folder.path().join("together")).unwrap();
    let error = all(2);
    let both = format!("sha256 {} in results, but {} in campaign.tar.zst", "33".repeat(32), "22".repeat(32));
    assert!(
        error.contains("the archive of instance TokenLoop-PT-03 has") && error.contains(&both),
        "{error}"
    );
    assert!(!folder.path().join("together").exists());
    // A record that does not state it.
    state("");
    assert!(all(2).contains("a digest does not have 64 hexadecimal digits"));
}
