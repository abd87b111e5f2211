//! The page of a rating: an author's runs within a published field.

use super::contest::Frame;
use super::list::{Field, List};
use super::show::{self, TextParts, visible};
use super::site::NewSite;
use super::{ReportError, rule_page, script, tables};
use askama::Template;
use mcc_campaign::benchkit::Value;
use mcc_judge::judgement::JudgementError;
use mcc_judge::rate::{EntryRating, RatedValue, Rating, Rival, WouldBePlace};
use num_rational::BigRational;
use std::path::Path;

#[derive(Template)]
#[template(path = "rate.html")]
struct RatePage {
    frame: Frame,
    notes: Vec<TextParts>,
    unresolved: usize,
    entries: Vec<RatedEntry>,
    data: Vec<&'static str>,
}

struct RatedEntry {
    name: String,
    has_baseline: bool,
    /// Name, counts and points of each examination.
    examinations: Vec<(String, Vec<String>)>,
    places: Vec<Vec<String>>,
    /// By what missed values are counted, and the counts.
    misses: Vec<(&'static str, String)>,
    /// Number of listed values.
    values: usize,
}

/// Names of the files of data.
const DATA: [&str; 2] = ["rating.json", "values.csv"];

/// Writes the page of a rating and its files of data to `out`.
///
/// # Errors
/// As `write_site`.
pub fn write_rating(rating: &Rating, out: &Path) -> Result<(), ReportError> {
    let site = NewSite::create(out)?;
    let version = env!("CARGO_PKG_VERSION");
    let frame = || Frame::top("Rating", visible(&rating.title), version);
    let lists: Vec<List> = rating.entries.iter().map(values).collect();
    site.file("contest.js", &script::call("mcc_names", &serde_json::json!({})))?;
    site.file("values.js", &script::call("mcc_lists", &lists))?;
    let json =
        serde_json::to_vec_pretty(rating).map_err(|error| JudgementError::Broken(error.to_string()))?;
    site.file("data/rating.json", &json)?;
    site.file("data/values.csv", &csv(rating))?;
    rule_page::write(frame(), &site)?;
    let page = RatePage {
        frame: frame(),
        notes: rating.notes.iter().map(|note| show::code_parts(note)).collect(),
        unresolved: rating.unresolved,
        entries: rating.entries.iter().map(entry).collect(),
        data: DATA.to_vec(),
    };
    site.page("index.html", &page)?;
    site.finish(version)
}

fn entry(rating: &EntryRating) -> RatedEntry {
    let places = show::places(rating.examinations.iter().map(|examination| &examination.points));
    let examinations = rating.examinations.iter().map(|examination| {
        let mut counts = vec![
            examination.right,
            examination.wrong,
            examination.missed,
            examination.nobody,
            examination.alone,
            examination.unjudged,
            examination.not_run,
        ];
        if rating.has_baseline {
            counts.extend([examination.regressions, examination.gains]);
        }
        let mut cells: Vec<String> = counts.into_iter().map(show::thousands).collect();
        cells.push(show::decimal(&examination.points, places));
        (visible(&examination.examination), cells)
    });
    RatedEntry {
        name: visible(&rating.entry),
        has_baseline: rating.has_baseline,
        examinations: examinations.collect(),
        places: rating.places.iter().map(place).collect(),
        misses: rating.misses.most(show::thousands).map(|(by, counts)| (by, visible(&counts))).collect(),
        values: rating.values.len(),
    }
}

fn place(place: &WouldBePlace) -> Vec<String> {
    let points = |points: &BigRational| show::decimal(points, 2);
    let rival = |rival: &Option<Rival>| {
        rival.as_ref().map_or(String::new(), |rival| visible(&rival.in_words(points)))
    };
    vec![
        visible(&place.category),
        place.rank.map_or("–".to_owned(), |rank| format!("{rank} of {}", place.ranked)),
        place.medal.to_string(),
        points(&place.points),
        rival(&place.behind),
        rival(&place.ahead),
    ]
}

fn text(value: &Option<Value>) -> String {
    value.as_ref().map_or(String::new(), ToString::to_string)
}

fn values(rating: &EntryRating) -> List {
    let short = |value: &Option<Value>| {
        let text = value.as_ref().map_or(String::new(), show::value);
        Field::Text(show::shortened(&text).unwrap_or(text))
    };
    let row = |value: &RatedValue| {
        vec![
            Field::Text(value.kind.in_words()),
            Field::Text(visible(&value.instance)),
            Field::Text(visible(&value.examination)),
            Field::from(value.position),
            short(&value.given),
            short(&value.baseline),
            short(&value.trusted),
            Field::from(value.others_right),
            Field::Text(visible(value.failure_class.as_deref().unwrap_or_default())),
        ]
    };
    List {
        columns: vec![
            ("Kind", "text"),
            ("Instance", "text"),
            ("Examination", "text"),
            ("Position", "position"),
            ("Given", "text"),
            ("Baseline", "text"),
            ("Trusted", "text"),
            ("Others right", "number"),
            ("Failure class", "text"),
        ],
        rows: rating.values.iter().map(row).collect(),
    }
}

/// The listed values of all entries as a table.
fn csv(rating: &Rating) -> Vec<u8> {
    let header =
        "kind,entry,instance,examination,position,given,baseline,trusted,others_right,backers,failure_class"
            .split(',');
    let mut rows = vec![header.map(str::to_owned).collect::<Vec<_>>()];
    for EntryRating { entry, values, .. } in &rating.entries {
        rows.extend(values.iter().map(|value| {
            vec![
                value.kind.to_string(),
                entry.clone(),
                value.instance.clone(),
                value.examination.clone(),
                format!("{:02}", value.position),
                text(&value.given),
                text(&value.baseline),
                text(&value.trusted),
                value.others_right.to_string(),
                value.backers.join(" "),
                value.failure_class.clone().unwrap_or_default(),
            ]
        }));
    }
    tables::csv(&rows)
}
