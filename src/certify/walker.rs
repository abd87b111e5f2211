//! A marking that is changed by firings, with its enabled transitions.

use crate::budget::{Limits, Stop};
use crate::formula::SIZE_OF_STEP;
use crate::net::{Compiled, Marking};
use crate::search::Goal;
use std::ops::Deref;

/// A set of numbers, as a list in an order that depends on the changes.
pub(crate) struct Members {
    list: Vec<u32>,
    /// By number: its position in the list.
    at: Vec<u32>,
}

pub(crate) const NONE: u32 = u32::MAX;

impl Deref for Members {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.list
    }
}

impl Members {
    fn new(numbers: usize) -> Self {
        Self { list: Vec::new(), at: vec![NONE; numbers] }
    }

    /// Adds or removes a number. Returns whether it is new.
    fn set(&mut self, number: u32, is_member: bool) -> bool {
        let at = self.at[number as usize];
        if is_member && at == NONE {
            self.at[number as usize] = self.list.len() as u32;
            self.list.push(number);
            return true;
        }
        if !is_member && at != NONE {
            self.list.swap_remove(at as usize);
            self.at[number as usize] = NONE;
            if let Some(&moved) = self.list.get(at as usize) {
                self.at[moved as usize] = at;
            }
        }
        false
    }
}

/// A marking with the list of its enabled transitions, kept up to date by each firing.
pub(crate) struct Walker<'n> {
    net: &'n Compiled,
    pub(crate) tokens: Marking,
    pub(crate) enabled: Members,
    /// The transitions that the last change of the marking enabled.
    pub(crate) newly_enabled: Vec<u32>,
    /// The marked places that transitions watch.
    marked: Members,
    /// The transitions from the initial marking.
    pub(crate) path: Vec<u32>,
    /// The marking to which `restart` returns.
    start: Marking,
    /// The number of firings to it.
    firings_to_start: usize,
    /// Places that they changed.
    changed_to_start: Vec<u32>,
    /// Places that a firing changed since the last start.
    changed: Vec<u32>,
    /// By transition: the number of the last update in which it was compared with the tokens.
    compared: Vec<u64>,
    updates: u64,
    /// The steps of firings that change many places, or places of many transitions; others cost none.
    cost: u64,
}

/// The numbers that are read to find those consumers of a place that watch another one.
const SIZE_OF_LOOKUP: usize = 16;

impl<'n> Walker<'n> {
    pub(crate) fn new(net: &'n Compiled) -> Self {
        let mut walker = Self {
            net,
            tokens: net.initial.clone(),
            enabled: Members::new(net.transitions()),
            newly_enabled: Vec::new(),
            marked: Members::new(net.places()),
            path: Vec::new(),
            start: net.initial.clone(),
            firings_to_start: 0,
            changed_to_start: Vec::new(),
            changed: Vec::new(),
            compared: vec![0; net.transitions()],
            updates: 0,
            cost: 0,
        };
        for place in 0..net.places() as u32 {
            walker.marked.set(place, net.initial[place as usize] > 0 && net.is_watched(place));
        }
        (0..net.transitions() as u32).for_each(|transition| walker.compare(transition));
        walker
    }

    /// Returns to the start: the initial marking, or the end of the path of the last `start_after`.
    pub(crate) fn restart(&mut self) {
        self.path.truncate(self.firings_to_start);
        let mut changed = std::mem::take(&mut self.changed);
        self.cost += changed.len() as u64 / SIZE_OF_STEP;
        changed.retain(|place| {
            let start = self.start[*place as usize];
            std::mem::replace(&mut self.tokens[*place as usize], start) != start
        });
        self.update(changed.iter().copied());
    }

    /// Starts at the end of a path from the initial marking. A firing costs a step. All enabled transitions count as newly
    /// enabled.
    pub(crate) fn start_after(&mut self, path: &[u32], limits: &Limits<'_>) -> Result<(), Stop> {
        for place in self.changed_to_start.drain(..) {
            self.start[place as usize] = self.net.initial[place as usize];
            self.changed.push(place);
        }
        self.firings_to_start = 0;
        self.restart();
        for &transition in path {
            self.spend(1, limits)?;
            self.fire(transition).ok_or(Stop::TooManyTokens)?;
        }
        self.changed_to_start = std::mem::take(&mut self.changed);
        for &place in &self.changed_to_start {
            self.start[place as usize] = self.tokens[place as usize];
        }
        self.firings_to_start = path.len();
        self.newly_enabled.clear();
        self.newly_enabled.extend_from_slice(&self.enabled);
        self.cost += self.enabled.len() as u64 / SIZE_OF_STEP;
        Ok(())
    }

