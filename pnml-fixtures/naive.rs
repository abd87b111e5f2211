//! Answers by definition: all markings in a table, and every operator computed as its fixpoint by iteration. The code is
//! simple rather than fast, and shares nothing with the reference tool.

use std::collections::BTreeMap;

use mcc_harness::model::{Count, Expr, Net};
use num_bigint::BigUint;

use super::families::StateSpace;

/// The reachability graph of a net.
pub struct Graph<'a> {
    net: &'a Net,
    pub states: Vec<Vec<u64>>,
    /// For each state its firings: (transition, target state).
    firings: Vec<Vec<(usize, usize)>>,
}

impl<'a> Graph<'a> {
    pub fn new(net: &'a Net) -> Self {
        let initial: Vec<u64> = net.places.iter().map(|place| place.initial).collect();
        let mut numbers = BTreeMap::from([(initial.clone(), 0)]);
        let mut states = vec![initial];
        let mut firings = Vec::new();
        while firings.len() < states.len() {
            let marking = states[firings.len()].clone();
            let mut here = Vec::new();
            for (number, transition) in net.transitions.iter().enumerate() {
                if transition.inputs.iter().any(|arc| marking[arc.place] < arc.weight) {
                    continue;
                }
                let mut next = marking.clone();
                for arc in &transition.inputs {
                    next[arc.place] -= arc.weight;
                }
                for arc in &transition.outputs {
                    next[arc.place] += arc.weight;
                }
                let target = *numbers.entry(next).or_insert_with_key(|next| {
                    states.push(next.clone());
                    states.len() - 1
                });
                here.push((number, target));
            }
            firings.push(here);
        }
        Self { net, states, firings }
    }

    pub fn state_space(&self) -> StateSpace {
        let tokens =
            |marking: &Vec<u64>| marking.iter().map(|tokens| BigUint::from(*tokens)).sum::<BigUint>();
        StateSpace {
            states: self.states.len().into(),
            firings: self.firings.iter().map(Vec::len).sum::<usize>().into(),
            max_in_place: self.states.iter().flatten().max().copied().unwrap_or(0).into(),
            max_per_marking: self.states.iter().map(tokens).max().unwrap_or_default(),
        }
    }

    pub fn has_deadlock(&self) -> bool {
        self.firings.iter().any(Vec::is_empty)
    }

    /// The largest sum of tokens over these places.
    pub fn bound(&self, places: &[String]) -> BigUint {
        (0..self.states.len()).map(|state| self.tokens(state, places)).max().unwrap_or_default()
    }

    pub fn tokens(&self, state: usize, places: &[String]) -> BigUint {
        places.iter().map(|id| BigUint::from(self.states[state][self.place(id)])).sum()
    }

    pub fn holds_initially(&self, formula: &Expr) -> bool {
        self.truth(formula)[0]
    }

    /// The truth of a CTL formula in each state.
    fn truth(&self, formula: &Expr) -> Vec<bool> {
        let all = 0..self.states.len();
        match formula {
            Expr::AllPaths(path) => self.path_truth(path, true),
            Expr::ExistsPath(path) => self.path_truth(path, false),
            Expr::Not(inner) => self.truth(inner).into_iter().map(|truth| !truth).collect(),
            Expr::And(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| self.truth(part)).collect();
                all.map(|state| parts.iter().all(|part| part[state])).collect()
            }
            Expr::Or(parts) => {
                let parts: Vec<_> = parts.iter().map(|part| self.truth(part)).collect();
                all.map(|state| parts.iter().any(|part| part[state])).collect()
            }
            Expr::Le(left, right) => all.map(|s| self.count(s, left) <= self.count(s, right)).collect(),
            Expr::Fireable(ids) => {
                let wanted: Vec<_> = ids.iter().map(|id| self.transition(id)).collect();
                all.map(|state| self.firings[state].iter().any(|(fired, _)| wanted.contains(fired))).collect()
            }
            Expr::Deadlock => all.map(|state| self.firings[state].is_empty()).collect(),
            Expr::Globally(_) | Expr::Finally(_) | Expr::Next(_) | Expr::Until(..) => {
                panic!("a path operator without a path quantifier")
            }
        }
    }

    fn path_truth(&self, path: &Expr, all: bool) -> Vec<bool> {
        let dead = |state: usize| self.firings[state].is_empty();
        // The truth in all next states or in one; a dead state has none.
        let next = |truth: &[bool], state: usize| {
            let mut reached = self.firings[state].iter().map(|(_, target)| truth[*target]);
            if all { reached.all(|truth| truth) } else { reached.any(|truth| truth) }
        };
        match path {
            Expr::Next(inner) => {
                let inner = self.truth(inner);
                (0..inner.len()).map(|state| next(&inner, state)).collect()
            }
            Expr::Globally(inner) => {
                let inner = self.truth(inner);
                self.fixpoint(true, |z, state| inner[state] && (dead(state) || next(z, state)))
            }
            Expr::Finally(inner) => {
                let inner = self.truth(inner);
                self.fixpoint(false, |z, state| inner[state] || !dead(state) && next(z, state))
            }
            Expr::Until(before, reach) => {
                let (before, reach) = (self.truth(before), self.truth(reach));
                self.fixpoint(false, |z, s| reach[s] || before[s] && !dead(s) && next(z, s))
            }
            _ => panic!("no path operator after a path quantifier"),
        }
    }

    fn fixpoint(&self, from: bool, step: impl Fn(&[bool], usize) -> bool) -> Vec<bool> {
        let mut truth = vec![from; self.states.len()];
        loop {
            let next: Vec<_> = (0..truth.len()).map(|state| step(&truth, state)).collect();
            if next == truth {
                return truth;
            }
            truth = next;
        }
    }

    fn count(&self, state: usize, count: &Count) -> BigUint {
        match count {
            Count::Constant(value) => BigUint::from(*value),
            Count::Tokens(places) => self.tokens(state, places),
        }
    }

    fn place(&self, id: &str) -> usize {
        self.net.places.iter().position(|place| place.id == id).expect("a place of the net")
    }

    fn transition(&self, id: &str) -> usize {
        self.net
            .transitions
            .iter()
            .position(|transition| transition.id == id)
            .expect("a transition of the net")
    }
}
