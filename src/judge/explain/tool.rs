//! Explains the points of one entry: its values by examination, its wrong values, the families where it misses most points,
//! and the right values that no other tool gave.

use super::{ExplainError, PROVISIONAL, numbered, position_name};
use crate::judgement::*;
use crate::places::{Loss, Places, Position};
use crate::shared::{find, list};
use crate::show::{columns, decimals, short, six_decimals, status_words, wrapped};
use mcc_campaign::benchkit::Value;
use mcc_edition::fraction;
use num_rational::BigRational;
use num_traits::Zero;
use serde::Serialize;
use std::collections::{BTreeSet, HashMap};
use std::fmt;

/// The explanation of the points of one entry. All points are with weights.
#[derive(Debug, Serialize)]
pub struct ToolExplanation {
    /// Name of the edition.
    pub edition: String,
    /// Name of the entry.
    pub entry: String,
    /// Name of its tool.
    pub tool: String,
    /// Status of the entry.
    pub status: Status,
    /// The note on its status; may be empty.
    pub note: String,
    /// Whether the judgement is provisional.
    #[serde(skip)]
    pub provisional: bool,
    /// Number of common values on which it agrees (E-2.2).
    pub agreed: u64,
    /// Number of common values that it answered (E-2.2).
    pub answered: u64,
    /// Its confidence as a fraction (E-2.2).
    pub confidence: String,
    /// Its results by examination.
    pub examinations: Vec<ExaminationSummary>,
    /// Its places on the podiums.
    pub places: Vec<PodiumResult>,
    /// Its wrong values, those that cost most first.
    pub wrong: Vec<WrongValue>,
    /// The families by the points that it misses there, most first.
    pub losses: Vec<FamilyLoss>,
    /// Right values that no other tool gave, in the order of the judgement.
    pub unique: Vec<UniqueValue>,
}

/// The results of the entry in one examination.
#[derive(Debug, Serialize)]
pub struct ExaminationSummary {
    /// Name of the examination.
    pub examination: String,
    /// Number of right values.
    pub right: u64,
    /// Number of wrong values.
    pub wrong: u64,
    /// Number of values without a trusted value to compare with.
    pub unjudged: u64,
    /// Number of values that it did not give.
    pub not_computed: u64,
    /// Number of right values that no other tool gave.
    pub unique: u64,
    /// Points with weights, as in the table of scores.
    #[serde(with = "fraction")]
    pub points: BigRational,
    /// Points of the best virtual tool.
    #[serde(with = "fraction")]
    pub possible: BigRational,
}

/// The place of the entry on one podium.
#[derive(Debug, Serialize)]
pub struct PodiumResult {
    /// Name of the category.
    pub category: String,
    /// The rank. None if another variant of the tool has it (E-4.6), or if the entry is not competing.
    pub rank: Option<u32>,
    /// The medal that belongs to the rank; none in a provisional judgement.
    pub medal: Medal,
    /// Its points in the category.
    #[serde(with = "fraction")]
    pub points: BigRational,
    /// The best variant of the tool with its rank and medal, as text, if that is another one.
    #[serde(skip)]
    pub best_variant: Option<String>,
}

/// A wrong value of the entry.
#[derive(Debug, Serialize)]
pub struct WrongValue {
    /// Name of the instance.
    pub instance: String,
    /// Name of the examination.
    pub examination: String,
    /// The position, from 0.
    pub position: usize,
    /// Its name, such as STATES; may be empty.
    #[serde(skip)]
    pub name: &'static str,
    /// The value that the entry gave.
    pub answer: String,
    /// The trusted value.
    pub trusted: String,
    /// The basis of the trusted value.
    pub basis: Basis,
    /// Its points: negative.
    #[serde(with = "fraction")]
    pub points: BigRational,
}

/// The points that the entry misses on one family.
#[derive(Debug, Serialize)]
pub struct FamilyLoss {
    /// Name of the family.
    pub family: String,
    /// Number of trusted values that it did not give.
    pub not_computed: u64,
    /// Number of its wrong values.
    pub wrong: u64,
    /// Points that it would have in addition if it had given every trusted value.
    #[serde(with = "fraction")]
    pub missing: BigRational,
}

/// A right value that no other tool gave.
#[derive(Debug, Serialize)]
pub struct UniqueValue {
    /// Name of the instance.
    pub instance: String,
    /// Name of the examination.
    pub examination: String,
    /// The position, from 0.
    pub position: usize,
    /// Its name, such as STATES; may be empty.
    #[serde(skip)]
    pub name: &'static str,
    /// The trusted value, which the entry gave.
    pub value: String,
}