    /// Compares a transition with the tokens.
    fn compare(&mut self, transition: u32) {
        if self.enabled.set(transition, self.net.is_enabled(transition, &self.tokens)) {
            self.newly_enabled.push(transition);
        }
    }

    /// Compares the transitions that need tokens on these places, whose tokens changed.
    fn update(&mut self, places: impl Iterator<Item = u32> + Clone) {
        self.updates += 1;
        self.newly_enabled.clear();
        for place in places.clone() {
            if self.tokens[place as usize] > 0 && self.net.is_watched(place) {
                self.marked.set(place, true);
            }
        }
        let net = self.net;
        for place in places.clone() {
            let consumers = net.consumers(place);
            let lookups = SIZE_OF_LOOKUP * self.marked.len();
            if lookups >= consumers.len() {
                self.cost += consumers.len() as u64 / SIZE_OF_STEP;
                self.compare_once(consumers);
                continue;
            }
            // A transition was or is enabled only if the place that it watches was or is marked; the list has both.
            let mut read = lookups;
            for number in 0..self.marked.len() {
                let consumers = net.consumers_watching(place, self.marked[number]);
                read += consumers.len();
                self.compare_once(consumers);
            }
            self.cost += read as u64 / SIZE_OF_STEP;
        }
        for place in places {
            if self.tokens[place as usize] == 0 {
                self.marked.set(place, false);
            }
        }
    }

    /// Compares those of these transitions that this update did not compare.
    fn compare_once(&mut self, transitions: &[u32]) {
        for &transition in transitions {
            // A transition may need tokens of several places.
            if std::mem::replace(&mut self.compared[transition as usize], self.updates) < self.updates {
                self.cost += self.net.inputs(transition).len() as u64 / SIZE_OF_STEP;
                self.compare(transition);
            }
        }
    }

    /// Fires an enabled transition; None: too many tokens.
    pub(crate) fn fire(&mut self, transition: u32) -> Option<()> {
        self.fire_times(transition, 1)
    }

    /// Fires an enabled transition so often, at most `times`; None: too many tokens.
    pub(crate) fn fire_times(&mut self, transition: u32, times: u64) -> Option<()> {
        self.shift(transition, times)?;
        self.path.extend(std::iter::repeat_n(transition, times as usize));
        self.cost += times / SIZE_OF_STEP;
        let places = self.net.changes(transition).iter().map(|change| change.place);
        self.changed.extend(places.clone());
        self.update(places);
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
    pub(crate) fn times(&self, transition: u32, most: u64) -> u64 {
        let changes = self.net.changes(transition);
        let times = |(place, weight): &(u32, u64)| {
            let at = changes.binary_search_by_key(place, |change| change.place).ok()?;
            let rest = self.tokens[*place as usize] - weight;
            (changes[at].less > 0).then(|| rest / changes[at].less + 1)
        };
        self.net.inputs(transition).iter().filter_map(times).min().unwrap_or(most).min(most)
    }

    /// The distance of a goal after firing a transition so often.
    pub(crate) fn distance_after(&mut self, transition: u32, times: u64, goal: &Goal) -> u64 {
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

    #[test]
    fn a_firing_costs_steps_by_the_consumers_whose_other_places_are_marked() {
        // Place 0 has 6400 consumers; each needs a token of another place too. Transition 6400 takes its token, 6401 returns it.
        let consumers = 6400;
        for (marked, cost) in [(3, 1), (consumers, 100)] {
            let consumer = |number| Arcs { inputs: vec![(0, 1), (2 + number, 1)], outputs: vec![] };
            let mut transitions: Vec<Arcs> = (0..consumers).map(consumer).collect();
            transitions.push(Arcs { inputs: vec![(0, 1)], outputs: vec![(1, 1)] });
            transitions.push(Arcs { inputs: vec![(1, 1)], outputs: vec![(0, 1)] });
            let mut initial = vec![0; 2 + consumers as usize];
            initial[0] = 1;
            initial[2..][..marked as usize].fill(1);
            let net = Compiled::new(initial, &transitions);
            let mut walker = Walker::new(&net);
            assert_eq!(walker.enabled.len(), marked as usize + 1);
            walker.fire(consumers).unwrap();
            assert_eq!((walker.cost, &walker.enabled[..]), (cost, &[consumers + 1][..]));
            walker.fire(consumers + 1).unwrap();
            assert_eq!((walker.cost, walker.enabled.len()), (2 * cost, marked as usize + 1));
            assert_eq!(walker.newly_enabled.len(), marked as usize + 1);
            // This takes the token that its transition watches, and that of place 0.
            walker.fire(0).unwrap();
            assert_eq!((walker.cost, walker.enabled.len()), (3 * cost, 0));
        }
    }
}
