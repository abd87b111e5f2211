//! Checks a judgement that was read, because anyone can write its file.

use super::judgement::{Block, Cost, Judgement, JudgementError, MAX_ENTRIES, Podium, Score};
use crate::mcc::sensitivity::examinations_of_podiums;
use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use std::collections::BTreeSet;

/// Largest product of the numbers of entries, examinations and classes of instances (family, status and weight): the runs of
/// each are counted.
const MAX_COUNTED: usize = 10_000_000;
/// Largest product of the numbers of entries and blocks: pages have a cell for each.
const MAX_CELLS: usize = 50_000_000;
/// Largest sum over podiums of the blocks that are compared for each pair of an entry with a rank up to 3 and another entry.
const MAX_COMPARED: usize = 2_000_000_000;
/// Most bits of a common denominator of weights or points. Sums of fractions with a longer one take hours.
const MAX_DENOMINATOR_BITS: u64 = 20_000;

impl Judgement {
    /// Checks that every number refers to an entry, an instance or an examination, and that the lists of a block
    /// have the same length. Necessary because anyone can edit the file.
    ///
    /// # Errors
    /// The first inconsistency found.
    pub fn check(&self) -> Result<(), JudgementError> {
        let broken = |what: String| Err(JudgementError::Broken(what));
        let (entries, instances) = (self.entries.len(), self.instances.len());
        let examinations = self.examinations.len();
        if let Err(reason) = self.edition.check_recorded() {
            return broken(reason);
        }
        if self.edition.examinations.iter().map(|examination| &examination.name).ne(&self.examinations) {
            return broken("its edition has other examinations".to_owned());
        }
        if entries > MAX_ENTRIES {
            return broken(format!("it has {entries} entries, and at most {MAX_ENTRIES} are judged"));
        }
        for block in &self.blocks {
            if block.examination >= examinations || block.instance >= instances {
                return broken(format!(
                    "a block has examination {} of {examinations} and instance {} of {instances} (numbers from 0)",
                    block.examination, block.instance
                ));
            }
            let count = block.trusted.len();
            if count == 0 {
                return broken("a block has no position".to_owned());
            }
            for cell in &block.cells {
                if cell.entry >= entries {
                    return broken(format!("a cell has entry {} of {entries} (numbers from 0)", cell.entry));
                }
                if let Some(Err(bad)) = cell.cost.as_ref().map(Cost::check) {
                    return broken(format!("the cost of a run of {}: {bad}", self.entries[cell.entry].entry));
                }
                if let Err(bad) = cell.check_arrivals(count) {
                    return broken(format!("a run of {}: {bad}", self.entries[cell.entry].entry));
                }
                if cell.values.len() != count || cell.verdicts.len() != count {
                    let entry = &self.entries[cell.entry].entry;
                    let given = cell.values.len();
                    return broken(format!(
                        "a block has {count} positions, {entry} has {given} values and the verdicts `{}`",
                        cell.verdicts
                    ));
                }
            }
            if !block.cells.is_sorted_by(|a, b| a.entry < b.entry) {
                return broken(
                    "the cells of a block are not one per entry, in the order of the entries".to_owned(),
                );
            }
        }
        let order = |block: &Block| (block.examination, block.instance);
        if !self.blocks.is_sorted_by(|a, b| order(a) < order(b)) {
            return broken("its blocks are not one per examination and instance, in their order".to_owned());
        }
        let entries_named: BTreeSet<_> = self.entries.iter().map(|entry| &entry.entry).collect();
        let instances_named: BTreeSet<_> = self.instances.iter().map(|instance| &instance.instance).collect();
        let examinations_named: BTreeSet<_> = self.examinations.iter().collect();
        if (entries_named.len(), instances_named.len(), examinations_named.len())
            != (entries, instances, examinations)
        {
            return broken("two entries, instances or examinations have the same name".to_owned());
        }
        let sum = |s: &Score| s.right.checked_add(s.wrong)?.checked_add(s.unjudged);
        let in_lists = |s: &Score| s.entry < entries && s.examination < examinations;
        let scores = self.scores.iter().all(|s| in_lists(s) && sum(s).is_some());
        let all_podiums = self.podiums.iter().chain(&self.evidence_podiums);
        let podiums = all_podiums.flat_map(|p| &p.places).all(|p| p.entry < entries);
        let awards = self.awards.iter().flat_map(|a| &a.places).all(|p| p.entry < entries);
        let virtuals = self.best_virtual.iter().all(|s| s.examination < examinations);
        let flags = self.flags.iter().all(|f| {
            f.entry < entries && f.examination < examinations && f.instance.is_none_or(|i| i < instances)
        });
        if !(scores && podiums && awards && virtuals && flags) {
            return broken(
                "a score, podium, award, virtual score or flag has the number of no entry, instance or examination, \
                 or counts that are too large"
                    .to_owned(),
            );
        }
        self.check_once_each()?;
        self.check_sizes()?;
        if self.confidence.iter().map(|c| c.entry).eq(0..entries) {
            Ok(())
        } else {
            broken("the confidences are not one per entry, in the order of the entries".to_owned())
        }
    }

