//! Evidence in words: the value, the formula, and what shows it.

use crate::driver::{Accepted, Finding, Known};
use mcc_base::text::counted;
use mcc_checker::{Run, Value, Witness};
use mcc_model::{Archive, Count, Expr, Formula, Net, NetKind, Transition};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

/// Most names of places or transitions that are listed.
const LISTED: usize = 12;

/// What is known about a value, with its formula and the markings of its witness as far as the formula mentions them.
pub fn in_words(archive: &Archive, finding: &Finding) -> String {
    let property = archive
        .properties(&finding.examination)
        .ok()
        .flatten()
        .and_then(|properties| properties.into_iter().find(|property| property.id == finding.id));
    let (value, accepted) = match &finding.known {
        Known::Exactly(Value::Infinite, accepted) => ("is infinite".to_owned(), accepted),
        Known::Exactly(value, accepted) => (format!("is {value}"), accepted),
        Known::AtLeast(least, accepted) => (format!("is at least {least}"), accepted),
        Known::Open(reason) => return format!("{} was not decided: {reason}", finding.id),
    };
    let mut text = format!("{} {value}", finding.id);
    let mut places = BTreeSet::new();
    if let Some(property) = &property {
        let formula = match &property.formula {
            Formula::PlaceBound(ids) => {
                places.extend(ids.iter().cloned());
                format!("the largest {}", tokens(ids))
            }
            Formula::Boolean(expr) => {
                let mut text = String::new();
                write_formula(expr, &mut text, &mut places);
                text
            }
        };
        let _ = write!(text, " ({formula})");
    }
    let Accepted { witness, certificate, explored, .. } = accepted;
    if let Some(witness) = witness {
        let net = (archive.instance.kind() == NetKind::PlaceTransition).then(|| archive.net().ok()).flatten();
        let _ = write!(text, ": {}", runs(witness, net.as_ref(), &places));
    }
    if let Some(certificate) = certificate {
        let lemmas = counted(certificate.lemmas.len(), "lemma");
        let _ = write!(text, ": a certificate of {lemmas} proves it");
    }
    if let Some(explored) = explored {
        let how = match explored.states {
            0 if explored.nodes > 0 => "with a decision diagram of all markings".to_owned(),
            states if explored.complete => format!("by exploring all {states} markings"),
            states => format!("by exploring {states} markings"),
        };
        let check = if certificate.is_none() { "; there is no certificate to check" } else { "" };
        let _ = write!(text, ": found {how}{check}");
    }
    text
}

fn runs(witness: &Witness, net: Option<&Net>, places: &BTreeSet<String>) -> String {
    let [run] = witness.runs.as_slice() else {
        return format!("{} firing sequences show it", witness.runs.len());
    };
    let names: Vec<&str> = run.steps.iter().map(|step| step.transition.as_str()).collect();
    let mut text = match names.len() {
        0 => "the initial marking".to_owned(),
        1..=LISTED => format!("after {}", names.join(" ")),
        steps => {
            format!("after {steps} transitions, the last of which are {}", names[steps - LISTED..].join(" "))
        }
    };
    match (run.loop_start, run.repeat) {
        (Some(start), _) => {
            let _ = write!(text, ", of which those after the first {start} are repeated for ever,");
        }
        (_, Some(start)) => {
            let _ = write!(
                text,
                ", of which those after the first {start} add tokens as often as they are repeated,"
            );
        }
        _ => {}
    }
    if let Some(marking) = net.and_then(|net| marking(net, run)) {
        let is_shown = |(place, count): &&(String, u64)| {
            if places.is_empty() { *count > 0 } else { places.contains(place) }
        };
        let shown = marking.iter().filter(is_shown);
        let shown: Vec<String> = shown.map(|(place, count)| format!("{place} = {count}")).collect();
        let more = shown.len().saturating_sub(LISTED);
        let _ = write!(text, " has {}", shown[..shown.len() - more].join(", "));
        if more > 0 {
            let _ = write!(text, " and {more} more places");
        }
    }
    text
}

/// The last marking of a run of a P/T net, by place.
fn marking(net: &Net, run: &Run) -> Option<Vec<(String, u64)>> {
    let mut tokens: Vec<u64> = net.places.iter().map(|place| place.initial).collect();
    let by_id: HashMap<&str, &Transition> =
        net.transitions.iter().map(|transition| (transition.id.as_str(), transition)).collect();
    for step in &run.steps {
        let transition = by_id.get(step.transition.as_str())?;
        for arc in &transition.inputs {
            tokens[arc.place] = tokens[arc.place].checked_sub(arc.weight)?;
        }
        for arc in &transition.outputs {
            tokens[arc.place] = tokens[arc.place].checked_add(arc.weight)?;
        }
    }
    Some(net.places.iter().map(|place| place.id.clone()).zip(tokens).collect())
}

fn tokens(ids: &[String]) -> String {
    format!("tokens({})", list(ids))
}

