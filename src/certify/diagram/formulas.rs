//! Sets of reachable markings with a property, as decision diagrams: formulas of CTL by fixpoints, as in `ctl`. The states before
//! others are found by saturation within a set (Zhao and Ciardo, *Symbolic CTL model checking of asynchronous systems using
//! constrained saturation*, 2009).

use super::{Diagram, Edges, NONE, Node, Part, RESULT_BYTES};
use crate::budget::Stop;
use crate::formula::{Pred, Sum};
use crate::net::Named;
use hashbrown::HashMap;
use mcc_model::Ctl;
use std::collections::BTreeMap;

/// About the bytes of a result about sums.
const SUM_BYTES: u64 = 64;

/// Operations on sets of reachable markings. All sets have nodes of the diagram.
pub(crate) struct Sets<'d, 'a> {
    diagram: &'d mut Diagram<'a>,
    /// The steps that must be left for the other formulas.
    kept: u64,
    both: HashMap<(Node, Node), Node>,
    without: HashMap<(Node, Node), Node>,
    /// By set, the set within which is searched, and the number of a part of a transition.
    before: HashMap<(Node, Node, u32), Node>,
    closed: HashMap<(Node, Node), Node>,
    fired: HashMap<(Node, Node, u32), Node>,
    /// By predicate: the markings in which it is true.
    preds: HashMap<Pred, Node>,
    dead: Option<Node>,
    /// Whether the state equation shows that no run is infinite.
    all_runs_end: bool,
}

impl<'d, 'a> Sets<'d, 'a> {
    pub(crate) fn new(diagram: &'d mut Diagram<'a>, all_runs_end: bool) -> Self {
        Self {
            diagram,
            kept: 0,
            both: HashMap::new(),
            without: HashMap::new(),
            before: HashMap::new(),
            closed: HashMap::new(),
            fired: HashMap::new(),
            preds: HashMap::new(),
            dead: None,
            all_runs_end,
        }
    }

    /// Lets the next formula take at most this share of the steps that are left.
    pub(crate) fn share(&mut self, share: f64) {
        let left = self.diagram.limits.left();
        self.kept = left - (left as f64 * share) as u64;
    }

    /// Whether a marking with the predicate is reachable.
    pub(crate) fn is_reachable(&mut self, pred: &Pred) -> Result<bool, Stop> {
        Ok(self.pred(pred)? != NONE)
    }

    /// Whether the initial marking has a formula; `preds[n]` is predicate n of the formula.
    pub(crate) fn holds_initially(&mut self, formula: &Ctl, preds: &[Pred]) -> Result<bool, Stop> {
        let set = self.states(formula, preds)?;
        let diagram = &self.diagram;
        let mut node = set;
        let initial = self.initial();
        while diagram.nodes[node as usize].0 > 0 {
            let (level, edges) = &diagram.nodes[node as usize];
            node = child(edges, initial[*level as usize]);
        }
        Ok(node != NONE)
    }

