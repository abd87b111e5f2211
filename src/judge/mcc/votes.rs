//! Who stands behind a value: votes per tool, and values that rest on too few.

use super::trusted::Vote;
use crate::input::ballots::LOST;
use crate::judgement::Weak;
use num_rational::BigRational;

/// What is known of a position's votes beside the votes.
pub(super) struct Poll {
    /// One of them is rounded: all are compared by 5 digits.
    pub any_rounded: bool,
    /// A tool has no vote, because its variants differ.
    pub abstained: bool,
}

/// One vote a tool (`votes = "per-tool"`): variants that agree have one vote, with the confidence of the best of them
/// that gave the value; a tool whose variants differ has none, for it contradicts itself. Says whether one had none.
///
/// `tools` and `confidence` are by entry; confidence may be empty where only the values matter.
pub(super) fn per_tool(votes: &mut Vec<Vote>, tools: &[usize], confidence: &[BigRational]) -> bool {
    votes.sort_unstable_by_key(|vote| (tools[vote.entry], vote.entry));
    let (mut kept, mut first) = (0, 0);
    let mut abstained = false;
    while first < votes.len() {
        let tool = tools[votes[first].entry];
        let end = first + votes[first..].iter().take_while(|vote| tools[vote.entry] == tool).count();
        let of = &votes[first..end];
        let agree = of.len() == 1 || of.iter().all(|vote| vote.value == of[0].value && vote.value != LOST);
        let better = |a: Vote, b: Vote| if confidence.get(b.entry) > confidence.get(a.entry) { b } else { a };
        if let (true, Some(vote)) = (agree, of.iter().copied().reduce(better)) {
            votes[kept] = vote;
            kept += 1;
        }
        abstained |= !agree;
        first = end;
    }
    votes.truncate(kept);
    abstained
}

/// Which competing entries gave a trusted value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backing {
    None,
    /// By tool.
    One(usize),
    Variants(usize),
    Many,
}

impl Backing {
    pub fn add(&mut self, tool: usize) {
        *self = match *self {
            Self::None => Self::One(tool),
            Self::One(of) | Self::Variants(of) if of == tool => Self::Variants(tool),
            _ => Self::Many,
        };
    }

    /// The tool that alone gave the value.
    pub fn sole_tool(self) -> Option<usize> {
        match self {
            Self::One(tool) | Self::Variants(tool) => Some(tool),
            Self::None | Self::Many => None,
        }
    }

    pub fn weak(self) -> Option<Weak> {
        match self {
            Self::One(_) => Some(Weak::SingleBacker),
            Self::Variants(_) => Some(Weak::SingleFamily),
            Self::None | Self::Many => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_votes_once_with_its_best_variant_and_not_at_all_where_its_variants_differ() {
        let merged = |values: &[u32], confidence: &[i64]| {
            let votes = values.iter().enumerate().map(|(entry, value)| Vote { entry, value: *value });
            let mut votes: Vec<Vote> = votes.collect();
            let confidence: Vec<BigRational> =
                confidence.iter().map(|n| BigRational::new((*n).into(), 100.into())).collect();
            // Entries 0 and 2 are one tool, 1 another.
            let abstained = per_tool(&mut votes, &[0, 1, 0], &confidence);
            (votes.iter().map(|vote| (vote.entry, vote.value)).collect::<Vec<_>>(), abstained)
        };
        assert_eq!(merged(&[7, 7, 7], &[50, 60, 70]), (vec![(2, 7), (1, 7)], false));
        assert_eq!(merged(&[7, 7, 7], &[70, 60, 70]), (vec![(0, 7), (1, 7)], false));
        assert_eq!(merged(&[7, 7, 8], &[70, 60, 70]), (vec![(1, 7)], true));
        assert_eq!(merged(&[LOST, LOST, LOST], &[]), (vec![(1, LOST)], true));
        assert_eq!(merged(&[7, 7], &[]), (vec![(0, 7), (1, 7)], false));
    }
}
