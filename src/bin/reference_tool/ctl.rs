//! CTL on a finite graph. Paths are maximal: a path that reaches a dead state ends there. So in a dead state EX p is
//! false, AX p is true, and EG p, AF p and p are equal.

use crate::space::{Graph, State};

/// A CTL formula over numbered labels. All other operators of the contest are expressed by these.
#[derive(Debug, PartialEq, Eq)]
pub enum Ctl {
    Label(usize),
    Not(Box<Ctl>),
    And(Vec<Ctl>),
    Or(Vec<Ctl>),
    True,
    ExistsNext(Box<Ctl>),
    ExistsUntil(Box<Ctl>, Box<Ctl>),
    AllUntil(Box<Ctl>, Box<Ctl>),
}

impl Ctl {
    pub fn not(self) -> Self {
        match self {
            Self::Not(inner) => *inner,
            other => Self::Not(Box::new(other)),
        }
    }
}

/// A set of states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct States {
    words: Vec<u64>,
}

impl States {
    fn none(states: usize) -> Self {
        Self { words: vec![0; states.div_ceil(64)] }
    }

    pub fn contains(&self, state: usize) -> bool {
        self.words.get(state / 64).is_some_and(|word| word >> (state % 64) & 1 == 1)
    }

    pub fn insert(&mut self, state: usize) {
        if self.words.len() <= state / 64 {
            self.words.resize(state / 64 + 1, 0);
        }
        self.words[state / 64] |= 1 << (state % 64);
    }

    fn iter(&self, states: usize) -> impl Iterator<Item = usize> {
        (0..states).filter(|&state| self.contains(state))
    }

    fn zip(mut self, other: &Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word = combine(*word, *other);
        }
        self
    }
}

pub struct Checker<'a> {
    graph: &'a Graph,
    labels: &'a [States],
    /// The predecessors of state 0, then those of state 1, ...; one entry per firing. `ends` has the end of each part.
    predecessors: Vec<State>,
    ends: Vec<usize>,
}

impl<'a> Checker<'a> {
    /// `labels[n]` is the set of states in which label n is true.
    pub fn new(graph: &'a Graph, labels: &'a [States]) -> Self {
        let states = graph.states();
        let mut ends = vec![0; states];
        for target in (0..states).flat_map(|state| graph.successors(state)) {
            ends[*target as usize] += 1;
        }
        let mut total = 0;
        for end in &mut ends {
            let count = *end;
            *end = total;
            total += count;
        }
        // `ends` has the starts here; each is increased to the end while the predecessors are added.
        let mut predecessors = vec![0; total];
        for state in 0..states {
            for target in graph.successors(state) {
                let slot = &mut ends[*target as usize];
                predecessors[*slot] = state as State;
                *slot += 1;
            }
        }
        Self { graph, labels, predecessors, ends }
    }

    pub fn holds_initially(&self, formula: &Ctl) -> bool {
        self.states(formula).contains(0)
    }

    fn predecessors(&self, state: usize) -> impl Iterator<Item = usize> {
        let start = if state == 0 { 0 } else { self.ends[state - 1] };
        self.predecessors[start..self.ends[state]].iter().map(|state| *state as usize)
    }

    fn states(&self, formula: &Ctl) -> States {
        let all = self.graph.states();
        match formula {
            Ctl::Label(number) => States::none(all).zip(&self.labels[*number], |_, label| label),
            Ctl::True => States { words: vec![u64::MAX; all.div_ceil(64)] },
            Ctl::Not(inner) => {
                let inner = self.states(inner);
                inner.clone().zip(&inner, |word, _| !word)
            }
            Ctl::And(parts) => parts
                .iter()
                .fold(self.states(&Ctl::True), |sum, part| sum.zip(&self.states(part), |a, b| a & b)),
            Ctl::Or(parts) => {
                parts.iter().fold(States::none(all), |sum, part| sum.zip(&self.states(part), |a, b| a | b))
            }
            Ctl::ExistsNext(inner) => {
                let mut result = States::none(all);
                for state in self.states(inner).iter(all) {
                    self.predecessors(state).for_each(|before| result.insert(before));
                }
                result
            }
            Ctl::ExistsUntil(before, reach) => self.until(before, reach, |_| true),
            Ctl::AllUntil(before, reach) => {
                let mut left: Vec<usize> = (0..all).map(|state| self.graph.successors(state).len()).collect();
                self.until(before, reach, |state| {
                    left[state] -= 1;
                    left[state] == 0
                })
            }
        }
    }

    /// Searches backwards from the states of `reach` through those of `before`. `joins(state)` is called once per firing
    /// from `state` into the result, and returns whether `state` belongs to the result.
    fn until(&self, before: &Ctl, reach: &Ctl, mut joins: impl FnMut(usize) -> bool) -> States {
        let before = self.states(before);
        let mut result = self.states(reach);
        let mut waiting: Vec<usize> = result.iter(self.graph.states()).collect();
        while let Some(state) = waiting.pop() {
            for previous in self.predecessors(state) {
                if joins(previous) && before.contains(previous) && !result.contains(previous) {
                    result.insert(previous);
                    waiting.push(previous);
                }
            }
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// State 0 has successors 1 and, by two firings, 2; 1 is dead; 2 has a loop. Label 0 holds in 1, label 1 nowhere.
    fn holds(formula: &Ctl) -> [bool; 3] {
        let mut graph = Graph::default();
        graph.add(0, &[1, 2, 2]);
        graph.add(1, &[]);
        graph.add(2, &[2]);
        let mut dead = States::default();
        dead.insert(1);
        let labels = [dead, States::default()];
        let states = Checker::new(&graph, &labels).states(formula);
        [0, 1, 2].map(|state| states.contains(state))
    }

    fn label(number: usize) -> Box<Ctl> {
        Box::new(Ctl::Label(number))
    }

    #[test]
    fn paths_end_in_dead_states() {
        assert_eq!(holds(&Ctl::ExistsNext(Box::new(Ctl::True))), [true, false, true]);
        assert_eq!(holds(&Ctl::ExistsNext(label(1)).not()), [true, true, true], "AX of anything");
        let finally = Ctl::AllUntil(Box::new(Ctl::True), label(0));
        assert_eq!(holds(&finally), [false, true, false], "AF");
        let globally = Ctl::AllUntil(Box::new(Ctl::True), Box::new(Ctl::Label(0).not())).not();
        assert_eq!(holds(&globally), [false, true, false], "EG");
    }

    #[test]
    fn until_on_one_path_differs_from_until_on_all_paths() {
        assert_eq!(holds(&Ctl::ExistsUntil(Box::new(Ctl::True), label(0))), [true, true, false]);
        let not_dead = || Box::new(Ctl::Label(0).not());
        assert_eq!(holds(&Ctl::AllUntil(not_dead(), label(0))), [false, true, false]);
        assert_eq!(holds(&Ctl::AllUntil(label(1), not_dead())), [true, false, true]);
        let loops_or_is_dead = Ctl::Or(vec![Ctl::Label(0), Ctl::ExistsNext(label(0)).not()]);
        assert_eq!(holds(&loops_or_is_dead), [false, true, true]);
        assert_eq!(holds(&Ctl::AllUntil(not_dead(), Box::new(loops_or_is_dead))), [true, true, true]);
    }
}
