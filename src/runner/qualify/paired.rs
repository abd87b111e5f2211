//! The statistics of a comparison: a paired t test on the logarithms of ratios, with its interval and its power.
//!
//! Each pair has one figure of A and one of B, measured shortly after each other on the same cores, so that a slower host
//! slows both. Times are compared as ratios, because a slower host multiplies them. The logarithms of the ratios are tested
//! with Student's t test, the method of Georges, Buytaert and Eeckhout, "Statistically Rigorous Java Performance Evaluation"
//! (OOPSLA 2007), for few repetitions. Wilcoxon's signed-rank test, the alternative, finds nothing with fewer than seven
//! pairs, and on the recorded times it finds no smaller slowdowns with ten.
//! Without a difference the ratios of pairs are symmetric around 1, also if single runs are much slower than the others;
//! for symmetric values with such outliers the t test has fewer false alarms than its level, not more (Benjamini, "Is the
//! t test really conservative when the parent distribution is long-tailed?", JASA 78, 1983). The trials in
//! `tests/models/compare_runs.rs` check it on recorded times.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// The share of comparisons of equal images in which no difference is found, neither of CPU time nor of wall time nor of
/// memory. The level of the intervals of the three figures together.
pub const CONFIDENCE: f64 = 0.95;

/// The probability of a false alarm of one figure: Bonferroni's correction for three figures. Instructions, which a
/// comparison has under TCG only, are tested beside them with the same level.
pub const LEVEL: f64 = (1.0 - CONFIDENCE) / 3.0;

/// The share of comparisons in which the smallest detectable difference is found.
pub const POWER: f64 = 0.9;

/// The least change of instructions that is reported, as a share: 0.2 %. A smaller one matters to no contest, and the figures
/// are so exact that almost every rebuilt program has one.
pub const LEAST_CHANGE: f64 = 0.002;

/// The comparison of a figure of B with that of A.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PairedTest {
    /// Number of pairs.
    pub pairs: usize,
    /// The geometric mean of B/A, less 1: 0.05 if B needs 5 % more.
    pub change: f64,
    /// The interval of `change`; those of the three figures together have the level `CONFIDENCE`.
    pub interval: [f64; 2],
    /// The probability of such a change, or a larger one in either direction, between equal images.
    pub p: f64,
    /// The standard deviation of the logarithms of B/A: about the relative spread of a single ratio.
    pub spread: f64,
    /// The smallest increase that is found with the probability `POWER`, with this number of pairs and this spread.
    pub detectable: f64,
}

