//! Inductive invariants of places that exclude each other: one of two places is empty, or a place has at most one token. The
//! largest set of such clauses that firings keep, given each other.

use crate::net::Compiled;
use crate::proof::{Condition, Fact, Known, Tree};
use crate::proof_lp::Linear;
use num_bigint::BigInt;
use num_traits::One;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// Largest number of places.
const MAX_PLACES: usize = 400;
/// Most clauses of an invariant, and most cases of a proof.
const MAX_CLAUSES: usize = 200;
const MAX_CASES: usize = 3000;
/// Most proofs of an invariant that a transition keeps a clause, one for each pair of these: about 100 MB.
const MAX_KEPT: usize = 300_000;

/// Two places of which one is empty, the first number not above the second; equal ones: at most one token.
type Clause = (u32, u32);

pub(crate) struct Exclusions<'a> {
    net: &'a Compiled,
    /// By both places.
    holds: Vec<bool>,
    producers: Vec<Vec<u32>>,
}

/// The least tokens that places have before a firing.
type Needs = BTreeMap<u32, i128>;

impl<'a> Exclusions<'a> {
    /// Computes the clauses. None: the net is too large.
    pub(crate) fn new(net: &'a Compiled, until: Instant) -> Option<Self> {
        let places = net.places();
        if places > MAX_PLACES {
            return None;
        }
        let mut producers = vec![Vec::new(); places];
        for transition in 0..net.transitions() as u32 {
            let adds = net.changes(transition).iter().filter(|change| change.more > 0);
            adds.for_each(|change| producers[change.place as usize].push(transition));
        }
        let mut this = Self { net, holds: vec![true; places * places], producers };
        for first in 0..places {
            for second in first..places {
                let tokens = [first, second].map(|place| net.initial[place]);
                let holds = if first == second { tokens[0] <= 1 } else { tokens[0] == 0 || tokens[1] == 0 };
                this.set((first as u32, second as u32), holds);
            }
        }
        let mut changed = true;
        while changed {
            changed = false;
            for first in 0..places as u32 {
                for second in first..places as u32 {
                    if Instant::now() >= until {
                        return None;
                    }
                    let clause = (first, second);
                    if this.has(clause)
                        && this
                            .breaking(clause)
                            .into_iter()
                            .any(|t| this.reason(&this.needs(clause, t)).is_none())
                    {
                        this.set(clause, false);
                        changed = true;
                    }
                }
            }
        }
        Some(this)
    }

    fn set(&mut self, (first, second): Clause, holds: bool) {
        let places = self.net.places();
        self.holds[first as usize * places + second as usize] = holds;
    }

    fn has(&self, (first, second): Clause) -> bool {
        self.holds[first.min(second) as usize * self.net.places() + first.max(second) as usize]
    }

    /// The transitions that put tokens on one of the places, in their order.
    fn breaking(&self, (first, second): Clause) -> BTreeSet<u32> {
        [first, second].into_iter().flat_map(|place| self.producers[place as usize].iter().copied()).collect()
    }

    fn effect(&self, place: u32, transition: u32) -> i128 {
        let change = self.net.changes(transition).iter().find(|change| change.place == place);
        change.map_or(0, |change| i128::from(change.more) - i128::from(change.less))
    }

    /// The tokens before a firing that violates a clause.
    fn needs(&self, (first, second): Clause, transition: u32) -> Needs {
        let inputs = self.net.inputs(transition).iter();
        let mut needs: Needs = inputs.map(|(place, count)| (*place, i128::from(*count))).collect();
        let after = if first == second { 2 } else { 1 };
        for place in [first, second] {
            let before = after - self.effect(place, transition);
            let known = needs.entry(place).or_default();
            *known = before.max(*known);
        }
        needs
    }

