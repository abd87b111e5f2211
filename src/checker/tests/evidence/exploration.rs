//! The checkers against the complete exploration of small nets: what they accept is true, and what is true by a run that
//! shows it is accepted.

use crate::nets::{Moves, Random, Tokens, pack, pnml, properties};
use mcc_checker::{
    Certificate, CheckError, Instance, Lemma, PlaceName, ProofStep, Rational, Run, VERSION, Value, Weight,
    Witness,
};
use mcc_model::{Archive, Count, Expr, Formula};
use num_bigint::BigUint;
use proptest::prelude::*;
use std::collections::HashMap;
use tempfile::TempDir;

const NAME: &str = "Random-PT-1";

fn rational(text: &str) -> Rational {
    text.parse().unwrap()
}

fn witness(examination: &str, property: &str, value: Value, runs: Vec<Run>) -> Witness {
    let [instance, examination, property] = [NAME, examination, property].map(str::to_owned);
    Witness { version: VERSION, instance, examination, property, value, runs }
}

fn accepted(checked: Result<(), CheckError>) -> bool {
    match checked {
        Ok(()) => true,
        Err(CheckError::Refused(_)) => false,
        Err(error) => panic!("{error}"),
    }
}

/// A random net with few places, and its instance with these formulas in an examination.
fn instance(random: &mut Random, formulas: &[(&str, Vec<String>)], conserves: bool) -> (TempDir, Archive) {
    let places = 2 + random.below(3);
    let initial: Vec<u64> = (0..places).map(|_| random.below(3) as u64).collect();
    let mut side = |size: usize| -> Vec<(usize, u64)> {
        let mut arcs: HashMap<usize, u64> = HashMap::new();
        for _ in 0..size {
            *arcs.entry(random.below(places)).or_default() += 1;
        }
        arcs.into_iter().collect()
    };
    let transitions: Vec<_> = (0..2 + places % 3)
        .map(|number| {
            let size = 1 + number % 2;
            [side(size), side(if conserves || number % 3 > 0 { size } else { number % 2 })]
        })
        .collect();
    let mut files = vec![("model.pnml".to_owned(), pnml(NAME, &initial, &transitions))];
    for (examination, formulas) in formulas {
        let numbered: Vec<_> =
            formulas.iter().enumerate().map(|(n, formula)| (format!("f{n}"), formula.clone())).collect();
        files.push((format!("{examination}.xml"), properties(&numbered)));
    }
    let folder = TempDir::new().unwrap();
    let archive = Archive::open(&pack(folder.path(), NAME, &files)).unwrap();
    (folder, archive)
}

/// A random state formula in XML over p0, p1, t0 and t1, which every net has.
fn state_formula(random: &mut Random, depth: usize) -> String {
    let place = |random: &mut Random| format!("<place>p{}</place>", random.below(2));
    match random.below(if depth == 0 { 3 } else { 6 }) {
        0 => {
            let (count, place) = (random.below(4), place(random));
            format!(
                "<integer-le><integer-constant>{count}</integer-constant><tokens-count>{place}</tokens-count></integer-le>"
            )
        }
        1 => {
            let (left, right) = (place(random), place(random));
            format!(
                "<integer-le><tokens-count>{left}{right}</tokens-count><tokens-count>{right}</tokens-count></integer-le>"
            )
        }
        2 => match random.below(4) {
            0 => "<deadlock/>".to_owned(),
            number => format!("<is-fireable><transition>t{}</transition></is-fireable>", number % 2),
        },
        3 => format!("<negation>{}</negation>", state_formula(random, depth - 1)),
        operator => {
            let name = if operator == 4 { "conjunction" } else { "disjunction" };
            let [left, right] = [(); 2].map(|()| state_formula(random, depth - 1));
            format!("<{name}>{left}{right}</{name}>")
        }
    }
}

/// A random formula of CTL, or of LTL below its quantifier.
fn temporal(random: &mut Random, depth: usize, linear: bool) -> String {
    if depth == 0 {
        return state_formula(random, 1);
    }
    let inner = temporal(random, depth - 1, linear);
    let operator = match random.below(5) {
        0 => format!("<globally>{inner}</globally>"),
        1 => format!("<finally>{inner}</finally>"),
        2 => format!("<next>{inner}</next>"),
        3 => return format!("<negation>{inner}</negation>"),
        _ => {
            let before = temporal(random, depth - 1, linear);
            format!("<until><before>{before}</before><reach>{inner}</reach></until>")
        }
    };
    match (linear, random.below(2)) {
        (true, _) => operator,
        (false, 0) => format!("<all-paths>{operator}</all-paths>"),
        (false, _) => format!("<exists-path>{operator}</exists-path>"),
    }
}

