//! Decides questions on the known graph of reachable markings, complete or not.

use crate::automaton::Automaton;
use crate::budget::{Limits, Stop};
use crate::ctl::{self, Checker};
use crate::ctl_run::{Runs, StateRun};
use crate::diagram::formulas::Sets;
use crate::diagram::{Diagram, orders};
use crate::engine::{Engine, Evidence, Item, Statistics, Trace, firing_each};
use crate::explore::Explored;
use crate::formula::{Pred, SIZE_OF_STEP, Sum};
use crate::global::{Survey, live, survey};
use crate::net::Compiled;
use crate::questions::{Kind, Metric, RunSearch};
use crate::space::{Run, search_growing, search_known};
use mcc_checker::Value;
use std::cmp::Reverse;

/// The states of a part on which formulas of CTL and LTL are tried.
const PART_STATES: usize = 300_000;
/// The steps for a formula on the complete graph when it is tried first; then four times as many, and so on.
const FORMULA_STEPS: u64 = 1 << 20;
/// Seeds of the searches in random order. The first search uses the order of the net.
const SEEDS: [u64; 4] = [0, 1, 2, 3];

const COLOURS_CHANGE: &str = "a coloured place keeps its number of tokens but not their colours, and the rules do not say whether it is stable";

impl Engine<'_> {
    /// Decides what the complete graph decides: everything, if the steps allow it.
    pub(crate) fn decide_by_all(&mut self, graph: &Explored<'_>, limits: &Limits<'_>) -> Result<(), Stop> {
        let found = survey(self.named, graph, limits)?;
        self.simple(graph, &found, limits)?;
        let mut steps = FORMULA_STEPS;
        // A formula that needs many steps does not take those of the others.
        loop {
            let by_ctl = self.ctl(graph, steps, limits);
            let by_ltl = self.runs_in(graph, steps, limits);
            let stops = [by_ctl, by_ltl].map(Result::err);
            let other = stops.iter().flatten().find(|stop| **stop != Stop::Time);
            if let Some(stop) = other.cloned() {
                return Err(stop);
            }
            if stops == [None, None] {
                return Ok(());
            }
            limits.check()?;
            steps = steps.saturating_mul(4);
        }
    }

    /// Decides what a part of the graph decides. Only its first states are kept.
    pub(crate) fn decide_by_part(
        &mut self,
        graph: &mut Explored<'_>,
        limits: &Limits<'_>,
    ) -> Result<(), Stop> {
        let found = survey(self.named, graph, &limits.share(0.2, 1.0))?;
        self.simple(graph, &found, &limits.share(0.3, 1.0))?;
        // No more states than the predicates of the CTL formulas can be evaluated in.
        let size = |examination: usize| -> u64 {
            self.examinations[examination].preds.iter().map(|pred| pred.size(&self.named.net)).sum()
        };
        let mut examinations: Vec<usize> = self
            .wanted(|item| matches!(item.kind, Kind::Ctl(_)))
            .into_iter()
            .map(|item| self.items[item].examination)
            .collect();
        examinations.dedup();
        let cost: u64 = examinations.into_iter().map(|one| 1 + size(one) / SIZE_OF_STEP).sum();
        let evaluated = limits.left() / (2 * cost.max(1));
        graph.keep(PART_STATES.min(usize::try_from(evaluated).unwrap_or(PART_STATES)).max(1));
        let each = |share: f64, count: usize| (limits.left() as f64 * share) as u64 / count.max(1) as u64;
        let steps = each(0.7, self.wanted(|item| matches!(item.kind, Kind::Ctl(_))).len());
        self.ctl(graph, steps, &limits.share(0.7, 1.0)).or_else(ignore_time)?;
        let steps = each(1.0, self.wanted(|item| !item.runs().is_empty()).len());
        self.runs_in(graph, steps, limits).or_else(ignore_time)
    }

    /// StateSpace, bounds, reachability and global properties.
    fn simple(&mut self, graph: &Explored<'_>, found: &Survey, limits: &Limits<'_>) -> Result<(), Stop> {
        let (named, net) = (self.named, &self.named.net);
        // All predicates and sums in one pass: the first state of each predicate, the largest value of each sum.
        let mut preds: Vec<(&Pred, Option<u32>)> = Vec::new();
        let mut sums: Vec<(&Sum, u128, u32)> = Vec::new();
        for item in &self.items {
            match &item.kind {
                Kind::Reach { pred: Pred::Dead, .. } => preds.push((&Pred::Dead, found.dead)),
                Kind::Reach { pred, .. } => preds.push((pred, None)),
                Kind::Bound(sum) => sums.push((sum, sum.value(&net.initial), 0)),
                _ => {}
            }
        }
        let sizes = preds.iter().map(|(pred, _)| pred.size(net)).sum::<u64>()
            + sums.iter().map(|(sum, ..)| sum.places.len() as u64).sum::<u64>();
        let ended = graph.each(net, limits, 1 + sizes / SIZE_OF_STEP, |state, marking| {
            for (pred, first) in &mut preds {
                if first.is_none() && **pred != Pred::Dead && pred.holds(net, &marking.tokens) {
                    *first = Some(state);
                }
            }
            for (sum, value, at) in &mut sums {
                let here = sum.value(&marking.tokens);
                if here > *value {
                    (*value, *at) = (here, state);
                }
            }
        });
        if graph.is_complete() {
            ended?;
        }
        let (mut preds, mut sums) = (preds.into_iter(), sums.into_iter());
        let complete = graph.is_complete();
        let statistics = statistics(graph);
        let explored = |value| Found::Exactly(value, Evidence::Explored(statistics));
        let path = |state| graph.path_to(net, state);
        let witness = |value, states: &[u32]| {
            let paths = states.iter().map(|state| path(*state)).collect();
            Found::Exactly(Value::Truth(value), Evidence::Witness(Trace::Paths(paths)))
        };
        let number = |value: u128, at: u32| {
            if complete {
                explored(Value::Number(value.into()))
            } else {
                Found::AtLeast(value, Trace::Paths(vec![path(at)]))
            }
        };
        // One path for each of the first states, without repetition.
        let all = |states: &[Option<u32>]| -> Option<Vec<u32>> {
            let mut states: Vec<u32> = states.iter().copied().collect::<Option<_>>()?;
            if states.is_empty() {
                states.push(0);
            }
            states.sort_unstable();
            states.dedup();
            Some(states)
        };
        let is_live = if complete
            && self.items.iter().any(|item| matches!(item.kind, Kind::Liveness))
            && (found.dead.is_none() || net.transitions() == 0)
        {
            Some(live(named, graph, limits)?)
        } else {
            None
        };
        let mut all_found = Vec::new();
        for item in &self.items {
            all_found.push(match &item.kind {
                Kind::Metric(Metric::States) if complete => {
                    Some(explored(Value::Number(graph.states().into())))
                }
                Kind::Metric(Metric::Transitions) if complete => {
                    Some(explored(Value::Number(graph.firings().into())))
                }
                Kind::Metric(Metric::InPlace) => Some(number(found.in_place.0, found.in_place.1)),
                Kind::Metric(Metric::PerMarking) => Some(number(found.per_marking.0, found.per_marking.1)),
                Kind::Bound(_) => sums.next().map(|(_, value, at)| number(value, at)),
                Kind::Reach { found, .. } => match preds.next().and_then(|(_, first)| first) {
                    Some(state) => Some(witness(*found, &[state])),
                    None => complete.then(|| explored(Value::Truth(!found))),
                },
                Kind::OneSafe => match found.not_safe {
                    Some(state) => Some(witness(false, &[state])),
                    None => complete.then(|| explored(Value::Truth(true))),
                },
                Kind::QuasiLiveness => match found.enabled.iter().copied().collect::<Option<Vec<u32>>>() {
                    None => complete.then(|| explored(Value::Truth(false))),
                    Some(states) => {
                        // A state that was found later has no shorter path.
                        let mut order: Vec<usize> = (0..states.len()).collect();
                        order.sort_by_key(|transition| Reverse(states[*transition]));
                        let path = |transition: usize| {
                            limits.check().ok()?;
                            Some(path(states[transition]))
                        };
                        match firing_each(named, order, path) {
                            Some(runs) => Some(Found::Exactly(
                                Value::Truth(true),
                                Evidence::Witness(Trace::Paths(runs)),
                            )),
                            None => complete.then(|| explored(Value::Truth(true))),
                        }
                    }
                },
                Kind::StableMarking => match all(&found.changed) {
                    Some(states) => Some(witness(false, &states)),
                    None if complete && found.constant.contains(&true) => Some(explored(Value::Truth(true))),
                    None if complete => Some(Found::Nothing(COLOURS_CHANGE)),
                    None => None,
                },
                Kind::Liveness => match (found.dead, is_live) {
                    (Some(state), _) if net.transitions() > 0 => Some(witness(false, &[state])),
                    (_, Some(value)) => Some(explored(Value::Truth(value))),
                    _ => None,
                },
                _ => None,
            });
        }
        for (item, found) in self.items.iter_mut().zip(all_found) {
            match found {
                Some(Found::Exactly(value, evidence)) => item.decide(value, evidence),
                Some(Found::AtLeast(value, trace)) => item.at_least(value, trace),
                Some(Found::Nothing(reason)) => item.reason = Some(reason.to_owned()),
                None => {}
            }
        }
        Ok(())
    }

    /// All but LTL by a decision diagram of all markings.
    pub(crate) fn decide_by_diagram(&mut self, limits: &Limits<'_>) {
        let wanted = self.wanted(|item| {
            item.part.is_none() && !item.has_diagram() && !matches!(item.kind, Kind::Ltl(_) | Kind::Wrong(_))
        });
        if wanted.is_empty() {
            return;
        }
        // Half of the steps are for the search of an order in which the diagram is small. It is kept for later rounds.
        let orders = match &self.order {
            Some(known) => vec![known.clone()],
            None => orders(&self.named.net, limits).map_or(Vec::new(), Vec::from),
        };
        let search = limits.share(0.5, 1.0);
        for (number, order) in orders.iter().enumerate() {
            let search = search.share(1.0 / (orders.len() - number) as f64, 1.0);
            let Ok(mut diagram) = Diagram::new(&self.named.net, order, &search) else { continue };
            self.order = Some(order.clone());
            let statistics = Statistics { nodes: diagram.size(), complete: true, ..Statistics::default() };
            // What it decides until its end is kept.
            let mut values = Vec::new();
            let _ended = diagram
                .continue_with(limits)
                .and_then(|()| self.by_diagram(&wanted, &mut diagram, &mut values));
            for (item, value) in values {
                let item = &mut self.items[item];
                match item.kind {
                    Kind::Metric(Metric::States | Metric::Transitions) => {
                        item.decide(value, Evidence::Explored(statistics));
                    }
                    _ => item.decide_by_diagram(value, statistics),
                }
            }
            return;
        }
    }

    fn by_diagram(
        &self,
        wanted: &[usize],
        diagram: &mut Diagram<'_>,
        values: &mut Vec<(usize, Value)>,
    ) -> Result<(), Stop> {
        let mut others = Vec::new();
        for &item in wanted {
            let number = match &self.items[item].kind {
                Kind::Metric(Metric::States) => diagram.states(),
                Kind::Metric(Metric::Transitions) => diagram.firings()?,
                Kind::Metric(Metric::InPlace) => diagram.in_place().into(),
                Kind::Metric(Metric::PerMarking) => {
                    let places = (0..self.named.net.places() as u32).collect();
                    diagram.largest(&Sum { places, constant: 0 })?.into()
                }
                Kind::Bound(sum) => diagram.largest(sum)?.into(),
                _ => {
                    others.push(item);
                    continue;
                }
            };
            values.push((item, Value::Number(number)));
        }
        let all: Vec<u32> = (0..self.named.net.transitions() as u32).collect();
        diagram.limits().spend(self.structure.steps())?;
        let all_runs_end = !self.structure.can_repeat(&all, diagram.limits().end());
        let mut sets = Sets::new(diagram, all_runs_end);
        for (number, &item) in others.iter().enumerate() {
            sets.share(1.0 / (others.len() - number) as f64);
            match self.by_sets(&self.items[item], &mut sets) {
                Ok(Some(truth)) => values.push((item, Value::Truth(truth))),
                Ok(None) | Err(Stop::Time) => {}
                Err(stop) => return Err(stop),
            }
        }
        Ok(())
    }

    /// The truth of a question by sets of markings. None: they do not decide it.
    fn by_sets(&self, item: &Item, sets: &mut Sets<'_, '_>) -> Result<Option<bool>, Stop> {
        let has_transitions = !self.named.transitions.is_empty();
        Ok(match &item.kind {
            Kind::Reach { pred, found } => Some(sets.is_reachable(pred)? == *found),
            Kind::Ctl(formula) => {
                Some(sets.holds_initially(formula, &self.examinations[item.examination].preds)?)
            }
            Kind::QuasiLiveness if has_transitions => Some(sets.all_enabled(self.named, false)?),
            Kind::Liveness if has_transitions => Some(sets.all_enabled(self.named, true)?),
            Kind::OneSafe => Some(sets.is_safe(self.named)?),
            Kind::StableMarking => sets.is_stable(self.named),
            _ => None,
        })
    }

    /// CTL formulas by fixpoints, with these steps for each.
    fn ctl(&mut self, graph: &Explored<'_>, steps: u64, limits: &Limits<'_>) -> Result<(), Stop> {
        let wanted = self.wanted(|item| matches!(item.kind, Kind::Ctl(_)));
        if wanted.is_empty() {
            return Ok(());
        }
        let net = &self.named.net;
        let checker = Checker::new(net, graph, limits)?;
        let mut ended = Ok(());
        for (number, examination) in self.examinations.iter().enumerate() {
            let of_this: Vec<usize> =
                wanted.iter().copied().filter(|item| self.items[*item].examination == number).collect();
            if of_this.is_empty() {
                continue;
            }
            let labels = ctl::label(net, graph, &examination.preds, limits)?;
            for item in of_this {
                let Kind::Ctl(formula) = &self.items[item].kind else { continue };
                match checker.holds_initially(formula, &labels, &limits.part(steps, 1.0)) {
                    Ok(None) => {}
                    Ok(Some(value)) => {
                        let evidence = match Runs::new(graph, &checker, &labels).find(formula, value) {
                            Some(run) => Evidence::Witness(trace(net, graph, &run)),
                            None => Evidence::Explored(statistics(graph)),
                        };
                        self.items[item].decide(Value::Truth(value), evidence);
                    }
                    Err(stop) => ended = Err(stop),
                }
            }
            ctl::give_back(labels, graph, limits);
        }
        ended
    }

    /// Runs that decide a formula alone, in the known graph, with these steps for each formula.
    fn runs_in(&mut self, graph: &Explored<'_>, steps: u64, limits: &Limits<'_>) -> Result<(), Stop> {
        let complete = graph.is_complete();
        let mut ended = Ok(());
        for item in self.wanted(|item| !item.runs().is_empty()) {
            if complete && matches!(self.items[item].kind, Kind::Ctl(_)) {
                continue;
            }
            let limits = limits.part(steps, 1.0);
            let found = self.search_runs(item, |net, preds, automaton| {
                let run = search_known(net, graph, preds, automaton, &limits)?;
                Ok(run.map(|run| (run, statistics(graph))))
            });
            ended = found.and(ended);
        }
        ended
    }

    /// The same in a graph that is made by the search, in several orders.
    pub(crate) fn runs_beyond(&mut self, largest: &[u64], limits: &Limits<'_>) {
        let wanted = self.wanted(|item| !item.runs().is_empty());
        for (number, &item) in wanted.iter().enumerate() {
            let limits = limits.share(1.0 / (wanted.len() - number) as f64, 1.0);
            for (number, seed) in SEEDS.into_iter().enumerate() {
                if !self.is_wanted(item) {
                    break;
                }
                let share = 1.0 / (SEEDS.len() - number) as f64;
                let searches = self.items[item].runs().len().max(1) as u64;
                let part = limits.share(share, 1.0);
                // An error only means that this search found nothing.
                let _ended = self.search_runs(item, |net, preds, automaton| {
                    let limits = part.part(part.left() / searches, 1.0);
                    let (run, states) = search_growing(net, largest, preds, automaton, seed, &limits)?;
                    let statistics = Statistics { states: states as u64, ..Statistics::default() };
                    Ok(Some((run, statistics)))
                });
            }
        }
    }

    /// Searches the runs that decide an item alone. `search` returns a run, none if there is none, or None if it is unknown.
    fn search_runs(
        &mut self,
        item: usize,
        mut search: impl FnMut(
            &Compiled,
            &[Pred],
            &mut Automaton,
        ) -> Result<Option<(Option<Run>, Statistics)>, Stop>,
    ) -> Result<(), Stop> {
        let net = &self.named.net;
        let mut ended = Ok(());
        let mut decided = None;
        let mut in_vain = Vec::new();
        for (number, search_of) in self.items[item].runs().iter().enumerate() {
            let RunSearch { formula, preds, shows, enough, exact } = search_of;
            let found = Automaton::new(formula).and_then(|mut automaton| search(net, preds, &mut automaton));
            match found {
                Ok(Some((Some(_), _))) if !enough => in_vain.push(number),
                Ok(Some((Some(run), _))) => decided = Some((*shows, Evidence::Witness(trace_of(run)))),
                Ok(Some((None, statistics))) if *exact => {
                    decided = Some((!*shows, Evidence::Explored(statistics)));
                }
                Ok(_) => {}
                Err(stop) => ended = Err(stop),
            }
            if decided.is_some() {
                break;
            }
        }
        in_vain.into_iter().rev().for_each(|number| {
            self.items[item].searches.remove(number);
        });
        if let Some((value, evidence)) = decided {
            self.items[item].decide(Value::Truth(value), evidence);
            return Ok(());
        }
        ended
    }
}

/// What a pass over the known graph found.
enum Found {
    Exactly(Value, Evidence),
    AtLeast(u128, Trace),
    Nothing(&'static str),
}

fn ignore_time(stop: Stop) -> Result<(), Stop> {
    if stop == Stop::Time { Ok(()) } else { Err(stop) }
}

fn statistics(graph: &Explored<'_>) -> Statistics {
    Statistics {
        states: graph.states() as u64,
        firings: graph.firings() as u64,
        complete: graph.is_complete(),
        ..Statistics::default()
    }
}

/// The transitions of a run.
fn trace(net: &Compiled, graph: &Explored<'_>, run: &StateRun) -> Trace {
    match run.loop_start {
        None => Trace::Paths(vec![graph.store.transitions_along(net, &run.states)]),
        Some(start) => Trace::Lasso(
            graph.store.transitions_along(net, &run.states[..=start]),
            graph.store.transitions_along(net, &run.states[start..]),
        ),
    }
}

fn trace_of(run: Run) -> Trace {
    match run {
        Run { stem, cycle: None } => Trace::Paths(vec![stem]),
        Run { stem, cycle: Some(cycle) } => Trace::Lasso(stem, cycle),
    }
}
