//! Translates LTL to a generalized Buechi automaton with acceptance on transitions, while it is used. A state is a set of
//! formulas that must hold from here on (Couvreur: On-the-fly Verification of Linear Temporal Logic, FM 1999, after the
//! tableau of Gerth, Peled, Vardi, Wolper: Simple On-the-fly Automatic Verification of Linear Temporal Logic, 1995).

use crate::budget::Stop;
use crate::formula::Ltl;
use std::collections::HashMap;

/// The number of a formula.
type Id = u32;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Node {
    True,
    False,
    Pred(u8, bool),
    And(Vec<Id>),
    Or(Vec<Id>),
    Next(Id),
    Until(Id, Id),
    Release(Id, Id),
}

/// A transition of the automaton.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    /// The predicates that must be true, by bit.
    pub(crate) true_preds: u64,
    /// The predicates that must be false, by bit.
    pub(crate) false_preds: u64,
    /// The next state.
    pub(crate) to: u32,
    /// The acceptance sets to which it belongs, by bit: those of the `until` formulas that it does not postpone.
    pub(crate) accepts: u64,
}

impl Edge {
    /// Whether it may be taken in a marking with these predicates.
    pub(crate) fn allows(&self, preds: u64) -> bool {
        preds & self.true_preds == self.true_preds && preds & self.false_preds == 0
    }
}

/// The automaton of a formula. State 0 is initial.
#[derive(Clone, Debug, Default)]
pub(crate) struct Automaton {
    nodes: Vec<Node>,
    numbers: HashMap<Node, Id>,
    /// By acceptance set: its `until`.
    untils: Vec<Id>,
    states: Vec<Vec<Id>>,
    state_numbers: HashMap<Vec<Id>, u32>,
    edges: Vec<Option<Vec<Edge>>>,
    /// Number of formulas in all states, and of transitions.
    size: usize,
    /// The work for all edges until now.
    work: usize,
}

/// Largest number of predicates of a formula: an edge has a bit for each.
pub(crate) const MAX_PREDS: usize = 64;
/// Largest number of states. The formulas of the contest have some hundreds at most.
const MAX_STATES: usize = 100_000;
/// Largest number of transitions from a state before simplification.
const MAX_EDGES: usize = 20_000;

/// Largest number of formulas in all states and of edges, and of formulas in the sets from which the edges of one state are
/// made: some hundreds of MB. Of formulas with less than 60 sub-formulas, as those of the contest, `MAX_EDGES` limits these sets
/// first.
const MAX_SIZE: usize = 1 << 24;
/// The most work for the edges of all states: 1 for each formula that is compared, and for each 16 that are copied or
/// searched. Some ten seconds.
const MAX_WORK: usize = 1 << 30;
/// The work for each set of formulas, besides that for its formulas.
const COVER_WORK: usize = 16;
const TOO_LARGE: &str = "the automaton of the formula is too large";

/// A set of obligations while it is taken apart.
#[derive(Clone, Default)]
struct Cover {
    todo: Vec<Id>,
    done: Vec<Id>,
    true_preds: u64,
    false_preds: u64,
    next: Vec<Id>,
    postponed: u64,
}

impl Automaton {
    /// The automaton of the words that satisfy a formula. It has only predicates below `MAX_PREDS`.
    pub(crate) fn new(formula: &Ltl) -> Result<Self, Stop> {
        let mut automaton = Self::default();
        let root = automaton.add(formula)?;
        automaton.state(vec![root])?;
        Ok(automaton)
    }

    /// All acceptance sets, by bit. A run is accepted if it takes edges of each of them infinitely often.
    pub(crate) fn all_sets(&self) -> u64 {
        match self.untils.len() {
            0 => 0,
            count => u64::MAX >> (64 - count),
        }
    }

    fn number(&mut self, node: Node) -> Id {
        if let Some(&number) = self.numbers.get(&node) {
            return number;
        }
        let number = self.nodes.len() as Id;
        self.numbers.insert(node.clone(), number);
        self.nodes.push(node);
        number
    }

