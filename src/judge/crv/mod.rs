//! Judging CRV (section 4 of its report of 2014): correctness, and what the tools share for overhead and memory.

mod printed;
mod source;

pub use source::{CrvError, read};

use crate::edition::crv::{CrvEdition, Monitoring};
use crate::edition::{SisterEdition, Status, StatusRule};
use crate::judge::judgement::{Entry, InputDigest};
use crate::judge::sister::{
    self, Block, Category, Cell, Judgement, Measure, Points, Score, Standing, Ties, Verdict,
};
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use std::collections::{BTreeMap, BTreeSet};

/// What points are made of, in the order of `Judgement::parts`.
const PARTS: [&str; 3] = ["correctness", "overhead", "memory"];

/// What is to be judged.
#[derive(Debug, Default)]
pub struct Results {
    pub experiments: Vec<Experiment>,
    pub totals: Vec<Total>,
    pub inputs: Vec<InputDigest>,
    pub notes: Vec<String>,
}

/// One row of measurements: a tool on a benchmark, once.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// By number.
    pub track: usize,
    pub benchmark: String,
    pub tool: String,
    /// As written: `T`, `F`, `T/O`, `N/A`.
    pub said: String,
    /// The right verdict; None where only printed scores tell.
    pub expected: Option<String>,
    pub outcome: Outcome,
    pub memory_mb: Option<BigRational>,
    /// Seconds.
    pub time_s: Option<BigRational>,
    /// Of the program without a monitor, seconds (E_j).
    pub base_time_s: Option<BigRational>,
    /// Printed scores: correctness, overhead, memory.
    pub printed: Option<[BigRational; 3]>,
}

impl Experiment {
    /// As a table says, else what was said where the printed score calls it right.
    fn right_verdict(&self) -> Option<&str> {
        let printed = self.outcome == Outcome::PrintedRight;
        self.expected.as_deref().or(printed.then_some(self.said.as_str()))
    }
}

/// How an experiment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With a verdict: `said` against `expected`.
    Ok,
    /// With a verdict that the printed correctness score calls right.
    PrintedRight,
    PrintedWrong,
    Crash,
    Timeout,
    Inexpressible,
}

/// A row of printed totals.
#[derive(Clone, Debug)]
pub struct Total {
    pub track: usize,
    pub tool: String,
    /// Correctness, overhead, memory.
    pub parts: [BigRational; 3],
    pub total: BigRational,
}

/// A tool on a benchmark over all its experiments.
struct Bench {
    tool: usize,
    said: String,
    verdict: Verdict,
    why: String,
    correctness: BigRational,
    time: Option<Measure>,
    memory: Option<Measure>,
}