    /// A clause that these tokens violate.
    fn reason(&self, needs: &Needs) -> Option<Clause> {
        let marked: Vec<(u32, i128)> =
            needs.iter().filter(|(_, count)| **count > 0).map(|(place, count)| (*place, *count)).collect();
        for (at, (first, count)) in marked.iter().enumerate() {
            if *count > 1 && self.has((*first, *first)) {
                return Some((*first, *first));
            }
            let other = marked[at + 1..].iter().find(|(second, _)| self.has((*first, *second)));
            if let Some((second, _)) = other {
                return Some((*first, *second));
            }
        }
        None
    }

    /// Proves that no reachable marking satisfies a condition: the invariant, and the proof.
    pub(crate) fn refute(&self, condition: Condition, until: Instant) -> Option<(Fact, Tree)> {
        let mut known = Known::default();
        known.assume(condition);
        let mut used = BTreeSet::new();
        self.clauses_for(&known, &mut used, &mut 0, until)?;
        // Whatever the clauses need to be kept.
        let mut open: Vec<Clause> = used.iter().copied().collect();
        let mut kept = 0;
        while let Some(clause) = open.pop() {
            let breaking = self.breaking(clause);
            kept += breaking.len();
            if kept > MAX_KEPT || Instant::now() >= until {
                return None;
            }
            for transition in breaking {
                let reason = self.reason(&self.needs(clause, transition))?;
                if used.insert(reason) {
                    open.push(reason);
                }
            }
            if used.len() > MAX_CLAUSES {
                return None;
            }
        }
        let clauses: Vec<Clause> = used.into_iter().collect();
        let mut proofs = Vec::new();
        for clause in &clauses {
            for transition in self.breaking(*clause) {
                if proofs.len() % 64 == 0 && Instant::now() >= until {
                    return None;
                }
                proofs.push(self.kept(*clause, transition, &clauses)?);
            }
        }
        add_clauses(&mut known, &clauses);
        let tree = self.close(&known, &clauses)?;
        let clauses = clauses.iter().map(|clause| literals(*clause)).collect();
        Some((Fact::Invariant(clauses, proofs, 1), tree))
    }

    /// The clauses that a proof uses.
    fn clauses_for(
        &self,
        known: &Known,
        used: &mut BTreeSet<Clause>,
        cases: &mut usize,
        until: Instant,
    ) -> Option<()> {
        *cases += 1;
        if *cases > MAX_CASES || Instant::now() >= until {
            return None;
        }
        if let Some(reason) = self.reason(&needs_of(known)) {
            used.insert(reason);
            return Some(());
        }
        let (number, parts) = smallest(known)?;
        for part in &*parts {
            self.clauses_for(&with(known, number, part), used, cases, until)?;
        }
        Some(())
    }

    /// The same as a proof, where the clauses are among what is known.
    fn close(&self, known: &Known, clauses: &[Clause]) -> Option<Tree> {
        // The clauses are the last of what is known at the root; their places there are kept by number.
        if let Some(reason) = self.reason(&needs_of(known)) {
            return contradict(known, reason, clauses);
        }
        let (number, parts) = smallest(known)?;
        let proofs = parts.iter().map(|part| self.close(&with(known, number, part), clauses));
        Some(Tree::Cases(number, proofs.collect::<Option<_>>()?))
    }

    /// The proof that a firing does not violate a clause.
    fn kept(&self, clause: Clause, transition: u32, clauses: &[Clause]) -> Option<Tree> {
        let mut known = Known::default();
        known.assume(Condition::enabled(transition, self.net));
        let after = if clause.0 == clause.1 { 2 } else { 1 };
        let mut places = vec![clause.0, clause.1];
        places.dedup();
        for place in places {
            let before = after - self.effect(place, transition);
            known.assume(Condition::Linear(Linear::new([(place, 1)], before)));
        }
        let reason = self.reason(&self.needs(clause, transition))?;
        add_clauses(&mut known, clauses);
        contradict(&known, reason, clauses)
    }
}

/// The inequalities of a clause: at most so many tokens.
fn literals((first, second): Clause) -> Vec<Linear> {
    let at_most = |place, most: i128| Linear::new([(place, -1)], -most);
    if first == second { vec![at_most(first, 1)] } else { vec![at_most(first, 0), at_most(second, 0)] }
}

