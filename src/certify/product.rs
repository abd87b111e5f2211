//! Searches a run of a graph that an automaton accepts: the emptiness check of Couvreur (On-the-fly Verification of Linear
//! Temporal Logic, FM 1999) without recursion. A dead marking is repeated without end, as in the tools of the contest.

use crate::automaton::Automaton;
use crate::budget::{Limits, Stop};
use crate::store::State;
use hashbrown::HashMap;
use std::collections::VecDeque;

/// A graph of markings that may grow while it is searched.
pub(crate) trait Space {
    /// Adds the successors of a state to `into`; a dead state has itself as successor. Returns false if the successors
    /// are not all known.
    fn successors(&mut self, state: State, into: &mut Vec<State>) -> Result<bool, Stop>;

    /// The predicates that are true in a state, by bit.
    fn preds(&mut self, state: State) -> Result<u64, Stop>;
}

/// A run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lasso {
    /// From the initial state.
    pub(crate) stem: Vec<State>,
    /// What is repeated without end; it begins with the last state of `stem` and ends with it. None: the stem alone decides,
    /// whatever follows it.
    pub(crate) cycle: Option<Vec<State>>,
}

/// What a search found.
#[derive(Debug)]
pub(crate) enum Found {
    /// No run is accepted.
    Nothing,
    /// An accepted run.
    Run(Lasso),
    /// No run is accepted in the known part of the graph.
    Unknown,
}

/// A state of the graph with one of the automaton.
type Pair = (State, u32);

/// A step of the product: the acceptance sets of the automaton's edge, and the next pair.
type Step = (u64, Pair);

struct Frame {
    pair: Pair,
    steps: Vec<Step>,
    /// The number of steps taken.
    taken: usize,
}

/// The root of a component on the search path.
struct Root {
    order: u32,
    /// The acceptance sets of the edges inside the component.
    inside: u64,
    /// Those of the edge into the component.
    into: u64,
}

/// The order of a pair whose component has no accepted run.
const REMOVED: u32 = u32::MAX;

/// The memory of a pair: its entry in the table, its frame or place in the list of open pairs.
const BYTES: u64 = 48;

fn steps_bytes(steps: &[Step]) -> u64 {
    size_of_val(steps) as u64
}

/// A search in the product of a graph and an automaton.
pub(crate) struct Search<'s, S> {
    space: &'s mut S,
    automaton: &'s mut Automaton,
    limits: &'s Limits<'s>,
    orders: HashMap<Pair, u32>,
    successors: Vec<State>,
    complete: bool,
    /// Whether nothing is left to satisfy after the last pair.
    decided: bool,
    /// 0: successors in their order; otherwise the seed of a random order.
    seed: u64,
    /// The steps for a pair, in addition to one for each of its successors.
    cost: u64,
    taken: u64,
}

impl<S> Drop for Search<'_, S> {
    fn drop(&mut self) {
        self.limits.give_back(self.taken);
    }
}

impl<'s, S: Space> Search<'s, S> {
    pub(crate) fn new(
        space: &'s mut S,
        automaton: &'s mut Automaton,
        limits: &'s Limits<'s>,
        seed: u64,
        cost: u64,
    ) -> Self {
        let (orders, successors) = (HashMap::new(), Vec::new());
        Self {
            space,
            automaton,
            limits,
            orders,
            successors,
            complete: true,
            decided: false,
            seed,
            cost,
            taken: 0,
        }
    }

