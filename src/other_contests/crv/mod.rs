//! Judges CRV (section 4 of its report of 2014): points for correctness, and points for overhead and memory that the tools
//! share.

mod printed;
mod source;

pub use source::{CrvError, read};

use crate::{
    Block, Category, Cell, Contender, Judgement, Measure, PlaceNote, Points, RunVerdict, Score, Ties,
};
use mcc_edition::crv::{CrvEdition, Monitoring};
use mcc_edition::{OtherEdition, Status, StatusRule};
use mcc_judge::judgement::{Entry, InputDigest};
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use std::collections::{BTreeMap, BTreeSet};

/// The parts of points, in the order of `Judgement::parts`.
pub(crate) const PARTS: [&str; 3] = ["correctness", "overhead", "memory"];

/// The input of judging.
#[derive(Debug, Default)]
pub struct Results {
    /// Rows of measurements.
    pub experiments: Vec<Experiment>,
    /// Rows of printed totals.
    pub totals: Vec<Total>,
    /// Digests of the files.
    pub inputs: Vec<InputDigest>,
    /// Notes for the judgement, such as files that were not read.
    pub notes: Vec<String>,
}

/// One row of measurements: one experiment of a tool on a benchmark.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Index of the track in the edition.
    pub track: usize,
    /// Name of the benchmark.
    pub benchmark: String,
    /// Name of the tool.
    pub tool: String,
    /// The verdict of the tool as written: `T`, `F`, `T/O`, `N/A`.
    pub answer: String,
    /// The expected verdict; None if the table has printed scores instead.
    pub expected: Option<String>,
    /// How the experiment ended.
    pub outcome: Outcome,
    /// Memory in megabytes.
    pub memory_mb: Option<BigRational>,
    /// Execution time in seconds.
    pub time_s: Option<BigRational>,
    /// Execution time of the program without a monitor, in seconds (E_j).
    pub base_time_s: Option<BigRational>,
    /// Printed scores: correctness, overhead, memory.
    pub printed: Option<[BigRational; 3]>,
}

impl Experiment {
    /// The expected verdict of the table, else the answer if its printed score is that of a right one.
    fn expected_verdict(&self) -> Option<&str> {
        let printed = self.outcome == Outcome::PrintedRight;
        self.expected.as_deref().or(printed.then_some(self.answer.as_str()))
    }
}

/// How an experiment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With a verdict; `answer` is compared with `expected`.
    Ok,
    /// With a verdict that is right according to the printed correctness score.
    PrintedRight,
    /// With a verdict that is wrong according to the printed correctness score.
    PrintedWrong,
    /// The monitor or the monitored program crashed.
    Crash,
    /// No verdict in time.
    Timeout,
    /// The property cannot be written in the language of the tool.
    Inexpressible,
}

/// A row of printed totals.
#[derive(Clone, Debug)]
pub struct Total {
    /// Index of the track in the edition.
    pub track: usize,
    /// Name of the tool.
    pub tool: String,
    /// Correctness, overhead, memory.
    pub parts: [BigRational; 3],
    /// The printed sum of the parts.
    pub total: BigRational,
}

/// The result of a tool on a benchmark over all its experiments.
struct BenchmarkResult {
    tool: usize,
    answer: String,
    verdict: RunVerdict,
    why: String,
    correctness: BigRational,
    time: Option<Measure>,
    memory: Option<Measure>,
}

/// The experiments of a benchmark, by entry number.
type ExperimentsByEntry<'a> = BTreeMap<usize, Vec<&'a Experiment>>;

