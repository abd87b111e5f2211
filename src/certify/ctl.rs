//! CTL on the graph of reachable markings, by fixpoints (Clarke, Emerson, Sistla: Automatic Verification of Finite-State
//! Concurrent Systems Using Temporal Logic Specifications, 1986). Paths are maximal: a path that reaches a dead marking ends
//! there. So in a dead marking EX p is false, AX p is true, and EG p, AF p and p are equal.
//!
//! On a part of the graph a formula has a set of states where it certainly holds and a larger one where it may hold
//! (Bruns, Godefroid: Model Checking Partial State Spaces with 3-Valued Temporal Logics, 1999). On the complete graph both
//! are the same.

use crate::budget::{Limits, Stop};
use crate::explore::Explored;
use crate::formula::{Pred, SIZE_OF_STEP};
use crate::net::Compiled;
use crate::store::State;
use mcc_base::state_graph::{Predecessors, States};
use mcc_model::Ctl;

/// The graph with its predecessors, for all formulas of an instance.
pub(crate) struct Checker<'a> {
    graph: &'a Explored<'a>,
    limits: &'a Limits<'a>,
    predecessors: Predecessors,
    /// The states that have unknown successors.
    open: States,
}

/// The predicates of some formulas, each with the states in which it is true.
pub(crate) fn label(
    net: &Compiled,
    graph: &Explored<'_>,
    preds: &[Pred],
    limits: &Limits<'_>,
) -> Result<Vec<States>, Stop> {
    limits.take((preds.len() * graph.states() / 8) as u64)?;
    let mut labels = vec![States::none(graph.states()); preds.len()];
    let cost = 1 + preds.iter().map(|pred| pred.size(net)).sum::<u64>() / SIZE_OF_STEP;
    graph.each(net, limits, cost, |state, marking| {
        for (pred, label) in preds.iter().zip(&mut labels) {
            if pred.holds(net, &marking.tokens) {
                label.insert(state);
            }
        }
    })?;
    Ok(labels)
}

/// Returns the memory of labels.
pub(crate) fn give_back(labels: Vec<States>, graph: &Explored<'_>, limits: &Limits<'_>) {
    limits.give_back((labels.len() * graph.states() / 8) as u64);
}

impl Drop for Checker<'_> {
    fn drop(&mut self) {
        self.limits.give_back(Self::bytes(self.graph));
    }
}

impl<'a> Checker<'a> {
    fn bytes(graph: &Explored<'_>) -> u64 {
        (graph.firings() * 4 + graph.states() * 8) as u64
    }

    /// Makes the predecessors.
    pub(crate) fn new(net: &Compiled, graph: &'a Explored<'a>, limits: &'a Limits<'a>) -> Result<Self, Stop> {
        limits.take(Self::bytes(graph))?;
        let states = graph.states();
        let predecessors = Predecessors::new(states, |state| graph.successors(state));
        let mut open = States::none(states);
        if !graph.is_complete() {
            graph.each(net, limits, 1, |state, marking| {
                if !graph.has_all_successors(state) && net.enabled(marking).next().is_some() {
                    open.insert(state);
                }
            })?;
        }
        Ok(Self { graph, limits, predecessors, open })
    }

    /// The value of a formula in the initial marking; None: the known part of the graph does not decide it. `labels[n]` is
    /// the set of states in which predicate n is true.
    pub(crate) fn holds_initially(
        &self,
        formula: &Ctl,
        labels: &[States],
        limits: &Limits<'_>,
    ) -> Result<Option<bool>, Stop> {
        if self.states(formula, labels, true, limits)?.contains(0) {
            return Ok(Some(true));
        }
        if self.graph.is_complete() || !self.states(formula, labels, false, limits)?.contains(0) {
            Ok(Some(false))
        } else {
            Ok(None)
        }
    }

    /// Whether a state may have unknown successors.
    pub(crate) fn is_open(&self, state: State) -> bool {
        self.open.contains(state)
    }

    /// The states in which a formula certainly holds. None: the budget ended.
    pub(crate) fn certain(&self, formula: &Ctl, labels: &[States]) -> Option<States> {
        self.states(formula, labels, true, self.limits).ok()
    }

    /// The states in which a formula certainly holds, or (not `certainly`) in which it may hold.
    fn states(
        &self,
        formula: &Ctl,
        labels: &[States],
        certainly: bool,
        limits: &Limits<'_>,
    ) -> Result<States, Stop> {
        let all = self.graph.states();
        limits.spend(1 + all as u64 / 64)?;
        Ok(match formula {
            Ctl::Pred(number) => labels[*number].clone(),
            Ctl::Not(inner) => self.states(inner, labels, !certainly, limits)?.complement(all),
            Ctl::And(parts) => {
                let mut result = States::none(all);
                for (number, part) in parts.iter().enumerate() {
                    let part = self.states(part, labels, certainly, limits)?;
                    result = if number == 0 { part } else { result.zip(&part, |a, b| a & b) };
                }
                result
            }
            Ctl::Or(parts) => {
                let mut result = States::none(all);
                for part in parts {
                    result = result.zip(&self.states(part, labels, certainly, limits)?, |a, b| a | b);
                }
                result
            }
            Ctl::ExistsNext(inner) => {
                let inner = self.states(inner, labels, certainly, limits)?;
                let mut result = if certainly { States::none(all) } else { self.open.clone() };
                for state in inner.iter() {
                    self.predecessors.before(state).iter().for_each(|before| result.insert(*before));
                }
                result
            }
            Ctl::ExistsUntil(before, reach) => {
                self.until(before, reach, labels, certainly, limits, |_| true)?
            }
            Ctl::AllUntil(before, reach) => {
                // An unknown successor never joins.
                let count =
                    |state| self.graph.successors(state).len() as u32 + u32::from(self.open.contains(state));
                let mut left: Vec<u32> = (0..all as State).map(count).collect();
                self.until(before, reach, labels, certainly, limits, |state| {
                    left[state as usize] -= 1;
                    left[state as usize] == 0
                })?
            }
        })
    }

    /// Searches backwards from the states of `reach` through those of `before`. `joins(state)` is called once per firing
    /// from `state` into the result, and returns whether `state` belongs to the result.
    fn until(
        &self,
        before: &Ctl,
        reach: &Ctl,
        labels: &[States],
        certainly: bool,
        limits: &Limits<'_>,
        mut joins: impl FnMut(State) -> bool,
    ) -> Result<States, Stop> {
        let before = self.states(before, labels, certainly, limits)?;
        let mut result = self.states(reach, labels, certainly, limits)?;
        if !certainly {
            // The unknown successors may be in the result.
            let open = before.clone().zip(&self.open, |a, b| a & b);
            result = result.zip(&open, |a, b| a | b);
        }
        let mut waiting: Vec<State> = result.iter().collect();
        while let Some(state) = waiting.pop() {
            let predecessors = self.predecessors.before(state);
            limits.spend(1 + predecessors.len() as u64 / 16)?;
            for &previous in predecessors {
                if joins(previous) && before.contains(previous) && !result.contains(previous) {
                    result.insert(previous);
                    waiting.push(previous);
                }
            }
        }
        Ok(result)
    }
}