    /// Searches an accepted run from the initial state.
    pub(crate) fn run(&mut self) -> Result<Found, Stop> {
        let all = self.automaton.all_sets();
        let mut roots: Vec<Root> = Vec::new();
        let mut frames: Vec<Frame> = Vec::new();
        // The pairs of the components on the path, in the order of discovery.
        let mut open: Vec<Pair> = Vec::new();
        let mut entered = Some((0, (0, 0)));
        let mut count = 0_u32;
        loop {
            if let Some((into, pair)) = entered.take() {
                let steps = self.steps(pair)?;
                self.limits.spend(self.cost + steps.len() as u64)?;
                if self.decided {
                    let stem = frames.iter().map(|frame| frame.pair.0).chain([pair.0]).collect();
                    return Ok(Found::Run(Lasso { stem, cycle: None }));
                }
                let bytes = BYTES + steps_bytes(&steps);
                self.limits.take(bytes)?;
                self.taken += bytes;
                self.orders.insert(pair, count);
                roots.push(Root { order: count, inside: 0, into });
                count = count.checked_add(1).ok_or(Stop::TooLarge("more than 2^32 pairs"))?;
                frames.push(Frame { pair, steps, taken: 0 });
                open.push(pair);
            }
            let Some(frame) = frames.last_mut() else {
                return Ok(if self.complete { Found::Nothing } else { Found::Unknown });
            };
            let Some(&(accepts, to)) = frame.steps.get(frame.taken) else {
                let (pair, bytes) = (frame.pair, steps_bytes(&frame.steps));
                self.limits.give_back(bytes);
                self.taken -= bytes;
                frames.pop();
                let order = self.orders[&pair];
                if roots.last().is_some_and(|root| root.order == order) {
                    roots.pop();
                    while let Some(member) = open.pop() {
                        self.orders.insert(member, REMOVED);
                        if member == pair {
                            break;
                        }
                    }
                }
                continue;
            };
            frame.taken += 1;
            match self.orders.get(&to) {
                None => entered = Some((accepts, to)),
                Some(&REMOVED) => {}
                Some(&order) => {
                    let mut inside = accepts;
                    while let Some(root) = roots.pop_if(|root| root.order > order) {
                        inside |= root.inside | root.into;
                    }
                    let Some(root) = roots.last_mut() else { return Ok(Found::Unknown) };
                    root.inside |= inside;
                    if root.inside == all {
                        let root = root.order;
                        let path: Vec<Pair> = frames.iter().map(|frame| frame.pair).collect();
                        return Ok(Found::Run(self.lasso(&path, root, all)?));
                    }
                }
            }
        }
    }

    fn steps(&mut self, (state, automaton_state): Pair) -> Result<Vec<Step>, Stop> {
        let preds = self.space.preds(state)?;
        let edges: Vec<(u64, u32)> = self
            .automaton
            .edges(automaton_state)?
            .iter()
            .filter(|edge| edge.allows(preds))
            .map(|edge| (edge.accepts, edge.to))
            .collect();
        let mut steps = Vec::new();
        self.decided |= edges.iter().any(|(_, to)| self.automaton.accepts_all(*to));
        if self.decided || edges.is_empty() {
            return Ok(steps);
        }
        self.successors.clear();
        self.complete &= self.space.successors(state, &mut self.successors)?;
        self.successors.sort_unstable();
        self.successors.dedup();
        // Taken before the steps exist. Sorting them in random order makes a copy.
        let copies = if self.seed == 0 { 1 } else { 2 };
        let bytes = (edges.len() * self.successors.len() * copies * size_of::<Step>()) as u64;
        self.limits.take(bytes)?;
        self.limits.give_back(bytes);
        steps.reserve_exact(edges.len() * self.successors.len());
        for &next in &self.successors {
            steps.extend(edges.iter().map(|&(accepts, to)| (accepts, (next, to))));
        }
        if self.seed != 0 {
            let random = |step: &Step| {
                let mixed = u64::from(step.1.0) << 32 | u64::from(step.1.1);
                (mixed ^ self.seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32)
            };
            steps.sort_by_cached_key(random);
        }
        Ok(steps)
    }

    /// A run of the component of the root with this order, which has edges of all acceptance sets. `path` is the path
    /// of the search.
    fn lasso(&mut self, path: &[Pair], root: u32, all: u64) -> Result<Lasso, Stop> {
        let at = path.iter().position(|pair| self.orders[pair] == root).unwrap_or_default();
        let stem: Vec<State> = path[..=at].iter().map(|pair| pair.0).collect();
        let start = path[at];
        let mut cycle = vec![start.0];
        let (mut here, mut missing) = (start, all);
        // To an edge of a missing set until none is missing, then back to the start, by at least one step.
        loop {
            let wanted =
                |accepts: u64, to: Pair| if missing == 0 { to == start } else { accepts & missing != 0 };
            let steps = self.shortest(here, root, wanted)?;
            for (accepts, pair) in steps {
                missing &= !accepts;
                cycle.push(pair.0);
                here = pair;
            }
            if missing == 0 && here == start && cycle.len() > 1 {
                return Ok(Lasso { stem, cycle: Some(cycle) });
            }
        }
    }

