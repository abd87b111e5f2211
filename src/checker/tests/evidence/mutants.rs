//! Mutated witnesses and certificates: the checkers accept the same ones as `scripts/replayer.py`, which shares no code with
//! them. A mutant may stay valid. `scripts/soak witnesses` does the same with a million of them.

use crate::nets::{Moves, Random, Tokens, fixture, pack, pnml};
use crate::proofs::{CERTAIN, certain_files, certificates};
use mcc_checker::{
    Certificate, CheckError, FileError, Instance, Lemma, PlaceName, ProofStep, Rational, Step, VERSION,
    Value, Weight, Witness,
};
use mcc_model::{Archive, ColourName, Formula};
use num_bigint::BigUint;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A coloured instance with a partition, a range, tuples, `all` and `subtract`.
const COLOURED: &str = include_str!("../../../../tests/data/evidence/instances/Colours-COL-1/model.pnml");
const GLOBAL: [&str; 4] = ["OneSafe", "QuasiLiveness", "StableMarking", "Liveness"];

/// Evidence of either kind.
#[derive(Clone)]
enum Evidence {
    Witness(Witness),
    Certificate(Certificate),
}

impl Evidence {
    fn json(&self) -> String {
        match self {
            Evidence::Witness(witness) => serde_json::to_string(witness).unwrap(),
            Evidence::Certificate(certificate) => serde_json::to_string(certificate).unwrap(),
        }
    }

    fn is_accepted(&self, instance: &Instance) -> bool {
        let text = self.json();
        // Only the version can be wrong: everything else is written by the program.
        let checked = match self {
            Evidence::Witness(_) => match Witness::read(&text) {
                Ok(witness) => instance.check_witness(&witness),
                Err(FileError::Version(_)) => return false,
                Err(error) => panic!("{error}"),
            },
            Evidence::Certificate(_) => match Certificate::read(&text) {
                Ok(certificate) => instance.check_certificate(&certificate),
                Err(FileError::Version(_)) => return false,
                Err(error) => panic!("{error}"),
            },
        };
        match checked {
            Ok(()) => true,
            Err(CheckError::Refused(_)) => false,
            Err(error) => panic!("{error}"),
        }
    }
}

/// What mutants are made of.
struct Parts {
    moves: Moves,
    /// Examinations with the ids of their properties, and whether these have numbers.
    properties: Vec<(String, String, bool)>,
    seeds: Vec<Evidence>,
}

fn number(value: u128) -> Value {
    Value::Number(BigUint::from(value))
}

fn rational(number: i64) -> Rational {
    number.to_string().parse().unwrap()
}

impl Parts {
    fn collect(archive: &Archive, instance: &Instance, random: &mut Random) -> Parts {
        let mut properties = vec![
            ("StateSpace".to_owned(), "MAX_TOKEN_IN_PLACE".to_owned(), true),
            ("StateSpace".to_owned(), "MAX_TOKEN_PER_MARKING".to_owned(), true),
        ];
        for name in GLOBAL {
            properties.push((name.to_owned(), name.to_owned(), false));
        }
        for examination in [
            "UpperBounds",
            "ReachabilityDeadlock",
            "ReachabilityCardinality",
            "ReachabilityFireability",
            "CTLCardinality",
            "CTLFireability",
            "LTLCardinality",
            "LTLFireability",
        ] {
            for property in archive.properties(examination).unwrap().unwrap_or_default() {
                let is_number = matches!(property.formula, Formula::PlaceBound(_));
                properties.push((examination.to_owned(), property.id, is_number));
            }
        }
        let mut parts = Parts { moves: Moves::read(archive), properties, seeds: Vec::new() };
        let name = archive.instance.as_str();
        for (examination, property, is_number) in &parts.properties {
            for _ in 0..4 {
                let length = random.below(12);
                let wants_loop = random.below(2) == 0;
                let (run, markings) = parts.moves.walk(random, length, wants_loop);
                let last: u128 = markings[markings.len() - 1].values().map(|n| *n as u128).sum();
                let values = if *is_number {
                    vec![number(last), number(random.below(3) as u128), Value::Infinite]
                } else {
                    [true, false].map(Value::Truth).to_vec()
                };
                let mut runs = vec![run];
                if ["QuasiLiveness", "StableMarking"].contains(&examination.as_str()) {
                    runs.extend((0..3).map(|_| parts.moves.walk(random, 40, false).0));
                }
                for value in values {
                    if value == Value::Infinite {
                        let steps = runs[0].steps.len();
                        (runs[0].loop_start, runs[0].repeat) = (None, Some(random.below(steps)));
                    }
                    let witness = Witness {
                        version: VERSION,
                        instance: name.to_owned(),
                        examination: examination.clone(),
                        property: property.clone(),
                        value,
                        runs: runs.clone(),
                    };
                    // Few refused ones, which may become valid.
                    if instance.check_witness(&witness).is_ok() || random.below(10) == 0 {
                        parts.seeds.push(Evidence::Witness(witness));
                    }
                }
            }
        }
        let bounds = parts.bounds(archive, name);
        parts.seeds.extend(bounds.into_iter().map(Evidence::Certificate));
        if name == CERTAIN {
            let known = certificates().into_iter().map(|text| Certificate::read(&text).unwrap());
            parts.seeds.extend(known.map(Evidence::Certificate));
        }
        parts
    }

