//! Searches reachable markings without storing all: random walks with restarts, some directed by the distance of a goal,
//! and best-first search by that distance (Edelkamp, Lafuente, Leue: Directed Explicit Model Checking with HSF-SPIN, 2001).

use crate::budget::{Limits, Stop};
use crate::explore::path_by_parents;
use crate::formula::{Pred, SIZE_OF_STEP, Sum};
use crate::net::{Compiled, Marking};
use crate::store::{Inserted, State, Store, Unpacked};
use mcc_base::random::SplitMix;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// A marking that is looked for.
#[derive(Debug)]
pub(crate) struct Goal {
    pub(crate) aim: Aim,
    /// The transitions from the initial marking to the best marking found; for `Reach` to one with the predicate.
    pub(crate) path: Option<Vec<u32>>,
    /// The largest value found, for `Largest`.
    pub(crate) value: Option<u128>,
}

#[derive(Debug)]
pub(crate) enum Aim {
    /// A marking with this predicate.
    Reach(Pred),
    /// A marking with a large value of this sum.
    Largest(Sum),
}

impl Goal {
    pub(crate) fn new(aim: Aim) -> Self {
        Self { aim, path: None, value: None }
    }

    /// Whether nothing is left to find.
    pub(crate) fn is_reached(&self) -> bool {
        matches!(self.aim, Aim::Reach(_)) && self.path.is_some()
    }

    fn distance(&self, net: &Compiled, tokens: &[u64]) -> u64 {
        match &self.aim {
            Aim::Reach(pred) => pred.distance(true, net, tokens),
            Aim::Largest(sum) => u64::MAX - u64::try_from(sum.value(tokens)).unwrap_or(u64::MAX),
        }
    }

    /// The numbers that are read to compare a marking with it.
    fn size(&self, net: &Compiled) -> u64 {
        match &self.aim {
            Aim::Reach(pred) => pred.size(net),
            Aim::Largest(sum) => sum.places.len() as u64,
        }
    }

    /// Whether this marking is better than all before.
    fn improves(&mut self, net: &Compiled, tokens: &[u64]) -> bool {
        match &self.aim {
            Aim::Reach(pred) => self.path.is_none() && pred.holds(net, tokens),
            Aim::Largest(sum) => {
                let value = Some(sum.value(tokens));
                let improves = value > self.value;
                self.value = self.value.max(value);
                improves
            }
        }
    }
}

/// A marking with the list of its enabled transitions, kept up to date by each firing.
pub(crate) struct Walker<'n> {
    net: &'n Compiled,
    pub(crate) tokens: Marking,
    pub(crate) enabled: Vec<u32>,
    /// By transition: its position in `enabled`.
    at: Vec<u32>,
    pub(crate) path: Vec<u32>,
    /// Places that a firing changed since the last start.
    changed: Vec<u32>,
    /// By transition: the number of the last firing after which it was compared with the tokens.
    compared: Vec<u64>,
    firings: u64,
    /// The steps of firings that change many places, or places of many transitions; others cost none.
    cost: u64,
}

const NOT_ENABLED: u32 = u32::MAX;

impl<'n> Walker<'n> {
    pub(crate) fn new(net: &'n Compiled) -> Self {
        let (enabled, at) = (Vec::new(), vec![NOT_ENABLED; net.transitions()]);
        let (tokens, compared) = (net.initial.clone(), vec![0; net.transitions()]);
        let (path, changed) = (Vec::new(), Vec::new());
        let mut walker = Self { net, tokens, enabled, at, path, changed, compared, firings: 0, cost: 0 };
        (0..net.transitions() as u32).for_each(|transition| walker.update(transition));
        walker
    }

