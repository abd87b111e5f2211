//! Judging the Model Checking Contest: computes a judgement from results (rules E-2 to E-4).

mod awards;
mod best_virtual;
mod block_judge;
mod confidence;
mod flags;
mod judge;
mod no_confidence;
mod overrides;
mod podium;
mod points;
pub mod sensitivity;
mod teams;
mod trusted;
mod votes;
mod weights;

use crate::input::run_results::RunResults;
use crate::judgement::{Block, Judgement};
use block_judge::BlockJudge;
pub use judge::{Judge, JudgeError, JudgementTotals};
use mcc_base::ordered_map::{Feed, ordered_map};
use mcc_edition::Edition;
pub(crate) use points::{ValuePoints, Weights};
use std::num::NonZeroUsize;
use std::ops::Range;
pub(crate) use teams::SECOND;
pub(crate) use votes::counted_votes;

/// Judges results and returns the whole judgement in memory.
///
/// # Errors
/// As `Judge::new`.
pub fn judge(edition: &Edition, results: RunResults) -> Result<Judgement, JudgeError> {
    let judge = Judge::new(edition, results)?;
    let mut blocks = Vec::new();
    let totals = judge.judge_blocks(|block| {
        blocks.push(block);
        Ok::<(), std::convert::Infallible>(())
    });
    let Ok(JudgementTotals { scores, podiums, awards, best_virtual }) = totals;
    Ok(Judgement { blocks, scores, podiums, awards, best_virtual, ..judge.header })
}

impl Judge {
    /// Judges all blocks in order and calls `each` with each of them. Returns the sums over all blocks.
    ///
    /// # Errors
    /// The first error of `each`, which ends the judging.
    pub fn judge_blocks<E>(
        &self,
        mut each: impl FnMut(Block) -> Result<(), E>,
    ) -> Result<JudgementTotals, E> {
        let mut block_judge = BlockJudge::new(self);
        for block in &self.blocks {
            each(block_judge.judge(&self.results.rows[block.clone()]))?;
        }
        Ok(block_judge.totals())
    }

    /// Judges all blocks on `threads` threads. Each thread calls `make` with a batch of blocks, which are judged as the
    /// iterator advances. `take` is called with the results of `make`, in the order of the blocks.
    ///
    /// # Errors
    /// The first error of `take`, which ends the judging.
    pub fn judge_on<T: Send, E: Send>(
        &self,
        threads: NonZeroUsize,
        make: impl Fn(&mut dyn Iterator<Item = Block>) -> T + Sync,
        take: impl FnMut(T) -> Result<(), E> + Send,
    ) -> Result<JudgementTotals, E> {
        // Larger batches need more memory, smaller ones more synchronization.
        const BLOCKS_PER_BATCH: usize = 64;
        let judge = |block_judge: &mut BlockJudge<'_>, batch: &[Range<usize>]| {
            make(&mut batch.iter().map(|block| block_judge.judge(&self.results.rows[block.clone()])))
        };
        let feed = |feed: Feed<'_, _>| self.blocks.chunks(BLOCKS_PER_BATCH).try_for_each(feed);
        let (_, block_judges) = ordered_map(threads, || BlockJudge::new(self), feed, judge, take)?;
        let mut whole = BlockJudge::new(self);
        block_judges.into_iter().for_each(|block_judge| whole.merge(block_judge));
        Ok(whole.totals())
    }
}
