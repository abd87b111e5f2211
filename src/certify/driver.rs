//! Decides the values of an instance with all methods, and keeps what the checkers accept.

use crate::budget::{Budget, cpu_time};
use crate::composition::compose;
use crate::driver_check::Checks;
use crate::engine::{Answer, EngineError, Evidence, Outcome, Statistics, Trace, decide_with_parts};
use crate::proof_certificate::prove;
use mcc_base::OnFile;
use mcc_base::files::FileStamp;
use mcc_checker::{Certificate, CheckError, Value, Witness};
use mcc_model::{Archive, ArchiveError, MODEL};
use num_bigint::BigUint;
use std::collections::HashMap;
use std::path::PathBuf;

/// Share of the time for exploration and search; structural proofs have the rest, and what the search leaves.
const SEARCH: f64 = 0.75;

/// What is known about a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The name of the examination.
    pub examination: String,
    /// The id of the property, as in `Answer`.
    pub id: String,
    /// What is known.
    pub known: Known,
    /// A lower bound with its witness, which is the initial marking alone. For a largest number that evidence shows.
    pub initially: Option<(u128, Witness)>,
}

/// What is known about a value by evidence that the checkers accepted, or by an exploration of all markings.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// The value that evidence shows, or that an exploration of all markings found.
    Exactly(Value, Accepted),
    /// The number is at least this.
    AtLeast(u128, Accepted),
    /// Nothing; the reason as a sentence without its full stop.
    Open(String),
}

/// The evidence of a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Accepted {
    /// A witness that `check-witness` accepts.
    pub witness: Option<Witness>,
    /// A certificate that `check-certificate` accepts.
    pub certificate: Option<Certificate>,
    /// An exploration, which has neither.
    pub explored: Option<Statistics>,
    /// The bytes of the tables of the checkers' explorer, which found the same value.
    pub re_explored: Option<u64>,
}

/// Decides the values of some examinations of an instance as far as the budget allows: by witnesses first, then by proofs,
/// then by exploration. What a checker refuses is not used. The findings are in the order of the examinations and their
/// property files.
///
/// # Errors
/// The archive cannot be read, or the net alone needs more than the budget.
pub fn certify(
    archive: &Archive,
    examinations: &[&str],
    budget: &Budget<'_>,
) -> Result<Vec<Finding>, EngineError> {
    let start = cpu_time();
    let path = file_of_net(archive);
    let stamp = FileStamp::of(&path).on("read", &path).map_err(ArchiveError::from)?;
    let search = Budget { time: budget.time.mul_f64(SEARCH), ..*budget };
    let answers = decide_with_parts(archive, examinations, &search)?;
    // A proof is checked independently, an exploration is not: explored values are proved too where possible.
    let is_unproved = |answer: &&Answer| match &answer.outcome {
        Outcome::Decided { evidence, .. } => matches!(evidence, Evidence::Explored(_)),
        Outcome::Open { .. } => true,
    };
    let unproved = answers.iter().filter(is_unproved);
    let wanted: Vec<_> =
        unproved.map(|answer| (answer.examination.as_str(), answer.id.as_str(), answer.part)).collect();
    let left = budget.time.saturating_sub(cpu_time().saturating_sub(start));
    let certificates = match prove(archive, &wanted, &Budget { steps: u64::MAX, time: left, ..*budget }) {
        // The answers of the search count without proofs.
        Err(EngineError::Stop(_)) => Vec::new(),
        certificates => certificates?,
    };
    let checks = Checks::new(archive, budget)?;
    check_if_unchanged(archive, &stamp)?;
    let by_question: HashMap<_, &Certificate> =
        certificates.iter().map(|proved| (proved.question(), &proved.certificate)).collect();
    let mut parts: HashMap<(&str, &str), Vec<&Answer>> = HashMap::new();
    for answer in answers.iter().filter(|answer| answer.part.is_some()) {
        parts.entry((&answer.examination, &answer.id)).or_default().push(answer);
    }
    let of_parts: Vec<Option<Certificate>> = answers
        .iter()
        .map(|answer| match &answer.outcome {
            Outcome::Decided { evidence: Evidence::Witness(_), .. } => None,
            _ if answer.part.is_some() => None,
            _ => {
                let parts = parts.get(&(answer.examination.as_str(), answer.id.as_str()))?;
                compose(archive, &checks, answer, parts, &by_question)
            }
        })
        .collect();
    let whole = answers.into_iter().zip(of_parts).filter(|(answer, _)| answer.part.is_none());
    let findings = whole.map(|(answer, of_parts)| {
        let Answer { examination, id, outcome, initially, at_least, constants, .. } = answer;
        let certificate = by_question.get(&(examination.as_str(), id.as_str(), None));
        let certificate = certificate.map(|certificate| Certificate::clone(certificate)).or(of_parts);
        let known = match (known(&checks, &examination, &id, outcome.clone(), at_least, certificate), outcome)
        {
            // The run does not show the constant comparisons that were left out.
            (Known::Open(_), Outcome::Decided { value, evidence: Evidence::Witness(_) }) if constants > 0 => {
                let explored = Some(Statistics { conditions: constants, ..Statistics::default() });
                Known::Exactly(value, Accepted { explored, ..Accepted::default() })
            }
            (known, _) => known,
        };
        let initially = initially.and_then(|number| {
            let witness = checks.witness(
                &examination,
                &id,
                Value::Number(number.into()),
                &Trace::Paths(vec![Vec::new()]),
            );
            Some((number, witness.ok()?))
        });
        let known = match (known, &initially) {
            (Known::Open(_), Some((number, witness))) => {
                Known::AtLeast(*number, Accepted { witness: Some(witness.clone()), ..Accepted::default() })
            }
            (known, _) => known,
        };
        Finding { examination, id, known, initially }
    });
    let mut findings: Vec<Finding> = findings.collect();
    re_explore(&checks, &mut findings, budget);
    Ok(findings)
}

