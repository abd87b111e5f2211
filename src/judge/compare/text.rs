//! A comparison as people read it: every kind of change with its number, the first ones of each in full.

use super::*;
use crate::judge::show::{columns, decimals, short};
use std::fmt;

/// Lines shown of each kind; `--format json` has all.
const SHOWN: usize = 15;

impl fmt::Display for Comparison {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        let changes = |changes: &[Change<String>]| -> Vec<Vec<String>> {
            let line =
                |c: &Change<String>| vec![c.what.clone(), said(&c.before), "->".to_owned(), said(&c.after)];
            changes.iter().map(line).collect()
        };
        section(out, "settings differ", changes(&self.settings), &[])?;
        section(out, "entries differ", changes(&self.entries), &[])?;
        let bases = self.bases.iter().map(|BasisChange { before, after, values }| {
            vec![values.to_string(), before.to_string(), "->".to_owned(), after.to_string()]
        });
        section(out, "changes of basis", bases.collect(), &[0])?;
        let values = self.values.iter().map(|change| {
            let ValueChange { instance, examination, position, .. } = change;
            vec![
                format!("{instance} {examination} {position:02}"),
                value(&change.before),
                format!("({})", change.basis_before),
                "->".to_owned(),
                value(&change.after),
                format!("({})", change.basis_after),
            ]
        });
        section(out, &format!("of {} trusted values differ", self.values_compared), values.collect(), &[])?;
        let (ranks, points): (Vec<_>, Vec<_>) = self.places.iter().partition(|place| place.is_of_rank());
        section(out, "ranks or medals change", ranks.iter().map(|p| place(p)).collect(), &[])?;
        let points: Vec<_> = points.iter().map(|p| place(p)).collect();
        section(out, "places keep their rank with other points", points, &[])?;
        let mut by_difference: Vec<&PointsChange> = self.points.iter().collect();
        let size = |change: &PointsChange| num_traits::Signed::abs(&change.difference());
        by_difference.sort_by_key(|change| std::cmp::Reverse(size(change)));
        let scores = by_difference.iter().map(|change| {
            let points = |points: &Option<BigRational>| points.as_ref().map_or("-".to_owned(), decimals);
            let sign = if change.difference() > BigRational::zero() { "+" } else { "" };
            vec![
                change.entry.clone(),
                change.examination.clone(),
                points(&change.before),
                "->".to_owned(),
                points(&change.after),
                format!("{sign}{}", decimals(&change.difference())),
            ]
        });
        section(out, "scores differ (the greatest differences first)", scores.collect(), &[2, 4, 5])?;
        let answers = self.answers.iter().map(|change| {
            let AnswerChange { entry, instance, examination, position, before, after } = change;
            let place = format!("{instance} {examination} {position:02}");
            vec![entry.clone(), place, answer(before), "->".to_owned(), answer(after)]
        });
        section(out, "answers differ", answers.collect(), &[])?;
        let endings = self.endings.iter().map(|change| {
            let word = |ending: Ending| serde_json::to_value(ending).ok()?.as_str().map(str::to_owned);
            run(change, word(change.before).unwrap_or_default(), word(change.after).unwrap_or_default())
        });
        section(out, "runs ended otherwise", endings.collect(), &[])?;
        let times =
            self.times.iter().map(|change| run(change, seconds(change.before), seconds(change.after)));
        section(out, &format!("of {} CPU times differ", self.times_compared), times.collect(), &[2, 4])
    }
}

/// Nothing is said of what does not differ but that it doesn't.
fn section(out: &mut fmt::Formatter<'_>, what: &str, rows: Vec<Vec<String>>, right: &[usize]) -> fmt::Result {
    writeln!(out, "{} {what}", rows.len())?;
    let shown = columns(&rows[..rows.len().min(SHOWN)], right);
    shown.lines().try_for_each(|line| writeln!(out, "  {line}"))?;
    match rows.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => writeln!(out, "  and {more} more (--format json)"),
    }
}

fn value(value: &Option<Value>) -> String {
    value.as_ref().map_or("unknown".to_owned(), |value| short(&value.to_string()))
}

fn answer(value: &Option<Value>) -> String {
    value.as_ref().map_or("none".to_owned(), |value| short(&value.to_string()))
}

fn place(change: &PlaceChange) -> Vec<String> {
    let place = |place: &Option<Place>| match place {
        None => "-".to_owned(),
        Some(Place { rank, medal, points }) => {
            let rank = rank.map_or("unranked".to_owned(), |rank| format!("rank {rank}"));
            format!("{rank} {medal} {}", decimals(points)).replace("  ", " ")
        }
    };
    let (before, after) = (place(&change.before), place(&change.after));
    vec![change.category.clone(), change.entry.clone(), before, "->".to_owned(), after]
}

fn run<T>(change: &RunChange<T>, before: String, after: String) -> Vec<String> {
    let RunChange { entry, instance, examination, .. } = change;
    vec![entry.clone(), format!("{instance} {examination}"), before, "->".to_owned(), after]
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03} s", ms / 1000, ms % 1000)
}