    /// Checks that podiums, scores and virtual scores have each entry, category and examination once.
    fn check_once_each(&self) -> Result<(), JudgementError> {
        let categories: BTreeSet<&str> =
            self.edition.podiums.iter().map(|rule| rule.category.as_str()).collect();
        let have_all_once = |podiums: &[Podium]| {
            let mut open = categories.clone();
            let is_once = |podium: &Podium| {
                let entries: BTreeSet<usize> = podium.places.iter().map(|place| place.entry).collect();
                entries.len() == podium.places.len()
            };
            podiums.iter().all(|podium| open.remove(podium.category.as_str()) && is_once(podium))
        };
        let scores: BTreeSet<_> = self.scores.iter().map(|score| (score.entry, score.examination)).collect();
        let virtuals: BTreeSet<_> = self.best_virtual.iter().map(|score| score.examination).collect();
        let is_once = scores.len() == self.scores.len() && virtuals.len() == self.best_virtual.len();
        if is_once && have_all_once(&self.podiums) && have_all_once(&self.evidence_podiums) {
            return Ok(());
        }
        Err(JudgementError::Broken(
            "a podium is none of its edition, or a podium, a score, or an entry on a podium is there twice"
                .to_owned(),
        ))
    }

    /// Checks that what is counted and summed later fits into memory and time.
    fn check_sizes(&self) -> Result<(), JudgementError> {
        let entries = self.entries.len();
        let classes: BTreeSet<_> = self
            .instances
            .iter()
            .map(|instance| (&instance.family, &instance.status, &instance.weight))
            .collect();
        let counted = entries * self.examinations.len() * classes.len();
        if counted > MAX_COUNTED || entries * self.blocks.len() > MAX_CELLS {
            return Err(JudgementError::Broken(format!(
                "it has {entries} entries, {} examinations, {} families and {} blocks: too many together",
                self.examinations.len(),
                classes.len(),
                self.blocks.len()
            )));
        }
        let mut blocks = vec![0_usize; self.examinations.len()];
        self.blocks.iter().for_each(|block| blocks[block.examination] += 1);
        let compared = self.podiums.iter().zip(examinations_of_podiums(&self.edition));
        let compared = compared.map(|(podium, examinations)| {
            let blocks: usize = examinations.iter().map(|examination| blocks[*examination]).sum();
            (podium.holders().count() * podium.places.len()).saturating_mul(blocks.max(1))
        });
        if compared.fold(0, usize::saturating_add) > MAX_COMPARED {
            return Err(JudgementError::Broken(
                "too many of its entries share the first three ranks".to_owned(),
            ));
        }
        let weights = self.instances.iter().map(|instance| &instance.weight);
        let scores = self.scores.iter().flat_map(|score| [&score.points, &score.normalized]);
        let virtuals = self.best_virtual.iter().flat_map(|score| [&score.points, &score.normalized]);
        let podiums = self.podiums.iter().chain(&self.evidence_podiums);
        let places = podiums.flat_map(|podium| &podium.places).map(|place| &place.points);
        let has_short_sums = has_short_denominator(weights, MAX_DENOMINATOR_BITS)
            && has_short_denominator(scores.chain(virtuals).chain(places), MAX_DENOMINATOR_BITS)
            // The sums of confidences are of few.
            && self.confidence.iter().all(|confidence| confidence.confidence.denom().bits() <= 128);
        if has_short_sums {
            return Ok(());
        }
        Err(JudgementError::Broken(
            "its weights, points or confidences have too many digits together".to_owned(),
        ))
    }
}

/// Whether the common denominator of numbers has at most this number of bits, so that they can be summed.
pub fn has_short_denominator<'n>(mut numbers: impl Iterator<Item = &'n BigRational>, most_bits: u64) -> bool {
    let mut common = BigInt::from(1);
    numbers.all(|number| {
        if number.denom().bits() > most_bits {
            return false;
        }
        // Few numbers have a new factor, and the common multiple takes far longer than the test.
        if !common.is_multiple_of(number.denom()) {
            common = common.lcm(number.denom());
        }
        common.bits() <= most_bits
    })
}
