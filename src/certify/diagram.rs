//! The set of all reachable markings as a decision diagram, which can be small where the markings are too many to be stored
//! one by one. It is found by saturation (Ciardo, Marmorstein and Siminiceanu, *The saturation algorithm for symbolic
//! state-space exploration*, 2006): a node is closed under the transitions whose places are all at its level or below, before
//! the node above it is made.

pub(crate) mod formulas;

use crate::budget::{Limits, Stop};
use crate::formula::Sum;
use crate::net::Compiled;
use hashbrown::HashMap;
use mcc_base::line_order::{greedy_order, line_order};
use num_bigint::BigUint;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A set of markings of the places at a level and below.
type Node = u32;
/// The set without a marking.
const NONE: Node = 0;
/// The set with the one marking of no places.
const UNIT: Node = 1;

/// Numbers of tokens on the place of a level, in ascending order, each with the set of the markings below, which is not empty.
type Edges = Rc<[(u64, Node)]>;

/// Places of the largest net for which a diagram is made: each is a level of recursion.
const MAX_PLACES: usize = 2000;
/// About the bytes of a node without its edges, and of a result that is kept.
const NODE_BYTES: u64 = 128;
const RESULT_BYTES: u64 = 32;

/// The bytes of a number that are not counted already: each node has `NODE_BYTES` for its two numbers.
fn more_bytes(number: &BigUint) -> u64 {
    (24 + number.bits() / 8).saturating_sub(NODE_BYTES / 2)
}

/// The bytes of a number that is kept by node.
fn kept_bytes(number: &BigUint) -> u64 {
    RESULT_BYTES + number.bits() / 8
}

/// Orders of places that are tried.
const ORDERS: usize = 4;

/// What a transition does to the place of a level.
#[derive(Clone, Copy)]
struct Part {
    level: u32,
    needs: u64,
    less: u64,
    more: u64,
    /// Whether the transition has no further part. Otherwise it is the next one, at a level below.
    is_last: bool,
}

/// Orders of the places that are tried for a diagram, the lowest first.
pub(crate) fn orders(net: &Compiled, limits: &Limits<'_>) -> Result<[Vec<usize>; ORDERS], Stop> {
    if net.places() > MAX_PLACES {
        return Err(Stop::TooLarge("the net has too many places for a decision diagram"));
    }
    let transitions = || 0..net.transitions() as u32;
    let changed = |transition| net.changes(transition).iter().map(|change| change.place as usize);
    let mut is_fixed = vec![true; net.places()];
    transitions().flat_map(changed).for_each(|place| is_fixed[place] = false);
    let places = |transition| {
        let inputs = net.inputs(transition).iter().map(|(place, _)| *place as usize);
        let mut places: Vec<usize> =
            changed(transition).chain(inputs).filter(|place| !is_fixed[*place]).collect();
        places.sort_unstable();
        places.dedup();
        places
    };
    let groups: Vec<Vec<usize>> = transitions().map(places).collect();
    let arcs = groups.iter().map(|group| group.len() as u64).sum::<u64>();
    limits.spend(arcs + (net.places() as u64).pow(2) / 16)?;
    let line = line_order(net.places(), &groups);
    let reversed = line.iter().rev().copied().collect();
    let file_reversed = (0..net.places()).rev().collect();
    let mut orders = [line, reversed, greedy_order(net.places(), &groups), file_reversed];
    // Places that keep their tokens are the lowest, so that a set is closed under the transitions that only read them before
    // it is combined with others.
    orders.iter_mut().for_each(|order| order.sort_by_key(|place| !is_fixed[*place]));
    Ok(orders)
}

/// The reachable markings of a net.
pub(crate) struct Diagram<'a> {
    net: &'a Compiled,
    limits: &'a Limits<'a>,
    /// By node its level, and its edges. The places have the levels 1, 2, ...; a child has a smaller number than its parent.
    nodes: Vec<(u32, Edges)>,
    known: HashMap<(u32, Edges), Node>,
    unions: HashMap<(Node, Node), Node>,
    /// By node and number of the part: the saturated result of a firing from there on.
    fired: HashMap<(Node, u32), Node>,
    /// By place: its level.
    levels: Vec<u32>,
    parts: Vec<Part>,
    /// By level: the first parts of the transitions whose highest place it is.
    starts: Vec<Vec<u32>>,
    taken: u64,
    root: Node,
    /// By node of the result: the number of its markings, and of the ways from the root to it; 0 for all other nodes.
    below: Vec<BigUint>,
    above: Vec<BigUint>,
}

