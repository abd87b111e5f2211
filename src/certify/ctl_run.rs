//! Finds a run that decides a CTL formula alone, where one exists in the known graph. Along the run the formula is
//! three-valued: what other runs do is unknown, so "some run" can be shown and "every run" refuted.

use crate::ctl::Checker;
use crate::explore::Explored;
use crate::formula::{Ltl, Pred, Preds};
use crate::net::Compiled;
use crate::next_firing::before_some;
use crate::questions::RunSearch;
use crate::store::State;
use mcc_base::state_graph::States;
use mcc_model::Ctl;
use std::cell::Cell;
use std::collections::{HashMap, HashSet, VecDeque};

/// Largest number of states that one search visits.
const MAX_VISITED: usize = 200_000;

/// The work of a search with all searches inside of it, in firings and parts of formulas that are looked at: some seconds.
const MAX_WORK: usize = 1 << 27;
/// The work of an entry in `failed`, so that these need little memory.
const FAILED_WORK: usize = 1 << 7;

/// A search for a run in a known graph.
pub(crate) struct Runs<'a> {
    graph: &'a Explored<'a>,
    checker: &'a Checker<'a>,
    /// The states of each predicate.
    labels: &'a [States],
    /// The parts of the formula, by address, with the states where no run was found.
    failed: HashSet<(*const Ctl, State)>,
    /// The work that is left.
    left: Cell<usize>,
}

/// A run by its states; `loop_start` is the position of the state that follows the last one again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StateRun {
    pub(crate) states: Vec<State>,
    pub(crate) loop_start: Option<usize>,
}

impl<'a> Runs<'a> {
    pub(crate) fn new(graph: &'a Explored<'a>, checker: &'a Checker<'a>, labels: &'a [States]) -> Self {
        Self { graph, checker, labels, failed: HashSet::new(), left: Cell::new(MAX_WORK) }
    }

    /// A run from the initial state that shows that the formula has this truth there. None: none was found.
    pub(crate) fn find(mut self, formula: &Ctl, truth: bool) -> Option<StateRun> {
        let mut run = StateRun { states: vec![0], loop_start: None };
        self.extend(formula, truth, &mut run).then_some(run)
    }

    /// Counts work. Returns whether some is left; without it nothing is shown any more.
    fn spend(&self, work: usize) -> bool {
        self.left.set(self.left.get().saturating_sub(work));
        self.left.get() > 0
    }

    /// Whether a state has no successor.
    fn is_dead(&self, state: State) -> bool {
        self.graph.successors(state).is_empty() && !self.checker.is_open(state)
    }

    /// Whether the marking alone shows that the formula has this truth in it.
    fn is_local(&self, formula: &Ctl, truth: bool, state: State) -> bool {
        if !self.spend(1) {
            return false;
        }
        match formula {
            Ctl::Pred(number) => self.labels[*number].contains(state) == truth,
            Ctl::Not(inner) => self.is_local(inner, !truth, state),
            Ctl::And(parts) if truth => parts.iter().all(|part| self.is_local(part, true, state)),
            Ctl::Or(parts) if !truth => parts.iter().all(|part| self.is_local(part, false, state)),
            Ctl::And(parts) | Ctl::Or(parts) => parts.iter().any(|part| self.is_local(part, truth, state)),
            Ctl::ExistsNext(_) => !truth && self.is_dead(state),
            Ctl::ExistsUntil(before, reach) | Ctl::AllUntil(before, reach) => {
                self.is_local(reach, truth, state)
                    && (truth || self.is_local(before, false, state) || self.is_dead(state))
            }
        }
    }

