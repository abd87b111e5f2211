//! Decides the values of an instance: explores it once for all examinations, and searches witnesses where the exploration
//! does not end.

use crate::automaton::Automaton;
use crate::budget::{Budget, Limits, Stop};
use crate::ctl::{self, Checker};
use crate::ctl_run::{Runs, StateRun, target};
use crate::explore::{Explored, explore};
use crate::formula::{Ltl, Names, Pred, Sum};
use crate::global::{Survey, live, survey};
use crate::net::{Compiled, Marking, Named};
use crate::questions::{self, Examination, Kind, Metric};
use crate::search::{Aim, Goal, Growth, best_first, grow, walk, without_cycles};
use crate::space::{Run, search_growing, search_known};
use crate::unfold::unfold;
use mcc_model::{Archive, ArchiveError, NetKind};
use std::cmp::Reverse;
use std::ops::Range;

/// A value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A truth value.
    Truth(bool),
    /// A number: a bound, a count.
    Number(u128),
    /// There is no largest number.
    Infinite,
}

/// The outcome of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The name of the examination.
    pub examination: String,
    /// The id of the property as in its file; of StateSpace the metric (`STATES`, ...); of an examination without a file
    /// its name.
    pub id: String,
    /// The number of a part of the formula; None: the whole formula.
    pub part: Option<usize>,
    /// Whether it was decided, and by what.
    pub outcome: Outcome,
    /// For a largest number: what the initial marking alone has.
    pub initially: Option<u128>,
}

/// Whether a value was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The value and its evidence.
    Decided {
        /// The answer to the question.
        value: Value,
        /// What shows it.
        evidence: Evidence,
    },
    /// No value.
    Open {
        /// The reason, as a sentence without its full stop.
        reason: String,
        /// For a number: a lower bound with its witness.
        at_least: Option<(u128, Trace)>,
    },
}

/// The evidence of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Firing sequences that prove the value.
    Witness(Trace),
    /// An exploration, which has no small certificate.
    Explored(Statistics),
}

/// Firing sequences of a net. A transition is a number of `Instance`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trace {
    /// Sequences from the initial marking, each to a marking that counts.
    Paths(Vec<Vec<u32>>),
    /// A sequence, and one after it that is repeated without end; if that is empty, the first ends in a dead marking.
    Lasso(Vec<u32>, Vec<u32>),
    /// A sequence, and one after it that takes tokens from no place and adds some, so that it can be repeated without end.
    Growth(Vec<u32>, Vec<u32>),
}

/// What an exploration visited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The number of markings.
    pub states: u64,
    /// The number of firings from them.
    pub firings: u64,
    /// Whether these are all reachable markings. Otherwise the value depends on these markings only.
    pub complete: bool,
}

/// Why no question can be answered.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The archive cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The net is too large for the budget.
    #[error("{0}")]
    Stop(#[from] Stop),
}

/// Decides the questions of some examinations of an instance as far as the budget allows. The answers are in the order of
/// the examinations and their property files. One exploration serves all of them, so the budget is that of all.
///
/// # Errors
/// The archive cannot be read, or the net alone needs more than the budget.
pub fn decide(
    archive: &Archive,
    examinations: &[&str],
    budget: &Budget<'_>,
) -> Result<Vec<Answer>, EngineError> {
    let mut answers = decide_with_parts(archive, examinations, budget)?;
    answers.retain(|answer| answer.part.is_none());
    Ok(answers)
}

/// The same, with answers for the parts of formulas.
pub(crate) fn decide_with_parts(
    archive: &Archive,
    examinations: &[&str],
    budget: &Budget<'_>,
) -> Result<Vec<Answer>, EngineError> {
    let limits = Limits::new(budget);
    let named = read_net(archive, &limits)?;
    let names = Names::new(&named);
    let examinations =
        examinations.iter().map(|name| questions::read(archive, name, &names)).collect::<Result<_, _>>()?;
    let mut engine = Engine { named: &named, limits: &limits, examinations, outcomes: Vec::new() };
    engine.run();
    Ok(engine.answers())
}

/// Reads the net of an instance; a coloured one is unfolded.
pub(crate) fn read_net(archive: &Archive, limits: &Limits<'_>) -> Result<Named, EngineError> {
    match archive.instance.kind() {
        NetKind::PlaceTransition => Ok(Named::of_pt(&archive.net()?)),
        NetKind::Coloured => Ok(unfold(archive.symmetric_net()?, limits)?),
    }
}

