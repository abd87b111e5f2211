//! Points of values, blocks and examinations (E-4.1, E-4.2).

use hashbrown::HashMap;
use mcc_edition::{Edition, Judging};
use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Zero};
use std::ops::AddAssign;

/// Right and wrong values counted in blocks, and how often a run was the first of its block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Counts {
    pub right: u64,
    pub wrong: u64,
    /// Complete runs with the least CPU time, and with the least memory, where the edition has bonuses for them.
    pub least_cpu_count: u64,
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
    /// Of an examination with `values` values: its points are shared equally, a wrong value costs `penalty` shares.
    pub fn new(judging: &Judging, values: usize) -> Self {
        let right = &judging.points_per_examination / BigRational::from_integer(values.into());
        let wrong = -&right * &judging.penalty;
        Self { right, wrong }
    }
}

/// Points of counts, or of sums of weights of as many, with the bonuses. `sum` says how many, or how much, of a sort
/// there is.
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

/// Points before weights.
fn raw(edition: &Edition, examination: usize, counts: Counts) -> BigRational {
    points(edition, examination, |of| BigRational::from_integer(of(&counts).into()))
}

/// Weights by class, over one denominator: a sum of weights is a sum of integers, and one fraction.
pub(super) struct Weights {
    numerators: Vec<BigInt>,
    denominator: BigInt,
}

impl Weights {
    pub fn new(weights: &[BigRational]) -> Self {
        let denominator = weights.iter().fold(BigInt::one(), |all, weight| all.lcm(weight.denom()));
        let numerator = |weight: &BigRational| weight.numer() * (&denominator / weight.denom());
        Self { numerators: weights.iter().map(numerator).collect(), denominator }
    }
}

/// The points of blocks, each computed once: a contest has few weights and few counts.
pub(super) struct BlockPoints<'e> {
    edition: &'e Edition,
    weights: &'e [BigRational],
    unweighted: HashMap<(usize, Counts), BigRational>,
    known: HashMap<(usize, u32, Counts), BigRational>,
}

impl<'e> BlockPoints<'e> {
    /// `weights` by weight class.
    pub fn new(edition: &'e Edition, weights: &'e [BigRational]) -> Self {
        Self { edition, weights, unweighted: HashMap::new(), known: HashMap::new() }
    }

    /// Weighted points of one entry in one block.
    pub fn of(&mut self, examination: usize, class: u32, counts: Counts) -> BigRational {
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

/// What an entry got in one examination over all instances.
#[derive(Clone, Debug, Default)]
pub(super) struct ExaminationTally {
    /// It has a run that is more than "did not compete".
    pub took_part: bool,
    pub unjudged: u64,
    /// Right values that no other tool gave.
    pub unique: u64,
    /// By weight class. Counting integers per class keeps fractions out of the loop over values.
    by_class: Vec<Counts>,
}

impl ExaminationTally {
    pub fn add(&mut self, class: u32, counts: Counts, unjudged: u64) {
        let class = class as usize;
        if self.by_class.len() <= class {
            self.by_class.resize(class + 1, Counts::default());
        }
        self.by_class[class] += counts;
        self.unjudged += unjudged;
    }

    /// Adds what was counted over other blocks.
    pub fn merge(&mut self, other: &ExaminationTally) {
        self.took_part |= other.took_part;
        self.unjudged += other.unjudged;
        self.unique += other.unique;
        for (class, counts) in other.by_class.iter().enumerate() {
            self.add(class as u32, *counts, 0);
        }
    }

    pub fn counts(&self) -> Counts {
        let mut sum = Counts::default();
        self.by_class.iter().for_each(|counts| sum += *counts);
        sum
    }

    /// Before weights, and with them.
    pub fn points(
        &self,
        edition: &Edition,
        examination: usize,
        weights: &Weights,
    ) -> (BigRational, BigRational) {
        let weighted = points(edition, examination, |of| {
            let counted = self.by_class.iter().zip(&weights.numerators).map(|(counts, w)| (of(counts), w));
            let sum: BigInt = counted.filter(|(count, _)| *count > 0).map(|(count, w)| w * count).sum();
            BigRational::new(sum, weights.denominator.clone())
        });
        (raw(edition, examination, self.counts()), weighted)
    }
}
