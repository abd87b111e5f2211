//! Comparisons that have the same truth in all reachable markings, by the state equation, and what is left of formulas without
//! them (as Bønneland et al., *Simplification of CTL formulae for efficient model checking of Petri nets*, 2018).

use crate::budget::Limits;
use crate::ctl_run::{searches, sure};
use crate::engine::{Engine, Evidence, Statistics};
use crate::formula::{Ltl, Pred, number};
use crate::net::Named;
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
    /// Each with its truth, if it is constant.
    known: Vec<(Pred, Option<bool>)>,
}

impl Constants {
    fn find(&self, pred: &Pred) -> Option<usize> {
        self.known.iter().position(|(known, _)| known == pred)
    }

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
            Pred::Le(..) if self.find(pred).is_none() => {
                let steps = skeleton.map_or_else(|| structure.steps(), Skeleton::steps);
                if limits.left() < steps || limits.spend(steps).is_err() {
                    return;
                }
                // It can only always have the truth that it has initially.
                let truth = pred.holds(&named.net, &named.net.initial);
                let other = Condition::from_pred(pred, !truth, &named.net);
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
                    self.known.push((pred.clone(), is_constant.then_some(truth)));
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

/// Replaces constant comparisons in formulas.
pub(crate) struct Folding<'a> {
    constants: &'a Constants,
    /// The numbers of the constants that were replaced.
    pub(crate) used: BTreeSet<usize>,
}

impl<'a> Folding<'a> {
    pub(crate) fn new(constants: &'a Constants) -> Self {
        Self { constants, used: BTreeSet::new() }
    }

    fn pred(&mut self, pred: &Pred) -> Pred {
        match pred {
            Pred::Le(..) => {
                let Some(at) = self.constants.find(pred) else { return pred.clone() };
                let Some(truth) = self.constants.known[at].1 else { return pred.clone() };
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
    pub(crate) fn ctl(&mut self, formula: &Ctl, preds: &mut Vec<Pred>) -> Ctl {
        let always = Ctl::Pred(number(Pred::True, preds));
        let never = always.clone().negated();
        let mut all = |parts: &[Ctl]| parts.iter().map(|part| self.ctl(part, preds)).collect();
        match formula {
            Ctl::Pred(old) => match self.pred(&preds[*old].clone()) {
                Pred::Not(inner) if *inner == Pred::True => never,
                pred => Ctl::Pred(number(pred, preds)),
            },
            Ctl::Not(inner) => self.ctl(inner, preds).negated(),
            Ctl::And(parts) => joined(all(parts), always, never, Ctl::And),
            Ctl::Or(parts) => joined(all(parts), never, always, Ctl::Or),
            Ctl::ExistsNext(inner) => match self.ctl(inner, preds) {
                inner if inner == never => never,
                inner if inner == always => Ctl::Pred(number(Pred::Dead, preds)).negated(),
                inner => Ctl::ExistsNext(Box::new(inner)),
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
                let until = if is_exists { Ctl::ExistsUntil } else { Ctl::AllUntil };
                until(Box::new(before), Box::new(reach))
            }
        }
    }

    /// A path formula with the same truth on all infinite runs.
    pub(crate) fn ltl(&mut self, formula: &Ltl, preds: &mut Vec<Pred>) -> Ltl {
        match formula {
            Ltl::True | Ltl::False => formula.clone(),
            Ltl::Pred(old, truth) => {
                let pred = self.pred(&preds[*old].clone());
                match (pred == Pred::True, pred == Pred::True.not(), truth) {
                    (true, _, true) | (_, true, false) => Ltl::True,
                    (true, _, false) | (_, true, true) => Ltl::False,
                    _ => Ltl::Pred(number(pred, preds), *truth),
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
            let mut folding = Folding::new(constants);
            let mut value = None;
            match &mut item.kind {
                Kind::Ctl(formula) => {
                    let folded = folding.ctl(formula, preds);
                    if folding.used.is_empty() {
                        continue;
                    }
                    let shows = |truth: &bool| sure(&folded, *truth, preds).holds(net, &net.initial);
                    value = [true, false].into_iter().find(shows);
                    item.searches = searches(&folded, preds);
                    *formula = folded;
                }
                Kind::Ltl(search) => {
                    let folded = folding.ltl(&search.formula, &mut search.preds);
                    if folding.used.is_empty() {
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
            item.conditions += folding.used.len() as u64;
            if let Some(value) = value {
                item.decide(Value::Truth(value), Evidence::Explored(Statistics::default()));
            }
        }
    }
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
