//! The page of results for print: podiums, medals and points on one sheet, and how to cite them.

use super::ReportError;
use super::contest::{Contest, Frame};
use super::index::{self, MedalRow, PointsRow};
use super::show::{self, visible};
use super::site::NewSite;
use super::tables;
use askama::Template;

/// The path of the BibTeX entry.
const BIBTEX: &str = "data/contest.bib";

#[derive(Template)]
#[template(path = "results.html")]
struct ResultsPage {
    frame: Frame,
    lead: String,
    /// Category, its page, and for each of the first three ranks the entries with their points.
    podiums: Vec<(String, String, [String; 3])>,
    medals: Vec<MedalRow>,
    /// The parts of the name of each examination.
    examinations: Vec<String>,
    points: Vec<PointsRow>,
    citation: String,
    bibtex: String,
    /// What a citation lacks, and the pronoun for it; None: nothing.
    missing: Option<(&'static str, &'static str)>,
    tex: Vec<(&'static str, &'static str)>,
    doi: String,
    /// The address of the archive, if the campaign states it.
    address: String,
    /// File name and SHA-256 of the archive, if the site was made from one.
    archive: Option<(String, String)>,
}

/// Writes the page, the tables in LaTeX and the entry in BibTeX.
///
/// # Errors
/// A file cannot be written.
pub fn write(contest: &Contest, site: &NewSite) -> Result<(), ReportError> {
    let judgement = contest.judgement;
    let publication = judgement.publication.clone().unwrap_or_default();
    let podiums = contest.judged_podiums().map(|(number, podium)| {
        let card = index::card(contest, number, podium);
        let place = |rank: usize| {
            let places = card.places.iter().filter(|place| place.rank == (rank + 1).to_string());
            places.map(|place| format!("{} {}", place.entry, place.points)).collect::<Vec<_>>().join(", ")
        };
        (card.category.clone(), card.link.clone(), std::array::from_fn(place))
    });
    let mut medals = index::medals(contest).1;
    medals.retain(|row| row.counts.iter().any(|count| !count.is_empty()));
    let points = index::points(contest).0;
    let examinations: Vec<String> =
        contest.examinations.iter().map(|&e| visible(&judgement.examinations[e])).collect();
    let title = contest.title();
    let medal_rows: Vec<(String, Vec<String>)> =
        medals.iter().map(|row| (row.tool.clone(), row.counts.to_vec())).collect();
    let heads = ["Gold", "Silver", "Bronze"].map(str::to_owned);
    site.file("data/medals.tex", tables::latex(&title, "Medals", &heads, &medal_rows).as_bytes())?;
    let figures = |row: &PointsRow| row.cells.iter().map(|(shown, ..)| shown.clone()).collect();
    let point_rows: Vec<(String, Vec<String>)> =
        points.iter().map(|row| (row.entry.clone(), figures(row))).collect();
    let latex = tables::latex(&title, "Points by examination", &examinations, &point_rows);
    site.file("data/points.tex", latex.as_bytes())?;
    let bibtex = bibtex(contest);
    site.file(BIBTEX, bibtex.as_bytes())?;
    let mut lead: Vec<String> = publication.date.iter().map(|date| visible(date)).collect();
    lead.extend(
        Some(publication.organizers.join("; "))
            .filter(|names| !names.is_empty())
            .map(|names| visible(&names)),
    );
    let instances = contest.instances.len() + contest.hidden();
    lead.push(show::counted(instances as u64, "instance", "instances"));
    lead.push(show::counted(contest.examinations.len() as u64, "examination", "examinations"));
    let page = ResultsPage {
        frame: contest.frame("Results to print and cite".into(), ""),
        lead: lead.join(" · "),
        podiums: podiums.collect(),
        medals,
        examinations,
        points,
        citation: index::citation(contest),
        bibtex,
        missing: missing_for_citation(contest),
        tex: vec![
            ("data/podiums.tex", "podiums"),
            ("data/medals.tex", "medals"),
            ("data/points.tex", "points by examination"),
        ],
        doi: publication.doi.map_or(String::new(), |doi| visible(&doi)),
        address: publication.archive.map_or(String::new(), |address| visible(&address)),
        archive: contest.input.archive.map(|(name, sha256)| (visible(name), sha256.to_owned())),
    };
    site.page("results.html", &page)
}

/// The results as an entry in BibTeX. Without organizers it has no author.
fn bibtex(contest: &Contest) -> String {
    let publication = contest.judgement.publication.clone().unwrap_or_default();
    // A name with a comma is a person; braces keep the name of a group together, and "and" separates names.
    let author = |name: &String| {
        if name.contains(',') && !name.contains(" and ") {
            tables::text(name)
        } else {
            format!("{{{}}}", tables::text(name))
        }
    };
    let authors: Vec<String> = publication.organizers.iter().map(author).collect();
    let date = publication.date.unwrap_or_default();
    let address =
        publication.doi.as_ref().map(|doi| format!("https://doi.org/{doi}")).or(publication.archive);
    let fields = [
        ("author", authors.join(" and ")),
        ("title", format!("{{{}}}", tables::text(&contest.title()))),
        ("year", date.get(..4).unwrap_or_default().to_owned()),
        ("month", date.get(5..7).unwrap_or_default().trim_start_matches('0').to_owned()),
        ("doi", publication.doi.unwrap_or_default()),
        ("url", address.unwrap_or_default()),
        ("note", format!("Results, judged by mcc-harness {}", tables::text(&contest.judgement.version))),
    ];
    let fields = fields.iter().filter(|(_, value)| !value.is_empty());
    let fields: String = fields.map(|(name, value)| format!("  {name} = {{{value}}},\n")).collect();
    format!("@misc{{{}-results,\n{fields}}}\n", key(contest))
}

/// The beginning of the key of the BibTeX entry: the name of the edition, and words of the title and the year if they are
/// not those of the edition, so that two campaigns of one edition have different keys.
fn key(contest: &Contest) -> String {
    let edition = &contest.judgement.edition;
    let publication = contest.judgement.publication.clone().unwrap_or_default();
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        words.map(str::to_lowercase).collect()
    };
    let known = words(&format!("{} {}", edition.name, edition.title));
    let own = words(&format!(
        "{} {}",
        publication.title.as_deref().unwrap_or_default(),
        publication.date.as_deref().and_then(|date| date.get(..4)).unwrap_or_default()
    ));
    let own = own.into_iter().filter(|word| !known.contains(word)).take(4);
    words(&edition.name).into_iter().chain(own).collect::<Vec<_>>().join("-")
}

/// What a citation lacks, as part of a sentence, and the pronoun for it; None if it has author and date.
fn missing_for_citation(contest: &Contest) -> Option<(&'static str, &'static str)> {
    let publication = contest.judgement.publication.as_ref();
    let has_author = publication.is_some_and(|publication| !publication.organizers.is_empty());
    let has_date = publication.is_some_and(|publication| publication.date.is_some());
    match (has_author, has_date) {
        (true, true) => None,
        (true, false) => Some(("a date", "it")),
        (false, true) => Some(("authors", "them")),
        (false, false) => Some(("authors and a date", "them")),
    }
}