    fn add(&mut self, formula: &Ltl) -> Result<Id, Stop> {
        let node = match formula {
            Ltl::True => Node::True,
            Ltl::False => Node::False,
            Ltl::Pred(number, truth) => match u8::try_from(*number) {
                Ok(number) if usize::from(number) < MAX_PREDS => Node::Pred(number, *truth),
                _ => return Err(Stop::TooLarge("the formula has more than 64 predicates")),
            },
            Ltl::And(parts) => {
                let parts = parts.iter().map(|part| self.add(part)).collect::<Result<_, _>>()?;
                self.joined(parts, true)
            }
            Ltl::Or(parts) => {
                let parts = parts.iter().map(|part| self.add(part)).collect::<Result<_, _>>()?;
                self.joined(parts, false)
            }
            Ltl::Next(inner) => match self.add(inner)? {
                inner if matches!(self.nodes[inner as usize], Node::True | Node::False) => {
                    self.nodes[inner as usize].clone()
                }
                inner => Node::Next(inner),
            },
            Ltl::Until(before, reach) => {
                let (before, reach) = (self.add(before)?, self.add(reach)?);
                match (&self.nodes[before as usize], &self.nodes[reach as usize]) {
                    (_, Node::True | Node::False) | (Node::False, _) => self.nodes[reach as usize].clone(),
                    // true U (a U b) and a U (a U b) are the inner formula's goal.
                    (Node::True, Node::Until(_, goal)) => Node::Until(before, *goal),
                    _ => Node::Until(before, reach),
                }
            }
            Ltl::Release(end, holds) => {
                let (end, holds) = (self.add(end)?, self.add(holds)?);
                match (&self.nodes[end as usize], &self.nodes[holds as usize]) {
                    (_, Node::True | Node::False) | (Node::True, _) => self.nodes[holds as usize].clone(),
                    (Node::False, Node::Release(_, inner)) => Node::Release(end, *inner),
                    _ => Node::Release(end, holds),
                }
            }
        };
        let is_until = matches!(node, Node::Until(..));
        let number = self.number(node);
        if is_until && !self.untils.contains(&number) {
            if self.untils.len() == 64 {
                return Err(Stop::TooLarge("the formula has more than 64 untils"));
            }
            self.untils.push(number);
        }
        Ok(number)
    }

    /// The conjunction or disjunction of formulas.
    fn joined(&self, mut parts: Vec<Id>, is_and: bool) -> Node {
        let (neutral, absorbing) = if is_and { (Node::True, Node::False) } else { (Node::False, Node::True) };
        parts.retain(|part| self.nodes[*part as usize] != neutral);
        parts.sort_unstable();
        parts.dedup();
        if parts.iter().any(|part| self.nodes[*part as usize] == absorbing) {
            return absorbing;
        }
        match parts[..] {
            [] => neutral,
            [one] => self.nodes[one as usize].clone(),
            _ if is_and => Node::And(parts),
            _ => Node::Or(parts),
        }
    }

    fn state(&mut self, set: Vec<Id>) -> Result<u32, Stop> {
        if let Some(&number) = self.state_numbers.get(&set) {
            return Ok(number);
        }
        if self.states.len() == MAX_STATES {
            return Err(Stop::TooLarge("the automaton of the formula has more than 100000 states"));
        }
        self.enlarge(set.len())?;
        let number = self.states.len() as u32;
        self.state_numbers.insert(set.clone(), number);
        self.states.push(set);
        self.edges.push(None);
        Ok(number)
    }

    fn enlarge(&mut self, by: usize) -> Result<(), Stop> {
        self.size += by;
        if self.size > MAX_SIZE { Err(Stop::TooLarge(TOO_LARGE)) } else { Ok(()) }
    }

    fn work(&mut self, more: usize) -> Result<(), Stop> {
        self.work += more;
        if self.work > MAX_WORK { Err(Stop::TooLarge(TOO_LARGE)) } else { Ok(()) }
    }

    /// Whether every word is accepted from a state, because nothing is left to satisfy.
    pub(crate) fn accepts_all(&self, state: u32) -> bool {
        self.states[state as usize].is_empty()
    }

    /// The edges from a state.
    pub(crate) fn edges(&mut self, state: u32) -> Result<&[Edge], Stop> {
        if self.edges[state as usize].is_none() {
            let edges = self.expand(state)?;
            self.edges[state as usize] = Some(edges);
        }
        Ok(self.edges[state as usize].as_deref().unwrap_or_default())
    }