impl Drop for Diagram<'_> {
    fn drop(&mut self) {
        self.limits.give_back(self.taken);
    }
}

impl<'a> Diagram<'a> {
    /// Finds all reachable markings. The order of the places, the lowest first, decides how large diagrams become.
    pub(crate) fn new(net: &'a Compiled, order: &[usize], limits: &'a Limits<'a>) -> Result<Self, Stop> {
        let transitions = || 0..net.transitions() as u32;
        let mut levels = vec![0; net.places()];
        (1..).zip(order).for_each(|(level, place)| levels[*place] = level);
        let none: Edges = Rc::new([]);
        let mut diagram = Self {
            net,
            limits,
            nodes: vec![(0, Rc::clone(&none)), (0, none)],
            known: HashMap::new(),
            unions: HashMap::new(),
            fired: HashMap::new(),
            levels,
            parts: Vec::new(),
            starts: vec![Vec::new(); net.places() + 1],
            taken: 0,
            root: UNIT,
            below: Vec::new(),
            above: Vec::new(),
        };
        // A transition that changes nothing reaches nothing.
        transitions().filter(|one| !net.changes(*one).is_empty()).for_each(|one| diagram.add(one));
        for (level, place) in (1..).zip(order) {
            let edges = BTreeMap::from([(net.initial[*place], diagram.root)]);
            diagram.root = diagram.saturate(level, edges)?;
        }
        diagram.count()?;
        Ok(diagram)
    }

    /// Takes further steps and memory from other limits.
    pub(crate) fn continue_with(&mut self, limits: &'a Limits<'a>) -> Result<(), Stop> {
        self.limits.give_back(self.taken);
        self.limits = limits;
        let taken = std::mem::take(&mut self.taken);
        self.take(taken)
    }

    pub(crate) fn limits(&self) -> &'a Limits<'a> {
        self.limits
    }

    fn add(&mut self, transition: u32) {
        let mut parts: BTreeMap<u32, Part> = BTreeMap::new();
        let mut part = |place: u32, needs, less, more| {
            let level = self.levels[place as usize];
            let part =
                parts.entry(level).or_insert(Part { level, needs: 0, less: 0, more: 0, is_last: false });
            (part.needs, part.less, part.more) = (part.needs + needs, part.less + less, part.more + more);
        };
        self.net.inputs(transition).iter().for_each(|&(place, needs)| part(place, needs, 0, 0));
        self.net
            .changes(transition)
            .iter()
            .for_each(|change| part(change.place, 0, change.less, change.more));
        if let Some(mut last) = parts.first_entry() {
            last.get_mut().is_last = true;
        }
        if let Some((&level, _)) = parts.last_key_value() {
            self.starts[level as usize].push(self.parts.len() as u32);
        }
        self.parts.extend(parts.into_values().rev());
    }

    fn edges(&self, node: Node) -> Edges {
        Rc::clone(&self.nodes[node as usize].1)
    }

    fn take(&mut self, bytes: u64) -> Result<(), Stop> {
        self.limits.take(bytes)?;
        self.taken += bytes;
        Ok(())
    }

    fn give_back(&mut self, bytes: u64) {
        self.limits.give_back(bytes);
        self.taken = self.taken.saturating_sub(bytes);
    }

    /// The node of these edges.
    fn node(&mut self, level: u32, edges: Vec<(u64, Node)>) -> Result<Node, Stop> {
        if edges.is_empty() {
            return Ok(NONE);
        }
        let edges: Edges = edges.into();
        if let Some(known) = self.known.get(&(level, Rc::clone(&edges))) {
            return Ok(*known);
        }
        self.take(NODE_BYTES + 16 * edges.len() as u64)?;
        let node = Node::try_from(self.nodes.len())
            .map_err(|_| Stop::TooLarge("a decision diagram has more than 2^32 nodes"))?;
        self.nodes.push((level, Rc::clone(&edges)));
        self.known.insert((level, edges), node);
        Ok(node)
    }