    /// Whether each transition can be enabled again from every reachable marking, or (not `always`) from the initial one. The
    /// transitions are those of the original net.
    pub(crate) fn all_enabled(&mut self, named: &Named, always: bool) -> Result<bool, Stop> {
        for range in &named.transitions {
            let enabled = self.pred(&Pred::Fireable(range.clone().collect()))?;
            let all = self.diagram.root;
            if enabled == NONE || always && self.closed(enabled, all)? != all {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether no place ever has two tokens, of any colours.
    pub(crate) fn is_safe(&self, named: &Named) -> Result<bool, Stop> {
        for range in &named.places {
            if self.diagram.largest(&Sum { places: range.clone().collect(), constant: 0 })? > 1 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a place has the same tokens in all markings. None: a coloured place changes, of which only the colours might.
    pub(crate) fn is_stable(&self, named: &Named) -> Option<bool> {
        let mut changes = vec![false; self.diagram.levels.len() + 1];
        let initial = self.initial();
        for node in self.diagram.used() {
            let (level, edges) = &self.diagram.nodes[node];
            let level = *level as usize;
            changes[level] |= edges.iter().any(|(tokens, _)| *tokens != initial[level]);
        }
        let changes = |place: u32| changes[self.diagram.levels[place as usize] as usize];
        if named.places.iter().any(|range| !range.clone().any(changes)) {
            Some(true)
        } else {
            named.places.iter().all(|range| range.len() == 1).then_some(false)
        }
    }

    /// By level: the initial tokens of its place.
    fn initial(&self) -> Vec<u64> {
        let mut initial = vec![0; self.diagram.levels.len() + 1];
        for (level, tokens) in self.diagram.levels.iter().zip(&self.diagram.net.initial) {
            initial[*level as usize] = *tokens;
        }
        initial
    }

    /// Counts steps, each of about twice the time of a step of the diagram.
    fn spend(&self, steps: u64) -> Result<(), Stop> {
        self.diagram.limits.spend(2 * steps)?;
        if self.diagram.limits.left() < self.kept { Err(Stop::Time) } else { Ok(()) }
    }

    fn level(&self, node: Node) -> u32 {
        self.diagram.nodes[node as usize].0
    }

    /// Keeps a result.
    fn keep(&mut self) -> Result<(), Stop> {
        self.diagram.take(RESULT_BYTES)
    }

    /// The markings with a formula.
    fn states(&mut self, formula: &Ctl, preds: &[Pred]) -> Result<Node, Stop> {
        let all = self.diagram.root;
        Ok(match formula {
            Ctl::Pred(number) => self.pred(&preds[*number])?,
            Ctl::Not(inner) => {
                let inner = self.states(inner, preds)?;
                self.without(all, inner)?
            }
            Ctl::And(parts) => {
                let mut result = all;
                for part in parts {
                    let part = self.states(part, preds)?;
                    result = self.both(result, part)?;
                }
                result
            }
            Ctl::Or(parts) => {
                let mut result = NONE;
                for part in parts {
                    let part = self.states(part, preds)?;
                    result = self.diagram.union(result, part)?;
                }
                result
            }
            Ctl::ExistsNext(inner) => {
                let inner = self.states(inner, preds)?;
                self.step_before(inner, all)?
            }
            Ctl::ExistsUntil(before, reach) => {
                let (before, reach) = (self.states(before, preds)?, self.states(reach, preds)?);
                self.closed(reach, before)?
            }
            Ctl::AllUntil(before, reach) => {
                // A marking does not have it if a path leaves `before`, or stays in it without end, before it is in `reach`.
                let (before, reach) = (self.states(before, preds)?, self.states(reach, preds)?);
                let other = self.without(all, reach)?;
                let leaves = self.without(other, before)?;
                let leaves = self.closed(leaves, other)?;
                let stays = self.stays(other)?;
                let not = self.diagram.union(leaves, stays)?;
                self.without(all, not)?
            }
        })
    }

    /// The markings from which a path stays in this set without end, or until a dead marking.
    fn stays(&mut self, set: Node) -> Result<Node, Stop> {
        let dead = self.dead()?;
        let dead = self.both(set, dead)?;
        // A path through the others never comes to one from which a dead marking is reached.
        let ends = self.closed(dead, set)?;
        if self.all_runs_end {
            return Ok(ends);
        }
        let mut cycles = self.without(set, ends)?;
        loop {
            let before = self.step_before(cycles, cycles)?;
            if before == cycles {
                return self.diagram.union(ends, cycles);
            }
            cycles = before;
        }
    }

    /// The markings of `within` from which one firing leads to a set.
    fn step_before(&mut self, set: Node, within: Node) -> Result<Node, Stop> {
        let mut result = NONE;
        for start in self.diagram.starts.concat() {
            let before = self.before(set, within, start)?;
            result = self.diagram.union(result, before)?;
        }
        // Transitions that change nothing have no parts.
        let kept = self.both(set, within)?;
        for transition in 0..self.diagram.net.transitions() as u32 {
            if self.diagram.net.changes(transition).is_empty() {
                let enabled = self.enabled(kept, transition)?;
                result = self.diagram.union(result, enabled)?;
            }
        }
        Ok(result)
    }

    /// The node with these children of a node: `child` gives a child for the tokens above it and for the old one.
    fn with_children(
        &mut self,
        node: Node,
        mut child: impl FnMut(&mut Self, u64, Node) -> Result<Node, Stop>,
    ) -> Result<Node, Stop> {
        let mut result = Vec::new();
        for &(tokens, below) in &*self.diagram.edges(node) {
            let below = child(self, tokens, below)?;
            if below != NONE {
                result.push((tokens, below));
            }
        }
        self.diagram.node(self.level(node), result)
    }

    /// The markings of `within` from which the parts of a transition from this one on lead to a set.
    fn before(&mut self, set: Node, within: Node, part: u32) -> Result<Node, Stop> {
        if set == NONE || within == NONE {
            return Ok(NONE);
        }
        let key = (set, within, part);
        if let Some(known) = self.before.get(&key) {
            return Ok(*known);
        }
        let edges = self.diagram.edges(set);
        self.spend(2 + self.diagram.edges(within).len() as u64 / 2)?;
        let Part { level, needs, less, more, is_last } = self.diagram.parts[part as usize];
        let is_here = level == self.level(set);
        let result = self.with_children(within, |sets, tokens, limit| {
            if !is_here {
                return sets.before(child(&edges, tokens), limit, part);
            }
            if tokens < needs {
                return Ok(NONE);
            }
            let Some(after) = (tokens - less).checked_add(more) else { return Ok(NONE) };
            let after = child(&edges, after);
            if is_last { sets.both(after, limit) } else { sets.before(after, limit, part + 1) }
        })?;
        self.keep()?;
        self.before.insert(key, result);
        Ok(result)
    }

    /// The markings of a set, and those of `within` from which a path through `within` leads to it.
    fn closed(&mut self, set: Node, within: Node) -> Result<Node, Stop> {
        if set == NONE || within == NONE || self.level(set) == 0 {
            return Ok(set);
        }
        if let Some(known) = self.closed.get(&(set, within)) {
            return Ok(*known);
        }
        let (edges, limits) = (self.diagram.edges(set), self.diagram.edges(within));
        self.spend(2 + edges.len() as u64 / 2)?;
        let mut closed = BTreeMap::new();
        for &(tokens, below) in &*edges {
            closed.insert(tokens, self.closed(below, child(&limits, tokens))?);
        }
        let result = self.close(self.level(set), closed, &limits)?;
        self.keep()?;
        self.closed.insert((set, within), result);
        Ok(result)
    }

    /// Closes edges whose children are closed.
    fn close(&mut self, level: u32, mut edges: BTreeMap<u64, Node>, limits: &Edges) -> Result<Node, Stop> {
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for number in 0..self.diagram.starts[level as usize].len() {
                let start = self.diagram.starts[level as usize][number];
                for after in edges.keys().copied().collect::<Vec<u64>>() {
                    self.spend(1)?;
                    let Some((tokens, new)) = self.fire_part(after, edges[&after], limits, start)? else {
                        continue;
                    };
                    let old = edges.get(&tokens).copied().unwrap_or(NONE);
                    let new = self.diagram.union(old, new)?;
                    if new != old {
                        edges.insert(tokens, new);
                        changed = true;
                    }
                }
            }
        }
        self.diagram.node(level, edges.into_iter().collect())
    }

    /// The tokens before this part of a transition, and the closed set of the markings below; None: nothing.
    fn fire_part(
        &mut self,
        after: u64,
        below: Node,
        limits: &Edges,
        part: u32,
    ) -> Result<Option<(u64, Node)>, Stop> {
        let Part { needs, less, more, is_last, .. } = self.diagram.parts[part as usize];
        let Some(tokens) = after.checked_sub(more).and_then(|rest| rest.checked_add(less)) else {
            return Ok(None);
        };
        let limit = child(limits, tokens);
        if tokens < needs || limit == NONE {
            return Ok(None);
        }
        let before = if is_last {
            let both = self.both(below, limit)?;
            self.closed(both, limit)?
        } else {
            self.fire(below, limit, part + 1)?
        };
        Ok(Some((tokens, before)).filter(|(_, before)| *before != NONE))
    }

    /// The markings of `within` before the parts of a transition from this one on, closed.
    fn fire(&mut self, set: Node, within: Node, part: u32) -> Result<Node, Stop> {
        if set == NONE || within == NONE {
            return Ok(NONE);
        }
        let key = (set, within, part);
        if let Some(known) = self.fired.get(&key) {
            return Ok(*known);
        }
        let (level, edges, limits) = (self.level(set), self.diagram.edges(set), self.diagram.edges(within));
        self.spend(2 + edges.len() as u64 / 2)?;
        let is_here = self.diagram.parts[part as usize].level == level;
        let mut found = BTreeMap::new();
        for &(tokens, below) in &*edges {
            let before = if is_here {
                self.fire_part(tokens, below, &limits, part)?
            } else {
                Some((tokens, self.fire(below, child(&limits, tokens), part)?))
                    .filter(|(_, before)| *before != NONE)
            };
            found.extend(before);
        }
        let result = self.close(level, found, &limits)?;
        self.keep()?;
        self.fired.insert(key, result);
        Ok(result)
    }

    /// The markings with a predicate.
    fn pred(&mut self, pred: &Pred) -> Result<Node, Stop> {
        let all = self.diagram.root;
        if let Some(known) = self.preds.get(pred) {
            return Ok(*known);
        }
        let set = match pred {
            Pred::True => all,
            Pred::Not(inner) => {
                let inner = self.pred(inner)?;
                self.without(all, inner)?
            }
            Pred::And(parts) => {
                let mut result = all;
                for part in parts {
                    let part = self.pred(part)?;
                    result = self.both(result, part)?;
                }
                result
            }
            Pred::Or(parts) => {
                let mut result = NONE;
                for part in parts {
                    let part = self.pred(part)?;
                    result = self.diagram.union(result, part)?;
                }
                result
            }
            Pred::Le(left, right) => self.at_most(left, right)?,
            Pred::Fireable(transitions) => self.one_enabled(transitions.iter().copied())?,
            Pred::Dead => self.dead()?,
        };
        self.preds.insert(pred.clone(), set);
        Ok(set)
    }

    fn dead(&mut self) -> Result<Node, Stop> {
        if let Some(known) = self.dead {
            return Ok(known);
        }
        let enabled = self.one_enabled(0..self.diagram.net.transitions() as u32)?;
        let dead = self.without(self.diagram.root, enabled)?;
        self.dead = Some(dead);
        Ok(dead)
    }

    fn one_enabled(&mut self, transitions: impl Iterator<Item = u32>) -> Result<Node, Stop> {
        let mut result = NONE;
        for transition in transitions {
            let enabled = self.enabled(self.diagram.root, transition)?;
            result = self.diagram.union(result, enabled)?;
        }
        Ok(result)
    }

    /// The markings of a set in which a transition is enabled.
    fn enabled(&mut self, set: Node, transition: u32) -> Result<Node, Stop> {
        let needs = self.diagram.needs(transition);
        self.with_tokens(set, &needs, &mut HashMap::new())
    }

    /// The markings of a set with the tokens that are needed: levels with numbers, the highest last.
    fn with_tokens(
        &mut self,
        node: Node,
        needs: &[(u32, u64)],
        known: &mut HashMap<Node, Node>,
    ) -> Result<Node, Stop> {
        let Some(((next, least), rest)) = needs.split_last() else { return Ok(node) };
        if node == NONE {
            return Ok(NONE);
        }
        if let Some(known) = known.get(&node) {
            return Ok(*known);
        }
        let (level, edges) = (self.level(node), self.diagram.edges(node));
        self.spend(1 + edges.len() as u64 / 4)?;
        let (least, rest) = if level == *next { (*least, rest) } else { (0, needs) };
        let result = self.with_children(node, |sets, tokens, below| {
            if tokens < least { Ok(NONE) } else { sets.with_tokens(below, rest, known) }
        })?;
        known.insert(node, result);
        Ok(result)
    }

    /// The markings in which `left` is at most `right`.
    fn at_most(&mut self, left: &Sum, right: &Sum) -> Result<Node, Stop> {
        let mut weights = vec![0; self.diagram.levels.len() + 1];
        left.places.iter().for_each(|place| weights[self.diagram.levels[*place as usize] as usize] += 1);
        right.places.iter().for_each(|place| weights[self.diagram.levels[*place as usize] as usize] -= 1);
        let mut sums = Sums { weights, ranges: HashMap::new(), found: HashMap::new() };
        let most = i128::from(right.constant) - i128::from(left.constant);
        let result = self.sum_at_most(self.diagram.root, most, &mut sums)?;
        self.diagram.give_back(SUM_BYTES * (sums.ranges.len() + sums.found.len()) as u64);
        Ok(result)
    }

    /// The markings of a set whose weighted sum is at most `most`.
    fn sum_at_most(&mut self, node: Node, most: i128, sums: &mut Sums) -> Result<Node, Stop> {
        let (least, largest) = self.range(node, sums)?;
        if largest <= most {
            return Ok(node);
        }
        if least > most {
            return Ok(NONE);
        }
        if let Some(known) = sums.found.get(&(node, most)) {
            return Ok(*known);
        }
        let (level, edges) = (self.level(node), self.diagram.edges(node));
        self.spend(1 + edges.len() as u64 / 2)?;
        let weight = sums.weights[level as usize];
        let result = self.with_children(node, |sets, tokens, below| {
            sets.sum_at_most(below, most - weight * i128::from(tokens), sums)
        })?;
        self.diagram.take(SUM_BYTES)?;
        sums.found.insert((node, most), result);
        Ok(result)
    }

    /// The least and the largest weighted sum of the markings of a set, which is not empty.
    fn range(&mut self, node: Node, sums: &mut Sums) -> Result<(i128, i128), Stop> {
        let (level, edges) = self.diagram.nodes[node as usize].clone();
        if level == 0 {
            return Ok((0, 0));
        }
        if let Some(known) = sums.ranges.get(&node) {
            return Ok(*known);
        }
        self.spend(1 + edges.len() as u64 / 4)?;
        let weight = sums.weights[level as usize];
        let mut range = (i128::MAX, i128::MIN);
        for &(tokens, below) in &*edges {
            let (least, largest) = self.range(below, sums)?;
            let here = weight * i128::from(tokens);
            range = (range.0.min(here + least), range.1.max(here + largest));
        }
        self.diagram.take(SUM_BYTES)?;
        sums.ranges.insert(node, range);
        Ok(range)
    }

    /// The markings of both sets.
    fn both(&mut self, one: Node, other: Node) -> Result<Node, Stop> {
        if one == other || one == NONE {
            return Ok(one);
        }
        if other == NONE {
            return Ok(NONE);
        }
        let key = (one.min(other), one.max(other));
        if let Some(known) = self.both.get(&key) {
            return Ok(*known);
        }
        let (left, right) = (self.diagram.edges(one), self.diagram.edges(other));
        self.spend(2 + (left.len() + right.len()) as u64 / 4)?;
        let result =
            self.with_children(one, |sets, tokens, below| sets.both(below, child(&right, tokens)))?;
        self.keep()?;
        self.both.insert(key, result);
        Ok(result)
    }

    /// The markings of a set that are not in the other.
    fn without(&mut self, one: Node, other: Node) -> Result<Node, Stop> {
        if one == other || one == NONE {
            return Ok(NONE);
        }
        if other == NONE {
            return Ok(one);
        }
        if let Some(known) = self.without.get(&(one, other)) {
            return Ok(*known);
        }
        let (left, right) = (self.diagram.edges(one), self.diagram.edges(other));
        self.spend(2 + (left.len() + right.len()) as u64 / 4)?;
        let result =
            self.with_children(one, |sets, tokens, below| sets.without(below, child(&right, tokens)))?;
        self.keep()?;
        self.without.insert((one, other), result);
        Ok(result)
    }
}

/// Sums of the tokens of a marking, each number of tokens times the weight of its level.
struct Sums {
    weights: Vec<i128>,
    ranges: HashMap<Node, (i128, i128)>,
    /// By set and number: its markings with at most this sum.
    found: HashMap<(Node, i128), Node>,
}

/// The markings below this number of tokens.
fn child(edges: &Edges, tokens: u64) -> Node {
    edges.binary_search_by_key(&tokens, |(tokens, _)| *tokens).map_or(NONE, |at| edges[at].1)
}
