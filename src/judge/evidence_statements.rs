//! Compares certified values with what the files of their evidence state. Whether a file shows what it states is a question
//! for the checkers, which also read the nets (`mcc-check`).

use crate::certified::{CertifiedValue, Method};
use mcc_base::files;
use mcc_campaign::benchkit::Value;
use num_bigint::BigUint;
use serde::Deserialize;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

/// Largest file that is read, in bytes. `mcc-check` reads no larger one.
const MAX_BYTES: u64 = 4 << 30;
/// Largest number of digits in a file (docs/evidence/README.md).
const MAX_DIGITS: usize = 4096;
/// The examinations whose values are numbers.
const NUMBERS: [&str; 3] = ["StateSpace", "UpperBounds", "UpperBoundsAll"];
/// The examinations with one property, whose id can be the name of the examination.
const GLOBAL: [&str; 5] = ["ReachabilityDeadlock", "OneSafe", "QuasiLiveness", "StableMarking", "Liveness"];

/// A decided value with the files of its evidence.
#[derive(Clone, Copy, Debug)]
pub struct Evidenced<'a> {
    /// The name of the instance.
    pub instance: &'a str,
    /// The name of the examination.
    pub examination: &'a str,
    /// The position in the examination, counted from 0.
    pub position: usize,
    /// The property id; for StateSpace the name of the number.
    pub id: &'a str,
    /// How it is certified.
    pub method: Method,
    /// The value, or a number that it is not below.
    pub value: &'a CertifiedValue,
    /// The files, relative to the folder of `certify`, with a blank between them.
    pub evidence: &'a str,
}

/// The fields that files of all kinds have; of explorations also whether another program found the same value.
#[derive(Deserialize)]
struct Statement {
    instance: String,
    examination: String,
    property: String,
    value: String,
    re_explored_memory_bytes: Option<u64>,
}

