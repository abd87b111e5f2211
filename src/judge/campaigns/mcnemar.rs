//! The exact test of paired counts, and its power.
//!
//! Of pairs of equal outcomes nothing is learned. Without a difference each of the n pairs with different outcomes is lost or
//! gained with the probability 1/2, so their numbers are distributed binomially: McNemar, "Note on the sampling error of the
//! difference between correlated proportions or percentages" (Psychometrika 12, 1947), in the exact form of Dixon and Mood, "The
//! statistical sign test" (JASA 41, 1946). The exact form has at most as many false alarms as its level (Fagerland, Lydersen and
//! Laake, "The McNemar test for binary matched-pairs data", BMC Medical Research Methodology 13:91, 2013). The probability of
//! counts is computed with integers, but that of large ones, for which this takes time quadratic in the counts, in floating
//! point and rounded up, so that nothing more is significant. Probabilities of detection are sums over the same distribution in
//! floating point. There are additions, multiplications and divisions only, so that each host computes the same.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, ToPrimitive, Zero};

/// The level of the test is 1 divided by this: 5 %.
pub const LEVEL_DIVISOR: u64 = 20;

/// The probability of detection of `detectable`.
pub const POWER: f64 = 0.9;

/// Probabilities below this part of the largest one are not summed.
const NEGLIGIBLE: f64 = 1e-20;

/// The largest product of both numbers for which a probability is computed with integers.
const MAX_EXACT: u64 = 10_000 * 10_000;

/// More than the relative error of sums in floating point, up to 10^11 pairs.
const ROUNDING: f64 = 1e-9;

/// The two-sided probability, without a difference, of numbers at least as uneven as these. The fraction is not reduced. Of
/// large numbers it is up to 10^-9 of itself and 10^-19 higher.
pub fn probability(lost: u64, gained: u64) -> BigRational {
    let (n, few) = (lost + gained, lost.min(gained));
    if lost.saturating_mul(gained) > MAX_EXACT {
        let (first, all) = uneven(n);
        let known = few.checked_sub(first).and_then(|at| all.get(at as usize));
        let p = known.map_or(2.0 * NEGLIGIBLE, |p| p.min(1.0));
        return BigRational::from_float(p).unwrap_or_else(BigRational::one);
    }
    let (mut sum, mut choose) = (BigInt::zero(), BigInt::one());
    for k in 0..=few {
        sum += &choose;
        choose = choose * (n - k) / (k + 1);
    }
    let all = BigInt::one() << n;
    BigRational::new_raw((sum * 2u8).min(all.clone()), all)
}

/// Whether a probability is significant at 5 % as one of `tests` tests (Bonferroni's correction).
pub fn is_significant(probability: &BigRational, tests: u64) -> bool {
    probability.numer() * LEVEL_DIVISOR * tests <= *probability.denom()
}

/// The two-sided probabilities of n pairs by the smaller number, rounded up: the first number and the probabilities from there
/// on. Those below are negligible, those above the half mean nothing.
fn uneven(n: u64) -> (u64, Vec<f64>) {
    let (first, mut weights) = binomial(n, 0.5);
    // The ends that `binomial` leaves out are less than this together.
    let mut sum = NEGLIGIBLE;
    for weight in &mut weights {
        sum += *weight;
        *weight = 2.0 * sum * (1.0 + ROUNDING);
    }
    (first, weights)
}

/// The largest number on one side of n pairs that is significant; None: n pairs are too few.
fn critical(n: u64) -> Option<u64> {
    let (first, all) = uneven(n);
    (first + all.partition_point(|p| p * LEVEL_DIVISOR as f64 <= 1.0) as u64).checked_sub(1)
}

/// The smallest number on one side that is significant with `other` on the other side; None: there are too few pairs.
pub fn needed(pairs: u64, other: u64) -> Option<u64> {
    smallest(pairs, other, |number| is_significant(&probability(other, number), 1))
}

/// The smallest number above `other` for which a condition holds that holds for all larger ones, if both are at most `pairs`.
fn smallest(pairs: u64, other: u64, holds: impl Fn(u64) -> bool) -> Option<u64> {
    let (mut low, mut high) = (other, pairs.saturating_sub(other));
    if high <= low || !holds(high) {
        return None;
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle }
    }
    Some(high)
}

/// The probability that a change is found, with the sign that it has: a pair is lost with one and gained with the other
/// probability. The result is that for the greater of them.
pub fn power(pairs: u64, lost: f64, gained: f64) -> f64 {
    let differing = lost + gained;
    if differing <= 0.0 {
        return 0.0;
    }
    let (first, weights) = binomial(pairs, differing.min(1.0));
    let found = (first..).zip(weights).map(|(n, weight)| {
        let Some(few) = critical(n) else { return 0.0 };
        let (first, of_side) = binomial(n, lost.min(gained) / differing);
        weight * of_side.iter().take((few + 1).saturating_sub(first) as usize).sum::<f64>()
    });
    found.sum()
}

/// The smallest number of gained pairs, of `pairs` in all, that is found with the probability `POWER`, if `other` pairs are lost
/// at the same time; None: not even if all other pairs are gained.
pub fn detectable(pairs: u64, other: u64) -> Option<u64> {
    let share = |number: u64| number as f64 / pairs.max(1) as f64;
    smallest(pairs, other, |number| power(pairs, share(other), share(number)) >= POWER)
}

