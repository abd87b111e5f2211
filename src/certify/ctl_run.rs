//! Finds a run that decides a CTL formula alone, where one exists in the known graph. Along the run the formula is
//! three-valued: what other runs do is unknown, so "some run" can be shown and "every run" refuted.

use crate::ctl::Checker;
use crate::explore::Explored;
use crate::formula::{Ltl, Pred};
use crate::net::Compiled;
use crate::next_firing::before_some;
use crate::questions::RunSearch;
use crate::store::State;
use mcc_base::state_graph::States;
use mcc_model::Ctl;
use std::collections::{HashMap, VecDeque};

/// Largest number of states that one search visits.
const MAX_VISITED: usize = 200_000;

/// A search for a run in a known graph.
pub(crate) struct Runs<'a> {
    pub(crate) graph: &'a Explored<'a>,
    pub(crate) checker: &'a Checker<'a>,
    /// The states of each predicate.
    pub(crate) labels: &'a [States],
}

/// A run by its states; `loop_start` is the position of the state that follows the last one again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StateRun {
    pub(crate) states: Vec<State>,
    pub(crate) loop_start: Option<usize>,
}

impl Runs<'_> {
    /// A run from the initial state that shows that the formula has this truth there.
    pub(crate) fn find(&self, formula: &Ctl, truth: bool) -> Option<StateRun> {
        self.extend(formula, truth, StateRun { states: vec![0], loop_start: None })
    }

    /// Whether a state has no successor.
    fn is_dead(&self, state: State) -> bool {
        self.graph.successors(state).is_empty() && !self.checker.is_open(state)
    }

    /// Whether the marking alone shows that the formula has this truth in it.
    fn is_local(&self, formula: &Ctl, truth: bool, state: State) -> bool {
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

    /// Extends a run so that it shows the truth of the formula in its last state.
    fn extend(&self, formula: &Ctl, truth: bool, mut run: StateRun) -> Option<StateRun> {
        let here = run.states[run.states.len() - 1];
        if self.is_local(formula, truth, here) {
            return Some(run);
        }
        match (formula, truth) {
            (Ctl::Not(inner), _) => self.extend(inner, !truth, run),
            (Ctl::And(parts), true) | (Ctl::Or(parts), false) => {
                // One run serves one part; the others must be local.
                let mut left = parts.iter().filter(|part| !self.is_local(part, truth, here));
                let (Some(part), None) = (left.next(), left.next()) else { return None };
                self.extend(part, truth, run)
            }
            (Ctl::And(parts) | Ctl::Or(parts), _) => {
                parts.iter().find_map(|part| self.extend(part, truth, run.clone()))
            }
            (Ctl::ExistsNext(inner), true) => self.graph.successors(here).iter().find_map(|next| {
                let mut longer = run.clone();
                longer.states.push(*next);
                self.extend(inner, true, longer)
            }),
            (Ctl::ExistsUntil(before, reach), true) => {
                let passes = |state| self.is_local(before, true, state);
                if let Some(more) = self.path(here, passes, |state| self.is_local(reach, true, state)) {
                    run.states.extend(more);
                    return Some(run);
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
                Some(run)
            }
            _ => None,
        }
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
            for &next in self.graph.successors(state) {
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
        let mut linear = Linear { preds, used: Vec::new(), exact: true, weak };
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
    used: Vec<Pred>,
    /// Whether such a run exists if the formula has this truth.
    exact: bool,
    /// Whether the run only has to exist if the formula has this truth.
    weak: bool,
}

impl Linear<'_> {
    fn pred(&mut self, pred: Pred, truth: bool) -> Ltl {
        let known = self.used.iter().position(|used| *used == pred);
        let number = known.unwrap_or_else(|| {
            self.used.push(pred);
            self.used.len() - 1
        });
        Ltl::Pred(number, truth)
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
