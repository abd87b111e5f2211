//! Compares two images on the same runs: answers, instructions, times and memory.
//!
//! Each repetition of a run is a pair: A and B run one after the other on the same cores, with no other run of this
//! program between them. The one that is first changes with each pair. Each image has a campaign and a record of its own,
//! because both may have the same name (BK_TOOL).

use super::paired::{self, Logarithms, PairedTest};
use super::{DifferentValues, Qualification, QualifyError, different_values};
use crate::{CampaignDisks, CampaignEnd, CampaignRunner, Host, InputsEvent, PreparedCampaign, RunSettings};
use mcc_base::{Mark, OnFile};
use mcc_campaign::Run;
use mcc_campaign::benchkit::{Answers, Reading};
use mcc_store::{Attempt, Outcome, Record};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// One of the two images.
pub struct Contender<'a> {
    /// Its runs.
    pub runs: Qualification,
    /// The disk image, or an original disk (with `ssh_key`).
    pub image: &'a Path,
    /// The private key for ssh on an original disk.
    pub ssh_key: Option<&'a Path>,
}

/// Two images, and the functions of the caller.
pub struct Comparison<'a> {
    /// A and B. Their runs have the same instances and examinations in the same order.
    pub contenders: [Contender<'a>; 2],
    /// Run although this host does not meet the contest's machine requirements.
    pub allow_degraded: bool,
    /// Stop request, see `RunSettings::stop`.
    pub stop: &'a AtomicBool,
    /// Called with the events of building the inputs disks.
    pub show_inputs: &'a dyn Fn(InputsEvent),
    /// Called before each run with its number, the number of runs, and the run.
    pub show: &'a dyn Fn(usize, usize, &str),
}

/// The tests of one run, or of all runs together. None: the values cannot be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Tests {
    /// Instructions at user addresses.
    pub instructions: Option<PairedTest>,
    /// CPU time.
    pub cpu_time: Option<PairedTest>,
    /// Wall time.
    pub wall_time: Option<PairedTest>,
    /// Peak memory of the tool.
    pub memory: Option<PairedTest>,
}

/// The repetitions of a run by one image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Repetitions {
    /// How they ended.
    pub ends: Vec<String>,
    /// Instructions at user addresses; None: they were not counted.
    pub instructions: Vec<Option<u64>>,
    /// What counted them, with its version, or why they were not counted.
    pub instructions_sources: BTreeSet<String>,
    /// CPU times, milliseconds.
    pub cpu_ms: Vec<u64>,
    /// Wall times, milliseconds.
    pub wall_ms: Vec<u64>,
    /// Peak memory of the tool, KiB; None: not known.
    pub memory_kib: Vec<Option<u64>>,
    /// The cores of the host.
    pub cpus: Vec<Vec<u32>>,
}

/// The comparison of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunComparison {
    /// `INSTANCE/EXAMINATION`
    pub run: String,
    /// Why times and memory are not compared; None: they are.
    pub not_compared: Option<&'static str>,
    /// The tests.
    pub tests: Tests,
    /// The repetitions of A.
    pub a: Repetitions,
    /// The repetitions of B.
    pub b: Repetitions,
}

/// One image in the report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContenderReport {
    /// The path of the image.
    pub image: PathBuf,
    /// The name of the tool, BK_TOOL.
    pub tool: String,
    /// `sequential` or `concurrent`
    pub kind: String,
    /// The digests of the disks, by role.
    pub disks: BTreeMap<String, String>,
}

