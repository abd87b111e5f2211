//! The comparison of campaigns as text.

use super::mcnemar::POWER;
use super::{
    CampaignComparison, ComparedKind, ComparedValue, EntryComparison, FailureClassCounts, PairedCounts,
};
use crate::show::{columns, first_rows, short, wrapped};
use mcc_campaign::benchkit::Value;
use std::fmt;

/// Number of families and of values of a kind that are shown; `--format json` has all.
const SHOWN: usize = 10;

const HEAD: [&str; 12] = [
    "",
    "runs",
    "values",
    "solved A",
    "solved B",
    "wrong A",
    "wrong B",
    "lost",
    "gained",
    "changed",
    "runs lost:gained",
    "p",
];

/// The meaning of the columns.
const HEAD_WORDS: &str = "solved: given and not wrong; lost: solved in A and not in B; gained: solved in B and not in A; \
                          changed: two different values, and none is trusted";

impl fmt::Display for CampaignComparison {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entries.iter().try_for_each(|entry| {
            writeln!(out, "{} (A) and {} (B) in {}", entry.a, entry.b, self.edition)?;
            entry.fmt(out)
        })
    }
}

impl fmt::Display for EntryComparison {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
        rows.extend(self.examinations.iter().chain([&self.all]).map(row));
        columns(&rows, &RIGHT).lines().try_for_each(|line| writeln!(out, "  {line}"))?;
        for (side, runs) in [("A", self.only_a), ("B", self.only_b)] {
            if runs > 0 {
                writeln!(out, "  runs with a result in {side} only, not compared: {runs}")?;
            }
        }
        writeln!(out, "  {}", wrapped(HEAD_WORDS, 78, 4))?;
        if self.all.unjudged_a + self.all.unjudged_b > 0 {
            let (a, b) = (self.all.unjudged_a, self.all.unjudged_b);
            writeln!(out, "  solved values that no trusted value confirms: {a} in A, {b} in B")?;
        }
        self.verdict(out)?;
        let mut families: Vec<&PairedCounts> =
            self.families.iter().filter(|counts| counts.has_differences()).collect();
        families.sort_by_key(|counts| std::cmp::Reverse(counts.lost + counts.gained));
        if !families.is_empty() {
            let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
            rows[0][0] = "family".to_owned();
            rows.extend(families.iter().take(SHOWN).map(|counts| row(counts)));
            first_rows(out, &rows, &RIGHT, families.len() + 1)?;
        }
        if !self.failure_classes.is_empty() {
            let head = ["failure class", "runs A", "runs B", "lost", "gained"];
            let mut rows = vec![head.map(str::to_owned).to_vec()];
            rows.extend(self.failure_classes.iter().map(|counts| {
                let FailureClassCounts { name, runs_a, runs_b, lost, gained } = counts;
                let numbers = [runs_a, runs_b, lost, gained].map(u64::to_string);
                [vec![name.clone()], numbers.to_vec()].concat()
            }));
            columns(&rows, &RIGHT).lines().try_for_each(|line| writeln!(out, "  {line}"))?;
        }
        for kind in
            [ComparedKind::NewlyWrong, ComparedKind::Lost, ComparedKind::Gained, ComparedKind::Changed]
        {
            let listed: Vec<&ComparedValue> = self.values.iter().filter(|value| value.kind == kind).collect();
            if !listed.is_empty() {
                writeln!(out, "  {kind}: {}", listed.len())?;
                let rows: Vec<_> = listed.iter().take(SHOWN).map(|value| value.row()).collect();
                first_rows(out, &rows, &[], listed.len())?;
            }
        }
        Ok(())
    }
}

/// The columns with numbers.
const RIGHT: [usize; 11] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

impl EntryComparison {
    /// Writes what the test found, and what it could have found.
    fn verdict(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PairedCounts {
            runs, runs_lost, runs_gained, p, p_values, significant, needed, detectable, ..
        } = self.all;
        let found = match (significant, runs_gained > runs_lost) {
            (false, _) => "no significant difference",
            (true, true) => "more runs gain values in B than lose values",
            (true, false) => "more runs lose values in B than gain values",
        };
        let values_differ = significant && (runs_gained > runs_lost) != (self.all.gained > self.all.lost);
        let values = if values_differ { "; by the number of values it is the other way round" } else { "" };
        let p = shown(p);
        writeln!(
            out,
            "  {found}: {runs_gained} of {runs} runs gained values, {runs_lost} lost ({p}, exact McNemar test of runs; of \
             values: {}){values}",
            shown(p_values)
        )?;
        let other = runs_lost.min(runs_gained);
        let percent = POWER * 100.0;
        match (needed, detectable) {
            (None, _) => writeln!(
                out,
                "  {runs} runs are too few to find a difference: {other} of them changed in one direction, and even if all others changed \
                 in the other, the difference would not be significant"
            )?,
            (Some(needed), None) => writeln!(
                out,
                "  a difference is significant if at least {needed} runs changed in one direction and {other} in the other; no \
                 such difference is found in {percent} % of comparisons"
            )?,
            (Some(needed), Some(detectable)) => writeln!(
                out,
                "  a difference is significant if at least {needed} runs changed in one direction and {other} in the other; if \
                 {detectable} and {other} runs really changed, it is found in {percent} % of such comparisons"
            )?,
        }
        if let Some(asked) = &self.asked {
            let [lost, gained, power] = [asked.lost, asked.gained, asked.power].map(|share| share * 100.0);
            writeln!(
                out,
                "  if {lost} % of runs are lost and {gained} % gained, it is found in {power:.1} % of comparisons"
            )?;
        }
        for (what, list) in [("examination", &self.examinations), ("family", &self.families)] {
            let significant: Vec<&str> =
                list.iter().filter(|counts| counts.significant).map(|counts| counts.name.as_str()).collect();
            if !significant.is_empty() {
                writeln!(
                    out,
                    "  significant by {what}, as one of {}: {}",
                    list.len(),
                    significant.join(", ")
                )?;
            }
        }
        Ok(())
    }
}

fn shown(p: f64) -> String {
    if p < 0.001 { "p < 0.001".to_owned() } else { format!("p = {p:.3}") }
}

fn row(counts: &PairedCounts) -> Vec<String> {
    let PairedCounts { runs, values, solved_a, solved_b, wrong_a, wrong_b, lost, gained, changed, .. } =
        *counts;
    let mut row = vec![counts.name.clone()];
    row.extend(
        [runs, values, solved_a, solved_b, wrong_a, wrong_b, lost, gained, changed]
            .map(|count| count.to_string()),
    );
    row.push(format!("{}:{}", counts.runs_lost, counts.runs_gained));
    row.push(if counts.p < 0.001 { "<0.001".to_owned() } else { format!("{:.3}", counts.p) });
    row
}

impl ComparedValue {
    fn row(&self) -> Vec<String> {
        let shown = |value: &Option<Value>| {
            value.as_ref().map_or("none".to_owned(), |value| short(&value.to_string()))
        };
        let place = format!("{} {} {:02}", self.instance, self.examination, self.position);
        vec![
            place,
            shown(&self.a),
            "->".to_owned(),
            shown(&self.b),
            format!(
                "trusted {}",
                self.trusted.as_ref().map_or("unknown".to_owned(), |value| short(&value.to_string()))
            ),
        ]
    }
}
