//! Shows without exploration that no run satisfies a path formula: by its automaton and the state equation.
//!
//! An edge of the automaton whose predicates no reachable marking has is removed. An accepted run then stays in a strongly
//! connected component with all acceptance sets. It cannot, if no dead marking has the predicates of one of its edges, and each
//! run of the transitions that may fire between such markings is finite (Esparza and Melzer: Model checking LTL using constraint
//! programming, 1997).

use crate::automaton::{Automaton, Edge, MAX_PREDS};
use crate::budget::Limits;
use crate::formula::Pred;
use crate::net::Named;
use crate::proof::{Condition, Prover};
use crate::proof_lp::{MAX_CONDITION_NUMBERS, Structure};
use crate::questions::RunSearch;
use crate::space::bits;
use std::collections::BTreeMap;

/// Most states of an automaton that are tried.
const MAX_STATES: usize = 200;
/// Most transitions of a net that are tried one by one.
const MAX_TRANSITIONS: usize = 300;

/// Whether no run satisfies the formula: then the number of conditions that were refuted. None: unknown.
pub(crate) fn excludes(
    named: &Named,
    structure: &Structure,
    search: &RunSearch,
    limits: &Limits<'_>,
) -> Option<u64> {
    let net = &named.net;
    let mut automaton = Automaton::new(&search.formula).ok()?;
    let mut prover = Prover::new(structure, limits.end());
    let initially = bits(net, &search.preds, &net.initial);
    let mut exclusion = Exclusion::new(named, structure, &search.preds);
    // A start with the edges of state 0 that the initial marking allows, then the states by number.
    let start: Vec<u32> =
        automaton.edges(0).ok()?.iter().filter(|edge| edge.allows(initially)).map(|edge| edge.to).collect();
    let mut edges: BTreeMap<u32, Vec<Edge>> = BTreeMap::new();
    let mut waiting = start;
    while let Some(state) = waiting.pop() {
        if edges.contains_key(&state) {
            continue;
        }
        // The edges of a state may take seconds without a step.
        if automaton.accepts_all(state) || edges.len() == MAX_STATES || limits.is_over() {
            return None;
        }
        let mut possible = Vec::new();
        for edge in automaton.edges(state).ok()?.to_vec() {
            limits.check().ok()?;
            if !exclusion.is_refuted(&edge, &mut prover, limits) {
                waiting.push(edge.to);
                possible.push(edge);
            }
        }
        edges.insert(state, possible);
    }
    let numbers: BTreeMap<u32, u32> =
        (0..).zip(edges.keys()).map(|(number, state)| (*state, number)).collect();
    let targets: Vec<Vec<u32>> =
        edges.values().map(|edges| edges.iter().map(|edge| numbers[&edge.to]).collect()).collect();
    let lists: Vec<&Vec<Edge>> = edges.values().collect();
    for component in components(&targets) {
        let inside: Vec<&Edge> = component
            .iter()
            .flat_map(|state| lists[*state as usize])
            .filter(|edge| component.contains(&numbers[&edge.to]))
            .collect();
        let accepts = inside.iter().fold(0, |sets, edge| sets | edge.accepts);
        if inside.is_empty() || accepts != automaton.all_sets() {
            continue;
        }
        if !exclusion.ends(&inside, &mut prover, limits) {
            return None;
        }
    }
    Some(exclusion.refuted)
}

/// The strongly connected components of a small graph.
fn components(targets: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let reached = |from: u32| {
        let (mut known, mut waiting) = (vec![false; targets.len()], vec![from]);
        while let Some(state) = waiting.pop() {
            for &to in &targets[state as usize] {
                if !std::mem::replace(&mut known[to as usize], true) {
                    waiting.push(to);
                }
            }
        }
        known
    };
    let reached: Vec<Vec<bool>> = (0..targets.len() as u32).map(reached).collect();
    let together =
        |a: u32, b: u32| a == b || reached[a as usize][b as usize] && reached[b as usize][a as usize];
    let all = 0..targets.len() as u32;
    let firsts = all.clone().filter(|state| !(0..*state).any(|earlier| together(earlier, *state)));
    firsts.map(|first| all.clone().filter(|state| together(first, *state)).collect()).collect()
}

struct Exclusion<'a> {
    named: &'a Named,
    structure: &'a Structure,
    preds: &'a [Pred],
    /// By predicate: the numbers of its condition.
    sizes: Vec<u64>,
    /// By the predicates that are true and those that are false: whether no reachable marking has them.
    known: BTreeMap<(u64, u64), bool>,
    refuted: u64,
}

impl<'a> Exclusion<'a> {
    fn new(named: &'a Named, structure: &'a Structure, preds: &'a [Pred]) -> Self {
        // The automaton has no others.
        let preds = &preds[..preds.len().min(MAX_PREDS)];
        let sizes = preds.iter().map(|pred| pred.condition_numbers(&named.net)).collect();
        Self { named, structure, preds, sizes, known: BTreeMap::new(), refuted: 0 }
    }

    /// Whether the conditions of these edges are small enough to be made.
    fn is_possible(&self, edges: &[&Edge]) -> bool {
        let size = |edge: &&Edge| {
            let preds = edge.true_preds | edge.false_preds;
            1 + (0..)
                .zip(&self.sizes)
                .map(|(number, size): (u32, _)| (preds >> number & 1) * size)
                .sum::<u64>()
        };
        edges.iter().map(size).sum::<u64>() <= MAX_CONDITION_NUMBERS as u64
    }

