//! Linear programs over the state equation, and their exact solutions.
//!
//! A reachable marking m satisfies m = m0 + C x for some x >= 0 (state equation; Murata, Petri nets: properties, analysis
//! and applications, 1989), and m >= 0. By the lemma of Farkas, linear conditions have no such m if and only if there are
//! weights of places and multipliers of conditions that contradict each other. A solver over floats finds them; they are
//! rounded to integers, and count only if the exact inequalities hold.

use microlp::{ComparisonOp, OptimizationDirection, Problem, Variable};
use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{FromPrimitive, One, Signed, ToPrimitive, Zero};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::{Duration, Instant};

/// Largest number of numbers in a linear program. Larger ones take minutes.
const MAX_PROGRAM_NUMBERS: usize = 400_000;
/// Most numbers of conditions, and of the rows that a linear program has for them beside those of the net: some hundreds of MB
/// with their copies. The conditions of formulas of the contest have some hundreds of thousands at most.
pub(crate) const MAX_CONDITION_NUMBERS: usize = 5_000_000;
/// Most products from which these rows are made: some seconds.
const MAX_PRODUCTS: usize = 100_000_000;
/// Least float that counts as more than 0, relative to the largest number of the solution.
const MIN_RELATIVE: f64 = 1e-9;
/// Largest common denominator of a solution, in bits.
const MAX_DENOMINATOR_BITS: u64 = 256;

/// The parts of a P/T net that structural proofs use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Structure {
    /// The initial tokens, by place.
    pub(crate) initial: Vec<u64>,
    /// By transition: its input places, each once, with weights.
    pub(crate) inputs: Vec<Vec<(u32, u64)>>,
    /// By transition: its output places, each once.
    pub(crate) outputs: Vec<Vec<u32>>,
    /// By transition: the changes that are not 0, by place.
    pub(crate) effects: Vec<Vec<(u32, i128)>>,
}

/// The condition that a weighted sum of tokens is at least `bound`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Linear {
    /// The weights that are not 0, by place in ascending order.
    pub(crate) terms: Vec<(u32, i128)>,
    pub(crate) bound: i128,
}

impl Linear {
    /// The condition that the sum of these terms is at least `bound`. Terms of one place are added.
    pub(crate) fn new(terms: impl IntoIterator<Item = (u32, i128)>, bound: i128) -> Self {
        let mut sums: BTreeMap<u32, i128> = BTreeMap::new();
        for (place, weight) in terms {
            *sums.entry(place).or_default() += weight;
        }
        Self { terms: sums.into_iter().filter(|(_, weight)| *weight != 0).collect(), bound }
    }

    /// The sum of the tokens on places, with the bound 0. None: they are too many.
    pub(crate) fn sum(places: &[u32]) -> Option<Self> {
        let is_possible = places.len() <= MAX_CONDITION_NUMBERS;
        is_possible.then(|| Self::new(places.iter().map(|place| (*place, 1)), 0))
    }

    /// The condition that it does not hold.
    pub(crate) fn negated(&self) -> Self {
        let terms = self.terms.iter().map(|(place, weight)| (*place, -weight)).collect();
        Self { terms, bound: 1 - self.bound }
    }

    /// The weighted sum in the initial marking.
    pub(crate) fn initially(&self, structure: &Structure) -> i128 {
        self.terms.iter().map(|(place, weight)| weight * i128::from(structure.initial[*place as usize])).sum()
    }

    /// The change of the weighted sum by a transition; `effect` is by place in ascending order.
    pub(crate) fn change(&self, effect: &[(u32, i128)]) -> i128 {
        let position = |place: &u32| self.terms.binary_search_by_key(place, |term| term.0).ok();
        effect.iter().filter_map(|(place, change)| position(place).map(|at| self.terms[at].1 * change)).sum()
    }
}

/// A proof that no reachable marking satisfies all of some conditions: multipliers of the conditions, and weights of the
/// places whose weighted sum of tokens never grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refutation {
    /// Not negative, by condition.
    pub(crate) multipliers: Vec<BigInt>,
    /// The weights that are not 0, by place.
    pub(crate) weights: BTreeMap<u32, BigInt>,
}

