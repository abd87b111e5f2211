//! Proves values of an instance and writes the proofs as certificates of the checker.

use crate::budget::{Budget, Limits};
use crate::engine::{EngineError, read_net};
use crate::formula::{Names, Pred, Sum};
use crate::net::Named;
use crate::proof::{Condition, Fact, Prover, Tree};
use crate::proof_lp::{Linear, Structure};
use crate::questions::{self, Kind, Metric};
use mcc_checker::{Certificate, Lemma, PlaceName, ProofStep, Rational, VERSION, Value, Weight};
use mcc_model::{Archive, ColourName};
use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::Zero;
use std::time::{Duration, Instant};

/// Proves values of an instance by place invariants, traps and the state equation, as far as the budget allows. Returns a
/// certificate for each value that was proved; a number in it is an upper bound. `wanted` has the examinations and ids of
/// properties (as in `Answer`). The certificates are not checked here.
///
/// # Errors
/// The archive cannot be read, or the net alone needs more than the budget.
pub(crate) fn prove(
    archive: &Archive,
    wanted: &[(&str, &str)],
    budget: &Budget<'_>,
) -> Result<Vec<Certificate>, EngineError> {
    let limits = Limits::new(budget);
    let named = read_net(archive, &limits)?;
    let names = Names::new(&named);
    let mut questions = Vec::new();
    let mut examinations: Vec<&str> = wanted.iter().map(|(examination, _)| *examination).collect();
    examinations.dedup();
    for examination in examinations {
        for question in questions::read(archive, examination, &names)?.questions {
            if wanted.contains(&(examination, question.id.as_str())) {
                questions.push((examination, question));
            }
        }
    }
    let structure = Structure::from_net(&named);
    let mut prover = Prover::new(&structure, Instant::now());
    let mut certificates = Vec::new();
    for (number, (examination, question)) in questions.iter().enumerate() {
        if limits.check().is_err() {
            break;
        }
        // What quick proofs leave of their share, later ones may use; no proof takes more than half of the rest.
        let share = (limits.left() * 4 / (questions.len() - number) as u32).min(limits.left() / 2);
        let task = Task { named: &named, structure: &structure, until: Instant::now() + share };
        let Some((value, subject, tree)) = task.prove(&question.kind, &mut prover) else { continue };
        certificates.push(Certificate {
            version: VERSION,
            instance: archive.instance.to_string(),
            examination: (*examination).to_owned(),
            property: question.id.clone(),
            value,
            subject,
            method: None,
            lemmas: prover.facts.iter().map(|fact| Naming(&named).lemma(fact)).collect(),
            proof: proof(&tree),
            parts: Vec::new(),
        });
    }
    Ok(certificates)
}

/// One question to prove, until an instant.
struct Task<'a> {
    named: &'a Named,
    structure: &'a Structure,
    until: Instant,
}

/// The value that is shown, the place or transition that the proof is about, and the proof.
type Shown = (Value, Option<String>, Tree);

