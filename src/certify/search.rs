//! Searches reachable markings without storing all: random walks with restarts, some directed by the distance of a goal,
//! and best-first search by that distance (Edelkamp, Lafuente, Leue: Directed Explicit Model Checking with HSF-SPIN, 2001).

use crate::budget::{Limits, Stop};
use crate::explore::path_by_parents;
use crate::formula::{Pred, SIZE_OF_STEP, Sum};
use crate::net::{Compiled, Marking};
use crate::store::{Inserted, State, Store, Unpacked};
use crate::walker::{NONE, Walker};
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

    pub(crate) fn distance(&self, net: &Compiled, tokens: &[u64]) -> u64 {
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

/// The goals of walks.
struct Goals<'g> {
    all: &'g mut [Goal],
    /// By transition: the goal that is reached where it is enabled.
    by_transition: Vec<u32>,
    /// The goals that are compared with each marking.
    compared: Vec<usize>,
    /// The goals at whose ends walks start; the last one was reached last.
    starts: Vec<usize>,
    /// How many walks started at such ends since the last one was added.
    turn: usize,
    /// The most firings of a path to a start.
    longest: usize,
}

impl<'g> Goals<'g> {
    fn new(net: &Compiled, all: &'g mut [Goal], longest: usize) -> Self {
        let mut by_transition = vec![NONE; net.transitions()];
        let (mut compared, mut reached) = (Vec::new(), Vec::new());
        for (number, goal) in all.iter().enumerate() {
            if goal.is_reached() {
                reached.push(number);
            } else if let Aim::Reach(Pred::Fireable(transitions)) = &goal.aim
                // A transition has one goal: further goals with it are compared.
                && transitions.iter().all(|one| by_transition[*one as usize] == NONE)
            {
                for one in transitions {
                    by_transition[*one as usize] = number as u32;
                }
            } else {
                compared.push(number);
            }
        }
        let mut goals = Self { all, by_transition, compared, starts: Vec::new(), turn: 0, longest };
        reached.into_iter().for_each(|goal| goals.add_start(goal));
        goals
    }

    /// Those that are not reached.
    fn open(&self) -> Vec<usize> {
        (0..self.all.len()).filter(|goal| !self.all[*goal].is_reached()).collect()
    }

    /// The steps to list them.
    fn cost(&self) -> u64 {
        self.all.len() as u64 / SIZE_OF_STEP
    }

    /// The numbers that are read to compare them with a marking.
    fn size(&self, net: &Compiled) -> u64 {
        let open = self.compared.iter().filter(|goal| !self.all[**goal].is_reached());
        open.map(|goal| self.all[*goal].size(net)).sum()
    }

    /// Sets the paths of the goals for which the marking of a walk is better than all before.
    fn examine(&mut self, net: &Compiled, walker: &Walker<'_>) {
        for number in 0..self.compared.len() {
            let goal = self.compared[number];
            if !self.all[goal].is_reached() && self.all[goal].improves(net, &walker.tokens) {
                self.set_path(goal, &walker.path);
            }
        }
        for &transition in &walker.newly_enabled {
            let goal = self.by_transition[transition as usize];
            if goal != NONE && !self.all[goal as usize].is_reached() {
                self.set_path(goal as usize, &walker.path);
            }
        }
    }

    fn set_path(&mut self, goal: usize, path: &[u32]) {
        self.all[goal].path = Some(path.to_vec());
        if self.all[goal].is_reached() {
            self.add_start(goal);
        }
    }

    fn add_start(&mut self, goal: usize) {
        let path = &self.all[goal].path;
        let is_other = self.starts.last().is_none_or(|last| self.all[*last].path != *path);
        if is_other && path.as_ref().is_some_and(|path| (1..=self.longest).contains(&path.len())) {
            self.starts.push(goal);
            self.turn = 0;
        }
    }

