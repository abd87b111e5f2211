//! Box plots of time, memory and instructions: least to most, the middle half, the median.

use super::axis::{Axis, Unit};
use super::drawing::{Drawing, colour_class, fitting};
use super::runs::{Measure, Runs};
use super::{Picture, csv};

const LEFT: i32 = 190;
const RIGHT: i32 = 740;
const TOP: i32 = 48;
const ROW: i32 = 24;

/// The pictures `time`, `memory` and `instructions`: a strip for each tool, of its runs with a right value. Without a group, strips of
/// each group come first, of the runs of all tools. None if nothing was measured.
pub(super) fn strips(runs: &Runs, group: Option<usize>, measure: Measure) -> Option<Picture> {
    let mut of_entries: Vec<Vec<u64>> = vec![Vec::new(); runs.entries.len()];
    let mut of_groups: Vec<Vec<u64>> = vec![Vec::new(); runs.groups.len()];
    for block in runs.blocks_of(group) {
        for run in block.runs.iter().filter(|run| run.solved()) {
            if let Some(value) = run.value(measure) {
                of_entries[run.entry].push(value);
                of_groups[block.group].push(value);
            }
        }
    }
    let groups = runs.groups.iter().zip(&runs.titles).zip(of_groups).filter(|_| group.is_none());
    let groups = groups.map(|((name, title), values)| {
        ("t".to_owned(), runs.group_key, name.to_string(), title.clone(), values)
    });
    let entries = runs.entries.iter().zip(of_entries).enumerate();
    let entries = entries.map(|(number, (name, values))| {
        // Without dashes: they would divide a strip into pieces.
        let class = colour_class(number);
        (class, "tool", name.clone(), name.clone(), values)
    });
    let strips: Vec<(String, &str, String, String, Vec<u64>)> = groups
        .chain(entries)
        .filter(|(.., values)| !values.is_empty())
        .map(|(class, kind, name, title, mut values)| {
            values.sort_unstable();
            (class, kind, name, title, values)
        })
        .collect();
    let least = strips.iter().map(|(.., values)| values[0]).min()?;
    let most = strips.iter().map(|(.., values)| values[values.len() - 1]).max()?;

    let bottom = TOP + 8 + ROW * strips.len() as i32;
    let mut drawing = Drawing::new(800, bottom + 40);
    let axis = Axis::log(measure.into(), least, most, (LEFT, RIGHT));
    drawing.level(&axis, (TOP, bottom));
    for limit in runs.limits(measure).into_iter().filter(|&limit| axis.holds(limit as f64)) {
        let x = axis.pixel(limit as f64);
        drawing.path("l", &format!("M{x} {TOP}V{bottom}"));
        drawing.text((x, TOP - 6), "s m", &format!("limit {}", Unit::from(measure).text(limit)));
    }
    let mut rows = Vec::new();
    for (number, (class, kind, name, title, values)) in (0..).zip(&strips) {
        let y = TOP + 16 + ROW * number;
        let five = [0, 1, 2, 3, 4].map(|quarter| quantile(values, quarter));
        let [low, lower, median, upper, high] = five.map(|value| axis.pixel(value as f64));
        drawing.text((LEFT - 10, y + 4), "e", &fitting(title, 26));
        drawing.path(class, &format!("M{low} {y}H{high}"));
        drawing.path(&format!("{class} w"), &format!("M{lower} {y}H{}", upper.max(lower + 1)));
        // Drawn twice: an edge in the background colour makes the mark visible on any strip.
        let mark = format!("M{median} {}v12", y - 6);
        drawing.path("k", &mark);
        drawing.path("k", &mark);
        let runs = values.len().to_string();
        let [low, lower, median, upper, high] = five.map(|value| value.to_string());
        rows.push([kind.to_string(), name.clone(), runs, low, lower, median, upper, high]);
    }
    let (name, word, unit) = match measure {
        Measure::Time => ("time", runs.time.head, runs.time.column),
        Measure::Memory => ("memory", "Peak memory", "memory_kib"),
        Measure::Instructions => ("instructions", "User instructions", "instructions_user"),
    };
    let title = format!("{word} of runs with a right value {}", runs.place(group));
    let description = format!(
        "One strip for each {}tool, on a logarithmic scale: the thin line is from the least to the greatest {}, the \
         thick line is the middle half of the runs, and the mark is the median.",
        if group.is_none() { format!("{} and each ", runs.group_word) } else { String::new() },
        if name == "instructions" { "number" } else { name },
    );
    let least = format!("least_{unit}");
    let header = ["of", "name", "runs", &least, "lower_quartile", "median", "upper_quartile", "most"];
    let table = csv(header, rows);
    Some(drawing.finish(runs.name(name, group), title, description, table))
}

/// The quartile number `quarter` of sorted values (nearest rank); 0 is the least, 4 the most.
fn quantile(sorted: &[u64], quarter: usize) -> u64 {
    let rank = (sorted.len() * quarter).div_ceil(4);
    sorted[rank.saturating_sub(1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_values_that_were_measured() {
        let quartiles = |sorted: &[u64]| [0, 1, 2, 3, 4].map(|quarter| quantile(sorted, quarter));
        assert_eq!(quartiles(&[7]), [7; 5]);
        assert_eq!(quartiles(&[1, 2, 3, 4]), [1, 1, 2, 3, 4]);
        assert_eq!(quartiles(&[1, 2, 3, 4, 5, 6, 7, 8, 9]), [1, 3, 5, 7, 9]);
    }
}
