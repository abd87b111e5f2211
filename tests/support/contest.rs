//! Contests for tests: judgements that are built from their types, and records for them.

use mcc_harness::base::names::RunId;
use mcc_harness::base::{Calibration, HostLoad, HostState, SLOWER_DURING};
use mcc_harness::benchkit::Value;
use mcc_harness::campaign::{EntryFacts, InstanceFacts, Kind, Run};
use mcc_harness::edition::{Edition, Rules, Status};
use mcc_harness::judge::judgement::*;
use mcc_harness::other_contests;
use mcc_harness::store::{Attempt, CampaignFacts, Disk, Environment, HostFacts, Outcome, Record, RunFacts};
use num_rational::BigRational;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

pub fn whole(number: i64) -> BigRational {
    BigRational::from_integer(number.into())
}

pub fn entry(name: &str, tool: &str, status: Status) -> Entry {
    Entry { entry: name.into(), tool: tool.into(), status, note: String::new() }
}

pub fn instance(name: &str, status: &str) -> Instance {
    let family = name.split_once("-PT").or(name.split_once("-COL")).map_or(name, |(family, _)| family);
    let weight = if status == "surprise" { whole(4) } else { BigRational::new(3.into(), 2.into()) };
    Instance { instance: name.into(), family: family.into(), status: status.into(), weight }
}

/// A judgement without blocks.
pub fn empty(entries: Vec<Entry>, instances: Vec<Instance>) -> Judgement {
    let edition = Edition::load("mcc-2018").expect("the edition of 2018");
    Judgement {
        version: "0.1.0".into(),
        publication: None,
        inputs: vec![InputDigest { file: "record.db".into(), sha256: "ab".repeat(32) }],
        notes: vec![],
        common_values: 44,
        entries,
        instances,
        examinations: edition.examinations.iter().map(|examination| examination.name.clone()).collect(),
        unresolved: vec![],
        excluded: vec![],
        confidence: vec![],
        blocks: vec![],
        scores: vec![],
        podiums: vec![],
        evidence_podiums: vec![],
        awards: vec![],
        best_virtual: vec![],
        flags: vec![],
        edition,
    }
}

/// Trusted values of a block by position: `F`, `T`, a number, or `?` for unknown.
pub fn trusted(instance: &str, examination: &str, values: &[&str]) -> Vec<Trusted> {
    let position = |(position, value): (usize, &&str)| {
        let value: Option<Value> = value.parse().ok();
        Trusted {
            id: format!("{instance}-{examination}-{position:02}"),
            basis: if value.is_some() { Basis::Unanimous } else { Basis::UnknownTie },
            value,
            ..Trusted::unknown()
        }
    };
    values.iter().enumerate().map(position).collect()
}

/// A cell with the given verdicts. Its right values are the trusted values.
pub fn cell(entry: usize, trusted: &[Trusted], verdicts: &str, ending: Ending) -> Cell {
    let give = |(verdict, trusted): (char, &Trusted)| match (verdict, &trusted.value) {
        ('.', _) => None,
        ('+', value) => value.clone(),
        (_, Some(Value::True)) => Some(Value::False),
        (_, Some(Value::False)) => Some(Value::True),
        _ => Some(Value::Number(7u32.into())),
    };
    let count = |letter| verdicts.matches(letter).count() as i64;
    let points = whole(16 * (count('+') - 2 * count('-'))) / whole(trusted.len() as i64);
    Cell {
        entry,
        ending,
        values: verdicts.chars().zip(trusted).map(give).collect(),
        verdicts: verdicts.parse().unwrap(),
        points,
        complete: count('+') == trusted.len() as i64,
        cost: Some(Cost {
            cpu_ms: 12_340 + entry as u64,
            wall_ms: 13_000,
            memory_kib: Some(250_000),
            ..Cost::default()
        }),
        marks: vec!["degraded:tcg".into()],
        techniques: vec![vec!["EXPLICIT".into(), "STATE_COMPRESSION".into()]],
        arrived_ms: vec![],
        remarks: vec!["line 7: a contradiction".into()],
        failure_class: None,
    }
}

