//! The page of an examination: its points, and the table of tools by instances.

use super::contest::{self, Contest, Frame};
use super::matrix::{self, Matrix};
use super::show::{self, visible};
use super::site::{NewSite, last_part};
use super::{ReportError, script};
use askama::Template;
use mcc_base::Mark;
use mcc_edition::Status;
use mcc_judge::judgement::{Cell, Ending, Score};
use mcc_judge::show::ENDINGS;
use num_rational::BigRational;
use std::collections::BTreeMap;

#[derive(Template)]
#[template(path = "examination.html")]
struct ExaminationPage {
    frame: Frame,
    name: String,
    values: usize,
    instances: String,
    scores: Vec<ScoreRow>,
    /// The entries without a row.
    left_out: String,
    /// The endings that occur: code and text.
    endings: Vec<(&'static str, &'static str)>,
    /// Links to its data: script, CSV.
    data: [String; 2],
    /// Points with every value right, and of the best virtual tool.
    most: [String; 2],
    /// The statuses of models, if there are several.
    statuses: Vec<String>,
    /// Links to the pages of all examinations.
    siblings: Vec<(String, String)>,
    legend: Vec<(&'static str, &'static str)>,
    marks: Vec<MarkRow>,
    /// Whether time and memory of any run are known.
    has_costs: bool,
}

/// A row of a table of points.
pub struct ScoreRow {
    pub name: String,
    /// The path of the page of the entry or examination.
    pub link: String,
    pub status: &'static str,
    pub right: String,
    pub wrong: String,
    pub unjudged: String,
    pub points: String,
    pub points_exact: String,
    pub normalized: String,
    pub normalized_exact: String,
    /// Normalized points by status of the model; empty if there is one status only.
    pub by_status: Vec<String>,
    /// Right values that no other competing tool has.
    pub unique: String,
    /// Normalized points of the best virtual tool in the examination.
    pub best_virtual: String,
    pub endings: Vec<String>,
}

/// Writes the page of an examination and its data.
pub fn write(contest: &Contest, examination: usize, site: &NewSite) -> Result<(), ReportError> {
    let judgement = contest.judgement;
    let name = visible(&judgement.examinations[examination]);
    let endings = Endings::by_entry(contest, |e, _| e == examination);
    let matrix = Matrix::of_examination(contest, examination);
    let [page, data, csv] = ["html", "js", "csv"].map(|ending| contest.table_path(examination, ending));
    site.file(&data, &script::call("mcc_matrix", &matrix))?;
    site.file(&csv, &matrix::csv(contest, examination))?;
    let own_blocks = judgement.blocks.iter().filter(|block| block.examination == examination);
    let own_scores = judgement.scores.iter().filter(|score| score.examination == examination);
    let own_scores: Vec<&Score> = own_scores.collect();
    let content = ExaminationPage {
        frame: contest.frame(name.clone(), "../"),
        name,
        values: values(contest, examination),
        instances: show::counted(matrix.len() as u64, "instance", "instances"),
        left_out: contest.left_out(own_scores.iter().map(|score| score.entry)),
        scores: scores(contest, own_scores, &endings, |score| {
            let entry = contest.entry(score.entry);
            (visible(&entry.entry), contest.tool_path(score.entry, "html"), entry.status, score.entry)
        }),
        endings: endings.columns,
        data: [last_part(&data), last_part(&csv)],
        most: [contest.places.maximum(&[examination], None), best_virtual(contest, examination)]
            .map(|points| show::points(&points)),
        statuses: contest.statuses().into_iter().map(visible).collect(),
        siblings: siblings(&contest.examinations, examination, |other| {
            (contest.table_path(other, "html"), &judgement.examinations[other])
        }),
        legend: legend(),
        marks: marks(contest, Some(examination)),
        has_costs: own_blocks.flat_map(|block| &block.cells).any(|cell| cell.cost.is_some()),
    };
    site.page(&page, &content)
}

