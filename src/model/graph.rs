//! Builds the graph of a net from its nodes and arcs in document order; ids are replaced by numbers.

use super::{Arc, Net, NetKind, Place, Problem, Transition};
use hashbrown::HashMap;
use hashbrown::hash_map::{Entry, EntryRef};
use smol_str::SmolStr;
use std::hash::BuildHasher;
use std::mem;

/// The node of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// So far only used by an arc.
    Undeclared,
    Place(usize),
    Transition(usize),
    Page,
}

/// An arc. Its ends are indices of `Graph::nodes`, because nodes may be declared after the arcs that use them.
struct RawArc {
    line: u64,
    source: usize,
    target: usize,
    weight: u64,
}

/// A problem and its line.
pub(super) type GraphError = (u64, Problem);

/// Ids in one text, because large nets have millions.
#[derive(Default)]
struct Ids {
    text: String,
    /// The end of each id in `text`.
    ends: Vec<usize>,
}

impl Ids {
    fn push(&mut self, id: &str) {
        self.text.push_str(id);
        self.ends.push(self.text.len());
    }

    fn get(&self, number: usize) -> &str {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[number]]
    }

    fn all(&self) -> impl Iterator<Item = &str> {
        (0..self.ends.len()).map(|number| self.get(number))
    }
}

/// The ids of fewer arcs are compared at the end only. One arc that a file repeats compresses to a thousandth, but needs memory.
const MIN_ARCS_CHECKED: usize = 1 << 16;

#[derive(Default)]
pub(super) struct Graph {
    places: Vec<Place>,
    transitions: Vec<Transition>,
    arcs: Vec<RawArc>,
    /// The ids of `arcs`. Nothing refers to arcs, so their ids are only compared, at the end and each time that there are four
    /// times as many: with them, the table would be ten times as large.
    arc_ids: Ids,
    /// Each node and the line of its declaration.
    nodes: Vec<(Node, u64)>,
    /// The indices of `nodes` by id. A `SmolStr` has short ids in the table: arcs look up millions, at random places.
    numbers: HashMap<SmolStr, usize>,
}

impl Graph {
    /// The number of the id of a node; a new one is undeclared.
    fn number(&mut self, id: &str) -> usize {
        match self.numbers.entry_ref(id) {
            EntryRef::Occupied(known) => *known.get(),
            EntryRef::Vacant(new) => {
                self.nodes.push((Node::Undeclared, 0));
                *new.insert_with_key(id.into(), self.nodes.len() - 1)
            }
        }
    }

    fn declare(&mut self, id: &str, line: u64, node: Node) -> Result<(), GraphError> {
        // A question names it without white space around the id in some readers.
        if super::xml::trim(id) != id {
            return Err((line, Problem::IdWithBlank(id.to_owned())));
        }
        let number = self.number(id);
        match mem::replace(&mut self.nodes[number], (node, line)) {
            (Node::Undeclared, _) => Ok(()),
            (_, first) => Err((line, Problem::DuplicateId { id: id.to_owned(), first })),
        }
    }

    pub fn add_page(&mut self, line: u64, id: &str) -> Result<(), GraphError> {
        self.declare(id, line, Node::Page)
    }

    pub fn add_place(&mut self, line: u64, id: &str) -> Result<(), GraphError> {
        self.declare(id, line, Node::Place(self.places.len()))?;
        self.places.push(Place { id: id.to_owned(), initial: 0 });
        Ok(())
    }

    pub fn add_transition(&mut self, line: u64, id: &str) -> Result<(), GraphError> {
        self.declare(id, line, Node::Transition(self.transitions.len()))?;
        self.transitions.push(Transition { id: id.to_owned(), inputs: Vec::new(), outputs: Vec::new() });
        Ok(())
    }

    /// Adds an arc with its id, source and target.
    pub fn add_arc(&mut self, line: u64, [id, source, target]: [&str; 3]) -> Result<(), GraphError> {
        let (source, target) = (self.number(source), self.number(target));
        self.arc_ids.push(id);
        self.arcs.push(RawArc { line, source, target, weight: 1 });
        let count = self.arcs.len();
        if count >= MIN_ARCS_CHECKED && count.is_power_of_two() && count.trailing_zeros().is_multiple_of(2) {
            self.repeated_arc().map_or(Ok(()), Err)
        } else {
            Ok(())
        }
    }

    /// Sets the tokens of the last place.
    pub fn set_marking(&mut self, tokens: u64) {
        self.places.iter_mut().next_back().into_iter().for_each(|place| place.initial = tokens);
    }

    /// Sets the weight of the last arc.
    pub fn set_weight(&mut self, weight: u64) {
        self.arcs.iter_mut().next_back().into_iter().for_each(|arc| arc.weight = weight);
    }

    pub fn last_place(&self) -> &str {
        self.places.last().map_or("", |place| &place.id)
    }

