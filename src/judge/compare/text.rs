//! Formats a comparison as text: for each kind of difference its number and the first ones.

use super::*;
use crate::show::{self, changed_decimals, first_rows, short};

/// Number of lines shown of each kind of difference; `--format json` has all.
const SHOWN: usize = 15;
/// Number of lines shown of each kind of item that only one judgement has.
const SHOWN_ONE_SIDED: usize = 5;

impl fmt::Display for Comparison {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (values, endings, times) = match self.contest.as_str() {
            "sv-comp" => ("right answers", "verdicts that differ", "CPU times"),
            "crv" => ("right answers", "verdicts that differ", "execution times"),
            _ => ("trusted values", "runs that ended differently", "CPU times"),
        };
        section(out, "settings that differ", changes(&self.settings), &[])?;
        section(out, "entries that differ", changes(&self.entries), &[])?;
        let both = self.instances.iter().filter(|change| change.before.is_some() && change.after.is_some());
        section(out, "instances that differ", changes(both), &[])?;
        self.one_sided(out)?;
        if self.contest == "mcc" {
            let bases = self.bases.iter().map(|BasisChange { before, after, values }| {
                let [before, after] = [before, after].map(|basis| show::basis(*basis).to_owned());
                vec![values.to_string(), before, "->".to_owned(), after]
            });
            let bases: Vec<_> = bases.collect();
            let number = if bases.is_empty() { "" } else { " (the first column is the number of values)" };
            let what = format!("groups of trusted values that were decided in another way{number}");
            section(out, &what, bases, &[0])?;
        }
        let changed = self.values.iter().map(|change| {
            let ValueChange { block, position, before, after, basis_before, basis_after } = change;
            let with = |value, basis: &Option<Basis>| {
                let basis =
                    basis.map_or(String::new(), |basis| format!(" ({})", show::basis_beside_value(basis)));
                shown(value, "unknown") + &basis
            };
            let place = [numbered(block, *position), with(before, basis_before)];
            [place.to_vec(), vec!["->".to_owned(), with(after, basis_after)]].concat()
        });
        let what = format!("{values} that differ");
        section_of(out, &what, self.values_compared, changed.collect(), &[])?;
        let (ranks, points): (Vec<_>, Vec<_>) = self.places.iter().partition(|place| place.is_of_rank());
        section(out, "ranks or medals that change", ranks.iter().map(|p| place(p)).collect(), &[])?;
        let points: Vec<_> = points.iter().map(|p| place(p)).collect();
        section(out, "entries that keep their rank, or stay unranked, with other points", points, &[])?;
        let mut by_difference: Vec<&PointsChange> = self.points.iter().collect();
        let size = |change: &PointsChange| num_traits::Signed::abs(&change.difference());
        // Once per score: the difference of two long fractions takes time.
        by_difference.sort_by_cached_key(|change| std::cmp::Reverse(size(change)));
        let scores = by_difference.iter().map(|change| {
            let (mut row, difference) = score(change);
            let sign = if difference.starts_with('-') || difference == "0.00" { "" } else { "+" };
            row.push(format!("{sign}{difference}"));
            row
        });
        section(out, "scores that differ (the greatest differences first)", scores.collect(), &[2, 4, 5])?;
        if self.contest == "crv" {
            let parts = self.parts.iter().map(|change| score(change).0);
            section(out, "parts of scores that differ", parts.collect(), &[3, 5])?;
            section(
                out,
                "parts of the points of runs that differ",
                runs_with_points(&self.run_parts),
                &[3, 5],
            )?;
        }
        let run_points = runs_with_points(&self.run_points);
        section_of(out, "runs with different points", self.runs_compared, run_points, &[2, 4])?;
        let answers = runs(&self.answers, |answer| shown(answer, "none"));
        section_of(out, "answers that differ", self.answers_compared, answers, &[])?;
        let how_ended = runs(&self.endings, ToString::to_string);
        section_of(out, endings, self.runs_compared, how_ended, &[])?;
        let slower = runs(&self.times, |ms| seconds(*ms));
        section_of(out, &format!("{times} that differ"), self.times_compared, slower, &[2, 4])?;
        let larger = runs(&self.memory, |bytes| megabytes(*bytes));
        section_of(out, "memory peaks that differ", self.memory_compared, larger, &[2, 4])
    }
}

