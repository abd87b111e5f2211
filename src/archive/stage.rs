//! The files of an archive but outputs and disks, in a folder: a record without what must vanish, and what it is
//! judged by.

use super::contents::{ArchiveFacts, Contents, FORMAT, cores};
use super::{ArchiveError, io_at};
use mcc_benchkit::contest_table::Form;
use mcc_edition::Edition;
use mcc_judge::Ballots;
use mcc_judge::contest_table::{Layout, export};
use mcc_judge::judgement::{Cell, ValueVerdict};
use mcc_judge::mcc::Jury;
use mcc_judge::record::{RecordError, edition_of};
use mcc_judge::write;
use mcc_store::{CampaignFacts, Disk, Record};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What goes into an archive beside the record.
pub struct Given<'a> {
    /// The files of `--names` and `--overrides`.
    pub names: Option<&'a Path>,
    pub overrides: Option<&'a Path>,
    /// Those that `pack` will add.
    pub disks: Vec<Disk>,
}

/// The entries that an archive names: those that did not resign (P-4).
pub fn judged_entries(edition: &Edition, ballots: Ballots) -> Result<BTreeSet<String>, ArchiveError> {
    let jury = Jury::new(edition, ballots)?;
    Ok(jury.opening.entries.into_iter().map(|entry| entry.entry).collect())
}

/// Fills the empty folder `to` with all of an archive but outputs and disks. Resigned entries are in none of it (P-4).
pub fn stage(
    record: &Record,
    edition: &Edition,
    ballots: Ballots,
    given: Given,
    to: &Path,
) -> Result<(), ArchiveError> {
    let contents = Contents(to);
    let cores = cores(record)?;
    let answers = contents.answers();
    export(edition, ballots.clone(), &cores, Layout::Results(Form::Exact), &answers)?;
    let jury = Jury::new(edition, ballots)?;
    let stays: BTreeSet<&str> = jury.opening.entries.iter().map(|entry| entry.entry.as_str()).collect();
    copy_record(record, &|entry| stays.contains(entry), to)?;
    write_rules(&contents, &jury.opening.edition, None, given.disks)?;
    for (from, to) in [(given.names, contents.names()), (given.overrides, contents.overrides())] {
        if let Some(from) = from {
            fs::copy(from, &to).map_err(io_at(from))?;
        }
    }
    // As whoever verifies it will: from what is in the archive.
    let (edition, ballots) = contents.ballots()?;
    write::write(&Jury::new(&edition, ballots)?, &contents.judgement())?;
    Ok(())
}

/// Fills the empty folder `to` with what one team may see before the results are public (P-1): its own runs, and
/// in `values.csv` what became of each of its values and why.
pub fn bundle(
    record: &Record,
    edition: &Edition,
    ballots: Ballots,
    tool: &str,
    to: &Path,
) -> Result<(), ArchiveError> {
    let jury = Jury::new(edition, ballots)?;
    let entries = &jury.opening.entries;
    let own: BTreeSet<&str> = entries
        .iter()
        .filter(|entry| [&entry.tool, &entry.entry].into_iter().any(|name| name == tool))
        .map(|entry| entry.entry.as_str())
        .collect();
    if own.is_empty() {
        let known: Vec<&str> = entries.iter().map(|entry| entry.entry.as_str()).collect();
        let reason = format!("no entry or tool {tool}; entries are {}", known.join(", "));
        return Err(ArchiveError::Bad { path: record.dir().to_owned(), reason });
    }
    copy_record(record, &|entry| own.contains(entry), to)?;
    let rules = jury.opening.edition.without_resigned(|entry| own.contains(entry));
    write_rules(&Contents(to), &rules, Some(tool), vec![])?;
    let path = to.join("values.csv");
    let mut table = csv::Writer::from_path(&path).map_err(|error| io_at(&path)(error.into()))?;
    let header =
        ["entry", "instance", "examination", "position", "id", "value", "verdict", "trusted", "basis", "why"];
    let mut row = |row: &[String]| table.write_record(row).map_err(|error| io_at(&path)(error.into()));
    row(&header.map(str::to_owned))?;
    jury.judge_blocks(|block| {
        for cell in block.cells.iter().filter(|cell| own.contains(entries[cell.entry].entry.as_str())) {
            for (position, trusted) in block.trusted.iter().enumerate() {
                let given = cell.values.get(position).and_then(Option::as_ref);
                row(&[
                    entries[cell.entry].entry.clone(),
                    jury.opening.instances[block.instance].instance.clone(),
                    jury.opening.examinations[block.examination].clone(),
                    format!("{position:02}"),
                    trusted.id.clone(),
                    given.map_or_else(String::new, ToString::to_string),
                    verdict(cell, position).to_owned(),
                    trusted.value.as_ref().map_or_else(String::new, ToString::to_string),
                    trusted.basis.to_string(),
                    if given.is_none() { why(cell) } else { String::new() },
                ])?;
            }
        }
        Ok::<_, ArchiveError>(())
    })?;
    table.flush().map_err(io_at(&path))
}

