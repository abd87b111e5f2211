//! Rates an author's runs within a published field: what is right, wrong, missed and alone, the places that the entries
//! would have, and the changes against a baseline. Says whether the runs belong to another year than the field.

use crate::input::run_results::RunResults;
use crate::input::sources::{CombineError, Source, combine};
use crate::judgement::{
    Basis, Block, Cell, Ending, Entry, Instance, Judgement, Medal, Podium, PodiumPlace, Status, Trusted,
    ValueVerdict, display_as_in_files,
};
use crate::mcc::{Judge, JudgeError, JudgementTotals};
use crate::show::{self, columns, decimals, short, wrapped};
use mcc_campaign::benchkit::Value;
use mcc_edition::{Edition, contest_and_year, fraction};
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
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
    /// How the missed values are distributed.
    pub misses: Misses,
    /// Number of its runs of each failure class.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub failure_classes: BTreeMap<String, u64>,
    /// The values behind the counts, in the order of examination, instance and position.
    pub values: Vec<RatedValue>,
}

/// Numbers of missed values.
#[derive(Debug, Default, Serialize)]
pub struct Misses {
    /// By family of the instance.
    pub by_family: BTreeMap<String, u64>,
    /// By entry that has the value right. A value counts for each of them.
    pub by_backer: BTreeMap<String, u64>,
    /// By the outcome of the run that did not give the value.
    pub by_outcome: BTreeMap<Ending, u64>,
    /// By the failure class of the run that did not give the value; those of runs without a class are not counted.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub by_failure_class: BTreeMap<String, u64>,
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
    /// Values not given in a run, which an entry of another tool has right that votes (competing, or a gold tool).
    pub missed: u64,
    /// Values not given in a run, which no entry of another tool that votes has right.
    pub nobody: u64,
    /// Right values that no other competing tool has.
    pub alone: u64,
    /// Values given where the trusted value is unknown.
    pub unjudged: u64,
    /// Values that an entry of another tool has right that votes, in blocks without a run of this entry.
    pub not_run: u64,
    /// Values that the baseline has right and the entry has not. Where no entry of another tool confirms a value: values of
    /// the baseline that the entry has differently or not.
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
    /// Name of the category, as in the edition.
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

impl Rival {
    /// Its name and the difference, whose decimals `decimal` writes; a difference of 0 is a tie.
    pub fn in_words(&self, decimal: impl Fn(&BigRational) -> String) -> String {
        if self.points.is_zero() {
            return format!("tied with {}", self.entry);
        }
        format!("{} by {}", self.entry, decimal(&self.points))
    }
}

/// Why a value is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueKind {
    /// It is wrong.
    Wrong,
    /// The entry ran and did not give it; an entry of another tool that votes has it right.
    Missed,
    /// It is right, and no other competing tool has it.
    Alone,
    /// The baseline has it right, the entry has not; or no other tool has it right, and the entry changed or lost it.
    Regression,
    /// The entry has it right, the baseline has not.
    Gain,
}

display_as_in_files!(ValueKind);

impl ValueKind {
    /// The word in texts and on pages. Files say `alone` for a value that texts and pages call unique.
    pub fn in_words(self) -> String {
        match self {
            Self::Alone => "unique".to_owned(),
            other => other.to_string(),
        }
    }
}

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
    /// The entries of other tools that vote and have it right.
    pub backers: Vec<String>,
    /// The failure class of the run; None: it has none, or is not of a record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure_class: Option<String>,
}

/// Combines the author's runs, the published field and the baseline. The author's entries replace those of the same name in
/// the field. The entries of the baseline are judged without vote and rank. With `own_blocks_only`, only the instances and
/// examinations with a run of the author are kept. Returns the results and the names of the rated entries.
///
/// # Errors
/// The sources cannot be judged together, or the property ids of one are those of another year than the edition.
pub fn combine_field(
    edition: &Edition,
    own: Source,
    mut published: Source,
    mut baseline: Option<Source>,
    own_blocks_only: bool,
) -> Result<(RunResults, Vec<String>), CombineError> {
    for source in [&own, &published].into_iter().chain(&baseline) {
        check_year_of_ids(edition, source)?;
    }
    if own_blocks_only {
        let kept = own.results.blocks();
        for source in std::iter::once(&mut published).chain(&mut baseline) {
            source.results.retain_blocks(&kept);
        }
    }
    if published.name == own.name {
        // The name of a source states whose runs of an entry count.
        published.name += " (published)";
    }
    if let Some(baseline) = baseline.as_mut().filter(|baseline| baseline.name == published.name) {
        baseline.name += BASELINE;
    }
    let mut names: Vec<String> = own.results.entry_names().map(str::to_owned).collect();
    names.sort();
    let in_field = |name: &&String| published.results.entry_names().any(|known| known == **name);
    let replace: BTreeMap<String, String> =
        names.iter().filter(in_field).map(|name| (name.clone(), own.name.clone())).collect();
    let added: Vec<String> = names.iter().filter(|name| !in_field(name)).cloned().collect();
    let mut sources = vec![own, published];
    if let Some(mut baseline) = baseline {
        let rated = baseline.results.rename_entries(|name| {
            names.iter().any(|known| known == name).then(|| format!("{name}{BASELINE}"))
        });
        for entry in rated {
            let note = "earlier runs, for comparison".to_owned();
            let (tool, status) = (entry.clone(), Status::OutOfCompetition);
            baseline.results.describe_entry(Entry { entry, tool, status, note });
        }
        sources.push(baseline);
    }
    let mut results = combine(edition, sources, &replace)?;
    if !added.is_empty() {
        results.notes.push(format!(
            "the published answers have no entry named {}; it votes too, so trusted values can differ from the published ones",
            added.join(" or ")
        ));
    }
    Ok((results, names))
}