impl Comparison {
    /// Writes what only one judgement has; the other sections leave it out.
    fn one_sided(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut nothing = true;
        for (side, only) in [("before", &self.only_before), ("after", &self.only_after)] {
            let here = |change: &&Change<String>| match side {
                "before" => change.after.is_none(),
                _ => change.before.is_none(),
            };
            let instances: Vec<_> =
                self.instances.iter().filter(here).map(|change| vec![change.what.clone()]).collect();
            let values =
                only.values.iter().map(|block| vec![block.block.to_string(), block.values.to_string()]);
            let runs = only.runs.iter().map(|run| vec![run.entry.clone(), run.block.to_string()]);
            let count = only.values.iter().map(|block| block.values).sum();
            for (what, count, rows) in [
                ("instances", instances.len(), instances),
                ("values", count, values.collect()),
                ("runs", only.runs.len(), runs.collect()),
            ] {
                if count > 0 {
                    nothing = false;
                    listed(out, &format!("{what} only {side}: {count}"), &rows, &[], SHOWN_ONE_SIDED)?;
                }
            }
        }
        if nothing { writeln!(out, "instances, values or runs in one judgement only: 0") } else { Ok(()) }
    }
}

/// Writes a section: its number of rows (also if it is 0) and the first rows.
fn section(out: &mut fmt::Formatter<'_>, what: &str, rows: Vec<Vec<String>>, right: &[usize]) -> fmt::Result {
    listed(out, &format!("{what}: {}", rows.len()), &rows, right, SHOWN)
}

/// Writes a section of rows that differ among `all` that were compared.
fn section_of(
    out: &mut fmt::Formatter<'_>,
    what: &str,
    all: u64,
    rows: Vec<Vec<String>>,
    right: &[usize],
) -> fmt::Result {
    listed(out, &format!("{what}: {} of {all}", rows.len()), &rows, right, SHOWN)
}

/// Writes the heading and the first `most` rows.
fn listed(
    out: &mut fmt::Formatter<'_>,
    heading: &str,
    rows: &[Vec<String>],
    right: &[usize],
    most: usize,
) -> fmt::Result {
    writeln!(out, "{heading}")?;
    first_rows(out, &rows[..rows.len().min(most)], right, rows.len())
}

fn changes<'c>(changes: impl IntoIterator<Item = &'c Change<String>>) -> Vec<Vec<String>> {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let line = |c: &Change<String>| vec![c.what.clone(), text(&c.before), "->".to_owned(), text(&c.after)];
    changes.into_iter().map(line).collect()
}

/// Formats an answer: a long number is shortened, `T` and `F` are written in full, other text stays as it is.
fn shown(text: &Option<String>, none: &str) -> String {
    match text {
        None => none.to_owned(),
        Some(text)
            if text.bytes().all(|byte| byte.is_ascii_digit()) || ["T", "F", "Inf"].contains(&&**text) =>
        {
            short(text)
        }
        Some(text) => text.clone(),
    }
}

fn numbered(block: &BlockName, position: Option<usize>) -> String {
    position.map_or(block.to_string(), |position| format!("{block} {position:02}"))
}

fn place(change: &PlaceChange) -> Vec<String> {
    let [before, after] =
        [&change.before, &change.after].map(|place| place.as_ref().map(|place| &place.points));
    let [before, after, _] = changed_decimals(before, after);
    let place = |place: &Option<ComparedPlace>, points: String| match place {
        None => points,
        Some(ComparedPlace { rank, medal, .. }) => {
            let rank = rank.map_or("unranked".to_owned(), |rank| format!("rank {rank}"));
            format!("{rank} {medal} {points}").replace("  ", " ")
        }
    };
    let (before, after) = (place(&change.before, before), place(&change.after, after));
    vec![change.category.clone(), change.entry.clone(), before, "->".to_owned(), after]
}

/// The row of a score, or of a part of it, and the difference.
fn score(change: &PointsChange) -> (Vec<String>, String) {
    let [before, after] =
        [&change.before, &change.after].map(|points| points.as_ref().map(|points| &points.0));
    let [before, after, difference] = changed_decimals(before, after);
    let names = [change.entry.clone(), change.examination.clone()].into_iter().chain(change.part.clone());
    (names.chain([before, "->".to_owned(), after]).collect(), difference)
}

/// The rows of runs with changed points.
fn runs_with_points(changes: &[RunChange<Points>]) -> Vec<Vec<String>> {
    let points = |change: &RunChange<Points>| {
        let [before, after, _] = changed_decimals(Some(&change.before.0), Some(&change.after.0));
        [before, after]
    };
    changes.iter().map(|change| run(change, points(change))).collect()
}

/// The rows of changed runs, with their states before and after as `shown` writes them.
fn runs<T>(changes: &[RunChange<T>], shown: impl Fn(&T) -> String) -> Vec<Vec<String>> {
    changes.iter().map(|change| run(change, [&change.before, &change.after].map(&shown))).collect()
}

fn run<T>(change: &RunChange<T>, [before, after]: [String; 2]) -> Vec<String> {
    let names = [change.entry.clone(), numbered(&change.block, change.position)];
    names.into_iter().chain(change.part.clone()).chain([before, "->".to_owned(), after]).collect()
}

/// Bytes as megabytes of a million bytes.
fn megabytes(bytes: u64) -> String {
    format!("{}.{:03} MB", bytes / 1_000_000, bytes % 1_000_000 / 1000)
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03} s", ms / 1000, ms % 1000)
}