impl PairedTest {
    /// Tests the logarithms of B/A. `rounding`: the standard deviation that rounding alone gives them, because figures are
    /// whole numbers; the spread is at least this. None: there are fewer than two, or a number is not finite.
    pub fn from_logarithms(logarithms: &[f64], rounding: f64) -> Option<Self> {
        let n = logarithms.len() as f64;
        let mean = logarithms.iter().sum::<f64>() / n;
        let squares: f64 = logarithms.iter().map(|value| (value - mean).powi(2)).sum();
        let spread = (squares / (n - 1.0)).sqrt().max(rounding);
        let distribution = StudentsT::new(0.0, 1.0, n - 1.0).ok().filter(|_| logarithms.len() > 1)?;
        let error = spread / n.sqrt();
        let quantile = |probability: f64| distribution.inverse_cdf(probability);
        let two_sided = quantile(1.0 - LEVEL / 2.0);
        let p = match (mean, error) {
            (0.0, _) => 1.0,
            (_, 0.0) => 0.0,
            _ => 2.0 * distribution.cdf(-(mean / error).abs()),
        };
        let test = Self {
            pairs: logarithms.len(),
            change: mean.exp_m1(),
            interval: [-two_sided, two_sided].map(|t| (mean + t * error).exp_m1()),
            p,
            spread,
            detectable: (noncentrality(two_sided, n - 1.0) * error).exp_m1(),
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
        self.differs(runs) && self.change.abs() > self.least_change()
    }

    /// Whether the figures of A and B differ. `runs`: the number of runs that are tested alike (Bonferroni's correction); 1
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

/// The logarithms of B/A of some pairs, with the standard deviation that rounding gives each of them: a whole number
/// is rounded by at most one half, evenly distributed, which has the variance 1/12. A figure of 0 counts as 1.
pub fn logarithms(pairs: impl IntoIterator<Item = (u64, u64)>) -> (Vec<f64>, f64) {
    let (mut ratios, mut variance) = (vec![], 0.0);
    for (a, b) in pairs {
        let [a, b] = [a, b].map(|figure| figure.max(1) as f64);
        ratios.push((b / a).ln());
        variance += (a.powi(-2) + b.powi(-2)) / 12.0;
    }
    let rounding = (variance / ratios.len().max(1) as f64).sqrt();
    (ratios, rounding)
}

/// The geometric means of several runs: for each repetition the mean of the logarithms of all runs, so that each run has
/// the same weight. `runs` has for each run the result of `logarithms`, each with `repetitions` pairs.
pub fn over_runs(runs: &[(Vec<f64>, f64)], repetitions: usize) -> Option<PairedTest> {
    let count = runs.len() as f64;
    let mean =
        |repetition: usize| runs.iter().map(|(logarithms, _)| logarithms[repetition]).sum::<f64>() / count;
    let complete = !runs.is_empty() && runs.iter().all(|(logarithms, _)| logarithms.len() == repetitions);
    let means: Vec<f64> = complete.then(|| (0..repetitions).map(mean).collect())?;
    let variance: f64 = runs.iter().map(|(_, rounding)| rounding.powi(2)).sum();
    PairedTest::from_logarithms(&means, variance.sqrt() / count)
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

    #[test]
    fn one_percent_more_instructions_is_a_difference_and_less_than_the_least_is_none() {
        let test = |pairs: [(u64, u64); 3]| {
            let (ratios, rounding) = logarithms(pairs);
            PairedTest::from_logarithms(&ratios, rounding).unwrap()
        };
        let a = [884_265_176, 884_269_089, 884_267_000];
        let more = |share: f64| test(a.map(|a| (a, (a as f64 * (1.0 + share)) as u64 + a % 1000)));
        assert!(more(0.01).instructions_differ(1) && more(-0.01).instructions_differ(1));
        let little = more(0.001);
        assert!(little.differs(1) && !little.instructions_differ(1), "{little:?}");
        let random = test([(1000, 1030), (1010, 1025), (990, 1025)]);
        assert!(random.least_change() > LEAST_CHANGE && !random.instructions_differ(1), "{random:?}");
        assert!(!test([(7, 7); 3]).instructions_differ(1));
    }

    #[test]
    fn equal_or_too_few_figures_have_no_difference() {
        let (ratios, rounding) = logarithms([(500, 500); 3]);
        let test = PairedTest::from_logarithms(&ratios, rounding).unwrap();
        assert_eq!((test.change, test.p), (0.0, 1.0));
        assert!(test.detectable > 0.001, "whole milliseconds cannot show less: {test:?}");
        assert_eq!(PairedTest::from_logarithms(&[0.1], 0.0), None);
        assert_eq!(PairedTest::from_logarithms(&[], 0.0), None);
        assert_eq!(over_runs(&[], 5), None);
        assert_eq!(over_runs(&[(vec![0.1; 4], 0.0), (vec![0.1; 5], 0.0)], 5), None, "a pair is missing");
    }

    #[test]
    fn figures_of_zero_and_of_any_size_are_finite() {
        for pairs in [[(0, 0), (0, 1)], [(0, u64::MAX), (u64::MAX, 0)], [(u64::MAX, 1), (u64::MAX, 1)]] {
            let (ratios, rounding) = logarithms(pairs);
            let test = PairedTest::from_logarithms(&ratios, rounding).unwrap();
            assert!(test.change.is_finite() && (0.0..=1.0).contains(&test.p), "{test:?}");
        }
    }

    #[test]
    fn each_run_has_the_same_weight() {
        let runs = [logarithms([(100, 110), (100, 110)]), logarithms([(90_000, 90_000), (90_000, 90_000)])];
        let change = over_runs(&runs, 2).unwrap().change;
        assert!((change - (1.1_f64.sqrt() - 1.0)).abs() < 1e-12, "{change}");
    }
}