    /// Returns to the initial marking.
    pub(crate) fn restart(&mut self) {
        self.path.clear();
        let mut affected = Vec::new();
        for place in self.changed.drain(..) {
            let tokens = &mut self.tokens[place as usize];
            if std::mem::replace(tokens, self.net.initial[place as usize]) != self.net.initial[place as usize]
            {
                affected.extend_from_slice(self.net.consumers(place));
            }
        }
        self.cost += affected.len() as u64 / SIZE_OF_STEP;
        affected.sort_unstable();
        affected.dedup();
        affected.into_iter().for_each(|transition| self.update(transition));
    }

    fn update(&mut self, transition: u32) {
        let is_enabled = self.net.is_enabled(transition, &self.tokens);
        let at = self.at[transition as usize];
        if is_enabled && at == NOT_ENABLED {
            self.at[transition as usize] = self.enabled.len() as u32;
            self.enabled.push(transition);
        } else if !is_enabled && at != NOT_ENABLED {
            self.enabled.swap_remove(at as usize);
            self.at[transition as usize] = NOT_ENABLED;
            if let Some(&moved) = self.enabled.get(at as usize) {
                self.at[moved as usize] = at;
            }
        }
    }

    /// Fires an enabled transition; None: too many tokens.
    pub(crate) fn fire(&mut self, transition: u32) -> Option<()> {
        self.fire_times(transition, 1)
    }

    /// Fires an enabled transition so often, at most `times`; None: too many tokens.
    fn fire_times(&mut self, transition: u32, times: u64) -> Option<()> {
        self.shift(transition, times)?;
        self.path.extend(std::iter::repeat_n(transition, times as usize));
        self.cost += times / SIZE_OF_STEP;
        self.firings += 1;
        let net = self.net;
        for change in net.changes(transition) {
            self.changed.push(change.place);
            let consumers = net.consumers(change.place);
            self.cost += consumers.len() as u64 / SIZE_OF_STEP;
            for &consumer in consumers {
                // A transition may need tokens of several of these places.
                if std::mem::replace(&mut self.compared[consumer as usize], self.firings) < self.firings {
                    self.cost += net.inputs(consumer).len() as u64 / SIZE_OF_STEP;
                    self.update(consumer);
                }
            }
        }
        Some(())
    }

    /// Counts a step of this cost and of the firings since the last one.
    pub(crate) fn spend(&mut self, cost: u64, limits: &Limits<'_>) -> Result<(), Stop> {
        limits.spend(cost.saturating_add(std::mem::take(&mut self.cost)))
    }

    /// Changes the tokens as firings of a transition do. None: there are too many; nothing is changed then.
    fn shift(&mut self, transition: u32, times: u64) -> Option<()> {
        let changes = self.net.changes(transition);
        for change in changes {
            let more = change.more.checked_mul(times)?;
            self.tokens[change.place as usize].checked_add(more)?;
        }
        for change in changes {
            let tokens = &mut self.tokens[change.place as usize];
            *tokens = *tokens - change.less * times + change.more * times;
        }
        Some(())
    }

    /// How often an enabled transition can fire without another one, at most `most`.
    fn times(&self, transition: u32, most: u64) -> u64 {
        let changes = self.net.changes(transition);
        let times = |(place, weight): &(u32, u64)| {
            let at = changes.binary_search_by_key(place, |change| change.place).ok()?;
            let rest = self.tokens[*place as usize] - weight;
            (changes[at].less > 0).then(|| rest / changes[at].less + 1)
        };
        self.net.inputs(transition).iter().filter_map(times).min().unwrap_or(most).min(most)
    }

    /// The distance of a goal after firing a transition so often.
    fn distance_after(&mut self, transition: u32, times: u64, goal: &Goal) -> u64 {
        self.cost += self.net.changes(transition).len() as u64 / SIZE_OF_STEP;
        if self.shift(transition, times).is_none() {
            return u64::MAX;
        }
        let distance = goal.distance(self.net, &self.tokens);
        for change in self.net.changes(transition) {
            let tokens = &mut self.tokens[change.place as usize];
            *tokens = *tokens - change.more * times + change.less * times;
        }
        distance
    }
}

/// Enabled transitions that a directed walk compares before each firing.
const COMPARED: usize = 24;

