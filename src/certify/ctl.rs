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
    /// the set of states in which predicate n is true. After an error, `limits` keeps memory that it has taken.
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
        // The part has its own count of memory, which ends with it, also after an error.
        self.states(formula, labels, true, &self.limits.part(u64::MAX, 1.0)).ok()
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
                    let part = self.further_states(part, labels, certainly, limits)?;
                    result = if number == 0 { part } else { result.zip(&part, |a, b| a & b) };
                }
                result
            }
            Ctl::Or(parts) => {
                let mut result = States::none(all);
                for part in parts {
                    result = result.zip(&self.further_states(part, labels, certainly, limits)?, |a, b| a | b);
                }
                result
            }
            Ctl::ExistsNext(inner) => {
                let inner = self.states(inner, labels, certainly, limits)?;
                let mut result = if certainly { States::none(all) } else { self.open.clone() };
                let mut passed = 0;
                for state in inner.iter() {
                    let predecessors = self.predecessors.before(state);
                    predecessors.iter().for_each(|before| result.insert(*before));
                    passed += predecessors.len() as u64;
                    limits.spend(passed / 64)?;
                    passed %= 64;
                }
                result
            }
            Ctl::ExistsUntil(before, reach) => {
                let (before, reach) = self.operands(before, reach, labels, certainly, limits)?;
                self.until(&before, reach, limits, |_| true)?
            }
            Ctl::AllUntil(before, reach) => {
                let (before, reach) = self.operands(before, reach, labels, certainly, limits)?;
                let bytes = (all * size_of::<u32>()) as u64;
                limits.take(bytes)?;
                // An unknown successor never joins.
                let count =
                    |state| self.graph.successors(state).len() as u32 + u32::from(self.open.contains(state));
                let mut left: Vec<u32> = (0..all as State).map(count).collect();
                let result = self.until(&before, reach, limits, |state| {
                    left[state as usize] -= 1;
                    left[state as usize] == 0
                })?;
                limits.give_back(bytes);
                result
            }
        })
    }

    /// As `states`, while another set of states is in memory.
    fn further_states(
        &self,
        formula: &Ctl,
        labels: &[States],
        certainly: bool,
        limits: &Limits<'_>,
    ) -> Result<States, Stop> {
        let bytes = self.graph.states() as u64 / 8;
        limits.take(bytes)?;
        let states = self.states(formula, labels, certainly, limits)?;
        limits.give_back(bytes);
        Ok(states)
    }

    /// The states of both operands of an until.
    fn operands(
        &self,
        before: &Ctl,
        reach: &Ctl,
        labels: &[States],
        certainly: bool,
        limits: &Limits<'_>,
    ) -> Result<(States, States), Stop> {
        let before = self.states(before, labels, certainly, limits)?;
        let mut reach = self.further_states(reach, labels, certainly, limits)?;
        if !certainly {
            // The unknown successors may be in the result.
            let open = before.clone().zip(&self.open, |a, b| a & b);
            reach = reach.zip(&open, |a, b| a | b);
        }
        Ok((before, reach))
    }

    /// Searches backwards from the states of `result`, which become more, through those of `before`. `joins(state)` is called
    /// once per firing from `state` into the result, and returns whether `state` belongs to the result.
    fn until(
        &self,
        before: &States,
        mut result: States,
        limits: &Limits<'_>,
        mut joins: impl FnMut(State) -> bool,
    ) -> Result<States, Stop> {
        let mut waiting: Vec<State> = Vec::new();
        limits.reserve(&mut waiting, result.iter().count())?;
        waiting.extend(result.iter());
        while let Some(state) = waiting.pop() {
            let predecessors = self.predecessors.before(state);
            limits.spend(1 + predecessors.len() as u64 / 16)?;
            for &previous in predecessors {
                if joins(previous) && before.contains(previous) && !result.contains(previous) {
                    result.insert(previous);
                    limits.reserve(&mut waiting, 1)?;
                    waiting.push(previous);
                }
            }
        }
        limits.give_back((waiting.capacity() * size_of::<State>()) as u64);
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::explore::explore;
    use crate::net::Arcs;
    use std::time::Duration;

    fn limits(memory_bytes: u64) -> Limits<'static> {
        Limits::new(&Budget { memory_bytes, ..Budget::of_time(Duration::from_secs(3600)) })
    }

    /// A net in which each of some transitions moves the tokens one by one.
    fn line(tokens: u64, transitions: usize) -> Compiled {
        let step = || Arcs { inputs: vec![(0, 1)], outputs: vec![(1, 1)] };
        Compiled::new(vec![tokens, 0], &(0..transitions).map(|_| step()).collect::<Vec<_>>())
    }

    #[test]
    fn the_tables_of_nested_formulas_are_taken_from_the_memory() {
        const STATES: u64 = 10_000;
        let (net, all) = (line(STATES - 1, 1), limits(64 << 20));
        let graph = explore(&net, &[STATES, STATES], &all);
        let labels = label(&net, &graph, &[Pred::True, Pred::Dead], &all).unwrap();
        let checker = Checker::new(&net, &graph, &all).unwrap();
        let nested =
            (0..100).fold(Ctl::Pred(1), |inner, _| Ctl::AllUntil(Box::new(Ctl::Pred(0)), Box::new(inner)));
        let holds = |bytes: u64| checker.holds_initially(&nested, &labels, &limits(bytes * STATES));
        // Each level keeps a set, of an eighth of a byte for a state, and only one of them has numbers.
        assert_eq!(holds(12), Err(Stop::Memory));
        assert_eq!(holds(24), Ok(Some(true)));
    }

    #[test]
    fn the_firings_before_the_states_of_a_next_are_counted() {
        let (net, all) = (line(1, 6400), limits(64 << 20));
        let graph = explore(&net, &[1, 1], &all);
        let labels = label(&net, &graph, &[Pred::Dead], &all).unwrap();
        let checker = Checker::new(&net, &graph, &all).unwrap();
        let before = all.left();
        let next = Ctl::ExistsNext(Box::new(Ctl::Pred(0)));
        assert_eq!(checker.holds_initially(&next, &labels, &all), Ok(Some(true)));
        assert_eq!(before - all.left(), 2 + 100);
    }
}