/// The normalized points of the best virtual tool in an examination.
fn best_virtual(contest: &Contest, examination: usize) -> BigRational {
    let mut scores = contest.judgement.best_virtual.iter();
    scores
        .find(|score| score.examination == examination)
        .map_or_else(BigRational::default, |score| score.normalized.clone())
}

/// The codes of endings and their texts.
pub fn legend() -> Vec<(&'static str, &'static str)> {
    ENDINGS.into_iter().filter(|(_, code, _)| !code.is_empty()).map(|(_, code, text)| (code, text)).collect()
}

/// Links and names of the pages of one kind, for the page of `this`, which has no link. `page_of` returns the path and
/// name of a page.
pub fn siblings<'a>(
    pages: &[usize],
    this: usize,
    page_of: impl Fn(usize) -> (String, &'a str),
) -> Vec<(String, String)> {
    let link = |&page: &usize| {
        let (path, name) = page_of(page);
        (if page == this { String::new() } else { format!("../{path}") }, visible(name))
    };
    pages.iter().map(link).collect()
}

/// The number of values of the examination on an instance.
fn values(contest: &Contest, examination: usize) -> usize {
    let blocks = contest.judgement.blocks.iter().filter(|block| block.examination == examination);
    blocks.map(|block| block.trusted.len()).max().unwrap_or(0)
}

/// A mark in words, its meaning, and how many runs have it.
pub struct MarkRow {
    pub word: String,
    pub meaning: &'static str,
    /// The word of the filter that finds the runs in a table of an examination, and those in the list of marked runs.
    pub filter: String,
    pub filter_words: String,
    pub runs: String,
}

/// The marks of runs.
pub fn marks(contest: &Contest, examination: Option<usize>) -> Vec<MarkRow> {
    let mut counts = BTreeMap::<&Mark, u64>::new();
    let (mut runs, mut made) = (0, 0);
    for block in &contest.judgement.blocks {
        if examination.is_some_and(|examination| block.examination != examination) {
            continue;
        }
        for cell in block.cells.iter().filter(|cell| contest.entries.contains(&cell.entry)) {
            runs += 1;
            made += u64::from(Mark::was_made(&cell.marks));
            for mark in &cell.marks {
                *counts.entry(mark).or_default() += 1;
            }
        }
    }
    let row = |(mark, count): (&Mark, u64)| {
        let (all, noun) =
            if made == runs || *mark == Mark::NOT_RUN_YET { (runs, "runs") } else { (made, "recorded runs") };
        MarkRow {
            word: show::marks(std::slice::from_ref(mark)),
            meaning: mark.in_words().map_or("a mark of another version", |(_, meaning)| meaning),
            filter: contest::in_fragment(mark),
            filter_words: contest::in_fragment(&show::marks(std::slice::from_ref(mark))),
            runs: if count == all {
                format!("all {} {noun}", show::thousands(all))
            } else {
                format!("{} of {} {noun}", show::thousands(count), show::thousands(all))
            },
        }
    };
    counts.into_iter().map(row).collect()
}

/// Rows of a table of points, best first. `name` returns a row's name, path, status and its number in `endings`.
pub fn scores(
    contest: &Contest,
    mut scores: Vec<&Score>,
    endings: &Endings,
    name: impl Fn(&Score) -> (String, String, Status, usize),
) -> Vec<ScoreRow> {
    scores.retain(|score| contest.entry_number(score.entry).is_some());
    let places = show::places(scores.iter().map(|score| &score.points));
    let statuses = contest.statuses();
    let normalized: Vec<&BigRational> = scores.iter().map(|score| &score.normalized).collect();
    // The columns of statuses have decimals, and add up to the points.
    let normalized =
        if statuses.is_empty() { show::places(normalized) } else { show::point_places(&normalized) };
    // Virtual entries are not tools: they are last.
    let is_virtual = |score: &Score| contest.entry(score.entry).status == Status::Virtual;
    scores.sort_by(|a, b| {
        let order = is_virtual(a).cmp(&is_virtual(b)).then(b.normalized.cmp(&a.normalized));
        order.then(a.entry.cmp(&b.entry))
    });
    let row = |score: &Score| {
        let (name, link, status, number) = name(score);
        let tally = |status| contest.places.of_status(score.entry, &[score.examination], status);
        ScoreRow {
            name,
            link,
            status: contest::status_text(status),
            right: show::thousands(score.right),
            wrong: show::thousands(score.wrong),
            unjudged: show::thousands(score.unjudged),
            points: show::decimal(&score.points, places),
            points_exact: score.points.to_string(),
            normalized: show::decimal(&score.normalized, normalized),
            normalized_exact: score.normalized.to_string(),
            by_status: statuses.iter().map(|status| show::points(&tally(Some(status)).points)).collect(),
            unique: show::thousands(tally(None).unique),
            best_virtual: show::decimal(&best_virtual(contest, score.examination), normalized),
            endings: endings.row(number),
        }
    };
    scores.into_iter().map(row).collect()
}

