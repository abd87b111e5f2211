//! Writes the files of a judgement, the tables and `judgement.json`, while blocks are judged.
//!
//! Every file is written under a temporary name. When all are complete they replace those of an earlier judgement
//! (`replace`).

pub use super::atomic_file::INCOMPLETE;
use super::atomic_file::{AtomicFile, field, replace, table_files};
use super::schema;
use crate::arrivals;
use crate::certified;
use crate::judgement::*;
use crate::mcc::sensitivity::{LeftOut, Margin, Sensitivity};
use crate::mcc::{Judge, JudgementTotals};
use crate::shared::variant_of;
use mcc_base::ordered_map::all_cores;
use mcc_base::{FileError, Mark, OnFile};
use mcc_campaign::benchkit::Value;
use mcc_store::InstructionSource;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Judges and writes all files of `judge --out`, on all cores. Returns the sums over the blocks.
///
/// # Errors
/// A file cannot be written.
pub fn write(judge: &Judge, dir: &Path) -> Result<JudgementTotals, FileError> {
    write_by(judge, dir, all_cores())
}

/// Judges and writes as `write` does, on `threads` threads. The files have the same bytes for any number of them.
///
/// # Errors
/// A file cannot be written.
pub fn write_by(judge: &Judge, dir: &Path, threads: NonZeroUsize) -> Result<JudgementTotals, FileError> {
    std::fs::create_dir_all(dir).on("create", dir)?;
    let header = &judge.header;
    let mut json = AtomicFile::new(&dir.join(JUDGEMENT_FILE))?;
    let mut trusted = AtomicFile::new(&dir.join("trusted.csv"))?;
    let certified = certified::is_among(&header.inputs);
    let columns = schema::TRUSTED.columns.iter().copied();
    trusted.row(columns.chain(certified.then_some(schema::CERTIFIED)))?;
    let mut weak = AtomicFile::new(&dir.join("weak.csv"))?;
    weak.text(&schema::WEAK.header())?;
    let mut overrides = AtomicFile::new(&dir.join("overrides.csv"))?;
    overrides.text(&schema::OVERRIDES.header())?;
    let mut arrivals = AtomicFile::new(&dir.join("arrivals.csv"))?;
    arrivals.text(&schema::ARRIVALS.header())?;
    let mut instructions = AtomicFile::new(&dir.join("instructions.csv"))?;
    instructions.text(&schema::INSTRUCTIONS.header())?;
    let mut counted = false;
    json.text("{")?;
    header_fields(&mut json, header)?;
    json.text("\"blocks\":[")?;
    let mut between = "\n";
    let mut marks: Vec<BTreeSet<Mark>> = vec![BTreeSet::new(); header.entries.len()];
    // Written batches are used again: to allocate new ones takes as long as judging.
    let unused = Mutex::new(Vec::new());
    let unused_batches = || unused.lock().unwrap_or_else(PoisonError::into_inner);
    let totals = judge.judge_on(
        threads,
        |blocks| {
            let batch: BlockBatch = unused_batches().pop().unwrap_or_default();
            batch.filled(header, blocks)
        },
        |batch| {
            let mut batch = batch.on("write", json.path())?;
            json.text(std::mem::replace(&mut between, ",\n"))?;
            json.bytes(&batch.json)?;
            trusted.text(&batch.trusted)?;
            weak.text(&batch.weak)?;
            overrides.text(&batch.overrides)?;
            arrivals.text(&batch.arrivals)?;
            instructions.text(&batch.instructions)?;
            counted |= !batch.instructions.is_empty();
            for (entry, mark) in batch.marks.drain(..) {
                marks[entry].insert(mark);
            }
            batch.clear();
            unused_batches().push(batch);
            Ok::<_, FileError>(())
        },
    )?;
    json.text("\n],\n")?;
    json.field("scores", &totals.scores, ",\n")?;
    json.field("podiums", &totals.podiums, ",\n")?;
    if !header.evidence_podiums.is_empty() {
        json.field("evidence_podiums", &header.evidence_podiums, ",\n")?;
    }
    json.field("awards", &totals.awards, ",\n")?;
    json.field("best_virtual", &totals.best_virtual, ",\n")?;
    json.field("flags", &header.flags, "}\n")?;

    let tables = [
        ("confidence.csv", confidence(header)),
        ("scores.csv", scores(header, &totals)),
        ("podiums.csv", podiums(header, &totals)),
        ("awards.csv", awards(header, &totals)),
        ("tools.csv", tools(header, &marks)),
        ("virtual.csv", best_virtual(header, &totals)),
        ("flags.csv", flags(header)),
    ];
    let mut files = table_files(&tables, dir)?;
    files.extend([trusted, weak, overrides, arrivals]);
    files.extend(counted.then_some(instructions));
    replace(json, files, dir)?;
    Ok(totals)
}