/// Refuses a source whose property ids state another year (`...-CTLCardinality-2023-12`) than the edition: the latest year
/// counts, because a contest has formulas of earlier years too. Ids and editions without a year are not refused.
pub(crate) fn check_year_of_ids(edition: &Edition, source: &Source) -> Result<(), CombineError> {
    let year = |text: &str| text.parse().ok().filter(|year: &u32| (2000..2100).contains(year));
    let year_of_id = |id: &String| year(id.rsplit('-').nth(1)?);
    let ids = source.results.ids.values().flatten();
    let latest = ids.filter_map(|id| Some((year_of_id(id)?, id))).max();
    let edition_year = match contest_and_year(&edition.name) {
        Some(("mcc", text)) => year(text),
        _ => None,
    };
    match (latest, edition_year) {
        (Some((found, id)), Some(expected)) if found != expected => Err(CombineError::OtherYear {
            source_name: source.name.clone(),
            year: found,
            id: id.clone(),
            edition: edition.name.clone(),
        }),
        _ => Ok(()),
    }
}

/// How many of the compared values agree.
#[derive(Clone, Copy, Debug, Default)]
pub struct Agreement {
    /// Number of agreeing values.
    pub agreed: u64,
    /// Number of compared values.
    pub compared: u64,
}

impl Agreement {
    /// Counts a compared value.
    pub(crate) fn add(&mut self, agrees: bool) {
        self.compared += 1;
        self.agreed += u64::from(agrees);
    }

    /// Returns whether less than 70 % agree, so that the values may belong to the formulas of another year. Those of two
    /// years agree in 50 to 65 %.
    pub fn is_doubtful(self) -> bool {
        self.agreed * 10 < self.compared * 7
    }

    /// Returns whether at least 90 % agree.
    pub fn is_good(self) -> bool {
        self.compared > 0 && self.agreed * 10 >= self.compared * 9
    }
}

impl fmt::Display for Agreement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = self.agreed * 100 / self.compared.max(1);
        write!(out, "{} of {} values ({percent} %)", self.agreed, self.compared)
    }
}

/// Compares the values of an author's runs with the trusted values of a published field of another year.
///
/// # Errors
/// The field cannot be judged.
pub fn agreement(own: &RunResults, edition: &Edition, field: RunResults) -> Result<Agreement, JudgeError> {
    let judge = Judge::new(edition, field)?;
    let mut rows: HashMap<(&str, &str), Vec<_>> = HashMap::new();
    for row in &own.rows {
        let examination = own.examinations[row.examination as usize].0.as_str();
        let instance = own.instances.names[row.instance as usize].as_str();
        rows.entry((examination, instance)).or_default().push(row);
    }
    let mut agreement = Agreement::default();
    judge.judge_blocks(|block| {
        let examination = judge.header.examinations[block.examination].as_str();
        let instance = judge.header.instances[block.instance].instance.as_str();
        for row in rows.get(&(examination, instance)).into_iter().flatten() {
            for (number, trusted) in own.values_of(row).iter().zip(&block.trusted) {
                let (Some(given), Some(trusted)) = (own.values.get(*number), &trusted.value) else {
                    continue;
                };
                agreement.add(given.is_same(trusted));
            }
        }
        Ok::<(), JudgeError>(())
    })?;
    Ok(agreement)
}

