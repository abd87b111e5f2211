//! CTL on a finite graph. Paths are maximal: a path that reaches a dead state ends there. So in a dead state EX p is
//! false, AX p is true, and EG p, AF p and p are equal.

use crate::space::{Graph, State};
use mcc_base::state_graph::{Predecessors, States};
use mcc_model::Ctl;

pub struct Checker<'a> {
    graph: &'a Graph,
    labels: &'a [States],
    predecessors: Predecessors,
}

impl<'a> Checker<'a> {
    /// `labels[n]` is the set of states in which label n is true.
    pub fn new(graph: &'a Graph, labels: &'a [States]) -> Self {
        let predecessors = Predecessors::new(graph.states(), |state| graph.successors(state));
        Self { graph, labels, predecessors }
    }

    pub fn holds_initially(&self, formula: &Ctl) -> bool {
        self.states(formula).contains(0)
    }

    fn states(&self, formula: &Ctl) -> States {
        let all = self.graph.states();
        match formula {
            Ctl::Pred(number) => States::none(all).zip(&self.labels[*number], |_, label| label),
            Ctl::Not(inner) => self.states(inner).complement(all),
            Ctl::And(parts) => parts
                .iter()
                .fold(States::none(0).complement(all), |sum, part| sum.zip(&self.states(part), |a, b| a & b)),
            Ctl::Or(parts) => {
                parts.iter().fold(States::none(all), |sum, part| sum.zip(&self.states(part), |a, b| a | b))
            }
            Ctl::ExistsNext(inner) => {
                let mut result = States::none(all);
                for state in self.states(inner).iter() {
                    self.predecessors.before(state).iter().for_each(|before| result.insert(*before));
                }
                result
            }
            Ctl::ExistsUntil(before, reach) => self.until(before, reach, |_| true),
            Ctl::AllUntil(before, reach) => {
                let mut left: Vec<usize> =
                    (0..all as State).map(|state| self.graph.successors(state).len()).collect();
                self.until(before, reach, |state| {
                    left[state as usize] -= 1;
                    left[state as usize] == 0
                })
            }
        }
    }

    /// Searches backwards from the states of `reach` through those of `before`. `joins(state)` is called once per firing
    /// from `state` into the result, and returns whether `state` belongs to the result.
    fn until(&self, before: &Ctl, reach: &Ctl, mut joins: impl FnMut(State) -> bool) -> States {
        let before = self.states(before);
        let mut result = self.states(reach);
        let mut waiting: Vec<State> = result.iter().collect();
        while let Some(state) = waiting.pop() {
            for &previous in self.predecessors.before(state) {
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

    /// State 0 has successors 1 and, by two firings, 2; 1 is dead; 2 has a loop. Label 0 holds in 1, label 1
    /// nowhere, label 2 everywhere.
    fn holds(formula: &Ctl) -> [bool; 3] {
        let mut graph = Graph::default();
        graph.add(0, &[1, 2, 2]);
        graph.add(1, &[]);
        graph.add(2, &[2]);
        let mut dead = States::default();
        dead.insert(1);
        let labels = [dead, States::default(), States::none(0).complement(3)];
        let states = Checker::new(&graph, &labels).states(formula);
        [0, 1, 2].map(|state| states.contains(state))
    }

    fn label(number: usize) -> Box<Ctl> {
        Box::new(Ctl::Pred(number))
    }

    #[test]
    fn paths_end_in_dead_states() {
        assert_eq!(holds(&Ctl::ExistsNext(label(2))), [true, false, true]);
        assert_eq!(holds(&Ctl::ExistsNext(label(1)).negated()), [true, true, true], "AX of anything");
        let finally = Ctl::AllUntil(label(2), label(0));
        assert_eq!(holds(&finally), [false, true, false], "AF");
        let globally = Ctl::AllUntil(label(2), Box::new(Ctl::Pred(0).negated())).negated();
        assert_eq!(holds(&globally), [false, true, false], "EG");
    }

    #[test]
    fn until_on_one_path_differs_from_until_on_all_paths() {
        assert_eq!(holds(&Ctl::ExistsUntil(label(2), label(0))), [true, true, false]);
        let not_dead = || Box::new(Ctl::Pred(0).negated());
        assert_eq!(holds(&Ctl::AllUntil(not_dead(), label(0))), [false, true, false]);
        assert_eq!(holds(&Ctl::AllUntil(label(1), not_dead())), [true, false, true]);
        let loops_or_is_dead = Ctl::Or(vec![Ctl::Pred(0), Ctl::ExistsNext(label(0)).negated()]);
        assert_eq!(holds(&loops_or_is_dead), [false, true, true]);
        assert_eq!(holds(&Ctl::AllUntil(not_dead(), Box::new(loops_or_is_dead))), [true, true, true]);
    }
}