/// Judges all results by an edition.
pub fn judge(edition: &CrvEdition, mut results: Results) -> Judgement {
    let status = |name: &str| StatusRule::status_of(&edition.statuses, name);
    // Who resigned vanishes from everything; who is withdrawn is named, and not judged.
    let experimented = results.experiments.iter().map(|of| &of.tool);
    let named: BTreeSet<&String> = experimented.chain(results.totals.iter().map(|of| &of.tool)).collect();
    let stays = |name: &&String| status(name) != Status::Resigned;
    let names: Vec<String> = named.into_iter().filter(stays).cloned().collect();
    let judged = |name: &str| !matches!(status(name), Status::Resigned | Status::Withdrawn);
    results.experiments.retain(|of| judged(&of.tool));
    results.totals.retain(|of| judged(&of.tool));
    let entries: Vec<Entry> = names
        .iter()
        .map(|name| Entry {
            entry: name.clone(),
            tool: name.clone(),
            status: status(name),
            note: StatusRule::of(&edition.statuses, name).map_or_else(String::new, |of| of.note.clone()),
        })
        .collect();
    let number = |name: &String| names.binary_search(name).unwrap_or_default();

    // Natural order: benchmark 2 before 10.
    let order = |name: &str| (name.parse::<u64>().unwrap_or(u64::MAX), name.to_owned());
    type OfTools<'a> = BTreeMap<usize, Vec<&'a Experiment>>;
    let mut grouped: BTreeMap<(usize, (u64, String)), OfTools> = BTreeMap::new();
    for of in &results.experiments {
        let tools = grouped.entry((of.track, order(&of.benchmark))).or_default();
        tools.entry(number(&of.tool)).or_default().push(of);
    }
    let mut blocks = Vec::new();
    let mut scores: BTreeMap<(usize, usize), Score> = BTreeMap::new();
    for ((track, (_, benchmark)), tools) in &grouped {
        let benches: Vec<Bench> = tools.iter().map(|(tool, of)| bench(edition, *tool, of)).collect();
        let times = shares(edition, &entries, &benches, |of| of.time.as_ref());
        let memories = shares(edition, &entries, &benches, |of| of.memory.as_ref());
        let mut cells = Vec::new();
        for ((of, overhead), memory) in benches.into_iter().zip(times).zip(memories) {
            let parts = [of.correctness, overhead, memory].map(Points);
            let points: BigRational = parts.iter().map(|Points(part)| part).sum();
            let score = scores.entry((*track, of.tool)).or_insert_with(|| nothing(of.tool, *track));
            match of.verdict {
                Verdict::Right => score.right += 1,
                Verdict::Wrong => score.wrong += 1,
                _ => {}
            }
            let add = |to: &mut Points, what: &BigRational| to.0 += what;
            score.parts.iter_mut().zip(&parts).for_each(|(to, part)| add(to, &part.0));
            score.points.iter_mut().for_each(|to| add(to, &points));
            cells.push(Cell {
                entry: of.tool,
                said: of.said,
                verdict: of.verdict,
                why: of.why,
                points,
                parts: parts.to_vec(),
                measured: of.time.into_iter().chain(of.memory).collect(),
            });
        }
        // Tables agree on it, or they are refused.
        let right = tools.values().flatten().find_map(|of| of.right_verdict());
        blocks.push(Block {
            category: *track,
            instance: benchmark.clone(),
            property: String::new(),
            expected: right.unwrap_or_default().to_owned(),
            cells,
        });
    }
    results.notes.extend(printed::contradictions(edition, &results, &names, &blocks));
    let measured: BTreeSet<usize> = blocks.iter().map(|block| block.category).collect();
    for of in results.totals.iter().filter(|of| !measured.contains(&of.track)) {
        let tool = number(&of.tool);
        let parts = of.parts.iter().cloned().map(Points).collect();
        let note = "as printed: the track is known by its totals only".to_owned();
        let points = Some(Points(of.total.clone()));
        scores.insert((of.track, tool), Score { parts, points, note, ..nothing(tool, of.track) });
    }
    let tracks: Vec<usize> =
        scores.keys().map(|(track, _)| *track).collect::<BTreeSet<_>>().into_iter().collect();
    let podiums = tracks.iter().map(|track| {
        let here = scores.values().filter(|score| score.category == *track);
        let standings = here.map(|score| Standing {
            entry: score.entry,
            points: score.points.clone().map_or_else(BigRational::zero, |Points(points)| points),
            success_cpu_s: None,
            note: score.note.clone(),
        });
        sister::podium(*track, &entries, standings.collect(), &Ties::Margin(&edition.tie_margin))
    });
    let podiums = podiums.collect();
    let categories = edition.tracks.iter().enumerate().map(|(number, track)| Category {
        category: track.name.clone(),
        parent: None,
        tasks: blocks.iter().filter(|block| block.category == number).count() as u64,
        held: tracks.contains(&number),
        note: if tracks.contains(&number) { String::new() } else { "no result".to_owned() },
    });
    results.inputs.sort_by(|a, b| (&a.file, &a.sha256).cmp(&(&b.file, &b.sha256)));
    Judgement {
        contest: "crv".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        edition: SisterEdition::Crv(edition.without_resigned()),
        inputs: results.inputs,
        notes: results.notes,
        categories: categories.collect(),
        entries,
        parts: PARTS.map(str::to_owned).to_vec(),
        blocks,
        scores: scores.into_values().collect(),
        podiums,
        quantiles: Vec::new(),
    }
}

