//! All methods on small random nets, compared with a naive exploration and the definitions of the logics.

use crate::automaton::Automaton;
use crate::budget::{Budget, Limits, Stop};
use crate::constants::{Constants, Folding};
use crate::ctl::{Checker, label};
use crate::ctl_run::{Runs, searches};
use crate::dead_parts::without_dead_parts;
use crate::diagram::formulas::Sets;
use crate::diagram::{Diagram, orders};
use crate::explore::explore;
use crate::fair::excludes;
use crate::formula::{Ltl, Pred, Preds, Sum};
use crate::growth::{Growth, grow, grow_in_parts};
use crate::net::{Arcs, Compiled, Marking, Named};
use crate::proof_lp::Structure;
use crate::relaxed_plan::follow_plans;
use crate::search::{Aim, Goal, best_first, walk, walk_in_bulk, without_cycles};
use crate::space::{Run, search_growing, search_known};
use crate::walker::Walker;
use mcc_base::random::SplitMix;
use mcc_model::Ctl;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

fn limits(time: Duration) -> Limits<'static> {
    Limits::new(&Budget::of_time(time))
}

const AN_HOUR: Duration = Duration::from_secs(3600);

/// Nets with at most this number of markings are used.
const MAX_MARKINGS: usize = 300;

fn arcs(places: u32) -> impl Strategy<Value = Vec<(u32, u64)>> {
    prop::collection::btree_map(0..places, 1..3_u64, 0..3).prop_map(|arcs| arcs.into_iter().collect())
}

/// A net with few places, and three predicates of its markings.
fn nets() -> impl Strategy<Value = (Compiled, Vec<Pred>)> {
    (2..6_u32).prop_flat_map(|places| {
        let transition = (arcs(places), arcs(places)).prop_map(|(inputs, outputs)| Arcs { inputs, outputs });
        let transitions = prop::collection::vec(transition, 1..6);
        let initial = prop::collection::vec(0..3_u64, places as usize);
        let pred = (prop::collection::vec(0..places, 1..3), 0..3_u64, any::<bool>()).prop_map(
            |(places, constant, negated)| {
                let le = Pred::Le(Sum { places, constant: 0 }, Sum { places: Vec::new(), constant });
                if negated { le.not() } else { le }
            },
        );
        let preds = prop::collection::vec(pred, 2);
        (initial, transitions, preds).prop_map(|(initial, transitions, mut preds)| {
            preds.push(Pred::Fireable(vec![0]));
            preds.push(Pred::Dead);
            preds.push(Pred::True);
            (Compiled::new(initial, &transitions), preds)
        })
    })
}

/// The net with so many copies of each transition, so that places have many consumers.
fn copied(net: &Compiled, copies: usize) -> Compiled {
    let arcs = |transition: u32| {
        let inputs = net.inputs(transition).to_vec();
        let mut outputs: BTreeMap<u32, u64> = inputs.iter().copied().collect();
        for change in net.changes(transition) {
            let tokens = outputs.entry(change.place).or_default();
            *tokens = *tokens - change.less + change.more;
        }
        Arcs { inputs, outputs: outputs.into_iter().filter(|(_, tokens)| *tokens > 0).collect() }
    };
    let all = 0..net.transitions() as u32;
    let transitions: Vec<Arcs> = all.flat_map(|one| std::iter::repeat_n(arcs(one), copies)).collect();
    Compiled::new(net.initial.clone(), &transitions)
}

/// The graph by the definition. None: too large.
struct Naive {
    markings: Vec<Marking>,
    edges: Vec<Vec<usize>>,
}

