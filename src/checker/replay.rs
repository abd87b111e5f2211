//! Checks witnesses: replays their runs and evaluates the claim on the markings.

use crate::instance::{Claim, Instance};
use crate::meter::{KEPT, Limits, Meter};
use crate::model::{Marking, Model, tokens};
use crate::path::{End, Path, Truth};
use crate::{CheckError, Run, VERSION, Witness};
use mcc_model::{Colour, Count, Expr};
use num_bigint::BigUint;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

/// A firing with its numbers.
type Firing = (usize, Vec<Colour>);

impl Instance {
    /// Checks that the runs of a witness show its value.
    ///
    /// # Errors
    /// [`CheckError::Refused`] with the reason if they do not, or if the witness is not one of this instance.
    pub fn check_witness(&self, witness: &Witness) -> Result<(), CheckError> {
        self.check_witness_within(witness, Limits::NONE)
    }

    /// Checks a witness as `check_witness`, within limits.
    ///
    /// # Errors
    /// As of `check_witness`; [`CheckError::NotChecked`] if a limit would be exceeded.
    pub fn check_witness_within(&self, witness: &Witness, limits: Limits) -> Result<(), CheckError> {
        let Witness { version, instance, examination, property, value, runs } = witness;
        if *version != VERSION {
            return Err(CheckError::refused(format!("it has the version {version}, not {VERSION}")));
        }
        let claim = self.claim(instance, examination, property, value)?;
        let (model, meter) = (&self.model, &Meter::new(limits));
        let runs: Vec<_> = runs.iter().map(|run| Replay::new(model, run, meter)).collect::<Result<_, _>>()?;
        let may_grow = matches!(claim, Claim::Unbounded(_) | Claim::OneSafe(false));
        if !may_grow && runs.iter().any(|run| run.repeat.is_some()) {
            return Err(CheckError::refused("a repeated part does not show such a value"));
        }
        match claim {
            Claim::QuasiLiveness(true) => return quasi_live(model, &runs),
            Claim::StableMarking(false) => return no_stable_place(model, &runs),
            _ => {}
        }
        let [run] = runs.as_slice() else {
            return Err(CheckError::refused(format!("it has {} runs; its value needs one", runs.len())));
        };
        if let Claim::Formula(formula, truth) = claim {
            return run.shows(formula, truth, examination.starts_with("LTL"));
        }
        if let Claim::Unbounded(places) = &claim {
            return run.grows(places.as_deref());
        }
        if run.repeat.is_some() {
            return run.grows(None);
        }
        let last = run.last_marking()?;
        let at_least = |found: u128, bound: &BigUint| {
            if BigUint::from(found) >= *bound {
                Ok(())
            } else {
                Err(CheckError::refused(format!("the last marking has {found} tokens there, not {bound}")))
            }
        };
        match claim {
            Claim::Bound(places, bound) => at_least(tokens(&last, &places)?, bound),
            Claim::MostInPlace(bound) => {
                let most = last.iter().flat_map(|tokens| tokens.values().copied()).max();
                at_least(most.unwrap_or_default(), bound)
            }
            Claim::OneSafe(false) => {
                let mut most = 0;
                for place in 0..model.net.places.len() {
                    most = most.max(tokens(&last, &[place])?);
                }
                at_least(most, &BigUint::from(2_u8))
            }
            Claim::Liveness(false) if !model.net.transitions.is_empty() => {
                if model.is_deadlock(&last, meter)? {
                    Ok(())
                } else {
                    Err(CheckError::refused("the last marking is not a deadlock".to_owned()))
                }
            }
            _ => Err(CheckError::refused(format!("no run shows that {property} is {value}"))),
        }
    }
}

/// The number of places, and of the numbers of tokens that a marking holds.
fn entries(marking: &Marking) -> u64 {
    marking.iter().map(|tokens| tokens.len() as u64 + 1).sum()
}

/// Whether each place has at least as many tokens of each colour as in another marking.
fn covers(marking: &Marking, other: &Marking) -> bool {
    let has = |(tokens, needed): (&BTreeMap<Colour, u128>, &BTreeMap<Colour, u128>)| {
        needed.iter().all(|(colour, count)| tokens.get(colour).is_some_and(|have| have >= count))
    };
    marking.iter().zip(other).all(has)
}