impl Evidenced<'_> {
    /// Checks that the files are those of the method, and that each states this value of this property.
    ///
    /// # Errors
    /// A file is not as `certify` writes it; the error says which and why, without a remedy.
    pub fn compare(&self, folder: &Path) -> Result<(), String> {
        let Self { examination, id, method, value, .. } = *self;
        if !self.can_be_evidenced() {
            return Err(format!("no {} shows the value {value} of {examination} {id}", method.word()));
        }
        let kinds: &[&str] = match (method, value) {
            (Method::Witness, _) => &["witness"],
            (Method::Proof, CertifiedValue::Exactly(Value::Number(_))) => &["witness", "certificate"],
            (Method::Proof, _) => &["certificate"],
            (Method::ReExplored | Method::Explored, _) => &["explored"],
        };
        let expected: Vec<String> = kinds.iter().map(|kind| self.file(kind)).collect();
        let mut cited: Vec<&str> = self.evidence.split(' ').collect();
        let initial = self.file("initial.witness");
        let has_initial = cited.first() == Some(&initial.as_str());
        if has_initial {
            cited.remove(0);
        }
        if cited != expected {
            let cited: String = self.evidence.chars().take(200).collect();
            return Err(format!(
                "the evidence is `{cited}`; the method {} has `{}` here",
                method.word(),
                expected.join(" ")
            ));
        }
        if has_initial {
            let stated = self.statement(folder, &initial)?.value;
            // Reading a number takes a time that is quadratic in its digits.
            let number: Option<BigUint> = (stated.len() <= MAX_DIGITS).then(|| stated.parse().ok()).flatten();
            // The number of the initial marking is a lower bound.
            let is_bound = number.is_some_and(|stated| match value {
                CertifiedValue::Exactly(Value::Number(number)) | CertifiedValue::AtLeast(number) => {
                    stated <= *number
                }
                CertifiedValue::Exactly(value) => *value == Value::Infinite,
            });
            if !is_bound {
                return Err(format!("{initial} states the value `{}`, not {value} or less", shown(&stated)));
            }
        }
        for file in &expected {
            let Statement { value: stated, re_explored_memory_bytes, .. } = self.statement(folder, file)?;
            if stated != self.value_in(file) {
                return Err(format!(
                    "{file} states the value `{}`, not {}",
                    shown(&stated),
                    self.value_in(file)
                ));
            }
            match (method, re_explored_memory_bytes) {
                (Method::ReExplored, None) => {
                    return Err(format!("{file} states one exploration, which is not {}", method.word()));
                }
                (Method::Explored, Some(_)) => {
                    return Err(format!(
                        "{file} states two explorations, which are {}",
                        Method::ReExplored.word()
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether evidence of this method can show such a value (docs/evidence/README.md).
    fn can_be_evidenced(&self) -> bool {
        use Method::{Explored, Proof, ReExplored, Witness};
        let is_number = NUMBERS.contains(&self.examination);
        let has_bounds = is_number && (self.examination != "StateSpace" || self.id.starts_with("MAX_TOKEN_"));
        match (self.value, self.method) {
            (CertifiedValue::AtLeast(_), Witness) => has_bounds,
            (CertifiedValue::Exactly(Value::Infinite), Witness) => is_number,
            (CertifiedValue::Exactly(Value::Number(_)), Proof) => has_bounds,
            (CertifiedValue::Exactly(Value::Number(_)), ReExplored | Explored) => is_number,
            (CertifiedValue::Exactly(value @ (Value::True | Value::False)), method) => {
                let has_none = match (method, *value == Value::True) {
                    (Witness, true) => &["OneSafe", "StableMarking", "Liveness"][..],
                    (Witness, false) => &["QuasiLiveness"],
                    (Proof, true) => &["QuasiLiveness"],
                    (Proof, false) => &["OneSafe", "StableMarking"],
                    (ReExplored | Explored, _) => &[],
                };
                !is_number && !has_none.contains(&self.examination)
            }
            _ => false,
        }
    }

    /// The file of a kind in the folder of `certify`.
    fn file(&self, kind: &str) -> String {
        format!("evidence/{}/{}-{:02}.{kind}.json", self.instance, self.examination, self.position)
    }

    /// The value as a file of its kind writes it.
    fn value_in(&self, file: &str) -> String {
        let is_explored = file.ends_with(".explored.json");
        match self.value {
            CertifiedValue::Exactly(Value::True) if !is_explored => "TRUE".to_owned(),
            CertifiedValue::Exactly(Value::False) if !is_explored => "FALSE".to_owned(),
            CertifiedValue::Exactly(value) => value.to_string(),
            CertifiedValue::AtLeast(least) => least.to_string(),
        }
    }

    /// What a file states, if it is about this property.
    fn statement(&self, folder: &Path, file: &str) -> Result<Statement, String> {
        let statement = read(folder, file).map_err(|error| format!("{file} cannot be read: {error}"))?;
        let Statement { instance, examination, property, .. } = &statement;
        // Tools name the only property of an examination differently.
        let is_global = GLOBAL.contains(&self.examination) && [property, self.id].contains(&self.examination);
        let expected = if is_global { property } else { self.id };
        for (field, stated, expected) in [
            ("instance", instance, self.instance),
            ("examination", examination, self.examination),
            ("property", property, expected),
        ] {
            if stated != expected {
                return Err(format!("{file} states the {field} `{}`, not `{expected}`", shown(stated)));
            }
        }
        Ok(statement)
    }
}

/// Opens a file of evidence in the folder of `certify`, which others may have written.
///
/// # Errors
/// The file cannot be read, a link leads to it, or it is larger than the largest that `mcc-check` reads.
pub fn open_evidence(folder: &Path, file: &str) -> io::Result<File> {
    files::open_below(folder, Path::new(file), MAX_BYTES)
}

fn read(folder: &Path, file: &str) -> io::Result<Statement> {
    let opened = open_evidence(folder, file)?;
    Ok(serde_json::from_reader(BufReader::with_capacity(1 << 16, opened.take(MAX_BYTES)))?)
}

/// The beginning of a text of a file.
fn shown(text: &str) -> String {
    text.chars().take(60).collect()
}
