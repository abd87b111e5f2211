//! Structural proofs: that no reachable marking satisfies a condition, without visiting markings.
//!
//! A condition is a conjunction of linear inequalities and disjunctions. It is refuted by the state equation
//! (`proof_lp`). If that is not enough, initially marked traps are added that its solution leaves without tokens (Esparza
//! and Melzer: Verification of safety properties using integer programming, 2000), and then one of the disjunctions that
//! the solution violates is split into its cases.

use crate::budget::Limits;
use crate::formula::Pred;
use crate::net::{Compiled, Named};
use crate::proof_lp::{Linear, MAX_CONDITION_NUMBERS, Refutation, Solution, Structure};
use mcc_base::random::SplitMix;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

/// Most linear programs of one proof.
const MAX_PROGRAMS: usize = 2000;
/// Most facts that are kept for later proofs.
const MAX_FACTS: usize = 500;
/// Most cases inside of cases.
const MAX_DEPTH: usize = 40;
/// Most traps that are added for one proof.
const MAX_TRAPS: usize = 60;

/// A condition on a marking, with negations moved inwards.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Condition {
    Linear(Linear),
    All(Vec<Condition>),
    One(Vec<Condition>),
}

impl Condition {
    /// The condition that a predicate has this truth. The order of its parts is that of the checker's format.
    /// None: it is too large for proofs, which copy it.
    pub(crate) fn from_pred(pred: &Pred, truth: bool, net: &Compiled) -> Option<Self> {
        let is_possible = pred.condition_numbers(net) <= MAX_CONDITION_NUMBERS as u64;
        is_possible.then(|| Self::unlimited(pred, truth, net))
    }

    /// The same of any size, for predicates whose size was compared with the limit before.
    pub(crate) fn unlimited(pred: &Pred, truth: bool, net: &Compiled) -> Self {
        let parts = |parts: &[Pred]| parts.iter().map(|part| Self::unlimited(part, truth, net)).collect();
        match (pred, truth) {
            (Pred::True, true) => Self::All(Vec::new()),
            (Pred::True, false) => Self::One(Vec::new()),
            (Pred::Not(inner), truth) => Self::unlimited(inner, !truth, net),
            (Pred::And(inner), true) | (Pred::Or(inner), false) => Self::All(parts(inner)),
            (Pred::And(inner), false) | (Pred::Or(inner), true) => Self::One(parts(inner)),
            (Pred::Le(left, right), truth) => {
                let (less, more) = if truth { (left, right) } else { (right, left) };
                let terms = less.places.iter().map(|place| (*place, -1));
                let terms = terms.chain(more.places.iter().map(|place| (*place, 1)));
                let bound = i128::from(less.constant) - i128::from(more.constant) + i128::from(!truth);
                Self::Linear(Linear::new(terms, bound))
            }
            (Pred::Fireable(transitions), true) => {
                Self::One(transitions.iter().map(|transition| Self::enabled(*transition, net)).collect())
            }
            (Pred::Fireable(transitions), false) => {
                Self::All(transitions.iter().map(|transition| Self::not_enabled(*transition, net)).collect())
            }
            (Pred::Dead, true) => Self::All(
                (0..net.transitions() as u32).map(|transition| Self::not_enabled(transition, net)).collect(),
            ),
            (Pred::Dead, false) => Self::One(
                (0..net.transitions() as u32).map(|transition| Self::enabled(transition, net)).collect(),
            ),
        }
    }

    /// The condition that a transition is enabled.
    pub(crate) fn enabled(transition: u32, net: &Compiled) -> Self {
        let input =
            |(place, weight): &(u32, u64)| Self::Linear(Linear::new([(*place, 1)], i128::from(*weight)));
        Self::All(net.inputs(transition).iter().map(input).collect())
    }

    fn not_enabled(transition: u32, net: &Compiled) -> Self {
        let input =
            |(place, weight): &(u32, u64)| Self::Linear(Linear::new([(*place, -1)], 1 - i128::from(*weight)));
        Self::One(net.inputs(transition).iter().map(input).collect())
    }

    /// Whether a marking over floats satisfies it.
    fn holds(&self, tokens: &[f64]) -> bool {
        match self {
            Self::Linear(linear) => {
                let sum: f64 =
                    linear.terms.iter().map(|(place, weight)| tokens[*place as usize] * *weight as f64).sum();
                sum >= linear.bound as f64 - 1e-6 * (linear.bound as f64).abs().max(1.0)
            }
            Self::All(parts) => parts.iter().all(|part| part.holds(tokens)),
            Self::One(parts) => parts.iter().any(|part| part.holds(tokens)),
        }
    }
}

