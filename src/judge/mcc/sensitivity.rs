//! Sensitivity of podiums: how they change without one tool, and how many trusted values decide a place.

use super::judge::{Judge, JudgeError, JudgementTotals, MAX_PAIRS};
use super::podium;
use super::points::ValuePoints;
use crate::judgement::{Block, Cell, Entry, Podium, PodiumPlace, Status, ValueVerdict};
use crate::show::{columns, decimals, shown_difference, wrapped};
use mcc_base::ordered_map::{Feed, all_cores, ordered_map};
use mcc_campaign::benchkit::Value;
use mcc_edition::{Edition, PodiumRule};
use num_rational::BigRational;
use num_traits::Zero;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// The sensitivity of all podiums of a judgement.
#[derive(Debug, Serialize)]
pub struct Sensitivity {
    /// A margin of fewer values than this is marked (`Margin::few_values`).
    pub few: u64,
    /// Ranks without a tool, by category, then the tool left out, then the order of the podium without it.
    pub left_out: Vec<LeftOut>,
    /// Margins of the places up to rank 3, by category, in the order of the podium.
    pub margins: Vec<Margin>,
}

/// The ranks of a tool with and without another one. It has a rank up to 3 once the other one is left out.
#[derive(Debug, Serialize)]
pub struct LeftOut {
    /// Name of the category.
    pub category: String,
    /// Name of the tool that is left out, with all its variants.
    pub left_out: String,
    /// Name of the ranked tool.
    pub tool: String,
    /// Its rank with all tools.
    pub rank: u32,
    /// Its rank with `left_out` removed from the podium and nothing judged again.
    pub rank_removed: u32,
    /// Its rank with the contest judged again without `left_out`.
    pub rank_rejudged: u32,
    /// Its points with all tools.
    #[serde(with = "mcc_edition::fraction")]
    pub points: BigRational,
    /// Its points with the contest judged again without `left_out`.
    #[serde(with = "mcc_edition::fraction")]
    pub points_rejudged: BigRational,
}

impl LeftOut {
    /// Returns whether the rank without `left_out` depends on judging again.
    pub fn changes(&self) -> bool {
        self.rank_removed != self.rank_rejudged
    }
}

/// The margin by which an entry holds a rank up to 3.
#[derive(Debug, Serialize)]
pub struct Margin {
    /// Name of the category.
    pub category: String,
    /// The rank that could be lost, 1 to 3.
    pub rank: u32,
    /// Name of the entry that has the rank.
    pub entry: String,
    /// Name of the entry that would pass it with the fewest changed trusted values; empty where none could.
    pub rival: String,
    /// Points of the entry minus those of the rival.
    #[serde(with = "mcc_edition::fraction")]
    pub points_ahead: BigRational,
    /// The same with two decimals, as the site shows it: the difference of the rounded points.
    #[serde(skip)]
    pub shown_ahead: String,
    /// The least number of changed trusted values with which the rival passes; None where no number is enough.
    pub values: Option<u64>,
    /// Whether `values` is less than `Sensitivity::few`.
    pub few_values: bool,
}

/// What the margins are.
pub const MARGINS: &str = "For each place: the fewest trusted values that must change for a rival to take it. The rival is \
                           the competing entry, of another tool that is not ranked before, for which this number is least.";

impl fmt::Display for Sensitivity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let about = "Ranks that differ if a tool is left out and everything is judged again, instead of only taking it \
                     off the podium:";
        writeln!(out, "{}", wrapped(about, 80, 0))?;
        for row in self.left_out.iter().filter(|row| row.changes()) {
            let LeftOut { category, left_out, tool, rank_removed, rank_rejudged, .. } = row;
            writeln!(
                out,
                "  {category} without {left_out}: {tool} has rank {rank_rejudged} (rank {rank_removed} if {left_out} is only taken off the podium)"
            )?;
        }
        if !self.left_out.iter().any(LeftOut::changes) {
            writeln!(out, "  none")?;
        }
        let about = format!("{MARGINS} Numbers below {} are marked (--sensitivity=N).", self.few);
        writeln!(out, "{}", wrapped(&about, 80, 0))?;
        let row = |margin: &Margin| {
            let Margin { category, rank, entry, rival, shown_ahead, values, few_values, .. } = margin;
            let values = values.map_or("no number".to_owned(), |values| values.to_string());
            let few_values = if *few_values { format!("fewer than {}", self.few) } else { String::new() };
            let ahead = if rival.is_empty() {
                String::new()
            } else {
                format!("{shown_ahead} points ahead of {rival}")
            };
            vec![format!("  {category}"), rank.to_string(), entry.clone(), values, ahead, few_values]
        };
        let heading = ["  podium", "rank", "entry", "values", "distance", ""].map(str::to_owned).to_vec();
        let rows: Vec<_> = std::iter::once(heading).chain(self.margins.iter().map(row)).collect();
        out.write_str(&columns(&rows, &[3]))
    }
}

