//! An explorer that keeps the set of all reachable markings as a decision diagram: lists of numbers of tokens, each with the
//! list of the next place (Blom and van de Pol, *Symbolic reachability for process algebras with recursive data types*, 2008).
//! It decides the numbers of StateSpace and upper bounds.

use crate::explore::ExploreLimits;
use crate::instance::{Claim, Instance};
use crate::unfolded::{Flat, Unfolded};
use crate::{CheckError, Value};
use mcc_base::line_order::{greedy_order, line_order};
use num_bigint::BigUint;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The number of a cell: a set of markings of the places from a level on.
type Set = u32;
/// The set without a marking.
const EMPTY: Set = 0;
/// The set with the one marking of no places.
const UNIT: Set = 1;

/// Most places: each is a level of recursion.
const MAX_PLACES: usize = 2000;
/// Most cells, so that a set has a number of 32 bits.
const MOST_CELLS: usize = 1 << 30;
/// About the bytes of a cell, and of a result that is kept.
const CELL_BYTES: usize = 56;
const RESULT_BYTES: usize = 24;
/// Bytes of the effects of a transition on up to 11 places: a node of a map.
const EFFECTS_BYTES: usize = 512;
/// About the bytes of a number by cell without those of its bits.
const NUMBER_BYTES: u64 = 40;

/// What a transition does to the place of a level: the tokens that it needs there, and the change.
#[derive(Clone, Copy)]
struct Part {
    level: usize,
    needs: u128,
    change: i128,
    is_last: bool,
}

/// All reachable markings of an instance as a decision diagram.
pub struct Diagram<'a> {
    instance: &'a Instance,
    net: &'a Unfolded,
    limits: ExploreLimits<'a>,
    /// Most cells.
    most: usize,
    /// The markings with these tokens on the place of the level and one of the set below on the next places, and the markings
    /// of the next cell of the level, which has more tokens. A cell has a larger number than the two sets.
    cells: Vec<(u64, Set, Set)>,
    known: HashMap<(u64, Set, Set), Set>,
    unions: HashMap<(Set, Set), Set>,
    closures: HashMap<Set, Set>,
    /// By set and number of a part: what the transition makes of the set from this part on.
    images: HashMap<(Set, usize), Set>,
    /// By place its level.
    levels: Vec<usize>,
    /// By transition its parts, in the order of their levels.
    parts: Vec<Part>,
    /// By level: the first parts of the transitions that change something and have no part before it.
    starts: Vec<Vec<usize>>,
    all: Set,
    /// The bytes of the numbers by cell that are kept while a value is decided.
    numbers: Cell<u64>,
}

/// By place the tokens that a transition needs there, and their change.
type Effects = BTreeMap<usize, (u128, i128)>;

/// About the bytes of a net with its effects.
fn net_bytes(net: &Unfolded) -> u64 {
    net.explored_bytes() + (net.flats.len() * EFFECTS_BYTES) as u64
}

/// By transition.
fn effects(net: &Unfolded) -> Vec<Effects> {
    let by_flat = |(flat, changes): (&Flat, Vec<(usize, i128)>)| {
        let mut effects: Effects = changes.into_iter().map(|(place, change)| (place, (0, change))).collect();
        flat.needs.iter().for_each(|(place, needs)| effects.entry(*place).or_default().0 += needs);
        effects
    };
    net.flats.iter().zip(net.changes()).map(by_flat).collect()
}