/// Walks until all goals are reached or the time ends. Returns the largest number of tokens of each place.
pub(crate) fn walk(net: &Compiled, goals: &mut [Goal], seed: u64, limits: &Limits<'_>) -> Marking {
    let mut random = SplitMix(seed);
    let mut largest = net.initial.clone();
    let mut walker = Walker::new(net);
    let longest = (net.transitions() * 8).clamp(200, 20_000);
    let mut rounds = 0_usize;
    loop {
        walker.restart();
        // Every third walk is free; the others are directed by one of the open goals.
        let open: Vec<usize> = (0..goals.len()).filter(|goal| !goals[*goal].is_reached()).collect();
        if open.is_empty() && rounds > 8 {
            return largest;
        }
        let goal = (!rounds.is_multiple_of(3) && !open.is_empty()).then(|| open[random.below(open.len())]);
        let free = [5, 20, 60][rounds / 3 % 3];
        rounds += 1;
        let length = longest >> random.below(4);
        let sizes: u64 = open.iter().map(|goal| goals[*goal].size(net)).sum();
        let compared = goal.map_or(0, |goal| COMPARED as u64 * (4 + goals[goal].size(net)));
        let cost = 1 + (sizes + compared) / SIZE_OF_STEP;
        for _ in 0..length {
            if walker.spend(cost, limits).is_err() {
                return largest;
            }
            for goal in goals.iter_mut() {
                if !goal.is_reached() && goal.improves(net, &walker.tokens) {
                    goal.path = Some(walker.path.clone());
                }
            }
            if walker.enabled.is_empty() || goal.is_some_and(|goal| goals[goal].is_reached()) {
                break;
            }
            let transition = match goal.filter(|_| random.below(100) >= free) {
                None => walker.enabled[random.below(walker.enabled.len())],
                Some(goal) => {
                    let start = random.below(walker.enabled.len());
                    let count = walker.enabled.len().min(COMPARED);
                    let candidate = |number| walker.enabled[(start + number) % walker.enabled.len()];
                    let candidates: Vec<u32> = (0..count).map(candidate).collect();
                    let best =
                        candidates.into_iter().min_by_key(|one| walker.distance_after(*one, 1, &goals[goal]));
                    best.unwrap_or(walker.enabled[start])
                }
            };
            if walker.fire(transition).is_none() {
                break;
            }
            for change in net.changes(transition) {
                let place = change.place as usize;
                largest[place] = largest[place].max(walker.tokens[place]);
            }
        }
    }
}

/// Walks in bulk are used if a place had so many tokens.
pub(crate) const MANY_TOKENS: u64 = 32;
/// Most firings of a walk in bulk.
const MAX_IN_BULK: u64 = 200_000;

/// A number of firings up to `most`: one, all, or a random number.
fn in_bulk(most: u64, random: &mut SplitMix) -> u64 {
    match random.below(4) {
        0 => 1,
        1 => most,
        2 => 1 + random.number() % most,
        _ => most >> random.below(64 - most.leading_zeros() as usize),
    }
}

