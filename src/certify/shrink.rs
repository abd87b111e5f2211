//! Reduces an instance while two programs still disagree on one of its values, by delta debugging (Zeller and Hildebrandt,
//! "Simplifying and Isolating Failure-Inducing Input", 2002): parts are removed in halves, quarters, ... and one by one.

use crate::shrink_coloured::ColouredDocument;
use mcc_model::{Arc, Count, Expr, Formula, MODEL, Net, Property};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::time::Instant;

/// A net with the formulas of one examination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reducible {
    /// The P/T net, or the graph of the coloured net, whose nodes and arcs are removed.
    pub net: Net,
    /// The document of a coloured net. Its places are not merged, and its arc expressions and guards stay.
    pub coloured: Option<ColouredDocument>,
    /// The properties of the examination; empty for one without formulas.
    pub properties: Vec<Property>,
    /// The id of the property on which the programs disagree. It is not removed.
    pub kept: String,
    /// Whether the examination has a fixed question, as ReachabilityDeadlock: tools answer it without reading a formula, so
    /// the formulas stay as they are.
    pub fixed: bool,
}

/// What a reduction may cost.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// No further attempt begins after this instant.
    pub until: Instant,
    /// Largest number of attempts.
    pub attempts: usize,
}

/// Reduces an instance as far as `disputed` stays true. Returns the reduced instance and the number of attempts. `disputed`
/// must be true for the start. It is not called for the start again.
///
/// # Errors
/// The first error of `disputed`.
pub fn shrink<E>(
    start: Reducible,
    effort: Effort,
    disputed: &mut dyn FnMut(&Reducible) -> Result<bool, E>,
) -> Result<(Reducible, usize), E> {
    let mut reduction = Reduction { best: start, effort, attempts: 0, disputed };
    loop {
        let before = reduction.best.size();
        reduction.remove(|instance| instance.properties.len(), Reducible::without_properties)?;
        reduction.simplify_formulas()?;
        if reduction.best.coloured.is_none() {
            // No single node of a chain can be removed.
            reduction.remove(|instance| instance.net.transitions.len(), Reducible::with_merged_places)?;
        }
        reduction.remove(Reducible::nodes, Reducible::without_nodes)?;
        reduction.remove(Reducible::arcs, Reducible::without_arcs)?;
        reduction.lower_numbers()?;
        reduction.simplify_formulas()?;
        if reduction.best.size() == before {
            return Ok((reduction.best, reduction.attempts));
        }
    }
}

/// The candidates for a formula that are made together have about this size (as by `size_of`): some hundreds of MB.
const MAX_TOGETHER: usize = 4_000_000;

struct Reduction<'a, E> {
    best: Reducible,
    effort: Effort,
    attempts: usize,
    disputed: &'a mut dyn FnMut(&Reducible) -> Result<bool, E>,
}

