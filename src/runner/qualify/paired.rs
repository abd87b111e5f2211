//! The statistics of a comparison: a paired t test on the logarithms of ratios, with its interval and its power.
//!
//! Each pair has one value of A and one of B, measured shortly after each other on the same cores, so that a slower host
//! slows both. Times are compared as ratios, because a slower host multiplies them. The logarithms of the ratios are tested
//! with Student's t test, the method of Georges, Buytaert and Eeckhout, "Statistically Rigorous Java Performance Evaluation"
//! (OOPSLA 2007), for few repetitions. Wilcoxon's signed-rank test, the alternative, finds nothing with fewer than seven
//! pairs, and on the recorded times it finds no smaller slowdowns with ten.
//! Without a difference the ratios of pairs are symmetric around 1, also if single runs are much slower than the others;
//! for symmetric values with such outliers the t test has fewer false alarms than its level, not more (Benjamini, "Is the
//! t test really conservative when the parent distribution is long-tailed?", JASA 78, 1983). The trials in
//! `tests/models/compare_runs.rs` check it on recorded times.
//!
//! Instructions do not depend on the host, so their runs are independent. The t test of two samples (Fisher, "Applications of
//! 'Student's' distribution", Metron 5, 1925) has twice the degrees of freedom, so it finds smaller changes with few pairs.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// The share of comparisons of equal images in which no difference is found, neither of CPU time nor of wall time nor of
/// memory. The level of the intervals of the three metrics together.
pub const CONFIDENCE: f64 = 0.95;

/// The probability of a false alarm of one metric: Bonferroni's correction for three metrics. Instructions, which a
/// comparison has under TCG only, have a level of their own.
pub const LEVEL: f64 = (1.0 - CONFIDENCE) / 3.0;

/// The probability of a false alarm of instructions. It is small, because a difference of instructions is stated as a fact
/// about the tool.
pub const INSTRUCTIONS_LEVEL: f64 = 0.0001;

/// The share of comparisons in which the smallest detectable difference is found.
pub const POWER: f64 = 0.9;

/// The least change of instructions that is reported, as a share: 0.2 %. A smaller one matters to no contest, and the counts
/// are so exact that almost every rebuilt program has one.
pub const LEAST_CHANGE: f64 = 0.002;

/// The comparison of a metric of B with that of A.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PairedTest {
    /// Number of pairs.
    pub pairs: usize,
    /// The geometric mean of B/A, less 1: 0.05 if B needs 5 % more.
    pub change: f64,
    /// The interval of `change`; those of times and memory together have the level `CONFIDENCE`, that of instructions the
    /// level 1 - `INSTRUCTIONS_LEVEL`.
    pub interval: [f64; 2],
    /// The probability of such a change, or a larger one in either direction, between equal images.
    pub p: f64,
    /// The standard deviation of the logarithms of B/A: about the relative spread of a single ratio.
    pub spread: f64,
    /// The smallest increase that is found with the probability `POWER`, with this number of pairs and this spread.
    pub detectable: f64,
}

impl PairedTest {
    /// Tests the logarithms of B/A. `rounding`: the standard deviation that rounding alone gives them, because values are
    /// whole numbers; the spread is at least this. None: there are fewer than two, or a number is not finite.
    pub fn from_logarithms(logarithms: &[f64], rounding: f64) -> Option<Self> {
        let (mean, squares) = mean_and_squares(logarithms);
        let degrees_of_freedom = logarithms.len() as f64 - 1.0;
        let spread = (squares / degrees_of_freedom).sqrt().max(rounding);
        Self::new(logarithms.len(), mean, spread, degrees_of_freedom, LEVEL)
    }

    fn new(pairs: usize, mean: f64, spread: f64, degrees_of_freedom: f64, level: f64) -> Option<Self> {
        let distribution = StudentsT::new(0.0, 1.0, degrees_of_freedom).ok().filter(|_| pairs > 1)?;
        let error = spread / (pairs as f64).sqrt();
        let two_sided = distribution.inverse_cdf(1.0 - level / 2.0);
        let p = match (mean, error) {
            (0.0, _) => 1.0,
            (_, 0.0) => 0.0,
            _ => 2.0 * distribution.cdf(-(mean / error).abs()),
        };
        let test = Self {
            pairs,
            change: mean.exp_m1(),
            interval: [-two_sided, two_sided].map(|t| (mean + t * error).exp_m1()),
            p,
            spread,
            detectable: (noncentrality(two_sided, degrees_of_freedom) * error).exp_m1(),
        };
        let finite = [test.change, test.p, test.spread].iter().all(|value| value.is_finite());
        finite.then_some(test)
    }

