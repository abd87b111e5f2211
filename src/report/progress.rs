//! The page of the progress of an unfinished campaign: recorded and planned runs.

use super::ReportError;
use super::contest::{Contest, Frame};
use super::show::{self, visible};
use super::site::NewSite;
use askama::Template;
use mcc_store::{Record, outcome_words};
use std::collections::BTreeMap;

#[derive(Template)]
#[template(path = "progress.html")]
struct ProgressPage {
    frame: Frame,
    recorded: String,
    planned: String,
    outcomes: Vec<(String, String)>,
    examinations: Vec<String>,
    /// Entry, and its number of open runs by examination; empty if there are none.
    rows: Vec<(String, Vec<String>)>,
}

/// Writes the page if the campaign is unfinished.
pub fn write(contest: &Contest, record: &Record, site: &NewSite) -> Result<(), ReportError> {
    if contest.unfinished.is_none() {
        return Ok(());
    }
    let summary = record.summary()?;
    let judgement = contest.judgement;
    let mut open: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    for run in record.open_runs() {
        let run = run?.run;
        let entry = contest.entries.iter().position(|&e| run.entry == judgement.entries[e].entry);
        let examination = judgement.examinations.iter().position(|name| run.examination == *name);
        if let Some(place) = entry.zip(examination) {
            *open.entry(place).or_default() += 1;
        }
    }
    let examinations: Vec<usize> = (0..judgement.examinations.len())
        .filter(|&e| {
            contest.examinations.contains(&e) || open.keys().any(|&(_, examination)| examination == e)
        })
        .collect();
    let row = |(number, &entry): (usize, &usize)| {
        let count =
            |e: &usize| open.get(&(number, *e)).map_or(String::new(), |&count| show::thousands(count));
        (visible(&judgement.entries[entry].entry), examinations.iter().map(count).collect())
    };
    let page = ProgressPage {
        frame: contest.frame("Progress".into(), ""),
        recorded: show::thousands(summary.recorded),
        planned: show::thousands(summary.planned),
        outcomes: summary
            .outcomes
            .iter()
            .map(|(word, &count)| (visible(outcome_words(word)), show::thousands(count)))
            .collect(),
        examinations: examinations.iter().map(|&e| visible(&judgement.examinations[e])).collect(),
        rows: contest.entries.iter().enumerate().map(row).collect(),
    };
    site.page("progress.html", &page)
}