/// A run with the numbers of its transitions and colours.
pub(crate) struct Replay<'a> {
    model: &'a Model,
    meter: &'a Meter,
    firings: Vec<Firing>,
    loop_start: Option<usize>,
    repeat: Option<usize>,
}

impl<'a> Replay<'a> {
    pub fn new(model: &'a Model, run: &Run, meter: &'a Meter) -> Result<Replay<'a>, CheckError> {
        let firing = |step: &crate::Step| {
            let transition = model.transition(&step.transition)?;
            Ok((transition, model.binding(transition, step)?))
        };
        let firings = run.steps.iter().map(firing).collect::<Result<_, CheckError>>()?;
        for (start, part) in [(run.loop_start, "loop"), (run.repeat, "repeated part")] {
            let steps = run.steps.len();
            if let Some(start) = start.filter(|start| *start >= steps) {
                return Err(CheckError::refused(format!(
                    "the {part} begins after step {start} of {steps}: it has no step"
                )));
            }
        }
        if run.loop_start.is_some() && run.repeat.is_some() {
            return Err(CheckError::refused("it has a loop and a repeated part"));
        }
        Ok(Replay { model, meter, firings, loop_start: run.loop_start, repeat: run.repeat })
    }

    /// Fires all steps. Calls `visit` with the initial marking and after each step, with the number of steps so far and the
    /// places that the last step touched. Checks the loop, and that the repeated part takes no tokens away.
    fn fire_all(
        &self,
        mut visit: impl FnMut(usize, &Marking, &[usize]) -> Result<(), CheckError>,
    ) -> Result<Marking, CheckError> {
        let mut marking = self.model.initial();
        self.meter.steps(KEPT * entries(&marking))?;
        let mut part_marking = None;
        let mut touched: Vec<usize> = (0..self.model.net.places.len()).collect();
        visit(0, &marking, &touched)?;
        for (number, (transition, binding)) in self.firings.iter().enumerate() {
            if self.loop_start.or(self.repeat) == Some(number) {
                self.meter.steps(KEPT * entries(&marking))?;
                part_marking = Some(marking.clone());
            }
            touched.clear();
            let fired = self.model.fire(&mut marking, *transition, binding, &mut touched, self.meter);
            fired.map_err(|error| error.at(&format!("step {number}")))?;
            visit(number + 1, &marking, &touched)?;
        }
        match part_marking {
            Some(start) if self.loop_start.is_some() && start != marking => Err(CheckError::refused(
                "the marking at the end of the loop is not the one at its beginning".to_owned(),
            )),
            Some(start) if self.repeat.is_some() && !covers(&marking, &start) => Err(CheckError::refused(
                "the marking at the end of the repeated part has fewer tokens on a place than at its beginning",
            )),
            _ => Ok(marking),
        }
    }

    /// Checks that the repeated part adds tokens to the sum of these places; None: to one of all places. A transition that is
    /// enabled stays enabled with more tokens, so the part can be repeated forever, and the sum is unbounded.
    fn grows(&self, places: Option<&[usize]>) -> Result<(), CheckError> {
        let mut start = None;
        let last = self.fire_all(|number, marking, _| {
            if self.repeat == Some(number) {
                self.meter.steps(KEPT * entries(marking))?;
                start = Some(marking.clone());
            }
            Ok(())
        })?;
        let Some(start) = start else {
            return Err(CheckError::refused("it has no part that is repeated"));
        };
        let grows = match places {
            Some(places) => tokens(&last, places)? > tokens(&start, places)?,
            // No place has fewer tokens, so one has more.
            None => last != start,
        };
        if grows { Ok(()) } else { Err(CheckError::refused("the repeated part adds no token there")) }
    }

    fn last_marking(&self) -> Result<Marking, CheckError> {
        self.fire_all(|_, _, _| Ok(()))
    }

    /// Whether the run shows that the formula is true (or false) initially.
    pub fn shows(&self, formula: &Expr, truth: bool, linear: bool) -> Result<(), CheckError> {
        let last = self.last_marking()?;
        // The common case without the truth of all atoms in all markings: the last marking satisfies, or violates.
        if let (Expr::ExistsPath(path), true) | (Expr::AllPaths(path), false) = (formula, truth)
            && let Expr::Finally(inner) | Expr::Globally(inner) = &**path
            && matches!(**path, Expr::Finally(_)) == truth
            && inner.is_state_formula()
            && Atoms::new(self.model, inner, self.meter)?.holds(inner, &last)? == truth
        {
            return Ok(());
        }
        let mut atoms = Atoms::new(self.model, formula, self.meter)?;
        self.fire_all(|_, marking, touched| atoms.visit(marking, touched))?;
        let end = match self.loop_start {
            Some(start) => End::Loop(start),
            None if self.model.is_deadlock(&last, self.meter)? => End::Deadlock,
            None => End::Open,
        };
        // The marking at the end of a loop is the one at its beginning.
        let positions = self.firings.len() + usize::from(self.loop_start.is_none());
        let atom = |formula: &Expr| {
            let truths = &atoms.truths[atoms.number(formula)?];
            Ok(Rc::new(truths[..positions].iter().map(|truth| Truth::from(*truth)).collect()))
        };
        let quantified = RefCell::new(HashMap::new());
        let path = Path { positions, end, linear, atom: &atom, quantified, meter: self.meter };
        match path.holds_initially(formula)? {
            found if found == Truth::from(truth) => Ok(()),
            Truth::Unknown => {
                Err(CheckError::refused("the run does not determine the truth of the formula".to_owned()))
            }
            found => {
                let found = if found == Truth::True { "TRUE" } else { "FALSE" };
                Err(CheckError::refused(format!("the run shows that the formula is {found}")))
            }
        }
    }
}