    /// Extends a run so that it shows the truth of the formula in its last state. If it returns false, the run is unchanged.
    fn extend(&mut self, formula: &Ctl, truth: bool, run: &mut StateRun) -> bool {
        let length = run.states.len();
        let here = run.states[length - 1];
        // Whether there is an extension depends on the last state alone, as a part of the formula is sought with one truth only.
        let part = (std::ptr::from_ref(formula), here);
        if !self.spend(1) || self.failed.contains(&part) {
            return false;
        }
        let is_found =
            self.is_local(formula, truth, here) || self.extend_from(here, formula, truth, run).is_some();
        if !is_found {
            run.states.truncate(length);
            if self.spend(FAILED_WORK) {
                self.failed.insert(part);
            }
        }
        is_found
    }

    /// The same; None: no extension was found, and the run may have more states than before.
    fn extend_from(&mut self, here: State, formula: &Ctl, truth: bool, run: &mut StateRun) -> Option<()> {
        let graph = self.graph;
        let is_found = match (formula, truth) {
            (Ctl::Not(inner), _) => self.extend(inner, !truth, run),
            (Ctl::And(parts), true) | (Ctl::Or(parts), false) => {
                // One run serves one part; the others must be local.
                let mut left = parts.iter().filter(|part| !self.is_local(part, truth, here));
                let (Some(part), None) = (left.next(), left.next()) else { return None };
                self.extend(part, truth, run)
            }
            (Ctl::And(parts) | Ctl::Or(parts), _) => parts.iter().any(|part| self.extend(part, truth, run)),
            (Ctl::ExistsNext(inner), true) => graph.successors(here).iter().any(|next| {
                run.states.push(*next);
                let is_found = self.extend(inner, true, run);
                if !is_found {
                    run.states.pop();
                }
                is_found
            }),
            (Ctl::ExistsUntil(before, reach), true) => {
                let passes = |state| self.is_local(before, true, state);
                if let Some(more) = self.path(here, passes, |state| self.is_local(reach, true, state)) {
                    run.states.extend(more);
                    return Some(());
                }
                let holds = self.checker.certain(reach, self.labels)?;
                run.states.extend(self.path(here, passes, |state| holds.contains(state))?);
                self.extend(reach, true, run)
            }
            (Ctl::AllUntil(before, reach), false) => {
                let passes = |state| self.is_local(reach, false, state);
                let ends =
                    |state| passes(state) && (self.is_local(before, false, state) || self.is_dead(state));
                let more = match self.path(here, passes, ends) {
                    Some(more) => more,
                    None => {
                        let (more, back) = self.lasso(here, passes)?;
                        // The states of the lasso begin with the last state of the run.
                        run.loop_start = Some(run.states.len() - 1 + back);
                        more
                    }
                };
                run.states.extend(more);
                true
            }
            _ => false,
        };
        is_found.then_some(())
    }

    /// A shortest path from a state through those that pass to one that ends it; without the first state.
    fn path(
        &self,
        from: State,
        passes: impl Fn(State) -> bool,
        ends: impl Fn(State) -> bool,
    ) -> Option<Vec<State>> {
        if ends(from) {
            return Some(Vec::new());
        }
        let mut before = HashMap::new();
        let mut waiting = VecDeque::from([from]);
        while let Some(state) = waiting.pop_front() {
            if !passes(state) {
                continue;
            }
            let successors = self.graph.successors(state);
            if !self.spend(successors.len()) {
                return None;
            }
            for &next in successors {
                if next == from || before.contains_key(&next) {
                    continue;
                }
                before.insert(next, state);
                if ends(next) {
                    let mut path = vec![next];
                    let mut at = state;
                    while at != from {
                        path.push(at);
                        at = before[&at];
                    }
                    path.reverse();
                    return Some(path);
                }
                waiting.push_back(next);
            }
            if before.len() > MAX_VISITED {
                return None;
            }
        }
        None
    }

