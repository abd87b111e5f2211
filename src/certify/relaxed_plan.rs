//! Searches runs among the firings of relaxed plans: these would reach the goal if firings took no tokens (Bonet and Geffner:
//! Planning as Heuristic Search, 2001; the heuristic h_add and its best supporters, with weights of arcs).

use crate::budget::{Limits, Stop};
use crate::formula::{Pred, SIZE_OF_STEP};
use crate::net::Compiled;
use crate::search::{Aim, Goal};
use mcc_base::random::SplitMix;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashSet};

/// Most markings that the search along one plan visits.
const MAX_MARKINGS: usize = 2_000;
/// Most firings of a transition in a plan.
const MAX_FIRINGS: u64 = 1_000;

/// The cheapest firing that adds tokens to a place.
#[derive(Clone, Copy)]
struct Producer {
    transition: u32,
    /// Tokens added.
    more: u64,
    /// The number of firings up to this one. Those for several inputs are added, even if they are the same.
    cost: u64,
}

/// What can be reached from the initial marking if firings take no tokens.
struct Relaxed<'n> {
    net: &'n Compiled,
    /// By place.
    producers: Vec<Option<Producer>>,
}

impl<'n> Relaxed<'n> {
    /// Finds the producers in the order of their costs.
    fn new(net: &'n Compiled, limits: &Limits<'_>) -> Result<Self, Stop> {
        let mut numbers = 0;
        let mut read = |more: usize| {
            numbers += more as u64;
            let steps = numbers / SIZE_OF_STEP;
            numbers %= SIZE_OF_STEP;
            limits.spend(steps)
        };
        let mut is_known = vec![false; net.transitions()];
        let mut queue = BinaryHeap::new();
        for transition in 0..net.transitions() as u32 {
            read(net.inputs(transition).len())?;
            if net.is_enabled(transition, &net.initial) {
                is_known[transition as usize] = true;
                queue.push(Reverse((0_u64, transition)));
            }
        }
        let mut relaxed = Self { net, producers: vec![None; net.places()] };
        while let Some(Reverse((cost, transition))) = queue.pop() {
            for change in net.changes(transition) {
                read(1)?;
                let producer = &mut relaxed.producers[change.place as usize];
                if change.more == 0 || producer.is_some() {
                    continue;
                }
                *producer = Some(Producer { transition, more: change.more, cost: cost.saturating_add(1) });
                for &consumer in net.consumers(change.place) {
                    read(1)?;
                    if is_known[consumer as usize] {
                        continue;
                    }
                    read(net.inputs(consumer).len())?;
                    if let Some(cost) = relaxed.cost(net.inputs(consumer)) {
                        is_known[consumer as usize] = true;
                        queue.push(Reverse((cost, consumer)));
                    }
                }
            }
        }
        Ok(relaxed)
    }

    /// The cost of these tokens. None: not all of them can be produced.
    fn cost(&self, needs: &[(u32, u64)]) -> Option<u64> {
        let mut cost: u64 = 0;
        for &(place, tokens) in needs {
            let lacks = tokens.saturating_sub(self.net.initial[place as usize]);
            if lacks > 0 {
                let producer = self.producers[place as usize]?;
                cost = cost.saturating_add(lacks.div_ceil(producer.more).saturating_mul(producer.cost));
            }
        }
        Some(cost)
    }

    /// The transition whose inputs are cheapest. None: no inputs can be produced.
    fn cheapest(&self, transitions: &[u32]) -> Option<u32> {
        let cost = |one: &u32| Some((self.cost(self.net.inputs(*one))?, *one));
        transitions.iter().filter_map(cost).min().map(|(_, cheapest)| cheapest)
    }

