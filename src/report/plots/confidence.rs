//! The picture of the confidence of tools (E-2).

use super::axis::{Axis, Unit};
use super::drawing::{Drawing, fitting, points};
use super::{Picture, csv};
use crate::show::{percent, thousands};
use mcc_edition::Status;
use mcc_judge::judgement::{Confidence, Judgement};
use num_traits::ToPrimitive;

const LEFT: i32 = 190;
const RIGHT: i32 = 560;
const TOP: i32 = 48;
const ROW: i32 = 24;

/// The picture `confidence`: for each tool the distance of its confidence from 1, as the number of different values in
/// a million common values (E-2.2). None if no value was compared.
pub fn confidence(judgement: &Judgement) -> Option<Picture> {
    let entry = |tool: &Confidence| &judgement.entries[tool.entry];
    let shown = |tool: &&Confidence| {
        tool.answered > 0
            && !matches!(entry(tool).status, Status::Resigned | Status::Withdrawn | Status::Virtual)
    };
    let mut tools: Vec<&Confidence> = judgement.confidence.iter().filter(shown).collect();
    tools.sort_by(|a, b| b.confidence.cmp(&a.confidence).then_with(|| entry(a).entry.cmp(&entry(b).entry)));
    // Per million, because tools differ in the third decimal and later.
    let apart = |tool: &Confidence| {
        let share = tool.confidence.to_f64().unwrap_or_default();
        ((1.0 - share).clamp(0.0, 1.0) * 1e6).round() as u64
    };
    let most = tools.iter().map(|tool| apart(tool)).max()?;
    let bottom = TOP + 8 + ROW * tools.len() as i32;
    let mut drawing = Drawing::new(800, bottom + 60);
    // A confidence of 1 is drawn left of the axis: a logarithmic axis has no zero.
    let axis = Axis::log(Unit::Count, 1, most.max(10), (LEFT + 40, RIGHT));
    drawing.level(&axis, (TOP, bottom));
    drawing.path("g", &format!("M{} {TOP}V{bottom}", LEFT + 8));
    drawing.text((LEFT + 8, bottom + 18), "s m", "none");
    drawing.text((RIGHT, bottom + 38), "e", "disagreements per million common values");
    for (number, tool) in (0..).zip(&tools) {
        let y = TOP + 16 + ROW * number;
        drawing.text((LEFT - 10, y + 4), "e", &fitting(&entry(tool).entry, 26));
        let x = if tool.agreed == tool.answered { LEFT + 8 } else { axis.pixel(apart(tool) as f64) };
        drawing.path("n", &format!("M{} {y}H{x}", LEFT + 8));
        drawing.path("c0 r", &points([(x, y)]));
        let numbers = format!(
            "{} ({} of {})",
            percent(&tool.confidence),
            thousands(tool.agreed),
            thousands(tool.answered)
        );
        drawing.text((RIGHT + 16, y + 4), "s", &numbers);
    }
    let description = format!(
        "One dot for each tool: how many values in a million differ from the common values, on a logarithmic scale; \
         further left is better. Common values are those on which enough tools agree; there are {}.",
        thousands(judgement.common_values),
    );
    let row = |tool: &&Confidence| {
        [
            entry(tool).entry.clone(),
            tool.agreed.to_string(),
            tool.answered.to_string(),
            tool.confidence.to_string(),
        ]
    };
    let table = csv(["tool", "agreed", "answered", "confidence"], tools.iter().map(row));
    Some(drawing.finish("confidence".to_owned(), "Confidence of tools".to_owned(), description, table))
}
