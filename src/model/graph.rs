//! Builds the graph of a net from its nodes and arcs in document order; ids are replaced by numbers.
//!
//! In large nets nearly every look-up of an id is a cache miss. Nodes and arcs are therefore processed in batches: the
//! misses of consecutive look-ups overlap, and another thread does the look-ups while the document is read.

use super::ids::{Ids, TextList};
use super::{Arc, Net, NetKind, Place, Problem, Transition};
use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;
use std::mem;
use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{Scope, ScopedJoinHandle};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Page,
    Place,
    Transition,
    Arc,
}

/// A node or an arc.
struct Entry {
    kind: Kind,
    line: u64,
    /// Start and end of its id in `Batch::texts`, and for an arc the ends of the ids of source and target. (A tag has at
    /// most 64 MB.)
    bounds: [u32; 4],
    /// Tokens of a place, weight of an arc.
    amount: u64,
}

/// Consecutive nodes and arcs.
#[derive(Default)]
pub(super) struct Batch {
    entries: Vec<Entry>,
    texts: String,
}

impl Batch {
    /// Large enough for a low cost of communication with another thread, small enough for a cache.
    const ENTRIES: usize = if cfg!(test) { 2 } else { 4096 };
    const BYTES: usize = 1 << 20;

    pub fn is_full(&self) -> bool {
        self.entries.len() >= Self::ENTRIES || self.texts.len() >= Self::BYTES
    }

    /// Adds a node or an arc; `ids` has its id, and for an arc those of source and target.
    pub fn push<const N: usize>(&mut self, kind: Kind, line: u64, ids: [&str; N]) {
        let mut bounds = [self.texts.len() as u32; 4];
        for (number, id) in ids.into_iter().enumerate() {
            self.texts.push_str(id);
            bounds[number + 1..].fill(self.texts.len() as u32);
        }
        let amount = u64::from(kind == Kind::Arc);
        self.entries.push(Entry { kind, line, bounds, amount });
    }

    /// Sets the amount of the last entry.
    pub fn set_amount(&mut self, amount: u64) {
        self.entries.iter_mut().next_back().into_iter().for_each(|entry| entry.amount = amount);
    }

    /// The id of the last entry.
    pub fn last_id(&self) -> &str {
        self.entries.last().map_or("", |entry| self.ids(entry)[0])
    }

    /// The id of an entry, and those of its source and target.
    fn ids(&self, Entry { bounds, .. }: &Entry) -> [&str; 3] {
        [0, 1, 2].map(|at| &self.texts[bounds[at] as usize..bounds[at + 1] as usize])
    }

    /// The nodes whose numbers an entry needs: source and target of an arc; for a node, the node twice.
    fn nodes(&self, entry: &Entry) -> [&str; 2] {
        let [own, source, target] = self.ids(entry);
        if entry.kind == Kind::Arc { [source, target] } else { [own; 2] }
    }

    fn clear(&mut self) {
        self.entries.clear();
        self.texts.clear();
    }
}

/// Adds batches to a graph.
pub(super) enum IdResolver<'scope> {
    /// In this thread.
    Inline(Box<Graph>),
    /// In another thread, which returns empty batches for reuse.
    Threaded {
        batches: SyncSender<Batch>,
        empty: Receiver<Batch>,
        graph: ScopedJoinHandle<'scope, Box<Graph>>,
    },
}

/// A batch has an error: no more batches are processed.
pub(super) struct Stopped;

impl<'scope> IdResolver<'scope> {
    /// Most batches that wait for the other thread.
    const WAITING: usize = 4;

    /// Processes a batch and empties it.
    pub fn take(&mut self, batch: &mut Batch) -> Result<(), Stopped> {
        match self {
            Self::Inline(graph) => {
                graph.take(batch);
                batch.clear();
                if graph.wrong.is_some() { Err(Stopped) } else { Ok(()) }
            }
            Self::Threaded { batches, empty, .. } => {
                let next = empty.try_recv().unwrap_or_default();
                batches.send(mem::replace(batch, next)).map_err(|_| Stopped)
            }
        }
    }

    /// Moves the graph to another thread if there is more than one.
    pub fn move_to_thread(&mut self, threads: NonZeroUsize, scope: &'scope Scope<'scope, '_>) {
        if let Self::Inline(graph) = self
            && threads.get() > 1
        {
            let mut graph = mem::take(graph);
            let (batches, waiting) = sync_channel::<Batch>(Self::WAITING);
            let (back, empty) = channel();
            let graph = scope.spawn(move || {
                for mut batch in waiting {
                    graph.take(&batch);
                    if graph.wrong.is_some() {
                        break;
                    }
                    batch.clear();
                    // Fails if the reader has ended.
                    let _ = back.send(batch);
                }
                graph
            });
            *self = Self::Threaded { batches, empty, graph };
        }
    }

