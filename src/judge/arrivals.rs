//! When the values of a run arrived on the host.

use crate::judgement::{Block, Cell, Judgement};
use crate::output::atomic_file::field;
use mcc_base::figures;
use std::fmt::Write as _;

impl Cell {
    /// Returns after how many ms half of the values that the entry gave (rounded up) had arrived, and after how many all of
    /// them. None: it gave none, or their times are not known.
    pub fn half_and_all_ms(&self) -> [Option<u64>; 2] {
        let given = self.values.iter().filter(|value| value.is_some()).count();
        let mut known: Vec<u64> = self.arrived_ms.iter().copied().flatten().collect();
        known.sort_unstable();
        // The values without a time arrived after those with one: the times of the first lines are kept.
        [given.div_ceil(2), given].map(|count| known.get(count.checked_sub(1)?).copied())
    }

    /// Checks the times of arrival in a block with this number of positions.
    ///
    /// # Errors
    /// What is wrong.
    pub(crate) fn check_arrivals(&self, positions: usize) -> Result<(), String> {
        if ![0, positions].contains(&self.arrived_ms.len()) {
            return Err(format!("{} times of arrival for {positions} positions", self.arrived_ms.len()));
        }
        let times = self.arrived_ms.iter().map(|ms| ("arrived_ms", *ms));
        figures::check_ms(times).map_err(|bad| bad.to_string())
    }
}

/// Adds a row to `arrivals.csv` for each run of a block whose times of arrival are known.
pub(crate) fn rows(header: &Judgement, block: &Block, rows: &mut String) {
    let instance = field(&header.instances[block.instance].instance);
    let examination = field(&header.examinations[block.examination]);
    let text = |ms: &Option<u64>| ms.map_or_else(|| "-".to_owned(), |ms| ms.to_string());
    for cell in block.cells.iter().filter(|cell| !cell.arrived_ms.is_empty()) {
        let name = field(&header.entries[cell.entry].entry);
        let [half, all] = cell.half_and_all_ms().map(|ms| ms.map_or(String::new(), |ms| ms.to_string()));
        let times = cell.arrived_ms.iter().map(text).collect::<Vec<_>>().join(" ");
        let _ = writeln!(rows, "{name},{instance},{examination},{half},{all},{times}");
    }
}
