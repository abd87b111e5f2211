//! Sensitivity of podiums: how they change without one tool, and how many trusted values decide a place.

use super::judge::{Judge, JudgeError, JudgementTotals};
use super::podium;
use super::points::ValuePoints;
use crate::judgement::{Block, Cell, Podium, PodiumPlace, Status, ValueVerdict};
use crate::show::{columns, decimals};
use num_rational::BigRational;
use num_traits::Zero;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZero;

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
    /// The rank.
    pub rank: u32,
    /// Name of the entry that has the rank.
    pub entry: String,
    /// Name of the entry that would pass it with the fewest changed trusted values; empty where none could.
    pub rival: String,
    /// Points of the entry minus those of the rival.
    #[serde(with = "mcc_edition::fraction")]
    pub points_ahead: BigRational,
    /// The least number of changed trusted values with which the rival passes; None where no number is enough.
    pub values: Option<u64>,
    /// Whether `values` is less than `Sensitivity::few`.
    pub few_values: bool,
}

impl fmt::Display for Sensitivity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "Ranks that differ when the contest is judged again without one tool:")?;
        for row in self.left_out.iter().filter(|row| row.changes()) {
            let LeftOut { category, left_out, tool, rank_removed, rank_rejudged, .. } = row;
            writeln!(
                out,
                "  {category} without {left_out}: {tool} has rank {rank_rejudged}, not {rank_removed}"
            )?;
        }
        if !self.left_out.iter().any(LeftOut::changes) {
            writeln!(out, "  none")?;
        }
        writeln!(out, "Least number of changed trusted values with which a place is lost:")?;
        let row = |margin: &Margin| {
            let Margin { category, rank, entry, rival, points_ahead, values, few_values } = margin;
            let values = values.map_or("no number".to_owned(), |values| values.to_string());
            let few_values = if *few_values { format!("fewer than {}", self.few) } else { String::new() };
            let ahead = match rival.is_empty() {
                true => String::new(),
                false => format!("{} points before {rival}", decimals(points_ahead)),
            };
            vec![format!("  {category}"), rank.to_string(), entry.clone(), values, ahead, few_values]
        };
        out.write_str(&columns(&self.margins.iter().map(row).collect::<Vec<_>>(), &[3]))
    }
}