/// Adds the scores, confidence and podiums that follow from the blocks, as far as the site shows them.
pub fn sum_up(judgement: &mut Judgement) {
    let entries = judgement.entries.len();
    for examination in 0..judgement.examinations.len() {
        for entry in 0..entries {
            let blocks = judgement.blocks.iter().filter(|block| block.examination == examination);
            let cells: Vec<_> =
                blocks.flat_map(|block| &block.cells).filter(|cell| cell.entry == entry).collect();
            let count = |verdict| cells.iter().map(|cell| cell.verdicts.count(verdict)).sum();
            let points: BigRational = cells.iter().map(|cell| cell.points.clone()).sum();
            judgement.scores.push(Score {
                entry,
                examination,
                right: count(ValueVerdict::Right),
                wrong: count(ValueVerdict::Wrong),
                unjudged: count(ValueVerdict::Unjudged),
                normalized: &points * BigRational::new(4.into(), 3.into()),
                points,
            });
        }
    }
    for entry in 0..entries {
        let scores = || judgement.scores.iter().filter(|score| score.entry == entry);
        let (agreed, wrong): (u64, u64) =
            (scores().map(|score| score.right).sum(), scores().map(|score| score.wrong).sum());
        let answered = agreed + wrong;
        let confidence = BigRational::new(agreed.into(), answered.max(1).into());
        judgement.confidence.push(Confidence { entry, agreed, answered, confidence });
    }
    for rule in judgement.edition.podiums.clone() {
        let points = |entry: usize| -> BigRational {
            let of_rule = |score: &&Score| {
                score.entry == entry && rule.examinations.contains(&judgement.examinations[score.examination])
            };
            judgement.scores.iter().filter(of_rule).map(|score| score.normalized.clone()).sum()
        };
        let competing = |entry: &usize| judgement.entries[*entry].status == Status::Competing;
        let mut ranked: Vec<_> = (0..entries).filter(competing).map(|entry| (points(entry), entry)).collect();
        ranked.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut places: Vec<PodiumPlace> = Vec::new();
        for (at, (points, entry)) in ranked.iter().enumerate() {
            let rank = match places.last() {
                Some(last) if last.points == *points => last.rank,
                _ => Some(at as u32 + 1),
            };
            let (variant, medal) = (VariantRank::Only, rank.map_or(Medal::None, Medal::of_rank));
            places.push(PodiumPlace { rank, entry: *entry, variant, points: points.clone(), medal });
        }
        for entry in (0..entries).filter(|entry| !competing(entry)) {
            let (variant, medal) = (VariantRank::Only, Medal::None);
            places.push(PodiumPlace { rank: None, entry, variant, points: points(entry), medal });
        }
        judgement.podiums.push(Podium { category: rule.category.clone(), places });
    }
}