    /// Certificates of upper bounds by place invariants, for the places that have some.
    fn bounds(&self, archive: &Archive, name: &str) -> Vec<Certificate> {
        let invariants = invariants(&self.moves);
        let weight = |((place, colour), weight): (&(usize, u64), &i64)| Weight {
            place: self.moves.places[*place].clone(),
            colour: self.moves.colours[*place].get(*colour as usize).cloned(),
            weight: rational(*weight),
        };
        let value = |invariant: &BTreeMap<(usize, u64), i64>| -> i128 {
            invariant.iter().map(|(at, w)| self.moves.initial.get(at).unwrap_or(&0) * i128::from(*w)).sum()
        };
        let lemmas: Vec<Lemma> = invariants
            .iter()
            .map(|invariant| Lemma::Inequality {
                weights: invariant.iter().map(weight).collect(),
                bound: value(invariant).to_string().parse().unwrap(),
            })
            .collect();
        let all: Vec<PlaceName> =
            self.moves.places.iter().map(|place| PlaceName { place: place.clone(), colour: None }).collect();
        let certificate = |examination: &str, property: String, value: Value, subject, proof| Certificate {
            version: VERSION,
            instance: name.to_owned(),
            examination: examination.to_owned(),
            property,
            value,
            subject,
            method: None,
            lemmas: lemmas.iter().cloned().chain([Lemma::Trap(all.clone())]).collect(),
            proof,
            parts: Vec::new(),
        };
        let contradiction = |lemmas: Vec<(usize, Rational)>| ProofStep::Contradiction {
            lemmas,
            assumptions: vec![(0, rational(1))],
        };
        let mut result = Vec::new();
        for property in archive.properties("UpperBounds").unwrap().unwrap_or_default() {
            let Formula::PlaceBound(places) = &property.formula else { continue };
            // Invariants with all of these places, until their sum covers the places.
            let number_of = |id: &String| self.moves.places.iter().position(|place| place == id).unwrap();
            let wanted: Vec<usize> = places.iter().map(number_of).collect();
            let used: Vec<usize> = (0..invariants.len())
                .filter(|n| invariants[*n].keys().any(|(place, _)| wanted.contains(place)))
                .collect();
            let total: i128 = used.iter().map(|n| value(&invariants[*n])).sum();
            let proof = vec![contradiction(used.iter().map(|n| (*n, rational(1))).collect())];
            let bound = number(total as u128);
            result.push(certificate("UpperBounds", property.id.clone(), bound.clone(), None, proof.clone()));
            let split = ProofStep::Split { weights: Vec::new(), bound: rational(3) };
            let proof = [vec![split], proof.clone(), proof].concat();
            result.push(certificate("UpperBounds", property.id, bound, None, proof));
        }
        let all_lemmas: Vec<_> = (0..invariants.len()).map(|n| (n, rational(1))).collect();
        let total: i128 = invariants.iter().map(&value).sum();
        for property in ["MAX_TOKEN_PER_MARKING", "MAX_TOKEN_IN_PLACE"] {
            let cases = if property == "MAX_TOKEN_IN_PLACE" { self.places_with_colours() } else { 0 };
            let proof = match cases {
                0 | 1 => vec![contradiction(all_lemmas.clone())],
                _ => std::iter::once(ProofStep::Cases(0))
                    .chain((0..cases).map(|_| contradiction(all_lemmas.clone())))
                    .collect(),
            };
            result.push(certificate("StateSpace", property.to_owned(), number(total as u128), None, proof));
        }
        let place = Some(self.moves.places[0].clone());
        let proof =
            vec![ProofStep::Cases(0), contradiction(all_lemmas.clone()), contradiction(all_lemmas.clone())];
        result.push(certificate(
            "StableMarking",
            "StableMarking".to_owned(),
            Value::Truth(true),
            place,
            proof,
        ));
        let transition = Some(self.moves.transitions[0].clone());
        let proof = vec![contradiction(all_lemmas)];
        result.push(certificate(
            "QuasiLiveness",
            "QuasiLiveness".to_owned(),
            Value::Truth(false),
            transition,
            proof,
        ));
        result
    }

