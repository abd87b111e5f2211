//! Proves values of an instance and writes the proofs as certificates of the checker.

use crate::budget::{Budget, Limits};
use crate::closed_sets;
use crate::engine::{EngineError, read_net};
use crate::exclusion::Exclusions;
use crate::formula::{Names, Pred, Sum};
use crate::net::Named;
use crate::proof::{Condition, Fact, Prover, Tree};
use crate::proof_lp::{Linear, Structure};
use crate::questions::{self, Kind, Metric};
use crate::siphon_proof;
use crate::skeleton::Skeleton;
use mcc_checker::{
    AtMost, Certificate, Lemma, Method, PlaceName, ProofStep, Rational, VERSION, Value, Weight,
};
use mcc_model::{Archive, ColourName};
use num_bigint::{BigInt, BigUint};
use num_rational::BigRational;
use num_traits::Zero;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::time::{Duration, Instant};

/// Most places of the unfolding whose linear programs are tried before those of the net without colours.
const MAX_FIRST_PLACES: usize = 2000;

/// A certificate of a property, or of a part of its formula.
pub(crate) struct Proved {
    pub(crate) part: Option<usize>,
    pub(crate) certificate: Certificate,
}

/// An examination, the id of a property, and the number of a part of its formula.
pub(crate) type Question<'a> = (&'a str, &'a str, Option<usize>);

impl Proved {
    pub(crate) fn question(&self) -> Question<'_> {
        (&self.certificate.examination, &self.certificate.property, self.part)
    }
}

