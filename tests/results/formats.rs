//! docs/formats.md, the man pages and the completions are complete: they cover every file, column and command.

use crate::support::campaign;

use assert_cmd::Command;
use campaign::Folder;
use mcc_harness::report::plots::{self, Runs};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const REFERENCE: &str = include_str!("../../docs/formats.md");

/// Whether the reference contains `word` in a code span, alone or in a list of columns.
fn named(word: &str) -> bool {
    REFERENCE.split('`').skip(1).step_by(2).any(|code| code.split([',', ' ', '/']).any(|part| part == word))
}

/// The columns of a table that the reference does not name.
fn missing(table: &str, file: &str) -> Vec<String> {
    let header = table.lines().next().unwrap_or_default();
    header
        .split(',')
        .filter(|column| !named(column))
        .map(|column| format!("{file}: column {column}"))
        .collect()
}

/// The names of all files below a folder.
fn files(folder: &Path) -> BTreeSet<String> {
    let entries = walkdir::WalkDir::new(folder).into_iter().map(|entry| entry.expect("readable"));
    let files = entries.filter(|entry| entry.file_type().is_file());
    files.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn the_reference_lists_all_files_and_columns_of_a_campaign() {
    let folder = Folder::with_fake_qemu(2, &["StateSpace"], "");
    folder.run(&[]).success();
    let archive = folder.path().join("archive.tar.zst");
    let judge = ["judge", "results", "--out", "judged", "--sensitivity"];
    Command::from(folder.harness(&judge)).assert().success();
    let export = ["export", "results", "--archive", "archive.tar.zst"];
    Command::from(folder.harness(&export)).assert().success();
    let mut unnamed = Vec::new();
    // Archives of models have names that the reference cannot list.
    let own = |name: &str| name.ends_with(".tgz");
    for place in ["results", "judged"] {
        for name in files(&folder.path().join(place)) {
            if !own(&name) && !named(&name) {
                unnamed.push(format!("{place}: {name}"));
            }
        }
    }
    let mut inside =
        tar::Archive::new(zstd::Decoder::new(fs::File::open(archive).expect("there")).expect("zstd"));
    for entry in inside.entries().expect("a tar") {
        let entry = entry.expect("an entry");
        let path = entry.path().expect("a path").into_owned();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if entry.header().entry_type().is_file() && !own(&name) && !named(&name) {
            unnamed.push(format!("archive: {}", path.display()));
        }
    }
    for name in files(&folder.path().join("judged")).iter().filter(|name| name.ends_with(".csv")) {
        let table = fs::read_to_string(folder.path().join("judged").join(name)).expect("readable");
        unnamed.extend(missing(&table, name));
    }
    let mut judgement =
        mcc_harness::judge::judgement::Judgement::read(&folder.path().join("judged")).expect("a judgement");
    // The fake tool gives no answers. Every value is set to right, so that all pictures have data.
    for cell in judgement.blocks.iter_mut().flat_map(|block| &mut block.cells) {
        cell.verdicts = "+".repeat(cell.verdicts.len()).parse().unwrap();
        cell.arrived_ms = vec![Some(7); cell.verdicts.len()];
    }
    judgement.confidence.iter_mut().for_each(|confidence| confidence.answered = 1);
    let runs = Runs::of_contest(&judgement);
    let mut pictures = plots::pictures(&runs);
    pictures.extend(plots::confidence(&judgement));
    pictures.push(plots::progress_of(&folder.record()).expect("a record").expect("runs"));
    assert_eq!(pictures.len(), 5 + 1 + 1);
    for picture in &pictures {
        unnamed.extend(missing(&picture.csv, &picture.name));
    }
    assert!(unnamed.is_empty(), "docs/formats.md does not name: {unnamed:#?}");
}

#[test]
fn man_pages_and_completions_have_every_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let harness = || Command::new(env!("CARGO_BIN_EXE_mcc-harness"));
    harness().args(["man", "--out"]).arg(folder.path().join("man1")).assert().success();
    let pages = files(&folder.path().join("man1"));
    let help = harness().arg("--help").assert().success();
    let help = String::from_utf8_lossy(&help.get_output().stdout).into_owned();
    let commands: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next().filter(|word| !word.is_empty()))
        .filter(|word| *word != "help")
        .collect();
    assert!(commands.len() >= 20, "{help}");
    for command in &commands {
        assert!(pages.contains(&format!("mcc-harness-{command}.1")), "{command}: {pages:?}");
    }
    assert!(pages.contains("mcc-harness.1") && pages.contains("mcc-harness-image-inputs.1"), "{pages:?}");
    let run = fs::read_to_string(folder.path().join("man1/mcc-harness-run.1")).expect("a page");
    assert!(
        run.contains(".TH") && run.contains("\\-\\-retry") && run.contains("mcc\\-harness status results"),
        "{run}"
    );
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = harness().args(["completions", shell]).assert().success();
        let script = String::from_utf8_lossy(&script.get_output().stdout).into_owned();
        for word in commands.iter().copied().chain(["allow-degraded"]) {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
}