    fn places_with_colours(&self) -> usize {
        self.moves.colours.iter().map(|colours| colours.len().max(1)).sum()
    }

    fn mutate(&self, evidence: &mut Evidence, random: &mut Random) {
        match evidence {
            Evidence::Witness(witness) => {
                let Witness { instance, examination, property, value, version, runs } = witness;
                match random.below(14) {
                    0..=2 => self.change_claim(random, [instance, examination, property], value, version),
                    3 => match random.below(3) {
                        0 => runs.push(self.moves.walk(random, 5, true).0),
                        1 => drop(runs.pop()),
                        _ => runs.extend(runs.first().cloned()),
                    },
                    _ if runs.is_empty() => {}
                    4 => {
                        let at = random.below(runs.len());
                        let run = &mut runs[at];
                        let any = Some(random.below(run.steps.len() + 2));
                        match random.below(4) {
                            0 => run.loop_start = None,
                            1 => run.loop_start = any,
                            2 => run.repeat = None,
                            _ => run.repeat = any,
                        }
                    }
                    _ => {
                        let at = random.below(runs.len());
                        self.change_steps(&mut runs[at].steps, random);
                    }
                }
            }
            Evidence::Certificate(certificate) => self.change_certificate(certificate, random),
        }
    }

    fn change_claim(
        &self,
        random: &mut Random,
        [instance, examination, property]: [&mut String; 3],
        value: &mut Value,
        version: &mut u32,
    ) {
        match random.below(8) {
            0 => *version = random.below(3) as u32,
            1 => instance.push('1'),
            2 => *property = "unknown".to_owned(),
            3 | 4 => {
                let (other, id, _) = random.pick(&self.properties);
                (*examination, *property) = (other.clone(), id.clone());
            }
            5 if random.below(4) == 0 => {
                *value = match (&value, random.below(2)) {
                    (Value::Truth(_), _) => number(1),
                    (_, 0) => Value::Infinite,
                    _ => Value::Truth(true),
                };
            }
            _ => {
                *value = match &*value {
                    Value::Truth(truth) => Value::Truth(!truth),
                    Value::Number(known) => Value::Number(match random.below(4) {
                        0 => known + 1_u8,
                        1 if *known > BigUint::from(0_u8) => known - 1_u8,
                        2 => BigUint::from(u128::MAX) * 2_u8,
                        _ => BigUint::from(random.below(5)),
                    }),
                    Value::Infinite => number(1),
                };
            }
        }
    }

    fn any_step(&self, random: &mut Random) -> Step {
        random.pick(&self.moves.moves).step.clone()
    }

