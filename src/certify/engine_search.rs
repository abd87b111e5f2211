//! Searches witnesses of what the known graph does not decide, and excludes runs by the state equation.

use crate::budget::Limits;
use crate::ctl_run::target;
use crate::engine::{Engine, Evidence, Statistics, Trace, firing_each};
use crate::formula::{Pred, Sum};
use crate::growth::{Growth, grow, grow_in_parts};
use crate::net::{Compiled, Marking, Named};
use crate::proof::{Condition, Prover};
use crate::proof_lp::Linear;
use crate::questions::{Kind, Metric};
use crate::relaxed_plan::follow_plans;
use crate::search::{Aim, Goal, MANY_TOKENS, best_first, guided, walk, walk_in_bulk, without_cycles};
use mcc_base::random::SplitMix;
use mcc_checker::Value;
use std::cmp::Reverse;
use std::ops::Range;

impl Engine<'_> {
    /// Searches runs that show that a number of tokens is unbounded.
    pub(crate) fn decide_unbounded(&mut self, seed: u64, limits: &Limits<'_>) {
        let wanted: Vec<(usize, Value, Option<Sum>)> = (0..self.items.len())
            .filter(|item| self.is_wanted(*item))
            .filter_map(|item| match &self.items[item].kind {
                Kind::Bound(sum) => Some((item, Value::Infinite, Some(sum.clone()))),
                // Tokens that are added to one place are added to all, and each of these markings is another one.
                Kind::Metric(_) => Some((item, Value::Infinite, None)),
                Kind::OneSafe => Some((item, Value::Truth(false), None)),
                _ => None,
            })
            .collect();
        let mut growths: Vec<Growth> =
            wanted.iter().map(|(_, _, sum)| Growth { sum: sum.clone(), found: None }).collect();
        grow_in_parts(&self.named.net, &mut growths, seed, &limits.share(0.5, 0.0));
        grow(&self.named.net, &mut growths, seed, limits);
        for ((item, value, _), growth) in wanted.into_iter().zip(growths) {
            if let Some((path, part)) = growth.found {
                let trace = Trace::Growth(without_cycles(&self.named.net, &path), part);
                self.items[item].decide(value, Evidence::Witness(trace));
            }
        }
    }

    /// Searches markings that decide what is open.
    pub(crate) fn decide_by_search(&mut self, largest: &Marking, round: u64, limits: &Limits<'_>) {
        let (named, net) = (self.named, &self.named.net);
        // The goals that together decide an item, with the truth that they show; without one for a largest number.
        let mut goals: Vec<Goal> = Vec::new();
        let mut wanted = Vec::new();
        for item in self.wanted(|_| true) {
            let Self { items, examinations, .. } = &*self;
            let preds = &examinations[items[item].examination].preds;
            let kind = &items[item].kind;
            let ahead =
                ahead(net, kind, preds).into_iter().map(|(aim, truth)| (vec![aim], Some(truth), true));
            let alone = aims(named, kind, preds).into_iter().map(|(aims, truth)| (aims, truth, false));
            for (aims, truth, is_ahead) in alone.chain(ahead) {
                let start = goals.len();
                goals.extend(aims.into_iter().map(Goal::new));
                wanted.push((item, start..goals.len(), truth, is_ahead));
            }
        }
        if goals.is_empty() {
            return;
        }
        let many = largest.iter().any(|tokens| *tokens >= MANY_TOKENS);
        if many {
            walk_in_bulk(net, &mut goals, 51 + round, &limits.share(0.25, 0.0));
        }
        walk(net, &mut goals, 7 + round, &limits.share(0.35, 0.0));
        follow_plans(net, &mut goals, &limits.share(0.2, 0.0));
        let open = |goals: &[Goal]| -> Vec<usize> {
            (0..goals.len()).filter(|goal| !goals[*goal].is_reached()).collect()
        };
        let left = open(&goals);
        let by_equation = limits.share(0.35, 0.0);
        for (number, &goal) in left.iter().enumerate() {
            let share = by_equation.share(1.0 / (left.len() - number) as f64, 0.0);
            self.follow_equation(&mut goals[goal], many, round, &share);
        }
        let left = open(&goals);
        let by_distance = limits.share(0.7, 1.0);
        for (number, &goal) in left.iter().enumerate() {
            let share = by_distance.share(1.0 / (left.len() - number) as f64, 1.0);
            // What it found until its budget ended is kept.
            let _ended = best_first(net, &mut goals[goal], largest, 1 + round, &share);
        }
        walk(net, &mut goals, 99 + round, &limits.share(1.0, 0.0));
        for (item, range, truth, is_ahead) in wanted {
            let paths = || -> Option<Vec<Vec<u32>>> {
                let paths = goals[range.clone()].iter();
                paths.map(|goal| Some(without_cycles(net, goal.path.as_ref()?))).collect()
            };
            let Some(truth) = truth else {
                if let (Some(value), Some(mut paths)) = (goals[range.start].value, paths())
                    && let Some(path) = paths.pop()
                {
                    self.items[item].at_least(value, Trace::Paths(vec![path]));
                }
                continue;
            };
            let runs = match &self.items[item].kind {
                Kind::QuasiLiveness => paths().and_then(|paths| {
                    let mut order: Vec<usize> = (0..paths.len()).collect();
                    order.sort_by_key(|transition| Reverse(paths[*transition].len()));
                    firing_each(named, order, |transition| Some(paths[transition].clone()))
                }),
                _ => paths(),
            };
            if let Some(runs) = runs {
                let evidence = if is_ahead {
                    Evidence::Explored(Statistics { conditions: 1, ..Statistics::default() })
                } else {
                    Evidence::Witness(Trace::Paths(runs))
                };
                self.items[item].decide(Value::Truth(truth), evidence);
            }
        }
    }

    /// Walks by the firings of solutions of the state equation.
    fn follow_equation(&self, goal: &mut Goal, many: bool, round: u64, limits: &Limits<'_>) {
        let net = &self.named.net;
        let condition = match &goal.aim {
            Aim::Reach(pred) => {
                let Some(condition) = Condition::from_pred(pred, true, net) else { return };
                condition
            }
            Aim::Largest(sum) => {
                let Some(sum) = Linear::sum(&sum.places) else { return };
                if limits.spend(self.structure.steps()).is_err() {
                    return;
                }
                let Some(bound) = self.structure.upper_bound(&sum, limits.end()) else { return };
                let Ok(bound) = i128::try_from(bound.bound) else { return };
                if goal.value.is_some_and(|value| i128::try_from(value).is_ok_and(|value| value >= bound)) {
                    return;
                }
                Condition::Linear(Linear { bound, ..sum })
            }
        };
        let prover = Prover::new(&self.structure, limits.end());
        for attempt in 0..4 {
            let mut random = SplitMix(round * 4 + attempt);
            let limits = limits.share(1.0 / (4 - attempt) as f64, 0.0);
            let Some(firings) = prover.firings(condition.clone(), &mut random, &limits.share(0.7, 0.0))
            else {
                return;
            };
            guided(net, goal, &firings, many, &mut random, &limits);
            if goal.is_reached() {
                return;
            }
        }
    }

    /// Shows that no run satisfies a formula by the state equation alone.
    pub(crate) fn exclude_runs(&mut self, limits: &Limits<'_>) {
        let wanted = self.wanted(|item| !item.runs().is_empty());
        for (number, &item) in wanted.iter().enumerate() {
            let share = limits.share(1.0 / (wanted.len() - number) as f64, 0.0);
            let searches = self.items[item].runs().iter().filter(|search| search.exact);
            let excluded = searches
                .map(|search| {
                    (search.shows, crate::fair::excludes(self.named, &self.structure, search, &share))
                })
                .find_map(|(shows, programs)| Some((shows, programs?)));
            if let Some((shows, conditions)) = excluded {
                let statistics = Statistics { conditions, ..Statistics::default() };
                self.items[item].decide(Value::Truth(!shows), Evidence::Explored(statistics));
            }
        }
    }
}

