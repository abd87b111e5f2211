//! Per examination the table tools x instances.

use super::ReportError;
use super::contest::{self, Contest, ENDINGS, Frame, Tally};
use super::show::{self, visible};
use super::site::NewSite;
use crate::judge::judgement::{Cell, Ending};
use askama::Template;
use std::collections::BTreeMap;

#[derive(Template)]
#[template(path = "examination.html")]
struct Page {
    frame: Frame,
    name: String,
    values: usize,
    instances: usize,
    has_runs: bool,
    scores: Vec<ScoreRow>,
    /// The endings that occur: code and words.
    endings: Vec<(&'static str, &'static str)>,
    /// Column heads: entry and its status where it does not compete.
    columns: Vec<(String, &'static str)>,
    families: Vec<Family>,
    /// The other pages of this examination: link (empty: this one) and first and last family.
    parts: Vec<(String, String)>,
    /// The other examinations.
    examinations: Vec<(String, String)>,
    legend: Vec<(&'static str, &'static str)>,
    marks: Vec<(String, String)>,
}

struct ScoreRow {
    entry: String,
    status: &'static str,
    right: String,
    wrong: String,
    unjudged: String,
    points: String,
    points_exact: String,
    normalized: String,
    normalized_exact: String,
    endings: Vec<String>,
}

struct Family {
    name: String,
    instances: usize,
    status: String,
    rows: Vec<Row>,
}

struct Row {
    anchor: String,
    family: String,
    rest: String,
    trusted: String,
    cells: Vec<View>,
}

/// One cell. Short, as there are ten thousand on a page.
struct View {
    class: &'static str,
    /// How far the right, wrong and unjudged values reach, percent; empty where one colour says it.
    style: String,
    text: String,
    /// The run's page; empty without one.
    href: String,
}

/// Writes the pages of an examination; returns how many.
pub fn write(contest: &Contest, examination: usize, site: &NewSite) -> Result<usize, ReportError> {
    let judgement = contest.judgement;
    let name = visible(&judgement.examinations[examination]);
    let pages = &contest.pages[examination];
    let endings = Endings::of(contest, Some(examination));
    for (number, instances) in pages.iter().enumerate() {
        let title = match number {
            0 => name.clone(),
            _ => format!("{name}, page {}", number + 1),
        };
        let up = |path: String| format!("../{path}");
        let part = |(other, instances): (usize, &Vec<usize>)| {
            let family = |i: Option<&usize>| i.map_or("", |&i| judgement.instances[i].family.as_str());
            let (first, last) = (family(instances.first()), family(instances.last()));
            let link =
                if other == number { String::new() } else { up(contest.table_path(examination, other)) };
            (link, visible(&if first == last { first.into() } else { format!("{first} – {last}") }))
        };
        let page = Page {
            frame: contest.frame(title, "../"),
            name: name.clone(),
            values: values(contest, examination),
            instances: pages.iter().map(Vec::len).sum(),
            has_runs: !contest.recorded.is_empty(),
            scores: scores(contest, examination, &endings),
            endings: endings.columns.clone(),
            columns: columns(contest),
            families: families(contest, examination, instances),
            parts: if pages.len() > 1 { pages.iter().enumerate().map(part).collect() } else { Vec::new() },
            examinations: contest
                .examinations
                .iter()
                .map(|&other| {
                    let link =
                        if other == examination { String::new() } else { up(contest.table_path(other, 0)) };
                    (link, visible(&judgement.examinations[other]))
                })
                .collect(),
            legend: ENDINGS
                .into_iter()
                .filter(|&ending| !contest::code(ending).is_empty())
                .map(|ending| (contest::code(ending), contest::words(ending)))
                .collect(),
            marks: marks(contest, Some(examination)),
        };
        site.page(&contest.table_path(examination, number), &page)?;
    }
    Ok(pages.len())
}

/// How many values the examination has on an instance.
fn values(contest: &Contest, examination: usize) -> usize {
    let blocks = contest.judgement.blocks.iter().filter(|block| block.examination == examination);
    blocks.map(|block| block.trusted.len()).max().unwrap_or(0)
}

pub fn columns(contest: &Contest) -> Vec<(String, &'static str)> {
    let head = |&entry: &usize| {
        let entry = contest.entry(entry);
        (visible(&entry.entry), contest::status_words(entry.status))
    };
    contest.entries.iter().map(head).collect()
}

/// Marks that runs carry, and how many of how many runs carry each.
pub fn marks(contest: &Contest, examination: Option<usize>) -> Vec<(String, String)> {
    let mut counts = BTreeMap::<&str, u64>::new();
    let mut runs = 0;
    for block in &contest.judgement.blocks {
        if examination.is_some_and(|examination| block.examination != examination) {
            continue;
        }
        for cell in block.cells.iter().filter(|cell| contest.entries.contains(&cell.entry)) {
            runs += 1;
            for mark in &cell.marks {
                *counts.entry(mark).or_default() += 1;
            }
        }
    }
    let all = show::thousands(runs);
    counts
        .into_iter()
        .map(|(mark, count)| (visible(mark), format!("{} of {all} runs", show::thousands(count))))
        .collect()
}

fn scores(contest: &Contest, examination: usize, endings: &Endings) -> Vec<ScoreRow> {
    let scores: Vec<_> =
        contest.judgement.scores.iter().filter(|score| score.examination == examination).collect();
    let places = show::places(scores.iter().map(|score| &score.points));
    let normalized = show::places(scores.iter().map(|score| &score.normalized));
    let mut rows: Vec<_> =
        scores.into_iter().filter(|score| contest.entries.contains(&score.entry)).collect();
    rows.sort_by(|a, b| b.normalized.cmp(&a.normalized).then(a.entry.cmp(&b.entry)));
    rows.into_iter()
        .map(|score| {
            let entry = contest.entry(score.entry);
            ScoreRow {
                entry: visible(&entry.entry),
                status: contest::status_words(entry.status),
                right: show::thousands(score.right),
                wrong: show::thousands(score.wrong),
                unjudged: show::thousands(score.unjudged),
                points: show::decimal(&score.points, places),
                points_exact: score.points.to_string(),
                normalized: show::decimal(&score.normalized, normalized),
                normalized_exact: score.normalized.to_string(),
                endings: endings.row(contest, score.entry),
            }
        })
        .collect()
}

/// How runs ended: the endings that occur, by code and words, and their counts by entry.
pub struct Endings {
    /// Empty where nothing is known of any run's end.
    pub columns: Vec<(&'static str, &'static str)>,
    counts: Vec<[u64; ENDINGS.len()]>,
}

impl Endings {
    pub fn of(contest: &Contest, examination: Option<usize>) -> Self {
        let mut counts = vec![[0; ENDINGS.len()]; contest.judgement.entries.len()];
        for block in &contest.judgement.blocks {
            if examination.is_none_or(|examination| block.examination == examination) {
                for cell in &block.cells {
                    let ending = ENDINGS.iter().position(|&ending| ending == cell.ending);
                    counts[cell.entry][ending.expect("ENDINGS has all")] += 1;
                }
            }
        }
        let mut endings = Self { columns: Vec::new(), counts };
        let occurring: Vec<_> = endings.occurring(contest).map(|at| ENDINGS[at]).collect();
        if occurring.iter().any(|&ending| ending != Ending::Unsaid) {
            endings.columns = occurring.into_iter().map(column).collect();
        }
        endings
    }