/// Writes `sensitivity.csv` and `margins.csv`.
///
/// # Errors
/// A file cannot be written.
pub fn write_sensitivity(sensitivity: &Sensitivity, dir: &Path) -> Result<(), FileError> {
    let tables = [("sensitivity.csv", sensitivity_rows(sensitivity)), ("margins.csv", margins(sensitivity))];
    table_files(&tables, dir)?.into_iter().try_for_each(|file| file.rename().map(drop))
}

/// The description of a judgement of another contest for other programs. That of the MCC is in its archive.
const METADATA: [&str; 3] = ["datapackage.json", "ro-crate-metadata.json", "CITATION.cff"];

/// All files that a judgement of the MCC or of another contest can have; `judgement.json` is last.
pub fn files() -> impl Iterator<Item = &'static str> {
    let tables = schema::JUDGEMENT.iter().map(|table| table.file);
    let other_contests = ["verdicts.csv", "quantiles.csv", "recorded.csv"];
    tables.chain(other_contests).chain(METADATA).chain([JUDGEMENT_FILE])
}

/// Blocks that one thread judged, as rows of the files, and the marks of their runs that exclude costs, by entry.
#[derive(Default)]
struct BlockBatch {
    json: Vec<u8>,
    trusted: String,
    weak: String,
    overrides: String,
    arrivals: String,
    instructions: String,
    marks: Vec<(usize, Mark)>,
}

impl BlockBatch {
    /// Adds blocks.
    fn filled(
        mut self,
        header: &Judgement,
        blocks: &mut dyn Iterator<Item = Block>,
    ) -> std::io::Result<Self> {
        for block in blocks {
            if !self.json.is_empty() {
                self.json.extend(b",\n");
            }
            serde_json::to_writer(&mut self.json, &block)?;
            trusted_rows(header, &block, &mut self.trusted);
            weak_rows(header, &block, &mut self.weak);
            override_rows(header, &block, &mut self.overrides);
            arrivals::rows(header, &block, &mut self.arrivals);
            instruction_rows(header, &block, &mut self.instructions);
            for cell in block.cells {
                let marks = cell.marks.into_iter().filter(Mark::excludes_cost);
                self.marks.extend(marks.map(|mark| (cell.entry, mark)));
            }
        }
        Ok(self)
    }

    fn clear(&mut self) {
        let Self { json, trusted, weak, overrides, arrivals, instructions, marks } = self;
        json.clear();
        marks.clear();
        [trusted, weak, overrides, arrivals, instructions].into_iter().for_each(String::clear);
    }
}

/// Writes the fields of `Judgement` before `blocks`, one per line.
fn header_fields(json: &mut AtomicFile, header: &Judgement) -> Result<(), FileError> {
    json.field("version", &header.version, ",\n")?;
    json.field("edition", &header.edition, ",\n")?;
    if let Some(publication) = &header.publication {
        json.field("publication", publication, ",\n")?;
    }
    json.field("inputs", &header.inputs, ",\n")?;
    json.field("notes", &header.notes, ",\n")?;
    json.field("entries", &header.entries, ",\n")?;
    json.field("instances", &header.instances, ",\n")?;
    json.field("examinations", &header.examinations, ",\n")?;
    json.field("unresolved", &header.unresolved, ",\n")?;
    json.field("excluded", &header.excluded, ",\n")?;
    json.field("common_values", &header.common_values, ",\n")?;
    json.field("confidence", &header.confidence, ",\n")
}

/// Adds a row to `instructions.csv` for each run of a block whose instructions were counted.
fn instruction_rows(header: &Judgement, block: &Block, rows: &mut String) {
    let instance = field(&header.instances[block.instance].instance);
    let examination = field(&header.examinations[block.examination]);
    for cell in &block.cells {
        let Some(Cost { instructions_user, instructions_kernel, instructions_source, .. }) = cell.cost else {
            continue;
        };
        if let (Some(user), Some(kernel)) = (instructions_user, instructions_kernel) {
            let name = field(&header.entries[cell.entry].entry);
            let source = instructions_source.map_or("", InstructionSource::word);
            let _ = writeln!(rows, "{name},{instance},{examination},{user},{kernel},{source}");
        }
    }
}