    fn change_steps(&self, steps: &mut Vec<Step>, random: &mut Random) {
        let at = random.below(steps.len() + 1);
        let other = random.below(steps.len() + 1);
        match random.below(7) {
            0 => steps.insert(at, self.any_step(random)),
            _ if at == steps.len() => {}
            1 => drop(steps.remove(at)),
            2 => steps[at] = self.any_step(random),
            3 if other < steps.len() => steps.swap(at, other),
            4 => steps.truncate(at),
            5 => steps[at].transition = random.pick(&self.moves.transitions).clone(),
            _ => {
                let step = &mut steps[at];
                let with_binding = self.any_step(random).binding;
                match random.below(4) {
                    0 => step.transition.push('x'),
                    1 => drop(step.binding.pop_first()),
                    2 => {
                        drop(step.binding.insert("unknown".to_owned(), ColourName::Simple("dot".to_owned())));
                    }
                    _ => step.binding.iter_mut().for_each(|(variable, colour)| {
                        if let Some(other) = with_binding.get(variable) {
                            *colour = other.clone();
                        }
                    }),
                }
            }
        }
    }

    fn change_number(random: &mut Random, number: &mut Rational) {
        *number = match random.below(5) {
            0 => rational(random.below(7) as i64 - 3),
            1 => format!("{}/2", 2 * random.below(9) + 1).parse().unwrap(),
            2 => Rational(-&number.0),
            3 => Rational(&number.0 + &rational(1).0),
            _ => Rational(&number.0 - &rational(1).0),
        };
    }

    fn change_certificate(&self, certificate: &mut Certificate, random: &mut Random) {
        let Certificate { instance, examination, property, value, version, subject, lemmas, proof, .. } =
            certificate;
        let (lemma, step) = (random.below(lemmas.len()), random.below(proof.len()));
        match random.below(12) {
            0 | 1 => self.change_claim(random, [instance, examination, property], value, version),
            2 => {
                *subject = match random.below(3) {
                    0 => None,
                    1 => Some(random.pick(&self.moves.places).clone()),
                    _ => Some(random.pick(&self.moves.transitions).clone()),
                }
            }
            3 if !lemmas.is_empty() => drop(lemmas.remove(lemma)),
            4 if !lemmas.is_empty() => {
                let other = random.below(lemmas.len());
                lemmas.swap(lemma, other);
            }
            5..=7 if !lemmas.is_empty() => self.change_lemma(&mut lemmas[lemma], random),
            8 if !proof.is_empty() => drop(proof.remove(step)),
            9 if !proof.is_empty() => proof.insert(step, proof[random.below(proof.len())].clone()),
            _ if !proof.is_empty() => match &mut proof[step] {
                ProofStep::Cases(number) | ProofStep::Closed(number) => *number = random.below(3),
                ProofStep::Split { weights, bound } => match random.below(2) {
                    0 => Self::change_number(random, bound),
                    _ => weights.push(self.any_weight(random)),
                },
                ProofStep::Contradiction { lemmas, assumptions } => {
                    let list = if random.below(2) == 0 { lemmas } else { assumptions };
                    let at = random.below(list.len());
                    match (random.below(4), list.get_mut(at)) {
                        (0, _) => list.push((random.below(4), rational(random.below(3) as i64))),
                        (1, Some(_)) => drop(list.remove(at)),
                        (2, Some((number, _))) => *number = random.below(5),
                        (_, Some((_, factor))) => Self::change_number(random, factor),
                        _ => {}
                    }
                }
            },
            _ => {}
        }
    }

    fn any_place(&self, random: &mut Random) -> PlaceName {
        let place = random.below(self.moves.places.len());
        let colour = match random.below(3) {
            0 => None,
            1 => random.pick(&self.moves.colours).first().cloned(),
            _ => self.moves.colours[place].get(random.below(self.moves.colours[place].len())).cloned(),
        };
        PlaceName { place: self.moves.places[place].clone(), colour }
    }

