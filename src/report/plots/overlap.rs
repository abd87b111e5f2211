//! UpSet plot: for each set of tools the number of values that exactly these tools have right.

use super::axis::{Axis, Unit};
use super::drawing::{Drawing, fitting, points};
use super::runs::Runs;
use super::{Picture, csv};
use crate::show::thousands;
use mcc_judge::judgement::ValueVerdict;
use std::collections::BTreeMap;

/// The number of sets that are drawn; the CSV has all.
const MAX_SETS: usize = 24;
const TOP: i32 = 48;
const BARS: i32 = 190;
const ROW: i32 = 20;
const COLUMN: i32 = 22;
/// Right end of the names of tools.
const NAMES: i32 = 176;
/// Left end of the sets.
const LEFT: i32 = 300;

/// The picture `overlap`; None if there is no right value.
pub(super) fn overlap(runs: &Runs, group: Option<usize>) -> Option<Picture> {
    // The number of values by the set of entries that have them right.
    let mut sets: BTreeMap<Vec<usize>, u64> = BTreeMap::new();
    let mut totals = vec![0_u64; runs.entries.len()];
    for block in runs.blocks_of(group) {
        let positions = block.runs.iter().map(|run| run.verdicts.len()).max().unwrap_or(0);
        for position in 0..positions {
            let right =
                block.runs.iter().filter(|run| run.verdicts.get(position) == Some(&ValueVerdict::Right));
            let mut set: Vec<usize> = right.map(|run| run.entry).collect();
            set.sort_unstable();
            set.iter().for_each(|&entry| totals[entry] += 1);
            *sets.entry(set).or_default() += 1;
        }
    }
    let unsolved = sets.remove(&Vec::new()).unwrap_or(0);
    let mut sets: Vec<(Vec<usize>, u64)> = sets.into_iter().collect();
    sets.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let most = sets.first()?.1;
    let mut tools: Vec<usize> = (0..totals.len()).filter(|&entry| totals[entry] > 0).collect();
    tools.sort_by(|&a, &b| totals[b].cmp(&totals[a]).then(a.cmp(&b)));

    let shown = &sets[..sets.len().min(MAX_SETS)];
    let (base, below) = (TOP + BARS, TOP + BARS + 18);
    let right = LEFT + COLUMN * shown.len() as i32;
    let mut drawing = Drawing::new((right + 24).max(640), below + ROW * tools.len() as i32 + 34);
    let bars = Axis::linear(Unit::Count, 0.0, most as f64, (base, TOP));
    drawing.upright(&bars, (LEFT, right));
    drawing.text((16, TOP + 4), "s", &format!("right {} of exactly these tools", runs.what));
    let rows: BTreeMap<usize, i32> = tools.iter().copied().zip((0..).map(|at| below + ROW * at)).collect();
    // Every entry of a set has a right value and therefore a row.
    let row = |entry: usize| rows[&entry];
    let column = |number: usize| LEFT + COLUMN * number as i32 + COLUMN / 2;
    let (mut heights, mut joints, mut dots) = (String::new(), String::new(), Vec::new());
    for (number, (set, values)) in shown.iter().enumerate() {
        let x = column(number);
        heights += &format!("M{} {base}V{}h14V{base}z", x - 7, bars.pixel(*values as f64).min(base - 1));
        let rows: Vec<i32> = set.iter().map(|&entry| row(entry)).collect();
        dots.extend(rows.iter().map(|&y| (x, y)));
        if let (Some(top), Some(bottom)) = (rows.iter().min(), rows.iter().max()) {
            joints += &format!("M{x} {top}V{bottom}");
        }
    }
    let all =
        (0..shown.len()).flat_map(|number| tools.iter().map(move |&entry| (column(number), row(entry))));
    drawing.path("o", &points(all));
    drawing.path("c0 f", &heights);
    drawing.path("c0", &joints);
    let largest = tools.first().map_or(1, |&entry| totals[entry]).max(1);
    let mut lengths = String::new();
    for &entry in &tools {
        let length = (totals[entry] * 64 / largest).max(1);
        lengths += &format!("M{} {}h{length}v8h-{length}z", NAMES + 8, row(entry) - 4);
        drawing.text((NAMES, row(entry) + 4), "e", &fitting(&runs.entries[entry], 24));
        drawing.text((NAMES + 12 + length as i32, row(entry) + 4), "s", &thousands(totals[entry]));
    }
    drawing.path("c2 f", &lengths);
    drawing.path("c0 r", &points(dots));
    let mut note = format!("{} that no tool here has right: {}", runs.what, thousands(unsolved));
    if sets.len() > shown.len() {
        let rest: u64 = sets[shown.len()..].iter().map(|set| set.1).sum();
        let more = thousands((sets.len() - shown.len()) as u64);
        note = format!(
            "smaller sets that are not drawn: {more}, with {} {}; {note}",
            thousands(rest),
            runs.what
        );
    }
    drawing.text((16, below + ROW * tools.len() as i32 + 16), "s", &note);

    let names = |set: &[usize], separator: &str| {
        set.iter().map(|&e| runs.entries[e].as_str()).collect::<Vec<_>>().join(separator)
    };
    let title = format!("Right {} by set of tools {}", runs.what, runs.place(group));
    // Only the MCC has variants and votes.
    let counted = match runs.group_key {
        "examination" => " Each entry counts as a tool here, also variants and entries that only vote.",
        _ => "",
    };
    let description = format!(
        "Each column of dots is a set of tools; the bar above it is the number of {} that exactly these tools have \
         right.{counted} The largest set: {} by {}; {note}.",
        runs.what,
        thousands(most),
        names(&sets[0].0, ", "),
    );
    let rows = sets.iter().map(|(set, values)| [values.to_string(), set.len().to_string(), names(set, " ")]);
    let rows = rows.chain((unsolved > 0).then(|| [unsolved.to_string(), "0".to_owned(), String::new()]));
    let table = csv(["right", "size", "tools"], rows);
    Some(drawing.finish(runs.name("overlap", group), title, description, table))
}
