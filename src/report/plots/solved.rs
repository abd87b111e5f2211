//! Quantile plots: right values by time of the run (cactus plot), and the score-based quantile functions of SV-COMP.

use super::axis::{Axis, Unit};
use super::drawing::{Drawing, line_class, polyline};
use super::runs::Runs;
use super::{Picture, csv};
use crate::show::{duration, thousands};
use mcc_base::names::file_names;
use mcc_judge::judgement::ValueVerdict;
use mcc_other_contests::Judgement;
use num_rational::BigRational;
use num_traits::ToPrimitive;
use std::collections::BTreeMap;

const LEFT: i32 = 72;
const RIGHT: i32 = 572;
const TOP: i32 = 44;
const BOTTOM: i32 = 356;

/// The line of a tool.
struct Curve<'a> {
    /// The number of the entry; it determines the colour in all pictures.
    entry: usize,
    name: &'a str,
    start: f64,
    /// For each run the value reached with it, and its time in ms.
    steps: Vec<(f64, u64)>,
}

/// The curves of the entries and the rows of their table. `found`: for each entry, the number of right values by time in ms,
/// in the order of the times.
fn curves<'a>(
    runs: &'a Runs,
    found: impl IntoIterator<Item = impl IntoIterator<Item = (u64, u64)>>,
) -> (Vec<Curve<'a>>, Vec<[String; 3]>) {
    let (mut curves, mut rows) = (Vec::new(), Vec::new());
    for (entry, found) in found.into_iter().enumerate() {
        let (mut right, mut steps) = (0, Vec::new());
        for (ms, values) in found {
            right += values;
            steps.push((right as f64, ms));
            rows.push([runs.entries[entry].clone(), right.to_string(), ms.to_string()]);
        }
        curves.push(Curve { entry, name: &runs.entries[entry], start: 0.0, steps });
    }
    curves.retain(|curve| !curve.steps.is_empty());
    (curves, rows)
}

/// The tools with the most right values, and their number; None if there is no curve.
fn most_words(curves: &[Curve]) -> Option<String> {
    let most = curves.iter().map(Curve::last).max_by(f64::total_cmp)?;
    let names: Vec<&str> =
        curves.iter().filter(|curve| curve.last() == most).map(|curve| curve.name).collect();
    let have = match names.as_slice() {
        [name] => format!("{name} has"),
        [others @ .., last] => format!("{} and {last} have", others.join(", ")),
        [] => return None,
    };
    Some(format!("{have} the most: {}", thousands(most as u64)))
}

/// The picture `solved`: for each time the number of values (instances) that each tool has right in runs of at most
/// that time. None if no time is known.
pub(super) fn solved(runs: &Runs, group: Option<usize>) -> Option<Picture> {
    // By entry: time and number of right values of each run with a right value.
    let mut found: Vec<Vec<(u64, u64)>> = vec![Vec::new(); runs.entries.len()];
    for run in runs.blocks_of(group).flat_map(|block| &block.runs).filter(|run| run.solved()) {
        found[run.entry].extend(run.cpu_ms.map(|ms| (ms, run.count(ValueVerdict::Right))));
    }
    found.iter_mut().for_each(|found| found.sort_unstable());
    let (mut curves, rows) = curves(runs, found);
    let most = most_words(&curves)?;
    let title = format!("Right {} {} by {} of the run", runs.what, runs.place(group), runs.time.word);
    let description = format!(
        "One line for each tool: the number of right {} (x axis) in runs with at most the {} on the logarithmic y axis. \
         Further right and lower is better. {most}.",
        runs.what, runs.time.word,
    );
    let table = csv(["tool", "right", runs.time.column], rows);
    let drawing = draw(&mut curves, &format!("right {}", runs.what), &runs.time_limits);
    Some(drawing.finish(runs.name("solved", group), title, description, table))
}

/// The picture `arrived`: for each time since the start of a run the number of right values that each tool had given by
/// then. None if no time of arrival is known.
pub(super) fn arrived(runs: &Runs, group: Option<usize>) -> Option<Picture> {
    // By entry: the number of right values by time of arrival, and the number of those without a known time.
    let mut found: Vec<(BTreeMap<u64, u64>, u64)> = vec![Default::default(); runs.entries.len()];
    for run in runs.blocks_of(group).flat_map(|block| &block.runs) {
        for ms in run.right_arrivals() {
            match ms {
                Some(ms) => *found[run.entry].0.entry(ms).or_default() += 1,
                None => found[run.entry].1 += 1,
            }
        }
    }
    let unknown: u64 = found.iter().map(|found| found.1).sum();
    let (mut curves, rows) = curves(runs, found.into_iter().map(|(found, _)| found));
    let most = most_words(&curves)?;
    let title = format!("Right values {} by time of arrival", runs.place(group));
    let mut description = format!(
        "One line for each tool: the number of right values (x axis) that had arrived on the host by the wall-clock time \
         since the start of their run on the logarithmic y axis. Further right and lower is better. {most}."
    );
    if unknown > 0 {
        let values = if unknown == 1 { "value" } else { "values" };
        description += &format!(" The time of arrival is unknown for {} right {values}.", thousands(unknown));
    }
    let table = csv(["tool", "right", "arrived_ms"], rows);
    let drawing = draw(&mut curves, "right values", &[]);
    Some(drawing.finish(runs.name("arrived", group), title, description, table))
}

