//! Searches runs that show that a number of tokens is unbounded: a part of a run that adds tokens and takes none from any
//! place (Karp and Miller: Parallel Program Schemata, 1969).

use crate::budget::Limits;
use crate::formula::{SIZE_OF_STEP, Sum};
use crate::net::{Compiled, Marking};
use crate::walker::Walker;
use mcc_base::random::SplitMix;

/// A sum of tokens that may be unbounded.
#[derive(Debug)]
pub(crate) struct Growth {
    /// The sum; None: the tokens of one place, whichever.
    pub(crate) sum: Option<Sum>,
    /// A path from the initial marking, and one after it that adds tokens to the sum and takes none from any place, so that
    /// it can be repeated forever.
    pub(crate) found: Option<(Vec<u32>, Vec<u32>)>,
}

/// Markings of a walk that are compared, and the numbers of tokens in them: 4 MB.
const MAX_COMPARED: usize = 400;
const MAX_COMPARED_TOKENS: usize = 500_000;

/// Walks at random until all sums are shown to be unbounded, or the time ends. Compares each marking with the earlier ones of
/// its walk: one that covers another and has more tokens somewhere shows that these places are unbounded.
pub(crate) fn grow(net: &Compiled, wanted: &mut [Growth], seed: u64, limits: &Limits<'_>) {
    let mut random = SplitMix(seed);
    let mut walker = Walker::new(net);
    let longest = (MAX_COMPARED_TOKENS / net.places().max(1)).clamp(8, MAX_COMPARED);
    let cost = 1 + net.places() as u64 / SIZE_OF_STEP;
    while wanted.iter().any(|growth| growth.found.is_none()) {
        walker.restart();
        let mut earlier: Vec<Marking> = Vec::new();
        // Most walks are short, so that short paths are found.
        for _ in 0..longest >> random.below(6) {
            if walker.spend(cost + earlier.len() as u64 / 8, limits).is_err() {
                return;
            }
            earlier.push(walker.tokens.clone());
            if walker.enabled.is_empty() {
                break;
            }
            let transition = walker.enabled[random.below(walker.enabled.len())];
            if walker.fire(transition).is_none() {
                break;
            }
            let tokens = &walker.tokens;
            for (at, before) in earlier.iter().enumerate().rev() {
                if before == tokens || before.iter().zip(tokens).any(|(before, now)| before > now) {
                    continue;
                }
                for growth in wanted.iter_mut().filter(|growth| growth.found.is_none()) {
                    if growth.sum.as_ref().is_none_or(|sum| sum.value(tokens) > sum.value(before)) {
                        growth.found = Some((walker.path[..at].to_vec(), walker.path[at..].to_vec()));
                    }
                }
            }
        }
    }
}

/// Most firings of a part that `grow_in_parts` searches, and most parts of one walk.
const LONGEST_PART: usize = 64;
const MOST_PARTS: usize = 128;
/// Enabled transitions that are compared before a firing.
const COMPARED: usize = 16;

/// The change of each place by a part of a run.
struct Change {
    /// By place.
    tokens: Vec<i128>,
    /// The places that were changed; some are listed twice, or have no change any more.
    places: Vec<u32>,
    /// The number of places with fewer tokens.
    less: usize,
}

impl Change {
    fn clear(&mut self) {
        self.places.drain(..).for_each(|place| self.tokens[place as usize] = 0);
        self.less = 0;
    }

    fn add(&mut self, net: &Compiled, transition: u32) {
        for change in net.changes(transition) {
            let tokens = &mut self.tokens[change.place as usize];
            let was_less = *tokens < 0;
            if *tokens == 0 {
                self.places.push(change.place);
            }
            *tokens += i128::from(change.more) - i128::from(change.less);
            self.less = self.less + usize::from(*tokens < 0) - usize::from(was_less);
        }
    }

    /// The tokens that would be missing after another firing, compared with those that are missing now.
    fn missing_after(&self, net: &Compiled, transition: u32) -> i128 {
        let missing = |change: &crate::net::Change| {
            let tokens = self.tokens[change.place as usize];
            let after = tokens + i128::from(change.more) - i128::from(change.less);
            tokens.min(0) - after.min(0)
        };
        net.changes(transition).iter().map(missing).sum()
    }