/// All reachable markings with their successors; None if there are more than 400.
fn explore(net: &Moves) -> Option<(Vec<Tokens>, Vec<Vec<usize>>)> {
    let mut numbers = HashMap::from([(net.initial.clone(), 0)]);
    let (mut markings, mut edges) = (vec![net.initial.clone()], Vec::new());
    while edges.len() < markings.len() {
        let marking = markings[edges.len()].clone();
        let successors = net.enabled(&marking).into_iter().map(|number| net.fire(&marking, number));
        let mut numbered = Vec::new();
        for next in successors.collect::<Vec<_>>() {
            let new = markings.len();
            let number = *numbers.entry(next.clone()).or_insert(new);
            if number == new {
                markings.push(next);
            }
            numbered.push(number);
        }
        edges.push(numbered);
        if markings.len() > 400 {
            return None;
        }
    }
    Some((markings, edges))
}

fn atom(net: &Moves, marking: &Tokens, formula: &Expr) -> bool {
    let tokens = |ids: &[String]| -> i128 {
        let tokens_in = |id: &String| -> i128 {
            let place = net.places.iter().position(|place| place == id).unwrap();
            marking.iter().filter(|((at, _), _)| *at == place).map(|(_, count)| *count).sum()
        };
        ids.iter().map(tokens_in).sum()
    };
    let number = |count: &Count| match count {
        Count::Constant(number) => i128::from(*number),
        Count::Tokens(ids) => tokens(ids),
    };
    match formula {
        Expr::Le(left, right) => number(left) <= number(right),
        Expr::Deadlock => net.enabled(marking).is_empty(),
        Expr::Fireable(ids) => {
            net.enabled(marking).into_iter().any(|number| ids.contains(&net.moves[number].step.transition))
        }
        _ => panic!("not an atom"),
    }
}

/// CTL by fixed points: the markings that satisfy the formula. Paths are maximal and may end in deadlocks.
fn ctl(net: &Moves, markings: &[Tokens], edges: &[Vec<usize>], formula: &Expr) -> Vec<bool> {
    let by_marking = |formula: &Expr| ctl(net, markings, edges, formula);
    let all = |each: &dyn Fn(usize) -> bool| -> Vec<bool> { (0..markings.len()).map(each).collect() };
    let until = |before: Vec<bool>, reach: Vec<bool>, some: bool| {
        let mut result = reach;
        loop {
            let grown = all(&|at| {
                let next = &edges[at];
                let after = if some {
                    next.iter().any(|next| result[*next])
                } else {
                    !next.is_empty() && next.iter().all(|next| result[*next])
                };
                result[at] || before[at] && after
            });
            if grown == result {
                return result;
            }
            result = grown;
        }
    };
    match formula {
        Expr::Not(inner) => by_marking(inner).into_iter().map(|truth| !truth).collect(),
        Expr::And(parts) => {
            let parts: Vec<_> = parts.iter().map(by_marking).collect();
            all(&|at| parts.iter().all(|part| part[at]))
        }
        Expr::Or(parts) => {
            let parts: Vec<_> = parts.iter().map(by_marking).collect();
            all(&|at| parts.iter().any(|part| part[at]))
        }
        Expr::AllPaths(path) | Expr::ExistsPath(path) => {
            let some = matches!(formula, Expr::ExistsPath(_));
            let anywhere = vec![true; markings.len()];
            match &**path {
                Expr::Next(inner) => {
                    let inner = by_marking(inner);
                    if some {
                        all(&|at| edges[at].iter().any(|next| inner[*next]))
                    } else {
                        all(&|at| edges[at].iter().all(|next| inner[*next]))
                    }
                }
                Expr::Finally(inner) => until(anywhere, by_marking(inner), some),
                Expr::Globally(inner) => {
                    let not = by_marking(inner).into_iter().map(|truth| !truth).collect();
                    until(anywhere, not, !some).into_iter().map(|truth| !truth).collect()
                }
                Expr::Until(before, reach) => until(by_marking(before), by_marking(reach), some),
                _ => panic!("not CTL"),
            }
        }
        _ => all(&|at| atom(net, &markings[at], formula)),
    }
}

