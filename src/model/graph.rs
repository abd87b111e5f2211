//! Builds the graph of a net from its nodes and arcs in document order; ids are replaced by numbers.

use super::{Arc, Net, NetKind, Place, Problem, Transition};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::mem;

/// What an id stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// So far only used by an arc.
    Undeclared,
    Place(usize),
    Transition(usize),
    Page,
    Arc,
}

/// An arc. Its id and its ends are numbers of ids, because nodes may be declared after the arcs that use them.
struct RawArc {
    line: u64,
    id: usize,
    source: usize,
    target: usize,
    weight: u64,
}

/// A problem and its line.
pub(super) type GraphError = (u64, Problem);

#[derive(Default)]
pub(super) struct Graph {
    places: Vec<Place>,
    transitions: Vec<Transition>,
    arcs: Vec<RawArc>,
    /// The number of each id: an index of `nodes`.
    ids: HashMap<String, usize>,
    /// Each node and the line of its declaration.
    nodes: Vec<(Node, u64)>,
}

impl Graph {
    /// The number of an id; a new one is undeclared.
    fn number(&mut self, id: String) -> usize {
        let next = self.nodes.len();
        let number = *self.ids.entry(id).or_insert(next);
        if number == next {
            self.nodes.push((Node::Undeclared, 0));
        }
        number
    }

    fn declare(&mut self, id: String, line: u64, node: Node) -> Result<usize, GraphError> {
        let number = self.number(id);
        match mem::replace(&mut self.nodes[number], (node, line)) {
            (Node::Undeclared, _) => Ok(number),
            (_, first) => Err((line, Problem::DuplicateId { id: self.id(number), first })),
        }
    }

    /// Finds an id by its number in linear time, so it is for errors only.
    fn id(&self, number: usize) -> String {
        self.ids.iter().find(|(_, known)| **known == number).map(|(id, _)| id.clone()).unwrap_or_default()
    }

    pub fn add_page(&mut self, line: u64, id: String) -> Result<(), GraphError> {
        self.declare(id, line, Node::Page).map(drop)
    }

    pub fn add_place(&mut self, line: u64, id: String) -> Result<(), GraphError> {
        self.declare(id.clone(), line, Node::Place(self.places.len()))?;
        self.places.push(Place { id, initial: 0 });
        Ok(())
    }

    pub fn add_transition(&mut self, line: u64, id: String) -> Result<(), GraphError> {
        self.declare(id.clone(), line, Node::Transition(self.transitions.len()))?;
        self.transitions.push(Transition { id, inputs: Vec::new(), outputs: Vec::new() });
        Ok(())
    }

    /// Adds an arc with its id, source and target.
    pub fn add_arc(&mut self, line: u64, [id, source, target]: [String; 3]) -> Result<(), GraphError> {
        let id = self.declare(id, line, Node::Arc)?;
        let (source, target) = (self.number(source), self.number(target));
        self.arcs.push(RawArc { line, id, source, target, weight: 1 });
        Ok(())
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

    pub fn last_arc(&self) -> String {
        self.arcs.last().map(|arc| self.id(arc.id)).unwrap_or_default()
    }

    /// Builds the net; `line` is the last line of the document.
    pub fn finish(mut self, id: String, kind: NetKind, line: u64) -> Result<Net, GraphError> {
        for arc in &self.arcs {
            let (transition, is_input, place) = match [arc.source, arc.target].map(|end| self.nodes[end].0) {
                [Node::Place(place), Node::Transition(transition)] => (transition, true, place),
                [Node::Transition(transition), Node::Place(place)] => (transition, false, place),
                _ => return Err(self.bad_arc(arc)),
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

    fn bad_arc(&self, arc: &RawArc) -> GraphError {
        let is_node = |end: &usize| matches!(self.nodes[*end].0, Node::Place(_) | Node::Transition(_));
        let dangling = [arc.source, arc.target].into_iter().find(|end| !is_node(end));
        let id = self.id(arc.id);
        let problem = match (dangling, self.nodes[arc.source].0) {
            (Some(end), _) => Problem::Dangling { arc: id, id: self.id(end) },
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
