//! Unfolds a coloured net into a P/T net: one place for each place and colour, one transition for each transition and
//! binding whose guard is true.

use crate::budget::{Limits, Stop};
use crate::net::{Arcs, Compiled, Named};
use mcc_model::{Bag, Colour, ColouredTransition, Guard, MAX_COLOURS, SymmetricNet, Term};

/// Memory of a place, and of a transition without its arcs.
const NODE_BYTES: u64 = 64;
/// Memory of an arc with its entries in the tables.
const ARC_BYTES: u64 = 64;
/// Bindings that are tried in the time of a step.
const TRIES_PER_STEP: u64 = 16;
/// Tries after which they are taken from the budget.
const TRIES_UNSPENT: u64 = 0x1000;
/// A guard counts as one more try for this number of its terms.
const TERMS_PER_TRY: u64 = 64;

/// Unfolds a net. The memory of its tables is taken from the budget for good.
pub(crate) fn unfold(net: SymmetricNet, limits: &Limits<'_>) -> Result<Named, Stop> {
    let mut places = Vec::new();
    let mut initial = Vec::new();
    for place in &net.places {
        let start = u32::try_from(initial.len()).map_err(|_| TOO_LARGE)?;
        let colours = net.sorts[place.sort].colours;
        limits.take(colours.saturating_mul(NODE_BYTES))?;
        let end = u32::try_from(u64::from(start).saturating_add(colours)).map_err(|_| TOO_LARGE)?;
        initial.resize(end as usize, 0);
        for (&colour, &count) in &place.initial {
            initial[start as usize + colour as usize] = count;
        }
        places.push(start..end);
    }
    let (mut transitions, mut arcs, mut bindings) = (Vec::new(), Vec::new(), Vec::new());
    let mut unspent = 0;
    let mut tried = |tries: u64| {
        unspent += tries;
        if unspent < TRIES_UNSPENT {
            return Ok(());
        }
        let steps = unspent / TRIES_PER_STEP;
        unspent %= TRIES_PER_STEP;
        limits.spend(steps)
    };
    for transition in &net.transitions {
        let start = u32::try_from(arcs.len()).map_err(|_| TOO_LARGE)?;
        let mut colours = Vec::new();
        let of_guard = 1 + transition.guard.terms() / TERMS_PER_TRY;
        each_binding(&net, transition, &mut |binding, is_complete| {
            tried(of_guard)?;
            if is_complete {
                let mut side = |side: &[(usize, Bag)]| -> Result<Vec<(u32, u64)>, Stop> {
                    let mut list = Vec::new();
                    for (place, bag) in side {
                        let mut left = MAX_COLOURS;
                        let tokens = bag.evaluate_within(binding, &mut left);
                        let tokens = tokens.map_err(|_| Stop::TooLarge(NO_VALUE))?;
                        // The memory of arcs is limited, but not what is listed without becoming one.
                        tried(MAX_COLOURS - left - tokens.len() as u64)?;
                        let start = places[*place].start;
                        list.extend(tokens.into_iter().map(|(colour, count)| (start + colour as u32, count)));
                    }
                    Ok(list)
                };
                let one = Arcs { inputs: side(&transition.inputs)?, outputs: side(&transition.outputs)? };
                let count = (one.inputs.len() + one.outputs.len()) as u64;
                limits.take(NODE_BYTES + count * ARC_BYTES + binding.len() as u64 * 8)?;
                arcs.push(one);
                colours.extend_from_slice(binding);
            }
            Ok(())
        })?;
        transitions.push(start..u32::try_from(arcs.len()).map_err(|_| TOO_LARGE)?);
        bindings.push(colours);
    }
    Ok(Named {
        net: Compiled::new(initial, &arcs),
        places,
        transitions,
        place_ids: net.places.iter().map(|place| place.id.clone()).collect(),
        transition_ids: net.transitions.iter().map(|transition| transition.id.clone()).collect(),
        bindings,
        coloured: Some(net),
    })
}