/// Judges all results by an edition.
///
/// # Errors
/// A result names a track that the edition does not have.
pub fn judge(edition: &CrvEdition, mut results: Results) -> Result<Judgement, CrvError> {
    let tracks = edition.tracks.len();
    let named = results.experiments.iter().map(|experiment| (experiment.track, &experiment.tool));
    let mut named = named.chain(results.totals.iter().map(|total| (total.track, &total.tool)));
    if let Some((track, tool)) = named.find(|(track, _)| *track >= tracks) {
        return Err(CrvError::Refused(format!(
            "a result of {tool} is in track {track}, but the edition has {tracks} tracks, counted from 0"
        )));
    }
    let status = |name: &str| StatusRule::status_of(&edition.statuses, name);
    // A resigned entry is removed everywhere (P-4); a withdrawn entry is named, but not judged (P-3).
    let mut entries = entries(edition, &results);
    entries.retain(|entry| entry.status != Status::Resigned);
    results.experiments.retain(|experiment| status(&experiment.tool).is_judged());
    results.totals.retain(|total| status(&total.tool).is_judged());
    let blocks = blocks(edition, &entries, &results.experiments)?;
    results.notes.extend(printed::contradictions(edition, &results, &entries, &blocks));
    results.notes.extend(different_base_times(edition, &results.experiments));
    let scores = scores(&entries, &blocks, &results.totals)?;
    for total in &results.totals {
        let entry = number(&entries, &total.tool)?;
        if !scores.contains_key(&(total.track, entry)) {
            results.notes.push(format!(
                "{} has a printed total in track {} and no measurements, which others have: it has no score there",
                total.tool, edition.tracks[total.track].name
            ));
        }
    }
    let tracks: BTreeSet<usize> = scores.keys().map(|(track, _)| *track).collect();
    let podiums = tracks.iter().map(|track| {
        let here = scores.values().filter(|score| score.category == *track);
        let contenders = here.map(|score| Contender {
            entry: score.entry,
            points: score.points.clone().map_or_else(BigRational::zero, |Points(points)| points),
            success_cpu_s: None,
            note: score.note.clone(),
        });
        crate::podium(*track, &entries, contenders.collect(), &Ties::Margin(&edition.tie_margin))
    });
    let podiums = podiums.collect();
    let categories = edition.tracks.iter().enumerate().map(|(number, track)| Category {
        category: track.name.clone(),
        parent: None,
        more_parents: Vec::new(),
        tasks: blocks.iter().filter(|block| block.category == number).count() as u64,
        held: tracks.contains(&number),
        note: if tracks.contains(&number) { String::new() } else { "no result".to_owned() },
    });
    results.inputs.sort_by(|a, b| (&a.file, &a.sha256).cmp(&(&b.file, &b.sha256)));
    Ok(Judgement {
        contest: "crv".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        edition: OtherEdition::Crv(edition.without_resigned()),
        inputs: results.inputs,
        notes: results.notes,
        categories: categories.collect(),
        entries,
        parts: PARTS.map(str::to_owned).to_vec(),
        blocks,
        scores: scores.into_values().collect(),
        podiums,
        quantiles: Vec::new(),
    })
}

/// All entries with an experiment or a total, sorted by name.
fn entries(edition: &CrvEdition, results: &Results) -> Vec<Entry> {
    let measured = results.experiments.iter().map(|experiment| &experiment.tool);
    let names: BTreeSet<&String> = measured.chain(results.totals.iter().map(|total| &total.tool)).collect();
    let entry = |name: &String| Entry {
        entry: name.clone(),
        tool: name.clone(),
        status: StatusRule::status_of(&edition.statuses, name),
        note: StatusRule::note_of(&edition.statuses, name).to_owned(),
    };
    names.into_iter().map(entry).collect()
}

/// The number of an entry; `entries` are sorted by name.
///
/// # Errors
/// No entry has that name.
fn number(entries: &[Entry], name: &str) -> Result<usize, CrvError> {
    let found = entries.binary_search_by(|known| known.entry.as_str().cmp(name));
    found.map_err(|_| {
        CrvError::Refused(format!(
            "{name} has results, but is not among the entries of the judgement; add it, or remove its results"
        ))
    })
}

/// The most tools in a track. The points of a tool are fractions whose length grows with all measurements of the track. In
/// 2014 a track had at most four tools.
const MAX_TOOLS: usize = 60;
/// The most pairs of a tool and a benchmark in a track.
const MAX_RESULTS: usize = 500;