    /// The least change of instructions that is reported: `LEAST_CHANGE`, or the spread if it is larger.
    pub fn least_change(&self) -> f64 {
        self.spread.max(LEAST_CHANGE)
    }

    /// Whether the instructions of A and B differ: the test finds it, and the change is above the least one.
    pub fn instructions_differ(&self, runs: usize) -> bool {
        self.p * (runs as f64) < INSTRUCTIONS_LEVEL && self.change.abs() > self.least_change()
    }

    /// Whether the values of A and B differ. `runs`: the number of runs that are tested alike (Bonferroni's correction); 1
    /// for the test of all runs together.
    pub fn differs(&self, runs: usize) -> bool {
        self.p * (runs as f64) < LEVEL
    }
}

/// The noncentrality with which Student's t is above `limit` with the probability `POWER`, by the approximation 26.7.10 of
/// Abramowitz and Stegun, "Handbook of Mathematical Functions".
fn noncentrality(limit: f64, degrees_of_freedom: f64) -> f64 {
    let deviation = (1.0 + limit.powi(2) / (2.0 * degrees_of_freedom)).sqrt();
    limit * (1.0 - 1.0 / (4.0 * degrees_of_freedom)) + Normal::standard().inverse_cdf(POWER) * deviation
}

/// The mean of some numbers, and the sum of the squares of their deviations.
fn mean_and_squares(numbers: &[f64]) -> (f64, f64) {
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    (mean, numbers.iter().map(|number| (number - mean).powi(2)).sum())
}

/// The logarithms of the values of some pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct Logarithms {
    a: Vec<f64>,
    b: Vec<f64>,
    /// The standard deviation that rounding gives to the logarithm of B/A.
    rounding: f64,
}

impl Logarithms {
    /// Takes the logarithms of (A, B). A whole number is rounded by at most one half, evenly distributed, which has the
    /// variance 1/12. A value of 0 counts as 1.
    pub fn new(pairs: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let (mut logarithms, mut variance) = (Self { a: vec![], b: vec![], rounding: 0.0 }, 0.0);
        for (a, b) in pairs {
            let [a, b] = [a, b].map(|value| value.max(1) as f64);
            logarithms.a.push(a.ln());
            logarithms.b.push(b.ln());
            variance += (a.powi(-2) + b.powi(-2)) / 12.0;
        }
        logarithms.rounding = (variance / logarithms.a.len().max(1) as f64).sqrt();
        logarithms
    }

    /// Returns the geometric means of several runs, for each repetition, so that each run has the same weight. None: there is
    /// no run, or one has not `repetitions` pairs.
    pub fn over_runs(runs: &[Self], repetitions: usize) -> Option<Self> {
        let count = runs.len() as f64;
        let complete = !runs.is_empty() && runs.iter().all(|run| run.a.len() == repetitions);
        let means = |side: fn(&Self) -> &Vec<f64>| {
            let mean = |repetition: usize| runs.iter().map(|run| side(run)[repetition]).sum::<f64>() / count;
            (0..repetitions).map(mean).collect()
        };
        let variance: f64 = runs.iter().map(|run| run.rounding.powi(2)).sum();
        complete.then(|| Self {
            a: means(|run| &run.a),
            b: means(|run| &run.b),
            rounding: variance.sqrt() / count,
        })
    }

    /// Tests times or memory: each pair was measured under the same conditions.
    pub fn test(&self) -> Option<PairedTest> {
        let ratios: Vec<f64> = self.a.iter().zip(&self.b).map(|(a, b)| b - a).collect();
        PairedTest::from_logarithms(&ratios, self.rounding)
    }