fn add_clauses(known: &mut Known, clauses: &[Clause]) {
    known.clauses = Some((known.assumptions.len(), known.disjunctions.len()));
    known.pairs = clauses.iter().filter(|(first, second)| first != second).count();
    for clause in clauses {
        known.assume(Condition::One(literals(*clause).into_iter().map(Condition::Linear).collect()));
    }
}

/// The least tokens that assumptions on single places demand.
fn needs_of(known: &Known) -> Needs {
    let mut needs = Needs::new();
    for linear in &known.assumptions {
        if let [(place, weight)] = linear.terms.as_slice()
            && *weight > 0
        {
            let least = (linear.bound + weight - 1).div_euclid(*weight);
            let count = needs.entry(*place).or_default();
            *count = least.max(*count);
        }
    }
    needs
}

/// The smallest disjunction that was not split and is no clause.
fn smallest(known: &Known) -> Option<(usize, std::rc::Rc<Vec<Condition>>)> {
    let clauses = known.clauses.map(|(_, first)| first);
    let own = known.disjunctions.iter().enumerate().filter(|(number, _)| {
        let is_clause = clauses.is_some_and(|first| *number >= first && *number < first + known.pairs);
        !is_clause && !known.split.contains(number)
    });
    own.min_by_key(|(_, parts)| parts.len()).map(|(number, parts)| (number, parts.clone()))
}

fn with(known: &Known, number: usize, part: &Condition) -> Known {
    let mut with = known.clone();
    with.split.push(number);
    with.assume(part.clone());
    with
}

/// A proof that what is known violates a clause.
fn contradict(known: &Known, (first, second): Clause, clauses: &[Clause]) -> Option<Tree> {
    let (assumptions, disjunctions) = known.clauses?;
    let at = clauses.binary_search(&(first, second)).ok()?;
    let single = |clause: &&Clause| clause.0 == clause.1;
    let singles = clauses[..at].iter().filter(single).count();
    // The assumption on a place that demands at least so many tokens, and its weight.
    let demand = |place: u32, least: i128| {
        let is_it = |linear: &Linear| matches!(linear.terms.as_slice(), [(at, weight)] if *at == place && *weight > 0 && linear.bound > weight * (least - 1));
        let number = known.assumptions.iter().position(is_it)?;
        Some((number, known.assumptions[number].terms[0].1))
    };
    let close = |place: u32, least: i128, upper: usize| {
        let (number, weight) = demand(place, least)?;
        Some(Tree::Contradiction(Vec::new(), vec![(number, BigInt::one()), (upper, BigInt::from(weight))]))
    };
    if first == second {
        return close(first, 2, assumptions + singles);
    }
    let next = known.assumptions.len();
    let proofs = vec![close(first, 1, next)?, close(second, 1, next)?];
    Some(Tree::Cases(disjunctions + at - singles, proofs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Arcs;
    use std::time::Duration;

    #[test]
    fn an_invariant_with_too_many_proofs_is_not_used() {
        let arcs = |from, to| Arcs { inputs: vec![(from, 1)], outputs: vec![(to, 1)] };
        // Three of the clauses need a proof for each of the parallel transitions.
        for (parallel, is_proved) in [(10, true), (MAX_KEPT / 3 + 1, false)] {
            let mut transitions = vec![arcs(0, 1); parallel];
            transitions.extend([arcs(1, 2), arcs(2, 0)]);
            let net = Compiled::new(vec![1, 0, 0], &transitions);
            let until = Instant::now() + Duration::from_secs(60);
            let marked = |place| Condition::Linear(Linear::new([(place, 1)], 1));
            let both = Condition::All(vec![marked(1), marked(2)]);
            let exclusions = Exclusions::new(&net, until).unwrap();
            assert_eq!(exclusions.refute(both, until).is_some(), is_proved, "{parallel}");
        }
    }
}