/// The result of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparisonReport {
    /// The name of the edition.
    pub edition: String,
    /// BK_TIME_CONFINEMENT and the limit of CPU time per core, seconds.
    pub limit_s: u32,
    /// Number of repetitions of each run by each image.
    pub repetitions: u32,
    /// The level of the intervals.
    pub confidence: f64,
    /// The share of comparisons in which a difference of the size `PairedTest::detectable` is found.
    pub power: f64,
    /// The first image.
    pub a: ContenderReport,
    /// The second image.
    pub b: ContenderReport,
    /// Whether all repetitions of A and B give the same values.
    pub same_answers: bool,
    /// Number of positions with a value.
    pub values: usize,
    /// The positions whose values differ.
    pub different_values: Vec<DifferentValues>,
    /// Marks of the conditions of host and guest, such as `degraded:tcg` and `restored`, with the number of repetitions that
    /// have them.
    pub conditions: BTreeMap<String, usize>,
    /// Number of pairs whose repetitions had different cores of the host.
    pub pairs_on_different_cores: usize,
    /// Why instructions of A and B are not compared; empty: they are.
    pub not_counted: BTreeSet<String>,
    /// The tests over all runs whose metrics are compared.
    pub tests: Tests,
    /// The runs, in the order of the plan.
    pub runs: Vec<RunComparison>,
}

/// The record of one image, and what its machines need.
struct Side<'a> {
    name: &'static str,
    runs: &'a Qualification,
    prepared: PreparedCampaign,
    record: Record,
    disks: CampaignDisks,
}

impl Comparison<'_> {
    /// Makes `repetitions` pairs of each run, with the records in the folders `A` and `B` of `out`. Continues existing records.
    ///
    /// # Errors
    /// A campaign cannot be prepared, a run cannot be made or was stopped, or a record cannot be read.
    pub fn run(&self, repetitions: NonZero<u32>, out: &Path) -> Result<ComparisonReport, QualifyError> {
        let [a, b] = &self.contenders;
        let sides = [self.side("A", a, out)?, self.side("B", b, out)?];
        let host = Host::prepare(sides[0].prepared.campaign.hosts.backend, self.allow_degraded)?;
        let runs = a.runs.runs.len();
        let (mut made, all) = (0, 2 * runs * repetitions.get() as usize);
        for repetition in 1..=repetitions.get() as usize {
            for number in 0..runs {
                let order = if (repetition + number) % 2 == 1 { [0, 1] } else { [1, 0] };
                for side in order.map(|side| &sides[side]) {
                    let run = &side.runs.runs[number].0;
                    made += 1;
                    (self.show)(made, all, &format!("{} {}/{}", side.name, run.instance, run.examination));
                    side.repeat(run, repetition, &host, self.stop)?;
                }
            }
        }
        self.report(&sides, repetitions)
    }

    fn side<'a>(
        &self,
        name: &'static str,
        contender: &'a Contender,
        out: &Path,
    ) -> Result<Side<'a>, QualifyError> {
        let Contender { runs, image, ssh_key } = contender;
        let out = out.join(name);
        let prepared = runs.prepare(image, *ssh_key, None, &out)?;
        let (record, disks) = prepared.record(&out, false, Record::create_or_open, self.show_inputs)?;
        record.reopen_infrastructure()?;
        Ok(Side { name, runs, prepared, record, disks })
    }

    fn report(&self, sides: &[Side; 2], repetitions: NonZero<u32>) -> Result<ComparisonReport, QualifyError> {
        let [a, b] = &self.contenders;
        let (mut runs, mut all, mut values) = (vec![], vec![], 0);
        let (mut different, mut conditions) = (vec![], BTreeMap::<String, usize>::new());
        for (number, (run, _)) in a.runs.runs.iter().enumerate() {
            let mut attempts = [vec![], vec![]];
            let mut answers = [vec![], vec![]];
            for (side, (attempts, answers)) in sides.iter().zip(attempts.iter_mut().zip(&mut answers)) {
                let (run, questions) = &side.runs.runs[number];
                *attempts = side.repetitions(run)?;
                attempts.truncate(repetitions.get() as usize);
                for attempt in &*attempts {
                    let stdout = side.record.output(attempt, "stdout");
                    let read = stdout.and_then(|stdout| {
                        stdout.read(|content| {
                            Answers::read_file(content, &questions.questions, Reading::default())
                        })
                    });
                    let path = || side.record.outputs_dir(&run.id(), attempt.number).join("stdout");
                    answers.push(read.on("read", path())?);
                    let chosen = [Mark::RESTORED, Mark::DETERMINISTIC_GUEST];
                    let is_condition = |mark: &&Mark| mark.is_degraded() || chosen.contains(mark);
                    for mark in attempt.marks.iter().filter(is_condition) {
                        *conditions.entry(mark.to_string()).or_default() += 1;
                    }
                }
            }
            let name = format!("{}/{}", run.instance, run.examination);
            let (differing, answered) = different_values(&name, [&answers[0], &answers[1]]);
            different.extend(differing);
            values += answered;
            let [a, b] = attempts.map(|attempts| Repetitions::from_attempts(&attempts));
            let (comparison, logarithms) = RunComparison::from_repetitions(name, a, b);
            all.extend(comparison.not_compared.is_none().then_some(logarithms));
            runs.push(comparison);
        }
        let different_cores =
            |run: &RunComparison| run.a.cpus.iter().zip(&run.b.cpus).filter(|(a, b)| a != b).count();
        let over_runs = [0, 1, 2, 3].map(|metric| {
            let runs = all.iter().filter_map(|run: &RunLogarithms| run[metric].clone()).collect::<Vec<_>>();
            Logarithms::over_runs(&runs, repetitions.get() as usize)
        });
        let settings = &a.runs.settings;
        Ok(ComparisonReport {
            edition: settings.edition.name.clone(),
            limit_s: settings.limit_s.get(),
            repetitions: repetitions.get(),
            confidence: paired::CONFIDENCE,
            power: paired::POWER,
            a: contender_report(a, &sides[0]),
            b: contender_report(b, &sides[1]),
            same_answers: different.is_empty(),
            values,
            different_values: different,
            conditions,
            pairs_on_different_cores: runs.iter().map(different_cores).sum(),
            not_counted: runs.iter().flat_map(RunComparison::not_counted).collect(),
            tests: Tests::new(&over_runs),
            runs,
        })
    }
}