    /// The transitions that produce these tokens, the inputs of their producers and so on, each with its number of firings; the
    /// cheapest first.
    fn plan(&self, needs: &[(u32, u64)], limits: &Limits<'_>) -> Result<Vec<(u32, u64)>, Stop> {
        let mut firings = BTreeMap::new();
        let mut open = needs.to_vec();
        while let Some((place, tokens)) = open.pop() {
            limits.spend(1)?;
            let lacks = tokens.saturating_sub(self.net.initial[place as usize]);
            let Some(producer) = self.producers[place as usize].filter(|_| lacks > 0) else { continue };
            let count = lacks.div_ceil(producer.more).min(MAX_FIRINGS);
            let known = firings.entry((producer.cost, producer.transition)).or_insert(0);
            if count <= *known {
                continue;
            }
            *known = count;
            let changes = self.net.changes(producer.transition);
            for &(input, weight) in self.net.inputs(producer.transition) {
                let at = changes.binary_search_by_key(&input, |change| change.place);
                let less = at.map_or(0, |at| changes[at].less);
                open.push((input, weight.saturating_add(less.saturating_mul(count - 1))));
            }
        }
        Ok(firings.into_iter().map(|((_, transition), count)| (transition, count)).collect())
    }

    /// Searches a run to a marking in which one of the transitions is enabled: by a plan, then by twice as many firings of each
    /// transition.
    fn run_to(&self, transitions: &[u32], limits: &Limits<'_>) -> Result<Option<Vec<u32>>, Stop> {
        let size = transitions.iter().map(|one| self.net.inputs(*one).len() as u64 + 1).sum::<u64>();
        limits.spend(size / SIZE_OF_STEP)?;
        let Some(cheapest) = self.cheapest(transitions) else { return Ok(None) };
        let needs = self.net.inputs(cheapest);
        let mut plan = self.plan(needs, limits)?;
        if let Some(path) = self.search(needs, &plan, limits)? {
            return Ok(Some(path));
        }
        plan.iter_mut().for_each(|(_, count)| *count *= 2);
        self.search(needs, &plan, limits)
    }

    /// Searches depth-first among the firings of a plan for a marking with the tokens `needs`; returns the firings to it.
    fn search(
        &self,
        needs: &[(u32, u64)],
        plan: &[(u32, u64)],
        limits: &Limits<'_>,
    ) -> Result<Option<Vec<u32>>, Stop> {
        let net = self.net;
        let mut tokens = net.initial.clone();
        let mut left: Vec<u64> = plan.iter().map(|(_, count)| *count).collect();
        // A marking is known by the sum of the keys of its firings: their order does not matter.
        let mut random = SplitMix(0);
        let keys: Vec<u64> = plan.iter().map(|_| random.number()).collect();
        let mut sum = 0_u64;
        let mut visited = HashSet::from([sum]);
        let mut path: Vec<usize> = Vec::new();
        let numbers = plan.iter().map(|(one, _)| net.inputs(*one).len() + 1).sum::<usize>() + needs.len();
        // Of the plan's transitions those before this one are tried, the last ones, which are nearest to the goal, first.
        let mut end = plan.len();
        while visited.len() <= MAX_MARKINGS {
            limits.spend(1 + numbers as u64 / SIZE_OF_STEP)?;
            if needs.iter().all(|(place, need)| tokens[*place as usize] >= *need) {
                return Ok(Some(path.into_iter().map(|one| plan[one].0).collect()));
            }
            let can_fire = |one: &usize| {
                let is_visited = || visited.contains(&sum.wrapping_add(keys[*one]));
                left[*one] > 0 && net.is_enabled(plan[*one].0, &tokens) && !is_visited()
            };
            if let Some(one) = (0..end).rev().find(can_fire) {
                end = one;
                if net.fire(plan[one].0, &mut tokens).is_some() {
                    left[one] -= 1;
                    sum = sum.wrapping_add(keys[one]);
                    visited.insert(sum);
                    path.push(one);
                    end = plan.len();
                }
            } else if let Some(one) = path.pop() {
                for change in net.changes(plan[one].0) {
                    let tokens = &mut tokens[change.place as usize];
                    *tokens = *tokens - change.more + change.less;
                }
                left[one] += 1;
                sum = sum.wrapping_sub(keys[one]);
                end = one;
            } else {
                break;
            }
        }
        Ok(None)
    }
}

