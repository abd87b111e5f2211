//! The trusted value of a position (E-3.1).

use crate::input::run_results::NOT_KEPT;
use crate::judgement::Basis;
use mcc_edition::Judging;
use num_rational::BigRational;
use num_traits::Zero;

/// The value of a voter by its number: equal numbers are equal values, but `NOT_KEPT` equals no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Vote {
    pub entry: usize,
    pub value: u32,
}

fn agree(a: &Vote, b: &Vote) -> bool {
    a.value == b.value && a.value != NOT_KEPT
}

/// Returns the trusted value, None where it is unknown, and the case of E-3.1 that decided. `confidence` is by entry.
///
/// A value that was not kept (`X`) counts as a vote for a value of its own, but is never trusted: where it is the only
/// vote the basis is `unknown:single`, where it wins against other votes the basis is `unknown:split`.
pub(super) fn trusted(votes: &[Vote], confidence: &[BigRational], judging: &Judging) -> (Option<u32>, Basis) {
    let (value, basis) = match votes {
        [] => return (None, Basis::UnknownNone),
        [only] if only.value != NOT_KEPT && confidence[only.entry] >= judging.single_threshold => {
            (only.value, Basis::Single)
        }
        [_] => return (None, Basis::UnknownSingle),
        [first, rest @ ..] if rest.iter().all(|vote| agree(first, vote)) => (first.value, Basis::Unanimous),
        [a, b] => match confidence[a.entry].cmp(&confidence[b.entry]) {
            std::cmp::Ordering::Equal => return (None, Basis::UnknownTie),
            std::cmp::Ordering::Greater => (a.value, Basis::Confidence),
            std::cmp::Ordering::Less => (b.value, Basis::Confidence),
        },
        _ => match majority(votes, confidence, &judging.majority) {
            None => return (None, Basis::UnknownSplit),
            Some(value) => (value, Basis::Majority),
        },
    };
    if value == NOT_KEPT { (None, Basis::UnknownSplit) } else { (Some(value), basis) }
}

/// Returns the value whose voters' confidences sum to more than `share` of the confidences of all voters.
fn majority(votes: &[Vote], confidence: &[BigRational], share: &BigRational) -> Option<u32> {
    let sum = |votes: &mut dyn Iterator<Item = &Vote>| {
        votes.fold(BigRational::zero(), |sum, vote| sum + &confidence[vote.entry])
    };
    let needed = sum(&mut votes.iter()) * share;
    let winner = votes.iter().find(|candidate| {
        let backers = &mut votes.iter().filter(|vote| *vote == *candidate || agree(candidate, vote));
        sum(backers) > needed
    });
    winner.map(|vote| vote.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_edition::Edition;

    /// Values and confidences (in hundredths) by entry, then the expected value and basis.
    type Case = (&'static [u32], &'static [i64], Option<u32>, &'static str);

    #[test]
    fn trusted_values_follow_every_row_of_the_rule() {
        let cases: &[Case] = &[
            (&[], &[], None, "unknown:none"),
            (&[7], &[100], Some(7), "single"),
            (&[7], &[97], Some(7), "single"),
            (&[7], &[96], None, "unknown:single"),
            (&[7, 7], &[0, 0], Some(7), "unanimous"),
            (&[7, 7, 7], &[10, 20, 30], Some(7), "unanimous"),
            (&[7, 8], &[98, 97], Some(7), "confidence"),
            (&[7, 8], &[97, 98], Some(8), "confidence"),
            (&[7, 8], &[98, 98], None, "unknown:tie"),
            (&[7, 7, 8], &[50, 50, 99], Some(7), "majority"),
            (&[7, 7, 8], &[40, 40, 99], Some(8), "majority"),
            (&[7, 7, 8], &[50, 50, 100], None, "unknown:split"),
            (&[7, 8, 9], &[90, 91, 92], None, "unknown:split"),
            (&[7, 8, 9], &[10, 10, 21], Some(9), "majority"),
            (&[7, 8, 9], &[0, 0, 0], None, "unknown:split"),
            // Values not kept: equal to no other value, never trusted.
            (&[NOT_KEPT], &[100], None, "unknown:single"),
            (&[NOT_KEPT, 7], &[97, 98], Some(7), "confidence"),
            (&[NOT_KEPT, 7], &[98, 97], None, "unknown:split"),
            (&[NOT_KEPT, NOT_KEPT], &[98, 98], None, "unknown:tie"),
            (&[NOT_KEPT, NOT_KEPT, 7], &[50, 50, 99], None, "unknown:split"),
            (&[NOT_KEPT, NOT_KEPT, 7], &[40, 40, 99], Some(7), "majority"),
            (&[NOT_KEPT, 7, 8], &[99, 10, 10], None, "unknown:split"),
        ];
        let hundredths = |n: i64| BigRational::new(n.into(), 100.into());
        let judging = Edition::load("mcc-2018").unwrap().judging;
        for (values, confidence, value, basis) in cases {
            let votes: Vec<Vote> =
                values.iter().enumerate().map(|(entry, value)| Vote { entry, value: *value }).collect();
            let confidence: Vec<BigRational> = confidence.iter().map(|n| hundredths(*n)).collect();
            let (given, decided) = trusted(&votes, &confidence, &judging);
            assert_eq!((given, decided.word()), (*value, *basis), "{values:?} {confidence:?}");
        }
    }

    #[test]
    fn the_edition_sets_the_needed_majority() {
        let mut judging = Edition::load("mcc-2018").unwrap().judging;
        let votes = [7, 7, 8].iter().enumerate().map(|(entry, value)| Vote { entry, value: *value });
        let votes: Vec<Vote> = votes.collect();
        let confidence = vec![BigRational::from_integer(1.into()); 3];
        judging.majority = BigRational::new(65.into(), 100.into());
        assert_eq!(trusted(&votes, &confidence, &judging), (Some(7), Basis::Majority));
        judging.majority = BigRational::new(2.into(), 3.into());
        assert_eq!(trusted(&votes, &confidence, &judging), (None, Basis::UnknownSplit));
    }
}