/// Judges again without each tool in turn, as if it had resigned (P-4), and computes the margins of ranks up to 3.
///
/// A margin is between the holder of a rank and a rival. Each changed trusted value is assumed to be the one that is
/// best for the rival: where the two gave different values, the holder is wrong and the rival right. Weights and
/// bonuses do not change.
///
/// # Errors
/// As `Judge::new`.
pub fn sensitivity(judge: &Judge, totals: &JudgementTotals, few: u64) -> Result<Sensitivity, JudgeError> {
    let entries = &judge.header.entries;
    let mut tools: Vec<&str> =
        entries.iter().filter(|entry| entry.status == Status::Competing).map(|e| e.tool.as_str()).collect();
    tools.sort_unstable();
    tools.dedup();
    let mut left_out = Vec::new();
    for (tool, podiums) in tools.iter().zip(podiums_without_each(judge, &tools)?) {
        for ((rule, before), (entries_rejudged, then)) in
            judge.header.edition.podiums.iter().zip(&totals.podiums).zip(podiums)
        {
            let points = before.places.iter().filter(|place| entries[place.entry].tool != *tool);
            let points = points.map(|place| (place.entry, place.points.clone())).collect();
            let margin = &judge.header.edition.judging.tie_margin;
            let removed = podium::podium(rule, entries, points, margin, true);
            let ranked = ranked(before, |entry| &entries[entry].tool);
            let ranked_removed = self::ranked(&removed, |entry| &entries[entry].tool);
            for (name, place) in self::ranked(&then, |entry| &entries_rejudged[entry]) {
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
    left_out.sort_by(|a, b| {
        let key = |l: &LeftOut| (order(l), l.left_out.clone(), l.rank_rejudged, l.tool.clone());
        key(a).cmp(&key(b))
    });
    Ok(Sensitivity { few, left_out, margins: margins(judge, totals, few) })
}

/// Returns the ranked places of a podium by tool.
fn ranked<'p>(podium: &'p Podium, tool: impl Fn(usize) -> &'p str) -> BTreeMap<&'p str, &'p PodiumPlace> {
    let places = podium.places.iter().filter(|place| place.rank.is_some());
    places.map(|place| (tool(place.entry), place)).collect()
}

/// The podiums of one judgement, each with the tool of every entry number in it.
type Podiums = Vec<(Vec<String>, Podium)>;

/// Judges the contest without each tool, on all cores. The result does not depend on their number.
fn podiums_without_each(judge: &Judge, tools: &[&str]) -> Result<Vec<Podiums>, JudgeError> {
    let podiums_without = |tool: &str| -> Result<Podiums, JudgeError> {
        let judge = judge.without(tool)?;
        let judged = judge.judge_blocks(|_| Ok::<(), std::convert::Infallible>(()));
        let Ok(totals) = judged;
        let names: Vec<String> = judge.header.entries.iter().map(|entry| entry.tool.clone()).collect();
        Ok(totals.podiums.into_iter().map(|podium| (names.clone(), podium)).collect())
    };
    let workers = std::thread::available_parallelism().map_or(1, NonZero::get).min(tools.len()).max(1);
    let mut judged: Vec<(usize, Result<Podiums, JudgeError>)> = std::thread::scope(|scope| {
        let work = |worker: usize| {
            let own = (worker..tools.len()).step_by(workers);
            own.map(|number| (number, podiums_without(tools[number]))).collect::<Vec<_>>()
        };
        let threads: Vec<_> = (0..workers).map(|worker| scope.spawn(move || work(worker))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("judging does not panic")).collect()
    });
    judged.sort_by_key(|(number, _)| *number);
    judged.into_iter().map(|(_, podiums)| podiums).collect()
}

/// An entry with a rank up to 3 and an entry of another tool behind it, with what the rival gains by changed values.
struct HolderAndRival<'v> {
    podium: usize,
    holder: &'v PodiumPlace,
    rival: &'v PodiumPlace,
    /// Number of values by (examination, weight class, right, penalty): the rival gains on the holder `right` shares of
    /// the points and `penalty` penalties.
    gains: BTreeMap<(usize, u32, i8, i8), u64>,
}

/// Returns the margin of every rank up to 3 to its nearest rival.
fn margins(judge: &Judge, totals: &JudgementTotals, few: u64) -> Vec<Margin> {
    let entries = &judge.header.entries;
    let mut pairs: Vec<HolderAndRival<'_>> = Vec::new();
    for (number, podium) in totals.podiums.iter().enumerate() {
        let rank_of_tool = ranked(podium, |entry| &entries[entry].tool);
        for holder in podium.places.iter().filter(|place| place.rank.is_some_and(|rank| rank <= 3)) {
            let rivals = podium.places.iter().filter(|place| {
                let tool = entries[place.entry].tool.as_str();
                entries[place.entry].status == Status::Competing
                    && tool != entries[holder.entry].tool
                    && rank_of_tool.get(tool).is_some_and(|best| best.rank >= holder.rank)
            });
            pairs.extend(rivals.map(|rival| HolderAndRival {
                podium: number,
                holder,
                rival,
                gains: BTreeMap::new(),
            }));
        }
    }
    let edition = &judge.header.edition;
    let within: Vec<Vec<usize>> = edition
        .podiums
        .iter()
        .map(|rule| {
            rule.examinations.iter().filter_map(|name| edition.examination(name)).map(|e| e.0).collect()
        })
        .collect();
    let counted = judge.judge_blocks(|block| {
        let class = judge.weight_class[block.instance];
        for pair in pairs.iter_mut().filter(|pair| within[pair.podium].contains(&block.examination)) {
            count_gains(&block, class, pair);
        }
        Ok::<(), std::convert::Infallible>(())
    });
    let Ok(_) = counted;
    let mut margins: Vec<Margin> = Vec::new();
    let mut pairs = pairs.into_iter().peekable();
    while let Some(first) = pairs.next() {
        let (podium, holder) = (first.podium, first.holder);
        let mut nearest = (values_needed(judge, &first), first.rival);
        while let Some(pair) =
            pairs.next_if(|pair| pair.podium == podium && pair.holder.entry == holder.entry)
        {
            let values = values_needed(judge, &pair);
            // None means that no number is enough.
            if values.is_some_and(|values| nearest.0.is_none_or(|least| values < least)) {
                nearest = (values, pair.rival);
            }
        }
        let (values, rival) = nearest;
        margins.push(Margin {
            category: totals.podiums[podium].category.clone(),
            rank: holder.rank.unwrap_or_default(),
            entry: entries[holder.entry].entry.clone(),
            rival: values.map(|_| entries[rival.entry].entry.clone()).unwrap_or_default(),
            points_ahead: &holder.points - &rival.points,
            values,
            few_values: values.is_some_and(|values| values < few),
        });
    }
    margins
}

/// Adds what the rival gains by a changed trusted value at each position of a block.
fn count_gains(block: &Block, class: u32, pair: &mut HolderAndRival<'_>) {
    let cell = |entry: usize| block.cells.iter().find(|cell| cell.entry == entry);
    let (holder, rival) = (cell(pair.holder.entry), cell(pair.rival.entry));
    for position in 0..block.trusted.len() {
        let (right, penalty) = gain(holder, rival, position);
        if (right, penalty) != (0, 0) {
            *pair.gains.entry((block.examination, class, right, penalty)).or_default() += 1;
        }
    }
}

/// Returns what the rival gains on the holder at one position: shares of the points, and penalties.
fn gain(holder: Option<&Cell>, rival: Option<&Cell>, position: usize) -> (i8, i8) {
    let verdict =
        |cell: Option<&Cell>| cell.map_or(ValueVerdict::NotComputed, |cell| cell.verdicts[position]);
    let points = |verdict| match verdict {
        ValueVerdict::Right => (1, 0),
        ValueVerdict::Wrong => (0, -1),
        _ => (0, 0),
    };
    let (h, r) = (verdict(holder), verdict(rival));
    let value = |cell: Option<&Cell>| cell.and_then(|cell| cell.values[position].clone());
    let agree = match (value(holder), value(rival)) {
        (Some(a), Some(b)) => {
            (h, r) == (ValueVerdict::Right, ValueVerdict::Right)
                || a.agrees(&b, a.is_rounded() || b.is_rounded())
        }
        _ => false,
    };
    if agree {
        return (0, 0);
    }
    // With the changed value: the rival right and the holder wrong, where they gave a value.
    let then = (i8::from(r != ValueVerdict::NotComputed), i8::from(h != ValueVerdict::NotComputed));
    let (now_holder, now_rival) = (points(h), points(r));
    (then.0 - (now_rival.0 - now_holder.0), then.1 - (now_rival.1 - now_holder.1))
}

/// Returns the least number of changed values with which the rival passes the holder. The greatest gains count first.
fn values_needed(judge: &Judge, pair: &HolderAndRival<'_>) -> Option<u64> {
    let judging = &judge.header.edition.judging;
    let mut gains: Vec<(BigRational, u64)> = Vec::new();
    for ((examination, class, right, penalty), count) in &pair.gains {
        let values = judge.header.edition.examinations[*examination].values;
        let value = ValuePoints::new(judging, values);
        let whole = |n: i8| BigRational::from_integer(n.into());
        let worth = whole(*right) * value.right - whole(*penalty) * value.wrong;
        gains.push((worth * &judge.weights[*class as usize], *count));
    }
    gains.retain(|(gain, _)| *gain > BigRational::zero());
    gains.sort_by(|a, b| b.0.cmp(&a.0));
    let mut missing = &pair.holder.points - &pair.rival.points + &judging.tie_margin;
    let mut values = 0;
    for (gain, count) in gains {
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
