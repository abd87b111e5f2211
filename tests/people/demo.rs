//! `scripts/demo`, the commands of the README and the tutorial for reviewers, in real machines.

use crate::support::campaign;
use crate::support::commands;
use crate::support::folders::files;

use campaign::Judged;
use mcc_harness::store::{Outcome, Record};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

/// Runs the script with these arguments and returns its output.
fn demo(arguments: &[&Path]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/demo");
    let program = env!("CARGO_BIN_EXE_mcc-harness");
    let output = Command::new(script).args(arguments).env("MCC_HARNESS", program).output().unwrap();
    let said =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    said
}

/// Rank and medal of an entry on a podium.
fn place(podiums: &str, category: &str, entry: &str) -> (String, String) {
    let mut rows = csv::Reader::from_reader(podiums.as_bytes()).into_records().map(Result::unwrap);
    let row = rows.find(|row| &row[0] == category && &row[2] == entry);
    let row = row.unwrap_or_else(|| panic!("{entry} is not in {category}: {podiums}"));
    (row[1].to_owned(), row[5].to_owned())
}

#[test]
#[cfg_attr(not(feature = "machine-tests"), ignore = "needs real machines: scripts/test")]
fn the_demo_works_and_a_second_run_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let said = demo(&[folder.path()]);
    let index = folder.path().join("site/index.html");
    assert!(said.contains(&format!("Open file://{}", index.display())), "{said}");

    let record = Record::open_readonly(&folder.path().join("results")).unwrap();
    let runs: Vec<_> = record.records().map(Result::unwrap).collect();
    assert_eq!((runs.len(), record.summary().unwrap().planned), (36, 36));
    for run in &runs {
        let id = run.run.id();
        let as_expected = match run.last.outcome {
            Outcome::Finished { exit_code: 0 } => run.run.competes,
            Outcome::CpuLimit => id.starts_with("depth-first/SwitchBoard-PT-0040/"),
            Outcome::NotCompeting => id.starts_with("random-walk/") && id.ends_with("/CTLCardinality"),
            _ => false,
        };
        assert!(as_expected, "{id}: {:?}", run.last.outcome);
    }
    assert!(runs.iter().any(|run| run.last.outcome == Outcome::CpuLimit));
    assert!(files(&folder.path().join("results/running")).is_empty(), "all folders of attempts are removed");

    let podiums = fs::read_to_string(folder.path().join("judgement/podiums.csv")).unwrap();
    let first = ("1".to_owned(), "gold".to_owned());
    for category in ["StateSpace", "CTL"] {
        assert_eq!(place(&podiums, category, "breadth-first"), first, "{podiums}");
        assert_eq!(place(&podiums, category, "depth-first"), first, "{podiums}");
        assert_eq!(place(&podiums, category, "wrong-on-purpose").0, "3", "{podiums}");
    }
    let judged = Judged::read(&folder.path().join("judgement"));
    for (entry, is_wrong) in
        [("breadth-first", false), ("depth-first", false), ("random-walk", false), ("wrong-on-purpose", true)]
    {
        let (right, wrong, _) = judged.counts(entry);
        assert!(right > 0, "{entry}");
        assert_eq!(wrong > 0, is_wrong, "{entry}");
    }

    let page = fs::read_to_string(&index).unwrap();
    let marks: BTreeSet<_> = runs.iter().flat_map(|run| &run.last.marks).collect();
    for mark in marks.iter().filter(|mark| mark.starts_with("degraded:")) {
        let (word, _) = mark.in_words().expect("a known mark");
        assert!(page.contains(word), "{mark} is not named on the first page");
    }
    let is_tcg = runs[0].last.host.accelerator == "tcg";
    assert_eq!(is_tcg, marks.iter().any(|mark| *mark == "degraded:tcg"));

    let archive = folder.path().join("published.tar.zst");
    let archive_before = mcc_harness::base::digest::file(&archive).unwrap();
    let outputs = [folder.path().join("judgement"), folder.path().join("site")].map(|folder| files(&folder));
    let again = demo(&[folder.path()]);
    assert!(again.contains("36 of 36 runs are already recorded"), "{again}");
    assert!(!again.contains("[36/36]") && !again.contains("making the"), "something was done again: {again}");
    assert_eq!(mcc_harness::base::digest::file(&archive).unwrap(), archive_before);
    let outputs_again =
        [folder.path().join("judgement"), folder.path().join("site")].map(|folder| files(&folder));
    for (before, after) in outputs.iter().zip(&outputs_again) {
        assert!(before.keys().eq(after.keys()));
        let differ: Vec<_> = before.iter().filter(|(path, bytes)| after[*path] != **bytes).collect();
        assert!(differ.is_empty(), "{:?}", differ.iter().map(|(path, _)| path).collect::<Vec<_>>());
    }
    the_documents_work(folder.path(), &said);
}

/// Executes the commands of the demo's last screen, of the README and of the tutorial for reviewers on the results of the
/// demo, in a copy of the checkout.
fn the_documents_work(demo: &Path, said: &str) {
    let checkout = tempfile::tempdir().unwrap();
    commands::link_checkout(checkout.path());
    symlink(demo, checkout.path().join("build/demo")).unwrap();
    let bash = || {
        let program = Path::new(env!("CARGO_BIN_EXE_mcc-harness")).parent().unwrap();
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
        let mut bash = Command::new("bash");
        bash.current_dir(checkout.path()).env("PATH", path);
        bash
    };
    for role in ["organizer", "author", "reviewer"] {
        let line = said.lines().find_map(|line| line.strip_prefix(&format!("  {role}:"))).expect(role);
        commands::execute(&format!("```sh\n{line}\n```"), bash);
    }
    let readme = include_str!("../../README.md");
    let scripts = ["scripts/demo\n", "scripts/test\n"];
    // The first was executed above; the second executes this test.
    assert_eq!(commands::commands(readme)[..2], scripts);
    let readme = scripts.iter().fold(readme.to_owned(), |readme, script| readme.replace(script, "true\n"));
    commands::execute(&readme, bash);
    commands::execute(include_str!("../../docs/tutorials/reviewer.md"), bash);
}

#[test]
fn the_demo_of_a_real_contest_writes_its_site() {
    let folder = tempfile::tempdir().unwrap();
    let said = demo(&[Path::new("--real"), folder.path()]);
    let index = folder.path().join("site/index.html");
    assert!(said.contains(&format!("Open file://{}", index.display())), "{said}");
    assert!(said.contains("examinations: 9; instances: 947;"), "{said}");
    let podiums = fs::read_to_string(folder.path().join("judgement/podiums.csv")).unwrap();
    assert_eq!(place(&podiums, "UpperBounds", "LoLA"), ("1".to_owned(), "gold".to_owned()), "{podiums}");
    assert!(fs::read_to_string(index).unwrap().contains("LoLA"));
}