    /// A path from a state through those that pass, back to one of its states: the path without the first state, and
    /// the position of that state, 0 for the first. The repeated state is at the end again.
    fn lasso(&self, from: State, passes: impl Fn(State) -> bool) -> Option<(Vec<State>, usize)> {
        if !passes(from) {
            return None;
        }
        // Depth-first. By visited state: its position on the path; None: it was left.
        let mut positions: HashMap<State, Option<usize>> = HashMap::from([(from, Some(0))]);
        let mut path = vec![(from, 0)];
        while let Some(&mut (state, ref mut edge)) = path.last_mut() {
            if !self.spend(1) {
                return None;
            }
            let Some(&next) = self.graph.successors(state).get(*edge) else {
                positions.insert(state, None);
                path.pop();
                continue;
            };
            *edge += 1;
            match positions.get(&next) {
                Some(Some(back)) => {
                    let states = path.iter().skip(1).map(|(state, _)| *state).chain([next]).collect();
                    return Some((states, *back));
                }
                Some(None) => {}
                None if passes(next) && positions.len() < MAX_VISITED => {
                    positions.insert(next, Some(path.len()));
                    path.push((next, 0));
                }
                None => {}
            }
        }
        None
    }
}

/// A predicate of markings in each of which the marking alone shows that the formula has this truth.
pub(crate) fn sure(formula: &Ctl, truth: bool, preds: &[Pred]) -> Pred {
    sure_after(formula, truth, preds, None)
}

/// The same; with a net also those in which the markings after one firing show it.
fn sure_after(formula: &Ctl, truth: bool, preds: &[Pred], net: Option<&Compiled>) -> Pred {
    let sure = |part: &Ctl, truth| sure_after(part, truth, preds, net);
    let all = |parts: &[Ctl]| parts.iter().map(|part| sure(part, truth)).collect();
    match (formula, truth) {
        (Ctl::Pred(number), true) => preds[*number].clone(),
        (Ctl::Pred(number), false) => preds[*number].clone().not(),
        (Ctl::Not(inner), _) => sure(inner, !truth),
        (Ctl::And(parts), true) | (Ctl::Or(parts), false) => Pred::And(all(parts)),
        (Ctl::And(parts), false) | (Ctl::Or(parts), true) => Pred::Or(all(parts)),
        (Ctl::ExistsNext(inner), true) => {
            let before = net.and_then(|net| before_some(&sure(inner, true), net));
            before.unwrap_or_else(|| Pred::True.not())
        }
        (Ctl::ExistsNext(inner), false) => {
            let before = net.and_then(|net| before_some(&sure(inner, false).not(), net));
            before.map_or(Pred::Dead, Pred::not)
        }
        (Ctl::ExistsUntil(_, reach) | Ctl::AllUntil(_, reach), true) => sure(reach, true),
        (Ctl::ExistsUntil(before, reach) | Ctl::AllUntil(before, reach), false) => {
            let ends = Pred::Or(vec![sure(before, false), Pred::Dead]);
            Pred::And(vec![sure(reach, false), ends])
        }
    }
}

/// A predicate of markings so that a run to one of them shows that the formula has this truth initially. None: there is
/// none of this kind. `initially` tells whether a predicate holds in the initial marking. With a net the run shows it together
/// with the markings after one more firing.
pub(crate) fn target(
    formula: &Ctl,
    truth: bool,
    preds: &[Pred],
    initially: &dyn Fn(&Pred) -> bool,
    net: Option<&Compiled>,
) -> Option<Pred> {
    let target = |part: &Ctl, truth| target(part, truth, preds, initially, net);
    match (formula, truth) {
        (Ctl::Not(inner), _) => target(inner, !truth),
        (Ctl::And(parts), true) | (Ctl::Or(parts), false) => {
            let mut left = parts.iter().filter(|part| !initially(&sure(part, truth, preds)));
            match (left.next(), left.next()) {
                (Some(part), None) => target(part, truth),
                _ => None,
            }
        }
        (Ctl::And(parts) | Ctl::Or(parts), _) => {
            let targets: Vec<Pred> = parts.iter().filter_map(|part| target(part, truth)).collect();
            (!targets.is_empty()).then_some(Pred::Or(targets))
        }
        (Ctl::ExistsUntil(before, reach), true) if is_true(before, preds) => {
            Some(sure_after(reach, true, preds, net))
        }
        // It holds if `reach` does initially.
        (Ctl::ExistsUntil(_, reach) | Ctl::AllUntil(_, reach), true) => target(reach, true),
        _ => None,
    }
}

