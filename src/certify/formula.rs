//! Formulas over numbered places and transitions.

use crate::net::{Compiled, Named};
use hashbrown::HashTable;
use mcc_model::{Count, Ctl, Expr, Formula};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Deref;

/// A property of a marking.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Pred {
    True,
    Not(Box<Pred>),
    And(Vec<Pred>),
    Or(Vec<Pred>),
    Le(Sum, Sum),
    /// One of these transitions is enabled.
    Fireable(Vec<u32>),
    /// No transition is enabled.
    Dead,
}

/// The numbers that are read in about the time of a step of the budget.
pub(crate) const SIZE_OF_STEP: u64 = 64;

/// A sum of the tokens of places and a constant. A place may be counted several times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Sum {
    pub(crate) places: Vec<u32>,
    pub(crate) constant: u64,
}

impl Sum {
    pub(crate) fn value(&self, tokens: &[u64]) -> u128 {
        let tokens = self.places.iter().map(|place| u128::from(tokens[*place as usize]));
        tokens.sum::<u128>() + u128::from(self.constant)
    }
}

impl Pred {
    pub(crate) fn not(self) -> Self {
        match self {
            Self::Not(inner) => *inner,
            other => Self::Not(Box::new(other)),
        }
    }

    /// The numbers that are read to evaluate it, at most.
    pub(crate) fn size(&self, net: &Compiled) -> u64 {
        match self {
            Self::True => 1,
            Self::Not(inner) => inner.size(net),
            Self::And(parts) | Self::Or(parts) => parts.iter().map(|part| part.size(net)).sum(),
            Self::Le(left, right) => (left.places.len() + right.places.len() + 1) as u64,
            Self::Fireable(transitions) => {
                transitions.iter().map(|one| net.inputs(*one).len() as u64 + 1).sum()
            }
            Self::Dead => net.transitions() as u64,
        }
    }

    /// The numbers of its condition.
    pub(crate) fn condition_numbers(&self, net: &Compiled) -> u64 {
        match self {
            Self::Not(inner) => inner.condition_numbers(net),
            Self::And(parts) | Self::Or(parts) => {
                parts.iter().map(|part| part.condition_numbers(net) + 1).sum()
            }
            Self::Dead => (net.input_arcs() + net.transitions()) as u64,
            Self::True | Self::Le(..) | Self::Fireable(_) => self.size(net),
        }
    }

    /// Whether it is true in a marking.
    pub(crate) fn holds(&self, net: &Compiled, tokens: &[u64]) -> bool {
        match self {
            Self::True => true,
            Self::Not(inner) => !inner.holds(net, tokens),
            Self::And(parts) => parts.iter().all(|part| part.holds(net, tokens)),
            Self::Or(parts) => parts.iter().any(|part| part.holds(net, tokens)),
            Self::Le(left, right) => left.value(tokens) <= right.value(tokens),
            Self::Fireable(transitions) => transitions.iter().any(|one| net.is_enabled(*one, tokens)),
            Self::Dead => net.is_dead(tokens),
        }
    }

    /// An estimate of the firings until it has this truth; 0 if and only if it has it now. Conjunctions add, disjunctions
    /// take the least.
    pub(crate) fn distance(&self, truth: bool, net: &Compiled, tokens: &[u64]) -> u64 {
        let short = |value: u128| u64::try_from(value).unwrap_or(u64::MAX).min(1 << 40);
        match (self, truth) {
            (Self::True, truth) => u64::from(!truth) << 40,
            (Self::Not(inner), truth) => inner.distance(!truth, net, tokens),
            (Self::And(parts), true) | (Self::Or(parts), false) => {
                parts.iter().fold(0, |sum: u64, part| sum.saturating_add(part.distance(truth, net, tokens)))
            }
            (Self::And(parts), false) | (Self::Or(parts), true) => {
                parts.iter().map(|part| part.distance(truth, net, tokens)).min().unwrap_or(1 << 40)
            }
            (Self::Le(left, right), true) => short(left.value(tokens).saturating_sub(right.value(tokens))),
            (Self::Le(left, right), false) => {
                short((right.value(tokens) + 1).saturating_sub(left.value(tokens)))
            }
            (Self::Fireable(transitions), true) => {
                let missing = |one: &u32| missing(net, *one, tokens);
                transitions.iter().map(missing).min().unwrap_or(1 << 40)
            }
            (Self::Fireable(transitions), false) => {
                transitions.iter().filter(|one| net.is_enabled(**one, tokens)).count() as u64
            }
            (Self::Dead, true) => {
                (0..net.transitions() as u32).filter(|one| net.is_enabled(*one, tokens)).count() as u64
            }
            (Self::Dead, false) => {
                (0..net.transitions() as u32).map(|one| missing(net, one, tokens)).min().unwrap_or(1 << 40)
            }
        }
    }
}

