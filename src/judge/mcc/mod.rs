//! Judging the Model Checking Contest (rules E-2 to E-4): ballots in, a judgement out.

mod awards;
mod bench;
mod best_virtual;
mod confidence;
mod flags;
mod judge;
mod overrides;
mod podium;
mod points;
pub mod sensitivity;
mod trusted;
mod votes;
mod weights;

use crate::input::ballots::Ballots;
use crate::judgement::{Block, Judgement};
use bench::Bench;
pub use judge::{JudgeError, Jury, Opening, Verdict};
use mcc_base::in_order::{Feed, in_order};
use mcc_edition::Edition;
pub(crate) use points::ValuePoints;
use std::num::NonZeroUsize;
use std::ops::Range;
pub(crate) use votes::counted_votes;

/// The whole judgement in memory.
pub fn judge(edition: &Edition, ballots: Ballots) -> Result<Judgement, JudgeError> {
    let jury = Jury::new(edition, ballots)?;
    let mut blocks = Vec::new();
    let verdict = jury.judge_blocks(|block| {
        blocks.push(block);
        Ok::<(), std::convert::Infallible>(())
    });
    let Ok(Verdict { scores, podiums, awards, best_virtual }) = verdict;
    let Jury { opening, .. } = jury;
    let Opening {
        version,
        edition,
        inputs,
        notes,
        entries,
        instances,
        examinations,
        unresolved,
        excluded,
        common_values,
        confidence,
        flags,
    } = opening;
    Ok(Judgement {
        version,
        edition,
        inputs,
        notes,
        entries,
        instances,
        examinations,
        unresolved,
        excluded,
        common_values,
        confidence,
        blocks,
        scores,
        podiums,
        awards,
        best_virtual,
        flags,
    })
}

impl Jury {
    /// Judges every block in order, handing each out as it is done; an error of `each` ends the judging.
    pub fn judge_blocks<E>(&self, mut each: impl FnMut(Block) -> Result<(), E>) -> Result<Verdict, E> {
        let mut bench = Bench::new(self);
        for block in &self.blocks {
            each(bench.judge(&self.ballots.rows[block.clone()]))?;
        }
        Ok(bench.verdict())
    }

    /// As `judge_blocks`, on so many threads: any of them calls `make` with a stretch of blocks, each judged when it is
    /// asked for, and `take` gets what was made of them, in order.
    pub fn judge_on<T: Send, E: Send>(
        &self,
        threads: NonZeroUsize,
        make: impl Fn(&mut dyn Iterator<Item = Block>) -> T + Sync,
        take: impl FnMut(T) -> Result<(), E> + Send,
    ) -> Result<Verdict, E> {
        // Long enough to be worth the handing over, short enough for memory to hold several.
        const STRETCH: usize = 64;
        let judge = |bench: &mut Bench<'_>, stretch: &[Range<usize>]| {
            make(&mut stretch.iter().map(|block| bench.judge(&self.ballots.rows[block.clone()])))
        };
        let feed = |feed: Feed<'_, _>| self.blocks.chunks(STRETCH).try_for_each(feed);
        let (_, benches) = in_order(threads, || Bench::new(self), feed, judge, take)?;
        let mut whole = Bench::new(self);
        benches.into_iter().for_each(|bench| whole.absorb(bench));
        Ok(whole.verdict())
    }
}
