//! The best virtual tool: it has every right value of a competing entry and no wrong one. It is computed from the
//! answers, so that the input needs no rows of it.

use super::points::{Counts, ExaminationTally, Weights};
use crate::judgement::VirtualScore;
use mcc_edition::Edition;

/// The values of the best virtual tool, counted over blocks.
#[derive(Debug)]
pub(super) struct BestVirtual {
    /// By examination: its tally, and the number of positions.
    tallies: Vec<(ExaminationTally, u64)>,
}

impl BestVirtual {
    pub fn new(examinations: usize) -> Self {
        Self { tallies: vec![(ExaminationTally::default(), 0); examinations] }
    }

    /// Adds a block with `values` positions; a competing entry gave the right value of `right` of them. `class` is the
    /// weight class of the instance.
    pub fn add(&mut self, examination: usize, class: u32, right: u64, values: u64) {
        let (tally, all) = &mut self.tallies[examination];
        tally.add(class, Counts { right, ..Counts::default() }, 0);
        *all += values;
    }

    /// Adds the counts of other blocks.
    pub fn merge(&mut self, other: &BestVirtual) {
        for ((tally, values), (others, more)) in self.tallies.iter_mut().zip(&other.tallies) {
            tally.merge(others);
            *values += more;
        }
    }

    /// Returns the score in every examination that has a position.
    pub fn scores(&self, edition: &Edition, weights: &Weights) -> Vec<VirtualScore> {
        let held = self.tallies.iter().enumerate().filter(|(_, (_, values))| *values > 0);
        held.map(|(examination, (tally, values))| {
            let (points, normalized) = tally.points(edition, examination, weights);
            VirtualScore { examination, right: tally.counts().right, values: *values, points, normalized }
        })
        .collect()
    }
}