/// Walks as `walk` does in which a transition may fire many times at once, until all goals are reached or the budget ends.
/// Only the markings between different transitions are compared with the goals.
pub(crate) fn walk_in_bulk(net: &Compiled, goals: &mut [Goal], seed: u64, limits: &Limits<'_>) {
    let mut random = SplitMix(seed);
    let mut walker = Walker::new(net);
    let longest = (net.transitions() * 32).clamp(200, 5_000);
    for round in 0_usize.. {
        walker.restart();
        let open: Vec<usize> = (0..goals.len()).filter(|goal| !goals[*goal].is_reached()).collect();
        if open.is_empty() {
            return;
        }
        let goal = (!round.is_multiple_of(3)).then(|| open[random.below(open.len())]);
        let free = [5, 20, 60][round / 3 % 3];
        let sizes: u64 = open.iter().map(|goal| goals[*goal].size(net)).sum();
        let compared = goal.map_or(0, |goal| 3 * COMPARED as u64 * (4 + goals[goal].size(net)));
        let cost = 1 + (sizes + compared) / SIZE_OF_STEP;
        for _ in 0..longest >> random.below(5) {
            if walker.spend(cost, limits).is_err() {
                return;
            }
            for &goal in &open {
                let goal = &mut goals[goal];
                if !goal.is_reached() && goal.improves(net, &walker.tokens) {
                    goal.path = Some(walker.path.clone());
                }
            }
            let left = MAX_IN_BULK - walker.path.len() as u64;
            if walker.enabled.is_empty() || left == 0 || goal.is_some_and(|goal| goals[goal].is_reached()) {
                break;
            }
            let start = random.below(walker.enabled.len());
            let mut best = (walker.enabled[start], 1);
            match goal.filter(|_| random.below(100) >= free) {
                None => best.1 = in_bulk(walker.times(best.0, left), &mut random),
                Some(goal) => {
                    let mut least = u64::MAX;
                    for number in 0..walker.enabled.len().min(COMPARED) {
                        let one = walker.enabled[(start + number) % walker.enabled.len()];
                        let most = walker.times(one, left);
                        for times in [in_bulk(most, &mut random), most, 1] {
                            let distance = walker.distance_after(one, times, &goals[goal]);
                            if distance < least {
                                (least, best) = (distance, (one, times));
                            }
                        }
                    }
                }
            }
            if walker.fire_times(best.0, best.1).is_none() {
                break;
            }
        }
    }
}

/// Memory of an entry of the queue and of the table of parents.
const ENTRY_BYTES: u64 = 36;

/// Expands markings in the order of their distance from a goal until it is reached or the budget ends.
pub(crate) fn best_first(
    net: &Compiled,
    goal: &mut Goal,
    largest: &[u64],
    seed: u64,
    limits: &Limits<'_>,
) -> Result<(), Stop> {
    let mut store = Store::new(largest, limits);
    let mut random = SplitMix(seed);
    let mut parents: Vec<State> = vec![0];
    store.insert(&net.initial)?;
    let mut queue = BinaryHeap::from([Reverse((0, 0, 0))]);
    let mut marking = Unpacked::new(net.places());
    let mut next = net.initial.clone();
    let mut enabled = Vec::new();
    let mut best: Option<State> = None;
    if goal.improves(net, &next) {
        best = Some(0);
    }
    let cost = 1 + (net.places() as u64 + 2 * goal.size(net)) / SIZE_OF_STEP;
    let mut run = || -> Result<(), Stop> {
        while let Some(Reverse((_, _, state))) = queue.pop() {
            store.unpack(state, &mut marking);
            store.start(state);
            enabled.clear();
            enabled.extend(net.enabled(&marking));
            next.copy_from_slice(&marking.tokens);
            for &transition in &enabled {
                limits.spend(cost)?;
                let successor = match store.fire(net, transition) {
                    Ok(Inserted::New(successor)) => successor,
                    Ok(Inserted::Known(_)) | Err(Stop::TooManyTokens) => continue,
                    Err(stop) => return Err(stop),
                };
                limits.take(ENTRY_BYTES)?;
                parents.push(state);
                net.fire(transition, &mut next).ok_or(Stop::TooManyTokens)?;
                if goal.improves(net, &next) {
                    best = Some(successor);
                    if matches!(goal.aim, Aim::Reach(_)) {
                        return Ok(());
                    }
                }
                let distance = goal.distance(net, &next);
                queue.push(Reverse((distance, random.number() as u32, successor)));
                for change in net.changes(transition) {
                    next[change.place as usize] = marking.tokens[change.place as usize];
                }
            }
        }
        Ok(())
    };
    let ended = run();
    limits.give_back((parents.len() as u64 - 1) * ENTRY_BYTES);
    if let Some(best) = best {
        goal.path = Some(store.transitions_along(net, &path_by_parents(&parents, best)));
    }
    ended
}