/// The binomial distribution without its negligible ends: the first number and the probabilities from there on.
fn binomial(n: u64, p: f64) -> (u64, Vec<f64>) {
    let mode = (((n + 1) as f64 * p) as u64).min(n);
    let (mut first, mut down) = (mode, vec![]);
    let mut weight = 1.0;
    while first > 0 {
        weight *= first as f64 * (1.0 - p) / ((n - first + 1) as f64 * p);
        if weight < NEGLIGIBLE {
            break;
        }
        first -= 1;
        down.push(weight);
    }
    let mut weights: Vec<f64> = down.into_iter().rev().collect();
    weights.push(1.0);
    weight = 1.0;
    for k in mode..n {
        weight *= (n - k) as f64 * p / ((k + 1) as f64 * (1.0 - p));
        if weight < NEGLIGIBLE {
            break;
        }
        weights.push(weight);
    }
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
    (first, weights)
}

/// A probability as a number for files and texts.
pub fn decimal(probability: &BigRational) -> f64 {
    probability.to_f64().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All sequences of n outcomes, of which `lost` are lost: by brute force.
    fn counted(lost: u32, gained: u32) -> BigRational {
        let n = lost + gained;
        let uneven = |few: u32| few.min(n - few) <= lost.min(gained);
        let count = (0..1_u64 << n).filter(|outcomes| uneven(outcomes.count_ones())).count();
        BigRational::new(count.into(), BigInt::one() << n)
    }

    /// The power by all triples of lost, gained and equal pairs, with rates in percent.
    fn enumerated(pairs: u64, lost: u64, gained: u64) -> BigRational {
        let choose = |n: u64, k: u64| (0..k).fold(BigInt::one(), |product, at| product * (n - at) / (at + 1));
        let mut sum = BigInt::zero();
        for b in 0..=pairs {
            for c in 0..=pairs - b {
                let more = if gained >= lost { c > b } else { b > c };
                if more && is_significant(&probability(b, c), 1) {
                    let equal = pairs - b - c;
                    let ways = choose(pairs, b) * choose(pairs - b, c);
                    let rates = [(lost, b), (gained, c), (100 - lost - gained, equal)];
                    sum += rates.iter().fold(ways, |product, (rate, times)| {
                        product * BigInt::from(*rate).pow(*times as u32)
                    });
                }
            }
        }
        BigRational::new(sum, BigInt::from(100).pow(pairs as u32))
    }

    #[test]
    fn the_exact_test_has_the_values_of_tables() {
        // Fagerland, Lydersen and Laake (2013), table 2: 1 and 7 pairs, exact conditional p = 0.070. Six pairs on one side are
        // the fewest that are significant.
        assert_eq!(probability(1, 7), BigRational::new(9.into(), 128.into()));
        assert_eq!(
            (needed(100, 0), needed(100, 1), needed(5, 0), needed(6, 0)),
            (Some(6), Some(8), None, Some(6))
        );
        assert!(is_significant(&probability(0, 6), 1) && !is_significant(&probability(0, 6), 2));
        assert_eq!(probability(3, 3), BigRational::one());
        assert_eq!(probability(0, 0), BigRational::one());
    }

    #[test]
    fn numbers_at_the_ends_have_a_result() {
        assert_eq!(
            (power(0, 0.1, 0.1), power(10, 0.0, 0.0), detectable(0, 0), detectable(5, 0)),
            (0.0, 0.0, None, None)
        );
        assert!((power(10, 0.0, 1.0) - 1.0).abs() < 1e-12);
        assert_eq!(detectable(6, 0), Some(6));
        let found = detectable(20_000, 30).unwrap();
        assert!((30 + 20..30 + 60).contains(&found), "{found}");
        // A count whose fraction has 100,000 digits.
        assert!(decimal(&probability(1000, 100_000)) < 1e-300);
    }

    #[test]
    fn large_counts_have_the_same_results_without_integers_of_their_size() {
        // With integers: 8,000,000 products and divisions of 2 MB.
        assert_eq!(probability(8_000_000, 8_000_000), BigRational::one());
        assert!(!is_significant(&probability(7_996_080, 8_003_920), 1));
        assert!(is_significant(&probability(7_996_079, 8_003_921), 1));
        assert!(is_significant(&probability(100_000, 8_000_000), 1_000_000));
        assert_eq!((needed(16_000_000, 7_000_000), needed(3_000_000, 1_499_000)), (Some(7_007_337), None));
        for (few, many) in [(0, 6), (40, 60), (900, 1000), (4200, 4800)] {
            let (first, all) = uneven(few + many);
            let (rounded, exact) = (all[(few - first) as usize], decimal(&probability(few, many)));
            assert!((exact..exact * (1.0 + 1e-8) + 1e-18).contains(&rounded), "{few} {many}");
        }
        for n in (0..300).chain([9999]) {
            let is = |few: u64| few <= n / 2 && is_significant(&probability(few, n - few), 1);
            let few = critical(n);
            assert!(few.is_none_or(is) && !is(few.map_or(0, |few| few + 1)), "{n}");
        }
    }

    proptest! {
        #[test]
        fn the_exact_test_equals_counting_all_outcomes(lost in 0_u32..9, gained in 0_u32..9) {
            prop_assert_eq!(probability(lost.into(), gained.into()).reduced(), counted(lost, gained));
        }

        #[test]
        fn the_needed_number_is_the_smallest_significant_one(other in 0_u64..60) {
            let number = needed(10_000, other).unwrap();
            prop_assert!(is_significant(&probability(other, number), 1));
            prop_assert!(!is_significant(&probability(other, number - 1), 1));
        }

        #[test]
        fn the_power_equals_that_of_all_outcomes(pairs in 1_u64..24, lost in 0_u64..40, gained in 0_u64..60) {
            let expected = enumerated(pairs, lost, gained).to_f64().unwrap();
            let found = power(pairs, lost as f64 / 100.0, gained as f64 / 100.0);
            prop_assert!((found - expected).abs() < 1e-9, "{} {}", found, expected);
        }
    }
}
