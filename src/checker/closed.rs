//! Over-approximations: sets of markings of some places that are closed under firing.

use crate::CheckError;
use crate::certificate::PlaceName;
use crate::meter::KEPT;
use crate::prove::{Condition, Context, Inequality};
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

/// The tokens that some places have together in reachable markings.
pub(crate) struct Closed {
    /// By place of the unfolding: its position in the markings.
    positions: BTreeMap<usize, usize>,
    markings: Vec<Vec<u64>>,
}

/// What a transition needs and changes on the places, by position.
#[derive(Default)]
struct Effect {
    needs: Vec<(usize, u128)>,
    changes: Vec<(usize, i128)>,
}

impl Context<'_> {
    /// Checks that the markings have the initial one, and those after each firing.
    pub fn closed(
        &self,
        places: &[PlaceName],
        markings: &[Vec<u64>],
        dead: &[bool],
    ) -> Result<Closed, CheckError> {
        let mut positions = BTreeMap::new();
        for PlaceName { place, colour } in places {
            let numbers = self.net.named(self.model, place, colour.as_ref())?;
            self.meter.steps(KEPT.saturating_mul(numbers.len() as u64))?;
            for number in numbers {
                let position = positions.len();
                if positions.insert(number, position).is_some() {
                    return Err(CheckError::refused(format!("the place \"{place}\" occurs twice")));
                }
            }
        }
        self.meter.steps(KEPT.saturating_mul(markings.len() as u64))?;
        if markings.iter().any(|marking| marking.len() != positions.len()) {
            return Err(CheckError::refused("a marking has another number of places"));
        }
        let mut initial = vec![0; positions.len()];
        let mut effects: BTreeMap<usize, Effect> = BTreeMap::new();
        for (place, position) in &positions {
            initial[*position] = u64::try_from(self.net.initial[*place]).unwrap_or(u64::MAX);
            for (flat, change) in self.net.changed_by[*place].iter().filter(|(flat, _)| !dead[*flat]) {
                self.meter.steps(KEPT)?;
                effects.entry(*flat).or_default().changes.push((*position, *change));
            }
        }
        for (place, position) in &positions {
            for (flat, count) in &self.net.needed_by[*place] {
                self.meter.steps(KEPT)?;
                if let Some(effect) = effects.get_mut(flat) {
                    effect.needs.push((*position, *count));
                }
            }
        }
        let known: HashSet<&[u64]> = markings.iter().map(Vec::as_slice).collect();
        if !known.contains(initial.as_slice()) {
            return Err(CheckError::refused("the initial marking is missing"));
        }
        let mut next = Vec::new();
        for marking in markings {
            for (flat, Effect { needs, changes }) in &effects {
                self.meter.steps(8 + 8 * needs.len() as u64)?;
                if needs.iter().any(|(position, count)| u128::from(marking[*position]) < *count) {
                    continue;
                }
                self.meter.steps(16 + marking.len() as u64 + 8 * changes.len() as u64)?;
                next.clone_from(marking);
                let fits = changes.iter().all(|(position, change)| {
                    let tokens = u64::try_from(i128::from(marking[*position]).saturating_add(*change));
                    tokens.map(|tokens| next[*position] = tokens).is_ok()
                });
                if !fits || !known.contains(next.as_slice()) {
                    let transition = self.transition_of(*flat);
                    return Err(CheckError::refused(format!(
                        "{transition} leads to a marking that is missing"
                    )));
                }
            }
        }
        Ok(Closed { positions, markings: markings.to_vec() })
    }

    /// Whether each marking contradicts one of these conditions, whatever the tokens of the other places are.
    pub fn excludes(
        &self,
        closed: &Closed,
        assumptions: &[Rc<Inequality>],
        disjunctions: &[Rc<Condition>],
    ) -> Result<bool, CheckError> {
        for marking in &closed.markings {
            self.meter.steps(8)?;
            let mut is_false = false;
            for assumption in assumptions {
                is_false = is_false || self.is_never(closed, marking, assumption)?;
            }
            for disjunction in disjunctions {
                is_false = is_false || self.is_false(closed, marking, disjunction)?;
            }
            if !is_false {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_false(&self, closed: &Closed, marking: &[u64], condition: &Condition) -> Result<bool, CheckError> {
        self.meter.steps(8)?;
        let (parts, decisive) = match condition {
            Condition::AtMost(inequality) => return self.is_never(closed, marking, inequality),
            Condition::All(parts) => (parts, true),
            Condition::Any(parts) => (parts, false),
        };
        for part in parts {
            if self.is_false(closed, marking, part)? == decisive {
                return Ok(decisive);
            }
        }
        Ok(!decisive)
    }

    /// Whether the least sum of an inequality is more than its bound.
    fn is_never(
        &self,
        closed: &Closed,
        marking: &[u64],
        inequality: &Inequality,
    ) -> Result<bool, CheckError> {
        self.meter.steps(8)?;
        let mut least = BigRational::zero();
        for (place, weight) in &inequality.weights {
            self.meter.steps(8)?;
            match closed.positions.get(place) {
                Some(position) => {
                    let tokens = BigRational::from_integer(marking[*position].into());
                    self.add_product(&mut least, weight, &tokens)?;
                }
                // The other places have any number of tokens.
                None if weight.is_negative() => return Ok(false),
                None => {}
            }
        }
        Ok(least > inequality.bound)
    }
}