    fn union(&mut self, one: Node, other: Node) -> Result<Node, Stop> {
        if one == other || other == NONE {
            return Ok(one);
        }
        if one == NONE {
            return Ok(other);
        }
        let key = (one.min(other), one.max(other));
        if let Some(known) = self.unions.get(&key) {
            return Ok(*known);
        }
        let (level, (left, right)) = (self.nodes[one as usize].0, (self.edges(one), self.edges(other)));
        self.limits.spend(2 + (left.len() + right.len()) as u64 / 4)?;
        let mut edges = Vec::with_capacity(left.len() + right.len());
        let (mut left, mut right) = (&left[..], &right[..]);
        loop {
            match (left, right) {
                (&[(tokens, one), ref after @ ..], &[(same, other), ref rest @ ..]) if tokens == same => {
                    edges.push((tokens, self.union(one, other)?));
                    (left, right) = (after, rest);
                }
                (&[edge, ref after @ ..], rest) if rest.first().is_none_or(|other| edge.0 < other.0) => {
                    edges.push(edge);
                    left = after;
                }
                (_, &[edge, ref rest @ ..]) => {
                    edges.push(edge);
                    right = rest;
                }
                (_, []) => break,
            }
        }
        let node = self.node(level, edges)?;
        self.take(RESULT_BYTES)?;
        self.unions.insert(key, node);
        Ok(node)
    }