/// Adds the rows of a block to `trusted.csv`. `backers` are the voters that gave the trusted value, `against` those
/// that gave another one; both are empty where the value is unknown.
fn trusted_rows(header: &Judgement, block: &Block, rows: &mut String) {
    let certified = certified::is_among(&header.inputs);
    let instance = field(&header.instances[block.instance].instance);
    let examination = field(&header.examinations[block.examination]);
    let voters: Vec<(&ValueVerdicts, &str)> = block
        .cells
        .iter()
        .filter(|cell| header.entries[cell.entry].status.votes())
        .map(|cell| (&cell.verdicts, header.entries[cell.entry].entry.as_str()))
        .collect();
    let quoted = voters.iter().any(|(_, name)| matches!(field(name), Cow::Owned(_)));
    let mut sides = [String::new(), String::new()];
    for (position, trusted) in block.trusted.iter().enumerate() {
        let tens = if position < 10 { ",0" } else { "," };
        rows.extend([&*instance, ",", &*examination, tens, itoa::Buffer::new().format(position), ","]);
        rows.extend([&*field(&trusted.id), ","]);
        match &trusted.value {
            Some(Value::True) => rows.push('T'),
            Some(Value::False) => rows.push('F'),
            Some(value) => drop(write!(rows, "{value}")),
            None => {}
        }
        rows.extend([",", trusted.basis.word()]);
        sides.iter_mut().for_each(String::clear);
        for (verdicts, name) in &voters {
            let names = match verdicts[position] {
                ValueVerdict::Right => &mut sides[0],
                ValueVerdict::Wrong => &mut sides[1],
                ValueVerdict::Unjudged | ValueVerdict::NotComputed => continue,
            };
            names.push_str(if names.is_empty() { "" } else { " " });
            names.push_str(name);
        }
        for names in &sides {
            rows.push(',');
            rows.push_str(&if quoted { field(names) } else { names.as_str().into() });
        }
        if certified {
            rows.extend([",", trusted.certified_label()]);
        }
        rows.push('\n');
    }
}

fn confidence(header: &Judgement) -> String {
    let mut judged: Vec<&Confidence> = header.confidence.iter().collect();
    judged.retain(|confidence| header.entries[confidence.entry].status != Status::Withdrawn);
    judged.sort_by_key(|confidence| &header.entries[confidence.entry].entry);
    let mut table = schema::CONFIDENCE.header();
    for Confidence { entry, agreed, answered, confidence } in judged {
        let name = field(&header.entries[*entry].entry);
        let _ = writeln!(table, "{name},{agreed},{answered},{confidence}");
    }
    table
}

/// The table of scores, by tool, then by examination in the order of the edition.
fn scores(header: &Judgement, totals: &JudgementTotals) -> String {
    let mut scores: Vec<&Score> = totals.scores.iter().collect();
    scores.sort_by_key(|score| (&header.entries[score.entry].entry, score.examination));
    let mut table = schema::SCORES.header();
    for Score { entry, examination, right, wrong, unjudged, points, normalized } in scores {
        let name = field(&header.entries[*entry].entry);
        let examination = field(&header.examinations[*examination]);
        let _ = writeln!(table, "{name},{examination},{right},{wrong},{unjudged},{points},{normalized}");
    }
    table
}

fn podiums(header: &Judgement, totals: &JudgementTotals) -> String {
    let mut table = schema::PODIUMS.header();
    for podium in &totals.podiums {
        for PodiumPlace { rank, entry, variant, points, medal } in &podium.places {
            let rank = rank.map_or(String::new(), |rank| rank.to_string());
            let name = field(&header.entries[*entry].entry);
            let _ = writeln!(table, "{},{rank},{name},{variant},{points},{medal}", field(&podium.category));
        }
    }
    table
}

fn awards(header: &Judgement, totals: &JudgementTotals) -> String {
    let mut table = schema::AWARDS.header();
    for Award { category, award: kind, places } in &totals.awards {
        for AwardPlace { rank, entry, runs_compared, value, unit } in places {
            let award = kind.word();
            let (category, name) = (field(category), field(&header.entries[*entry].entry));
            let _ = writeln!(table, "{category},{award},{rank},{name},{runs_compared},{value},{unit}");
        }
    }
    table
}