/// Judges again without each competing tool in turn, as if it had resigned (P-4), and computes the margins of ranks up to 3.
///
/// A margin is between the holder of a rank and a rival. Each changed trusted value is assumed to be the one that is
/// best for the rival: where the two gave different values, the holder is wrong and the rival right. Weights and
/// bonuses do not change.
///
/// # Errors
/// As `Judge::new`; or too many entries share ranks.
pub fn sensitivity(judge: &Judge, totals: &JudgementTotals, few: u64) -> Result<Sensitivity, JudgeError> {
    let count = totals.podiums.iter().map(|podium| podium.holders().count() * podium.places.len()).sum();
    if count > MAX_PAIRS {
        return Err(JudgeError::TooManyPairs { count });
    }
    let entries = &judge.header.entries;
    let mut tools: Vec<&str> =
        entries.iter().filter(|entry| entry.status == Status::Competing).map(|e| e.tool.as_str()).collect();
    tools.sort_unstable();
    tools.dedup();
    let mut left_out = Vec::new();
    for (tool, (tools_rejudged, podiums)) in tools.iter().zip(podiums_without_each(judge, &tools)?) {
        for ((rule, before), then) in judge.header.edition.podiums.iter().zip(&totals.podiums).zip(&podiums) {
            let points = before.places.iter().filter(|place| entries[place.entry].tool != *tool);
            let points = points.map(|place| (place.entry, place.points.clone())).collect();
            let margin = &judge.header.edition.judging.tie_margin;
            let removed = podium::podium(rule, entries, points, margin, true);
            let ranked = ranked(before, |entry| &entries[entry].tool);
            let ranked_removed = self::ranked(&removed, |entry| &entries[entry].tool);
            for (name, place) in self::ranked(then, |entry| &tools_rejudged[entry]) {
                let (Some(with_all), Some(removed)) = (ranked.get(name), ranked_removed.get(name)) else {
                    continue;
                };
                let [rank, rank_removed, rank_rejudged] =
                    [with_all, removed, &place].map(|place| place.rank.unwrap_or_default());
                if rank_removed.min(rank_rejudged) <= 3 {
                    left_out.push(LeftOut {
                        category: rule.category.clone(),
                        left_out: (*tool).to_owned(),
                        tool: name.to_owned(),
                        rank,
                        rank_removed,
                        rank_rejudged,
                        points: with_all.points.clone(),
                        points_rejudged: place.points.clone(),
                    });
                }
            }
        }
    }
    let order = |l: &LeftOut| judge.header.edition.podiums.iter().position(|p| p.category == l.category);
    left_out.sort_by_cached_key(|l| (order(l), l.left_out.clone(), l.rank_rejudged, l.tool.clone()));
    Ok(Sensitivity { few, left_out, margins: margins(judge, totals, few) })
}

/// Returns the ranked places of a podium by tool.
fn ranked<'p>(podium: &'p Podium, tool: impl Fn(usize) -> &'p str) -> BTreeMap<&'p str, &'p PodiumPlace> {
    let places = podium.places.iter().filter(|place| place.rank.is_some());
    places.map(|place| (tool(place.entry), place)).collect()
}

/// The tools of one judgement, by entry number, and its podiums.
type Podiums = (Vec<String>, Vec<Podium>);

/// Judges the contest without each tool, on all cores. The result does not depend on their number.
fn podiums_without_each(judge: &Judge, tools: &[&str]) -> Result<Vec<Podiums>, JudgeError> {
    let podiums_without = |_: &mut (), tool: &str| {
        let judge = judge.without(tool)?;
        let judged = judge.judge_blocks(|_| Ok::<(), std::convert::Infallible>(()));
        let Ok(totals) = judged;
        let tools = judge.header.entries.into_iter().map(|entry| entry.tool).collect();
        Ok((tools, totals.podiums))
    };
    let mut podiums = Vec::new();
    let feed = |feed: Feed<'_, _>| tools.iter().copied().try_for_each(feed);
    let take = |judged: Result<Podiums, JudgeError>| judged.map(|judged| podiums.push(judged));
    ordered_map(all_cores(), || (), feed, podiums_without, take).map(|_| podiums)
}

/// An entry with a rank up to 3 and an entry of another tool behind it, with what the rival gains by changed values.
pub(crate) struct HolderAndRival<'v> {
    /// Number of the podium.
    pub podium: usize,
    pub holder: &'v PodiumPlace,
    pub rival: &'v PodiumPlace,
    /// Number of values by (examination, weight class, right, penalty): the rival gains on the holder `right` shares of
    /// the points and `penalty` penalties.
    gains: BTreeMap<(usize, u32, i8, i8), u64>,
}

