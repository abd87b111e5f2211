//! An explorer of all reachable markings, which decides values by the definitions of the logics. It is simple rather than fast,
//! and shares only the readers of nets and formulas with the programs that search for evidence.

use crate::instance::{Claim, Instance};
use crate::unfolded::{Flat, Unfolded};
use crate::{CheckError, Value};
use mcc_model::{Count, Expr, Formula};
use num_bigint::BigUint;
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A truth by marking.
pub(crate) type Truths = Vec<bool>;

/// A predicate on the tokens by place.
type Predicate<'a> = Box<dyn Fn(&[u64]) -> bool + 'a>;

/// Places of the markings that are made between two checks of the limits.
const PLACES_UNCHECKED: usize = 1 << 20;

/// All reachable markings of an instance.
pub struct Exploration<'a> {
    instance: &'a Instance,
    net: &'a Unfolded,
    limits: ExploreLimits<'a>,
    /// By marking the gaps before its marked places and their tokens, in LEB128.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// The successors of all markings, one for each firing, and their ends by marking.
    targets: Vec<u32>,
    target_ends: Vec<usize>,
    /// The markings and firings before each marking, grouped by it; made when it is needed.
    before: Vec<u32>,
    before_ends: Vec<usize>,
}

/// The time and memory of an explorer, from its beginning.
#[derive(Clone, Copy)]
pub(crate) struct ExploreLimits<'a> {
    /// What needs them, in errors.
    explorer: &'static str,
    began: Instant,
    time: Duration,
    memory_bytes: u64,
    cancel: &'a AtomicBool,
}

impl<'a> ExploreLimits<'a> {
    pub fn new(explorer: &'static str, time: Duration, memory_bytes: u64, cancel: &'a AtomicBool) -> Self {
        Self { explorer, began: Instant::now(), time, memory_bytes, cancel }
    }

    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    pub fn too_much(&self, what: &str) -> CheckError {
        CheckError::NotChecked(format!("{} needs more {what} than its limit", self.explorer))
    }

    /// Checks the time, and that the tables need no more than the memory.
    pub fn check(&self, memory_bytes: u64) -> Result<(), CheckError> {
        if memory_bytes > self.memory_bytes {
            return Err(self.too_much("memory"));
        }
        let is_over = self.elapsed() > self.time || self.cancel.load(Ordering::Relaxed);
        if is_over { Err(self.too_much("time")) } else { Ok(()) }
    }
}

impl Instance {
    /// Explores all markings within about this time and memory. Values take their time from the same limit.
    ///
    /// # Errors
    /// A limit is exceeded, `cancel` was set, a place gets more than 2^64-1 tokens, or the net cannot be unfolded.
    pub fn explore<'a>(
        &'a self,
        time: Duration,
        memory_bytes: u64,
        cancel: &'a AtomicBool,
    ) -> Result<Exploration<'a>, CheckError> {
        let net = self.unfolded(time, memory_bytes)?;
        let limits = ExploreLimits::new("the exploration", time, memory_bytes, cancel);
        let mut all = self.empty_exploration(net, limits);
        all.find_markings()?;
        all.find_predecessors()?;
        Ok(all)
    }

    fn empty_exploration<'a>(&'a self, net: &'a Unfolded, limits: ExploreLimits<'a>) -> Exploration<'a> {
        Exploration {
            instance: self,
            net,
            limits,
            bytes: Vec::new(),
            ends: Vec::new(),
            targets: Vec::new(),
            target_ends: Vec::new(),
            before: Vec::new(),
            before_ends: Vec::new(),
        }
    }

    /// The questions of the examinations: names and ids of properties. An examination whose file cannot be read is one question
    /// with its own name, whose value is an error.
    #[must_use]
    pub fn questions(&self) -> Vec<(String, String)> {
        let mut questions: Vec<(String, String)> = Vec::new();
        let metrics = ["STATES", "TRANSITIONS", "MAX_TOKEN_IN_PLACE", "MAX_TOKEN_PER_MARKING"];
        questions.extend(metrics.map(|metric| ("StateSpace".to_owned(), metric.to_owned())));
        for (examination, properties) in &self.properties {
            let ids = match properties {
                Ok(properties) => properties.iter().map(|property| property.id.clone()).collect(),
                Err(_) => vec![examination.clone()],
            };
            questions.extend(ids.into_iter().map(|id| (examination.clone(), id)));
        }
        let global = ["ReachabilityDeadlock", "OneSafe", "QuasiLiveness", "StableMarking", "Liveness"];
        for name in global.into_iter().filter(|name| !self.properties.contains_key(*name)) {
            questions.push((name.to_owned(), name.to_owned()));
        }
        questions
    }
}