fn list(ids: &[String]) -> String {
    match ids.len() {
        0..=LISTED => ids.join(", "),
        all => format!("{}, and {} more", ids[..LISTED].join(", "), all - LISTED),
    }
}

/// Writes the text of a formula; its places are added to `places`.
fn write_formula(expr: &Expr, text: &mut String, places: &mut BTreeSet<String>) {
    let (start, operands, between, end): (&str, Vec<&Expr>, &str, &str) = match expr {
        Expr::Le(left, right) => {
            let [left, right] = [left, right].map(|count| match count {
                Count::Constant(constant) => constant.to_string(),
                Count::Tokens(ids) => {
                    places.extend(ids.iter().cloned());
                    tokens(ids)
                }
            });
            let _ = write!(text, "{left} <= {right}");
            return;
        }
        Expr::Fireable(ids) => {
            let _ = write!(text, "fireable({})", list(ids));
            return;
        }
        Expr::Deadlock => ("deadlock", vec![], "", ""),
        Expr::AllPaths(inner) => ("A ", vec![&**inner], "", ""),
        Expr::ExistsPath(inner) => ("E ", vec![&**inner], "", ""),
        Expr::Globally(inner) => ("G (", vec![&**inner], "", ")"),
        Expr::Finally(inner) => ("F (", vec![&**inner], "", ")"),
        Expr::Next(inner) => ("X (", vec![&**inner], "", ")"),
        Expr::Not(inner) => ("not (", vec![&**inner], "", ")"),
        Expr::Until(before, reach) => ("((", vec![&**before, &**reach], ") U (", "))"),
        Expr::And(parts) => ("(", parts.iter().collect(), ") and (", ")"),
        Expr::Or(parts) => ("(", parts.iter().collect(), ") or (", ")"),
    };
    text.push_str(start);
    for (number, operand) in operands.into_iter().enumerate() {
        if number > 0 {
            text.push_str(between);
        }
        write_formula(operand, text, places);
    }
    text.push_str(end);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, certify};
    use std::path::Path;
    use std::time::Duration;

    #[test]
    fn a_formula_is_written_with_its_operators_and_places() {
        let count = |id: &str| Expr::Le(Count::Constant(1), Count::Tokens(vec![id.to_owned()]));
        let dead = || Box::new(Expr::Deadlock);
        let either = Expr::Or(vec![Expr::Not(dead()), Expr::Fireable(vec!["t".into(), "u".into()])]);
        let until = Expr::Until(Box::new(count("p")), Box::new(Expr::Next(Box::new(either))));
        let one = Expr::ExistsPath(Box::new(Expr::Finally(Box::new(count("q")))));
        let all = Expr::AllPaths(Box::new(Expr::Globally(Box::new(Expr::And(vec![until, one])))));
        let (mut text, mut places) = (String::new(), BTreeSet::new());
        write_formula(&all, &mut text, &mut places);
        let expected = "A G ((((1 <= tokens(p)) U (X ((not (deadlock)) or (fireable(t, u)))))) and (E F (1 <= tokens(q))))";
        assert_eq!((text.as_str(), places.len()), (expected, 2));
    }

    #[test]
    fn a_run_of_many_firings_of_many_transitions_is_followed() {
        const MANY: usize = 200_000;
        let arc = |place| vec![mcc_model::Arc { place, weight: 1 }];
        let place = |id: &str, initial| mcc_model::Place { id: id.to_owned(), initial };
        let transition = |n: usize| Transition { id: format!("t{n}"), inputs: arc(0), outputs: arc(1) };
        let net = Net {
            id: "n".to_owned(),
            kind: NetKind::PlaceTransition,
            places: vec![place("p", MANY as u64), place("q", 0)],
            transitions: (0..MANY).map(transition).collect(),
        };
        let step = |n: usize| mcc_checker::Step { transition: format!("t{n}"), binding: Default::default() };
        let run = Run { steps: (0..MANY).map(step).collect(), ..Run::default() };
        assert_eq!(marking(&net, &run).unwrap(), [("p".to_owned(), 0), ("q".to_owned(), MANY as u64)]);
    }

    #[test]
    fn a_witness_is_described_in_the_words_of_its_formula() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pnml-fixtures");
        let archive = Archive::open(&fixtures.join("DiningTable-PT-03.tgz")).unwrap();
        let budget = Budget::of_time(Duration::from_secs(60));
        let mut shown = 0;
        for finding in certify(&archive, &["ReachabilityCardinality", "UpperBounds"], &budget).unwrap() {
            let text = in_words(&archive, &finding);
            assert!(text.starts_with(&format!("{} is ", finding.id)) && text.contains("tokens("), "{text}");
            if let Known::Exactly(_, Accepted { witness: Some(_), .. }) = finding.known {
                assert!(text.contains(" has ") && text.contains(" = "), "{text}");
                shown += 1;
            }
        }
        assert!(shown > 3, "{shown}");
    }
}
