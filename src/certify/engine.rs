//! Decides the values of an instance: explores it once for all examinations, and searches witnesses where the exploration
//! does not end.

use crate::budget::{Budget, Limits, Stop};
use crate::constants::Constants;
use crate::ctl_run;
use crate::dead_parts::without_dead_parts;
use crate::explore::explore;
use crate::formula::{Names, Pred};
use crate::net::{Marking, Named};
use crate::parts::{Tree, truth};
use crate::proof_lp::Structure;
use crate::questions::{self, Examination, Kind, Metric, Question, RunSearch};
use crate::search::walk;
use crate::unfold::unfold;
use mcc_checker::Value;
use mcc_model::{Archive, ArchiveError, Expr, NetKind};
use num_bigint::BigUint;

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
    /// For a largest number without a witness: a lower bound with its witness.
    pub at_least: Option<(u128, Trace)>,
    /// The number of comparisons in the formula that were left out because they are constant; they are not part of a witness.
    pub constants: u64,
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

impl Evidence {
    fn is_explored(&self) -> bool {
        matches!(self, Self::Explored(_))
    }
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
    /// The number of conditions on markings or runs that were decided without exploration.
    pub conditions: u64,
    /// The nodes of a decision diagram of all reachable markings, which then are not counted in `states`; 0: none was used.
    pub nodes: u64,
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
    let named = read_used_net(archive, &limits)?;
    let names = Names::new(&named);
    let mut engine = Engine {
        named: &named,
        names: &names,
        structure: Structure::from_net(&named),
        examinations: Vec::new(),
        items: Vec::new(),
        stop: None,
        order: None,
        constants: Constants::default(),
    };
    for name in examinations {
        engine.add(questions::read(archive, name, &names)?);
    }
    engine.run(&limits);
    Ok(engine.answers())
}

/// Reads the parts of the net of an instance that runs use. Numbers in a `Trace` are of this net.
pub(crate) fn read_used_net(archive: &Archive, limits: &Limits<'_>) -> Result<Named, EngineError> {
    Ok(without_dead_parts(read_net(archive, limits)?))
}

/// Reads the net of an instance; a coloured one is unfolded.
pub(crate) fn read_net(archive: &Archive, limits: &Limits<'_>) -> Result<Named, EngineError> {
    match archive.instance.kind() {
        NetKind::PlaceTransition => Ok(Named::of_pt(&archive.net()?)),
        NetKind::Coloured => Ok(unfold(archive.symmetric_net()?, limits)?),
    }
}

/// The questions of an instance while they are decided.
pub(crate) struct Engine<'a> {
    pub(crate) named: &'a Named,
    names: &'a Names<'a>,
    pub(crate) structure: Structure,
    /// Their questions are moved to `items`.
    pub(crate) examinations: Vec<Examination>,
    pub(crate) items: Vec<Item>,
    /// Why the last exploration, or the work on the complete graph, ended.
    stop: Option<Stop>,
    /// The order of places in which a decision diagram was found.
    pub(crate) order: Option<Vec<usize>>,
    pub(crate) constants: Constants,
}

/// A question, or a part of one.
pub(crate) struct Item {
    pub(crate) examination: usize,
    id: String,
    pub(crate) part: Option<usize>,
    pub(crate) kind: Kind,
    /// The item of the whole formula; the parts follow it.
    whole: usize,
    /// How the parts decide the whole formula.
    tree: Option<Tree>,
    /// The runs that show a value of a CTL formula.
    pub(crate) searches: Vec<RunSearch>,
    /// The number of constant comparisons that were left out of the formula.
    pub(crate) conditions: u64,
    pub(crate) decided: Option<(Value, Evidence)>,
    at_least: Option<(u128, Trace)>,
    /// A value by a decision diagram. It counts when the search ends without a better one, and a largest number also when a run
    /// reaches it, which a certificate can make a proof.
    by_diagram: Option<(Value, Evidence)>,
    /// Why it stays open, if it is not for the budget.
    pub(crate) reason: Option<String>,
}

impl Item {
    fn new(question: Question, examination: usize, whole: usize, preds: &[Pred]) -> Self {
        let Question { id, part, tree, kind } = question;
        let searches = match &kind {
            Kind::Ctl(formula) => ctl_run::searches(formula, preds),
            _ => Vec::new(),
        };
        let reason = match &kind {
            Kind::Wrong(reason) => Some(reason.clone()),
            _ => None,
        };
        let (decided, at_least, by_diagram) = (None, None, None);
        Self {
            examination,
            id,
            part,
            kind,
            whole,
            tree,
            searches,
            conditions: 0,
            decided,
            at_least,
            by_diagram,
            reason,
        }
    }

    /// The runs that show a value alone.
    pub(crate) fn runs(&self) -> &[RunSearch] {
        match &self.kind {
            Kind::Ltl(search) => std::slice::from_ref(search),
            _ => &self.searches,
        }
    }

    /// Sets the value; a witness replaces an exploration.
    pub(crate) fn decide(&mut self, value: Value, evidence: Evidence) {
        if self.decided.as_ref().is_none_or(|(_, known)| known.is_explored() && !evidence.is_explored()) {
            self.decided = Some((value, evidence));
        }
    }