impl<E> Reduction<'_, E> {
    /// Whether no further attempt may begin. A candidate is a copy of the net, so none is made then.
    fn is_over(&self) -> bool {
        self.attempts >= self.effort.attempts || Instant::now() >= self.effort.until
    }

    /// Keeps the candidate if it is smaller and the programs still disagree.
    fn attempt(&mut self, candidate: Reducible) -> Result<bool, E> {
        if self.is_over() || candidate.size() >= self.best.size() {
            return Ok(false);
        }
        self.attempts += 1;
        let kept = (self.disputed)(&candidate)?;
        if kept {
            self.best = candidate;
        }
        Ok(kept)
    }

    /// Removes parts: all, halves, quarters, ... and single ones.
    fn remove(
        &mut self,
        count: fn(&Reducible) -> usize,
        without: fn(&Reducible, &Range<usize>) -> Reducible,
    ) -> Result<(), E> {
        let mut length = count(&self.best);
        while length > 0 && !self.is_over() {
            let mut at = 0;
            while at < count(&self.best) && !self.is_over() {
                let part = at..(at + length).min(count(&self.best));
                if !self.attempt(without(&self.best, &part))? {
                    at = part.end;
                }
            }
            length = if length == 1 { 0 } else { length.div_ceil(2) };
        }
        Ok(())
    }

    fn lower_numbers(&mut self) -> Result<(), E> {
        if let Some(coloured) = &self.best.coloured {
            for class in 0..coloured.classes.len() {
                self.lower(
                    &mut |candidate| Some(&mut candidate.coloured.as_mut()?.classes.get_mut(class)?.colours),
                    1,
                )?;
            }
            return Ok(());
        }
        for place in 0..self.best.net.places.len() {
            self.lower(
                &mut |candidate| candidate.net.places.get_mut(place).map(|place| &mut place.initial),
                0,
            )?;
        }
        for transition in 0..self.best.net.transitions.len() {
            for is_input in [true, false] {
                let transition_of = &self.best.net.transitions[transition];
                let side = if is_input { &transition_of.inputs } else { &transition_of.outputs };
                for arc in 0..side.len() {
                    self.lower(
                        &mut |candidate| {
                            let transition = candidate.net.transitions.get_mut(transition)?;
                            let side =
                                if is_input { &mut transition.inputs } else { &mut transition.outputs };
                            side.get_mut(arc).map(|arc| &mut arc.weight)
                        },
                        1,
                    )?;
                }
            }
        }
        Ok(())
    }

    /// Lowers a number to the least one, else by halves and by 1.
    fn lower(
        &mut self,
        number: &mut dyn FnMut(&mut Reducible) -> Option<&mut u64>,
        least: u64,
    ) -> Result<(), E> {
        while !self.is_over() {
            let Some(value) = number(&mut self.best).copied() else { break };
            let mut lowered = false;
            for lower in [least, value / 2, value.saturating_sub(1)] {
                if lower >= least && lower < value && !lowered {
                    let mut candidate = self.best.clone();
                    number(&mut candidate).into_iter().for_each(|value| *value = lower);
                    lowered = self.attempt(candidate)?;
                }
            }
            if !lowered {
                break;
            }
        }
        Ok(())
    }

    fn simplify_formulas(&mut self) -> Result<(), E> {
        if self.best.fixed {
            return Ok(());
        }
        for number in 0..self.best.properties.len() {
            while self.simplify(number)? {}
        }
        Ok(())
    }

    /// Makes a formula simpler once. Returns whether that was possible.
    fn simplify(&mut self, property: usize) -> Result<bool, E> {
        let formula = self.best.properties[property].formula.clone();
        let size = size_of_formula(&formula);
        let (mut candidates, mut together) = (Vec::new(), 0);
        let mut simplified = Ok(false);
        let _ended = each_simpler(&formula, &mut |candidate| {
            let size_of_candidate = size_of_formula(&candidate);
            if size_of_candidate < size {
                candidates.push((size_of_candidate, candidate));
                together += size_of_candidate;
            }
            if together > MAX_TOGETHER {
                together = 0;
                simplified = self.try_formulas(property, std::mem::take(&mut candidates));
            }
            let goes_on = matches!(simplified, Ok(false)) && !self.is_over();
            if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        if matches!(simplified, Ok(false)) { self.try_formulas(property, candidates) } else { simplified }
    }

    /// Tries formulas with their sizes, the largest changes first. Returns whether one was kept.
    fn try_formulas(&mut self, property: usize, mut formulas: Vec<(usize, Formula)>) -> Result<bool, E> {
        formulas.sort_by_key(|(size, _)| *size);
        for (_, formula) in formulas {
            if self.is_over() {
                break;
            }
            let mut candidate = self.best.clone();
            candidate.properties[property].formula = formula;
            if self.attempt(candidate)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Reducible {
    /// The number of places and transitions.
    pub fn nodes(&self) -> usize {
        self.net.places.len() + self.net.transitions.len()
    }

    fn arcs(&self) -> usize {
        self.net.transitions.iter().map(|transition| transition.inputs.len() + transition.outputs.len()).sum()
    }

    /// What a reduction makes smaller: nodes, arcs, formulas, and the digits of numbers and colours.
    fn size(&self) -> (usize, usize, usize, u128) {
        let formulas = self.properties.iter().map(|property| 1 + size_of_formula(&property.formula)).sum();
        let tokens: u128 = self.net.places.iter().map(|place| u128::from(place.initial)).sum();
        let arcs = self
            .net
            .transitions
            .iter()
            .flat_map(|transition| transition.inputs.iter().chain(&transition.outputs));
        let weights: u128 = arcs.map(|arc| u128::from(arc.weight)).sum();
        let classes = self.coloured.iter().flat_map(|coloured| &coloured.classes);
        let colours: u128 = classes.map(|class| u128::from(class.colours)).sum();
        (self.properties.len() + self.nodes(), self.arcs(), formulas, tokens + weights + colours)
    }

    /// Without a range of the properties; the kept one stays.
    fn without_properties(&self, part: &Range<usize>) -> Reducible {
        let mut result = self.clone();
        let mut number = 0..;
        result.properties.retain(|property| {
            let removed = number.next().is_some_and(|number| part.contains(&number));
            !removed || property.id == self.kept
        });
        result
    }

    /// Without a range of the nodes: places first, then transitions. Formulas do not mention removed nodes any more.
    fn without_nodes(&self, part: &Range<usize>) -> Reducible {
        let places = self.net.places.len();
        let mut result = self.clone();
        let (net, mut number) = (&mut result.net, 0..);
        let mut gone: Vec<&str> = Vec::new();
        let mut renumbered = vec![None; places];
        for (place, new) in renumbered.iter_mut().enumerate() {
            if part.contains(&place) { gone.push(&self.net.places[place].id) } else { *new = number.next() }
        }
        let mut place = 0..;
        net.places.retain(|_| place.next().is_some_and(|place| !part.contains(&place)));
        let mut transition = places..;
        net.transitions.retain(|_| transition.next().is_some_and(|number| !part.contains(&number)));
        for transition in &mut net.transitions {
            for side in [&mut transition.inputs, &mut transition.outputs] {
                side.retain_mut(|arc| match renumbered[arc.place] {
                    Some(place) => {
                        arc.place = place;
                        true
                    }
                    None => false,
                });
            }
        }
        let removed = |number: &usize| part.contains(&(places + number));
        let transitions = (0..self.net.transitions.len()).filter(removed);
        gone.extend(transitions.map(|number| self.net.transitions[number].id.as_str()));
        let gone: HashSet<&str> = gone.into_iter().collect();
        result.change_lists(&mut |ids| ids.retain(|id| !gone.contains(id.as_str())));
        result
    }

    /// Without those of a range of the transitions that have one input and one output place. The output place is merged into
    /// the input place. Unchanged if a number becomes too large.
    fn with_merged_places(&self, part: &Range<usize>) -> Self {
        let mut into: Vec<usize> = (0..self.net.places.len()).collect();
        let mut result = self.clone();
        let mut number = 0..;
        result.net.transitions.retain(|transition| {
            let in_part = number.next().is_some_and(|number| part.contains(&number));
            let ([from], [to]) = (transition.inputs.as_slice(), transition.outputs.as_slice()) else {
                return true;
            };
            let [from, to] = [from.place, to.place].map(|place| root(&mut into, place));
            let merged = in_part && from != to;
            if merged {
                into[to] = from;
            }
            !merged
        });
        result.merge(&mut into).map_or_else(|| self.clone(), |()| result)
    }

    /// Merges each place into the root of another one or itself. None: a number becomes too large.
    fn merge(&mut self, into: &mut [usize]) -> Option<()> {
        let old = std::mem::take(&mut self.net.places);
        let roots: Vec<usize> = (0..old.len()).map(|place| root(into, place)).collect();
        let mut renumbered = vec![0; old.len()];
        for place in (0..old.len()).filter(|&place| roots[place] == place) {
            renumbered[place] = self.net.places.len();
            self.net.places.push(mcc_model::Place { id: old[place].id.clone(), initial: 0 });
        }
        let mut names: HashMap<&str, &str> = HashMap::new();
        for (place, &root) in old.iter().zip(&roots) {
            let kept = &mut self.net.places[renumbered[root]];
            kept.initial = kept.initial.checked_add(place.initial)?;
            names.insert(&place.id, &old[root].id);
        }
        for transition in &mut self.net.transitions {
            for side in [&mut transition.inputs, &mut transition.outputs] {
                let mut weights: BTreeMap<usize, u64> = BTreeMap::new();
                for arc in side.drain(..) {
                    let weight = weights.entry(renumbered[roots[arc.place]]).or_default();
                    *weight = weight.checked_add(arc.weight)?;
                }
                side.extend(weights.into_iter().map(|(place, weight)| Arc { place, weight }));
            }
        }
        self.change_lists(&mut |ids| {
            let mut seen = HashSet::new();
            for id in ids.iter_mut() {
                if let Some(name) = names.get(id.as_str()) {
                    *id = (*name).to_owned();
                }
            }
            ids.retain(|id| seen.insert(id.clone()));
        });
        Some(())
    }

    /// Changes the lists of places and transitions in formulas.
    fn change_lists(&mut self, change: &mut dyn FnMut(&mut Vec<String>)) {
        for property in &mut self.properties {
            match &mut property.formula {
                Formula::PlaceBound(places) => change(places),
                Formula::Boolean(formula) => change_lists_of(formula, change),
            }
        }
    }

    /// Without a range of the arcs: of each transition the inputs, then the outputs.
    fn without_arcs(&self, part: &Range<usize>) -> Reducible {
        let mut result = self.clone();
        let mut number = 0..;
        for transition in &mut result.net.transitions {
            for side in [&mut transition.inputs, &mut transition.outputs] {
                side.retain(|_| number.next().is_some_and(|number| !part.contains(&number)));
            }
        }
        result
    }

    /// Writes the files of the instance to an existing folder. `examination` has the properties.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, examination: &str, folder: &Path) -> io::Result<()> {
        let (model, is_coloured) = match &self.coloured {
            Some(coloured) => (coloured.to_pnml(&self.net).map_err(io::Error::other)?, "TRUE\n"),
            None => (self.net.to_pnml(), "FALSE\n"),
        };
        std::fs::write(folder.join(MODEL), model)?;
        std::fs::write(folder.join("iscolored"), is_coloured)?;
        std::fs::write(folder.join("instance"), "reduced\n")?;
        std::fs::write(folder.join("equiv_col"), "FALSE\n")?;
        if self.properties.is_empty() {
            return Ok(());
        }
        let file = folder.join(format!("{examination}.xml"));
        std::fs::write(file, Property::write_set(&self.properties))
    }
}

/// The place into which a place is merged. It halves the way there for later calls.
fn root(into: &mut [usize], mut place: usize) -> usize {
    while into[place] != place {
        into[place] = into[into[place]];
        place = into[place];
    }
    place
}

fn change_lists_of(formula: &mut Expr, change: &mut dyn FnMut(&mut Vec<String>)) {
    match formula {
        Expr::AllPaths(inner)
        | Expr::ExistsPath(inner)
        | Expr::Globally(inner)
        | Expr::Finally(inner)
        | Expr::Next(inner)
        | Expr::Not(inner) => change_lists_of(inner, change),
        Expr::Until(before, reach) => {
            change_lists_of(before, change);
            change_lists_of(reach, change);
        }
        Expr::And(parts) | Expr::Or(parts) => {
            parts.iter_mut().for_each(|part| change_lists_of(part, change));
        }
        Expr::Fireable(ids) => change(ids),
        Expr::Le(left, right) => {
            for count in [left, right] {
                if let Count::Tokens(ids) = count {
                    change(ids);
                }
            }
        }
        Expr::Deadlock => {}
    }
}

fn size_of_formula(formula: &Formula) -> usize {
    match formula {
        Formula::PlaceBound(places) => places.len(),
        Formula::Boolean(formula) => size_of(formula),
    }
}

/// The size of a formula: a smaller one is simpler. Atoms are larger than constants.
fn size_of(formula: &Expr) -> usize {
    let count = |count: &Count| match count {
        Count::Constant(number) => 1 + (u64::BITS - number.leading_zeros()) as usize,
        Count::Tokens(ids) => 2 + ids.len(),
    };
    match formula {
        Expr::Le(left, right) => 1 + count(left) + count(right),
        Expr::Fireable(ids) => 5 + ids.len(),
        Expr::Deadlock => 5,
        _ => 1 + formula.parts().into_iter().map(size_of).sum::<usize>(),
    }
}

/// Receives candidates one by one, as all of them together may need much more memory than the formula.
type Visit<'a, T> = &'a mut dyn FnMut(T) -> ControlFlow<()>;

/// Formulas with one part removed or replaced by another one, of which some are not simpler.
fn each_simpler(formula: &Formula, visit: Visit<'_, Formula>) -> ControlFlow<()> {
    match formula {
        Formula::PlaceBound(places) => {
            shorter(places).into_iter().map(Formula::PlaceBound).try_for_each(visit)
        }
        Formula::Boolean(formula) => {
            each_simpler_expression(formula, &mut |formula| visit(Formula::Boolean(Box::new(formula))))
        }
    }
}

fn each_simpler_expression(formula: &Expr, visit: Visit<'_, Expr>) -> ControlFlow<()> {
    match formula {
        Expr::AllPaths(inner) => unary(inner, Expr::AllPaths, visit)?,
        Expr::ExistsPath(inner) => unary(inner, Expr::ExistsPath, visit)?,
        Expr::Globally(inner) => unary(inner, Expr::Globally, visit)?,
        Expr::Finally(inner) => unary(inner, Expr::Finally, visit)?,
        Expr::Next(inner) => unary(inner, Expr::Next, visit)?,
        Expr::Not(inner) => unary(inner, Expr::Not, visit)?,
        Expr::And(parts) => several(parts, Expr::And, visit)?,
        Expr::Or(parts) => several(parts, Expr::Or, visit)?,
        Expr::Until(before, reach) => {
            visit((**before).clone())?;
            visit((**reach).clone())?;
            visit(Expr::Finally(reach.clone()))?;
            each_simpler_expression(before, &mut |before| {
                visit(Expr::Until(Box::new(before), reach.clone()))
            })?;
            each_simpler_expression(reach, &mut |reach| visit(Expr::Until(before.clone(), Box::new(reach))))?;
        }
        Expr::Fireable(ids) => shorter(ids).into_iter().map(Expr::Fireable).try_for_each(&mut *visit)?,
        Expr::Le(left, right) => {
            let lefts = simpler_counts(left).into_iter().map(|left| Expr::Le(left, right.clone()));
            let rights = simpler_counts(right).into_iter().map(|right| Expr::Le(left.clone(), right));
            lefts.chain(rights).try_for_each(&mut *visit)?;
        }
        Expr::Deadlock => {}
    }
    for number in [0, 1] {
        visit(Expr::Le(Count::Constant(number), Count::Constant(0)))?;
    }
    ControlFlow::Continue(())
}

fn unary(inner: &Expr, around: fn(Box<Expr>) -> Expr, visit: Visit<'_, Expr>) -> ControlFlow<()> {
    visit(inner.clone())?;
    each_simpler_expression(inner, &mut |inner| visit(around(Box::new(inner))))
}

fn several(parts: &[Expr], around: fn(Vec<Expr>) -> Expr, visit: Visit<'_, Expr>) -> ControlFlow<()> {
    parts.iter().cloned().try_for_each(&mut *visit)?;
    for (number, part) in parts.iter().enumerate() {
        if parts.len() > 1 {
            visit(around([&parts[..number], &parts[number + 1..]].concat()))?;
        }
        each_simpler_expression(part, &mut |simpler| {
            let mut changed = parts.to_vec();
            changed[number] = simpler;
            visit(around(changed))
        })?;
    }
    ControlFlow::Continue(())
}

fn simpler_counts(count: &Count) -> Vec<Count> {
    match count {
        Count::Constant(number) => [0, number / 2].map(Count::Constant).to_vec(),
        Count::Tokens(ids) => {
            let constants = [0, 1].map(Count::Constant);
            constants.into_iter().chain(shorter(ids).into_iter().map(Count::Tokens)).collect()
        }
    }
}

/// Shorter lists: either half, and without one element.
fn shorter(ids: &[String]) -> Vec<Vec<String>> {
    let (left, right) = ids.split_at(ids.len() / 2);
    let mut result: Vec<Vec<String>> =
        if ids.len() > 2 { vec![left.to_vec(), right.to_vec()] } else { Vec::new() };
    // Long lists are halved first; their elements are tried when they are short.
    for number in (0..ids.len()).filter(|_| ids.len() <= 50) {
        let mut fewer = ids.to_vec();
        fewer.remove(number);
        result.push(fewer);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_model::{Archive, NetKind};
    use std::time::Duration;

    /// A ring of places with one token, and properties with large formulas.
    fn ring(places: usize) -> Reducible {
        let arc = |place| Arc { place, weight: 2 };
        let net = Net {
            id: "Ring-PT-1".to_owned(),
            kind: NetKind::PlaceTransition,
            places: (0..places)
                .map(|n| mcc_model::Place { id: format!("p\"{n}"), initial: if n == 0 { 8 } else { 0 } })
                .collect(),
            transitions: (0..places)
                .map(|n| mcc_model::Transition {
                    id: format!("t<{n}"),
                    inputs: vec![arc(n)],
                    outputs: vec![arc((n + 1) % places)],
                })
                .collect(),
        };
        let tokens = |n: usize| Count::Tokens(vec![format!("p\"{n}"), "p\"0".to_owned()]);
        let atom = |n: usize| Expr::Le(Count::Constant(7), tokens(n));
        let both =
            Expr::And(vec![atom(1), Expr::Or(vec![Expr::Deadlock, atom(2)]), Expr::Not(Box::new(atom(3)))]);
        let formula = Formula::Boolean(Box::new(Expr::ExistsPath(Box::new(Expr::Finally(Box::new(both))))));
        let property = |n: usize| Property { id: format!("f{n}"), formula: formula.clone() };
        let properties = (0..8).map(property).collect();
        Reducible { net, coloured: None, properties, kept: "f5".to_owned(), fixed: false }
    }

    fn effort() -> Effort {
        Effort { until: Instant::now() + Duration::from_secs(600), attempts: 100_000 }
    }

    #[test]
    fn only_the_parts_that_the_dispute_needs_remain() {
        // Needs two transitions, a place with at least 3 tokens, an earlier property, and a conjunction with "not".
        let mut disputed = |instance: &Reducible| -> Result<bool, io::Error> {
            let has = |id: &str| instance.net.transitions.iter().any(|transition| transition.id == id);
            let tokens = instance.net.places.iter().any(|place| place.initial >= 3);
            let kept = instance.properties.iter().position(|property| property.id == "f5");
            let text = format!("{:?}", instance.properties[kept.unwrap()].formula);
            Ok(has("t<17")
                && has("t<399")
                && tokens
                && kept > Some(0)
                && text.contains("And")
                && text.contains("Not"))
        };
        let start = ring(500);
        assert_eq!(start.nodes(), 1000);
        assert!(disputed(&start).unwrap());
        let (reduced, attempts) = shrink(start, effort(), &mut disputed).unwrap();
        assert!(disputed(&reduced).unwrap());
        assert_eq!((reduced.nodes(), reduced.arcs(), reduced.properties.len()), (3, 0, 2));
        assert_eq!(reduced.net.places[0].initial, 3);
        assert!(attempts < 1500, "{attempts}");
        let text = format!("{:?}", reduced.properties[1].formula);
        assert!(text.len() < 140, "{text}");
    }

    #[test]
    fn a_written_instance_reads_as_the_reduced_one() {
        let reduced = ring(4).without_nodes(&(1..2));
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("Ring-PT-1");
        std::fs::create_dir(&folder).unwrap();
        reduced.write("ReachabilityCardinality", &folder).unwrap();
        let archive = Archive::open(&folder).unwrap();
        assert_eq!(archive.net().unwrap(), reduced.net);
        assert_eq!(archive.properties("ReachabilityCardinality").unwrap().unwrap(), reduced.properties);
        assert!(
            !format!("{:?}", reduced.properties).contains("p\\\"1\""),
            "a removed place is not mentioned"
        );
    }

    #[test]
    fn a_chain_that_the_dispute_needs_is_shortened() {
        // Needs a path of arcs from a marked place to the place of the formula.
        let mut disputed = |instance: &Reducible| -> Result<bool, io::Error> {
            let net = &instance.net;
            let mut reached: Vec<bool> = net.places.iter().map(|place| place.initial > 0).collect();
            for _ in &net.places {
                for transition in &net.transitions {
                    if transition.inputs.iter().any(|arc| reached[arc.place]) {
                        transition.outputs.iter().for_each(|arc| reached[arc.place] = true);
                    }
                }
            }
            let Formula::PlaceBound(ids) = &instance.properties[0].formula else { return Ok(false) };
            Ok(net.transitions.len() > 1
                && net.places.iter().zip(reached).any(|(place, reached)| reached && ids.contains(&place.id)))
        };
        let mut start = ring(50);
        let formula = Formula::PlaceBound(vec!["p\"49".to_owned()]);
        start.properties = vec![Property { id: "f5".to_owned(), formula }];
        let (reduced, _) = shrink(start, effort(), &mut disputed).unwrap();
        assert!(disputed(&reduced).unwrap());
        assert!(reduced.nodes() <= 5, "{reduced:?}");
    }

    #[test]
    fn a_conjunction_of_very_many_comparisons_is_made_simpler_in_little_memory() {
        let mut start = ring(2);
        let atom = |n| Expr::Le(Count::Constant(n), Count::Constant(0));
        start.properties.truncate(6);
        start.properties[5].formula = Formula::Boolean(Box::new(Expr::And((0..20_000).map(atom).collect())));
        // All candidates together would need some hundreds of GB. Of the first ones the smallest is tried first.
        let mut reduction = Reduction {
            best: start,
            effort: effort(),
            attempts: 0,
            disputed: &mut |_| -> Result<bool, io::Error> { Ok(true) },
        };
        assert!(reduction.simplify(5).unwrap());
        let simplified = &reduction.best.properties[5].formula;
        assert_eq!((reduction.attempts, size_of_formula(simplified)), (1, 3));
    }

    #[test]
    fn no_candidate_is_made_when_the_effort_is_over() {
        let mut reduction = Reduction {
            best: ring(3),
            effort: Effort { until: Instant::now(), attempts: 100 },
            attempts: 0,
            disputed: &mut |_| -> Result<bool, io::Error> { Ok(true) },
        };
        reduction.remove(|_| 10, |_, _| panic!("a candidate was made")).unwrap();
        reduction.lower(&mut |_| panic!("a number was read"), 0).unwrap();
        assert!(!reduction.simplify(0).unwrap());
    }

    #[test]
    fn a_long_way_to_the_place_of_a_merge_is_halved() {
        // Each place is merged into the one before it.
        let mut into: Vec<usize> = (0..1000).map(|place: usize| place.saturating_sub(1)).collect();
        let way = |into: &[usize]| {
            std::iter::successors(Some(999), |place| (into[*place] != *place).then(|| into[*place])).count()
        };
        let before = way(&into);
        assert_eq!(root(&mut into, 999), 0);
        assert!(way(&into) <= before / 2 + 1);
    }

    #[test]
    fn an_error_of_a_program_ends_the_reduction() {
        let mut calls = 0;
        let result = shrink(ring(10), effort(), &mut |_| {
            calls += 1;
            if calls == 3 { Err("broken") } else { Ok(false) }
        });
        assert_eq!(result.unwrap_err(), "broken");
    }
}