/// The tokens that a transition lacks.
fn missing(net: &Compiled, transition: u32, tokens: &[u64]) -> u64 {
    let lacks = |&(place, weight): &(u32, u64)| weight.saturating_sub(tokens[place as usize]).min(1 << 40);
    net.inputs(transition).iter().map(lacks).fold(0, u64::saturating_add)
}

/// A formula of LTL over numbered predicates, in negation normal form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ltl {
    True,
    False,
    /// A predicate that has this truth.
    Pred(usize, bool),
    And(Vec<Ltl>),
    Or(Vec<Ltl>),
    Next(Box<Ltl>),
    Until(Box<Ltl>, Box<Ltl>),
    Release(Box<Ltl>, Box<Ltl>),
}

/// Why a formula cannot be decided here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FormulaError {
    #[error("the net has no place \"{0}\"")]
    Place(String),
    #[error("the net has no transition \"{0}\"")]
    Transition(String),
    #[error("the formula is not of the examination's logic")]
    Logic,
    #[error(
        "the formulas of the examination name more than {MAX_NAMED} places and transitions of the unfolded net"
    )]
    Long,
}

/// Most places and transitions of the unfolded net that the formulas of an examination name. Each is kept.
const MAX_NAMED: usize = 100_000_000;

/// Translates names into numbers.
pub(crate) struct Names<'n> {
    named: &'n Named,
    places: HashMap<&'n str, usize>,
    transitions: HashMap<&'n str, usize>,
}

impl<'n> Names<'n> {
    pub(crate) fn new(named: &'n Named) -> Self {
        let index =
            |ids: &'n [String]| ids.iter().enumerate().map(|(number, id)| (id.as_str(), number)).collect();
        Self { named, places: index(&named.place_ids), transitions: index(&named.transition_ids) }
    }

    /// Adds to `named` how many places and transitions of the unfolded net a formula names, before they are kept.
    pub(crate) fn count_named(&self, formula: &Formula, named: &mut usize) -> Result<(), FormulaError> {
        let places = |ids: &[String]| -> usize {
            let known = ids.iter().filter_map(|id| self.places.get(id.as_str()));
            known.map(|place| self.named.places[*place].len()).sum()
        };
        let tokens = |count: &Count| if let Count::Tokens(ids) = count { places(ids) } else { 0 };
        let mut open: Vec<&Expr> = Vec::new();
        match formula {
            Formula::PlaceBound(ids) => *named += places(ids),
            Formula::Boolean(formula) => open.push(formula),
        }
        while let Some(formula) = open.pop() {
            *named += match formula {
                Expr::Le(left, right) => tokens(left) + tokens(right),
                Expr::Fireable(ids) => {
                    let known = ids.iter().filter_map(|id| self.transitions.get(id.as_str()));
                    known.map(|transition| self.named.transitions[*transition].len()).sum()
                }
                _ => 0,
            };
            open.extend(formula.parts());
        }
        if *named > MAX_NAMED { Err(FormulaError::Long) } else { Ok(()) }
    }

    /// The sum of the tokens on places; of a coloured place all tokens are counted.
    pub(crate) fn sum(&self, ids: &[String]) -> Result<Sum, FormulaError> {
        let mut places = Vec::new();
        for id in ids {
            let place = self.places.get(id.as_str()).ok_or_else(|| FormulaError::Place(id.clone()))?;
            places.extend(self.named.places[*place].clone());
        }
        Ok(Sum { places, constant: 0 })
    }

    fn count(&self, count: &Count) -> Result<Sum, FormulaError> {
        match count {
            Count::Constant(constant) => Ok(Sum { places: Vec::new(), constant: *constant }),
            Count::Tokens(ids) => self.sum(ids),
        }
    }

    /// A formula without paths. None: it has one.
    pub(crate) fn pred(&self, expr: &Expr) -> Result<Option<Pred>, FormulaError> {
        let all = |parts: &[Expr]| -> Result<Option<Vec<Pred>>, FormulaError> {
            parts.iter().map(|part| self.pred(part)).collect()
        };
        Ok(match expr {
            Expr::Not(inner) => self.pred(inner)?.map(Pred::not),
            Expr::And(parts) => all(parts)?.map(Pred::And),
            Expr::Or(parts) => all(parts)?.map(Pred::Or),
            Expr::Le(left, right) => Some(Pred::Le(self.count(left)?, self.count(right)?)),
            Expr::Fireable(ids) => {
                let mut transitions = Vec::new();
                for id in ids {
                    let unknown = || FormulaError::Transition(id.clone());
                    let transition = self.transitions.get(id.as_str()).ok_or_else(unknown)?;
                    transitions.extend(self.named.transitions[*transition].clone());
                }
                Some(Pred::Fireable(transitions))
            }
            Expr::Deadlock => Some(Pred::Dead),
            _ => None,
        })
    }