    fn any_weight(&self, random: &mut Random) -> Weight {
        let PlaceName { place, colour } = self.any_place(random);
        Weight { place, colour, weight: rational(random.below(5) as i64 - 1) }
    }

    fn change_lemma(&self, lemma: &mut Lemma, random: &mut Random) {
        match lemma {
            // `vector_mutants.rs` has mutants of these.
            Lemma::Invariant { .. } | Lemma::Closed { .. } => {}
            Lemma::Trap(places) => match random.below(3) {
                0 if !places.is_empty() => drop(places.remove(random.below(places.len()))),
                1 => places.push(self.any_place(random)),
                _ => {
                    places.truncate(random.below(places.len() + 1));
                    places.push(self.any_place(random));
                }
            },
            Lemma::Inequality { weights, bound } => {
                let at = random.below(weights.len());
                match (random.below(6), weights.get_mut(at)) {
                    (0, _) => Self::change_number(random, bound),
                    (1, _) => weights.push(self.any_weight(random)),
                    (2, Some(_)) => drop(weights.remove(at)),
                    (3, Some(weight)) => {
                        let PlaceName { place, colour } = self.any_place(random);
                        (weight.place, weight.colour) = (place, colour);
                    }
                    (_, Some(weight)) => Self::change_number(random, &mut weight.weight),
                    _ => {}
                }
            }
        }
    }
}

/// Place invariants without negative weights (Farkas' algorithm), at most 200 of them.
fn invariants(net: &Moves) -> Vec<BTreeMap<(usize, u64), i64>> {
    type Row = (BTreeMap<usize, i128>, BTreeMap<(usize, u64), i128>);
    let mut places: Vec<(usize, u64)> = Vec::new();
    for (place, colours) in net.colours.iter().enumerate() {
        places.extend((0..colours.len().max(1) as u64).map(|colour| (place, colour)));
    }
    let change = |one: &crate::nets::Move, at: &(usize, u64)| {
        let count = |tokens: &Tokens| tokens.get(at).copied().unwrap_or_default();
        count(&one.puts) - count(&one.takes)
    };
    let mut rows: Vec<Row> = places
        .iter()
        .map(|at| {
            let changes = net.moves.iter().enumerate().map(|(number, one)| (number, change(one, at)));
            (changes.filter(|(_, change)| *change != 0).collect(), BTreeMap::from([(*at, 1)]))
        })
        .collect();
    for number in 0..net.moves.len() {
        let (kept, used): (Vec<Row>, Vec<Row>) =
            rows.into_iter().partition(|row| !row.0.contains_key(&number));
        rows = kept;
        for (a, more) in used.iter().filter(|row| row.0[&number] > 0).map(|row| (row, row.0[&number])) {
            for (b, less) in used.iter().filter(|row| row.0[&number] < 0).map(|row| (row, -row.0[&number])) {
                let mut sum: Row = Default::default();
                for (row, factor) in [(a, less), (b, more)] {
                    row.0.iter().for_each(|(at, n)| *sum.0.entry(*at).or_default() += n * factor);
                    row.1.iter().for_each(|(at, n)| *sum.1.entry(*at).or_default() += n * factor);
                }
                sum.0.retain(|_, n| *n != 0);
                if rows.len() < 200 && sum.1.values().chain(sum.0.values()).all(|n| n.abs() < 1 << 40) {
                    rows.push(sum);
                }
            }
        }
    }
    let weights = |row: Row| row.1.into_iter().map(|(at, weight)| (at, weight as i64)).collect();
    rows.into_iter().map(weights).collect()
}