fn naive(net: &Compiled) -> Option<Naive> {
    let mut numbers = BTreeMap::from([(net.initial.clone(), 0)]);
    let (mut markings, mut edges) = (vec![net.initial.clone()], Vec::new());
    while edges.len() < markings.len() {
        let mut to = Vec::new();
        for transition in 0..net.transitions() as u32 {
            let mut marking = markings[edges.len()].clone();
            if net.inputs(transition).iter().any(|(place, weight)| marking[*place as usize] < *weight) {
                continue;
            }
            net.fire(transition, &mut marking).unwrap();
            let next = numbers.len();
            let number = *numbers.entry(marking.clone()).or_insert(next);
            if number == next {
                markings.push(marking);
            }
            to.push(number);
        }
        edges.push(to);
        if markings.len() > MAX_MARKINGS {
            return None;
        }
    }
    Some(Naive { markings, edges })
}

fn ctl() -> impl Strategy<Value = Ctl> {
    let leaf = (0..5_usize).prop_map(Ctl::Pred);
    leaf.prop_recursive(4, 12, 3, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        prop_oneof![
            inner.clone().prop_map(Ctl::negated),
            prop::collection::vec(inner.clone(), 1..3).prop_map(Ctl::And),
            prop::collection::vec(inner, 1..3).prop_map(Ctl::Or),
            boxed.clone().prop_map(Ctl::ExistsNext),
            (boxed.clone(), boxed.clone()).prop_map(|(before, reach)| Ctl::ExistsUntil(before, reach)),
            (boxed.clone(), boxed).prop_map(|(before, reach)| Ctl::AllUntil(before, reach)),
        ]
    })
}

/// The truth of a formula by state, by the definition of the operators as least fixpoints.
fn truth(formula: &Ctl, graph: &Naive, labels: &[Vec<bool>]) -> Vec<bool> {
    let all = graph.edges.len();
    let by_state = |formula: &Ctl| truth(formula, graph, labels);
    let fixpoint = |before: &Ctl, reach: &Ctl, some: bool| {
        let (before, mut result) = (by_state(before), by_state(reach));
        loop {
            let old = result.clone();
            for state in 0..all {
                let next = &graph.edges[state];
                let continues = if some {
                    next.iter().any(|next| old[*next])
                } else {
                    !next.is_empty() && next.iter().all(|next| old[*next])
                };
                result[state] |= before[state] && continues;
            }
            if result == old {
                return result;
            }
        }
    };
    match formula {
        Ctl::Pred(number) => labels[*number].clone(),
        Ctl::Not(inner) => by_state(inner).into_iter().map(|truth| !truth).collect(),
        Ctl::And(parts) => (0..all).map(|state| parts.iter().all(|part| by_state(part)[state])).collect(),
        Ctl::Or(parts) => (0..all).map(|state| parts.iter().any(|part| by_state(part)[state])).collect(),
        Ctl::ExistsNext(inner) => {
            let inner = by_state(inner);
            graph.edges.iter().map(|next| next.iter().any(|next| inner[*next])).collect()
        }
        Ctl::ExistsUntil(before, reach) => fixpoint(before, reach, true),
        Ctl::AllUntil(before, reach) => fixpoint(before, reach, false),
    }
}

fn ltl() -> impl Strategy<Value = Ltl> {
    let leaf = (0..4_usize, any::<bool>()).prop_map(|(number, truth)| Ltl::Pred(number, truth));
    leaf.prop_recursive(4, 12, 3, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let finally = boxed.clone().prop_map(|inner| Ltl::Until(Box::new(Ltl::True), inner));
        let globally = boxed.clone().prop_map(|inner| Ltl::Release(Box::new(Ltl::False), inner));
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..3).prop_map(Ltl::And),
            prop::collection::vec(inner, 1..3).prop_map(Ltl::Or),
            boxed.clone().prop_map(Ltl::Next),
            finally,
            globally,
            (boxed.clone(), boxed.clone()).prop_map(|(before, reach)| Ltl::Until(before, reach)),
            (boxed.clone(), boxed).prop_map(|(end, holds)| Ltl::Release(end, holds)),
        ]
    })
}

