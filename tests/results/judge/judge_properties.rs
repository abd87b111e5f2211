//! Judging runs with the facts of a record, and properties that hold for every judgement.

use mcc_harness::base::Mark;
use mcc_harness::benchkit::Repeat;
use mcc_harness::benchkit::Value;
use mcc_harness::edition::{CostComparison, Edition, InfrastructureRule, Status, Votes};
use mcc_harness::judge::compare::{EndingOrVerdict, compare};
use mcc_harness::judge::judgement::{
    AwardKind, Block, Cost, Ending, Entry, FlagKind, Judgement, Medal, ValueVerdict, Weak,
};
use mcc_harness::judge::{InstanceFacts, RunResult, RunResults, mcc, write};
use num_rational::BigRational;
use proptest::prelude::*;
use tempfile::TempDir;

/// A run for `RunResults::add`: entry, instance, examination, result.
type Run = (String, String, &'static str, RunResult);

fn entry(entry: &str, tool: &str, status: Status) -> Entry {
    Entry { entry: entry.to_owned(), tool: tool.to_owned(), status, note: String::new() }
}

fn results(edition: &Edition, runs: &[Run]) -> RunResults {
    let mut results = RunResults::new(edition);
    for (entry, instance, examination, result) in runs {
        results.add(entry, instance, examination, &[], result.clone()).unwrap();
    }
    results
}

/// A run of ReachabilityDeadlock with a cost, on a host.
fn deadlock(entry: &str, instance: &str, value: Option<Value>, cpu_ms: u64, host: &str) -> Run {
    let result = RunResult {
        ending: Ending::Answered,
        cost: Some(Cost { cpu_ms, wall_ms: cpu_ms, memory_kib: Some(7), ..Cost::default() }),
        host: host.to_owned(),
        ..RunResult::published(vec![value])
    };
    (entry.to_owned(), instance.to_owned(), "ReachabilityDeadlock", result)
}

#[test]
fn an_unresolved_run_is_provisional_or_excludes_its_block() {
    let mut runs: Vec<Run> = ["a", "b"]
        .iter()
        .flat_map(|entry| {
            ["F-PT-1", "F-PT-2"].map(|instance| deadlock(entry, instance, Some(Value::True), 1, "h"))
        })
        .collect();
    // The values of this run must not be used (R2).
    runs[0].3.ending = Ending::Infrastructure;
    let mut edition = Edition::load("mcc-2018").unwrap();
    let provisional = mcc::judge(&edition, results(&edition, &runs)).unwrap();
    assert_eq!(provisional.unresolved.len(), 1);
    assert_eq!((&*provisional.unresolved[0].entry, &*provisional.unresolved[0].instance), ("a", "F-PT-1"));
    let cells = &provisional.blocks[0].cells;
    assert_eq!([0, 1].map(|cell: usize| cells[cell].verdicts.to_string()), [".", "?"]);
    assert!(
        provisional.podiums.iter().flat_map(|podium| &podium.places).all(|place| place.medal == Medal::None)
    );

    edition.judging.infrastructure = InfrastructureRule::Exclude;
    edition.judging.infrastructure_reason = Some("the host lost its disk".to_owned());
    let excluded = mcc::judge(&edition, results(&edition, &runs)).unwrap();
    assert_eq!((excluded.unresolved.len(), excluded.excluded.len(), excluded.blocks.len()), (0, 1, 1));
    let golds =
        excluded.podiums.iter().flat_map(|podium| &podium.places).filter(|place| place.medal == Medal::Gold);
    assert_eq!(golds.count(), 2);

    // Without that tool, as if it had resigned, the block is judged.
    let judge = mcc::Judge::new(&edition, results(&edition, &runs)).unwrap();
    let without = judge.without("a").unwrap();
    let mut blocks = 0;
    without
        .judge_blocks(|_| {
            blocks += 1;
            Ok::<_, std::convert::Infallible>(())
        })
        .unwrap();
    assert_eq!((without.header.excluded.len(), blocks), (0, 2));

    // For a run without an attempt no block is excluded, and no medal is final.
    runs[0].3.marks = vec!["not-run-yet".into()];
    let unfinished = mcc::judge(&edition, results(&edition, &runs)).unwrap();
    assert_eq!((unfinished.unresolved.len(), unfinished.excluded.len(), unfinished.blocks.len()), (1, 0, 2));
    assert!(
        unfinished.podiums.iter().flat_map(|podium| &podium.places).all(|place| place.medal == Medal::None)
    );
}

/// Of an entry out of competition and a virtual one: a failed run, and one that was not made yet.
#[test]
fn failures_of_entries_without_a_vote_affect_nobody() {
    let judged = |rule, outside: Option<Ending>| {
        let mut edition = Edition::load("mcc-2018").unwrap();
        edition.judging.infrastructure = rule;
        edition.judging.infrastructure_reason = Some("the host lost its disk".to_owned());
        let mut runs = Vec::new();
        for entry in ["a", "b", "outside", "virtual"] {
            for instance in ["F-PT-1", "F-PT-2"] {
                runs.push(deadlock(entry, instance, Some(Value::True), 1, "h"));
            }
        }
        if let Some(ending) = outside {
            runs[4].3.ending = ending;
            runs[6].3.ending = ending;
            runs[6].3.marks = vec!["not-run-yet".into()];
        }
        let mut results = results(&edition, &runs);
        for (entry, status) in [("outside", Status::OutOfCompetition), ("virtual", Status::Virtual)] {
            results.describe_entry(self::entry(entry, entry, status));
        }
        let judge = mcc::Judge::new(&edition, results.clone()).unwrap();
        assert_eq!(judge.not_made_yet(), 0);
        mcc::judge(&edition, results).unwrap()
    };
    for rule in [InfrastructureRule::Provisional, InfrastructureRule::Exclude] {
        let [without, with] = [None, Some(Ending::Infrastructure)].map(|outside| judged(rule, outside));
        assert_eq!((with.unresolved.len(), with.excluded.len(), with.blocks.len()), (0, 0, 2), "{rule:?}");
        let podiums = |judgement: &Judgement| serde_json::to_value(&judgement.podiums).unwrap();
        let ranked = |judgement: &Judgement| {
            let places =
                judgement.podiums.iter().flat_map(|podium| &podium.places).filter(|p| p.rank.is_some());
            places.map(|p| (p.entry, p.points.clone(), p.medal)).collect::<Vec<_>>()
        };
        assert_eq!(ranked(&with), ranked(&without), "{} {}", podiums(&with), podiums(&without));
        assert!(ranked(&with).iter().any(|(_, _, medal)| *medal == Medal::Gold));
        let note = "neither vote nor compete (outside, virtual): 2;";
        assert!(with.notes.iter().any(|noted| noted.contains(note)), "{:?}", with.notes);
    }
}

#[test]
fn awards_leave_out_degraded_runs_and_families_of_several_hosts() {
    let edition = Edition::load("mcc-2018").unwrap();
    let mut runs = Vec::new();
    for (entry, cpu_ms) in [("a", 10), ("b", 20)] {
        for (instance, host) in [("F-PT-1", "h"), ("G-PT-1", "h"), ("G-PT-2", entry), ("H-PT-1", "h")] {
            runs.push(deadlock(entry, instance, Some(Value::False), cpu_ms, host));
        }
    }
    runs.last_mut().unwrap().3.marks = vec!["degraded:tcg".into()];
    let judgement = mcc::judge(&edition, results(&edition, &runs)).unwrap();
    let runner = judgement.awards.iter().find(|award| award.award == AwardKind::RoadRunner).unwrap();
    let places: Vec<(u32, usize, u64, u64)> = runner
        .places
        .iter()
        .map(|place| (place.rank, place.entry, place.runs_compared, place.value))
        .collect();
    // G ran on several hosts. The degraded run of b on H is left out of the mean of b.
    assert_eq!(places, [(1, 0, 2, 10), (2, 1, 1, 20)]);
    for block in &judgement.blocks {
        let of_g = judgement.instances[block.instance].instance.starts_with("G-");
        assert!(block.cells.iter().all(|cell| cell.marks.contains(&Mark::MIXED_HOST) == of_g));
    }
    let mut edition = edition;
    edition.judging.cost_comparison = CostComparison::CommonRuns;
    let judgement = mcc::judge(&edition, results(&edition, &runs)).unwrap();
    let runner = judgement.awards.iter().find(|award| award.award == AwardKind::RoadRunner).unwrap();
    let places: Vec<_> = runner.places.iter().map(|p| (p.rank, p.entry, p.runs_compared, p.value)).collect();
    assert_eq!(places, [(1, 0, 1, 10), (2, 1, 1, 20)]);
}

/// A is ahead over 20 runs, B in the first of them; a weak C completes only that one.
#[test]
fn a_weak_entrant_does_not_change_who_wins_an_award() {
    let edition = Edition::load("mcc-2018").unwrap();
    let mut runs = Vec::new();
    for number in 0..20 {
        let instance = format!("F{number}-PT-1");
        let (a, b) = if number == 0 { (100, 10) } else { (10, 100) };
        runs.push(deadlock("A", &instance, Some(Value::True), a, "h"));
        runs.push(deadlock("B", &instance, Some(Value::True), b, "h"));
    }
    let road_runner = |runs: &[Run]| -> Vec<(String, u64)> {
        let judgement = mcc::judge(&edition, results(&edition, runs)).unwrap();
        let award = judgement.awards.iter().find(|award| award.award == AwardKind::RoadRunner).unwrap();
        award.places.iter().map(|p| (judgement.entries[p.entry].entry.clone(), p.value)).collect()
    };
    let without = road_runner(&runs);
    assert_eq!(without[0].0, "A");
    runs.push(deadlock("C", "F0-PT-1", Some(Value::True), 1, "h"));
    let with = road_runner(&runs);
    assert_eq!((&with[..2], &*with[2].0), (&without[..], "C"));
}

/// D contradicts A and B on F0, so no value is trusted there, and their runs are not complete. C gave no value there.
#[test]
fn an_entrant_that_contradicts_a_value_can_move_an_award() {
    let mut edition = Edition::load("mcc-2018").unwrap();
    // No position has four equal values, so all confidences are 0, and values that differ are undecided.
    edition.judging.min_agreeing = 4;
    let mut runs = Vec::new();
    for (entry, cpu_ms, on_f0) in [("A", 20, true), ("B", 99, true), ("C", 10, false)] {
        runs.push(deadlock(entry, "F0-PT-1", on_f0.then_some(Value::True), cpu_ms, "h"));
        runs.push(deadlock(entry, "F1-PT-1", Some(Value::True), cpu_ms, "h"));
    }
    let road_runner = |runs: &[Run]| -> Vec<String> {
        let judgement = mcc::judge(&edition, results(&edition, runs)).unwrap();
        let award = judgement.awards.iter().find(|award| award.award == AwardKind::RoadRunner).unwrap();
        award.places.iter().map(|place| judgement.entries[place.entry].entry.clone()).collect()
    };
    assert_eq!(road_runner(&runs), ["A", "B", "C"]);
    runs.push(deadlock("D", "F0-PT-1", Some(Value::False), 1, "h"));
    assert_eq!(road_runner(&runs), ["C", "A", "B"]);
}

/// `outside` alone gave a value on F-PT-3. If F had three instances for this reason, the weights of the other two and the
/// order of a and b would change.
#[test]
fn a_value_of_an_entry_without_rank_changes_no_weight() {
    let edition = Edition::load("mcc-2020").unwrap();
    let mut runs = Vec::new();
    for entry in ["a", "b", "c"] {
        for instance in ["F-PT-1", "F-PT-2", "G-PT-1", "G-PT-2", "G-PT-3", "H-PT-1"] {
            runs.push(deadlock(entry, instance, Some(Value::True), 1, "h"));
        }
        runs.push(deadlock(entry, "F-PT-3", None, 1, "h"));
    }
    let judged = |runs: &[Run], status| {
        let mut results = results(&edition, runs);
        results.describe_entry(entry("outside", "outside", status));
        mcc::judge(&edition, results).unwrap()
    };
    let weights = |judgement: &Judgement| -> Vec<(String, BigRational)> {
        judgement
            .instances
            .iter()
            .map(|instance| (instance.instance.clone(), instance.weight.clone()))
            .collect()
    };
    let without = weights(&mcc::judge(&edition, results(&edition, &runs)).unwrap());
    runs.push(deadlock("outside", "F-PT-3", Some(Value::True), 1, "h"));
    for status in [Status::VotingOnly, Status::OutOfCompetition, Status::Virtual] {
        assert_eq!(weights(&judged(&runs, status)), without, "{status:?}");
    }
    assert_ne!(weights(&judged(&runs, Status::Competing)), without);
}

#[test]
fn a_value_of_a_resigned_entry_causes_no_note_on_confidence() {
    let edition = Edition::load("mcc-2018").unwrap();
    let value = Some(Value::True);
    let judged = |status| {
        let mut results = results(&edition, &[deadlock("a", "F-PT-1", value.clone(), 1, "h")]);
        results.describe_entry(entry("a", "a", status));
        mcc::judge(&edition, results).unwrap().notes
    };
    assert!(judged(Status::Competing).iter().any(|note| note.contains("confidence could not be measured")));
    assert_eq!(judged(Status::Resigned), [""; 0]);
}

#[test]
fn a_run_given_twice_or_with_other_ids_is_refused_by_name() {
    let edition = Edition::load("mcc-2018").unwrap();
    let run = deadlock("a", "F-PT-1", None, 1, "h");
    let twice = mcc::judge(&edition, results(&edition, &[run.clone(), run.clone()])).unwrap_err().to_string();
    assert!(
        twice.contains("a on F-PT-1 in ReachabilityDeadlock") && twice.contains("number 1 and 2"),
        "{twice}"
    );
    let mut with_ids = RunResults::new(&edition);
    with_ids.add("a", "F-PT-1", run.2, &["id-0".to_owned()], run.3.clone()).unwrap();
    let other = with_ids.add("b", "F-PT-1", run.2, &["id-1".to_owned()], run.3.clone()).unwrap_err();
    assert!(other.to_string().contains("b on F-PT-1"), "{other}");
    with_ids.add("b", "F-PT-1", run.2, &["id-0".to_owned()], run.3).unwrap();
    let judgement = mcc::judge(&edition, with_ids).unwrap();
    assert_eq!(judgement.blocks[0].trusted[0].id, "id-0");
}

#[test]
fn per_tool_a_tool_whose_variants_differ_has_no_vote() {
    let mut edition = Edition::load("mcc-2018").unwrap();
    edition.judging.votes = Votes::PerTool;
    edition.variants.insert("pair".to_owned(), vec!["p.a".to_owned(), "p.b".to_owned()]);
    let runs_on = |instance: &str, values: [Option<Value>; 3]| -> Vec<Run> {
        let entries = ["p.a", "p.b", "q"].into_iter().zip(values);
        entries.map(|(entry, value)| deadlock(entry, instance, value, 1, "h")).collect()
    };
    let (yes, no) = (Some(Value::True), Some(Value::False));
    let mut runs = runs_on("F-PT-1", [yes.clone(), no.clone(), yes.clone()]);
    runs.extend(runs_on("G-PT-1", [yes.clone(), no, None]));
    runs.extend(runs_on("H-PT-1", [yes.clone(), yes.clone(), yes]));
    let judgement = mcc::judge(&edition, results(&edition, &runs)).unwrap();
    let bases: Vec<&str> = judgement.blocks.iter().map(|block| block.trusted[0].basis.word()).collect();
    // All confidences are 0, so the single vote of q is not enough.
    assert_eq!(bases, ["unknown:single", "unknown:split", "unanimous"]);
}

#[test]
fn a_value_given_twice_is_flagged_as_repeat_or_contradiction() {
    let edition = Edition::load("mcc-2018").unwrap();
    let mut runs =
        vec![deadlock("a", "F-PT-1", Some(Value::True), 1, "h"), deadlock("b", "F-PT-1", None, 1, "h")];
    runs[0].3.repeated = vec![Some(Repeat::Differs)];
    runs[1].3.repeated = vec![Some(Repeat::Same)];
    let judgement = mcc::judge(&edition, results(&edition, &runs)).unwrap();
    let flags: Vec<_> = judgement.flags.iter().map(|f| (f.kind, f.entry, f.instance, f.position)).collect();
    let expected = [
        // No other entry gave the value of a, so its confidence cannot be measured.
        (FlagKind::NoConfidence, 0, None, None),
        (FlagKind::Contradiction, 0, Some(0), Some(0)),
        (FlagKind::Repeat, 1, Some(0), Some(0)),
    ];
    assert_eq!(flags, expected);
}

#[test]
fn bonuses_go_to_complete_runs_with_the_least_cost() {
    let mut edition = Edition::load("mcc-2018").unwrap();
    edition.judging.bonuses.time = BigRational::from_integer(2.into());
    edition.judging.bonuses.memory = BigRational::from_integer(1.into());
    let mut runs: Vec<Run> = [("a", 10), ("b", 20), ("c", 1), ("d", 5)]
        .map(|(entry, cpu_ms)| deadlock(entry, "F-PT-1", Some(Value::True), cpu_ms, "h"))
        .into();
    runs[1].3.cost.as_mut().unwrap().memory_kib = Some(6);
    runs[2].3.values[0] = Some(Value::False);
    runs[3].3.marks = vec!["degraded:tcg".into()];
    let judgement = mcc::judge(&edition, results(&edition, &runs)).unwrap();
    let points: Vec<String> = judgement.scores.iter().map(|score| score.normalized.to_string()).collect();
    // c was wrong and d ran degraded; of the others a used less CPU time and b less memory.
    assert_eq!(points, ["18", "17", "-32", "16"]);
    let cells: Vec<String> = judgement.blocks[0].cells.iter().map(|cell| cell.points.to_string()).collect();
    assert_eq!(cells, points);
}

#[test]
fn compare_lists_different_answers_endings_and_times() {
    let edition = Edition::load("mcc-2018").unwrap();
    let judged = |runs: &[Run]| mcc::judge(&edition, results(&edition, runs)).unwrap();
    let runs = |fast: u64, last: Option<Value>| -> Vec<Run> {
        vec![
            deadlock("a", "F-PT-1", Some(Value::True), fast, "h"),
            deadlock("b", "F-PT-1", Some(Value::True), 9_000, "h"),
            deadlock("c", "F-PT-1", last, 10, "h"),
        ]
    };
    let before = judged(&runs(1_500, Some(Value::True)));
    let mut obfuscated = runs(4_000, None);
    obfuscated[2].3.ending = Ending::CpuLimit;
    obfuscated[2].3.cost.as_mut().unwrap().cpu_ms = 900;
    let after = judged(&obfuscated);
    let comparison = compare(&before, &after, 2).unwrap();
    let [answer] = comparison.answers.as_slice() else { panic!("{comparison}") };
    assert_eq!((&*answer.entry, &answer.before, &answer.after), ("c", &Some("T".to_owned()), &None));
    let [ending] = comparison.endings.as_slice() else { panic!("{comparison}") };
    let ended = [Ending::Answered, Ending::CpuLimit].map(EndingOrVerdict::Ending);
    assert_eq!([ending.before, ending.after], ended);
    // c is 90 times slower, but by less than a second: too little to be listed.
    let [time] = comparison.times.as_slice() else { panic!("{comparison}") };
    assert_eq!((&*time.entry, time.before, time.after), ("a", 1_500, 4_000));
    assert_eq!((comparison.times_compared, comparison.values.len()), (3, 0));
    assert!(compare(&before, &after, 3).unwrap().times.is_empty());
    let same = compare(&before, &before, 2).unwrap();
    assert!(same.answers.is_empty() && same.points.is_empty() && same.places.is_empty(), "{same}");
}

/// A small contest: up to 6 entries on up to 4 instances in three examinations, with so few distinct values that
/// entries often agree.
fn contest() -> impl Strategy<Value = Vec<Run>> {
    let number = prop_oneof![
        4 => Just(None),
        8 => (320_564_998u32..320_565_003).prop_map(|n| Some(Value::Number(n.into()))),
        2 => Just(Some(Value::Rounded { digits: 32_057, exponent: 8 })),
        1 => Just(Some(Value::NotKept)),
        1 => Just(Some(Value::Infinite)),
    ];
    let boolean = prop_oneof![2 => Just(None), 6 => Just(Some(Value::True)), 3 => Just(Some(Value::False))];
    let numbers = proptest::collection::vec(number, 4);
    let booleans = proptest::collection::vec(boolean, 16);
    let row = (any::<bool>(), numbers, booleans);
    proptest::collection::vec(proptest::collection::vec(row, 1..5), 1..7).prop_map(|entries| {
        let instances = ["F-PT-1", "F-COL-1", "G-PT-1", "H-PT-1"];
        let mut runs = Vec::new();
        for (entry, rows) in entries.into_iter().enumerate() {
            for ((there, numbers, booleans), instance) in rows.into_iter().zip(instances) {
                let run = |examination, values| {
                    (format!("tool{entry}"), instance.to_owned(), examination, RunResult::published(values))
                };
                runs.push(run("StateSpace", numbers));
                if there {
                    runs.push(run("ReachabilityDeadlock", booleans[..1].to_vec()));
                    runs.push(run("CTLFireability", booleans));
                }
            }
        }
        runs
    })
}

/// The results of `runs`. `tool0` is out of competition, `tool1` and `tool2` are variants of one tool, H is a surprise
/// model.
fn described(edition: &Edition, runs: &[Run]) -> RunResults {
    let mut results = results(edition, runs);
    let surprise = InstanceFacts { family: "H".to_owned(), status: "surprise".to_owned() };
    results.describe_instance("H-PT-1", surprise);
    results.describe_entry(entry("tool0", "tool0", Status::OutOfCompetition));
    for variant in ["tool1", "tool2"] {
        results.describe_entry(entry(variant, "pair", Status::Competing));
    }
    results
}

fn judged(runs: &[Run], votes: Votes) -> Judgement {
    let mut edition = Edition::load("mcc-2018").unwrap();
    edition.judging.votes = votes;
    mcc::judge(&edition, described(&edition, runs)).unwrap()
}

fn votes() -> impl Strategy<Value = Votes> {
    prop_oneof![Just(Votes::PerVariant), Just(Votes::PerTool)]
}

fn bytes(judgement: &Judgement) -> String {
    serde_json::to_string(judgement).unwrap()
}

/// The results of all entries other than `left_out`, by name.
fn results_of_others(judgement: &Judgement, left_out: &str) -> Vec<String> {
    let name = |entry: usize| judgement.entries[entry].entry.as_str();
    let mut results = Vec::new();
    for measured in judgement.confidence.iter().filter(|measured| name(measured.entry) != left_out) {
        results.push(format!("{} {} {}", name(measured.entry), measured.confidence, measured.answered));
    }
    for Block { examination, instance, trusted, cells } in &judgement.blocks {
        let place = format!("{examination} {instance}");
        results
            .extend(trusted.iter().map(|trusted| format!("{place} {:?} {}", trusted.value, trusted.basis)));
        let others = cells.iter().filter(|cell| name(cell.entry) != left_out);
        results.extend(
            others.map(|cell| format!("{place} {} {} {}", name(cell.entry), cell.verdicts, cell.points)),
        );
    }
    for podium in &judgement.podiums {
        let others = podium.places.iter().filter(|place| name(place.entry) != left_out);
        results.extend(
            others.map(|place| format!("{} {} {}", podium.category, name(place.entry), place.points)),
        );
    }
    results
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_order_of_runs_has_no_effect(
        (runs, shuffled) in contest().prop_flat_map(|runs| (Just(runs.clone()), Just(runs).prop_shuffle())),
        votes in votes(),
    ) {
        prop_assert_eq!(bytes(&judged(&runs, votes)), bytes(&judged(&shuffled, votes)));
    }

    #[test]
    fn a_tool_without_answers_changes_no_result_of_others(runs in contest(), votes in votes()) {
        let silent = |run: &Run| ("silent".to_owned(), run.1.clone(), run.2, RunResult::published(Vec::new()));
        let mut more = runs.clone();
        more.extend(runs.iter().filter(|run| run.0 == "tool0").map(silent));
        prop_assert_eq!(
            results_of_others(&judged(&more, votes), "silent"), results_of_others(&judged(&runs, votes), "silent"),
        );
    }

    #[test]
    fn confidences_are_shares_and_points_are_sums_of_their_parts(runs in contest(), votes in votes()) {
        let judgement = judged(&runs, votes);
        let (zero, one) = (BigRational::from_integer(0.into()), BigRational::from_integer(1.into()));
        for measured in &judgement.confidence {
            prop_assert!(zero <= measured.confidence && measured.confidence <= one);
            prop_assert!(measured.agreed <= measured.answered);
        }
        for score in &judgement.scores {
            let same_examination = |block: &&Block| block.examination == score.examination;
            let cells = judgement.blocks.iter().filter(same_examination).flat_map(|block| &block.cells);
            let sum: BigRational = cells.filter(|cell| cell.entry == score.entry).map(|cell| &cell.points).sum();
            prop_assert_eq!(&sum, &score.normalized);
            let values = judgement.edition.examinations[score.examination].values;
            let expected = (score.right as i64 - 2 * score.wrong as i64) * (16 / values as i64);
            prop_assert_eq!(&score.points, &BigRational::from_integer(expected.into()));
        }
        for (podium, rule) in judgement.podiums.iter().zip(&judgement.edition.podiums) {
            for place in &podium.places {
                let within = |examination: usize| rule.examinations.contains(&judgement.examinations[examination]);
                let scores = judgement.scores.iter().filter(|s| s.entry == place.entry && within(s.examination));
                let sum: BigRational = scores.map(|score| &score.normalized).sum();
                prop_assert_eq!(&sum, &place.points);
            }
        }
    }

    /// The best virtual tool has every right value of a competing entry. A value has weak evidence where all its
    /// backers are variants of one tool.
    #[test]
    fn best_virtual_values_and_weak_evidence_follow_the_backers(
        runs in contest(), votes in votes(),
    ) {
        let judgement = judged(&runs, votes);
        for virtual_tool in &judgement.best_virtual {
            let mut had = 0;
            for block in judgement.blocks.iter().filter(|block| block.examination == virtual_tool.examination) {
                for (position, trusted) in block.trusted.iter().enumerate() {
                    let right = block.cells.iter().filter(|cell| cell.verdicts[position] == ValueVerdict::Right);
                    let entries = right.map(|cell| &judgement.entries[cell.entry]);
                    let backers: Vec<_> = entries.filter(|entry| entry.status == Status::Competing).collect();
                    had += u64::from(!backers.is_empty());
                    let one = backers.windows(2).all(|pair| pair[0].tool == pair[1].tool);
                    let weak = match (backers.len(), one) {
                        (1, _) => Some(Weak::SingleBacker),
                        (2.., true) => Some(Weak::SingleFamily),
                        _ => None,
                    };
                    prop_assert_eq!(trusted.weak, weak);
                }
            }
            prop_assert_eq!(virtual_tool.right, had);
            let best = judgement.scores.iter().filter(|score| {
                let competes = judgement.entries[score.entry].status == Status::Competing;
                score.examination == virtual_tool.examination && competes
            });
            prop_assert!(best.map(|score| &score.normalized).max().is_none_or(|most| *most <= virtual_tool.normalized));
        }
    }

    /// An entry that only votes decides as a competing one, has points, and has no rank, medal or award. No weight
    /// depends on it.
    #[test]
    fn an_entry_that_only_votes_decides_but_is_not_ranked(runs in contest(), votes in votes()) {
        let mut edition = Edition::load("mcc-2018").unwrap();
        edition.judging.votes = votes;
        edition.judging.awards.extend([AwardKind::MostRight, AwardKind::MostUnique]);
        let judged = |status| {
            let mut results = described(&edition, &runs);
            results.describe_entry(entry("tool0", "tool0", status));
            mcc::judge(&edition, results).unwrap()
        };
        let [voting, competing] = [Status::VotingOnly, Status::Competing].map(judged);
        let trusted = |judgement: &Judgement| -> Vec<_> {
            let values = |block: &Block| block.trusted.iter().map(|t| (t.value.clone(), t.basis)).collect::<Vec<_>>();
            judgement.blocks.iter().map(values).collect()
        };
        prop_assert_eq!(trusted(&voting), trusted(&competing));
        let own = |entry: usize| voting.entries[entry].entry == "tool0";
        let places = voting.podiums.iter().flat_map(|podium| &podium.places).filter(|place| own(place.entry));
        for place in places {
            prop_assert!(place.rank.is_none() && place.medal == Medal::None);
        }
        let sum = |judgement: &Judgement| judgement.scores.iter().filter(|s| own(s.entry)).map(|s| s.right).sum::<u64>();
        prop_assert_eq!(sum(&voting), sum(&competing));
        prop_assert!(voting.awards.iter().flat_map(|award| &award.places).all(|place| !own(place.entry)));
        let others: Vec<Run> = runs.iter().filter(|run| run.0 != "tool0").cloned().collect();
        let without = mcc::judge(&edition, described(&edition, &others)).unwrap();
        for instance in &without.instances {
            let with = voting.instances.iter().find(|with| with.instance == instance.instance).unwrap();
            prop_assert_eq!(&with.weight, &instance.weight);
        }
    }

    /// `tool0` has no vote, so the trusted values do not change.
    #[test]
    fn no_answer_gives_more_points_than_a_wrong_one(runs in contest(), votes in votes()) {
        let before = judged(&runs, votes);
        let wrong = before.blocks.iter().find_map(|block| {
            let cell = block.cells.iter().find(|cell| before.entries[cell.entry].entry == "tool0")?;
            let position = cell.verdicts.iter().position(|verdict| *verdict == ValueVerdict::Wrong)?;
            Some((before.instances[block.instance].instance.clone(), &before.examinations[block.examination], position))
        });
        prop_assume!(wrong.is_some());
        let (instance, examination, position) = wrong.unwrap();
        let mut without_answer = runs.clone();
        let run = without_answer.iter_mut().find(|run| run.0 == "tool0" && run.1 == instance && run.2 == examination);
        run.unwrap().3.values[position] = None;
        let after = judged(&without_answer, votes);
        prop_assert_eq!(results_of_others(&after, "tool0"), results_of_others(&before, "tool0"));
        let points = |judgement: &Judgement| -> BigRational {
            let own = judgement.scores.iter().filter(|score| judgement.entries[score.entry].entry == "tool0");
            own.map(|score| &score.normalized).sum()
        };
        prop_assert!(points(&after) > points(&before));
    }

    #[test]
    fn judgement_json_contains_the_same_judgement(runs in contest(), votes in votes()) {
        let judgement = judged(&runs, votes);
        let mut edition = Edition::load("mcc-2018").unwrap();
        edition.judging.votes = votes;
        let dir = TempDir::new().unwrap();
        write::write(&mcc::Judge::new(&edition, described(&edition, &runs)).unwrap(), dir.path()).unwrap();
        let text = std::fs::read_to_string(dir.path().join("judgement.json")).unwrap();
        let read: Judgement = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(bytes(&read), bytes(&judgement));
    }
}