/// The file with the net, which search, proofs and checks read each for itself.
fn file_of_net(archive: &Archive) -> PathBuf {
    let path = archive.path();
    if path.is_dir() { path.join(MODEL) } else { path.to_owned() }
}

/// Refuses a net that was changed since `before`: the evidence would be of one net and its check of another.
fn check_if_unchanged(archive: &Archive, before: &FileStamp) -> Result<(), ArchiveError> {
    Ok(before.check_if_unchanged(&file_of_net(archive)).on("read", archive.path())?)
}

/// Bytes of a marking in the smallest tables of the checkers' explorer.
const LEAST_MARKING: u64 = 40;

/// Decides explored values again by the explorers of the checkers, each within the same time and memory as the search.
fn re_explore(checks: &Checks<'_>, findings: &mut [Finding], budget: &Budget<'_>) {
    let Ok(instance) = &checks.checker else { return };
    let &Budget { time, memory_bytes, cancel, .. } = budget;
    let has = |fits: &dyn Fn(Statistics) -> bool| {
        findings.iter().any(|finding| match &finding.known {
            Known::Exactly(_, accepted) => {
                accepted.explored.is_some_and(|explored| explored.complete && fits(explored))
            }
            _ => false,
        })
    };
    // The diagram of the checkers gives numbers only.
    let is_number_by_diagram = |finding: &Finding| match &finding.known {
        Known::Exactly(Value::Number(_), Accepted { explored: Some(explored), re_explored: None, .. }) => {
            explored.nodes > 0
        }
        _ => false,
    };
    let by_diagram = findings.iter().any(is_number_by_diagram);
    if has(&|explored| explored.nodes == 0 && explored.states.saturating_mul(LEAST_MARKING) <= memory_bytes)
        && let Ok(all) = instance.explore(time, memory_bytes, cancel)
    {
        compare(findings, all.memory_bytes(), |examination, id| all.value(examination, id));
    }
    if by_diagram && let Ok(all) = instance.diagram(time, memory_bytes, cancel) {
        compare(findings, all.memory_bytes(), |examination, id| all.value(examination, id).map(Some));
    }
    for finding in findings.iter_mut().filter(|finding| is_number_by_diagram(finding)) {
        finding.known = Known::Open("only one decision diagram was found".to_owned());
    }
}

/// Compares explored values with those of an explorer of the checkers, which needed this memory.
fn compare(
    findings: &mut [Finding],
    memory_bytes: u64,
    other: impl Fn(&str, &str) -> Result<Option<Value>, CheckError>,
) {
    for finding in findings {
        let Known::Exactly(value, accepted) = &mut finding.known else { continue };
        if accepted.explored.is_none() {
            continue;
        }
        match other(&finding.examination, &finding.id) {
            Ok(Some(other)) if other == *value => {
                accepted.re_explored = Some(memory_bytes);
            }
            Ok(Some(other)) => {
                tracing::warn!(
                    "{} {}: the explorers found {value} and {other}",
                    finding.examination,
                    finding.id
                );
                finding.known = Known::Open("two explorations contradict each other".to_owned());
            }
            Ok(None) | Err(_) => {}
        }
    }
}

