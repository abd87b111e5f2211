//! Checks the witnesses and certificates that tools wrote for their answers (docs/evidence/README.md). They have no effect on
//! certified values, trusted values or points.

use super::outputs::{row, table, text};
use super::results::{InstanceResult, ResultsFolder};
use super::{CertificationError, Input, judged_outputs};
use mcc_base::evidence::{Kind, MAX_FILE, parse_name};
use mcc_campaign::benchkit::STATE_SPACE;
use mcc_checker::{Certificate, CheckError, Instance, Limits, Value, Witness};
use mcc_judge::judgement::{Block, Cell};
use mcc_model::Archive;
use mcc_store::{Record, RecordedOutput};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The table of the checked files.
const FILE: &str = "tool-evidence.csv";
const HEADER: [&str; 10] =
    ["instance", "examination", "position", "id", "tool", "given", "kind", "shown", "verdict", "reason"];

/// Counts of the checked files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ToolEvidence {
    /// Files that show the value that they state.
    pub accepted: usize,
    /// Files that show only that a number is a lower bound (witness) or an upper bound (certificate).
    pub bound_only: usize,
    /// Files that do not show what they state.
    pub refused: usize,
    /// Files whose check would exceed a limit, and files of instances that were skipped.
    pub not_checked: usize,
}

/// Checks the evidence of all runs of the judgement in a record, and writes the table. `results` are by number of the
/// instance; an error is the reason why it was skipped.
pub fn check(
    input: &Input<'_>,
    record: &Record,
    archives: &BTreeMap<String, PathBuf>,
    results: &BTreeMap<usize, Result<InstanceResult, String>>,
    folder: &ResultsFolder,
    stop: &AtomicBool,
) -> Result<ToolEvidence, CertificationError> {
    let judgement = input.judgement;
    let mut rows = table(&HEADER)?;
    let mut counts = ToolEvidence::default();
    // The instance that was read last: the blocks of an instance follow each other.
    let mut read: Option<(usize, ReadInstance)> = None;
    for block in &judgement.blocks {
        let instance = &judgement.instances[block.instance].instance;
        let Some(archive) = archives.get(instance) else { continue };
        let examination = &judgement.examinations[block.examination];
        for cell in &block.cells {
            let entry = &judgement.entries[cell.entry].entry;
            let mut files = Vec::new();
            for (position, kind, file) in files_of(record, [entry, instance, examination])? {
                if stop.load(Ordering::Relaxed) {
                    return Err(CertificationError::Stopped);
                }
                if read.as_ref().is_none_or(|(number, _)| *number != block.instance) {
                    let skipped = results.get(&block.instance).and_then(|result| result.as_ref().err());
                    let instance =
                        skipped.map_or_else(|| read_instance(archive), |reason| Err(reason.clone()));
                    read = Some((block.instance, instance));
                }
                let Some((_, read)) = &read else { continue };
                let (id, shown, checked) = match read {
                    Ok((archive, checker)) => {
                        let id = property(archive, block, examination, position);
                        let (shown, checked) =
                            check_file(checker, examination, id.as_deref(), position, kind, &file);
                        (id.unwrap_or_default(), shown, checked)
                    }
                    Err(reason) => (String::new(), String::new(), Err(Unshown::NotChecked(reason.clone()))),
                };
                files.push(CheckedFile { position, id, kind, shown, checked });
            }
            for CheckedFile { position, id, kind, shown, checked } in both_bounds_show_the_value(files) {
                let (verdict, count, reason) = match checked {
                    Ok(Shown::Value) => ("accepted", &mut counts.accepted, String::new()),
                    Ok(Shown::Bound) => ("bound only", &mut counts.bound_only, String::new()),
                    Err(Unshown::Refused(reason)) => ("refused", &mut counts.refused, reason),
                    Err(Unshown::NotChecked(reason)) => ("not checked", &mut counts.not_checked, reason),
                };
                *count += 1;
                let kind = if kind == Kind::Witness { "witness" } else { "certificate" };
                let (given, position) = (given(cell, position), format!("{position:02}"));
                row(
                    &mut rows,
                    [instance, examination, &position, &id, entry, &given, kind, &shown, verdict, &reason],
                )?;
            }
        }
    }
    folder.write(FILE, &text(rows)?)?;
    Ok(counts)
}

