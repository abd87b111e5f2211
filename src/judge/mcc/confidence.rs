//! The confidence of an entry: the share of the common values on which it agrees (E-2.1, E-2.2).

use super::trusted::Vote;
use crate::input::run_results::NOT_KEPT;
use mcc_edition::ConfidenceReading;
use num_rational::BigRational;
use num_traits::Zero;

/// Returns the value by which a position belongs to the common values V: it has at least `min_agreeing` votes, and more
/// than half of all votes. None where no value does.
pub(super) fn commonly_agreed(votes: &[Vote], min_agreeing: usize) -> Option<u32> {
    let candidates = votes.iter().filter(|vote| vote.value != NOT_KEPT);
    candidates.map(|vote| vote.value).find(|value| {
        let agreeing = votes.iter().filter(|vote| vote.value == *value).count();
        agreeing >= min_agreeing && 2 * agreeing > votes.len()
    })
}

/// Counts over the common values V.
#[derive(Clone, Debug, Default)]
pub(super) struct AgreementCounts {
    /// |V|
    pub common: u64,
    /// By entry: number of values of V that it gave.
    pub answered: Vec<u64>,
    /// By entry: number of those that agree.
    pub agreed: Vec<u64>,
}

impl AgreementCounts {
    pub fn new(entries: usize) -> Self {
        Self { common: 0, answered: vec![0; entries], agreed: vec![0; entries] }
    }

    /// Returns the confidence of an entry; 0 for an entry that gave no value of V (E-2.2).
    pub fn confidence(&self, entry: usize, reading: ConfidenceReading) -> BigRational {
        let divisor = match reading {
            ConfidenceReading::Answered => self.answered[entry],
            ConfidenceReading::AllTrusted => self.common,
        };
        if divisor == 0 {
            BigRational::zero()
        } else {
            BigRational::new(self.agreed[entry].into(), divisor.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_values_need_three_votes_and_more_than_half() {
        let common = |values: &[u32]| {
            let votes: Vec<Vote> =
                values.iter().enumerate().map(|(entry, value)| Vote { entry, value: *value }).collect();
            commonly_agreed(&votes, 3)
        };
        assert_eq!(common(&[7, 7]), None);
        assert_eq!(common(&[7, 7, 7]), Some(7));
        assert_eq!(common(&[8, 7, 9, 7, 7]), Some(7));
        assert_eq!(common(&[7, 7, 7, 8, 8, 8]), None);
        assert_eq!(common(&[NOT_KEPT, NOT_KEPT, NOT_KEPT]), None);
    }

    #[test]
    fn confidence_is_divided_by_answered_or_all_common_values() {
        let agreement = AgreementCounts { common: 10, answered: vec![4, 0], agreed: vec![3, 0] };
        let quotient = |a: i64, b: i64| BigRational::new(a.into(), b.into());
        assert_eq!(agreement.confidence(0, ConfidenceReading::Answered), quotient(3, 4));
        assert_eq!(agreement.confidence(0, ConfidenceReading::AllTrusted), quotient(3, 10));
        assert_eq!(agreement.confidence(1, ConfidenceReading::Answered), quotient(0, 1));
        assert_eq!(AgreementCounts::new(1).confidence(0, ConfidenceReading::AllTrusted), quotient(0, 1));
    }
}