/// An upper bound of a sum of tokens: `weights`, whose weighted sum of tokens never grows, are at least `divisor` times
/// those of the sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UpperBound {
    /// The weights that are not 0, by place; none is negative.
    pub(crate) weights: BTreeMap<u32, BigInt>,
    /// At least 1.
    pub(crate) divisor: BigInt,
    /// The bound: the weighted sum of the initial marking divided by `divisor`, rounded down.
    pub(crate) bound: BigInt,
}

impl Structure {
    fn numbers(&self) -> usize {
        self.initial.len() + self.effects.iter().map(Vec::len).sum::<usize>()
    }

    /// Whether the weighted sum of tokens grows with no transition.
    fn never_grows(&self, weights: &BTreeMap<u32, BigInt>) -> bool {
        let grows = |effect: &Vec<(u32, i128)>| {
            let changes =
                effect.iter().filter_map(|(place, change)| weights.get(place).map(|weight| weight * change));
            changes.sum::<BigInt>().is_positive()
        };
        !self.effects.iter().any(grows)
    }

    pub(crate) fn initial_sum(&self, weights: &BTreeMap<u32, BigInt>) -> BigInt {
        weights.iter().map(|(place, weight)| weight * self.initial[*place as usize]).sum()
    }

    /// By transition: the numbers of the conditions whose sums it changes, with the changes. None: they are too many.
    fn changes(&self, conditions: &[Linear]) -> Option<Vec<Vec<(usize, f64)>>> {
        let mut weights: Vec<Vec<(u32, i128)>> = vec![Vec::new(); self.initial.len()];
        for (number, condition) in (0..).zip(conditions) {
            condition.terms.iter().for_each(|term| weights[term.0 as usize].push((number, term.1)));
        }
        let products = self.effects.iter().flatten().map(|(place, _)| weights[*place as usize].len());
        if products.sum::<usize>() > MAX_PRODUCTS {
            return None;
        }
        let mut left = MAX_CONDITION_NUMBERS;
        let changes = |effect: &Vec<(u32, i128)>| {
            let products = effect.iter().flat_map(|(place, change)| {
                weights[*place as usize].iter().map(move |(number, weight)| (*number, weight * change))
            });
            let changes = Linear::new(products, 0).terms;
            left = left.checked_sub(changes.len())?;
            Some(changes.into_iter().map(|(number, change)| (number as usize, change as f64)).collect())
        };
        self.effects.iter().map(changes).collect()
    }

    /// The same as `refute`, with equal conditions as one.
    fn refute_different(&self, conditions: &[Linear], until: Instant) -> Option<Refutation> {
        let (firsts, different) = different(conditions)?;
        let refutation = self.refute(&different, until)?;
        let mut multipliers = vec![BigInt::zero(); conditions.len()];
        for (first, multiplier) in firsts.into_iter().zip(refutation.multipliers) {
            multipliers[first] = multiplier;
        }
        Some(Refutation { multipliers, weights: refutation.weights })
    }

    /// Proves that no reachable marking satisfies all conditions. None: there is no such proof, or it was not found in
    /// time.
    pub(crate) fn refute(&self, conditions: &[Linear], until: Instant) -> Option<Refutation> {
        // A sum of no tokens needs no program.
        if let Some(at) =
            conditions.iter().position(|condition| condition.terms.is_empty() && condition.bound > 0)
        {
            let multiplier = |other| if other == at { BigInt::one() } else { BigInt::zero() };
            let multipliers = (0..conditions.len()).map(multiplier).collect();
            return Some(Refutation { multipliers, weights: BTreeMap::new() });
        }
        // Maximizes the contradiction: the sum of multiplier * (bound - initial sum) - slack * initial tokens.
        let gain: Vec<i128> =
            conditions.iter().map(|condition| condition.bound - condition.initially(self)).collect();
        if gain.iter().all(|gain| *gain <= 0) {
            return None;
        }
        let size = gain
            .iter()
            .map(|gain| gain.unsigned_abs())
            .chain(self.initial.iter().map(|tokens| (*tokens).into()));
        let size = size.max().unwrap_or(1).max(1) as f64;
        let mut program = Program::new(OptimizationDirection::Maximize, self, until)?;
        let Some(changes) = self.changes(conditions) else {
            return self.refute_different(conditions, until);
        };
        let multipliers: Vec<usize> =
            gain.iter().map(|gain| program.variable(*gain as f64 / size, 1.0)).collect();
        let slacks: Vec<usize> = self
            .initial
            .iter()
            .map(|tokens| program.variable(-(*tokens as f64) / size, f64::INFINITY))
            .collect();
        for (effect, changes) in self.effects.iter().zip(changes) {
            let mut row: Vec<(usize, f64)> =
                effect.iter().map(|(place, change)| (slacks[*place as usize], *change as f64)).collect();
            row.extend(changes.into_iter().map(|(condition, change)| (multipliers[condition], change)));
            program.at_most(row, 0.0);
        }
        let sum: Vec<(usize, f64)> = multipliers.iter().map(|variable| (*variable, 1.0)).collect();
        program.at_most(sum, 1.0);
        let (values, vertex) = program.solve()?;
        if values.iter().all(|value| *value == 0.0) {
            return None;
        }
        candidates(&values, vertex).find_map(|(numbers, _)| {
            let (multipliers, slacks) = numbers.split_at(conditions.len());
            self.exact_refutation(conditions, multipliers, slacks)
        })
    }