    /// Sets a lower bound if it is better than the known one.
    pub(crate) fn at_least(&mut self, value: u128, trace: Trace) {
        if self.at_least.as_ref().is_none_or(|(known, _)| *known < value) {
            self.at_least = Some((value, trace));
            self.decide_if_reached();
        }
    }

    pub(crate) fn decide_by_diagram(&mut self, value: Value, statistics: Statistics) {
        self.by_diagram = Some((value, Evidence::Explored(statistics)));
        self.decide_if_reached();
    }

    pub(crate) fn has_diagram(&self) -> bool {
        self.by_diagram.is_some()
    }

    fn decide_if_reached(&mut self) {
        if let (Some((reached, _)), Some((Value::Number(largest), evidence))) =
            (&self.at_least, &self.by_diagram)
            && BigUint::from(*reached) == *largest
        {
            let (value, evidence) = (Value::Number(largest.clone()), evidence.clone());
            self.decide(value, evidence);
        }
    }

    fn truth(&self) -> Option<bool> {
        match &self.decided {
            Some((Value::Truth(truth), _)) => Some(*truth),
            _ => None,
        }
    }

    fn has_result(&self) -> bool {
        self.decided.is_some() || self.reason.is_some()
    }

    /// Whether a run shows the value, so that parts need no evidence.
    fn has_witness(&self) -> bool {
        matches!(self.decided, Some((_, Evidence::Witness(_))))
    }
}

/// Steps of the first round; each later one has four times as many.
const FIRST_ROUND: u64 = 1 << 17;
/// Steps of a first walk, which finds how many tokens places may have.
const FIRST_WALK: u64 = 1 << 14;
/// Shares of the steps that are left in a round: for the exploration, for the part that was explored, for unbounded places, for
/// searches of markings and of runs, for a decision diagram; the rest is for runs that the state equation excludes.
const EXPLORATION: f64 = 0.3;
const PART: f64 = 0.25;
const UNBOUNDED: f64 = 0.03;
const SEARCH: f64 = 0.33;
const RUNS: f64 = 0.44;
const DIAGRAM: f64 = 0.55;