/// A fact on all reachable markings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fact {
    /// The weighted sum of tokens is at most the bound.
    AtMost(BTreeMap<u32, BigInt>, BigInt),
    /// These places together have a token.
    Trap(Vec<u32>),
    /// In each clause an inequality holds; with the proofs that firings keep the clauses, and the depth of the induction.
    Invariant(Vec<Vec<Linear>>, Vec<Tree>, u64),
    /// These places have together one of these markings.
    Closed(Vec<u32>, Vec<Vec<u64>>),
}

/// A proof in the form of the checker's format; lemmas are numbers of facts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tree {
    /// Factors of facts and of assumptions.
    Contradiction(Vec<(usize, BigInt)>, Vec<(usize, BigInt)>),
    /// The number of a disjunction, and a proof for each of its cases.
    Cases(usize, Vec<Tree>),
    /// An inequality holds, or it does not.
    Split(Linear, Box<Tree>, Box<Tree>),
    /// The fact with this number is a closed set, and each of its markings contradicts what is known.
    Closed(usize),
}

/// What a node of a proof knows, numbered as in the checker's format.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    pub(crate) assumptions: Vec<Linear>,
    pub(crate) disjunctions: Vec<Rc<Vec<Condition>>>,
    pub(crate) split: Vec<usize>,
    /// The numbers of assumptions and disjunctions before the clauses of an invariant, and how many of them are disjunctions.
    pub(crate) clauses: Option<(usize, usize)>,
    pub(crate) pairs: usize,
}

impl Known {
    pub(crate) fn assume(&mut self, condition: Condition) {
        match condition {
            Condition::Linear(linear) => self.assumptions.push(linear),
            Condition::All(parts) => parts.into_iter().for_each(|part| self.assume(part)),
            Condition::One(mut parts) if parts.len() == 1 => {
                if let Some(part) = parts.pop() {
                    self.assume(part);
                }
            }
            Condition::One(parts) => self.disjunctions.push(Rc::new(parts)),
        }
    }
}

/// Searches proofs on one net. Facts and traps that one proof found serve the next ones.
pub(crate) struct Prover<'a> {
    structure: &'a Structure,
    until: Instant,
    /// The facts that the current proof uses.
    pub(crate) facts: Vec<Fact>,
    /// Whether the current proof is about siphons.
    pub(crate) siphons: bool,
    traps: Vec<Vec<u32>>,
    /// Inequalities that proofs before used, without negative weights.
    inequalities: Vec<(BTreeMap<u32, BigInt>, BigInt)>,
    /// The linear programs of the current proof.
    pub(crate) programs: usize,
    most_programs: usize,
}

impl Structure {
    /// The parts of a net that proofs use.
    pub(crate) fn from_net(named: &Named) -> Self {
        let net = &named.net;
        let transitions = || 0..net.transitions() as u32;
        let effect = |transition: u32| {
            let change = |change: &crate::net::Change| {
                (change.place, i128::from(change.more) - i128::from(change.less))
            };
            net.changes(transition).iter().map(change).collect()
        };
        let effects: Vec<Vec<(u32, i128)>> = transitions().map(effect).collect();
        // What a transition takes and does not lose, it puts back.
        let outputs = transitions().zip(&effects).map(|(transition, effect)| {
            let mut sums: BTreeMap<u32, i128> =
                net.inputs(transition).iter().map(|(place, weight)| (*place, i128::from(*weight))).collect();
            effect.iter().for_each(|(place, change)| *sums.entry(*place).or_default() += change);
            sums.into_iter().filter(|(_, puts)| *puts > 0).map(|(place, _)| place).collect()
        });
        Self {
            initial: net.initial.clone(),
            inputs: transitions().map(|transition| net.inputs(transition).to_vec()).collect(),
            outputs: outputs.collect(),
            effects,
        }
    }

    /// The largest trap among these places: a transition that takes from it puts on it.
    pub(crate) fn largest_trap(&self, mut inside: Vec<bool>) -> Vec<u32> {
        // By place inside: the transitions that put on it. By transition: the number of places inside on which it puts.
        let mut producers: Vec<Vec<usize>> = vec![Vec::new(); inside.len()];
        let mut puts = vec![0_usize; self.outputs.len()];
        for (transition, outputs) in self.outputs.iter().enumerate() {
            for place in outputs.iter().filter(|place| inside[**place as usize]) {
                producers[*place as usize].push(transition);
                puts[transition] += 1;
            }
        }
        let mut waiting: Vec<usize> = (0..puts.len()).filter(|transition| puts[*transition] == 0).collect();
        while let Some(transition) = waiting.pop() {
            for (place, _) in &self.inputs[transition] {
                if !std::mem::replace(&mut inside[*place as usize], false) {
                    continue;
                }
                for &producer in &producers[*place as usize] {
                    puts[producer] -= 1;
                    if puts[producer] == 0 {
                        waiting.push(producer);
                    }
                }
            }
        }
        (0..).zip(&inside).filter(|(_, inside)| **inside).map(|(place, _)| place).collect()
    }
}

