//! A property of exports: an exported table gives the same judgement when it is read again.

use mcc_harness::base::figures::MAX_MS;
use mcc_harness::benchkit::contest_table::Form;
use mcc_harness::benchkit::{Repeat, Value};
use mcc_harness::edition::{Edition, InfrastructureRule, Status};
use mcc_harness::judge::contest_table::{Layout, export};
use mcc_harness::judge::judgement::{Cost, Ending, Entry, FlagKind, Judgement};
use mcc_harness::judge::overrides::read_overrides;
use mcc_harness::judge::{InstanceFacts, RunResult, RunResults, mcc, source};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;
use tempfile::TempDir;

/// One run of a contest: entry, instance, examination, result.
type Run = (String, &'static str, &'static str, RunResult);

fn result(count: usize, boolean: bool) -> impl Strategy<Value = RunResult> {
    let number = prop_oneof![
        3 => Just(None),
        6 => (320_564_998u32..320_565_003).prop_map(|n| Some(Value::Number(n.into()))),
        1 => (1u32..400).prop_map(|digits| "7".repeat(digits as usize).parse().ok()),
        1 => Just(Some(Value::Rounded { digits: 32_057, exponent: 8 })),
        1 => Just(Some(Value::Overflow)),
        1 => Just(Some(Value::NotKept)),
        1 => Just(Some(Value::Infinite)),
    ];
    let truth = prop_oneof![2 => Just(None), 6 => Just(Some(Value::True)), 3 => Just(Some(Value::False))];
    let value = if boolean { truth.boxed() } else { number.boxed() };
    let word = prop::collection::vec("[A-Z]{1,3}_?[A-Z]{1,3}|[;\\\\-]{1,2}|A;\u{a0}", 0..3);
    let cost = prop::option::of((0..=MAX_MS, 0..=MAX_MS, prop::option::of(1u64..1 << 40)));
    let facts = (cost, prop::collection::vec(word, count), 0usize..4, any::<bool>(), 0usize..9);
    let host = prop::sample::select(vec!["", "tall", "node-17.lab"]);
    let twice = prop::option::weighted(0.1, prop::sample::select(vec![Repeat::Same, Repeat::Differs]));
    (prop::collection::vec(value, count), facts, host, twice).prop_map(
        move |(mut values, (cost, techniques, marks, not_stated, how), host, twice)| {
            let answered = values.iter().any(Option::is_some);
            let ending = match (how, answered) {
                (0, _) => Ending::CpuLimit,
                (1, _) => Ending::WallLimit,
                (2, _) => Ending::MemoryLimit,
                (3, _) if not_stated => Ending::DiskLimit,
                (3, _) => Ending::OutputLimit,
                (4, _) => Ending::ToolCrash,
                (5, _) => Ending::Infrastructure,
                (_, _) if not_stated => Ending::NotStated,
                (_, true) => Ending::Answered,
                (6, false) => Ending::DidNotCompete,
                (7, false) => Ending::CannotCompute,
                _ => Ending::NoAnswer,
            };
            if ending == Ending::Infrastructure {
                values.fill(None);
            }
            let ran = ending != Ending::DidNotCompete;
            let stated = techniques.iter().any(|list| !list.is_empty()) && values.iter().any(Option::is_some);
            let all = ["degraded:tcg", "mixed-host", "degraded:shared-cores"];
            RunResult {
                ending,
                values,
                cost: cost.filter(|_| ran).map(|(cpu_ms, wall_ms, memory_kib)| Cost {
                    cpu_ms,
                    wall_ms,
                    memory_kib,
                    ..Cost::default()
                }),
                marks: all[..marks].iter().map(|mark| (*mark).into()).collect(),
                techniques: if stated { techniques.into_iter().map(Arc::new).collect() } else { vec![] },
                remarks: vec![],
                repeated: vec![twice],
                arrived_ms: vec![],
                host: host.to_owned(),
                failure_class: None,
            }
        },
    )
}

