//! The net, prepared for exploration: markings are short byte strings, and transitions are found by a marked input place.

use mcc_model::{Arc, Net, Transition};
use std::collections::BTreeMap;

/// A firing would put 2^64 tokens or more into a place.
#[derive(Debug, thiserror::Error)]
#[error("transition {transition} would put 2^64 tokens or more into a place: this tool cannot count them")]
pub struct TooManyTokens {
    transition: String,
}

pub struct Compiled {
    pub places: usize,
    /// Marked places in ascending order, with their tokens.
    initial: Vec<(usize, u64)>,
    steps: Vec<Step>,
    /// By place: transitions to test if the place is marked. Each transition is listed for one of its input places.
    by_input: Vec<Vec<usize>>,
    /// Transitions without inputs, which are always enabled.
    sources: Vec<usize>,
}

struct Step {
    id: String,
    inputs: Vec<Arc>,
    /// Places whose tokens change, ascending.
    effect: Vec<Effect>,
}

struct Effect {
    place: usize,
    consumed: u64,
    produced: u64,
}

/// A marking unpacked: tokens per place, and the marked places in ascending order.
pub struct Marking {
    pub tokens: Vec<u64>,
    pub marked: Vec<usize>,
}

impl Compiled {
    pub fn new(net: &Net) -> Self {
        let mut users = vec![0_usize; net.places.len()];
        for arc in net.transitions.iter().flat_map(|transition| &transition.inputs) {
            users[arc.place] += 1;
        }
        let mut by_input = vec![Vec::new(); net.places.len()];
        let mut sources = Vec::new();
        let mut steps = Vec::new();
        for (number, transition) in net.transitions.iter().enumerate() {
            let mut inputs = transition.inputs.clone();
            inputs.sort_unstable_by_key(|arc| arc.place);
            match inputs.iter().min_by_key(|arc| users[arc.place]) {
                Some(arc) => by_input[arc.place].push(number),
                None => sources.push(number),
            }
            steps.push(Step { id: transition.id.clone(), inputs, effect: effect(transition) });
        }
        let initial = (net.places.iter().enumerate())
            .filter(|(_, place)| place.initial > 0)
            .map(|(number, place)| (number, place.initial))
            .collect();
        Self { places: net.places.len(), initial, steps, by_input, sources }
    }

    pub fn transitions(&self) -> usize {
        self.steps.len()
    }

    pub fn initial(&self) -> Vec<u8> {
        let mut packer = Packer::default();
        for &(place, tokens) in &self.initial {
            packer.put(place, tokens);
        }
        packer.bytes
    }

    /// Writes the numbers of the transitions that are enabled in `marking` to `enabled`.
    pub fn enabled(&self, marking: &Marking, enabled: &mut Vec<usize>) {
        enabled.clear();
        enabled.extend(&self.sources);
        for &place in &marking.marked {
            enabled.extend(self.by_input[place].iter().copied().filter(|&transition| {
                self.steps[transition].inputs.iter().all(|arc| marking.tokens[arc.place] >= arc.weight)
            }));
        }
    }

    /// Returns the packed marking after the firing of an enabled transition.
    pub fn fire(&self, marking: &Marking, transition: usize) -> Result<Vec<u8>, TooManyTokens> {
        let step = &self.steps[transition];
        let mut packer = Packer::default();
        let mut effects = step.effect.iter().peekable();
        for &place in &marking.marked {
            while let Some(effect) = effects.next_if(|effect| effect.place < place) {
                packer.put(effect.place, effect.produced);
            }
            let mut tokens = marking.tokens[place];
            if let Some(effect) = effects.next_if(|effect| effect.place == place) {
                tokens = (tokens - effect.consumed)
                    .checked_add(effect.produced)
                    .ok_or_else(|| TooManyTokens { transition: step.id.clone() })?;
            }
            packer.put(place, tokens);
        }
        for effect in effects {
            packer.put(effect.place, effect.produced);
        }
        Ok(packer.bytes)
    }
}

fn effect(transition: &Transition) -> Vec<Effect> {
    let mut by_place: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    for arc in &transition.inputs {
        by_place.entry(arc.place).or_default().0 = arc.weight;
    }
    for arc in &transition.outputs {
        by_place.entry(arc.place).or_default().1 = arc.weight;
    }
    by_place
        .into_iter()
        .filter(|(_, (consumed, produced))| consumed != produced)
        .map(|(place, (consumed, produced))| Effect { place, consumed, produced })
        .collect()
}

/// Writes marked places in ascending order: the distance from the last marked place, doubled, plus 1 if a number of
/// tokens follows. One token in a near place, the common case in contest nets, takes one byte.
#[derive(Default)]
struct Packer {
    bytes: Vec<u8>,
    next_place: usize,
}

impl Packer {
    fn put(&mut self, place: usize, tokens: u64) {
        if tokens == 0 {
            return;
        }
        let distance = (place - self.next_place) as u64;
        self.varint(distance << 1 | u64::from(tokens > 1));
        if tokens > 1 {
            self.varint(tokens);
        }
        self.next_place = place + 1;
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

impl Marking {
    pub fn new(places: usize) -> Self {
        Self { tokens: vec![0; places], marked: Vec::new() }
    }

    /// Replaces this marking by the packed one.
    pub fn unpack(&mut self, packed: &[u8]) {
        for place in self.marked.drain(..) {
            self.tokens[place] = 0;
        }
        let mut rest = packed.iter();
        let mut place = 0;
        while !rest.as_slice().is_empty() {
            let head = varint(&mut rest);
            place += (head >> 1) as usize;
            self.tokens[place] = if head & 1 == 1 { varint(&mut rest) } else { 1 };
            self.marked.push(place);
            place += 1;
        }
    }

    pub fn sum(&self, places: &[usize]) -> u128 {
        places.iter().map(|place| u128::from(self.tokens[*place])).sum()
    }
}

fn varint(bytes: &mut std::slice::Iter<u8>) -> u64 {
    let mut value = 0;
    for (group, byte) in bytes.by_ref().enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * group);
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_packed_marking_unpacks_to_the_same_tokens(
            tokens in prop::collection::vec(prop_oneof![4 => Just(0), 4 => Just(1), 1 => any::<u64>()], 2..300),
        ) {
            let mut packer = Packer::default();
            for (place, &tokens) in tokens.iter().enumerate() {
                packer.put(place, tokens);
            }
            let mut marking = Marking::new(tokens.len());
            marking.unpack(&[0x03, 0x05]);
            marking.unpack(&packer.bytes);
            prop_assert_eq!(&marking.tokens, &tokens);
            let marked: Vec<_> = (0..tokens.len()).filter(|&place| tokens[place] > 0).collect();
            prop_assert_eq!(&marking.marked, &marked);
        }
    }
}
