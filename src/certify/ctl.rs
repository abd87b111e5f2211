//! CTL on the graph of reachable markings, by fixpoints (Clarke, Emerson, Sistla: Automatic Verification of Finite-State
//! Concurrent Systems Using Temporal Logic Specifications, 1986). Paths are maximal: a path that reaches a dead marking ends
//! there. So in a dead marking EX p is false, AX p is true, and EG p, AF p and p are equal.
//!
//! On a part of the graph a formula has a set of states where it certainly holds and a larger one where it may hold
//! (Bruns, Godefroid: Model Checking Partial State Spaces with 3-Valued Temporal Logics, 1999). On the complete graph both
//! are the same.

use crate::budget::{Limits, Stop};
use crate::explore::Explored;
use crate::formula::{Ctl, Pred};
use crate::net::Compiled;
use crate::store::State;

/// A set of states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct States {
    words: Vec<u64>,
}

impl States {
    pub(crate) fn none(states: usize) -> Self {
        Self { words: vec![0; states.div_ceil(64)] }
    }

    pub(crate) fn contains(&self, state: State) -> bool {
        self.words[state as usize / 64] >> (state % 64) & 1 == 1
    }

    pub(crate) fn insert(&mut self, state: State) {
        self.words[state as usize / 64] |= 1 << (state % 64);
    }

    fn iter(&self) -> impl Iterator<Item = State> {
        (0..).zip(&self.words).flat_map(|(number, &word)| {
            std::iter::successors((word != 0).then_some(word), |word| {
                let rest = word & (word - 1);
                (rest != 0).then_some(rest)
            })
            .map(move |word: u64| number * 64 + word.trailing_zeros())
        })
    }

    fn zip(mut self, other: &Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word = combine(*word, *other);
        }
        self
    }
}

/// The graph with its predecessors, for all formulas of an instance.
pub(crate) struct Checker<'a> {
    graph: &'a Explored<'a>,
    limits: &'a Limits<'a>,
    /// The predecessors of state 0, then those of state 1, ...; one entry per firing. `ends` has the end of each part.
    predecessors: Vec<State>,
    ends: Vec<u32>,
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
    graph.each(net, limits, |state, marking| {
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
        (graph.firings() * 4 + graph.states() * 4) as u64
    }

    /// Makes the predecessors.
    pub(crate) fn new(net: &Compiled, graph: &'a Explored<'a>, limits: &'a Limits<'a>) -> Result<Self, Stop> {
        limits.take(Self::bytes(graph))?;
        let states = graph.states();
        let mut ends = vec![0_u32; states];
        for state in 0..graph.expanded() as State {
            for &target in graph.successors(state) {
                ends[target as usize] += 1;
            }
        }
        let mut total = 0;
        for end in &mut ends {
            let count = *end;
            *end = total;
            total += count;
        }
        // `ends` has the starts here; each is increased to the end while the predecessors are added.
        let mut predecessors = vec![0; total as usize];
        for state in 0..graph.expanded() as State {
            for &target in graph.successors(state) {
                let slot = &mut ends[target as usize];
                predecessors[*slot as usize] = state;
                *slot += 1;
            }
        }
        let mut open = States::none(states);
        if !graph.is_complete() {
            graph.each(net, limits, |state, marking| {
                if !graph.has_all_successors(state) && net.enabled(marking).next().is_some() {
                    open.insert(state);
                }
            })?;
        }
        Ok(Self { graph, limits, predecessors, ends, open })
    }

    /// The value of a formula in the initial marking; None: the known part of the graph does not decide it. `labels[n]` is
    /// the set of states in which predicate n is true.
    pub(crate) fn holds_initially(&self, formula: &Ctl, labels: &[States]) -> Result<Option<bool>, Stop> {
        if self.states(formula, labels, true)?.contains(0) {
            return Ok(Some(true));
        }
        if self.graph.is_complete() || !self.states(formula, labels, false)?.contains(0) {
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
        self.states(formula, labels, true).ok()
    }

    fn predecessors(&self, state: State) -> &[State] {
        let state = state as usize;
        let start = if state == 0 { 0 } else { self.ends[state - 1] };
        &self.predecessors[start as usize..self.ends[state] as usize]
    }

    /// The states in which a formula certainly holds, or (not `certainly`) in which it may hold.
    fn states(&self, formula: &Ctl, labels: &[States], certainly: bool) -> Result<States, Stop> {
        self.limits.check()?;
        let all = self.graph.states();
        Ok(match formula {
            Ctl::Pred(number) => labels[*number].clone(),
            Ctl::Not(inner) => {
                let mut inner = self.states(inner, labels, !certainly)?;
                inner.words.iter_mut().for_each(|word| *word = !*word);
                if let (Some(last), rest @ 1..) = (inner.words.last_mut(), all % 64) {
                    *last &= (1 << rest) - 1;
                }
                inner
            }
            Ctl::And(parts) => {
                let mut result = States::none(all);
                for (number, part) in parts.iter().enumerate() {
                    let part = self.states(part, labels, certainly)?;
                    result = if number == 0 { part } else { result.zip(&part, |a, b| a & b) };
                }
                result
            }
            Ctl::Or(parts) => {
                let mut result = States::none(all);
                for part in parts {
                    result = result.zip(&self.states(part, labels, certainly)?, |a, b| a | b);
                }
                result
            }
            Ctl::ExistsNext(inner) => {
                let inner = self.states(inner, labels, certainly)?;
                let mut result = if certainly { States::none(all) } else { self.open.clone() };
                for state in inner.iter() {
                    self.predecessors(state).iter().for_each(|before| result.insert(*before));
                }
                result
            }
            Ctl::ExistsUntil(before, reach) => self.until(before, reach, labels, certainly, |_| true)?,
            Ctl::AllUntil(before, reach) => {
                // An unknown successor never joins.
                let count =
                    |state| self.graph.successors(state).len() as u32 + u32::from(self.open.contains(state));
                let mut left: Vec<u32> = (0..all as State).map(count).collect();
                self.until(before, reach, labels, certainly, |state| {
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
        mut joins: impl FnMut(State) -> bool,
    ) -> Result<States, Stop> {
        let before = self.states(before, labels, certainly)?;
        let mut result = self.states(reach, labels, certainly)?;
        if !certainly {
            // The unknown successors may be in the result.
            let open = before.clone().zip(&self.open, |a, b| a & b);
            result = result.zip(&open, |a, b| a | b);
        }
        let mut waiting: Vec<State> = result.iter().collect();
        let mut steps = 0_u32;
        while let Some(state) = waiting.pop() {
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(0x4000) {
                self.limits.check()?;
            }
            for &previous in self.predecessors(state) {
                if joins(previous) && before.contains(previous) && !result.contains(previous) {
                    result.insert(previous);
                    waiting.push(previous);
                }
            }
        }
        Ok(result)
    }
}