fn known(
    checks: &Checks<'_>,
    examination: &str,
    id: &str,
    outcome: Outcome,
    at_least: Option<(u128, Trace)>,
    certificate: Option<Certificate>,
) -> Known {
    let certificate = certificate.and_then(|certificate| match checks.certificate(&certificate) {
        Ok(()) => Some(certificate),
        Err(reason) => {
            tracing::warn!("{examination} {id}: the checker refused a certificate: {reason}");
            None
        }
    });
    let bound = certificate.as_ref().map(|certificate| &certificate.value);
    let witnessed = |value: Value, trace: &Trace| checks.witness(examination, id, value, trace);
    let at_least =
        at_least.and_then(|(number, trace)| match witnessed(Value::Number(number.into()), &trace) {
            Ok(witness) => Some((number, witness)),
            Err(reason) => {
                tracing::warn!("{examination} {id}: the checker refused a witness: {reason}");
                None
            }
        });
    match outcome {
        Outcome::Decided { value, evidence: Evidence::Witness(trace) } => {
            match witnessed(value.clone(), &trace) {
                Ok(witness) => {
                    Known::Exactly(value, Accepted { witness: Some(witness), ..Accepted::default() })
                }
                Err(reason) => Known::Open(format!("the checker refused the witness: {reason}")),
            }
        }
        Outcome::Decided { value, evidence: Evidence::Explored(statistics) } => {
            let explored = Accepted { explored: Some(statistics), ..Accepted::default() };
            match (&value, bound) {
                (_, None) => Known::Exactly(value, explored),
                (Value::Truth(truth), Some(Value::Truth(proved))) if truth == proved => {
                    Known::Exactly(value, Accepted { certificate, ..Accepted::default() })
                }
                (Value::Number(number), Some(Value::Number(bound))) if number <= bound => match at_least {
                    Some((reached, witness)) if BigUint::from(reached) == *bound => {
                        let witness = Some(witness);
                        Known::Exactly(value, Accepted { witness, certificate, ..Accepted::default() })
                    }
                    // A certificate alone does not show that a bound is reached.
                    _ => Known::Exactly(value, explored),
                },
                _ => Known::Open("the exploration and a certificate contradict each other".to_owned()),
            }
        }
        Outcome::Open { reason } => match (at_least, bound) {
            (None, Some(Value::Truth(truth))) => {
                Known::Exactly(Value::Truth(*truth), Accepted { certificate, ..Accepted::default() })
            }
            (Some((number, witness)), Some(Value::Number(bound))) if BigUint::from(number) == *bound => {
                let witness = Some(witness);
                Known::Exactly(
                    Value::Number(number.into()),
                    Accepted { witness, certificate, ..Accepted::default() },
                )
            }
            (Some((number, witness)), _) => {
                Known::AtLeast(number, Accepted { witness: Some(witness), ..Accepted::default() })
            }
            (None, _) => Known::Open(reason),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_checker::Run;
    use std::fs;

    /// What is found about the values of an instance of the conformance vectors.
    fn findings(name: &str, examinations: &[&str]) -> Vec<Finding> {
        let instances = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/evidence/instances");
        let archive = Archive::open(&instances.join(name)).unwrap();
        let (time, cancel) = (Duration::from_secs(3), AtomicBool::new(false));
        certify(
            &archive,
            examinations,
            &Budget { steps: u64::MAX, time, memory_bytes: 16 << 20, cancel: &cancel },
        )
        .unwrap()
    }

    #[test]
    fn a_net_that_changes_while_it_is_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let instance = folder.path().join("Bare-PT-1");
        let known =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/evidence/instances/Bare-PT-1");
        fs::create_dir(&instance).unwrap();
        fs::copy(known.join(MODEL), instance.join(MODEL)).unwrap();
        let archive = Archive::open(&instance).unwrap();
        let before = FileStamp::of(&file_of_net(&archive)).unwrap();
        check_if_unchanged(&archive, &before).unwrap();
        // Another file with the same bytes.
        fs::copy(known.join(MODEL), instance.join("new")).unwrap();
        fs::rename(instance.join("new"), instance.join(MODEL)).unwrap();
        let error = check_if_unchanged(&archive, &before).unwrap_err().to_string();
        assert!(error.contains("it was changed while it was read"), "{error}");
    }

    #[test]
    fn formulas_are_certified_by_their_parts() {
        let findings = findings("Switch-PT-1", &["CTLCardinality", "LTLCardinality"]);
        for (id, truth, parts) in [("c11", true, 2), ("c12", true, 2), ("l9", true, 2)] {
            let known = &findings.iter().find(|finding| finding.id == id).unwrap().known;
            let Known::Exactly(value, Accepted { certificate: Some(certificate), .. }) = known else {
                panic!("{id}: {known:?}")
            };
            assert_eq!((value, certificate.parts.len()), (&Value::Truth(truth), parts), "{id}");
        }
    }
    use std::path::Path;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    #[test]
    fn live_nets_are_certified_by_siphons() {
        for name in ["Choice-PT-1", "Turn-COL-1"] {
            let findings = findings(name, &["Liveness"]);
            let Known::Exactly(Value::Truth(true), accepted) = &findings[0].known else {
                panic!("{findings:?}")
            };
            assert!(accepted.certificate.as_ref().is_some_and(|certificate| certificate.method.is_some()));
        }
    }

    #[test]
    fn constant_places_and_comparisons_decide_values_of_an_unbounded_net() {
        let folder = tempfile::tempdir().unwrap();
        let instance = folder.path().join("Source-PT-2");
        fs::create_dir(&instance).unwrap();
        // The transition keeps the token of p and adds one to q.
        let net = r#"<pnml xmlns="http://www.pnml.org/version-2009/grammar/pnml">
            <net id="n" type="http://www.pnml.org/version-2009/grammar/ptnet"><page id="g">
            <place id="p"><initialMarking><text>1</text></initialMarking></place><place id="q"/><transition id="t"/>
            <arc id="a" source="p" target="t"/><arc id="b" source="t" target="p"/><arc id="c" source="t" target="q"/>
            </page></net></pnml>"#;
        let formula = r#"<property-set xmlns="http://mcc.lip6.fr/"><property><id>c0</id><description/><formula>
            <exists-path><globally><exists-path><finally><integer-le><integer-constant>2</integer-constant>
            <tokens-count><place>p</place></tokens-count></integer-le></finally></exists-path></globally></exists-path>
            </formula></property><property><id>c1</id><description/><formula><negation><disjunction>
            <integer-le><integer-constant>1</integer-constant><tokens-count><place>p</place></tokens-count></integer-le>
            <all-paths><finally><integer-le><integer-constant>2</integer-constant>
            <tokens-count><place>p</place></tokens-count></integer-le></finally></all-paths></disjunction></negation>
            </formula></property></property-set>"#;
        fs::write(instance.join(MODEL), net).unwrap();
        fs::write(instance.join("CTLCardinality.xml"), formula).unwrap();
        let archive = Archive::open(&instance).unwrap();
        let (time, cancel) = (Duration::from_secs(3), AtomicBool::new(false));
        let budget = Budget { steps: u64::MAX, time, memory_bytes: 16 << 20, cancel: &cancel };
        let findings = certify(&archive, &["CTLCardinality", "StableMarking"], &budget).unwrap();
        let Known::Exactly(Value::Truth(false), Accepted { explored: Some(explored), .. }) =
            &findings[0].known
        else {
            panic!("{findings:?}")
        };
        assert_eq!((explored.states, explored.conditions), (0, 1));
        // The initial marking decides it, whatever its part is.
        let Known::Exactly(Value::Truth(false), Accepted { witness: Some(witness), .. }) = &findings[1].known
        else {
            panic!("{findings:?}")
        };
        assert_eq!(witness.runs, [Run::default()]);
        let Known::Exactly(Value::Truth(true), Accepted { certificate: Some(certificate), .. }) =
            &findings[2].known
        else {
            panic!("{findings:?}")
        };
        assert_eq!((certificate.subject.as_deref(), certificate.lemmas.len()), (Some("p"), 1));
    }

    #[test]
    fn unbounded_places_are_certified() {
        for (name, unbounded, bounded) in
            [("Source-PT-1", ["x0", "x2"], "x1"), ("Pump-COL-1", ["o0", "o1"], "o2")]
        {
            let findings = findings(name, &["UpperBounds", "StateSpace", "OneSafe"]);
            let known = |id: &str| &findings.iter().find(|finding| finding.id == id).unwrap().known;
            let metrics = ["STATES", "TRANSITIONS", "MAX_TOKEN_IN_PLACE", "MAX_TOKEN_PER_MARKING"];
            for id in metrics.into_iter().chain(unbounded) {
                let Known::Exactly(Value::Infinite, accepted) = known(id) else {
                    panic!("{id}: {:?}", known(id))
                };
                assert!(accepted.witness.is_some(), "{id}");
            }
            assert!(matches!(known("OneSafe"), Known::Exactly(Value::Truth(false), _)));
            assert!(!matches!(known(bounded), Known::Exactly(Value::Infinite, _)));
        }
    }
}