/// The files of evidence of the judged attempt at a run.
fn files_of(
    record: &Record,
    run: [&str; 3],
) -> Result<Vec<(usize, Kind, RecordedOutput)>, CertificationError> {
    let files = judged_outputs(record, run)?.into_iter().filter_map(|output| {
        let (position, kind) = parse_name(&output.role)?;
        Some((position, kind, output))
    });
    Ok(files.collect())
}

/// An instance for its ids and for the checker, or why it was not read.
type ReadInstance = Result<(Archive, Instance), String>;

fn read_instance(archive: &Path) -> ReadInstance {
    let archive = Archive::open(archive).map_err(|error| error.to_string())?;
    let instance = Instance::read(&archive).map_err(|error| error.to_string())?;
    Ok((archive, instance))
}

/// The id of a position: that of the judgement, or, if it has none (a table of answers), the metric or by the order of the ids
/// in the archive; empty for an examination without a property file. None: there is no such position.
fn property(archive: &Archive, block: &Block, examination: &str, position: usize) -> Option<String> {
    let trusted = block.trusted.get(position)?;
    if !trusted.id.is_empty() {
        return Some(trusted.id.clone());
    }
    if examination == "StateSpace" {
        return STATE_SPACE.get(position).map(ToString::to_string);
    }
    // An error of the property file is reported by the check.
    match archive.properties(examination) {
        Ok(Some(properties)) => properties.into_iter().nth(position).map(|property| property.id),
        _ => Some(String::new()),
    }
}

fn given(cell: &Cell, position: usize) -> String {
    let value = cell.values.get(position).and_then(Option::as_ref);
    value.map_or(String::new(), ToString::to_string)
}

/// A file of evidence, the value that it states, and what it shows.
struct CheckedFile {
    position: usize,
    id: String,
    kind: Kind,
    shown: String,
    checked: Result<Shown, Unshown>,
}

/// A witness and a certificate that bound the same number of the same question show this value together.
fn both_bounds_show_the_value(mut files: Vec<CheckedFile>) -> Vec<CheckedFile> {
    let bounds = files.iter().filter(|file| matches!(file.checked, Ok(Shown::Bound)));
    let bounds: Vec<_> = bounds.map(|file| (file.position, file.shown.clone(), file.kind)).collect();
    for file in &mut files {
        let is_other = |(position, shown, kind): &(usize, String, Kind)| {
            (*position, shown) == (file.position, &file.shown) && *kind != file.kind
        };
        if matches!(file.checked, Ok(Shown::Bound)) && bounds.iter().any(is_other) {
            file.checked = Ok(Shown::Value);
        }
    }
    files
}

/// What an accepted file shows.
enum Shown {
    /// The value.
    Value,
    /// That the number is a bound: a witness of a number has at least as many tokens, a certificate excludes more.
    Bound,
}

impl Shown {
    fn from_value(value: &Value) -> Self {
        if let Value::Number(_) = value { Self::Bound } else { Self::Value }
    }
}

/// Why a file is not accepted.
enum Unshown {
    Refused(String),
    NotChecked(String),
}

impl From<String> for Unshown {
    fn from(reason: String) -> Self {
        Self::Refused(reason)
    }
}

impl From<CheckError> for Unshown {
    fn from(error: CheckError) -> Self {
        match error {
            CheckError::NotChecked(reason) => Self::NotChecked(reason),
            other => Self::Refused(other.to_string()),
        }
    }
}

