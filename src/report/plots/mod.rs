//! Pictures for those who look rather than read: SVG made here, each with its data as CSV.
//!
//! They follow the reader's light or dark scheme by themselves, inside a page or opened alone, and ask for no other
//! file. The same runs give the same bytes. Floats stand for places on paper only; every figure in a CSV is exact.

mod axis;
mod confidence;
mod drawing;
mod overlap;
mod progress;
mod run;
mod runs;
mod solved;
mod strips;

pub use confidence::confidence;
pub(super) use drawing::STYLE;
pub use progress::{RecordedRun, progress, progress_of};
pub use run::samples;
pub use runs::Runs;
pub(super) use runs::{Measure, time_limits};
pub(super) use solved::score_name;
pub use solved::scores;

/// One picture; two of one contest never share a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// File stem, fit for a path and a URL.
    pub name: String,
    /// Stands in the picture too.
    pub title: String,
    /// What the picture shows, in words; the SVG has it as `<desc>`.
    pub description: String,
    pub svg: String,
    pub csv: String,
}

/// The pictures of a whole contest: `solved`, `overlap`, `time` and `memory` over all examinations (categories), and
/// each for every one of them, such as `solved-StateSpace`. What was not measured has no picture.
pub fn pictures(runs: &Runs) -> Vec<Picture> {
    let mut pictures = Vec::new();
    let groups: Vec<Option<usize>> = match runs.groups.len() {
        // All of one examination would be the same picture twice.
        1 => vec![Some(0)],
        all => std::iter::once(None).chain((0..all).map(Some)).collect(),
    };
    for group in groups {
        pictures.extend(solved::solved(runs, group));
        pictures.extend(overlap::overlap(runs, group));
        for measure in [Measure::Time, Measure::Memory] {
            pictures.extend(strips::strips(runs, group, measure));
        }
    }
    pictures
}

/// A table as CSV.
fn csv<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut table = csv::Writer::from_writer(Vec::new());
    let mut write = |row: &[String]| table.write_record(row).expect("memory takes all");
    write(&header.map(str::to_owned));
    rows.into_iter().for_each(|row| write(&row));
    String::from_utf8(table.into_inner().expect("memory takes all")).expect("made of strings")
}
