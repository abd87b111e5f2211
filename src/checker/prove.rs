//! Checks certificates: that each lemma is inductive, and that the lemmas refute the condition.

use crate::certificate::{Certificate, Lemma, Method, ProofStep, Weight};
use crate::closed::Closed;
use crate::composition::Composition;
use crate::instance::{Claim, Instance};
use crate::meter::{KEPT, KEPT_INEQUALITY, KEPT_WEIGHT, Limits, Meter};
use crate::model::Model;
use crate::unfolded::Unfolded;
use crate::{CheckError, Rational, VERSION};
use mcc_model::{Count, Expr};
use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

/// The weighted sum of tokens is at most the bound. Places without an entry have the weight 0.
pub(crate) struct Inequality {
    pub weights: BTreeMap<usize, BigRational>,
    pub bound: BigRational,
}

impl Inequality {
    pub fn is_integer(&self) -> bool {
        self.bound.is_integer() && self.weights.values().all(BigRational::is_integer)
    }
}

/// What the lemmas of a certificate show.
#[derive(Default)]
pub(crate) struct Facts {
    /// By lemma; 0 <= 0 for one that is no inequality.
    inequalities: Vec<Rc<Inequality>>,
    /// The clauses of all invariants.
    pub clauses: Vec<Rc<Condition>>,
    /// The closed sets by lemma.
    closed: BTreeMap<usize, Closed>,
    /// The places of each trap.
    pub traps: Vec<Vec<usize>>,
}

/// A condition on markings without negations.
pub(crate) enum Condition {
    AtMost(Rc<Inequality>),
    All(Vec<Rc<Condition>>),
    Any(Vec<Rc<Condition>>),
}

impl Instance {
    /// Checks that the lemmas of a certificate hold in all reachable markings and that its proof refutes what contradicts
    /// its value.
    ///
    /// # Errors
    /// [`CheckError::Refused`] with the reason if not, or if the certificate is not one of this instance.
    pub fn check_certificate(&self, certificate: &Certificate) -> Result<(), CheckError> {
        self.check_certificate_within(certificate, Limits::NONE)
    }

    /// Checks a certificate as `check_certificate`, within limits. Unfolding the net is done once for all certificates of
    /// an instance, and has a limit of its own.
    ///
    /// # Errors
    /// As of `check_certificate`; [`CheckError::NotChecked`] if a limit would be exceeded.
    pub fn check_certificate_within(
        &self,
        certificate: &Certificate,
        limits: Limits,
    ) -> Result<(), CheckError> {
        let Certificate { version, instance, examination, property, value, .. } = certificate;
        if *version != VERSION {
            return Err(CheckError::refused(format!("it has the version {version}, not {VERSION}")));
        }
        let claim = self.claim(instance, examination, property, value)?;
        let Certificate { subject, method, lemmas, proof, parts, .. } = certificate;
        let (model, meter) = (&self.model, &Meter::new(limits));
        if parts.is_empty() {
            let context = Context { model, net: self.unfolded(limits.time, u64::MAX)?, meter };
            let facts = context.lemmas(lemmas)?;
            if let (Some(Method::Siphons), None) = (method, subject) {
                // The proof is about vectors that are no markings, so it has no lemmas.
                let condition = context.siphons(&claim, &facts)?;
                return context.check(vec![Rc::new(condition)], &Facts::default(), proof);
            }
            if method.is_none() {
                return context.prove(&claim, subject.as_deref(), &facts, proof);
            }
            return Err(CheckError::refused("it has a method and a subject"));
        }
        let Claim::Formula(formula, truth) = claim else {
            return Err(CheckError::refused("only a formula has parts"));
        };
        if subject.is_some() || method.is_some() || !proof.is_empty() {
            return Err(CheckError::refused(
                "it has parts, so it has no subject, method and proof of its own",
            ));
        }
        // Runs alone do not need the unfolded net, which may be too large.
        let needs_net = !lemmas.is_empty() || parts.iter().any(|part| part.proof.is_some());
        let net = needs_net.then(|| self.unfolded(limits.time, u64::MAX)).transpose()?;
        let context = net.map(|net| Context { model, net, meter });
        let facts =
            context.as_ref().map_or_else(|| Ok(Facts::default()), |context| context.lemmas(lemmas))?;
        let evidence: BTreeMap<_, _> = parts.iter().map(|part| (part.part, part)).collect();
        if evidence.len() < parts.len() {
            return Err(CheckError::refused("a part occurs twice"));
        }
        let proofs = context.as_ref().map(|context| (context, &facts));
        let linear = examination.starts_with("LTL");
        Composition { model, meter, proofs, linear, evidence, parts: 0 }.check(formula, truth)
    }
}