/// LTL on a complete run by its definition: the positions after the last one go back to `back`.
fn ltl(net: &Moves, run: &[Tokens], back: usize, at: usize, formula: &Expr) -> bool {
    let next = |at: usize| if at + 1 < run.len() { at + 1 } else { back };
    let from = |at: usize| {
        let mut position = at;
        (0..2 * run.len()).map(move |_| {
            let here = position;
            position = next(here);
            here
        })
    };
    let holds = |at: usize, formula: &Expr| ltl(net, run, back, at, formula);
    match formula {
        Expr::Not(inner) => !holds(at, inner),
        Expr::And(parts) => parts.iter().all(|part| holds(at, part)),
        Expr::Or(parts) => parts.iter().any(|part| holds(at, part)),
        Expr::Next(inner) => holds(next(at), inner),
        Expr::Globally(inner) => from(at).all(|at| holds(at, inner)),
        Expr::Finally(inner) => from(at).any(|at| holds(at, inner)),
        Expr::Until(before, reach) => {
            let mut positions = from(at);
            positions.find(|at| holds(*at, reach) || !holds(*at, before)).is_some_and(|at| holds(at, reach))
        }
        _ => atom(net, &run[at], formula),
    }
}

fn formula(archive: &Archive, examination: &str) -> Expr {
    match archive.properties(examination).unwrap().unwrap().remove(0).formula {
        Formula::Boolean(formula) => *formula,
        Formula::PlaceBound(_) => panic!("a bound"),
    }
}

#[test]
fn the_tableau_of_an_ltl_formula_keeps_the_limit_of_memory() {
    let atom = "<integer-le><tokens-count><place>p0</place></tokens-count><integer-constant>1</integer-constant>\
                </integer-le>";
    let mut formula = atom.to_owned();
    for number in 0..14 {
        let [before, reach] = if number % 2 == 0 { [atom, &formula] } else { [&formula, atom] };
        formula = format!("<until><before>{before}</before><reach>{reach}</reach></until>");
    }
    let formula = format!("<all-paths>{formula}</all-paths>");
    let (_folder, archive) = instance(&mut Random(1), &[("LTLCardinality", vec![formula])], true);
    let checker = Instance::read(&archive).unwrap();
    let cancel = std::sync::atomic::AtomicBool::new(false);
    let all = checker.explore(std::time::Duration::from_secs(600), 1 << 22, &cancel).unwrap();
    let error = all.value("LTLCardinality", "f0").unwrap_err();
    assert!(error.to_string().contains("needs more memory than its limit"), "{error}");
}

/// The value of a formula on a net with 2001 markings, within the memory of their tables and of this number of truth tables.
fn value_within(tables: u64, examination: &str, formula: String) -> Result<Option<Value>, CheckError> {
    let moves = [[vec![(0, 1)], vec![(1, 1)]]];
    let files = [
        ("model.pnml".to_owned(), pnml(NAME, &[2000, 0], &moves)),
        (format!("{examination}.xml"), properties(&[("f0".to_owned(), formula)])),
    ];
    let folder = TempDir::new().unwrap();
    let checker = Instance::read(&Archive::open(&pack(folder.path(), NAME, &files)).unwrap()).unwrap();
    let cancel = std::sync::atomic::AtomicBool::new(false);
    let explore = |memory| checker.explore(std::time::Duration::from_secs(600), memory, &cancel).unwrap();
    let all = explore(1 << 26);
    assert_eq!(all.markings(), 2001);
    explore(all.memory_bytes() + tables * 2001).value(examination, "f0")
}

/// At least this number of tokens on p0.
fn at_least(number: usize) -> String {
    format!(
        "<integer-le><integer-constant>{number}</integer-constant>\
         <tokens-count><place>p0</place></tokens-count></integer-le>"
    )
}

fn assert_memory(value: Result<Option<Value>, CheckError>) {
    let error = value.unwrap_err().to_string();
    assert!(error.contains("needs more memory than its limit"), "{error}");
}

/// The threads of tests have a stack of 2 MiB.
#[test]
fn the_stack_of_the_explorer_does_not_grow_with_the_number_of_formulas() {
    let finally = format!("<finally>{}</finally>", at_least(2001)).repeat(4000);
    let formula = format!("<all-paths><disjunction>{finally}</disjunction></all-paths>");
    assert_eq!(value_within(1000, "LTLCardinality", formula).unwrap(), Some(Value::Truth(false)));
    // The tableau has a set for each choice of the next 13 markings.
    let later = format!("{}{}{}", "<next>".repeat(13), at_least(0), "</next>".repeat(13));
    let formula = format!(
        "<exists-path><globally><disjunction>{}{later}</disjunction></globally></exists-path>",
        at_least(1)
    );
    assert_eq!(value_within(5000, "LTLCardinality", formula).unwrap(), Some(Value::Truth(true)));
}

