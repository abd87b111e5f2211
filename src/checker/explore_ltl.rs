//! LTL on all markings: a path that violates the formula is searched in the product with a tableau of its negation, whose
//! acceptance is by firings (Couvreur, *On-the-fly verification of linear temporal logic*, 1999).

use crate::CheckError;
use crate::explore::{Exploration, Truths};
use mcc_model::Expr;
use std::cell::Cell;
use std::collections::HashMap;

/// A formula without negations; others by number.
enum Node {
    /// A state formula that has this truth.
    State(usize, bool),
    All(Vec<usize>),
    One(Vec<usize>),
    Next(usize),
    /// By number among these operators.
    Until(usize, usize, usize),
    Release(usize, usize),
}

/// What must hold now and in the next marking, so that all formulas of a set hold now.
#[derive(Clone, Default)]
struct Step {
    now: Vec<(usize, bool)>,
    next: Vec<usize>,
    /// The bits of the operators `until` whose second part is left for later.
    postponed: u64,
}

/// A way to satisfy a set that is not followed to its end.
#[derive(Clone, Default)]
struct Branch {
    open: Vec<usize>,
    done: Vec<usize>,
    step: Step,
}

impl Branch {
    /// About the bytes in memory.
    fn bytes(&self) -> u64 {
        let Step { now, next, .. } = &self.step;
        200 + 16 * (self.open.len() + self.done.len() + now.len() + next.len()) as u64
    }
}

/// A node of the path: a marking and a set.
struct Visited {
    /// Its number among the nodes of parts that are not left.
    number: u32,
    node: (u32, u32),
    /// The steps of the set and the firings with the last of these that are left. They are not listed, as each firing can be
    /// one with each step.
    steps: usize,
    firings: usize,
}

/// The conditions, the number of the next set, and the postponed operators.
type NumberedStep = (Vec<(usize, bool)>, usize, u64);

struct Tableau<'a> {
    all: &'a Exploration<'a>,
    nodes: Vec<Node>,
    states: Vec<Truths>,
    /// The numbers of the tables by state formula: its `Debug` form, as different formulas can have the same text.
    known: HashMap<String, usize>,
    untils: usize,
    /// The sets of formulas with their numbers, in the order of these, and the steps of the first ones.
    sets: HashMap<Vec<usize>, usize>,
    order: Vec<Vec<usize>>,
    steps: Vec<Vec<NumberedStep>>,
    /// The memory of the tables, sets, steps and branches.
    bytes: Cell<u64>,
}

impl Exploration<'_> {
    /// The truth of an LTL formula. The last marking of a finite path is repeated.
    pub(crate) fn ltl(&self, formula: &Expr) -> Result<bool, CheckError> {
        let (path, some) = match formula {
            Expr::AllPaths(path) => (&**path, false),
            Expr::ExistsPath(path) => (&**path, true),
            path => (path, false),
        };
        let (nodes, states, known, sets, order, steps, bytes) = Default::default();
        let mut tableau = Tableau { all: self, nodes, states, known, untils: 0, sets, order, steps, bytes };
        let root = tableau.node(path, some)?;
        let first = tableau.set(vec![root])?;
        // Not recursive, as a set can be thousands of steps from the first one.
        while let Some(set) = tableau.order.get(tableau.steps.len()).cloned() {
            let mut steps = Vec::new();
            for Step { now, next, postponed } in tableau.expand(set)? {
                steps.push((now, tableau.set(next)?, postponed));
            }
            tableau.steps.push(steps);
        }
        Ok(tableau.has_path(first)? == some)
    }
}

