//! Points of values, blocks and examinations (E-4.1, E-4.2).

use crate::edition::Edition;
use hashbrown::HashMap;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Zero;
use std::ops::AddAssign;

/// How one given value was judged, as the letters of `Cell::verdicts`.
pub(super) const RIGHT: char = '+';
pub(super) const WRONG: char = '-';
/// Given, but the trusted value is unknown: 0 points for everybody.
pub(super) const UNJUDGED: char = '?';
pub(super) const NOT_COMPUTED: char = '.';

/// Right and wrong values counted in blocks, and how often a run was the first of its block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Counts {
    pub right: u64,
    pub wrong: u64,
    /// Complete runs with the least CPU time, and with the least memory, where the edition has bonuses for them.
    pub fastest: u64,
    pub leanest: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, more: Self) {
        self.right += more.right;
        self.wrong += more.wrong;
        self.fastest += more.fastest;
        self.leanest += more.leanest;
    }
}

/// Points before weights: right ones give `points_per_examination / values`, wrong ones cost `penalty` times that;
/// bonuses on top.
fn raw(edition: &Edition, examination: usize, counts: Counts) -> BigRational {
    let share = &edition.judging.points_per_examination
        / BigRational::from_integer(edition.examinations[examination].values.into());
    let right = BigRational::from_integer(counts.right.into());
    let wrong = BigRational::from_integer(counts.wrong.into());
    let bonuses = &edition.judging.bonuses;
    let bonus = |points: &BigRational, times: u64| points * BigRational::from_integer(times.into());
    share * (right - &edition.judging.penalty * wrong)
        + bonus(&bonuses.time, counts.fastest)
        + bonus(&bonuses.memory, counts.leanest)
}

/// The points of blocks, each computed once: a contest has few weights and few counts.
pub(super) struct BlockPoints<'e> {
    edition: &'e Edition,
    weights: &'e [BigRational],
    known: HashMap<(usize, u32, Counts), BigRational>,
}

impl<'e> BlockPoints<'e> {
    /// `weights` by weight class.
    pub fn new(edition: &'e Edition, weights: &'e [BigRational]) -> Self {
        Self { edition, weights, known: HashMap::new() }
    }

    /// Weighted points of one entry in one block.
    pub fn of(&mut self, examination: usize, class: u32, counts: Counts) -> BigRational {
        if counts == Counts::default() {
            return BigRational::zero();
        }
        let Self { edition, weights, known } = self;
        let points = known
            .entry((examination, class, counts))
            .or_insert_with(|| raw(edition, examination, counts) * &weights[class as usize]);
        points.clone()
    }
}

/// What an entry got in one examination over all instances.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// It has a run that is more than "did not compete".
    pub took_part: bool,
    pub unjudged: u64,
    /// Right values that no other tool gave.
    pub alone: u64,
    /// By weight class. Counting integers per class keeps fractions out of the loop over values.
    by_class: Vec<Counts>,
}

impl Tally {
    pub fn add(&mut self, class: u32, counts: Counts, unjudged: u64) {
        let class = class as usize;
        if self.by_class.len() <= class {
            self.by_class.resize(class + 1, Counts::default());
        }
        self.by_class[class] += counts;
        self.unjudged += unjudged;
    }

    /// Adds what was counted over other blocks.
    pub fn absorb(&mut self, other: &Tally) {
        self.took_part |= other.took_part;
        self.unjudged += other.unjudged;
        self.alone += other.alone;
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
        weights: &[BigRational],
    ) -> (BigRational, BigRational) {
        let zero = BigRational::new_raw(BigInt::zero(), 1.into());
        let weighted = self
            .by_class
            .iter()
            .zip(weights)
            .filter(|(counts, _)| **counts != Counts::default())
            .fold(zero, |sum, (counts, weight)| sum + raw(edition, examination, *counts) * weight);
        (raw(edition, examination, self.counts()), weighted)
    }
}