/// Five entries, three instances, three examinations, and every kind of ending.
pub fn small() -> Judgement {
    use Ending::*;
    let entries = vec![
        entry("breadth-first", "breadth-first", Status::Competing),
        entry("depth-first", "depth-first", Status::Competing),
        entry("walk", "walk", Status::Competing),
        entry("wrong-on-purpose", "wrong-on-purpose", Status::Competing),
        entry("BVT-2018", "BVT-2018", Status::Virtual),
    ];
    let instances = vec![
        instance("Philosophers-PT-000005", "known"),
        instance("Philosophers-PT-000010", "known"),
        instance("TokenRing-PT-005", "surprise"),
    ];
    let mut judgement = empty(entries, instances);
    let huge = "9".repeat(24_000);
    let (all, none) = ("+".repeat(16), ".".repeat(16));
    let formulas = ["T", "F", "T", "F", "T", "F", "T", "F", "T", "F", "T", "F", "T", "F", "?", "F"];
    /// Examination, instance, trusted values, and verdicts and ending of each entry.
    type Plan<'a> = (usize, usize, &'a [&'a str], [(&'a str, Ending); 5]);
    let plan: [Plan; 9] = [
        (
            0,
            0,
            &["243", "945", "1", "10"],
            [
                ("++++", Answered),
                ("++++", Answered),
                ("....", CannotCompute),
                ("--++", Answered),
                ("++++", NotStated),
            ],
        ),
        (
            0,
            1,
            &["59049", "459270", "1", "20"],
            [
                ("++++", Answered),
                ("++..", CpuLimit),
                ("....", NoAnswer),
                ("-...", ToolCrash),
                ("++++", NotStated),
            ],
        ),
        (
            0,
            2,
            &[&huge, "?", "1", "6"],
            [
                ("+?++", Answered),
                ("....", MemoryLimit),
                ("....", OutputLimit),
                ("....", WallLimit),
                ("....", NotStated),
            ],
        ),
        (
            2,
            0,
            &["T"],
            [("+", Answered), ("+", Answered), ("+", Answered), ("-", Answered), ("+", NotStated)],
        ),
        (
            2,
            1,
            &["T"],
            [("+", Answered), ("+", Answered), (".", CpuLimit), ("-", Answered), ("+", NotStated)],
        ),
        (
            2,
            2,
            &["F"],
            [("+", Answered), ("+", Answered), (".", CannotCompute), (".", Infrastructure), (".", NotStated)],
        ),
        (
            5,
            0,
            &formulas,
            [
                ("++++++++++++++?+", Answered),
                ("++++++++++++++?+", Answered),
                ("+.+.........+...", Answered),
                ("+-++++-+++++++?+", Answered),
                (&all, NotStated),
            ],
        ),
        (
            5,
            1,
            &formulas,
            [
                ("++++++++++++++?+", Answered),
                ("++++++++........", CpuLimit),
                (&none, DidNotCompete),
                ("+-++++-+++++++?+", Answered),
                (&all, NotStated),
            ],
        ),
        (
            5,
            2,
            &formulas,
            [
                (&none, DidNotCompete),
                (&none, DidNotCompete),
                (&none, DidNotCompete),
                ("--++............", WallLimit),
                (&none, NotStated),
            ],
        ),
    ];
    for (examination, instance, values, runs) in plan {
        let (instance_name, examination_name) =
            (&judgement.instances[instance].instance, &judgement.examinations[examination]);
        let trusted = trusted(instance_name, examination_name, values);
        let cells =
            runs.iter().enumerate().map(|(e, (verdicts, ending))| cell(e, &trusted, verdicts, *ending));
        judgement.blocks.push(Block { examination, instance, cells: cells.collect(), trusted });
    }
    judgement.unresolved.push(RunName {
        entry: "wrong-on-purpose".into(),
        instance: "TokenRing-PT-005".into(),
        examination: "ReachabilityDeadlock".into(),
    });
    sum_up(&mut judgement);
    judgement
}

/// A judgement of the size of 2018: 947 instances x 12 tools x 9 examinations.
pub fn full_size() -> Judgement {
    let names =
        ["GreatSPN", "ITS-Tools", "ITS-Tools.L", "Irma.full", "Irma.struct", "LTSMin", "LoLA", "M4M.full"];
    let names = names.into_iter().chain(["M4M.struct", "TINA.tedd", "Tapaal", "smart"]);
    let entries = names.map(|name| entry(name, name.split('.').next().unwrap_or(name), Status::Competing));
    let instances = (0..947).map(|n| instance(&format!("Family{:03}-PT-{:06}", n / 11, n), "known"));
    let mut judgement = empty(entries.collect(), instances.collect());
    for examination in 0..9 {
        for number in 0..947 {
            let values = judgement.edition.examinations[examination].values;
            let name = &judgement.instances[number].instance;
            let trusted = trusted(name, &judgement.examinations[examination], &vec!["T"; values]);
            let run = |entry: usize| {
                let dice = (number * 31 + entry * 17 + examination * 7) % 23;
                let (verdicts, ending) = match dice {
                    0 => (".".repeat(values), Ending::DidNotCompete),
                    1..3 => (".".repeat(values), Ending::CannotCompute),
                    3 => ("-".repeat(values), Ending::Answered),
                    4..9 => (format!("+{}", ".".repeat(values - 1)), Ending::CpuLimit),
                    _ => ("+".repeat(values), Ending::Answered),
                };
                Cell { cost: None, marks: vec![], ..cell(entry, &trusted, &verdicts, ending) }
            };
            let cells = (0..12).map(run).collect();
            judgement.blocks.push(Block { examination, instance: number, cells, trusted });
        }
    }
    sum_up(&mut judgement);
    judgement
}

/// The default output of a tool in a run of `small`.
fn printed(run: &str) -> Vec<u8> {
    let id = run.split('/').skip(1).collect::<Vec<_>>().join("-");
    let mut text = format!("reference tool\n\x1b[1mexploring\x1b[0m {run}\n");
    for position in 0..16 {
        text.push_str(&format!(
            "FORMULA {id}-{position:02} TRUE TECHNIQUES EXPLICIT SEQUENTIAL_PROCESSING\n"
        ));
    }
    text.into_bytes()
}