    /// The path to the next start: every second time the last one, else one after the other; empty if there is none.
    fn next_start(&mut self) -> &[u32] {
        let Some(last) = self.starts.len().checked_sub(1) else { return &[] };
        let mut start = last;
        if !self.turn.is_multiple_of(2) {
            start = last - (self.turn / 2 + 1) % self.starts.len();
        }
        self.turn += 1;
        self.all[self.starts[start]].path.as_deref().unwrap_or_default()
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
    let mut goals = Goals::new(net, goals, longest);
    let mut rounds = 0_usize;
    loop {
        // Every third walk is free; the others are directed by one of the open goals.
        let open = goals.open();
        if open.is_empty() && rounds > 8 || walker.spend(goals.cost(), limits).is_err() {
            return largest;
        }
        // Every second one starts where a goal was reached: others may be near.
        let start: &[u32] = if rounds.is_multiple_of(2) { &[] } else { goals.next_start() };
        let is_ahead = !start.is_empty();
        if walker.start_after(start, limits).is_err() {
            return largest;
        }
        let goal = (!rounds.is_multiple_of(3) && !open.is_empty()).then(|| open[random.below(open.len())]);
        let free = [5, 20, 60][rounds / 3 % 3];
        rounds += 1;
        let length = longest >> random.below(4);
        // After so many firings it returns to such a start.
        let returns = 64 << random.below(5);
        let compared = goal.map_or(0, |goal| COMPARED as u64 * (4 + goals.all[goal].size(net)));
        let cost = 1 + (goals.size(net) + compared) / SIZE_OF_STEP;
        for firings in 1..=length {
            if walker.spend(cost, limits).is_err() {
                return largest;
            }
            goals.examine(net, &walker);
            if is_ahead && (walker.enabled.is_empty() || firings % returns == 0) {
                walker.restart();
            }
            if walker.enabled.is_empty() || goal.is_some_and(|goal| goals.all[goal].is_reached()) {
                break;
            }
            let transition = match goal.filter(|_| random.below(100) >= free) {
                None => walker.enabled[random.below(walker.enabled.len())],
                Some(goal) => {
                    let start = random.below(walker.enabled.len());
                    let count = walker.enabled.len().min(COMPARED);
                    let candidate = |number| walker.enabled[(start + number) % walker.enabled.len()];
                    let candidates: Vec<u32> = (0..count).map(candidate).collect();
                    let goal = &goals.all[goal];
                    let best = candidates.into_iter().min_by_key(|one| walker.distance_after(*one, 1, goal));
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
    let mut goals = Goals::new(net, goals, 0);
    for round in 0_usize.. {
        walker.restart();
        let open = goals.open();
        if open.is_empty() || walker.spend(goals.cost(), limits).is_err() {
            return;
        }
        let goal = (!round.is_multiple_of(3)).then(|| open[random.below(open.len())]);
        let free = [5, 20, 60][round / 3 % 3];
        let compared = goal.map_or(0, |goal| 3 * COMPARED as u64 * (4 + goals.all[goal].size(net)));
        let cost = 1 + (goals.size(net) + compared) / SIZE_OF_STEP;
        for _ in 0..longest >> random.below(5) {
            if walker.spend(cost, limits).is_err() {
                return;
            }
            goals.examine(net, &walker);
            let left = MAX_IN_BULK - walker.path.len() as u64;
            if walker.enabled.is_empty() || left == 0 || goal.is_some_and(|goal| goals.all[goal].is_reached())
            {
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
                            let distance = walker.distance_after(one, times, &goals.all[goal]);
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
    use crate::budget::Budget;
    use crate::net::Arcs;
    use std::time::Duration;

    #[test]
    fn walks_from_earlier_goals_reach_the_end_of_a_long_chain() {
        // Each place has a transition that moves the token to the next place, and one that moves it back to the first.
        let length = 40;
        let arcs = |from, to| Arcs { inputs: vec![(from, 1)], outputs: vec![(to, 1)] };
        let transitions: Vec<Arcs> =
            (0..length).flat_map(|place| [arcs(place, place + 1), arcs(place, 0)]).collect();
        let mut initial = vec![0; length as usize + 1];
        initial[0] = 1;
        let net = Compiled::new(initial, &transitions);
        let reached = |places: Vec<u32>| -> Vec<bool> {
            let goal = |place| Goal::new(Aim::Reach(Pred::Fireable(vec![2 * place])));
            let mut goals: Vec<Goal> = places.into_iter().map(goal).collect();
            let budget = Budget { steps: 500_000, ..Budget::of_time(Duration::from_secs(3600)) };
            walk(&net, &mut goals, 1, &Limits::new(&budget));
            goals.iter().map(Goal::is_reached).collect()
        };
        assert!(!reached((0..length).collect()).contains(&false));
        assert_eq!(reached(vec![length - 1]), [false]);
    }
}