fn contender_report(contender: &Contender, side: &Side) -> ContenderReport {
    let disks = side.record.facts().disks.iter();
    ContenderReport {
        image: contender.image.to_owned(),
        tool: contender.runs.settings.entry.to_string(),
        kind: contender.runs.settings.kind.word().to_owned(),
        disks: disks.map(|disk| (disk.role.clone(), disk.sha256.clone())).collect(),
    }
}

impl Side<'_> {
    /// Makes this repetition of a run, if it is not recorded yet.
    fn repeat(
        &self,
        run: &Run,
        repetition: usize,
        host: &Host,
        stop: &AtomicBool,
    ) -> Result<(), QualifyError> {
        let id = run.id();
        let recorded = self.repetitions(run)?.len();
        let mut is_open = false;
        for open in self.record.open_runs() {
            is_open |= open?.run.id() == id;
        }
        // An open run with an attempt has only infrastructure failures in its last repetition.
        if recorded > repetition || recorded == repetition && !is_open {
            return Ok(());
        }
        if !is_open {
            self.record.rerun(|run| run.id() == id, &format!("repetition {repetition}"))?;
        }
        let settings = RunSettings {
            jobs: Some(1),
            ..self.prepared.settings(host, (&self.record, self.disks.clone()), stop)
        };
        let end = CampaignRunner::new(settings)?.run(&|run| run.id() == id, &|_| {})?;
        let last = self.repetitions(run)?.into_iter().nth(repetition - 1);
        match last.map(|attempt| attempt.outcome) {
            _ if end == CampaignEnd::Stopped || stop.load(Ordering::Relaxed) => Err(QualifyError::Stopped),
            Some(outcome) if outcome.is_infrastructure() => Err(QualifyError::NoPair(format!(
                "{}, run {id}: {outcome}; correct the cause. With --out the same command then repeats this run and \
                 continues",
                self.name
            ))),
            Some(_) => Ok(()),
            None => Err(QualifyError::Stopped),
        }
    }

    /// The last attempt of each repetition of a run. Each repetition but the first begins with a decision to repeat the run.
    fn repetitions(&self, run: &Run) -> Result<Vec<Attempt>, QualifyError> {
        let mut attempts = self.record.attempts(&run.id())?.into_iter().peekable();
        let ends = self.record.reruns(&run.id())?.into_iter().map(|rerun| rerun.after);
        let of_repetition =
            |end| std::iter::from_fn(|| attempts.next_if(|attempt| attempt.number <= end)).last();
        Ok(ends.chain([u32::MAX]).filter_map(of_repetition).collect())
    }
}

