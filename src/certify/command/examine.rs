//! Certifies the values of one instance, and writes their evidence.

use super::results::{EVIDENCE, ExaminationResult, InstanceResult, ResultsFolder, ValueResult, json};
use super::tasks::{Task, is_wanted};
use super::{CertificationError, Input};
use crate::{Accepted, Finding, Known, Statistics, Value};
use mcc_base::text::counted;
use mcc_campaign::benchkit::Value as Answer;
use mcc_judge::certified::{CONDITIONS, CertifiedValue, Method};
use mcc_judge::judgement::Block;
use mcc_model::Archive;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Largest number of steps of a firing sequence that a table shows.
const SHOWN_STEPS: usize = 6;

/// Certifies the wanted values of an instance.
pub fn examine(
    input: &Input<'_>,
    folder: &ResultsFolder,
    task: &Task,
    path: &Path,
    sha256: &str,
    stop: &AtomicBool,
) -> Result<InstanceResult, CertificationError> {
    let judgement = input.judgement;
    let name = &judgement.instances[task.instance].instance;
    let archive = Archive::open(path)?;
    let wrong = |message| {
        let path = path.display();
        CertificationError::WrongArchive(format!(
            "{path}: {message}; give --instances the archives of the judged contest"
        ))
    };
    if archive.instance.as_str() != name {
        return Err(wrong(format!("it has the instance {}, not {name}", archive.instance)));
    }
    let blocks: Vec<&Block> = task.blocks.iter().map(|number| &judgement.blocks[*number]).collect();
    let examinations: Vec<&str> =
        blocks.iter().map(|block| judgement.examinations[block.examination].as_str()).collect();
    let budget = input.budget.for_all(examinations.len(), stop);
    let findings = match crate::certify(&archive, &examinations, &budget) {
        Ok(findings) => Ok(findings),
        Err(crate::EngineError::Archive(error)) => return Err(error.into()),
        Err(crate::EngineError::Stop(stop)) => Err(stop.to_string()),
    };
    if stop.load(Ordering::Relaxed) {
        return Err(CertificationError::Stopped);
    }
    let known = findings.as_deref().unwrap_or_default();
    let matched: Vec<Matched<'_>> = blocks
        .iter()
        .zip(&examinations)
        .map(|(block, examination)| matched(&archive, block, examination, known))
        .collect::<Result<_, _>>()
        .map_err(wrong)?;
    check_order(&archive, blocks.iter().zip(&matched).zip(&examinations))?;
    let mut results = Vec::new();
    for ((block, examination), matched) in blocks.iter().zip(examinations).zip(&matched) {
        let mut values = Vec::new();
        for (position, (trusted, finding)) in block.trusted.iter().zip(&matched.findings).enumerate() {
            if !is_wanted(judgement, block, position, input.only) {
                continue;
            }
            let mut result = ValueResult {
                position,
                id: trusted.id.clone(),
                method: None,
                value: String::new(),
                evidence: String::new(),
                detail: String::new(),
            };
            match (&findings, finding) {
                (Err(reason), _) => result.detail.clone_from(reason),
                (Ok(_), None) => "the archive has no such property".clone_into(&mut result.detail),
                (Ok(_), Some(finding)) => {
                    if result.id.is_empty() {
                        result.id.clone_from(&finding.id);
                    }
                    keep(folder, name, finding, &mut result)?;
                    if let Some(trusted) = &trusted.value {
                        keep_initial_marking(folder, name, finding, trusted, &mut result)?;
                    }
                }
            }
            values.push(result);
        }
        results.push(ExaminationResult { examination: examination.to_owned(), values });
    }
    Ok(InstanceResult {
        instance: name.clone(),
        archive_sha256: sha256.to_owned(),
        by_order: matched.iter().any(|matched| matched.by_order),
        examinations: results,
    })
}

/// The findings of an examination by position of its block.
struct Matched<'a> {
    findings: Vec<Option<&'a Finding>>,
    /// Whether the block has no property ids, so that positions are matched by the order of the ids in the archive.
    by_order: bool,
}

