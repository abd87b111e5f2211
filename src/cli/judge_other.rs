//! `judge` for the other contests, SV-COMP and CRV.

use super::judge_print::{no_entry_competes, written};
use super::terminal::note;
use super::{Exit, Failure, Format, print};
use mcc_edition::OtherEdition;
use mcc_judge::show::decimals;
use mcc_other_contests::{crv, svcomp};
use std::path::Path;

/// Judges the results at `input`. `categories`: the table of categories, for SV-COMP only.
pub(super) fn judge(
    input: &Path,
    out: &Path,
    categories: Option<&Path>,
    format: Format,
    edition: &OtherEdition,
) -> Result<Exit, Failure> {
    let judgement = match edition {
        OtherEdition::Svcomp(edition) => {
            let edition = match categories {
                Some(path) => &svcomp::with_categories(edition, path).map_err(Failure::usage)?,
                None => edition,
            };
            let results = svcomp::read(edition, input, categories);
            svcomp::judge(edition, results.map_err(Failure::usage)?).map_err(Failure::usage)?
        }
        OtherEdition::Crv(edition) => {
            Failure::usage_if(categories.is_some(), "--categories is for editions of SV-COMP")?;
            crv::judge(edition, crv::read(edition, input).map_err(Failure::usage)?).map_err(Failure::usage)?
        }
    };
    mcc_other_contests::write(&judgement, out)?;
    for text in &judgement.notes {
        note(text);
    }
    match format {
        Format::Text => {
            print::text(&table(&judgement))?;
            written(out, None);
        }
        Format::Json => print::raw(&json(&judgement))?,
    }
    Ok(if no_entry_competes(&judgement.entries) { Exit::Failed } else { Exit::Done })
}

/// The podiums with their ranked places. Points are rounded for display.
fn table(judgement: &mcc_other_contests::Judgement) -> String {
    let mut text = String::new();
    for mcc_other_contests::Podium { category, places } in &judgement.podiums {
        text += &format!("{}\n", judgement.categories[*category].category);
        for place in places {
            let Some(rank) = place.rank else { continue };
            let (name, points) = (&judgement.entries[place.entry].entry, decimals(&place.points));
            let line = format!("{rank:>4}  {name:<20} {points:>10}  {:<7} {}", place.medal, place.note);
            text += line.trim_end();
            text.push('\n');
        }
    }
    for warning in judgement.edition.warnings() {
        text += &format!("{warning}\n");
    }
    text
}

fn json(judgement: &mcc_other_contests::Judgement) -> String {
    let places = judgement.podiums.iter().flat_map(|podium| {
        podium.places.iter().map(|place| {
            serde_json::json!({
                "category": judgement.categories[podium.category].category,
                "rank": place.rank,
                "tool": judgement.entries[place.entry].entry,
                "points": place.points.to_string(),
                "medal": place.medal,
                "note": place.note,
            })
        })
    });
    let document = serde_json::json!({
        "edition": judgement.edition.name(),
        "unknown": judgement.edition.unknown(),
        "notes": judgement.notes,
        "podiums": places.collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}
