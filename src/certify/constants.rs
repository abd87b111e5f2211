//! Comparisons that have the same truth in all reachable markings, by the state equation, and what is left of formulas without
//! them (as Bønneland et al., *Simplification of CTL formulae for efficient model checking of Petri nets*, 2018).

use crate::budget::Limits;
use crate::ctl_run::{is_local, searches, sure};
use crate::engine::{Engine, Evidence, Statistics};
use crate::formula::{Ltl, Pred, Preds, SIZE_OF_STEP};
use crate::net::{Compiled, Named};
use crate::next_firing::{before_some, needed};
use crate::proof::{Condition, Prover};
use crate::proof_lp::Structure;
use crate::questions::Kind;
use crate::skeleton::Skeleton;
use mcc_checker::Value;
use mcc_model::Ctl;
use std::collections::BTreeSet;

/// The comparisons that were examined.
#[derive(Default)]
pub(crate) struct Constants {
    known: Preds,
    /// By number of the comparison: its truth, if it is constant.
    truths: Vec<Option<bool>>,
}

impl Constants {
    /// Examines the comparisons of a predicate that were not examined before, as far as the limits allow.
    pub(crate) fn examine(
        &mut self,
        pred: &Pred,
        named: &Named,
        structure: &Structure,
        skeleton: Option<&Skeleton<'_>>,
        limits: &Limits<'_>,
    ) {
        match pred {
            Pred::Not(inner) => self.examine(inner, named, structure, skeleton, limits),
            Pred::And(parts) | Pred::Or(parts) => {
                parts.iter().for_each(|part| self.examine(part, named, structure, skeleton, limits));
            }
            Pred::Le(..) if self.known.find(pred).is_none() => {
                let steps = skeleton.map_or_else(|| structure.steps(), Skeleton::steps);
                if limits.left() < steps || limits.spend(steps).is_err() {
                    return;
                }
                // It can only always have the truth that it has initially.
                let truth = pred.holds(&named.net, &named.net.initial);
                let Some(other) = Condition::from_pred(pred, !truth, &named.net) else { return };
                let is_constant = match skeleton {
                    Some(skeleton) => skeleton.refute(&other, limits.end()).is_some(),
                    None => {
                        let most = (limits.left() / steps).max(2) as usize;
                        let mut prover = Prover::new(structure, limits.end());
                        let is_refuted = prover.refute_in(other, most, limits.end()).is_some();
                        // What is beyond the limits is refused by the next check.
                        let _over = limits.spend(steps.saturating_mul(prover.programs as u64));
                        is_refuted
                    }
                };
                if is_constant || limits.check().is_ok() {
                    self.known.number(pred.clone());
                    self.truths.push(is_constant.then_some(truth));
                }
            }
            _ => {}
        }
    }
}

/// A conjunction or disjunction of parts: `decisive` if a part is that, otherwise without the parts that are `neutral`.
fn joined<T: PartialEq>(mut parts: Vec<T>, neutral: T, decisive: T, join: fn(Vec<T>) -> T) -> T {
    if parts.contains(&decisive) {
        return decisive;
    }
    parts.retain(|part| *part != neutral);
    match parts.len() {
        0 => neutral,
        1 => parts.remove(0),
        _ => join(parts),
    }
}

/// Replaces constant comparisons in formulas, and what next firings decide.
pub(crate) struct Folding<'a> {
    constants: &'a Constants,
    net: &'a Compiled,
    structure: &'a Structure,
    limits: &'a Limits<'a>,
    /// The numbers of the constants that were replaced.
    used: BTreeSet<usize>,
    firings: usize,
}

impl<'a> Folding<'a> {
    pub(crate) fn new(
        constants: &'a Constants,
        net: &'a Compiled,
        structure: &'a Structure,
        limits: &'a Limits<'a>,
    ) -> Self {
        Self { constants, net, structure, limits, used: BTreeSet::new(), firings: 0 }
    }

    /// The number of replacements.
    pub(crate) fn replaced(&self) -> usize {
        self.used.len() + self.firings
    }

