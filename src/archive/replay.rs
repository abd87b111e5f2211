//! Compares a run with its replays.

use mcc_base::Mark;
use mcc_base::names::RunId;
use mcc_campaign::benchkit::Answers;
use mcc_store::{Attempt, HostFacts};
use serde::Serialize;

/// Outcome and measurements of an attempt. A measurement is None if the tool was not started or the value is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Measured {
    /// The word of the outcome.
    pub outcome: String,
    /// Deviations from contest conditions.
    pub marks: Vec<Mark>,
    /// Instructions at user addresses.
    pub instructions_user: Option<u64>,
    /// CPU time of the machine.
    pub cpu_ms: Option<u64>,
    /// Wall time of the tool.
    pub wall_ms: Option<u64>,
    /// Peak memory of the tool.
    pub memory_kib: Option<u64>,
}

impl Measured {
    /// The measurements of an attempt.
    pub fn from_attempt(attempt: &Attempt) -> Self {
        let facts = attempt.facts.as_ref();
        Self {
            outcome: attempt.outcome.word().to_owned(),
            marks: attempt.marks.clone(),
            instructions_user: facts.and_then(|facts| facts.instructions.as_ref()?.user()),
            cpu_ms: facts.map(|facts| facts.cpu_ms),
            wall_ms: facts.map(|facts| facts.wall_ms),
            memory_kib: facts.and_then(|facts| facts.memory_kib),
        }
    }
}

/// Median and range of a measurement of several replays. The median of an even number of values is the lower one of the
/// two in the middle, so that it is always a measured value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Median {
    /// The value in the middle; the lower one of two.
    pub median: u64,
    /// The smallest value.
    pub least: u64,
    /// The largest value.
    pub most: u64,
}

impl Median {
    /// The median of the known values; None if there are none.
    pub fn from_values(values: impl Iterator<Item = Option<u64>>) -> Option<Self> {
        let mut values: Vec<u64> = values.flatten().collect();
        values.sort_unstable();
        let (least, most) = (*values.first()?, *values.last()?);
        Some(Self { median: values[(values.len() - 1) / 2], least, most })
    }
}

/// A position for which a replay has another answer. An empty answer is not a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DifferentAnswer {
    /// The number of the replay: 1, 2, ...
    pub replay: usize,
    /// The position in the examination: 0, 1, ...
    pub position: usize,
    /// The id of the value.
    pub id: String,
    /// The answer of the run.
    pub original: String,
    /// The answer of the replay.
    pub replayed: String,
}

/// A property in which the hosts of a run and of its replays differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DifferentHost {
    /// The property.
    pub what: &'static str,
    /// Its value on the host of the run.
    pub original: String,
    /// Its value on the host of the replays.
    pub replay: String,
}

/// The comparison of a run with its replays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Comparison {
    /// The run that was repeated.
    pub run: RunId,
    /// Whether all replays have the answers of the run.
    pub answers_equal: bool,
    /// The answers that differ.
    pub different: Vec<DifferentAnswer>,
    /// The measurements of the run.
    pub original: Measured,
    /// The measurements of the replays.
    pub replays: Vec<Measured>,
    /// Instructions of the replays at user addresses.
    pub instructions_user: Option<Median>,
    /// The largest difference of the instructions of a replay from those of the run, millionths of them. None: not known, or
    /// counted by another source, version of QEMU or processor.
    pub instructions_apart: Option<u64>,
    /// CPU time of the replays.
    pub cpu_ms: Option<Median>,
    /// Wall time of the replays.
    pub wall_ms: Option<Median>,
    /// Peak memory of the replays.
    pub memory_kib: Option<Median>,
    /// The differences of the hosts.
    pub hosts: Vec<DifferentHost>,
}

/// Compares a run with its replays, each given as its attempt and its answers. There is at least one replay.
pub fn compare(original: (&Attempt, Option<&Answers>), replays: &[(Attempt, Option<Answers>)]) -> Comparison {
    let (attempt, answers) = original;
    let mut different = Vec::new();
    for (number, (_, replayed)) in replays.iter().enumerate() {
        different.extend(differences(number + 1, answers, replayed.as_ref()));
    }
    let measured: Vec<Measured> =
        replays.iter().map(|(attempt, _)| Measured::from_attempt(attempt)).collect();
    let median = |value: fn(&Measured) -> Option<u64>| Median::from_values(measured.iter().map(value));
    Comparison {
        run: attempt.run.clone(),
        answers_equal: different.is_empty(),
        different,
        original: Measured::from_attempt(attempt),
        instructions_user: median(|measured| measured.instructions_user),
        instructions_apart: instructions_apart(attempt, replays.iter().map(|(replay, _)| replay)),
        cpu_ms: median(|measured| measured.cpu_ms),
        wall_ms: median(|measured| measured.wall_ms),
        memory_kib: median(|measured| measured.memory_kib),
        hosts: replays.first().map_or(vec![], |(replay, _)| hosts(&attempt.host, &replay.host)),
        replays: measured,
    }
}

