//! The graphs in which the product search looks for a run: the known graph of an exploration, or one that is made while
//! it is searched.

use crate::automaton::{Automaton, MAX_PREDS};
use crate::budget::{Limits, Stop};
use crate::explore::Explored;
use crate::formula::{Pred, SIZE_OF_STEP};
use crate::net::Compiled;
use crate::product::{Found, Lasso, Search, Space};
use crate::store::{State, Store, Unpacked};

/// The transitions of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) stem: Vec<u32>,
    /// What is repeated without end; if it is empty, the stem ends in a dead marking. None: every continuation of the stem is
    /// accepted.
    pub(crate) cycle: Option<Vec<u32>>,
}

/// The known part of the graph.
pub(crate) struct Known<'a> {
    pub(crate) net: &'a Compiled,
    pub(crate) graph: &'a Explored<'a>,
    pub(crate) preds: &'a [Pred],
    pub(crate) marking: Unpacked,
}

impl Space for Known<'_> {
    fn successors(&mut self, state: State, into: &mut Vec<State>) -> Result<bool, Stop> {
        let known = self.graph.successors(state);
        into.extend_from_slice(known);
        let has_all = self.graph.has_all_successors(state);
        if !known.is_empty() {
            return Ok(has_all);
        }
        let is_dead = has_all || {
            self.graph.store.unpack(state, &mut self.marking);
            self.net.enabled(&self.marking).next().is_none()
        };
        if is_dead {
            into.push(state);
        }
        Ok(is_dead)
    }

    fn preds(&mut self, state: State) -> Result<u64, Stop> {
        self.graph.store.unpack(state, &mut self.marking);
        Ok(bits(self.net, self.preds, &self.marking.tokens))
    }
}

/// A graph whose markings are found while it is searched.
pub(crate) struct Growing<'a> {
    net: &'a Compiled,
    store: Store<'a>,
    preds: &'a [Pred],
    marking: Unpacked,
}

impl Space for Growing<'_> {
    fn successors(&mut self, state: State, into: &mut Vec<State>) -> Result<bool, Stop> {
        let Self { net, store, marking, .. } = self;
        store.unpack(state, marking);
        store.start(state);
        let before = into.len();
        let mut has_all = true;
        for transition in net.enabled(marking) {
            match store.fire(net, transition) {
                Err(Stop::TooManyTokens) => has_all = false,
                inserted => into.push(inserted?.state()),
            }
        }
        if has_all && into.len() == before {
            into.push(state);
        }
        Ok(has_all)
    }

    fn preds(&mut self, state: State) -> Result<u64, Stop> {
        self.store.unpack(state, &mut self.marking);
        Ok(bits(self.net, self.preds, &self.marking.tokens))
    }
}

/// The steps for a pair of the product.
fn cost(net: &Compiled, preds: &[Pred]) -> u64 {
    1 + (net.places() as u64 + preds.iter().map(|pred| pred.size(net)).sum::<u64>()) / SIZE_OF_STEP
}

/// Reads the time and the cancellation, because the edges of an automaton may have taken seconds without a step.
fn look(limits: &Limits<'_>) -> Result<(), Stop> {
    if limits.is_over() { limits.check() } else { Ok(()) }
}

/// The truth of the predicates that an automaton may have, by bit. A formula from which constants were left out may have some
/// predicates after these that it does not use.
pub(crate) fn bits(net: &Compiled, preds: &[Pred], tokens: &[u64]) -> u64 {
    (0..)
        .zip(preds.iter().take(MAX_PREDS))
        .fold(0, |bits, (number, pred): (u32, _)| bits | u64::from(pred.holds(net, tokens)) << number)
}

/// Whether the known graph has a run that the automaton accepts, and such a run. None: unknown.
pub(crate) fn search_known(
    net: &Compiled,
    graph: &Explored<'_>,
    preds: &[Pred],
    automaton: &mut Automaton,
    limits: &Limits<'_>,
) -> Result<Option<Option<Run>>, Stop> {
    look(limits)?;
    let mut space = Known { net, graph, preds, marking: Unpacked::new(net.places()) };
    let found = Search::new(&mut space, automaton, limits, 0, cost(net, preds)).run()?;
    Ok(match found {
        Found::Nothing => Some(None),
        Found::Unknown => None,
        Found::Run(lasso) => {
            // A shortest path replaces that of the depth-first search; the automaton may take another way on it.
            Some(Some(run(net, &graph.store, &lasso)))
        }
    })
}

/// The same for a graph that is made while it is searched; `seed` chooses the order. Returns the number of its states.
pub(crate) fn search_growing(
    net: &Compiled,
    largest: &[u64],
    preds: &[Pred],
    automaton: &mut Automaton,
    seed: u64,
    limits: &Limits<'_>,
) -> Result<(Option<Run>, usize), Stop> {
    look(limits)?;
    let mut store = Store::new(largest, limits);
    store.insert(&net.initial)?;
    let mut space = Growing { net, store, preds, marking: Unpacked::new(net.places()) };
    let found = Search::new(&mut space, automaton, limits, seed, cost(net, preds)).run()?;
    let states = space.store.len();
    match found {
        Found::Nothing => Ok((None, states)),
        Found::Unknown => Err(Stop::TooManyTokens),
        Found::Run(lasso) => Ok((Some(run(net, &space.store, &lasso)), states)),
    }
}

/// The transitions of a lasso. The repetition of a dead marking has none.
fn run(net: &Compiled, store: &Store<'_>, lasso: &Lasso) -> Run {
    let along = |states: &Vec<State>| store.transitions_along(net, states);
    Run { stem: along(&lasso.stem), cycle: lasso.cycle.as_ref().map(along) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::formula::Ltl;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    #[test]
    fn predicates_that_no_automaton_has_change_no_bit() {
        let mut preds = vec![Pred::True.not(); MAX_PREDS];
        preds[63] = Pred::True;
        preds.resize(130, Pred::True);
        assert_eq!(bits(&Compiled::default(), &preds, &[]), 1 << 63);
    }

    #[test]
    fn a_search_does_not_begin_after_the_cancellation() {
        let cancel = AtomicBool::new(false);
        let budget = Budget { cancel: &cancel, ..Budget::of_time(Duration::from_secs(3600)) };
        let limits = Limits::new(&budget);
        let net = Compiled::new(vec![1], &[]);
        let search = || {
            let mut automaton = Automaton::new(&Ltl::Next(Box::new(Ltl::Pred(0, true)))).unwrap();
            search_growing(&net, &[1], &[Pred::True], &mut automaton, 0, &limits)
        };
        assert!(search().is_ok());
        cancel.store(true, Ordering::Relaxed);
        assert_eq!(search().err(), Some(Stop::Cancelled));
    }
}