impl Instance {
    /// Finds all markings as a decision diagram within about this time and memory. Values take their time from the same limit.
    ///
    /// # Errors
    /// A limit is exceeded, `cancel` was set, a place gets more than 2^64-1 tokens, or the net cannot be unfolded.
    pub fn diagram<'a>(
        &'a self,
        time: Duration,
        memory_bytes: u64,
        cancel: &'a AtomicBool,
    ) -> Result<Diagram<'a>, CheckError> {
        let net = self.unfolded(time, memory_bytes)?;
        let limits = ExploreLimits::new("the decision diagram", time, memory_bytes, cancel);
        limits.check(net_bytes(net))?;
        if net.initial.len() > MAX_PLACES {
            return Err(limits.too_much("places"));
        }
        let effects = effects(net);
        // Places that keep their tokens are the last, so that transitions which only read them begin at another place.
        let mut is_fixed = vec![true; net.initial.len()];
        let changes = effects.iter().flatten().filter(|(_, (_, change))| *change != 0);
        changes.for_each(|(place, _)| is_fixed[*place] = false);
        let places = |effects: &Effects| effects.keys().copied().filter(|place| !is_fixed[*place]).collect();
        let groups: Vec<Vec<usize>> = effects.iter().map(places).collect();
        let line = line_order(net.initial.len(), &groups);
        let reversed = line.iter().rev().copied().collect();
        let greedy = greedy_order(net.initial.len(), &groups).into_iter().rev().collect();
        let mut orders: [Vec<usize>; 4] = [line, reversed, greedy, (0..net.initial.len()).collect()];
        orders.iter_mut().for_each(|order| order.sort_by_key(|place| is_fixed[*place]));
        // A diagram may be small in one order of the places and large in another one.
        for most in (12..=MOST_CELLS.ilog2()).step_by(2) {
            for order in &orders {
                let mut diagram = self.empty_diagram(net, limits, 1 << most);
                match diagram.find_markings(&effects, order) {
                    Err(_) if diagram.cells.len() > diagram.most => {}
                    found => return found.map(|()| diagram),
                }
            }
        }
        Err(limits.too_much("cells"))
    }

    fn empty_diagram<'a>(&'a self, net: &'a Unfolded, limits: ExploreLimits<'a>, most: usize) -> Diagram<'a> {
        Diagram {
            instance: self,
            net,
            limits,
            most,
            cells: vec![(0, EMPTY, EMPTY), (0, EMPTY, EMPTY)],
            known: HashMap::new(),
            unions: HashMap::new(),
            closures: HashMap::new(),
            images: HashMap::new(),
            levels: vec![0; net.initial.len()],
            parts: Vec::new(),
            starts: vec![Vec::new(); net.initial.len()],
            all: UNIT,
            numbers: Cell::new(0),
        }
    }
}