    /// Processes the last batch and returns the graph.
    pub fn end(mut self, mut last: Batch) -> Box<Graph> {
        let _ = self.take(&mut last);
        match self {
            Self::Inline(graph) => graph,
            Self::Threaded { batches, graph, .. } => {
                drop(batches);
                graph.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            }
        }
    }
}

/// The node of an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    /// So far only used by an arc.
    Undeclared,
    Place(usize),
    Transition(usize),
    Page,
}

/// An arc whose ends are indices of `Graph::nodes`, because nodes may be declared after the arcs that use them.
struct RawArc {
    line: u64,
    source: u32,
    target: u32,
    weight: u64,
}

/// A problem and its line.
pub(super) type GraphError = (u64, Problem);

#[derive(Default)]
pub(super) struct Graph {
    /// The first error; entries after it are ignored.
    wrong: Option<GraphError>,
    places: Vec<Place>,
    transitions: Vec<Transition>,
    arcs: Vec<RawArc>,
    /// Ids of `arcs`. Nothing refers to arcs, so their ids are only compared, at the end.
    arc_ids: TextList,
    /// Ids of nodes, in the order of `nodes`.
    ids: Ids,
    /// Each node and the line of its declaration.
    nodes: Vec<(Node, u64)>,
}

impl Graph {
    fn take(&mut self, batch: &Batch) {
        /// Few enough that the results of the look-ups stay in a cache.
        const IDS_PER_LOOKUP: usize = if cfg!(test) { 2 } else { 256 };
        let mut numbers = Vec::new();
        for entries in batch.entries.chunks(IDS_PER_LOOKUP) {
            self.ids.number_all(entries.iter().flat_map(|entry| batch.nodes(entry)), &mut numbers);
            self.nodes.resize(self.ids.count(), (Node::Undeclared, 0));
            for (entry, [source, target]) in entries.iter().zip(numbers.as_chunks().0) {
                let [id, ..] = batch.ids(entry);
                let node = match entry.kind {
                    Kind::Arc => {
                        self.arc_ids.push(id);
                        let (source, target) = (*source, *target);
                        self.arcs.push(RawArc { line: entry.line, source, target, weight: entry.amount });
                        continue;
                    }
                    Kind::Page => Node::Page,
                    Kind::Place => Node::Place(self.places.len()),
                    Kind::Transition => Node::Transition(self.transitions.len()),
                };
                let known = &mut self.nodes[*source as usize];
                if known.0 != Node::Undeclared {
                    let problem = Problem::DuplicateId { id: id.to_owned(), first: known.1 };
                    self.wrong = Some((entry.line, problem));
                    return;
                }
                *known = (node, entry.line);
                let id = id.to_owned();
                match entry.kind {
                    Kind::Place => self.places.push(Place { id, initial: entry.amount }),
                    Kind::Transition => {
                        self.transitions.push(Transition { id, inputs: Vec::new(), outputs: Vec::new() });
                    }
                    Kind::Page | Kind::Arc => {}
                }
            }
        }
    }

    /// Takes the first error of the batches.
    pub fn wrong(&mut self) -> Option<GraphError> {
        self.wrong.take()
    }