/// Explains the points of an entry.
///
/// # Errors
/// The judgement does not have the entry.
pub fn explain_tool(judgement: &Judgement, entry: &str) -> Result<ToolExplanation, ExplainError> {
    let number = find("tool", entry, judgement.entries.iter().map(|known| &known.entry))?;
    let Entry { entry, tool, status, note } = &judgement.entries[number];
    let confidence = &judgement.confidence[number];
    let sums = Places::from_judgement(judgement);
    let scores = || judgement.scores.iter().filter(|score| score.entry == number);
    let podiums = judgement.podiums.iter().flat_map(|podium| {
        let own = podium.places.iter().filter(move |place| place.entry == number);
        own.map(move |place| PodiumResult {
            category: podium.category.clone(),
            rank: place.rank,
            medal: place.medal,
            points: place.points.clone(),
            best_variant: best_variant(judgement, podium, place).map(|best| {
                let rank = best.rank.map_or("no rank".to_owned(), |rank| format!("rank {rank}"));
                format!("{}, has {rank}{}", judgement.entries[best.entry].entry, with_medal(best.medal))
            }),
        })
    });
    let blocks: HashMap<(usize, usize), &Block> =
        judgement.blocks.iter().map(|block| ((block.examination, block.instance), block)).collect();
    let examinations: BTreeSet<usize> = scores().map(|score| score.examination).collect();
    let took_part = |value: &&Position| examinations.contains(&value.examination);
    let names = |value: &Position| {
        (
            judgement.instances[value.instance].instance.clone(),
            judgement.examinations[value.examination].clone(),
        )
    };
    let text = |value: &Option<Value>| value.as_ref().map(ToString::to_string).unwrap_or_default();
    let wrong = sums.wrong(number).iter().filter(took_part).map(|value| {
        let (instance, examination) = names(value);
        let block = blocks[&(value.examination, value.instance)];
        let trusted = &block.trusted[value.position];
        let cell = block.cell(number);
        WrongValue {
            instance,
            examination,
            position: value.position,
            name: position_name(judgement, value.examination, value.position),
            answer: cell.map(|cell| text(&cell.values[value.position])).unwrap_or_default(),
            trusted: text(&trusted.value),
            basis: trusted.basis,
            points: -sums.penalty(*value),
        }
    });
    let mut wrong: Vec<WrongValue> = wrong.collect();
    wrong.sort_by(|a, b| a.points.cmp(&b.points));
    let unique = sums.unique(number).iter().filter(took_part).map(|value| {
        let (instance, examination) = names(value);
        let trusted = &blocks[&(value.examination, value.instance)].trusted[value.position];
        let name = position_name(judgement, value.examination, value.position);
        UniqueValue { instance, examination, position: value.position, name, value: text(&trusted.value) }
    });
    let losses = sums.losses(number).into_iter().map(|Loss { family, tally, .. }| FamilyLoss {
        family: family.to_owned(),
        not_computed: tally.missed,
        wrong: tally.wrong,
        missing: tally.missing,
    });
    Ok(ToolExplanation {
        edition: judgement.edition.name.clone(),
        entry: entry.clone(),
        tool: tool.clone(),
        status: *status,
        note: note.clone(),
        provisional: !judgement.unresolved.is_empty(),
        agreed: confidence.agreed,
        answered: confidence.answered,
        confidence: confidence.confidence.to_string(),
        examinations: scores().map(|score| examination_summary(judgement, &sums, score)).collect(),
        places: podiums.collect(),
        wrong,
        losses: losses.collect(),
        unique: unique.collect(),
    })
}

/// The place of the best variant of a tool, if the given place is that of another variant (E-4.6).
pub fn best_variant<'a>(
    judgement: &Judgement,
    podium: &'a Podium,
    place: &PodiumPlace,
) -> Option<&'a PodiumPlace> {
    let tool = |place: &PodiumPlace| &judgement.entries[place.entry].tool;
    let is_best = |other: &&PodiumPlace| other.variant == VariantRank::Best && tool(other) == tool(place);
    podium.places.iter().find(is_best).filter(|_| place.variant == VariantRank::Other)
}

/// `, bronze`; empty without a medal.
fn with_medal(medal: Medal) -> String {
    if medal == Medal::None { String::new() } else { format!(", {medal}") }
}