    fn occurring<'a>(&'a self, contest: &'a Contest) -> impl Iterator<Item = usize> + 'a {
        (0..ENDINGS.len()).filter(|&at| contest.entries.iter().any(|&entry| self.counts[entry][at] > 0))
    }

    /// The counts of an entry; nothing where there is nothing.
    pub fn row(&self, contest: &Contest, entry: usize) -> Vec<String> {
        if self.columns.is_empty() {
            return Vec::new();
        }
        let shown = |count: u64| if count == 0 { String::new() } else { show::thousands(count) };
        self.occurring(contest).map(|at| shown(self.counts[entry][at])).collect()
    }
}

fn column(ending: Ending) -> (&'static str, &'static str) {
    match ending {
        Ending::Answered => ("Answered", "ended by itself with a well-formed answer"),
        Ending::Unsaid => ("–", contest::words(ending)),
        _ => (contest::code(ending), contest::words(ending)),
    }
}

fn families(contest: &Contest, examination: usize, instances: &[usize]) -> Vec<Family> {
    let all = &contest.judgement.instances;
    let group = |group: &[usize]| {
        let family = &all[group[0]].family;
        let mut statuses: Vec<&str> = group.iter().map(|&i| all[i].status.as_str()).collect();
        statuses.sort();
        statuses.dedup();
        statuses.retain(|&status| status != "known" && !status.is_empty());
        Family {
            name: visible(family),
            instances: group.len(),
            status: visible(&statuses.join(", ")),
            rows: group.iter().map(|&instance| row(contest, examination, instance)).collect(),
        }
    };
    instances.chunk_by(|&a, &b| all[a].family == all[b].family).map(group).collect()
}

fn row(contest: &Contest, examination: usize, instance: usize) -> Row {
    let Some(block) = contest.block(examination, instance) else {
        unreachable!("a page has only instances with a block");
    };
    let judged = &contest.judgement.instances[instance];
    // The family's part of the name can be left away where the page is narrow.
    let rest = judged.instance.strip_prefix(&judged.family).and_then(|rest| rest.strip_prefix('-'));
    let rest = rest.unwrap_or(&judged.instance);
    let known = block.trusted.iter().filter(|trusted| trusted.value.is_some()).count();
    let mut by_entry: Vec<Option<&Cell>> = vec![None; contest.judgement.entries.len()];
    for cell in &block.cells {
        by_entry[cell.entry] = Some(cell);
    }
    let cells = contest.entries.iter().map(|&entry| {
        let key = (entry, instance, examination);
        let href = if contest.recorded.contains(&key) {
            format!("../{}.html", contest.run_path(key))
        } else {
            String::new()
        };
        match by_entry[entry] {
            None => View { class: "e", style: String::new(), text: "·".into(), href },
            Some(cell) => {
                let tally = Tally::of(block, cell);
                let (class, style) = colours(tally, cell);
                View { class, style, text: tally.text(cell), href }
            }
        }
    });
    Row {
        anchor: contest.row_anchor(instance).into(),
        family: visible(&judged.instance[..judged.instance.len() - rest.len()]),
        rest: visible(rest),
        trusted: if block.trusted.len() == 1 {
            if known == 1 { "yes".into() } else { "no".into() }
        } else {
            format!("{known}/{}", block.trusted.len())
        },
        cells: cells.collect(),
    }
}

fn colours(tally: Tally, cell: &Cell) -> (&'static str, String) {
    if cell.ending == Ending::Infrastructure {
        return ("i", String::new());
    }
    if tally.right == tally.all && tally.all > 0 {
        return ("k", String::new());
    }
    if tally.given() == 0 {
        let class = if matches!(cell.ending, Ending::DidNotCompete | Ending::Unsaid) { "d" } else { "n" };
        return (class, String::new());
    }
    let reach = |values: usize| values * 100 / tally.all.max(1);
    let (right, wrong) = (reach(tally.right), reach(tally.right + tally.wrong));
    let style = format!("--r:{right}%;--w:{wrong}%;--u:{}%", reach(tally.given()));
    (if tally.wrong > 0 { "w" } else { "p" }, style)
}