pub(crate) struct Context<'a> {
    pub model: &'a Model,
    pub net: &'a Unfolded,
    pub meter: &'a Meter,
}

impl Context<'_> {
    /// Checks a proof that refutes what contradicts a claim.
    pub fn prove(
        &self,
        claim: &Claim<'_>,
        subject: Option<&str>,
        facts: &Facts,
        proof: &[ProofStep],
    ) -> Result<(), CheckError> {
        let condition = self.refuted(claim, subject)?;
        let condition = condition.ok_or_else(|| CheckError::refused("no certificate shows this value"))?;
        self.meter.steps(KEPT.saturating_mul(facts.clauses.len() as u64))?;
        let parts = std::iter::once(Rc::new(condition)).chain(facts.clauses.iter().cloned());
        self.check(vec![Rc::new(Condition::All(parts.collect()))], facts, proof)
    }

    /// The condition that contradicts a claim; None if no certificate can show the claim.
    fn refuted(&self, claim: &Claim<'_>, subject: Option<&str>) -> Result<Option<Condition>, CheckError> {
        let more = |places: Vec<Range<usize>>, bound: &BigInt| {
            let weights = places.iter().cloned().flatten().map(|place| (place, -BigInt::one()));
            self.at_most(places.iter().map(Range::len).sum(), weights, -bound - 1)
        };
        let needs_subject = matches!(
            claim,
            Claim::StableMarking(true) | Claim::QuasiLiveness(false) | Claim::Liveness(false)
        );
        let subject = match (subject, needs_subject) {
            (Some(subject), true) => subject,
            (None, false) => "",
            (Some(_), false) => {
                return Err(CheckError::refused("it has a subject, but its value needs none".to_owned()));
            }
            (None, true) => {
                return Err(CheckError::refused("it has no subject, but its value needs one".to_owned()));
            }
        };
        let any = |conditions: Vec<Condition>| Condition::Any(conditions.into_iter().map(Rc::new).collect());
        Ok(match claim {
            Claim::Formula(formula, truth) => {
                // A negation around the quantifier turns the value around.
                let (mut formula, mut truth): (&Expr, bool) = (formula, *truth);
                while let Expr::Not(inner) = formula {
                    (formula, truth) = (inner, !truth);
                }
                match (formula, truth) {
                    (Expr::ExistsPath(path), false) | (Expr::AllPaths(path), true) => {
                        match (&**path, truth) {
                            (Expr::Finally(inner), false) => Some(self.condition(inner, true)?),
                            (Expr::Globally(inner), true) => Some(self.condition(inner, false)?),
                            _ => None,
                        }
                    }
                    _ => None,
                }
            }
            Claim::Bound(places, bound) => {
                let ranges = places.iter().map(|place| self.net.places[*place].clone()).collect();
                Some(more(ranges, &BigInt::from((*bound).clone()))?)
            }
            Claim::MostInPlace(bound) => {
                let bound = BigInt::from((*bound).clone());
                let over = |place: usize| more(std::iter::once(place..place + 1).collect(), &bound);
                Some(any((0..self.net.initial.len()).map(over).collect::<Result<_, _>>()?))
            }
            Claim::OneSafe(true) => {
                let over = |places: &Range<usize>| more(vec![places.clone()], &BigInt::one());
                Some(any(self.net.places.iter().map(over).collect::<Result<_, _>>()?))
            }
            Claim::QuasiLiveness(false) | Claim::Liveness(false) => {
                Some(self.fireable(&[subject.to_owned()], true)?)
            }
            Claim::StableMarking(true) => {
                let places = self.net.places[self.model.place(subject)?].clone();
                let differs = places.flat_map(|place| {
                    let initial = BigInt::from(self.net.initial[place]);
                    let fewer = self.at_most(1, [(place, BigInt::one())], &initial - 1);
                    [fewer, self.at_most(1, [(place, -BigInt::one())], -initial - 1)]
                });
                Some(any(differs.collect::<Result<_, _>>()?))
            }
            _ => None,
        })
    }

    /// A state formula, or its negation, without negations.
    fn condition(&self, formula: &Expr, holds: bool) -> Result<Condition, CheckError> {
        let parts = |parts: &[Expr]| -> Result<Vec<Rc<Condition>>, CheckError> {
            parts.iter().map(|part| Ok(Rc::new(self.condition(part, holds)?))).collect()
        };
        Ok(match (formula, holds) {
            (Expr::Not(inner), _) => self.condition(inner, !holds)?,
            (Expr::And(inner), true) | (Expr::Or(inner), false) => Condition::All(parts(inner)?),
            (Expr::And(inner), false) | (Expr::Or(inner), true) => Condition::Any(parts(inner)?),
            (Expr::Le(left, right), true) => self.difference(left, right, 0)?,
            (Expr::Le(left, right), false) => self.difference(right, left, -1)?,
            (Expr::Fireable(ids), _) => self.fireable(ids, holds)?,
            (Expr::Deadlock, _) => self.enabled((0..self.net.flats.len()).collect(), !holds)?,
            _ => {
                return Err(CheckError::refused(
                    "the formula has path operators inside of its first one".to_owned(),
                ));
            }
        })
    }

    /// left - right <= more
    fn difference(&self, left: &Count, right: &Count, more: i32) -> Result<Condition, CheckError> {
        let mut weights: BTreeMap<usize, BigInt> = BTreeMap::new();
        let mut bound = BigInt::from(more);
        for (count, sign) in [(left, 1), (right, -1)] {
            match count {
                Count::Constant(number) => bound -= BigInt::from(*number) * sign,
                Count::Tokens(ids) => {
                    for id in ids {
                        let places = self.net.places[self.model.place(id)?].clone();
                        self.meter.steps(KEPT * places.len() as u64)?;
                        for place in places {
                            *weights.entry(place).or_default() += sign;
                        }
                    }
                }
            }
        }
        self.at_most(weights.len(), weights, bound)
    }

    fn fireable(&self, ids: &[String], holds: bool) -> Result<Condition, CheckError> {
        let mut flats = Vec::new();
        for id in ids {
            flats.extend(self.net.transitions[self.model.transition(id)?].clone());
        }
        self.enabled(flats, holds)
    }

    /// One of the transitions is enabled, or none.
    pub fn enabled(&self, flats: Vec<usize>, holds: bool) -> Result<Condition, CheckError> {
        let part = |flat: usize| -> Result<Rc<Condition>, CheckError> {
            self.meter.steps(KEPT)?;
            let need = |(place, count): &(usize, u128)| {
                let count = BigInt::from(*count);
                let need = if holds {
                    self.at_most(1, [(*place, -BigInt::one())], -count)
                } else {
                    self.at_most(1, [(*place, BigInt::one())], count - 1)
                };
                need.map(Rc::new)
            };
            let needs = self.net.flats[flat].needs.iter().map(need).collect::<Result<_, _>>()?;
            Ok(Rc::new(if holds { Condition::All(needs) } else { Condition::Any(needs) }))
        };
        let parts = flats.into_iter().map(part).collect::<Result<_, _>>()?;
        Ok(if holds { Condition::Any(parts) } else { Condition::All(parts) })
    }

    /// The condition that a sum with this number of weights is at most the bound. The weights of a place are added.
    pub fn at_most(
        &self,
        count: usize,
        weights: impl IntoIterator<Item = (usize, BigInt)>,
        bound: BigInt,
    ) -> Result<Condition, CheckError> {
        self.meter.steps(KEPT_INEQUALITY.saturating_add(KEPT_WEIGHT * count as u64))?;
        let mut sum: BTreeMap<usize, BigRational> = BTreeMap::new();
        for (place, weight) in weights {
            *sum.entry(place).or_insert_with(BigRational::zero) += BigRational::from_integer(weight);
        }
        let bound = BigRational::from_integer(bound);
        Ok(Condition::AtMost(Rc::new(Inequality { weights: sum, bound })))
    }

    pub fn weights(&self, weights: &[Weight]) -> Result<BTreeMap<usize, BigRational>, CheckError> {
        let mut result = BTreeMap::new();
        for Weight { place, colour, weight } in weights {
            self.meter.fractions(&[&weight.0])?;
            let places = self.net.named(self.model, place, colour.as_ref())?;
            // A small file can name places with very many colours.
            let words = 1 + (weight.0.numer().bits() + weight.0.denom().bits()) / 64;
            self.meter.steps(words.saturating_add(KEPT_WEIGHT).saturating_mul(places.len() as u64))?;
            for number in places {
                if result.insert(number, weight.0.clone()).is_some() {
                    return Err(CheckError::refused(format!("the place \"{place}\" occurs twice in a sum")));
                }
            }
        }
        result.retain(|_, weight| !weight.is_zero());
        Ok(result)
    }

    /// Checks the lemmas one after the other.
    fn lemmas(&self, lemmas: &[Lemma]) -> Result<Facts, CheckError> {
        let mut dead = vec![false; self.net.flats.len()];
        let mut facts = Facts::default();
        for (number, lemma) in lemmas.iter().enumerate() {
            let checked = self.lemma(number, lemma, &dead, &mut facts);
            let checked = checked.map_err(|error| error.at(&format!("lemma {number}")))?;
            self.add_dead(&checked, &mut dead)?;
            facts.inequalities.push(Rc::new(checked));
        }
        Ok(facts)
    }

    /// Checks a lemma, and adds what it shows in addition to the inequality that is returned.
    fn lemma(
        &self,
        number: usize,
        lemma: &Lemma,
        dead: &[bool],
        facts: &mut Facts,
    ) -> Result<Inequality, CheckError> {
        match lemma {
            Lemma::Inequality { weights, bound } => return self.inductive(weights, bound, dead),
            Lemma::Trap(places) => {
                let trap = self.trap(places, dead)?;
                facts.traps.push(trap.weights.keys().copied().collect());
                return Ok(trap);
            }
            Lemma::Invariant { clauses, proof, depth } => {
                let clauses = self.invariant(clauses, depth.unwrap_or(1), proof, facts, dead)?;
                facts.clauses.extend(clauses);
            }
            Lemma::Closed { places, markings } => {
                facts.closed.insert(number, self.closed(places, markings, dead)?);
            }
        }
        Ok(Inequality { weights: BTreeMap::new(), bound: BigRational::zero() })
    }

    fn inductive(
        &self,
        weights: &[Weight],
        bound: &Rational,
        dead: &[bool],
    ) -> Result<Inequality, CheckError> {
        let weights = self.weights(weights)?;
        let initial = self.initial_sum(&weights)?;
        self.meter.fractions(&[&initial, &bound.0])?;
        if initial > bound.0 {
            return Err(CheckError::refused(format!("the sum is initially {initial}, more than {bound}")));
        }
        match self.effects(&weights, dead)?.iter().find(|(_, effect)| effect.is_positive()) {
            Some((flat, _)) => {
                Err(CheckError::refused(format!("{} increases the sum", self.transition_of(*flat))))
            }
            None => Ok(Inequality { weights, bound: bound.0.clone() }),
        }
    }

    /// The weighted sum of the initial marking.
    pub fn initial_sum(&self, weights: &BTreeMap<usize, BigRational>) -> Result<BigRational, CheckError> {
        let mut initial = BigRational::zero();
        for (place, weight) in weights.iter().filter(|(place, _)| self.net.initial[**place] > 0) {
            let tokens = BigRational::from_integer(self.net.initial[*place].into());
            self.add_product(&mut initial, weight, &tokens)?;
        }
        Ok(initial)
    }

    /// How each transition changes a weighted sum, times the common denominator of the weights.
    pub fn effects(
        &self,
        weights: &BTreeMap<usize, BigRational>,
        dead: &[bool],
    ) -> Result<BTreeMap<usize, BigInt>, CheckError> {
        // Integers: sums of rational numbers are slow.
        let mut common = BigInt::one();
        for weight in weights.values() {
            self.meter.integers([&common, weight.denom()])?;
            common = common.lcm(weight.denom());
        }
        let mut effects: BTreeMap<usize, BigInt> = BTreeMap::new();
        for (place, weight) in weights {
            self.meter.integers([weight.numer(), weight.denom(), &common])?;
            let weight = weight.numer() * (&common / weight.denom());
            let words = 1 + weight.bits() / 64;
            for (flat, change) in self.net.changed_by[*place].iter().filter(|(flat, _)| !dead[*flat]) {
                self.meter.steps(KEPT.saturating_add(words))?;
                *effects.entry(*flat).or_default() += &weight * BigInt::from(*change);
            }
        }
        Ok(effects)
    }

    fn trap(&self, places: &[crate::PlaceName], dead: &[bool]) -> Result<Inequality, CheckError> {
        let mut inside = BTreeMap::new();
        for crate::PlaceName { place, colour } in places {
            let places = self.net.named(self.model, place, colour.as_ref())?;
            self.meter.steps(KEPT_WEIGHT.saturating_mul(places.len() as u64))?;
            for number in places {
                inside.insert(number, -BigRational::one());
            }
        }
        if inside.keys().all(|place| self.net.initial[*place] == 0) {
            return Err(CheckError::refused("the trap has no token initially".to_owned()));
        }
        for place in inside.keys() {
            for (flat, _) in self.net.needed_by[*place].iter().filter(|(flat, _)| !dead[*flat]) {
                self.meter.steps(8 + 8 * self.net.flats[*flat].puts.len() as u64)?;
                if !self.net.flats[*flat].puts.iter().any(|place| inside.contains_key(place)) {
                    let id = self.transition_of(*flat);
                    return Err(CheckError::refused(format!(
                        "{id} takes a token from the trap and puts none there"
                    )));
                }
            }
        }
        Ok(Inequality { weights: inside, bound: -BigRational::one() })
    }

    /// Marks the transitions that need more tokens than an inequality without negative weights allows.
    fn add_dead(&self, known: &Inequality, dead: &mut [bool]) -> Result<(), CheckError> {
        if known.weights.values().any(BigRational::is_negative) {
            return Ok(());
        }
        let mut needed: BTreeMap<usize, BigRational> = BTreeMap::new();
        for (place, weight) in &known.weights {
            for (flat, count) in &self.net.needed_by[*place] {
                let sum = needed.entry(*flat).or_insert_with(BigRational::zero);
                self.add_product(sum, weight, &BigRational::from_integer((*count).into()))?;
            }
        }
        for (flat, sum) in &needed {
            self.meter.fractions(&[sum, &known.bound])?;
            dead[*flat] |= *sum > known.bound;
        }
        Ok(())
    }

    /// Adds a product to a sum.
    pub fn add_product(
        &self,
        sum: &mut BigRational,
        factor: &BigRational,
        other: &BigRational,
    ) -> Result<(), CheckError> {
        self.meter.steps(KEPT)?;
        self.meter.fractions(&[sum, factor, other])?;
        *sum += factor * other;
        Ok(())
    }

    pub fn transition_of(&self, flat: usize) -> String {
        let number = self.net.transitions.partition_point(|range| range.end <= flat);
        format!("the transition number {number} of the net")
    }

    /// Follows a proof that refutes the conditions one after the other, through its cases.
    pub fn check(
        &self,
        conditions: Vec<Rc<Condition>>,
        facts: &Facts,
        proof: &[ProofStep],
    ) -> Result<(), CheckError> {
        let (mut assumptions, mut disjunctions) = (Vec::new(), Vec::new());
        // What is left to prove: the numbers of assumptions and disjunctions that are known there, and what is assumed.
        let mut open: Vec<_> = conditions.into_iter().rev().map(|condition| (0, 0, condition)).collect();
        for (number, step) in proof.iter().enumerate() {
            let at = |why: &str| CheckError::refused(format!("step {number} of the proof: {why}"));
            let in_step = |error: CheckError| error.at(&format!("step {number} of the proof"));
            let (known, cases, condition) = open.pop().ok_or_else(|| at("nothing is left to prove"))?;
            assumptions.truncate(known);
            disjunctions.truncate(cases);
            self.assume(&condition, &mut assumptions, &mut disjunctions)?;
            let (known, cases) = (assumptions.len(), disjunctions.len());
            match step {
                ProofStep::Contradiction { lemmas: of_lemmas, assumptions: of_assumptions } => {
                    let mut sum = Inequality { weights: BTreeMap::new(), bound: BigRational::zero() };
                    for (factors, from) in [(of_lemmas, &facts.inequalities), (of_assumptions, &assumptions)]
                    {
                        for (number, Rational(factor)) in factors {
                            let term = from.get(*number).ok_or_else(|| at("an unknown inequality"))?;
                            if factor.is_negative() {
                                return Err(at("a negative factor"));
                            }
                            self.add_product(&mut sum.bound, factor, &term.bound).map_err(in_step)?;
                            for (place, weight) in &term.weights {
                                let of_place = sum.weights.entry(*place).or_insert_with(BigRational::zero);
                                self.add_product(of_place, factor, weight).map_err(in_step)?;
                            }
                        }
                    }
                    if sum.weights.values().any(BigRational::is_negative) {
                        return Err(at("the sum has a negative weight"));
                    }
                    if !sum.bound.is_negative() {
                        return Err(at("the sum is not a contradiction: its bound is not negative"));
                    }
                }
                ProofStep::Cases(disjunction) => {
                    let chosen =
                        disjunctions.get(*disjunction).ok_or_else(|| at("an unknown disjunction"))?;
                    let Condition::Any(parts) = &**chosen else { return Err(at("an unknown disjunction")) };
                    self.meter.steps(KEPT.saturating_mul(parts.len() as u64))?;
                    open.extend(parts.iter().rev().map(|case| (known, cases, case.clone())));
                }
                ProofStep::Closed(number) => {
                    let closed = facts.closed.get(number).ok_or_else(|| at("an unknown closed set"))?;
                    if !self.excludes(closed, &assumptions, &disjunctions).map_err(in_step)? {
                        return Err(at("a marking of the closed set satisfies the assumptions"));
                    }
                }
                ProofStep::Split { weights, bound } => {
                    let low = Inequality { weights: self.weights(weights)?, bound: bound.0.clone() };
                    if !low.is_integer() {
                        return Err(at("a split with a number that is not an integer"));
                    }
                    let weights = low.weights.iter().map(|(place, weight)| (*place, -weight)).collect();
                    let high = Inequality { weights, bound: -&low.bound - BigRational::one() };
                    // Both cases are kept until they end, and each open case needs a step.
                    self.meter.steps(2 * KEPT_INEQUALITY)?;
                    let steps_left = proof.len() - number - 1;
                    if open.len() + 2 > steps_left {
                        return Err(at("there are more open cases than steps left"));
                    }
                    open.push((known, cases, Rc::new(Condition::AtMost(Rc::new(high)))));
                    open.push((known, cases, Rc::new(Condition::AtMost(Rc::new(low)))));
                }
            }
        }
        match open.len() {
            0 => Ok(()),
            left => Err(CheckError::refused(format!("the proof ends with {left} open cases"))),
        }
    }

    /// Takes a condition apart into inequalities and disjunctions.
    fn assume(
        &self,
        condition: &Rc<Condition>,
        assumptions: &mut Vec<Rc<Inequality>>,
        disjunctions: &mut Vec<Rc<Condition>>,
    ) -> Result<(), CheckError> {
        match &**condition {
            Condition::AtMost(inequality) => {
                self.meter.steps(KEPT)?;
                assumptions.push(inequality.clone());
            }
            Condition::All(parts) => {
                self.meter.steps(parts.len() as u64)?;
                for part in parts {
                    self.assume(part, assumptions, disjunctions)?;
                }
            }
            Condition::Any(parts) => match parts.as_slice() {
                [only] => self.assume(only, assumptions, disjunctions)?,
                _ => {
                    self.meter.steps(KEPT)?;
                    disjunctions.push(condition.clone());
                }
            },
        }
        Ok(())
    }
}