/// The truth of a path formula at each position of a word whose last letter is followed by the one at `back`.
fn on_word(formula: &Ltl, word: &[Vec<bool>], back: usize) -> Vec<bool> {
    let next = |at: usize| if at + 1 == word.len() { back } else { at + 1 };
    let along = |formula: &Ltl| on_word(formula, word, back);
    // From the neutral value, each round makes positions right that are one step further from the solution.
    let fixpoint = |start: bool, step: &dyn Fn(usize, bool) -> bool| {
        let mut result = vec![start; word.len()];
        for _ in 0..=word.len() {
            for at in (0..word.len()).rev() {
                result[at] = step(at, result[next(at)]);
            }
        }
        result
    };
    match formula {
        Ltl::True => vec![true; word.len()],
        Ltl::False => vec![false; word.len()],
        Ltl::Pred(number, truth) => word.iter().map(|letter| letter[*number] == *truth).collect(),
        Ltl::And(parts) => (0..word.len()).map(|at| parts.iter().all(|part| along(part)[at])).collect(),
        Ltl::Or(parts) => (0..word.len()).map(|at| parts.iter().any(|part| along(part)[at])).collect(),
        Ltl::Next(inner) => {
            let inner = along(inner);
            (0..word.len()).map(|at| inner[next(at)]).collect()
        }
        Ltl::Until(before, reach) => {
            let (before, reach) = (along(before), along(reach));
            fixpoint(false, &|at, next| reach[at] || before[at] && next)
        }
        Ltl::Release(end, holds) => {
            let (end, holds) = (along(end), along(holds));
            fixpoint(true, &|at, next| holds[at] && (end[at] || next))
        }
    }
}

/// The predicates along a run. If every continuation of its stem is accepted, a random one is added.
fn word(net: &Compiled, preds: &[Pred], run: &Run, random: &mut SplitMix) -> (Vec<Vec<bool>>, usize) {
    let mut tokens = net.initial.clone();
    let letter = |tokens: &[u64]| preds.iter().map(|pred| pred.holds(net, tokens)).collect::<Vec<_>>();
    let mut word = vec![letter(&tokens)];
    for &transition in run.stem.iter().chain(run.cycle.iter().flatten()) {
        assert!(net.is_enabled(transition, &tokens));
        net.fire(transition, &mut tokens).unwrap();
        word.push(letter(&tokens));
    }
    match &run.cycle {
        Some(cycle) if cycle.is_empty() => assert!(net.is_dead(&tokens)),
        Some(_) => {
            let last = word.pop();
            assert_eq!(last.as_ref(), word.get(run.stem.len()), "the cycle returns to its start");
        }
        None => {
            let mut visited = vec![tokens.clone()];
            loop {
                let enabled: Vec<u32> =
                    (0..net.transitions() as u32).filter(|one| net.is_enabled(*one, &tokens)).collect();
                if !enabled.is_empty() {
                    net.fire(enabled[random.below(enabled.len())], &mut tokens).unwrap();
                }
                if let Some(back) = visited.iter().position(|marking| *marking == tokens) {
                    return (word, run.stem.len() + back);
                }
                visited.push(tokens.clone());
                word.push(letter(&tokens));
            }
        }
    }
    (word, run.stem.len())
}

/// A random run until a marking is repeated or dead.
fn random_run(graph: &Naive, random: &mut SplitMix) -> (Vec<usize>, usize) {
    let mut states = vec![0];
    loop {
        let last = states[states.len() - 1];
        let next = &graph.edges[last];
        if next.is_empty() {
            let back = states.len() - 1;
            return (states, back);
        }
        let next = next[random.below(next.len())];
        // A marking may be passed several times before the run returns to it forever.
        match states.iter().position(|state| *state == next) {
            Some(back) if random.below(2) == 0 || states.len() > 60 => return (states, back),
            _ => states.push(next),
        }
    }
}

