//! Ranking the entries of a category.

use super::{CategoryPlace, Judgement, PlaceNote, Podium, Points, rounded};
use mcc_edition::{OtherEdition, Status};
use mcc_judge::judgement::{Entry, Medal};
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use std::cmp::{Ordering, Reverse};

/// An entry with the values that it is ranked by.
pub struct Contender {
    /// Index of the entry.
    pub entry: usize,
    /// Its points in the category.
    pub points: BigRational,
    /// CPU time in seconds. Of equal points the lesser time has the better place; None comes last.
    pub success_cpu_s: Option<BigRational>,
    /// A note for the place on the podium; empty if there is none.
    pub note: String,
}

/// When entries share a rank, and which rank follows a shared one.
pub enum Ties<'a> {
    /// Equal points and time: 1, 1, 3 (SV-COMP).
    Equal,
    /// Points at most this far below the first of the rank: 1, 1, 2 (CRV).
    Margin(&'a BigRational),
}

/// Ranks the entries of a category: competing entries by points, then by time; the others follow without a rank. An entry
/// with 0 points or less gets no medal.
pub fn podium(category: usize, entries: &[Entry], mut contenders: Vec<Contender>, ties: &Ties) -> Podium {
    let competing = |contender: &Contender| entries[contender.entry].status == Status::Competing;
    contenders.sort_by(|a, b| {
        let order = Reverse(competing(a)).cmp(&Reverse(competing(b)));
        order.then_with(|| better(a, b)).then_with(|| entries[a.entry].entry.cmp(&entries[b.entry].entry))
    });
    let mut places: Vec<CategoryPlace> = Vec::new();
    // The first contender of the current rank, and the current rank.
    let (mut first, mut rank) = (0, 0);
    for at in 0..contenders.len() {
        let contender = &contenders[at];
        let shares = at > 0
            && match ties {
                Ties::Equal => better(&contenders[first], contender) == Ordering::Equal,
                Ties::Margin(margin) => &contenders[first].points - &contender.points <= **margin,
            };
        if !shares {
            first = at;
            rank = match ties {
                Ties::Equal => at as u32 + 1,
                Ties::Margin(_) => rank + 1,
            };
        }
        let ranked = competing(contender);
        let mut medal = if ranked { Medal::of_rank(rank) } else { Medal::None };
        let mut note = contender.note.clone();
        if medal != Medal::None && !contender.points.is_positive() {
            medal = Medal::None;
            PlaceNote::NoPoints.add_to(&mut note);
        }
        places.push(CategoryPlace {
            rank: ranked.then_some(rank),
            entry: contender.entry,
            points: contender.points.clone(),
            success_cpu_s: contender.success_cpu_s.clone().map(Points),
            medal,
            note,
        });
    }
    Podium { category, places }
}

/// Orders by points (most first), then by time (least first).
fn better(a: &Contender, b: &Contender) -> Ordering {
    let time = |contender: &Contender| {
        (contender.success_cpu_s.is_none(), contender.success_cpu_s.clone().unwrap_or_else(BigRational::zero))
    };
    b.points.cmp(&a.points).then_with(|| time(a).cmp(&time(b)))
}

/// The rule of ties if ranks on these podiums depend on it: SV-COMP ranks equal points by time (SV-16), and in CRV close
/// totals are a draw (CRV-10).
pub fn tie_words<'a>(judgement: &Judgement, podiums: impl IntoIterator<Item = &'a Podium>) -> Option<String> {
    let pairs = podiums.into_iter().flat_map(|podium| podium.places.windows(2));
    let mut ranked = pairs.filter(|pair| pair[1].rank.is_some());
    match &judgement.edition {
        OtherEdition::Svcomp(_) => ranked.any(|pair| pair[0].points == pair[1].points).then(|| {
            "Equal points: ranked by CPU time, entries without a time last; equal times, or none, share a rank (SV-16)."
                .to_owned()
        }),
        OtherEdition::Crv(edition) => ranked.any(|pair| pair[0].rank == pair[1].rank).then(|| {
            let margin = rounded(&edition.tie_margin, 2);
            format!("Totals at most {margin} below the first of a rank share it (CRV-10).")
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(ties: &Ties, contenders: &[(i64, Option<i64>)]) -> Vec<String> {
        let number = |n: i64| BigRational::new(n.into(), 100.into());
        let entries: Vec<Entry> = (0..contenders.len())
            .map(|n| Entry {
                entry: format!("{}", char::from(b'a' + n as u8)),
                tool: String::new(),
                status: if n == 4 { Status::OutOfCompetition } else { Status::Competing },
                note: String::new(),
            })
            .collect();
        let contenders = contenders.iter().enumerate().map(|(entry, (points, time))| Contender {
            entry,
            points: number(*points),
            success_cpu_s: time.map(number),
            note: String::new(),
        });
        let podium = podium(0, &entries, contenders.collect(), ties);
        let line = |place: &CategoryPlace| {
            let rank = place.rank.map_or("-".to_owned(), |rank| rank.to_string());
            format!("{rank}{}{}", entries[place.entry].entry, place.medal)
        };
        podium.places.iter().map(line).collect()
    }

    #[test]
    fn equal_points_rank_by_time_and_equal_times_share_a_rank() {
        let contenders = [(166, Some(250)), (166, Some(6)), (166, Some(250)), (9, None), (999, Some(1))];
        assert_eq!(ranks(&Ties::Equal, &contenders), ["1bgold", "2asilver", "2csilver", "4d", "-e"]);
    }

    #[test]
    fn an_entry_with_no_points_or_less_gets_no_medal() {
        let contenders = [(100, Some(1)), (0, Some(2)), (-1600, Some(3))];
        assert_eq!(ranks(&Ties::Equal, &contenders), ["1agold", "2b", "3c"]);
        assert_eq!(ranks(&Ties::Margin(&BigRational::zero()), &[(-5, None), (-1600, None)]), ["1a", "2b"]);
    }

    #[test]
    fn a_tie_margin_counts_from_the_first_of_a_rank() {
        let margin = BigRational::new(6.into(), 100.into());
        let contenders = [(39651, None), (39645, None), (39640, None), (100, None), (99_999, None)];
        let ranks = ranks(&Ties::Margin(&margin), &contenders);
        assert_eq!(ranks, ["1agold", "1bgold", "2csilver", "3dbronze", "-e"]);
    }
}