/// The name of the picture of a category's scores.
pub(crate) fn score_name(judgement: &Judgement, category: usize) -> String {
    let files = file_names(judgement.categories.iter().map(|category| category.category.as_str()));
    format!("score-{}", files[category])
}

/// The pictures `score-CATEGORY` of the score-based quantile functions, for each category of SV-COMP with runs.
pub fn scores(judgement: &Judgement) -> Vec<Picture> {
    let number = |exact: &BigRational| exact.to_f64().unwrap_or_default();
    let thousand = BigRational::from_integer(1000.into());
    let ms = |s: &BigRational| (s * &thousand).round().to_integer().to_u64().unwrap_or_default();
    let category = |(index, category): (usize, &mcc_other_contests::Category)| {
        let functions = || judgement.quantiles.iter().filter(move |function| function.category == index);
        let mut curves: Vec<Curve> = functions()
            .filter(|function| !function.steps.is_empty())
            .map(|function| Curve {
                entry: function.entry,
                name: &judgement.entries[function.entry].entry,
                start: number(&function.start),
                steps: function.steps.iter().map(|step| (number(&step.x), ms(&step.cpu_s))).collect(),
            })
            .collect();
        curves.sort_by_key(|curve| curve.entry);
        let best = curves.iter().max_by(|a, b| a.last().total_cmp(&b.last()))?;
        let title = format!("Score in {} by CPU time of the run", category.category);
        let description = format!(
            "One line for each tool: it begins at the sum of its negative points and adds the points of its runs (x \
             axis) in order of their CPU time (logarithmic y axis). {} has the highest score: {:.2}.",
            best.name,
            best.last(),
        );
        let rows = functions().flat_map(|function| {
            let tool = judgement.entries[function.entry].entry.clone();
            let begin = [tool.clone(), function.start.to_string(), String::new()];
            let step = move |step: &mcc_other_contests::Step| {
                [tool.clone(), step.x.to_string(), step.cpu_s.to_string()]
            };
            std::iter::once(begin).chain(function.steps.iter().map(step))
        });
        let table = csv(["tool", "score", "cpu_s"], rows);
        Some(draw(&mut curves, "score", &[]).finish(score_name(judgement, index), title, description, table))
    };
    judgement.categories.iter().enumerate().filter_map(category).collect()
}

impl Curve<'_> {
    fn last(&self) -> f64 {
        self.steps.last().map_or(self.start, |step| step.0)
    }
}

/// Draws the curves. The legend has the tools in the order of the ends of their lines.
fn draw(curves: &mut [Curve], across: &str, limits: &[u64]) -> Drawing {
    curves.sort_by(|a, b| b.last().total_cmp(&a.last()).then(a.entry.cmp(&b.entry)));
    let times = || curves.iter().flat_map(|curve| curve.steps.iter().map(|step| step.1));
    let (least, most) = (times().min().unwrap_or(1), times().max().unwrap_or(1));
    let time = Axis::log(Unit::Milliseconds, least, most, (BOTTOM, TOP));
    let starts = curves.iter().map(|curve| curve.start).fold(0.0, f64::min);
    let ends = curves.iter().map(Curve::last).fold(0.0, f64::max);
    let values = Axis::linear(Unit::Count, starts, ends, (LEFT, RIGHT));
    let height = BOTTOM + 52;
    let mut drawing = Drawing::new(800, height.max(TOP + 30 + 18 * curves.len() as i32));
    drawing.level(&values, (TOP, BOTTOM));
    drawing.upright(&time, (LEFT, RIGHT));
    drawing.text((RIGHT, BOTTOM + 38), "e", across);
    for &limit in limits.iter().filter(|&&limit| time.holds(limit as f64)) {
        let y = time.pixel(limit as f64);
        drawing.path("l", &format!("M{LEFT} {y}H{RIGHT}"));
        drawing.text((LEFT + 6, y - 4), "s", &format!("limit {}", duration(limit)));
    }
    let mut legend = Vec::new();
    for curve in curves.iter() {
        let first = curve.steps.first().map(|step| (curve.start, step.1));
        let steps = first.into_iter().chain(curve.steps.iter().copied());
        let class = line_class(curve.entry);
        drawing.path(&class, &polyline(steps.map(|(x, ms)| (values.pixel(x), time.pixel(ms as f64)))));
        legend.push((class, curve.name.to_owned()));
    }
    drawing.legend((RIGHT + 22, TOP + 12), &legend);
    drawing
}
