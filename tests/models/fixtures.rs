//! The fixtures are those of their generator, and have the expected properties.

#[path = "../../pnml-fixtures/generate.rs"]
mod generate;
use crate::support::tool;

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use generate::{Draw, Graph, instances, switch_board};
use mcc_harness::model::{Archive, validate};
use num_bigint::BigUint;

/// All files below `folder` that the generator writes; archives are uncompressed, because versions of gzip differ.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name() {
        let entry = entry.unwrap();
        let name = entry.path().strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
        if name.ends_with(".tgz") {
            let mut tar = Vec::new();
            GzDecoder::new(fs::File::open(entry.path()).unwrap()).read_to_end(&mut tar).unwrap();
            files.push((name, tar));
        } else if name.ends_with(".csv") {
            files.push((name, fs::read(entry.path()).unwrap()));
        }
    }
    files
}

#[test]
fn the_generator_makes_the_committed_fixtures_again() {
    let folder = tempfile::tempdir().unwrap();
    generate::write_all(folder.path()).unwrap();
    let (made, committed) = (contents(folder.path()), contents(&tool::fixtures()));
    let names = |files: &[(String, Vec<u8>)]| files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&made), names(&committed));
    for (made, committed) in made.iter().zip(&committed) {
        assert!(made.1 == committed.1, "{}: run `cargo run --release --example pnml-fixtures`", made.0);
    }
}

#[test]
fn state_counts_by_formula_are_those_of_exploration() {
    for instance in instances().iter().filter(|instance| instance.shortcut.is_none()) {
        let explored = Graph::new(&instance.net).state_space();
        assert_eq!(explored.states, instance.states, "{}", instance.name());
    }
}

#[test]
fn a_huge_switch_board_has_the_numbers_of_its_small_variants() {
    for instance in instances() {
        let Some(known) = instance.shortcut.as_ref().map(|shortcut| &shortcut.state_space) else { continue };
        let switches = instance.net.places.len() / 2;
        assert_eq!(known.states, instance.states);
        for n in 1..=8_usize {
            let small = Graph::new(&switch_board(n)).state_space();
            assert_eq!(known.states, &small.states * BigUint::from(2_u32).pow((switches - n) as u32));
            assert_eq!(&known.firings * &small.states * n, &small.firings * &known.states * switches);
            assert_eq!(known.max_in_place, small.max_in_place);
            assert_eq!(&known.max_per_marking * n, &small.max_per_marking * switches);
        }
    }
}

#[test]
fn formulas_on_some_switches_do_not_depend_on_the_others() {
    let (named, one_more, three_more) = (switch_board(5), switch_board(6), switch_board(8));
    let (graph, larger) = (Graph::new(&one_more), Graph::new(&three_more));
    let mut truths = BTreeSet::new();
    for seed in 0..100 {
        for atoms in [generate::Atoms::Cardinality, generate::Atoms::Fireability] {
            let formula = Draw::new(&named, &graph, &seed.to_string()).ctl(atoms, 2);
            let truth = graph.holds_initially(&formula);
            assert_eq!(truth, larger.holds_initially(&formula), "{formula:?}");
            truths.insert(truth);
        }
    }
    assert_eq!(truths.len(), 2);
}

#[test]
fn every_fixture_has_a_true_and_a_false_property_in_every_logic() {
    for instance in tool::fixture_instances() {
        for logic in ["Reachability", "CTL", "LTL"] {
            for atoms in ["Cardinality", "Fireability"] {
                let expected = tool::expected(&instance, &format!("{logic}{atoms}"));
                assert_eq!(expected.len(), 16, "{instance} {logic}{atoms}");
                let truths: BTreeSet<_> = expected.iter().map(|(_, truth)| truth.as_str()).collect();
                assert_eq!(truths, BTreeSet::from(["F", "T"]), "{instance} {logic}{atoms}");
            }
        }
    }
}

#[test]
fn positions_follow_the_order_of_the_ids() {
    for instance in tool::fixture_instances() {
        for (examination, _) in tool::EXAMINATIONS.iter().skip(1) {
            let expected = tool::expected(&instance, examination);
            assert!(expected.is_sorted_by(|a, b| a.0 < b.0), "{instance} {examination}");
        }
    }
}

#[test]
fn the_validator_finds_nothing_in_any_fixture() {
    for instance in tool::fixture_instances() {
        let archive = Archive::open(&tool::fixtures().join(format!("{instance}.tgz"))).unwrap();
        assert_eq!(validate(&archive), [], "{instance}");
    }
}

#[test]
fn property_files_hold_the_expected_ids_in_order() {
    for instance in tool::fixture_instances() {
        let archive = Archive::open(&tool::fixtures().join(format!("{instance}.tgz"))).unwrap();
        let examinations = tool::EXAMINATIONS.iter().skip(1).map(|(examination, _)| *examination);
        for examination in examinations.chain(["LTLCardinality", "LTLFireability"]) {
            let properties = archive.properties(examination).unwrap().unwrap();
            let expected = tool::expected(&instance, examination);
            let ids = expected.iter().map(|(id, _)| id);
            assert!(properties.iter().map(|property| &property.id).eq(ids), "{instance} {examination}");
        }
    }
}