fn tools(header: &Judgement, marks: &[BTreeSet<Mark>]) -> String {
    let mut entries: Vec<(&Entry, &BTreeSet<Mark>)> = header.entries.iter().zip(marks).collect();
    entries.sort_by_key(|(entry, _)| &entry.entry);
    let mut table = schema::TOOLS.header();
    for (Entry { entry, tool, status, note }, marks) in entries {
        let marks = marks.iter().map(|mark| &**mark).collect::<Vec<_>>().join(" ");
        let (status, variant) = (status.word(), variant_of(entry, tool));
        let [entry, tool, variant, marks, note] = [entry.as_str(), tool, variant, &marks, note].map(field);
        let _ = writeln!(table, "{entry},{tool},{variant},{status},{marks},{note}");
    }
    table
}

/// Adds the trusted values of a block that have weak evidence, with the voters that gave them.
fn weak_rows(header: &Judgement, block: &Block, rows: &mut String) {
    let instance = field(&header.instances[block.instance].instance);
    let examination = field(&header.examinations[block.examination]);
    for (position, trusted) in block.trusted.iter().enumerate() {
        let (Some(weak), Some(value)) = (trusted.weak, &trusted.value) else { continue };
        let backers = block.cells.iter().filter(|cell| {
            cell.verdicts[position] == ValueVerdict::Right && header.entries[cell.entry].status.votes()
        });
        let backers: Vec<&str> = backers.map(|cell| header.entries[cell.entry].entry.as_str()).collect();
        let backers = backers.join(" ");
        let _ = writeln!(rows, "{instance},{examination},{position:02},{value},{weak},{}", field(&backers));
    }
}

/// Adds the overridden values of a block.
pub(crate) fn override_rows(header: &Judgement, block: &Block, rows: &mut String) {
    for (position, trusted) in
        block.trusted.iter().enumerate().filter(|(_, trusted)| !trusted.reason.is_empty())
    {
        let instance = field(&header.instances[block.instance].instance);
        let examination = field(&header.examinations[block.examination]);
        let value = trusted.value.as_ref().map_or("unknown".to_owned(), ToString::to_string);
        let _ = writeln!(rows, "{instance},{examination},{position:02},{value},{}", field(&trusted.reason));
    }
}

fn best_virtual(header: &Judgement, totals: &JudgementTotals) -> String {
    let mut table = schema::VIRTUAL.header();
    for VirtualScore { examination, right, values, points, normalized } in &totals.best_virtual {
        let examination = field(&header.examinations[*examination]);
        let _ = writeln!(table, "{examination},{right},{values},{points},{normalized}");
    }
    table
}

fn flags(header: &Judgement) -> String {
    let mut table = schema::FLAGS.header();
    for Flag { kind, entry, examination, family, instance, position, detail } in &header.flags {
        let instance = instance.map_or("", |instance| &header.instances[instance].instance);
        let position = position.map_or(String::new(), |position| format!("{position:02}"));
        let [tool, examination, family, instance, detail] =
            [&header.entries[*entry].entry, &header.examinations[*examination], family, instance, detail]
                .map(field);
        let _ = writeln!(table, "{kind},{tool},{examination},{family},{instance},{position},{detail}");
    }
    table
}

fn sensitivity_rows(sensitivity: &Sensitivity) -> String {
    let mut table = schema::SENSITIVITY.header();
    for row in &sensitivity.left_out {
        let changes = if row.changes() { "yes" } else { "no" };
        let LeftOut { rank, rank_removed, rank_rejudged, points, points_rejudged, .. } = row;
        let [category, without, tool] = [&row.category, &row.left_out, &row.tool].map(|name| field(name));
        let _ = writeln!(
            table,
            "{category},{without},{tool},{rank},{rank_removed},{rank_rejudged},{changes},{points},{points_rejudged}"
        );
    }
    table
}

fn margins(sensitivity: &Sensitivity) -> String {
    let mut table = schema::MARGINS.header();
    for Margin { category, rank, entry, rival, points_ahead, values, few_values, .. } in &sensitivity.margins
    {
        let [category, entry, rival] = [category, entry, rival].map(|name| field(name));
        let values = values.map_or(String::new(), |values| values.to_string());
        let few_values = if *few_values { "yes" } else { "no" };
        let _ = writeln!(table, "{category},{rank},{entry},{rival},{points_ahead},{values},{few_values}");
    }
    table
}