fn is_true(formula: &Ctl, preds: &[Pred]) -> bool {
    matches!(formula, Ctl::Pred(number) if preds[*number] == Pred::True)
}

/// The searches for a run that shows alone that a formula has one truth or the other; or, if no run need show it, for one that
/// exists if the formula has this truth.
pub(crate) fn searches(formula: &Ctl, preds: &[Pred]) -> Vec<RunSearch> {
    let search = |shows, weak| {
        let mut linear = Linear { preds, used: Preds::default(), exact: true, weak };
        let path = linear.linear(formula, shows)?;
        let exact = linear.exact || weak;
        Some(RunSearch { formula: path, preds: linear.used, shows, exact, enough: !weak })
    };
    let both = |shows| {
        let one = search(shows, false);
        let other = if one.as_ref().is_some_and(|one| one.exact) { None } else { search(shows, true) };
        one.into_iter().chain(other)
    };
    [true, false].into_iter().flat_map(both).collect()
}

/// Translates a CTL formula into a path formula: a run that satisfies this shows the truth of the other.
struct Linear<'p> {
    preds: &'p [Pred],
    used: Preds,
    /// Whether such a run exists if the formula has this truth.
    exact: bool,
    /// Whether the run only has to exist if the formula has this truth.
    weak: bool,
}

impl Linear<'_> {
    fn pred(&mut self, pred: Pred, truth: bool) -> Ltl {
        Ltl::Pred(self.used.number(pred), truth)
    }

    /// What holds at a position of the run, whatever follows.
    fn state(&mut self, formula: &Ctl, truth: bool) -> Option<Ltl> {
        if self.weak {
            let pred = sure(formula, !truth, self.preds);
            return Some(self.pred(pred, false));
        }
        self.linear(formula, truth)
    }

    /// None: no run shows it.
    fn linear(&mut self, formula: &Ctl, truth: bool) -> Option<Ltl> {
        Some(match (formula, truth) {
            _ if is_local(formula) => self.pred(sure(formula, true, self.preds), truth),
            (Ctl::Not(inner), _) => self.linear(inner, !truth)?,
            (Ctl::And(parts), true) | (Ctl::Or(parts), false) => {
                // Several parts may hold on different runs only.
                self.exact &= parts.iter().filter(|part| !is_local(part)).count() < 2;
                let first = parts.iter().position(|part| !is_local(part));
                let part = |(number, part)| {
                    if Some(number) == first { self.linear(part, truth) } else { self.state(part, truth) }
                };
                Ltl::And(parts.iter().enumerate().map(part).collect::<Option<_>>()?)
            }
            (Ctl::And(parts) | Ctl::Or(parts), _) => {
                let cases: Vec<Ltl> = parts.iter().filter_map(|part| self.linear(part, truth)).collect();
                self.exact &= cases.len() == parts.len();
                (!cases.is_empty()).then_some(Ltl::Or(cases))?
            }
            (Ctl::ExistsNext(inner), true) => {
                let next = self.linear(inner, true)?;
                Ltl::And(vec![self.pred(Pred::Dead, false), Ltl::Next(Box::new(next))])
            }
            (Ctl::ExistsUntil(before, reach), true) => {
                // Before the end each marking of the run may need a run of its own.
                self.exact &= is_local(before);
                Ltl::Until(Box::new(self.state(before, true)?), Box::new(self.linear(reach, true)?))
            }
            (Ctl::AllUntil(before, reach), false) => {
                self.exact &= is_local(reach);
                Ltl::Release(Box::new(self.linear(before, false)?), Box::new(self.state(reach, false)?))
            }
            (Ctl::ExistsNext(_), false) | (Ctl::ExistsUntil(..), false) | (Ctl::AllUntil(..), true)
                if self.weak =>
            {
                self.state(formula, truth)?
            }
            (Ctl::ExistsNext(_), false) | (Ctl::ExistsUntil(..), false) | (Ctl::AllUntil(..), true) => {
                self.exact = false;
                match sure(formula, truth, self.preds) {
                    pred if pred == Pred::True.not() => return None,
                    pred => self.pred(pred, true),
                }
            }
            (Ctl::Pred(_), _) => return None,
        })
    }
}