    /// The shortest steps from a pair inside a component, so that the last one is wanted.
    fn shortest(
        &mut self,
        from: Pair,
        root: u32,
        wanted: impl Fn(u64, Pair) -> bool,
    ) -> Result<Vec<Step>, Stop> {
        let mut before: HashMap<Pair, (Pair, Step)> = HashMap::new();
        let found = self.shortest_by(from, root, wanted, &mut before);
        let bytes = BYTES * before.len() as u64;
        self.limits.give_back(bytes);
        self.taken -= bytes;
        found
    }

    /// The same; `before` has for each pair that is found the pair and the step before it.
    fn shortest_by(
        &mut self,
        from: Pair,
        root: u32,
        wanted: impl Fn(u64, Pair) -> bool,
        before: &mut HashMap<Pair, (Pair, Step)>,
    ) -> Result<Vec<Step>, Stop> {
        let mut waiting = VecDeque::from([from]);
        while let Some(pair) = waiting.pop_front() {
            self.limits.spend(self.cost)?;
            let steps = self.steps(pair)?;
            // The steps were counted when the pair was entered; this only makes the clock be read.
            self.limits.spend(steps.len() as u64 / 64)?;
            for step in steps {
                let (accepts, to) = step;
                if !self.orders.get(&to).is_some_and(|order| *order >= root && *order != REMOVED) {
                    continue;
                }
                if wanted(accepts, to) {
                    let mut steps = vec![step];
                    let mut at = pair;
                    while at != from {
                        let (previous, step) = before[&at];
                        steps.push(step);
                        at = previous;
                    }
                    steps.reverse();
                    return Ok(steps);
                }
                if to != from && !before.contains_key(&to) {
                    self.limits.take(BYTES)?;
                    self.taken += BYTES;
                    before.insert(to, (pair, step));
                    waiting.push_back(to);
                }
            }
        }
        Err(Stop::TooLarge("a component of the product has no accepting cycle"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::formula::Ltl;
    use std::time::Duration;

    /// By state: its successors.
    struct Graph(Vec<Vec<State>>);

    impl Space for Graph {
        fn successors(&mut self, state: State, into: &mut Vec<State>) -> Result<bool, Stop> {
            into.extend(&self.0[state as usize]);
            Ok(true)
        }

        fn preds(&mut self, _: State) -> Result<u64, Stop> {
            Ok(0)
        }
    }

    fn limits(memory_bytes: u64) -> Limits<'static> {
        Limits::new(&Budget { memory_bytes, ..Budget::of_time(Duration::from_secs(3600)) })
    }

    #[test]
    fn steps_that_need_more_than_the_memory_are_not_made() {
        let mut graph = Graph(vec![(1..=1000).collect()]);
        let next = |number| Ltl::Next(Box::new(Ltl::Pred(number, true)));
        let mut automaton = Automaton::new(&Ltl::Or((0..10).map(next).collect())).unwrap();
        let mut steps = |memory, seed| {
            let limits = limits(memory);
            let mut search = Search::new(&mut graph, &mut automaton, &limits, seed, 1);
            search.steps((0, 0)).map(|steps| steps.len())
        };
        assert_eq!(steps(159_999, 0), Err(Stop::Memory));
        assert_eq!(steps(160_000, 0), Ok(10_000));
        assert_eq!(steps(160_000, 1), Err(Stop::Memory));
    }

    #[test]
    fn the_pairs_of_a_search_for_a_cycle_are_taken_from_the_memory() {
        let ring = 1000;
        let mut graph = Graph((0..ring).map(|state| vec![(state + 1) % ring]).collect());
        let infinitely_often = Ltl::Until(Box::new(Ltl::True), Box::new(Ltl::Pred(0, false)));
        let formula = Ltl::Release(Box::new(Ltl::False), Box::new(infinitely_often));
        let mut automaton = Automaton::new(&formula).unwrap();
        let mut length = |memory| {
            let limits = limits(memory);
            let mut search = Search::new(&mut graph, &mut automaton, &limits, 0, 1);
            let pairs = (0..ring).flat_map(|state| (0..8).map(move |other| ((state, other), 0)));
            search.orders.extend(pairs);
            let found = search.shortest((0, 0), 0, |_, to| to.0 == 0).map(|steps| steps.len());
            assert_eq!(search.taken, 0);
            found
        };
        assert_eq!(length(40_000), Err(Stop::Memory));
        assert_eq!(length(1_000_000), Ok(1000));
    }
}
