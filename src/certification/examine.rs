//! Certifies the values of one instance, and writes their evidence.

use super::results::{EVIDENCE, ExaminationResult, InstanceResult, ResultsFolder, ValueResult, json};
use super::tasks::{Task, is_wanted};
use super::{CertificationError, Input};
use mcc_certify::{Accepted, Budget, Finding, Known, Statistics, Value};
use mcc_judge::certified::{CertifiedValue, Method};
use mcc_judge::judgement::Block;
use mcc_model::Archive;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

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
    let wrong = |message| CertificationError::WrongArchive { path: path.to_owned(), message };
    if archive.instance.as_str() != name {
        return Err(wrong(format!("it has the instance {}, not {name}", archive.instance)));
    }
    let blocks: Vec<&Block> = task.blocks.iter().map(|number| &judgement.blocks[*number]).collect();
    let examinations: Vec<&str> =
        blocks.iter().map(|block| judgement.examinations[block.examination].as_str()).collect();
    let budget = Budget {
        time: Duration::from_secs(input.budget_s.saturating_mul(examinations.len() as u64)),
        memory_bytes: input.memory_mib.saturating_mul(1 << 20),
        cancel: stop,
    };
    let findings = match mcc_certify::certify(&archive, &examinations, &budget) {
        Ok(findings) => Ok(findings),
        Err(mcc_certify::EngineError::Archive(error)) => return Err(error.into()),
        Err(mcc_certify::EngineError::Stop(stop)) => Err(stop.to_string()),
    };
    if stop.load(Ordering::Relaxed) {
        return Err(CertificationError::Stopped);
    }
    let mut results = Vec::new();
    for (block, examination) in blocks.into_iter().zip(examinations) {
        let of: Vec<&Finding> = match &findings {
            Ok(findings) => findings.iter().filter(|of| of.examination == examination).collect(),
            Err(_) => Vec::new(),
        };
        let mut values = Vec::new();
        for (position, trusted) in block.trusted.iter().enumerate() {
            if !is_wanted(judgement, block, position, input.only) {
                continue;
            }
            let open = |detail: &str| ValueResult {
                position,
                id: trusted.id.clone(),
                method: None,
                value: String::new(),
                evidence: String::new(),
                detail: detail.to_owned(),
            };
            values.push(match (&findings, of.get(position)) {
                (Err(reason), _) => open(reason),
                (Ok(_), None) => open("the archive has no such property"),
                (Ok(_), Some(finding)) => {
                    // A judgement of a table without ids is matched by position.
                    let known = &trusted.id;
                    if examination != "StateSpace" && archive.properties(examination)?.is_some() {
                        let id = &finding.id;
                        if !known.is_empty() && known != id {
                            return Err(wrong(format!(
                                "{examination} {position:02} is {id}, but {known} was judged"
                            )));
                        }
                    }
                    let mut result = open("");
                    if result.id.is_empty() {
                        result.id.clone_from(&finding.id);
                    }
                    keep(folder, name, finding, &mut result)?;
                    if let Some(trusted) = &trusted.value {
                        keep_initial_marking(folder, name, finding, trusted, &mut result)?;
                    }
                    result
                }
            });
        }
        results.push(ExaminationResult { examination: examination.to_owned(), values });
    }
    Ok(InstanceResult { instance: name.clone(), archive_sha256: sha256.to_owned(), examinations: results })
}

/// Sets a result and writes the files of its evidence.
fn keep(
    folder: &ResultsFolder,
    instance: &str,
    finding: &Finding,
    result: &mut ValueResult,
) -> Result<(), CertificationError> {
    let accepted = match &finding.known {
        Known::Exactly(value, accepted) => {
            result.value = match value {
                Value::Truth(true) => "T".to_owned(),
                Value::Truth(false) => "F".to_owned(),
                Value::Number(number) => number.to_string(),
            };
            accepted
        }
        Known::AtLeast(least, accepted) => {
            result.value = format!(">={least}");
            accepted
        }
        Known::Open(reason) => {
            result.detail.clone_from(reason);
            return Ok(());
        }
    };
    let Accepted { witness, certificate, explored } = accepted;
    let mut files = Vec::new();
    let mut details = Vec::new();
    let mut write = |kind: &str, content: String| {
        let name =
            format!("{EVIDENCE}/{instance}/{}-{:02}.{kind}.json", finding.examination, result.position);
        folder.write(&name, &content)?;
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
    if let Some(Statistics { states, firings, complete }) = *explored {
        let file = serde_json::json!({
            "instance": instance,
            "examination": finding.examination,
            "property": finding.id,
            "value": result.value,
            "states": states,
            "firings": firings,
            "complete": complete,
        });
        write("explored", json(&file)?)?;
        let all = if complete { "all" } else { "sufficient" };
        details.push(format!("{all} {states} markings explored, {firings} firings"));
    }
    result.method = Some(match (certificate, explored) {
        (Some(_), _) => Method::Proof,
        (None, Some(_)) => Method::Explored,
        (None, None) => Method::Witness,
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
    trusted: &mcc_benchkit::Value,
    result: &mut ValueResult,
) -> Result<(), CertificationError> {
    let Some((number, witness)) = &finding.initially else { return Ok(()) };
    if !CertifiedValue::AtLeast((*number).into()).contradicts(trusted) || result.detail == INITIAL_MARKING {
        return Ok(());
    }
    let name =
        format!("{EVIDENCE}/{instance}/{}-{:02}.initial.witness.json", finding.examination, result.position);
    folder.write(&name, &json(witness)?)?;
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
    let kind = match run.loop_start {
        Some(start) => {
            format!("firing sequence of {steps} transitions, of which those after {start} repeat for ever")
        }
        None if steps == 0 => return INITIAL_MARKING.to_owned(),
        None => format!("firing sequence of {steps} transitions"),
    };
    if steps > SHOWN_STEPS {
        return kind;
    }
    let names: Vec<&str> = run.steps.iter().map(|step| step.transition.as_str()).collect();
    format!("{kind}: {}", names.join(" "))
}
