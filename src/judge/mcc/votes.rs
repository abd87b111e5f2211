//! Votes per tool, and values on weak evidence.

use super::trusted::Vote;
use crate::input::run_results::NOT_KEPT;
use crate::judgement::{Block, Cell, Entry, Judgement, Weak};
use mcc_campaign::benchkit::Value;
use mcc_edition::Votes;
use num_rational::BigRational;
use std::borrow::Cow;
use std::collections::HashMap;

/// Facts about the votes on one position.
pub(super) struct PositionVotes {
    /// Whether one of them is rounded, so that all are compared by 5 digits.
    pub any_rounded: bool,
    /// Whether a tool has no vote because its variants differ.
    pub variants_differ: bool,
}

/// Returns the number of the tool of every entry.
pub(super) fn tools(entries: &[Entry]) -> Vec<usize> {
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let number = |entry| {
        let next = numbers.len();
        *numbers.entry(entry).or_insert(next)
    };
    entries.iter().map(|entry| entry.tool.as_str()).map(number).collect()
}

/// Returns the cells whose votes on a position of a judgement counted, with the confidence of each entry.
pub(crate) fn counted_votes<'j>(
    judgement: &'j Judgement,
    block: &'j Block,
    position: usize,
) -> impl Iterator<Item = (&'j Cell, &'j BigRational)> {
    let given = |cell: &'j Cell| Some((cell.entry, cell.values[position].as_ref()?));
    let voting = block.cells.iter().filter(|cell| judgement.entries[cell.entry].status.votes());
    let given: Vec<(usize, &Value)> = voting.filter_map(given).collect();
    let any_rounded = given.iter().any(|(_, value)| value.is_rounded());
    // Each is rounded once, because long numbers take long.
    let compared = |(_, value): &(usize, &'j Value)| {
        if any_rounded { Cow::Owned(value.rounded()) } else { Cow::Borrowed(*value) }
    };
    let compared: Vec<Cow<'_, Value>> = given.iter().map(compared).collect();
    // Values that agree have the number of the first of them; a value that was not kept agrees with none.
    let number = |value: &Value| match value {
        Value::NotKept => NOT_KEPT,
        _ => {
            let first = compared.iter().position(|other| **other == *value);
            first.map_or(NOT_KEPT, |first| NOT_KEPT + 1 + first as u32)
        }
    };
    let vote = |((entry, _), value): (&(usize, &Value), &Cow<'_, Value>)| Vote {
        entry: *entry,
        value: number(value),
    };
    let mut votes: Vec<Vote> = given.iter().zip(&compared).map(vote).collect();
    if judgement.edition.judging.votes == Votes::PerTool {
        let confidence: Vec<BigRational> =
            judgement.confidence.iter().map(|entry| entry.confidence.clone()).collect();
        per_tool(&mut votes, &tools(&judgement.entries), &confidence);
    }
    votes
        .into_iter()
        .filter_map(move |vote| Some((block.cell(vote.entry)?, &judgement.confidence[vote.entry].confidence)))
}

/// Reduces votes to one per tool (`votes = "per-tool"`). Variants that agree have one vote, with the confidence of the
/// best of them that gave the value. A tool whose variants differ has no vote. Returns whether there is such a tool.
///
/// `tools` and `confidence` are by entry. `confidence` may be empty where only the values are used.
pub(super) fn per_tool(votes: &mut Vec<Vote>, tools: &[usize], confidence: &[BigRational]) -> bool {
    votes.sort_unstable_by_key(|vote| (tools[vote.entry], vote.entry));
    let (mut kept, mut first) = (0, 0);
    let mut variants_differ = false;
    while first < votes.len() {
        let tool = tools[votes[first].entry];
        let end = first + votes[first..].iter().take_while(|vote| tools[vote.entry] == tool).count();
        let of_tool = &votes[first..end];
        let agree = of_tool.len() == 1
            || of_tool.iter().all(|vote| vote.value == of_tool[0].value && vote.value != NOT_KEPT);
        let better = |a: Vote, b: Vote| if confidence.get(b.entry) > confidence.get(a.entry) { b } else { a };
        if let (true, Some(vote)) = (agree, of_tool.iter().copied().reduce(better)) {
            votes[kept] = vote;
            kept += 1;
        }
        variants_differ |= !agree;
        first = end;
    }
    votes.truncate(kept);
    variants_differ
}

/// Which entries gave a trusted value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backing {
    /// No entry.
    None,
    /// One entry, of the tool with this number.
    One(usize),
    /// Several variants of the tool with this number, and no other entry.
    Variants(usize),
    /// Entries of several tools.
    Many,
}

impl Backing {
    /// Adds an entry of a tool.
    pub fn add(&mut self, tool: usize) {
        *self = match *self {
            Self::None => Self::One(tool),
            Self::One(other) | Self::Variants(other) if other == tool => Self::Variants(tool),
            _ => Self::Many,
        };
    }

    /// Returns the tool, if only one gave the value.
    pub fn sole_tool(self) -> Option<usize> {
        match self {
            Self::One(tool) | Self::Variants(tool) => Some(tool),
            Self::None | Self::Many => None,
        }
    }

    /// Returns why the evidence is weak, if it is.
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
    fn variants_that_agree_have_one_vote_and_others_none() {
        let merged = |values: &[u32], confidence: &[i64]| {
            let votes = values.iter().enumerate().map(|(entry, value)| Vote { entry, value: *value });
            let mut votes: Vec<Vote> = votes.collect();
            let confidence: Vec<BigRational> =
                confidence.iter().map(|n| BigRational::new((*n).into(), 100.into())).collect();
            // Entries 0 and 2 are one tool, 1 another.
            let variants_differ = per_tool(&mut votes, &[0, 1, 0], &confidence);
            (votes.iter().map(|vote| (vote.entry, vote.value)).collect::<Vec<_>>(), variants_differ)
        };
        assert_eq!(merged(&[7, 7, 7], &[50, 60, 70]), (vec![(2, 7), (1, 7)], false));
        assert_eq!(merged(&[7, 7, 7], &[70, 60, 70]), (vec![(0, 7), (1, 7)], false));
        assert_eq!(merged(&[7, 7, 8], &[70, 60, 70]), (vec![(1, 7)], true));
        assert_eq!(merged(&[NOT_KEPT, NOT_KEPT, NOT_KEPT], &[]), (vec![(1, NOT_KEPT)], true));
        assert_eq!(merged(&[7, 7], &[]), (vec![(0, 7), (1, 7)], false));
    }
}