/// A path to the same marking without the parts that return to a marking.
pub(crate) fn without_cycles(net: &Compiled, path: &[u32]) -> Vec<u32> {
    /// The memory of the markings of a path is small up to this product.
    const MAX_TOKEN_COUNTS: usize = 50_000_000;
    if path.len().saturating_mul(net.places()) > MAX_TOKEN_COUNTS {
        return path.to_vec();
    }
    let mut tokens = net.initial.clone();
    // Each marking of the shortened path with its length there.
    let mut known = HashMap::from([(tokens.clone(), 0)]);
    let mut short: Vec<(u32, Marking)> = Vec::new();
    for &transition in path {
        if net.fire(transition, &mut tokens).is_none() {
            return path.to_vec();
        }
        match known.get(&tokens) {
            Some(&length) => {
                for (_, marking) in short.drain(length..) {
                    known.remove(&marking);
                }
            }
            None => {
                short.push((transition, tokens.clone()));
                known.insert(tokens.clone(), short.len());
            }
        }
    }
    short.into_iter().map(|(transition, _)| transition).collect()
}

/// Most firings of one walk that follows the state equation.
const MAX_GUIDED: u64 = 200_000;

/// Walks from the initial marking by firings in these numbers, in random orders, until the goal is reached or the budget ends.
/// Where none of them is enabled, another transition fires. With `many` a transition may fire many times at once in every other
/// walk.
pub(crate) fn guided(
    net: &Compiled,
    goal: &mut Goal,
    firings: &[u64],
    many: bool,
    random: &mut SplitMix,
    limits: &Limits<'_>,
) {
    let mut walker = Walker::new(net);
    let all = firings.iter().fold(0_u64, |sum, count| sum.saturating_add(*count));
    let mut candidates = Vec::new();
    for attempt in 0_u64.. {
        walker.restart();
        let mut left = firings.to_vec();
        // Later attempts may leave the solution more often.
        let mut detours = attempt.min(20) * (2 + all / 8).min(200);
        for _ in 0..all.saturating_add(detours).min(MAX_GUIDED) {
            candidates.clear();
            candidates.extend(walker.enabled.iter().copied().filter(|one| left[*one as usize] > 0));
            let cost = 1 + (walker.enabled.len() as u64 + goal.size(net)) / SIZE_OF_STEP;
            if walker.spend(cost, limits).is_err() {
                return;
            }
            let transition = if candidates.is_empty() {
                if detours == 0 || walker.enabled.is_empty() {
                    break;
                }
                detours -= 1;
                walker.enabled[random.below(walker.enabled.len())]
            } else {
                candidates[random.below(candidates.len())]
            };
            let count = &mut left[transition as usize];
            let mut times = 1;
            if many && attempt.is_multiple_of(2) && *count > 1 {
                let most = (*count).min(MAX_GUIDED.saturating_sub(walker.path.len() as u64)).max(1);
                times = in_bulk(walker.times(transition, most), random);
            }
            *count = count.saturating_sub(times);
            if walker.fire_times(transition, times).is_none() {
                break;
            }
            if goal.improves(net, &walker.tokens) {
                goal.path = Some(walker.path.clone());
                if goal.is_reached() {
                    return;
                }
            }
        }
        if all == 0 && attempt > 20 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::Arcs;

    #[test]
    fn a_firing_that_changes_many_places_costs_steps() {
        for (places, cost) in [(6400, 100), (3, 0)] {
            let all = Arcs { inputs: (0..places).map(|place| (place, 1)).collect(), outputs: vec![] };
            let net = Compiled::new(vec![2; places as usize], &[all]);
            let mut walker = Walker::new(&net);
            walker.fire(0).unwrap();
            // The transition is compared once, not once for each of its places.
            assert_eq!((walker.cost, walker.enabled.len()), (cost, 1));
            walker.fire(0).unwrap();
            assert_eq!((walker.cost, walker.enabled.len()), (2 * cost, 0));
        }
    }
}
