//! Siphons: the condition that one of them has no initially marked trap, over vectors of 0 and 1.

use crate::CheckError;
use crate::instance::Claim;
use crate::prove::{Condition, Context, Facts};
use mcc_model::Expr;
use num_bigint::BigInt;
use num_traits::One;
use std::rc::Rc;

impl Context<'_> {
    /// The condition that contradicts liveness or the absence of deadlocks: a vector with 1 for the places of a siphon that
    /// has none of the traps, or of the places without tokens in a deadlock.
    pub fn siphons(&self, claim: &Claim<'_>, facts: &Facts) -> Result<Condition, CheckError> {
        let is_live = match claim {
            Claim::Liveness(true) => true,
            Claim::Formula(formula, truth) if excludes_deadlocks(formula, *truth) => false,
            _ => return Err(CheckError::refused("siphons show liveness and the absence of deadlocks only")),
        };
        if self.net.flats.iter().any(|flat| flat.needs.iter().any(|(_, count)| *count > 1)) {
            return Err(CheckError::refused("a transition takes more than one token from a place"));
        }
        if is_live {
            self.demand_asymmetric_choice()?;
        }
        let (one, places) = (BigInt::one, self.net.initial.len());
        let mut conditions = Vec::new();
        for place in 0..places {
            conditions.push(self.at_most(1, [(place, one())], one())?);
        }
        if is_live {
            conditions.push(self.at_most(places, (0..places).map(|place| (place, -one())), -one())?);
        }
        for flat in &self.net.flats {
            let inputs = || flat.needs.iter().map(|(place, _)| (*place, -one()));
            if !is_live {
                conditions.push(self.at_most(flat.needs.len(), inputs(), -one())?);
                continue;
            }
            let mut outputs = flat.puts.clone();
            outputs.sort_unstable();
            for output in outputs {
                let weights = inputs().chain([(output, one())]);
                conditions.push(self.at_most(flat.needs.len() + 1, weights, BigInt::ZERO)?);
            }
        }
        for trap in &facts.traps {
            let weights = trap.iter().map(|place| (*place, one()));
            conditions.push(self.at_most(trap.len(), weights, BigInt::from(trap.len()) - 1)?);
        }
        Ok(Condition::All(conditions.into_iter().map(Rc::new).collect()))
    }

    /// Of two places with a common output transition, one has all output transitions of the other.
    fn demand_asymmetric_choice(&self) -> Result<(), CheckError> {
        if self.net.transitions.iter().any(std::ops::Range::is_empty) {
            return Err(CheckError::refused("a transition has no binding"));
        }
        for flat in &self.net.flats {
            let mut inputs: Vec<&Vec<(usize, u128)>> =
                flat.needs.iter().map(|(place, _)| &self.net.needed_by[*place]).collect();
            inputs.sort_by_key(|outputs| outputs.len());
            for (few, many) in inputs.iter().zip(inputs.iter().skip(1)) {
                self.meter.steps(8 * (few.len() + many.len()) as u64)?;
                // Both are in the order of the transitions.
                let mut many = many.iter();
                if !few.iter().all(|(flat, _)| many.any(|(other, _)| other == flat)) {
                    return Err(CheckError::refused("the net is not an asymmetric-choice net"));
                }
            }
        }
        Ok(())
    }
}

/// Whether a formula with this truth says that no deadlock is reachable.
fn excludes_deadlocks(formula: &Expr, truth: bool) -> bool {
    match (formula, truth) {
        (Expr::Not(inner), _) => excludes_deadlocks(inner, !truth),
        (Expr::ExistsPath(path), false) => matches!(&**path, Expr::Finally(inner) if is_dead(inner, true)),
        (Expr::AllPaths(path), true) => matches!(&**path, Expr::Globally(inner) if is_dead(inner, false)),
        _ => false,
    }
}

fn is_dead(formula: &Expr, holds: bool) -> bool {
    match formula {
        Expr::Not(inner) => is_dead(inner, !holds),
        formula => holds && *formula == Expr::Deadlock,
    }
}