/// Whether a marking alone decides a formula.
pub(crate) fn is_local(formula: &Ctl) -> bool {
    match formula {
        Ctl::Pred(_) => true,
        Ctl::Not(inner) => is_local(inner),
        Ctl::And(parts) | Ctl::Or(parts) => parts.iter().all(is_local),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{Budget, Limits};
    use crate::ctl::label;
    use crate::explore::explore;
    use crate::formula::Sum;
    use crate::net::Arcs;
    use std::time::Duration;

    #[test]
    fn a_run_is_found_beside_very_many_others() {
        // From place 0 there are two ways: 2^60 sequences of the transitions 2 and 3, or one of transition 4 to a marked place 3
        // with an empty place 2.
        let arcs = |inputs: &[(u32, u64)], outputs: &[(u32, u64)]| Arcs {
            inputs: inputs.into(),
            outputs: outputs.into(),
        };
        let many = arcs(&[(1, 1)], &[]);
        let transitions = [
            arcs(&[(0, 1)], &[(1, 60)]),
            arcs(&[(0, 1)], &[(2, 60), (3, 1)]),
            many.clone(),
            many,
            arcs(&[(2, 1)], &[]),
        ];
        let net = Compiled::new(vec![1, 0, 0, 0], &transitions);
        let limits = Limits::new(&Budget::of_time(Duration::from_secs(3600)));
        let graph = explore(&net, &net.initial, &limits);
        let at_most = |place, constant| {
            Pred::Le(Sum { places: vec![place], constant: 0 }, Sum { places: Vec::new(), constant })
        };
        let preds = [Pred::And(vec![at_most(3, 0).not(), at_most(2, 0)])];
        let labels = label(&net, &graph, &preds, &limits).unwrap();
        let checker = Checker::new(&net, &graph, &limits).unwrap();
        let nested = |least: &dyn Fn(Ctl) -> Ctl| {
            (0..61).fold(Ctl::Pred(0), |inner, _| Ctl::ExistsNext(Box::new(least(inner))))
        };
        let or = |inner| Ctl::Or(vec![Ctl::Pred(0), inner]);
        for formula in [nested(&|inner| inner), nested(&or)] {
            let run = Runs::new(&graph, &checker, &labels).find(&formula, true).unwrap();
            assert_eq!(graph.store.transitions_along(&net, &run.states), [vec![1], vec![4; 60]].concat());
        }
    }

    #[test]
    fn no_run_of_a_weaker_formula_shows_the_opposite() {
        let [p, q, always] = [0, 1, 2].map(Ctl::Pred);
        let until = |before: &Ctl, reach: Ctl| Ctl::AllUntil(Box::new(before.clone()), Box::new(reach));
        let preds = [Pred::Fireable(vec![0]), Pred::Fireable(vec![1]), Pred::True];
        // AF (p or EG q): false only if p is false in all markings of a run.
        let formula = until(&always, Ctl::Or(vec![p.clone(), until(&always, q.negated()).negated()]));
        let all = searches(&formula, &preds);
        let weak = all.iter().find(|search| !search.shows && search.exact).unwrap();
        assert!(!weak.enough, "{weak:?}");
        // Of AF p each run is exact, so that no weaker one is sought.
        assert!(searches(&until(&always, p), &preds).iter().all(|search| search.enough || search.shows));
    }
}