    /// Whether each marking leads to one where the formula does not have this truth: otherwise one of some transitions would always
    /// be enabled, and an infinite run could fire only these.
    fn ends(&self, formula: &Ctl, truth: bool, preds: &[Pred]) -> bool {
        needed(formula, truth, preds).is_some_and(|transitions| {
            let (few, steps) = (1 + transitions.len() as u64 / SIZE_OF_STEP, self.structure.steps());
            self.limits.spend(few).is_ok()
                && (self.structure.take_only(&transitions)
                    || self.limits.left() >= steps
                        && self.limits.spend(steps).is_ok()
                        && !self.structure.can_repeat(&transitions, self.limits.end()))
        })
    }

    fn pred(&mut self, pred: &Pred) -> Pred {
        match pred {
            Pred::Le(..) => {
                let Some(at) = self.constants.known.find(pred) else { return pred.clone() };
                let Some(truth) = self.constants.truths[at] else { return pred.clone() };
                self.used.insert(at);
                if truth { Pred::True } else { Pred::True.not() }
            }
            Pred::Not(inner) => self.pred(inner).not(),
            Pred::And(parts) | Pred::Or(parts) => {
                let is_and = matches!(pred, Pred::And(_));
                let parts = parts.iter().map(|part| self.pred(part)).collect();
                if is_and {
                    joined(parts, Pred::True, Pred::True.not(), Pred::And)
                } else {
                    joined(parts, Pred::True.not(), Pred::True, Pred::Or)
                }
            }
            Pred::True | Pred::Fireable(_) | Pred::Dead => pred.clone(),
        }
    }

    /// A formula with the same truth in all reachable markings. New predicates are added to `preds`.
    pub(crate) fn ctl(&mut self, formula: &Ctl, preds: &mut Preds) -> Ctl {
        let always = Ctl::Pred(preds.number(Pred::True));
        let never = always.clone().negated();
        let mut all = |parts: &[Ctl]| parts.iter().map(|part| self.ctl(part, preds)).collect();
        match formula {
            Ctl::Pred(old) => match self.pred(&preds[*old].clone()) {
                Pred::Not(inner) if *inner == Pred::True => never,
                pred => Ctl::Pred(preds.number(pred)),
            },
            Ctl::Not(inner) => self.ctl(inner, preds).negated(),
            Ctl::And(parts) => joined(all(parts), always, never, Ctl::And),
            Ctl::Or(parts) => joined(all(parts), never, always, Ctl::Or),
            Ctl::ExistsNext(inner) => match self.ctl(inner, preds) {
                inner if inner == never => never,
                inner if inner == always => Ctl::Pred(preds.number(Pred::Dead)).negated(),
                inner => {
                    let pred = state(&inner, preds).and_then(|pred| before_some(&pred, self.net));
                    let Some(pred) = pred else { return Ctl::ExistsNext(Box::new(inner)) };
                    self.firings += 1;
                    Ctl::Pred(preds.number(pred))
                }
            },
            Ctl::ExistsUntil(before, reach) | Ctl::AllUntil(before, reach) => {
                let (before, reach) = (self.ctl(before, preds), self.ctl(reach, preds));
                let is_exists = matches!(formula, Ctl::ExistsUntil(..));
                let is_same = matches!(
                    (&reach, is_exists),
                    (Ctl::ExistsUntil(inner, _), true) | (Ctl::AllUntil(inner, _), false) if **inner == always
                );
                // EF EF p is EF p, and AF AF p is AF p.
                if reach == always || reach == never || before == never || is_same && before == always {
                    return reach;
                }
                if is_exists && before == always && self.ends(&reach, false, preds) {
                    self.firings += 1;
                    return always;
                }
                let until = if is_exists { Ctl::ExistsUntil } else { Ctl::AllUntil };
                until(Box::new(before), Box::new(reach))
            }
        }
    }