/// One block for each benchmark of each track, in natural order: benchmark 2 before 10.
fn blocks(
    edition: &CrvEdition,
    entries: &[Entry],
    experiments: &[Experiment],
) -> Result<Vec<Block>, CrvError> {
    let mut grouped: BTreeMap<(usize, u64, &str), ExperimentsByEntry> = BTreeMap::new();
    for experiment in experiments {
        let order = experiment.benchmark.parse::<u64>().unwrap_or(u64::MAX);
        let block = grouped.entry((experiment.track, order, &experiment.benchmark)).or_default();
        block.entry(number(entries, &experiment.tool)?).or_default().push(experiment);
    }
    let block = |((track, _, benchmark), by_entry): (&(usize, u64, &str), &ExperimentsByEntry)| Block {
        category: *track,
        instance: (*benchmark).to_owned(),
        property: String::new(),
        // `read` rejects tables that differ on it.
        expected: by_entry
            .values()
            .flatten()
            .find_map(|experiment| experiment.expected_verdict())
            .unwrap_or_default()
            .to_owned(),
        cells: cells(edition, entries, by_entry),
    };
    let mut results_of_track: BTreeMap<usize, (BTreeSet<usize>, usize)> = BTreeMap::new();
    for ((track, ..), by_entry) in &grouped {
        let (tools, results) = results_of_track.entry(*track).or_default();
        tools.extend(by_entry.keys());
        *results += by_entry.len();
    }
    for (track, (tools, results)) in results_of_track {
        if tools.len() > MAX_TOOLS || results > MAX_RESULTS {
            return Err(CrvError::Refused(format!(
                "track {} has {} tools with {results} results on benchmarks; exact points are computed for at most {MAX_TOOLS} tools \
                 and {MAX_RESULTS} results in a track: check its columns, or split the track",
                edition.tracks[track].name,
                tools.len()
            )));
        }
    }
    Ok(grouped.iter().map(block).collect())
}

/// The result of each entry on a benchmark.
fn cells(edition: &CrvEdition, entries: &[Entry], by_entry: &ExperimentsByEntry) -> Vec<Cell> {
    let benchmark_results: Vec<BenchmarkResult> =
        by_entry.iter().map(|(tool, experiments)| benchmark_result(edition, *tool, experiments)).collect();
    let overheads = shares(edition, entries, &benchmark_results, |result| result.time.as_ref());
    let memories = shares(edition, entries, &benchmark_results, |result| result.memory.as_ref());
    let cell = |((result, overhead), memory): ((BenchmarkResult, BigRational), BigRational)| {
        let parts = [result.correctness, overhead, memory];
        Cell {
            entry: result.tool,
            answer: result.answer,
            verdict: result.verdict,
            why: result.why,
            recorded: String::new(),
            points: parts.iter().sum(),
            parts: parts.map(Points).to_vec(),
            measured: result.time.into_iter().chain(result.memory).collect(),
        }
    };
    benchmark_results.into_iter().zip(overheads).zip(memories).map(cell).collect()
}

/// The scores by track and entry: the sums over the blocks, or the printed totals of a track without blocks.
fn scores(
    entries: &[Entry],
    blocks: &[Block],
    totals: &[Total],
) -> Result<BTreeMap<(usize, usize), Score>, CrvError> {
    let mut cells: BTreeMap<(usize, usize), Vec<&Cell>> = BTreeMap::new();
    for block in blocks {
        for cell in &block.cells {
            cells.entry((block.category, cell.entry)).or_default().push(cell);
        }
    }
    let score = |((category, entry), cells): ((usize, usize), Vec<&Cell>)| {
        let count = |verdict| cells.iter().filter(|cell| cell.verdict == verdict).count() as u64;
        let part = |part: usize| Points(sum(cells.iter().map(|cell| cell.parts[part].0.clone()).collect()));
        let score = Score {
            right: count(RunVerdict::Right),
            wrong: count(RunVerdict::Wrong),
            parts: (0..PARTS.len()).map(part).collect(),
            points: Some(Points(sum(cells.iter().map(|cell| cell.points.clone()).collect()))),
            ..zero_score(entry, category)
        };
        ((category, entry), score)
    };
    let mut scores: BTreeMap<(usize, usize), Score> = cells.into_iter().map(score).collect();
    let measured: BTreeSet<usize> = blocks.iter().map(|block| block.category).collect();
    for total in totals.iter().filter(|total| !measured.contains(&total.track)) {
        let tool = number(entries, &total.tool)?;
        let parts = total.parts.iter().cloned().map(Points).collect();
        let note = PlaceNote::TotalsOnly.in_files().to_owned();
        let points = Some(Points(total.total.clone()));
        scores.insert((total.track, tool), Score { parts, points, note, ..zero_score(tool, total.track) });
    }
    Ok(scores)
}