/// Returns for every entry with a rank up to 3 the pairs with its rivals. They are made when they are asked for: with many
/// ties the pairs of all need too much memory.
pub(crate) fn holders_and_rivals<'v>(
    podiums: &'v [Podium],
    entries: &'v [Entry],
) -> impl Iterator<Item = Vec<HolderAndRival<'v>>> {
    podiums.iter().enumerate().flat_map(move |(number, podium)| {
        let rank_of_tool = ranked(podium, |entry| &entries[entry].tool);
        podium.holders().map(move |holder| {
            let rivals = podium.places.iter().filter(|place| {
                let tool = entries[place.entry].tool.as_str();
                entries[place.entry].status == Status::Competing
                    && tool != entries[holder.entry].tool
                    && rank_of_tool.get(tool).is_some_and(|best| best.rank >= holder.rank)
            });
            let pair = |rival| HolderAndRival { podium: number, holder, rival, gains: BTreeMap::new() };
            rivals.map(pair).collect()
        })
    })
}

/// Returns of each holder the pair with its nearest rival, and the least number of changed values with which the rival
/// passes; None means that no number is enough.
pub(crate) fn nearest_rivals<'v>(
    pairs: Vec<HolderAndRival<'v>>,
    edition: &Edition,
    weights: &[BigRational],
) -> Vec<(HolderAndRival<'v>, Option<u64>)> {
    let mut nearest: Vec<(HolderAndRival<'v>, Option<u64>)> = Vec::new();
    for pair in pairs {
        let values = pair.values_needed(edition, weights);
        match nearest.last_mut() {
            Some((last, least)) if last.podium == pair.podium && last.holder.entry == pair.holder.entry => {
                if values.is_some_and(|values| least.is_none_or(|least| values < least)) {
                    (*last, *least) = (pair, values);
                }
            }
            _ => nearest.push((pair, values)),
        }
    }
    nearest
}

/// Returns the examinations of each podium.
pub(crate) fn examinations_of_podiums(edition: &Edition) -> Vec<Vec<usize>> {
    let numbers = |rule: &PodiumRule| {
        rule.examinations.iter().filter_map(|name| edition.examination(name)).map(|found| found.0).collect()
    };
    edition.podiums.iter().map(numbers).collect()
}

/// Returns the margin of every rank up to 3 to its nearest rival.
fn margins(judge: &Judge, totals: &JudgementTotals, few: u64) -> Vec<Margin> {
    let entries = &judge.header.entries;
    let edition = &judge.header.edition;
    let mut pairs: Vec<_> = holders_and_rivals(&totals.podiums, entries).flatten().collect();
    let within = examinations_of_podiums(edition);
    let counted = judge.judge_blocks(|block| {
        let class = judge.weight_class[block.instance];
        for pair in pairs.iter_mut().filter(|pair| within[pair.podium].contains(&block.examination)) {
            pair.count_gains(&block, class);
        }
        Ok::<(), std::convert::Infallible>(())
    });
    let Ok(_) = counted;
    let margin = |(pair, values): (HolderAndRival<'_>, Option<u64>)| Margin {
        category: totals.podiums[pair.podium].category.clone(),
        rank: pair.holder.rank.unwrap_or_default(),
        entry: entries[pair.holder.entry].entry.clone(),
        rival: values.map(|_| entries[pair.rival.entry].entry.clone()).unwrap_or_default(),
        points_ahead: pair.points_ahead(),
        shown_ahead: decimals(&shown_difference(&pair.holder.points, &pair.rival.points, 2)),
        values,
        few_values: values.is_some_and(|values| values < few),
    };
    nearest_rivals(pairs, edition, &judge.weights).into_iter().map(margin).collect()
}

impl HolderAndRival<'_> {
    /// Points of the holder minus those of the rival.
    pub fn points_ahead(&self) -> BigRational {
        &self.holder.points - &self.rival.points
    }

    /// Adds what the rival gains by a changed trusted value at each position of a block.
    pub fn count_gains(&mut self, block: &Block, class: u32) {
        let (holder, rival) = self.cells(block);
        // Each part of a gain is between -2 and 2. Counted here first, because the map is slower.
        let mut counts = [[0_u64; 5]; 5];
        for position in 0..block.trusted.len() {
            let (right, penalty) = gain(holder, rival, position);
            counts[(right + 2) as usize][(penalty + 2) as usize] += 1;
        }
        for (right, counts) in (-2..).zip(counts) {
            for (penalty, count) in (-2..).zip(counts) {
                if count > 0 && (right, penalty) != (0, 0) {
                    *self.gains.entry((block.examination, class, right, penalty)).or_default() += count;
                }
            }
        }
    }

    fn cells<'b>(&self, block: &'b Block) -> (Option<&'b Cell>, Option<&'b Cell>) {
        (block.cell(self.holder.entry), block.cell(self.rival.entry))
    }

    /// Returns the positions of a block at which a changed trusted value gives the rival more than `least` points.
    pub fn positions_above(
        &self,
        edition: &Edition,
        weight: &BigRational,
        block: &Block,
        least: &BigRational,
    ) -> Vec<usize> {
        let (holder, rival) = self.cells(block);
        let above = |position: &usize| match gain(holder, rival, *position) {
            (0, 0) => false,
            (right, penalty) => worth(edition, block.examination, weight, right, penalty) > *least,
        };
        (0..block.trusted.len()).filter(above).collect()
    }

    /// The positive gains in points with the number of their values, greatest first.
    fn gains(&self, edition: &Edition, weights: &[BigRational]) -> Vec<(BigRational, u64)> {
        let gain = |((examination, class, right, penalty), count): (&(usize, u32, i8, i8), &u64)| {
            (worth(edition, *examination, &weights[*class as usize], *right, *penalty), *count)
        };
        let mut gains: Vec<(BigRational, u64)> = self.gains.iter().map(gain).collect();
        gains.retain(|(gain, _)| *gain > BigRational::zero());
        gains.sort_by(|a, b| b.0.cmp(&a.0));
        gains
    }

    /// Returns the least number of changed values with which the rival passes the holder. The greatest gains count first.
    fn values_needed(&self, edition: &Edition, weights: &[BigRational]) -> Option<u64> {
        let mut missing = self.points_ahead() + &edition.judging.tie_margin;
        let mut values = 0;
        for (gain, count) in self.gains(edition, weights) {
            // This many are enough to pass, not only to have equal points.
            let enough = (&missing / &gain).floor().to_integer() + 1;
            match u64::try_from(&enough) {
                Ok(enough) if enough <= count => return Some(values + enough),
                _ => {
                    missing -= gain * BigRational::from_integer(count.into());
                    values += count;
                }
            }
        }
        None
    }

    /// Returns the points that remain to be gained by one value after the `values - 1` greatest gains: each value with a
    /// greater gain is one of `values` values with which the rival passes.
    pub fn last_gain(&self, edition: &Edition, weights: &[BigRational], values: u64) -> BigRational {
        let mut missing = self.points_ahead() + &edition.judging.tie_margin;
        let mut left = values.saturating_sub(1);
        for (gain, count) in self.gains(edition, weights) {
            let taken = count.min(left);
            missing -= gain * BigRational::from_integer(taken.into());
            left -= taken;
        }
        missing
    }
}