    /// Tests instructions: all runs are independent.
    pub fn test_instructions(&self) -> Option<PairedTest> {
        let [(a, squares_a), (b, squares_b)] = [&self.a, &self.b].map(|side| mean_and_squares(side));
        let degrees_of_freedom = 2.0 * (self.a.len() as f64 - 1.0);
        // The variance of B/A is twice that of a run.
        let spread = (2.0 * (squares_a + squares_b) / degrees_of_freedom).sqrt().max(self.rounding);
        PairedTest::new(self.a.len(), b - a, spread, degrees_of_freedom, INSTRUCTIONS_LEVEL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_agrees_with_a_known_example() {
        // Student's data on sleep (Biometrika 6, 1908): t = 4.0621, p = 0.002833.
        let more_sleep = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        let test = PairedTest::from_logarithms(&more_sleep, 0.0).unwrap();
        let near =
            |found: f64, expected: f64| assert!((found - expected).abs() < 1e-4, "{found}, {expected}");
        near(test.p, 0.002_833);
        near(test.change.ln_1p(), 1.58);
        near(test.spread, 1.229_995);
        assert!(test.differs(5) && !test.differs(6), "0.05 / 3 / 0.002833 = 5.9");
        // A difference at an end of the interval has just the probability of the level.
        for end in test.interval {
            let shifted: Vec<f64> = more_sleep.iter().map(|value| value - end.ln_1p()).collect();
            near(PairedTest::from_logarithms(&shifted, 0.0).unwrap().p, LEVEL);
        }
    }

    /// Student's data as two samples: t = 1.8608, p = 0.07919 (with 18 degrees of freedom).
    #[test]
    fn independent_samples_agree_with_a_known_example() {
        let samples = [
            [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
            [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
        ];
        let [a, b] = samples.map(Vec::from);
        let test = Logarithms { a, b, rounding: 0.0 }.test_instructions().unwrap();
        assert!((test.p - 0.079_19).abs() < 1e-4, "{test:?}");
        assert!((test.change.ln_1p() - 1.58).abs() < 1e-9, "{test:?}");
    }

    #[test]
    fn one_percent_more_instructions_is_a_difference_and_less_than_the_least_is_none() {
        let test = |pairs: [(u64, u64); 3]| Logarithms::new(pairs).test_instructions().unwrap();
        let a = [884_265_176, 884_269_089, 884_267_000];
        let more = |share: f64| test(a.map(|a| (a, (a as f64 * (1.0 + share)) as u64 + a % 1000)));
        assert!(more(0.01).instructions_differ(1) && more(-0.01).instructions_differ(1));
        let little = more(0.001);
        assert!(little.p < INSTRUCTIONS_LEVEL && !little.instructions_differ(1), "{little:?}");
        let random = test([(1000, 1030), (1010, 1025), (990, 1025)]);
        assert!(random.least_change() > LEAST_CHANGE && !random.instructions_differ(1), "{random:?}");
        assert!(!test([(7, 7); 3]).instructions_differ(1));
    }

    #[test]
    fn equal_or_too_few_values_have_no_difference() {
        let equal = Logarithms::new([(500, 500); 3]);
        for test in [equal.test().unwrap(), equal.test_instructions().unwrap()] {
            assert_eq!((test.change, test.p), (0.0, 1.0));
            assert!(test.detectable > 0.001, "whole milliseconds cannot show less: {test:?}");
        }
        assert_eq!(PairedTest::from_logarithms(&[0.1], 0.0), None);
        assert_eq!(PairedTest::from_logarithms(&[], 0.0), None);
        let one = Logarithms::new([(500, 501)]);
        assert_eq!((one.test(), one.test_instructions()), (None, None));
        assert_eq!(Logarithms::over_runs(&[], 5), None);
        let incomplete = [4, 5].map(|pairs| Logarithms::new(vec![(500, 500); pairs]));
        assert_eq!(Logarithms::over_runs(&incomplete, 5), None, "a pair is missing");
    }

    #[test]
    fn values_of_zero_and_of_any_size_are_finite() {
        for pairs in [[(0, 0), (0, 1)], [(0, u64::MAX), (u64::MAX, 0)], [(u64::MAX, 1), (u64::MAX, 1)]] {
            let logarithms = Logarithms::new(pairs);
            for test in [logarithms.test().unwrap(), logarithms.test_instructions().unwrap()] {
                assert!(test.change.is_finite() && (0.0..=1.0).contains(&test.p), "{test:?}");
            }
        }
    }

    #[test]
    fn each_run_has_the_same_weight() {
        let runs = [[(100, 110); 2], [(90_000, 90_000); 2]].map(Logarithms::new);
        let all = Logarithms::over_runs(&runs, 2).unwrap();
        for test in [all.test().unwrap(), all.test_instructions().unwrap()] {
            assert!((test.change - (1.1_f64.sqrt() - 1.0)).abs() < 1e-12, "{test:?}");
        }
    }
}
