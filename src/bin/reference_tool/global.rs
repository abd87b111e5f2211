//! The global properties of the editions from 2020 on: OneSafe, StableMarking, QuasiLiveness and Liveness.

use crate::net::{Compiled, Marking};
use crate::space::{Graph, State};
use mcc_base::state_graph::bottom_components;

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
    /// The property of an examination; None: the examination has another kind of question.
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
    // By transition: the last component in which it is enabled.
    let mut seen = vec![None; transitions];
    let bottom = bottom_components(graph.states(), |state| graph.successors(state));
    bottom.into_iter().enumerate().all(|(number, states)| {
        let enabled = states.iter().flat_map(|state| enabled.successors(*state));
        let is_new = |transition: &&State| seen[**transition as usize].replace(number) != Some(number);
        enabled.filter(is_new).count() == transitions
    })
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
    fn a_transition_is_live_if_it_fires_in_every_bottom_component() {
        // 0 -> 1 <-> 2 and 0 -> 3 with a loop.
        let successors = graph(&[&[1, 3], &[2], &[1], &[3, 3]]);
        assert!(live(&successors, &graph(&[&[0, 1], &[0], &[1], &[0, 1]]), 2));
        assert!(!live(&successors, &graph(&[&[0, 1], &[0], &[1], &[0, 0]]), 2), "1 never again after 3");
        assert!(!live(&successors, &graph(&[&[2, 1], &[0], &[1], &[0, 1]]), 3), "2 fires only at first");
    }
}