    /// The least set with these markings that is closed under the transitions at this level and below; the children are closed.
    fn saturate(&mut self, level: u32, mut edges: BTreeMap<u64, Node>) -> Result<Node, Stop> {
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for number in 0..self.starts[level as usize].len() {
                let start = self.starts[level as usize][number];
                let needs = self.parts[start as usize].needs;
                let sources: Vec<u64> = edges.range(needs..).map(|(tokens, _)| *tokens).collect();
                for tokens in sources {
                    // In an unbounded net this never ends by itself.
                    self.limits.spend(1)?;
                    let Some((tokens, reached)) = self.fire_part(tokens, edges[&tokens], start)? else {
                        continue;
                    };
                    let old = edges.get(&tokens).copied().unwrap_or(NONE);
                    let new = self.union(old, reached)?;
                    if new != old {
                        edges.insert(tokens, new);
                        changed = true;
                    }
                }
            }
        }
        self.node(level, edges.into_iter().collect())
    }

    /// The tokens after this part of a transition, and what its further parts make of the markings below; None: nothing.
    fn fire_part(&mut self, tokens: u64, child: Node, part: u32) -> Result<Option<(u64, Node)>, Stop> {
        let Part { needs, less, more, is_last, .. } = self.parts[part as usize];
        if tokens < needs {
            return Ok(None);
        }
        let reached = if is_last { child } else { self.fire(child, part + 1)? };
        if reached == NONE {
            return Ok(None);
        }
        let tokens = (tokens - less).checked_add(more).ok_or(Stop::TooManyTokens)?;
        Ok(Some((tokens, reached)))
    }

    /// What the parts of a transition from this one on make of a set, saturated.
    fn fire(&mut self, node: Node, part: u32) -> Result<Node, Stop> {
        if let Some(known) = self.fired.get(&(node, part)) {
            return Ok(*known);
        }
        let (level, edges) = self.nodes[node as usize].clone();
        self.limits.spend(2 + edges.len() as u64 / 2)?;
        let is_here = self.parts[part as usize].level == level;
        let mut after = BTreeMap::new();
        for &(tokens, child) in &*edges {
            let reached = if is_here {
                self.fire_part(tokens, child, part)?
            } else {
                Some((tokens, self.fire(child, part)?)).filter(|(_, reached)| *reached != NONE)
            };
            after.extend(reached);
        }
        let result = self.saturate(level, after)?;
        self.take(RESULT_BYTES)?;
        self.fired.insert((node, part), result);
        Ok(result)
    }

    fn count(&mut self) -> Result<(), Stop> {
        self.give_back(RESULT_BYTES * self.fired.len() as u64);
        self.fired = HashMap::new();
        let size = self.root as usize + 1;
        self.take(size as u64 * NODE_BYTES)?;
        (self.below, self.above) = (vec![BigUint::ZERO; size], vec![BigUint::ZERO; size]);
        self.above[self.root as usize] = BigUint::from(1_u8);
        for node in (UNIT as usize + 1..size).rev() {
            self.limits.spend(1)?;
            if self.above[node] != BigUint::ZERO {
                let above = self.above[node].clone();
                for (_, child) in &*self.edges(node as Node) {
                    let number = &mut self.above[*child as usize];
                    let before = more_bytes(number);
                    *number += &above;
                    let more = more_bytes(number) - before;
                    self.take(more)?;
                }
            }
        }
        self.below[UNIT as usize] = BigUint::from(1_u8);
        for node in UNIT as usize + 1..size {
            self.limits.spend(1)?;
            if self.above[node] != BigUint::ZERO {
                let below = self.nodes[node].1.iter().map(|(_, child)| &self.below[*child as usize]);
                self.below[node] = below.sum();
                self.take(more_bytes(&self.below[node]))?;
            }
        }
        Ok(())
    }

    /// The nodes of the result with places, children before parents.
    fn used(&self) -> impl Iterator<Item = usize> {
        (UNIT as usize + 1..self.above.len()).filter(|node| self.above[*node] != BigUint::ZERO)
    }

    /// The number of nodes of the result.
    pub(crate) fn size(&self) -> u64 {
        self.used().count() as u64
    }

    /// The number of markings.
    pub(crate) fn states(&self) -> BigUint {
        self.below[self.root as usize].clone()
    }

    /// The number of firings from them: of pairs of a marking and a transition that is enabled in it.
    pub(crate) fn firings(&self) -> Result<BigUint, Stop> {
        let mut by_level = vec![Vec::new(); self.net.places() + 1];
        self.used().for_each(|node| by_level[self.nodes[node].0 as usize].push(node as Node));
        let mut firings = BigUint::ZERO;
        for transition in 0..self.net.transitions() as u32 {
            let needs = self.needs(transition);
            let Some((top, _)) = needs.last() else {
                firings += self.states();
                continue;
            };
            let mut kept = HashMap::new();
            let from = |node: &Node| -> Result<BigUint, Stop> {
                let enabled = self.enabled(*node, &needs, &mut kept)?;
                Ok(&self.above[*node as usize] * enabled)
            };
            let sum: Result<BigUint, Stop> = by_level[*top as usize].iter().map(from).sum();
            self.limits.give_back(kept.values().map(kept_bytes).sum());
            firings += sum?;
        }
        Ok(firings)
    }

    /// The tokens that a transition needs: levels with numbers, the highest last.
    fn needs(&self, transition: u32) -> Vec<(u32, u64)> {
        let needs = self.net.inputs(transition).iter();
        let mut needs: Vec<(u32, u64)> =
            needs.map(|(place, tokens)| (self.levels[*place as usize], *tokens)).collect();
        needs.sort_unstable();
        needs
    }

    /// The number of markings of a node with the tokens that are needed: levels with numbers, the highest last.
    fn enabled(
        &self,
        node: Node,
        needs: &[(u32, u64)],
        kept: &mut HashMap<Node, BigUint>,
    ) -> Result<BigUint, Stop> {
        let Some(((next, least), rest)) = needs.split_last() else {
            return Ok(self.below[node as usize].clone());
        };
        if let Some(known) = kept.get(&node) {
            return Ok(known.clone());
        }
        let (level, edges) = &self.nodes[node as usize];
        self.limits.spend(1 + edges.len() as u64 / 4)?;
        let (least, rest) = if level == next { (*least, rest) } else { (0, needs) };
        let mut sum = BigUint::ZERO;
        for (_, child) in edges.iter().filter(|(tokens, _)| *tokens >= least) {
            sum += self.enabled(*child, rest, kept)?;
        }
        self.limits.take(kept_bytes(&sum))?;
        kept.insert(node, sum.clone());
        Ok(sum)
    }

    /// The largest number of tokens on a place.
    pub(crate) fn in_place(&self) -> u64 {
        let largest = self.used().filter_map(|node| self.nodes[node].1.last());
        largest.map(|(tokens, _)| *tokens).max().unwrap_or_default()
    }

    /// The largest value of a sum.
    pub(crate) fn largest(&self, sum: &Sum) -> Result<u128, Stop> {
        let mut weights = vec![0_u128; self.net.places() + 1];
        sum.places.iter().for_each(|place| weights[self.levels[*place as usize] as usize] += 1);
        let mut largest = vec![0_u128; self.above.len()];
        for node in self.used() {
            self.limits.spend(1)?;
            let (level, edges) = &self.nodes[node];
            let value = |(tokens, child): &(u64, Node)| {
                weights[*level as usize] * u128::from(*tokens) + largest[*child as usize]
            };
            largest[node] = edges.iter().map(value).max().unwrap_or_default();
        }
        Ok(largest[self.root as usize] + u128::from(sum.constant))
    }
}

#[cfg(test)]
mod tests {
    use super::formulas::Sets;
    use super::*;
    use crate::budget::Budget;
    use crate::engine::read_net;
    use crate::formula::Names;
    use crate::net::Arcs;
    use crate::questions::{self, Kind};
    use mcc_checker::{Instance, Value};
    use mcc_model::Archive;
    use std::path::Path;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    /// The largest number of markings that are explored one by one.
    const MARKINGS: u64 = 20_000;

