//! Pictures of a contest as SVG, each with its values as CSV.
//!
//! An SVG follows the light or dark scheme of the browser, in a page or opened alone, and loads no other file. The same
//! runs give the same bytes. Floating-point numbers are only used for pixels; every value in a CSV is exact.

mod axis;
mod confidence;
mod drawing;
mod net;
mod overlap;
mod progress;
mod run;
mod runs;
mod solved;
mod strips;
pub(super) mod years;

use super::tables;
pub use confidence::confidence;
pub(super) use drawing::{STYLE, fitting};
pub(super) use net::net;
pub use net::net_is_drawn;
pub use progress::progress_of;
pub use progress::{RecordedRun, progress};
pub use run::samples;
pub use runs::Runs;
pub(super) use runs::{Measure, shown, time_limits};
pub(super) use solved::score_name;
pub use solved::scores;

/// One picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// File stem, valid in a path and a URL, and different for all pictures of a contest.
    pub name: String,
    /// The title, which the SVG shows.
    pub title: String,
    /// What the picture shows, as text; it is the `<desc>` of the SVG.
    pub description: String,
    /// The SVG file.
    pub svg: String,
    /// The values of the picture as CSV.
    pub csv: String,
}

/// The pictures of the runs of a contest: `solved`, `arrived`, `overlap`, `time`, `memory` and `instructions` over all examinations (categories),
/// and for each of them, such as `solved-StateSpace`. Without measurements only `overlap` is drawn.
pub fn pictures(runs: &Runs) -> Vec<Picture> {
    let mut pictures = Vec::new();
    let groups: Vec<Option<usize>> = match runs.groups.len() {
        // A picture over all examinations would repeat the one of the only examination.
        1 => vec![Some(0)],
        all => std::iter::once(None).chain((0..all).map(Some)).collect(),
    };
    for group in groups {
        pictures.extend(solved::solved(runs, group));
        pictures.extend(solved::arrived(runs, group));
        pictures.extend(overlap::overlap(runs, group));
        for measure in [Measure::Time, Measure::Memory, Measure::Instructions] {
            pictures.extend(strips::strips(runs, group, measure));
        }
    }
    pictures
}

/// A table as CSV.
fn csv<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let rows = [header.map(str::to_owned)].into_iter().chain(rows);
    String::from_utf8(tables::csv(rows)).expect("all cells are UTF-8")
}