    /// A formula of CTL. New predicates are added to `preds`.
    pub(crate) fn ctl(&self, expr: &Expr, preds: &mut Preds) -> Result<Ctl, FormulaError> {
        let mut add = |expr: Option<&Expr>| -> Result<usize, FormulaError> {
            let pred = expr.map_or(Ok(Some(Pred::True)), |expr| self.pred(expr))?;
            Ok(preds.number(pred.ok_or(FormulaError::Logic)?))
        };
        Ctl::read(expr, &mut add, &|| FormulaError::Logic)
    }

    /// The path formula `expr`, or its negation if `truth` is false. New predicates are added to `preds`.
    pub(crate) fn ltl(&self, expr: &Expr, truth: bool, preds: &mut Preds) -> Result<Ltl, FormulaError> {
        if expr.is_state_formula()
            && let Some(pred) = self.pred(expr)?
        {
            return Ok(Ltl::Pred(preds.number(pred), truth));
        }
        let mut part = |expr: &Expr| self.ltl(expr, truth, preds).map(Box::new);
        Ok(match expr {
            Expr::Not(inner) => return self.ltl(inner, !truth, preds),
            Expr::And(parts) | Expr::Or(parts) => {
                let all = parts.iter().map(|expr| self.ltl(expr, truth, preds)).collect::<Result<_, _>>()?;
                if matches!(expr, Expr::And(_)) == truth { Ltl::And(all) } else { Ltl::Or(all) }
            }
            Expr::Next(inner) => Ltl::Next(part(inner)?),
            Expr::Finally(inner) | Expr::Globally(inner) => {
                let inner = part(inner)?;
                // F p is not G not p.
                if matches!(expr, Expr::Finally(_)) == truth {
                    Ltl::Until(Box::new(Ltl::True), inner)
                } else {
                    Ltl::Release(Box::new(Ltl::False), inner)
                }
            }
            Expr::Until(before, reach) => {
                let (before, reach) = (part(before)?, part(reach)?);
                if truth { Ltl::Until(before, reach) } else { Ltl::Release(before, reach) }
            }
            _ => return Err(FormulaError::Logic),
        })
    }
}

/// Different predicates, by number.
#[derive(Debug, Default)]
pub(crate) struct Preds {
    list: Vec<Pred>,
    /// The numbers by the hash of the predicate: a file may have very many different ones.
    numbers: HashTable<usize>,
    hasher: RandomState,
}

impl Deref for Preds {
    type Target = [Pred];

    fn deref(&self) -> &[Pred] {
        &self.list
    }
}

impl Preds {
    pub(crate) fn find(&self, pred: &Pred) -> Option<usize> {
        self.numbers.find(self.hasher.hash_one(pred), |number| self.list[*number] == *pred).copied()
    }

    /// The number of a predicate, which is added if it is new.
    pub(crate) fn number(&mut self, pred: Pred) -> usize {
        self.find(&pred).unwrap_or_else(|| {
            let Self { list, numbers, hasher } = self;
            let number = list.len();
            list.push(pred);
            let hash = |number: &usize| hasher.hash_one(&list[*number]);
            numbers.insert_unique(hash(&number), number, hash);
            number
        })
    }
}

#[cfg(test)]
impl From<Vec<Pred>> for Preds {
    /// The same numbers, also if predicates are equal.
    fn from(list: Vec<Pred>) -> Self {
        let mut preds = Self::default();
        for (number, pred) in list.into_iter().enumerate() {
            preds.number(pred.clone());
            preds.list.truncate(number);
            preds.list.push(pred);
        }
        preds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_with_too_many_names_are_refused_before_they_are_kept() {
        let named = Named {
            places: vec![0..60_000_000, 0..1],
            place_ids: vec!["p".to_owned(), "q".to_owned()],
            ..Named::default()
        };
        let names = Names::new(&named);
        let ids = || vec!["p".to_owned(), "q".to_owned()];
        let bound = Formula::PlaceBound(ids());
        let le = Expr::Not(Box::new(Expr::Le(Count::Constant(1), Count::Tokens(ids()))));
        for second in [bound.clone(), Formula::Boolean(Box::new(le))] {
            let mut named = 0;
            names.count_named(&bound, &mut named).unwrap();
            assert!(matches!(names.count_named(&second, &mut named), Err(FormulaError::Long)));
        }
    }

    #[test]
    fn very_many_predicates_are_numbered() {
        let sum = |constant| Sum { places: vec![0], constant };
        let mut preds = Preds::default();
        for _ in 0..2 {
            for number in 0..200_000 {
                let pred = Pred::Le(sum(number as u64), sum(0));
                assert_eq!(preds.number(pred), number);
            }
        }
    }
}
