//! Proofs that each siphon has a marked trap, by linear programs over vectors of 0 and 1.

use crate::proof::{Fact, Tree};
use crate::proof_lp::{Linear, MAX_CONDITION_NUMBERS, Structure};
use num_bigint::BigInt;
use std::collections::HashSet;
use std::time::Instant;

/// Most cases of a proof, and most traps.
const MAX_NODES: usize = 2000;
const MAX_TRAPS: usize = 200;

/// Proves liveness, or the absence of deadlocks: the traps and the proof, as in the checker's format.
pub(crate) fn prove(structure: &Structure, live: bool, until: Instant) -> Option<(Vec<Fact>, Tree)> {
    let places = structure.initial.len() as u32;
    let takes_one = structure.inputs.iter().flatten().all(|(_, count)| *count == 1);
    if !takes_one || live && !is_asymmetric_choice(structure) {
        return None;
    }
    let mut conditions = siphons(structure, live)?;
    // Vectors without a restriction but that they are not negative.
    let free = Structure {
        initial: vec![0; places as usize],
        inputs: Vec::new(),
        outputs: Vec::new(),
        effects: (0..places).map(|place| vec![(place, 1)]).collect(),
    };
    let mut traps = Vec::new();
    while traps.len() < MAX_TRAPS {
        match search(&free, &mut conditions, &mut 0, until)? {
            Found::Proof(tree) => return Some((traps, tree)),
            Found::Siphon(inside) => {
                let trap = structure.largest_trap(inside);
                if !trap.iter().any(|place| structure.initial[*place as usize] > 0) {
                    return None;
                }
                let outside = 1 - trap.len() as i128;
                conditions.push(Linear::new(trap.iter().map(|place| (*place, -1)), outside));
                traps.push(Fact::Trap(trap));
            }
        }
    }
    None
}

/// The conditions of a siphon. None: they are too many, as each output of a transition may need all inputs.
fn siphons(structure: &Structure, live: bool) -> Option<Vec<Linear>> {
    let arcs = structure.inputs.iter().zip(&structure.outputs);
    if live
        && arcs.map(|(inputs, outputs)| (inputs.len() + 1) * outputs.len()).sum::<usize>()
            > MAX_CONDITION_NUMBERS
    {
        return None;
    }
    let places = structure.initial.len() as u32;
    let mut conditions: Vec<Linear> = (0..places).map(|place| Linear::new([(place, -1)], -1)).collect();
    if live {
        conditions.push(Linear::new((0..places).map(|place| (place, 1)), 1));
    }
    for (inputs, outputs) in structure.inputs.iter().zip(&structure.outputs) {
        let inputs = || inputs.iter().map(|(place, _)| (*place, 1));
        if live {
            let mut outputs = outputs.clone();
            outputs.sort_unstable();
            conditions
                .extend(outputs.into_iter().map(|output| Linear::new(inputs().chain([(output, -1)]), 0)));
        } else {
            conditions.push(Linear::new(inputs(), 1));
        }
    }
    Some(conditions)
}

enum Found {
    Proof(Tree),
    Siphon(Vec<bool>),
}

fn search(
    free: &Structure,
    conditions: &mut Vec<Linear>,
    nodes: &mut usize,
    until: Instant,
) -> Option<Found> {
    *nodes += 1;
    if *nodes > MAX_NODES {
        return None;
    }
    if let Some(refutation) = free.refute(conditions, until) {
        let factors = refutation.multipliers.into_iter().enumerate();
        let used = factors.filter(|(_, factor)| *factor != BigInt::ZERO).collect();
        return Some(Found::Proof(Tree::Contradiction(Vec::new(), used)));
    }
    let values = free.solution(conditions, until)?.tokens;
    let fraction = |value: &f64| (value - value.round()).abs();
    let most = (0..values.len()).max_by(|a, b| fraction(&values[*a]).total_cmp(&fraction(&values[*b])))?;
    if fraction(&values[most]) < 1e-6 {
        return Some(Found::Siphon(values.iter().map(|value| *value > 0.5).collect()));
    }
    let place = most as u32;
    let mut proofs = Vec::new();
    let empty = Linear::new([(place, -1)], 0);
    for case in [empty.clone(), empty.negated()] {
        conditions.push(case);
        let found = search(free, conditions, nodes, until);
        conditions.pop();
        match found? {
            Found::Proof(tree) => proofs.push(tree),
            siphon => return Some(siphon),
        }
    }
    let high = proofs.pop()?;
    Some(Found::Proof(Tree::Split(empty, Box::new(proofs.pop()?), Box::new(high))))
}

/// Of two places with a common output transition, one has all output transitions of the other.
fn is_asymmetric_choice(structure: &Structure) -> bool {
    let mut outputs: Vec<Vec<usize>> = vec![Vec::new(); structure.initial.len()];
    for (number, inputs) in structure.inputs.iter().enumerate() {
        inputs.iter().for_each(|(place, _)| outputs[*place as usize].push(number));
    }
    // Many transitions can have the same two input places.
    let mut compared = HashSet::new();
    structure.inputs.iter().all(|inputs| {
        let mut places: Vec<usize> = inputs.iter().map(|(place, _)| *place as usize).collect();
        places.sort_by_key(|place| (outputs[*place].len(), *place));
        places.windows(2).all(|pair| {
            let [few, many] = [&outputs[pair[0]], &outputs[pair[1]]];
            !compared.insert((pair[0], pair[1]))
                || few.iter().all(|output| many.binary_search(output).is_ok())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transition_with_too_many_inputs_and_outputs_is_left_out() {
        let net = |places: u32| Structure {
            initial: vec![1; places as usize],
            inputs: vec![(0..places).map(|place| (place, 1)).collect()],
            outputs: vec![(0..places).collect()],
            effects: vec![Vec::new()],
        };
        assert!(siphons(&net(10), true).is_some());
        assert!(siphons(&net(2300), false).is_some());
        assert_eq!(siphons(&net(2300), true), None);
    }
}