impl<'a> Prover<'a> {
    pub(crate) fn new(structure: &'a Structure, until: Instant) -> Self {
        Self {
            structure,
            until,
            facts: Vec::new(),
            siphons: false,
            traps: Vec::new(),
            inequalities: Vec::new(),
            programs: 0,
            most_programs: MAX_PROGRAMS,
        }
    }

    /// Proves that no reachable marking satisfies a condition. The facts that the proof uses are `facts` afterwards.
    pub(crate) fn refute(&mut self, condition: Condition, until: Instant) -> Option<Tree> {
        self.refute_in(condition, MAX_PROGRAMS, until)
    }

    /// The same with at most this number of linear programs, and never more than `MAX_PROGRAMS`.
    pub(crate) fn refute_in(&mut self, condition: Condition, most: usize, until: Instant) -> Option<Tree> {
        self.most_programs = most.min(MAX_PROGRAMS);
        self.facts.clear();
        self.siphons = false;
        self.refute_too(condition, until)
    }

    /// The same with the facts of the proofs before: those that this proof needs too are added.
    pub(crate) fn refute_too(&mut self, condition: Condition, until: Instant) -> Option<Tree> {
        self.programs = 0;
        self.until = until;
        let mut known = Known::default();
        known.assume(condition);
        self.close(&known)
    }

    fn close(&mut self, known: &Known) -> Option<Tree> {
        // A disjunction can have thousands of cases.
        if Instant::now() >= self.until {
            return None;
        }
        if let Some(empty) = known.disjunctions.iter().position(|cases| cases.is_empty()) {
            return Some(Tree::Cases(empty, Vec::new()));
        }
        if let Some(tree) = self.by_known_inequality(known) {
            return Some(tree);
        }
        let tokens = loop {
            self.programs += 2;
            if self.programs > self.most_programs || Instant::now() >= self.until {
                return None;
            }
            let mut conditions = known.assumptions.clone();
            conditions
                .extend(self.traps.iter().map(|trap| Linear::new(trap.iter().map(|place| (*place, 1)), 1)));
            if let Some(refutation) = self.structure.refute(&conditions, self.until) {
                return Some(self.contradiction(known, refutation));
            }
            let tokens = self.structure.solution(&conditions, self.until)?.tokens;
            if self.traps.len() >= MAX_TRAPS {
                break tokens;
            }
            let largest = tokens.iter().copied().fold(1.0, f64::max);
            let empty = tokens.iter().map(|tokens| *tokens <= largest * 1e-7).collect();
            let trap = self.structure.largest_trap(empty);
            if !trap.iter().any(|place| self.structure.initial[*place as usize] > 0) {
                break tokens;
            }
            self.traps.push(trap);
        };
        // Each case inside of cases keeps a copy of what is known.
        let copied = known.assumptions.iter().map(|assumption| assumption.terms.len()).sum::<usize>();
        let depth = known.split.len();
        if depth >= MAX_DEPTH || copied * depth > 4 * MAX_CONDITION_NUMBERS {
            return None;
        }
        let open = known.disjunctions.iter().enumerate().filter(|(number, _)| !known.split.contains(number));
        let violated = open.filter(|(_, cases)| !cases.iter().any(|case| case.holds(&tokens)));
        let (number, cases) =
            violated.min_by_key(|(_, cases)| cases.len()).map(|(n, cases)| (n, cases.clone()))?;
        let mut proofs = Vec::new();
        for case in &*cases {
            let mut with = known.clone();
            with.split.push(number);
            with.assume(case.clone());
            proofs.push(self.close(&with)?);
        }
        Some(Tree::Cases(number, proofs))
    }

    /// The number of a fact in `facts`, to which it is added if it is new.
    fn fact(&mut self, fact: Fact) -> usize {
        self.facts.iter().position(|known| *known == fact).unwrap_or_else(|| {
            self.facts.push(fact);
            self.facts.len() - 1
        })
    }