impl Tableau<'_> {
    fn add(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// The formula, or its negation if `truth` is false.
    fn node(&mut self, formula: &Expr, truth: bool) -> Result<usize, CheckError> {
        if formula.is_state_formula() {
            let name = format!("{formula:?}");
            let state = self.known.get(&name).copied().unwrap_or(self.states.len());
            if state == self.states.len() {
                self.bytes.update(|bytes| bytes + self.all.markings() as u64 + name.len() as u64);
                self.all.check(self.bytes.get())?;
                self.states.push(self.all.label(formula)?);
                self.known.insert(name, state);
            }
            return Ok(self.add(Node::State(state, truth)));
        }
        let node = match formula {
            Expr::Not(inner) => return self.node(inner, !truth),
            Expr::And(parts) | Expr::Or(parts) => {
                let all = parts.iter().map(|part| self.node(part, truth)).collect::<Result<_, _>>()?;
                if matches!(formula, Expr::And(_)) == truth { Node::All(all) } else { Node::One(all) }
            }
            Expr::Next(inner) => Node::Next(self.node(inner, truth)?),
            Expr::Finally(inner) | Expr::Globally(inner) => {
                let inner = self.node(inner, truth)?;
                if matches!(formula, Expr::Finally(_)) == truth {
                    let before = self.add(Node::All(Vec::new()));
                    self.until(before, inner)?
                } else {
                    Node::Release(self.add(Node::One(Vec::new())), inner)
                }
            }
            Expr::Until(before, reach) => {
                let (before, reach) = (self.node(before, truth)?, self.node(reach, truth)?);
                if truth { self.until(before, reach)? } else { Node::Release(before, reach) }
            }
            _ => return Err(CheckError::refused("the formula is not one of LTL")),
        };
        Ok(self.add(node))
    }

    fn until(&mut self, before: usize, reach: usize) -> Result<Node, CheckError> {
        self.untils += 1;
        if self.untils > 63 {
            return Err(CheckError::NotChecked("the formula has more than 63 operators until".to_owned()));
        }
        Ok(Node::Until(before, reach, self.untils - 1))
    }

    /// The number of a set of formulas. A new one has no steps yet.
    fn set(&mut self, mut set: Vec<usize>) -> Result<usize, CheckError> {
        set.sort_unstable();
        set.dedup();
        if let Some(number) = self.sets.get(&set) {
            return Ok(*number);
        }
        if self.sets.len() > 1 << 14 {
            return Err(CheckError::NotChecked("the tableau of the formula is too large".to_owned()));
        }
        let number = self.order.len();
        self.bytes.update(|bytes| bytes + 100 + 16 * set.len() as u64);
        self.sets.insert(set.clone(), number);
        self.order.push(set);
        Ok(number)
    }

    /// The steps of a set. Not recursive, as each formula can be a branch within that of another.
    fn expand(&self, set: Vec<usize>) -> Result<Vec<Step>, CheckError> {
        let (mut steps, mut branches) = (Vec::new(), vec![Branch { open: set, ..Branch::default() }]);
        self.bytes.update(|bytes| bytes + branches[0].bytes());
        'branches: while let Some(mut branch) = branches.pop() {
            self.all.check(self.bytes.get())?;
            self.bytes.update(|bytes| bytes - branch.bytes());
            // What each way adds; the last one is followed first.
            let ways = loop {
                let Step { now, next, .. } = &mut branch.step;
                let Some(number) = branch.open.pop() else {
                    if steps.len() > 1 << 14 {
                        let why = "the tableau of the formula is too large";
                        return Err(CheckError::NotChecked(why.to_owned()));
                    }
                    self.bytes.update(|bytes| bytes + 100 + 16 * now.len() as u64 + 8 * next.len() as u64);
                    steps.push(branch.step);
                    continue 'branches;
                };
                if branch.done.contains(&number) {
                    continue;
                }
                branch.done.push(number);
                match &self.nodes[number] {
                    Node::State(state, truth) if now.contains(&(*state, !truth)) => continue 'branches,
                    Node::State(state, truth) => now.push((*state, *truth)),
                    Node::All(parts) => branch.open.extend(parts),
                    Node::Next(inner) => next.push(*inner),
                    Node::One(parts) => {
                        break parts.iter().rev().map(|part| (vec![*part], None, 0)).collect();
                    }
                    Node::Until(before, reach, bit) => {
                        break vec![(vec![*before], Some(number), 1 << bit), (vec![*reach], None, 0)];
                    }
                    Node::Release(before, reach) => {
                        break vec![(vec![*reach], Some(number), 0), (vec![*before, *reach], None, 0)];
                    }
                }
            };
            for (more, next, postponed) in ways {
                let mut way = branch.clone();
                way.open.extend(more);
                way.step.next.extend(next);
                way.step.postponed |= postponed;
                self.bytes.update(|bytes| bytes + way.bytes());
                self.all.check(self.bytes.get())?;
                branches.push(way);
            }
        }
        Ok(steps)
    }

    /// Whether a path from the initial marking satisfies a set: a strongly connected part of the product that postpones no
    /// operator in all of its firings.
    fn has_path(&self, first: usize) -> Result<bool, CheckError> {
        /// The number of a node whose part was left.
        const LEFT: u32 = u32::MAX;
        let mut numbers: HashMap<(u32, u32), u32> = HashMap::new();
        // The nodes of parts that are not left; the parts with the first node, the firing to it, and what all firings in it
        // postpone; the path.
        let (mut active, mut parts) = (Vec::new(), Vec::<(u32, u64, u64)>::new());
        let mut path: Vec<Visited> = Vec::new();
        let mut entered = Some(((0, first as u32), u64::MAX));
        let mut work: u64 = 0;
        loop {
            if work.is_multiple_of(1024) {
                let bytes = 64 * numbers.len() + size_of::<Visited>() * path.len();
                self.all.check(self.bytes.get() + bytes as u64)?;
            }
            work += 1;
            if let Some((node, postponed)) = entered.take() {
                let number = active.len() as u32;
                numbers.insert(node, number);
                active.push(node);
                parts.push((number, postponed, u64::MAX >> 1));
                path.push(Visited { number, node, steps: self.steps[node.1 as usize].len(), firings: 0 });
            }
            let Some(last) = path.last_mut() else { return Ok(false) };
            let (marking, set) = last.node;
            let (own, steps) = ([marking], &self.steps[set as usize]);
            let successors = match self.all.successors(marking as usize) {
                [] => &own[..],
                successors => successors,
            };
            if last.firings == 0 && last.steps == 0 {
                let number = last.number;
                path.pop();
                if parts.last().is_some_and(|part| part.0 == number) {
                    parts.pop();
                    numbers.extend(active.drain(number as usize..).map(|node| (node, LEFT)));
                }
                continue;
            }
            if last.firings == 0 {
                last.steps -= 1;
                let mut now = steps[last.steps].0.iter();
                if now.all(|(state, truth)| self.states[*state][marking as usize] == *truth) {
                    last.firings = successors.len();
                }
                continue;
            }
            last.firings -= 1;
            let (_, next, postponed) = &steps[last.steps];
            let target = (successors[last.firings], *next as u32);
            match numbers.get(&target) {
                None => entered = Some((target, *postponed)),
                Some(&LEFT) => {}
                Some(&known) => {
                    let mut all = *postponed;
                    while let Some((_, firing, inside)) = parts.pop_if(|part| part.0 > known) {
                        all &= firing & inside;
                    }
                    if let Some((_, _, inside)) = parts.last_mut() {
                        *inside &= all;
                        if *inside == 0 {
                            return Ok(true);
                        }
                    }
                }
            }
        }
    }
}
