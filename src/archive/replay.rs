//! A run and its replays side by side.

use mcc_base::Mark;
use mcc_base::names::RunId;
use mcc_benchkit::Answers;
use mcc_store::{Attempt, HostFacts};
use serde::Serialize;

/// What one attempt took; milliseconds and KiB, None where the tool was never started or nothing was told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Measured {
    pub outcome: String,
    pub marks: Vec<Mark>,
    pub cpu_ms: Option<u64>,
    pub wall_ms: Option<u64>,
    pub memory_kib: Option<u64>,
}

impl Measured {
    pub fn of(attempt: &Attempt) -> Self {
        let facts = attempt.facts.as_ref();
        Self {
            outcome: attempt.outcome.word().to_owned(),
            marks: attempt.marks.clone(),
            cpu_ms: facts.map(|facts| facts.cpu_ms),
            wall_ms: facts.map(|facts| facts.wall_ms),
            memory_kib: facts.and_then(|facts| facts.memory_kib),
        }
    }
}

/// Of several replays; the median of an even number is the lower one of the middle: a value that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Median {
    pub median: u64,
    pub least: u64,
    pub most: u64,
}

impl Median {
    /// None where nothing was measured.
    pub fn of(values: impl Iterator<Item = Option<u64>>) -> Option<Self> {
        let mut values: Vec<u64> = values.flatten().collect();
        values.sort_unstable();
        let (least, most) = (*values.first()?, *values.last()?);
        Some(Self { median: values[(values.len() - 1) / 2], least, most })
    }
}

/// One position that a replay answered otherwise; empty: no value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DifferentAnswer {
    /// 1, 2, ...
    pub replay: usize,
    pub position: usize,
    pub id: String,
    pub original: String,
    pub replayed: String,
}

/// A fact in which the two hosts differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DifferentHost {
    pub what: &'static str,
    pub original: String,
    pub replay: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Comparison {
    pub run: RunId,
    pub answers_equal: bool,
    pub different: Vec<DifferentAnswer>,
    pub original: Measured,
    pub replays: Vec<Measured>,
    pub cpu_ms: Option<Median>,
    pub wall_ms: Option<Median>,
    pub memory_kib: Option<Median>,
    pub hosts: Vec<DifferentHost>,
}

/// Compares a run with its replays, at least one; the answers are those of the attempts.
pub fn compare(original: (&Attempt, Option<&Answers>), replays: &[(Attempt, Option<Answers>)]) -> Comparison {
    let (attempt, answers) = original;
    let mut different = Vec::new();
    for (number, (_, replayed)) in replays.iter().enumerate() {
        different.extend(differences(number + 1, answers, replayed.as_ref()));
    }
    let measured: Vec<Measured> = replays.iter().map(|(attempt, _)| Measured::of(attempt)).collect();
    let median = |of: fn(&Measured) -> Option<u64>| Median::of(measured.iter().map(of));
    Comparison {
        run: attempt.run.clone(),
        answers_equal: different.is_empty(),
        different,
        original: Measured::of(attempt),
        cpu_ms: median(|measured| measured.cpu_ms),
        wall_ms: median(|measured| measured.wall_ms),
        memory_kib: median(|measured| measured.memory_kib),
        hosts: replays.first().map_or(vec![], |(replay, _)| hosts(&attempt.host, &replay.host)),
        replays: measured,
    }
}

fn differences(
    replay: usize,
    original: Option<&Answers>,
    replayed: Option<&Answers>,
) -> Vec<DifferentAnswer> {
    let value = |answers: Option<&Answers>, position: usize| {
        let value = answers.and_then(|answers| answers.values.get(position)?.as_ref());
        value.map_or_else(String::new, ToString::to_string)
    };
    let count = |answers: Option<&Answers>| answers.map_or(0, |answers| answers.values.len());
    let positions = 0..count(original).max(count(replayed));
    let pairs = positions.map(|position| (position, value(original, position), value(replayed, position)));
    let different = pairs.filter(|(_, original, replayed)| original != replayed);
    different
        .map(|(position, was, is)| {
            let id = original.or(replayed).and_then(|answers| answers.ids.get(position));
            let id = id.cloned().unwrap_or_default();
            DifferentAnswer { replay, position, id, original: was, replayed: is }
        })
        .collect()
}

fn hosts(original: &HostFacts, replay: &HostFacts) -> Vec<DifferentHost> {
    let facts = |host: &HostFacts| {
        [
            ("name", host.name.clone()),
            ("cpu", host.cpu.clone()),
            ("cores", host.cores.to_string()),
            ("memory (MiB)", host.memory_mib.to_string()),
            ("kernel", host.kernel.clone()),
            ("accelerator", host.accelerator.clone()),
            ("qemu", host.qemu.clone()),
        ]
    };
    let pairs = facts(original).into_iter().zip(facts(replay));
    let different = pairs.filter(|((_, original), (_, replay))| original != replay);
    different.map(|((what, original), (_, replay))| DifferentHost { what, original, replay }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_a_value_that_was_measured() {
        let of = |values: &[u64]| Median::of(values.iter().copied().map(Some));
        assert_eq!(of(&[9, 1, 5]), Some(Median { median: 5, least: 1, most: 9 }));
        assert_eq!(of(&[4, 2]), Some(Median { median: 2, least: 2, most: 4 }));
        assert_eq!(Median::of([None].into_iter()), None);
    }

    #[test]
    fn an_answer_that_is_gone_differs_by_its_position() {
        let answers = |values: &[Option<&str>]| Answers {
            ids: (0..values.len()).map(|n| format!("F{n}")).collect(),
            values: values.iter().map(|value| value.map(|value| value.parse().unwrap())).collect(),
            ..Answers::default()
        };
        let (before, after) = (answers(&[Some("T"), Some("12")]), answers(&[Some("T"), None]));
        assert_eq!(differences(1, Some(&before), Some(&before)), []);
        let different = differences(1, Some(&before), Some(&after));
        assert_eq!(different.len(), 1);
        assert_eq!((different[0].id.as_str(), different[0].original.as_str()), ("F1", "12"));
        assert_eq!(differences(1, Some(&before), None).len(), 2);
    }
}
