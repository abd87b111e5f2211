//! Inductive invariants: conjunctions of clauses, each a disjunction of inequalities.

use crate::certificate::{AtMost, ProofStep};
use crate::meter::KEPT;
use crate::prove::{Condition, Context, Facts, Inequality};
use crate::{CheckError, Rational};
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Signed;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The inequalities of a clause.
type Clause = Vec<Rc<Inequality>>;

impl Context<'_> {
    /// Checks that the clauses hold initially, and by their proof that no transition falsifies one. Returns them.
    pub fn invariant(
        &self,
        clauses: &[Vec<AtMost>],
        proof: &[ProofStep],
        facts: &Facts,
        dead: &[bool],
    ) -> Result<Vec<Rc<Condition>>, CheckError> {
        let clauses: Vec<Clause> =
            clauses.iter().map(|clause| self.clause(clause)).collect::<Result<_, _>>()?;
        let any = |clause: &Clause| {
            let cases = clause.iter().map(|literal| Rc::new(Condition::AtMost(literal.clone())));
            Rc::new(Condition::Any(cases.collect()))
        };
        let known: Vec<Rc<Condition>> = clauses.iter().map(any).collect();
        let mut refuted = Vec::new();
        for clause in &clauses {
            let effects: Vec<BTreeMap<usize, BigInt>> = clause
                .iter()
                .map(|literal| self.effects(&literal.weights, dead))
                .collect::<Result<_, _>>()?;
            // A transition that increases none of the sums keeps the clause.
            let increases = effects.iter().flatten().filter(|(_, effect)| effect.is_positive());
            let increases: BTreeSet<usize> = increases.map(|(flat, _)| *flat).collect();
            for flat in increases {
                let size: usize = clause.iter().map(|literal| literal.weights.len() + 16).sum();
                self.meter.steps(KEPT.saturating_mul((size + known.len() + facts.clauses.len()) as u64))?;
                let mut parts = vec![self.enabled(vec![flat], true)?];
                for (literal, effects) in clause.iter().zip(&effects) {
                    // After the firing, the sum is larger by the effect, and more than the bound.
                    let weights = literal.weights.iter().map(|(place, weight)| (*place, -weight)).collect();
                    let effect = effects.get(&flat).cloned().unwrap_or_default();
                    let bound = BigRational::from_integer(effect - 1) - &literal.bound;
                    parts.push(Condition::AtMost(Rc::new(Inequality { weights, bound })));
                }
                let mut parts: Vec<Rc<Condition>> = parts.into_iter().map(Rc::new).collect();
                parts.extend(known.iter().chain(&facts.clauses).cloned());
                refuted.push(Rc::new(Condition::All(parts)));
            }
        }
        self.check(refuted, facts, proof)?;
        Ok(known)
    }

    /// A clause of integers that holds initially.
    fn clause(&self, clause: &[AtMost]) -> Result<Clause, CheckError> {
        let mut holds = false;
        let mut literals = Vec::new();
        for AtMost { weights, bound: Rational(bound) } in clause {
            let literal = Inequality { weights: self.weights(weights)?, bound: bound.clone() };
            if !literal.is_integer() {
                return Err(CheckError::refused("a clause with a number that is not an integer"));
            }
            holds |= self.initial_sum(&literal.weights)? <= literal.bound;
            literals.push(Rc::new(literal));
        }
        if holds { Ok(literals) } else { Err(CheckError::refused("a clause does not hold initially")) }
    }
}