struct Engine<'a> {
    named: &'a Named,
    limits: &'a Limits<'a>,
    examinations: Vec<Examination>,
    /// By examination and question.
    outcomes: Vec<Vec<Option<Outcome>>>,
}

/// Shares of the time that is left: for a first walk, for the exploration, for formulas on the part that was explored.
const FIRST_WALK: f64 = 0.01;
const EXPLORATION: f64 = 0.3;
const PART: f64 = 0.55;
/// Share of the time for searching unbounded places, where the exploration did not end.
const UNBOUNDED: f64 = 0.03;
/// Shares of the time for the part that was explored: for each of two passes over it, for CTL, for LTL.
const PASS: f64 = 0.15;
const CTL: f64 = 0.3;
const LTL: f64 = 0.9;
/// The states of that part on which formulas of CTL and LTL are tried.
const PART_STATES: usize = 300_000;
/// Seeds of the searches in random order. The first search uses the order of the net.
const SEEDS: [u64; 4] = [0, 1, 2, 3];

impl Engine<'_> {
    fn run(&mut self) {
        self.outcomes =
            self.examinations.iter().map(|examination| vec![None; examination.questions.len()]).collect();
        for (examination, outcomes) in self.examinations.iter().zip(&mut self.outcomes) {
            for (question, outcome) in examination.questions.iter().zip(outcomes) {
                if let Kind::Wrong(reason) = &question.kind {
                    *outcome = Some(open(reason));
                }
            }
        }
        let net = &self.named.net;
        let largest = walk(net, &mut [], 1, &self.limits.share(FIRST_WALK, 0.0));
        let mut reason = Stop::Time;
        let complete = {
            let limits = self.limits.share(EXPLORATION, 0.55);
            let mut graph = explore(net, &largest, &limits);
            let rest = self.limits.rest(if graph.is_complete() { 1.0 } else { PART }, &limits);
            if let Err(stop) = self.decide_by_graph(&mut graph, &largest, &rest) {
                reason = stop;
            }
            if let Some(stop) = &graph.stop {
                reason = stop.clone();
            }
            graph.is_complete()
        };
        if !complete {
            self.decide_unbounded(&self.limits.share(UNBOUNDED, 0.0));
            self.decide_by_search(&largest, &self.limits.share(1.0, 1.0));
        }
        for outcome in self.outcomes.iter_mut().flatten() {
            outcome.get_or_insert_with(|| open(&reason.to_string()));
        }
    }

    fn answers(self) -> Vec<Answer> {
        let examinations = self.examinations.into_iter().zip(self.outcomes);
        examinations
            .flat_map(|(examination, outcomes)| {
                let Examination { name, questions, .. } = examination;
                questions.into_iter().zip(outcomes).map(move |(question, outcome)| Answer {
                    examination: name.clone(),
                    initially: initially(&question.kind, &self.named.net.initial),
                    id: question.id,
                    part: question.part,
                    outcome: outcome.unwrap_or_else(|| open("it was not tried")),
                })
            })
            .collect()
    }

    /// Decides what the known graph decides. Of a part only the first states are kept.
    fn decide_by_graph(
        &mut self,
        graph: &mut Explored<'_>,
        largest: &[u64],
        limits: &Limits<'_>,
    ) -> Result<(), Stop> {
        let share = |part| limits.share(if graph.is_complete() { 1.0 } else { part }, 1.0);
        let found = survey(self.named, graph, &share(PASS))?;
        self.simple(graph, &found, &share(PASS))?;
        if !graph.is_complete() {
            graph.keep(PART_STATES);
        }
        let share = |part| limits.share(if graph.is_complete() { 1.0 } else { part }, 1.0);
        let ctl = self.ctl(graph, &share(CTL));
        self.ltl(graph, largest, &share(LTL));
        ctl
    }

    /// StateSpace, bounds, reachability and global properties.
    fn simple(&mut self, graph: &Explored<'_>, found: &Survey, limits: &Limits<'_>) -> Result<(), Stop> {
        let (named, net) = (self.named, &self.named.net);
        // All predicates and sums in one pass: the first state of each predicate, the largest value of each sum.
        let mut preds: Vec<(&Pred, Option<u32>)> = Vec::new();
        let mut sums: Vec<(&Sum, u128, u32)> = Vec::new();
        for question in self.examinations.iter().flat_map(|examination| &examination.questions) {
            match &question.kind {
                Kind::Reach { pred: Pred::Dead, .. } => preds.push((&Pred::Dead, found.dead)),
                Kind::Reach { pred, .. } => preds.push((pred, None)),
                Kind::Bound(sum) => sums.push((sum, sum.value(&net.initial), 0)),
                _ => {}
            }
        }
        let ended = graph.each(net, limits, |state, marking| {
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
        let explored = |value| Outcome::Decided { value, evidence: Evidence::Explored(statistics) };
        let path = |state| graph.path_to(net, state);
        let witness = |value, states: &[u32]| {
            witnessed(Value::Truth(value), states.iter().map(|state| path(*state)).collect())
        };
        let number = |value: u128, at: u32| {
            if complete {
                explored(Value::Number(value))
            } else {
                Outcome::Open {
                    reason: graph.stop.as_ref().map_or_else(String::new, ToString::to_string),
                    at_least: Some((value, Trace::Paths(vec![path(at)]))),
                }
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
            && self.count(|kind| matches!(kind, Kind::Liveness)) > 0
            && (found.dead.is_none() || net.transitions() == 0)
        {
            Some(live(named, graph, limits)?)
        } else {
            None
        };
        let outcomes = self.outcomes.iter_mut().flatten();
        for (question, outcome) in
            self.examinations.iter().flat_map(|examination| &examination.questions).zip(outcomes)
        {
            let new = match &question.kind {
                Kind::Metric(Metric::States) if complete => {
                    Some(explored(Value::Number(graph.states() as u128)))
                }
                Kind::Metric(Metric::Transitions) if complete => {
                    Some(explored(Value::Number(graph.firings() as u128)))
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
                            Some(runs) => Some(witnessed(Value::Truth(true), runs)),
                            None => complete.then(|| explored(Value::Truth(true))),
                        }
                    }
                },
                Kind::StableMarking => match all(&found.changed) {
                    Some(states) => Some(witness(false, &states)),
                    None if complete && found.constant.contains(&true) => Some(explored(Value::Truth(true))),
                    None if complete => Some(open(COLOURS_CHANGE)),
                    None => None,
                },
                Kind::Liveness => match (found.dead, is_live) {
                    (Some(state), _) if net.transitions() > 0 => Some(witness(false, &[state])),
                    (_, Some(value)) => Some(explored(Value::Truth(value))),
                    _ => None,
                },
                _ => None,
            };
            if new.is_some() {
                *outcome = new;
            }
        }
        Ok(())
    }

    fn ctl(&mut self, graph: &Explored<'_>, limits: &Limits<'_>) -> Result<(), Stop> {
        if self.count(|kind| matches!(kind, Kind::Ctl(_))) == 0 {
            return Ok(());
        }
        let net = &self.named.net;
        let checker = Checker::new(net, graph, limits)?;
        for (examination, outcomes) in self.examinations.iter().zip(&mut self.outcomes) {
            if examination.preds.is_empty() {
                continue;
            }
            let labels = ctl::label(net, graph, &examination.preds, limits)?;
            let mut whole = false;
            for (question, outcome) in examination.questions.iter().zip(outcomes) {
                let Kind::Ctl(formula) = &question.kind else { continue };
                if whole && question.part.is_some() {
                    continue;
                }
                if let Some(value) = checker.holds_initially(formula, &labels)? {
                    let runs = Runs { graph, checker: &checker, labels: &labels };
                    let evidence = match runs.find(formula, value) {
                        Some(run) => Evidence::Witness(trace(net, graph, &run)),
                        None => Evidence::Explored(statistics(graph)),
                    };
                    *outcome = Some(Outcome::Decided { value: Value::Truth(value), evidence });
                }
                if question.part.is_none() {
                    whole = has_witness(outcome.as_ref());
                }
            }
            ctl::give_back(labels, graph, limits);
        }
        Ok(())
    }

    /// LTL: first in the known graph; if that is not complete, in a graph made by the search.
    fn ltl(&mut self, graph: &Explored<'_>, largest: &[u64], limits: &Limits<'_>) {
        let net = &self.named.net;
        let mut left = self.count(|kind| matches!(kind, Kind::Ltl { .. }));
        for (examination, outcomes) in self.examinations.iter().zip(&mut self.outcomes) {
            let mut whole = false;
            for (question, outcome) in examination.questions.iter().zip(outcomes) {
                let Kind::Ltl { negation, exists, preds } = &question.kind else { continue };
                if whole && question.part.is_some() {
                    left -= 1;
                    continue;
                }
                let share = limits.share(1.0 / left as f64, 1.0);
                left -= 1;
                *outcome = match ltl(net, graph, largest, negation, preds, &share) {
                    Ok(Some((run, statistics))) => Some(of_run(run, *exists, statistics)),
                    Ok(None) => None,
                    Err(stop) => Some(open(&stop.to_string())),
                };
                if question.part.is_none() {
                    whole = has_witness(outcome.as_ref());
                }
            }
        }
    }

    fn count(&self, is: impl Fn(&Kind) -> bool) -> usize {
        let questions = self.examinations.iter().flat_map(|examination| &examination.questions);
        questions.filter(|question| is(&question.kind)).count()
    }

    /// Searches runs that show that a number of tokens is unbounded.
    fn decide_unbounded(&mut self, limits: &Limits<'_>) {
        let questions = self.examinations.iter().flat_map(|examination| &examination.questions);
        let (mut growths, mut wanted) = (Vec::new(), Vec::new());
        for (question, outcome) in questions.zip(self.outcomes.iter_mut().flatten()) {
            let (sum, value) = match &question.kind {
                Kind::Bound(sum) => (Some(sum.clone()), Value::Infinite),
                // Tokens that are added to one place are added to all.
                Kind::Metric(Metric::InPlace | Metric::PerMarking) => (None, Value::Infinite),
                Kind::OneSafe => (None, Value::Truth(false)),
                _ => continue,
            };
            if !matches!(outcome, Some(Outcome::Decided { .. })) {
                growths.push(Growth { sum, found: None });
                wanted.push((value, outcome));
            }
        }
        grow(&self.named.net, &mut growths, 11, limits);
        for ((value, outcome), growth) in wanted.into_iter().zip(growths) {
            if let Some((path, part)) = growth.found {
                let trace = Trace::Growth(without_cycles(&self.named.net, &path), part);
                *outcome = Some(Outcome::Decided { value, evidence: Evidence::Witness(trace) });
            }
        }
    }

    /// Searches witnesses for what is open.
    fn decide_by_search(&mut self, largest: &Marking, limits: &Limits<'_>) {
        let (named, net) = (self.named, &self.named.net);
        // The goals that together decide a question, with the value that they show.
        let mut goals: Vec<Goal> = Vec::new();
        let mut wanted = Vec::new();
        for (x, examination) in self.examinations.iter().enumerate() {
            let mut whole = false;
            for (y, question) in examination.questions.iter().enumerate() {
                if question.part.is_none() {
                    whole = has_witness(self.outcomes[x][y].as_ref());
                }
                if whole || matches!(self.outcomes[x][y], Some(Outcome::Decided { .. })) {
                    continue;
                }
                for (aims, value) in aims(named, &question.kind, &examination.preds) {
                    let start = goals.len();
                    goals.extend(aims.into_iter().map(Goal::new));
                    wanted.push((x, y, start..goals.len(), value));
                }
            }
        }
        if goals.is_empty() {
            return;
        }
        walk(net, &mut goals, 7, &limits.share(0.4, 0.0));
        let open: Vec<usize> = (0..goals.len()).filter(|goal| !goals[*goal].is_reached()).collect();
        for (number, &goal) in open.iter().enumerate() {
            let share = limits.share(0.8 / (open.len() - number) as f64, 1.0);
            // What it found until its budget ended is kept.
            let _ended = best_first(net, &mut goals[goal], largest, 1, &share);
        }
        walk(net, &mut goals, 99, &limits.share(1.0, 0.0));
        for (x, y, range, value) in wanted {
            let outcome = &mut self.outcomes[x][y];
            let paths = || -> Option<Vec<Vec<u32>>> {
                let paths = goals[range.clone()].iter();
                paths.map(|goal| Some(without_cycles(net, goal.path.as_ref()?))).collect()
            };
            match (value, outcome) {
                (Some(value), outcome) => {
                    let runs = match &self.examinations[x].questions[y].kind {
                        Kind::QuasiLiveness => paths().and_then(|paths| {
                            let mut order: Vec<usize> = (0..paths.len()).collect();
                            order.sort_by_key(|transition| Reverse(paths[*transition].len()));
                            firing_each(named, order, |transition| Some(paths[transition].clone()))
                        }),
                        _ => paths(),
                    };
                    if let Some(runs) = runs {
                        *outcome = Some(witnessed(Value::Truth(value), runs));
                    }
                }
                (None, Some(Outcome::Open { at_least, .. })) => {
                    let Some(value) = goals[range.start].value else { continue };
                    if at_least.as_ref().is_none_or(|(known, _)| *known < value)
                        && let Some(paths) = paths()
                    {
                        *at_least = Some((value, Trace::Paths(paths)));
                    }
                }
                _ => {}
            }
        }
    }
}

/// The number that the initial marking shows for a question about the largest one.
fn initially(kind: &Kind, initial: &[u64]) -> Option<u128> {
    match kind {
        Kind::Bound(sum) => Some(sum.value(initial)),
        Kind::Metric(Metric::InPlace) => initial.iter().copied().max().map(u128::from),
        Kind::Metric(Metric::PerMarking) => Some(initial.iter().copied().map(u128::from).sum()),
        _ => None,
    }
}

const COLOURS_CHANGE: &str = "a coloured place keeps its number of tokens but not their colours, and the rules do not say whether it is stable";

/// Whether a formula has a witness, so that its parts need no evidence.
fn has_witness(outcome: Option<&Outcome>) -> bool {
    matches!(outcome, Some(Outcome::Decided { evidence: Evidence::Witness(_), .. }))
}

fn open(reason: &str) -> Outcome {
    Outcome::Open { reason: reason.to_owned(), at_least: None }
}

fn witnessed(value: Value, runs: Vec<Vec<u32>>) -> Outcome {
    Outcome::Decided { value, evidence: Evidence::Witness(Trace::Paths(runs)) }
}

/// Runs in which each transition of the original net fires. `path` gives for a transition a path to a marking in which it
/// is enabled. The transitions are taken in this `order`; one that fires in an earlier run needs no run of its own.
fn firing_each(
    named: &Named,
    order: Vec<usize>,
    path: impl Fn(usize) -> Option<Vec<u32>>,
) -> Option<Vec<Vec<u32>>> {
    let net = &named.net;
    let mut fires = vec![false; named.transitions.len()];
    let mut runs = Vec::new();
    for transition in order {
        if fires[transition] {
            continue;
        }
        let mut run = path(transition)?;
        let mut tokens = net.initial.clone();
        run.iter().try_for_each(|step| net.fire(*step, &mut tokens))?;
        run.push(named.transitions[transition].clone().find(|step| net.is_enabled(*step, &tokens))?);
        run.iter().for_each(|step| fires[named.original(*step)] = true);
        runs.push(run);
    }
    if runs.is_empty() {
        // A net without transitions: nothing has to fire.
        runs.push(Vec::new());
    }
    Some(runs)
}

fn statistics(graph: &Explored<'_>) -> Statistics {
    Statistics {
        states: graph.states() as u64,
        firings: graph.firings() as u64,
        complete: graph.is_complete(),
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

/// The outcome of an LTL formula: a run decides it by its existence.
fn of_run(run: Option<Run>, exists: bool, statistics: Statistics) -> Outcome {
    let value = Value::Truth(run.is_some() == exists);
    let evidence = match run {
        Some(Run { stem, cycle: None }) => Evidence::Witness(Trace::Paths(vec![stem])),
        Some(Run { stem, cycle: Some(cycle) }) => Evidence::Witness(Trace::Lasso(stem, cycle)),
        None => Evidence::Explored(statistics),
    };
    Outcome::Decided { value, evidence }
}

/// Searches a run that satisfies a path formula. None: unknown.
fn ltl(
    net: &Compiled,
    graph: &Explored<'_>,
    largest: &[u64],
    formula: &Ltl,
    preds: &[Pred],
    limits: &Limits<'_>,
) -> Result<Option<(Option<Run>, Statistics)>, Stop> {
    let mut automaton = Automaton::new(formula)?;
    if graph.is_complete() {
        let found = search_known(net, graph, preds, &mut automaton, limits)?;
        return Ok(found.map(|run| (run, statistics(graph))));
    }
    match search_known(net, graph, preds, &mut automaton, &limits.share(0.3, 1.0)) {
        Ok(Some(run)) => return Ok(Some((run, statistics(graph)))),
        Ok(None) | Err(Stop::Time | Stop::Memory) => {}
        Err(stop) => return Err(stop),
    }
    let mut last = Stop::Time;
    for (number, seed) in SEEDS.into_iter().enumerate() {
        let share = limits.share(1.0 / (SEEDS.len() - number) as f64, 1.0);
        match search_growing(net, largest, preds, &mut automaton, seed, &share) {
            Ok((run, states)) => {
                let statistics = Statistics { states: states as u64, firings: 0, complete: false };
                return Ok(Some((run, statistics)));
            }
            Err(stop) => last = stop,
        }
    }
    Err(last)
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
                let target = target(formula, truth, preds, &initially)?;
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