/// The endings of runs, and their counts by entry or examination.
pub struct Endings {
    /// Code and text of the endings that occur; empty if no ending of a run is known.
    pub columns: Vec<(&'static str, &'static str)>,
    occurring: Vec<usize>,
    counts: Vec<[u64; ENDINGS.len()]>,
}

impl Endings {
    /// Counts by entry, of the runs for which `wanted(examination, entry)` holds.
    pub fn by_entry(contest: &Contest, wanted: impl Fn(usize, usize) -> bool) -> Self {
        Self::by(contest, contest.judgement.entries.len(), wanted, |_, entry| entry)
    }

    /// Counts by examination, of the runs of one entry.
    pub fn of_entry(contest: &Contest, entry: usize) -> Self {
        let count = contest.judgement.examinations.len();
        Self::by(contest, count, |_, other| other == entry, |examination, _| examination)
    }

    fn by(
        contest: &Contest,
        count: usize,
        wanted: impl Fn(usize, usize) -> bool,
        number: impl Fn(usize, usize) -> usize,
    ) -> Self {
        let mut counts = vec![[0; ENDINGS.len()]; count];
        for block in &contest.judgement.blocks {
            let shown = |cell: &&Cell| contest.entry_number(cell.entry).is_some();
            for cell in block.cells.iter().filter(shown) {
                if wanted(block.examination, cell.entry) {
                    counts[number(block.examination, cell.entry)][contest::ending_number(cell.ending)] += 1;
                }
            }
        }
        let occurring: Vec<usize> =
            (0..ENDINGS.len()).filter(|&at| counts.iter().any(|counts| counts[at] > 0)).collect();
        let is_known = occurring.iter().any(|&at| ENDINGS[at].0 != Ending::NotStated);
        let occurring = if is_known { occurring } else { Vec::new() };
        Self { columns: occurring.iter().map(|&at| column(at)).collect(), occurring, counts }
    }

    /// The counts of an entry or examination; empty for zero.
    pub fn row(&self, number: usize) -> Vec<String> {
        let shown = |count: u64| if count == 0 { String::new() } else { show::thousands(count) };
        self.occurring.iter().map(|&at| shown(self.counts[number][at])).collect()
    }
}

/// Leaves out the endings that no row has: runs in examinations without a row can have them.
pub fn without_empty_endings(columns: &mut Vec<(&'static str, &'static str)>, rows: &mut [ScoreRow]) {
    for at in (0..columns.len()).rev() {
        if rows.iter().all(|row| row.endings[at].is_empty()) {
            columns.remove(at);
            rows.iter_mut().for_each(|row| drop(row.endings.remove(at)));
        }
    }
}

/// Heading and explanation of the column of an ending, given by its number.
fn column(number: usize) -> (&'static str, &'static str) {
    match ENDINGS[number] {
        (Ending::Answered, ..) => ("Answered", "gave a well-formed answer and ended by itself"),
        (Ending::NotStated, _, text) => ("–", text),
        (Ending::DidNotCompete, code, _) => {
            (code, "did not compete: as the campaign states, or as the tool answered")
        }
        (_, code, text) => (code, text),
    }
}