/// See `Comparison::instructions_apart`.
fn instructions_apart<'a>(original: &Attempt, replays: impl Iterator<Item = &'a Attempt>) -> Option<u64> {
    let source = original.instructions_source();
    let count = |attempt: &Attempt| {
        let counted = attempt.facts.as_ref()?.instructions.as_ref()?;
        counted.user().filter(|_| attempt.instructions_source() == source)
    };
    let before = count(original)?;
    let apart = |replay| {
        let millionths = u128::from(count(replay)?.abs_diff(before)) * 1_000_000;
        u64::try_from(millionths.div_ceil(u128::from(before.max(1)))).ok()
    };
    replays.map(apart).collect::<Option<Vec<u64>>>()?.into_iter().max()
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
        .map(|(position, original_value, replayed_value)| {
            let id = original.or(replayed).and_then(|answers| answers.ids.get(position));
            let id = id.cloned().unwrap_or_default();
            DifferentAnswer { replay, position, id, original: original_value, replayed: replayed_value }
        })
        .collect()
}

fn hosts(original: &HostFacts, replay: &HostFacts) -> Vec<DifferentHost> {
    let facts = |host: &HostFacts| {
        [
            ("name", host.name.clone()),
            ("cpu", host.cpu.clone()),
            ("cores", host.cores.to_string()),
            ("usable cores", host.usable_cores.map_or("unknown".to_owned(), |cores| cores.to_string())),
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
    use mcc_store::{Environment, Instructions, Outcome, RunFacts};

    fn host(usable_cores: Option<u32>) -> HostFacts {
        HostFacts {
            name: String::new(),
            cpu: String::new(),
            cores: 4,
            usable_cores,
            memory_mib: 0,
            kernel: String::new(),
            accelerator: String::new(),
            qemu: String::new(),
        }
    }

    #[test]
    fn the_median_is_a_value_that_was_measured() {
        let median = |values: &[u64]| Median::from_values(values.iter().copied().map(Some));
        assert_eq!(median(&[9, 1, 5]), Some(Median { median: 5, least: 1, most: 9 }));
        assert_eq!(median(&[4, 2]), Some(Median { median: 2, least: 2, most: 4 }));
        assert_eq!(Median::from_values([None].into_iter()), None);
    }

    #[test]
    fn instructions_are_compared_only_if_the_same_qemu_counted_them() {
        let attempt = |user: Option<u64>, qemu: &str| Attempt {
            run: "t/Net-PT-1/StateSpace".parse().unwrap(),
            number: 1,
            outcome: Outcome::Finished { exit_code: 0 },
            marks: vec![],
            started_at: String::new(),
            host: HostFacts { qemu: qemu.to_owned(), ..host(None) },
            disks: vec![],
            machine: vec![],
            environment: Environment::default(),
            facts: Some(RunFacts {
                instructions: user.map(|user| Instructions::TcgPlugin { user, kernel: 5 }),
                ..RunFacts::default()
            }),
            outputs: vec![],
        };
        let original = attempt(Some(65_578_847_826), "7.2.22");
        let apart = |replays: &[Attempt]| instructions_apart(&original, replays.iter());
        let same = attempt(Some(65_578_850_123), "7.2.22");
        assert_eq!(apart(std::slice::from_ref(&same)), Some(1), "rounded up: 0.035 millionths");
        assert_eq!(apart(&[same.clone(), attempt(Some(66_234_636_305), "7.2.22")]), Some(10_001));
        assert_eq!(apart(&[same.clone(), attempt(Some(65_578_847_826), "8.2.1")]), None);
        assert_eq!(apart(&[same, attempt(None, "7.2.22")]), None);
    }

    #[test]
    fn a_missing_answer_is_a_difference() {
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

    #[test]
    fn cores_that_the_controller_must_not_use_are_a_difference() {
        let different = hosts(&host(Some(4)), &host(Some(2)));
        assert_eq!(different.len(), 1);
        assert_eq!((different[0].what, different[0].replay.as_str()), ("usable cores", "2"));
        assert_eq!(hosts(&host(None), &host(Some(4)))[0].original, "unknown");
    }
}
