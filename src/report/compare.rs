//! The page that compares any two entries run by run, and its data files for SV-COMP and CRV.

use super::contest::Frame;
use super::plots::{self, Measure, Runs};
use super::show::visible;
use super::site::NewSite;
use super::{ReportError, script};
use askama::Template;
use mcc_base::names::file_names;
use mcc_edition::{OtherEdition, Status};
use mcc_judge::judgement::ValueVerdict;
use serde::Serialize;
use serde_json::json;
use std::collections::{BTreeMap, HashMap};

#[derive(Template)]
#[template(path = "compare.html")]
struct ComparePage {
    frame: Frame,
    /// The style sheet of the picture, which the browser draws.
    style: &'static str,
    /// JSON: for each metric by which runs can be compared, its key, its name and its column in the CSV.
    metrics: String,
    /// The columns of the CSV that identify a run.
    columns: &'static str,
    words: Words,
    /// Whether the site has a page of each run (MCC).
    has_run_pages: bool,
    /// The path of the file of names.
    names: &'static str,
}

/// The words of a contest.
struct Words {
    /// What runs are grouped by: `Examination`, `Category` (SV-COMP) or `Track` (CRV).
    group: &'static str,
    /// What was run: `instance`, or `benchmark` (CRV).
    instance: &'static str,
}

/// Writes the page for an MCC if any run was measured; returns whether it was written.
pub fn write(runs: &Runs, frame: Frame, site: &NewSite) -> Result<bool, ReportError> {
    let words = Words { group: "Examination", instance: "instance" };
    page(
        runs,
        |style, metrics| ComparePage {
            frame,
            style,
            metrics,
            columns: "examination,instance",
            words,
            has_run_pages: true,
            names: "contest.js",
        },
        site,
    )
}

/// Writes the page, given its style sheet and metrics, if any run was measured; returns whether it was written.
fn page(
    runs: &Runs,
    page: impl FnOnce(&'static str, String) -> ComparePage,
    site: &NewSite,
) -> Result<bool, ReportError> {
    let metrics = [
        (Measure::Time, ["time", runs.time.head, runs.time.column]),
        (Measure::Memory, ["memory", "Memory", "memory_kib"]),
    ];
    let measured = metrics.into_iter().filter(|(measure, _)| runs.is_measured(*measure));
    let metrics: Vec<_> = measured.map(|(_, metric)| metric).collect();
    if metrics.is_empty() {
        return Ok(false);
    }
    let metrics = json!(metrics).to_string();
    site.page("compare.html", &page(plots::STYLE, metrics))?;
    Ok(true)
}

/// The runs of an entry in one category, in the format of `Matrix`: rows of an instance and one run; a number of a run
/// is null if it is unknown.
#[derive(Serialize)]
struct RunTable {
    columns: [usize; 1],
    rows: Vec<(usize, [[Option<u64>; 9]; 1])>,
}

/// Writes the page and its data for SV-COMP or CRV; returns whether any run was measured. The names have a file of
/// their own because no other page needs them.
pub fn write_other(
    judgement: &mcc_other_contests::Judgement,
    runs: &Runs,
    frame: Frame,
    site: &NewSite,
) -> Result<bool, ReportError> {
    let (columns, group, limits) = match &judgement.edition {
        OtherEdition::Svcomp(edition) => {
            let limit = edition.limits.cpu_s.saturating_mul(1000);
            ("category,instance,property", "Category", vec![limit])
        }
        OtherEdition::Crv(_) => ("category,instance", "Track", vec![]),
    };
    let words = Words { group, instance: judgement.instance_word() };
    let new = |style, metrics| ComparePage {
        frame,
        style,
        metrics,
        columns,
        words,
        has_run_pages: false,
        names: "runs.js",
    };
    if !page(runs, new, site)? {
        return Ok(false);
    }
    let mut entries = Vec::new();
    let files = file_names(judgement.entries.iter().map(|entry| entry.entry.as_str()));
    let mut all = tables(runs);
    for (number, entry) in judgement.entries.iter().enumerate() {
        let Some(tables) = all.remove(&number) else { continue };
        let tables: Vec<RunTable> = tables.into_values().collect();
        let data = format!("runs/{}.js", files[number]);
        site.file(&data, &script::call("mcc_matrices", &tables))?;
        let votes = entry.status == Status::Competing;
        entries.push(json!({ "name": visible(&entry.entry), "data": data, "votes": votes }));
    }
    let category =
        |(name, title): (&&str, &String)| json!({ "name": visible(name), "title": visible(title) });
    let instances = judgement.blocks.iter().map(|block| [&block.instance, &block.property]);
    let names = json!({
        "entries": entries,
        // One for each block: a task may be in several categories, with several properties.
        "instances": instances.map(|pair| pair.map(|text| visible(text))).collect::<Vec<_>>(),
        "examinations": runs.groups.iter().zip(&runs.titles).map(category).collect::<Vec<_>>(),
        "time_limits": limits,
        "memory_limits": [],
    });
    site.file("runs.js", &script::call("mcc_names", &names))?;
    Ok(true)
}

/// The measured runs, by entry and category. All in one pass: there may be a thousand entries.
fn tables(runs: &Runs) -> HashMap<usize, BTreeMap<usize, RunTable>> {
    let mut tables: HashMap<usize, BTreeMap<usize, RunTable>> = HashMap::new();
    for (number, block) in runs.blocks.iter().enumerate() {
        for run in block.runs.iter().filter(|run| run.cpu_ms.or(run.memory_kib).is_some()) {
            let [right, wrong, unjudged, missing] = ValueVerdict::ALL.map(|verdict| Some(run.count(verdict)));
            let numbers = [right, wrong, unjudged, missing, None, None, run.cpu_ms, None, run.memory_kib];
            let table = tables.entry(run.entry).or_default().entry(block.group);
            let table = table.or_insert_with(|| RunTable { columns: [block.group], rows: Vec::new() });
            table.rows.push((number, [numbers]));
        }
    }
    tables
}
