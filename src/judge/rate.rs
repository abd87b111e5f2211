//! Rates an author's runs within a published field: what is right, wrong, missed and alone, the places that the entries
//! would have, and the changes against a baseline.

use crate::input::ballots::{Ballots, EntryFacts};
use crate::input::sources::{CombineError, Source, combine};
use crate::judgement::{
    Block, Cell, Entry, Medal, Podium, PodiumPlace, Status, Trusted, ValueVerdict, display_as_in_files,
};
use crate::mcc::{Judge, JudgeError, JudgementTotals};
use crate::show::{columns, decimals, short};
use mcc_benchkit::Value;
use mcc_edition::{Edition, fraction};
use num_rational::BigRational;
use num_traits::Signed;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Added to the names of the entries of the baseline, so that they are not those of the rated entries.
const BASELINE: &str = " (baseline)";

/// The rating of all entries of the author's runs.
#[derive(Debug, Serialize)]
pub struct Rating {
    /// Name of the edition.
    pub edition: String,
    /// Title of the edition.
    pub title: String,
    /// Notes of the judgement, and warnings on unknown settings of the edition.
    pub notes: Vec<String>,
    /// Number of runs without a result; if there are some, no medal is given.
    pub unresolved: usize,
    /// The rated entries, sorted by name.
    pub entries: Vec<EntryRating>,
}

/// The rating of one entry.
#[derive(Debug, Serialize)]
pub struct EntryRating {
    /// Name of the entry.
    pub entry: String,
    /// Whether the baseline has runs of it.
    pub has_baseline: bool,
    /// The counts by examination.
    pub examinations: Vec<ExaminationRating>,
    /// Its place in each category.
    pub places: Vec<WouldBePlace>,
    /// The values behind the counts, in the order of examination, instance and position.
    pub values: Vec<RatedValue>,
}

/// The counts of an entry in one examination.
#[derive(Debug, Default, Serialize)]
pub struct ExaminationRating {
    /// Name of the examination.
    pub examination: String,
    /// Right values.
    pub right: u64,
    /// Wrong values.
    pub wrong: u64,
    /// Values not given in a run, which another competing entry has right.
    pub missed: u64,
    /// Right values that no other competing tool has.
    pub alone: u64,
    /// Values given where the trusted value is unknown.
    pub unjudged: u64,
    /// Values that another competing entry has right, in blocks without a run of this entry.
    pub not_run: u64,
    /// Values that the baseline has right and the entry has not.
    pub regressions: u64,
    /// Values that the entry has right and the baseline has not.
    pub gains: u64,
    /// Points with weights.
    #[serde(with = "fraction")]
    pub points: BigRational,
}

/// The place that an entry would have in a category.
#[derive(Debug, Serialize)]
pub struct WouldBePlace {
    /// The category.
    pub category: String,
    /// The rank. None if another variant of the tool has a better one, or the entry is not competing.
    pub rank: Option<u32>,
    /// Number of entries with a rank.
    pub ranked: usize,
    /// The medal of the rank.
    pub medal: Medal,
    /// Points in the category.
    #[serde(with = "fraction")]
    pub points: BigRational,
    /// The entry on the next better place and its lead. None on the first place.
    pub behind: Option<Rival>,
    /// The entry on the next worse place and the lead over it. None on the last place.
    pub ahead: Option<Rival>,
}

/// An entry on a neighbouring place.
#[derive(Debug, Serialize)]
pub struct Rival {
    /// Name of the entry.
    pub entry: String,
    /// Difference of the points, 0 or more.
    #[serde(with = "fraction")]
    pub points: BigRational,
}

/// Why a value is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueKind {
    /// It is wrong.
    Wrong,
    /// The entry ran and did not give it; another competing entry has it right.
    Missed,
    /// It is right, and no other competing tool has it.
    Alone,
    /// The baseline has it right, the entry has not.
    Regression,
    /// The entry has it right, the baseline has not.
    Gain,
}

display_as_in_files!(ValueKind);

/// A listed value of a run. The run is the entry, the instance and the examination.
#[derive(Debug, Serialize)]
pub struct RatedValue {
    /// Why it is listed.
    pub kind: ValueKind,
    /// Name of the examination.
    pub examination: String,
    /// Name of the instance.
    pub instance: String,
    /// The position, from 0.
    pub position: usize,
    /// The value of the entry; None if it gave none.
    pub given: Option<Value>,
    /// The value of the baseline, for a regression or gain; None if it gave none.
    pub baseline: Option<Value>,
    /// The trusted value.
    pub trusted: Option<Value>,
    /// Number of other competing entries that have it right.
    pub others_right: usize,
}