proptest! {
    #[test]
    fn exploration_finds_exactly_the_reachable_markings((net, _) in nets()) {
        let Some(expected) = naive(&net) else { return Ok(()) };
        let limits = limits(AN_HOUR);
        let graph = explore(&net, &net.initial, &limits);
        prop_assert!(graph.is_complete());
        prop_assert_eq!(graph.states(), expected.markings.len());
        prop_assert_eq!(graph.firings(), expected.edges.iter().map(Vec::len).sum::<usize>());
        let mut wrong = Vec::new();
        graph.each(&net, &limits, 1, |state, marking| {
            let mut tokens = net.initial.clone();
            for transition in graph.path_to(&net, state) {
                assert!(net.is_enabled(transition, &tokens));
                net.fire(transition, &mut tokens).unwrap();
            }
            if tokens != marking.tokens || !expected.markings.contains(&tokens) {
                wrong.push(state);
            }
        }).unwrap();
        prop_assert!(wrong.is_empty());
    }

    #[test]
    fn ctl_equals_its_definition((net, preds) in nets(), formula in ctl(), keep in 0..40_usize) {
        let Some(expected) = naive(&net) else { return Ok(()) };
        let labels: Vec<Vec<bool>> = preds.iter()
            .map(|pred| expected.markings.iter().map(|marking| pred.holds(&net, marking)).collect())
            .collect();
        let right = truth(&formula, &expected, &labels)[0];
        let limits = limits(AN_HOUR);
        let named = Named { net: net.clone(), ..Named::default() };
        let structure = Structure::from_net(&named);
        for search in searches(&formula, &preds) {
            let mut automaton = Automaton::new(&search.formula).unwrap();
            let (run, _) =
                search_growing(&net, &net.initial, &search.preds, &mut automaton, 0, &limits).unwrap();
            let decides = if run.is_some() { search.enough } else { search.exact };
            if decides {
                prop_assert_eq!(run.is_some() == search.shows, right, "{:?}", search);
            }
            if excludes(&named, &structure, &search, &limits).is_some() {
                prop_assert!(run.is_none(), "{:?}", search);
            }
        }
        let mut graph = explore(&net, &net.initial, &limits);
        for _ in 0..2 {
            let labels = label(&net, &graph, &preds, &limits).unwrap();
            let checker = Checker::new(&net, &graph, &limits).unwrap();
            let found = checker.holds_initially(&formula, &labels, &limits).unwrap();
            prop_assert!(found.is_none_or(|found| found == right), "{:?} {}", found, right);
            prop_assert!(found.is_some() || !graph.is_complete());
            let runs = Runs::new(&graph, &checker, &labels);
            prop_assert!(runs.find(&formula, !right).is_none(), "a run shows the wrong truth");
            drop(checker);
            // Then the same with a part of the graph.
            graph.forget(keep);
        }
    }

    #[test]
    fn formulas_without_constant_comparisons_have_the_same_truth(
        (net, preds) in nets(), formula in ctl(), path in ltl(), seed in any::<u64>()
    ) {
        let Some(expected) = naive(&net) else { return Ok(()) };
        let named = Named { net: net.clone(), ..Named::default() };
        let structure = Structure::from_net(&named);
        let (mut constants, limits) = (Constants::default(), limits(AN_HOUR));
        preds.iter().for_each(|pred| constants.examine(pred, &named, &structure, None, &limits));
        let labels = |preds: &[Pred]| -> Vec<Vec<bool>> {
            let label = |pred: &Pred| expected.markings.iter().map(|marking| pred.holds(&net, marking)).collect();
            preds.iter().map(label).collect()
        };
        let (mut of_formula, mut of_path) = (Preds::from(preds.clone()), Preds::from(preds.clone()));
        let shorter = Folding::new(&constants, &net, &structure, &limits).ctl(&formula, &mut of_formula);
        let before = truth(&formula, &expected, &labels(&preds));
        prop_assert_eq!(truth(&shorter, &expected, &labels(&of_formula)), before, "{:?}", shorter);
        let shorter = Folding::new(&constants, &net, &structure, &limits).ltl(&path, &mut of_path);
        let labels = labels(&of_path);
        let mut random = SplitMix(seed);
        for _ in 0..20 {
            let (states, back) = random_run(&expected, &mut random);
            let word: Vec<Vec<bool>> =
                states.iter().map(|state| labels.iter().map(|label| label[*state]).collect()).collect();
            prop_assert_eq!(on_word(&shorter, &word, back)[0], on_word(&path, &word, back)[0], "{:?}", shorter);
        }
    }

    #[test]
    fn sets_of_markings_equal_their_definition(
        (net, mut preds) in nets(), formula in ctl(), order in 0..4_usize, other in any::<bool>()
    ) {
        let Some(expected) = naive(&net) else { return Ok(()) };
        // Places on both sides.
        if let (Pred::Le(first, _), Pred::Le(second, _)) = (&preds[0], &preds[1]) && other {
            preds[0] = Pred::Le(first.clone(), second.clone());
        }
        let numbers = |count: usize| (0..count as u32).map(|number| number..number + 1).collect::<Vec<_>>();
        let (places, transitions) = (numbers(net.places()), numbers(net.transitions()));
        let named = Named { net: net.clone(), places, transitions, ..Named::default() };
        preds.extend((0..net.transitions() as u32).map(|transition| Pred::Fireable(vec![transition])));
        let labels: Vec<Vec<bool>> = preds.iter()
            .map(|pred| expected.markings.iter().map(|marking| pred.holds(&net, marking)).collect())
            .collect();
        let limits = limits(AN_HOUR);
        let orders = orders(&net, &limits).unwrap();
        let mut diagram = Diagram::new(&net, &orders[order], &limits).unwrap();
        let structure = Structure::from_net(&named);
        let all: Vec<u32> = (0..net.transitions() as u32).collect();
        let mut sets = Sets::new(&mut diagram, !structure.can_repeat(&all, limits.end()));
        prop_assert_eq!(
            sets.holds_initially(&formula, &preds).unwrap(),
            truth(&formula, &expected, &labels)[0]
        );
        for (pred, label) in preds.iter().zip(&labels) {
            prop_assert_eq!(sets.is_reachable(pred).unwrap(), label.contains(&true), "{:?}", pred);
        }
        let finally = |formula: Ctl| Ctl::ExistsUntil(Box::new(Ctl::Pred(4)), Box::new(formula));
        let is_live = |transition: usize| {
            let always = finally(finally(Ctl::Pred(5 + transition)).negated()).negated();
            truth(&always, &expected, &labels)[0]
        };
        prop_assert_eq!(
            sets.all_enabled(&named, false).unwrap(),
            labels[5..].iter().all(|label| label.contains(&true))
        );
        prop_assert_eq!(sets.all_enabled(&named, true).unwrap(), (0..net.transitions()).all(is_live));
        prop_assert_eq!(
            sets.is_safe(&named).unwrap(),
            expected.markings.iter().flatten().all(|tokens| *tokens < 2)
        );
        let is_stable = (0..net.places())
            .any(|place| expected.markings.iter().all(|marking| marking[place] == net.initial[place]));
        prop_assert_eq!(sets.is_stable(&named), Some(is_stable));
    }

    #[test]
    fn ltl_equals_its_definition((net, preds) in nets(), formula in ltl(), seed in any::<u64>()) {
        let Some(expected) = naive(&net) else { return Ok(()) };
        let limits = limits(AN_HOUR);
        let mut automaton = Automaton::new(&formula).unwrap();
        let graph = explore(&net, &net.initial, &limits);
        let found = search_known(&net, &graph, &preds, &mut automaton, &limits).unwrap().unwrap();
        let (growing, _) =
            search_growing(&net, &net.initial, &preds, &mut automaton, seed, &limits).unwrap();
        prop_assert_eq!(found.is_some(), growing.is_some());
        for run in found.iter().chain(&growing) {
            for seed in 0..if run.cycle.is_none() { 10 } else { 1 } {
                let (word, back) = word(&net, &preds, run, &mut SplitMix(seed));
                prop_assert!(on_word(&formula, &word, back)[0], "{:?}", run);
            }
        }
        if found.is_none() {
            let mut random = SplitMix(seed);
            for _ in 0..100 {
                let (states, back) = random_run(&expected, &mut random);
                let word: Vec<Vec<bool>> = states.iter()
                    .map(|state| preds.iter().map(|pred| pred.holds(&net, &expected.markings[*state])).collect())
                    .collect();
                prop_assert!(!on_word(&formula, &word, back)[0], "{:?} {}", states, back);
            }
        }
    }

    #[test]
    fn searches_reach_only_reachable_goals((net, preds) in nets(), seed in any::<u64>()) {
        let Some(expected) = naive(&net) else { return Ok(()) };
        let short = limits(Duration::from_millis(2));
        let sum = Sum { places: vec![0, 1], constant: 0 };
        let aims = || preds.iter().cloned().map(Aim::Reach).chain([Aim::Largest(sum.clone())]);
        let mut walked: Vec<Goal> = aims().map(Goal::new).collect();
        if seed % 2 == 0 {
            walk(&net, &mut walked, seed, &short);
        } else {
            walk_in_bulk(&net, &mut walked, seed, &short);
        }
        let long = limits(AN_HOUR);
        let mut searched: Vec<Goal> = aims().map(Goal::new).collect();
        for goal in &mut searched {
            best_first(&net, goal, &net.initial, seed, &long).unwrap();
        }
        let largest = expected.markings.iter().map(|marking| sum.value(marking)).max().unwrap();
        for (number, goal) in walked.iter().chain(&searched).enumerate() {
            let path = goal.path.as_ref().map(|path| without_cycles(&net, path));
            let mut tokens = net.initial.clone();
            for &transition in path.iter().flatten() {
                prop_assert!(net.is_enabled(transition, &tokens));
                net.fire(transition, &mut tokens).unwrap();
            }
            match &goal.aim {
                Aim::Reach(pred) => {
                    prop_assert!(path.is_none() || pred.holds(&net, &tokens));
                    let reachable = expected.markings.iter().any(|marking| pred.holds(&net, marking));
                    // The best-first search visits all markings.
                    prop_assert!(number < walked.len() || path.is_some() == reachable);
                }
                Aim::Largest(sum) => {
                    prop_assert!(goal.value.is_none_or(|value| sum.value(&tokens) == value && value <= largest));
                    prop_assert!(number < walked.len() || goal.value == Some(largest));
                }
            }
        }
    }

    #[test]
    fn relaxed_plans_reach_only_reachable_goals((net, _) in nets()) {
        let Some(expected) = naive(&net) else { return Ok(()) };
        let preds: Vec<Pred> = (0..net.transitions() as u32).map(|one| Pred::Fireable(vec![one])).collect();
        let mut goals: Vec<Goal> = preds.iter().map(|pred| Goal::new(Aim::Reach(pred.clone()))).collect();
        follow_plans(&net, &mut goals, &limits(AN_HOUR));
        for (pred, goal) in preds.iter().zip(goals) {
            let Some(path) = goal.path else {
                prop_assert!(!pred.holds(&net, &net.initial));
                continue;
            };
            let mut tokens = net.initial.clone();
            for transition in path {
                let inputs = net.inputs(transition);
                prop_assert!(inputs.iter().all(|(place, weight)| tokens[*place as usize] >= *weight));
                net.fire(transition, &mut tokens).unwrap();
                prop_assert!(expected.markings.contains(&tokens));
            }
            prop_assert!(pred.holds(&net, &tokens));
        }
    }

    #[test]
    fn a_walker_lists_exactly_the_enabled_transitions(
        (net, _) in nets(), copies in 1..60_usize, seed in any::<u64>()
    ) {
        let net = copied(&net, copies);
        let (mut random, limits) = (SplitMix(seed), limits(AN_HOUR));
        let mut walker = Walker::new(&net);
        for _ in 0..100 {
            let mut before = walker.enabled.to_vec();
            match random.below(8) {
                0 => {
                    let path = walker.path[..random.below(walker.path.len() + 1)].to_vec();
                    walker.start_after(&path, &limits).unwrap();
                    prop_assert_eq!(&walker.path, &path);
                    before.clear();
                }
                choice if choice == 1 || walker.enabled.is_empty() => walker.restart(),
                _ => walker.fire(walker.enabled[random.below(walker.enabled.len())]).unwrap(),
            }
            let mut tokens = net.initial.clone();
            for &transition in &walker.path {
                prop_assert!(net.is_enabled(transition, &tokens));
                net.fire(transition, &mut tokens).unwrap();
            }
            prop_assert_eq!(&walker.tokens, &tokens);
            let sorted = |transitions: &[u32]| {
                let mut sorted = transitions.to_vec();
                sorted.sort_unstable();
                sorted
            };
            let mut expected: Vec<u32> =
                (0..net.transitions() as u32).filter(|one| net.is_enabled(*one, &tokens)).collect();
            prop_assert_eq!(sorted(&walker.enabled), &expected[..]);
            expected.retain(|transition| !before.contains(transition));
            prop_assert_eq!(sorted(&walker.newly_enabled), expected);
        }
    }

    #[test]
    fn walks_enable_the_transitions_that_an_exploration_finds((net, _) in nets(), seed in any::<u64>()) {
        let Some(expected) = naive(&net) else { return Ok(()) };
        let mut firings = vec![usize::MAX; expected.markings.len()];
        firings[0] = 0;
        for (state, next) in expected.edges.iter().enumerate() {
            next.iter().for_each(|next| firings[*next] = firings[*next].min(firings[state] + 1));
        }
        // Each twice: one is reached when the transition becomes enabled, the other is compared with each marking.
        let all = (0..net.transitions() as u32).flat_map(|transition| [transition; 2]);
        let mut goals: Vec<Goal> =
            all.map(|transition| Goal::new(Aim::Reach(Pred::Fireable(vec![transition])))).collect();
        let budget = Budget { steps: 200_000, ..Budget::of_time(AN_HOUR) };
        walk(&net, &mut goals, seed, &Limits::new(&budget));
        for (transition, pair) in (0..).zip(goals.chunks(2)) {
            prop_assert_eq!(&pair[0].path, &pair[1].path);
            let is_enabled = |state: &usize| net.is_enabled(transition, &expected.markings[*state]);
            let nearest = (0..firings.len()).filter(is_enabled).map(|state| firings[state]).min();
            let Some(path) = &pair[0].path else {
                prop_assert!(nearest.is_none_or(|firings| firings > 2));
                continue;
            };
            let mut tokens = net.initial.clone();
            for &step in path {
                prop_assert!(net.is_enabled(step, &tokens));
                net.fire(step, &mut tokens).unwrap();
            }
            prop_assert!(net.is_enabled(transition, &tokens));
        }
    }

    #[test]
    fn only_unbounded_places_grow_for_ever((net, _) in nets(), seed in any::<u64>()) {
        let single = |place| Growth { sum: Some(Sum { places: vec![place], constant: 0 }), found: None };
        let mut growths: Vec<Growth> = (0..net.places() as u32).map(single).collect();
        growths.push(Growth { sum: None, found: None });
        if seed % 2 == 0 {
            grow(&net, &mut growths, seed, &limits(Duration::from_millis(5)));
        } else {
            grow_in_parts(&net, &mut growths, seed, &limits(Duration::from_millis(5)));
        }
        let bounded = naive(&net).is_some();
        for growth in growths {
            let Some((path, part)) = growth.found else { continue };
            prop_assert!(!bounded);
            let mut tokens = net.initial.clone();
            for transition in path {
                prop_assert!(net.is_enabled(transition, &tokens));
                net.fire(transition, &mut tokens).unwrap();
            }
            let sum = growth.sum.unwrap_or(Sum { places: (0..net.places() as u32).collect(), constant: 0 });
            // Each repetition is possible and adds tokens.
            for _ in 0..20 {
                let before = sum.value(&tokens);
                for &transition in &part {
                    prop_assert!(net.is_enabled(transition, &tokens));
                    net.fire(transition, &mut tokens).unwrap();
                }
                prop_assert!(sum.value(&tokens) > before);
            }
        }
    }

    #[test]
    fn a_net_without_dead_parts_has_the_same_markings((net, _) in nets()) {
        let Some(expected) = naive(&net) else { return Ok(()) };
        let each = |count: usize| (0..count as u32).map(|number| number..number + 1).collect();
        let (places, transitions) = (each(net.places()), each(net.transitions()));
        let used = without_dead_parts(Named { net, places, transitions, ..Named::default() });
        let found = naive(&used.net).unwrap();
        let whole = |marking: &Marking| -> Marking {
            used.places.iter().map(|range| marking.get(range.start as usize..range.end as usize).map_or(0, |part| part.iter().sum())).collect()
        };
        let sorted = |markings: Vec<Marking>| markings.into_iter().collect::<std::collections::BTreeSet<_>>();
        prop_assert_eq!(sorted(found.markings.iter().map(whole).collect()), sorted(expected.markings));
        let firings = |edges: &Vec<Vec<usize>>| edges.iter().map(Vec::len).sum::<usize>();
        prop_assert_eq!(firings(&found.edges), firings(&expected.edges));
    }

    #[test]
    fn a_distance_is_zero_where_the_goal_holds((net, preds) in nets()) {
        let Some(expected) = naive(&net) else { return Ok(()) };
        for marking in &expected.markings {
            for pred in &preds {
                let holds = pred.holds(&net, marking);
                for truth in [true, false] {
                    prop_assert_eq!(pred.distance(truth, &net, marking) == 0, holds == truth);
                }
            }
        }
    }
}

