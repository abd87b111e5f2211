//! What formulas say about the next firing, as conditions on the marking before it.

use crate::formula::{Pred, Sum};
use crate::net::Compiled;
use mcc_model::Ctl;

/// Most numbers that predicates of the markings before a firing read, at most.
const MAX_SIZE: u64 = 1 << 12;

/// A predicate of the markings with a next marking that has this predicate. None: it would be too large, or the predicate is
/// constant.
pub(crate) fn before_some(pred: &Pred, net: &Compiled) -> Option<Pred> {
    let transitions = net.transitions() as u32;
    let is_constant = *pred == Pred::True || *pred == Pred::True.not();
    if is_constant || u64::from(transitions) * pred.size(net) > MAX_SIZE {
        return None;
    }
    let read = places(pred, net);
    let is_read = |one: &u32| net.changes(*one).iter().any(|change| read.contains(&change.place));
    let (reading, others): (Vec<u32>, Vec<u32>) = (0..transitions).partition(is_read);
    let mut cases = vec![Pred::And(vec![Pred::Fireable(others), pred.clone()])];
    for one in reading {
        cases.push(Pred::And(vec![Pred::Fireable(vec![one]), after(pred, one, net)?]));
    }
    Some(Pred::Or(cases))
}

fn places(pred: &Pred, net: &Compiled) -> Vec<u32> {
    let inputs = |one: u32| net.inputs(one).iter().map(|(place, _)| *place);
    match pred {
        Pred::True => Vec::new(),
        Pred::Not(inner) => places(inner, net),
        Pred::And(parts) | Pred::Or(parts) => parts.iter().flat_map(|part| places(part, net)).collect(),
        Pred::Le(left, right) => left.places.iter().chain(&right.places).copied().collect(),
        Pred::Fireable(transitions) => transitions.iter().flat_map(|one| inputs(*one)).collect(),
        Pred::Dead => (0..net.transitions() as u32).flat_map(inputs).collect(),
    }
}

/// The predicate of markings, in which the transition is enabled, that its firing leads to one with this predicate.
fn after(pred: &Pred, fired: u32, net: &Compiled) -> Option<Pred> {
    let all = |parts: &[Pred]| parts.iter().map(|part| after(part, fired, net)).collect::<Option<_>>();
    let change = |places: &[u32]| -> i128 {
        let of_place = |place| net.changes(fired).iter().filter(move |change| change.place == place);
        let changes = places.iter().flat_map(|place| of_place(*place));
        changes.map(|change| i128::from(change.more) - i128::from(change.less)).sum()
    };
    Some(match pred {
        Pred::True => Pred::True,
        Pred::Not(inner) => after(inner, fired, net)?.not(),
        Pred::And(parts) => Pred::And(all(parts)?),
        Pred::Or(parts) => Pred::Or(all(parts)?),
        Pred::Le(left, right) => {
            let (mut left, mut right) = (left.clone(), right.clone());
            let more = change(&right.places) - change(&left.places);
            let side = if more < 0 { &mut left } else { &mut right };
            side.constant = side.constant.checked_add(u64::try_from(more.unsigned_abs()).ok()?)?;
            Pred::Le(left, right)
        }
        Pred::Fireable(transitions) => {
            let has = |&(place, weight): &(u32, u64)| {
                let least = (i128::from(weight) - change(&[place])).max(0);
                let constant = u64::try_from(least).ok()?;
                let places = vec![place];
                Some(Pred::Le(Sum { places: Vec::new(), constant }, Sum { places, constant: 0 }))
            };
            let enabled =
                |one: &u32| Some(Pred::And(net.inputs(*one).iter().map(has).collect::<Option<_>>()?));
            Pred::Or(transitions.iter().map(enabled).collect::<Option<_>>()?)
        }
        Pred::Dead => after(&Pred::Fireable((0..net.transitions() as u32).collect()), fired, net)?.not(),
    })
}

