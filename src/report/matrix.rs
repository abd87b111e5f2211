//! Data of the tables whose cells are runs: tools by instances for an examination, examinations by instances for an
//! entry.

use super::contest::{self, CellCounts, Contest};
use super::{show, tables};
use mcc_judge::judgement::{Block, Cell, JudgementError};
use mcc_store::InstructionSource;
use serde::Serialize;

/// A table of runs.
#[derive(Serialize)]
pub struct Matrix {
    /// `entries` or `examinations`: the kind of the columns.
    across: &'static str,
    /// The number of the examination or entry to which all cells belong.
    #[serde(rename = "of")]
    owner: usize,
    /// The numbers of the entries or examinations.
    columns: Vec<usize>,
    /// Whether the time of any run is known.
    costs: bool,
    rows: Vec<MatrixRow>,
}

/// The number of the instance, and for each column a cell and the points of the run; None if there is no run.
#[derive(Serialize)]
pub struct MatrixRow(usize, Vec<Option<Vec<u64>>>, Vec<Option<String>>);

/// A cell as numbers: right, wrong, unjudged and not computed values; number of the ending; number of the set of marks;
/// and, if measured, CPU time and wall-clock time in ms and memory in KiB.
fn numbers(contest: &Contest, block: &Block, cell: &Cell) -> Vec<u64> {
    let CellCounts { right, wrong, unjudged, all } = CellCounts::count(block, cell);
    let ending = contest::ending_number(cell.ending);
    let mut numbers = Vec::with_capacity(9);
    numbers.extend([right, wrong, unjudged, all - right - wrong - unjudged, ending].map(|n| n as u64));
    numbers.push(contest.marks[&cell.marks] as u64);
    if let Some(cost) = cell.cost {
        numbers.extend([cost.cpu_ms, cost.wall_ms]);
        numbers.extend(cost.memory_kib);
    }
    numbers
}

impl Matrix {
    /// The runs of an examination.
    pub fn of_examination(contest: &Contest, examination: usize) -> Self {
        let mut rows = Vec::new();
        let mut by_entry: Vec<Option<&Cell>> = vec![None; contest.judgement.entries.len()];
        for (number, &instance) in contest.instances.iter().enumerate() {
            let Some(block) = contest.block(examination, instance) else { continue };
            by_entry.fill(None);
            block.cells.iter().for_each(|cell| by_entry[cell.entry] = Some(cell));
            let cell = |&entry: &usize| by_entry[entry].map(|cell| numbers(contest, block, cell));
            let points = |&entry: &usize| by_entry[entry].map(|cell| cell.points.to_string());
            let (cells, points) = (contest.entries.iter().map(cell), contest.entries.iter().map(points));
            rows.push(MatrixRow(number, cells.collect(), points.collect()));
        }
        let columns = (0..contest.entries.len()).collect();
        Self::new("entries", examination, columns, rows)
    }

    /// The runs of an entry.
    ///
    /// # Errors
    /// The entry is not shown.
    pub fn of_entry(contest: &Contest, entry: usize) -> Result<Self, JudgementError> {
        let owner = contest.shown_entry(entry)?;
        let mut rows = Vec::new();
        for (number, &instance) in contest.instances.iter().enumerate() {
            let cell = |&examination: &usize| {
                let block = contest.block(examination, instance)?;
                let cell = block.cell(entry)?;
                Some((numbers(contest, block, cell), cell.points.to_string()))
            };
            let (cells, points): (Vec<_>, Vec<_>) =
                contest.examinations.iter().map(cell).map(Option::unzip).unzip();
            if cells.iter().any(Option::is_some) {
                rows.push(MatrixRow(number, cells, points));
            }
        }
        Ok(Self::new("examinations", owner, contest.examinations.clone(), rows))
    }

    fn new(across: &'static str, owner: usize, columns: Vec<usize>, rows: Vec<MatrixRow>) -> Self {
        let costs = rows.iter().flat_map(|row| row.1.iter().flatten()).any(|cell| cell.len() > 6);
        Self { across, owner, columns, costs, rows }
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }
}

/// The runs of an examination as CSV, one in a row. Columns: instance,family,status,tool,right,wrong,unjudged,values,
/// ending,points,cpu_ms,wall_ms,memory_kib,marks; where instructions of a run were counted also
/// instructions_user,instructions_kernel,instructions_source.
pub fn csv(contest: &Contest, examination: usize) -> Vec<u8> {
    let head = ["instance", "family", "status", "tool", "right", "wrong", "unjudged", "values", "ending"];
    let head = head.into_iter().chain(["points", "cpu_ms", "wall_ms", "memory_kib", "marks"]);
    let blocks = || contest.instances.iter().filter_map(|&instance| contest.block(examination, instance));
    let is_counted = |cell: &Cell| cell.cost.is_some_and(|cost| cost.instructions_user.is_some());
    let counted = blocks().any(|block| block.cells.iter().any(is_counted));
    let more = ["instructions_user", "instructions_kernel", "instructions_source"];
    let head = head.chain(more.into_iter().filter(|_| counted));
    let row = |(block, cell): (&Block, &Cell)| {
        let instance = &contest.judgement.instances[block.instance];
        let CellCounts { right, wrong, unjudged, all } = CellCounts::count(block, cell);
        let names =
            [&instance.instance, &instance.family, &instance.status, &contest.entry(cell.entry).entry];
        let counts = [right, wrong, unjudged, all].map(|count| count.to_string());
        let memory = cell.cost.and_then(|cost| cost.memory_kib);
        let costs = [cell.cost.map(|cost| cost.cpu_ms), cell.cost.map(|cost| cost.wall_ms), memory];
        let row = names.map(|name| show::visible(name)).into_iter().chain(counts);
        let row = row.chain([cell.ending.to_string(), cell.points.to_string()]);
        let row = row.chain(costs.map(|value| value.map_or(String::new(), |value| value.to_string())));
        let row = row.chain([show::visible(&cell.marks.join(" "))]);
        let cost = cell.cost.unwrap_or_default();
        let counts = [cost.instructions_user, cost.instructions_kernel];
        let counts = counts.map(|count| count.map_or(String::new(), |count| count.to_string()));
        let source = cost.instructions_source.map_or("", InstructionSource::word).to_owned();
        row.chain(counts.into_iter().chain([source]).filter(|_| counted)).collect::<Vec<_>>()
    };
    let cells = blocks().flat_map(|block| block.cells.iter().map(move |cell| (block, cell)));
    let shown = cells.filter(|(_, cell)| contest.entry_number(cell.entry).is_some());
    tables::csv(std::iter::once(head.map(str::to_owned).collect()).chain(shown.map(row)))
}
