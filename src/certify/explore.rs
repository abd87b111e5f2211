//! Breadth-first exploration of the reachable markings, with the graph of all firings.

use crate::budget::{Limits, Stop};
use crate::net::Compiled;
use crate::store::{Inserted, State, Store, Unpacked};

/// The reachable markings, or those that were found before the budget ended.
pub(crate) struct Explored<'l> {
    pub(crate) store: Store<'l>,
    limits: &'l Limits<'l>,
    /// By state: the state from which it was found; the initial state's own number for itself.
    parents: Vec<State>,
    /// The successors of state 0, then of state 1, ...; one entry per firing.
    targets: Vec<State>,
    /// By expanded state: the end of its part of `targets`.
    ends: Vec<u32>,
    /// The expanded states with a successor that has too many tokens and is missing in `targets`, in their order.
    overflowed: Vec<State>,
    /// Why it is not complete. None: all reachable markings are known.
    pub(crate) stop: Option<Stop>,
}

impl Drop for Explored<'_> {
    fn drop(&mut self) {
        let bytes = (self.parents.capacity()
            + self.targets.capacity()
            + self.ends.capacity()
            + self.overflowed.capacity())
            * 4;
        self.limits.give_back(bytes as u64);
    }
}

/// Explores from the initial marking until all markings are known or the budget ends. `largest` has counts by place
/// that are expected; others are possible.
pub(crate) fn explore<'l>(net: &Compiled, largest: &[u64], limits: &'l Limits<'l>) -> Explored<'l> {
    let store = Store::new(largest, limits);
    let (parents, targets, ends, overflowed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut explored = Explored { store, limits, parents, targets, ends, overflowed, stop: None };
    explored.stop = explored.run(net).err();
    // A state that was expanded in part is not expanded.
    let expanded = explored.ends.last().map_or(0, |end| *end as usize);
    explored.targets.truncate(expanded);
    explored
}

impl Explored<'_> {
    fn run(&mut self, net: &Compiled) -> Result<(), Stop> {
        let limits = self.limits;
        limits.reserve(&mut self.parents, 1)?;
        self.store.insert(&net.initial)?;
        self.parents.push(0);
        let mut marking = Unpacked::new(net.places());
        let mut enabled = Vec::new();
        while self.ends.len() < self.store.len() {
            let state = self.ends.len() as State;
            self.store.unpack(state, &mut marking);
            self.store.start(state);
            enabled.clear();
            enabled.extend(net.enabled(&marking));
            limits.spend(1 + enabled.len() as u64)?;
            limits.reserve(&mut self.parents, enabled.len())?;
            limits.reserve(&mut self.targets, enabled.len())?;
            for &transition in &enabled {
                let inserted = match self.store.fire(net, transition) {
                    // What the other firings reach may be enough.
                    Err(Stop::TooManyTokens) => {
                        if self.overflowed.last() != Some(&state) {
                            limits.reserve(&mut self.overflowed, 1)?;
                            self.overflowed.push(state);
                        }
                        continue;
                    }
                    inserted => inserted?,
                };
                if let Inserted::New(_) = inserted {
                    self.parents.push(state);
                }
                self.targets.push(inserted.state());
            }
            let end =
                u32::try_from(self.targets.len()).map_err(|_| Stop::TooLarge("more than 2^32 firings"))?;
            limits.reserve(&mut self.ends, 1)?;
            self.ends.push(end);
        }
        if self.overflowed.is_empty() { Ok(()) } else { Err(Stop::TooManyTokens) }
    }

    /// Forgets the successors of all states from this number on, and the states that only they have as successors.
    pub(crate) fn forget(&mut self, expanded: usize) {
        self.ends.truncate(expanded);
        self.overflowed.truncate(self.overflowed.partition_point(|state| (*state as usize) < expanded));
        self.targets.truncate(self.ends.last().map_or(0, |end| *end as usize));
        let states = self.targets.iter().max().map_or(1, |last| *last as usize + 1);
        self.parents.truncate(states);
        self.stop.get_or_insert(Stop::Time);
    }

    /// Keeps at most this number of states: those that were found first.
    pub(crate) fn keep(&mut self, states: usize) {
        if let Some(&parent) = self.parents.get(states) {
            self.forget(parent as usize);
        }
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.stop.is_none()
    }

    /// The number of states that are known.
    pub(crate) fn states(&self) -> usize {
        self.parents.len()
    }

    /// The number of states whose successors are known: those below this number, except for missing ones.
    pub(crate) fn expanded(&self) -> usize {
        self.ends.len()
    }

    /// Whether all successors of a state are known.
    pub(crate) fn has_all_successors(&self, state: State) -> bool {
        (state as usize) < self.expanded() && self.overflowed.binary_search(&state).is_err()
    }

    /// The number of firings from the expanded states.
    pub(crate) fn firings(&self) -> usize {
        self.targets.len()
    }

    /// The known successors of a state, one entry per firing; none for one that is not expanded.
    pub(crate) fn successors(&self, state: State) -> &[State] {
        let state = state as usize;
        let Some(&end) = self.ends.get(state) else { return &[] };
        let start = if state == 0 { 0 } else { self.ends[state - 1] };
        &self.targets[start as usize..end as usize]
    }

    /// Calls `visit` for each known state; `cost`: the steps for it.
    pub(crate) fn each(
        &self,
        net: &Compiled,
        limits: &Limits<'_>,
        cost: u64,
        mut visit: impl FnMut(State, &Unpacked),
    ) -> Result<(), Stop> {
        let mut marking = Unpacked::new(net.places());
        for state in 0..self.states() as State {
            limits.spend(cost)?;
            self.store.unpack(state, &mut marking);
            visit(state, &marking);
        }
        Ok(())
    }

    /// The transitions of a shortest path from the initial marking.
    pub(crate) fn path_to(&self, net: &Compiled, state: State) -> Vec<u32> {
        self.store.transitions_along(net, &path_by_parents(&self.parents, state))
    }
}

/// The states from the initial one to another one. `parents`: for each state the one from which it was found.
pub(crate) fn path_by_parents(parents: &[State], mut state: State) -> Vec<State> {
    let mut states = vec![state];
    while state != 0 {
        state = parents[state as usize];
        states.push(state);
    }
    states.reverse();
    states
}