/// Proves values of an instance by place invariants, traps and the state equation, as far as the budget allows. Returns a
/// certificate for each value that was proved; a number in it is an upper bound. `wanted` has the examinations and ids of
/// properties, and the numbers of their parts (as in `Answer`). The certificates are not checked here.
///
/// # Errors
/// The archive cannot be read, or the net alone needs more than the budget.
pub(crate) fn prove(
    archive: &Archive,
    wanted: &[Question<'_>],
    budget: &Budget<'_>,
) -> Result<Vec<Proved>, EngineError> {
    let limits = Limits::new(budget);
    let named = read_net(archive, &limits)?;
    let names = Names::new(&named);
    let mut questions = Vec::new();
    let mut examinations: Vec<&str> = wanted.iter().map(|(examination, ..)| *examination).collect();
    examinations.dedup();
    let wanted: HashSet<_> = wanted.iter().copied().collect();
    for examination in examinations {
        for question in questions::read(archive, examination, &names)?.questions {
            if wanted.contains(&(examination, question.id.as_str(), question.part)) {
                questions.push((examination, question));
            }
        }
    }
    let structure = Structure::from_net(&named);
    let mut prover = Prover::new(&structure, Instant::now());
    let (exclusions, skeleton) = (OnceCell::new(), OnceCell::new());
    let mut certificates = Vec::new();
    for (number, (examination, question)) in questions.iter().enumerate() {
        if limits.check().is_err() {
            break;
        }
        // What quick proofs leave of their share, later ones may use; no proof takes more than half of the rest.
        let share = (limits.time_left().saturating_mul(4) / (questions.len() - number) as u32)
            .min(limits.time_left() / 2);
        let until = Instant::now() + share;
        let (named, structure) = (&named, &structure);
        let task = Task { named, structure, exclusions: &exclusions, skeleton: &skeleton, until };
        let Some((value, subject, tree)) = task.prove(&question.kind, &mut prover) else { continue };
        let certificate = Certificate {
            version: VERSION,
            instance: archive.instance.to_string(),
            examination: (*examination).to_owned(),
            property: question.id.clone(),
            value,
            subject,
            method: prover.siphons.then_some(Method::Siphons),
            lemmas: prover.facts.iter().map(|fact| Naming(named).lemma(fact)).collect(),
            proof: Naming(named).proof([&tree]),
            parts: Vec::new(),
        };
        certificates.push(Proved { part: question.part, certificate });
    }
    Ok(certificates)
}

/// One question to prove, until an instant.
struct Task<'a> {
    named: &'a Named,
    structure: &'a Structure,
    exclusions: &'a OnceCell<Option<Exclusions<'a>>>,
    skeleton: &'a OnceCell<Option<Skeleton<'a>>>,
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
                let condition = Condition::from_pred(pred, true, net)?;
                let tree = self.refute(condition, prover, self.until);
                let tree =
                    tree.or_else(|| if *pred == Pred::Dead { self.siphons(false, prover) } else { None });
                truth(!found, tree?)
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
                truth(true, self.refute(Condition::One(cases), prover, self.until)?)
            }
            Kind::QuasiLiveness => self.dead_transition(prover),
            Kind::Liveness => match self.siphons(true, prover) {
                Some(tree) => truth(true, tree),
                None => self.dead_transition(prover),
            },
            Kind::StableMarking => self.stable_place(prover),
            Kind::Metric(Metric::States | Metric::Transitions)
            | Kind::Ctl(_)
            | Kind::Ltl(_)
            | Kind::Wrong(_) => None,
        }
    }

    /// Proves that no reachable marking satisfies a condition, by one method after the other.
    fn refute(&self, condition: Condition, prover: &mut Prover<'_>, until: Instant) -> Option<Tree> {
        let half = || Instant::now() + until.saturating_duration_since(Instant::now()) / 2;
        let is_large = self.named.net.places() > MAX_FIRST_PLACES;
        if is_large && let Some(tree) = self.by_skeleton(&condition, prover, half()) {
            return Some(tree);
        }
        if let Some(tree) = prover.refute(condition.clone(), half()) {
            return Some(tree);
        }
        if !is_large && let Some(tree) = self.by_skeleton(&condition, prover, half()) {
            return Some(tree);
        }
        prover.facts.clear();
        let exclusions = self.exclusions.get_or_init(|| Exclusions::new(&self.named.net, half()));
        let by_exclusion = exclusions.as_ref().and_then(|known| known.refute(condition.clone(), half()));
        if let Some((fact, tree)) = by_exclusion {
            prover.facts.push(fact);
            return Some(tree);
        }
        prover.facts.push(closed_sets::exclude(&self.named.net, &condition, until)?);
        Some(Tree::Closed(0))
    }

    fn by_skeleton(&self, condition: &Condition, prover: &mut Prover<'_>, until: Instant) -> Option<Tree> {
        let (facts, tree) = self.skeleton()?.refute(condition, until)?;
        (prover.facts, prover.siphons) = (facts, false);
        Some(tree)
    }

    fn skeleton(&self) -> Option<&Skeleton<'_>> {
        self.skeleton.get_or_init(|| Skeleton::new(self.named, self.structure)).as_ref()
    }

    /// Proves liveness, or the absence of deadlocks, by siphons.
    fn siphons(&self, live: bool, prover: &mut Prover<'_>) -> Option<Tree> {
        let until = Instant::now() + self.until.saturating_duration_since(Instant::now()) / 2;
        // In a coloured net, a transition without bindings is in no firing.
        if live && self.named.transitions.iter().any(std::ops::Range::is_empty) {
            return None;
        }
        let (traps, tree) = siphon_proof::prove(self.structure, live, until)?;
        (prover.facts, prover.siphons) = (traps, true);
        Some(tree)
    }

    fn bound(&self, sum: &Sum, prover: &mut Prover<'_>) -> Option<Shown> {
        let sum = Linear::sum(&sum.places)?;
        let (bound, tree) = match prover.upper_bound(&sum, self.until) {
            Some(bound) => bound,
            None => {
                let (bound, facts, tree) = self.skeleton()?.upper_bound(&sum, self.until)?;
                (prover.facts, prover.siphons) = (facts, false);
                (bound, tree)
            }
        };
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
        let tree = self.refute(Condition::One(places.map(over).collect()), prover, self.until)?;
        Some((Value::Number(BigUint::try_from(largest).ok()?), None, tree))
    }

    /// A transition that is never enabled, with any binding.
    fn dead_transition(&self, prover: &mut Prover<'_>) -> Option<Shown> {
        for (range, id) in self.named.transitions.iter().zip(&self.named.transition_ids) {
            let tried = self.share(self.named.transitions.len())?;
            let pred = Pred::Fireable(range.clone().collect());
            let condition = Condition::from_pred(&pred, true, &self.named.net);
            if let Some(tree) = condition.and_then(|condition| self.refute(condition, prover, tried)) {
                return Some((Value::Truth(false), Some(id.clone()), tree));
            }
        }
        None
    }

    /// A place whose tokens never change.
    fn stable_place(&self, prover: &mut Prover<'_>) -> Option<Shown> {
        let net = &self.named.net;
        let changes = |range: &Range<u32>| {
            let initial = |place: u32| i128::from(net.initial[place as usize]);
            let cases = range.clone().flat_map(|place| {
                let fewer = Linear::new([(place, -1)], 1 - initial(place));
                [fewer, Linear::new([(place, 1)], 1 + initial(place))].map(Condition::Linear)
            });
            Condition::One(cases.collect())
        };
        let mut is_changed = vec![false; net.places()];
        for transition in 0..net.transitions() as u32 {
            net.changes(transition).iter().for_each(|change| is_changed[change.place as usize] = true);
        }
        // A place that no firing changes has one marking, whatever its size.
        for (range, id) in self.named.places.iter().zip(&self.named.place_ids) {
            let is_constant = range.clone().all(|place| !is_changed[place as usize]);
            if let Some(fact) =
                is_constant.then(|| closed_sets::exclude(net, &changes(range), self.until)).flatten()
            {
                (prover.facts, prover.siphons) = (vec![fact], false);
                return Some((Value::Truth(true), Some(id.clone()), Tree::Closed(0)));
            }
        }
        for (range, id) in self.named.places.iter().zip(&self.named.place_ids) {
            let tried = self.share(self.named.places.len())?;
            if let Some(tree) = self.refute(changes(range), prover, tried) {
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
pub(crate) struct Naming<'a>(pub(crate) &'a Named);

impl Naming<'_> {
    fn place(&self, place: u32) -> (String, Option<ColourName>) {
        let original = self.0.places.partition_point(|range| range.end <= place);
        let colour = self.0.coloured.as_ref().map(|net| {
            net.colour_name(net.places[original].sort, u64::from(place - self.0.places[original].start))
        });
        (self.0.place_ids[original].clone(), colour)
    }

    /// The weights of places, as one entry where they are equal for all colours.
    fn weights(&self, weights: &BTreeMap<u32, BigInt>) -> Vec<Weight> {
        let mut entries = Vec::new();
        for (range, id) in self.0.places.iter().zip(&self.0.place_ids) {
            let inside: Vec<(&u32, &BigInt)> = weights.range(range.clone()).collect();
            match inside.first() {
                Some((_, first))
                    if inside.len() == range.len() && inside.iter().all(|(_, weight)| weight == first) =>
                {
                    entries.push(Weight { place: id.clone(), colour: None, weight: rational(first) });
                }
                _ => entries.extend(inside.into_iter().map(|(place, weight)| {
                    let (place, colour) = self.place(*place);
                    Weight { place, colour, weight: rational(weight) }
                })),
            }
        }
        entries
    }

    pub(crate) fn lemma(&self, fact: &Fact) -> Lemma {
        match fact {
            Fact::AtMost(weights, bound) => {
                Lemma::Inequality { weights: self.weights(weights), bound: rational(bound) }
            }
            Fact::Trap(places) => {
                let name = |place: &u32| {
                    let (place, colour) = self.place(*place);
                    PlaceName { place, colour }
                };
                Lemma::Trap(places.iter().map(name).collect())
            }
            Fact::Invariant(clauses, proofs, depth) => {
                let weight = |(place, weight): &(u32, i128)| {
                    let (place, colour) = self.place(*place);
                    Weight { place, colour, weight: rational(&BigInt::from(-weight)) }
                };
                let literal = |literal: &Linear| AtMost {
                    weights: literal.terms.iter().map(weight).collect(),
                    bound: rational(&BigInt::from(-literal.bound)),
                };
                let clauses = clauses.iter().map(|clause| clause.iter().map(literal).collect()).collect();
                Lemma::Invariant { clauses, proof: self.proof(proofs), depth: (*depth > 1).then_some(*depth) }
            }
            Fact::Closed(places, markings) => {
                let name = |place: &u32| {
                    let (place, colour) = self.place(*place);
                    PlaceName { place, colour }
                };
                Lemma::Closed { places: places.iter().map(name).collect(), markings: markings.clone() }
            }
        }
    }

    /// The nodes of trees in depth-first order.
    pub(crate) fn proof<'t>(&self, trees: impl IntoIterator<Item = &'t Tree>) -> Vec<ProofStep> {
        let factors = |multipliers: &[(usize, BigInt)]| {
            let used = multipliers.iter().filter(|(_, factor)| !factor.is_zero());
            used.map(|(number, factor)| (*number, rational(factor))).collect()
        };
        let mut open: Vec<&Tree> = trees.into_iter().collect();
        open.reverse();
        let mut steps = Vec::new();
        while let Some(tree) = open.pop() {
            steps.push(match tree {
                Tree::Contradiction(lemmas, assumptions) => {
                    ProofStep::Contradiction { lemmas: factors(lemmas), assumptions: factors(assumptions) }
                }
                Tree::Cases(disjunction, proofs) => {
                    open.extend(proofs.iter().rev());
                    ProofStep::Cases(*disjunction)
                }
                Tree::Split(Linear { terms, bound }, low, high) => {
                    open.extend([&**high, &**low]);
                    let weights = terms.iter().map(|(place, weight)| (*place, BigInt::from(-weight)));
                    let weights = self.weights(&weights.collect());
                    ProofStep::Split { weights, bound: rational(&BigInt::from(-bound)) }
                }
                Tree::Closed(fact) => ProofStep::Closed(*fact),
            });
        }
        steps
    }
}