/// The markings that decide a formula of CTL together with those after one firing, with the truth that they show.
fn ahead(net: &Compiled, kind: &Kind, preds: &[Pred]) -> Vec<(Aim, bool)> {
    let Kind::Ctl(formula) = kind else { return Vec::new() };
    let initially = |pred: &Pred| pred.holds(net, &net.initial);
    let aim = |truth| {
        let [alone, ahead] = [None, Some(net)].map(|net| target(formula, truth, preds, &initially, net));
        (alone != ahead).then(|| Some((Aim::Reach(ahead?), truth))).flatten()
    };
    [true, false].into_iter().filter_map(aim).collect()
}

/// The markings that decide a question: sets of aims, each with the truth that it shows; of a number a large one.
fn aims(named: &Named, kind: &Kind, preds: &[Pred]) -> Vec<(Vec<Aim>, Option<bool>)> {
    let sum = |range: &Range<u32>| Sum { places: range.clone().collect(), constant: 0 };
    let constant = |constant| Sum { places: Vec::new(), constant };
    let net = &named.net;
    match kind {
        Kind::Reach { pred, found } => vec![(vec![Aim::Reach(pred.clone())], Some(*found))],
        Kind::Bound(sum) => vec![(vec![Aim::Largest(sum.clone())], None)],
        Kind::Metric(Metric::PerMarking) => {
            let all = Sum { places: (0..net.places() as u32).collect(), constant: 0 };
            vec![(vec![Aim::Largest(all)], None)]
        }
        Kind::Ctl(formula) => {
            let initially = |pred: &Pred| pred.holds(net, &net.initial);
            let aim = |truth| {
                let target = target(formula, truth, preds, &initially, None)?;
                Some((vec![Aim::Reach(target)], Some(truth)))
            };
            [true, false].into_iter().filter_map(aim).collect()
        }
        Kind::OneSafe => {
            let over = |range| Pred::Le(sum(range), constant(1)).not();
            vec![(vec![Aim::Reach(Pred::Or(named.places.iter().map(over).collect()))], Some(false))]
        }
        Kind::Liveness if net.transitions() > 0 => vec![(vec![Aim::Reach(Pred::Dead)], Some(false))],
        Kind::QuasiLiveness => {
            let enabled = |range: &Range<u32>| Aim::Reach(Pred::Fireable(range.clone().collect()));
            vec![(named.transitions.iter().map(enabled).collect(), Some(true))]
        }
        Kind::StableMarking => {
            let changed = |range: &Range<u32>| {
                let mut tokens = range.clone().map(|place| net.initial[place as usize]);
                let initial = tokens.try_fold(0, u64::checked_add)?;
                let same = [Pred::Le(sum(range), constant(initial)), Pred::Le(constant(initial), sum(range))];
                Some(Aim::Reach(Pred::And(same.into()).not()))
            };
            let aims: Option<Vec<Aim>> = named.places.iter().map(changed).collect();
            aims.into_iter().map(|aims| (aims, Some(false))).collect()
        }
        _ => Vec::new(),
    }
}
