//! Checks the witnesses and certificates that tools wrote for their answers (docs/certificates.md). They have no effect on
//! certified values, trusted values or points.

use super::outputs::{row, table, text};
use super::results::{InstanceResult, ResultsFolder};
use super::{CertificationError, Input, judged_attempt};
use mcc_base::evidence::{Kind, MAX_FILE, parse_name};
use mcc_base::files;
use mcc_checker::{Certificate, Instance, Witness};
use mcc_judge::judgement::{Block, Cell};
use mcc_model::Archive;
use mcc_store::Record;
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
    /// Files that do not.
    pub refused: usize,
    /// Files of instances that were skipped.
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
    let mut read: Option<(usize, Result<(Archive, Instance), String>)> = None;
    for block in &judgement.blocks {
        let instance = &judgement.instances[block.instance].instance;
        let Some(archive) = archives.get(instance) else { continue };
        let examination = &judgement.examinations[block.examination];
        for cell in &block.cells {
            let entry = &judgement.entries[cell.entry].entry;
            for (position, kind, path) in files_of(record, [entry, instance, examination])? {
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
                            check_file(checker, examination, id.as_deref(), position, kind, &path);
                        (id.unwrap_or_default(), shown, checked.map_err(|reason| ("refused", reason)))
                    }
                    Err(reason) => (String::new(), String::new(), Err(("not checked", reason.clone()))),
                };
                let (verdict, reason) = checked.err().unwrap_or(("accepted", String::new()));
                match verdict {
                    "accepted" => counts.accepted += 1,
                    "refused" => counts.refused += 1,
                    _ => counts.not_checked += 1,
                }
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
fn files_of(record: &Record, run: [&str; 3]) -> Result<Vec<(usize, Kind, PathBuf)>, CertificationError> {
    let Some((attempt, folder)) = judged_attempt(record, run)? else { return Ok(Vec::new()) };
    let files = attempt.outputs.iter().filter_map(|output| {
        let (position, kind) = parse_name(&output.role)?;
        Some((position, kind, folder.join(&output.role)))
    });
    Ok(files.collect())
}

fn read_instance(archive: &Path) -> Result<(Archive, Instance), String> {
    let archive = Archive::open(archive).map_err(|error| error.to_string())?;
    let instance = Instance::read(&archive).map_err(|error| error.to_string())?;
    Ok((archive, instance))
}

/// The id of a position: that of the judgement, or, if it has none, by the order of the ids in the archive; empty for an
/// examination without a property file. None: there is no such position.
fn property(archive: &Archive, block: &Block, examination: &str, position: usize) -> Option<String> {
    let trusted = block.trusted.get(position)?;
    if !trusted.id.is_empty() {
        return Some(trusted.id.clone());
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

/// The value that a file states, and the reason if it is refused. `id` is the property of its position.
fn check_file(
    checker: &Instance,
    examination: &str,
    id: Option<&str>,
    position: usize,
    kind: Kind,
    path: &Path,
) -> (String, Result<(), String>) {
    let content = match content(path) {
        Ok(content) => content,
        Err(error) => return (String::new(), Err(format!("the file cannot be read: {error}"))),
    };
    if content.len() as u64 > MAX_FILE {
        let reason = format!("the file is longer than {MAX_FILE} bytes; the rest was not kept");
        return (String::new(), Err(reason));
    }
    let is_here = |of: &str, property: &str| match id {
        None => Err(format!("{examination} has no position {position:02}")),
        _ if of != examination => {
            Err(format!("it is of the examination \"{of}\", but of a run of {examination}"))
        }
        Some(id) if !id.is_empty() && property != id => {
            Err(format!("it is of the property \"{property}\", but its name is that of {id}"))
        }
        Some(_) => Ok(()),
    };
    match kind {
        Kind::Witness => match Witness::read(&content) {
            Err(error) => (String::new(), Err(error.to_string())),
            Ok(witness) => {
                let check = || {
                    is_here(&witness.examination, &witness.property)?;
                    checker.check_witness(&witness).map_err(|error| error.to_string())
                };
                (witness.value.to_string(), check())
            }
        },
        Kind::Certificate => match Certificate::read(&content) {
            Err(error) => (String::new(), Err(error.to_string())),
            Ok(certificate) => {
                let check = || {
                    is_here(&certificate.examination, &certificate.property)?;
                    checker.check_certificate(&certificate).map_err(|error| error.to_string())
                };
                (certificate.value.to_string(), check())
            }
        },
    }
}

/// The content of a file up to one byte more than allowed.
fn content(path: &Path) -> io::Result<String> {
    let mut content = Vec::new();
    files::open_own(path)?.take(MAX_FILE + 1).read_to_end(&mut content)?;
    // A text that was cut in a character is too long.
    Ok(String::from_utf8_lossy(&content).into_owned())
}
