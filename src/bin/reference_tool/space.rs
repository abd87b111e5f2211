//! Explores reachable markings breadth-first or depth-first. Each marking is stored once.

use std::hash::BuildHasher;
use std::ops::ControlFlow;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use crate::net::{Compiled, Marking, TooManyTokens};

/// The number of a state, in the order of discovery; 0 is the initial marking.
pub type State = u32;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Breadth,
    Depth,
}

/// How an exploration ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// Every reachable marking was visited.
    Complete,
    /// The visitor stopped it.
    Stopped,
    /// The state budget was used up.
    Budget,
}

/// Packed markings with an index by content.
#[derive(Default)]
struct Store {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    index: HashTable<State>,
    /// Without a random seed, so that each exploration of a net executes the same instructions.
    hasher: FixedState,
}

impl Store {
    fn len(&self) -> usize {
        self.ends.len()
    }

    fn packed(&self, state: State) -> &[u8] {
        packed(&self.bytes, &self.ends, state)
    }

    /// The state of this marking, and whether it is new.
    fn insert(&mut self, marking: &[u8]) -> (State, bool) {
        let Self { bytes, ends, index, hasher } = self;
        let hash = hasher.hash_one(marking);
        if let Some(&known) = index.find(hash, |&state| packed(bytes, ends, state) == marking) {
            return (known, false);
        }
        let state = State::try_from(ends.len()).expect("2^32 markings do not fit into memory");
        bytes.extend_from_slice(marking);
        ends.push(bytes.len());
        index.insert_unique(hash, state, |&state| hasher.hash_one(packed(bytes, ends, state)));
        (state, true)
    }
}

fn packed<'a>(bytes: &'a [u8], ends: &[usize], state: State) -> &'a [u8] {
    let state = state as usize;
    let start = if state == 0 { 0 } else { ends[state - 1] };
    &bytes[start..ends[state]]
}

/// The successors of every visited state, one entry per firing.
#[derive(Default)]
pub struct Graph {
    targets: Vec<State>,
    /// Start and length of a state's part of `targets`.
    ranges: Vec<(usize, usize)>,
}

impl Graph {
    pub fn states(&self) -> usize {
        self.ranges.len()
    }

    pub fn successors(&self, state: State) -> &[State] {
        let (start, len) = self.ranges[state as usize];
        &self.targets[start..start + len]
    }

    pub fn add(&mut self, state: State, targets: &[State]) {
        let state = state as usize;
        if self.ranges.len() <= state {
            self.ranges.resize(state + 1, (0, 0));
        }
        self.ranges[state] = (self.targets.len(), targets.len());
        self.targets.extend_from_slice(targets);
    }
}

/// Calls `visit` once for each reachable marking, with its enabled transitions. `max_states` 0 is no limit. Writes the
/// successors to `graph` if it is given.
pub fn explore<E: From<TooManyTokens>>(
    net: &Compiled,
    order: Order,
    max_states: usize,
    mut graph: Option<&mut Graph>,
    mut visit: impl FnMut(State, &Marking, &[usize]) -> Result<ControlFlow<()>, E>,
) -> Result<End, E> {
    let mut store = Store::default();
    store.insert(&net.initial());
    let mut marking = Marking::new(net.places);
    let mut enabled = Vec::new();
    let mut targets = Vec::new();
    let mut waiting: Vec<State> = vec![0];
    let mut next_breadth = 0;
    loop {
        let state = match order {
            Order::Depth => waiting.pop(),
            // States are numbered by discovery: breadth-first is the order of their numbers.
            Order::Breadth => (next_breadth < store.len()).then_some(next_breadth as State),
        };
        let Some(state) = state else { return Ok(End::Complete) };
        next_breadth += 1;
        marking.unpack(store.packed(state));
        net.enabled(&marking, &mut enabled);
        if visit(state, &marking, &enabled)?.is_break() {
            return Ok(End::Stopped);
        }
        if order == Order::Depth {
            // The last waiting state is visited next: it must be that of the first transition.
            enabled.reverse();
        }
        targets.clear();
        for &transition in &enabled {
            let (target, new) = store.insert(&net.fire(&marking, transition)?);
            if new && max_states > 0 && store.len() > max_states {
                return Ok(End::Budget);
            }
            if new && order == Order::Depth {
                waiting.push(target);
            }
            targets.push(target);
        }
        if let Some(graph) = &mut graph {
            graph.add(state, &targets);
        }
    }
}