impl Engine<'_> {
    fn add(&mut self, mut examination: Examination) {
        let number = self.examinations.len();
        let mut whole = 0;
        for question in std::mem::take(&mut examination.questions) {
            if question.part.is_none() {
                whole = self.items.len();
            }
            self.items.push(Item::new(question, number, whole, &examination.preds));
        }
        self.examinations.push(examination);
    }

    /// Works in rounds, each with more steps for each method. What a round does does not depend on the budget: it only ends
    /// the work. So a larger budget decides all that a smaller one decides.
    fn run(&mut self, limits: &Limits<'_>) {
        // What needs no part has a witness, so that a later method cannot decide it without one.
        self.compose();
        let largest = walk(&self.named.net, &mut [], 1, &limits.part(FIRST_WALK, 0.0));
        for round in 0.. {
            let steps = FIRST_ROUND.saturating_mul(1_u64.checked_shl(2 * round).unwrap_or(u64::MAX));
            let ended = self.round(&largest, round.into(), &limits.part(steps, 1.0), limits);
            let is_decided = |item: &Item| item.part.is_some() || item.has_result();
            if ended || self.items.iter().all(is_decided) || limits.is_over() {
                break;
            }
        }
    }

    /// Returns whether nothing is left to do: the graph is complete.
    fn round(&mut self, largest: &Marking, round: u64, limits: &Limits<'_>, all: &Limits<'_>) -> bool {
        let net = &self.named.net;
        {
            let exploration = limits.share(EXPLORATION, 0.55);
            let mut graph = explore(net, largest, &exploration);
            if graph.is_complete() {
                // With what is left of the whole budget.
                self.stop = self.decide_by_all(&graph, &all.rest(1.0, &exploration)).err();
                if matches!(self.stop, None | Some(Stop::Time | Stop::Cancelled)) {
                    return true;
                }
            }
            // What ends with the budget decides nothing that a larger budget would not decide too.
            if all.is_over() {
                self.stop.clone_from(&graph.stop);
                return true;
            }
            let part = limits.rest(PART, &exploration);
            self.stop.clone_from(&graph.stop);
            // What the part decides until its end is kept.
            let _ended = self.decide_by_part(&mut graph, &part);
        }
        self.compose();
        let methods: [&dyn Fn(&mut Self); 6] = [
            &|engine| engine.decide_unbounded(11 + round, &limits.share(UNBOUNDED, 0.0)),
            &|engine| engine.decide_by_search(largest, round, &limits.share(SEARCH, 1.0)),
            &|engine| engine.runs_beyond(largest, &limits.share(RUNS, 1.0)),
            &|engine| engine.decide_by_diagram(&limits.share(DIAGRAM, 1.0)),
            &|engine| engine.exclude_runs(&limits.share(0.9, 0.0)),
            &|engine| engine.leave_out_constants(&limits.share(1.0, 0.0)),
        ];
        for method in methods {
            if all.is_over() {
                return true;
            }
            method(self);
            self.compose();
        }
        false
    }

    /// Whether an item is open, and of a part also that its formula has no witness.
    pub(crate) fn is_wanted(&self, item: usize) -> bool {
        let item = &self.items[item];
        !item.has_result() && (item.part.is_none() || !self.items[item.whole].has_witness())
    }

    /// The open items of some kind.
    pub(crate) fn wanted(&self, is: impl Fn(&Item) -> bool) -> Vec<usize> {
        (0..self.items.len()).filter(|item| self.is_wanted(*item) && is(&self.items[*item])).collect()
    }

    /// Decides formulas by their parts.
    fn compose(&mut self) {
        let net = &self.named.net;
        let state = |formula: &Expr| Some(self.names.pred(formula).ok()??.holds(net, &net.initial));
        let mut composed = Vec::new();
        for (number, item) in self.items.iter().enumerate().filter(|(_, item)| !item.has_result()) {
            let Some(tree) = &item.tree else { continue };
            let part = |part: usize| self.items.get(number + 1 + part);
            let Some((value, needed)) = truth(tree, &|number| part(number)?.truth(), &state) else {
                continue;
            };
            if needed.is_empty() {
                // The initial marking alone decides it.
                composed.push((number, value, Evidence::Witness(Trace::Paths(vec![Vec::new()]))));
                continue;
            }
            let mut all = Statistics::default();
            for part in needed.into_iter().filter_map(part) {
                if let Some((_, Evidence::Explored(statistics))) = &part.decided {
                    all.states = all.states.max(statistics.states);
                    all.firings = all.firings.max(statistics.firings);
                    all.conditions += statistics.conditions;
                }
            }
            composed.push((number, value, Evidence::Explored(all)));
        }
        for (number, value, evidence) in composed {
            self.items[number].decide(Value::Truth(value), evidence);
        }
    }

    fn answers(self) -> Vec<Answer> {
        let Self { named, examinations, items, stop, .. } = self;
        let stop = stop.unwrap_or(Stop::Time).to_string();
        let answer = |item: Item| {
            let Item {
                examination, id, part, kind, conditions, decided, at_least, by_diagram, reason, ..
            } = item;
            let outcome = match decided.or(by_diagram) {
                Some((value, mut evidence)) => {
                    if let Evidence::Explored(statistics) = &mut evidence {
                        statistics.conditions += conditions;
                    }
                    Outcome::Decided { value, evidence }
                }
                None => Outcome::Open { reason: reason.unwrap_or_else(|| stop.clone()) },
            };
            Answer {
                examination: examinations[examination].name.clone(),
                initially: initially(&kind, &named.net.initial),
                id,
                part,
                outcome,
                at_least,
                constants: conditions,
            }
        };
        items.into_iter().map(answer).collect()
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

/// Runs in which each transition of the original net fires. `path` gives for a transition a path to a marking in which it
/// is enabled. The transitions are taken in this `order`; one that fires in an earlier run needs no run of its own.
pub(crate) fn firing_each(
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    #[test]
    fn a_budget_in_steps_gives_the_same_answers_and_a_larger_one_decides_no_fewer() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pnml-fixtures");
        let mut decided_by_part = 0;
        for instance in [
            "DiningTable-PT-03",
            "DiningTable-PT-05",
            "LibraryRoom-PT-R05W02",
            "TokenLoop-PT-05",
            "CrateDepot-PT-K3M2B12",
            "LibraryRoom-PT-R20W05",
            "GreedyClerks-PT-03",
            "DiningTable-PT-08",
            "TokenLoop-PT-08",
            "SwitchBoard-PT-0008",
        ] {
            let archive = Archive::open(&fixtures.join(format!("{instance}.tgz"))).unwrap();
            let examinations = [
                "StateSpace",
                "UpperBounds",
                "ReachabilityFireability",
                "CTLCardinality",
                "LTLFireability",
                "QuasiLiveness",
            ];
            let cancel = AtomicBool::new(false);
            let answers = |steps| {
                let budget = Budget {
                    steps,
                    time: Duration::from_secs(3600),
                    memory_bytes: 64 << 20,
                    cancel: &cancel,
                };
                decide_with_parts(&archive, &examinations, &budget).unwrap()
            };
            let mut before: Option<Vec<Answer>> = None;
            for steps in [3_000, 12_000, 50_000, 200_000, 800_000] {
                let now = answers(steps);
                assert_eq!(now, answers(steps), "{instance}, {steps} steps");
                for (less, more) in before.iter().flatten().zip(&now) {
                    let value = |answer: &Answer| match &answer.outcome {
                        Outcome::Decided { value, .. } => Some(value.clone()),
                        Outcome::Open { .. } => None,
                    };
                    let is_kept = value(less).is_none() || value(less) == value(more);
                    assert!(is_kept, "{instance} {} {}: {steps} steps", less.examination, less.id);
                    decided_by_part += usize::from(value(less).is_none() && value(more).is_some());
                }
                before = Some(now);
            }
        }
        // Some budgets decide only a part.
        assert!(decided_by_part > 10, "{decided_by_part}");
    }
}