/// Combines the author's runs, the published field and the baseline. The author's entries replace those of the same name in
/// the field. The entries of the baseline are judged without vote and rank. Returns the ballots and the names of the rated
/// entries.
///
/// # Errors
/// The sources cannot be judged together.
pub fn combine_field(
    edition: &Edition,
    own: Source,
    published: Source,
    baseline: Option<Source>,
) -> Result<(Ballots, Vec<String>), CombineError> {
    let mut names: Vec<String> = own.ballots.entry_names().map(str::to_owned).collect();
    names.sort();
    let in_field = |name: &&String| published.ballots.entry_names().any(|known| known == **name);
    let replace: BTreeMap<String, String> =
        names.iter().filter(in_field).map(|name| (name.clone(), own.name.clone())).collect();
    let mut sources = vec![own, published];
    if let Some(mut baseline) = baseline {
        let rated = baseline.ballots.rename_entries(|name| {
            names.iter().any(|known| known == name).then(|| format!("{name}{BASELINE}"))
        });
        for entry in rated {
            let note = "earlier runs, for comparison".to_owned();
            let facts = EntryFacts { tool: entry.clone(), status: Status::OutOfCompetition, note };
            baseline.ballots.describe_entry(&entry, facts);
        }
        sources.push(baseline);
    }
    Ok((combine(edition, sources, &replace)?, names))
}

/// Judges the combined ballots and rates the entries.
///
/// # Errors
/// The ballots cannot be judged.
pub fn rate(edition: &Edition, ballots: Ballots, rated: &[String]) -> Result<Rating, JudgeError> {
    let judge = Judge::new(edition, ballots)?;
    let header = &judge.header;
    let number = |name: &str| header.entries.iter().position(|entry| entry.entry == name);
    let mut ratings: Vec<RatedEntry> = Vec::new();
    for name in rated {
        // A resigned entry is in no judgement.
        let Some(entry) = number(name) else { continue };
        let baseline = number(&format!("{name}{BASELINE}"));
        let examinations = header.examinations.iter();
        let examinations = examinations
            .map(|name| ExaminationRating { examination: name.clone(), ..ExaminationRating::default() });
        ratings.push(RatedEntry {
            entry,
            baseline,
            examinations: examinations.collect(),
            values: Vec::new(),
        });
    }
    let totals = judge.judge_blocks(|block| {
        let instance = &header.instances[block.instance].instance;
        for rating in &mut ratings {
            rating.add(&header.entries, &header.examinations[block.examination], instance, &block);
        }
        Ok::<(), JudgeError>(())
    })?;
    let entries = ratings.into_iter().map(|rating| rating.finish(&header.entries, &totals));
    Ok(Rating {
        edition: header.edition.name.clone(),
        title: header.edition.title.clone(),
        notes: header.notes.iter().cloned().chain(header.edition.warnings()).collect(),
        unresolved: header.unresolved.len(),
        entries: entries.collect(),
    })
}

/// An entry while blocks are judged.
struct RatedEntry {
    entry: usize,
    baseline: Option<usize>,
    examinations: Vec<ExaminationRating>,
    values: Vec<RatedValue>,
}

impl RatedEntry {
    fn add(&mut self, entries: &[Entry], examination: &str, instance: &str, block: &Block) {
        let cell_of = |entry: usize| block.cells.iter().find(|cell| cell.entry == entry);
        let own = cell_of(self.entry);
        let baseline = self.baseline.and_then(cell_of);
        let tool = &entries[self.entry].tool;
        let is_rival = |cell: &&Cell| {
            let of = &entries[cell.entry];
            of.status == Status::Competing && of.tool != *tool
        };
        let rivals: Vec<&Cell> = block.cells.iter().filter(is_rival).collect();
        for (position, trusted) in block.trusted.iter().enumerate() {
            let has_right = |cell: &&&Cell| cell.verdicts[position] == ValueVerdict::Right;
            let others_right = rivals.iter().filter(has_right).count();
            let counts = &mut self.examinations[block.examination];
            let Some(own) = own else {
                counts.not_run += u64::from(others_right > 0);
                continue;
            };
            let mut kinds = Vec::new();
            match own.verdicts[position] {
                ValueVerdict::Right => {
                    counts.right += 1;
                    if others_right == 0 {
                        counts.alone += 1;
                        kinds.push(ValueKind::Alone);
                    }
                }
                ValueVerdict::Wrong => {
                    counts.wrong += 1;
                    kinds.push(ValueKind::Wrong);
                }
                ValueVerdict::Unjudged => counts.unjudged += 1,
                ValueVerdict::NotComputed if others_right > 0 => {
                    counts.missed += 1;
                    kinds.push(ValueKind::Missed);
                }
                ValueVerdict::NotComputed => {}
            }
            if let Some(baseline) = baseline {
                let is_right = |cell: &Cell| cell.verdicts[position] == ValueVerdict::Right;
                match (is_right(baseline), is_right(own)) {
                    (true, false) => {
                        counts.regressions += 1;
                        kinds.push(ValueKind::Regression);
                    }
                    (false, true) => {
                        counts.gains += 1;
                        kinds.push(ValueKind::Gain);
                    }
                    _ => {}
                }
            }
            let value_of = |cell: &Cell| cell.values.get(position).cloned().flatten();
            let Trusted { value, .. } = trusted;
            self.values.extend(kinds.into_iter().map(|kind| RatedValue {
                kind,
                examination: examination.to_owned(),
                instance: instance.to_owned(),
                position,
                given: value_of(own),
                baseline: match kind {
                    ValueKind::Regression | ValueKind::Gain => baseline.and_then(value_of),
                    _ => None,
                },
                trusted: value.clone(),
                others_right,
            }));
        }
    }