/// Judges the combined results and rates the entries.
///
/// # Errors
/// The results cannot be judged.
pub fn rate(edition: &Edition, results: RunResults, rated: &[String]) -> Result<Rating, JudgeError> {
    let judge = Judge::new(edition, results)?;
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
            misses: Misses::default(),
            failure_classes: BTreeMap::new(),
            values: Vec::new(),
        });
    }
    let totals = judge.judge_blocks(|block| {
        for rating in &mut ratings {
            rating.add(header, &block);
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
    misses: Misses,
    failure_classes: BTreeMap<String, u64>,
    values: Vec<RatedValue>,
}

impl RatedEntry {
    fn add(&mut self, header: &Judgement, block: &Block) {
        let entries = &header.entries;
        let examination = &header.examinations[block.examination];
        let Instance { instance, family, .. } = &header.instances[block.instance];
        let own = block.cell(self.entry);
        let baseline = self.baseline.and_then(|entry| block.cell(entry));
        let tool = &entries[self.entry].tool;
        let is_other = |entry: &Entry| entry.status.votes() && entry.tool != *tool;
        let others = block.cells.iter().map(|cell| (&entries[cell.entry], cell));
        let others: Vec<(&Entry, &Cell)> = others.filter(|(entry, _)| is_other(entry)).collect();
        let failure_class = own.and_then(|own| own.failure_class.clone());
        if let Some(class) = &failure_class {
            *self.failure_classes.entry(class.clone()).or_default() += 1;
        }
        for (position, trusted) in block.trusted.iter().enumerate() {
            let has_right = |cell: &Cell| cell.verdicts[position] == ValueVerdict::Right;
            let backers = || others.iter().filter(|(_, cell)| has_right(cell)).map(|(entry, _)| *entry);
            let others_right = backers().filter(|entry| entry.status == Status::Competing).count();
            let is_backed = backers().next().is_some();
            let counts = &mut self.examinations[block.examination];
            let Some(own) = own else {
                counts.not_run += u64::from(is_backed);
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
                ValueVerdict::NotComputed if is_backed => {
                    counts.missed += 1;
                    kinds.push(ValueKind::Missed);
                    *self.misses.by_family.entry(family.clone()).or_default() += 1;
                    *self.misses.by_outcome.entry(own.ending).or_default() += 1;
                    if let Some(class) = &failure_class {
                        *self.misses.by_failure_class.entry(class.clone()).or_default() += 1;
                    }
                    for backer in backers() {
                        *self.misses.by_backer.entry(backer.entry.clone()).or_default() += 1;
                    }
                }
                ValueVerdict::NotComputed => counts.nobody += 1,
            }
            let decided = trusted.value.is_some() && (is_backed || trusted.basis == Basis::Override);
            if let Some(kind) = baseline.and_then(|baseline| change(baseline, own, position, decided)) {
                match kind {
                    ValueKind::Regression => counts.regressions += 1,
                    _ => counts.gains += 1,
                }
                kinds.push(kind);
            }
            let value_of = |cell: &Cell| cell.values.get(position).cloned().flatten();
            let Trusted { value, .. } = trusted;
            self.values.extend(kinds.into_iter().map(|kind| RatedValue {
                kind,
                examination: examination.clone(),
                instance: instance.clone(),
                position,
                given: value_of(own),
                baseline: match kind {
                    ValueKind::Regression | ValueKind::Gain => baseline.and_then(value_of),
                    _ => None,
                },
                trusted: value.clone(),
                others_right,
                backers: backers().map(|entry| entry.entry.clone()).collect(),
                failure_class: failure_class.clone(),
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
            let rival = |place: Option<&&PodiumPlace>| {
                place.map(|place| Rival {
                    entry: entries[place.entry].entry.clone(),
                    points: (&place.points - &own.points).abs(),
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
            misses: self.misses,
            failure_classes: self.failure_classes,
            values: self.values,
        }
    }
}

/// Returns whether a value is a regression or a gain against the baseline. `decided`: an entry of another tool, or the
/// organizers, confirm the trusted value. Without that the own vote decides what is right, so a value that changed or that
/// is lost is a regression.
fn change(baseline: &Cell, own: &Cell, position: usize, decided: bool) -> Option<ValueKind> {
    let verdicts = [baseline, own].map(|cell| cell.verdicts[position]);
    let undecided_change = match (&baseline.values[position], &own.values[position]) {
        (Some(old), Some(new)) => old != new && !old.is_same(new),
        (Some(_), None) => true,
        (None, _) => false,
    };
    match verdicts {
        _ if !decided && undecided_change => Some(ValueKind::Regression),
        [ValueVerdict::Right, ValueVerdict::Right] => None,
        [ValueVerdict::Right, _] => Some(ValueKind::Regression),
        [_, ValueVerdict::Right] => Some(ValueKind::Gain),
        _ => None,
    }
}

impl Rating {
    /// Returns how many of the values of the rated entries that are right or wrong are right.
    pub fn agreement(&self) -> Agreement {
        let examinations = self.entries.iter().flat_map(|entry| &entry.examinations);
        examinations.fold(Agreement::default(), |sum, rated| Agreement {
            agreed: sum.agreed + rated.right,
            compared: sum.compared + rated.right + rated.wrong,
        })
    }
}

/// Number of values of a kind that the text shows, and of counts of missed values; files have all of them.
const SHOWN: usize = 10;

impl Misses {
    /// Returns the largest counts by family, backer, outcome and failure class of the run, as text, in which `number` writes
    /// the counts; without empty ones, and without outcomes if the source states none of them.
    pub fn most(&self, number: impl Fn(u64) -> String) -> impl Iterator<Item = (&'static str, String)> {
        let is_stated = self.by_outcome.keys().any(|outcome| *outcome != Ending::NotStated);
        let outcomes = self.by_outcome.iter().filter(|_| is_stated);
        let outcomes = outcomes.map(|(outcome, count)| (show::ending(*outcome).to_owned(), *count)).collect();
        let counts = [
            ("family", self.by_family.clone()),
            ("entry that has it right", self.by_backer.clone()),
            ("ending of the run", outcomes),
            ("failure class of the run", self.by_failure_class.clone()),
        ];
        counts.into_iter().filter(|(_, counts)| !counts.is_empty()).map(move |(by, counts)| {
            let mut sorted: Vec<(String, u64)> = counts.into_iter().collect();
            sorted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            let mut shown: Vec<String> = sorted
                .iter()
                .take(SHOWN)
                .map(|(name, count)| format!("{name} ({})", number(*count)))
                .collect();
            if sorted.len() > SHOWN {
                shown.push(format!("and {} more", sorted.len() - SHOWN));
            }
            (by, shown.join(", "))
        })
    }
}

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

/// The meaning of the columns of values.
const RATED_WORDS: &str = "missed: not given, but a voting entry of another tool has it right; nobody: not given, and no such entry has it right; \
                           unique: no other competing tool has it right (`alone` in files); not run: others have it right, and there is \
                           no run here";

impl fmt::Display for EntryRating {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = |words: &str| words.split(", ").map(str::to_owned).collect::<Vec<_>>();
        let head = "examination, right, wrong, missed, nobody, unique, unjudged, not run, points";
        let mut rows = vec![words(head)];
        if self.has_baseline {
            rows[0].extend(words("regressions, gains"));
        }
        for rated in &self.examinations {
            let counts = [
                rated.right,
                rated.wrong,
                rated.missed,
                rated.nobody,
                rated.alone,
                rated.unjudged,
                rated.not_run,
            ];
            let mut row = vec![rated.examination.clone()];
            row.extend(counts.map(|count| count.to_string()));
            row.push(decimals(&rated.points));
            if self.has_baseline {
                row.extend([rated.regressions, rated.gains].map(|count| count.to_string()));
            }
            rows.push(row);
        }
        indented(out, &columns(&rows, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]))?;
        writeln!(out, "  {}", wrapped(RATED_WORDS, 78, 4))?;
        let mut rows = vec![words("category, rank, of, medal, points, behind, ahead of")];
        for place in &self.places {
            let rival = |rival: &Option<Rival>| {
                rival.as_ref().map_or(String::new(), |rival| rival.in_words(decimals))
            };
            rows.push(vec![
                place.category.clone(),
                place.rank.map_or("-".to_owned(), |rank| rank.to_string()),
                place.ranked.to_string(),
                place.medal.to_string(),
                decimals(&place.points),
                rival(&place.behind),
                rival(&place.ahead),
            ]);
        }
        indented(out, &columns(&rows, &[1, 2, 4]))?;
        if !self.failure_classes.is_empty() {
            let classes = self.failure_classes.iter().map(|(class, runs)| format!("{class} {runs}"));
            writeln!(out, "  runs by failure class: {}", classes.collect::<Vec<_>>().join(", "))?;
        }
        for (by, counts) in self.misses.most(|count| count.to_string()) {
            writeln!(out, "  missed by {by}: {counts}")?;
        }
        for kind in
            [ValueKind::Wrong, ValueKind::Regression, ValueKind::Gain, ValueKind::Alone, ValueKind::Missed]
        {
            let of_kind: Vec<&RatedValue> = self.values.iter().filter(|value| value.kind == kind).collect();
            if of_kind.is_empty() {
                continue;
            }
            writeln!(out, "  {}: {}", kind.in_words(), of_kind.len())?;
            for value in of_kind.iter().take(SHOWN) {
                writeln!(out, "    {}/{value}", self.entry)?;
            }
            if of_kind.len() > SHOWN {
                writeln!(out, "    and {} more (--format json, --out)", of_kind.len() - SHOWN)?;
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
            ValueKind::Missed => write!(out, ", right in {}", self.backers.join(", ")),
            _ => Ok(()),
        }
    }
}

fn indented(out: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    text.lines().try_for_each(|line| writeln!(out, "  {line}"))
}