/// Transitions of which one is enabled in each marking where the formula has this truth. None: there need not be one.
pub(crate) fn needed(formula: &Ctl, truth: bool, preds: &[Pred]) -> Option<Vec<u32>> {
    let each = |parts: &[Ctl]| parts.iter().map(|part| needed(part, truth, preds)).collect();
    match (formula, truth) {
        (Ctl::Pred(number), _) => needed_by(&preds[*number], truth),
        (Ctl::Not(inner), _) => needed(inner, !truth, preds),
        (Ctl::And(parts), _) => joined(each(parts), truth),
        (Ctl::Or(parts), _) => joined(each(parts), !truth),
        (Ctl::ExistsNext(_), _) => None,
        (Ctl::ExistsUntil(before, reach) | Ctl::AllUntil(before, reach), true) => {
            joined(vec![needed(before, true, preds), needed(reach, true, preds)], false)
        }
        (Ctl::ExistsUntil(_, reach) | Ctl::AllUntil(_, reach), false) => needed(reach, false, preds),
    }
}

fn needed_by(pred: &Pred, truth: bool) -> Option<Vec<u32>> {
    let each = |parts: &[Pred]| parts.iter().map(|part| needed_by(part, truth)).collect();
    match (pred, truth) {
        (Pred::Not(inner), _) => needed_by(inner, !truth),
        (Pred::And(parts), _) => joined(each(parts), truth),
        (Pred::Or(parts), _) => joined(each(parts), !truth),
        (Pred::Fireable(transitions), true) => Some(transitions.clone()),
        (Pred::True, false) => Some(Vec::new()),
        _ => None,
    }
}

/// What all parts need, or what one of them needs.
fn joined(parts: Vec<Option<Vec<u32>>>, is_all: bool) -> Option<Vec<u32>> {
    if is_all {
        return parts.into_iter().flatten().min_by_key(Vec::len);
    }
    Some(parts.into_iter().collect::<Option<Vec<_>>>()?.concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{Budget, Limits};
    use crate::constants::{Constants, Folding};
    use crate::formula::Preds;
    use crate::net::{Arcs, Named};
    use crate::proof_lp::Structure;
    use std::time::Duration;

    /// Whether formulas are constant on an unbounded net: transition 0 moves a token of place 0 to 1, 1 adds one to place 1, and
    /// 2 takes one.
    #[test]
    fn what_next_firings_decide_is_replaced() {
        let arcs = |inputs: &[u32], outputs: &[u32]| {
            let ones = |places: &[u32]| places.iter().map(|place| (*place, 1)).collect();
            Arcs { inputs: ones(inputs), outputs: ones(outputs) }
        };
        let net = Compiled::new(vec![2, 0], &[arcs(&[0], &[1]), arcs(&[], &[1]), arcs(&[1], &[])]);
        let named = Named { net, ..Named::default() };
        let structure = Structure::from_net(&named);
        let (constants, limits) =
            (Constants::default(), Limits::new(&Budget::of_time(Duration::from_secs(60))));
        let fireable = |transitions: &[u32]| Pred::Fireable(transitions.to_vec());
        let preds = vec![Pred::True, fireable(&[0]), fireable(&[0, 2]), fireable(&[1]), fireable(&[2])];
        let folded = |formula: &Ctl| {
            let mut preds = Preds::from(preds.clone());
            let folded = Folding::new(&constants, &named.net, &structure, &limits).ctl(formula, &mut preds);
            (folded, preds)
        };
        // EF not p is true if the transitions of p cannot fire without end, whatever the marking is.
        let can_end = |number| {
            let formula = Ctl::ExistsUntil(Box::new(Ctl::Pred(0)), Box::new(Ctl::Pred(number).negated()));
            folded(&formula).0 == Ctl::Pred(0)
        };
        assert_eq!([1, 2, 3].map(can_end), [true, true, false]);
        // EX p as a predicate: after a firing of 0 or 1, transition 2 is enabled.
        let (Ctl::Pred(number), preds) = folded(&Ctl::ExistsNext(Box::new(Ctl::Pred(4)))) else { panic!() };
        assert!(preds[number].holds(&named.net, &[0, 0]));
        let (Ctl::Pred(number), preds) = folded(&Ctl::ExistsNext(Box::new(Ctl::Pred(4).negated()))) else {
            panic!()
        };
        let holds = |tokens: &[u64]| preds[number].holds(&named.net, tokens);
        assert_eq!([holds(&[0, 0]), holds(&[0, 1]), holds(&[0, 2])], [false, true, false]);
    }
}
