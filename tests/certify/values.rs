//! The engine decides every value of small real instances as the oracles have it.

#[path = "../data/mod.rs"]
mod data;

use flate2::read::GzDecoder;
use mcc_certify::{Answer, Budget, Evidence, Outcome, Trace, Value, decide};
use mcc_model::Archive;
use std::collections::BTreeMap;
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
    let cancel = AtomicBool::new(false);
    let budget = Budget { time: Duration::from_secs(seconds), memory_bytes: 2 << 30, cancel: &cancel };
    let examinations = EXAMINATIONS.map(|(name, _)| name);
    let mut answers: BTreeMap<String, Vec<Answer>> = BTreeMap::new();
    for answer in decide(archive, &examinations, &budget).unwrap() {
        answers.entry(answer.examination.clone()).or_default().push(answer);
    }
    // Positions are the order of the ids; those of StateSpace are in the order of the contest.
    for (examination, answers) in &mut answers {
        if examination != "StateSpace" {
            answers.sort_by(|a, b| a.id.cmp(&b.id));
        }
    }
    answers
}

/// The value as in an oracle file, or the reason why it is open.
fn shown(outcome: &Outcome, like: &str) -> String {
    match outcome {
        Outcome::Decided { value: Value::Truth(true), .. } => "TRUE".to_owned(),
        Outcome::Decided { value: Value::Truth(false), .. } => "FALSE".to_owned(),
        Outcome::Decided { value: Value::Number(number), .. } if like.contains('E') => rounded(*number),
        Outcome::Decided { value: Value::Number(number), .. } => number.to_string(),
        Outcome::Open { reason, .. } => format!("open: {reason}"),
    }
}

/// `3.2057E+0008`: five digits and the exponent of the first, as published tables round.
fn rounded(number: u128) -> String {
    let digits = number.to_string();
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
        let budget = Budget { time: Duration::from_secs(3600), memory_bytes: 1 << 30, cancel: &cancel };
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
            let of = ["StateSpace", "ReachabilityDeadlock"].iter().flat_map(|name| &answers[*name]);
            of.map(|answer| shown(&answer.outcome, "")).collect::<Vec<_>>()
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
        for archive in fs::read_dir(folder.join("inputs")).unwrap() {
            let (count, different) = compare(&archive.unwrap().path(), &folder.join("oracle"), 3600);
            compared += count;
            differences.extend(different.into_iter().map(|text| format!("{year}: {text}")));
        }
        assert!(compared > 6 * (5 + 7 * 16), "{year} {compared}");
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn the_initial_marking_refutes_the_consensus_of_gppp() {
    let Some(mcc) = data::shared("mcc") else { return };
    let archive = Archive::open(&mcc.join("inputs/GPPP-PT-C0010N1000000000.tgz")).unwrap();
    let cancel = AtomicBool::new(false);
    let budget = Budget { time: Duration::from_millis(500), memory_bytes: 64 << 20, cancel: &cancel };
    let answers = decide(&archive, &["StateSpace"], &budget).unwrap();
    for id in ["MAX_TOKEN_IN_PLACE", "MAX_TOKEN_PER_MARKING"] {
        let answer = answers.iter().find(|answer| answer.id == id).unwrap();
        let Outcome::Open { at_least: Some((bound, Trace::Paths(paths))), .. } = &answer.outcome else {
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