impl Task<'_> {
    fn prove(&self, kind: &Kind, prover: &mut Prover<'_>) -> Option<Shown> {
        let net = &self.named.net;
        let truth = |truth, tree| Some((Value::Truth(truth), None, tree));
        match kind {
            Kind::Reach { pred, found } => {
                // A condition that the initial marking satisfies is reachable.
                if pred.holds(net, &net.initial) {
                    return None;
                }
                let tree = prover.refute(Condition::from_pred(pred, true, net), self.until)?;
                truth(!found, tree)
            }
            Kind::Bound(sum) => self.bound(sum, prover),
            Kind::Metric(Metric::PerMarking) => {
                let places = (0..net.places() as u32).collect();
                self.bound(&Sum { places, constant: 0 }, prover)
            }
            Kind::Metric(Metric::InPlace) => self.in_place(prover),
            Kind::OneSafe => {
                let over = |places: &std::ops::Range<u32>| {
                    Condition::Linear(Linear::new(places.clone().map(|place| (place, 1)), 2))
                };
                let cases = self.named.places.iter().map(over).collect();
                truth(true, prover.refute(Condition::One(cases), self.until)?)
            }
            Kind::QuasiLiveness | Kind::Liveness => self.dead_transition(prover),
            Kind::StableMarking => self.stable_place(prover),
            Kind::Metric(Metric::States | Metric::Transitions)
            | Kind::Ctl(_)
            | Kind::Ltl { .. }
            | Kind::Wrong(_) => None,
        }
    }

    fn bound(&self, sum: &Sum, prover: &mut Prover<'_>) -> Option<Shown> {
        let sum = Linear::new(sum.places.iter().map(|place| (*place, 1)), 0);
        let (bound, tree) = prover.upper_bound(&sum, self.until)?;
        Some((Value::Number(BigUint::try_from(bound).ok()?), None, tree))
    }

    /// The bound of all places: the largest one.
    fn in_place(&self, prover: &mut Prover<'_>) -> Option<Shown> {
        let places = 0..self.named.net.places() as u32;
        let mut largest = self.named.net.initial.iter().copied().max().map(BigInt::from)?;
        for place in places.clone() {
            let sum = Linear::new([(place, 1)], 0);
            largest = largest.max(self.structure.upper_bound(&sum, self.until)?.bound);
        }
        let more = i128::try_from(&largest).ok()? + 1;
        let over = |place| Condition::Linear(Linear::new([(place, 1)], more));
        let tree = prover.refute(Condition::One(places.map(over).collect()), self.until)?;
        Some((Value::Number(BigUint::try_from(largest).ok()?), None, tree))
    }

    /// A transition that is never enabled, with any binding.
    fn dead_transition(&self, prover: &mut Prover<'_>) -> Option<Shown> {
        for (range, id) in self.named.transitions.iter().zip(&self.named.transition_ids) {
            let tried = self.share(self.named.transitions.len())?;
            let condition =
                Condition::from_pred(&Pred::Fireable(range.clone().collect()), true, &self.named.net);
            if let Some(tree) = prover.refute(condition, tried) {
                return Some((Value::Truth(false), Some(id.clone()), tree));
            }
        }
        None
    }

    /// A place whose tokens never change.
    fn stable_place(&self, prover: &mut Prover<'_>) -> Option<Shown> {
        for (range, id) in self.named.places.iter().zip(&self.named.place_ids) {
            let tried = self.share(self.named.places.len())?;
            let initial = |place: u32| i128::from(self.named.net.initial[place as usize]);
            let cases = range.clone().flat_map(|place| {
                let fewer = Linear::new([(place, -1)], 1 - initial(place));
                [fewer, Linear::new([(place, 1)], 1 + initial(place))].map(Condition::Linear)
            });
            if let Some(tree) = prover.refute(Condition::One(cases.collect()), tried) {
                return Some((Value::Truth(true), Some(id.clone()), tree));
            }
        }
        None
    }

    /// The end of the time for one of many tries; None: no time is left.
    fn share(&self, tries: usize) -> Option<Instant> {
        let left = self.until.saturating_duration_since(Instant::now());
        (!left.is_zero())
            .then(|| Instant::now() + (left * 8 / tries.max(1) as u32).max(Duration::from_millis(20)))
    }
}

/// The names of places: in a coloured net with their colours.
struct Naming<'a>(&'a Named);

impl Naming<'_> {
    fn place(&self, place: u32) -> (String, Option<ColourName>) {
        let original = self.0.places.partition_point(|range| range.end <= place);
        let colour = self.0.coloured.as_ref().map(|net| {
            net.colour_name(net.places[original].sort, u64::from(place - self.0.places[original].start))
        });
        (self.0.place_ids[original].clone(), colour)
    }

    fn lemma(&self, fact: &Fact) -> Lemma {
        match fact {
            Fact::AtMost(weights, bound) => {
                let weight = |(place, weight): (&u32, &BigInt)| {
                    let (place, colour) = self.place(*place);
                    Weight { place, colour, weight: rational(weight) }
                };
                Lemma::Inequality { weights: weights.iter().map(weight).collect(), bound: rational(bound) }
            }
            Fact::Trap(places) => {
                let name = |place: &u32| {
                    let (place, colour) = self.place(*place);
                    PlaceName { place, colour }
                };
                Lemma::Trap(places.iter().map(name).collect())
            }
        }
    }
}

fn rational(number: &BigInt) -> Rational {
    Rational(BigRational::from_integer(number.clone()))
}

