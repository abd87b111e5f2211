//! Facts about all known markings: the numbers of StateSpace and the global properties. Places and transitions are those
//! of the original net: of a coloured net each coloured place and transition counts as one.

use crate::budget::{Limits, Stop};
use crate::explore::Explored;
use crate::net::{Named, range_numbers};
use crate::store::State;
use mcc_base::state_graph::bottom_components;

/// What one pass over the known markings found.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// The largest number of tokens in a place, and a state that has it. As in the contest, of a coloured net the tokens
    /// of one colour are counted.
    pub(crate) in_place: (u128, State),
    /// A state in which a place has two tokens or more, of any colours.
    pub(crate) not_safe: Option<State>,
    /// The largest number of tokens of a marking, and a state that has it.
    pub(crate) per_marking: (u128, State),
    /// By place: a state in which it has another number of tokens than initially.
    pub(crate) changed: Vec<Option<State>>,
    /// By place: whether it has the same tokens of the same colours in all known markings.
    pub(crate) constant: Vec<bool>,
    /// By transition: a state in which it is enabled.
    pub(crate) enabled: Vec<Option<State>>,
    /// A state in which no transition is enabled.
    pub(crate) dead: Option<State>,
}

/// Makes the survey of the known markings. Of a part of the graph it is as far as the budget allows.
pub(crate) fn survey(named: &Named, graph: &Explored<'_>, limits: &Limits<'_>) -> Result<Survey, Stop> {
    let net = &named.net;
    let (group_of, original) = (range_numbers(&named.places), range_numbers(&named.transitions));
    let mut sums = vec![0_u128; named.places.len()];
    let mut initial = sums.clone();
    for (place, &count) in net.initial.iter().enumerate() {
        initial[group_of[place] as usize] += u128::from(count);
    }
    let mut found = Survey {
        changed: vec![None; named.places.len()],
        constant: vec![true; named.places.len()],
        enabled: vec![None; named.transitions.len()],
        ..Survey::default()
    };
    let mut unchanged: Vec<u32> = (0..named.places.len() as u32).collect();
    let mut same_colours = unchanged.clone();
    let mut unseen = named.transitions.len();
    let cost = 1 + net.places() as u64 / 16;
    let ended = graph.each(net, limits, cost, |state, marking| {
        sums.fill(0);
        let mut total = 0;
        for &place in &marking.marked {
            let count = u128::from(marking.tokens[place as usize]);
            total += count;
            let sum = &mut sums[group_of[place as usize] as usize];
            *sum += count;
            if *sum > 1 && found.not_safe.is_none() {
                found.not_safe = Some(state);
            }
            if count > found.in_place.0 {
                found.in_place = (count, state);
            }
        }
        if total > found.per_marking.0 {
            found.per_marking = (total, state);
        }
        same_colours.retain(|&place| {
            let range =
                named.places[place as usize].start as usize..named.places[place as usize].end as usize;
            let same = marking.tokens[range.clone()] == net.initial[range];
            found.constant[place as usize] = same;
            same
        });
        unchanged.retain(|&place| {
            let same = sums[place as usize] == initial[place as usize];
            if !same {
                found.changed[place as usize] = Some(state);
            }
            same
        });
        let mut dead = true;
        if unseen > 0 || (state as usize) >= graph.expanded() || graph.successors(state).is_empty() {
            for transition in net.enabled(marking) {
                dead = false;
                let seen = &mut found.enabled[original[transition as usize] as usize];
                unseen -= usize::from(seen.is_none());
                seen.get_or_insert(state);
                if unseen == 0 {
                    break;
                }
            }
            if dead && found.dead.is_none() {
                found.dead = Some(state);
            }
        }
    });
    if graph.is_complete() {
        ended?;
    }
    Ok(found)
}

/// Whether every transition can fire again from every reachable marking, on the complete graph. A transition is live if
/// and only if it is enabled in every bottom strongly connected component: each is reachable, and none can be left.
pub(crate) fn live(named: &Named, graph: &Explored<'_>, limits: &Limits<'_>) -> Result<bool, Stop> {
    let bytes = graph.states() as u64 * 36;
    limits.take(bytes)?;
    limits.spend(graph.states() as u64)?;
    let bottom = bottom_components(graph.states(), |state| graph.successors(state));
    limits.give_back(bytes);
    let net = &named.net;
    let mut marking = crate::store::Unpacked::new(net.places());
    // By transition: the last component in which it is enabled.
    let mut seen: Vec<Option<u32>> = vec![None; named.transitions.len()];
    let original = range_numbers(&named.transitions);
    for (number, states) in (0..).zip(&bottom) {
        let this = Some(number);
        let mut missing = seen.len();
        for &state in states {
            if missing == 0 {
                break;
            }
            limits.spend(1)?;
            graph.store.unpack(state, &mut marking);
            for transition in net.enabled(&marking) {
                let last = &mut seen[original[transition as usize] as usize];
                missing -= usize::from(std::mem::replace(last, this) != this);
            }
        }
        if missing > 0 {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::explore::explore;
    use crate::net::{Arcs, Compiled};
    use std::time::Duration;

    #[test]
    fn each_marking_in_which_a_transition_is_sought_counts_as_a_step() {
        let arcs = |from, weight, to| Arcs { inputs: vec![(from, weight)], outputs: vec![(to, weight)] };
        // Tokens move to and fro; the last transition needs more than there are.
        let net = Compiled::new(vec![99, 0], &[arcs(0, 1, 1), arcs(1, 1, 0), arcs(0, 1000, 1)]);
        let named = Named { net, transitions: (0..3).map(|one| one..one + 1).collect(), ..Named::default() };
        let limits = Limits::new(&Budget::of_time(Duration::from_secs(3600)));
        let graph = explore(&named.net, &[99, 99], &limits);
        let before = limits.left();
        assert_eq!((graph.states(), live(&named, &graph, &limits)), (100, Ok(false)));
        assert_eq!(before - limits.left(), 100 + 100);
    }
}
