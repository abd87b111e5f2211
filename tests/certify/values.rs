//! The engine decides every value of small real instances as the oracles have it.

#[path = "../support/data.rs"]
mod data;

use flate2::read::GzDecoder;
use mcc_certify::{Answer, Budget, Evidence, Finding, Known, Outcome, Trace, Value, certify, decide};
use mcc_model::Archive;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The examinations with the suffix of their oracle files.
const EXAMINATIONS: [(&str, &str); 13] = [
    ("StateSpace", "SS"),
    ("UpperBounds", "UB"),
    ("ReachabilityDeadlock", "RD"),
    ("ReachabilityCardinality", "RC"),
    ("ReachabilityFireability", "RF"),
    ("CTLCardinality", "CTLC"),
    ("CTLFireability", "CTLF"),
    ("LTLCardinality", "LTLC"),
    ("LTLFireability", "LTLF"),
    ("OneSafe", "OS"),
    ("StableMarking", "SM"),
    ("QuasiLiveness", "QL"),
    ("Liveness", "L"),
];

/// Largest number of states in the ordinary test.
const FEW: f64 = 20_000.0;

fn decide_all(archive: &Archive, seconds: u64) -> BTreeMap<String, Vec<Answer>> {
    decide_some(archive, &EXAMINATIONS.map(|(name, _)| name), seconds)
}

fn decide_some(archive: &Archive, examinations: &[&str], seconds: u64) -> BTreeMap<String, Vec<Answer>> {
    let cancel = AtomicBool::new(false);
    let budget = Budget {
        steps: u64::MAX,
        time: Duration::from_secs(seconds),
        memory_bytes: 2 << 30,
        cancel: &cancel,
    };
    let mut answers: BTreeMap<String, Vec<Answer>> = BTreeMap::new();
    for answer in decide(archive, examinations, &budget).unwrap() {
        answers.entry(answer.examination.clone()).or_default().push(answer);
    }
    answers
}

/// The value as in an oracle file, or the reason why it is open.
fn shown(outcome: &Outcome, like: &str) -> String {
    match outcome {
        Outcome::Decided { value: Value::Truth(true), .. } => "TRUE".to_owned(),
        Outcome::Decided { value: Value::Truth(false), .. } => "FALSE".to_owned(),
        Outcome::Decided { value: Value::Number(number), .. } if like.contains('E') => {
            rounded(&number.to_string())
        }
        Outcome::Decided { value: Value::Number(number), .. } => number.to_string(),
        Outcome::Decided { value: Value::Infinite, .. } => "+inf".to_owned(),
        Outcome::Open { reason, .. } => format!("open: {reason}"),
    }
}

/// `3.2057E+0008`: five digits and the exponent of the first, as published tables round.
fn rounded(digits: &str) -> String {
    let mut exponent = digits.len() - 1;
    let first_six: u32 = format!("{digits}00000")[..6].parse().unwrap();
    let mut five = (first_six + 5) / 10;
    if five == 100_000 {
        (five, exponent) = (10_000, exponent + 1);
    }
    format!("{}.{:04}E+{exponent:04}", five / 10_000, five % 10_000)
}

/// The values of an oracle file in the order of positions; None if it does not exist. Of StateSpace by metric.
fn oracle(path: &Path) -> Option<Vec<(String, String)>> {
    let text = fs::read_to_string(path).ok()?;
    let mut values: Vec<(String, String)> = text
        .lines()
        .filter(|line| line.starts_with("FORMULA") || line.starts_with("STATE_SPACE"))
        .map(|line| {
            let words: Vec<_> = line.split_whitespace().collect();
            (words[1].to_owned(), words[2].to_owned())
        })
        .collect();
    values.sort();
    Some(values)
}