/// Returns the points of a gain in an examination on an instance with the weight.
fn worth(edition: &Edition, examination: usize, weight: &BigRational, right: i8, penalty: i8) -> BigRational {
    let value = ValuePoints::new(&edition.judging, edition.examinations[examination].values);
    let whole = |n: i8| BigRational::from_integer(n.into());
    (whole(right) * value.right - whole(penalty) * value.wrong) * weight
}

/// Returns what the rival gains on the holder at one position: shares of the points, and penalties.
fn gain(holder: Option<&Cell>, rival: Option<&Cell>, position: usize) -> (i8, i8) {
    let verdict =
        |cell: Option<&Cell>| cell.map_or(ValueVerdict::NotComputed, |cell| cell.verdicts[position]);
    let (h, r) = (verdict(holder), verdict(rival));
    // Most positions: both gave the trusted value, or none gave a value.
    if h == r && matches!(h, ValueVerdict::Right | ValueVerdict::NotComputed) {
        return (0, 0);
    }
    let points = |verdict| match verdict {
        ValueVerdict::Right => (1, 0),
        ValueVerdict::Wrong => (0, -1),
        _ => (0, 0),
    };
    fn value(cell: Option<&Cell>, position: usize) -> Option<&Value> {
        cell.and_then(|cell| cell.values[position].as_ref())
    }
    if let (Some(a), Some(b)) = (value(holder, position), value(rival, position))
        && a.is_same(b)
    {
        return (0, 0);
    }
    // With the changed value: the rival right and the holder wrong, where they gave a value.
    let then = (i8::from(r != ValueVerdict::NotComputed), i8::from(h != ValueVerdict::NotComputed));
    let (now_holder, now_rival) = (points(h), points(r));
    (then.0 - (now_rival.0 - now_holder.0), then.1 - (now_rival.1 - now_holder.1))
}
