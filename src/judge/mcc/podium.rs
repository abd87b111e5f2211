//! Ranks the tools of a category (E-4.5, E-4.6).

use crate::judgement::{Entry, Medal, Podium, PodiumPlace, VariantRank};
use mcc_edition::{PodiumRule, Status};
use num_rational::BigRational;
use num_traits::Signed;
use std::cmp::Reverse;

/// Returns the podium of the entries that took part in an examination of the category, from their summed points.
///
/// A tool has the rank of its best variant; of variants with equal points this is the first by name. The other
/// variants and the entries that do not compete follow without a rank. An entry that is at most
/// `tie_margin` points behind the first entry of a rank shares that rank. An entry without positive points has no
/// medal; in a `provisional` judgement there are no medals.
pub(super) fn podium(
    rule: &PodiumRule,
    entries: &[Entry],
    points: Vec<(usize, BigRational)>,
    tie_margin: &BigRational,
    provisional: bool,
) -> Podium {
    let mut points = points;
    points.sort_by(|(a, x), (b, y)| y.cmp(x).then(entries[*a].entry.cmp(&entries[*b].entry)));
    let competing = |entry: usize| entries[entry].status == Status::Competing;
    let competing_tools: Vec<(usize, &str)> =
        points.iter().filter(|(e, _)| competing(*e)).map(|(e, _)| (*e, entries[*e].tool.as_str())).collect();
    let variant = |entry: usize| {
        let tool = &entries[entry].tool;
        let mut variants = competing_tools.iter().filter(|(_, other)| other == tool);
        match (variants.next(), variants.next()) {
            _ if !competing(entry) => VariantRank::Only,
            (Some((best, _)), Some(_)) if *best == entry => VariantRank::Best,
            (Some(_), Some(_)) => VariantRank::Other,
            _ => VariantRank::Only,
        }
    };
    let mut places: Vec<PodiumPlace> = points
        .into_iter()
        .map(|(entry, points)| PodiumPlace {
            rank: None,
            entry,
            variant: variant(entry),
            points,
            medal: Medal::None,
        })
        .collect();
    // The sort is stable: ranked entries come first, and both groups keep the order of points.
    places.sort_by_key(|place| Reverse(competing(place.entry) && place.variant != VariantRank::Other));
    let ranked =
        places.partition_point(|place| competing(place.entry) && place.variant != VariantRank::Other);
    let mut first = 0;
    for at in 0..ranked {
        if &places[first].points - &places[at].points > *tie_margin {
            first = at;
        }
        let rank = first as u32 + 1;
        places[at].rank = Some(rank);
        if !provisional && places[at].points.is_positive() {
            places[at].medal = Medal::of_rank(rank);
        }
    }
    Podium { category: rule.category.clone(), places }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, tool: &str, status: Status) -> Entry {
        Entry { entry: name.to_owned(), tool: tool.to_owned(), status, note: String::new() }
    }

    fn shown(entries: &[Entry], points: &[i64], margin: i64, provisional: bool) -> Vec<String> {
        let rule = PodiumRule { category: "CTL".to_owned(), examinations: Vec::new() };
        let points = points.iter().map(|p| BigRational::from_integer((*p).into())).enumerate().collect();
        let podium = podium(&rule, entries, points, &BigRational::from_integer(margin.into()), provisional);
        let line = |place: &PodiumPlace| {
            let rank = place.rank.map_or("-".to_owned(), |rank| rank.to_string());
            format!("{rank} {} {} {}", entries[place.entry].entry, place.variant, place.medal)
        };
        podium.places.iter().map(line).collect()
    }

    #[test]
    fn ties_share_a_rank_and_its_medal() {
        let entries = ["a", "b", "c", "d", "e"].map(|name| entry(name, name, Status::Competing));
        let shared = shown(&entries, &[5, 9, 9, 3, 3], 0, false);
        assert_eq!(shared, ["1 b  gold", "1 c  gold", "3 a  bronze", "4 d  ", "4 e  "]);
    }

    #[test]
    fn entries_within_the_tie_margin_share_a_rank() {
        let entries = ["a", "b", "c", "d"].map(|name| entry(name, name, Status::Competing));
        let shared = shown(&entries, &[99, 98, 97, 96], 1, false);
        assert_eq!(shared, ["1 a  gold", "1 b  gold", "3 c  bronze", "3 d  bronze"]);
    }

    #[test]
    fn only_the_best_variant_of_a_tool_has_a_rank() {
        let entries = [
            entry("gold-17", "gold-17", Status::OutOfCompetition),
            entry("t.a", "t", Status::Competing),
            entry("t.b", "t", Status::Competing),
            entry("u", "u", Status::Competing),
        ];
        let ranked = shown(&entries, &[20, 7, 9, 8], 0, false);
        assert_eq!(ranked, ["1 t.b best gold", "2 u  silver", "- gold-17  ", "- t.a other "]);
    }

    #[test]
    fn entries_without_positive_points_have_no_medal() {
        let entries = ["a", "b", "c"].map(|name| entry(name, name, Status::Competing));
        assert_eq!(shown(&entries, &[0, 3, -2], 0, false), ["1 b  gold", "2 a  ", "3 c  "]);
    }

    #[test]
    fn a_provisional_judgement_has_no_medals() {
        let entries = ["a", "b"].map(|name| entry(name, name, Status::Competing));
        assert_eq!(shown(&entries, &[5, 9], 0, true), ["1 b  ", "2 a  "]);
    }
}
