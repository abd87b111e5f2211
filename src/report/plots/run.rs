//! The picture of one run: CPU and memory over time.

use super::axis::{Axis, Unit};
use super::drawing::{Drawing, polyline};
use super::{Picture, csv};
use crate::show::{duration, kib};
use mcc_store::Sample;

const LEFT: i32 = 84;
const RIGHT: i32 = 620;
const CPU: (i32, i32) = (68, 218);
const MEMORY: (i32, i32) = (284, 454);

/// Draws the samples of a run (one per second, oldest first) on a machine with `vcpus` vCPUs. None if fewer than two have
/// memory: one point is no line.
pub fn samples(name: &str, title: &str, vcpus: u32, samples: &[Sample]) -> Option<Picture> {
    let balloon = |sample: &Sample| sample.balloon_memory_kib;
    let largest = |sample: &Sample| sample.memory_kib.max(balloon(sample).unwrap_or(0));
    if samples.iter().map(largest).filter(|kib| *kib > 0).count() < 2 {
        return None;
    }
    let end = samples.last()?.at_ms;
    let time = Axis::linear(Unit::Milliseconds, 0.0, end as f64, (LEFT, RIGHT));
    let zero = Sample::default();
    let before = std::iter::once(&zero).chain(samples);
    // Hundredths of a core, between a sample and the previous one.
    let used: Vec<(u64, u64)> = before
        .zip(samples)
        .filter(|(before, now)| now.at_ms > before.at_ms)
        .map(|(before, now)| {
            let cpu_ms = now.cpu_ms.saturating_sub(before.cpu_ms);
            (now.at_ms, cpu_ms.saturating_mul(100) / (now.at_ms - before.at_ms))
        })
        .collect();
    let busiest = used.iter().map(|point| point.1).max().unwrap_or(0);
    let cores =
        Axis::linear(Unit::Count, 0.0, f64::from(vcpus.max(1)).max(busiest as f64 / 100.0), (CPU.1, CPU.0));
    let largest = samples.iter().map(largest).max()?;
    let memory = Axis::linear(Unit::Kib, 0.0, largest as f64, (MEMORY.1, MEMORY.0));

    let mut drawing = Drawing::new(800, MEMORY.1 + 40);
    drawing.text((16, CPU.0 - 18), "s", "cores in use");
    drawing.upright(&cores, (LEFT, RIGHT));
    drawing.level(&time, (CPU.0, CPU.1));
    drawing.text((16, MEMORY.0 - 18), "s", "memory in use");
    drawing.upright(&memory, (LEFT, RIGHT));
    drawing.level(&time, (MEMORY.0, MEMORY.1));
    let line = |points: &[(u64, f64)], axis: &Axis| {
        polyline(of_columns(points.iter().map(|(ms, value)| (time.pixel(*ms as f64), axis.pixel(*value)))))
    };
    let cpu: Vec<(u64, f64)> =
        used.iter().map(|(ms, hundredths)| (*ms, *hundredths as f64 / 100.0)).collect();
    drawing.path("c0", &line(&cpu, &cores));
    let guest: Vec<(u64, f64)> =
        samples.iter().filter_map(|sample| Some((sample.at_ms, balloon(sample)? as f64))).collect();
    // 0: the guest reported nothing.
    let reported = samples.iter().filter(|sample| sample.memory_kib > 0);
    let tool: Vec<(u64, f64)> = reported.map(|sample| (sample.at_ms, sample.memory_kib as f64)).collect();
    drawing.path("c2 d1", &line(&guest, &memory));
    drawing.path("c3", &line(&tool, &memory));
    drawing.legend(
        (RIGHT + 20, CPU.0 + 12),
        &[("c0".into(), format!("of {vcpus} {}", if vcpus == 1 { "vCPU" } else { "vCPUs" }))],
    );
    let mut legend = Vec::new();
    legend.extend((!tool.is_empty()).then(|| ("c3".to_owned(), "the tool".to_owned())));
    legend.extend((!guest.is_empty()).then(|| ("c2 d1".to_owned(), "the whole guest".to_owned())));
    drawing.legend((RIGHT + 20, MEMORY.0 + 12), &legend);
    let cpu_ms = samples.iter().map(|sample| sample.cpu_ms).max().unwrap_or(0);
    let peak = match samples.iter().map(|sample| sample.memory_kib).max().unwrap_or(0) {
        0 => "there is no sample of the tool's memory".to_owned(),
        peak => format!("the largest memory sample of the tool is {}", kib(peak)),
    };
    let description = format!(
        "Top: cores in use in each second; bottom: memory of the tool and of the whole guest; both over the time since \
         the start of the run. The last sample is at {}, after {} of CPU time; {peak}.",
        duration(end),
        duration(cpu_ms),
    );
    let optional = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
    let rows = samples.iter().map(|sample| {
        let [at, cpu, memory] =
            [sample.at_ms, sample.cpu_ms, sample.memory_kib].map(|value| value.to_string());
        [at, cpu, memory, optional(sample.balloon_memory_kib)]
    });
    let table = csv(["at_ms", "cpu_ms", "memory_kib", "balloon_memory_kib"], rows);
    Some(drawing.finish(name.to_owned(), title.to_owned(), description, table))
}

/// Keeps of the points in each column of pixels the first, the lowest, the highest and the last. The line is drawn in
/// the same way.
fn of_columns(points: impl IntoIterator<Item = (i32, i32)>) -> Vec<(i32, i32)> {
    let points: Vec<(i32, i32)> = points.into_iter().collect();
    let column = |points: &[(i32, i32)]| {
        let ys = || points.iter().map(|point| point.1);
        let (x, first, last) = (points[0].0, points[0].1, points[points.len() - 1].1);
        [first, ys().min().unwrap_or(first), ys().max().unwrap_or(first), last].map(|y| (x, y))
    };
    points.chunk_by(|a, b| a.0 == b.0).flat_map(column).collect()
}