pub fn attempt(run: &RunId, number: u32, outcome: Outcome) -> Attempt {
    let has_facts = !outcome.is_infrastructure() && outcome != Outcome::NotCompeting;
    // Runs at the limit had slower cores.
    let calibration = Calibration { during: Some(1230), ..Calibration::default() };
    let host_state = (outcome == Outcome::CpuLimit).then(|| HostState {
        load: Some(HostLoad { calibration: Some(calibration), ..HostLoad::default() }),
        disturbed: vec![format!("{SLOWER_DURING}23.0 % (threshold 5 %)")],
        ..HostState::default()
    });
    let facts = RunFacts {
        boot_ms: 2_345,
        // The limits are those of mcc-2018.
        wall_ms: if outcome == Outcome::WallLimit { 4_500_021 } else { 13_021 },
        cpu_ms: if outcome == Outcome::CpuLimit { 3_600_340 } else { 12_340 },
        vcpus: 1,
        memory_kib: Some(251_392),
        host_memory_kib: Some(612_000),
        stdout_bytes: if outcome == Outcome::OutputLimit { (1 << 30) + 1 } else { 1_234 },
        stderr_bytes: 0,
        samples: vec![],
        ..RunFacts::default()
    };
    let disk = |role: &str, digit: &str, bytes| Disk { role: role.into(), sha256: digit.repeat(64), bytes };
    Attempt {
        run: run.clone(),
        number,
        outcome,
        marks: vec!["degraded:tcg".into()],
        started_at: format!("2026-11-21T06:{number:02}:00Z"),
        host: HostFacts {
            name: "node-7".into(),
            cpu: "Example CPU E5".into(),
            cores: 2,
            usable_cores: None,
            memory_mib: 24_576,
            kernel: "6.1.0-28-amd64".into(),
            accelerator: "tcg".into(),
            qemu: "7.2.22".into(),
        },
        disks: vec![
            disk("disk", "d", 734_003_200),
            disk("kernel", "c", 8_000_000),
            disk("initrd", "b", 9_000_000),
            disk("inputs", "a", 4_194_304),
        ],
        machine: ["-machine", "q35,accel=tcg", "-cpu", "SandyBridge", "-m", "16384", "-nodefaults"]
            .map(String::from)
            .into(),
        facts: has_facts.then_some(facts),
        outputs: vec![],
        environment: Environment { host_state, ..Environment::default() },
    }
}

/// A record with a run for every cell of the judgement. `outputs` returns the stdout of a run; None stands for the default
/// output.
pub fn record(judgement: &Judgement, dir: &Path, outputs: impl Fn(&str) -> Option<Vec<u8>>) -> Record {
    let examinations: BTreeSet<&str> =
        judgement.blocks.iter().map(|block| judgement.examinations[block.examination].as_str()).collect();
    let examinations = examinations.into_iter().collect::<Vec<_>>().join(" ");
    let campaign = CampaignFacts {
        campaign: "edition = \"mcc-2018\"\n".into(),
        settings: BTreeMap::from([("examinations".into(), examinations)]),
        edition: serde_json::to_string(&judgement.edition).expect("an edition is JSON"),
        disks: vec![],
        entries: judgement
            .entries
            .iter()
            .map(|e| EntryFacts {
                entry: e.entry.parse().expect("a name"),
                tool: e.tool.clone(),
                kind: Kind::Sequential,
            })
            .collect(),
        instances: judgement
            .instances
            .iter()
            .map(|i| InstanceFacts {
                name: i.instance.parse().expect("a name"),
                family: i.family.clone(),
                status: i.status.clone(),
                sha256: "0".repeat(64),
                questions: BTreeMap::new(),
            })
            .collect(),
        retries: 1,
    };
    let record = Record::create_or_open(dir, &campaign).expect("a new record");
    for block in &judgement.blocks {
        for cell in &block.cells {
            let instance = &judgement.instances[block.instance];
            let run = Run {
                entry: judgement.entries[cell.entry].entry.parse().expect("a name"),
                instance: instance.instance.parse().expect("a name"),
                examination: judgement.examinations[block.examination].parse().expect("a name"),
                model: instance.family.clone(),
                vcpus: 1,
                competes: cell.ending != Ending::DidNotCompete,
            };
            record.plan_runs(std::slice::from_ref(&run)).expect("a plan");
            commit(&record, &run.id(), cell.ending, outputs(&run.id()));
        }
    }
    record
}

