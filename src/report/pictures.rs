//! The page of pictures, and the LaTeX tables for the proceedings.

use super::contest::{Contest, Frame};
use super::plots::{self, Measure, Picture, Runs};
use super::show::visible;
use super::site::NewSite;
use super::{ReportError, compare, tables};
use askama::Template;
use mcc_base::names::file_names;
use std::collections::BTreeSet;

#[derive(Template)]
#[template(path = "pictures.html")]
struct PicturesPage {
    frame: Frame,
    /// Examination or category, and its pictures.
    groups: Vec<(String, Vec<Picture>)>,
    compare: bool,
    /// Whether the time of any run is known.
    has_times: bool,
}

/// Writes the pictures of a contest and their page. `progress` is the picture of the record's progress.
pub fn write(contest: &Contest, progress: Option<Picture>, site: &NewSite) -> Result<(), ReportError> {
    let judgement = contest.judgement;
    let mut runs = Runs::of_contest(judgement);
    // Rule M-6.
    if contest.input.embargo {
        let hidden = judgement.instances.iter().filter(|instance| contest.is_hidden(instance));
        let hidden: BTreeSet<&str> = hidden.map(|instance| instance.instance.as_str()).collect();
        runs.leave_out(|instance| hidden.contains(instance));
    }
    if contest.input.record.is_some() {
        let kinds: Vec<&str> = contest.kinds.values().copied().collect();
        runs.keep_limits(&judgement.edition, &kinds);
    }
    let whole = [plots::confidence(judgement), progress].into_iter().flatten();
    let pictures = whole.chain(plots::pictures(&runs));
    let compare = compare::write(&runs, contest.frame("Compare two entries".into(), ""), site)?;
    write_page(&runs, pictures, compare, contest.frame("Pictures".into(), ""), site)?;
    site.file(tables::LATEX, tables::podiums_latex(judgement).as_bytes())
}

/// Writes the pictures of SV-COMP or CRV and their page. `scores` are the score-based quantile functions; `compare` is
/// whether the site has `compare.html`.
pub fn write_other(
    judgement: &mcc_other_contests::Judgement,
    runs: &Runs,
    scores: Vec<Picture>,
    compare: bool,
    frame: Frame,
    site: &NewSite,
) -> Result<(), ReportError> {
    write_page(runs, plots::pictures(runs).into_iter().chain(scores), compare, frame, site)?;
    site.file(tables::LATEX, tables::other_podiums_latex(judgement).as_bytes())
}

/// Writes the page of pictures, and the pictures.
fn write_page(
    runs: &Runs,
    pictures: impl Iterator<Item = Picture>,
    compare: bool,
    frame: Frame,
    site: &NewSite,
) -> Result<(), ReportError> {
    let groups = grouped(pictures, runs, site)?;
    let page = PicturesPage { frame, groups, compare, has_times: runs.is_measured(Measure::Time) };
    site.page("pictures.html", &page)
}

/// Writes pictures and sorts them by the group that they show; first those of the whole contest.
fn grouped(
    pictures: impl Iterator<Item = Picture>,
    runs: &Runs,
    site: &NewSite,
) -> Result<Vec<(String, Vec<Picture>)>, ReportError> {
    let mut groups: Vec<(String, Vec<Picture>)> = std::iter::once("Whole contest".to_owned())
        .chain(runs.titles.iter().map(|title| visible(title)))
        .map(|name| (name, vec![]))
        .collect();
    let files = file_names(runs.groups.iter().copied());
    for picture in pictures {
        write_one("pictures", &picture, site)?;
        // The longest matching name counts: `solved-ReachSafety-Loops` is not a picture of `Loops`.
        let shows = |file: &str| picture.name.ends_with(&format!("-{file}"));
        let fitting = files.iter().enumerate().filter(|(_, file)| shows(file));
        let group = fitting.max_by_key(|(_, file)| file.len()).map_or(0, |(at, _)| at + 1);
        groups[group].1.push(picture);
    }
    groups.retain(|(_, shown)| !shown.is_empty());
    Ok(groups)
}

/// Writes a picture, and its values as a CSV file of the same name.
pub fn write_one(folder: &str, picture: &Picture, site: &NewSite) -> Result<(), ReportError> {
    let path = |ending| format!("{folder}/{}.{ending}", picture.name);
    site.file(&path("svg"), picture.svg.as_bytes())?;
    site.file(&path("csv"), picture.csv.as_bytes())
}
