//! Judgements that others wrote.

use crate::support::contest;

use mcc_harness::edition::Status;
use mcc_harness::judge::judgement::{Block, Judgement, Podium, PodiumPlace};
use num_rational::BigRational;

/// Checks that a judgement with this change is refused for this reason.
fn refused(change: impl FnOnce(&mut Judgement), reason: &str) {
    let mut judgement = contest::small();
    judgement.check().unwrap();
    change(&mut judgement);
    let error = judgement.check().unwrap_err().to_string();
    assert!(error.contains(reason), "{error}");
}

#[test]
fn a_judgement_with_a_block_score_or_place_twice_is_refused() {
    let order = "its blocks are not one per examination and instance, in their order";
    refused(|judgement| judgement.blocks.swap(0, 1), order);
    refused(
        |judgement| {
            let [first, second, ..] = &mut judgement.blocks[..] else { panic!("two blocks") };
            (second.examination, second.instance) = (first.examination, first.instance);
        },
        order,
    );
    let twice = "a podium, a score, or an entry on a podium is there twice";
    refused(|judgement| judgement.podiums[0].places[1].entry = judgement.podiums[0].places[0].entry, twice);
    refused(
        |judgement| {
            let category = judgement.podiums[0].category.clone();
            judgement.evidence_podiums = vec![
                Podium { category: category.clone(), places: vec![] },
                Podium { category, places: vec![] },
            ];
        },
        twice,
    );
    refused(
        |judgement| judgement.podiums[0].category = "Other".to_owned(),
        "a podium is none of its edition",
    );
    refused(|judgement| judgement.scores[1].entry = judgement.scores[0].entry, twice);
}

#[test]
fn a_judgement_that_was_cut_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("judgement.json"), "{\"version\": ").unwrap();
    let error = Judgement::read(folder.path()).unwrap_err().to_string();
    let expected =
        ": not a judgement of this version: the file ends before its JSON is complete; judge again";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_judgement_by_rules_that_no_edition_can_have_is_refused() {
    refused(
        |judgement| judgement.edition.variant_suffixes = vec![String::new()],
        "key `variant_suffixes.0`: must not be empty",
    );
}

#[test]
fn a_judgement_that_would_fill_memory_or_take_hours_is_refused() {
    let many = |judgement: &mut Judgement| {
        let entry = |number| contest::entry(&format!("tool-{number}"), "tool", Status::Competing);
        judgement.entries = (0..1000).map(entry).collect();
        let instance = |number| contest::instance(&format!("Family{number}-PT-1"), "known");
        judgement.instances = (0..2000).map(instance).collect();
    };
    refused(many, "1000 entries, 9 examinations, 2000 families and ");
    // Each of a thousand first ranks would be compared with each other entry in each block.
    let tied = |judgement: &mut Judgement| {
        let entry = |number| contest::entry(&format!("tool-{number}"), "tool", Status::Competing);
        judgement.entries = (0..1000).map(entry).collect();
        judgement.instances =
            (0..2500).map(|number| contest::instance(&format!("Family-PT-{number}"), "known")).collect();
        let block = serde_json::to_value(&judgement.blocks[0]).unwrap();
        let block = |number: usize| {
            let mut block: Block = serde_json::from_value(block.clone()).unwrap();
            block.instance = number;
            block
        };
        judgement.blocks = (0..2500).map(block).collect();
        for podium in &mut judgement.podiums {
            let place = serde_json::to_value(&podium.places[0]).unwrap();
            let place = |entry: usize| {
                let mut place: PodiumPlace = serde_json::from_value(place.clone()).unwrap();
                (place.entry, place.rank) = (entry, Some(1));
                place
            };
            podium.places = (0..1000).map(place).collect();
        }
    };
    refused(tied, "too many of its entries share the first three ranks");
    let digits = "its weights, points or confidences have too many digits together";
    let one = |denominator: u64| BigRational::new(1.into(), denominator.into());
    refused(|judgement| judgement.instances[0].weight = one(3).pow(20_000), digits);
    // Each is short, but not their sum.
    refused(
        |judgement| {
            let instance = |number: u64| {
                let mut instance = contest::instance(&format!("Family{number}-PT-1"), "known");
                instance.weight = one((1 << 60) + 2 * number + 1);
                instance
            };
            judgement.instances.extend((0..2000).map(instance));
        },
        digits,
    );
    refused(|judgement| judgement.confidence[0].confidence = one(3).pow(100), digits);
}
