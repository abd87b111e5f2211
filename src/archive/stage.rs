//! Writes the files of an archive except outputs and disks to a folder: the record without resigned entries, rules,
//! tables and judgement.

use super::metadata::{self, ArchiveParts, Description, Tables, write_json};
use super::paths::{ArchiveFacts, ArchivePaths, FORMAT, cores};
use super::{ArchiveError, layout};
use mcc_base::OnFile;
use mcc_campaign::benchkit::contest_table::Form;
use mcc_edition::Edition;
use mcc_judge::RunResults;
use mcc_judge::contest_table::{Layout, export};
use mcc_judge::judgement::{Cell, ValueVerdict};
use mcc_judge::mcc::Judge;
use mcc_judge::record::edition_of;
use mcc_judge::schema::{ANSWERS, ARCHIVE, ENTRIES, INSTANCES, JUDGEMENT, TEAM_VALUES, Table};
use mcc_judge::write;
use mcc_store::{CampaignFacts, Disk, RECORD_FILE, Record};
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::Path;

/// The content of an archive in addition to the record.
pub struct ArchiveInputs<'a> {
    /// The file of `--names`.
    pub names: Option<&'a Path>,
    /// The file of `--overrides`.
    pub overrides: Option<&'a Path>,
    /// The disks that `pack` will add.
    pub disks: Vec<Disk>,
}

/// Returns the entries of an archive: those that did not resign (P-4).
///
/// # Errors
/// The record cannot be judged.
pub fn judged_entries(edition: &Edition, results: RunResults) -> Result<BTreeSet<String>, ArchiveError> {
    let judge = Judge::new(edition, results)?;
    Ok(judge.header.entries.into_iter().map(|entry| entry.entry).collect())
}

/// Writes all files of an archive except outputs and disks to the empty folder `to`. They do not mention resigned entries
/// (P-4).
///
/// # Errors
/// The record cannot be judged, or a file cannot be read or written.
pub fn stage(
    record: &Record,
    edition: &Edition,
    results: RunResults,
    given: ArchiveInputs,
    to: &Path,
) -> Result<(), ArchiveError> {
    let paths = ArchivePaths(to);
    let cores = cores(record)?;
    let answers = to.join(ANSWERS.file);
    export(edition, results.clone(), &cores, Layout::Results(Form::Exact), &answers)?;
    let judge = Judge::new(edition, results)?;
    let kept: BTreeSet<String> = judge.header.entries.iter().map(|entry| entry.entry.clone()).collect();
    copy_record(record, &|entry| kept.contains(entry), to)?;
    let disks = given.disks.clone();
    write_rules(&paths, &judge.header.edition, None, given.disks)?;
    if let Some(publication) = &judge.header.publication {
        write_json(&paths.publication(), publication)?;
    }
    for (from, to) in [(given.names, paths.names()), (given.overrides, paths.overrides())] {
        if let Some(from) = from {
            fs::copy(from, &to).on("copy", from)?;
        }
    }
    // From the files of the archive, as `verify` will judge it.
    let (edition, results) = paths.results()?;
    let judge = Judge::new(&edition, results)?;
    write::write(&judge, &paths.judgement())?;
    let header = &judge.header;
    let (has_outputs, last_day) = outputs_and_last_day(record, &kept)?;
    let description = Description {
        edition_title: &header.edition.title,
        content: "Answers, outputs, judgement and rules",
        publication: header.publication.as_ref(),
        day_or_year: last_day,
        entries: &header.entries,
        tables: tables(to),
        files: layout::described_files(),
        archive: Some(ArchiveParts { disks: &disks_by_entry(record, disks), has_outputs }),
    };
    metadata::write(to, &description)
}

/// Whether a run of these entries has an output, and the day on which the last of them started.
fn outputs_and_last_day(
    record: &Record,
    entries: &BTreeSet<String>,
) -> Result<(bool, Option<String>), ArchiveError> {
    let (mut has_outputs, mut last_day) = (false, None);
    for run in record.records() {
        let run = run?;
        if !entries.contains(run.run.entry.as_str()) {
            continue;
        }
        let last = run.last;
        has_outputs |= !last.outputs.is_empty();
        let day = last.started_at.get(..10).and_then(|day| day.parse::<jiff::civil::Date>().ok());
        last_day = last_day.max(day);
    }
    Ok((has_outputs, last_day.map(|day| day.to_string())))
}

/// Disks with the roles that the campaign has for them: `disk LoLA` instead of `disk`.
fn disks_by_entry(record: &Record, mut disks: Vec<Disk>) -> Vec<Disk> {
    // The first disk of a digest comes last here, so it is kept.
    let known = record.facts().disks.iter().rev();
    let roles: HashMap<&str, &String> = known.map(|known| (known.sha256.as_str(), &known.role)).collect();
    for disk in &mut disks {
        if let Some(role) = roles.get(disk.sha256.as_str()) {
            disk.role.clone_from(role);
        }
    }
    disks
}

/// Writes a team bundle to the empty folder `to`: the data that one team may see before the results are public (P-1),
/// which are its own runs and, in `values.csv`, the verdict on each of its values with the reason.
///
/// # Errors
/// There is no entry or tool of this name, the record cannot be judged, or a file cannot be written.
pub fn bundle(
    record: &Record,
    edition: &Edition,
    results: RunResults,
    tool: &str,
    to: &Path,
) -> Result<(), ArchiveError> {
    let judge = Judge::new(edition, results)?;
    let entries = &judge.header.entries;
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
    let rules = judge.header.edition.without_resigned(|entry| own.contains(entry));
    write_rules(&ArchivePaths(to), &rules, Some(tool), vec![])?;
    let path = to.join(TEAM_VALUES.file);
    let mut table = csv::Writer::from_path(&path).on("write", &path)?;
    table.write_record(TEAM_VALUES.columns).on("write", &path)?;
    team_values(&judge, |entry| own.contains(entry), |row| Ok(table.write_record(row).on("write", &path)?))?;
    table.flush().on("write", &path)?;
    metadata::write_data_package(to, &tables(to), None)
}