    fn expand(&mut self, state: u32) -> Result<Vec<Edge>, Stop> {
        let mut open = vec![Cover { todo: self.states[state as usize].clone(), ..Cover::default() }];
        let mut covers: Vec<Cover> = Vec::new();
        'cover: while let Some(mut cover) = open.pop() {
            if open.len() + covers.len() > MAX_EDGES {
                return Err(Stop::TooLarge("a state of the formula's automaton has more than 20000 edges"));
            }
            self.work(COVER_WORK + (cover.todo.len() + cover.done.len()) / 16)?;
            while let Some(id) = cover.todo.pop() {
                self.work(1 + cover.done.len() / 16)?;
                if cover.done.contains(&id) {
                    continue;
                }
                cover.done.push(id);
                let copies = match &self.nodes[id as usize] {
                    Node::Or(parts) => parts.len() - 1,
                    Node::Until(..) | Node::Release(..) => 1,
                    _ => 0,
                };
                let largest = self.nodes.len().max(cover.todo.len());
                if (open.len() + covers.len() + copies) * largest > MAX_SIZE {
                    return Err(Stop::TooLarge(TOO_LARGE));
                }
                match &self.nodes[id as usize] {
                    Node::True => {}
                    Node::False => continue 'cover,
                    Node::Pred(number, truth) => {
                        let (wanted, other) = if *truth {
                            (&mut cover.true_preds, cover.false_preds)
                        } else {
                            (&mut cover.false_preds, cover.true_preds)
                        };
                        if other >> number & 1 == 1 {
                            continue 'cover;
                        }
                        *wanted |= 1 << number;
                    }
                    Node::And(parts) => cover.todo.extend(parts),
                    Node::Or(parts) => {
                        for part in &parts[1..] {
                            let mut other = cover.clone();
                            other.todo.push(*part);
                            open.push(other);
                        }
                        cover.todo.push(parts[0]);
                    }
                    Node::Next(inner) => cover.next.push(*inner),
                    Node::Until(before, reach) => {
                        let mut later = cover.clone();
                        later.todo.push(*before);
                        later.next.push(id);
                        let set = self.untils.iter().position(|until| *until == id).unwrap_or_default();
                        later.postponed |= 1 << set;
                        open.push(later);
                        cover.todo.push(*reach);
                    }
                    Node::Release(end, holds) => {
                        let mut later = cover.clone();
                        later.todo.push(*holds);
                        later.next.push(id);
                        open.push(later);
                        cover.todo.extend([*end, *holds]);
                    }
                }
            }
            cover.next.sort_unstable();
            cover.next.dedup();
            self.work(covers.len() * (1 + cover.next.len()))?;
            if covers.iter().any(|other| implies(&cover, other)) {
                continue;
            }
            covers.retain(|other| !implies(other, &cover));
            covers.push(cover);
        }
        self.enlarge(covers.len())?;
        let all = self.all_sets();
        let edge = |cover: Cover| {
            let Cover { true_preds, false_preds, next, postponed, .. } = cover;
            Ok(Edge { true_preds, false_preds, to: self.state(next)?, accepts: all & !postponed })
        };
        covers.into_iter().map(edge).collect()
    }
}

/// Whether every word accepted through `a` is accepted through `b`: b demands and postpones no more.
fn implies(a: &Cover, b: &Cover) -> bool {
    a.true_preds & b.true_preds == b.true_preds
        && a.false_preds & b.false_preds == b.false_preds
        && a.postponed & b.postponed == b.postponed
        && b.next.iter().all(|id| a.next.binary_search(id).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Why the automaton of many formulas in each other cannot be made.
    fn stop(formula: Ltl) -> Option<Stop> {
        let mut automaton = Automaton::new(&formula).unwrap();
        (0..1000).find_map(|state| automaton.edges(state).err())
    }

    #[test]
    fn the_automaton_of_a_deep_formula_ends_at_its_limits() {
        let mut deep = Ltl::Pred(0, true);
        for _ in 0..900 {
            let later = Ltl::Or(vec![Ltl::Pred(2, true), Ltl::Next(Box::new(deep))]);
            deep = Ltl::Release(Box::new(Ltl::Pred(1, true)), Box::new(later));
        }
        assert_eq!(stop(deep), Some(Stop::TooLarge(TOO_LARGE)));
    }

    #[test]
    fn the_parts_of_a_formula_are_counted_before_copies_are_made_for_them() {
        let next = |first, second, third| {
            let preds = [first, second, third].map(|number| Ltl::Pred(number, true));
            Ltl::Next(Box::new(Ltl::And(preds.into())))
        };
        let triples = (0..60).flat_map(|first| {
            (first + 1..61).flat_map(move |second| (second + 1..62).map(move |third| (first, second, third)))
        });
        // The copies would be more than the edges that a state may have, which is noticed after they are made.
        let parts: Vec<Ltl> =
            triples.map(|(first, second, third)| next(first, second, third)).take(MAX_EDGES + 1000).collect();
        assert_eq!(stop(Ltl::Or(parts)), Some(Stop::TooLarge(TOO_LARGE)));
    }

    #[test]
    fn edges_that_are_left_out_are_work_too() {
        let later = || Ltl::Next(Box::new(Ltl::Pred(0, true)));
        // The first set of formulas, that with predicate 0 alone, makes all others useless but the last of 2^12.
        let one =
            |number| Ltl::Or(vec![Ltl::Pred(0, true), Ltl::And(vec![Ltl::Pred(number, true), later()])]);
        let mut automaton = Automaton::new(&Ltl::And((1..13).map(one).collect())).unwrap();
        automaton.work = MAX_WORK - (1 << 15);
        assert_eq!(automaton.edges(0).err(), Some(Stop::TooLarge(TOO_LARGE)));
        automaton.work = 0;
        assert_eq!(automaton.edges(0).unwrap().len(), 2);
    }
}