impl Diagram<'_> {
    /// The number of cells of the result.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.used().iter().skip(UNIT as usize + 1).filter(|is_used| **is_used).count()
    }

    /// The time since the beginning.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.limits.elapsed()
    }

    /// About the bytes of the unfolded net and the tables.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        let results = self.unions.len() + self.closures.len() + self.images.len();
        net_bytes(self.net) + (self.cells.len() * CELL_BYTES + results * RESULT_BYTES) as u64
    }

    fn check(&self) -> Result<(), CheckError> {
        if self.cells.len() > self.most {
            return Err(self.limits.too_much("cells"));
        }
        self.limits.check(self.memory_bytes())
    }

    fn find_markings(&mut self, effects: &[Effects], order: &[usize]) -> Result<(), CheckError> {
        let net = self.net;
        order.iter().enumerate().for_each(|(level, place)| self.levels[*place] = level);
        for effects in effects.iter().filter(|effects| effects.values().any(|(_, change)| *change != 0)) {
            let part = |(place, (needs, change)): (&usize, &(u128, i128))| Part {
                level: self.levels[*place],
                needs: *needs,
                change: *change,
                is_last: false,
            };
            let mut parts: Vec<Part> = effects.iter().map(part).collect();
            parts.sort_by_key(|part| part.level);
            parts.last_mut().into_iter().for_each(|part| part.is_last = true);
            self.starts[parts[0].level].push(self.parts.len());
            self.parts.extend(parts);
        }
        for (level, place) in order.iter().enumerate().rev() {
            let tokens =
                u64::try_from(net.initial[*place]).map_err(|_| self.limits.too_much("tokens on a place"))?;
            let initial = self.set(&[(tokens, self.all)]);
            self.all = self.closure(initial, level)?;
        }
        Ok(())
    }

    /// The tokens on the place of the level, each with the set below.
    fn list(&self, mut set: Set) -> Vec<(u64, Set)> {
        let mut list = Vec::new();
        while set != EMPTY {
            let (tokens, below, next) = self.cells[set as usize];
            list.push((tokens, below));
            set = next;
        }
        list
    }

    /// The set of a list in ascending order of the tokens.
    fn set(&mut self, list: &[(u64, Set)]) -> Set {
        let mut set = EMPTY;
        for (tokens, below) in list.iter().rev().filter(|(_, below)| *below != EMPTY) {
            let cell = (*tokens, *below, set);
            set = *self.known.entry(cell).or_insert_with(|| {
                self.cells.push(cell);
                (self.cells.len() - 1) as Set
            });
        }
        set
    }

    fn union(&mut self, one: Set, other: Set) -> Result<Set, CheckError> {
        match (one, other) {
            (EMPTY, known) | (known, EMPTY) => return Ok(known),
            _ if one == other => return Ok(one),
            _ => {}
        }
        let key = (one.min(other), one.max(other));
        if let Some(known) = self.unions.get(&key) {
            return Ok(*known);
        }
        self.check()?;
        let mut union: BTreeMap<u64, Set> = self.list(one).into_iter().collect();
        for (tokens, below) in self.list(other) {
            let with = self.union(union.get(&tokens).copied().unwrap_or(EMPTY), below)?;
            union.insert(tokens, with);
        }
        let set = self.set(&Vec::from_iter(union));
        self.unions.insert(key, set);
        Ok(set)
    }

    /// What a transition makes of a set from one of its parts on.
    fn image(&mut self, set: Set, level: usize, number: usize) -> Result<Set, CheckError> {
        if let Some(known) = self.images.get(&(set, number)) {
            return Ok(*known);
        }
        self.check()?;
        let part = self.parts[number];
        let is_here = part.level == level;
        let mut image = Vec::new();
        for (tokens, below) in self.list(set) {
            if is_here && u128::from(tokens) < part.needs {
                continue;
            }
            let below = if is_here && part.is_last {
                below
            } else {
                self.image(below, level + 1, number + usize::from(is_here))?
            };
            if below != EMPTY {
                let after = i128::from(tokens) + if is_here { part.change } else { 0 };
                image.push((
                    u64::try_from(after).map_err(|_| self.limits.too_much("tokens on a place"))?,
                    below,
                ));
            }
        }
        let result = self.set(&image);
        self.images.insert((set, number), result);
        Ok(result)
    }

    /// The least set with this one that is closed under the transitions without a part before this level.
    fn closure(&mut self, set: Set, level: usize) -> Result<Set, CheckError> {
        if set <= UNIT {
            return Ok(set);
        }
        if let Some(known) = self.closures.get(&set) {
            return Ok(*known);
        }
        self.check()?;
        let mut closed = self.closed_below(set, level)?;
        loop {
            let before = closed;
            for number in 0..self.starts[level].len() {
                let image = self.image(closed, level, self.starts[level][number])?;
                let image = self.closed_below(image, level)?;
                closed = self.union(closed, image)?;
            }
            if closed == before {
                break;
            }
        }
        self.closures.insert(set, closed);
        Ok(closed)
    }

    fn closed_below(&mut self, set: Set, level: usize) -> Result<Set, CheckError> {
        let mut list = self.list(set);
        for (_, below) in &mut list {
            *below = self.closure(*below, level + 1)?;
        }
        Ok(self.set(&list))
    }

    /// By cell whether the result has it.
    fn used(&self) -> Vec<bool> {
        let mut used = vec![false; self.cells.len()];
        used[self.all as usize] = true;
        for cell in (UNIT as usize + 1..self.cells.len()).rev() {
            if used[cell] {
                let (_, below, next) = self.cells[cell];
                (used[below as usize], used[next as usize]) = (true, true);
            }
        }
        used
    }

    /// Counts more bytes of numbers, and checks the limits.
    fn keep(&self, bytes: u64) -> Result<(), CheckError> {
        self.numbers.update(|numbers| numbers + bytes);
        self.limits.check(self.memory_bytes() + self.numbers.get())
    }

    /// A number by cell: 0.
    fn zeros(&self) -> Result<Vec<BigUint>, CheckError> {
        self.keep(NUMBER_BYTES * self.cells.len() as u64)?;
        Ok(vec![BigUint::ZERO; self.cells.len()])
    }

    /// By cell the number of ways to it from the first one of the result.
    fn ways(&self) -> Result<Vec<BigUint>, CheckError> {
        let mut ways = self.zeros()?;
        ways[self.all as usize] = BigUint::from(1_u8);
        for cell in (UNIT as usize + 1..self.cells.len()).rev() {
            if ways[cell] != BigUint::ZERO {
                let (_, below, next) = self.cells[cell];
                let here = ways[cell].clone();
                for child in [below, next] {
                    let number = &mut ways[child as usize];
                    let before = number.bits() / 8;
                    *number += &here;
                    self.keep(number.bits() / 8 - before)?;
                }
            }
        }
        Ok(ways)
    }

    /// By cell of the result the number of markings.
    fn counts(&self) -> Result<Vec<BigUint>, CheckError> {
        let (used, mut counts) = (self.used(), self.zeros()?);
        counts[UNIT as usize] = BigUint::from(1_u8);
        for cell in (UNIT as usize + 1..self.cells.len()).filter(|cell| used[*cell]) {
            let (_, below, next) = self.cells[cell];
            counts[cell] = &counts[below as usize] + &counts[next as usize];
            self.keep(counts[cell].bits() / 8)?;
        }
        Ok(counts)
    }

    /// The number of markings of a set with the tokens that are needed, by level. `counts`: by cell without a need; `kept`: what
    /// is known for these needs.
    fn enabled(
        &self,
        set: Set,
        level: usize,
        needs: &[(usize, u128)],
        counts: &[BigUint],
        kept: &mut HashMap<Set, BigUint>,
    ) -> Result<BigUint, CheckError> {
        let [(next, least), rest @ ..] = needs else { return Ok(counts[set as usize].clone()) };
        if let Some(known) = kept.get(&set) {
            return Ok(known.clone());
        }
        let (least, rest) = if *next == level { (*least, rest) } else { (0, needs) };
        let list = self.list(set).into_iter().filter(|(tokens, _)| u128::from(*tokens) >= least);
        let parts = list.map(|(_, below)| self.enabled(below, level + 1, rest, counts, kept));
        let sum = parts.sum::<Result<BigUint, CheckError>>()?;
        self.keep(NUMBER_BYTES + sum.bits() / 8)?;
        kept.insert(set, sum.clone());
        Ok(sum)
    }

    /// The number of pairs of a marking and a transition, with its binding, that is enabled in it.
    fn firings(&self) -> Result<BigUint, CheckError> {
        let ways = self.ways()?;
        let mut at_level = vec![Vec::new(); self.levels.len()];
        let mut level = vec![0; self.cells.len()];
        for cell in (UNIT as usize + 1..self.cells.len()).rev().filter(|cell| ways[*cell] != BigUint::ZERO) {
            let (_, below, next) = self.cells[cell];
            (level[below as usize], level[next as usize]) = (level[cell] + 1, level[cell]);
            at_level[level[cell]].push(cell);
        }
        let counts = self.counts()?;
        let mut firings = BigUint::ZERO;
        let tables = self.numbers.get();
        for flat in &self.net.flats {
            self.check()?;
            self.numbers.set(tables);
            let mut needs: BTreeMap<usize, u128> = BTreeMap::new();
            flat.needs
                .iter()
                .for_each(|(place, count)| *needs.entry(self.levels[*place]).or_default() += count);
            let Some((first, least)) = needs.pop_first() else {
                firings += &counts[self.all as usize];
                continue;
            };
            let (needs, mut kept) = (Vec::from_iter(needs), HashMap::new());
            for cell in &at_level[first] {
                let (tokens, below, _) = self.cells[*cell];
                if u128::from(tokens) >= least {
                    firings += &ways[*cell] * self.enabled(below, first + 1, &needs, &counts, &mut kept)?;
                }
            }
        }
        Ok(firings)
    }

    /// The largest sum of tokens, each place as often as it is listed.
    fn largest(&self, places: impl Iterator<Item = usize>) -> Result<BigUint, CheckError> {
        let mut weights = vec![0_u32; self.levels.len()];
        places.for_each(|place| weights[self.levels[place]] += 1);
        // By cell its level, counted from the last one, which is 1.
        let mut height = vec![0; self.cells.len()];
        let mut largest = self.zeros()?;
        for (cell, (tokens, below, next)) in self.cells.iter().enumerate().skip(UNIT as usize + 1) {
            height[cell] = height[*below as usize] + 1;
            let weight = weights[weights.len() - height[cell]];
            let sum = BigUint::from(*tokens) * weight + &largest[*below as usize];
            largest[cell] = sum.max(largest[*next as usize].clone());
        }
        Ok(largest.swap_remove(self.all as usize))
    }

    /// The value of a property of StateSpace or UpperBounds.
    ///
    /// # Errors
    /// A limit is exceeded, the property is unknown, or its value is not a number.
    pub fn value(&self, examination: &str, property: &str) -> Result<Value, CheckError> {
        self.numbers.set(0);
        match (examination, property) {
            ("StateSpace", "STATES") => {
                return Ok(Value::Number(self.counts()?.swap_remove(self.all as usize)));
            }
            ("StateSpace", "TRANSITIONS") => return Ok(Value::Number(self.firings()?)),
            _ => {}
        }
        let any = Value::Number(BigUint::ZERO);
        match self.instance.claim(&self.instance.name, examination, property, &any)? {
            Claim::Bound(places, _) => {
                let places = places.iter().flat_map(|place| self.net.places[*place].clone());
                Ok(Value::Number(self.largest(places)?))
            }
            Claim::MostInPlace(_) => {
                let cells = self.cells.iter().zip(self.used()).skip(UNIT as usize + 1);
                let used = cells.filter(|(_, is_used)| *is_used);
                Ok(Value::Number(used.map(|(cell, _)| cell.0).max().unwrap_or_default().into()))
            }
            _ => Err(CheckError::NotChecked("a decision diagram decides only numbers".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explore::tests::{assert_limit, instance, limits};

    #[test]
    fn numbers_by_cell_are_in_the_limit_of_memory() {
        // Each of 300 pairs of places shares 20 tokens, so that numbers have more than a thousand bits.
        let mut net = Unfolded { changed_by: vec![Vec::new(); 600], ..Unfolded::default() };
        net.initial = [20, 0].repeat(300);
        for number in 0..300 {
            net.flats.push(Flat { needs: vec![(2 * number, 1)], puts: Vec::new() });
            net.changed_by[2 * number].push((number, -1));
            net.changed_by[2 * number + 1].push((number, 1));
        }
        let (instance, hour) = (instance(), Duration::from_secs(3600));
        let mut diagram = instance.empty_diagram(&net, limits(hour, 1 << 30), MOST_CELLS);
        diagram.find_markings(&effects(&net), &Vec::from_iter(0..600)).unwrap();
        let markings = Value::Number(BigUint::from(21_u8).pow(300));
        assert_eq!(diagram.value("StateSpace", "STATES").unwrap(), markings);
        let firings = Value::Number(BigUint::from(21_u8).pow(299) * 20_u16 * 300_u16);
        assert_eq!(diagram.value("StateSpace", "TRANSITIONS").unwrap(), firings);
        // The cells and short numbers have enough memory.
        for (property, tables) in [("STATES", 1), ("TRANSITIONS", 2)] {
            let bytes = diagram.memory_bytes() + tables * NUMBER_BYTES * diagram.cells.len() as u64;
            diagram.limits = limits(hour, bytes);
            assert_limit(diagram.value("StateSpace", property), "memory");
        }
    }
}