    fn exact_refutation(
        &self,
        conditions: &[Linear],
        multipliers: &[BigInt],
        slacks: &[BigInt],
    ) -> Option<Refutation> {
        let mut weights = weights_of(slacks);
        let mut bound = BigInt::zero();
        for (condition, multiplier) in
            conditions.iter().zip(multipliers).filter(|(_, multiplier)| !multiplier.is_zero())
        {
            bound += multiplier * condition.bound;
            for (place, weight) in &condition.terms {
                *weights.entry(*place).or_default() += multiplier * weight;
            }
        }
        weights.retain(|_, weight| !weight.is_zero());
        let holds = self.never_grows(&weights) && bound > self.initial_sum(&weights);
        holds.then(|| Refutation { multipliers: multipliers.to_vec(), weights })
    }

    /// An upper bound of the sum of tokens on places, each with its weight (at least 1). None: there is none, or it was
    /// not found in time.
    pub(crate) fn upper_bound(&self, sum: &Linear, until: Instant) -> Option<UpperBound> {
        if sum.terms.is_empty() {
            return Some(UpperBound {
                weights: BTreeMap::new(),
                divisor: BigInt::one(),
                bound: BigInt::zero(),
            });
        }
        let size = self.initial.iter().copied().max().unwrap_or(1).max(1) as f64;
        let mut program = Program::new(OptimizationDirection::Minimize, self, until)?;
        // Among equal bounds a small sum of weights is preferred: unmarked places cost a little.
        let cost = |tokens: &u64| *tokens as f64 / size + 1e-7;
        let slacks: Vec<usize> =
            self.initial.iter().map(|tokens| program.variable(cost(tokens), f64::INFINITY)).collect();
        for effect in &self.effects {
            let row =
                effect.iter().map(|(place, change)| (slacks[*place as usize], *change as f64)).collect();
            program.at_most(row, -(sum.change(effect) as f64));
        }
        let (values, vertex) = program.solve()?;
        candidates(&values, vertex).find_map(|(slacks, divisor)| {
            let mut weights = weights_of(&slacks);
            for (place, weight) in &sum.terms {
                *weights.entry(*place).or_default() += &divisor * weight;
            }
            let bound = self.initial_sum(&weights).div_floor(&divisor);
            self.never_grows(&weights).then_some(UpperBound { weights, divisor, bound })
        })
    }

    /// The steps for which a linear program counts: those of about one pivot for each place and transition. The solver does
    /// not tell its pivots.
    pub(crate) fn steps(&self) -> u64 {
        let (numbers, size) = (self.numbers() as u64, (self.initial.len() + self.effects.len()) as u64);
        20 + numbers / 8 + size * size / 2000
    }

