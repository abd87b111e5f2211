//! Two tools against each other, run by run.

use super::axis::{Axis, Unit};
use super::drawing::{Drawing, fitting, points};
use super::runs::{Measure, Run, Runs};
use super::{Picture, csv};
use crate::report::show::thousands;
use crate::report::site::segment;

const LEFT: i32 = 84;
const RIGHT: i32 = 484;
const TOP: i32 = 66;
const BOTTOM: i32 = 466;
/// Where runs are drawn that solved nothing: beside the scale, not at some figure on it.
const RAIL: i32 = 16;

/// `time-A-B`, `memory-A-B`: every instance in every examination that both have a figure in, or one solved. None where
/// there is no such figure.
pub fn scatter(runs: &Runs, a: usize, b: usize, measure: Measure) -> Option<Picture> {
    let find = |runs: &'_ [Run<'_>], entry: usize| runs.iter().position(|run| run.entry == entry);
    let mut pairs = Vec::new();
    for block in &runs.blocks {
        let [a, b] = [a, b].map(|entry| find(&block.runs, entry).map(|at| &block.runs[at]));
        let solved = |run: Option<&Run>| run.filter(|run| run.solved()).and_then(|run| run.figure(measure));
        if solved(a).is_some() || solved(b).is_some() {
            pairs.push((block, a, b, solved(a), solved(b)));
        }
    }
    let figures = || pairs.iter().flat_map(|pair| [pair.3, pair.4]).flatten();
    let (least, most) = (figures().min()?, figures().max()?);
    let (x, y) = (
        Axis::log(measure.into(), least, most, (LEFT, RIGHT)),
        Axis::log(measure.into(), least, most, (BOTTOM, TOP)),
    );
    let (name, word) = match measure {
        Measure::Time => ("time", "CPU time"),
        Measure::Memory => ("memory", "peak memory"),
    };
    let [name_a, name_b] = [a, b].map(|entry| runs.entries[entry].as_str());
    let mut drawing = Drawing::new(700, BOTTOM + 76);
    drawing.level(&x, (TOP - RAIL, BOTTOM));
    drawing.upright(&y, (LEFT, RIGHT + RAIL));
    drawing.path("a", &format!("M{LEFT} {BOTTOM}L{RIGHT} {TOP}"));
    drawing.path("a", &format!("M{LEFT} {}H{}V{BOTTOM}", TOP - RAIL, RIGHT + RAIL));
    drawing.text((LEFT, TOP - RAIL - 6), "s", &format!("{name_b} solved nothing"));
    drawing.text((RIGHT + RAIL + 6, BOTTOM - 4), "s", &format!("{name_a} solved nothing"));
    for limit in runs.limits(measure) {
        if x.holds(limit as f64) {
            let (x, y) = (x.pixel(limit as f64), y.pixel(limit as f64));
            drawing.path("l", &format!("M{LEFT} {y}H{RIGHT}M{x} {TOP}V{BOTTOM}"));
            drawing.text((LEFT + 4, y - 4), "s", &format!("limit {}", Unit::from(measure).text(limit)));
        }
    }
    drawing.text((RIGHT, BOTTOM + 40), "e", &format!("{name_a}, {word}"));
    drawing.text((16, TOP - RAIL - 6), "", &fitting(&format!("↑ {name_b}"), 10));

    let place = |first: Option<u64>, second: Option<u64>| {
        let x = first.map_or(RIGHT + RAIL, |figure| x.pixel(figure as f64));
        let y = second.map_or(TOP - RAIL, |figure| y.pixel(figure as f64));
        (x, y)
    };
    let wrong = |run: Option<&Run>| run.is_some_and(|run| run.count(b'-') > 0);
    let kind = |wanted: usize| {
        let kind = move |a, b, first: Option<u64>, second: Option<u64>| match (
            wrong(a) || wrong(b),
            first,
            second,
        ) {
            (true, ..) => 2,
            (false, Some(_), Some(_)) => 0,
            _ => 1,
        };
        pairs.iter().filter(move |(_, a, b, first, second)| kind(*a, *b, *first, *second) == wanted)
    };
    let mut legend = Vec::new();
    for (number, class, what) in
        [(0, "c0 p", "both solved"), (1, "c3 p", "one solved"), (2, "c1 p", "one gave a wrong value")]
    {
        let count = kind(number).count();
        if count > 0 {
            drawing.path(class, &points(kind(number).map(|pair| place(pair.3, pair.4))));
            legend.push((class.to_owned(), format!("{what}: {}", thousands(count as u64))));
        }
    }
    for (number, (class, text)) in (0..).zip(&legend) {
        drawing.path(class, &format!("M{} {}h0", LEFT + 4 + 190 * number, BOTTOM + 60));
        drawing.text((LEFT + 12 + 190 * number, BOTTOM + 64), "", text);
    }
    let faster = |of: fn(&u64, &u64) -> bool| {
        let both = pairs.iter().filter_map(|pair| Some((pair.3?, pair.4?)));
        thousands(both.filter(|(first, second)| of(first, second)).count() as u64)
    };
    let only = |which: fn(Option<u64>, Option<u64>) -> bool| {
        thousands(pairs.iter().filter(|pair| which(pair.3, pair.4)).count() as u64)
    };
    let description = format!(
        "Each point is one instance in one {}: {word} of {name_a} across, of {name_b} upwards, both logarithmic. \
         Where both solved something, {name_a} needed less {} times, {name_b} {} times. {name_a} alone solved {}, \
         {name_b} alone {}.",
        runs.group_word,
        faster(u64::lt),
        faster(u64::gt),
        only(|first, second| second.is_none() && first.is_some()),
        only(|first, second| first.is_none() && second.is_some()),
    );
    let unit = match measure {
        Measure::Time => ["x_cpu_ms", "y_cpu_ms"],
        Measure::Memory => ["x_memory_kib", "y_memory_kib"],
    };
    let cells = |run: Option<&Run>| match run {
        None => [const { String::new() }; 3],
        Some(run) => [
            run.count(b'+').to_string(),
            run.count(b'-').to_string(),
            run.figure(measure).map_or(String::new(), |figure| figure.to_string()),
        ],
    };
    let rows = pairs.iter().map(|(block, a, b, ..)| {
        let [x_right, x_wrong, x] = cells(*a);
        let [y_right, y_wrong, y] = cells(*b);
        [
            runs.groups[block.group].to_owned(),
            block.instance.to_owned(),
            x_right,
            x_wrong,
            x,
            y_right,
            y_wrong,
            y,
        ]
    });
    let table = csv(
        [runs.group_word, "instance", "x_right", "x_wrong", unit[0], "y_right", "y_wrong", unit[1]],
        rows,
    );
    let title = format!("{name_a} and {name_b}: {word}");
    Some(drawing.finish(format!("{name}-{}-{}", segment(name_a), segment(name_b)), title, description, table))
}