#[test]
fn the_open_branches_of_a_tableau_keep_the_limit_of_memory() {
    // Each negation is a branch, which the last formula ends.
    let formula = |number: usize| {
        let either = format!(
            "<negation><conjunction><next>{}</next>{}</conjunction></negation>",
            at_least(2001),
            at_least(2)
        );
        format!(
            "<exists-path><conjunction>{}{}</conjunction></exists-path>",
            either.repeat(number),
            at_least(2)
        )
    };
    assert_eq!(value_within(100, "LTLCardinality", formula(30)).unwrap(), Some(Value::Truth(true)));
    assert_memory(value_within(100, "LTLCardinality", formula(300)));
}

#[test]
fn the_truth_tables_of_the_explorer_keep_the_limit_of_memory() {
    let linear = |number: &dyn Fn(usize) -> usize| {
        let next: String = (0..300).map(|at| format!("<next>{}</next>", at_least(number(at)))).collect();
        format!("<exists-path><conjunction>{next}</conjunction></exists-path>")
    };
    assert_memory(value_within(100, "LTLCardinality", linear(&|at| at)));
    // Equal formulas have one table.
    assert_eq!(value_within(100, "LTLCardinality", linear(&|_| 7)).unwrap(), Some(Value::Truth(true)));
    let branching = |depth: usize| {
        let inner = format!("<conjunction>{}<exists-path><next>", at_least(1)).repeat(depth);
        format!("{inner}{}{}", at_least(1), "</next></exists-path></conjunction>".repeat(depth))
    };
    assert_memory(value_within(100, "CTLCardinality", branching(300)));
    assert_eq!(value_within(400, "CTLCardinality", branching(300)).unwrap(), Some(Value::Truth(true)));
    let until = |depth: usize| {
        let outer = format!("<exists-path><until><before>{}</before><reach>", at_least(1)).repeat(depth);
        format!("{outer}{}{}", at_least(0), "</reach></until></exists-path>".repeat(depth))
    };
    assert_memory(value_within(100, "CTLCardinality", until(300)));
    assert_eq!(value_within(400, "CTLCardinality", until(300)).unwrap(), Some(Value::Truth(true)));
    // One operand needs no table beside its own.
    let nested = format!(
        "{}{}{}",
        "<all-paths><finally>".repeat(300),
        at_least(0),
        "</finally></all-paths>".repeat(300)
    );
    assert_eq!(value_within(100, "CTLCardinality", nested).unwrap(), Some(Value::Truth(true)));
}