/// Matches the positions of a block with the findings, which are in the order of the ids.
///
/// # Errors
/// The archive does not have a property of the block; the error says which.
fn matched<'a>(
    archive: &Archive,
    block: &Block,
    examination: &str,
    findings: &'a [Finding],
) -> Result<Matched<'a>, String> {
    let findings: Vec<&Finding> =
        findings.iter().filter(|finding| finding.examination == examination).collect();
    let in_order = || (0..block.trusted.len()).map(|position| findings.get(position).copied()).collect();
    // A global property without a file is the only one of its examination; tools name it differently.
    let has_ids = examination == "StateSpace" || archive.file(&format!("{examination}.xml")).is_some();
    if !has_ids || findings.is_empty() {
        return Ok(Matched { findings: in_order(), by_order: false });
    }
    if block.trusted.iter().all(|trusted| trusted.id.is_empty()) {
        return Ok(Matched { findings: in_order(), by_order: examination != "StateSpace" });
    }
    let by_id = |id: &String| match findings.iter().find(|finding| finding.id == *id) {
        Some(finding) => Ok(Some(*finding)),
        None if id.is_empty() => Ok(None),
        // The only property of an examination, under its general name.
        None if id == examination && findings.len() == 1 => Ok(Some(findings[0])),
        None => Err(format!("{examination} has no property {id}, which was judged")),
    };
    let findings = block.trusted.iter().map(|trusted| by_id(&trusted.id)).collect::<Result<_, _>>()?;
    Ok(Matched { findings, by_order: false })
}

/// Least number of contradictions for which the order of the property file is a better explanation.
const MISPLACED: usize = 4;

/// Checks that blocks without ids are in the order of the ids. Compares the trusted values with the certified ones in this
/// order and in that of the property file.
///
/// # Errors
/// The order of the property file leaves at most a quarter of the contradictions.
fn check_order<'a>(
    archive: &Archive,
    blocks: impl Iterator<Item = ((&'a &'a Block, &'a Matched<'a>), &'a &'a str)>,
) -> Result<(), CertificationError> {
    let (mut by_id, mut by_file) = (0, 0);
    for ((block, matched), examination) in blocks.filter(|((_, matched), _)| matched.by_order) {
        let file = archive.property_file(examination)?.unwrap_or_default();
        for ((trusted, finding), property) in block.trusted.iter().zip(&matched.findings).zip(file) {
            let (Some(trusted), Some(finding)) = (&trusted.value, finding) else { continue };
            if finding.id == property.id {
                continue;
            }
            let in_file = matched.findings.iter().flatten().find(|finding| finding.id == property.id);
            let is_wrong = |finding: &Finding| {
                certified(&finding.known).is_some_and(|certified| certified.contradicts(trusted))
            };
            by_id += usize::from(is_wrong(finding));
            by_file += usize::from(in_file.is_some_and(|finding| is_wrong(finding)));
        }
    }
    if by_id < MISPLACED || by_file * MISPLACED > by_id {
        return Ok(());
    }
    Err(CertificationError::WrongArchive(format!(
        "{}: the judgement has no property ids, and its positions seem to follow the property files: evidence contradicts \
         {by_id} trusted values in the order of the ids, and {by_file} in the order of the files; give a judgement with ids, or \
         a table whose positions are in the order of the ids",
        archive.path().display()
    )))
}

/// What evidence states about a value.
fn certified(known: &Known) -> Option<CertifiedValue> {
    Some(match known {
        Known::Exactly(value, _) => CertifiedValue::Exactly(match value {
            Value::Truth(true) => Answer::True,
            Value::Truth(false) => Answer::False,
            Value::Number(number) => Answer::Number(number.clone()),
            Value::Infinite => Answer::Infinite,
        }),
        Known::AtLeast(least, _) => CertifiedValue::AtLeast((*least).into()),
        Known::Open(_) => return None,
    })
}