    /// A solution of the state equation that satisfies all conditions, over floats, with a least number of firings. None:
    /// there is none, or it was not found in time.
    pub(crate) fn solution(&self, conditions: &[Linear], until: Instant) -> Option<Solution> {
        let mut program = Program::new(OptimizationDirection::Minimize, self, until)?;
        let Some(changes) = self.changes(conditions) else {
            return self.solution(&different(conditions)?.1, until);
        };
        let counts: Vec<usize> = self.effects.iter().map(|_| program.variable(1.0, f64::INFINITY)).collect();
        let mut rows: Vec<Vec<(usize, f64)>> = vec![Vec::new(); self.initial.len()];
        for (effect, count) in self.effects.iter().zip(&counts) {
            for (place, change) in effect {
                rows[*place as usize].push((*count, *change as f64));
            }
        }
        let mut sums: Vec<Vec<(usize, f64)>> = vec![Vec::new(); conditions.len()];
        for (changes, count) in changes.into_iter().zip(&counts) {
            changes.into_iter().for_each(|(condition, change)| sums[condition].push((*count, change)));
        }
        for (condition, row) in conditions.iter().zip(sums) {
            program.at_least(row, (condition.bound - condition.initially(self)) as f64);
        }
        for (row, tokens) in rows.into_iter().zip(&self.initial) {
            program.at_least(row, -(*tokens as f64));
        }
        let (firings, _) = program.solve()?;
        let mut tokens: Vec<f64> = self.initial.iter().map(|tokens| *tokens as f64).collect();
        for (effect, count) in self.effects.iter().zip(&firings) {
            effect.iter().for_each(|(place, change)| tokens[*place as usize] += count * *change as f64);
        }
        Some(Solution { tokens, firings })
    }

    /// Whether each of these transitions takes from a place to which none of them adds, so that no infinite run fires only these.
    pub(crate) fn take_only(&self, transitions: &[u32]) -> bool {
        let effects = || transitions.iter().map(|transition| &self.effects[*transition as usize]);
        let adds = |(place, change): &(u32, i128)| (*change > 0).then_some(*place);
        let added: HashSet<u32> = effects().flatten().filter_map(adds).collect();
        effects().all(|effect| effect.iter().any(|(place, _)| !added.contains(place)))
    }

    /// Whether an infinite run may fire only these transitions. It cannot if a weighted sum of tokens decreases with each of
    /// them, which by the lemma of Farkas is so if and only if no numbers of firings of them leave each place as many tokens.
    /// Also true if this was not decided.
    pub(crate) fn can_repeat(&self, transitions: &[u32], until: Instant) -> bool {
        if transitions.is_empty() {
            return false;
        }
        let effects = || transitions.iter().map(|transition| &self.effects[*transition as usize]);
        if effects().any(|effect| effect.iter().all(|(_, change)| *change >= 0)) {
            return true;
        }
        let Some(mut program) = Program::new(OptimizationDirection::Minimize, self, until) else {
            return true;
        };
        let slacks: Vec<usize> = self.initial.iter().map(|_| program.variable(1.0, f64::INFINITY)).collect();
        for effect in effects() {
            let row = effect.iter().map(|(place, change)| (slacks[*place as usize], -(*change as f64)));
            program.at_least(row.collect(), 1.0);
        }
        let Some((values, vertex)) = program.solve() else { return true };
        let decreases = |weights: &BTreeMap<u32, BigInt>| {
            effects().all(|effect| {
                let change =
                    |(place, change): &(u32, i128)| weights.get(place).map(|weight| weight * *change);
                effect.iter().filter_map(change).sum::<BigInt>().is_negative()
            })
        };
        !candidates(&values, vertex).any(|(slacks, _)| decreases(&weights_of(&slacks)))
    }
}

/// A solution of the state equation.
#[derive(Clone, Debug)]
pub(crate) struct Solution {
    /// By place.
    pub(crate) tokens: Vec<f64>,
    /// By transition: how often it fires.
    pub(crate) firings: Vec<f64>,
}

/// The numbers of the conditions that differ from all before, and these conditions. None: all differ.
fn different(conditions: &[Linear]) -> Option<(Vec<usize>, Vec<Linear>)> {
    let mut known = BTreeSet::new();
    let firsts: Vec<usize> =
        (0..conditions.len()).filter(|number| known.insert(&conditions[*number])).collect();
    if firsts.len() == conditions.len() {
        return None;
    }
    let different = firsts.iter().map(|number| conditions[*number].clone()).collect();
    Some((firsts, different))
}

fn weights_of(slacks: &[BigInt]) -> BTreeMap<u32, BigInt> {
    (0..)
        .zip(slacks)
        .filter(|(_, slack)| !slack.is_zero())
        .map(|(place, slack)| (place, slack.clone()))
        .collect()
}

/// A linear program over floats with variables that are not negative.
struct Program {
    problem: Problem,
    variables: Vec<Variable>,
    vertex: Vertex,
    left: Duration,
    impossible: bool,
}