/// An atom with the numbers of its places or transitions.
enum Atom {
    Le(Number, Number),
    Fireable(Vec<usize>),
    Deadlock,
}

enum Number {
    Constant(u128),
    Tokens(Vec<usize>),
}

/// The atoms of a formula, and their truth in the markings that were visited.
pub(crate) struct Atoms<'a> {
    model: &'a Model,
    meter: &'a Meter,
    atoms: Vec<Atom>,
    numbers: HashMap<*const Expr, usize>,
    /// By place: the atoms that its tokens may change.
    of_place: Vec<Vec<usize>>,
    truths: Vec<Vec<bool>>,
}

impl<'a> Atoms<'a> {
    pub fn new(model: &'a Model, formula: &Expr, meter: &'a Meter) -> Result<Atoms<'a>, CheckError> {
        let of_place = vec![Vec::new(); model.net.places.len()];
        let mut atoms =
            Atoms { model, meter, atoms: Vec::new(), numbers: HashMap::new(), of_place, truths: Vec::new() };
        atoms.collect(formula)?;
        Ok(atoms)
    }

    fn collect(&mut self, formula: &Expr) -> Result<(), CheckError> {
        let model = self.model;
        let number = |count: &Count| -> Result<Number, CheckError> {
            Ok(match count {
                Count::Constant(number) => Number::Constant((*number).into()),
                Count::Tokens(ids) => {
                    Number::Tokens(ids.iter().map(|id| model.place(id)).collect::<Result<_, _>>()?)
                }
            })
        };
        let atom = match formula {
            Expr::Le(left, right) => Atom::Le(number(left)?, number(right)?),
            Expr::Fireable(ids) => {
                Atom::Fireable(ids.iter().map(|id| model.transition(id)).collect::<Result<_, _>>()?)
            }
            Expr::Deadlock => Atom::Deadlock,
            _ => return formula.parts().into_iter().try_for_each(|part| self.collect(part)),
        };
        let mut places: Vec<usize> = match &atom {
            Atom::Le(left, right) => {
                let places = [left, right].into_iter().filter_map(|number| match number {
                    Number::Tokens(places) => Some(places),
                    Number::Constant(_) => None,
                });
                places.flatten().copied().collect()
            }
            Atom::Fireable(transitions) => {
                let inputs =
                    transitions.iter().flat_map(|transition| &model.net.transitions[*transition].inputs);
                inputs.map(|(place, _)| *place).collect()
            }
            Atom::Deadlock => (0..model.net.places.len()).collect(),
        };
        places.sort_unstable();
        places.dedup();
        places.into_iter().for_each(|place| self.of_place[place].push(self.atoms.len()));
        self.numbers.insert(std::ptr::from_ref(formula), self.atoms.len());
        self.atoms.push(atom);
        self.truths.push(Vec::new());
        Ok(())
    }

    fn number(&self, formula: &Expr) -> Result<usize, CheckError> {
        let number = self.numbers.get(&std::ptr::from_ref(formula)).copied();
        number.ok_or_else(|| CheckError::refused("an atom of the formula is unknown".to_owned()))
    }

    /// Appends the truth of all atoms in a marking. Computes those again whose places were touched since the last one.
    fn visit(&mut self, marking: &Marking, touched: &[usize]) -> Result<(), CheckError> {
        // The truth of each atom is kept: a byte.
        self.meter.steps(8 * self.atoms.len() as u64)?;
        for atom in 0..self.atoms.len() {
            match self.truths[atom].last().copied() {
                Some(same) => self.truths[atom].push(same),
                None => {
                    let truth = self.truth(atom, marking)?;
                    self.truths[atom].push(truth);
                }
            }
        }
        for place in touched {
            for number in 0..self.of_place[*place].len() {
                let atom = self.of_place[*place][number];
                let truth = self.truth(atom, marking)?;
                self.truths[atom].iter_mut().next_back().into_iter().for_each(|last| *last = truth);
            }
        }
        Ok(())
    }

    fn truth(&self, atom: usize, marking: &Marking) -> Result<bool, CheckError> {
        let number = |number: &Number| match number {
            Number::Constant(number) => Ok(*number),
            Number::Tokens(places) => {
                let entries = places.iter().map(|place| marking[*place].len() as u64 + 1);
                self.meter.steps(entries.sum())?;
                tokens(marking, places)
            }
        };
        match &self.atoms[atom] {
            Atom::Le(left, right) => Ok(number(left)? <= number(right)?),
            Atom::Fireable(transitions) => {
                for transition in transitions {
                    if self.model.is_enabled(marking, *transition, self.meter)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Atom::Deadlock => self.model.is_deadlock(marking, self.meter),
        }
    }

    /// The truth of a state formula in one marking.
    pub fn holds(&self, formula: &Expr, marking: &Marking) -> Result<bool, CheckError> {
        match formula {
            Expr::Not(inner) => Ok(!self.holds(inner, marking)?),
            Expr::And(parts) | Expr::Or(parts) => {
                let decisive = matches!(formula, Expr::Or(_));
                for part in parts {
                    if self.holds(part, marking)? == decisive {
                        return Ok(decisive);
                    }
                }
                Ok(!decisive)
            }
            _ => self.truth(self.number(formula)?, marking),
        }
    }
}

/// Each transition fires in one of the runs.
fn quasi_live(model: &Model, runs: &[Replay<'_>]) -> Result<(), CheckError> {
    let mut fired = HashSet::new();
    for run in runs {
        run.last_marking()?;
        fired.extend(run.firings.iter().map(|(transition, _)| *transition));
    }
    match model.net.transitions.len() - fired.len() {
        0 => Ok(()),
        left => Err(CheckError::refused(format!("{left} transitions fire in none of the runs"))),
    }
}

/// The number of tokens of each place changes in one of the runs.
fn no_stable_place(model: &Model, runs: &[Replay<'_>]) -> Result<(), CheckError> {
    let initial = model.initial();
    let mut changed = vec![false; model.net.places.len()];
    for run in runs {
        run.fire_all(|_, marking, touched| {
            for place in touched.iter().filter(|place| !changed[**place]).copied().collect::<Vec<_>>() {
                run.meter.steps(marking[place].len() as u64 + 1)?;
                changed[place] = tokens(marking, &[place])? != tokens(&initial, &[place])?;
            }
            Ok(())
        })?;
    }
    match changed.iter().filter(|changed| !**changed).count() {
        0 => Ok(()),
        left => Err(CheckError::refused(format!("{left} places keep their tokens in all of the runs"))),
    }
}