    fn finish(mut self, entries: &[Entry], totals: &JudgementTotals) -> EntryRating {
        for score in totals.scores.iter().filter(|score| score.entry == self.entry) {
            self.examinations[score.examination].points = score.normalized.clone();
        }
        let place = |podium: &Podium| {
            let at = podium.places.iter().position(|place| place.entry == self.entry)?;
            let ranked: Vec<&PodiumPlace> =
                podium.places.iter().filter(|place| place.rank.is_some()).collect();
            let own = &podium.places[at];
            let rival = |of: Option<&&PodiumPlace>| {
                of.map(|of| Rival {
                    entry: entries[of.entry].entry.clone(),
                    points: (&of.points - &own.points).abs(),
                })
            };
            let in_rank = ranked.iter().position(|place| place.entry == self.entry);
            Some(WouldBePlace {
                category: podium.category.clone(),
                rank: own.rank,
                ranked: ranked.len(),
                medal: own.medal,
                points: own.points.clone(),
                behind: rival(in_rank.and_then(|at| ranked.get(at.checked_sub(1)?))),
                ahead: rival(in_rank.and_then(|at| ranked.get(at + 1))),
            })
        };
        EntryRating {
            entry: entries[self.entry].entry.clone(),
            has_baseline: self.baseline.is_some(),
            places: totals.podiums.iter().filter_map(place).collect(),
            examinations: self.examinations,
            values: self.values,
        }
    }
}

/// Number of values of a kind that the text shows; files have all of them.
const SHOWN: usize = 10;

impl fmt::Display for Rating {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for rating in &self.entries {
            writeln!(out, "{} in {}", rating.entry, self.edition)?;
            rating.fmt(out)?;
        }
        if self.unresolved > 0 {
            writeln!(out, "provisional: runs without a result: {}; no medal is given", self.unresolved)?;
        }
        Ok(())
    }
}

impl fmt::Display for EntryRating {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let mut rows = vec![words(&[
            "examination",
            "right",
            "wrong",
            "missed",
            "alone",
            "unjudged",
            "not run",
            "points",
        ])];
        if self.has_baseline {
            rows[0].extend(words(&["regressions", "gains"]));
        }
        for of in &self.examinations {
            let counts = [of.right, of.wrong, of.missed, of.alone, of.unjudged, of.not_run];
            let mut row = vec![of.examination.clone()];
            row.extend(counts.map(|count| count.to_string()));
            row.push(decimals(&of.points));
            if self.has_baseline {
                row.extend([of.regressions, of.gains].map(|count| count.to_string()));
            }
            rows.push(row);
        }
        indented(out, &columns(&rows, &[1, 2, 3, 4, 5, 6, 7, 8, 9]))?;
        let mut rows = vec![words(&["category", "rank", "of", "medal", "points", "behind", "ahead of"])];
        for of in &self.places {
            let rival = |rival: &Option<Rival>| {
                rival.as_ref().map_or(String::new(), |of| format!("{} by {}", of.entry, decimals(&of.points)))
            };
            rows.push(vec![
                of.category.clone(),
                of.rank.map_or("-".to_owned(), |rank| rank.to_string()),
                of.ranked.to_string(),
                of.medal.to_string(),
                decimals(&of.points),
                rival(&of.behind),
                rival(&of.ahead),
            ]);
        }
        indented(out, &columns(&rows, &[1, 2, 4]))?;
        for kind in
            [ValueKind::Wrong, ValueKind::Regression, ValueKind::Gain, ValueKind::Alone, ValueKind::Missed]
        {
            let of: Vec<&RatedValue> = self.values.iter().filter(|value| value.kind == kind).collect();
            if of.is_empty() {
                continue;
            }
            writeln!(out, "  {kind}: {}", of.len())?;
            for value in of.iter().take(SHOWN) {
                writeln!(out, "    {}/{value}", self.entry)?;
            }
            if of.len() > SHOWN {
                writeln!(out, "    and {} more (--format json, --out)", of.len() - SHOWN)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for RatedValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<Value>| {
            value.as_ref().map_or("none".to_owned(), |value| short(&value.to_string()))
        };
        write!(
            out,
            "{}/{} {:02}: {}, trusted {}",
            self.instance,
            self.examination,
            self.position,
            shown(&self.given),
            shown(&self.trusted)
        )?;
        match self.kind {
            ValueKind::Regression | ValueKind::Gain => write!(out, ", baseline {}", shown(&self.baseline)),
            _ => Ok(()),
        }
    }
}

fn indented(out: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    text.lines().try_for_each(|line| writeln!(out, "  {line}"))
}