impl Program {
    /// None: the net is too large, or there is no time left.
    fn new(direction: OptimizationDirection, structure: &Structure, until: Instant) -> Option<Self> {
        let left = until.saturating_duration_since(Instant::now());
        let possible = structure.numbers() <= MAX_PROGRAM_NUMBERS && !left.is_zero();
        let problem = Problem::new(direction);
        let (variables, vertex) = (Vec::new(), Vertex::default());
        possible.then_some(Self { problem, variables, vertex, left, impossible: false })
    }

    fn variable(&mut self, cost: f64, most: f64) -> usize {
        self.variables.push(self.problem.add_var(cost, (0.0, most)));
        self.variables.len() - 1
    }

    fn at_most(&mut self, row: Vec<(usize, f64)>, bound: f64) {
        self.row(row, ComparisonOp::Le, bound, bound >= 0.0);
    }

    fn at_least(&mut self, row: Vec<(usize, f64)>, bound: f64) {
        self.row(row, ComparisonOp::Ge, bound, bound <= 0.0);
    }

    fn row(&mut self, row: Vec<(usize, f64)>, operator: ComparisonOp, bound: f64, holds_for_0: bool) {
        if row.is_empty() {
            self.impossible |= !holds_for_0;
            return;
        }
        // Rows of large arc weights are scaled: the solver needs coefficients of similar size.
        let size = row.iter().map(|(_, number)| number.abs()).fold(0.0, f64::max);
        let scaled: Vec<(Variable, f64)> =
            row.iter().map(|(variable, number)| (self.variables[*variable], number / size)).collect();
        self.problem.add_constraint(scaled, operator, bound / size);
        self.vertex.rows.push((row, bound));
    }

    /// The values of the variables in an optimum, with the rows. A panic of the solver counts as no solution.
    fn solve(mut self) -> Option<(Vec<f64>, Vertex)> {
        if self.impossible {
            return None;
        }
        self.problem.set_time_limit(self.left);
        let solve = || self.problem.solve();
        let solved = std::panic::catch_unwind(std::panic::AssertUnwindSafe(solve)).ok()?.ok()?;
        let solution = solved.into_solution().ok()?;
        let values: Vec<f64> = self.variables.iter().map(|variable| solution.var_value(*variable)).collect();
        values.iter().all(|value| value.is_finite()).then_some((values, self.vertex))
    }
}

/// Most variables above 0 of a vertex that is computed exactly: about a second.
const MAX_EXACT: usize = 120;

/// The rows of a linear program, with their bounds.
#[derive(Debug, Default)]
struct Vertex {
    rows: Vec<(Vec<(usize, f64)>, f64)>,
}

impl Vertex {
    /// The exact solution of the rows that hold with equality, with the other variables 0; with its common denominator. None:
    /// these rows have no solution, or it is too large.
    fn exact(&self, values: &[f64]) -> Option<(Vec<BigInt>, BigInt)> {
        let above: Vec<usize> = (0..values.len()).filter(|variable| values[*variable] > 0.0).collect();
        if above.len() > MAX_EXACT {
            return None;
        }
        // Each solved row has 1 at its first variable, which the others do not have; at the end is the bound.
        let mut solved: Vec<(usize, Vec<BigRational>)> = Vec::new();
        for (row, bound) in &self.rows {
            let part = |(variable, number): &(usize, f64)| number * values[*variable];
            let (sum, size) = row
                .iter()
                .map(part)
                .fold((0.0, bound.abs()), |(sum, size): (f64, f64), part| (sum + part, size.max(part.abs())));
            if size == 0.0 || (sum - bound).abs() > size * 1e-7 {
                continue;
            }
            let mut new = vec![BigRational::zero(); above.len() + 1];
            for (variable, number) in row {
                if let Ok(at) = above.binary_search(variable) {
                    new[at] += BigRational::from_float(*number)?;
                }
            }
            new[above.len()] = BigRational::from_float(*bound)?;
            for (first, row) in &solved {
                subtract(&mut new, row, *first);
            }
            let Some(first) = new[..above.len()].iter().position(|number| !number.is_zero()) else {
                // Rows that contradict each other are not all rows of equality.
                if new[above.len()].is_zero() { continue } else { return None }
            };
            let factor = new[first].recip();
            new.iter_mut().filter(|number| !number.is_zero()).for_each(|number| *number *= &factor);
            if new.iter().any(|number| number.denom().bits() > 8 * MAX_DENOMINATOR_BITS) {
                return None;
            }
            solved.iter_mut().for_each(|(_, row)| subtract(row, &new, first));
            solved.push((first, new));
        }
        if solved.len() < above.len() {
            return None;
        }
        let mut exact = vec![BigRational::zero(); values.len()];
        for (first, row) in solved {
            exact[above[first]] = row[above.len()].clone();
        }
        let divisor = exact.iter().fold(BigInt::one(), |divisor, number| divisor.lcm(number.denom()));
        let is_possible =
            divisor.bits() <= 8 * MAX_DENOMINATOR_BITS && !exact.iter().any(Signed::is_negative);
        let numbers = exact.iter().map(|number| number.numer() * (&divisor / number.denom())).collect();
        is_possible.then_some((numbers, divisor))
    }
}

