//! Properties of every judgement of SV-COMP.

use mcc_harness::edition::svcomp::SvcompEdition;
use mcc_harness::edition::{OtherEdition, Rules};
use mcc_harness::other_contests::svcomp::{self, RawRun, Results, Run};
use num_rational::BigRational;
use proptest::prelude::*;

fn rules(name: &str) -> SvcompEdition {
    let Ok(Rules::Other(edition)) = Rules::load(name) else { panic!("{name}") };
    let OtherEdition::Svcomp(edition) = *edition else { panic!("{name}") };
    edition
}

const BASE: [&str; 4] =
    ["BitVectors", "Loops", "ControlFlowInteger-MemSimple", "ControlFlowInteger-MemPrecise"];

/// A run: entry, category, task, whether the property holds, status, CPU time in seconds.
type RunCase = (usize, usize, usize, bool, &'static str, u64);

fn results(edition: &SvcompEdition, cases: &[RunCase]) -> Results {
    let mut results = Results { categories: edition.categories.clone(), ..Results::default() };
    results.entries = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
    let mut seen = std::collections::BTreeSet::new();
    for (entry, category, task, holds, status, cpu) in cases {
        let number = results.categories.iter().position(|listed| listed.name == BASE[*category]).unwrap();
        // A task has one expected answer, and an entry has one run of a task.
        let holds = *holds == task.is_multiple_of(2);
        let name = format!("t{task}_{}.c", if holds { "true" } else { "false" });
        if seen.insert((*entry, number, name.clone())) {
            let cputime = Some(BigRational::from_integer((*cpu).into()));
            let raw = RawRun { name, status: (*status).to_owned(), cputime, ..RawRun::default() };
            results.runs.push(Run::new(*entry, number, raw));
        }
    }
    results
}

fn judged(edition: &SvcompEdition, results: Results) -> serde_json::Value {
    serde_json::to_value(svcomp::judge(edition, results).unwrap()).unwrap()
}

fn run_cases() -> impl Strategy<Value = Vec<RunCase>> {
    let status = prop::sample::select(vec!["true", "false", "unknown", "TIMEOUT", ""]);
    prop::collection::vec((0..3usize, 0..4usize, 0..6usize, any::<bool>(), status, 0..1000u64), 1..60)
}

proptest! {
    #[test]
    fn the_order_of_runs_and_entries_has_no_effect(cases in run_cases(), turn in 0..60usize) {
        let edition = rules("svcomp-2013");
        let one = judged(&edition, results(&edition, &cases));
        let mut other = results(&edition, &cases);
        let runs = other.runs.len();
        other.runs.rotate_left(turn % runs);
        other.entries.reverse();
        other.runs.iter_mut().for_each(|run| run.entry = 3 - run.entry);
        prop_assert_eq!(one, judged(&edition, other));
    }

    #[test]
    fn an_entry_without_answers_has_no_effect_on_others(cases in run_cases()) {
        let edition = rules("svcomp-2013");
        let mut with: Vec<RunCase> = cases.clone();
        with.extend((0..4).flat_map(|category| (0..6).map(move |task| (3, category, task, true, "unknown", 1))));
        let places = |cases: &[RunCase]| {
            let judgement = svcomp::judge(&edition, results(&edition, cases)).unwrap();
            let mut places = Vec::new();
            for podium in &judgement.podiums {
                let category = judgement.categories[podium.category].category.clone();
                for place in podium.places.iter().filter(|place| judgement.entries[place.entry].entry != "d") {
                    let name = judgement.entries[place.entry].entry.clone();
                    places.push((category.clone(), name, place.points.clone()));
                }
            }
            places.sort();
            places
        };
        prop_assert_eq!(places(&cases), places(&with));
    }

    #[test]
    fn points_are_sums_and_the_quantile_function_ends_at_the_score(cases in run_cases()) {
        let edition = rules("svcomp-2013");
        let judgement = svcomp::judge(&edition, results(&edition, &cases)).unwrap();
        for score in &judgement.scores {
            let Some(points) = &score.points else { continue };
            let meta = judgement.categories.iter().any(|category| category.parent == Some(score.category));
            if !meta {
                let cells = judgement.blocks.iter().filter(|block| block.category == score.category);
                let cells = cells.flat_map(|block| &block.cells).filter(|cell| cell.entry == score.entry);
                prop_assert_eq!(cells.map(|cell| &cell.points).sum::<BigRational>(), points.0.clone());
            }
            let mut quantiles = judgement.quantiles.iter().filter(|quantile| quantile.category == score.category);
            let quantile = quantiles.find(|quantile| quantile.entry == score.entry);
            if let Some(quantile) = quantile {
                let end = quantile.steps.last().map_or(&quantile.start, |step| &step.x);
                prop_assert_eq!(end, &points.0);
                prop_assert!(quantile.steps.is_sorted_by(|a, b| a.cpu_s <= b.cpu_s && a.x < b.x));
            }
        }
    }
}

#[test]
fn a_run_of_an_unknown_entry_or_category_is_an_error() {
    let edition = rules("svcomp-2013");
    for (entry, category) in [(4, 0), (0, 1000)] {
        let mut results = results(&edition, &[]);
        let raw = RawRun { name: "t1_false.c".to_owned(), ..RawRun::default() };
        results.runs.push(Run::new(entry, category, raw));
        let error = svcomp::judge(&edition, results).unwrap_err().to_string();
        assert!(error.contains("t1_false.c belongs to entry"), "{error}");
    }
}