/// Searches runs to the goals in which one of some transitions is enabled.
pub(crate) fn follow_plans(net: &Compiled, goals: &mut [Goal], limits: &Limits<'_>) {
    let is_open = |goal: &Goal| !goal.is_reached() && matches!(goal.aim, Aim::Reach(Pred::Fireable(_)));
    let open: Vec<usize> = (0..goals.len()).filter(|goal| is_open(&goals[*goal])).collect();
    // A part of the producers is of no use.
    if open.is_empty() || limits.left() < net.input_arcs() as u64 / SIZE_OF_STEP {
        return;
    }
    let Ok(relaxed) = Relaxed::new(net, limits) else { return };
    for (number, &goal) in open.iter().enumerate() {
        let share = limits.share(1.0 / (open.len() - number) as f64, 0.0);
        if let Aim::Reach(Pred::Fireable(transitions)) = &goals[goal].aim
            && let Ok(path) = relaxed.run_to(transitions, &share)
        {
            goals[goal].path = path;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::net::Arcs;
    use crate::search::walk;
    use std::time::Duration;

    fn arcs(inputs: &[(u32, u64)], outputs: &[(u32, u64)]) -> Arcs {
        Arcs { inputs: inputs.to_vec(), outputs: outputs.to_vec() }
    }

    fn limits(steps: u64) -> Limits<'static> {
        Limits::new(&Budget { steps, ..Budget::of_time(Duration::from_secs(3600)) })
    }

    fn goal(transition: u32) -> Goal {
        Goal::new(Aim::Reach(Pred::Fireable(vec![transition])))
    }

    /// The run that a plan finds, of which each transition is enabled.
    fn planned(net: &Compiled, transition: u32) -> Option<Vec<u32>> {
        let mut goals = [goal(transition)];
        follow_plans(net, &mut goals, &limits(20_000));
        let path = goals[0].path.take()?;
        let mut tokens = net.initial.clone();
        for &one in &path {
            assert!(net.is_enabled(one, &tokens));
            net.fire(one, &mut tokens).unwrap();
        }
        assert!(net.is_enabled(transition, &tokens));
        Some(path)
    }

    #[test]
    fn a_plan_finds_the_last_transition_of_a_chain_with_distracting_choices_where_walks_do_not() {
        // From each place of the chain, one transition leads on, and three lead back to its start.
        let mut transitions = Vec::new();
        for place in 0..30 {
            transitions.push(arcs(&[(place, 1)], &[(place + 1, 1)]));
            transitions.extend([(); 3].map(|()| arcs(&[(place, 1)], &[(0, 1)])));
        }
        transitions.push(arcs(&[(30, 1)], &[]));
        let mut initial = vec![0; 31];
        initial[0] = 1;
        let net = Compiled::new(initial, &transitions);
        let mut walked = [goal(120)];
        walk(&net, &mut walked, 1, &limits(20_000));
        assert_eq!(walked[0].path, None);
        assert_eq!(planned(&net, 120), Some((0..30).map(|number| 4 * number).collect()));
    }

    #[test]
    fn a_plan_fires_transitions_as_often_as_the_weights_need() {
        // Three tokens of place 1 become two of place 2, of which five are needed.
        let transitions = [
            arcs(&[(0, 1)], &[(0, 1), (1, 1)]),
            arcs(&[(1, 3)], &[(2, 2)]),
            arcs(&[(2, 5)], &[]),
            arcs(&[(3, 1)], &[]),
        ];
        let net = Compiled::new(vec![1, 0, 0, 0], &transitions);
        let path = planned(&net, 2).unwrap();
        let count = |transition| path.iter().filter(|one| **one == transition).count();
        assert_eq!([0, 1, 2].map(count), [9, 3, 0]);
        assert_eq!(planned(&net, 3), None);
    }

    #[test]
    fn a_token_that_two_transitions_of_a_plan_take_is_produced_twice() {
        let transitions = [
            arcs(&[(0, 1)], &[(1, 1)]),
            arcs(&[(1, 1)], &[(2, 1)]),
            arcs(&[(1, 1)], &[(3, 1)]),
            arcs(&[(2, 1), (3, 1)], &[]),
        ];
        let net = Compiled::new(vec![2, 0, 0, 0], &transitions);
        assert_eq!(planned(&net, 3).map(|path| path.len()), Some(4));
    }
}
