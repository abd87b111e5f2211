//! Flags of entries whose confidence could not be measured: they gave no common value (E-2.2), so their confidence is 0
//! and the values that only they gave are not trusted (E-3.1).

use super::block_judge::BlockJudge;
use super::judge::{Judge, JudgementTotals};
use crate::judgement::{Flag, FlagKind, Medal};
use num_rational::BigRational;
use num_traits::{One, Signed};

/// Returns a flag for every examination in which an entry loses values because its confidence could not be measured: the
/// number of these values, and the rank that it would have with them. They are the values that would be right if its
/// confidence were 1.
pub(super) fn flags(judge: &Judge) -> Vec<Flag> {
    let header = &judge.header;
    let unmeasured = header
        .confidence
        .iter()
        .filter(|confidence| confidence.answered == 0 && judge.voters[confidence.entry]);
    let unmeasured: Vec<usize> =
        unmeasured.map(|confidence| confidence.entry).filter(|entry| gave_values(judge, *entry)).collect();
    if unmeasured.is_empty() {
        return Vec::new();
    }
    let confidence: Vec<BigRational> =
        header.confidence.iter().map(|confidence| confidence.confidence.clone()).collect();
    let judged = totals(judge, confidence.clone());
    let mut flags = Vec::new();
    for entry in unmeasured {
        let mut trusting = confidence.clone();
        trusting[entry] = BigRational::one();
        let trusted = totals(judge, trusting);
        for examination in 0..header.examinations.len() {
            let right = |totals: &JudgementTotals| {
                let score = totals.scores.iter().find(|s| (s.entry, s.examination) == (entry, examination));
                score.map_or(0, |score| score.right)
            };
            let lost = right(&trusted).saturating_sub(right(&judged));
            if lost > 0 {
                let ranks = ranks(judge, entry, examination, &judged, &trusted);
                flags.push(Flag {
                    kind: FlagKind::NoConfidence,
                    entry,
                    examination,
                    family: String::new(),
                    instance: None,
                    position: None,
                    detail: format!(
                        "its confidence could not be measured, because it gave no common value (E-2.2); values that are not \
                         trusted for this reason: {lost}{ranks}"
                    ),
                });
            }
        }
    }
    flags
}

fn gave_values(judge: &Judge, entry: usize) -> bool {
    judge.results.rows.iter().any(|row| row.entry as usize == entry && judge.results.has_value(row))
}

/// Judges all blocks with these confidences.
fn totals(judge: &Judge, confidence: Vec<BigRational>) -> JudgementTotals {
    let mut block_judge = BlockJudge::with_confidence(judge, confidence);
    for block in &judge.blocks {
        block_judge.judge(&judge.results.rows[block.clone()]);
    }
    block_judge.totals()
}

/// Describes the rank of the tool of an entry in the categories of an examination, with the lost values and without.
fn ranks(
    judge: &Judge,
    entry: usize,
    examination: usize,
    judged: &JudgementTotals,
    trusted: &JudgementTotals,
) -> String {
    let header = &judge.header;
    let rank = |totals: &JudgementTotals, podium: usize| {
        let of_tool = |place: usize| header.entries[place].tool == header.entries[entry].tool;
        let mut places = totals.podiums[podium].places.iter();
        let place = places.find(|place| place.rank.is_some() && of_tool(place.entry))?;
        let rank = place.rank?;
        Some(match Medal::of_rank(rank) {
            Medal::None => rank.to_string(),
            _ if !place.points.is_positive() => format!("{rank} (no medal)"),
            medal => format!("{rank} ({medal})"),
        })
    };
    let mut text = String::new();
    for (number, rule) in header.edition.podiums.iter().enumerate() {
        if !rule.examinations.contains(&header.examinations[examination]) {
            continue;
        }
        let category = &rule.category;
        text += &match (rank(judged, number), rank(trusted, number)) {
            (_, None) => format!("; it has no rank in {category}"),
            (Some(now), Some(with)) if now == with => {
                format!("; its rank in {category} would be {now} with them, as it is now")
            }
            (Some(now), Some(with)) => format!("; its rank in {category} would be {with}, not {now}"),
            (None, Some(with)) => format!("; its rank in {category} would be {with}"),
        };
    }
    text
}
