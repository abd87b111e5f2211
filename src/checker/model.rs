//! The net of an instance with the firing rule of the checker. A P/T net is a coloured net whose places have one colour.

use crate::CheckError;
use crate::binding::any_binding;
use crate::meter::Meter;
use mcc_model::{Archive, ArchiveError, BagError, Colour, MAX_COLOURS, NetKind, SymmetricNet};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// Steps of a firing, without its tokens.
const STEPS_PER_FIRING: u64 = 16;
/// Steps for the tokens of one place and colour.
const STEPS_PER_CHANGE: u64 = 8;

/// A marking: by place, the tokens of each colour. Colours without tokens have no entry.
pub(crate) type Marking = Vec<BTreeMap<Colour, u128>>;

/// The exact sum of the tokens of these places, over their colours.
pub(crate) fn tokens(marking: &Marking, places: &[usize]) -> Result<u128, CheckError> {
    let mut tokens = places.iter().flat_map(|place| marking[*place].values());
    let sum = tokens.try_fold(0, |sum: u128, tokens| sum.checked_add(*tokens));
    sum.ok_or_else(|| CheckError::NotChecked("a sum of tokens is more than 2^128-1".to_owned()))
}

/// What a transition takes and puts with a binding: place, colour, tokens; each place and colour once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Firing {
    pub takes: Vec<(usize, Colour, u128)>,
    pub puts: Vec<(usize, Colour, u128)>,
}

/// A net, with the numbers of its places and transitions by id.
pub(crate) struct Model {
    pub net: SymmetricNet,
    /// By transition: what it takes and puts, if that depends on no variable.
    fixed: Vec<Option<Firing>>,
    /// By transition: the number of terms of its guard.
    guard_terms: Vec<u64>,
    places: HashMap<String, usize>,
    transitions: HashMap<String, usize>,
}

impl From<BagError> for CheckError {
    fn from(error: BagError) -> Self {
        let reason = format!("an arc expression has no value: {error}");
        match error {
            BagError::Negative => Self::refused(reason),
            BagError::TooLarge | BagError::TooManyColours => Self::NotChecked(reason),
        }
    }
}

impl Model {
    pub fn read(archive: &Archive) -> Result<Model, ArchiveError> {
        let net = archive.net()?;
        Ok(Model::from_net(match net.kind {
            NetKind::PlaceTransition => net.into(),
            NetKind::Coloured => archive.symmetric_net()?,
        }))
    }

    pub fn from_net(net: SymmetricNet) -> Model {
        let places =
            net.places.iter().enumerate().map(|(number, place)| (place.id.clone(), number)).collect();
        let transitions =
            net.transitions.iter().enumerate().map(|(number, one)| (one.id.clone(), number)).collect();
        let fixed = vec![None; net.transitions.len()];
        let guard_terms = net.transitions.iter().map(|transition| transition.guard.terms()).collect();
        let mut model = Model { net, fixed, guard_terms, places, transitions };
        let mut left = MAX_COLOURS;
        model.fixed = (0..model.fixed.len())
            .map(|transition| {
                let is_fixed = model.net.transitions[transition].variables.is_empty();
                if is_fixed {
                    model.firing(transition, &[], &mut left).ok()?.map(Cow::into_owned)
                } else {
                    None
                }
            })
            .collect();
        model
    }

    pub fn place(&self, id: &str) -> Result<usize, CheckError> {
        let number = self.places.get(id).copied();
        number.ok_or_else(|| CheckError::refused(format!("the net has no place \"{id}\"")))
    }

    pub fn transition(&self, id: &str) -> Result<usize, CheckError> {
        let number = self.transitions.get(id).copied();
        number.ok_or_else(|| CheckError::refused(format!("the net has no transition \"{id}\"")))
    }

    pub fn initial(&self) -> Marking {
        let wide = |(colour, count): (&Colour, &u64)| (*colour, u128::from(*count));
        self.net.places.iter().map(|place| place.initial.iter().map(wide).collect()).collect()
    }

    /// The colours of a step's variables in the order of the transition's variables.
    pub fn binding(&self, transition: usize, step: &crate::Step) -> Result<Vec<Colour>, CheckError> {
        let (net, id) = (&self.net, &step.transition);
        let variables = &net.transitions[transition].variables;
        if step.binding.len() != variables.len() {
            let (bound, known) = (step.binding.len(), variables.len());
            return Err(CheckError::refused(format!(
                "the step of {id} binds {bound} variables; {id} has {known}"
            )));
        }
        let colour = |variable: &usize| {
            let variable = &net.variables[*variable];
            let colour = step.binding.get(&variable.id).and_then(|name| net.colour(variable.sort, name));
            colour.ok_or_else(|| {
                CheckError::refused(format!(
                    "the step of {id} does not bind \"{}\" to one of its colours",
                    variable.id
                ))
            })
        };
        variables.iter().map(colour).collect()
    }