/// The nodes of the tree in depth-first order.
fn proof(tree: &Tree) -> Vec<ProofStep> {
    let factors = |multipliers: &[(usize, BigInt)]| {
        let used = multipliers.iter().filter(|(_, factor)| !factor.is_zero());
        used.map(|(number, factor)| (*number, rational(factor))).collect()
    };
    let (mut open, mut steps) = (vec![tree], Vec::new());
    while let Some(tree) = open.pop() {
        steps.push(match tree {
            Tree::Contradiction(lemmas, assumptions) => {
                ProofStep::Contradiction { lemmas: factors(lemmas), assumptions: factors(assumptions) }
            }
            Tree::Cases(disjunction, proofs) => {
                open.extend(proofs.iter().rev());
                ProofStep::Cases(*disjunction)
            }
        });
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_checker::Instance;
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../pnml-fixtures");

    /// The certificates for all questions of some examinations of a fixture.
    fn certificates(instance: &str, examinations: &[&str]) -> (Archive, Vec<Certificate>) {
        let archive = Archive::open(&Path::new(FIXTURES).join(format!("{instance}.tgz"))).unwrap();
        let cancel = AtomicBool::new(false);
        let budget = Budget { time: Duration::from_secs(120), memory_bytes: 1 << 30, cancel: &cancel };
        let named = read_net(&archive, &Limits::new(&budget)).unwrap();
        let names = Names::new(&named);
        let ids = |examination: &&str| {
            let questions = questions::read(&archive, examination, &names).unwrap().questions;
            questions.into_iter().map(|question| question.id).collect::<Vec<_>>()
        };
        let ids: Vec<Vec<String>> = examinations.iter().map(ids).collect();
        let wanted = examinations
            .iter()
            .zip(&ids)
            .flat_map(|(examination, ids)| ids.iter().map(|id| (*examination, id.as_str())));
        let certificates = prove(&archive, &wanted.collect::<Vec<_>>(), &budget).unwrap();
        (archive, certificates)
    }

    #[test]
    fn every_certificate_is_accepted_and_agrees_with_the_value() {
        let examinations = [
            "StateSpace",
            "UpperBounds",
            "ReachabilityDeadlock",
            "ReachabilityCardinality",
            "ReachabilityFireability",
        ];
        let mut shown = 0;
        for instance in
            ["DiningTable-PT-05", "LibraryRoom-PT-R05W02", "TokenLoop-PT-05", "CrateDepot-PT-K3M2B12"]
        {
            let expected = Path::new(FIXTURES).join("expected").join(format!("{instance}.csv"));
            let mut expected = csv::Reader::from_path(expected).unwrap();
            let rows: Vec<csv::StringRecord> = expected.records().map(Result::unwrap).collect();
            let (archive, certificates) = certificates(instance, &examinations);
            let checker = Instance::read(&archive).unwrap();
            for certificate in certificates {
                let property = certificate.property.as_str();
                checker.check_certificate(&certificate).unwrap_or_else(|error| panic!("{property}: {error}"));
                let is_wanted =
                    |row: &&csv::StringRecord| row[0] == *certificate.examination && row[2] == *property;
                let value = &rows.iter().find(is_wanted).unwrap_or_else(|| panic!("{property}"))[3];
                match &certificate.value {
                    Value::Truth(truth) => assert_eq!(value, if *truth { "T" } else { "F" }, "{property}"),
                    Value::Number(bound) => assert!(*bound >= value.parse().unwrap(), "{property}: {bound}"),
                    Value::Infinite => panic!("{property}: no certificate shows this value"),
                }
                shown += 1;
            }
        }
        assert!(shown > 60, "{shown}");
    }

    #[test]
    fn global_properties_are_proved_with_their_subject() {
        let (archive, certificates) = certificates("DiningTable-PT-05", &["OneSafe", "StableMarking"]);
        let checker = Instance::read(&archive).unwrap();
        let one_safe = certificates.iter().find(|certificate| certificate.examination == "OneSafe").unwrap();
        assert_eq!(one_safe.value, Value::Truth(true));
        for certificate in &certificates {
            checker.check_certificate(certificate).unwrap();
        }
    }
}