    /// The condition that a marking has the predicates of an edge that `is_possible`.
    fn condition(&self, edge: &Edge) -> Condition {
        let has = |preds: u64, number: usize| preds >> number & 1 == 1;
        let truth = |number: usize| match (has(edge.true_preds, number), has(edge.false_preds, number)) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        let parts =
            self.preds.iter().enumerate().filter_map(|(number, pred)| {
                Some(Condition::unlimited(pred, truth(number)?, &self.named.net))
            });
        Condition::All(parts.collect())
    }

    fn refute(&mut self, condition: Condition, prover: &mut Prover<'_>, limits: &Limits<'_>) -> bool {
        let steps = self.structure.steps();
        if limits.check().is_err() || limits.left() < steps {
            return false;
        }
        let is_refuted =
            prover.refute_in(condition, (limits.left() / steps) as usize, limits.end()).is_some();
        // What is beyond the limits is refused by the next check.
        let _over = limits.spend(steps.saturating_mul(prover.programs as u64));
        self.refuted += u64::from(is_refuted);
        is_refuted
    }

    fn can_repeat(&self, transitions: &[u32], limits: &Limits<'_>) -> bool {
        limits.spend(self.structure.steps()).is_err() || self.structure.can_repeat(transitions, limits.end())
    }

    fn is_refuted(&mut self, edge: &Edge, prover: &mut Prover<'_>, limits: &Limits<'_>) -> bool {
        let key = (edge.true_preds, edge.false_preds);
        if key == (0, 0) {
            return false;
        }
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        let is_refuted = self.is_possible(&[edge]) && self.refute(self.condition(edge), prover, limits);
        self.known.insert(key, is_refuted);
        is_refuted
    }

    /// Whether each run ends that takes these edges only.
    fn ends(&mut self, edges: &[&Edge], prover: &mut Prover<'_>, limits: &Limits<'_>) -> bool {
        let net = &self.named.net;
        if !self.is_possible(edges) {
            return false;
        }
        let labels = Condition::One(edges.iter().map(|edge| self.condition(edge)).collect());
        let Some(dead) = Condition::from_pred(&Pred::Dead, true, net) else { return false };
        let dead = Condition::All(vec![labels.clone(), dead]);
        let transitions: Vec<u32> = (0..net.transitions() as u32).collect();
        let mut can_fire = transitions.clone();
        if self.can_repeat(&transitions, limits) {
            if transitions.len() > MAX_TRANSITIONS {
                return false;
            }
            can_fire.retain(|transition| {
                let enabled = Condition::enabled(*transition, net);
                // The copy is not made for nothing.
                limits.check().is_err()
                    || !self.refute(Condition::All(vec![labels.clone(), enabled]), prover, limits)
            });
            if self.can_repeat(&can_fire, limits) {
                return false;
            }
            self.refuted += 1;
        }
        self.refute(dead, prover, limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::formula::{Ltl, Sum};
    use crate::net::{Arcs, Compiled};
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    #[test]
    fn edges_with_too_large_conditions_are_left_out() {
        let arcs = Arcs { inputs: vec![(0, 1)], outputs: vec![(1, 1)] };
        let named = Named { net: Compiled::new(vec![1, 0], &[arcs]), ..Named::default() };
        let structure = Structure::from_net(&named);
        let cancel = AtomicBool::new(false);
        let (time, steps) = (Duration::from_secs(60), u64::MAX);
        let limits = Limits::new(&Budget { time, steps, memory_bytes: 1 << 30, cancel: &cancel });
        let edge = Edge { true_preds: 1, false_preds: 0, to: 0, accepts: 0 };
        // Each run ends, and where place 0 has a token no marking is dead.
        for (size, edges, ends) in [(10, 9, true), (700_000, 3, true), (700_000, 9, false)] {
            let sum = |places, constant| Sum { places, constant };
            let preds = [Pred::Le(sum(Vec::new(), 1), sum(vec![0; size], 0))];
            let mut prover = Prover::new(&structure, limits.end());
            let mut exclusion = Exclusion::new(&named, &structure, &preds);
            assert_eq!(exclusion.ends(&vec![&edge; edges], &mut prover, &limits), ends);
        }
    }

    /// Excludes runs to a marking with predicate 0, which none satisfies; the formula does not use the other predicates.
    fn excluded(preds: usize, is_cancelled: bool) -> Option<u64> {
        let named = Named { net: Compiled::new(vec![1], &[]), ..Named::default() };
        let structure = Structure::from_net(&named);
        let cancel = AtomicBool::new(false);
        let limits = Limits::new(&Budget { cancel: &cancel, ..Budget::of_time(Duration::from_secs(3600)) });
        // The cancellation is read, and not again for some steps.
        limits.check().unwrap();
        cancel.store(is_cancelled, Ordering::Relaxed);
        let number = |constant| Sum { places: Vec::new(), constant };
        let mut preds = vec![Pred::True; preds];
        preds[0] = Pred::Le(number(1), number(0));
        let formula = Ltl::Until(Box::new(Ltl::True), Box::new(Ltl::Pred(0, true)));
        let search = RunSearch { formula, preds: preds.into(), shows: true, enough: true, exact: true };
        excludes(&named, &structure, &search, &limits)
    }

    #[test]
    fn a_formula_is_excluded_beside_many_predicates_that_it_does_not_use() {
        for preds in [1, 64, 65, 130] {
            assert_eq!(excluded(preds, false), Some(1), "{preds}");
        }
    }

    #[test]
    fn nothing_is_excluded_after_the_cancellation() {
        assert_eq!(excluded(1, true), None);
    }
}