/// Calls `write` with each row of `values.csv` of the entries for which `is_own` returns true.
///
/// # Errors
/// The results cannot be judged, or `write` failed.
pub fn team_values(
    judge: &Judge,
    is_own: impl Fn(&str) -> bool,
    mut write: impl FnMut(&[String; TEAM_VALUES.columns.len()]) -> Result<(), ArchiveError>,
) -> Result<(), ArchiveError> {
    let entries = &judge.header.entries;
    judge.judge_blocks(|block| {
        for cell in block.cells.iter().filter(|cell| is_own(&entries[cell.entry].entry)) {
            for (position, trusted) in block.trusted.iter().enumerate() {
                let given = cell.values.get(position).and_then(Option::as_ref);
                write(&[
                    entries[cell.entry].entry.clone(),
                    judge.header.instances[block.instance].instance.clone(),
                    judge.header.examinations[block.examination].clone(),
                    format!("{position:02}"),
                    trusted.id.clone(),
                    given.map_or_else(String::new, ToString::to_string),
                    verdict(cell, position).to_owned(),
                    trusted.value.as_ref().map_or_else(String::new, ToString::to_string),
                    trusted.basis.to_string(),
                    if given.is_none() { reason(cell) } else { String::new() },
                ])?;
            }
        }
        Ok::<_, ArchiveError>(())
    })?;
    Ok(())
}

/// The tables in the folder of an archive.
fn tables(folder: &Path) -> Tables {
    let in_folder = ARCHIVE.iter().map(|table| (table.file.to_owned(), *table));
    let judgement = JUDGEMENT.iter().map(|table| (format!("judgement/{}", table.file), *table));
    let present = |(path, _): &(String, Table)| folder.join(path).is_file();
    let files: Vec<(String, Table)> = in_folder.chain(judgement).filter(present).collect();
    // A team bundle has neither.
    let has = |path: &str| files.iter().any(|(known, _)| known == path);
    let path = |table: &Table| (has(ENTRIES.file) && has(INSTANCES.file)).then_some(table.file);
    let (entries, instances) = (path(&ENTRIES), path(&INSTANCES));
    Tables { files, entries, instances }
}

fn verdict(cell: &Cell, position: usize) -> &'static str {
    match cell.verdicts.get(position) {
        Some(ValueVerdict::NotComputed) | None => "lost",
        Some(verdict) => verdict.word(),
    }
}

/// The reason of a missing value: how the run ended, and the remarks on its output.
fn reason(cell: &Cell) -> String {
    [vec![cell.ending.to_string()], cell.remarks.clone()].concat().join("; ")
}

fn write_rules(
    paths: &ArchivePaths,
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
    write_json(&paths.facts_file(), &facts)?;
    write_json(&paths.edition_file(), edition)?;
    let readme = paths.0.join("README.txt");
    Ok(fs::write(&readme, layout::readme()).on("write", &readme)?)
}

/// Copies the record with the entries for which `is_kept` returns true, and links its outputs.
fn copy_record(record: &Record, is_kept: &dyn Fn(&str) -> bool, to: &Path) -> Result<(), ArchiveError> {
    let facts = keep_in_facts(record, is_kept)?;
    record.copy(to, &facts, &|run| is_kept(run.split('/').next().unwrap_or_default()))?;
    let outputs = fs::canonicalize(record.dir()).on("read", record.dir())?.join("outputs");
    let link = to.join("outputs");
    Ok(std::os::unix::fs::symlink(outputs, &link).on("create", &link)?)
}

/// Returns the facts of the record without entries for which `is_kept` returns false.
fn keep_in_facts(record: &Record, is_kept: &dyn Fn(&str) -> bool) -> Result<CampaignFacts, ArchiveError> {
    let mut facts = record.facts().clone();
    let removed: BTreeSet<String> =
        facts.entries.iter().map(|facts| facts.entry.to_string()).filter(|entry| !is_kept(entry)).collect();
    if removed.is_empty() {
        return Ok(facts);
    }
    facts.entries.retain(|facts| is_kept(&facts.entry));
    // The name of an entry has no blank.
    let of_removed = |text: &str| text.rsplit_once(' ').is_some_and(|(_, entry)| removed.contains(entry));
    facts.settings.retain(|key, _| !of_removed(key));
    facts.disks.retain(|disk| !of_removed(&disk.role));
    let bad = |reason: String| ArchiveError::Bad { path: record.dir().join(RECORD_FILE), reason };
    // Written again without comments, which may mention a removed entry.
    let mut campaign: toml::Table =
        facts.campaign.parse().map_err(|error| bad(format!("its campaign.toml: {error}")))?;
    if let Some(toml::Value::Array(tools)) = campaign.get_mut("tool") {
        tools.retain(|tool| tool.get("entry").and_then(toml::Value::as_str).is_some_and(is_kept));
    }
    facts.campaign = toml::to_string(&campaign).map_err(|error| bad(error.to_string()))?;
    let edition = edition_of(record)?.without_resigned(|entry| !removed.contains(entry));
    facts.edition = serde_json::to_string(&edition).map_err(|error| bad(error.to_string()))?;
    Ok(facts)
}