    /// Whether it takes tokens from no place and adds some to the sum.
    fn shows(&self, sum: Option<&Sum>) -> bool {
        let added = |place: &u32| self.tokens[*place as usize];
        self.less == 0
            && match sum {
                Some(sum) => sum.places.iter().map(added).sum::<i128>() > 0,
                None => self.places.iter().any(|place| added(place) > 0),
            }
    }
}

/// The same for nets with many places: walks consist of parts, each with its own change of tokens. After its first firing, a
/// part fires only transitions that take some of the tokens that it added, and often one that leaves the fewest places with
/// less tokens. So tokens that have nothing to do with it stay.
pub(crate) fn grow_in_parts(net: &Compiled, wanted: &mut [Growth], seed: u64, limits: &Limits<'_>) {
    let mut random = SplitMix(seed);
    let mut walker = Walker::new(net);
    let mut change = Change { tokens: vec![0; net.places()], places: Vec::new(), less: 0 };
    let mut candidates = Vec::new();
    while wanted.iter().any(|growth| growth.found.is_none()) {
        walker.restart();
        'walk: for _ in 0..MOST_PARTS >> random.below(8) {
            change.clear();
            let start = walker.path.len();
            for _ in 0..LONGEST_PART >> random.below(5) {
                candidates.clear();
                let mut read = 0;
                if walker.path.len() == start {
                    candidates.extend_from_slice(&walker.enabled);
                }
                for &place in change.places.iter().filter(|place| change.tokens[**place as usize] > 0) {
                    let consumers = net.consumers(place);
                    read += consumers.len();
                    let enabled = |one: &&u32| net.is_enabled(**one, &walker.tokens);
                    candidates.extend(consumers.iter().filter(enabled));
                }
                let cost = 1 + (read + candidates.len()) as u64 / SIZE_OF_STEP;
                if walker.spend(cost, limits).is_err() {
                    return;
                }
                if candidates.is_empty() {
                    break;
                }
                let mut transition = candidates[random.below(candidates.len())];
                if walker.path.len() > start && random.below(2) == 0 {
                    let first = random.below(candidates.len());
                    let compared = (0..candidates.len().min(COMPARED))
                        .map(|number| candidates[(first + number) % candidates.len()]);
                    transition =
                        compared.min_by_key(|one| change.missing_after(net, *one)).unwrap_or(transition);
                }
                if walker.fire(transition).is_none() {
                    break 'walk;
                }
                change.add(net, transition);
                for growth in wanted.iter_mut().filter(|growth| growth.found.is_none()) {
                    if change.shows(growth.sum.as_ref()) {
                        growth.found = Some((walker.path[..start].to_vec(), walker.path[start..].to_vec()));
                    }
                }
            }
            if walker.enabled.is_empty() {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::net::Arcs;
    use std::time::Duration;

    #[test]
    fn growth_is_found_beside_many_places_that_change() {
        // Transitions 0 to 2 move a token in a ring and add one to place 3; each other transition moves a token once.
        let arcs = |inputs: &[u32], outputs: &[u32]| {
            let each = |places: &[u32]| places.iter().map(|place| (*place, 1)).collect();
            Arcs { inputs: each(inputs), outputs: each(outputs) }
        };
        let mut transitions = vec![arcs(&[0], &[1]), arcs(&[1], &[2]), arcs(&[2], &[0, 3])];
        let mut initial = vec![1, 0, 0, 0];
        for number in 0..500 {
            transitions.push(arcs(&[4 + 2 * number], &[5 + 2 * number]));
            initial.extend([1, 0]);
        }
        let net = Compiled::new(initial, &transitions);
        let budget = Budget { steps: 100_000, ..Budget::of_time(Duration::from_secs(3600)) };
        let limits = Limits::new(&budget);
        let growth = |place| Growth { sum: Some(Sum { places: vec![place], constant: 0 }), found: None };
        let mut wanted = [growth(3), growth(0)];
        grow_in_parts(&net, &mut wanted, 1, &limits);
        let (_, part) = wanted[0].found.clone().unwrap();
        assert!((0..3).all(|transition| part.contains(&transition)));
        assert_eq!(wanted[1].found, None);
    }
}
