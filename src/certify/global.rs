//! Facts about all known markings: the numbers of StateSpace and the global properties. Places and transitions are those
//! of the original net: of a coloured net each coloured place and transition counts as one.

use crate::budget::{Limits, Stop};
use crate::explore::Explored;
use crate::net::{Named, range_numbers};
use crate::store::State;

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
    let ended = graph.each(net, limits, |state, marking| {
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
    let component = components(graph, limits)?;
    let count = component.iter().max().map_or(0, |last| *last as usize + 1);
    let mut is_bottom = vec![true; count];
    for (state, own) in (0..).zip(&component) {
        is_bottom[*own as usize] &= graph.successors(state).iter().all(|to| component[*to as usize] == *own);
    }
    let mut members: Vec<State> = (0..graph.states() as State).collect();
    members.retain(|state| is_bottom[component[*state as usize] as usize]);
    members.sort_by_key(|state| component[*state as usize]);
    let net = &named.net;
    let mut marking = crate::store::Unpacked::new(net.places());
    // By transition: the last component in which it is enabled.
    let mut seen: Vec<Option<u32>> = vec![None; named.transitions.len()];
    let original = range_numbers(&named.transitions);
    for states in members.chunk_by(|a, b| component[*a as usize] == component[*b as usize]) {
        limits.check()?;
        let this = Some(component[states[0] as usize]);
        let mut missing = seen.len();
        for &state in states {
            if missing == 0 {
                break;
            }
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

/// The number of the strongly connected component of each state (Tarjan: Depth-First Search and Linear Graph
/// Algorithms, 1972, without recursion).
fn components(graph: &Explored<'_>, limits: &Limits<'_>) -> Result<Vec<u32>, Stop> {
    const NOT_YET: u32 = u32::MAX;
    let states = graph.states();
    limits.take(states as u64 * 28)?;
    let mut component = vec![NOT_YET; states];
    let mut order = vec![NOT_YET; states];
    // The smallest order of a state on the stack `open` that is known to be reachable.
    let mut low = vec![0; states];
    let (mut next, mut components) = (0, 0);
    let mut open: Vec<State> = Vec::new();
    // All states are reachable from the initial one.
    let mut path: Vec<(State, u32)> = vec![(0, 0)];
    while let Some(&mut (state, ref mut edge)) = path.last_mut() {
        let at = state as usize;
        if *edge == 0 && order[at] == NOT_YET {
            (order[at], low[at]) = (next, next);
            next += 1;
            open.push(state);
        }
        if let Some(&target) = graph.successors(state).get(*edge as usize) {
            *edge += 1;
            if order[target as usize] == NOT_YET {
                path.push((target, 0));
            } else if component[target as usize] == NOT_YET {
                low[at] = low[at].min(order[target as usize]);
            }
            continue;
        }
        path.pop();
        if let Some(&(before, _)) = path.last() {
            low[before as usize] = low[before as usize].min(low[at]);
        }
        if low[at] == order[at] {
            while let Some(member) = open.pop() {
                component[member as usize] = components;
                if member == state {
                    break;
                }
            }
            components += 1;
        }
    }
    limits.give_back(states as u64 * 28);
    Ok(component)
}
