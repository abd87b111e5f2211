//! Finds out whether a coloured transition is enabled with some binding. Tokens on the input places restrict the variables;
//! what they leave open is tried colour by colour.

use crate::CheckError;
use crate::meter::Meter;
use crate::model::{Marking, Model, has};
use mcc_model::{Bag, Colour, ColouredTransition, Term};

/// Largest number of tries for one question, which limits the time for untrusted nets.
const MAX_TRIES: u64 = 50_000_000;

/// Steps of a try, and for each token of a transition.
const STEPS_PER_TRY: u64 = 16;

/// Largest number of variables, each of which may be bound in a recursion.
const MAX_VARIABLES: usize = 1000;

struct Search<'a> {
    model: &'a Model,
    transition: usize,
    marking: &'a Marking,
    /// Terms of which each input place must have a token.
    patterns: Vec<(usize, &'a Term)>,
    tries: u64,
    meter: &'a Meter,
}

/// Whether the transition is enabled with at least one binding.
pub(crate) fn any_binding(
    model: &Model,
    transition: usize,
    marking: &Marking,
    meter: &Meter,
) -> Result<bool, CheckError> {
    let ColouredTransition { id, variables, inputs, .. } = &model.net.transitions[transition];
    if variables.len() > MAX_VARIABLES {
        let reason = format!("{id} has more than {MAX_VARIABLES} variables; no enabled binding is sought");
        return Err(CheckError::NotChecked(reason));
    }
    let mut patterns = Vec::new();
    for (place, bag) in inputs {
        collect(bag, *place, &mut patterns);
    }
    // A place with few colours leaves few choices.
    patterns.sort_by_key(|(place, _)| marking[*place].len());
    let mut search = Search { model, transition, marking, patterns, tries: 0, meter };
    search.matches(0, &mut vec![None; variables.len()])
}

/// Terms that the bag has at least once, whatever the binding.
fn collect<'a>(bag: &'a Bag, place: usize, patterns: &mut Vec<(usize, &'a Term)>) {
    match bag {
        Bag::Each(term) => patterns.push((place, term)),
        Bag::Times(0, _) | Bag::Subtract(..) => {}
        Bag::Times(_, bag) => collect(bag, place, patterns),
        Bag::Add(bags) => bags.iter().for_each(|bag| collect(bag, place, patterns)),
    }
}

impl Search<'_> {
    /// Tries the tokens of the place of the next pattern, then the colours of variables that are still open.
    fn matches(&mut self, mut next: usize, bound: &mut Vec<Option<Colour>>) -> Result<bool, CheckError> {
        let (net, transition) = (&self.model.net, &self.model.net.transitions[self.transition]);
        loop {
            self.tries += 1;
            if self.tries > MAX_TRIES {
                let reason = format!("{} has too many bindings to find an enabled one", transition.id);
                return Err(CheckError::NotChecked(reason));
            }
            self.meter.steps(STEPS_PER_TRY)?;
            let Some((place, term)) = self.patterns.get(next).copied() else { break };
            next += 1;
            let (marking, mut binds_nothing) = (self.marking, false);
            for colour in marking[place].keys() {
                let mut with = bound.clone();
                if !unify(term, *colour, &mut with) {
                    continue;
                }
                // The next pattern follows without a recursion, as there may be very many of this kind.
                if with == *bound {
                    binds_nothing = true;
                    break;
                }
                if self.matches(next, &mut with)? {
                    return Ok(true);
                }
            }
            if !binds_nothing {
                return Ok(false);
            }
        }
        if let Some(open) = bound.iter().position(Option::is_none) {
            for colour in 0..net.sorts[net.variables[transition.variables[open]].sort].colours {
                bound[open] = Some(colour);
                if self.matches(next, bound)? {
                    return Ok(true);
                }
            }
            bound[open] = None;
            return Ok(false);
        }
        let binding: Vec<Colour> = bound.iter().copied().map(Option::unwrap_or_default).collect();
        let firing = self.model.metered_firing(self.transition, &binding, self.meter)?;
        let tokens = firing.as_ref().map_or(0, |firing| firing.takes.len() + firing.puts.len());
        self.meter.steps(STEPS_PER_TRY * tokens as u64)?;
        Ok(firing.is_some_and(|firing| has(self.marking, &firing.takes)))
    }
}

/// Binds the variables of a term so that one of its colours is this one; false if that is impossible. May bind too little,
/// never too much.
fn unify(term: &Term, colour: Colour, bound: &mut [Option<Colour>]) -> bool {
    match term {
        Term::Constant(constant) => *constant == colour,
        Term::Variable(position) => *bound[*position].get_or_insert(colour) == colour,
        Term::Successor(term, colours) => unify(term, colour.checked_sub(1).unwrap_or(colours - 1), bound),
        Term::Predecessor(term, colours) => {
            unify(term, if colour + 1 == *colours { 0 } else { colour + 1 }, bound)
        }
        Term::Tuple(parts) => {
            let mut left = colour;
            parts.iter().rev().all(|(term, colours)| {
                let part = left % colours;
                left /= colours;
                unify(term, part, bound)
            })
        }
        Term::Class(..) | Term::All(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meter::Limits;
    use mcc_model::{ColouredPlace, Guard, Sort, SortKind, SymmetricNet, Variable};
    use std::collections::HashMap;

    /// Whether a transition is enabled that takes a token of each of these variables, all of a sort with one colour, from a
    /// place with some tokens.
    fn is_enabled(variables: usize, taken: Vec<usize>, tokens: u64) -> Result<bool, CheckError> {
        let sort = Sort { id: "C".to_owned(), kind: SortKind::Dot, colours: 1, numbers: HashMap::default() };
        let initial = [(0, tokens)].into_iter().collect();
        let each = taken.into_iter().map(|variable| Bag::Each(Term::Variable(variable)));
        let transition = ColouredTransition {
            id: "t".to_owned(),
            variables: (0..variables).collect(),
            guard: Guard::And(Vec::new()),
            inputs: vec![(0, Bag::Add(each.collect()))],
            outputs: Vec::new(),
        };
        let model = Model::from_net(SymmetricNet {
            id: "N-COL-1".to_owned(),
            sorts: vec![sort],
            variables: (0..variables).map(|number| Variable { id: format!("x{number}"), sort: 0 }).collect(),
            places: vec![ColouredPlace { id: "p".to_owned(), sort: 0, initial }],
            transitions: vec![transition],
        });
        model.is_enabled(&model.initial(), 0, &Meter::new(Limits::OF_TOOLS))
    }

    #[test]
    fn very_many_inscriptions_with_one_variable_need_no_deep_stack() {
        for (tokens, enabled) in [(1, false), (200_000, true)] {
            assert_eq!(is_enabled(1, vec![0; 200_000], tokens).unwrap(), enabled);
        }
    }

    #[test]
    fn a_transition_with_too_many_variables_is_not_checked() {
        assert!(is_enabled(MAX_VARIABLES, (0..MAX_VARIABLES).collect(), 1000).unwrap());
        assert!(is_enabled(MAX_VARIABLES, Vec::new(), 1).unwrap());
        let error = is_enabled(MAX_VARIABLES + 1, Vec::new(), 1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "not checked: t has more than 1000 variables; no enabled binding is sought"
        );
    }
}