fn rational(number: &BigInt) -> Rational {
    Rational(BigRational::from_integer(number.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_checker::Instance;
    use std::path::Path;
    use std::sync::atomic::AtomicBool;

    const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../pnml-fixtures");

    fn budget(cancel: &AtomicBool) -> Budget<'_> {
        Budget { steps: u64::MAX, time: Duration::from_secs(120), memory_bytes: 1 << 30, cancel }
    }

    /// The certificates for all questions of some examinations of a fixture.
    fn certificates(instance: &str, examinations: &[&str]) -> (Archive, Vec<Certificate>) {
        let archive = Archive::open(&Path::new(FIXTURES).join(format!("{instance}.tgz"))).unwrap();
        let cancel = AtomicBool::new(false);
        let budget = budget(&cancel);
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
            .flat_map(|(examination, ids)| ids.iter().map(|id| (*examination, id.as_str(), None)));
        let proved = prove(&archive, &wanted.collect::<Vec<_>>(), &budget).unwrap();
        (archive, proved.into_iter().map(|proved| proved.certificate).collect())
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
    fn invariants_and_closed_sets_are_accepted() {
        let instances = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/evidence/instances");
        let archive = Archive::open(&instances.join("Switch-PT-1")).unwrap();
        let cancel = AtomicBool::new(false);
        let budget = budget(&cancel);
        let named = read_net(&archive, &Limits::new(&budget)).unwrap();
        let checker = Instance::read(&archive).unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        let exclusions = Exclusions::new(&named.net, until).unwrap();
        let (mut invariants, mut closed) = (0, 0);
        let questions = questions::read(&archive, "ReachabilityCardinality", &Names::new(&named)).unwrap();
        for question in questions.questions {
            let Kind::Reach { pred, found } = question.kind else { panic!("a formula of reachability") };
            let condition = Condition::from_pred(&pred, true, &named.net).unwrap();
            let by_exclusion = exclusions.refute(condition.clone(), until);
            let by_set =
                closed_sets::exclude(&named.net, &condition, until).map(|fact| (fact, Tree::Closed(0)));
            invariants += usize::from(by_exclusion.is_some());
            closed += usize::from(by_set.is_some());
            for (fact, tree) in by_exclusion.into_iter().chain(by_set) {
                let certificate = Certificate {
                    version: VERSION,
                    instance: archive.instance.to_string(),
                    examination: "ReachabilityCardinality".to_owned(),
                    property: question.id.clone(),
                    value: Value::Truth(!found),
                    subject: None,
                    method: None,
                    lemmas: vec![Naming(&named).lemma(&fact)],
                    proof: Naming(&named).proof([&tree]),
                    parts: Vec::new(),
                };
                checker
                    .check_certificate(&certificate)
                    .unwrap_or_else(|error| panic!("{error}: {certificate:?}"));
            }
        }
        assert!(invariants > 0 && closed > 2, "{invariants} {closed}");
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
