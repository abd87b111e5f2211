//! `judge` for the other contests, SV-COMP and CRV.

use super::judge_print::{no_entry_competes, written};
use super::outputs::refuse_other_judgement;
use super::record_source::is_archive;
use super::terminal::note;
use super::{Exit, Failure, Format, print};
use mcc_archive::{Description, Tables, write_metadata};
use mcc_campaign::Publication;
use mcc_edition::OtherEdition;
use mcc_judge::schema::TOOLS;
use mcc_judge::show::decimals;
use mcc_other_contests::{Judgement, crv, svcomp};
use std::path::Path;

/// Judges the results at `input`. `categories`: the table of categories, for SV-COMP only; `publication`: what is stated
/// about the judgement.
pub(super) fn judge(
    input: &Path,
    out: &Path,
    categories: Option<&Path>,
    publication: Option<Publication>,
    format: Format,
    edition: &OtherEdition,
) -> Result<Exit, Failure> {
    let is_archive = is_archive(input);
    if is_archive || input.join("record.db").exists() {
        return Err(Failure::usage(anyhow::anyhow!(
            "{} is {} of a campaign of the MCC, which only an edition of the MCC can judge; leave out --edition",
            input.display(),
            if is_archive { "an archive" } else { "the record" }
        )));
    }
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
    judgement.check().map_err(|reason| {
        Failure::usage(anyhow::anyhow!(
            "{}: the judgement could not be read again: {reason}",
            input.display()
        ))
    })?;
    refuse_other_judgement(out, &judgement.inputs)?;
    mcc_other_contests::write(&judgement, out)?;
    describe(&judgement, publication, out)?;
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

/// Writes the files that describe the judgement for other programs. Of resigned entries nothing is stated (P-4).
fn describe(judgement: &Judgement, publication: Option<Publication>, out: &Path) -> Result<(), Failure> {
    let is_judged = |name: &str| judgement.entries.iter().any(|entry| entry.entry == name);
    let publication = publication.and_then(|publication| publication.with_entries(is_judged));
    let tables = mcc_other_contests::tables(judgement);
    let mut files = vec![
        ("judgement.json".to_owned(), "the whole judgement: verdicts, points, podiums, rules"),
        ("CITATION.cff".to_owned(), "how to cite the judgement"),
        ("datapackage.json".to_owned(), "the columns, types, units and keys of the tables"),
    ];
    files.extend(tables.iter().map(|table| (table.file.to_owned(), table.about)));
    let description = Description {
        edition_title: judgement.edition.title(),
        content: "Verdicts, points, podiums and rules",
        publication: publication.as_ref(),
        day_or_year: judgement.edition.year().map(str::to_owned),
        entries: &judgement.entries,
        tables: Tables {
            files: tables.into_iter().map(|table| (table.file.to_owned(), table)).collect(),
            entries: Some(TOOLS.file),
            instances: None,
        },
        files,
        archive: None,
    };
    Ok(write_metadata(out, &description)?)
}

/// The podiums with their ranked places. Points are rounded for display.
fn table(judgement: &Judgement) -> String {
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
    if let Some(words) = mcc_other_contests::tie_words(judgement, &judgement.podiums) {
        text += &format!("{words}\n");
    }
    for warning in judgement.edition.warnings() {
        text += &format!("{warning}\n");
    }
    text
}

fn json(judgement: &Judgement) -> String {
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
