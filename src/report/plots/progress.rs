//! The picture of a campaign's progress: recorded runs over time.

use super::axis::{Axis, Unit};
use super::drawing::{Drawing, polyline};
use super::{Picture, csv};
use crate::show::{duration, thousands};
use jiff::Timestamp;
use mcc_store::{Record, StoreError};

const LEFT: i32 = 72;
const RIGHT: i32 = 600;
const TOP: i32 = 48;
const BOTTOM: i32 = 330;

/// When a run started, how long it took, and whether it failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRun {
    /// The start of its last attempt, RFC 3339.
    pub started_at: String,
    /// The duration of its last attempt, with the boot, in ms.
    pub took_ms: u64,
    /// Whether its last attempt is an infrastructure failure.
    pub infrastructure: bool,
}

/// The picture of a record's progress; None before its first run.
pub fn progress_of(record: &Record) -> Result<Option<Picture>, StoreError> {
    let mut done = Vec::new();
    for run in record.records() {
        let attempt = run?.last;
        let took_ms = attempt.facts.as_ref().map_or(0, |facts| facts.boot_ms.saturating_add(facts.wall_ms));
        let infrastructure = attempt.outcome.is_infrastructure();
        done.push(RecordedRun { started_at: attempt.started_at, took_ms, infrastructure });
    }
    Ok(progress(record.summary()?.planned, &done))
}

/// The picture `progress`: recorded runs over the time since the first start; None without a run.
///
/// Times are those of the hosts' clocks: if the clocks of several hosts differ, the curve is approximate.
pub fn progress(planned: u64, done: &[RecordedRun]) -> Option<Picture> {
    let start = |run: &RecordedRun| run.started_at.parse::<Timestamp>().ok();
    let begin = done.iter().filter_map(start).min()?;
    let mut ends: Vec<(u64, bool)> = done
        .iter()
        .filter_map(|run| {
            let after = start(run)?.as_millisecond().saturating_sub(begin.as_millisecond());
            Some((after.unsigned_abs().saturating_add(run.took_ms), run.infrastructure))
        })
        .collect();
    ends.sort_unstable();
    let end = ends.last()?.0;
    let time = Axis::linear(Unit::Milliseconds, 0.0, end as f64, (LEFT, RIGHT));
    let count = Axis::linear(Unit::Count, 0.0, planned.max(ends.len() as u64) as f64, (BOTTOM, TOP));
    let mut drawing = Drawing::new(800, BOTTOM + 48);
    drawing.level(&time, (TOP, BOTTOM));
    drawing.upright(&count, (LEFT, RIGHT));
    let y = count.pixel(planned as f64);
    drawing.path("l", &format!("M{LEFT} {y}H{RIGHT}"));
    drawing.text((RIGHT + 8, y + 4), "s", &format!("{} planned", thousands(planned)));
    let line = |ends: &mut dyn Iterator<Item = u64>| {
        let mut at = vec![(LEFT, BOTTOM)];
        for (number, ms) in (1..).zip(ends) {
            let (x, last) = (time.pixel(ms as f64), at[at.len() - 1].1);
            at.extend([(x, last), (x, count.pixel(f64::from(number)))]);
        }
        polyline(at)
    };
    drawing.path("c0", &line(&mut ends.iter().map(|end| end.0)));
    let mut legend = vec![("c0".to_owned(), "recorded".to_owned())];
    let lost = ends.iter().filter(|end| end.1).count() as u64;
    if lost > 0 {
        drawing.path("c1 d1", &line(&mut ends.iter().filter(|end| end.1).map(|end| end.0)));
        legend.push(("c1 d1".to_owned(), "infrastructure failure".to_owned()));
    }
    // In the lower half, because the number of planned runs is in the upper half.
    drawing.legend((RIGHT + 8, BOTTOM - 48), &legend);
    let description = format!(
        "Recorded runs over the time since the first start, {begin}: {} of {} in {}, {} of them infrastructure failures.",
        thousands(ends.len() as u64),
        thousands(planned),
        duration(end),
        thousands(lost),
    );
    let rows = (1_u64..).zip(&ends).map(|(recorded, (ms, infrastructure))| {
        [ms.to_string(), recorded.to_string(), if *infrastructure { "yes" } else { "no" }.to_owned()]
    });
    let table = csv(["after_ms", "recorded", "infrastructure"], rows);
    Some(drawing.finish("progress".to_owned(), "Progress of the campaign".to_owned(), description, table))
}