fn commit(record: &Record, run: &RunId, ending: Ending, stdout: Option<Vec<u8>>) {
    let infrastructure =
        || Outcome::Infrastructure { state: "booting".into(), reason: "no readiness in 60 s".into() };
    let outcomes = match ending {
        Ending::Infrastructure => vec![infrastructure(), infrastructure()],
        // One run needed a second attempt.
        _ if run.starts_with("walk/Philosophers-PT-000005/StateSpace") => {
            vec![infrastructure(), Outcome::Finished { exit_code: 0 }]
        }
        Ending::CpuLimit => vec![Outcome::CpuLimit],
        Ending::WallLimit => vec![Outcome::WallLimit],
        Ending::MemoryLimit => vec![Outcome::MemoryLimit],
        Ending::OutputLimit => vec![Outcome::OutputLimit],
        Ending::DiskLimit => vec![Outcome::DiskLimit],
        Ending::InstructionLimit => vec![Outcome::InstructionLimit],
        Ending::ToolCrash => vec![Outcome::ToolCrash { signal: 11 }],
        Ending::DidNotCompete => vec![Outcome::NotCompeting],
        _ => vec![Outcome::Finished { exit_code: 0 }],
    };
    for outcome in outcomes {
        let dir = record.begin_attempt(run).expect("an attempt");
        if outcome != Outcome::NotCompeting {
            let printed = stdout.clone().unwrap_or_else(|| printed(run));
            fs::write(dir.outputs().join("stdout"), printed).expect("stdout");
            fs::write(dir.outputs().join("stderr"), b"").expect("stderr");
            fs::write(dir.outputs().join("console"), b"[    0.000000] Linux version 6.1\r\n")
                .expect("console");
        }
        let number = dir.number();
        record.commit(attempt(run, number, outcome), dir).expect("a committed attempt");
    }
}

/// Two tools in one category of SV-COMP; the first is wrong once.
pub fn other_contests() -> other_contests::Judgement {
    let Ok(Rules::Other(edition)) = Rules::load("svcomp-2013") else { panic!("an edition of SV-COMP") };
    let cell = |entry, verdict, points: i64, cpu_s: &str| {
        let measured =
            serde_json::json!([{ "what": "cpu_s", "mean": cpu_s }, { "what": "memory_mb", "mean": "12" }]);
        serde_json::json!({
            "entry": entry, "answer": verdict, "verdict": verdict, "points": points.to_string(), "measured": measured
        })
    };
    let block = |instance: &str, cells: [serde_json::Value; 2]| serde_json::json!({ "category": 0, "instance": instance, "expected": "true", "cells": cells });
    let quantile = |entry, start: i64, steps: &[(i64, &str)]| {
        let step = |(x, cpu_s): &(i64, &str)| serde_json::json!({ "x": x.to_string(), "cpu_s": cpu_s });
        let steps: Vec<_> = steps.iter().map(step).collect();
        serde_json::json!({ "entry": entry, "category": 0, "start": start.to_string(), "steps": steps })
    };
    let entry =
        |name: &str| serde_json::json!({ "entry": name, "tool": name, "status": "competing", "note": "" });
    let judgement = serde_json::json!({
        "contest": "sv-comp", "version": "0.1.0", "inputs": [], "notes": [], "parts": [],
        "edition": serde_json::to_value(&*edition).expect("plain data"),
        "entries": [entry("bold"), entry("careful")],
        "categories": [{ "category": "Heap & <Memory>", "tasks": 2, "held": true }],
        "blocks": [
            block("a", [cell(0, "right", 2, "1/2"), cell(1, "right", 2, "30")]),
            block("b", [cell(0, "wrong", -4, "3"), cell(1, "unknown", 0, "900")]),
        ],
        "scores": [], "podiums": [{
            "category": 0, "places": [{ "rank": 1, "entry": 1, "points": "2", "medal": "gold" }]
        }],
        "quantiles": [quantile(0, -4, &[(-2, "1/2")]), quantile(1, 0, &[(2, "30")])],
    });
    serde_json::from_value(judgement).expect("a judgement")
}
