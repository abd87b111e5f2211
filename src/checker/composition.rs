//! Truth of a formula by evidence for its parts: Boolean operators, and quantifiers that distribute over them.

use crate::certificate::Part;
use crate::instance::Claim;
use crate::meter::Meter;
use crate::model::Model;
use crate::path::Truth;
use crate::prove::{Context, Facts};
use crate::replay::{Atoms, Replay};
use crate::{CheckError, Value};
use mcc_model::Expr;
use std::collections::BTreeMap;

/// A formula whose parts have evidence.
pub(crate) struct Composition<'a> {
    pub model: &'a Model,
    pub meter: &'a Meter,
    /// For proofs, with the lemmas of the certificate. None: it has neither.
    pub proofs: Option<(&'a Context<'a>, &'a Facts)>,
    pub linear: bool,
    /// The evidence that is not used yet, by number of the part.
    pub evidence: BTreeMap<usize, &'a Part>,
    /// The number of parts so far.
    pub parts: usize,
}

/// A quantifier with at most one operator in front of a formula.
#[derive(Clone, Copy)]
struct Prefix {
    all: bool,
    operator: Option<fn(Box<Expr>) -> Expr>,
}

impl Prefix {
    fn before(self, formula: &Expr) -> Expr {
        let path = Box::new(formula.clone());
        let path = self.operator.map_or_else(|| path.clone(), |operator| Box::new(operator(path.clone())));
        if self.all { Expr::AllPaths(path) } else { Expr::ExistsPath(path) }
    }
}

impl Composition<'_> {
    /// Checks the evidence of the parts, and that it gives the formula this truth in the initial marking.
    pub fn check(&mut self, formula: &Expr, truth: bool) -> Result<(), CheckError> {
        let is_quantified = matches!(formula, Expr::AllPaths(_) | Expr::ExistsPath(_));
        let found = if self.linear && !is_quantified {
            self.path(formula, Prefix { all: true, operator: None })?
        } else {
            self.state(formula)?
        };
        if let Some(part) = self.evidence.keys().next() {
            return Err(CheckError::refused(format!("the formula has no part {part}")));
        }
        if found == Truth::from(truth) {
            return Ok(());
        }
        Err(CheckError::refused("the parts do not give the formula this truth"))
    }

    fn state(&mut self, formula: &Expr) -> Result<Truth, CheckError> {
        if formula.is_state_formula() {
            self.meter.steps(8 * self.model.net.places.len() as u64)?;
            let initial = self.model.initial();
            return Ok(Atoms::new(self.model, formula, self.meter)?.holds(formula, &initial)?.into());
        }
        match formula {
            Expr::Not(inner) => Ok(self.state(inner)?.not()),
            Expr::And(parts) => self.fold(parts, Truth::True, Truth::min, &mut Self::state),
            Expr::Or(parts) => self.fold(parts, Truth::False, Truth::max, &mut Self::state),
            Expr::AllPaths(path) => self.path(path, Prefix { all: true, operator: None }),
            Expr::ExistsPath(path) => self.path(path, Prefix { all: false, operator: None }),
            _ => Ok(Truth::Unknown),
        }
    }

    /// The truth of a formula behind a quantifier, and an operator that distributes over the same connective.
    fn path(&mut self, formula: &Expr, prefix: Prefix) -> Result<Truth, CheckError> {
        let Prefix { all, operator } = prefix;
        let mut distribute = |this: &mut Self, part: &Expr| this.path(part, prefix);
        match (formula, operator) {
            (Expr::And(parts), _) if all => self.fold(parts, Truth::True, Truth::min, &mut distribute),
            (Expr::Or(parts), _) if !all => self.fold(parts, Truth::False, Truth::max, &mut distribute),
            (Expr::Globally(inner), None) if all => {
                self.path(inner, Prefix { operator: Some(Expr::Globally), ..prefix })
            }
            (Expr::Finally(inner), None) if !all => {
                self.path(inner, Prefix { operator: Some(Expr::Finally), ..prefix })
            }
            (Expr::Next(inner), None) => self.path(inner, Prefix { operator: Some(Expr::Next), ..prefix }),
            (_, None) if formula.is_state_formula() => self.state(formula),
            _ => self.part(&prefix.before(formula)),
        }
    }

    /// Computes all parts, because they are numbered.
    fn fold(
        &mut self,
        parts: &[Expr],
        start: Truth,
        combine: fn(Truth, Truth) -> Truth,
        truth: &mut dyn FnMut(&mut Self, &Expr) -> Result<Truth, CheckError>,
    ) -> Result<Truth, CheckError> {
        parts.iter().try_fold(start, |known, part| Ok(combine(known, truth(self, part)?)))
    }

    fn part(&mut self, formula: &Expr) -> Result<Truth, CheckError> {
        let number = self.parts;
        self.parts += 1;
        let Some(part) = self.evidence.remove(&number) else { return Ok(Truth::Unknown) };
        let Value::Truth(truth) = part.value else {
            return Err(CheckError::refused(format!("part {number}: {} is no truth", part.value)));
        };
        let shown = match (&part.run, &part.proof, self.proofs) {
            (Some(run), None, _) if run.repeat.is_none() => Replay::new(self.model, run, self.meter)
                .and_then(|replay| replay.shows(formula, truth, self.linear)),
            (None, Some(proof), Some((context, facts))) => {
                context.prove(&Claim::Formula(formula, truth), None, facts, proof)
            }
            _ => Err(CheckError::refused("it has neither one run without a repeated part nor one proof")),
        };
        shown.map_err(|error| error.at(&format!("part {number}")))?;
        Ok(truth.into())
    }
}
