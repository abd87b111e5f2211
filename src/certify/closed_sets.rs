//! Over-approximations: the markings of some places that are reachable if all other places are ignored. Places are added as
//! long as a run there, which the net does not have, leads to the condition (Clarke et al., *Counterexample-guided abstraction
//! refinement*, 2000).

use crate::net::{Compiled, Marking};
use crate::proof::{Condition, Fact};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Instant;

/// Most markings of a closed set, and numbers of tokens in it.
const MAX_MARKINGS: usize = 4000;
const MAX_TOKENS: usize = 100_000;
/// Most numbers of tokens while the markings after one marking are added: one marking may have very many.
const MAX_ADDED_TOKENS: usize = 1 << 23;

/// Places whose markings exclude the condition, with these markings.
pub(crate) fn exclude(net: &Compiled, condition: &Condition, until: Instant) -> Option<Fact> {
    let mut places = BTreeSet::new();
    // All places together are no abstraction.
    while places.len() < net.places() && Instant::now() < until {
        let projection = Projection::new(net, &places);
        match projection.explore(condition, until)? {
            Explored::Excluded(markings) => return Some(Fact::Closed(projection.places, markings)),
            Explored::Run(path) => {
                let more = missing(net, condition, &places, &path)?;
                places.extend(more);
            }
        }
    }
    None
}

/// A transition: its number, what it needs and how it changes the places, by position.
type Move = (u32, Vec<(usize, u64)>, Vec<(usize, i128)>);

/// The part of a net that some places see.
struct Projection<'a> {
    net: &'a Compiled,
    places: Vec<u32>,
    /// By transition that changes one of them.
    moves: Vec<Move>,
}

enum Explored {
    Excluded(Vec<Vec<u64>>),
    /// A run of the projection to a marking that may satisfy the condition, or of too many markings.
    Run(Vec<u32>),
}

impl<'a> Projection<'a> {
    fn new(net: &'a Compiled, places: &BTreeSet<u32>) -> Self {
        let positions: BTreeMap<u32, usize> = places.iter().copied().zip(0..).collect();
        let mut moves = Vec::new();
        for transition in 0..net.transitions() as u32 {
            let changes = net.changes(transition).iter().filter_map(|change| {
                let position = *positions.get(&change.place)?;
                Some((position, i128::from(change.more) - i128::from(change.less)))
            });
            let changes: Vec<_> = changes.collect();
            let needs = net.inputs(transition).iter();
            let needs = needs.filter_map(|(place, count)| Some((*positions.get(place)?, *count)));
            if !changes.is_empty() {
                moves.push((transition, needs.collect(), changes));
            }
        }
        Self { net, places: places.iter().copied().collect(), moves }
    }

    fn explore(&self, condition: &Condition, until: Instant) -> Option<Explored> {
        let initial: Vec<u64> = self.places.iter().map(|place| self.net.initial[*place as usize]).collect();
        let mut numbers = HashMap::from([(initial.clone(), 0)]);
        let mut markings = vec![initial];
        let mut from: Vec<(usize, u32)> = vec![(0, 0)];
        let path = |from: &[(usize, u32)], mut at: usize| {
            let mut path = Vec::new();
            while at > 0 {
                path.push(from[at].1);
                at = from[at].0;
            }
            path.reverse();
            Explored::Run(path)
        };
        let (mut done, mut tried) = (0, 0_u64);
        while done < markings.len() {
            if done % 64 == 0 && Instant::now() >= until {
                return None;
            }
            let marking = markings[done].clone();
            let tokens =
                |place: u32| self.places.binary_search(&place).ok().map(|position| marking[position]);
            if !condition.is_false(&tokens) {
                return Some(path(&from, done));
            }
            for (transition, needs, changes) in &self.moves {
                tried += 1;
                if tried % 1024 == 0 && Instant::now() >= until {
                    return None;
                }
                if needs.iter().any(|(position, count)| marking[*position] < *count) {
                    continue;
                }
                let mut next = marking.clone();
                for (position, change) in changes {
                    next[*position] = u64::try_from(i128::from(marking[*position]) + change).ok()?;
                }
                let number = markings.len();
                if *numbers.entry(next.clone()).or_insert(number) == number {
                    markings.push(next);
                    from.push((done, *transition));
                    if markings.len() * self.places.len() > MAX_ADDED_TOKENS {
                        return Some(path(&from, number));
                    }
                }
            }
            if markings.len() > MAX_MARKINGS || markings.len() * self.places.len() > MAX_TOKENS {
                return Some(path(&from, markings.len() - 1));
            }
            done += 1;
        }
        Some(Explored::Excluded(markings))
    }
}

/// Places without which the run was possible, or the condition not false. None: there is none.
fn missing(net: &Compiled, condition: &Condition, known: &BTreeSet<u32>, path: &[u32]) -> Option<Vec<u32>> {
    let mut tokens: Marking = net.initial.clone();
    for transition in path {
        let lacking = net.inputs(*transition).iter().find(|(place, count)| tokens[*place as usize] < *count);
        if let Some((place, _)) = lacking {
            return Some(vec![*place]);
        }
        net.fire(*transition, &mut tokens)?;
    }
    let mut places = Vec::new();
    if !condition.blame(&tokens, &mut places) {
        return None;
    }
    places.retain(|place| !known.contains(place));
    (!places.is_empty()).then_some(places)
}

impl Condition {
    /// Whether it is false with these tokens of some places, whatever those of others are.
    fn is_false(&self, tokens: &dyn Fn(u32) -> Option<u64>) -> bool {
        match self {
            Self::Linear(linear) => {
                let mut most = 0;
                for (place, weight) in &linear.terms {
                    match tokens(*place) {
                        Some(tokens) => most += weight * i128::from(tokens),
                        None if *weight > 0 => return false,
                        None => {}
                    }
                }
                most < linear.bound
            }
            Self::All(parts) => parts.iter().any(|part| part.is_false(tokens)),
            Self::One(parts) => parts.iter().all(|part| part.is_false(tokens)),
        }
    }

    /// Whether it is false in a marking; then the places that show this.
    fn blame(&self, tokens: &[u64], places: &mut Vec<u32>) -> bool {
        match self {
            Self::Linear(linear) => {
                let is_false = self.is_false(&|place| Some(tokens[place as usize]));
                if is_false {
                    places.extend(linear.terms.iter().map(|(place, _)| *place));
                }
                is_false
            }
            Self::All(parts) => parts.iter().any(|part| part.blame(tokens, places)),
            Self::One(parts) => parts.iter().all(|part| part.blame(tokens, places)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Arcs;
    use crate::proof_lp::Linear;
    use std::time::Duration;

    #[test]
    fn not_all_markings_after_one_are_kept() {
        let many = 3000_u32;
        let arcs = |number| Arcs { inputs: vec![(many + number, 1)], outputs: vec![(number, 1)] };
        let transitions: Vec<Arcs> = (0..many).map(arcs).collect();
        let mut initial = vec![0; many as usize];
        initial.resize(2 * many as usize, 1);
        let net = Compiled::new(initial, &transitions);
        let places: BTreeSet<u32> = (0..many).collect();
        let condition = Condition::Linear(Linear::new(places.iter().map(|place| (*place, 1)), 1_000_000));
        let until = Instant::now() + Duration::from_secs(60);
        let explored = Projection::new(&net, &places).explore(&condition, until);
        let Some(Explored::Run(path)) = explored else { panic!("the markings are too many") };
        // The initial marking and those after the transitions 0 to 2795 have more numbers.
        assert_eq!(path, [2795]);
    }
}