    /// A contradiction of one assumption and an inequality of a proof before. It needs no linear program.
    fn by_known_inequality(&mut self, known: &Known) -> Option<Tree> {
        for (number, assumption) in known.assumptions.iter().enumerate() {
            if assumption.terms.is_empty() || assumption.terms.iter().any(|(_, weight)| *weight < 0) {
                continue;
            }
            for (weights, bound) in &self.inequalities {
                let ratio = |(place, weight): &(u32, i128)| {
                    Some(BigRational::new(weights.get(place)?.clone(), BigInt::from(*weight)))
                };
                let ratios: Option<Vec<BigRational>> = assumption.terms.iter().map(ratio).collect();
                let Some(least) = ratios.and_then(|ratios| ratios.into_iter().min()) else { continue };
                if bound * least.denom() < least.numer() * assumption.bound {
                    let fact = Fact::AtMost(weights.clone(), bound.clone());
                    let lemma = self.fact(fact);
                    return Some(Tree::Contradiction(
                        vec![(lemma, least.denom().clone())],
                        vec![(number, least.numer().clone())],
                    ));
                }
            }
        }
        None
    }

    /// The lemma that the weighted sum of tokens never exceeds its initial value; none of no weights.
    fn at_most(&mut self, weights: BTreeMap<u32, BigInt>) -> Vec<(usize, BigInt)> {
        if weights.is_empty() {
            return Vec::new();
        }
        let bound = self.structure.initial_sum(&weights);
        if self.inequalities.len() < MAX_FACTS && weights.values().all(BigInt::is_positive) {
            self.inequalities.push((weights.clone(), bound.clone()));
        }
        vec![(self.fact(Fact::AtMost(weights, bound)), BigInt::one())]
    }

    fn contradiction(&mut self, known: &Known, refutation: Refutation) -> Tree {
        let Refutation { multipliers, weights } = refutation;
        let (of_assumptions, of_traps) = multipliers.split_at(known.assumptions.len());
        let is_used = |(_, factor): &(usize, &BigInt)| **factor != BigInt::ZERO;
        let mut lemmas = self.at_most(weights);
        for (trap, factor) in of_traps.iter().enumerate().filter(is_used) {
            let trap = self.traps[trap].clone();
            lemmas.push((self.fact(Fact::Trap(trap)), factor.clone()));
        }
        let assumptions = of_assumptions.iter().enumerate().filter(is_used);
        Tree::Contradiction(lemmas, assumptions.map(|(number, factor)| (number, factor.clone())).collect())
    }

    /// How often each transition fires in a solution of the state equation with this condition and the known traps. Of a
    /// disjunction that the solution violates a case is chosen at random. None: it was not found.
    pub(crate) fn firings(
        &self,
        condition: Condition,
        random: &mut SplitMix,
        limits: &Limits<'_>,
    ) -> Option<Vec<u64>> {
        let mut known = Known::default();
        known.assume(condition);
        loop {
            limits.spend(self.structure.steps()).ok()?;
            let traps = self.traps.iter().map(|trap| Linear::new(trap.iter().map(|place| (*place, 1)), 1));
            let conditions: Vec<Linear> = known.assumptions.iter().cloned().chain(traps).collect();
            let Solution { tokens, firings } = self.structure.solution(&conditions, limits.end())?;
            let is_violated = |cases: &&Rc<Vec<Condition>>| !cases.iter().any(|case| case.holds(&tokens));
            let Some(cases) = known.disjunctions.iter().find(is_violated).cloned() else {
                // A little less than a whole number is the number.
                return Some(firings.iter().map(|count| (count - 1e-6).ceil().max(0.0) as u64).collect());
            };
            if cases.is_empty() || known.split.len() >= MAX_DEPTH {
                return None;
            }
            known.split.push(0);
            known.assume(cases[random.below(cases.len())].clone());
        }
    }

