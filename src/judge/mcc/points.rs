//! Points of values, blocks and examinations (E-4.1, E-4.2).

use super::awards::Unmeasured;
use hashbrown::HashMap;
use mcc_edition::{Edition, Judging};
use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Zero};
use std::ops::AddAssign;

/// Numbers of right and wrong values, and of bonuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Counts {
    pub right: u64,
    pub wrong: u64,
    /// Number of complete runs with the least CPU time of their block, where the edition has bonuses.
    pub least_cpu_count: u64,
    /// Number of complete runs with the least memory of their block, where the edition has bonuses.
    pub least_memory_count: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, more: Self) {
        self.right += more.right;
        self.wrong += more.wrong;
        self.least_cpu_count += more.least_cpu_count;
        self.least_memory_count += more.least_memory_count;
    }
}

/// Points of one value before weights (E-4.1).
pub(crate) struct ValuePoints {
    pub right: BigRational,
    /// 0 or less.
    pub wrong: BigRational,
}

impl ValuePoints {
    /// Returns the points of a value in an examination with `values` positions. The positions share the points of the
    /// examination equally; a wrong value loses `penalty` shares.
    pub fn new(judging: &Judging, values: usize) -> Self {
        // A total examination (0) has no points.
        let right = &judging.points_per_examination / BigRational::from_integer(values.max(1).into());
        let wrong = -&right * &judging.penalty;
        Self { right, wrong }
    }
}

/// Returns the points, with bonuses. `sum` returns a count of `Counts`, summed over runs with or without their weights.
fn points(
    edition: &Edition,
    examination: usize,
    sum: impl Fn(fn(&Counts) -> u64) -> BigRational,
) -> BigRational {
    let value = ValuePoints::new(&edition.judging, edition.examinations[examination].values);
    let bonuses = &edition.judging.bonuses;
    value.right * sum(|counts| counts.right)
        + value.wrong * sum(|counts| counts.wrong)
        + &bonuses.time * sum(|counts| counts.least_cpu_count)
        + &bonuses.memory * sum(|counts| counts.least_memory_count)
}

/// Returns the points before weights.
fn raw(edition: &Edition, examination: usize, counts: Counts) -> BigRational {
    points(edition, examination, |count| BigRational::from_integer(count(&counts).into()))
}

/// Weights by weight class, with one denominator, so that a sum of weights is a sum of integers.
pub(crate) struct Weights {
    numerators: Vec<BigInt>,
    denominator: BigInt,
}

impl Weights {
    pub fn new(weights: &[BigRational]) -> Self {
        let denominator = weights.iter().fold(BigInt::one(), |all, weight| all.lcm(weight.denom()));
        let numerator = |weight: &BigRational| weight.numer() * (&denominator / weight.denom());
        Self { numerators: weights.iter().map(numerator).collect(), denominator }
    }

    /// Returns the sum of the weights of counted values. A count is given with its weight class.
    pub fn sum(&self, counts: impl Iterator<Item = (usize, u64)>) -> BigRational {
        let counts = counts.filter(|(_, count)| *count > 0);
        let sum: BigInt = counts.map(|(class, count)| &self.numerators[class] * count).sum();
        BigRational::new(sum, self.denominator.clone())
    }
}

/// A cache of weighted points: a contest has few distinct weights and counts.
pub(super) struct BlockPoints<'e> {
    edition: &'e Edition,
    weights: &'e [BigRational],
    unweighted: HashMap<(usize, Counts), BigRational>,
    known: HashMap<(usize, u32, Counts), BigRational>,
}

impl<'e> BlockPoints<'e> {
    /// Returns an empty cache. `weights` are by weight class.
    pub fn new(edition: &'e Edition, weights: &'e [BigRational]) -> Self {
        Self { edition, weights, unweighted: HashMap::new(), known: HashMap::new() }
    }

    /// Returns the weighted points of one entry in one block.
    pub fn weighted(&mut self, examination: usize, class: u32, counts: Counts) -> BigRational {
        if counts == Counts::default() {
            return BigRational::zero();
        }
        let Self { edition, weights, unweighted, known } = self;
        let points = known.entry((examination, class, counts)).or_insert_with(|| {
            let points = unweighted.entry((examination, counts));
            &*points.or_insert_with(|| raw(edition, examination, counts)) * &weights[class as usize]
        });
        points.clone()
    }
}

/// The counts of an entry in one examination over all instances.
#[derive(Clone, Debug, Default)]
pub(super) struct ExaminationTally {
    /// Whether it has a run other than "did not compete".
    pub took_part: bool,
    pub unjudged: u64,
    /// Right values that no other tool gave.
    pub unique: u64,
    /// Runs whose cost cannot be compared, on instances whose costs can be.
    pub unmeasured: Unmeasured,
    /// By weight class, so that no fraction is computed per block.
    by_class: Vec<Counts>,
}

impl ExaminationTally {
    /// Adds the counts of one block.
    pub fn add(&mut self, class: u32, counts: Counts, unjudged: u64) {
        let class = class as usize;
        if self.by_class.len() <= class {
            self.by_class.resize(class + 1, Counts::default());
        }
        self.by_class[class] += counts;
        self.unjudged += unjudged;
    }

    /// Adds the counts of other blocks.
    pub fn merge(&mut self, other: &ExaminationTally) {
        self.took_part |= other.took_part;
        self.unjudged += other.unjudged;
        self.unique += other.unique;
        self.unmeasured.cpu += other.unmeasured.cpu;
        self.unmeasured.memory += other.unmeasured.memory;
        for (class, counts) in other.by_class.iter().enumerate() {
            self.add(class as u32, *counts, 0);
        }
    }

    /// Returns the counts over all weight classes.
    pub fn counts(&self) -> Counts {
        let mut sum = Counts::default();
        self.by_class.iter().for_each(|counts| sum += *counts);
        sum
    }

    /// Returns the points before weights and with them.
    pub fn points(
        &self,
        edition: &Edition,
        examination: usize,
        weights: &Weights,
    ) -> (BigRational, BigRational) {
        let weighted =
            points(edition, examination, |count| weights.sum(self.by_class.iter().map(count).enumerate()));
        (raw(edition, examination, self.counts()), weighted)
    }
}
