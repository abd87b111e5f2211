//! Writes the files of a judgement of another contest. Each table has the columns of the MCC table first, then the columns
//! of the contest.

use super::*;
use mcc_base::{FileError, OnFile};
use mcc_judge::schema::{TOOLS, Table};
use mcc_judge::shared::{AtomicFile, field, replace, table_files, variant_of};
use std::fmt::Write as _;

/// Writes all files of `judge --out` to the folder `dir`, which is created if it does not exist.
///
/// # Errors
/// A file cannot be written.
pub fn write(judgement: &Judgement, dir: &Path) -> Result<(), FileError> {
    std::fs::create_dir_all(dir).on("create", dir)?;
    let mut json = AtomicFile::new(&dir.join(JUDGEMENT_FILE))?;
    json.value(judgement)?;
    json.text("\n")?;
    let content = |(table, rows): &(Table, Rows)| (table.file, rows(judgement, table.header()));
    let tables: Vec<(&str, String)> = tables_with_rows(judgement).iter().map(content).collect();
    replace(json, table_files(&tables, dir)?, dir)
}

/// Returns the tables that `write` writes for a judgement.
pub fn tables(judgement: &Judgement) -> Vec<Table> {
    tables_with_rows(judgement).into_iter().map(|(table, _)| table).collect()
}

/// Returns a table, given its first line.
type Rows = fn(&Judgement, String) -> String;

fn tables_with_rows(judgement: &Judgement) -> Vec<(Table, Rows)> {
    let (scores_table, verdicts_table) = if judgement.parts.is_empty() {
        (schema::SCORES, schema::VERDICTS)
    } else {
        (schema::SCORES_OF_CRV, schema::VERDICTS_OF_CRV)
    };
    let mut tables: Vec<(Table, Rows)> = vec![
        (scores_table, scores),
        (schema::PODIUMS, podiums),
        (TOOLS, tools),
        (verdicts_table, verdicts),
        (schema::QUANTILES, quantiles),
    ];
    if judgement.blocks.iter().flat_map(|block| &block.cells).any(|cell| !cell.recorded.is_empty()) {
        tables.push((schema::RECORDED, recorded));
    }
    tables
}

fn exact(points: &Option<Points>) -> String {
    points.as_ref().map_or(String::new(), |Points(exact)| exact.to_string())
}

/// The parts as columns: `,value` for each.
fn joined(parts: &[Points]) -> String {
    parts.iter().map(|Points(part)| format!(",{part}")).collect()
}

impl Judgement {
    fn entry_name(&self, entry: usize) -> std::borrow::Cow<'_, str> {
        field(&self.entries[entry].entry)
    }

    fn category_name(&self, category: usize) -> std::borrow::Cow<'_, str> {
        field(&self.categories[category].category)
    }

    /// The fields of a block: `category,instance,property,expected`.
    fn task_fields(&self, block: &Block) -> String {
        let names = [&block.instance, &block.property, &block.expected].map(|text| field(text));
        format!("{},{}", self.category_name(block.category), names.join(","))
    }
}

fn scores(judgement: &Judgement, mut table: String) -> String {
    for score in &judgement.scores {
        let Score { right, wrong, unjudged, unconfirmed, .. } = score;
        let (tool, category) = (judgement.entry_name(score.entry), judgement.category_name(score.category));
        let parts =
            if score.parts.is_empty() { ",".repeat(judgement.parts.len()) } else { joined(&score.parts) };
        let [points, normalized, time] = [&score.points, &score.normalized, &score.success_cpu_s].map(exact);
        let _ = writeln!(
            table,
            "{tool},{category},{right},{wrong},{unjudged},{points},{normalized},{unconfirmed}{parts},{time},{}",
            field(&score.note)
        );
    }
    table
}

fn podiums(judgement: &Judgement, mut table: String) -> String {
    for podium in &judgement.podiums {
        for CategoryPlace { rank, entry, points, success_cpu_s, medal, note } in &podium.places {
            let rank = rank.map_or(String::new(), |rank| rank.to_string());
            let (category, tool) = (judgement.category_name(podium.category), judgement.entry_name(*entry));
            let (time, note) = (exact(success_cpu_s), field(note));
            let _ = writeln!(table, "{category},{rank},{tool},,{points},{medal},{time},{note}");
        }
    }
    table
}

fn tools(judgement: &Judgement, mut table: String) -> String {
    for Entry { entry, tool, status, note } in &judgement.entries {
        let variant = field(variant_of(entry, tool));
        let (entry, tool, note) = (field(entry), field(tool), field(note));
        let _ = writeln!(table, "{entry},{tool},{variant},{},,{note}", status.word());
    }
    table
}

fn verdicts(judgement: &Judgement, mut table: String) -> String {
    for block in &judgement.blocks {
        let task = judgement.task_fields(block);
        for Cell { entry, answer, verdict, why, points, parts, measured, .. } in &block.cells {
            let measured: Vec<String> = measured.iter().map(ToString::to_string).collect();
            let (tool, parts) = (judgement.entry_name(*entry), joined(parts));
            let measured = measured.join(" ");
            let [answer, measured, why] = [answer, &measured, why].map(|text| field(text));
            let _ = writeln!(table, "{task},{tool},{answer},{verdict},{points}{parts},{measured},{why}");
        }
    }
    table
}

/// The runs whose category in the result file contradicts the verdict.
fn recorded(judgement: &Judgement, mut table: String) -> String {
    for block in &judgement.blocks {
        let task = judgement.task_fields(block);
        for cell in block.cells.iter().filter(|cell| !cell.recorded.is_empty()) {
            let tool = judgement.entry_name(cell.entry);
            let [answer, recorded, why] = [&cell.answer, &cell.recorded, &cell.why].map(|text| field(text));
            let Cell { verdict, points, .. } = cell;
            let _ = writeln!(table, "{task},{tool},{answer},{recorded},{verdict},{points},{why}");
        }
    }
    table
}

fn quantiles(judgement: &Judgement, mut table: String) -> String {
    for QuantileFunction { entry, category, start, steps } in &judgement.quantiles {
        let (category, tool) = (judgement.category_name(*category), judgement.entry_name(*entry));
        let _ = writeln!(table, "{category},{tool},0,{start},");
        for (at, Step { x, cpu_s }) in steps.iter().enumerate() {
            let _ = writeln!(table, "{category},{tool},{},{x},{cpu_s}", at + 1);
        }
    }
    table
}