fn examination_summary(judgement: &Judgement, sums: &Places, score: &Score) -> ExaminationSummary {
    let possible = judgement.best_virtual.iter().find(|best| best.examination == score.examination);
    let tally = sums.of_status(score.entry, &[score.examination], None);
    ExaminationSummary {
        examination: judgement.examinations[score.examination].clone(),
        right: score.right,
        wrong: score.wrong,
        unjudged: score.unjudged,
        not_computed: tally.not_computed,
        unique: tally.unique,
        points: score.normalized.clone(),
        possible: possible.map_or_else(BigRational::zero, |best| best.normalized.clone()),
    }
}

impl fmt::Display for ToolExplanation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { edition, entry, tool, status, note, agreed, answered, confidence, .. } = self;
        let variant = if entry == tool { String::new() } else { format!("; a variant of {tool}") };
        let note = if note.is_empty() { String::new() } else { format!(" ({note})") };
        let is_withdrawn = *status == Status::Withdrawn;
        let answers = if is_withdrawn { ". Its answers are not judged." } else { "" };
        let about = format!("{entry} ({edition}): {}{note}{variant}{answers}", status_words(*status));
        writeln!(out, "{}", wrapped(&about, 80, 2))?;
        if is_withdrawn {
            return Ok(());
        }
        if self.provisional {
            writeln!(out, "{PROVISIONAL}")?;
        }
        let agreement = format!(
            "Confidence {}: agreed on {agreed} of the {answered} common values that it answered (E-2.2)",
            six_decimals(confidence)
        );
        writeln!(out, "{}\n", wrapped(&agreement, 80, 2))?;
        self.table(out)?;
        let place = |PodiumResult { category, rank, medal, points, best_variant }: &PodiumResult| {
            let rank = rank.map_or("unranked".to_owned(), |rank| format!("rank {rank}"));
            let best = best_variant.as_ref();
            let best = best.map_or_else(String::new, |best| format!(" (the best variant, {best})"));
            format!("{category}: {rank}{}, {} points{best}", with_medal(*medal), decimals(points))
        };
        let places: Vec<String> = self.places.iter().map(place).collect();
        writeln!(out, "{}", wrapped(&places.join("; "), 80, 2))?;
        let wrong: BigRational = self.wrong.iter().map(|wrong| &wrong.points).sum();
        let wrong = format!("Wrong values: {}; points lost by them: {}", self.wrong.len(), decimals(&-wrong));
        list(out, &wrong, &self.wrong, |wrong| {
            let WrongValue { instance, examination, position, name, answer, trusted, basis, points } = wrong;
            let answer = format!("{}, trusted {} ({basis})", short(answer), short(trusted));
            vec![format!("{instance} {examination} {}", numbered(*position, name)), answer, decimals(points)]
        })?;
        let missing: BigRational = self.losses.iter().map(|loss| &loss.missing).sum();
        let missing = format!("Points missing in its examinations: {}; most of them on", decimals(&missing));
        list(out, &missing, &self.losses, |loss| {
            let what = format!("{} not computed, {} wrong", loss.not_computed, loss.wrong);
            vec![loss.family.clone(), decimals(&loss.missing), what]
        })?;
        let unique = format!("Right values that {} gave: {}", self.no_other_tool(), self.unique.len());
        list(out, &unique, &self.unique, |unique| {
            let UniqueValue { instance, examination, position, name, value } = unique;
            vec![format!("{instance} {examination} {}", numbered(*position, name)), short(value)]
        })
    }
}

impl ToolExplanation {
    /// The tools that a unique value is missing from.
    fn no_other_tool(&self) -> &'static str {
        if self.status == Status::Competing { "no other competing tool" } else { "no competing tool" }
    }

    fn table(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["examination", "right", "wrong", "unjudged", "none", "unique", "points", "best"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        rows.extend(self.examinations.iter().map(|examination| {
            let mut row = vec![examination.examination.clone()];
            let counts = [
                examination.right,
                examination.wrong,
                examination.unjudged,
                examination.not_computed,
                examination.unique,
            ];
            row.extend(counts.iter().map(ToString::to_string));
            row.extend([decimals(&examination.points), decimals(&examination.possible)]);
            row
        }));
        write!(out, "{}", columns(&rows, &[1, 2, 3, 4, 5, 6, 7]))?;
        let words = format!(
            "unjudged: no value is trusted; none: not computed; unique: right in {}; best: points of the best virtual tool, \
             which has every right value of a competing entry",
            self.no_other_tool()
        );
        writeln!(out, "{}\n", wrapped(&words, 80, 2))
    }
}