#[test]
fn an_exploration_continues_after_an_overflow_of_tokens() {
    // One transition overflows at once, the other one moves a token three times.
    let full = Arcs { inputs: vec![], outputs: vec![(0, u64::MAX)] };
    let step = |from| Arcs { inputs: vec![(from, 1)], outputs: vec![(from + 1, 1)] };
    let limits = limits(AN_HOUR);
    let net = Compiled::new(vec![1, 1, 0, 0, 0], &[full, step(1), step(2), step(3)]);
    let graph = explore(&net, &net.initial, &limits);
    assert_eq!((graph.stop.clone(), graph.states()), (Some(Stop::TooManyTokens), 4));
    let preds = [Pred::Fireable(vec![3]), Pred::True];
    let labels = label(&net, &graph, &preds, &limits).unwrap();
    let checker = Checker::new(&net, &graph, &limits).unwrap();
    let [found, always] = [0, 1].map(|number| Box::new(Ctl::Pred(number)));
    let holds = |formula| checker.holds_initially(&formula, &labels, &limits).unwrap();
    assert_eq!(holds(Ctl::ExistsUntil(always.clone(), found.clone())), Some(true));
    // The first transition may lead elsewhere without end.
    assert_eq!(holds(Ctl::AllUntil(always, found)), None);
}

#[test]
fn an_exploration_ends_at_an_overflow_of_tokens() {
    let double = Arcs { inputs: vec![(0, 1)], outputs: vec![(0, 1), (1, u64::MAX / 2)] };
    let limits = limits(AN_HOUR);
    let net = Compiled::new(vec![1, 0], &[double]);
    let graph = explore(&net, &net.initial, &limits);
    assert_eq!((graph.stop.clone(), graph.states()), (Some(Stop::TooManyTokens), 3));
}