/// Mutates the seeds of an instance, and returns the numbers of accepted and refused mutants, and the differences.
fn compare(path: &Path, mutants: usize, random: &mut Random, folder: &Path) -> (usize, usize, Vec<String>) {
    let archive = Archive::open(path).unwrap();
    let instance = Instance::read(&archive).unwrap();
    let parts = Parts::collect(&archive, &instance, random);
    let (mut accepted, mut refused, mut differences) = (0, 0, Vec::new());
    let mut left = mutants;
    while left > 0 {
        let count = left.min(20_000);
        left -= count;
        let (mut lines, mut verdicts) = (String::new(), Vec::new());
        for number in 0..count {
            let mut evidence = parts.seeds[random.below(parts.seeds.len())].clone();
            // The seeds themselves are compared too, at first.
            match parts.seeds.get(number / 4) {
                Some(seed) if left + count == mutants && number % 4 == 0 => evidence = seed.clone(),
                _ => (0..=random.below(3)).for_each(|_| parts.mutate(&mut evidence, random)),
            }
            verdicts.push(evidence.is_accepted(&instance));
            lines += &evidence.json();
            lines.push('\n');
        }
        let input = folder.join("mutants.jsonl");
        fs::write(&input, &lines).unwrap();
        let replayer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/replayer.py");
        let output = Command::new("python3")
            .arg(replayer)
            .arg(path)
            .stdin(File::open(&input).unwrap())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let output = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.lines().count(), count);
        for ((line, verdict), other) in lines.lines().zip(verdicts).zip(output.lines()) {
            if verdict {
                accepted += 1;
            } else {
                refused += 1;
            }
            if verdict != (other == "accepted") {
                differences.push(format!("accepted: {verdict}; replayer: {other}: {line}"));
            }
        }
    }
    (accepted, refused, differences)
}

#[test]
fn the_checkers_and_the_replayer_accept_the_same_mutants() {
    let variable =
        |name, default| std::env::var(name).map_or(default, |text| text.parse().expect("a number"));
    let (mutants, seed) = (variable("MUTANTS", 3000), variable("SEED", 2018));
    let folder = TempDir::new().unwrap();
    let coloured = vec![("model.pnml".to_owned(), COLOURED.to_owned())];
    let counters = pnml("Counter-PT-1", &[2, 0], &[[vec![(0, 1)], vec![(1, 2)]], [vec![(1, 1)], vec![]]]);
    let pump = pnml(
        "Pump-PT-1",
        &[1, 0, 0],
        &[[vec![(0, 1)], vec![(1, 1), (2, 1)]], [vec![(1, 1)], vec![(0, 1)]], [vec![(2, 2)], vec![]]],
    );
    let mut archives: Vec<PathBuf> = vec![
        pack(folder.path(), CERTAIN, &certain_files()),
        pack(folder.path(), "Colours-COL-1", &coloured),
        pack(folder.path(), "Counter-PT-1", &[("model.pnml".to_owned(), counters)]),
        pack(folder.path(), "Pump-PT-1", &[("model.pnml".to_owned(), pump)]),
        fixture("DiningTable-PT-03"),
        fixture("TokenLoop-PT-03"),
        fixture("LibraryRoom-PT-R05W02"),
        fixture("CoinVault-PT-N9U2000000000000000000"),
    ];
    // Real models, if they are there.
    if let Some(data) = std::env::var_os("MCC_HARNESS_DATA") {
        for name in [
            "Philosophers-COL-000005",
            "TokenRing-COL-005",
            "DatabaseWithMutex-COL-02",
            "Referendum-COL-0010",
            "GPPP-PT-C0010N1000000000",
            "ResAllocation-PT-R002C002",
        ] {
            archives.extend(
                Some(Path::new(&data).join(format!("mcc/inputs/{name}.tgz"))).filter(|path| path.is_file()),
            );
        }
    }
    let mut random = Random(seed as u64);
    let mut total = (0, 0);
    for path in &archives {
        let share = mutants / archives.len();
        let (accepted, refused, differences) = compare(path, share, &mut random, folder.path());
        println!("{}: {accepted} accepted, {refused} refused", path.file_name().unwrap().display());
        assert!(
            differences.is_empty(),
            "{} differences:\n{}",
            differences.len(),
            differences[..differences.len().min(5)].join("\n")
        );
        assert!(
            accepted * 50 > share && refused * 10 > share,
            "{accepted} of {share} accepted: the mutants test too little"
        );
        total = (total.0 + accepted, total.1 + refused);
    }
    println!("{} accepted, {} refused; no difference", total.0, total.1);
}