/// The value that a file states, and what it shows, or why it does not. `id` is the property of its position.
fn check_file(
    checker: &Instance,
    examination: &str,
    id: Option<&str>,
    position: usize,
    kind: Kind,
    file: &RecordedOutput,
) -> (String, Result<Shown, Unshown>) {
    let content = match content(file) {
        Ok(content) => content,
        Err(error) => return (String::new(), Err(format!("the file cannot be read: {error}").into())),
    };
    if content.len() as u64 > MAX_FILE {
        let reason = format!("the file is longer than {MAX_FILE} bytes; the rest was not kept");
        return (String::new(), Err(reason.into()));
    }
    let is_here = |stated: &str, property: &str| match id {
        None => Err(format!("{examination} has no position {position:02}")),
        _ if stated != examination => {
            Err(format!("it is of the examination \"{stated}\", but of a run of {examination}"))
        }
        Some(id) if !id.is_empty() && property != id => {
            Err(format!("it is of the property \"{property}\", but its name is that of {id}"))
        }
        Some(_) => Ok(()),
    };
    match kind {
        Kind::Witness => match Witness::read(&content) {
            Err(error) => (String::new(), Err(error.to_string().into())),
            Ok(witness) => {
                let check = || {
                    is_here(&witness.examination, &witness.property)?;
                    checker.check_witness_within(&witness, Limits::OF_TOOLS)?;
                    Ok(Shown::from_value(&witness.value))
                };
                (witness.value.to_string(), check())
            }
        },
        Kind::Certificate => match Certificate::read(&content) {
            Err(error) => (String::new(), Err(error.to_string().into())),
            Ok(certificate) => {
                let check = || {
                    is_here(&certificate.examination, &certificate.property)?;
                    checker.check_certificate_within(&certificate, Limits::OF_TOOLS)?;
                    Ok(Shown::from_value(&certificate.value))
                };
                (certificate.value.to_string(), check())
            }
        },
    }
}

/// The content of a file up to one byte more than allowed.
fn content(file: &RecordedOutput) -> io::Result<String> {
    let mut content = Vec::new();
    file.read(|source| source.take(MAX_FILE + 1).read_to_end(&mut content))?;
    // A text that was truncated within a character is too long.
    Ok(String::from_utf8_lossy(&content).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_judge::judgement::Trusted;

    #[test]
    fn a_position_without_an_id_in_the_judgement_has_its_metric_or_property() {
        let folder = tempfile::tempdir().unwrap();
        let instance = folder.path().join("Ring-PT-1");
        std::fs::create_dir(&instance).unwrap();
        let net = "<pnml><net id='Ring-PT-1' type='ptnet'><page id='g'/></net></pnml>";
        std::fs::write(instance.join("model.pnml"), net).unwrap();
        let property = |id| {
            format!(
                "<property><id>{id}</id><description/><formula><place-bound><place>p</place></place-bound></formula></property>"
            )
        };
        let bounds = ["Ring-PT-1-UpperBounds-01", "Ring-PT-1-UpperBounds-00"].map(property).concat();
        let bounds = format!("<property-set>{bounds}</property-set>");
        std::fs::write(instance.join("UpperBounds.xml"), bounds).unwrap();
        let archive = Archive::open(&instance).unwrap();
        let trusted = (0..5).map(|_| Trusted::unknown()).collect();
        let block = Block { examination: 0, instance: 0, trusted, cells: Vec::new() };
        for (examination, ids) in [
            ("StateSpace", ["STATES", "TRANSITIONS", "MAX_TOKEN_IN_PLACE", "MAX_TOKEN_PER_MARKING", "none"]),
            ("UpperBounds", ["Ring-PT-1-UpperBounds-00", "Ring-PT-1-UpperBounds-01", "none", "none", "none"]),
            ("OneSafe", [""; 5]),
        ] {
            let found: Vec<_> = (0..5)
                .map(|at| super::property(&archive, &block, examination, at).unwrap_or("none".to_owned()))
                .collect();
            assert_eq!(found, ids, "{examination}");
        }
    }
}
