//! Removes the parts of a net that no run uses: places that never have a token, and transitions that can never fire.

use crate::net::{Arcs, Compiled, Named};
use std::collections::BTreeMap;
use std::ops::Range;

/// The same net without the places that are never marked and the transitions that are never enabled, as far as the arcs alone
/// show it: a transition is never enabled if one of its input places has too few tokens initially, and no transition that may
/// be enabled adds any. The reachable markings, the firings and the sums of tokens are those of the whole net; but a proof of
/// an invariant of the smaller net is none of the whole net.
pub(crate) fn without_dead_parts(named: Named) -> Named {
    let net = &named.net;
    let transitions = net.transitions() as u32;
    // By place: whether its tokens may become more.
    let mut grows = vec![false; net.places()];
    let mut may_fire = vec![false; net.transitions()];
    let mut waiting: Vec<u32> = (0..transitions).collect();
    while let Some(transition) = waiting.pop() {
        let is_possible =
            |&(place, weight): &(u32, u64)| grows[place as usize] || net.initial[place as usize] >= weight;
        if may_fire[transition as usize] || !net.inputs(transition).iter().all(is_possible) {
            continue;
        }
        may_fire[transition as usize] = true;
        for change in net.changes(transition).iter().filter(|change| change.more > 0) {
            if !std::mem::replace(&mut grows[change.place as usize], true) {
                waiting.extend_from_slice(net.consumers(change.place));
            }
        }
    }
    let is_marked: Vec<bool> =
        grows.iter().zip(&net.initial).map(|(grows, count)| *grows || *count > 0).collect();
    if may_fire.iter().chain(&is_marked).all(|is_kept| *is_kept) {
        return named;
    }
    let (new_places, new_transitions) = (new_numbers(&is_marked), new_numbers(&may_fire));
    let arcs = |transition: u32| {
        let inputs =
            net.inputs(transition).iter().map(|(place, weight)| (new_places[*place as usize], *weight));
        let inputs: Vec<_> = inputs.collect();
        // What is not lost is put back.
        let mut outputs: BTreeMap<u32, u64> = inputs.iter().copied().collect();
        for change in net.changes(transition) {
            let tokens = outputs.entry(new_places[change.place as usize]).or_default();
            *tokens = *tokens - change.less + change.more;
        }
        Arcs { inputs, outputs: outputs.into_iter().filter(|(_, tokens)| *tokens > 0).collect() }
    };
    let kept: Vec<Arcs> =
        (0..transitions).filter(|transition| may_fire[*transition as usize]).map(arcs).collect();
    let initial =
        net.initial.iter().zip(&is_marked).filter(|(_, is_kept)| **is_kept).map(|(count, _)| *count);
    let bindings = named.bindings.iter().zip(&named.transitions).map(|(bindings, range)| {
        let size = bindings.len() / range.len().max(1);
        let kept = range.clone().enumerate().filter(|(_, transition)| may_fire[*transition as usize]);
        kept.flat_map(|(at, _)| bindings[at * size..(at + 1) * size].iter().copied()).collect()
    });
    let ranges = |ranges: &[Range<u32>], numbers: &[u32]| -> Vec<Range<u32>> {
        ranges.iter().map(|range| numbers[range.start as usize]..numbers[range.end as usize]).collect()
    };
    Named {
        net: Compiled::new(initial.collect(), &kept),
        places: ranges(&named.places, &new_places),
        transitions: ranges(&named.transitions, &new_transitions),
        bindings: bindings.collect(),
        ..named
    }
}

/// By number: the number among those that are kept; at the end how many these are.
fn new_numbers(is_kept: &[bool]) -> Vec<u32> {
    let mut kept = 0;
    let mut numbers = vec![0];
    for is_kept in is_kept {
        kept += u32::from(*is_kept);
        numbers.push(kept);
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transition_may_have_very_many_outputs() {
        // Place 0 has no token; if each output were searched among all of them, this would take minutes.
        let outputs = (1..1_000_000).map(|place| (place, 2)).collect();
        let arcs = Arcs { inputs: vec![(1, 3)], outputs };
        let mut initial = vec![0; 1_000_000];
        initial[1] = 3;
        let each = || (0..1_000_000).map(|place| place..place + 1).collect();
        let net = Compiled::new(initial, &[arcs]);
        let named =
            Named { net, places: each(), transitions: std::iter::once(0..1).collect(), ..Named::default() };
        let net = without_dead_parts(named).net;
        assert_eq!((net.places(), net.inputs(0)), (999_999, &[(0, 3)][..]));
        let changes = net.changes(0);
        assert_eq!((changes.len(), changes[0].less, changes[1].more), (999_999, 1, 2));
    }
}