/// Subtracts a row with 1 at this position, so that the other one has 0 there.
fn subtract(row: &mut [BigRational], other: &[BigRational], at: usize) {
    if row[at].is_zero() {
        return;
    }
    let factor = row[at].clone();
    for (number, other) in row.iter_mut().zip(other).filter(|(_, other)| !other.is_zero()) {
        *number -= &factor * other;
    }
}

/// Integers in the proportions of floats that are not negative, with the number that stands for 1.0. Each candidate is
/// another guess of the fractions that the solver approximates.
fn candidates(values: &[f64], vertex: Vertex) -> impl Iterator<Item = (Vec<BigInt>, BigInt)> {
    let largest = values.iter().copied().fold(0.0, f64::max);
    let values: Vec<f64> =
        values.iter().map(|value| if *value <= largest * MIN_RELATIVE { 0.0 } else { *value }).collect();
    let (by_common, of_vertex) = (values.clone(), values.clone());
    let common = [1_u32, 2, 3, 4, 6, 12, 60, 840].into_iter().filter_map(move |divisor| {
        let rounded = |value: &f64| {
            let number = value * f64::from(divisor);
            let close = (number - number.round()).abs() <= 1e-6 * number.abs().max(1.0);
            if close { BigInt::from_f64(number.round()) } else { None }
        };
        Some((by_common.iter().map(rounded).collect::<Option<Vec<_>>>()?, BigInt::from(divisor)))
    });
    let fractions = [1e-9, 1e-7, 1e-11].into_iter().filter_map(move |error| {
        let parts: Vec<(BigInt, BigInt)> =
            values.iter().map(|value| fraction(*value, error)).collect::<Option<_>>()?;
        let mut divisor = BigInt::one();
        for (_, below) in &parts {
            divisor = divisor.lcm(below);
            if divisor.bits() > MAX_DENOMINATOR_BITS {
                return None;
            }
        }
        Some((parts.iter().map(|(above, below)| above * (&divisor / below)).collect(), divisor))
    });
    let exact = std::iter::once_with(move || vertex.exact(&of_vertex)).flatten();
    common.chain(exact).chain(fractions)
}