    /// An upper bound of a sum of tokens, as a proof that the sum is never larger.
    pub(crate) fn upper_bound(&mut self, sum: &Linear, until: Instant) -> Option<(BigInt, Tree)> {
        let bound = self.structure.upper_bound(sum, until)?;
        self.facts.clear();
        self.siphons = false;
        let lemmas = self.at_most(bound.weights);
        Some((bound.bound, Tree::Contradiction(lemmas, vec![(0, bound.divisor)])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formula::Sum;
    use crate::net::Arcs;
    use std::time::Duration;

    /// The dining philosophers that take both forks at once never have a deadlock if forks are put back at once.
    fn mutex() -> Named {
        // Places: idle 0, critical 1, lock 2, idle 3, critical 4.
        let arcs = |inputs: &[(u32, u64)], outputs: &[(u32, u64)]| Arcs {
            inputs: inputs.to_vec(),
            outputs: outputs.to_vec(),
        };
        let transitions = [
            arcs(&[(0, 1), (2, 1)], &[(1, 1)]),
            arcs(&[(1, 1)], &[(0, 1), (2, 1)]),
            arcs(&[(3, 1), (2, 1)], &[(4, 1)]),
            arcs(&[(4, 1)], &[(3, 1), (2, 1)]),
        ];
        Named { net: Compiled::new(vec![1, 0, 1, 1, 0], &transitions), ..Named::default() }
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn mutual_exclusion_and_the_absence_of_deadlocks_are_proved() {
        let named = mutex();
        let structure = Structure::from_net(&named);
        let mut prover = Prover::new(&structure, soon());
        let both = Condition::All(vec![
            Condition::Linear(Linear::new([(1, 1)], 1)),
            Condition::Linear(Linear::new([(4, 1)], 1)),
        ]);
        assert!(matches!(prover.refute(both, soon()), Some(Tree::Contradiction(..))));
        let dead = Condition::from_pred(&Pred::Dead, true, &named.net).unwrap();
        assert!(prover.refute(dead, soon()).is_some());
        let critical = Condition::Linear(Linear::new([(1, 1)], 1));
        assert_eq!(prover.refute(critical, soon()), None);
    }

    #[test]
    fn a_trap_refutes_what_the_state_equation_allows() {
        let arcs = |inputs: &[(u32, u64)], outputs: &[(u32, u64)]| Arcs {
            inputs: inputs.to_vec(),
            outputs: outputs.to_vec(),
        };
        // By the state equation places 1 and 2 become empty together; but each firing that takes from them puts a token.
        let transitions =
            [arcs(&[(0, 1), (1, 1)], &[(1, 1)]), arcs(&[(1, 1)], &[(2, 1)]), arcs(&[(2, 2)], &[(1, 1)])];
        let named = Named { net: Compiled::new(vec![0, 2, 0], &transitions), ..Named::default() };
        let structure = Structure::from_net(&named);
        let mut prover = Prover::new(&structure, soon());
        let none = Condition::All(vec![
            Condition::Linear(Linear::new([(1, -1)], 0)),
            Condition::Linear(Linear::new([(2, -1)], 0)),
        ]);
        assert!(structure.refute(&[Linear::new([(1, -1)], 0), Linear::new([(2, -1)], 0)], soon()).is_none());
        assert!(prover.refute(none, soon()).is_some());
        assert!(prover.facts.iter().any(|fact| matches!(fact, Fact::Trap(_))));
    }

    #[test]
    fn the_largest_trap_of_a_long_chain_in_the_wrong_order_is_found() {
        const LENGTH: u32 = 300_000;
        // Transition n moves a token from place n to the next one, and the last of these keeps none of them inside.
        let structure = Structure {
            initial: vec![0; LENGTH as usize + 2],
            inputs: (0..LENGTH).map(|place| vec![(place, 1)]).collect(),
            outputs: (0..LENGTH).map(|place| vec![place + 1]).collect(),
            ..Structure::default()
        };
        let mut inside = vec![true; LENGTH as usize + 2];
        assert_eq!(structure.largest_trap(inside.clone()).len(), inside.len());
        inside[LENGTH as usize] = false;
        assert_eq!(structure.largest_trap(inside), [LENGTH + 1]);
    }

    #[test]
    fn an_empty_disjunction_is_refuted_and_a_true_condition_is_not() {
        let named = mutex();
        let structure = Structure::from_net(&named);
        let mut prover = Prover::new(&structure, soon());
        let never = Condition::from_pred(&Pred::Fireable(Vec::new()), true, &named.net).unwrap();
        assert_eq!(prover.refute(never, soon()), Some(Tree::Cases(0, Vec::new())));
        assert_eq!(prover.refute(Condition::All(Vec::new()), soon()), None);
    }

    #[test]
    fn a_predicate_that_names_very_many_places_has_no_condition() {
        let net = mutex().net;
        let sum = |count| Sum { places: vec![0; count], constant: 0 };
        let le = |count| Pred::Le(sum(count), sum(0));
        let condition = |pred: &Pred| Condition::from_pred(pred, true, &net);
        assert!(condition(&le(3_000_000)).is_some());
        assert_eq!(condition(&Pred::And(vec![le(3_000_000), le(3_000_000).not()])), None);
        assert_eq!(condition(&Pred::Or(vec![Pred::Dead; 1_000_000])), None);
        assert_eq!(Linear::sum(&sum(6_000_000).places), None);
    }
}