impl Repetitions {
    fn from_attempts(attempts: &[Attempt]) -> Self {
        let facts = || attempts.iter().filter_map(|attempt| attempt.facts.as_ref());
        let sources: BTreeSet<_> = facts().map(|facts| format!("{:?}", facts.memory_source)).collect();
        Self {
            ends: attempts.iter().map(|attempt| attempt.outcome.to_string()).collect(),
            instructions: facts().map(|facts| facts.instructions.as_ref()?.user()).collect(),
            instructions_sources: attempts.iter().filter_map(Attempt::instructions_source).collect(),
            cpu_ms: facts().map(|facts| facts.cpu_ms).collect(),
            wall_ms: facts().map(|facts| facts.wall_ms).collect(),
            // Values of different sources cannot be compared.
            memory_kib: facts().map(|facts| facts.memory_kib.filter(|_| sources.len() == 1)).collect(),
            cpus: attempts.iter().map(|attempt| attempt.environment.cpus.clone()).collect(),
        }
    }
}

/// The logarithms of instructions, CPU time, wall time and memory of a run; None: not known.
type RunLogarithms = [Option<Logarithms>; 4];

impl Tests {
    fn new([instructions, cpu, wall, memory]: &RunLogarithms) -> Self {
        Self {
            instructions: instructions.as_ref().and_then(Logarithms::test_instructions),
            cpu_time: cpu.as_ref().and_then(Logarithms::test),
            wall_time: wall.as_ref().and_then(Logarithms::test),
            memory: memory.as_ref().and_then(Logarithms::test),
        }
    }
}

impl RunComparison {
    /// Why instructions of this run are not compared though its other metrics are.
    fn not_counted(&self) -> BTreeSet<String> {
        if self.tests.instructions.is_some() || self.not_compared.is_some() {
            return BTreeSet::new();
        }
        let sources = [&self.a, &self.b].map(|side| side.instructions_sources.clone());
        sources.into_iter().flatten().collect()
    }

    fn from_repetitions(run: String, a: Repetitions, b: Repetitions) -> (Self, RunLogarithms) {
        let ends: BTreeSet<&String> = a.ends.iter().chain(&b.ends).collect();
        let finished = Outcome::Finished { exit_code: 0 }.word();
        let not_compared = if ends.len() > 1 {
            Some("not all repetitions ended in the same way")
        } else if !ends.iter().all(|end| end.starts_with(finished)) {
            Some("the tool did not end by itself")
        } else if a.cpu_ms.len() != a.ends.len() || b.cpu_ms.len() != b.ends.len() {
            Some("not all repetitions were measured")
        } else {
            None
        };
        let known = |values: &[Option<u64>]| values.iter().copied().collect::<Option<Vec<u64>>>();
        // Counts of different sources or versions of QEMU cannot be compared.
        let same_source =
            a.instructions_sources == b.instructions_sources && a.instructions_sources.len() == 1;
        let instructions = known(&a.instructions).zip(known(&b.instructions)).filter(|_| same_source);
        let memory = known(&a.memory_kib).zip(known(&b.memory_kib));
        let times = [&a.cpu_ms, &a.wall_ms].into_iter().zip([&b.cpu_ms, &b.wall_ms]);
        let times = times.map(|(a, b)| Some((a.clone(), b.clone())));
        let metrics = [instructions].into_iter().chain(times).chain([memory]);
        let mut logarithms: RunLogarithms = [const { None }; 4];
        for (metric, into) in metrics.zip(&mut logarithms) {
            let compared = metric.filter(|_| not_compared.is_none());
            *into = compared.map(|(a, b)| Logarithms::new(a.into_iter().zip(b)));
        }
        let tests = Tests::new(&logarithms);
        (Self { run, not_compared, tests, a, b }, logarithms)
    }
}