/// The simplest fraction within a relative error of a float that is not negative, by its continued fraction.
fn fraction(value: f64, error: f64) -> Option<(BigInt, BigInt)> {
    let (mut before, mut now) = ((BigInt::zero(), BigInt::one()), (BigInt::one(), BigInt::zero()));
    let mut rest = value;
    for _ in 0..40 {
        let whole = BigInt::from_f64(rest.floor())?;
        let next = (&whole * &now.0 + &before.0, &whole * &now.1 + &before.1);
        before = std::mem::replace(&mut now, next);
        let found = now.0.to_f64()? / now.1.to_f64()?;
        if (found - value).abs() <= error * value.max(1.0) {
            return Some(now);
        }
        rest = 1.0 / (rest - rest.floor());
        if !rest.is_finite() {
            return Some(now);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    /// Inputs and outputs of a transition: places with weights.
    type Arcs<'a> = (&'a [(u32, u64)], &'a [(u32, u64)]);

    /// A net from the initial tokens and the transitions.
    fn structure(initial: &[u64], transitions: &[Arcs]) -> Structure {
        let effect = |(inputs, outputs): &Arcs| {
            let less = inputs.iter().map(|(place, weight)| (*place, -i128::from(*weight)));
            let more = outputs.iter().map(|(place, weight)| (*place, i128::from(*weight)));
            Linear::new(less.chain(more), 0).terms
        };
        Structure {
            initial: initial.to_vec(),
            inputs: transitions.iter().map(|(inputs, _)| inputs.to_vec()).collect(),
            outputs: transitions
                .iter()
                .map(|(_, outputs)| outputs.iter().map(|output| output.0).collect())
                .collect(),
            effects: transitions.iter().map(effect).collect(),
        }
    }

    #[test]
    fn the_bound_of_a_place_follows_from_an_invariant() {
        // 3 tokens of place 0 become 2 of place 1 and back; 2*m0 + 3*m1 is invariant.
        let net = structure(&[10, 0], &[(&[(0, 3)], &[(1, 2)]), (&[(1, 2)], &[(0, 3)])]);
        let bound = net.upper_bound(&Linear::new([(1, 1)], 0), soon()).unwrap();
        assert_eq!(bound.bound, 6.into());
        let both = net.upper_bound(&Linear::new([(0, 1), (1, 1)], 0), soon()).unwrap();
        assert_eq!(both.bound, 10.into());
        let grows = structure(&[1], &[(&[(0, 1)], &[(0, 2)])]);
        assert_eq!(grows.upper_bound(&Linear::new([(0, 1)], 0), soon()), None);
    }

    #[test]
    fn conditions_that_contradict_the_state_equation_are_refuted() {
        let net = structure(&[4_000_000_000, 0], &[(&[(0, 7)], &[(1, 3)]), (&[(1, 3)], &[(0, 7)])]);
        let at_least = |place, bound| Linear::new([(place, 1)], bound);
        let most = 4_000_000_000_i128 * 3 / 7;
        assert!(net.refute(&[at_least(1, most + most / 1000)], soon()).is_some());
        assert_eq!(net.refute(&[at_least(1, most)], soon()), None);
        assert!(net.refute(&[at_least(0, 3_900_000_000), at_least(1, 43_000_000)], soon()).is_some());
        assert_eq!(net.refute(&[at_least(0, 1)], soon()), None);
        assert!(net.refute(&[Linear::new([], 1)], soon()).is_some());
    }

    #[test]
    fn conditions_that_are_changed_by_too_many_transitions_are_left_out() {
        let transition: Arcs = (&[(0, 1)], &[(1, 1)]);
        let net = structure(&[1, 0], &vec![transition; 3000]);
        let more = |bound| Linear::new([(1, 1)], bound);
        let least = |count: i128, bound: i128| (0..count).map(|less| more(bound - less)).collect::<Vec<_>>();
        assert!(net.refute(&least(10, 2), soon()).is_some());
        assert!(net.refute(&vec![more(2); 3000], soon()).is_some());
        assert_eq!(net.refute(&least(3000, 2), soon()), None);
        assert!(net.solution(&least(10, 1), soon()).is_some());
        assert!(net.solution(&vec![more(1); 3000], soon()).is_some());
        assert!(net.solution(&least(3000, 1), soon()).is_none());
    }

    #[test]
    fn a_bound_with_a_large_denominator_is_exact() {
        // In each step 1000 tokens become 999, 998, ... of the next place; all together have no small denominator.
        let inputs: Vec<_> = (0..12).map(|place| [(place, 1000 - u64::from(place))]).collect();
        let outputs: Vec<_> = (0..12).map(|place| [(place + 1, 1009)]).collect();
        let transitions: Vec<Arcs> =
            inputs.iter().zip(&outputs).map(|(input, output)| (&input[..], &output[..])).collect();
        let mut initial = vec![0; 13];
        initial[0] = 1_000_000_000_000;
        let net = structure(&initial, &transitions);
        let bound = net.upper_bound(&Linear::new([(12, 1)], 0), soon()).unwrap();
        let exact = (0..12_u32)
            .fold(BigRational::from_integer(1_000_000_000_000_u64.into()), |bound, place| {
                bound * BigRational::new(1009.into(), (1000 - place).into())
            });
        assert_eq!(bound.bound, exact.floor().to_integer());
    }

    #[test]
    fn fractions_are_found_from_floats() {
        for (above, below) in [(0, 1), (1, 3), (355, 113), (4_000_000_000_i64, 7), (1, 7000)] {
            let found = fraction(above as f64 / f64::from(below), 1e-12).unwrap();
            assert_eq!(found, (above.into(), below.into()));
        }
    }
}