fn contest() -> impl Strategy<Value = Vec<Run>> {
    let row = (result(4, false), result(1, true), result(16, true), any::<bool>());
    prop::collection::vec(prop::collection::vec(row, 1..5), 1..6).prop_map(|entries| {
        let mut runs = Vec::new();
        for (entry, rows) in entries.into_iter().enumerate() {
            for ((states, dead, ctl, there), instance) in
                rows.into_iter().zip(["F-PT-1", "F-COL-1", "G-PT-1", "H-PT-1"])
            {
                let entry = || format!("tool{entry}");
                runs.push((entry(), instance, "StateSpace", states));
                if there {
                    runs.push((entry(), instance, "ReachabilityDeadlock", dead));
                    runs.push((entry(), instance, "CTLFireability", ctl));
                }
            }
        }
        runs
    })
}

fn described(edition: &Edition, runs: &[Run]) -> RunResults {
    let mut results = RunResults::new(edition);
    for (entry, instance, examination, result) in runs {
        results.add(entry, instance, examination, &[], result.clone()).unwrap();
    }
    for (instance, family, status) in [
        ("F-PT-1", "F", "known"),
        ("F-COL-1", "F", "known"),
        ("G-PT-1", "G", "known"),
        ("H-PT-1", "H", "surprise"),
    ] {
        let facts = InstanceFacts { family: family.to_owned(), status: status.to_owned() };
        results.describe_instance(instance, facts);
    }
    for (entry, status, note) in [
        ("tool0", Status::OutOfCompetition, ""),
        ("tool1", Status::Withdrawn, "T-5, \"shown\""),
        ("tool2", Status::Resigned, ""),
    ] {
        if runs.iter().any(|run| run.0 == entry) {
            let (entry, tool, note) = (entry.to_owned(), "one".to_owned(), note.to_owned());
            results.describe_entry(Entry { entry, tool, status, note });
        }
    }
    results
}

/// A judgement without the digests of its inputs and without flags of repeated values, which the contest's table does
/// not contain.
fn decided(mut judgement: Judgement) -> String {
    judgement.inputs.clear();
    judgement.flags.retain(|flag| flag.kind == FlagKind::Absent);
    serde_json::to_string(&judgement).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn judging_an_export_gives_the_same_judgement(
        runs in contest(),
        excludes in any::<bool>(),
        set in prop::collection::btree_map((0usize..4, 0usize..16), (0usize..3, "[a-z ,;\"\n]{0,5}"), 0..3),
    ) {
        prop_assume!(runs.iter().any(|run| run.0 != "tool2"));
        let mut edition = Edition::load("mcc-2018").unwrap();
        if excludes {
            edition.judging.infrastructure = InfrastructureRule::Exclude;
        }
        let folder = TempDir::new().unwrap();
        // Overrides are only allowed on instances with answers.
        let judged = |instance: &str| runs.iter().any(|run| run.1 == instance);
        let instances = ["F-PT-1", "F-COL-1", "G-PT-1", "H-PT-1"];
        let mut overrides = "instance,examination,position,value,reason\n".to_owned();
        for ((instance, position), (value, why)) in set.iter().filter(|((instance, _), _)| judged(instances[*instance])) {
            let why = why.replace('"', "\"\"");
            overrides += &format!(
                "{},CTLFireability,{position:02},{},\"so {why}\"\n", instances[*instance], ["T", "F", "unknown"][*value],
            );
        }
        let path = folder.path().join("overrides.csv");
        fs::write(&path, overrides).unwrap();
        let given = || {
            let mut results = described(&edition, &runs);
            read_overrides(&edition, &mut results, &path).unwrap();
            results
        };
        let before = mcc::judge(&edition, given()).unwrap();
        let raw = folder.path().join("raw.csv");
        let written = export(&edition, given(), &BTreeMap::new(), Layout::Results(Form::Exact), &raw).unwrap();
        let mut results = source::read_answers(&edition, &written.paths[0]).unwrap();
        source::read_models(&edition, &mut results, &written.paths[1]).unwrap();
        source::read_tools(&mut results, &written.paths[2]).unwrap();
        if let Some(overrides) = written.paths.get(3) {
            read_overrides(&edition, &mut results, overrides).unwrap();
        }
        prop_assert_eq!(decided(mcc::judge(&edition, results).unwrap()), decided(before));
    }
}