    /// What a transition takes and puts; None if its guard is false. Takes the number of listed colours from `left`.
    pub fn firing(
        &self,
        transition: usize,
        binding: &[Colour],
        left: &mut u64,
    ) -> Result<Option<Cow<'_, Firing>>, CheckError> {
        if let Some(fixed) = &self.fixed[transition] {
            return Ok(Some(Cow::Borrowed(fixed)));
        }
        let transition = &self.net.transitions[transition];
        if !transition.guard.holds(binding) {
            return Ok(None);
        }
        let mut firing = Firing::default();
        let sides = [(&transition.inputs, &mut firing.takes), (&transition.outputs, &mut firing.puts)];
        for (arcs, side) in sides {
            for (place, bag) in arcs {
                let tokens = bag.evaluate_within(binding, left)?.into_iter();
                side.extend(tokens.map(|(colour, count)| (*place, colour, u128::from(count))));
            }
        }
        Ok(Some(Cow::Owned(firing)))
    }

    /// As `firing`; the terms of the guard and the colours that are listed are steps.
    pub fn metered_firing(
        &self,
        transition: usize,
        binding: &[Colour],
        meter: &Meter,
    ) -> Result<Option<Cow<'_, Firing>>, CheckError> {
        if self.fixed[transition].is_none() {
            meter.steps(STEPS_PER_CHANGE * self.guard_terms[transition])?;
        }
        let mut left = MAX_COLOURS;
        let firing = self.firing(transition, binding, &mut left)?;
        meter.steps(STEPS_PER_CHANGE * (MAX_COLOURS - left))?;
        Ok(firing)
    }

    /// Fires a transition, and appends the numbers of the places that it takes from or puts on to `touched`.
    pub fn fire(
        &self,
        marking: &mut Marking,
        transition: usize,
        binding: &[Colour],
        touched: &mut Vec<usize>,
        meter: &Meter,
    ) -> Result<(), CheckError> {
        let id = &self.net.transitions[transition].id;
        let firing = self.metered_firing(transition, binding, meter)?;
        let firing = firing
            .ok_or_else(|| CheckError::refused(format!("the guard of {id} is false for the binding")))?;
        meter.steps(STEPS_PER_FIRING + STEPS_PER_CHANGE * (firing.takes.len() + firing.puts.len()) as u64)?;
        for (place, colour, count) in &firing.takes {
            let have = marking[*place].get(colour).copied().unwrap_or_default();
            match have.checked_sub(*count) {
                Some(0) => marking[*place].remove(colour),
                Some(left) => marking[*place].insert(*colour, left),
                None => {
                    let place = &self.net.places[*place];
                    let (colour, place) = (self.net.colour_name(place.sort, *colour).to_string(), &place.id);
                    let of_colour = if colour == "dot" { String::new() } else { format!(" of {colour}") };
                    let what = format!("{place} has {have} of {count} tokens{of_colour}");
                    return Err(CheckError::refused(format!("{id} is not enabled: {what}")));
                }
            };
            touched.push(*place);
        }
        for (place, colour, count) in &firing.puts {
            let tokens = marking[*place].entry(*colour).or_default();
            let sum = tokens.checked_add(*count);
            *tokens = sum
                .ok_or_else(|| CheckError::NotChecked("a place gets more than 2^128-1 tokens".to_owned()))?;
            touched.push(*place);
        }
        Ok(())
    }

    /// Whether a transition is enabled with at least one binding.
    pub fn is_enabled(
        &self,
        marking: &Marking,
        transition: usize,
        meter: &Meter,
    ) -> Result<bool, CheckError> {
        match &self.fixed[transition] {
            Some(firing) => {
                meter.steps(STEPS_PER_CHANGE * (firing.takes.len() + 1) as u64)?;
                Ok(has(marking, &firing.takes))
            }
            None => any_binding(self, transition, marking, meter),
        }
    }

    pub fn is_deadlock(&self, marking: &Marking, meter: &Meter) -> Result<bool, CheckError> {
        for transition in 0..self.net.transitions.len() {
            if self.is_enabled(marking, transition, meter)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Whether a marking has these tokens.
pub(crate) fn has(marking: &Marking, tokens: &[(usize, Colour, u128)]) -> bool {
    let enough = |(place, colour, count): &(usize, Colour, u128)| {
        marking[*place].get(colour).is_some_and(|have| have >= count)
    };
    tokens.iter().all(enough)
}