const TOO_LARGE: Stop = Stop::TooLarge("the unfolded net has more than 2^32 places or transitions");
const NO_VALUE: &str = "an arc expression has no value for a binding";

/// Receives a binding, and whether it is complete.
type Found<'a> = dyn FnMut(&[Colour], bool) -> Result<(), Stop> + 'a;

/// Calls `found` with each binding whose guard is true (and `true`), and with the parts of bindings tried on the way
/// (and `false`). A part of the guard is checked as soon as its variables have colours.
fn each_binding(net: &SymmetricNet, transition: &ColouredTransition, found: &mut Found) -> Result<(), Stop> {
    let colours: Vec<u64> = transition
        .variables
        .iter()
        .map(|variable| net.sorts[net.variables[*variable].sort].colours)
        .collect();
    // By number of variables that have colours: the parts of the guard to check then.
    let mut checks: Vec<Vec<&Guard>> = vec![Vec::new(); colours.len() + 1];
    let mut parts = vec![&transition.guard];
    while let Some(part) = parts.pop() {
        match part {
            Guard::And(inner) => parts.extend(inner),
            part => checks[needed(part)].push(part),
        }
    }
    let mut binding = Vec::new();
    if !checks[0].iter().all(|guard| guard.holds(&binding)) {
        return Ok(());
    }
    if colours.is_empty() {
        return found(&binding, true);
    }
    // The last variable takes its next colour; if it has none, it is removed and the one before takes its next.
    binding.push(0);
    while let Some(&last) = binding.last() {
        let position = binding.len();
        if last == colours[position - 1] {
            binding.pop();
        } else if checks[position].iter().all(|guard| guard.holds(&binding)) {
            found(&binding, position == colours.len())?;
            if position < colours.len() {
                binding.push(0);
                continue;
            }
        } else {
            found(&binding, false)?;
        }
        if let Some(last) = binding.last_mut() {
            *last += 1;
        }
    }
    Ok(())
}

/// The number of leading variables that must have colours before a guard can be checked.
fn needed(guard: &Guard) -> usize {
    match guard {
        Guard::And(parts) | Guard::Or(parts) => parts.iter().map(needed).max().unwrap_or(0),
        Guard::Not(inner) => needed(inner),
        Guard::Compare(_, left, right) => needed_by_term(left).max(needed_by_term(right)),
    }
}

fn needed_by_term(term: &Term) -> usize {
    match term {
        Term::Constant(_) | Term::All(_) => 0,
        Term::Variable(position) => position + 1,
        Term::Successor(inner, _) | Term::Predecessor(inner, _) | Term::Class(inner, _) => {
            needed_by_term(inner)
        }
        Term::Tuple(parts) => parts.iter().map(|(part, _)| needed_by_term(part)).max().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    /// The steps of unfolding a net with one binding, whose arc lists one colour this number of times.
    fn steps(listed: usize) -> u64 {
        let text = "<pnml><net id='n' type='ptnet'><page id='g'><place id='p'/><transition id='t'/>\
                    <arc id='a' source='p' target='t'/></page></net></pnml>";
        let net = mcc_model::Net::read(text.as_bytes(), "n").unwrap();
        let mut net = SymmetricNet::from(net);
        net.transitions[0].inputs[0].1 = Bag::Add(vec![Bag::Each(Term::Constant(0)); listed]);
        let cancel = AtomicBool::new(false);
        let budget = Budget { steps: u64::MAX, time: Duration::MAX, memory_bytes: 1 << 20, cancel: &cancel };
        let limits = Limits::new(&budget);
        unfold(net, &limits).unwrap();
        u64::MAX - limits.left()
    }

    #[test]
    fn unfolding_spends_steps_for_colours_that_are_listed_repeatedly() {
        assert_eq!(steps(1000), 0);
        assert_eq!(steps(16_001), 1000);
    }
}