fn nothing(entry: usize, category: usize) -> Score {
    let zero = || Points(BigRational::zero());
    Score {
        entry,
        category,
        right: 0,
        unconfirmed: 0,
        wrong: 0,
        unjudged: 0,
        points: Some(zero()),
        parts: PARTS.map(|_| zero()).to_vec(),
        normalized: None,
        success_cpu_s: None,
        note: String::new(),
    }
}

/// Section 4.1 for one experiment; `late`: a verdict came when nobody waited any more.
fn correctness(edition: &CrvEdition, of: &Experiment, late: bool) -> (BigRational, Verdict, &'static str) {
    let points = &edition.correctness;
    let online = edition.tracks[of.track].monitoring == Monitoring::Online;
    let wrong = (&points.wrong, Verdict::Wrong, "");
    let right = (&points.right, Verdict::Right, "");
    let (points, verdict, why) = match of.outcome {
        Outcome::Inexpressible => (&points.inexpressible, Verdict::Inexpressible, ""),
        Outcome::Crash if online => (&points.crash_online, Verdict::Crash, "the monitored program crashed"),
        Outcome::Crash => (&points.crash_offline, Verdict::Crash, "the monitor crashed"),
        Outcome::Timeout => (&points.timeout_online, Verdict::Timeout, "no verdict in time"),
        Outcome::Ok if online && late => (&points.timeout_online, Verdict::Timeout, "no verdict in time"),
        Outcome::Ok if of.expected.as_ref() == Some(&of.said) => right,
        Outcome::Ok => wrong,
        Outcome::PrintedRight => right,
        Outcome::PrintedWrong => wrong,
    };
    (points.clone(), verdict, why)
}

/// The experiments of a tool on a benchmark as one: the mean of each measurement, the least of the verdicts' points.
fn bench(edition: &CrvEdition, tool: usize, experiments: &[&Experiment]) -> Bench {
    let mean = |what, of: fn(&Experiment) -> &Option<BigRational>| {
        mean(what, experiments.iter().filter_map(|experiment| of(experiment).as_ref()))
    };
    let (time, base) = (mean("time_s", |of| &of.time_s), mean("base_time_s", |of| &of.base_time_s));
    // By the means: what is measured is averaged before anything is scored.
    let late = time.iter().zip(&base).any(|(time, base)| time.mean > &base.mean * &edition.patience);
    let judged = experiments.iter().map(|of| (correctness(edition, of, late), of.said.clone()));
    let mut judged: Vec<_> = judged.collect();
    // By points, then by words: the order of the rows never shows.
    judged.sort();
    let differ = judged.iter().any(|(of, _)| *of != judged[0].0);
    let ((correctness, verdict, why), said) = judged.swap_remove(0);
    let why = match differ {
        true => format!("{} experiments of different verdicts: the worst counts", experiments.len()),
        false => why.to_owned(),
    };
    let scored = |measure: Option<Measure>| measure.filter(|_| correctness.is_positive());
    let (time, memory) = (scored(time), scored(mean("memory_mb", |of| &of.memory_mb)));
    Bench { tool, said, verdict, why, correctness, time, memory }
}

/// None where nothing was measured.
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
/// formula cancels). What was not measured gets 0 and leaves the denominator; who does not compete takes from nobody.
fn shares(
    edition: &CrvEdition,
    entries: &[Entry],
    benches: &[Bench],
    of: fn(&Bench) -> Option<&Measure>,
) -> Vec<BigRational> {
    let index = |bench: &Bench| of(bench).map(|measure| measure.mean.recip());
    let competing = |bench: &&Bench| entries[bench.tool].status == Status::Competing;
    let sum: BigRational = benches.iter().filter(competing).filter_map(index).sum();
    let share = |bench: &Bench| match index(bench) {
        Some(index) if sum.is_positive() => &edition.shared_points * index / &sum,
        _ => BigRational::zero(),
    };
    benches.iter().map(share).collect()
}