/// Sums numbers in pairs and reduces the result once: one after the other takes time in the cube of their number.
fn sum(mut numbers: Vec<BigRational>) -> BigRational {
    while numbers.len() > 1 {
        let pairs = numbers.chunks(2).map(|pair| match pair {
            [a, b] => {
                let numerator = a.numer() * b.denom() + b.numer() * a.denom();
                BigRational::new_raw(numerator, a.denom() * b.denom())
            }
            _ => pair[0].clone(),
        });
        numbers = pairs.collect();
    }
    numbers.pop().map_or_else(BigRational::zero, |number| number.reduced())
}

fn zero_score(entry: usize, category: usize) -> Score {
    let zero = || Points(BigRational::zero());
    let parts = PARTS.map(|_| zero()).to_vec();
    Score { entry, category, points: Some(zero()), parts, ..Score::default() }
}

/// Section 4.1 for one experiment. `late`: the online verdict came after the timeout.
fn correctness(
    edition: &CrvEdition,
    experiment: &Experiment,
    late: bool,
) -> (BigRational, RunVerdict, &'static str) {
    let points = &edition.correctness;
    let online = edition.tracks[experiment.track].monitoring == Monitoring::Online;
    let wrong = (&points.wrong, RunVerdict::Wrong, "");
    let right = (&points.right, RunVerdict::Right, "");
    let (points, verdict, why) = match experiment.outcome {
        Outcome::Inexpressible => (&points.inexpressible, RunVerdict::Inexpressible, ""),
        Outcome::Crash if online => {
            (&points.crash_online, RunVerdict::Crash, "the monitored program crashed")
        }
        Outcome::Crash => (&points.crash_offline, RunVerdict::Crash, "the monitor crashed"),
        Outcome::Timeout => (&points.timeout_online, RunVerdict::Timeout, "no verdict in time"),
        Outcome::Ok if online && late => (&points.timeout_online, RunVerdict::Timeout, "no verdict in time"),
        Outcome::Ok if experiment.expected.as_ref() == Some(&experiment.answer) => right,
        Outcome::Ok => wrong,
        Outcome::PrintedRight => right,
        Outcome::PrintedWrong => wrong,
    };
    (points.clone(), verdict, why)
}

/// Compares means, because measurements are averaged before they are scored.
fn is_late(edition: &CrvEdition, time: &Measure, base: &Measure) -> bool {
    time.mean > &base.mean * &edition.timeout_factor
}

/// Combines the experiments of a tool on a benchmark: the mean of each measurement, the least points of the verdicts.
fn benchmark_result(edition: &CrvEdition, tool: usize, experiments: &[&Experiment]) -> BenchmarkResult {
    let mean = |what, value: fn(&Experiment) -> &Option<BigRational>| {
        mean(what, experiments.iter().filter_map(|experiment| value(experiment).as_ref()))
    };
    let (time, base) = (
        mean("time_s", |experiment| &experiment.time_s),
        mean("base_time_s", |experiment| &experiment.base_time_s),
    );
    let late = time.iter().zip(&base).any(|(time, base)| is_late(edition, time, base));
    let judged = experiments
        .iter()
        .map(|experiment| (correctness(edition, experiment, late), experiment.answer.clone()));
    let mut judged: Vec<_> = judged.collect();
    // Sorts by points, then by text, so that the order of the rows has no effect.
    judged.sort();
    let differ = judged.iter().any(|(other, _)| *other != judged[0].0);
    let ((correctness, verdict, why), answer) = judged.swap_remove(0);
    let why = if differ {
        format!("{} experiments of different verdicts: the worst counts", experiments.len())
    } else {
        why.to_owned()
    };
    let scored = |measure: Option<Measure>| measure.filter(|_| correctness.is_positive());
    let (time, memory) = (scored(time), scored(mean("memory_mb", |experiment| &experiment.memory_mb)));
    BenchmarkResult { tool, answer, verdict, why, correctness, time, memory }
}