/// An examination whose file cannot be read is a question without a value: the explorer states that not all is explored.
#[test]
fn the_explorer_leaves_out_no_file_that_it_cannot_read() {
    let (_folder, archive) =
        instance(&mut Random(1), &[("CTLCardinality", vec!["<nonsense/>".to_owned()])], true);
    let checker = Instance::read(&archive).unwrap();
    let unreadable = ("CTLCardinality".to_owned(), "CTLCardinality".to_owned());
    assert!(checker.questions().contains(&unreadable), "{:?}", checker.questions());
    let cancel = std::sync::atomic::AtomicBool::new(false);
    let all = checker.explore(std::time::Duration::from_secs(60), 1 << 26, &cancel).unwrap();
    let error = all.value("CTLCardinality", "CTLCardinality").unwrap_err();
    assert!(error.to_string().contains("nonsense"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, max_shrink_iters: 0, ..ProptestConfig::default() })]

    /// EF and AG: a run is accepted exactly if one of its markings satisfies (or violates) the formula.
    #[test]
    fn reachability_is_accepted_by_its_markings_only(seed in 1_u64..u64::MAX) {
        let mut random = Random(seed);
        let state = state_formula(&mut random, 2);
        let some = format!("<exists-path><finally>{state}</finally></exists-path>");
        let all = format!("<all-paths><globally>{state}</globally></all-paths>");
        let (_folder, archive) =
            instance(&mut random, &[("ReachabilityCardinality", vec![some, all])], false);
        let (net, checker) = (Moves::read(&archive), Instance::read(&archive).unwrap());
        let Expr::ExistsPath(path) = formula(&archive, "ReachabilityCardinality") else { panic!("EF") };
        let Expr::Finally(state) = *path else { panic!("EF") };
        for length in [0, 1, 3, 6] {
            let (mut run, markings) = net.walk(&mut random, length, false);
            let truths: Vec<bool> =
                markings.iter().map(|marking| ctl(&net, std::slice::from_ref(marking), &[vec![]], &state)[0]).collect();
            let check = |property: &str, truth: bool, run: &Run| {
                let run = vec![run.clone()];
                accepted(checker.check_witness(&witness("ReachabilityCardinality", property, Value::Truth(truth), run)))
            };
            prop_assert_eq!(check("f0", true, &run), truths.contains(&true));
            prop_assert_eq!(check("f1", false, &run), truths.contains(&false));
            // A step that is not enabled.
            let last = &markings[markings.len() - 1];
            if let Some(disabled) = (0..net.moves.len()).find(|number| !net.enabled(last).contains(number)) {
                run.steps.push(net.moves[disabled].step.clone());
                prop_assert!(!check("f0", true, &run) && !check("f1", false, &run));
            }
        }
    }

    /// CTL: an accepted run shows what all markings show.
    #[test]
    fn accepted_ctl_values_are_those_of_exploration(seed in 1_u64..u64::MAX) {
        let mut random = Random(seed);
        let text = temporal(&mut random, 3, false);
        let (_folder, archive) = instance(&mut random, &[("CTLCardinality", vec![text])], false);
        let (net, checker) = (Moves::read(&archive), Instance::read(&archive).unwrap());
        let Some((markings, edges)) = explore(&net) else { return Ok(()) };
        let truth = ctl(&net, &markings, &edges, &formula(&archive, "CTLCardinality"))[0];
        for length in 0..12 {
            let (run, _) = net.walk(&mut random, length, length % 2 == 0);
            let check = |truth| checker.check_witness(&witness("CTLCardinality", "f0", Value::Truth(truth), vec![run.clone()]));
            prop_assert!(!accepted(check(!truth)), "{:?} shows {}", run, !truth);
        }
    }

    /// LTL: a lasso, and a run into a deadlock, are accepted exactly if they violate the formula.
    #[test]
    fn complete_runs_decide_ltl_by_its_definition(seed in 1_u64..u64::MAX) {
        let mut random = Random(seed);
        let text = format!("<all-paths>{}</all-paths>", temporal(&mut random, 3, true));
        let (_folder, archive) = instance(&mut random, &[("LTLFireability", vec![text])], true);
        let (net, checker) = (Moves::read(&archive), Instance::read(&archive).unwrap());
        let Expr::AllPaths(path) = formula(&archive, "LTLFireability") else { panic!("A") };
        for _ in 0..8 {
            let (run, markings) = net.walk(&mut random, 30, true);
            let check = |run: &Run, truth| {
                let run = vec![run.clone()];
                accepted(checker.check_witness(&witness("LTLFireability", "f0", Value::Truth(truth), run)))
            };
            let (positions, back) = match run.loop_start {
                Some(start) => (&markings[..markings.len() - 1], start),
                None if net.enabled(&markings[markings.len() - 1]).is_empty() => (&markings[..], markings.len() - 1),
                None => continue,
            };
            let violated = !ltl(&net, positions, back, 0, &path);
            prop_assert_eq!(check(&run, false), violated, "{:?}", run);
            // A beginning of the run is accepted only if its end does not matter.
            let mut start = run.clone();
            start.loop_start = None;
            start.steps.truncate(random.below(run.steps.len() + 1));
            prop_assert!(violated || !check(&start, false), "{:?}", start);
        }
    }

    /// The explorer: it finds the markings, the truth of CTL formulas, and no path that violates an LTL formula that it calls true.
    #[test]
    fn the_explorer_decides_as_the_definitions(seed in 1_u64..u64::MAX) {
        let mut random = Random(seed);
        let branching = (0..4).map(|_| temporal(&mut random, 3, false)).collect();
        let linear = (0..4).map(|_| format!("<all-paths>{}</all-paths>", temporal(&mut random, 3, true))).collect();
        let (_folder, archive) =
            instance(&mut random, &[("CTLCardinality", branching), ("LTLCardinality", linear)], seed % 2 == 0);
        let (net, checker) = (Moves::read(&archive), Instance::read(&archive).unwrap());
        let Some((markings, edges)) = explore(&net) else { return Ok(()) };
        let cancel = std::sync::atomic::AtomicBool::new(false);
        let all = checker.explore(std::time::Duration::from_secs(60), 1 << 26, &cancel).unwrap();
        let value = |examination: &str, id: &str| all.value(examination, id).unwrap().unwrap();
        let firings = edges.iter().map(Vec::len).sum::<usize>();
        prop_assert_eq!(value("StateSpace", "STATES"), Value::Number(BigUint::from(markings.len())));
        prop_assert_eq!(value("StateSpace", "TRANSITIONS"), Value::Number(BigUint::from(firings)));
        let most = markings.iter().flat_map(|marking| marking.values()).max().copied().unwrap_or(0);
        prop_assert_eq!(value("StateSpace", "MAX_TOKEN_IN_PLACE"), Value::Number(BigUint::from(most as u128)));
        for property in archive.properties("CTLCardinality").unwrap().unwrap() {
            let Formula::Boolean(formula) = property.formula else { panic!("a bound") };
            let truth = ctl(&net, &markings, &edges, &formula)[0];
            prop_assert_eq!(value("CTLCardinality", &property.id), Value::Truth(truth), "{:?}", formula);
        }
        for property in archive.properties("LTLCardinality").unwrap().unwrap() {
            let Formula::Boolean(formula) = property.formula else { panic!("a bound") };
            let Expr::AllPaths(path) = *formula else { panic!("A") };
            let found = value("LTLCardinality", &property.id);
            // Many complete runs of a small net have one that violates the formula, if there is any.
            let mut violated = false;
            for _ in 0..60 {
                let (run, markings) = net.walk(&mut random, 30, true);
                let (positions, back) = match run.loop_start {
                    Some(start) => (&markings[..markings.len() - 1], start),
                    None if net.enabled(&markings[markings.len() - 1]).is_empty() => (&markings[..], markings.len() - 1),
                    None => continue,
                };
                violated |= !ltl(&net, positions, back, 0, &path);
            }
            prop_assert!(!violated || found == Value::Truth(false), "{path:?}");
        }
    }

    /// Certificates: an accepted upper bound is one, for random lemmas.
    #[test]
    fn accepted_certificates_bound_all_markings(seed in 1_u64..u64::MAX) {
        let mut random = Random(seed);
        let bound = "<place-bound><place>p0</place><place>p1</place></place-bound>".to_owned();
        let (_folder, archive) = instance(&mut random, &[("UpperBounds", vec![bound])], seed % 3 > 0);
        let (net, checker) = (Moves::read(&archive), Instance::read(&archive).unwrap());
        let Some((markings, _)) = explore(&net) else { return Ok(()) };
        let sum = |marking: &Tokens| -> i128 { (0..2).filter_map(|place| marking.get(&(place, 0))).sum() };
        let most = markings.iter().map(sum).max().unwrap();
        for _ in 0..40 {
            let weights: Vec<i64> = net.places.iter().map(|_| random.below(4) as i64 - 1).collect();
            let number = |place: usize| net.initial.get(&(place, 0)).copied().unwrap_or_default() as i64;
            let initial: i64 = weights.iter().enumerate().map(|(place, weight)| weight * number(place)).sum();
            let term = |(place, weight): (&String, &i64)| {
                Weight { place: place.clone(), colour: None, weight: rational(&weight.to_string()) }
            };
            let lemma = match random.below(4) {
                0 => Lemma::Trap(
                    net.places.iter().filter(|_| random.below(2) == 0)
                        .map(|place| PlaceName { place: place.clone(), colour: None }).collect(),
                ),
                _ => Lemma::Inequality {
                    weights: net.places.iter().zip(&weights).map(term).collect(),
                    bound: rational(&(initial + random.below(2) as i64).to_string()),
                },
            };
            for value in [most - 1, most] {
                let Ok(value) = u64::try_from(value) else { continue };
                let one = || rational("1");
                let certificate = Certificate {
                    version: VERSION,
                    instance: NAME.to_owned(),
                    examination: "UpperBounds".to_owned(),
                    property: "f0".to_owned(),
                    value: Value::Number(BigUint::from(value)),
                    subject: None,
                    method: None,
                    lemmas: vec![lemma.clone()],
                    proof: vec![ProofStep::Contradiction { lemmas: vec![(0, one())], assumptions: vec![(0, one())] }],
                    parts: Vec::new(),
                };
                let is_accepted = accepted(checker.check_certificate(&certificate));
                prop_assert!(!is_accepted || i128::from(value) >= most, "{certificate:?}");
            }
        }
    }
}
