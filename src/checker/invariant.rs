//! Inductive invariants: conjunctions of clauses, each a disjunction of inequalities. With a depth k above 1, all markings that
//! fewer than k firings reach are examined, and the proof may assume the clauses in the k markings before a firing (Sheeran,
//! Singh and Stålmarck: Checking safety properties using induction and a SAT-solver, FMCAD 2000).

use crate::certificate::{AtMost, ProofStep};
use crate::meter::{KEPT, KEPT_INEQUALITY, KEPT_WEIGHT};
use crate::prove::{Condition, Context, Facts, Inequality};
use crate::{CheckError, Rational};
use mcc_base::text::counted;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Signed;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Largest depth.
const MAX_DEPTH: u64 = 3;

/// The inequalities of a clause.
type Clause = Vec<Rc<Inequality>>;

impl Context<'_> {
    /// Checks that the clauses hold in all markings that fewer than `depth` firings reach, and by their proof that no firing
    /// falsifies one if all held in the `depth` markings before it. Returns them.
    pub fn invariant(
        &self,
        clauses: &[Vec<AtMost>],
        mut depth: u64,
        proof: &[ProofStep],
        facts: &Facts,
        dead: &[bool],
    ) -> Result<Vec<Rc<Condition>>, CheckError> {
        if !(1..=MAX_DEPTH).contains(&depth) {
            return Err(CheckError::refused(format!("the depth is {depth}, not 1 to {MAX_DEPTH}")));
        }
        let clauses: Vec<Clause> =
            clauses.iter().map(|clause| self.clause(clause)).collect::<Result<_, _>>()?;
        let any = |clause: &Clause| {
            let cases = clause.iter().map(|literal| Rc::new(Condition::AtMost(literal.clone())));
            Rc::new(Condition::Any(cases.collect()))
        };
        let known: Vec<Rc<Condition>> = clauses.iter().map(any).collect();
        let last: Vec<_> =
            clauses.iter().map(|clause| self.last_firings(clause, dead)).collect::<Result<_, _>>()?;
        let firings: usize = last.iter().map(Vec::len).sum();
        if firings == 0 {
            // No transition falsifies a clause, so those that hold initially hold always.
            depth = 1;
        }
        let flats = if depth > 1 { dead.len() } else { 0 };
        self.meter.steps(KEPT.saturating_mul(flats as u64))?;
        let living: Vec<_> = (0..flats).filter(|flat| !dead[*flat]).collect();
        // The sequences are counted before they are made. Each needs a node, so a small file cannot demand many.
        if (1..depth).fold(firings, |number, _| number.saturating_mul(living.len())) > proof.len() {
            return Err(CheckError::refused("the proof has fewer nodes than conditions"));
        }
        let mut runs = vec![Vec::new()];
        for _ in 1..depth {
            let longer = |run: &Vec<_>| living.iter().map(|flat| [run, &[*flat][..]].concat()).collect();
            runs = runs.iter().flat_map::<Vec<_>, _>(longer).collect();
        }
        let own = Rc::new(Condition::All(known.clone()));
        let earlier = if firings > 0 { facts.clauses.clone() } else { Vec::new() };
        self.meter.steps(KEPT.saturating_mul((known.len() + earlier.len()) as u64))?;
        let earlier = Rc::new(Condition::All(earlier));
        let mut starts = Vec::new();
        for run in &runs {
            let (mut enabled, mut holding, mut fires) = (Vec::new(), Vec::new(), true);
            for length in 0..=run.len() {
                let (before, after) = run.split_at(length);
                let clauses = self.after(before, &own, dead)?;
                if fires && !self.is_initial(&clauses)? {
                    let firings = counted(length, "firing");
                    return Err(CheckError::refused(format!("a clause is false after {firings}")));
                }
                holding.extend([clauses, self.after(before, &earlier, dead)?]);
                if let Some(next) = after.first() {
                    let next = self.after(before, &Rc::new(self.enabled(vec![*next], true)?), dead)?;
                    fires = fires && self.is_initial(&next)?;
                    enabled.push(next);
                }
            }
            starts.push((Rc::new(Condition::All(enabled)), Rc::new(Condition::All(holding))));
        }
        let mut refuted = Vec::new();
        for firings in &last {
            for (run, (enabled, holding)) in runs.iter().zip(&starts) {
                for firing in firings {
                    self.meter.steps(KEPT * 8)?;
                    let parts = vec![enabled.clone(), self.after(run, firing, dead)?, holding.clone()];
                    refuted.push(Rc::new(Condition::All(parts)));
                }
            }
        }
        self.check(refuted, facts, proof)?;
        Ok(known)
    }

    /// For each transition that increases one of the sums of a clause: it is enabled, and the clause is false after it. The
    /// others keep the clause.
    fn last_firings(&self, clause: &Clause, dead: &[bool]) -> Result<Vec<Rc<Condition>>, CheckError> {
        let effects: Vec<BTreeMap<usize, BigInt>> =
            clause.iter().map(|literal| self.effects(&literal.weights, dead)).collect::<Result<_, _>>()?;
        let increases = effects.iter().flatten().filter(|(_, effect)| effect.is_positive());
        let increases: BTreeSet<usize> = increases.map(|(flat, _)| *flat).collect();
        let mut firings = Vec::new();
        for flat in increases {
            let size: usize = clause.iter().map(|literal| literal.weights.len() + 16).sum();
            self.meter.steps(KEPT.saturating_mul(size as u64))?;
            let mut parts = vec![Rc::new(self.enabled(vec![flat], true)?)];
            for (literal, effects) in clause.iter().zip(&effects) {
                // After the firing, the sum is larger by the effect, and more than the bound.
                let weights = literal.weights.iter().map(|(place, weight)| (*place, -weight)).collect();
                let effect = effects.get(&flat).cloned().unwrap_or_default();
                let bound = BigRational::from_integer(effect - 1) - &literal.bound;
                parts.push(Rc::new(Condition::AtMost(Rc::new(Inequality { weights, bound }))));
            }
            firings.push(Rc::new(Condition::All(parts)));
        }
        Ok(firings)
    }

    /// The condition on a marking that this condition, of integers, holds after a run from it.
    fn after(
        &self,
        run: &[usize],
        condition: &Rc<Condition>,
        dead: &[bool],
    ) -> Result<Rc<Condition>, CheckError> {
        if run.is_empty() {
            return Ok(condition.clone());
        }
        self.meter.steps(KEPT)?;
        let all = |parts: &[Rc<Condition>]| {
            parts.iter().map(|part| self.after(run, part, dead)).collect::<Result<Vec<_>, _>>()
        };
        Ok(Rc::new(match &**condition {
            Condition::AtMost(inequality) => {
                let Inequality { weights, bound } = &**inequality;
                self.meter.steps(KEPT_INEQUALITY.saturating_add(KEPT_WEIGHT * weights.len() as u64))?;
                let effects = self.effects(weights, dead)?;
                let effect: BigInt = run.iter().filter_map(|flat| effects.get(flat)).sum();
                let bound = bound - BigRational::from_integer(effect);
                Condition::AtMost(Rc::new(Inequality { weights: weights.clone(), bound }))
            }
            Condition::All(parts) => Condition::All(all(parts)?),
            Condition::Any(parts) => Condition::Any(all(parts)?),
        }))
    }

    fn is_initial(&self, condition: &Condition) -> Result<bool, CheckError> {
        self.meter.steps(8)?;
        let (parts, decisive) = match condition {
            Condition::AtMost(known) => return Ok(self.initial_sum(&known.weights)? <= known.bound),
            Condition::All(parts) => (parts, false),
            Condition::Any(parts) => (parts, true),
        };
        for part in parts {
            if self.is_initial(part)? == decisive {
                return Ok(decisive);
            }
        }
        Ok(!decisive)
    }

    /// A clause of integers.
    fn clause(&self, clause: &[AtMost]) -> Result<Clause, CheckError> {
        let mut literals = Vec::new();
        for AtMost { weights, bound: Rational(bound) } in clause {
            let literal = Inequality { weights: self.weights(weights)?, bound: bound.clone() };
            if !literal.is_integer() {
                return Err(CheckError::refused("a clause with a number that is not an integer"));
            }
            literals.push(Rc::new(literal));
        }
        Ok(literals)
    }
}
