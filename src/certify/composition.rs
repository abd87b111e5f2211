//! Formulas that are decided by evidence for their parts. The numbering of parts is that of the checker's format.

use crate::driver_check::Checks;
use crate::engine::{Answer, Evidence, Outcome, Trace};
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
    let by_part: HashMap<usize, &Answer> =
        answers.iter().filter_map(|answer| Some((answer.part?, *answer))).collect();
    let trace = |number: usize| match &by_part.get(&number)?.outcome {
        Outcome::Decided { value: Value::Truth(truth), evidence: Evidence::Witness(trace) } => {
            let has_run = !matches!(trace, Trace::Paths(paths) if paths.is_empty());
            has_run.then_some((*truth, trace))
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
        |number| trace(number).map(|(truth, _)| truth).or_else(|| proof(number).map(|(truth, _)| truth));
    let net = &checks.named.net;
    let names = Names::new(&checks.named);
    let state = |formula: &Expr| Some(names.pred(formula).ok()??.holds(net, &net.initial));
    let (value, needed) = truth(&tree, &known, &state)?;
    if needed.is_empty() {
        return None;
    }
    // The clauses of an invariant are numbered in each proof, so its certificate has no other proof.
    let is_invariant = |part: &usize| {
        trace(*part).is_none()
            && proof(*part).is_some_and(|(_, certificate)| {
                certificate.lemmas.iter().any(|lemma| matches!(lemma, Lemma::Invariant { .. }))
            })
    };
    if needed.iter().any(is_invariant) && needed.iter().filter(|part| trace(**part).is_none()).count() > 1 {
        return None;
    }
    let mut lemmas = Vec::new();
    let mut parts = Vec::new();
    for part in needed {
        if let Some((truth, trace)) = trace(part) {
            let run = checks.runs(trace).pop();
            parts.push(Part { part, value: Value::Truth(truth), run, proof: None });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use mcc_model::MODEL;
    use std::fs;
    use std::time::Duration;

    #[test]
    fn a_formula_of_very_many_parts_is_composed() {
        const PARTS: usize = 20_000;
        let folder = tempfile::tempdir().unwrap();
        let instance = folder.path().join("Bare-PT-1");
        let known = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../tests/data/evidence/instances/Bare-PT-1");
        fs::create_dir(&instance).unwrap();
        fs::copy(known.join(MODEL), instance.join(MODEL)).unwrap();
        let part = "<exists-path><finally><integer-le><integer-constant>1</integer-constant>
            <integer-constant>1</integer-constant></integer-le></finally></exists-path>";
        let formula = format!(
            "<property-set xmlns=\"http://mcc.lip6.fr/\"><property><id>c0</id><description/><formula>
             <conjunction>{}</conjunction></formula></property></property-set>",
            part.repeat(PARTS)
        );
        fs::write(instance.join("CTLCardinality.xml"), formula).unwrap();
        let archive = Archive::open(&instance).unwrap();
        let checks = Checks::new(&archive, &Budget::of_time(Duration::from_secs(60))).unwrap();
        let answer = |part, outcome| Answer {
            examination: "CTLCardinality".to_owned(),
            id: "c0".to_owned(),
            part,
            outcome,
            initially: None,
            at_least: None,
            constants: 0,
        };
        let shown = |part| {
            let evidence = Evidence::Witness(Trace::Paths(vec![Vec::new()]));
            answer(Some(part), Outcome::Decided { value: Value::Truth(true), evidence })
        };
        let whole = answer(None, Outcome::Open { reason: String::new() });
        let answers: Vec<Answer> = (0..PARTS).map(shown).collect();
        let answers: Vec<&Answer> = answers.iter().collect();
        let certificate = compose(&archive, &checks, &whole, &answers, &HashMap::new()).unwrap();
        assert_eq!((certificate.value, certificate.parts.len()), (Value::Truth(true), PARTS));
    }
}
