//! The runs of a contest as input of pictures, in one form for the MCC, SV-COMP and CRV.

use mcc_base::names::file_names;
use mcc_edition::{CpuReading, Edition, OtherEdition, Status};
use mcc_judge::judgement::{Entry, Judgement, ValueVerdict};
use mcc_other_contests::RunVerdict;
use std::collections::BTreeSet;

/// A measure of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// CPU time, in CRV execution time; milliseconds.
    Time,
    /// Peak memory, KiB.
    Memory,
    /// Instructions at user addresses.
    Instructions,
}

/// The name of the time that was measured.
pub(crate) struct Time {
    /// In a heading.
    pub head: &'static str,
    /// In a sentence.
    pub word: &'static str,
    /// As the column of a CSV.
    pub column: &'static str,
}

const CPU: Time = Time { head: "CPU time", word: "CPU time", column: "cpu_ms" };
/// CRV measures E_j, the execution time of the monitored program.
const EXECUTION: Time = Time { head: "Execution time", word: "execution time", column: "time_ms" };

/// The runs of a contest, by examination (MCC) or category (SV-COMP, CRV).
pub struct Runs<'a> {
    /// Names by entry number. Entries that are left out of pictures (rules P-3, P-4) have no run.
    pub(crate) entries: Vec<String>,
    /// The examinations or categories that have runs, in their order.
    pub(crate) groups: Vec<&'a str>,
    /// Their names on pages and in pictures.
    pub(crate) titles: Vec<String>,
    /// What a tool solves: `values`, `instances` or `benchmarks`.
    pub(super) what: &'static str,
    /// `examination` or `category`, as in files.
    pub(super) group_key: &'static str,
    /// `examination`, `category` or `track`, as in titles.
    pub(super) group_word: &'static str,
    pub(crate) time: Time,
    pub(crate) blocks: Vec<Block<'a>>,
    /// Limits of the CPU time in ms: none, one, or one for sequential and one for concurrent tools.
    pub(super) time_limits: Vec<u64>,
    /// Limit of the memory in KiB.
    pub(super) memory_limit: Option<u64>,
}

/// The runs of all entries on one instance in one group.
pub(crate) struct Block<'a> {
    pub group: usize,
    pub instance: &'a str,
    pub runs: Vec<Run<'a>>,
}

pub(crate) struct Run<'a> {
    pub entry: usize,
    /// By position.
    pub verdicts: &'a [ValueVerdict],
    /// When the values arrived, by position, ms since the tool's start; empty if no time is known.
    pub arrived_ms: &'a [Option<u64>],
    pub cpu_ms: Option<u64>,
    pub memory_kib: Option<u64>,
    pub instructions_user: Option<u64>,
}

impl Run<'_> {
    /// The number of values with this verdict.
    pub fn count(&self, wanted: ValueVerdict) -> u64 {
        self.verdicts.iter().filter(|verdict| **verdict == wanted).count() as u64
    }

    pub fn solved(&self) -> bool {
        self.verdicts.contains(&ValueVerdict::Right)
    }

    /// When the right values arrived, in ms; None for a value whose time is not known.
    pub fn right_arrivals(&self) -> impl Iterator<Item = Option<u64>> {
        let right = self.verdicts.iter().enumerate().filter(|(_, verdict)| **verdict == ValueVerdict::Right);
        right.map(|(position, _)| self.arrived_ms.get(position).copied().flatten())
    }

    pub fn value(&self, measure: Measure) -> Option<u64> {
        match measure {
            Measure::Time => self.cpu_ms,
            Measure::Memory => self.memory_kib,
            Measure::Instructions => self.instructions_user,
        }
    }
}

