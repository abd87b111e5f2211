//! Removes the parts of a net that no run uses: places that never have a token, and transitions that can never fire.

use crate::net::{Arcs, Compiled, Named};
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
        let mut outputs = inputs.clone();
        for change in net.changes(transition) {
            let place = new_places[change.place as usize];
            match outputs.iter_mut().find(|output| output.0 == place) {
                Some(output) => output.1 = output.1 - change.less + change.more,
                None => outputs.push((place, change.more)),
            }
        }
        outputs.retain(|output| output.1 > 0);
        Arcs { inputs, outputs }
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
