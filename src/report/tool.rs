//! The page of an entry: its points, the endings of its runs, and all its runs.

use super::contest::{self, Contest, Frame};
use super::evidence::{self, TechniqueRow};
use super::matrix::Matrix;
use super::show::{self, visible};
use super::site::{NewSite, last_part};
use super::table::{self, Endings, ScoreRow};
use super::{ReportError, script};
use askama::Template;
use mcc_edition::Status;

#[derive(Template)]
#[template(path = "tool.html")]
struct ToolPage {
    frame: Frame,
    name: String,
    tool: String,
    status: &'static str,
    note: String,
    confidence: String,
    agreed: String,
    answered: String,
    scores: Vec<ScoreRow>,
    endings: Vec<(&'static str, &'static str)>,
    legend: Vec<(&'static str, &'static str)>,
    techniques: Vec<TechniqueRow>,
    examinations: Vec<String>,
    data: String,
    /// Links to the pages of all entries.
    siblings: Vec<(String, String)>,
}

/// Writes the page of an entry and its data.
pub fn write(contest: &Contest, entry: usize, site: &NewSite) -> Result<(), ReportError> {
    let judgement = contest.judgement;
    let of = contest.entry(entry);
    let name = visible(&of.entry);
    let matrix = Matrix::of_entry(contest, entry)?;
    let data = contest.tool_path(entry, "js");
    site.file(&data, &script::call("mcc_matrix", &matrix))?;
    let endings = Endings::of_entry(contest, entry);
    let scores = judgement.scores.iter().filter(|score| score.entry == entry);
    let scores = scores.filter(|score| contest.examinations.contains(&score.examination));
    let confidence = &judgement.confidence[entry];
    let page = ToolPage {
        frame: contest.frame(name.clone(), "../"),
        name,
        tool: visible(&of.tool),
        status: contest::status_text(of.status),
        note: visible(&of.note),
        confidence: show::percent(&confidence.confidence),
        agreed: show::thousands(confidence.agreed),
        answered: show::thousands(confidence.answered),
        scores: table::scores(contest, scores.collect(), &endings, |score| {
            let examination = score.examination;
            let name = visible(&judgement.examinations[examination]);
            (name, contest.table_path(examination, "html"), Status::Competing, examination)
        }),
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