impl<'a> Runs<'a> {
    /// The runs of a judgement of the MCC.
    pub fn of_contest(judgement: &'a Judgement) -> Self {
        let (groups, number) = used(judgement.blocks.iter().map(|block| block.examination));
        let shown = |entry: usize| shown(&judgement.entries[entry]);
        let block = |block: &'a mcc_judge::judgement::Block| Block {
            group: number(block.examination),
            instance: &judgement.instances[block.instance].instance,
            runs: block
                .cells
                .iter()
                .filter(|cell| shown(cell.entry))
                .map(|cell| Run {
                    entry: cell.entry,
                    verdicts: &cell.verdicts,
                    arrived_ms: &cell.arrived_ms,
                    cpu_ms: cell.cost.map(|cost| cost.cpu_ms),
                    memory_kib: cell.cost.and_then(|cost| cost.memory_kib),
                    instructions_user: cell.cost.and_then(|cost| cost.instructions_user),
                })
                .collect(),
        };
        Self {
            entries: names(&judgement.entries),
            groups: groups.iter().map(|&group| judgement.examinations[group].as_str()).collect(),
            titles: groups.iter().map(|&group| judgement.examinations[group].clone()).collect(),
            what: "values",
            group_key: "examination",
            group_word: "examination",
            time: CPU,
            blocks: judgement.blocks.iter().map(block).collect(),
            time_limits: time_limits(&judgement.edition, |_| true),
            memory_limit: Some(judgement.edition.machine.memory_mib.saturating_mul(1024)),
        }
    }

    /// The runs of a judgement of SV-COMP or CRV. If only points were judged, there is no run and no picture.
    pub fn of_other_contest(judgement: &'a mcc_other_contests::Judgement) -> Self {
        let (groups, number) = used(judgement.blocks.iter().map(|block| block.category));
        let block = |block: &'a mcc_other_contests::Block| Block {
            group: number(block.category),
            instance: &block.instance,
            runs: block
                .cells
                .iter()
                .filter(|cell| shown(&judgement.entries[cell.entry]))
                .map(|cell| Run {
                    entry: cell.entry,
                    verdicts: match cell.verdict {
                        RunVerdict::Right => &[ValueVerdict::Right],
                        RunVerdict::Wrong => &[ValueVerdict::Wrong],
                        RunVerdict::Unconfirmed | RunVerdict::Unjudged => &[ValueVerdict::Unjudged],
                        _ => &[ValueVerdict::NotComputed],
                    },
                    arrived_ms: &[],
                    cpu_ms: cell.measurement(&["cpu_s", "time_s"], 1000),
                    // 1 MB is a million bytes.
                    memory_kib: cell.measurement(&["memory_mb"], 1_000_000).map(|bytes| bytes / 1024),
                    instructions_user: None,
                })
                .collect(),
        };
        Self {
            entries: names(&judgement.entries),
            groups: groups.iter().map(|&group| judgement.categories[group].category.as_str()).collect(),
            titles: groups.iter().map(|&group| judgement.category_title(group)).collect(),
            what: match judgement.edition {
                OtherEdition::Svcomp(_) => "instances",
                OtherEdition::Crv(_) => "benchmarks",
            },
            group_key: "category",
            group_word: judgement.category_word(),
            time: match judgement.edition {
                OtherEdition::Svcomp(_) => CPU,
                OtherEdition::Crv(_) => EXECUTION,
            },
            blocks: judgement.blocks.iter().map(block).collect(),
            time_limits: vec![],
            memory_limit: None,
        }
    }

    /// Keeps only the limits of the kinds of tools that take part.
    pub(crate) fn keep_limits(&mut self, edition: &Edition, kinds: &[&str]) {
        self.time_limits = time_limits(edition, |kind| kinds.contains(&kind));
    }

    /// Leaves out the instances that must not be named (rule M-6).
    pub(crate) fn leave_out(&mut self, hidden: impl Fn(&str) -> bool) {
        self.blocks.retain(|block| !hidden(block.instance));
    }

    /// The blocks of a group; all blocks without a group.
    pub(super) fn blocks_of(&self, group: Option<usize>) -> impl Iterator<Item = &Block<'a>> {
        self.blocks.iter().filter(move |block| group.is_none_or(|group| block.group == group))
    }

    /// Whether any run has this measure.
    pub(crate) fn is_measured(&self, measure: Measure) -> bool {
        self.blocks.iter().flat_map(|block| &block.runs).any(|run| run.value(measure).is_some())
    }

    /// The name of a picture: `solved`, or `solved-StateSpace` for a group.
    pub(super) fn name(&self, what: &str, group: Option<usize>) -> String {
        group.map_or(what.to_owned(), |group| {
            format!("{what}-{}", file_names(self.groups.iter().copied())[group])
        })
    }

    /// The group in a title: `in StateSpace`, `over all examinations`.
    pub(super) fn place(&self, group: Option<usize>) -> String {
        match (group, self.group_word) {
            (Some(group), _) => format!("in {}", self.titles[group]),
            (None, "category") => "over all categories".to_owned(),
            (None, word) => format!("over all {word}s"),
        }
    }

    pub(super) fn limits(&self, measure: Measure) -> Vec<u64> {
        match measure {
            Measure::Time => self.time_limits.clone(),
            Measure::Memory => self.memory_limit.into_iter().collect(),
            Measure::Instructions => vec![],
        }
    }
}

fn names(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(|entry| entry.entry.clone()).collect()
}

/// Entries of pictures. A virtual entry is not a tool: it repeats the values of others.
pub(crate) fn shown(entry: &Entry) -> bool {
    !matches!(entry.status, Status::Resigned | Status::Withdrawn | Status::Virtual)
}

/// The different numbers in order, and a function that returns the index of a number among them.
fn used(numbers: impl Iterator<Item = usize>) -> (Vec<usize>, impl Fn(usize) -> usize) {
    let used: Vec<usize> = numbers.collect::<BTreeSet<_>>().into_iter().collect();
    (used.clone(), move |number| used.partition_point(|&other| other < number))
}

/// The limits of the CPU time of a run in ms, of the kinds of tools (`sequential`, `concurrent`) that occur. If the
/// edition counts CPU time per vCPU, the limit of a concurrent tool is the limit times its number of cores (E-5.1).
pub(crate) fn time_limits(edition: &Edition, occurs: impl Fn(&str) -> bool) -> Vec<u64> {
    let ms = |cores: u32| edition.limits.cpu_s.saturating_mul(1000).saturating_mul(cores.into());
    let kinds =
        [("sequential", edition.machine.sequential_cores), ("concurrent", edition.machine.concurrent_cores)];
    let limits = match edition.limits.cpu_reading {
        CpuReading::PerVcpu => {
            kinds.into_iter().filter(|(kind, _)| occurs(kind)).map(|(_, cores)| ms(cores)).collect()
        }
        CpuReading::Summed => vec![ms(1)],
        CpuReading::Benchkit => vec![],
    };
    let limits: BTreeSet<u64> = limits.into_iter().filter(|&limit| limit > 0).collect();
    limits.into_iter().collect()
}