/// Sets a result and writes the files of its evidence.
pub(super) fn keep(
    folder: &ResultsFolder,
    instance: &str,
    finding: &Finding,
    result: &mut ValueResult,
) -> Result<(), CertificationError> {
    let accepted = match &finding.known {
        Known::Exactly(_, accepted) | Known::AtLeast(_, accepted) => accepted,
        Known::Open(reason) => {
            result.detail.clone_from(reason);
            return Ok(());
        }
    };
    result.value = certified(&finding.known).map_or_else(String::new, |value| value.to_string());
    let Accepted { witness, certificate, explored, re_explored } = accepted;
    let mut files = Vec::new();
    let mut details = Vec::new();
    let mut write = |kind: &str, content: String| {
        let name =
            format!("{EVIDENCE}/{instance}/{}-{:02}.{kind}.json", finding.examination, result.position);
        folder.write_evidence(&name, &content)?;
        files.push(name);
        Ok::<_, CertificationError>(())
    };
    if let Some(witness) = witness {
        write("witness", json(witness)?)?;
        details.push(runs(witness));
    }
    if let Some(certificate) = certificate {
        write("certificate", json(certificate)?)?;
        details.push(format!("certificate (lemmas: {})", certificate.lemmas.len()));
    }
    if let Some(Statistics { states, firings, complete, conditions, nodes }) = *explored {
        let file = serde_json::json!({
            "instance": instance,
            "examination": finding.examination,
            "property": finding.id,
            "value": result.value,
            "states": states,
            "firings": firings,
            "complete": complete,
            "conditions": conditions,
            "nodes": nodes,
            "re_explored_memory_bytes": re_explored,
        });
        write("explored", json(&file)?)?;
        let (all, enough) = if complete { ("all ", "") } else { ("", " (enough to decide)") };
        let again = if re_explored.is_some() { "; explored again by the checker" } else { "" };
        if nodes > 0 {
            details.push(format!("a decision diagram of all markings with {nodes} nodes{again}"));
        }
        if states > 0 {
            details.push(format!("{all}{states} markings explored{enough}, {firings} firings{again}"));
        }
        if conditions > 0 {
            details.push(format!("{conditions}{CONDITIONS}"));
        }
    }
    result.method = Some(match (certificate, explored, re_explored) {
        (Some(_), ..) => Method::Proof,
        (None, Some(_), Some(_)) => Method::ReExplored,
        (None, Some(_), None) => Method::Explored,
        (None, None, _) => Method::Witness,
    });
    result.evidence = files.join(" ");
    result.detail = details.join("; ");
    Ok(())
}

/// Writes the initial marking as further evidence, if it alone contradicts the trusted number: nobody needs to replay a run.
fn keep_initial_marking(
    folder: &ResultsFolder,
    instance: &str,
    finding: &Finding,
    trusted: &Answer,
    result: &mut ValueResult,
) -> Result<(), CertificationError> {
    let Some((number, witness)) = &finding.initially else { return Ok(()) };
    if !CertifiedValue::AtLeast((*number).into()).contradicts(trusted) || result.detail == INITIAL_MARKING {
        return Ok(());
    }
    let name =
        format!("{EVIDENCE}/{instance}/{}-{:02}.initial.witness.json", finding.examination, result.position);
    folder.write_evidence(&name, &json(witness)?)?;
    result.evidence = format!("{name} {}", result.evidence).trim_end().to_owned();
    result.detail = format!("{INITIAL_MARKING}, with {number}; {}", result.detail);
    Ok(())
}

const INITIAL_MARKING: &str = "the initial marking";

/// The runs of a witness in words.
fn runs(witness: &mcc_checker::Witness) -> String {
    let [run] = witness.runs.as_slice() else {
        return format!("{} firing sequences", witness.runs.len());
    };
    let steps = run.steps.len();
    let sequence = format!("firing sequence of {}", counted(steps, "transition"));
    let kind = match (run.loop_start, run.repeat) {
        (Some(start), _) => format!("{sequence}, of which those after {start} repeat forever"),
        (None, Some(start)) => format!("{sequence}, of which those after {start} add tokens forever"),
        (None, None) if steps == 0 => return INITIAL_MARKING.to_owned(),
        (None, None) => sequence,
    };
    if steps > SHOWN_STEPS {
        return kind;
    }
    let names: Vec<&str> = run.steps.iter().map(|step| step.transition.as_str()).collect();
    format!("{kind}: {}", names.join(" "))
}
