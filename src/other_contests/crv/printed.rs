//! Finds printed scores that differ from those computed from the printed measurements, and printed totals that differ from
//! the sums of their columns.

use super::{PARTS, Results};
use crate::{Block, Cell, Points, rounded};
use mcc_edition::crv::CrvEdition;
use mcc_judge::judgement::Entry;
use num_rational::BigRational;
use num_traits::Signed;
use std::collections::{BTreeMap, HashMap};

/// The most differing scores of a column that its note shows.
const SHOWN: usize = 100;

/// A printed score that differs from the computed one.
struct PrintedMismatch {
    benchmark: String,
    printed: BigRational,
    computed: BigRational,
}

/// The notes of the judgement on differences, one for each column of a tool.
pub(super) fn contradictions(
    edition: &CrvEdition,
    results: &Results,
    entries: &[Entry],
    blocks: &[Block],
) -> Vec<String> {
    let tolerance = &edition.tolerance;
    let zero = BigRational::from_integer(0.into());
    let allowed = [&zero, &tolerance.overhead, &tolerance.memory];
    // By track, tool and part: the sum of the column, and the cells that differ.
    let mut columns: BTreeMap<(usize, &str, usize), (BigRational, Vec<PrintedMismatch>)> = BTreeMap::new();
    let mut cells: HashMap<(usize, &str, &str), &Cell> = HashMap::new();
    for block in blocks {
        for cell in &block.cells {
            cells.insert((block.category, &block.instance, &entries[cell.entry].entry), cell);
        }
    }
    for experiment in &results.experiments {
        let Some(printed) = &experiment.printed else { continue };
        let key = (experiment.track, experiment.benchmark.as_str(), experiment.tool.as_str());
        let Some(cell) = cells.get(&key) else { continue };
        for (part, (printed, Points(computed))) in printed.iter().zip(&cell.parts).enumerate() {
            let (sum, mismatches) =
                columns.entry((experiment.track, experiment.tool.as_str(), part)).or_default();
            *sum += printed;
            if (printed - computed).abs() > *allowed[part] {
                let (printed, computed) = (printed.clone(), computed.clone());
                mismatches.push(PrintedMismatch {
                    benchmark: experiment.benchmark.clone(),
                    printed,
                    computed,
                });
            }
        }
    }
    let totals: HashMap<(usize, &str), _> =
        results.totals.iter().map(|total| ((total.track, total.tool.as_str()), total)).collect();
    let mut notes = Vec::new();
    for ((track, tool, part), (sum, mismatches)) in columns {
        let column = format!("track {}, {tool}, {}", edition.tracks[track].name, PARTS[part]);
        let cells: Vec<String> = mismatches
            .iter()
            .take(SHOWN)
            .map(|PrintedMismatch { benchmark, printed, computed }| {
                let (printed, computed) = (rounded(printed, 3), rounded(computed, 3));
                format!("the score of benchmark {benchmark} is printed as {printed}, but its measurements give {computed}")
            })
            .collect();
        let total = totals.get(&(track, tool));
        let total =
            total.map(|total| &total.parts[part]).filter(|total| (*total - &sum).abs() > tolerance.total);
        let mut cells = cells.join("; ");
        if mismatches.len() > SHOWN {
            cells += &format!("; and {} more", mismatches.len() - SHOWN);
        }
        notes.extend(match (total, mismatches.is_empty()) {
            (None, true) => None,
            (None, false) => Some(format!("{column}: {cells}")),
            (Some(total), empty) => {
                let mut note = format!(
                    "{column}: the sum of the printed column is {}, but the printed total is {}",
                    rounded(&sum, 3),
                    rounded(total, 3)
                );
                if !empty {
                    note += &format!("; {cells}");
                    let mismatch: BigRational =
                        mismatches.iter().map(|mismatch| &mismatch.printed - &mismatch.computed).sum();
                    if (total - (sum - mismatch)).abs() <= tolerance.total {
                        note += match mismatches.len() {
                            1 => "; with the computed score in its place",
                            _ => "; with the computed scores in their places",
                        };
                        note += " the printed column adds up to the printed total";
                    }
                }
                Some(note)
            }
        });
    }
    notes
}