/// Notes on verdicts in time that would be late by the rows of another tool: the time of the program without a monitor is
/// one for all tools (section 4.1), and tables state it for each.
fn different_base_times(edition: &CrvEdition, experiments: &[Experiment]) -> Vec<String> {
    let mut benchmarks: BTreeMap<(usize, &str), BTreeMap<&str, Vec<&Experiment>>> = BTreeMap::new();
    for experiment in experiments {
        if edition.tracks[experiment.track].monitoring == Monitoring::Online {
            let tools = benchmarks.entry((experiment.track, &experiment.benchmark)).or_default();
            tools.entry(&experiment.tool).or_default().push(experiment);
        }
    }
    let mut notes = Vec::new();
    for ((track, benchmark), tools) in benchmarks {
        let base = |rows: &Vec<&Experiment>| {
            mean("base_time_s", rows.iter().filter_map(|row| row.base_time_s.as_ref()))
        };
        let shortest = tools.values().filter_map(base).min_by(|a, b| a.mean.cmp(&b.mean));
        let Some(shortest) = shortest else { continue };
        for (tool, rows) in &tools {
            let has_verdict = rows.iter().any(|row| row.outcome == Outcome::Ok);
            let time = mean("time_s", rows.iter().filter_map(|row| row.time_s.as_ref()));
            let late = time.filter(|time| has_verdict && is_late(edition, time, &shortest));
            let Some(time) = late else { continue };
            let in_time = match base(rows) {
                Some(own) if is_late(edition, &time, &own) => continue,
                Some(_) => "is in time by its own base_time_s, but late by the shorter one of another tool",
                None => "has no base_time_s, so it is not late, but it is late by that of another tool",
            };
            notes.push(format!(
                "track {}, {tool}: its verdict on benchmark {benchmark} {in_time}; a program has one time without a \
                 monitor",
                edition.tracks[track].name
            ));
        }
    }
    notes
}

/// The mean and range of measurements; None if there are none.
fn mean<'a>(what: &str, values: impl Iterator<Item = &'a BigRational>) -> Option<Measure> {
    let mut values: Vec<&BigRational> = values.collect();
    values.sort();
    let (least, most) = (*values.first()?, *values.last()?);
    let experiments = values.len() as u64;
    let sum: BigRational = values.iter().copied().sum();
    Some(Measure {
        what: what.to_owned(),
        mean: sum / BigRational::from_integer(experiments.into()),
        experiments,
        spread: (experiments > 1).then(|| (Points(least.clone()), Points(most.clone()))),
    })
}

/// Sections 4.2 and 4.3: the points are shared in proportion to 1/measurement (the geometric mean of the online
/// formula cancels). A missing measurement gets 0 and is not part of the sum. An entry that is not competing is not part
/// of the sum either, so that it does not reduce the points of others.
fn shares(
    edition: &CrvEdition,
    entries: &[Entry],
    benchmark_results: &[BenchmarkResult],
    measure_of: fn(&BenchmarkResult) -> Option<&Measure>,
) -> Vec<BigRational> {
    let index =
        |benchmark_result: &BenchmarkResult| measure_of(benchmark_result).map(|measure| measure.mean.recip());
    let competing =
        |benchmark_result: &&BenchmarkResult| entries[benchmark_result.tool].status == Status::Competing;
    let sum = sum(benchmark_results.iter().filter(competing).filter_map(index).collect());
    let share = |benchmark_result: &BenchmarkResult| match index(benchmark_result) {
        Some(index) if sum.is_positive() => &edition.shared_points * index / &sum,
        _ => BigRational::zero(),
    };
    benchmark_results.iter().map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_totals_of_an_unknown_entry_are_refused() {
        let known = Entry {
            entry: "a".to_owned(),
            tool: "a".to_owned(),
            status: Status::Competing,
            note: String::new(),
        };
        let total = |tool: &str| Total {
            track: 0,
            tool: tool.to_owned(),
            parts: PARTS.map(|_| BigRational::zero()),
            total: BigRational::zero(),
        };
        let judged = |tool: &str| scores(std::slice::from_ref(&known), &[], &[total(tool)]);
        assert_eq!(judged("a").unwrap().len(), 1);
        assert_eq!(judged("b").unwrap_err().to_string().split(" has").next(), Some("b"));
    }
}
