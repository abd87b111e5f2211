//! The page of an entry: its points, the endings of its runs, and all its runs.

use super::contest::{self, Contest, Frame};
use super::evidence::{self, TechniqueRow};
use super::matrix::Matrix;
use super::podium::behind;
use super::show::{self, visible};
use super::site::{NewSite, last_part};
use super::table::{self, Endings, ScoreRow};
use super::{ReportError, script};
use askama::Template;
use mcc_base::text::counted;
use mcc_campaign::EntryPublication;
use mcc_edition::Status;
use mcc_judge::explain::best_variant;
use mcc_judge::judgement::{Cell, PodiumPlace};
use mcc_judge::places::{Loss, Position};
use num_rational::BigRational;

#[derive(Template)]
#[template(path = "tool.html")]
struct ToolPage {
    frame: Frame,
    name: String,
    tool: String,
    status: &'static str,
    status_meaning: &'static str,
    note: String,
    /// Authors, affiliation and licence, as far as they are stated.
    about: Vec<(&'static str, String)>,
    /// The address of the tool's page; empty if it is not stated.
    link: String,
    is_withdrawn: bool,
    confidence: String,
    agreed: String,
    answered: String,
    /// What it has won and lost: name and value.
    tiles: Vec<(&'static str, String, String)>,
    places: Vec<PlaceRow>,
    statuses: Vec<String>,
    scores: Vec<ScoreRow>,
    /// Family, not computed and wrong values, missing points, and the filter that finds its runs; most points first.
    losses: Vec<(String, [String; 3], String)>,
    more_losses: usize,
    /// Title, values, and the filter that finds their runs, which may be empty.
    lists: Vec<(&'static str, ValueList, &'static str)>,
    endings: Vec<(&'static str, &'static str)>,
    legend: Vec<(&'static str, &'static str)>,
    techniques: Vec<TechniqueRow>,
    examinations: Vec<String>,
    data: String,
    /// Links to the pages of all entries.
    siblings: Vec<(String, String)>,
}

/// The place of the entry on a podium.
struct PlaceRow {
    category: String,
    link: String,
    rank: String,
    medal: &'static str,
    points: String,
    exact: String,
    /// Distance to the first place.
    behind: String,
    /// Who has the first place.
    first: String,
    /// The best variant of its tool, if that is another entry: link to its page, name, and rank with medal.
    best: Option<(String, String, String)>,
}

/// Some values with links, and how many more there are.
struct ValueList {
    count: String,
    /// Link, name, points.
    shown: Vec<(String, String, String)>,
    /// Empty if all are shown.
    more: String,
}

/// Most families, and most values, that are listed.
const MAX_ROWS: usize = 15;

/// Writes the page of an entry and its data.
pub fn write(contest: &Contest, entry: usize, site: &NewSite) -> Result<(), ReportError> {
    let judgement = contest.judgement;
    let tool = contest.entry(entry);
    let name = visible(&tool.entry);
    let matrix = Matrix::of_entry(contest, entry)?;
    let data = contest.tool_path(entry, "js");
    site.file(&data, &script::call("mcc_matrix", &matrix))?;
    let mut endings = Endings::of_entry(contest, entry);
    let scores = judgement.scores.iter().filter(|score| score.entry == entry);
    let scores = scores.filter(|score| contest.examinations.contains(&score.examination));
    let mut scores = table::scores(contest, scores.collect(), &endings, |score| {
        let examination = score.examination;
        let name = visible(&judgement.examinations[examination]);
        (name, contest.table_path(examination, "html"), Status::Competing, examination)
    });
    table::without_empty_endings(&mut endings.columns, &mut scores);
    let confidence = &judgement.confidence[entry];
    let stated = contest.entry_publication(entry);
    let places = places(contest, entry);
    let (losses, more_losses) = losses(contest, entry);
    let page = ToolPage {
        frame: contest.frame(name.clone(), "../"),
        name,
        tool: visible(&tool.tool),
        status: contest::status_text(tool.status),
        status_meaning: contest::status_meaning(tool.status),
        note: visible(&tool.note),
        about: about(&stated),
        link: stated.link.as_deref().map_or(String::new(), visible),
        is_withdrawn: tool.status == Status::Withdrawn,
        confidence: show::percent(&confidence.confidence).replace(' ', "\u{a0}"),
        tiles: tiles(contest, entry, &places),
        places,
        statuses: contest.statuses().into_iter().map(visible).collect(),
        losses,
        more_losses,
        lists: [
            ("Wrong values", wrong(contest, entry), ":wrong"),
            ("Values that no other competing tool has right", unique(contest, entry), ""),
        ]
        .into_iter()
        .filter(|(_, list, _)| !list.shown.is_empty())
        .collect(),
        agreed: show::thousands(confidence.agreed),
        answered: show::thousands(confidence.answered),
        scores,
        endings: endings.columns,
        legend: table::legend(),
        techniques: evidence::techniques(contest, Some(entry)),
        examinations: contest.examinations.iter().map(|&e| visible(&judgement.examinations[e])).collect(),
        data: last_part(&data),
        siblings: table::siblings(&contest.entries, entry, |other| {
            (contest.tool_path(other, "html"), &contest.entry(other).entry)
        }),
    };
    site.page(&contest.tool_path(entry, "html"), &page)
}

/// Name and text of what the campaign states about the entry, without its link.
fn about(stated: &EntryPublication) -> Vec<(&'static str, String)> {
    let authors = (!stated.authors.is_empty()).then(|| stated.authors.join("; "));
    [("Authors", authors), ("Affiliation", stated.affiliation.clone()), ("Licence", stated.licence.clone())]
        .into_iter()
        .filter_map(|(name, text)| Some((name, visible(&text?))))
        .collect()
}

fn places(contest: &Contest, entry: usize) -> Vec<PlaceRow> {
    let judgement = contest.judgement;
    let mut rows = Vec::new();
    for (number, podium) in judgement.podiums.iter().enumerate() {
        let place = podium.places.iter().find(|place| place.entry == entry);
        let Some(place) = place.filter(|_| contest.was_judged(podium)) else { continue };
        let shown =
            |place: &&PodiumPlace| place.rank == Some(1) && contest.entry_number(place.entry).is_some();
        let first: Vec<&PodiumPlace> = podium.places.iter().filter(shown).collect();
        let first_points = first.first().map(|first| &first.points);
        let decimals = if first_points.is_some_and(BigRational::is_integer) && place.points.is_integer() {
            0
        } else {
            2
        };
        let names: Vec<&str> = first.iter().map(|place| contest.entry(place.entry).entry.as_str()).collect();
        let best_variant = best_variant(judgement, podium, place).and_then(|best| {
            let rank = best.rank.map_or("–".to_owned(), |rank| rank.to_string());
            let rank = format!("{rank} {}", best.medal.word()).trim_end().to_owned();
            contest.entry_number(best.entry)?;
            let page = last_part(&contest.tool_path(best.entry, "html"));
            Some((page, visible(&contest.entry(best.entry).entry), rank))
        });
        rows.push(PlaceRow {
            best: best_variant,
            category: visible(&podium.category),
            link: format!("../{}", contest.podium_path(number)),
            rank: place.rank.map_or("–".to_owned(), |rank| rank.to_string()),
            medal: place.medal.word(),
            points: show::points(&place.points),
            exact: place.points.to_string(),
            behind: behind(first_points, place, decimals),
            first: visible(&names.join(", ")),
        });
    }
    rows
}

fn tiles(contest: &Contest, entry: usize, places: &[PlaceRow]) -> Vec<(&'static str, String, String)> {
    let scores = contest.judgement.scores.iter().filter(|score| score.entry == entry);
    let examinations: Vec<usize> = scores.map(|score| score.examination).collect();
    let tally = contest.places.of_status(entry, &examinations, None);
    let medals = ["gold", "silver", "bronze"].map(|medal| {
        let count = places.iter().filter(|place| place.medal == medal).count();
        if count == 0 { String::new() } else { format!("{count} {medal}") }
    });
    let medals: Vec<String> = medals.into_iter().filter(|text| !text.is_empty()).collect();
    let is_variant = places.iter().any(|place| place.best.is_some());
    let of_variant = if is_variant { "of this variant of the tool".to_owned() } else { String::new() };
    let points = |points: &BigRational| counted(show::decimal(points, 0), "point");
    let values = |count| show::counted(count, "value", "values");
    let mut tiles = vec![
        ("Medals", if medals.is_empty() { "none".to_owned() } else { medals.join(", ") }, of_variant),
        ("Right", values(tally.right), String::new()),
        ("Right in no other competing tool", values(tally.unique), points(&tally.unique_points)),
        ("Wrong", values(tally.wrong), format!("{} points lost", show::points(&tally.penalties))),
        ("Trusted values not given", values(tally.missed), IN_ITS_EXAMINATIONS.to_owned()),
        (
            "Points missing",
            points(&tally.missing),
            format!("at positions with a trusted value, {IN_ITS_EXAMINATIONS}"),
        ),
    ];
    tiles.extend(arrival_tiles(contest, entry));
    tiles
}

/// What trusted values and points of an entry are counted in.
const IN_ITS_EXAMINATIONS: &str = "in the examinations in which it took part";

/// The medians of the times until half and all of the values of a run arrived.
fn arrival_tiles(contest: &Contest, entry: usize) -> Vec<(&'static str, String, String)> {
    let cells = contest.shown_blocks().flat_map(|block| &block.cells).filter(|cell| cell.entry == entry);
    let answered = cells.filter(|cell| cell.values.iter().any(Option::is_some));
    let times: Vec<[Option<u64>; 2]> = answered.map(Cell::half_and_all_ms).collect();
    let known = |at: usize| -> Vec<u64> { times.iter().filter_map(|times| times[at]).collect() };
    let [half, all] = [known(0), known(1)].map(show::median);
    let runs = show::counted(times.len() as u64, "run", "runs");
    if half.or(all).is_none() {
        let time = if times.is_empty() { "none" } else { "unknown" };
        return vec![("When its values arrived", time.to_owned(), format!("for {runs} with values"))];
    }
    let unknown = times.len() - known(1).len();
    let mut of_runs = format!("median of {runs} with values");
    if unknown > 0 {
        of_runs += &format!(", unknown for {}", show::thousands(unknown as u64));
    }
    let shown = |ms: Option<u64>| ms.map_or("unknown".to_owned(), show::duration);
    vec![
        ("Half of its values arrived after", shown(half), format!("from the start of the tool; {of_runs}")),
        (
            "All of its values arrived after",
            shown(all),
            "from the start of the tool; median of these runs".to_owned(),
        ),
    ]
}

/// The families on which the entry misses most points, and the number of further ones.
fn losses(contest: &Contest, entry: usize) -> (Vec<(String, [String; 3], String)>, usize) {
    let losses = contest.places.losses(entry);
    let shown = losses.iter().filter(|loss| !contest.is_hidden(&contest.judgement.instances[loss.instance]));
    let rows = shown.map(|Loss { family, tally, .. }| {
        let counts =
            [show::thousands(tally.missed), show::thousands(tally.wrong), show::points(&tally.missing)];
        (visible(family), counts, contest::in_fragment(&format!("{}-", visible(family))))
    });
    let rows: Vec<_> = rows.collect();
    let more = rows.len().saturating_sub(MAX_ROWS);
    (rows.into_iter().take(MAX_ROWS).collect(), more)
}

fn value_list(contest: &Contest, values: Vec<(Position, String)>) -> ValueList {
    let links = values.into_iter().filter_map(|(value, points)| {
        let (link, name) = contest.value_link(value)?;
        Some((format!("../{link}"), name, points))
    });
    let mut shown: Vec<_> = links.collect();
    let count = shown.len();
    shown.truncate(MAX_ROWS);
    let more = count - shown.len();
    let more = if more > 0 { show::thousands(more as u64) } else { String::new() };
    ValueList { count: show::thousands(count as u64), more, shown }
}

/// The wrong values, those that cost most first.
fn wrong(contest: &Contest, entry: usize) -> ValueList {
    let wrong = contest.places.wrong(entry).iter();
    let mut wrong: Vec<_> = wrong.map(|&value| (contest.places.penalty(value), value)).collect();
    wrong.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    value_list(contest, wrong.into_iter().map(|(points, value)| (value, show::signed(&-points))).collect())
}

fn unique(contest: &Contest, entry: usize) -> ValueList {
    value_list(contest, contest.places.unique(entry).iter().map(|&value| (value, String::new())).collect())
}