impl Exploration<'_> {
    /// The number of markings.
    #[must_use]
    pub fn markings(&self) -> usize {
        self.ends.len()
    }

    /// The time since the beginning.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.limits.elapsed()
    }

    /// About the bytes of the unfolded net and the tables.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        let words = self.ends.capacity() + self.target_ends.capacity() + self.before_ends.capacity();
        let numbers = self.targets.capacity() + self.before.capacity();
        self.net.explored_bytes() + (self.bytes.capacity() + 8 * words + 4 * numbers) as u64
    }

    /// Checks the limits before more memory is taken.
    pub(crate) fn check(&self, more_bytes: u64) -> Result<(), CheckError> {
        self.limits.check(self.memory_bytes() + more_bytes)
    }

    fn find_markings(&mut self) -> Result<(), CheckError> {
        self.check(0)?;
        let net = self.net;
        let effects = net.changes();
        // A transition is tried if its first input place is marked.
        let (mut tried, mut always) = (vec![Vec::new(); net.initial.len()], Vec::new());
        for (flat, Flat { needs, .. }) in net.flats.iter().enumerate() {
            match needs.first() {
                Some((place, _)) => tried[*place].push(flat),
                None => always.push(flat),
            }
        }
        let initial = net.initial.iter().map(|tokens| *tokens as u64).collect::<Vec<_>>();
        // Open addressing; twice as many slots as markings at least.
        let mut table: Vec<u32> = vec![u32::MAX; 1 << 10];
        self.insert(&initial, &mut table)?;
        let mut marking = vec![0; net.initial.len()];
        let mut next = marking.clone();
        let mut unchecked = 0;
        while self.target_ends.len() < self.ends.len() {
            self.check(table.len() as u64 * 4)?;
            self.read(self.target_ends.len(), &mut marking);
            next.copy_from_slice(&marking);
            let marked =
                (0..marking.len()).filter(|place| marking[*place] > 0).flat_map(|place| &tried[place]);
            for flat in always.iter().chain(marked) {
                if !is_enabled(net, *flat, &marking) {
                    continue;
                }
                for (place, change) in &effects[*flat] {
                    let tokens = u64::try_from(i128::from(marking[*place]) + change);
                    next[*place] = tokens.map_err(|_| self.limits.too_much("tokens on a place"))?;
                }
                unchecked += next.len();
                if unchecked >= PLACES_UNCHECKED {
                    unchecked = 0;
                    self.check(table.len() as u64 * 4)?;
                }
                let target = self.insert(&next, &mut table)?;
                self.targets.push(target);
                effects[*flat].iter().for_each(|(place, _)| next[*place] = marking[*place]);
            }
            self.target_ends.push(self.targets.len());
        }
        Ok(())
    }

    /// The number of a marking, which is added if it is new.
    fn insert(&mut self, marking: &[u64], table: &mut Vec<u32>) -> Result<u32, CheckError> {
        let (start, mut gap) = (self.bytes.len(), 0);
        for tokens in marking {
            if *tokens > 0 {
                [gap, *tokens].into_iter().for_each(|number| write(&mut self.bytes, number));
                gap = 0;
            } else {
                gap += 1;
            }
        }
        let mut slot = slot(&self.bytes[start..], table);
        while table[slot] != u32::MAX {
            if self.packed(table[slot] as usize) == &self.bytes[start..] {
                self.bytes.truncate(start);
                return Ok(table[slot]);
            }
            slot = (slot + 1) & (table.len() - 1);
        }
        let number = self.ends.len() as u32;
        table[slot] = number;
        self.ends.push(self.bytes.len());
        if self.ends.len() * 2 > table.len() {
            self.check(table.len() as u64 * 12)?;
            let size = table.len() * 2;
            *table = vec![u32::MAX; size];
            for number in 0..self.ends.len() {
                let mut slot = self::slot(self.packed(number), table);
                while table[slot] != u32::MAX {
                    slot = (slot + 1) & (size - 1);
                }
                table[slot] = number as u32;
            }
        }
        if number < u32::MAX - 1 { Ok(number) } else { Err(self.limits.too_much("markings")) }
    }

    fn packed(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[number]]
    }

    fn read(&self, number: usize, marking: &mut [u64]) {
        marking.fill(0);
        let (mut bytes, mut place) = (self.packed(number).iter(), 0);
        let mut number = || {
            let (mut value, mut shift) = (0_u64, 0);
            for byte in bytes.by_ref() {
                value |= u64::from(byte & 127) << shift;
                shift += 7;
                if byte & 128 == 0 {
                    return Some(value);
                }
            }
            None
        };
        while let (Some(gap), Some(tokens)) = (number(), number()) {
            place += gap as usize;
            marking[place] = tokens;
            place += 1;
        }
    }

    /// The markings after one, for each firing.
    pub(crate) fn successors(&self, marking: usize) -> &[u32] {
        let start = marking.checked_sub(1).map_or(0, |before| self.target_ends[before]);
        &self.targets[start..self.target_ends[marking]]
    }

    fn find_predecessors(&mut self) -> Result<(), CheckError> {
        self.check(4 * self.targets.len() as u64 + 8 * self.markings() as u64)?;
        let mut at = vec![0_usize; self.markings()];
        self.targets.iter().for_each(|target| at[*target as usize] += 1);
        let mut sum = 0;
        for count in &mut at {
            (*count, sum) = (sum, sum + *count);
        }
        self.before = vec![0; self.targets.len()];
        for marking in 0..self.markings() {
            let start = marking.checked_sub(1).map_or(0, |before| self.target_ends[before]);
            for edge in start..self.target_ends[marking] {
                let place = &mut at[self.targets[edge] as usize];
                self.before[*place] = marking as u32;
                *place += 1;
            }
        }
        self.before_ends = at;
        Ok(())
    }

    /// Calls `visit` with the tokens of each marking.
    fn each(&self, mut visit: impl FnMut(&[u64])) -> Result<(), CheckError> {
        let mut marking = vec![0; self.net.initial.len()];
        for number in 0..self.markings() {
            if number % 64 == 0 {
                self.check(0)?;
            }
            self.read(number, &mut marking);
            visit(&marking);
        }
        Ok(())
    }

    /// The value of a property; None: the rules do not say which.
    ///
    /// # Errors
    /// A limit is exceeded, the property is unknown, or the formula is not of the logic of its examination.
    pub fn value(&self, examination: &str, property: &str) -> Result<Option<Value>, CheckError> {
        let number = |number: u128| Ok(Some(Value::Number(BigUint::from(number))));
        let truth = |truth| Ok(Some(Value::Truth(truth)));
        match (examination, property) {
            ("StateSpace", "STATES") => return number(self.markings() as u128),
            ("StateSpace", "TRANSITIONS") => return number(self.targets.len() as u128),
            _ => {}
        }
        let is_bound = examination == "StateSpace"
            || matches!(self.instance.formula(examination, property), Ok(Ok(Formula::PlaceBound(_))));
        let any = if is_bound { Value::Number(BigUint::ZERO) } else { Value::Truth(true) };
        let ranges = &self.net.places;
        let sum = |marking: &[u64], place: usize| -> u128 {
            marking[ranges[place].clone()].iter().map(|tokens| u128::from(*tokens)).sum()
        };
        let mut most: u128 = 0;
        match self.instance.claim(&self.instance.name, examination, property, &any)? {
            Claim::Formula(formula, _) if examination.starts_with("LTL") => truth(self.ltl(formula)?),
            Claim::Formula(formula, _) => truth(self.ctl(formula, 0)?[0]),
            Claim::Bound(places, _) => {
                self.each(|marking| most = most.max(places.iter().map(|place| sum(marking, *place)).sum()))?;
                number(most)
            }
            Claim::OneSafe(_) => {
                self.each(|marking| {
                    most = (0..ranges.len()).map(|place| sum(marking, place)).fold(most, u128::max);
                })?;
                truth(most <= 1)
            }
            Claim::QuasiLiveness(_) => truth(self.each_transition(|fires| Ok(fires.contains(&true)))?),
            Claim::Liveness(_) => {
                truth(self.each_transition(|fires| Ok(!self.until(|_| true, fires, true)?.contains(&false)))?)
            }
            Claim::StableMarking(_) => {
                let initial: Vec<u64> = self.net.initial.iter().map(|tokens| *tokens as u64).collect();
                let (mut changes, mut counts) = (vec![false; ranges.len()], vec![false; ranges.len()]);
                self.each(|marking| {
                    for (place, range) in ranges.iter().enumerate() {
                        changes[place] |= marking[range.clone()] != initial[range.clone()];
                        counts[place] |= sum(marking, place) != sum(&initial, place);
                    }
                })?;
                if !counts.contains(&false) {
                    truth(false)
                } else if changes.contains(&false) {
                    truth(true)
                } else {
                    Ok(None)
                }
            }
            Claim::MostInPlace(_) | Claim::Unbounded(_) => {
                self.each(|marking| {
                    most = marking.iter().map(|tokens| u128::from(*tokens)).fold(most, u128::max);
                })?;
                number(most)
            }
        }
    }

    /// Whether a condition on the markings in which a transition is enabled is true for each transition.
    fn each_transition(
        &self,
        condition: impl Fn(Truths) -> Result<bool, CheckError>,
    ) -> Result<bool, CheckError> {
        for transition in &self.instance.model.net.transitions {
            if !condition(self.label(&Expr::Fireable(vec![transition.id.clone()]))?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The truth of a state formula by marking.
    pub(crate) fn label(&self, formula: &Expr) -> Result<Truths, CheckError> {
        self.check(self.markings() as u64)?;
        let predicate = self.predicate(formula)?;
        let mut truths = Vec::with_capacity(self.markings());
        self.each(|marking| truths.push(predicate(marking)))?;
        Ok(truths)
    }

    fn predicate(&self, formula: &Expr) -> Result<Predicate<'_>, CheckError> {
        let net = self.net;
        let parts = |parts: &[Expr]| -> Result<Vec<Predicate<'_>>, CheckError> {
            parts.iter().map(|part| self.predicate(part)).collect()
        };
        // Ranges, because a list can name a place or transition of many colours again and again.
        let sum = |count: &Count| -> Result<(Vec<Range<usize>>, u64), CheckError> {
            let ids = match count {
                Count::Constant(constant) => return Ok((Vec::new(), *constant)),
                Count::Tokens(ids) => ids,
            };
            let mut places = Vec::new();
            for id in ids {
                places.push(net.places[self.instance.model.place(id)?].clone());
            }
            Ok((places, 0))
        };
        let value = |(places, constant): &(Vec<Range<usize>>, u64), marking: &[u64]| -> u128 {
            let places = places.iter().cloned().flatten();
            places.map(|place| u128::from(marking[place])).sum::<u128>() + u128::from(*constant)
        };
        Ok(match formula {
            Expr::Le(left, right) => {
                let (left, right) = (sum(left)?, sum(right)?);
                Box::new(move |marking: &[u64]| value(&left, marking) <= value(&right, marking))
            }
            Expr::Fireable(ids) => {
                let mut flats = Vec::new();
                for id in ids {
                    flats.push(net.transitions[self.instance.model.transition(id)?].clone());
                }
                Box::new(move |marking: &[u64]| {
                    flats.iter().cloned().flatten().any(|flat| is_enabled(net, flat, marking))
                })
            }
            Expr::Deadlock => {
                Box::new(|marking: &[u64]| !(0..net.flats.len()).any(|flat| is_enabled(net, flat, marking)))
            }
            Expr::Not(inner) => {
                let inner = self.predicate(inner)?;
                Box::new(move |marking: &[u64]| !inner(marking))
            }
            Expr::And(inner) => {
                let inner = parts(inner)?;
                Box::new(move |marking: &[u64]| inner.iter().all(|part| part(marking)))
            }
            Expr::Or(inner) => {
                let inner = parts(inner)?;
                Box::new(move |marking: &[u64]| inner.iter().any(|part| part(marking)))
            }
            _ => return Err(CheckError::refused("the formula is not of the logic of its examination")),
        })
    }

    /// The truth of a CTL formula by marking. Paths are maximal. `kept`: the bytes of the tables of the formulas around it.
    fn ctl(&self, formula: &Expr, kept: u64) -> Result<Truths, CheckError> {
        let table = self.markings() as u64;
        // With those of `until`, its operands and its result.
        self.check(kept + 14 * table)?;
        let not = |truths: Truths| -> Truths { truths.into_iter().map(|truth| !truth).collect() };
        let fold = |parts: &[Expr], start: bool| -> Result<Truths, CheckError> {
            let mut result = vec![start; self.markings()];
            for part in parts {
                let part = self.ctl(part, kept + table)?;
                result
                    .iter_mut()
                    .zip(part)
                    .filter(|(_, part)| *part != start)
                    .for_each(|(truth, _)| *truth = !start);
            }
            Ok(result)
        };
        let (path, some) = match formula {
            formula if formula.is_state_formula() => return self.label(formula),
            Expr::Not(inner) => return Ok(not(self.ctl(inner, kept)?)),
            Expr::And(parts) => return fold(parts, true),
            Expr::Or(parts) => return fold(parts, false),
            Expr::AllPaths(path) => (path, false),
            Expr::ExistsPath(path) => (path, true),
            other => return self.label(other),
        };
        match &**path {
            Expr::Next(inner) => {
                let inner = self.ctl(inner, kept)?;
                let has = |next: &u32| inner[*next as usize] == some;
                // Some next marking satisfies it, or none violates it.
                Ok((0..self.markings()).map(|at| self.successors(at).iter().any(has) == some).collect())
            }
            Expr::Finally(inner) => self.until(|_| true, self.ctl(inner, kept)?, some),
            Expr::Globally(inner) => Ok(not(self.until(|_| true, not(self.ctl(inner, kept)?), !some)?)),
            Expr::Until(before, reach) => {
                let before = self.ctl(before, kept)?;
                self.until(|at| before[at], self.ctl(reach, kept + table)?, some)
            }
            other => self.label(other),
        }
    }

    /// The least solution of: reach, or before and the same in some (or each, and one) next marking. Backwards from reach.
    fn until(&self, before: impl Fn(usize) -> bool, reach: Truths, some: bool) -> Result<Truths, CheckError> {
        self.check(12 * self.markings() as u64)?;
        let mut left: Vec<u32> = (0..self.markings()).map(|at| self.successors(at).len() as u32).collect();
        let mut result = reach;
        let mut waiting: Vec<u32> = (0..result.len()).filter(|at| result[*at]).map(|at| at as u32).collect();
        while let Some(marking) = waiting.pop() {
            let marking = marking as usize;
            let start = marking.checked_sub(1).map_or(0, |before| self.before_ends[before]);
            for previous in &self.before[start..self.before_ends[marking]] {
                let at = *previous as usize;
                left[at] -= 1;
                if before(at) && !result[at] && (some || left[at] == 0) {
                    result[at] = true;
                    waiting.push(*previous);
                }
            }
        }
        Ok(result)
    }
}