    /// A path formula with the same truth on all infinite runs.
    pub(crate) fn ltl(&mut self, formula: &Ltl, preds: &mut Preds) -> Ltl {
        match formula {
            Ltl::True | Ltl::False => formula.clone(),
            Ltl::Pred(old, truth) => {
                let pred = self.pred(&preds[*old].clone());
                match (pred == Pred::True, pred == Pred::True.not(), truth) {
                    (true, _, true) | (_, true, false) => Ltl::True,
                    (true, _, false) | (_, true, true) => Ltl::False,
                    _ => Ltl::Pred(preds.number(pred), *truth),
                }
            }
            Ltl::And(parts) | Ltl::Or(parts) => {
                let is_and = matches!(formula, Ltl::And(_));
                let parts = parts.iter().map(|part| self.ltl(part, preds)).collect();
                if is_and {
                    joined(parts, Ltl::True, Ltl::False, Ltl::And)
                } else {
                    joined(parts, Ltl::False, Ltl::True, Ltl::Or)
                }
            }
            Ltl::Next(inner) => match self.ltl(inner, preds) {
                constant @ (Ltl::True | Ltl::False) => constant,
                inner => Ltl::Next(Box::new(inner)),
            },
            Ltl::Until(before, reach) => match (self.ltl(before, preds), self.ltl(reach, preds)) {
                (_, constant @ (Ltl::True | Ltl::False)) => constant,
                (Ltl::False, reach) => reach,
                (before, reach) => Ltl::Until(Box::new(before), Box::new(reach)),
            },
            Ltl::Release(end, holds) => match (self.ltl(end, preds), self.ltl(holds, preds)) {
                (_, constant @ (Ltl::True | Ltl::False)) => constant,
                (Ltl::True, holds) => holds,
                (end, holds) => Ltl::Release(Box::new(end), Box::new(holds)),
            },
        }
    }
}

impl Engine<'_> {
    /// Leaves constant comparisons out of open formulas, and decides those of which the initial marking is enough then.
    pub(crate) fn leave_out_constants(&mut self, limits: &Limits<'_>) {
        let wanted = self.wanted(|item| matches!(item.kind, Kind::Ctl(_) | Kind::Ltl(_)));
        let skeleton = Skeleton::new(self.named, &self.structure);
        let net = &self.named.net;
        for item in wanted {
            let Self { items, examinations, constants, .. } = self;
            let item = &mut items[item];
            let preds = &mut examinations[item.examination].preds;
            let mut numbers = BTreeSet::new();
            let used: Vec<&Pred> = match &item.kind {
                Kind::Ctl(formula) => {
                    predicates(formula, &mut numbers);
                    numbers.iter().map(|number| &preds[*number]).collect()
                }
                Kind::Ltl(search) => search.preds.iter().collect(),
                _ => continue,
            };
            for pred in used {
                constants.examine(pred, self.named, &self.structure, skeleton.as_ref(), limits);
            }
            let mut folding = Folding::new(constants, net, &self.structure, limits);
            let mut value = None;
            match &mut item.kind {
                Kind::Ctl(formula) => {
                    let folded = folding.ctl(formula, preds);
                    if folding.replaced() == 0 {
                        continue;
                    }
                    let shows = |truth: &bool| sure(&folded, *truth, preds).holds(net, &net.initial);
                    value = [true, false].into_iter().find(shows);
                    item.searches = searches(&folded, preds);
                    *formula = folded;
                }
                Kind::Ltl(search) => {
                    let folded = folding.ltl(&search.formula, &mut search.preds);
                    if folding.replaced() == 0 {
                        continue;
                    }
                    match folded {
                        Ltl::True => value = Some(search.shows),
                        Ltl::False => value = Some(!search.shows),
                        folded => search.formula = folded,
                    }
                }
                _ => {}
            }
            item.conditions += folding.replaced() as u64;
            if let Some(value) = value {
                item.decide(Value::Truth(value), Evidence::Explored(Statistics::default()));
            }
        }
    }
}

/// A formula without paths as a predicate.
fn state(formula: &Ctl, preds: &[Pred]) -> Option<Pred> {
    is_local(formula).then(|| sure(formula, true, preds))
}

/// The numbers of the predicates of a formula.
fn predicates(formula: &Ctl, numbers: &mut BTreeSet<usize>) {
    match formula {
        Ctl::Pred(number) => {
            numbers.insert(*number);
        }
        Ctl::Not(inner) | Ctl::ExistsNext(inner) => predicates(inner, numbers),
        Ctl::And(parts) | Ctl::Or(parts) => parts.iter().for_each(|part| predicates(part, numbers)),
        Ctl::ExistsUntil(before, reach) | Ctl::AllUntil(before, reach) => {
            predicates(before, numbers);
            predicates(reach, numbers);
        }
    }
}
