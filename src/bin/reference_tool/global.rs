//! The global properties of the editions from 2020 on: OneSafe, StableMarking, QuasiLiveness and Liveness.

use crate::net::{Compiled, Marking};
use crate::space::{Graph, State};

/// A global property, with its state after the markings visited so far.
pub enum Global {
    /// No reachable marking has two tokens in a place.
    OneSafe,
    /// A place has the same number of tokens in all reachable markings; `left` are the places for which this holds so far.
    StableMarking { initial: Vec<u64>, left: Vec<usize> },
    /// Every transition can fire; `unseen` were never enabled.
    QuasiLiveness { enabled: Vec<bool>, unseen: usize },
    /// Every transition can fire again from every reachable marking.
    Liveness { transitions: usize },
}

impl Global {
    /// The property of an examination; None: it is no examination of a global property.
    pub fn for_examination(examination: &str, net: &Compiled) -> Option<Self> {
        let mut initial = Marking::new(net.places);
        initial.unpack(&net.initial());
        let transitions = net.transitions();
        match examination {
            "OneSafe" => Some(Self::OneSafe),
            "StableMarking" => {
                Some(Self::StableMarking { initial: initial.tokens, left: (0..net.places).collect() })
            }
            "QuasiLiveness" => {
                Some(Self::QuasiLiveness { enabled: vec![false; transitions], unseen: transitions })
            }
            "Liveness" => Some(Self::Liveness { transitions }),
            _ => None,
        }
    }

    /// The answer if this marking decides it.
    pub fn visit(&mut self, marking: &Marking, enabled_now: &[usize]) -> Option<bool> {
        match self {
            Self::OneSafe => marking.marked.iter().any(|&place| marking.tokens[place] > 1).then_some(false),
            Self::StableMarking { initial, left } => {
                left.retain(|&place| marking.tokens[place] == initial[place]);
                left.is_empty().then_some(false)
            }
            Self::QuasiLiveness { enabled, unseen } => {
                for &transition in enabled_now {
                    *unseen -= usize::from(!std::mem::replace(&mut enabled[transition], true));
                }
                (*unseen == 0).then_some(true)
            }
            Self::Liveness { transitions } => (enabled_now.is_empty() && *transitions > 0).then_some(false),
        }
    }

    /// The answer after the last marking if none decided it. `graph` has the successors of all markings, `enabled` the
    /// enabled transitions of each marking.
    pub fn at_end(&self, graph: &Graph, enabled: &Graph) -> bool {
        match self {
            Self::OneSafe | Self::StableMarking { .. } => true,
            Self::QuasiLiveness { .. } => false,
            Self::Liveness { transitions } => live(graph, enabled, *transitions),
        }
    }
}

/// Whether every transition is live. A transition is live if and only if it fires in every bottom component: each is
/// reachable, and none can be left.
fn live(graph: &Graph, enabled: &Graph, transitions: usize) -> bool {
    let component = components(graph);
    let mut is_bottom = vec![true; component.iter().max().map_or(0, |last| *last as usize + 1)];
    for (state, group) in component.iter().enumerate() {
        is_bottom[*group as usize] &=
            graph.successors(state).iter().all(|to| component[*to as usize] == *group);
    }
    let mut in_bottom: Vec<usize> =
        (0..graph.states()).filter(|&state| is_bottom[component[state] as usize]).collect();
    in_bottom.sort_unstable_by_key(|&state| component[state]);
    // By transition: the last component in which it is enabled.
    let mut seen = vec![None; transitions];
    in_bottom.chunk_by(|a, b| component[*a] == component[*b]).all(|states| {
        let this = Some(component[states[0]]);
        let mut count = 0;
        for &transition in states.iter().flat_map(|&state| enabled.successors(state)) {
            count += usize::from(std::mem::replace(&mut seen[transition as usize], this) != this);
        }
        count == transitions
    })
}

/// Returns the number of the strongly connected component of each state (Tarjan 1972, without recursion).
fn components(graph: &Graph) -> Vec<u32> {
    const NOT_YET: u32 = u32::MAX;
    let states = graph.states();
    let mut component = vec![NOT_YET; states];
    let mut components = 0;
    let mut order = vec![NOT_YET; states];
    let mut next = 0;
    // The smallest reachable order number of a state on the stack `open`.
    let mut low = vec![0; states];
    let mut open: Vec<State> = Vec::new();
    let mut path: Vec<(usize, usize)> = Vec::new();
    for root in 0..states {
        if order[root] != NOT_YET {
            continue;
        }
        path.push((root, 0));
        while let Some((state, edge)) = path.last_mut() {
            let state = *state;
            if *edge == 0 {
                (order[state], low[state]) = (next, next);
                next += 1;
                open.push(state as State);
            }
            let Some(&target) = graph.successors(state).get(*edge) else {
                path.pop();
                if let Some(&(before, _)) = path.last() {
                    low[before] = low[before].min(low[state]);
                }
                if low[state] == order[state] {
                    while let Some(member) = open.pop() {
                        component[member as usize] = components;
                        if member as usize == state {
                            break;
                        }
                    }
                    components += 1;
                }
                continue;
            };
            *edge += 1;
            let target = target as usize;
            if order[target] == NOT_YET {
                path.push((target, 0));
            } else if component[target] == NOT_YET {
                low[state] = low[state].min(order[target]);
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(successors: &[&[State]]) -> Graph {
        let mut graph = Graph::default();
        for (state, targets) in successors.iter().enumerate() {
            graph.add(state as State, targets);
        }
        graph
    }

    #[test]
    fn states_that_reach_each_other_are_one_component() {
        let found = components(&graph(&[&[1, 3], &[2], &[1, 4], &[3, 0], &[], &[4]]));
        assert!(found[0] == found[3] && found[1] == found[2]);
        let distinct: std::collections::BTreeSet<_> = found.iter().collect();
        assert_eq!(distinct.len(), 4, "{found:?}");
    }

    #[test]
    fn a_transition_is_live_if_it_fires_in_every_bottom_component() {
        // 0 -> 1 <-> 2 and 0 -> 3 with a loop.
        let successors = graph(&[&[1, 3], &[2], &[1], &[3, 3]]);
        assert!(live(&successors, &graph(&[&[0, 1], &[0], &[1], &[0, 1]]), 2));
        assert!(!live(&successors, &graph(&[&[0, 1], &[0], &[1], &[0, 0]]), 2), "1 never again after 3");
        assert!(!live(&successors, &graph(&[&[2, 1], &[0], &[1], &[0, 1]]), 3), "2 fires only at first");
    }
}