    /// Builds the net; `line` is the last line of the document.
    pub fn finish(mut self, id: String, kind: NetKind, line: u64) -> Result<Net, GraphError> {
        if let Some(repeated) = self.repeated_arc() {
            return Err(repeated);
        }
        let node = |number: u32| self.nodes[number as usize].0;
        let sides = self.arcs.iter().map(|arc| match [node(arc.source), node(arc.target)] {
            [Node::Place(place), Node::Transition(transition)] => Some((transition, 0, place)),
            [Node::Transition(transition), Node::Place(place)] => Some((transition, 1, place)),
            _ => None,
        });
        // Counted first, so that each list is allocated once.
        let mut counts = vec![[0_usize; 2]; self.transitions.len()];
        for (number, side) in sides.clone().enumerate() {
            let Some((transition, side, _)) = side else { return Err(self.bad_arc(number)) };
            counts[transition][side] += 1;
        }
        for (transition, [inputs, outputs]) in self.transitions.iter_mut().zip(counts) {
            transition.inputs.reserve_exact(inputs);
            transition.outputs.reserve_exact(outputs);
        }
        for ((transition, side, place), arc) in sides.flatten().zip(&self.arcs) {
            let Transition { inputs, outputs, .. } = &mut self.transitions[transition];
            let side = if side == 0 { inputs } else { outputs };
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

    fn node(&self, number: u32) -> Node {
        self.nodes[number as usize].0
    }

    /// Returns an error for the first arc whose id is that of another arc or of a node. Compares sorted hashes: a look-up
    /// of every id would cost more time than reading.
    fn repeated_arc(&self) -> Option<GraphError> {
        // Half a hash and a number (below 2^32, like ids) in one word: needs less memory and sorts faster.
        let word = |hash: u64, number: usize| hash >> 32 << 32 | number as u64;
        let hash = |word: u64| word >> 32;
        let number = |word: u64| (word & u64::from(u32::MAX)) as usize;
        let hashed = |arc| word(self.ids.hash(self.arc_ids.get(arc)), arc);
        let mut arcs: Vec<u64> = (0..self.arcs.len()).map(hashed).collect();
        arcs.sort_unstable();
        let same = |a: usize, b: usize| self.arc_ids.get(a) == self.arc_ids.get(b);
        let alike = arcs.chunk_by(|a, b| hash(*a) == hash(*b)).filter(|alike| alike.len() > 1);
        let among_arcs = alike.filter_map(|alike| {
            let alike = || alike.iter().map(|word| number(*word));
            let mut pairs = alike().enumerate().flat_map(|(at, b)| alike().take(at).map(move |a| (a, b)));
            let (a, b) = pairs.find(|(a, b)| same(*a, *b))?;
            Some((self.arcs[b].line, self.arcs[a].line, b))
        });
        let mut nodes: Vec<u64> = self.ids.hashes().map(|(hash, number)| word(hash, number)).collect();
        nodes.sort_unstable();
        let mut rest = &arcs[..];
        let with_nodes = nodes.into_iter().filter_map(|node| {
            // Both are sorted: hashes below that of this node are below those of the following nodes.
            rest = &rest[rest.iter().take_while(|arc| hash(**arc) < hash(node)).count()..];
            let mut alike = rest.iter().take_while(|arc| hash(**arc) == hash(node)).map(|arc| number(*arc));
            let (node, line) = (number(node), self.nodes[number(node)].1);
            let arc = alike.find(|arc| self.arc_ids.get(*arc) == self.ids.get(node))?;
            let lines = [line, self.arcs[arc].line];
            let declared = self.nodes[node].0 != Node::Undeclared;
            declared.then(|| (lines[0].max(lines[1]), lines[0].min(lines[1]), arc))
        });
        let (line, first, arc) = among_arcs.chain(with_nodes).min()?;
        Some((line, Problem::DuplicateId { id: self.arc_ids.get(arc).to_owned(), first }))
    }

    #[cold]
    fn bad_arc(&self, number: usize) -> GraphError {
        let arc = &self.arcs[number];
        let dangling = [arc.source, arc.target]
            .into_iter()
            .find(|number| matches!(self.node(*number), Node::Undeclared | Node::Page));
        let arc_id = self.arc_ids.get(number).to_owned();
        let problem = match (dangling, self.node(arc.source)) {
            (Some(number), _) => {
                Problem::Dangling { arc: arc_id, id: self.ids.get(number as usize).to_owned() }
            }
            (None, Node::Place(_)) => Problem::NotBipartite { arc: arc_id, nodes: "places" },
            (None, _) => Problem::NotBipartite { arc: arc_id, nodes: "transitions" },
        };
        (arc.line, problem)
    }
}

/// Sums the weights of arcs of the same place, and keeps the order of the first arcs.
///
/// # Errors
/// The place whose sum exceeds u64.
fn merge(arcs: &mut Vec<Arc>) -> Result<(), usize> {
    // Fast path: nearly all lists are short and without a repeated place.
    const SHORT: usize = 16;
    let known = |at: usize| arcs[..at].iter().any(|arc| arc.place == arcs[at].place);
    if arcs.len() <= SHORT && !(1..arcs.len()).any(known) {
        return Ok(());
    }
    let mut first = HashMap::with_capacity(arcs.len());
    let mut merged: Vec<Arc> = Vec::with_capacity(arcs.len());
    for arc in arcs.iter() {
        match first.entry(arc.place) {
            MapEntry::Vacant(new) => {
                new.insert(merged.len());
                merged.push(*arc);
            }
            MapEntry::Occupied(at) => {
                let sum: &mut u64 = &mut merged[*at.get()].weight;
                *sum = sum.checked_add(arc.weight).ok_or(arc.place)?;
            }
        }
    }
    *arcs = merged;
    Ok(())
}
