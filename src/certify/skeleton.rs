//! Proofs with the same weight for all colours of a place. They need the net without its colours only, which can be much
//! smaller than the unfolding, and hold for each binding.

use crate::net::{Named, range_numbers};
use crate::proof::{Condition, Fact, Prover, Tree};
use crate::proof_lp::{Linear, Structure};
use num_bigint::BigInt;
use std::collections::{BTreeMap, HashSet};
use std::time::Instant;

/// A coloured net without its colours: a place of it has the tokens of all colours, and a transition is what some bindings
/// take and put in numbers.
pub(crate) struct Skeleton<'a> {
    named: &'a Named,
    /// By place of the unfolding: the place of the net.
    groups: Vec<u32>,
    structure: Structure,
}

impl<'a> Skeleton<'a> {
    /// None: the net is not coloured.
    pub(crate) fn new(named: &'a Named, unfolding: &Structure) -> Option<Self> {
        named.coloured.as_ref()?;
        let groups = range_numbers(&named.places);
        let group = |place: &u32| groups[*place as usize];
        let mut structure = Structure { initial: vec![0; named.places.len()], ..Structure::default() };
        for (place, tokens) in (0..).zip(&unfolding.initial) {
            let sum = &mut structure.initial[group(&place) as usize];
            *sum = sum.checked_add(*tokens)?;
        }
        let mut known = HashSet::new();
        for ((inputs, outputs), effect) in
            unfolding.inputs.iter().zip(&unfolding.outputs).zip(&unfolding.effects)
        {
            let mut takes: BTreeMap<u32, u64> = BTreeMap::new();
            for (place, weight) in inputs {
                let sum = takes.entry(group(place)).or_default();
                *sum = sum.checked_add(*weight)?;
            }
            let mut puts: Vec<u32> = outputs.iter().map(group).collect();
            puts.sort_unstable();
            puts.dedup();
            let effect = Linear::new(effect.iter().map(|(place, change)| (group(place), *change)), 0).terms;
            let one = (takes.into_iter().collect::<Vec<_>>(), puts, effect);
            if known.insert(one.clone()) {
                structure.inputs.push(one.0);
                structure.outputs.push(one.1);
                structure.effects.push(one.2);
            }
        }
        Some(Self { named, groups, structure })
    }

    /// The steps of a linear program.
    pub(crate) fn steps(&self) -> u64 {
        self.structure.steps()
    }

    /// Proves that no reachable marking satisfies a condition of the unfolding. Returns the facts of the proof too.
    pub(crate) fn refute(&self, condition: &Condition, until: Instant) -> Option<(Vec<Fact>, Tree)> {
        let mut prover = Prover::new(&self.structure, until);
        let tree = prover.refute(self.condition(condition)?, until)?;
        Some((self.unfolded(prover.facts), tree))
    }

    /// An upper bound of a sum of tokens, with its proof.
    pub(crate) fn upper_bound(&self, sum: &Linear, until: Instant) -> Option<(BigInt, Vec<Fact>, Tree)> {
        let mut prover = Prover::new(&self.structure, until);
        let (bound, tree) = prover.upper_bound(&self.linear(sum)?, until)?;
        Some((bound, self.unfolded(prover.facts), tree))
    }

    /// The same condition; None if it does not count all colours of a place alike.
    fn condition(&self, condition: &Condition) -> Option<Condition> {
        let all = |parts: &[Condition]| parts.iter().map(|part| self.condition(part)).collect::<Option<_>>();
        Some(match condition {
            Condition::Linear(linear) => Condition::Linear(self.linear(linear)?),
            Condition::All(parts) => Condition::All(all(parts)?),
            Condition::One(parts) => Condition::One(all(parts)?),
        })
    }

    fn linear(&self, linear: &Linear) -> Option<Linear> {
        // By place of the net: the weight, and for how many colours it was read.
        let mut weights: BTreeMap<u32, (i128, usize)> = BTreeMap::new();
        for (place, weight) in &linear.terms {
            let known = weights.entry(self.groups[*place as usize]).or_insert((*weight, 0));
            known.1 += 1;
            if known.0 != *weight {
                return None;
            }
        }
        let colours = |place: u32| self.named.places[place as usize].len();
        let is_complete = weights.iter().all(|(place, (_, count))| *count == colours(*place));
        is_complete.then(|| {
            Linear::new(weights.into_iter().map(|(place, (weight, _))| (place, weight)), linear.bound)
        })
    }

    fn unfolded(&self, facts: Vec<Fact>) -> Vec<Fact> {
        let places = |place: u32| self.named.places[place as usize].clone();
        let unfolded = |fact| match fact {
            Fact::AtMost(weights, bound) => {
                let each = weights
                    .into_iter()
                    .flat_map(|(place, weight)| places(place).map(move |place| (place, weight.clone())));
                Fact::AtMost(each.collect(), bound)
            }
            Fact::Trap(trap) => Fact::Trap(trap.into_iter().flat_map(places).collect()),
            other => other,
        };
        facts.into_iter().map(unfolded).collect()
    }
}