fn is_enabled(net: &Unfolded, flat: usize, marking: &[u64]) -> bool {
    net.flats[flat].needs.iter().all(|(place, count)| u128::from(marking[*place]) >= *count)
}

/// Appends a number in LEB128.
fn write(bytes: &mut Vec<u8>, mut number: u64) {
    while number > 127 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn slot(bytes: &[u8], table: &[u32]) -> usize {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish() as usize & (table.len() - 1)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::path::Path;

    static CANCEL: AtomicBool = AtomicBool::new(false);

    pub(crate) fn limits(time: Duration, memory_bytes: u64) -> ExploreLimits<'static> {
        ExploreLimits::new("the test", time, memory_bytes, &CANCEL)
    }

    /// An instance for explorers, which get their net from the test.
    pub(crate) fn instance() -> Instance {
        let file = "../../pnml-fixtures/DiningTable-PT-03.tgz";
        let archive = mcc_model::Archive::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
        Instance::read(&archive).unwrap()
    }

    /// A net of transitions that need a token on one of the places and take this number there.
    fn net(initial: Vec<u128>, transitions: usize, takes: i128) -> Unfolded {
        let mut net = Unfolded { changed_by: vec![Vec::new(); initial.len()], ..Unfolded::default() };
        for number in 0..transitions {
            let place = number % initial.len();
            net.flats.push(Flat { needs: vec![(place, 1)], puts: Vec::new() });
            if takes != 0 {
                net.changed_by[place].push((number, -takes));
            }
        }
        Unfolded { initial, ..net }
    }

    pub(crate) fn assert_limit<T>(result: Result<T, CheckError>, limit: &str) {
        let why = format!("the test needs more {limit} than its limit");
        assert!(matches!(result, Err(CheckError::NotChecked(reason)) if reason == why));
    }

    #[test]
    fn limits_hold_between_the_firings_of_a_marking() {
        let instance = instance();
        // All firings lead to the same marking.
        let same = net(vec![1; 100_000], 100_000, 0);
        let limits_of_time = limits(Duration::from_millis(200), 1 << 30);
        assert_limit(instance.empty_exploration(&same, limits_of_time).find_markings(), "time");
        // Each firing leads to a new marking of 220 kB.
        let other = net(vec![1 << 63; 20_000], 500, 1);
        let mut all = instance.empty_exploration(&other, limits(Duration::from_secs(3600), 4 << 20));
        assert_limit(all.find_markings(), "memory");
        assert!(all.memory_bytes() < 32 << 20, "{}", all.memory_bytes());
    }

    #[test]
    fn limits_hold_where_an_ltl_formula_has_many_steps() {
        let (instance, net) = (instance(), net(vec![1], 20_000, 0));
        let mut all = instance.empty_exploration(&net, limits(Duration::from_secs(3600), 1 << 26));
        all.find_markings().unwrap();
        all.limits = limits(Duration::from_secs(1), 1 << 26);
        // Each node of the product has some millions of firings; the path has more than a hundred of them.
        let later = vec![Expr::Next(Box::new(Expr::And(Vec::new()))); 100];
        let always = Expr::Globally(Box::new(Expr::Or(later)));
        let never = Expr::Finally(Box::new(Expr::Or(Vec::new())));
        let formula = Expr::ExistsPath(Box::new(Expr::And(vec![always, never])));
        assert_limit(all.ltl(&formula), "time");
    }
}
