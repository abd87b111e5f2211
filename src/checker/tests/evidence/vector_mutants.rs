//! Mutants of the conformance vectors: values, lists and whole parts of accepted files are exchanged, repeated and removed. The
//! checkers accept the same ones as `scripts/replayer.py`. `MUTANTS` and `SEED` choose their number and the random numbers,
//! `KIND` one kind of vectors (`kinds`).

use crate::nets::Random;
use mcc_checker::{Certificate, CheckError, Instance, Witness};
use mcc_model::Archive;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// The kinds of evidence in a file: lemmas other than inequalities, siphons, parts of a formula, unbounded places.
fn kinds(file: &Value) -> Vec<&'static str> {
    let lemmas: Vec<&Value> = file["lemmas"].as_array().into_iter().flatten().collect();
    let mut kinds = ["invariant", "trap", "closed"].to_vec();
    kinds.retain(|kind| lemmas.iter().any(|lemma| lemma.get(kind).is_some()));
    let runs = file["runs"].as_array().into_iter().flatten();
    for (kind, is_one) in [
        ("siphons", file["method"] == "siphons"),
        ("parts", file.get("parts").is_some()),
        ("unbounded", runs.into_iter().any(|run| run["repeat"].is_number())),
    ] {
        kinds.extend(is_one.then_some(kind));
    }
    kinds
}

/// Values by the field that they or their list belong to.
type Pool = BTreeMap<String, Vec<Value>>;

fn collect(value: &Value, field: &str, pool: &mut Pool) {
    pool.entry(field.to_owned()).or_default().push(value.clone());
    match value {
        Value::Array(list) => list.iter().for_each(|inside| collect(inside, &format!("{field}[]"), pool)),
        Value::Object(fields) => fields.iter().for_each(|(name, inside)| collect(inside, name, pool)),
        _ => {}
    }
}

/// Changes one random place in a value.
fn mutate(value: &mut Value, field: &str, pool: &Pool, random: &mut Random) {
    let inside = match value {
        Value::Array(list) => list.len(),
        Value::Object(fields) => fields.len(),
        _ => 0,
    };
    // Deep places have the same chance as those around them.
    if inside > 0 && random.below(4) > 0 {
        let at = random.below(inside);
        match value {
            Value::Array(list) => mutate(&mut list[at], &format!("{field}[]"), pool, random),
            Value::Object(fields) => {
                let (name, inside) = fields.iter_mut().nth(at).unwrap();
                mutate(inside, &name.clone(), pool, random);
            }
            _ => {}
        }
        return;
    }
    let other = random.pick(&pool[field]).clone();
    match value {
        Value::Array(list) if random.below(4) > 0 => {
            let (at, from) = (random.below(list.len() + 1), random.below(list.len()));
            let last = list.len().saturating_sub(1);
            let known = pool.get(&format!("{field}[]"));
            match random.below(4) {
                0 if !list.is_empty() => drop(list.remove(from)),
                1 if !list.is_empty() => list.insert(at, list[from].clone()),
                2 if !list.is_empty() => list.swap(from, at.min(last)),
                _ => list.extend(known.map(|known| random.pick(known).clone())),
            }
        }
        Value::Object(fields) if !fields.is_empty() && random.below(4) == 0 => {
            let names: Vec<String> = fields.keys().cloned().collect();
            let name = random.pick(&names);
            fields.remove(name);
        }
        Value::Number(number) if random.below(2) == 0 => {
            let number = number.as_u64().unwrap_or_default();
            *value = [number + 1, number.saturating_sub(1), random.below(5) as u64][random.below(3)].into();
        }
        Value::String(text) if random.below(2) == 0 => {
            if let Ok(number) = text.parse::<i64>() {
                let numbers = [number + 1, number - 1, -number, random.below(5) as i64];
                *text = random.pick(&numbers).to_string();
            } else {
                *value = other;
            }
        }
        _ => *value = other,
    }
}

fn is_accepted(instance: &Instance, file: &Value) -> bool {
    let text = file.to_string();
    let checked = if file.get("runs").is_some() {
        Witness::read(&text).map(|witness| instance.check_witness(&witness))
    } else {
        Certificate::read(&text).map(|certificate| instance.check_certificate(&certificate))
    };
    match checked {
        Ok(Ok(())) => true,
        Err(_) | Ok(Err(CheckError::Refused(_))) => false,
        Ok(Err(error)) => panic!("{error}: {text}"),
    }
}

#[test]
fn the_checkers_accept_the_same_mutants_of_the_vectors() {
    let variable =
        |name, default| std::env::var(name).map_or(default, |text| text.parse().expect("a number"));
    let (mutants, mut random) = (variable("MUTANTS", 4000), Random(variable("SEED", 2026) as u64));
    let only = std::env::var("KIND").ok();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let vectors = root.join("tests/data/evidence");
    let mut seeds: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in fs::read_to_string(vectors.join("index.csv")).unwrap().lines().skip(1) {
        let fields: Vec<&str> = line.splitn(5, ',').collect();
        if fields[3] == "accepted" {
            let text = fs::read_to_string(vectors.join(fields[0])).unwrap();
            let seed = serde_json::from_str(&text).unwrap();
            if only.as_ref().is_none_or(|only| kinds(&seed).contains(&only.as_str())) {
                seeds.entry(fields[2].to_owned()).or_default().push(seed);
            }
        }
    }
    assert!(!seeds.is_empty(), "KIND={only:?}: no accepted vector is of this kind");
    let all: usize = seeds.values().map(Vec::len).sum();
    let folder = TempDir::new().unwrap();
    let (mut accepted, mut refused) = (0, 0);
    for (name, seeds) in &seeds {
        let path = vectors.join("instances").join(name);
        let instance = Instance::read(&Archive::open(&path).unwrap()).unwrap();
        let mut pool = Pool::new();
        seeds.iter().for_each(|seed| collect(seed, "", &mut pool));
        let mut left = mutants * seeds.len() / all + 1;
        while left > 0 {
            let count = left.min(20_000);
            left -= count;
            let files: Vec<Value> = (0..count)
                .map(|_| {
                    let mut file = random.pick(seeds).clone();
                    (0..=random.below(3)).for_each(|_| mutate(&mut file, "", &pool, &mut random));
                    file
                })
                .collect();
            let input = folder.path().join("mutants.jsonl");
            fs::write(&input, files.iter().map(|file| format!("{file}\n")).collect::<String>()).unwrap();
            let output = Command::new("python3")
                .arg(root.join("scripts/replayer.py"))
                .arg(&path)
                .stdin(File::open(&input).unwrap())
                .output()
                .unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let verdicts = String::from_utf8(output.stdout).unwrap();
            assert_eq!(verdicts.lines().count(), count);
            for (file, verdict) in files.iter().zip(verdicts.lines()) {
                let here = is_accepted(&instance, file);
                assert_eq!(here, verdict == "accepted", "the replayer: {verdict}\n{name}: {file}");
                if here { accepted += 1 } else { refused += 1 }
            }
        }
    }
    println!("{accepted} accepted, {refused} refused; no difference");
    assert!(accepted * 50 > refused, "{accepted} accepted, {refused} refused: the mutants test too little");
}
