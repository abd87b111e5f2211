//! Formulas that are decided by evidence for their parts. The numbering of parts is that of the checker's format.

use crate::driver_check::Checks;
use crate::engine::{Answer, Evidence, Outcome};
use crate::formula::Names;
use crate::parts::{decompose, truth};
use crate::proof_certificate::Question;
use mcc_checker::{Certificate, Lemma, Part, ProofStep, VERSION, Value};
use mcc_model::{Archive, Expr, Formula};
use std::collections::HashMap;

/// The certificate of a formula by evidence for its parts, if that decides it. `answers` are those of its parts. A formula that
/// needs none of them has a witness, and no certificate.
pub(crate) fn compose(
    archive: &Archive,
    checks: &Checks<'_>,
    answer: &Answer,
    answers: &[&Answer],
    proofs: &HashMap<Question<'_>, &Certificate>,
) -> Option<Certificate> {
    let properties = archive.properties(&answer.examination).ok()??;
    let Formula::Boolean(formula) = properties.into_iter().find(|property| property.id == answer.id)?.formula
    else {
        return None;
    };
    let (tree, _) = decompose(&formula, answer.examination.starts_with("LTL"));
    let run = |number: usize| match &answers.iter().find(|answer| answer.part == Some(number))?.outcome {
        Outcome::Decided { value: Value::Truth(truth), evidence: Evidence::Witness(trace) } => {
            Some((*truth, checks.runs(trace).pop()?))
        }
        _ => None,
    };
    let proof = |number: usize| {
        let question = (answer.examination.as_str(), answer.id.as_str(), Some(number));
        let certificate = *proofs.get(&question)?;
        let Value::Truth(truth) = certificate.value else { return None };
        // Parts are about markings.
        certificate.method.is_none().then_some((truth, certificate))
    };
    let known =
        |number| run(number).map(|(truth, _)| truth).or_else(|| proof(number).map(|(truth, _)| truth));
    let net = &checks.named.net;
    let names = Names::new(&checks.named);
    let state = |formula: &Expr| Some(names.pred(formula).ok()??.holds(net, &net.initial));
    let (value, needed) = truth(&tree, &known, &state)?;
    if needed.is_empty() {
        return None;
    }
    // The clauses of an invariant are numbered in each proof, so its certificate has no other proof.
    let is_invariant = |part: &usize| {
        run(*part).is_none()
            && proof(*part).is_some_and(|(_, certificate)| {
                certificate.lemmas.iter().any(|lemma| matches!(lemma, Lemma::Invariant { .. }))
            })
    };
    if needed.iter().any(is_invariant) && needed.iter().filter(|part| run(**part).is_none()).count() > 1 {
        return None;
    }
    let mut lemmas = Vec::new();
    let mut parts = Vec::new();
    for part in needed {
        if let Some((truth, run)) = run(part) {
            parts.push(Part { part, value: Value::Truth(truth), run: Some(run), proof: None });
        } else if let Some((truth, certificate)) = proof(part) {
            let proof = moved(&certificate.proof, lemmas.len());
            lemmas.extend(certificate.lemmas.iter().cloned());
            parts.push(Part { part, value: Value::Truth(truth), run: None, proof: Some(proof) });
        }
    }
    Some(Certificate {
        version: VERSION,
        instance: archive.instance.to_string(),
        examination: answer.examination.clone(),
        property: answer.id.clone(),
        value: Value::Truth(value),
        subject: None,
        method: None,
        lemmas,
        proof: Vec::new(),
        parts,
    })
}

/// The proof with lemmas that have higher numbers.
fn moved(proof: &[ProofStep], by: usize) -> Vec<ProofStep> {
    let mut proof = proof.to_vec();
    for step in &mut proof {
        match step {
            ProofStep::Contradiction { lemmas, .. } => {
                lemmas.iter_mut().for_each(|(number, _)| *number += by);
            }
            ProofStep::Closed(number) => *number += by,
            ProofStep::Cases(_) | ProofStep::Split { .. } => {}
        }
    }
    proof
}