fn verdict(cell: &Cell, position: usize) -> &'static str {
    match cell.verdicts.get(position) {
        Some(ValueVerdict::NotComputed) | None => "lost",
        Some(verdict) => verdict.word(),
    }
}

/// How the run ended, and what was odd about its output.
fn why(cell: &Cell) -> String {
    let ending = serde_json::to_value(cell.ending).expect("a word");
    let ending = ending.as_str().unwrap_or_default().to_owned();
    [vec![ending], cell.remarks.clone()].concat().join("; ")
}

fn write_rules(
    contents: &Contents,
    edition: &Edition,
    tool: Option<&str>,
    disks: Vec<Disk>,
) -> Result<(), ArchiveError> {
    let facts = ArchiveFacts {
        format: FORMAT,
        made_by: env!("CARGO_PKG_VERSION").to_owned(),
        edition: edition.name.clone(),
        tool: tool.map(str::to_owned),
        disks,
    };
    let json = |value: serde_json::Result<String>| value.expect("facts are plain data") + "\n";
    let files = [
        (contents.facts_file(), json(serde_json::to_string_pretty(&facts))),
        (contents.edition_file(), json(serde_json::to_string_pretty(edition))),
        (contents.0.join("README.txt"), include_str!("README.txt").to_owned()),
    ];
    files.into_iter().try_for_each(|(path, text)| fs::write(&path, text).map_err(io_at(&path)))
}

/// The record of the entries that `stays` takes, and a link to the outputs, so that it can be read here.
fn copy_record(record: &Record, stays: &dyn Fn(&str) -> bool, to: &Path) -> Result<(), ArchiveError> {
    let facts = keep_in_facts(record, stays)?;
    record.copy(to, &facts, &|run| stays(run.split('/').next().unwrap_or_default()))?;
    let outputs = fs::canonicalize(record.dir()).map_err(io_at(record.dir()))?.join("outputs");
    let link = to.join("outputs");
    std::os::unix::fs::symlink(outputs, &link).map_err(io_at(&link))
}

/// Without any word of the entries that don't stay; as it is where all do.
fn keep_in_facts(record: &Record, stays: &dyn Fn(&str) -> bool) -> Result<CampaignFacts, ArchiveError> {
    let mut facts = record.facts().clone();
    let gone: Vec<String> =
        facts.entries.iter().map(|facts| facts.entry.to_string()).filter(|entry| !stays(entry)).collect();
    if gone.is_empty() {
        return Ok(facts);
    }
    facts.entries.retain(|facts| stays(&facts.entry));
    let of_gone = |text: &str| gone.iter().any(|entry| text.ends_with(&format!(" {entry}")));
    facts.settings.retain(|key, _| !of_gone(key));
    facts.disks.retain(|disk| !of_gone(&disk.role));
    let bad = |reason: String| ArchiveError::Bad { path: record.dir().join("record.db"), reason };
    // Written anew: a comment could speak of who is gone.
    let mut campaign: toml::Table =
        facts.campaign.parse().map_err(|error| bad(format!("its campaign.toml: {error}")))?;
    if let Some(toml::Value::Array(tools)) = campaign.get_mut("tool") {
        tools.retain(|tool| tool.get("entry").and_then(toml::Value::as_str).is_some_and(stays));
    }
    facts.campaign = toml::to_string(&campaign).map_err(|error| bad(error.to_string()))?;
    let edition = edition_of(record)?.without_resigned(|entry| !gone.iter().any(|gone| gone == entry));
    facts.edition = serde_json::to_string(&edition).map_err(RecordError::Edition)?;
    Ok(facts)
}
