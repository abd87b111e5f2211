//! Which values differ between repetitions of a run, and between two images.

use mcc_campaign::benchkit::{Answers, Value};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// How the values of a position differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Difference {
    /// Repetitions of A give different values.
    AFlips,
    /// Repetitions of B give different values.
    BFlips,
    /// Repetitions of A give different values, and so do those of B.
    BothFlip,
    /// A and B always give the same value each, but not the same as the other.
    Differs,
    /// The given values are equal, but some repetitions give no value.
    Missing,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Self::AFlips => "A gives different values in its repetitions",
            Self::BFlips => "B gives different values in its repetitions",
            Self::BothFlip => "A and B give different values in their repetitions",
            Self::Differs => "A and B give different values",
            Self::Missing => "some repetitions give no value",
        })
    }
}

/// A value, and how many repetitions gave it. No value: `value` is None.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ValueCount {
    /// The value as the answer protocol writes it.
    pub value: Option<String>,
    /// Number of repetitions.
    pub times: usize,
}

/// A position whose values differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DifferentValues {
    /// The run: `INSTANCE/EXAMINATION`.
    pub run: String,
    /// The id of the property, or the name of a value of StateSpace.
    pub position: String,
    /// How the values differ.
    pub difference: Difference,
    /// The values of A.
    pub a: Vec<ValueCount>,
    /// The values of B.
    pub b: Vec<ValueCount>,
}

/// Compares the answers of all repetitions of a run. Returns the differences in the order of the positions, and the number of
/// positions with a value.
pub fn different_values(run: &str, answers: [&[Answers]; 2]) -> (Vec<DifferentValues>, usize) {
    let mut seen = BTreeSet::new();
    let ids =
        answers.iter().copied().flatten().flat_map(|answers| &answers.ids).filter(|id| seen.insert(*id));
    let indexed = answers.map(|answers| -> Vec<_> {
        answers.iter().map(|repetition| (repetition, repetition.positions())).collect()
    });
    let (mut different, mut answered) = (vec![], 0);
    for id in ids.collect::<Vec<_>>() {
        let counts = indexed.each_ref().map(|answers| counts(answers, id));
        let [a, b] = counts.each_ref().map(|counts| counts.keys().flatten().collect::<BTreeSet<_>>());
        answered += usize::from(!a.is_empty() || !b.is_empty());
        let difference = match (a.len(), b.len()) {
            (0, 0) => None,
            (2.., 2..) => Some(Difference::BothFlip),
            (2.., _) => Some(Difference::AFlips),
            (_, 2..) => Some(Difference::BFlips),
            (1, 1) if a != b => Some(Difference::Differs),
            _ => counts.iter().any(|counts| counts.contains_key(&None)).then_some(Difference::Missing),
        };
        if let Some(difference) = difference {
            let [a, b] = counts.map(|counts| {
                let count = |(value, times): (Option<&Value>, usize)| ValueCount {
                    value: value.map(ToString::to_string),
                    times,
                };
                counts.into_iter().map(count).collect()
            });
            different.push(DifferentValues { run: run.to_owned(), position: id.clone(), difference, a, b });
        }
    }
    (different, answered)
}

/// The answers of a repetition, with its positions by id.
type Indexed<'a> = (&'a Answers, BTreeMap<&'a str, usize>);

/// How many repetitions gave each value of a position.
fn counts<'a>(answers: &[Indexed<'a>], id: &str) -> BTreeMap<Option<&'a Value>, usize> {
    let mut counts = BTreeMap::new();
    for (repetition, positions) in answers {
        let position = positions.get(id);
        *counts.entry(position.and_then(|position| repetition.values[*position].as_ref())).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(values: &[&str]) -> Vec<Answers> {
        let repetition = |value: &&str| Answers {
            ids: vec!["p".to_owned()],
            values: vec![value.parse().ok()],
            ..Answers::default()
        };
        values.iter().map(repetition).collect()
    }

    #[test]
    fn every_kind_of_difference_is_named() {
        let cases: [(&[&str], &[&str], _); 9] = [
            (&["T", "T"], &["T", "T"], None),
            (&["-", "-"], &["-", "-"], None),
            (&["T", "F"], &["T", "T"], Some(Difference::AFlips)),
            (&["T", "T"], &["F", "T"], Some(Difference::BFlips)),
            (&["T", "F"], &["F", "T"], Some(Difference::BothFlip)),
            (&["7", "7"], &["8", "8"], Some(Difference::Differs)),
            (&["7", "-"], &["8", "8"], Some(Difference::Differs)),
            (&["7", "-"], &["7", "7"], Some(Difference::Missing)),
            (&["7", "7"], &["-", "-"], Some(Difference::Missing)),
        ];
        for (a, b, expected) in cases {
            let (found, answered) = different_values("I/X", [&answers(a), &answers(b)]);
            assert_eq!(found.first().map(|first| first.difference), expected, "{a:?} {b:?}");
            assert_eq!(answered, usize::from(a[0] != "-"), "{a:?} {b:?}");
        }
        let (found, _) = different_values("I/X", [&answers(&["7", "-"]), &answers(&["8", "8"])]);
        let count = |value: Option<&str>, times| ValueCount { value: value.map(str::to_owned), times };
        assert_eq!(found[0].a, [count(None, 1), count(Some("7"), 1)]);
        assert_eq!(found[0].b, [count(Some("8"), 2)]);
    }

    #[test]
    fn a_position_that_one_image_never_prints_is_missing() {
        let (found, answered) = different_values("I/X", [&answers(&["T"]), &[Answers::default()]]);
        assert_eq!((found[0].difference, answered), (Difference::Missing, 1));
    }
}