/// Compares all answers of an instance with its oracle files; returns how many were compared, and the differences.
fn compare(archive: &Path, oracles: &Path, seconds: u64) -> (usize, Vec<String>) {
    let instance = archive.file_stem().unwrap().to_str().unwrap();
    let answers = decide_all(&Archive::open(archive).unwrap(), seconds);
    let (mut compared, mut differences) = (0, Vec::new());
    for (examination, short) in EXAMINATIONS {
        let Some(values) = oracle(&oracles.join(format!("{instance}-{short}.out"))) else { continue };
        let answers = &answers[examination];
        for (position, (id, right)) in values.iter().enumerate().filter(|(_, (_, right))| right != "-1") {
            let answer = match examination {
                "StateSpace" => answers.iter().find(|answer| answer.id == *id),
                _ => answers.get(position),
            };
            let found = answer.map_or("no answer".to_owned(), |answer| shown(&answer.outcome, right));
            compared += 1;
            if found != *right {
                differences.push(format!("{instance} {examination} {id}: {found}, oracle {right}"));
            }
        }
    }
    (compared, differences)
}

/// Compares the instances of 2018 with these numbers of states; returns how many values were compared.
fn compare_2018(states: std::ops::Range<f64>) -> Option<usize> {
    let mcc = data::shared("mcc")?;
    let (mut compared, mut differences) = (0, Vec::new());
    for row in csv::Reader::from_path(mcc.join("inputs/MANIFEST.csv")).unwrap().deserialize() {
        let row: BTreeMap<String, String> = row.unwrap();
        if row["states"].parse::<f64>().is_ok_and(|count| states.contains(&count)) {
            let archive = mcc.join(format!("inputs/{}.tgz", row["instance"]));
            let (count, different) = compare(&archive, &mcc.join("oracle"), 3600);
            compared += count;
            differences.extend(different);
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    Some(compared)
}

#[test]
fn values_of_small_instances_equal_the_oracle() {
    if let Some(compared) = compare_2018(0.0..FEW) {
        assert!(compared > 2_500, "{compared}");
    }
}

#[test]
#[ignore = "long: scripts/test --all"]
fn values_below_a_million_states_equal_the_oracle() {
    if let Some(compared) = compare_2018(FEW..1e6) {
        assert!(compared > 900, "{compared}");
    }
}

#[test]
fn state_counts_of_small_instances_equal_the_consensus() {
    let Some(mcc) = data::shared("mcc") else { return };
    let answers = File::open(data::published("mcc/2018/answers.csv.gz")).unwrap();
    let rows = csv::Reader::from_reader(GzDecoder::new(answers)).into_records().map(Result::unwrap);
    let consensus: BTreeMap<String, Vec<String>> = rows
        .filter(|row| &row[0] == "BVT" && &row[2] == "StateSpace")
        .map(|row| (row[1].to_owned(), row[3].split(' ').map(str::to_owned).collect()))
        .collect();
    let mut compared = 0;
    for row in csv::Reader::from_path(mcc.join("inputs/MANIFEST.csv")).unwrap().deserialize() {
        let row: BTreeMap<String, String> = row.unwrap();
        if !row["states"].parse::<f64>().is_ok_and(|states| states < FEW) {
            continue;
        }
        let archive = Archive::open(&mcc.join(format!("inputs/{}.tgz", row["instance"]))).unwrap();
        let cancel = AtomicBool::new(false);
        let budget = Budget {
            steps: u64::MAX,
            time: Duration::from_secs(3600),
            memory_bytes: 1 << 30,
            cancel: &cancel,
        };
        let answers = decide(&archive, &["StateSpace"], &budget).unwrap();
        for (answer, right) in
            answers.iter().zip(&consensus[&row["instance"]]).filter(|(_, right)| *right != "?")
        {
            assert_eq!(&shown(&answer.outcome, right), right, "{} {}", row["instance"], answer.id);
            compared += 1;
        }
    }
    assert!(compared > 80, "{compared}");
}

/// Instances that the contest has as coloured and as P/T net.
const TWINS: [&str; 6] = [
    "LamportFastMutEx-KIND-2",
    "NeoElection-KIND-2",
    "Philosophers-KIND-000005",
    "Referendum-KIND-0010",
    "SharedMemory-KIND-000005",
    "TokenRing-KIND-005",
];

#[test]
fn coloured_and_pt_twins_have_the_same_state_space() {
    let Some(mcc) = data::shared("mcc") else { return };
    for twins in TWINS {
        let [coloured, pt] = ["COL", "PT"].map(|kind| {
            let archive = mcc.join(format!("inputs/{}.tgz", twins.replace("KIND", kind)));
            let answers = decide_all(&Archive::open(&archive).unwrap(), 600);
            let decided = ["StateSpace", "ReachabilityDeadlock"].iter().flat_map(|name| &answers[*name]);
            decided.map(|answer| shown(&answer.outcome, "")).collect::<Vec<_>>()
        });
        assert_eq!(coloured, pt, "{twins}");
        assert!(coloured.iter().all(|value| !value.starts_with("open")), "{coloured:?}");
    }
}

#[test]
fn values_of_later_editions_equal_their_oracles() {
    let Some(mcc) = data::shared("mcc") else { return };
    let mut differences = Vec::new();
    for year in ["2023", "2025"] {
        let folder = mcc.join(year);
        let mut compared = 0;
        for archive in data::listed(&format!("mcc/{year}/inputs")).unwrap() {
            let (count, different) = compare(&archive, &folder.join("oracle"), 3600);
            compared += count;
            differences.extend(different.into_iter().map(|text| format!("{year}: {text}")));
        }
        assert!(compared > 6 * (5 + 7 * 16), "{year} {compared}");
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The published consensus of 2025 on an instance: the values by examination and position.
fn consensus_of_2025(instance: &str) -> BTreeMap<String, BTreeMap<usize, String>> {
    let table = File::open(data::published("mcc/2025/consensus.csv.gz")).unwrap();
    let mut values: BTreeMap<String, BTreeMap<usize, String>> = BTreeMap::new();
    for row in csv::Reader::from_reader(GzDecoder::new(table)).into_records().map(Result::unwrap) {
        if &row[0] == instance {
            let of_examination = values.entry(row[1].to_owned()).or_default();
            of_examination.insert(row[2].parse().unwrap(), row[3].to_owned());
        }
    }
    values
}

/// The archive of an instance of 2025.
fn archive_of_2025(instance: &str) -> Archive {
    Archive::open(&data::published(&format!("mcc/2025/models/{instance}.tgz"))).unwrap()
}

/// The ids of one instance are of two years; the nets of the others have a difference, and tuples of one element.
#[test]
fn values_of_2025_equal_the_published_consensus() {
    const FEW_EXAMINATIONS: [&str; 3] = ["StateSpace", "ReachabilityDeadlock", "ReachabilityCardinality"];
    let all = EXAMINATIONS.map(|(name, _)| name);
    for (instance, examinations) in [
        ("ResAllocation-PT-R002C002", &all[..]),
        ("PhilosophersDyn-COL-03", &all),
        ("UtilityControlRoom-COL-Z2T3N04", &FEW_EXAMINATIONS),
    ] {
        let answers = decide_some(&archive_of_2025(instance), examinations, 3600);
        let consensus = consensus_of_2025(instance);
        for examination in examinations {
            for (position, right) in &consensus[*examination] {
                let answer = &answers[*examination][*position];
                let right = match right.as_str() {
                    "T" => "TRUE",
                    "F" => "FALSE",
                    number => number,
                };
                let found = shown(&answer.outcome, right);
                assert_eq!(found, right, "{instance} {examination} {}", answer.id);
            }
        }
    }
}

/// The net has a sum inside of a tuple. It is not bounded.
#[test]
fn an_unbounded_net_with_sums_in_tuples_agrees_with_the_consensus() {
    let instance = "VehicularWifi-COL-none";
    let (answers, consensus) = (decide_all(&archive_of_2025(instance), 20), consensus_of_2025(instance));
    let mut decided = BTreeSet::new();
    for (examination, values) in &consensus {
        for (position, right) in values {
            let answer = &answers[examination][*position];
            if let Outcome::Decided { value: Value::Truth(value), .. } = answer.outcome {
                assert_eq!(if value { "T" } else { "F" }, right, "{examination} {}", answer.id);
                decided.insert(examination.as_str());
            }
        }
    }
    assert!(decided.contains("ReachabilityFireability"), "{decided:?}");
}

/// What `certify` finds in some examinations.
fn certified(archive: &Archive, examinations: &[&str], seconds: u64) -> Vec<Finding> {
    let cancel = AtomicBool::new(false);
    let budget = Budget {
        steps: u64::MAX,
        time: Duration::from_secs(seconds),
        memory_bytes: 256 << 20,
        cancel: &cancel,
    };
    certify(archive, examinations, &budget).unwrap()
}

#[test]
fn quasi_liveness_is_certified_by_firings() {
    for instance in ["ResAllocation-PT-R002C002", "PhilosophersDyn-COL-03"] {
        let findings = certified(&archive_of_2025(instance), &["QuasiLiveness"], 600);
        let [Finding { known, .. }] = &findings[..] else { panic!("{findings:?}") };
        let Known::Exactly(Value::Truth(true), evidence) = known else { panic!("{instance}: {known:?}") };
        assert!(evidence.witness.is_some() && consensus_of_2025(instance)["QuasiLiveness"][&0] == "T");
    }
}

/// The places of a transition with the weights of their arcs.
type Arcs<'a> = &'a [(&'a str, u64)];

/// Writes a P/T instance: places with their tokens; transitions with the weights of their input and output arcs; formulas.
fn write_instance(
    folder: &Path,
    places: &[(&str, u64)],
    transitions: &[(&str, Arcs<'_>, Arcs<'_>)],
    formulas: &[(&str, &[&str])],
) -> Archive {
    let instance = folder.join("Small-PT-1");
    fs::create_dir_all(&instance).unwrap();
    let mut net = String::new();
    for (place, tokens) in places {
        net += &format!("<place id='{place}'><initialMarking><text>{tokens}</text></initialMarking></place>");
    }
    for (transition, inputs, outputs) in transitions {
        net += &format!("<transition id='{transition}'/>");
        for (side, arcs) in [("in", inputs), ("out", outputs)] {
            for (place, weight) in *arcs {
                let (source, target) = if side == "in" { (place, transition) } else { (transition, place) };
                net += &format!(
                    "<arc id='{side}-{place}-{transition}' source='{source}' target='{target}'>\
                     <inscription><text>{weight}</text></inscription></arc>"
                );
            }
        }
    }
    let net = format!(
        "<pnml><net id='Small-PT-1' type='http://www.pnml.org/version-2009/grammar/ptnet'><page id='page'>{net}</page></net></pnml>"
    );
    fs::write(instance.join("model.pnml"), net).unwrap();
    for (examination, formulas) in formulas {
        let mut file = "<property-set>".to_owned();
        for (number, formula) in formulas.iter().enumerate() {
            // le(a,b) stands for a <= b of places and numbers.
            let mut text = (*formula).to_owned();
            while let Some((before, rest)) = text.split_once("le(") {
                let (pair, after) = rest.split_once(')').unwrap();
                let count = |term: &str| match term.parse::<u64>() {
                    Ok(number) => format!("<integer-constant>{number}</integer-constant>"),
                    Err(_) => format!("<tokens-count><place>{term}</place></tokens-count>"),
                };
                let (left, right) = pair.split_once(',').unwrap();
                text = format!("{before}<integer-le>{}{}</integer-le>{after}", count(left), count(right));
            }
            file += &format!(
                "<property><id>Small-PT-1-{examination}-{number:02}</id><formula>{text}</formula></property>"
            );
        }
        fs::write(instance.join(format!("{examination}.xml")), file + "</property-set>").unwrap();
    }
    Archive::open(&instance).unwrap()
}

/// The values of one examination in short form: T, F, a number, or ? for one that is open.
fn short(archive: &Archive, examination: &str) -> String {
    let word = |finding: &Finding| match &finding.known {
        Known::Exactly(Value::Truth(true), _) => "T".to_owned(),
        Known::Exactly(Value::Truth(false), _) => "F".to_owned(),
        Known::Exactly(Value::Number(number), _) => number.to_string(),
        Known::Exactly(Value::Infinite, _) => "inf".to_owned(),
        Known::AtLeast(..) | Known::Open(_) => "?".to_owned(),
    };
    certified(archive, &[examination], 4).iter().map(word).collect()
}

const LTL: [&str; 6] = [
    "<all-paths><next>le(p,0)</next></all-paths>",
    "<all-paths><until><before>le(p,0)</before><reach>le(1,b)</reach></until></all-paths>",
    "<all-paths><next><next>le(p,1)</next></next></all-paths>",
    "<all-paths><finally>le(0,p)</finally></all-paths>",
    "<all-paths><next>le(b,1)</next></all-paths>",
    // Only infinite runs decide this one.
    "<all-paths><finally>le(1,b)</finally></all-paths>",
];

const CTL: [&str; 4] = [
    "<exists-path><next>le(1,p)</next></exists-path>",
    "<all-paths><next>le(1,b)</next></all-paths>",
    "<exists-path><finally>le(1,b)</finally></exists-path>",
    "<all-paths><next>le(b,1)</next></all-paths>",
];

/// All runs of the net are infinite, and none returns to a marking.
#[test]
fn a_finite_path_decides_values_of_an_unbounded_net() {
    let folder = tempfile::TempDir::new().unwrap();
    let archive = write_instance(
        folder.path(),
        &[("p", 0), ("a", 1), ("b", 0)],
        &[("t", &[], &[("p", 1)]), ("u", &[("a", 1)], &[("b", 1)])],
        &[("LTLCardinality", &LTL), ("CTLCardinality", &CTL)],
    );
    assert_eq!(short(&archive, "LTLCardinality"), "FFFTT?");
    assert_eq!(short(&archive, "CTLCardinality"), "TFTT");
    assert_eq!(short(&archive, "QuasiLiveness"), "T");
}

/// The first transition soon exceeds 2^64 tokens.
#[test]
fn a_finite_path_decides_values_although_a_place_overflows() {
    let folder = tempfile::TempDir::new().unwrap();
    let archive = write_instance(
        folder.path(),
        &[("p", 1 << 63), ("a", 1), ("b", 0)],
        &[("t", &[("p", 1)], &[("p", 1 << 63)]), ("u", &[("a", 1)], &[("b", 1)])],
        &[("LTLCardinality", &LTL), ("CTLCardinality", &CTL)],
    );
    assert_eq!(short(&archive, "LTLCardinality"), "FFFTT?");
    assert_eq!(short(&archive, "CTLCardinality"), "TFTT");
    assert_eq!(short(&archive, "QuasiLiveness"), "T");
}

#[test]
fn a_net_without_transitions_is_live() {
    let folder = tempfile::TempDir::new().unwrap();
    let archive = write_instance(folder.path(), &[("p", 1)], &[], &[]);
    assert_eq!([short(&archive, "Liveness"), short(&archive, "QuasiLiveness")], ["T", "T"]);
}

#[test]
fn the_initial_marking_refutes_the_consensus_of_gppp() {
    let Some(mcc) = data::shared("mcc") else { return };
    let archive = Archive::open(&mcc.join("inputs/GPPP-PT-C0010N1000000000.tgz")).unwrap();
    let cancel = AtomicBool::new(false);
    let budget =
        Budget { steps: u64::MAX, time: Duration::from_millis(500), memory_bytes: 64 << 20, cancel: &cancel };
    let answers = decide(&archive, &["StateSpace"], &budget).unwrap();
    for id in ["MAX_TOKEN_IN_PLACE", "MAX_TOKEN_PER_MARKING"] {
        let answer = answers.iter().find(|answer| answer.id == id).unwrap();
        let (Outcome::Open { .. }, Some((bound, Trace::Paths(paths)))) = (&answer.outcome, &answer.at_least)
        else {
            panic!("{answer:?}");
        };
        assert!(*bound >= 4_000_000_000, "{id} {bound}");
        assert_eq!(paths.len(), 1);
    }
}

#[test]
fn a_true_reachability_formula_has_a_witness() {
    let Some(mcc) = data::shared("mcc") else { return };
    let archive = Archive::open(&mcc.join("inputs/Philosophers-PT-000005.tgz")).unwrap();
    let answers = decide_all(&archive, 60);
    let deadlock = &answers["ReachabilityDeadlock"][0].outcome;
    let Outcome::Decided { value: Value::Truth(true), evidence: Evidence::Witness(Trace::Paths(paths)) } =
        deadlock
    else {
        panic!("{deadlock:?}");
    };
    assert_eq!(paths[0].len(), 5, "each philosopher takes one fork");
}