    pub fn last_arc(&self) -> &str {
        self.arcs.len().checked_sub(1).map_or("", |arc| self.arc_ids.get(arc))
    }

    /// Builds the net; `line` is the last line of the document.
    pub fn finish(mut self, id: String, kind: NetKind, line: u64) -> Result<Net, GraphError> {
        if let Some(repeated) = self.repeated_arc() {
            return Err(repeated);
        }
        for (number, arc) in self.arcs.iter().enumerate() {
            let (transition, is_input, place) = match [arc.source, arc.target].map(|end| self.nodes[end].0) {
                [Node::Place(place), Node::Transition(transition)] => (transition, true, place),
                [Node::Transition(transition), Node::Place(place)] => (transition, false, place),
                _ => return Err(self.bad_arc(number)),
            };
            let Transition { inputs, outputs, .. } = &mut self.transitions[transition];
            let side = if is_input { inputs } else { outputs };
            side.push(Arc { place, weight: arc.weight });
        }
        for transition in &mut self.transitions {
            for side in [&mut transition.inputs, &mut transition.outputs] {
                merge(side).map_err(|place| {
                    let (place, transition) = (&self.places[place].id, &transition.id);
                    let what = format!("the summed weight of the arcs joining {place} and {transition}");
                    (line, Problem::TooLarge { what, text: "too much".to_owned() })
                })?;
            }
        }
        Ok(Net { id, kind, places: self.places, transitions: self.transitions })
    }

    /// Returns an error for the first id of an arc that another arc or a node has.
    fn repeated_arc(&self) -> Option<GraphError> {
        let ids = self.arc_ids.all().chain(self.numbers.keys().map(SmolStr::as_str));
        let mut hashes: Vec<u64> = ids.map(|id| self.numbers.hasher().hash_one(id)).collect();
        hashes.sort_unstable();
        if hashes.is_sorted_by(|a, b| a < b) {
            return None;
        }
        let nodes = self.numbers.iter().map(|(id, number)| (id.as_str(), self.nodes[*number]));
        let declared = nodes.filter(|(_, (node, _))| *node != Node::Undeclared);
        let mut lines: HashMap<&str, u64> = declared.map(|(id, (_, line))| (id, line)).collect();
        let repeated = self.arc_ids.all().zip(&self.arcs).filter_map(|(id, arc)| {
            let other = lines.insert(id, arc.line)?;
            Some((arc.line.max(other), arc.line.min(other), id))
        });
        let (line, first, id) = repeated.min_by_key(|(line, first, _)| (*line, *first))?;
        Some((line, Problem::DuplicateId { id: id.to_owned(), first }))
    }

    fn bad_arc(&self, number: usize) -> GraphError {
        let arc = &self.arcs[number];
        let is_node = |end: &usize| matches!(self.nodes[*end].0, Node::Place(_) | Node::Transition(_));
        let dangling = [arc.source, arc.target].into_iter().find(|end| !is_node(end));
        let id = self.arc_ids.get(number).to_owned();
        let problem = match (dangling, self.nodes[arc.source].0) {
            (Some(end), _) => {
                let name = self.numbers.iter().find(|(_, number)| **number == end);
                Problem::Dangling { arc: id, id: name.map_or_else(String::new, |(name, _)| name.to_string()) }
            }
            (None, Node::Place(_)) => Problem::NotBipartite { arc: id, nodes: "places" },
            (None, _) => Problem::NotBipartite { arc: id, nodes: "transitions" },
        };
        (arc.line, problem)
    }
}

/// Sums the weights of arcs of the same place, and keeps the order of the first arcs.
///
/// # Errors
/// The place whose sum exceeds u64.
fn merge(arcs: &mut Vec<Arc>) -> Result<(), usize> {
    // Few lists have a place twice, and sorting is faster than a map.
    let mut places: Vec<usize> = arcs.iter().map(|arc| arc.place).collect();
    places.sort_unstable();
    if places.is_sorted_by(|a, b| a < b) {
        return Ok(());
    }
    let mut first = HashMap::with_capacity(arcs.len());
    let mut merged: Vec<Arc> = Vec::with_capacity(arcs.len());
    for arc in arcs.iter() {
        match first.entry(arc.place) {
            Entry::Vacant(new) => {
                new.insert(merged.len());
                merged.push(*arc);
            }
            Entry::Occupied(at) => {
                let sum: &mut u64 = &mut merged[*at.get()].weight;
                *sum = sum.checked_add(arc.weight).ok_or(arc.place)?;
            }
        }
    }
    *arcs = merged;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arc_that_is_repeated_without_end_is_refused() {
        let mut graph = Graph::default();
        let repeated = (1..1 << 20).find_map(|line| graph.add_arc(line, ["a", "p", "t"]).err());
        assert_eq!(repeated, Some((2, Problem::DuplicateId { id: "a".to_owned(), first: 1 })));
    }
}