    #[test]
    fn long_numbers_are_in_the_limit_of_memory() {
        // Each of 1000 pairs of places shares 20 tokens, so that numbers have thousands of bits.
        let pairs = 0..1000_u32;
        let to_lower = |pair| Arcs { inputs: vec![(2 * pair + 1, 1)], outputs: vec![(2 * pair, 1)] };
        let net = Compiled::new([0, 20].repeat(1000), &pairs.map(to_lower).collect::<Vec<_>>());
        let order: Vec<usize> = (0..2000).collect();
        let within = |memory_bytes| {
            let budget = Budget { memory_bytes, ..Budget::of_time(Duration::from_secs(3600)) };
            let limits = Limits::new(&budget);
            let diagram = Diagram::new(&net, &order, &limits)?;
            Ok(diagram.below.iter().chain(&diagram.above).map(|number| number.bits() / 8).sum())
        };
        let numbers: u64 = within(1 << 30).unwrap();
        assert!(numbers > 10 << 20, "{numbers}");
        assert_eq!(within(numbers), Err(Stop::Memory));
    }

    #[test]
    fn decision_diagrams_have_the_values_of_an_exploration() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let (mut compared, mut truths) = (0, 0);
        for folder in ["pnml-fixtures", "tests/data/evidence/instances"] {
            let entries = std::fs::read_dir(root.join(folder)).unwrap();
            let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
            paths.sort();
            for path in paths {
                let Ok(archive) = Archive::open(&path) else { continue };
                let Ok(instance) = Instance::read(&archive) else { continue };
                let cancel = AtomicBool::new(false);
                // Steps end the search in unbounded nets.
                let budget = Budget { steps: MARKINGS * 20, ..Budget::of_time(Duration::from_secs(600)) };
                let limits = Limits::new(&budget);
                let Ok(named) = read_net(&archive, &limits) else { continue };
                let graph = crate::explore::explore(&named.net, &named.net.initial, &limits);
                if !graph.is_complete() || graph.states() as u64 > MARKINGS {
                    continue;
                }
                let all = instance.explore(Duration::from_secs(600), 1 << 28, &cancel).unwrap();
                let again = instance.diagram(Duration::from_secs(600), 1 << 28, &cancel).unwrap();
                let limits = Limits::new(&Budget { steps: u64::MAX, ..budget });
                for order in orders(&named.net, &limits).unwrap() {
                    let diagram = Diagram::new(&named.net, &order, &limits).unwrap();
                    let places = (0..named.net.places() as u32).collect();
                    let numbers = [
                        ("STATES", diagram.states()),
                        ("TRANSITIONS", diagram.firings().unwrap()),
                        ("MAX_TOKEN_IN_PLACE", diagram.in_place().into()),
                        (
                            "MAX_TOKEN_PER_MARKING",
                            diagram.largest(&Sum { places, constant: 0 }).unwrap().into(),
                        ),
                    ];
                    for (metric, number) in numbers {
                        let known = all.value("StateSpace", metric).unwrap();
                        assert_eq!(known, Some(Value::Number(number)), "{} {metric}", archive.instance);
                    }
                }
                let names = Names::new(&named);
                for name in
                    ["ReachabilityCardinality", "ReachabilityFireability", "CTLCardinality", "CTLFireability"]
                {
                    let order = &orders(&named.net, &limits).unwrap()[0];
                    let mut diagram = Diagram::new(&named.net, order, &limits).unwrap();
                    let mut sets = Sets::new(&mut diagram, false);
                    let examination = questions::read(&archive, name, &names).unwrap();
                    for question in examination.questions.iter().filter(|question| question.part.is_none()) {
                        let truth = match &question.kind {
                            Kind::Reach { pred, found } => sets.is_reachable(pred).unwrap() == *found,
                            Kind::Ctl(formula) => sets.holds_initially(formula, &examination.preds).unwrap(),
                            _ => continue,
                        };
                        let known = all.value(name, &question.id).unwrap();
                        assert_eq!(known, Some(Value::Truth(truth)), "{} {}", archive.instance, question.id);
                        truths += 1;
                    }
                }
                for (examination, id) in instance.questions() {
                    if ["StateSpace", "UpperBounds"].contains(&examination.as_str()) {
                        let known = all.value(&examination, &id).unwrap();
                        assert_eq!(
                            Some(again.value(&examination, &id).unwrap()),
                            known,
                            "{} {id}",
                            archive.instance
                        );
                        compared += 1;
                    }
                }
            }
        }
        assert!(compared > 100 && truths > 300, "{compared} {truths}");
    }
}
