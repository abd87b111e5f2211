//! Computes answers on the reachability graph.

use std::io::Write;
use std::ops::ControlFlow;

use crate::ToolError;
use crate::answers::{Answer, Answers};
use crate::ctl::Checker;
use crate::global::Global;
use crate::net::Compiled;
use crate::query::{Queries, Query};
use crate::space::{End, Graph, Order, State, explore};
use crate::walk::give_found;
use mcc_base::state_graph::States;

/// The four values of StateSpace.
pub fn state_space(
    net: &Compiled,
    order: Order,
    max_states: usize,
    mut answers: Answers<impl Write>,
) -> Result<(), ToolError> {
    let (mut states, mut firings, mut in_place, mut per_marking) = (0, 0, 0, 0);
    let end = explore::<ToolError>(net, order, max_states, None, |_, marking, enabled| {
        states += 1;
        firings += enabled.len() as u128;
        for &place in &marking.marked {
            in_place = in_place.max(u128::from(marking.tokens[place]));
        }
        per_marking = per_marking.max(marking.sum(&marking.marked));
        Ok(ControlFlow::Continue(()))
    });
    if complete(end)? {
        for (number, value) in [states, firings, in_place, per_marking].into_iter().enumerate() {
            answers.give(number, Answer::Number(value))?;
        }
    } else {
        answers.give_up()?;
    }
    Ok(())
}

/// A global property.
pub fn global(
    net: &Compiled,
    mut global: Global,
    order: Order,
    max_states: usize,
    mut answers: Answers<impl Write>,
) -> Result<(), ToolError> {
    let (mut graph, mut transitions) = (Graph::default(), Graph::default());
    let needs_graph = matches!(global, Global::Liveness { .. });
    let mut decided = None;
    let mut numbers = Vec::new();
    let end =
        explore(net, order, max_states, needs_graph.then_some(&mut graph), |state, marking, enabled| {
            decided = global.visit(marking, enabled);
            if needs_graph {
                numbers.clear();
                numbers.extend(enabled.iter().map(|transition| *transition as State));
                transitions.add(state, &numbers);
            }
            Ok::<_, ToolError>(match decided {
                Some(_) => ControlFlow::Break(()),
                None => ControlFlow::Continue(()),
            })
        });
    if complete(end)? {
        let truth = decided.unwrap_or_else(|| global.at_end(&graph, &transitions));
        Ok(answers.give(0, Answer::Truth(truth))?)
    } else {
        Ok(answers.give_up()?)
    }
}

/// The examinations with formulas. Answers that a marking proves are printed at once, the others after the last marking.
pub fn properties(
    net: &Compiled,
    queries: &Queries,
    order: Order,
    max_states: usize,
    mut answers: Answers<impl Write>,
) -> Result<(), ToolError> {
    let mut bounds = vec![0; queries.queries.len()];
    let mut is_for_ctl = vec![true; queries.labels()];
    for query in &queries.queries {
        if let Query::Reach { label, .. } = query {
            is_for_ctl[*label] = false;
        }
    }
    let mut labels = vec![States::default(); queries.labels()];
    let mut graph = Graph::default();
    let needs_graph = queries.queries.iter().any(|query| matches!(query, Query::Ctl(_)));
    let end =
        explore(net, order, max_states, needs_graph.then_some(&mut graph), |state, marking, enabled| {
            give_found(queries, marking, enabled, &mut answers)?;
            for (query, bound) in queries.queries.iter().zip(&mut bounds) {
                if let Query::Bound { places } = query {
                    *bound = marking.sum(places).max(*bound);
                }
            }
            for label in (0..labels.len()).filter(|label| is_for_ctl[*label]) {
                if queries.holds(label, marking, enabled) {
                    labels[label].insert(state);
                }
            }
            Ok::<_, ToolError>(if answers.all_given() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        });
    if answers.all_given() {
        Ok(())
    } else if complete(end)? {
        let checker = Checker::new(&graph, &labels);
        for (number, query) in queries.queries.iter().enumerate() {
            match query {
                Query::Bound { .. } => answers.give(number, Answer::Number(bounds[number]))?,
                Query::Reach { found, .. } if !answers.is_given(number) => {
                    answers.give(number, Answer::Truth(!found))?;
                }
                Query::Reach { .. } => {}
                Query::Ctl(formula) => {
                    answers.give(number, Answer::Truth(checker.holds_initially(formula)))?;
                }
            }
        }
        Ok(())
    } else {
        Ok(answers.give_up()?)
    }
}

/// Whether every reachable marking was visited. Too many tokens end the exploration, as the state budget does.
fn complete(end: Result<End, ToolError>) -> Result<bool, ToolError> {
    match end {
        Ok(end) => Ok(end != End::Budget),
        Err(ToolError::TooManyTokens(error)) => {
            eprintln!("mcc-reference-tool: {error}");
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
