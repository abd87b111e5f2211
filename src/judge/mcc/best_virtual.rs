//! The best virtual tool: every right value that some competing entry gave, and no wrong one. It is computed from
//! the answers, so an edition needs no rows of it.

use super::points::{Counts, ExaminationTally, Weights};
use crate::judgement::VirtualScore;
use mcc_edition::Edition;

/// Its values so far.
#[derive(Debug)]
pub(super) struct BestVirtual {
    /// By examination: what it has, and how many values there are.
    tallies: Vec<(ExaminationTally, u64)>,
}

impl BestVirtual {
    pub fn new(examinations: usize) -> Self {
        Self { tallies: vec![(ExaminationTally::default(), 0); examinations] }
    }

    /// Counts a block: `right` of its `values` were given by somebody competing; `class` is its weight's.
    pub fn add(&mut self, examination: usize, class: u32, right: u64, values: u64) {
        let (tally, all) = &mut self.tallies[examination];
        tally.add(class, Counts { right, ..Counts::default() }, 0);
        *all += values;
    }

    /// Adds what was counted over other blocks.
    pub fn merge(&mut self, other: &BestVirtual) {
        for ((tally, values), (others, more)) in self.tallies.iter_mut().zip(&other.tallies) {
            tally.merge(others);
            *values += more;
        }
    }

    pub fn scores(&self, edition: &Edition, weights: &Weights) -> Vec<VirtualScore> {
        let held = self.tallies.iter().enumerate().filter(|(_, (_, values))| *values > 0);
        held.map(|(examination, (tally, values))| {
            let (points, normalized) = tally.points(edition, examination, weights);
            VirtualScore { examination, right: tally.counts().right, values: *values, points, normalized }
        })
        .collect()
    }
}
