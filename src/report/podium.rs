//! The page of a podium: why its entries have their places.

use super::ReportError;
use super::contest::{self, Contest, Frame};
use super::show::{self, visible};
use super::site::NewSite;
use super::table;
use askama::Template;
use mcc_base::text::counted;
use mcc_judge::judgement::{Podium, PodiumPlace};
use mcc_judge::places::{DecidedPlace, Neighbours};
use num_rational::BigRational;

/// Most values that decide a place and are listed.
const MAX_VALUES: usize = 12;

#[derive(Template)]
#[template(path = "podium.html")]
struct PodiumPage {
    frame: Frame,
    category: String,
    summary: String,
    /// The statuses of models, if there are several.
    statuses: Vec<String>,
    rows: Vec<Row>,
    /// The entries without a row.
    left_out: String,
    /// Link and name.
    examinations: Vec<(String, String)>,
    /// Name of a bound of the points; its points, of each status, and of each examination.
    bounds: Vec<(&'static str, String, Vec<String>, Vec<String>)>,
    neighbours: Vec<NeighbourRow>,
    has_bonuses: bool,
    /// Empty text, and how a rank could be lost.
    margins: Vec<(&'static str, MarginRow)>,
    siblings: Vec<(String, String)>,
}

struct Row {
    rank: String,
    medal: &'static str,
    entry: String,
    link: String,
    note: &'static str,
    points: String,
    exact: String,
    /// Distance to the first place.
    behind: String,
    /// Share of the points with every value right.
    share: String,
    by_status: Vec<String>,
    by_examination: Vec<String>,
    /// Right, wrong, unjudged values, and right values of no other competing tool.
    counts: [String; 4],
    penalties: String,
}

struct NeighbourRow {
    ahead: (String, String),
    behind: (String, String),
    distance: String,
    /// Values that only one has right: of the first, of the second.
    only: [(String, String); 2],
    /// Wrong values: of the first, of the second.
    wrong: [(String, String); 2],
    /// Time and memory bonuses that one has more than the other; empty if there are none.
    bonuses: String,
}

/// How a rank could be lost.
pub struct MarginRow {
    pub rank: String,
    pub entry: String,
    pub rival: String,
    /// Points ahead of the rival.
    pub ahead: String,
    /// The least number of changed values; None where no number is enough.
    pub values: Option<String>,
    /// Link and name of values that decide.
    pub decisive: Vec<(String, String)>,
    /// Further decisive values.
    pub more: usize,
}

/// Whether a row lists values that decide.
pub fn has_values<T>(rows: &[(T, MarginRow)]) -> bool {
    rows.iter().any(|(_, row)| !row.decisive.is_empty())
}

/// How each rank up to 3 of a podium could be lost, for a page with the relative path `root` to the top of the site.
pub fn margins(contest: &Contest, number: usize, root: &str) -> Vec<MarginRow> {
    let podium = &contest.judgement.podiums[number];
    contest.places.margins(number).filter_map(|margin| margin_row(contest, podium, margin, root)).collect()
}

/// Writes the page of each podium.
pub fn write(contest: &Contest, site: &NewSite) -> Result<(), ReportError> {
    let within = contest.places.examinations();
    let numbers = contest.judged_podiums().map(|(number, _)| number);
    let numbers: Vec<usize> = numbers.filter(|number| *number < within.len()).collect();
    for &number in &numbers {
        let page = page(contest, number, &within[number], &numbers);
        site.page(&contest.podium_path(number), &page)?;
    }
    Ok(())
}

/// A bound of the points in some examinations, of one status or of all.
type Bound<'a> = dyn Fn(&[usize], Option<&str>) -> Option<BigRational> + 'a;

fn page(contest: &Contest, number: usize, within: &[usize], numbers: &[usize]) -> PodiumPage {
    let judgement = contest.judgement;
    let podium = &judgement.podiums[number];
    let category = visible(&podium.category);
    let examinations: Vec<usize> =
        within.iter().copied().filter(|examination| contest.examinations.contains(examination)).collect();
    let statuses = contest.statuses();
    let bound = |name, limit: &Bound| {
        let shown = |points: Option<BigRational>| points.as_ref().map_or("–".to_owned(), show::points);
        let by_status = statuses.iter().map(|status| shown(limit(&examinations, Some(status)))).collect();
        let by_examination = examinations.iter().map(|&e| shown(limit(&[e], None))).collect();
        (name, shown(limit(&examinations, None)), by_status, by_examination)
    };
    let best = |within: &[usize], status: Option<&str>| {
        let scores = judgement.best_virtual.iter().filter(|score| within.contains(&score.examination));
        status.is_none().then(|| scores.map(|score| &score.normalized).sum())
    };
    let most = |within: &[usize], status: Option<&str>| Some(contest.places.maximum(within, status));
    let neighbours: Vec<NeighbourRow> =
        contest.places.neighbours(number).filter_map(|pair| neighbour_row(contest, podium, pair)).collect();
    PodiumPage {
        frame: contest.frame(format!("{category}: podium"), "../"),
        summary: summary(contest, number, podium),
        rows: rows(contest, podium, &examinations, &statuses),
        left_out: contest.left_out(podium.places.iter().map(|place| place.entry)),
        bounds: vec![bound(contest::BEST_VIRTUAL, &best), bound("Every value right", &most)],
        has_bonuses: neighbours.iter().any(|pair| !pair.bonuses.is_empty()),
        neighbours,
        margins: margins(contest, number, "../").into_iter().map(|row| ("", row)).collect(),
        siblings: table::siblings(numbers, number, |other| {
            (contest.podium_path(other), &judgement.podiums[other].category)
        }),
        statuses: statuses.into_iter().map(visible).collect(),
        examinations: examinations
            .iter()
            .map(|&e| (format!("../{}", contest.table_path(e, "html")), visible(&judgement.examinations[e])))
            .collect(),
        category,
    }
}

/// Who is first, and by how much.
fn summary(contest: &Contest, number: usize, podium: &Podium) -> String {
    let name = |place: &PodiumPlace| visible(&contest.entry(place.entry).entry);
    let ranked: Vec<&PodiumPlace> = podium
        .places
        .iter()
        .filter(|place| place.rank.is_some() && contest.entries.contains(&place.entry))
        .collect();
    let first: Vec<&&PodiumPlace> = ranked.iter().filter(|place| place.rank == Some(1)).collect();
    let names: Vec<String> = first.iter().map(|place| name(place)).collect();
    let Some((last, others)) = names.split_last() else { return "No entry has a rank.".to_owned() };
    let winner = first[0];
    let points = counted(show::points(&winner.points), "point");
    let mut text = if others.is_empty() {
        format!("{last} is first with {points}")
    } else {
        format!("{} and {last} share the first place with {points}", others.join(", "))
    };
    if let Some(next) = ranked.iter().find(|place| place.rank != Some(1)) {
        text += &format!(", {} more than {}", distance(&winner.points, &next.points), name(next));
    }
    let margin = contest.places.margins(number).find(|margin| margin.holder == winner.entry);
    match margin.and_then(|margin| Some((margin.values?, margin.rival))) {
        Some((values, rival)) if names.len() == 1 && contest.entry_number(rival).is_some() => {
            let values = show::counted(values, "trusted value", "trusted values");
            format!(
                "{text}. At least {values} would have to be different for {} to overtake it.",
                visible(&contest.entry(rival).entry)
            )
        }
        _ => text + ".",
    }
}

fn rows(contest: &Contest, podium: &Podium, examinations: &[usize], statuses: &[&str]) -> Vec<Row> {
    let shown = podium.places.iter().filter(|place| contest.entries.contains(&place.entry));
    let ranked: Vec<&BigRational> =
        shown.clone().filter(|place| place.rank.is_some()).map(|place| &place.points).collect();
    let decimals = show::point_places(&ranked);
    let best = ranked.first().copied();
    let most = contest.places.maximum(examinations, None);
    let row = |place: &PodiumPlace| {
        let entry = contest.entry(place.entry);
        let tally = contest.places.of_status(place.entry, examinations, None);
        let points = |within: &[usize], status| {
            show::points(&contest.places.of_status(place.entry, within, status).points)
        };
        Row {
            rank: place.rank.map_or("–".to_owned(), |rank| rank.to_string()),
            medal: place.medal.word(),
            entry: visible(&entry.entry),
            link: format!("../{}", contest.tool_path(place.entry, "html")),
            note: contest::status_text(entry.status),
            points: show::decimal(&place.points, decimals),
            exact: place.points.to_string(),
            behind: behind(best, place, decimals),
            share: show::share(&place.points, &most),
            by_status: statuses.iter().map(|status| points(examinations, Some(status))).collect(),
            by_examination: examinations.iter().map(|&e| points(&[e], None)).collect(),
            counts: [tally.right, tally.wrong, tally.unjudged, tally.unique].map(show::thousands),
            penalties: show::points(&tally.penalties),
        }
    };
    shown.map(row).collect()
}

/// The distance of a place to the first rank, with this number of decimals; empty for the first rank. A dash for an entry
/// without a rank that has no fewer points: it is not the first.
pub fn behind(first: Option<&BigRational>, place: &PodiumPlace, decimals: u32) -> String {
    match first {
        Some(first) if place.points < *first => show::distance(first, &place.points, decimals),
        Some(_) if place.rank.is_none() => "–".to_owned(),
        _ => String::new(),
    }
}

/// The distance of points that are shown with two decimals, or as integers.
fn distance(greater: &BigRational, less: &BigRational) -> String {
    show::distance(greater, less, if greater.is_integer() && less.is_integer() { 0 } else { 2 })
}

fn points_of(podium: &Podium, entry: usize) -> Option<&PodiumPlace> {
    podium.places.iter().find(|place| place.entry == entry)
}

/// None if one of the entries is not shown.
fn neighbour_row(contest: &Contest, podium: &Podium, pair: &Neighbours) -> Option<NeighbourRow> {
    let place = |entry: usize| {
        contest.entry_number(entry)?;
        let rank = points_of(podium, entry)?.rank?;
        Some((rank.to_string(), visible(&contest.entry(entry).entry)))
    };
    let [ahead, behind] = [pair.ahead, pair.behind].map(|entry| points_of(podium, entry));
    let (ahead, behind) = (&ahead?.points, &behind?.points);
    let [first, second] = &pair.only;
    let [wrong_first, wrong_second] = &pair.wrong;
    let explained = &first.1 - &second.1 - &wrong_first.1 + &wrong_second.1;
    let bonuses = ahead - behind - explained;
    let part = |(count, points): &(u64, BigRational), sign: i64| {
        let points = points * BigRational::from_integer(sign.into());
        (show::signed(&points), show::counted(*count, "value", "values"))
    };
    Some(NeighbourRow {
        ahead: place(pair.ahead)?,
        behind: place(pair.behind)?,
        distance: if ahead == behind { "tied".to_owned() } else { distance(ahead, behind) },
        only: [part(first, 1), part(second, -1)],
        wrong: [part(wrong_first, -1), part(wrong_second, 1)],
        bonuses: if bonuses == BigRational::default() { String::new() } else { show::signed(&bonuses) },
    })
}

/// None if the entry or its rival is not shown.
fn margin_row(contest: &Contest, podium: &Podium, margin: &DecidedPlace, root: &str) -> Option<MarginRow> {
    contest.entry_number(margin.holder).zip(contest.entry_number(margin.rival))?;
    let decisive: Vec<(String, String)> =
        margin.decisive.iter().filter_map(|&value| contest.value_link(value)).collect();
    let [holder, rival] = [margin.holder, margin.rival].map(|entry| points_of(podium, entry));
    let (holder, rival) = holder.zip(rival)?;
    Some(MarginRow {
        rank: holder.rank?.to_string(),
        ahead: distance(&holder.points, &rival.points),
        entry: visible(&contest.entry(margin.holder).entry),
        rival: visible(&contest.entry(margin.rival).entry),
        values: margin.values.map(show::thousands),
        more: decisive.len().saturating_sub(MAX_VALUES),
        decisive: decisive
            .into_iter()
            .take(MAX_VALUES)
            .map(|(link, name)| (format!("{root}{link}"), name))
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcc_judge::judgement::{Medal, VariantRank};

    #[test]
    fn only_the_first_rank_has_an_empty_distance() {
        let points = |points: i64| BigRational::new(points.into(), 2.into());
        let behind = |rank, own: i64| {
            let place = PodiumPlace {
                rank,
                entry: 0,
                variant: VariantRank::Only,
                points: points(own),
                medal: Medal::None,
            };
            super::behind(Some(&points(100)), &place, 2)
        };
        assert_eq!([behind(Some(1), 100), behind(Some(2), 99)], ["", "0.50"]);
        // An entry that does not compete can have more points.
        assert_eq!([behind(None, 49), behind(None, 100), behind(None, 101)], ["25.50", "–", "–"]);
    }
}
